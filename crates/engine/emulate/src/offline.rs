//! Virtual time: recorded arrivals in, departures out, as fast as the processor allows.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::time::SystemTime;

use romer_impair::{Admission, Cause, Engine, Headers, Limits, Nanos, Outcome, Packet, Port};
use romer_record::emulation::{EMULATION, Emulation};
use romer_scenario::Scenario;
use romer_units::random::Seed;

use crate::arrivals::{Arrival, Arrivals};
use crate::departures;
use crate::statistics::Samples;

pub use crate::departures::HEADER;

/// Arrivals later than this count from the first of them: a chain by time need not run through the years before.
const LATE: Nanos = 86_400_000_000_000;

/// A packet whose line is not written yet, because earlier ones or its own copies are still held.
struct Pending {
    arrival: Arrival,
    ordinal: u64,
    owed: u16,
    lines: Vec<Line>,
}

struct Line {
    copy: u8,
    departure: Option<(Nanos, u64)>,
    lost: Option<Cause>,
    requested: Option<Nanos>,
    displacement: u32,
}

/// What one run holds.
struct Run<'w, W: Write> {
    engine: Engine,
    out: &'w mut W,
    pending: VecDeque<Pending>,
    /// The slot of the first one that is pending.
    first: u32,
    ranks: [u64; 2],
    samples: [Samples; 2],
}

impl<W: Write> Run<'_, W> {
    fn arrive(&mut self, arrival: Arrival) -> io::Result<()> {
        let Arrival { time, port, size } = arrival;
        self.poll(time - 1)?;
        let number = u32::try_from(self.pending.len()).map_err(io::Error::other)?;
        let slot = self.first.wrapping_add(number);
        let packet = Packet { slot, port, length: size, arrival: time, headers: Headers::default() };
        let admission = self.engine.admit(&packet);
        let mut lines = Vec::with_capacity(usize::from(admission.outcomes.max(1)));
        if let Some(cause) = admission.lost {
            lines.push(Line {
                copy: 0,
                departure: None,
                lost: Some(cause),
                requested: None,
                displacement: 0,
            });
        }
        let Admission { ordinal, outcomes: owed, .. } = admission;
        self.samples[port.index()].arrived(time, self.engine.held_for(port));
        self.pending.push_back(Pending { arrival, ordinal, owed, lines });
        self.write()
    }

    fn poll(&mut self, now: Nanos) -> io::Result<()> {
        let mut any = false;
        while let Some(outcome) = self.engine.poll(now) {
            self.settle(&outcome);
            any = true;
        }
        if any { self.write() } else { Ok(()) }
    }

    fn settle(&mut self, outcome: &Outcome) {
        let port = outcome.port.index();
        let departure = outcome.lost.is_none().then(|| {
            self.samples[port].left(outcome, outcome.time);
            self.ranks[port] += 1;
            (outcome.time, self.ranks[port] - 1)
        });
        let place = outcome.slot.wrapping_sub(self.first) as usize;
        if let Some(pending) = self.pending.get_mut(place) {
            pending.owed = pending.owed.saturating_sub(1);
            pending.lines.push(Line {
                copy: outcome.copy,
                departure,
                lost: outcome.lost,
                requested: Some(outcome.requested),
                displacement: outcome.displacement,
            });
        }
    }

    /// Writes the lines of all packets at the front that nothing more is to come of.
    fn write(&mut self) -> io::Result<()> {
        while self.pending.front().is_some_and(|pending| pending.owed == 0) {
            let Some(mut pending) = self.pending.pop_front() else { break };
            self.first = self.first.wrapping_add(1);
            pending.lines.sort_by_key(|line| line.copy);
            for line in &pending.lines {
                let Arrival { time, port, size } = pending.arrival;
                let line = departures::Line {
                    ordinal: pending.ordinal,
                    copy: line.copy,
                    port: port.letter(),
                    size,
                    arrival: time,
                    departure: line.departure,
                    lost: line.lost,
                    requested: line.requested,
                    displacement: line.displacement,
                };
                line.write(self.out)?;
            }
        }
        Ok(())
    }
}

fn now() -> String {
    humantime::format_rfc3339_micros(SystemTime::now()).to_string()
}

/// Runs a scenario over recorded arrivals and writes a line for each packet and copy, in order of arrival. Virtual time
/// begins at 0 (or, where the first arrival is more than a day after 0, with it); all that is held leaves in the end.
///
/// # Errors
/// Of `out`.
pub fn run(
    scenario: &Scenario,
    text: &str,
    seed: Seed,
    arrivals: &Arrivals,
    out: &mut impl Write,
) -> io::Result<Emulation> {
    let started = now();
    let first = arrivals.packets.first().map_or(0, |arrival| arrival.time);
    let start = if first > LATE { first } else { 0 };
    let mut config = scenario.config.clone();
    config.seed = Some(seed);
    let generator = config.generator.name().to_owned();
    let mut run = Run {
        engine: Engine::new(config, Limits::growing(), start),
        out,
        pending: VecDeque::new(),
        first: 0,
        ranks: [0; 2],
        samples: Default::default(),
    };
    writeln!(run.out, "{HEADER}")?;
    for arrival in &arrivals.packets {
        run.arrive(*arrival)?;
    }
    run.poll(Nanos::MAX)?;
    run.out.flush()?;
    let [a_to_b, b_to_a] = Port::BOTH.map(|port| {
        run.samples[port.index()].direction(run.engine.ledger(port), run.engine.correlation(port))
    });
    let mut warnings = scenario.notes.clone();
    if arrivals.out_of_order > 0 {
        warnings.push(format!(
            "{} arrivals stood after later ones and were put in order of time",
            arrivals.out_of_order
        ));
    }
    if !scenario.config.flows.is_empty() {
        warnings.push(
            "arrivals in CSV have no headers by which flows are told apart: all took the top level".into(),
        );
    }
    Ok(Emulation {
        schema: EMULATION.into(),
        seed: seed.0,
        generator,
        started,
        ended: now(),
        ended_by: None,
        data_plane: "offline".into(),
        ports: BTreeMap::new(),
        scenario: text.into(),
        a_to_b,
        b_to_a,
        warnings,
    })
}
