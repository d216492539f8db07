//! Fates and times follow from arrivals as they counted, whenever the engine is polled.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::behaviour::config;
use crate::behaviour::properties::paths;
use crate::config::{Config, TimelineStep};
use crate::engine::{Admission, Engine, Limits};
use crate::generator::Generator;
use crate::nanos::Nanos;
use crate::packet::{Outcome, Packet, PortId};

/// A packet of a test: its stamp, and when its port shows it.
#[derive(Clone, Copy, Debug)]
struct Coming {
    port: PortId,
    stamp: Nanos,
    visible: Nanos,
}

/// One turn of a caller: how long after the one before, and which ports it reads.
#[derive(Clone, Copy, Debug)]
struct Turn {
    after: Nanos,
    reads: [bool; 2],
}

/// Admissions by slot, and outcomes by slot and copy.
type Fates = (BTreeMap<u32, Admission>, BTreeMap<(u32, u8), Outcome>);

fn take_all(engine: &mut Engine, now: Nanos, fates: &mut Fates) {
    while let Some(outcome) = engine.poll(now) {
        assert!(fates.1.insert((outcome.slot, outcome.copy), outcome).is_none(), "given once");
    }
}

fn admit(engine: &mut Engine, slot: usize, port: PortId, arrival: Nanos, fates: &mut Fates) {
    take_all(engine, arrival - 1, fates);
    let slot = u32::try_from(slot).unwrap();
    let length = 64 + slot * 97 % 1_400;
    fates.0.insert(slot, engine.admit(&Packet::new(slot, port, length, arrival)));
}

/// A caller that reads its ports now and then and polls up to the present, as a live bridge does.
fn live(config: Config, coming: &[Coming], turns: &[Turn]) -> Fates {
    let mut engine = Engine::new(config, Limits::growing(), 0);
    PortId::BOTH.into_iter().for_each(|port| engine.set_received_until(port, 0));
    let mut fates = Fates::default();
    let mut now = 0;
    let mut waiting: [Vec<(usize, Coming)>; 2] = PortId::BOTH
        .map(|port| coming.iter().copied().enumerate().filter(|(_, one)| one.port == port).rev().collect());
    let last = Turn { after: 1 << 40, reads: [true; 2] };
    for turn in turns.iter().chain([&last]) {
        now += turn.after;
        for port in PortId::BOTH {
            if !turn.reads[port.index()] {
                continue;
            }
            while let Some((slot, one)) = waiting[port.index()].pop_if(|(_, one)| one.visible <= now) {
                engine.set_received_until(port, one.stamp - 1);
                admit(&mut engine, slot, port, one.stamp, &mut fates);
            }
            engine.set_received_until(port, now);
        }
        take_all(&mut engine, now, &mut fates);
    }
    PortId::BOTH.into_iter().for_each(|port| engine.set_received_until(port, Nanos::MAX));
    take_all(&mut engine, Nanos::MAX, &mut fates);
    fates
}

/// The recorded arrivals in virtual time.
fn offline(config: Config, coming: &[Coming], recorded: &BTreeMap<u32, Admission>) -> Fates {
    let mut engine = Engine::new(config, Limits::growing(), 0);
    let mut arrivals: Vec<(Nanos, usize)> =
        recorded.iter().map(|(slot, one)| (one.arrival, usize::try_from(*slot).unwrap())).collect();
    arrivals.sort_unstable();
    let mut fates = Fates::default();
    for (arrival, slot) in arrivals {
        admit(&mut engine, slot, coming[slot].port, arrival, &mut fates);
    }
    take_all(&mut engine, Nanos::MAX, &mut fates);
    fates
}

/// Packets that come alone, in bursts and with one stamp, some of which come to light late.
fn comings() -> impl Strategy<Value = Vec<Coming>> {
    let gap = prop_oneof![3 => Just(0), 6 => 0..3_000_i64, 1 => 0..100_000_i64];
    let late = prop_oneof![6 => Just(0), 3 => 0..500_i64, 1 => 0..20_000_i64];
    prop::collection::vec((any::<bool>(), gap, late), 1..150).prop_map(|packets| {
        let (mut stamp, mut visible) = (1, [0; 2]);
        let coming = packets.into_iter().map(|(port, gap, late)| {
            let port = if port { PortId::A } else { PortId::B };
            stamp += gap;
            // A port shows its packets in their order.
            let shown: &mut Nanos = &mut visible[port.index()];
            *shown = (stamp + late).max(*shown);
            Coming { port, stamp, visible: *shown }
        });
        coming.collect()
    })
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let after = prop_oneof![1 => Just(0), 6 => 0..4_000_i64, 1 => 0..60_000_i64];
    let reads = prop_oneof![4 => Just(true), 1 => Just(false)];
    let turn = (after, reads.clone(), reads).prop_map(|(after, a, b)| Turn { after, reads: [a, b] });
    prop::collection::vec(turn, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// With every stage, discipline and generator, over the steps of a timeline and at any moments of polling, the arrivals as they
    /// counted give the same fates, delays and departures again. Without stragglers they count by their stamps.
    #[test]
    fn recorded_arrivals_repeat_all_fates(
        base in paths(),
        step in prop::option::of((1..100_000_i64, paths())),
        repeat in prop::option::of(100_000..200_000_i64),
        generator in prop_oneof![Just(Generator::Counter), Just(Generator::Mrg), Just(Generator::Mrg32k3a)],
        coming in comings(),
        turns in turns(),
    ) {
        let mut config_of = Config { generator, ..config(base) };
        if let Some((at, path)) = step {
            config_of.timeline = vec![TimelineStep { at, setting: config(path).base }];
            config_of.repeat = repeat;
        }
        let found = live(config_of.clone(), &coming, &turns);
        prop_assert_eq!(found.0.len(), coming.len());
        for (one, admission) in coming.iter().zip(found.0.values()) {
            prop_assert!(admission.arrival >= one.stamp);
        }
        let replayed = offline(config_of.clone(), &coming, &found.0);
        prop_assert_eq!(&replayed, &found);
        let prompt: Vec<Coming> = coming.iter().map(|one| Coming { visible: one.stamp, ..*one }).collect();
        let (admitted, _) = live(config_of, &prompt, &turns);
        for (one, admission) in prompt.iter().zip(admitted.values()) {
            prop_assert_eq!(admission.arrival, one.stamp);
        }
    }
}
