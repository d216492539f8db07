//! Waiting for several descriptors at once, and being woken by another thread.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use romer_units::{Duration, Monotonic, Timestamp};

use crate::HostError;
use crate::clock::monotonic_now;

/// Most descriptors that one wait watches.
pub const MAX_WAITED: usize = 32;

/// Wakes a thread that waits. Many threads may wake; one waits.
#[derive(Debug)]
pub struct Waker {
    event: OwnedFd,
}

impl Waker {
    /// A waker that has not been used.
    ///
    /// # Errors
    /// The system has no descriptor left (`EMFILE`, `ENFILE`).
    pub fn new() -> Result<Self, HostError> {
        // SAFETY: the call takes plain numbers.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(HostError::last("make an event descriptor"));
        }
        // SAFETY: the descriptor was opened just now and nobody else has it.
        Ok(Self { event: unsafe { OwnedFd::from_raw_fd(descriptor) } })
    }

    /// Ends the wait that is going on or, if there is none, the next one. Never blocks.
    pub fn wake(&self) {
        // The only failure is a counter that is full, and then the waiter is being woken already.
        // SAFETY: the descriptor is ours and open; the call writes eight octets of its own stack.
        let _ = unsafe { libc::eventfd_write(self.event.as_raw_fd(), 1) };
    }

    pub(crate) fn clear(&self) {
        let mut value = 0;
        // SAFETY: the descriptor is ours and open; the call writes one integer into `value`.
        let _ = unsafe { libc::eventfd_read(self.event.as_raw_fd(), &raw mut value) };
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    readable: u32,
    errors: u32,
    woken: bool,
}

impl Ready {
    /// Whether the descriptor at `index` of the list has something to receive (or, of a listener, to accept).
    pub const fn readable(self, index: usize) -> bool {
        index < MAX_WAITED && self.readable & (1 << index) != 0
    }
    /// Whether the descriptor at `index` has transmit events (or, of a stream, was closed by the other end). They
    /// end every wait until they are taken.
    pub const fn errors(self, index: usize) -> bool {
        index < MAX_WAITED && self.errors & (1 << index) != 0
    }
    /// Whether the [`Waker`] was used.
    pub const fn woken(self) -> bool {
        self.woken
    }
    /// Whether the time ran out.
    pub const fn timed_out(self) -> bool {
        self.readable == 0 && self.errors == 0 && !self.woken
    }
}

/// Waits until one of `descriptors` (at most [`MAX_WAITED`]) is ready, `waker` is used, or `timeout` has passed
/// (`None`: without end; zero or less: not at all). The waker is spent by this.
///
/// # Errors
/// There are too many descriptors, or the system has no memory for the wait.
pub fn wait_any(
    descriptors: &[BorrowedFd<'_>],
    waker: Option<&Waker>,
    timeout: Option<Duration>,
) -> Result<Ready, HostError> {
    if descriptors.len() > MAX_WAITED {
        return Err(HostError::Unsuitable("one wait can watch 32 descriptors at most"));
    }
    let mut polled = [const { libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 } }; MAX_WAITED + 1];
    let watched = descriptors.iter().copied().chain(waker.map(|waker| waker.event.as_fd()));
    for (entry, descriptor) in polled.iter_mut().zip(watched) {
        entry.fd = descriptor.as_raw_fd();
    }
    let count = descriptors.len() + usize::from(waker.is_some());
    poll_until(&mut polled[..count], timeout)?;
    let mut ready = Ready::default();
    for (index, entry) in polled[..descriptors.len()].iter().enumerate() {
        if entry.revents & libc::POLLIN != 0 {
            ready.readable |= 1 << index;
        }
        if entry.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0 {
            ready.errors |= 1 << index;
        }
    }
    if let Some(waker) = waker
        && polled[descriptors.len()].revents != 0
    {
        waker.clear();
        ready.woken = true;
    }
    Ok(ready)
}

/// Polls until one of `polled` is ready or `timeout` has passed, through interruptions by signals.
pub(crate) fn poll_until(polled: &mut [libc::pollfd], timeout: Option<Duration>) -> Result<(), HostError> {
    let deadline: Option<Timestamp<Monotonic>> = timeout.map(|timeout| monotonic_now() + timeout);
    let count = libc::nfds_t::try_from(polled.len()).unwrap_or(0);
    loop {
        let left = deadline.map(|deadline| (deadline - monotonic_now()).as_nanos().max(0));
        let time =
            left.map(|left| libc::timespec { tv_sec: left / 1_000_000_000, tv_nsec: left % 1_000_000_000 });
        let time_pointer = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: `polled` is exclusively ours and `count` its length; the time, if any, outlives the call; no
        // signal mask is given.
        let answer = unsafe { libc::ppoll(polled.as_mut_ptr(), count, time_pointer, std::ptr::null()) };
        if answer >= 0 {
            return Ok(());
        }
        let error = HostError::last("wait for descriptors");
        if error.errno() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}
