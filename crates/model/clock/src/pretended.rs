//! A clock that lies in a known way, and whether it was found out.
//!
//! Two ends on one host read one clock, so that what lies between their stamps is the packet's time and nothing else. Where
//! the stamps of one end are passed through a [`SimulatedClock`] first, they are those of two hosts whose clocks are known:
//! real packets, real stamps, and a truth to hold the estimate against.

use romer_record::clock_proof::{ProofFigure, SimulatedStep};
use romer_record::{RoundTrip, Stamps};
use romer_units::{Responder, Timestamp};

use crate::skew::{ChangeKind, Estimate, rounded};

/// A step is found where it was asked for if it is no further away than this share of the run.
const NEAR: i64 = 50;
/// By so much the least time of a path may itself change while the machine is put to other work, nanoseconds.
const PATH_NS: f64 = 10_000.0;

/// A simulated clock of the responder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedClock {
    /// How far it is ahead at the first packet, nanoseconds.
    pub offset_ns: i64,
    /// How much faster it runs, parts in a million.
    pub skew_ppm: f64,
    /// When it is set, nanoseconds after the first packet, and by how much.
    pub steps: Vec<(i64, i64)>,
}

/// Result of the estimate with a simulated clock.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockTestResult {
    /// The skew, ppm.
    pub skew_ppm: ProofFigure,
    /// The steps in order of time.
    pub steps: Vec<SimulatedStep>,
    /// Events of a clock that there were not, nanoseconds after the first packet.
    pub false_events_at_ns: Vec<i64>,
}

impl ClockTestResult {
    /// Whether everything was found, and nothing else.
    pub fn passed(&self) -> bool {
        self.skew_ppm.passed
            && self.false_events_at_ns.is_empty()
            && self.steps.iter().all(|step| step.size_ns.passed)
    }
}

impl SimulatedClock {
    /// By how much it is ahead so long after the first packet, nanoseconds.
    pub fn ahead_ns(&self, since_ns: i64) -> i64 {
        let drifted = rounded(since_ns as f64 * self.skew_ppm / 1e6);
        let stepped: i64 = self.steps.iter().filter(|step| since_ns >= step.0).map(|step| step.1).sum();
        self.offset_ns.saturating_add(drifted).saturating_add(stepped)
    }

    /// Passes the responder's stamps through it.
    pub fn pass(&self, rows: &mut [RoundTrip]) {
        let stamps =
            rows.iter().flat_map(|row| [row.t2, row.t3]).flat_map(|moment| moment.kernel.or(moment.user));
        let Some(first) = stamps.map(Timestamp::as_nanos).min() else { return };
        let pass = |stamp: Timestamp<Responder>| {
            let nanos = stamp.as_nanos();
            Timestamp::from_nanos(nanos.saturating_add(self.ahead_ns(nanos.saturating_sub(first))))
        };
        for row in rows {
            for moment in [&mut row.t2, &mut row.t3] {
                let Stamps { nic, kernel, user, told } = *moment;
                *moment = Stamps {
                    nic: nic.map(pass),
                    kernel: kernel.map(pass),
                    user: user.map(pass),
                    told: told.map(pass),
                };
            }
        }
    }

    /// Holds an estimate against it. The run is `length_ns` long.
    pub fn found_out(&self, estimate: &Estimate, length_ns: i64) -> ClockTestResult {
        let skew_ppm = match estimate.skew {
            Some(skew) => {
                let spare = PATH_NS / (length_ns.max(1) as f64) * 1e6;
                figure(self.skew_ppm, skew.ppm, skew.interval_ppm, spare)
            }
            None => ProofFigure { simulated: self.skew_ppm, estimated: None, interval: None, passed: false },
        };
        let origin_ns = estimate.corrections[0].origin_ns;
        let mut events: Vec<_> =
            estimate.events.iter().filter(|event| event.kind != ChangeKind::PathChange).collect();
        let near = (length_ns / NEAR).max(1);
        let mut steps = Vec::new();
        for (at_ns, size_ns) in &self.steps {
            let away =
                |event: &crate::skew::ClockChange| (event.at_ns - origin_ns).saturating_sub(*at_ns).abs();
            let place =
                events.iter().position(|event| event.kind == ChangeKind::ClockStep && away(event) <= near);
            let simulated = *size_ns as f64;
            let step = match place.map(|place| events.remove(place)) {
                Some(event) => {
                    let (size, error) = (event.size_ns as f64, event.error_ns);
                    SimulatedStep {
                        at_ns: *at_ns,
                        detected_at_ns: Some(event.at_ns - origin_ns),
                        size_ns: figure(simulated, size, [size - error, size + error], PATH_NS),
                    }
                }
                None => SimulatedStep {
                    at_ns: *at_ns,
                    detected_at_ns: None,
                    size_ns: ProofFigure { simulated, estimated: None, interval: None, passed: false },
                },
            };
            steps.push(step);
        }
        let false_events_at_ns = events.iter().map(|event| event.at_ns - origin_ns).collect();
        ClockTestResult { skew_ppm, steps, false_events_at_ns }
    }
}

/// 19 of 20 intervals hold the truth; one that misses it by less than its own width is no sign of a fault, nor is what the
/// path itself may do.
fn figure(simulated: f64, estimated: f64, interval: [f64; 2], spare: f64) -> ProofFigure {
    let beside = (interval[1] - interval[0]).max(spare);
    let passed = simulated >= interval[0] - beside && simulated <= interval[1] + beside;
    ProofFigure { simulated, estimated: Some(estimated), interval: Some(interval), passed }
}
