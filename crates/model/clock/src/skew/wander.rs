//! A rate that changes by itself: with temperature, and at random.

use super::arithmetic::{many, median, rounded};
use super::classic::LeastSquares;
use super::floors::Floor;

/// What one direction shows.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Its floors, with the changes of their level taken out, in order of time.
    pub(crate) floors: Vec<Floor>,
    /// How the responder's clock enters its delays, 1 or -1.
    pub(crate) sign: f64,
    /// What stamps do not tell apart, nanoseconds, up and down.
    pub(crate) coarse: f64,
}

/// So much likelier, as twice the logarithm, must a wandering rate be than a steady one.
const LIKELIER: f64 = 20.0;

/// Knots are no nearer to each other than this share of what they are usually apart.
const NEAR: f64 = 0.5;

/// A floor is high from so many times on what floors usually lie off the curve; and how often that is asked anew.
const HIGH: f64 = 4.5;
const ROUNDS: usize = 3;

/// By how much the responder's clock is ahead of the sender's, smoothed, without what it is at first.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// Moment (seconds) and value (nanoseconds).
    pub(crate) knots: Vec<(f64, f64)>,
    /// The variance of the value at the end of the run that is known less, square nanoseconds.
    pub(crate) variance_at_ends: f64,
    /// The mean rate over the run, nanoseconds a second, and its error.
    pub(crate) rate: (f64, f64),
    /// The variance of a usual floor, square nanoseconds.
    pub(crate) noise: f64,
}

impl Curve {
    /// The value at a moment, straight between knots and beyond them.
    pub(crate) fn at(&self, x: f64) -> f64 {
        let right = self.knots.partition_point(|knot| knot.0 <= x).clamp(1, self.knots.len() - 1);
        let (a, b) = (self.knots[right - 1], self.knots[right]);
        a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0)
    }
}

/// Moments at which curves are held against each other.
const MOMENTS: u32 = 200;
/// Curves whose difference bends by more than this share of what both do (their squares) are not those of one clock.
const ONE_CLOCK: f64 = 0.5;

/// Whether two curves, each of the responder's clock as one direction shows it, bend as one clock does: alike. A level of the way that
/// wanders bends either direction's as it likes, or both's in opposite senses.
pub(crate) fn of_one_clock(one: &Curve, other: &Curve) -> bool {
    let end = |curve: &Curve| Some((curve.knots.first()?.0, curve.knots.last()?.0));
    let (Some(a), Some(b)) = (end(one), end(other)) else { return false };
    let (first, last) = (a.0.max(b.0), a.1.min(b.1));
    let moments = (0..=MOMENTS).map(|n| first + (last - first) * f64::from(n) / f64::from(MOMENTS));
    let bent = |height: &dyn Fn(f64) -> f64| {
        let points: Vec<(f64, f64)> = moments.clone().map(|x| (x, height(x))).collect();
        unstraight(&points).into_iter().map(|left| left * left).sum::<f64>()
    };
    let [a, b] = [one, other].map(|curve| move |x: f64| curve.at(x));
    bent(&|x| a(x) - b(x)) <= ONE_CLOCK * (bent(&a) + bent(&b))
}

/// What points lie off the straight line through them with the least squares.
fn unstraight(points: &[(f64, f64)]) -> Vec<f64> {
    let slope = LeastSquares::new(points).slope().map_or(0.0, |(slope, _)| slope);
    let level = points.iter().map(|(x, y)| y - slope * x).sum::<f64>() / many(points.len().max(1));
    points.iter().map(|(x, y)| y - slope * x - level).collect()
}

/// A floor as the responder's clock would be ahead by it, without the slope; and by how much more than usual its height varies: the least
/// of a few packets lies higher above the level than that of many.
struct Point {
    x: f64,
    y: f64,
    noise: f64,
    sign: f64,
    /// The number of its direction.
    way: usize,
}

/// What is known at a moment: by how much the clock is ahead, its rate, and by how much the second direction's level lies off the first's.
type Mean = [f64; 3];
type Cover = [[f64; 3]; 3];

#[derive(Clone, Copy)]
struct State {
    x: f64,
    mean: Mean,
    cover: Cover,
    /// What the observation was beyond what was expected, and the variance of that.
    surprise: f64,
    total: f64,
    /// The covariance of what was expected here and of the observation.
    along: Mean,
    /// The number of the direction that was observed.
    way: usize,
}

/// What the floors say together.
struct Filtered {
    /// The logarithm of the likelihood.
    log: f64,
    /// The variance of a usual floor.
    noise: f64,
    states: Vec<State>,
    /// By how much the clock is ahead at the end of the run more than at its beginning, and the variance of that.
    gone: (f64, f64),
}

/// Follows the floors of one direction, or of both together, by a clock whose rate walks at random (Kalman's filter, smoothed backwards by
/// Bryson and Frazier), at the walk's most likely pace, from one moment to another. Both directions see the same clock: what the walk
/// leaves out of its bends is counted once. `noises` are the variances of the directions' floors, as the curves of each by itself have them;
/// none of one alone. `None` where a steady rate explains the floors as well, or what it leaves is no more than what stamps do not tell apart.
pub(crate) fn follow(shown: &[Shown], slope: f64, span: (f64, f64), noises: &[f64]) -> Option<Curve> {
    let (points, best, pace) = likeliest(shown, slope, span, noises)?;
    let steady = filter(&points, 0.0, span).log;
    if 2.0 * (best - steady) < LIKELIER {
        return None;
    }
    let found = filter(&points, pace, span);
    let coarse = shown.iter().map(|one| one.coarse).fold(0.0, f64::max);
    let variance_at_ends = variance_at_ends(points, &found, pace, span) + coarse * coarse;
    let mut knots: Vec<(f64, f64)> = smooth(&found).iter().map(|knot| (knot.0, knot.1[0])).collect();
    // Between floors of both directions that are nearly at one moment a line has no slope to speak of.
    let near = NEAR * (span.1 - span.0) / many(knots.len().max(1));
    knots.dedup_by(|after, before| after.0 - before.0 < near);
    // Floors of one moment of the run say nothing of how a clock went.
    if knots.len() < 2 || (coarse > 0.0 && bend(&knots) <= coarse) {
        return None;
    }
    knots.iter_mut().for_each(|(x, y)| *y += slope * *x);
    let (gone, variance) = found.gone;
    let length = span.1 - span.0;
    let rate = (slope + gone / length, variance.sqrt() / length);
    Some(Curve { knots, variance_at_ends, rate, noise: found.noise })
}

/// By how much better a clock of any pace, or none, explains the floors of `one` than those of `other`, which are the same at other heights: the
/// logarithm of the likelihoods' ratio. Floors count as much in both as they do beside the curve of the first.
pub(crate) fn explained_better(
    [one, other]: [&[Shown]; 2],
    slope: f64,
    span: (f64, f64),
    noises: &[f64],
) -> Option<f64> {
    let (points, best, _) = likeliest(one, slope, span, noises)?;
    let (mut others, _) = self::points(other, slope, noises)?;
    others.iter_mut().zip(&points).for_each(|(other, point)| other.noise = point.noise);
    let log = |points: &[Point], best: f64| best.max(filter(points, 0.0, span).log);
    let others_best = paces(others.len(), span).map(|pace| filter(&others, pace, span).log);
    let others_best = others_best.fold(f64::NEG_INFINITY, f64::max);
    (points.len() == others.len()).then(|| log(&points, best) - log(&others, others_best))
}

/// So much likelier, as the logarithm, must a clock's wandering be than a level's, where it may be either.
const CLOCKS: f64 = 6.0;
/// A level's variances that are tried, in units of a floor's, by powers of two; and times after which it has forgotten where it was: halved so often from
/// the length of the run.
const VARIANCES: (i32, i32) = (-2, 12);
const HALVED: i32 = 9;

/// Whether a clock whose rate walks at random explains the floors of one direction better than a clock of a steady rate and a level of the way that
/// wanders by itself and comes back (a stationary Gauss-Markov process): a clock's course is smooth, as it is the sum of its rates.
pub(crate) fn is_a_clocks(shown: &[Shown], slope: f64, span: (f64, f64)) -> Option<bool> {
    let (points, best, _) = likeliest(shown, slope, span, &[])?;
    Some(best > of_levels(&points) + CLOCKS)
}

/// How likely floors are, as the logarithm, if the clocks' rate is steady and a level of the way wanders by itself, or keeps still.
pub(crate) fn as_a_level(shown: &[Shown], slope: f64) -> f64 {
    points(shown, slope, &[]).map_or(f64::NEG_INFINITY, |(points, _)| of_levels(&points))
}

/// The same by the most likely level.
fn of_levels(points: &[Point]) -> f64 {
    let ends = points.first().zip(points.last());
    let length = ends.map_or(0.0, |(first, last)| last.x - first.x).max(1e-9);
    let each = (0..HALVED).flat_map(|halved| {
        let time = length * 0.5f64.powi(halved);
        (VARIANCES.0..=VARIANCES.1).map(move |power| level(points, 2f64.powi(power), time))
    });
    each.fold(level(points, 0.0, length), f64::max)
}

/// How likely floors are, as the logarithm, if they lie about a line and a level of that variance, which has forgotten all but a part (1/e) of
/// where it was after a time.
fn level(points: &[Point], variance: f64, time: f64) -> f64 {
    // By how much the clock is ahead, its rate, and how high the level is.
    let mut mean = [0.0; 3];
    let mut cover = [[VAGUE, 0.0, 0.0], [0.0, VAGUE, 0.0], [0.0, 0.0, variance]];
    let mut last = points.first().map_or(0.0, |point| point.x);
    let (mut logs, mut squares, mut free) = (0.0, 0.0, 0.0);
    for Point { x, y, noise, .. } in points {
        let t = x - last;
        last = *x;
        let kept = (-t / time).exp();
        let passes = [[1.0, t, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, kept]];
        let turned: Cover = core::array::from_fn(|a| core::array::from_fn(|b| passes[b][a]));
        mean = [mean[0] + t * mean[1], mean[1], kept * mean[2]];
        cover = product(&product(&passes, &cover), &turned);
        cover[2][2] += variance * (1.0 - kept * kept);
        let along: Mean = core::array::from_fn(|row| cover[row][0] + cover[row][2]);
        let total = along[0] + along[2] + noise;
        let surprise = y - mean[0] - mean[2];
        if total < UNEXPECTED {
            logs += total.ln();
            squares += surprise * surprise / total;
            free += 1.0;
        }
        for row in 0..3 {
            mean[row] += along[row] / total * surprise;
            for column in 0..3 {
                cover[row][column] -= along[row] * along[column] / total;
            }
        }
    }
    let noise = (squares / f64::max(free, 1.0)).max(1e-6);
    -0.5 * (logs + free * noise.ln())
}

/// Paces that are tried.
fn paces(points: usize, span: (f64, f64)) -> impl Iterator<Item = f64> {
    let length = span.1 - span.0;
    let finest = 3.0 * many(points).log10();
    let most = rounded(2.0 * finest).try_into().unwrap_or(12);
    (-2..most).map(move |power: i32| 10f64.powf(f64::from(power) / 2.0) / length.powi(3))
}

/// The floors with the high ones set apart, and the most likely pace, with the logarithm of its likelihood.
fn likeliest(
    shown: &[Shown],
    slope: f64,
    span: (f64, f64),
    noises: &[f64],
) -> Option<(Vec<Point>, f64, f64)> {
    let (mut points, plain) = points(shown, slope, noises)?;
    if points.len() < 20 || span.1 <= span.0 {
        return None;
    }
    let likeliest = |points: &[Point]| {
        paces(points.len(), span)
            .map(|pace| (filter(points, pace, span).log, pace))
            .max_by(|a, b| a.0.total_cmp(&b.0))
    };
    for _ in 0..ROUNDS {
        let found = filter(&points, likeliest(&points)?.1, span);
        points.iter_mut().zip(&plain).for_each(|(point, noise)| point.noise = *noise);
        set_high_apart(&mut points, &smooth(&found));
    }
    let (log, pace) = likeliest(&points)?;
    Some((points, log, pace))
}

/// The floors of all directions in order of time, and by how much more than usual each varies.
fn points(shown: &[Shown], slope: f64, noises: &[f64]) -> Option<(Vec<Point>, Vec<f64>)> {
    let least = noises.iter().copied().fold(f64::INFINITY, f64::min);
    let mut points = Vec::new();
    for (way, one) in shown.iter().enumerate() {
        let usual = median(&mut one.floors.iter().map(|floor| floor.count).collect::<Vec<_>>());
        let own = noises.get(way).map_or(1.0, |own| own / least.max(1e-9));
        // Heights are taken from the first: clocks are apart by as much as they like.
        let first = one.floors.first()?;
        let level = one.sign * first.y - slope * first.x;
        points.extend(one.floors.iter().map(|floor| Point {
            x: floor.x,
            y: one.sign * floor.y - slope * floor.x - level,
            noise: own * (usual / floor.count.max(1.0)).max(1.0).powi(2),
            sign: one.sign,
            way,
        }));
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let noise = points.iter().map(|point| point.noise).collect();
    Some((points, noise))
}

/// A floor that lies far above the curve had no packet that did not wait: its height says the less the higher it is, or one at an end of
/// the run would bend the curve there.
fn set_high_apart(points: &mut [Point], knots: &[(f64, Mean)]) {
    let above = |(point, (_, mean)): (&Point, &(f64, Mean))| {
        let level = mean[0] + if point.way > 0 { mean[2] } else { 0.0 };
        point.sign * (point.y - level) / point.noise.sqrt()
    };
    let above: Vec<f64> = points.iter().zip(knots).map(above).collect();
    let usual = median(&mut above.iter().map(|one| one.abs()).collect::<Vec<_>>());
    for (point, above) in points.iter_mut().zip(above) {
        let high = above / (HIGH * usual.max(1e-9));
        if high > 1.0 {
            point.noise *= high * high;
        }
    }
}

/// The farthest that knots lie from the straight line through them with the least squares.
fn bend(knots: &[(f64, f64)]) -> f64 {
    unstraight(knots).into_iter().map(f64::abs).fold(0.0, f64::max)
}

/// The variance of what nothing is known of, in units of a floor's.
const VAGUE: f64 = 1e10;
/// Observations of which so little was expected say nothing of how likely a pace is.
const UNEXPECTED: f64 = 1e6;

/// Kalman's filter. Besides what a [`State`] has it keeps what the clock was ahead by at the beginning, of which what is told at the end
/// cannot be told independently.
fn filter(points: &[Point], pace: f64, (from, to): (f64, f64)) -> Filtered {
    let mut mean = [0.0; 4];
    let mut cover = [[0.0; 4]; 4];
    // The beginning is the last one, and the same as where the clock is at first.
    for (a, b) in [(0, 0), (0, 3), (3, 0), (3, 3), (1, 1), (2, 2)] {
        cover[a][b] = VAGUE;
    }
    let mut last = from;
    let (mut logs, mut squares, mut free) = (0.0, 0.0, 0.0);
    let mut states = Vec::with_capacity(points.len());
    for Point { x, y, noise, way, .. } in points {
        pass(&mut mean, &mut cover, x - last, pace);
        last = *x;
        let seen = seen(*way);
        let along: [f64; 4] = core::array::from_fn(|row| seen.iter().map(|place| cover[row][*place]).sum());
        let total = seen.iter().map(|place| along[*place]).sum::<f64>() + noise;
        let surprise = y - seen.iter().map(|place| mean[*place]).sum::<f64>();
        if total < UNEXPECTED {
            logs += total.ln();
            squares += surprise * surprise / total;
            free += 1.0;
        }
        for row in 0..4 {
            mean[row] += along[row] / total * surprise;
            for column in 0..4 {
                cover[row][column] -= along[row] * along[column] / total;
            }
        }
        let covered = core::array::from_fn(|row| first_three(&cover[row]));
        states.push(State {
            x: *x,
            mean: first_three(&mean),
            cover: covered,
            surprise,
            total,
            along: first_three(&along),
            way: *way,
        });
    }
    pass(&mut mean, &mut cover, to - last, pace);
    let noise = (squares / f64::max(free, 1.0)).max(1e-6);
    let variance = (cover[0][0] + cover[3][3] - 2.0 * cover[0][3]).max(0.0) * noise;
    let log = -0.5 * (logs + free * noise.ln());
    Filtered { log, noise, states, gone: (mean[0] - mean[3], variance) }
}

/// Which parts of the state an observation of a direction is the sum of.
fn seen(way: usize) -> &'static [usize] {
    if way > 0 { &[0, 2] } else { &[0] }
}

fn first_three(all: &[f64; 4]) -> [f64; 3] {
    [all[0], all[1], all[2]]
}

/// Lets a time pass.
fn pass(mean: &mut [f64; 4], cover: &mut [[f64; 4]; 4], t: f64, pace: f64) {
    mean[0] += t * mean[1];
    let below = cover[1];
    cover[0].iter_mut().zip(below).for_each(|(one, rate)| *one += t * rate);
    for row in cover.iter_mut() {
        row[0] += t * row[1];
    }
    cover[0][0] += pace * t.powi(3) / 3.0;
    cover[0][1] += pace * t * t / 2.0;
    cover[1][0] += pace * t * t / 2.0;
    cover[1][1] += pace * t;
}

/// The variance of the value at the end of the run that is known less. At its last moment the filter itself has used all floors, and
/// at its first moment the filter that runs backward in time has. The smoother's covariance is of no use at the first moments: it is
/// the difference of numbers as large as [`VAGUE`], and what rounding leaves of it is larger than the variance.
fn variance_at_ends(mut points: Vec<Point>, forward: &Filtered, pace: f64, (from, to): (f64, f64)) -> f64 {
    points.reverse();
    points.iter_mut().for_each(|point| point.x = -point.x);
    let backward = filter(&points, pace, (-to, -from));
    let last = |filtered: &Filtered| filtered.states.last().map_or(0.0, |state| state.cover[0][0]);
    forward.noise * last(forward).max(last(&backward))
}

/// The state at each moment by all observations, as (moment, state): backward in time by Bryson and Frazier, without the inverse of a covariance.
/// The first of these are as large as [`VAGUE`], and what rounding leaves of their inverses is of no use.
fn smooth(found: &Filtered) -> Vec<(f64, Mean)> {
    let mut knots = Vec::with_capacity(found.states.len());
    // What later observations say against the state: its covariance with them times their surprise.
    let mut against: Mean = [0.0; 3];
    let mut later = found.states.last().map_or(0.0, |state| state.x);
    for state in found.states.iter().rev() {
        against[1] += (later - state.x) * against[0];
        later = state.x;
        let mean = core::array::from_fn(|row| state.mean[row] - dot(&state.cover[row], &against));
        knots.push((state.x, mean));
        let said = (state.surprise + dot(&state.along, &against)) / state.total;
        seen(state.way).iter().for_each(|place| against[*place] -= said);
    }
    knots.reverse();
    knots
}

fn dot(a: &Mean, b: &Mean) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn product(a: &Cover, b: &Cover) -> Cover {
    core::array::from_fn(|row| {
        core::array::from_fn(|column| (0..3).map(|one| a[row][one] * b[one][column]).sum())
    })
}
