//! `romer bench`.

mod folder;
mod lab_defaults;
mod option_matrix;
mod options;
mod plan;
pub(crate) mod plan_schema;
mod procedures;
mod request;
mod spans;
pub(crate) mod stored_report;
pub(crate) mod stream;
mod text;
pub(crate) mod values;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;

use romer_bench::limits::ResultLimit;
use romer_bench::options::{Anomaly, BenchOptions};
use romer_bench::{BenchError, Progress, Watcher};
use romer_record::Exit;
use romer_record::benchmark::{Benchmark, BenchmarkEntry, BenchmarkEventKind, ClaimSubject, Judgement};
use romer_report::benchmark::{observed_text, subject_text};
use romer_report::warning::Text;
use romer_server::PlanFault;
use romer_store::StoreError;
use romer_units::{Duration, counted};

use crate::args::{BenchArgs, Cli, Command, DeviceArgs, Invocation, ProcedureArgs, RunArgs, read};
use crate::failure::Failure;
use crate::{confinement, output, report, signals};

use folder::Folder;
use options::options;

/// Benchmarks, and gives the exit code.
pub(crate) fn run(arguments: &BenchArgs) -> Result<Exit, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    run_as_given(arguments, &words)
}

/// The same, of arguments that were given in these words, from the command's name on.
fn run_as_given(arguments: &BenchArgs, words: &[String]) -> Result<Exit, Failure> {
    if let Some(asked) = &arguments.procedure {
        return procedure(asked);
    }
    match arguments.words.split_first() {
        Some((path, others)) if path.ends_with(".toml") => {
            let (read, places) = plan::arguments(path, others)?;
            match read {
                ParsedWords::Procedure(asked) => procedure(&asked).map_err(|failure| places.locate(failure)),
                ParsedWords::Help(text) => {
                    output::print(&text);
                    Ok(Exit::Success)
                }
            }
        }
        Some((word, _)) if !word.starts_with('-') => Err(procedures::no_procedure(word)),
        _ => {
            let folder = folder::resumed(arguments).ok_or_else(|| {
                Failure::usage(
                    "missing argument PROCEDURE (romer bench): give a procedure, a plan or --resume DIR, e.g. romer bench \
                     throughput; see `romer bench --help`",
                )
            })?;
            let words = folder::merge_arguments(&folder, words)?;
            match read(["romer".to_owned()].iter().chain(&words).map(OsString::from))? {
                Invocation::Run(Cli { command: Command::Bench(kept), .. }) => run_as_given(&kept, &words),
                Invocation::Run(_) => Err(Failure::own("a benchmark is another command (bench)")),
                Invocation::Show(text) => {
                    output::print(&text);
                    Ok(Exit::Success)
                }
            }
        }
    }
}

/// What words come to that begin with a procedure.
enum ParsedWords {
    Procedure(ProcedureArgs),
    /// The text that they ask for.
    Help(String),
}

impl ParsedWords {
    /// Reads the words behind `romer bench`, of which the first names a procedure.
    fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Failure> {
        match read(["romer", "bench"].map(OsString::from).into_iter().chain(words))? {
            Invocation::Run(Cli { command: Command::Bench(arguments), .. }) => {
                let asked = arguments.procedure.ok_or_else(|| Failure::own("a procedure is none (bench)"))?;
                Ok(Self::Procedure(asked))
            }
            Invocation::Run(_) => Err(Failure::own("a procedure is another command (bench)")),
            Invocation::Show(text) => Ok(Self::Help(text)),
        }
    }
}

fn procedure(asked: &ProcedureArgs) -> Result<Exit, Failure> {
    option_matrix::check(asked)?;
    let none = DeviceArgs::default();
    let (run, device) = asked.shared();
    let device = device.unwrap_or(&none);
    run.output.check()?;
    output::check_target(run.html.as_deref(), run.output.force)?;
    output::check_target(device.output.pcapng.as_deref(), run.output.force)?;
    if let Some(folder) = &device.output.svg {
        stored_report::check_folder(folder, run.output.force)?;
    }
    let mut options = options(asked)?;
    let past = match &device.output.resume {
        Some(folder) => Some(folder::resume(folder, run.seed, &mut options)?),
        None => None,
    };
    let forecast = romer_bench::forecast(&options);
    let made = past.as_ref().map_or(0, |(_, past)| past.trials());
    let perhaps = request::check_capture(&options, &forecast, made)?;
    if run.dry_run {
        if !run.output.is_silent() {
            output::print_summary(&text::dry_run(&options, &forecast, output::sheet(run.output.color)));
            for note in options.notes.iter().map(Text::text).chain(perhaps.clone()) {
                output::print(&format!("{note}\n"));
            }
        }
        output::write_json(run.output.json.as_deref(), &forecast.document(&options), run.output.force)?;
        return Ok(Exit::Success);
    }
    let (kept, past) = match past {
        Some((kept, past)) => (kept, Some(past)),
        None => (Folder::new(run, &options)?, None),
    };
    let stop = signals::interruption()?;
    let prose = !run.output.quiet;
    let capture = device.output.pcapng.as_deref().map(|file| (file, run.output.force));
    let mut looker = TrialObserver {
        run,
        svg: device.output.svg.as_deref(),
        options: &options,
        kept,
        capture,
        captured: false,
        confined: false,
        prose,
        begun: false,
        perhaps,
        forecast: [forecast.usual.1, forecast.time],
        line: text::StatusLine::new(prose && io::stderr().is_terminal()),
    };
    let tests_itself = matches!(asked, ProcedureArgs::SelfTest(_));
    let document = if tests_itself {
        looker.begin();
        romer_bench::self_test(&options, &stop, run.trial)
    } else {
        romer_bench::run(&options, past, &stop, &mut looker)
    };
    looker.line.clear();
    let missed = capture.is_some() && !looker.captured;
    let mut kept = looker.kept;
    let mut document = document.map_err(|error| kept.add_resume_hint(Failure::from(error)))?;
    document.limits = ResultLimit::judge_all(&device.claims.limit, &document);
    let page = romer_report::benchmark::page(&document);
    let kept = kept.open()?;
    kept.finish(&document, &page)?;
    if prose && !run.output.json_to_stdout() {
        let required = device.claims.require_verdicts;
        let text = text::summary(&document, required, output::sheet(run.output.color));
        output::print_summary(&output::to_ascii(&text));
        output::print(&text::saved_to(kept.folder(), &document));
    }
    output::write_json(run.output.json.as_deref(), &document, run.output.force)?;
    if let Some(file) = &run.html {
        output::write_document(file, &page, run.output.force)?;
    }
    if let Some(folder) = &device.output.svg {
        stored_report::figures(&document, folder, run.output.force)?;
    }
    if stop.load(std::sync::atomic::Ordering::Acquire) {
        return Ok(Exit::Interrupted);
    }
    if missed {
        return Err(Failure::usage(format!(
            "no such trial (--pcapng-trial {}): there were {}; choose one of them",
            options.capture.unwrap_or_default(),
            document.trials.len()
        )));
    }
    // One that was mended, and has gone on to its end, is whole.
    let last = |is_end: fn(&BenchmarkEventKind) -> bool| {
        document.events.iter().rfind(|event| document.partial && is_end(&event.kind))
    };
    if let Some(gone) = last(|kind| matches!(kind, BenchmarkEventKind::DeviceGone { .. })) {
        return Err(Failure::with_exit(
            Exit::Unreachable,
            format!(
                "the benchmark ended early (device): {}; check the device, and continue with --resume {}",
                gone.text(),
                kept.folder().display()
            ),
        ));
    }
    // The tester's own end, with what there is to do.
    let port = last(|kind| matches!(kind, BenchmarkEventKind::PortGone { .. }));
    let limit = last(|kind| matches!(kind, BenchmarkEventKind::TesterLimit { .. }));
    let end = port
        .map(|end| (end, "port", ""))
        .or_else(|| Some((limit?, "tester", "; use an idle host, a lower --line-rate or lower --loads")));
    if let Some((end, what, remedy)) = end {
        return Err(Failure::with_exit(
            Exit::Environment,
            format!(
                "the benchmark ended early ({what}): {}{remedy}, or continue with --resume {}",
                end.text(),
                kept.folder().display()
            ),
        ));
    }
    tells_enough(&document, kept.folder())?;
    let not_held = document.self_test.iter().filter(|_| tests_itself);
    let not_held = not_held.flat_map(|found| &found.tests).filter(|test| !test.passed).count();
    if not_held > 0 {
        return Err(Failure::with_exit(
            Exit::Environment,
            format!(
                "the self-test failed ({not_held} of its tests, see above): this host does not sustain this line rate; use a lower \
                 --line-rate or an idle host"
            ),
        ));
    }
    hold(&document, device.claims.require_verdicts)
}

/// The exit code by claims and limits, with an error that names the first failed claim or limit and counts the others.
/// With `all`, an inconclusive claim fails as well.
fn hold(document: &Benchmark, all: bool) -> Result<Exit, Failure> {
    let shown = |limit: &romer_record::document::Limit| {
        Some(format!("the measured value is {}", romer_report::benchmark::amount(&limit.limit, limit.value?)))
    };
    let limits = report::hold(&document.limits, shown, report::UNKNOWN);
    let claims = &document.verdicts;
    let kinds = [
        (Some(false), "claim failed (", "failed"),
        (None, "claim inconclusive (--require-verdicts; ", "inconclusive"),
    ];
    for (holds, what, are) in kinds.into_iter().filter(|(holds, ..)| all || holds.is_some()) {
        let mut such = claims.iter().filter(|claim| claim.passed == holds);
        let count = such.clone().count();
        if let Some(first) = such.next() {
            let failed = document.limits.iter().filter(|limit| !limit.passed).count();
            let and_limits = match failed {
                0 => String::new(),
                _ => format!(", {failed} of {} failed", counted(document.limits.len() as u64, "limit")),
            };
            let text = format!(
                "{what}{}, {}): {}; {count} of {} {are}{and_limits}{}",
                first.case,
                subject_text(first),
                observed_text(first),
                counted(claims.len() as u64, "claim"),
                allowance(first)
            );
            return Err(Failure::with_exit(Exit::LimitFailed, romer_report::escape::terminal(&text)));
        }
    }
    limits
}

/// The option that allows what a failed claim reports, to follow the error; empty where there is none.
fn allowance(claim: &Judgement) -> String {
    let anomaly = match claim.subject {
        ClaimSubject::Order => Anomaly::Order,
        ClaimSubject::Copies => Anomaly::Copies,
        _ => return String::new(),
    };
    if claim.passed == Some(false) {
        format!("; use --allow-anomalies {anomaly} if the device may do this")
    } else {
        String::new()
    }
}

/// Refuses what most trials tell nothing of the device for.
fn tells_enough(document: &Benchmark, folder: &Path) -> Result<(), Failure> {
    let told = romer_bench::informative(document);
    // The tester's own tests say themselves what they came to.
    if document.procedure == "self-test" || told.is_enough() {
        return Ok(());
    }
    let shown = romer_report::escape::terminal(&folder.to_string_lossy());
    let (exit, remedy) = if told.device_unreachable * 2 >= told.silent() {
        (Exit::Unreachable, "check the device")
    } else if document.procedure == "recovery" {
        (
            Exit::Environment,
            "use a faster line or a longer --trial, so that the overload fills the device, or an idle host",
        )
    } else {
        (Exit::Environment, "use an idle host, a lower --line-rate or lower --loads")
    };
    Err(Failure::with_exit(
        exit,
        format!(
            "most trials are inconclusive ({} of {}): {}; {remedy}, and see `invalid` of each trial in {shown}/benchmark.json",
            told.silent(),
            told.asked,
            romer_report::escape::terminal(&told.why.as_ref().map(Text::text).unwrap_or_default())
        ),
    ))
}

/// Receives the progress of a benchmark, prints and stores it.
struct TrialObserver<'a> {
    run: &'a RunArgs,
    /// Where the figures go.
    svg: Option<&'a Path>,
    options: &'a BenchOptions,
    kept: Folder,
    /// Where a trial's frames go, and whether what stands there is replaced.
    capture: Option<(&'a str, bool)>,
    captured: bool,
    confined: bool,
    prose: bool,
    begun: bool,
    /// What is to be known of the trial whose frames are wanted.
    perhaps: Option<String>,
    /// How long it was last said to take, as things usually are and at the most.
    forecast: [Duration; 2],
    line: text::StatusLine,
}

impl TrialObserver<'_> {
    /// Confines this process once, unless it runs commands of the user, who may do anything by them.
    fn confine(&mut self) {
        let options = self.options;
        let is_first = !std::mem::replace(&mut self.confined, true);
        if is_first && options.reset.is_none() && options.cases.iter().all(|case| case.command.is_none()) {
            let files = [self.capture.map(|(file, _)| Path::new(file)), self.svg];
            let ports = [&options.tx, &options.rx];
            confinement::start(&confinement::of_benchmark(self.run, ports, &self.kept.place(), files));
        }
    }

    /// Only now it is certain that there will be a benchmark.
    fn begin(&mut self) {
        if self.prose && !self.begun {
            output::eprint_line(&text::beginning(self.options));
            for note in self.options.notes.iter().map(Text::text).chain(self.perhaps.clone()) {
                output::eprint_line(&note);
            }
        }
        self.begun = true;
    }

    /// Says how long it takes, where that is much longer than was said.
    fn corrects(&mut self, progress: &Progress<'_>) {
        if let Some(words) = text::correction(self.forecast, progress).filter(|_| self.prose) {
            self.forecast = progress.whole;
            self.line.clear();
            output::eprint_line(&words);
        }
    }
}

impl Watcher for TrialObserver<'_> {
    fn on_self_test(&mut self) -> Result<(), BenchError> {
        self.begin();
        self.line.say("self-test");
        // From here on there is something to go on with.
        self.kept.open().map(drop).map_err(|error| not_kept(&error))
    }

    fn begins(&mut self, progress: &Progress<'_>) {
        self.begin();
        self.corrects(progress);
        self.line.show(self.options, progress);
    }

    fn on_forecast(&mut self, progress: &Progress<'_>) {
        // The ports are open, and the self-test has made the namespaces that it takes.
        self.confine();
        self.corrects(progress);
        self.line.show(self.options, progress);
    }

    fn captured(&mut self, octets: &[u8]) -> Result<(), BenchError> {
        let Some((file, force)) = self.capture else { return Ok(()) };
        self.captured = true;
        output::write_with(file, force, |out| out.write_all(octets))
            .map_err(|failure| BenchError::Keep { text: failure.text().to_owned(), exit: failure.exit() })
    }

    fn keep(&mut self, entry: &BenchmarkEntry) -> Result<(), BenchError> {
        self.kept.open().and_then(|kept| kept.keep(entry)).map_err(|error| not_kept(&error))
    }
}

fn not_kept(error: &StoreError) -> BenchError {
    BenchError::Keep { text: error.to_string(), exit: error.exit() }
}

/// What a plan asks for that a page of the console gives.
pub(crate) fn of_page(text: &str) -> Result<romer_server::Plan, PlanFault> {
    let read = plan::parse(text.as_bytes(), "plan", &[]);
    let asked = read.and_then(|(read, places)| {
        let ParsedWords::Procedure(asked) = read else {
            return Err(Failure::own("a plan asks for help (bench)"));
        };
        let Some(device) = asked.shared().1 else {
            return Err(Failure::usage(
                "the tester is tested on the command line (procedure): run `romer bench self-test`",
            ));
        };
        let options = options(&asked).map_err(|failure| places.locate(failure))?;
        Ok(romer_server::Plan { options, limits: device.claims.limit.clone() })
    });
    asked.map_err(|failure| PlanFault { text: failure.text().to_owned(), place: failure.place() })
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        Self::with_exit(error.exit(), error)
    }
}

#[cfg(test)]
mod tests {
    use romer_record::benchmark::ClaimFinding;

    use super::*;

    /// The error of a failed claim names the option that allows what the device did, where there is one.
    #[test]
    fn failed_claim_names_its_option() {
        let error = |subject| {
            let observed = ClaimFinding::Anomalies { frames: 3, lost: 0 }.into();
            let claim = Judgement { subject, observed, passed: Some(false), ..Judgement::default() };
            let document = Benchmark { verdicts: vec![claim], ..Benchmark::default() };
            hold(&document, false).unwrap_err().text().to_owned()
        };
        assert!(
            error(ClaimSubject::Order)
                .ends_with("failed; use --allow-anomalies order if the device may do this")
        );
        assert!(error(ClaimSubject::Copies).contains("--allow-anomalies copies"));
        assert!(!error(ClaimSubject::Content).contains("--allow-anomalies"));
    }
}
