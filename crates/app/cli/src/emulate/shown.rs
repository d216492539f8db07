//! A kept emulation once more: its counts and delays, its document, page, figures and samples.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use romer_record::emulation::Emulation;
use romer_report::escape;

use super::kept::{DOCUMENT, FIGURES, PAGE, SAMPLES, SCENARIO, kept_in};
use super::words;
use crate::args::ReportArgs;
use crate::bench::shown::check_folder;
use crate::failure::Failure;
use crate::output;
use crate::report::of_packets;

/// Whether an emulation is kept there, were it one that was killed.
pub(crate) fn is_emulation(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).is_file();
    !has("manifest.json") && (has(DOCUMENT) || (has(SAMPLES) && has(SCENARIO)))
}

/// Shows the emulation in `folder`, and writes what is asked for.
pub(crate) fn report(folder: &Path, arguments: &ReportArgs) -> Result<(), Failure> {
    let shown = escape::terminal(&folder.to_string_lossy());
    if let Some(flag) = of_packets(arguments) {
        return Err(Failure::usage(format!(
            "an argument does not apply ({flag}): {shown} is an emulation, of which packets are kept as its samples; leave it out, and \
             take those with --csv"
        )));
    }
    let document = document(folder, &shown)?;
    let targets = [&arguments.html, &arguments.csv, &arguments.output.json];
    let to_stdout = targets.iter().any(|target| target.as_deref() == Some("-"));
    if !arguments.output.quiet && !to_stdout {
        output::print(&words::summary(&document, &[]));
        output::print(&kept_in(folder));
    }
    let force = arguments.output.force;
    let copies = [(&arguments.html, PAGE), (&arguments.csv, SAMPLES)];
    for (target, name) in copies.iter().filter_map(|(target, name)| Some((target.as_deref()?, *name))) {
        let mut file = File::open(folder.join(name)).map_err(missing(&shown, name))?;
        output::write_with(target, force, |out| io::copy(&mut file, out).map(drop))?;
    }
    if let Some(file) = &arguments.output.json {
        output::write_document(file, &output::document_text(&document)?, force)?;
    }
    let Some(target) = &arguments.svg else { return Ok(()) };
    check_folder(target, force)?;
    let into = escape::terminal(&target.to_string_lossy());
    fs::create_dir_all(target).map_err(|error| {
        Failure::environment(format!(
            "cannot make the folder ({into}): {error}; name one that can be written"
        ))
    })?;
    for figure in fs::read_dir(folder.join(FIGURES)).map_err(missing(&shown, FIGURES))?.flatten() {
        let text = fs::read_to_string(figure.path()).map_err(missing(&shown, FIGURES))?;
        output::write_document(&target.join(figure.file_name()).to_string_lossy(), &text, force)?;
    }
    Ok(())
}

fn document(folder: &Path, shown: &str) -> Result<Emulation, Failure> {
    let path = folder.join(DOCUMENT);
    if !path.is_file() {
        return Err(Failure::with_code(
            3,
            format!(
                "the emulation has not come to its end ({shown}): it has no {DOCUMENT}. Its samples are there; `romer emulate \
                 --offline --arrivals {shown}/{SAMPLES} --scenario {shown}/{SCENARIO} --out NEW` decides the same again, and makes \
                 document and page of them"
            ),
        ));
    }
    let text = fs::read_to_string(path).map_err(missing(shown, DOCUMENT))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::with_code(
            3,
            format!(
                "the emulation cannot be read ({shown}/{DOCUMENT}): {error}; it was changed, or another version wrote it"
            ),
        )
    })
}

fn missing(shown: &str, name: &str) -> impl Fn(io::Error) -> Failure {
    let place = format!("{shown}/{name}");
    move |error| {
        Failure::environment(format!("cannot read what was kept ({place}): {error}; see what took it away"))
    }
}
