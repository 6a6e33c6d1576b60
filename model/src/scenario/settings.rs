//! The settings of switches, NICs, congestion controls and routing as keys.

use rocetop_parsers::Bytes;

use super::reader::{Doc, Keys, Knobs, Node, knobs, unknown_word};
use super::value::{Value, word, words};
use crate::cc::{self, dcqcn};
use crate::nic::{self, CnpPer, Receives, Recovery};
use crate::routing::ecmp::Seeds;
use crate::routing::hash::{Fields, Hash};
use crate::routing::{self, spray};
use crate::switch::{self, Buffer, CnpBy, Headroom, Lanes, Link, Marking, Queues, Scheduler, Watchdog, ecn, watchdog};
use crate::workload::admission::{Admission, Owner};

words!(CnpPer { "qp" => CnpPer::Qp, "ip" => CnpPer::Ip, "port" => CnpPer::Port });
words!(Recovery { "go_back_n" => Recovery::GoBackN, "selective" => Recovery::Selective });
words!(watchdog::Rule {
    "bound" => watchdog::Rule::Bound,
    "occupied" => watchdog::Rule::Occupied,
    "received" => watchdog::Rule::Received,
});
words!(watchdog::Action {
    "drop" => watchdog::Action::Drop,
    "forward" => watchdog::Action::Forward,
    "alert" => watchdog::Action::Alert,
});
words!(CnpBy { "receiver" => CnpBy::Receiver, "switch" => CnpBy::Switch });
words!(ecn::At { "enqueue" => ecn::At::Enqueue, "dequeue" => ecn::At::Dequeue });
words!(Queues { "output" => Queues::Output, "voq" => Queues::Virtual });
words!(Link { "pfc" => Link::Pfc, "credits" => Link::Credits });
words!(Owner { "connection" => Owner::Connection, "receiver" => Owner::Receiver });
words!(Seeds { "same" => Seeds::Same, "tier" => Seeds::Tier, "switch" => Seeds::Switch });
words!(Hash { "mix" => Hash::Mix, "crc32" => Hash::Crc32, "crc16" => Hash::Crc16, "xor" => Hash::Xor });
words!(spray::Order { "random" => spray::Order::Random, "turns" => spray::Order::Turns });
words!(Fields {
    "pair" => Fields::PAIR,
    "tuple" => Fields::TUPLE,
    "tuple_qp" => Fields::TUPLE_QP,
    "packet" => Fields::PACKET,
});
words!(dcqcn::Variant {
    "paper" => dcqcn::Variant::Paper,
    "vendor" => dcqcn::Settings::vendor().variant,
});

knobs!(nic::Settings {
    mtu, ack_every > 0, ack_priority, cnp_priority, cnp_interval, cnp_per, timeout > 0, retries, recovery, receives,
    jitter
});
knobs!(Scheduler { strict, weights });
knobs!(Buffer { per_port > 0, alpha_256 > 0, link, headroom, hysteresis, response });
knobs!(Marking { kmin, kmax, pmax_ppm, per });
knobs!(switch::Settings {
    buffer,
    tiers,
    lossless,
    marking,
    marked,
    mark_at,
    cnp_by,
    queues,
    scheduler,
    lanes,
    quanta,
    watchdog
});
knobs!(Admission { buffers > 0, buffer > 0, owner, cts > 0, priority });
knobs!(Receives { posted > 0, refill, timer > 0, retries });
knobs!(Lanes { up, down });
knobs!(Watchdog { rule, action, poll > 0, detect > 0, restore > 0 });

/// `"exact"`, a share of it such as `"70 %"`, `"none"`, or bytes.
impl Value for Headroom {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        let text = node.get_ref().as_str().unwrap_or_default();
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse().ok());
        match (text, percent) {
            ("exact", _) => Some(Self::Exact { percent: 100 }),
            ("none", _) => Some(Self::None),
            (_, Some(percent)) => Some(Self::Exact { percent }),
            _ => Bytes::read(node, doc, key).map(Self::Fixed),
        }
    }
}

/// Makes settings with defaults a value that is written as a table.
macro_rules! tables {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
                let mut value = Self::default();
                read_table(node, doc, key, &mut value)?;
                Some(value)
            }
        }
    )*};
}
tables!(Buffer, Scheduler, Receives, Lanes, Watchdog);

/// A table of thresholds, or `"production"` or `"paper"` for known ones.
impl Value for Marking {
    fn read(node: &Node<'_>, doc: &Doc, key: &str) -> Option<Self> {
        if node.get_ref().as_str().is_some() {
            return word(node, doc, key, &[("paper", Self::default()), ("production", Self::production())]);
        }
        let mut value = Self::default();
        read_table(node, doc, key, &mut value)?;
        Some(value)
    }
}

fn read_table(node: &Node<'_>, doc: &Doc, key: &str, value: &mut impl Knobs) -> Option<()> {
    let table = if key == "receives" { "nic" } else { "switch" };
    let keys = Keys::of(doc, node, &format!("[{table}.{key}]"))?;
    value.knobs(&keys);
    keys.done();
    Some(())
}

/// `[cc]`: a name of [`cc::NAMES`], and its settings.
pub(super) fn congestion_control(keys: Keys<'_>) -> Option<cc::Settings> {
    let mut settings = named(&keys, cc::Settings::all(), cc::Settings::name, cc::NAMES)?;
    settings.knobs(&keys);
    keys.done();
    Some(settings)
}

/// `[routing]`: a name of [`routing::NAMES`], and its settings.
pub(super) fn routing(keys: Keys<'_>) -> Option<routing::Settings> {
    let mut settings = named(&keys, routing::Settings::all(), routing::Settings::name, routing::NAMES)?;
    settings.knobs(&keys);
    keys.done();
    Some(settings)
}

fn named<T>(keys: &Keys<'_>, all: Vec<T>, name: fn(&T) -> &'static str, names: &[&'static str]) -> Option<T> {
    let word: String = keys.need("name", &format!("{:?}", names.first().copied().unwrap_or_default()))?;
    let found = all.into_iter().find(|settings| name(settings) == word);
    if found.is_none() {
        keys.fault_at("name", unknown_word("name", &word, names));
    }
    found
}
