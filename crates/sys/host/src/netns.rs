//! Network namespaces with names, as iproute2 keeps them: a file in `/run/netns` on which the namespace is mounted.
//! So `ip netns exec NAME` works with ours, and these functions with everybody's.

use std::ffi::{CStr, CString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::HostError;

/// The folder of named namespaces.
pub const FOLDER: &str = "/run/netns";
/// How often a namespace is tried to be made in a folder that somebody takes away.
const FOLDER_RETRIES: usize = 8;
/// Longest name of a file.
const LONGEST_NAME: usize = 255;

/// Where the namespace `name` is mounted.
///
/// # Errors
/// The name is empty, `.` or `..`, too long, or holds a `/` or NUL.
pub fn path(name: &str) -> Result<PathBuf, HostError> {
    let bad = |why| HostError::BadName { what: "network namespace", name: name.into(), why };
    match name {
        "" => Err(bad("it is empty")),
        "." | ".." => Err(bad("it means a folder")),
        _ if name.len() > LONGEST_NAME => Err(bad("it is longer than 255 bytes")),
        _ if name.contains(['/', '\0']) => Err(bad("it holds a slash or a NUL")),
        _ => Ok(Path::new(FOLDER).join(name)),
    }
}

/// Whether there is something under this name, be it a whole namespace or what a crash has left of one.
///
/// # Errors
/// The name is not legal, or the folder cannot be searched.
pub fn exists(name: &str) -> Result<bool, HostError> {
    let path = path(name)?;
    path.try_exists().map_err(|source| failed("look for", &path, source))
}

/// The names of all namespaces, sorted.
///
/// # Errors
/// The folder is there but cannot be read.
pub fn list() -> Result<Vec<String>, HostError> {
    let folder = Path::new(FOLDER);
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", folder, error)),
    };
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Ok(names)
}

/// Makes an empty namespace (only a loopback interface, down).
///
/// # Errors
/// There is one of that name ([`HostError::Exists`]); the rights are missing (`EPERM`: it takes `CAP_SYS_ADMIN`);
/// or the kernel has reached its limit of namespaces (`ENOSPC`).
pub fn create(name: &str) -> Result<(), HostError> {
    for _ in 0..FOLDER_RETRIES {
        match create_once(name) {
            // Somebody removed the folder, empty until now, between two of our steps.
            Err(error) if error.errno() == Some(libc::ENOENT) => {}
            answer => return answer,
        }
    }
    create_once(name)
}

fn create_once(name: &str) -> Result<(), HostError> {
    let path = path(name)?;
    prepare_folder()?;
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(0o444).open(&path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(HostError::Exists { what: "network namespace", name: name.into() });
        }
        Err(error) => return Err(failed("make", &path, error)),
    }
    let made = on_fresh_thread(|| {
        unshare(libc::CLONE_NEWNET)?;
        mount(Some(c"/proc/thread-self/ns/net"), &c_path(&path)?, None, libc::MS_BIND)
    });
    if made.is_err() {
        // The mount point alone would look like a namespace; what stopped us is the better error to report.
        let _ = std::fs::remove_file(&path);
    }
    made.map_err(|error| error.on(name))
}

/// Removes a name, and what a crash may have left under it. The namespace ends with its last process and socket;
/// its virtual links end with it.
///
/// # Errors
/// There is none of that name ([`HostError::Missing`]), or the rights are missing (`EPERM`).
pub fn delete(name: &str) -> Result<(), HostError> {
    let path = path(name)?;
    let target = c_path(&path)?;
    // SAFETY: `target` is a string that outlives the call.
    let answer = unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    if answer != 0 {
        let error = HostError::last_on("unmount", name);
        match error.errno() {
            Some(libc::ENOENT) => {
                return Err(HostError::Missing { what: "network namespace", name: name.into() });
            }
            // A mount point without a mount: the rest of a namespace that was not finished.
            Some(libc::EINVAL) => {}
            _ => return Err(error),
        }
    }
    std::fs::remove_file(&path).map_err(|source| failed("remove", &path, source))
}

/// Removes the folder of named namespaces if it is empty. For one who made it by making the first namespace.
pub fn remove_empty_folder() {
    let folder = Path::new(FOLDER);
    let empty = folder.read_dir().is_ok_and(|mut entries| entries.next().is_none());
    if let (true, Ok(target)) = (empty, c_path(folder)) {
        // Whatever was put in since keeps the mount busy or the folder full, and then it stays. Two programs that
        // made the folder at once have mounted it twice.
        for _ in 0..FOLDER_RETRIES {
            // SAFETY: `target` is a string that outlives the call.
            if unsafe { libc::umount2(target.as_ptr(), 0) } != 0 {
                break;
            }
        }
        let _ = std::fs::remove_dir(folder);
    }
}

/// Opens the namespace `name`, to hold or to enter it.
///
/// # Errors
/// There is none of that name ([`HostError::Missing`]).
pub fn open(name: &str) -> Result<OwnedFd, HostError> {
    let path = path(name)?;
    match File::open(&path) {
        Ok(file) => Ok(file.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(HostError::Missing { what: "network namespace", name: name.into() })
        }
        Err(error) => Err(failed("open", &path, error)),
    }
}

/// Moves the current thread into the namespace `name`. Threads that exist already stay where they are.
///
/// # Errors
/// There is none of that name, what is there is not whole (`EINVAL`), or the rights are missing (`EPERM`).
pub fn enter(name: &str) -> Result<(), HostError> {
    set_namespace(open(name)?.as_fd(), libc::CLONE_NEWNET).map_err(|error| error.on(name))
}

/// Runs `work` on a fresh thread inside the namespace `name` and waits for it. Sockets that `work` opens belong to
/// that namespace for good, also when they are handed out.
///
/// # Errors
/// Those of [`enter`].
///
/// # Panics
/// When `work` does, with its own words.
pub fn with_namespace<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> Result<T, HostError> {
    on_fresh_thread(|| enter(name).map(|()| work()))
}

/// Runs `work` on a fresh thread inside a new namespace that has no name and ends with it, whatever becomes of this
/// program.
///
/// # Errors
/// The rights are missing (`EPERM`: it takes `CAP_SYS_ADMIN`), or the kernel has reached its limit of namespaces.
pub fn in_a_new_one<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, HostError> {
    on_fresh_thread(|| unshare(libc::CLONE_NEWNET).map(|()| work()))
}

/// Runs `work` on a thread of its own, so that what it does to its namespaces ends with it.
pub(crate) fn on_fresh_thread<T: Send>(
    work: impl FnOnce() -> Result<T, HostError> + Send,
) -> Result<T, HostError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work).map_err(
            |source| HostError::System {
                operation: "start a thread for",
                subject: "a namespace".into(),
                source,
            },
        )?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Makes the folder and lets mounts in it be seen by every process, as iproute2 does; otherwise a namespace that
/// was deleted would live on in private copies of its mount.
fn prepare_folder() -> Result<(), HostError> {
    let folder = Path::new(FOLDER);
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)
        .map_err(|source| failed("make", folder, source))?;
    let target = c_path(folder)?;
    match mount(None, &target, None, libc::MS_SHARED | libc::MS_REC) {
        // Not a mount yet: only mounts can be shared.
        Err(error) if error.errno() == Some(libc::EINVAL) => {
            mount(Some(&target), &target, None, libc::MS_BIND | libc::MS_REC)?;
            mount(None, &target, None, libc::MS_SHARED | libc::MS_REC)
        }
        answer => answer,
    }
}

/// `setns(2)` for the current thread.
pub(crate) fn set_namespace(descriptor: BorrowedFd<'_>, kinds: libc::c_int) -> Result<(), HostError> {
    // SAFETY: the descriptor is open while borrowed; the rest are plain numbers.
    let answer = unsafe { libc::setns(descriptor.as_raw_fd(), kinds) };
    if answer == 0 { Ok(()) } else { Err(HostError::last("enter the namespace")) }
}

/// `unshare(2)` for the current thread.
pub(crate) fn unshare(kinds: libc::c_int) -> Result<(), HostError> {
    // SAFETY: the call takes plain numbers.
    let answer = unsafe { libc::unshare(kinds) };
    if answer == 0 { Ok(()) } else { Err(HostError::last("make a new namespace")) }
}

/// `mount(2)`.
pub(crate) fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
) -> Result<(), HostError> {
    let pointer = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: every pointer is null or a string that outlives the call; there is no data argument.
    let answer =
        unsafe { libc::mount(pointer(source), target.as_ptr(), pointer(kind), flags, std::ptr::null()) };
    if answer == 0 { Ok(()) } else { Err(HostError::last_on("mount", target.to_string_lossy())) }
}

/// A path for a system call.
pub(crate) fn c_path(path: &Path) -> Result<CString, HostError> {
    CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| HostError::BadName {
        what: "path",
        name: path.display().to_string(),
        why: "it holds a NUL",
    })
}

pub(crate) fn failed(operation: &'static str, path: &Path, source: io::Error) -> HostError {
    HostError::System { operation, subject: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(path("romerA").unwrap(), Path::new("/run/netns/romerA"));
        for name in ["", ".", "..", "a/b", "../x", "a\0b", &"x".repeat(256)] {
            assert!(path(name).is_err(), "{name:?} was accepted");
        }
    }

    #[test]
    fn a_namespace_that_is_not_there_is_said_to_be_missing() {
        let name = format!("romer-no-such-{}", std::process::id());
        assert!(matches!(enter(&name), Err(HostError::Missing { .. })));
        assert!(matches!(with_namespace(&name, || ()), Err(HostError::Missing { .. })));
        assert!(!exists(&name).unwrap());
        assert!(!list().unwrap().contains(&name));
    }
}
