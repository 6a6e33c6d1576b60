//! `-f`: a BPF filter in tcpdump's language, compiled by libpcap and run over captured frames.

/// Why a filter cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// libpcap does not understand it.
    #[error("the filter {expression:?} is not valid: {reason}; see pcap-filter(7) for its language")]
    Invalid {
        /// As it was given.
        expression: String,
        /// libpcap's words.
        reason: String,
    },
    /// This program was built without libpcap.
    #[error(
        "this rocetop was built without libpcap, which compiles filters: rebuild with its headers installed (Debian: \
        apt-get install libpcap-dev), or use --host and --qpn"
    )]
    Unavailable,
}

#[cfg(feature = "libpcap")]
mod imp {
    use std::collections::HashMap;

    use pcap::{BpfProgram, Capture, Linktype};
    use rocetop_parsers::Link;

    use super::FilterError;
    use crate::source::Frame;

    /// A filter that was checked once.
    #[derive(Clone, Debug)]
    pub struct Filter {
        expression: String,
    }

    /// Longest frame that is made whole: the length that IP can say, and headers around it.
    const LONGEST: usize = 1 << 17;

    impl Filter {
        /// Checks an expression.
        ///
        /// # Errors
        /// [`FilterError::Invalid`] with libpcap's reason.
        pub fn new(expression: &str) -> Result<Self, FilterError> {
            let filter = Self { expression: expression.into() };
            match filter.compile(Link::Ethernet) {
                Ok(_) => Ok(filter),
                Err(reason) => Err(FilterError::Invalid { expression: filter.expression, reason }),
            }
        }

        fn compile(&self, link: Link) -> Result<BpfProgram, String> {
            // LINKTYPE_* values where libpcap's DLT_* differ from them it maps itself (raw IP is DLT 12 on Linux).
            let link_type = match link {
                Link::Ethernet => 1,
                Link::RawIp => 12,
                Link::LinuxCooked1 => 113,
                Link::LinuxCooked2 => 276,
                Link::Infiniband => 247,
                Link::Erf => 197,
                Link::BsdNull => 0,
                Link::BsdLoop => 108,
            };
            let dead = Capture::dead(Linktype(link_type)).map_err(|e| e.to_string())?;
            dead.compile(&self.expression, true).map_err(|e| e.to_string())
        }

        /// The filter made ready to run on one thread.
        #[must_use]
        pub fn compiled(&self) -> Compiled {
            Compiled { filter: self.clone(), programs: HashMap::new(), whole: Vec::new() }
        }
    }

    /// A filter's programs by link type.
    pub struct Compiled {
        filter: Filter,
        programs: HashMap<Link, Option<BpfProgram>>,
        whole: Vec<u8>,
    }

    impl Compiled {
        /// Whether the frame passes. A link type that the expression makes no sense for passes nothing.
        pub fn passes(&mut self, frame: &Frame<'_>) -> bool {
            let Some(link) = frame.link else { return false };
            let program = self.programs.entry(link).or_insert_with(|| self.filter.compile(link).ok());
            let Some(program) = program else { return false };
            let wire = frame.wire_len as usize;
            if frame.bytes.len() == wire || wire > LONGEST {
                return program.filter(frame.bytes);
            }
            // The crate gives the filter one length. A cut frame gets the one that it had on the wire, since that is
            // what `greater` and `less` ask; a test of bytes behind the cut reads zeros.
            self.whole.clear();
            self.whole.extend_from_slice(frame.bytes);
            self.whole.resize(wire, 0);
            program.filter(&self.whole)
        }
    }
}

#[cfg(not(feature = "libpcap"))]
mod imp {
    use super::FilterError;
    use crate::source::Frame;

    /// What no build without libpcap has.
    #[derive(Clone, Copy, Debug)]
    pub enum Filter {}

    impl Filter {
        /// Cannot be had in this build.
        ///
        /// # Errors
        /// Always [`FilterError::Unavailable`].
        pub fn new(_: &str) -> Result<Self, FilterError> {
            Err(FilterError::Unavailable)
        }

        /// The filter made ready to run.
        #[must_use]
        pub fn compiled(&self) -> Compiled {
            match *self {}
        }
    }

    /// What is made of a [`Filter`], and so never.
    #[derive(Clone, Copy, Debug)]
    pub enum Compiled {}

    impl Compiled {
        /// Never asked.
        pub fn passes(&mut self, _: &Frame<'_>) -> bool {
            match *self {}
        }
    }
}

pub use imp::{Compiled, Filter};
