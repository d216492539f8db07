//! Clocks that are set.

use super::clocks::{clock, rate};
use crate::draws::Draws;
use crate::queue::Queue;
use crate::row::Row;
use crate::world::{Clock, Departures, Route, World};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = near_ends();
    rows.extend(several());
    rows.extend(behind_queues());
    rows.extend(long_paths());
    rows.extend(in_pauses());
    rows.extend(sizes());
    rows
}

/// A clock with `rate` that is set.
fn set(rate: f64, steps: Vec<(f64, f64)>) -> Clock {
    Clock { steps, ..clock(rate) }
}

/// A run in which the responder's clock is set by 3 ms, or back, at one of these moments.
fn at_moments(name: &str, moments: &'static [f64]) -> Row {
    Row::new(name, |_, draws| {
        let step = (draws.pick(moments), 3e-3 * draws.sign());
        World { turnaround: None, responder: set(rate(draws, 50.0), vec![step]), ..World::default() }
    })
}

/// A step of 3 to 30 ms at some seconds from an end, behind light queues.
fn from_an_end(draws: &mut Draws, length: f64, near: (f64, f64)) -> World {
    let away = draws.between(near.0, near.1);
    let at = if draws.unit() < 0.5 { away } else { length - away };
    let step = (at, draws.between(3e-3, 30e-3) * draws.sign());
    let responder = set(rate(draws, 50.0), vec![step]);
    World { length, turnaround: None, queues: [Queue::Exponential(0.3e-3); 2], responder, ..World::default() }
}

fn near_ends() -> Vec<Row> {
    let full = |draws: &mut Draws| {
        let mut world = from_an_end(draws, 60.0, (0.3, 1.2));
        world.queues[draws.pick(&[0_usize, 1])] = Queue::Walk(40e-3, 0.6e-3, 10e-3, 0.3e-3);
        world
    };
    vec![
        at_moments("step 1 to 3 s from an end", &[1.0, 2.0, 3.0, 57.0, 58.0, 59.0]),
        at_moments("step 0.2 to 0.5 s from an end", &[0.2, 0.3, 0.4, 0.5, 59.5, 59.6, 59.7, 59.8]),
        Row::new("step 0.4 to 1.2 s from an end, light queues", |_, draws| {
            from_an_end(draws, 60.0, (0.4, 1.2))
        }),
        Row::new("step 0.5 to 3 s from an end of 300 s", |_, draws| from_an_end(draws, 300.0, (0.5, 3.0)))
            .at_most(100),
        Row::new("step 2 to 12 s from an end of 1200 s", |_, draws| World {
            departures: Departures::Even(0.01),
            ..from_an_end(draws, 1_200.0, (2.0, 12.0))
        })
        .at_most(20),
        Row::new("step near an end beside a full queue", move |_, draws| full(draws)),
    ]
}

fn several() -> Vec<Row> {
    let close = |name: &str, later: f64| {
        Row::new(name, move |_, draws| {
            let pairs = [(0.02, 0.007), (-0.02, 0.007), (0.005, -0.006), (0.005, 0.006), (-0.1, 0.03)];
            let (responder, sender) = draws.pick(&pairs);
            let at = 30.003;
            World {
                departures: Departures::Uneven(0.02),
                base: [0.01, 0.012],
                queues: [Queue::Exponential(3e-4); 2],
                responder: set(20e-6, vec![(at, responder)]),
                sender: set(0.0, vec![(at + later, sender)]),
                ..World::default()
            }
        })
        .within(0.06, 0.3e-3)
    };
    vec![
        close("two steps 0.2 s apart", 0.2),
        close("two steps 0.07 s apart", 0.07),
        Row::new("one step, light queues", |_, draws| World {
            queues: [Queue::Exponential(3e-4); 2],
            responder: set(20e-6, vec![(30.003, draws.pick(&[3e-3, -20e-3]))]),
            ..World::default()
        }),
        Row::new("two steps 0.6 to 1.5 s apart", |_, draws| {
            let steps = draws.pick(&[
                [(30.0, 5e-3), (30.7, -3e-3)],
                [(30.0, -8e-3), (30.6, 4e-3)],
                [(30.0, 5e-3), (30.7, 3e-3)],
                [(20.0, 3e-3), (21.5, -6e-3)],
            ]);
            World { turnaround: None, responder: set(rate(draws, 50.0), steps.to_vec()), ..World::default() }
        }),
        Row::new("clock away for a second behind busy queues", |_, draws| {
            let (from, ahead) = (draws.between(5.0, 24.0), 0.1 * draws.sign());
            World {
                length: 30.0,
                queues: [Queue::OwnServer(14e-3, 50e-6); 2],
                bursts: Some((0.03 / 0.97 / 8.0, 1.0 / 8.0)),
                responder: set(12.5e-6, vec![(from, ahead), (from + 1.0, -ahead)]),
                ..World::default()
            }
        })
        .within(0.3, 10e-3),
        Row::new("steps and slews at random, 10 min", |_, draws| {
            let mut at = 60.0;
            let mut responder = clock(rate(draws, 50.0));
            while at < 540.0 {
                if draws.unit() < 0.5 {
                    responder.steps.push((at, draws.between(2e-3, 20e-3) * draws.sign()));
                } else {
                    responder.slews.push((
                        at,
                        draws.between(5e-5, 5e-4) * draws.sign(),
                        draws.between(5.0, 20.0),
                    ));
                }
                at += draws.between(60.0, 180.0);
            }
            World { length: 600.0, turnaround: None, responder, ..World::default() }
        })
        .at_most(60),
    ]
}

/// A full queue in one direction, and the step of either clock.
fn behind_full_queue(name: &str, queue: fn(&mut Draws) -> Queue, is_sender: bool) -> Row {
    Row::new(name, move |_, draws| {
        let step = (draws.between(12.0, 48.0), draws.between(8e-3, 20e-3));
        let queues = [queue(draws), Queue::Exponential(0.4e-3)];
        let mut world = World { base: [0.01, 0.012], queues, responder: clock(-30e-6), ..World::default() };
        if is_sender {
            world.sender.steps.push((step.0, -step.1));
        } else {
            world.responder.steps.push(step);
        }
        world
    })
    .within(1.0, 2e-3)
}

fn saw(draws: &mut Draws) -> Queue {
    Queue::Saw(draws.between(80e-3, 130e-3), draws.between(3.0, 7.0), 2e-3)
}

fn walk(draws: &mut Draws) -> Queue {
    Queue::Walk(draws.between(40e-3, 60e-3), 0.6e-3, 10e-3, 1e-3)
}

fn behind_queues() -> Vec<Row> {
    vec![
        behind_full_queue("responder set behind a sawtooth queue", saw, false),
        behind_full_queue("sender set behind a sawtooth queue", saw, true),
        behind_full_queue("responder set behind a walking queue", walk, false),
        behind_full_queue("sender set behind a walking queue", walk, true),
        Row::new("step behind a half-busy queue", |_, draws| {
            let at = draws.pick(&[7.0, 47.0]) + draws.unit();
            World {
                departures: Departures::Poisson(0.03),
                base: [0.04, 0.02],
                queues: [Queue::Server(5e-4, 1e-3); 2],
                responder: set(rate(draws, 50.0), vec![(at, 1e-2 * draws.sign())]),
                ..World::default()
            }
        }),
        Row::new("step back 0.1 s while probes are under way", |_, draws| World {
            length: 120.0,
            base: [0.02; 2],
            queues: [Queue::Exponential(0.4e-3), Queue::Exponential(1.1e-3)],
            responder: set(rate(draws, 50.0), vec![(draws.between(30.0, 90.0), -0.1)]),
            by_responder: true,
            ..World::default()
        }),
    ]
}

/// Ten seconds of packets over paths of 0.1 s each.
fn long_path(draws: &mut Draws) -> World {
    World {
        length: 10.0,
        departures: Departures::Even(0.01),
        turnaround: Some(0.0),
        base: [0.1; 2],
        queues: [Queue::Exponential(3e-4); 2],
        responder: clock(rate(draws, 50.0)),
        ..World::default()
    }
}

fn long_paths() -> Vec<Row> {
    vec![
        Row::new("responder set over a long path", |_, draws| {
            let mut world = long_path(draws);
            world.responder.steps.push((5.3, 5e-3 * draws.sign()));
            world
        }),
        Row::new("sender set over a long path", |_, draws| {
            let mut world = long_path(draws);
            world.sender.steps.push((5.3, 5e-3 * draws.sign()));
            world
        }),
        Row::new("opposite path changes 0.5 s apart over a long path", |_, draws| {
            let (mut world, size) = (long_path(draws), 5e-3 * draws.sign());
            world.routes = vec![Route::new(5.3, 0, size), Route::new(5.8, 1, -size)];
            world
        }),
    ]
}

/// A clock that is set, second by second, while nothing is sent for two seconds.
fn in_pauses() -> Vec<Row> {
    let base = |rate: f64| World {
        length: 30.0,
        departures: Departures::Even(0.03),
        turnaround: Some(0.0),
        base: [0.05, 0.03],
        queues: [Queue::Exponential(5e-4); 2],
        responder: clock(rate),
        ..World::default()
    };
    vec![
        Row::new("clock set by 5 s in a pause of 2 s", move |_, draws| {
            let mut world = base(20e-6);
            world.silences = vec![(15.0, 17.0)];
            match draws.pick(&[0, 1, 2]) {
                0 => world.responder.steps.push((16.0, -5.0)),
                1 => world.responder.steps.push((16.0, 5.0)),
                _ => world.sender.steps.push((16.0, 5.0)),
            }
            world
        })
        .within(2.0, 1e-3),
        Row::new("sender set ahead by 10 s or an hour", move |_, draws| {
            let mut world = base(30e-6);
            world.sender.steps.push((14.99, draws.pick(&[10.0, 3_600.0])));
            world
        }),
        Row::new("either clock set by 0.1 s at 400 ppm", move |_, draws| {
            let mut world = base(4e-4);
            if draws.unit() < 0.5 {
                world.sender.steps.push((14.99, 0.1));
            } else {
                world.responder.steps.push((14.99, draws.pick(&[0.1, -0.02])));
            }
            world
        }),
    ]
}

fn sizes() -> Vec<Row> {
    let laws = [
        ("exponential", Queue::Exponential(5e-5)),
        ("gamma 2", Queue::Gamma(2, 5e-5)),
        ("bursts", Queue::Bursts(5e-5)),
    ];
    let mut rows = Vec::new();
    for (name, queue) in laws {
        for is_one_way in [false, true] {
            let ways = if is_one_way { "one way" } else { "both ways" };
            rows.push(
                Row::new(&format!("step of 0.5 or 20 ms, {name}, {ways}"), move |_, draws| {
                    let step = (draws.between(15.0, 45.0), draws.pick(&[5e-4, -2e-2]));
                    let departures = draws.pick(&[Departures::Even(0.02), Departures::Poisson(0.02)]);
                    let responder = set(rate(draws, 50.0), vec![step]);
                    World {
                        departures,
                        turnaround: Some(0.0),
                        queues: [queue; 2],
                        responder,
                        is_one_way,
                        ..World::default()
                    }
                })
                .within(0.3, 0.1e-3),
            );
        }
    }
    rows
}
