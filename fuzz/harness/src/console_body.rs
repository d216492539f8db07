//! Bodies of requests to the console: text as it is, and valid ones changed field by field.

use romer_server::PlanFault;
use romer_server::body::{Operation, check};
use serde_json::{Value, json};

use crate::json::change;
use crate::script::Script;
use crate::{Seed, assert_message};

/// The longest problem document: what was sent is cut before it is shown.
const LONGEST_PROBLEM: usize = 64 << 10;
/// Changes of one body.
const CHANGES: usize = 6;

/// The first octet says which operation and whether the rest is the body itself or the changes of a valid one.
pub(crate) fn run(octets: &[u8]) {
    let mut script = Script::new(octets);
    let first = script.octet().unwrap_or(0);
    let operation = match first % 3 {
        0 => Operation::StartMeasurement,
        1 => Operation::CheckScenario,
        _ => Operation::PreviewBenchmark(|text| {
            Err(PlanFault { text: format!("{} octets", text.len()), place: None })
        }),
    };
    let rest = octets.get(1..).unwrap_or_default();
    if first >= 128 {
        return check_body(operation, rest);
    }
    let mut body = valid(operation);
    for _ in 0..CHANGES {
        if !script.is_over() {
            change(&mut body, &mut script);
        }
    }
    check_body(operation, body.to_string().as_bytes());
}

fn check_body(operation: Operation, body: &[u8]) {
    if let Err(problem) = check(operation, body) {
        assert_message(&problem, LONGEST_PROBLEM);
        let problem: Value = serde_json::from_str(&problem).expect("a problem is JSON");
        let status = problem["status"].as_u64().unwrap_or(0);
        assert!((400..500).contains(&status), "a body that is wrong is the sender's fault: {problem}");
    }
}

fn valid(operation: Operation) -> Value {
    match operation {
        Operation::StartMeasurement => json!({
            "targets": ["192.0.2.1", "[2001:db8::1]:8862"],
            "direction": "round_trip",
            "traffic": "g711",
            "interval": "20ms",
            "count": 100,
            "size": "160B",
            "bundle": 1,
            "dscp": "ef",
            "stamp_only": false,
            "limits": ["round_trip.delay_ns.p99<30ms"],
            "comment": "a comment",
            "seed": [1, 2, 3, 4, 5, 6],
            "stamp": "auto",
        }),
        Operation::CheckScenario => json!({
            "scenario": {
                "seed": [1, 2, 3, 4, 5, 6],
                "a_to_b": {
                    "loss": {"model": "bernoulli", "probability": 0.01},
                    "delay": {"fixed": "30ms", "variable": {"model": "pareto", "scale": "1ms", "shape": 2.5}},
                    "rate": {"limit": "10Mbit", "layer": "l1"},
                },
                "timeline": [{"at": "10s", "ramp": "1s", "a_to_b": {"delay": {"fixed": "40ms"}}}],
            },
        }),
        Operation::PreviewBenchmark(_) => json!({"plan": "procedure = \"latency\"\n"}),
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    let text = |operation: u8, body: &str| [&[129 + operation][..], body.as_bytes()].concat();
    vec![
        Seed::new("empty", []),
        Seed::new("measurement", [0]),
        Seed::new("scenario", [1]),
        Seed::new("plan", [2]),
        Seed::new("measurement_of_empty_groups", [0, 12, 7, 2]),
        Seed::new("measurement_of_large_groups", [0, 12, 7, 3]),
        Seed::new("measurement_of_a_file", [0, 12, 7, 6]),
        Seed::new("measurement_count_of_all", [0, 2, 5, 0]),
        Seed::new("measurement_limits_with_escape", [0, 6, 0, 7, 18]),
        Seed::new("measurement_interval_of_centuries", [0, 5, 7, 14]),
        Seed::new("scenario_probability_of_all", [1, 0, 0, 1, 1, 6, 0]),
        Seed::new("scenario_deep", [1, 0, 0, 10, 255]),
        Seed::new("text_list", text(0, "[]")),
        Seed::new("text_two_keys", text(0, r#"{"targets":["a"],"targets":["b"]}"#)),
        Seed::new("text_deep", text(1, &"[".repeat(200))),
        Seed::new("text_toml", text(1, r#"{"toml":"[a_to_b.delay]\nfixed=\"1ms\"\n"}"#)),
    ]
}
