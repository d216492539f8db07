//! What becomes of the periods of an emulation that follows a measured path.

use crate::probe_direction::ProbeDirection;
use crate::warning::ModelWarning;

crate::warning::family::warnings! {
/// Result of a period of an emulation that follows a measured path.
RefitEvent {
    /// A scenario was fitted to the probes of the period, and applied.
    Note Refitted {
        /// Number of the period, from 1.
        period: u64,
        /// Time from which the scenario applies, nanoseconds after the start of the emulation: `at` of its step in the
        /// recorded timeline.
        at_ns: i64,
        /// Number of the scenario in `changes`.
        revision: u64,
        /// File of the scenario in the folder of the emulation; absent if none is saved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scenario: Option<String>,
        /// Number of probes that arrived, of the direction with the most.
        packets: u64,
        /// Directions in which the scenario does not reproduce the measurement.
        misfits: Vec<ProbeDirection>,
        /// Warnings about the scenario.
        warnings: Vec<ModelWarning>,
    },
    /// No probe of the period was answered. The previous scenario applies.
    Warning Unanswered {
        /// Number of the period, from 1.
        period: u64,
        /// Time of the detection, nanoseconds after the start of the emulation.
        at_ns: i64,
        /// Error of the measurement; absent if it ended without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A scenario could not be made of the period, applied or saved. The previous scenario applies, unless only the timeline could
    /// not be saved. Refits end if one cannot be saved.
    Warning RefitFailed {
        /// Number of the period, from 1.
        period: u64,
        /// Time of the failure, nanoseconds after the start of the emulation.
        at_ns: i64,
        /// Reason.
        error: String,
    },
    /// The period was not fitted, because a later period was measured before its turn.
    Note PeriodSkipped {
        /// Number of the period, from 1.
        period: u64,
        /// Time of the decision, nanoseconds after the start of the emulation.
        at_ns: i64,
    },
    /// Another scenario was applied during the run, for example with the console. It remains, and refits end.
    Warning Superseded {
        /// Number of the period, from 1, whose scenario was not applied.
        period: u64,
        /// Time of the detection, nanoseconds after the start of the emulation.
        at_ns: i64,
        /// Number of the other scenario in `changes`.
        revision: u64,
    },
    /// The recorded timeline has the largest size that a scenario can have. Later refits apply, and are not recorded.
    Warning TimelineFull {
        /// Number of the first period, from 1, that is not recorded.
        period: u64,
        /// Time of its scenario, nanoseconds after the start of the emulation.
        at_ns: i64,
    },
}
}
