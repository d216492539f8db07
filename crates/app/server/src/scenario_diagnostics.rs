//! Reports all errors of a scenario. Its parser stops at the first.
//!
//! Each error is replaced by a valid value in a copy, and the copy is parsed again. A replacement that would make another value
//! of the same table invalid is used only if every other one does so too. So each reported error is in the scenario itself.

use std::collections::BTreeSet;

use romer_scenario::ScenarioError;
use serde_json::{Map, Value, json};

/// Faults that are told.
const MAX_ERRORS: usize = 30;
/// How often the copy is read.
const READINGS: usize = 400;
/// What a field may want to hear.
const VALUES: [&str; 15] = [
    "null",
    "0.5",
    "1",
    "0",
    "2",
    "10",
    "0.001",
    "\"1ms\"",
    "\"0ms\"",
    "\"10s\"",
    "\"1Mbit\"",
    "\"64KiB\"",
    "\"packets\"",
    "true",
    "{}",
];
/// Keys by which a table is another one: without their value nothing can be said of the rest.
const KINDS: [&str; 4] = ["model", "step", "format", "discipline"];
/// Tables that can be left out whole.
const STAGES: [&str; 12] = [
    "loss",
    "duplicate",
    "reorder",
    "delay",
    "corrupt",
    "rate",
    "trace",
    "match",
    "seed",
    "about",
    "at",
    "timeline_repeat",
];

/// How a scenario is read.
type ScenarioReader<'a> = dyn Fn(&Map<String, Value>) -> Option<ScenarioError> + 'a;

/// A key, or a place in a list, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Key(String),
    TimestampPoint(usize),
}

/// The faults after the first.
pub(crate) fn others(
    scenario: &Map<String, Value>,
    first: &ScenarioError,
    read: &ScenarioReader<'_>,
) -> Vec<ScenarioError> {
    let (mut copy, mut fault) = (scenario.clone(), first.clone());
    let (mut found, mut told, mut readings) = (Vec::new(), BTreeSet::from([first.what.clone()]), 0);
    while found.len() < MAX_ERRORS && readings < READINGS {
        let next = repair(&mut copy, &fault, &mut readings, read);
        let Some(next) = next else { break };
        if told.insert(next.what.clone()) {
            found.push(next.clone());
            fault = next;
        } else {
            // It was mended already, and is wrong again: what it lies in is left out.
            let Some(after) = leave_out(&mut copy, &next.what, read) else { break };
            if told.insert(after.what.clone()) {
                found.push(after.clone());
            }
            fault = after;
            readings += 1;
        }
    }
    found
}

/// Mends a fault, and gives the next; `None` where there is none, or nothing helps.
fn repair(
    scenario: &mut Map<String, Value>,
    fault: &ScenarioError,
    readings: &mut usize,
    read: &ScenarioReader<'_>,
) -> Option<ScenarioError> {
    let mut steps = steps(&fault.what);
    // "has no step; write step = ...": something that is not there is put in.
    let missing = fault.why.strip_prefix("has no ").and_then(|rest| rest.split_once("; write "));
    let missing = missing
        .map(|(key, _)| key)
        .filter(|key| key.bytes().all(|octet| octet.is_ascii_lowercase() || octet == b'_'));
    let (table, field) = match missing {
        Some(key) => (fault.what.clone(), format!("{}.{key}", fault.what)),
        None => (parent(&fault.what).to_owned(), fault.what.clone()),
    };
    steps.extend(missing.map(|key| PathStep::Key(key.into())));
    if let Some(copy) = with_rows(scenario, &steps) {
        *scenario = copy;
        *readings += 1;
        return read(scenario);
    }
    let kind = missing.is_none()
        && matches!(steps.last(), Some(PathStep::Key(key)) if KINDS.contains(&key.as_str()));
    let mut best: Option<(u8, Map<String, Value>, Option<ScenarioError>)> = None;
    for value in VALUES.iter().filter(|_| !kind) {
        let value = serde_json::from_str(value).unwrap_or(Value::Null);
        let mut copy = scenario.clone();
        if !set(&mut copy, &steps, &value) {
            break;
        }
        *readings += 1;
        let next = read(&copy);
        let rank = match &next {
            None => 0,
            Some(next) if within(&next.what, &field) || within(&field, &next.what) => continue,
            Some(next) if within(&next.what, &table) => 2,
            Some(_) => 1,
        };
        if best.as_ref().is_none_or(|(held, ..)| rank < *held) {
            best = Some((rank, copy, next));
        }
        if rank < 2 {
            break;
        }
    }
    if let Some((_, copy, next)) = best {
        *scenario = copy;
        return next;
    }
    *readings += 1;
    leave_out(scenario, &fault.what, read)
}

/// Leaves out the stage that something lies in, or that itself.
fn leave_out(
    scenario: &mut Map<String, Value>,
    what: &str,
    read: &ScenarioReader<'_>,
) -> Option<ScenarioError> {
    let mut steps = steps(what);
    let stage = |step: &PathStep| matches!(step, PathStep::Key(key) if STAGES.contains(&key.as_str()));
    if let Some(place) = steps.iter().position(stage) {
        steps.truncate(place + 1);
    }
    set(scenario, &steps, &Value::Null).then(|| read(scenario)).flatten()
}

/// With transitions from each state to itself, where the transitions are what is wrong: rows are told by the first that is.
fn with_rows(scenario: &Map<String, Value>, steps: &[PathStep]) -> Option<Map<String, Value>> {
    let place = steps.iter().position(|step| *step == PathStep::Key("transition".into()))?;
    let mut copy = scenario.clone();
    let (stage, key) = (steps.get(..place)?, steps.get(..=place)?);
    let states = find(&mut copy, stage)?.get("state")?.as_array()?.len();
    let row = |state| (0..states).map(|next| f64::from(u8::from(next == state))).collect::<Vec<_>>();
    let mended = json!((0..states).map(row).collect::<Vec<_>>());
    let before = find(&mut copy, key)?;
    // Transitions that were mended before are wrong for another reason.
    (*before != mended).then(|| *before = mended)?;
    Some(copy)
}

/// Whether `inner` is `outer`, or lies in it.
fn within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn parent(what: &str) -> &str {
    what.rfind(['.', '[']).map_or(what, |end| &what[..end])
}

/// `a_to_b.loss.state[2].probability`: places are counted from 1 there.
fn steps(what: &str) -> Vec<PathStep> {
    let mut steps = Vec::new();
    for part in what.split('.') {
        let (key, places) = part.split_once('[').unwrap_or((part, ""));
        steps.push(PathStep::Key(key.into()));
        let places = places.split('[').filter_map(|place| place.trim_end_matches(']').parse::<usize>().ok());
        steps.extend(places.map(|place| PathStep::TimestampPoint(place.saturating_sub(1))));
    }
    steps
}

fn find<'v>(scenario: &'v mut Map<String, Value>, steps: &[PathStep]) -> Option<&'v mut Value> {
    let (first, rest) = steps.split_first()?;
    let PathStep::Key(key) = first else { return None };
    rest.iter().try_fold(scenario.get_mut(key)?, |value, step| match step {
        PathStep::Key(key) => value.get_mut(key),
        PathStep::TimestampPoint(place) => value.get_mut(*place),
    })
}

/// Puts a value there, or takes away what is there (null); whether there was something, or could be.
fn set(scenario: &mut Map<String, Value>, steps: &[PathStep], value: &Value) -> bool {
    let Some((last, before)) = steps.split_last() else { return false };
    let table = match (before.is_empty(), last) {
        (true, PathStep::Key(_)) => Some(scenario),
        _ => match find(scenario, before) {
            Some(Value::Object(table)) => Some(table),
            Some(Value::Array(list)) => {
                let PathStep::TimestampPoint(place) = last else { return false };
                let Some(item) = list.get_mut(*place) else { return false };
                *item = value.clone();
                return true;
            }
            _ => None,
        },
    };
    let (Some(table), PathStep::Key(key)) = (table, last) else { return false };
    if value.is_null() {
        return table.remove(key).is_some();
    }
    table.insert(key.clone(), value.clone());
    true
}
