//! Restriction of files (Landlock, Linux 5.13 and later; `landlock(7)`).
//!
//! Files that are open already stay usable.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::files::Files;

/// Folders of the system that every process may read: libraries, the configuration of names and services, the kernel's own files.
/// They hold no files of users.
pub const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/proc",
    "/sys",
    "/run",
    "/nix/store",
    "/gnu/store",
];
/// Devices that every process may read and write.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/pts",
    "/dev/urandom",
    "/dev/random",
    "/dev/ptmx",
];

/// `LANDLOCK_CREATE_RULESET_VERSION`.
const ASK_VERSION: libc::c_uint = 1;
/// `LANDLOCK_RULE_PATH_BENEATH`.
const PATH_BENEATH: libc::c_uint = 1;
/// Rights by `linux/landlock.h`.
const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
/// Rights that apply to a file; the others apply to folders only.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE;
const READ: u64 = READ_FILE | READ_DIR;
/// The highest right of versions 1, 2 and 3; later ones are of devices and networks, which are not restricted.
const RIGHTS: [u32; 3] = [13, 14, 15];

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: RawFd,
}

/// The version of this kernel; `None` if it has no Landlock, or has it switched off.
pub fn version() -> Option<u32> {
    // SAFETY: without a structure, the call takes plain numbers.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u64>(), 0_usize, ASK_VERSION)
    };
    u32::try_from(answer).ok().filter(|version| *version > 0)
}

/// The rights of version `version`, one bit each.
fn rights(version: u32) -> u64 {
    let place = usize::try_from(version).unwrap_or(usize::MAX).min(RIGHTS.len()).saturating_sub(1);
    RIGHTS.get(place).map_or(0, |count| (1 << count) - 1)
}

/// Rules that are ready to be enforced.
#[derive(Debug)]
pub struct Ruleset {
    descriptor: OwnedFd,
    version: u32,
    rights: u64,
}

impl Ruleset {
    /// Rules that allow `files`, the system's own and with `programs` the execution of the system's programs and of this one.
    ///
    /// # Errors
    /// The kernel has no Landlock (`ENOSYS`, `EOPNOTSUPP`), or no descriptor is left.
    pub fn new(files: &Files, programs: bool) -> io::Result<Self> {
        let version = version().ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))?;
        let rights = rights(version);
        // SAFETY: the call reads one number of 8 octets, the first member of its structure.
        let answer = unsafe {
            libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rights, size_of::<u64>(), 0_u32)
        };
        let descriptor = RawFd::try_from(answer).map_err(io::Error::other)?;
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was opened just now and nobody else has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let ruleset = Self { descriptor, version, rights };
        let of_system = READ | if programs { EXECUTE } else { 0 };
        for folder in SYSTEM {
            ruleset.allow(Path::new(folder), of_system);
        }
        for device in DEVICES {
            ruleset.allow(Path::new(device), READ | WRITE_FILE | TRUNCATE);
        }
        if let Ok(program) = fs::read_link("/proc/self/exe") {
            ruleset.allow(&program, READ_FILE | if programs { EXECUTE } else { 0 });
        }
        for path in &files.read {
            ruleset.allow(path, READ);
        }
        for path in &files.write {
            ruleset.allow(path, rights & !EXECUTE);
            // Its name is brought to the disk with the folder that holds it.
            if let Some(holder) = path.parent() {
                let holder = if holder.as_os_str().is_empty() { Path::new(".") } else { holder };
                ruleset.allow(holder, READ_DIR);
            }
        }
        Ok(ruleset)
    }

    /// The version of Landlock that enforces the rules.
    pub const fn version(&self) -> u32 {
        self.version
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Adds a rule. One of a path that does not exist or cannot be opened changes nothing: it could not be used either.
    fn allow(&self, path: &Path, allowed: u64) {
        let Some(parent) = open_path(path) else { return };
        let mask = if path.is_dir() { self.rights } else { self.rights & OF_FILES };
        let rule = PathBeneath { allowed: allowed & mask, parent: parent.as_raw_fd() };
        // SAFETY: both descriptors are open, and the call reads one structure.
        unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.descriptor.as_raw_fd(),
                PATH_BENEATH,
                &raw const rule,
                0_u32,
            )
        };
    }
}

/// The folder in which the file `path` is, or will be.
pub fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => ".".into(),
        Some(parent) => parent.into(),
        None => path.into(),
    }
}

fn open_path(path: &Path) -> Option<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the path is a string that ends in zero and outlives the call.
    let descriptor = unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
    // SAFETY: the descriptor was opened just now and nobody else has it.
    (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each version has the rights of the earlier ones and its own; later ones have no more that are used.
    #[test]
    fn versions_add_rights() {
        assert_eq!(rights(1), (1 << 13) - 1);
        assert_eq!(rights(3), (1 << 15) - 1);
        assert_eq!(rights(9), rights(3));
        assert_eq!(rights(1) & TRUNCATE, 0);
    }

    /// The folder of a file is never the empty path.
    #[test]
    fn files_have_folders() {
        assert_eq!(folder_of(Path::new("a.json")), Path::new("."));
        assert_eq!(folder_of(Path::new("/x/a.json")), Path::new("/x"));
        assert_eq!(folder_of(Path::new("/")), Path::new("/"));
    }
}
