//! The two entries, and what the kernel wants to find beside them.
#![allow(unsafe_code, reason = "symbols and sections that the kernel finds by name; no other object is linked in")]

use aya_ebpf::bindings::{TC_ACT_UNSPEC, xdp_action::XDP_PASS};
use aya_ebpf::macros::{classifier, xdp};
use aya_ebpf::programs::{TcContext, XdpContext};
use rocetop_parsers::abi::Way;

use crate::count::count;
use crate::frame::{Received, Sent};

/// What an interface receives. Takes frames in several buffers: RoCE runs with MTUs that need them.
#[xdp(frags)]
pub(crate) fn rocetop_in(context: XdpContext) -> u32 {
    let frame = Received::new(&context);
    count(&frame, Way::In);
    XDP_PASS
}

/// What an interface sends. "Unspecified" leaves the verdict to the next program or filter.
#[classifier]
pub(crate) fn rocetop_out(context: TcContext) -> i32 {
    let mut frame = Sent::new(&context);
    if frame.is_short() {
        frame.gather();
        frame = Sent::new(&context);
    }
    count(&frame, Way::Out);
    TC_ACT_UNSPEC
}

/// Some helpers are open to GPL-compatible programs alone. The kernel has no name for "MIT or Apache-2.0" and takes
/// this one for the first half.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

/// Nothing here panics; the compiler asks all the same. The verifier refuses a program in which a loop without an end
/// can be reached.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
