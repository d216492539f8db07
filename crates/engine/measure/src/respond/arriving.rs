//! One-way probes that arrive here: whose they are.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use romer_session::sender::{Coming, Comings};
use romer_wire::compact;

/// The one-way sessions whose probes come here. A probe is known by its session's number and tag and by the address that
/// holds the control conversation; its port may change on the way, where a NAT forgets its mapping.
#[derive(Debug, Default)]
pub(super) struct Expected {
    by_number: HashMap<(IpAddr, u16), Vec<u32>>,
    streams: HashMap<u32, Stream>,
    mistagged: u64,
}

#[derive(Debug)]
struct Stream {
    number: u16,
    comings: Comings,
}

impl Expected {
    /// Expects at the most `most` probes of `probes`, which is session `session` here, from `peer`.
    pub(super) fn expect(&mut self, session: u32, peer: IpAddr, probes: compact::Session, most: u64) {
        let place = self.by_number.entry((peer.to_canonical(), probes.number)).or_default();
        place.push(session);
        let stream = Stream { number: probes.number, comings: Comings::new(probes, None, most) };
        self.streams.insert(session, stream);
    }

    /// The probes of `session`, if any are expected, come from `peer` from now on.
    pub(super) fn follow(&mut self, session: u32, peer: IpAddr) {
        if let Some(stream) = self.streams.get(&session) {
            let number = stream.number;
            self.forget_place(session);
            self.by_number.entry((peer.to_canonical(), number)).or_default().push(session);
        }
    }

    /// Expects no more of `session`.
    pub(super) fn forget(&mut self, session: u32) {
        if self.streams.remove(&session).is_some() {
            self.forget_place(session);
        }
    }

    fn forget_place(&mut self, session: u32) {
        self.by_number.retain(|_, sessions| {
            sessions.retain(|one| *one != session);
            !sessions.is_empty()
        });
    }

    /// How many datagrams named a session of their host and were none of its probes.
    pub(super) const fn mistagged(&self) -> u64 {
        self.mistagged
    }

    /// The session and the number of the probe that has arrived; `None` where it is none that is expected.
    pub(super) fn take(&mut self, payload: &[u8], source: SocketAddr) -> Option<(u32, Coming)> {
        if self.by_number.is_empty() {
            return None;
        }
        let number = compact::number_of(payload)?;
        let sessions = self.by_number.get(&(source.ip().to_canonical(), number))?;
        let taken = sessions.iter().find_map(|session| {
            let coming = self.streams.get_mut(session)?.comings.on_datagram(payload, source).ok()?;
            Some((*session, coming))
        });
        self.mistagged += u64::from(taken.is_none());
        taken
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

    #[test]
    fn a_probe_finds_its_session_by_number_key_and_host_whatever_its_port() {
        let mut expected = Expected::default();
        let peer = from("192.0.2.1:1").ip();
        // Two senders behind one NAT may have drawn one number.
        expected.expect(4, peer, probes(7, 1), 100);
        expected.expect(5, peer, probes(7, 2), 100);
        let mut payload = [0; 14];
        probes(7, 2).emit(3, &mut payload);
        let coming = Coming { sequence: 3, first: true };
        assert_eq!(expected.take(&payload, from("192.0.2.1:1000")), Some((5, coming)));
        let again = Coming { sequence: 3, first: false };
        assert_eq!(expected.take(&payload, from("[::ffff:192.0.2.1]:2000")), Some((5, again)));
        assert_eq!(expected.take(&payload, from("192.0.2.2:1000")), None, "another host");
        probes(8, 2).emit(3, &mut payload);
        assert_eq!(expected.take(&payload, from("192.0.2.1:1000")), None, "another number");
        expected.follow(5, from("192.0.2.9:1").ip());
        probes(7, 2).emit(4, &mut payload);
        assert_eq!(expected.take(&payload, from("192.0.2.1:1000")), None, "it has moved");
        let moved = Coming { sequence: 4, first: true };
        assert_eq!(expected.take(&payload, from("192.0.2.9:5")), Some((5, moved)));
        expected.follow(6, from("192.0.2.9:1").ip());
        expected.forget(5);
        probes(7, 2).emit(3, &mut payload);
        let before = expected.mistagged();
        assert_eq!(expected.take(&payload, from("192.0.2.1:1000")), None, "the key of the other one");
        assert_eq!(expected.mistagged(), before + 1);
        assert_eq!(expected.take(&payload, from("192.0.2.9:1000")), None);
        probes(7, 1).emit(3, &mut payload);
        assert!(expected.take(&payload, from("192.0.2.1:1000")).is_some());
    }
}
