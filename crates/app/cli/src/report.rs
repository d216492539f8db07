//! `romer report`, and how a summary is shown.

use std::path::{Path, PathBuf};
use std::sync::Once;

use romer_analyze::{export, qtcp};
use romer_exchange::csv::WrittenCounts;
use romer_exchange::qtcp::{Entry, Selection, TOO_SMALL, normalise};
use romer_record::Exit;
use romer_record::RoundTrip;
use romer_record::document::{ClockState, Limit, Measurement, ProbeDirection};
use romer_record::manifest::ClockRelation;
use romer_record::warning::QtcpNote;
use romer_report::comparison::Subject;
use romer_report::warning::Text as _;
use romer_report::{html, svg, text};
use romer_units::counted;

use crate::args::{ExportDirection, ReportArgs};
use crate::bench::stored_report;
use crate::command;
use crate::emulate::stored_report as emulated;
use crate::failure::Failure;
use crate::output::{self, Color};
use crate::report_input::ReportInput;

/// The summary of `measurements` for this terminal; with `verbose` also the test setup, and every metric after it.
pub(crate) fn summary(
    measurements: &[Measurement],
    color: Color,
    kept: Option<&Path>,
    verbose: bool,
) -> String {
    let style = output::style(color);
    let page = kept.and_then(page_of).map_or_else(String::new, |page| text::place("Report", &page, &style));
    let metrics = if verbose { text::metrics(measurements, &style) } else { String::new() };
    text::summary(measurements, kept, &style, verbose) + &page + &metrics
}

/// The page's name in a run's folder.
const PAGE: &str = "report.html";

/// The page in a run's folder, if it is there.
pub(crate) fn page_of(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(PAGE)).filter(|page| romer_store::untrusted::is_file(page))
}

/// What is said of a run whose program was killed.
pub(crate) const RECOVERED: &str =
    "note: the program of this run was killed; it has been completed from its log";

/// What is said of a limit without a value.
pub(crate) const UNKNOWN: &str = "the value is unknown";

/// Whether every stated limit held, as an exit code.
pub(crate) fn check_limits(measurements: &[Measurement]) -> Result<Exit, Failure> {
    let unknown = measurements.iter().find_map(|one| {
        let first = one.limits.iter().find(|limit| !limit.passed)?;
        let limit: romer_analyze::limits::Limit = first.limit.parse().ok()?;
        limit.why_unknown(one).filter(|_| first.value.is_none())
    });
    let unknown = unknown.map_or_else(|| UNKNOWN.to_owned(), |why| format!("{UNKNOWN}: {why}"));
    let shown = |limit: &Limit| Some(format!("the measured value is {}", romer_report::limit_value(limit)?));
    hold(measurements.iter().flat_map(|one| &one.limits), shown, &unknown)
}

/// The same of verdicts alone. `shown` is the value of a limit in words; `unknown` is said of one that is not known.
pub(crate) fn hold<'a>(
    limits: impl IntoIterator<Item = &'a Limit>,
    shown: impl Fn(&Limit) -> Option<String>,
    unknown: &str,
) -> Result<Exit, Failure> {
    let limits: Vec<&Limit> = limits.into_iter().collect();
    let Some(first) = limits.iter().find(|limit| !limit.passed) else { return Ok(Exit::Success) };
    let failed = limits.iter().filter(|limit| !limit.passed).count();
    let found = shown(first).unwrap_or_else(|| unknown.into());
    Err(Failure::with_exit(
        Exit::LimitFailed,
        format!(
            "limit failed (--limit '{}'): {found}; {failed} of {} limits failed",
            first.limit,
            limits.len()
        ),
    ))
}

/// Reads runs again, and gives the exit code.
pub(crate) fn run(arguments: &ReportArgs) -> Result<Exit, Failure> {
    if arguments.pcapng.is_some() {
        return Err(Failure::usage(
            "a run has no frames to be written (--pcapng): it holds the fate of its packets; capture at both ends while it \
             is measured (tcpdump -w), and read the captures with `romer analyze --capture-a FILE --capture-b FILE`",
        ));
    }
    romer_host::allocator::keep_freed_memory();
    output::read_from(arguments.runs.iter().map(PathBuf::as_path));
    if arguments.overlay {
        return overlay(arguments);
    }
    let to_file = [&arguments.html, &arguments.csv, &arguments.output.json].iter().any(|one| one.is_some());
    if arguments.runs.len() > 1 && (to_file || arguments.svg.is_some() || arguments.qtcp.is_some()) {
        return Err(Failure::usage(
            "several runs cannot go to one file (--html, --csv, --json, --svg, --qtcp): each would overwrite the one before; \
             name one run, or call once for each",
        ));
    }
    let targets = [&arguments.html, &arguments.csv, &arguments.output.json];
    for (place, target) in targets.iter().enumerate() {
        if let Some(name) = target
            && targets.iter().skip(place + 1).any(|other| other.as_ref() == Some(name))
        {
            return Err(Failure::usage(format!(
                "options cannot be combined (--html, --csv, --json): both write to {name}; name another file \
                 for one of them"
            )));
        }
        // Each stream of a run has a file of its own in a folder.
        let is_folder =
            |file: &&str| *target == &arguments.csv && file.ends_with('/') && Path::new(file).is_dir();
        output::check_target(target.as_deref().filter(|file| !is_folder(file)), arguments.output.force)?;
    }
    for folder in &arguments.runs {
        if emulated::is_emulation(folder) {
            emulated::report(folder, arguments)?;
            continue;
        }
        if stored_report::is_benchmark(folder) {
            stored_report::report(folder, arguments)?;
            continue;
        }
        let reported = ReportInput::read(folder, arguments.unit)?;
        show(&reported, arguments);
        write(&reported, arguments)?;
    }
    Ok(Exit::Success)
}

/// The argument that is about single packets, if one was given.
pub(crate) fn of_packets(arguments: &ReportArgs) -> Option<&'static str> {
    [
        ("--qtcp", arguments.qtcp.is_some()),
        ("--fates", arguments.fates),
        ("--stream-number", arguments.stream_number.is_some()),
        ("--direction", arguments.direction.is_some()),
        ("--unit", arguments.unit.is_some()),
        ("--verbose", arguments.verbose),
    ]
    .into_iter()
    .find_map(|(flag, given)| given.then_some(flag))
}

/// Puts several runs on one page.
fn overlay(arguments: &ReportArgs) -> Result<Exit, Failure> {
    let others = [&arguments.csv, &arguments.qtcp, &arguments.output.json];
    if others.iter().any(|one| one.is_some()) || arguments.svg.is_some() {
        return Err(Failure::usage(
            "options cannot be combined (--overlay, --csv, --json, --svg, --qtcp): only --html has several \
             runs; write the others without --overlay, once for each run",
        ));
    }
    let most = html::MAX_OVERLAID_RUNS;
    if arguments.runs.len() < 2 {
        return Err(Failure::usage(format!(
            "too few runs (--overlay): it needs 2 to {most} runs; add one, or omit --overlay"
        )));
    }
    if arguments.runs.len() > most {
        return Err(Failure::usage(format!(
            "too many runs (--overlay): {} runs, at most {most} have distinguishable colours; name 2 to {most} runs",
            arguments.runs.len()
        )));
    }
    let Some(file) = &arguments.html else { return Err(Failure::own("an overlay has no file")) };
    output::check_target(Some(file), arguments.output.force)?;
    let mut readings = Vec::new();
    for folder in &arguments.runs {
        readings.push((folder.to_string_lossy().into_owned(), ReportInput::read(folder, arguments.unit)?));
    }
    let number = usize::from(arguments.stream_number.unwrap_or(0));
    let mut subjects = Vec::new();
    for (name, reading) in &readings {
        let Some(stream) = reading.streams.get(number) else {
            return Err(Failure::no_stream(number, name, reading.streams.len()));
        };
        if reading.streams.len() > 1 && arguments.stream_number.is_none() && !arguments.output.quiet {
            output::eprint_line(&format!(
                "note: {} has {} streams, and the first is shown; choose with --stream-number",
                romer_report::escape::terminal(name),
                reading.streams.len()
            ));
        }
        subjects.push(Subject { name, stream: stream.for_report() });
    }
    let page = html::overlay(&subjects, &command::as_given()).map_err(Failure::own)?;
    output::write_document(file, &page, arguments.output.force)?;
    Ok(Exit::Success)
}

fn show(reported: &ReportInput, arguments: &ReportArgs) {
    if arguments.output.quiet {
        return;
    }
    if reported.recovered {
        output::eprint_line(RECOVERED);
    }
    let to_stdout = [&arguments.html, &arguments.csv, &arguments.output.json]
        .iter()
        .any(|one| one.as_deref() == Some("-"));
    if !to_stdout {
        let (color, verbose) = (arguments.output.color, arguments.verbose);
        output::print_summary(&summary(&reported.measurements(), color, reported.folder(), verbose));
    }
}

fn write(reported: &ReportInput, arguments: &ReportArgs) -> Result<(), Failure> {
    if let Some(file) = &arguments.html {
        reported.write_page(file, arguments.output.force)?;
    }
    reported.write_document(&arguments.output)?;
    if let Some(folder) = &arguments.svg {
        write_charts(reported, folder, arguments)?;
    }
    if let Some(prefix) = &arguments.qtcp {
        write_qtcp(reported, prefix, arguments)?;
    }
    match &arguments.csv {
        Some(file) => write_rows(reported, file, arguments),
        None => Ok(()),
    }
}

/// Writes the files of Qtcp, of each stream that is asked for.
fn write_qtcp(reported: &ReportInput, prefix: &str, arguments: &ReportArgs) -> Result<(), Failure> {
    let count = reported.streams.len();
    let numbers = chosen(arguments.stream_number, count)?;
    let prefix_of =
        |number: u16| if numbers.len() == 1 { prefix.to_owned() } else { format!("{prefix}-{number}") };
    let files = |number: u16| ["raw", "sta", "log"].map(|ending| format!("{}.{ending}", prefix_of(number)));
    for file in numbers.iter().flat_map(|number| files(*number)) {
        output::check_target(Some(&file), arguments.output.force)?;
    }
    let rows = reported.rows()?;
    for number in &numbers {
        let place = usize::from(*number);
        let (Some(evaluated), Some(stream)) = (reported.streams.get(place), reported.described().get(place))
        else {
            return Err(Failure::own("a stream has no document"));
        };
        let rows = rows.get(number).map_or(&[][..], Vec::as_slice);
        let went = stream.traffic.direction;
        let way = match (went, arguments.direction) {
            (ProbeDirection::RoundTrip | ProbeDirection::Both, Some(ExportDirection::Reverse)) => {
                ProbeDirection::Reverse
            }
            (ProbeDirection::RoundTrip, _) => ProbeDirection::Forward,
            _ => direction(went, arguments)?,
        };
        let (mut raw, missing) = qtcp::entries(evaluated, rows, way, arguments.user_stamps);
        from_zero(&mut raw);
        let [raw_file, sta_file, log_file] = files(*number);
        let mut log = raw.clone();
        // Of one clock there is no skew to take out.
        let one_clock = stream.clock_relation == ClockRelation::Shared;
        let k = arguments.skew.unwrap_or(if one_clock { 0 } else { 2 });
        // By -k 0 nothing is fitted.
        let own = stream.skew.calibration.filter(|_| k > 0);
        let calibration = arguments.calibration.or(own).unwrap_or(0);
        let outcome = qtcp::to_log(&mut log, qtcp::method(k), calibration, false).unwrap_or_else(|refusal| {
            qtcp::SkewOutcome {
                notes: vec![QtcpNote::SkewNotRemoved { error: refusal.to_string() }],
                ..qtcp::SkewOutcome::default()
            }
        });
        let nothing_to_tell = one_clock && k == 0 && calibration == 0;
        if !arguments.output.quiet && !nothing_to_tell {
            let words = skew_words(&log_file, k, &outcome, &evaluated.measurement.clock, way);
            output::eprint_line(&words);
        }
        let way_name = if way == ProbeDirection::Reverse { "reverse" } else { "forward" };
        // Names are given twice, moments are not.
        let run = format!("{}/{number}/{way_name}", reported.name());
        if let Some(note) = missing.note().filter(|_| !arguments.output.quiet) {
            let raw_file = romer_report::escape::terminal(&raw_file);
            output::eprint_line(&format!("note: {raw_file}: {}", note.text()));
        }
        let lost = missing.lost.clone();
        let statistics = qtcp::statistics(stream, run, &raw, missing, &outcome);
        if arguments.normalised {
            normalise(&mut raw);
        }
        let force = arguments.output.force;
        let all = Selection::default();
        output::write_with(&raw_file, force, |out| romer_exchange::qtcp::write(out, &raw, &[], all))?;
        output::write_document(&sta_file, &statistics.text(&log), force)?;
        let selection = Selection { dummies: arguments.dummies, every: arguments.every.unwrap_or(all.every) };
        output::write_with(&log_file, force, |out| romer_exchange::qtcp::write(out, &log, &lost, selection))?;
        if raw.iter().any(|entry| entry.size <= TOO_SMALL) && !arguments.output.quiet {
            output::eprint_line(&format!(
                "note: {}: Qtcp has no packets of {TOO_SMALL} octets or less; `romer qtcp -F` and `romer analyze` take them while the .sta \
                 is beside them, and with --any-size",
                romer_report::escape::terminal(&raw_file)
            ));
        }
    }
    Ok(())
}

/// Moves stamps that count from any origin so that none is below zero, which no file of Qtcp has.
fn from_zero(entries: &mut [Entry]) {
    let least = entries.iter().map(|entry| entry.sent.min(entry.received)).min().unwrap_or(0).min(0);
    for entry in entries {
        (entry.sent, entry.received) =
            (entry.sent.saturating_sub(least), entry.received.saturating_sub(least));
    }
}

/// What was taken out of a `.log`, and what the run itself has.
fn skew_words(
    log_file: &str,
    k: u8,
    outcome: &qtcp::SkewOutcome,
    clock: &ClockState,
    way: ProbeDirection,
) -> String {
    let ppm = |ppm: f64| format!("{ppm:+.3} ppm");
    let taken_out = match outcome.skew_ppm {
        Some(skew) => format!("a skew of {} was removed by -k {k}", ppm(skew)),
        None => format!("no skew was removed (-k {k})"),
    };
    let own = clock.skew_ppm.map(|skew| if way == ProbeDirection::Reverse { -skew } else { skew });
    let own = match own {
        Some(skew) => format!("the run itself has {} ({})", ppm(skew), clock.method),
        None => format!("the run itself has none ({})", clock.method),
    };
    let notes: String = outcome.notes.iter().map(|note| format!("; {}", note.text())).collect();
    format!(
        "note: {}: {taken_out}, and {own}{notes}; -k chooses another way, and `romer analyze RUN --log FILE` writes what the run has",
        romer_report::escape::terminal(log_file)
    )
}

/// The streams that are asked for.
fn chosen(asked: Option<u16>, count: usize) -> Result<Vec<u16>, Failure> {
    match asked {
        Some(number) if usize::from(number) < count => Ok(vec![number]),
        Some(number) => Err(Failure::no_stream(number, "the run", count)),
        None => Ok((0..).take(count).collect()),
    }
}

fn write_charts(reported: &ReportInput, folder: &Path, arguments: &ReportArgs) -> Result<(), Failure> {
    let shown = romer_report::escape::terminal(&folder.to_string_lossy());
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::environment(format!(
            "cannot make the folder ({shown}): {error}; name one that can be written"
        ))
    })?;
    for (stream, number) in reported.streams.iter().zip(0..) {
        for chart in svg::charts(&stream.for_report()).map_err(Failure::own)? {
            let name = format!("{number}-{}.svg", chart.name);
            output::write_document(&folder.join(name).to_string_lossy(), &chart.svg, arguments.output.force)?;
        }
    }
    Ok(())
}

/// Writes the packets of the streams that are asked for, each to a file of its own, and says what is in them.
fn write_rows(reported: &ReportInput, file: &str, arguments: &ReportArgs) -> Result<(), Failure> {
    let count = reported.streams.len();
    let numbers = chosen(arguments.stream_number, count)?;
    if file == "-" && numbers.len() > 1 {
        return Err(Failure::usage(format!(
            "several streams cannot go to standard output (--csv -): the run has {count}; choose one with --stream-number, or \
             name a file or a folder"
        )));
    }
    let mut tables = Vec::new();
    for (number, target) in numbers.iter().zip(targets(file, &numbers, count)?) {
        let Some(stream) = reported.described().get(usize::from(*number)) else {
            return Err(Failure::own("a stream has no document"));
        };
        if stream.traffic.direction != ProbeDirection::Both || arguments.direction.is_some() {
            tables.push((*number, direction(stream.traffic.direction, arguments)?, target));
        } else if file == "-" {
            return Err(Failure::usage(
                "two tables cannot go to standard output (--csv -): both ends sent; choose one with --direction, or name a \
                 file or a folder",
            ));
        } else {
            let back = with_suffix(Path::new(&target), "reverse");
            tables.extend([
                (*number, ProbeDirection::Forward, target),
                (*number, ProbeDirection::Reverse, back),
            ]);
        }
    }
    for (_, _, target) in &tables {
        output::check_target(Some(target), arguments.output.force)?;
    }
    let rows = reported.rows()?;
    for (number, way, target) in &tables {
        let rows = rows.get(number).map_or(&[][..], Vec::as_slice);
        write_stream(reported, *number, rows, *way, target, arguments)?;
    }
    Ok(())
}

/// The name of a file with `addition` before its extension.
fn with_suffix(path: &Path, addition: &str) -> String {
    let (stem, extension) = match (path.file_stem(), path.extension()) {
        (Some(stem), Some(extension)) => (stem, format!(".{}", extension.to_string_lossy())),
        _ => (path.file_name().unwrap_or_default(), String::new()),
    };
    let name = format!("{}-{addition}{extension}", stem.to_string_lossy());
    path.with_file_name(name).to_string_lossy().into_owned()
}

/// The file of each stream.
fn targets(file: &str, numbers: &[u16], count: usize) -> Result<Vec<String>, Failure> {
    let path = Path::new(file);
    if file.ends_with('/') || path.is_dir() {
        let shown = romer_report::escape::terminal(file);
        std::fs::create_dir_all(path).map_err(|error| {
            Failure::environment(format!(
                "cannot make the folder ({shown}): {error}; name one that can be written"
            ))
        })?;
        let name = |number: &u16| path.join(format!("stream-{number}.csv")).to_string_lossy().into_owned();
        return Ok(numbers.iter().map(name).collect());
    }
    if numbers.len() == 1 || count == 1 {
        return Ok(vec![file.to_owned()]);
    }
    Ok(numbers.iter().map(|number| with_suffix(path, &number.to_string())).collect())
}

fn write_stream(
    reported: &ReportInput,
    number: u16,
    rows: &[RoundTrip],
    way: ProbeDirection,
    target: &str,
    arguments: &ReportArgs,
) -> Result<(), Failure> {
    let place = usize::from(number);
    let (Some(evaluated), Some(stream)) = (reported.streams.get(place), reported.described().get(place))
    else {
        return Err(Failure::own("a stream has no document"));
    };
    let written = output::write_with(target, arguments.output.force, |out| {
        export::csv(out, stream, evaluated, rows, way, arguments.fates)
    })?;
    // Who reads it from standard output sees what there is, and is told what there is not.
    let is_whole = written.left_out == 0 && written.unread == 0;
    if !(arguments.output.quiet || target == "-" && is_whole) {
        let shown =
            if target == "-" { "standard output".into() } else { romer_report::escape::terminal(target) };
        let known = way != ProbeDirection::Forward || stream.responder_log_complete;
        output::eprint_line(&format!("note: {shown}: {}", contents(&written, known, arguments.fates)));
    }
    Ok(())
}

/// What a table holds, and by what it is recognised; `known` says that what did not arrive is known to be lost, and `fates` that
/// there is a column which says what became of each.
fn contents(written: &WrittenCounts, known: bool, fates: bool) -> String {
    let packets = written.lines - written.duplicates;
    let mut text = counted(packets, "packet");
    for (number, what) in [
        (
            written.lost,
            if known {
                "lost (an empty field)"
            } else {
                "of unknown fate (an empty field, which other programs count as lost)"
            },
        ),
        (written.late, "late (after the waiting time, counted as lost)"),
        (
            written.duplicates,
            if written.duplicates == 1 {
                "duplicate (same sequence number)"
            } else {
                "duplicates (same sequence number)"
            },
        ),
        (written.left_out, "omitted (in flight or unknown; --fates writes them)"),
        (
            written.unread,
            if fates {
                "instrument drops (arrived, dropped by the host; other programs count the empty field as lost)"
            } else {
                "instrument drops omitted (arrived, dropped by the host; without them the loss ratio of the table is too high; \
                 --fates writes them)"
            },
        ),
    ] {
        if number > 0 {
            text.push_str(&format!(", {number} {what}"));
        }
    }
    text
}

/// The way whose packets are written.
fn direction(went: ProbeDirection, arguments: &ReportArgs) -> Result<ProbeDirection, Failure> {
    let asked = arguments.direction.map(|asked| match asked {
        ExportDirection::Forward => ProbeDirection::Forward,
        ExportDirection::Reverse => ProbeDirection::Reverse,
    });
    match (went, asked) {
        (ProbeDirection::Both, None) => {
            static SAID: Once = Once::new();
            if !arguments.output.quiet {
                SAID.call_once(|| {
                    output::eprint_line(
                        "note: both directions have packets; forward is written, --direction reverse writes the other",
                    );
                });
            }
            Ok(ProbeDirection::Forward)
        }
        (ProbeDirection::Both, Some(asked)) => Ok(asked),
        (went, None) => Ok(went),
        (went, Some(asked)) if went == asked => Ok(went),
        _ => Err(Failure::usage(
            "no packets in this direction (--direction): the stream has the other one; omit --direction",
        )),
    }
}
