//! Whose rights this process has, what they allow, and the commands that would give it more.

use std::path::PathBuf;

use romer_confine::Support;
use romer_host::HostError;
use romer_host::host_info::{Capabilities, Capability};
use romer_record::doctor::{DoctorCheck, DoctorFinding, DoctorFix, Facts, HostCapability, Privileges};

use crate::finding::{good, limited, unknown};
use crate::shell;

/// The capabilities that are examined. Those that are not [needed](is_needed) serve the named labs of root: given to a file, they would
/// amount to root, and a user namespace serves instead.
const ALL: [(Capability, HostCapability); 7] = [
    (Capability::NetBindService, HostCapability::NetBindService),
    (Capability::SysNice, HostCapability::SysNice),
    (Capability::NetAdmin, HostCapability::NetAdmin),
    (Capability::SysAdmin, HostCapability::SysAdmin),
    (Capability::NetRaw, HostCapability::NetRaw),
    (Capability::Bpf, HostCapability::Bpf),
    (Capability::IpcLock, HostCapability::IpcLock),
];

/// Whether romer can use the capability where it is not root.
const fn is_needed(capability: HostCapability) -> bool {
    match capability {
        HostCapability::NetBindService
        | HostCapability::SysNice
        | HostCapability::NetAdmin
        | HostCapability::IpcLock => true,
        HostCapability::SysAdmin | HostCapability::NetRaw | HostCapability::Bpf => false,
    }
}

/// Whose rights this process has.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    /// Root, in this user namespace.
    root: bool,
    /// Rights that this process and its children can ever have.
    bounding: u64,
    /// Programs started from here get no rights of their own.
    no_new: bool,
    /// The program; `None` where it does not know its own path.
    program: Option<String>,
}

impl Rights {
    /// Reads them; what cannot be read is taken for an ordinary user's.
    pub(crate) fn read(program: Option<PathBuf>) -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let program = program.or_else(|| std::env::current_exe().ok());
        Self::parse(&status, program.as_deref().and_then(|path| path.to_str()).map(str::to_owned))
    }

    fn parse(status: &str, program: Option<String>) -> Self {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        // The fields are the real and the effective user, and two more.
        let user = field("Uid:").and_then(|users| users.split_whitespace().nth(1));
        let bounding = field("CapBnd:").and_then(|bits| u64::from_str_radix(bits, 16).ok());
        Self {
            root: user == Some("0"),
            bounding: bounding.unwrap_or(u64::MAX),
            no_new: field("NoNewPrivs:") == Some("1"),
            program,
        }
    }

    /// A user with no rights but a path, for tests.
    #[cfg(test)]
    pub(crate) fn of_anybody() -> Self {
        Self { root: false, bounding: u64::MAX, no_new: false, program: Some("/usr/bin/romer".into()) }
    }
    /// Root, for tests.
    #[cfg(test)]
    pub(crate) fn of_root() -> Self {
        Self { root: true, ..Self::of_anybody() }
    }

    /// A program with its arguments, as a line that root would type, or that this user has to.
    pub(crate) fn line<T: AsRef<str>>(&self, arguments: &[T]) -> String {
        let line = shell::line(arguments);
        if self.root { line } else { format!("sudo {line}") }
    }

    /// The same as a fix.
    pub(crate) fn command<T: AsRef<str>>(&self, arguments: &[T]) -> DoctorFix {
        DoctorFix::Command { command: self.line(arguments) }
    }

    /// How to run a command with every right of root; a root with fewer rights is one of a container.
    pub(crate) fn as_root(&self, arguments: &[&str]) -> DoctorFix {
        if self.root {
            let capabilities = vec![HostCapability::SysAdmin, HostCapability::NetAdmin];
            DoctorFix::AddContainerCapabilities { capabilities }
        } else {
            self.command(arguments)
        }
    }

    /// The command that writes `text` into files that belong to root. Their paths may be patterns of the shell.
    pub(crate) fn write(&self, text: &str, paths: &[String]) -> DoctorFix {
        let command = format!("echo {text} | {} {}", self.line(&["tee"]), paths.join(" "));
        DoctorFix::Command { command }
    }

    /// How to get `wanted`. The command gives all that romer can use, because a second one would take away what the first has
    /// given.
    pub(crate) fn grant(&self, wanted: &[Capability]) -> DoctorFix {
        let is_beyond = |capability: Capability| self.bounding & (1 << capability as u64) == 0;
        let needed = || ALL.into_iter().filter(|(_, name)| is_needed(*name));
        let beyond: Vec<HostCapability> = needed()
            .filter(|(capability, _)| wanted.contains(capability) && is_beyond(*capability))
            .map(|(_, name)| name)
            .collect();
        if !beyond.is_empty() {
            return DoctorFix::AddContainerCapabilities { capabilities: beyond };
        }
        if self.no_new {
            return DoctorFix::PermitNewPrivileges;
        }
        let capabilities: Vec<HostCapability> =
            needed().filter(|(capability, _)| !is_beyond(*capability)).map(|(_, name)| name).collect();
        match &self.program {
            Some(program) => {
                let names: Vec<String> =
                    capabilities.iter().map(|capability| format!("cap_{}", capability.name())).collect();
                self.command(&["setcap", &format!("{}+ep", names.join(",")), program])
            }
            None => DoctorFix::GrantCapabilities { capabilities },
        }
    }
}

/// What the rights of this process allow.
pub(crate) fn evaluate(capabilities: Result<Capabilities, HostError>, rights: &Rights) -> DoctorFinding {
    match capabilities {
        Ok(capabilities) => judge_by(|capability| capabilities.has(capability), rights),
        Err(error) => unknown(DoctorCheck::Privileges, &error),
    }
}

fn judge_by(has: impl Fn(Capability) -> bool, rights: &Rights) -> DoctorFinding {
    let (needed, others): (Vec<_>, Vec<_>) = ALL.into_iter().partition(|(_, name)| is_needed(*name));
    let (present, missing): (Vec<_>, Vec<_>) =
        needed.into_iter().partition(|(capability, _)| has(*capability));
    let names = |all: &[(Capability, HostCapability)]| all.iter().map(|(_, name)| *name).collect();
    let others: Vec<_> = others.into_iter().filter(|(capability, _)| has(*capability)).collect();
    let check = DoctorCheck::Privileges(Facts::Known(Privileges {
        present: names(&present),
        missing: names(&missing),
        other: names(&others),
    }));
    if missing.is_empty() {
        return good(check);
    }
    let wanted: Vec<Capability> = missing.iter().map(|(capability, _)| *capability).collect();
    limited(check, rights.grant(&wanted))
}

/// Which layers confine a command after its set-up, on this kernel.
pub(crate) fn confinement(found: Support) -> DoctorFinding {
    let check = DoctorCheck::Confinement { seccomp: found.system_calls, landlock: found.landlock };
    if found.system_calls && found.landlock.is_some() {
        good(check)
    } else {
        limited(check, DoctorFix::UseConfiningKernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::command_of;
    use romer_record::doctor::CheckVerdict;

    fn command(command: &str) -> DoctorFix {
        DoctorFix::Command { command: command.into() }
    }

    /// Every capability that romer uses and that is missing is named, and the fix gives all of them.
    #[test]
    fn missing_capabilities_are_named() {
        let finding = judge_by(|_| false, &Rights::of_anybody());
        assert_eq!(finding.verdict, CheckVerdict::Limited);
        let DoctorCheck::Privileges(Facts::Known(privileges)) = &finding.check else { panic!("{finding:?}") };
        let names: Vec<&str> = privileges.missing.iter().map(|one| one.name()).collect();
        assert_eq!(names, ["net_bind_service", "sys_nice", "net_admin", "ipc_lock"]);
        assert_eq!((privileges.present.len(), privileges.other.len()), (0, 0));
        assert_eq!(
            command_of(&finding),
            "sudo setcap cap_net_bind_service,cap_sys_nice,cap_net_admin,cap_ipc_lock+ep /usr/bin/romer"
        );
    }

    /// A kernel without a layer of confinement is a limit.
    #[test]
    fn missing_layers_are_limits() {
        let all = confinement(Support { system_calls: true, landlock: Some(7) });
        assert_eq!((all.verdict, all.fix), (CheckVerdict::Good, None));
        for (system_calls, landlock) in [(true, None), (false, Some(7))] {
            let some = confinement(Support { system_calls, landlock });
            assert_eq!(
                (some.verdict, some.fix),
                (CheckVerdict::Limited, Some(DoctorFix::UseConfiningKernel))
            );
        }
    }

    #[test]
    fn rights_that_nothing_uses_are_not_asked_for() {
        let used =
            [Capability::NetBindService, Capability::SysNice, Capability::NetAdmin, Capability::IpcLock];
        let finding = judge_by(|right| used.contains(&right), &Rights::of_anybody());
        assert_eq!((finding.verdict, finding.fix), (CheckVerdict::Good, None));
    }

    #[test]
    fn a_right_beyond_the_bounding_set_is_the_containers_to_give() {
        let rights = Rights { bounding: !(1 << 12), ..Rights::of_root() };
        let fix = rights.grant(&[Capability::NetAdmin, Capability::SysNice]);
        assert_eq!(fix, DoctorFix::AddContainerCapabilities { capabilities: vec![HostCapability::NetAdmin] });
        assert_eq!(
            rights.grant(&[Capability::SysNice]),
            command("setcap cap_net_bind_service,cap_sys_nice,cap_ipc_lock+ep /usr/bin/romer")
        );
        let rights = Rights { no_new: true, ..Rights::of_anybody() };
        assert_eq!(rights.grant(&[Capability::SysNice]), DoctorFix::PermitNewPrivileges);
        let rights = Rights { program: None, ..Rights::of_root() };
        assert!(matches!(rights.grant(&[Capability::SysNice]), DoctorFix::GrantCapabilities { .. }));
    }

    #[test]
    fn the_effective_user_decides_who_gives_the_command() {
        let status = "Uid:\t1000\t0\t0\t0\nCapBnd:\t000001ffffffffff\nNoNewPrivs:\t1\n";
        let rights = Rights::parse(status, None);
        assert!(rights.root && rights.no_new);
        assert_eq!(rights.bounding, 0x1ff_ffff_ffff);
        assert_eq!(rights.line(&["ip", "link"]), "ip link");
        let paths = ["/sys/x".to_owned(), "/sys/y*".to_owned()];
        assert_eq!(rights.write("tsc", &paths), command("echo tsc | tee /sys/x /sys/y*"));
        let other = Rights::parse("Uid:\t0\t1000\t0\t0\n", None);
        assert_eq!(other.line(&["ip", "link"]), "sudo ip link");
        assert_eq!(other.write("tsc", &paths), command("echo tsc | sudo tee /sys/x /sys/y*"));
    }
}
