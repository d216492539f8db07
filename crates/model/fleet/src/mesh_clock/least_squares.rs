//! The estimate within the bounds: least squares over the pairs of a mesh.
//!
//! It minimises the sum of w (x(b) - x(a) - m)^2 with low <= x(b) - x(a) <= high, where m is the middle of the bounds of a pair and the
//! weight w is the inverse square of their width. Without the bounds these are normal equations, solved by conjugate gradients (Hestenes
//! and Stiefel 1952); with them, by the alternating direction method of multipliers (Boyd et al. 2011), which alternates between these
//! equations and the bounds of each pair.

use super::constraints::{Constraint, Range};

/// Iterations at most between the equations and the bounds. The result stays within the bounds if there are too few.
const MAX_ALTERNATIONS: usize = 200;
/// Alternations end if all differences are this near to their bounds, in units of the unknowns.
const TOLERANCE: f64 = 0.1;
/// The residual at which the equations are solved, relative to the first one.
const RELATIVE_RESIDUAL: f64 = 1e-12;
/// The width of a pair whose bounds coincide, in units of the unknowns: half of the resolution of its bounds, at each side.
const LEAST_WIDTH: f64 = 1.0;

/// A pair, relative to the centres of the ranges.
struct Pair {
    a: usize,
    b: usize,
    low: f64,
    high: f64,
    weight: f64,
}

impl Pair {
    fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    fn difference(&self, values: &[f64]) -> f64 {
        at(values, self.b) - at(values, self.a)
    }
}

/// The estimates of all unknowns relative to their roots, rounded to whole units, within their ranges.
pub(super) fn estimate(constraints: &[Constraint], ranges: &[Range]) -> Vec<i128> {
    // The centres satisfy all bounds: they are the mean of two solutions, the greatest and the least values. What remains is small
    // enough for floating-point numbers.
    let centres: Vec<i128> = ranges.iter().map(|range| range.low.midpoint(range.high)).collect();
    let centre = |node: usize| centres.get(node).copied().unwrap_or(0);
    let pairs: Vec<Pair> = constraints
        .iter()
        .map(|one| {
            let between = centre(one.b) - centre(one.a);
            let [low, high] = [one.low, one.high].map(|bound| real(i128::from(bound) - between));
            let width = (high - low).max(LEAST_WIDTH);
            Pair { a: one.a, b: one.b, low, high, weight: width.powi(-2) }
        })
        .collect();
    let is_root: Vec<bool> = ranges.iter().enumerate().map(|(node, range)| range.root == node).collect();
    let values = constrained(&pairs, &is_root);
    let rounded = |((value, range), centre): ((f64, &Range), i128)| {
        (centre + whole(value)).max(range.low).min(range.high)
    };
    values.into_iter().zip(ranges).zip(centres.iter().copied()).map(rounded).collect()
}

/// The values with the least squares that satisfy the bounds.
fn constrained(pairs: &[Pair], is_root: &[bool]) -> Vec<f64> {
    let middles: Vec<f64> = pairs.iter().map(Pair::middle).collect();
    let mut values = vec![0.0; is_root.len()];
    solve(pairs, &middles, is_root, &mut values);
    if pairs.iter().all(|pair| excess(pair, pair.difference(&values)) <= TOLERANCE) {
        return scaled(pairs, values);
    }
    let mut dual = vec![0.0; pairs.len()];
    let mut targets = middles;
    for _ in 0..MAX_ALTERNATIONS {
        let mut furthest = 0.0_f64;
        for ((pair, dual), target) in pairs.iter().zip(&mut dual).zip(&mut targets) {
            let difference = pair.difference(&values);
            let wanted =
                f64::midpoint(pair.middle(), difference + *dual).clamp(pair.low, pair.high.max(pair.low));
            *dual += difference - wanted;
            *target = wanted - *dual;
            furthest = furthest.max((difference - wanted).abs());
        }
        if furthest <= TOLERANCE {
            break;
        }
        solve(pairs, &targets, is_root, &mut values);
    }
    scaled(pairs, values)
}

/// By how much a difference is outside the bounds.
fn excess(pair: &Pair, difference: f64) -> f64 {
    (pair.low - difference).max(difference - pair.high).max(0.0)
}

/// The values, moved towards the centres (zero), until all bounds are satisfied: the allowed values form a convex set that has the
/// centres.
fn scaled(pairs: &[Pair], mut values: Vec<f64>) -> Vec<f64> {
    let allowed = pairs.iter().map(|pair| {
        let difference = pair.difference(&values);
        let bound = if difference > 0.0 { pair.high } else { pair.low };
        if difference.abs() > bound.abs() { (bound / difference).max(0.0) } else { 1.0 }
    });
    let factor = allowed.fold(1.0, f64::min);
    values.iter_mut().for_each(|value| *value *= factor);
    values
}

/// Solves the normal equations for these differences, from the values that are given. Roots stay zero.
fn solve(pairs: &[Pair], differences: &[f64], is_root: &[bool], values: &mut [f64]) {
    let masked = |mut vector: Vec<f64>| {
        for (one, root) in vector.iter_mut().zip(is_root) {
            *one = if *root { 0.0 } else { *one };
        }
        vector
    };
    let gather = |wanted: &dyn Fn(usize, &Pair) -> f64| {
        let mut sums = vec![0.0; is_root.len()];
        for (number, pair) in pairs.iter().enumerate() {
            let flow = pair.weight * wanted(number, pair);
            for (node, flow) in [(pair.a, -flow), (pair.b, flow)] {
                if let Some(sum) = sums.get_mut(node) {
                    *sum += flow;
                }
            }
        }
        masked(sums)
    };
    // The diagonal of the equations conditions them: weights differ by orders of magnitude.
    let mut diagonal = vec![0.0; is_root.len()];
    for pair in pairs {
        for node in [pair.a, pair.b] {
            if let Some(sum) = diagonal.get_mut(node) {
                *sum += pair.weight;
            }
        }
    }
    let conditioned = |vector: &[f64]| -> Vec<f64> {
        vector
            .iter()
            .zip(&diagonal)
            .map(|(one, scale)| if *scale > 0.0 { one / scale } else { 0.0 })
            .collect()
    };
    let start = values.to_vec();
    let mut residual = gather(&|number, pair| at(differences, number) - pair.difference(&start));
    let mut direction = conditioned(&residual);
    let mut norm = product(&residual, &direction);
    let end = norm * RELATIVE_RESIDUAL * RELATIVE_RESIDUAL;
    // In exact arithmetic there are as many steps as unknowns.
    for _ in 0..is_root.len().saturating_mul(2) {
        if norm <= end || norm <= f64::MIN_POSITIVE {
            break;
        }
        let image = gather(&|_, pair| pair.difference(&direction));
        let curvature = product(&direction, &image);
        if curvature <= 0.0 {
            break;
        }
        let step = norm / curvature;
        for ((value, one), (left, image)) in
            values.iter_mut().zip(&direction).zip(residual.iter_mut().zip(&image))
        {
            *value += step * one;
            *left -= step * image;
        }
        let next = conditioned(&residual);
        let next_norm = product(&residual, &next);
        let turn = next_norm / norm;
        direction = next.iter().zip(&direction).map(|(one, before)| one + turn * before).collect();
        norm = next_norm;
    }
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

fn at(values: &[f64], place: usize) -> f64 {
    values.get(place).copied().unwrap_or(0.0)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "differences from the centres; bounds are applied to whole numbers"
)]
const fn real(number: i128) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a conversion of numbers saturates, and the ranges limit the result"
)]
fn whole(number: f64) -> i128 {
    number.round() as i128
}
