//! What the warnings of all families have: a code, a severity, and how they are written.

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

/// Effect of a warning, event or note on the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The results are valid; it explains how to read them.
    Note,
    /// Some results are incomplete, less certain, or not those of the path alone.
    Warning,
    /// Results are missing or wrong.
    Error,
}

impl Severity {
    /// As it is written in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The warnings of one family of documents.
pub trait Warning: Serialize {
    /// How much it limits the use of the document.
    fn severity(&self) -> Severity;

    /// Its `code` in documents.
    fn code(&self) -> String {
        let written = serde_json::to_value(self).unwrap_or_default();
        written.get("code").and_then(|code| code.as_str()).unwrap_or_default().to_owned()
    }
}

/// Defines the warnings of a family: each variant has its severity before its name. In documents its `code` is the name of the
/// variant, and its `severity` and fields stand beside it.
macro_rules! warnings {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $severity:ident $variant:ident
        $({ $($(#[$of_field:meta])* $field:ident: $kind:ty,)* })? $(($inner:ty))?,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(tag = "code", rename_all = "kebab-case", remote = "Self")]
        #[schemars(transform = $crate::warning::family::with_severities::<$name>)]
        pub enum $name {
            $($(#[$about])* $variant $({ $($(#[$of_field])* $field: $kind,)* })? $(($inner))?,)*
        }

        impl $crate::warning::family::Severities for $name {
            const SEVERITIES: &'static [$crate::warning::family::Severity] = &[$($crate::warning::family::Severity::$severity),*];
        }

        impl $crate::warning::family::Warning for $name {
            fn severity(&self) -> $crate::warning::family::Severity {
                match self {
                    $(Self::$variant { .. } => $crate::warning::family::Severity::$severity,)*
                }
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                struct Plain<'a>(&'a $name);
                impl ::serde::Serialize for Plain<'_> {
                    fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                        $name::serialize(self.0, serializer)
                    }
                }
                $crate::warning::family::Written { severity: $crate::warning::family::Warning::severity(self), warning: Plain(self) }
                    .serialize(serializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $name::deserialize(deserializer)
            }
        }
    };
}
pub(crate) use warnings;

/// A warning as it is written.
#[derive(Serialize)]
pub(crate) struct Written<W> {
    pub(crate) severity: Severity,
    #[serde(flatten)]
    pub(crate) warning: W,
}

/// The severities of a family's variants, in their order.
pub(crate) trait Severities {
    const SEVERITIES: &'static [Severity];
}

/// Adds to the schema of each variant its severity.
pub(crate) fn with_severities<W: Severities>(schema: &mut Schema) {
    let Some(variants) = schema.get_mut("oneOf").and_then(|all| all.as_array_mut()) else { return };
    for (variant, severity) in variants.iter_mut().zip(W::SEVERITIES) {
        let severity = json_schema!({ "type": "string", "const": severity.name() });
        if let Some(properties) = variant.get_mut("properties").and_then(|all| all.as_object_mut()) {
            properties.insert("severity".into(), severity.into());
        }
        if let Some(required) = variant.get_mut("required").and_then(|all| all.as_array_mut()) {
            required.insert(required.len().min(1), "severity".into());
        }
    }
}
