//! The proof that a clock's error is found: loopback, seen through a clock that lies in a known way.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

use romer_analyze::WAITING_TIME;
use romer_clock::{SimulatedClock, skew};
use romer_measure::ProbeSize;
use romer_record::SOFTWARE;
use romer_record::clock_proof::{CLOCK_PROOF, ClockProof};
use romer_record::manifest::{ClockRelation, SkewRequest, StampRequest};
use romer_respond::{RespondOptions, Responder};
use romer_singletons::{ResponderLog, Selection, relate};
use romer_traffic::{Limit, Request, TrafficModel};
use romer_units::Duration;

use crate::error::CalibrateError;
use crate::machine::this_machine;
use crate::paths;

/// IP packets, octets.
const PACKET: u32 = 128;

/// What is pretended, and how long it is looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockOptions {
    /// What the responder's clock is pretended to do.
    pub clock: SimulatedClock,
    /// How long round trips are sent.
    pub duration: Duration,
    /// Time between two of them.
    pub interval: Duration,
}

/// Measures over loopback of this network namespace, passes the stamps of the responder through the pretended clock, and
/// has the estimator of `romer measure` find out what it does.
///
/// # Errors
/// [`CalibrateError`]; there is no half a proof.
pub fn prove_clock(options: &ClockOptions, stop: &AtomicBool) -> Result<ClockProof, CalibrateError> {
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let respond = RespondOptions { listen: vec![here], control: vec![here], ..RespondOptions::default() };
    let responder = Responder::start(&respond)?;
    let target = responder.control_addresses().first().copied().unwrap_or(here).to_string();
    let interval = Some(options.interval);
    let traffic =
        Request { interval, ..Request::new(TrafficModel::Periodic, Limit::Duration(options.duration)) };
    let mut rows = paths::measured(&target, traffic, ProbeSize::Packet(PACKET), stop)?;
    drop(responder);
    options.clock.pass(&mut rows);
    let selection = Selection::choose(&rows, StampRequest::Best, true);
    let related = relate(&rows, &selection, ClockRelation::Unknown, WAITING_TIME, ResponderLog::Complete);
    let request = SkewRequest::default();
    let (estimate, _) = skew::usable(&request, &related.forward, &related.reverse, &skew::InTurn);
    let complete = related.round_trip.iter().filter(|singleton| singleton.delay.is_some()).count();
    if complete == 0 {
        return Err(CalibrateError::Nothing("round trips over loopback"));
    }
    let found = options.clock.found_out(&estimate, options.duration.as_nanos());
    Ok(ClockProof {
        schema: CLOCK_PROOF.into(),
        software: SOFTWARE.into(),
        measured: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        machine: this_machine(),
        probes: u64::try_from(rows.len()).unwrap_or(u64::MAX),
        interval_ns: options.interval.as_nanos(),
        complete: u64::try_from(complete).unwrap_or(u64::MAX),
        method: skew::method_of(&request).to_string(),
        not_identifiable: estimate.why_not.clone(),
        passed: found.passed(),
        skew_ppm: found.skew_ppm,
        steps: found.steps,
        false_events_at_ns: found.false_events_at_ns,
    })
}
