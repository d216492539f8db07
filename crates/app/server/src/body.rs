//! Request bodies read and validated without acting on them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use romer_store::Runs;

use crate::PlanReader;
use crate::benchmark_job::Plans;
use crate::problem::Problem;
use crate::{measurement_job, scenario, strict_json};

/// An operation that takes a JSON body.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// `POST /api/scenario`.
    CheckScenario,
    /// `POST /api/measurements`.
    StartMeasurement,
    /// `POST /api/benchmarks/preview`; plans are read by this function.
    PreviewBenchmark(PlanReader),
}

/// Reads `octets` as the body of a request for `operation`, up to the point where the operation would act. It touches no
/// interface, and writes nothing.
///
/// # Errors
/// The problem document (RFC 9457, JSON) that the request would be answered with.
pub fn check(operation: Operation, octets: &[u8]) -> Result<(), String> {
    let outcome = match operation {
        Operation::CheckScenario => {
            strict_json::read(octets).and_then(|given| scenario::read(given, &BTreeMap::new())).map(|_| ())
        }
        Operation::StartMeasurement => strict_json::read(octets)
            .and_then(|asked| measurement_job::check(&asked, &Runs::at(PathBuf::from("runs")))),
        Operation::PreviewBenchmark(reader) => strict_json::read(octets)
            .and_then(|planned| Plans { reader, commands: false }.preview(&planned))
            .map(|_| ()),
    };
    outcome.map_err(|problem: Problem| serde_json::to_string(&problem).unwrap_or_default())
}
