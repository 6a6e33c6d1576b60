//! The BTH opcode: transport in the top three bits, operation in the low five (IBTA 9.2.1, table 38).

use core::fmt;

/// The transport service of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
#[allow(missing_docs, reason = "each name is the service's own")]
pub enum Transport {
    #[default]
    Rc = 0,
    Uc = 1,
    Rd = 2,
    Ud = 3,
    Cnp = 4,
    Xrc = 5,
    /// Reserved or manufacturer specific.
    Unknown6 = 6,
    /// Reserved or manufacturer specific.
    Unknown7 = 7,
}

impl Transport {
    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rc => "RC",
            Self::Uc => "UC",
            Self::Rd => "RD",
            Self::Ud => "UD",
            Self::Cnp => "CNP",
            Self::Xrc => "XRC",
            Self::Unknown6 => "T6",
            Self::Unknown7 => "T7",
        }
    }
}

/// A BTH opcode. Unknown values are kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Opcode(pub u8);

/// The operation of an opcode: its low five bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Operation(pub u8);

#[allow(missing_docs, reason = "each name is the operation's own")]
impl Operation {
    pub const SEND_FIRST: Self = Self(0x00);
    pub const SEND_MIDDLE: Self = Self(0x01);
    pub const SEND_LAST: Self = Self(0x02);
    pub const SEND_LAST_IMM: Self = Self(0x03);
    pub const SEND_ONLY: Self = Self(0x04);
    pub const SEND_ONLY_IMM: Self = Self(0x05);
    pub const WRITE_FIRST: Self = Self(0x06);
    pub const WRITE_MIDDLE: Self = Self(0x07);
    pub const WRITE_LAST: Self = Self(0x08);
    pub const WRITE_LAST_IMM: Self = Self(0x09);
    pub const WRITE_ONLY: Self = Self(0x0a);
    pub const WRITE_ONLY_IMM: Self = Self(0x0b);
    pub const READ_REQ: Self = Self(0x0c);
    pub const READ_RESP_FIRST: Self = Self(0x0d);
    pub const READ_RESP_MIDDLE: Self = Self(0x0e);
    pub const READ_RESP_LAST: Self = Self(0x0f);
    pub const READ_RESP_ONLY: Self = Self(0x10);
    pub const ACK: Self = Self(0x11);
    pub const ATOMIC_ACK: Self = Self(0x12);
    pub const CMP_SWAP: Self = Self(0x13);
    pub const FETCH_ADD: Self = Self(0x14);
    pub const RESYNC: Self = Self(0x15);
    pub const SEND_LAST_INV: Self = Self(0x16);
    pub const SEND_ONLY_INV: Self = Self(0x17);
    pub const FLUSH: Self = Self(0x1c);
    pub const ATOMIC_WRITE: Self = Self(0x1d);
}

/// What an opcode is, beyond its name: one bit a property, looked up in a table of 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Traits(u16);

impl Traits {
    /// The opcode stands in an IBTA table (or is the CNP's).
    pub const KNOWN: u16 = 1;
    /// A request packet: takes the requester's PSNs.
    pub const REQUEST: u16 = 1 << 1;
    /// A READ or atomic response: carries the PSNs of the peer's requests.
    pub const RESPONSE: u16 = 1 << 2;
    /// First packet of a message (First or Only).
    pub const STARTS: u16 = 1 << 3;
    /// Last packet of a message (Last or Only).
    pub const ENDS: u16 = 1 << 4;
    /// Extended headers, in wire order after the BTH.
    pub const RDETH: u16 = 1 << 5;
    #[allow(missing_docs, reason = "as RDETH")]
    pub const DETH: u16 = 1 << 6;
    #[allow(missing_docs, reason = "as RDETH")]
    pub const XRCETH: u16 = 1 << 7;
    #[allow(missing_docs, reason = "as RDETH")]
    pub const RETH: u16 = 1 << 8;
    #[allow(missing_docs, reason = "as RDETH")]
    pub const ATOMIC_ETH: u16 = 1 << 9;
    #[allow(missing_docs, reason = "as RDETH")]
    pub const AETH: u16 = 1 << 10;
    #[allow(missing_docs, reason = "as RDETH")]
    pub const ATOMIC_ACK_ETH: u16 = 1 << 11;
    /// Immediate data.
    pub const IMM: u16 = 1 << 12;
    /// Invalidate extended header.
    pub const IETH: u16 = 1 << 13;
    /// FLUSH extended header.
    pub const FETH: u16 = 1 << 14;

    /// Whether all bits of `what` are set.
    #[inline(always)]
    #[must_use]
    pub const fn has(self, what: u16) -> bool {
        self.0 & what == what
    }

    /// Whether any bit of `what` is set.
    #[inline(always)]
    #[must_use]
    pub const fn any(self, what: u16) -> bool {
        self.0 & what != 0
    }
}

impl Opcode {
    /// Congestion notification packet (annex A17.9.4).
    pub const CNP: Self = Self(0x81);
    /// UD SEND Only: what MADs travel in.
    pub const UD_SEND_ONLY: Self = Self(0x64);

    /// The opcode of an operation on a transport.
    #[must_use]
    pub const fn of(transport: Transport, operation: Operation) -> Self {
        Self((transport as u8) << 5 | (operation.0 & 0x1f))
    }

    /// The transport service.
    #[must_use]
    pub const fn transport(self) -> Transport {
        match self.0 >> 5 {
            0 => Transport::Rc,
            1 => Transport::Uc,
            2 => Transport::Rd,
            3 => Transport::Ud,
            4 => Transport::Cnp,
            5 => Transport::Xrc,
            6 => Transport::Unknown6,
            _ => Transport::Unknown7,
        }
    }

    /// The operation.
    #[must_use]
    pub const fn operation(self) -> Operation {
        Operation(self.0 & 0x1f)
    }

    /// Role, message position and extended headers.
    #[inline(always)]
    #[must_use]
    pub fn traits(self) -> Traits {
        static TABLE: [Traits; 256] = Opcode::table();
        // 256 entries and a byte: the default is never taken.
        TABLE.get(usize::from(self.0)).copied().unwrap_or_default()
    }

    const fn table() -> [Traits; 256] {
        let mut table = [Traits(0); 256];
        let mut code = 0;
        while code < 256 {
            #[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks it")]
            {
                table[code] = Self(code as u8).derive();
            }
            code += 1;
        }
        table
    }

    /// The traits by the rules of IBTA table 38 and 9.2-9.4, A14 (XRC), A19 (FLUSH, ATOMIC WRITE).
    pub(crate) const fn derive(self) -> Traits {
        use Traits as T;
        if self.0 == Self::CNP.0 {
            return Traits(T::KNOWN);
        }
        // Extended headers that the transport adds to every packet of its kind.
        let (on_request, on_response) = match self.transport() {
            Transport::Rc | Transport::Uc => (0, 0),
            Transport::Rd => (T::RDETH | T::DETH, T::RDETH),
            Transport::Ud => (T::DETH, 0),
            Transport::Xrc => (T::XRCETH, 0),
            Transport::Cnp | Transport::Unknown6 | Transport::Unknown7 => return Traits(0),
        };
        let operation = match self.operation() {
            Operation::SEND_FIRST => T::REQUEST | T::STARTS,
            Operation::SEND_MIDDLE | Operation::WRITE_MIDDLE => T::REQUEST,
            Operation::SEND_LAST | Operation::WRITE_LAST => T::REQUEST | T::ENDS,
            Operation::SEND_LAST_IMM | Operation::WRITE_LAST_IMM => T::REQUEST | T::ENDS | T::IMM,
            Operation::SEND_ONLY => T::REQUEST | T::STARTS | T::ENDS,
            Operation::SEND_ONLY_IMM => T::REQUEST | T::STARTS | T::ENDS | T::IMM,
            Operation::WRITE_FIRST => T::REQUEST | T::STARTS | T::RETH,
            Operation::WRITE_ONLY => T::REQUEST | T::STARTS | T::ENDS | T::RETH,
            Operation::WRITE_ONLY_IMM => T::REQUEST | T::STARTS | T::ENDS | T::RETH | T::IMM,
            Operation::READ_REQ => T::REQUEST | T::STARTS | T::ENDS | T::RETH,
            Operation::READ_RESP_FIRST => T::RESPONSE | T::STARTS | T::AETH,
            Operation::READ_RESP_MIDDLE => T::RESPONSE,
            Operation::READ_RESP_LAST => T::RESPONSE | T::ENDS | T::AETH,
            Operation::READ_RESP_ONLY => T::RESPONSE | T::STARTS | T::ENDS | T::AETH,
            Operation::ACK => T::AETH,
            Operation::ATOMIC_ACK => T::RESPONSE | T::STARTS | T::ENDS | T::AETH | T::ATOMIC_ACK_ETH,
            Operation::CMP_SWAP | Operation::FETCH_ADD => T::REQUEST | T::STARTS | T::ENDS | T::ATOMIC_ETH,
            Operation::RESYNC => T::REQUEST,
            Operation::SEND_LAST_INV => T::REQUEST | T::ENDS | T::IETH,
            Operation::SEND_ONLY_INV => T::REQUEST | T::STARTS | T::ENDS | T::IETH,
            Operation::FLUSH => T::REQUEST | T::STARTS | T::ENDS | T::FETH | T::RETH,
            Operation::ATOMIC_WRITE => T::REQUEST | T::STARTS | T::ENDS | T::RETH,
            _ => return Traits(0),
        };
        let defined = match (self.transport(), self.operation()) {
            (Transport::Uc, o) => o.0 <= Operation::WRITE_ONLY_IMM.0,
            (Transport::Ud, o) => o.0 == Operation::SEND_ONLY.0 || o.0 == Operation::SEND_ONLY_IMM.0,
            (Transport::Rd, o) => o.0 <= Operation::RESYNC.0,
            (_, o) => o.0 != Operation::RESYNC.0,
        };
        if !defined {
            return Traits(0);
        }
        let by_transport = if operation & T::REQUEST != 0 { on_request } else { on_response };
        Traits(T::KNOWN | operation | by_transport)
    }
}

impl fmt::Display for Opcode {
    /// `TRANSPORT_OPERATION`, as in `RC_WRITE_FIRST`; an unknown operation by its number, as in `RC_31`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::CNP {
            return f.write_str("CNP");
        }
        write!(f, "{}_{}", self.transport().name(), self.operation())
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::SEND_FIRST => "SEND_FIRST",
            Self::SEND_MIDDLE => "SEND_MIDDLE",
            Self::SEND_LAST => "SEND_LAST",
            Self::SEND_LAST_IMM => "SEND_LAST_IMM",
            Self::SEND_ONLY => "SEND_ONLY",
            Self::SEND_ONLY_IMM => "SEND_ONLY_IMM",
            Self::WRITE_FIRST => "WRITE_FIRST",
            Self::WRITE_MIDDLE => "WRITE_MIDDLE",
            Self::WRITE_LAST => "WRITE_LAST",
            Self::WRITE_LAST_IMM => "WRITE_LAST_IMM",
            Self::WRITE_ONLY => "WRITE_ONLY",
            Self::WRITE_ONLY_IMM => "WRITE_ONLY_IMM",
            Self::READ_REQ => "READ_REQ",
            Self::READ_RESP_FIRST => "READ_RESP_FIRST",
            Self::READ_RESP_MIDDLE => "READ_RESP_MIDDLE",
            Self::READ_RESP_LAST => "READ_RESP_LAST",
            Self::READ_RESP_ONLY => "READ_RESP_ONLY",
            Self::ACK => "ACK",
            Self::ATOMIC_ACK => "ATOMIC_ACK",
            Self::CMP_SWAP => "CMP_SWAP",
            Self::FETCH_ADD => "FETCH_ADD",
            Self::RESYNC => "RESYNC",
            Self::SEND_LAST_INV => "SEND_LAST_INV",
            Self::SEND_ONLY_INV => "SEND_ONLY_INV",
            Self::FLUSH => "FLUSH",
            Self::ATOMIC_WRITE => "ATOMIC_WRITE",
            Self(other) => return write!(f, "{other}"),
        })
    }
}
