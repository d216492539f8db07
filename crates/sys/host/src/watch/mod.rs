//! Watching this host while it measures: its clocks, and its network's links, addresses and routes.
//!
//! [`read_clocks`] reads all clocks at one moment, as nearly as that can be had; what the readings mean is for the
//! model to say. A [`Watch`] is told by the kernel of every change of the network (rtnetlink) and of every setting of
//! the real-time clock (`TFD_TIMER_CANCEL_ON_SET`), so that nobody has to ask often.

mod messages;

use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use romer_units::Duration;

use crate::HostError;
use crate::clock;
use crate::netlink::exchange;
use crate::socket::poll_until;
use crate::sys::open_socket;

/// Octets of notifications that are read with one call; the kernel never makes one longer than a page.
const BUFFER_OCTETS: usize = 16_384;
/// Readings of the clocks, of which the least interrupted is taken.
const TRIES: usize = 8;

/// All clocks of the host at one moment, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// `CLOCK_REALTIME`.
    pub realtime: i64,
    /// `CLOCK_MONOTONIC`, which stands still while the host is suspended.
    pub monotonic: i64,
    /// `CLOCK_BOOTTIME`, which does not.
    pub boottime: i64,
    /// The three were read within this time, and may lie so far apart.
    pub within: i64,
}

/// Reads all clocks.
pub fn read_clocks() -> Clocks {
    let one = || {
        let first = clock::read(libc::CLOCK_MONOTONIC);
        let boottime = clock::read(libc::CLOCK_BOOTTIME);
        let realtime = clock::read(libc::CLOCK_REALTIME);
        let last = clock::read(libc::CLOCK_MONOTONIC);
        Clocks { realtime, monotonic: first.midpoint(last), boottime, within: last - first }
    };
    let mut best = one();
    for _ in 1..TRIES {
        let next = one();
        if next.within < best.within {
            best = next;
        }
    }
    best
}

/// A change of the network of this namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkChange {
    /// An interface's state as it is now, which need not differ from before.
    Link {
        /// Its index.
        interface: u32,
        /// Its name.
        name: String,
        /// Whether it is switched on.
        on: bool,
        /// Whether it is on and has a carrier.
        up: bool,
        /// Octets of IP packet that it takes; `None` where it is gone.
        mtu: Option<u32>,
        /// How often its carrier has come or gone since it is there, from 2^32 on from 0 again; `None` where it is gone. The
        /// kernel gathers such changes, and may tell of several with one message.
        carrier_changes: Option<u32>,
    },
    /// An address came or went.
    Address {
        /// Index of its interface.
        interface: u32,
        /// The address.
        address: IpAddr,
        /// It came.
        added: bool,
    },
    /// A route came (or was replaced) or went.
    Route {
        /// Where it leads.
        to: IpAddr,
        /// Bits of `to` that count.
        prefix: u8,
        /// The next router.
        gateway: Option<IpAddr>,
        /// Index of the interface by which it leaves.
        interface: Option<u32>,
        /// It came.
        added: bool,
    },
    /// There were more changes than the kernel kept for us.
    Missed,
}

/// Is told of changes of this namespace's network and of settings of the clock.
#[derive(Debug)]
pub struct Watch {
    notifications: OwnedFd,
    questions: OwnedFd,
    settings: Option<OwnedFd>,
    buffer: Vec<u8>,
}

impl Watch {
    /// Watches the network namespace of the current thread from now on.
    ///
    /// # Errors
    /// The system has no descriptor or memory left.
    pub fn new() -> Result<Self, HostError> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let notifications = open_socket(libc::AF_NETLINK, kind, "open a netlink socket")?;
        let groups = libc::RTMGRP_LINK
            | libc::RTMGRP_IPV4_IFADDR
            | libc::RTMGRP_IPV6_IFADDR
            | libc::RTMGRP_IPV4_ROUTE
            | libc::RTMGRP_IPV6_ROUTE;
        // SAFETY: a sockaddr_nl is integers, for which zero is valid.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::sa_family_t::try_from(libc::AF_NETLINK).unwrap_or_default();
        address.nl_groups = groups.cast_unsigned();
        // SAFETY: pointer and length describe `address`, which the call only reads.
        let answer = unsafe {
            libc::bind(
                notifications.as_raw_fd(),
                (&raw const address).cast(),
                crate::sys::socklen_of::<libc::sockaddr_nl>(),
            )
        };
        if answer != 0 {
            return Err(HostError::last("subscribe to network changes"));
        }
        let questions = open_socket(libc::AF_NETLINK, kind, "open a netlink socket")?;
        Ok(Self { notifications, questions, settings: settings(), buffer: vec![0; BUFFER_OCTETS] })
    }

    /// How the interface `name` is at this moment, as a [`NetworkChange::Link`]: the kernel tells up to a second late that a
    /// carrier came or went (its link watch gathers such changes), but answers at once. `None` where there is no such interface,
    /// or no answer.
    pub fn link(&self, name: &str) -> Option<NetworkChange> {
        let mut found = None;
        let take = |body: &[u8]| found = messages::link(body);
        exchange(self.questions.as_fd(), &messages::request(name), take).ok()?;
        found
    }

    /// Waits until something changes or `timeout` has passed.
    ///
    /// # Errors
    /// The system has no memory for the wait.
    pub fn wait(&self, timeout: Duration) -> Result<(), HostError> {
        let entry = |descriptor: i32| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        // A negative descriptor is passed over.
        let settings = self.settings.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let mut polled = [entry(self.notifications.as_raw_fd()), entry(settings)];
        poll_until(&mut polled, Some(timeout))?;
        if polled[1].revents != 0 {
            self.acknowledge();
        }
        Ok(())
    }

    /// Takes what has changed, without waiting.
    pub fn changes(&mut self) -> Vec<NetworkChange> {
        let mut changes = Vec::new();
        loop {
            // SAFETY: pointer and length describe the buffer, which is exclusively ours.
            let answer = unsafe {
                libc::recv(
                    self.notifications.as_fd().as_raw_fd(),
                    self.buffer.as_mut_ptr().cast(),
                    self.buffer.len(),
                    libc::MSG_DONTWAIT,
                )
            };
            match usize::try_from(answer) {
                Ok(0) => return changes,
                Ok(length) => changes.extend(messages::read(&self.buffer[..length.min(self.buffer.len())])),
                Err(_) => match HostError::last("read the network's changes").errno() {
                    Some(libc::EINTR) => {}
                    Some(libc::ENOBUFS) => changes.push(NetworkChange::Missed),
                    _ => return changes,
                },
            }
        }
    }

    /// Takes note that the clock was set, and asks to be told of the next time.
    fn acknowledge(&self) {
        let Some(settings) = &self.settings else { return };
        let mut count = [0_u8; 8];
        // SAFETY: pointer and length describe `count`. The answer does not matter: the descriptor is quiet after it.
        let _ = unsafe { libc::read(settings.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        arm(settings);
    }
}

/// A timer that ends when the real-time clock is set; `None` where the system gives none.
fn settings() -> Option<OwnedFd> {
    // SAFETY: the call takes plain numbers.
    let descriptor =
        unsafe { libc::timerfd_create(libc::CLOCK_REALTIME, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the descriptor was opened just now and nobody else has it.
    let timer = unsafe { OwnedFd::from_raw_fd(descriptor) };
    arm(&timer).then_some(timer)
}

/// Lets the timer end far in the future, or when the clock is set.
fn arm(timer: &OwnedFd) -> bool {
    // The last moment that 32 bits of seconds hold and every kernel takes.
    let far = libc::timespec { tv_sec: i64::from(i32::MAX), tv_nsec: 0 };
    let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let time = libc::itimerspec { it_interval: never, it_value: far };
    let flags = libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET;
    // SAFETY: the descriptor is open; the call only reads `time`, and no old value is asked for.
    unsafe { libc::timerfd_settime(timer.as_raw_fd(), flags, &raw const time, std::ptr::null_mut()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_agree_with_each_other_from_one_reading_to_the_next() {
        let (one, other) = (read_clocks(), read_clocks());
        assert!(other.monotonic >= one.monotonic && other.boottime >= one.boottime);
        assert!(one.boottime >= one.monotonic - one.within, "boot time counts what the other does not");
    }

    #[test]
    fn an_interface_is_told_as_it_is() {
        let watch = Watch::new().unwrap();
        let told = watch.link("lo").unwrap();
        assert!(
            matches!(&told, NetworkChange::Link { name, mtu: Some(_), interface: 1.., .. } if name == "lo"),
            "{told:?}"
        );
        assert_eq!(watch.link("nosuch0"), None);
        assert_eq!(watch.link("lo"), Some(told), "the refusal before does not stand in the way");
    }

    #[test]
    fn a_watch_over_a_network_that_is_at_rest_waits_and_tells_nothing_of_ours() {
        let mut watch = Watch::new().unwrap();
        watch.wait(Duration::from_millis(1)).unwrap();
        // Others on this machine may change its network; that is told, and no error.
        let _ = watch.changes();
    }
}
