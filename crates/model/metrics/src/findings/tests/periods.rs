//! Spikes that are seen of those that were due.

use super::*;

/// Packets 10 ms apart, for `cycles` periods of 2 s; for the first 100 ms of each that `there` names, they wait 15 ms longer. In
/// `outliers` of a thousand packets, one waits up to 50 ms.
fn flat_topped(cycles: u32, outliers: f64, seed: u32, there: impl Fn(u32) -> bool) -> Vec<OneWaySingleton> {
    let mut chance = Chance::new(900, seed);
    let delays = (0..200 * cycles).map(|number| {
        let since = (number + 180) % 200;
        let spike = if since < 10 && there((number + 180) / 200) { 15.0 } else { 0.0 };
        let outlier = if chance.unit() < outliers / 1_000.0 { 50.0 * chance.unit() } else { 0.0 };
        Some((20.0 + spike + 0.3 * chance.exponential() + outlier) * MS)
    });
    singletons(10.0 * MS, delays.collect::<Vec<_>>())
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

/// The singletons with departures of their own, in nanoseconds.
fn leaving_at(departures: &[f64], mut singletons: Vec<OneWaySingleton>) -> Vec<OneWaySingleton> {
    for (singleton, at) in singletons.iter_mut().zip(departures) {
        let departure = nearest(7.0 * S + at);
        singleton.departure = Some(Timestamp::from_nanos(departure));
        singleton.arrival = singleton.delay.map(|delay| Timestamp::from_nanos(departure + delay.as_nanos()));
    }
    singletons
}

#[test]
fn the_interval_holds_the_period_whatever_the_times_between_the_packets() {
    // Mean times between packets, and how long a spike lasts, in milliseconds; periods of about 2 s.
    for (mean, width) in [(10.0, 100.0), (10.0, 30.0), (20.0, 150.0)] {
        let missed = |seed: &u32| {
            let mut chance = Chance::new(910, *seed);
            let (period, phase) = (2_000.0 * (0.98 + 0.04 * chance.unit()), 2_000.0 * chance.unit());
            let mut at = 0.0;
            let (departures, delays): (Vec<f64>, Vec<Option<f64>>) = (0..6_000)
                .map(|_| {
                    at += mean * chance.exponential();
                    let spike = if (at - phase).rem_euclid(period) < width { 15.0 } else { 0.0 };
                    (at * MS, Some((20.0 + 0.3 * chance.exponential() + spike) * MS))
                })
                .unzip();
            let found = found(&leaving_at(&departures, singletons(mean * MS, delays)));
            let [(best, error, _)] = periods_of(&found)[..] else { panic!("seed {seed}: {found:?}") };
            assert!(error < 0.001, "seed {seed}: {error}");
            (best - period / 1_000.0).abs() > error
        };
        let missed = (0..60).filter(missed).count();
        // Of 60 at 5 %, more than 10 with a probability of 3e-4; the seeds are fixed.
        assert!(missed <= 10, "{mean} ms, {width} ms: {missed} of 60");
    }
}

/// A responder's replies leave at nearly equal times, and half a spacing later from where the way to it became longer.
#[test]
fn the_interval_holds_the_period_where_packets_leave_at_nearly_equal_times() {
    for (uneven, later) in [(0.3, 0.0), (1.5, 0.0), (0.3, 5.0), (1.5, 5.0)] {
        let missed = |seed: &u32| {
            let mut chance = Chance::new(960, *seed);
            let (period, phase) = (2_020.0 + 0.3 * (chance.unit() - 0.5), 2_000.0 * chance.unit());
            let (departures, delays): (Vec<f64>, Vec<Option<f64>>) = (0..6_000)
                .map(|number| {
                    let at = 10.0 * f64::from(number)
                        + uneven * chance.exponential().min(5.0)
                        + if number < 2_210 { 0.0 } else { later };
                    let spike = if (at - phase).rem_euclid(period) < 60.0 { 25.0 } else { 0.0 };
                    (at * MS, Some((5.0 + 0.1 * chance.exponential() + spike) * MS))
                })
                .unzip();
            let found = found(&leaving_at(&departures, singletons(10.0 * MS, delays)));
            let [(best, error, _)] = periods_of(&found)[..] else { panic!("seed {seed}: {found:?}") };
            assert!(error < 0.001, "seed {seed}: {error}");
            (best - period / 1_000.0).abs() > error
        };
        let missed = (0..60).filter(missed).count();
        // Of 60 at 5 %, more than 10 with a probability of 3e-4; the seeds are fixed.
        assert!(missed <= 10, "{uneven} ms, {later} ms: {missed} of 60");
    }
}

#[test]
fn spikes_that_last_for_a_quarter_of_their_period_are_one_finding_and_a_step_besides_another() {
    // Periods in packets, and a step in milliseconds at packet 7,000.
    for (period, step) in [(200, 0.0), (400, 0.0), (1_000, 0.0), (200, 2.0), (1_000, 5.0), (2_000, 5.0)] {
        for seed in 0..6 {
            let mut chance = Chance::new(920, seed);
            let phase = crate::value::to_usize(chance.unit() * f64::from(period));
            let begins = u32::try_from(phase).unwrap();
            let delays: Vec<Option<f64>> = (0..12_000_u32)
                .map(|number| {
                    let spike = if (number + period - begins) % period < period / 4 { 15.0 } else { 0.0 };
                    let level = if number < 7_000 { 0.0 } else { step };
                    Some((20.0 + level + spike + 0.3 * chance.exponential()) * MS)
                })
                .collect();
            let all = found(&singletons(10.0 * MS, delays));
            let [(best, error, None)] = periods_of(&all)[..] else {
                panic!("{period}, seed {seed}: {all:?}")
            };
            assert!((best - f64::from(period) / 100.0).abs() < 4.0 * error, "{period}: {best}, {error}");
            let steps: Vec<f64> = all
                .iter()
                .filter_map(|one| match one.pattern {
                    Pattern::DelayStep { size_ns, .. } => Some(size_ns / MS),
                    _ => None,
                })
                .collect();
            let right =
                if step > 0.0 { steps.len() == 1 && (steps[0] - step).abs() < 0.3 } else { steps.is_empty() };
            assert!(right && all.len() == 1 + steps.len(), "{period}, step {step}, seed {seed}: {all:?}");
        }
    }
}

#[test]
fn a_spike_that_is_due_where_the_packets_begin_or_end_is_counted_if_it_is_seen() {
    // Packets 10 ms apart; a period of 200 of them that begins so many before the first packet, and how many packets there are.
    for (before, count, there) in [(0, 4_000, 20), (0, 4_001, 21), (199, 4_000, 20), (180, 4_000, 20)] {
        for lasts in [1, 5, 10] {
            for seed in 0..4 {
                let mut chance = Chance::new(930, seed);
                let delays: Vec<Option<f64>> = (0..count)
                    .map(|number| {
                        let spike = if (number + before) % 200 < lasts { 15.0 } else { 0.0 };
                        Some((20.0 + spike + 0.3 * chance.exponential()) * MS)
                    })
                    .collect();
                let all = seen_of(&found(&singletons(10.0 * MS, delays)));
                let [(seen, due, _)] = all[..] else { panic!("{before}, {lasts}, seed {seed}: {all:?}") };
                assert_eq!((seen, due), (there, there), "{before}, {count}, {lasts}, seed {seed}");
            }
        }
    }
}

#[test]
fn spikes_of_as_many_packets_as_a_neighbourhood_have_one_period() {
    // Of a period of 400 packets, so many are in a spike: more than half of 101 neighbours.
    for lasts in [60, 100, 160] {
        for seed in 0..4 {
            let mut chance = Chance::new(940, seed);
            let delays: Vec<Option<f64>> = (0..8_000_u32)
                .map(|number| {
                    let spike = if (number + 380) % 400 < lasts { 15.0 } else { 0.0 };
                    Some((20.0 + spike + 0.3 * chance.exponential()) * MS)
                })
                .collect();
            let all = found(&singletons(10.0 * MS, delays));
            let [(20, 20, period)] = seen_of(&all)[..] else { panic!("{lasts}, seed {seed}: {all:?}") };
            assert!((period - 4.0).abs() < 0.002, "{period}");
        }
    }
}

#[test]
fn the_interval_holds_the_period_where_packets_leave_at_equal_times_of_which_it_is_nearly_a_multiple() {
    for lasts in [150.0, 60.0] {
        let missed = |seed: &u32| {
            let mut chance = Chance::new(950, *seed);
            // Over 40 cycles the first packets come later by less than two intervals of 20 ms.
            let (period, phase) = (3_000.0 + 1.6 * (chance.unit() - 0.5), 3_000.0 * chance.unit());
            let delays: Vec<Option<f64>> = (0..6_000)
                .map(|number| {
                    let since = (f64::from(number) * 20.0 - phase).rem_euclid(period);
                    let spike = if since < lasts { 15.0 } else { 0.0 };
                    Some((20.0 + 0.3 * chance.exponential() + spike) * MS)
                })
                .collect();
            let found = found(&singletons(20.0 * MS, delays));
            let [(best, error, _)] = periods_of(&found)[..] else { panic!("seed {seed}: {found:?}") };
            assert!(error < 0.0006, "seed {seed}: {error}");
            (best - period / 1_000.0).abs() > error
        };
        let missed = (0..60).filter(missed).count();
        // Of 60 at 5 %, more than 14 with a probability of 1e-6.
        assert!(missed <= 14, "{lasts} ms: {missed} of 60");
    }
}

#[test]
fn spikes_that_come_early_and_late_by_chance_are_told_with_their_own_period_or_not_at_all() {
    // How far a spike of a packet or two lies off when it is due, as a part of the period of 5 s: by triangular chance, with a
    // deviation of 0.41 of the most. Where that is much more than an interval of 20 ms, there may be no finding.
    for most in [0.0, 0.005, 0.012, 0.025, 0.04, 0.06] {
        for seed in 0..8 {
            let mut chance = Chance::new(930, seed);
            let mut delays: Vec<f64> = (0..20_000).map(|_| 10.0 + 0.3 * chance.exponential()).collect();
            for cycle in 0..80 {
                let off = most * (chance.unit() - chance.unit());
                let place = usize::try_from(nearest((f64::from(cycle) + 0.5 + off) * 250.0)).unwrap();
                let long = if chance.unit() < 0.5 { 1 } else { 2 };
                delays.iter_mut().skip(place).take(long).for_each(|delay| *delay += 10.0);
            }
            let found = found(&singletons(
                20.0 * MS,
                delays.into_iter().map(|delay| Some(delay * MS)).collect::<Vec<_>>(),
            ));
            let all = periods_of(&found);
            assert!(all.len() <= 1, "{most}, seed {seed}: {found:?}");
            for (period, error, _) in &all {
                assert!(
                    (period - 5.0).abs() <= 2.0 * error && *error < 0.01,
                    "{most}, seed {seed}: {found:?}"
                );
            }
            assert!(most > 0.02 || all.len() == 1, "{most}, seed {seed}: {found:?}");
        }
    }
}

#[test]
fn spikes_at_several_moments_of_each_cycle_are_one_period() {
    for seed in 0..10 {
        let mut chance = Chance::new(3, seed);
        // 5 s at 1 ms; every 84 ms a packet waits long, and others 35 and 46 ms after it: of no shorter period.
        let delays = (0..5_000).map(|number| {
            let hit = [3, 38, 49].contains(&(number % 84));
            let spike = if hit { 400.0 + 50.0 * chance.unit() } else { 0.0 };
            Some(5_000.0 + 30.0 * chance.unit() + spike)
        });
        let periods = periods_of(&found(&singletons(MS, delays.collect::<Vec<_>>())));
        let [(period, _, None)] = periods[..] else { panic!("seed {seed}: {periods:?}") };
        assert!((period - 0.084).abs() < 1e-5, "{period}");
    }
}
