//! The tests of the tester itself (Chadda 2004, section 2.7), with nothing but a link between the two ports.
//!
//! What a symbol generator showed there is shown here by the two ends of one link: the gaps between departures as they
//! were, frames that were marked, reception above the line's rate, given gaps, and the latency of the link alone.
//!
//! Before a benchmark they are made over a virtual link beside the device: they prove the tester's program and host,
//! though not the network cards of its ports, for which there is the procedure `self-test` over a cable.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use romer_host::clock::{monotonic_now, rfc3339};
use romer_host::link::Network;
use romer_host::netns;
use romer_method::schedule::Pace;
use romer_method::{Frames, Phase, RemainingTrials, TrialRequest};
use romer_metrics::summary;
use romer_port::PortName;
use romer_record::benchmark::{
    Accounted, BENCHMARK, Baseline, Benchmark, Device, SelfTestItem, SelfTestObservation, SelfTestRequest,
    SelfTestTiming, Trial,
};
use romer_record::document::Summary;
use romer_record::warning::BenchmarkWarning;
use romer_units::{Dscp, Duration, FrameSize, Monotonic, Timestamp};
use romer_wire::ethernet::MacAddress;

use crate::check::check;
use crate::document::trial;
use crate::error::BenchError;
use crate::options::{BenchOptions, Claims, StreamOptions};
use crate::setup::setup;
use crate::testbed::{TestBed, TrialOptions};
use crate::tester::Tester;
use crate::tester_evidence::{RATE_TOLERANCE_FACTOR, TesterEvidence};
use crate::trial::TrialRecord;

mod gaps;

use gaps::GapDistribution;

/// The load of reception above the line's rate.
const ABOVE: f64 = 1.1;
/// The load at which the latency of the link alone is measured.
const LIGHT: f64 = 0.1;

/// How long is waited at the most around a test beside the device, where nothing but a link has to settle.
const SETTLE: Duration = Duration::from_millis(100);
/// What a test takes beside that.
const LEAD: Duration = Duration::from_millis(50);
/// Frames that a test sends at the most.
const MOST_FRAMES: f64 = 4e6;
/// How often the highest rate that is held is looked for between one that is and one that is not.
const HALVINGS: u32 = 4;

/// One test: what is sent, and what is to come of it.
struct Test {
    name: &'static str,
    requested: SelfTestRequest,
    pace: Pace,
    dscp: Dscp,
    load: f64,
    /// The time from one departure to the next, nanoseconds; `None` where the latency counts.
    gap: Option<f64>,
}

impl Test {
    /// As a trial of this load.
    fn asks(&self, options: &BenchOptions, length: Duration, load: f64) -> TrialRequest {
        let frames = Frames::Size(FrameSize::MINIMUM);
        let pps = frames.frames_per_second(options.line, self.load);
        TrialRequest {
            case: 0,
            frames,
            phases: vec![Phase { load, length: shortened(length, pps) }],
            repeat: 0,
            purpose: self.name,
        }
    }
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
    let mut tester = Tester::open(options)?;
    let (mut proof, trials) = prove(options, &mut tester, stop, length)?;
    let mut warnings = Vec::new();
    if let Some(mac) = tester.stranger(options) {
        warnings.push(BenchmarkWarning::DeviceInSelfTest { mac: mac.to_string() });
        if let Some(baseline) = &mut proof.baseline {
            baseline.device = Some(mac.to_string());
        }
    }
    Ok(Benchmark {
        schema: BENCHMARK.into(),
        started: rfc3339(started),
        ended: rfc3339(SystemTime::now()),
        partial: stop.load(Ordering::Acquire),
        procedure: "self-test".into(),
        criterion: options.criterion.clone(),
        dut: Device::default(),
        setup: setup(options, &tester),
        trials,
        results: Vec::new(),
        differences: Vec::new(),
        overall: Vec::new(),
        verdicts: Vec::new(),
        outliers: Vec::new(),
        events: Vec::new(),
        calibration: proof.baseline,
        self_test: Some(proof.found),
        limits: Vec::new(),
        warnings,
    })
}

/// Runs the tests over a virtual link in a namespace of their own, which ends with them: the ports of the benchmark
/// itself have the device between them. `None` where they were interrupted.
pub(crate) fn beside(
    options: &BenchOptions,
    length: Duration,
    stop: &AtomicBool,
) -> Result<Option<TesterEvidence>, BenchError> {
    let own = beside_options(options)?;
    let tested = netns::in_a_new_one(|| {
        let network = Network::open(None).map_err(BenchError::SelfTest)?;
        let [tx, rx] = [own.tx.interface(), own.rx.interface()];
        let made = network.add_veth(tx, rx, None);
        made.and_then(|()| network.set_up(tx, true))
            .and_then(|()| network.set_up(rx, true))
            .map_err(BenchError::SelfTest)?;
        let mut tester = Tester::open(&own)?;
        prove(&own, &mut tester, stop, length)
    });
    let (proof, _) = tested.map_err(BenchError::SelfTest)??;
    Ok((!stop.load(Ordering::Acquire)).then_some(proof))
}

/// The options of a benchmark whose ports are the two ends of a virtual link of this thread's namespace.
fn beside_options(options: &BenchOptions) -> Result<BenchOptions, BenchError> {
    let port = |name: &str| {
        name.parse::<PortName>()
            .map_err(|source| BenchError::Port { port: options.tx.clone(), source: Box::new(source) })
    };
    Ok(BenchOptions {
        tx: port("test0")?,
        rx: port("test1")?,
        source: IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2)),
        destination: IpAddr::V4(Ipv4Addr::new(198, 18, 0, 66)),
        // Nobody's, so that no host answers.
        next_hop: Some(MacAddress([2, 0, 0, 0x18, 0, 0x66])),
        virtual_line: true,
        streams: vec![StreamOptions::default()],
        frames: vec![Frames::Size(FrameSize::MINIMUM)],
        settle: options.settle.min(SETTLE),
        claims: Claims::default(),
        subtract_baseline: false,
        ..options.clone()
    })
}

/// How long the tests of a benchmark take, where there are any: where all are held, and at the most.
pub(crate) fn time(options: &BenchOptions) -> [Duration; 2] {
    let Some(length) = options.self_test else { return [Duration::ZERO; 2] };
    let beside = BenchOptions { settle: options.settle.min(SETTLE), ..options.clone() };
    takes(&beside, length).map(|left| left.time)
}

/// The tests of the procedure, as trials; those with a gap of their own at the load that this makes.
pub(crate) fn asks(options: &BenchOptions, length: Duration) -> Vec<TrialRequest> {
    let tests = tests(options);
    let ask = |test: &Test| {
        let line = nanos(options.line.frame_time(FrameSize::MINIMUM));
        test.asks(options, length, test.gap.map_or(test.load, |gap| line / gap))
    };
    tests.iter().map(ask).collect()
}

/// How many trials these are and how long they take, where all are held, and where each is made again and the highest rate is
/// looked for.
pub(crate) fn takes(options: &BenchOptions, length: Duration) -> [RemainingTrials; 2] {
    let one = |length| RemainingTrials::new(1, length + options.settle + LEAD);
    let asks = asks(options, length);
    let usual = asks.iter().fold(RemainingTrials::default(), |sum, ask| sum + one(ask.length()));
    let searched = (0..HALVINGS).fold(usual, |sum, _| sum + one(length));
    [usual, searched + searched]
}

/// All tests, each made again once where it was not held: the host may have been away.
fn prove(
    options: &BenchOptions,
    tester: &mut Tester,
    stop: &AtomicBool,
    length: Duration,
) -> Result<(TesterEvidence, Vec<Trial>), BenchError> {
    if tester.probe(options, options.patience, stop)?.is_err() && !stop.load(Ordering::Acquire) {
        return Err(BenchError::Silent(format!(
            "{} to {}): nothing arrived; the self-test needs a link between the ports",
            options.tx, options.rx
        )));
    }
    let begin = monotonic_now();
    let mut proving = SelfTestRun {
        options,
        tester,
        stop,
        length,
        begin,
        proof: TesterEvidence::default(),
        trials: Vec::new(),
        off: BTreeMap::new(),
        limit_pps: None,
    };
    for test in tests(options) {
        let item = proving.make(&test)?;
        proving.proof.found.tests.extend(item);
    }
    proving.find_highest()?;
    let SelfTestRun { mut proof, trials, off, .. } = proving;
    proof.found.received_gap_error_ns = off.into_values().reduce(f64::max);
    Ok((proof, trials))
}

/// The tests under way.
struct SelfTestRun<'a> {
    options: &'a BenchOptions,
    tester: &'a mut Tester,
    stop: &'a AtomicBool,
    length: Duration,
    begin: Timestamp<Monotonic>,
    proof: TesterEvidence,
    trials: Vec<Trial>,
    /// How far gaps were from what was asked for, by test.
    off: BTreeMap<&'static str, f64>,
    /// The highest rate that it could offer where it was too slow, frames a second.
    limit_pps: Option<f64>,
}

impl SelfTestRun<'_> {
    /// Makes a test, and once more where it was not held for another reason than that the tester is too slow for it; `None` where that
    /// was interrupted.
    fn make(&mut self, test: &Test) -> Result<Option<SelfTestItem>, BenchError> {
        match self.once(test)? {
            Some((first, is_slow)) if !first.passed && !is_slow => {
                Ok(Some(self.once(test)?.map_or(first, |(again, _)| again)))
            }
            first => Ok(first.map(|(item, _)| item)),
        }
    }

    /// What a test came to, and whether the tester was too slow for it.
    fn once(&mut self, test: &Test) -> Result<Option<(SelfTestItem, bool)>, BenchError> {
        if self.stop.load(Ordering::Acquire) {
            return Ok(None);
        }
        let own = BenchOptions {
            streams: vec![StreamOptions { pace: test.pace, dscp: test.dscp, ..StreamOptions::default() }],
            ..self.options.clone()
        };
        let ask = test.asks(self.options, self.length, test.load);
        let at = (monotonic_now() - self.begin).as_nanos();
        let record = self.tester.trial(&own, &ask, TrialOptions::default(), self.stop)?;
        if self.stop.load(Ordering::Acquire) {
            return Ok(None);
        }
        self.proof.found.ledger.push(accounted(&record));
        self.limit_pps = record.limit_pps.into_iter().chain(self.limit_pps).reduce(f64::max);
        let TestResult { item, all_came, off } = evaluate(test, &record);
        // The last time counts.
        off.map(|off| self.off.insert(test.name, off));
        if all_came {
            let highest = &mut self.proof.found.highest_pps;
            let intended = record.figures.intended.pps;
            *highest = Some(highest.map_or(intended, |highest| highest.max(intended)));
        }
        if record.invalid.is_none() && test.gap.is_none() {
            self.proof.baseline = Some(baseline_of(&record.figures.latency));
        }
        self.trials.push(trial(&own, &ask, &record, at));
        Ok(Some((item, record.is_slow())))
    }

    /// Where the line's rate was not held: the highest that is, by halving, and none above what the tester could offer.
    fn find_highest(&mut self) -> Result<(), BenchError> {
        let whole = Frames::Size(FrameSize::MINIMUM).frames_per_second(self.options.line, 1.0);
        let mut low = self.proof.found.highest_pps.unwrap_or(0.0) / whole;
        let mut high = self.limit_pps.map_or(1.0, |limit| (limit / whole).min(1.0));
        let mut best = None;
        for _ in 0..HALVINGS {
            if low >= high {
                break;
            }
            let load = f64::midpoint(low, high);
            let Some(item) = self.make(&full(self.options, "highest-rate", Dscp::DEFAULT, load))? else {
                break;
            };
            // Whether the gaps were met says nothing of the count.
            if self
                .proof
                .found
                .highest_pps
                .is_some_and(|highest| highest * RATE_TOLERANCE_FACTOR >= load * whole)
            {
                low = load;
                best = Some(item);
            } else {
                high = load;
            }
        }
        self.proof.found.tests.extend(best);
        Ok(())
    }
}

/// So long, or as long as there is room for the frames.
fn shortened(length: Duration, pps: f64) -> Duration {
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let most = (MOST_FRAMES * 1e9 / pps.max(1.0)) as i64;
    length.min(Duration::from_nanos(most))
}

/// Frames of 64 octets at a share of the line's rate.
fn full(options: &BenchOptions, name: &'static str, dscp: Dscp, load: f64) -> Test {
    let gap = nanos(options.line.frame_time(FrameSize::MINIMUM)) / load;
    Test {
        name,
        requested: SelfTestRequest::Rate { load_ratio: load, dscp: dscp.to_string(), interval_ns: gap },
        pace: Pace::Constant,
        dscp,
        load,
        gap: Some(gap),
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a frame or a gap")]
const fn nanos(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

fn tests(options: &BenchOptions) -> Vec<Test> {
    let mut tests = vec![
        full(options, "line-rate", Dscp::DEFAULT, 1.0),
        full(options, "line-rate-marked", Dscp::EF, 1.0),
        full(options, "above-line-rate", Dscp::DEFAULT, ABOVE),
    ];
    // Preamble and frame, then the gap.
    let frame = nanos(options.line.frame_time(FrameSize::MINIMUM)) * 72.0 / 84.0;
    for (name, micros) in [("gap-100us", 100), ("gap-150us", 150), ("gap-200us", 200)] {
        let gap = Duration::from_micros(micros);
        tests.push(Test {
            name,
            requested: SelfTestRequest::Gap { gap_ns: gap.as_nanos() },
            pace: Pace::Gap(gap),
            dscp: Dscp::DEFAULT,
            load: 1.0,
            gap: Some(frame + nanos(gap)),
        });
    }
    tests.push(Test {
        name: "loopback-latency",
        requested: SelfTestRequest::Latency { load_ratio: LIGHT },
        pace: Pace::Constant,
        dscp: Dscp::DEFAULT,
        load: LIGHT,
        gap: None,
    });
    tests
}

/// What was lost without a device, and what of it the tester would have laid to one.
fn accounted(record: &TrialRecord) -> Accounted {
    let figures = &record.figures;
    Accounted {
        offered_pps: figures.offered.pps,
        offered: figures.outcome.offered,
        lost: figures.outcome.lost,
        unaccounted: figures.attribution.unexplained,
    }
}

/// What a test came to.
struct TestResult {
    item: SelfTestItem,
    /// Whatever the gaps were, all frames were sent, came, and were marked as they were sent.
    all_came: bool,
    /// How far the gaps between arrivals were from what was asked for, where they are what the test is of.
    off: Option<f64>,
}

fn evaluate(test: &Test, record: &TrialRecord) -> TestResult {
    let figures = &record.figures;
    let outcome = &figures.outcome;
    let whole = record.invalid.is_none() && outcome.lost == 0 && outcome.offered == outcome.intended;
    let marked = figures.markings.len() == 1
        && figures
            .markings
            .get(&test.dscp.to_string())
            .is_some_and(|out| out.contains_key(&test.dscp.to_string()));
    let (values, near, timing, off) = match test.gap {
        None => {
            let latency = &figures.latency;
            let timing = SelfTestTiming::Latency { median_ns: latency.median, stddev_ns: latency.stddev };
            (latency.clone(), true, timing, None)
        }
        Some(gap) => {
            let given = matches!(test.pace, Pace::Gap(_));
            let GapDistribution { held, sent, received } =
                GapDistribution::compare(gap, &record.gaps_between, given.then_some(&record.gaps_come[..]));
            let off = received.and_then(|received| received.error_ns);
            (summary(&record.gaps_between), held, SelfTestTiming::Gaps { sent, received }, off)
        }
    };
    let item = SelfTestItem {
        name: test.name.into(),
        passed: whole && marked && near,
        requested: test.requested.clone(),
        observed: SelfTestObservation {
            requested_frames: outcome.intended,
            sent_frames: outcome.offered,
            received_frames: outcome.forwarded,
            invalid: record.invalid.clone(),
            timing,
        },
        values_ns: values,
    };
    TestResult { item, all_came: whole && marked, off }
}

fn baseline_of(latency: &Summary) -> Baseline {
    Baseline {
        min_ns: latency.min,
        median_ns: latency.median,
        stddev_ns: latency.stddev,
        device: None,
        subtracted: false,
    }
}
