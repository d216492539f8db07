//! The rate from packets that follow each other closely.
//!
//! A packet that departs before the one ahead of it can have been transmitted is queued behind it. They arrive apart by the transmission
//! time, and by that of cross-traffic between them:
//!
//! ```text
//! a(n) - a(n-1) = s(n) / rate + x(n)
//! x(n) ~ share * Normal(0, noise) + (1 - share) * (0.98 * (Exponential(excess) + Normal(0, noise)) + 0.02 * Uniform)
//! ```
//!
//! The parameters are those of maximum likelihood, with a weak prior each, so that the likelihood has a curvature where a part of the
//! mixture is empty. The interval of the rate is that of the observed information. In trains the noise of a packet is in two
//! differences, with opposite signs; the interval is then too wide.

use statrs::function::erf::erfc;

use super::Step;
use crate::Estimate;
use crate::optimum::{climb, half_widths, log_product};
use crate::series::MOST_COMPARED;

/// Packets that depart within this share of the transmission time of the one ahead follow it. Less than 1, for the error of the first
/// guess.
const FOLLOWS: f64 = 0.9;
/// Fewer packets that follow do not show a rate.
const FEWEST: usize = 20;
/// A difference of arrivals that exceeds that of departures by this factor may be a transmission time.
const EXPANDED: f64 = 1.25;
/// Width of the window, in logs of time per octet, that holds most differences around the first guess: 10 %.
const WINDOW: f64 = 0.1;
/// Errors of time stamps are at least this, in seconds: the resolution of most hosts' clocks.
const LEAST_NOISE: f64 = 1e-6;
/// The share of packets that do not obey the model: coalesced or displaced ones.
const OUTLIERS: f64 = 0.02;
/// The transmission time is known only if the noise is at most this share of it.
const MOST_NOISE: f64 = 0.1;
/// At least this share of packets has no cross-traffic before it, or the mode is not that of the rate.
const LEAST_SHARE: f64 = 0.1;
/// At most this share of packets behind one that is not late arrives nearer than the transmission time, less [`DEVIATIONS`]: the link
/// cannot be faster.
const MOST_FASTER: f64 = 0.05;
/// Deviations of the noise that count as equal.
const DEVIATIONS: f64 = 4.0;
/// Deviation of the prior of the log of the noise, around the least one: a factor of 20 on either side.
const NOISE_PRIOR: f64 = 3.0;
/// Octets of the shortest packet of cross-traffic: headers of IPv4 and TCP. A shorter excess would be a second noise.
const SHORTEST: f64 = 40.0;
/// Deviation of the prior of the log of the excess beyond that, around the transmission time of a probe.
const EXCESS_PRIOR: f64 = 1.0;
/// The rate is searched in units of this many of its standard errors, because the curvature is taken over 0.02 units.
const UNIT: f64 = 10.0;
/// Below this, erfc is 2.
const WHOLE: f64 = -6.0;
/// Evaluations of the likelihood of each of two searches.
const EVALUATIONS: usize = 300;

/// How packets that follow another are spread beyond their transmission time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The share without cross-traffic before them.
    pub(crate) share: f64,
    /// The deviation of their noise in seconds.
    pub(crate) noise: f64,
    /// The mean time of cross-traffic before the others, in seconds.
    pub(crate) excess: f64,
    /// Outliers are within this many seconds.
    pub(crate) range: f64,
}

impl Spread {
    /// The density of `x` seconds beyond the transmission time, with a noise of at least `resolution`.
    pub(crate) fn density(&self, x: f64, resolution: f64) -> f64 {
        let noise = self.noise.max(resolution);
        let at_once = (-0.5 * (x / noise).powi(2)).exp() / (noise * std::f64::consts::TAU.sqrt());
        // An exponential time and the noise: without the noise, the jump of the density would pretend to show the rate exactly.
        let ratio = noise / self.excess;
        let place = (ratio - x / noise) / std::f64::consts::SQRT_2;
        let tail = if place < WHOLE { 2.0 } else { erfc(place) };
        let later = 0.5 * (0.5 * ratio * ratio - x / self.excess).min(700.0).exp() * tail / self.excess;
        let outlier = 0.5 / self.range;
        let others = (1.0 - OUTLIERS) * later + OUTLIERS * outlier;
        (self.share * at_once + (1.0 - self.share) * others).max(1e-150)
    }
}

/// Whether the packet of a step follows the one ahead, at this transmission time of an octet.
pub(crate) fn follows(step: &Step, octet: f64) -> bool {
    step.gap < FOLLOWS * step.size_before * octet
}

/// The transmission time of an octet in seconds, and the spread; `None` where packets do not follow each other closely, or are not
/// spread by one time per octet.
pub(crate) fn fit(steps: &[Step]) -> Option<(Estimate, Spread)> {
    let mut octet = first_guess(steps)?;
    let mut found = None;
    // The second time with the packets that follow at the rate that was found.
    for _ in 0..2 {
        let close: Vec<Step> = steps.iter().filter(|step| follows(step, octet)).copied().collect();
        if close.len() < FEWEST {
            return None;
        }
        let every = close.len().div_ceil(MOST_COMPARED);
        let close: Vec<Step> = close.into_iter().step_by(every).collect();
        let (estimate, spread) = likely(&close, octet)?;
        // A queue or a host behind the link delays a packet, and brings the next one nearer to it. So only packets count that are behind
        // one with a delay up to the median.
        let mut delays: Vec<f64> = close.iter().map(|step| step.delay_before).collect();
        delays.sort_by(f64::total_cmp);
        let median = delays[delays.len() / 2];
        let punctual: Vec<&Step> = close.iter().filter(|step| step.delay_before <= median).collect();
        let faster = punctual.iter().filter(|step| {
            step.apart < step.size * estimate.value - DEVIATIONS * spread.noise.max(LEAST_NOISE)
        });
        let size = close.iter().map(|step| step.size).sum::<f64>() / close.len() as f64;
        if spread.noise > MOST_NOISE * size * estimate.value
            || spread.share < LEAST_SHARE
            || faster.count() as f64 > MOST_FASTER * punctual.len() as f64
        {
            return None;
        }
        octet = estimate.value;
        found = Some((estimate, spread));
    }
    found
}

/// The most frequent time per octet among packets that arrive farther apart than they departed.
fn first_guess(steps: &[Step]) -> Option<f64> {
    let is_expanded = |step: &&Step| step.apart > EXPANDED * step.gap && step.apart > 0.0;
    let mut logs: Vec<f64> =
        steps.iter().filter(is_expanded).map(|step| (step.apart / step.size).ln()).collect();
    logs.sort_by(f64::total_cmp);
    let until = |from: usize| logs.partition_point(|log| *log <= logs[from] + WINDOW);
    let (from, to) = (0..logs.len())
        .map(|from| (from, until(from)))
        .max_by_key(|(from, to)| (to - from, logs.len() - from))?;
    (to - from >= FEWEST / 2).then(|| logs[(from + to) / 2].exp())
}

/// The maximum of the likelihood near `octet`.
fn likely(close: &[Step], octet: f64) -> Option<(Estimate, Spread)> {
    let count = close.len() as f64;
    let size = close.iter().map(|step| step.size).sum::<f64>() / count;
    let range = close.iter().map(|step| (step.apart - step.size * octet).abs()).fold(size * octet, f64::max);
    let spread = |place: &[f64]| Spread {
        share: 1.0 / (1.0 + (-place[1]).exp()),
        noise: (LEAST_NOISE * LEAST_NOISE + (2.0 * place[2]).exp()).sqrt(),
        excess: SHORTEST * octet + place[3].exp(),
        range,
    };
    let [noise_prior, excess_prior] = [LEAST_NOISE.ln(), (size * octet).ln()];
    // `place` has the octet's time in units of `unit` from `centre`, log odds of the share, and logs of noise and excess.
    let likelihood = |place: &[f64], centre: f64, unit: f64| {
        let spread = spread(place);
        let octet = centre + unit * place[0];
        let prior = 0.5 * (spread.share.ln() + (1.0 - spread.share).ln())
            - 0.5 * ((place[2] - noise_prior) / NOISE_PRIOR).powi(2)
            - 0.5 * ((place[3] - excess_prior) / EXCESS_PRIOR).powi(2);
        prior + log_product(close.iter().map(|step| spread.density(step.apart - step.size * octet, 0.0)))
    };
    let unit = |spread: &Spread| UNIT * spread.noise / (size * (count * spread.share).sqrt());
    let mut deviations: Vec<f64> = close.iter().map(|step| (step.apart - step.size * octet).abs()).collect();
    deviations.sort_by(f64::total_cmp);
    let mut place =
        vec![0.0, 0.0, deviations[deviations.len() / 4].max(2.0 * LEAST_NOISE).ln(), excess_prior];
    let mut centre = octet;
    for _ in 0..2 {
        let step = unit(&spread(&place));
        (place, _) = climb(|place| likelihood(place, centre, step), &place, 0.5, EVALUATIONS);
        centre += step * place[0];
        place[0] = 0.0;
    }
    let spread = spread(&place);
    let step = unit(&spread);
    let width = half_widths(|place| likelihood(place, centre, step), &place)[0]? * step;
    let interval = (width < centre).then_some([centre - width, centre + width])?;
    Some((Estimate { value: centre, interval: Some(interval) }, spread))
}
