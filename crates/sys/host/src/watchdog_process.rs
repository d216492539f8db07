//! Putting something back whatever happens to this process.
//!
//! Before anything is changed, a small process is forked that knows how things were and waits at a pipe. The pipe closes
//! when the [`WatchdogProcess`] is dropped, or when this process ends in whatever way; then the small process puts things back
//! and ends. So there is one way back, and every end goes it.
//!
//! What ends a whole process group or session (a shell's `kill %1`, a supervisor, a terminal) must not end the guardian
//! with it. So it goes into a session of its own, blocks all signals that can be blocked, and then says that it is ready;
//! [`WatchdogProcess::over`] returns when it has heard that, and before nothing is changed. What no process can mend: the guardian
//! itself being killed, by its number, by its name, or with its control group.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, RawFd};

use romer_confine::{Capability, CapabilitySet, Needs, Prepared};

use crate::HostError;

/// Descriptor numbers that the guardian uses before it closes all but the first few.
const HIGH: libc::c_int = 64;
/// Where the guardian has the pipe that it waits at; what it keeps follows.
const PIPE: libc::c_int = 0;

/// A process that puts something back once this is dropped, or this process is no more. Dropping it waits for that.
#[derive(Debug)]
pub struct WatchdogProcess {
    pipe: Option<File>,
    /// `None` once it has been waited for.
    process: Option<libc::pid_t>,
}

impl WatchdogProcess {
    /// Forks a guardian, which will run `put_back` with the numbers that the descriptors of `kept` have there.
    ///
    /// What `put_back` gives is what [`WatchdogProcess::finish`] gives; 0 says that all was put back.
    ///
    /// `put_back` runs in a copy of this process that may have had threads: it is to make system calls over memory that
    /// was prepared before, and neither allocate nor take a lock.
    ///
    /// When this returns the guardian is on its own: a signal to this process's group or session does not reach it. It is confined
    /// ([`romer_confine`]): it keeps the capabilities to restore an interface of any network namespace, and starts no program.
    ///
    /// # Errors
    /// The system has no descriptors or no process to give (`EMFILE`, `EAGAIN`), or the guardian ended before it was on its
    /// own ([`HostError::Unsuitable`]). `put_back` was not run then.
    pub fn over<const N: usize>(
        kept: [BorrowedFd<'_>; N],
        put_back: impl FnOnce([RawFd; N]) -> u8,
    ) -> Result<Self, HostError> {
        let needs = Needs { capabilities: guardian_capabilities(), namespaces: true, ..Needs::default() };
        Self::fork(kept, Some(&Prepared::new(&needs)), put_back)
    }

    /// The same, of a guardian that is confined so, if at all.
    fn fork<const N: usize>(
        kept: [BorrowedFd<'_>; N],
        confinement: Option<&Prepared>,
        put_back: impl FnOnce([RawFd; N]) -> u8,
    ) -> Result<Self, HostError> {
        let [read, write] = pipe()?;
        let [mut ready, tell] = pipe()?;
        // SAFETY: the child makes system calls over memory prepared before, and never returns.
        let process = unsafe { libc::fork() };
        match process {
            0 => {
                let kept = kept.map(|descriptor| descriptor.as_raw_fd());
                watch(read.as_raw_fd(), tell.as_raw_fd(), kept, confinement, put_back)
            }
            1.. => {
                let guardian = Self { pipe: Some(write), process: Some(process) };
                // Nobody but the guardian is to have the end that it tells by: should it end, that is heard.
                drop(tell);
                match ready.read_exact(&mut [0]) {
                    Ok(()) => Ok(guardian),
                    Err(_) => Err(HostError::Unsuitable("the process that puts things back has ended")),
                }
            }
            _ => Err(HostError::last_on("fork", "a guard of the interface")),
        }
    }
}

impl WatchdogProcess {
    /// Forks a guardian that runs this program once more, with `arguments` behind its name, instead of putting things back
    /// itself: so what it does may allocate, lock and fail. Its standard output and error are closed.
    ///
    /// # Errors
    /// As of [`WatchdogProcess::over`]; an argument holds a zero octet.
    pub fn running(arguments: &[&str]) -> Result<Self, HostError> {
        const PROGRAM: &CStr = c"/proc/self/exe";
        let arguments: Result<Vec<CString>, _> = arguments.iter().copied().map(CString::new).collect();
        let arguments = arguments.map_err(|_| HostError::Unsuitable("an argument holds a zero byte"))?;
        let words = std::iter::once(PROGRAM).chain(arguments.iter().map(CString::as_c_str));
        let words: Vec<*const libc::c_char> =
            words.map(CStr::as_ptr).chain(std::iter::once(std::ptr::null())).collect();
        // What it runs starts programs and removes mounts, so that it is not confined.
        Self::fork([], None, |[]| {
            // SAFETY: both are strings that end in zero, and the list of them ends in a null pointer.
            unsafe { libc::execv(PROGRAM.as_ptr(), words.as_ptr()) };
            // The call returns only where it fails.
            1
        })
    }
}

/// The end that reads and the end that writes.
fn pipe() -> Result<[File; 2], HostError> {
    let mut ends = [0; 2];
    // SAFETY: the call writes two integers into `ends`.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(HostError::last("make a pipe"));
    }
    // SAFETY: both descriptors were opened just now and nobody else has them.
    Ok(ends.map(|end| unsafe { File::from_raw_fd(end) }))
}

impl WatchdogProcess {
    /// Has it begin to put back, and does not wait; dropping it does.
    pub fn begin(&mut self) {
        drop(self.pipe.take());
    }

    /// Has it put things back and waits for that. What it says of it; `None` where it was killed, or was waited for before.
    pub fn finish(&mut self) -> Option<u8> {
        self.begin();
        let process = self.process.take()?;
        let mut status = 0;
        loop {
            // SAFETY: the call writes one integer into `status`.
            let answer = unsafe { libc::waitpid(process, &raw mut status, 0) };
            if answer >= 0 {
                return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status).to_le_bytes()[0]);
            }
            if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                return None;
            }
        }
    }
}

impl Drop for WatchdogProcess {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The guardian's whole life. Makes system calls only: it runs in a copy of a process that may have had threads.
fn watch<const N: usize>(
    pipe: RawFd,
    tell: RawFd,
    kept: [RawFd; N],
    confinement: Option<&Prepared>,
    put_back: impl FnOnce([RawFd; N]) -> u8,
) -> ! {
    let mut said = 0;
    // SAFETY: the call takes nothing.
    let on_its_own = block_signals() && unsafe { libc::setsid() } >= 0;
    // SAFETY: the path is a constant string.
    unsafe { libc::chdir(c"/".as_ptr()) };
    // Who kills everything that is called romer does not mean the one that cleans up.
    // SAFETY: the name is a constant string.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"port-guard".as_ptr(), 0, 0, 0) };
    let aside = |descriptor| {
        // SAFETY: the call takes plain numbers.
        unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, HIGH) }
    };
    let (pipe, tell, mut kept) = (aside(pipe), aside(tell), kept.map(aside));
    let all_aside = [pipe, tell].iter().chain(&kept).all(|descriptor| *descriptor >= HIGH);
    if on_its_own && all_aside {
        let mut number = PIPE;
        // SAFETY: the call takes plain numbers; what stood at the number is not used any more.
        unsafe { libc::dup2(pipe, number) };
        for descriptor in &mut kept {
            number += 1;
            // SAFETY: as before.
            unsafe { libc::dup2(*descriptor, number) };
            *descriptor = number;
        }
        number += 1;
        // SAFETY: as before.
        unsafe { libc::dup2(tell, number) };
        // Whoever waits for the end of our output must not wait for this process, nor this one for another guardian.
        // SAFETY: the call takes plain numbers; nothing uses what it closes.
        unsafe { libc::syscall(libc::SYS_close_range, number + 1, libc::c_uint::MAX, 0) };
        // A kernel without one of the layers has the others.
        if let Some(confinement) = confinement {
            confinement.apply();
        }
        // SAFETY: the octet is a constant; who was to hear it may be no more.
        unsafe { libc::write(number, b"\n".as_ptr().cast(), 1) };
        // SAFETY: the call takes a plain number.
        unsafe { libc::close(number) };
        wait_for_end();
        said = put_back(kept);
    }
    // SAFETY: the call ends the process without running anything of it.
    unsafe { libc::_exit(said.into()) }
}

/// What restoring takes: interfaces in any namespace, which is found by looking into processes, and files of root.
fn guardian_capabilities() -> CapabilitySet {
    [
        Capability::DacOverride,
        Capability::DacReadSearch,
        Capability::NetAdmin,
        Capability::NetRaw,
        Capability::SysPtrace,
        Capability::SysAdmin,
    ]
    .into()
}

fn block_signals() -> bool {
    // SAFETY: a signal set is an array of integers, for which zero is valid.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the call fills `all`.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: the call reads `all`.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut()) == 0 }
}

/// Returns when the other end of the pipe is closed.
fn wait_for_end() {
    let mut octet = 0_u8;
    // SAFETY: the call writes at most one octet into `octet`.
    while unsafe { libc::read(PIPE, (&raw mut octet).cast(), 1) } > 0 {}
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;

    use romer_confine::support;

    use super::*;

    /// A line of what the kernel tells of a process.
    fn kernel_line(process: libc::pid_t, what: &str) -> String {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(what));
        line.unwrap_or_else(|| panic!("no {what} in {status}")).trim().to_owned()
    }

    /// The watchdog process has left the process group of its parent, and is confined, before anything changes.
    #[test]
    fn watchdog_leaves_the_process_group() {
        for _ in 0..200 {
            let guardian = WatchdogProcess::over([], |[]| 0).unwrap();
            let process = guardian.process.unwrap();
            // SAFETY: the calls take plain numbers.
            let [session, group] = [unsafe { libc::getsid(process) }, unsafe { libc::getpgid(process) }];
            assert_eq!((session, group), (process, process));
            assert_eq!(kernel_line(process, "Name:"), "port-guard");
            assert_eq!(kernel_line(process, "NoNewPrivs:"), "1");
            assert_eq!(kernel_line(process, "Seccomp:"), if support().system_calls { "2" } else { "0" });
            let rights = u64::from_str_radix(&kernel_line(process, "CapPrm:"), 16).unwrap();
            assert_eq!(rights & !guardian_capabilities().bits(), 0);
            let blocked = u64::from_str_radix(&kernel_line(process, "SigBlk:"), 16).unwrap();
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGPIPE] {
                assert_ne!(blocked & 1 << (signal - 1), 0, "{signal} of {blocked:x}");
            }
        }
    }

    #[test]
    fn what_was_changed_is_put_back_once_and_has_been_when_the_guardian_is_dropped() {
        let [mut read, write] = pipe().unwrap();
        let guardian = WatchdogProcess::over([write.as_fd()], |[kept]| {
            // SAFETY: the octets are a constant.
            unsafe { libc::write(kept, b"back".as_ptr().cast(), 4) };
            7
        });
        drop(write);
        let mut guardian = guardian.unwrap();
        assert_eq!([guardian.finish(), guardian.finish()], [Some(7), None]);
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "back");
    }
}
