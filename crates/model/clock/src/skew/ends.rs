//! Steps of a clock so near an end of the run that there are too few floors for a stretch of their own: the packets of both
//! directions tell them, which lie as much lower in the one from there to the end as they lie higher in the other.

use super::arithmetic::{many, median};
use super::floors::Floor;
use super::near::cost;
use super::survey::Survey;
use super::transition::Transition;

/// Floors in which a step is looked for, and by how many times as many before it the level is known.
const FLOORS: f64 = 3.5;
const BEFORE: f64 = 6.0;
/// Cells beyond the step in either direction, and before it, at least.
const BEYOND: usize = 5;
const KNOWN: usize = 24;
/// So much plainer must the step be than none, in each direction, as the logarithm of the likelihood.
const PLAINER: f64 = 12.0;
/// What both directions say of the size may differ by this share, and by so many times what their least packets wait.
const OPPOSITE: (f64, f64) = (0.1, 3.0);
/// A step is larger than this, nanoseconds, than so many times what packets wait, and than so many times what stamps do not
/// tell.
const LEAST: (f64, f64, f64) = (50_000.0, 0.5, 3.0);

/// A step, by how much the responder's clock was set further, and when it shows forward and in reverse.
pub(crate) struct AtEnd {
    pub(crate) transition: Transition,
    pub(crate) apart: [f64; 2],
}

/// The steps that are seen at the beginning and at the end of both directions, where nothing else happens by the moments
/// of `changes`, from when to when.
pub(crate) fn steps(forward: &Survey, reverse: &Survey, changes: &[(f64, f64)]) -> Vec<AtEnd> {
    let ends = [1.0, -1.0].map(|way| {
        let stretches = [forward, reverse].map(|survey| Stretch::new(survey, way, changes));
        let [Some(there), Some(back)] = &stretches else { return None };
        let found = there.set_against(back).map(|(size, at)| (-size, at));
        let found =
            found.or_else(|| back.set_against(there).map(|(size, [back, there])| (size, [there, back])));
        let (size, apart) = found?;
        // Seen from the end backwards, what follows comes before.
        let (size, apart) = (way * size, apart.map(|at| way * at));
        let at = f64::midpoint(apart[0], apart[1]);
        let error = there.least().hypot(back.least());
        let doubt = there.wait.hypot(back.wait);
        Some(AtEnd { transition: Transition { from: at, to: at, size, error, doubt }, apart })
    });
    ends.into_iter().flatten().collect()
}

/// The least packets of a direction near an end, above the level before: as time goes on to it.
struct Stretch {
    points: Vec<(f64, f64)>,
    wait: f64,
    grain: f64,
}

impl Stretch {
    /// Towards the end where `way` is 1, and towards the beginning where it is -1.
    fn new(survey: &Survey, way: f64, changes: &[(f64, f64)]) -> Option<Self> {
        let end = survey.fine.iter().map(|cell| way * cell.x).reduce(f64::max)?;
        let reach = FLOORS * survey.length / many(survey.floors.len().max(1));
        let (near, far) = (end - reach, end - (1.0 + BEFORE) * reach);
        if changes.iter().any(|(from, to)| (way * from).max(way * to) >= far) {
            return None;
        }
        let height = |cell: &Floor| cell.above(survey.slope);
        let before = survey.fine.iter().filter(|cell| (far..near).contains(&(way * cell.x)));
        let mut before: Vec<f64> = before.map(height).collect();
        if before.len() < KNOWN {
            return None;
        }
        let level = before.iter().copied().reduce(f64::min)?;
        before.iter_mut().for_each(|one| *one -= level);
        let wait = (median(&mut before) / core::f64::consts::LN_2).max(survey.grain).max(1.0);
        let beyond = survey.fine.iter().filter(|cell| way * cell.x >= near);
        let mut points: Vec<(f64, f64)> = beyond.map(|cell| (way * cell.x, height(cell) - level)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(Self { points, wait, grain: survey.grain })
    }

    /// By how much the least packets wait.
    fn least(&self) -> f64 {
        self.wait / many(BEYOND)
    }

    /// Where the level is higher by `size` from a packet on, if that is plainer than that it is not: the moment, and the
    /// packets from there on.
    fn changed(&self, size: f64) -> Option<(f64, &[(f64, f64)])> {
        let cost =
            |points: &[(f64, f64)], level: f64| cost(points.iter().map(|point| point.1 - level), self.wait);
        let splits = 1..=self.points.len().checked_sub(BEYOND)?;
        let costs = splits.map(|split| {
            let (before, after) = self.points.split_at(split);
            (split, cost(before, 0.0) + cost(after, size))
        });
        let (split, least) = costs.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let at = f64::midpoint(self.points[split - 1].0, self.points[split].0);
        (least + PLAINER < cost(&self.points, 0.0)).then(|| (at, &self.points[split..]))
    }

    /// By how much packets lie lower here, and higher in the `other`, from when on in each.
    fn set_against(&self, other: &Self) -> Option<(f64, [f64; 2])> {
        let lower = -self.points.iter().map(|point| point.1).reduce(f64::min)?;
        let grain = self.grain.max(other.grain);
        if lower < LEAST.0.max(LEAST.1 * self.wait.max(other.wait)).max(LEAST.2 * grain) {
            return None;
        }
        let slack = OPPOSITE.0 * lower + OPPOSITE.1 * (self.least() + other.least()) + grain;
        let (at, _) = self.changed(-lower)?;
        // Nothing there lies lower by the size than what this direction says, but for what its least packet has waited.
        let (opposite, raised) = other.changed(lower)?;
        let higher = raised.iter().map(|point| point.1).reduce(f64::min)?;
        ((higher - lower).abs() <= slack).then(|| (f64::midpoint(lower, higher), [at, opposite]))
    }
}
