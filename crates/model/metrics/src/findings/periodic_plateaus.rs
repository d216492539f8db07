//! Steps that repeat: a spike that lasts for long begins with a step up and ends with one down, each time its period is over.
//! They are one finding. Steps of another kind are looked for among the packets of no spike.
//!
//! The test asks how often steps at arbitrary moments would lie as near to those of a line.

use romer_record::finding::Pattern;

use super::evidence::{UndirectedFinding, convinces};
use super::periods::{self, Fit};
use super::series::{DelaySeries, quantile};
use super::steps;
use crate::value::{real, to_usize};

/// Steps up of a period that no spikes told.
const MIN_PERIODIC_STEPS: usize = 5;
/// Of all that are due between the first and the last so many are there.
const SEEN: f64 = 0.5;
/// Packets that the moment of a step is off, at most.
const OFF: f64 = 4.0;
/// Spikes that last for fewer packets hide no step, and are taken for none.
const MIN_PLATEAU_PACKETS: f64 = 8.0;
/// Times that spikes are taken out.
const ROUNDS: usize = 3;

/// A step of the delay.
#[derive(Clone, Copy, Debug)]
struct LevelStep {
    at: f64,
    size: f64,
}

/// Spikes that last for `lasts` from each moment of a line on.
#[derive(Clone, Copy, Debug)]
struct Wide {
    fit: Fit,
    lasts: f64,
    height: f64,
    /// Steps up that are there of those due.
    seen: usize,
    due: usize,
    log_alarm: f64,
}

/// The steps that no period explains, and the periods that explain others, besides those that are known.
pub(super) fn steps(
    series: &DelaySeries,
    known: &[UndirectedFinding],
) -> (Vec<UndirectedFinding>, Vec<UndirectedFinding>) {
    let mut rest = series.clone();
    for one in known {
        if let (Some(fit), Pattern::PeriodicDelaySpikes { height_ns, .. }) =
            (periods::fit_of(one), &one.pattern)
        {
            let lasts = lasts(&rest, fit, *height_ns);
            if lasts >= MIN_PLATEAU_PACKETS * series.interval {
                rest = outside(&rest, fit, lasts);
            }
        }
    }
    let mut told: Vec<UndirectedFinding> = Vec::new();
    let mut found = steps::steps(&rest);
    for _ in 0..ROUNDS {
        let each: Vec<LevelStep> = found.iter().filter_map(step).collect();
        let periods: Vec<Fit> = known.iter().chain(&told).filter_map(periods::fit_of).collect();
        let of_known = periods.iter().find_map(|fit| of_period(&each, *fit, series));
        let Some(wide) = of_known.or_else(|| of_steps(&each, series)) else { break };
        if of_known.is_none() && !periods.iter().any(|fit| periods::same(fit, &wide.fit)) {
            told.push(periods::measured_period(
                &wide.fit,
                wide.height,
                (wide.seen, real(wide.due)),
                wide.log_alarm,
                None,
            ));
        }
        rest = outside(&rest, wide.fit, wide.lasts);
        found = steps::steps(&rest);
    }
    (found, told)
}

fn step(found: &UndirectedFinding) -> Option<LevelStep> {
    match found.pattern {
        Pattern::DelayStep { size_ns, .. } => Some(LevelStep { at: found.at?, size: size_ns }),
        _ => None,
    }
}

/// How far a step may lie off a line's moment.
fn off(series: &DelaySeries) -> f64 {
    OFF * series.interval
}

/// Whether a period that is known explains steps.
fn of_period(steps: &[LevelStep], fit: Fit, series: &DelaySeries) -> Option<Wide> {
    let up: Vec<LevelStep> = steps
        .iter()
        .copied()
        .filter(|step| step.size > 0.0 && fit.cycle(step.at).1.abs() <= off(series))
        .collect();
    wide(steps, &up, fit, series)
}

/// The period that most steps up have, if that is not chance.
fn of_steps(steps: &[LevelStep], series: &DelaySeries) -> Option<Wide> {
    let up: Vec<LevelStep> = steps.iter().copied().filter(|step| step.size > 0.0).collect();
    if up.len() < MIN_PERIODIC_STEPS {
        return None;
    }
    let off = off(series);
    let apart: Vec<f64> = up.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    let mut starts = apart.clone();
    starts.sort_by(f64::total_cmp);
    starts.dedup_by(|a, b| (*a - *b).abs() <= off);
    let lined = |first: &LevelStep, apart: f64| -> Option<(Fit, Vec<LevelStep>)> {
        let mut fit = Fit { first: first.at, period: apart, error: off };
        let mut on: Vec<LevelStep> = Vec::new();
        // The line is followed from step to step: each tells where the next ones are.
        for step in up.iter().filter(|step| step.at >= first.at) {
            let (cycle, away) = fit.cycle(step.at);
            let known = on.last().map_or(0.0, |last| fit.cycle(last.at).0);
            if away.abs() <= off * (1.0 + (cycle - known).max(0.0) / known.max(1.0)) {
                on.push(*step);
                if cycle > 0.0 {
                    fit.period = (step.at - first.at) / cycle;
                }
            }
        }
        let moments: Vec<(f64, f64)> = on.iter().map(|step| (fit.cycle(step.at).0, step.at)).collect();
        let fit = periods::through(&moments, 2.0 * series.interval)?;
        on.retain(|step| fit.cycle(step.at).1.abs() <= off);
        Some((fit, on))
    };
    let tried =
        up.iter().take(MIN_PERIODIC_STEPS).flat_map(|first| starts.iter().map(move |apart| (first, *apart)));
    let (fit, on) = tried
        .filter(|(_, apart)| *apart > 4.0 * off)
        .filter_map(|(first, apart)| lined(first, apart))
        .filter(|(fit, on)| {
            let last = on.last().map_or(0.0, |last| fit.cycle(last.at).0 - fit.cycle(on[0].at).0);
            real(on.len()) >= SEEN * (last + 1.0)
        })
        .max_by_key(|(_, on)| on.len())?;
    if on.len() < MIN_PERIODIC_STEPS {
        return None;
    }
    // Two make the line; the others lie near it, each in a cycle of its own or the next one's.
    let near = (2.0 * off / fit.period).min(1.0);
    let others = real(on.len() - 2);
    let ways = choose_log(up.len(), on.len()) + (real(starts.len() * MIN_PERIODIC_STEPS)).ln();
    let log_alarm = others * near.ln() + ways;
    let wide = wide(steps, &on, fit, series)?;
    (convinces(log_alarm) && real(wide.seen) >= SEEN * real(wide.due)).then_some(Wide { log_alarm, ..wide })
}

/// The logarithm of how many choices of `some` there are.
fn choose_log(all: usize, some: usize) -> f64 {
    (0..some).map(|taken| (real(all - taken) / real(taken + 1)).ln()).sum()
}

/// The spikes that begin with these steps up: each ends with a step down, most of them as long after.
fn wide(steps: &[LevelStep], up: &[LevelStep], fit: Fit, series: &DelaySeries) -> Option<Wide> {
    let off = off(series);
    let mut lasts: Vec<f64> = up
        .iter()
        .filter_map(|up| {
            let down = steps.iter().find(|step| step.at > up.at && step.size < 0.0)?;
            (down.at - up.at < fit.period).then_some(down.at - up.at)
        })
        .collect();
    if lasts.is_empty() {
        return None;
    }
    let usual = quantile(&mut lasts, 0.5);
    let alike = lasts.iter().filter(|one| (**one - usual).abs() <= 2.0 * off).count();
    let [first, last] = [series.at.first()?, series.at.last()?].map(|at| fit.cycle(*at).0);
    let due =
        (0..=to_usize((last - first).max(0.0))).map(|number| fit.first + (first + real(number)) * fit.period);
    // A step that is due where the packets begin or end is seen in no case.
    let inner =
        |due: &f64| *due > series.at[0] + off && series.at.last().is_some_and(|last| *due < last - off);
    let due = due.filter(inner).count();
    (2 * alike > lasts.len()).then(|| Wide {
        fit,
        lasts: usual,
        height: quantile(&mut up.iter().map(|step| step.size).collect::<Vec<_>>(), 0.5),
        seen: up.len(),
        due: due.max(up.len()),
        log_alarm: 0.0,
    })
}

/// How long the spikes of a period last: until no more than half the packets that leave so long after one is due wait half as long
/// as is usual in it.
fn lasts(series: &DelaySeries, fit: Fit, height: f64) -> f64 {
    let class = 2.0 * series.interval;
    let mut high = vec![(0_usize, 0_usize); to_usize(fit.period / class) + 1];
    let cycle = |at: f64| ((at - fit.first) / fit.period).floor();
    let mut begin = 0;
    while begin < series.at.len() {
        let number = cycle(series.at[begin]);
        let end = begin + series.at[begin..].partition_point(|at| cycle(*at) <= number);
        let usual = quantile(&mut series.delay[begin..end].to_vec(), 0.5);
        for (at, delay) in series.at[begin..end].iter().zip(&series.delay[begin..end]) {
            let since = at - fit.first - number * fit.period;
            if let Some((of, above)) = high.get_mut(to_usize(since / class)) {
                *of += 1;
                *above += usize::from(delay - usual > height / 2.0);
            }
        }
        begin = end;
    }
    // The first classes are those of packets that saw the spike a little early or late.
    let long = high.iter().skip(1).take_while(|(of, above)| 2 * above > *of || *of == 0).count();
    if long == 0 { 0.0 } else { real(long + 1) * class }
}

/// The packets that leave in none of the spikes.
fn outside(series: &DelaySeries, fit: Fit, lasts: f64) -> DelaySeries {
    let off = off(series);
    let free = |at: f64| (at - fit.first + off).rem_euclid(fit.period) > lasts + 2.0 * off;
    let kept: Vec<usize> = (0..series.at.len()).filter(|place| free(series.at[*place])).collect();
    DelaySeries {
        at: kept.iter().map(|place| series.at[*place]).collect(),
        delay: kept.iter().map(|place| series.delay[*place]).collect(),
        sequence: kept.iter().map(|place| series.sequence[*place]).collect(),
        ..*series
    }
}
