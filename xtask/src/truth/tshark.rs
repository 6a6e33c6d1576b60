//! The opcode mix as tshark sees it: a second, independent dissector.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Counts;
use crate::sh;

/// Transports by the opcode's top three bits (IBTA, BTH: OpCode); XRC from annex A14.
const TRANSPORTS: &[(u8, &str)] = &[(0, "RC"), (1, "UC"), (2, "RD"), (3, "UD"), (4, "CNP"), (5, "XRC")];

/// Operations by the opcode's low five bits, in order; 21 is reserved.
const OPERATIONS: &[&str] = &[
    "SEND_FIRST",
    "SEND_MIDDLE",
    "SEND_LAST",
    "SEND_LAST_IMM",
    "SEND_ONLY",
    "SEND_ONLY_IMM",
    "WRITE_FIRST",
    "WRITE_MIDDLE",
    "WRITE_LAST",
    "WRITE_LAST_IMM",
    "WRITE_ONLY",
    "WRITE_ONLY_IMM",
    "READ_REQ",
    "READ_RESP_FIRST",
    "READ_RESP_MIDDLE",
    "READ_RESP_LAST",
    "READ_RESP_ONLY",
    "ACK",
    "ATOMIC_ACK",
    "CMP_SWAP",
    "FETCH_ADD",
    "21",
    "SEND_LAST_INV",
    "SEND_ONLY_INV",
];

/// An opcode as the report spells it.
fn name(opcode: u8) -> String {
    if opcode == 0x81 {
        return "CNP".to_owned();
    }
    let (high, low) = (opcode >> 5, opcode & 31);
    let transport = TRANSPORTS.iter().find(|(bits, _)| *bits == high).map(|(_, name)| (*name).to_owned());
    let operation = OPERATIONS.get(usize::from(low)).map(|name| (*name).to_owned());
    format!("{}_{}", transport.unwrap_or_else(|| format!("T{high}")), operation.unwrap_or_else(|| low.to_string()))
}

/// How often tshark sees each opcode, as `opcodes.NAME`.
pub(super) fn opcodes(file: &Path) -> Result<Counts> {
    ensure!(sh::has("tshark"), "tshark is not installed (Debian: apt-get install tshark)");
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(file).args(["-T", "fields", "-e", "infiniband.bth.opcode"]);
    // It warns on stderr when started as root; that is no news.
    let done = tshark.output().context("cannot start tshark")?;
    ensure!(done.status.success(), "tshark failed: {}", String::from_utf8_lossy(&done.stderr).trim());
    count(&String::from_utf8_lossy(&done.stdout))
}

/// One line a frame; of several BTHs in a frame the first is the frame's own.
fn count(lines: &str) -> Result<Counts> {
    let mut counts = Counts::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let first = line.split(',').next().unwrap_or_default();
        let opcode = first.strip_prefix("0x").map_or_else(|| first.parse(), |hex| u8::from_str_radix(hex, 16));
        let opcode = opcode.with_context(|| format!("tshark printed `{line}` for an opcode"))?;
        *counts.entry(format!("opcodes.{}", name(opcode))).or_default() += 1;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_spelled_as_in_the_report() {
        for (opcode, want) in [
            (0x04, "RC_SEND_ONLY"),
            (0x64, "UD_SEND_ONLY"),
            (0x11, "RC_ACK"),
            (0x81, "CNP"),
            (0x17, "RC_SEND_ONLY_INV"),
        ] {
            assert_eq!(name(opcode), want);
        }
        assert_eq!(name(0xff), "T7_31");
    }

    #[test]
    fn the_first_of_several_counts() {
        let counts = count("4\n\n17,4\n0x11\n").unwrap();
        assert_eq!(counts, [("opcodes.RC_ACK".to_owned(), 2), ("opcodes.RC_SEND_ONLY".to_owned(), 1)].into());
        assert!(count("x\n").is_err());
    }
}
