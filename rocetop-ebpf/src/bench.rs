//! What `cargo xtask bench ebpf` puts around the programs: no part of the product.
//!
//! A test run gives a program the same frame again and again. [`rotate`] makes each one the next packet of another flow
//! and then hands over to the program that is measured: ours, or [`empty`], or [`look_up`], which shows what a table of
//! the kernel's own would cost before anything is counted. What it costs itself is in all.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod programs {
    #![allow(unsafe_code, reason = "packet memory, and symbols that the loader finds by name")]

    use aya_ebpf::Global;
    use aya_ebpf::bindings::xdp_action::{XDP_ABORTED, XDP_PASS};
    use aya_ebpf::btf_maps::{HashMap, PerCpuArray, ProgramArray};
    use aya_ebpf::macros::{btf_map, xdp};
    use aya_ebpf::programs::XdpContext;

    /// Offset of the queue pair in a RoCEv2 packet over IPv4 without options or tags; the PSN is four bytes behind it.
    const QP: usize = 14 + 20 + 8 + 5;

    /// The program that is measured.
    #[btf_map]
    static TARGET: ProgramArray<1> = ProgramArray::new();

    /// Packets so far.
    #[btf_map]
    static COUNT: PerCpuArray<u32, 1> = PerCpuArray::new();

    /// Flows to rotate through; 0 leaves the frame as it is.
    #[unsafe(no_mangle)]
    static FLOWS: Global<u32> = Global::new(0);

    /// The next flow is this many further on, modulo their number: with 1 they come in the order of their numbers.
    #[unsafe(no_mangle)]
    static STEP: Global<u32> = Global::new(1);

    /// Flows as a hash table of the kernel's would have them.
    #[btf_map]
    static HASHED: HashMap<Key, [u64; 32], 65_536> = HashMap::new();

    /// Addresses and queue pair.
    #[repr(C)]
    struct Key([u32; 3]);

    #[xdp(frags)]
    pub(crate) fn rotate(context: XdpContext) -> u32 {
        let flows = FLOWS.load();
        let at = context.data() + QP;
        if let (1.., Some(count)) = (flows, COUNT.get_ptr_mut(0)) {
            if at + 7 > context.data_end() {
                return XDP_ABORTED;
            }
            // SAFETY: this CPU's own entry, and seven bytes that were just compared with the end of the frame.
            unsafe {
                let n = *count;
                *count = n + 1;
                let ([_, q0, q1, q2], [_, p0, p1, p2]) =
                    ((n % flows * STEP.load() % flows).to_be_bytes(), (n / flows).to_be_bytes());
                (at as *mut [u8; 3]).write([q0, q1, q2]);
                ((at + 4) as *mut [u8; 3]).write([p0, p1, p2]);
            }
        }
        // SAFETY: the context is the program's own.
        let _ = unsafe { TARGET.tail_call(&context, 0) };
        XDP_ABORTED
    }

    #[xdp(frags)]
    pub(crate) fn empty(_: XdpContext) -> u32 {
        XDP_PASS
    }

    /// Looks for the flow, and adds one.
    #[xdp(frags)]
    pub(crate) fn look_up(context: XdpContext) -> u32 {
        let at = context.data();
        if at + QP + 3 > context.data_end() {
            return XDP_ABORTED;
        }
        // SAFETY: the bytes were just compared with the end of the frame.
        let word = |offset: usize| unsafe { ((at + offset) as *const u32).read_unaligned() };
        let key = Key([word(26), word(30), word(QP - 1)]);
        match HASHED.get_ptr_mut(&key) {
            // SAFETY: an entry of the map; one CPU alone runs this.
            Some(flow) => unsafe { (*flow)[0] += 1 },
            None => drop(HASHED.insert(&key, &[0; 32], 0)),
        }
        XDP_PASS
    }

    #[unsafe(link_section = "license")]
    #[unsafe(no_mangle)]
    static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
        loop {}
    }
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
