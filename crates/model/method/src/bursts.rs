//! Procedures that need the throughput first: the longest burst at the line's rate without loss (RFC 9004, which
//! updates RFC 2544 section 26.4), and the recovery from an overload (RFC 2544 section 26.5).

use romer_record::benchmark::ResultBound;
use romer_units::{Duration, LineRate};

use crate::search::{InconclusiveTrial, Search};
use crate::{Frames, Phase, RemainingTrials, TrialForecast, TrialOutcome, TrialRequest};

/// How bursts are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest burst that is tried; RFC 9004 has 30 s at the most.
    pub longest: Duration,
    /// To how many frames the length is found.
    pub step: u64,
    /// The line.
    pub line: LineRate,
}

/// The longest burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Longest {
    /// Frames of the longest burst that lost nothing.
    pub frames: u64,
    /// It is the longest that was tried: the device may hold more.
    pub at_the_limit: bool,
    /// The shortest burst that did not pass tells nothing of what the device holds, so that it may hold more.
    pub beyond: Option<InconclusiveTrial>,
    /// Seconds of traffic at the line's rate that the device holds: the burst's time, less what was forwarded
    /// meanwhile; `None` where the throughput is not known.
    pub corrected_buffer: Option<f64>,
}

/// The search for it.
#[derive(Clone, Debug)]
pub struct Bursts {
    throughput: Search,
    limits: Limits,
    passed: u64,
    failed: Option<u64>,
    beyond: Option<InconclusiveTrial>,
    asked: Option<u64>,
    found: Option<Longest>,
    done: bool,
}

impl Bursts {
    /// A search that begins when that for the throughput has ended.
    pub const fn new(throughput: Search, limits: Limits) -> Self {
        Self {
            throughput,
            limits,
            passed: 0,
            failed: None,
            beyond: None,
            asked: None,
            found: None,
            done: false,
        }
    }

    /// The search for the throughput.
    pub const fn throughput(&self) -> &Search {
        &self.throughput
    }

    /// What was found; `None` also where the throughput is the line's rate, so that no burst is too long.
    pub const fn found(&self) -> Option<Longest> {
        self.found
    }

    fn rate(&self) -> f64 {
        self.throughput.subject().1.frames_per_second(self.limits.line, 1.0)
    }

    fn most(&self) -> u64 {
        to_u64(self.rate() * self.limits.longest.as_secs_f64()).max(1)
    }

    /// What is left of it.
    pub fn outlook(&self) -> TrialForecast {
        if self.done {
            return TrialForecast::default();
        }
        let width = self.failed.unwrap_or_else(|| self.most()) - self.passed;
        let halvings = libm::log2((crate::real(width) / crate::real(self.limits.step.max(1))).max(1.0));
        // Of an odd number of frames the greater half may be left.
        let bursts = to_u64(libm::ceil(halvings)) + u64::from(self.failed.is_none());
        self.throughput.outlook() + TrialForecast::certain(RemainingTrials::new(bursts, self.limits.longest))
    }

    /// The next trial; `None` at the end.
    pub fn next_trial(&mut self) -> Option<TrialRequest> {
        if let Some(ask) = self.throughput.next_trial() {
            return Some(ask);
        }
        if self.done {
            return None;
        }
        let throughput = self.throughput.result()?;
        if throughput.failed.is_none() {
            // Section 4 of RFC 9004: only where the throughput is below the line's rate.
            self.done = true;
            return None;
        }
        let frames = match self.failed {
            None if self.passed < self.most() => self.most(),
            Some(failed) if failed - self.passed > self.limits.step.max(1) => self.passed.midpoint(failed),
            _ => {
                self.done = true;
                let time = crate::real(self.passed) / self.rate();
                self.found = Some(Longest {
                    frames: self.passed,
                    at_the_limit: self.failed.is_none(),
                    beyond: self.beyond,
                    corrected_buffer: throughput.beyond.is_none().then_some(time * (1.0 - throughput.passed)),
                });
                return None;
            }
        };
        self.asked = Some(frames);
        let (case, of, repeat) = self.throughput.subject();
        Some(TrialRequest {
            case,
            frames: of.clone(),
            phases: vec![self.burst(frames)],
            repeat,
            purpose: TrialRequest::BURST,
        })
    }

    /// So long that just as many frames are due in it.
    fn burst(&self, frames: u64) -> Phase {
        let seconds = (crate::real(frames) - 0.5) / self.rate();
        #[expect(clippy::cast_possible_truncation, reason = "at most 30 seconds")]
        let length = Duration::from_nanos((seconds * 1e9) as i64);
        Phase { load: 1.0, length }
    }

    /// Takes the outcome of the trial that was asked for last.
    pub fn judge(&mut self, outcome: &TrialOutcome) {
        let Some(frames) = self.asked.take() else {
            self.throughput.record_outcome(outcome);
            return;
        };
        if outcome.lost == 0 && !outcome.tester_failed {
            self.passed = frames;
        } else {
            self.failed = Some(frames);
            self.beyond = InconclusiveTrial::classify_outcome(outcome);
        }
    }
}

/// Recovery from an overload: 110 % of the throughput, then half of the throughput.
#[derive(Clone, Debug)]
pub struct Recovery {
    throughput: Search,
    lengths: [Duration; 2],
    asked: bool,
    found: Option<Duration>,
    missed: Option<ResultBound>,
    done: bool,
}

impl Recovery {
    /// A trial that is made when the throughput is found.
    pub const fn new(throughput: Search, lengths: [Duration; 2]) -> Self {
        Self { throughput, lengths, asked: false, found: None, missed: None, done: false }
    }

    /// The search for the throughput.
    pub const fn throughput(&self) -> &Search {
        &self.throughput
    }

    /// From the end of the overload to the last frame that was lost after it; nothing lost is no time. (The RFC's text
    /// subtracts the other way round, which would be negative.) `None` where the overload lost nothing, or nothing but
    /// what is laid to the tester.
    pub const fn found(&self) -> Option<Duration> {
        self.found
    }

    /// Why nothing was found; `None` where it was, or may still be.
    pub fn missed(&self) -> Option<ResultBound> {
        let nothing = self.throughput.result().filter(|found| found.passed <= 0.0);
        self.missed.or_else(|| {
            nothing.map(|found| found.beyond.map_or(ResultBound::NoPassingLoad, InconclusiveTrial::bound))
        })
    }

    /// What is left of it.
    pub fn outlook(&self) -> TrialForecast {
        if self.done {
            return TrialForecast::default();
        }
        self.throughput.outlook()
            + TrialForecast::certain(RemainingTrials::new(1, self.lengths[0] + self.lengths[1]))
    }

    /// The next trial; `None` at the end.
    pub fn next_trial(&mut self) -> Option<TrialRequest> {
        if let Some(ask) = self.throughput.next_trial() {
            return Some(ask);
        }
        let throughput = self.throughput.result().filter(|found| found.passed > 0.0)?;
        if self.done {
            return None;
        }
        self.asked = true;
        let (case, frames, repeat) = self.throughput.subject();
        let loads = [throughput.passed * 1.1, throughput.passed * 0.5];
        let phases =
            loads.into_iter().zip(self.lengths).map(|(load, length)| Phase { load, length }).collect();
        Some(TrialRequest { case, frames: Frames::clone(frames), phases, repeat, purpose: "recovery" })
    }

    /// Takes the outcome of the trial that was asked for last.
    pub fn judge(&mut self, outcome: &TrialOutcome) {
        if !self.asked {
            self.throughput.record_outcome(outcome);
            return;
        }
        self.done = true;
        self.missed = match InconclusiveTrial::classify_outcome(outcome) {
            Some(beyond) => Some(beyond.bound()),
            None if outcome.lost == 0 => Some(ResultBound::NoOverloadLoss),
            // Such a loss says nothing of when the device has recovered.
            None => (outcome.lost <= outcome.lost_by_tester).then_some(ResultBound::NoDeviceLoss),
        };
        if self.missed.is_some() {
            return;
        }
        let after = outcome.last_loss_at.map(|last| last - self.lengths[0]);
        self.found = after.map(|time| time.max(Duration::ZERO));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of frames, rounded down"
)]
const fn to_u64(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Goal;
    use romer_units::FrameSize;

    fn throughput() -> Search {
        let goal = Goal {
            loss_ratio: 0.0,
            least: 0.001,
            most: 1.0,
            resolution: 0.001,
            short: Duration::from_secs(10),
            full: Duration::from_secs(10),
        };
        Search::new(goal, 0, Frames::Size(FrameSize::MINIMUM), 0)
    }

    /// A device that forwards `capacity` of the line and holds `buffer` frames: its truth is known.
    fn device(capacity: f64, buffer: f64, line: LineRate) -> impl Fn(&TrialRequest) -> TrialOutcome {
        move |ask| {
            let rate = ask.frames.frames_per_second(line, 1.0);
            let (mut queue, mut lost, mut offered, mut begin) = (0.0_f64, 0.0, 0.0, Duration::ZERO);
            let mut last_loss_at = None;
            for phase in &ask.phases {
                let seconds = phase.length.as_secs_f64();
                let (came, served) = (rate * phase.load * seconds, rate * capacity * seconds);
                offered += came;
                let after = queue + came - served;
                if after > buffer + 0.5 {
                    lost += after - buffer;
                    last_loss_at = Some(begin + phase.length);
                }
                queue = after.clamp(0.0, buffer);
                begin += phase.length;
            }
            TrialOutcome {
                intended: to_u64(offered),
                offered: to_u64(offered),
                lost: to_u64(lost + 0.5),
                last_loss_at,
                ..TrialOutcome::default()
            }
        }
    }

    #[test]
    fn a_buffer_is_measured_by_the_longest_burst_that_it_swallows() {
        let line = LineRate::new(100_000_000).unwrap();
        let limits = Limits { longest: Duration::from_secs(2), step: 1, line };
        let device = device(0.5, 10_000.0, line);
        let mut bursts = Bursts::new(throughput(), limits);
        let mut trials = 0;
        while let Some(ask) = bursts.next_trial() {
            trials += 1;
            assert!(trials < 100);
            bursts.judge(&device(&ask));
        }
        let found = bursts.found().unwrap();
        // Half is forwarded meanwhile: 20,000 frames fit, and hold 10,000 frames of buffer.
        assert!(found.frames.abs_diff(20_000) <= 3, "{found:?}");
        let truth = 10_000.0 / 148_809.52;
        assert!((found.corrected_buffer.unwrap() / truth - 1.0).abs() < 0.02, "{found:?}");
        assert!(!found.at_the_limit && found.beyond.is_none());
    }

    #[test]
    fn a_burst_that_the_tester_could_not_send_is_its_bound_and_not_the_devices() {
        let line = LineRate::new(100_000_000).unwrap();
        let device = device(0.5, 10_000.0, line);
        let mut bursts = Bursts::new(throughput(), Limits { longest: Duration::from_secs(2), step: 1, line });
        while let Some(ask) = bursts.next_trial() {
            let outcome = device(&ask);
            let tester_failed = ask.purpose == "burst" && outcome.offered > 5_000;
            bursts.judge(&TrialOutcome { tester_failed, ..outcome });
        }
        let found = bursts.found().unwrap();
        assert!(found.frames.abs_diff(5_000) <= 3, "{found:?}");
        assert_eq!((found.beyond, found.at_the_limit), (Some(InconclusiveTrial::Tester), false));
    }

    #[test]
    fn where_the_line_is_the_bound_no_burst_is_too_long() {
        let line = LineRate::new(100_000_000).unwrap();
        let device = device(1.0, 100.0, line);
        let mut bursts = Bursts::new(throughput(), Limits { longest: Duration::from_secs(2), step: 1, line });
        while let Some(ask) = bursts.next_trial() {
            bursts.judge(&device(&ask));
        }
        assert_eq!(bursts.found(), None);
    }

    #[test]
    fn recovery_is_from_the_end_of_the_overload_to_the_last_loss() {
        let line = LineRate::new(100_000_000).unwrap();
        let device = device(0.5, 10.0, line);
        let lengths = [Duration::from_secs(6), Duration::from_secs(3)];
        let mut recovery = Recovery::new(throughput(), lengths);
        let mut overloads = 0;
        while let Some(ask) = recovery.next_trial() {
            let mut outcome = device(&ask);
            if ask.purpose == "recovery" {
                overloads += 1;
                assert!((ask.phases[0].load / ask.phases[1].load - 2.2).abs() < 1e-9);
                outcome.last_loss_at = Some(Duration::from_millis(6_250));
            }
            recovery.judge(&outcome);
        }
        assert_eq!((overloads, recovery.found()), (1, Some(Duration::from_millis(250))));
        assert_eq!(recovery.missed(), None);
    }

    #[test]
    fn that_no_recovery_was_found_has_a_reason() {
        let why = |capacity: f64, overload: TrialOutcome| {
            let device = device(capacity, 10.0, LineRate::new(100_000_000).unwrap());
            let mut recovery = Recovery::new(throughput(), [Duration::from_secs(1); 2]);
            while let Some(ask) = recovery.next_trial() {
                let outcome = if ask.purpose == "recovery" { overload.clone() } else { device(&ask) };
                recovery.judge(&outcome);
            }
            assert_eq!(recovery.found(), None);
            recovery.missed().unwrap()
        };
        let nothing = TrialOutcome { offered: 1_000, ..TrialOutcome::default() };
        let failed = TrialOutcome { tester_failed: true, ..nothing.clone() };
        assert_eq!(why(0.5, nothing.clone()), ResultBound::NoOverloadLoss);
        assert_eq!(why(0.5, failed.clone()), ResultBound::Tester);
        let own = TrialOutcome {
            lost: 7,
            lost_by_tester: 7,
            last_loss_at: Some(Duration::ZERO),
            ..nothing.clone()
        };
        assert_eq!(why(0.5, own), ResultBound::NoDeviceLoss);
        assert_eq!(
            why(0.5, TrialOutcome { device_unreachable: true, ..failed }),
            ResultBound::DeviceUnreachable
        );
        assert_eq!(why(0.0, nothing), ResultBound::NoPassingLoad);
    }
}
