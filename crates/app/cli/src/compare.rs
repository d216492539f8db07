//! `romer compare`.

use std::path::{Path, PathBuf};

use romer_analyze::analysis::{self, Analysis};
use romer_analyze::evaluate::Evaluated;
use romer_analyze::limits::Limit;
use romer_analyze::measured::{self, Measured, choose};
use romer_analyze::reading;
use romer_record::Exit;
use romer_record::comparison::ComparedStamp;
use romer_record::document::Measurement;
use romer_report::comparison;

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::{output, report};

/// Compares two measurements, and gives the exit code.
pub(crate) fn run(arguments: &CompareArgs) -> Result<Exit, Failure> {
    let captures = arguments.reference.as_deref().unwrap_or_default();
    let others = captures.iter().chain(&arguments.b);
    output::read_from(std::iter::once(&arguments.a).chain(others.clone()).map(PathBuf::as_path));
    arguments.output.check()?;
    let other = others.map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(", ");
    let names = [arguments.a.to_string_lossy().into_owned(), other];
    let a = one_of(&arguments.a, arguments, &names[0])?;
    let b = match (captures, &arguments.b) {
        ([sender, responder], _) => reference(a.measurement(), sender, responder)?,
        // clap sees to it that there is one of the two.
        (_, b) => one_of(b.as_deref().unwrap_or(Path::new("")), arguments, &names[1])?,
    };
    let mut compared = measured::compare((&names[0], &a), (&names[1], &b), arguments.by)?;
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
fn reference(run: &Measurement, sender: &Path, responder: &Path) -> Result<Measured, Failure> {
    let mut captures = Analysis {
        capture_b: Some(responder.to_path_buf()),
        one_clock: run.clock.is_shared(),
        ..Analysis::new(sender, crate::command::as_given())
    };
    if run.clock.is_synchronised() {
        captures.skew.synchronisation = run.clock.synchronisation;
    }
    Ok(Measured::Whole(Box::new(analysis::analyze(&captures)?)))
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

/// The stream of the measurement at `path` that is asked for.
fn one_of(path: &Path, arguments: &CompareArgs, name: &str) -> Result<Measured, Failure> {
    let streams = Measured::read(path, &crate::command::as_given())?;
    Ok(choose(streams, arguments.stream_number, name)?)
}

/// The streams of a run, or the one of a packet log.
pub(crate) fn with_packets(path: &Path) -> Result<Vec<Evaluated>, Failure> {
    Ok(measured::with_packets(path, &crate::command::as_given())?)
}
