//! The pages of the documentation name what a measurement's document can say.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use serde_json::Value;

const EVENTS: &str = include_str!("../../../../docs/reference/events.md");
const CAUSES: &str = include_str!("../../../../docs/explanation/loss-causes.md");
const FINDINGS: &str = include_str!("../../../../docs/explanation/findings.md");
const METRICS: &str = include_str!("../../../../docs/reference/metrics.md");

/// A definition of the published schema.
fn definition(name: &str) -> Value {
    const SCHEMA: &str = include_str!("../../../../docs/schema/measurement.json");
    serde_json::from_str::<Value>(SCHEMA).unwrap()["$defs"][name].clone()
}

/// The values of an enumeration: its constants, or those of the field `code` of its variants.
fn values(name: &str) -> Vec<String> {
    let variants = definition(name)["oneOf"].as_array().unwrap().clone();
    let value = |variant: &Value| {
        let constant = variant.get("const").unwrap_or(&variant["properties"]["code"]["const"]);
        constant.as_str().unwrap().to_owned()
    };
    variants.iter().map(value).collect()
}

/// Each kind of event, cause of a loss, finding and end of a run has a row in its table.
#[test]
fn values_are_documented() {
    for (page, name) in
        [(EVENTS, "EventKind"), (EVENTS, "EarlyEnd"), (CAUSES, "LossCause"), (FINDINGS, "Finding")]
    {
        for value in values(name) {
            assert!(page.contains(&format!("`{value}`")), "{name}: {value}");
        }
    }
}

/// Each packet count has a definition.
#[test]
fn counts_are_documented() {
    for count in definition("Packets")["properties"].as_object().unwrap().keys() {
        assert!(METRICS.contains(count.as_str()), "{count}");
    }
}
