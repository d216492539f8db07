//! A strict JSON parser: bounded depth and size, no duplicate keys, no trailing text.

use std::cell::Cell;
use std::fmt;

use axum::http::StatusCode;
use serde::de::{self, DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::problem::{FieldError, Problem};

/// How deep lists and objects may lie in each other.
pub(crate) const DEEPEST: usize = 64;
/// How many values a body may have in all. One in an object of its own takes some 700 octets of memory, however short it is
/// written.
pub(crate) const MAX_VALUES: usize = 1 << 17;

/// The value of a body.
///
/// # Errors
/// 400 with the line and column of what is wrong.
pub(crate) fn value(body: &[u8]) -> Result<Value, Problem> {
    if body.is_empty() {
        return Err(Problem::bad("json", "the body is empty; send a JSON object"));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let left = Cell::new(MAX_VALUES);
    let value = Strict { depth: 0, left: &left }
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| Problem::bad("json", format!("invalid JSON: {error}")))
}

/// A body as what it should be.
///
/// # Errors
/// 400 where it is no JSON or has an unknown field, 422 where it is no object or a field has a value that it cannot have.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let value = value(body)?;
    // A list would else be taken for the fields in their order.
    if value.is_array() {
        let detail = "invalid body: it is a list; an object is required";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "fields", detail));
    }
    serde_json::from_value(value).map_err(|error| {
        let text = error.to_string();
        let unknown = text.starts_with("unknown field") || text.starts_with("missing field");
        let status = if unknown { StatusCode::BAD_REQUEST } else { StatusCode::UNPROCESSABLE_ENTITY };
        let field = text.split('`').nth(1).filter(|_| unknown).unwrap_or_default().to_owned();
        let problem = Problem::new(status, "fields", format!("invalid body: {text}"));
        if field.is_empty() {
            return problem;
        }
        problem.about(FieldError { field, detail: text, line: None, column: None })
    })
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    depth: usize,
    /// Values that may still come.
    left: &'a Cell<usize>,
}

impl Strict<'_> {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= DEEPEST {
            return Err(E::custom(format!("lists and objects lie more than {DEEPEST} deep in each other")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let Some(left) = self.left.get().checked_sub(1) else {
            return Err(de::Error::custom(format!("it has more than {MAX_VALUES} values")));
        };
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(inner)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut values = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let value = object.next_value_seed(inner)?;
            if values.contains_key(&key) {
                let shown = romer_units::excerpt(&key, 60);
                return Err(de::Error::custom(format!("the key {shown:?} appears twice")));
            }
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(body: &[u8]) -> String {
        let problem = value(body).unwrap_err();
        assert_eq!(problem.status(), 400);
        serde_json::to_string(&problem).unwrap()
    }

    /// Invalid JSON is refused with line and column.
    #[test]
    fn invalid_json_has_its_place() {
        assert!(refusal(b"").contains("empty"));
        assert!(refusal(b"{\"a\":1}x").contains("trailing characters at line 1 column 8"));
        assert!(refusal(b"{\"a\":1e999}").contains("out of range"));
        assert!(
            refusal(b"{\"a\":1,\"a\":2}").contains("\\\\\\\"a\\\\\\\" appears twice")
                || refusal(b"{\"a\":1,\"a\":2}").contains("appears twice")
        );
        assert!(refusal(b"\"\xff\"").contains("line 1"));
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(value(nested(64).as_bytes()).is_ok());
        assert!(refusal(nested(65).as_bytes()).contains("more than 64 deep"));
        let deep = "[".repeat(100_000);
        assert!(refusal(deep.as_bytes()).contains("deep"));
        // The list itself is a value.
        let many = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
        assert!(value(many(MAX_VALUES).as_bytes()).is_ok());
        assert!(refusal(many(MAX_VALUES + 1).as_bytes()).contains("more than 131072 values"));
    }

    /// An array is not accepted as an object with its fields in order.
    #[test]
    fn arrays_are_no_objects() {
        let problem = read::<crate::scenario::ScenarioRequest>(b"[]").unwrap_err();
        assert_eq!(problem.status(), 422);
        assert!(serde_json::to_string(&problem).unwrap().contains("an object is required"));
    }

    proptest! {
        #[test]
        fn what_is_taken_in_is_what_serde_reads(text in "[\\[\\]{}:,\"a0-9. -]{0,40}") {
            if let Ok(found) = value(text.as_bytes()) {
                prop_assert_eq!(found, serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}
