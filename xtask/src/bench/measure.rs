//! What one child cost: CPU time and peak memory from the kernel's own accounting.

use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// One run of a command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// User and system time.
    pub(super) cpu: Duration,
    pub(super) wall: Duration,
    /// Largest resident set, in bytes.
    pub(super) peak: u64,
}

/// A command line that can be run again and again.
#[derive(Clone, Debug)]
pub(super) struct Line(Vec<OsString>);

impl Line {
    pub(super) fn new(words: &[&OsStr]) -> Self {
        Self(words.iter().map(|word| (*word).to_owned()).collect())
    }

    fn command(&self) -> Result<Command> {
        let (program, args) = self.0.split_first().context("an empty command line")?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }

    /// Runs it with its output thrown away.
    pub(super) fn cost(&self) -> Result<Cost> {
        let start = Instant::now();
        #[allow(clippy::zombie_processes, reason = "wait4 below reaps it")]
        let child = self.command()?.stdout(Stdio::null()).spawn().with_context(|| format!("cannot start {self}"))?;
        let (status, usage) = wait(child.id())?;
        let wall = start.elapsed();
        if status != 0 {
            bail!("{self} failed (wait status {status})");
        }
        let time = |t: libc::timeval| {
            Duration::from_secs(u64::try_from(t.tv_sec).unwrap_or(0))
                + Duration::from_micros(u64::try_from(t.tv_usec).unwrap_or(0))
        };
        let peak = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
        Ok(Cost { cpu: time(usage.ru_utime) + time(usage.ru_stime), wall, peak })
    }

    /// A command that runs this one twice at the same time.
    pub(super) fn twice_at_once(&self) -> Self {
        let mut words: Vec<OsString> = ["sh", "-c", "\"$@\" & \"$@\" & wait", "sh"].map(OsString::from).to_vec();
        words.extend(self.0.iter().cloned());
        Self(words)
    }

    /// Runs it and keeps what it prints.
    pub(super) fn output(&self) -> Result<Vec<u8>> {
        let done = self.command()?.output().with_context(|| format!("cannot start {self}"))?;
        if !done.status.success() {
            bail!("{self} failed ({})", done.status);
        }
        Ok(done.stdout)
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<_> = self.0.iter().map(|word| word.to_string_lossy()).collect();
        f.write_str(&words.join(" "))
    }
}

/// Waits for one child and takes its account, which the standard library does not hand out.
#[allow(unsafe_code, reason = "wait4 is a system call")]
fn wait(pid: u32) -> Result<(i32, libc::rusage)> {
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    let pid = libc::pid_t::try_from(pid).context("a process id")?;
    // SAFETY: both pointers are to locals that outlive the call; the child is ours and nobody else waits for it.
    let done = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    if done != pid {
        return Err(std::io::Error::last_os_error()).context("cannot wait for a child");
    }
    // SAFETY: all-zero bytes are an `rusage`, and the kernel has filled it.
    Ok((status, unsafe { usage.assume_init() }))
}

/// Runs the commands in turns, `rounds` times each, so that what else the machine does hits all alike; the medians,
/// each of its own figure.
pub(super) fn interleaved(lines: &[Line], rounds: usize) -> Result<Vec<Cost>> {
    let mut runs: Vec<Vec<Cost>> = vec![Vec::new(); lines.len()];
    for _ in 0..rounds {
        for (line, runs) in lines.iter().zip(&mut runs) {
            runs.push(line.cost()?);
        }
    }
    let medians = runs.iter().map(|runs| Cost {
        cpu: median(runs.iter().map(|run| run.cpu)),
        wall: median(runs.iter().map(|run| run.wall)),
        peak: median(runs.iter().map(|run| run.peak)),
    });
    Ok(medians.collect())
}

fn median<T: Ord + Copy + Default>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_accounted_for() {
        let line = |words: &[&str]| Line::new(&words.iter().map(OsStr::new).collect::<Vec<_>>());
        let cost = line(&["sh", "-c", "echo out"]).cost().unwrap();
        assert!(cost.peak > 0);
        assert_eq!(line(&["echo", "out"]).output().unwrap(), b"out\n");
        assert!(line(&["false"]).cost().is_err());
    }

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median([5, 1, 3].into_iter()), 3);
    }
}
