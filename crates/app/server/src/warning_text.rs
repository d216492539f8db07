//! Warnings and events for the console, each with its text and code.

use std::borrow::Cow;

use romer_record::benchmark::Benchmark;
use romer_record::closed_loop::ClosedLoop;
use romer_record::comparison::Comparison;
use romer_record::document::Measurement;
use romer_record::emulation::Emulation;
use romer_report::warning::Text;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// A warning or note with its text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ExplainedWarning<W> {
    #[serde(flatten)]
    warning: W,
    text: String,
}

impl<W> ExplainedWarning<W> {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl<W: Text> From<W> for ExplainedWarning<W> {
    fn from(warning: W) -> Self {
        Self { text: warning.text(), warning }
    }
}

impl<W: JsonSchema> JsonSchema for ExplainedWarning<W> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Explained{}", W::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_text(&generator.subschema_for::<W>().to_value())
    }
}

/// The schema of a warning with its text.
fn with_text(warning: &Value) -> Schema {
    json_schema!({
        "allOf": [
            warning,
            {
                "type": "object",
                "properties": { "text": { "description": "The same as a sentence.", "type": "string" } },
                "required": ["text"],
            },
        ],
    })
}

/// A document with lists of what has a text.
pub(crate) trait Warned {
    /// The fields with such lists.
    const LISTS: &'static [&'static str];

    /// The texts of each list, in their order.
    fn texts(&self) -> Vec<Vec<String>>;
}

macro_rules! warned {
    ($($document:ty: $($list:ident),*;)*) => {
        $(impl Warned for $document {
            const LISTS: &'static [&'static str] = &[$(stringify!($list)),*];

            fn texts(&self) -> Vec<Vec<String>> {
                vec![$(self.$list.iter().map(Text::text).collect()),*]
            }
        })*
    };
}
warned! {
    Benchmark: warnings, events;
    ClosedLoop: model_warnings, warnings;
    Comparison: warnings;
    Emulation: warnings;
    Measurement: warnings, events;
}

impl<D: Warned> Warned for &D {
    const LISTS: &'static [&'static str] = D::LISTS;

    fn texts(&self) -> Vec<Vec<String>> {
        (*self).texts()
    }
}

/// A document whose warnings and events have their texts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WithWarningText<D>(pub(crate) D);

impl<D: Warned + Serialize> Serialize for WithWarningText<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serde_json::to_value(&self.0).map_err(S::Error::custom)?;
        for (list, texts) in D::LISTS.iter().zip(self.0.texts()) {
            let members = document.get_mut(*list).and_then(Value::as_array_mut);
            for (member, text) in members.into_iter().flatten().zip(texts) {
                member["text"] = text.into();
            }
        }
        document.serialize(serializer)
    }
}

impl<D: Warned + JsonSchema> JsonSchema for WithWarningText<D> {
    fn schema_name() -> Cow<'static, str> {
        D::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("explained {}", D::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = D::json_schema(generator);
        for list in D::LISTS {
            let properties = schema.get_mut("properties").and_then(|all| all.get_mut(*list));
            if let Some(items) = properties.and_then(|list| list.get_mut("items")) {
                *items = with_text(&items.take()).to_value();
            }
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use romer_record::warning::ComparisonWarning;

    use super::*;

    /// The code, the severity and the text stand side by side.
    #[test]
    fn warning_with_text() {
        let written = serde_json::to_value(ExplainedWarning::from(ComparisonWarning::PacketsDiffer)).unwrap();
        assert_eq!((&written["code"], &written["severity"]), (&"packets-differ".into(), &"warning".into()));
        assert!(written["text"].as_str().unwrap().contains("size or code point"), "{written}");
    }
}
