//! Receives one-way probes and finds the session of each by its source address, session number and tag.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};

use romer_session::sender::{OneWayReceiver, ReceivedProbe};
use romer_units::{Monotonic, Timestamp};
use romer_wire::oneway_probe;

use super::closed_sessions::ClosedSessions;

/// Sessions of one number whose keys are tried for a datagram at the most: those of its host, and the same of those of all hosts.
/// Each costs some hashes, and senders choose their numbers.
const MOST_TRIED: usize = 16;

/// The one-way sessions whose probes come here. A probe is known by its session's number and by its tag, which takes the
/// session's key to make. It comes from the host that holds the control conversation, from whatever port; and from any
/// other address as long as the conversation has not followed to there: a NAT on the way may have got another address,
/// and what arrives is not lost.
#[derive(Debug, Default)]
pub(super) struct OneWaySessions {
    by_number: HashMap<u16, Vec<u32>>,
    by_host: HashMap<(u16, IpAddr), Vec<u32>>,
    streams: HashMap<u32, OneWayStream>,
    ended: ClosedSessions,
    bad_tag: u64,
    /// How often a session's key was tried.
    tried: u64,
}

#[derive(Debug)]
struct OneWayStream {
    /// Who holds the control conversation.
    peer: IpAddr,
    number: u16,
    comings: OneWayReceiver,
    /// Datagrams of that host that were tried as its probes and are none.
    bad_tag: u64,
}

/// A probe with the session that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatchedProbe {
    /// Whose it is.
    pub(super) session: u32,
    /// Its number, and whether it is the first of that.
    pub(super) coming: ReceivedProbe,
    /// It came from another address than the session's.
    pub(super) elsewhere: bool,
}

impl OneWaySessions {
    /// Expects at the most `most` probes of `probes`, which is session `session` here, from `peer`.
    pub(super) fn expect(&mut self, session: u32, peer: IpAddr, probes: oneway_probe::Session, most: u64) {
        let (peer, number) = (peer.to_canonical(), probes.number);
        self.by_number.entry(number).or_default().push(session);
        self.by_host.entry((number, peer)).or_default().push(session);
        let comings = OneWayReceiver::new(probes, None, most);
        self.streams.insert(session, OneWayStream { peer, number, comings, bad_tag: 0 });
    }

    /// The probes of `session`, if any are expected, come from `peer` from now on.
    pub(super) fn follow(&mut self, session: u32, peer: IpAddr) {
        if let Some(stream) = self.streams.get_mut(&session) {
            let before = std::mem::replace(&mut stream.peer, peer.to_canonical());
            remove(&mut self.by_host, &(stream.number, before), session);
            self.by_host.entry((stream.number, stream.peer)).or_default().push(session);
        }
    }

    /// Expects no more of `session`, which has ended `now`. What comes of it all the same is known as its own for a while.
    pub(super) fn forget(&mut self, session: u32, now: Timestamp<Monotonic>) {
        if let Some(stream) = self.streams.remove(&session) {
            let (probes, latest) = stream.comings.session();
            self.ended.remember(probes, latest, now);
            remove(&mut self.by_number, &stream.number, session);
            remove(&mut self.by_host, &(stream.number, stream.peer), session);
        }
    }

    /// Whether what came `now`, and is no probe that is expected, is one of a session that has ended.
    pub(super) fn is_of_ended(&self, payload: &[u8], now: Timestamp<Monotonic>) -> bool {
        self.ended.has(payload, now)
    }

    /// How many datagrams named a session of their host and were none of its probes.
    pub(super) const fn bad_tag(&self) -> u64 {
        self.bad_tag
    }

    /// How many datagrams of its host were tried as probes of `session` and are none.
    pub(super) fn bad_tag_of(&self, session: u32) -> u64 {
        self.streams.get(&session).map_or(0, |stream| stream.bad_tag)
    }

    /// The probe that has arrived from `source`; `None` where it is none that is expected. `proved` gives the session that has proved
    /// `source` for a number, which is tried first. `known` says whether anything is taken from that address though no session is
    /// there.
    pub(super) fn take(
        &mut self,
        payload: &[u8],
        source: SocketAddr,
        proved: impl Fn(u16) -> Option<u32>,
        known: impl Fn(IpAddr) -> bool,
    ) -> Option<MatchedProbe> {
        if self.by_number.is_empty() {
            return None;
        }
        let number = oneway_probe::number_of(payload)?;
        let all = first_of(&self.by_number, &number);
        if all.is_empty() {
            return None;
        }
        let host = source.ip().to_canonical();
        let own = first_of(&self.by_host, &(number, host));
        let mut is_known = None;
        let others = all.iter().filter(|session| !own.contains(session));
        for session in proved(number).iter().chain(own).chain(others) {
            let Some(stream) = self.streams.get_mut(session) else { continue };
            let elsewhere = stream.peer != host;
            if elsewhere && !*is_known.get_or_insert_with(|| known(host)) {
                continue;
            }
            self.tried += 1;
            if let Ok(coming) = stream.comings.on_datagram(payload, source) {
                return Some(MatchedProbe { session: *session, coming, elsewhere });
            }
        }
        self.bad_tag += u64::from(!own.is_empty());
        for session in own {
            if let Some(stream) = self.streams.get_mut(session) {
                stream.bad_tag += 1;
            }
        }
        None
    }
}

/// The sessions that are tried of those at `key`.
fn first_of<'a, K: Eq + Hash>(sessions: &'a HashMap<K, Vec<u32>>, key: &K) -> &'a [u32] {
    let all = sessions.get(key).map_or(&[][..], Vec::as_slice);
    all.get(..MOST_TRIED).unwrap_or(all)
}

fn remove<K: Eq + Hash>(sessions: &mut HashMap<K, Vec<u32>>, key: &K, session: u32) {
    if let Some(at) = sessions.get_mut(key) {
        at.retain(|one| *one != session);
        if at.is_empty() {
            sessions.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(number: u16, key: u8) -> oneway_probe::Session {
        oneway_probe::Session {
            number,
            key: oneway_probe::Key::new([key; 16]),
            direction: romer_units::Direction::Forward,
        }
    }
    fn from(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn take(expected: &mut OneWaySessions, payload: &[u8], source: &str) -> Option<(u32, u64, bool, bool)> {
        let known = |host| host != from("192.0.2.66:1").ip();
        let taken = expected.take(payload, from(source), |_| None, known)?;
        Some((taken.session, taken.coming.sequence, taken.coming.first, taken.elsewhere))
    }

    /// A probe finds its session by number, key and host, whatever its port.
    #[test]
    fn ports_are_ignored() {
        let mut expected = OneWaySessions::default();
        let peer = from("192.0.2.1:1").ip();
        // Two senders behind one NAT may have drawn one number.
        expected.expect(4, peer, probes(7, 1), 100);
        expected.expect(5, peer, probes(7, 2), 100);
        let mut payload = [0; 14];
        probes(7, 2).emit(3, &mut payload);
        assert_eq!(take(&mut expected, &payload, "192.0.2.1:1000"), Some((5, 3, true, false)));
        assert_eq!(take(&mut expected, &payload, "[::ffff:192.0.2.1]:2000"), Some((5, 3, false, false)));
        probes(8, 2).emit(3, &mut payload);
        assert_eq!(take(&mut expected, &payload, "192.0.2.1:1000"), None, "another number");
        expected.follow(5, from("192.0.2.9:1").ip());
        probes(7, 2).emit(4, &mut payload);
        assert_eq!(take(&mut expected, &payload, "192.0.2.9:5"), Some((5, 4, true, false)), "it has moved");
        expected.follow(6, from("192.0.2.9:1").ip());
        let now = Timestamp::from_nanos(0);
        assert!(!expected.is_of_ended(&payload, now));
        expected.forget(5, now);
        assert!(expected.is_of_ended(&payload, now), "what still comes of it is no request");
        probes(7, 2).emit(3, &mut payload);
        let before = expected.bad_tag();
        assert_eq!(take(&mut expected, &payload, "192.0.2.1:1000"), None, "the key of the other one");
        assert_eq!(expected.bad_tag(), before + 1);
        assert_eq!([4, 5].map(|session| expected.bad_tag_of(session)), [1, 0]);
        assert_eq!(take(&mut expected, &payload, "192.0.2.9:1000"), None);
        probes(7, 1).emit(3, &mut payload);
        assert!(take(&mut expected, &payload, "192.0.2.1:1000").is_some());
    }

    /// A probe from another address belongs to the session whose key made its tag; all else is rejected.
    #[test]
    fn valid_tags_pass_from_other_addresses() {
        let mut expected = OneWaySessions::default();
        expected.expect(4, from("192.0.2.1:1").ip(), probes(7, 1), 100);
        let mut payload = [0; 44];
        probes(7, 1).emit(3, &mut payload);
        assert_eq!(take(&mut expected, &payload, "192.0.2.66:9"), None, "nothing is taken from there");
        assert_eq!(take(&mut expected, &payload, "192.0.2.77:9"), Some((4, 3, true, true)));
        assert_eq!(take(&mut expected, &payload, "192.0.2.77:9"), Some((4, 3, false, true)));
        assert_eq!(take(&mut expected, &payload, "192.0.2.1:9"), Some((4, 3, false, false)));
        // A stranger's request may begin with the number of a session: it names none of its host.
        probes(7, 9).emit(4, &mut payload);
        assert_eq!(take(&mut expected, &payload, "192.0.2.77:9"), None, "another key");
        probes(7, 1).emit(100, &mut payload);
        assert_eq!(take(&mut expected, &payload, "192.0.2.77:9"), None, "more than were granted");
        assert_eq!(expected.bad_tag(), 0);
    }

    /// A datagram costs at most 33 tries of keys, however many sessions of its number its host or others have. Any of them that has
    /// proved its address has its probes; so has one of another number.
    #[test]
    fn tries_of_a_datagram_are_bounded() {
        let mut expected = OneWaySessions::default();
        let [peer, other] = ["192.0.2.1:1", "192.0.2.2:1"].map(|text| from(text).ip());
        (0..1_000).for_each(|n| expected.expect(n, peer, probes(7, 1), 100));
        (1_000..2_000).for_each(|n| expected.expect(n, other, probes(7, 1), 100));
        expected.expect(2_000, peer, probes(7, 2), 100);
        expected.expect(2_001, peer, probes(8, 2), 100);
        let mut tries = |payload: &[u8], source: &str, proved: Option<u32>| {
            let before = expected.tried;
            let taken = expected.take(payload, from(source), |_| proved, |_| true);
            (taken.map(|taken| (taken.session, taken.elsewhere)), expected.tried - before)
        };
        let mut payload = [0; 44];
        probes(7, 3).emit(3, &mut payload);
        for source in ["192.0.2.1:9", "192.0.2.2:9", "192.0.2.3:9"] {
            for proved in [None, Some(5)] {
                let (taken, count) = tries(&payload, source, proved);
                assert!(taken.is_none() && count <= 33, "{source}, {proved:?}: {count}");
            }
        }
        probes(7, 2).emit(3, &mut payload);
        assert_eq!(tries(&payload, "192.0.2.1:9", Some(2_000)), (Some((2_000, false)), 1));
        assert_eq!(tries(&payload, "192.0.2.3:9", Some(2_000)), (Some((2_000, true)), 1));
        probes(8, 2).emit(3, &mut payload);
        assert_eq!(tries(&payload, "192.0.2.1:9", None), (Some((2_001, false)), 1));
        // What moves or ends is tried no more where it was.
        (0..1_000).for_each(|n| expected.follow(n, other));
        (1_000..2_000).for_each(|n| expected.forget(n, Timestamp::from_nanos(0)));
        assert_eq!((expected.by_host[&(7, peer)].len(), expected.by_number[&7].len()), (1, 1_001));
        (0..=2_001).for_each(|n| expected.forget(n, Timestamp::from_nanos(0)));
        assert!(expected.by_host.is_empty() && expected.by_number.is_empty());
    }
}
