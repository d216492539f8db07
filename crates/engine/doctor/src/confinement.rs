//! Which layers confine a command of romer on this kernel.

use romer_confine::{Support, support};
use romer_record::document::DoctorFinding;

use crate::finding::{WithValue, good, limited};

const NAME: &str = "confinement";

/// Asks the kernel.
pub(crate) fn look() -> Support {
    support()
}

/// What its answer means.
pub(crate) fn evaluate(found: Support) -> DoctorFinding {
    let Support { system_calls, landlock } = found;
    let layer =
        |is_there, name| if is_there { format!("Available: {name}.") } else { format!("Missing: {name}.") };
    let files = match landlock {
        Some(version) => format!("Landlock (version {version})"),
        None => "Landlock".into(),
    };
    let observed =
        format!("{} {}", layer(system_calls, "filters of system calls"), layer(landlock.is_some(), &files));
    let finding = if system_calls && landlock.is_some() {
        let consequence = "After its set-up, a command gives up capabilities, system calls and files that it does not need.";
        good(NAME, observed, consequence)
    } else {
        limited(
            NAME,
            observed,
            "A fault in romer harms this host more than with all layers. Capabilities are given up in any case.",
            "Use a kernel with CONFIG_SECCOMP_FILTER and CONFIG_SECURITY_LANDLOCK, and \"landlock\" in /sys/kernel/security/lsm.",
        )
    };
    finding.value("seccomp", system_calls).value("landlock", landlock)
}

#[cfg(test)]
mod tests {
    use romer_record::document::CheckVerdict;

    use super::*;

    /// A layer that the kernel does not have is named, with what provides it.
    #[test]
    fn missing_layers_are_named() {
        let all = evaluate(Support { system_calls: true, landlock: Some(7) });
        assert_eq!((all.verdict, all.fix), (CheckVerdict::Good, None));
        assert_eq!(all.observed, "Available: filters of system calls. Available: Landlock (version 7).");
        let some = evaluate(Support { system_calls: true, landlock: None });
        assert_eq!(some.verdict, CheckVerdict::Limited);
        assert!(some.observed.ends_with("Missing: Landlock."), "{}", some.observed);
        assert!(some.fix.unwrap().contains("landlock"));
    }
}
