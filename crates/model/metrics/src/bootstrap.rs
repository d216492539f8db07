//! What a statistic would have been, had the same process been observed again: the moving-block bootstrap.
//!
//! Packets that follow each other share their fate, so whole stretches of the series are drawn anew, not single values
//! (Künsch 1989). How long a stretch is follows from the autocorrelations, as for the intervals of a measurement (Politis
//! and White 2004, with the correction of Patton, Politis and White 2009). Values are drawn by their place
//! in at most `BINS` classes of equal count, so that a million packets take no longer than they must; up to that many
//! values each is a class of its own, and nothing is rounded.

use std::ops::Range;

use romer_units::random::{Blocks, RandomStream, Seed};

use crate::interval::Dependence;
use crate::value::{real, to_usize};

/// Samples that are drawn.
pub const RESAMPLES: usize = 1_000;
/// The seed of every comparison.
pub const SEED: Seed = Seed([1676, 11, 22, 8, 1, 9]);
/// Fewer values than this are not drawn from.
pub const FEWEST: usize = 25;
/// The most classes.
const BINS: usize = 1 << 14;
/// A sample is put together from so many blocks at most: more would cost time and tell nothing more.
const MOST_BLOCKS: usize = 1 << 12;

/// A statistic that can be drawn anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// A quantile from 0 to 1, by linear interpolation between order statistics.
    Quantile(f64),
}

/// For each of `statistics` the values that it takes in [`RESAMPLES`] samples drawn from `series` by moving blocks.
/// All statistics are drawn at once, with the longest block that one of them asks for. `name` tells the draws of one series from those of another. `None` below [`FEWEST`] values.
pub fn resampled(series: &[f64], statistics: &[Statistic], name: u32) -> Option<Vec<Vec<f64>>> {
    if series.len() < FEWEST {
        return None;
    }
    let classes = Classes::from_series(series);
    let block = block_of(series, statistics, &classes);
    let mut drawn = vec![Vec::with_capacity(RESAMPLES); statistics.len()];
    let mut counts = vec![0u32; classes.values.len()];
    for sample in 0..RESAMPLES {
        counts.fill(0);
        let mut sum = 0.0;
        draw(series.len(), block, [name, number(sample)], |places| {
            sum += classes.sums[places.end] - classes.sums[places.start];
            for class in &classes.of_place[places] {
                counts[usize::from(*class)] += 1;
            }
        });
        for (statistic, values) in statistics.iter().zip(&mut drawn) {
            values.push(match statistic {
                Statistic::Mean => classes.centre + sum / real(series.len()),
                Statistic::Quantile(p) => classes.quantile(&counts, *p, series.len()),
            });
        }
    }
    Some(drawn)
}

/// The number of a sample, as its draws have it.
pub(crate) fn number(sample: usize) -> u32 {
    u32::try_from(sample).unwrap_or(u32::MAX)
}

/// Draws one sample of `count` values by moving blocks of `block` values (1 to `count`): `take` gets the places of each block. `name` is the
/// series' name and the sample's number.
pub(crate) fn draw(count: usize, block: usize, name: [u32; 2], mut take: impl FnMut(Range<usize>)) {
    let places = (count - block + 1) as u64;
    let mut random = Blocks::new(RandomStream::new(SEED, name));
    let mut left = count;
    let mut ordinal = 0u64;
    while left > 0 {
        // A word's 32 bits spread over the places unevenly by their number in four billion at the most.
        let word = random.block(ordinal / 16)[usize::try_from(ordinal % 16).unwrap_or(0)];
        let start = usize::try_from((u64::from(word) * places) >> 32).unwrap_or(0);
        ordinal += 1;
        let length = block.min(left);
        left -= length;
        take(start..start + length);
    }
}

/// Values in a block of `series`, where its mean and quantiles are drawn.
pub(crate) fn block_length(series: &[f64]) -> usize {
    const STATISTICS: [Statistic; 3] = [Statistic::Mean, Statistic::Quantile(0.5), Statistic::Quantile(0.95)];
    block_of(series, &STATISTICS, &Classes::from_series(series))
}

/// Whether `series`, of which each value shares a packet with `lags` that follow it, is long enough to tell how sure `statistic` is:
/// not where too few values, or too few beyond a quantile, are as good as independent of each other.
pub fn tells(series: &[f64], statistic: Statistic, lags: usize) -> bool {
    match statistic {
        Statistic::Mean => Dependence::of_sharing(series, |value| value, lags).is_known(),
        Statistic::Quantile(p) => crate::interval::tells_quantile(series, p, lags),
    }
}

/// Values in a block: what the dependence of the mean's values, or of those below a quantile, asks for.
fn block_of(series: &[f64], statistics: &[Statistic], classes: &Classes) -> usize {
    let longest = statistics.iter().filter_map(|statistic| match statistic {
        Statistic::Mean => Dependence::estimate(series, |value| value).block(),
        Statistic::Quantile(p) => {
            let place = to_usize(p * real(classes.values.len() - 1));
            let level = classes.values[place];
            Dependence::at_or_below(series, level, 0).block()
        }
    });
    longest.max().unwrap_or(1).max(series.len().div_ceil(MOST_BLOCKS)).min(series.len())
}

/// The interval that holds the middle 95 % of the differences of two statistics drawn by [`resampled`].
pub fn interval_of_difference(a: &[f64], b: &[f64]) -> Option<[f64; 2]> {
    let mut differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let last = differences.len().checked_sub(1)?;
    let at = |p: f64| differences.get(to_usize((p * real(last)).round())).copied();
    Some([at(0.025)?, at(0.975)?])
}

/// A series in classes of equal count.
struct Classes {
    /// The class of each value, in the order of the series.
    of_place: Vec<u16>,
    /// The mean of each class, ascending.
    values: Vec<f64>,
    /// Subtracted from the sums, so that a large common part costs no digits.
    centre: f64,
    /// Sums of the first 0, 1, 2, ... values above the centre.
    sums: Vec<f64>,
}

impl Classes {
    fn from_series(series: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..series.len()).collect();
        order.sort_unstable_by(|a, b| series[*a].total_cmp(&series[*b]));
        let size = series.len().div_ceil(BINS);
        let mut of_place = vec![0u16; series.len()];
        let mut values = Vec::with_capacity(series.len().div_ceil(size));
        for (class, places) in order.chunks(size).enumerate() {
            values.push(places.iter().map(|place| series[*place]).sum::<f64>() / real(places.len()));
            for place in places {
                of_place[*place] = u16::try_from(class).unwrap_or(u16::MAX);
            }
        }
        let centre = values[values.len() / 2];
        let mut sum = 0.0;
        let running = series.iter().map(|value| {
            sum += value - centre;
            sum
        });
        let sums = std::iter::once(0.0).chain(running).collect();
        Self { of_place, values, centre, sums }
    }

    /// The quantile of the sample that has `counts[class]` values of each class, `n` in all.
    fn quantile(&self, counts: &[u32], p: f64, n: usize) -> f64 {
        let place = p * real(n - 1);
        let below = to_usize(place);
        let part = place - real(below);
        let mut before = 0usize;
        let mut low = None;
        for (count, value) in counts.iter().zip(&self.values) {
            before += *count as usize;
            if before > below {
                let low = *low.get_or_insert(*value);
                if before > below + 1 || part <= 0.0 {
                    return low + (value - low) * part;
                }
            }
        }
        low.unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up series: noise that remembers `memory` of its last value.
    fn series(name: u32, n: u64, memory: f64) -> Vec<f64> {
        let stream = RandomStream::new(Seed([7; 6]), [name, 0]);
        let mut value = 0.0;
        (0..n)
            .map(|ordinal| {
                value = memory * value - (1.0 - stream.unit(ordinal)).ln();
                1e6 + value
            })
            .collect()
    }

    #[test]
    fn drawing_is_repeatable_and_lies_about_the_statistic_itself() {
        let values = series(1, 2_000, 0.0);
        let statistics = [Statistic::Mean, Statistic::Quantile(0.5)];
        let drawn = resampled(&values, &statistics, 3).unwrap();
        assert_eq!(Some(&drawn), resampled(&values, &statistics, 3).as_ref());
        assert_ne!(Some(&drawn), resampled(&values, &statistics, 4).as_ref());
        let mean = values.iter().sum::<f64>() / 2_000.0;
        let drawn_mean = drawn[0].iter().sum::<f64>() / 1_000.0;
        // Its own deviation is the sample's over the root of a thousand draws: 0.0007; blocks shift it by as little.
        assert!((mean - drawn_mean).abs() < 0.02, "{mean} {drawn_mean}");
        assert_eq!(resampled(&values[..24], &statistics, 3), None);
    }

    #[test]
    fn blocks_are_as_long_as_the_values_remember() {
        let block = |memory: f64, statistics: &[Statistic]| {
            let values = series(9, 4_000, memory);
            block_of(&values, statistics, &Classes::from_series(&values))
        };
        let median = [Statistic::Quantile(0.5)];
        for statistics in [&[Statistic::Mean][..], &median] {
            let (none, some, much) =
                (block(0.0, statistics), block(0.6, statistics), block(0.95, statistics));
            // The root of 4,000 is 63, whatever the values are.
            assert!(none < 8 && none < some && some < much, "{none} {some} {much}");
            assert!(much < 400, "{much}");
        }
        let long = vec![1.0; 100_000];
        assert_eq!(block_of(&long, &median, &Classes::from_series(&long)), 25, "4,096 blocks are enough");
    }

    #[test]
    fn classes_change_no_quantile_by_more_than_their_width() {
        let values = series(2, 100_000, 0.0);
        let classes = Classes::from_series(&values);
        let mut counts = vec![0u32; classes.values.len()];
        classes.of_place.iter().for_each(|class| counts[usize::from(*class)] += 1);
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        for p in [0.0, 0.25, 0.5, 0.95, 0.99] {
            let exact = sorted[to_usize(p * real(values.len() - 1))];
            let found = classes.quantile(&counts, p, values.len());
            assert!((exact - found).abs() < 0.02, "{p}: {exact} {found}");
        }
    }

    #[test]
    fn a_short_series_that_remembers_does_not_tell_of_its_tail() {
        let [short, long] = [500, 20_000].map(|count| series(4, count, 0.9));
        let tell = |values: &[f64]| [0.5, 0.95, 0.99].map(|p| tells(values, Statistic::Quantile(p), 0));
        assert_eq!((tell(&short), tell(&long)), ([true, false, false], [true; 3]));
        assert_eq!(tell(&series(4, 500, 0.0)), [true; 3], "independent values do");
        assert!(!tells(&series(4, 500, 0.995), Statistic::Mean, 0) && tells(&short, Statistic::Mean, 0));
        // Six extreme differences for each side of the quantile, and two for each packet that took long.
        let few = |count| tells(&series(4, count, 0.0), Statistic::Quantile(0.99), 1);
        assert!(!few(500) && !few(1_199));
    }

    #[test]
    fn a_series_that_remembers_gets_a_wider_interval() {
        let width = |memory: f64| {
            let draw = |name| resampled(&series(name, 4_000, memory), &[Statistic::Mean], name).unwrap();
            let [low, high] = interval_of_difference(&draw(5)[0], &draw(6)[0]).unwrap();
            // In units of the deviation of the values themselves.
            (high - low) * (1.0 - memory * memory).sqrt()
        };
        // In theory by the root of (1+m)/(1-m), 3.0 for 0.8.
        assert!(width(0.8) > 2.0 * width(0.0), "{} {}", width(0.8), width(0.0));
    }
}
