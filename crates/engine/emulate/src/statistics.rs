//! From outcomes to the document.

use std::collections::BTreeMap;

use romer_impair::{Cause, Correlation, Ledger, Nanos, Outcome};
use romer_metrics::summary;
use romer_record::emulation::EmulatedDirection;

/// The singletons of one direction, kept whole: for runs in virtual time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    requested: Vec<i64>,
    actual: Vec<i64>,
    total: Vec<i64>,
    error: Vec<i64>,
    inter_arrival: Vec<i64>,
    inter_departure: Vec<i64>,
    depth: Vec<i64>,
    rate_queue: Vec<i64>,
    latest: Option<u64>,
    overtaken: u64,
    last_arrival: Option<Nanos>,
    last_departure: Option<Nanos>,
}

impl Samples {
    /// A packet arrived at `at`, with which so many are held.
    pub(crate) fn arrived(&mut self, at: Nanos, held: usize) {
        if let Some(last) = self.last_arrival.replace(at) {
            self.inter_arrival.push(at - last);
        }
        self.depth.push(i64::try_from(held).unwrap_or(i64::MAX));
    }

    /// A packet or copy left at `at`.
    pub(crate) fn left(&mut self, outcome: &Outcome, at: Nanos) {
        if let Some(last) = self.last_departure.replace(at) {
            self.inter_departure.push(at - last);
        }
        self.requested.push(outcome.requested);
        // What came after the delay stage is the rate queue's.
        let in_rate_queue = outcome.time - outcome.released;
        if outcome.rated {
            self.rate_queue.push(in_rate_queue);
        }
        self.overtaken += u64::from(self.latest.is_some_and(|latest| outcome.ordinal < latest));
        self.latest = self.latest.max(Some(outcome.ordinal));
        let hold = at - in_rate_queue - outcome.entered;
        self.actual.push(hold);
        self.total.push(at - outcome.arrival);
        self.error.push(hold - outcome.requested);
    }

    /// The direction's part of the document.
    pub(crate) fn direction(&self, ledger: &Ledger, correlation: Option<&Correlation>) -> EmulatedDirection {
        EmulatedDirection {
            requested_delay_ns: summary(&self.requested),
            actual_delay_ns: summary(&self.actual),
            total_delay_ns: summary(&self.total),
            delay_error_ns: summary(&self.error),
            inter_arrival_ns: summary(&self.inter_arrival),
            inter_departure_ns: summary(&self.inter_departure),
            queue_depth: summary(&self.depth),
            rate_queue_ns: summary(&self.rate_queue),
            overtaken: self.overtaken,
            ..counted(ledger, correlation)
        }
    }
}

/// What the ledger alone tells.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn counted(ledger: &Ledger, correlation: Option<&Correlation>) -> EmulatedDirection {
    let lost: BTreeMap<String, u64> =
        Cause::ALL.iter().map(|cause| (cause.name().to_owned(), ledger.lost_for(*cause))).collect();
    EmulatedDirection {
        received: ledger.received,
        transmitted: ledger.transmitted,
        queued: ledger.queued,
        duplicates_created: ledger.duplicates_created,
        lost,
        corrupted: ledger.corrupted,
        reordered: ledger.reordered,
        waited_ratio: (ledger.delayed > 0).then(|| ledger.waited as f64 / ledger.delayed as f64),
        correlation_time_ns: correlation.and_then(Correlation::time_ns),
        effective_values: correlation.and_then(Correlation::effective_values),
        ..EmulatedDirection::default()
    }
}
