//! A laboratory without root: a user namespace in which this process has every right over network and mounts of
//! its own, and the way for other programs into it.
//!
//! Threads share what a user namespace changes, so a process that enters one must have a single thread. That is
//! no burden to [`NamespaceEntry::into_command`], which acts between `fork` and `exec`.

use std::ffi::{CStr, CString};
use std::fs::{File, FileType};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::netns::{c_path, failed, mount, set_namespace};
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
    enter_new().map_err(|source| HostError::System {
        operation: "make a user namespace",
        subject: String::new(),
        source,
    })?;
    own_names()
}

/// `command`, to be run in a new user, network and mount namespace, as by [`enter`] but for the folder of named
/// namespaces: a program that makes some calls [`own_names`] first. This process may have any number of threads.
pub fn into_command(mut command: Command) -> Command {
    // SAFETY: `enter_new` makes system calls over constants and its own stack; it neither allocates nor locks.
    unsafe { command.pre_exec(enter_new) };
    command
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

/// Enters the new namespaces, in which this user and group are called 0. Makes system calls only.
fn enter_new() -> io::Result<()> {
    // SAFETY: the call takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    // SAFETY: the call takes nothing and cannot fail.
    let group = unsafe { libc::getegid() };
    let kinds = libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWNS;
    // SAFETY: the call takes plain numbers.
    if unsafe { libc::unshare(kinds) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut line = [0; 16];
    raw_write(c"/proc/self/uid_map", map_line(user, &mut line))?;
    // Without this the kernel lets nobody unprivileged map a group, lest they drop one that denies them access.
    raw_write(c"/proc/self/setgroups", b"deny\n")?;
    raw_write(c"/proc/self/gid_map", map_line(group, &mut line))?;
    raw_mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE)
}

/// `0 ID 1`, which calls ID 0 inside, and nobody else anything.
fn map_line(id: u32, line: &mut [u8; 16]) -> &[u8] {
    let mut begin = line.len();
    let mut put = |octet| {
        begin -= 1;
        line[begin] = octet;
    };
    put(b'1');
    put(b' ');
    let mut rest = id;
    loop {
        put(b'0' + u8::try_from(rest % 10).unwrap_or(0));
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    put(b' ');
    put(b'0');
    &line[begin..]
}

/// Writes a small file of `/proc` without allocation.
fn raw_write(path: &CStr, octets: &[u8]) -> io::Result<()> {
    // SAFETY: the path is a string that outlives the call.
    let descriptor = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was opened just now and nobody else has it.
    let file = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: pointer and length describe `octets`, which the call only reads.
    let written = unsafe { libc::write(file.as_raw_fd(), octets.as_ptr().cast(), octets.len()) };
    if usize::try_from(written) == Ok(octets.len()) { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives this mount namespace an empty folder of named namespaces of its own. For a process inside a new mount
/// namespace.
///
/// The folder that the machine may have is not just covered: when its owner removes it, everything that is mounted
/// on it goes with it, in all mount namespaces. So the folder above it, which nobody removes, is covered by an
/// empty one in which everything else of the old one is seen again.
///
/// # Errors
/// The rights are missing (`EPERM`), or a folder cannot be made.
pub fn own_names() -> Result<(), HostError> {
    let names = Path::new(netns::FOLDER);
    let folder = names.parent().unwrap_or(names);
    let old = File::open(folder).map_err(|source| failed("open", folder, source))?;
    let old_path = Path::new("/proc/self/fd").join(old.as_raw_fd().to_string());
    mount(Some(c"tmpfs"), &c_path(folder)?, Some(c"tmpfs"), 0)?;
    let entries = old_path.read_dir().map_err(|source| failed("read", folder, source))?;
    for entry in entries.filter_map(Result::ok) {
        let (from, to) = (old_path.join(entry.file_name()), folder.join(entry.file_name()));
        // What this user may not see before it need not see now: such an entry is left out.
        if let (false, Ok(kind)) = (to == names, entry.file_type()) {
            let _ = show_again(&from, &to, kind);
        }
    }
    std::fs::create_dir(names).map_err(|source| failed("make", names, source))
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
pub struct NamespaceEntry {
    holder: Option<OwnedFd>,
    path: CString,
    folder: Option<CString>,
}

impl NamespaceEntry {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_map_names_the_outer_id() {
        for id in [0, 7, 1_000, 65_534, u32::MAX] {
            let mut line = [0; 16];
            assert_eq!(map_line(id, &mut line), format!("0 {id} 1").as_bytes());
        }
    }

    #[test]
    fn a_process_with_several_threads_is_refused() {
        let (leave, stay) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || stay.recv());
        assert!(matches!(enter(), Err(HostError::Unsuitable(_))));
        drop(leave);
        assert!(thread.join().unwrap().is_err());
    }

    #[test]
    fn a_process_that_is_not_there_holds_nothing() {
        assert!(NamespaceEntry::held_by(u32::MAX >> 1, "x").is_err());
    }
}
