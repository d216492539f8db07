//! How findings are put together.

use romer_host::HostError;
use romer_record::doctor::{CheckVerdict, DoctorCheck, DoctorFinding, DoctorFix, Facts};

/// A finding of something that is fully available.
pub(crate) fn good(check: DoctorCheck) -> DoctorFinding {
    DoctorFinding { check, verdict: CheckVerdict::Good, fix: None }
}

/// A finding of something that works, with a consequence to know.
pub(crate) fn limited(check: DoctorCheck, fix: DoctorFix) -> DoctorFinding {
    DoctorFinding { check, verdict: CheckVerdict::Limited, fix: Some(fix) }
}

/// A finding of something that does not work here.
pub(crate) fn missing(check: DoctorCheck, fix: DoctorFix) -> DoctorFinding {
    DoctorFinding { check, verdict: CheckVerdict::Missing, fix: Some(fix) }
}

/// A finding of something that could not be examined.
pub(crate) fn unknown<T>(check: fn(Facts<T>) -> DoctorCheck, error: &HostError) -> DoctorFinding {
    limited(check(Facts::Unknown { error: error.to_string() }), examine_elsewhere(error))
}

/// How to examine what could not be examined because of this error.
pub(crate) fn examine_elsewhere(error: &HostError) -> DoctorFix {
    if error.is_permission() { DoctorFix::RunAsRoot } else { DoctorFix::RunOnHost }
}

/// The command of a finding's fix, for tests.
#[cfg(test)]
pub(crate) fn command_of(finding: &DoctorFinding) -> &str {
    match &finding.fix {
        Some(DoctorFix::Command { command }) => command,
        other => panic!("no command: {other:?}"),
    }
}
