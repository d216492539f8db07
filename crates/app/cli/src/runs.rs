//! `romer runs`: the list of runs, with their results, and their deletion.

use std::ffi::OsString;
use std::path::Path;
use std::time::SystemTime;

use romer_loop::folder::DOCUMENT;
use romer_record::Exit;
use romer_record::document::ProbeDirection;
use romer_record::run_list::{RUN_LIST, RunFigures, RunKind, RunList, RunListEntry};
use romer_report::{escape, maybe_time, percent};
use romer_server::{delete_run, list_runs};
use romer_store::{Candidate, Retention, Runs, untrusted};
use romer_units::counted;

use crate::args::{
    Command, DocumentArgs, FolderArgs, Invocation, PruneArgs, RemoveArgs, RunsArgs, RunsCommand, ShowArgs,
};
use crate::failure::Failure;
use crate::output::{self, Color};
use crate::{args, report};

/// Octets of a document that is read.
const MAX_DOCUMENT_OCTETS: u64 = 64 << 20;

/// Does what a subcommand of `romer runs` does, and gives the exit code.
pub(crate) fn run(arguments: &RunsArgs) -> Result<Exit, Failure> {
    match &arguments.command {
        RunsCommand::List(arguments) => {
            arguments.output.check()?;
            let runs = runs(&arguments.folder)?;
            let all = listed(&runs)?;
            let text = if all.is_empty() { "no run\n".into() } else { table(&all) };
            write(&runs, all, &text, &arguments.output)
        }
        RunsCommand::Show(arguments) => show(arguments),
        RunsCommand::Latest(folder) => latest(&runs(folder)?),
        RunsCommand::Prune(arguments) => prune(arguments),
        RunsCommand::Rm(arguments) => remove(arguments),
    }
}

fn runs(folder: &FolderArgs) -> Result<Runs, Failure> {
    match &folder.runs {
        Some(folder) => Ok(Runs::at(folder.clone())),
        None => Runs::of_user().map_err(|error| Failure::with_exit(error.exit(), error)),
    }
}

fn listed(runs: &Runs) -> Result<Vec<RunListEntry>, Failure> {
    list_runs(runs).map_err(Failure::environment)
}

/// Writes the list, and prints its `text` unless the list goes to standard output.
fn write(runs: &Runs, listed: Vec<RunListEntry>, text: &str, output: &DocumentArgs) -> Result<Exit, Failure> {
    let folder = runs.root().display().to_string();
    let document = RunList { schema: RUN_LIST.into(), folder, runs: listed };
    output.write(text, &document)?;
    Ok(Exit::Success)
}

fn unknown(name: &str, runs: &Runs) -> Failure {
    Failure::usage(format!(
        "no such run ({}): the folder {} does not have it; see `romer runs list`",
        escape::terminal(name),
        escape::path(runs.root())
    ))
}

fn show(arguments: &ShowArgs) -> Result<Exit, Failure> {
    let runs = runs(&arguments.folder)?;
    let all = listed(&runs)?;
    let Some(entry) = all.iter().find(|entry| entry.name == arguments.name) else {
        return Err(unknown(&arguments.name, &runs));
    };
    let folder = runs.root().join(&entry.name);
    if entry.kind == RunKind::Loop {
        return show_loop(entry, &folder, arguments);
    }
    let mut words: Vec<OsString> = vec!["romer".into(), "report".into(), folder.into()];
    if let Some(file) = &arguments.json {
        words.push("--json".into());
        words.push(file.into());
    }
    if arguments.force {
        words.push("--force".into());
    }
    match args::read(words)? {
        Invocation::Run(arguments) => match arguments.command {
            Command::Report(arguments) => report::run(&arguments),
            _ => Err(Failure::own("a run is shown by another command")),
        },
        Invocation::Show(_) => Err(Failure::own("a run is shown as a help text")),
    }
}

/// A loop has no report as text: the list shows its state, and its document is that of the folder.
fn show_loop(entry: &RunListEntry, folder: &Path, arguments: &ShowArgs) -> Result<Exit, Failure> {
    if arguments.json.as_deref() != Some("-") {
        output::print(&table(std::slice::from_ref(entry)));
        output::print(&format!("Saved to {}\n", escape::path(folder)));
    }
    if let Some(target) = &arguments.json {
        let file = folder.join(DOCUMENT);
        let text = untrusted::read_text(&file, MAX_DOCUMENT_OCTETS).map_err(|error| {
            Failure::environment(format!(
                "the document of the loop cannot be read ({}): {error}; a loop has one when it has ended",
                escape::path(&file)
            ))
        })?;
        output::write_document(target, &text, arguments.force)?;
    }
    Ok(Exit::Success)
}

fn latest(runs: &Runs) -> Result<Exit, Failure> {
    let all = listed(runs)?;
    let Some(latest) = all.iter().find(|entry| entry.error.is_none()) else {
        return Err(Failure::environment(format!(
            "there is no run ({}): nothing has been measured yet; start with `romer measure HOST`",
            escape::path(runs.root())
        )));
    };
    output::print(&format!("{}\n", runs.root().join(&latest.name).display()));
    Ok(Exit::Success)
}

fn remove(arguments: &RemoveArgs) -> Result<Exit, Failure> {
    let runs = runs(&arguments.folder)?;
    let all = listed(&runs)?;
    // All or none: a mistyped name must not leave the deletion half done.
    if let Some(name) = arguments.names.iter().find(|name| !all.iter().any(|entry| entry.name == **name)) {
        return Err(unknown(name, &runs));
    }
    for name in &arguments.names {
        delete(&runs, name)?;
    }
    Ok(Exit::Success)
}

fn delete(runs: &Runs, name: &str) -> Result<(), Failure> {
    delete_run(runs, name).map_err(|why| {
        Failure::environment(format!("the run was not deleted ({}): {why}", escape::terminal(name)))
    })
}

fn prune(arguments: &PruneArgs) -> Result<Exit, Failure> {
    arguments.output.check()?;
    let runs = runs(&arguments.folder)?;
    let mut excess = retention(arguments).excess(listed(&runs)?, candidate, SystemTime::now());
    let mut failure = None;
    if !arguments.dry_run {
        excess.retain(|entry| match delete(&runs, &entry.name) {
            Ok(()) => true,
            Err(error) => {
                failure.get_or_insert(error);
                false
            }
        });
    }
    let octets = excess.iter().map(freed).fold(0, u64::saturating_add);
    let what = if arguments.dry_run { "would be deleted" } else { "deleted" };
    let names: String = excess.iter().map(|entry| format!("{}\n", escape::terminal(&entry.name))).collect();
    let text = format!("{names}{}, {} {what}\n", counted(excess.len() as u64, "run"), size(octets));
    write(&runs, excess, &text, &arguments.output)?;
    failure.map_or(Ok(Exit::Success), Err)
}

/// What the arguments keep.
fn retention(arguments: &PruneArgs) -> Retention {
    Retention {
        age: arguments.keep.map(|keep| keep.to_std()),
        number: arguments.keep_number,
        octets: arguments.keep_size,
    }
}

/// A run as the limits apply to it. One that is being written, or cannot be read, counts but is not deleted.
fn candidate(entry: &RunListEntry) -> Candidate {
    Candidate {
        began: humantime::parse_rfc3339(&entry.created).ok(),
        octets: freed(entry),
        is_removable: entry.state != "running" && entry.error.is_none(),
    }
}

/// What the deletion of a run frees.
fn freed(entry: &RunListEntry) -> u64 {
    if entry.link_target.is_some() { 0 } else { entry.size_octets }
}

/// `34 kB`, `1.2 MB`.
fn size(octets: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let octets_or_more = octets as f64;
    match octets {
        0..1_000 => format!("{octets} B"),
        1_000..1_000_000 => format!("{:.0} kB", octets_or_more / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", octets_or_more / 1e6),
        _ => format!("{:.1} GB", octets_or_more / 1e9),
    }
}

const HEADINGS: [&str; 8] = ["RUN", "DIRECTION", "MEDIAN", "P99", "LOSS", "MOS", "LIMITS", "SIZE"];

/// The runs as a table: a line for each direction that was measured.
fn table(runs: &[RunListEntry]) -> String {
    let unicode = output::style(Color::Never).unicode;
    let mut lines = vec![HEADINGS.map(str::to_owned)];
    for run in runs {
        let shown: Vec<&RunFigures> = shown_figures(run);
        let name = escape::terminal(&run.name);
        let state = state(run);
        let limits = limits(run);
        let size = size(run.size_octets);
        if shown.is_empty() {
            lines.push([name, state, "".into(), "".into(), "".into(), "".into(), limits, size]);
            continue;
        }
        for (place, figures) in shown.into_iter().enumerate() {
            let first = |text: &str| if place == 0 { text.to_owned() } else { String::new() };
            let direction = direction(figures.direction);
            let note = if place == 0 && run.state != "complete" {
                format!("{direction}, {state}")
            } else {
                direction.into()
            };
            lines.push([
                first(&name),
                note,
                maybe_time(figures.delay_median_ns, unicode),
                maybe_time(figures.delay_p99_ns, unicode),
                figures.loss_ratio.map_or_else(|| "?".into(), percent),
                figures.mos.map_or_else(String::new, |mos| format!("{mos:.2}")),
                first(&limits),
                first(&size),
            ]);
        }
    }
    aligned(&lines)
}

/// The figures that the table shows: of a round trip only itself, which contains both directions.
fn shown_figures(run: &RunListEntry) -> Vec<&RunFigures> {
    let round_trip = run.figures.iter().find(|one| one.direction == ProbeDirection::RoundTrip);
    round_trip.map_or_else(|| run.figures.iter().collect(), |one| vec![one])
}

const fn direction(direction: ProbeDirection) -> &'static str {
    match direction {
        ProbeDirection::RoundTrip => "round trip",
        ProbeDirection::Forward => "forward",
        ProbeDirection::Reverse => "reverse",
        ProbeDirection::Both => "both",
    }
}

/// The kind of a run without figures, or its state if that is worth a word.
fn state(run: &RunListEntry) -> String {
    let kind = match run.kind {
        RunKind::Measurement => "measurement",
        RunKind::Benchmark => "benchmark",
        RunKind::Emulation => "emulation",
        RunKind::Loop => "loop",
    };
    match run.state.as_str() {
        "complete" => kind.into(),
        state if !run.figures.is_empty() => state.into(),
        state => format!("{kind}, {state}"),
    }
}

/// How many of the limits passed.
fn limits(run: &RunListEntry) -> String {
    if run.limits == 0 {
        return String::new();
    }
    let failed = run.failed_limits.len() as u64;
    format!("{}/{} passed", run.limits.saturating_sub(failed), run.limits)
}

/// Lines with their columns below each other. Numbers of a column end below each other.
pub(crate) fn aligned<const COLUMNS: usize>(lines: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut shown = String::new();
        for (column, (cell, width)) in line.iter().zip(widths.iter().copied()).enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            let cell = match column {
                0 | 1 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            };
            shown.push_str(gap);
            shown.push_str(&cell);
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text.replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn entry(day: u32, size_octets: u64, state: &str) -> RunListEntry {
        RunListEntry {
            name: format!("202611{day:02}T000000Z-h"),
            created: format!("2026-11-{day:02}T00:00:00Z"),
            state: state.into(),
            size_octets,
            targets: vec!["h".into()],
            direction: Some(ProbeDirection::RoundTrip),
            ..RunListEntry::default()
        }
    }

    fn deleted(kept: Retention) -> Vec<String> {
        let damaged = RunListEntry { error: Some("damaged".into()), ..entry(2, 10, "damaged") };
        let linked =
            RunListEntry { link_target: Some("/elsewhere".into()), ..entry(15, 1 << 40, "complete") };
        let all = vec![
            entry(20, 10, "complete"),
            linked,
            entry(10, 10, "partial"),
            entry(5, 10, "running"),
            entry(3, 10, "complete"),
            damaged,
        ];
        let now = humantime::parse_rfc3339("2026-11-30T00:00:00Z").unwrap();
        kept.excess(all, candidate, now).into_iter().map(|entry| entry.name[6..8].to_owned()).collect()
    }

    /// Runs are deleted by age, number or size, from the oldest on; a running or a damaged one is not, and a linked one has no size.
    #[test]
    fn excess_runs_are_deleted() {
        let none = Retention::default();
        let days = |days: u64| Some(Duration::from_secs(days * 86_400));
        assert_eq!(deleted(Retention { age: days(18), ..none }), ["10", "03"]);
        assert_eq!(deleted(Retention { number: Some(1), ..none }), ["15", "10", "03"]);
        assert_eq!(deleted(Retention { number: Some(6), ..none }), [""; 0]);
        assert_eq!(deleted(Retention { octets: Some(20), ..none }), ["03"]);
        assert_eq!(deleted(Retention { octets: Some(0), age: days(18), ..none }), ["20", "15", "10", "03"]);
    }

    /// A line for each direction; of a round trip only itself.
    #[test]
    fn results_stand_in_the_table() {
        let figures = |direction, ms: f64| RunFigures {
            direction,
            delay_median_ns: Some(ms * 1e6),
            delay_p99_ns: Some(2.0 * ms * 1e6),
            delay_kind: None,
            loss_ratio: Some(0.0125),
            mos: Some(4.2),
        };
        let one_way = RunListEntry {
            figures: vec![figures(ProbeDirection::Forward, 10.0), figures(ProbeDirection::Reverse, 12.0)],
            limits: 3,
            failed_limits: vec!["x".into()],
            ..entry(2, 34_000, "partial")
        };
        let round_trip = RunListEntry {
            figures: vec![figures(ProbeDirection::Forward, 1.0), figures(ProbeDirection::RoundTrip, 2.0)],
            ..entry(1, 1_234_567, "complete")
        };
        let text = table(&[one_way, round_trip, entry(3, 0, "killed")]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines.len(), 5, "{text}");
        let line = |place: usize| lines[place].join(" ");
        assert!(line(1).starts_with("20261102T000000Z-h forward, partial 10"), "{text}");
        assert!(line(1).ends_with("1.25 % 4.20 2/3 passed 34 kB"), "{text}");
        assert!(line(2).starts_with("reverse 12") && line(2).ends_with("4.20"), "{text}");
        assert!(
            line(3).starts_with("20261101T000000Z-h round trip 2") && line(3).ends_with("1.2 MB"),
            "{text}"
        );
        assert_eq!(line(4), "20261103T000000Z-h measurement, killed 0 B", "{text}");
    }
}
