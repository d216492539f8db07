//! What a reader should know before relying on a document's figures: values with a code, a severity and typed fields.
//!
//! Documents have no sentences of them. `romer-report` renders each as text.

mod benchmark;
mod clock;
mod comparison;
mod emulation;
pub(crate) mod family;
mod measurement;
mod qtcp;
mod refit;
mod stamps;

pub use benchmark::BenchmarkWarning;
pub use clock::{
    EarlyArrivals, OneWayContradiction, SkewUnknown, SynchronisationContradiction, SynchronisationLoss,
};
pub use comparison::{
    Compared, ComparisonWarning, ConcatenationWarning, DifferingSource, FidelityWarning, ModelWarning,
    SubtractedBaseline,
};
pub use emulation::{Absorption, EmulationWarning};
pub use family::{Severity, Warning};
pub use measurement::{
    AllLostEvidence, CalibrationUnused, MeasurementWarning, Numbering, ReplyLosses, ResponderDelayCause,
};
pub use qtcp::QtcpNote;
pub use refit::RefitEvent;
pub use stamps::{Contradiction, DepartureBasis, FalseUnit, StampMoment, StampsRemedy, Uneven};

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
}
