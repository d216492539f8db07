//! 200 targets in one process, beside one of them alone.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration as StdDuration;

use anyhow::{Context, Result};
use romer_host::gaps::Gaps;
use romer_measure::reading;
use romer_metrics::summary;
use romer_record::RoundTrip;
use romer_units::Duration;
use serde::Serialize;

use super::process::share;
use super::{Usage, measure, respond, watched};
use crate::figures::{Figures, untouched};
use crate::hosts::Hosts;
use crate::ours::RoundTrips;
use crate::results::Circumstances;

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
    /// The deviation of the round trips of each target, of the packets that no gap touched.
    pub(crate) deviations_ns: Vec<f64>,
    /// The share of a core that the measuring end had.
    pub(crate) cpu_ratio: Option<f64>,
}

impl Many {
    /// The target in the middle, the one above which one of twenty is, and the last.
    pub(crate) fn spread(&self) -> Option<[f64; 3]> {
        let summary = summary(&self.deviations_ns);
        Some([summary.median?, summary.p95?, summary.max?])
    }
}

/// What was measured: the rows of each target, and the looks at the measuring end.
pub(crate) struct Found {
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
) -> Result<Found> {
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
    Ok(Found { rows: rows.into_values().collect(), looks, length })
}

impl Found {
    /// What is to be kept of it, with the gaps of each core.
    pub(crate) fn judged(&self, circumstances: Circumstances, gaps: &[Gaps]) -> Many {
        let mut many = Many {
            circumstances,
            targets: self.rows.len() as u64,
            probes: 0,
            incomplete: 0,
            deviations_ns: Vec::new(),
            cpu_ratio: share(&self.looks, StdDuration::from_secs(1), self.length),
        };
        for rows in &self.rows {
            let trips = RoundTrips::of(rows);
            many.probes += trips.kernel.len() as u64 + trips.incomplete;
            many.incomplete += trips.incomplete;
            let figures = Figures::of(&untouched(gaps, &trips.kernel));
            many.deviations_ns.extend(figures.map(|figures| figures.stddev_ns));
        }
        many
    }
}
