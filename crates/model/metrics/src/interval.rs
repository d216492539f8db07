//! Confidence intervals at 95 % that allow for dependence between the values.
//!
//! What packets share, neighbours share: a mean of n delays varies more than n independent ones would let it. The
//! moving-block bootstrap (Künsch 1989) draws whole stretches of the series anew; of the mean, and of the share of values
//! below a level, the variance over all its draws is known without drawing, and is what is used here. How long the
//! stretches are follows from the autocorrelations (Politis and White 2004, with the correction of Patton, Politis and
//! White 2009). What a stretch of that length still misses is taken from one twice as long.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

use crate::summary::Made;
use crate::value::{SampleValues, finite, real, to_usize};

/// 97.5 % quantile of the standard normal distribution: the two-sided 95 %.
pub(crate) const NORMAL_975: f64 = 1.959_963_984_540_054;
/// Fewer values than this say nothing of the dependence between them.
const FEWEST_VALUES: usize = 25;
/// Dependence is looked for among so many values at most, from the middle: it is a property of each.
const LOOKED_AT: usize = 1 << 20;
/// Autocorrelations are computed of so many values at most.
const CORRELATED: usize = 1 << 15;
/// A block tells what the values' dependence does to a mean where it holds so many values that are as good as independent.
/// Of shorter ones, and of their doubles, the variance still grows with their length.
const HELD_BY_A_BLOCK: f64 = 2.0;
/// A series in fewer blocks than this does not tell how much its blocks vary.
const FEWEST_BLOCKS: usize = 6;
/// Of values that depend on each other, so many that are as good as independent have to lie beyond a quantile: what fewer say of
/// their own dependence is too little.
const BEYOND: f64 = 6.0;
/// So many values that are as good as independent have to be there, by what each keeps of the one before it, for a series to tell
/// how far its mean may be off. Of fewer, those that seem to depend the least on each other are the ones that would have an interval.
const WORTH: f64 = 10.0;
/// The correlation of neighbours among fewer values than this is of no use: by chance too many of the independent ones look as if
/// they depended on each other.
const FEWEST_NEIGHBOURS: usize = 50;
/// How much of the dependence of normal values that keep nearly all of the last one is left in whether they are above their
/// median: with r kept of the value k before, 2/pi asin(r) is kept of the side.
const IN_SIDES: f64 = std::f64::consts::LN_2;
/// A correlation of neighbours that is greater by so many standard errors than none is no chance.
const CHANCE: f64 = 1.645;
/// Skewness over the root of the number of values that changes nothing.
const LEAST_LEAN: f64 = 1e-6;
/// Up to these degrees of freedom Student's quantile is searched for; the search loses its digits far above.
const STUDENT_EXACT: f64 = 200.0;
/// Up to this size the binomial distribution is used as it is, and above it its normal limit.
const BINOMIAL_EXACT: usize = 1_000;

/// The interval of the mean by Student's distribution, where `dependence` is the values'; `None` below two values.
pub(crate) fn of_mean(dependence: &Dependence, count: usize, mean: f64, stddev: f64) -> Option<[f64; 2]> {
    let half = dependence.widening()? * stddev / real(count).sqrt();
    Some([finite(mean - half)?, finite(mean + half)?])
}

/// The same of values of this skewness: Student's statistic is skewed the other way, because a sample that lacks the long
/// tail has too low a mean and too small a deviation. Hall's transformation (1992, of the third order, which can be inverted)
/// takes that out; the interval is no narrower than Student's on either side.
///
/// That a sample is skewed is no reason to tell none: those whose own skewness is small are those that lack the tail, and the
/// intervals that were told would miss more often.
pub(crate) fn of_skewed_mean(
    dependence: &Dependence,
    count: usize,
    mean: f64,
    stddev: f64,
    skewness: f64,
) -> Option<[f64; 2]> {
    let [low, high] = of_mean(dependence, count, mean, stddev)?;
    let error = stddev * (dependence.inflation / real(count)).sqrt();
    let quantile = student_975(dependence.freedom)?;
    let lean = skewness / (real(count) / dependence.inflation).sqrt();
    if !lean.is_finite() || lean.abs() < LEAST_LEAN {
        return Some([low, high]);
    }
    let away = |x: f64| 3.0 / lean * ((1.0 + lean * (x - lean / 6.0)).cbrt() - 1.0);
    Some([low.min(finite(mean - error * away(quantile))?), high.max(finite(mean - error * away(-quantile))?)])
}

/// The skewness of values with this mean and deviation, without the bias of few (Fisher's); 0 where it is not known, and of so many that it
/// makes no difference to their mean.
pub(crate) fn skewness(values: impl SampleValues, mean: f64, stddev: f64) -> f64 {
    let n = real(values.count());
    if values.count() > LOOKED_AT || values.count() < 3 || stddev <= 0.0 {
        return 0.0;
    }
    let cubes = values.iter().map(|value| ((value - mean) / stddev).powi(3)).sum::<f64>();
    cubes * n / ((n - 1.0) * (n - 2.0))
}

/// The ranks, counted from 0, of the order statistics that enclose the quantile `p`, which is `level` in the sample (Woodruff
/// 1952); `None` where there are too few values, or where they depend on each other so much that too few beyond the
/// quantile are as good as independent. `middle` is the dependence of being above the median or not: it is known better than
/// that of so rare a thing as being beyond a quantile far out, which seems less dependent where the sample has few such
/// values. `made` says how the values were made of others.
pub(crate) fn ranks_of_quantile(
    series: impl SampleValues,
    p: f64,
    level: f64,
    middle: &Dependence,
    made: Made<'_>,
) -> Option<[usize; 2]> {
    let n = series.count();
    let [low, high] = binomial_ranks(n, p)?;
    let mut used = beyond(series, p, level, middle, made.lags)?;
    if let Some(centre) = made.centre {
        let (about, excess) = centre.of_share(level);
        used.inflation = used.inflation.max(about.inflation * excess);
        used.freedom = used.freedom.min(about.freedom);
        used.is_known &= about.is_known;
    }
    if used.inflation <= 1.0 {
        return Some([low - 1, high - 1]);
    }
    let centre = real(n - 1) * p + 1.0;
    let scale = used.widening()? / NORMAL_975;
    let below = centre - (centre - real(low)) * scale;
    let above = centre + (real(high) - centre) * scale;
    (below >= 1.0 && above <= real(n))
        .then(|| [to_usize(below).min(low) - 1, to_usize(above.ceil()).max(high) - 1])
}

/// How much values depend on each other in being beyond the quantile `p`, which is `level`; `None` where too few of them are as
/// good as independent.
fn beyond(
    series: impl SampleValues,
    p: f64,
    level: f64,
    middle: &Dependence,
    lags: usize,
) -> Option<Dependence> {
    let n = series.count();
    let own = Dependence::at_or_below(series, level, lags);
    // Of normal values that depend on the last one, the inflation falls off from the median as this, within a tenth.
    let usual = middle.inflation * (4.0 * p * (1.0 - p)).cbrt();
    let inflation = own.inflation.max(usual);
    // One packet that took long makes each value extreme that it is in, whether or not there are enough to show it.
    let together = if lags > 0 { inflation.max(real(lags + 1)) } else { inflation };
    if together > 1.0 && real(n) * p.min(1.0 - p) < BEYOND * together {
        return None;
    }
    let (block, freedom) =
        if usual > own.inflation { (middle.block, middle.freedom) } else { (1, f64::INFINITY) };
    let (block, freedom) = (own.block.max(block), own.freedom.min(freedom));
    let is_known = own.is_known && middle.is_known;
    Some(Dependence { inflation: inflation.max(1.0), freedom, block, is_known })
}

/// Whether a series tells how sure its quantile `p` is: not where too few values beyond it are as good as independent. Each value
/// shares a packet with `lags` that follow it.
pub(crate) fn tells_quantile(series: &[f64], p: f64, lags: usize) -> bool {
    let mut sorted = series.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |p: f64| sorted.get(to_usize(p * real(sorted.len().saturating_sub(1)))).copied();
    let (Some(level), Some(median)) = (at(p), at(0.5)) else { return false };
    let middle = Dependence::of_sides(series, median, Some(&sorted[..]), lags);
    beyond(series, p, level, &middle, lags).is_some_and(|used| used.is_known)
}

/// The place of each of `values` among those that are `sorted`, which equal ones share. They are searched for in order of size, so
/// that each search is a short one that begins where the last ended.
fn places_among<N: SampleValues>(sorted: N, values: N) -> Vec<f64> {
    let mut ascending: Vec<(f64, usize)> = values.iter().zip(0..).collect();
    ascending.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut places = vec![0.0; values.count()];
    let mut below = 0;
    for (value, at) in ascending {
        below = gallop(sorted, below, |other| other < value);
        let equal = gallop(sorted, below, |other| other <= value) - below;
        places[at] = real(2 * below + equal) / 2.0;
    }
    places
}

/// The place of the first value from `from` on that is not before, in a time that depends on how far that is, and not on how many values
/// there are.
fn gallop(sorted: impl SampleValues, from: usize, is_before: impl Fn(f64) -> bool) -> usize {
    let all = sorted.count();
    let mut step = 1;
    while from + step <= all && is_before(sorted.at(from + step - 1)) {
        step *= 2;
    }
    // All before `low` are before, and none from `high` on.
    let (mut low, mut high) = (from + step / 2, all.min(from + step - 1));
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(sorted.at(middle)) { low = middle + 1 } else { high = middle }
    }
    low
}

/// The greatest rank (from 1) below which the quantile `p` of `n` independent values lies with a probability under 2.5 %,
/// and the least one above which it does.
fn binomial_ranks(n: usize, p: f64) -> Option<[usize; 2]> {
    let [low, high] = if n <= BINOMIAL_EXACT {
        let distribution = Binomial::new(p, n as u64).ok()?;
        let low = usize::try_from(distribution.inverse_cdf(0.025)).ok()?;
        let high = usize::try_from(distribution.inverse_cdf(0.975)).ok()? + 1;
        [low, high]
    } else {
        let half = NORMAL_975 * (p * (1.0 - p) * real(n)).sqrt();
        [to_usize((real(n) * p - half).max(0.0)), to_usize((real(n) * p + half).ceil()) + 1]
    };
    (low > 0 && high <= n).then_some([low, high])
}

/// The 97.5 % quantile of Student's distribution; `None` without a degree of freedom.
pub fn student_975(freedom: f64) -> Option<f64> {
    if freedom > STUDENT_EXACT {
        // Abramowitz and Stegun 26.7.5, about the normal quantile; what it leaves out is below 1e-6 from here on.
        let z = NORMAL_975;
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        return Some(z + first / freedom + second / freedom.powi(2));
    }
    finite(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975))
}

/// How much the values of a series depend on those before them.
pub(crate) struct Dependence {
    /// How many times the variance of the mean exceeds that of independent values, at least 1.
    inflation: f64,
    /// Degrees of freedom of what is estimated from the series.
    freedom: f64,
    /// Values in a block; 1 of independent ones.
    block: usize,
    /// Whether the series is long enough to tell: `inflation` is too small where it is not.
    is_known: bool,
}

impl Dependence {
    /// Of whether each of the series, of which so many in a row share packets with the next, is no more than `level`.
    pub(crate) fn at_or_below(series: impl SampleValues, level: f64, lags: usize) -> Self {
        Self::of_sharing(series, |value| if value <= level { 1.0 } else { 0.0 }, lags)
    }

    /// Of whether each of the series is above its `median` or not, where all are at hand in order of size, `sorted`.
    ///
    /// On which side of the median values are tells less of how long they remember than their places do, so that these are
    /// asked as well.
    pub(crate) fn of_sides<N: SampleValues>(series: N, median: f64, sorted: Option<N>, lags: usize) -> Self {
        let found = Self::at_or_below(series, median, lags);
        let all = series.count();
        let Some(sorted) = sorted.filter(|_| all >= FEWEST_NEIGHBOURS) else { return found };
        let mut places = places_among(sorted, series.middle(CORRELATED));
        let mean = places.iter().sum::<f64>() / real(places.len());
        places.iter_mut().for_each(|place| *place -= mean);
        Memory::estimate(&places, all).at_least_a_part(found, IN_SIDES)
    }

    /// The same of values that share a packet with each of the next `lags`: that they depend on these is known, however few
    /// they are, and what is counted as independent by [`Dependence::estimate`] is not. It is at least what their correlations amount to.
    pub(crate) fn of_sharing(series: impl SampleValues, value: impl Fn(f64) -> f64, lags: usize) -> Self {
        let found = Self::estimate(series, &value);
        if lags == 0 || series.count() <= lags || series.count() > CORRELATED {
            return found;
        }
        let n = real(series.count());
        let mean = series.iter().map(&value).sum::<f64>() / n;
        let centred: Vec<f64> = series.iter().map(|x| value(x) - mean).collect();
        let squares: f64 = centred.iter().map(|x| x * x).sum();
        let mut inflation = 1.0;
        for lag in 1..=lags {
            let products: f64 = centred.iter().zip(&centred[lag..]).map(|(a, b)| a * b).sum();
            // The mean is their own, which takes about as much off.
            inflation += 2.0 * (products / squares + 1.5 / n);
        }
        if !inflation.is_finite() || inflation <= found.inflation {
            return found;
        }
        let freedom = (n / real(2 * lags + 1)).max(4.0);
        Self { inflation, freedom: found.freedom.min(freedom), ..found }
    }

    /// Of `value` of each of the series: what its blocks tell, and no less than what neighbours keep of each other.
    pub(crate) fn estimate(series: impl SampleValues, value: impl Fn(f64) -> f64) -> Self {
        let centred = centred(series, value);
        let found = Self::of_blocks(&centred);
        if centred.len() < FEWEST_NEIGHBOURS {
            return found;
        }
        Memory::estimate(&centred, centred.len()).at_least(found)
    }

    /// What the blocks of the series alone tell, which take no steady share of the last value for granted: as it is wanted of
    /// series that are looked through for what is not of their usual kind.
    pub(crate) fn by_blocks(series: impl SampleValues, value: impl Fn(f64) -> f64) -> Self {
        Self::of_blocks(&centred(series, value))
    }

    fn of_blocks(centred: &[f64]) -> Self {
        let n = centred.len();
        let independent =
            Self { inflation: 1.0, freedom: real(n.saturating_sub(1)), block: 1, is_known: true };
        if n < FEWEST_VALUES {
            return independent;
        }
        let variance = centred.iter().map(|x| x * x).sum::<f64>() / real(n);
        let mut block = block_length(centred, variance);
        if block < 2 {
            return independent;
        }
        // The length follows from neighbours at small distances only, and is too short where dependence reaches far beyond
        // these.
        loop {
            let [once, twice] = [block, 2 * block].map(|length| variance_of_blocks(centred, length));
            // A block misses what reaches beyond it, which is as the inverse of its length.
            let inflation = once.max(2.0 * twice - once) / variance;
            if !inflation.is_finite() || inflation <= 1.0 {
                return independent;
            }
            let is_known = real(block) >= HELD_BY_A_BLOCK * inflation;
            if is_known || 2 * block * FEWEST_BLOCKS > n {
                let freedom = (real(n) / real(block) / 2.0).max(1.0);
                return Self { inflation, freedom, block, is_known };
            }
            block *= 2;
        }
    }

    /// Values in a block of the bootstrap; `None` of independent ones.
    pub(crate) fn block(&self) -> Option<usize> {
        (self.block > 1).then_some(self.block)
    }

    /// How many times the variance of the mean exceeds that of independent values, at least 1.
    pub(crate) const fn inflation(&self) -> f64 {
        self.inflation
    }

    /// Degrees of freedom of that estimate.
    pub(crate) const fn freedom(&self) -> f64 {
        self.freedom
    }

    /// Whether the series is long enough to tell; where it is not, the inflation is too small.
    pub(crate) const fn is_known(&self) -> bool {
        self.is_known
    }

    /// Half the width of the mean's interval, in standard errors of the mean of independent values; `None` without
    /// a degree of freedom, and where the series is too short to tell.
    fn widening(&self) -> Option<f64> {
        if !self.is_known {
            return None;
        }
        Some(student_975(self.freedom)? * self.inflation.sqrt())
    }
}

/// `value` of each of a series, or of so many from its middle as are looked at, less their mean.
fn centred(series: impl SampleValues, value: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = series.middle(LOOKED_AT).iter().map(value).collect();
    let mean = values.iter().sum::<f64>() / real(values.len());
    values.iter_mut().for_each(|value| *value -= mean);
    values
}

/// What each value of a series keeps of the one before it, where it keeps a share of it and forgets the rest at once, or is
/// drawn back by the one before that.
///
/// The variance of an autoregressive series' mean is that of independent values times (1 + p)/(1 - p) for each of its partial
/// autocorrelations p (by the recursion of Durbin and Levinson). The first alone makes a series that swings back seem to
/// remember for longer than it does, so the second is taken in where it is surely below 0.
///
/// Blocks of a short series that depends on itself for long hold none that are independent, and the less dependent such a series
/// happens to look, the surer seem its figures. The correlation of neighbours is known from far fewer values.
struct Memory {
    /// Values.
    count: f64,
    /// The share that is kept, without the bias that the series' own mean brings in, and one standard error more: a series that
    /// happens to look less dependent than it is would else be told the surer.
    kept: f64,
    /// The partial autocorrelation of values two apart where it is below 0 by more than chance, and as near to 0 as chance may have it;
    /// else 0.
    drawn_back: f64,
    /// Whether it is more than chance makes of independent values.
    is_any: bool,
}

impl Memory {
    /// Of values less their mean, which are some or all of a series of `count`.
    fn estimate(centred: &[f64], count: usize) -> Self {
        let n = real(centred.len());
        let squares: f64 = centred.iter().map(|x| x * x).sum();
        let correlation = |lag: usize| -> f64 {
            centred.iter().zip(&centred[lag..]).map(|(a, b)| a * b).sum::<f64>() / squares
        };
        let found = correlation(1);
        let second = (correlation(2) - found * found) / (1.0 - found * found);
        // Marriott and Pope (1954): too low by (1 + 4 k)/n.
        let kept = (n * found + 1.0) / (n - 4.0);
        let error = ((1.0 - kept * kept).max(1.0 / n) / n).sqrt();
        Self {
            count: real(count),
            kept: kept + error,
            drawn_back: (second + CHANCE / n.sqrt()).clamp(-1.0, 0.0),
            is_any: found * n.sqrt() > CHANCE,
        }
    }

    /// How many times the variance of the mean exceeds that of independent values.
    fn inflation(&self) -> f64 {
        if self.kept >= 1.0 {
            return f64::INFINITY;
        }
        let [first, second] = [self.kept, self.drawn_back].map(|partial| (1.0 + partial) / (1.0 - partial));
        first * second
    }

    /// `found`, with no less dependence than this.
    fn at_least(&self, found: Dependence) -> Dependence {
        self.at_least_a_part(found, 1.0)
    }

    /// The same where so much of the dependence is in what `found` is of.
    fn at_least_a_part(&self, found: Dependence, part: f64) -> Dependence {
        if !self.is_any {
            return found;
        }
        let whole_inflation = self.inflation();
        let inflation = (1.0 + part * (whole_inflation - 1.0)).max(1.0);
        let is_known = found.is_known && self.count >= WORTH * whole_inflation;
        if !inflation.is_finite() {
            return Dependence { is_known: false, ..found };
        }
        Dependence {
            inflation: found.inflation.max(inflation),
            freedom: found.freedom.min((self.count / inflation / 2.0).max(1.0)),
            block: found.block.max(to_usize(inflation.ceil()).max(2)).min(to_usize(self.count / 3.0).max(1)),
            is_known,
        }
    }
}

/// The variance that the moving-block bootstrap has for the sum of a stretch, for each of its values: the mean square of
/// the sums of all stretches of this length, about the mean of all. In the limit it is the series' variance at frequency 0.
fn variance_of_blocks(centred: &[f64], length: usize) -> f64 {
    let n = centred.len();
    let length = length.min(n / 2);
    let mut sum: f64 = centred[..length].iter().sum();
    let mut squares = sum * sum;
    for (out, into) in centred.iter().zip(&centred[length..]) {
        sum += into - out;
        squares += sum * sum;
    }
    // The mean of all was taken off, which takes as much of the variance as a stretch is of the whole.
    squares / real(n - length + 1) / real(length) / (1.0 - real(length) / real(n))
}

/// The block length that Politis and White choose, for blocks that do not wrap around: from 1 to a third of the series.
fn block_length(centred: &[f64], variance: f64) -> usize {
    let all = centred.len();
    // Of a long series a stretch from its middle tells.
    let part = &centred[(all - all.min(CORRELATED)) / 2..][..all.min(CORRELATED)];
    let n = part.len();
    let log = real(n).log10();
    let quiet = 2.0 * (log / real(n)).sqrt();
    let in_a_row = to_usize(log.sqrt()).max(5);
    let most = to_usize(real(n).sqrt().ceil()) + in_a_row;
    let correlation = |lag: usize| {
        let products: f64 = part.iter().zip(&part[lag..]).map(|(a, b)| a * b).sum();
        products / real(n) / variance
    };
    let mut known = vec![1.0];
    let mut silent = 0;
    // The first lag after which so many in a row are as small as those of independent values.
    while known.len() <= most && silent < in_a_row {
        let next = correlation(known.len());
        silent = if next.abs() < quiet { silent + 1 } else { 0 };
        known.push(next);
    }
    let last = known.len() - 1 - silent;
    if last == 0 {
        return 1;
    }
    let width = (2 * last).min(most.max(1));
    let (mut spectrum, mut slope) = (1.0, 0.0);
    for lag in 1..=width.min(n - 1) {
        let at = known.get(lag).copied().unwrap_or_else(|| correlation(lag));
        let share = real(lag) / real(width);
        let window = if share <= 0.5 { 1.0 } else { 2.0 * (1.0 - share) };
        spectrum += 2.0 * window * at;
        slope += 2.0 * window * real(lag) * at;
    }
    let longest = real(all) / 3.0;
    let length = (1.5 * slope.powi(2) / spectrum.powi(2).max(1e-12) * real(all)).cbrt();
    to_usize(length.min(longest.min(3.0 * real(all).sqrt())).ceil()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A value's place is the middle of the places that its equals have in order of size.
        #[test]
        fn equal_values_share_places(values in prop::collection::vec(-20_i64..20, 1..200)) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let place = |value: &i64| {
                let below = sorted.partition_point(|other| other < value);
                real(below + sorted.partition_point(|other| other <= value)) / 2.0
            };
            let expected: Vec<f64> = values.iter().map(place).collect();
            prop_assert_eq!(places_among(&sorted[..], &values[..]), expected);
        }
    }

    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        for (freedom, quantile) in
            [(1.0, 12.7062), (4.0, 2.7764), (9.0, 2.2622), (30.0, 2.0423), (1e7, 1.9600)]
        {
            let found = student_975(freedom).unwrap();
            assert!((found - quantile).abs() < 1e-4, "{freedom}: {found}");
        }
        assert_eq!(student_975(0.0), None);
        // The expansion takes over without a step.
        let [exact, expanded] =
            [STUDENT_EXACT, STUDENT_EXACT + 1e-6].map(|freedom| student_975(freedom).unwrap());
        assert!((exact - expanded).abs() < 1e-6, "{exact} {expanded}");
    }

    #[test]
    fn the_medians_ranks_are_those_of_the_tables() {
        // Two-sided sign test at 5 %: the greatest rank whose tail stays under 2.5 %.
        for (n, rank) in [(5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (20, Some(6)), (100, Some(40))]
        {
            assert_eq!(binomial_ranks(n, 0.5).map(|ranks| ranks[0]), rank, "n = {n}");
            assert_eq!(
                binomial_ranks(n, 0.5).map(|ranks| n + 1 - ranks[1]),
                rank,
                "both sides alike, n = {n}"
            );
        }
        // The normal limit takes over without a step.
        for p in [0.5, 0.95] {
            let exact = binomial_ranks(BINOMIAL_EXACT, p).unwrap();
            let limit = binomial_ranks(BINOMIAL_EXACT + 1, p).unwrap();
            assert!(
                exact.iter().zip(&limit).all(|(exact, limit)| exact.abs_diff(*limit) <= 2),
                "{exact:?} {limit:?}"
            );
        }
    }
}
