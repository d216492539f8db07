//! irtt's documents: text as it is, and a valid one changed field by field.

use romer_exchange::irtt::read;
use serde_json::{Value, json};

use crate::json::change;
use crate::script::Script;
use crate::{Seed, assert_message};

/// The longest message: what was written is cut before it is shown.
const LONGEST_MESSAGE: usize = 2_000;
/// Changes of one document.
const CHANGES: usize = 8;

pub(crate) fn run(octets: &[u8]) {
    check(octets);
    let mut document = valid();
    let mut script = Script::new(octets);
    for _ in 0..CHANGES {
        if !script.is_over() {
            change(&mut document, &mut script);
        }
    }
    check(document.to_string().as_bytes());
}

fn check(text: &[u8]) {
    match read(text) {
        Ok(recording) => assert!(recording.rows.len() <= text.len(), "{} rows", recording.rows.len()),
        Err(fault) => assert_message(&fault, LONGEST_MESSAGE),
    }
}

/// A document of three round trips, one of which is lost.
fn valid() -> Value {
    let stamp = |wall: i64| json!({"wall": wall, "monotonic": wall - 1_000});
    let trip = |seqno: i64, lost: &str| {
        json!({
            "seqno": seqno,
            "lost": lost,
            "timestamps": {
                "client": {"receive": stamp(seqno * 1_000 + 900), "send": stamp(seqno * 1_000)},
                "server": {"receive": stamp(seqno * 1_000 + 400), "send": stamp(seqno * 1_000 + 450)},
            },
            "delay": {"receive": 450, "rtt": 850, "send": 400},
            "ipdv": {"receive": 1, "rtt": 2, "send": 3},
        })
    };
    json!({
        "version": {"irtt": "0.9.1", "protocol": 1, "json_format": 1},
        "system_info": {"os": "linux", "hostname": "a"},
        "config": {
            "local_address": "192.0.2.1:40000",
            "remote_address": "192.0.2.2:2112",
            "params": {"proto_version": 1, "duration": 3_000, "interval": 1_000, "length": 60,
                       "received_stats": "both", "stamp_at": "both", "clock": "both", "dscp": 0},
        },
        "stats": {"start_time": {"wall": 0, "monotonic": 0}, "packets_sent": 3, "packets_received": 2,
                  "server_packets_received": 3, "duplicates": 0, "late_packets": 0},
        "round_trips": [trip(0, "false"), trip(1, "true_up"), trip(2, "false")],
    })
}

pub(crate) fn seeds() -> Vec<Seed> {
    let text = valid().to_string();
    let cut = text[..text.len() / 2].to_owned();
    let mut seeds: Vec<Seed> = [
        ("empty", String::new()),
        ("whole", text),
        ("cut", cut),
        ("list", "[]".into()),
        ("no_round_trips", r#"{"round_trips":[]}"#.into()),
        ("null_round_trips", r#"{"round_trips":null}"#.into()),
        ("deep", "[".repeat(300)),
        ("number", "1e999".into()),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .into();
    seeds.extend([
        Seed::new("stamps_of_nothing", [1, 0, 3, 0, 0, 0, 0, 9, 0]),
        Seed::new("length_of_all", [0, 2, 4, 5, 0]),
        Seed::new("version_with_escape", [4, 0, 7, 18]),
    ]);
    seeds
}
