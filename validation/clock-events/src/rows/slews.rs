//! Clocks that are slewed.

use std::f64::consts::TAU;

use super::clocks::{clock, rate};
use crate::draws::Draws;
use crate::queue::Queue;
use crate::row::Row;
use crate::world::{Clock, Departures, Route, World};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = plain();
    rows.extend(beside_steps());
    rows.extend(cut_off());
    rows.extend(hidden());
    rows
}

/// A clock with `rate` that is slewed.
fn slewed(rate: f64, slews: Vec<(f64, f64, f64)>) -> Clock {
    Clock { slews, ..clock(rate) }
}

fn plain() -> Vec<Row> {
    let short = |name: &str, mean: f64, is_step: bool| {
        Row::new(name, move |_, draws| {
            let (at, lasts) = (draws.between(120.0, 480.0), draws.between(1.0, 4.0));
            let slew = 5e-4 * draws.sign();
            let mut responder = clock(rate(draws, 50.0));
            if is_step {
                responder.steps.push((at, slew * lasts));
            } else {
                responder.slews.push((at, slew, lasts));
            }
            let departures = Departures::Even(0.05);
            World {
                length: 600.0,
                departures,
                turnaround: None,
                queues: [Queue::Exponential(mean); 2],
                responder,
                ..World::default()
            }
        })
        .within(0.5, 0.2e-3)
        .at_most(100)
    };
    vec![
        Row::new("slew behind a half-busy queue", |_, draws| {
            let from = draws.pick(&[7.0, 47.0]) + draws.unit();
            let responder = slewed(rate(draws, 50.0), vec![(from, 2.5e-3 * draws.sign(), 4.0)]);
            World {
                departures: Departures::Poisson(0.03),
                base: [0.04, 0.02],
                queues: [Queue::Server(5e-4, 1e-3); 2],
                responder,
                ..World::default()
            }
        }),
        Row::new("slew 500 ppm for 1.5 to 3.5 s", |_, draws| {
            let slew = (draws.between(10.0, 100.0), 5e-4 * draws.sign(), draws.between(1.5, 3.5));
            let queue = Queue::Exponential(draws.pick(&[5e-5, 2e-4]));
            World {
                length: 120.0,
                departures: Departures::Even(0.01),
                turnaround: Some(0.0),
                base: [4e-3; 2],
                queues: [queue; 2],
                responder: slewed(rate(draws, 50.0), vec![slew]),
                ..World::default()
            }
        })
        .within(0.0, 0.1e-3),
        Row::new("slew 100 to 500 ppm for 2 to 12 s", |_, draws| {
            let slew = (
                draws.between(6.0, 40.0),
                draws.pick(&[1e-4, 2e-4, 5e-4]) * draws.sign(),
                draws.between(2.0, 12.0),
            );
            let wait = draws.pick(&[5e-5, 2e-4, 5e-4]);
            World {
                departures: draws.pick(&[Departures::Even(0.03), Departures::Poisson(0.03)]),
                base: [draws.between(2e-4, 6e-2), draws.between(2e-4, 6e-2)],
                queues: [Queue::Gamma(draws.pick(&[1, 2]), wait); 2],
                responder: slewed(rate(draws, 60.0), vec![slew]),
                ..World::default()
            }
        }),
        Row::new("slew 200 ppm for 10 s, light queues", |_, draws| {
            let slew = (draws.between(12.0, 36.0), 2e-4, 10.0);
            let departures = draws.pick(&[Departures::Even(0.02), Departures::Poisson(0.02)]);
            let responder = slewed(rate(draws, 50.0), vec![slew]);
            World {
                departures,
                turnaround: Some(0.0),
                queues: [Queue::Exponential(5e-5); 2],
                responder,
                ..World::default()
            }
        }),
        short("slew of 1 to 4 s in 600 s, no queues", 2e-6, false),
        short("step of the same size in 600 s, no queues", 2e-6, true),
        short("slew of 1 to 4 s in 600 s, light queues", 1e-4, false),
        short("step of the same size in 600 s, light queues", 1e-4, true),
        Row::new("steered at 0.2 to 8.33 %", |_, draws| {
            let rate = draws.pick(&[0.002, -0.01, 0.0833, -0.0833]);
            World { responder: clock(rate), ..World::default() }
        }),
    ]
}

/// A slew and a step some seconds after it or before it, with losses.
fn beside_step(draws: &mut Draws, is_after: bool) -> World {
    let (length, queue) = draws.pick(&[
        (60.0, Queue::Pareto(1.8, 1e-3)),
        (120.0, Queue::Exponential(1e-3)),
        (120.0, Queue::Pareto(1.8, 1e-3)),
    ]);
    let gap = draws.pick(&[1.0, 2.0, 3.0, 5.0]);
    let at = length / 2.0;
    let step = (if is_after { at + 5.0 + gap } else { at - gap }, draws.pick(&[2e-3, 5e-3]) * draws.sign());
    let slews = vec![(at, 2e-4 * draws.sign(), 5.0)];
    let responder = Clock { steps: vec![step], slews, ..clock(rate(draws, 50.0)) };
    World {
        length,
        turnaround: None,
        queues: [queue; 2],
        bursts: Some((0.01, 0.2)),
        responder,
        ..World::default()
    }
}

fn beside_steps() -> Vec<Row> {
    vec![
        Row::new("step 1 to 5 s after a slew", |_, draws| beside_step(draws, true)),
        Row::new("step 1 to 5 s before a slew", |_, draws| beside_step(draws, false)),
        Row::new("step 0.5 s after a slew", |_, draws| {
            let responder =
                Clock { steps: vec![(35.5, 6e-3)], ..slewed(rate(draws, 50.0), vec![(30.0, 2e-4, 5.0)]) };
            World { turnaround: None, responder, ..World::default() }
        }),
        Row::new("path change 2 s after a slew", |_, draws| {
            let size = 2e-3 * draws.sign();
            World {
                length: 120.0,
                turnaround: None,
                bursts: Some((0.01, 0.2)),
                responder: slewed(rate(draws, 50.0), vec![(60.0, -size / 10.0, 5.0)]),
                routes: vec![Route::new(67.0, 0, size)],
                ..World::default()
            }
        }),
    ]
}

/// A slew up to an end, or from one.
fn at_an_end(draws: &mut Draws, (length, mean): (f64, f64), share: (f64, f64), ppm: (f64, f64)) -> World {
    let lasts = length * draws.between(share.0, share.1);
    let from = if draws.unit() < 0.5 { 0.0 } else { length - lasts };
    let slew = (from, draws.between(ppm.0, ppm.1) * 1e-6 * draws.sign(), lasts);
    let responder = slewed(rate(draws, 50.0), vec![slew]);
    World { length, turnaround: None, queues: [Queue::Exponential(mean); 2], responder, ..World::default() }
}

fn cut_off() -> Vec<Row> {
    let mut rows = vec![
        Row::new("slew cut off by an end of 60 s", |_, draws| {
            at_an_end(draws, (60.0, 0.3e-3), (0.0625, 0.2), (100.0, 500.0))
        }),
        Row::new("slew cut off by an end of 300 s", |_, draws| {
            at_an_end(draws, (300.0, 1e-3), (0.0625, 0.2), (100.0, 500.0))
        })
        .at_most(100),
        Row::new("slew 200 ppm cut off by an end, long waits", |_, draws| {
            at_an_end(draws, (60.0, 1e-3), (0.1, 14.0 / 60.0), (200.0, 200.0))
        }),
        Row::new("slew 200 ppm for 2 s at an end, long waits", |_, draws| {
            at_an_end(draws, (60.0, 1e-3), (2.0 / 60.0, 2.0 / 60.0), (200.0, 200.0))
        }),
        Row::new("slew 10 ppm for 9 s at an end of 300 s", |_, draws| {
            at_an_end(draws, (300.0, 0.2e-3), (0.03, 0.03), (10.0, 10.0))
        })
        .within(3.0, 50e-6)
        .at_most(100),
        Row::new("slew cut off by an end, one way", |_, draws| World {
            is_one_way: true,
            ..at_an_end(draws, (60.0, 0.3e-3), (0.0625, 0.2), (100.0, 500.0))
        }),
    ];
    for (length, mean) in [(60.0, 0.3e-3), (300.0, 1e-3)] {
        for part in [0.5, 0.7, 0.9] {
            let at_end =
                move |draws: &mut Draws| at_an_end(draws, (length, mean), (part, part), (100.0, 400.0));
            let within = move |draws: &mut Draws| {
                let mut world = at_end(draws);
                let from = length * (1.0 - part) * draws.between(0.35, 0.65);
                world.responder.slews[0].0 = from;
                world
            };
            let most = if length > 100.0 { 40 } else { 100 };
            rows.push(
                Row::new(&format!("slew of {part} of {length} s, within"), move |_, draws| within(draws))
                    .without_rate()
                    .at_most(most),
            );
            rows.push(
                Row::new(&format!("slew of {part} of {length} s, at an end"), move |_, draws| at_end(draws))
                    .without_rate()
                    .at_most(most),
            );
        }
    }
    rows
}

fn hidden() -> Vec<Row> {
    let hides = |name: &str, size: f64| {
        Row::new(name, move |_, draws| World {
            departures: Departures::Even(0.05),
            turnaround: Some(0.0),
            queues: [Queue::Exponential(1e-3), Queue::Gamma(2, 1e-3)],
            responder: slewed(
                rate(draws, 50.0),
                vec![(18.0, size / 6.0 * draws.sign(), 6.0); usize::from(size > 0.0)],
            ),
            ..World::default()
        })
        .within(2.0, 0.3e-3)
    };
    let slight = |name: &str, wait: f64| {
        Row::new(name, move |_, draws| {
            let lasts = draws.between(1.0, 25.0);
            let size = draws.between(10e-6, 25e-6) * draws.sign();
            let slew = (draws.between(3.0, 57.0 - lasts), size / lasts, lasts);
            World {
                departures: Departures::Even(draws.pick(&[0.02, 0.05, 0.1])),
                turnaround: Some(0.0),
                base: [2e-3, 3e-3],
                queues: [Queue::Exponential(wait * draws.between(1.0, 6.0)); 2],
                responder: slewed(rate(draws, 50.0), vec![slew]),
                ..World::default()
            }
        })
        .within(3.0, 10e-6)
    };
    vec![
        hides("slew of 0.6 ms that both directions hide", 0.6e-3),
        hides("the same without a slew", 0.0),
        Row::new("slew that hides in dependent waits", |_, draws| {
            let (slew, lasts) = draws.pick(&[(1e-4, 5.0), (2e-4, 5.0), (4e-4, 2.5)]);
            let slew = (draws.between(8.0, 43.0), slew * draws.sign(), lasts);
            World {
                base: [draws.pick(&[5e-3, 100e-6]); 2],
                queues: [Queue::DependentSquare(0.9, 1e-3); 2],
                responder: slewed(30e-6, vec![slew]),
                ..World::default()
            }
        })
        .within(1.0, 0.3e-3),
        slight("slew of 10 to 25 us, waits of 50 to 300 us", 5e-5),
        slight("slew of 10 to 25 us, waits of 10 to 60 us", 1e-5),
        Row::new("slew of 20 to 60 us in 120 s", |_, draws| {
            let lasts = draws.between(5.0, 30.0);
            let size = draws.between(20e-6, 60e-6) * draws.sign();
            let responder = slewed(0.17e-6, vec![(draws.between(10.0, 110.0 - lasts), size / lasts, lasts)]);
            World {
                length: 120.0,
                turnaround: Some(0.0),
                base: [2e-3, 3e-3],
                queues: [Queue::Exponential(1e-4); 2],
                responder,
                ..World::default()
            }
        })
        .within(3.0, 20e-6),
        Row::new("rate that swings by up to 1 ppm, 600 s", |_, draws| {
            let swing = (draws.between(0.1e-6, 1e-6), draws.between(300.0, 2_400.0), draws.between(0.0, TAU));
            wandering(draws, |clock| clock.swing = Some(swing))
        })
        .at_most(60),
        Row::new("rate that walks at random, 600 s", |_, draws| wandering(draws, |clock| clock.walk = 1e-8))
            .at_most(60),
    ]
}

/// Ten minutes of a clock whose rate wanders.
fn wandering(draws: &mut Draws, wander: impl FnOnce(&mut Clock)) -> World {
    let mut responder = clock(rate(draws, 50.0));
    wander(&mut responder);
    let queue = draws.pick(&[Queue::Exponential(1e-4), Queue::DependentSquare(0.9, 1e-3)]);
    World {
        length: 600.0,
        departures: Departures::Even(0.05),
        turnaround: Some(0.0),
        queues: [queue; 2],
        responder,
        ..World::default()
    }
}
