//! The summary of a sample.

use romer_record::document::{Histogram, Summary};
use sketches_ddsketch::{Config, DDSketch};

use crate::interval::{self, Dependence};
use crate::mean_deviation::Centre;
use crate::sort;
use crate::value::{SampleValues, Value, Whole, finite, real, to_usize};

/// Samples of more values than this are summarised by a sketch instead of by sorting them.
pub const SKETCH_ABOVE: usize = 10_000_000;
/// Greatest relative error of a sketch's quantiles.
pub const SKETCH_ERROR: f64 = 0.001;
/// Of so many values a trimmed mean leaves out the lowest one and the highest one: 5 % at each end.
const TRIMMED_OF: usize = 20;
/// Values nearer to zero than this are zero to the sketch. Times are whole nanoseconds.
const SKETCH_LEAST: f64 = 1e-3;
/// Bins enough for every magnitude from the least value to 2^64 at the stated error, so that none are merged.
const SKETCH_BINS: u32 = 32_768;

/// How the intervals of a summary are found, as the documents say it.
pub const INTERVAL_METHOD: &str = "95 %. Mean: Student (for packets at least Hall 1992, for skewed values). Quantiles: \
    binomial order statistics. Dependent values: moving-block bootstrap (Künsch 1989; block length by Politis and White 2004, \
    2009), with at least the width of a first-order autoregression of the observed correlation plus its standard error \
    (Marriott and Pope 1954). null: the effective sample size is below 10. Deviations from the mean: with the error of that \
    mean. Means of ipdv_ns and inter_arrival_ns: from the difference of distant delays. Loss ratio: Wilson, widened where \
    losses come together";

/// Packets of fewer have no interval of their mean, as they have none of their median. Means of trials have one from two on: these
/// are nearly normal, as singletons are not.
const MIN_SAMPLES_FOR_MEAN_CI: usize = 6;

/// The summary of `values`, which are in the order in which they were measured: the intervals look at how each
/// value depends on those before it. All else is the same in any order. Values that are not finite are left out.
///
/// Quantiles interpolate linearly between order statistics (Hyndman and Fan's type 7); above [`SKETCH_ABOVE`]
/// values they come from a sketch with a relative error of [`SKETCH_ERROR`].
///
/// The intervals are as [`INTERVAL_METHOD`] says; below 25 values there are too few to tell dependence, and independence is
/// assumed.
pub fn summary<V: Value>(values: &[V]) -> Summary {
    summarise(values, SKETCH_ABOVE)
}

/// The summary of `values` and their histogram, which are put in order of size only once for both.
pub fn described<V: Whole>(values: &[V]) -> (Summary, Histogram) {
    let sorted = sort::ascending(values);
    (summary_of(values, &sorted[..]), crate::histogram::of_sorted(&sorted))
}

/// The standard deviation with n in its denominator, as the footnote of Chen et al. 2013's tables has it; `None` for an
/// empty sample.
pub fn stddev_population<V: Value>(values: &[V]) -> Option<f64> {
    let series = V::finite(values);
    let moments = Moments::from_values(&series[..])?;
    finite((moments.squares / real(series.len())).sqrt())
}

/// The summary of finite values that are at hand in both orders: as they were measured, and ascending.
pub(crate) fn summary_of<N: SampleValues>(series: N, sorted: N) -> Summary {
    summary_made(series, sorted, Made::default())
}

/// How values were made of those of packets, which is known to make them depend on each other.
#[derive(Clone, Copy, Default)]
pub(crate) struct Made<'a> {
    /// Each shares a packet with so many that follow it.
    pub(crate) lags: usize,
    /// They are deviations from a mean of their own.
    pub(crate) centre: Option<&'a Centre>,
}

/// The same of values that were made of others.
pub(crate) fn summary_made<N: SampleValues>(series: N, sorted: N, made: Made<'_>) -> Summary {
    if series.count() == 0 {
        return Summary::default();
    }
    let order = if series.count() > SKETCH_ABOVE {
        SortedSample::sketch(series)
    } else {
        SortedSample::Sorted(sorted)
    };
    of_order(series, &order, Some(made))
}

/// The summary of singletons each of which shares a packet with `lags` that follow it, as differences of neighbours do; in the
/// order in which they were measured.
pub fn of_neighbours<V: Whole>(values: &[V], lags: usize) -> Summary {
    summary_made(values, &sort::ascending(values)[..], Made { lags, centre: None })
}

fn summarise<V: Value>(values: &[V], sketch_above: usize) -> Summary {
    let series = &*V::finite(values);
    if series.is_empty() {
        return Summary::default();
    }
    if series.len() > sketch_above {
        return of_order(series, &SortedSample::sketch(series), None);
    }
    of_order(series, &SortedSample::Sorted(&V::ascending(series)[..]), None)
}

/// Of packets' values `of_packets` says how they were made; figures of trials have none.
fn of_order<N: SampleValues>(series: N, order: &SortedSample<N>, of_packets: Option<Made<'_>>) -> Summary {
    // Summing in order of size gives the same sum however the sample was ordered.
    let moments = match order {
        SortedSample::Sorted(sorted) => Moments::from_values(*sorted),
        SortedSample::Sketch(_) => Moments::from_values(series),
    };
    let quantile = |p: f64| order.quantile(p).and_then(finite);
    let mean = moments.and_then(|moments| finite(moments.mean));
    let stddev = moments.and_then(|moments| moments.stddev());
    let [p25, median, p75, p95, p99] = [0.25, 0.5, 0.75, 0.95, 0.99].map(quantile);
    let made = of_packets.unwrap_or_default();
    let alone = || (Dependence::of_sharing(series, |value| value, made.lags), 1.0);
    let (dependence, excess) = made.centre.map_or_else(alone, Centre::of_mean);
    let sorted = match order {
        SortedSample::Sorted(sorted) => Some(*sorted),
        SortedSample::Sketch(_) => None,
    };
    let trimmed = sorted.and_then(|sorted| {
        let left_out = sorted.count() / TRIMMED_OF;
        Moments::from_values(sorted.part(left_out..sorted.count() - left_out))
    });
    let middle = median.map(|median| Dependence::of_sides(series, median, sorted, made.lags));
    let interval = |p: f64, level: Option<f64>| {
        let [low, high] = interval::ranks_of_quantile(series, p, level?, middle.as_ref()?, made)?;
        order.enclosing(low, high)
    };
    Summary {
        count: series.count() as u64,
        min: quantile(0.0),
        max: quantile(1.0),
        mean,
        stddev,
        trimmed_mean: trimmed.as_ref().and_then(|moments| finite(moments.mean)),
        trimmed_stddev: trimmed.and_then(|moments| moments.stddev()),
        median,
        iqr: p25.zip(p75).and_then(|(low, high)| finite(high - low)),
        p25,
        p75,
        p90: quantile(0.9),
        p95,
        p99,
        p99_9: quantile(0.999),
        mean_interval: mean.zip(stddev).and_then(|(mean, stddev)| {
            let (count, spread) = (series.count(), stddev * excess.sqrt());
            if of_packets.is_none() {
                return interval::of_mean(&dependence, count, mean, spread);
            }
            let skewness = interval::skewness(series, mean, stddev);
            interval::of_skewed_mean(&dependence, count, mean, spread, skewness)
                .filter(|_| count >= MIN_SAMPLES_FOR_MEAN_CI)
        }),
        median_interval: interval(0.5, median),
        p95_interval: interval(0.95, p95),
        p99_interval: interval(0.99, p99),
        block_length: dependence.block().map(|block| block as u64),
        quantile_error: matches!(order, SortedSample::Sketch(_)).then_some(SKETCH_ERROR),
    }
}

/// Mean, and sum of squared deviations from it.
#[derive(Clone, Copy)]
pub(crate) struct Moments {
    mean: f64,
    squares: f64,
    count: usize,
}

impl Moments {
    /// In two passes about one of the values, so that a large common offset costs no digits. `None` for an empty
    /// sample.
    pub(crate) fn from_values(values: impl SampleValues) -> Option<Self> {
        let count = values.count();
        let pivot = (count > 0).then(|| values.at(count / 2))?;
        let above = values.iter().map(|value| value - pivot).sum::<f64>() / real(count);
        let squares = values.iter().map(|value| (value - pivot - above).powi(2)).sum();
        Some(Self { mean: pivot + above, squares, count })
    }

    pub(crate) const fn mean(&self) -> f64 {
        self.mean
    }

    /// With n - 1 in its denominator; `None` for one value.
    fn stddev(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / real(self.count - 1)).sqrt()).and_then(finite)
    }

    /// With the count in its denominator: that of the values themselves.
    pub(crate) const fn variance(&self) -> f64 {
        self.squares / real(self.count)
    }
}

/// The sample in order of size, or what stands in for it.
enum SortedSample<N: SampleValues> {
    Sorted(N),
    Sketch(Box<DDSketch>),
}

impl<N: SampleValues> SortedSample<N> {
    fn sketch(series: N) -> Self {
        let mut sketch = DDSketch::new(Config::new(SKETCH_ERROR, SKETCH_BINS, SKETCH_LEAST));
        series.iter().for_each(|value| sketch.add(value));
        Self::Sketch(Box::new(sketch))
    }

    /// The quantile `p` from 0 to 1.
    fn quantile(&self, p: f64) -> Option<f64> {
        match self {
            Self::Sorted(sorted) => {
                let place = p * real(sorted.count() - 1);
                let below = to_usize(place);
                let low = self.rank(below)?;
                let high = self.rank(below + 1).unwrap_or(low);
                let part = place - real(below);
                // Weights, not a difference: it could overflow. Equal neighbours stay exact.
                Some(if part > 0.0 && high > low { low * (1.0 - part) + high * part } else { low })
            }
            Self::Sketch(sketch) => within(sketch, p),
        }
    }

    /// The values of two ranks, further apart by the sketch's error where they come from one.
    fn enclosing(&self, low: usize, high: usize) -> Option<[f64; 2]> {
        let (low, high) = (self.rank(low)?, self.rank(high)?);
        let error = if matches!(self, Self::Sketch(_)) { SKETCH_ERROR } else { 0.0 };
        Some([finite(low - low.abs() * error)?, finite(high + high.abs() * error)?])
    }

    /// The value of rank `rank`, counted from 0.
    fn rank(&self, rank: usize) -> Option<f64> {
        match self {
            Self::Sorted(sorted) => (rank < sorted.count()).then(|| sorted.at(rank)),
            Self::Sketch(sketch) => {
                let last = sketch.count().checked_sub(1)?;
                within(sketch, (real(rank) / real(last)).min(1.0))
            }
        }
    }
}

/// The quantile `p` of a sketch, no lower than its least value and no higher than its greatest: the middle of an outermost bin may be.
fn within(sketch: &DDSketch, p: f64) -> Option<f64> {
    let value = sketch.quantile(p).ok().flatten()?;
    Some(value.max(sketch.min()?).min(sketch.max()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_known_sample_has_the_known_summary() {
        let found = summary(&[4_i64, 1, 3, 2]);
        let expected = [(found.min, 1.0), (found.max, 4.0), (found.mean, 2.5), (found.median, 2.5)];
        assert!(expected.iter().all(|(found, value)| *found == Some(*value)), "{found:?}");
        assert_eq!((found.p25, found.p75, found.iqr), (Some(1.75), Some(3.25), Some(1.5)), "type 7");
        assert!((found.stddev.unwrap() - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((stddev_population(&[4_i64, 1, 3, 2]).unwrap() - (5.0_f64 / 4.0).sqrt()).abs() < 1e-12);
        // Student's quantile with three degrees of freedom is 3.182446.
        let [low, high] = found.mean_interval.unwrap();
        assert!(((high - low) / 2.0 - 3.182_446 * (5.0_f64 / 3.0).sqrt() / 2.0).abs() < 1e-5);
        assert_eq!(found.median_interval, None, "below six values no order statistics reach 95 %");
        assert_eq!(found.quantile_error, None);
    }

    /// Of 40 values the two lowest and the two highest are left out, however far away they are; of 19 none is.
    #[test]
    fn trimmed_figures_leave_out_a_twentieth_at_each_end() {
        let mut values: Vec<i64> = (0..36).map(|n| 100 + n * 7 % 36).collect();
        values.extend([-1_000_000, 3, 50_000, 9_000_000]);
        let (found, inner) = (summary(&values), summary(&values[..36]));
        assert_eq!((found.trimmed_mean, found.trimmed_stddev), (inner.mean, inner.stddev));
        let few = summary(&values[21..]);
        assert_eq!((few.count, few.trimmed_mean, few.trimmed_stddev), (19, few.mean, few.stddev));
        let sketched = summarise(&values, 10);
        assert_eq!((sketched.trimmed_mean, sketched.trimmed_stddev), (None, None));
    }

    #[test]
    fn no_quantile_of_a_sketch_lies_beyond_its_values() {
        for value in [1_000_003_i64, 20_000, 77_777, 123_456_789] {
            let found = summarise(&vec![value; 1_000], 100);
            assert!(found.quantile_error.is_some());
            let each = [found.min, found.p25, found.median, found.p95, found.p99, found.p99_9, found.max];
            assert_eq!(each, [Some(real(usize::try_from(value).unwrap())); 7]);
        }
    }

    #[test]
    fn one_value_has_no_spread_and_no_interval() {
        let found = summary(&[7_i64]);
        assert_eq!((found.median, found.iqr, found.mean), (Some(7.0), Some(0.0), Some(7.0)));
        assert_eq!((found.stddev, found.mean_interval, found.median_interval), (None, None, None));
        assert_eq!(stddev_population(&[7_i64]), Some(0.0));
        assert_eq!(summary::<i64>(&[]), Summary::default());
    }

    #[test]
    fn fewer_packets_than_tell_their_median_do_not_tell_their_mean() {
        let of = |count: i64| described(&(0..count).map(|n| n * n).collect::<Vec<_>>()).0;
        assert!((1..6).all(|count| of(count).mean_interval.is_none() && of(count).median_interval.is_none()));
        assert!(of(6).mean_interval.is_some() && of(6).median_interval.is_some());
        assert!(summary(&[1.0, 2.0]).mean_interval.is_some(), "of means of two trials");
    }

    #[test]
    fn six_values_have_their_extremes_for_the_medians_interval() {
        // 1 - 2/64 = 96.9 %.
        assert_eq!(summary(&[1_i64, 2, 3, 4, 5, 6]).median_interval, Some([1.0, 6.0]));
    }

    #[test]
    fn a_common_offset_costs_no_digits_of_the_deviation() {
        let near: Vec<i64> = (0..1_000).map(|n| n * 7_919 % 1_000).collect();
        let far: Vec<i64> = near.iter().map(|n| n + (1 << 52)).collect();
        assert_eq!(summary(&near).stddev, summary(&far).stddev);
    }

    #[test]
    fn a_sketch_finds_every_quantile_within_its_error_over_the_range_of_times() {
        // From a nanosecond to eleven days, evenly in the logarithm.
        let values: Vec<f64> = (0..20_000).map(|n| 1e15_f64.powf(f64::from(n) / 20_000.0)).collect();
        let exact = summarise(&values, usize::MAX);
        let sketch = summarise(&values, 100);
        assert_eq!(sketch.quantile_error, Some(SKETCH_ERROR));
        assert_eq!((sketch.count, sketch.min, sketch.max), (exact.count, exact.min, exact.max));
        for (found, expected) in [
            (sketch.p25, exact.p25),
            (sketch.median, exact.median),
            (sketch.p75, exact.p75),
            (sketch.p99, exact.p99),
            (sketch.p99_9, exact.p99_9),
        ] {
            let (found, expected) = (found.unwrap(), expected.unwrap());
            // Neighbouring values lie 0.17 % apart, which interpolation shares out.
            assert!((found / expected - 1.0).abs() < SKETCH_ERROR + 0.002, "{found} {expected}");
        }
        assert!((sketch.mean.unwrap() / exact.mean.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_medians_interval_allows_for_the_error_of_the_sketch() {
        // All within one bin of the sketch: it cannot tell the median from its neighbours.
        let values: Vec<i64> = (0..10_000).map(|n| 1_000_000 + n * 7_919 % 100).collect();
        let [low, high] = summarise(&values, 100).median_interval.unwrap();
        assert!(low <= 1_000_049.0 && 1_000_050.0 <= high, "{low} {high}");
    }

    /// Ten million values are summarised exactly, and one more by a sketch, for whose error the median's interval allows.
    #[test]
    fn ten_million_values_are_exact() {
        // Around 20,000, which is their median.
        let values: Vec<i64> = (0..=10_000_000).map(|n| 19_995 + n * 7_919 % 11).collect();
        let exact = summary(&values[1..]);
        assert_eq!((exact.count, exact.quantile_error, exact.median), (10_000_000, None, Some(20_000.0)));
        let sketched = summary(&values);
        assert_eq!((sketched.count, sketched.quantile_error), (10_000_001, Some(SKETCH_ERROR)));
        let [low, high] = sketched.median_interval.unwrap();
        assert!(low <= 20_000.0 && 20_000.0 <= high, "{low} {high}");
        assert!((sketched.median.unwrap() / 20_000.0 - 1.0).abs() <= SKETCH_ERROR, "{:?}", sketched.median);
    }

    proptest! {
        #[test]
        fn a_sketch_keeps_its_error_on_both_sides_of_zero(
            values in prop::collection::vec(-1_000_000_000_i64..1_000_000_000, 101..400),
        ) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let sketch = summarise(&values, 100);
            for (p, found) in [(0.25, sketch.p25), (0.5, sketch.median), (0.9, sketch.p90)] {
                let place = p * real(sorted.len() - 1);
                let (low, high) = (sorted[to_usize(place)].value(), sorted[to_usize(place) + 1].value());
                let slack = SKETCH_ERROR * low.abs().max(high.abs()) * 1.001 + SKETCH_LEAST;
                let found = found.unwrap();
                prop_assert!(low - slack <= found && found <= high + slack, "{low} {found} {high}");
            }
        }
    }
}
