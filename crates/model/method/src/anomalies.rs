//! Soft spots: a size or a load at which a device is worse than at those beside it.
//!
//! Few repeats say little of how far repeats scatter, so that a test of three points by their own repeats alone finds
//! nothing that is not gross. Repeats of one quantity scatter about alike in many places, as a share of what they are
//! about; so a deviation is held against what is known of many of them together ([`Scatter`]), be it of all, of those of the
//! same load or of the same size, whichever is the greatest; and a place whose own repeats scatter more is held against
//! those. Whoever looks at many places corrects for that ([`holm`]).

use crate::statistics::rounding;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A point of a curve with its repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// Where.
    pub x: f64,
    /// What was found there, repeat by repeat.
    pub values: Vec<f64>,
    /// To what that is known: one frame, one nanosecond.
    pub resolution: f64,
}

/// How far repeats of a quantity scatter in several places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatter {
    /// Variance as a share of the squared mean.
    relative: f64,
    /// Degrees of freedom.
    freedom: f64,
}

impl Scatter {
    /// That of these places; `None` where no place has two repeats.
    pub fn of_points<'p>(points: impl IntoIterator<Item = &'p CurvePoint>) -> Option<Self> {
        let (mut sum, mut freedom) = (0.0, 0.0);
        for point in points {
            let Some(mean) = mean(&point.values).filter(|mean| *mean > 0.0 && point.values.len() > 1) else {
                continue;
            };
            sum += squares(&point.values, mean) / (mean * mean);
            freedom += real(point.values.len() - 1);
        }
        (freedom > 0.0).then(|| Self { relative: sum / freedom, freedom })
    }

    /// This, or the scatter of some of these places where that is greater.
    #[must_use]
    pub fn or_greater(self, other: Option<Self>) -> Self {
        Self { relative: other.map_or(self.relative, |other| self.relative.max(other.relative)), ..self }
    }
}

/// What a curve shows, and so what a sound device's looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveShape {
    /// What is forwarded over the loads, in the unit of the loads: as much as is offered where more is forwarded when more is
    /// offered, and no less than before at the greatest load.
    CarriedOverLoads,
    /// What is forwarded over the sizes: nowhere below the line between the neighbours, for small frames cost more.
    CarriedOverSizes,
    /// A latency or a jitter: it rises or falls, but is nowhere above both neighbours.
    Delay,
}

/// A point that may be worse than it should.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspicion {
    /// Its place among the points.
    pub place: usize,
    /// Its mean.
    pub found: f64,
    /// What a sound device would have there at the worst.
    pub expected: f64,
    /// Probability of as great a deviation for the worse by chance, this point taken by itself.
    pub probability: f64,
}

/// Every point of a curve that can be tested, with how probable its deviation is; `spreads`: what each point is held against.
pub fn suspicions(points: &[CurvePoint], kind: CurveShape, spreads: &[Scatter]) -> Vec<Suspicion> {
    let both = points.iter().zip(spreads);
    let means: Vec<Option<Estimate>> =
        both.map(|(point, spread)| Estimate::from_point(point, spread)).collect();
    let freedom = spreads.iter().map(|spread| spread.freedom).fold(f64::INFINITY, f64::min);
    let at = |place: usize| means.get(place).copied().flatten();
    let last = points.len().saturating_sub(1);
    let one = |place: usize| {
        let here = at(place)?;
        let before = || place.checked_sub(1).and_then(at);
        let after = || at(place + 1);
        let references = match kind {
            CurveShape::CarriedOverLoads if place == last => vec![before()?],
            CurveShape::CarriedOverLoads => vec![Estimate { mean: points[place].x, variance: 0.0 }, after()?],
            CurveShape::CarriedOverSizes => {
                let [left, right] =
                    [place.checked_sub(1)?, place + 1].map(|place| points.get(place).map(|one| one.x));
                vec![between(before()?, after()?, (points[place].x - left?) / (right? - left?))?]
            }
            CurveShape::Delay => vec![before()?, after()?],
        };
        let sign = if kind == CurveShape::Delay { -1.0 } else { 1.0 };
        // It is to be worse than each of them: the least evidence counts.
        let probability =
            references.iter().map(|other| chance(sign * (other.mean - here.mean), [here, *other], freedom));
        let nearest = references.iter().map(|other| sign * other.mean).fold(f64::INFINITY, f64::min);
        Some(Suspicion {
            place,
            found: here.mean,
            expected: sign * nearest,
            probability: probability.fold(0.0, f64::max),
        })
    };
    (0..points.len()).filter_map(one).collect()
}

/// Probabilities of several tests, each corrected for all of them (Holm 1979): those below a level are all wrong with a
/// probability of at most that level, however the tests depend on each other.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut corrected = vec![1.0; probabilities.len()];
    let mut most = 0.0_f64;
    for (rank, place) in order.into_iter().enumerate() {
        most = most.max(probabilities[place] * real(probabilities.len() - rank)).min(1.0);
        corrected[place] = most;
    }
    corrected
}

/// Probability of a mean this far from zero, to either side, where it is zero in truth; `None` below two values. Values that are all the
/// same scatter by less than the `resolution` to which they are known, not by nothing.
pub fn chance_of_mean(values: &[f64], resolution: f64) -> Option<f64> {
    let count = real(values.len());
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let error = libm::sqrt((squares(values, mean) / (count - 1.0)).max(rounding(resolution)) / count);
    Some((2.0 * tail(mean.abs(), error, count - 1.0)).min(1.0))
}

/// A mean and the variance of it.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    mean: f64,
    variance: f64,
}

impl Estimate {
    fn from_point(point: &CurvePoint, spread: &Scatter) -> Option<Self> {
        let values = &point.values;
        let mean = mean(values).filter(|_| values.len() > 1)?;
        let count = real(values.len());
        let own = squares(values, mean) / (count - 1.0);
        let least = rounding(point.resolution);
        Some(Self { mean, variance: own.max(spread.relative * mean * mean).max(least) / count })
    }
}

/// The line between two points, at a share of the way.
fn between(left: Estimate, right: Estimate, share: f64) -> Option<Estimate> {
    let found = Estimate {
        mean: left.mean * (1.0 - share) + right.mean * share,
        variance: left.variance * (1.0 - share) * (1.0 - share) + right.variance * share * share,
    };
    (share > 0.0 && share < 1.0).then_some(found)
}

fn chance(worse: f64, [one, other]: [Estimate; 2], freedom: f64) -> f64 {
    tail(worse, libm::sqrt(one.variance + other.variance), freedom)
}

/// Probability of a deviation at least as great, with this standard error.
fn tail(deviation: f64, error: f64, freedom: f64) -> f64 {
    // Repeats that are all the same leave nothing to chance; what their sums are rounded by is nothing.
    if error <= 1e-12 * deviation.abs() {
        return if deviation > 0.0 { 0.0 } else { 1.0 };
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| student.sf(deviation / error))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / real(values.len()))
}

fn squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

#[expect(clippy::cast_precision_loss, reason = "counts of repeats and tests")]
const fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
#[path = "anomalies_tests.rs"]
mod tests;
