//! `romer bench`.

mod applies;
mod asked;
mod folder;
mod in_lab;
mod known;
mod placed;
mod plan;
pub(crate) mod plan_schema;
pub(crate) mod shown;
pub(crate) mod stream;
pub(crate) mod values;
mod words;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::net::IpAddr;
use std::path::Path;

use romer_bench::limits::Limit;
use romer_bench::options::{Anomaly, BenchOptions, Case, Claims, StreamOptions};
use romer_bench::{BenchError, Progress, Watcher};
use romer_host::netns;
use romer_method::Frames;
use romer_method::arrangement::Pace;
use romer_method::policing::Profile;
use romer_method::priority::Discipline;
use romer_port::PortName;
use romer_record::benchmark::{Benchmark, BenchmarkEntry, Judgement};
use romer_server::PlanFault;
use romer_store::StoreError;
use romer_units::{Duration, FrameSize};

use crate::args::{
    AnomalyName, BenchArgs, Cli, Command, DeviceArgs, DisciplineName, Invocation, PolicingArgs, PriorityArgs,
    ProcedureArgs, RunArgs, read,
};
use crate::failure::Failure;
use crate::measure::random_seed;
use crate::{output, report, signals};

use folder::Folder;
use in_lab::Lab;
use stream::StreamArgument;

/// The sizes of RFC 2544 section 9.1.
const SIZES: [u32; 7] = [64, 128, 256, 512, 1_024, 1_280, 1_518];
/// How long a device settles where nothing is said (RFC 2544 section 23).
const SETTLE: Duration = Duration::from_secs(2);
/// How long a command that sets or resets the device may take, where nothing is said: as long as a large one reboots.
const CASE_TIME: Duration = Duration::from_secs(600);
/// How long each test of the tester itself sends, where trials are not shorter.
const SELF_TEST: Duration = Duration::from_millis(500);

/// Benchmarks, and gives the exit code.
pub(crate) fn run(arguments: &BenchArgs) -> Result<u8, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    run_as_given(arguments, &words)
}

/// The same, of arguments that were given in these words, from the command's name on.
fn run_as_given(arguments: &BenchArgs, words: &[String]) -> Result<u8, Failure> {
    if let Some(asked) = &arguments.procedure {
        return procedure(asked);
    }
    match arguments.words.split_first() {
        Some((path, others)) if path.ends_with(".toml") => {
            let (read, places) = plan::arguments(path, others)?;
            match read {
                Read::Procedure(asked) => procedure(&asked).map_err(|failure| places.tell(failure)),
                Read::Help(text) => {
                    output::print(&text);
                    Ok(0)
                }
            }
        }
        Some((word, _)) if !word.starts_with('-') => Err(known::no_procedure(word)),
        _ => {
            let folder = folder::resumed(arguments).ok_or_else(|| {
                Failure::usage(
                    "an argument is missing (PROCEDURE): nothing says what to measure; begin with a procedure, a plan or \
                     --resume DIR, see `romer bench --help`",
                )
            })?;
            let words = folder::words(&folder, words)?;
            match read(["romer".to_owned()].iter().chain(&words).map(OsString::from))? {
                Invocation::Run(Cli { command: Command::Bench(kept) }) => run_as_given(&kept, &words),
                Invocation::Run(_) => Err(Failure::own("a benchmark is another command (bench)")),
                Invocation::Show(text) => {
                    output::print(&text);
                    Ok(0)
                }
            }
        }
    }
}

/// What words come to that begin with a procedure.
enum Read {
    Procedure(ProcedureArgs),
    /// The text that they ask for.
    Help(String),
}

impl Read {
    /// Reads the words behind `romer bench`, of which the first names a procedure.
    fn words(words: impl IntoIterator<Item = OsString>) -> Result<Self, Failure> {
        match read(["romer", "bench"].map(OsString::from).into_iter().chain(words))? {
            Invocation::Run(Cli { command: Command::Bench(arguments) }) => {
                let asked = arguments.procedure.ok_or_else(|| Failure::own("a procedure is none (bench)"))?;
                Ok(Self::Procedure(asked))
            }
            Invocation::Run(_) => Err(Failure::own("a procedure is another command (bench)")),
            Invocation::Show(text) => Ok(Self::Help(text)),
        }
    }
}

fn procedure(asked: &ProcedureArgs) -> Result<u8, Failure> {
    applies::check(asked)?;
    let none = DeviceArgs::default();
    let (run, device) = asked.shared();
    let device = device.unwrap_or(&none);
    run.output.check()?;
    output::check_target(run.html.as_deref(), run.output.force)?;
    output::check_target(device.output.pcapng.as_deref(), run.output.force)?;
    if let Some(folder) = &device.output.svg {
        shown::check_folder(folder, run.output.force)?;
    }
    let mut options = options(asked)?;
    let past = match &device.output.resume {
        Some(folder) => Some(folder::take_up(folder, run.seed, &mut options)?),
        None => None,
    };
    let forecast = romer_bench::forecast(&options);
    let made = past.as_ref().map_or(0, |(_, past)| past.trials());
    let perhaps = asked::check_capture(&options, &forecast, made)?;
    if run.dry_run {
        if !run.output.quiet && !run.output.json_to_stdout() {
            output::print(&words::dry_run(&options, &forecast, output::sheet(run.output.color)));
            for note in options.notes.iter().chain(&perhaps) {
                output::print(&format!("{note}\n"));
            }
        }
        if let Some(file) = &run.output.json {
            output::write_document(
                file,
                &output::document_text(&forecast.document(&options))?,
                run.output.force,
            )?;
        }
        return Ok(0);
    }
    let (kept, past) = match past {
        Some((kept, past)) => (kept, Some(past)),
        None => (Folder::new(run, &options)?, None),
    };
    let stop = signals::interruption()?;
    signals::end_in_time(130)?;
    let prose = !run.output.quiet;
    let capture = device.output.pcapng.as_deref().map(|file| (file, run.output.force));
    let mut looker = Looker {
        options: &options,
        kept,
        capture,
        captured: false,
        prose,
        begun: false,
        perhaps,
        forecast: [forecast.usual.1, forecast.time],
        line: words::Line::new(prose && io::stderr().is_terminal()),
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
    let mut document = document.map_err(|error| kept.tell(Failure::from(error)))?;
    document.limits = Limit::judge_all(&device.claims.limit, &document);
    let page = romer_report::benchmark::page(&document);
    let kept = kept.open()?;
    kept.finish(&document, &page)?;
    if prose && !run.output.json_to_stdout() {
        let required = device.claims.require_verdicts;
        output::print(&words::summary(&document, required, output::sheet(run.output.color)));
        output::print(&words::kept(kept.folder(), &document));
    }
    if let Some(file) = &run.output.json {
        output::write_document(file, &output::document_text(&document)?, run.output.force)?;
    }
    if let Some(file) = &run.html {
        output::write_document(file, &page, run.output.force)?;
    }
    if let Some(folder) = &device.output.svg {
        shown::figures(&document, folder, run.output.force)?;
    }
    if stop.load(std::sync::atomic::Ordering::Acquire) {
        return Ok(130);
    }
    if missed {
        return Err(Failure::usage(format!(
            "there was no such trial (--pcapng-trial {}): {} were made; name one of them",
            options.capture.unwrap_or_default(),
            document.trials.len()
        )));
    }
    // One that was mended, and has gone on to its end, is whole.
    let gone = document.events.iter().rfind(|event| document.partial && event.kind == "device-gone");
    if let Some(gone) = gone {
        return Err(Failure::with_code(
            5,
            format!(
                "the benchmark has ended before its time (device): {}; see to the device, and go on with --resume {}",
                gone.text,
                kept.folder().display()
            ),
        ));
    }
    // The tester's own end, with what there is to do.
    let ends = [
        ("port-gone", "port", ""),
        ("tester-limit", "tester", "; take a quieter host, a lower --line-rate or lower --loads"),
    ];
    let last = |kind| document.events.iter().rfind(|event| document.partial && event.kind == kind);
    let end = ends.into_iter().find_map(|(kind, what, mend)| Some((last(kind)?, what, mend)));
    if let Some((end, what, mend)) = end {
        return Err(Failure::with_code(
            4,
            format!(
                "the benchmark has ended before its time ({what}): {}{mend}, or go on with --resume {}",
                end.text,
                kept.folder().display()
            ),
        ));
    }
    tells_enough(&document, kept.folder())?;
    let not_held = document.self_test.iter().filter(|_| tests_itself);
    let not_held = not_held.flat_map(|found| &found.tests).filter(|test| !test.held).count();
    if not_held > 0 {
        return Err(Failure::with_code(
            4,
            format!(
                "the tester does not hold what a benchmark at this line rate takes ({not_held} of its tests); see above which, and take \
                 a lower --line-rate or a quieter host"
            ),
        ));
    }
    hold(&document.verdicts, device.claims.require_verdicts)?;
    report::hold(&document.limits, "the measured value")
}

/// Tells which claim is broken, or where they are all to be decided, which is not: what the device was held to is a stated limit.
fn hold(claims: &[Judgement], all: bool) -> Result<(), Failure> {
    let kinds = [
        (Some(false), "a claim is broken (", "are BROKEN"),
        (None, "a claim is not decided (--require-verdicts; ", "are NOT KNOWN"),
    ];
    for (holds, what, are) in kinds.into_iter().filter(|(holds, ..)| all || holds.is_some()) {
        let mut such = claims.iter().filter(|claim| claim.holds == holds);
        let count = such.clone().count();
        if let Some(Judgement { case, subject, expected, found, .. }) = such.next() {
            let text = format!(
                "{what}{case}, {subject}): {expected}; found: {found}; {count} of {} {are}",
                claims.len()
            );
            return Err(Failure::with_code(6, romer_report::escape::terminal(&text)));
        }
    }
    Ok(())
}

/// Refuses what most trials tell nothing of the device for.
fn tells_enough(document: &Benchmark, folder: &Path) -> Result<(), Failure> {
    let told = romer_bench::told(document);
    // The tester's own tests say themselves what they came to.
    if document.procedure == "self-test" || told.is_enough() {
        return Ok(());
    }
    let shown = romer_report::escape::terminal(&folder.to_string_lossy());
    let (code, mend) = if told.device_away * 2 >= told.silent() {
        (5, "see to the device")
    } else if document.procedure == "recovery" {
        (
            4,
            "take a faster line or a longer --trial, so that the overload fills the device, or a quieter host",
        )
    } else {
        (4, "take a quieter host, a lower --line-rate or lower --loads")
    };
    Err(Failure::with_code(
        code,
        format!(
            "most trials tell nothing of the device ({} of {}): {}; {mend}, and see `invalid` of each trial in \
             {shown}/benchmark.json",
            told.silent(),
            told.asked,
            romer_report::escape::terminal(&told.why)
        ),
    ))
}

/// Who looks on, and keeps.
struct Looker<'a> {
    options: &'a BenchOptions,
    kept: Folder,
    /// Where a trial's frames go, and whether what stands there is replaced.
    capture: Option<(&'a str, bool)>,
    captured: bool,
    prose: bool,
    begun: bool,
    /// What is to be known of the trial whose frames are wanted.
    perhaps: Option<String>,
    /// How long it was last said to take, as things usually are and at the most.
    forecast: [Duration; 2],
    line: words::Line,
}

impl Looker<'_> {
    /// Only now it is certain that there will be a benchmark.
    fn begin(&mut self) {
        if self.prose && !self.begun {
            output::eprint_line(&words::beginning(self.options));
            for note in self.options.notes.iter().chain(&self.perhaps) {
                output::eprint_line(note);
            }
        }
        self.begun = true;
    }

    /// Says how long it takes, where that is much longer than was said.
    fn corrects(&mut self, progress: &Progress<'_>) {
        if let Some(words) = words::correction(self.forecast, progress).filter(|_| self.prose) {
            self.forecast = progress.whole;
            self.line.clear();
            output::eprint_line(&words);
        }
    }
}

impl Watcher for Looker<'_> {
    fn tests_itself(&mut self) -> Result<(), BenchError> {
        self.begin();
        self.line.say("the tester itself is tested");
        // From here on there is something to go on with.
        self.kept.open().map(drop).map_err(|error| not_kept(&error))
    }

    fn begins(&mut self, progress: &Progress<'_>) {
        self.begin();
        self.corrects(progress);
        self.line.show(self.options, progress);
    }

    fn knows_more(&mut self, progress: &Progress<'_>) {
        self.corrects(progress);
        self.line.show(self.options, progress);
    }

    fn captured(&mut self, octets: &[u8]) -> Result<(), BenchError> {
        let Some((file, force)) = self.capture else { return Ok(()) };
        self.captured = true;
        output::write_with(file, force, |out| out.write_all(octets))
            .map_err(|failure| BenchError::Keep { text: failure.text().to_owned(), code: failure.code() })
    }

    fn keep(&mut self, entry: &BenchmarkEntry) -> Result<(), BenchError> {
        self.kept.open().and_then(|kept| kept.keep(entry)).map_err(|error| not_kept(&error))
    }
}

fn not_kept(error: &StoreError) -> BenchError {
    BenchError::Keep { text: error.to_string(), code: error.exit_class().code() }
}

/// What a plan asks for that a page of the console gives.
pub(crate) fn of_page(text: &str) -> Result<romer_server::Plan, PlanFault> {
    let read = plan::parse(text.as_bytes(), "plan", &[]);
    let asked = read.and_then(|(read, places)| {
        let Read::Procedure(asked) = read else { return Err(Failure::own("a plan asks for help (bench)")) };
        let Some(device) = asked.shared().1 else {
            return Err(Failure::usage(
                "the tester is tested on the command line (procedure): run `romer bench self-test`",
            ));
        };
        let options = options(&asked).map_err(|failure| places.tell(failure))?;
        Ok(romer_server::Plan { options, limits: device.claims.limit.clone() })
    });
    asked.map_err(|failure| PlanFault { text: failure.text().to_owned(), place: failure.place() })
}

/// A port that is not there would else be told as addresses that are missing: those of a laboratory are known by its ports.
fn look_at_ports(run: &RunArgs) -> Result<(), BenchError> {
    if run.source.is_some() && run.destination.is_some() {
        return Ok(());
    }
    for port in run.tx.iter().chain(&run.rx) {
        match romer_port::look_at(port) {
            Err(source) if !source.is_permission() => {
                return Err(BenchError::Port { port: port.clone(), source: Box::new(source) });
            }
            _ => {}
        }
    }
    Ok(())
}

impl From<AnomalyName> for Anomaly {
    fn from(name: AnomalyName) -> Self {
        match name {
            AnomalyName::Order => Self::Order,
            AnomalyName::Copies => Self::Copies,
        }
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        Self::with_code(error.exit_code(), error)
    }
}

/// What the arguments come to.
fn options(asked: &ProcedureArgs) -> Result<BenchOptions, Failure> {
    let none = DeviceArgs::default();
    let (run, device) = asked.shared();
    let device = device.unwrap_or(&none);
    check_lengths(asked, device)?;
    applies::check(asked)?;
    let missing = |flag: &str, what: &str, mend: &str| {
        Failure::usage(format!("an argument is missing ({flag}): nothing says {what}; {mend}"))
    };
    let port = |port: &Option<PortName>, flag, what| {
        port.clone().ok_or_else(|| missing(flag, what, "give an interface, such as eth1 or NETNS/eth1"))
    };
    let tx = port(&run.tx, "--tx", "by which port frames leave")?;
    let rx = port(&run.rx, "--rx", "by which port frames are taken in")?;
    romer_bench::check_ports(&tx, &rx)?;
    for port in [&tx, &rx] {
        // A laboratory that is not there would else be told as addresses that are missing.
        if port.namespace().is_some_and(|name| matches!(netns::exists(name), Ok(false))) {
            romer_port::look_at(port)
                .map_err(|source| BenchError::Port { port: port.clone(), source: Box::new(source) })?;
        }
    }
    let claims = claims(asked, device)?;
    look_at_ports(run)?;
    let is_v6 = |address: &Option<IpAddr>| address.is_some_and(|address| address.is_ipv6());
    let lab = Lab::of(&tx, &rx, is_v6(&run.source) || is_v6(&run.destination));
    if let (Some(_), Some(IpAddr::V6(destination))) = (lab, run.destination)
        && destination.is_unicast_link_local()
    {
        return Err(Failure::usage(format!(
            "nothing forwards to the destination (--destination): {destination} is an address of one link only; give one behind \
             the device, or leave it out"
        )));
    }
    let source = run.source.or_else(|| lab.map(|lab| lab.source));
    let destination = run.destination.or_else(|| lab.map(|lab| lab.destination));
    let streams = streams(asked, device)?;
    asked::check_streams(asked, &device.frames, &streams)?;
    let frames = match (&device.frames.imix, &device.frames.frame_sizes) {
        (Some(imix), _) => vec![Frames::Mixture(imix.clone())],
        (None, Some(sizes)) => sizes.0.iter().copied().map(Frames::Size).collect(),
        (None, None) => SIZES.into_iter().filter_map(FrameSize::new).map(Frames::Size).collect(),
    };
    let virtual_line = romer_port::look_at(&tx).is_ok_and(|link| link.virtual_line);
    let (loads, left_out) = asked::default_loads(&claims, run.line_rate, (&streams, &frames), !virtual_line);
    let notes = left_out.filter(|_| asked.loads().is_none()).into_iter().collect();
    let (name, procedure, criterion) = asked::asked(asked, &loads)?;
    let settle = settle(run.settle, lab.is_some(), &claims, &streams)?;
    let cases = if device.trials.cases.is_empty() {
        vec![Case { name: "as it is".into(), command: None }]
    } else {
        let case = |case: &values::CaseArgument| Case {
            name: case.name.clone(),
            command: Some(case.command.clone()),
        };
        device.trials.cases.iter().map(case).collect()
    };
    for (number, case) in cases.iter().enumerate() {
        if cases[..number].iter().any(|other| other.name == case.name) {
            return Err(Failure::usage(format!(
                "a case is given twice (--case {}): each has a name of its own; choose another",
                case.name
            )));
        }
    }
    asked::check_markings(&claims, &cases, &streams)?;
    let labels = device.trials.labels.iter().map(|label| (label.key.clone(), label.value.clone()));
    let mut options = BenchOptions {
        name,
        virtual_line,
        tx,
        rx,
        source: source.ok_or_else(|| {
            missing("--source", "where frames come from", "give an address, such as 198.18.0.2")
        })?,
        destination: destination.ok_or_else(|| {
            missing("--destination", "where frames go", "give an address, such as 198.19.0.2")
        })?,
        next_hop: run.next_hop,
        line: run.line_rate,
        streams,
        frames,
        too_small: Vec::new(),
        procedure,
        criterion,
        repeats: device.trials.repeat.unwrap_or(1),
        settle,
        patience: run.patience,
        case_time: device.trials.case_time.unwrap_or(CASE_TIME),
        cases,
        reset: reset_command(asked)?,
        claims,
        labels: labels.collect(),
        self_test: (!device.trials.skip_self_test).then(|| SELF_TEST.min(run.trial)),
        subtract_baseline: device.trials.subtract_baseline,
        capture: device.output.pcapng.as_ref().map(|_| u64::from(device.output.pcapng_trial.unwrap_or(1))),
        seed: run.seed.unwrap_or_else(random_seed),
        notes,
    };
    options.fit_sizes();
    romer_bench::check(&options)?;
    options.notes.extend(romer_bench::volume_note(&options));
    for limit in &device.claims.limit {
        limit.check(&options.procedure, name).map_err(Failure::usage)?;
    }
    Ok(options)
}

/// The most values of an option that may be repeated: of every two of them it is looked whether they go together.
const MOST_REPEATED: usize = 1_000;

/// Refuses options that are given too often.
fn check_lengths(asked: &ProcedureArgs, device: &DeviceArgs) -> Result<(), Failure> {
    let (claims, trials) = (&device.claims, &device.trials);
    let excess = if let ProcedureArgs::Policing(own) = asked { own.excess.len() } else { 0 };
    for (flag, count, most) in [
        ("--stream", device.frames.streams.len(), romer_bench::MOST_STREAMS),
        ("--case", trials.cases.len(), MOST_REPEATED),
        ("--dut-label", trials.labels.len(), MOST_REPEATED),
        ("--expect-marking", claims.markings.len(), MOST_REPEATED),
        ("--expect-vlan", claims.vlans.len(), MOST_REPEATED),
        ("--expect-priority", claims.priorities.len(), MOST_REPEATED),
        ("--expect-ecn", claims.ecns.len(), MOST_REPEATED),
        ("--excess-marking", excess, MOST_REPEATED),
        ("--limit", claims.limit.len(), MOST_REPEATED),
    ] {
        if count > most {
            return Err(Failure::usage(format!(
                "an option is given too often ({flag}): {count} times are more than {most}; give it at most {most} times"
            )));
        }
    }
    Ok(())
}

/// How long a device settles: a policer's buckets are full at the beginning of each trial.
fn settle(
    asked: Option<Duration>,
    in_lab: bool,
    claims: &Claims,
    streams: &[StreamOptions],
) -> Result<Duration, Failure> {
    let usual = if in_lab { romer_lab::SETTLE } else { SETTLE };
    #[expect(clippy::cast_possible_truncation, reason = "rounded up to a millisecond; saturates")]
    let fills = |profile: &Profile| Duration::from_millis((profile.depth / profile.rate * 1e3).ceil() as i64);
    let own =
        streams.iter().filter_map(|stream| Some((fills(stream.profile.as_ref()?), "profile= of a stream")));
    let shared = claims.profile.iter().map(|profile| (fills(profile), "--profile"));
    let Some((full, whose)) = own.chain(shared).max_by_key(|(full, _)| *full) else {
        return Ok(asked.unwrap_or(usual));
    };
    match asked {
        Some(asked) if asked < full => Err(Failure::usage(format!(
            "the bucket would not be full again (--settle {asked}): that of {whose} takes {full} to fill, and every trial \
             begins with a full one; settle as long"
        ))),
        Some(asked) => Ok(asked),
        None => Ok(usual.max(full)),
    }
}

/// What resets the device, of the procedure that does.
fn reset_command(asked: &ProcedureArgs) -> Result<Option<String>, Failure> {
    let ProcedureArgs::Reset(own) = asked else { return Ok(None) };
    if own.reset.is_none() {
        return Err(Failure::usage(
            "an argument is missing (--reset): nothing says what resets the device; give a shell command, such as \
             --reset 'ssh device reload'",
        ));
    }
    Ok(own.reset.clone())
}

/// The streams that were asked for; those without a share have what the others leave, each as much.
fn share_out(asked: &[StreamArgument]) -> Result<Vec<StreamOptions>, Failure> {
    /// Shares in percent have two digits or so.
    const ROUNDING: f64 = 1e-3;
    let stated: f64 = asked.iter().filter(|one| one.has_share).map(|one| one.options.share).sum();
    if stated > 1.0 + ROUNDING {
        return Err(Failure::usage(format!(
            "the shares of the streams sum to {:.1} % (--stream share=): the load is what all send together; write shares \
             whose sum is 100 % or less",
            stated * 100.0
        )));
    }
    let others = asked.iter().filter(|one| !one.has_share).count();
    #[expect(clippy::cast_precision_loss, reason = "some streams")]
    let each = (1.0 - stated).max(0.0) / others.max(1) as f64;
    if others > 0 && each <= 0.0 {
        return Err(Failure::usage(
            "a stream has no share (--stream share=): the others have all of the load; give each its own",
        ));
    }
    let shared = |one: &StreamArgument| StreamOptions {
        share: if one.has_share { one.options.share } else { each },
        ..one.options.clone()
    };
    Ok(asked.iter().map(shared).collect())
}

/// The streams, each with a name of its own.
fn streams(asked: &ProcedureArgs, device: &DeviceArgs) -> Result<Vec<StreamOptions>, Failure> {
    let given = &device.frames.streams;
    if given.is_empty() {
        return Ok(vec![StreamOptions::default()]);
    }
    let mut streams = share_out(given)?;
    // Streams in step would meet a full queue in turns, or one of them always: a scheduler is judged by streams of chance.
    if matches!(asked, ProcedureArgs::Priority(_)) && streams.len() > 1 {
        for (stream, _) in streams.iter_mut().zip(given).filter(|(_, given)| !given.has_pace) {
            stream.pace = Pace::Poisson;
        }
    }
    for number in 0..streams.len() {
        streams[number].name = applies::named(&streams[number].name, number);
        if streams[..number].iter().any(|other| other.name == streams[number].name) {
            return Err(Failure::usage(format!(
                "a stream is given twice (--stream name={}): each has a name of its own; choose another",
                streams[number].name
            )));
        }
    }
    Ok(streams)
}

/// What the device is held to.
fn claims(asked: &ProcedureArgs, device: &DeviceArgs) -> Result<Claims, Failure> {
    let (mut profile, mut excess, mut scheduler) = (None, Vec::new(), None);
    match asked {
        ProcedureArgs::Policing(own) => {
            profile = policer(own, &device.frames.streams)?;
            excess.clone_from(&own.excess);
        }
        ProcedureArgs::Priority(own) => scheduler = Some(discipline(own)?),
        _ => {}
    }
    let given = &device.claims;
    let markings = [&given.markings, &given.vlans, &given.priorities, &given.ecns];
    Ok(Claims {
        profile,
        scheduler,
        markings: markings.into_iter().flatten().cloned().collect(),
        excess,
        allowed: given.allow.iter().map(|name| Anomaly::from(*name)).collect(),
    })
}

fn need(flag: &str, what: &str) -> Failure {
    Failure::usage(format!("an argument is missing ({flag}): nothing says {what}; see --help for an example"))
}

/// What a policer lets through of the streams that have no profile of their own.
fn policer(own: &PolicingArgs, streams: &[StreamArgument]) -> Result<Option<Profile>, Failure> {
    if own.profile.is_some() {
        return Ok(own.profile);
    }
    let without = streams.iter().position(|stream| stream.options.profile.is_none());
    match without {
        Some(number) if streams.iter().any(|stream| stream.options.profile.is_some()) => {
            let stream = applies::named(&streams[number].options.name, number);
            let what = format!(
                "what the policer is to let through of stream {stream}, which has no profile= of its own"
            );
            Err(need("--profile", &what))
        }
        None if !streams.is_empty() => Ok(None),
        _ => Err(need("--profile", "what the policer is to let through")),
    }
}

/// How a scheduler serves its classes, and what its line carries in bits a second.
fn discipline(own: &PriorityArgs) -> Result<(Discipline, f64), Failure> {
    let name =
        own.discipline.ok_or_else(|| need("--discipline", "how the scheduler is to serve the streams"))?;
    let capacity =
        own.capacity.ok_or_else(|| need("--capacity", "what the line of the scheduler carries"))?;
    let discipline = match name {
        DisciplineName::Strict => Discipline::Strict,
        DisciplineName::Weighted => Discipline::Weighted,
        DisciplineName::Fifo => Discipline::Fifo,
        DisciplineName::FifoOctets => Discipline::FifoOctets,
    };
    #[expect(clippy::cast_precision_loss, reason = "bits a second, far below 2^53")]
    Ok((discipline, capacity.bits() as f64))
}
