//! Queues and rates over time, looked at from bin to bin.

use std::collections::BTreeMap;

use crate::engine::Simulation;
use crate::topology::PortId;
use crate::units::{Bytes, Time};

/// Points of a series: when there are so many, two become one, and from then on a bin lasts twice as long. However long
/// a run is, it is looked at a few thousand times.
const MOST: usize = 1024;

/// What happened at a port in one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Point {
    /// Bytes that left, preambles and gaps included.
    pub sent: Bytes,
    /// The most bytes that waited at once.
    pub peak: Bytes,
}

/// How long a queue was, at the end of every bin: a histogram whose steps are a 32nd of the length or finer.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Levels {
    /// For how long a length was seen, by the lower end of its step.
    steps: BTreeMap<u64, u128>,
    all: u128,
    most: u64,
}

impl Levels {
    fn add(&mut self, bytes: u64, time: Time) {
        let width = 64 - (bytes >> 6).leading_zeros();
        *self.steps.entry(bytes >> width << width).or_default() += u128::from(time.0);
        self.all += u128::from(time.0);
    }

    /// The length that was not exceeded for so many per cent of the time; zero when nobody looked.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Bytes {
        let rank = (self.all * u128::from(percent)).div_ceil(100).max(1);
        let mut below = 0;
        for (step, time) in &self.steps {
            below += time;
            if below >= rank {
                return Bytes(*step);
            }
        }
        Bytes(0)
    }

    /// The longest that it ever was, between looks too.
    #[must_use]
    pub const fn most(&self) -> Bytes {
        Bytes(self.most)
    }
}

/// One port under watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortWatch {
    /// The port.
    pub port: PortId,
    /// How long its queue was.
    pub queue: Levels,
    /// What happened in every bin.
    pub points: Vec<Point>,
    sent: u64,
}

/// Ports under watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    bin: Time,
    begun: Time,
    /// Bins so far; every port has as many points.
    count: usize,
    ports: Vec<PortWatch>,
}

impl Watch {
    /// Begins to watch some ports of a run, at its present time, in bins of `bin` at first.
    #[must_use]
    pub fn new(run: &mut Simulation, ports: impl IntoIterator<Item = PortId>, bin: Time) -> Self {
        let mut begin = |port| {
            run.peak(port);
            let sent = run.counters(port).bytes;
            PortWatch { port, queue: Levels::default(), points: Vec::new(), sent }
        };
        let ports = ports.into_iter().map(&mut begin).collect();
        Self { bin: bin.max(Time(1)), begun: run.now(), count: 0, ports }
    }

    /// When the present bin ends: the time to look.
    #[must_use]
    pub fn next(&self) -> Time {
        self.begun + self.bin
    }

    /// Looks at every port; the present bin ends.
    pub fn look(&mut self, run: &mut Simulation) {
        let time = run.now().since(self.begun);
        self.begun = run.now();
        for watch in &mut self.ports {
            let sent = run.counters(watch.port).bytes;
            let point = Point { sent: Bytes(sent - watch.sent), peak: run.peak(watch.port) };
            watch.sent = sent;
            watch.queue.add(run.queue(watch.port).0, time);
            watch.queue.most = watch.queue.most.max(point.peak.0);
            watch.points.push(point);
        }
        self.count += 1;
        if self.count == MOST {
            for watch in &mut self.ports {
                let pair = |pair: &[Point]| pair.iter().fold(Point::default(), |sum, point| sum.and(*point));
                watch.points = watch.points.chunks(2).map(pair).collect();
            }
            self.count = MOST / 2;
            self.bin = self.bin.times(2);
        }
    }

    /// How long a bin lasts; the last one may be shorter.
    #[must_use]
    pub const fn bin(&self) -> Time {
        self.bin
    }

    /// The ports, in the order in which they were named.
    #[must_use]
    pub fn ports(&self) -> &[PortWatch] {
        &self.ports
    }
}

impl Point {
    fn and(self, other: Self) -> Self {
        Self { sent: Bytes(self.sent.0 + other.sent.0), peak: Bytes(self.peak.0.max(other.peak.0)) }
    }
}

impl Simulation {
    /// The most bytes that have waited in all queues of a port since it was last asked.
    pub fn peak(&mut self, port: PortId) -> Bytes {
        let port = &mut self.state.ports[port];
        let peak = port.peak.max(port.queued);
        port.peak = port.queued;
        Bytes(peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Settings, Status};
    use crate::topology::{Cable, HostId, Star};
    use crate::units::Rate;
    use crate::workload::{Flow, Workload};

    #[test]
    fn percentiles_of_lengths() {
        let mut levels = Levels::default();
        for bytes in 1..=100 {
            levels.add(bytes, Time(7));
        }
        assert_eq!([50, 99, 100].map(|percent| levels.percentile(percent).0), [50, 98, 100]);
        levels.add(1_000_003, Time(7));
        assert_eq!(levels.percentile(100), Bytes(999_424));
        assert_eq!(Levels::default().percentile(50), Bytes(0));
    }

    #[test]
    fn a_long_run_has_wider_bins_and_the_same_sum() {
        let fabric = Star { hosts: 3, cable: Cable::new(Rate::gbps(100), Time::us(1)) }.build().unwrap();
        let mut load = Workload::new();
        for src in [0, 1] {
            load.add(Flow::new(HostId(src), HostId(2), Bytes(10_000_000)));
        }
        let out = crate::observe::port_of(&fabric, "t1s0-h2").unwrap();
        let mut run = Simulation::new(fabric, &load, Settings::default()).unwrap();
        let mut watch = Watch::new(&mut run, [out], Time::us(1));
        while run.advance(watch.next(), u64::MAX) == Status::Running {
            watch.look(&mut run);
        }
        watch.look(&mut run);
        // 20 MB at 100 Gb/s take 1.6 ms: more than 1,024 bins of a microsecond.
        assert_eq!(watch.bin(), Time::us(2));
        let [seen] = watch.ports() else { panic!("one port") };
        assert!((810..=840).contains(&seen.points.len()), "{}", seen.points.len());
        let sum: u64 = seen.points.iter().map(|point| point.sent.0).sum();
        assert_eq!(sum, run.counters(out).bytes);
        // Both senders' packets wait until PFC holds them; a full bin carries all that its line can.
        assert!(seen.queue.most().0 > 10_000 && seen.queue.percentile(50) <= seen.queue.most());
        assert!(seen.points.iter().any(|point| point.sent.0 > 24_500), "{:?}", seen.points.get(5));
    }
}
