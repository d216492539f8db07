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
        let mapping = mapping();
        let negative = self.negative.0.iter().rev().map(|(bin, count)| (-mapping.value(*bin), *count));
        let zero = [(0.0, self.zero)];
        let positive = self.positive.0.iter().map(|(bin, count)| (mapping.value(*bin), *count));
        let mut before = 0_u64;
        let mut value = None;
        for (middle, count) in negative.chain(zero).chain(positive).filter(|(_, count)| *count > 0) {
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
