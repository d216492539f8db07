//! How the threads of a measurement or a responder are run, with what to do where that is refused.

use std::ffi::CStr;

use romer_host::interrupts::{self, MovedInterrupts};
use romer_host::link::Network;
use romer_host::thread::{self, LockedMemory, MOST_CPUS, Policy, PolicyError, PolicyRun, RealTime, Role};
use romer_host::{HostError, control_group};
use romer_record::note::Notice;
use romer_units::Duration;

use crate::EndpointError;

/// A probe that is so late, or later, does not leave, at whichever end it was due. It was due while its program was stopped, or
/// suspended with its host: a busy machine delays by tens of milliseconds, one of which the host takes the processors away by
/// hundreds. Sent then, it would measure another moment, in a burst of all that were due meanwhile.
pub const TOO_LATE: Duration = Duration::from_secs(2);
/// The error number under which such probes are logged (`ECANCELED`); no send call gives it.
pub const STOOD_STILL: i32 = 125;

/// How the threads that send and receive are run. The default asks for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadOptions {
    /// On which processor, and in which scheduling class.
    pub policy: Policy,
    /// Keep the program's memory from being paged out.
    pub lock_memory: bool,
    /// Have the interrupts of all interfaces that are up go to this processor meanwhile.
    pub irq_cpu: Option<u16>,
}

impl ThreadOptions {
    /// Those of an end in a lab of this machine: real time where it is permitted. Both ends, the emulator and all other programs of the
    /// machine share its processors.
    pub fn in_lab() -> Self {
        Self { policy: Policy { cpu: None, realtime: RealTime::IfPermitted }, ..Self::default() }
    }
}

/// What holds until it is dropped.
#[derive(Debug, Default)]
pub struct ThreadResources {
    _memory: Option<LockedMemory>,
    interrupts: Option<MovedInterrupts>,
}

impl ThreadResources {
    /// What is worth knowing of it.
    pub fn shortcoming(&self) -> Option<Notice> {
        let interrupts = u64::try_from(self.interrupts.as_ref()?.left.len()).unwrap_or(u64::MAX);
        (interrupts > 0).then_some(Notice::InterruptsNotMoved { interrupts })
    }
}

impl ThreadOptions {
    /// Tries what is asked for, locks the memory and moves the interrupts until what is given back is dropped.
    ///
    /// # Errors
    /// [`EndpointError::Host`] with what would allow it.
    pub fn prepare(self) -> Result<ThreadResources, EndpointError> {
        self.policy.check().map_err(|error| refusal(self.policy, error))?;
        let memory = self.lock_memory.then(LockedMemory::lock).transpose().map_err(memory_refusal)?;
        let moved = self.irq_cpu.map(|cpu| move_interrupts(cpu).map_err(|error| not_moved(cpu, error)));
        Ok(ThreadResources { _memory: memory, interrupts: moved.transpose()? })
    }

    /// Runs the current thread by the policy, which was tried before, under `name`. Every thread that sends or
    /// receives calls it first.
    pub fn begin(self, name: &CStr, role: Role) -> PolicyRun {
        thread::set_name(name);
        // What was allowed a moment ago is not allowed any more: the thread runs on as it is.
        self.policy.begin(role).unwrap_or_default()
    }
}

fn refusal(policy: Policy, error: PolicyError) -> EndpointError {
    match error {
        PolicyError::Cpu { usable, source } => {
            let place = policy.cpu.map_or_else(String::new, |cpu| format!("--cpu {cpu}"));
            let mend = format!("name one that this process may use: {}", ranges(&usable));
            EndpointError::Host {
                what: "keep the threads on one processor",
                place,
                source: Box::new(source),
                mend,
            }
        }
        PolicyError::RealTime(source) => {
            let mend = if control_group::bars_real_time().is_some() {
                "this control group has no time for real-time threads (cpu.rt_runtime_us is 0): give it some, or start romer \
                 outside it"
            } else {
                "run as root, or `sudo setcap cap_sys_nice+ep $(command -v romer)`, or raise the limit (ulimit -r 50)"
            };
            EndpointError::host("run threads in real time", "--realtime", mend, source)
        }
        PolicyError::Thread(source) => {
            EndpointError::host("start a thread", "--cpu, --realtime", "raise the limit of processes", source)
        }
    }
}

fn move_interrupts(cpu: u16) -> Result<MovedInterrupts, HostError> {
    let links = Network::open(None)?.links()?;
    let up = links.iter().filter(|link| link.up).map(|link| link.name.as_str());
    let numbers: Vec<u32> = interrupts::interrupts_of(up).into_iter().flat_map(|one| one.numbers).collect();
    MovedInterrupts::to(&numbers, cpu)
}

fn not_moved(cpu: u16, source: HostError) -> EndpointError {
    let mend = match &source {
        HostError::Unsuitable(_) => {
            "leave --irq-cpu out: packets of virtual links are handled where they are sent"
        }
        error if error.is_permission() => "run as root",
        error if error.errno() == Some(HostError::BUSY) => {
            "another romer on this host has moved them, and puts them back when it ends; leave --irq-cpu out here"
        }
        _ => "name a processor that there is, and that takes interrupts (`romer doctor`)",
    };
    EndpointError::host("move the interrupts", format!("--irq-cpu {cpu}"), mend, source)
}

fn memory_refusal(source: HostError) -> EndpointError {
    let limit = match thread::lock_limit() {
        Ok(Some(octets)) => format!("the limit is {} KiB: ", octets >> 10),
        _ => String::new(),
    };
    let mend = format!(
        "{limit}run as root, or `sudo setcap cap_ipc_lock+ep $(command -v romer)`, or raise it (ulimit -l unlimited)"
    );
    EndpointError::host("lock the memory", "--lock-memory", &mend, source)
}

/// Numbers in order, with runs of them joined: `0-3, 6`.
fn ranges(numbers: &[u16]) -> String {
    let mut parts: Vec<(u16, u16)> = Vec::new();
    for &number in numbers.iter().filter(|number| **number < MOST_CPUS) {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let part = |&(first, last): &(u16, u16)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use romer_record::Exit;

    use super::*;

    #[test]
    fn processors_are_listed_by_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3, 6, 8, 9]), "0-3, 6, 8-9");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[]), "");
    }

    /// A missing processor is an error of the environment, stated in one line.
    #[test]
    fn missing_processor_is_environment_error() {
        let policy = Policy { cpu: Some(1_023), ..Policy::default() };
        let error = ThreadOptions { policy, ..ThreadOptions::default() }.prepare().unwrap_err();
        assert_eq!(error.exit(), Exit::Environment);
        let text = error.to_string();
        assert!(
            text.contains("(--cpu 1023)") && text.contains("name one that this process may use: 0"),
            "{text}"
        );
        assert!(!text.contains('\n'));
    }

    #[test]
    fn what_is_not_asked_for_is_not_refused() {
        assert!(ThreadOptions::default().prepare().unwrap().shortcoming().is_none());
    }
}
