//! Spikes that are seen of those that were due.

use super::*;

/// Packets 10 ms apart, for `cycles` periods of 2 s; for the first 100 ms of each that `there` names, they wait 15 ms longer. In
/// `outliers` of a thousand packets, one waits up to 50 ms.
fn flat_topped(cycles: u32, outliers: f64, seed: u32, there: impl Fn(u32) -> bool) -> Vec<Passage> {
    let mut chance = Chance::new(900, seed);
    let delays = (0..200 * cycles).map(|number| {
        let since = (number + 180) % 200;
        let spike = if since < 10 && there((number + 180) / 200) { 15.0 } else { 0.0 };
        let outlier = if chance.unit() < outliers / 1_000.0 { 50.0 * chance.unit() } else { 0.0 };
        Some((20.0 + spike + 0.3 * chance.exponential() + outlier) * MS)
    });
    passages(10.0 * MS, delays.collect::<Vec<_>>())
}

/// Spikes seen and due, with the period in seconds.
fn seen_of(findings: &[Finding]) -> Vec<(u64, u64, f64)> {
    let seen = |one: &Finding| match one.pattern {
        Pattern::PeriodicDelaySpikes { spikes, cycles, period_ns, .. } => {
            Some((spikes, cycles, period_ns / S))
        }
        _ => None,
    };
    findings.iter().filter_map(seen).collect()
}

#[test]
fn flat_topped_spikes_are_counted_as_they_are_there() {
    for seed in 0..10 {
        for cycles in [15, 60] {
            let all = seen_of(&found(&flat_topped(cycles, 0.0, seed, |_| true)));
            let [(seen, due, period)] = all[..] else { panic!("{cycles}, seed {seed}: {all:?}") };
            assert_eq!((seen, due), (u64::from(cycles), u64::from(cycles)), "seed {seed}");
            assert!((period - 2.0).abs() < 0.001, "{period}");
        }
        // Every fourth is left out: the packet of 10 ms that waits as long as half a spike by chance is one in 10^11.
        let some = seen_of(&found(&flat_topped(60, 0.0, seed, |cycle| cycle % 4 != 0)));
        let [(45, 60, _)] = some[..] else { panic!("seed {seed}: {some:?}") };
    }
}

#[test]
fn larger_delays_here_and_there_do_not_hide_a_period() {
    for seed in 0..10 {
        let all = seen_of(&found(&flat_topped(15, 7.0, seed, |_| true)));
        let [(15, 15, period)] = all[..] else { panic!("seed {seed}: {all:?}") };
        assert!((period - 2.0).abs() < 0.002, "{period}");
    }
}
