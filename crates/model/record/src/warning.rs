//! What a reader should know before relying on a document's figures: values with a code, a severity and typed fields.
//!
//! Documents have no sentences of them. `romer-report` renders each as text.

use schemars::Schema;

use crate::note::Notice;

mod benchmark;
mod clock;
mod comparison;
mod emulation;
pub(crate) mod family;
mod measurement;
mod refit;
mod stamps;

pub use benchmark::BenchmarkWarning;
pub use clock::{EarlyArrivals, OneWayContradiction, SkewUnknown, SynchronisationContradiction};
pub use comparison::{
    Compared, ComparisonWarning, ConcatenationWarning, DifferingSource, FidelityWarning, ModelWarning,
    SubtractedBaseline,
};
pub use emulation::{Absorption, EmulationWarning};
pub use family::{Severity, Warning};
pub use measurement::{
    AllLostEvidence, CalibrationUnused, MeasurementWarning, Numbering, ReplyLosses, ResponderDelayCause,
};
pub use refit::RefitEvent;
pub use stamps::{Contradiction, DepartureBasis, FalseUnit, StampMoment, StampsRemedy, Uneven};

/// The JSON schema of the warnings of each family of documents, with the family's name, for the reference.
pub fn families() -> Vec<(&'static str, Schema)> {
    vec![
        ("Measurements", schemars::schema_for!(MeasurementWarning)),
        ("Comparisons", schemars::schema_for!(ComparisonWarning)),
        ("Concatenations", schemars::schema_for!(ConcatenationWarning)),
        ("Models", schemars::schema_for!(ModelWarning)),
        ("Comparisons with a scenario", schemars::schema_for!(FidelityWarning)),
        ("Emulations", schemars::schema_for!(EmulationWarning)),
        ("Refits", schemars::schema_for!(RefitEvent)),
        ("Benchmarks", schemars::schema_for!(BenchmarkWarning)),
        ("Notes of a running measurement", schemars::schema_for!(Notice)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::EarlyEnd;

    /// A warning is written with its code, its severity and its fields side by side, and read again.
    #[test]
    fn written_and_read() {
        let all = [
            MeasurementWarning::NoProbeSent,
            MeasurementWarning::RunCutShort { cause: EarlyEnd::Killed },
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
