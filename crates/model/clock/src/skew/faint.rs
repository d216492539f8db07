//! Slews that a run begins or ends in, too short or too slight for floors: the least packets of all cells there tell them, of both directions
//! together. In the one they come sooner and sooner, which nothing else does; in the other none comes as soon as before.

use super::arithmetic::{many, median, rounded};
use super::classic::NORMAL;
use super::estimate::{ChangeKind, coarse};
use super::event::{Event, step};
use super::hidden::gone;
use super::near::{EARLY, cost};
use super::survey::Survey;
use super::transition::Transition;

/// The share of the run in which such a slew is looked for, and before it as much twice again, where the level is known.
const WITHIN: f64 = 0.12;
const KNOWN: f64 = 0.36;
/// Moments that are tried for its beginning, each so much nearer to the end.
const MOMENTS: usize = 18;
const NEARER: f64 = 0.8;
/// Cells in it, and in what tells the level, at least, of either direction.
const CELLS: (usize, usize) = (6, 24);
/// A cell counts for how steep it may be where so much of it has gone.
const STEEP: f64 = 0.25;
/// The share of the cells of the level that lie below it.
const BELOW: f64 = 0.05;
/// So much plainer must it be than none, in both directions together, in the one that comes sooner, and in the other; and than a step, as the
/// logarithm of the likelihood.
const PLAINER: (f64, f64, f64) = (30.0, 12.0, 3.0);
const STEPPED: f64 = 6.0;
/// It goes further than so many nanoseconds, than so many times what stamps do not tell, and faster than a rate wanders, nanoseconds a second: and
/// no faster than that.
const LEAST: (f64, f64, f64) = (5_000.0, 4.0, 5_000.0);
const FASTEST: f64 = 1e6;

/// The cells of a direction as time goes on to an end of the run, above the level before.
struct EndCells {
    cells: Vec<(f64, f64)>,
    wait: f64,
}

impl EndCells {
    fn new(survey: &Survey, way: f64, (known, within, end): (f64, f64, f64)) -> Option<Self> {
        let mut cells: Vec<(f64, f64)> =
            survey.fine.iter().map(|cell| (way * cell.x, cell.above(survey.slope))).collect();
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [from, to] = [known, within].map(|at| cells.partition_point(|cell| cell.0 < at));
        let last = cells.partition_point(|cell| cell.0 <= end);
        if to - from < CELLS.1 || last - to < CELLS.0 {
            return None;
        }
        let mut before: Vec<f64> = cells[from..to].iter().map(|cell| cell.1).collect();
        let lowest = usize::try_from(rounded(BELOW * many(before.len()))).unwrap_or(0);
        let level = *before.select_nth_unstable_by(lowest.min(to - from - 1), f64::total_cmp).1;
        before.iter_mut().for_each(|height| *height = (*height - level).max(0.0));
        let least = coarse(survey.grain).max(survey.grain).max(1.0);
        let wait = (median(&mut before) / core::f64::consts::LN_2).max(least);
        let cells = cells[to..last].iter().map(|(x, height)| (*x, height - level)).collect();
        Some(Self { cells, wait })
    }

    /// By how much plainer it is that delays go on by `size` between two moments, or at once, than that they stay, as the logarithm of a likelihood.
    fn plainer(&self, (from, to): (f64, f64), size: f64) -> f64 {
        let each = self.cells.iter().filter(|cell| cell.0 > from).map(|(x, height)| {
            cost([*height].into_iter(), self.wait)
                - cost([height - size * gone((from, to), *x)].into_iter(), self.wait)
        });
        each.sum()
    }

    /// How far delays may have gone on at the end where they become less: no packet comes sooner than that, but for the few that are early.
    fn steepest(&self, (from, to): (f64, f64)) -> Vec<f64> {
        let mut sizes: Vec<f64> = self
            .cells
            .iter()
            .map(|(x, height)| (gone((from, to), *x), *height))
            .filter(|(share, _)| *share >= STEEP)
            .map(|(share, height)| height / share)
            .collect();
        sizes.sort_by(f64::total_cmp);
        let few = sizes.len() / 20;
        [0, 1, few]
            .into_iter()
            .filter_map(|place| sizes.get(place))
            .copied()
            .filter(|size| *size < 0.0)
            .collect()
    }

    fn count(&self, from: f64) -> f64 {
        many(self.cells.iter().filter(|cell| cell.0 > from).count())
    }
}

/// The slews at the ends of the run, where nothing is `told`.
pub(crate) fn slews(forward: &Survey, reverse: &Survey, told: &[Event]) -> Vec<Event> {
    [-1.0, 1.0].into_iter().filter_map(|way| slew(forward, reverse, told, way)).collect()
}

fn slew(forward: &Survey, reverse: &Survey, told: &[Event], way: f64) -> Option<Event> {
    let length = forward.length.min(reverse.length);
    let last = |survey: &Survey| {
        let (first, last) = survey.ends();
        (way * first).max(way * last)
    };
    let end = last(forward).max(last(reverse));
    let (known, within) = (end - KNOWN * length, end - WITHIN * length);
    let busy = |event: &Event| (way * event.transition.from).max(way * event.transition.to) > known;
    if told.iter().any(busy) || forward.slope.abs().max(reverse.slope.abs()) > FASTEST {
        return None;
    }
    let sides = [
        EndCells::new(forward, way, (known, within, end))?,
        EndCells::new(reverse, way, (known, within, end))?,
    ];
    let mut best: Option<(f64, (f64, f64), f64)> = None;
    let mut stepped: f64 = 0.0;
    for moment in 0..MOMENTS {
        let from = end - WITHIN * length * NEARER.powi(i32::try_from(moment).unwrap_or(0));
        for (sooner, later, sign) in [(&sides[0], &sides[1], 1.0), (&sides[1], &sides[0], -1.0)] {
            if sooner.cells.len().min(later.cells.len()) < CELLS.0 || sooner.count(from) < many(CELLS.0) {
                continue;
            }
            let at_once = (from, from);
            for size in sooner.steepest(at_once) {
                stepped = stepped.max(sooner.plainer(at_once, size) + later.plainer(at_once, -size));
            }
            for size in sooner.steepest((from, end)) {
                let [one, other] = [sooner.plainer((from, end), size), later.plainer((from, end), -size)];
                let is_shown = one > PLAINER.1 && other > PLAINER.2 && one + other > PLAINER.0;
                if is_shown && best.is_none_or(|best| one + other > best.0) {
                    best = Some((one + other, (from, end), sign * size));
                }
            }
        }
    }
    let (plainer, (from, to), size) = best?;
    let least = LEAST.0.max(LEAST.1 * (coarse(forward.grain) + coarse(reverse.grain)));
    let rate = size.abs() / (to - from);
    if plainer < stepped + STEPPED || size.abs() < least || !(LEAST.2..FASTEST).contains(&rate) {
        return None;
    }
    let known: f64 = sides.iter().map(|side| side.count(from) / side.wait).sum();
    let error = EARLY / NORMAL / known;
    let (from, to) = if way > 0.0 { (from, to) } else { (-to, -from) };
    // Seen from the end backwards, what has gone on there was further before.
    let slew = Transition { from, to, size: way * size, error, doubt: 0.0 };
    Some(Event { kind: ChangeKind::Slew, ..step(slew) })
}
