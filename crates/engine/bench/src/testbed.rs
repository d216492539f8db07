//! What trials are run on.

use std::sync::atomic::AtomicBool;

use romer_method::{Frames, TrialRequest};
use romer_units::Duration;
use romer_wire::ethernet::MacAddress;

use crate::error::BenchError;
use crate::options::BenchOptions;
use crate::port_state::PortFault;
use crate::tester_evidence::TesterEvidence;
use crate::trial::TrialRecord;

/// How a trial is run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrialOptions {
    /// Taken out of every latency.
    pub(crate) baseline: Duration,
    /// Its frames are kept as a capture.
    pub(crate) capture: bool,
}

/// A tester with a device between its ports: the real one, or in our tests one with a simulated device.
pub(crate) trait TestBed {
    /// Runs a trial.
    fn trial(
        &mut self,
        options: &BenchOptions,
        ask: &TrialRequest,
        manner: TrialOptions,
        stop: &AtomicBool,
    ) -> Result<TrialRecord, BenchError>;

    /// Sends frames until one comes out: how many were sent, or `Err` with how many of each stream, where none came within
    /// `patience`.
    fn probe(
        &mut self,
        options: &BenchOptions,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<Result<u64, Vec<u64>>, BenchError>;

    /// Tests the tester itself, each test for so long; `None` where it was interrupted.
    fn run_self_test(
        &mut self,
        options: &BenchOptions,
        length: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<TesterEvidence>, BenchError>;

    /// Octets of the longest frame, which the ports take; an error where they do not.
    fn longest(&self, options: &BenchOptions, frames: &Frames) -> Result<usize, BenchError>;

    /// Why a port cannot carry frames now, where one cannot.
    fn port_fault(&self, options: &BenchOptions) -> Option<PortFault>;

    /// How long the frame was under way by which the device was last seen to forward.
    fn path(&self) -> Duration;

    /// The link-layer address that frames are sent to.
    fn next_hop(&self) -> MacAddress;

    /// Frames that were sent to see whether the device forwards.
    fn probes(&self) -> u64;
}
