//! All trials of a benchmark in their order.
//!
//! Repeat by repeat; within a repeat the cases in random order, within a case the frames (and loads) in random
//! order, so that what changes with time does not look like a difference of cases. The seed replays the order.

use romer_record::benchmark::ResultBound;
use romer_units::Duration;
use romer_units::random::{RandomStream, Seed};

use crate::bursts::{Bursts, Limits, Recovery};
use crate::reset::Reset;
use crate::search::{Goal, InconclusiveTrial, Search};
use crate::{Frames, Phase, RemainingTrials, TrialForecast, TrialOutcome, TrialRequest, mlr};

/// The question to answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Procedure {
    /// Offered against forwarded, latency and jitter, at each load (Chadda 2004 chapter 3; RFC 2544 section 26.2 at the
    /// loads that one asks for).
    Sweep {
        /// Shares of the line rate.
        loads: Vec<f64>,
        /// How long each is offered.
        length: Duration,
    },
    /// The highest load that meets the goal, by halving.
    Throughput(Goal),
    /// The highest loads that meet several goals, by multiple loss ratio search.
    Mlr(mlr::SearchPlan),
    /// The longest burst at the line's rate that loses nothing (RFC 9004), after the throughput.
    BackToBack {
        /// How the throughput is found.
        goal: Goal,
        /// How bursts are searched for.
        limits: Limits,
    },
    /// How long after an overload the device goes on losing (RFC 2544 section 26.5), after the throughput.
    Recovery {
        /// How the throughput is found.
        goal: Goal,
        /// How long the overload lasts, and how long is looked afterwards.
        lengths: [Duration; 2],
    },
    /// How long the device forwards nothing after it was reset (RFC 2544 section 26.6, RFC 6201), at one load.
    Reset {
        /// Share of the line rate.
        load: f64,
        /// How long is looked.
        length: Duration,
    },
    /// Loss at each load from the greatest downwards in steps, until two in a row lose nothing (RFC 2544 section 26.3).
    FrameLoss {
        /// Share of the line from one load to the next, at most 0.1 by the RFC.
        step: f64,
        /// Where it begins.
        most: f64,
        /// How long each is offered.
        length: Duration,
    },
}

impl Procedure {
    /// How long a trial sends that decides.
    pub fn length(&self) -> Duration {
        match self {
            Self::Sweep { length, .. } | Self::FrameLoss { length, .. } | Self::Reset { length, .. } => {
                *length
            }
            Self::Throughput(goal) | Self::BackToBack { goal, .. } | Self::Recovery { goal, .. } => goal.full,
            Self::Mlr(plan) => plan.goals.last().map_or(Duration::ZERO, |goal| goal.final_length),
        }
    }

    /// The loss ratios up to which its trials pass; empty where it is told how much is lost, or when.
    pub fn criteria(&self) -> Vec<f64> {
        match self {
            Self::Throughput(goal) => vec![goal.loss_ratio],
            Self::Mlr(plan) => plan.goals.iter().map(|goal| goal.loss_ratio).collect(),
            Self::BackToBack { goal, .. } => vec![goal.loss_ratio, 0.0],
            Self::Sweep { .. } | Self::Recovery { .. } | Self::Reset { .. } | Self::FrameLoss { .. } => {
                Vec::new()
            }
        }
    }
}

/// What is to be done with what.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// The question to answer.
    pub procedure: Procedure,
    /// How many cases there are.
    pub cases: usize,
    /// The frames, each in turn.
    pub frames: Vec<Frames>,
    /// How often all of it.
    pub repeats: u32,
    /// Seed of the order.
    pub seed: Seed,
}

impl Design {
    /// The most combinations of case, frames, load and repeat that a benchmark goes through. Each takes about 200 octets; as
    /// many trials of a second take eleven days.
    pub const MOST_COMBINATIONS: u64 = 1_000_000;

    /// How many combinations of case, frames, load and repeat it goes through.
    pub fn combinations(&self) -> u64 {
        let loads = if let Procedure::Sweep { loads, .. } = &self.procedure { loads.len() } else { 1 };
        let counts =
            [self.cases, self.frames.len(), loads].map(|count| u64::try_from(count).unwrap_or(u64::MAX));
        counts.into_iter().fold(u64::from(self.repeats), u64::saturating_mul)
    }
}

/// A finding of a procedure that is no single trial.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcedureFinding {
    /// The case.
    pub case: usize,
    /// The frames.
    pub frames: Frames,
    /// The repeat.
    pub repeat: u32,
    /// What was found.
    pub quantity: &'static str,
    /// How much: a share of the line rate, frames, or nanoseconds; `None` where it was sought and not found.
    pub value: Option<f64>,
    /// It is the tester's limit, or the greatest load that was tried, rather than the device's; or why it was not found.
    pub bounded_by: Option<ResultBound>,
}

/// What is under way.
#[derive(Clone, Debug)]
enum Task {
    Trials { case: usize, repeat: u32, left: Vec<(Frames, f64)>, length: Duration },
    Search(Box<Search>),
    Mlr(Box<mlr::Search>),
    Bursts(Box<Bursts>),
    Recovery(Box<Recovery>),
    Reset(Box<Reset>),
    Loss { case: usize, repeat: u32, frames: Frames, next: f64, step: f64, clean: u32, length: Duration },
}

/// The trials of a benchmark, one after the other.
#[derive(Clone, Debug)]
pub struct Campaign {
    tasks: std::collections::VecDeque<Task>,
    findings: Vec<ProcedureFinding>,
    asked: u64,
    /// The length of the trial that was asked for and is not judged.
    outstanding: Option<Duration>,
    /// What is left of a multiple loss ratio search that has not begun.
    fresh: TrialForecast,
}

impl Campaign {
    /// All that `design` asks for, not yet begun.
    pub fn new(design: &Design) -> Self {
        let mut order = RandomOrder {
            stream: RandomStream::new(design.seed, [u32::from_be_bytes(*b"benc"), 0]),
            drawn: 0,
        };
        let mut tasks = std::collections::VecDeque::new();
        for repeat in 0..design.repeats {
            for case in order.shuffled((0..design.cases).collect()) {
                match &design.procedure {
                    Procedure::Sweep { loads, length } => {
                        let all = design
                            .frames
                            .iter()
                            .flat_map(|frames| loads.iter().map(|load| (frames.clone(), *load)))
                            .collect();
                        let mut left = order.shuffled(all);
                        left.reverse();
                        tasks.push_back(Task::Trials { case, repeat, left, length: *length });
                    }
                    Procedure::Throughput(goal) => {
                        for frames in order.shuffled(design.frames.clone()) {
                            tasks.push_back(Task::Search(Box::new(Search::new(*goal, case, frames, repeat))));
                        }
                    }
                    Procedure::Mlr(plan) => {
                        for frames in order.shuffled(design.frames.clone()) {
                            let search = mlr::Search::new(plan.clone(), case, frames, repeat);
                            tasks.push_back(Task::Mlr(Box::new(search)));
                        }
                    }
                    Procedure::BackToBack { goal, limits } => {
                        for frames in order.shuffled(design.frames.clone()) {
                            let throughput = Search::new(*goal, case, frames, repeat);
                            tasks.push_back(Task::Bursts(Box::new(Bursts::new(throughput, *limits))));
                        }
                    }
                    Procedure::Recovery { goal, lengths } => {
                        for frames in order.shuffled(design.frames.clone()) {
                            let throughput = Search::new(*goal, case, frames, repeat);
                            tasks.push_back(Task::Recovery(Box::new(Recovery::new(throughput, *lengths))));
                        }
                    }
                    Procedure::Reset { load, length } => {
                        for frames in order.shuffled(design.frames.clone()) {
                            let phase = Phase { load: *load, length: *length };
                            let subject = (case, frames, repeat);
                            tasks.push_back(Task::Reset(Box::new(Reset::new(subject, phase))));
                        }
                    }
                    Procedure::FrameLoss { step, most, length } => {
                        for frames in order.shuffled(design.frames.clone()) {
                            tasks.push_back(Task::Loss {
                                case,
                                repeat,
                                frames,
                                next: *most,
                                step: *step,
                                clean: 0,
                                length: *length,
                            });
                        }
                    }
                }
            }
        }
        let fresh = tasks.iter().find_map(|task| match task {
            Task::Mlr(search) => Some(search.outlook()),
            _ => None,
        });
        Self { tasks, findings: Vec::new(), asked: 0, outstanding: None, fresh: fresh.unwrap_or_default() }
    }

    /// The next trial; `None` at the end. Every one of them is to be followed by [`Campaign::record_outcome`].
    pub fn next_trial(&mut self) -> Option<TrialRequest> {
        while let Some(task) = self.tasks.front_mut() {
            let ask = match task {
                Task::Trials { case, repeat, left, length } => {
                    left.pop().map(|(frames, load)| TrialRequest {
                        case: *case,
                        frames,
                        phases: vec![Phase { load, length: *length }],
                        repeat: *repeat,
                        purpose: "measure",
                    })
                }
                Task::Search(search) => search.next_trial(),
                Task::Mlr(search) => search.next_trial(),
                Task::Bursts(bursts) => bursts.next_trial(),
                Task::Recovery(recovery) => recovery.next_trial(),
                Task::Reset(reset) => reset.next_trial(),
                Task::Loss { case, repeat, frames, next, length, clean, .. } => (*clean < 2 && *next > 1e-9)
                    .then(|| TrialRequest {
                        case: *case,
                        frames: frames.clone(),
                        phases: vec![Phase { load: *next, length: *length }],
                        repeat: *repeat,
                        purpose: "measure",
                    }),
            };
            if let Some(ask) = ask {
                self.asked += 1;
                self.outstanding = Some(ask.length());
                return Some(ask);
            }
            if let Some(task) = self.tasks.pop_front() {
                self.findings.extend(conclude(&task));
            }
        }
        None
    }

    /// Takes the outcome of the trial that was asked for last.
    pub fn record_outcome(&mut self, outcome: &TrialOutcome) {
        self.outstanding = None;
        match self.tasks.front_mut() {
            Some(Task::Search(search)) => search.record_outcome(outcome),
            Some(Task::Mlr(search)) => search.record_outcome(outcome),
            Some(Task::Bursts(bursts)) => bursts.judge(outcome),
            Some(Task::Recovery(recovery)) => recovery.judge(outcome),
            Some(Task::Reset(reset)) => reset.record_outcome(outcome),
            Some(Task::Loss { next, step, clean, .. }) => {
                *clean = if outcome.lost == 0 && !outcome.tester_failed { *clean + 1 } else { 0 };
                *next -= *step;
            }
            Some(Task::Trials { .. }) | None => {}
        }
    }

    /// What was found up to now.
    pub fn findings(&self) -> &[ProcedureFinding] {
        &self.findings
    }

    /// Trials that were asked for up to now.
    pub const fn asked(&self) -> u64 {
        self.asked
    }

    /// What is left after the trial that was asked for last.
    pub fn outlook(&self) -> TrialForecast {
        let tasks = self.tasks.iter().map(|task| match task {
            Task::Trials { left, length, .. } => {
                TrialForecast::certain(RemainingTrials::new(left.len() as u64, *length))
            }
            Task::Search(search) => search.outlook(),
            // One that has not begun is as any other.
            Task::Mlr(search) if search.spent() == Duration::ZERO => self.fresh,
            Task::Mlr(search) => search.outlook(),
            Task::Bursts(bursts) => bursts.outlook(),
            Task::Recovery(recovery) => recovery.outlook(),
            Task::Reset(reset) => reset.outlook(),
            Task::Loss { clean: 2.., .. } => TrialForecast::default(),
            Task::Loss { next, step, length, .. } => TrialForecast::certain(RemainingTrials::new(
                to_u64(libm::ceil(*next / *step - 1e-9)),
                *length,
            )),
        });
        let all = tasks.fold(TrialForecast::default(), |sum, one| sum + one);
        // A list of trials is shorter by what was asked for; others count it until it is judged.
        let Some(length) =
            self.outstanding.filter(|_| !matches!(self.tasks.front(), Some(Task::Trials { .. })))
        else {
            return all;
        };
        let less = |left: RemainingTrials| RemainingTrials {
            trials: left.trials.saturating_sub(1),
            time: (left.time - length).max(Duration::ZERO),
        };
        TrialForecast { usual: less(all.usual), most: less(all.most) }
    }
}

/// What a task that has ended found.
fn conclude(task: &Task) -> Vec<ProcedureFinding> {
    let finding = |subject: (usize, &Frames, u32), quantity, value, bounded_by| ProcedureFinding {
        case: subject.0,
        frames: subject.1.clone(),
        repeat: subject.2,
        quantity,
        value: Some(value),
        bounded_by,
    };
    let throughput = |search: &Search| {
        search.result().map(|found| {
            let line = found.failed.is_none().then_some(ResultBound::LineRate);
            let bounded_by = found.beyond.map(InconclusiveTrial::bound).or(line);
            finding(search.subject(), "throughput", found.passed, bounded_by)
        })
    };
    match task {
        Task::Trials { .. } | Task::Loss { .. } => Vec::new(),
        Task::Search(search) => throughput(search).into_iter().collect(),
        Task::Mlr(search) => {
            // The strictest goal is the last one.
            let strictest = search.results().last();
            strictest.map_or_else(Vec::new, |found| {
                let line = found.upper.is_none().then_some(ResultBound::LineRate);
                let bound = search.beyond(found).map(InconclusiveTrial::bound).or(line);
                [("throughput", found.lower), ("conditional_throughput", found.conditional)]
                    .map(|(name, value)| finding(search.subject(), name, value, bound))
                    .into()
            })
        }
        Task::Bursts(bursts) => {
            let subject = bursts.throughput().subject();
            let mut found: Vec<ProcedureFinding> = throughput(bursts.throughput()).into_iter().collect();
            if let Some(result) = bursts.found() {
                let longest = result.at_the_limit.then_some(ResultBound::LongestBurst);
                let bound = result.beyond.map(InconclusiveTrial::bound).or(longest);
                found.push(finding(subject, "burst_frames", crate::real(result.frames), bound));
                if let Some(seconds) = result.corrected_buffer {
                    found.push(finding(subject, "corrected_buffer_ns", seconds * 1e9, bound));
                }
            }
            found
        }
        Task::Recovery(recovery) => {
            let subject = recovery.throughput().subject();
            let mut found: Vec<ProcedureFinding> = throughput(recovery.throughput()).into_iter().collect();
            if let Some(time) = recovery.found() {
                found.push(finding(subject, "recovery_ns", time.as_secs_f64() * 1e9, None));
            } else if let Some(why) = recovery.missed() {
                found.push(ProcedureFinding {
                    value: None,
                    ..finding(subject, "recovery_ns", 0.0, Some(why))
                });
            }
            found
        }
        Task::Reset(reset) => {
            let Some(found) = reset.result() else { return Vec::new() };
            let bound = found.at_the_end.then_some(ResultBound::TrialEnd);
            [("reset_by_loss_ns", found.by_loss), ("reset_by_times_ns", found.by_times)]
                .map(|(name, time)| finding(reset.subject(), name, time.as_secs_f64() * 1e9, bound))
                .into()
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number of trials")]
const fn to_u64(value: f64) -> u64 {
    value as u64
}

/// Random orders, one after the other.
struct RandomOrder {
    stream: RandomStream,
    drawn: u64,
}

impl RandomOrder {
    /// The same things in an order of which each is equally likely (Fisher and Yates).
    fn shuffled<T>(&mut self, mut things: Vec<T>) -> Vec<T> {
        for last in (1..things.len()).rev() {
            let span = u128::try_from(last + 1).unwrap_or(u128::MAX);
            let drawn = (u128::from(self.stream.bits(self.drawn)) * span) >> 64;
            self.drawn += 1;
            things.swap(last, usize::try_from(drawn).unwrap_or(last));
        }
        things
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_units::FrameSize;

    fn design(procedure: Procedure) -> Design {
        let frames = [64, 512, 1_518].map(|size| Frames::Size(FrameSize::new(size).unwrap()));
        Design { procedure, cases: 3, frames: frames.to_vec(), repeats: 4, seed: Seed([9; 6]) }
    }

    fn sweep() -> Design {
        design(Procedure::Sweep { loads: vec![0.1, 0.5, 0.95], length: Duration::from_secs(1) })
    }

    /// Every factor counts, and the product saturates.
    #[test]
    fn combinations_multiply() {
        assert_eq!(
            sweep().combinations(),
            u64::try_from(all(&sweep(), |_| TrialOutcome::default()).0.len()).unwrap()
        );
        let large = Design { cases: usize::MAX, repeats: u32::MAX, ..sweep() };
        assert_eq!(large.combinations(), u64::MAX);
    }

    fn all(
        design: &Design,
        mut device: impl FnMut(&TrialRequest) -> TrialOutcome,
    ) -> (Vec<TrialRequest>, Campaign) {
        let mut campaign = Campaign::new(design);
        let mut asks = Vec::new();
        while let Some(ask) = campaign.next_trial() {
            campaign.record_outcome(&device(&ask));
            asks.push(ask);
        }
        (asks, campaign)
    }

    #[test]
    fn a_sweep_is_every_case_size_and_load_as_often_as_asked_in_random_order() {
        let (asks, campaign) = all(&sweep(), |_| TrialOutcome::default());
        assert_eq!(asks.len(), 3 * 3 * 3 * 4);
        assert_eq!((campaign.asked(), campaign.outlook()), (108, TrialForecast::default()));
        for case in 0..3 {
            for repeat in 0..4 {
                let of = asks.iter().filter(|ask| (ask.case, ask.repeat) == (case, repeat)).count();
                assert_eq!(of, 9, "case {case} repeat {repeat}");
            }
        }
        let sorted =
            asks.windows(2).all(|pair| (pair[0].case, pair[0].load()) <= (pair[1].case, pair[1].load()));
        assert!(!sorted, "the order is random");
        // A case is set once in each repeat.
        let changes = asks.windows(2).filter(|pair| pair[0].case != pair[1].case).count();
        assert!(changes <= 11, "{changes}");
        assert_eq!(all(&sweep(), |_| TrialOutcome::default()).0, asks, "the seed replays it");
        let other = Design { seed: Seed([8; 6]), ..sweep() };
        assert_ne!(all(&other, |_| TrialOutcome::default()).0, asks);
    }

    #[test]
    fn throughput_is_searched_for_each_case_and_size() {
        let goal = Goal {
            loss_ratio: 0.0,
            least: 0.001,
            most: 1.0,
            resolution: 0.01,
            short: Duration::from_secs(1),
            full: Duration::from_secs(1),
        };
        let capacity = |ask: &TrialRequest| 0.3 + 0.2 * f64::from(u8::try_from(ask.case).unwrap());
        let (_, campaign) = all(&design(Procedure::Throughput(goal)), |ask| TrialOutcome {
            offered: 100,
            lost: u64::from(ask.load() > capacity(ask)),
            ..TrialOutcome::default()
        });
        assert_eq!(campaign.findings().len(), 3 * 3 * 4);
        for found in campaign.findings() {
            let truth = 0.3 + 0.2 * f64::from(u8::try_from(found.case).unwrap());
            let value = found.value.unwrap();
            assert!(value <= truth && truth - value <= 0.01, "{found:?}");
            assert_eq!(found.bounded_by, None);
        }
    }

    #[test]
    fn frame_loss_goes_down_until_two_trials_lose_nothing() {
        let procedure = Procedure::FrameLoss { step: 0.1, most: 1.0, length: Duration::from_secs(1) };
        let one = Design { cases: 1, repeats: 1, ..design(procedure) };
        let (asks, _) = all(&one, |ask| TrialOutcome {
            offered: 100,
            lost: u64::from(ask.load() > 0.75),
            ..TrialOutcome::default()
        });
        // 100, 90, 80 lose; 70 and 60 do not; three sizes.
        assert_eq!(asks.len(), 15);
        let (asks, _) = all(&one, |_| TrialOutcome { offered: 100, lost: 1, ..TrialOutcome::default() });
        assert_eq!(asks.len(), 30, "and ends at the least load");
    }
}
