//! What is remembered of sessions, in a table of fixed size.
//!
//! A session is named by the addresses and ports of both ends and its identifier. Its place is found with a keyed hash
//! in a set of [`WAYS`]. A new session takes a place that nobody has, and else that of the session of its set that has
//! been silent longest, if that is [`SILENCE`] or more: who is measuring is never pushed out. Where no such place is,
//! the session goes without; but one whose address the control channel has proved takes the place of one that is not
//! proved, so that nobody who floods the table shuts it out.
//!
//! A [`ClientNetwork`] has at most [`SHARE`] places: with all of these it takes those of its own that have been silent, or goes without. They are
//! counted by a keyed hash in a fixed number of counters, so that a network may share one with another. Proved sessions are counted
//! and never refused: the control channel bounds them.

use core::hash::{Hash, Hasher};
use core::net::SocketAddr;

use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::stamp::tlv::FollowUp;
use siphasher::sip::SipHasher13;

use super::window::Window;
use crate::network::ClientNetwork;

/// Places of the table.
pub const PLACES: usize = 16_384;
/// Places of a set.
const WAYS: usize = 8;
/// Places of one network.
const SHARE: u16 = 4_096;
/// Counters of the places of networks.
const COUNTERS: usize = 4_096;
/// A session that has been silent for so long may lose its place to another.
pub const SILENCE: Duration = Duration::from_secs(10);

/// What tells a session from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) ssid: u16,
}

/// What is remembered of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionState {
    /// Requests received, this one included; wraps.
    pub(super) received: u32,
    /// Replies sent, and so the number of the next in the stateful mode; wraps.
    pub(super) transmitted: u32,
    /// Which authenticated requests have come.
    pub(super) window: Window,
    /// The last reply whose true departure is known.
    pub(super) follow_up: Option<FollowUp>,
}

impl SessionState {
    const NEW: Self = Self { received: 0, transmitted: 0, window: Window::EMPTY, follow_up: None };
}

#[derive(Clone, Copy)]
struct TableSlot {
    name: Option<Name>,
    used: Timestamp<Monotonic>,
    /// The control channel had proved its address when it was last heard of.
    proved: bool,
    /// Counts the sessions that have had this place.
    generation: u32,
    state: SessionState,
}

/// Where a session is remembered. It outlives the session, whose place may by then be another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSlotKey {
    place: usize,
    generation: u32,
}

/// A place for a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionSlot {
    pub(super) held: SessionSlotKey,
    /// Another session has lost it.
    pub(super) evicted: bool,
}

/// The table.
pub(super) struct Table {
    secret: (u64, u64),
    places: Box<[TableSlot]>,
    /// Places of the networks that share a counter.
    counters: Box<[u16]>,
}

impl core::fmt::Debug for Table {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The secret stays one, also in a log.
        f.debug_struct("Table").field("places", &self.places.len()).finish_non_exhaustive()
    }
}

impl Table {
    /// An empty table. All memory is taken here.
    pub(super) fn new(secret: (u64, u64)) -> Self {
        let empty = TableSlot {
            name: None,
            used: Timestamp::from_nanos(0),
            proved: false,
            generation: 0,
            state: SessionState::NEW,
        };
        Self { secret, places: vec![empty; PLACES].into(), counters: vec![0; COUNTERS].into() }
    }

    /// Places that are taken.
    pub(super) fn taken(&self) -> usize {
        self.places.iter().filter(|place| place.name.is_some()).count()
    }

    /// The first place of a session's set.
    fn first(&self, name: Name) -> usize {
        let mut hasher = SipHasher13::new_with_keys(self.secret.0, self.secret.1);
        name.hash(&mut hasher);
        let sets = PLACES / WAYS;
        let set = usize::try_from(hasher.finish() % u64::try_from(sets).unwrap_or(1)).unwrap_or(0);
        set * WAYS
    }

    /// The counter of a session's network.
    fn counter(&self, name: Name) -> usize {
        let mut hasher = SipHasher13::new_with_keys(self.secret.1, self.secret.0);
        ClientNetwork::from_address(name.source.ip()).hash(&mut hasher);
        let counter = hasher.finish() % u64::try_from(COUNTERS).unwrap_or(1);
        usize::try_from(counter).unwrap_or(0)
    }

    /// Whether a session has a place.
    pub(super) fn has(&self, name: Name) -> bool {
        let first = self.first(name);
        self.places[first..first + WAYS].iter().any(|place| place.name == Some(name))
    }

    /// The place of a session, whose address is `proved` or not; `None` where it has none and can have none.
    pub(super) fn find(
        &mut self,
        name: Name,
        proved: bool,
        now: Timestamp<Monotonic>,
    ) -> Option<SessionSlot> {
        let first = self.first(name);
        let ways = &self.places[first..first + WAYS];
        let found = |way: usize, place: &TableSlot, evicted| {
            Some(SessionSlot {
                held: SessionSlotKey { place: first + way, generation: place.generation },
                evicted,
            })
        };
        if let Some(way) = ways.iter().position(|place| place.name == Some(name)) {
            let place = &mut self.places[first + way];
            place.proved = proved;
            return found(way, place, false);
        }
        let counter = self.counter(name);
        let has_all = !proved && self.counters[counter] >= SHARE;
        // One that nobody has comes before any other.
        let age = |place: &TableSlot| place.name.map(|_| place.used);
        let is_free = |place: &TableSlot| place.name.is_none() || now - place.used >= SILENCE;
        let is_own = |place: &TableSlot| place.name.is_some_and(|other| self.counter(other) == counter);
        let may_go =
            |place: &TableSlot| (is_free(place) && (!has_all || is_own(place))) || (proved && !place.proved);
        let (way, _) = ways
            .iter()
            .enumerate()
            .filter(|(_, place)| may_go(place))
            .min_by_key(|(_, place)| (!is_free(place), age(place)))?;
        let before = self.places[first + way].name;
        if let Some(before) = before {
            let counter = self.counter(before);
            self.counters[counter] -= 1;
        }
        self.counters[counter] += 1;
        let evicted = before.is_some();
        let place = &mut self.places[first + way];
        let generation = place.generation.wrapping_add(1);
        *place = TableSlot { name: Some(name), used: now, proved, generation, state: SessionState::NEW };
        found(way, place, evicted)
    }

    /// What is remembered there, if it is still the same session's; it counts as heard of `now`.
    pub(super) fn state(&mut self, held: SessionSlotKey) -> Option<&mut SessionState> {
        let place = self.places.get_mut(held.place)?;
        (place.generation == held.generation).then_some(&mut place.state)
    }

    /// The session there was heard of.
    pub(super) fn touch(&mut self, held: SessionSlotKey, now: Timestamp<Monotonic>) {
        if let Some(place) = self.places.get_mut(held.place) {
            place.used = place.used.max(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::IpAddr;
    use std::collections::HashSet;

    fn at(nanos: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(nanos)
    }
    fn name(port: u16, ssid: u16) -> Name {
        Name {
            // Of many networks.
            source: SocketAddr::new([192, 0, u8::try_from(port % 64).unwrap(), 1].into(), port),
            destination: "203.0.113.2:862".parse().unwrap(),
            ssid,
        }
    }

    #[test]
    fn a_session_finds_its_place_again_and_no_other_has_it() {
        let mut table = Table::new((1, 2));
        let mut held = HashSet::new();
        for port in 1..1_000 {
            let found = table.find(name(port, 7), false, at(0)).unwrap();
            assert!(!found.evicted && held.insert(found.held.place), "{port}");
        }
        for port in 1..1_000 {
            let again = table.find(name(port, 7), false, at(1)).unwrap();
            assert!(held.contains(&again.held.place) && again.held.generation == 1, "{port}");
        }
        assert_eq!(table.taken(), 999);
    }

    /// A flood of sessions evicts no active session, and none early.
    #[test]
    fn session_floods_evict_no_active_session() {
        let mut table = Table::new((3, 4));
        let ours = table.find(name(5_000, 1), false, at(0)).unwrap().held;
        table.state(ours).unwrap().received = 42;
        let mut refused = 0;
        for number in 0..200_000u32 {
            let port = u16::try_from(number % 60_000 + 1).unwrap();
            let ssid = u16::try_from(number / 60_000 + 2).unwrap();
            refused += u32::from(table.find(name(port, ssid), false, at(1)).is_none());
        }
        assert!(table.taken() <= PLACES && refused > 150_000, "{refused}");
        assert_eq!(table.state(ours).map(|state| state.received), Some(42));

        // A silence later all but the one that was heard of may go.
        table.touch(ours, at(0) + SILENCE);
        for number in 0..60_000u16 {
            table.find(name(number, 9), false, at(2) + SILENCE);
        }
        assert_eq!(table.state(ours).map(|state| state.received), Some(42));
    }

    #[test]
    fn who_is_proved_is_never_shut_out_and_never_pushed_out_by_a_flood() {
        let mut table = Table::new((8, 9));
        for number in 0..120_000u32 {
            let port = u16::try_from(number % 60_000 + 1).unwrap();
            table.find(name(port, u16::try_from(number / 60_000).unwrap()), false, at(0));
        }
        assert_eq!(table.taken(), PLACES);
        let held: Vec<SessionSlotKey> =
            (1..500).map(|port| table.find(name(port, 900), true, at(1)).unwrap().held).collect();
        for port in 1..60_000 {
            table.find(name(port, 901), false, at(2));
        }
        assert!(held.iter().all(|held| table.state(*held).is_some()));
    }

    /// The addresses of one /64 take no more than the share of a network, also after a silence; others still find places.
    #[test]
    fn a_network_has_its_share() {
        let mut table = Table::new((10, 11));
        let of = |number: u128| Name {
            source: SocketAddr::new(IpAddr::V6(((0x2001_0db8 << 96) | number).into()), 9_000),
            ..name(1, 1)
        };
        for begin in [at(0), at(0) + SILENCE] {
            for number in 0..60_000 {
                table.find(of(number), false, begin);
            }
            assert_eq!(table.taken(), usize::from(SHARE));
        }
        let now = at(1) + SILENCE;
        // A set may be full all the same.
        let placed = (1..1_000).filter(|port| table.find(name(*port, 3), false, now).is_some()).count();
        assert!(placed > 980, "{placed} of 999");
        assert!((0..100).all(|number| table.find(of(1 << 40 | number), true, now).is_some()), "proved");
    }

    #[test]
    fn what_was_held_of_a_session_that_is_gone_is_not_anothers() {
        let mut table = Table::new((5, 6));
        let old: Vec<SessionSlotKey> =
            (1..60_000).filter_map(|port| Some(table.find(name(port, 1), false, at(0))?.held)).collect();
        assert_eq!(old.len(), PLACES);
        let mut evicted = 0;
        for port in 1..60_000 {
            evicted += usize::from(
                table.find(name(port, 2), false, at(0) + SILENCE).is_some_and(|found| found.evicted),
            );
        }
        assert_eq!(evicted, PLACES);
        assert!(old.iter().all(|held| table.state(*held).is_none()));
    }
}
