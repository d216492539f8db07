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
