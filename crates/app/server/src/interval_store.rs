//! Live values of a measurement by interval, kept for pages that open later or reload.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use romer_record::document::StreamInterval;
use schemars::JsonSchema;
use serde::Serialize;

use crate::log_tail::{LiveStream, LiveWay};

/// Intervals that are kept of each stream: the last ones.
const MAX_INTERVALS: usize = 1_200;

/// An interval of a stream, as the curves have it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Interval {
    /// Which stream, from 0.
    stream: u16,
    /// Its end, since the start of the measurement.
    elapsed_ns: i64,
    /// Packets sent so far.
    sent: u64,
    /// Packets known to be back, or to have arrived, so far.
    returned: u64,
    /// Packets sent so far of which it is known whether they came.
    settled: u64,
    /// Of those, the ones that did not.
    lost: u64,
    /// Packets sent so far that have neither come nor count as lost.
    outstanding: u64,
    /// From here to the other end.
    forward: IntervalWay,
    /// From the other end to here.
    reverse: IntervalWay,
    /// There and back.
    round_trip: IntervalWay,
    /// Median time between arrivals here.
    between_median_ns: Option<f64>,
    /// The greatest.
    between_max_ns: Option<f64>,
}

/// A way within an interval; `null` where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct IntervalWay {
    /// Median delay.
    median_ns: Option<f64>,
    /// 99 % quantile of the delays.
    p99_ns: Option<f64>,
    /// Interarrival jitter (RFC 3550) since the start.
    jitter_rfc3550_ns: Option<f64>,
    /// One-way packets so far of which it is time that they have arrived.
    sent: Option<u64>,
    /// Those of them that have, as far as it is known.
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
        let [between_median_ns, between_max_ns] = live.map_or([None; 2], LiveStream::between);
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
            between_median_ns,
            between_max_ns,
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
            kept_entries: 0,
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
