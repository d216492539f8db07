//! The tests of the tester itself (seed 003, section 2.7), with nothing but a link between the two ports.
//!
//! What a symbol generator showed there is shown here by the two ends of one link: the gaps between departures as they
//! were, frames that were marked, reception above the line's rate, given gaps, and the latency of the link alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use romer_host::clock::monotonic_now;
use romer_method::arrangement::Pace;
use romer_method::{Ask, Frames, Phase};
use romer_metrics::summary;
use romer_record::benchmark::{BENCHMARK, Baseline, Benchmark, Device, SelfTest, SelfTestItem};
use romer_record::document::Summary;
use romer_units::{Dscp, Duration, FrameSize};

use crate::BenchError;
use crate::document::trial;
use crate::options::{BenchOptions, StreamOptions};
use crate::run::{check, setup};
use crate::tester::{Tester, TrialRecord};

/// A gap that was asked for is met where half of the departures are no further from it than this.
const NEAR: f64 = 2_000.0;
/// The load of reception above the line's rate.
const ABOVE: f64 = 1.1;
/// The load at which the latency of the link alone is measured.
const LIGHT: f64 = 0.1;

/// One test: what is sent, and what is to come of it.
struct Test {
    name: &'static str,
    asked: String,
    pace: Pace,
    dscp: Dscp,
    load: f64,
    /// The time from one departure to the next, nanoseconds; `None` where the latency counts.
    gap: Option<f64>,
}

/// Runs the tests between two ports with a link of their own.
///
/// # Errors
/// As of [`crate::run`].
pub fn self_test(
    options: &BenchOptions,
    stop: &AtomicBool,
    length: Duration,
) -> Result<Benchmark, BenchError> {
    check(options)?;
    let started = SystemTime::now();
    let begin = monotonic_now();
    let mut tester = Tester::open(options)?;
    if tester.probe(options, options.patience, stop)?.is_err() {
        return Err(BenchError::Silent(format!(
            "{} to {}): nothing came; the self-test needs a link from one port to the other",
            options.tx, options.rx
        )));
    }
    let mut found = SelfTest::default();
    let mut trials = Vec::new();
    let mut baseline = None;
    for test in tests(options) {
        if stop.load(Ordering::Acquire) {
            break;
        }
        let own = BenchOptions {
            streams: vec![StreamOptions { pace: test.pace, dscp: test.dscp, ..StreamOptions::default() }],
            ..options.clone()
        };
        let ask = Ask {
            case: 0,
            frames: Frames::Size(FrameSize::MINIMUM),
            phases: vec![Phase { load: test.load, length }],
            repeat: 0,
            purpose: test.name,
        };
        let at = (monotonic_now() - begin).as_nanos();
        let record = tester.trial(&own, &ask, stop)?;
        let item = judge(&test, &record);
        if record.invalid.is_none() {
            let pps = record.figures.carried.pps;
            if item.held && found.highest_pps.is_none_or(|highest| pps > highest) {
                found.highest_pps = Some(pps);
            }
            if test.gap.is_none() {
                baseline = Some(baseline_of(&record.figures.latency));
            }
        }
        found.tests.push(item);
        trials.push(trial(&own, &ask, &record, at));
    }
    found.claims = claims(&found, baseline.as_ref());
    let rfc3339 = |time| humantime::format_rfc3339_micros(time).to_string();
    Ok(Benchmark {
        schema: BENCHMARK.into(),
        started: rfc3339(started),
        ended: rfc3339(SystemTime::now()),
        partial: stop.load(Ordering::Acquire),
        procedure: "self-test".into(),
        criterion: "the tests of seed 003, section 2.7, over a link from one port to the other".into(),
        dut: Device::default(),
        setup: setup(options, &tester),
        trials,
        results: Vec::new(),
        differences: Vec::new(),
        verdicts: Vec::new(),
        soft_spots: Vec::new(),
        events: Vec::new(),
        calibration: baseline,
        self_test: Some(found),
        limits: Vec::new(),
        warnings: Vec::new(),
    })
}

fn tests(options: &BenchOptions) -> Vec<Test> {
    let line_gap = options.line.frame_time(FrameSize::MINIMUM);
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of one frame")]
    let nanos = |duration: Duration| duration.as_nanos() as f64;
    let full = |name, dscp, load, words: &str| Test {
        name,
        asked: format!("frames of 64 octets {words}, {:.0} ns apart", nanos(line_gap) / load),
        pace: Pace::Constant,
        dscp,
        load,
        gap: Some(nanos(line_gap) / load),
    };
    let mut tests = vec![
        full("line-rate", Dscp::DEFAULT, 1.0, "at the line's rate"),
        full("line-rate-marked", Dscp::EF, 1.0, "marked EF at the line's rate"),
        full("above-line-rate", Dscp::DEFAULT, ABOVE, "at 110 % of the line's rate"),
    ];
    // Preamble and frame, then the gap.
    let frame = nanos(line_gap) * 72.0 / 84.0;
    for (name, micros) in [("gap-100us", 100), ("gap-150us", 150), ("gap-200us", 200)] {
        tests.push(Test {
            name,
            asked: format!("{micros} us between frames of 64 octets"),
            pace: Pace::Gap(Duration::from_micros(micros)),
            dscp: Dscp::DEFAULT,
            load: 1.0,
            gap: Some(frame + nanos(Duration::from_micros(micros))),
        });
    }
    tests.push(Test {
        name: "loopback-latency",
        asked: "the latency of the link alone, at a tenth of the line's rate".into(),
        pace: Pace::Constant,
        dscp: Dscp::DEFAULT,
        load: LIGHT,
        gap: None,
    });
    tests
}

fn judge(test: &Test, record: &TrialRecord) -> SelfTestItem {
    let figures = &record.figures;
    let outcome = &figures.outcome;
    let whole = record.invalid.is_none() && outcome.lost == 0 && outcome.offered == outcome.intended;
    let marked = figures.markings.len() == 1
        && figures
            .markings
            .get(&test.dscp.to_string())
            .is_some_and(|out| out.contains_key(&test.dscp.to_string()));
    let counted = format!(
        "{} of {} frames sent, {} came{}",
        outcome.offered,
        outcome.intended,
        outcome.carried,
        record.invalid.as_ref().map_or(String::new(), |why| format!(" ({why})"))
    );
    let (values, near, words) = match test.gap {
        None => (figures.latency.clone(), true, latency_words(&figures.latency)),
        Some(gap) => {
            let gaps = summary(&record.gaps_between);
            let near = gaps.median.is_some_and(|median| (median - gap).abs() <= NEAR);
            let words = format!(
                "gaps of {:.0} ns in the median, half within {:.0} ns of it",
                gaps.median.unwrap_or_default(),
                gaps.iqr.unwrap_or_default() / 2.0
            );
            (gaps, near, words)
        }
    };
    SelfTestItem {
        name: test.name.into(),
        held: whole && marked && near,
        asked: test.asked.clone(),
        found: format!("{counted}; {words}"),
        values_ns: values,
    }
}

fn latency_words(latency: &Summary) -> String {
    format!(
        "latency {:.0} ns in the median, deviation {:.0} ns",
        latency.median.unwrap_or_default(),
        latency.stddev.unwrap_or_default()
    )
}

fn baseline_of(latency: &Summary) -> Baseline {
    Baseline {
        least_ns: latency.min,
        median_ns: latency.median,
        stddev_ns: latency.stddev,
        method: "a link from one port to the other, frames of 64 octets at a tenth of the line's rate".into(),
        subtracted: false,
    }
}

fn claims(found: &SelfTest, baseline: Option<&Baseline>) -> Vec<String> {
    let mut claims = Vec::new();
    match found.highest_pps {
        Some(pps) => claims.push(format!(
            "up to {pps:.0} frames of 64 octets a second are sent and taken in, each with its latency"
        )),
        None => claims.push("no rate was held: a loss at any of these rates may be the tester's own".into()),
    }
    for test in found.tests.iter().filter(|test| !test.held) {
        claims.push(format!("not met, so that nothing may be claimed that rests on it: {}", test.name));
    }
    if let Some(baseline) = baseline {
        claims.push(format!(
            "a latency holds {:.0} ns of the tester's own in the median, {:.0} ns at the least",
            baseline.median_ns.unwrap_or_default(),
            baseline.least_ns.unwrap_or_default()
        ));
    }
    claims
}
