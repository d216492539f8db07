//! Losses that repeat.

use super::*;

/// Ten minutes at 45 ms with 1 % random loss, and a group of `length` losses whenever a period of `period` seconds is over.
fn lossy(period: f64, length: f64, seed: u32) -> Vec<OneWaySingleton> {
    let mut chance = Chance::new(1_200, seed);
    let (interval, phase) = (45.0 * MS, chance.unit() * period * S);
    let delays: Vec<Option<f64>> = (0..13_333)
        .map(|number| {
            let at = f64::from(number) * interval;
            let is_due = (at - phase).rem_euclid(period * S) < length * interval && at >= phase;
            (!is_due && chance.unit() > 0.01).then(|| (5.0 + chance.exponential()) * MS)
        })
        .collect();
    singletons(interval, delays)
}

/// Period in seconds, half of its interval, groups, cycles and packets of each period of losses.
fn periods_of(findings: &[Finding]) -> Vec<(f64, f64, u64, u64, u64)> {
    let each = findings.iter().filter_map(|one| match one.pattern {
        Pattern::PeriodicLoss {
            period_ns, period_interval_ns: [low, high], groups, cycles, packets, ..
        } => Some((period_ns / S, (high - low) / 2.0 / S, groups, cycles, packets)),
        _ => None,
    });
    each.collect()
}

/// Groups of losses every 10.24 s and every 31 s in ten minutes are found among random losses, with the interval of their period.
#[test]
fn periodic_losses_are_found() {
    for (period, length) in [(10.24, 1.0), (10.24, 5.0), (31.0, 5.0)] {
        for seed in 0..8 {
            let found = found(&lossy(period, length, seed));
            let [(measured, error, groups, cycles, packets)] = periods_of(&found)[..] else {
                panic!("{period} s, seed {seed}: {found:?}")
            };
            // An interval of 95 %, twice as wide.
            assert!(
                (measured - period).abs() <= 2.0 * error && error < 0.02,
                "{period}: {measured}, {error}"
            );
            // A random loss just before a group (2 %) moves its beginning: of 59 groups more than 5 by chance in 0.1 % of the paths.
            assert!(groups <= cycles && groups + 5 >= cycles, "{period}: {groups} of {cycles}");
            assert!(packets >= groups, "{packets} of {groups}");
        }
    }
}

/// Random losses, alone or in bursts, have no period: 60 streams, of which each gives a false alarm with at most 1e-6.
#[test]
fn random_losses_have_no_period() {
    for seed in 0..60 {
        let mut chance = Chance::new(1_210, seed);
        let (enter, leave) = if seed % 2 == 0 { (0.02, 1.0) } else { (0.005, 0.3) };
        let mut is_lost = false;
        let delays: Vec<Option<f64>> = (0..13_333)
            .map(|_| {
                is_lost = chance.unit() < if is_lost { 1.0 - leave } else { enter };
                (!is_lost).then(|| (5.0 + chance.exponential()) * MS)
            })
            .collect();
        let found = found(&singletons(45.0 * MS, delays));
        assert!(periods_of(&found).is_empty(), "seed {seed}: {found:?}");
    }
}

/// What is lost for its length in a regular mixture of lengths has no period of its own.
#[test]
fn losses_by_length_have_no_period() {
    let mut packets = singletons(20.0 * MS, (0..6_000).map(|_| Some(MS)));
    for packet in packets.iter_mut().filter(|packet| packet.sequence % 40 == 7) {
        packet.size = 1_472;
        (packet.fate, packet.arrival, packet.delay, packet.ttl) = (Fate::Lost, None, None, None);
    }
    let found = found(&packets);
    assert!(found.iter().any(|one| matches!(one.pattern, Pattern::LossByLength { .. })), "{found:?}");
    assert!(periods_of(&found).is_empty(), "{found:?}");
}
