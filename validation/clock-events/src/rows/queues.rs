//! Queues that hide the clocks: no change of a clock or of a path.

use super::clocks::{clock, rate};
use crate::queue::Queue;
use crate::row::Row;
use crate::world::{Route, World};

pub(super) fn rows() -> Vec<Row> {
    let laws = [("exponential", Queue::Exponential(1e-3)), ("M/M/1 0.8", Queue::Server(0.25e-3, 0.3125e-3))];
    let mut rows = Vec::new();
    for (name, queue) in laws {
        for (direction, full) in [("forward", 0_usize), ("reverse", 1)] {
            rows.push(Row::new(&format!("full queue {direction}, {name} in the other"), move |_, draws| {
                let mut queues = [queue; 2];
                queues[full] = Queue::NeverEmpty(1e-3);
                World { turnaround: None, queues, responder: clock(rate(draws, 50.0)), ..World::default() }
            }));
        }
    }
    for (name, step, slew, route) in
        [("step", 5e-3, 0.0, 0.0), ("slew", 0.0, 2e-4, 0.0), ("path change", 0.0, 0.0, 10e-3)]
    {
        rows.push(Row::new(&format!("{name} with a full queue in one direction"), move |_, draws| {
            let full = if route > 0.0 { 1 } else { draws.pick(&[0_usize, 1]) };
            let mut queues = [Queue::Exponential(1e-3); 2];
            queues[full] = Queue::NeverEmpty(1e-3);
            let mut responder = clock(rate(draws, 50.0));
            responder.steps.extend((step > 0.0).then_some((40.0, step)));
            responder.slews.extend((slew > 0.0).then_some((30.0, slew, 5.0)));
            let routes = (route > 0.0).then_some(Route::new(20.0, 0, route)).into_iter().collect();
            World { turnaround: None, queues, responder, routes, ..World::default() }
        }));
    }
    for (name, is_slew) in [("step", false), ("slew", true)] {
        rows.push(
            Row::new(&format!("{name} with a walking queue forward"), move |_, draws| {
                let mut responder = clock(20e-6);
                if is_slew {
                    responder.slews.push((draws.between(4.0, 50.0), 5e-4, 6.0));
                } else {
                    responder.steps.push((draws.between(6.0, 54.0), draws.pick(&[-18.84e-3, 25e-3])));
                }
                World {
                    turnaround: Some(0.0),
                    base: [0.01, 0.012],
                    queues: [Queue::Walk(40e-3, 0.6e-3, 10e-3, 1e-3), Queue::Exponential(0.3e-3)],
                    responder,
                    ..World::default()
                }
            })
            .within(1.0, 2e-3),
        );
    }
    rows.push(Row::new("no change behind busy queues with losses", |_, draws| World {
        length: 30.0,
        queues: [Queue::OwnServer(14e-3, draws.pick(&[0.0, 50e-6])); 2],
        bursts: Some((0.03 / 0.97 / 8.0, 1.0 / 8.0)),
        responder: clock(12.5e-6),
        ..World::default()
    }));
    rows.push(Row::new("no change near an end, any queue", |_, draws| {
        let queues = [
            Queue::Exponential(2e-3),
            Queue::Pareto(1.5, 2e-3),
            Queue::Bimodal(2e-3),
            Queue::Server(0.22e-3, 0.25e-3),
            Queue::Diurnal(2e-3),
        ];
        World {
            turnaround: None,
            queues: [draws.pick(&queues); 2],
            responder: clock(rate(draws, 50.0)),
            ..World::default()
        }
    }));
    rows
}
