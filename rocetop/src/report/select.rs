//! Which connections a report shows: by QP number, by address, or all.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use rocetop_analysis::Ledger;
use rocetop_analysis::detect::Findings;
use rocetop_analysis::report::FlowReport;
use rocetop_parsers::Addr;

/// A choice of connections. A connection is shown when one of its flows fits every part that is given.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// A queue pair number at either end.
    pub qpn: Option<QpNumber>,
    /// An address at either end.
    pub host: Option<Host>,
}

impl Selection {
    /// Whether everything is shown.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.qpn.is_none() && self.host.is_none()
    }

    /// What was found about the chosen connections; what concerns the whole capture is always told.
    #[must_use]
    pub fn findings(&self, ledger: &Ledger<'_>) -> Findings {
        ledger.findings_of(&|flows| flows.iter().any(|f| self.fits(f)))
    }

    /// Whether this flow alone fits.
    #[must_use]
    pub fn fits(&self, flow: &FlowReport) -> bool {
        self.qpn.is_none_or(|q| flow.dst_qp == q.0 || flow.src_qp == Some(q.0))
            && self.host.as_ref().is_none_or(|h| flow.src == h.0 || flow.dst == h.0)
    }
}

/// A queue pair number as logs write it: decimal, or hexadecimal with 0x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpNumber(pub u32);

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
        number.ok().filter(|&n| n < 1 << 24).map(Self).ok_or(NoQpNumber)
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
        assert_eq!("0x0013".parse::<QpNumber>().unwrap(), QpNumber(19));
        assert_eq!("19".parse::<QpNumber>().unwrap(), QpNumber(19));
        assert!("16777216".parse::<QpNumber>().is_err());
        for text in ["10.9.1.1", "::ffff:10.9.1.1", "00:00:00:00:00:00:00:00:00:00:255:255:10:09:01:01"] {
            assert_eq!(text.parse::<Host>().unwrap().to_string(), "10.9.1.1");
        }
        assert_eq!("fd09:0001:0::1".parse::<Host>().unwrap().to_string(), "fd09:1::1");
        assert_eq!("lid 7".parse::<Host>().unwrap().to_string(), "lid 7");
        assert!("node-1".parse::<Host>().is_err());
    }
}
