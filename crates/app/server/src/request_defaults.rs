//! Marks fields of a request that have a default as optional in its schema.

use schemars::Schema;
use serde_json::Value;

/// What a request may leave out, as it has a default, is not required of it.
pub(crate) fn may_be_left_out(schema: &mut Schema) {
    let has_default: Vec<String> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(_, property)| property.get("default").is_some())
        .map(|(name, _)| name.clone())
        .collect();
    let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) else { return };
    required.retain(|name| !has_default.iter().any(|other| name == other.as_str()));
    if required.is_empty() {
        schema.remove("required");
    }
}
