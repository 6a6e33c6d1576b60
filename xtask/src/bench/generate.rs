//! The captures that are measured: made here, the same bytes on every machine, into the target folder.
//!
//! Every connection joins two hosts and both of its ends send: its two flows carry the requests of one end and the ACKs
//! to the other's. Requests are single-packet messages, SEND and WRITE on every other connection, in order; every 32nd
//! asks for an ACK and gets one (62 bytes), so 97 of 100 frames have the asked length. Connections take turns by a
//! seeded draw, a burst of up to eight messages each.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::packet::{Opcode, Packet, build};

/// What a generated capture holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) frames: u32,
    /// An even number: two to a connection.
    pub(super) flows: u32,
    /// Bytes of a data frame.
    pub(super) length: usize,
}

pub(super) const SMALL: Plan = Plan {
    name: "small",
    about: "1,000,000 frames of 134 bytes, 1,000 flows",
    frames: 1_000_000,
    flows: 1_000,
    length: 134,
};
pub(super) const LARGE: Plan = Plan {
    name: "large",
    about: "250,000 frames with 4,096 bytes of payload, 1,000 flows",
    frames: 250_000,
    flows: 1_000,
    length: super::packet::BARE + 16 + 4096,
};
pub(super) const MANY: Plan =
    Plan { name: "many", about: "10,000 flows of 100 frames", frames: 1_000_000, flows: 10_000, length: 134 };
pub(super) const FLOOD: Plan =
    Plan { name: "flood", about: "1,000,000 flows of one frame", frames: 1_000_000, flows: 1_000_000, length: 134 };

/// Messages between two requests for an ACK.
const ACK_EVERY: u32 = 32;
/// Nanoseconds between two frames.
const STEP: u64 = 200;

/// One end of a connection.
#[derive(Clone, Copy, Default)]
struct End {
    host: u32,
    qp: u32,
    /// Messages sent.
    sent: u32,
    /// An ACK that this end owes: the PSN and the messages it covers.
    owes: Option<(u32, u32)>,
}

struct Connection {
    ends: [End; 2],
    opcode: Opcode,
    sport: u16,
}

impl Connection {
    /// Two connections to a host pair, pairs all over 10/8; queue pair numbers as a driver gives them.
    fn new(number: u32) -> Self {
        let pair = number / 2;
        let host = |side: u32| 0x0a00_0000 | ((pair * 2 + side) & 0xff_ffff);
        let end = |side| End { host: host(side), qp: 0x100 + number % 0xff_0000 + side, ..End::default() };
        let opcode = if number.is_multiple_of(2) { Opcode::SendOnly } else { Opcode::WriteOnly };
        Self { ends: [end(0), end(1)], opcode, sport: 0xc000 | (number.wrapping_mul(40_503) >> 4 & 0x3fff) as u16 }
    }

    /// The next frame that `side` sends: an ACK where it owes one, else its next message.
    fn next(&mut self, side: usize) -> Packet {
        let [mut me, mut peer] = self.ends;
        if side == 1 {
            std::mem::swap(&mut me, &mut peer);
        }
        let mut packet = Packet {
            src: me.host,
            dst: peer.host,
            sport: self.sport,
            opcode: self.opcode,
            dst_qp: peer.qp,
            psn: 0,
            ack_req: false,
            msn: 0,
        };
        if let Some((psn, messages)) = me.owes.take() {
            packet = Packet { opcode: Opcode::Ack, psn, msn: messages, ..packet };
        } else {
            packet.psn = (me.qp * 977 + me.sent) & 0xff_ffff;
            me.sent += 1;
            packet.ack_req = me.sent.is_multiple_of(ACK_EVERY);
            if packet.ack_req {
                peer.owes = Some((packet.psn, me.sent));
            }
        }
        self.ends = if side == 1 { [peer, me] } else { [me, peer] };
        packet
    }
}

/// A small generator of draws (SplitMix64): repeatable is all that it must be.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % u64::from(limit.max(1))) as u32
    }
}

/// The file of a plan in `folder`, made if it is not there yet. A child makes it: the peak memory of whatever we start
/// later begins with our own.
pub(super) fn file(plan: &Plan, folder: &Path) -> Result<PathBuf> {
    let Plan { name, frames, flows, length, .. } = plan;
    let path = folder.join(format!("{name}-{frames}x{length}-{flows}.pcap"));
    if !path.exists() {
        let mut make = Command::new(std::env::current_exe()?);
        ensure!(make.args(["bench-make", name]).arg(&path).status()?.success(), "cannot make {}", path.display());
    }
    Ok(path)
}

/// `bench-make PLAN FILE`: writes the capture of a plan.
pub(crate) fn run(args: &[String]) -> Result<bool> {
    let [name, path] = args else { bail!("bench-make wants a plan and a file") };
    let plans = [SMALL, LARGE, MANY, FLOOD];
    let plan = plans.iter().find(|plan| plan.name == name).with_context(|| format!("there is no plan {name}"))?;
    let path = Path::new(path);
    let part = path.with_extension("part");
    std::fs::create_dir_all(path.parent().context("a file in a folder")?)?;
    let mut out = BufWriter::new(File::create(&part).with_context(|| format!("cannot write {}", part.display()))?);
    write(plan, &mut out).and_then(|()| out.flush()).with_context(|| format!("cannot write {}", part.display()))?;
    std::fs::rename(&part, path)?;
    Ok(true)
}

fn write(plan: &Plan, out: &mut impl Write) -> std::io::Result<()> {
    // Classic pcap, nanoseconds, version 2.4, Ethernet.
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 1] {
        out.write_all(&u32::to_le_bytes(word))?;
    }
    let mut connections: Vec<Connection> = (0..plan.flows / 2).map(Connection::new).collect();
    let mut draw = Draw(1);
    let mut frame = Vec::new();
    let mut number = 0;
    // Every flow once, in a first round, so that the plan's number of flows is kept; then by draw.
    let mut first = 0;
    while number < plan.frames {
        let turn = if first < plan.flows { first } else { draw.below(plan.flows) };
        let burst = if first < plan.flows { 1 } else { 1 + draw.below(8) };
        first += u32::from(first < plan.flows);
        let Some(connection) = connections.get_mut(turn as usize / 2) else { break };
        for _ in 0..burst.min(plan.frames - number) {
            build(&connection.next(turn as usize % 2), plan.length, &mut frame);
            let at = 1_750_000_000_000_000_000 + u64::from(number) * STEP;
            let length = frame.len() as u32;
            for word in [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, length, length] {
                out.write_all(&word.to_le_bytes())?;
            }
            out.write_all(&frame)?;
            number += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn generate(plan: &Plan) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(plan, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn flows_are_as_many_as_planned_and_in_order() {
        let bytes = generate(&Plan { frames: 5_000, flows: 40, ..SMALL });
        let (mut at, mut frames, mut usual) = (24, 0, 0);
        let mut next: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        let mut flows = std::collections::BTreeSet::new();
        while at < bytes.len() {
            let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
            let frame = &bytes[at + 16..at + 16 + length];
            // Source, destination, destination queue pair.
            let key = [&frame[26..34], &frame[47..50]].concat();
            flows.insert(key.clone());
            if frame[42] != Opcode::Ack as u8 {
                let psn = u32::from_be_bytes([0, frame[51], frame[52], frame[53]]);
                if let Some(want) = next.insert(key, (psn + 1) & 0xff_ffff) {
                    assert_eq!(psn, want);
                }
            }
            usual += usize::from(length == 134);
            frames += 1;
            at += 16 + length;
        }
        assert_eq!((frames, flows.len()), (5_000, 40));
        assert!(usual * 100 >= frames * 96, "{usual} of {frames}");
    }

    #[test]
    fn the_same_plan_gives_the_same_bytes_and_prefixes_agree() {
        let plan = Plan { frames: 2_000, flows: 100, ..SMALL };
        let bytes = generate(&plan);
        assert_eq!(bytes, generate(&plan));
        let prefix = generate(&Plan { frames: 1_000, ..plan });
        assert_eq!(bytes[..prefix.len()], prefix[..]);
    }
}
