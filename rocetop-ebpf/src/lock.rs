//! A lock in a map value, and adding without one: what Rust has no words for on this target.
//!
//! The kernel's own lock (`bpf_spin_lock`) turns interrupts off, and costs two calls more. Neither is needed here: a
//! program that holds this one runs with softirqs off, so nothing that wants it runs on the same CPU before it is done.
//! Userland holds it as well, while it takes a flow out, and may be stopped there: so attempts are counted.
#![allow(unsafe_code, reason = "instructions that the compiler has no names for; each use says why it holds")]

use core::arch::asm;
use core::hint::black_box;

use aya_ebpf::helpers::generated::bpf_ktime_get_ns;

/// Attempts before giving up, with a pause between them: many times as long as a packet takes. The verifier walks
/// through each, behind every way that leads here, so they are few.
const ATTEMPTS: u32 = 24;
/// Readings of the clock that make up a pause: some 100 ns.
const PAUSE: u32 = 4;

/// Takes the lock; `false` if it was never free.
///
/// # Safety
/// `at` is four bytes of a map value, aligned.
#[inline(always)]
pub(crate) unsafe fn take(at: *mut u32) -> bool {
    for _ in 0..ATTEMPTS {
        let found: u32;
        // SAFETY: the caller's word. What is read and written after it stays after it: compare-and-exchange is a full
        // barrier (Linux `Documentation/bpf/standardization/instruction-set.rst`, as its x86 and Arm compilers do it).
        unsafe {
            asm!(
                "w0 = cmpxchg32_32({at} + 0, w0, {one})",
                at = in(reg) at, one = in(wreg) 1u32, inout("w0") 0u32 => found,
            )
        };
        if found == 0 {
            return true;
        }
        for _ in 0..PAUSE {
            // SAFETY: takes nothing.
            black_box(unsafe { bpf_ktime_get_ns() });
        }
    }
    false
}

/// Gives it back.
///
/// # Safety
/// As [`take`], which has succeeded.
#[inline(always)]
pub(crate) unsafe fn leave(at: *mut u32) {
    // SAFETY: the caller's word.
    unsafe { publish(at, 0) };
}

/// Writes a number that others find something by, behind all that was written before it.
///
/// # Safety
/// `at` is four bytes of a map value, aligned.
#[inline(always)]
pub(crate) unsafe fn publish(at: *mut u32, n: u32) {
    // SAFETY: the caller's word. An exchange, not a store: what was written before it is to be seen before it, on Arm
    // too.
    unsafe { asm!("{n} = xchg32_32({at} + 0, {n})", at = in(reg) at, n = inout(wreg) n => _) };
}

/// Adds in one go.
///
/// # Safety
/// `at` is eight bytes of a map value, aligned.
#[inline(always)]
pub(crate) unsafe fn add(at: *mut u64, n: u64) {
    // SAFETY: the caller's word.
    unsafe { asm!("lock *(u64 *)({at} + 0) += {n}", at = in(reg) at, n = in(reg) n) };
}
