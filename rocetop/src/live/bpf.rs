//! The kernel programs: loaded from the object that is part of the binary, set up, run, and read.
//!
//! One [`Programs`] has one set of maps. What attaches it to interfaces asks for [`Programs::received`] and
//! [`Programs::sent`]; a set that serves several interfaces counts a flow that crosses two of them twice.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use aya::maps::{MapData, MapError, PerCpuArray, RingBuf};
use aya::programs::{ProgramError, SchedClassifier, TestRun, TestRunOptions, Xdp};
use aya::{Ebpf, EbpfError, EbpfLoader};
use rocetop_parsers::abi::{Flow, Key, Totals, Way, Why};

use super::places::Places;
use super::table;

/// Built by `cargo xtask build-ebpf`, and proved by `cargo xtask build-ebpf --check` to be what the source says.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/rocetop.bpf.o");

/// What of the object failed us.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// The kernel took the object's maps or types not.
    #[error("the kernel does not take the maps of rocetop's programs")]
    Object(#[source] EbpfError),
    /// The kernel took a program not, or did not run it.
    #[error("the kernel does not take or run the program {0}")]
    Program(&'static str, #[source] ProgramError),
    /// A map cannot be read.
    #[error("the map {0} cannot be read")]
    Map(&'static str, #[source] MapError),
    /// A table of flows cannot be read.
    #[error("the table of flows {0} cannot be read")]
    Table(&'static str, #[source] io::Error),
    /// The object lacks something, or it was taken before.
    #[error("rocetop's object has no {0}, or it was taken before")]
    Missing(&'static str),
}

impl BpfError {
    /// An error with all its causes, for a person.
    #[must_use]
    pub fn explain(&self) -> String {
        let errnos: Vec<i32> = causes(self).filter_map(|e| e.downcast_ref::<io::Error>()?.raw_os_error()).collect();
        let words = Self::words(self);
        if matches!(self, Self::Object(EbpfError::BtfError(_))) {
            return format!("{words}: this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
        }
        match errnos.first() {
            Some(&libc::EPERM) => format!("{words}: a sandbox, or a locked-down kernel, forbids bpf(2)"),
            Some(&libc::ENOSYS) => format!("{words}: this kernel is built without bpf(2)"),
            Some(&libc::ENOMEM) => format!("{words}: there is no memory for the tables of flows"),
            _ => words,
        }
    }

    /// An error's words and those of its causes, each once; of a verifier's log the end, which says what is wrong.
    pub(super) fn words(error: &dyn std::error::Error) -> String {
        const MOST: usize = 400;
        let mut words = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            let text = next.to_string();
            if !words.contains(&text) {
                words = format!("{words}: {text}");
            }
            cause = next.source();
        }
        let skip = words.chars().count().saturating_sub(MOST);
        if skip == 0 {
            words
        } else {
            words.chars().take(MOST / 4).chain(" ... ".chars()).chain(words.chars().skip(skip + MOST / 4)).collect()
        }
    }
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// How the programs are to work. Fixed once they are loaded: the verifier takes out what is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The reasons for which a frame goes through the ring.
    pub events: Why,
    /// With [`Why::HEADERS`]: one RoCE packet in so many goes through the ring.
    pub sample: u32,
    /// Places for flows over IPv4, rounded up to a power of two, and room for other flows, so many of each. A flow over
    /// IPv4 whose places are all taken is among the others. The kernel sets the memory aside at once: about 300 bytes
    /// for each of both.
    pub flows: u32,
    /// Bytes of the ring: a power of two, and whole pages.
    pub ring: u32,
}

/// Where a flow lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// At a place for flows over IPv4.
    Places,
    /// Among the other flows.
    Others,
}

impl Default for Settings {
    fn default() -> Self {
        Self { events: Why::TELLING, sample: 1, flows: 65_536, ring: 1 << 22 }
    }
}

/// The programs in the kernel, with their maps. They go when this goes.
#[derive(Debug)]
pub struct Programs {
    ebpf: Ebpf,
    places: Places,
}

/// How a run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// What the program told the kernel to do with the frame.
    pub verdict: u32,
    /// Time a frame, on average, as the kernel measures it.
    pub each: Duration,
}

const RECEIVED: &str = "rocetop_in";
/// Name of the program for sent frames, and of its filter.
pub(super) const SENT: &str = "rocetop_out";
const FLOWS4: &str = "FLOWS4";
const FLOWS6: &str = "FLOWS6";

impl Programs {
    /// What the program for received frames answers: let it pass (XDP_PASS).
    pub const PASS: u32 = 2;
    /// What the program for sent frames answers: go on with the next one (TC_ACT_UNSPEC).
    pub const NEXT: u32 = u32::MAX;

    /// Loads the programs; nothing is attached yet.
    ///
    /// # Errors
    /// [`BpfError`] when the kernel refuses: no CAP_BPF and CAP_NET_ADMIN, no memory for the tables, a kernel too old.
    pub fn load(settings: &Settings) -> Result<Self, BpfError> {
        let places = Places::number(settings.flows);
        let mask = places - 1;
        let mut ebpf = EbpfLoader::new()
            .override_global("EVENTS", &settings.events.0, true)
            .override_global("SAMPLE", &settings.sample, true)
            .override_global("MASK", &mask, true)
            .map_max_entries(FLOWS4, places)
            .map_max_entries(FLOWS6, settings.flows)
            .map_max_entries("RING", settings.ring)
            .load(OBJECT)
            .map_err(BpfError::Object)?;
        program_mut::<Xdp>(&mut ebpf, RECEIVED)?.load().map_err(|e| BpfError::Program(RECEIVED, e))?;
        program_mut::<SchedClassifier>(&mut ebpf, SENT)?.load().map_err(|e| BpfError::Program(SENT, e))?;
        let Some(aya::maps::Map::Array(array)) = ebpf.map(FLOWS4) else { return Err(BpfError::Missing(FLOWS4)) };
        let places = Places::map(array.fd().as_fd(), places).map_err(|e| BpfError::Table(FLOWS4, e))?;
        Ok(Self { ebpf, places })
    }

    /// The program for received frames, to attach it.
    ///
    /// # Errors
    /// [`BpfError::Missing`], never for an object of ours.
    pub fn received(&mut self) -> Result<&mut Xdp, BpfError> {
        program_mut(&mut self.ebpf, RECEIVED)
    }

    /// The program for sent frames, to attach it.
    ///
    /// # Errors
    /// [`BpfError::Missing`], never for an object of ours.
    pub fn sent(&mut self) -> Result<&mut SchedClassifier, BpfError> {
        program_mut(&mut self.ebpf, SENT)
    }

    /// Takes the programs out of all interfaces that they hang in. What they have counted stays.
    pub fn detach(&mut self) {
        // Unloading takes the links away. It fails where nothing is loaded any more.
        let _ = self.received().map(Xdp::unload);
        let _ = self.sent().map(SchedClassifier::unload);
    }

    /// The ring, to read it; once. Its records are for [`rocetop_parsers::abi::Event::read`].
    ///
    /// # Errors
    /// [`BpfError::Missing`] the second time.
    pub fn ring(&mut self) -> Result<RingBuf<MapData>, BpfError> {
        let map = self.ebpf.take_map("RING").ok_or(BpfError::Missing("RING"))?;
        RingBuf::try_from(map).map_err(|e| BpfError::Map("RING", e))
    }

    /// What all CPUs counted over all frames.
    ///
    /// # Errors
    /// [`BpfError::Map`] when the kernel does not let us read.
    pub fn totals(&self) -> Result<Totals, BpfError> {
        let map = self.ebpf.map("TOTALS").ok_or(BpfError::Missing("TOTALS"))?;
        let array = PerCpuArray::<_, [u64; Totals::LEN]>::try_from(map).map_err(|e| BpfError::Map("TOTALS", e))?;
        let mut sum = Totals::default();
        for cpu in array.get(&0, 0).map_err(|e| BpfError::Map("TOTALS", e))?.iter() {
            sum.merge(&Totals::from(*cpu));
        }
        Ok(sum)
    }

    /// Hands out every flow with where it lies, in no order. See [`Flow`] for what happens to one that is being added
    /// to.
    ///
    /// # Errors
    /// [`BpfError::Table`] when the kernel does not let us read.
    pub fn for_each_flow(&self, mut each: impl FnMut(Table, Key, Flow)) -> Result<(), BpfError> {
        self.places.each(|key, flow| each(Table::Places, key.into(), flow));
        let others = |key, mut flow: Flow| {
            let _ = flow.unplace();
            each(Table::Others, key, flow);
        };
        table::entries(self.others()?, others).map_err(|e| BpfError::Table(FLOWS6, e))
    }

    /// Takes a flow out of its table, with what it had counted; `None` if it is not there, or if the kernel does not
    /// get done with a packet of it. Its next packet begins it anew. A packet that is being counted on another CPU at
    /// that very moment may be counted without a flow ([`Totals::overflow`]), or, where it gave up on the lock or found
    /// the flow in the table of others, be lost or go to the flow that gets the room: take out what has long been
    /// silent.
    ///
    /// # Errors
    /// [`BpfError::Table`] when the kernel does not let us.
    pub fn take_flow(&self, key: &Key) -> Result<Option<Flow>, BpfError> {
        if let Some(narrow) = key.narrow()
            && let Some(flow) = self.places.take(&narrow)
        {
            return Ok(Some(flow));
        }
        let taken = table::take(self.others()?, key).map_err(|e| BpfError::Table(FLOWS6, e))?;
        Ok(taken.map(|mut flow: Flow| {
            let _ = flow.unplace();
            flow
        }))
    }

    /// Runs a program `repeat` times over a frame that nobody sent.
    ///
    /// # Errors
    /// [`BpfError::Program`] when the kernel does not: the frame is shorter than an Ethernet header, or longer than the
    /// kernel's test runs take.
    pub fn run(&self, way: Way, frame: &[u8], repeat: u32) -> Result<Ran, BpfError> {
        let options = TestRunOptions { data_in: Some(frame), repeat, ..TestRunOptions::new() };
        let (name, result) = match way {
            Way::In => (RECEIVED, self.program::<Xdp>(RECEIVED)?.test_run(options)),
            Way::Out => (SENT, self.program::<SchedClassifier>(SENT)?.test_run(options)),
        };
        let result = result.map_err(|e| BpfError::Program(name, e))?;
        Ok(Ran { verdict: result.return_value, each: result.duration })
    }

    /// Instructions that the verifier looked at before it took the program, where the kernel tells.
    ///
    /// # Errors
    /// [`BpfError::Program`] when the kernel tells nothing about it.
    pub fn verified(&self, way: Way) -> Result<Option<u32>, BpfError> {
        let name = if way == Way::In { RECEIVED } else { SENT };
        let info = self.ebpf.program(name).ok_or(BpfError::Missing(name))?.info();
        Ok(info.map_err(|e| BpfError::Program(name, e))?.verified_instruction_count())
    }

    fn program<'a, P>(&'a self, name: &'static str) -> Result<&'a P, BpfError>
    where
        &'a P: TryFrom<&'a aya::programs::Program, Error = ProgramError>,
    {
        let program = self.ebpf.program(name).ok_or(BpfError::Missing(name))?;
        program.try_into().map_err(|e| BpfError::Program(name, e))
    }

    /// The table of all flows that have no place.
    fn others(&self) -> Result<BorrowedFd<'_>, BpfError> {
        match self.ebpf.map(FLOWS6) {
            Some(aya::maps::Map::HashMap(map)) => Ok(map.fd().as_fd()),
            _ => Err(BpfError::Missing(FLOWS6)),
        }
    }
}

fn program_mut<'a, P>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut P, BpfError>
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program, Error = ProgramError>,
{
    let program = ebpf.program_mut(name).ok_or(BpfError::Missing(name))?;
    program.try_into().map_err(|e| BpfError::Program(name, e))
}
