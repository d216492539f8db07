//! Live values of a measurement by interval, kept for pages that open later or reload.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use romer_record::document::StreamInterval;
use schemars::JsonSchema;
use serde::Serialize;

use crate::log_tail::{LiveStream, LiveWay};

/// Intervals that are kept of each stream: the last ones.
const MAX_INTERVALS: usize = 1_200;

/// Results of a stream up to and within an interval.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Interval {
    /// Stream number, from 0.
    stream: u16,
    /// End of the interval, nanoseconds after the start of the measurement.
    elapsed_ns: i64,
    /// Packets sent since the start.
    sent: u64,
    /// Replies received since the start; of one-way packets, those known to have arrived.
    returned: u64,
    /// Packets sent since the start whose fate is known (received or lost).
    settled: u64,
    /// Packets of `settled` that were lost.
    lost: u64,
    /// Packets sent since the start that are neither received nor counted as lost.
    outstanding: u64,
    /// Forward direction (initiator to responder).
    forward: IntervalWay,
    /// Reverse direction (responder to initiator).
    reverse: IntervalWay,
    /// Round trip, without the processing time of the responder.
    round_trip: IntervalWay,
    /// Median time between arrivals at this host, nanoseconds.
    inter_arrival_median_ns: Option<f64>,
    /// Maximum time between arrivals at this host, nanoseconds.
    inter_arrival_max_ns: Option<f64>,
}

/// Results of one direction within an interval; `null` if unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct IntervalWay {
    /// Median delay, nanoseconds.
    median_ns: Option<f64>,
    /// 99 % quantile of the delays, nanoseconds.
    p99_ns: Option<f64>,
    /// Interarrival jitter (RFC 3550) since the start, nanoseconds.
    jitter_rfc3550_ns: Option<f64>,
    /// One-way packets since the start that should have arrived by now.
    sent: Option<u64>,
    /// Packets counted by `sent` that are known to have arrived.
    arrived: Option<u64>,
}

impl From<&LiveWay> for IntervalWay {
    fn from(way: &LiveWay) -> Self {
        let [median_ns, p99_ns] = way.quantiles();
        let [sent, arrived] = way.counts().map_or([None; 2], |counts| counts.map(Some));
        Self { median_ns, p99_ns, jitter_rfc3550_ns: way.jitter(), sent, arrived }
    }
}

impl Interval {
    fn from_stream(told: &StreamInterval, live: Option<&LiveStream>) -> Self {
        // What the log does not tell (it could not be read) the measurement itself does.
        let whole = IntervalWay {
            median_ns: told.round_trip_delay_ns.median,
            p99_ns: told.round_trip_delay_ns.p99,
            ..IntervalWay::default()
        };
        let of = |way: fn(&LiveStream) -> &LiveWay| live.map(|live| IntervalWay::from(way(live)));
        let [inter_arrival_median_ns, inter_arrival_max_ns] = live.map_or([None; 2], LiveStream::between);
        Self {
            stream: told.stream,
            elapsed_ns: told.elapsed_ns,
            sent: told.sent,
            returned: told.returned,
            settled: told.settled,
            lost: told.lost,
            outstanding: told.outstanding,
            forward: of(|live| &live.forward).unwrap_or_default(),
            reverse: of(|live| &live.reverse).unwrap_or_default(),
            round_trip: of(|live| &live.round_trip).unwrap_or(whole),
            inter_arrival_median_ns,
            inter_arrival_max_ns,
        }
    }
}

/// The intervals of a measurement, shared by those who write and read them.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntervalStore(Arc<Mutex<BTreeMap<u16, VecDeque<Interval>>>>);

impl PartialEq for IntervalStore {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl IntervalStore {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<u16, VecDeque<Interval>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one in; the oldest of its stream goes where there are too many.
    pub(crate) fn take(&self, told: &StreamInterval, live: Option<&LiveStream>) {
        let mut all = self.locked();
        let stream = all.entry(told.stream).or_default();
        if stream.len() >= MAX_INTERVALS {
            stream.pop_front();
        }
        stream.push_back(Interval::from_stream(told, live));
    }

    /// All that are kept: stream by stream, oldest first.
    pub(crate) fn all(&self) -> Vec<Interval> {
        self.locked().values().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use romer_record::document::{STREAM, Summary};

    use super::*;

    fn interval(stream: u16, second: i64) -> StreamInterval {
        StreamInterval {
            schema: STREAM.into(),
            stream,
            target: "here".into(),
            elapsed_ns: second * 1_000_000_000,
            sent: 10,
            returned: 9,
            settled: 8,
            lost: 1,
            outstanding: 0,
            durable_entries: 0,
            durable_sent: 0,
            round_trip_delay_ns: Summary { median: Some(5.0), p99: Some(7.0), ..Summary::default() },
            forward: None,
            reverse: None,
            clock: None,
        }
    }

    /// The newest intervals of each stream are kept, and no more.
    #[test]
    fn newest_intervals_are_kept() {
        let watched = IntervalStore::default();
        for second in 0..=i64::try_from(MAX_INTERVALS).unwrap() {
            watched.take(&interval(1, second), None);
        }
        watched.take(&interval(0, 3), None);
        let all = watched.all();
        assert_eq!(all.len(), MAX_INTERVALS + 1);
        assert_eq!((all[0].stream, all[0].elapsed_ns), (0, 3_000_000_000));
        assert_eq!((all[1].stream, all[1].elapsed_ns), (1, 1_000_000_000), "the oldest went");
        assert_eq!((all[1].sent, all[1].returned), (10, 9));
        assert_eq!((all[1].settled, all[1].lost, all[1].outstanding), (8, 1, 0));
        assert_eq!(all[1].round_trip.median_ns, Some(5.0), "without the log, as the measurement tells it");
        assert_eq!(all[1].forward, IntervalWay::default());
    }
}
