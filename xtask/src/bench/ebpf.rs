//! What the kernel programs cost a packet: measured by the kernel, in a bench of `rocetop`.

use anyhow::Result;

use crate::{build_ebpf, sh};

pub(super) fn run() -> Result<bool> {
    let around = build_ebpf::object("rocetop-bench")?;
    let mut bench = sh::cargo();
    bench
        .args(["bench", "--quiet", "--package", "rocetop", "--bench", "ebpf"])
        .args(sh::features())
        .arg("--")
        .arg(around);
    sh::run(&mut bench)
}
