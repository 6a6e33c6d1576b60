//! Differences that were looked at and are right: each with the reason. Nothing else may differ.

/// A capture, the check it differs in, the field (or what the field starts with), and why that is right.
struct Known {
    capture: &'static str,
    check: &'static str,
    field: &'static str,
    reason: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        capture: "15_background.e1.pcap",
        check: "tshark",
        field: "opcodes.",
        reason: "tshark takes every datagram to port 4791 for RoCE; four here have no possible opcode and a wrong ICRC",
    },
    Known {
        capture: "15_background.e2.pcap",
        check: "tshark",
        field: "opcodes.",
        reason: "tshark takes every datagram to port 4791 for RoCE; four here have no possible opcode and a wrong ICRC",
    },
];

/// Why a difference is right, where it is.
pub(super) fn reason(capture: &str, check: &str, field: &str) -> Option<&'static str> {
    let known = KNOWN.iter().find(|k| k.capture == capture && k.check == check && field.starts_with(k.field));
    known.map(|known| known.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_difference_covers_its_capture_and_check_alone() {
        assert!(reason("15_background.e1.pcap", "tshark", "opcodes.T7_3").is_some());
        assert!(reason("15_background.e1.pcap", "truth", "opcodes.T7_3").is_none());
        assert!(reason("other.pcap", "tshark", "opcodes.T7_3").is_none());
    }

    #[test]
    fn every_row_says_why() {
        assert!(KNOWN.iter().all(|k| !k.reason.is_empty() && !k.field.is_empty()));
    }
}
