//! What building for the kernel needs beside cargo: one fixed compiler, its core library's source, and a linker that
//! knows eBPF. What may be fetched is fetched, into the user's cache; what may not is named.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::sh;

/// The compiler that the committed object was built with.
const RUST: &str = "1.95.0";
/// The linker, and the feature that builds it on the LLVM which that compiler brings along.
const LINKER: (&str, &str) = ("0.13.0", "llvm-22");

/// Takes the source from Debian where rustup downloads nothing.
const FROM_DEBIAN: &str = include_str!("rust-src.sh");

pub(super) struct Tools {
    sysroot: PathBuf,
    cache: PathBuf,
}

impl Tools {
    /// Finds the tools, and fetches those that are missing.
    pub(super) fn find() -> Result<Self> {
        if !sh::has("rustup") {
            bail!("building for the kernel needs rustup (https://rustup.rs) and its toolchain {RUST}");
        }
        let told = quiet(rustup(&["run", RUST, "rustc", "--print", "sysroot"]));
        let Some(sysroot) = told.map(|path| PathBuf::from(path.trim())) else {
            bail!("the compiler that the kernel programs are built with is missing: rustup toolchain install {RUST}");
        };
        let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
        let cache = home.context("neither XDG_CACHE_HOME nor HOME is set")?;
        let tools = Self { sysroot, cache: cache.join("rocetop").join(format!("rust-{RUST}-bpf-linker-{}", LINKER.0)) };
        tools.have_rust_source()?;
        tools.have_linker()?;
        Ok(tools)
    }

    /// The fixed version's cargo, with the one thing switched on that a stable compiler keeps back: building core.
    pub(super) fn cargo(&self) -> Command {
        let mut cargo = rustup(&["run", RUST, "cargo"]);
        cargo.current_dir(sh::root()).env("RUSTC_BOOTSTRAP", "1");
        // Whoever runs us may have set these for another toolchain.
        for name in ["RUSTFLAGS", "CARGO", "RUSTC", "RUSTC_WRAPPER", "RUSTUP_TOOLCHAIN"] {
            cargo.env_remove(name);
        }
        cargo
    }

    pub(super) fn sysroot(&self) -> &Path {
        &self.sysroot
    }

    pub(super) fn rust_source(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib/src/rust")
    }

    pub(super) fn linker(&self) -> PathBuf {
        self.cache.join("bin/bpf-linker")
    }

    /// The compiler's own objcopy; its folder is named after the host.
    pub(super) fn objcopy(&self) -> PathBuf {
        let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        self.sysroot.join("lib/rustlib").join(host).join("bin/rust-objcopy")
    }

    fn have_rust_source(&self) -> Result<()> {
        let there = self.rust_source().join("library/Cargo.lock");
        if there.is_file() {
            return Ok(());
        }
        eprintln!("fetching the source of Rust's core library {RUST}");
        let asked = quiet(rustup(&["component", "add", "rust-src", "--toolchain", RUST]));
        if asked.is_none() && sh::has("apt-get") && sh::has("dpkg-deb") {
            let mut script = Command::new("bash");
            script.args(["-c", FROM_DEBIAN, "rust-src", RUST]).arg(self.rust_source());
            sh::run(&mut script)?;
        }
        if !there.is_file() {
            bail!("the source of Rust's core library is missing: rustup component add rust-src --toolchain {RUST}");
        }
        Ok(())
    }

    fn have_linker(&self) -> Result<()> {
        if self.linker().is_file() {
            return Ok(());
        }
        eprintln!("building bpf-linker {} (once; under a minute)", LINKER.0);
        // It takes LLVM from a folder that has `lib/libLLVM.so`; the compiler's is called after its version.
        let from = self.sysroot.join("lib");
        let named = sh::files(&from)?.into_iter().find(|path| sh::name(path).starts_with("libLLVM.so."));
        let llvm = named.with_context(|| format!("no libLLVM.so in {}", from.display()))?;
        let prefix = self.cache.join("llvm");
        let lib = prefix.join("lib");
        std::fs::create_dir_all(&lib).with_context(|| format!("cannot make {}", lib.display()))?;
        for link in [lib.join(sh::name(&llvm)), lib.join("libLLVM.so")] {
            if !link.exists() {
                std::os::unix::fs::symlink(&llvm, &link).with_context(|| format!("cannot link {}", link.display()))?;
            }
        }
        let mut install = rustup(&["run", RUST, "cargo", "install", "bpf-linker", "--quiet", "--locked"]);
        install
            .args(["--version", LINKER.0, "--no-default-features", "--features", LINKER.1])
            .arg("--root")
            .arg(&self.cache);
        install
            .args(["--config", "profile.release.debug=0"])
            .env("LLVM_PREFIX", &prefix)
            .env_remove("CARGO_TARGET_DIR");
        if !sh::run(&mut install)? {
            bail!("bpf-linker {} does not build", LINKER.0);
        }
        Ok(())
    }
}

fn rustup(args: &[&str]) -> Command {
    let mut rustup = Command::new("rustup");
    rustup.args(args);
    rustup
}

/// A command's output, if it succeeded; what it says on the way is nobody's.
fn quiet(mut command: Command) -> Option<String> {
    let done = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Where cargo keeps what it downloads.
pub(super) fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    Ok(PathBuf::from(std::env::var_os("HOME").context("neither CARGO_HOME nor HOME is set")?).join(".cargo"))
}
