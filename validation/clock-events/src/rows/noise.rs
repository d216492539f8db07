//! Stamps and delays without a firm floor: coarse stamps, noise of both signs, packets that stand alone.

use super::clocks::{clock, rate};
use crate::draws::Draws;
use crate::queue::Queue;
use crate::row::Row;
use crate::world::{Departures, Route, World};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = coarse();
    rows.extend(soft());
    rows.extend(alone());
    for (name, deviation) in [("100 ns", 1e-7), ("nothing", 0.0)] {
        rows.push(Row::new(&format!("floor that wanders by {name}, one clock"), move |_, _| World {
            length: 5.0,
            departures: Departures::Even(5e-3),
            turnaround: None,
            base: [2e-6; 2],
            queues: [Queue::WanderingFloor(deviation, 2e-7); 2],
            ..World::default()
        }));
    }
    rows
}

/// A run with stamps in whole units, seconds.
#[derive(Clone, Copy)]
struct Coarse {
    unit: f64,
    wait: f64,
    length: f64,
    interval: f64,
    most_ppm: f64,
}

impl Coarse {
    fn world(self, draws: &mut Draws, is_one_way: bool) -> World {
        World {
            length: self.length,
            departures: draws.pick(&[Departures::Even(self.interval), Departures::Uneven(self.interval)]),
            turnaround: None,
            queues: [Queue::Exponential(self.wait); 2],
            unit: self.unit,
            responder: clock(rate(draws, self.most_ppm)),
            is_one_way,
            ..World::default()
        }
    }
}

fn coarse() -> Vec<Row> {
    let millisecond = Coarse { unit: 1e-3, wait: 1e-3, length: 60.0, interval: 0.02, most_ppm: 60.0 };
    let microsecond = Coarse { unit: 1e-6, wait: 0.0, length: 20.0, interval: 0.01, most_ppm: 2.0 };
    let cases = [
        ("stamps of 1 ms", millisecond),
        ("stamps of 1 ms over 5 s", Coarse { length: 5.0, most_ppm: 20.0, ..millisecond }),
        ("stamps of 1 us, no queues", microsecond),
        ("stamps of 1 us, no queues, nearly one rate", Coarse { most_ppm: 0.04, ..microsecond }),
        ("stamps of 10 ms over 400 s", Coarse { unit: 1e-2, length: 400.0, most_ppm: 30.0, ..millisecond }),
    ];
    let mut rows = Vec::new();
    for (name, case) in cases {
        for (ways, is_one_way) in [("both ways", false), ("one way", true)] {
            let most = if case.length > 100.0 { 40 } else { 100 };
            let row = Row::new(&format!("{name}, {ways}"), move |_, draws| case.world(draws, is_one_way));
            rows.push(row.at_most(most));
        }
    }
    rows.push(
        Row::new("stamps of 10 ms to 1 s", move |_, draws| {
            let unit = draws.pick(&[1e-2, 15.625e-3, 1.0]);
            let wait = draws.pick(&[20e-6, 1e-3]);
            let is_one_way = draws.unit() < 0.5;
            Coarse { unit, wait, most_ppm: 30.0, ..millisecond }.world(draws, is_one_way)
        })
        .without_rate()
        .at_most(100),
    );
    rows.push(
        Row::new("path change of 8 units, stamps of 1 ms, one way", move |_, draws| World {
            routes: vec![Route::new(30.0, 0, 8e-3)],
            ..millisecond.world(draws, true)
        })
        .within(0.5, 2e-3)
        .at_most(100),
    );
    rows
}

fn soft() -> Vec<Row> {
    let laws = [
        ("normal", Queue::Normal(1e-3)),
        ("lognormal", Queue::Lognormal(2e-3)),
        ("gamma 5", Queue::Gamma(5, 2.25e-3)),
        ("gamma 2", Queue::Gamma(2, 1.4e-3)),
        ("uniform", Queue::Uniform(3.5e-3)),
    ];
    let mut rows = Vec::new();
    let world = |draws: &mut Draws, queue: Queue, is_one_way: bool| World {
        turnaround: Some(0.0),
        base: [10e-3; 2],
        queues: [queue; 2],
        responder: clock(rate(draws, 50.0)),
        is_one_way,
        ..World::default()
    };
    for (name, queue) in laws {
        for (ways, is_one_way) in [("both ways", false), ("one way", true)] {
            rows.push(
                Row::new(&format!("{name} delays, {ways}"), move |_, draws| world(draws, queue, is_one_way))
                    .at_most(100),
            );
            rows.push(
                Row::new(&format!("path change of 3 ms, {name} delays, {ways}"), move |_, draws| World {
                    routes: vec![Route::new(30.0, 0, 3e-3)],
                    ..world(draws, queue, is_one_way)
                })
                .within(1.0, 1e-3)
                .at_most(100),
            );
        }
    }
    for share in [0.9, 0.97] {
        rows.push(
            Row::new(&format!("normal delays that keep {share}"), move |_, draws| {
                world(draws, Queue::DependentNormal(share, 1e-3), false)
            })
            .at_most(100),
        );
    }
    for share in [0.97, 0.99] {
        rows.push(
            Row::new(&format!("lognormal delays that keep {share}, one way"), move |_, draws| {
                world(draws, Queue::DependentLognormal(share, 1e-3), true)
            })
            .at_most(100),
        );
    }
    rows
}

fn alone() -> Vec<Row> {
    type Case = (&'static str, &'static [f64], Option<(f64, f64)>);
    let cases: [Case; 6] = [
        ("one packet 2 s before the others", &[-2.0], None),
        ("one packet 60 s before the others", &[-60.0], None),
        ("one packet 600 s before the others", &[-600.0], None),
        ("one packet 2 s after the others", &[62.0], None),
        ("first 2 s but one lost", &[0.0], Some((0.0, 2.0))),
        ("one packet amid a pause of 20 s", &[30.0], Some((20.0, 40.0))),
    ];
    let mut rows = Vec::new();
    for (name, single, silence) in cases {
        for (ways, is_one_way) in [("both ways", false), ("one way", true)] {
            rows.push(
                Row::new(&format!("{name}, {ways}"), move |_, draws| World {
                    single: single.to_vec(),
                    silences: silence.into_iter().collect(),
                    responder: clock(rate(draws, 50.0)),
                    is_one_way,
                    ..World::default()
                })
                .at_most(100),
            );
        }
    }
    rows
}
