//! `[nic]`, and clear-to-send, which is sent as a packet.

use rocetop_parsers::Bytes;

use super::Sense;
use crate::nic;
use crate::workload::Admission;

/// The most that one packet carries (IBTA 9.4.1: the largest path MTU).
const PACKET: Bytes = Bytes(4_096);
/// The most that a count of three bits can say (IBTA 9.7.5.2.8: retry counts).
const RETRIES: u8 = 7;

impl Sense<'_, '_> {
    pub(super) fn nic(&self) {
        let nic = &self.scenario.settings.nic;
        let most = ": it is a count of three bits";
        self.at_most(&["nic.retries"], nic.retries, RETRIES, most);
        self.finite(&[("nic.cnp_interval", nic.cnp_interval), ("nic.jitter", nic.jitter)]);
        if let Some(nic::Receives { timer, retries, .. }) = nic.receives {
            self.at_most(&["nic.receives.retries"], retries, RETRIES, most);
            self.finite(&[("nic.receives.timer", timer)]);
        }
    }

    pub(super) fn admission(&self, admission: &Admission) {
        if admission.cts > PACKET {
            let (is, most) = (admission.cts.0, PACKET.0);
            let why = format!("cts is {is}; a clear-to-send is one packet of {most} bytes at most");
            self.keys.fault_in(&["admission.cts"], why);
        }
    }
}
