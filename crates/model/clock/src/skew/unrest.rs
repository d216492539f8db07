//! A floor that wanders by itself, and what that leaves open of a slope.
//!
//! What [`posterior`](super::posterior) says of a slope takes floors for independent above one level. The least delay of a real way
//! moves a little by itself (caches, frequencies of processors, what else is scheduled): its floors are high for a while and low
//! for a while. Then there is less to be learnt of a slope than so many independent floors would tell, however many packets there are,
//! because what moves as slowly as the run is long cannot be told from a clock.
//!
//! So the floors are asked. What the least of a few neighbours lie above the line is taken for the sum of independent errors and of a level
//! that wanders and comes back (a stationary Gauss-Markov process, with a deviation of its own and a time after which it has forgotten
//! where it was). Independence has four fifths of the prior; the rest is shared by all deviations and times alike. Where independence
//! explains the floors twice as well as these do together, nothing shows that the level wanders, and nothing is added: so it is with most
//! floors that are independent, and with a third of the real ones that were looked at. Each pair has the restricted likelihood of the
//! floors (their level and slope integrated out, and so the scale of the errors), and says by how much a level that wanders like that tilts
//! the line with the least squares: this is added to the draws of the slope.
//! Both directions are looked at together, each with the weight that it has in the slope: what makes both ways longer at once cancels
//! there, as it does in the slope. And where there are two, what their slopes differ by is a further witness: of a level that wanders
//! more slowly than the run is long, floors lie on a line all the same, but not on the same one in both directions.
//!
//! As in the posterior, the highest fifth of the heights counts as high only: packets wait long now and then, which is no level.

use romer_units::random::{RandomStream, Seed};

use super::arithmetic::{many, rounded};
use super::posterior::{Observation, normal, unit};

/// Floors whose least is one of the heights that are looked at, about; and how many heights there are, at least and at most.
const TOGETHER: usize = 4;
const HEIGHTS: (usize, usize) = (8, 32);
/// The share of the heights that count as they are.
const COUNTED: f64 = 0.8;
/// The level's variance in units of the independent errors': by powers of two from the first of these on, up to the last.
const VARIANCES: (i32, i32) = (-2, 10);
/// The times after which the level has forgotten where it was, doubled from so many heights on (what is quicker is as good as
/// independent), up to so many lengths of the run (a level that is slower walks at random all through it).
const TIMES: (f64, f64) = (4.0, 4.0);
/// The prior of a level that wanders; and how well it has to explain the floors, all deviations and times together, in units of how well
/// independence does. Judgements: with these the intervals of simulated floors, which do not wander, and those of real ones hold about
/// as often as they should.
const PRIOR: f64 = 0.2;
const SHOWN: f64 = 0.5;

/// A direction as it enters the slope: its observations, and with what weight and sign they count.
pub(crate) struct SlopeObservations<'a> {
    pub(crate) observations: &'a [Observation],
    /// How the responder's clock enters its delays, 1 or -1.
    pub(crate) sign: f64,
    /// Its share of the slope.
    pub(crate) weight: f64,
}

/// What the directions' slopes say, if floors are independent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlopeContrast {
    /// The slope of both, nanoseconds a second of the responder's clock, and its variance.
    pub(crate) slope: f64,
    pub(crate) variance: f64,
    /// The square of what the directions' slopes differ by, over its variance; `None` of one direction.
    pub(crate) apart: Option<f64>,
}

impl SlopeContrast {
    /// The logarithm of the likelihood of what the directions differ by, if each is as much less sure as a level that tilts the
    /// slope of both by `tilt` makes that.
    fn likelihood(&self, tilt: f64) -> f64 {
        let more = 1.0 + tilt * tilt / self.variance.max(1e-12);
        self.apart.map_or(0.0, |apart| -0.5 * (more.ln() + apart / more))
    }
}

/// By what the wandering of the level may have tilted the slope: deviations, nanoseconds a second, each with the sum of the
/// probabilities up to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unrest {
    tilts: Vec<(f64, f64)>,
}

impl Unrest {
    /// What the floors say of their level. Nothing where there are too few of them, or they do not show that it wanders.
    pub(crate) fn new(sides: &[SlopeObservations<'_>], told: SlopeContrast) -> Option<Self> {
        let heights = Heights::new(sides, told.slope)?;
        let steady = heights.likelihood(&heights.covariance(0.0, 1.0))?;
        let mut restless = Vec::new();
        let mut time = TIMES.0 * heights.spacing;
        while time <= TIMES.1 * heights.length {
            for power in VARIANCES.0..=VARIANCES.1 {
                let variance = 2f64.powi(power);
                let Some(one) = heights.likelihood(&heights.covariance(variance, time)) else { continue };
                let tilt = one.scale * (variance * heights.tilted(time)).sqrt();
                restless.push((tilt, one.log + told.likelihood(tilt)));
            }
            time *= 2.0;
        }
        let steady = steady.log + told.likelihood(0.0);
        let number = many(restless.len().max(1));
        if restless.iter().map(|one| (one.1 - steady).exp()).sum::<f64>() / number < SHOWN {
            return None;
        }
        let share = (PRIOR / (1.0 - PRIOR) / number).ln();
        let mut found = vec![(0.0, steady)];
        found.extend(restless.into_iter().map(|(tilt, log)| (tilt, log + share)));
        let most = found.iter().map(|one| one.1).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = found.iter().map(|one| (one.1 - most).exp()).sum();
        let mut sum = 0.0;
        let tilts = found.into_iter().map(|(tilt, log)| {
            sum += (log - most).exp() / total;
            (tilt, sum)
        });
        Some(Self { tilts: tilts.collect() })
    }

    /// The variance of what the wandering may have tilted the slope by.
    pub(crate) fn variance(&self) -> f64 {
        let mut before = 0.0;
        let each = self.tilts.iter().map(|(tilt, sum)| {
            let share = sum - before;
            before = *sum;
            share * tilt * tilt
        });
        each.sum()
    }

    /// Draws of the slope with what the wandering adds to each.
    pub(crate) fn add(&self, draws: &mut [f64]) {
        let stream = RandomStream::new(Seed([0x756e_7265, 0, 0, 0, 0, 0]), [0, 0]);
        for (draw, ordinal) in draws.iter_mut().zip(0..) {
            let block = stream.block(ordinal);
            let place = self.tilts.partition_point(|one| one.1 < unit(block[2]));
            let tilt = self.tilts.get(place).or(self.tilts.last()).map_or(0.0, |one| one.0);
            *draw += tilt * normal([block[0], block[1]]);
        }
    }
}

/// What the least of neighbouring floors lie above the line, of both directions with their weights, in order of time.
struct Heights {
    /// Moments, seconds, and the same about the middle of their group.
    x: Vec<f64>,
    about: Vec<f64>,
    /// Nanoseconds.
    y: Vec<f64>,
    group: Vec<usize>,
    groups: usize,
    /// Seconds between two, usually, and from the first to the last.
    spacing: f64,
    length: f64,
}

/// The restricted likelihood's logarithm, and the deviation of the independent errors.
struct Likelihood {
    log: f64,
    scale: f64,
}

impl Heights {
    fn new(sides: &[SlopeObservations<'_>], slope: f64) -> Option<Self> {
        let fewest = sides.iter().map(|side| side.observations.len()).min()?;
        let wanted = (fewest / TOGETHER).clamp(HEIGHTS.0, HEIGHTS.1);
        let moments = || sides.iter().flat_map(|side| side.observations.iter().map(|one| one.x));
        let (first, last) = (moments().reduce(f64::min)?, moments().reduce(f64::max)?);
        let width = ((last - first) / many(wanted)).max(1e-9);
        let each: Vec<Vec<Option<(f64, usize)>>> =
            sides.iter().map(|side| capped(least(side, slope, (first, width), wanted))).collect();
        let mut heights = Self {
            x: Vec::new(),
            about: Vec::new(),
            y: Vec::new(),
            group: Vec::new(),
            groups: 0,
            spacing: width,
            length: last - first,
        };
        let mut known: Vec<Vec<usize>> = Vec::new();
        for number in 0..wanted {
            let here: Option<Vec<(f64, usize)>> = each.iter().map(|least| least[number]).collect();
            let Some(here) = here else { continue };
            let groups: Vec<usize> = here.iter().map(|one| one.1).collect();
            let group = known.iter().position(|other| *other == groups).unwrap_or_else(|| {
                known.push(groups);
                known.len() - 1
            });
            heights.x.push(first + width * (many(number) + 0.5));
            heights.y.push(here.iter().zip(sides).map(|(one, side)| side.weight * side.sign * one.0).sum());
            heights.group.push(group);
        }
        heights.groups = known.len();
        heights.center();
        (heights.x.len() >= HEIGHTS.0 + heights.groups && heights.about.iter().any(|about| *about != 0.0))
            .then_some(heights)
    }

    fn center(&mut self) {
        let mut middles = vec![(0.0, 0.0); self.groups];
        for (x, group) in self.x.iter().zip(&self.group) {
            middles[*group] = (middles[*group].0 + x, middles[*group].1 + 1.0);
        }
        self.about = self
            .x
            .iter()
            .zip(&self.group)
            .map(|(x, group)| x - middles[*group].0 / middles[*group].1)
            .collect();
    }

    /// How alike the level is at two of the moments, if it has forgotten all but a part (1/e) after `time` seconds.
    fn alike(&self, a: usize, b: usize, time: f64) -> f64 {
        (-(self.x[a] - self.x[b]).abs() / time).exp()
    }

    /// The lower triangle of the covariance in units of the independent errors' variance.
    fn covariance(&self, variance: f64, time: f64) -> Vec<Vec<f64>> {
        let entry = |a: usize, b: usize| variance * self.alike(a, b, time) + if a == b { 1.0 } else { 0.0 };
        (0..self.x.len()).map(|a| (0..=a).map(|b| entry(a, b)).collect()).collect()
    }

    /// The variance of the slope of the line with the least squares if the level has a variance of 1.
    fn tilted(&self, time: f64) -> f64 {
        let squares: f64 = self.about.iter().map(|about| about * about).sum();
        let all = 0..self.x.len();
        let sum: f64 = all
            .clone()
            .flat_map(|a| all.clone().map(move |b| (a, b)))
            .map(|(a, b)| self.about[a] * self.about[b] * self.alike(a, b, time))
            .sum();
        sum.max(0.0) / (squares * squares)
    }

    /// The restricted likelihood of the heights with this covariance: a level for each group and a slope are integrated out, and so is
    /// the variance of the independent errors.
    fn likelihood(&self, covariance: &[Vec<f64>]) -> Option<Likelihood> {
        let (root, log) = root(covariance)?;
        let column =
            |value: &dyn Fn(usize) -> f64| solved(&root, &(0..self.x.len()).map(value).collect::<Vec<_>>());
        let mut columns = vec![column(&|place| self.about[place])];
        columns.extend(
            (0..self.groups).map(|group| column(&|place| f64::from(u8::from(self.group[place] == group)))),
        );
        let heights = column(&|place| self.y[place]);
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let normal: Vec<Vec<f64>> = columns
            .iter()
            .enumerate()
            .map(|(index, one)| columns[..=index].iter().map(|other| product(one, other)).collect())
            .collect();
        let (normal, fixed) = self::root(&normal)?;
        let told: Vec<f64> = columns.iter().map(|one| product(one, &heights)).collect();
        let explained = solved(&normal, &told);
        let free = many(self.x.len() - columns.len());
        let left = (product(&heights, &heights) - product(&explained, &explained)).max(1e-9);
        Some(Likelihood { log: -log - fixed - 0.5 * free * left.ln(), scale: (left / free).sqrt() })
    }
}

/// The least of a direction's floors in each of `wanted` equal times, the first of which begins at a moment and lasts for some width,
/// with their group; `None` where there are none.
fn least(
    side: &SlopeObservations<'_>,
    slope: f64,
    (first, width): (f64, f64),
    wanted: usize,
) -> Vec<Option<(f64, usize)>> {
    let mut least: Vec<Option<(f64, usize)>> = vec![None; wanted];
    for one in side.observations {
        let place = usize::try_from(rounded(((one.x - first) / width).floor())).unwrap_or(0).min(wanted - 1);
        let height = one.y - side.sign * slope * one.x;
        // Of two groups the later one: their levels are not the same.
        if least[place].is_none_or(|(lowest, group)| group != one.group || height < lowest) {
            least[place] = Some((height, one.group));
        }
    }
    least
}

/// The same with the highest above their group's lowest no higher than [`COUNTED`] of them are.
fn capped(mut least: Vec<Option<(f64, usize)>>) -> Vec<Option<(f64, usize)>> {
    let groups = least.iter().flatten().map(|one| one.1 + 1).max().unwrap_or(0);
    let mut levels = vec![f64::INFINITY; groups];
    for (height, group) in least.iter().flatten() {
        levels[*group] = levels[*group].min(*height);
    }
    let mut above: Vec<f64> = least.iter().flatten().map(|one| one.0 - levels[one.1]).collect();
    above.sort_by(f64::total_cmp);
    let place = usize::try_from(rounded(COUNTED * many(above.len()))).unwrap_or(0);
    let Some(most) = above.get(place.min(above.len().saturating_sub(1))) else { return least };
    for (height, group) in least.iter_mut().flatten() {
        *height = height.min(levels[*group] + most);
    }
    least
}

/// Cholesky's root of a positive matrix, of which both have the lower triangle, and the logarithm of the root's determinant.
fn root(matrix: &[Vec<f64>]) -> Option<(Vec<Vec<f64>>, f64)> {
    let mut root: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
    let mut log = 0.0;
    for row in matrix {
        let mut own: Vec<f64> = Vec::with_capacity(row.len());
        for (value, above) in row.iter().zip(&root) {
            let sum: f64 = own.iter().zip(above).map(|(a, b)| a * b).sum();
            own.push((value - sum) / above.last()?);
        }
        let rest = row.last()? - own.iter().map(|one| one * one).sum::<f64>();
        if rest <= 1e-12 * row.last()? {
            return None;
        }
        log += 0.5 * rest.ln();
        own.push(rest.sqrt());
        root.push(own);
    }
    Some((root, log))
}

/// What gives `values` when the root is multiplied with it.
fn solved(root: &[Vec<f64>], values: &[f64]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(values.len());
    for (row, value) in root.iter().zip(values) {
        let sum: f64 = row.iter().zip(&found).map(|(a, b)| a * b).sum();
        found.push((value - sum) / row.last().copied().unwrap_or(1.0));
    }
    found
}
