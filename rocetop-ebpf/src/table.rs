//! Finding a packet's flow, and beginning one.
//!
//! Flows over IPv4 lie in an array, each at one of [`Key4::WAYS`] places that its key names. To look there is a few
//! instructions; a look-up in the kernel's hash table is two calls (`cargo xtask bench ebpf` shows what it costs). A
//! flow whose places are all taken lies in the hash table of all other flows.
#![allow(unsafe_code, reason = "map values; each use says why it holds")]

use aya_ebpf::bindings::BPF_NOEXIST;
use rocetop_parsers::abi::{Flow, Key, Key4};

use crate::lock;
use crate::maps::{FLOWS4, FLOWS6, mask};

/// A flow that begins in the hash table.
static NEW: Flow = Flow::NEW_ELSEWHERE;

/// The flow, if its packets have been seen before.
#[inline(always)]
pub(crate) fn find(key: &Key, narrow: Option<Key4>) -> Option<*mut Flow> {
    narrow.and_then(|narrow| placed(&narrow)).or_else(|| FLOWS6.get_ptr_mut(key))
}

/// Makes room for a flow that [`find`] has not found; `None` if there is none, or if whoever makes room for another
/// flow at the same places was stopped.
#[inline(always)]
pub(crate) fn begin(key: &Key, narrow: Option<Key4>) -> Option<*mut Flow> {
    let Some(narrow) = narrow else { return elsewhere(key) };
    let column = FLOWS4.get_ptr_mut(narrow.column(mask()))?;
    // SAFETY: a lock in a map value.
    let locked = unsafe { &raw mut (*column).lock };
    // SAFETY: as above. One flow begins at a time: else two CPUs could begin the same one at two places.
    if !unsafe { lock::take(locked) } {
        return None;
    }
    let flow = find(key, Some(narrow)).or_else(|| free(&narrow)).or_else(|| elsewhere(key));
    // SAFETY: it was taken above.
    unsafe { lock::leave(locked) };
    flow
}

/// The flow, at one of its places.
#[inline(always)]
fn placed(key: &Key4) -> Option<*mut Flow> {
    for way in 0..Key4::WAYS {
        let flow = FLOWS4.get_ptr_mut(key.place(way, mask()))?;
        // SAFETY: the key alone is looked at. What is found is looked at again by who holds the lock.
        if unsafe { (*flow).is_at(key) } {
            return Some(flow);
        }
    }
    None
}

/// Takes a free place.
#[inline(always)]
fn free(key: &Key4) -> Option<*mut Flow> {
    for way in 0..Key4::WAYS {
        let flow = FLOWS4.get_ptr_mut(key.place(way, mask()))?;
        // SAFETY: nobody else begins a flow here now, and nobody adds to one that has no tag yet; the tag is aligned.
        unsafe {
            if (*flow).is_free() {
                (*flow).prepare(key);
                lock::publish(flow.byte_add(Flow::TAG).cast(), key.tag().bits());
                return Some(flow);
            }
        }
    }
    None
}

/// Takes room in the hash table.
#[inline(always)]
fn elsewhere(key: &Key) -> Option<*mut Flow> {
    // Another CPU may have been faster: then its entry is the flow.
    let _ = FLOWS6.insert(key, &NEW, u64::from(BPF_NOEXIST));
    FLOWS6.get_ptr_mut(key)
}
