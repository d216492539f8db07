//! `order = "exact"`: the requested distribution of delay, and no packet overtakes another.
//!
//! # What is wanted
//! Delays D₁, D₂, ... of packets that arrive with gaps g₁, g₂, ..., each Dₙ distributed by the requested law F, and
//! Dₙ₊₁ ≥ Dₙ - gₙ, so that no packet leaves before one that came earlier. Pham 2004 (7.8) thought that this might not
//! be feasible; a queue over independent draws does not give it, because waiting lengthens delays.
//!
//! # How
//! D follows a stationary Markov process (X, V) in continuous time, read at each arrival: X is the delay, V = ±1 a
//! direction. If a step leaves the law F × {±½} as it was, whatever the gap, and the gaps do not depend on the
//! process, then by induction each Dₙ has exactly the law F: for any pattern of arrivals. Two kinds of step are used;
//! which, is decided by the gap and the law alone and never by the state, so that the mixture leaves the law as it
//! was, too.
//!
//! **Short gaps: a zig-zag process.** X moves with slope V/2. Moving up it turns at rate max(0, -(ln f)′(X)/2), moving
//! down at rate max(0, (ln f)′(X)/2), f the density. For (x, v) the stationary equation v f′/2 = λ(x,-v) f - λ(x,v) f
//! reads for v = +1: f′/2 = ½ max(0, f′) - ½ max(0, -f′), which is so. Up to its mode a unimodal f rises and beyond
//! it falls, so the probability of getting from x to y > x beyond the mode without a turn is f(y)/f(x): the next turn
//! lies where f has fallen to U times its value, U uniform, which is solved in closed form. At an end of the support
//! (0 for the cut normal law, the scale of Pareto's) X turns, as if the density fell to 0 there. For the uniform law,
//! whose density gives no turns but the ends, turns at a constant rate are added: they change V, on which the law
//! does not depend. The slope is at least -1/2, so Dₙ₊₁ ≥ Dₙ - gₙ/2: even the gap between two departures is at least
//! half of that between the arrivals.
//!
//! The gamma law of shape k < 1 has infinite density at 0. Its X is moved along y, where x = x₀ (y/y₀)^(1/k) up to
//! x₀ = k·scale and with slope 1 beyond: in y the density is finite and falls, and |dx/dy| ≤ 1 keeps the slope.
//!
//! **Long gaps** (more than [`LONG`] widths of the law): a window of width g with X at a uniformly distributed place
//! inside is thrown, and X is drawn again from F within it; V is drawn again. With a the window's lower end, the joint
//! density of (x, a) is f(x)/g on a ≤ x ≤ a+g; drawing x again from its law given a leaves that joint law as it was
//! (a step of Gibbs's sampler). The new X lies in [a, a+g] with a ≥ X - g, so nothing is overtaken. As g grows, the
//! draws become independent.
//!
//! **Correlated delays** (a Gaussian copula: the normal score of the next delay is c times that of the last and a fresh
//! part) take steps of a third kind where the gap is at least [`ALIKE`] times as long as such a step, which is some
//! √(2(1-c)) widths: the copula's step is proposed, and taken if it changes the delay by no more than the gap. The copula's
//! step is reversible with respect to F, and what is left of it when both directions of a change are forbidden or allowed
//! together is so, too (Metropolis's rule), so that F stays. Refused alone, a delay far out in the tail of its law would stay
//! there for as long as steps from it lead further than the gap, which with a negative coefficient is nearly for ever. So
//! what was refused is followed by a second proposal, from a window about the delay as for long gaps (as wide as the gap or,
//! every other time, narrower by a factor up to e³, drawn). It is taken by the rule of delayed rejection (Tierney and Mira
//! 1999): windows are reversible by themselves, so with z the normal score of the delay, z₁ of the first proposal and z₂ of
//! the second the ratio of both ways is exp(-((z₁ - c z₂)² - (z₁ - c z)²) / (2(1-c²))), where the first proposal would be
//! refused from the second as well, and 0 where it would not. The share of refused steps falls with the gap, and with it
//! how much more alike than asked for neighbours are ([`step_quantile`]); at gaps shorter than [`ALIKE`] steps the zig-zag
//! process says how alike they are, because the order asks for it.
//!
//! An empirical law may have gaps and atoms, which no process of bounded slope crosses. It takes steps of the second
//! kind, and besides draws X afresh from F with a probability 1 - exp(-g / (20 widths)); where that falls by more
//! than the gap, the packet waits for the one before it (the share that waited is reported).
//!
//! Rounding: the departure is the arrival plus X rounded to whole nanoseconds. Rounding is monotone and commutes with
//! whole shifts, so order survives it.
//!
//! # What it costs
//! Neighbouring delays are alike: the correlation time of the zig-zag process is a few widths of the law, whatever the
//! packet rate, so a run of duration T holds about T / (correlation time) independent values. [`Correlation`] measures
//! this and the reports say it.

use crate::convert;
use crate::distribution::DelayDistribution;
use crate::generator::Sequence;
use crate::nanos::Nanos;
use crate::special_functions::{normal_below, normal_quantile};

/// Gaps longer than this many widths are steps of the second kind.
const LONG: f64 = 16.0;
/// Gaps shorter than this share of the length of a correlated step are left to the steps of the first kind.
const ALIKE: f64 = 0.5;
/// The narrowest window of a second proposal is narrower than the gap by the exponential of this.
const NARROWEST: f64 = 3.0;
/// How fast the delay rises and falls, nanoseconds in a nanosecond.
const SLOPE: f64 = 0.5;
/// Mean number of widths between two fresh draws of an empirical law.
const FRESH: f64 = 20.0;

/// The process, for one law at a time.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    numbers: Sequence,
    /// Where X is, in y; meaningless before the start.
    y: f64,
    /// Where it turns next.
    turn: f64,
    up: bool,
    last: Option<Nanos>,
}

impl Exact {
    pub(crate) const fn new(numbers: Sequence) -> Self {
        Self { numbers, y: 0.0, turn: 0.0, up: false, last: None }
    }

    /// Forgets the state: the next delay is drawn afresh.
    pub(crate) const fn restart(&mut self) {
        self.last = None;
    }

    /// Goes over to another law: at the same share of it where both are of one kind, afresh where they are not.
    pub(crate) fn change(&mut self, from: &DelayDistribution, to: &DelayDistribution) {
        if self.last.is_none() || from.between(to, 0.0).is_none() || from.width() <= 0.0 {
            return self.restart();
        }
        let (below, above) = from.shares(to_x(from, self.y));
        let x = to.quantile(below.max(f64::MIN_POSITIVE), above.max(f64::MIN_POSITIVE));
        let up = self.up;
        self.place(to, x);
        if self.up != up {
            self.up = up;
            self.turn = turn(to, self.y, up, self.numbers.unit());
        }
    }

    /// The delay of a packet that arrives at `now`, not before the one before it; `correlation` is that of the normal
    /// scores of neighbours, where one is asked for.
    pub(crate) fn next(
        &mut self,
        law: &DelayDistribution,
        width: f64,
        correlation: Option<f64>,
        now: Nanos,
    ) -> f64 {
        let gap = self.last.map(|last| convert::real(now.saturating_sub(last).max(0)));
        self.last = Some(now);
        if width <= 0.0 && !matches!(law, DelayDistribution::Empirical(_)) {
            return law.draw(0.5);
        }
        match gap {
            None => {
                let x = law.draw(self.numbers.unit());
                self.place(law, x);
            }
            Some(gap) if correlation.is_some_and(|c| gap > ALIKE * step_length(c, width)) => {
                self.alike(law, correlation.unwrap_or(0.0), gap);
            }
            Some(gap) if matches!(law, DelayDistribution::Empirical(_)) => self.empirical(law, width, gap),
            Some(gap) if gap > LONG * width => {
                let x = self.window(law, to_x(law, self.y), gap);
                self.place(law, x);
            }
            Some(gap) => self.travel(law, gap * SLOPE),
        }
        if matches!(law, DelayDistribution::Empirical(_)) { self.y } else { to_x(law, self.y) }
    }

    /// Puts X at `x`, with a direction and a turn drawn afresh.
    fn place(&mut self, law: &DelayDistribution, x: f64) {
        self.y = if matches!(law, DelayDistribution::Empirical(_)) { x } else { to_y(law, x) };
        self.up = self.numbers.unit() < 0.5;
        self.turn = turn(law, self.y, self.up, self.numbers.unit());
    }

    /// Moves on by `way`.
    fn travel(&mut self, law: &DelayDistribution, mut way: f64) {
        loop {
            let leg = (self.turn - self.y).abs();
            if way < leg {
                self.y += if self.up { way } else { -way };
                return;
            }
            way -= leg;
            self.y = self.turn;
            self.up = !self.up;
            self.turn = turn(law, self.y, self.up, self.numbers.unit());
        }
    }

    fn window(&mut self, law: &DelayDistribution, x: f64, gap: f64) -> f64 {
        let low = x - self.numbers.unit() * gap;
        let high = low + gap;
        let (below_low, above_low) = law.shares(low);
        let (below_high, above_high) = law.shares(high);
        let unit = self.numbers.unit();
        // The window's shares from whichever end is exact; an empirical law's shares leave its atoms on the ends out,
        // so that they lie inside.
        let drawn = if below_low < 0.5 {
            let share = below_low + unit * ((1.0 - above_high) - below_low);
            law.quantile(share.max(f64::MIN_POSITIVE), 1.0 - share)
        } else {
            let share = above_high + unit * (above_low - above_high).max(1.0 - below_low - above_high);
            law.quantile(1.0 - share, share.max(f64::MIN_POSITIVE))
        };
        debug_assert!(below_high >= below_low, "shares grow");
        if drawn.is_finite() { drawn.clamp(low.max(0.0), high) } else { x }
    }

    /// A correlated step, where it changes the delay by no more than the gap; else one within a window.
    fn alike(&mut self, law: &DelayDistribution, correlation: f64, gap: f64) {
        let x = if matches!(law, DelayDistribution::Empirical(_)) { self.y } else { to_x(law, self.y) };
        let score = self.score(law, x);
        let rest = 1.0 - correlation * correlation;
        let fresh = normal_quantile(self.numbers.unit().max(f64::MIN_POSITIVE));
        let first = correlation * score + libm::sqrt(rest) * fresh;
        let drawn = of_score(law, first);
        if (drawn - x).abs() <= gap {
            return self.place(law, drawn);
        }
        let narrower =
            if self.numbers.unit() < 0.5 { libm::exp(-NARROWEST * self.numbers.unit()) } else { 1.0 };
        let second = self.window(law, x, gap * narrower);
        let second_score = self.score(law, second);
        let [back, there] = [second_score, score].map(|from| first - correlation * from);
        let ratio = libm::exp((there * there - back * back) / (2.0 * rest));
        let taken = (drawn - second).abs() > gap && self.numbers.unit() < ratio;
        self.place(law, if taken { second } else { x });
    }

    /// The normal score of `x`; where that is an atom of the law, any of the atom's.
    fn score(&mut self, law: &DelayDistribution, x: f64) -> f64 {
        let (below, above) = law.shares(x);
        let (atom, place) = ((1.0 - below - above).max(0.0), self.numbers.unit());
        let (below, above) = (below + place * atom, above + (1.0 - place) * atom);
        if below < 0.5 {
            normal_quantile(below.max(f64::MIN_POSITIVE))
        } else {
            -normal_quantile(above.max(f64::MIN_POSITIVE))
        }
    }

    fn empirical(&mut self, law: &DelayDistribution, width: f64, gap: f64) {
        let fresh = if width > 0.0 { -libm::expm1(-gap / (FRESH * width)) } else { 1.0 };
        self.y = if self.numbers.unit() < fresh {
            law.draw(self.numbers.unit())
        } else if gap > 0.0 {
            self.window(law, self.y, gap)
        } else {
            self.y
        };
    }
}

/// The value of a normal score.
fn of_score(law: &DelayDistribution, score: f64) -> f64 {
    let [below, above] = [score, -score].map(|score| normal_below(score).max(f64::MIN_POSITIVE));
    law.quantile(below, above)
}

/// How far a correlated step changes the delay as a rule.
fn step_length(correlation: f64, width: f64) -> f64 {
    libm::sqrt(2.0 * (1.0 - correlation).max(0.0)) * width
}

/// What a correlated step changes the delay by, nanoseconds, but for a share of `beyond` of the steps; to a tenth or so.
/// Between packets so far apart that share is refused, and delays in exact order are that much more alike than asked for.
pub(crate) fn step_quantile(law: &DelayDistribution, correlation: f64, beyond: f64) -> f64 {
    // Places in the scores' plane, each with its share.
    let place = |step: i32| f64::from(step) / 10.0;
    let density = |score: f64| libm::exp(-0.5 * score * score);
    let rest = libm::sqrt(1.0 - correlation * correlation);
    let mut steps: Vec<(f64, f64)> = (-50..=50)
        .flat_map(|from| {
            let from = place(from);
            let x = of_score(law, from);
            (-50..=50).map(move |fresh| {
                let fresh = place(fresh);
                let step = of_score(law, correlation * from + rest * fresh) - x;
                (step.abs(), density(from) * density(fresh))
            })
        })
        .collect();
    steps.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all: f64 = steps.iter().map(|step| step.1).sum();
    let mut share = 0.0;
    let found = steps.iter().find(|step| {
        share += step.1 / all;
        share > beyond
    });
    found.map_or(0.0, |step| step.0)
}

/// Where the process turns that moves up or down from `y`, for a uniformly distributed `unit`.
fn turn(law: &DelayDistribution, y: f64, up: bool, unit: f64) -> f64 {
    let fall = -libm::log(unit);
    match (law, up) {
        (DelayDistribution::Uniform { low, high }, true) => (y + 2.0 * fall * (high - low)).min(*high),
        (DelayDistribution::Uniform { low, high }, false) => (y - 2.0 * fall * (high - low)).max(*low),
        (DelayDistribution::Normal { mean, stddev }, _) => {
            let beyond = if up { y - mean } else { mean - y }.max(0.0);
            let reach = libm::sqrt(beyond * beyond + 2.0 * stddev * stddev * fall);
            if up { mean + reach } else { (mean - reach).max(0.0) }
        }
        (DelayDistribution::Exponential { mean }, true) => y + mean * fall,
        (DelayDistribution::Pareto { shape, .. }, true) => y * libm::exp(fall / (shape + 1.0)),
        (DelayDistribution::Pareto { scale, .. }, false) => *scale,
        (DelayDistribution::Gamma { shape, scale }, _) => scale * gamma_turn(*shape, y / scale, up, fall),
        (DelayDistribution::Exponential { .. } | DelayDistribution::Empirical(_), _) => 0.0,
    }
}

/// The turn of the gamma law of scale 1, in y.
fn gamma_turn(shape: f64, y: f64, up: bool, fall: f64) -> f64 {
    if shape <= 1.0 {
        if !up {
            return 0.0;
        }
        // In y the logarithm of the density falls by x below x0, by x + (1 - shape) ln x above.
        let x0 = shape;
        let depth = |x: f64| if x <= x0 { x } else { x + (1.0 - shape) * libm::log(x / x0) };
        let target = depth(gamma_x(shape, y)) + fall;
        if target <= x0 {
            return gamma_y(shape, target);
        }
        // depth is concave and steeper than 1 beyond x0: Newton's steps from below rise to the root.
        let mut x = x0;
        for _ in 0..60 {
            let step = (target - depth(x)) / (1.0 + (1.0 - shape) / x);
            x += step;
            if step.abs() <= 1e-13 * x {
                break;
            }
        }
        return gamma_y(shape, x);
    }
    let mode = shape - 1.0;
    // How far the logarithm of the density lies below that of the mode.
    let depth = |x: f64| (x - mode) - mode * libm::log(x / mode);
    let start = if up { y.max(mode) } else { y.min(mode) };
    let target = if start > 0.0 { depth(start) + fall } else { return 0.0 };
    // Newton's steps on a convex function: from beyond the root, which the first one reaches, they close in on it.
    let width = libm::sqrt(2.0 * mode * target) + target;
    let mut x = if up { mode + width } else { mode * libm::exp(-1.0 - target / mode) };
    for _ in 0..200 {
        let slope = 1.0 - mode / x;
        let step = (target - depth(x)) / slope;
        x = (x + step).max(x * 1e-3);
        if step.abs() <= 1e-13 * x {
            break;
        }
    }
    if up { x.max(start) } else { x.min(start) }
}

fn gamma_x(shape: f64, y: f64) -> f64 {
    // x0 = shape, and y0 = x0/shape = 1, where both pieces have slope 1.
    if y < 1.0 { shape * libm::pow(y, 1.0 / shape) } else { shape + (y - 1.0) }
}

fn gamma_y(shape: f64, x: f64) -> f64 {
    if x < shape { libm::pow(x / shape, shape) } else { 1.0 + (x - shape) }
}

fn to_x(law: &DelayDistribution, y: f64) -> f64 {
    match law {
        DelayDistribution::Gamma { shape, scale } if *shape < 1.0 => scale * gamma_x(*shape, y / scale),
        _ => y,
    }
}

fn to_y(law: &DelayDistribution, x: f64) -> f64 {
    match law {
        DelayDistribution::Gamma { shape, scale } if *shape < 1.0 => scale * gamma_y(*shape, x / scale),
        _ => x,
    }
}

/// How alike successive delays are, by blocking (Flyvbjerg and Petersen 1989): the variance of means of blocks of 2^k
/// values, in fixed memory.
#[derive(Clone, Debug)]
pub struct Correlation {
    levels: [Level; 48],
    first: Option<Nanos>,
    last: Nanos,
    /// The first value, from which all are counted so that no digits are lost.
    pivot: f64,
    /// There are values of a law without a variance.
    boundless: bool,
    /// The greatest width of the laws of which values are drawn in the exact order, not correlated.
    width: f64,
    /// The greatest skewness of the laws that values are drawn from, without its sign.
    skewness: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    blocks: u64,
    sum: f64,
    squares: f64,
    half: Option<f64>,
    /// The same of the values' squares: their sum, the sum of their squares, and that of both products.
    sum_of_squares: f64,
    squares_of_squares: f64,
    products: f64,
    half_square: f64,
}

/// How far the delays of a run may be from what was asked for by chance alone: standard errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// How many delays were noted.
    pub values: u64,
    /// The standard deviation of the delays, nanoseconds.
    pub deviation_ns: f64,
    /// Of their mean, nanoseconds.
    pub mean_error_ns: f64,
    /// Of their standard deviation, as a share of it.
    pub deviation_error: f64,
    /// Degrees of freedom of these errors: one less than there are blocks.
    pub freedom: f64,
}

/// Values below which nothing is said.
const FEWEST_VALUES: u64 = 128;
/// Enough blocks, first of all that many, to know their variance; fewer where only longer ones do.
const ENOUGH_BLOCKS: [u64; 3] = [64, 32, 16];
/// What a block has to be worth by its own account, in independent values. Means of blocks as long as the dependence vary
/// too little: where one is worth 1, the account says 1.8 (of values whose likeness falls exponentially), and of 3.4 it
/// says 4. So less than this is not believed, and from here on the error is below a tenth.
const WORTH_OF_A_BLOCK: f64 = 4.0;
/// Independent values that the mean of a law takes to be normal, over the square of its skewness.
const COCHRAN: f64 = 25.0;
/// The variance of 16 blocks' means is below 1.9 times what is found with a probability of 97.5 %.
const AT_MOST: f64 = 1.9;

impl Default for Correlation {
    fn default() -> Self {
        Self {
            levels: [Level::default(); 48],
            first: None,
            last: 0,
            pivot: 0.0,
            boundless: false,
            width: 0.0,
            skewness: 0.0,
        }
    }
}

impl Correlation {
    /// Begins anew.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes note that delays are drawn from a law without a variance: nothing tells then how near their mean is to what was
    /// asked for.
    pub(crate) const fn has_no_variance(&mut self) {
        self.boundless = true;
    }

    /// Takes note of the width of a law of which delays are drawn in the exact order.
    pub(crate) const fn is_in_order(&mut self, width: f64) {
        self.width = self.width.max(width);
    }

    /// The width of the widest law of which delays were drawn in the exact order ([`DelayDistribution::width`]) and the mean time between two
    /// packets, where the width is longer: then delays of neighbours differ less than the law alone would have them. Nanoseconds.
    pub fn width_beyond_spacing(&self) -> Option<(f64, f64)> {
        let packets = self.levels.first()?.blocks;
        let span = convert::real(self.last.saturating_sub(self.first?));
        let spacing = span / convert::count(packets.checked_sub(1)?);
        (packets >= FEWEST_VALUES && self.width > spacing).then_some((self.width, spacing))
    }

    /// Takes note of the skewness of the law that delays are drawn from.
    pub(crate) const fn is_skewed(&mut self, skewness: f64) {
        self.skewness = self.skewness.max(skewness.abs());
    }

    /// Whether an interval of the mean that takes it for normal can be believed: of a skewed law it takes 25 times the square of the skewness
    /// in independent values (Cochran 1977, section 2.15).
    pub fn has_known_mean(&self) -> bool {
        let needed = COCHRAN * self.skewness * self.skewness;
        !self.boundless && !self.is_unknown() && self.effective_values().is_none_or(|worth| worth >= needed)
    }

    /// Whether delays were drawn from a law without a variance.
    pub const fn has_infinite_variance(&self) -> bool {
        self.boundless
    }

    /// Whether there are values, not all the same, and nothing tells what they are worth.
    pub fn is_unknown(&self) -> bool {
        let varies = self.levels.first().is_some_and(|all| variance(all).is_some_and(|found| found > 0.0));
        varies && self.trusted().is_none()
    }

    /// Takes note of the next delay, of a packet that arrived at `at`.
    pub fn add(&mut self, at: Nanos, delay: Nanos) {
        if self.first.is_none() {
            self.first = Some(at);
            self.pivot = convert::real(delay);
        }
        self.last = at;
        let mut value = convert::real(delay) - self.pivot;
        let mut square = value * value;
        for level in &mut self.levels {
            level.blocks += 1;
            level.sum += value;
            level.squares += value * value;
            level.sum_of_squares += square;
            level.squares_of_squares += square * square;
            level.products += value * square;
            match level.half.take() {
                None => {
                    (level.half, level.half_square) = (Some(value), square);
                    return;
                }
                Some(half) => {
                    (value, square) = (0.5 * (half + value), 0.5 * (level.half_square + square));
                }
            }
        }
    }

    /// How many independent values would tell as much of the mean as those noted did, good to about a fifth; `None` below
    /// 128 values, where all are the same, where the values are alike over so much of the run that it does not tell
    /// ([`Correlation::effective_at_most`]), and of a law without a variance.
    pub fn effective_values(&self) -> Option<f64> {
        self.worth(self.trusted().filter(|_| !self.boundless)?)
    }

    /// How many that are at the most, where they are so few that the run does not tell how many: as good as certain, and far
    /// too many where they are very few. `None` where [`Correlation::effective_values`] says it, and where there are too few
    /// values altogether.
    pub fn effective_at_most(&self) -> Option<f64> {
        let untold = self.trusted().is_none() && !self.boundless;
        let level = self.longest(ENOUGH_BLOCKS[2]).filter(|_| untold)?;
        Some((AT_MOST * self.worth(level)?).min(convert::count(self.levels[0].blocks)))
    }

    /// The values' worth by one level's account; at most their number.
    fn worth(&self, level: &Level) -> Option<f64> {
        let all = self.levels.first().filter(|level| level.blocks >= FEWEST_VALUES)?;
        let (single, of_mean) = (variance(all)?, variance(level)? / convert::count(level.blocks));
        (single > 0.0 && of_mean > 0.0).then(|| (single / of_mean).min(convert::count(all.blocks)))
    }

    /// The level of the longest blocks of which there are so many.
    fn longest(&self, enough: u64) -> Option<&Level> {
        self.levels.iter().take_while(|level| level.blocks >= enough).last()
    }

    /// The level whose blocks are many enough to know their variance, and long enough that it is that of the mean.
    fn trusted(&self) -> Option<&Level> {
        let levels = ENOUGH_BLOCKS.iter().filter_map(|enough| self.longest(*enough));
        let mut levels = levels.filter(|level| {
            self.worth(level).is_some_and(|worth| worth >= WORTH_OF_A_BLOCK * convert::count(level.blocks))
        });
        levels.next()
    }

    /// How well mean and standard deviation are known; `None` where [`Correlation::effective_values`] is. From the same
    /// blocks, the deviation by the blocks' means of (value - mean)².
    pub fn spread(&self) -> Option<Spread> {
        let (all, level) = (self.levels.first()?, self.trusted().filter(|_| !self.boundless)?);
        let single = variance(all)?;
        let (blocks, mean) = (convert::count(level.blocks), all.sum / convert::count(all.blocks));
        // The variance of blocks' means of x² - 2 mean x, which differ by a constant from those of (x - mean)².
        let product = (level.products - level.sum * level.sum_of_squares / blocks) / (blocks - 1.0);
        let of_squares = (level.squares_of_squares - level.sum_of_squares * level.sum_of_squares / blocks)
            / (blocks - 1.0);
        let of_deviations =
            (of_squares - 4.0 * mean * product + 4.0 * mean * mean * variance(level)?).max(0.0);
        Some(Spread {
            values: all.blocks,
            deviation_ns: libm::sqrt(single),
            mean_error_ns: libm::sqrt(variance(level)? / blocks),
            deviation_error: 0.5 * libm::sqrt(of_deviations / blocks) / single,
            freedom: blocks - 1.0,
        })
    }

    /// The time that holds one independent value, nanoseconds.
    pub fn time_ns(&self) -> Option<f64> {
        let span = convert::real(self.last.saturating_sub(self.first?));
        Some(span / self.effective_values()?)
    }
}

fn variance(level: &Level) -> Option<f64> {
    if level.blocks < 2 {
        return None;
    }
    let n = convert::count(level.blocks);
    Some(((level.squares - level.sum * level.sum / n) / (n - 1.0)).max(0.0))
}

#[cfg(test)]
mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;

    /// Normal values, each of which is `correlation` times the one before it and a fresh part; of deviation 1,000.
    fn alike(correlation: f64, seed: u32, count: u64) -> Correlation {
        let stream = RandomStream::new(Seed([seed, 3, 1, 4, 1, 5]), [1, 1]);
        let mut found = Correlation::default();
        let mut value = normal_quantile(stream.unit(0));
        for number in 1..=count {
            found.add(convert::nanos(convert::count(number)), convert::nanos(50_000.0 + 1_000.0 * value));
            let fresh = normal_quantile(stream.unit(number).max(f64::MIN_POSITIVE));
            value = correlation * value + (1.0 - correlation * correlation).sqrt() * fresh;
        }
        found
    }

    #[test]
    fn how_well_mean_and_deviation_of_alike_values_are_known_is_what_theory_says() {
        const COUNT: u64 = 200_000;
        for correlation in [0.0_f64, 0.9, 0.99] {
            let of = |c: f64| ((1.0 + c) / (1.0 - c) / convert::count(COUNT)).sqrt();
            let found = alike(correlation, 1, COUNT).spread().unwrap();
            assert_eq!(found.values, COUNT);
            for (found, theory) in [
                (found.deviation_ns, 1_000.0),
                (found.mean_error_ns, 1_000.0 * of(correlation)),
                // Squares of normal values are alike by the square.
                (found.deviation_error, of(correlation * correlation) / 2.0_f64.sqrt()),
            ] {
                // An error from 64 blocks is known to 1/11 of itself: five of these.
                assert!((found / theory - 1.0).abs() < 0.45, "{correlation}: {found} for {theory}");
            }
        }
        assert_eq!(alike(0.0, 1, 127).spread(), None);
    }
}
