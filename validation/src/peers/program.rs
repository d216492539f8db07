//! `romer measure` as users have it.

use std::path::Path;

use anyhow::{Context, Result};
use romer_units::Duration;
use serde_json::Value;

use super::{PeerSummary, output};
use crate::figures::Figures;
use crate::hosts::{FAR, Hosts};

/// What `program measure` says of the same path.
pub(crate) fn program(
    hosts: &Hosts,
    program: &Path,
    count: u64,
    interval: Duration,
    octets: u32,
) -> Result<PeerSummary> {
    let folder = tempfile::tempdir().context("cannot make a folder for the run")?;
    let mut command = Hosts::command(&hosts.near, program)?;
    command
        .args(["measure", "--quiet", "--json", "-", "--count", &count.to_string()])
        .args(["--interval", &format!("{}us", interval.as_nanos() / 1_000)])
        .args(["--packet-size", &format!("{octets}B"), "--out"])
        .arg(folder.path().join("run"))
        .arg(FAR.to_string());
    let text = output(command, "romer")?;
    let document: Value = serde_json::from_str(&text).context("cannot read what romer says")?;
    let figures = read_program(&document).context("romer says nothing of the round trip")?;
    Ok(PeerSummary { figures, timed: Vec::new() })
}

fn read_program(document: &Value) -> Option<Figures> {
    let summary = document.pointer("/round_trip/delay_ns")?;
    let of = |name: &str| summary.get(name)?.as_f64();
    let count = summary.get("count")?.as_u64()?;
    // The document's deviation divides by n - 1.
    let n = of("count")?;
    Some(Figures {
        count,
        min_ns: of("min")?,
        mean_ns: of("mean")?,
        max_ns: of("max")?,
        stddev_ns: of("stddev")? * ((n - 1.0) / n).sqrt(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_programs_deviation_is_brought_to_the_same_denominator() {
        let document = json!({ "round_trip": { "delay_ns":
            { "count": 4, "min": 1.0, "mean": 2.5, "max": 4.0, "stddev": (5.0_f64 / 3.0).sqrt() } } });
        let found = read_program(&document).unwrap();
        assert!((found.stddev_ns - (5.0_f64 / 4.0).sqrt()).abs() < 1e-12);
        assert_eq!(read_program(&json!({})), None);
    }
}
