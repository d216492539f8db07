//! A benchmark that is under way, and its events.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use romer_host::clock::monotonic_now;
use romer_method::TrialRequest;
use romer_record::benchmark::{BenchmarkEntry, BenchmarkEvent, BenchmarkEventKind};
use romer_units::{Duration, Monotonic, Timestamp};

use super::pace::Pacing;
use super::watcher::Watcher;
use crate::error::BenchError;
use crate::options::BenchOptions;
use crate::testbed::TestBed;
use crate::tester_evidence::TesterEvidence;
use crate::trial::{CaseTrial, requested_load};

/// How long a device that forwards takes to show it.
pub(super) const PROMPT: Duration = Duration::from_secs(1);

/// A benchmark that is under way.
pub(super) struct Running<'a, B> {
    pub(super) options: &'a BenchOptions,
    pub(super) stop: &'a AtomicBool,
    pub(super) bed: B,
    pub(super) watcher: &'a mut dyn Watcher,
    pub(super) begin: Timestamp<Monotonic>,
    /// How long before that the benchmark began, where it was interrupted.
    pub(super) offset: Duration,
    pub(super) case: Option<usize>,
    /// When the first frame did not come of a device that was away at the end of a trial, nanoseconds after the benchmark's
    /// beginning.
    pub(super) gone_since: Option<i64>,
    /// Streams of which nothing came any more at the end of the last trial that tells of them, while others lived.
    pub(super) silent: BTreeSet<usize>,
    /// A trial was made since the ports were opened.
    pub(super) begun: bool,
    /// What the tester's own test came to.
    pub(super) proof: Option<TesterEvidence>,
    /// How it gets on, since the ports were opened.
    pub(super) pace: Pacing,
    pub(super) kept: Vec<CaseTrial>,
    pub(super) events: Vec<BenchmarkEvent>,
}

impl<B: TestBed> Running<'_, B> {
    /// Nanoseconds since the benchmark began.
    pub(super) fn now(&self) -> i64 {
        (monotonic_now() - self.begin + self.offset).as_nanos()
    }

    /// The intended load of a trial, percent of the line rate.
    pub(super) fn load_percent(&self, ask: &TrialRequest) -> f64 {
        requested_load(self.options, ask).percent
    }

    /// The case of a trial.
    pub(super) fn case_name(&self, ask: &TrialRequest) -> String {
        self.options.cases.get(ask.case).map_or_else(String::new, |case| case.name.clone())
    }

    /// Keeps an event of now.
    pub(super) fn event(&mut self, kind: BenchmarkEventKind) -> Result<(), BenchError> {
        let event = BenchmarkEvent { at_ns: self.now(), kind };
        self.watcher.keep(&BenchmarkEntry::Event(event.clone()))?;
        self.events.push(event);
        Ok(())
    }
}
