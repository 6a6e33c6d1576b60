//! Sums over all frames, of RoCE or not.

/// What one CPU counted over all frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Totals {
    /// Frames.
    pub seen: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Pause frames.
    pub pauses: u64,
    /// Frames that ended before it was known what they are.
    pub undecodable: u64,
    /// Frames with a BTH by ECN field: not-ECT, ECT(1), ECT(0), CE.
    pub ecn: [u64; 4],
    /// RoCE packets that no flow has counted: the tables were full, the flow was just being taken out, or nobody got to
    /// begin it, as the lock of its column was never free.
    pub overflow: u64,
    /// Frames that did not go through the ring, as it was full.
    pub ring_drops: u64,
    /// Bytes on the wire of frames with a BTH and of pause frames.
    pub named_bytes: u64,
    /// Frames with a BTH by opcode.
    pub opcodes: [u64; 256],
}

impl Default for Totals {
    fn default() -> Self {
        Self::from([0; Self::LEN])
    }
}

impl Totals {
    /// Its numbers.
    pub const LEN: usize = 11 + 256;

    /// Frames with a BTH.
    #[must_use]
    pub fn roce(&self) -> u64 {
        self.ecn.iter().sum()
    }

    /// Neither RoCE nor anything else that is counted by name.
    #[must_use]
    pub fn other(&self) -> u64 {
        self.seen.saturating_sub(self.roce() + self.pauses + self.undecodable)
    }

    /// Adds another CPU's.
    pub fn merge(&mut self, other: &Self) {
        *self = self.with(other, u64::saturating_add);
    }

    /// What came since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        let mut all = self.numbers();
        all.iter_mut().zip(other.numbers()).for_each(|(mine, theirs)| *mine = of(*mine, theirs));
        all.into()
    }

    fn numbers(&self) -> [u64; Self::LEN] {
        let Self { seen, bytes, pauses, undecodable, ecn: [a, b, c, d], overflow, ring_drops, named_bytes, opcodes } =
            *self;
        let mut all = [0; Self::LEN];
        let (first, rest) = all.split_at_mut(Self::LEN - opcodes.len());
        first.copy_from_slice(&[seen, bytes, pauses, undecodable, a, b, c, d, overflow, ring_drops, named_bytes]);
        rest.copy_from_slice(&opcodes);
        all
    }
}

const _: () = assert!(size_of::<Totals>() == 8 * Totals::LEN);

impl From<[u64; Totals::LEN]> for Totals {
    fn from(numbers: [u64; Totals::LEN]) -> Self {
        let [seen, bytes, pauses, undecodable, a, b, c, d, overflow, ring_drops, named_bytes, opcodes @ ..] = numbers;
        Self { seen, bytes, pauses, undecodable, ecn: [a, b, c, d], overflow, ring_drops, named_bytes, opcodes }
    }
}
