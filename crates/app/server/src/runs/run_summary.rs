//! The figures of a run in the list of runs, read from its document.

use std::path::Path;

use romer_record::benchmark::Judgement;
use romer_record::document::{DelayKind, Limit, ProbeDirection};
use romer_record::run_list::RunFigures;
use romer_store::{BENCHMARK_FILE, measurement_text, untrusted};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{benchmark_job, limits};

/// Octets of a document that is read for the list.
const MAX_DOCUMENT_OCTETS: u64 = 16 << 20;

/// What the list says of a document.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outline {
    pub(super) figures: Vec<RunFigures>,
    /// How many limits and claims were judged.
    pub(super) limits: u64,
    /// Those that failed, in words.
    pub(super) failed_limits: Vec<String>,
}

/// A document of one stream, or of several.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Measured {
    measurements: Vec<Self>,
    target: String,
    forward: DirectionOutline,
    reverse: DirectionOutline,
    round_trip: DirectionOutline,
    voice: Vec<Voice>,
    limits: Vec<Limit>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DirectionOutline {
    delay_kind: Option<DelayKind>,
    delay_ns: Delay,
    loss: Loss,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delay {
    median: Option<f64>,
    p99: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Loss {
    ratio: Option<f64>,
}

#[derive(Deserialize)]
struct Voice {
    direction: ProbeDirection,
    #[serde(default)]
    mos: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Benchmarked {
    partial: bool,
    verdicts: Vec<Judgement>,
    limits: Vec<Limit>,
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_str(&untrusted::read_text(path, MAX_DOCUMENT_OCTETS).ok()?).ok()
}

/// The outline of a measurement in its folder; empty as long as there is no document.
pub(super) fn measurement(folder: &Path, partial: bool) -> Outline {
    let Some(mut document) =
        measurement_text(folder).ok().and_then(|text| serde_json::from_str::<Measured>(&text).ok())
    else {
        return Outline::default();
    };
    let several = std::mem::take(&mut document.measurements);
    let streams = if several.is_empty() { vec![document] } else { several };
    let limits: Vec<(&str, &[Limit])> =
        streams.iter().map(|stream| (stream.target.as_str(), &stream.limits[..])).collect();
    Outline {
        figures: [ProbeDirection::Forward, ProbeDirection::Reverse, ProbeDirection::RoundTrip]
            .into_iter()
            .filter_map(|way| figures(&streams, way))
            .collect(),
        limits: limits.iter().map(|(_, limits)| limits.len() as u64).sum(),
        failed_limits: limits::broken(&limits, partial),
    }
}

/// The outline of a benchmark; empty as long as there is no document.
pub(super) fn benchmark(folder: &Path) -> Outline {
    let Some(document) = read::<Benchmarked>(&folder.join(BENCHMARK_FILE)) else {
        return Outline::default();
    };
    Outline {
        figures: Vec::new(),
        limits: (document.verdicts.len() + document.limits.len()) as u64,
        failed_limits: benchmark_job::broken(&document.verdicts, &document.limits, document.partial),
    }
}

fn figures(streams: &[Measured], way: ProbeDirection) -> Option<RunFigures> {
    let directions = || {
        streams.iter().map(|stream| match way {
            ProbeDirection::Forward => &stream.forward,
            ProbeDirection::Reverse => &stream.reverse,
            ProbeDirection::RoundTrip | ProbeDirection::Both => &stream.round_trip,
        })
    };
    let most = |of: fn(&DirectionOutline) -> Option<f64>| directions().filter_map(of).reduce(f64::max);
    let rated = streams.iter().flat_map(|stream| &stream.voice).filter(|voice| voice.direction == way);
    let found = RunFigures {
        direction: way,
        delay_median_ns: most(|direction| direction.delay_ns.median),
        delay_p99_ns: most(|direction| direction.delay_ns.p99),
        delay_kind: directions().find_map(|direction| direction.delay_kind),
        loss_ratio: most(|direction| direction.loss.ratio),
        mos: rated.filter_map(|voice| voice.mos).reduce(f64::min),
    };
    (found.delay_median_ns.is_some() || found.loss_ratio.is_some()).then_some(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The list has the highest delay and loss of several streams, and the lowest MOS; failed limits are named.
    #[test]
    fn several_streams_show_their_worst() {
        let folder = tempfile::tempdir().unwrap();
        let stream = |median: f64, ratio: f64, mos: f64| {
            json!({
                "target": "h", "histograms": [[1, 2], [3, 4]],
                "forward": {"delay_kind": "absolute", "delay_ns": {"median": median, "p99": 2.0 * median}, "loss": {"ratio": ratio}},
                "reverse": {"delay_ns": {"median": null}, "loss": {"ratio": null}},
                "voice": [{"direction": "forward", "mos": mos}, {"direction": "reverse", "mos": 1.0}],
                "limits": [{"limit": "forward.loss.ratio<0.01", "passed": ratio < 0.01, "value": ratio}],
            })
        };
        let document = json!({"schema": "x", "measurements": [stream(5.0, 0.0, 4.1), stream(3.0, 0.5, 4.4)]});
        std::fs::write(folder.path().join("measurement.json"), document.to_string()).unwrap();
        let found = measurement(folder.path(), false);
        assert_eq!(
            found.figures,
            [RunFigures {
                direction: ProbeDirection::Forward,
                delay_median_ns: Some(5.0),
                delay_p99_ns: Some(10.0),
                delay_kind: Some(DelayKind::Absolute),
                loss_ratio: Some(0.5),
                mos: Some(4.1),
            }]
        );
        assert_eq!(found.limits, 2);
        assert_eq!(found.failed_limits, ["h: forward.loss.ratio<0.01, measured 50.0 %"]);
        std::fs::write(folder.path().join("measurement.json"), stream(7.0, 0.0, 4.0).to_string()).unwrap();
        let one = measurement(folder.path(), false);
        assert_eq!((one.figures[0].delay_median_ns, one.limits, one.failed_limits.len()), (Some(7.0), 1, 0));
        std::fs::write(folder.path().join("measurement.json"), "{").unwrap();
        assert_eq!(measurement(folder.path(), false), Outline::default());
    }

    /// A benchmark's claims and limits are counted, and those that failed are named.
    #[test]
    fn a_benchmark_shows_its_claims() {
        let folder = tempfile::tempdir().unwrap();
        let document = json!({
            "trials": [{}],
            "verdicts": [{
                "case": "none", "passed": false, "subject": {"code": "stream", "stream": "ef"}, "expected": {"code": "dropped"},
                "observed": {"code": "received", "received": 1, "sent": 2, "trials": null, "reservations": []},
            }],
            "limits": [{"limit": "loss_ratio<0.01", "passed": true, "value": 0.0}],
        });
        std::fs::write(folder.path().join(BENCHMARK_FILE), document.to_string()).unwrap();
        let found = benchmark(folder.path());
        assert_eq!(
            (found.limits, found.failed_limits),
            (
                2,
                vec![
                    "none, stream ef: expected is dropped (expect=drop), found 1 of 2 frames received"
                        .to_owned()
                ]
            )
        );
    }
}
