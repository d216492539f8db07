//! Figures of a sample, and what the host's gaps have to do with it.

use romer_host::clock::Realtime;
use romer_host::steal_monitor::{Gap, Gaps};
use romer_metrics::{Value, stddev_population, summary};
use serde::Serialize;

use crate::steal_log::taken_by_the_host;

/// A value with the time in which it came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) nanos: i64,
    pub(crate) from: Realtime,
    pub(crate) to: Realtime,
}

/// What the tables of Chen et al. 2013 show of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Figures {
    pub(crate) count: u64,
    pub(crate) min_ns: f64,
    pub(crate) mean_ns: f64,
    pub(crate) max_ns: f64,
    /// With n in its denominator, as the footnote of the tables has it.
    pub(crate) stddev_ns: f64,
}

impl Figures {
    /// Of a sample; `None` of an empty one.
    pub(crate) fn from_values<V: Value>(values: &[V]) -> Option<Self> {
        let summary = summary(values);
        Some(Self {
            count: summary.count,
            min_ns: summary.min?,
            mean_ns: summary.mean?,
            max_ns: summary.max?,
            stddev_ns: stddev_population(values)?,
        })
    }

    /// Each figure's median over several samples; of the counts, the sum.
    pub(crate) fn medians(all: &[Self]) -> Option<Self> {
        let of = |pick: fn(&Self) -> f64| median(&all.iter().map(pick).collect::<Vec<_>>());
        Some(Self {
            count: all.iter().map(|one| one.count).sum(),
            min_ns: of(|one| one.min_ns)?,
            mean_ns: of(|one| one.mean_ns)?,
            max_ns: of(|one| one.max_ns)?,
            stddev_ns: of(|one| one.stddev_ns)?,
        })
    }
}

/// Median, with the mean of the two in the middle where the number is even; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    summary(values).median
}

/// How late a sender was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Lateness {
    pub(crate) count: u64,
    pub(crate) p50_ns: f64,
    pub(crate) p99_ns: f64,
    pub(crate) max_ns: f64,
}

impl Lateness {
    /// Of a sample; `None` of an empty one.
    pub(crate) fn from_values(values: &[i64]) -> Option<Self> {
        let summary = summary(values);
        Some(Self {
            count: summary.count,
            p50_ns: summary.median?,
            p99_ns: summary.p99?,
            max_ns: summary.max?,
        })
    }
}

/// Whether the host took a core away at a moment that is within `value`, on any of the cores that `watched` looked at.
pub(crate) fn touched(watched: &[Gaps], value: &Timed) -> bool {
    watched.iter().any(|core| {
        // The gaps of a core do not overlap one another, so their ends are in order too.
        let list = core.list();
        let first = list.partition_point(|gap| end(gap) < value.from.as_nanos());
        let met = list[first..].iter().take_while(|gap| gap.start_realtime <= value.to);
        met.into_iter().any(|gap| taken_by_the_host(gap).is_some())
    })
}

/// The values that no gap touched.
pub(crate) fn untouched(watched: &[Gaps], values: &[Timed]) -> Vec<i64> {
    values.iter().filter(|value| !touched(watched, value)).map(|value| value.nanos).collect()
}

fn end(gap: &Gap) -> i64 {
    gap.start_realtime.as_nanos().saturating_add(gap.length.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_divides_by_n_and_the_mean_is_the_mean() {
        let figures = Figures::from_values(&[2_i64, 4, 4, 4, 5, 5, 7, 9]).unwrap();
        assert_eq!((figures.count, figures.min_ns, figures.max_ns), (8, 2.0, 9.0));
        assert!((figures.mean_ns - 5.0).abs() < 1e-12 && (figures.stddev_ns - 2.0).abs() < 1e-12);
        assert_eq!(Figures::from_values::<i64>(&[]), None);
    }

    #[test]
    fn medians_are_taken_of_each_figure_by_itself() {
        let one =
            |value| Figures { count: 2, min_ns: value, mean_ns: 9.0 - value, max_ns: 1.0, stddev_ns: value };
        let found = Figures::medians(&[one(1.0), one(8.0), one(3.0)]).unwrap();
        assert_eq!(found, Figures { count: 6, min_ns: 3.0, mean_ns: 6.0, max_ns: 1.0, stddev_ns: 3.0 });
        assert_eq!(Figures::medians(&[]), None);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn lateness_interpolates_its_quantiles() {
        let values: Vec<i64> = (0..=100).collect();
        let found = Lateness::from_values(&values).unwrap();
        assert_eq!((found.count, found.p50_ns, found.p99_ns, found.max_ns), (101, 50.0, 99.0, 100.0));
    }

    #[test]
    fn nothing_is_touched_where_nothing_was_watched() {
        let at = Realtime::from_nanos;
        let value = Timed { nanos: 5, from: at(0), to: at(i64::MAX) };
        assert!(!touched(&[], &value));
        assert_eq!(untouched(&[], &[value, value]), [5, 5]);
    }

    #[test]
    fn a_value_is_touched_by_a_gap_of_the_host_that_ended_or_began_within_it() {
        // The list is what a busy test machine gives; the claim is checked against it by the plain definition.
        let monitor =
            romer_host::steal_monitor::StealMonitor::start(romer_host::steal_monitor::StealMonitorOptions {
                threshold: romer_units::Duration::from_nanos(100),
                capacity: 10_000,
                ..romer_host::steal_monitor::StealMonitorOptions::default()
            })
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let gaps = [monitor.stop()];
        for gap in gaps[0].list().iter().take(500) {
            let (start, finish) = (gap.start_realtime.as_nanos(), end(gap));
            for (from, to) in
                [(start - 50, start), (finish, finish + 50), (start, start), (start - 9, start - 1)]
            {
                let plain = gaps[0].list().iter().any(|gap| {
                    let meets = gap.start_realtime.as_nanos() <= to && end(gap) >= from;
                    meets && taken_by_the_host(gap).is_some()
                });
                let value =
                    Timed { nanos: 0, from: Realtime::from_nanos(from), to: Realtime::from_nanos(to) };
                assert_eq!(touched(&gaps, &value), plain);
            }
        }
    }
}
