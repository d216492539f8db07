//! How many files and sockets this process may hold open, and which of its first three it was given.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::HostError;

/// Standard input, output and error, in the order of their numbers, that were closed when the process began.
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// The loader calls this before `main`: there the standard library opens the null device in the place of what is closed, and from
/// then on nothing tells.
#[used]
// SAFETY: the section is an array of functions of this type, which the loader calls once, when memory is laid out and before there
// is another thread. This one neither allocates nor unwinds, and needs nothing of the standard library's runtime.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    for (closed, descriptor) in CLOSED.iter().zip(0..) {
        // SAFETY: the call takes plain numbers and changes nothing.
        let answer = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        closed.store(answer < 0, Ordering::Relaxed);
    }
}

/// A stream that a process has from whoever starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// Standard input.
    Input,
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Whether the process was started without this stream, as by `>&-` in a shell: what is written to it goes nowhere, and nothing
/// comes from it.
pub fn was_closed(stream: Standard) -> bool {
    let [input, output, error] = &CLOSED;
    let closed = match stream {
        Standard::Input => input,
        Standard::Output => output,
        Standard::Error => error,
    };
    closed.load(Ordering::Relaxed)
}

/// Raises the limit as far as this process may without rights, and gives what it is now.
///
/// # Errors
/// A sandbox forbids it (`EPERM`).
pub fn raise() -> Result<u64, HostError> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes one structure into `limit`.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if answer < 0 {
        return Err(HostError::last("read the limit of open files"));
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the call reads one structure from `limit`.
    let answer = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    if answer < 0 {
        return Err(HostError::last("raise the limit of open files"));
    }
    Ok(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raised_once_it_stays_there() {
        assert_eq!(raise().unwrap(), raise().unwrap());
    }
}
