//! `romer analyze`.

use std::path::{Path, PathBuf};

use romer_analyze::WAITING_TIME;
use romer_analyze::analysis::Analysis;
use romer_analyze::evaluate::Evaluated;
use romer_analyze::limits::Limit;
use romer_analyze::qtcp::{self, SkewRefusal};
use romer_analyze::reading::AnalysisOverrides;
use romer_clock::skew::method_of;
use romer_exchange::qtcp::Selection;
use romer_record::Exit;
use romer_record::document::{DirectionResults, Measurement, ProbeDirection};
use romer_record::manifest::SkewRequest;
use romer_report::comparison::Subject;
use romer_report::concatenation;
use romer_report::warning::Text;
use romer_units::Duration;

use crate::args::{AnalyzeArgs, check_calibration};
use crate::compare::with_packets;
use crate::failure::Failure;
use crate::report_input::{ReportInput, check_any_size, check_unit};
use crate::{command, output, report};

/// Computes the document of a run or of a packet log, and gives the exit code.
pub(crate) fn run(arguments: &AnalyzeArgs) -> Result<Exit, Failure> {
    romer_host::allocator::keep_freed_memory();
    let inputs = [
        &arguments.input,
        &arguments.reverse,
        &arguments.captures.capture_a,
        &arguments.captures.capture_b,
        &arguments.measured,
    ];
    let inputs = inputs.into_iter().flatten().chain(arguments.concatenate.iter().flatten());
    output::read_from(inputs.map(PathBuf::as_path));
    arguments.output.check()?;
    if let Some([a, b]) = arguments.concatenate.as_deref() {
        return in_series(a, b, arguments);
    }
    if arguments.measured.is_some() {
        return Err(Failure::usage(
            "nothing to compare with a measurement (--measured): no networks are named; name the two networks in \
             series with --concatenate A B",
        ));
    }
    // clap sees to it that there is one of the two.
    let captures = &arguments.captures;
    let input = captures.capture_a.as_deref().or(arguments.input.as_deref()).unwrap_or(Path::new(""));
    for file in [Some(input), arguments.reverse.as_deref()].into_iter().flatten() {
        check_unit(file, arguments.unit)?;
        check_any_size(file, arguments.any_size)?;
    }
    check_targets(arguments)?;
    let reported = if input.is_dir() && captures.capture_a.is_none() {
        of_run(input, arguments)?
    } else {
        of_file(input, arguments)?
    };
    reported.streams.iter().try_for_each(|stream| calibrated(&stream.measurement, arguments))?;
    if arguments.voice.is_given() {
        arguments.voice.check(reported.streams.iter().map(|stream| &stream.measurement))?;
    }
    show(&reported, arguments)?;
    if arguments.limit.is_empty() {
        Ok(Exit::Success)
    } else {
        report::check_limits(&reported.measurements())
    }
}

/// Refuses files that could not be written, or that are named twice.
fn check_targets(arguments: &AnalyzeArgs) -> Result<(), Failure> {
    let targets = [&arguments.output.json, &arguments.html, &arguments.log];
    for (place, target) in targets.iter().enumerate() {
        let Some(name) = target else { continue };
        if targets.iter().skip(place + 1).any(|other| other.as_ref() == Some(name)) {
            return Err(Failure::usage(format!(
                "options cannot be combined (--json, --html, --log): two of them write to {name}; name another \
                 file for one"
            )));
        }
        output::check_target(Some(name), arguments.output.force)?;
    }
    Ok(())
}

/// Refuses calibration packets that leave none to measure.
fn calibrated(measurement: &Measurement, arguments: &AnalyzeArgs) -> Result<(), Failure> {
    let largest = |ways: [&DirectionResults; 3]| {
        ways.into_iter().filter_map(|way| way.packets.sent.max(way.packets.received)).max().unwrap_or(0)
    };
    let measured = largest([&measurement.forward, &measurement.reverse, &measurement.round_trip]);
    let apart = measurement.calibration_phase.as_ref();
    let there =
        measured + apart.map_or(0, |phase| largest([&phase.forward, &phase.reverse, &phase.round_trip]));
    match arguments.calibration.filter(|stated| *stated >= there) {
        None => Ok(()),
        Some(stated) => Err(Failure::with_exit(
            Exit::BadData,
            format!(
                "no packets are left to measure (--calibration {stated}): {there} were sent; state fewer, or leave it out to \
                 use all"
            ),
        )),
    }
}

/// Adds the delays of two networks, and gives the exit code.
fn in_series(a: &Path, b: &Path, arguments: &AnalyzeArgs) -> Result<Exit, Failure> {
    let one = |path: &Path| {
        let mut streams = with_packets(path)?;
        match streams.len() {
            1 => Ok((path.to_string_lossy().into_owned(), streams.swap_remove(0))),
            count => Err(Failure::usage(format!(
                "it is not said which stream ({}): it has {count}, and networks in series are of one stream each; export \
                 the one that is meant with `romer report --csv FILE --stream-number N`",
                path.display()
            ))),
        }
    };
    let (a, b) = (one(a)?, one(b)?);
    let measured = arguments.measured.as_deref().map(one).transpose()?;
    if !arguments.output.quiet {
        // What is known of each file stands in no document here.
        for (name, stream) in [&a, &b].into_iter().chain(&measured) {
            for warning in &stream.measurement.warnings {
                let note = format!("note: {name}: {}", warning.text());
                output::eprint_line(&romer_report::escape::terminal(&note));
            }
        }
    }
    let measured = measured.as_ref().map(subject);
    let quantity = arguments.of.unwrap_or_default().into();
    let found = concatenation::concatenate(&subject(&a), &subject(&b), measured.as_ref(), quantity);
    let Some(found) = found else {
        return Err(Failure::with_exit(
            Exit::BadData,
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
    if !output.is_silent() {
        output::print_summary(&concatenation::text(&found, &output::style(output.color)));
    }
    output::write_json(output.json.as_deref(), &found, output.force)?;
    Ok(Exit::Success)
}

fn subject((name, stream): &(String, Evaluated)) -> Subject<'_> {
    Subject { name, stream: stream.for_report() }
}

fn of_run(input: &Path, arguments: &AnalyzeArgs) -> Result<ReportInput, Failure> {
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
    if arguments.any_size {
        return Err(Failure::usage(
            "a run has packets of any size (--any-size): it is for a .raw of Qtcp; leave it out",
        ));
    }
    let (clocks, calibration) = (&arguments.clocks, arguments.calibration);
    let otherwise = AnalysisOverrides {
        // Without a method it is the run's own.
        skew: clocks.skew.map(|_| clocks.request(calibration)).transpose()?,
        calibration,
        path_minimum_ns: clocks.path_minimum.map(Duration::as_nanos),
        clocks: (clocks.stated.clocks.is_some() || clocks.stated.clock_offset.is_some())
            .then(|| clocks.stated.statement())
            .transpose()?,
        voice: arguments.voice.is_given().then(|| arguments.voice.request()),
        stamp: arguments.stamp.map(Into::into),
    };
    let mut reported = ReportInput::read_run(input, &otherwise)?;
    if let Some((statement, offset)) = otherwise.clocks {
        for stream in reported.described() {
            if statement.resolve(offset, stream.clock_relation, &stream.metadata).is_none() {
                return Err(Failure::usage(format!(
                    "the hosts of {} did not state the error of their clocks (--clocks synchronised): add the bound, for example \
                     --clocks synchronised:1ms",
                    romer_report::escape::path(input)
                )));
            }
        }
    }
    if let Some(stamp) = otherwise.stamp
        && reported.described().iter().any(|stream| stream.stamp_request.replaced_by(Some(stamp)).is_none())
    {
        return Err(Failure::usage(format!(
            "the run has no such time stamps (--stamp): in-packet ones have the place of those of kernel and card; use those of \
             {}, or --stamp user",
            romer_report::escape::path(input)
        )));
    }
    for stream in reported.described() {
        let own = clocks.skew.unwrap_or_else(|| method_of(&stream.skew));
        check_calibration(own, calibration)?;
    }
    if reported.recovered && !arguments.output.quiet {
        output::eprint_line(report::RECOVERED);
    }
    if !arguments.limit.is_empty() {
        for Evaluated { measurement, .. } in &mut reported.streams {
            measurement.limits = Limit::judge_all(&arguments.limit, measurement);
        }
    }
    Ok(reported)
}

fn of_file(input: &Path, arguments: &AnalyzeArgs) -> Result<ReportInput, Failure> {
    if arguments.stamp.is_some() {
        return Err(Failure::usage(format!(
            "--stamp is for runs, which have several time stamps for each packet ({}): a packet log or a capture has one; leave it out",
            romer_report::escape::terminal(&input.to_string_lossy())
        )));
    }
    let clocks = &arguments.clocks;
    let (one_clock, synchronisation) = clocks.stated.of_log()?;
    if one_clock
        && (clocks.skew.is_some() || clocks.path_minimum.is_some() || arguments.calibration.is_some())
    {
        return Err(Failure::usage(
            "one clock needs no estimate (--clocks shared): leave out --skew, --path-minimum and --calibration",
        ));
    }
    ReportInput::of_log(&Analysis {
        capture_b: arguments.captures.capture_b.clone(),
        flow: arguments.captures.flow,
        reverse: arguments.reverse.clone(),
        any_size: arguments.any_size,
        unit_ns: arguments.unit.map(Duration::as_nanos),
        one_clock,
        waiting_time: arguments.waiting_time.unwrap_or(WAITING_TIME),
        skew: SkewRequest { synchronisation, ..clocks.request(arguments.calibration)? },
        voice: arguments.voice.request(),
        limits: arguments.limit.clone(),
        ..Analysis::new(input, command::as_given())
    })
}

fn show(reported: &ReportInput, arguments: &AnalyzeArgs) -> Result<(), Failure> {
    let output = &arguments.output;
    let to_stdout = [&output.json, &arguments.html, &arguments.log];
    if !output.quiet && !to_stdout.iter().any(|target| target.as_deref() == Some("-")) {
        let verbose = arguments.verbose;
        output::print_summary(&report::summary(&reported.measurements(), output.color, None, verbose));
    }
    reported.write_document(output)?;
    if let Some(file) = &arguments.html {
        reported.write_page(file, output.force)?;
    }
    match &arguments.log {
        Some(file) => write_log(reported, file, arguments),
        None => Ok(()),
    }
}

/// Writes the packets as Qtcp's `.log` has them: those that went forward, unless none did.
fn write_log(reported: &ReportInput, file: &str, arguments: &AnalyzeArgs) -> Result<(), Failure> {
    let ([evaluated], [stream]) = (&reported.streams[..], reported.described()) else {
        return Err(Failure::usage(format!(
            "a .log holds one stream (--log): the run has {}; write each with `romer report RUN --qtcp PREFIX`",
            reported.streams.len()
        )));
    };
    let way = if stream.traffic.direction == ProbeDirection::Reverse {
        ProbeDirection::Reverse
    } else {
        ProbeDirection::Forward
    };
    let (entries, lost, outcome) = qtcp::log_of(evaluated, way).map_err(|refusal| {
        let why = match refusal {
            SkewRefusal::NoFit(why) => why,
            refusal => refusal.to_string(),
        };
        let shown = romer_report::escape::terminal(file);
        let text = format!(
            "cannot write the .log (--log {shown}): no skew is found to take out of it: {why}; --skew none leaves it in"
        );
        Failure::with_exit(Exit::BadData, text)
    })?;
    output::write_with(file, arguments.output.force, |out| {
        romer_exchange::qtcp::write(out, &entries, &lost, Selection::default())
    })?;
    if !arguments.output.quiet {
        for note in outcome.notes {
            let file = romer_report::escape::terminal(file);
            output::eprint_line(&format!("note: {file}: {}", note.text()));
        }
    }
    Ok(())
}
