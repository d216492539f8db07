//! A program that is killed while it measures, or while it puts the run in place, loses nothing that it had
//! acknowledged. The test starts itself again as the program to be killed, 20 times each; `ROMER_KILLS` asks for
//! more.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{manifest, sent};
use romer_record::manifest::Status;
use romer_store::{Finished, Location, NewRun, RowsSource, Run, State};

const FOLDER: &str = "ROMER_KILL_FOLDER";
const PROBES: u64 = 20_000;

fn kills() -> u32 {
    std::env::var("ROMER_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

fn new_run(folder: &str) -> NewRun {
    NewRun::create(&Location::Folder { path: folder.into(), force: false }, manifest(2)).unwrap()
}

/// The program that measures for ever and says what it acknowledged.
#[test]
fn program_that_measures() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let log = new_run(&folder).start_log(1 << 16).unwrap();
    let mut out = std::io::stdout();
    for sequence in 0.. {
        for stream in 0..2 {
            log.sender().append(stream, &sent(sequence));
        }
        if sequence % 100 == 0 {
            let kept = log.kept();
            // In this order: what is read later may only be more.
            writeln!(out, "kept {} {} {}", kept.sent(0), kept.sent(1), kept.entries()).unwrap();
            std::thread::sleep(Duration::from_micros(500));
        }
    }
}

/// The program that ends its run.
#[test]
fn program_that_finishes() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let mut run = new_run(&folder);
    let log = run.start_log(1 << 16).unwrap();
    for sequence in 0..PROBES {
        log.sender().append(0, &sent(sequence));
    }
    assert!(log.finish().error.is_none());
    println!("ready");
    let rows = Run::open(Path::new(&folder)).unwrap().rows().unwrap().streams;
    println!("finishing");
    let end = Finished {
        status: Status::Complete,
        rows: &rows,
        measurements: &[],
        outcomes: &(),
        html: Some("<!doctype html>"),
    };
    run.finish(&end).unwrap();
    println!("finished");
}

fn start(program: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", program, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets `child` run until it has said `word` and for `after` longer, kills it, and gives the lines that it wrote whole.
fn kill_after(child: &mut Child, word: &str, after: Duration) -> Vec<String> {
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut lines = Vec::new();
    let mut due: Option<Instant> = None;
    while due.is_none_or(|due| Instant::now() < due) {
        let mut line = String::new();
        if output.read_line(&mut line).unwrap() == 0 {
            break;
        }
        if due.is_none() && line.contains(word) {
            due = Some(Instant::now() + after);
            // The finishing program says little; do not wait for its next line.
            if word == "finishing" {
                std::thread::sleep(after);
            }
        }
        lines.push(line);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    while output.read_line(&mut rest).unwrap() > 0 {
        lines.push(std::mem::take(&mut rest));
    }
    lines.retain(|line| line.ends_with('\n'));
    lines
}

/// The golden section spreads the moments evenly, however many there are.
fn moment(number: u32, within: Duration) -> Duration {
    within.mul_f64((f64::from(number) * 0.618_034).fract())
}

#[test]
fn nothing_acknowledged_is_lost_by_a_kill_while_measuring() {
    for number in 0..kills() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start("program_that_measures", folder.path());
        let lines = kill_after(&mut child, "kept", moment(number, Duration::from_millis(150)));
        let last = lines.iter().rev().find_map(|line| line.split("kept ").nth(1)).unwrap();
        let kept: Vec<u64> = last.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let run = Run::open(folder.path()).unwrap();
        assert_eq!(run.state(), State::Killed);
        let rows = run.rows().unwrap();
        for (stream, durable_sent) in [(0u16, kept[0]), (1, kept[1])] {
            let numbers = rows.streams.get(&stream).into_iter().flatten().map(|row| row.sequence);
            let whole =
                numbers.zip(0..).take_while(|(sequence, expected)| sequence == expected).count() as u64;
            assert!(whole >= durable_sent, "kill {number}: {whole} of {durable_sent} acknowledged probes");
        }
        let entries: usize = rows.streams.values().map(Vec::len).sum();
        assert!(entries as u64 >= kept[2], "kill {number}: {entries} of {} acknowledged entries", kept[2]);
    }
}

#[test]
fn nothing_is_lost_by_a_kill_while_the_run_is_put_in_place() {
    let mut from_log = 0;
    for number in 0..kills() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start("program_that_finishes", folder.path());
        let lines = kill_after(&mut child, "finishing", moment(number, Duration::from_millis(40)));
        let run = Run::open(folder.path()).unwrap();
        let rows = run.rows().unwrap();
        assert_eq!(rows.streams[&0].len() as u64, PROBES, "kill {number}, after {lines:?}");
        if lines.iter().any(|line| line.starts_with("finished")) {
            assert_eq!((run.state(), rows.source), (State::Complete, RowsSource::Finished));
        }
        from_log += u32::from(rows.source != RowsSource::Finished);
        if run.state() == State::Killed {
            let end = Finished {
                status: Status::Recovered,
                rows: &rows.streams,
                measurements: &[],
                outcomes: &(),
                html: Some("<!doctype html>"),
            };
            let run = run.resume().unwrap().finish(&end).unwrap();
            assert_eq!((run.state(), run.rows().unwrap().streams), (State::Recovered, rows.streams));
        }
    }
    println!("{from_log} of {} were read from the log", kills());
}
