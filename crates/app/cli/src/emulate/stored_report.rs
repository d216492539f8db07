//! `romer report` of a stored emulation: counts, delays, document, page, figures and samples.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use romer_record::Exit;
use romer_record::emulation::Emulation;
use romer_report::escape;
use romer_store::{MANIFEST_FILE, untrusted};

use super::run_folder::{DOCUMENT, FIGURES, PAGE, SAMPLES, SCENARIO, kept_in};
use super::text;
use crate::args::ReportArgs;
use crate::bench::stored_report::check_folder;
use crate::failure::Failure;
use crate::output;
use crate::report::of_packets;

/// The largest document or figure that is read, octets.
const MAX_FILE_OCTETS: u64 = 64 << 20;

/// Whether an emulation is kept there, were it one that was killed.
pub(crate) fn is_emulation(folder: &Path) -> bool {
    let has = |name: &str| untrusted::is_file(&folder.join(name));
    !has(MANIFEST_FILE) && (has(DOCUMENT) || (has(SAMPLES) && has(SCENARIO)))
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
        output::print(&output::to_ascii(&text::summary(&document, &[])));
        output::print(&kept_in(folder));
    }
    let force = arguments.output.force;
    let copies = [(&arguments.html, PAGE), (&arguments.csv, SAMPLES)];
    for (target, name) in copies.iter().filter_map(|(target, name)| Some((target.as_deref()?, *name))) {
        let mut file = untrusted::open(&folder.join(name)).map_err(missing(&shown, name))?;
        if target == "-" {
            print_lines(file).map_err(missing(&shown, name))?;
        } else {
            output::write_with(target, force, |out| io::copy(&mut file, out).map(drop))?;
        }
    }
    output::write_json(arguments.output.json.as_deref(), &document, force)?;
    let Some(target) = &arguments.svg else { return Ok(()) };
    check_folder(target, force)?;
    let into = escape::terminal(&target.to_string_lossy());
    fs::create_dir_all(target).map_err(|error| {
        Failure::environment(format!(
            "cannot make the folder ({into}): {error}; name one that can be written"
        ))
    })?;
    let figures = folder.join(FIGURES);
    if figures.is_symlink() {
        let link =
            io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link, which is not followed");
        return Err(missing(&shown, FIGURES)(link));
    }
    for figure in fs::read_dir(figures).map_err(missing(&shown, FIGURES))?.flatten() {
        let text = untrusted::read_text(&figure.path(), MAX_FILE_OCTETS).map_err(missing(&shown, FIGURES))?;
        output::write_document(&target.join(figure.file_name()).to_string_lossy(), &text, force)?;
    }
    Ok(())
}

/// Prints a text file, some of its lines at a time, and long ones in parts.
fn print_lines(file: File) -> io::Result<()> {
    const CHUNK_OCTETS: u64 = 1 << 16;
    let mut file = BufReader::new(file);
    let mut lines = Vec::new();
    loop {
        let read = file.by_ref().take(CHUNK_OCTETS).read_until(b'\n', &mut lines)?;
        if read == 0 || lines.len() as u64 >= CHUNK_OCTETS {
            output::print(&String::from_utf8_lossy(&lines));
            lines.clear();
        }
        if read == 0 {
            return Ok(());
        }
    }
}

fn document(folder: &Path, shown: &str) -> Result<Emulation, Failure> {
    let path = folder.join(DOCUMENT);
    if path.symlink_metadata().is_err() {
        return Err(Failure::with_exit(
            Exit::BadData,
            format!(
                "the emulation is running or was killed ({shown}): {DOCUMENT} is missing; wait for its end, or rebuild it: romer \
                 emulate --offline --arrivals {shown}/{SAMPLES} --scenario {shown}/{SCENARIO} --out NEW"
            ),
        ));
    }
    let text = untrusted::read_text(&path, MAX_FILE_OCTETS).map_err(missing(shown, DOCUMENT))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::with_exit(
            Exit::BadData,
            format!(
                "the emulation cannot be read ({shown}/{DOCUMENT}): {error}; it was changed, or written by another version of romer"
            ),
        )
    })
}

fn missing(shown: &str, name: &str) -> impl Fn(io::Error) -> Failure {
    let place = format!("{shown}/{name}");
    move |error| match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge => {
            Failure::with_exit(
                Exit::BadData,
                format!("cannot read the saved file ({place}): {error}; replace it with a regular file"),
            )
        }
        _ => Failure::environment(format!(
            "cannot read the saved file ({place}): {error}; the run folder is incomplete"
        )),
    }
}
