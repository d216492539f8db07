//! Why a trial tells nothing of the device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reason why a trial is invalid.
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
