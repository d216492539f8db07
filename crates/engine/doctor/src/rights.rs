//! Whose rights this process has, what they allow, and the words that would give it more.

use std::path::PathBuf;

use romer_confine::Support;
use romer_host::HostError;
use romer_host::host_info::{Capabilities, Capability};
use romer_record::document::DoctorFinding;

use crate::finding::{WithValue, good, limited, list, unknown};

const NAME: &str = "privileges";
const CONFINEMENT: &str = "confinement";

/// What a right is good for.
struct Use {
    capability: Capability,
    /// As the kernel and `setcap` name it, without `cap_`.
    name: &'static str,
    /// What cannot be done without it; `None` where nothing of this version needs it.
    without: Option<&'static str>,
}

const USES: [Use; 7] = [
    Use {
        capability: Capability::NetBindService,
        name: "net_bind_service",
        without: Some("romer respond cannot bind port 862, unless the system allows it for all users"),
    },
    Use {
        capability: Capability::SysNice,
        name: "sys_nice",
        without: Some("the sender has no real-time priority, and other programs can delay it"),
    },
    Use {
        capability: Capability::NetAdmin,
        name: "net_admin",
        without: Some(
            "the receive buffer is limited to net.core.rmem_max, and hardware time stamps cannot be enabled",
        ),
    },
    // Root's laboratories need it. On a file it would be root by another name, and a user namespace serves instead.
    Use { capability: Capability::SysAdmin, name: "sys_admin", without: None },
    Use { capability: Capability::NetRaw, name: "net_raw", without: None },
    Use { capability: Capability::Bpf, name: "bpf", without: None },
    Use {
        capability: Capability::IpcLock,
        name: "ipc_lock",
        without: Some("--lock-memory fails unless the user's limit allows it"),
    },
];

/// Whose rights this process has.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    /// Root, in this user namespace.
    root: bool,
    /// Rights that this process and its children can ever have.
    bounding: u64,
    /// Programs started from here get no rights of their own.
    no_new: bool,
    /// The program, quoted for a shell; `None` where it does not know its own path.
    program: Option<String>,
}

impl Rights {
    /// Reads them; what cannot be read is taken for an ordinary user's.
    pub(crate) fn read(program: Option<PathBuf>) -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let program = program.or_else(|| std::env::current_exe().ok());
        Self::parse(&status, program.as_deref().and_then(|path| path.to_str()).map(quoted))
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

    /// `command` as root would give it, or as this user has to.
    pub(crate) fn command(&self, command: &str) -> String {
        if self.root { command.into() } else { format!("sudo {command}") }
    }

    /// How to do `command` with every right of root: a command, or for a root whose rights were cut a sentence.
    pub(crate) fn as_root(&self, command: &str) -> String {
        if self.root {
            "Start the container with --cap-add=SYS_ADMIN --cap-add=NET_ADMIN.".into()
        } else {
            format!("sudo {command}")
        }
    }

    /// The command that writes `text` into a file that belongs to root.
    pub(crate) fn write(&self, path: &str, text: &str) -> String {
        if self.root { format!("echo {text} > {path}") } else { format!("echo {text} | sudo tee {path}") }
    }

    /// How to get `wanted`: a command, or a sentence. The command gives all that romer can use, because a second one
    /// would take away what the first has given.
    pub(crate) fn grant(&self, wanted: &[Capability]) -> String {
        let beyond: Vec<String> = needed()
            .filter(|one| {
                wanted.contains(&one.capability) && self.bounding & (1 << one.capability as u64) == 0
            })
            .map(|one| format!("--cap-add={}", one.name.to_uppercase()))
            .collect();
        if !beyond.is_empty() {
            return format!("Start the container with {}.", beyond.join(" "));
        }
        if self.no_new {
            return "Start romer outside the sandbox that sets no_new_privs (of systemd: NoNewPrivileges=no).".into();
        }
        let names: Vec<String> = needed()
            .filter(|one| self.bounding & (1 << one.capability as u64) != 0)
            .map(|one| format!("cap_{}", one.name))
            .collect();
        match &self.program {
            Some(program) => self.command(&format!("setcap {}+ep {program}", names.join(","))),
            None => format!("Give romer the capabilities {}.", list(&names)),
        }
    }
}

/// The rights that romer can use.
fn needed() -> impl Iterator<Item = &'static Use> {
    USES.iter().filter(|one| one.without.is_some())
}

/// `path` as one word of a shell's line.
pub(crate) fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(plain) { path.into() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// What the rights of this process allow.
pub(crate) fn evaluate(capabilities: Result<Capabilities, HostError>, rights: &Rights) -> DoctorFinding {
    match capabilities {
        Ok(capabilities) => judge_by(|capability| capabilities.has(capability), rights),
        Err(error) => unknown(NAME, &error, "Missing capabilities are reported when they are needed."),
    }
}

fn judge_by(has: impl Fn(Capability) -> bool, rights: &Rights) -> DoctorFinding {
    let (there, lacking): (Vec<&Use>, Vec<&Use>) = needed().partition(|one| has(one.capability));
    let upper = |uses: &[&Use]| list(&uses.iter().map(|one| one.name.to_uppercase()).collect::<Vec<_>>());
    let finding = if lacking.is_empty() {
        let consequence = "All required capabilities are present.";
        good(NAME, format!("Present: {}.", upper(&there)), consequence)
    } else {
        let found = match there.len() {
            0 => format!("Missing: {}.", upper(&lacking)),
            _ => format!("Present: {}. Missing: {}.", upper(&there), upper(&lacking)),
        };
        let consequences = lacking
            .iter()
            .filter_map(|one| Some(format!("Without {}, {}.", one.name.to_uppercase(), one.without?)));
        let consequences: Vec<String> = consequences.collect();
        let asked: Vec<Capability> = lacking.iter().map(|one| one.capability).collect();
        limited(NAME, found, consequences.join(" "), rights.grant(&asked))
    };
    USES.iter().fold(finding, |finding, one| finding.value(one.name, has(one.capability)))
}

/// Which layers confine a command after its set-up, on this kernel.
pub(crate) fn confinement(found: Support) -> DoctorFinding {
    let files = match found.landlock {
        Some(version) => format!("Landlock (version {version})"),
        None => "Landlock".into(),
    };
    let layers =
        [(found.system_calls, "filters of system calls"), (found.landlock.is_some(), files.as_str())];
    let layer = |(is_there, name): (bool, &str)| {
        format!("{}: {name}.", if is_there { "Available" } else { "Missing" })
    };
    let observed = layers.map(layer).join(" ");
    let finding = if layers.iter().all(|(is_there, _)| *is_there) {
        let consequence = "After its set-up, a command gives up capabilities, system calls and files that it does not need.";
        good(CONFINEMENT, observed, consequence)
    } else {
        limited(
            CONFINEMENT,
            observed,
            "A fault in romer can harm this host more than with all layers. Capabilities are given up in any case.",
            "Use a kernel with CONFIG_SECCOMP_FILTER and CONFIG_SECURITY_LANDLOCK, and landlock in its list of modules (lsm=).",
        )
    };
    finding.value("seccomp", found.system_calls).value("landlock", found.landlock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::document::CheckVerdict;

    #[test]
    fn every_right_that_is_used_and_lacking_has_its_consequence() {
        let finding = judge_by(|_| false, &Rights::of_anybody());
        assert_eq!(finding.verdict, CheckVerdict::Limited);
        for name in ["NET_BIND_SERVICE", "SYS_NICE", "NET_ADMIN", "IPC_LOCK"] {
            assert!(finding.consequence.contains(&format!("Without {name}, ")), "{}", finding.consequence);
        }
        let fix = finding.fix.unwrap();
        assert_eq!(
            fix,
            "sudo setcap cap_net_bind_service,cap_sys_nice,cap_net_admin,cap_ipc_lock+ep /usr/bin/romer"
        );
        assert_eq!(finding.values.len(), USES.len());
    }

    /// A layer that the kernel does not have is named, with what provides it.
    #[test]
    fn missing_layers_are_named() {
        let all = confinement(Support { system_calls: true, landlock: Some(7) });
        assert_eq!((all.verdict, all.fix), (CheckVerdict::Good, None));
        assert_eq!(all.observed, "Available: filters of system calls. Available: Landlock (version 7).");
        let some = confinement(Support { system_calls: true, landlock: None });
        assert_eq!(some.verdict, CheckVerdict::Limited);
        assert!(some.observed.ends_with("Missing: Landlock."), "{}", some.observed);
        assert!(some.fix.unwrap().contains("landlock"));
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
        assert_eq!(fix, "Start the container with --cap-add=NET_ADMIN.");
        let command = "setcap cap_net_bind_service,cap_sys_nice,cap_ipc_lock+ep /usr/bin/romer";
        assert_eq!(rights.grant(&[Capability::SysNice]), command);
        let rights = Rights { no_new: true, ..Rights::of_anybody() };
        assert!(rights.grant(&[Capability::SysNice]).contains("NoNewPrivileges"));
    }

    #[test]
    fn the_effective_user_decides_who_gives_the_command() {
        let status = "Uid:\t1000\t0\t0\t0\nCapBnd:\t000001ffffffffff\nNoNewPrivs:\t1\n";
        let rights = Rights::parse(status, None);
        assert!(rights.root && rights.no_new);
        assert_eq!(rights.bounding, 0x1ff_ffff_ffff);
        assert_eq!(rights.command("ip link"), "ip link");
        let other = Rights::parse("Uid:\t0\t1000\t0\t0\n", None);
        assert_eq!(other.command("ip link"), "sudo ip link");
        assert_eq!(other.write("/sys/x", "tsc"), "echo tsc | sudo tee /sys/x");
        assert_eq!(quoted("/opt/it's here"), r"'/opt/it'\''s here'");
    }
}
