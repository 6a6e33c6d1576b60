//! Several taps that saw the same traffic: what was lost between them, where, and how long the way took.
//!
//! Owns: which packet at one tap is which at another, the direction between two taps, losses, delays, clock offsets.
//! May use: flow keys and places of packets, and what tells copies and doubles from repeats. The engines of the taps
//! are apart and know nothing of this.
//!
//! A packet is known again by its flow, its kind, its PSN and what its AETH says, and of several copies as many went
//! through as both taps saw. Where a sender repeats and one copy is missing, the copy whose delay is like that of the
//! packets around it went through: only changes of the difference of both clocks count there. The clocks themselves
//! tell only what the other capture covers, at its beginning and its end.
//!
//! A loss looks the same as a frame that a capture missed, or that went another way. Where the transport tells (a
//! request that was acknowledged without ever being repeated, or before it was, or that an RNR NAK refused), it is
//! counted as missed. Where many packets go past a tap, nothing is called lost of which that is not known. Of what
//! nothing tells (datagrams, ACKs), a capture that missed packets where it shows, and where nothing was lost, is taken
//! to have missed the rest as well, if that is about as much; where something was lost, that many are in doubt. So are
//! copies of what was sent again, but for those that a sequence error named: these did not arrive.

mod align;
mod clock;
mod crowd;
mod delivered;
mod front;
mod gaps;
mod lives;
mod meet;
mod nak;
mod pair;
mod reads;
mod report;
mod sight;
mod spurious;
mod tally;
#[cfg(test)]
mod tests;
mod told;
mod way;
mod window;

use rocetop_parsers::Nanos;

use crate::event::Packet;
use front::{Front, Span};
use pair::Pair;

pub use meet::Meeting;
pub use report::{Between, ClockUnknown, DirectionBy, KindsReport, OutageReport, TapReport};
#[cfg(test)]
pub(crate) use told::RowReport;
pub(crate) use told::{Beside, Place, Told};

/// Matches the packets of several taps.
#[derive(Debug)]
pub struct Matcher {
    fronts: Vec<Front>,
    /// Every two taps, the lower index first.
    pairs: Vec<(usize, usize, Pair)>,
    turn: u64,
}

impl Matcher {
    /// For so many taps. Of each two, `most_flows` flows are compared; the packets of all others are counted.
    #[must_use]
    pub fn new(taps: usize, most_flows: usize) -> Self {
        let pairs = (0..taps).flat_map(|a| (a + 1..taps).map(move |b| (a, b, Pair::new(most_flows)))).collect();
        Self { fronts: (0..taps).map(|_| Front::default()).collect(), pairs, turn: 0 }
    }

    /// A frame of tap `tap`, of any kind: it tells that the tap was capturing.
    pub fn frame(&mut self, tap: usize, at: Nanos) {
        if let Some(front) = self.fronts.get_mut(tap) {
            front.span.add(at);
        }
    }

    /// A packet of tap `tap`. Each tap's packets come in the order of its capture. Between taps the same packets should
    /// come near one another, within the tens of thousands that a flow's window holds.
    pub fn packet(&mut self, tap: usize, packet: &Packet) {
        self.frame(tap, packet.at);
        if !packet.facts.is_rdma() {
            return;
        }
        self.each_pair(tap, |side, pair, spans| pair.came(side, spans));
        let mut ready = Vec::new();
        if let Some(front) = self.fronts.get_mut(tap) {
            front.sift(packet, &mut ready);
        }
        ready.iter().for_each(|packet| self.sight(tap, packet));
    }

    /// A packet that is no double.
    fn sight(&mut self, tap: usize, packet: &Packet) {
        self.turn += 1;
        let turn = self.turn;
        self.each_pair(tap, |side, pair, spans| pair.packet(side, packet, turn, spans));
    }

    /// Every two taps of which this is one, and which.
    fn each_pair(&mut self, tap: usize, mut each: impl FnMut(usize, &mut Pair, [Span; 2])) {
        for (first, second, pair) in &mut self.pairs {
            let side = match tap {
                t if t == *first => 0,
                t if t == *second => 1,
                _ => continue,
            };
            each(side, pair, spans(&self.fronts, *first, *second));
        }
    }

    /// Settles what is open and reports. `names` are those of the taps.
    #[must_use]
    pub fn finish(mut self, names: &[String]) -> Between {
        for tap in 0..self.fronts.len() {
            let rest = self.fronts.get_mut(tap).map(Front::finish).unwrap_or_default();
            rest.iter().for_each(|packet| self.sight(tap, packet));
        }
        let mut between = Between { names: names.to_vec(), ..Between::default() };
        for (first, second, mut pair) in self.pairs.drain(..) {
            pair.finish(spans(&self.fronts, first, second));
            for (side, tap) in [first, second].into_iter().enumerate() {
                if let Some(front) = self.fronts.get(tap) {
                    pair.leave_out(side, |src, dst| front.doubles(src, dst));
                }
            }
            between.add(&pair, [first, second], names);
        }
        between.rows.sort_by(|a, b| (&a.from, &a.to, &a.src, &a.dst).cmp(&(&b.from, &b.to, &b.src, &b.dst)));
        between
    }
}

fn spans(all: &[Front], first: usize, second: usize) -> [Span; 2] {
    [first, second].map(|tap| all.get(tap).map(|front| front.span).unwrap_or_default())
}
