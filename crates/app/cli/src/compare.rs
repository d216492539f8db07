//! `romer compare`.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use romer_analyze::analysis::{self, Analysis};
use romer_analyze::evaluate::Evaluated;
use romer_analyze::limits::Limit;
use romer_analyze::reading;
use romer_record::Exit;
use romer_record::comparison::ComparedStamp;
use romer_record::document::{MEASUREMENT, Measurement, Measurements};
use romer_report::Stream;
use romer_report::comparison::{self, Subject};
use romer_store::{StoreError, untrusted};
use serde_json::Value;

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::{output, report};

/// The largest document that is read, octets.
const MAX_DOCUMENT_OCTETS: u64 = 256 << 20;

/// A measurement as it was found.
enum LoadedRun {
    /// With its packets.
    Whole(Box<Evaluated>),
    /// The document alone.
    Document(Box<Measurement>),
}

impl LoadedRun {
    fn measurement(&self) -> &Measurement {
        match self {
            Self::Whole(evaluated) => &evaluated.measurement,
            Self::Document(measurement) => measurement,
        }
    }
    fn stream(&self) -> Stream<'_> {
        match self {
            Self::Whole(evaluated) => evaluated.for_report(),
            Self::Document(measurement) => Stream { measurement, singletons: None },
        }
    }
}

/// Compares two measurements, and gives the exit code.
pub(crate) fn run(arguments: &CompareArgs) -> Result<Exit, Failure> {
    let captures = arguments.reference.as_deref().unwrap_or_default();
    let others = captures.iter().chain(&arguments.b);
    output::read_from(std::iter::once(&arguments.a).chain(others.clone()).map(PathBuf::as_path));
    arguments.output.check()?;
    let other = others.map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(", ");
    let names = [arguments.a.to_string_lossy().into_owned(), other];
    let a = one_of(load(&arguments.a)?, arguments, &names[0])?;
    let b = match (captures, &arguments.b) {
        ([sender, responder], _) => reference(a.measurement(), sender, responder)?,
        // clap sees to it that there is one of the two.
        (_, b) => one_of(load(b.as_deref().unwrap_or(Path::new("")))?, arguments, &names[1])?,
    };
    let compared = comparison::compare(
        &Subject { name: &names[0], stream: a.stream() },
        &Subject { name: &names[1], stream: b.stream() },
        arguments.by,
    );
    let Some(mut compared) = compared else {
        let by = arguments.by.map_or_else(String::new, |by| format!(" with --by {by}"));
        return Err(Failure::with_exit(
            Exit::BadData,
            format!(
                "nothing to compare ({}, {}): the runs have no direction in common{by}; compare measurements of the same \
                 directions",
                names[0], names[1]
            ),
        ));
    };
    if let [sender, responder] = captures {
        compared.stamps = stamps(&arguments.a, arguments.stream_number, [sender, responder])?;
    }
    compared.limits = Limit::judge_differences(&arguments.limit, a.measurement(), b.measurement());
    if !arguments.output.quiet && !arguments.output.json_to_stdout() {
        output::print_summary(&comparison::text(
            &compared,
            arguments.explain,
            &output::style(arguments.output.color),
        ));
    }
    output::write_json(arguments.output.json.as_deref(), &compared, arguments.output.force)?;
    let shown = |limit: &romer_record::document::Limit| {
        Some(format!("the difference B - A is {}", comparison::limit_difference(limit)?))
    };
    report::hold(&compared.limits, shown, report::UNKNOWN)
}

/// The measurement of the flow in two captures at the hosts of a run, whose clocks are related as in the run.
fn reference(run: &Measurement, sender: &Path, responder: &Path) -> Result<LoadedRun, Failure> {
    let mut captures = Analysis {
        capture_b: Some(responder.to_path_buf()),
        one_clock: run.clock.is_shared(),
        ..Analysis::new(sender, crate::command::as_given())
    };
    if run.clock.is_synchronised() {
        captures.skew.synchronisation = run.clock.synchronisation;
    }
    Ok(LoadedRun::Whole(Box::new(analysis::analyze(&captures)?)))
}

/// The time stamps of a stream of the run in `folder` beside those of the captures of its packets. A packet log does not say which
/// packets of a capture are its own.
fn stamps(
    folder: &Path,
    number: Option<u16>,
    captures: [&PathBuf; 2],
) -> Result<Vec<ComparedStamp>, Failure> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let contents = reading::read(folder)?;
    let number = number.unwrap_or(0);
    let Some(stream) = contents.run.manifest().streams.get(usize::from(number)) else {
        return Ok(Vec::new());
    };
    let rows = contents.rows()?.remove(&number).unwrap_or_default();
    Ok(analysis::compare_stamps(stream, &rows, captures.map(PathBuf::as_path))?)
}

/// The stream that is asked for.
fn one_of(mut found: Vec<LoadedRun>, arguments: &CompareArgs, name: &str) -> Result<LoadedRun, Failure> {
    let count = found.len();
    let place = match arguments.stream_number {
        Some(number) => usize::from(number),
        None if count == 1 => 0,
        None => {
            return Err(Failure::usage(format!(
                "missing option --stream-number N ({name}): it has {count} streams; choose one with --stream-number, counted from 0"
            )));
        }
    };
    if place >= count {
        return Err(Failure::no_stream(place, name, count));
    }
    Ok(found.swap_remove(place))
}

fn load(path: &Path) -> Result<Vec<LoadedRun>, Failure> {
    if !path.is_dir() && is_json(path)? {
        return document(path);
    }
    read_runs(path)
}

fn read_runs(path: &Path) -> Result<Vec<LoadedRun>, Failure> {
    Ok(with_packets(path)?.into_iter().map(|stream| LoadedRun::Whole(Box::new(stream))).collect())
}

/// The streams of a run, or the one of a packet log.
pub(crate) fn with_packets(path: &Path) -> Result<Vec<Evaluated>, Failure> {
    if path.is_dir() {
        return Ok(reading::read(path)?.streams);
    }
    let analysis = Analysis::new(path, crate::command::as_given());
    Ok(vec![analysis::analyze(&analysis)?])
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::NotFound {
        return StoreError::Missing { what: "run or file", path: path.to_path_buf() }.into();
    }
    Failure::environment(format!(
        "cannot read the measurement ({}): {error}; name a readable run, document or packet log",
        path.display()
    ))
}

/// Whether the file begins as a JSON object does.
fn is_json(path: &Path) -> Result<bool, Failure> {
    let mut head = [0; 64];
    let mut file = untrusted::open_input(path).map_err(|error| unreadable(path, &error))?;
    let read = file.read(&mut head).map_err(|error| unreadable(path, &error))?;
    Ok(head[..read].iter().find(|octet| !octet.is_ascii_whitespace()) == Some(&b'{'))
}

fn document(path: &Path) -> Result<Vec<LoadedRun>, Failure> {
    let mut text = Vec::new();
    let file = untrusted::open_input(path).map_err(|error| unreadable(path, &error))?;
    file.take(MAX_DOCUMENT_OCTETS).read_to_end(&mut text).map_err(|error| unreadable(path, &error))?;
    let bad = |why: String| {
        Failure::with_exit(
            Exit::BadData,
            format!("not a measurement ({}): {why}; name a document of {MEASUREMENT}", path.display()),
        )
    };
    let value: Value = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
    match value.get("schema").and_then(Value::as_str) {
        Some(MEASUREMENT) => {}
        Some(other) => return Err(bad(format!("its schema is {other:?}"))),
        // What irtt writes has none.
        None if value.pointer("/version/irtt").is_some() => {
            drop(value);
            return read_runs(path);
        }
        None => return Err(bad("it has no schema".into())),
    }
    let several = value.get("measurements").is_some();
    let measurements = if several {
        serde_json::from_value::<Measurements>(value).map(|several| several.measurements)
    } else {
        serde_json::from_value::<Measurement>(value).map(|one| vec![one])
    };
    let measurements = measurements.map_err(|error| bad(error.to_string()))?;
    Ok(measurements.into_iter().map(|one| LoadedRun::Document(Box::new(one))).collect())
}
