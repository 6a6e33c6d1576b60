//! The table of flows that is a hash, read many entries a system call: the loader's library has only one entry a call.
#![allow(unsafe_code, reason = "bpf(2) takes addresses; each use says why it holds")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rocetop_parsers::abi::{Flow, Key};

/// Commands of bpf(2) (Linux `bpf.h`, enum bpf_cmd).
const LOOKUP_AND_DELETE_ELEM: libc::c_long = 21;
const LOOKUP_BATCH: libc::c_long = 24;

/// Entries asked for at once, to begin with. A bucket comes whole or not at all, so it may have to grow (chosen).
const BATCH: usize = 4096;

/// What the kernel may write into, whatever the bytes.
///
/// # Safety
/// Every bit pattern is a value of the type, and its size is that of the map's key or value.
pub(super) unsafe trait Plain: Copy + Default {}

// SAFETY: 36 bytes of integers; the map is declared with this very type.
unsafe impl Plain for Key {}
// SAFETY: as above, 256 bytes.
unsafe impl Plain for Flow {}

/// Arguments of the batch commands (Linux `bpf.h`, union bpf_attr, `batch`).
#[repr(C)]
#[derive(Default)]
struct Batch {
    in_batch: u64,
    out_batch: u64,
    keys: u64,
    values: u64,
    count: u32,
    map_fd: u32,
    elem_flags: u64,
    flags: u64,
}

/// Arguments of the commands for one entry.
#[repr(C)]
#[derive(Default)]
struct Entry {
    map_fd: u32,
    spare: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// bpf(2).
///
/// # Safety
/// `arguments` are those of the command, and every address in them is good for what the command does with it.
unsafe fn bpf<T>(command: libc::c_long, arguments: &mut T) -> io::Result<()> {
    // SAFETY: the caller's word; the size is the structure's own, and the kernel reads no more.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(arguments), size_of::<T>()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn number(map: BorrowedFd<'_>) -> u32 {
    map.as_raw_fd().cast_unsigned()
}

/// All entries. Those that come or go meanwhile may be missed; none comes twice.
pub(super) fn entries<K: Plain, V: Plain>(map: BorrowedFd<'_>, mut each: impl FnMut(K, V)) -> io::Result<()> {
    let (mut keys, mut values) = (vec![K::default(); BATCH], vec![V::default(); BATCH]);
    // Where to go on: for a hash the number of a bucket.
    let mut place: Option<u32> = None;
    loop {
        let (before, mut after) = (place.unwrap_or_default(), 0u32);
        let mut arguments = Batch {
            in_batch: place.map_or(0, |_| address(&before)),
            out_batch: (&raw mut after).expose_provenance() as u64,
            keys: keys.as_mut_ptr().expose_provenance() as u64,
            values: values.as_mut_ptr().expose_provenance() as u64,
            count: keys.len() as u32,
            map_fd: number(map),
            elem_flags: 0,
            flags: 0,
        };
        // SAFETY: both vectors have room for `count` entries of the map's own types, which may hold any bytes; the two
        // places outlive the call.
        let done = unsafe { bpf(LOOKUP_BATCH, &mut arguments) };
        let last = match done {
            Ok(()) => false,
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => true,
            Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => {
                keys.resize(keys.len() * 2, K::default());
                values.resize(values.len() * 2, V::default());
                continue;
            }
            Err(error) => return Err(error),
        };
        for (key, value) in keys.iter().zip(&values).take(arguments.count as usize) {
            each(*key, *value);
        }
        if last {
            return Ok(());
        }
        place = Some(after);
    }
}

/// Takes an entry out, with what it had counted up to that moment; `None` if it is not there.
pub(super) fn take<K: Plain, V: Plain>(map: BorrowedFd<'_>, key: &K) -> io::Result<Option<V>> {
    let mut value = V::default();
    let mut arguments = Entry {
        map_fd: number(map),
        spare: 0,
        key: address(key),
        value: (&raw mut value).expose_provenance() as u64,
        flags: 0,
    };
    // SAFETY: key and value are of the map's own types and outlive the call; the value may hold any bytes.
    match unsafe { bpf(LOOKUP_AND_DELETE_ELEM, &mut arguments) } {
        Ok(()) => Ok(Some(value)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn address<T>(of: &T) -> u64 {
    std::ptr::from_ref(of).expose_provenance() as u64
}
