//! `romer analyze`.

use std::path::Path;

use romer_measure::analysis::{self, Analysis};
use romer_measure::limits::Limit;
use romer_measure::measure::WAITING_TIME;
use romer_measure::reading;
use romer_record::document::Measurement;
use romer_store::document_of;

use crate::args::AnalyzeArgs;
use crate::failure::Failure;
use crate::{command, output, report};

/// Computes the document of a run or of a packet log, and gives the exit code.
pub(crate) fn run(arguments: &AnalyzeArgs) -> Result<u8, Failure> {
    output::check_target(arguments.output.json.as_deref(), arguments.output.force)?;
    // clap sees to it that there is one of the two.
    let input = arguments.capture_a.as_deref().or(arguments.input.as_deref()).unwrap_or(Path::new(""));
    let (measurements, kept) = if input.is_dir() && arguments.capture_a.is_none() {
        (of_run(input, arguments)?, Some(input))
    } else {
        (vec![of_file(input, arguments)?], None)
    };
    show(&measurements, kept, arguments)?;
    if arguments.limit.is_empty() { Ok(0) } else { report::hold_limits(&measurements) }
}

fn of_run(input: &Path, arguments: &AnalyzeArgs) -> Result<Vec<Measurement>, Failure> {
    if arguments.reverse.is_some() {
        return Err(Failure::usage(
            "a run has both its directions (--reverse): the other file is for a packet log that goes one way; leave it out",
        ));
    }
    if arguments.waiting_time.is_some() {
        return Err(Failure::usage(
            "a run has a waiting time of its own (--waiting-time): it was in force while the run was made; leave it out",
        ));
    }
    let given = arguments.clocks.is_given() || arguments.calibration.is_some();
    let request = arguments.clocks.request(arguments.calibration)?;
    let reading = reading::read_by(input, given.then_some(&request))?;
    if reading.recovered && !arguments.output.quiet {
        output::eprint_line(report::RECOVERED);
    }
    let mut measurements: Vec<_> = reading.streams.into_iter().map(|stream| stream.measurement).collect();
    if !arguments.limit.is_empty() {
        for measurement in &mut measurements {
            measurement.limits = Limit::judge_all(&arguments.limit, measurement);
        }
    }
    Ok(measurements)
}

fn of_file(input: &Path, arguments: &AnalyzeArgs) -> Result<Measurement, Failure> {
    let analysis = Analysis {
        file: input.into(),
        capture_b: arguments.capture_b.clone(),
        reverse: arguments.reverse.clone(),
        waiting_time: arguments.waiting_time.unwrap_or(WAITING_TIME),
        skew: arguments.clocks.request(arguments.calibration)?,
        limits: arguments.limit.clone(),
        command: command::as_given(),
    };
    Ok(analysis::analyze(&analysis)?.measurement)
}

fn show(measurements: &[Measurement], kept: Option<&Path>, arguments: &AnalyzeArgs) -> Result<(), Failure> {
    let output = &arguments.output;
    if !output.quiet && !output.json_to_stdout() {
        output::print(&report::summary(measurements, output.color, kept));
    }
    match &output.json {
        Some(file) => {
            let text = document_of(measurements).map_err(Failure::own)?;
            output::write_document(file, &text, output.force)
        }
        None => Ok(()),
    }
}
