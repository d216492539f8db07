//! Queues that are known.

use std::sync::LazyLock;

use romer_units::random::{RandomStream, Seed};

use super::*;
use crate::choice::choose;
use crate::correlated::tests::{delays, normal};
use crate::regimes::tests::handovers;

/// A queue with cross-traffic of packets of 1,500 octets, in bursts with exponential times on and off.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Queue {
    /// In bit/s.
    rate: f64,
    base: f64,
    /// In octets.
    buffer: f64,
    /// Mean times for which it is on and off, in seconds.
    on: f64,
    off: f64,
    /// Mean packets in a second while it is on.
    packets: f64,
    /// Deviation of the time stamps, in seconds.
    noise: f64,
}

const QUEUE: Queue =
    Queue { rate: 10e6, base: 0.02, buffer: 60_000.0, on: 0.3, off: 0.7, packets: 600.0, noise: 2e-6 };

/// Cross-traffic of more than the rate, half of the time.
const FULL: Queue = Queue { on: 0.5, off: 0.5, packets: 1_100.0, ..QUEUE };

fn numbers(name: u32, number: u32) -> impl FnMut() -> f64 {
    let random = RandomStream::new(Seed([1, 4, 1, 4, 2, 1]), [name, number]);
    let mut ordinal = 0;
    move || {
        ordinal += 1;
        random.unit(ordinal)
    }
}

impl Queue {
    /// What probes show: their departures, in order, and their octets. The queue drops what does not fit.
    fn passes(&self, name: u32, probes: impl Iterator<Item = (f64, u32)>) -> Vec<Observation> {
        let mut unit = numbers(name, 0);
        let mut exponential = move |mean: f64| -mean * (1.0 - unit()).ln();
        let mut noise = normal(name + 1_000);
        let octet = 8.0 / self.rate;
        // Octets in the queue at a time; the next packet of cross-traffic; the end of its burst.
        let (mut octets, mut now) = (0.0_f64, 0.0_f64);
        let (mut next, mut until) = (0.0, exponential(self.on));
        let mut pass = |at: f64, size: f64| {
            octets = (octets - (at - now) / octet).max(0.0);
            now = at;
            let fits = octets + size <= self.buffer;
            octets += if fits { size } else { 0.0 };
            fits.then_some(octets * octet)
        };
        probes
            .map(|(at, size)| {
                while next <= at {
                    pass(next, 1_500.0);
                    next += exponential(1.0 / self.packets);
                    if next > until {
                        next = until + exponential(self.off);
                        until = next + exponential(self.on);
                    }
                }
                let queue = pass(at, f64::from(size));
                let delay = queue.map(|queue| self.base + queue + self.noise * noise());
                Observation { at, size: Some(size), is_lost: delay.is_none(), delay }
            })
            .collect()
    }
}

/// Pairs of packets of 1,000 octets, 50 us apart, on average every 40 ms.
fn pairs(name: u32, count: u32) -> impl Iterator<Item = (f64, u32)> {
    let mut unit = numbers(name, 1);
    let mut at = 0.0;
    (0..count).flat_map(move |_| {
        at += 0.02 + 0.04 * unit();
        [(at, 1_000), (at + 50e-6, 1_000)]
    })
}

/// Packets of 100 to 1,400 octets, every 20 ms.
fn sizes(name: u32, count: u32) -> impl Iterator<Item = (f64, u32)> {
    let mut unit = numbers(name, 2);
    (0..count).map(move |number| (f64::from(number) * 0.02, if unit() < 0.5 { 100 } else { 1_400 }))
}

fn fitted(observations: Vec<Observation>) -> Bottleneck {
    fit(&Series::new(observations)).unwrap()
}

fn contains(estimate: Estimate, truth: f64) -> bool {
    estimate.interval.is_some_and(|[low, high]| (low..=high).contains(&truth))
}

/// Draws of each kind of measurement.
const DRAWS: u32 = 100;

/// Fits of [`DRAWS`] measurements of a queue.
struct Fits {
    queue: Queue,
    evidence: Evidence,
    fits: Vec<Bottleneck>,
}

/// Pairs and packets of two sizes, through a queue that is seldom full and through one that often is. Then it has space for small packets
/// only.
static FITS: [LazyLock<Fits>; 4] = [
    LazyLock::new(|| Fits::from_pairs(QUEUE, 600)),
    LazyLock::new(|| Fits::from_pairs(FULL, 800)),
    LazyLock::new(|| Fits::from_sizes(QUEUE)),
    LazyLock::new(|| Fits::from_sizes(FULL)),
];

impl Fits {
    fn from_pairs(queue: Queue, count: u32) -> Self {
        let fits = (0..DRAWS).map(|name| fitted(queue.passes(name, pairs(name, count)))).collect();
        Self { queue, evidence: Evidence::Dispersion, fits }
    }

    fn from_sizes(queue: Queue) -> Self {
        let fits = (0..DRAWS).map(|name| fitted(queue.passes(name, sizes(name, 1_500)))).collect();
        Self { queue, evidence: Evidence::Size, fits }
    }

    /// All kinds. The `first` differs between tests, so that they do not wait for each other.
    fn all(first: usize) -> impl Iterator<Item = &'static Self> {
        (0..FITS.len()).map(move |number| &*FITS[(first + number) % FITS.len()])
    }
}

/// Of intervals of 95 %, 90 to 98 % contain the truth, and 87 to 99 % of each kind of measurement (a binomial number is outside once in 100
/// times; the seeds are fixed).
fn assert_covers<'a>(
    kinds: impl Iterator<Item = &'a Fits>,
    truth: impl Fn(&Queue) -> f64,
    estimate: impl Fn(&Bottleneck) -> Estimate,
) {
    let (mut covered, mut all) = (0, 0);
    for kind in kinds {
        let truth = truth(&kind.queue);
        let here = kind.fits.iter().filter(|fit| contains(estimate(fit), truth)).count();
        assert!((87..=99).contains(&here), "{here} of {DRAWS}: {:?} {:?}", kind.evidence, kind.queue);
        covered += here;
        all += kind.fits.len();
    }
    assert!((90 * all..=98 * all).contains(&(100 * covered)), "{covered} of {all}");
}

/// The error of the rate is less than 2 % by pairs and 1 % by sizes each time, and its intervals contain it.
#[test]
fn rates_are_recovered() {
    for fits in Fits::all(2) {
        let most = if fits.evidence == Evidence::Dispersion { 0.02 } else { 0.01 };
        for found in &fits.fits {
            assert_eq!(found.evidence, fits.evidence);
            assert!((found.rate.value / fits.queue.rate - 1.0).abs() < most, "{found:?}");
        }
    }
    assert_covers(Fits::all(2), |queue| queue.rate, |fit| fit.rate);
}

/// The error of the base delay is less than the noise of the time stamps each time, and its intervals contain it.
#[test]
fn base_delays_are_recovered() {
    for fits in Fits::all(0) {
        for found in &fits.fits {
            assert!((found.base.value - fits.queue.base).abs() < fits.queue.noise, "{found:?}");
        }
    }
    assert_covers(Fits::all(0), |queue| queue.base, |fit| fit.base);
}

/// The rate is recovered within 2 % if a host behind the link delivers one pair in ten late, and both of its packets at once.
#[test]
fn late_pairs_do_not_hide_the_rate() {
    const LATE: f64 = 0.003;
    for name in 0..20 {
        let mut unit = numbers(name, 4);
        let mut observations = QUEUE.passes(name, pairs(name, 600));
        for pair in observations.chunks_exact_mut(2).filter(|_| unit() < 0.1) {
            let [first, second] = pair else { continue };
            first.delay = first.delay.map(|delay| delay + LATE);
            let at_once = first.delay.map(|delay| first.at + delay + 15e-6 - second.at);
            second.delay = second.delay.zip(at_once).map(|(delay, at_once)| delay.max(at_once));
        }
        let found = fitted(observations);
        assert!((found.rate.value / QUEUE.rate - 1.0).abs() < 0.02, "{name}: {found:?}");
    }
}

/// A queue that is often full shows its length: the error is less than 0.5 % each time, and its intervals contain it. A queue without losses
/// shows none.
#[test]
fn losses_show_the_buffer() {
    let truth = |queue: &Queue| queue.buffer * 8.0 / queue.rate;
    for fits in Fits::all(1) {
        if fits.queue == QUEUE {
            assert!(fits.fits.iter().all(|found| found.buffer.is_none()));
            continue;
        }
        for found in &fits.fits {
            assert!((found.buffer.unwrap().value / truth(&fits.queue) - 1.0).abs() < 0.005, "{found:?}");
        }
    }
    assert_covers(Fits::all(1).filter(|fits| fits.queue == FULL), truth, |fit| fit.buffer.unwrap());
}

/// In a busy queue, a delay contains the transmission of the packet before. Alternating sizes, which determine each other, show no rate.
#[test]
fn alternating_sizes_show_no_rate() {
    let busy = Queue { on: 2.0, off: 0.2, packets: 780.0, ..QUEUE };
    for name in 0..20 {
        let probes = (0..1_500).map(|n| (f64::from(n) * 0.02, if n % 2 == 0 { 100 } else { 1_400 }));
        assert_eq!(fit(&Series::new(busy.passes(name, probes))), None, "{name}");
    }
}

/// Losses that do not depend on the queue show no buffer.
#[test]
fn other_losses_show_no_buffer() {
    for name in 0..50 {
        let mut unit = numbers(name, 3);
        let loses = |one: Observation| {
            let is_lost = one.is_lost || unit() < 0.05;
            Observation { is_lost, delay: one.delay.filter(|_| !is_lost), ..one }
        };
        let found = fitted(QUEUE.passes(name, pairs(name, 600)).into_iter().map(loses).collect());
        assert_eq!(found.buffer, None, "{name}: {found:?}");
    }
}

/// Paths without a bottleneck, for packets of two sizes and for pairs: delays that are independent, correlated, regimes, or constant but
/// for the noise of time stamps. In at least 40 of 50 draws of each, no bottleneck is chosen.
#[test]
fn paths_without_a_rate_have_no_bottleneck() {
    let path = |kind: u32, name: u32, probes: Vec<(f64, u32)>| -> Vec<Observation> {
        let mut noise = normal(name + 2_000);
        let at = || probes.iter().map(|(at, _)| *at);
        let without_sizes = match kind {
            0 => delays(name, 1e-6, at()),
            1 => delays(name, 0.1, at()),
            2 => handovers(name, 1_200)
                .into_iter()
                .zip(at())
                .map(|(one, at)| Observation { at, ..one })
                .collect(),
            _ => at()
                .map(|at| Observation { at, size: None, is_lost: false, delay: Some(0.03 + 20e-6 * noise()) })
                .collect(),
        };
        let sized = without_sizes.into_iter().zip(&probes);
        sized.map(|(one, (_, size))| Observation { size: Some(*size), ..one }).collect()
    };
    for kind in 0..4 {
        for are_pairs in [true, false] {
            let right = (0..50).filter(|name| {
                let probes =
                    if are_pairs { pairs(*name, 600).collect() } else { sizes(*name, 1_200).collect() };
                let series = Series::new(path(kind, *name, probes));
                fit(&series).is_none() || choose(&series).bottleneck.is_none()
            });
            let right = right.count();
            assert!(right >= 40, "{kind} {are_pairs}: {right}");
        }
    }
}

/// A bottleneck is chosen in at least 20 of 25 draws each, for pairs and for packets of two sizes.
#[test]
fn bottlenecks_are_chosen() {
    for are_pairs in [true, false] {
        let right = (0..25).filter(|name| {
            let observations = if are_pairs {
                QUEUE.passes(*name, pairs(*name, 300))
            } else {
                QUEUE.passes(*name, sizes(*name, 600))
            };
            choose(&Series::new(observations)).bottleneck.is_some()
        });
        let right = right.count();
        assert!(right >= 20, "{are_pairs}: {right}");
    }
}

/// Fitted again to a part of the series, the family stays, with another estimate of the rate.
#[test]
fn parts_have_their_own_rate() {
    let observations = QUEUE.passes(1, pairs(1, 300));
    let part = Series::new(observations[..300].to_vec());
    let whole = choose(&Series::new(observations));
    let [whole, part] = [whole.bottleneck.clone(), whole.refitted(&part).bottleneck].map(Option::unwrap);
    assert!((part.rate.value / whole.rate.value - 1.0).abs() < 0.01, "{part:?}");
    assert!((part.rate.value - whole.rate.value).abs() > 1.0, "{part:?}");
}
