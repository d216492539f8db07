//! `romer qtcp`.

mod flows;
mod live;
mod summary;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek};
use std::path::Path;

use romer_analyze::qtcp::{Conversion, ReadOptions, SkewOutcome, SkewRefusal, Unconverted, method};
use romer_clock::skew::Method;
use romer_exchange::csv::Fault;
use romer_exchange::qtcp::sta::{self, VariableTable};
use romer_exchange::qtcp::{Options, Selection, UNIT_NS, summary as runs, unit};
use romer_record::Exit;
use romer_record::warning::QtcpNote;
use romer_report::escape;
use romer_report::warning::Text;
use romer_scenario::nearest;
use romer_store::untrusted;
use romer_units::{Duration, counted};

use crate::args::QtcpArgs;
use crate::failure::Failure;
use crate::output;

/// The largest .sta file: a million lost packets.
const LARGEST_STA: u64 = 64 << 20;
/// The most .sta files of a folder.
const MOST_FILES: usize = 10_000;

/// Runs one end of a live test, converts a file or collates a folder, and gives the exit code.
pub(crate) fn run(arguments: &QtcpArgs) -> Result<Exit, Failure> {
    if arguments.unexplained.is_some() {
        return Err(Failure::usage(
            "option not supported (-a): the documentation of Qtcp names it and does not state its meaning; remove it",
        ));
    }
    if arguments.flows {
        return flows::list();
    }
    match (&arguments.transmit, &arguments.prefix, &arguments.folder) {
        (Some(target), ..) => live::transmit(target, arguments),
        (None, Some(prefix), _) => convert(prefix, arguments),
        (None, None, Some(folder)) => collate(folder, arguments),
        // clap ensures that one of the five is given.
        (None, None, None) => live::run_receiver(arguments),
    }
}

fn convert(name: &str, arguments: &QtcpArgs) -> Result<Exit, Failure> {
    let prefix = name.strip_suffix(".raw").filter(|prefix| !prefix.is_empty()).unwrap_or(name);
    let (raw, log) = (format!("{prefix}.raw"), format!("{prefix}.log"));
    let shown = escape::terminal(&raw);
    let unread = |error: &io::Error| {
        let mend = match error.kind() {
            io::ErrorKind::NotFound => "name the file, with its .raw or without",
            _ => "name a file that can be read",
        };
        Failure::environment(format!("cannot read the .raw file ({shown}): {error}; {mend}"))
    };
    let file = untrusted::open_input(Path::new(&raw))
        .map_err(|error| another_file(name).unwrap_or_else(|| unread(&error)))?;
    output::read_from([Path::new(&raw)]);
    output::check_target(Some(&log), arguments.force)?;
    let file = again_and_again(file, &log).map_err(|error| unread(&error))?;
    let bad = |line: u64, why: &dyn std::fmt::Display| {
        Failure::with_exit(Exit::BadData, format!("bad .raw file ({shown}:{line}): {why}"))
    };
    let failed = |error: Unconverted| match error {
        Unconverted::Fault(Fault::Line { line, why }) => bad(line, &why),
        Unconverted::Fault(Fault::Io(error)) => unread(&error),
        Unconverted::Refused(refusal) => bad(1, &refusal),
        Unconverted::Changed => Failure::environment(format!("the .raw file ({shown}): {error}")),
        Unconverted::Write(error) => Failure::own(error),
    };
    let is_ours = sta::is_ours(Path::new(&raw));
    let reading = ReadOptions {
        options: Options { any_size: arguments.any_size || is_ours, trust_latency: arguments.trust_latency },
        unit_ns: arguments.unit.map_or(UNIT_NS, Duration::as_nanos),
        ..ReadOptions::default()
    };
    let mut conversion = Conversion::read(from_the_beginning(&file), reading, method(arguments.skew))
        .map_err(|fault| failed(fault.into()))?;
    let told = sta::Missing::beside(Path::new(&raw), conversion.examined().packets);
    if let Some(told) = told {
        conversion.know_lost(told.lost);
    }
    let spread = *conversion.spread();
    let doubt = if arguments.unit.is_some() {
        None
    } else {
        let examined = conversion.examined();
        let span = examined.span().filter(|_| examined.notes.sent_back.is_none());
        unit::doubt(Path::new(&raw), &spread, span)
    };
    if spread.count > 1 && spread.is_normalised() && !arguments.again {
        return Err(bad(
            1,
            &"it is normalised already (a .log, or a .raw that was written so); with --again it is converted once more",
        ));
    }
    let outcome = without_skew(&mut conversion, arguments).map_err(failed)?;
    let selection = Selection { dummies: arguments.dummies, every: arguments.every };
    let mut unwritten = None;
    let lines = output::write_keeping(&log, arguments.force, |out| {
        conversion.write(out, selection).map_err(|error| match error {
            Unconverted::Write(error) => error,
            other => {
                unwritten = Some(other);
                io::ErrorKind::InvalidData.into()
            }
        })
    });
    let lines = lines.map_err(|failure| unwritten.map_or(failure, failed))?;
    if !arguments.quiet {
        let examined = conversion.examined();
        let mut notes = examined.notes.from_units(reading.unit_ns);
        if method(arguments.skew) == Method::LeastAbsoluteJumps {
            // The outcome says what became of them.
            notes.take_steps();
        }
        let mut words: Vec<String> = notes.warnings().iter().chain(&doubt).map(Text::text).collect();
        words.extend(outcome.notes.iter().map(Text::text));
        for note in words {
            output::eprint_line(&format!("note: {shown}: {note}"));
        }
        // What is nothing in so many digits has no sign.
        let skew = outcome.skew_ppm.map(|ppm| if ppm.abs() < 0.5e-3 { 0.0 } else { ppm });
        let skew = skew
            .map_or_else(String::new, |ppm| format!(", skew {ppm:+.3} ppm removed (no confidence interval)"));
        output::print(&format!(
            "{}: {}, {} lost{skew}; {}\n",
            escape::terminal(&log),
            counted(examined.packets, "packet"),
            conversion.lost_count(),
            counted(lines, "line")
        ));
    }
    Ok(Exit::Success)
}

/// A file that can be read as often as one likes: what is none, as a pipe, is copied into one beside `log` first, which has no
/// name and is gone with the program.
fn again_and_again(mut file: File, log: &str) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let name = format!("{log}.{}.unfinished", std::process::id());
    let mut copy = File::options().read(true).write(true).create_new(true).open(&name)?;
    fs::remove_file(&name)?;
    io::copy(&mut file, &mut copy)?;
    Ok(copy)
}

/// Reads `file` from its beginning, whenever it is asked to.
fn from_the_beginning<'a>(mut file: &'a File) -> impl FnMut() -> io::Result<BufReader<&'a File>> {
    move || {
        file.rewind()?;
        Ok(BufReader::with_capacity(1 << 18, file))
    }
}

/// What is wrong with the name of a file that is there and is none of packets as they were stamped.
fn another_file(name: &str) -> Option<Failure> {
    let why = match Path::new(name).extension()?.to_str()? {
        "sta" => {
            "this is a .sta file, which has the counts of a run and not its packets; name the .raw file in the same folder"
        }
        "log" => {
            "this is a .log file, which is normalised already; name the .raw file beside it, or, to convert it once more, copy it \
             to a .raw and give --again"
        }
        _ => return None,
    };
    let there = Path::new(name).is_file();
    there.then(|| {
        Failure::with_exit(Exit::BadData, format!("no .raw file ({}): {why}", escape::terminal(name)))
    })
}

/// Plans what is taken out. A clock that was set makes a slope of its step, which is no skew: it is left in then, except with
/// least absolute jumps, which know of steps.
fn without_skew<R: BufRead>(
    conversion: &mut Conversion<impl FnMut() -> io::Result<R>>,
    arguments: &QtcpArgs,
) -> Result<SkewOutcome, Unconverted> {
    let calibration = arguments.calibration.unwrap_or(0);
    let method = method(arguments.skew);
    let notes = conversion.examined().notes;
    let stepped = notes.sent_back.is_some() || notes.received_back.is_some();
    match conversion.plan(method, calibration, arguments.any_skew) {
        Err(Unconverted::Refused(SkewRefusal::Implausible(ppm, _)))
            if stepped && method != Method::LeastAbsoluteJumps =>
        {
            let mut outcome = conversion.plan(Method::None, 0, false)?;
            outcome.notes.push(QtcpNote::StepNotSkew { ppm });
            Ok(outcome)
        }
        other => other,
    }
}

fn collate(folder: &Path, arguments: &QtcpArgs) -> Result<Exit, Failure> {
    if [&arguments.csv, &arguments.summary_csv].iter().all(|target| target.as_deref() == Some("-")) {
        return Err(Failure::usage(
            "two tables for one output (--csv -, --summary-csv -): standard output takes one; name a file for the other",
        ));
    }
    for target in [&arguments.csv, &arguments.summary_csv] {
        output::check_target(target.as_deref(), arguments.force)?;
    }
    let shown = escape::terminal(&folder.to_string_lossy());
    let cannot = |name: &str, error: &dyn std::fmt::Display| {
        Failure::environment(format!(
            "cannot read ({}): {error}; name a folder that can be read",
            escape::terminal(name)
        ))
    };
    let entries = fs::read_dir(folder).map_err(|error| cannot(&folder.to_string_lossy(), &error))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| cannot(&folder.to_string_lossy(), &error))?.path();
        if path.extension().is_some_and(|extension| extension == "sta") {
            paths.push(path);
        }
    }
    paths.sort();
    let wrong = |why: String| Failure::with_exit(Exit::BadData, format!("cannot collate ({shown}): {why}"));
    if paths.is_empty() {
        return Err(wrong("0 .sta files found in it; name the folder that holds them".into()));
    }
    if paths.len() > MOST_FILES {
        return Err(wrong(format!("it has more than {MOST_FILES} .sta files; collate them in parts")));
    }
    let mut files = Vec::with_capacity(paths.len());
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let place = escape::terminal(&path.to_string_lossy());
        let bad = |line: u64, why: &str| {
            Failure::with_exit(Exit::BadData, format!("bad .sta file ({place}:{line}): {why}"))
        };
        let octets = untrusted::read(path, LARGEST_STA).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => {
                bad(1, "it is larger than 64 MiB, which no .sta file is; take it out")
            }
            io::ErrorKind::InvalidInput => bad(1, &format!("{error}; take it out")),
            _ => cannot(&path.to_string_lossy(), &error),
        })?;
        let text = String::from_utf8(octets).map_err(|_| bad(1, "it is not text; take it out"))?;
        files.push(sta::File::read(&name, &text).map_err(|(line, why)| bad(line, &why))?);
    }
    let table = VariableTable::from_files(&files).map_err(|why| wrong(escape::terminal(&why)))?;
    let keys = if arguments.by.is_empty() { runs::settings(&table) } else { arguments.by.clone() };
    let summary = runs::summarise(&table, &keys).map_err(|key| unknown_key(&key, &table))?;
    let targets = [(&arguments.csv, &table), (&arguments.summary_csv, &summary)];
    if !arguments.quiet && targets.iter().all(|(target, _)| target.as_deref() != Some("-")) {
        let heading = match keys.as_slice() {
            [] => "summary of all files".to_owned(),
            keys => format!("summary of files with equal {}", keys.join(", ")),
        };
        let text = format!("{}\n{heading}\n{}", table.text(), summary.text());
        let lines: Vec<String> = text.lines().map(escape::terminal).collect();
        output::print(&(lines.join("\n") + "\n"));
    }
    for (target, table) in targets {
        if let Some(target) = target {
            output::write_document(target, &table.csv(), arguments.force)?;
        }
    }
    Ok(Exit::Success)
}

/// A key by which no file can be grouped.
fn unknown_key(key: &str, table: &VariableTable) -> Failure {
    let known: Vec<&str> = table.columns.iter().skip(1).map(String::as_str).collect();
    let near = nearest(key, known.iter().copied()).or_else(|| known.first().copied()).unwrap_or_default();
    Failure::usage(format!(
        "unknown key (--by {}): no .sta file has it; use another one, e.g. --by {}",
        escape::terminal(&romer_units::excerpt(key, 64)),
        escape::terminal(&format!("{near:?}"))
    ))
}
