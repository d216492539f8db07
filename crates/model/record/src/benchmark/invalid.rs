//! Why a trial tells nothing of the device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of which kind the reason is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InvalidCause {
    /// Stalls of the tester made the load another one, or may have cost the frames.
    TesterStalled,
    /// The tester dropped frames unread.
    TesterDropped,
    /// The tester sent too few frames.
    TesterSlow,
    /// The rate is above the one that the tester has proved.
    NotProven,
    /// The sending port refused frames.
    PortRefused,
    /// A port of the tester was down on this host, renamed or removed.
    PortDown,
    /// A clock of this host was set.
    ClockSet,
    /// The device was away.
    DeviceUnreachable,
    /// The device, or its host, paused, so that a claim is not decided.
    DeviceStalled,
}

impl InvalidCause {
    /// In a few words, for lists.
    pub const fn text(self) -> &'static str {
        match self {
            Self::TesterStalled => "tester stalled",
            Self::TesterDropped => "tester dropped frames",
            Self::TesterSlow => "tester too slow",
            Self::NotProven => "rate above the self-test",
            Self::PortRefused => "port refused frames",
            Self::PortDown => "port down",
            Self::ClockSet => "clock set",
            Self::DeviceUnreachable => "device stopped forwarding",
            Self::DeviceStalled => "device stalled",
        }
    }
}
