//! One-way probes that arrive here: whose they are.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use romer_session::sender::{Coming, Comings};
use romer_units::{Monotonic, Timestamp};
use romer_wire::compact;

use super::ended::Ended;

/// Sessions of one number at the most that what comes from another host is held against: each costs some hashes, and
/// whoever opens sessions chooses their numbers.
const MOST_ELSEWHERE: usize = 16;

/// The one-way sessions whose probes come here. A probe is known by its session's number and by its tag, which takes the
/// session's key to make. It comes from the host that holds the control conversation, from whatever port; and from any
/// other address as long as the conversation has not followed to there: a NAT on the way may have got another address,
/// and what arrives is not lost.
#[derive(Debug, Default)]
pub(super) struct Expected {
    by_number: HashMap<u16, Vec<u32>>,
    streams: HashMap<u32, Stream>,
    ended: Ended,
    mistagged: u64,
}

#[derive(Debug)]
struct Stream {
    /// Who holds the control conversation.
    peer: IpAddr,
    comings: Comings,
    /// Datagrams of that host that named this session and were none of its probes.
    mistagged: u64,
}

/// A probe that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Whose it is.
    pub(super) session: u32,
    /// Its number, and whether it is the first of that.
    pub(super) coming: Coming,
    /// It came from another address than the session's.
    pub(super) elsewhere: bool,
}

impl Expected {
    /// Expects at the most `most` probes of `probes`, which is session `session` here, from `peer`.
    pub(super) fn expect(&mut self, session: u32, peer: IpAddr, probes: compact::Session, most: u64) {
        self.by_number.entry(probes.number).or_default().push(session);
        let comings = Comings::new(probes, None, most);
        let stream = Stream { peer: peer.to_canonical(), comings, mistagged: 0 };
        self.streams.insert(session, stream);
    }

    /// The probes of `session`, if any are expected, come from `peer` from now on.
    pub(super) fn follow(&mut self, session: u32, peer: IpAddr) {
        if let Some(stream) = self.streams.get_mut(&session) {
            stream.peer = peer.to_canonical();
        }
    }

    /// Expects no more of `session`, which has ended `now`. What comes of it all the same is known as its own for a while.
    pub(super) fn forget(&mut self, session: u32, now: Timestamp<Monotonic>) {
        if let Some(stream) = self.streams.remove(&session) {
            let (probes, latest) = stream.comings.session();
            self.ended.remember(probes, latest, now);
            self.by_number.retain(|_, sessions| {
                sessions.retain(|one| *one != session);
                !sessions.is_empty()
            });
        }
    }

    /// Whether what came `now`, and is no probe that is expected, is one of a session that has ended.
    pub(super) fn is_of_ended(&self, payload: &[u8], now: Timestamp<Monotonic>) -> bool {
        self.ended.has(payload, now)
    }

    /// How many datagrams named a session of their host and were none of its probes.
    pub(super) const fn mistagged(&self) -> u64 {
        self.mistagged
    }

    /// The same of the sessions of `session`'s number and host.
    pub(super) fn mistagged_of(&self, session: u32) -> u64 {
        self.streams.get(&session).map_or(0, |stream| stream.mistagged)
    }

    /// The probe that has arrived from `source`; `None` where it is none that is expected. `known` says whether anything is
    /// taken from that address though no session is there.
    pub(super) fn take(
        &mut self,
        payload: &[u8],
        source: SocketAddr,
        known: impl Fn(IpAddr) -> bool,
    ) -> Option<Taken> {
        if self.by_number.is_empty() {
            return None;
        }
        let sessions = self.by_number.get(&compact::number_of(payload)?)?;
        let host = source.ip().to_canonical();
        let mut named = false;
        for session in sessions {
            let Some(stream) = self.streams.get_mut(session).filter(|stream| stream.peer == host) else {
                continue;
            };
            named = true;
            if let Ok(coming) = stream.comings.on_datagram(payload, source) {
                return Some(Taken { session: *session, coming, elsewhere: false });
            }
        }
        let mut tries = if known(host) { MOST_ELSEWHERE } else { 0 };
        for session in sessions {
            let Some(stream) = self.streams.get_mut(session).filter(|stream| stream.peer != host) else {
                continue;
            };
            if tries == 0 {
                break;
            }
            tries -= 1;
            if let Ok(coming) = stream.comings.on_datagram(payload, source) {
                return Some(Taken { session: *session, coming, elsewhere: true });
            }
        }
        if named {
            self.mistagged += 1;
            for session in sessions {
                if let Some(stream) = self.streams.get_mut(session).filter(|stream| stream.peer == host) {
                    stream.mistagged += 1;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(number: u16, key: u8) -> compact::Session {
        compact::Session { number, key: compact::Key::new([key; 16]), heading: compact::Heading::Forward }
    }
    fn from(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn take(expected: &mut Expected, payload: &[u8], source: &str) -> Option<(u32, u64, bool, bool)> {
        let taken = expected.take(payload, from(source), |host| host != from("192.0.2.66:1").ip())?;
        Some((taken.session, taken.coming.sequence, taken.coming.first, taken.elsewhere))
    }

    #[test]
    fn a_probe_finds_its_session_by_number_key_and_host_whatever_its_port() {
        let mut expected = Expected::default();
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
        let before = expected.mistagged();
        assert_eq!(take(&mut expected, &payload, "192.0.2.1:1000"), None, "the key of the other one");
        assert_eq!(expected.mistagged(), before + 1);
        assert_eq!([4, 5].map(|session| expected.mistagged_of(session)), [1, 0]);
        assert_eq!(take(&mut expected, &payload, "192.0.2.9:1000"), None);
        probes(7, 1).emit(3, &mut payload);
        assert!(take(&mut expected, &payload, "192.0.2.1:1000").is_some());
    }

    #[test]
    fn a_probe_that_comes_from_elsewhere_is_its_sessions_if_the_key_made_it_and_nothing_else_is() {
        let mut expected = Expected::default();
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
        assert_eq!(expected.mistagged(), 0);
        // Whoever opens very many sessions of one number does not have each datagram held against all of them.
        let mut crowded = Expected::default();
        (0..100).for_each(|n| crowded.expect(n, from("192.0.2.1:1").ip(), probes(7, 1), 100));
        crowded.expect(200, from("192.0.2.1:1").ip(), probes(7, 2), 100);
        probes(7, 2).emit(3, &mut payload);
        assert_eq!(take(&mut crowded, &payload, "192.0.2.77:9"), None);
        assert_eq!(take(&mut crowded, &payload, "192.0.2.1:9"), Some((200, 3, true, false)));
    }
}
