//! The highest load that meets a criterion, by halving (RFC 2544 section 26.1 leaves the way open).
//!
//! The load that is found was itself tried, for the full length, and met the criterion. Short trials only lead
//! there.

use romer_record::benchmark::ResultBound;
use romer_units::Duration;

use crate::{Frames, Phase, RemainingTrials, TrialForecast, TrialOutcome, TrialRequest};

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Greatest loss ratio that passes; 0 for the throughput of RFC 2544.
    pub loss_ratio: f64,
    /// Least load that is tried, share of the line.
    pub least: f64,
    /// Greatest load that is tried.
    pub most: f64,
    /// How near the greatest load that passes and the least that fails must come, share of the line.
    pub resolution: f64,
    /// Length of a trial that leads.
    pub short: Duration,
    /// Length of a trial that decides.
    pub full: Duration,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchResult {
    /// Greatest load that met the criterion for the full length; 0 where none did.
    pub passed: f64,
    /// Least load that did not, or the greatest that the tester could offer; `None` where the greatest that is tried passed.
    pub failed: Option<f64>,
    /// The least trial that did not pass tells nothing of what the device carries, so that it may do better.
    pub beyond: Option<InconclusiveTrial>,
}

/// Why a trial is inconclusive about the capacity of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InconclusiveTrial {
    /// The tester could not offer more.
    Tester,
    /// The device was away, as often as the trial was made.
    Absence,
}

impl InconclusiveTrial {
    /// Why, of an outcome that tells nothing; `None` of any other.
    pub const fn classify_outcome(outcome: &TrialOutcome) -> Option<Self> {
        match (outcome.tester_failed, outcome.device_unreachable) {
            (false, _) => None,
            (true, false) => Some(Self::Tester),
            (true, true) => Some(Self::Absence),
        }
    }

    /// What bounds a result.
    pub const fn bound(self) -> ResultBound {
        match self {
            Self::Tester => ResultBound::Tester,
            Self::Absence => ResultBound::DeviceUnreachable,
        }
    }
}

/// How near the tester's own limit a load comes at which a search ends, share of that limit: what a host can offer differs by as much
/// from trial to trial, and a nearer load would say nothing more of the device.
const NEAR_TESTER_LIMIT: f64 = 0.1;

/// The search.
#[derive(Clone, Debug)]
pub struct Search {
    goal: Goal,
    case: usize,
    frames: Frames,
    repeat: u32,
    /// Greatest load that passed, and whether that was for the full length.
    passed: Option<(f64, bool)>,
    failed: Option<f64>,
    beyond: Option<InconclusiveTrial>,
    /// The greatest load that the tester could offer, where it was too slow for one that was tried.
    tester_limit: Option<f64>,
    /// Once a full trial has contradicted a short one, all are full.
    thorough: bool,
    asked: Option<(f64, bool)>,
    found: Option<SearchResult>,
}

impl Search {
    /// A search that has not begun.
    pub const fn new(goal: Goal, case: usize, frames: Frames, repeat: u32) -> Self {
        Self {
            goal,
            case,
            frames,
            repeat,
            passed: None,
            failed: None,
            beyond: None,
            tester_limit: None,
            thorough: false,
            asked: None,
            found: None,
        }
    }

    /// What was found, once it was.
    pub const fn result(&self) -> Option<SearchResult> {
        self.found
    }

    /// Its case, frames and repeat.
    pub const fn subject(&self) -> (usize, &Frames, u32) {
        (self.case, &self.frames, self.repeat)
    }

    /// What is left of it. What short trials led to may not last: then all is searched once more, in full ones.
    pub fn outlook(&self) -> TrialForecast {
        if self.found.is_some() {
            return TrialForecast::default();
        }
        let goal = &self.goal;
        let low = self.passed.map_or(0.0, |(load, _)| load);
        let high = self.failed.unwrap_or(goal.most);
        let untried = u64::from(self.passed.is_none() && self.failed.is_none());
        let halvings = untried + self.halvings(low, high);
        if self.thorough || goal.short >= goal.full {
            return TrialForecast::certain(RemainingTrials::new(halvings, goal.full));
        }
        if matches!(self.passed, Some((_, true))) {
            return TrialForecast::default();
        }
        let usual = RemainingTrials::new(halvings, goal.short) + RemainingTrials::new(1, goal.full);
        TrialForecast { usual, most: usual + RemainingTrials::new(self.halvings(0.0, high), goal.full) }
    }

    /// Trials that halve what is between two loads until they are near enough.
    fn halvings(&self, low: f64, high: f64) -> u64 {
        // One that comes out even may not, by the last digit.
        to_u64(libm::ceil(libm::log2(((high - low) / self.near(high)).max(1.0)) + 1e-9))
    }

    /// How near a load that passes comes to the least that does not.
    fn near(&self, failed: f64) -> f64 {
        let resolution = self.goal.resolution;
        let limit = self.tester_limit.filter(|limit| *limit <= failed);
        limit.map_or(resolution, |limit| resolution.max(limit * NEAR_TESTER_LIMIT))
    }

    /// The next trial; `None` at the end.
    pub fn next_trial(&mut self) -> Option<TrialRequest> {
        if self.found.is_some() {
            return None;
        }
        let (load, full) = self.next_load()?;
        self.asked = Some((load, full));
        Some(TrialRequest {
            case: self.case,
            frames: self.frames.clone(),
            phases: vec![Phase { load, length: if full { self.goal.full } else { self.goal.short } }],
            repeat: self.repeat,
            purpose: if full { "confirm" } else { "search" },
        })
    }

    fn next_load(&mut self) -> Option<(f64, bool)> {
        let goal = self.goal;
        let low = self.passed.map_or(0.0, |(load, _)| load);
        match (self.passed, self.failed) {
            (None, None) => Some((goal.most, self.thorough)),
            (_, Some(high)) if high - low > self.near(high) && high > goal.least => {
                // Not below the least: it is tried once, and ends the search where it fails.
                let middle = f64::midpoint(low, high).max(goal.least);
                if middle >= high { self.end(0.0) } else { Some((middle, self.thorough)) }
            }
            (Some((load, false)), _) => Some((load, true)),
            (Some((load, true)), _) => self.end(load),
            (None, Some(_)) => self.end(0.0),
        }
    }

    const fn end(&mut self, passed: f64) -> Option<(f64, bool)> {
        self.found = Some(SearchResult { passed, failed: self.failed, beyond: self.beyond });
        None
    }

    /// Takes the outcome of the trial that was asked for last.
    pub fn record_outcome(&mut self, outcome: &TrialOutcome) {
        let Some((load, full)) = self.asked.take() else { return };
        let full = full || self.goal.short >= self.goal.full;
        if let Some(beyond) = InconclusiveTrial::classify_outcome(outcome) {
            self.beyond = Some(beyond);
            // Nothing is tried above what the tester could offer.
            let limit = outcome.tester_share.map(|share| load * share.min(1.0));
            self.tester_limit = limit.or(self.tester_limit);
            self.fail(limit.unwrap_or(load));
        } else if outcome.loss_ratio() <= self.goal.loss_ratio {
            self.passed = Some((load, full));
        } else {
            if self.failed.is_none_or(|failed| load < failed) {
                // The device itself is now the bound.
                self.beyond = None;
            }
            self.fail(load);
        }
    }

    fn fail(&mut self, load: f64) {
        self.failed = Some(self.failed.map_or(load, |failed| failed.min(load)));
        if self.passed.is_some_and(|(passed, _)| passed >= load) {
            // What short trials led to does not last.
            self.passed = None;
            self.thorough = true;
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number of trials")]
const fn to_u64(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use romer_units::FrameSize;

    fn goal() -> Goal {
        Goal {
            loss_ratio: 0.0,
            least: 0.001,
            most: 1.0,
            resolution: 0.005,
            short: Duration::from_secs(1),
            full: Duration::from_secs(10),
        }
    }

    fn run(goal: Goal, mut device: impl FnMut(&TrialRequest) -> TrialOutcome) -> (SearchResult, usize) {
        let mut search = Search::new(goal, 0, Frames::Size(FrameSize::MINIMUM), 0);
        let mut trials = 0;
        while let Some(ask) = search.next_trial() {
            trials += 1;
            assert!(trials < 200, "the search does not end");
            search.record_outcome(&device(&ask));
        }
        (search.result().unwrap(), trials)
    }

    /// The trials of a search with such outcomes, and what was to be expected before each of them.
    fn followed(
        goal: Goal,
        mut passes: impl FnMut(&TrialRequest) -> bool,
    ) -> (RemainingTrials, Vec<(RemainingTrials, TrialForecast)>) {
        let mut search = Search::new(goal, 0, Frames::Size(FrameSize::MINIMUM), 0);
        let (mut made, mut before) =
            (RemainingTrials::default(), vec![(RemainingTrials::default(), search.outlook())]);
        while let Some(ask) = search.next_trial() {
            made = made + RemainingTrials::new(1, ask.length());
            let lost = u64::from(!passes(&ask));
            search.record_outcome(&TrialOutcome { offered: 1_000, lost, ..TrialOutcome::default() });
            before.push((made, search.outlook()));
            assert!(made.trials < 200, "the search does not end");
        }
        (made, before)
    }

    fn lossless_up_to(capacity: f64) -> impl FnMut(&TrialRequest) -> TrialOutcome {
        move |ask| {
            let lost = if ask.load() > capacity { 1 } else { 0 };
            TrialOutcome {
                intended: 1_000,
                offered: 1_000,
                forwarded: 1_000 - lost,
                lost,
                ..TrialOutcome::default()
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_trials_come_to_there_are_no_more_than_was_said(
            passes in proptest::collection::vec(any::<bool>(), 64), resolution in 0.001f64..0.2, full in 1i64..10,
        ) {
            let mut passes = passes.into_iter();
            let goal = Goal { resolution, full: Duration::from_secs(full), ..goal() };
            let (made, before) = followed(goal, |_| passes.next().unwrap_or(true));
            for (already, outlook) in before {
                let most = already + outlook.most;
                prop_assert!(made.trials <= most.trials && made.time <= most.time, "{made:?} {most:?}");
            }
        }

        #[test]
        fn where_short_trials_tell_the_truth_it_takes_what_was_said(capacity in 0.01f64..0.999) {
            let (made, before) = followed(goal(), |ask| ask.load() <= capacity);
            for (already, outlook) in before {
                let usual = already + outlook.usual;
                prop_assert!(made.trials <= usual.trials && usual.trials <= made.trials + 2, "{made:?} {usual:?}");
                prop_assert!(made.time <= usual.time);
            }
        }

        #[test]
        fn a_capacity_is_found_to_the_resolution_and_not_above(capacity in 0.01f64..0.999) {
            let (found, trials) = run(goal(), lossless_up_to(capacity));
            prop_assert!(found.passed <= capacity && capacity - found.passed <= goal().resolution);
            prop_assert!(found.failed.unwrap() > capacity);
            prop_assert!(trials <= 12);
        }
    }

    #[test]
    fn a_device_that_carries_all_is_bounded_by_the_line() {
        let (found, trials) = run(goal(), lossless_up_to(1.0));
        assert_eq!((found.failed, trials), (None, 2));
        assert!(found.passed > 0.999_999);
    }

    #[test]
    fn a_device_that_carries_nothing_has_no_throughput() {
        let (found, _) = run(goal(), lossless_up_to(0.0));
        assert!(found.passed.abs() < 1e-12);
    }

    #[test]
    fn what_lasts_for_a_short_trial_only_is_not_reported() {
        // Buffers swallow the excess of short trials up to 0.8; in full ones 0.5 is the truth.
        let (found, _) = run(goal(), |ask| {
            let capacity = if ask.length() >= goal().full { 0.5 } else { 0.8 };
            lossless_up_to(capacity)(ask)
        });
        assert!(found.passed <= 0.5 && found.passed > 0.495, "{found:?}");
    }

    #[test]
    fn a_buffer_that_fools_short_trials_costs_no_more_than_was_said() {
        let (made, before) =
            followed(goal(), |ask| ask.load() <= if ask.length() >= goal().full { 0.5 } else { 0.8 });
        let outlook = before[0].1;
        assert!(made.trials > outlook.usual.trials && made.time > outlook.usual.time, "{made:?} {outlook:?}");
        // 1 and 8 short ones, one full one, and 8 full ones more.
        assert_eq!(outlook.most, RemainingTrials { trials: 18, time: Duration::from_secs(9 + 10 + 80) });
    }

    #[test]
    fn the_testers_own_limit_is_told_and_not_taken_for_the_devices() {
        let limited = |limit: f64, capacity: f64| {
            move |ask: &TrialRequest| TrialOutcome {
                tester_failed: ask.load() > limit,
                ..lossless_up_to(capacity)(ask)
            }
        };
        let (found, _) = run(goal(), limited(0.6, 0.9));
        assert!(
            found.beyond == Some(InconclusiveTrial::Tester) && found.passed > 0.595 && found.passed <= 0.6,
            "{found:?}"
        );
        let (found, _) = run(goal(), limited(0.6, 0.3));
        assert!(found.beyond.is_none() && found.passed > 0.295 && found.passed <= 0.3, "{found:?}");
    }

    /// A tester that can offer so much of the line, and a device that carries so much.
    fn slow_tester(limit: f64, capacity: f64) -> impl FnMut(&TrialRequest) -> TrialOutcome {
        move |ask| {
            let tester_share = (ask.load() > limit).then(|| limit / ask.load());
            TrialOutcome {
                tester_failed: tester_share.is_some(),
                tester_share,
                ..lossless_up_to(capacity)(ask)
            }
        }
    }

    /// Nothing above what a slow tester could offer is tried, and a search ends near that limit; below it, the device is found to the
    /// resolution.
    #[test]
    fn slow_tester_ends_search_early() {
        for limit in [0.002, 0.01, 0.3, 0.9] {
            let goal = Goal { resolution: 0.0001, ..goal() };
            let mut loads = Vec::new();
            let mut tester = slow_tester(limit, 1.0);
            let (found, trials) = run(goal, |ask| {
                loads.push(ask.load());
                tester(ask)
            });
            assert!(trials <= 6, "{limit}: {loads:?}");
            assert!(loads[1..].iter().all(|load| *load < limit), "{limit}: {loads:?}");
            assert!(
                found.beyond == Some(InconclusiveTrial::Tester) && found.passed >= 0.9 * limit,
                "{found:?}"
            );
        }
        let (found, _) = run(goal(), slow_tester(0.6, 0.3));
        assert!(found.beyond.is_none() && found.passed > 0.295 && found.passed <= 0.3, "{found:?}");
    }

    /// A tester whose limit is another in each trial takes no more trials than forecast at the most.
    #[test]
    fn unsteady_tester_stays_within_forecast() {
        let draws = romer_units::random::RandomStream::new(romer_units::random::Seed([3; 6]), [0, 0]);
        for run in 0..500_u64 {
            let mut search = Search::new(goal(), 0, Frames::Size(FrameSize::MINIMUM), 0);
            let [most, mut made] = [search.outlook().most, RemainingTrials::default()];
            let limit = draws.unit(run * 100);
            while let Some(ask) = search.next_trial() {
                made = made + RemainingTrials::new(1, ask.length());
                let now = limit * (0.8 + 0.2 * draws.unit(run * 100 + made.trials));
                search.record_outcome(&slow_tester(now, 1.0)(&ask));
            }
            assert!(made.trials <= most.trials && made.time <= most.time, "{limit}: {made:?} {most:?}");
        }
    }

    #[test]
    fn a_criterion_with_loss_is_kept() {
        let goal = Goal { loss_ratio: 0.005, ..goal() };
        let (found, _) = run(goal, |ask| {
            let lost = if ask.load() > 0.7 { 6 } else { 5 };
            TrialOutcome {
                intended: 1_000,
                offered: 1_000,
                forwarded: 1_000 - lost,
                lost,
                ..TrialOutcome::default()
            }
        });
        assert!(found.passed > 0.695 && found.passed <= 0.7, "{found:?}");
    }
}
