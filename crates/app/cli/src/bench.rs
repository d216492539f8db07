//! `romer bench`.

mod folder;
mod plan;
pub(crate) mod plan_schema;
pub(crate) mod stream;
pub(crate) mod values;
mod words;

use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr};

use romer_bench::limits::Limit;
use romer_bench::options::{BenchOptions, Case, Claims, StreamOptions};
use romer_bench::{BenchError, Progress, Watcher};
use romer_method::arrangement::Pace;
use romer_method::bursts::Limits;
use romer_method::campaign::Procedure;
use romer_method::priority::Discipline;
use romer_method::search::Goal;
use romer_method::{Frames, mlr};
use romer_port::PortName;
use romer_record::benchmark::BenchmarkEntry;
use romer_server::PlanFault;
use romer_units::{Duration, FrameSize};

use crate::args::{BenchArgs, DisciplineName, ProcedureName, SearchName, Wish};
use crate::failure::Failure;
use crate::measure::random_seed;
use crate::{output, report, signals};

use folder::Folder;
use stream::StreamArgument;

/// The sizes of RFC 2544 section 9.1.
const SIZES: [u32; 7] = [64, 128, 256, 512, 1_024, 1_280, 1_518];
/// How long a device settles where nothing is said (RFC 2544 section 23).
const SETTLE: Duration = Duration::from_secs(2);
/// The load at which a device is reset, where none is given.
const RESET_LOAD: f64 = 0.5;
/// The least load that a search tries.
const LEAST_LOAD: f64 = 0.001;

/// How long each test of the tester itself sends, where trials are not shorter.
const SELF_TEST: Duration = Duration::from_millis(500);

/// Benchmarks, and gives the exit code.
pub(crate) fn run(arguments: &BenchArgs) -> Result<u8, Failure> {
    match (&arguments.wish, &arguments.resume) {
        (Some(Wish::Procedure(name)), _) => procedure(arguments, *name),
        (Some(Wish::Plan(path)), _) => {
            let planned = plan::arguments(path)?;
            match &planned.wish {
                Some(Wish::Procedure(name)) => procedure(&planned, *name),
                Some(Wish::Plan(_)) | None => {
                    Err(Failure::own("a plan names a plan (bench): it was read as one"))
                }
            }
        }
        (None, Some(folder)) => run(&folder::arguments(folder)?),
        (None, None) => Err(Failure::own("nothing says what is to be found out (bench)")),
    }
}

fn procedure(arguments: &BenchArgs, name: ProcedureName) -> Result<u8, Failure> {
    output::check_target(arguments.output.json.as_deref(), arguments.output.force)?;
    output::check_target(arguments.html.as_deref(), arguments.output.force)?;
    output::check_target(arguments.pcapng.as_deref(), arguments.output.force)?;
    let mut options = options(arguments, name)?;
    let past = match &arguments.resume {
        Some(folder) => Some(folder::take_up(folder, arguments.trials.seed, &mut options)?),
        None => None,
    };
    if arguments.trials.dry_run {
        output::print(&words::dry_run(&options));
        return Ok(0);
    }
    let (kept, past) = match past {
        Some((kept, past)) => (kept, Some(past)),
        None => (Folder::new(arguments, &options)?, None),
    };
    let stop = signals::interruption()?;
    let prose = !arguments.output.quiet;
    let capture = arguments.pcapng.as_deref().map(|file| (file, arguments.output.force));
    let mut looker = Looker {
        options: &options,
        kept,
        capture,
        captured: false,
        prose,
        begun: false,
        line: words::Line::new(prose && io::stderr().is_terminal()),
    };
    let document = if name == ProcedureName::SelfTest {
        romer_bench::self_test(&options, &stop, arguments.trials.trial)
    } else {
        romer_bench::run(&options, past, &stop, &mut looker)
    };
    looker.line.clear();
    let missed = capture.is_some() && !looker.captured;
    let mut kept = looker.kept;
    let mut document = document?;
    document.limits = Limit::judge_all(&arguments.claims.limit, &document);
    let page = romer_report::benchmark::page(&document);
    let kept = kept.open()?;
    kept.finish(&document, &page)?;
    if prose && !arguments.output.json_to_stdout() {
        output::print(&words::summary(&document));
        output::print(&words::kept(kept.folder(), document.partial));
    }
    if let Some(file) = &arguments.output.json {
        let mut text = serde_json::to_string_pretty(&document).map_err(Failure::own)?;
        text.push('\n');
        output::write_document(file, &text, arguments.output.force)?;
    }
    if let Some(file) = &arguments.html {
        output::write_document(file, &page, arguments.output.force)?;
    }
    let broken = document.verdicts.iter().filter(|verdict| !verdict.holds).count();
    if stop.load(std::sync::atomic::Ordering::Acquire) {
        return Ok(130);
    }
    if missed {
        return Err(Failure::usage(format!(
            "there was no such trial (--pcapng-trial {}): {} were made; name one of them",
            arguments.pcapng_trial,
            document.trials.len()
        )));
    }
    if let Some(gone) = document.events.iter().rfind(|event| event.kind == "device-gone") {
        return Err(Failure::with_code(
            5,
            format!(
                "the benchmark has ended before its time (device): {}; see to the device, and go on with --resume {}",
                gone.text,
                kept.folder().display()
            ),
        ));
    }
    // What the device was held to is a stated limit.
    if broken > 0 {
        return Ok(6);
    }
    report::hold(&document.limits, "the measured value")
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
    line: words::Line,
}

impl Looker<'_> {
    /// Only now it is certain that there will be a benchmark.
    fn begin(&mut self) {
        if self.prose && !self.begun {
            output::eprint_line(&words::beginning(self.options));
        }
        self.begun = true;
    }
}

impl Watcher for Looker<'_> {
    fn tests_itself(&mut self) {
        self.begin();
        self.line.say("the tester itself is tested");
    }

    fn begins(&mut self, progress: &Progress<'_>) {
        self.begin();
        self.line.show(progress);
    }

    fn captured(&mut self, octets: &[u8]) -> Result<(), BenchError> {
        let Some((file, force)) = self.capture else { return Ok(()) };
        self.captured = true;
        output::write_with(file, force, |out| out.write_all(octets))
            .map_err(|failure| BenchError::Keep { text: failure.text().to_owned(), code: failure.code() })
    }

    fn keep(&mut self, entry: &BenchmarkEntry) -> Result<(), BenchError> {
        self.kept
            .open()
            .and_then(|kept| kept.keep(entry))
            .map_err(|error| BenchError::Keep { text: error.to_string(), code: error.exit_class().code() })
    }
}

/// What a plan asks for that a page of the console gives.
pub(crate) fn of_page(text: &str) -> Result<romer_server::Plan, PlanFault> {
    let read = plan::parse(text.as_bytes(), "plan", &plan::Given { words: &[], plan: "" });
    let asked = read.and_then(|arguments| match arguments.wish {
        Some(Wish::Procedure(ProcedureName::SelfTest)) => Err(Failure::usage(
            "the tester is tested on the command line (procedure): run `romer bench self-test`",
        )),
        Some(Wish::Procedure(name)) => {
            Ok(romer_server::Plan { options: options(&arguments, name)?, limits: arguments.claims.limit })
        }
        Some(Wish::Plan(_)) | None => Err(Failure::own("a plan names a plan (bench): it was read as one")),
    });
    asked.map_err(|failure| PlanFault { text: failure.text().to_owned(), place: failure.place() })
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        Self::with_code(error.exit_code(), error)
    }
}

/// What the arguments come to.
fn options(arguments: &BenchArgs, wanted: ProcedureName) -> Result<BenchOptions, Failure> {
    let missing = |flag: &str, what: &str, mend: &str| {
        Failure::usage(format!("an argument is missing ({flag}): nothing says {what}; {mend}"))
    };
    let port = |port: &Option<PortName>, flag, what| {
        port.clone().ok_or_else(|| missing(flag, what, "give an interface, such as eth1 or NETNS/eth1"))
    };
    let tx = port(&arguments.tx, "--tx", "by which port frames leave")?;
    let rx = port(&arguments.rx, "--rx", "by which port frames are taken in")?;
    let lab = Lab::of(&tx, &rx);
    let source = arguments.source.or_else(|| lab.map(|lab| lab.source));
    let destination = arguments.destination.or_else(|| lab.map(|lab| lab.destination));
    let load = &arguments.load;
    let frames = match (&load.imix, &load.frame_sizes) {
        (Some(imix), _) => vec![Frames::Mixture(imix.clone())],
        (None, Some(sizes)) => sizes.0.iter().copied().map(Frames::Size).collect(),
        (None, None) => SIZES.into_iter().filter_map(FrameSize::new).map(Frames::Size).collect(),
    };
    let claims = claims(arguments, wanted)?;
    let (name, procedure, criterion) = asked(arguments, wanted)?;
    let cases = if arguments.trials.cases.is_empty() {
        vec![Case { name: "as it is".into(), command: None }]
    } else {
        let case = |case: &values::CaseArgument| Case {
            name: case.name.clone(),
            command: Some(case.command.clone()),
        };
        arguments.trials.cases.iter().map(case).collect()
    };
    for (number, case) in cases.iter().enumerate() {
        if cases[..number].iter().any(|other| other.name == case.name) {
            return Err(Failure::usage(format!(
                "a case is given twice (--case {}): each has a name of its own; choose another",
                case.name
            )));
        }
    }
    let streams = streams(arguments)?;
    let is_fixed = |stream: &StreamOptions| matches!(stream.pace, Pace::Gap(_) | Pace::Bucket(_));
    if matches!(&procedure, Procedure::Sweep { loads, .. } if loads.len() > 1) && streams.iter().all(is_fixed)
    {
        return Err(Failure::usage(
            "there are several loads (--loads): the streams' pace says already how much is sent; give one load, or another \
             pace",
        ));
    }
    let labels = arguments.trials.labels.iter().map(|label| (label.key.clone(), label.value.clone()));
    Ok(BenchOptions {
        name,
        virtual_line: romer_port::look_at(&tx).is_ok_and(|link| link.virtual_line),
        tx,
        rx,
        source: source.ok_or_else(|| {
            missing("--source", "where frames come from", "give an address, such as 198.18.0.2")
        })?,
        destination: destination.ok_or_else(|| {
            missing("--destination", "where frames go", "give an address, such as 198.19.0.2")
        })?,
        next_hop: arguments.next_hop,
        line: load.line_rate,
        streams,
        frames,
        procedure,
        criterion,
        repeats: arguments.trials.repeat,
        settle: arguments.trials.settle.unwrap_or_else(|| lab.map_or(SETTLE, |_| romer_lab::SETTLE)),
        patience: arguments.trials.patience,
        cases,
        reset: reset_command(arguments, wanted)?,
        claims,
        labels: labels.collect(),
        self_test: (!arguments.trials.skip_self_test).then(|| SELF_TEST.min(arguments.trials.trial)),
        subtract_baseline: arguments.trials.subtract_baseline,
        capture: arguments.pcapng.as_ref().map(|_| u64::from(arguments.pcapng_trial)),
        seed: arguments.trials.seed.unwrap_or_else(random_seed),
    })
}

/// What resets the device, which is asked for just where it is used.
fn reset_command(arguments: &BenchArgs, name: ProcedureName) -> Result<Option<String>, Failure> {
    match (name, &arguments.trials.reset) {
        (ProcedureName::Reset, None) => Err(Failure::usage(
            "an argument is missing (--reset): nothing says what resets the device; give a shell command, such as \
             --reset 'ssh device reload'",
        )),
        (ProcedureName::Reset, command) | (_, command @ None) => Ok(command.clone()),
        (_, Some(_)) => Err(Failure::usage(
            "an argument does not apply (--reset): only the procedure reset resets the device; leave it out",
        )),
    }
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
fn streams(arguments: &BenchArgs) -> Result<Vec<StreamOptions>, Failure> {
    if arguments.load.streams.is_empty() {
        return Ok(vec![StreamOptions::default()]);
    }
    let mut streams = share_out(&arguments.load.streams)?;
    for number in 0..streams.len() {
        if streams[number].name.is_empty() {
            streams[number].name = format!("stream {number}");
        }
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
fn claims(arguments: &BenchArgs, name: ProcedureName) -> Result<Claims, Failure> {
    let given = &arguments.claims;
    let need = |flag: &str, what: &str| {
        Failure::usage(format!(
            "an argument is missing ({flag}): nothing says {what}; see --help for an example"
        ))
    };
    if name == ProcedureName::Policing && given.profile.is_none() {
        return Err(need("--profile", "what the policer is to let through"));
    }
    if name == ProcedureName::Priority && given.discipline.is_none() {
        return Err(need("--discipline", "how the scheduler is to serve the streams"));
    }
    let discipline = given.discipline.map(|discipline| match discipline {
        DisciplineName::Strict => Discipline::Strict,
        DisciplineName::Weighted => Discipline::Weighted,
        DisciplineName::Fifo => Discipline::Fifo,
    });
    #[expect(clippy::cast_precision_loss, reason = "bits a second, far below 2^53")]
    let capacity = given.capacity.map(|line| line.bits() as f64);
    let markings = given.markings.iter().map(|marking| (marking.case.clone(), marking.sent, marking.out));
    Ok(Claims { profile: given.profile, scheduler: discipline.zip(capacity), markings: markings.collect() })
}

/// The procedure, its name and its criterion.
fn asked(arguments: &BenchArgs, name: ProcedureName) -> Result<(&'static str, Procedure, String), Failure> {
    let length = arguments.trials.trial;
    let load = &arguments.load;
    let loads = || load.loads.as_ref().map_or_else(default_loads, |loads| loads.0.clone());
    let chooses = matches!(
        name,
        ProcedureName::Throughput
            | ProcedureName::FrameLoss
            | ProcedureName::BackToBack
            | ProcedureName::Recovery
    );
    if chooses && load.loads.is_some() {
        return Err(Failure::usage(
            "an argument does not apply (--loads): this procedure chooses its own loads; leave it out",
        ));
    }
    let tenth = Duration::from_nanos(length.as_nanos() / 10).max(Duration::from_millis(1));
    let short = arguments.trials.search_trial.unwrap_or(tenth).min(length);
    let resolution = load.resolution.max(1e-5);
    let least = LEAST_LOAD.max(resolution);
    let goal = Goal { loss_ratio: load.loss_ratio, least, most: 1.0, resolution, short, full: length };
    let sweep = |name, words: &str| (name, Procedure::Sweep { loads: loads(), length }, words.to_owned());
    Ok(match name {
        ProcedureName::Throughput if load.search == SearchName::Mlr => {
            let goal = mlr::Goal {
                final_length: length,
                length_sum: length,
                loss_ratio: load.loss_ratio,
                exceed_ratio: load.exceed_ratio.min(0.99),
            };
            let words = format!(
                "multiple loss ratio search (draft-ietf-bmwg-mlrsearch-15): trials of {length}, a loss ratio of at most {}, \
                 {} of the trials forgiven, bounds within {:.3} %",
                goal.loss_ratio,
                goal.exceed_ratio,
                resolution * 100.0
            );
            let plan =
                mlr::Plan { goals: vec![goal], loads: [least, 1.0], width: resolution, first_length: short };
            ("throughput", Procedure::Mlr(plan), words)
        }
        ProcedureName::Throughput => ("throughput", Procedure::Throughput(goal), goal.words()),
        ProcedureName::LoadSweep => {
            sweep("load-sweep", "each load in a trial of its own; carried against offered")
        }
        ProcedureName::Latency => sweep(
            "latency",
            "latency of every frame at each load (RFC 2544 section 26.2 tags one; this tags all)",
        ),
        ProcedureName::SelfTest => sweep("self-test", "the tests of the tester itself"),
        ProcedureName::Policing => sweep(
            "policing",
            "a token bucket's verdict on every frame; wrong about one in a thousand at the most",
        ),
        ProcedureName::Priority => sweep(
            "priority",
            "each class within 5 % of the capacity of what its scheduler owes it (RFC 4689)",
        ),
        ProcedureName::FrameLoss => {
            let words =
                "from the full line downwards by 10 % until two trials lose nothing (RFC 2544 section 26.3)";
            ("frame-loss", Procedure::FrameLoss { step: 0.1, most: 1.0, length }, words.into())
        }
        ProcedureName::BackToBack => {
            let limits =
                Limits { longest: length.min(Duration::from_secs(30)), step: 1, line: load.line_rate };
            let words = format!(
                "the longest burst at the line's rate without loss, up to {} (RFC 9004); before it: {}",
                limits.longest,
                goal.words()
            );
            ("back-to-back", Procedure::BackToBack { goal, limits }, words)
        }
        ProcedureName::Reset => {
            let load = match load.loads.as_ref().map(|loads| loads.0.as_slice()) {
                None => RESET_LOAD,
                Some([load]) => *load,
                Some(_) => {
                    return Err(Failure::usage(
                        "there are several loads (--loads): a device is reset at one; write one, such as 50%",
                    ));
                }
            };
            let words = format!(
                "reset at {:.1} % of the line: from the frames that are lost, and from when they were sent (RFC 6201)",
                load * 100.0
            );
            ("reset", Procedure::Reset { load, length }, words)
        }
        ProcedureName::Recovery => {
            let words = format!(
                "110 % of the throughput for {length}, then half of it: from there to the last loss (RFC 2544 section \
                 26.5); before it: {}",
                goal.words()
            );
            ("recovery", Procedure::Recovery { goal, lengths: [length, length] }, words)
        }
    })
}

/// 10 % to 95 % by 5 % (seed 003).
fn default_loads() -> Vec<f64> {
    (2..=19).map(|twentieth: u8| f64::from(twentieth) / 20.0).collect()
}

/// What a laboratory's ports say of themselves.
#[derive(Clone, Copy, Debug)]
struct Lab {
    source: IpAddr,
    destination: IpAddr,
}

impl Lab {
    /// The laboratory of which these are the two ends. The destination is nobody's address, so that no host answers
    /// the test frames; the tester answers for it.
    fn of(tx: &PortName, rx: &PortName) -> Option<Self> {
        let end = |port: &PortName, interface: &str, letter: char| -> Option<String> {
            let prefix = port.namespace()?.strip_suffix(letter)?;
            (port.interface() == interface).then(|| prefix.to_owned())
        };
        let prefix = end(tx, "t0", 'A')?;
        if end(rx, "t1", 'B')? != prefix {
            return None;
        }
        let there = |letter: char| romer_host::netns::exists(&format!("{prefix}{letter}")).unwrap_or(false);
        let network = match (there('R'), there('E')) {
            (true, _) => 19,
            (false, true) => 18,
            (false, false) => return None,
        };
        Some(Self {
            source: IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2)),
            destination: IpAddr::V4(Ipv4Addr::new(198, network, 0, 66)),
        })
    }
}
