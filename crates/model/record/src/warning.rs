//! What a reader should know before relying on a document's figures: values with a code, a severity and typed fields.
//!
//! Documents have no sentences of them. `romer-report` renders each as text.

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use crate::note::Notice;

mod benchmark;
mod clock;
mod comparison;
mod emulation;
mod measurement;

pub use benchmark::BenchmarkWarning;
pub use clock::{EarlyArrivals, OneWayContradiction, SkewUnknown};
pub use comparison::{
    Compared, ComparisonWarning, ConcatenationWarning, DifferingSource, FidelityWarning, ModelWarning,
    SubtractedBaseline,
};
pub use emulation::{Absorption, EmulationWarning};
pub use measurement::{
    AllLostEvidence, CalibrationUnused, Contradiction, FalseUnit, MeasurementWarning, Numbering, ReplyLosses,
    ResponderDelayCause, StampMoment, StampsRemedy, Uneven,
};

/// How much a warning limits the use of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The figures hold. It says how they are to be read.
    Note,
    /// Some figures are incomplete, less certain, or not those of the path alone.
    Warning,
    /// There are no figures, or they are wrong.
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

/// The JSON schema of the warnings of each family of documents, with the family's name, for the reference.
pub fn families() -> Vec<(&'static str, Schema)> {
    vec![
        ("Measurements", schemars::schema_for!(MeasurementWarning)),
        ("Comparisons", schemars::schema_for!(ComparisonWarning)),
        ("Concatenations", schemars::schema_for!(ConcatenationWarning)),
        ("Models", schemars::schema_for!(ModelWarning)),
        ("Comparisons with a scenario", schemars::schema_for!(FidelityWarning)),
        ("Emulations", schemars::schema_for!(EmulationWarning)),
        ("Benchmarks", schemars::schema_for!(BenchmarkWarning)),
        ("Notes of a running measurement", schemars::schema_for!(Notice)),
    ]
}

/// Defines the warnings of a family: each variant has its severity before its name. In documents its `code` is the name of the
/// variant, and its `severity` and fields stand beside it.
macro_rules! warnings {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $severity:ident $variant:ident
        $({ $($(#[$of_field:meta])* $field:ident: $kind:ty,)* })? $(($inner:ty))?,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(tag = "code", rename_all = "kebab-case", remote = "Self")]
        #[schemars(transform = $crate::warning::with_severities::<$name>)]
        pub enum $name {
            $($(#[$about])* $variant $({ $($(#[$of_field])* $field: $kind,)* })? $(($inner))?,)*
        }

        impl $crate::warning::Severities for $name {
            const SEVERITIES: &'static [$crate::warning::Severity] = &[$($crate::warning::Severity::$severity),*];
        }

        impl $crate::warning::Warning for $name {
            fn severity(&self) -> $crate::warning::Severity {
                match self {
                    $(Self::$variant { .. } => $crate::warning::Severity::$severity,)*
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
                $crate::warning::Written { severity: $crate::warning::Warning::severity(self), warning: Plain(self) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::CutShort;

    /// A warning is written with its code, its severity and its fields side by side, and read again.
    #[test]
    fn written_and_read() {
        let all = [
            MeasurementWarning::NoProbeSent,
            MeasurementWarning::RunCutShort { cause: CutShort::Killed },
            MeasurementWarning::SkewNotIdentifiable {
                unknown: SkewUnknown::FewPackets { needed: 60 },
                skew_included: true,
            },
        ];
        let written = serde_json::to_value(&all).unwrap();
        let expected = serde_json::json!([
            { "severity": "error", "code": "no-probe-sent" },
            { "severity": "warning", "code": "run-cut-short", "cause": "killed" },
            {
                "severity": "warning", "code": "skew-not-identifiable", "reason": "few-packets", "needed": 60,
                "skew_included": true
            },
        ]);
        assert_eq!(written, expected);
        let read: Vec<MeasurementWarning> = serde_json::from_value(written).unwrap();
        assert_eq!(read, all);
    }

    /// The schema of each code states its severity, which every code has.
    #[test]
    fn schema_has_severities() {
        for (family, schema) in families() {
            let variants = schema.get("oneOf").and_then(|all| all.as_array()).expect(family);
            for variant in variants {
                let code = &variant["properties"]["code"]["const"];
                let severity = &variant["properties"]["severity"]["const"];
                assert!(code.is_string() && severity.is_string(), "{family}: {variant}");
                assert!(variant["description"].is_string(), "{code} is described");
            }
        }
    }
}
