//! What is counted of the probes of each stream that did not leave, or that the path, a queue or a socket dropped: an event for each
//! time in which a counter grows.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use romer_host::{HostError, host_info};
use romer_record::event::{EventKind, EventLocation};
use romer_units::{Duration, Monotonic, Timestamp};

use super::words::{nobody, path_error, path_refused, refusal, unsent};
use super::{DROPS, Episode, Happenings, WatchedPath};
use crate::stream::Shared;

/// An episode of refused probes is over when none was refused for so long.
const EPISODE: Duration = Duration::from_millis(500);

impl Happenings {
    pub(super) fn look_at_counters(&mut self, now: Timestamp<Monotonic>) {
        let drops_are_due = now >= self.next_drops;
        if drops_are_due {
            self.next_drops = now + DROPS;
            self.look_at_queues();
        }
        for index in 0..self.ways.len() {
            let shared = Arc::clone(&self.ways[index].shared);
            let (not_sent, why) =
                (shared.not_sent.load(Ordering::Acquire), shared.refusal.load(Ordering::Acquire));
            // What was refused for its length is longer than the kernel knows the path to take now.
            let is_for_length = why == HostError::TOO_LONG && not_sent != self.ways[index].not_sent.count;
            let known = is_for_length.then(|| host_info::route_to(shared.target).ok()).flatten();
            // By the time of this look the way may take more again.
            let least = self.ways[index].refused_over;
            let known = known.map(|route| least.map_or(route.mtu, |least| least.min(route.mtu)));
            self.ways[index].refused_over = known.or(least);
            let heard = known.and_then(|_| host_info::packet_too_big_handling().ok());
            self.grow(
                index,
                now,
                not_sent,
                |way| &mut way.not_sent,
                |count| {
                    let why = refusal(why, count, shared.target, known, heard);
                    (EventKind::NotSent, EventLocation::Sender, format!("{}: {why}", unsent(count)))
                },
            );
            let place = self.ways[index].not_sent.event;
            if let Some(event) = self.event(place).filter(|_| known.is_some()) {
                event.mtu = known;
            }
            let errors = shared.path_errors.load(Ordering::Acquire);
            let word = shared.router_word();
            self.grow(
                index,
                now,
                errors,
                |way| &mut way.path_errors,
                |count| (EventKind::PathError, EventLocation::Path, path_error(count, word)),
            );
            let untaken = shared.nobody.load(Ordering::Acquire);
            self.grow(
                index,
                now,
                untaken,
                |way| &mut way.nobody,
                |count| (EventKind::PathError, EventLocation::Path, nobody(count, shared.target)),
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
        for drops in self.queues.look(&used) {
            self.dropped(None, drops.event(EventLocation::Sender, self.start));
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
            |count| (EventKind::PathError, EventLocation::Path, path_refused(count, shared.target.ip(), mtu)),
        );
        let place = self.ways[index].too_long.event;
        if let Some(event) = self.event(place).filter(|_| has_grown) {
            event.mtu = Some(mtu).filter(|mtu| *mtu > 0);
        }
    }

    fn drops(&mut self, index: usize, shared: &Shared) {
        for overflow in shared.overflows() {
            let one = overflow.event(EventLocation::Sender, self.start);
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
        say: impl Fn(u64) -> (EventKind, EventLocation, String),
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
        let (kind, side, detail) = say(of);
        let at = (now - self.start).as_nanos();
        if let Some(event) = self.event(place) {
            event.detail = detail;
            event.until_ns = Some(at);
        } else {
            let place = self.note(Some(index), kind, side, detail);
            episode(&mut self.ways[index]).event = place;
        }
    }
}
