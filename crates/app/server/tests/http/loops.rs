//! Closed loops: what is refused, how one fails, and how one that is stored is listed, opened and deleted.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Console, TIMEOUT};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// An invalid loop is refused with the field.
#[test]
fn invalid_loops_name_the_field() {
    let console = Console::start();
    for (body, field) in [
        (r#"{"targets":[]}"#, "targets"),
        (r#"{"targets":["h","i"]}"#, "targets"),
        (r#"{"targets":["a b"]}"#, "targets"),
        (r#"{"targets":["h"],"duration":"10"}"#, "duration"),
        (r#"{"targets":["h"],"size":"1B"}"#, "size"),
        (r#"{"targets":["h"],"traffic":"trace:/etc/passwd"}"#, "traffic"),
        (r#"{"targets":["h"],"trace":"0,44\n"}"#, "trace"),
        (r#"{"targets":["h"],"limits":["round_trip.delay_ns.p99<1s"]}"#, "limits"),
        (r#"{"targets":["h"],"comment":"c"}"#, "comment"),
        (r#"{"targets":["h"],"stamp":"user"}"#, "stamp"),
        (r#"{"targets":["h"],"log_at_end":true}"#, "log_at_end"),
        (r#"{"targets":["h"],"emulated":"a_to_b"}"#, "emulated"),
    ] {
        let problem = console.send("POST /api/loops", body).is_problem(422);
        assert_eq!(problem["errors"][0]["field"], field, "{problem}");
    }
    console.send("POST /api/loops", r#"{"targets":["h"],"x":1}"#).is_problem(400);
    let of_run = |body: &str| console.send("POST /api/loops/from-run", body);
    of_run(r#"{"run":"none"}"#).is_problem(404);
    of_run(r#"{"run":"../../etc"}"#).is_problem(404);
    of_run("{}").is_problem(400);
    of_run(r#"{"run":"none","stream":-1}"#).is_problem(422);
    console.send("GET /api/loops/1", "").is_problem(404);
    console.send("POST /api/loops/x/stop", "").is_problem(404);
    assert_eq!(console.send("GET /api/loops", "").is(200).body, "[]");
}

/// A loop whose target does not answer fails in its first phase, states the reason, and leaves no folder.
#[test]
fn failed_loops_state_the_reason() {
    let console = Console::start();
    let job = console.send("POST /api/loops", r#"{"targets":["127.0.0.1:1"],"duration":"1s"}"#);
    let job = parsed(&job.is(201).body);
    assert_eq!((&job["id"], &job["target"]), (&json!(1), &json!("127.0.0.1:1")), "{job}");
    assert_eq!(job["command"], "romer loop 127.0.0.1:1 --duration 1s", "{job}");
    let end = Instant::now() + TIMEOUT;
    let job = loop {
        let job = parsed(&console.send("GET /api/loops/1", "").is(200).body);
        if job["state"] != "running" {
            break job;
        }
        assert!(Instant::now() < end, "{job}");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!((&job["state"], &job["phase"]), (&json!("failed"), &json!("measuring")), "{job}");
    assert!(job["error"].as_str().is_some_and(|error| error.contains("127.0.0.1:1")), "{job}");
    assert_eq!((&job["run"], &job["verdict"]), (&Value::Null, &Value::Null), "{job}");
    assert_eq!(console.send("GET /api/runs", "").is(200).body, "[]");
    let folders = fs::read_dir(console.state.path().join("runs"));
    assert_eq!(folders.map_or(0, Iterator::count), 0, "no folder is left");
    let listed = parsed(&console.send("GET /api/loops", "").is(200).body);
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
}

/// A stored loop is a run with its verdict, scenario and page. Its own runs have names of two parts, and are deleted with it.
#[test]
fn stored_loops_are_runs() {
    let console = Console::start();
    let folder = console.state.path().join("runs/a loop");
    fs::create_dir_all(folder.join("path")).unwrap();
    fs::create_dir_all(folder.join("other")).unwrap();
    let run = |name: &str| json!({ "name": name, "target": "far", "started": null, "comment": null });
    let document = json!({
        "schema": "romer/loop/1", "verdict": "not_reproduced", "path": run("path"), "stream": 0, "emulation": run("emulated"),
        "scenario": "[a_to_b.delay]\nfixed = \"20ms\"\n", "seed": [1, 2, 3, 4, 5, 6], "model": [], "directions": [],
        "method": "none", "model_warnings": [], "warnings": [],
    });
    for (name, text) in [
        ("loop.json", document.to_string().as_str()),
        ("loop.html", "<p>the loop"),
        ("scenario.toml", "[a_to_b.delay]\nfixed = \"20ms\"\n"),
        ("scenario.a_to_b.csv", "0,44\n"),
        ("emulation.json", "{}"),
        ("other/manifest.json", "{}"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let get = |path: &str| console.send(&format!("GET /api/runs{path}"), "");
    let listed = parsed(&get("").is(200).body);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    for (key, expected) in
        [("kind", json!("loop")), ("state", "complete".into()), ("verdict", "not_reproduced".into())]
    {
        assert_eq!(listed[0][key], expected, "{listed}");
    }
    assert_eq!(listed[0]["targets"], json!(["far"]));
    let opened = parsed(&get("/a%20loop").is(200).body);
    assert_eq!(opened["closed_loop"]["document"]["verdict"], "not_reproduced", "{opened}");
    assert_eq!(opened["closed_loop"]["path"], Value::Null, "{opened}");
    assert_eq!(opened["scenario"]["a_to_b"]["delay"]["fixed"], "20ms", "{opened}");
    assert_eq!(get("/a%20loop/report.html").is(200).body, "<p>the loop");
    let files = parsed(&get("/a%20loop/scenario/files").is(200).body);
    assert_eq!(files, json!({ "scenario.a_to_b.csv": "0,44\n" }));

    get("/a%20loop%2Fpath").is_problem(404);
    fs::write(folder.join("path/manifest.json"), "{}").unwrap();
    for other in ["a%20loop%2Fother", "a%20loop%2Femulated", "a%20loop%2Fpath%2F", "a%20loop%2F..%2Fa%20loop"]
    {
        get(&format!("/{other}")).is_problem(404);
    }
    // It is found, and damaged.
    get("/a%20loop%2Fpath").is_problem(422);
    get("/a%20loop%2Fpath/scenario/files").is_problem(422);
    for query in ["", "?every=1", "?every=0s", "?stream=x"] {
        get(&format!("/a%20loop%2Fpath/delays{query}")).is_problem(422);
    }
    console.send("DELETE /api/runs/a%20loop%2Fpath", "").is_problem(422);
    console.send("DELETE /api/runs/a%20loop", "").is(204);
    assert!(!folder.join("loop.json").exists() && !folder.join("path").exists());
    assert!(folder.join("other/manifest.json").exists(), "what is not of the loop stays");
}
