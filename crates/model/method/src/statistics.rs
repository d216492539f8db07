//! What repeats and cases come to: intervals and paired differences.
//!
//! Chadda 2004's formula 2.10 has its root over the numerator only; what is used here is the sample's deviation, which
//! its table 2.1 uses too. Its factor 1.96 covers 92 % with ten repeats; Student's covers 95 %.

use romer_metrics::{student_975, summary};
use romer_record::document::Summary;

/// Mean, standard deviation (n-1) and Student's 95 % interval of the mean.
pub type Student = (f64, f64, [f64; 2]);

/// The variance of what rounding to whole numbers of `resolution` does to a value.
pub(crate) fn rounding(resolution: f64) -> f64 {
    resolution * resolution / 12.0
}

/// Student's 95 % interval of the mean of independent values that are known to `resolution`, with mean and deviation; `None` below two.
/// Values that are all the same scatter by less than the resolution, not by nothing: the interval has what rounding leaves open.
pub fn student(values: &[f64], resolution: f64) -> Option<Student> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / real(count);
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / real(count - 1);
    let deviation = libm::sqrt(variance);
    let error = libm::sqrt(variance.max(rounding(resolution)) / real(count));
    let half = student_975(real(count - 1))? * error;
    Some((mean, deviation, [mean - half, mean + half]))
}

/// The summary of independent repeats that are known to `resolution`.
pub fn repeats(values: &[f64], resolution: f64) -> Summary {
    let mut found = summary(values);
    // The summary allows for dependence, which trials in random order do not have.
    if let Some((_, _, interval)) = student(values, resolution) {
        found.mean_interval = Some(interval);
    }
    // Whatever values agree in, each is known to half the resolution on either side.
    let half = 0.5 * resolution;
    found.median_interval = found
        .median
        .zip(found.median_interval)
        .map(|(median, [low, high])| [low.min(median - half), high.max(median + half)]);
    found
}

/// The paired difference `b` minus `a`, repeat by repeat: mean, deviation, interval; pairs in which either is
/// missing are left out. Both are known to `resolution`.
pub fn paired(a: &[Option<f64>], b: &[Option<f64>], resolution: f64) -> (Vec<f64>, Option<Student>) {
    let pairs: Vec<f64> = a.iter().zip(b).filter_map(|(a, b)| Some((*b)? - (*a)?)).collect();
    let found = student(&pairs, of_differences(resolution));
    (pairs, found)
}

/// The resolution of differences of two values that are each known to `resolution`: the variances of both roundings add up.
pub fn of_differences(resolution: f64) -> f64 {
    resolution * core::f64::consts::SQRT_2
}

/// Difference over all frame sizes and loads, by repeat.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PooledDifference {
    /// The places that count: those with a pair in every repeat that counts.
    pub places: usize,
    /// Of each repeat the median of its differences: places at which a device is full do not carry it away.
    pub medians: Vec<f64>,
    /// Of each repeat their mean.
    pub means: Vec<f64>,
}

/// Paired differences, `pairs[place][repeat]`, averaged over the same places in every repeat.
///
/// All trials of a case in a repeat have in common what host and device were like meanwhile, so that the places of one repeat
/// tell nothing of how far this varies: the unit is the repeat. One that has fewer than half as many pairs as another (a
/// benchmark was interrupted in it) is left out.
pub fn over_places(pairs: &[Vec<Option<f64>>]) -> PooledDifference {
    let all = pairs.iter().map(Vec::len).max().unwrap_or(0);
    let of = |place: &Vec<Option<f64>>, repeat: usize| place.get(repeat).copied().flatten();
    let known = |repeat: usize| pairs.iter().filter(|place| of(place, repeat).is_some()).count();
    let most = (0..all).map(known).max().unwrap_or(0);
    let repeats: Vec<usize> = (0..all).filter(|repeat| most > 0 && known(*repeat) * 2 >= most).collect();
    let whole = pairs
        .iter()
        .filter_map(|place| repeats.iter().map(|repeat| of(place, *repeat)).collect::<Option<Vec<f64>>>());
    let whole: Vec<Vec<f64>> = whole.collect();
    let mut found = PooledDifference { places: whole.len(), ..PooledDifference::default() };
    for repeat in 0..repeats.len() {
        let here: Vec<f64> = whole.iter().filter_map(|place| place.get(repeat).copied()).collect();
        let summary = summary(&here);
        found.medians.extend(summary.median);
        found.means.extend(summary.mean);
    }
    found
}

#[expect(clippy::cast_precision_loss, reason = "counts of repeats")]
const fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_units::random::{RandomStream, Seed};

    /// Normal numbers of a fixed seed, by Box and Muller.
    fn normal(count: u64, name: u32) -> Vec<f64> {
        let stream = RandomStream::new(Seed([3; 6]), [u32::from_be_bytes(*b"test"), name]);
        let one = |n: u64| {
            let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.unit(2 * n)));
            radius * libm::cos(core::f64::consts::TAU * stream.unit(2 * n + 1))
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn the_interval_is_students_and_not_the_seeds() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let (mean, deviation, [low, high]) = student(&values, 0.0).unwrap();
        assert!((mean - 5.5).abs() < 1e-12 && (deviation - 3.027_650_354).abs() < 1e-8);
        assert!(((high - low) / 2.0 - 2.262_157 * deviation / 10.0_f64.sqrt()).abs() < 1e-5);
        assert_eq!(student(&[1.0], 0.0), None);
    }

    #[test]
    fn an_interval_of_ten_covers_the_mean_in_95_of_100() {
        // 4,000 samples: 95 % within 5 deviations of 0.345 % (probability below 1e-6). 1.96 would cover 91.8 %.
        let numbers = normal(40_000, 1);
        let covered = numbers.chunks(10).filter(|sample| {
            student(sample, 0.0).is_some_and(|(_, _, [low, high])| low <= 0.0 && 0.0 <= high)
        });
        let share = real(covered.count()) / 4_000.0;
        assert!((share - 0.95).abs() < 5.0 * 0.003_45, "{share}");
    }

    /// Equal repeats leave open what their resolution does.
    #[test]
    fn equal_repeats_have_an_interval() {
        let (_, deviation, [low, high]) = student(&[5_000.0; 2], 1.0).unwrap();
        // 12.706 deviations of the mean of two values that are rounded to whole numbers.
        let half = 12.706_205 * libm::sqrt(1.0 / 24.0);
        assert!(deviation == 0.0 && ((high - low) / 2.0 - half).abs() < 1e-5, "{low} {high}");
        let (_, found) = paired(&[Some(1.0); 2], &[Some(3.0); 2], 1.0);
        let (_, _, [low, high]) = found.unwrap();
        assert!(((high - low) / 2.0 - half * 2.0_f64.sqrt()).abs() < 1e-5, "{low} {high}");
        let equal = repeats(&[5_000.0; 8], 1.0);
        assert_eq!(equal.median_interval, Some([4_999.5, 5_000.5]), "the median of equal repeats as well");
        // What scatters by more is not widened.
        assert_eq!(student(&[1.0, 9.0], 1.0), student(&[1.0, 9.0], 0.0));
    }

    #[test]
    fn pairs_take_out_what_both_have_in_common() {
        let drift: Vec<f64> = (0..10).map(|n| f64::from(n) * 100.0).collect();
        let noise = normal(10, 2);
        let a: Vec<Option<f64>> = drift.iter().map(|value| Some(*value)).collect();
        let b: Vec<Option<f64>> =
            drift.iter().zip(&noise).map(|(value, noise)| Some(value + 5.0 + noise)).collect();
        let (pairs, found) = paired(&a, &b, 0.0);
        let (mean, _, [low, high]) = found.unwrap();
        assert_eq!(pairs.len(), 10);
        assert!((mean - 5.0).abs() < 1.5 && low > 0.0 && high < 10.0, "{low} {high}");
        assert_eq!(paired(&[None, Some(1.0)], &[Some(1.0), None], 0.0).0, Vec::<f64>::new());
    }

    #[test]
    fn an_interval_over_all_places_covers_what_the_trials_of_a_repeat_have_in_common() {
        // Two cases of which neither costs anything, in 12 places and 5 repeats, 4,000 times: each trial deviates by itself,
        // and all of a repeat together by as much again. At two places the device is full, and deviates by a hundred times
        // that.
        const PLACES: usize = 12;
        const REPEATS: usize = 5;
        const TIMES: usize = 4_000;
        let numbers = normal((TIMES * REPEATS * (PLACES + 1)) as u64, 3);
        let (mut medians, mut means, mut as_places) = (0, 0, 0);
        for one in numbers.chunks(REPEATS * (PLACES + 1)) {
            let (common, own) = one.split_at(REPEATS);
            let pairs: Vec<Vec<Option<f64>>> = own
                .chunks(REPEATS)
                .enumerate()
                .map(|(place, own)| {
                    let scale = if place < 2 { 100.0 } else { 1.0 };
                    own.iter().zip(common).map(|(own, common)| Some(scale * own + common)).collect()
                })
                .collect();
            let covers = |values: &[f64]| {
                usize::from(student(values, 0.0).is_some_and(|(_, _, [low, high])| low <= 0.0 && 0.0 <= high))
            };
            let found = over_places(&pairs);
            assert_eq!((found.places, found.medians.len()), (PLACES, REPEATS));
            medians += covers(&found.medians);
            means += covers(&found.means);
            // As if each place were independent of the others; those that are full are left out.
            let by_place: Vec<f64> =
                pairs[2..].iter().map(|place| place.iter().flatten().sum::<f64>() / real(REPEATS)).collect();
            as_places += covers(&by_place);
        }
        // Within 5 deviations of 0.345 % (probability below 1e-6).
        for covered in [medians, means].map(|count| real(count) / real(TIMES)) {
            assert!((covered - 0.95).abs() < 5.0 * 0.003_45, "{covered}");
        }
        assert!(real(as_places) / real(TIMES) < 0.7, "{as_places}: the places have nothing in common");
    }

    #[test]
    fn every_repeat_is_averaged_over_the_same_places() {
        let place = |values: &[f64]| values.iter().map(|value| Some(*value)).collect::<Vec<_>>();
        let mut pairs = vec![place(&[1.0, 2.0, 3.0]), place(&[10.0, 20.0, 30.0]), place(&[4.0, 5.0, 4.0])];
        let found = over_places(&pairs);
        assert_eq!((found.places, found.means[0], found.medians), (3, 5.0, vec![4.0, 5.0, 4.0]));
        // A place that a repeat does not have counts in none.
        pairs[1][2] = None;
        assert_eq!(over_places(&pairs).means, [2.5, 3.5, 3.5]);
        // A repeat that was interrupted takes no place from the others.
        pairs[2][2] = None;
        assert_eq!((over_places(&pairs).places, over_places(&pairs).means), (3, vec![5.0, 9.0]));
        assert_eq!(over_places(&[]), PooledDifference::default());
        assert_eq!(over_places(&[vec![None, None]]).medians, Vec::<f64>::new());
    }
}
