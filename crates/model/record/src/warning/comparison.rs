//! The warnings of comparisons, of sums of networks, of models and of their tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stamps::StampMoment;
use crate::probe_direction::ProbeDirection;

crate::warning::family::warnings! {
/// A warning of a comparison.
ComparisonWarning {
    /// A measurement is partial: its statistics cover a part of the run.
    Warning Partial {
        /// Partial measurement.
        measurement: Compared,
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
        /// Events with different sources.
        stamps: Vec<DifferingSource>,
    },
    /// The round trips of one measurement include the processing time of the responder, which may cause the difference.
    Warning ResponderTimeDiffers {
        /// Measurement that includes it.
        included_in: Compared,
    },
    /// The baseline is subtracted from the delays of one measurement. This part of the difference is not due to the path.
    Warning BaselineDiffers {
        /// Measurement from which it is subtracted.
        subtracted_from: Compared,
        /// Subtracted baselines.
        baselines: Vec<SubtractedBaseline>,
    },
    /// Of a closed loop: the run has too few packets to decide whether a metric of delay is within its tolerance.
    Note TooFewPackets {
        /// The direction.
        direction: ProbeDirection,
        /// The metric that needs the most packets, such as `delay_ns.p95`.
        metric: String,
        /// Its tolerance, nanoseconds.
        tolerance_ns: f64,
        /// Packets that were sent.
        packets: u64,
        /// Packets with which the 95 % confidence interval of the difference would be the tolerance on either side, if the path stays as it is.
        packets_needed: u64,
    },
    /// Of a closed loop: the emulator sent packets late, because this host was busy. A difference that is not larger may not be due to the
    /// model.
    Note EmulatorLate {
        /// The direction.
        direction: ProbeDirection,
        /// Measurement with the late emulator: B, the emulation, or A, a path that is an emulation on this host.
        measurement: Compared,
        /// The metric that it affects the most, such as `delay_ns.p95`.
        metric: String,
        /// How late the emulator was for this metric, nanoseconds.
        late_ns: f64,
        /// Tolerance of the metric, nanoseconds.
        tolerance_ns: f64,
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
    /// The direction of some losses is unknown. This direction of the model has all of them.
    Warning FatesUnknown {
        /// The direction.
        direction: ProbeDirection,
        /// The setting in the scenario.
        setting: String,
    },
    /// One-way delays are unknown. The scenario uses half of each round-trip delay in this direction.
    Warning DelaysHalved {
        /// The direction.
        direction: ProbeDirection,
        /// The setting in the scenario.
        setting: String,
    },
    /// One-way and round-trip delays are unknown. The scenario has no delay in this direction.
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
    /// The recording has the rates of a link alone. The scenario has no delay and no loss of the path in this direction, and a queue of
    /// 1 MiB before the link.
    Note RatesOnly {
        /// The direction.
        direction: ProbeDirection,
        /// The setting in the scenario.
        setting: String,
    },
    /// Simulated runs of the scenario differ from the measurement of which it is a model.
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
    /// The fate of some packets is unknown. The direction is excluded.
    Warning FatesUnknown {
        /// The direction.
        direction: ProbeDirection,
    },
    /// One-way delays are unknown. The direction is excluded.
    Warning DelaysUnknown {
        /// The direction.
        direction: ProbeDirection,
    },
    /// The clock offset is unknown. Delays are relative to the minimum of each direction.
    Note DelaysRelative,
    /// The measured delay includes the links around the emulator, which the scenario does not model.
    Note LinksIncluded,
    /// The emulator sent packets late, because this host was busy. The difference may not be due to the emulation.
    Note EmulatorLate {
        /// The direction.
        direction: ProbeDirection,
        /// By how much 1 % of the packets were late at least, nanoseconds.
        late_ns: f64,
    },
    /// The start of the scenario's timeline is unknown. Each simulated run starts at a random time of the
    /// timeline.
    Note TimelinePhaseUnknown,
    /// The scenario corrupts packets without repairing checksums. These probes are expected to be lost.
    Note CorruptedProbesLost,
    /// The scenario corrupts packets and repairs checksums. The contents of these probes may be wrong, which
    /// is not modelled.
    Note CorruptedProbesAltered,
}
}

/// One of the two compared measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Compared {
    /// Measurement A, the reference.
    A,
    /// Measurement B.
    B,
}

/// An event of a packet whose time stamps have different sources in A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DifferingSource {
    /// Event of the packet.
    pub stamp: StampMoment,
    /// Source in A; `null` if unknown.
    pub a: Option<romer_units::TimestampPoint>,
    /// Source in B; `null` if unknown.
    pub b: Option<romer_units::TimestampPoint>,
}

/// A subtracted baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubtractedBaseline {
    /// The direction.
    pub direction: ProbeDirection,
    /// Baseline, nanoseconds.
    pub baseline_ns: f64,
}
