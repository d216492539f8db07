//! How long a device forwards nothing after it was reset (RFC 2544 section 26.6; RFC 6201 has the two ways to tell).

use romer_units::Duration;

use crate::{Frames, Phase, RemainingTrials, TrialForecast, TrialOutcome, TrialRequest, real};

/// Outage of the device after a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetOutage {
    /// The lost frames over the rate at which they were offered (RFC 6201, frame loss), with those that could not leave because
    /// the device had taken the link.
    pub by_loss: Duration,
    /// From the last frame before the first of these to the first after the last of them (RFC 6201, time stamps).
    pub by_times: Duration,
    /// It was not back when the trial ended: it takes longer.
    pub at_the_end: bool,
}

/// One trial, in which the device is reset.
#[derive(Clone, Debug)]
pub struct Reset {
    subject: (usize, Frames, u32),
    phase: Phase,
    done: bool,
    found: Option<ResetOutage>,
}

impl Reset {
    /// A trial of this case, these frames and this repeat, not yet made.
    pub const fn new(subject: (usize, Frames, u32), phase: Phase) -> Self {
        Self { subject, phase, done: false, found: None }
    }

    /// Its case, frames and repeat.
    pub const fn subject(&self) -> (usize, &Frames, u32) {
        (self.subject.0, &self.subject.1, self.subject.2)
    }

    /// What was found; `None` before, and where the tester failed.
    pub const fn result(&self) -> Option<ResetOutage> {
        self.found
    }

    /// What is left of it.
    pub fn outlook(&self) -> TrialForecast {
        TrialForecast::certain(RemainingTrials::new(u64::from(!self.done), self.phase.length))
    }

    /// The next trial; `None` at the end.
    pub fn next_trial(&self) -> Option<TrialRequest> {
        let (case, frames, repeat) = self.subject.clone();
        (!self.done).then_some(TrialRequest {
            case,
            frames,
            phases: vec![self.phase],
            repeat,
            purpose: TrialRequest::RESET,
        })
    }

    /// Takes the trial's outcome.
    pub fn record_outcome(&mut self, outcome: &TrialOutcome) {
        self.done = true;
        if outcome.tester_failed || outcome.offered == 0 {
            return;
        }
        let length = self.phase.length.as_secs_f64();
        let gap = length / real(outcome.offered + outcome.unlinked.frames);
        let missing = outcome.lost + outcome.unlinked.frames;
        let losses = outcome.first_loss_at.zip(outcome.last_loss_at).map(|(first, last)| [first, last]);
        let all = losses.into_iter().chain(outcome.unlinked.between);
        let times = all.reduce(|[a, b], [first, last]| [a.min(first), b.max(last)]);
        let by_times = times.map_or(0.0, |[first, last]| (last - first).as_secs_f64() + 2.0 * gap);
        let last = times.map_or(0.0, |[_, last]| last.as_secs_f64());
        self.found = Some(ResetOutage {
            by_loss: seconds(real(missing) * gap),
            by_times: seconds(by_times),
            at_the_end: missing > 0 && last + 2.0 * gap >= length,
        });
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a part of a trial")]
fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos(libm::round(seconds * 1e9) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unlinked;
    use romer_units::FrameSize;

    #[test]
    fn both_ways_tell_how_long_the_device_was_away() {
        let phase = Phase { load: 0.5, length: Duration::from_secs(10) };
        let found = |lost, [first, last]: [i64; 2]| {
            let mut reset = Reset::new((0, Frames::Size(FrameSize::MINIMUM), 0), phase);
            assert_eq!(reset.next_trial().map(|ask| ask.purpose), Some("reset"));
            let at = |millis| (lost > 0).then(|| Duration::from_millis(millis));
            reset.record_outcome(&TrialOutcome {
                offered: 10_000,
                lost,
                first_loss_at: at(first),
                last_loss_at: at(last),
                ..TrialOutcome::default()
            });
            assert_eq!(reset.next_trial(), None);
            let found = reset.result().unwrap();
            (found.by_loss.as_nanos() / 1_000_000, found.by_times.as_nanos() / 1_000_000, found.at_the_end)
        };
        assert_eq!(found(1_500, [2_000, 3_499]), (1_500, 1_501, false));
        // Away for a second, and a hundred frames lost later on.
        assert_eq!(found(1_100, [2_000, 8_000]), (1_100, 6_002, false));
        assert_eq!(found(8_000, [2_000, 9_999]), (8_000, 8_001, true));
        assert_eq!(found(0, [0, 0]), (0, 0, false));
    }

    #[test]
    fn what_could_not_leave_was_not_forwarded() {
        let phase = Phase { load: 0.5, length: Duration::from_secs(10) };
        let mut reset = Reset::new((0, Frames::Size(FrameSize::MINIMUM), 0), phase);
        // Two seconds without a link, and half a second in which the device had it but forwarded nothing.
        reset.record_outcome(&TrialOutcome {
            intended: 10_000,
            offered: 8_000,
            lost: 500,
            unlinked: Unlinked { frames: 2_000, between: Some([2_000, 3_999].map(Duration::from_millis)) },
            first_loss_at: Some(Duration::from_millis(4_000)),
            last_loss_at: Some(Duration::from_millis(4_499)),
            ..TrialOutcome::default()
        });
        let found = reset.result().unwrap();
        assert_eq!([found.by_loss, found.by_times], [2_500, 2_501].map(Duration::from_millis));
        assert!(!found.at_the_end);
    }
}
