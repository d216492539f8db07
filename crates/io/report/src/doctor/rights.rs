//! Capabilities, labs and confinement.

use romer_record::doctor::{HostCapability, LabMethod, LabOutcome, Privileges};

use super::statement::Statement;
use crate::sentence::list;

/// Consequence of unknown capabilities.
pub(super) const UNKNOWN_PRIVILEGES: &str = "Missing capabilities are reported when they are needed.";

pub(super) fn privileges(privileges: &Privileges) -> Statement {
    let Privileges { present, missing, .. } = privileges;
    if missing.is_empty() {
        return Statement::new(
            format!("Present: {}.", list(&names(present))),
            "All required capabilities are present.",
        );
    }
    let observed = match present.len() {
        0 => format!("Missing: {}.", list(&names(missing))),
        _ => format!("Present: {}. Missing: {}.", list(&names(present)), list(&names(missing))),
    };
    let consequences: Vec<String> = missing.iter().filter_map(|one| without(*one)).collect();
    Statement::new(observed, consequences.join(" "))
}

/// The names of capabilities, in capitals.
pub(super) fn names(capabilities: &[HostCapability]) -> Vec<String> {
    capabilities.iter().map(|capability| capability.name().to_uppercase()).collect()
}

/// What romer cannot do without a capability; `None` if it does not use it.
fn without(capability: HostCapability) -> Option<String> {
    let consequence = match capability {
        HostCapability::NetBindService => {
            "romer respond cannot bind port 862, unless the system allows it for all users"
        }
        HostCapability::SysNice => "the sender has no real-time priority, and other programs can delay it",
        HostCapability::NetAdmin => {
            "the receive buffer is limited to net.core.rmem_max, and hardware time stamps cannot be enabled"
        }
        HostCapability::IpcLock => "--lock-memory fails unless the user's limit allows it",
        HostCapability::SysAdmin | HostCapability::NetRaw | HostCapability::Bpf => return None,
    };
    Some(format!("Without {}, {consequence}.", capability.name().to_uppercase()))
}

pub(super) fn lab(tried: Option<LabMethod>, outcome: LabOutcome, error: &str) -> Statement {
    const NOT_HERE: &str = "romer lab and romer demo do not work here.";
    const NOT_FOR_USER: &str = "romer lab and romer demo do not work for this user.";
    match (outcome, tried) {
        (LabOutcome::Built, Some(LabMethod::Rootless)) => Statement::new(
            "Network namespaces and virtual links work in a user namespace.",
            "romer lab and romer demo work without root, in private namespaces.",
        ),
        (LabOutcome::Built, _) => Statement::new(
            "Network namespaces and virtual links work, as root.",
            "romer lab and romer demo work, with named namespaces.",
        ),
        (LabOutcome::NoNamespace, Some(LabMethod::Rootless)) => {
            Statement::new(format!("Cannot create a user namespace: {error}."), NOT_FOR_USER)
        }
        (LabOutcome::NoNamespace, _) => Statement::new(
            format!("Cannot create a network namespace despite sufficient capabilities: {error}."),
            NOT_HERE,
        ),
        (LabOutcome::NoLink, _) => {
            Statement::new(format!("Network namespaces work, but virtual links do not: {error}."), NOT_HERE)
        }
        (LabOutcome::Forbidden, _) => {
            Statement::new("The system settings forbid user namespaces.", NOT_FOR_USER)
        }
        (LabOutcome::NotTested, _) => Statement::new(
            format!("Not tested: {error}; the system settings do not forbid user namespaces."),
            "romer lab and romer demo may work for this user.",
        ),
    }
}

pub(super) fn confinement(seccomp: bool, landlock: Option<u32>) -> Statement {
    let files =
        landlock.map_or_else(|| "Landlock".to_owned(), |version| format!("Landlock (version {version})"));
    let layers = [(seccomp, "filters of system calls"), (landlock.is_some(), files.as_str())];
    let layer = |(is_available, name): (bool, &str)| {
        format!("{}: {name}.", if is_available { "Available" } else { "Missing" })
    };
    let consequence = if seccomp && landlock.is_some() {
        "After its set-up, a command gives up capabilities, system calls and files that it does not need."
    } else {
        "A fault in romer can harm this host more than with all layers. Capabilities are given up in any case."
    };
    Statement::new(layers.map(layer).join(" "), consequence)
}
