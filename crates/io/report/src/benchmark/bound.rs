//! What limits a result, and what gave none, as text.

use romer_record::benchmark::{NoEvidence, ResultBound};

use crate::sentence::Text;

impl Text for ResultBound {
    fn text(&self) -> String {
        let text = match self {
            Self::Tester => "the tester",
            Self::DeviceUnreachable => "an outage of the device",
            Self::LineRate => "the line",
            Self::LongestBurst => "the longest burst of the procedure",
            Self::TrialEnd => "the end of the trial",
            Self::NoPassingLoad => "no passing load",
            Self::NoOverloadLoss => "an overload without loss",
            Self::NoDeviceLoss => "an overload without loss except in bursts of the tester",
        };
        text.into()
    }
}

impl Text for NoEvidence {
    fn text(&self) -> String {
        match self {
            Self::InvalidTrial(invalid) => invalid.text(),
            Self::NoRecovery(by) => format!("no recovery found: bounded by {}", by.text()),
            Self::NoPassingLoad(by) => format!("no load passed: bounded by {}", by.text()),
        }
    }
}
