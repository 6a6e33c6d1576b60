//! The kernel's table of flows over IPv4, as it lies in memory: read without a system call.

#![allow(unsafe_code, reason = "memory that is shared with the kernel; each use says why it holds")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rocetop_parsers::abi::{Flow, Key4};

/// A [`Flow`], while the kernel may be adding to it.
#[repr(C)]
struct Place {
    lock: AtomicU32,
    second: AtomicU32,
    figures: [AtomicU64; FIGURES],
    tag: AtomicU32,
    spare: [u32; SPARE],
}

const FIGURES: usize = (Flow::TAG - 8) / 8;
const SPARE: usize = (size_of::<Flow>() - Flow::TAG - 4) / 4;
const _: () = assert!(size_of::<Place>() == size_of::<Flow>() && std::mem::offset_of!(Place, tag) == Flow::TAG);

/// Attempts to take a lock. The kernel holds one for well under a microsecond, unless its CPU is taken from it.
const ATTEMPTS: u32 = 100_000;

/// The table. It goes out of our memory when this goes.
#[derive(Debug)]
pub(super) struct Places {
    first: NonNull<Place>,
    len: usize,
}

// SAFETY: all that can be reached through it is atomic.
unsafe impl Send for Places {}
// SAFETY: as above.
unsafe impl Sync for Places {}

impl Places {
    /// Places of a table for so many flows: each has to be found by a mask.
    pub(super) fn number(flows: u32) -> u32 {
        // 4 GiB of places.
        const MOST: u32 = 1 << 24;
        flows.clamp(Key4::WAYS, MOST).next_power_of_two()
    }

    /// Maps an array of `len` flows.
    ///
    /// # Errors
    /// What mmap(2) says.
    pub(super) fn map(array: BorrowedFd<'_>, len: u32) -> io::Result<Self> {
        let len = len as usize;
        let (size, rights) = (len * size_of::<Flow>(), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let first = unsafe { libc::mmap(std::ptr::null_mut(), size, rights, libc::MAP_SHARED, array.as_raw_fd(), 0) };
        if first == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first = NonNull::new(first.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { first, len })
    }

    fn all(&self) -> &[Place] {
        // SAFETY: mapped until this goes, zeroed by the kernel, a page's alignment, and written atomically on both
        // sides.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }

    /// Hands out every flow. See [`Flow`] for what happens to one that is being added to.
    pub(super) fn each(&self, mut each: impl FnMut(Key4, Flow)) {
        for place in self.all() {
            if let Some((key, flow)) = place.copy() {
                each(key, flow);
            }
        }
    }

    /// Takes a flow out, with what it had counted; `None` if it is not here, or if the kernel does not get done with a
    /// packet of it: then it is not silent.
    pub(super) fn take(&self, key: &Key4) -> Option<Flow> {
        let mask = (self.len - 1) as u32;
        for way in 0..Key4::WAYS {
            let Some(place) = self.all().get(key.place(way, mask) as usize) else { continue };
            if place.copy().is_some_and(|(found, _)| found.is(key)) {
                return place.take(key);
            }
        }
        None
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this size; nothing borrows from it any more.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.len * size_of::<Flow>()) };
    }
}

impl Place {
    /// The flow, if there is one: the tag is written last, and behind it all else is there.
    fn copy(&self) -> Option<(Key4, Flow)> {
        let tag = self.tag.load(Ordering::Acquire);
        if tag == Flow::FREE.bits() {
            return None;
        }
        let figures = self.figures.each_ref().map(|figure| figure.load(Ordering::Relaxed));
        let (key, mut flow) = Self::flow(self.second.load(Ordering::Relaxed), figures, tag);
        flow.lock = self.lock.load(Ordering::Relaxed);
        Some((key, flow))
    }

    /// The flow of this key; then the place has none. `None` where the lock is never free, or another flow is here by
    /// then.
    fn take(&self, key: &Key4) -> Option<Flow> {
        let free = |_: &u32| self.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        (0..ATTEMPTS).inspect(|_| std::hint::spin_loop()).find(free)?;
        if !self.copy().is_some_and(|(found, _)| found.is(key)) {
            self.lock.store(0, Ordering::Release);
            return None;
        }
        // Zeros while the flow is still known by its key: whoever gets the place finds it empty, but for packets that
        // gave up on this lock meanwhile. In one go, as those are added without it.
        let figures = self.figures.each_ref().map(|figure| figure.swap(0, Ordering::Relaxed));
        let second = self.second.swap(0, Ordering::Relaxed);
        let tag = self.tag.swap(Flow::FREE.bits(), Ordering::Release);
        self.lock.store(0, Ordering::Release);
        Some(Self::flow(second, figures, tag).1)
    }

    fn flow(second: u32, figures: [u64; FIGURES], tag: u32) -> (Key4, Flow) {
        let [second, tag] = [second, tag].map(AtomicU32::new);
        let place =
            Self { lock: AtomicU32::new(0), second, figures: figures.map(AtomicU64::new), tag, spare: [0; SPARE] };
        // SAFETY: the same size, and a flow may have any bits.
        let mut flow: Flow = unsafe { std::mem::transmute(place) };
        (flow.unplace(), flow)
    }
}
