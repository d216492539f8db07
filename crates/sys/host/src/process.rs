//! Other processes: who is in a namespace, and ending one.

use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration as StdDuration, Instant};

use romer_units::Duration;

use crate::netns::failed;
use crate::socket::wait_any;
use crate::{HostError, userns};

/// A network namespace, told from every other of this running system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NamespaceId {
    device: u64,
    inode: u64,
}

impl NamespaceId {
    /// The namespace that `path` stands for: a mounted name, or `/proc/ID/ns/net`.
    ///
    /// # Errors
    /// There is nothing (`ENOENT`), or we may not look (`EACCES`).
    pub fn from_path(path: &Path) -> Result<Self, HostError> {
        let metadata = std::fs::metadata(path).map_err(|source| failed("look at", path, source))?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// When the process `id` was started, in the kernel's ticks since the system's start; `None` if there is no such
/// process or it has ended. Number and start together never come again.
pub fn start_time(id: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold anything; the last parenthesis ends it.
    // After it come the state (field 3) and, at field 22, the start.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The processes, this one excepted, whose main thread is in one of `namespaces`, as far as we may look.
pub fn inside(namespaces: &HashSet<NamespaceId>) -> Vec<u32> {
    let Ok(entries) = Path::new("/proc").read_dir() else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| *id != std::process::id())
        .filter(|id| {
            NamespaceId::from_path(Path::new(&format!("/proc/{id}/ns/net")))
                .is_ok_and(|namespace| namespaces.contains(&namespace))
        })
        .collect()
}

/// Ends the process `id`, if `still` holds once the number cannot change hands any more: asks it to (`SIGTERM`),
/// and after `patience` makes it (`SIGKILL`). Gives whether there was anything to end.
///
/// # Errors
/// The process is not ours to end (`EPERM`), or it does not end even so (`ETIMEDOUT`: it hangs in the kernel).
pub fn end(id: u32, patience: Duration, still: impl FnOnce() -> bool) -> Result<bool, HostError> {
    let process = match userns::open_process(id) {
        Ok(process) => process,
        Err(error) if error.errno() == Some(libc::ESRCH) => return Ok(false),
        Err(error) => return Err(error),
    };
    if !still() {
        return Ok(false);
    }
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        signal_process(process.as_fd(), signal, id)?;
        if wait_any(&[process.as_fd()], None, Some(patience))?.readable(0) {
            return Ok(true);
        }
    }
    Err(HostError::System {
        operation: "end process",
        subject: id.to_string(),
        source: std::io::Error::from_raw_os_error(libc::ETIMEDOUT),
    })
}

/// Ends every process of the group that `leader` leads, which was started with a group of its own and has not been waited
/// for: asks them to (`SIGTERM`), and after `patience` makes them (`SIGKILL`). What has left the group goes on.
///
/// # Errors
/// None of them is ours to end (`EPERM`).
pub fn end_group(leader: u32, patience: Duration) -> Result<(), HostError> {
    /// How often it is looked whether they have ended.
    const POLL_INTERVAL: StdDuration = StdDuration::from_millis(5);
    signal_group(leader, libc::SIGTERM)?;
    let end = Instant::now() + patience.to_std();
    while Instant::now() < end && group_runs(leader) {
        std::thread::sleep(POLL_INTERVAL);
    }
    signal_group(leader, libc::SIGKILL)
}

fn signal_group(leader: u32, signal: libc::c_int) -> Result<(), HostError> {
    let group = libc::pid_t::try_from(leader).ok().filter(|group| *group > 1);
    // Of no group, our own would be taken.
    let Some(group) = group else { return Ok(()) };
    // SAFETY: the call takes plain numbers.
    if unsafe { libc::killpg(group, signal) } == 0 {
        return Ok(());
    }
    let error = HostError::last_on("end process group", leader.to_string());
    if error.errno() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}

/// Whether any process of this group has not ended.
fn group_runs(group: u32) -> bool {
    let Ok(entries) = Path::new("/proc").read_dir() else { return false };
    let mut ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.any(|id| state_and_group(id).is_some_and(|(state, of)| of == group && !matches!(state, 'Z' | 'X')))
}

/// Whether a signal has stopped the process `id`, as who wants to read from a terminal that is not its own is.
pub fn is_stopped(id: u32) -> bool {
    state_and_group(id).is_some_and(|(state, _)| state == 'T')
}

/// The state of the process `id`, a letter, and the number of its group.
fn state_and_group(id: u32) -> Option<(char, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(1)?.parse().ok()?))
}

fn signal_process(process: BorrowedFd<'_>, signal: libc::c_int, id: u32) -> Result<(), HostError> {
    let nothing = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open while borrowed; no signal information is given.
    let answer =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, nothing, 0) };
    if answer == 0 {
        return Ok(());
    }
    let error = HostError::last_on("end process", id.to_string());
    if error.errno() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}

/// Takes note that the child `id` has ended, so that the system can forget it; without effect for one that still
/// runs or is no child of ours.
pub fn reap(id: u32) {
    if let Ok(id) = libc::pid_t::try_from(id) {
        // SAFETY: no status is asked for.
        unsafe { libc::waitpid(id, std::ptr::null_mut(), libc::WNOHANG) };
    }
}

/// The effective user of this process.
pub fn user() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Cuts this process off from whoever started it: from its terminal and session, its folder, and every open
/// descriptor but the three standard ones.
///
/// # Errors
/// It leads a process group already (`EPERM`).
pub fn detach() -> Result<(), HostError> {
    // SAFETY: the call takes nothing.
    if unsafe { libc::setsid() } < 0 {
        return Err(HostError::last("leave the session"));
    }
    std::env::set_current_dir("/").map_err(|source| failed("enter", Path::new("/"), source))?;
    close_inherited()
}

/// Closes every descriptor from 3 on that was open when this program began. Called before the program opens any.
fn close_inherited() -> Result<(), HostError> {
    let folder = Path::new("/proc/self/fd");
    let entries = folder.read_dir().map_err(|source| failed("read", folder, source))?;
    let open: Vec<libc::c_int> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // Those that this program's own libraries opened are marked to be closed on exec; inherited ones are not.
        // SAFETY: the call takes plain numbers; a descriptor that is not open is an error without effect.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
            // SAFETY: nothing of this program owns the descriptor, as was seen just now.
            unsafe { libc::close(descriptor) };
        }
    }
    Ok(())
}

/// Has the program that `command` starts be ended (`SIGTERM`) when the thread that starts it ends, however that comes
/// about; a program that is started for a task must not outlive who asked for it.
pub fn die_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let work = move || {
        let signal = libc::c_ulong::from(libc::SIGTERM.unsigned_abs());
        // SAFETY: the call takes plain numbers and changes only how this process is told of its parent's end.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the call takes nothing and cannot fail.
        let now = unsafe { libc::getppid() };
        // The parent may have ended before the request was made.
        if u32::try_from(now) == Ok(parent) { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
    };
    // SAFETY: between fork and exec the closure makes two system calls that are safe there, and allocates nothing.
    unsafe { command.pre_exec(work) };
}

/// Keeps what this process has in memory out of core dumps, and from being read by other processes of its user, from now on
/// (`PR_SET_DUMPABLE`). Programs that it starts are as they would be.
pub fn forbid_core_dumps() {
    // SAFETY: the call takes plain numbers, and cannot fail with these.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, libc::c_ulong::from(0_u8), 0, 0, 0) };
}

/// Sleeps until a signal ends the process.
pub fn sleep_until_ended() -> ! {
    loop {
        // SAFETY: the call takes nothing and returns when a signal was handled.
        unsafe { libc::pause() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_told_by_its_number_and_start() {
        let own = start_time(std::process::id()).unwrap();
        assert_eq!(start_time(std::process::id()), Some(own));
        assert_eq!(start_time(u32::MAX), None);
    }

    /// Also on hosts that keep no core dumps at all.
    #[test]
    fn core_dumps_are_forbidden() {
        // SAFETY: the calls take plain numbers, and cannot fail with these.
        let dumpable = || unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) };
        let before = dumpable();
        forbid_core_dumps();
        assert_eq!(dumpable(), 0);
        // SAFETY: as above.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, libc::c_ulong::from(before.unsigned_abs()), 0, 0, 0) };
    }

    #[test]
    fn a_process_is_ended_even_if_it_will_not() {
        for script in ["exec sleep 1000", "trap '' TERM; echo ready; while :; do sleep 1; done"] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            assert!(!end(child.id(), Duration::from_secs(1), || false).unwrap());
            assert!(start_time(child.id()).is_some());
            assert!(end(child.id(), Duration::from_millis(300), || true).unwrap());
            assert_eq!(start_time(child.id()), None, "a process that ended has no start");
            child.wait().unwrap();
            assert!(!end(child.id(), Duration::from_secs(1), || true).unwrap());
        }
    }

    #[test]
    fn a_group_is_ended_with_all_that_its_leader_has_started() {
        for script in
            ["sleep 1000 & echo $!; wait", "trap '' TERM; sleep 1000 & echo $!; while :; do wait; done"]
        {
            let mut command = Command::new("sh");
            command.args(["-c", script]).process_group(0).stdout(std::process::Stdio::piped());
            let mut leader = command.spawn().unwrap();
            let mut line = String::new();
            let said = leader.stdout.take().unwrap();
            std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut line).unwrap();
            let child: u32 = line.trim().parse().unwrap();
            assert!(group_runs(leader.id()) && start_time(child).is_some() && !is_stopped(leader.id()));
            end_group(leader.id(), Duration::from_millis(100)).unwrap();
            leader.wait().unwrap();
            let end = Instant::now() + StdDuration::from_secs(60);
            while start_time(child).is_some() && Instant::now() < end {
                std::thread::sleep(StdDuration::from_millis(1));
            }
            assert_eq!(start_time(child), None, "{script}");
            assert!(!group_runs(leader.id()));
            end_group(leader.id(), Duration::ZERO).unwrap();
        }
    }

    #[test]
    fn the_processes_of_a_namespace_are_found() {
        let own = NamespaceId::from_path(Path::new("/proc/self/ns/net")).unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let found = inside(&HashSet::from([own]));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&child.id()) && !found.contains(&std::process::id()));
        assert!(inside(&HashSet::new()).is_empty());
    }
}
