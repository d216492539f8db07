//! What `romer doctor` finds out about this machine.

mod check;
mod facts;
mod fix;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

pub use check::{
    BufferSizes, CoalescingState, DoctorCheck, FeaturePresence, HostCapability, InterfaceCoalescing,
    InterfaceOffloads, InterfaceXdp, Interfaces, InterruptState, KernelClock, LabMethod, LabOutcome,
    LoopbackExchange, NicStamping, NicState, OffloadState, PortHolder, PortUse, Privileges, SchedulingClass,
    StolenTime, XdpModes,
};
pub use facts::Facts;
pub use fix::DoctorFix;

/// Abilities of this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// `romer/doctor/1`.
    pub schema: String,
    /// Version of romer.
    pub software: String,
    /// Results of the checks, most important first.
    pub findings: Vec<ExplainedFinding>,
}

/// Result of a check: good, limited or missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// Fully available.
    Good,
    /// Available with a limitation.
    Limited,
    /// Not available on this machine.
    Missing,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorFinding {
    /// The check, with what it observed.
    #[serde(flatten)]
    pub check: DoctorCheck,
    /// Result: good, limited or missing.
    pub verdict: CheckVerdict,
    /// Remedy; `null` if there is none.
    pub fix: Option<DoctorFix>,
}

/// Result of one check, with its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedFinding {
    /// The result.
    #[serde(flatten)]
    pub finding: DoctorFinding,
    /// The same as text.
    pub text: DoctorText,
}

/// Result of one check as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorText {
    /// Observation.
    pub observed: String,
    /// Consequence for the user.
    pub consequence: String,
    /// Remedy: a sentence, or a command for a shell; `null` if there is none.
    pub fix: Option<String>,
}

/// The JSON schemas of the checks and of the fixes, each with its name, for the reference.
pub fn schemas() -> [(&'static str, Schema); 2] {
    [("Checks", schemars::schema_for!(DoctorCheck)), ("Fixes", schemars::schema_for!(DoctorFix))]
}

impl DoctorCheck {
    /// Its `code` in documents.
    pub fn code(&self) -> String {
        let written = serde_json::to_value(self).unwrap_or_default();
        written.get("code").and_then(|code| code.as_str()).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(check: DoctorCheck, fix: Option<DoctorFix>) -> ExplainedFinding {
        let text = DoctorText { observed: "A.".into(), consequence: "B.".into(), fix: None };
        ExplainedFinding { finding: DoctorFinding { check, verdict: CheckVerdict::Limited, fix }, text }
    }

    /// The code, the facts, the verdict and the text of a finding are written side by side, and read again.
    #[test]
    fn findings_are_written_and_read() {
        let sizes = BufferSizes { requested_octets: 4_096, granted_octets: 2_048 };
        let fix = DoctorFix::Command { command: "sysctl -w a=1".into() };
        let known = explained(DoctorCheck::ReceiveBuffer(Facts::Known(sizes)), Some(fix));
        let expected = serde_json::json!({
            "code": "receive-buffer", "requested_octets": 4_096, "granted_octets": 2_048, "verdict": "limited",
            "fix": { "code": "command", "command": "sysctl -w a=1" },
            "text": { "observed": "A.", "consequence": "B.", "fix": null },
        });
        let unknown =
            explained(DoctorCheck::ReceiveBuffer(Facts::Unknown { error: "not permitted".into() }), None);
        assert_eq!(serde_json::to_value(&known).unwrap(), expected);
        for finding in [known, unknown] {
            let written = serde_json::to_value(&finding).unwrap();
            assert_eq!(serde_json::from_value::<ExplainedFinding>(written).unwrap(), finding);
        }
    }

    /// Every check and every fix has a code and a description.
    #[test]
    fn schemas_have_codes() {
        for (name, schema) in schemas() {
            let variants = schema.get("oneOf").and_then(|all| all.as_array()).expect(name);
            for variant in variants {
                assert!(variant["properties"]["code"]["const"].is_string(), "{name}: {variant}");
                assert!(variant["description"].is_string(), "{name}: {variant}");
            }
        }
    }

    /// Codes of the ports have their numbers.
    #[test]
    fn codes_of_ports() {
        let port = PortUse::Free;
        let check = DoctorCheck::StampPort { ipv4: port, ipv6: port, holder: None };
        assert_eq!(check.code(), "port-862");
        assert_eq!(DoctorCheck::ControlPort { ipv4: port, holder: None }.code(), "port-8862");
    }
}
