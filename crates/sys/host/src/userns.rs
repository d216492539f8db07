//! A laboratory without root: a user namespace in which this process has every right over network and mounts of
//! its own, and the way for other programs into it.
//!
//! Threads share what a user namespace changes, so a process that enters one must have a single thread. That is
//! no burden to [`Entry::into_command`], which acts between `fork` and `exec`.

use std::ffi::{CStr, CString};
use std::fs::{File, FileType};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::netns::{c_path, failed, mount, set_namespace, unshare};
use crate::{HostError, netns};

/// Makes a user, a network and a mount namespace and moves this process into them. Inside, the user is root over
/// the new namespaces only; named network namespaces made there are seen by nobody outside, and end with the last
/// process inside.
///
/// # Errors
/// The process has more than one thread, or the kernel forbids it: user namespaces are switched off or limited
/// (`EPERM`, `ENOSPC`, `EUSERS`), or a security module takes away their rights (`EPERM`, `EACCES`).
pub fn enter() -> Result<(), HostError> {
    require_single_thread()?;
    let (user, group) = identity();
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWNS)?;
    write("/proc/self/uid_map", &format!("0 {user} 1\n"))?;
    // Without this the kernel lets nobody unprivileged map a group, lest they drop one that denies them access.
    write("/proc/self/setgroups", "deny\n")?;
    write("/proc/self/gid_map", &format!("0 {group} 1\n"))?;
    mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE)?;
    private_names()
}

/// Effective user and group.
fn identity() -> (libc::uid_t, libc::gid_t) {
    // SAFETY: the call takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    // SAFETY: the call takes nothing and cannot fail.
    let group = unsafe { libc::getegid() };
    (user, group)
}

fn require_single_thread() -> Result<(), HostError> {
    let folder = Path::new("/proc/self/task");
    let threads = folder.read_dir().map_err(|source| failed("read", folder, source))?.count();
    if threads == 1 {
        Ok(())
    } else {
        Err(HostError::Unsuitable("a process with several threads cannot enter a user namespace"))
    }
}

fn write(path: &str, text: &str) -> Result<(), HostError> {
    std::fs::write(path, text).map_err(|source| failed("write", Path::new(path), source))
}

/// Lays an empty folder of our own over that of the named namespaces.
fn private_names() -> Result<(), HostError> {
    let folder = Path::new(netns::FOLDER);
    if !folder.exists() {
        let parent = folder.parent().unwrap_or(folder);
        cover_with_copy(parent)?;
        std::fs::create_dir(folder).map_err(|source| failed("make", folder, source))?;
    }
    mount(Some(c"tmpfs"), &c_path(folder)?, Some(c"tmpfs"), 0)
}

/// Covers `folder`, in which we may not create anything, with an empty one in which everything of the old one is
/// seen again.
fn cover_with_copy(folder: &Path) -> Result<(), HostError> {
    let old = File::open(folder).map_err(|source| failed("open", folder, source))?;
    let old_path = Path::new("/proc/self/fd").join(old.as_raw_fd().to_string());
    mount(Some(c"tmpfs"), &c_path(folder)?, Some(c"tmpfs"), 0)?;
    let entries = old_path.read_dir().map_err(|source| failed("read", folder, source))?;
    for entry in entries.filter_map(Result::ok) {
        let (from, to) = (old_path.join(entry.file_name()), folder.join(entry.file_name()));
        // What this user may not see before it need not see now: such an entry is left out.
        if let Ok(kind) = entry.file_type() {
            let _ = show_again(&from, &to, kind);
        }
    }
    Ok(())
}

fn show_again(from: &Path, to: &Path, kind: FileType) -> Result<(), HostError> {
    if kind.is_symlink() {
        let target = std::fs::read_link(from).map_err(|source| failed("read", from, source))?;
        return symlink(target, to).map_err(|source| failed("make", to, source));
    }
    let made = if kind.is_dir() { std::fs::create_dir(to) } else { File::create_new(to).map(drop) };
    made.map_err(|source| failed("make", to, source))?;
    mount(Some(&c_path(from)?), &c_path(to)?, None, libc::MS_BIND | libc::MS_REC)
}

/// A way into a network namespace, prepared so that it can be gone between `fork` and `exec`.
#[derive(Debug)]
pub struct Entry {
    holder: Option<OwnedFd>,
    path: CString,
    folder: Option<CString>,
}

impl Entry {
    /// Into the named namespace of this host. Takes `CAP_SYS_ADMIN`.
    ///
    /// # Errors
    /// The name is not legal.
    pub fn named(name: &str) -> Result<Self, HostError> {
        Ok(Self { holder: None, path: c_path(&netns::path(name)?)?, folder: None })
    }

    /// Into the named namespace inside the user namespace that the process `holder` is in, which belongs to the
    /// same user.
    ///
    /// # Errors
    /// The name is not legal, or there is no such process (`ESRCH`).
    pub fn held_by(holder: u32, name: &str) -> Result<Self, HostError> {
        let holder = open_process(holder)?;
        let folder = std::env::current_dir().ok().and_then(|folder| c_path(&folder).ok());
        Ok(Self { holder: Some(holder), path: c_path(&netns::path(name)?)?, folder })
    }

    /// Moves the current thread inside. With a holder, the process must have no other. The folder `/sys` then
    /// speaks of the namespace, as with `ip netns exec`.
    ///
    /// Makes system calls only, so that it is safe after `fork`.
    ///
    /// # Errors
    /// There is no such namespace (`ENOENT`), the process has several threads (`EINVAL`), or the rights are
    /// missing (`EPERM`).
    pub fn enter(&self) -> io::Result<()> {
        if let Some(holder) = &self.holder {
            let kinds = libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWNS;
            set(holder.as_fd(), kinds)?;
        }
        // SAFETY: the path is a string that outlives the call.
        let descriptor = unsafe { libc::open(self.path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was opened just now and nobody else has it.
        let namespace = unsafe { OwnedFd::from_raw_fd(descriptor) };
        set(namespace.as_fd(), libc::CLONE_NEWNET)?;
        self.show_own_sys()?;
        if let Some(folder) = &self.folder {
            // Entering a mount namespace leads to its root. Where the old folder cannot be seen, that will do.
            // SAFETY: the path is a string that outlives the call.
            let _ = unsafe { libc::chdir(folder.as_ptr()) };
        }
        Ok(())
    }

    /// `command`, to be run inside.
    pub fn into_command(self, mut command: Command) -> Command {
        let entry = move || self.enter();
        // SAFETY: `enter` makes system calls over memory that was prepared before; it neither allocates nor locks.
        unsafe { command.pre_exec(entry) };
        command
    }

    /// Lays a view of this namespace over `/sys`, seen by this process and its children only. Where the kernel
    /// does not allow that, `/sys` goes on to speak of the namespace outside, which nothing here relies on.
    #[expect(clippy::unused_self, reason = "a step of entering, and only of that")]
    fn show_own_sys(&self) -> io::Result<()> {
        // SAFETY: the call takes plain numbers.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
            return Err(io::Error::last_os_error());
        }
        raw_mount(None, c"/", None, libc::MS_SLAVE | libc::MS_REC)?;
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RELATIME;
        let _ = raw_mount(Some(c"sysfs"), c"/sys", Some(c"sysfs"), flags);
        Ok(())
    }
}

/// `setns(2)` without allocation.
fn set(descriptor: BorrowedFd<'_>, kinds: libc::c_int) -> io::Result<()> {
    set_namespace(descriptor, kinds).map_err(|_| io::Error::last_os_error())
}

/// `mount(2)` without allocation.
fn raw_mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: every pointer is null or a string that outlives the call; there is no data argument.
    let answer =
        unsafe { libc::mount(pointer(source), target.as_ptr(), pointer(kind), flags, std::ptr::null()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A descriptor of the process `id`, which stays with that process even if the number is used again.
///
/// # Errors
/// There is no such process (`ESRCH`).
pub fn open_process(id: u32) -> Result<OwnedFd, HostError> {
    // SAFETY: the call takes plain numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, id, 0) };
    let Some(descriptor) = libc::c_int::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)
    else {
        return Err(HostError::last_on("open process", id.to_string()));
    };
    // SAFETY: the descriptor was opened just now and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
