//! `romer lab`.

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use romer_lab::case::Case;
use romer_lab::rsvp_router::{self, ROUTER_GUARD_ARGUMENT, RouterEvent, router_guard_main};
use romer_lab::{GUARD_ARGUMENT, HOLDER_ARGUMENT, Lab, LabError, Mode, Topology, guard_main, holder_main};
use romer_record::Exit;
use romer_rsvp::{FlowKey, Flowspec};
use romer_units::{LineRate, Rate};

use crate::args::{LabArgs, LabCase, LabCommand, LabKind};
use crate::failure::Failure;
use crate::measure::random_seed;
use crate::noise::rate_text;
use crate::{confinement, output, signals};

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        if error.is_usage() { Self::usage(error) } else { Self::environment(error) }
    }
}

/// The life of a rootless lab's holder, if this process was started as one.
pub(crate) fn holder() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let only = arguments.next().filter(|_| arguments.next().is_none())?;
    (only == HOLDER_ARGUMENT).then(holder_main)
}

/// Takes down the lab whose owner was killed, or removes the queues of its router, if this process was started for that.
pub(crate) fn guard() -> Option<ExitCode> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [guard] if guard == ROUTER_GUARD_ARGUMENT => {
            router_guard_main();
            Some(ExitCode::SUCCESS)
        }
        [guard, prefix] if guard == GUARD_ARGUMENT => Some(guard_main(&prefix.to_string_lossy())),
        _ => None,
    }
}

/// Does what a lab does, and gives the exit code.
pub(crate) fn run(arguments: &LabArgs) -> Result<Exit, Failure> {
    match &arguments.command {
        LabCommand::Up { kind, emulators, prefix } => up(*kind, *emulators, prefix),
        LabCommand::Down { prefix } => {
            Lab::down(prefix)?;
            Ok(Exit::Success)
        }
        LabCommand::Case { case: LabCase::Rsvp, rate, here: true, .. } => route(*rate),
        LabCommand::Case { case, prefix, rate, .. } => {
            let case = match case {
                LabCase::None => Case::None,
                LabCase::Classify => Case::Classify,
                LabCase::Remark => Case::Remark,
                LabCase::Priority => Case::Priority(*rate),
                LabCase::Weighted => Case::Weighted(*rate),
                LabCase::SmallPasses => Case::SmallPasses(*rate),
                LabCase::Police => Case::Police,
                LabCase::Rsvp => return Err(route_there(prefix, *rate)),
            };
            romer_lab::case::set(prefix, case)?;
            Ok(Exit::Success)
        }
        LabCommand::Run { host, prefix, command } => {
            let Some((program, rest)) = command.split_first() else {
                return Err(Failure::usage(
                    "missing argument (lab run CMD): no command to run; give it after --, e.g. romer lab run A -- ip addr",
                ));
            };
            // Only a failure comes back from here.
            Err(match Lab::run(host, prefix, program, rest) {
                LabError::Host(error) => Failure::environment(format!(
                    "cannot run the command (lab run): {error}; check that it exists and is executable"
                )),
                error => error.into(),
            })
        }
    }
}

/// Runs this program on the lab's router, in place of this process. Returns only when that fails.
fn route_there(prefix: &str, rate: LineRate) -> Failure {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::environment(format!("cannot run on the router (system): {error}; see `romer doctor`"))
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return failed(&error),
    };
    match romer_lab::case::reserving(prefix, program) {
        Ok(mut command) => {
            let rate = format!("{}bit", rate.bits());
            failed(&command.args(["lab", "case", "rsvp", "--here", "--rate", &rate]).exec())
        }
        Err(error) => error.into(),
    }
}

/// Reserves until it is ended, on the router whose namespace this process is in.
fn route(rate: LineRate) -> Result<Exit, Failure> {
    let ending = signals::ending()?;
    let report = &mut |event: RouterEvent| {
        if matches!(event, RouterEvent::Ready) {
            confinement::start(&confinement::of_router());
        }
        output::print(&described(rate, &event));
    };
    rsvp_router::route(rate, random_seed(), &|| ending.has_come(), report)?;
    Ok(ending.exit())
}

fn described(rate: LineRate, event: &RouterEvent) -> String {
    let flow = |flow: &FlowKey| {
        let (destination, _, port) = flow.session;
        format!("{}:{} > {destination}:{port}", flow.source.address(), flow.source.port())
    };
    let request = |flowspec: &Flowspec| format!("{}, {} bytes/s", flowspec.service(), flowspec.rate());
    match event {
        RouterEvent::Ready => {
            format!(
                "reserving by RSVP: {} of IP packets in each direction\n",
                rate_text(Rate::Bits(rate.bits()))
            )
        }
        RouterEvent::Reserved(one) => format!("reserved: {}: {}\n", flow(&one.flow), request(&one.flowspec)),
        RouterEvent::Removed(one) => format!("removed: {}: {}\n", flow(&one.flow), request(&one.flowspec)),
        RouterEvent::Refused { flow: refused, flowspec, code } => {
            format!("refused: {}: {}: {code}\n", flow(refused), request(flowspec))
        }
    }
}

fn up(kind: LabKind, emulators: Option<u8>, prefix: &str) -> Result<Exit, Failure> {
    let kind = match (kind, emulators) {
        (LabKind::Path, None) => Topology::Path,
        (LabKind::Router, None) => Topology::Router,
        (LabKind::Chain, Some(emulators)) => Topology::Chain { emulators },
        (LabKind::Chain, None) => {
            return Err(Failure::usage(
                "missing argument (lab up chain N): a chain needs the number of its emulators; e.g. romer lab up chain 2",
            ));
        }
        (LabKind::Path | LabKind::Router, Some(number)) => {
            return Err(Failure::usage(format!(
                "an argument does not apply ({number}): only a chain has a number of emulators; write romer lab up chain {number}"
            )));
        }
    };
    let lab = Lab::up(kind, prefix)?;
    let place = match lab.mode() {
        Mode::Machine => "network namespaces of this machine",
        Mode::UserNamespace => "a user namespace, without root",
    };
    // Benchmark addresses (RFC 2544 and RFC 5180), as the lab's own documentation has them.
    let far_v6 = match kind {
        Topology::Path | Topology::Chain { .. } => "2001:2:0:18::3",
        Topology::Router => "2001:2:0:19::2",
    };
    let (far, picture) = match kind {
        Topology::Path => {
            ("198.18.0.3", format!("{prefix}A/t0 198.18.0.2 - {prefix}E - 198.18.0.3 {prefix}B/t1"))
        }
        Topology::Chain { .. } => {
            let between = kind.between().into_iter().map(|host| host.namespace(prefix));
            let between = between.collect::<Vec<_>>().join(" - ");
            ("198.18.0.3", format!("{prefix}A/t0 198.18.0.2 - {between} - 198.18.0.3 {prefix}B/t1"))
        }
        Topology::Router => {
            ("198.19.0.2", format!("{prefix}A/t0 198.18.0.2 - {prefix}R - 198.19.0.2 {prefix}B/t1"))
        }
    };
    let option = if prefix == "romer" { String::new() } else { format!(" --prefix {prefix}") };
    let emulator = match kind {
        Topology::Path => {
            format!("  romer lab run{option} E -- romer emulate --port a=e0 --port b=e1 --delay 20ms\n")
        }
        Topology::Chain { emulators } => (1..=emulators)
            .map(|number| {
                format!("  romer lab run{option} E{number} -- romer emulate --port a=e0 --port b=e1 --delay 20ms\n")
            })
            .collect(),
        Topology::Router => String::new(),
    };
    output::print(&format!(
        "{picture}, in {place}\n  romer lab run{option} B -- romer respond\n  romer lab run{option} A -- romer measure {far}\n  \
         romer lab run{option} A -- romer measure {far_v6}\n{emulator}  \
         romer lab down{option}\n"
    ));
    Ok(Exit::Success)
}
