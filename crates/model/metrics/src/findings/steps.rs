//! Delays that change at once and stay so, and changes of route.
//!
//! Which steps there are, [`levels`] says. When a step was is where the likelihood of the delays is greatest if those before
//! it are distributed as that side's and those after it as the other's; its interval holds 95 % of that likelihood over all
//! moments, and reaches from the last packet that surely came before the step to the first that surely came after it.

use romer_record::OneWaySingleton;
use romer_record::document::Summary;
use romer_record::finding::Pattern;

use super::change_points::{self, Change, abrupt};
use super::evidence::UndirectedFinding;
use super::series::{DelaySeries, quantile};
use crate::header_counters::changed_ttl;
use crate::interval::Dependence;
use crate::sample::{nearest, received};
use crate::summary::summary;
use crate::value::{Value as _, real, to_usize};

/// Of longer streams, medians of stretches are looked at.
const VALUES: usize = 8_192;
/// Packets on either side of a step that is told where hops change, at least.
const MIN_SEGMENT_PACKETS: usize = 20;
/// Of one that is too short to be found by itself, told where hops change, so many.
const PLAIN: f64 = 3.0;
/// Of long sides so many packets next to a step tell how delays are distributed there.
const TOLD_BY: usize = 2_048;
/// Packets on either side of a place among which the moment is sought, and stretches of which the medians were taken.
const AROUND: usize = 128;
const STRETCHES: usize = 4;
/// Packets beside a place that was found that may be of the other side.
const NOT_SURE: usize = 12;
/// Classes of delays.
const CLASSES: usize = 16;
/// Hops that change more often than once in so many packets are those of several routes at once.
const MIN_PACKETS_PER_ROUTE_CHANGE: f64 = 50.0;
/// Changes of route that are told one by one.
const ROUTES: usize = 32;
/// A step of the delay belongs to a change of hops that is no farther off than this share of the stream.
const SAME: f64 = 0.02;

/// The steps, and the changes of route of a direction, each with its step if it has one.
pub(super) fn changes(
    series: &DelaySeries,
    singletons: &[OneWaySingleton],
    steps: Vec<UndirectedFinding>,
) -> Vec<UndirectedFinding> {
    let mut found = routes(singletons);
    let length = series.at.last().copied().unwrap_or(0.0);
    for step in steps {
        // The nearest change of hops, unless it has a step already: two steps near one have not one cause.
        let away = |one: &UndirectedFinding| {
            one.at.zip(step.at).map_or(f64::INFINITY, |(one, step)| (one - step).abs())
        };
        let near = found
            .iter_mut()
            .filter(|one| matches!(one.pattern, Pattern::RouteChange { delay_step_ns: None, .. }))
            .filter(|one| away(one) <= SAME * length)
            .min_by(|a, b| away(a).total_cmp(&away(b)));
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
fn step_at(series: &DelaySeries, at: f64, others: &[f64]) -> Option<f64> {
    let place = |moment: f64| series.at.partition_point(|one| *one < moment);
    let begin = others.iter().copied().filter(|other| *other < at).map(place).max().unwrap_or(0);
    let end =
        others.iter().copied().filter(|other| *other > at).map(place).min().unwrap_or(series.delay.len());
    let (before, after) = (series.delay.get(begin..place(at))?, series.delay.get(place(at)..end)?);
    if before.len().min(after.len()) < MIN_SEGMENT_PACKETS || !abrupt(before, after) {
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
fn routes(singletons: &[OneWaySingleton]) -> Vec<UndirectedFinding> {
    let hops = || received(singletons).filter_map(|singleton| singleton.ttl);
    let (Some(least), Some(most)) = (hops().min(), hops().max()) else { return Vec::new() };
    if least == most {
        return Vec::new();
    }
    let first = crate::sample::sent(singletons).filter_map(|singleton| singleton.departure).min();
    let (arrived, count) = (hops().count(), changed_ttl(singletons).count());
    let after = |singleton: &OneWaySingleton| {
        singleton.departure.zip(first).map(|(at, first)| (at - first).as_nanos().value())
    };
    let changed = changed_ttl(singletons)
        .filter_map(|(from, singleton)| Some((from, singleton.ttl?, after(singleton))));
    if count > ROUTES || real(count) * MIN_PACKETS_PER_ROUTE_CHANGE > real(arrived) && count > 2 {
        return vec![UndirectedFinding {
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
    let told = |(ttl_from, ttl_to, at)| UndirectedFinding {
        at,
        until: None,
        log_alarm: None,
        pattern: Pattern::RouteChange { ttl_from, ttl_to, delay_step_ns: None },
    };
    changed.map(told).collect()
}

/// The steps of the delays.
pub(super) fn steps(series: &DelaySeries) -> Vec<UndirectedFinding> {
    let each = series.delay.len().div_ceil(VALUES).max(1);
    let values: Vec<f64> =
        series.delay.chunks(each).map(|stretch| quantile(&mut stretch.to_vec(), 0.5)).collect();
    let changes = change_points::changes(&values);
    let bounds: Vec<usize> = std::iter::once(0)
        .chain(changes.iter().map(|change| change.from))
        .chain(std::iter::once(values.len()))
        .collect();
    let told = |(change, three): (&Change, &[usize])| {
        let from = three[0].max(change.from.saturating_sub(change.reach));
        let to = three[2].min(change.from + change.reach);
        let (before, after) = (summary(&values[from..change.from]), summary(&values[change.from..to]));
        let size = after.median? - before.median?;
        let spread = before.iqr?.max(after.iqr?).max(1.0);
        let half = before
            .median_interval
            .zip(after.median_interval)
            .map(|(before, after)| (before[1] - before[0]).hypot(after[1] - after[0]) / 2.0);
        let half = half.map(|half| half.hypot(series.rate_error * between(series, each, [from, to])));
        let (at, interval) = moment(series, each, [from, change.from, to])?;
        Some(UndirectedFinding {
            at: Some(at),
            until: None,
            log_alarm: Some(change.log_alarm),
            pattern: Pattern::DelayStep {
                at_interval_ns: Some(interval.map(nearest)),
                size_ns: size,
                size_interval_ns: half.map(|half| [size - half, size + half]),
                strength_ratio: size.abs() / spread,
            },
        })
    };
    changes.iter().zip(bounds.windows(3)).filter_map(told).collect()
}

/// How far apart in time the middles of both sides of a step are, of which these are the outer ends in stretches of `each` packets: an
/// error of the clocks' rate over that is one of the step.
fn between(series: &DelaySeries, each: usize, ends: [usize; 2]) -> f64 {
    let last = series.at.len().saturating_sub(1);
    let [from, to] = ends.map(|end| series.at.get((end * each).min(last)).copied().unwrap_or(0.0));
    (to - from) / 2.0
}

/// The departure of the first packet after a step, and the interval that holds the step. `bounds` are the beginning, the step
/// and the end in stretches of `each` packets.
fn moment(series: &DelaySeries, each: usize, bounds: [usize; 3]) -> Option<(f64, [f64; 2])> {
    let [from, place, to] = bounds.map(|bound| (bound * each).min(series.delay.len()));
    let around = AROUND.max(STRETCHES * each);
    // Both sides keep some packets of which it is known where they belong.
    let sought = (place - around.min((place - from) / 2))..(place + around.min((to - place) / 2));
    // The place is not known to a packet: those right beside it may be of the other side.
    let aside = |side: usize| (2 * each + NOT_SURE).min(side / 4);
    let (end, begin) = (place - aside(place - from), place + aside(to - place));
    let before = &series.delay[from.max(end.saturating_sub(TOLD_BY.max(2 * around)))..end];
    let after = &series.delay[begin..to.min(begin + TOLD_BY.max(2 * around))];
    let classes = Classes::split(before, after);
    let told = classes.evidence(before, 1.0).min(classes.evidence(after, -1.0));
    // The logarithm of the likelihood that the step is right before each packet.
    let mut sum = 0.0;
    let mut logs = Vec::with_capacity(sought.len() + 1);
    logs.push(sum);
    for delay in &series.delay[sought.clone()] {
        sum += classes.ratio(*delay) * told;
        logs.push(sum);
    }
    let (best, most) = logs.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
    let all: f64 = weights.iter().sum();
    let mut below = 0.0;
    let sums: Vec<f64> = weights
        .iter()
        .map(|weight| {
            below += weight / all;
            below
        })
        .collect();
    let low = sums.partition_point(|sum| *sum < 0.025).min(best);
    let high = sums.partition_point(|sum| *sum < 0.975).min(sums.len() - 1).max(best);
    let at = |place: usize| series.at.get(sought.start + place).copied();
    let last_before = (sought.start + low).checked_sub(1)?;
    Some((at(best)?, [series.at[last_before], at(high).or_else(|| series.at.last().copied())?]))
}

/// How delays are distributed on both sides of a step, in classes.
struct Classes {
    edges: Vec<f64>,
    ratios: Vec<f64>,
}

impl Classes {
    fn split(before: &[f64], after: &[f64]) -> Self {
        let fewest = before.len().min(after.len());
        let count = to_usize(real(fewest).sqrt()).clamp(2, CLASSES);
        let mut edges: Vec<f64> = [before, after]
            .into_iter()
            .flat_map(|side| {
                let mut copy = side.to_vec();
                (0..count).map(move |edge| quantile(&mut copy, real(edge) / real(count))).collect::<Vec<_>>()
            })
            .collect();
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let counted = |side: &[f64]| {
            let mut counts = vec![0.5; edges.len() + 1];
            for delay in side {
                counts[edges.partition_point(|edge| edge <= delay)] += 1.0;
            }
            counts
        };
        let of_all = |side: &[f64]| real(side.len()) + 0.5 * real(edges.len() + 1);
        let ratios = counted(before)
            .into_iter()
            .zip(counted(after))
            .map(|(first, second)| (first / of_all(before)).ln() - (second / of_all(after)).ln())
            .collect();
        Self { edges, ratios }
    }

    /// What of the ratios a side's packets tell, whose ratios have the sign `sign`: all of it where they are independent, and less
    /// where they depend on each other, so that a sum of them is wrong no oftener than it says (Wald's identity).
    fn evidence(&self, side: &[f64], sign: f64) -> f64 {
        let ratios: Vec<f64> = side.iter().map(|delay| sign * self.ratio(*delay)).collect();
        let mean = ratios.iter().sum::<f64>() / real(ratios.len());
        let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / real(ratios.len());
        let varies = variance * Dependence::by_blocks(&ratios[..], |ratio| ratio).inflation();
        if varies > 2.0 * mean { (2.0 * mean / varies).max(0.0) } else { 1.0 }
    }

    /// The logarithm of how many times likelier a delay is before the step than after it.
    fn ratio(&self, delay: f64) -> f64 {
        self.ratios[self.edges.partition_point(|edge| *edge <= delay)]
    }
}
