//! What a process may do: what it needs to begin, and giving away the rest.

use std::io;

use caps::{CapSet, Capability, CapsHashSet, errors::CapsError};

/// Why permissions are not as they should be.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// One that is needed is missing.
    #[error(
        "capturing needs the capability {capability}, which this process does not have: run it as root, or give it to \
         the program once with `sudo setcap {all}+ep {program}`"
    )]
    Missing {
        /// Its name.
        capability: Capability,
        /// All that are needed, as `setcap` writes them.
        all: String,
        /// This program.
        program: String,
    },
    /// The system does not let go of them.
    #[error("cannot give up permissions that are not needed: {0}")]
    Kept(String),
}

impl PrivilegeError {
    /// That this capability is missing, of all that are needed.
    #[must_use]
    pub fn missing(capability: Capability, all: &[Capability]) -> Self {
        let all: Vec<String> = all.iter().map(|c| c.to_string().to_lowercase()).collect();
        let program = std::env::current_exe().map_or_else(|_| "rocetop".to_owned(), |path| path.display().to_string());
        Self::Missing { capability, all: all.join(","), program }
    }
}

/// Checks that this thread has capabilities.
///
/// # Errors
/// [`PrivilegeError::Missing`].
pub fn require(all: &[Capability]) -> Result<(), PrivilegeError> {
    let has = |capability: Capability| matches!(caps::has_cap(None, CapSet::Effective, capability), Ok(true));
    match all.iter().find(|&&capability| !has(capability)) {
        Some(&capability) => Err(PrivilegeError::missing(capability, all)),
        None => Ok(()),
    }
}

/// Gives up every capability but those in `keep`, for this thread and those that it starts from now on, and for good:
/// no program that is started can have more.
///
/// # Errors
/// [`PrivilegeError::Kept`].
pub fn drop_all_but(keep: &[Capability]) -> Result<(), PrivilegeError> {
    let kept = |error: CapsError| PrivilegeError::Kept(error.to_string());
    // Without CAP_SETPCAP the bounding set stays; no_new_privs makes it of no use.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).map_err(kept)? {
        for capability in caps::runtime::thread_all_supported() {
            if !keep.contains(&capability) {
                caps::drop(None, CapSet::Bounding, capability).map_err(kept)?;
            }
        }
    }
    let had = caps::read(None, CapSet::Permitted).map_err(kept)?;
    let keep: CapsHashSet = keep.iter().copied().filter(|c| had.contains(c)).collect();
    // An old kernel has no ambient set, and then there is nothing in it.
    let _ = caps::clear(None, CapSet::Ambient);
    caps::set(None, CapSet::Effective, &keep).map_err(kept)?;
    caps::set(None, CapSet::Permitted, &keep).map_err(kept)?;
    caps::clear(None, CapSet::Inheritable).map_err(kept)?;
    no_new_privileges().map_err(|error| PrivilegeError::Kept(error.to_string()))
}

/// No program that is started from here on gets more than this one has.
#[allow(unsafe_code, reason = "prctl has no safe wrapper among our dependencies")]
fn no_new_privileges() -> io::Result<()> {
    let (yes, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: this option takes numbers alone.
    let done = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, none, none, none) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
