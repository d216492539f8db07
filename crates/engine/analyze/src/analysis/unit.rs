//! Times of a table that are in another unit than nanoseconds.

use romer_record::warning::MeasurementWarning;

/// Round trips of hosts take longer, nanoseconds: the way through two network cards alone takes about as long.
const SHORTEST_ROUND_TRIP: i64 = 1_000;
/// Probes do not follow each other so closely where each awaits a host's reply, nanoseconds.
const SHORTEST_INTERVAL: i64 = 10_000;
/// So many packets are not so by chance.
const MIN_PACKETS: i64 = 20;

/// That most round trips and the interval between packets are shorter than those of any hosts, as where milliseconds are taken for
/// nanoseconds. `times` are departure and return of each row.
pub(super) fn warning(times: impl Iterator<Item = [Option<i64>; 2]>) -> Option<MeasurementWarning> {
    let (mut departures, mut ends) = (0_i64, None::<[i64; 2]>);
    let (mut returned, mut quick, mut sum) = (0_i64, 0_i64, 0_i64);
    for [departure, back] in times {
        let Some(departure) = departure else { continue };
        departures += 1;
        let [first, last] = ends.unwrap_or([departure; 2]);
        ends = Some([first.min(departure), last.max(departure)]);
        let Some(away) = back.map(|back| back.saturating_sub(departure)) else { continue };
        returned += 1;
        if (0..SHORTEST_ROUND_TRIP).contains(&away) {
            quick += 1;
            sum += away;
        }
    }
    let [first, last] = ends?;
    let interval_ns = last.saturating_sub(first) / (departures - 1).max(1);
    let suspected = departures >= MIN_PACKETS && interval_ns < SHORTEST_INTERVAL && quick > returned / 2;
    suspected
        .then(|| MeasurementWarning::TimeUnitSuspected { interval_ns, round_trip_ns: sum / quick.max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds are suspected at any usual interval and distance; nanoseconds, and coarse stamps of a fast path, are not.
    #[test]
    fn milliseconds_are_suspected() {
        let warned = |interval: i64, round_trip: i64| {
            let sent = |n: i64| 1_700_000_000_000 + n * interval;
            let lost = |n: i64| n % 9 == 4;
            let back = |n: i64| (!lost(n)).then(|| sent(n) + round_trip + n % 3);
            warning((0..100).map(|n| [Some(sent(n)), back(n)])).is_some()
        };
        for (interval, round_trip) in [(20, 30), (1_000, 12), (1, 250), (200, 600)] {
            assert!(warned(interval, round_trip), "{interval} {round_trip}");
            assert!(!warned(interval * 1_000_000, round_trip * 1_000_000), "{interval} {round_trip}");
        }
        assert!(!warned(1_000_000, 0), "one clock tick holds the round trip");
        assert!(!warned(1_000, 8_000), "a fast sender");
        assert_eq!(warning((0..100).map(|n| [Some(n * 20), None])), None, "nothing came back");
        assert_eq!(warning((0..5).map(|n| [Some(n), Some(n + 1)])), None, "too few");
    }
}
