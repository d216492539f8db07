//! Normal scores: a delay as the standard normal value of the same rank.

use statrs::distribution::{ContinuousCDF, Normal};

/// Classes of delay that hold equal shares of all delays.
const SHARES: usize = 20;
/// Equal steps of delay, between the outermost hundredths of the delays, at which these classes are divided.
const DIVISIONS: usize = 20;
/// The least share of all delays in a class.
const LEAST_SHARE: f64 = 0.005;

/// The transformation of one law to a standard normal one.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// Distinct delays, ascending.
    values: Vec<f64>,
    /// The score of each.
    scores: Vec<f64>,
    /// The share of delays below each, half of those equal to it included.
    ranks: Vec<f64>,
}

impl Scores {
    /// By the ranks of `delays`; equal delays share the mean of their ranks.
    pub fn new(delays: &[f64]) -> Self {
        let mut sorted = delays.to_vec();
        sorted.sort_by(f64::total_cmp);
        let normal = Normal::standard();
        let count = sorted.len() as f64;
        let (mut values, mut scores, mut ranks) = (Vec::new(), Vec::new(), Vec::new());
        let mut below = 0;
        for group in sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
            let rank = (below as f64 + group.len() as f64 / 2.0) / count;
            values.push(group[0]);
            scores.push(normal.inverse_cdf(rank));
            ranks.push(rank);
            below += group.len();
        }
        Self { values, scores, ranks }
    }

    /// Whether there are no delays.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The score of a delay, linear between those of its neighbours; beyond the extremes theirs.
    pub fn score(&self, delay: f64) -> f64 {
        self.interpolate(&self.scores, delay)
    }

    /// The rank of a delay, from 0 to 1, likewise.
    pub fn rank(&self, delay: f64) -> f64 {
        self.interpolate(&self.ranks, delay)
    }

    /// The ends of classes of delay, as ranks from 0 to 1, ascending: [`SHARES`] equal shares, divided at [`DIVISIONS`] equal steps of delay
    /// as far as each class keeps [`LEAST_SHARE`].
    pub(crate) fn classes(&self) -> Vec<f64> {
        let mut ends: Vec<f64> = (0..=SHARES).map(|place| place as f64 / SHARES as f64).collect();
        let at = |rank: f64| {
            let place = self.ranks.partition_point(|one| *one < rank);
            self.values.get(place).or_else(|| self.values.last()).copied().unwrap_or(0.0)
        };
        let [low, high] = [at(0.01), at(0.99)];
        // The share of delays below each value: its rank is in the middle of its own share.
        let mut below = Vec::with_capacity(self.ranks.len());
        let mut share = 0.0;
        for rank in &self.ranks {
            below.push(share);
            share = 2.0 * rank - share;
        }
        for step in 1..DIVISIONS {
            let value = low + (high - low) * step as f64 / DIVISIONS as f64;
            let end = below.get(self.values.partition_point(|one| *one < value)).copied().unwrap_or(1.0);
            let above = ends.partition_point(|one| *one < end);
            let near = [above.checked_sub(1), Some(above)].into_iter().flatten();
            if near.filter_map(|place| ends.get(place)).all(|one| (one - end).abs() >= LEAST_SHARE) {
                ends.insert(above, end);
            }
        }
        ends
    }

    fn interpolate(&self, of: &[f64], delay: f64) -> f64 {
        let above = self.values.partition_point(|value| *value < delay);
        let Some(value) = self.values.get(above) else { return of.last().copied().unwrap_or(0.0) };
        let Some(before) = above.checked_sub(1) else { return of[0] };
        let share = (delay - self.values[before]) / (value - self.values[before]);
        of[before] + share * (of[above] - of[before])
    }
}

/// The standard normal quantile.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One delay in fifty that is far from all others has a class of its own, and no class is too small.
    #[test]
    fn rare_delays_have_classes() {
        let delays: Vec<f64> = (0..2_000)
            .map(|n| if n < 1_960 { f64::from(n) / 1e6 } else { 0.1 + f64::from(n) / 1e6 })
            .collect();
        let classes = Scores::new(&delays).classes();
        assert!(classes.windows(2).all(|ends| ends[1] - ends[0] >= LEAST_SHARE), "{classes:?}");
        assert!(classes.iter().any(|end| (end - 0.98).abs() < 0.001), "{classes:?}");
    }

    #[test]
    fn scores_are_normal_and_monotone() {
        let delays: Vec<f64> = (0..1000).map(|n| (f64::from(n) / 100.0).exp()).collect();
        let scores = Scores::new(&delays);
        let all: Vec<f64> = delays.iter().map(|delay| scores.score(*delay)).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        let variance = all.iter().map(|score| score * score).sum::<f64>() / 1000.0;
        assert!((variance - 1.0).abs() < 0.01, "{variance}");
        assert!((scores.score(delays[499]) + scores.score(delays[500])).abs() < 1e-9);
        assert!((scores.score(-1.0) - all[0]).abs() < 1e-12);
        assert!((scores.score(1e9) - all[999]).abs() < 1e-12);
    }
}
