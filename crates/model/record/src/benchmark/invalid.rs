//! Why a trial is no evidence about the device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{DeviceOutages, PortState};

/// Kind of the reason why a trial is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InvalidCause {
    /// A pause of the tester changed the load, or may have caused losses.
    TesterStalled,
    /// The tester received frames and dropped them before it read them.
    TesterDropped,
    /// The tester sent fewer frames than requested.
    TesterSlow,
    /// The rate exceeds the highest rate that the self-test verified.
    NotProven,
    /// The transmit port rejected frames.
    PortRefused,
    /// A port of the tester was down, renamed or removed.
    PortDown,
    /// A clock of the testing host was set.
    ClockSet,
    /// The device did not forward (outage).
    DeviceUnreachable,
    /// The device, or its host, paused, so that the trial does not decide the claim.
    DeviceStalled,
}

/// Reason why a trial is invalid, with its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum InvalidTrial {
    /// A pause of the tester changed the load, or may have caused losses.
    TesterStalled {
        /// Effect of the pause.
        #[serde(flatten)]
        effect: TesterStall,
    },
    /// The tester received frames and dropped them before it read them.
    TesterDropped {
        /// The lost frames.
        #[serde(flatten)]
        loss: UncertainLoss,
    },
    /// The tester sent fewer frames than requested.
    TesterSlow {
        /// Number of frames that were sent.
        sent_frames: u64,
        /// Number of frames that were due.
        due_frames: u64,
        /// Rate of the tester while it did not pause, frames per second.
        sent_pps: f64,
    },
    /// The rate exceeds the highest rate that the self-test verified.
    NotProven {
        /// Number of frames that did not arrive.
        lost_frames: u64,
        /// Highest rate of the trial, frames per second.
        intended_pps: f64,
        /// Highest rate of the self-test, frames per second.
        proven_pps: f64,
        /// Upper bound of the loss ratio at such rates in the self-test, without counted losses; `null` if it did not
        /// test them.
        self_test_loss_ratio: Option<f64>,
        /// Lower and upper bound of the device's loss.
        lost_by_device: [u64; 2],
    },
    /// The transmit port rejected frames.
    PortRefused {
        /// The port.
        port: String,
        /// Why it rejected them.
        refusal: PortRefusal,
        /// Whether the frames are longer than the usual MTU.
        long_frames: bool,
    },
    /// A port of the tester was down, renamed or removed.
    PortDown {
        /// The port.
        port: String,
        /// Its state after the trial; `null` if it was enabled again by then.
        after: Option<PortState>,
    },
    /// A clock of the testing host was set.
    ClockSet,
    /// The device did not forward (outage).
    DeviceUnreachable {
        /// How this was found.
        #[serde(flatten)]
        absence: DeviceAbsence,
    },
    /// The device, or its host, paused, so that the trial does not decide the claim.
    DeviceStalled {
        /// The pauses.
        #[serde(flatten)]
        outages: DeviceOutages,
        /// Duration of the trial, nanoseconds.
        trial_ns: i64,
        /// Number of claims that are not decided.
        claims: u64,
    },
}

/// Effect of pauses of the tester on a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum TesterStall {
    /// The tester then sent a burst, so that the load differs from the intended one.
    Burst {
        /// Longest lateness, nanoseconds.
        stalled_ns: i64,
        /// Duration of the trial, nanoseconds.
        trial_ns: i64,
        /// Number of frames of the largest burst.
        burst_frames: u64,
    },
    /// Frames were not sent.
    Unsent {
        /// Total duration of the pauses, nanoseconds.
        stalled_ns: i64,
        /// Number of frames that were sent.
        sent_frames: u64,
        /// Number of frames that were due.
        due_frames: u64,
    },
    /// Lost frames may have been lost because of bursts.
    Loss {
        /// The lost frames.
        #[serde(flatten)]
        loss: UncertainLoss,
    },
    /// The end of a burst was sent late, so that the device had to buffer less of it.
    ShortBurst {
        /// Number of frames that the device did not have to buffer.
        unbuffered_frames: f64,
        /// Number of frames of the burst.
        burst_frames: u64,
    },
}

/// Lost frames of which too many may have been lost by the tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UncertainLoss {
    /// Number of frames that were sent.
    pub sent_frames: u64,
    /// Number of frames that did not arrive.
    pub lost_frames: u64,
    /// Upper bound of the number of frames that the tester dropped unread.
    pub dropped_frames: u64,
    /// Number of frames that were sent in or after bursts that the tester's pauses caused.
    pub stall_affected: u64,
    /// Number of these that did not arrive.
    pub stall_affected_lost: u64,
    /// Longest pause, nanoseconds.
    pub stalled_ns: i64,
    /// Lower and upper bound of the device's loss.
    pub lost_by_device: [u64; 2],
}

/// Why a port rejects frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortRefusal {
    /// It was busy.
    Busy,
    /// The frames are longer than its MTU.
    Oversize,
    /// It was down.
    Down,
}

/// Evidence that the device did not forward.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "absence", rename_all = "kebab-case")]
pub enum DeviceAbsence {
    /// No frame arrived for a time.
    Silence {
        /// Length of this time, nanoseconds.
        length_ns: i64,
    },
    /// A port of the tester lost its link.
    LinkLost {
        /// The port.
        port: String,
    },
    /// No frame arrived until the end of the trial, nor after it.
    NotEnded,
}

impl InvalidTrial {
    /// The kind of the reason.
    pub const fn cause(&self) -> InvalidCause {
        match self {
            Self::TesterStalled { .. } => InvalidCause::TesterStalled,
            Self::TesterDropped { .. } => InvalidCause::TesterDropped,
            Self::TesterSlow { .. } => InvalidCause::TesterSlow,
            Self::NotProven { .. } => InvalidCause::NotProven,
            Self::PortRefused { .. } => InvalidCause::PortRefused,
            Self::PortDown { .. } => InvalidCause::PortDown,
            Self::ClockSet => InvalidCause::ClockSet,
            Self::DeviceUnreachable { .. } => InvalidCause::DeviceUnreachable,
            Self::DeviceStalled { .. } => InvalidCause::DeviceStalled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reason is written with its cause and its figures side by side, and read again.
    #[test]
    fn written_and_read() {
        let loss = UncertainLoss {
            sent_frames: 100,
            lost_frames: 9,
            dropped_frames: 0,
            stall_affected: 40,
            stall_affected_lost: 9,
            stalled_ns: 30_000_000,
            lost_by_device: [0, 9],
        };
        let all = [
            InvalidTrial::TesterStalled { effect: TesterStall::Loss { loss } },
            InvalidTrial::PortDown { port: "a".into(), after: Some(PortState::Down) },
            InvalidTrial::DeviceUnreachable { absence: DeviceAbsence::NotEnded },
            InvalidTrial::ClockSet,
        ];
        let written = serde_json::to_value(&all).unwrap();
        let expected = serde_json::json!([
            {
                "cause": "tester-stalled", "effect": "loss", "sent_frames": 100, "lost_frames": 9, "dropped_frames": 0,
                "stall_affected": 40, "stall_affected_lost": 9, "stalled_ns": 30_000_000, "lost_by_device": [0, 9]
            },
            { "cause": "port-down", "port": "a", "after": { "state": "down" } },
            { "cause": "device-unreachable", "absence": "not-ended" },
            { "cause": "clock-set" },
        ]);
        assert_eq!(written, expected);
        assert_eq!(serde_json::from_value::<Vec<InvalidTrial>>(written.clone()).unwrap(), all);
        // The kind is the tag.
        for (one, written) in all.iter().zip(written.as_array().unwrap()) {
            assert_eq!(serde_json::to_value(one.cause()).unwrap(), written["cause"]);
        }
    }
}
