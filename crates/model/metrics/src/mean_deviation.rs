//! Jitter by method 4 as figures: how far delays lie from their mean.
//!
//! The mean is that of the same delays, and its error is in each of the deviations. Those of delays whose distribution is
//! symmetrical become longer on the one side and shorter on the other, and on the whole it makes no difference; of skewed
//! delays it may be most of a figure's error. It is taken in by the figures' influence functions: what one delay moves a figure by, by
//! itself and by way of the mean.

use std::ops::Range;

use romer_record::OneWaySingleton;
use romer_record::document::Summary;

use crate::interval::Dependence;
use crate::jitter::Mean;
use crate::summary::{Made, Moments, summary_made};
use crate::value::{SampleValues, Whole, real};
use crate::{sample, sort};

/// So many delays at most, from the middle, tell what the mean's error does.
const LOOKED_AT: usize = 1 << 20;
/// How far the mean is moved to see what becomes of a quantile, in its standard errors: far enough for some delays to change
/// sides.
const MOVED: f64 = 2.0;

/// The figures of jitter by method 4, with the error of the mean in their intervals.
pub fn deviations(singletons: &[OneWaySingleton]) -> Summary {
    let delays = sample::delays(singletons);
    of_delays(&delays, &sort::ascending(&delays))
}

/// The same of delays as they were measured, and ascending.
pub(crate) fn of_delays<V: Whole>(series: &[V], sorted: &[V]) -> Summary {
    let Some(mean) = Mean::new(series) else { return Summary::default() };
    let centre = Centre::mean(series, mean);
    let valley = sort::of_valley(sorted, |a, b| mean.distance(*a) < mean.distance(*b));
    let [series, sorted] = [series, &valley].map(|delays| Deviations { delays, mean });
    summary_made(series, sorted, Made { lags: 0, centre: centre.as_ref() })
}

/// How far each of these delays lies from their mean, whatever its sign.
#[derive(Clone, Copy)]
struct Deviations<'a, V> {
    delays: &'a [V],
    mean: Mean<V>,
}

impl<V: Whole> SampleValues for Deviations<'_, V> {
    fn count(self) -> usize {
        self.delays.len()
    }

    fn at(self, place: usize) -> f64 {
        self.mean.distance(self.delays[place])
    }

    fn part(self, places: Range<usize>) -> Self {
        Self { delays: &self.delays[places], ..self }
    }

    fn iter(self) -> impl Iterator<Item = f64> {
        self.delays.iter().map(move |delay| self.mean.distance(*delay))
    }
}

/// Values about their mean.
pub(crate) struct Centre {
    /// What they lie above it, as they were measured: of a long series its middle.
    signed: Vec<f64>,
    /// Their standard deviation.
    spread: f64,
    /// How much a mean deviation grows with the mean: twice the share of values below it, less one.
    slope: f64,
}

impl Centre {
    fn mean<V: Whole>(series: &[V], mean: Mean<V>) -> Option<Self> {
        let part = series.middle(LOOKED_AT);
        let signed: Vec<f64> = part.iter().map(|delay| mean.deviation(*delay)).collect();
        let spread = Moments::from_values(&signed[..])?.variance().sqrt();
        let below = signed.iter().filter(|value| **value <= 0.0).count();
        let slope = 2.0 * real(below) / real(part.len()) - 1.0;
        (spread > 0.0).then_some(Self { signed, spread, slope })
    }

    /// What depends on the mean in a mean deviation: how much its values depend on each other, and how many times their variance
    /// exceeds that of the deviations.
    pub(crate) fn of_mean(&self) -> (Dependence, f64) {
        let slope = self.slope;
        let influence = move |value: f64| value.abs() + slope * value;
        let excess = self.variance(influence) / self.variance(f64::abs);
        (Dependence::estimate(&self.signed[..], influence), if excess.is_finite() { excess } else { 1.0 })
    }

    /// The same of the share of deviations up to `level`; the excess is over the variance of that share itself.
    pub(crate) fn of_share(&self, level: f64) -> (Dependence, f64) {
        let away = MOVED * self.spread / real(self.signed.len()).sqrt();
        let near =
            |mean: f64| real(self.signed.iter().filter(|value| (**value - mean).abs() <= level).count());
        let slope = (near(away) - near(-away)) / (2.0 * away * real(self.signed.len()));
        let within = move |value: f64| if value.abs() <= level { 1.0 } else { 0.0 };
        let influence = move |value: f64| within(value) + slope * value;
        let excess = self.variance(influence) / self.variance(within);
        (Dependence::estimate(&self.signed[..], influence), if excess.is_finite() { excess } else { 1.0 })
    }

    fn variance(&self, of: impl Fn(f64) -> f64) -> f64 {
        let n = real(self.signed.len());
        let mean = self.signed.iter().map(|value| of(*value)).sum::<f64>() / n;
        self.signed.iter().map(|value| (of(*value) - mean).powi(2)).sum::<f64>() / n
    }
}
