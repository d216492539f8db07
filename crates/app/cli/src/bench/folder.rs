//! The folder of a benchmark, and going on with one that was interrupted.

use std::ffi::OsString;
use std::path::Path;
use std::time::SystemTime;

use romer_bench::options::BenchOptions;
use romer_bench::{Past, rfc3339};
use romer_record::benchmark::{BENCHMARK_PLAN, BenchmarkPlan};
use romer_store::{BenchmarkRun, Location, StoreError};
use romer_units::random::Seed;

use crate::args::{BenchArgs, Cli, Command, Invocation, read};
use crate::failure::Failure;
use crate::measure::location;

/// Options that have no say in what is found out, with a value and without.
const OUTWARD: [&str; 7] = ["--json", "--html", "--out", "--resume", "--color", "--pcapng", "--pcapng-trial"];
const OUTWARD_ALONE: [&str; 4] = ["--force", "--quiet", "-q", "--dry-run"];
/// Letters of a plan's words that a message shows.
const SHOWN: usize = 80;

/// The folder of a benchmark, which is made when there is something to keep.
pub(super) enum Folder {
    /// What is there of it.
    Open(BenchmarkRun),
    /// Where it will be.
    New(Location, BenchmarkPlan),
}

impl Folder {
    /// A new one, which can be made.
    pub(super) fn new(arguments: &BenchArgs, options: &BenchOptions) -> Result<Self, Failure> {
        let location = location(arguments.keep.out.as_deref(), arguments.output.force, options.name)?;
        BenchmarkRun::check(&location)?;
        let plan = BenchmarkPlan {
            schema: BENCHMARK_PLAN.into(),
            started: rfc3339(SystemTime::now()),
            arguments: inward(std::env::args().skip(2)),
            seed: options.seed.0,
            asked: options.asked(),
        };
        Ok(Self::New(location, plan))
    }

    /// Makes it, where it is not there.
    pub(super) fn open(&mut self) -> Result<&mut BenchmarkRun, StoreError> {
        if let Self::New(location, plan) = self {
            *self = Self::Open(BenchmarkRun::create(location, plan)?);
        }
        match self {
            Self::Open(run) => Ok(run),
            Self::New(location, _) => {
                Err(StoreError::NotARun { path: format!("{location:?}").into(), why: "it could not be made" })
            }
        }
    }
}

/// What of the command's words is of the benchmark itself.
fn inward(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words;
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if OUTWARD.contains(&name) {
            if name == word {
                words.next();
            }
        } else if !OUTWARD_ALONE.contains(&name) {
            kept.push(word);
        }
    }
    kept
}

/// The arguments of the benchmark in `folder`, with those that the command line has beside it.
pub(super) fn arguments(folder: &Path) -> Result<BenchArgs, Failure> {
    let plan = BenchmarkRun::plan(folder)?;
    let words = ["romer", "bench"].map(OsString::from).into_iter();
    let words = words.chain(plan.arguments.iter().map(OsString::from)).chain(std::env::args_os().skip(2));
    match read(words)? {
        Invocation::Run(Cli { command: Command::Bench(arguments) }) if arguments.wish.is_some() => {
            Ok(*arguments)
        }
        _ => Err(Failure::with_code(
            3,
            format!(
                "the benchmark cannot go on ({}): its plan.json asks for none; begin a new one",
                romer_report::escape::terminal(&folder.to_string_lossy())
            ),
        )),
    }
}

/// Takes the benchmark in `folder` up, whose seed counts where none is given. A plan that has changed is refused.
pub(super) fn take_up(
    folder: &Path,
    seed: Option<Seed>,
    options: &mut BenchOptions,
) -> Result<(Folder, Past), Failure> {
    let shown = romer_report::escape::terminal(&folder.to_string_lossy());
    let plan = BenchmarkRun::plan(folder)?;
    if seed.is_none() {
        options.seed = Seed(plan.seed);
    }
    let asked = options.asked();
    if let Some(changed) = asked.keys().find(|name| asked.get(*name) != plan.asked.get(*name)) {
        let words = |of: &std::collections::BTreeMap<String, String>| {
            let words = of.get(changed).map_or("not there", String::as_str);
            romer_report::escape::terminal(words).chars().take(SHOWN).collect::<String>()
        };
        return Err(Failure::usage(format!(
            "the plan has changed ({shown}, {changed}): it was {}, and is {}; ask for what was asked, or begin a new benchmark",
            words(&plan.asked),
            words(&asked)
        )));
    }
    if BenchmarkRun::is_complete(folder)? {
        return Err(Failure::usage(format!(
            "the benchmark is complete ({shown}): there is nothing left to do; see its benchmark.json"
        )));
    }
    let started = humantime::parse_rfc3339(&plan.started).map_err(|error| {
        Failure::with_code(
            3,
            format!("the plan cannot be read ({shown}/plan.json, started): {error}; begin a new benchmark"),
        )
    })?;
    let (run, entries) = BenchmarkRun::resume(folder)?;
    Ok((Folder::Open(run), Past { started, entries }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_where_results_go_is_not_of_the_benchmark() {
        let words = "throughput --tx a --json x --quiet --html=y --rx b -q --out z --seed 1,2,3,4,5,6";
        let kept = inward(words.split(' ').map(str::to_owned));
        assert_eq!(kept.join(" "), "throughput --tx a --rx b --seed 1,2,3,4,5,6");
    }
}
