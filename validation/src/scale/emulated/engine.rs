//! The emulator's engine alone: what it takes for a packet.

use std::time::Instant;

use romer_impair::config::{Corrupt, DEFAULT_FLUSH, Delay, Discipline, Duplicate, Model, RateLimit, Reorder};
use romer_impair::config::{Order, Variable};
use romer_impair::{Decision, DelayDistribution, Engine, Limits, Packet, Path, PortId};
use romer_units::{Layer, Rate};
use serde::Serialize;

use super::cases::both_ways;

/// Packets on which the engine is timed, and how often.
const TIMED: u32 = 1_000_000;
const TIMES: u32 = 3;
/// Between two packets: the shortest frames on 100 Mbit/s.
const GAP: i64 = 6_720;
/// How many packets it may hold.
const HELD: usize = 1 << 12;
/// What the case of all impairments is called.
pub(crate) const ALL: &str = "all";

/// What the engine takes for a packet, by what it is asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cost {
    pub(crate) impairment: &'static str,
    /// The least of three times a million packets.
    pub(crate) packet_ns: f64,
}

/// Times the engine, with each impairment alone and with all.
pub(crate) fn costs() -> Vec<Cost> {
    paths().into_iter().map(|(impairment, path)| Cost { impairment, packet_ns: cost(path) }).collect()
}

fn paths() -> Vec<(&'static str, Path)> {
    let path = || Path { flush: DEFAULT_FLUSH, ..Path::default() };
    let decision = Decision::Bernoulli { probability: 0.01 };
    let loss = Model::Plain(decision);
    let duplicate = Model::Plain(Duplicate { decision, delay: 0 });
    let reorder = Model::Plain(Reorder { decision, ..Reorder::default() });
    let corrupt = Corrupt { decision, bits: 1, repair_checksum: false };
    let normal = Some(Variable::new(DelayDistribution::Normal { mean: 5e4, stddev: 1e4 }, None));
    let delay = |variable| Model::Plain(Delay { fixed: 1_000_000, variable });
    let rate = Some(RateLimit {
        limit: Rate::Bits(200_000_000),
        layer: Layer::L1,
        queue: 1 << 20,
        discipline: Discipline::TailDrop,
    });
    let all = Path {
        loss: loss.clone(),
        duplicate: duplicate.clone(),
        reorder: reorder.clone(),
        delay: delay(normal.clone()),
        corrupt,
        rate,
        ..path()
    };
    vec![
        ("none", path()),
        ("loss", Path { loss, ..path() }),
        ("duplication", Path { duplicate, ..path() }),
        ("reordering", Path { reorder, ..path() }),
        ("corruption", Path { corrupt, ..path() }),
        ("rate", Path { rate, ..path() }),
        ("fixed delay", Path { delay: delay(None), ..path() }),
        ("normal delay, in order", Path { delay: delay(normal.clone()), ..path() }),
        ("normal delay, in any order", Path { delay: delay(normal), order: Order::Independent, ..path() }),
        (ALL, all),
    ]
}

/// Nanoseconds a packet.
fn cost(path: Path) -> f64 {
    let config = both_ways(path);
    let mut least = f64::INFINITY;
    for _ in 0..TIMES {
        let mut engine = Engine::new(config.clone(), Limits::fixed(HELD), 0);
        let begin = Instant::now();
        for number in 0..TIMED {
            let arrival = i64::from(number) * GAP;
            engine.admit(&Packet::new(number, PortId::A, 64, arrival));
            while engine.poll(arrival).is_some() {}
        }
        least = least.min(begin.elapsed().as_secs_f64() * 1e9 / f64::from(TIMED));
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_are_what_they_are_called_and_the_last_has_all() {
        let paths = paths();
        assert!(paths.iter().all(|(_, path)| path.check().is_ok()));
        let (name, all) = paths.last().unwrap();
        assert_eq!(*name, ALL);
        assert!(all.rate.is_some() && all.corrupt.bits == 1 && all.longest_hold() > 1_000_000);
    }
}
