//! Which connections a report shows: by flow, by QP number, by address, or all.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use rocetop_analysis::detect::Findings;
use rocetop_analysis::engine::exchanges::ExchangeReport;
use rocetop_analysis::report::FlowReport;
use rocetop_analysis::taps::Between;
use rocetop_analysis::{Ledger, Members};
use rocetop_parsers::{Addr, Qpn};

/// A choice of connections: that of a flow, and those one of whose flows fits every other part that is given.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Id of a flow.
    pub flow: Option<u32>,
    /// A queue pair number at either end.
    pub qpn: Option<QpNumber>,
    /// An address at either end.
    pub host: Option<Host>,
}

impl Selection {
    /// Whether everything is shown.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.flow.is_none() && self.qpn.is_none() && self.host.is_none()
    }

    /// What was found about the chosen connections; what is about no connection is told where nothing is chosen. `taps`
    /// is what was found between several taps, with the index of the one that this ledger is of.
    #[must_use]
    pub fn findings(&self, ledger: &Ledger<'_>, taps: Option<(&Between, usize)>) -> Findings {
        let fits = |flows: &[FlowReport]| self.fits(flows);
        ledger.findings_of((!self.is_all()).then_some(&fits), taps)
    }

    /// Whether the connection that has these flows is chosen.
    #[must_use]
    pub fn fits(&self, flows: &[FlowReport]) -> bool {
        self.flow.is_none_or(|id| flows.iter().any(|f| f.id == id)) && flows.iter().any(|f| self.matches(f))
    }

    /// Whether an exchange of connection managers is about what is chosen. Of a flow, whose connection has `flows`:
    /// what made the connection, or what passed on it where it is the managers' own.
    #[must_use]
    pub fn concerns(&self, exchange: &ExchangeReport, flows: &[FlowReport]) -> bool {
        let ends = [&exchange.requester, &exchange.responder];
        let qps = [exchange.requester_qp, exchange.responder_qp];
        let by_flow = |flow: &FlowReport| match &flow.cm {
            Some(terms) => terms.exchange == exchange.id,
            // Managers talk by the queue pair of the general services (IBTA 12.6).
            None => flow.dst_qp == Qpn::GSI.0 && ends.contains(&&flow.src) && ends.contains(&&flow.dst),
        };
        self.qpn.as_ref().is_none_or(|q| qps.contains(&Some(q.number)))
            && self.host.as_ref().is_none_or(|h| ends.contains(&&h.0))
            && (self.flow.is_none() || flows.iter().any(by_flow))
    }

    /// The flows of the chosen connections, in the order of the connections.
    pub fn flows(&self, ledger: &Ledger<'_>) -> impl Iterator<Item = FlowReport> {
        let flows = |ids: Vec<u32>| ids.into_iter().filter_map(|id| ledger.flow(id)).collect::<Vec<_>>();
        ledger.connections().map(move |c| flows(c.flows)).filter(|flows| self.fits(flows)).flatten()
    }

    /// The packets of the chosen connections, to be known again; `None` where every frame is chosen.
    #[must_use]
    pub fn members(&self, ledger: &Ledger<'_>) -> Option<Members> {
        (!self.is_all()).then(|| ledger.members(self.flows(ledger).map(|flow| flow.id)))
    }

    fn matches(&self, flow: &FlowReport) -> bool {
        self.qpn.as_ref().is_none_or(|q| flow.dst_qp == q.number || flow.src_qp == Some(q.number))
            && self.host.as_ref().is_none_or(|h| flow.src == h.0 || flow.dst == h.0)
    }
}

/// A queue pair number as logs write it: decimal, or hexadecimal with 0x.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QpNumber {
    /// The number.
    pub number: u32,
    typed: Box<str>,
}

/// What is no queue pair number.
#[derive(Debug, thiserror::Error)]
#[error("a queue pair number is 0 to 16777215, in decimal or as 0x...")]
pub struct NoQpNumber;

impl FromStr for QpNumber {
    type Err = NoQpNumber;

    fn from_str(text: &str) -> Result<Self, NoQpNumber> {
        let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => text.parse(),
        };
        let number = number.ok().filter(|&n| n < 1 << 24).ok_or(NoQpNumber)?;
        Ok(Self { number, typed: text.into() })
    }
}

impl fmt::Display for QpNumber {
    /// As it was typed: that is what its user looks for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

/// An address as logs write it: an IP address, a GID (an IPv4 address may be mapped), perftest's decimal GID, `lid N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(String);

/// What is no address.
#[derive(Debug, thiserror::Error)]
#[error("not an address: give an IPv4 or IPv6 address, a GID, or \"lid N\"")]
pub struct NoHost;

impl FromStr for Host {
    type Err = NoHost;

    fn from_str(text: &str) -> Result<Self, NoHost> {
        let addr = if let Ok(ip) = text.parse::<IpAddr>() {
            match ip {
                IpAddr::V4(v4) => Addr::v4(v4.octets()),
                IpAddr::V6(v6) => Addr(v6.octets()),
            }
        } else if let Some(lid) = text.strip_prefix("lid ").and_then(|n| n.trim().parse().ok()) {
            Addr::lid(lid)
        } else {
            // perftest prints the 16 bytes of a GID in decimal, with colons between.
            let bytes: Vec<u8> = text.split(':').map(str::parse).collect::<Result<_, _>>().map_err(|_| NoHost)?;
            Addr(bytes.try_into().map_err(|_| NoHost)?)
        };
        Ok(Self(addr.to_string()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_logs_print() {
        for text in ["0x0013", "0X13", "19"] {
            let qpn: QpNumber = text.parse().unwrap();
            assert_eq!((qpn.number, qpn.to_string().as_str()), (19, text));
        }
        assert!("16777216".parse::<QpNumber>().is_err());
        for text in ["10.9.1.1", "::ffff:10.9.1.1", "00:00:00:00:00:00:00:00:00:00:255:255:10:09:01:01"] {
            assert_eq!(text.parse::<Host>().unwrap().to_string(), "10.9.1.1");
        }
        assert_eq!("fd09:0001:0::1".parse::<Host>().unwrap().to_string(), "fd09:1::1");
        assert_eq!("lid 7".parse::<Host>().unwrap().to_string(), "lid 7");
        assert!("node-1".parse::<Host>().is_err());
    }
}
