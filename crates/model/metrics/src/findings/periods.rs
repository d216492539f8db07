//! Moments that repeat at which packets wait long.
//!
//! A packet's excess is its delay above the median of its neighbours; where it rises above a level, a spike begins. The
//! differences of the moments of spikes, counted in bins, are the autocorrelation of the excess clipped to yes and no;
//! periods show as peaks of it. A peak is refined by its multiples and then by folding: of the spikes that lie at one
//! phase, the line through their moments over the numbers of their cycles gives the period and its error.
//!
//! The test asks how often a cycle's spikes would lie within the window of that phase, if they lay anywhere among that
//! cycle's packets: so neither a changing rate of spikes nor the pattern of sending looks like a period. What was found
//! is taken out, and the rest looked through again.

use romer_record::finding::Pattern;

use super::evidence::{UndirectedFinding, convinces, tail};
use super::series::{DelaySeries, quantile};
use crate::interval::student_975;
use crate::value::{real, to_usize};

/// Shares of the packets that lie above the levels.
const LEVELS: [f64; 5] = [0.1, 0.03, 0.01, 0.003, 0.001];
/// Packets whose median is the level of their neighbourhood.
const NEIGHBOURS: usize = 101;
const MORE_NEIGHBOURS: usize = 1_001;
/// Spikes of which all pairs are looked at.
const PAIRED: usize = 2_000;
/// A period is as long as so many windows at least, and the stream as so many periods.
const MIN_PERIOD_WINDOWS: f64 = 8.0;
const CYCLES: f64 = 5.0;
/// Peaks of the autocorrelation that are folded.
const CANDIDATES: usize = 48;
/// A peak that is fewer deviations high is none.
const STANDS_OUT: f64 = 3.0;
/// The first packet of a spike comes so many windows after it is due, at most.
const MAX_LATE_WINDOWS: f64 = 4.0;
/// Cycles over which a candidate is folded at first.
const AT_FIRST: f64 = 32.0;
/// Bins on either side that tell what is usual.
const BASELINE_BINS: usize = 40;
/// Of all cycles so many have a spike.
const SEEN: f64 = 0.5;
/// Where fewer are seen of any period, more neighbours may show more of them.
const NEARLY_ALL: f64 = 0.9;
/// How many inter-quartile ranges a spike is high.
const HIGH: f64 = 2.0;
/// Inter-quartile ranges above the upper quartile within which nearly all packets lie that are in no spike, and the greatest part of
/// a spike's height that this asks for.
const FENCE: f64 = 2.0;
const PART: f64 = 0.75;
/// A period is a multiple of another within so many times what both may be off together, at 95 %: three deviations.
const MULTIPLE: f64 = 1.5;
/// Periods that are told, and rounds in which they are looked for.
const MAX_PERIODS: usize = 8;
const ROUNDS: usize = 2 * MAX_PERIODS;
/// After so many whose spikes are too low to be told no more are looked for: delays that repeat exactly have as many as there are rounds.
const LOW: usize = 3;
/// Times that a range of slopes is divided.
const HALVINGS: usize = 40;
/// Parts of it whose room is looked at.
const PARTS: usize = 200;
/// Spikes that come early and late by chance are looked for within so many deviations of when they are due, and within such a part
/// of the period.
const MAX_EARLY_DEVIATIONS: f64 = 3.0;
const LOOSE: f64 = 8.0;
/// A period may be so many times the one of such spikes.
const TIMES: usize = 8;
/// The deviation of normal values for each of the median of their sizes.
const DEVIATIONS: f64 = 1.482_6;
/// Spikes of which the first cycles of a candidate are told; of what spikes more often than that, less is folded at first.
const FOLDED: usize = 2_048;

/// A spike: its packet's place in the series, and its departure.
#[derive(Clone, Copy, Debug)]
struct Spike {
    place: usize,
    at: f64,
}

/// The line through the moments of the spikes of a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) first: f64,
    pub(super) period: f64,
    pub(super) error: f64,
}

impl Fit {
    /// The cycle of a moment, and how far it lies from that cycle's spike.
    pub(super) fn cycle(&self, at: f64) -> (f64, f64) {
        let cycle = ((at - self.first) / self.period).round();
        (cycle, at - self.first - cycle * self.period)
    }
}

/// A period as it was found.
#[derive(Clone, Debug)]
pub(super) struct Period {
    pub(super) fit: Fit,
    /// The first packets of its spikes.
    pub(super) hits: Vec<usize>,
    /// Spikes that are due.
    pub(super) cycles: f64,
    height: f64,
    pub(super) log_alarm: f64,
    /// A spike is looked for within half of this on either side of when it is due.
    window: f64,
}

/// The periods with which packets wait long: above the median of their nearest neighbours, or else, where spikes last for as many
/// packets as that, of more.
pub(super) fn spikes(series: &DelaySeries) -> Vec<UndirectedFinding> {
    let mut found = periods(series, &excess(series, NEIGHBOURS));
    // A median of neighbours most of which are in a spike hides it, and those it hides have a period with that of the blocks.
    if !found.iter().any(|one| real(one.hits.len()) >= NEARLY_ALL * one.cycles) {
        let others = periods(series, &excess(series, MORE_NEIGHBOURS));
        let clearest = |found: &[Period]| found.iter().map(|one| one.log_alarm).fold(0.0, f64::min);
        if clearest(&others) < clearest(&found) {
            found = others;
        }
    }
    found.sort_by(|a, b| a.fit.period.total_cmp(&b.fit.period));
    let each = |(index, one): (usize, &Period)| {
        let multiple = found[..index].iter().find(|shorter| multiple_of(&one.fit, &shorter.fit));
        measured_period(
            &one.fit,
            one.height,
            (one.hits.len(), one.cycles),
            one.log_alarm,
            multiple.map(|shorter| &shorter.fit),
        )
    };
    found.iter().enumerate().map(each).collect()
}

/// A period as it is told: `seen` of the spikes that are `due`, and the shorter one that it is a multiple of.
pub(super) fn measured_period(
    fit: &Fit,
    height: f64,
    (seen, due): (usize, f64),
    log_alarm: f64,
    multiple_of: Option<&Fit>,
) -> UndirectedFinding {
    UndirectedFinding {
        at: None,
        until: None,
        log_alarm: Some(log_alarm),
        pattern: Pattern::PeriodicDelaySpikes {
            period_ns: fit.period,
            period_interval_ns: [fit.period - fit.error, fit.period + fit.error],
            phase_ns: fit.first.rem_euclid(fit.period),
            height_ns: height,
            spikes: seen as u64,
            cycles: to_usize(due) as u64,
            strength_ratio: real(seen) / due,
            multiple_of_ns: multiple_of.map(|shorter| shorter.period),
        },
    }
}

/// The periods with which values that are nearly always zero are not, the shortest first.
pub(super) fn repeated(series: &DelaySeries) -> Vec<Period> {
    let mut found = periods(series, &series.delay);
    found.sort_by(|a, b| a.fit.period.total_cmp(&b.fit.period));
    found
}

/// The periods with which the excess `all` is large.
fn periods(series: &DelaySeries, all: &[f64]) -> Vec<Period> {
    let mut found: Vec<Period> = Vec::new();
    let mut excess = all.to_owned();
    let spread = {
        let mut values = all.to_owned();
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|share| quantile(&mut values, share));
        // Where more than a quarter of the packets are in spikes, the upper quartile is theirs.
        (high - low).min(2.0 * (middle - low))
    };
    let mut low = 0;
    for _ in 0..ROUNDS {
        if found.len() == MAX_PERIODS || low == LOW {
            break;
        }
        let Some(best) = strongest(series, &excess, all) else { break };
        take_out(&mut excess, &best.hits);
        // What is seen of a spike a little later is no other one, nor is every so many-th of these.
        let once_more = found.iter().any(|one| {
            [series.at.first(), series.at.last()].into_iter().flatten().all(|end| {
                let moment = end - best.fit.cycle(*end).1;
                one.fit.cycle(moment).1.abs() <= MAX_LATE_WINDOWS * 2.0 * series.interval
            }) && {
                let times = best.fit.period / one.fit.period;
                times > 0.5 && (times - times.round()).abs() < 0.01
            }
        });
        // Spikes at several moments of each cycle have one period, which the clearest of them tell.
        let once_more = once_more || found.iter().any(|one| same(&one.fit, &best.fit));
        if best.height < HIGH * spread {
            low += 1;
        } else if !once_more {
            found.push(best);
        }
    }
    found
}

/// The line of a period that was found.
pub(super) fn fit_of(found: &UndirectedFinding) -> Option<Fit> {
    match found.pattern {
        Pattern::PeriodicDelaySpikes { period_ns, period_interval_ns: [low, high], phase_ns, .. } => {
            Some(Fit { first: phase_ns, period: period_ns, error: (high - low) / 2.0 })
        }
        _ => None,
    }
}

/// Whether two periods are one, so far as they are known.
pub(super) fn same(one: &Fit, other: &Fit) -> bool {
    (one.period - other.period).abs() <= 2.0 * (one.error + other.error)
}

/// Whether a period is a whole number of times another, so far as both are known.
fn multiple_of(long: &Fit, short: &Fit) -> bool {
    let times = (long.period / short.period).round();
    times >= 2.0
        && (long.period - times * short.period).abs() <= MULTIPLE * long.error.hypot(times * short.error)
}

/// Each delay above the median of so many neighbours.
fn excess(series: &DelaySeries, neighbours: usize) -> Vec<f64> {
    let mut excess = Vec::with_capacity(series.delay.len());
    for block in series.delay.chunks(neighbours) {
        let usual = quantile(&mut block.to_vec(), 0.5);
        excess.extend(block.iter().map(|delay| delay - usual));
    }
    excess
}

/// Takes spikes out: from their first packets until packets wait no longer than usual.
fn take_out(excess: &mut [f64], hits: &[usize]) {
    for hit in hits {
        for one in excess.iter_mut().skip(*hit).take_while(|one| **one > 0.0) {
            *one = 0.0;
        }
    }
}

/// The period that chance explains least, if it explains none: of what is left of the excess. Its spikes are counted in all of it,
/// those that coincide with another period's as well.
fn strongest(series: &DelaySeries, excess: &[f64], all: &[f64]) -> Option<Period> {
    let window = 2.0 * series.interval;
    let length = series.at.last()? - series.at.first()?;
    let longest = length / CYCLES;
    if window <= 0.0 || longest <= MIN_PERIOD_WINDOWS * window {
        return None;
    }
    let mut best: Option<(Period, f64)> = None;
    let mut room = Scratch::default();
    for share in LEVELS {
        let spikes = onsets(series, excess, share, window);
        for start in candidates(&spikes, window, longest) {
            let Some(period) = folded(series, &spikes, start, window, &mut room) else { continue };
            let log_alarm = period.log_alarm + trials(length, period.fit.period, window);
            if best.as_ref().is_none_or(|(best, _)| log_alarm < best.log_alarm) {
                best = Some((Period { log_alarm, ..period }, share));
            }
        }
    }
    let (best, share) = best.filter(|(best, _)| convinces(best.log_alarm))?;
    let spikes = onsets(series, excess, share, window);
    let loose = (1..=TIMES).filter_map(|times| loosely(series, &spikes, &best, times, length));
    let best = loose
        .min_by(|a, b| a.log_alarm.total_cmp(&b.log_alarm))
        .filter(|loose| loose.log_alarm < best.log_alarm)
        .unwrap_or(best);
    let height = quantile(&mut best.hits.iter().map(|hit| excess[*hit]).collect::<Vec<_>>(), 0.5);
    Some(seen(series, all, begun(series, excess, Period { height, ..best })))
}

/// The period `times` shorter whose spikes come early and late by chance, farther than a packet's interval. The few of them that
/// happen to keep time for every so many-th look like a longer period with less of them.
fn loosely(
    series: &DelaySeries,
    spikes: &[Spike],
    found: &Period,
    times: usize,
    length: f64,
) -> Option<Period> {
    let window = found.window;
    let mut fit = Fit { period: found.fit.period / real(times), ..found.fit };
    let most = fit.period / LOOSE;
    let mut reach = most;
    for _ in 0..3 {
        fit = line(spikes, fit, reach, window)?;
        let away = spikes.iter().map(|spike| fit.cycle(spike.at).1.abs());
        let mut away: Vec<f64> = away.filter(|away| *away <= most).collect();
        reach = (MAX_EARLY_DEVIATIONS * DEVIATIONS * quantile(&mut away, 0.5)).min(most);
    }
    if 2.0 * reach <= window || fit.period < MIN_PERIOD_WINDOWS * window {
        return None;
    }
    let period = tested(series, spikes, fit, 2.0 * reach)?;
    let trials = trials(length, found.fit.period, window) + (real(TIMES) * LOOSE).ln();
    Some(Period { log_alarm: period.log_alarm + trials, ..period })
}

/// The period by the moments at which its spikes begin. A spike that lasts for several packets may have risen above the level
/// at any of them; those before that wait more than half as long as is usual in it are in it too. How far these moments lie
/// off a line says how sure the period is, as those do not which were chosen for lying near it.
fn begun(series: &DelaySeries, excess: &[f64], period: Period) -> Period {
    let window = period.window;
    let reach = period.fit.period / 2.0;
    let high = |place: usize| excess[place] > period.height / 2.0;
    let begin = |hit: &usize| {
        // One that waited a little by chance right before the spike is none of its own.
        let mut after =
            (*hit..series.at.len()).take_while(|place| series.at[*place] - series.at[*hit] <= window);
        let hit = after.find(|place| high(*place)).unwrap_or(*hit);
        let near = |place: &usize| series.at[hit] - series.at[*place] < reach && high(*place);
        (0..hit).rev().take_while(near).last().unwrap_or(hit)
    };
    // Which packet sees a spike first is a matter of when they are sent: none is left out for being late, as it is among those
    // that were found near the line.
    let seen = |cycle: f64| {
        let due = period.fit.first + cycle * period.fit.period;
        let late = (MAX_LATE_WINDOWS * window).min(reach / 2.0);
        let place = |moment: f64| series.at.partition_point(|at| *at < moment);
        (place(due - window)..place(due + late)).find(|place| high(*place))
    };
    let cycle = |at: Option<&f64>| at.map_or(0.0, |at| period.fit.cycle(*at).0);
    let (first, last) = (cycle(series.at.first()), cycle(series.at.last()));
    let mut hits: Vec<usize> = (0..=to_usize((last - first).max(0.0)))
        .filter_map(|number| seen(first + real(number)))
        .map(|hit| begin(&hit))
        .collect();
    hits.dedup();
    let spikes: Vec<Spike> = hits.iter().map(|hit| Spike { place: *hit, at: series.at[*hit] }).collect();
    let fitted = line(&spikes, period.fit, reach, window).and_then(|fit| {
        line(&spikes, Fit { error: period.fit.error, ..fit }, MAX_LATE_WINDOWS * window, window)
    });
    match fitted {
        Some(fit) => {
            let fit = Fit {
                error: fit.error.max(possible(series, &spikes, fit, MAX_LATE_WINDOWS * window)),
                ..fit
            };
            Period { fit, hits, ..period }
        }
        None => period,
    }
}

/// The period with the spikes that are seen where they were due: a packet there waits more than half as long as is usual in a
/// spike, and longer than nearly all between them.
fn seen(series: &DelaySeries, excess: &[f64], mut period: Period) -> Period {
    let window = period.window;
    let mut copy = excess.to_vec();
    let [low, high] = [0.25, 0.75].map(|share| quantile(&mut copy, share));
    let level = (period.height / 2.0).max((high + FENCE * (high - low)).min(PART * period.height));
    let fit = period.fit;
    let last = series.at.last().map_or(0.0, |at| fit.cycle(*at).0);
    let mut cycle = series.at.first().map_or(0.0, |at| fit.cycle(*at).0);
    let (mut hits, mut cycles) = (Vec::new(), 0.0);
    while cycle <= last {
        let due = fit.first + cycle * fit.period;
        let place = |moment: f64| series.at.partition_point(|at| *at < moment);
        let there = place(due - window / 2.0)..place(due + window);
        let hit = there.into_iter().find(|place| excess[*place] > level);
        // Where nothing was sent when one was due, none could be seen; nor need one be that is due where the packets begin or end.
        let sent = place(due - window / 2.0) < place(due + window / 2.0);
        let within = series.at.first().is_some_and(|at| *at <= due - window / 2.0)
            && series.at.last().is_some_and(|at| due + window / 2.0 <= *at);
        if sent && (within || hit.is_some()) {
            cycles += 1.0;
            hits.extend(hit);
        }
        cycle += 1.0;
    }
    (period.hits, period.cycles) = (hits, cycles);
    period
}

/// The logarithm of how many periods and phases could have been found: periods that put the last spike into another
/// window, phases by window, levels, rounds, and windows that overlap.
fn trials(length: f64, period: f64, window: f64) -> f64 {
    let octaves = (length / CYCLES / MIN_PERIOD_WINDOWS / window).log2().max(1.0);
    let overlapping = 16.0;
    ((length / window) * (period / window) * octaves * overlapping * real(2 * LEVELS.len() * MAX_PERIODS))
        .ln()
}

/// The moments at which the excess rises above the level that `share` of the packets exceed.
fn onsets(series: &DelaySeries, excess: &[f64], share: f64, window: f64) -> Vec<Spike> {
    let level = quantile(&mut excess.to_vec(), 1.0 - share).max(0.0);
    risen(series, excess, level, window)
}

/// Where the excess rises above a level. A spike begins with its first packet above half of that, and ends below: where all
/// its packets wait about as long, chance alone says which of them is the first above a level.
fn risen(series: &DelaySeries, excess: &[f64], level: f64, window: f64) -> Vec<Spike> {
    let mut spikes: Vec<Spike> = Vec::new();
    let (mut begin, mut told) = (None, false);
    for (place, (at, excess)) in series.at.iter().zip(excess).enumerate() {
        if *excess <= level / 2.0 || *excess <= 0.0 {
            (begin, told) = (None, false);
            continue;
        }
        let begin = *begin.get_or_insert(Spike { place, at: *at });
        if !told && *excess > level {
            told = true;
            if spikes.last().is_none_or(|last| begin.at - last.at > window) {
                spikes.push(begin);
            }
        }
    }
    spikes
}

/// Differences of the moments of spikes that occur more often than those beside them, the most striking first.
fn candidates(spikes: &[Spike], window: f64, longest: f64) -> Vec<f64> {
    let spikes = &spikes[..spikes.len().min(PAIRED)];
    let bins = to_usize(longest / window).min(1 << 20) + 3;
    let mut counts = vec![0.0_f64; bins];
    let mut sums = vec![0.0_f64; bins];
    for (index, one) in spikes.iter().enumerate() {
        for other in &spikes[index + 1..] {
            let apart = other.at - one.at;
            let bin = to_usize(apart / window);
            if bin >= bins {
                break;
            }
            counts[bin] += 1.0;
            sums[bin] += apart;
        }
    }
    let mut before = vec![0.0; bins + 1];
    for (bin, count) in counts.iter().enumerate() {
        before[bin + 1] = before[bin] + count;
    }
    let mut peaks: Vec<(f64, f64)> = Vec::new();
    for bin in to_usize(MIN_PERIOD_WINDOWS)..bins.saturating_sub(2) {
        // The packet that sees a spike may be the next one: a difference falls into one of two bins.
        let both = counts[bin] + counts[bin + 1];
        if both < 3.0 {
            continue;
        }
        let (low, high) = (bin.saturating_sub(BASELINE_BINS).max(1), (bin + 2 + BASELINE_BINS).min(bins));
        let usual = 2.0 * (before[high] - before[low] - both) / real((high - low).saturating_sub(2).max(1));
        let stands_out = (both - usual) / usual.max(0.25).sqrt();
        if stands_out < STANDS_OUT {
            continue;
        }
        peaks.push((stands_out, (sums[bin] + sums[bin + 1]) / both));
    }
    peaks.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found: Vec<f64> = Vec::new();
    for (_, apart) in peaks {
        if found.iter().all(|other| (apart - other).abs() > 0.5 * window) {
            found.push(apart);
        }
        if found.len() == CANDIDATES {
            break;
        }
    }
    found
}

/// Folds spikes by a period that is known to about a window: first over the first cycles, every period that puts a spike
/// elsewhere; then over twice as many each time, around the period that was found.
fn folded(
    series: &DelaySeries,
    spikes: &[Spike],
    start: f64,
    window: f64,
    room: &mut Scratch,
) -> Option<Period> {
    let (first, last) = (spikes.first()?.at, spikes.last()?.at);
    let mut cycles = AT_FIRST.min((last - first) / start).max(3.0);
    let mut fit = Fit { first, period: start, error: window };
    if let Some(many) = spikes.get(FOLDED) {
        cycles = cycles.min(((many.at - first) / start).max(CYCLES));
    }
    let mut steps = to_usize(4.0 * cycles);
    loop {
        let stretch = &spikes[..spikes.partition_point(|spike| spike.at <= first + cycles * start)];
        let step = window / (2.0 * cycles);
        let around = (0..=2 * steps).map(|number| fit.period + (real(number) - real(steps)) * step / 2.0);
        let tried = around.map(|period| (best_phase(stretch, Fit { period, ..fit }, window, room), period));
        let ((hits, phase), period) = tried.max_by_key(|((hits, _), _)| *hits)?;
        if hits < 3 {
            return None;
        }
        fit = line(stretch, Fit { first: phase, period, error: window }, window / 2.0, window)?;
        if first + cycles * start >= last {
            break;
        }
        cycles *= 2.0;
        // Of many spikes the line is as good as a search.
        steps = if stretch.len() > FOLDED { 2 } else { 6 };
    }
    if fit.period < MIN_PERIOD_WINDOWS * window {
        return None;
    }
    tested(series, spikes, fit, window)
}

/// Room to count in, all zero between two uses.
#[derive(Default)]
struct Scratch {
    counts: Vec<u32>,
    bins: Vec<usize>,
}

/// The phase with the most spikes within half a window on either side, to half a window, and how many.
fn best_phase(spikes: &[Spike], fit: Fit, window: f64, room: &mut Scratch) -> (u32, f64) {
    let half = window / 2.0;
    let bins = to_usize(fit.period / half).max(1) + 1;
    let Scratch { counts, bins: hit } = room;
    if counts.len() < bins {
        counts.resize(bins, 0);
    }
    hit.clear();
    // Products with inverses, and the part of a turn without a call: this is what all of looking through takes longest for.
    let (per_turn, of_a_turn) = (fit.period.recip(), fit.period / half);
    hit.extend(spikes.iter().map(|spike| {
        let turns = (spike.at - fit.first) * per_turn;
        to_usize(part(turns) * of_a_turn).min(bins - 1)
    }));
    hit.iter().for_each(|bin| counts[*bin] += 1);
    // The last bin is narrower; what lies at the end lies at the beginning too.
    let both = |bin: usize| counts[bin] + counts[if bin + 1 == bins { 0 } else { bin + 1 }];
    let before = |bin: usize| if bin == 0 { bins - 1 } else { bin - 1 };
    let best = if hit.len() < bins {
        // Only bins that were hit, and those before them, have anything.
        hit.iter().flat_map(|bin| [*bin, before(*bin)]).map(|bin| (both(bin), bin)).max()
    } else {
        let inner = counts[..bins].windows(2).map(|pair| pair[0] + pair[1]).enumerate();
        inner.map(|(bin, both)| (both, bin)).chain([(both(bins - 1), bins - 1)]).max()
    };
    let (hits, bin) = best.unwrap_or_default();
    hit.iter().for_each(|bin| counts[*bin] = 0);
    (hits, fit.first + real(bin + 1) * half)
}

/// The part of a number above the whole number below it. Numbers of turns are far smaller than what the conversion holds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the whole part is what is wanted"
)]
const fn part(turns: f64) -> f64 {
    let rest = turns - (turns as i64) as f64;
    if rest < 0.0 { rest + 1.0 } else { rest }
}

/// The line through the spikes that lie no farther than `reach` from a phase, one a cycle.
fn line(spikes: &[Spike], near: Fit, reach: f64, window: f64) -> Option<Fit> {
    let points: Vec<(f64, f64)> = spikes
        .iter()
        .map(|spike| (near.cycle(spike.at), spike.at))
        .filter(|((_, away), _)| away.abs() <= reach)
        .map(|((cycle, _), at)| (cycle, at))
        .collect();
    through(&points, window)
}

/// The line through moments over the numbers of their cycles.
pub(super) fn through(points: &[(f64, f64)], window: f64) -> Option<Fit> {
    let n = real(points.len());
    if points.len() < 3 {
        return None;
    }
    let mean = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / n, sum.1 + point.1 / n));
    let (mut xx, mut xy) = (0.0, 0.0);
    for (cycle, at) in points {
        xx += (cycle - mean.0).powi(2);
        xy += (cycle - mean.0) * (at - mean.1);
    }
    if xx <= 0.0 {
        return None;
    }
    let period = xy / xx;
    let squares: f64 =
        points.iter().map(|(cycle, at)| (at - mean.1 - period * (cycle - mean.0)).powi(2)).sum();
    // A spike is seen by the next packet, at some moment of an interval: the line cannot be surer than that.
    let noise = (squares / (n - 2.0)).max(window.powi(2) / 48.0);
    let error = student_975(n - 2.0)? * (noise / xx).sqrt();
    (period > 0.0).then_some(Fit { first: mean.1 - period * mean.0, period, error })
}

/// How far the period may lie off that of a line with 95 %, for all that is certain: each spike began after the last packet that was not in
/// it and no later than its first. Where packets leave at equal times of which the period is nearly a multiple, spikes' first
/// packets come later and later after the spikes begin, and lie on a line of their own, off which they are by little. 0 where
/// no line passes between all these packets, as where a spike's first packet waits little by chance.
fn possible(series: &DelaySeries, spikes: &[Spike], fit: Fit, reach: f64) -> f64 {
    let bounds: Vec<(f64, [f64; 2])> = spikes
        .iter()
        .filter(|spike| spike.place > 0)
        .map(|spike| (fit.cycle(spike.at), spike))
        .filter(|((_, away), _)| away.abs() <= reach)
        .map(|((cycle, away), spike)| (cycle, [away - (spike.at - series.at[spike.place - 1]), away]))
        .collect();
    let (Some((begin, _)), Some((end, _))) = (bounds.first(), bounds.last()) else { return 0.0 };
    // Room for a line with another slope; it is a concave function of that.
    let room = |slope: f64| {
        let between =
            bounds.iter().fold([f64::NEG_INFINITY, f64::INFINITY], |[from, to], (cycle, [low, high])| {
                let moved = slope * (cycle - begin);
                [from.max(low - moved), to.min(high - moved)]
            });
        between[1] - between[0]
    };
    let most = 2.0 * reach / (end - begin).max(1.0);
    let [mut low, mut high] = [-most, most];
    for _ in 0..HALVINGS {
        let thirds = [low + (high - low) / 3.0, high - (high - low) / 3.0];
        if room(thirds[0]) < room(thirds[1]) { low = thirds[0] } else { high = thirds[1] }
    }
    let best = f64::midpoint(low, high);
    if room(best) < 0.0 {
        return 0.0;
    }
    let end = |side: f64| {
        let (mut within, mut beyond) = (best, side * most);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(within, beyond);
            if room(middle) >= 0.0 { within = middle } else { beyond = middle }
        }
        within
    };
    // All lines that pass are as likely, and a slope is as likely as it has room.
    let [low, high] = [end(-1.0), end(1.0)];
    let slope = |part: usize| low + (high - low) * (real(part) + 0.5) / real(PARTS);
    let rooms: Vec<f64> = (0..PARTS).map(|part| room(slope(part)).max(0.0)).collect();
    let aside = rooms.iter().sum::<f64>() * 0.025;
    let without = |rooms: &mut dyn Iterator<Item = &f64>| {
        let mut sum = 0.0;
        let beyond = |room: &&f64| {
            sum += **room;
            sum < aside
        };
        rooms.take_while(beyond).count()
    };
    let (first, last) = (without(&mut rooms.iter()), without(&mut rooms.iter().rev()));
    slope(first).abs().max(slope(PARTS - 1 - last.min(PARTS - 1)).abs())
}

/// What chance would do with the spikes of each cycle.
fn tested(series: &DelaySeries, spikes: &[Spike], fit: Fit, window: f64) -> Option<Period> {
    let half = window / 2.0;
    let last = fit.cycle(*series.at.last()?).0;
    let mut cycle = fit.cycle(*series.at.first()?).0;
    let (mut cycles, mut chances) = (0.0, 0.0);
    let mut hits = Vec::new();
    while cycle <= last {
        let center = fit.first + cycle * fit.period;
        let packets = |from: f64, to: f64| {
            series.at.partition_point(|at| *at < to) - series.at.partition_point(|at| *at < from)
        };
        let there = packets(center - half, center + half);
        if there > 0 {
            let from = spikes.partition_point(|spike| spike.at < center - fit.period / 2.0);
            let to = spikes.partition_point(|spike| spike.at < center + fit.period / 2.0);
            let all = packets(center - fit.period / 2.0, center + fit.period / 2.0);
            cycles += 1.0;
            chances += (real(to - from) * real(there) / real(all.max(1))).min(1.0);
            let hit = spikes[from..to].iter().find(|spike| (spike.at - center).abs() <= half);
            hits.extend(hit.map(|spike| spike.place));
        }
        cycle += 1.0;
    }
    let enough = cycles >= CYCLES && real(hits.len()) >= SEEN * cycles;
    let log_alarm = tail(real(hits.len()), cycles, chances / cycles);
    (enough && hits.len() >= 5).then_some(Period { fit, hits, cycles, height: 0.0, log_alarm, window })
}
