//! Virtual time: recorded arrivals in, departures out, as fast as the processor allows.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::time::SystemTime;

use romer_host::clock::rfc3339;
use romer_impair::{Admission, Cause, Engine, Headers, Limits, Nanos, Outcome, Packet, PortId};
use romer_record::emulation::{EMULATION, Emulation, PortDirection};
use romer_record::warning::EmulationWarning;
use romer_scenario::Scenario;
use romer_units::random::Seed;

use crate::arrivals::{Arrival, Arrivals};
use crate::departures::{DepartureLine, DepartureSink, TextSink};
use crate::statistics::{Samples, flushed_early, too_alike, unsupported, varies_less};

pub use crate::departures::HEADER;

/// Arrivals later than this count from the first of them: these are times of day.
const TIME_OF_DAY_THRESHOLD: Nanos = 86_400_000_000_000;

/// A packet whose line is not written yet, because earlier ones or its own copies are still held.
struct Pending {
    arrival: Arrival,
    ordinal: u64,
    owed: u16,
    lines: Vec<QueuedLine>,
}

struct QueuedLine {
    copy: u8,
    departure: Option<(Nanos, u64)>,
    lost: Option<Cause>,
    requested: Option<Nanos>,
    displacement: u32,
}

/// What one run holds.
struct OfflineRun<'w, S: DepartureSink> {
    engine: Engine,
    sink: &'w mut S,
    pending: VecDeque<Pending>,
    /// The slot of the first one that is pending.
    first: u32,
    ranks: [u64; 2],
    samples: [Samples; 2],
}

impl<S: DepartureSink> OfflineRun<'_, S> {
    fn arrive(&mut self, arrival: Arrival, headers: Headers) -> io::Result<()> {
        let Arrival { time, port, size, network_length, .. } = arrival;
        self.poll(time - 1)?;
        let number = u32::try_from(self.pending.len()).map_err(io::Error::other)?;
        let slot = self.first.wrapping_add(number);
        let packet = Packet { slot, port, length: size, network_length, arrival: time, headers };
        let held = self.engine.held_for(port);
        let admission = self.engine.admit(&packet);
        let mut lines = Vec::with_capacity(usize::from(admission.outcomes.max(1)));
        if let Some(cause) = admission.lost {
            lines.push(QueuedLine {
                copy: 0,
                departure: None,
                lost: Some(cause),
                requested: None,
                displacement: 0,
            });
        }
        let Admission { ordinal, outcomes: owed, .. } = admission;
        self.samples[port.index()].arrived(time, held);
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

    /// Loses what no setting lets leave.
    fn shut_down(&mut self, now: Nanos) -> io::Result<()> {
        while let Some(outcome) = self.engine.shut_down(now) {
            self.settle(&outcome);
        }
        self.write()
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
            pending.lines.push(QueuedLine {
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
                let Arrival { time, port, size, .. } = pending.arrival;
                self.sink.put(&DepartureLine {
                    ordinal: pending.ordinal,
                    copy: line.copy,
                    port: port.letter(),
                    size,
                    arrival: time,
                    departure: line.departure,
                    lost: line.lost,
                    requested: line.requested,
                    displacement: line.displacement,
                })?;
            }
        }
        Ok(())
    }
}

/// Runs a scenario over recorded arrivals and writes a line for each packet and copy, as [`emulate`] gives them.
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
    let document = emulate(scenario, text, seed, arrivals, &mut TextSink::new(out)?)?;
    out.flush()?;
    Ok(document)
}

/// Runs a scenario over recorded arrivals and gives each packet and copy to `sink`, in order of arrival. Virtual time
/// begins when the arrivals say that the network began; else at 0 or, where the first arrival is more than a day after 0,
/// with it. All that is held leaves in the end; what can never leave is lost at the last arrival.
///
/// # Errors
/// Of `sink`.
pub fn emulate(
    scenario: &Scenario,
    text: &str,
    seed: Seed,
    arrivals: &Arrivals,
    sink: &mut impl DepartureSink,
) -> io::Result<Emulation> {
    let started = rfc3339(SystemTime::now());
    let first = arrivals.packets.first().map_or(0, |arrival| arrival.time);
    let began = arrivals.began.filter(|began| *began <= first);
    let start = began.unwrap_or(if first > TIME_OF_DAY_THRESHOLD { first } else { 0 });
    let mut config = scenario.config.clone();
    config.seed = Some(seed);
    let generator = config.generator.name().to_owned();
    let mut run = OfflineRun {
        engine: Engine::new(config, Limits::growing(), start),
        sink,
        pending: VecDeque::new(),
        first: 0,
        ranks: [0; 2],
        samples: Default::default(),
    };
    for arrival in &arrivals.packets {
        run.arrive(*arrival, arrivals.headers_of(arrival))?;
    }
    run.poll(Nanos::MAX)?;
    run.shut_down(arrivals.packets.last().map_or(start, |arrival| arrival.time))?;
    let [a_to_b, b_to_a] = PortId::BOTH.map(|port| {
        run.samples[port.index()].direction(run.engine.ledger(port), run.engine.correlation(port))
    });
    let mut warnings = scenario.notes.clone();
    if arrivals.out_of_order > 0 {
        warnings.push(EmulationWarning::ArrivalsSorted { packets: arrivals.out_of_order });
    }
    warnings.extend(arrivals.notes.iter().cloned());
    if !scenario.config.flows.is_empty() && !arrivals.has_headers() {
        warnings.push(EmulationWarning::ArrivalsWithoutHeaders);
    }
    for (leg, port) in [PortDirection::AToB, PortDirection::BToA].into_iter().zip(PortId::BOTH) {
        warnings.extend(too_alike(leg, run.engine.correlation(port)));
        warnings.extend(varies_less(leg, run.engine.correlation(port)));
        warnings.extend(flushed_early(leg, run.engine.ledger(port)));
        let between = if port == PortId::A { &a_to_b } else { &b_to_a };
        let supported = &scenario.about.supported;
        warnings.extend(unsupported(leg, supported, run.engine.ledger(port), &between.inter_arrival_ns));
    }
    if a_to_b.received == 0 && b_to_a.received == 0 {
        warnings.push(EmulationWarning::NoArrivals);
    }
    Ok(Emulation {
        schema: EMULATION.into(),
        seed: seed.0,
        generator,
        started,
        ended: rfc3339(SystemTime::now()),
        ended_by: None,
        data_plane: "offline".into(),
        ports: BTreeMap::new(),
        scenario: text.into(),
        impairments_off_since: None,
        changes: Vec::new(),
        refits: Vec::new(),
        a_to_b,
        b_to_a,
        warnings,
    })
}

#[cfg(test)]
mod tests {
    use romer_impair::config::{Corrupt, DEFAULT_FLUSH, Delay, Duplicate, Model, Order, Reorder, Variable};
    use romer_impair::{Config, Decision, DelayDistribution, Path};

    use super::*;

    /// Packets of each port; `make soak` asks for ten millions by `ROMER_FATES`.
    const PACKETS: u64 = 500_000;
    /// FNV-1a of all fates of [`PACKETS`] packets at either port, on every machine. Whoever changes it changes every run
    /// that was ever printed with a seed.
    const HASHES: [u64; 2] = [14_273_413_953_660_379_765, 12_432_634_386_205_698_864];

    /// Every stage at once.
    fn config() -> Config {
        let bernoulli = |probability| Decision::Bernoulli { probability };
        let path = Path {
            loss: Model::Plain(Decision::GilbertElliott { p: 0.01, r: 0.25, good: 0.0, bad: 1.0 }),
            duplicate: Model::Plain(Duplicate { decision: bernoulli(0.02), delay: 30_000 }),
            reorder: Model::Plain(Reorder { decision: bernoulli(0.01), ..Reorder::default() }),
            flush: DEFAULT_FLUSH,
            delay: Model::Plain(Delay {
                fixed: 1_000_000,
                variable: Some(Variable::new(DelayDistribution::Gamma { shape: 2.0, scale: 1e5 }, None)),
            }),
            order: Order::Independent,
            corrupt: Corrupt { decision: bernoulli(0.001), bits: 3, repair_checksum: false },
            ..Path::default()
        };
        let path = std::sync::Arc::new(path);
        let mut config = Config { seed: Some(Seed([1, 2, 3, 4, 5, 6])), ..Config::default() };
        config.base.paths = [vec![Some(std::sync::Arc::clone(&path))], vec![Some(path)]];
        config
    }

    /// The fates of packets that arrive at these ports every 10 us, by port: by ordinal and copy, in one number.
    fn fates(ports: &[PortId], packets: u64) -> [u64; 2] {
        let mut engine = Engine::new(config(), Limits::growing(), 0);
        let mut hashes = [0xcbf2_9ce4_8422_2325_u64; 2];
        // A fate goes in by what it is of, so that when it came out does not matter.
        let mut note = |port: PortId, words: [u64; 5]| {
            let one = words
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| {
                    (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
                });
            let hash = &mut hashes[port.index()];
            *hash = hash.wrapping_add(one);
        };
        let of = |out: &Outcome| {
            let bits: u64 = out.corruption.map_or(0, |bits| bits.positions(64).map(u64::from).sum());
            [
                out.ordinal,
                u64::from(out.copy),
                out.requested.unsigned_abs(),
                u64::from(out.displacement),
                bits,
            ]
        };
        for number in 0..packets {
            let now = i64::try_from(number).unwrap() * 10_000;
            while let Some(out) = engine.poll(now) {
                note(out.port, of(&out));
            }
            for port in ports {
                let slot = u32::try_from(number).unwrap();
                let admission = engine.admit(&Packet::new(slot, *port, 64, now));
                if let Some(cause) = admission.lost {
                    note(*port, [admission.ordinal, u64::MAX, cause.index() as u64, 0, 0]);
                }
            }
        }
        while let Some(out) = engine.poll(Nanos::MAX) {
            note(out.port, of(&out));
        }
        hashes
    }

    /// A packet that no setting of a repeated timeline lets leave is lost, with its line and in the counts.
    #[test]
    fn stalled_packets_are_lost() {
        let text = r#"
            [a_to_b.trace]
            file = "link"
            format = "mahimahi"
            [[timeline]]
            at = "500ms"
            a_to_b.trace = { file = "other", format = "mahimahi" }
            [timeline_repeat]
            every = "1s"
        "#;
        let scenario = romer_scenario::parse(text, "test.toml", &mut |name| {
            Ok(if name == "link" { "1000\n" } else { "2000\n" }.to_owned())
        })
        .unwrap();
        let arrival = Arrival { time: 7, port: PortId::A, size: 64, network_length: 46, headers: 0 };
        let arrivals = Arrivals { packets: vec![arrival], ..Arrivals::default() };
        let mut out = Vec::new();
        let emulation = run(&scenario, text, Seed([1; 6]), &arrivals, &mut out).unwrap();
        let line = String::from_utf8(out).unwrap().lines().nth(1).map(str::to_owned);
        assert!(line.as_ref().is_some_and(|line| line.contains("shutdown")), "{line:?}");
        assert_eq!(emulation.a_to_b.lost["shutdown"], 1);
    }

    /// A seed gives the same result with any number of threads and on any host.
    #[test]
    fn seeds_are_independent_of_threads() {
        let packets = std::env::var("ROMER_FATES").ok().and_then(|text| text.parse().ok()).unwrap_or(PACKETS);
        let together = fates(&PortId::BOTH, packets);
        let each = |port: PortId| std::thread::spawn(move || fates(&[port], packets)[port.index()]);
        let apart = PortId::BOTH.map(each).map(|thread| thread.join().unwrap());
        assert_eq!(apart, together, "a thread for each port");
        if packets == PACKETS {
            assert_eq!(together, HASHES);
        }
    }
}
