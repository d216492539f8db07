//! `romer analyze`.

use std::path::Path;

use romer_measure::analysis::{self, Analysis};
use romer_measure::evaluate::Evaluated;
use romer_measure::limits::Limit;
use romer_measure::measure::WAITING_TIME;
use romer_measure::reading::{self, Otherwise};
use romer_record::document::Measurement;
use romer_report::comparison::Subject;
use romer_report::concatenation;
use romer_store::document_of;

use crate::args::AnalyzeArgs;
use crate::compare::with_packets;
use crate::failure::Failure;
use crate::{command, output, report};

/// Computes the document of a run or of a packet log, and gives the exit code.
pub(crate) fn run(arguments: &AnalyzeArgs) -> Result<u8, Failure> {
    output::check_target(arguments.output.json.as_deref(), arguments.output.force)?;
    if let Some([a, b]) = arguments.concatenate.as_deref() {
        return in_series(a, b, arguments);
    }
    if arguments.against.is_some() {
        return Err(Failure::usage(
            "there is no sum to hold against a measurement (--against): nothing names the networks that it is of; name the \
             two that are in series with --concatenate A B",
        ));
    }
    // clap sees to it that there is one of the two.
    let input = arguments.capture_a.as_deref().or(arguments.input.as_deref()).unwrap_or(Path::new(""));
    let (measurements, kept) = if input.is_dir() && arguments.capture_a.is_none() {
        (of_run(input, arguments)?, Some(input))
    } else {
        (vec![of_file(input, arguments)?], None)
    };
    measurements.iter().try_for_each(|measurement| calibrated(measurement, arguments))?;
    show(&measurements, kept, arguments)?;
    if arguments.limit.is_empty() { Ok(0) } else { report::hold_limits(&measurements) }
}

/// Refuses more calibration packets than there are packets.
fn calibrated(measurement: &Measurement, arguments: &AnalyzeArgs) -> Result<(), Failure> {
    let ways = [&measurement.forward, &measurement.reverse, &measurement.round_trip];
    let there = ways.into_iter().filter_map(|way| way.packets.received).max().unwrap_or(0);
    match arguments.calibration.filter(|stated| *stated > there) {
        None => Ok(()),
        Some(stated) => Err(Failure::with_code(
            3,
            format!(
                "there are not so many packets (--calibration {stated}): {there} arrived; state fewer, or leave it out to \
                 use all"
            ),
        )),
    }
}

/// Adds the delays of two networks, and gives the exit code.
fn in_series(a: &Path, b: &Path, arguments: &AnalyzeArgs) -> Result<u8, Failure> {
    let one = |path: &Path| {
        let mut streams = with_packets(path)?;
        match streams.len() {
            1 => Ok((path.to_string_lossy().into_owned(), streams.swap_remove(0))),
            count => Err(Failure::usage(format!(
                "it is not said which stream ({}): it has {count}, and networks in series are of one stream each; export \
                 the one that is meant with `romer report --csv FILE --stream N`",
                path.display()
            ))),
        }
    };
    let (a, b) = (one(a)?, one(b)?);
    let against = arguments.against.as_deref().map(one).transpose()?;
    let found = concatenation::concatenate(&of(&a), &of(&b), against.as_ref().map(of).as_ref());
    let Some(found) = found else {
        return Err(Failure::with_code(
            3,
            format!(
                "nothing can be added ({}, {}): they have no direction in common with at least {} delays in each; give \
                 measurements of the same directions",
                a.0,
                b.0,
                concatenation::LEAST
            ),
        ));
    };
    let output = &arguments.output;
    if !output.quiet && !output.json_to_stdout() {
        output::print(&concatenation::text(&found, &output::style(output.color)));
    }
    if let Some(file) = &output.json {
        let mut text = serde_json::to_string_pretty(&found).map_err(Failure::own)?;
        text.push('\n');
        output::write_document(file, &text, output.force)?;
    }
    Ok(0)
}

fn of((name, stream): &(String, Evaluated)) -> Subject<'_> {
    Subject { name, stream: stream.for_report() }
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
    let otherwise = Otherwise {
        skew: given.then_some(request),
        voice: arguments.voice.is_given().then(|| arguments.voice.request()),
    };
    let reading = reading::read_by(input, &otherwise)?;
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
        voice: arguments.voice.request(),
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
