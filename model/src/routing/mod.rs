//! Which of several equal ways a packet takes, one file a policy.
//!
//! Where a switch (or a host with several ports) has more than one next hop to a destination, a [`Policy`] chooses. The
//! work is split so that a hop stays cheap: [`Policy::entropy`] looks at the header fields once, where the packet is
//! made, and every hop sees only those 32 bits.
//!
//! To add one: a file with its `Settings` and its state, and one line in the list below (`policies!`). [`hash`] is what
//! several of them use.

pub mod adaptive;
pub mod ecmp;
pub mod hash;
pub mod pinned;
pub mod spray;
pub mod weighted;

use crate::topology::{Hops, HostId, NodeId, PortId, Topology};
use crate::units::{Bytes, Psn, Qpn, Time};

/// The header fields that a switch can hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Source address.
    pub src: HostId,
    /// Destination address.
    pub dst: HostId,
    /// UDP source port; the destination port is always 4791.
    pub sport: u16,
    /// BTH destination queue pair.
    pub qp: Qpn,
    /// BTH packet sequence number.
    pub psn: Psn,
}

/// What a policy can see of the fabric while it chooses.
pub trait View {
    /// The time.
    fn now(&self) -> Time;
    /// Bytes that wait in all queues of a port.
    fn queue(&self, port: PortId) -> Bytes;
    /// Whether any port is out of use: as long as none is, [`View::usable`] need not be asked.
    fn damaged(&self) -> bool;
    /// Whether the router has not (yet) taken a port out of use for this destination.
    fn usable(&self, port: PortId, to: HostId) -> bool;
    /// A random number below `n`.
    fn below(&mut self, n: u32) -> u32;
}

/// The port that 32 hash bits choose among the usable ones, each getting its equal share of them; the first port when
/// none is usable.
#[inline]
pub fn spread<V: View>(view: &V, to: HostId, hops: Hops, hash: u32) -> PortId {
    let nth = |count: u32| ((u64::from(hash) * u64::from(count)) >> 32) as u32;
    if !view.damaged() {
        return PortId(hops.first.0 + nth(hops.count));
    }
    let usable = || hops.ports().filter(|port| view.usable(*port, to));
    usable().nth(nth(usable().count() as u32) as usize).unwrap_or(hops.first)
}

/// Whether a port leads to a destination by cables that are not out of use: what routers know once a failure is
/// withdrawn from their tables everywhere.
pub fn leads(fabric: &Topology, port: PortId, to: HostId, out: &impl Fn(PortId) -> bool) -> bool {
    if out(port) {
        return false;
    }
    let next = fabric.ports()[fabric.ports()[port].peer].node;
    // Up and then down: no way is long. Switches in a ring never lead elsewhere, and end here by their one way on.
    next == NodeId::from(to) || fabric.next_hops(next, to).ports().any(|port| leads(fabric, port, to, out))
}

/// One way to choose.
pub trait Policy: Sized {
    /// What can be set.
    type Settings: Default + Clone;

    /// The state of a fabric's switches; all that is drawn comes from `seed`.
    fn new(settings: &Self::Settings, fabric: &Topology, seed: u64) -> Self;

    /// Whether [`Policy::entropy`] looks at the PSN: if not, it is asked once for a queue pair instead of for every
    /// packet.
    fn by_packet(&self) -> bool {
        false
    }

    /// Whether packets of one queue pair go different ways though their entropy is the same.
    fn sprays(&self) -> bool {
        false
    }

    /// The bits of a packet's headers that decide its way.
    fn entropy(&self, key: &Key) -> u32;

    /// One of `hops`, which are at least two, for a packet that stands at `at` and goes to `to`.
    fn choose<V: View>(&mut self, view: &mut V, at: NodeId, to: HostId, entropy: u32, hops: Hops) -> PortId;
}

/// Makes the enums that stand for all policies, so that the engine calls none of them through a pointer.
macro_rules! policies {
    ($($file:ident $name:ident),* $(,)?) => {
        /// Every policy, by the name of its file.
        pub const NAMES: &[&str] = &[$(stringify!($file)),*];

        /// A policy and its settings.
        #[derive(Clone, Debug)]
        pub enum Settings {
            $(#[doc = concat!("See [`", stringify!($file), "`].")] $name($file::Settings),)*
        }

        /// A policy with the state of all switches.
        #[derive(Clone, Debug)]
        pub enum Router {
            $(#[doc = concat!("See [`", stringify!($file), "`].")] $name($file::$name),)*
        }

        impl crate::scenario::Knobs for Settings {
            fn knobs(&mut self, keys: &crate::scenario::Keys<'_>) {
                match self { $(Self::$name(settings) => settings.knobs(keys),)* }
            }
        }

        impl Settings {
            /// The name of the policy's file.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($file),)* }
            }

            /// Each policy with its default settings.
            #[must_use]
            pub fn all() -> Vec<Self> {
                vec![$(Self::$name($file::Settings::default())),*]
            }

            /// The state of a fabric's switches.
            #[must_use]
            pub fn begin(&self, fabric: &Topology, seed: u64) -> Router {
                match self { $(Self::$name(settings) => Router::$name($file::$name::new(settings, fabric, seed)),)* }
            }
        }

        impl Router {
            /// Whether every packet has its own entropy.
            #[must_use]
            pub fn by_packet(&self) -> bool {
                match self { $(Self::$name(state) => state.by_packet(),)* }
            }

            /// Whether the packets of one queue pair go different ways.
            #[must_use]
            pub fn sprays(&self) -> bool {
                match self { $(Self::$name(state) => state.by_packet() || state.sprays(),)* }
            }

            /// The bits of a packet's headers that decide its way.
            #[must_use]
            pub fn entropy(&self, key: &Key) -> u32 {
                match self { $(Self::$name(state) => state.entropy(key),)* }
            }

            /// One of `hops` for a packet that stands at `at` and goes to `to`.
            #[inline]
            pub fn choose<V: View>(
                &mut self,
                view: &mut V,
                at: NodeId,
                to: HostId,
                entropy: u32,
                hops: Hops,
            ) -> PortId {
                match self { $(Self::$name(state) => state.choose(view, at, to, entropy, hops),)* }
            }
        }
    };
}

policies! {
    adaptive Adaptive,
    ecmp Ecmp,
    pinned Pinned,
    spray Spray,
    weighted Weighted,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::topology::{Cable, FatTree};
    use crate::units::Rate;

    /// A fabric as a test wants a policy to see it.
    pub(crate) struct Still {
        pub(crate) now: Time,
        pub(crate) queues: Vec<(PortId, Bytes)>,
        pub(crate) dead: Vec<PortId>,
        pub(crate) rng: Rng,
    }

    impl Default for Still {
        fn default() -> Self {
            Self { now: Time::ZERO, queues: Vec::new(), dead: Vec::new(), rng: Rng::new(1) }
        }
    }

    impl View for Still {
        fn now(&self) -> Time {
            self.now
        }
        fn queue(&self, port: PortId) -> Bytes {
            self.queues.iter().find(|(of, _)| *of == port).map(|(_, bytes)| *bytes).unwrap_or_default()
        }
        fn damaged(&self) -> bool {
            !self.dead.is_empty()
        }
        fn usable(&self, port: PortId, _: HostId) -> bool {
            !self.dead.contains(&port)
        }
        fn below(&mut self, n: u32) -> u32 {
            self.rng.below(u64::from(n)) as u32
        }
    }

    /// Key number `n` of many that look alike, as those of a real host do.
    pub(crate) fn key(n: u32) -> Key {
        let sport = 0xc000 | (n % 0x4000) as u16;
        Key { src: HostId(n % 16), dst: HostId(64 + n % 7), sport, qp: Qpn(0x100 + n), psn: Psn::new(n * 3) }
    }

    #[test]
    fn every_policy_stays_among_the_hops_and_repeats_itself() {
        let fabric = FatTree::radix(8, Cable::new(Rate::gbps(100), Time::us(1))).build().unwrap();
        for settings in Settings::all() {
            let story = |dead: Vec<PortId>| {
                let mut router = settings.begin(&fabric, 5);
                let mut view = Still { dead, ..Still::default() };
                let mut story = Vec::new();
                for n in 0..1_000 {
                    view.now += Time::ns(700);
                    let key = key(n);
                    let node = NodeId(128 + n % 64);
                    let hops = fabric.next_hops(node, key.dst);
                    if hops.count > 1 {
                        let entropy = router.entropy(&key);
                        let port = router.choose(&mut view, node, key.dst, entropy, hops);
                        assert!(hops.ports().any(|hop| hop == port), "{}", settings.name());
                        assert!(!view.dead.contains(&port), "{}", settings.name());
                        story.push(port);
                    }
                }
                story
            };
            assert_eq!(story(vec![]), story(vec![]));
            let dead: Vec<PortId> = fabric.nodes().map(|node| fabric.next_hops(node, HostId(64)).first).collect();
            let dead = dead.into_iter().filter(|p| fabric.next_hops(fabric.ports()[*p].node, HostId(64)).count > 1);
            story(dead.collect());
        }
    }

    #[test]
    fn a_hash_spreads_over_what_is_usable() {
        let hops = Hops { first: PortId(10), count: 4 };
        let ports = |view: &Still| [0, 0x4000_0000, 0x8000_0000, u32::MAX].map(|h| spread(view, HostId(0), hops, h).0);
        assert_eq!(ports(&Still::default()), [10, 11, 12, 13]);
        assert_eq!(ports(&Still { dead: vec![PortId(11)], ..Still::default() }), [10, 10, 12, 13]);
        assert_eq!(ports(&Still { dead: hops.ports().collect(), ..Still::default() }), [10; 4]);
    }

    #[test]
    fn the_list_and_the_folder_agree() {
        let mut found: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/routing"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod" && name != "hash")
            .collect();
        found.sort();
        assert_eq!(found, NAMES);
    }
}
