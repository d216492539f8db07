//! The warnings of an emulation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::port_direction::PortDirection;

crate::warning::family::warnings! {
/// A warning of an emulation.
EmulationWarning {
    // The scenario.
    /// The scenario impairs nothing.
    Note ScenarioEmpty,
    /// A recorded link delivers nothing for a long time at its beginning.
    Note TraceSilent {
        /// The setting in the scenario.
        setting: String,
        /// The time, nanoseconds.
        silence_ns: i64,
    },
    /// A Markov chain ends in a subset of its states.
    Warning ChainAbsorbed {
        /// The setting in the scenario.
        setting: String,
        /// The states.
        states: Vec<usize>,
        /// Whether it must end there.
        certainty: Absorption,
        /// The smallest share of packets that is lost there; absent if it is random.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_loss_ratio: Option<f64>,
        /// The largest share of packets that is lost there; absent if it is random.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_loss_ratio: Option<f64>,
    },
    /// A queue is shorter than long frames, which are always lost there.
    Warning QueueShort {
        /// The setting in the scenario.
        setting: String,
        /// The length of the queue, bytes.
        queue_bytes: u64,
    },
    /// A delay distribution is truncated at 0.
    Note DelayTruncated {
        /// The setting in the scenario.
        setting: String,
        /// The share below 0, of which none is drawn.
        below_zero_ratio: f64,
    },
    /// A delay distribution exceeds an hour. These packets are delayed by an hour.
    Note DelayLimited {
        /// The setting in the scenario.
        setting: String,
        /// The share above an hour.
        above_ratio: f64,
    },
    /// Packets that are close together have more similar delays than requested, because their order is preserved.
    Note CorrelationRaised {
        /// The setting in the scenario.
        setting: String,
        /// The time between packets from which on it is as requested, nanoseconds.
        spacing_ns: f64,
    },
    /// Delays change more slowly than requested, because packets keep their order.
    Note CorrelationTimeRaised {
        /// The setting in the scenario.
        setting: String,
        /// The requested correlation time, nanoseconds.
        requested_ns: i64,
        /// Delays within this time are more similar than requested, nanoseconds.
        alike_ns: i64,
    },
    /// Packets wait at changes of state, because their order is preserved.
    Note StateChangesWait {
        /// The setting in the scenario.
        setting: String,
    },
    /// Recorded delays count from the smallest one. `fixed` adds the minimum delay of the path.
    Note TraceRelative {
        /// The setting in the scenario.
        setting: String,
    },
    /// A new scenario has another seed or generator, which is not used: those of the start remain.
    Note SeedKept {
        /// The seed.
        seed: String,
        /// The generator.
        generator: String,
    },
    /// The scenario has another seed than the run, which is used when another run is started.
    Note SeedOfStart {
        /// The seed of the run.
        seed: String,
        /// The seed of the scenario.
        scenario_seed: String,
    },
    /// Earlier scenarios are no longer listed.
    Note EarlierScenariosDropped {
        /// The first revision that is listed.
        first_revision: u64,
    },
    /// The master switch was off at the end. Packets passed unimpaired.
    Warning Passing {
        /// Since when (RFC 3339).
        since: String,
    },
    /// Summaries were reset during the run. Counters cover all packets.
    Note SummariesReset {
        /// When (RFC 3339).
        since: String,
    },

    // The ports.
    /// A port has addresses of this host, which answers there and bypasses the emulator.
    Warning PortHasAddresses {
        /// The port.
        port: String,
        /// The addresses.
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
        /// How often.
        times: u64,
        /// For how long in total, nanoseconds.
        total_ns: i64,
    },
    /// The MTUs of the ports differ. Longer packets are lost.
    Warning MtusDiffer {
        /// The port with the smaller MTU.
        narrow_port: String,
        /// Its MTU, bytes.
        narrow_mtu_bytes: u32,
        /// The port with the larger MTU.
        wide_port: String,
        /// Its MTU, bytes.
        wide_mtu_bytes: u32,
    },
    /// A port could not be returned to its bridge.
    Error BridgeNotRestored {
        /// The port.
        port: String,
        /// The bridge.
        bridge: String,
        /// A command that does it.
        command: String,
    },
    /// The offloads of a port could not be restored.
    Error OffloadsNotRestored {
        /// The port.
        port: String,
        /// The command that restores them.
        command: String,
    },

    // The buffer.
    /// The rates and queues of the scenario hold more short frames than the buffer can.
    Warning BufferShortForFrames {
        /// The bytes that they hold.
        held_bytes: u64,
        /// Capacity of the buffer in frames.
        buffer_frames: u64,
        /// Frames are lost if the mean frame size is below this, bytes.
        mean_frame_bytes: u64,
    },
    /// At high rates, the delays of the scenario hold more frames than the buffer can.
    Warning BufferShortForDelay {
        /// The longest delay, nanoseconds.
        delay_ns: i64,
        /// Capacity of the buffer in frames.
        buffer_frames: u64,
        /// Frames are lost above this rate, packets per second.
        limit_pps: i64,
        /// The direction; absent if it is of both.
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
    /// Packets found the buffer full, and count as lost by a queue.
    Warning BufferFull {
        /// The direction.
        direction: PortDirection,
        /// The packets.
        packets: u64,
    },
    /// Samples of packets are missing, because writing was too slow. Counters include them.
    Warning SamplesMissing {
        /// The packets.
        packets: u64,
    },
    /// Charts show the first packets of each direction.
    Note ChartsLimited {
        /// The packets that are shown of a direction.
        shown: u64,
        /// The others.
        more: u64,
    },

    // The delays.
    /// The delay distribution has no finite variance. No run gives a mean that can be compared with the requested one.
    Note VarianceInfinite {
        /// The direction.
        direction: PortDirection,
    },
    /// Delays are correlated, and the run is too short to estimate how far its mean may deviate from the requested one.
    Warning CorrelationLong {
        /// The direction.
        direction: PortDirection,
        /// The effective sample size is below this.
        max_effective_delays: f64,
    },
    /// The run has few independent delays. Its mean and standard deviation may deviate from the requested ones by chance.
    Note FewIndependentDelays {
        /// The direction.
        direction: PortDirection,
        /// The delays.
        delays: u64,
        /// The effective sample size.
        effective_delays: f64,
        /// The possible deviation of the mean (95 %), nanoseconds.
        mean_error_ns: f64,
        /// The possible deviation of the standard deviation (95 %), as a share of it.
        deviation_error_ratio: f64,
    },
    /// Exact order limits how much delays vary from packet to packet, because packets are close together.
    Note VariationLimited {
        /// The direction.
        direction: PortDirection,
        /// The width of 80 % of the delays, nanoseconds.
        width_ns: f64,
        /// The time between packets, nanoseconds.
        spacing_ns: f64,
    },
    /// Displaced packets left before the drawn number of packets had overtaken them, because the flush time expired.
    Warning FlushedEarly {
        /// The direction.
        direction: PortDirection,
        /// Packets that left early.
        flushed: u64,
        /// Displaced packets.
        displaced: u64,
    },

    // Offline.
    /// No packet arrived.
    Error NoArrivals,
    /// Arrivals were sorted by time.
    Note ArrivalsSorted {
        /// Arrivals after a later one.
        packets: u64,
    },
    /// Arrivals in CSV have no headers. All packets took the settings at the top level.
    Warning ArrivalsWithoutHeaders,
    /// Packets of a capture had no time or were truncated, and did not arrive.
    Warning CapturePacketsIgnored {
        /// The packets.
        packets: u64,
    },
    /// Frames above the MTU were segmented.
    Note FramesSegmented {
        /// The frames.
        frames: u64,
        /// What they became.
        segments: u64,
        /// The MTU, bytes.
        mtu_bytes: u32,
        /// The largest of them, bytes.
        largest_bytes: u32,
    },
    /// Frames above the MTU were not used.
    Warning FramesAboveMtu {
        /// The frames.
        frames: u64,
        /// The MTU, bytes.
        mtu_bytes: u32,
        /// The largest of them, bytes.
        largest_bytes: u32,
    },
}
}

/// Whether a Markov chain ends in a subset of its states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Absorption {
    /// It begins there.
    Initial,
    /// It may: there are others.
    Possible,
    /// It will.
    Certain,
}
