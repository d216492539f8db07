//! What is counted of the probes of each stream that did not leave, or that the path, a queue or a socket dropped: an event for each
//! time in which a counter grows.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use romer_endpoint::host_events::too_long;
use romer_endpoint::names::link_of_zone;
use romer_endpoint::threads::{STOOD_STILL, TOO_LATE};
use romer_host::host_info::PacketTooBigHandling;
use romer_host::{HostError, host_info};
use romer_record::event::{EventDetail, EventLocation, Unsent};
use romer_units::{Duration, Monotonic, Timestamp};

use super::{DROPS, Episode, InitiatorHostMonitor, WatchedPath};
use crate::no_route::unusable_interfaces;
use crate::stream::Shared;
use crate::unanswered::UNANSWERED;

/// An episode of refused probes is over when none was refused for so long.
const EPISODE: Duration = Duration::from_millis(500);

impl InitiatorHostMonitor {
    pub(super) fn look_at_counters(&mut self, now: Timestamp<Monotonic>) {
        let drops_are_due = now >= self.next_drops;
        if drops_are_due {
            self.next_drops = now + DROPS;
            self.look_at_queues();
        }
        for index in 0..self.ways.len() {
            let shared = Arc::clone(&self.ways[index].shared);
            let (refused, why) =
                (shared.not_sent.load(Ordering::Acquire), shared.refusal.load(Ordering::Acquire));
            // What was refused for its length is longer than the kernel knows the path to take now.
            let is_for_length = why == HostError::TOO_LONG && refused != self.ways[index].not_sent.count;
            let known = is_for_length.then(|| host_info::route_to(shared.target).ok()).flatten();
            // By the time of this look the way may take more again.
            let least = self.ways[index].refused_over;
            let known = known.map(|route| least.map_or(route.mtu, |least| least.min(route.mtu)));
            self.ways[index].refused_over = known.or(least);
            let heard = known.and_then(|_| host_info::packet_too_big_handling().ok());
            self.grow(
                index,
                now,
                refused,
                |way| &mut way.not_sent,
                |count| (EventLocation::Sender, not_sent(why, count, shared.target, known, heard)),
            );
            let place = self.ways[index].not_sent.event;
            if let Some(event) = self.event(place).filter(|_| known.is_some()) {
                event.mtu = known;
            }
            let errors = shared.path_errors.load(Ordering::Acquire);
            let report = shared.router_report();
            self.grow(
                index,
                now,
                errors,
                |way| &mut way.path_errors,
                |packets| (EventLocation::Path, EventDetail::IcmpErrors { packets, report }),
            );
            let untaken = shared.nobody.load(Ordering::Acquire);
            self.grow(
                index,
                now,
                untaken,
                |way| &mut way.nobody,
                |packets| {
                    (
                        EventLocation::Path,
                        EventDetail::PortUnreachable { packets, port: shared.target.port() },
                    )
                },
            );
            self.look_at_lengths(index, now, &shared);
            if drops_are_due {
                self.drops(index, &shared);
            }
        }
    }

    /// What this host's queues have dropped since the last look.
    pub(super) fn look_at_queues(&mut self) {
        let links = self.links.iter().filter(|link| link.tidings.index != 0);
        let used = links.map(|link| (link.tidings.index, link.name.clone())).collect();
        for (_, event) in self.host.queue_drops(&used) {
            self.dropped(None, event);
        }
    }

    /// What the path has returned as too long.
    fn look_at_lengths(&mut self, index: usize, now: Timestamp<Monotonic>, shared: &Shared) {
        let too_long = shared.too_long.load(Ordering::Acquire);
        let has_grown = too_long != self.ways[index].too_long.count;
        let mtu = shared.path_mtu.load(Ordering::Acquire);
        self.grow(
            index,
            now,
            too_long,
            |way| &mut way.too_long,
            |packets| {
                (EventLocation::Path, EventDetail::PacketTooBig { packets, target: shared.target.ip() })
            },
        );
        let place = self.ways[index].too_long.event;
        if let Some(event) = self.event(place).filter(|_| has_grown) {
            event.mtu = Some(mtu).filter(|mtu| *mtu > 0);
        }
    }

    fn drops(&mut self, index: usize, shared: &Shared) {
        for overflow in shared.overflows() {
            let one = overflow.event(EventLocation::Sender, self.host.start());
            self.overflowed(index, one);
        }
    }

    /// Brings the episode of a counter up to date.
    fn grow(
        &mut self,
        index: usize,
        now: Timestamp<Monotonic>,
        count: u64,
        episode: impl Fn(&mut WatchedPath) -> &mut Episode,
        say: impl Fn(u64) -> (EventLocation, EventDetail),
    ) {
        let own = episode(&mut self.ways[index]);
        if count == own.count {
            if own.last.is_some_and(|last| now - last > EPISODE) {
                own.event = None;
            }
            return;
        }
        let before = std::mem::replace(&mut own.count, count);
        own.last = Some(now);
        if own.event.is_none() {
            own.before = before;
        }
        let (place, of) = (own.event, count - own.before);
        let (location, detail) = say(of);
        let at = (now - self.host.start()).as_nanos();
        if let Some(event) = self.event(place) {
            event.detail = Some(detail);
            event.until_ns = Some(at);
        } else {
            let place = self.note(Some(index), detail, location);
            episode(&mut self.ways[index]).event = place;
        }
    }
}

/// Why so many probes to `target` were not sent, by the system's error number of the last; `mtu` is the longest packet that
/// this host knows to get there, where it was asked, and `handling` what it makes of the reports of routers.
fn not_sent(
    errno: i32,
    packets: u64,
    target: SocketAddr,
    mtu: Option<u32>,
    handling: Option<PacketTooBigHandling>,
) -> EventDetail {
    let unsent = Unsent { packets, replies: false };
    let address = target.ip();
    match errno {
        STOOD_STILL => EventDetail::TooLate { unsent, late_ns: TOO_LATE.as_nanos() },
        UNANSWERED => EventDetail::NextHopUnresolved { unsent, target: address },
        HostError::TOO_LONG => too_long(unsent, address, mtu, handling),
        HostError::NO_ROOM => EventDetail::InterfaceRefused { unsent, errno },
        _ => EventDetail::SystemRefused {
            unsent,
            target: address,
            link: link_of_zone(target).map(|link| link.name),
            errno,
            unusable_interfaces: unusable_interfaces(&std::io::Error::from_raw_os_error(errno)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of packets that a router returned is the host's limit only where the host sends no longer ones.
    #[test]
    fn host_limits_of_length() {
        let [v4, v6] = ["127.0.0.1:862", "[::1]:862"].map(|target| target.parse().unwrap());
        let is_limit = |target, mtu, handling| {
            let detail = not_sent(HostError::TOO_LONG, 2, target, Some(mtu), Some(handling));
            matches!(detail, EventDetail::TooLong { host_limit: true, .. })
        };
        let least = PacketTooBigHandling::Least(552);
        assert!(is_limit(v4, 552, least));
        assert!(!is_limit(v4, 1_300, least) && !is_limit(v6, 552, least));
        assert!(!is_limit(v4, 552, PacketTooBigHandling::Heeded));
    }
}
