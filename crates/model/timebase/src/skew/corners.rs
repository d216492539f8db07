//! When a slew began and ended, by the packets themselves.
//!
//! The floors of a survey are many packets apart, and those in which a slew begins or ends are of neither level: so it seems to begin earlier and to
//! end later than it did, by a floor or two, and delays beside its corners are off by what the clock goes in that time. The least packets of each
//! cell of time are many more. Where exactly the corners are is what explains them best in both directions; what they leave open of it is told with it.

use super::classic::NORMAL;
use super::estimator::Heading;
use super::joining::Event;
use super::survey::Survey;
use super::tails;
use super::{many, median};

/// The share of the cells that lie below the level: what lies below it costs so many times as much as what lies above as those are fewer.
const BELOW: f64 = 0.05;
/// What a cell lies above the level by so many times what it usually waits, and more, says the less the higher it is.
const HIGH: f64 = 3.0;
/// Cells of one level that tell it, on either side of the slew; and how many of all there are at least.
const BESIDE: usize = 300;
const FEWEST: usize = 24;
/// Corners are looked for so many floors away from where they seem to be, and by this share of what the slew lasts.
const AROUND: (f64, f64) = (4.0, 0.3);
/// Moments that are tried for either corner, and how often what counts is looked at more closely.
const MOMENTS: usize = 13;
const ROUNDS: usize = 6;
/// What is so much less likely, as a logarithm, does not count.
const COUNTING: f64 = 6.0;

/// One direction's cells beside a slew, above its level before.
struct Side {
    /// When, and how high.
    cells: Vec<(f64, f64)>,
    wait: f64,
    sign: f64,
}

impl Side {
    /// By the responder's clock without `events`, which is ahead by `line`. The slew is one of the events, and others end before `span` and begin
    /// after it.
    fn of(
        (survey, heading): (&Survey, Heading),
        place: usize,
        events: &[Event],
        line: &impl Fn(f64) -> f64,
        (low, high): (f64, f64),
        (begin, end): (f64, f64),
    ) -> Option<Self> {
        let slew = &events[place].transition;
        let sign = heading.sign();
        let others = |x: f64| -> f64 {
            let others = events.iter().enumerate().filter(|(other, _)| *other != place);
            others.map(|(_, event)| event.longer(heading, x)).sum()
        };
        let mut heights: Vec<(f64, f64)> = survey
            .fine
            .iter()
            .filter(|cell| cell.x > begin && cell.x < end)
            .map(|cell| (cell.x, cell.y - sign * line(cell.x) - others(cell.x)))
            .collect();
        heights.sort_by(|a, b| a.0.total_cmp(&b.0));
        let first = heights.partition_point(|cell| cell.0 < low);
        let last = heights.partition_point(|cell| cell.0 <= high);
        let before = heights[first.saturating_sub(BESIDE)..first].iter().map(|cell| cell.1);
        let after =
            heights[last..(last + BESIDE).min(heights.len())].iter().map(|cell| cell.1 - sign * slew.size);
        let mut beside: Vec<f64> = before.chain(after).collect();
        if beside.len() < FEWEST || last - first < FEWEST / 2 {
            return None;
        }
        let lowest = super::rounded(BELOW * many(beside.len()));
        let lowest = usize::try_from(lowest).unwrap_or(0).min(beside.len() - 1);
        let level = *beside.select_nth_unstable_by(lowest, f64::total_cmp).1;
        beside.iter_mut().for_each(|height| *height = (*height - level).max(0.0));
        let wait = (median(&mut beside) / core::f64::consts::LN_2).max(survey.grain).max(1.0);
        let cells = heights[first..last].iter().map(|(x, height)| (*x, height - level)).collect();
        Some(Self { cells, wait, sign })
    }

    /// What it costs that the clock went on from one moment to another, as minus the logarithm of a likelihood.
    fn cost(&self, (from, to): (f64, f64), size: f64) -> f64 {
        let each = self.cells.iter().map(|(x, height)| {
            let above = (height - self.sign * size * ((x - from) / (to - from)).clamp(0.0, 1.0)) / self.wait;
            if above < 0.0 { above * (1.0 - 1.0 / BELOW) } else { HIGH * (above / HIGH).ln_1p() }
        });
        each.sum()
    }
}

/// The events with slews begun and ended when the packets of all directions say, and by how much delays beside their corners may be off, nanoseconds.
/// `line` is by how much the responder's clock is ahead without them.
pub(crate) fn placed(
    surveys: &[(&Survey, Heading)],
    events: &[Event],
    line: impl Fn(f64) -> f64,
) -> (Vec<Event>, f64) {
    let mut events = events.to_vec();
    let run = tails::run(surveys);
    let mut off: f64 = 0.0;
    for place in 0..events.len() {
        if events[place].kind != super::estimator::ChangeKind::Slew {
            continue;
        }
        let slew = &events[place].transition;
        let goes_on = [slew.from <= run.0, slew.to >= run.1];
        if let Some([from, to]) = corners(surveys, place, &events, &line) {
            let slew = &mut events[place].transition;
            (slew.from, slew.to) = (from.0, to.0);
            tails::gone_on(slew, goes_on, run);
            off = off.max(slew.size.abs() / (slew.to - slew.from) * from.1.max(to.1));
        } else {
            // Where floors alone tell, it may have begun and ended anywhere between two of them.
            let lasts = slew.to - slew.from;
            let floor = surveys.iter().map(|(survey, _)| tails::width(survey.length, survey.floors.len()));
            off = off.max(slew.size.abs() * (floor.fold(0.0, f64::max) / lasts).min(1.0) / NORMAL);
        }
    }
    (events, NORMAL * off)
}

/// Mean and deviation of either end of a slew.
fn corners(
    surveys: &[(&Survey, Heading)],
    place: usize,
    events: &[Event],
    line: &impl Fn(f64) -> f64,
) -> Option<[(f64, f64); 2]> {
    let slew = events[place].transition;
    let (from, to) = (slew.from, slew.to);
    let middle = f64::midpoint(from, to);
    let floor = surveys
        .iter()
        .map(|(survey, _)| survey.length / many(survey.floors.len().max(1)))
        .fold(0.0, f64::max);
    let around = (AROUND.0 * floor).max(AROUND.1 * (to - from));
    let others =
        || events.iter().enumerate().filter(|(other, _)| *other != place).map(|one| &one.1.transition);
    let begin = others().map(|one| one.to + floor).filter(|x| *x < middle).fold(f64::NEG_INFINITY, f64::max);
    let end = others().map(|one| one.from - floor).filter(|x| *x > middle).fold(f64::INFINITY, f64::min);
    let run = tails::run(surveys);
    // What lies before it and after it tells the levels, and is left for that.
    let (low, high) = ((from - around).max(begin), (to + around).min(end));
    let low = if from > run.0 { low.max(f64::midpoint(from, begin.max(run.0))) } else { low };
    let high = if to < run.1 { high.min(f64::midpoint(to, end.min(run.1))) } else { high };
    let sides: Vec<Side> = surveys
        .iter()
        .filter_map(|survey| Side::of(*survey, place, events, line, (low, high), (begin, end)))
        .collect();
    if sides.is_empty() || to <= from || low >= from || high <= to {
        return None;
    }
    let short = 0.1 * (to - from);
    let mut ends =
        [(low, (from + around).min(middle - short / 2.0)), ((to - around).max(middle + short / 2.0), high)];
    let mut told = None;
    for _ in 0..ROUNDS {
        let steps = ends.map(|(low, high)| (high - low) / many(MOMENTS - 1));
        let moment = |end: usize, n: usize| ends[end].0 + steps[end] * many(n);
        let pairs = (0..MOMENTS).flat_map(|a| (0..MOMENTS).map(move |b| (a, b)));
        let priced: Vec<(f64, f64, f64)> = pairs
            .map(|(a, b)| (moment(0, a), moment(1, b)))
            .map(|(a, b)| (a, b, sides.iter().map(|side| side.cost((a, b), slew.size)).sum()))
            .collect();
        let least = priced.iter().map(|one| one.2).fold(f64::INFINITY, f64::min);
        let counted: Vec<[f64; 3]> = priced
            .iter()
            .filter(|one| one.2 < least + COUNTING)
            .map(|one| [one.0, one.1, (least - one.2).exp()])
            .collect();
        let share: f64 = counted.iter().map(|one| one[2]).sum();
        let of_end = |end: usize| {
            let mean = counted.iter().map(|one| one[2] * one[end]).sum::<f64>() / share;
            let variance = counted.iter().map(|one| one[2] * (one[end] - mean).powi(2)).sum::<f64>() / share;
            // Between two moments nothing is known.
            (mean, (variance + steps[end].powi(2) / 12.0).sqrt())
        };
        told = Some([of_end(0), of_end(1)]);
        let wide = [0, 1].map(|end| {
            let (first, last) =
                counted.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| {
                    (low.min(one[end]), high.max(one[end]))
                });
            let (low, high) = ends[end];
            ((first - steps[end]).max(low), (last + steps[end]).min(high))
        });
        let narrower = |end: usize| wide[end].1 - wide[end].0 < 0.7 * (ends[end].1 - ends[end].0);
        if !narrower(0) && !narrower(1) {
            break;
        }
        ends = wide;
    }
    told
}
