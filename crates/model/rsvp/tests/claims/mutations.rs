//! Octets that are no message.

use proptest::prelude::*;
use romer_rsvp::object::class;
use romer_rsvp::{Arrival, End, Packet, Receiver, Router, Sender};

use crate::common::{
    BANDWIDTH, PORT, SEED, at, objects, receiver_config, router_config, sealed, sender_config, with_objects,
};
use crate::vectors::{VECTORS, octets};

/// Objects whose content readers of these messages ignore (RFC 2205 sections 3.1.5 to 3.1.8).
fn is_ignored(name: &str, number: u8) -> bool {
    match name {
        "pathtear" => number == class::SENDER_TSPEC,
        "resvtear" | "resverr_admission" => number == class::FLOWSPEC,
        _ => false,
    }
}

/// Every object of every vector, shortened or lengthened by whole words, is refused.
#[test]
fn objects_have_their_lengths() {
    for (name, hex) in VECTORS {
        let good = octets(hex);
        let all = objects(&good);
        for (index, (number, object)) in all.iter().enumerate() {
            let lengths = (4..object.len()).step_by(4).chain([object.len() + 4]);
            for length in lengths {
                let mut changed = all.clone();
                let octets = &mut changed[index].1;
                octets.resize(length, 0);
                octets[..2].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
                let parsed = Packet::parse(&with_objects(&good, &changed));
                assert_eq!(parsed.is_ok(), is_ignored(name, *number), "{name}, class {number}, {length}");
            }
        }
    }
}

/// A message that is cut off, and each stated length of an object that does not fit, is refused.
#[test]
fn cut_messages_are_refused() {
    for (name, hex) in VECTORS {
        let good = octets(hex);
        for length in 0..good.len() {
            let parsed = Packet::parse(&sealed(good[..length].to_vec()));
            // Whole objects may be missing at the end only where the message can do without them.
            let whole = ["resverr_admission", "path", "pathtear"].contains(&name);
            assert!(parsed.is_err() || whole, "{name}, {length} octets");
        }
        for stated in [0_u8, 1, 2, 3, 5, 6, 7, 9, 255] {
            let mut bad = good.clone();
            bad[9] = stated;
            assert!(Packet::parse(&sealed(bad)).is_err(), "{name}, {stated}");
        }
    }
}

/// Each object that a message needs is needed once, and classes of other messages are refused.
#[test]
fn objects_occur_where_they_belong() {
    for (name, hex) in VECTORS {
        let good = octets(hex);
        let all = objects(&good);
        for (index, (number, object)) in all.iter().enumerate() {
            let optional = [class::ADSPEC, class::RESV_CONFIRM].contains(number) && name != "resvconf";
            let mut without = all.clone();
            without.remove(index);
            let parsed = Packet::parse(&with_objects(&good, &without));
            // An error needs no flow descriptor, but no half of one.
            let optional = optional || is_ignored(name, *number);
            assert_eq!(parsed.is_ok(), optional, "{name} without class {number}");
            let mut twice = all.clone();
            twice.insert(index, (*number, object.clone()));
            assert!(
                Packet::parse(&with_objects(&good, &twice)).is_err() || *number == class::FILTER_SPEC,
                "{name} twice {number}"
            );
        }
        let foreign = if name.starts_with("path") { class::STYLE } else { class::ADSPEC };
        let mut mixed = all.clone();
        mixed.insert(1, (foreign, vec![0, 8, foreign, 1, 0, 0, 0, 10]));
        assert!(Packet::parse(&with_objects(&good, &mixed)).is_err(), "{name} with class {foreign}");
    }
}

/// What is read can be sent, and is read again as the same.
fn check(octets: &[u8]) {
    if let Ok(packet) = Packet::parse(octets) {
        let emitted = packet.emit().unwrap();
        assert_eq!(Packet::parse(&emitted).as_ref(), Ok(&packet));
        assert_eq!(packet.emit().unwrap(), emitted);
    }
}

/// All machines accept any octets, before and after a flow exists.
fn feed(octets: &[u8]) {
    let (mut sender, _) = Sender::start(sender_config(PORT), SEED, at(0.0)).unwrap();
    let mut receiver = Receiver::start(receiver_config(), SEED, at(0.0)).unwrap();
    let mut router = Router::new(router_config(f64::from(BANDWIDTH)), SEED).unwrap();
    let known = [0, 3].map(|index| crate::vectors::octets(VECTORS[index].1));
    for (second, octets) in [octets, &known[0], octets, &known[1], octets].into_iter().enumerate() {
        let now = at(f64::from(u32::try_from(second).unwrap()));
        for interface in 0..2 {
            let arrival = Arrival { interface, ttl: 255, octets };
            let _ = router.receive(&arrival, now);
        }
        let arrival = Arrival { interface: 0, ttl: 255, octets };
        let _ = (sender.receive(&arrival, now), receiver.receive(&arrival, now));
    }
    let all = at(1e7);
    let _ = (sender.expire(all), receiver.expire(all), router.expire(all));
    assert_eq!((router.paths().count(), router.reservations().count()), (0, 0));
}

proptest! {
    #[test]
    fn any_octets_are_accepted(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&octets);
        let mut octets = octets;
        if let Some(first) = octets.first_mut() {
            *first = 0x10;
        }
        let octets = sealed(octets);
        check(&octets);
        feed(&octets);
    }

    #[test]
    fn mutated_messages_are_accepted(
        vector in 0..VECTORS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut octets = octets(VECTORS[vector].1);
        for (place, octet) in changes {
            let place = place.index(octets.len());
            octets[place] = octet;
        }
        if let Some(cut) = cut {
            octets.truncate(cut.index(octets.len()));
        }
        let octets = sealed(octets);
        check(&octets);
        feed(&octets);
    }

    #[test]
    fn reordered_objects_are_accepted(
        vector in 0..VECTORS.len(),
        swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
        foreign in 0..VECTORS.len(),
    ) {
        let good = octets(VECTORS[vector].1);
        let mut all = objects(&good);
        let others = objects(&octets(VECTORS[foreign].1));
        for (here, there) in swaps {
            let (first, second) = (here.index(all.len()), there.index(all.len()));
            all.swap(first, second);
            let other = others[there.index(others.len())].clone();
            all.insert(first, other);
        }
        let octets = with_objects(&good, &all);
        check(&octets);
        feed(&octets);
    }
}
