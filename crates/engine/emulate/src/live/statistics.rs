//! What is counted and summarised, in memory of fixed size.

use std::time::SystemTime;

use romer_host::clock::monotonic_now;
use romer_impair::{Correlation, Ledger, Outcome};
use romer_metrics::student_975;
use romer_port::LinkState;
use romer_record::document::Summary;
use romer_record::warning::EmulationWarning;
use romer_units::{Duration, Monotonic, Timestamp};

use crate::statistics::order_wait;

/// Binary digits of a value that a bin keeps: a quantile is off by less than 1 in 2^9.
const DIGITS: u32 = 9;
const BINS_PER_OCTAVE: usize = 1 << DIGITS;
const BINS: usize = BINS_PER_OCTAVE * (64 - DIGITS as usize);
/// The relative error of a quantile.
const QUANTILE_ERROR: f64 = 1.0 / 1_024.0;
/// Samples of so many values are kept, and have exact quantiles. The bridge copies them all for who asks, and must not be
/// kept from its packets by that.
const EXACT: usize = 4_096;
/// The normal distribution's 97.5 % quantile.
const Z: f64 = 1.959_963_984_540_054;

/// A sample of nanoseconds, none negative, of which any number takes the same memory.
#[derive(Clone, Debug)]
pub(super) struct NanosHistogram {
    bins: Box<[u64]>,
    /// The first values, [`EXACT`] at the most.
    first: Vec<i64>,
    count: u64,
    min: i64,
    max: i64,
    mean: f64,
    squares: f64,
    /// How alike neighbours are.
    alike: Box<Correlation>,
}

impl Default for NanosHistogram {
    fn default() -> Self {
        Self {
            bins: vec![0; BINS].into_boxed_slice(),
            first: Vec::with_capacity(EXACT),
            count: 0,
            min: i64::MAX,
            max: i64::MIN,
            mean: 0.0,
            squares: 0.0,
            alike: Box::default(),
        }
    }
}

impl NanosHistogram {
    pub(super) fn clear(&mut self) {
        self.bins.fill(0);
        self.first.clear();
        self.alike.clear();
        (self.count, self.min, self.max, self.mean, self.squares) = (0, i64::MAX, i64::MIN, 0.0, 0.0);
    }

    /// Becomes what `other` is, this being empty. Only the bins in use are touched.
    fn copy_from(&mut self, other: &Self) {
        if other.count > 0 {
            let [least, most] = [other.min, other.max].map(|value| bin(value.unsigned_abs()));
            self.bins[least..=most].copy_from_slice(&other.bins[least..=most]);
            self.first.extend_from_slice(&other.first);
            self.alike.clone_from(&other.alike);
        }
        let Self { count, min, max, mean, squares, .. } = *other;
        (self.count, self.min, self.max, self.mean, self.squares) = (count, min, max, mean, squares);
    }

    /// Takes a value in; a negative one counts as zero.
    pub(super) fn add(&mut self, value: i64) {
        let value = value.max(0);
        self.bins[bin(value.unsigned_abs())] += 1;
        if self.first.len() < EXACT {
            self.first.push(value);
        }
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let from_mean = real(value) - self.mean;
        self.mean += from_mean / real_count(self.count);
        self.squares += from_mean * (real(value) - self.mean);
        self.alike.add(0, value);
    }

    /// The values among which the one is below which `rank` values lie: the ends of its bin.
    fn bin_at_rank(&self, rank: f64) -> [f64; 2] {
        let [least, most] = [self.min, self.max].map(|value| bin(value.unsigned_abs()));
        let mut below = 0;
        for (index, count) in self.bins.iter().enumerate().take(most + 1).skip(least) {
            below += count;
            if *count > 0 && real_count(below) > rank {
                return ends(index).map(|end| end.clamp(real(self.min), real(self.max)));
            }
        }
        [real(self.max); 2]
    }

    /// The value below which `rank` values lie, from the middle of its bin.
    fn at_rank(&self, rank: f64) -> f64 {
        let [low, high] = self.bin_at_rank(rank);
        low.midpoint(high)
    }

    /// The summary. That of few values is exact; that of more has its quantiles from bins, and the intervals of mean and
    /// median from blocks of neighbours, whose means tell how alike neighbours are.
    pub(super) fn summary(&self) -> Summary {
        if self.count == self.first.len() as u64 {
            return romer_metrics::summary(&self.first);
        }
        let n = real_count(self.count);
        let quantile = |p: f64| Some(self.at_rank(p * (n - 1.0)));
        let stddev = (self.squares / (n - 1.0)).sqrt();
        let independent = Z * stddev / n.sqrt();
        // Where all values are the same, so are all means.
        let half = if self.min == self.max {
            Some(0.0)
        } else {
            self.alike.spread().and_then(|spread| {
                Some((student_975(spread.freedom)? * spread.mean_error_ns).max(independent))
            })
        };
        // What widens the mean's interval widens the median's.
        let ranks = half.map(|half| {
            let widening = if independent > 0.0 { half / independent } else { 1.0 };
            let half = widening * Z * n.sqrt() / 2.0;
            [n / 2.0 - half, n / 2.0 + half]
        });
        Summary {
            count: self.count,
            min: Some(real(self.min)),
            max: Some(real(self.max)),
            mean: Some(self.mean),
            stddev: Some(stddev),
            mean_interval: half.map(|half| [self.mean - half, self.mean + half]),
            median_interval: ranks
                .filter(|[low, _]| *low >= 1.0)
                // Where in its bin a value lies is not known.
                .map(|ranks| ranks.map(|rank| self.bin_at_rank(rank.min(n - 1.0))))
                .map(|[[low, _], [_, high]]| [low, high]),
            quantile_error: Some(QUANTILE_ERROR),
            ..Summary::of_quantiles(quantile)
        }
    }
}

/// Values below 2^9 have a bin each, others one of 2^9 to an octave.
fn bin(value: u64) -> usize {
    let shift = (64 - value.leading_zeros()).saturating_sub(DIGITS + 1);
    let digits = usize::try_from(value >> shift).unwrap_or(0);
    usize::try_from(shift).unwrap_or(0) * BINS_PER_OCTAVE + digits
}

/// The least and the greatest value of a bin.
fn ends(index: usize) -> [f64; 2] {
    let shift = (index / BINS_PER_OCTAVE).saturating_sub(1);
    let digits = index - shift * BINS_PER_OCTAVE;
    let exponent = i32::try_from(shift).unwrap_or(0);
    let width = 2_f64.powi(exponent);
    let least = real_count(digits as u64) * width;
    [least, least + width - 1.0]
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53 nanoseconds, which are 104 days")]
const fn real(value: i64) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
const fn real_count(count: u64) -> f64 {
    count as f64
}

/// What is gathered of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct DirectionTotals {
    requested: NanosHistogram,
    actual: NanosHistogram,
    total: NanosHistogram,
    error: NanosHistogram,
    inter_arrival: NanosHistogram,
    inter_departure: NanosHistogram,
    queue_depth: NanosHistogram,
    rate_queue: NanosHistogram,
    order_wait: NanosHistogram,
    last_arrival: Option<i64>,
    last_departure: Option<i64>,
    latest: Option<u64>,
    overtaken: u64,
}

impl DirectionTotals {
    fn tallies(&mut self) -> [&mut NanosHistogram; 9] {
        [
            &mut self.requested,
            &mut self.actual,
            &mut self.total,
            &mut self.error,
            &mut self.inter_arrival,
            &mut self.inter_departure,
            &mut self.queue_depth,
            &mut self.rate_queue,
            &mut self.order_wait,
        ]
    }

    /// Begins the summaries anew. Whom a packet overtakes is counted from the beginning, as all that is counted is.
    pub(super) fn clear(&mut self) {
        self.tallies().into_iter().for_each(NanosHistogram::clear);
        (self.last_arrival, self.last_departure) = (None, None);
    }

    /// Becomes what `other` is, this being new.
    fn copy_from(&mut self, other: &Self) {
        let Self { requested, actual, total, error, inter_arrival, inter_departure, queue_depth, .. } = other;
        let Self { rate_queue, order_wait, .. } = other;
        let others = [
            requested,
            actual,
            total,
            error,
            inter_arrival,
            inter_departure,
            queue_depth,
            rate_queue,
            order_wait,
        ];
        self.overtaken = other.overtaken;
        self.tallies().into_iter().zip(others).for_each(|(own, other)| own.copy_from(other));
    }

    /// A packet has arrived, when `held` others were held.
    pub(super) fn arrived(&mut self, arrival: Timestamp<Monotonic>, held: usize) {
        let arrival = arrival.as_nanos();
        if let Some(last) = self.last_arrival.replace(arrival) {
            self.inter_arrival.add(arrival - last);
        }
        self.queue_depth.add(i64::try_from(held).unwrap_or(i64::MAX));
    }

    /// A packet was given to the port at `time`; it counts as arrived so much later than its stamp as `postponed`.
    pub(super) fn departed(&mut self, outcome: &Outcome, postponed: Duration, time: Timestamp<Monotonic>) {
        let time = time.as_nanos();
        let in_rate_queue = outcome.time - outcome.released;
        let actual = time - outcome.entered - in_rate_queue;
        self.requested.add(outcome.requested);
        self.actual.add(actual);
        self.total.add(time - outcome.arrival);
        self.error.add(time - outcome.time + postponed.as_nanos());
        if let Some(wait) = order_wait(outcome) {
            self.order_wait.add(wait);
        }
        if outcome.rated {
            self.rate_queue.add(in_rate_queue);
        }
        self.overtaken += u64::from(self.latest.is_some_and(|latest| outcome.ordinal < latest));
        self.latest = self.latest.max(Some(outcome.ordinal));
        if let Some(last) = self.last_departure.replace(time) {
            self.inter_departure.add(time - last);
        }
    }

    fn direction(
        &self,
        ledger: Ledger,
        link: LinkHistory,
        correlation: Option<Correlation>,
    ) -> DirectionSnapshot {
        DirectionSnapshot {
            overtaken: self.overtaken,
            rate_queue: self.rate_queue.summary(),
            order_wait: self.order_wait.summary(),
            ledger,
            requested_delay: self.requested.summary(),
            actual_delay: self.actual.summary(),
            total_delay: self.total.summary(),
            delay_error: self.error.summary(),
            inter_arrival: self.inter_arrival.summary(),
            inter_departure: self.inter_departure.summary(),
            queue_depth: self.queue_depth.summary(),
            homeless: 0,
            link,
            correlation,
        }
    }
}

/// What the bridge copies for who asks: the summaries are made of it by who asked.
#[derive(Debug)]
pub(super) struct Raw {
    at: Timestamp<Monotonic>,
    gone: Option<GonePort>,
    sides: [RawDirection; 2],
}

#[derive(Debug)]
struct RawDirection {
    gathered: DirectionTotals,
    ledger: Ledger,
    homeless: u64,
    link: LinkHistory,
    correlation: Option<Correlation>,
}

/// A port's link: what it can do now, and what it could not before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkHistory {
    /// Now.
    pub state: LinkState,
    /// How often it went down, as far as was seen; it is looked at many times a second.
    pub downs: u64,
    /// How long it was down in all.
    pub down_for: Duration,
}

impl LinkHistory {
    /// At the start.
    pub(super) const fn new(state: LinkState) -> Self {
        Self { state, downs: 0, down_for: Duration::ZERO }
    }

    /// It is seen in `state`, so long after it was seen last.
    pub(super) fn see(&mut self, state: LinkState, since: Duration) {
        if self.state == LinkState::Down {
            self.down_for += since;
        }
        self.downs += u64::from(state == LinkState::Down && self.state == LinkState::Up);
        self.state = state;
    }
}

impl Raw {
    /// With nothing in it yet.
    pub(super) fn new() -> Self {
        let side = || RawDirection {
            gathered: DirectionTotals::default(),
            ledger: Ledger::default(),
            homeless: 0,
            link: LinkHistory::new(LinkState::Up),
            correlation: None,
        };
        Self { at: monotonic_now(), gone: None, sides: [side(), side()] }
    }

    /// One side of this moment.
    pub(super) fn fill(
        &mut self,
        index: usize,
        gathered: &DirectionTotals,
        ledger: Ledger,
        homeless: u64,
        link: LinkHistory,
        correlation: Option<&Correlation>,
    ) {
        self.at = monotonic_now();
        let side = &mut self.sides[index];
        side.gathered.copy_from(gathered);
        (side.ledger, side.homeless, side.link, side.correlation) =
            (ledger, homeless, link, correlation.cloned());
    }

    pub(super) fn gone(self, port: Option<romer_port::PortName>) -> Self {
        let gone = port.map(|port| GonePort { port, may_be_moved: false });
        Self { gone, ..self }
    }

    pub(super) fn snapshot(self) -> Snapshot {
        let since = monotonic_now() - self.at;
        let since = std::time::Duration::from_nanos(since.as_nanos().max(0).unsigned_abs());
        Snapshot {
            at: self.at,
            taken: SystemTime::now() - since,
            directions: self.sides.map(|side| DirectionSnapshot {
                homeless: side.homeless,
                ..side.gathered.direction(side.ledger, side.link, side.correlation)
            }),
            gone: self.gone,
            not_restored: Vec::new(),
        }
    }
}

/// One direction of a bridge.
#[derive(Clone, Debug)]
pub struct DirectionSnapshot {
    /// The counts, which balance.
    pub ledger: Ledger,
    /// Delay that the scenario asked for, of packets that left; nanoseconds, like all that follow but the last.
    pub requested_delay: Summary,
    /// From when a packet was let into the delay stage until it was given to the port, without the rate queue.
    pub actual_delay: Summary,
    /// From when a packet arrived until it was given to the port, whatever it waited for: the rate, its turn.
    pub total_delay: Summary,
    /// From when a packet was due until it was given to the port.
    pub delay_error: Summary,
    /// Waits after the delay so as not to overtake, of packets that waited.
    pub order_wait: Summary,
    /// In the rate's queue and on the way out at the rate, of packets that left and met a rate; of others there is nothing.
    pub rate_queue: Summary,
    /// Packets and copies that left after one that had arrived later.
    pub overtaken: u64,
    /// Between arrivals.
    pub inter_arrival: Summary,
    /// Between departures.
    pub inter_departure: Summary,
    /// Packets and copies held after each arrival.
    pub queue_depth: Summary,
    /// Packets that came when there was no room for another frame: lost to the queue, and in no sample.
    pub homeless: u64,
    /// The port that the packets arrive at.
    pub link: LinkHistory,
    /// How alike successive delays of the exact order are; `None` where that order draws nothing.
    pub correlation: Option<Correlation>,
}

/// A port that is no longer in its network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GonePort {
    /// Which.
    pub port: romer_port::PortName,
    /// Whether another network namespace has an interface of its address and driver; else it was removed.
    pub may_be_moved: bool,
}

/// What has happened, at one instant.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When, on the clock of schedules.
    pub at: Timestamp<Monotonic>,
    /// When, by the host's calendar.
    pub taken: SystemTime,
    /// What arrived at a, and what arrived at b.
    pub directions: [DirectionSnapshot; 2],
    /// The port that is gone, if that ended the bridge.
    pub gone: Option<GonePort>,
    /// What could not be put back on the host at the end, in words.
    pub not_restored: Vec<EmulationWarning>,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use romer_impair::config::{Delay, Model, Order, Variable};
    use romer_impair::{Config, DelayDistribution, Engine, Limits, Nanos, Packet, Path, PortId};
    use romer_units::random::Seed;

    use super::*;

    /// The interval of a median from bins holds the true median, also where all values but a few are the same.
    #[test]
    fn median_interval_covers_bin_error() {
        for (value, few) in [(20_000, 1), (20_000, 90_000), (1_234_567, 5)] {
            let mut tally = NanosHistogram::default();
            (0..100_000).for_each(|n| tally.add(if n % 1_000 == 0 { few } else { value }));
            let summary = tally.summary();
            let [low, high] = summary.median_interval.unwrap();
            let (median, value) = (summary.median.unwrap(), real(value));
            assert!(low <= value && value <= high && low <= median && median <= high, "{summary:?}");
            assert!(high - low <= 2.0 * QUANTILE_ERROR * value, "{summary:?}");
        }
    }

    #[test]
    fn a_sample_is_summarised_to_within_the_stated_error() {
        let mut tally = NanosHistogram::default();
        let values: Vec<i64> = (0..10_001).map(|n| (n * 7_919 % 10_001 + 1) * 997).collect();
        values.iter().for_each(|value| tally.add(*value));
        let summary = tally.summary();
        assert_eq!((summary.count, summary.min, summary.max), (10_001, Some(997.0), Some(997.0 * 10_001.0)));
        assert!((summary.mean.unwrap() - 997.0 * 5_001.0).abs() < 1e-3);
        for (found, p) in [(summary.p25, 0.25), (summary.median, 0.5), (summary.p99, 0.99)] {
            let truth = 997.0 * (1.0 + p * 10_000.0);
            assert!((found.unwrap() / truth - 1.0).abs() <= QUANTILE_ERROR + 1e-3, "{found:?} {truth}");
        }
        let [low, high] = summary.median_interval.unwrap();
        assert!(low < 997.0 * 5_001.0 && 997.0 * 5_001.0 < high);
        tally.clear();
        assert_eq!(tally.summary(), Summary::default());
    }

    #[test]
    fn the_rates_queue_has_what_met_a_rate_and_the_whole_delay_has_all_waiting() {
        let outcome = |ordinal, released, time, rated| Outcome {
            slot: 0,
            port: PortId::A,
            ordinal,
            copy: 0,
            length: 100,
            network_length: 82,
            arrival: 0,
            entered: 10,
            requested: 20,
            released,
            time,
            rated,
            displacement: 0,
            corruption: None,
            lost: None,
        };
        let mut gathered = DirectionTotals::default();
        let at = Timestamp::from_nanos;
        gathered.departed(&outcome(0, 30, 30, false), Duration::ZERO, at(32));
        gathered.departed(&outcome(1, 30, 130, true), Duration::ZERO, at(133));
        // One that found its rate free for it at once met it all the same.
        gathered.departed(&outcome(2, 140, 140, true), Duration::ZERO, at(140));
        let found = gathered.direction(Ledger::default(), LinkHistory::new(LinkState::Up), None);
        assert_eq!((found.rate_queue.count, found.rate_queue.mean), (2, Some(50.0)));
        assert_eq!((found.total_delay.min, found.total_delay.max), (Some(32.0), Some(140.0)));
        // Late by 2, 3 and 0: neither the wait for the rate nor that for the order is an error.
        assert_eq!((found.actual_delay.median, found.delay_error.median), (Some(23.0), Some(2.0)));
        assert_eq!((found.order_wait.count, found.order_wait.max), (1, Some(110.0)));
        // Begun anew, the summaries are empty, and who overtook is counted as before.
        gathered.departed(&outcome(1, 150, 150, false), Duration::ZERO, at(150));
        gathered.clear();
        // That an arrival counted later than its stamp is an error of the emulator.
        gathered.departed(&outcome(1, 160, 160, false), Duration::from_nanos(7), at(161));
        let found = gathered.direction(Ledger::default(), LinkHistory::new(LinkState::Up), None);
        assert_eq!((found.overtaken, found.total_delay.count), (2, 1));
        assert_eq!(found.delay_error.max, Some(8.0));
    }

    /// Delays asked for, in the order of departure, and what is noted of them in the exact order.
    fn emulated(
        variable: Variable,
        order: Order,
        gap: i64,
        count: u32,
        seed: u32,
    ) -> (Vec<i64>, Option<Correlation>) {
        let delay = Model::Plain(Delay { fixed: 0, variable: Some(variable) });
        let path = Arc::new(Path { delay, order, ..Path::default() });
        let mut config = Config { seed: Some(Seed([seed, 6, 7, 8, 9, 10])), ..Config::default() };
        config.base.paths = [vec![Some(Arc::clone(&path))], vec![Some(path)]];
        let mut engine = Engine::new(config, Limits::growing(), 0);
        let mut left = Vec::new();
        for slot in 0..count {
            let arrival = i64::from(slot) * gap;
            left.extend(std::iter::from_fn(|| engine.poll(arrival - 1)).map(|out| out.requested));
            engine.admit(&Packet::new(slot, PortId::A, 100, arrival));
        }
        left.extend(std::iter::from_fn(|| engine.poll(Nanos::MAX)).map(|out| out.requested));
        (left, engine.correlation(PortId::A).cloned())
    }

    /// How many independent values a run is worth.
    #[derive(Clone, Copy)]
    enum Worth {
        /// So few that it does not tell.
        Few,
        /// Of one kind or the other.
        Between,
        /// It tells.
        Many,
    }

    /// The claim is that of 60 runs no more than 9 have an interval that misses, where 3 are meant to: of intervals that are
    /// right more would with a probability of 1e-3. Where a run is worth a few values, what is noted has none.
    #[test]
    fn intervals_of_alike_delays_cover_what_was_asked_for_or_are_not_given() {
        const SEEDS: u32 = 60;
        const MISSED: u32 = 9;
        let exponential = |mean| Variable::new(DelayDistribution::Exponential { mean }, None);
        let normal = || Variable::new(DelayDistribution::Normal { mean: 2e9, stddev: 4e8 }, None);
        let gamma = |c| Variable::new(DelayDistribution::Gamma { shape: 2.0, scale: 5e6 }, c);
        let two = || (0..100).map(|n| f64::from(if n < 60 { n } else { 400 + n }) * 1e5).collect::<Vec<_>>();
        let two_mean = {
            let two = two();
            two.windows(2).map(|pair| pair[0].midpoint(pair[1])).sum::<f64>() / 99.0
        };
        // What, its mean, the variable part, the order, the gap, packets, and what a run is worth.
        let cases = [
            ("exponential, 1 s", 1e7, exponential(1e7), Order::Exact, 1_000_000, 1_000, Worth::Few),
            ("exponential, 60 s", 1e7, exponential(1e7), Order::Exact, 1_000_000, 60_000, Worth::Many),
            ("longer exponential, 1 s", 4e7, exponential(4e7), Order::Exact, 1_000_000, 1_000, Worth::Few),
            ("normal", 2e9, normal(), Order::Exact, 1_000_000, 20_000, Worth::Few),
            ("correlated", 1e7, gamma(Some(0.999)), Order::Exact, 1_000_000, 20_000, Worth::Few),
            ("correlated", 1e7, gamma(Some(0.999)), Order::Independent, 1_000_000, 20_000, Worth::Between),
            ("less correlated", 1e7, gamma(Some(0.95)), Order::Independent, 1_000_000, 20_000, Worth::Many),
            ("independent", 1e7, gamma(None), Order::Independent, 1_000_000, 20_000, Worth::Many),
            (
                "two modes",
                two_mean,
                Variable::new(DelayDistribution::Empirical(two().into()), None),
                Order::Exact,
                2_000_000,
                50_000,
                Worth::Between,
            ),
        ];
        for (name, mean, variable, order, gap, packets, worth) in cases {
            // How many were given, and how many of them missed: of all values, of those in bins, and of what is noted.
            let mut found = [[0, 0]; 3];
            for seed in 1..=SEEDS {
                let (delays, noted) = emulated(variable.clone(), order, gap, packets, seed);
                let mut tally = NanosHistogram::default();
                delays.iter().for_each(|delay| tally.add(*delay));
                let own = tally.mean;
                let noted = noted.and_then(|noted| noted.spread()).map(|spread| {
                    let half = student_975(spread.freedom).unwrap() * spread.mean_error_ns;
                    [own - half, own + half]
                });
                let given =
                    [romer_metrics::summary(&delays).mean_interval, tally.summary().mean_interval, noted];
                for (found, given) in found.iter_mut().zip(given) {
                    if let Some([low, high]) = given {
                        found[0] += 1;
                        found[1] += u32::from(mean < low || mean > high);
                    }
                }
            }
            assert!(found.iter().all(|[_, missed]| *missed <= MISSED), "{name} {order:?}: {found:?}");
            let given = found.map(|[given, _]| given);
            match worth {
                Worth::Few => {
                    assert!(given[0] < SEEDS * 2 / 3 && given[2] == 0, "{name} {order:?}: {given:?}");
                }
                Worth::Many => assert_eq!(given[..2], [SEEDS; 2], "{name} {order:?}"),
                Worth::Between => {}
            }
        }
    }

    /// Delays of a law that is wider than the packets' spacing swing in exact order: their interval is that of the effective sample size
    /// beside it.
    #[test]
    fn interval_agrees_with_effective_sample_size() {
        const SEEDS: u32 = 20;
        let normal = Variable::new(DelayDistribution::Normal { mean: 1e8, stddev: 4e7 }, None);
        let (mut ratios, mut means) = (0.0, Vec::new());
        for seed in 1..=SEEDS {
            let (delays, noted) = emulated(normal.clone(), Order::Exact, 45_000_000, 2_000, seed);
            let summary = romer_metrics::summary(&delays);
            let [low, high] = summary.mean_interval.unwrap();
            let effective = noted.unwrap().effective_values().unwrap();
            ratios +=
                0.5 * (high - low) / (Z * summary.stddev.unwrap() / effective.sqrt()) / f64::from(SEEDS);
            means.push((summary.mean.unwrap(), 0.5 * (high - low)));
        }
        assert!((0.85..1.25).contains(&ratios), "{ratios}");
        // And both are what the means of the runs vary by, which 20 of them have to within a third.
        let mean = means.iter().map(|(mean, _)| mean).sum::<f64>() / f64::from(SEEDS);
        let variance = means.iter().map(|(one, _)| (one - mean).powi(2)).sum::<f64>() / f64::from(SEEDS - 1);
        let half = means.iter().map(|(_, half)| half).sum::<f64>() / f64::from(SEEDS);
        assert!((0.6..1.7).contains(&(half / (Z * variance.sqrt()))), "{half} {variance}");
    }

    proptest! {
        #[test]
        fn every_value_has_a_bin_whose_middle_is_near_it(value in 0_u64..=i64::MAX.unsigned_abs()) {
            let index = bin(value);
            prop_assert!(index < BINS);
            let value = real_count(value);
            let [least, greatest] = ends(index);
            prop_assert!(least <= value && value <= greatest);
            prop_assert!((least.midpoint(greatest) - value).abs() <= value * QUANTILE_ERROR + 0.5);
        }
    }
}
