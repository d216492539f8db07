//! Compares documents with the published schemas, strictly: a member that its schema does not name is a fault, too.
//!
//! It knows the part of JSON Schema that `docs/schema` uses, and panics at any other, rather than pass it over.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Asserts that `document` is as the schema `root` says, which is that of a `name`.
pub fn assert_follows(document: &Value, root: &Value, name: &str) {
    let faults = faults(document, root, |pattern, _| panic!("a document's schema has the pattern {pattern}"));
    assert!(faults.is_empty(), "not a valid {name}:\n{}\n{document:#}", faults.join("\n"));
}

/// What is not in `document` as the schema `root` says; `matches` tells whether a text (second) is as a pattern says.
pub fn faults(document: &Value, root: &Value, matches: fn(&str, &str) -> bool) -> Vec<String> {
    let mut check = Check { root, matches, faults: Vec::new() };
    check.value(root, document, "");
    check.faults
}

struct Check<'a> {
    root: &'a Value,
    matches: fn(&str, &str) -> bool,
    faults: Vec<String>,
}

impl<'a> Check<'a> {
    fn resolve(&self, reference: &Value) -> &'a Value {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#')).unwrap();
        self.root.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in the schema"))
    }

    fn fault(&mut self, place: &str, what: impl std::fmt::Display) {
        self.faults.push(format!("{place}: {what}"));
    }

    /// Whether `value` follows `schema`, without telling why not; `besides` others, it may have members of its own.
    fn passes(&self, schema: &Value, value: &Value, besides: bool) -> bool {
        let mut check = Check { faults: Vec::new(), ..*self };
        if besides {
            check.keywords(schema, value, "", true);
        } else {
            check.value(schema, value, "");
        }
        check.faults.is_empty()
    }

    fn value(&mut self, schema: &Value, value: &Value, place: &str) {
        let known = self.members(schema);
        if let Value::Object(members) = value
            && !known.is_empty()
        {
            for name in members.keys().filter(|name| !known.contains(name.as_str())) {
                self.fault(place, format!("the schema does not name {name}"));
            }
        }
        self.keywords(schema, value, place, false);
    }

    /// The members that `schema` names for an object, through its references; empty where it names none.
    fn members(&self, schema: &Value) -> BTreeSet<String> {
        self.members_besides(schema, false)
    }

    /// The same; `besides` others, an object may have those of one of several alternatives.
    fn members_besides(&self, schema: &Value, besides: bool) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        names.extend(properties.into_iter().flat_map(Map::keys).cloned());
        if besides || properties.is_some() {
            for alternatives in ["oneOf", "anyOf"].iter().filter_map(|keyword| schema.get(*keyword)) {
                names.extend(list(alternatives).iter().flat_map(|schema| self.members_besides(schema, true)));
            }
        }
        if let Some(reference) = schema.get("$ref") {
            names.extend(self.members_besides(self.resolve(reference), besides));
        }
        names
    }

    fn keywords(&mut self, schema: &Value, value: &Value, place: &str, besides: bool) {
        let Value::Object(keywords) = schema else {
            assert_eq!(schema, &Value::Bool(true), "at {place}");
            return;
        };
        for (keyword, argument) in keywords {
            match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "default" | "format" => {}
                "$ref" => self.keywords(self.resolve(argument), value, place, besides),
                "type" => self.of_type(argument, value, place),
                "const" if argument != value => self.fault(place, format!("{value} is not {argument}")),
                "const" => {}
                "enum" if !list(argument).contains(value) => {
                    self.fault(place, format!("{value} is none of {argument}"));
                }
                "enum" => {}
                "anyOf" | "oneOf" => {
                    let besides = besides || keywords.contains_key("properties");
                    self.alternatives(keyword, list(argument), value, place, besides);
                }
                "properties" | "required" | "additionalProperties" => {
                    if let Value::Object(members) = value {
                        self.object(keyword, argument, keywords, members, place);
                    }
                }
                "items" | "minItems" | "maxItems" => {
                    if let Value::Array(items) = value {
                        self.array(keyword, argument, items, place);
                    }
                }
                "pattern" => {
                    if let (Some(pattern), Some(text)) = (argument.as_str(), value.as_str())
                        && !(self.matches)(pattern, text)
                    {
                        self.fault(place, format!("{text:?} does not match {pattern}"));
                    }
                }
                "minimum" | "maximum" => self.range(keyword, argument, value, place),
                other => panic!("the schema uses {other:?}, which this check does not know"),
            }
        }
    }

    fn of_type(&mut self, wanted: &Value, value: &Value, place: &str) {
        let is = |name: &Value| match name.as_str().unwrap() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("the schema has a type {other:?}"),
        };
        let fits = match wanted {
            Value::Array(names) => names.iter().any(is),
            name => is(name),
        };
        if !fits {
            self.fault(place, format!("{value} is no {wanted}"));
        }
    }

    /// `besides`: the object has other members than those of its alternative, which has not to name them.
    fn alternatives(&mut self, keyword: &str, schemas: &[Value], value: &Value, place: &str, besides: bool) {
        let fitting = schemas.iter().filter(|schema| self.passes(schema, value, besides)).count();
        if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
            self.fault(place, format!("{fitting} of {} alternatives fit {value}", schemas.len()));
        }
    }

    fn object(
        &mut self,
        keyword: &str,
        argument: &Value,
        schema: &Map<String, Value>,
        members: &Map<String, Value>,
        place: &str,
    ) {
        match keyword {
            "required" => {
                for name in list(argument).iter().filter_map(Value::as_str) {
                    if !members.contains_key(name) {
                        self.fault(place, format!("{name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in argument.as_object().unwrap() {
                    if let Some(value) = members.get(name) {
                        self.value(schema, value, &format!("{place}/{name}"));
                    }
                }
            }
            _ => {
                let named = schema.get("properties").and_then(Value::as_object);
                for (name, value) in members {
                    if named.is_some_and(|named| named.contains_key(name)) {
                        continue;
                    }
                    match argument {
                        Value::Bool(true) => {}
                        Value::Bool(false) => self.fault(place, format!("{name} may not be here")),
                        schema => self.value(schema, value, &format!("{place}/{name}")),
                    }
                }
            }
        }
    }

    fn array(&mut self, keyword: &str, argument: &Value, items: &[Value], place: &str) {
        let length = || usize::try_from(argument.as_u64().unwrap()).unwrap();
        match keyword {
            "minItems" if items.len() < length() => self.fault(place, "too few items"),
            "maxItems" if items.len() > length() => self.fault(place, "too many items"),
            "minItems" | "maxItems" => {}
            _ => {
                for (index, item) in items.iter().enumerate() {
                    self.value(argument, item, &format!("{place}/{index}"));
                }
            }
        }
    }

    fn range(&mut self, keyword: &str, bound: &Value, value: &Value, place: &str) {
        if let (Some(bound), Some(number)) = (bound.as_f64(), value.as_f64())
            && (if keyword == "minimum" { number < bound } else { number > bound })
        {
            self.fault(place, format!("{value} is beyond the {keyword} {bound}"));
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Members of nested alternatives may stand beside an object's own, and no others.
    #[test]
    fn nested_alternatives() {
        let variant = |name: &str| json!({ "type": "object", "properties": { "kind": { "const": name }, name: true }, "required": ["kind", name] });
        let root = json!({
            "type": "object", "properties": { "at": true }, "required": ["at"],
            "anyOf": [{ "oneOf": [{ "$ref": "#/$defs/up" }, variant("down")] }, {}], "$defs": { "up": variant("up") }
        });
        let number = |document: &Value| faults(document, &root, |_, _| false).len();
        for fitting in [json!({ "at": 1 }), json!({ "at": 1, "kind": "up", "up": 2 })] {
            assert_eq!(number(&fitting), 0, "{fitting}");
        }
        assert_eq!(number(&json!({ "at": 1, "kind": "up", "up": 2, "left": 3 })), 1);
    }
}
