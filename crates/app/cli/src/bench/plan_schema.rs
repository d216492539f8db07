//! The schema of plans, made of the options of `romer bench`, so that editors know keys, values and what they mean.

use clap::{Arg, ArgAction, CommandFactory, ValueEnum};
use serde_json::{Map, Value, json};

use super::plan::{JOINED, NUMBERS, is_in_a_plan};
use super::stream::KEYS;
use crate::args::{Cli, ProcedureName};

/// JSON Schema (2020-12) of a plan.
pub(crate) fn schema() -> Value {
    let cli = Cli::command();
    let bench = cli.find_subcommand("bench");
    let options = bench.into_iter().flat_map(clap::Command::get_arguments);
    let mut properties = Map::new();
    for option in options {
        let Some(name) = option.get_long().filter(|name| is_in_a_plan(name)) else { continue };
        let schema = of_option(name, option);
        properties.insert(name.replace('-', "_"), schema.clone());
        properties.insert(name.into(), schema);
    }
    properties.insert("procedure".into(), procedures());
    properties.insert("stream".into(), list("Streams side by side; without, there is one.", &streams()));
    properties.insert("case".into(), list("States of the device, each set by a command.", &cases()));
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
        json!({ "anyOf": [value(name), { "type": "array", "items": value(name) }] })
    } else {
        let known: Vec<String> =
            option.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        if known.is_empty() { value(name) } else { json!({ "type": "string", "enum": known }) }
    };
    if let Some(help) = option.get_help() {
        schema["description"] = help.to_string().into();
    }
    schema
}

fn procedures() -> Value {
    let names: Vec<String> = ProcedureName::value_variants()
        .iter()
        .filter_map(|name| Some(name.to_possible_value()?.get_name().to_owned()))
        .collect();
    json!({ "type": "string", "enum": names, "description": "What is to be found out." })
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

/// What an option takes: as a key of a table, but a number that has no unit stands in no quotes.
fn value(option: &str) -> Value {
    let mut schema = scalar();
    if NUMBERS.contains(&option) {
        schema["pattern"] = "[^0-9]".into();
    }
    schema
}

/// What a key of a table takes: a text, or a number without a unit.
fn scalar() -> Value {
    json!({ "type": ["string", "number"] })
}
