//! Whether a laboratory can be made here: network namespaces with a link between them, by root or inside a user
//! namespace. It is tried as the lab does it, small, and taken away again.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use romer_host::host_info::{Capabilities, Capability};
use romer_host::link::Network;
use romer_host::{HostError, netns, process, userns};
use romer_record::doctor::{DoctorCheck, DoctorFinding, DoctorFix, LabMethod, LabOutcome};

use crate::finding::{good, limited, missing};
use crate::rights::Rights;
use crate::shell;

/// The only argument with which the program that uses this crate tries a rootless laboratory: it then calls
/// [`probe_main`], before it starts any thread.
pub const PROBE_ARGUMENT: &str = "__doctor-probe";
/// What the answer of a probe begins with. Any other output is that of a program which knows no probes.
const ANSWER: &str = "romer-doctor-probe";
/// What the namespaces that are tried as root are called, before the number of the process.
const PREFIX: &str = "romer-doctor-";

/// How far an attempt came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Two ends of a link were up.
    Built,
    /// No namespace could be made.
    NoNamespace(String),
    /// A namespace could be made, but no link in it.
    NoLink(String),
}

/// What was tried.
#[derive(Clone, Debug)]
pub(crate) enum Trial {
    /// As root, with namespaces that have names on this host.
    Root(Attempt),
    /// In a user namespace.
    Rootless(Attempt, Switches),
    /// Not, for this reason.
    None(String, Switches),
}

/// The system's settings for user namespaces; `None` where the kernel does not have them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switches {
    unprivileged: Option<i64>,
    most: Option<i64>,
    apparmor: Option<i64>,
}

impl Switches {
    fn read() -> Self {
        let number = |name: &str| {
            let text = std::fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
            text.trim().parse().ok()
        };
        Self {
            unprivileged: number("kernel/unprivileged_userns_clone"),
            most: number("user/max_user_namespaces"),
            apparmor: number("kernel/apparmor_restrict_unprivileged_userns"),
        }
    }

    /// The command that takes away what stands in the way, as far as these settings do.
    fn fix(self, rights: &Rights) -> Option<DoctorFix> {
        let set = |text: &str| rights.line(&["sysctl", "-w", text]);
        let all = [
            (self.unprivileged == Some(0)).then(|| set("kernel.unprivileged_userns_clone=1")),
            (self.most == Some(0)).then(|| set("user.max_user_namespaces=15000")),
            (self.apparmor == Some(1)).then(|| set("kernel.apparmor_restrict_unprivileged_userns=0")),
        ];
        let commands: Vec<String> = all.into_iter().flatten().collect();
        (!commands.is_empty()).then(|| DoctorFix::Command { command: shell::all(&commands) })
    }
}

/// Tries to make a laboratory, with the rights there are; `program` is what tries it without root.
pub(crate) fn attempt(capabilities: &Result<Capabilities, HostError>, program: Option<PathBuf>) -> Trial {
    let root = capabilities
        .as_ref()
        .is_ok_and(|rights| rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin));
    if root {
        remove_left_over();
        let name = format!("{PREFIX}{}", std::process::id());
        let attempt = build(&name);
        let _ = netns::delete(&name);
        return Trial::Root(attempt);
    }
    let switches = Switches::read();
    match ask(program) {
        Ok(attempt) => Trial::Rootless(attempt, switches),
        Err(why) => Trial::None(why, switches),
    }
}

/// A namespace with both ends of a link in it, up.
fn build(name: &str) -> Attempt {
    if let Err(error) = netns::create(name) {
        return Attempt::NoNamespace(error.to_string());
    }
    let linked = Network::open(Some(name)).and_then(|network| {
        network.add_veth("probe0", "probe1", None)?;
        network.set_up("probe0", true)?;
        network.set_up("probe1", true)
    });
    linked.map_or_else(|error| Attempt::NoLink(error.to_string()), |()| Attempt::Built)
}

/// Removes what a doctor that was killed has left.
fn remove_left_over() {
    for name in netns::list().unwrap_or_default() {
        let process = name.strip_prefix(PREFIX).and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|process| process::start_time(process).is_none()) {
            let _ = netns::delete(&name);
        }
    }
}

/// Starts this program once more, as a probe.
fn ask(program: Option<PathBuf>) -> Result<Attempt, String> {
    let failed = |error: std::io::Error| format!("cannot start this program again: {error}");
    let program = program.map_or_else(std::env::current_exe, Ok).map_err(failed)?;
    let mut command = Command::new(program);
    command.arg(PROBE_ARGUMENT).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).ok_or_else(|| "this program has no probe mode".into())
}

fn parse(text: &str) -> Option<Attempt> {
    let answer = text.lines().next()?.strip_prefix(ANSWER)?.trim_start();
    let (word, why) = answer.split_once(' ').unwrap_or((answer, ""));
    match word {
        "built" => Some(Attempt::Built),
        "no-namespace" => Some(Attempt::NoNamespace(why.into())),
        "no-link" => Some(Attempt::NoLink(why.into())),
        _ => None,
    }
}

/// Makes a small laboratory in a user namespace of this process, which must have a single thread, and prints on
/// standard output what came of it. All of it ends with the process.
#[must_use]
pub fn probe_main() -> ExitCode {
    let attempt = match userns::enter() {
        Ok(()) => build(PREFIX.trim_end_matches('-')),
        Err(error) => Attempt::NoNamespace(error.to_string()),
    };
    let answer = match attempt {
        Attempt::Built => format!("{ANSWER} built"),
        Attempt::NoNamespace(why) => format!("{ANSWER} no-namespace {why}"),
        Attempt::NoLink(why) => format!("{ANSWER} no-link {why}"),
    };
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{answer}").and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// What the attempt means.
pub(crate) fn evaluate(trial: &Trial, rights: &Rights) -> DoctorFinding {
    const UP: [&str; 4] = ["romer", "lab", "up", "path"];
    let (tried, attempt, switches) = match trial {
        Trial::Root(attempt) => (LabMethod::Root, attempt, Switches::default()),
        Trial::Rootless(attempt, switches) => (LabMethod::Rootless, attempt, *switches),
        Trial::None(why, switches) => return not_tried(why, *switches, rights),
    };
    let check = |outcome, error: Option<&String>| DoctorCheck::Lab {
        tried: Some(tried),
        outcome,
        error: error.cloned(),
    };
    match attempt {
        Attempt::Built => good(check(LabOutcome::Built, None)),
        Attempt::NoNamespace(why) => {
            let fix = match tried {
                LabMethod::Root => DoctorFix::RunOnHost,
                LabMethod::Rootless => switches.fix(rights).unwrap_or_else(|| rights.as_root(&UP)),
            };
            missing(check(LabOutcome::NoNamespace, Some(why)), fix)
        }
        Attempt::NoLink(why) => {
            missing(check(LabOutcome::NoLink, Some(why)), rights.command(&["modprobe", "veth"]))
        }
    }
}

/// The settings alone are known.
fn not_tried(why: &str, switches: Switches, rights: &Rights) -> DoctorFinding {
    let check = |outcome| DoctorCheck::Lab { tried: None, outcome, error: Some(why.to_owned()) };
    match switches.fix(rights) {
        Some(fix) => missing(check(LabOutcome::Forbidden), fix),
        None => {
            let commands: [&[&str]; 2] = [&["romer", "lab", "up", "path"], &["romer", "lab", "down"]];
            let command = shell::all(&commands.map(shell::line));
            limited(check(LabOutcome::NotTested), DoctorFix::Command { command })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::command_of;
    use romer_record::doctor::{CheckVerdict, HostCapability};

    #[test]
    fn the_setting_that_stands_in_the_way_is_the_one_to_change() {
        let anybody = Rights::of_anybody();
        let refused = || Attempt::NoNamespace("make a namespace: Operation not permitted".into());
        for (switches, fix) in [
            (Switches::default(), "sudo romer lab up path"),
            (
                Switches { unprivileged: Some(0), most: Some(4_000), apparmor: Some(0) },
                "sudo sysctl -w kernel.unprivileged_userns_clone=1",
            ),
            (
                Switches { unprivileged: None, most: Some(0), apparmor: Some(1) },
                "sudo sysctl -w user.max_user_namespaces=15000 && sudo sysctl -w \
                 kernel.apparmor_restrict_unprivileged_userns=0",
            ),
        ] {
            let finding = evaluate(&Trial::Rootless(refused(), switches), &anybody);
            assert_eq!((finding.verdict, command_of(&finding)), (CheckVerdict::Missing, fix));
        }
    }

    #[test]
    fn what_was_built_is_good_and_what_was_not_tried_is_not() {
        let anybody = Rights::of_anybody();
        let verdict = |trial: &Trial| evaluate(trial, &anybody).verdict;
        assert_eq!(verdict(&Trial::Root(Attempt::Built)), CheckVerdict::Good);
        assert_eq!(verdict(&Trial::Rootless(Attempt::Built, Switches::default())), CheckVerdict::Good);
        let untested = evaluate(&Trial::None("so".into(), Switches::default()), &anybody);
        assert_eq!(untested.verdict, CheckVerdict::Limited);
        assert_eq!(command_of(&untested), "romer lab up path && romer lab down");
        let refused = Trial::Rootless(Attempt::NoNamespace("no".into()), Switches::default());
        let capabilities = vec![HostCapability::SysAdmin, HostCapability::NetAdmin];
        assert_eq!(
            evaluate(&refused, &Rights::of_root()).fix,
            Some(DoctorFix::AddContainerCapabilities { capabilities })
        );
        let forbidden = Switches { most: Some(0), ..Switches::default() };
        assert_eq!(verdict(&Trial::None("so".into(), forbidden)), CheckVerdict::Missing);
        let no_link = Attempt::NoLink("unknown device type".into());
        let finding = evaluate(&Trial::Rootless(no_link, Switches::default()), &anybody);
        assert_eq!((finding.verdict, command_of(&finding)), (CheckVerdict::Missing, "sudo modprobe veth"));
    }

    #[test]
    fn answers_of_a_probe_are_told_from_other_programs_output() {
        assert_eq!(parse("romer-doctor-probe built\n"), Some(Attempt::Built));
        assert_eq!(
            parse("romer-doctor-probe no-namespace make it: no\n"),
            Some(Attempt::NoNamespace("make it: no".into()))
        );
        assert_eq!(parse("romer-doctor-probe no-link x"), Some(Attempt::NoLink("x".into())));
        for other in ["", "running 0 tests\n", "romer-doctor-probe\n", "romer-doctor-probe perhaps\n"] {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }
}
