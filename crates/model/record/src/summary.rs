//! Summaries of samples.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Statistical summary of a sample. Quantiles are interpolated linearly between order statistics; the
/// standard deviation has n-1 in its denominator; confidence intervals are at 95 %. All are `null` if the
/// sample does not allow them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Minimum.
    pub min: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation of the sample (n-1).
    pub stddev: Option<f64>,
    /// Mean without the lowest and the highest 5 % of the values; `null` also if a sketch replaced the sorted sample.
    #[serde(default)]
    pub trimmed_mean: Option<f64>,
    /// Standard deviation (n-1) of the values that `trimmed_mean` is of.
    #[serde(default)]
    pub trimmed_stddev: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// Inter-quartile range, p75 minus p25.
    pub iqr: Option<f64>,
    /// 25 % quantile.
    pub p25: Option<f64>,
    /// 75 % quantile.
    pub p75: Option<f64>,
    /// 90 % quantile.
    pub p90: Option<f64>,
    /// 95 % quantile.
    pub p95: Option<f64>,
    /// 99 % quantile.
    pub p99: Option<f64>,
    /// 99.9 % quantile.
    pub p99_9: Option<f64>,
    /// 95 % confidence interval of the mean; `null` below six values, and if correlation between values
    /// leaves too small an effective sample size. The same applies to intervals of quantiles.
    pub mean_interval: Option<[f64; 2]>,
    /// 95 % confidence interval of the median.
    pub median_interval: Option<[f64; 2]>,
    /// 95 % confidence interval of p95.
    #[serde(default)]
    pub p95_interval: Option<[f64; 2]>,
    /// 95 % confidence interval of p99.
    #[serde(default)]
    pub p99_interval: Option<[f64; 2]>,
    /// Block length of the bootstrap for the interval of the mean, in values; above 1 if consecutive values
    /// are correlated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_length: Option<u64>,
    /// Relative error of the quantiles if a sketch replaced the sorted sample: above 10^7 values, and above
    /// 4,096 values of a live emulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile_error: Option<f64>,
}

impl Summary {
    /// One with the quantiles that `quantile` gives, by their probabilities, and nothing else.
    pub fn of_quantiles(quantile: impl Fn(f64) -> Option<f64>) -> Self {
        let (p25, p75) = (quantile(0.25), quantile(0.75));
        Self {
            median: quantile(0.5),
            iqr: p25.zip(p75).map(|(low, high)| high - low),
            p25,
            p75,
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            ..Self::default()
        }
    }
}
