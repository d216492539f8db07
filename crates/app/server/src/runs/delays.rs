//! Delays of a run over time, in bins, for charts of several runs.

use romer_record::OneWaySingleton;
use romer_record::document::ProbeDirection;
use romer_store::Runs;
use romer_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;

use super::read;
use crate::problem::Problem;

/// Bins of a run, unless a request says how long they are.
const USUAL_BINS: i64 = 240;
/// The most bins of a run.
const MOST_BINS: i64 = 2_000;

/// Delays of a stream over time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct DelaysOverTime {
    /// Length of a bin, nanoseconds. Bins begin with the departure of the first packet.
    every_ns: i64,
    /// Directions with known delays.
    directions: Vec<DirectionDelays>,
}

/// Delays of a direction over time, by bin of the departure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct DirectionDelays {
    /// Direction.
    direction: ProbeDirection,
    /// Minimum of all delays, nanoseconds.
    min_ns: i64,
    /// Median of each bin (nearest rank), nanoseconds; `null` without delays.
    median_ns: Vec<Option<i64>>,
    /// 95 % quantile of each bin (nearest rank), nanoseconds; `null` without delays.
    p95_ns: Vec<Option<i64>>,
    /// Lost packets of each bin.
    lost: Vec<u64>,
}

/// The delays of a stream of a run, in bins of `every`.
pub(crate) fn over_time(
    runs: &Runs,
    name: &str,
    stream: u16,
    every: Option<Duration>,
) -> Result<DelaysOverTime, Problem> {
    let reading = read(runs, name)?;
    let evaluated = reading.streams.get(usize::from(stream)).ok_or_else(|| {
        Problem::not_found(format!("the run has {} streams, counted from 0", reading.streams.len()))
    })?;
    let related = &evaluated.related;
    binned([&related.forward, &related.reverse, &related.round_trip], every)
}

/// The delays of forward, reverse and round trip, in bins of `every`.
fn binned(singletons: [&[OneWaySingleton]; 3], every: Option<Duration>) -> Result<DelaysOverTime, Problem> {
    let ways = [ProbeDirection::Forward, ProbeDirection::Reverse, ProbeDirection::RoundTrip];
    let longest = singletons.iter().map(|singletons| length(singletons)).max().unwrap_or(0);
    let usual = (longest / USUAL_BINS).saturating_add(1);
    let every_ns = every.map_or(usual, |every| every.as_nanos()).max(1);
    if longest / every_ns >= MOST_BINS {
        let detail = format!(
            "every is too short for a run of {}: a run has at most {MOST_BINS} bins; write a longer time",
            Duration::from_nanos(longest)
        );
        return Err(Problem::unprocessable("query", detail));
    }
    let ways = ways.into_iter().zip(singletons);
    let directions = ways.filter_map(|(way, singletons)| direction(way, singletons, every_ns)).collect();
    Ok(DelaysOverTime { every_ns, directions })
}

/// When the first packet left, nanoseconds on the clock of its departure.
fn first(singletons: &[OneWaySingleton]) -> Option<i64> {
    singletons.iter().filter_map(|singleton| singleton.departure).map(|time| time.as_nanos()).min()
}

/// From the first departure to the last, nanoseconds.
fn length(singletons: &[OneWaySingleton]) -> i64 {
    let last =
        singletons.iter().filter_map(|singleton| singleton.departure).map(|time| time.as_nanos()).max();
    first(singletons).zip(last).map_or(0, |(first, last)| last.saturating_sub(first))
}

fn direction(way: ProbeDirection, singletons: &[OneWaySingleton], every_ns: i64) -> Option<DirectionDelays> {
    let first = first(singletons)?;
    let count = usize::try_from(length(singletons) / every_ns).ok()? + 1;
    let mut delays: Vec<Vec<i64>> = vec![Vec::new(); count];
    let mut lost = vec![0_u64; count];
    for singleton in romer_metrics::sent(singletons) {
        let Some(departure) = singleton.departure else { continue };
        let Ok(bin) = usize::try_from(departure.as_nanos().saturating_sub(first) / every_ns) else {
            continue;
        };
        if singleton.fate.is_lost()
            && let Some(lost) = lost.get_mut(bin)
        {
            *lost += 1;
        }
        if let (Some(delay), Some(delays)) = (singleton.delay, delays.get_mut(bin)) {
            delays.push(delay.as_nanos());
        }
    }
    let min_ns = delays.iter().flatten().copied().min()?;
    delays.iter_mut().for_each(|delays| delays.sort_unstable());
    let quantile = |percent: usize| {
        let rank = |count: usize| (count * percent).div_ceil(100).saturating_sub(1);
        delays.iter().map(|delays| delays.get(rank(delays.len())).copied()).collect()
    };
    Some(DirectionDelays { direction: way, min_ns, median_ns: quantile(50), p95_ns: quantile(95), lost })
}

#[cfg(test)]
mod tests {
    use romer_record::{Fate, Leaving};
    use romer_units::Timestamp;

    use super::*;

    /// A packet that left at `at` and had this delay, or was lost.
    fn packet(sequence: u64, at: i64, delay: Option<i64>) -> OneWaySingleton {
        OneWaySingleton {
            sequence,
            copy: 0,
            size: 64,
            fate: if delay.is_some() { Fate::Arrived } else { Fate::Lost },
            departure: Some(Timestamp::from_nanos(at)),
            arrival: None,
            delay: delay.map(Duration::from_nanos),
            ttl: None,
            tos: None,
            leaving: Leaving::UNKNOWN,
        }
    }

    /// A bin has the median and the 95 % quantile of its delays, and its losses; one without packets has none.
    #[test]
    fn bins_have_their_delays_and_losses() {
        let mut singletons: Vec<OneWaySingleton> =
            (0..20_u32).map(|i| packet(i.into(), 1_000, Some(101 + i64::from(i)))).collect();
        singletons.push(packet(20, 1_099, None));
        singletons.push(packet(21, 1_250, Some(7)));
        let found = direction(ProbeDirection::Forward, &singletons, 100).unwrap();
        assert_eq!(found.median_ns, [Some(110), None, Some(7)]);
        assert_eq!(found.p95_ns, [Some(119), None, Some(7)]);
        assert_eq!((found.lost, found.min_ns), (vec![1, 0, 0], 7));
        assert_eq!(direction(ProbeDirection::Reverse, &singletons[20..21], 100), None);
    }

    /// Bins are as many as there may be, and as short as is requested.
    #[test]
    fn number_of_bins_is_limited() {
        let forward = [packet(0, 0, Some(1)), packet(1, 1_000_000, Some(2))];
        let all: [&[OneWaySingleton]; 3] = [&forward, &[], &[]];
        let usual = binned(all, None).unwrap();
        assert_eq!((usual.directions.len(), usual.directions[0].lost.len()), (1, 240));
        let every = |nanos| binned(all, Some(Duration::from_nanos(nanos)));
        assert_eq!(every(1_000).unwrap().directions[0].lost.len(), 1_001);
        assert!(every(500).unwrap_err().detail().contains("at most 2000 bins"));
    }
}
