//! The warnings of an emulation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::port_direction::PortDirection;

crate::warning::family::warnings! {
/// A warning of an emulation.
EmulationWarning {
    // The scenario.
    /// The scenario has no impairment.
    Note ScenarioEmpty,
    /// A recorded link delivers nothing for a long time at its beginning.
    Note TraceSilent {
        /// The setting in the scenario.
        setting: String,
        /// Duration of this time, nanoseconds.
        silence_ns: i64,
    },
    /// A Markov chain ends in a subset of its states (absorbing).
    Warning ChainAbsorbed {
        /// The setting in the scenario.
        setting: String,
        /// Absorbing states.
        states: Vec<usize>,
        /// Whether the chain must end there.
        certainty: Absorption,
        /// Minimum loss ratio in these states; absent if it is random.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_loss_ratio: Option<f64>,
        /// Maximum loss ratio in these states; absent if it is random.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_loss_ratio: Option<f64>,
    },
    /// A queue is shorter than long frames, which it always drops.
    Warning QueueShort {
        /// The setting in the scenario.
        setting: String,
        /// Length of the queue, bytes.
        queue_bytes: u64,
    },
    /// A delay distribution is truncated at 0.
    Note DelayTruncated {
        /// The setting in the scenario.
        setting: String,
        /// Share of the distribution below 0, which is not drawn.
        below_zero_ratio: f64,
    },
    /// A delay distribution exceeds 1 h. Longer delays are limited to 1 h.
    Note DelayLimited {
        /// The setting in the scenario.
        setting: String,
        /// Share of the distribution above 1 h.
        above_ratio: f64,
    },
    /// Packets that are close together have more correlated delays than requested, because their order is
    /// preserved.
    Note CorrelationRaised {
        /// The setting in the scenario.
        setting: String,
        /// Time between packets above which the correlation is as requested, nanoseconds.
        spacing_ns: f64,
    },
    /// Delays change more slowly than requested, because packets keep their order.
    Note CorrelationTimeRaised {
        /// The setting in the scenario.
        setting: String,
        /// The requested correlation time, nanoseconds.
        requested_ns: i64,
        /// Delays within this time are more similar than requested, nanoseconds.
        similar_within_ns: i64,
    },
    /// Packets wait at changes of state, because their order is preserved.
    Note StateChangesWait {
        /// The setting in the scenario.
        setting: String,
    },
    /// Recorded delays are relative to their minimum. `fixed` adds the minimum delay of the path.
    Note TraceRelative {
        /// The setting in the scenario.
        setting: String,
    },
    /// A new scenario has another seed or generator. This run keeps those of its start; the new ones are not
    /// used.
    Note SeedKept {
        /// Unused seed, if it differs.
        seed: String,
        /// Unused generator, if it differs.
        generator: String,
    },
    /// The scenario has another seed. This run keeps its own; the new seed applies at the next start.
    Note SeedOfStart {
        /// Seed of the run.
        seed: String,
        /// Seed of the scenario.
        scenario_seed: String,
    },
    /// Earlier scenarios are no longer listed.
    Note EarlierScenariosDropped {
        /// First listed revision.
        first_revision: u64,
    },
    /// Impairments were off at the end (master switch). Packets passed unchanged.
    Warning ImpairmentsOff {
        /// Start of this time, RFC 3339.
        since: String,
    },
    /// Summaries were reset during the run. Counters cover all packets.
    Note SummariesReset {
        /// Time of the last reset, RFC 3339.
        since: String,
    },

    // The ports.
    /// A port has addresses of this host, which answers there and bypasses the emulator.
    Warning PortHasAddresses {
        /// Name of the port.
        port: String,
        /// Addresses of the port.
        addresses: Vec<String>,
    },
    /// The link of a port is down. Packets to it are lost.
    Warning LinkDown {
        /// The port.
        port: String,
    },
    /// The link of a port was down during the run. Packets to it were lost.
    Warning LinkWasDown {
        /// The port, `a` or `b`.
        port: String,
        /// Number of times.
        times: u64,
        /// Total duration, nanoseconds.
        total_ns: i64,
    },
    /// The MTUs of the ports differ. Longer packets are lost.
    Warning MtusDiffer {
        /// The port with the smaller MTU.
        narrow_port: String,
        /// Smaller MTU, bytes.
        narrow_mtu_bytes: u32,
        /// The port with the larger MTU.
        wide_port: String,
        /// Larger MTU, bytes.
        wide_mtu_bytes: u32,
    },
    /// A port could not be returned to its bridge.
    Error BridgeNotRestored {
        /// The port.
        port: String,
        /// The bridge.
        bridge: String,
        /// Command that returns it.
        command: String,
    },
    /// The offloads of a port could not be restored.
    Error OffloadsNotRestored {
        /// The port.
        port: String,
        /// Command that restores them.
        command: String,
    },

    // The buffer.
    /// With short frames, the queues and rate limits of the scenario need more buffer than is available.
    Warning BufferShortForFrames {
        /// Maximum number of queued bytes.
        max_queued_bytes: u64,
        /// Capacity of the buffer, frames.
        buffer_frames: u64,
        /// Mean frame size below which frames are lost, bytes.
        mean_frame_bytes: u64,
    },
    /// At high rates, the delays of the scenario need more buffer than is available.
    Warning BufferShortForDelay {
        /// Longest delay, nanoseconds.
        delay_ns: i64,
        /// Capacity of the buffer, frames.
        buffer_frames: u64,
        /// Rate above which frames are lost, packets per second.
        limit_pps: i64,
        /// Direction; absent for both.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        direction: Option<PortDirection>,
    },
    /// Packets were nearer to each other, or further apart, than those of the measurement that the scenario was made of.
    Note SpacingUnsupported {
        /// The direction.
        direction: PortDirection,
        /// The median time between packets, nanoseconds.
        median_ns: f64,
        /// The limit that it is beyond, nanoseconds.
        limit_ns: f64,
    },
    /// Packets were shorter or longer than those of the measurement that the scenario was made of.
    Note SizeUnsupported {
        /// The direction.
        direction: PortDirection,
        /// The mean size of IP packets, bytes.
        mean_bytes: f64,
        /// The limit that it is beyond, bytes.
        limit_bytes: f64,
    },
    /// The load was higher than that of the measurement that the scenario was made of.
    Note LoadUnsupported {
        /// The direction.
        direction: PortDirection,
        /// The mean load of IP packets, bits or packets per second.
        mean_per_s: f64,
        /// The highest load of the measurement.
        limit: String,
    },
    /// Packets arrived while the buffer was full, and count as lost by a queue.
    Warning BufferFull {
        /// The direction.
        direction: PortDirection,
        /// Number of lost packets.
        packets: u64,
    },
    /// Samples of packets are missing, because writing was too slow. Counters include them.
    Warning SamplesMissing {
        /// Number of missing samples.
        packets: u64,
    },
    /// Charts show only the first packets of each direction.
    Note ChartsLimited {
        /// Number of packets shown for a direction.
        shown: u64,
        /// Number of packets not shown.
        more: u64,
    },

    // The delays.
    /// The delay distribution has no finite variance, so that the mean of a run cannot be compared with the
    /// requested mean.
    Note VarianceInfinite {
        /// The direction.
        direction: PortDirection,
    },
    /// Delays are correlated, and the run is too short to estimate the error of their mean.
    Warning CorrelationLong {
        /// The direction.
        direction: PortDirection,
        /// Upper bound of the effective sample size.
        max_effective_delays: f64,
    },
    /// The run has few independent delays. Its mean and standard deviation may deviate from the requested ones by chance.
    Note FewIndependentDelays {
        /// The direction.
        direction: PortDirection,
        /// Number of delays.
        delays: u64,
        /// Effective sample size.
        effective_delays: f64,
        /// Possible deviation of the mean (95 %), nanoseconds.
        mean_error_ns: f64,
        /// Possible deviation of the standard deviation (95 %), as a share of it.
        deviation_error_ratio: f64,
    },
    /// The order `exact` limits the delay variation from packet to packet, because packets are close
    /// together.
    Note VariationLimited {
        /// The direction.
        direction: PortDirection,
        /// Width of the central 80 % of the delays, nanoseconds.
        width_ns: f64,
        /// Time between packets, nanoseconds.
        spacing_ns: f64,
    },
    /// Displaced packets left before the drawn number of packets had overtaken them, because the flush time expired.
    Warning FlushedEarly {
        /// The direction.
        direction: PortDirection,
        /// Number of packets that left early.
        flushed: u64,
        /// Number of displaced packets.
        displaced: u64,
    },

    // Offline.
    /// No packet arrived.
    Error NoArrivals,
    /// Arrivals were sorted by time.
    Note ArrivalsSorted {
        /// Number of arrivals after a later one.
        packets: u64,
    },
    /// Arrivals in CSV have no headers. The settings at the top level apply to all packets.
    Warning ArrivalsWithoutHeaders,
    /// Packets of a capture had no time or were truncated, and are ignored.
    Warning CapturePacketsIgnored {
        /// Number of ignored packets.
        packets: u64,
    },
    /// Frames above the MTU were segmented.
    Note FramesSegmented {
        /// Number of such frames.
        frames: u64,
        /// Number of resulting segments.
        segments: u64,
        /// MTU, bytes.
        mtu_bytes: u32,
        /// Largest frame, bytes.
        largest_bytes: u32,
    },
    /// Frames above the MTU are ignored.
    Warning FramesAboveMtu {
        /// Number of such frames.
        frames: u64,
        /// MTU, bytes.
        mtu_bytes: u32,
        /// Largest frame, bytes.
        largest_bytes: u32,
    },
}
}

/// Whether a Markov chain ends in a subset of its states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Absorption {
    /// The chain starts there.
    Initial,
    /// The chain may end there, or in other states.
    Possible,
    /// The chain always ends there.
    Certain,
}
