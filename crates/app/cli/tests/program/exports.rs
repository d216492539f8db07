//! Packets that did not arrive and were not lost, taken away in files and read again.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;

use super::common::count;
use super::common::lab::{FAR, Lab};
use super::common::process::{self, Process, romer};

/// Of 100 packets a second apart, what became of each: 65 arrived, 5 were lost, 20 nobody read, and 10 were in flight. The last
/// one was lost, and the first was not read.
fn fate(n: i64) -> &'static str {
    match n {
        0..20 => "instrument-drop-forward",
        40..50 => "in-flight",
        60..64 | 99 => "lost-forward",
        _ => "arrived",
    }
}

fn table() -> String {
    let line = |n: i64| {
        let fate = fate(n);
        let sent = n * 1_000_000_000;
        let received =
            if fate == "arrived" { (sent + 5_000_000 + n % 7 * 1_000).to_string() } else { String::new() };
        format!("{n},100,{sent},{received},{fate}\n")
    };
    (0..100).map(line).fold("sequence,size,sent_ns,received_ns,fate\n".to_owned(), |text, line| text + &line)
}

fn analyzed(file: &Path) -> Value {
    process::run(romer(["analyze", "--quiet", "--json", "-"]).arg(file)).with_code(0).document()
}

fn assert_same_losses(document: &Value, name: &str) {
    let counted = ["sent", "received", "lost", "instrument_drops"]
        .map(|what| count(document, &format!("/forward/packets/{what}")));
    assert_eq!(counted, [90, 65, 5, 20], "{name}");
    let ratio = document.pointer("/forward/loss/ratio").and_then(Value::as_f64).unwrap();
    assert!((ratio - 5.0 / 90.0).abs() < 1e-12, "{name}: {ratio}");
}

#[test]
fn no_file_makes_losses_of_packets_that_the_path_did_not_lose() {
    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file);
    std::fs::write(name("run.csv"), table()).unwrap();
    assert_same_losses(&analyzed(&name("run.csv")), "a table with fates");
    let report = |more: &[&str], target: &str| {
        process::run(romer(["report"]).args(more).arg(name(target)).arg(name("run.csv"))).with_code(0).stderr
    };
    let said = report(&["--fates", "--csv"], "again.csv");
    assert!(said.contains(", 20 instrument drops (arrived, "), "{said}");
    assert_same_losses(&analyzed(&name("again.csv")), "the same, written and read again");
    let said = report(&["--csv"], "plain.csv");
    assert!(said.contains("20 instrument drops omitted"), "{said}");
    assert!(said.contains("--fates"), "{said}");

    let said = report(&["--qtcp"], "q");
    assert!(said.contains("20 numbers that are missing were not lost"), "{said}");
    let sta = std::fs::read_to_string(name("q.sta")).unwrap();
    assert!(sta.contains("\nreceived: 65\nlost: 5\nduplicated: 0\ninstrument drops: 20\n"), "{sta}");
    assert_eq!(sta.matches("\nlost sequence: ").count(), 5, "{sta}");
    assert_same_losses(&analyzed(&name("q.raw")), "a .raw beside its .sta");
    // Of the even numbers, 33 arrived and two were lost.
    report(&["--dummies", "--every", "2", "--qtcp"], "even");
    let log = std::fs::read_to_string(name("even.log")).unwrap();
    let numbers: Vec<u32> =
        log.lines().map(|line| line.rsplit(':').next().unwrap().parse().unwrap()).collect();
    assert!(numbers.len() == 35 && numbers.iter().all(|number| number % 2 == 0), "{log}");
    assert!(numbers.contains(&60) && numbers.contains(&62), "{log}");
    std::fs::remove_file(name("even.sta")).unwrap();
    let mut prefix = std::ffi::OsString::from("-F");
    prefix.push(name("q"));
    let converted = process::run(romer(["qtcp", "--force", "-k0", "-d"]).arg(&prefix)).with_code(0);
    assert!(converted.stdout.contains("65 packets, 5 lost; 70 lines"), "{converted:?}");
    let collated = process::run(romer(["qtcp", "--csv", "-", "-A"]).arg(folder.path())).with_code(0).stdout;
    assert!(collated.starts_with("file,run,received,lost,duplicated,instrument drops,"), "{collated}");

    // Where the .raw is another one than the .sta tells of, its missing numbers are losses, as Qtcp has it.
    let raw = std::fs::read_to_string(name("q.raw")).unwrap();
    let fewer: Vec<&str> = raw.lines().take(60).collect();
    std::fs::write(name("q.raw"), fewer.join("\n") + "\n").unwrap();
    let document = analyzed(&name("q.raw"));
    assert_eq!(count(&document, "/forward/packets/lost"), 14);
}

/// (The .log had the stamps as they were taken then, and of one clock not a word was said.)
#[test]
fn calibration_packets_that_cannot_be_are_said_and_the_log_is_normalised_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file);
    let line =
        |n: i64| format!("{n},100,{},{}\n", 1_000_000_000 + n * 20_000_000, 1_005_000_000 + n * 20_000_000);
    let table: String = (0..100).map(line).collect();
    std::fs::write(name("run.csv"), format!("sequence,size,sent_ns,received_ns\n{table}")).unwrap();
    for (more, told) in [
        (&["-c", "500"][..], "500 calibration packets are stated, and it has 100"),
        (&["-c", "50", "-k", "0"], "are not used: with -k 0"),
    ] {
        let mut report = romer(["report", "--force", "--qtcp"]);
        let said = process::run(report.arg(name("q")).args(more).arg(name("run.csv"))).with_code(0).stderr;
        assert!(said.contains(told), "{more:?}: {said}");
        let log = std::fs::read_to_string(name("q.log")).unwrap();
        assert!(log.starts_with("0:0:0:100:0\n200000:200000:0:100:1\n"), "{more:?}: {log}");
    }
}

#[test]
fn round_trips_that_a_host_did_not_read_are_unread_on_their_way() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.csv");
    let mut table = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns,fate\n".to_owned();
    for n in 0..100_i64 {
        let sent = n * 1_000_000_000;
        let there = format!("{sent},{},{}", sent + 5_000_000, sent + 5_010_000);
        table += &match n {
            20..30 => format!("{n},100,{sent},,,,instrument-drop-forward\n"),
            40..55 => format!("{n},100,{there},,instrument-drop-reverse\n"),
            60..64 => format!("{n},100,{sent},,,,lost-forward\n"),
            _ => format!("{n},100,{there},{},arrived\n", sent + 10_000_000),
        };
    }
    std::fs::write(&file, table).unwrap();
    let document = analyzed(&file);
    let counted = |way: &str| {
        ["lost", "instrument_drops"].map(|what| {
            document.pointer(&format!("/{way}/packets/{what}")).and_then(Value::as_u64).unwrap_or(0)
        })
    };
    assert_eq!(["forward", "reverse", "round_trip"].map(counted), [[4, 10], [0, 15], [4, 25]]);
    let again = folder.path().join("again.csv");
    process::run(romer(["report", "--fates", "--csv"]).arg(&again).arg(&file)).with_code(0);
    let written = std::fs::read_to_string(&again).unwrap();
    let of = |fate: &str| written.lines().filter(|line| line.ends_with(fate)).count();
    assert_eq!(
        [of(",instrument-drop-forward"), of(",instrument-drop-reverse"), of(",lost-forward"), of(",arrived")],
        [10, 15, 4, 71]
    );
}

#[test]
fn the_packets_that_the_console_gives_have_their_fates() {
    let lab = Lab::path();
    let responder = lab.respond(&[]);
    let run = lab.measure(&["--count", "30", "--interval", "10ms", "--direction", "forward", FAR]);
    drop(responder);
    let state = tempfile::tempdir().unwrap();
    let runs = state.path().join("romer/runs");
    std::fs::create_dir_all(&runs).unwrap();
    std::os::unix::fs::symlink(run.folder(), runs.join("one")).unwrap();
    let mut report = romer(["report", "--quiet", "--fates", "--csv", "-"]);
    let written = process::run(report.arg(run.folder())).with_code(0).stdout;
    assert_eq!(written.lines().filter(|line| line.ends_with(",arrived")).count(), 30, "{written}");

    let mut command = romer(["console", "--listen", "127.0.0.1:0"]);
    let mut console = Process::start(command.env("XDG_STATE_HOME", state.path()));
    let line = console.line();
    let (address, token) =
        line.trim().strip_prefix("console at http://").unwrap().split_once("/#token=").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let asked = "GET /api/runs/one/packets.csv HTTP/1.1\r\nConnection: close";
    write!(stream, "{asked}\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(body, written);
}
