//! The schema of plans, made of the options of `romer bench`, so that editors know keys, values and what they mean.

use clap::{Arg, ArgAction};
use romer_bench::options::Field;
use romer_units::{Dscp, Ecn};
use serde_json::{Map, Value, json};

use super::plan::{JOINED, UNITLESS_OPTIONS, is_in_a_plan};
use super::procedures;
use super::stream::KEYS;

/// JSON Schema (2020-12) of a plan.
pub(crate) fn schema() -> Value {
    let mut properties = Map::new();
    for (name, option) in procedures::options().into_iter().filter(|(name, _)| is_in_a_plan(name)) {
        let schema = of_option(&name, &option);
        properties.insert(name.replace('-', "_"), schema.clone());
        properties.insert(name, schema);
    }
    properties.insert("procedure".into(), procedures());
    properties.insert(
        "stream".into(),
        list("Streams of test frames, sent at the same time; default: one stream.", &streams()),
    );
    properties.insert("case".into(), list("Device configurations, each set by a command.", &cases()));
    properties.insert(
        "dut".into(),
        json!({ "type": "object", "additionalProperties": { "type": "string" },
                "description": "Labels of the device: model, software, age." }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A benchmark's plan (`romer bench PLAN.toml`)",
        "type": "object",
        "required": ["procedure"],
        "additionalProperties": false,
        "properties": properties,
    })
}

fn of_option(name: &str, option: &Arg) -> Value {
    let mut schema = if matches!(option.get_action(), ArgAction::SetTrue) {
        json!({ "type": "boolean" })
    } else if matches!(option.get_action(), ArgAction::Append) || JOINED.contains(&name) {
        json!({ "anyOf": [alone(name), { "type": "array", "items": value(name) }] })
    } else {
        let known: Vec<String> =
            option.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        if known.is_empty() { alone(name) } else { json!({ "type": "string", "enum": known }) }
    };
    if let Some(help) = option.get_help() {
        schema["description"] = help.to_string().into();
    }
    schema
}

fn procedures() -> Value {
    let names: Vec<String> = procedures::procedures().iter().map(|one| one.get_name().to_owned()).collect();
    json!({ "type": "string", "enum": names, "description": "Benchmark procedure." })
}

fn streams() -> Value {
    let mut properties = Map::new();
    for key in KEYS {
        properties.insert(key.replace('-', "_"), scalar());
        properties.insert(key.into(), scalar());
    }
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn cases() -> Value {
    json!({ "type": "object", "additionalProperties": false, "required": ["name", "command"],
            "properties": { "name": scalar(), "command": scalar() } })
}

fn list(description: &str, items: &Value) -> Value {
    json!({ "type": "array", "items": items, "description": description })
}

/// What an option takes that has one value: as a key of a table, and of a claim what can be claimed.
fn alone(option: &str) -> Value {
    match claimed(option) {
        Some(value) => json!({ "type": "string", "pattern": format!("^([^:]*:)?{value}={value}$") }),
        None => scalar(),
    }
}

/// What it takes as one of several: a number that has no unit stands in no quotes then.
fn value(option: &str) -> Value {
    let mut schema = alone(option);
    if UNITLESS_OPTIONS.contains(&option) {
        schema["pattern"] = "[^0-9]".into();
    }
    schema
}

/// What frames go in and come out with of which an option claims something, as a pattern.
fn claimed(option: &str) -> Option<String> {
    let tag = |numbers: &str| format!("({}|[+]?0*({numbers}))", Field::UNTAGGED);
    match option {
        "expect-vlan" => Some(tag("[0-9]{1,3}|[1-3][0-9]{3}|40[0-8][0-9]|409[0-4]")),
        "expect-priority" => Some(tag("[0-7]")),
        "expect-ecn" => {
            let known =
                Ecn::ALL.into_iter().flat_map(|ecn| [any_case(&ecn.to_string()), ecn.bits().to_string()]);
            Some(format!("({})", known.collect::<Vec<_>>().join("|")))
        }
        "expect-marking" | "excess-marking" => {
            let named = (0..64).filter_map(Dscp::new).map(|dscp| dscp.to_string());
            let names: Vec<String> =
                named.filter(|name| name.parse::<u8>().is_err()).map(|name| any_case(&name)).collect();
            Some(format!("({}|[+]?0*([0-9]|[1-5][0-9]|6[0-3]))", names.join("|")))
        }
        _ => None,
    }
}

/// A name, in letters of either case.
fn any_case(name: &str) -> String {
    let letter = |letter: char| match letter {
        'a'..='z' => format!("[{letter}{}]", letter.to_ascii_uppercase()),
        other => other.to_string(),
    };
    name.chars().map(letter).collect()
}

/// What a key of a table takes: a text, or a number without a unit.
fn scalar() -> Value {
    json!({ "type": ["string", "number"] })
}
