//! The closed loop, in a lab: a path is measured, modelled, emulated and measured again.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::lab::{FAR, Lab, stored};
use crate::common::process::{self, Ended, Process, romer};
use crate::common::{at, number, schema};

/// A path that any family of models reproduces: constant delays, independent losses.
const PATH: &str = "seed = [1, 2, 3, 4, 5, 6]\n[[flow]]\nmatch = { protocol = \"udp\" }\n[flow.a_to_b]\ndelay.fixed = \"20ms\"\n\
    loss = { model = \"bernoulli\", probability = \"5%\" }\n[flow.b_to_a]\ndelay.fixed = \"10ms\"\n";

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Starts an emulator of `scenario` between the hosts of `lab`.
fn emulate(lab: &Lab, folder: &Path, scenario: &str) -> Process {
    let file = folder.join("given.toml");
    std::fs::write(&file, scenario).unwrap();
    let mut emulate = lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1", "--scenario"]);
    let mut emulator = Process::start(emulate.arg(&file));
    let line = emulator.line();
    assert!(line.starts_with("emulating"), "{line:?} {:?}", emulator.wait());
    emulator
}

/// Measures the path of `lab` into the folder `run`.
fn measure(lab: &Lab, run: &Path, arguments: &[&str]) {
    let mut command = lab.romer("A", ["measure", "--quiet", "--count", "400", "--interval", "5ms", "--out"]);
    process::run(command.arg(run).args(arguments).arg(FAR)).with_code(0);
}

fn close(run: &Path, out: &Path, arguments: &[&str]) -> Ended {
    process::run(romer(["loop", "--run"]).arg(run).arg("--out").arg(out).args(arguments))
}

/// The figure of a direction of a loop.
fn figure<'a>(direction: &'a Value, name: &str) -> &'a Value {
    let figures = at(direction, "/figures").as_array().unwrap();
    figures.iter().find(|figure| figure["figure"] == name).unwrap_or_else(|| panic!("{name}: {direction:#}"))
}

/// The emulation of a path is measured with the same plan, and everything is in one folder. The verdict is that of the figures.
#[test]
fn loop_of_a_run() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let folder = tempfile::tempdir().unwrap();
    let [run, out] = ["run", "out"].map(|name| folder.path().join(name));
    let emulator = emulate(&lab, folder.path(), PATH);
    measure(&lab, &run, &["--direction", "both", "--size", "300", "--dscp", "ef"]);
    emulator.signal("TERM");
    emulator.wait().with_code(0);
    let told = close(&run, &out, &[]).with_code(0).stdout;
    let document = read(&out.join("loop.json"));
    schema::assert_valid(&document, "loop");
    let again = stored(&out.join("emulated"));
    for (place, expected) in [
        ("/traffic/payload_octets", Value::from(300)),
        ("/traffic/dscp", 46.into()),
        ("/traffic/interval_ns", 5_000_000.into()),
        ("/traffic/direction", "both".into()),
        ("/forward/packets/sent", 400.into()),
        ("/reverse/packets/sent", 400.into()),
    ] {
        assert_eq!(*at(&again, place), expected, "{place}");
    }
    assert!(out.join("scenario.toml").exists() && out.join("loop.html").exists());
    let emulation = read(&out.join("emulation.json"));
    assert_eq!(at(&emulation, "/seed"), at(&document, "/seed"));
    for (place, delay) in [(0, 20e6), (1, 10e6)] {
        let direction = at(&document, &format!("/directions/{place}"));
        let median = figure(direction, "delay_ns.median");
        // The emulator delays no packet less than its scenario says, and that has the path's delays.
        assert!(median["path"].as_f64().unwrap() >= delay && median["emulation"].as_f64().unwrap() >= delay);
        let [distance, mean] = ["wasserstein_ns", "delay_ns.mean"].map(|name| figure(direction, name));
        // A distance of two distributions is at least that of their means.
        let least = mean["difference"].as_f64().unwrap().abs();
        assert!(distance["difference"].as_f64().unwrap() >= least - 1.0, "{direction:#}");
        assert!(distance["halves"].is_f64() && number(direction, "/added_ns") > -1e6, "{direction:#}");
    }
    // Five standard deviations of the difference of two samples of 400 with 5 % lost: 0.08.
    let loss = figure(at(&document, "/directions/0"), "loss.ratio");
    assert!(loss["difference"].as_f64().unwrap().abs() < 0.08, "{loss:#}");
    let verdict = match at(&document, "/verdict").as_str().unwrap() {
        "reproduced" => "The emulation reproduces the path.",
        "not_reproduced" => "The emulation does not reproduce the path.",
        _ => "Undecided: ",
    };
    assert!(told.starts_with(verdict), "{told}");
    // A folder that is used is written over only on request.
    close(&run, &out, &[]).with_code(2);
}

/// The verdict on a path with stalls that reach far beyond the tolerances is that of the table, and so is that of the limit.
#[test]
fn verdict_is_that_of_the_table() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let folder = tempfile::tempdir().unwrap();
    let [run, out] = ["run", "out"].map(|name| folder.path().join(name));
    let stalls = "[[flow]]\nmatch = { protocol = \"udp\" }\n[flow.a_to_b.delay]\nmodel = \"markov\"\nstep = \"time\"\n\
        transition = [[0, 1], [1, 0]]\nstate = [\n{ duration = \"800ms\", fixed = \"20ms\" },\n\
        { duration = \"200ms\", fixed = \"220ms\" },\n]\n";
    let emulator = emulate(&lab, folder.path(), stalls);
    measure(&lab, &run, &["--direction", "forward"]);
    emulator.signal("TERM");
    emulator.wait().with_code(0);
    let ended = close(&run, &out, &["--limit", "fidelity"]);
    let document = read(&out.join("loop.json"));
    let figures = at(&document, "/directions/0/figures").as_array().unwrap();
    let has = |result: &str| figures.iter().any(|figure| figure["result"] == result);
    let expected = match (has("differs"), has("undecided")) {
        (true, _) => ("not_reproduced", 6),
        (false, true) => ("undecided", 6),
        (false, false) => ("reproduced", 0),
    };
    assert_eq!((at(&document, "/verdict").as_str().unwrap(), ended.code.unwrap()), expected, "{ended:?}");
    assert_eq!(ended.stderr.contains("--limit fidelity"), expected.1 == 6, "{ended:?}");
}

/// A target is measured, and the loop goes on with that run. The clock offset of a STAMP reflector is unknown: all delays are compared above
/// their minimum, and the loop says so.
#[test]
fn loop_of_a_reflector() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let emulator = emulate(&lab, folder.path(), PATH);
    let mut command =
        lab.romer("A", ["loop", "--stamp-only", "--count", "200", "--interval", "10ms", "--out"]);
    let ended = process::run(command.arg(&out).arg(FAR)).with_code(0);
    emulator.signal("TERM");
    emulator.wait().with_code(0);
    let document = read(&out.join("loop.json"));
    schema::assert_valid(&document, "loop");
    assert_eq!(at(&document, "/path/name"), "path");
    let directions = at(&document, "/directions").as_array().unwrap();
    assert!(!directions.is_empty());
    for direction in directions {
        assert_eq!(at(direction, "/delay_kind"), "variable", "{direction:#}");
    }
    assert!(
        ended.stdout.contains("delay above the minimum") && ended.stdout.contains("Report: "),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("Note: the clock offset is unknown"), "{ended:?}");
}

/// A console of its own, with its runs in a folder.
struct Console {
    _process: Process,
    address: String,
    token: String,
}

impl Console {
    fn start(state: &Path) -> Self {
        let mut command = romer(["console", "--listen", "127.0.0.1:0"]);
        let mut process = Process::start(command.env("XDG_STATE_HOME", state));
        let line = process.line();
        let url = line.trim().strip_prefix("console at http://").unwrap();
        let (address, token) = url.split_once("/#token=").unwrap();
        Self { address: address.into(), token: token.into(), _process: process }
    }

    /// The status of the answer to a request, and its document.
    fn ask(&self, request: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (address, token, length) = (&self.address, &self.token, body.len());
        write!(
            stream,
            "{request} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    /// A loop, once it has ended.
    fn ended(&self, id: u64) -> Value {
        let end = Instant::now() + Duration::from_secs(180);
        loop {
            let (_, job) = self.ask(&format!("GET /api/loops/{id}"), "");
            if job["state"] != "running" {
                return job;
            }
            assert!(Instant::now() < end, "{job:#}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The console closes the loop of a run: the loop is a run with its verdict, and has its own runs. One that is stopped is partial.
#[test]
fn loop_of_the_console() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("romer/runs");
    std::fs::create_dir_all(&runs).unwrap();
    let emulator = emulate(&lab, folder.path(), PATH);
    measure(&lab, &runs.join("one"), &["--direction", "both"]);
    emulator.signal("TERM");
    emulator.wait().with_code(0);
    let console = Console::start(folder.path());
    let start = || console.ask("POST /api/loops/from-run", r#"{"run":"one"}"#);
    let (status, job) = start();
    assert_eq!((status, &job["id"], &job["from_run"]), (201, &json!(1), &json!("one")), "{job:#}");
    // Two would have labs of one name; and the run is needed.
    assert_eq!(start().0, 409);
    assert_eq!(console.ask("DELETE /api/runs/one", "").0, 409);
    let job = console.ended(1);
    assert_eq!(
        (&job["state"], &job["phase"], &job["error"]),
        (&json!("done"), &json!("comparing"), &Value::Null),
        "{job:#}"
    );
    let name = job["run"].as_str().unwrap();
    let document = read(&runs.join(name).join("loop.json"));
    schema::assert_valid(&document, "loop");
    assert_eq!(job["verdict"], document["verdict"]);
    let (status, opened) = console.ask(&format!("GET /api/runs/{name}"), "");
    assert_eq!(
        (status, &opened["kind"], at(&opened, "/closed_loop/path")),
        (200, &json!("loop"), &json!("one"))
    );
    assert_eq!(*at(&opened, "/closed_loop/emulated"), json!(format!("{name}/emulated")));
    let inner = format!("{name}%2Femulated");
    let (status, emulated) = console.ask(&format!("GET /api/runs/{inner}"), "");
    assert_eq!((status, at(&emulated, "/measurements/0/forward/packets/sent")), (200, &json!(400)));
    // 400 packets, one every 5 ms, in bins of half a second.
    let (status, delays) = console.ask(&format!("GET /api/runs/{inner}/delays?every=500ms"), "");
    let bins = at(&delays, "/directions/0/median_ns").as_array().unwrap();
    assert!(status == 200 && (4..=6).contains(&bins.len()) && bins[0].is_i64(), "{delays:#}");
    assert_eq!(console.ask(&format!("GET /api/runs/{inner}/delays?every=1ns"), "").0, 422);

    assert_eq!(start().0, 201);
    assert_eq!(console.ask("POST /api/loops/2/stop", "").0, 200);
    let stopped = console.ended(2);
    assert_eq!((&stopped["state"], &stopped["verdict"]), (&json!("partial"), &Value::Null), "{stopped:#}");
    assert_eq!(console.ask(&format!("DELETE /api/runs/{name}"), "").0, 204);
    assert!(!runs.join(name).exists() && runs.join("one/manifest.json").exists());
}
