//! The self-test of the tester as text.

use romer_record::benchmark::{
    Baseline, Benchmark, GapError, SelfTest, SelfTestItem, SelfTestObservation, SelfTestRequest,
    SelfTestTiming,
};
use romer_units::Duration;

use crate::number::grouped_short;
use crate::sentence::Text;

impl Text for SelfTestRequest {
    fn text(&self) -> String {
        match self {
            Self::Rate { load_ratio, dscp, interval_ns } => {
                let marked = if dscp == "cs0" { String::new() } else { format!(" marked {dscp}") };
                let load = percent_of_line(*load_ratio);
                format!("frames of 64 B{marked} at {load}, {interval_ns:.0} ns apart")
            }
            Self::Gap { gap_ns } => {
                format!("{} between frames of 64 B", Duration::from_nanos(*gap_ns).readable())
            }
            Self::Latency { load_ratio } => {
                format!("the latency of the link alone, at {}", percent_of_line(*load_ratio))
            }
        }
    }
}

impl Text for SelfTestObservation {
    fn text(&self) -> String {
        let Self { requested_frames, sent_frames, received_frames, invalid, timing } = self;
        let invalid = invalid.as_ref().map_or_else(String::new, |why| format!(" ({})", why.text()));
        format!(
            "{sent_frames} of {requested_frames} frames sent, {received_frames} received{invalid}; {}",
            timing.text()
        )
    }
}

impl Text for SelfTestTiming {
    fn text(&self) -> String {
        let error = |GapError { error_ns, limit_ns }: &GapError| {
            format!("{:.0} ns (limit {limit_ns:.0} ns)", error_ns.unwrap_or_default())
        };
        match self {
            Self::Gaps { sent, received } => {
                let received = received.as_ref().map_or_else(String::new, |received| {
                    format!(", error of received gaps: 75th percentile {}", error(received))
                });
                format!("error of transmitted gaps: median {}{received}", error(sent))
            }
            Self::Latency { median_ns, stddev_ns } => format!(
                "latency median {:.0} ns, standard deviation {:.0} ns",
                median_ns.unwrap_or_default(),
                stddev_ns.unwrap_or_default()
            ),
        }
    }
}

/// Which results a failure of this test affects, and how.
pub fn affected_results(test: &SelfTestItem) -> &'static str {
    match test.name.as_str() {
        gap if gap.starts_with("gap-") => {
            "this host did not keep the gaps between frames; jitter and burst results are less exact"
        }
        "loopback-latency" => "reported latencies may be too high",
        _ => "this host may limit throughput, loss and latency near this rate, not the device",
    }
}

/// What the self-test of a benchmark supports; without its failed tests.
pub fn tester_claims(document: &Benchmark) -> Vec<String> {
    let Some(found) = &document.self_test else { return Vec::new() };
    let mut claims = vec![rate_claim(found)];
    if let Some(error) = found.received_gap_error_ns {
        claims.push(format!("tester jitter (75th percentile): {}", micros(error)));
    }
    claims.extend(document.calibration.as_ref().map(latency_claim));
    claims
}

/// The failed tests of the self-test of a benchmark, each with the results that it affects.
pub(super) fn failed_tests(document: &Benchmark) -> impl Iterator<Item = String> {
    let failed = document.self_test.iter().flat_map(|found| &found.tests).filter(|test| !test.passed);
    failed.map(|test| format!("self-test failed: {}: {}", test.name, affected_results(test)))
}

fn rate_claim(found: &SelfTest) -> String {
    found.highest_pps.map_or_else(
        || "no rate was sustained: loss at any of these rates may be caused by the tester".into(),
        |pps| format!("64-byte frames: {pps:.0} frames/s sent and received, with the latency of each frame"),
    )
}

fn latency_claim(baseline: &Baseline) -> String {
    let [median, min] = [baseline.median_ns, baseline.min_ns].map(|nanos| micros(nanos.unwrap_or_default()));
    let subtracted =
        if baseline.subtracted { "; the median is subtracted from every reported latency" } else { "" };
    let device = baseline
        .device
        .as_ref()
        .map_or_else(String::new, |mac| format!(", with the device {mac} in between"));
    format!("tester latency: median {median}, minimum {min}{device}{subtracted}")
}

/// A load as a share of the line rate.
fn percent_of_line(ratio: f64) -> String {
    match grouped_short(ratio * 100.0, 1).as_str() {
        "100" => "the line rate".into(),
        percent => format!("{percent} % of the line rate"),
    }
}

/// A time in microseconds.
fn micros(nanos: f64) -> String {
    format!("{:.1} µs", nanos / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Failed tests of gaps limit jitter, and not the rate.
    #[test]
    fn gaps_limit_jitter() {
        let missed = SelfTestItem { name: "gap-200us".into(), ..SelfTestItem::default() };
        let found = SelfTest {
            tests: vec![missed],
            highest_pps: Some(14_881.0),
            received_gap_error_ns: Some(127_052.0),
            ..SelfTest::default()
        };
        let document = Benchmark { self_test: Some(found), ..Benchmark::default() };
        let claims = tester_claims(&document);
        assert!(claims[0].starts_with("64-byte frames: 14881 frames/s"), "{claims:?}");
        assert_eq!(claims[1..], ["tester jitter (75th percentile): 127.1 µs"]);
        let failed: Vec<String> = failed_tests(&document).collect();
        assert!(failed.len() == 1 && failed[0].starts_with("self-test failed: gap-200us"), "{failed:?}");
    }

    /// A subtracted latency of the tester is reported as such.
    #[test]
    fn subtracted_baseline() {
        let claim = |subtracted| {
            let latency = [Some(8_692.0), Some(7_001.0)];
            let baseline =
                Baseline { median_ns: latency[0], min_ns: latency[1], subtracted, ..Baseline::default() };
            latency_claim(&baseline)
        };
        let plain = "tester latency: median 8.7 µs, minimum 7.0 µs";
        assert_eq!(claim(false), plain);
        assert_eq!(claim(true), format!("{plain}; the median is subtracted from every reported latency"));
    }

    /// Tests have their load, their mark and their gaps.
    #[test]
    fn tests_in_words() {
        let rate = |load_ratio, dscp: &str| {
            SelfTestRequest::Rate { load_ratio, dscp: dscp.into(), interval_ns: 6_720.4 }.text()
        };
        assert_eq!(rate(1.0, "ef"), "frames of 64 B marked ef at the line rate, 6720 ns apart");
        assert_eq!(rate(1.1, "cs0"), "frames of 64 B at 110 % of the line rate, 6720 ns apart");
        let error = |nanos| GapError { error_ns: Some(nanos), limit_ns: 2_000.0 };
        let timing = SelfTestTiming::Gaps { sent: error(31.0), received: Some(error(41.0)) };
        let observed = SelfTestObservation {
            requested_frames: 9,
            sent_frames: 8,
            received_frames: 7,
            invalid: None,
            timing,
        };
        assert_eq!(
            observed.text(),
            "8 of 9 frames sent, 7 received; error of transmitted gaps: median 31 ns (limit 2000 ns), \
             error of received gaps: 75th percentile 41 ns (limit 2000 ns)"
        );
    }
}
