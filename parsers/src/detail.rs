//! What the few frames that carry more than [`Facts`] say, decoded for userland.

use core::fmt;

use crate::facts::{Class, Facts, Flags};
use crate::ib::bth::Bth;
use crate::ib::cm::CmMessage;
use crate::ib::deth::Deth;
use crate::ib::mad::Mad;
use crate::ib::opcode::Opcode;
use crate::link::pause::Pause;
use crate::units::{Bytes, Qpn};
use crate::window::Window;

/// What a frame carries beside its [`Facts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "nothing may allocate")]
pub enum Detail {
    /// A connection management message.
    Cm(CmMessage),
    /// A PFC or global pause frame.
    Pause(Pause),
}

/// The detail of a frame that `facts` were read from; `None` for nearly every one. Cheap to ask.
#[inline]
#[must_use]
pub fn detail<W: Window + ?Sized>(frame: &W, facts: &Facts) -> Option<Detail> {
    if facts.class == Class::Pause {
        return Pause::load(frame, usize::from(facts.l3)).ok().flatten().map(Detail::Pause);
    }
    // A management datagram is a whole UD message to the general service interface, always of one size (IBTA 13.4.2,
    // 13.5.1). Its length is checked by the headers, so that a cut one is read as far as it goes.
    if facts.opcode != Opcode::UD_SEND_ONLY
        || facts.dst_qp != Qpn::GSI
        || !facts.is_rdma()
        || !facts.flags.has(Flags::EXTENDED)
        || Bytes(u64::from(facts.payload)) < Bytes(Mad::WHOLE as u64)
    {
        return None;
    }
    let at = usize::from(facts.bth) + Bth::LEN + Deth::LEN;
    CmMessage::load(frame, at).ok().flatten().map(Detail::Cm)
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cm(message) => message.fmt(f),
            Self::Pause(pause) => pause.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ib::cm::Attribute;
    use crate::ib::cm::rtu::Rtu;
    use crate::ib::mad::{MadClass, TransactionId};
    use crate::ib::transport::fill;
    use crate::units::Psn;

    /// A ready-to-use message as the lab's rping sends it, from the BTH on.
    fn rtu(class: MadClass) -> Vec<u8> {
        let mut frame = Bth::new(Opcode::UD_SEND_ONLY, Qpn::GSI, Psn::new(1)).bytes().to_vec();
        frame.extend(Deth::new(Deth::GSI_QKEY, Qpn::GSI).bytes());
        frame.extend(Mad::new(class, 2, Mad::SEND, Attribute::RTU.0, TransactionId(0x2_fbbd_3b90)).bytes());
        frame.extend([0x90, 0x3b, 0xbd, 0xfb, 0x93, 0x3b, 0xbd, 0xfb]);
        frame.resize(Bth::LEN + Deth::LEN + Mad::WHOLE + 4, 0);
        frame
    }

    fn look(frame: &[u8], had: usize) -> Option<Detail> {
        let mut facts = Facts { class: Class::RoceV2, ..Facts::default() };
        fill(&frame[..had], 0, frame.len(), &mut facts).ok()?;
        detail(&frame[..had], &facts)
    }

    #[test]
    fn finds_the_message() {
        let frame = rtu(MadClass::CONNECTION);
        let Some(Detail::Cm(CmMessage::Rtu(Rtu { transaction, local, remote }))) = look(&frame, frame.len()) else {
            panic!("no RTU");
        };
        assert_eq!((transaction.0, local.0, remote.0), (0x2_fbbd_3b90, 0x903b_bdfb, 0x933b_bdfb));
    }

    #[test]
    fn cut_at_every_length() {
        let frame = rtu(MadClass::CONNECTION);
        for had in 0..frame.len() {
            assert_eq!(look(&frame, had).is_some(), had >= Bth::LEN + Deth::LEN + Mad::LEN + Rtu::LEN);
        }
    }

    #[test]
    fn decodes_a_pause() {
        let pause = Pause::pfc().with_class(3, 0xffff);
        let facts = Facts { class: Class::Pause, ..Facts::default() };
        assert_eq!(detail(&pause.bytes()[..], &facts), Some(Detail::Pause(pause)));
        assert_eq!(detail(&pause.bytes()[..19], &facts), None);
    }

    #[test]
    fn leaves_the_rest_alone() {
        let whole = rtu(MadClass::CONNECTION);
        let other_class = rtu(MadClass::PERFORMANCE);
        assert_eq!(look(&other_class, other_class.len()), None);
        let (mut other_opcode, mut other_qp) = (whole.clone(), whole.clone());
        other_opcode[0] = 0x65;
        other_qp[7] = 2;
        let short = &whole[..whole.len() - 1];
        for frame in [&other_opcode[..], &other_qp, short] {
            assert_eq!(look(frame, frame.len()), None);
        }
    }
}
