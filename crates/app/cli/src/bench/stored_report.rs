//! `romer report` of a stored benchmark: summary, page, figures and tables.

use std::path::Path;

use romer_record::Exit;
use romer_record::benchmark::Benchmark;
use romer_store::BenchmarkRun;

use super::text;
use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::output;
use crate::report::of_packets;

/// Whether a benchmark is kept there.
pub(crate) fn is_benchmark(folder: &Path) -> bool {
    folder.is_dir() && BenchmarkRun::plan(folder).is_ok()
}

/// Shows the benchmark in `folder`, and writes what is asked for.
pub(crate) fn report(folder: &Path, arguments: &ReportArgs) -> Result<(), Failure> {
    let shown = romer_report::escape::terminal(&folder.to_string_lossy());
    if let Some(flag) = of_packets(arguments) {
        return Err(Failure::usage(format!(
            "an argument does not apply ({flag}): {shown} is a benchmark, of which results are kept and no packets; leave it \
             out"
        )));
    }
    let document = BenchmarkRun::document(folder)?.ok_or_else(|| {
        Failure::with_exit(
            Exit::BadData,
            format!(
                "the benchmark is running or was interrupted ({shown}): benchmark.json is missing; wait for its end, or \
                 continue it with `romer bench --resume {shown}`"
            ),
        )
    })?;
    let targets = [&arguments.html, &arguments.csv, &arguments.output.json];
    let to_stdout = targets.iter().any(|target| target.as_deref() == Some("-"));
    if !arguments.output.quiet && !to_stdout {
        let text = text::summary(&document, false, output::sheet(arguments.output.color));
        output::print_summary(&output::to_ascii(&text));
        output::print(&text::saved_to(folder, &document));
    }
    let force = arguments.output.force;
    if let Some(file) = &arguments.html {
        output::write_document(file, &romer_report::benchmark::page(&document), force)?;
    }
    if let Some(file) = &arguments.csv {
        output::write_document(file, &romer_report::benchmark::csv(&document), force)?;
    }
    output::write_json(arguments.output.json.as_deref(), &document, force)?;
    match &arguments.svg {
        Some(folder) => figures(&document, folder, force),
        None => Ok(()),
    }
}

/// Refuses a folder that figures cannot go to, before the work for them is done.
pub(crate) fn check_folder(folder: &Path, force: bool) -> Result<(), Failure> {
    let shown = romer_report::escape::terminal(&folder.to_string_lossy());
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::usage(format!(
            "this is no folder (--svg {shown}): each figure is a file; name a folder"
        )));
    }
    let is_figure = |file: &std::fs::DirEntry| file.path().extension().is_some_and(|end| end == "svg");
    let there = std::fs::read_dir(folder).into_iter().flatten().flatten().any(|file| is_figure(&file));
    if there && !force {
        return Err(Failure::usage(format!(
            "there are figures already (--svg {shown}): nothing is overwritten; use --force or another folder"
        )));
    }
    Ok(())
}

/// Writes the figures, each a file, to a folder.
pub(super) fn figures(document: &Benchmark, folder: &Path, force: bool) -> Result<(), Failure> {
    check_folder(folder, force)?;
    let shown = romer_report::escape::terminal(&folder.to_string_lossy());
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::environment(format!(
            "cannot make the folder ({shown}): {error}; name one that can be written"
        ))
    })?;
    for figure in romer_report::benchmark::figures(document) {
        let file = folder.join(format!("{}.svg", figure.name));
        output::write_document(&file.to_string_lossy(), &figure.alone, force)?;
    }
    Ok(())
}
