//! 200 targets in one process, beside one of them alone.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration as StdDuration;

use anyhow::{Context, Result};
use romer_analyze::reading;
use romer_metrics::summary;
use romer_record::RoundTrip;
use romer_units::Duration;
use serde::Serialize;

use super::process::share;
use super::{Usage, measure, respond, watched};
use crate::circumstances::Circumstances;
use crate::hosts::Hosts;
use crate::romer_runner::RoundTrips;

/// Targets.
pub(crate) const TARGETS: u8 = 200;
/// Time between two probes to one of them.
pub(crate) const INTERVAL: Duration = Duration::from_millis(20);

/// What became of the targets of one measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Many {
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    pub(crate) targets: u64,
    pub(crate) probes: u64,
    /// Probes that did not come back, or lack a stamp.
    pub(crate) incomplete: u64,
    /// How far the round trips of each target scatter: half of what lies between the quantiles that a deviation about
    /// the mean has in a normal law. Of all of its packets: a gap of the host here and there does not move it.
    pub(crate) scatters_ns: Vec<f64>,
    /// The share of a core that the measuring end had.
    pub(crate) cpu_ratio: Option<f64>,
}

impl Many {
    /// The target in the middle, the one above which one of twenty is, and the last.
    pub(crate) fn spread(&self) -> Option<[f64; 3]> {
        let summary = summary(&self.scatters_ns);
        Some([summary.median?, summary.p95?, summary.max?])
    }
}

/// What was measured: the rows of each target, and the looks at the measuring end.
pub(crate) struct ManyResult {
    rows: Vec<Vec<RoundTrip>>,
    looks: Vec<Usage>,
    length: StdDuration,
}

/// Measures `targets` side by side for `length`.
pub(crate) fn run(
    hosts: &Hosts,
    program: &Path,
    targets: &[Ipv4Addr],
    length: StdDuration,
    interrupted: &AtomicBool,
) -> Result<ManyResult> {
    // One responder for all: each target is an address of its own.
    let responder = respond(hosts, program, &["--listen", "0.0.0.0:862"])?;
    let folder = tempfile::tempdir().context("cannot make a folder for the run")?;
    let run = folder.path().join("run");
    let (interval, length_text) = (INTERVAL.to_string(), format!("{}ms", length.as_millis()));
    let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
    let mut arguments = vec!["--interval", &interval, "--duration", &length_text];
    arguments.extend(targets.iter().map(String::as_str));
    let [looks, _] = watched(measure(hosts, program, &run, &arguments)?, &responder, interrupted)?;
    drop(responder);
    let rows = reading::read(&run).and_then(|run| run.rows()).context("cannot read the run")?;
    Ok(ManyResult { rows: rows.into_values().collect(), looks, length })
}

impl ManyResult {
    /// What is to be kept of it.
    pub(crate) fn judged(&self, circumstances: Circumstances) -> Many {
        let mut many = Many {
            circumstances,
            targets: self.rows.len() as u64,
            probes: 0,
            incomplete: 0,
            scatters_ns: Vec::new(),
            cpu_ratio: share(&self.looks, StdDuration::from_secs(1), self.length),
        };
        for rows in &self.rows {
            let trips = RoundTrips::from_rows(rows);
            many.probes += trips.kernel.len() as u64 + trips.incomplete;
            many.incomplete += trips.incomplete;
            many.scatters_ns.extend(scatter(trips.kernel.iter().map(|trip| trip.nanos).collect()));
        }
        many
    }
}

/// Half of what lies between the values below which 16 and 84 of a hundred are; `None` of nothing.
fn scatter(mut values: Vec<i64>) -> Option<f64> {
    values.sort_unstable();
    let at = |percent: usize| values.get(values.len().saturating_sub(1) * percent / 100);
    Some((at(84)?.abs_diff(*at(16)?)) as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scatter_is_not_moved_by_single_gaps() {
        let mut values: Vec<i64> = (0..=100).collect();
        assert_eq!(scatter(values.clone()), Some(34.0));
        values[100] = 1_000_000_000;
        assert_eq!(scatter(values), Some(34.0));
        assert_eq!(scatter(Vec::new()), None);
    }
}
