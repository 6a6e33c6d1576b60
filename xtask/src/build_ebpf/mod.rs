//! `build-ebpf`: the kernel programs, from their source to the object that `rocetop` carries in it.
//!
//! The object is committed: who builds rocetop needs neither an eBPF linker nor the source of Rust's core library.
//! `--check` builds it again and compares byte for byte, so that nobody has to believe that it is what the source says.
//! For the bytes to be the same everywhere, compiler and linker have fixed versions and no path of this machine goes
//! into the object.

mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::sh;
use tools::Tools;

pub(crate) const ARGS: &str = "[--check]";

/// Where the object lies, from the root.
const OBJECT: &str = "rocetop/bpf/rocetop.bpf.o";

const TARGET: &str = "bpfel-unknown-none";

/// For the kernel: version 3 of the instruction set (Linux 5.1), and loads that need not be aligned, since the kernel
/// runs rocetop where the CPU allows them.
const FLAGS: &[&str] = &[
    "--cfg=bpf_target_arch=\"x86_64\"",
    "-Cdebuginfo=2",
    "-Clink-arg=--btf",
    "-Ctarget-cpu=v3",
    "-Ctarget-feature=+allows-misaligned-mem-access",
];

pub(crate) fn run(args: &[String]) -> Result<bool> {
    let check = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => false,
        ["--check"] => true,
        other => bail!("build-ebpf takes {ARGS}, not `{}`", other.join(" ")),
    };
    let built = object("rocetop-bpf")?;
    let new = std::fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    let committed = sh::root().join(OBJECT);
    if !check {
        std::fs::create_dir_all(committed.parent().unwrap_or(&committed))?;
        std::fs::write(&committed, &new).with_context(|| format!("cannot write {}", committed.display()))?;
        println!("{OBJECT}: {} bytes", new.len());
        return Ok(true);
    }
    let old = std::fs::read(&committed).with_context(|| format!("cannot read {OBJECT}"))?;
    if old == new {
        println!("{OBJECT} is what the source says: {} bytes, all the same", new.len());
        return Ok(true);
    }
    let at = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    println!(
        "{OBJECT} is not what the source says: {} bytes, built {} ({}), different from byte {at} on. If the source is \
         right: cargo xtask build-ebpf",
        old.len(),
        new.len(),
        built.display()
    );
    Ok(false)
}

/// Builds one of the kernel's objects, stripped, and names it.
pub(crate) fn object(name: &str) -> Result<PathBuf> {
    let tools = Tools::find()?;
    let target = sh::target()?.join("bpf");
    // A fetch first: paths of the registry are known only once its sources are there.
    if !sh::run(tools.cargo().args(["fetch", "--locked"]))? {
        bail!("cargo fetch failed");
    }
    let built = sh::run(
        tools
            .cargo()
            .args(["build", "--quiet", "--locked", "--package", "rocetop-ebpf", "--bin", name])
            .args(["--profile", "bpf", "-Z", "build-std=core", "--target", TARGET])
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_ENCODED_RUSTFLAGS", flags(&tools)?.join("\x1f")),
    )?;
    if !built {
        bail!("the kernel programs do not build");
    }
    let whole = target.join(TARGET).join("bpf").join(name);
    let stripped = whole.with_extension("o");
    // Without lines of source: then a comment that is edited changes no byte.
    let sections = ["--strip-debug", "--remove-section=.BTF.ext", "--remove-section=.rel.BTF.ext"];
    let mut objcopy = Command::new(tools.objcopy());
    objcopy.args(sections).arg(&whole).arg(&stripped).env("LD_LIBRARY_PATH", tools.sysroot().join("lib"));
    if !sh::run(&mut objcopy)? {
        bail!("rust-objcopy failed");
    }
    Ok(stripped)
}

/// The compiler's flags, with every folder that could get into the object under a name that all machines share.
fn flags(tools: &Tools) -> Result<Vec<String>> {
    let mut flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    flags.push(format!("-Clinker={}", tools.linker().display()));
    let mut remap = |from: &Path, to: &str| flags.push(format!("--remap-path-prefix={}={to}", from.display()));
    remap(&sh::root(), "/rocetop");
    let source = tools.rust_source();
    remap(&source, "/rust");
    if let Ok(real) = source.canonicalize() {
        remap(&real, "/rust");
    }
    let registry = tools::cargo_home()?.join("registry").join("src");
    for entry in std::fs::read_dir(&registry).with_context(|| format!("cannot read {}", registry.display()))? {
        remap(&entry?.path(), "/registry");
    }
    Ok(flags)
}
