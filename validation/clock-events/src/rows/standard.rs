//! The scenarios of `romer-sim`: S1 to S15, two more of S1, and those drawn at random.

use romer_sim::clocks::{Scenario, random_scenario, standard_scenarios};

use crate::draws::nanos;
use crate::play::{Change, Kind, Play, Probe};
use crate::row::Row;

/// The sender's clock when a scenario begins, seconds.
const BEGIN: f64 = 10.0;

pub(super) fn rows() -> Vec<Row> {
    let mut scenarios = standard_scenarios();
    scenarios.push(Scenario { name: "S1 at 10 ms".into(), interval: 0.01, ..Scenario::default() });
    scenarios.push(Scenario { name: "S1 over 120 s".into(), length: 120.0, ..Scenario::default() });
    let mut rows: Vec<Row> = scenarios.into_iter().map(standard).collect();
    rows.push(Row::of_plays("drawn at random", |seed| play(&random_scenario(seed), seed)));
    rows
}

fn standard(scenario: Scenario) -> Row {
    let is_long = scenario.length / scenario.interval > 20_000.0;
    let is_refused = scenario.name.starts_with("S6 ");
    let row = Row::of_plays(&scenario.name.clone(), move |seed| play(&scenario, seed));
    let row = if is_refused { row.without_rate() } else { row };
    if is_long { row.at_most(40) } else { row }
}

fn play(scenario: &Scenario, seed: u32) -> Play {
    let play = scenario.play(seed);
    let [forward, reverse] = &play.probes;
    let probes = [(forward, 1.0), (reverse, -1.0)].map(|(probes, sign)| {
        let each = probes.iter().map(|probe| Probe {
            departure_ns: probe.departure_ns,
            arrival_ns: probe.arrival_ns,
            delay_ns: (probe.arrival_ns - probe.departure_ns) as f64 - sign * probe.ahead_ns,
            ahead_ns: probe.ahead_ns,
        });
        each.collect()
    });
    Play { probes, skew_ppm: play.skew_ppm, changes: changes(scenario) }
}

fn changes(scenario: &Scenario) -> Vec<Change> {
    let at_once = |kind, at: f64, size: f64| Change {
        kind,
        from_ns: [nanos(BEGIN + at); 2],
        until_ns: None,
        size_ns: size * 1e9,
    };
    let clock = &scenario.clock;
    let mut changes: Vec<Change> =
        clock.steps.iter().map(|(at, size)| at_once(Kind::ClockStep, *at, *size)).collect();
    changes.extend(clock.slews.iter().map(|(from, rate, lasts)| Change {
        until_ns: Some(nanos(BEGIN + from + lasts)),
        ..at_once(Kind::Slew, *from, rate * lasts)
    }));
    for (at, forward, reverse) in &scenario.routes {
        for (kind, longer) in [(Kind::PathForward, *forward), (Kind::PathReverse, *reverse)] {
            if longer != 0.0 {
                changes.push(at_once(kind, *at, longer));
            }
        }
    }
    changes.sort_by_key(|change| change.from_ns[0]);
    changes
}
