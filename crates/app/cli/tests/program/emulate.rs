//! An emulator between the hosts of a laboratory.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::lab::{self, FAR, Lab};
use crate::common::process::{self, Process};
use crate::common::{at, count, number, schema};

/// How long anything may take. Only a failure waits as long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An emulator on the middle host that is ready, and where its document will be.
pub(crate) struct Emulator {
    process: Process,
    folder: tempfile::TempDir,
}

impl Emulator {
    pub(crate) fn start(lab: &Lab, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1"]);
        command.args(arguments).arg("--json").arg(folder.path().join("emulation.json"));
        let mut process = Process::start(&mut command);
        let line = process.line();
        assert!(line.starts_with("emulating: a e0 - b e1; packet sockets"), "{line:?} {:?}", process.wait());
        Self { process, folder }
    }

    /// Ends it by a signal, and gives its document and what it said.
    pub(crate) fn end(self, signal: &str, code: i32) -> (Value, String) {
        self.process.signal(signal);
        let ended = self.process.wait().with_code(code);
        let text = std::fs::read_to_string(self.folder.path().join("emulation.json")).unwrap();
        let document = serde_json::from_str(&text).unwrap();
        schema::assert_valid(&document, "emulation");
        assert_balanced(&document);
        (document, ended.stdout)
    }
}

fn assert_balanced(document: &Value) {
    for direction in ["a_to_b", "b_to_a"] {
        let of = |name: &str| count(document, &format!("/{direction}/{name}"));
        let lost: u64 = at(document, &format!("/{direction}/lost"))
            .as_object()
            .unwrap()
            .values()
            .map(|value| value.as_u64().unwrap())
            .sum();
        assert_eq!(
            of("received") + of("duplicates_created"),
            of("transmitted") + of("queued") + lost,
            "{direction}: {document:#}"
        );
        assert_eq!(of("queued"), 0);
    }
}

/// What is known of both interfaces of the middle host: MTU, flags, address, bridge.
fn interfaces(lab: &Lab) -> String {
    let script =
        "for i in e0 e1; do cd /sys/class/net/$i; cat mtu flags address; readlink master; cd /; done";
    process::run(lab.command("E", "sh").args(["-c", script])).stdout
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < TIMEOUT, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_path_is_taken_over_delayed_and_put_back() {
    const ASKED: f64 = 10e6;
    let lab = Lab::path();
    let before = interfaces(&lab);
    assert_eq!(before.lines().count(), 8, "the path's middle is a bridge: {before}");
    let _responder = lab.respond(&[]);
    for (signal, code) in process::ends(0) {
        let emulator = Emulator::start(&lab, &["--delay", "10ms"]);
        let run = lab.measure(&["--count", "100", "--interval", "5ms", FAR]);
        let (document, said) = emulator.end(signal, code);
        let measured = run.document();
        assert_eq!(count(&measured, "/round_trip/packets/lost"), 0);
        // Never less than was asked for; how much more is the machine's affair.
        assert!(number(&measured, "/round_trip/delay_ns/min") >= 2.0 * ASKED - 100_000.0, "{measured:#}");
        for direction in ["a_to_b", "b_to_a"] {
            let requested = number(&document, &format!("/{direction}/requested_delay_ns/max"));
            assert!((requested - ASKED).abs() < 1.0, "{direction}: {requested}");
            let actual = number(&document, &format!("/{direction}/actual_delay_ns/min"));
            assert!(actual >= ASKED, "{direction}: {actual}");
            assert!(count(&document, &format!("/{direction}/transmitted")) >= 100);
        }
        // What the emulator says that it held is what the measurement saw, less the path's own time.
        let held: f64 = ["a_to_b", "b_to_a"]
            .map(|direction| number(&document, &format!("/{direction}/actual_delay_ns/min")))
            .iter()
            .sum();
        assert!(number(&measured, "/round_trip/delay_ns/max") >= held - 100_000.0);
        assert_eq!(
            at(&document, "/ports/a/removed_from_bridge"),
            at(&document, "/ports/b/removed_from_bridge")
        );
        assert!(at(&document, "/ports/a/removed_from_bridge").is_string());
        assert!(said.contains("delay: median 10.0 ms, requested 10.0 ms"), "{said}");
        assert_eq!(interfaces(&lab), before);
    }
    // The path is a path again.
    let run = lab.measure(&["--count", "10", "--interval", "5ms", FAR]);
    assert_eq!(count(&run.document(), "/round_trip/packets/lost"), 0);
}

#[test]
fn an_emulation_whose_terminal_is_closed_ends_as_by_a_signal_and_keeps_its_results() {
    let lab = Lab::path();
    let before = interfaces(&lab);
    let folder = tempfile::tempdir().unwrap();
    let [json, code] = ["emulation.json", "code"].map(|name| folder.path().join(name));
    let mut command = lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1", "--delay", "1ms"]);
    command.arg("--json").arg(&json);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    // The shell hears of it, hands it on as one does that is talked to, and says how the program has ended.
    let line = format!(
        "exec 3<&0; {} <&3 & p=$!; trap \"kill -HUP $p\" HUP; wait $p; wait $p; echo $? > '{}'",
        words.join(" "),
        code.display()
    );
    let mut terminal = Command::new("env");
    terminal.args(["--default-signal=HUP", "script", "--quiet", "--command", &line, "/dev/null"]);
    terminal.env("TERM", "xterm-256color").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = terminal.spawn().unwrap();
    let mut shown = terminal.stdout.take().unwrap();
    let shown = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = shown.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    wait_until("it has begun", || interfaces(&lab) != before);
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    wait_until("it has ended", || std::fs::read_to_string(&code).is_ok_and(|text| text.ends_with('\n')));
    assert_eq!(std::fs::read_to_string(&code).unwrap(), "0\n", "{}", shown.join().unwrap());
    let document = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    schema::assert_valid(&document, "emulation");
    assert_balanced(&document);
    assert_eq!(interfaces(&lab), before);
}

#[test]
fn measured_loss_is_the_loss_that_was_asked_for_and_that_the_emulator_counts() {
    const PROBES: u64 = 2_000;
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let seed = "1,2,3,4,5,6";
    let emulator = Emulator::start(&lab, &["--loss", "10%", "--seed", seed]);
    let count_argument = PROBES.to_string();
    let run =
        lab.try_measure(&["--stamp-only", "--count", &count_argument, "--interval", "1ms", "198.18.0.3:862"]);
    let measured = run.ended.with_code(0).document();
    let (document, _) = emulator.end("TERM", 0);
    assert_eq!(at(&document, "/seed").to_string(), format!("[{seed}]"));
    let lost = count(&measured, "/round_trip/packets/lost");
    let counted: u64 = ["a_to_b", "b_to_a"]
        .map(|direction| count(&document, &format!("/{direction}/lost/model")))
        .iter()
        .sum();
    // Besides the probes there may be a packet or two of the hosts themselves.
    assert!(counted >= lost && counted - lost <= 20, "{counted} counted, {lost} measured");
    // Of 2,000 round trips 19 % are lost: five standard deviations.
    let share = f64::from(u32::try_from(lost).unwrap()) / f64::from(u32::try_from(PROBES).unwrap());
    assert!((share - 0.19).abs() < 5.0 * (0.19 * 0.81 / f64::from(2_000)).sqrt(), "{share}");
}

#[test]
fn a_stream_of_tcp_passes_whole_through_loss_and_delay() {
    const NAME: &str = "emulate::a_stream_of_tcp_passes_whole_through_loss_and_delay";
    const OCTETS: usize = 300_000;
    let pattern = || (0..OCTETS).map(|at| u8::try_from(at % 251).unwrap());
    if lab::is_inside() {
        // On the far host: takes all, and answers with it.
        let listener = TcpListener::bind((FAR, 7_007)).unwrap();
        println!("listening");
        let (mut stream, _) = listener.accept().unwrap();
        let mut octets = vec![0; OCTETS];
        stream.read_exact(&mut octets).unwrap();
        stream.write_all(&octets).unwrap();
        return;
    }
    if std::env::var_os("ROMER_TEST_NEAR").is_some() {
        let mut stream = TcpStream::connect((FAR, 7_007)).unwrap();
        let sent: Vec<u8> = pattern().collect();
        stream.write_all(&sent).unwrap();
        let mut back = vec![0; OCTETS];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(back, sent);
        return;
    }
    let lab = Lab::path();
    let emulator = Emulator::start(&lab, &["--delay", "1ms", "--loss", "1%"]);
    let mut far = lab.again(NAME, "B");
    wait_until("the far host listens", || far.line().contains("listening"));
    let mut near = lab.command("A", std::env::current_exe().unwrap());
    near.args([NAME, "--exact", "--nocapture"]).env("ROMER_TEST_NEAR", "1");
    let near = process::run(&mut near).with_code(0);
    assert!(near.stdout.contains("1 passed"), "{}", near.stdout);
    far.wait().with_code(0);
    let (document, _) = emulator.end("TERM", 0);
    assert!(count(&document, "/a_to_b/transmitted") > 100);
    assert_eq!(count(&document, "/a_to_b/lost/oversize"), 0, "{document:#}");
    assert_eq!(count(&document, "/b_to_a/lost/oversize"), 0, "{document:#}");
}

/// A stream of telephony as a test of its own: what was asked for lies in the intervals that the measurement states, widened
/// from an error probability of 5 % to one in a million.
#[test]
fn a_voice_stream_has_the_loss_and_the_delay_that_were_asked_for() {
    const ASKED_LOSS: f64 = 0.1;
    const ASKED_NS: f64 = 45e6;
    let widened = |interval: &Value| {
        let [low, high] = [0, 1].map(|end| interval[end].as_f64().unwrap());
        let more = (high - low) / 2.0 * (4.9 / 1.96 - 1.0);
        (low - more)..=(high + more)
    };
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, VOICE).unwrap();
    let measured = || {
        let emulator = Emulator::start(&lab, &["--scenario", file.to_str().unwrap()]);
        let run = lab.try_measure(&[
            "--stamp-only",
            "--traffic",
            "g711",
            "--bundle",
            "1",
            "--duration",
            "3s",
            "198.18.0.3:862",
        ]);
        (run.ended.with_code(0).document(), emulator.end("TERM", 0).0)
    };
    // Where this machine stands still in the midst of a run, its delays are worth too few independent ones for an interval.
    let has_interval =
        |(measured, _): &(Value, Value)| !at(measured, "/round_trip/delay_ns/mean_interval").is_null();
    let (measured, document) =
        (0..3).map(|_| measured()).find(has_interval).expect("one of three runs has an interval");
    assert_eq!(at(&measured, "/traffic/model"), "g711");
    let packets = |name: &str| count(&measured, &format!("/round_trip/packets/{name}"));
    assert!(
        packets("sent") >= 290 && packets("received") + packets("lost") == packets("sent"),
        "{measured:#}"
    );
    // What was lost, the emulator has counted; besides there may be a packet or two of the hosts themselves.
    let counted = count(&document, "/a_to_b/lost/model");
    assert!(counted >= packets("lost") && counted - packets("lost") <= 20, "{counted} {measured:#}");
    let loss = widened(at(&measured, "/round_trip/loss/ratio_interval"));
    assert!(loss.contains(&ASKED_LOSS), "{loss:?}");
    // What this machine added to the delays, by the emulator's own account.
    let added: f64 = ["a_to_b", "b_to_a"]
        .map(|way| {
            let mean = |what: &str| number(&document, &format!("/{way}/{what}_delay_ns/mean"));
            mean("actual") - mean("requested")
        })
        .iter()
        .sum();
    let delay = widened(at(&measured, "/round_trip/delay_ns/mean_interval"));
    assert!(*delay.end() >= ASKED_NS && *delay.start() <= ASKED_NS + added + 1e6, "{delay:?} {added}");
}

const VOICE: &str = r#"seed = [1, 2, 3, 4, 5, 6]
[a_to_b.loss]
model = "bernoulli"
probability = "10%"
[a_to_b.delay]
fixed = "20ms"
variable = { model = "normal", mean = "10ms", stddev = "2ms" }
order = "independent"
[b_to_a.delay]
fixed = "15ms"
"#;

#[test]
fn a_scenario_is_done_to_live_packets_and_each_of_them_is_sampled_with_its_fate() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("s.toml"), SAMPLED).unwrap();
    let [scenario, csv, pcapng] =
        ["s.toml", "samples.csv", "all.pcapng"].map(|name| file(name).to_str().unwrap().to_owned());
    let emulator = Emulator::start(&lab, &["--scenario", &scenario, "--samples", &csv, "--pcapng", &pcapng]);
    lab.try_measure(&["--stamp-only", "--count", "200", "--interval", "2ms", "198.18.0.3:862"]);
    let (document, said) = emulator.end("TERM", 0);
    assert!(said.contains("network: Sampled") && said.contains("seed 1,2,3,4,5,6"), "{said}");
    assert_eq!(at(&document, "/scenario"), SAMPLED);
    let text = std::fs::read_to_string(&csv).unwrap();
    assert!(
        text.starts_with("ordinal,copy,port,size,arrival_ns,departure_ns,departure_rank,fate,"),
        "{text}"
    );
    let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let of = |port: &str, what: &dyn Fn(&[&str]) -> bool| {
        lines.iter().filter(|line| line[2] == port && what(line)).count() as u64
    };
    for (port, way) in [("a", "a_to_b"), ("b", "b_to_a")] {
        let counted = |name: &str| count(&document, &format!("/{way}/{name}"));
        assert_eq!(of(port, &|line| line[7] == "sent"), counted("transmitted"));
        assert_eq!(of(port, &|line| line[7] == "lost:model"), counted("lost/model"));
        assert_eq!(of(port, &|line| line[1] == "0"), counted("received") - counted("lost/kernel"));
        assert_eq!(of(port, &|line| line[1] != "0"), counted("duplicates_created"));
    }
    assert!(of("a", &|line| line[7] == "lost:model") > 20, "{text}");
    // The capture has as many packets, and a comment with each.
    let capture = std::fs::read(&pcapng).unwrap();
    assert_eq!(capture[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let comments = capture.windows(14).filter(|octets| *octets == b"romer: packet ").count();
    assert_eq!(comments, lines.iter().filter(|line| line[1] == "0").count());
    // Nothing is overwritten unasked.
    let mut again = lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1", "--samples", &csv]);
    let again = process::run(&mut again).with_code(2);
    assert!(again.stderr.contains("the file exists"), "{}", again.stderr);
}

const SAMPLED: &str = r#"seed = [1, 2, 3, 4, 5, 6]
[about]
title = "Sampled"
[a_to_b.loss]
model = "bernoulli"
probability = "25%"
[a_to_b.duplicate]
model = "bernoulli"
probability = "10%"
[b_to_a.delay]
fixed = "1ms"
variable = { model = "exponential", mean = "1ms" }
"#;

#[test]
fn an_emulator_that_is_killed_leaves_the_host_as_it_was() {
    let lab = Lab::path();
    let before = interfaces(&lab);
    for _ in 0..3 {
        let emulator = Emulator::start(&lab, &["--delay", "50ms"]);
        assert_ne!(interfaces(&lab), before);
        emulator.process.signal("KILL");
        assert_eq!(emulator.process.wait().code, None);
        wait_until("all is as it was", || interfaces(&lab) == before);
    }
}

#[test]
fn an_emulator_ends_by_itself_after_its_time() {
    let lab = Lab::path();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("emulation.json");
    let mut command = lab.romer("E", ["emulate", "--port", "b=e1", "--port", "a=e0", "--duration", "300ms"]);
    process::run(command.arg("--json").arg(&file)).with_code(0);
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    schema::assert_valid(&document, "emulation");
    assert_balanced(&document);
    assert_eq!(at(&document, "/ended_by"), &Value::Null);
}

#[test]
fn a_port_that_goes_away_ends_the_emulation_and_is_named() {
    let lab = Lab::path();
    let mut emulator = Emulator::start(&lab, &[]);
    process::run(lab.command("E", "ip").args(["link", "delete", "e1"])).with_code(0);
    while !emulator.process.line().is_empty() {}
    let ended = emulator.process.wait().with_code(4);
    assert!(ended.stderr.contains("port e1") && ended.stderr.contains("was removed"), "{}", ended.stderr);
    let text = std::fs::read_to_string(emulator.folder.path().join("emulation.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_balanced(&document);
    // Other labs have ports of the same address.
    let by = at(&document, "/ended_by").as_str().unwrap();
    assert!(by.starts_with("port e1 was removed"), "{by}");
}

#[test]
fn a_port_that_is_moved_is_named_as_such() {
    let lab = Lab::path();
    let mut emulator = Emulator::start(&lab, &[]);
    let mut holder =
        Process::start(lab.command("E", "unshare").args(["--net", "sh", "-c", "echo $$; exec sleep 60"]));
    let number = holder.line();
    let moving = ["link", "set", "dev", "e1", "netns", number.trim()];
    process::run(lab.command("E", "ip").args(moving)).with_code(0);
    while !emulator.process.line().is_empty() {}
    let ended = emulator.process.wait().with_code(4);
    assert!(ended.stderr.contains("or moved to another network namespace"), "{}", ended.stderr);
    let text = std::fs::read_to_string(emulator.folder.path().join("emulation.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(at(&document, "/ended_by"), "port e1 was removed, or moved to another network namespace");
    holder.signal("KILL");
    assert_eq!(holder.wait().code, None);
}

#[test]
fn an_emulation_that_cannot_begin_leaves_no_files_in_the_way_of_the_corrected_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let run = |ports: [&str; 2]| {
        let mut command = process::romer(["emulate", "--delay", "1ms", "--duration", "1s"]);
        command.arg("--out").arg(file("run")).arg("--samples").arg(file("samples.csv"));
        process::run(command.args(["--port", ports[0], "--port", ports[1]]))
    };
    std::fs::create_dir(file("empty")).unwrap();
    // One port twice, and one that is not there.
    for (ports, code) in [(["a=lo", "b=lo"], 2), (["a=lo", "b=nonesuch0"], 4)] {
        run(ports).with_code(code);
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["empty"], "{ports:?}");
    }
    let mut command =
        process::romer(["emulate", "--delay", "1ms", "--port", "a=lo", "--port", "b=lo", "--out"]);
    process::run(command.arg(file("empty"))).with_code(2);
    assert_eq!(
        std::fs::read_dir(file("empty")).unwrap().count(),
        0,
        "a folder that was there stays, and is empty"
    );
}
