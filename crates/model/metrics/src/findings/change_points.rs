//! Places at which the level of a series changes at once, however many there are.
//!
//! Windows of all lengths are split where the values before and after lie most clearly on either side of a level; a window
//! with one change in it shows that change, whatever is elsewhere. Of these places the ones in the shortest windows are kept,
//! and then each is judged between its neighbours, until all that are left convince.
//!
//! The judgement counts the values above a level on both sides. If they were drawn from one, so different counts would
//! have a probability below the likelihood ratio (Chernoff, of the hypergeometric distribution). Values that depend on those
//! before them tell as many times less as the variance of their signs is inflated, on either side, when the changes are taken
//! out; and that inflation itself is known only as well as so many blocks tell it (the mean over Student's uncertainty). Of values that are far apart counts tell
//! no more than of those that are apart at all: there the means tell, with the same inflation. Only
//! places at which the values jump as far count as those that might have been taken for the change instead ([`Jumps`]), and what goes
//! from one level to the other by and by is none ([`sudden`]).

use super::differences::{Jumps, NEXT, sudden};
use super::evidence::convinces;
use super::series::quantile;
use crate::interval::Dependence;
use crate::value::{real, to_usize};

/// Values on either side of a change, at least: what lasts no longer is a burst.
const MIN_SEGMENT_PACKETS: usize = 40;
/// The shortest window.
const MIN_WINDOW_PACKETS: usize = 96;
/// From one length of windows to the next.
const WINDOW_GROWTH: f64 = std::f64::consts::SQRT_2;
/// Windows begin a part of their length apart.
const WINDOWS_PER_LENGTH: usize = 4;
/// Levels that are tried in a window.
const LEVELS: usize = 7;
/// A change is as large as this share of the inter-quartile range beside it.
const LARGE: f64 = 0.75;
/// Means tell of one that is so many times that range, where each side has so many values that are as good as independent.
const APART_BY: f64 = 1.5;
const TRUSTED: f64 = 10.0;
/// Of one that is so many times that range, they tell however much values depend on each other elsewhere.
const MANY: f64 = 10.0;
/// Its nearest neighbours, a share of a side, differ by this share of it.
const NEAREST: f64 = 0.1;
const ABRUPT: f64 = 0.6;
/// A side of so many values tells its dependence by itself.
const TELLS: usize = 100;

/// A place from which on the level is another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// The first value of the new level.
    pub(super) from: usize,
    /// How many values on either side it was told by.
    pub(super) reach: usize,
    /// The logarithm of the probability of a false alarm.
    pub(super) log_alarm: f64,
}

/// The changes of the level of `values`, in their order.
pub(super) fn changes(values: &[f64]) -> Vec<Change> {
    let logs = Logs::up_to(values.len());
    let jumps = Jumps::from_values(values);
    let about = &Context { logs, jumps, all: values.len() };
    let mut places: Vec<usize> = Vec::new();
    // The shortest first: a longer one that holds a change already has nothing else to say.
    for length in lengths(values.len()) {
        let step = (length / WINDOWS_PER_LENGTH).max(1);
        let mut start = 0;
        while start + MIN_WINDOW_PACKETS <= values.len() {
            let window = start..(start + length).min(values.len());
            let free = !places.iter().any(|place| window.start < *place && *place < window.end);
            if free && let Some(place) = split(&values[window.clone()], start, about) {
                places.push(start + place);
            }
            start += step;
        }
    }
    places.sort_unstable();
    between(values, &mut places, about);
    drop_insignificant(values, places, about)
}

/// Looks for more changes between those that are known, where no window lay well.
fn between(values: &[f64], places: &mut Vec<usize>, about: &Context) {
    let mut index = 0;
    while index <= places.len() {
        let start = index.checked_sub(1).map_or(0, |before| places[before]);
        let end = places.get(index).copied().unwrap_or(values.len());
        match split(&values[start..end], start, about) {
            Some(place) => places.insert(index, start + place),
            None => index += 1,
        }
    }
}

/// Lengths of windows, ascending; the last is the whole.
fn lengths(all: usize) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut length = real(MIN_WINDOW_PACKETS);
    while to_usize(length) < all {
        lengths.push(to_usize(length));
        length *= WINDOW_GROWTH;
    }
    if all >= 2 * MIN_SEGMENT_PACKETS {
        lengths.push(all);
    }
    lengths
}

/// Drops the least convincing place until all that are left convince.
fn drop_insignificant(values: &[f64], mut places: Vec<usize>, about: &Context) -> Vec<Change> {
    loop {
        let bounds: Vec<usize> =
            std::iter::once(0).chain(places.iter().copied()).chain(std::iter::once(values.len())).collect();
        let everywhere = usual(bounds.windows(2).map(|pair| &values[pair[0]..pair[1]]), values.len());
        let judged: Vec<(Option<Change>, f64)> = bounds
            .windows(3)
            .map(|three| {
                let sides = (&values[three[0]..three[1]], &values[three[1]..three[2]]);
                at_any_reach(sides, three[1], everywhere.as_ref(), about)
            })
            .collect();
        let worst = judged
            .iter()
            .enumerate()
            .filter(|(_, one)| one.0.is_none())
            .max_by(|a, b| a.1.1.total_cmp(&b.1.1))
            .map(|(index, _)| index);
        match worst {
            Some(index) => places.remove(index),
            None => return judged.into_iter().filter_map(|one| one.0).collect(),
        };
    }
}

/// The dependence that half of all values have no less than, each in its own stretch: so one stretch with a change that was
/// not found has no say in the others'.
fn usual<'a>(stretches: impl Iterator<Item = &'a [f64]>, all: usize) -> Option<Dependence> {
    let mut each: Vec<(f64, usize, Dependence)> = stretches
        .map(|stretch| {
            let left: Vec<f64> = signs(stretch, median(stretch)).collect();
            let found = Dependence::by_blocks(&left[..], |sign| sign);
            let inflation = if found.is_known() { found.inflation() } else { f64::INFINITY };
            (inflation, stretch.len(), found)
        })
        .collect();
    each.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = 0;
    each.into_iter().find_map(|(_, length, found)| {
        below += length;
        (2 * below >= all).then_some(found)
    })
}

/// The change between two sides as the longest stretches beside it that convince tell it, and the least probability of a
/// false alarm that any has.
fn at_any_reach(
    (before, after): (&[f64], &[f64]),
    from: usize,
    everywhere: Option<&Dependence>,
    about: &Context,
) -> (Option<Change>, f64) {
    let mut reach = before.len().max(after.len());
    let mut least: f64 = 0.0;
    loop {
        let near = (&before[before.len().saturating_sub(reach)..], &after[..after.len().min(reach)]);
        let log_alarm = judged(near, from, everywhere, about);
        least = least.min(log_alarm);
        if convinces(log_alarm) && is_abrupt(near) {
            return (Some(Change { from, reach, log_alarm }), least);
        }
        if reach < 2 * MIN_SEGMENT_PACKETS {
            return (None, least);
        }
        reach /= 2;
    }
}

/// Where a window's values change most clearly, or else where they jump farthest, if that convinces. The window begins at `start`.
fn split(values: &[f64], start: usize, about: &Context) -> Option<usize> {
    if values.len() < 2 * MIN_SEGMENT_PACKETS {
        return None;
    }
    let mut best = (0.0, 0);
    for level in levels(values) {
        let total = values.iter().filter(|value| **value > level).count();
        let mut above = 0;
        for (place, value) in values.iter().enumerate() {
            if (MIN_SEGMENT_PACKETS..=values.len() - MIN_SEGMENT_PACKETS).contains(&place) {
                let ratio = about.logs.ratio((above, place), (total - above, values.len() - place));
                if ratio > best.0 {
                    best = (ratio, place);
                }
            }
            above += usize::from(*value > level);
        }
    }
    let tells = |place: &usize| {
        let sides = values.split_at(*place);
        *place > 0 && is_abrupt(sides) && convinces(judged(sides, start + place, None, about))
    };
    let farthest = || {
        let place =
            about.jumps.greatest(start + MIN_SEGMENT_PACKETS..=start + values.len() - MIN_SEGMENT_PACKETS)?;
        Some(place - start)
    };
    Some(best.1).filter(tells).or_else(|| farthest().filter(tells))
}

/// Levels that part the values into equal shares.
fn levels(values: &[f64]) -> Vec<f64> {
    let mut copy = values.to_vec();
    let share = |level: usize| real(level) / real(LEVELS + 1);
    let mut levels: Vec<f64> = (1..=LEVELS).map(|level| quantile(&mut copy, share(level))).collect();
    levels.dedup();
    levels
}

/// The logarithm of how many tests a search makes at a place among `all` values: how far either side reaches, and signs.
fn trials(all: usize) -> f64 {
    let reaches = real(lengths(all).len()) / 2.0 + 1.0;
    (2.0 * reaches.powi(2)).ln()
}

/// Bounds the logarithm of the probability that values of one level differ so on the two sides of any place: by their counts,
/// or by their means, whichever is clearer. The sides meet at `place`.
fn judged(sides: (&[f64], &[f64]), place: usize, everywhere: Option<&Dependence>, about: &Context) -> f64 {
    if sides.0.len().min(sides.1.len()) < MIN_SEGMENT_PACKETS {
        return 0.0;
    }
    let places = real(about.all).ln();
    let counts = by_counts(sides, everywhere, &about.logs) + places + real(LEVELS).ln();
    let means = by_means(sides, everywhere) + about.jumps.places(place).min(places);
    (counts.min(means) + 2.0_f64.ln() + trials(about.all)).min(0.0)
}

/// By the values above the level at which the sides differ most.
fn by_counts((before, after): (&[f64], &[f64]), everywhere: Option<&Dependence>, logs: &Logs) -> f64 {
    let (m, k) = (before.len(), after.len());
    let both: Vec<f64> = before.iter().chain(after).copied().collect();
    let above = |side: &[f64], level: f64| side.iter().filter(|value| **value > level).count();
    let ratios = levels(&both)
        .into_iter()
        .map(|level| (logs.ratio((above(before, level), m), (above(after, level), k)), level));
    let Some((ratio, level)) = ratios.max_by(|a, b| a.0.total_cmp(&b.0)) else { return 0.0 };
    let left: Vec<f64> = signs(before, median(before)).chain(signs(after, median(after))).collect();
    let about = |side: &[f64]| -> Vec<f64> {
        let share = real(above(side, level)) / real(side.len());
        side.iter().map(|value| f64::from(u8::from(*value > level)) - share).collect()
    };
    let crossings = [about(before), about(after)].concat();
    let dependent = [of_sides(&left, m), of_sides(&crossings, m)].into_iter().flatten();
    let dependent: Vec<Dependence> = dependent.collect();
    let Some((inflation, block)) = greatest(dependent.iter().chain(everywhere)) else { return 0.0 };
    let freedom = freedom(m + k, block);
    (8.0 * real(m + k)).ln() / 2.0 - freedom / 2.0 * (2.0 * ratio / inflation / freedom).ln_1p()
}

/// By Student's distribution of the means, without the values by whose jump the place may have been chosen. What lies farther off
/// its side's median than the change is large counts as much as the change: so excursions of that size say how little it
/// tells, and no single one decides.
fn by_means((before, after): (&[f64], &[f64]), everywhere: Option<&Dependence>) -> f64 {
    // The mean of few values that depend on each other may be as far off as it likes.
    if before.len().min(after.len()) < TELLS {
        return 0.0;
    }
    let (before, after) = (&before[..before.len() - NEXT], &after[NEXT..]);
    let (first, second) = (summary_of(before), summary_of(after));
    let (apart, spread) = (second.0 - first.0, first.1.max(second.1));
    if apart.abs() < APART_BY * spread {
        return 0.0;
    }
    let farthest = apart.abs().max(3.0 * spread);
    let about = |side: &[f64], middle: f64| -> (f64, Vec<f64>) {
        let away: Vec<f64> = side.iter().map(|value| (value - middle).clamp(-farthest, farthest)).collect();
        let mean = away.iter().sum::<f64>() / real(away.len());
        (mean, away.into_iter().map(|away| away - mean).collect())
    };
    let (one, other) = (about(before, first.0), about(after, second.0));
    // Where values keep to two levels, a median leaps from the one to the other, and the means hardly move.
    let size = apart.abs().min((apart + other.0 - one.0) * apart.signum());
    let left = [one.1, other.1].concat();
    let both = Dependence::by_blocks(&left[..], |value| value);
    let elsewhere = everywhere.filter(|_| size < MANY * spread);
    let Some((inflation, block)) = greatest(std::iter::once(&both).chain(elsewhere)) else { return 0.0 };
    // One side may be too short to tell; what it tells is too little at most.
    let more = |most: (f64, usize), one: &Dependence| {
        (most.0.max(one.inflation()), most.1.max(one.block().unwrap_or(1)))
    };
    let (inflation, block) = of_sides(&left, before.len()).iter().fold((inflation, block), more);
    let (m, k) = (real(before.len()), real(after.len()));
    if size <= 0.0 || m.min(k) < TRUSTED * inflation {
        return 0.0;
    }
    // The greatest of three inflations is seldom too small: it is as good as one that a block tells, each by itself.
    let freedom = if block > 1 { ((m + k) / real(block)).max(1.0) } else { m + k - 2.0 };
    let variance = left.iter().map(|away| away * away).sum::<f64>() / (m + k - 2.0);
    // Times are told in whole nanoseconds at best.
    let square = size.powi(2) / (variance.max(1.0) * inflation * (1.0 / m + 1.0 / k));
    -f64::midpoint(freedom, 1.0) * (square / freedom).ln_1p()
}

/// The dependence of values of which the first `before` are those of one side: of both, and of each that tells it by itself.
fn of_sides(values: &[f64], before: usize) -> Vec<Dependence> {
    let sides = [&values[..before], &values[before..]].into_iter().filter(|side| side.len() >= TELLS);
    std::iter::once(values).chain(sides).map(|values| Dependence::by_blocks(values, |value| value)).collect()
}

/// The greatest inflation and the longest block; `None` where one is not known.
fn greatest<'a>(dependent: impl Iterator<Item = &'a Dependence>) -> Option<(f64, usize)> {
    let (mut inflation, mut block) = (1.0_f64, 1);
    for one in dependent {
        if !one.is_known() {
            return None;
        }
        inflation = inflation.max(one.inflation());
        block = block.max(one.block().unwrap_or(1));
    }
    Some((inflation, block))
}

/// Degrees of freedom of an inflation that was estimated from `count` values in blocks.
fn freedom(count: usize, block: usize) -> f64 {
    if block > 1 { (real(count) / real(block) / 2.0).max(1.0) } else { real(count - 1) }
}

/// Whether a change is large and sudden: the values next to it differ as those farther off do.
fn is_abrupt((before, after): (&[f64], &[f64])) -> bool {
    let (first, second) = (summary_of(before), summary_of(after));
    let size = second.0 - first.0;
    let spread = first.1.max(second.1);
    let large = size.abs() >= LARGE * spread.max(1.0);
    large && abrupt(before, after) && sudden(before, after, size.abs() + 3.0 * spread)
}

/// Median and inter-quartile range.
fn summary_of(values: &[f64]) -> (f64, f64) {
    let mut copy = values.to_vec();
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|share| quantile(&mut copy, share));
    (middle, high - low)
}

/// Whether the values next to the change differ as those farther off do.
pub(super) fn abrupt(before: &[f64], after: &[f64]) -> bool {
    let near = |side: usize| to_usize((real(side) * NEAREST).round().max(8.0)).min(side);
    let (left, right) = (near(before.len()), near(after.len()));
    let beside = median(&after[..right]) - median(&before[before.len() - left..]);
    let whole = median(after) - median(before);
    beside * whole.signum() >= ABRUPT * whole.abs()
}

pub(super) fn median(values: &[f64]) -> f64 {
    quantile(&mut values.to_vec(), 0.5)
}

/// The signs of values about a level.
pub(super) fn signs(values: &[f64], level: f64) -> impl Iterator<Item = f64> {
    values.iter().map(move |value| {
        if *value > level {
            1.0
        } else if *value < level {
            -1.0
        } else {
            0.0
        }
    })
}

/// What is asked of a series again and again.
struct Context {
    logs: Logs,
    jumps: Jumps,
    /// How many values it has.
    all: usize,
}

/// `x ln x` of whole numbers.
struct Logs(Vec<f64>);

impl Logs {
    fn up_to(most: usize) -> Self {
        let of = |number: usize| if number == 0 { 0.0 } else { real(number) * real(number).ln() };
        Self((0..=most).map(of).collect())
    }

    /// The logarithm of the likelihood ratio of two shares, `hits` of `all` on either side, to one for both.
    fn ratio(&self, (a, m): (usize, usize), (b, k): (usize, usize)) -> f64 {
        let Self(of) = self;
        let side = |hits: usize, all: usize| of[hits] + of[all - hits] - of[all];
        side(a, m) + side(b, k) - side(a + b, m + k)
    }
}
