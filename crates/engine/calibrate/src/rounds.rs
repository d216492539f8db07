//! What is measured in each round, and what the rounds come to.

use std::sync::atomic::{AtomicBool, Ordering};

use romer_measure::ProbeSize;
use romer_record::RoundTrip;
use romer_record::SOFTWARE;
use romer_record::calibration::{
    CALIBRATION, CalibrationRecord, HostGaps, StampSourceError, TwoRates, TwoRatesMissing,
};
use romer_record::manifest::{ClockRelation, StampRequest};
use romer_singletons::{ResponderLog, Selection, calibration as figures, relate};
use romer_traffic::{Limit, Request, Trace, TrafficModel};
use romer_units::{Duration, TimestampPoint};

use crate::error::CalibrateError;
use crate::gaps;
use crate::machine::this_machine;
use crate::paths::{PathKind, Paths};

/// Where stamps are taken: a virtual link has no network card.
const STAMP_SOURCES: [(TimestampPoint, StampRequest); 2] =
    [(TimestampPoint::Kernel, StampRequest::Kernel), (TimestampPoint::User, StampRequest::User)];
/// Time between two round trips, as in the published validation.
const INTERVAL: Duration = Duration::from_millis(2);
/// Their IP packets.
const PACKET: u32 = 128;
/// Round trips before the first round, whose caches are cold.
const WARM_UP: u64 = 50;
/// The rates of Hershberger 2005, section 9.2.2.
const RATES: (u64, u64) = (10_000_000, 100_000_000);
/// The IP packets over the slowed path, the longest of Ethernet.
const LONG_PACKET: u32 = 1_500;
const ETHERNET_HEADER: u32 = 14;
const HEADERS: u32 = 28;
/// Time between two pairs: several times what a frame takes at the slow rate, 1.2 ms.
const BETWEEN_PAIRS: Duration = Duration::from_millis(6);

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalibrationOptions {
    /// Rounds, at least 1.
    pub rounds: u32,
    /// Round trips of each round, at least 100; and a tenth as many pairs of packets at each rate.
    pub probes: u32,
}

impl Default for CalibrationOptions {
    /// Five rounds of 1,000: some 20 seconds in all.
    fn default() -> Self {
        Self { rounds: 5, probes: 1_000 }
    }
}

/// Measures in the laboratory `prefix`, a path, whose namespaces this process may enter by their names. `say` is told
/// how it goes on. Takes some four seconds a round of 1,000 round trips.
///
/// # Errors
/// [`CalibrateError`]; there is no half a calibration.
pub fn calibrate(
    prefix: &str,
    options: &CalibrationOptions,
    stop: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Result<CalibrationRecord, CalibrateError> {
    let paths = Paths::open(prefix)?;
    paths.measure(PathKind::Direct, periodic(WARM_UP), ProbeSize::Packet(PACKET), stop)?;
    let mut found = Rounds::default();
    for round in 1..=options.rounds {
        say(&format!("round {round} of {}", options.rounds));
        gaps::observe(&mut found.host_gaps)?;
        let rows = paths.measure(
            PathKind::Direct,
            periodic(options.probes.into()),
            ProbeSize::Packet(PACKET),
            stop,
        )?;
        found.take_direct(&rows);
        if found.not_slowed.is_none() {
            at_two_rates(&paths, options, stop, &mut found)?;
        }
        if stop.load(Ordering::Acquire) {
            return Err(CalibrateError::Interrupted);
        }
    }
    found.record(options)
}

fn periodic(count: u64) -> Request {
    Request { interval: Some(INTERVAL), ..Request::new(TrafficModel::Periodic, Limit::Count(count)) }
}

/// Pairs of packets that leave back to back.
fn pairs(count: u32) -> Option<Request> {
    let payload = LONG_PACKET - HEADERS;
    let mut text = String::from("offset_ns,size\n");
    for pair in 0..i64::from(count) {
        let offset = BETWEEN_PAIRS.as_nanos() * pair;
        text.push_str(&format!("{offset},{payload}\n{offset},{payload}\n"));
    }
    let trace = Trace::parse(text.as_bytes()).ok()?;
    let limit = Limit::Count(u64::from(count) * 2);
    let model = TrafficModel::Trace { file: "pairs".into() };
    Some(Request { trace: Some(trace), ..Request::new(model, limit) })
}

fn at_two_rates(
    paths: &Paths,
    options: &CalibrationOptions,
    stop: &AtomicBool,
    found: &mut Rounds,
) -> Result<(), CalibrateError> {
    let Some(traffic) = pairs((options.probes / 10).max(10)) else { return Ok(()) };
    let octets = LONG_PACKET + ETHERNET_HEADER;
    let mut rounds = [[None; 2]; STAMP_SOURCES.len()];
    for (rate, which) in [RATES.0, RATES.1].into_iter().zip(0..) {
        if let Err(error) = paths.slow_down(rate, octets) {
            found.not_slowed = Some(TwoRatesMissing::NotSlowed { error: error.to_string() });
            return Ok(());
        }
        let rows = paths.measure(PathKind::Path, traffic.clone(), ProbeSize::Natural, stop)?;
        for (((place, _), found), round) in STAMP_SOURCES.into_iter().zip(&mut found.rates).zip(&mut rounds) {
            let (delays, excluded) = figures::pair_delays(&rows, place, rate, octets);
            found.packets += u64::try_from(delays.len()).unwrap_or(0);
            found.excluded += excluded;
            round[which] = figures::median(&delays);
        }
    }
    paths.speed_up().map_err(CalibrateError::host("let the path go at its own rate again"))?;
    // A round whose pairs were all set aside, because this machine could not send them back to back, tells nothing.
    for (found, [slow, fast]) in found.rates.iter_mut().zip(rounds) {
        found.rounds.extend(slow.zip(fast));
    }
    Ok(())
}

/// The delays of one place, a list a round.
#[derive(Default)]
struct Delays {
    forward: Vec<Vec<i64>>,
    reverse: Vec<Vec<i64>>,
    round_trip: Vec<Vec<i64>>,
}

/// The medians of one place at both rates, a pair a round.
#[derive(Default)]
struct Rates {
    rounds: Vec<figures::RatesOfRound>,
    packets: u64,
    excluded: u64,
}

#[derive(Default)]
struct Rounds {
    delays: [Delays; STAMP_SOURCES.len()],
    rates: [Rates; STAMP_SOURCES.len()],
    not_slowed: Option<TwoRatesMissing>,
    host_gaps: HostGaps,
}

impl Rounds {
    fn take_direct(&mut self, rows: &[RoundTrip]) {
        for ((_, request), delays) in STAMP_SOURCES.into_iter().zip(&mut self.delays) {
            let selection = Selection::choose(rows, request, true);
            let waiting = romer_analyze::WAITING_TIME;
            let related = relate(rows, &selection, ClockRelation::Shared, waiting, ResponderLog::Complete);
            let of = |singletons: &[romer_record::OneWaySingleton]| {
                singletons.iter().filter_map(|singleton| singleton.delay.map(Duration::as_nanos)).collect()
            };
            delays.forward.push(of(&related.forward));
            delays.reverse.push(of(&related.reverse));
            delays.round_trip.push(of(&related.round_trip));
        }
    }

    fn record(self, options: &CalibrationOptions) -> Result<CalibrationRecord, CalibrateError> {
        let stamp_errors: Vec<StampSourceError> = STAMP_SOURCES
            .into_iter()
            .zip(&self.delays)
            .filter_map(|((place, _), delays)| error_at(place, delays))
            .collect();
        if stamp_errors.is_empty() {
            return Err(CalibrateError::Nothing("round trips between the laboratory's ends"));
        }
        let two_rates: Vec<TwoRates> = STAMP_SOURCES
            .into_iter()
            .zip(&self.rates)
            .filter_map(|((place, _), rates)| {
                let counts = (rates.packets, rates.excluded);
                figures::two_rates_of(place, RATES, LONG_PACKET + ETHERNET_HEADER, &rates.rounds, counts)
            })
            .collect();
        let two_rates_missing =
            self.not_slowed.or_else(|| two_rates.is_empty().then_some(TwoRatesMissing::NoPairs));
        Ok(CalibrationRecord {
            schema: CALIBRATION.into(),
            software: SOFTWARE.into(),
            measured: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
            machine: this_machine(),
            rounds: options.rounds,
            probes: options.probes,
            interval_ns: INTERVAL.as_nanos(),
            packet_octets: PACKET,
            symmetry: stamp_errors.iter().map(figures::symmetry).collect(),
            stamp_errors,
            two_rates,
            two_rates_missing,
            host_gaps: self.host_gaps,
        })
    }
}

fn error_at(place: TimestampPoint, delays: &Delays) -> Option<StampSourceError> {
    Some(StampSourceError {
        stamp_source: place,
        forward: figures::share(&delays.forward)?,
        reverse: figures::share(&delays.reverse)?,
        round_trip: figures::share(&delays.round_trip)?,
    })
}
