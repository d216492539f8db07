//! How well clocks are told apart: every method over the scenarios of `romer-sim`, whose truth is known.
//!
//! Pure computation: no packet is sent. What takes the machine's time is that each scenario is played many times.

mod claims;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, bail};
use romer_clock::skew::{Estimate, Estimator, Method};
use romer_sim::clocks::{Play, Scenario, random_scenario, standard_scenarios};
use romer_units::{Direction, Duration, Timestamp};
use serde::Serialize;

use crate::figures::median;
use crate::romer_runner::Interrupted;

/// Plays of which a root of the mean square is formed, as in the published table.
pub(crate) const GROUP: usize = 40;
/// Groups of plays of the methods that others have published.
const GROUPS: usize = 5;
/// A scenario of more packets than these is played in one group by them.
const LONG: f64 = 20_000.0;

/// What is published of a method over S1 to S15 in ppm, in the order of [`standard_scenarios`]; of S13 nothing is.
type PublishedColumn = [Option<f64>; 15];

const fn column(values: [f64; 14]) -> PublishedColumn {
    let mut column = [None; 15];
    let mut index = 0;
    while index < values.len() {
        // S13 is left out: the last two are S14 and S15.
        column[if index < 12 { index } else { index + 1 }] = Some(values[index]);
        index += 1;
    }
    column
}

/// The methods, and the published column of each that has one.
fn methods() -> Vec<(Method, Option<PublishedColumn>)> {
    let khlifi = |seconds| Method::Khlifi { window: Duration::from_secs(seconds), weight: 0.875 };
    let squares = [0.99, 14.7, 1.2, 2.5, 29.0, 32.0, 1.0, 0.96, 111.0, 222.0, 25.0, 0.010, 0.99, 24.0];
    let absolute = [0.87, 0.54, 1.1, 0.24, 20.0, 37.0, 0.87, 0.86, 113.0, 233.0, 25.0, 0.009, 0.88, 17.0];
    let hull = [0.047, 0.017, 0.015, 0.0044, 0.043, 23.0, 0.29, 0.047, 0.36, 249.0, 31.0, 0.0065, 25.0, 72.0];
    let short = [1.7, 0.63, 0.18, 0.25, 1.5, 25.0, 2.3, 1.7, 1.7, 1.7, 12.0, 0.066, 24.0, 3.6];
    let long = [0.29, 0.096, 0.044, 0.049, 0.46, 30.0, 0.98, 0.29, 0.29, 0.29, 9.1, 0.024, 33.0, 13.0];
    let ours =
        [0.017, 0.0064, 0.0066, 0.0024, 0.041, 27.0, 0.20, 0.019, 0.041, 0.034, 0.060, 0.0050, 0.022, 0.050];
    vec![
        (Method::LeastSquares, Some(column(squares))),
        (Method::LeastAbsolute, Some(column(absolute))),
        (Method::LeastAbsoluteJumps, None),
        (Method::Hull, Some(column(hull))),
        (khlifi(5), Some(column(short))),
        (khlifi(20), Some(column(long))),
        (Method::Best, Some(column(ours))),
    ]
}

/// What a method made of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cell {
    /// `S1 ...` to `S15 ...`, or another.
    pub(crate) scenario: String,
    pub(crate) method: String,
    pub(crate) plays: usize,
    /// Plays in which no skew was given.
    pub(crate) refused: usize,
    /// Root of the mean square error of the first 40 plays that gave one.
    pub(crate) rms_ppm: Option<f64>,
    /// The median of such roots over groups of 40 plays.
    pub(crate) median_rms_ppm: Option<f64>,
    /// The median size of the error.
    pub(crate) median_error_ppm: Option<f64>,
    /// What is published: the root of the mean square over 40 plays of others' seeds.
    pub(crate) published_ppm: Option<f64>,
    /// Share of the given intervals that hold the truth.
    pub(crate) coverage: Option<f64>,
    /// Shares of the truths below and above the given intervals.
    pub(crate) missed: Option<[f64; 2]>,
    /// Mean half width of the given intervals.
    pub(crate) half_width_ppm: Option<f64>,
    /// Of an hour's wander: root of the mean square of what the correction leaves of the clock, the worse direction,
    /// and the median over the plays.
    pub(crate) baseline_ns: Option<f64>,
}

impl Cell {
    /// Of `best`, not of the other methods.
    pub(crate) fn is_best(&self) -> bool {
        self.method == Method::Best.name()
    }

    /// What `Sn` is called, without the rest of its name.
    pub(crate) fn number(&self) -> &str {
        self.scenario.split(' ').next().unwrap_or_default()
    }
}

/// The whole table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Clocks {
    /// Plays of each scenario by `best`.
    pub(crate) plays: usize,
    pub(crate) seconds: f64,
    pub(crate) cells: Vec<Cell>,
}

impl Clocks {
    /// What `best` made of a scenario.
    pub(crate) fn best(&self, number: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.is_best() && cell.number() == number)
    }
}

/// One play's outcome.
#[derive(Clone, Copy, Debug)]
struct RunOutcome {
    job: usize,
    method: usize,
    seed: u32,
    /// Error and interval about the truth, ppm; `None` where it was refused.
    found: Option<(f64, [f64; 2])>,
    baseline_ns: Option<f64>,
}

/// What is played.
struct Job {
    name: String,
    /// The place among the fifteen.
    number: Option<usize>,
    long: bool,
    scenario: Box<dyn Fn(u32) -> Scenario + Sync>,
}

impl Job {
    fn new(scenario: Scenario, number: Option<usize>) -> Self {
        let long = scenario.length / scenario.interval > LONG;
        let name = scenario.name.clone();
        Self { name, number, long, scenario: Box::new(move |_| scenario.clone()) }
    }

    /// The first word of its name.
    fn word(&self) -> &str {
        self.name.split(' ').next().unwrap_or_default()
    }

    /// How often a method plays it.
    fn plays(&self, method: Method, plays: usize) -> usize {
        match (method, self.long) {
            (Method::Best, _) => plays,
            _ if self.number.is_none() => 0,
            (_, true) => plays.min(GROUP),
            (_, false) => plays.min(GROUP * GROUPS),
        }
    }
}

/// The name of the scenarios that are drawn at random.
pub(crate) const DRAWN: &str = "drawn at random";
/// S1 at 10 ms, and over 120 s.
pub(crate) const DENSE: &str = "S1/10ms";
pub(crate) const TWICE: &str = "S1/120s";

/// What is counted, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Plays of each scenario by `best`.
    pub(crate) plays: usize,
    /// The seed of the first; the next has the next.
    pub(crate) first_seed: u32,
    /// The scenarios, by the first word of their names; all where there is none.
    pub(crate) scenarios: &'a [String],
}

impl Wanted<'_> {
    fn wants(&self, job: &Job) -> bool {
        self.scenarios.is_empty() || self.scenarios.iter().any(|name| name == job.word())
    }
}

/// The name of a scenario as it is asked for, in whatever case.
///
/// # Errors
/// Which there are.
pub(crate) fn scenario(name: &str) -> Result<String, String> {
    let jobs = jobs();
    let mut words = jobs.iter().map(Job::word);
    let found = words.clone().find(|word| word.eq_ignore_ascii_case(name));
    found.map(str::to_owned).ok_or_else(|| {
        let first = words.next().unwrap_or_default().to_owned();
        format!("there is no such scenario; name one of {}", words.fold(first, |all, word| all + ", " + word))
    })
}

fn jobs() -> Vec<Job> {
    let mut jobs: Vec<Job> =
        (0..).zip(standard_scenarios()).map(|(number, one)| Job::new(one, Some(number))).collect();
    let dense = Scenario { name: DENSE.into(), interval: 0.01, ..Scenario::default() };
    let twice = Scenario { name: TWICE.into(), length: 120.0, ..Scenario::default() };
    jobs.extend([dense, twice].map(|one| Job::new(one, None)));
    jobs.push(Job { name: DRAWN.into(), number: None, long: false, scenario: Box::new(random_scenario) });
    jobs
}

/// Plays everything that is wanted, on all cores.
pub(crate) fn run(wanted: &Wanted<'_>, interrupted: &AtomicBool, say: &dyn Fn(&str)) -> Result<Clocks> {
    let began = std::time::Instant::now();
    let (jobs, methods) = (jobs(), methods());
    let mut cells = Vec::new();
    for (index, job) in jobs.iter().enumerate().filter(|(_, job)| wanted.wants(job)) {
        let outcomes = play(index, job, &methods, wanted, interrupted);
        if interrupted.load(Ordering::Acquire) {
            bail!(Interrupted);
        }
        for (number, (method, published)) in methods.iter().enumerate() {
            let mine: Vec<RunOutcome> =
                outcomes.iter().filter(|one| one.method == number && one.job == index).copied().collect();
            if mine.is_empty() {
                continue;
            }
            let published_ppm = job.number.and_then(|place| published.as_ref()?[place]);
            cells.push(cell(job, *method, &mine, published_ppm));
        }
        if let Some(best) = cells.last() {
            say(&crate::page::clock::progress_clock(best));
        }
    }
    Ok(Clocks { plays: wanted.plays, seconds: began.elapsed().as_secs_f64(), cells })
}

fn play(
    index: usize,
    job: &Job,
    methods: &[(Method, Option<PublishedColumn>)],
    wanted: &Wanted<'_>,
    interrupted: &AtomicBool,
) -> Vec<RunOutcome> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= wanted.plays || interrupted.load(Ordering::Acquire) {
                        break;
                    }
                    let Some(seed) =
                        u32::try_from(number).ok().and_then(|one| wanted.first_seed.checked_add(one))
                    else {
                        break;
                    };
                    let play = (job.scenario)(seed).play(seed);
                    let playing = methods
                        .iter()
                        .enumerate()
                        .filter(|(_, (method, _))| number < job.plays(*method, wanted.plays));
                    own.extend(playing.map(|(method, (name, _))| {
                        let estimate = estimate(*name, &play);
                        let found = estimate.skew.map(|skew| {
                            let about = |ppm: f64| ppm - play.skew_ppm;
                            (about(skew.ppm), skew.interval_ppm.map(about))
                        });
                        let baseline_ns = (job.long && *name == Method::Best && found.is_some())
                            .then(|| baseline(&play, &estimate));
                        RunOutcome { job: index, method, seed, found, baseline_ns }
                    }));
                }
                if let Ok(mut all) = all.lock() {
                    all.append(&mut own);
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap_or_default();
    all.sort_by_key(|one: &RunOutcome| one.seed);
    all
}

fn estimate(method: Method, play: &Play) -> Estimate {
    let mut estimator = Estimator::new(method, None);
    for (heading, probes) in Direction::BOTH.into_iter().zip(&play.probes) {
        for probe in probes {
            let (departure, arrival) = (probe.departure_ns, probe.arrival_ns);
            estimator.push(heading, Timestamp::from_nanos(departure), Timestamp::from_nanos(arrival));
        }
    }
    estimator.estimate()
}

/// What the correction leaves of the clock, without its mean: the worse direction.
#[expect(clippy::cast_precision_loss, reason = "corrections are far below 2^53 ns")]
fn baseline(play: &Play, estimate: &Estimate) -> f64 {
    let rest = |(heading, probes): (Direction, &Vec<romer_sim::clocks::Probe>)| {
        let correction = estimate.correction(heading);
        let left = probes.iter().map(|probe| match heading {
            Direction::Forward => probe.ahead_ns - correction.at(probe.departure_ns) as f64,
            Direction::Reverse => -probe.ahead_ns - correction.at(probe.arrival_ns) as f64,
        });
        let left: Vec<f64> = left.collect();
        let mean = left.iter().sum::<f64>() / count(left.len());
        rms(left.iter().map(|one| one - mean))
    };
    Direction::BOTH.into_iter().zip(&play.probes).map(rest).fold(0.0, f64::max)
}

fn cell(job: &Job, method: Method, outcomes: &[RunOutcome], published_ppm: Option<f64>) -> Cell {
    let found: Vec<(f64, [f64; 2])> = outcomes.iter().filter_map(|one| one.found).collect();
    let group = |part: &[RunOutcome]| {
        let errors: Vec<f64> = part.iter().filter_map(|one| Some(one.found?.0)).collect();
        (!errors.is_empty()).then(|| rms(errors.into_iter()))
    };
    let groups: Vec<f64> = outcomes.chunks(GROUP).filter_map(group).collect();
    let sizes: Vec<f64> = found.iter().map(|one| one.0.abs()).collect();
    let share = |holds: &dyn Fn([f64; 2]) -> bool| {
        count(found.iter().filter(|one| holds(one.1)).count()) / count(found.len())
    };
    let some = !found.is_empty();
    let baselines: Vec<f64> = outcomes.iter().filter_map(|one| one.baseline_ns).collect();
    Cell {
        scenario: job.name.clone(),
        method: match method {
            Method::Khlifi { window, .. } => format!("{}:{window}", method.name()),
            other => other.name().into(),
        },
        plays: outcomes.len(),
        refused: outcomes.len() - found.len(),
        rms_ppm: group(&outcomes[..outcomes.len().min(GROUP)]),
        median_rms_ppm: median(&groups),
        median_error_ppm: median(&sizes),
        published_ppm,
        coverage: some.then(|| share(&|[low, high]| low <= 0.0 && high >= 0.0)),
        missed: some.then(|| [share(&|[low, _]| low > 0.0), share(&|[_, high]| high < 0.0)]),
        half_width_ppm: some.then(|| {
            found.iter().map(|(_, [low, high])| (high - low) / 2.0).sum::<f64>() / count(found.len())
        }),
        baseline_ns: median(&baselines),
    }
}

fn rms(values: impl Iterator<Item = f64>) -> f64 {
    let (mut number, mut sum) = (0.0, 0.0);
    for value in values {
        (number, sum) = (number + 1.0, sum + value * value);
    }
    (sum / f64::max(number, 1.0)).sqrt()
}

#[expect(clippy::cast_precision_loss, reason = "numbers of plays")]
fn count(number: usize) -> f64 {
    number as f64
}
