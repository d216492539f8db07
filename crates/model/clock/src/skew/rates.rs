//! What each direction leaves open of the clocks' rate between events, and both together: by their posteriors, by what floors that depend on each
//! other tell less, and by what those that wander add.

use super::arithmetic::many;
use super::estimate::coarse;
use super::posterior::{Line, Observation, SlopePosterior, leverage, roughly, told};
use super::survey::Survey;
use super::unrest::{self, SlopeObservations, Unrest};
use romer_units::Direction;

/// What stamps do not tell makes a slope uncertain by this share of what it would if all of it lay against it: three times
/// what they tell apart, over the run. Where simulated clocks drift by less than that the error was below a half of it.
pub(crate) const TILT: f64 = 0.6;
/// Ranks of neighbouring floors that are alike by so many times what chance makes them depend on each other.
const DEPENDENT: f64 = 3.0;

/// What one direction says of the rate, nanoseconds a second of the responder's clock.
pub(crate) struct Rate {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
    pub(crate) draws: Vec<f64>,
    /// From what, and how the responder's clock enters its delays.
    pub(crate) observations: Vec<Observation>,
    pub(crate) line: Line,
    pub(crate) heading: Direction,
    pub(crate) sign: f64,
    /// The ranks of all floors' heights, by group.
    pub(crate) ranks: Vec<Vec<f64>>,
    /// By how much it may be off besides because of what stamps do not tell.
    pub(crate) tilt: f64,
    /// These tell no single nanoseconds.
    pub(crate) is_coarse: bool,
}

/// What a direction tells of the rate by the floors between its changes.
pub(crate) fn rate(survey: &Survey, heading: Direction) -> Option<Rate> {
    let observations = survey.observations();
    let tilt = TILT * leverage(&observations) * survey.grain;
    let line = Line::new(&observations, survey.slope)?;
    let sign = heading.sign();
    let SlopePosterior { mean, variance, draws } = roughly(&line, sign)?;
    let is_coarse = coarse(survey.grain) > 0.0;
    let variance = variance + if is_coarse { (0.5 * tilt).powi(2) } else { 0.0 };
    let groups = survey.groups.iter().map(|group| &survey.floors[group.clone()]);
    let ranks = groups.map(|group| ranked(group.iter().map(|floor| floor.above(sign * mean)))).collect();
    Some(Rate { mean, variance, draws, observations, line, heading, sign, ranks, tilt, is_coarse })
}

/// What both directions leave open of the rate.
pub(crate) struct Combined {
    pub(crate) mean: f64,
    /// In order.
    pub(crate) draws: Vec<f64>,
    /// By how much the whole may be off because of what stamps do not tell.
    pub(crate) tilt: f64,
    /// By how many times a variance is greater because neighbouring floors are alike.
    pub(crate) dependence: f64,
    /// The variance of what floors that wander add.
    pub(crate) wander: f64,
}

/// Both directions by what each leaves open of the rate, with what floors that wander leave open besides.
pub(crate) fn combine(rates: &[Rate]) -> Option<Combined> {
    if rates.is_empty() {
        return None;
    }
    let total: f64 = rates.iter().map(|rate| 1.0 / rate.variance.max(1e-12)).sum();
    let SlopePosterior { mean, mut draws, .. } = match rates {
        [a, b] if a.is_coarse || b.is_coarse => added(rates, total)?,
        _ => told(&rates.iter().map(|rate| (&rate.line, rate.sign)).collect::<Vec<_>>())?,
    };
    let dependence = dependence(rates, mean);
    // Neither does another direction tell of one that is alone how far its floors move together: the least of so many fewer lies as much higher.
    let dependence = if rates.len() == 1 { dependence * dependence } else { dependence };
    let wider = dependence.sqrt();
    draws.iter_mut().for_each(|draw| *draw = mean + wider * (*draw - mean));
    let unrest = unrest(rates, mean, total);
    let wander = unrest.as_ref().map_or(0.0, Unrest::variance);
    if let Some(unrest) = unrest {
        unrest.add(&mut draws);
    }
    draws.sort_by(f64::total_cmp);
    let tilt = rates.iter().map(|rate| rate.tilt / rate.variance.max(1e-12)).sum::<f64>() / total;
    Some(Combined { mean, draws, tilt, dependence, wander })
}

/// Each direction by how sure it is; the draws of both added up in an order that has nothing to do with theirs. `total` is the sum of the
/// inverse variances. So what stamps do not tell counts as well, of which no floor knows.
fn added(rates: &[Rate], total: f64) -> Option<SlopePosterior> {
    let mean = rates.iter().map(|rate| rate.mean / rate.variance.max(1e-12)).sum::<f64>() / total;
    let length = rates.iter().map(|rate| rate.draws.len()).min()?;
    let stride = [1, 1_009];
    let draws: Vec<f64> = (0..length)
        .map(|index| {
            let part = |(rate, stride): (&Rate, usize)| {
                let draw = rate.draws[(index * stride + stride / 2) % length];
                draw / rate.variance.max(1e-12) / total
            };
            rates.iter().zip(stride).map(part).sum()
        })
        .collect();
    Some(SlopePosterior { mean, variance: 1.0 / total, draws })
}

/// By how many times the variance of a rate is greater because neighbouring floors are high or low together: where the ranks of all floors
/// show that plainly, one and twice the sum of the correlations of those that the rate is told by, of both directions together.
fn dependence(rates: &[Rate], slope: f64) -> f64 {
    let all: Vec<&[f64]> = rates.iter().flat_map(|rate| rate.ranks.iter().map(Vec::as_slice)).collect();
    if alike(&all, 1) < DEPENDENT / many(all.iter().map(|group| group.len()).sum()).max(1.0).sqrt() {
        return 1.0;
    }
    let told: Vec<Vec<f64>> = rates
        .iter()
        .flat_map(|rate| {
            let groups = rate.observations.chunk_by(|a, b| a.group == b.group);
            groups.map(|group| {
                let height = |one: &Observation| one.y - rate.sign * slope * one.x;
                let lowest = group.iter().map(height).fold(f64::INFINITY, f64::min);
                ranked(group.iter().map(|one| (height(one) - lowest) / one.scale))
            })
        })
        .collect();
    let told: Vec<&[f64]> = told.iter().map(Vec::as_slice).collect();
    let longest = told.iter().map(|group| group.len()).max().unwrap_or(0);
    let positive = (1..longest / 4).map(|lag| alike(&told, lag)).take_while(|alike| *alike > 0.0);
    1.0 + 2.0 * positive.sum::<f64>()
}

/// The correlation of ranks at a distance within groups.
fn alike(groups: &[&[f64]], lag: usize) -> f64 {
    let squares: f64 = groups.iter().flat_map(|group| group.iter()).map(|rank| rank * rank).sum();
    let products = groups.iter().flat_map(|group| group.iter().zip(group.iter().skip(lag)));
    products.map(|(a, b)| a * b).sum::<f64>() / squares.max(1e-9)
}

/// The ranks of values, from -1 to 1.
fn ranked(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, place) in order.into_iter().enumerate() {
        ranks[place] = (2.0 * many(rank) + 1.0) / many(values.len()) - 1.0;
    }
    ranks
}

/// What the floors leave open of the rate because they wander; `total` is the sum of the inverse variances.
fn unrest(rates: &[Rate], slope: f64, total: f64) -> Option<Unrest> {
    let weight = |rate: &Rate| 1.0 / rate.variance.max(1e-12) / total;
    let sides: Vec<SlopeObservations<'_>> = rates
        .iter()
        .map(|rate| SlopeObservations {
            observations: &rate.observations,
            sign: rate.sign,
            weight: weight(rate),
        })
        .collect();
    let apart = match rates {
        [a, b] => Some((a.mean - b.mean).powi(2) / (a.variance + b.variance).max(1e-12)),
        _ => None,
    };
    Unrest::new(&sides, unrest::SlopeContrast { slope, variance: 1.0 / total, apart })
}
