//! A sketch of delays that can be merged: DDSketch (Masson, Rim and Lee 2019).
//!
//! A value falls into the bin whose number is its logarithm to the base (1 + α) / (1 - α). The middle of the bin differs from the value
//! by a relative error of at most α. Counts of bins are whole numbers, so merging is exact, associative and commutative.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sketches_ddsketch::Config;

/// The relative error α of quantiles.
pub const RELATIVE_ERROR: f64 = 0.01;
/// Values nearer to zero are zero, nanoseconds. Delays are whole nanoseconds.
const LEAST_NS: f64 = 0.5;
/// Only the mapping from values to bins is used, so that the number of bins has no limit here.
const UNUSED_BIN_LIMIT: u32 = 2_048;

/// Delays in nanoseconds, of either sign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DelaySketch {
    /// Counts of positive values: `[[bin, count], ...]`.
    #[serde(default, skip_serializing_if = "Bins::is_empty")]
    positive: Bins,
    /// Count of zeros.
    #[serde(default, skip_serializing_if = "is_zero")]
    zero: u64,
    /// Counts of negative values, by the bins of their magnitudes.
    #[serde(default, skip_serializing_if = "Bins::is_empty")]
    negative: Bins,
}

/// Counts by bin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Vec<(i32, u64)>", into = "Vec<(i32, u64)>")]
struct Bins(#[schemars(with = "Vec<(i32, u64)>")] BTreeMap<i32, u64>);

impl From<Vec<(i32, u64)>> for Bins {
    fn from(pairs: Vec<(i32, u64)>) -> Self {
        let mut bins = Self::default();
        for (bin, count) in pairs {
            bins.add(bin, count);
        }
        bins
    }
}

impl From<Bins> for Vec<(i32, u64)> {
    fn from(bins: Bins) -> Self {
        bins.0.into_iter().collect()
    }
}

impl Bins {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, bin: i32, count: u64) {
        if count > 0 {
            let counted = self.0.entry(bin).or_default();
            *counted = counted.saturating_add(count);
        }
    }

    fn count(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn mapping() -> Config {
    Config::new(RELATIVE_ERROR, UNUSED_BIN_LIMIT, LEAST_NS)
}

impl DelaySketch {
    /// Adds a delay, nanoseconds.
    pub fn add(&mut self, delay_ns: i64) {
        let mapping = mapping();
        let magnitude = real(delay_ns.unsigned_abs());
        match delay_ns {
            0 => self.zero = self.zero.saturating_add(1),
            1.. => self.positive.add(mapping.key(magnitude), 1),
            _ => self.negative.add(mapping.key(magnitude), 1),
        }
    }

    /// Adds the delays of another sketch.
    pub fn merge(&mut self, other: &Self) {
        for (bin, count) in &other.positive.0 {
            self.positive.add(*bin, *count);
        }
        for (bin, count) in &other.negative.0 {
            self.negative.add(*bin, *count);
        }
        self.zero = self.zero.saturating_add(other.zero);
    }

    /// Number of delays.
    pub fn count(&self) -> u64 {
        self.positive.count().saturating_add(self.zero).saturating_add(self.negative.count())
    }

    /// The quantile of a probability from 0 to 1, nanoseconds, with a relative error of at most [`RELATIVE_ERROR`]: the value of the
    /// rank `floor(p * (count - 1))`. `None` for an empty sketch and for other probabilities.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        if !(0.0..=1.0).contains(&p) {
            return None;
        }
        let last = self.count().checked_sub(1)?;
        let rank = p * real(last);
        let mut before = 0_u64;
        let mut value = None;
        for (middle, count) in self.bins() {
            before = before.saturating_add(count);
            value = Some(middle);
            // The whole part of the rank is below `before` exactly if the rank is.
            if rank < real(before) {
                break;
            }
        }
        value
    }

    /// Middles of the bins and their counts, in ascending order; nanoseconds.
    pub fn bins(&self) -> Vec<(f64, u64)> {
        let mapping = mapping();
        let negative = self.negative.0.iter().rev().map(|(bin, count)| (-mapping.value(*bin), *count));
        let zero = Some((0.0, self.zero)).filter(|(_, count)| *count > 0);
        let positive = self.positive.0.iter().map(|(bin, count)| (mapping.value(*bin), *count));
        negative.chain(zero).chain(positive).collect()
    }
}

/// The nearest floating-point number.
#[expect(clippy::cast_precision_loss, reason = "a relative error of 2^-53 is far below that of the sketch")]
const fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sketch(delays: &[i64]) -> DelaySketch {
        let mut sketch = DelaySketch::default();
        delays.iter().for_each(|delay| sketch.add(*delay));
        sketch
    }

    /// An empty sketch has no quantiles, and no probability outside 0 to 1 has one.
    #[test]
    fn missing_quantiles_are_none() {
        assert_eq!(sketch(&[]).quantile(0.5), None);
        assert_eq!(sketch(&[1]).quantile(1.1), None);
        assert_eq!(sketch(&[1]).quantile(f64::NAN), None);
        assert_eq!(sketch(&[0]).quantile(0.5), Some(0.0));
    }

    /// The JSON form is a list of bins. A bin that is listed twice has both counts.
    #[test]
    fn json_lists_bins() {
        let text = serde_json::to_string(&sketch(&[1, 1, 0, -1])).unwrap();
        assert_eq!(text, r#"{"positive":[[0,2]],"zero":1,"negative":[[0,1]]}"#);
        let twice: DelaySketch = serde_json::from_str(r#"{"positive":[[3,1],[3,2],[4,0]]}"#).unwrap();
        assert_eq!(serde_json::to_string(&twice).unwrap(), r#"{"positive":[[3,3]]}"#);
    }

    /// Counts of hostile sketches do not overflow.
    #[test]
    fn huge_counts_saturate() {
        let text = format!(r#"{{"positive":[[{},{}]],"negative":[[{},1]]}}"#, i32::MAX, u64::MAX, i32::MIN);
        let mut sketch: DelaySketch = serde_json::from_str(&text).unwrap();
        let other = sketch.clone();
        sketch.merge(&other);
        assert_eq!(sketch.count(), u64::MAX);
        assert!(sketch.quantile(0.5).is_some());
    }

    proptest! {
        /// A quantile differs from the value of its rank by at most the stated relative error, whatever the sign and the magnitude.
        #[test]
        fn quantiles_keep_their_error(
            delays in prop::collection::vec(prop_oneof![-10_000_000_000_i64..10_000_000_000, -5_i64..5], 1..200),
            p in 0.0_f64..=1.0,
        ) {
            let mut sorted = delays.clone();
            sorted.sort_unstable();
            let found = sketch(&delays).quantile(p).unwrap();
            let rank = p * real(u64::try_from(sorted.len() - 1).unwrap());
            let exact = (0..).zip(&sorted).take_while(|(place, _)| real(*place) <= rank).last().unwrap().1;
            let error = (found - real(exact.unsigned_abs()).copysign(if *exact < 0 { -1.0 } else { 1.0 })).abs();
            prop_assert!(error <= RELATIVE_ERROR * real(exact.unsigned_abs()) * (1.0 + 1e-9), "{found} {exact}");
        }

        /// The sketch of all values is the merged sketch of its parts.
        #[test]
        fn merging_is_exact(one in prop::collection::vec(any::<i64>(), 0..50), other in prop::collection::vec(any::<i64>(), 0..50)) {
            let mut merged = sketch(&one);
            merged.merge(&sketch(&other));
            prop_assert_eq!(merged, sketch(&[one, other].concat()));
        }
    }
}
