//! Delays that change at once and stay so, and changes of route.
//!
//! The signs of the delays about their median are summed up; where the sum is farthest from nothing, the level changes if
//! it does at all. How far the sum of a stream without a step gets is Kolmogorov's: twice the exponential of minus twice
//! the square, in deviations of the sum, which are estimated from batches of what is left when the step is taken out
//! (so that dependence widens them), with the uncertainty of that estimate itself. What changes gradually is no step: the
//! nearest neighbours of the moment have to differ as well. Both sides are looked through again.

use romer_record::Passage;
use romer_record::document::Summary;
use romer_record::finding::Pattern;

use super::{Found, Series, convinces, quantile};
use crate::interval::Dependence;
use crate::sample::{in_order_of_arrival, received};
use crate::summary::{Value as _, real, summary};

/// Of longer streams, medians of stretches are looked at.
const VALUES: usize = 4_096;
/// Values on either side of a step, at least.
const BESIDE: usize = 20;
/// Steps that are looked for.
const MOST: usize = 16;
/// A step is as large as this share of the inter-quartile range beside it.
const LARGE: f64 = 0.75;
/// Of one that is too short to be found by itself, told where hops change, so many.
const PLAIN: f64 = 3.0;
/// Its nearest neighbours, a share of a side, differ by this share of it.
const NEAREST: f64 = 0.1;
const ABRUPT: f64 = 0.6;
/// Hops that change more often than once in so many packets are those of several routes at once.
const OFTEN: f64 = 50.0;
/// Changes of route that are told one by one.
const ROUTES: usize = 32;
/// A step of the delay belongs to a change of hops that is no farther off than this share of the stream.
const SAME: f64 = 0.02;

/// Steps and changes of route of a direction.
pub(super) fn changes(series: &Series, passages: &[Passage]) -> Vec<Found> {
    let mut found = routes(passages);
    let length = series.at.last().copied().unwrap_or(0.0);
    for step in steps(series) {
        let near = found
            .iter_mut()
            .find(|one| one.at.zip(step.at).is_some_and(|(one, step)| (one - step).abs() <= SAME * length));
        match (near.map(|one| &mut one.pattern), &step.pattern) {
            (Some(Pattern::RouteChange { delay_step_ns, .. }), Pattern::DelayStep { size_ns, .. }) => {
                *delay_step_ns = Some(*size_ns);
            }
            _ => found.push(step),
        }
    }
    let moments: Vec<f64> = found.iter().filter_map(|one| one.at).collect();
    for one in &mut found {
        if let (Some(at), Pattern::RouteChange { delay_step_ns: step @ None, .. }) =
            (one.at, &mut one.pattern)
        {
            *step = step_at(series, at, &moments);
        }
    }
    found
}

/// The step of the delay at a moment that the hops tell, between the changes before and after it. It needs not be improbable
/// over all moments as one does that is sought: the medians' intervals do not meet, and it is sudden, and plain to see.
fn step_at(series: &Series, at: f64, others: &[f64]) -> Option<f64> {
    let place = |moment: f64| series.at.partition_point(|one| *one < moment);
    let begin = others.iter().copied().filter(|other| *other < at).map(place).max().unwrap_or(0);
    let end =
        others.iter().copied().filter(|other| *other > at).map(place).min().unwrap_or(series.delay.len());
    let (before, after) = (series.delay.get(begin..place(at))?, series.delay.get(place(at)..end)?);
    if before.len().min(after.len()) < BESIDE || !abrupt(before, after) {
        return None;
    }
    let (before, after) = (summary(before), summary(after));
    let size = after.median? - before.median?;
    let spread = before.iqr?.max(after.iqr?).max(1.0);
    // What is too dependent for an interval of its median has its quartiles, which are wider.
    let middle = |side: &Summary| side.median_interval.or(Some([side.p25?, side.p75?]));
    let ([low, high], [least, most]) = (middle(&before)?, middle(&after)?);
    let apart = if size > 0.0 { least > high } else { most < low };
    (apart && size.abs() >= PLAIN * spread).then_some(size)
}

/// What the hops say.
fn routes(passages: &[Passage]) -> Vec<Found> {
    let hops = || received(passages).filter_map(|passage| passage.ttl);
    let (Some(least), Some(most)) = (hops().min(), hops().max()) else { return Vec::new() };
    if least == most {
        return Vec::new();
    }
    let first = crate::sample::sent(passages).filter_map(|passage| passage.departure).min();
    let (mut arrived, mut count, mut last) = (0_usize, 0_usize, None);
    let mut changed = Vec::new();
    for passage in in_order_of_arrival(passages) {
        let Some(to) = passage.ttl else { continue };
        arrived += 1;
        if let Some(from) = last.replace(to).filter(|from| *from != to) {
            count += 1;
            if changed.len() < ROUTES {
                let at = passage.departure.zip(first).map(|(at, first)| (at - first).as_nanos().value());
                changed.push((from, to, at));
            }
        }
    }
    if count > ROUTES || real(count) * OFTEN > real(arrived) && count > 2 {
        return vec![Found {
            at: None,
            until: None,
            log_alarm: None,
            pattern: Pattern::SeveralRoutes {
                ttl_min: least,
                ttl_max: most,
                changes: count as u64,
                strength_ratio: real(count) / real(arrived),
            },
        }];
    }
    let told = |(ttl_from, ttl_to, at)| Found {
        at,
        until: None,
        log_alarm: None,
        pattern: Pattern::RouteChange { ttl_from, ttl_to, delay_step_ns: None },
    };
    changed.into_iter().map(told).collect()
}

/// A place from which on the level is another.
#[derive(Clone, Copy, Debug)]
struct Change {
    from: usize,
    log_alarm: f64,
}

fn steps(series: &Series) -> Vec<Found> {
    let each = series.delay.len().div_ceil(VALUES).max(1);
    let values: Vec<f64> =
        series.delay.chunks(each).map(|stretch| quantile(&mut stretch.to_vec(), 0.5)).collect();
    let mut changes = Vec::new();
    split(&values, 0, &mut changes);
    changes.sort_by_key(|change| change.from);
    let bounds: Vec<usize> = std::iter::once(0)
        .chain(changes.iter().map(|change| change.from))
        .chain(std::iter::once(values.len()))
        .collect();
    let told = |(index, change): (usize, &Change)| {
        let (before, after) =
            (&values[bounds[index]..bounds[index + 1]], &values[bounds[index + 1]..bounds[index + 2]]);
        let (before, after) = (summary(before), summary(after));
        let size = after.median? - before.median?;
        let spread = before.iqr?.max(after.iqr?).max(1.0);
        let half = before
            .median_interval
            .zip(after.median_interval)
            .map(|(before, after)| (before[1] - before[0]).hypot(after[1] - after[0]) / 2.0);
        (size.abs() >= LARGE * spread).then(|| Found {
            at: series.at.get(change.from * each).copied(),
            until: None,
            log_alarm: Some(change.log_alarm),
            pattern: Pattern::DelayStep {
                size_ns: size,
                size_interval_ns: half.map(|half| [size - half, size + half]),
                strength_ratio: size.abs() / spread,
            },
        })
    };
    changes.iter().enumerate().filter_map(told).collect()
}

/// Looks for a change among `values`, the first of which is the one numbered `first`, and then on both sides of it.
fn split(values: &[f64], first: usize, found: &mut Vec<Change>) {
    if values.len() < 2 * BESIDE || found.len() >= MOST {
        return;
    }
    let Some((place, log_alarm)) = change(values) else { return };
    if !convinces(log_alarm) {
        return;
    }
    let (before, after) = values.split_at(place);
    if abrupt(before, after) {
        found.push(Change { from: first + place, log_alarm });
    }
    split(before, first, found);
    split(after, first + place, found);
}

fn median(values: &[f64]) -> f64 {
    quantile(&mut values.to_vec(), 0.5)
}

/// The signs of values about a level.
fn signs(values: &[f64], level: f64) -> impl Iterator<Item = f64> {
    values.iter().map(move |value| {
        if *value > level {
            1.0
        } else if *value < level {
            -1.0
        } else {
            0.0
        }
    })
}

/// Where the level changes if it does, and the logarithm of the probability that a stream without a step shows as much.
fn change(values: &[f64]) -> Option<(usize, f64)> {
    let level = median(values);
    let total: f64 = signs(values, level).sum();
    let n = real(values.len());
    let mut sum = 0.0;
    let sums = signs(values, level).enumerate().map(|(index, sign)| {
        sum += sign;
        (index + 1, (sum - total * real(index + 1) / n).abs())
    });
    let inner = sums.filter(|(place, _)| (BESIDE..=values.len() - BESIDE).contains(place));
    let (place, farthest) = inner.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (before, after) = values.split_at(place);
    let left: Vec<f64> = signs(before, median(before)).chain(signs(after, median(after))).collect();
    let dependence = Dependence::of(&left, |sign| sign);
    let variance = left.iter().map(|sign| sign * sign).sum::<f64>() / n;
    let square = farthest.powi(2) / (n * variance.max(1.0 / n) * dependence.inflation());
    // The mean of Kolmogorov's bound over what the estimate of the deviation leaves open.
    let freedom = dependence.freedom();
    let log = 2.0_f64.ln() - freedom / 2.0 * (4.0 * square / freedom).ln_1p();
    Some((place, log + real(2 * MOST).ln()))
}

/// Whether the values next to the change differ as those farther off do.
fn abrupt(before: &[f64], after: &[f64]) -> bool {
    let near = |side: usize| (real(side) * NEAREST).round().max(8.0);
    let (left, right) = (crate::summary::whole(near(before.len())), crate::summary::whole(near(after.len())));
    let beside = median(&after[..right]) - median(&before[before.len() - left..]);
    let whole = median(after) - median(before);
    beside * whole.signum() >= ABRUPT * whole.abs()
}
