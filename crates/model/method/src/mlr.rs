//! Multiple loss ratio search (draft-ietf-bmwg-mlrsearch-15): the highest loads that meet several goals, each of which
//! forgives a stated share of its trials, and none of which needs every trial to be long.
//!
//! A load is a lower bound for a goal when even if all trials that are missing yet were bad, the goal would hold; an
//! upper bound when even if all of them were good it would not; else it is undecided, and tried again. Two rows of the
//! draft's own table contradict its own code (points 5 and 6 of the goal with 20 %); this follows the code.

use std::collections::BTreeMap;

use romer_units::Duration;

use crate::search::InconclusiveTrial;
use crate::{Frames, Phase, RemainingTrials, TrialForecast, TrialOutcome, TrialRequest};

/// A goal (section 5.3 of the draft).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// A trial of this length counts as a whole one.
    pub final_length: Duration,
    /// So long are the trials of a load together before they can be a lower bound.
    pub length_sum: Duration,
    /// A trial with a greater loss ratio is a bad one.
    pub loss_ratio: f64,
    /// The share of bad trials that is forgiven.
    pub exceed_ratio: f64,
}

impl Goal {
    /// RFC 2544: one trial of 60 s without loss.
    pub const RFC2544: Self = Self {
        final_length: Duration::from_secs(60),
        length_sum: Duration::from_secs(60),
        loss_ratio: 0.0,
        exceed_ratio: 0.0,
    };
    /// ETSI TST009: 120 s of which half may be bad.
    pub const TST009: Self = Self {
        final_length: Duration::from_secs(60),
        length_sum: Duration::from_secs(120),
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
    };
}

/// A trial at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// How long it was.
    pub length: Duration,
    /// Lost over offered.
    pub loss_ratio: f64,
}

/// What the trials of a load say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It meets the goal.
    LowerBound,
    /// It does not.
    UpperBound,
    /// More trials are needed.
    Undecided,
}

/// The sums behind a class, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Bad time, less what good short trials make up for.
    pub effective_high: f64,
    /// All time that counts, at least the goal's sum.
    pub effective_whole: f64,
    /// Bad time if all that is missing were bad.
    pub pessimistic_high: f64,
}

/// The sums of the trials of a load (appendix B of the draft).
pub fn sums(goal: &Goal, trials: &[Tried]) -> Sums {
    let mut time = [[0.0_f64; 2]; 2];
    for trial in trials {
        let short = usize::from(trial.length < goal.final_length);
        let high = usize::from(trial.loss_ratio > goal.loss_ratio);
        time[short][high] += trial.length.as_secs_f64();
    }
    let [[full_low, full_high], [short_low, short_high]] = time;
    let balance = short_low * goal.exceed_ratio / (1.0 - goal.exceed_ratio);
    let effective_high = full_high + (short_high - balance).max(0.0);
    let effective_whole = (full_low + effective_high).max(goal.length_sum.as_secs_f64());
    Sums { effective_high, effective_whole, pessimistic_high: effective_whole - full_low }
}

/// What the trials of a load say of it.
pub fn classify(goal: &Goal, trials: &[Tried]) -> Class {
    let sums = sums(goal, trials);
    let exceeds = |high: f64| high / sums.effective_whole > goal.exceed_ratio + 1e-12;
    if exceeds(sums.effective_high) {
        Class::UpperBound
    } else if exceeds(sums.pessimistic_high) {
        Class::Undecided
    } else {
        Class::LowerBound
    }
}

/// What a lower bound forwards, with the loss that the goal does not forgive taken off: the load less the loss ratio
/// of the worst whole trial that counts.
pub fn conditional_throughput(goal: &Goal, load: f64, trials: &[Tried]) -> f64 {
    let mut whole: Vec<&Tried> = trials.iter().filter(|trial| trial.length >= goal.final_length).collect();
    whole.sort_by(|a, b| a.loss_ratio.total_cmp(&b.loss_ratio));
    let sum: f64 = whole.iter().map(|trial| trial.length.as_secs_f64()).sum();
    let mut left = sum.max(goal.length_sum.as_secs_f64()) * (1.0 - goal.exceed_ratio);
    let mut loss = 1.0;
    for trial in whole {
        if left <= 1e-9 {
            break;
        }
        loss = trial.loss_ratio;
        left -= trial.length.as_secs_f64();
    }
    if left > 1e-9 { 0.0 } else { load * (1.0 - loss) }
}

/// How a search goes.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPlan {
    /// What is searched for, the easiest first.
    pub goals: Vec<Goal>,
    /// Least and greatest load, shares of the line.
    pub loads: [f64; 2],
    /// How near the bounds of a goal must come, as a share of the upper one.
    pub width: f64,
    /// Length of the first trials; it grows to the goal's.
    pub first_length: Duration,
}

/// What was found for a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalResult {
    /// The relevant lower bound; 0 where even the least load fails.
    pub lower: f64,
    /// The relevant upper bound; `None` where the greatest load meets the goal.
    pub upper: Option<f64>,
    /// [`conditional_throughput`] at the lower bound.
    pub conditional: f64,
}

/// The search.
#[derive(Clone, Debug)]
pub struct Search {
    plan: SearchPlan,
    case: usize,
    frames: Frames,
    repeat: u32,
    /// By load in billionths of the line.
    tried: BTreeMap<u64, Vec<Tried>>,
    asked: Option<(u64, Duration)>,
    stages: Vec<IntermediateGoal>,
    stage: usize,
    found: Vec<GoalResult>,
    /// From this load on trials told nothing of what the device carries, and why.
    beyond: Option<(u64, InconclusiveTrial)>,
    /// How many trials told nothing of it.
    silent: usize,
}

/// A goal made easier, on the way to it.
#[derive(Clone, Copy, Debug)]
struct IntermediateGoal {
    goal: Goal,
    width: f64,
    /// It is the goal itself.
    last: bool,
}

/// Stages before a goal's own.
const LEADING: i32 = 2;
const SCALE: f64 = 1e9;

impl Search {
    /// A search that has not begun.
    pub fn new(plan: SearchPlan, case: usize, frames: Frames, repeat: u32) -> Self {
        let mut stages = Vec::new();
        for goal in &plan.goals {
            let ratio = goal.final_length.as_secs_f64() / plan.first_length.as_secs_f64().max(1e-6);
            for step in (0..=LEADING).rev() {
                // From the first length to the goal's in equal ratios, each with half the width.
                let share = libm::pow(ratio.max(1.0), -f64::from(step) / f64::from(LEADING));
                let length = scaled(goal.final_length, share);
                let sum = if step == 0 { goal.length_sum } else { length };
                stages.push(IntermediateGoal {
                    goal: Goal { final_length: length, length_sum: sum, ..*goal },
                    width: plan.width * f64::from(1 << step),
                    last: step == 0,
                });
            }
        }
        Self {
            plan,
            case,
            frames,
            repeat,
            tried: BTreeMap::new(),
            asked: None,
            stages,
            stage: 0,
            found: Vec::new(),
            beyond: None,
            silent: 0,
        }
    }

    /// What was found, for each goal that is done.
    pub fn results(&self) -> &[GoalResult] {
        &self.found
    }

    /// Its case, frames and repeat.
    pub const fn subject(&self) -> (usize, &Frames, u32) {
        (self.case, &self.frames, self.repeat)
    }

    /// What bounds a result, where it is not what the device carries.
    pub fn beyond(&self, found: &GoalResult) -> Option<InconclusiveTrial> {
        let (load, why) = self.beyond?;
        // A failure of the device's own below it is the bound.
        found.upper.is_some_and(|upper| billionths(upper) >= load).then_some(why)
    }

    /// How long all trials of it are together up to now.
    pub fn spent(&self) -> Duration {
        self.tried.values().flatten().fold(Duration::ZERO, |sum, trial| sum + trial.length)
    }

    /// What is left of it, for devices which lose frames above a capacity, and which have none or some of many buffers that
    /// carry more than that for a while; one whose loss changes from trial to trial may take more.
    pub fn outlook(&self) -> TrialForecast {
        /// What buffers add to the capacity in the shortest trials, shares of the line.
        const BUFFERS: [f64; 6] = [0.0, 0.03, 0.1, 0.3, 1.0, 3.0];
        const CAPACITIES: u8 = 16;
        let [least, most] = self.plan.loads;
        let mut outlook = TrialForecast::default();
        for buffer in BUFFERS {
            for place in 0..=CAPACITIES {
                let share = f64::from(place) / f64::from(CAPACITIES);
                let capacity = least * libm::pow(most / least, share) * 0.999;
                let left = self.clone().on(capacity, buffer);
                outlook.most = outlook.most.or_greater(left);
                if buffer <= 0.0 {
                    outlook.usual = outlook.usual.or_greater(left);
                }
            }
        }
        // Capacities between those that were tried take one trial more or less of each stage.
        let stages = self.stages.get(self.stage..).unwrap_or_default().iter();
        let more = stages
            .map(|stage| RemainingTrials::new(1, stage.goal.final_length))
            .fold(RemainingTrials::default(), |a, b| a + b);
        TrialForecast { usual: outlook.usual, most: outlook.most + more }
    }

    /// What is left, with what was asked for already, of a device of this capacity and buffer.
    fn on(mut self, capacity: f64, buffer: f64) -> RemainingTrials {
        /// No search takes as many.
        const ENOUGH: u64 = 1_000;
        let shortest = self.plan.first_length.as_secs_f64();
        let mut left = RemainingTrials::default();
        let mut asked = self.asked;
        loop {
            let Some((load, length)) =
                asked.take().or_else(|| self.next_trial().and(self.asked)).filter(|_| left.trials < ENOUGH)
            else {
                return left;
            };
            left = left + RemainingTrials::new(1, length);
            let carries = capacity + buffer * shortest / length.as_secs_f64().max(1e-9);
            let lost = u64::from(share(load) > carries) * 1_000;
            self.record_outcome(&TrialOutcome { offered: 1_000, lost, ..TrialOutcome::default() });
        }
    }

    /// The next trial; `None` when all goals are done.
    pub fn next_trial(&mut self) -> Option<TrialRequest> {
        loop {
            let stage = *self.stages.get(self.stage)?;
            match self.next_load(&stage) {
                Ok(load) => {
                    self.asked = Some((load, stage.goal.final_length));
                    return Some(TrialRequest {
                        case: self.case,
                        frames: self.frames.clone(),
                        phases: vec![Phase { load: share(load), length: stage.goal.final_length }],
                        repeat: self.repeat,
                        purpose: if stage.last { "confirm" } else { "search" },
                    });
                }
                Err(found) => {
                    if stage.last {
                        self.found.push(found);
                    }
                    self.stage += 1;
                }
            }
        }
    }

    /// Takes the outcome of the trial that was asked for last.
    pub fn record_outcome(&mut self, outcome: &TrialOutcome) {
        let Some((load, length)) = self.asked.take() else { return };
        if let Some(why) = InconclusiveTrial::classify_outcome(outcome) {
            self.silent += 1;
            // Nothing is tried above what the tester could offer.
            let load = billionths(share(load) * outcome.tester_share.unwrap_or(1.0).min(1.0));
            if self.beyond.is_none_or(|(beyond, _)| load < beyond) {
                self.beyond = Some((load, why));
            }
            return;
        }
        let trial = Tried { length, loss_ratio: outcome.loss_ratio() };
        self.tried.entry(load).or_default().push(trial);
    }

    fn class(&self, goal: &Goal, load: u64) -> Class {
        if self.beyond.is_some_and(|(beyond, _)| load >= beyond) {
            return Class::UpperBound;
        }
        self.tried.get(&load).map_or(Class::Undecided, |trials| classify(goal, trials))
    }

    /// The load to try next, or what the stage comes to.
    fn next_load(&self, stage: &IntermediateGoal) -> Result<u64, GoalResult> {
        let [least, most] = self.plan.loads.map(billionths);
        let loads = || self.tried.keys().copied().chain(self.beyond.map(|(load, _)| load));
        let upper = loads().filter(|load| self.class(&stage.goal, *load) == Class::UpperBound).min();
        let below = |load: &u64| upper.is_none_or(|upper| *load < upper);
        let lower =
            loads().filter(below).filter(|load| self.class(&stage.goal, *load) == Class::LowerBound).max();
        // What was begun is finished before anything else is: the highest first, below all that fails.
        let begun = loads().filter(below).filter(|load| {
            lower.is_none_or(|lower| *load > lower) && self.class(&stage.goal, *load) == Class::Undecided
        });
        match (lower, upper) {
            (Some(lower), None) if lower >= most => Err(self.result(stage, lower, None)),
            (Some(lower), Some(upper)) if narrow(lower, upper, stage.width) => {
                Err(self.result(stage, lower, Some(upper)))
            }
            (None, Some(upper)) if upper <= least => {
                Err(GoalResult { lower: 0.0, upper: Some(share(upper)), conditional: 0.0 })
            }
            _ => Ok(begun.max().unwrap_or_else(|| match (lower, upper) {
                (_, None) => most,
                (Some(lower), Some(upper)) => lower.midpoint(upper),
                // The bounds of the stage before did not last: down, further with each failure.
                (None, Some(upper)) => {
                    let failures = self.silent + self.tried.range(upper..).count();
                    let failures = u32::try_from(failures).unwrap_or(u32::MAX).min(20);
                    let step = libm::pow(2.0, f64::from(failures) - 2.0) * stage.width;
                    billionths((share(upper) * (1.0 - step)).max(self.plan.loads[0]))
                }
            })),
        }
    }

    fn result(&self, stage: &IntermediateGoal, lower: u64, upper: Option<u64>) -> GoalResult {
        let trials = self.tried.get(&lower).map(Vec::as_slice).unwrap_or_default();
        GoalResult {
            lower: share(lower),
            upper: upper.map(share),
            conditional: conditional_throughput(&stage.goal, share(lower), trials),
        }
    }
}

fn narrow(lower: u64, upper: u64, width: f64) -> bool {
    upper - lower <= 1 || share(upper - lower) <= width * share(upper)
}

fn scaled(length: Duration, share: f64) -> Duration {
    #[expect(clippy::cast_possible_truncation, reason = "less than the length that it is a share of")]
    let nanos = (length.as_secs_f64() * share * 1e9) as i64;
    Duration::from_nanos(nanos.clamp(1_000, length.as_nanos()))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares of 0 to a few")]
fn billionths(share: f64) -> u64 {
    libm::round(share * SCALE) as u64
}

fn share(billionths: u64) -> f64 {
    crate::real(billionths) / SCALE
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_units::FrameSize;
    use serde_json::Value;

    fn seconds(value: &Value) -> Duration {
        Duration::from_secs(value.as_i64().unwrap())
    }

    fn goal(value: &Value) -> Goal {
        Goal {
            final_length: seconds(&value["final_s"]),
            length_sum: seconds(&value["sum_s"]),
            loss_ratio: value["loss"].as_f64().unwrap(),
            exceed_ratio: value["exceed"].as_f64().unwrap(),
        }
    }

    fn trials(value: &Value) -> Vec<Tried> {
        let mut tried = Vec::new();
        for group in value.as_array().unwrap() {
            let trial =
                Tried { length: seconds(&group["duration"]), loss_ratio: group["loss"].as_f64().unwrap() };
            tried.extend((0..group["count"].as_u64().unwrap()).map(|_| trial));
        }
        tried
    }

    #[test]
    fn loads_are_classified_as_the_drafts_code_does() {
        let vectors: Value = serde_json::from_str(include_str!("../tests/mlr_vectors.json")).unwrap();
        let rows = vectors["load_classification"].as_array().unwrap();
        assert_eq!(rows.len(), 24);
        for row in rows {
            let goal = goal(&vectors["goals"][row["goal"].as_str().unwrap()]);
            let tried = trials(&row["trials"]);
            let sums = sums(&goal, &tried);
            let near = |found: f64, name: &str| {
                assert!((found - row[name].as_f64().unwrap()).abs() < 1e-9, "{name}: {sums:?} {row}");
            };
            near(sums.effective_high, "effective_high");
            near(sums.effective_whole, "effective_whole");
            near(sums.pessimistic_high, "pessimistic_high");
            let class = match classify(&goal, &tried) {
                Class::LowerBound => "Lower Bound",
                Class::UpperBound => "Upper Bound",
                Class::Undecided => "Undecided",
            };
            assert_eq!(class, row["by_draft_code"].as_str().unwrap(), "{row}");
        }
        let sixth = rows.iter().find(|row| row["point"] == 6).unwrap();
        for (name, expected) in vectors["conditional_throughput_at_point6_load_1e6"].as_object().unwrap() {
            let found =
                conditional_throughput(&goal(&vectors["goals"][name]), 1e6, &trials(&sixth["trials"]));
            assert!((found - expected.as_f64().unwrap()).abs() < 1e-6, "{name}: {found}");
        }
    }

    fn plan(goals: Vec<Goal>) -> SearchPlan {
        SearchPlan { goals, loads: [0.001, 1.0], width: 0.005, first_length: Duration::from_secs(1) }
    }

    fn run(
        plan: SearchPlan,
        mut device: impl FnMut(&TrialRequest) -> TrialOutcome,
    ) -> (Vec<GoalResult>, Duration) {
        let mut search = Search::new(plan, 0, Frames::Size(FrameSize::MINIMUM), 0);
        let mut trials = 0;
        while let Some(ask) = search.next_trial() {
            trials += 1;
            assert!(trials < 2_000, "the search does not end");
            search.record_outcome(&device(&ask));
        }
        (search.results().to_vec(), search.spent())
    }

    fn losing(lost: u64) -> TrialOutcome {
        TrialOutcome { intended: 1_000_000, offered: 1_000_000, lost, ..TrialOutcome::default() }
    }

    #[test]
    fn a_sharp_capacity_is_found_for_every_goal() {
        for capacity in [0.05, 0.33, 0.731, 0.998] {
            let goals = vec![Goal::TST009, Goal::RFC2544];
            let (found, _) = run(plan(goals), |ask| losing(if ask.load() > capacity { 1_000 } else { 0 }));
            assert_eq!(found.len(), 2);
            for one in found {
                assert!(one.lower <= capacity && one.upper.unwrap() > capacity, "{one:?}");
                assert!(one.upper.unwrap() - one.lower <= 0.005 * one.upper.unwrap() + 1e-9, "{one:?}");
                assert!((one.conditional - one.lower).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_line_that_is_the_bound_and_a_device_that_carries_nothing_are_told() {
        let (found, _) = run(plan(vec![Goal::RFC2544]), |_| losing(0));
        assert_eq!(found[0].upper, None);
        assert!(found[0].lower > 0.999_999);
        let (found, _) = run(plan(vec![Goal::RFC2544]), |_| losing(1));
        assert!(found[0].lower.abs() < 1e-12);
    }

    #[test]
    fn it_takes_no_more_trials_than_was_said() {
        let draws = romer_units::random::RandomStream::new(romer_units::random::Seed([6; 6]), [0, 0]);
        for (number, goals) in [vec![Goal::RFC2544], vec![Goal::TST009], vec![Goal::TST009, Goal::RFC2544]]
            .into_iter()
            .cycle()
            .enumerate()
            .take(24)
        {
            let draw = |which| draws.unit(number as u64 * 2 + which);
            let (capacity, buffer) = (0.001 + 0.998 * draw(0), 2.0 * draw(1));
            let mut search = Search::new(plan(goals), 0, Frames::Size(FrameSize::MINIMUM), 0);
            let [first, mut made] = [search.outlook().most, RemainingTrials::default()];
            while let Some(ask) = search.next_trial() {
                made = made + RemainingTrials::new(1, ask.length());
                let carries = capacity + buffer / ask.length().as_secs_f64();
                search.record_outcome(&losing(if ask.load() > carries { 1_000 } else { 0 }));
            }
            assert!(made.trials <= first.trials, "{capacity} {buffer}: {made:?} {first:?}");
            assert!(made.time <= first.time, "{capacity} {buffer}: {made:?} {first:?}");
            assert_eq!(search.outlook().most, RemainingTrials::default());
        }
    }

    /// A tester that can offer a hundredth of the line is found to be the bound in a few trials, whether it says what it could offer
    /// or not.
    #[test]
    fn slow_tester_bounds_every_goal() {
        for says in [true, false] {
            let mut search = Search::new(plan(vec![Goal::RFC2544]), 0, Frames::Size(FrameSize::MINIMUM), 0);
            let mut slow = 0;
            while let Some(ask) = search.next_trial() {
                let failed = ask.load() > 0.01;
                slow += u32::from(failed);
                assert!(slow < 40, "{says}");
                search.record_outcome(&TrialOutcome {
                    tester_failed: failed,
                    tester_share: (failed && says).then(|| 0.01 / ask.load()),
                    ..losing(0)
                });
            }
            let found = &search.results()[0];
            assert_eq!(search.beyond(found), Some(InconclusiveTrial::Tester));
            assert!(found.lower > 0.0097 && found.lower <= 0.01, "{says}: {found:?}");
            assert!(!says || slow == 1, "{slow}");
        }
    }

    #[test]
    fn stalls_are_forgiven_by_the_goal_that_says_so() {
        // One trial in ten stalls and loses, whatever the load; the fixed seed draws which.
        let stalls = romer_units::random::RandomStream::new(romer_units::random::Seed([5; 6]), [0, 0]);
        let mut number = 0;
        let forgiving = Goal {
            final_length: Duration::from_secs(1),
            length_sum: Duration::from_secs(41),
            ..Goal::TST009
        };
        let (found, spent) = run(plan(vec![forgiving]), |ask| {
            number += 1;
            let stalled = stalls.unit(number) < 0.1;
            losing(if ask.load() > 0.6 || stalled { 1_000 } else { 0 })
        });
        assert!(found[0].lower <= 0.6 && found[0].lower > 0.594, "{found:?}");
        assert!(spent < Duration::from_secs(1_000), "{spent}");
    }
}
