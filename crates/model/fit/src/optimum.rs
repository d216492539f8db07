//! Maxima of functions, and the intervals that their curvature gives.

/// The standard normal quantile of 97.5 %.
pub(crate) const Z: f64 = 1.959_963_984_540_054;
/// Half of the 95 % quantile of chi-squared with one degree of freedom.
const PROFILE_DROP: f64 = 1.920_729_410_347;

/// The log of a product of numbers from 1e-150 to 1e150. Few logs are taken.
pub(crate) fn log_product(factors: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut product) = (0.0, 1.0_f64);
    for factor in factors {
        product *= factor;
        if !(1e-100..1e100).contains(&product) {
            sum += product.ln();
            product = 1.0;
        }
    }
    sum + product.ln()
}

/// The place of the maximum of `f` between `low` and `high`: the best of `steps` even places, then golden sections around it.
pub(crate) fn maximum(f: impl Fn(f64) -> f64, low: f64, high: f64, steps: u32) -> f64 {
    let place = |step: u32| low + (high - low) * f64::from(step) / f64::from(steps);
    let mut best = (f64::NEG_INFINITY, 0);
    for step in 0..=steps {
        let value = f(place(step));
        if value > best.0 {
            best = (value, step);
        }
    }
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (place(best.1.saturating_sub(1)), place((best.1 + 1).min(steps)));
    let (mut c, mut d) = (b - ratio * (b - a), a + ratio * (b - a));
    let (mut at_c, mut at_d) = (f(c), f(d));
    while b - a > 1e-5 * (high - low) {
        if at_c > at_d {
            (b, d, at_d) = (d, c, at_c);
            c = b - ratio * (b - a);
            at_c = f(c);
        } else {
            (a, c, at_c) = (c, d, at_d);
            d = a + ratio * (b - a);
            at_d = f(d);
        }
    }
    (a + b) / 2.0
}

/// The 95 % interval by the profile of a log-likelihood with its maximum at `best`; an end that lies beyond `low` or `high` is `None`.
pub(crate) fn profile(f: impl Fn(f64) -> f64, best: f64, low: f64, high: f64) -> [Option<f64>; 2] {
    let level = f(best) - PROFILE_DROP;
    let end = |bound: f64| {
        if f(bound) >= level {
            return None;
        }
        let (mut inside, mut outside) = (best, bound);
        for _ in 0..40 {
            let middle = (inside + outside) / 2.0;
            *(if f(middle) >= level { &mut inside } else { &mut outside }) = middle;
        }
        Some(inside)
    };
    [end(low), end(high)]
}

/// The place near `start` where `f` is greatest, by the simplex method of Nelder and Mead with `evaluations`; `step` is the first size.
pub(crate) fn climb(
    f: impl Fn(&[f64]) -> f64,
    start: &[f64],
    step: f64,
    evaluations: usize,
) -> (Vec<f64>, f64) {
    let n = start.len();
    let valued = |place: Vec<f64>| {
        let value = f(&place);
        (place, if value.is_nan() { f64::NEG_INFINITY } else { value })
    };
    let mut simplex = vec![valued(start.to_vec())];
    for axis in 0..n {
        let mut place = start.to_vec();
        place[axis] += step;
        simplex.push(valued(place));
    }
    let mut used = n + 1;
    while used < evaluations {
        simplex.sort_by(|a, b| b.1.total_cmp(&a.1));
        if simplex[0].1 - simplex[n].1 < 1e-7 {
            break;
        }
        let centre: Vec<f64> = (0..n)
            .map(|axis| simplex[..n].iter().map(|(place, _)| place[axis]).sum::<f64>() / n as f64)
            .collect();
        let towards = |factor: f64| -> Vec<f64> {
            centre
                .iter()
                .zip(&simplex[n].0)
                .map(|(middle, worst)| middle + factor * (worst - middle))
                .collect()
        };
        let reflected = valued(towards(-1.0));
        used += 1;
        if reflected.1 > simplex[0].1 {
            let expanded = valued(towards(-2.0));
            used += 1;
            simplex[n] = if expanded.1 > reflected.1 { expanded } else { reflected };
        } else if reflected.1 > simplex[n - 1].1 {
            simplex[n] = reflected;
        } else {
            let contracted = valued(towards(if reflected.1 > simplex[n].1 { -0.5 } else { 0.5 }));
            used += 1;
            if contracted.1 > simplex[n].1.max(reflected.1) {
                simplex[n] = contracted;
            } else {
                let best = simplex[0].0.clone();
                for vertex in &mut simplex[1..] {
                    let place =
                        vertex.0.iter().zip(&best).map(|(value, best)| (value + best) / 2.0).collect();
                    *vertex = valued(place);
                }
                used += n;
            }
        }
    }
    simplex.sort_by(|a, b| b.1.total_cmp(&a.1));
    simplex.swap_remove(0)
}

/// The half-widths of the 95 % intervals at the maximum `best` of a log-likelihood, by the observed information; `None` where it does
/// not bound a parameter.
pub(crate) fn half_widths(f: impl Fn(&[f64]) -> f64, best: &[f64]) -> Vec<Option<f64>> {
    const STEP: f64 = 0.02;
    let n = best.len();
    let at = |moves: &[(usize, f64)]| {
        let mut place = best.to_vec();
        for (axis, by) in moves {
            place[*axis] += by;
        }
        f(&place)
    };
    let centre = f(best);
    let cell = |i: usize, j: usize| {
        if i == j {
            return (2.0 * centre - at(&[(i, STEP)]) - at(&[(i, -STEP)])) / (STEP * STEP);
        }
        let same = at(&[(i, STEP), (j, STEP)]) + at(&[(i, -STEP), (j, -STEP)]);
        let opposite = at(&[(i, STEP), (j, -STEP)]) + at(&[(i, -STEP), (j, STEP)]);
        (opposite - same) / (4.0 * STEP * STEP)
    };
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let unit = (0..n).map(|j| if i == j { 1.0 } else { 0.0 });
            (0..n).map(|j| cell(i.max(j), i.min(j))).chain(unit).collect()
        })
        .collect();
    if !invert(&mut rows) {
        return vec![None; n];
    }
    (0..n)
        .map(|i| Some(rows[i][n + i]).filter(|variance| *variance > 0.0).map(|variance| Z * variance.sqrt()))
        .collect()
}

/// Gauss and Jordan's elimination of rows that have the unit matrix beside them; `false` where there is no inverse.
fn invert(rows: &mut [Vec<f64>]) -> bool {
    let n = rows.len();
    for column in 0..n {
        let Some(pivot) =
            (column..n).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))
        else {
            return false;
        };
        rows.swap(column, pivot);
        let divisor = rows[column][column];
        if divisor.abs() < 1e-9 || !divisor.is_finite() {
            return false;
        }
        rows[column].iter_mut().for_each(|value| *value /= divisor);
        let row = rows[column].clone();
        for (_, other) in rows.iter_mut().enumerate().filter(|(number, _)| *number != column) {
            let factor = other[column];
            other.iter_mut().zip(&row).for_each(|(value, part)| *value -= factor * part);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a bowl with known curvature: the maximum, the profile and the widths.
    #[test]
    fn a_bowl_is_measured() {
        let bowl = |x: f64| -0.5 * ((x - 2.0) / 0.3).powi(2);
        let best = maximum(bowl, -10.0, 10.0, 40);
        assert!((best - 2.0).abs() < 1e-3, "{best}");
        let [low, high] = profile(bowl, 2.0, -10.0, 10.0);
        assert!((high.unwrap() - low.unwrap() - 2.0 * Z * 0.3).abs() < 1e-4);
        assert_eq!(profile(bowl, 2.0, 1.9, 10.0)[0], None);
        let plane = |x: &[f64]| {
            -0.5 * (x[0] - 1.0).powi(2) - 2.0 * (x[1] + 1.0).powi(2) - (x[0] - 1.0) * (x[1] + 1.0)
        };
        let (place, _) = climb(plane, &[0.0, 0.0], 0.5, 400);
        assert!((place[0] - 1.0).abs() < 1e-2 && (place[1] + 1.0).abs() < 1e-2, "{place:?}");
        // The information is (1, 1; 1, 4), its inverse (4/3, -1/3; -1/3, 1/3).
        let widths = half_widths(plane, &[1.0, -1.0]);
        assert!((widths[0].unwrap() / Z - (4.0_f64 / 3.0).sqrt()).abs() < 1e-6, "{widths:?}");
        assert!((widths[1].unwrap() / Z - (1.0_f64 / 3.0).sqrt()).abs() < 1e-6, "{widths:?}");
    }
}
