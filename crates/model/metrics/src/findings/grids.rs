//! Values near the multiples of a step: of delays, where a medium serves in turns or a clock ticks, and of the
//! differences of delays, where arrivals keep to a beat that departures do not (Hershberger 2005, Bluetooth).
//!
//! The modulus of the characteristic function has peaks at the steps' frequencies; these are the candidates. The test then
//! counts on the points of the grid and half-way between them. A density with four peaks, wherever they are, can rise above
//! both its neighbours at four places only; at every further point that does so, chance has to do it. Of a few peaks at
//! arbitrary places some step always has all on its points: so most points from the first that stands out to the last have
//! to stand out as well. And the middles of the peaks of the delays have to lie nearer to the points than peaks at random places
//! would to those of any grid, however many there are: two of them make a grid, the others tell.
//!
//! Peaks of the delays (two routes, packets that an emulator displaces) are as many squared of their differences, at
//! distances that repeat. Those are there in the differences of any two delays, and a beat of the arrivals is not: it shows
//! in neighbours, whose distance on the beat is always the same. A grid of the differences is one that the differences of
//! any two delays do not have.

use romer_record::finding::{GridQuantity, Pattern};

use super::evidence::{UndirectedFinding, convinces, tail};
use super::series::{DelaySeries, FEWEST, quantile};
use crate::interval::{NORMAL_975, student_975};
use crate::value::{real, to_usize};

/// Of a long stream so many values tell.
const TELLING: usize = 1 << 17;
/// Values between these quantiles span the range in which steps are looked for.
const RANGE: [f64; 2] = [0.005, 0.995];
/// Bins of the range.
const BINS: usize = 2_048;
/// Steps in the range: at least and at most.
const STEPS: [usize; 2] = [3, 200];
/// Frequencies for each step more.
const FINE: usize = 4;
/// Peaks that are tested.
const CANDIDATES: usize = 12;
/// Points that hold this many values count.
const HELD: f64 = 5.0;
/// Peaks that a density may have without a grid.
const PEAKS: usize = 4;
/// One in so many of them at least is at an odd number, and one at an even one.
const BOTH: usize = 6;
/// Points that must stand out, beyond those of the peaks.
const POINTS: usize = 2;
/// Of the share of values that is not near a point in the differences of any two delays, so much has to be near one in those
/// of neighbours.
const MIN_NEIGHBOUR_SHARE: f64 = 0.5;
/// And so much more than of any two are near one at least.
const MORE: f64 = 0.1;
/// Of times in whole nanoseconds no more is known than that, nanoseconds.
const FINEST_KNOWN: f64 = 0.3;
/// The share of a step to either side of a point that is near it.
const REACH: f64 = 0.125;
/// Clocks of computers tick as coarsely as that, nanoseconds; and of stamps that are told in longer units, steps of up to so
/// many of these are doubtful.
const FINEST: f64 = 100.0;
const TICKS: f64 = 4.0;
/// The width of a peak is as much what others have as that of so many values of its own.
const USUAL: f64 = 60.0;
/// Of an offset less than this part of a step is of no use to know.
const OFFSET_PART: f64 = 200.0;
/// The share of values near the points below which a grid is of no use to know.
const NEAR: f64 = 0.5;

/// The grids of delays and of their differences. A grid of the delays has one of the differences of any two besides; it is
/// told once. Where departures and the beat of arrivals are of one clock, their distances repeat, and the delays keep to
/// steps as well that are a part of the beat: then both are told.
pub(super) fn grids(series: &DelaySeries, absolute: bool) -> Vec<UndirectedFinding> {
    let delays = &series.delay[..series.delay.len().min(TELLING)];
    let differences: Vec<f64> = delays
        .windows(2)
        .zip(series.sequence.windows(2))
        .filter(|(_, sequence)| sequence[0].checked_add(1) == Some(sequence[1]))
        .map(|(delay, _)| delay[1] - delay[0])
        .collect();
    let of_delay = grid(delays, GridQuantity::Delay, absolute, series.resolution, |_, _| true);
    let of_differences = grid(&differences, GridQuantity::Ipdv, true, series.resolution, |step, offset| {
        let any = near(of_any_two(delays), step, offset);
        near(differences.iter().copied(), step, offset) - any >= (MIN_NEIGHBOUR_SHARE * (1.0 - any)).max(MORE)
    });
    of_delay.into_iter().chain(of_differences).collect()
}

/// The share of differences that lie near a point of the grid, of those above half a step: delays that stay where they are
/// for a while differ by nothing, whatever the grid.
fn near(differences: impl Iterator<Item = f64>, step: f64, offset: f64) -> f64 {
    let (mut all, mut near) = (0.0, 0.0);
    for difference in differences.filter(|difference| difference.abs() > step / 2.0) {
        let place = (difference - offset) / step;
        all += 1.0;
        near += if (place - near_whole(place)).abs() <= 0.125 { 1.0 } else { 0.0 };
    }
    if all > 0.0 { near / all } else { 0.0 }
}

/// The differences of any two delays: each with another, at any distance.
fn of_any_two(delays: &[f64]) -> impl Iterator<Item = f64> {
    let count = delays.len();
    // The upper half of a product with the golden ratio, folded, is as good as drawn (Knuth).
    let mixed = |index: usize| {
        let once = (index as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (once ^ (once >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
    };
    let apart = count.saturating_sub(2).max(1) as u64;
    let away = move |index: usize| 2 + usize::try_from(mixed(index) % apart).unwrap_or(0);
    (0..count).map(move |index| delays[(index + away(index)) % count] - delays[index])
}

/// The grid of `values` that convinces most, if its step and offset are `accepted`.
fn grid(
    values: &[f64],
    of: GridQuantity,
    absolute: bool,
    resolution: f64,
    accepted: impl Fn(f64, f64) -> bool,
) -> Option<UndirectedFinding> {
    let mut copy = values.to_vec();
    let [low, high] = RANGE.map(|share| quantile(&mut copy, share));
    let range = high - low;
    if values.len() < FEWEST || range < real(STEPS[1]) {
        return None;
    }
    let mut bins = vec![0.0_f64; BINS];
    for value in values {
        let bin = to_usize((value - low) / range * real(BINS));
        if *value >= low && bin < BINS {
            bins[bin] += 1.0;
        }
    }
    let best = candidates(&bins)
        .into_iter()
        .filter_map(|(turns, phase)| {
            let step = range / turns;
            tested(values, of, step, low + phase / std::f64::consts::TAU * step, [low, high])
        })
        .min_by(|a, b| a.log_alarm.total_cmp(&b.log_alarm))?;
    let GridLine { step, offset, .. } = best.line;
    let told = convinces(best.log_alarm) && best.strength >= NEAR && accepted(step, offset);
    // Where the grid's point lies that is the first from 0 on.
    let number = -(offset / step).floor();
    let half = best.line.half_at(number);
    let within = within_a_step(offset, step, resolution, half.unwrap_or(0.0));
    told.then(|| UndirectedFinding {
        at: None,
        until: None,
        log_alarm: Some(best.log_alarm),
        pattern: Pattern::DelayGrid {
            quantity: of,
            step_ns: step,
            step_interval_ns: best.line.half_of_step().map(|half| [step - half, step + half]),
            offset_ns: absolute.then_some(within),
            offset_interval_ns: half.filter(|_| absolute).map(|half| [within - half, within + half]),
            points: best.points as u64,
            strength_ratio: best.strength,
            doubtful: step <= FINEST.max(TICKS * resolution),
        },
    })
}

/// An offset from 0 to less than the step. One that is a little less than nothing is nothing, and no whole step: by half of
/// what the stamps tell apart, the part of a step that is of no use to know, or what is not known of the offset.
fn within_a_step(offset: f64, step: f64, resolution: f64, unknown: f64) -> f64 {
    let within = offset.rem_euclid(step);
    let known = (resolution / 2.0).max(step / OFFSET_PART).max(unknown);
    if within.min(step - within) <= known { 0.0 } else { within }
}

/// Steps a range has, and the phase of the values, at the peaks of the characteristic function, the highest first.
fn candidates(bins: &[f64]) -> Vec<(f64, f64)> {
    let count: f64 = bins.iter().sum();
    let turns: Vec<f64> = (STEPS[0] * FINE..=STEPS[1] * FINE).map(|turn| real(turn) / real(FINE)).collect();
    let power: Vec<(f64, f64)> = turns
        .iter()
        .map(|turns| {
            let angle = std::f64::consts::TAU * turns / real(bins.len());
            let (sin, cos) = angle.sin_cos();
            // The middle of the first bin, turned on from bin to bin.
            let (mut y, mut x) = (angle / 2.0).sin_cos();
            let (mut real_part, mut imaginary) = (0.0, 0.0);
            for bin in bins {
                real_part += bin * x;
                imaginary += bin * y;
                (x, y) = (x * cos - y * sin, x * sin + y * cos);
            }
            (real_part.hypot(imaginary) / count.max(1.0), imaginary.atan2(real_part))
        })
        .collect();
    let mut peaks: Vec<(f64, f64, f64)> = (1..power.len() - 1)
        .filter(|index| power[*index].0 >= power[index - 1].0 && power[*index].0 >= power[index + 1].0)
        .map(|index| {
            // The top of a parabola through three neighbours.
            let [before, here, after] = [power[index - 1].0, power[index].0, power[index + 1].0];
            let bend = before - 2.0 * here + after;
            let moved = if bend < 0.0 { 0.5 * (before - after) / bend } else { 0.0 };
            (here, turns[index] + moved / real(FINE), power[index].1)
        })
        .collect();
    peaks.sort_by(|a, b| b.0.total_cmp(&a.0));
    peaks.truncate(CANDIDATES);
    peaks.into_iter().map(|(_, turns, phase)| (turns, phase)).collect()
}

struct Tested {
    line: GridLine,
    points: usize,
    strength: f64,
    log_alarm: f64,
}

/// Counts on the points and half-way between. Values in a row that fall into one window count once: they may depend on
/// each other.
fn tested(values: &[f64], of: GridQuantity, step: f64, start: f64, [low, high]: [f64; 2]) -> Option<Tested> {
    let (step, offset) = refined(values, step, start, [low, high])?;
    let line = by_medians(values, step, offset, [low, high])?;
    let GridLine { step, offset, .. } = line;
    // Points are at even numbers of half-steps; a window reaches an eighth of a step to either side.
    let half_steps = to_usize(2.0 * (high - low) / step) + 4;
    let base = (2.0 * (low - offset) / step).floor() - 1.0;
    let even_first = usize::from(base.rem_euclid(2.0) > 0.5);
    let mut visits = vec![0.0_f64; half_steps];
    let mut last = None;
    let (mut near, mut all) = (0.0, 0.0);
    for value in values.iter().filter(|value| (low..=high).contains(value)) {
        let place = 2.0 * (value - offset) / step;
        let index = near_whole(place);
        all += 1.0;
        let within = (place - index).abs() <= 0.25;
        let number = to_usize((index - base).max(0.0));
        near += if within && number % 2 == even_first { 1.0 } else { 0.0 };
        if within
            && last != Some(index)
            && let Some(visits) = visits.get_mut(number)
        {
            *visits += 1.0;
        }
        last = within.then_some(index);
    }
    // Of each point that holds enough, how surprising it is.
    let mut logs: Vec<(usize, f64)> = (even_first..half_steps)
        .step_by(2)
        .filter(|index| *index > 0 && index + 1 < half_steps && visits[*index] >= HELD)
        .map(|index| {
            let beside = visits[index - 1].max(visits[index + 1]);
            (index, tail(visits[index], visits[index] + beside, 0.5))
        })
        .collect();
    let points = logs.len();
    let stand_out: Vec<usize> =
        logs.iter().filter(|(_, log)| *log < -4.0).map(|(index, _)| index / 2).collect();
    let span = stand_out.first().zip(stand_out.last()).map_or(0, |(first, last)| last - first + 1);
    // Of half the step that there is, every other point is empty.
    let odd = stand_out.iter().filter(|point| *point % 2 == 1).count();
    let both = odd.min(stand_out.len() - odd) * BOTH >= stand_out.len();
    let neighbours = 2 * stand_out.len() >= span && both;
    logs.sort_by(|a, b| a.1.total_cmp(&b.1));
    // Steps and offsets that could have been found.
    let trials = (real(STEPS[1] * FINE) * real(BINS) * 16.0).ln();
    let rest = -logs.iter().skip(PEAKS).map(|(_, log)| log).sum::<f64>();
    let of_values = of_sum(rest, real(points.saturating_sub(PEAKS))) + trials;
    let enough = stand_out.len() >= PEAKS + POINTS && neighbours;
    // What peaks of the delays do to their differences, those of any two show.
    let of_places = match of {
        GridQuantity::Delay => line.at_random(base, &stand_out, near / all),
        GridQuantity::Ipdv => f64::NEG_INFINITY,
    };
    enough.then(|| Tested { line, points, strength: near / all, log_alarm: of_values.max(of_places) })
}

/// The nearest whole number, as adding and taking off a large one leaves it: a call to round takes longer than all else
/// here. What lies half-way between two is near neither.
fn near_whole(value: f64) -> f64 {
    /// From here to twice as much a float has whole numbers only.
    const WHOLE: f64 = (1_u64 << 52) as f64;
    if value.abs() < WHOLE / 4.0 { value + 1.5 * WHOLE - 1.5 * WHOLE } else { value.round() }
}

/// Bounds the logarithm of the probability that the surprises of `count` independent things add up to `sum` or more: each
/// is at most exponential, and their sum at most a gamma variable (Chernoff).
fn of_sum(sum: f64, count: f64) -> f64 {
    if count <= 0.0 || sum <= count { 0.0 } else { count - sum + count * (sum / count).ln() }
}

/// The middle of the values near a point.
#[derive(Clone, Copy, Debug)]
struct Peak {
    /// The point's number.
    number: f64,
    middle: f64,
    /// The middle's standard error.
    error: f64,
}

/// The line through the middles of peaks over the numbers of their points.
struct GridLine {
    step: f64,
    /// Where point 0 lies.
    offset: f64,
    peaks: Vec<Peak>,
    /// The mean number, the sum of the weights, and that of the weighted squares about that mean.
    centre: f64,
    weight: f64,
    squares: f64,
    /// How many times as far as their errors say the peaks lie off the line, squared.
    excess: f64,
}

impl GridLine {
    fn through(peaks: Vec<Peak>) -> Option<Self> {
        if peaks.len() < 3 {
            return None;
        }
        let weights: Vec<f64> = peaks.iter().map(|peak| peak.error.powi(-2)).collect();
        let sum = |of: &dyn Fn(&Peak) -> f64| -> f64 {
            peaks.iter().zip(&weights).map(|(peak, weight)| weight * of(peak)).sum()
        };
        let weight = sum(&|_| 1.0);
        let (centre, level) = (sum(&|peak| peak.number) / weight, sum(&|peak| peak.middle) / weight);
        let squares = sum(&|peak| (peak.number - centre).powi(2));
        let step = sum(&|peak| (peak.number - centre) * (peak.middle - level)) / squares;
        let offset = level - step * centre;
        let off = sum(&|peak| (peak.middle - offset - step * peak.number).powi(2));
        let excess = off / real(peaks.len() - 2);
        let known = step > 0.0 && squares > 0.0 && step.is_finite();
        known.then_some(Self { step, offset, peaks, centre, weight, squares, excess })
    }

    /// Standard errors to either side of a 95 % interval: as many as Student's distribution has by how far the peaks lie off the
    /// line, and no fewer than the peaks' own errors ask for, which are known of many values each.
    fn deviations(&self) -> Option<f64> {
        Some((student_975(real(self.peaks.len() - 2))? * self.excess.sqrt()).max(NORMAL_975))
    }

    /// Half the width of the step's 95 % interval.
    fn half_of_step(&self) -> Option<f64> {
        Some(self.deviations()? * self.squares.sqrt().recip())
    }

    /// The same of the place of a point.
    fn half_at(&self, number: f64) -> Option<f64> {
        let variance = self.weight.recip() + (number - self.centre).powi(2) / self.squares;
        Some(self.deviations()? * variance.sqrt())
    }

    /// Bounds the logarithm of the probability that so many peaks lie as near to the points of some grid, if they lay
    /// anywhere. Two of them make a grid with every number of steps between them; those are the two nearest, and each of the others is
    /// at a point of its own. `stand_out` are numbers of points after the one at `base` half-steps; of all values `strength` are near
    /// points, and the others are of peaks that are not.
    fn at_random(&self, base: f64, stand_out: &[usize], strength: f64) -> f64 {
        let numbered = |number: f64| {
            let place = to_usize((2.0 * number - base).max(0.0)) / 2;
            stand_out.binary_search(&place).is_ok()
        };
        let mut near: Vec<f64> = self
            .peaks
            .iter()
            .filter(|peak| numbered(peak.number))
            .map(|peak| {
                let off = (peak.middle - self.offset - self.step * peak.number).abs();
                (2.0 * off.max(FINEST_KNOWN) / self.step).min(1.0)
            })
            .collect();
        near.sort_by(f64::total_cmp);
        let count = real(near.len());
        // What lies between points instead is a peak as well, which grids that were not found may have had. Two peaks are no more steps
        // apart than there are from the first to the last.
        let span = stand_out.first().zip(stand_out.last()).map_or(0, |(first, last)| last - first + 1);
        let steps = real(span.saturating_sub(1)).max(1.0);
        let trials =
            (count * count / 2.0 * steps).max(1.0).ln() + (real(span) - count).max(0.0) * 2.0_f64.ln();
        // No two of the others are at one point, nor at those of the two.
        let others = near.len().saturating_sub(2);
        let free = (0..others).map(|taken| ((real(span) - 2.0 - real(taken)).max(1.0) / steps).ln());
        // And these peaks are so many of all that there are: ways to choose them, at the most (by the entropy of their share).
        let part = |share: f64| if share > 0.0 { -share * share.ln() } else { 0.0 };
        let chosen = count / strength.max(f64::MIN_POSITIVE) * (part(strength) + part(1.0 - strength));
        let trials = trials + free.sum::<f64>() + chosen;
        let rest = near.iter().skip(2).map(|part| -part.ln()).sum::<f64>();
        of_exponentials(rest, near.len().saturating_sub(2)) + trials
    }
}

/// The logarithm of the probability that `count` independent exponential variables add up to `sum` or more.
fn of_exponentials(sum: f64, count: usize) -> f64 {
    let (mut term, mut all) = (0.0_f64, f64::NEG_INFINITY);
    for index in 0..count {
        // Terms are the powers of the sum over the factorials, in logarithms.
        all = all.max(term) + (-(all - term).abs()).exp().ln_1p();
        term += (sum / real(index + 1)).max(f64::MIN_POSITIVE).ln();
    }
    if count == 0 { 0.0 } else { (all - sum).min(0.0) }
}

/// The line by the medians of the values near each point, of which stray values move none.
fn by_medians(values: &[f64], step: f64, offset: f64, [low, high]: [f64; 2]) -> Option<GridLine> {
    let (mut step, mut offset) = (step, offset);
    let mut line = None;
    for _ in 0..3 {
        // The range's ends lie within peaks: of these all values count, for half a peak has its middle elsewhere.
        let [first, last] = [low, high].map(|end| near_whole((end - offset) / step));
        let mut near: Vec<Vec<f64>> = vec![Vec::new(); to_usize((last - first).max(0.0)) + 1];
        for value in values {
            let number = near_whole((value - offset) / step);
            let away = value - offset - number * step;
            if away.abs() <= REACH * step
                && number >= first
                && let Some(those) = near.get_mut(to_usize(number - first))
            {
                those.push(away);
            }
        }
        let peaks: Vec<(f64, f64, f64, f64)> = near
            .iter_mut()
            .enumerate()
            .filter(|(_, those)| real(those.len()) >= HELD)
            .map(|(index, those)| {
                let middle = quantile(those, 0.5);
                let mut apart: Vec<f64> = those.iter().map(|away| (away - middle).abs()).collect();
                (first + real(index), middle, quantile(&mut apart, 0.5), real(those.len()))
            })
            .collect();
        // Half the values lie within the median deviation: of a normal density as high as that, so is the median's error. Few
        // values may lie together by chance, and would count for more than many do: they have as much of what is usual.
        let mut widths: Vec<f64> = peaks.iter().map(|peak| peak.2).collect();
        let usual = quantile(&mut widths, 0.5);
        let peaks = peaks.into_iter().map(|(number, middle, own, count)| {
            let width = (count * own * own + USUAL * usual * usual) / (count + USUAL);
            let error = (width.sqrt() * 1.86).max(FINEST_KNOWN) / count.sqrt();
            Peak { number, middle: offset + number * step + middle, error }
        });
        let found = GridLine::through(peaks.collect())?;
        (step, offset) = (found.step, found.offset);
        line = Some(found);
    }
    line
}

/// The step and the offset that the values themselves give: the line through the values near each point over the number
/// of the point.
fn refined(values: &[f64], step: f64, start: f64, [low, high]: [f64; 2]) -> Option<(f64, f64)> {
    let (mut step, mut offset) = (step, start);
    for _ in 0..3 {
        let (mut n, mut k, mut v, mut kk, mut kv) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for value in values.iter().filter(|value| (low..=high).contains(value)) {
            let number = near_whole((value - offset) / step);
            let away = value - offset - number * step;
            if away.abs() <= step / 4.0 {
                (n, k, v) = (n + 1.0, k + number, v + away);
                (kk, kv) = (kk + number * number, kv + number * away);
            }
        }
        let spread = n * kk - k * k;
        if n < 3.0 || spread <= 0.0 {
            return None;
        }
        let slope = (n * kv - k * v) / spread;
        offset += (v - slope * k) / n;
        step += slope;
        if step <= 0.0 {
            return None;
        }
    }
    Some((step, offset))
}

#[cfg(test)]
mod tests {
    use super::{of_exponentials, within_a_step};

    #[test]
    fn sums_of_exponential_variables_are_as_improbable_as_said() {
        // Of one: its own exponential. Of three, at 10: (1 + 10 + 50) / e^10.
        assert!((of_exponentials(7.0, 1) + 7.0).abs() < 1e-9);
        assert!((of_exponentials(10.0, 3) - (61.0_f64.ln() - 10.0)).abs() < 1e-9);
        assert_eq!((of_exponentials(0.0, 0), of_exponentials(0.0, 4)), (0.0, 0.0));
    }

    #[test]
    fn an_offset_of_a_whole_step_is_none() {
        for (offset, step, resolution, expected) in [
            (-1e-20, 10.0, 1.0, 0.0),
            (-0.04, 10.0, 1.0, 0.0),
            (30.04, 10.0, 1.0, 0.0),
            (9.6, 10.0, 1.0, 0.0),
            (-3.0, 10.7e6, 1.0, 0.0),
            (-2.0, 10.0, 1.0, 8.0),
            (32.1e6, 10.0e6, 1.0, 2.1e6),
            (-600_000.0, 10.0e6, 1_000_000.0, 9.4e6),
        ] {
            let found = within_a_step(offset, step, resolution, 0.0);
            assert!((found - expected).abs() < 1e-3, "{offset} of {step}: {found}");
        }
    }
}
