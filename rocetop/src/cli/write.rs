//! `rocetop analyze --write`: the frames of the selection, saved with what was found about them.

use std::fs::{self, File};
use std::io::BufWriter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rocetop_analysis::Ledger;
use rocetop_analysis::detect::Findings;

use super::input::{Input, with_progress};
use crate::report::select::Selection;
use crate::run::Options;
use crate::save::{self, Notes, What};
use crate::source::Stop;

/// The one of these files, which are read, that `path` is, under whatever name.
pub(super) fn is_read<'a>(path: &Path, files: &'a [PathBuf]) -> Option<&'a PathBuf> {
    let ours = fs::metadata(path).ok()?;
    let same = |theirs: fs::Metadata| (theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino());
    files.iter().find(|file| fs::metadata(file).is_ok_and(same))
}

/// Whether a path is standard output, under whatever name. What goes to /dev/null mixes with nothing.
pub(super) fn is_stdout(path: &Path) -> bool {
    let stdout = [PathBuf::from("/dev/stdout")];
    path.as_os_str() == "-" || path != Path::new("/dev/null") && is_read(path, &stdout).is_some()
}

/// Refuses to mix frames with the report.
///
/// # Errors
/// `path` is standard output.
pub(super) fn ensure_apart(path: &Path) -> anyhow::Result<()> {
    ensure!(!is_stdout(path), "--write needs the name of a file of its own: standard output has the report");
    Ok(())
}

/// The file that is written.
#[derive(Debug)]
pub(super) struct Target {
    path: PathBuf,
    file: File,
    /// It was not there before.
    created: bool,
}

impl Drop for Target {
    /// Whatever failed before anything was written leaves no file behind.
    fn drop(&mut self) {
        if self.created && self.file.metadata().is_ok_and(|m| m.is_file() && m.len() == 0) {
            // There is nobody left to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Refuses captures that cannot be read a second time, before anybody waits for them.
///
/// # Errors
/// Names the first of them.
pub(super) fn ensure_twice(input: &Input) -> anyhow::Result<()> {
    let Some(once) = input.read_once() else { return Ok(()) };
    let what = if once.as_os_str() == "-" { "standard input".to_owned() } else { once.display().to_string() };
    bail!(
        "--write reads the captures a second time, when all findings are known, and {what} can be read only once: save \
         it to a file first"
    );
}

impl Target {
    /// Opens the file and leaves what is in it, until there is something to write.
    ///
    /// # Errors
    /// A file that cannot be written, or is one of the captures.
    pub(super) fn open(path: &Path, input: &Input) -> anyhow::Result<Self> {
        ensure_apart(path)?;
        let target = Self::at(path)?;
        if let Some(capture) = is_read(path, &input.files) {
            let name = path.display();
            bail!("{name} is the capture {} that is read: --write needs another file", capture.display());
        }
        Ok(target)
    }

    /// [`Target::open`] of a path that is known to be nobody else's.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn at(path: &Path) -> anyhow::Result<Self> {
        let created = !path.exists();
        let file = File::options().write(true).create(true).truncate(false).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file, created })
    }

    /// Empties the file and gives it to be written.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn begin(&self) -> anyhow::Result<File> {
        let empty = || {
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            self.file.try_clone()
        };
        empty().with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Reads the captures again and writes what was chosen. Tells how much that was on standard error.
    ///
    /// # Errors
    /// A capture that cannot be opened any more, output that fails, and a wish to end.
    pub(super) fn save(
        self,
        input: &Input,
        options: &Options,
        stop: &Stop,
        ledger: &Ledger<'_>,
        found: &Findings,
        chosen: &Selection,
    ) -> anyhow::Result<()> {
        let name = self.path.display();
        ensure!(!stop.is_stopped(), "{name} was not written: somebody asked for the end before");
        let notes = Notes::new(ledger, found, chosen.flows(ledger));
        let members = chosen.members(ledger);
        let what = What { filter: options.filter.as_ref(), members: members.as_ref(), notes: &notes };
        let timeline = input.open(stop)?;
        let out = BufWriter::with_capacity(1 << 16, self.begin()?);
        let saved = with_progress(|progress| save::save(timeline, &what, out, progress));
        let saved = saved.with_context(|| format!("cannot write {name}"))?;
        anstream::eprintln!("rocetop: {name}: {} frames, {} of them with comments", saved.frames, saved.commented);
        ensure!(!stop.is_stopped(), "{name} is not complete: somebody asked for the end");
        Ok(())
    }
}
