//! Events of a benchmark.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::invalid::{InvalidCause, InvalidTrial};

/// An event during a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkEvent {
    /// Time of the event, nanoseconds after the start of the benchmark.
    pub at_ns: i64,
    /// Its code and severity, and its other fields.
    #[serde(flatten)]
    pub kind: BenchmarkEventKind,
}

/// Why a port of the tester carries no frames, or may carry others than it was opened for. As an error it is a predicate of the
/// port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum PortState {
    /// It was disabled on this host.
    #[error("is down on this host")]
    Down,
    /// It is enabled and has no carrier: its other end is disabled, or the cable is disconnected.
    #[error("has no carrier")]
    NoCarrier,
    /// Its interface has another name.
    #[error("was renamed to {name}")]
    Renamed {
        /// The new name.
        name: String,
    },
    /// Its interface was removed, or moved to another namespace.
    #[error("was removed from its namespace")]
    Gone,
}

impl PortState {
    /// Whether its cause is on this host, so that it is no property of the device.
    pub const fn is_of_host(&self) -> bool {
        !matches!(self, Self::NoCarrier)
    }

    /// Whether waiting may help.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Down | Self::NoCarrier)
    }
}

/// A port of the tester that carries no frames. As an error it has a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortCondition {
    /// The port.
    pub port: String,
    /// Why it carries no frames.
    #[serde(flatten)]
    pub state: PortState,
    /// A command that enables the port, restores its name, or lists the interfaces; `null` without a carrier.
    pub command: Option<String>,
}

impl fmt::Display for PortCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { port, state, command } = self;
        let command = command.as_deref().unwrap_or_default();
        write!(f, "the tester's port {port} {state}; ")?;
        match state {
            PortState::Down => write!(f, "switch it on with `{command}`"),
            PortState::NoCarrier => write!(f, "connect it, and check that its other end is up"),
            PortState::Renamed { .. } => write!(f, "restore its name with `{command}`"),
            PortState::Gone => write!(f, "`{command}` lists the interfaces"),
        }
    }
}

impl std::error::Error for PortCondition {}

/// Extent of an outage within a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outage", rename_all = "kebab-case")]
pub enum TrialOutage {
    /// The device forwarded again within the trial.
    Ended {
        /// Duration, nanoseconds.
        length_ns: i64,
        /// Number of frames that were sent in this time.
        frames: u64,
    },
    /// The outage lasted until after the end of the trial.
    BeyondEnd {
        /// Duration, nanoseconds.
        length_ns: i64,
        /// Number of frames that were sent in this time.
        frames: u64,
    },
    /// The outage lasted until the end of the trial. Its true duration may have exceeded the limit of an outage.
    UntilEnd {
        /// Duration within the trial, nanoseconds.
        length_ns: i64,
        /// Number of frames that were sent in this time.
        frames: u64,
        /// Time after the trial in which the outage may have continued, nanoseconds.
        unseen_ns: i64,
    },
    /// The device did not forward immediately after the trial either.
    NotEnded,
    /// A port of the tester lost its link.
    LinkLost {
        /// The port.
        port: String,
        /// When the link was available again.
        link: LinkRecovery,
    },
}

/// When a lost link was available again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "recovery", rename_all = "kebab-case")]
pub enum LinkRecovery {
    /// Not before the end of the trial.
    AfterTrial,
    /// At the end of the trial.
    AtEnd,
    /// Within the trial. No frame arrived until its end.
    SilentEnd {
        /// Time without an arrival at the end of the trial, nanoseconds.
        silence_ns: i64,
    },
    /// Within the trial, in which frames arrived again.
    InTrial {
        /// Longest time without an arrival, nanoseconds.
        silence_ns: i64,
    },
}

/// Effect of a pause of the device on the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum StallEffect {
    /// The frames were lost, and count as loss of the device.
    Loss {
        /// Whether the pause lasted until the end of the trial.
        until_end: bool,
        /// Duration from which a pause is an outage, nanoseconds.
        limit_ns: i64,
    },
    /// The device forwarded frames later. Their latency includes the pause.
    Latency {
        /// Number of pauses in the trial.
        pauses: u64,
        /// Whether the pause may be one of the host of a virtual device.
        may_be_host: bool,
    },
}

/// Outages of the device in a trial. Long: at least 0.1 s in which at least 50 frames were sent and none of
/// them arrived, or nothing arrived. Short, up to five: at least 1 % of the trial in which at least ten
/// frames were sent and nothing arrived, and at least five times the transmission time of the largest frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceOutages {
    /// Number of outages.
    pub count: u64,
    /// Total duration of the outages, nanoseconds.
    pub sum_ns: i64,
    /// Duration of the longest outage, nanoseconds.
    pub longest_ns: i64,
    /// Frames sent during the outages that did not arrive.
    pub lost: u64,
}

/// The last stored state of a benchmark that was continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResumedFrom {
    /// Its last trial.
    Trial,
    /// Its start, with the self-test.
    SelfTest,
    /// Its start, without any result.
    Start,
}

/// Number of invalid trials of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvalidTrials {
    /// The cause.
    pub cause: InvalidCause,
    /// Number of these trials.
    pub trials: u64,
}

/// A stream of which no frame arrived for a time, while those of others did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SilentStream {
    /// Name of the stream.
    pub stream: String,
    /// Case (device configuration).
    pub case: String,
    /// Frame size, bytes; `null` for a mixture.
    pub frame_size: Option<u32>,
    /// Mixture of frame sizes; `null` for one size.
    pub mixture: Option<String>,
    /// Requested load, percent of the line rate.
    pub load_percent: f64,
    /// Start of this time, nanoseconds after the start of the trial.
    pub from_ns: i64,
    /// Start of this time, nanoseconds after the start of the benchmark.
    pub since_ns: i64,
    /// Length of this time, nanoseconds.
    pub length_ns: i64,
    /// Number of frames of the stream that were sent in this time.
    pub frames: u64,
    /// Share of the frames of other streams that arrived in this time.
    pub others_ratio: f64,
    /// Whether no earlier frame of the stream arrived in the trial.
    pub from_start: bool,
    /// Whether no later frame of the stream arrived in the trial.
    pub to_end: bool,
    /// Whether the frames count as loss of the device; otherwise the trial is invalid for another reason.
    pub is_loss: bool,
}

/// A frame size of which no frame arrived, while those of others did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SilentSize {
    /// Frame size, bytes; `null` for a mixture.
    pub frame_size: Option<u32>,
    /// Mixture of frame sizes; `null` for one size.
    pub mixture: Option<String>,
    /// Case (device configuration).
    pub case: String,
    /// Start of this time, nanoseconds after the start of the first such trial.
    pub from_ns: i64,
    /// Number of such trials.
    pub trials: u64,
    /// Lowest requested load of these trials, percent of the line rate.
    pub min_load_percent: f64,
    /// Highest requested load of these trials, percent of the line rate.
    pub max_load_percent: f64,
}

crate::warning::family::warnings! {
/// An event of a benchmark.
BenchmarkEventKind {
    /// The device stopped forwarding between two trials. The benchmark waits for it.
    Warning DeviceSilent {
        /// Port of the tester that carries no frames; `null` if both do.
        port: Option<PortCondition>,
    },
    /// The device forwards again.
    Note DeviceBack {
        /// Duration of the outage, nanoseconds.
        away_ns: i64,
        /// Whether the duration is an upper bound.
        at_most: bool,
    },
    /// The device forwards again after its link was down: it rebooted, or the link was disconnected.
    Warning DeviceRebooted {
        /// Duration of the outage, nanoseconds.
        away_ns: i64,
    },
    /// The device did not forward again. The benchmark ends.
    Error DeviceGone {
        /// Time waited for the device (`--patience`), nanoseconds.
        waited_ns: i64,
        /// Port of the tester that carries no frames; `null` if both do.
        port: Option<PortCondition>,
    },
    /// The device forwarded nothing for 0.5 s or more within a trial. The trial is repeated.
    Warning DeviceAway {
        /// Start of the outage, nanoseconds after the start of the trial; `null` if unknown.
        from_ns: Option<i64>,
        /// Extent of the outage.
        #[serde(flatten)]
        outage: TrialOutage,
    },
    /// The device forwarded nothing for 0.1 to 0.5 s within a trial, or delayed frames for longer.
    Warning DeviceStalled {
        /// Start of the pause, nanoseconds after the start of the trial.
        from_ns: i64,
        /// Duration of the pause, nanoseconds.
        length_ns: i64,
        /// Number of frames that were sent in this time.
        frames: u64,
        /// Effect on the results.
        #[serde(flatten)]
        effect: StallEffect,
    },
    /// A trial stays invalid because of the device, although it was repeated.
    Warning DeviceUnsteady {
        /// `invalid` of the trial.
        invalid: InvalidTrial,
    },
    /// A reset took down the link of a port of the tester.
    Note LinkLost {
        /// The port.
        port: String,
        /// When the link was available again.
        link: LinkRecovery,
        /// Number of frames that could not be sent. They count as absence of the device.
        unsent_frames: u64,
    },
    /// No frame of one stream arrived for a time, while those of others did.
    Warning StreamSilent(SilentStream),
    /// Frames of a stream arrive again.
    Note StreamBack {
        /// Name of the stream.
        stream: String,
    },
    /// No frame of one size arrived from some time of a trial on, nor after its end, while those of other sizes did.
    /// They count as loss of the device.
    Warning SizeSilent(SilentSize),
    /// A port of the tester was disabled on this host. The benchmark waits for it.
    Warning PortDown {
        /// The port and its state.
        #[serde(flatten)]
        port: PortCondition,
    },
    /// A port of the tester was disabled on this host within a trial, which is invalid.
    Warning PortDownInTrial {
        /// The port.
        port: String,
    },
    /// A port of the tester is enabled again.
    Note PortUp {
        /// The port.
        port: String,
    },
    /// A port of the tester was not enabled again, or was removed or renamed. The benchmark ends.
    Error PortGone {
        /// The port and its state.
        #[serde(flatten)]
        port: PortCondition,
    },
    /// A trial is repeated because it is invalid.
    Note TrialRepeated {
        /// `invalid` of the trial.
        invalid: InvalidTrial,
    },
    /// A trial stays invalid because of the tester, although it was repeated.
    Warning TesterOverloaded {
        /// `invalid` of the trial.
        invalid: InvalidTrial,
    },
    /// The benchmark ended early, because too many trials were invalid because of the tester.
    Error TesterLimit {
        /// Number of trials that were invalid in all repetitions.
        invalid: u64,
        /// Number of all trials.
        trials: u64,
        /// The invalid trials by cause.
        causes: Vec<InvalidTrials>,
        /// Highest rate of a valid trial, frames per second; `null` if there was none.
        max_valid_pps: Option<f64>,
    },
    /// The clock of this host was set during a trial.
    Warning ClockSet,
    /// The command of a case, or the command that resets the device, was ended with the benchmark. The state of the
    /// device is unknown.
    Warning CommandEnded {
        /// The case; `null` for the command that resets the device (`--reset`).
        case: Option<String>,
    },
    /// The benchmark was continued (`--resume`).
    Note Resumed {
        /// Time since the last stored result, nanoseconds.
        away_ns: i64,
        /// The last stored result.
        since: ResumedFrom,
    },
}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event is written with its code, its severity and its fields side by side, however deep they are, and read again.
    #[test]
    fn written_and_read() {
        let renamed = PortCondition {
            port: "A/t0".into(),
            state: PortState::Renamed { name: "x".into() },
            command: Some("ip -n A link set x name t0".into()),
        };
        let lost = TrialOutage::LinkLost {
            port: "A/t0".into(),
            link: LinkRecovery::InTrial { silence_ns: 600_000_000 },
        };
        let all = [
            BenchmarkEvent { at_ns: 5, kind: BenchmarkEventKind::PortGone { port: renamed } },
            BenchmarkEvent { at_ns: 6, kind: BenchmarkEventKind::DeviceAway { from_ns: None, outage: lost } },
            BenchmarkEvent { at_ns: 7, kind: BenchmarkEventKind::ClockSet },
        ];
        let written = serde_json::to_value(&all).unwrap();
        let expected = serde_json::json!([
            {
                "at_ns": 5, "severity": "error", "code": "port-gone", "port": "A/t0", "state": "renamed", "name": "x",
                "command": "ip -n A link set x name t0"
            },
            {
                "at_ns": 6, "severity": "warning", "code": "device-away", "from_ns": null, "outage": "link-lost",
                "port": "A/t0", "link": { "recovery": "in-trial", "silence_ns": 600_000_000 }
            },
            { "at_ns": 7, "severity": "warning", "code": "clock-set" },
        ]);
        assert_eq!(written, expected);
        assert_eq!(serde_json::from_value::<Vec<BenchmarkEvent>>(written).unwrap(), all);
    }
}
