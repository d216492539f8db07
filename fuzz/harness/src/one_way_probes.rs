//! What the receiving end of a one-way stream makes of datagrams that come to its port.

use core::net::{Ipv4Addr, SocketAddr};

use romer_session::sender::OneWayReceiver;
use romer_units::Direction;
use romer_wire::oneway_probe::{Key, SHORTEST, Session};

use crate::Seed;
use crate::script::Script;

/// Probes that may come.
const MAX_PROBES: u64 = 1 << 26;

fn session() -> Session {
    Session { number: 0x1234, key: Key::new([0x6b; 16]), direction: Direction::Forward }
}

fn source() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 862))
}

pub(crate) fn run(octets: &[u8]) {
    let mut script = Script::new(octets);
    let mut comings = OneWayReceiver::new(session(), Some(source()), MAX_PROBES);
    let mut datagrams = 0;
    // Each datagram: how it came, its length, its payload; or a true probe, by its number.
    while let Some(how) = script.octet() {
        let from = if how & 1 != 0 { script.address() } else { source() };
        let length = usize::from(script.octet().unwrap_or(0));
        datagrams += 1;
        if how & 2 == 0 {
            if let Ok(coming) = comings.on_datagram(script.take(length), from) {
                // Only who knows the key makes one.
                let mut own = vec![0; length];
                assert!(
                    from == source()
                        && coming.sequence < MAX_PROBES
                        && session().emit(coming.sequence, &mut own)
                );
            }
            continue;
        }
        let sequence = u64::from(script.word()) << 16 | u64::from(script.word());
        let mut payload = vec![0xff; length.max(SHORTEST)];
        assert!(session().emit(sequence, &mut payload));
        let before = comings.distinct();
        if let Ok(coming) = comings.on_datagram(&payload, from) {
            assert_eq!(coming.sequence, sequence, "a probe was taken for another");
            assert!(from == source() && sequence < MAX_PROBES);
            assert_eq!(comings.distinct() - before, u64::from(coming.first));
            // The same once more is a copy of it.
            datagrams += 1;
            assert_eq!(comings.on_datagram(&payload, from).map(|again| again.first), Ok(false));
        }
    }
    assert_eq!(comings.distinct() + comings.copies() + comings.rejected().total(), datagrams);
}

/// A true probe in a script.
fn probe(sequence: u32, length: u8) -> Vec<u8> {
    [vec![2, length], sequence.to_be_bytes().to_vec()].concat()
}

/// These octets in a script.
fn datagram(how: u8, payload: &[u8]) -> Vec<u8> {
    let from = if how & 1 != 0 { vec![0, 7, 3, 0x5e] } else { vec![] };
    [vec![how], from, vec![u8::try_from(payload.len()).unwrap_or(u8::MAX)], payload.to_vec()].concat()
}

pub(crate) fn seeds() -> Vec<Seed> {
    let written = |session: Session, sequence| {
        let mut payload = vec![0; 14];
        assert!(session.emit(sequence, &mut payload));
        payload
    };
    let own = written(session(), 5);
    let other_key = Session { key: Key::new([1; 16]), ..session() };
    let other_way = Session { direction: Direction::Reverse, ..session() };
    vec![
        Seed::new("empty", []),
        Seed::new("first", probe(0, 14)),
        Seed::new("shortest", probe(1, 9)),
        Seed::new("as_octets", datagram(0, &own)),
        Seed::new("too_short", datagram(0, &own[..8])),
        Seed::new("longer_than_its_tag_says", datagram(0, &[&own[..], &[0]].concat())),
        Seed::new("another_session", datagram(0, &written(Session { number: 9, ..session() }, 5))),
        Seed::new("another_key", datagram(0, &written(other_key, 5))),
        Seed::new("the_other_way", datagram(0, &written(other_way, 5))),
        Seed::new("from_elsewhere", datagram(1, &own)),
        Seed::new("out_of_order", [probe(9, 44), probe(3, 44), probe(7, 44)].concat()),
        Seed::new(
            "over_an_era",
            [probe(0xff_fffe, 14), probe(0x100_0001, 14), probe(0xff_ffff, 14)].concat(),
        ),
        Seed::new("beyond_what_is_remembered", [probe(70_000, 14), probe(1, 14)].concat()),
        Seed::new("never_to_be_sent", probe(u32::MAX, 14)),
        Seed::new("too_far_ahead", [probe(0, 14), probe(0x3ff_ffff, 14)].concat()),
    ]
}
