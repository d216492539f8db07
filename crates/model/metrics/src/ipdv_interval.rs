//! The intervals of means of differences in a row.
//!
//! Of packets without a gap the sum of all differences of delays is the last delay less the first, whatever lies between
//! them: the mean is known as well as two delays are, over the number of differences, and not as that of so many values that
//! vary as much. Where packets are lost, the sum lacks the difference across the gap, which is then what is not known. So it is with
//! times between arrivals, which are those between departures and differences of delays.

use romer_record::OneWaySingleton;
use romer_record::document::Summary;

use crate::interval::{Dependence, NORMAL_975, student_975};
use crate::sample::{delay, received};
use crate::summary::Moments;
use crate::value::{Value as _, finite, real, to_usize};
use crate::whole_numbers::WholeNumbers;

/// Delays that tell how far two of them are apart.
const DRAWN: usize = 1 << 12;
/// Of so few delays each is held against every other that is far enough from it.
const ALL_PAIRS_MAX: usize = 128;
/// Of fewer delays the greatest distance of two is as good as what 95 in 100 are within.
const RANGE_BELOW: f64 = 20.0;
/// Fewer gaps than this do not tell how far delays on their two sides are apart.
const MIN_GAPS: usize = 6;
/// Fewer differences have no interval of their mean, as other singletons have none.
const MIN_DIFFERENCES: usize = 6;
/// Times between departures are looked at in so many stretches.
const STRETCHES: usize = 24;
/// And in so many from the middle.
const LOOKED_AT: usize = 1 << 20;

/// The differences of neighbours' delays, and what lies across the gaps between those that follow each other.
#[derive(Default)]
pub(crate) struct Differences {
    pub(crate) values: WholeNumbers,
    /// How many gaps there are, and of the differences across them the sum and the sum of the squares.
    gaps: usize,
    sum: f64,
    squares: f64,
}

impl Differences {
    /// Those of [`ipdv`](crate::ipdv).
    pub(crate) fn between_neighbours(singletons: &[OneWaySingleton]) -> Self {
        let mut found = Self::default();
        let mut before: Option<&OneWaySingleton> = None;
        // The last delay of a run of packets, while the next run has not begun.
        let (mut last, mut within) = (None, false);
        for singleton in received(singletons) {
            let pair = before
                .replace(singleton)
                .filter(|before| before.sequence.checked_add(1) == Some(singleton.sequence))
                .and_then(|before| delay(before).zip(delay(singleton)));
            let Some((first, second)) = pair else {
                within = false;
                continue;
            };
            if let Some(last) = last.replace(second).filter(|_| !within) {
                let across = first.saturating_sub(last).value();
                found.gaps += 1;
                found.sum += across;
                found.squares += across * across;
            }
            within = true;
            found.values.push(second.saturating_sub(first));
        }
        found
    }

    /// The interval of their mean.
    pub(crate) fn interval(&self, singletons: &[OneWaySingleton], found: &Summary) -> Option<[f64; 2]> {
        let count = usize::try_from(found.count).ok().filter(|count| *count >= MIN_DIFFERENCES)?;
        let ends = Ends::between_gaps(singletons)?;
        let half = ends.apart.hypot(self.across_gaps(&ends)?) / real(count);
        around(found.mean?, half)
    }

    /// What the differences across gaps amount to, at 95 %.
    fn across_gaps(&self, ends: &Ends) -> Option<f64> {
        let gaps = real(self.gaps);
        if self.gaps < MIN_GAPS {
            return Some(NORMAL_975 * (gaps * ends.square).sqrt());
        }
        let variance = (self.squares - self.sum * self.sum / gaps).max(0.0) / (gaps - 1.0);
        Some(student_975(gaps - 1.0)? * (gaps * variance).sqrt())
    }
}

/// The figures of the differences of neighbours' delays ([`ipdv`](crate::ipdv)).
pub fn ipdv_figures(singletons: &[OneWaySingleton]) -> Summary {
    let differences = Differences::between_neighbours(singletons);
    let found = differences.values.of_neighbours(0);
    Summary { mean_interval: differences.interval(singletons, &found), ..found }
}

/// How far the mean of times between arrivals may be off at 95 %, of packets in order of arrival; `None` where departures or delays
/// are not known.
pub(crate) fn error_of_mean_spacing(arrived: &[&OneWaySingleton]) -> Option<f64> {
    let count = arrived.len().checked_sub(1).filter(|count| *count >= MIN_DIFFERENCES)?;
    let kept = arrived.len().min(LOOKED_AT);
    let part = &arrived[(arrived.len() - kept) / 2..][..kept];
    let gaps: Option<Vec<i64>> =
        part.windows(2).map(|pair| Some((pair[1].departure? - pair[0].departure?).as_nanos())).collect();
    let departures = error_of_spacings(&gaps?)? / real(count).sqrt();
    let ends = Ends::of_delays(&evenly(arrived, |singleton| delay(singleton)))?;
    Some(departures.hypot(ends.apart / real(count)))
}

/// How far the mean of times between departures may be off at 95 %, times the root of their number. Those of a schedule whose
/// packets leave a little early or late make up for each other, and in stretches vary less than one by one.
fn error_of_spacings(gaps: &[i64]) -> Option<f64> {
    let moments = Moments::from_values(gaps)?;
    let deviation = moments.variance().sqrt();
    if deviation <= 0.0 {
        return Some(0.0);
    }
    let found = Dependence::estimate(gaps, |gap| gap);
    if found.inflation() > 1.0 {
        return found
            .is_known()
            .then_some(())
            .and(student_975(found.freedom()))
            .map(|quantile| quantile * deviation * found.inflation().sqrt());
    }
    let length = (gaps.len() / STRETCHES).max(1);
    let sums = gaps
        .chunks_exact(length)
        .map(|chunk| chunk.iter().map(|gap| gap.value() - moments.mean()).sum::<f64>());
    let sums: Vec<f64> = sums.collect();
    let variance = Moments::from_values(&sums[..])?.variance() / real(length);
    Some(student_975(real(sums.len().checked_sub(1)?))? * variance.sqrt())
}

/// How far two delays are apart that have nothing to do with each other.
struct Ends {
    /// At 95 %.
    apart: f64,
    /// The square of that, on the average.
    square: f64,
}

impl Ends {
    fn between_gaps(singletons: &[OneWaySingleton]) -> Option<Self> {
        let known = |singleton: &OneWaySingleton| received(std::slice::from_ref(singleton)).find_map(delay);
        Self::of_delays(&evenly(singletons, known))
    }

    fn of_delays(delays: &[i64]) -> Option<Self> {
        let count = delays.len();
        let lags: Vec<usize> = if count <= ALL_PAIRS_MAX {
            (count / 4..count).filter(|lag| *lag > 0).collect()
        } else {
            [4, 3, 2].into_iter().map(|part| count / part).collect()
        };
        let mut apart: Vec<f64> = Vec::new();
        for lag in lags {
            apart.extend(delays.iter().zip(&delays[lag..]).map(|(a, b)| b.saturating_sub(*a).value().abs()));
        }
        let last = apart.len().checked_sub(1)?;
        let square = apart.iter().map(|apart| apart * apart).sum::<f64>() / real(apart.len());
        let level = 1.0 - 0.05 * (1.0 - RANGE_BELOW / real(count)).max(0.0);
        let place = to_usize((level * real(last)).ceil()).min(last);
        let (_, apart, _) = apart.select_nth_unstable_by(place, f64::total_cmp);
        Some(Self { apart: *apart, square })
    }
}

/// Values of some of these, at equal distances.
fn evenly<T>(all: &[T], of: impl Fn(&T) -> Option<i64>) -> Vec<i64> {
    all.iter().step_by(all.len().div_ceil(DRAWN).max(1)).filter_map(of).collect()
}

/// The interval that reaches as far on both sides.
pub(crate) fn around(mean: f64, half: f64) -> Option<[f64; 2]> {
    Some([finite(mean - half)?, finite(mean + half)?])
}
