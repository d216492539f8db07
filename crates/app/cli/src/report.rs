//! `romer report`, and how a summary is shown.

use std::path::Path;

use romer_measure::reading::{self, Reading};
use romer_record::document::Measurement;
use romer_report::{csv, html, svg, text};
use romer_store::document_of;

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::output::{self, Color};

/// The summary of `measurements` for this terminal.
pub(crate) fn summary(measurements: &[Measurement], color: Color, kept: Option<&Path>) -> String {
    text::summary(measurements, kept, &output::style(color))
}

/// Reads runs again, and gives the exit code.
pub(crate) fn run(arguments: &ReportArgs) -> Result<u8, Failure> {
    let to_file = [&arguments.html, &arguments.csv, &arguments.output.json].iter().any(|one| one.is_some());
    if arguments.runs.len() > 1 && (to_file || arguments.svg.is_some()) {
        return Err(Failure::usage(
            "several runs cannot go to one file (--html, --csv, --json, --svg): each would overwrite the one before; \
             name one run, or call once for each",
        ));
    }
    let targets = [&arguments.html, &arguments.csv, &arguments.output.json];
    for (place, target) in targets.iter().enumerate() {
        if let Some(name) = target
            && targets.iter().skip(place + 1).any(|other| other.as_ref() == Some(name))
        {
            return Err(Failure::usage(format!(
                "two arguments contradict each other (--html, --csv, --json): both write to {name}; name another file \
                 for one of them"
            )));
        }
        output::check_target(target.as_deref(), arguments.output.force)?;
    }
    for folder in &arguments.runs {
        let reading = reading::read(folder)?;
        show(&reading, arguments)?;
        write(&reading, arguments)?;
    }
    Ok(0)
}

fn show(reading: &Reading, arguments: &ReportArgs) -> Result<(), Failure> {
    if arguments.output.quiet {
        return Ok(());
    }
    if reading.recovered {
        output::eprint_line("note: the program of this run was killed; it has been completed from its log");
    }
    let to_stdout = [&arguments.html, &arguments.csv, &arguments.output.json]
        .iter()
        .any(|one| one.as_deref() == Some("-"));
    if !to_stdout {
        let measurements = measurements(reading);
        output::print(&summary(&measurements, arguments.output.color, Some(reading.run.folder())));
    }
    Ok(())
}

fn measurements(reading: &Reading) -> Vec<Measurement> {
    reading.streams.iter().map(|stream| stream.measurement.clone()).collect()
}

fn write(reading: &Reading, arguments: &ReportArgs) -> Result<(), Failure> {
    let streams: Vec<_> =
        reading.streams.iter().map(romer_measure::evaluate::Evaluated::for_report).collect();
    if let Some(file) = &arguments.html {
        let page = html::report(&streams).map_err(Failure::own)?;
        output::write_document(file, &page, arguments.output.force)?;
    }
    if let Some(file) = &arguments.output.json {
        let text = document_of(&measurements(reading)).map_err(Failure::own)?;
        output::write_document(file, &text, arguments.output.force)?;
    }
    if let Some(folder) = &arguments.svg {
        write_charts(reading, folder, arguments)?;
    }
    match &arguments.csv {
        Some(file) => write_rows(reading, file, arguments),
        None => Ok(()),
    }
}

fn write_charts(reading: &Reading, folder: &Path, arguments: &ReportArgs) -> Result<(), Failure> {
    let shown = romer_report::escape::terminal(&folder.to_string_lossy());
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::environment(format!(
            "cannot make the folder ({shown}): {error}; name one that can be written"
        ))
    })?;
    for (stream, number) in reading.streams.iter().zip(0..) {
        for chart in svg::charts(&stream.for_report()).map_err(Failure::own)? {
            let name = format!("{number}-{}.svg", chart.name);
            output::write_document(&folder.join(name).to_string_lossy(), &chart.svg, arguments.output.force)?;
        }
    }
    Ok(())
}

fn write_rows(reading: &Reading, file: &str, arguments: &ReportArgs) -> Result<(), Failure> {
    let number = arguments.stream.unwrap_or(0);
    let Some(stream) = reading.streams.get(usize::from(number)) else {
        return Err(Failure::usage(format!(
            "there is no such stream (--stream {number}): the run has {}, counted from 0; name one of them",
            reading.streams.len()
        )));
    };
    if reading.streams.len() > 1 && arguments.stream.is_none() {
        output::eprint_line(&format!(
            "note: the run has {} streams, and the first is written; choose another with --stream",
            reading.streams.len()
        ));
    }
    let nothing = Vec::new();
    let rows = reading.rows.get(&number).unwrap_or(&nothing);
    let places = csv::Places {
        t1: stream.selection.t1,
        t2: stream.selection.t2,
        t3: stream.selection.t3,
        t4: stream.selection.t4,
    };
    let mut bytes = Vec::new();
    csv::round_trips(&mut bytes, rows, places).map_err(Failure::own)?;
    output::write_document(file, &String::from_utf8_lossy(&bytes), arguments.output.force)
}
