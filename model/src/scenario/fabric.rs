//! `[fabric]`: a shape of [`crate::topology::SHAPES`], its dimensions and its cables.

use super::reader::Keys;
use super::value::cable;
use crate::topology::{AiZone, Cable, Clos2, Dumbbell, Error, FatTree, LongHaul, Rail, Ring, SHAPES, Star, Topology};
use crate::units::{Rate, Time};

/// Ports that a fabric may have: a three-tier tree of radix 64 has 393,216. They bound what a scenario can cost before
/// it has begun, some hundreds of megabytes.
const MOST: u64 = 1 << 20;

/// A shape's dimensions, multiplied and added up without overflow.
fn sum(terms: &[&[u32]]) -> u64 {
    let product = |term: &&[u32]| term.iter().fold(1_u64, |all, n| all.saturating_mul(u64::from(*n)));
    terms.iter().map(product).fold(0, u64::saturating_add)
}

/// Reads a shape: dimensions, those with a value being optional; cables; and how many cables it is made of. Behind
/// `unless` stands what a key may say as a whole instead: it gets the names of the dimensions and of the cables.
macro_rules! shape {
    (
        $keys:ident, $base:ident, $type:ident
        { $($dim:ident $(= $default:expr)?),*; $($cable:ident),*; $count:expr }
    ) => {{
        $(let $cable = match $keys.table(stringify!($cable), "a cable") {
            Some(keys) => {
                let read = cable(&keys, $base);
                keys.done();
                read
            }
            None => $base,
        };)*
        $(let $dim: Option<u32> = shape!(@dim $keys $dim $($default)?);)*
        let ($(Some($dim),)*) = ($($dim,)*) else { return None };
        let shape = $type { $($dim,)* $($cable),* };
        let count: fn(&$type) -> u64 = $count;
        build($keys, count(&shape).saturating_mul(2), || shape.build())
    }};
    (
        $keys:ident, $base:ident, $type:ident
        { $($dim:ident $(= $default:expr)?),*; $($cable:ident),*; $count:expr } unless $whole:expr
    ) => {
        match $whole(&[$(stringify!($dim)),*], &[$(stringify!($cable)),*]) {
            Some(fabric) => fabric,
            None => shape!($keys, $base, $type { $($dim $(= $default)?),*; $($cable),*; $count }),
        }
    };
    (@dim $keys:ident $dim:ident) => { $keys.need(stringify!($dim), "4") };
    (@dim $keys:ident $dim:ident $default:expr) => { Some($keys.get(stringify!($dim)).unwrap_or($default)) };
}

fn build(keys: &Keys<'_>, ports: u64, build: impl Fn() -> Result<Topology, Error>) -> Option<Topology> {
    if ports > MOST {
        keys.fault_at("shape", format!("[fabric] has {ports} ports; a scenario may have {MOST}"));
        return None;
    }
    match build() {
        Ok(fabric) => Some(fabric),
        Err(error) => {
            match error {
                Error::TooSmall { what, .. } => keys.fault_at(what, error.to_string()),
                _ => keys.fault(error.to_string()),
            }
            None
        }
    }
}

/// Reads the table. `rate` and `delay` (or `metres`) are those of all cables that are not named.
pub(super) fn fabric(keys: Keys<'_>) -> Option<Topology> {
    let shape = keys.name("shape", SHAPES);
    if shape.is_none() {
        if keys.node("shape").is_none() {
            keys.fault(format!("[fabric] needs a shape, one of {}", SHAPES.join(", ")));
        }
        return None;
    }
    // The microsecond that most published simulations have.
    let base = cable(&keys, Cable::new(Rate::gbps(100), Time::us(1)));
    let fabric = shaped(&keys, shape?, base);
    keys.done();
    fabric
}

fn shaped(keys: &Keys<'_>, shape: &str, base: Cable) -> Option<Topology> {
    match shape {
        "star" => {
            let hosts = keys.need("hosts", "4")?;
            build(keys, sum(&[&[hosts, 2]]), || Star { hosts, cable: base }.build())
        }
        "dumbbell" => shape!(keys, base, Dumbbell { left, right, trunks = 1; host, trunk; |s|
            sum(&[&[s.left], &[s.right], &[s.trunks]]) }),
        "ring" => shape!(keys, base, Ring { switches, hosts_per_switch = 1; host, ring; |s|
            sum(&[&[s.switches, s.hosts_per_switch], &[s.switches]]) }),
        "clos2" => shape!(keys, base, Clos2 { leaves, spines, hosts_per_leaf, parallel = 1; host, spine; |s|
            sum(&[&[s.leaves, s.hosts_per_leaf], &[s.leaves, s.spines, s.parallel]]) }),
        "fat_tree" => fat_tree(keys, base),
        "ai_zone" => shape!(keys, base, AiZone
            { zones = 1, leaves, hosts_per_leaf, spines, aggregators = 1; host, spine, aggregation; |s|
            sum(&[
                &[s.zones, s.leaves, s.hosts_per_leaf],
                &[s.zones, s.leaves, s.spines],
                &[s.zones, s.spines, s.aggregators],
            ]) }),
        "rail" => shape!(keys, base, Rail { units = 1, servers, rails = 8, spines; host, spine; |s|
            sum(&[&[s.units, s.servers, s.rails], &[s.units, s.rails, s.spines]]) }),
        "long_haul" => shape!(keys, base, LongHaul
            { leaves, hosts_per_leaf, spines, trunks = 1; host, spine, trunk; |s|
            sum(&[&[2, s.leaves, s.hosts_per_leaf], &[2, s.leaves, s.spines], &[s.spines, s.trunks]]) }),
        // The list and this function are compared by a test.
        other => {
            keys.fault(format!("the shape {other} cannot be written in a scenario"));
            None
        }
    }
}

/// By radix, or by dimensions.
fn fat_tree(keys: &Keys<'_>, base: Cable) -> Option<Topology> {
    fn cables(s: &FatTree) -> u64 {
        sum(&[
            &[s.pods, s.leaves_per_pod, s.hosts_per_leaf],
            &[s.pods, s.leaves_per_pod, s.spines_per_pod],
            &[s.pods, s.spines_per_pod, s.cores_per_spine, s.parallel],
        ])
    }
    let by_radix = |dimensions: &[&'static str], others: &[&'static str]| {
        let radix = keys.get::<u32>("radix")?;
        for key in dimensions {
            keys.refuse(key, "radix says how many there are; leave out one of them");
        }
        for key in others {
            keys.refuse(key, "with a radix all cables are alike; say the tree's dimensions instead of its radix");
        }
        if radix < 2 || radix % 2 > 0 {
            let why = "half of a switch's ports lead up and half down";
            keys.fault_at("radix", format!("radix is {radix}; it must be even, and 2 at least: {why}"));
            return Some(None);
        }
        let shape = FatTree::radix(radix, base);
        Some(build(keys, cables(&shape).saturating_mul(2), || shape.build()))
    };
    shape!(keys, base, FatTree
        { pods, leaves_per_pod, hosts_per_leaf, spines_per_pod, cores_per_spine, parallel = 1;
          host, spine, core; cables } unless by_radix)
}
