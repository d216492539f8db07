//! Every procedure against simulated devices whose truth is known, and every fault caught and named.
//!
//! The devices are those of `romer-sim`; the tester is all of ours but the two ports. What chance decides is drawn from
//! fixed seeds; where a bound says how far a result may be from the truth, a fresh seed would break it with a
//! probability below 1e-6.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use romer_method::analysis::{ReceivedFrame, SentFrame, UNTAGGED};
use romer_method::bursts::Limits;
use romer_method::campaign::Procedure;
use romer_method::schedule::FrameSchedule;
use romer_method::search::Goal;
use romer_method::{Frames, TrialRequest, mlr};
use romer_record::benchmark::{
    Accounted, Benchmark, BenchmarkEntry, ChangedHeader, ClaimFinding, ClaimSubject, Expectation, Judgement,
    PortState, ProfileSide, Reservation, ResultBound, SchedulerFault, SelfTest, Trial,
};
use romer_record::warning::{BenchmarkWarning, Warning as _};
use romer_report::benchmark::{observed_text, subject_text};
use romer_report::warning::Text;
use romer_sim::device::{Device, Given, Stalls};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Dscp, Duration, FrameSize, LineRate};
use romer_wire::ethernet::MacAddress;

use crate::error::BenchError;
use crate::frames::{flows, known, sizes_of};
use crate::options::{BenchOptions, Case, Claims, Field, MarkingClaim, StreamOptions};
use crate::port_state::PortFault;
use crate::receive::ReceiveLog;
use crate::run::{Journal, Progress, Watcher, run_on};
use crate::send::SendLog;
use crate::testbed::{TestBed, TrialOptions};
use crate::tester::record;
use crate::tester_evidence::TesterEvidence;
use crate::trial::TrialRecord;

mod attributed;
mod compared;
mod conformance;
mod expected;
mod mixtures;
mod outages;
mod remarking;
mod scheduled;
mod selective_loss;

/// 10 Mbit/s: 14,881 frames of 64 octets a second.
const LINE: u64 = 10_000_000;

/// The codes of the events.
fn codes(document: &Benchmark) -> Vec<String> {
    document.events.iter().map(|event| event.kind.code()).collect()
}

/// Whether there is an event with this code.
fn has_event(document: &Benchmark, code: &str) -> bool {
    codes(document).iter().any(|one| one == code)
}

/// A tester with a simulated device between its ports.
#[derive(Clone)]
struct Simulated {
    device: Device,
    /// Trials made up to now.
    trials: u32,
    /// In this trial, counted from 0, the device reboots in the middle.
    reboots: Option<u32>,
    /// It reboots in the middle of every trial.
    always_reboots: bool,
    away: bool,
    /// It does not come back.
    gone: bool,
    /// Frames a second that the tester sends at the most.
    sends: f64,
    /// Frames a second above which the tester itself loses one of a hundred without knowing.
    loses_above: f64,
    /// The rate that the tester proves itself for, frames a second, at the most.
    proves: f64,
    /// It proves that though it sends less.
    proves_anyway: bool,
    /// What its tests say of its own losses.
    ledger: Vec<Accounted>,
    /// In the trial with this number, the device carries nothing of what leaves in this time, nanoseconds.
    absent: Option<(u32, std::ops::Range<i64>)>,
    /// In the trial with this number, the device holds what leaves in this time, nanoseconds, to its end.
    holds: Option<(u32, std::ops::Range<i64>)>,
    /// So many frames are sent until the device answers who looks whether it forwards.
    answers_after: u64,
    /// For how long nobody looks when a trial is over.
    unseen: Duration,
    /// In these trials, the tester stands still for these times, and then sends all at once.
    stands_still: Vec<(u32, std::ops::Range<i64>)>,
    /// In the trial with this number, the link of its sending port is lost.
    unplugged: Option<u32>,
    /// In the trial with this number, that port is switched off on this host, and on again.
    switched_off: Option<u32>,
    /// In the trial with this number, the tester drops unread what comes in this time, and the kernel counts it.
    overflows: Option<(u32, std::ops::Range<i64>)>,
    /// In the trials with these numbers, nothing comes of this stream that leaves in this time, nanoseconds.
    mute: Option<(std::ops::Range<u32>, usize, std::ops::Range<i64>)>,
    /// In each case of each repeat, all frames take up to so much longer, drawn by chance.
    drifts: Duration,
    /// Of frames of so many octets one of so many is lost.
    weak_at: Option<(u32, usize)>,
    /// Frames of so many octets are dropped in the trials with these numbers, from so many nanoseconds on in the first.
    drops: Option<(u32, std::ops::Range<u32>, i64)>,
    /// Frames of more octets are dropped.
    drops_above: Option<u32>,
    /// Of frames of so many octets one of so many comes with another payload.
    corrupts: Option<(u32, usize)>,
    /// The device puts an MPLS label of four octets before each packet.
    labels: bool,
    /// How long a frame is under way to it.
    path: Duration,
    /// Nothing comes of this stream while it is looked whether the device forwards.
    silent_stream: Option<usize>,
    /// The sending port is removed while it is looked whether the device forwards, of which nothing comes.
    removed_while_looking: bool,
    /// Whether it was looked.
    has_looked: bool,
    /// From this trial on, the sending port is in this state.
    port_state: Option<(u32, PortState)>,
    /// In the trial with this number, the wait for frames ends when half of the time to send is over, and they still come.
    waits_too_briefly: Option<u32>,
}

/// A claim, `IN=OUT`, of a case or of all.
fn claimed(case: Option<&str>, field: Field, marking: &str) -> MarkingClaim {
    let (sent, out) = marking.split_once('=').unwrap();
    MarkingClaim { case: case.map(str::to_owned), field, sent: sent.into(), out: out.into() }
}

impl Simulated {
    fn with(device: Device) -> Self {
        Self {
            device,
            trials: 0,
            reboots: None,
            always_reboots: false,
            away: false,
            gone: false,
            sends: f64::INFINITY,
            loses_above: f64::INFINITY,
            proves: 1e6,
            proves_anyway: false,
            ledger: Vec::new(),
            absent: None,
            holds: None,
            answers_after: 1,
            unseen: Duration::ZERO,
            stands_still: Vec::new(),
            unplugged: None,
            switched_off: None,
            overflows: None,
            mute: None,
            drifts: Duration::ZERO,
            weak_at: None,
            drops: None,
            drops_above: None,
            corrupts: None,
            labels: false,
            path: Duration::ZERO,
            silent_stream: None,
            removed_while_looking: false,
            has_looked: false,
            port_state: None,
            waits_too_briefly: None,
        }
    }
}

impl TestBed for Simulated {
    fn trial(
        &mut self,
        options: &BenchOptions,
        ask: &TrialRequest,
        manner: TrialOptions,
        _: &AtomicBool,
    ) -> Result<TrialRecord, BenchError> {
        let flows = flows(options);
        let overheads: Vec<u32> = flows.iter().map(|flow| flow.overhead).collect();
        let mut sent = SendLog { left: vec![Vec::new(); flows.len()], ..SendLog::default() };
        sent.intended = vec![0; flows.len()];
        let tos: Vec<u8> = known(options).iter().map(|stream| stream.tos).collect();
        let mut given: Vec<(Given, u32)> = Vec::new();
        #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of one frame")]
        let apart = (1e9 / self.sends) as i64;
        let (mut free, mut last) = (0, 0);
        let seed = options.seed_of(ask.repeat);
        for due in FrameSchedule::new(&flows, &ask.frames, options.line, &ask.phases, seed) {
            sent.intend(&overheads, due);
            let mut at = due.at.as_nanos();
            let still =
                self.stands_still.iter().find(|(trial, still)| *trial == self.trials && still.contains(&at));
            if let Some((_, still)) = still {
                sent.punctuality.longest_catch_up += 1;
                at = still.end;
            }
            if at < free {
                continue;
            }
            sent.punctuality.reaches(due.at, [last, at].map(Duration::from_nanos));
            last = at;
            let stream = usize::from(due.stream);
            let sequence = u32::try_from(sent.left[stream].len()).unwrap();
            sent.left[stream].push(SentFrame { due: due.at.as_nanos(), sent: at, octets: due.octets });
            free = at + apart;
            given.push((Given { at, class: stream, octets: due.octets, tos: tos[stream] }, sequence));
        }
        let mut device = self.device.clone();
        if self.always_reboots || self.reboots == Some(self.trials) {
            device.dies_at = Some(Duration::from_nanos(ask.length().as_nanos() / 2));
            self.away = true;
        }
        let drawn = RandomStream::new(options.seed, [u32::from_be_bytes(*b"slow"), ask.repeat]);
        let share = drawn.unit(u64::try_from(ask.case).unwrap());
        #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of a latency")]
        let late = (self.drifts.as_secs_f64() * share * 1e9) as i64;
        device.latency += Duration::from_nanos(late);
        let [a, b, c, d, e, _] = options.seed.0;
        self.trials += 1;
        let frames: Vec<Given> = given.iter().map(|(frame, _)| *frame).collect();
        let rate = ask.frames.frames_per_second(options.line, ask.load());
        let taken = device.carry(&frames, Seed([a, b, c, d, e, self.trials]));
        let trial = self.trials - 1;
        let is_gone =
            |at: i64| matches!(&self.absent, Some((when, gone)) if *when == trial && gone.contains(&at));
        let taken = taken.iter().filter(|one| rate <= self.loses_above || one.place % 100 != 50);
        let taken = taken.filter(|one| !is_gone(given[one.place].0.at));
        let is_mute = |frame: &Given| {
            let mute = self.mute.as_ref().filter(|(trials, ..)| trials.contains(&trial));
            mute.is_some_and(|(_, stream, times)| frame.class == *stream && times.contains(&frame.at))
        };
        let taken = taken.filter(|one| !is_mute(&given[one.place].0));
        let is_one = |some: Option<(u32, usize)>, place: usize| {
            some.is_some_and(|(octets, of)| octets == given[place].0.octets && place % of == 2)
        };
        let taken = taken.filter(|one| !is_one(self.weak_at, one.place));
        let is_dropped = |frame: &Given| {
            let drops = self
                .drops
                .as_ref()
                .filter(|(octets, trials, _)| *octets == frame.octets && trials.contains(&trial));
            drops.is_some_and(|(_, trials, from)| trial > trials.start || frame.at >= *from)
        };
        let taken = taken.filter(|one| !is_dropped(&given[one.place].0));
        let most = self.drops_above.unwrap_or(u32::MAX);
        let taken = taken.filter(|one| given[one.place].0.octets <= most);
        let came = taken.map(|one| {
            let (frame, sequence) = given[one.place];
            let held = self.holds.as_ref().filter(|(when, held)| *when == trial && held.contains(&frame.at));
            ReceivedFrame {
                received: held.map_or(one.at, |(_, held)| one.at.max(held.end)),
                sent: frame.at,
                sequence,
                stream: u16::try_from(frame.class).unwrap(),
                octets: u16::try_from(frame.octets).unwrap() + if self.labels { 4 } else { 0 },
                tos: one.tos,
                tag: UNTAGGED,
                intact: !is_one(self.corrupts, one.place),
                comparable: !self.labels,
            }
        });
        let overflow =
            self.overflows.as_ref().filter(|(when, _)| *when == trial).map(|(_, full)| full.clone());
        let (dropped, came): (Vec<ReceivedFrame>, Vec<ReceivedFrame>) =
            came.partition(|came| overflow.as_ref().is_some_and(|full| full.contains(&came.received)));
        let still_arriving = self.waits_too_briefly == Some(trial);
        let wait = if still_arriving { ask.length().as_nanos() / 2 } else { i64::MAX };
        let came: Vec<ReceivedFrame> = came.into_iter().filter(|came| came.received < wait).collect();
        // All else that comes is waited for.
        let last = came.iter().map(|came| came.received).max().unwrap_or(0).max(ask.length().as_nanos());
        let listened = Some(Duration::from_nanos(last) + Duration::from_secs(1));
        let drops = dropped.len() as u64;
        let mut received = ReceiveLog { came, listened, drops, still_arriving, ..ReceiveLog::default() };
        for _ in received.came.iter().filter(|_| self.labels) {
            received.headers.note(ChangedHeader::EtherType { ether_type: 0x8847 });
        }
        let tx = |at: Option<u32>| at.filter(|when| *when == trial).map(|_| options.tx.clone());
        let (link_lost, switched_off) = (tx(self.unplugged), tx(self.switched_off));
        // What is due without a link waits for it.
        let waits = self.stands_still.iter().find(|(when, _)| link_lost.is_some() && *when == trial);
        sent.refused_at = waits.map(|(_, still)| Duration::from_nanos(still.start));
        let record = record(options, ask, manner.baseline, false, sent, received);
        Ok(TrialRecord { link_lost, switched_off, unseen: self.unseen, ..record })
    }

    /// Who is patient sees the device come back.
    fn probe(
        &mut self,
        options: &BenchOptions,
        patience: Duration,
        _: &AtomicBool,
    ) -> Result<Result<u64, Vec<u64>>, BenchError> {
        if self.away && patience >= options.patience && !self.gone {
            self.away = false;
        }
        self.has_looked = true;
        if self.removed_while_looking {
            return Ok(Err(vec![1; options.streams.len()]));
        }
        if let Some(silent) = self.silent_stream {
            let sent = |number| if number == silent { 30 } else { 0 };
            return Ok(Err((0..options.streams.len()).map(sent).collect()));
        }
        let flows = flows(options);
        let own = options.streams.iter().zip(&flows).flat_map(|(stream, flow)| {
            let own = stream.frames.as_ref().map_or(&options.frames[..], std::slice::from_ref);
            own.iter().flat_map(|frames| sizes_of(frames, flow.least))
        });
        let now = self.trials.saturating_sub(1);
        let drops = self.drops.as_ref().filter(|(_, trials, _)| self.trials > 0 && trials.contains(&now));
        let dropped = [self.device.drops_size, drops.map(|(octets, ..)| *octets)];
        let mut own = own.peekable();
        let all_dropped = own.peek().is_some() && own.all(|octets| dropped.contains(&Some(octets)));
        Ok(if self.away || all_dropped {
            Err(vec![1; options.streams.len()])
        } else {
            Ok(self.answers_after)
        })
    }

    fn run_self_test(
        &mut self,
        _: &BenchOptions,
        _: Duration,
        _: &AtomicBool,
    ) -> Result<Option<TesterEvidence>, BenchError> {
        let own = if self.proves_anyway { f64::INFINITY } else { self.sends.min(self.loses_above) };
        let highest = own.min(self.proves);
        let found =
            SelfTest { highest_pps: Some(highest), ledger: self.ledger.clone(), ..SelfTest::default() };
        Ok(Some(TesterEvidence { found, baseline: None }))
    }

    fn longest(&self, _: &BenchOptions, _: &Frames) -> Result<usize, BenchError> {
        Ok(1_518)
    }

    fn port_fault(&self, options: &BenchOptions) -> Option<PortFault> {
        if self.removed_while_looking && self.has_looked {
            return Some(PortFault { port: options.tx.clone(), state: PortState::Gone });
        }
        let own = self.port_state.as_ref().filter(|(from, _)| self.trials >= *from);
        let state = own.map(|(_, state)| state.clone()).or(self.away.then_some(PortState::NoCarrier))?;
        Some(PortFault { port: options.tx.clone(), state })
    }

    fn path(&self) -> Duration {
        self.path
    }

    fn next_hop(&self) -> MacAddress {
        MacAddress([2, 0, 0, 0, 0, 1])
    }

    fn probes(&self) -> u64 {
        0
    }
}

/// Keeps all, and stops after so many trials.
#[derive(Default)]
struct RecordingWatcher {
    entries: Vec<BenchmarkEntry>,
    stop: AtomicBool,
    stop_after: Option<usize>,
}

struct Hand<'a>(&'a mut Vec<BenchmarkEntry>, &'a AtomicBool, Option<usize>);

impl Watcher for Hand<'_> {
    fn begins(&mut self, _: &Progress<'_>) {}

    fn keep(&mut self, entry: &BenchmarkEntry) -> Result<(), BenchError> {
        self.0.push(entry.clone());
        let trials = self.0.iter().filter(|entry| matches!(entry, BenchmarkEntry::Trial { .. })).count();
        if self.2.is_some_and(|after| trials >= after) {
            self.1.store(true, Ordering::Release);
        }
        Ok(())
    }
}

fn run(options: &BenchOptions, bed: Simulated) -> Benchmark {
    let mut keeper = RecordingWatcher::default();
    let mut hand = Hand(&mut keeper.entries, &keeper.stop, None);
    run_on(bed, options, None, &keeper.stop, &mut hand).unwrap()
}

fn sizes(sizes: &[u32]) -> Vec<Frames> {
    sizes.iter().map(|size| Frames::Size(FrameSize::new(*size).unwrap())).collect()
}

fn options(procedure: Procedure) -> BenchOptions {
    BenchOptions {
        name: "load-sweep",
        tx: "a".parse().unwrap(),
        rx: "b".parse().unwrap(),
        source: "198.18.0.2".parse().unwrap(),
        destination: "198.19.0.2".parse().unwrap(),
        next_hop: None,
        line: LineRate::new(LINE).unwrap(),
        virtual_line: true,
        streams: vec![StreamOptions::default()],
        frames: sizes(&[128]),
        too_small: Vec::new(),
        procedure,
        criterion: String::new(),
        repeats: 1,
        settle: Duration::ZERO,
        patience: Duration::from_secs(5),
        case_time: Duration::from_secs(600),
        cases: vec![Case { name: "baseline".into(), command: None }],
        reset: None,
        claims: Claims::default(),
        labels: BTreeMap::new(),
        self_test: Some(Duration::from_millis(1)),
        subtract_baseline: false,
        capture: None,
        seed: Seed([1, 2, 3, 4, 5, 6]),
        notes: Vec::new(),
    }
}

pub(crate) fn sweep(loads: &[f64]) -> BenchOptions {
    options(Procedure::Sweep { loads: loads.to_vec(), length: Duration::from_secs(1) })
}

fn goal(loss_ratio: f64) -> Goal {
    let second = Duration::from_secs(1);
    Goal { loss_ratio, least: 0.01, most: 1.0, resolution: 0.005, short: second, full: second }
}

/// A device that carries so much of the line and holds so many frames.
fn carries(share: f64, buffer: usize) -> Device {
    Device::sound(share * 1e7, buffer)
}

fn value(document: &Benchmark, quantity: &str) -> f64 {
    let found = document.results.iter().find(|result| result.quantity == quantity);
    found.and_then(|result| result.mean).unwrap_or_else(|| panic!("no {quantity}: {:#?}", document.results))
}

/// Why a trial is invalid, as text; empty if it is valid.
fn why(trial: &Trial) -> String {
    trial.invalid.as_ref().map(Text::text).unwrap_or_default()
}

fn broken(document: &Benchmark) -> Vec<String> {
    let failed = document.verdicts.iter().filter(|one| one.passed == Some(false));
    failed.map(subject_text).collect()
}

#[test]
fn a_sweep_finds_what_is_carried_and_how_long_it_takes() {
    let device = Device { latency: Duration::from_micros(40), ..carries(0.6, 20) };
    let options = BenchOptions { frames: sizes(&[64, 512]), ..sweep(&[0.2, 0.5, 0.8]) };
    let document = run(&options, Simulated::with(device));
    assert_eq!(document.trials.len(), 6);
    for trial in &document.trials {
        // All below 60 %, and 60 % above it, with the buffer's 20 frames.
        let truth = trial.intended_load.percent.min(60.0);
        let more = 25.0 * 100.0 / trial.intended_load.frames as f64 * trial.intended_load.percent / 100.0;
        assert!((trial.forwarded.percent - truth).abs() < 0.1 + more, "{} {truth}", trial.forwarded.percent);
        let own = f64::from(trial.frame_size.unwrap() + 20) * 8e9 / 6e6 + 40_000.0;
        assert!((trial.latency_ns.min.unwrap() - own).abs() < 2.0, "{:?} {own}", trial.latency_ns.min);
        if trial.intended_load.percent > 60.0 {
            // The last of the buffer waits for all before it.
            let most = trial.latency_ns.max.unwrap() - 40_000.0;
            let full = (own - 40_000.0) * 21.0;
            assert!((most / full - 1.0).abs() < 0.06, "{most} {full}");
        }
    }
    assert_eq!(broken(&document), Vec::<&str>::new());
}

#[test]
fn throughput_is_the_capacity_and_what_the_buffer_swallows() {
    for (share, buffer) in [(0.3, 10), (0.77, 10), (0.5, 200)] {
        let options = BenchOptions { name: "throughput", ..options(Procedure::Throughput(goal(0.0))) };
        let document = run(&options, Simulated::with(carries(share, buffer)));
        let found = value(&document, "throughput_percent");
        // In a second 8,446 frames of 128 B make 100 %.
        let swallowed = f64::from(u32::try_from(buffer).unwrap() + 2) / 84.46;
        assert!(found > share * 100.0 - 0.5 && found < share * 100.0 + swallowed, "{share}: {found}");
    }
}

#[test]
fn noise_breaks_the_criterion_without_loss_and_not_the_one_that_allows_for_it() {
    let noisy = Device { noise: 0.001, ..carries(0.5, 10) };
    let strict = options(Procedure::Throughput(goal(0.0)));
    let strict = run(&strict, Simulated::with(noisy.clone()));
    // 84 frames at the least load lose nothing with 92 %; 1,000 frames do with 37 %, 14,000 with 1e-6.
    assert!(value(&strict, "throughput_percent") < 50.0);
    let allowed = run(&options(Procedure::Throughput(goal(0.005))), Simulated::with(noisy.clone()));
    // 0.1 % of 4,200 frames is 4 lost; 21 or more have a probability below 1e-8. Above 50.5 % half a percent is lost to
    // capacity alone.
    let found = value(&allowed, "throughput_percent");
    assert!(found > 49.0 && found < 51.0, "{found}");
    let goals = vec![mlr::Goal {
        final_length: Duration::from_secs(1),
        length_sum: Duration::from_secs(3),
        loss_ratio: 0.005,
        exceed_ratio: 0.5,
    }];
    let plan =
        mlr::SearchPlan { goals, loads: [0.01, 1.0], width: 0.005, first_length: Duration::from_millis(500) };
    let mlr = run(&options(Procedure::Mlr(plan)), Simulated::with(noisy));
    let found = value(&mlr, "throughput_percent");
    assert!(found > 49.0 && found < 51.0, "{found}");
}

#[test]
fn stalls_are_seen_in_latency_and_jitter() {
    let stalls = Stalls { every: Duration::from_millis(100), length: Duration::from_millis(5) };
    let device = Device { stalls: Some(stalls), ..carries(1.0, 1_000) };
    let document = run(&sweep(&[0.2]), Simulated::with(device));
    let trial = &document.trials[0];
    // A frame waits for the whole of a stall but what was over of it when it came: below one distance of frames.
    let most = trial.latency_ns.max.unwrap();
    assert!(most > 4.4e6 && most < 5.2e6, "{most}");
    let peak = trial.jitter_ns.peak_to_peak.mean.unwrap();
    assert!((peak - (most - trial.latency_ns.min.unwrap())).abs() < 1.0, "{peak}");
}

#[test]
fn frame_loss_is_what_the_capacity_leaves() {
    let procedure = Procedure::FrameLoss { step: 0.1, most: 1.0, length: Duration::from_secs(1) };
    let document = run(&options(procedure), Simulated::with(carries(0.65, 5)));
    let losses: Vec<f64> =
        document.trials.iter().map(|one| one.lost as f64 / one.offered.frames as f64).collect();
    // 100 % to 70 % lose 1 - 65/load; 60 % and 50 % lose nothing, and end it.
    assert_eq!(losses.len(), 6);
    for (loss, load) in losses.iter().zip([100.0, 90.0, 80.0, 70.0]) {
        assert!((loss - (1.0 - 65.0 / load)).abs() < 0.002, "{losses:?}");
    }
    assert!(losses[4] + losses[5] < 1e-9);
}

#[test]
fn the_longest_burst_tells_the_buffer() {
    let limits = Limits { longest: Duration::from_secs(2), step: 1, line: LineRate::new(LINE).unwrap() };
    let procedure = Procedure::BackToBack { goal: goal(0.0), limits };
    let document = run(&options(procedure), Simulated::with(carries(0.5, 500)));
    // Half leaves meanwhile: twice the buffer fits.
    let found = value(&document, "burst_frames");
    assert!((found - 1_000.0).abs() <= 6.0, "{found}");
    // The throughput is found too high by what the buffer swallows in its second.
    let truth = 500.0 / 8_445.95 * 1e9;
    let corrected = value(&document, "corrected_buffer_ns");
    assert!((corrected / truth - 1.0).abs() < 0.15, "{corrected} {truth}");
}

/// Equal repeats leave open of the corrected buffer what the burst's length and the throughput do.
#[test]
fn corrected_buffer_has_error_of_its_inputs() {
    let limits = Limits { longest: Duration::from_secs(2), step: 1, line: LineRate::new(LINE).unwrap() };
    let procedure = Procedure::BackToBack { goal: goal(0.0), limits };
    let asked = BenchOptions { repeats: 3, ..options(procedure) };
    let document = run(&asked, Simulated::with(carries(0.5, 500)));
    let of = |quantity: &str| {
        let found = document.results.iter().find(|result| result.quantity == quantity).unwrap();
        let [low, high] = found.interval.unwrap();
        (found.mean.unwrap(), 0.5 * (high - low))
    };
    let ((burst, burst_half), (share, share_half)) = (of("burst_frames"), of("throughput_percent"));
    let second = 1e9 / 8_445.95;
    let truth = (burst_half * second * (1.0 - share / 100.0)).hypot(burst * second * share_half / 100.0);
    let (_, half) = of("corrected_buffer_ns");
    assert!((half / truth - 1.0).abs() < 0.05, "{half} {truth}");
}

#[test]
fn recovery_is_how_long_the_device_sulks() {
    let device = Device { sulks: Duration::from_millis(300), ..carries(0.5, 10) };
    let lengths = [Duration::from_secs(1), Duration::from_secs(1)];
    let document = run(&options(Procedure::Recovery { goal: goal(0.0), lengths }), Simulated::with(device));
    // 300 ms from the last frame that found no room, which is within some ms of the overload's end; then one of twenty
    // frames is lost of the 2,100 a second: none of the last 270 with a probability of 1e-6.
    let found = value(&document, "recovery_ns");
    assert!(found > 300e6 - 130e6 - 20e6 && found <= 300e6, "{found}");
}

#[test]
fn a_reset_is_as_long_as_the_device_is_away() {
    let procedure = Procedure::Reset { load: 0.3, length: Duration::from_secs(2) };
    let options = BenchOptions { reset: Some("true".into()), ..options(procedure) };
    let away = [Duration::from_millis(500), Duration::from_millis(1_250)];
    let document = run(&options, Simulated::with(Device { away: Some(away), ..carries(1.0, 10) }));
    for quantity in ["reset_by_loss_ns", "reset_by_times_ns"] {
        // Two frames' distance at 2,534 a second.
        let found = value(&document, quantity);
        assert!((found - 750e6).abs() < 1.6e6, "{quantity}: {found}");
    }
    assert_eq!(document.results[0].bounded_by, None);
    let unshown = |document: &Benchmark| {
        document.warnings.iter().any(|one| matches!(one, BenchmarkWarning::ResetWithoutLoss { .. }))
    };
    assert!(!unshown(&document) && unshown(&run(&options, Simulated::with(carries(1.0, 10)))));
    let gone = Device { dies_at: Some(Duration::from_millis(500)), ..carries(1.0, 10) };
    let document = run(&options, Simulated::with(gone));
    assert!((value(&document, "reset_by_loss_ns") - 1_500e6).abs() < 1.6e6);
    assert_eq!(document.results[0].bounded_by, Some(ResultBound::TrialEnd));
}

#[test]
fn what_is_broken_is_named() {
    let only = |device: Device, options: &BenchOptions| {
        let document = run(options, Simulated::with(device));
        broken(&document)
    };
    let several = BenchOptions { frames: sizes(&[64, 128, 256]), ..sweep(&[0.3]) };
    let drops = Device { drops_size: Some(128), ..carries(1.0, 100) };
    assert_eq!(only(drops, &several), ["frames of 128 B"]);
    let reorders = Device { reorders: 0.01, ..carries(1.0, 100) };
    assert_eq!(only(reorders, &sweep(&[0.3])), ["order"]);
    let duplicates = Device { duplicates: 0.01, ..carries(1.0, 100) };
    assert!(only(duplicates, &sweep(&[0.3])).contains(&"copies".to_owned()));
    let claims = Claims { markings: vec![claimed(None, Field::CodePoint, "ef=ef")], ..Claims::default() };
    let voice = StreamOptions { dscp: Dscp::EF, ..StreamOptions::default() };
    let marked = BenchOptions { claims, streams: vec![voice], ..sweep(&[0.3]) };
    assert_eq!(only(carries(1.0, 100), &marked), Vec::<String>::new());
    let remarks = Device { remarks: [(46, 10)].into(), ..carries(1.0, 100) };
    assert_eq!(only(remarks, &marked), ["code point ef"]);
}

#[test]
fn the_testers_standstill_is_not_the_devices_loss() {
    // What is sent in a burst after it is more than the device holds.
    let still = vec![(1, 50_000_000..80_000_000)];
    let bed = Simulated { stands_still: still, ..Simulated::with(carries(0.9, 20)) };
    let document = run(&sweep(&[0.2, 0.3, 0.4]), bed);
    let invalid = document.trials.iter().filter(|trial| trial.invalid.is_some());
    let bad: Vec<String> = invalid.map(why).collect();
    assert_eq!((bad.len(), document.trials.len()), (1, 4), "{bad:?}");
    assert!(bad[0].contains("stalled"), "{bad:?}");
    for result in document.results.iter().filter(|result| result.quantity == "loss_ratio") {
        let [low, high] = result.interval.unwrap();
        assert_eq!((result.mean, result.method.as_str(), low), (Some(0.0), "none-of-n", 0.0));
        assert!(high > 0.0 && high < 0.02, "{high}");
    }
}

#[test]
fn the_testers_overload_is_never_the_devices_loss() {
    // 8,446 frames of 128 B a second are the line; the tester sends 4,000 at the most, the device carries 90 %.
    let slow = Simulated { sends: 4_000.0, ..Simulated::with(carries(0.9, 100)) };
    let document = run(&options(Procedure::Throughput(goal(0.0))), slow);
    let found = value(&document, "throughput_percent");
    assert!(found < 48.0, "{found}");
    let bounds: Vec<_> = document.results.iter().filter_map(|one| one.bounded_by).collect();
    assert!(!bounds.is_empty() && bounds.iter().all(|bound| *bound == ResultBound::Tester), "{bounds:?}");
    // What it loses without knowing is above the rate for which it has proved itself.
    let lossy = Simulated { loses_above: 4_000.0, ..Simulated::with(carries(0.9, 100)) };
    let document = run(&sweep(&[0.3, 0.6, 0.8]), lossy.clone());
    for result in document.results.iter().filter(|one| one.quantity == "loss_ratio") {
        let proven = result.load_percent.unwrap() < 47.0;
        assert_eq!(result.mean, proven.then_some(0.0), "{result:?}");
    }
    let document = run(&options(Procedure::Throughput(goal(0.0))), lossy.clone());
    assert!(document.results.iter().any(|one| one.bounded_by.is_some()));
    // Streams have frames of their own: what counts is what was due, 11,905 of 64 octets and not 6,757 of 128.
    let small = StreamOptions { frames: sizes(&[64]).pop(), ..StreamOptions::default() };
    let document = run(
        &BenchOptions { streams: vec![small], ..sweep(&[0.8]) },
        Simulated { loses_above: 6_000.0, ..lossy },
    );
    let why = why(&document.trials[0]);
    assert!(why.contains("at 11905 frames/s"), "{why}");
    assert_eq!(crate::informative(&document).told, 0, "nothing was proved at that rate");
    // Without the test it would have been taken for the device's.
    let blind = BenchOptions { self_test: None, ..sweep(&[0.8]) };
    let lossy = Simulated { loses_above: 4_000.0, ..Simulated::with(carries(0.9, 100)) };
    let document = run(&blind, lossy);
    assert!(document.warnings.contains(&BenchmarkWarning::SelfTestMissing { interrupted: false }));
    assert!(value(&document, "loss_ratio") > 0.009);
    // One that was to be made and did not come to its end is another matter.
    let warned = crate::warnings::warnings(&sweep(&[0.8]), None, &[]);
    assert_eq!(warned[0], BenchmarkWarning::SelfTestMissing { interrupted: true });
}

/// What of a document does not depend on when it was made.
fn timeless(document: &Benchmark) -> (Vec<Trial>, String, String) {
    let trials = document.trials.iter().map(|trial| Trial { at_ns: 0, ..trial.clone() });
    (trials.collect(), format!("{:?}", document.results), format!("{:?}", document.verdicts))
}

/// A benchmark interrupted anywhere resumes to the same results.
#[test]
fn resumed_benchmarks_have_equal_results() {
    let limits = Limits { longest: Duration::from_millis(200), step: 8, line: LineRate::new(LINE).unwrap() };
    let tenth = Duration::from_millis(100);
    let short = Goal { resolution: 0.05, short: tenth, full: tenth, ..goal(0.0) };
    for procedure in [
        Procedure::Sweep { loads: vec![0.2, 0.4, 0.7], length: Duration::from_millis(100) },
        Procedure::BackToBack { goal: short, limits },
    ] {
        let options = BenchOptions { frames: sizes(&[64, 128]), ..options(procedure) };
        let bed = || Simulated::with(carries(0.6, 50));
        let whole = run(&options, bed());
        for after in (1..whole.trials.len()).step_by(4) {
            let mut keeper = RecordingWatcher { stop_after: Some(after), ..RecordingWatcher::default() };
            let mut hand = Hand(&mut keeper.entries, &keeper.stop, keeper.stop_after);
            let part = run_on(bed(), &options, None, &keeper.stop, &mut hand).unwrap();
            assert!(part.partial && part.trials.len() == after, "{after}");
            let past = Journal { started: std::time::SystemTime::now(), entries: keeper.entries.clone() };
            let mut rest = RecordingWatcher::default();
            let mut hand = Hand(&mut rest.entries, &rest.stop, None);
            let more = run_on(bed(), &options, Some(past.clone()), &rest.stop, &mut hand).unwrap();
            assert_eq!(timeless(&more), timeless(&whole), "after {after}");
            assert!(has_event(&more, "resumed"));
            // Another order of trials is another benchmark.
            let other = BenchOptions { frames: sizes(&[512]), ..options.clone() };
            let stop = AtomicBool::new(false);
            let refused = run_on(bed(), &other, Some(past), &stop, &mut Hand(&mut Vec::new(), &stop, None));
            assert!(matches!(refused, Err(BenchError::OtherTrials(1))));
        }
    }
}
