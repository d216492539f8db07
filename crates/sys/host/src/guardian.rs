//! Putting something back whatever happens to this process.
//!
//! Before anything is changed, a small process is forked that knows how things were and waits at a pipe. The pipe closes
//! when the [`Guardian`] is dropped, or when this process ends in whatever way; then the small process puts things back
//! and ends. So there is one way back, and every end goes it. What no process can mend: the guardian itself being killed
//! (it is in a session of its own and blocks all signals that can be blocked).

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use crate::HostError;

/// Descriptor numbers that the guardian uses before it closes all but the first few.
const HIGH: libc::c_int = 64;

/// A process that puts something back once this is dropped, or this process is no more. Dropping it waits for that.
#[derive(Debug)]
pub struct Guardian {
    pipe: Option<OwnedFd>,
    process: libc::pid_t,
}

impl Guardian {
    /// Forks a guardian, which will run `put_back` with the numbers that the descriptors of `kept` have there.
    ///
    /// `put_back` runs in a copy of this process that may have had threads: it is to make system calls over memory that
    /// was prepared before, and neither allocate nor take a lock.
    ///
    /// # Errors
    /// The system has no descriptors or no process to give (`EMFILE`, `EAGAIN`).
    pub fn over<const N: usize>(
        kept: [BorrowedFd<'_>; N],
        put_back: impl FnOnce([RawFd; N]),
    ) -> Result<Self, HostError> {
        let mut ends = [0; 2];
        // SAFETY: the call writes two integers into `ends`.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(HostError::last("make a pipe"));
        }
        // SAFETY: both descriptors were opened just now and nobody else has them.
        let [read, write] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        // SAFETY: the child makes system calls over memory prepared before, and never returns.
        let process = unsafe { libc::fork() };
        match process {
            0 => watch(read.as_raw_fd(), kept.map(|descriptor| descriptor.as_raw_fd()), put_back),
            1.. => Ok(Self { pipe: Some(write), process }),
            _ => Err(HostError::last_on("fork", "a guard of the interface")),
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let mut status = 0;
        loop {
            // SAFETY: the call writes one integer into `status`.
            let answer = unsafe { libc::waitpid(self.process, &raw mut status, 0) };
            if answer >= 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                break;
            }
        }
    }
}

/// The guardian's whole life. Makes system calls only: it runs in a copy of a process that may have had threads.
fn watch<const N: usize>(pipe: RawFd, kept: [RawFd; N], put_back: impl FnOnce([RawFd; N])) -> ! {
    let block_all = block_signals();
    let aside = |descriptor| {
        // SAFETY: the call takes plain numbers.
        unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, HIGH) }
    };
    let (pipe, mut kept) = (aside(pipe), kept.map(aside));
    let mut number = 0;
    // SAFETY: the call takes plain numbers; what stood at the number is not used any more.
    unsafe { libc::dup2(pipe, number) };
    for descriptor in &mut kept {
        number += 1;
        // SAFETY: as before.
        unsafe { libc::dup2(*descriptor, number) };
        *descriptor = number;
    }
    // Whoever waits for the end of our output must not wait for this process, nor this one for another guardian.
    // SAFETY: the call takes plain numbers; nothing uses what it closes.
    unsafe { libc::syscall(libc::SYS_close_range, number + 1, libc::c_uint::MAX, 0) };
    // SAFETY: the call takes nothing.
    unsafe { libc::setsid() };
    // SAFETY: the path is a constant string.
    unsafe { libc::chdir(c"/".as_ptr()) };
    // Who kills everything that is called romer does not mean the one that cleans up.
    // SAFETY: the name is a constant string.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"port-guard".as_ptr(), 0, 0, 0) };
    if block_all {
        wait_for_end();
    }
    put_back(kept);
    // SAFETY: the call ends the process without running anything of it.
    unsafe { libc::_exit(0) }
}

fn block_signals() -> bool {
    // SAFETY: a signal set is an array of integers, for which zero is valid.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the call fills `all`.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: the call reads `all`.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut()) == 0 }
}

/// Returns when the other end of the pipe at number 0 is closed.
fn wait_for_end() {
    let mut octet = 0_u8;
    // SAFETY: the call writes at most one octet into `octet`.
    while unsafe { libc::read(0, (&raw mut octet).cast(), 1) } > 0 {}
}
