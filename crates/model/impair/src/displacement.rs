//! Tests of reordering by displacement.
#![expect(clippy::cast_possible_truncation, reason = "the tests' numbers are small")]

use crate::behaviour::{MANY, config, every, run};
use crate::claims;
use crate::config::{Delay, Displacement, Model, Path, Reorder, TimelineStep};
use crate::loss_model::Decision;
use crate::packet::PortId;

#[test]
fn displaced_packets_are_passed_by_as_many_as_was_asked() {
    let reorder = Reorder {
        decision: Decision::Bernoulli { probability: 0.02 },
        displacement: Displacement::Uniform { low: 5, high: 5 },
    };
    let path = Path { reorder: Model::Plain(reorder), ..Path::default() };
    let (engine, _, out) = run(config(path), every(1_000).take(MANY as usize));
    claims::binomial("displaced", out.iter().filter(|o| o.displacement > 0).count() as u64, MANY, 0.02);
    assert!(engine.ledger(PortId::A).reordered >= MANY / 51);
    // RFC 4737: a packet is reordered where a later one arrived before; its extent is how far back the earliest such is.
    let mut extents = [0_u64; 16];
    let mut greatest = 0;
    for (at, outcome) in out.iter().enumerate() {
        if outcome.ordinal < greatest {
            let first = (at.saturating_sub(64)..at).find(|before| out[*before].ordinal > outcome.ordinal);
            extents[(at - first.unwrap()).min(15)] += 1;
        }
        greatest = greatest.max(outcome.ordinal);
    }
    // Extent 5 where none of the five before was displaced: p (1-p)^5.
    let expected = 0.02 * 0.98_f64.powi(5);
    claims::near("extent 5", extents[5] as f64 / MANY as f64, expected, (expected / 1e6).sqrt() * 1.2);
    assert_eq!(extents[1..5], [0; 4]);
}

/// Whatever the distances are, exactly as many later packets as drawn leave the stage before a displaced one, unless its
/// time is up.
#[test]
fn varying_displacements_are_exact() {
    for (probability, low, high) in [(0.5, 1, 5), (0.2, 1, 5), (0.9, 1, 2), (0.05, 1, 300)] {
        let decision = Decision::Bernoulli { probability };
        let displacement = Displacement::Uniform { low, high };
        let reorder = Model::Plain(Reorder { decision, displacement });
        let path = Path { reorder, flush: 3_600_000_000_000, ..Path::default() };
        let (_, _, out) = run(config(path), every(1_000).take(100_000));
        // Nothing comes after the last packets, so that those of the end are let go by the flush.
        let ended = out.iter().position(|o| o.time > 100_000 * 1_000).unwrap_or(out.len());
        let (mut displaced, mut longest, mut later) = (0, 0, std::collections::BTreeSet::new());
        for o in &out[..ended] {
            let passed = later.range(o.ordinal + 1..).count();
            assert_eq!(passed as u64, u64::from(o.displacement), "{probability} {low}-{high}: {o:?}");
            displaced += u64::from(o.displacement > 0);
            longest = longest.max(o.time - o.arrival);
            later.insert(o.ordinal);
            while later.len() > 2_000 {
                later.pop_first();
            }
        }
        claims::binomial("displaced", displaced, ended as u64, probability);
        if (probability, high) == (0.5, 5) {
            // What the manual says of a packet a millisecond and the usual flush of 100 ms.
            assert!(longest < 100 * 1_000, "{longest}");
        }
    }
}

/// A displaced packet whose time is up counts for those that wait longer.
#[test]
fn flushed_packet_counts_for_older() {
    let always = Decision::Bernoulli { probability: 1.0 };
    let displacement = |distance| Displacement::Uniform { low: distance, high: distance };
    let reorder = |distance| Reorder { decision: always, displacement: displacement(distance) };
    let path = |distance, flush| Path { reorder: Model::Plain(reorder(distance)), flush, ..Path::default() };
    let mut config_of = config(path(1, 5_000));
    config_of.timeline = vec![TimelineStep { at: 150, setting: config(path(9, 500)).base }];
    let (engine, _, out) = run(config_of, [100, 200].into_iter());
    assert_eq!(out.iter().map(|o| (o.ordinal, o.time)).collect::<Vec<_>>(), [(1, 700), (0, 700)]);
    assert_eq!((engine.ledger(PortId::A).reordered, engine.ledger(PortId::A).flushed), (1, 1));
}

#[test]
fn a_displaced_packet_that_nobody_passes_leaves_when_its_time_is_up() {
    let reorder = Reorder {
        decision: Decision::Bernoulli { probability: 1.0 },
        displacement: Displacement::Uniform { low: 3, high: 3 },
    };
    let delay = Model::Plain(Delay { fixed: 40, variable: None });
    let path = Path { reorder: Model::Plain(reorder), flush: 500, delay, ..Path::default() };
    let (engine, _, out) = run(config(path), [1_000, 1_100].into_iter());
    assert_eq!(out.iter().map(|o| o.time).collect::<Vec<_>>(), [1_540, 1_640]);
    assert_eq!(engine.ledger(PortId::A).reordered, 0, "none overtook another");
    assert_eq!((engine.ledger(PortId::A).displaced, engine.ledger(PortId::A).flushed), (2, 2));
}

/// A packet that waits for a time is overtaken by those that come within it, at any spacing, and by no others.
#[test]
fn displacement_in_time_is_alike_at_any_spacing() {
    let reorder = Reorder {
        decision: Decision::Bernoulli { probability: 0.1 },
        displacement: Displacement::Time { low: 20_000, high: 40_000 },
    };
    for spacing in [1_000, 25_000, 50_000] {
        let path = Path { reorder: Model::Plain(reorder.clone()), flush: 500, ..Path::default() };
        let (engine, _, out) = run(config(path), every(spacing).take(100_000));
        let waits: Vec<_> = out.iter().map(|o| o.time - o.arrival).filter(|wait| *wait > 0).collect();
        claims::binomial("displaced", waits.len() as u64, 100_000, 0.1);
        assert!(waits.iter().all(|wait| (20_000..=40_000).contains(wait)));
        // Uniform: of 10,000 waits the mean has a standard error of 58 ns.
        let mean = waits.iter().sum::<i64>() as f64 / waits.len() as f64;
        claims::near("mean wait", mean, 30_000.0, 300.0);
        let ledger = engine.ledger(PortId::A);
        assert_eq!((ledger.displaced, ledger.flushed), (waits.len() as u64, 0));
        let overtaken = waits.iter().filter(|wait| **wait > spacing).count() as f64 / waits.len() as f64;
        let reordered = ledger.reordered as f64 / waits.len() as f64;
        // Where the packets are close together, later ones that are displaced too go past less often.
        assert!(
            reordered <= overtaken && reordered >= 0.85 * overtaken,
            "{spacing}: {reordered} {overtaken}"
        );
    }
}
