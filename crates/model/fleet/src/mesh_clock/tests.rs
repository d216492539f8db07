//! Claims about the clocks of simulated meshes, where the truth is known.

use proptest::prelude::*;
use romer_units::Duration;
use romer_units::random::{RandomStream, Seed};

use super::*;
use crate::rows::{Row, RowDirection, RowFate};

/// Random numbers with a fixed seed.
struct Random {
    stream: RandomStream,
    drawn: u64,
}

impl Random {
    fn new(seed: u32) -> Self {
        Self { stream: RandomStream::new(Seed([seed; 6]), [1, 2]), drawn: 0 }
    }

    /// A whole number from `low` to `high`.
    fn between(&mut self, low: i64, high: i64) -> i64 {
        self.drawn += 1;
        let span = f64::from(i32::try_from(high - low).unwrap());
        low + whole_part(self.stream.unit(self.drawn) * span)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "numbers of a test")]
fn whole_part(number: f64) -> i64 {
    number.floor() as i64
}

fn name(number: usize) -> Token {
    Token::new(format!("n{number:02}")).unwrap()
}

/// A full mesh with known offsets, whose pairs have delays from 10 us to 1 ms in each direction.
fn mesh(agents: usize, random: &mut Random) -> (Vec<i64>, Vec<PairBound>) {
    let truth: Vec<i64> = (0..agents).map(|_| random.between(-10_000_000, 10_000_000)).collect();
    let mut bounds = Vec::new();
    for a in 0..agents {
        for b in a + 1..agents {
            let offset = truth[b] - truth[a];
            bounds.push(PairBound {
                a: name(a),
                b: name(b),
                low_ns: offset - random.between(10_000, 1_000_000),
                high_ns: offset + random.between(10_000, 1_000_000),
                rate: None,
            });
        }
    }
    (truth, bounds)
}

/// In 50 meshes the bounds always include the truth and are no wider than those of the direct pair, and the estimates satisfy the bounds
/// of every pair. The root mean square of the error is less than two thirds of that of the
/// direct pairs.
#[test]
fn meshes_have_narrower_bounds() {
    let (mut of_mesh, mut of_pairs) = (0.0, 0.0);
    for seed in 0..50 {
        let (truth, bounds) = mesh(8, &mut Random::new(seed));
        let found = clocks(&bounds);
        assert_eq!(found.findings, [], "seed {seed}");
        for bound in &bounds {
            let estimated = found.clocks[&bound.b].offset_ns - found.clocks[&bound.a].offset_ns;
            // Each of the two estimates is rounded.
            assert!(
                bound.low_ns - 1 <= estimated && estimated <= bound.high_ns + 1,
                "seed {seed}: {bound:?}"
            );
        }
        for bound in bounds.iter().filter(|bound| bound.a == name(0)) {
            let clock = &found.clocks[&bound.b];
            let number = (0..8).find(|number| name(*number) == bound.b).unwrap();
            let offset = truth[number] - truth[0];
            assert_eq!(clock.reference, name(0));
            assert!(clock.low_ns <= offset && offset <= clock.high_ns, "seed {seed}: {clock:?} {offset}");
            assert!(bound.low_ns <= clock.low_ns && clock.high_ns <= bound.high_ns, "seed {seed}");
            assert!(clock.low_ns <= clock.offset_ns && clock.offset_ns <= clock.high_ns, "seed {seed}");
            let square = |error: i64| f64::from(i32::try_from(error).unwrap()).powi(2);
            of_mesh += square(clock.offset_ns - offset);
            of_pairs += square(bound.low_ns.midpoint(bound.high_ns) - offset);
        }
    }
    assert!(of_mesh < of_pairs * 4.0 / 9.0, "{of_mesh} {of_pairs}");
}

/// A pair with bounds that exclude the truth is found and named in each of 30 meshes, and the other pairs still give the truth.
#[test]
fn wrong_pairs_are_left_out() {
    for seed in 0..30 {
        let (truth, mut bounds) = mesh(6, &mut Random::new(100 + seed));
        let wrong = usize::try_from(seed).unwrap() % bounds.len();
        bounds[wrong].low_ns += 30_000_000;
        bounds[wrong].high_ns += 30_000_000;
        let pair = [bounds[wrong].a.clone(), bounds[wrong].b.clone()];
        let found = clocks(&bounds);
        let [MeshFinding::OffsetsDisagree { agents, excess_ns, left_out }] = &found.findings[..] else {
            panic!("seed {seed}: {:?}", found.findings)
        };
        assert_eq!(*left_out, pair, "seed {seed}");
        assert!(
            agents.len() > 2 && pair.iter().all(|agent| agents.contains(agent)),
            "seed {seed}: {agents:?}"
        );
        assert!(*excess_ns > 20_000_000, "seed {seed}: {excess_ns}");
        for (number, offset) in truth.iter().enumerate() {
            let clock = &found.clocks[&name(number)];
            let offset = offset - truth[0];
            assert!(clock.low_ns <= offset && offset <= clock.high_ns, "seed {seed}");
        }
    }
}

/// Bounds of one pair that have nothing in common are a loop of two agents.
#[test]
fn pairs_contradict_themselves() {
    let bound = |low_ns, high_ns| PairBound { a: name(0), b: name(1), low_ns, high_ns, rate: None };
    let found = clocks(&[bound(0, 10), bound(25, 40)]);
    let expected = MeshFinding::OffsetsDisagree {
        agents: vec![name(0), name(1)],
        excess_ns: 15,
        left_out: [name(0), name(1)],
    };
    assert_eq!(found.findings, [expected]);
    assert_eq!(found.clocks[&name(1)].reference, name(1), "no other pair connects it");
}

/// The order of the bounds and of the agents of a pair does not matter.
#[test]
fn order_does_not_matter() {
    let (_, bounds) = mesh(7, &mut Random::new(7));
    let mut turned = bounds.clone();
    turned.reverse();
    for bound in &mut turned {
        *bound = PairBound {
            a: bound.b.clone(),
            b: bound.a.clone(),
            low_ns: -bound.high_ns,
            high_ns: -bound.low_ns,
            rate: None,
        };
    }
    assert_eq!(clocks(&bounds), clocks(&turned));
}

/// Two parts of a mesh that no pair connects have a reference each, and an agent alone is its own.
#[test]
fn parts_have_own_references() {
    let bound = |a, b| PairBound { a: name(a), b: name(b), low_ns: 5, high_ns: 15, rate: None };
    let found = clocks(&[bound(0, 2), bound(1, 3), bound(4, 4)]);
    let reference = |number| found.clocks[&name(number)].reference.clone();
    assert_eq!([0, 1, 2, 3, 4].map(reference), [name(0), name(1), name(0), name(1), name(4)]);
    let clock = &found.clocks[&name(3)];
    assert_eq!((clock.low_ns, clock.high_ns, clock.offset_ns), (5, 15, 10));
    assert_eq!(clocks(&[]), MeshClocks::default());
}

/// The least squares of three clocks with known weights: the pair with narrow bounds determines its difference.
#[test]
fn narrow_bounds_weigh_more() {
    let bound = |a, b, low_ns, high_ns| PairBound { a: name(a), b: name(b), low_ns, high_ns, rate: None };
    // The middles are 0, 0 and 30, the widths 1000, 1000 and 10.
    let found = clocks(&[bound(0, 1, -500, 500), bound(1, 2, -500, 500), bound(0, 2, 25, 35)]);
    let offset = |number: usize| found.clocks[&name(number)].offset_ns;
    assert_eq!((offset(0), offset(1), offset(2)), (0, 15, 30));
}

/// Rates are multiplied along a path, and a rate that contradicts a loop is found.
#[test]
fn rates_are_multiplied() {
    let bound = |a, b, low_ppb, high_ppb| PairBound {
        a: name(a),
        b: name(b),
        low_ns: -1,
        high_ns: 1,
        rate: Some(RateBound { low_ppb, high_ppb }),
    };
    let path = [bound(0, 1, 99_999.0, 100_001.0), bound(1, 2, 99_999.0, 100_001.0)];
    let rate = clocks(&path).clocks[&name(2)].rate.unwrap();
    // 1.0001 squared is 1.00020001.
    assert!((rate.rate_ppb - 200_010.0).abs() < 0.01, "{rate:?}");
    assert!(rate.low_ppb < 200_008.1 && rate.high_ppb > 200_011.9, "{rate:?}");
    let found = clocks(&[path[0].clone(), path[1].clone(), bound(0, 2, 300_000.0, 300_010.0)]);
    let [MeshFinding::RatesDisagree { agents, excess_ppb, .. }] = &found.findings[..] else {
        panic!("{:?}", found.findings)
    };
    assert_eq!(agents.len(), 3);
    assert!((99_900.0..100_100.0).contains(excess_ppb), "{excess_ppb}");
}

/// Bounds from round trips include the offset, although one clock runs 100 ppm fast; without an allowance for it they exclude it.
#[test]
fn offset_bounds_include_the_offset() {
    let mut random = Random::new(3);
    let offset_at = |time: i64| 5_000_000 + time / 10_000;
    let rows: Vec<Row> = (0..60)
        .map(|second| {
            let t1 = second * 1_000_000_000;
            let arrival = t1 + random.between(50_000, 400_000);
            let departure = arrival + 20_000;
            let t4 = departure + random.between(50_000, 400_000);
            Row {
                stream: 0,
                direction: RowDirection::RoundTrip,
                sequence: second.unsigned_abs(),
                copy: 0,
                size: 56,
                t1_ns: Some(t1),
                t2_ns: Some(arrival + offset_at(arrival)),
                t3_ns: Some(departure + offset_at(departure)),
                t4_ns: Some(t4),
                forward_ttl: None,
                reverse_ttl: None,
                forward_tos: None,
                reverse_tos: None,
                fate: RowFate::Arrived,
            }
        })
        .collect();
    let at = 30_000_000_000;
    let bound = offset_bound(&rows, at, ClockLimits::default()).unwrap();
    assert!(bound.low_ns <= offset_at(at) && offset_at(at) <= bound.high_ns, "{bound:?}");
    assert!(bound.high_ns - bound.low_ns < 1_200_000, "{bound:?}");
    let without =
        offset_bound(&rows, at, ClockLimits { max_rate_ppb: 0, stamp_error: Duration::ZERO }).unwrap();
    assert!(without.low_ns > without.high_ns, "{without:?}");
    assert_eq!(offset_bound(&[], at, ClockLimits::default()), None);
}

proptest! {
    /// Bounds of any pairs give an answer: ranges are in order, estimates within them, and equal bounds give the same answer.
    #[test]
    fn any_bounds_have_an_answer(
        pairs in prop::collection::vec((0_usize..6, 0_usize..6, any::<i64>(), any::<i64>(), -1e6_f64..1e6), 0..20),
    ) {
        let bounds: Vec<PairBound> = pairs
            .into_iter()
            .map(|(a, b, low_ns, high_ns, rate)| PairBound {
                a: name(a),
                b: name(b),
                low_ns,
                high_ns,
                rate: Some(RateBound { low_ppb: rate, high_ppb: rate + 10.0 }),
            })
            .collect();
        let found = clocks(&bounds);
        for clock in found.clocks.values() {
            prop_assert!(clock.low_ns <= clock.offset_ns && clock.offset_ns <= clock.high_ns, "{:?}", clock);
        }
        prop_assert_eq!(clocks(&bounds), found);
    }
}
