//! Singletons made by hand and at random.

use proptest::prelude::*;
use romer_record::{Fate, OneWaySingleton};
use romer_units::{Duration, Timestamp};

/// A packet that left and arrived at these nanoseconds of one clock.
pub(crate) fn arrived(sequence: u64, departure: i64, arrival: i64) -> OneWaySingleton {
    OneWaySingleton {
        sequence,
        copy: 0,
        size: 44,
        fate: Fate::Arrived,
        departure: Some(Timestamp::from_nanos(departure)),
        arrival: Some(Timestamp::from_nanos(arrival)),
        delay: Some(Duration::from_nanos(arrival - departure)),
        ttl: Some(64),
        tos: Some(184),
        leaving: romer_record::Leaving::after(Duration::from_nanos(5)),
    }
}

/// A packet that left and met `fate` instead of arriving.
pub(crate) fn gone(sequence: u64, departure: i64, fate: Fate) -> OneWaySingleton {
    OneWaySingleton {
        fate,
        arrival: None,
        delay: None,
        ttl: None,
        tos: None,
        ..arrived(sequence, departure, departure)
    }
}

/// Packets every millisecond with delays up to 5 ms, so that they are reordered; each is lost, late, duplicated,
/// not stamped or of unknown fate with some probability.
pub(crate) fn singletons() -> impl Strategy<Value = Vec<OneWaySingleton>> {
    let packet = (0_i64..5_000_000, 0_u8..100, any::<u8>(), 0_u8..4);
    prop::collection::vec(packet, 0..80).prop_map(|packets| {
        let mut all = Vec::new();
        for ((delay, chance, octet, copies), sequence) in packets.into_iter().zip(0_u64..) {
            let departure = i64::try_from(sequence).expect("a small number") * 1_000_000;
            let mut packet = arrived(sequence, departure, departure + delay);
            packet.ttl = (octet > 20).then_some(octet % 3 + 60);
            packet.tos = (octet > 10).then_some(octet);
            match chance {
                0..10 => packet = gone(sequence, departure, Fate::Lost),
                10..13 => packet.fate = Fate::Late,
                13..16 => packet = gone(sequence, departure, Fate::Unknown),
                16..20 => packet = OneWaySingleton { arrival: None, delay: None, ..packet },
                _ => {}
            }
            all.push(packet);
            if packet.fate == Fate::Arrived && chance > 80 {
                for copy in 1..=u32::from(copies) {
                    let arrival = packet.arrival.map(|first| first + Duration::from_micros(i64::from(copy)));
                    all.push(OneWaySingleton { copy, arrival, ..packet });
                }
            }
        }
        all
    })
}
