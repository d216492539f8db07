//! The warnings of comparisons, of sums of networks, of models and of their tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement::StampMoment;
use crate::probe_direction::ProbeDirection;

crate::warning::family::warnings! {
/// A warning of a comparison.
ComparisonWarning {
    /// A measurement is partial: its statistics cover a part of the run.
    Warning Partial {
        /// The measurement.
        of: Compared,
    },
    /// The packets differ in size or code point, which may cause the difference.
    Warning PacketsDiffer,
    /// The calls are rated on different scales. Their MOS is not compared.
    Warning ScalesDiffer {
        /// The direction.
        direction: ProbeDirection,
        /// The scale of A.
        a: String,
        /// The scale of B.
        b: String,
    },
    /// The calls differ in codec, jitter buffer, or the basis of delay and loss, which may cause the difference of their MOS.
    Warning CallsDiffer {
        /// The direction.
        direction: ProbeDirection,
    },
    /// The time stamps have different sources, which may cause the difference.
    Warning TimeStampSourcesDiffer {
        /// The moments.
        moments: Vec<DifferingSource>,
    },
    /// The round trips of one measurement include the processing time of the responder, which may cause the difference.
    Warning ResponderTimeDiffers {
        /// The measurement that includes it.
        included_in: Compared,
    },
    /// The baseline is subtracted from the delays of one measurement. This part of the difference is not due to the path.
    Warning BaselineDiffers {
        /// The measurement from which it is subtracted.
        subtracted_from: Compared,
        /// The baselines.
        baselines: Vec<SubtractedBaseline>,
    },
}
}

crate::warning::family::warnings! {
/// A warning of a concatenation.
ConcatenationWarning {
    /// The clock offset of a measurement is unknown. Delays are relative to the median, and only the shapes of the distributions are
    /// compared.
    Note DelaysRelative,
    /// The measurements were not made at the same time. Their delays are assumed to be independent.
    Note IndependenceAssumed,
}
}

crate::warning::family::warnings! {
/// A warning of a model of a path.
ModelWarning {
    /// Which direction lost some packets is unknown. This direction of the model loses all of them.
    Warning FatesUnknown {
        /// The direction.
        direction: ProbeDirection,
        /// The setting in the scenario.
        setting: String,
    },
    /// One-way delays are unknown. The scenario has half of each round trip as the delay of this direction.
    Warning DelaysHalved {
        /// The direction.
        direction: ProbeDirection,
        /// The setting in the scenario.
        setting: String,
    },
    /// One-way delays and round trips are unknown. The scenario has no delay in this direction.
    Warning DelaysUnknown {
        /// The direction.
        direction: ProbeDirection,
        /// The setting in the scenario.
        setting: String,
    },
    /// The order of the packets is unknown. The scenario has no reordering in this direction.
    Warning OrderUnknown {
        /// The direction.
        direction: ProbeDirection,
        /// The setting in the scenario.
        setting: String,
    },
    /// The clock offset is unknown. Delays are relative to the minimum.
    Note DelaysRelative,
    /// Runs of the scenario differ from the measurement that it was made from.
    Warning Misfit {
        /// The direction.
        direction: ProbeDirection,
        /// Whether the scenario replays the recorded packets (`--trace`).
        is_trace: bool,
    },
}
}

crate::warning::family::warnings! {
/// A warning of a comparison with a scenario.
FidelityWarning {
    /// The fate of some packets is unknown. The direction is left out.
    Warning FatesUnknown {
        /// The direction.
        direction: ProbeDirection,
    },
    /// One-way delays are unknown. The direction is left out.
    Warning DelaysUnknown {
        /// The direction.
        direction: ProbeDirection,
    },
    /// The clock offset is unknown. Delays are relative to the minimum of each direction.
    Note DelaysRelative,
    /// The measured delay includes the links around the emulator, which the scenario does not model.
    Note LinksIncluded,
    /// It is unknown when the timeline of the scenario began. Each simulated run begins at a random point of it.
    Note TimelinePhaseUnknown,
    /// The scenario corrupts packets without repairing checksums. Such probes are expected to be lost.
    Note CorruptedProbesLost,
    /// The scenario corrupts packets and repairs checksums. The contents of such probes may be wrong, which is not modelled.
    Note CorruptedProbesAltered,
}
}

/// A measurement of two that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Compared {
    /// The first.
    A,
    /// The second.
    B,
}

/// A moment that is stamped at different places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DifferingSource {
    /// The moment.
    pub moment: StampMoment,
    /// The source of A; `null` if unknown.
    pub a: Option<romer_units::Place>,
    /// The source of B; `null` if unknown.
    pub b: Option<romer_units::Place>,
}

/// A baseline that is subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubtractedBaseline {
    /// The direction.
    pub direction: ProbeDirection,
    /// The baseline, nanoseconds.
    pub baseline_ns: f64,
}
