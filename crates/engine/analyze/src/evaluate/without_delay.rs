//! Packets that arrived and have no delay, because a stamp of theirs did not come.

use romer_record::document::ProbeDirection;
use romer_record::manifest::Stream;
use romer_record::warning::{MeasurementWarning, Uneven};
use romer_record::{Fate, OneWaySingleton};
use romer_singletons::StreamSingletons;

/// Parts of a run whose shares of packets without a delay are compared.
const PARTS: usize = 10;
/// A share of packets without a delay from which on it is told that the others may not stand for all.
const MAX_SHARE_WITHOUT_DELAY: f64 = 0.01;
/// Parts whose shares differ by more are told apart.
const UNEVEN: f64 = 0.1;

/// For each direction, how many and when.
/// Those of `returned_early` replies, which came back before their probes left, are not missing.
pub(super) fn without_delay(
    stream: &Stream,
    related: &StreamSingletons,
    returned_early: u64,
) -> Vec<MeasurementWarning> {
    // Whose log has not come back has not told its stamps, which is said.
    if stream.responder_log && !stream.responder_log_complete
        || stream.traffic.direction.is_one_way() && !stream.responder_log
    {
        return Vec::new();
    }
    // Of packets without stamps because these are false, another warning speaks.
    let rejected = related.too_quick.map(|found| if found.are_kept() { 0 } else { found.packets });
    let ways: &[(ProbeDirection, &[OneWaySingleton], u64)] = match stream.traffic.direction {
        ProbeDirection::RoundTrip => &[(ProbeDirection::RoundTrip, &related.round_trip, returned_early)],
        _ => &[
            (ProbeDirection::Forward, &related.forward, rejected[0]),
            (ProbeDirection::Reverse, &related.reverse, rejected[1]),
        ],
    };
    // A file has no host that could be helped.
    let is_live = stream.address.is_some();
    let of_way = |(direction, singletons, rejected): &(ProbeDirection, &[OneWaySingleton], u64)| {
        warning(*direction, singletons, *rejected, is_live)
    };
    ways.iter().filter_map(of_way).collect()
}

fn warning(
    direction: ProbeDirection,
    singletons: &[OneWaySingleton],
    rejected: u64,
    live: bool,
) -> Option<MeasurementWarning> {
    let [all, without] = arrived(singletons);
    let without = without.saturating_sub(usize::try_from(rejected).unwrap_or(usize::MAX));
    if without == 0 {
        return None;
    }
    let found = |uneven| {
        let (packets, arrived) = (without as u64, all as u64);
        Some(MeasurementWarning::DelayMissing { direction, packets, arrived, live, uneven })
    };
    if share(without, all) < MAX_SHARE_WITHOUT_DELAY {
        return found(None);
    }
    let shares: Vec<f64> = singletons
        .chunks(singletons.len().div_ceil(PARTS))
        .map(|part| {
            let [all, without] = arrived(part);
            share(without, all)
        })
        .collect();
    let [least, most] = [f64::min, f64::max].map(|of| shares.iter().copied().reduce(of).unwrap_or(0.0));
    found((most - least > UNEVEN).then_some(Uneven { min_ratio: least, max_ratio: most }))
}

/// How many arrived, and how many of these have no delay.
fn arrived(singletons: &[OneWaySingleton]) -> [usize; 2] {
    let all = || singletons.iter().filter(|singleton| singleton.fate == Fate::Arrived);
    [all().count(), all().filter(|singleton| singleton.delay.is_none()).count()]
}

#[expect(clippy::cast_precision_loss, reason = "counts of packets are below 2^53")]
fn share(part: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use romer_record::Leaving;
    use romer_units::Duration;

    use super::*;

    fn singletons(has_delay: impl Fn(u64) -> bool) -> Vec<OneWaySingleton> {
        let singleton = |sequence| OneWaySingleton {
            sequence,
            copy: 0,
            size: 64,
            fate: if sequence % 100 == 99 { Fate::Lost } else { Fate::Arrived },
            departure: None,
            arrival: None,
            delay: has_delay(sequence).then_some(Duration::from_millis(1)),
            ttl: None,
            tos: None,
            leaving: Leaving::UNKNOWN,
        };
        (0..10_000).map(singleton).collect()
    }

    #[test]
    fn how_many_have_no_delay_is_told_and_when_that_may_matter() {
        let warning =
            |has_delay: fn(u64) -> bool| warning(ProbeDirection::Forward, &singletons(has_delay), 0, true);
        let found = |packets, uneven| {
            Some(MeasurementWarning::DelayMissing {
                direction: ProbeDirection::Forward,
                packets,
                arrived: 9_900,
                live: true,
                uneven,
            })
        };
        assert_eq!(warning(|_| true), None);
        let all_rejected =
            super::warning(ProbeDirection::Forward, &singletons(|sequence| sequence != 7), 1, true);
        assert_eq!(all_rejected, None);
        assert_eq!(super::warning(ProbeDirection::Forward, &[], 0, true), None);
        assert_eq!(warning(|sequence| sequence != 7), found(1, None));
        assert_eq!(warning(|sequence| sequence % 5 != 0), found(2_000, None));
        let uneven = Uneven { min_ratio: 0.0, max_ratio: 1.0 };
        assert_eq!(warning(|sequence| sequence < 8_000), found(1_980, Some(uneven)));
    }
}
