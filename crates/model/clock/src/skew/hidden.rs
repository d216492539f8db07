//! A slew of a clock that neither direction shows by itself, because it hides in what packets wait: both together do.
//!
//! A direction's floors are cut where that explains them much better, and a slew that is small against what floors lie above their line makes them
//! a line of another slope as well: a rate that is wrong, and looks sure. But both directions have it at the same time, with opposite signs. So
//! floors are taken as the responder's clock would be ahead by them, and a line through those of both is sought that has a ramp in it.

use super::arithmetic::{many, median};
use super::estimate::coarse;
use super::survey::Survey;
use super::transition::Transition;

/// Floors of a direction, at least.
const FLOORS: usize = 40;
/// Moments that are tried for either end of a ramp, and how often what was found is looked for more finely.
const MOMENTS: u32 = 40;
const FINER: u32 = 3;
/// A ramp is no longer than this share of the run, and is no nearer to an end of it than the second one.
const LONGEST: f64 = 0.25;
const FROM_END: f64 = 0.04;
/// A clock whose rate changes by less than this is not slewed, nanoseconds a second: rates wander by that.
const SLEWED: f64 = 5_000.0;
/// And it is more than so many times what stamps do not tell apart.
const COARSE: f64 = 3.0;
/// No clock is slewed by more.
const STEEP: f64 = 1e6;
/// What a ramp has to explain more, as the logarithm of a likelihood, with so many moments to choose from; floors that are high or low together
/// count for fewer.
const PLAINER: f64 = 30.0;
/// So much better a ramp has to be than a step; and of a direction that is alone.
const STEPPED: f64 = 5.0;
const STEPPED_ALONE: f64 = 7.0;
/// What is told besides is no nearer than this share of the run.
const APART: f64 = 0.02;
/// Each direction by itself has to show it by so many times what it may be off by chance, and both have to agree to as many.
const SHOWN: f64 = 3.0;
const AGREE: f64 = 4.0;
/// Neighbours are alike by more than chance explains from so many times on what it usually makes of their correlation.
const ALIKE: f64 = 2.0;
/// A floor so many times higher than floors usually lie off the line says the less the higher it is.
const HIGH: f64 = 4.5;

/// The floors of one direction, as the responder's clock would be ahead by them.
struct DirectionFloors {
    x: Vec<f64>,
    z: Vec<f64>,
    /// The level that each has in common with others: between two changes.
    level: Vec<usize>,
    levels: usize,
    /// How much each counts.
    weight: Vec<f64>,
    /// 1 where waiting makes the clock seem to be ahead, and -1 where it makes it seem to be behind.
    sign: f64,
    /// The variance of a usual floor, and by how many times fewer they are for being high or low together.
    variance: f64,
    fewer: f64,
}

/// How a direction shows a ramp: by how much the clock went on in it, and what that is known to, as the inverse of its variance.
#[derive(Clone, Copy, Debug)]
struct Shown {
    size: f64,
    known: f64,
}

impl Shown {
    /// How many times it is what it may be off.
    fn clear(self) -> f64 {
        self.size * self.known.sqrt()
    }
}

impl DirectionFloors {
    fn new(survey: &Survey, sign: f64) -> Option<Self> {
        let (mut x, mut z, mut level) = (Vec::new(), Vec::new(), Vec::new());
        for (number, group) in survey.groups.iter().enumerate() {
            for floor in &survey.floors[group.clone()] {
                x.push(floor.x);
                z.push(sign * floor.above(survey.slope));
                level.push(number);
            }
        }
        let number = x.len();
        let levels = survey.groups.len();
        let weight = vec![1.0; number];
        let mut side = Self { x, z, level, levels, weight, sign, variance: 1.0, fewer: 1.0 };
        side.set_by(None);
        (number >= FLOORS).then_some(side)
    }

    /// What is left of a column when the mean of each level is taken out of it.
    fn centered(&self, mut column: Vec<f64>) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.levels];
        for ((value, weight), level) in column.iter().zip(&self.weight).zip(&self.level) {
            sums[*level] = (sums[*level].0 + weight * value, sums[*level].1 + weight);
        }
        for (value, level) in column.iter_mut().zip(&self.level) {
            *value -= sums[*level].0 / sums[*level].1.max(1e-12);
        }
        column
    }

    fn product(&self, a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).zip(&self.weight).map(|((a, b), weight)| weight * a * b).sum()
    }

    /// The same without a slope as well, which `x` is of what is left of time.
    fn level(&self, column: Vec<f64>, x: &[f64]) -> Vec<f64> {
        let mut left = self.centered(column);
        let slope = self.product(&left, x) / self.product(x, x).max(1e-12);
        left.iter_mut().zip(x).for_each(|(value, x)| *value -= slope * x);
        left
    }

    fn times(&self) -> Vec<f64> {
        self.centered(self.x.clone())
    }

    /// What is left of the floors and of a ramp.
    fn left(&self, ramp: Option<(f64, f64)>) -> (Vec<f64>, Vec<f64>) {
        let x = self.times();
        let z = self.level(self.z.clone(), &x);
        let ramp = ramp.map(|ramp| self.level(self.ramp(ramp), &x)).unwrap_or_default();
        (z, ramp)
    }

    fn ramp(&self, ramp: (f64, f64)) -> Vec<f64> {
        self.x.iter().map(|x| gone(ramp, *x)).collect()
    }

    /// What a ramp is here, of floors of which `x` and `z` are left.
    fn shown(&self, ramp: (f64, f64), x: &[f64], z: &[f64]) -> Shown {
        let ramp = self.level(self.ramp(ramp), x);
        let squares = self.product(&ramp, &ramp);
        let size = self.product(&ramp, z) / squares.max(1e-12);
        Shown { size, known: squares / (self.variance * self.fewer) }
    }

    /// The slope of the floors without a ramp of some size.
    fn slope(&self, ramp: (f64, f64), size: f64) -> f64 {
        let x = self.times();
        let z = self.z.iter().zip(self.ramp(ramp)).map(|(z, ramp)| z - size * ramp).collect();
        self.product(&self.centered(z), &x) / self.product(&x, &x).max(1e-12)
    }

    /// What the floors lie off the line with a ramp, or without one.
    fn off(&self, ramp: Option<(f64, f64)>) -> Vec<f64> {
        let (mut z, ramp) = self.left(ramp);
        if !ramp.is_empty() {
            let size = self.product(&ramp, &z) / self.product(&ramp, &ramp).max(1e-12);
            z.iter_mut().zip(ramp).for_each(|(z, ramp)| *z -= size * ramp);
        }
        z
    }

    /// Sets by what lies off the line how much each floor counts, how much usual ones vary, and how alike neighbours are.
    fn set_by(&mut self, ramp: Option<(f64, f64)>) {
        let off = self.off(ramp);
        let usual = median(&mut off.iter().map(|one| one.abs()).collect::<Vec<_>>()).max(0.5);
        for (weight, off) in self.weight.iter_mut().zip(&off) {
            let high = self.sign * off / (HIGH * usual);
            *weight = if high > 1.0 { (high * high).recip() } else { 1.0 };
        }
        let off = self.off(ramp);
        let all: f64 = self.weight.iter().sum();
        self.variance = self.product(&off, &off) / all;
        let root: Vec<f64> = off.iter().zip(&self.weight).map(|(off, weight)| off * weight.sqrt()).collect();
        let squares: f64 = root.iter().map(|one| one * one).sum();
        let alike = |lag: usize| {
            root.iter().zip(root.iter().skip(lag)).map(|(a, b)| a * b).sum::<f64>() / squares.max(1e-12)
        };
        let chance = ALIKE / many(root.len()).sqrt();
        let alike: f64 = (1..root.len() / 4).map(alike).take_while(|alike| *alike > chance).sum();
        self.fewer = 1.0 + 2.0 * alike;
    }
}

/// How much of what goes on between two moments has at one.
pub(super) fn gone((from, to): (f64, f64), x: f64) -> f64 {
    if x >= to { 1.0 } else { ((x - from) / (to - from)).clamp(0.0, 1.0) }
}

/// By how much better floors are explained with a ramp than without one.
fn better(sides: &[DirectionFloors], ramp: (f64, f64)) -> f64 {
    let each = sides.iter().map(|side| {
        let squares = |ramp| {
            let off = side.off(ramp);
            side.product(&off, &off).max(1e-12)
        };
        0.5 * many(side.x.len()) / side.fewer * (squares(None) / squares(Some(ramp))).ln()
    });
    each.sum()
}

/// The slew that both directions hide, if there is one: by how much the responder's clock went on, and by how much the slopes of both directions'
/// delays differ without it from what they are taken for.
/// What is told besides happens between the moments of `busy`.
pub(crate) fn slew(
    forward: &Survey,
    reverse: &Survey,
    busy: &[(f64, f64)],
) -> Option<(Transition, [f64; 2])> {
    let mut sides = [DirectionFloors::new(forward, 1.0)?, DirectionFloors::new(reverse, -1.0)?];
    let first = forward.floors.first()?.x.max(reverse.floors.first()?.x);
    let length = forward.length.min(reverse.length);
    let mut found = None;
    for _ in 0..2 {
        let ramp = clearest(&sides, first, length)?;
        sides.iter_mut().for_each(|side| side.set_by(Some(ramp)));
        found = Some(ramp);
    }
    let ramp = found?;
    let mut clearer = better(&sides, ramp);
    let step = step_near(&sides, ramp);
    let as_step = better(&sides, step);
    let ramp = if as_step + STEPPED > clearer {
        clearer = as_step;
        step
    } else {
        ramp
    };
    let each = sides.each_ref().map(|side| {
        let (z, _) = side.left(None);
        side.shown(ramp, &side.times(), &z)
    });
    let [there, back] = each;
    let known = there.known + back.known;
    let size = (there.size * there.known + back.size * back.known) / known;
    let off = (there.known.recip() + back.known.recip()).sqrt();
    let is_shown = each.iter().all(|one| one.clear() * size.signum() > SHOWN);
    let agree = (there.size - back.size).abs() < AGREE * off;
    let (from, to) = ramp;
    let span = (from, to);
    let near = APART * length;
    let is_apart = [forward, reverse].iter().all(|survey| survey.holds(span))
        && !busy.iter().any(|other| other.0 < to + near && other.1 > from - near);
    let is_fast = size.abs() > SLEWED * (to - from);
    // Stamps that do not tell that make ramps of their own.
    let is_told = size.abs() > COARSE * (coarse(forward.grain) + coarse(reverse.grain));
    (clearer > PLAINER && is_shown && agree && is_fast && is_apart && is_told).then(|| {
        let doubt = sides.iter().map(|side| side.variance.sqrt()).fold(f64::INFINITY, f64::min);
        let slopes = sides.each_ref().map(|side| side.sign * side.slope(span, size));
        (Transition { from, to, size, error: known.recip().sqrt(), doubt }, slopes)
    })
}

/// The slew that explains a direction's floors better than a `jump`, which they are joined over, if it takes more than `gradual` of the run; and
/// by how much the slope differs without it from what it is taken for.
pub(crate) fn as_slew(joined: &Survey, jump: &Transition, gradual: f64) -> Option<(Transition, f64)> {
    let mut sides = [DirectionFloors::new(joined, jump.size.signum())?];
    let first = joined.floors.first()?.x;
    sides[0].set_by(Some((jump.from, jump.to)));
    let ramp = clearest(&sides, first, joined.length)?;
    sides[0].set_by(Some(ramp));
    let near = APART * joined.length;
    let (from, to) = ramp;
    let is_it = from - near < jump.from && jump.from < to + near && to - from > gradual * joined.length;
    let plainer = better(&sides, ramp) - better(&sides, step_near(&sides, ramp));
    let shown = sides[0].shown(ramp, &sides[0].times(), &sides[0].left(None).0);
    let is_fast = shown.size > SLEWED * (to - from) && shown.size < STEEP * (to - from);
    (is_it && plainer > STEPPED_ALONE && is_fast && joined.holds(ramp)).then(|| {
        let sign = sides[0].sign;
        let slope = sign * sides[0].slope(ramp, shown.size);
        (Transition { from, to, size: sign * shown.size, error: shown.known.recip().sqrt(), ..*jump }, slope)
    })
}

/// The step that directions show most clearly near a ramp.
fn step_near(sides: &[DirectionFloors], (from, to): (f64, f64)) -> (f64, f64) {
    let left: Vec<_> = sides.iter().map(|side| (side.times(), side.left(None).0)).collect();
    let unit = (to - from) / f64::from(MOMENTS);
    let moments = (-5..=45_i32).map(|n| from + unit * f64::from(n));
    let priced = moments.map(|at| (clear(sides, &left, (at, at)), at));
    let at = priced.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(from, |best| best.1);
    (at, at)
}

/// How clear a ramp is, of what is left of times and floors.
fn clear(sides: &[DirectionFloors], left: &[(Vec<f64>, Vec<f64>)], ramp: (f64, f64)) -> f64 {
    let (mut sum, mut known) = (0.0, 0.0);
    for (side, (x, z)) in sides.iter().zip(left) {
        let one = side.shown(ramp, x, z);
        (sum, known) = (sum + one.size * one.known, known + one.known);
    }
    sum * sum / known.max(1e-300)
}

/// The ramp that both directions together show most clearly.
fn clearest(sides: &[DirectionFloors], first: f64, length: f64) -> Option<(f64, f64)> {
    let left: Vec<_> = sides.iter().map(|side| (side.times(), side.left(None).0)).collect();
    let (low, high) = (first + FROM_END * length, first + (1.0 - FROM_END) * length);
    let mut unit = (high - low) / f64::from(MOMENTS);
    let mut found: Option<(f64, (f64, f64))> = None;
    let mut consider = |from: f64, to: f64| {
        if from < to && from >= low && to <= high && to - from <= LONGEST * length {
            let clear = clear(sides, &left, (from, to));
            if found.is_none_or(|best| clear > best.0) {
                found = Some((clear, (from, to)));
            }
        }
        found.map(|best| best.1)
    };
    let mut at = None;
    for a in 0..MOMENTS {
        for b in a + 1..=MOMENTS {
            at = consider(low + unit * f64::from(a), low + unit * f64::from(b));
        }
    }
    for _ in 0..FINER {
        unit /= 2.0;
        let (from, to) = at?;
        for i in [-1.0, 0.0, 1.0] {
            for j in [-1.0, 0.0, 1.0] {
                at = consider(from + unit * i, to + unit * j);
            }
        }
    }
    at
}
