//! What nobody should type, and what files should not hold: the table `cli.tsv`, row by row.
//!
//! For every row the exit code, parts of the message, and the rule for all of them: a failure is one line on
//! standard error, `error: WHAT (WHERE): WHY; what to do`, without control characters and without a backtrace; the
//! program takes little memory; and nothing that was there before is changed or gone.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

#[path = "../common/mod.rs"]
mod common;
mod fixtures;
mod row;
mod scenarios;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{lab, process};
use fixtures::{Fixtures, snapshot};
use row::{BadInput, CommandLine, Output};

const TABLE: &str = include_str!("cli.tsv");
/// The longest line of a message.
const MAX_MESSAGE_CHARS: usize = 1_500;
/// Memory that the program may take for itself, in KiB: 64 MiB, the stacks of its threads included.
const MEMORY: &str = "65536";

/// How often a program that goes on is looked at, and between two looks: half a minute in all.
const TURNS: u32 = 15_000;
const TURN: Duration = Duration::from_millis(2);

/// Runs every row whose name begins with `group`, and tells of all that fail.
fn check(group: &str) {
    let rows: Vec<BadInput> =
        row::read(TABLE).into_iter().filter(|row| row.id.split('-').next() == Some(group)).collect();
    assert!(!rows.is_empty(), "no rows of {group}");
    let world = Fixtures::default();
    let faults: Vec<String> = rows.iter().flat_map(|row| faults(row, &world)).collect();
    assert!(faults.is_empty(), "{} of {} rows:\n{}", faults.len(), rows.len(), faults.join("\n"));
}

/// What a row's command left behind.
struct Leftovers {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// What is wrong with what `row` does.
fn faults(row: &BadInput, world: &Fixtures) -> Vec<String> {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("here");
    fs::create_dir(&folder).unwrap();
    let line = CommandLine::read(&row.command, |name| world.make(&folder, name));
    let before = snapshot(&folder);
    let seen = run(&line, home.path(), &folder);
    let mut faults = Vec::new();
    let mut fault = |what: String| faults.push(format!("{}: {what}\n    {}", row.id, row.command));
    if seen.code != Some(row.code) {
        fault(format!("exit code {:?} and not {}: {}", seen.code, row.code, seen.stderr.trim_end()));
    }
    if let Err(why) = well_formed(&seen, row.code) {
        fault(format!("{why}: {:?}", seen.stderr));
    }
    let said = if row.code == 0 { format!("{}{}", seen.stdout, seen.stderr) } else { seen.stderr };
    for part in row.says.iter().filter(|part| !said.contains(*part)) {
        fault(format!("does not say {part:?}: {said:?}"));
    }
    for part in row.never.iter().filter(|part| said.contains(*part)) {
        fault(format!("says {part:?}: {said:?}"));
    }
    // What was asked to be replaced was replaced, and a killed run is completed by reading it.
    if row.code != 0 || !(row.command.contains("--force") || row.command.contains("{killed")) {
        let after = snapshot(&folder);
        for (path, _) in before.iter().filter(|entry| !after.contains(entry)) {
            fault(format!("{} is gone or not what it was", path.strip_prefix(&folder).unwrap().display()));
        }
    }
    let left = snapshot(&folder).into_iter().map(|(path, _)| path);
    for path in left.filter(|path| path.to_string_lossy().contains(".unfinished")) {
        fault(format!("{} is left over", path.display()));
    }
    unseal(&folder);
    faults
}

/// Lets the folder be removed.
fn unseal(folder: &Path) {
    let sealed = folder.join("sealed");
    if sealed.exists() {
        fs::set_permissions(&sealed, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn run(line: &CommandLine, home: &Path, folder: &Path) -> Leftovers {
    let (stdout, stderr) = (home.join("stdout"), home.join("stderr"));
    let mut command = command(line);
    command.env_clear().current_dir(folder).stdin(Stdio::null()).stderr(File::create(&stderr).unwrap());
    for name in ["PATH", "XDG_RUNTIME_DIR", "TMPDIR"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    // Whoever wants a backtrace of a fault may ask for one; an error is none.
    command.env("HOME", home).env("RUST_BACKTRACE", "1").env("LANG", "C.UTF-8");
    for (name, value) in &line.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    match &line.output {
        Output::Kept => command.stdout(File::create(&stdout).unwrap()),
        Output::File(path) => command.stdout(File::options().write(true).open(path).unwrap()),
        Output::Gone => command.stdout(std::io::pipe().unwrap().1),
    };
    let code = end_of(command.spawn().unwrap());
    let text = |path: PathBuf| {
        let octets = fs::read(path).unwrap_or_default();
        String::from_utf8(octets).unwrap_or_else(|error| format!("not UTF-8 {error}"))
    };
    Leftovers { code, stdout: text(stdout), stderr: text(stderr) }
}

/// The exit code of `child`; `None` where it had to be killed, because it goes on as if nothing were wrong.
fn end_of(mut child: Child) -> Option<i32> {
    for _ in 0..TURNS {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(TURN);
    }
    child.kill().unwrap();
    child.wait().unwrap().code()
}

/// The command, with the memory that it may take limited by the kernel.
fn command(line: &CommandLine) -> Command {
    let mut words: Vec<&OsStr> = Vec::new();
    let without_rights = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
    if line.alone {
        words.extend(["unshare", "--user", "--map-root-user", "--net"].map(OsStr::new));
    }
    if line.alone || (line.bare && lab::is_root()) {
        words.extend(without_rights.map(OsStr::new));
    }
    // An ordinary user's limits, whatever this machine's are: no real time, and little memory that can be locked.
    let limit = format!("ulimit -d {MEMORY}; ulimit -r 0; ulimit -l 64; exec \"$0\" \"$@\"");
    let limit = OsString::from(limit);
    words.extend([OsStr::new("sh"), OsStr::new("-c"), &limit, OsStr::new(process::PROGRAM)]);
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(&line.arguments);
    command
}

/// Whether what was said has the form that all failures have, or, for `code` 0, is no failure.
fn well_formed(seen: &Leftovers, code: i32) -> Result<(), String> {
    for (name, text) in [("standard output", &seen.stdout), ("standard error", &seen.stderr)] {
        if let Some(c) = text.chars().find(|c| c.is_control() && *c != '\n') {
            return Err(format!("the control character {c:?} is on {name}"));
        }
    }
    let lines = || seen.stderr.lines().filter(|line| !line.starts_with("note: "));
    if code == 0 {
        return lines().next().map_or(Ok(()), |line| Err(format!("a line that is no note: {line:?}")));
    }
    let mut lines = lines();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return Err("not one line".into());
    };
    let form = || {
        let text = line.strip_prefix("error: ")?;
        let (what, rest) = text.split_once(" (")?;
        let (place, rest) = rest.split_once("): ")?;
        let (why, mend) = rest.split_once("; ")?;
        Some([what, place, why, mend].iter().all(|part| !part.trim().is_empty() && !part.starts_with("; ")))
    };
    if form() != Some(true) {
        return Err("not of the form `error: WHAT (WHERE): WHY; what to do`".into());
    }
    if line.chars().count() > MAX_MESSAGE_CHARS {
        return Err(format!("{} characters long", line.chars().count()));
    }
    match ["panicked", "backtrace", "unwrap", "Some(", "None", "fault of romer"]
        .iter()
        .find(|one| line.contains(**one))
    {
        Some(word) => Err(format!("{word:?} is no word for users")),
        None => Ok(()),
    }
}

#[test]
fn bad_arguments_of_any_command_are_told_in_one_line() {
    check("any");
}

#[test]
fn what_cannot_be_measured_is_told_before_anything_is_sent_and_nothing_is_overwritten() {
    check("measure");
}

#[test]
fn targets_that_are_none_are_told_with_the_reason() {
    check("target");
}

/// A responder that cannot start states the remedy.
#[test]
fn invalid_responders_state_the_remedy() {
    check("respond");
}

/// A folder that is no run, or a damaged one, is refused with the place.
#[test]
fn damaged_runs_state_the_place() {
    check("report");
}

/// An invalid packet log is refused with line and reason.
#[test]
fn invalid_logs_state_line_and_reason() {
    check("analyze");
}

#[test]
fn what_cannot_be_compared_is_told() {
    check("compare");
}

#[test]
fn relations_of_clocks_that_are_none_are_told() {
    check("skew");
}

#[test]
fn what_is_no_file_of_qtcp_is_told() {
    check("qtcp");
}

/// Flows and addresses for which nothing can be reserved are refused, and a missing right is named.
#[test]
fn impossible_reservations_are_refused() {
    check("rsvp");
}

/// A loop that starts from a run has the plan of the run.
#[test]
fn plans_beside_a_run_are_refused() {
    check("loop");
}

/// Without a limit nothing is deleted, and a mistyped name deletes nothing.
#[test]
fn runs_are_not_deleted_by_mistake() {
    check("runs");
}

#[test]
fn laboratories_that_cannot_be_are_told_with_the_mend() {
    check("lab");
}

#[test]
fn emulations_that_cannot_be_are_told_before_anything_is_changed() {
    check("emulate");
}

#[test]
fn scenarios_that_cannot_be_are_told_with_file_line_and_column() {
    check("scenario");
}

#[test]
fn traces_that_cannot_be_are_told_with_the_line() {
    check("trace");
}

#[test]
fn arrivals_that_are_none_are_told_with_the_line_or_the_packet() {
    check("arrivals");
}

#[test]
fn what_nobody_should_type_at_bench() {
    check("bench");
}

#[test]
fn a_page_that_cannot_be_served_is_told() {
    check("console");
}

/// Cross traffic that cannot be is refused before a packet is sent.
#[test]
fn cross_traffic_is_refused() {
    check("noise");
}

#[test]
fn bad_arguments_of_the_demonstration_and_of_the_doctor_are_told() {
    check("demo");
    check("doctor");
}

/// A file that is neither a packet log nor a table of rates names the headers of both.
#[test]
fn files_of_no_model_are_refused() {
    check("model");
}

/// The agent's file is named, and has to be there.
#[test]
fn bad_arguments_of_the_agent() {
    check("agent");
}

/// A plan of a fleet is named, can be read, and keeps its limits.
#[test]
fn bad_plans_of_fleets_are_refused() {
    check("fleet");
}

#[test]
fn bad_arguments_of_calibrate_are_told() {
    check("calibrate");
}

#[test]
fn every_row_belongs_to_a_test_and_has_a_name_of_its_own() {
    let mut names: Vec<String> = row::read(TABLE).into_iter().map(|row| row.id).collect();
    let groups = [
        "any",
        "measure",
        "target",
        "respond",
        "report",
        "analyze",
        "compare",
        "lab",
        "runs",
        "emulate",
        "demo",
        "doctor",
        "calibrate",
        "agent",
        "fleet",
        "qtcp",
        "rsvp",
        "loop",
        "model",
        "bench",
        "console",
        "noise",
        "skew",
        "scenario",
        "trace",
        "arrivals",
    ];
    for name in &names {
        assert!(groups.contains(&name.split('-').next().unwrap()), "nobody runs {name}");
    }
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
