//! The loop: measure a path, make a scenario of it, emulate it, measure again: does the second path do what the first did?

use std::path::Path;

use serde_json::Value;

use crate::common::lab::{FAR, Lab};
use crate::common::process::{self, Process};
use crate::common::{at, count, number, schema};

/// What the first path does.
const FIRST: &str = r#"seed = [1, 2, 3, 4, 5, 6]
[[flow]]
match = { protocol = "udp" }
[flow.a_to_b.loss]
model = "gilbert-elliott"
p = 0.05
r = 0.4
[flow.a_to_b.duplicate]
model = "bernoulli"
probability = 0.05
delay = "1ms"
[flow.a_to_b.delay]
fixed = "20ms"
variable = { model = "gamma", shape = 4, scale = "5ms" }
[flow.b_to_a.delay]
fixed = "10ms"
"#;

/// Measures both ways through the scenario in `file`, into the run `out`.
fn measure(lab: &Lab, file: &Path, out: &Path) -> Value {
    let mut emulate = lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1", "--scenario"]);
    let mut emulator = Process::start(emulate.arg(file).args(["--seed", "1,2,3,4,5,6"]));
    let line = emulator.line();
    assert!(line.starts_with("emulating"), "{line:?} {:?}", emulator.wait());
    let mut command = lab.romer("A", ["measure", "--quiet", "--direction", "both", "--out"]);
    command.arg(out).args(["--count", "1000", "--interval", "4ms", "--json", "-", FAR]);
    let ended = process::run(&mut command).with_code(0);
    emulator.signal("TERM");
    emulator.wait().with_code(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn model(lab: &Lab, run: &Path, arguments: &[&str]) -> Value {
    let mut command = lab.romer("A", ["model", "--quiet", "--json", "-"]);
    let ended = process::run(command.arg(run).args(arguments));
    // A verdict has its exit code.
    let ended =
        if ended.stderr.contains("error: not consistent") { ended.with_code(6) } else { ended.with_code(0) };
    serde_json::from_str(&ended.stdout).unwrap()
}

/// A scenario is refused with exit code 6 for a run that it does not describe. A path with stalls is reproduced, and the text says how and
/// why.
#[test]
fn stalls_are_reproduced() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let folder = tempfile::tempdir().unwrap();
    let [run, given] = ["run", "given.toml"].map(|name| folder.path().join(name));
    // A stall of 200 ms about every second.
    let stalls = "[[flow]]\nmatch = { protocol = \"udp\" }\n[flow.a_to_b.delay]\nmodel = \"markov\"\nstep = \"time\"\n\
        transition = [[0, 1], [1, 0]]\nstate = [\n\
        { duration = \"800ms\", fixed = \"20ms\", variable = { model = \"gamma\", shape = 2, scale = \"2ms\" } },\n\
        { duration = \"200ms\", fixed = \"220ms\" },\n]\n";
    std::fs::write(&given, stalls).unwrap();
    measure(&lab, &given, &run);
    let write = |name: &str, more: &[&str]| {
        let made = folder.path().join(name);
        let mut command = process::romer(["model"]);
        process::run(command.arg(&run).arg("--write").arg(&made).args(more)).with_code(0).stdout
    };
    let modelled = write("modelled.toml", &["--limit", "fidelity"]);
    assert!(modelled.contains("Forward: consistent"), "{modelled}");
    assert!(modelled.contains("held-out log-likelihood") && !modelled.contains("--allowance"), "{modelled}");
    let traced = write("traced.toml", &["--trace"]);
    assert!(traced.contains("Forward: the recorded delays and losses, by time"), "{traced}");
    assert!(traced.contains("Forward: consistent") && !traced.contains("Warning"), "{traced}");
    let wrong = folder.path().join("wrong.toml");
    std::fs::write(&wrong, "[a_to_b.loss]\nprobability = \"33%\"\n").unwrap();
    let refused = process::run(process::romer(["model"]).arg(&run).arg("--against").arg(&wrong)).with_code(6);
    assert!(refused.stderr.starts_with("error: not consistent with the scenario (--against "), "{refused:?}");
}

#[test]
fn a_measured_path_becomes_a_scenario_that_does_again_what_was_measured() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let folder = tempfile::tempdir().unwrap();
    let [first, second, given, made] =
        ["first", "second", "given.toml", "made.toml"].map(|name| folder.path().join(name));
    std::fs::write(&given, FIRST).unwrap();
    let before = measure(&lab, &given, &first);
    let written = model(&lab, &first, &["--only-udp", "--write", made.to_str().unwrap()]);
    schema::assert_valid(&written, "model");
    assert_ne!(at(&written, "/directions/0/loss"), "none", "{written:#}");
    assert!(number(&written, "/directions/1/loss_ratio") < 0.02, "{written:#}");
    // Five standard deviations of a thousand packets.
    assert!((number(&written, "/directions/0/duplicated_ratio") - 0.05).abs() < 0.04, "{written:#}");
    let after = measure(&lab, &made, &second);
    let figure = |document: &Value, name: &str| number(document, name);
    // More than five standard deviations of two runs of a thousand packets, bursts allowed for.
    let loss = "/forward/loss/ratio";
    assert!((figure(&after, loss) - figure(&before, loss)).abs() < 0.15, "{before:#} {after:#}");
    assert!(count(&after, "/reverse/packets/lost") < 40, "what lost nothing loses nothing: {after:#}");
    // The spread of the delays is that of the path that was measured, not less than half of it or more than double,
    // and nothing is faster than the fastest packet was.
    let spread = |document: &Value| {
        figure(document, "/forward/delay_ns/p75") - figure(document, "/forward/delay_ns/p25")
    };
    let ratio = spread(&after) / spread(&before);
    assert!((0.4..2.5).contains(&ratio), "{ratio}: {before:#} {after:#}");
    assert!(figure(&after, "/forward/delay_ns/min") > 0.99 * figure(&before, "/forward/delay_ns/min"));
    // A scenario is held against a run: that of a network that loses a third is not what was measured.
    let found = model(&lab, &second, &["--against", made.to_str().unwrap()]);
    schema::assert_valid(&found, "fidelity");
    assert_eq!(count(&found, "/directions/0/packets"), 1_000);
    let wrong = folder.path().join("wrong.toml");
    std::fs::write(&wrong, "[a_to_b.loss]\nmodel = \"bernoulli\"\nprobability = \"33%\"\n").unwrap();
    let refused = process::run(process::romer(["model"]).arg(&second).arg("--against").arg(&second));
    assert!(refused.with_code(2).stderr.contains("romer compare"));
    let found = model(&lab, &second, &["--against", wrong.to_str().unwrap()]);
    assert_eq!(at(&found, "/directions/0/verdict"), "differs", "{found:#}");
}

/// Makes a scenario of these inputs, and gives it with the document.
fn made(folder: &Path, inputs: &[&str], more: &[&str]) -> (String, Value) {
    let file = folder.join("made.toml");
    let mut command = process::romer(["model", "--quiet", "--force", "--json", "-", "--write"]);
    command.arg(&file).args(inputs.iter().map(|name| folder.join(name))).args(more);
    let document: Value = serde_json::from_str(&process::run(&mut command).with_code(0).stdout).unwrap();
    schema::assert_valid(&document, "model");
    (std::fs::read_to_string(file).unwrap(), document)
}

/// Each direction has half of each round trip of ping, whatever its file is called, and all losses are forward.
#[test]
fn ping_becomes_a_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let reply = |n: u32| match n % 50 {
        7 => String::new(),
        _ => {
            let tenths = 200 + (n.wrapping_mul(2_654_435_761) >> 16) % 100;
            format!("64 bytes from 192.0.2.7: icmp_seq={n} ttl=56 time={}.{} ms\n", tenths / 10, tenths % 10)
        }
    };
    let replies: String = (1..=600).map(reply).collect();
    let log = format!(
        "PING far.example (192.0.2.7) 56(84) bytes of data.\n{replies}\n--- far.example ping statistics ---\n\
         600 packets transmitted, 588 received, 2% packet loss, time 119800ms\n"
    );
    std::fs::write(folder.path().join("ping.log"), log).unwrap();
    let (text, document) = made(folder.path(), &["ping.log"], &[]);
    assert!(text.contains("halves of round trips") && text.contains("[b_to_a."), "{text}");
    assert!((number(&document, "/directions/0/loss_ratio") - 0.02).abs() < 1e-9, "{document:#}");
    assert!(number(&document, "/directions/1/loss_ratio") < 1e-9, "{document:#}");
    let warnings = document["warnings"].as_array().unwrap();
    for code in ["delays-halved", "fates-unknown", "order-unknown"] {
        assert!(warnings.iter().any(|warning| warning["code"] == code), "{code}: {document:#}");
    }
}

/// Several packet logs become a timeline, in which each lasts as long as its packets.
#[test]
fn several_logs_become_a_timeline() {
    let folder = tempfile::tempdir().unwrap();
    let log = |delay_ms: i64| {
        let sent = |n: i64| 1_000_000_000 + n * 20_000_000;
        let row = |n: i64| format!("{n},172,{},{}\n", sent(n), sent(n) + delay_ms * 1_000_000);
        format!("sequence,size,sent_ns,received_ns\n{}", (0..500).map(row).collect::<String>())
    };
    for (name, delay_ms) in [("day.csv", 20), ("night.csv", 50)] {
        std::fs::write(folder.path().join(name), log(delay_ms)).unwrap();
    }
    let (text, document) = made(folder.path(), &["day.csv", "night.csv"], &["--clocks", "shared"]);
    assert!(text.contains("fixed = \"20ms\"") && text.contains("[[timeline]]\nat = \"10s\"\n"), "{text}");
    assert!(text.contains("[timeline.a_to_b.delay]") && text.contains("fixed = \"50ms\""), "{text}");
    assert!(text.contains("[timeline_repeat]\nevery = \"20s\"\n"), "{text}");
    assert_eq!(count(&document, "/parts/1/at_ns"), 10_000_000_000, "{document:#}");
    let mut command = process::romer(["model", "--against", "demo"]);
    command.args(["day.csv", "night.csv"].map(|name| folder.path().join(name)));
    assert!(process::run(&mut command).with_code(2).stderr.contains("too many inputs (--against)"));
}

/// Rates of both directions become a link. Options that are about packets are refused.
#[test]
fn rates_become_a_link() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("up"), "0\n1\n1\n1000\n").unwrap();
    std::fs::write(folder.path().join("down.csv"), "time_s,rate_bit_per_s\n0,8e6\n1,0\n").unwrap();
    let down = folder.path().join("down.csv");
    let reverse = ["--reverse", down.to_str().unwrap()];
    let (text, document) = made(folder.path(), &["up"], &reverse);
    assert!(text.contains("[a_to_b.trace]") && text.contains("b_to_a.rate = "), "{text}");
    assert!((number(&document, "/links/0/mean_bit_per_s") - 48_000.0).abs() < 1e-3, "{document:#}");
    assert!((number(&document, "/links/1/longest_outage_ns") - 1e9).abs() < 1e-3, "{document:#}");
    for refused in [&["--write", "x.toml", "--trace"][..], &["--against", "demo"]] {
        let mut command = process::romer(["model"]);
        let ended = process::run(command.arg(&down).args(refused)).with_code(2);
        assert!(ended.stderr.contains("the rates of a link"), "{ended:?}");
    }
}

#[test]
fn answers_that_are_under_way_when_the_last_probe_has_had_its_time_are_waited_for() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slow.toml");
    std::fs::write(&file, "[[flow]]\nmatch = { protocol = \"udp\" }\na_to_b.delay.fixed = \"300ms\"\n")
        .unwrap();
    let mut emulate = lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1", "--scenario"]);
    let mut emulator = Process::start(emulate.arg(&file));
    assert!(emulator.line().starts_with("emulating"));
    let mut command = lab.romer("A", ["measure", "--quiet", "--count", "50", "--interval", "10ms", "--out"]);
    command.arg(folder.path().join("run")).args(["--waiting-time", "50ms", "--json", "-", FAR]);
    let document: Value = serde_json::from_str(&process::run(&mut command).with_code(0).stdout).unwrap();
    emulator.signal("TERM");
    emulator.wait().with_code(0);
    // All are late there, and none is lost on the way back, which takes no time.
    assert_eq!(count(&document, "/forward/packets/late"), 50, "{document:#}");
    assert_eq!(count(&document, "/reverse/packets/lost"), 0, "{document:#}");
    assert_eq!(count(&document, "/reverse/packets/received"), 50, "{document:#}");
}
