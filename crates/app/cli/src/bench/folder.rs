//! The folder of a benchmark, and going on with one that was interrupted.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use romer_bench::Journal;
use romer_bench::options::BenchOptions;
use romer_host::clock::rfc3339;
use romer_record::Exit;
use romer_record::benchmark::{BENCHMARK_PLAN, BenchmarkPlan};
use romer_store::{BenchmarkRun, Location, StoreError};
use romer_units::random::Seed;

use super::procedures;
use crate::args::{BenchArgs, RunArgs};
use crate::failure::Failure;
use crate::measure::location;

/// Options that have no say in what is found out, with a value and without.
const OUTWARD: [&str; 8] =
    ["--json", "--html", "--svg", "--out", "--resume", "--color", "--pcapng", "--pcapng-trial"];
const OUTWARD_ALONE: [&str; 5] = ["--force", "--quiet", "-q", "--dry-run", "--no-confine"];
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
    pub(super) fn new(run: &RunArgs, options: &BenchOptions) -> Result<Self, Failure> {
        let location = location(run.keep.out.as_deref(), run.output.force, options.name)?;
        BenchmarkRun::check(&location)?;
        let plan = BenchmarkPlan {
            schema: BENCHMARK_PLAN.into(),
            started: rfc3339(SystemTime::now()),
            arguments: inward(std::env::args().skip(2)),
            seed: options.seed.0,
            settings: options.settings(),
        };
        Ok(Self::New(location, plan))
    }

    /// Where it is or will be, or the folder in which it will be.
    pub(super) fn place(&self) -> PathBuf {
        match self {
            Self::Open(run) => run.folder().to_path_buf(),
            Self::New(Location::Under { runs, .. }, _) => runs.clone(),
            Self::New(Location::Folder { path, .. }, _) => path.clone(),
        }
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

impl Folder {
    /// Why a benchmark ended before its time, with where it is kept and how it goes on, where it is.
    pub(super) fn add_resume_hint(&self, failure: Failure) -> Failure {
        match self {
            Self::Open(run) => failure.and_then(&format!(
                "completed trials are saved; continue with: romer bench --resume {}",
                romer_report::escape::terminal(&run.folder().to_string_lossy())
            )),
            Self::New(..) => failure,
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

/// The folder that `--resume` names, wherever it stands.
pub(super) fn resumed(arguments: &BenchArgs) -> Option<PathBuf> {
    const FLAG: &str = "--resume";
    if arguments.resume.is_some() {
        return arguments.resume.clone();
    }
    let mut words = arguments.words.iter();
    let word = words.find(|word| word.split('=').next() == Some(FLAG))?;
    let folder =
        word.split_once('=').map_or_else(|| words.next().map(String::as_str), |(_, folder)| Some(folder));
    folder.map(PathBuf::from)
}

/// The words of the benchmark in `folder` with those that the command line has beside it, both from the command's name on.
/// What both say counts as the command line says it, so that [`resume`] can tell what has changed.
pub(super) fn merge_arguments(folder: &Path, given: &[String]) -> Result<Vec<String>, Failure> {
    let plan = BenchmarkRun::plan(folder)?;
    let given = given.get(1..).unwrap_or_default();
    let mut words = vec!["bench".to_owned()];
    words.extend(unsaid(&plan.arguments, given));
    words.extend(given.iter().cloned());
    // A folder without a procedure or a plan would be taken up again without end.
    if words.get(1).is_none_or(|word| word.starts_with('-')) {
        return Err(Failure::with_exit(
            Exit::BadData,
            format!(
                "cannot resume ({}): plan.json has no procedure; start a new benchmark",
                romer_report::escape::terminal(&folder.to_string_lossy())
            ),
        ));
    }
    Ok(words)
}

/// Those of the words that say nothing that `given` says as well.
fn unsaid(words: &[String], given: &[String]) -> Vec<String> {
    let name = |word: &str| word.split_once('=').map_or(word, |(name, _)| name).to_owned();
    let options = procedures::options();
    let takes_value =
        |flag: &str| flag.strip_prefix("--").is_some_and(|name| procedures::takes_a_value(&options, name));
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let flag = name(word);
        // A value that looks like an option goes with the option before it.
        let value = if flag == *word && takes_value(&flag) { words.next() } else { None };
        if !flag.starts_with("--") || !given.iter().any(|given| name(given) == flag) {
            kept.push(word.clone());
            kept.extend(value.cloned());
        }
    }
    kept
}

/// Takes the benchmark in `folder` up, whose seed counts where none is given. A plan that has changed is refused.
pub(super) fn resume(
    folder: &Path,
    seed: Option<Seed>,
    options: &mut BenchOptions,
) -> Result<(Folder, Journal), Failure> {
    let shown = romer_report::escape::terminal(&folder.to_string_lossy());
    let plan = BenchmarkRun::plan(folder)?;
    if seed.is_none() {
        options.seed = Seed(plan.seed);
    }
    if BenchmarkRun::is_complete(folder)? {
        return Err(Failure::usage(format!(
            "nothing to resume ({shown}): all trials are done; show the results with: romer report {shown}"
        )));
    }
    let settings = options.settings();
    if let Some(changed) = settings.keys().find(|name| settings.get(*name) != plan.settings.get(*name)) {
        let words = |of: &std::collections::BTreeMap<String, String>| {
            let words = of.get(changed).map_or("not there", String::as_str);
            romer_report::escape::terminal(words).chars().take(SHOWN).collect::<String>()
        };
        return Err(Failure::usage(format!(
            "cannot resume ({shown}, {changed}): it was {}, and is now {}; restore it, or start a new benchmark",
            words(&plan.settings),
            words(&settings)
        )));
    }
    let started = humantime::parse_rfc3339(&plan.started).map_err(|error| {
        Failure::with_exit(
            Exit::BadData,
            format!("the plan cannot be read ({shown}/plan.json, started): {error}; begin a new benchmark"),
        )
    })?;
    let (run, entries) = BenchmarkRun::resume(folder)?;
    Ok((Folder::Open(run), Journal { started, entries }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_line_says_counts_instead_of_what_was_said() {
        let split = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let said =
            split("load-sweep --tx a --repeat 3 --case x=y --case z=u --seed=1,2,3,4,5,6 --skip-self-test");
        let kept = |given: &str| unsaid(&said, &split(given)).join(" ");
        assert_eq!(kept("--resume d"), said.join(" "));
        assert_eq!(
            kept("--repeat=5 --resume d --skip-self-test"),
            "load-sweep --tx a --case x=y --case z=u --seed=1,2,3,4,5,6"
        );
        assert_eq!(kept("--case x=z --seed 1,2"), "load-sweep --tx a --repeat 3 --skip-self-test");
    }

    #[test]
    fn a_benchmark_of_a_plan_goes_on_whatever_stands_last() {
        let folder = tempfile::tempdir().unwrap();
        let [file, kept] = ["benchmark.toml", "plan.json"].map(|name| folder.path().join(name));
        std::fs::write(&file, "procedure = \"load-sweep\"\nrepeat = 4\n").unwrap();
        let plan = BenchmarkPlan {
            schema: BENCHMARK_PLAN.into(),
            started: "2026-01-02T03:04:05Z".into(),
            arguments: vec![file.to_str().unwrap().into()],
            seed: [1, 2, 3, 4, 5, 6],
            settings: std::collections::BTreeMap::new(),
        };
        std::fs::write(kept, serde_json::to_string(&plan).unwrap()).unwrap();
        let path = folder.path().to_str().unwrap();
        for last in [&[][..], &["--json", "out.json"], &["-q"], &["--force"]] {
            let given: Vec<String> =
                ["bench", "--resume", path].iter().chain(last).map(|word| (*word).to_owned()).collect();
            let words = merge_arguments(folder.path(), &given).unwrap();
            let (read, _) = super::super::plan::arguments(&words[1], &words[2..]).unwrap();
            let super::super::ParsedWords::Procedure(planned) = read else { panic!("{words:?}") };
            let (run, device) = planned.shared();
            let device = device.unwrap();
            assert_eq!(device.output.resume.as_deref(), Some(folder.path()), "{last:?}");
            assert_eq!(run.output.json.is_some(), last.len() == 2);
            assert_eq!(device.trials.repeat, Some(4));
        }
    }

    #[test]
    fn what_says_where_results_go_is_not_of_the_benchmark() {
        let words = "throughput --tx a --json x --quiet --html=y --rx b -q --out z --seed 1,2,3,4,5,6";
        let kept = inward(words.split(' ').map(str::to_owned));
        assert_eq!(kept.join(" "), "throughput --tx a --rx b --seed 1,2,3,4,5,6");
    }
}
