//! Waiting for many descriptors: the work of a wait is that of those that are ready, however many are waited for (`epoll`).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use romer_units::Duration;

use crate::HostError;
use crate::socket::Waker;

/// What of a descriptor is waited for. That it has ended is always told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interest {
    /// Nothing else.
    #[default]
    Nothing,
    /// It can be read from, or accepted from.
    Read,
    /// It can be written to.
    Write,
}

impl Interest {
    fn events(self) -> u32 {
        let events = match self {
            Self::Nothing => 0,
            Self::Read => libc::EPOLLIN,
            Self::Write => libc::EPOLLOUT,
        };
        events.cast_unsigned()
    }
}

/// The token of the waker.
const WAKER: u64 = u64::MAX;

/// A set of descriptors that are waited for together. A descriptor that is closed leaves it by itself.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    /// Of one wait: no more than these are told at once, and the others first at the next.
    events: Vec<libc::epoll_event>,
}

impl Poller {
    /// A set of which one wait tells at most `most`, and which a `waker` ends.
    ///
    /// # Errors
    /// The system has no descriptor or memory left.
    pub fn new(most: usize, waker: &Waker) -> Result<Self, HostError> {
        // SAFETY: the call takes a plain number.
        let descriptor = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if descriptor < 0 {
            return Err(HostError::last("make a set of descriptors to wait for"));
        }
        // SAFETY: the descriptor was opened just now and nobody else has it.
        let epoll = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let poller = Self { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; most.max(1)] };
        poller.control(libc::EPOLL_CTL_ADD, waker.as_fd(), WAKER, Interest::Read)?;
        Ok(poller)
    }

    /// Waits for `descriptor`, too, which waits call `token`; any but the greatest number.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn add(&self, descriptor: BorrowedFd<'_>, token: u64, interest: Interest) -> Result<(), HostError> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, token, interest)
    }

    /// Waits for something else of a descriptor that was added, or calls it otherwise.
    ///
    /// # Errors
    /// It was not added.
    pub fn change(
        &self,
        descriptor: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> Result<(), HostError> {
        self.control(libc::EPOLL_CTL_MOD, descriptor, token, interest)
    }

    fn control(
        &self,
        operation: libc::c_int,
        descriptor: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> Result<(), HostError> {
        let mut event = libc::epoll_event { events: interest.events(), u64: token };
        // SAFETY: both descriptors are open while borrowed; the call reads one structure.
        let answer = unsafe {
            libc::epoll_ctl(self.epoll.as_raw_fd(), operation, descriptor.as_raw_fd(), &raw mut event)
        };
        if answer == 0 { Ok(()) } else { Err(HostError::last("wait for a descriptor")) }
    }

    /// Waits until something is ready, `waker` is used, or `timeout` has passed (rounded up to a millisecond). Puts the tokens of
    /// what is ready into `ready`; what is ready time and again comes in turns with the others.
    ///
    /// # Errors
    /// The system refuses the wait.
    pub fn wait(&mut self, waker: &Waker, timeout: Duration, ready: &mut Vec<u64>) -> Result<(), HostError> {
        ready.clear();
        let millis = timeout.as_nanos().max(0).unsigned_abs().div_ceil(1_000_000);
        let millis = libc::c_int::try_from(millis).unwrap_or(libc::c_int::MAX);
        let most = libc::c_int::try_from(self.events.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the descriptor is ours and open; the call writes at most `most` structures, as many as there are.
        let answer =
            unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), self.events.as_mut_ptr(), most, millis) };
        let Ok(count) = usize::try_from(answer) else {
            let error = HostError::last("wait for descriptors");
            // The caller looks at its deadlines and waits again.
            return if error.errno() == Some(libc::EINTR) { Ok(()) } else { Err(error) };
        };
        for event in self.events.iter().take(count) {
            match event.u64 {
                WAKER => waker.clear(),
                token => ready.push(token),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    const SHORT: Duration = Duration::from_millis(1);

    fn ready(poller: &mut Poller, waker: &Waker) -> Vec<u64> {
        let mut ready = Vec::new();
        poller.wait(waker, SHORT, &mut ready).unwrap();
        ready.sort_unstable();
        ready
    }

    /// Only what was asked for is told, until it is asked for no more or closed.
    #[test]
    fn readiness_follows_interest() {
        let waker = Waker::new().unwrap();
        let mut poller = Poller::new(8, &waker).unwrap();
        let (mut far, near) = UnixStream::pair().unwrap();
        poller.add(near.as_fd(), 7, Interest::Read).unwrap();
        assert!(ready(&mut poller, &waker).is_empty());
        far.write_all(b"x").unwrap();
        assert_eq!(ready(&mut poller, &waker), [7]);
        poller.change(near.as_fd(), 8, Interest::Nothing).unwrap();
        assert!(ready(&mut poller, &waker).is_empty());
        poller.change(near.as_fd(), 8, Interest::Write).unwrap();
        assert_eq!(ready(&mut poller, &waker), [8]);
        waker.wake();
        poller.change(near.as_fd(), 8, Interest::Nothing).unwrap();
        assert!(ready(&mut poller, &waker).is_empty(), "the waker has no token");
        // Not by `drop`: a program that another test starts at this moment has the descriptor open until it runs.
        far.shutdown(Shutdown::Both).unwrap();
        assert_eq!(ready(&mut poller, &waker), [8], "it has ended");
    }

    /// Where more are ready than one wait tells, all come in turns.
    #[test]
    fn waits_take_turns() {
        let waker = Waker::new().unwrap();
        let mut poller = Poller::new(3, &waker).unwrap();
        let pairs: Vec<(UnixStream, UnixStream)> = (0..9).map(|_| UnixStream::pair().unwrap()).collect();
        for ((_, near), token) in pairs.iter().zip(0..) {
            poller.add(near.as_fd(), token, Interest::Write).unwrap();
        }
        let mut seen: Vec<u64> = (0..3).flat_map(|_| ready(&mut poller, &waker)).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..9).collect::<Vec<u64>>());
    }
}
