//! Queues that are known.

use romer_units::random::{RandomStream, Seed};

use super::*;
use crate::choice::choose;
use crate::correlated::tests::{delays, normal};
use crate::regimes::tests::handovers;

/// A queue with cross-traffic of packets of 1,500 octets, in bursts with exponential times on and off.
#[derive(Clone, Copy, Debug)]
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

/// Of 100 intervals of 95 %, 90 to 98 contain the rate; the error of the rate is less than 2 %, and of the base delay less than 50 us each
/// time (a binomial number is outside 90 to 98 about once in 15 times; the seeds are fixed).
#[test]
fn pairs_show_the_rate() {
    let mut covered = 0;
    for name in 0..100 {
        let found = fitted(QUEUE.passes(name, pairs(name, 600)));
        assert_eq!(found.evidence, Evidence::Dispersion);
        assert!((found.rate.value / QUEUE.rate - 1.0).abs() < 0.02, "{name}: {found:?}");
        assert!((found.base.value - QUEUE.base).abs() < 50e-6, "{name}: {found:?}");
        covered += u32::from(contains(found.rate, QUEUE.rate));
    }
    assert!((90..=98).contains(&covered), "{covered} of 100");
}

/// Likewise for packets of two sizes: within 1 %, also where the queue is often full and then has space for the small ones only.
#[test]
fn sizes_show_the_rate() {
    for queue in [QUEUE, FULL] {
        let mut covered = 0;
        for name in 0..100 {
            let found = fitted(queue.passes(name, sizes(name, 1_500)));
            assert_eq!(found.evidence, Evidence::Size);
            assert!((found.rate.value / queue.rate - 1.0).abs() < 0.01, "{name}: {found:?}");
            covered += u32::from(contains(found.rate, queue.rate));
        }
        assert!((90..=98).contains(&covered), "{covered} of 100 {queue:?}");
    }
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

/// A queue that is often full shows its length. Of 100 intervals of 95 %, 90 to 98 contain it, and the error is less than 0.5 % each time.
/// The noise is less than the distance of the longest waiting times; with more noise the intervals are too wide.
#[test]
fn losses_show_the_buffer() {
    let full = Queue { noise: 0.2e-6, ..FULL };
    let truth = full.buffer * 8.0 / full.rate;
    let mut covered = 0;
    for name in 0..100 {
        let found = fitted(full.passes(name, pairs(name, 800)));
        let buffer = found.buffer.unwrap();
        assert!((buffer.value / truth - 1.0).abs() < 0.005, "{name}: {found:?}");
        covered += u32::from(contains(buffer, truth));
    }
    assert!((90..=98).contains(&covered), "{covered} of 100");
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
