//! How a benchmark gets on: how many times as long as forecast its trials take, and whether the tester falls short too often for it to come
//! to anything.

use std::collections::BTreeMap;

use romer_record::benchmark::{BenchmarkEventKind, InvalidCause, InvalidTrial, InvalidTrials};
use romer_units::Duration;

use crate::trial::TrialRecord;

/// As many trials, each with those that were made again for it, must have told nothing before a benchmark ends early. Where half of all
/// trials would tell something, as many in a row by chance of their order are less than one in sixty.
const MAX_INCONCLUSIVE_TRIALS: u64 = 6;

/// What the trials up to now took and told.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    forecast: Duration,
    spent: Duration,
    /// What the tester's own tests took, of the trial under way.
    proving: Duration,
    told: u64,
    silent: BTreeMap<InvalidCause, u64>,
    /// The highest rate of a trial that told something, frames a second.
    highest_pps: f64,
}

impl Pacing {
    /// The tester was tested for so long, which is no part of a trial.
    pub(super) fn proves(&mut self, took: Duration) {
        self.proving = took;
    }

    /// A trial has ended, with those that were made again for it.
    pub(super) fn ends(&mut self, forecast: Duration, took: Duration, record: &TrialRecord) {
        self.forecast += forecast;
        self.spent += took - std::mem::take(&mut self.proving);
        match record.invalid.as_ref().map(InvalidTrial::cause) {
            Some(InvalidCause::DeviceUnreachable | InvalidCause::DeviceStalled) => {}
            Some(cause) => *self.silent.entry(cause).or_default() += 1,
            None => {
                self.told += 1;
                self.highest_pps = self.highest_pps.max(record.figures.intended.pps);
            }
        }
    }

    /// Whether no trial told anything yet.
    pub(super) const fn told_nothing(&self) -> bool {
        self.told == 0
    }

    /// The highest rate of a trial that told something, frames a second.
    pub(super) const fn highest_pps(&self) -> f64 {
        self.highest_pps
    }

    /// How many times as long as forecast the trials took; 1 before the first.
    pub(super) fn slower(&self) -> f64 {
        if self.forecast == Duration::ZERO {
            1.0
        } else {
            self.spent.as_secs_f64() / self.forecast.as_secs_f64()
        }
    }

    /// That the tester is the limit, where it was in so many trials that fewer than half of `all` can tell anything, or none has yet.
    pub(super) fn limit(&self, all: u64) -> Option<BenchmarkEventKind> {
        let silent = self.silent.values().sum::<u64>();
        if silent < MAX_INCONCLUSIVE_TRIALS || (self.told > 0 && 2 * silent <= all) {
            return None;
        }
        let causes =
            self.silent.iter().map(|(cause, trials)| InvalidTrials { cause: *cause, trials: *trials });
        Some(BenchmarkEventKind::TesterLimit {
            invalid: silent,
            trials: silent + self.told,
            causes: causes.collect(),
            max_valid_pps: (self.told > 0).then_some(self.highest_pps),
        })
    }
}

/// A time, so many times.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a forecast; saturates")]
pub(super) fn scaled(time: Duration, times: f64) -> Duration {
    Duration::from_nanos((time.as_nanos() as f64 * times) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the trials must be lost to the tester for certain, or all that were made, and six at the least.
    #[test]
    fn tester_is_the_limit_when_most_is_lost() {
        let pacing = |told, stalled| Pacing {
            told,
            silent: [(InvalidCause::TesterStalled, stalled)].into(),
            ..Pacing::default()
        };
        assert_eq!(pacing(0, 5).limit(1_000), None);
        let limit = |invalid, trials, max_valid_pps| BenchmarkEventKind::TesterLimit {
            invalid,
            trials,
            causes: vec![InvalidTrials { cause: InvalidCause::TesterStalled, trials: invalid }],
            max_valid_pps,
        };
        assert_eq!(pacing(0, 6).limit(1_000), Some(limit(6, 6, None)));
        assert_eq!(pacing(1, 50).limit(100), None);
        assert_eq!(pacing(1, 51).limit(100), Some(limit(51, 52, Some(0.0))));
    }

    /// The forecast follows what trials take, without the tests of the tester.
    #[test]
    fn forecast_follows_the_trials() {
        let pacing =
            Pacing { forecast: Duration::from_secs(10), spent: Duration::from_secs(35), ..Pacing::default() };
        assert!((pacing.slower() - 3.5).abs() < 1e-9);
        assert_eq!(scaled(Duration::from_secs(4), pacing.slower()), Duration::from_secs(14));
        assert!((Pacing::default().slower() - 1.0).abs() < 1e-9);
        let faster = Pacing { spent: Duration::from_secs(5), ..pacing };
        assert!((faster.slower() - 0.5).abs() < 1e-9);
    }
}
