//! How far the least of a series may be from that of another run of the same process.
//!
//! Drawing a series anew does not tell it: no sample that is drawn has a value below the least there is. What tells it is how far the
//! least values of parts of the series are apart. The least of independent values of a tail that falls off exponentially, or faster, has
//! Gumbel's distribution, and its scale is the mean by which the lowest of such least values are below the next (Weissman 1978). Where
//! values end at a bound, the least of the whole is nearer to it than those of parts are, and the scale says too much, not too little.

use crate::value::real;

/// Parts that a series is cut into.
const PARTS: usize = 32;
/// The lowest of their least values that are looked at; what a few parts have above them (a path that was longer for a while) does not
/// count.
const LOWEST: usize = 8;
/// Values in a part at the least.
const IN_A_PART: usize = 8;
/// The difference of two values of one Gumbel distribution is logistic: 95 % of it are within ln 39 = 3.66 scales, and so within the
/// root of the sum of the squares of two such arms.
const ARM: f64 = 2.6;

/// The least of a series, as another run would have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinimumInterval {
    scale: f64,
    count: usize,
}

impl MinimumInterval {
    /// Of `series`, in order of sequence. `None` where it is too short to tell.
    pub fn estimate(series: &[f64]) -> Option<Self> {
        let parts = PARTS.min(series.len() / IN_A_PART);
        let mut least: Vec<f64> = (0..parts)
            .filter_map(|part| {
                let [from, to] = [part, part + 1].map(|edge| edge * series.len() / parts);
                series.get(from..to)?.iter().copied().min_by(f64::total_cmp)
            })
            .collect();
        least.sort_unstable_by(f64::total_cmp);
        let next = *least.get(LOWEST)?;
        let below: f64 = least[..LOWEST].iter().map(|value| next - value).sum();
        Some(Self { scale: below / real(LOWEST), count: series.len() })
    }

    /// How far below and above nothing the least of `b` minus that of `a` may be (95 %) where both are of the same process: more
    /// values have a lower least.
    pub fn apart(a: Self, b: Self) -> [f64; 2] {
        let even = (ARM * a.scale).hypot(ARM * b.scale);
        let more = (real(b.count) / real(a.count)).ln() * a.scale.max(b.scale);
        [even + more.max(0.0), even - more.min(0.0)]
    }
}

#[cfg(test)]
mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;

    /// A value that depends on those before it, and on chance: a waiting time of one of these kinds.
    fn series(kind: u32, name: u32, count: u64) -> Vec<f64> {
        let stream = RandomStream::new(Seed([9, 9, 9, 9, kind, 9]), [name, 0]);
        let unit = |place: u64| stream.unit(place).clamp(1e-12, 1.0 - 1e-12);
        let normal =
            |n: u64| (-2.0 * unit(2 * n).ln()).sqrt() * (std::f64::consts::TAU * unit(2 * n + 1)).cos();
        let mut last = 0.0;
        (0..count)
            .map(|n| match kind {
                0 => normal(n),
                1 => -unit(n).ln(),
                2 => -(unit(3 * n) * unit(3 * n + 1) * unit(3 * n + 2)).ln(),
                _ => {
                    last = 0.9 * last + normal(n);
                    last
                }
            })
            .collect()
    }

    /// Of 400 pairs 380 are expected to be held; fewer than 356 of such are one time in a million where one in twenty is not.
    #[test]
    fn the_leasts_of_one_process_are_no_further_apart_than_is_said() {
        for kind in 0..4 {
            for (few, many) in [(300, 300), (300, 2_000)] {
                let mut held = 0;
                for pair in 0..400 {
                    let [a, b] = [few, many].map(|count| (count, pair * 2 + u32::from(count == many)));
                    let [a, b] = [a, (b.0, pair * 2 + 1)].map(|(count, name)| series(kind, name, count));
                    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
                    let difference = least(&b) - least(&a);
                    let [below, above] = MinimumInterval::apart(
                        MinimumInterval::estimate(&a).unwrap(),
                        MinimumInterval::estimate(&b).unwrap(),
                    );
                    held += u32::from(-below <= difference && difference <= above);
                }
                assert!(held >= 356, "kind {kind}, {few} and {many}: {held} of 400");
            }
        }
    }

    #[test]
    fn a_bound_that_values_reach_often_is_firm_and_a_short_series_tells_nothing() {
        let floor: Vec<f64> = series(1, 1, 2_000).into_iter().map(|value| (value - 0.1).max(0.0)).collect();
        let least = MinimumInterval::estimate(&floor).unwrap();
        assert!(MinimumInterval::apart(least, least).iter().all(|open| *open <= 0.0), "{least:?}");
        assert_eq!(MinimumInterval::estimate(&floor[..71]), None);
        // What is longer for half of the time is no matter of the least.
        let half: Vec<f64> =
            floor.iter().enumerate().map(|(n, value)| value + if n < 1_000 { 5.0 } else { 0.0 }).collect();
        assert!(MinimumInterval::estimate(&half).unwrap().scale <= 0.0);
    }
}
