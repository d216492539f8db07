//! The document of an emulation, from what a bridge counted.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use romer_host::clock::rfc3339;
use romer_impair::{Cause, Correlation};
use romer_record::document::Summary;
use romer_record::emulation::{EMULATION, EmulatedDirection, Emulation, EmulationChange, PortDirection};
use romer_record::warning::EmulationWarning;

use super::control::{Applied, Facts};
use super::statistics::{DirectionSnapshot, GonePort, LinkHistory, Snapshot};
use crate::statistics::{flushed_early, too_alike, unsupported, varies_less, with_known_intervals};

impl fmt::Display for GonePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One with the same address in another namespace need not be this one.
        let how =
            if self.may_be_moved { "removed, or moved to another network namespace" } else { "removed" };
        write!(f, "{} was {how}", self.port)
    }
}

/// Of a bridge on which the scenarios of `history` held one after the other, and whose summaries were begun `anew` then.
pub(super) fn emulation(
    facts: &Facts,
    history: &[Arc<Applied>],
    anew: Option<SystemTime>,
    snapshot: &Snapshot,
) -> Emulation {
    let current = history.last();
    let [a_to_b, b_to_a] = snapshot.directions.each_ref().map(direction);
    let ports = ["a", "b"].into_iter().zip(&facts.ports);
    let changes: Vec<EmulationChange> = history.iter().map(|applied| change(applied)).collect();
    let changes = if changes.len() > 1 { changes } else { Vec::new() };
    let mut warnings = facts.notes.clone();
    warnings.extend(current.iter().flat_map(|applied| applied.notes.clone()));
    for (port, direction) in ["a", "b"].into_iter().zip(&snapshot.directions) {
        warnings.extend(was_down(port, &direction.link));
    }
    for (leg, direction) in [PortDirection::AToB, PortDirection::BToA].into_iter().zip(&snapshot.directions) {
        warnings.extend(too_alike(leg, direction.correlation.as_ref()));
        warnings.extend(varies_less(leg, direction.correlation.as_ref()));
        warnings.extend(flushed_early(leg, &direction.ledger));
        let supported =
            current.filter(|applied| !applied.impairments_off).map(|applied| applied.about.supported);
        let supported = supported.unwrap_or_default();
        warnings.extend(unsupported(leg, &supported, &direction.ledger, &direction.inter_arrival));
        warnings.extend(no_buffer(leg, direction.homeless));
    }
    warnings.extend(snapshot.not_restored.iter().cloned());
    warnings.extend(anew.map(|anew| EmulationWarning::SummariesReset { since: rfc3339(anew) }));
    let impairments_off_since =
        current.filter(|applied| applied.impairments_off).map(|applied| rfc3339(applied.since));
    warnings.extend(impairments_off_since.clone().map(|since| EmulationWarning::ImpairmentsOff { since }));
    if let Some(first) = changes.first().filter(|first| first.revision > 1) {
        warnings.push(EmulationWarning::EarlierScenariosDropped { first_revision: first.revision });
    }
    Emulation {
        schema: EMULATION.into(),
        started: rfc3339(facts.started),
        ended: rfc3339(snapshot.taken),
        ended_by: snapshot.gone.as_ref().map(|gone| format!("port {gone}")),
        seed: facts.seed.0,
        generator: facts.generator.name().into(),
        data_plane: facts.data_plane.into(),
        scenario: current.map_or_else(String::new, |applied| applied.text.clone()),
        impairments_off_since,
        ports: ports.map(|(letter, (_, port))| (letter.to_owned(), port.clone())).collect(),
        a_to_b,
        b_to_a,
        changes,
        refits: Vec::new(),
        warnings,
    }
}

fn change(applied: &Applied) -> EmulationChange {
    EmulationChange {
        revision: applied.revision,
        at: rfc3339(applied.since),
        scenario: applied.text.clone(),
        impairments_off: applied.impairments_off,
    }
}

/// That a port's link was down.
fn was_down(port: &str, link: &LinkHistory) -> Option<EmulationWarning> {
    (link.downs > 0).then(|| EmulationWarning::LinkWasDown {
        port: port.into(),
        times: link.downs,
        total_ns: link.down_for.as_nanos(),
    })
}

/// That packets came for which there was no room.
fn no_buffer(direction: PortDirection, packets: u64) -> Option<EmulationWarning> {
    (packets > 0).then_some(EmulationWarning::BufferFull { direction, packets })
}

fn direction(direction: &DirectionSnapshot) -> EmulatedDirection {
    let ledger = &direction.ledger;
    let correlation = direction.correlation.as_ref();
    let of_delays = |delays: &Summary| with_known_intervals(delays.clone(), correlation);
    EmulatedDirection {
        received: ledger.received,
        transmitted: ledger.transmitted,
        queued: ledger.queued,
        duplicates_created: ledger.duplicates_created,
        lost: Cause::ALL.iter().map(|cause| (cause.name().to_owned(), ledger.lost_for(*cause))).collect(),
        corrupted: ledger.corrupted,
        reordered: ledger.reordered,
        overtaken: direction.overtaken,
        rate_queue_ns: direction.rate_queue.clone(),
        order_delayed_ratio: (ledger.delayed > 0).then(|| real(ledger.waited) / real(ledger.delayed)),
        requested_delay_ns: of_delays(&direction.requested_delay),
        actual_delay_ns: of_delays(&direction.actual_delay),
        total_delay_ns: of_delays(&direction.total_delay),
        delay_error_ns: direction.delay_error.clone(),
        order_wait_ns: direction.order_wait.clone(),
        inter_arrival_ns: direction.inter_arrival.clone(),
        inter_departure_ns: direction.inter_departure.clone(),
        queue_depth: direction.queue_depth.clone(),
        correlation_time_ns: correlation.and_then(Correlation::time_ns),
        effective_values: correlation.and_then(Correlation::effective_values),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
const fn real(count: u64) -> f64 {
    count as f64
}
