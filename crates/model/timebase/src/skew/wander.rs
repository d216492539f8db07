//! A rate that changes by itself: with temperature, and at random.

use super::classic::LeastSquares;
use super::floors::Floor;
use super::{many, median};

/// So much likelier, as twice the logarithm, must a wandering rate be than a steady one.
const LIKELIER: f64 = 20.0;

/// A floor is high from so many times on what floors usually lie off the curve; and how often that is asked anew.
const HIGH: f64 = 4.5;
const ROUNDS: usize = 3;

/// By how much a clock is ahead, smoothed.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// Moment (seconds), value (nanoseconds), and its variance.
    pub(crate) knots: Vec<(f64, f64, f64)>,
}

impl Curve {
    /// The mean rate from one moment to another, the first and the last of the run, nanoseconds a second, and its error. Knots
    /// lie up to a floor's length within the run, where the rate is another than on average: beyond them it goes on as there.
    pub(crate) fn rate(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        let (first, last) = (self.knots.first()?, self.knots.last()?);
        let length = to - from;
        (length > 0.0 && self.knots.len() > 1)
            .then(|| ((self.at(to) - self.at(from)) / length, (first.2 + last.2).sqrt() / length))
    }

    /// The value at a moment, straight between knots and beyond them.
    pub(crate) fn at(&self, x: f64) -> f64 {
        let right = self.knots.partition_point(|knot| knot.0 <= x).clamp(1, self.knots.len() - 1);
        let (a, b) = (self.knots[right - 1], self.knots[right]);
        a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0)
    }

    /// The mean variance of a knot.
    pub(crate) fn variance(&self) -> f64 {
        self.knots.iter().map(|knot| knot.2).sum::<f64>() / many(self.knots.len().max(1))
    }
}

/// Moments at which curves are held against each other.
const MOMENTS: u32 = 200;
/// Curves whose difference bends by more than this share of what both do (their squares) are not those of one clock.
const ONE_CLOCK: f64 = 0.5;

/// Whether two curves, each as its direction sees the responder's clock, bend as one clock does: alike. A level of the way that
/// wanders bends either direction's as it likes, or both's in opposite senses.
pub(crate) fn of_one_clock(one: &Curve, other: &Curve, signs: [f64; 2]) -> bool {
    let end = |curve: &Curve| Some((curve.knots.first()?.0, curve.knots.last()?.0));
    let (Some(a), Some(b)) = (end(one), end(other)) else { return false };
    let (first, last) = (a.0.max(b.0), a.1.min(b.1));
    let moments = (0..=MOMENTS).map(|n| first + (last - first) * f64::from(n) / f64::from(MOMENTS));
    let bent = |height: &dyn Fn(f64) -> f64| {
        let points: Vec<(f64, f64)> = moments.clone().map(|x| (x, height(x))).collect();
        unstraight(&points).into_iter().map(|left| left * left).sum::<f64>()
    };
    let [a, b] = [(one, signs[0]), (other, signs[1])].map(|(curve, sign)| move |x: f64| sign * curve.at(x));
    bent(&|x| a(x) - b(x)) <= ONE_CLOCK * (bent(&a) + bent(&b))
}

/// What points lie off the straight line through them with the least squares.
fn unstraight(points: &[(f64, f64)]) -> Vec<f64> {
    let slope = LeastSquares::of(points).slope().map_or(0.0, |(slope, _)| slope);
    let level = points.iter().map(|(x, y)| y - slope * x).sum::<f64>() / many(points.len().max(1));
    points.iter().map(|(x, y)| y - slope * x - level).collect()
}

/// A floor without the slope, and by how much more than usual its height varies: the least of a few packets lies higher
/// above the level than that of many.
struct Point {
    x: f64,
    y: f64,
    noise: f64,
}

#[derive(Clone, Copy)]
struct State {
    x: f64,
    mean: [f64; 2],
    cover: [f64; 3],
    /// What was expected here before the observation.
    before: ([f64; 2], [f64; 3]),
}

/// Follows floors, with `slope` taken out, by a clock whose rate walks at random (Kalman's filter, smoothed backwards by
/// Rauch, Tung and Striebel), at the walk's most likely pace. `None` where a steady rate explains the floors as well, or what it
/// leaves is no more than the `coarse` nanoseconds that stamps do not tell apart, up and down.
pub(crate) fn follow(floors: &[Floor], slope: f64, coarse: f64) -> Option<Curve> {
    let mut counts: Vec<f64> = floors.iter().map(|floor| floor.count).collect();
    let usual = median(&mut counts);
    let noise = |floor: &Floor| (usual / floor.count.max(1.0)).max(1.0).powi(2);
    let mut points: Vec<Point> =
        floors.iter().map(|floor| Point { x: floor.x, y: floor.above(slope), noise: noise(floor) }).collect();
    let length = points.last()?.x - points.first()?.x;
    if points.len() < 20 || length <= 0.0 {
        return None;
    }
    let pace = |power: i32| 10f64.powf(f64::from(power) / 2.0) / length.powi(3);
    let finest = 3.0 * many(points.len()).log10();
    let likeliest = |points: &[Point]| {
        (-2..super::rounded(2.0 * finest).try_into().unwrap_or(12))
            .map(|power| (filter(points, pace(power)).0, power))
            .max_by(|a, b| a.0.total_cmp(&b.0))
    };
    for _ in 0..ROUNDS {
        let (_, deviation, states) = filter(&points, pace(likeliest(&points)?.1));
        points.iter_mut().zip(floors).for_each(|(point, floor)| point.noise = noise(floor));
        set_high_apart(&mut points, &smooth(&states, deviation));
    }
    let (steady, ..) = filter(&points, 0.0);
    let best = likeliest(&points)?;
    if 2.0 * (best.0 - steady) < LIKELIER {
        return None;
    }
    let (_, noise, states) = filter(&points, pace(best.1));
    let smoothed = smooth(&states, noise);
    if coarse > 0.0 && bend(&smoothed) <= coarse {
        return None;
    }
    let knot = |(x, y, v): (f64, f64, f64)| (x, y + slope * x, v + coarse * coarse);
    Some(Curve { knots: smoothed.into_iter().map(knot).collect() })
}

/// A floor that lies far above the curve had no packet that did not wait: its height says the less the higher it is, or one at an end of
/// the run would bend the curve there.
fn set_high_apart(points: &mut [Point], knots: &[(f64, f64, f64)]) {
    let above: Vec<f64> = points.iter().zip(knots).map(|(point, knot)| point.y - knot.1).collect();
    let usual = median(&mut above.iter().map(|one| one.abs()).collect::<Vec<_>>());
    for (point, above) in points.iter_mut().zip(above) {
        let high = above / (HIGH * usual.max(1e-9));
        if high > 1.0 {
            point.noise *= high * high;
        }
    }
}

/// The farthest that knots lie from the straight line through them with the least squares.
fn bend(knots: &[(f64, f64, f64)]) -> f64 {
    let points: Vec<(f64, f64)> = knots.iter().map(|knot| (knot.0, knot.1)).collect();
    unstraight(&points).into_iter().map(f64::abs).fold(0.0, f64::max)
}

/// The logarithm of the likelihood, the variance of an observation, and the states.
fn filter(points: &[Point], pace: f64) -> (f64, f64, Vec<State>) {
    let vague = 1e12;
    let mut mean = [points[0].y, 0.0];
    let mut cover = [vague, 0.0, vague];
    let mut last = points[0].x;
    let (mut logs, mut squares) = (0.0, 0.0);
    let mut states = Vec::with_capacity(points.len());
    for (number, Point { x, y, noise }) in points.iter().enumerate() {
        let t = x - last;
        last = *x;
        mean[0] += t * mean[1];
        let [a, b, c] = cover;
        cover = [
            a + 2.0 * t * b + t * t * c + pace * t.powi(3) / 3.0,
            b + t * c + pace * t * t / 2.0,
            c + pace * t,
        ];
        let before = (mean, cover);
        let total = cover[0] + noise;
        let surprise = y - mean[0];
        if number >= 2 {
            logs += total.ln();
            squares += surprise * surprise / total;
        }
        let gain = [cover[0] / total, cover[1] / total];
        mean = [mean[0] + gain[0] * surprise, mean[1] + gain[1] * surprise];
        cover = [cover[0] * (1.0 - gain[0]), cover[1] * (1.0 - gain[0]), cover[2] - gain[1] * cover[1]];
        states.push(State { x: *x, mean, cover, before });
    }
    let free = many(points.len()) - 2.0;
    let noise = (squares / free).max(1e-6);
    (-0.5 * (logs + free * noise.ln()), noise, states)
}

fn smooth(states: &[State], noise: f64) -> Vec<(f64, f64, f64)> {
    let mut knots = Vec::with_capacity(states.len());
    let Some(last) = states.last() else { return knots };
    let (mut mean, mut cover) = (last.mean, last.cover);
    knots.push((last.x, mean[0], cover[0] * noise));
    for pair in states.windows(2).rev() {
        let (here, next) = (&pair[0], &pair[1]);
        let t = next.x - here.x;
        let [a, b, c] = here.cover;
        // Covariance of the state here with the next one, times the inverse of the latter's.
        let cross = [[a + t * b, b], [b + t * c, c]];
        let [p, q, r] = next.before.1;
        let determinant = p * r - q * q;
        if determinant <= 0.0 {
            break;
        }
        let gain = cross
            .map(|row| [(row[0] * r - row[1] * q) / determinant, (row[1] * p - row[0] * q) / determinant]);
        let away = [mean[0] - next.before.0[0], mean[1] - next.before.0[1]];
        let change = [cover[0] - p, cover[1] - q, cover[2] - r];
        let spread = |i: usize, j: usize| {
            gain[i][0] * (change[0] * gain[j][0] + change[1] * gain[j][1])
                + gain[i][1] * (change[1] * gain[j][0] + change[2] * gain[j][1])
        };
        mean = [
            here.mean[0] + gain[0][0] * away[0] + gain[0][1] * away[1],
            here.mean[1] + gain[1][0] * away[0] + gain[1][1] * away[1],
        ];
        cover = [a + spread(0, 0), b + spread(0, 1), c + spread(1, 1)];
        knots.push((here.x, mean[0], cover[0].max(0.0) * noise));
    }
    knots.reverse();
    knots
}
