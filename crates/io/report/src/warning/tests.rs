use romer_record::benchmark::BenchmarkEventKind;
use romer_record::event::{Event, EventDetail, EventKind};
use romer_record::note::Notice;
use romer_record::warning::{
    BenchmarkWarning, ComparisonWarning, ConcatenationWarning, EmulationWarning, FidelityWarning,
    MeasurementWarning, ModelWarning, QtcpNote, RefitEvent,
};
use romer_record::warning_families;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::*;

/// A value that a schema allows: of alternatives the first, and without what may be absent.
fn example(schema: &Value, root: &Value) -> Value {
    if let Some(path) = schema["$ref"].as_str() {
        let mut value = example(root.pointer(path.trim_start_matches('#')).unwrap(), root);
        extend(&mut value, schema, root);
        return value;
    }
    if !schema["const"].is_null() {
        return schema["const"].clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    for alternatives in ["oneOf", "anyOf"] {
        if let Some(first) = schema[alternatives].get(0) {
            let mut value = example(first, root);
            extend(&mut value, schema, root);
            return value;
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("string") if schema["format"] == "ip" => json!("198.18.0.1"),
        Some("string") => json!("x"),
        Some("boolean") => json!(false),
        Some("integer" | "number") => json!(2),
        Some("array") => match schema["items"] {
            Value::Null => json!([]),
            ref items => json!([example(items, root)]),
        },
        _ => {
            let mut value = Value::Object(Map::new());
            extend(&mut value, schema, root);
            value
        }
    }
}

/// Adds the fields of `schema` to an object.
fn extend(value: &mut Value, schema: &Value, root: &Value) {
    let Some(object) = value.as_object_mut() else { return };
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        object.entry(name.clone()).or_insert_with(|| example(field, root));
    }
}

/// The texts of an example of each code of a family, with the codes.
fn texts<W: DeserializeOwned + Text>(family: &str) -> Vec<(String, String)> {
    let (_, schema) = warning_families().into_iter().find(|(name, _)| *name == family).unwrap();
    let root = schema.to_value();
    let text = |variant: &Value| {
        let written = example(variant, &root);
        let code = written["code"].as_str().unwrap().to_owned();
        let warning: W = serde_json::from_value(written.clone())
            .unwrap_or_else(|error| panic!("{code}: {error}: {written:#}"));
        (code, warning.text())
    };
    root["oneOf"].as_array().unwrap().iter().map(text).collect()
}

/// Every code has a sentence of its own, which begins small and has no full stop at its end.
#[test]
fn every_code_has_a_text() {
    let all = [
        texts::<MeasurementWarning>("Measurements"),
        texts::<ComparisonWarning>("Comparisons"),
        texts::<ConcatenationWarning>("Concatenations"),
        texts::<ModelWarning>("Models"),
        texts::<FidelityWarning>("Comparisons with a scenario"),
        texts::<EmulationWarning>("Emulations"),
        texts::<RefitEvent>("Refits"),
        texts::<BenchmarkWarning>("Benchmarks"),
        texts::<QtcpNote>("Qtcp files"),
        texts::<Notice>("Notes of a running measurement"),
        texts::<BenchmarkEventKind>("Events of a benchmark"),
    ];
    // Findings have figures beside their names (`crate::finding`).
    assert_eq!(all.len() + 1, warning_families().len());
    for (code, text) in all.iter().flatten() {
        assert!(text.split_whitespace().count() > 3, "{code}: {text:?}");
        assert!(!text.ends_with('.'), "{code}: {text:?}");
    }
    for family in &all {
        for (place, (code, text)) in family.iter().enumerate() {
            let other = family[..place].iter().find(|(_, other)| other == text);
            assert!(other.is_none(), "{code} has the text of {other:?}");
        }
    }
}

/// Every code of an event and every detail has a sentence of its own.
#[test]
fn every_event_has_a_text() {
    let schemas = romer_record::event::schemas();
    let details = schemas.details.to_value();
    let with = |code: Value, fields: Value| {
        let mut event = fields;
        let common =
            json!({"code": code, "location": "responder", "at_ns": 1, "until_ns": null, "clock_ns": 1});
        event.as_object_mut().unwrap().extend(common.as_object().unwrap().clone());
        let read: Event =
            serde_json::from_value(event.clone()).unwrap_or_else(|error| panic!("{error}: {event:#}"));
        assert_eq!(read.detail.is_some(), event["detail"].is_string(), "{event:#}");
        (event, read.text())
    };
    let kinds = EventKind::ALL.map(|kind| with(serde_json::to_value(kind).unwrap(), json!({})));
    let variants = details["oneOf"].as_array().unwrap().iter().zip(EventDetail::KINDS);
    let detailed =
        variants.map(|(variant, kind)| with(serde_json::to_value(kind).unwrap(), example(variant, &details)));
    let all: Vec<(Value, String)> = kinds.into_iter().chain(detailed).collect();
    for (place, (event, text)) in all.iter().enumerate() {
        assert!(text.len() > 15 && text.contains(' ') && !text.ends_with('.'), "{event:#}: {text:?}");
        let other = all[..place].iter().find(|(_, other)| other == text);
        assert!(other.is_none(), "{event:#} has the text of {other:?}");
    }
}

/// Counts, times and directions are those of the fields.
#[test]
fn fields_are_shown() {
    use romer_record::document::ProbeDirection;
    use romer_record::event::EventLocation;
    use romer_record::manifest::{EarlyEnd, EntryKind, NotLogged};
    use romer_record::warning::{ReplyLosses, ResponderDelayCause, SkewUnknown, Uneven};

    let entries = vec![
        NotLogged { kind: EntryKind::Arrival, entries: 20, first: 3, last: 9 },
        NotLogged { kind: EntryKind::ResponderRecord, entries: 5, first: 3, last: 9 },
    ];
    let losses = ReplyLosses {
        missing: 19,
        forward: 13,
        forward_exact: true,
        reverse: 6,
        reverse_exact: false,
        unnamed: 3,
        unknown: 0,
        copies: 0,
        restarts: 1,
    };
    for (warning, parts) in [
        (
            MeasurementWarning::RunCutShort { cause: EarlyEnd::ResponderLost },
            &["the run ended early", "connection to the responder was lost"][..],
        ),
        (
            MeasurementWarning::EntriesNotLogged { entries },
            &["25 entries of this host's packet log were not stored (20 for arrivals at this host, 5 for"],
        ),
        (
            MeasurementWarning::PacketsNotSent {
                location: EventLocation::Sender,
                packets: 1,
                replies: false,
            },
            &["1 probe did not leave this host: it counts neither as sent nor as lost"],
        ),
        (
            MeasurementWarning::LossesByReplyNumber(losses),
            &[
                "of 19 probes without a reply, 13 were lost forward",
                "at least 6 replies were lost in reverse",
                "once",
            ],
        ),
        (
            MeasurementWarning::DelayMissing {
                direction: ProbeDirection::Reverse,
                packets: 1_980,
                arrived: 9_900,
                live: false,
                uneven: Some(Uneven { min_ratio: 0.0, max_ratio: 1.0 }),
            },
            &["1980 of 9900 packets that arrived in reverse (20.0 %)", "from 0 % to 100 %"],
        ),
        (
            MeasurementWarning::ResponderSlow {
                probes: 2,
                longest_ns: 1_522_000_000,
                sequence: 3,
                sent_ns: Some(2_000_000_000),
                cause: ResponderDelayCause::Slow,
                stopped_ns: None,
                same_host: true,
            },
            &[
                "2 probes waited at the responder for up to 1.52 s before the reply (packet 3, sent 2.00 s after",
                "--realtime",
            ],
        ),
        (
            MeasurementWarning::SkewNotIdentifiable {
                unknown: SkewUnknown::RunTooShort { skew_ppm: 12.0, error_ppm: 150.0, resolution_ns: None },
                skew_included: true,
            },
            &["the run is too short: +12 ± 150 ppm; one-way delays include it"],
        ),
    ] {
        let text = warning.text();
        for part in parts {
            assert!(text.contains(part), "{part:?}: {text}");
        }
    }
}
