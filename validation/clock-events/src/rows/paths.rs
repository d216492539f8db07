//! Paths that change.

use super::clocks::{clock, rate};
use crate::queue::Queue;
use crate::row::Row;
use crate::world::{Clock, Departures, Route, World};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = vec![
        Row::new("path change near an end", |_, draws| {
            let at = draws.pick(&[0.3, 1.0, 2.0, 58.0, 59.0, 59.7]);
            let (forward, reverse) = draws.pick(&[(3e-3, 0.0), (0.0, -3e-3), (3e-3, 3e-3)]);
            let both = [Route::new(at, 0, forward), Route::new(at, 1, reverse)];
            World {
                turnaround: None,
                responder: clock(rate(draws, 50.0)),
                routes: both.into_iter().filter(|route| route.longer != 0.0).collect(),
                ..World::default()
            }
        }),
        Row::new("path changes that lengthen the round trip", |_, draws| {
            let size = draws.pick(&[1e-3, 2e-3, 3e-3]) * draws.sign();
            let gap = draws.pick(&[2.0, 3.0, 4.0, 5.0]);
            World {
                turnaround: None,
                queues: [draws.pick(&[Queue::Exponential(1e-3), Queue::Pareto(1.8, 1e-3)]); 2],
                bursts: Some((0.01, 0.2)),
                responder: clock(rate(draws, 50.0)),
                routes: vec![
                    Route::new(30.0, 0, size),
                    Route::new(30.0 + gap, 1, -1.5 * size),
                    Route::new(30.0 + 2.0 * gap, 0, -size),
                    Route::new(30.0 + 2.0 * gap, 1, 0.3 * size),
                ],
                ..World::default()
            }
        }),
        Row::new("path change in an hour of wander", |_, draws| {
            let wait = 1e-4 * 10_f64.powf(draws.unit());
            let swing = Some((1e-7, 1_200.0, 0.0));
            let route =
                Route::new(draws.between(600.0, 3_000.0), draws.pick(&[0, 1]), draws.pick(&[0.01, -0.004]));
            World {
                length: 3_600.0,
                departures: Departures::Even(0.1),
                turnaround: Some(0.0),
                base: [0.01, 0.012],
                queues: [Queue::Exponential(wait); 2],
                responder: Clock { swing, ..clock(rate(draws, 30.0)) },
                routes: vec![route],
                ..World::default()
            }
        })
        .within(0.15, 0.2e-3)
        .at_most(24),
        Row::new("path change behind a full queue", |_, draws| {
            let full = draws.pick(&[Queue::Saw(100e-3, 5.0, 2e-3), Queue::Walk(50e-3, 0.6e-3, 10e-3, 1e-3)]);
            World {
                base: [0.01, 0.012],
                queues: [full, Queue::Exponential(0.4e-3)],
                responder: clock(-30e-6),
                routes: vec![Route::new(draws.between(12.0, 48.0), 1, draws.between(8e-3, 20e-3))],
                ..World::default()
            }
        })
        .within(1.0, 2e-3),
        Row::new("opposite changes of both paths at once", |_, draws| {
            let (at, size) = (draws.between(15.0, 45.0), draws.between(2e-3, 10e-3) * draws.sign());
            World {
                turnaround: None,
                responder: clock(rate(draws, 50.0)),
                routes: vec![Route::new(at, 0, size), Route::new(at, 1, -1.3 * size)],
                ..World::default()
            }
        }),
    ];
    for (ways, both) in [("forward", false), ("both ways", true)] {
        rows.push(Row::new(&format!("delay that grows up to the end, {ways}"), move |_, draws| {
            let growing = Queue::Growing(0.3e-3, 52.0, 3e-4);
            let queues = [growing, if both { growing } else { Queue::Exponential(0.3e-3) }];
            World { turnaround: None, queues, responder: clock(rate(draws, 50.0)), ..World::default() }
        }));
    }
    for (name, size, lasts) in [("1.2 s in 2.2 s", 1.2, 2.2), ("-2.9 s in 8 s", -2.9, 8.0)] {
        rows.push(
            Row::new(&format!("delay that changes by {name}, one way"), move |_, draws| World {
                base: [5.0; 2],
                queues: [Queue::Exponential(3e-4); 2],
                responder: clock(rate(draws, 50.0)),
                routes: vec![Route { at: 20.0, direction: 0, longer: size, lasts }],
                is_one_way: true,
                ..World::default()
            })
            .at_most(60),
        );
    }
    rows
}
