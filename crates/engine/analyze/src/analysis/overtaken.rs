//! Packets in a row that are out of order because all delays fall at once after them, in a file of one direction: the way became shorter,
//! or the receiver's clock was set back. Where neither what is told of the clocks nor a finding says so, the figures would stand there
//! without it.

use romer_record::OneWaySingleton;
use romer_record::document::Measurement;
use romer_record::finding::Pattern;
use romer_record::warning::MeasurementWarning;

/// So many in a row are not by chance, all of them overtaken by one packet after which delays stay as low.
const MIN_OVERTAKEN_PACKETS: usize = 8;
/// Packets on either side that say by how much delays fall, at the most.
const NEIGHBOUR_PACKETS: usize = 50;
/// What is told of a fall lies no further from it, nanoseconds.
const NEAR_NS: u64 = 2_000_000_000;

/// Where delays fall at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fall {
    /// When the first packet after it left, nanoseconds after the first of all.
    at_ns: i64,
    /// By how much.
    by_ns: i64,
    /// Packets before it that are out of order by it.
    packets: usize,
}

/// That packets are out of order by a fall of all delays, for each such fall which the document does not tell otherwise.
pub(super) fn warnings(forward: &[OneWaySingleton], m: &Measurement) -> Vec<MeasurementWarning> {
    falls(forward).into_iter().filter(|fall| !is_told(m, fall)).map(warning).collect()
}

fn warning(fall: Fall) -> MeasurementWarning {
    /// Its moment is told to a hundredth of a second.
    const MOMENT_NS: i64 = 10_000_000;
    MeasurementWarning::DelayDropReorders {
        at_ns: (fall.at_ns + MOMENT_NS / 2) / MOMENT_NS * MOMENT_NS,
        drop_ns: fall.by_ns,
        packets: fall.packets as u64,
    }
}

fn is_told(m: &Measurement, fall: &Fall) -> bool {
    let near = |at_ns: i64| at_ns.abs_diff(fall.at_ns) <= NEAR_NS;
    let is_fall = |size_ns: f64| size_ns < 0.0;
    #[expect(clippy::cast_precision_loss, reason = "its sign is asked")]
    let by_event = m
        .clock
        .events
        .iter()
        .any(|event| near(event.at_ns) && event.size_ns.is_none_or(|size| is_fall(size as f64)));
    by_event
        || m.findings.iter().any(|finding| {
            let step = matches!(finding.pattern, Pattern::DelayStep { size_ns, .. } if is_fall(size_ns));
            step && finding.at_ns.is_some_and(near)
        })
}

/// The falls of the delays by which packets are overtaken in a row.
fn falls(forward: &[OneWaySingleton]) -> Vec<Fall> {
    let firsts = forward.iter().filter(|singleton| singleton.copy == 0);
    let stamps: Vec<(i64, i64)> =
        firsts.filter_map(|one| Some((one.departure?.as_nanos(), one.arrival?.as_nanos()))).collect();
    let Some(start) = stamps.iter().map(|(left, _)| *left).min() else { return Vec::new() };
    // The earliest arrival of any packet from here on.
    let mut earliest: Vec<i64> = stamps.iter().map(|(_, came)| *came).collect();
    for place in (1..earliest.len()).rev() {
        earliest[place - 1] = earliest[place - 1].min(earliest[place]);
    }
    let overtaken = |place: usize| place + 1 < stamps.len() && stamps[place].1 > earliest[place + 1];
    let (mut found, mut place) = (Vec::new(), 0);
    while place < stamps.len() {
        let from = place;
        while place < stamps.len() && overtaken(place) {
            place += 1;
        }
        if place - from >= MIN_OVERTAKEN_PACKETS
            && let Some(by_ns) = fall(&stamps, from, place)
        {
            found.push(Fall { at_ns: stamps[place].0 - start, by_ns, packets: place - from });
        }
        place += 1;
    }
    found
}

/// By how much delays fall between the packets before `place`, which were all overtaken from `from` on, and those from there on, if the first of
/// these overtook them all and the others are as quick.
fn fall(stamps: &[(i64, i64)], from: usize, place: usize) -> Option<i64> {
    let packets = (place - from).min(NEIGHBOUR_PACKETS);
    let after = stamps.get(place..(place + packets).min(stamps.len()))?;
    let delays = |part: &[(i64, i64)]| -> Vec<i64> {
        part.iter().map(|(left, came)| came.saturating_sub(*left)).collect()
    };
    let mut before = delays(&stamps[place - packets..place]);
    let mut after = delays(after);
    if after.len() < MIN_OVERTAKEN_PACKETS || after[0].saturating_add(stamps[place].0) > stamps[from].1 {
        return None;
    }
    // None of those before is as quick as any of those after it.
    if before.iter().min() <= after.iter().max() {
        return None;
    }
    let [before, after] = [&mut before, &mut after].map(|location| {
        let middle = location.len() / 2;
        *location.select_nth_unstable(middle).1
    });
    Some(before.saturating_sub(after))
}

#[cfg(test)]
mod tests {
    use romer_record::{Fate, Leaving};
    use romer_units::Timestamp;

    use super::*;

    fn singletons(number: u64, came_ms: impl Fn(u64) -> i64) -> Vec<OneWaySingleton> {
        let singleton = |sequence: u64| {
            let left = i64::try_from(sequence).unwrap() * 20_000_000;
            OneWaySingleton {
                sequence,
                copy: 0,
                size: 100,
                fate: Fate::Arrived,
                departure: Some(Timestamp::from_nanos(left)),
                arrival: Some(Timestamp::from_nanos(left + came_ms(sequence) * 1_000_000)),
                delay: None,
                ttl: None,
                tos: None,
                leaving: Leaving::UNKNOWN,
            }
        };
        (0..number).map(singleton).collect()
    }

    #[test]
    fn delays_that_fall_for_good_are_told_and_packets_that_overtake_are_not() {
        let fallen = singletons(400, |n| if n < 200 { 900 } else { 100 } + i64::try_from(n % 7).unwrap());
        assert_eq!(
            falls(&fallen).into_iter().map(warning).collect::<Vec<_>>(),
            [MeasurementWarning::DelayDropReorders {
                at_ns: 4_000_000_000,
                drop_ns: 800_000_000,
                packets: 40
            }]
        );
        // One packet in fifty on a way that is shorter by far, a queue that empties in order, and the last packets alone.
        let others: [fn(u64) -> i64; 3] = [
            |n| if n % 50 == 49 { 100 } else { 900 },
            |n| 900 - i64::try_from(n % 40).unwrap() * 19,
            |n| if n < 396 { 900 } else { 100 },
        ];
        for other in others {
            assert!(falls(&singletons(400, other)).is_empty());
        }
    }
}
