//! The filter of system calls (`seccomp(2)`): which calls it allows, refuses or ends the process for, and its program.
//!
//! A refused call fails with `EPERM`. A call that is newer than this program fails with `ENOSYS`, so that the C library
//! uses an older one. Only a call of the hostile list (`calls.rs`) ends the process: an incomplete list of
//! ordinary calls must not.

use std::collections::BTreeMap;

use crate::calls::{HOSTILE, LABORATORIES, ORDINARY, ORDINARY_OF_ARCHITECTURE, PROGRAMS};
use crate::needs::Needs;

/// The highest number of a system call that this version knows (`listxattrat`).
const LAST_KNOWN: u32 = 465;

/// `AUDIT_ARCH_X86_64` or `AUDIT_ARCH_AARCH64`.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("romer-confine knows the system calls of x86-64 and AArch64 only");

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
/// Of the lower half of an argument.
const fn argument(place: u32) -> u32 {
    16 + 8 * place
}

/// Flags of `clone` that make namespaces: `CLONE_NEWTIME`, `NEWNS`, `NEWCGROUP`, `NEWUTS`, `NEWIPC`, `NEWUSER`, `NEWPID`, `NEWNET`.
const NEW_NAMESPACES: u32 =
    0x80 | 0x2_0000 | 0x200_0000 | 0x400_0000 | 0x800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
/// `CLONE_THREAD`.
const THREAD: u32 = 0x1_0000;
/// `TIOCSTI` and `TIOCLINUX`, which enter characters into a terminal that others read.
const TERMINAL_INPUT: [u32; 2] = [0x5412, 0x541c];
/// Families of sockets: local, IPv4, IPv6, netlink, packet, XDP.
const FAMILIES: [u32; 6] = [1, 2, 10, 16, 17, 44];

/// What is done with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is made.
    Allow,
    /// It fails with this error number.
    Refuse(u16),
    /// It ends the process (`SIGSYS`).
    Kill,
    /// It is made if no argument forbids it.
    Check(Check),
}

/// What decides by an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// `clone` makes a thread only.
    Thread,
    /// `clone` makes a process, without namespaces.
    Process,
    /// The family of a socket.
    Family,
    /// The request of an `ioctl`.
    Request,
}

const EPERM: u16 = 1;
const ENOSYS: u16 = 38;
const EAFNOSUPPORT: u16 = 97;

/// A filter, ready to be installed.
#[derive(Clone, Debug)]
pub struct Filter {
    program: Vec<libc::sock_filter>,
}

/// Whether this kernel has filters that end a process (Linux 4.14 and later).
pub fn is_supported() -> bool {
    /// `SECCOMP_GET_ACTION_AVAIL`.
    const ASK: libc::c_uint = 2;
    let action = libc::SECCOMP_RET_KILL_PROCESS;
    // SAFETY: the call reads one number.
    unsafe { libc::syscall(libc::SYS_seccomp, ASK, 0_u32, &raw const action) == 0 }
}

/// What is done with each call that has an action of its own.
fn table(needs: &Needs) -> BTreeMap<u32, Action> {
    let mut table = BTreeMap::new();
    let mut set = |calls: &[libc::c_long], action| {
        for call in calls.iter().filter_map(|call| u32::try_from(*call).ok()) {
            table.insert(call, action);
        }
    };
    let programs = needs.programs || needs.laboratories;
    set(HOSTILE, Action::Kill);
    set(ORDINARY, Action::Allow);
    set(ORDINARY_OF_ARCHITECTURE, Action::Allow);
    set(&[libc::SYS_clone], Action::Check(if programs { Check::Process } else { Check::Thread }));
    // Its flags are in memory, which a filter cannot read: the C library uses clone instead.
    set(&[libc::SYS_clone3], Action::Refuse(ENOSYS));
    set(&[libc::SYS_socket], Action::Check(Check::Family));
    set(&[libc::SYS_ioctl], Action::Check(Check::Request));
    set(
        &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register],
        Action::Refuse(ENOSYS),
    );
    if programs {
        set(PROGRAMS, Action::Allow);
    }
    if needs.namespaces || needs.laboratories {
        set(&[libc::SYS_setns], Action::Allow);
    }
    if needs.laboratories {
        set(LABORATORIES, Action::Allow);
        set(&[libc::SYS_clone], Action::Allow);
    }
    if needs.kernel_programs {
        set(&[libc::SYS_bpf], Action::Allow);
    }
    table
}

/// The action of a call without one of its own.
const fn otherwise(number: u32) -> Action {
    Action::Refuse(if number <= LAST_KNOWN { EPERM } else { ENOSYS })
}

/// The numbers from which on an action holds, in order, from 0.
fn ranges(table: &BTreeMap<u32, Action>) -> Vec<(u32, Action)> {
    let mut ranges: Vec<(u32, Action)> = Vec::new();
    for number in 0..=LAST_KNOWN + 1 {
        let action = table.get(&number).copied().unwrap_or(otherwise(number));
        if ranges.last().is_none_or(|(_, last)| *last != action) {
            ranges.push((number, action));
        }
    }
    ranges
}

impl Filter {
    /// The filter of a process that has these needs.
    pub fn new(needs: &Needs) -> Self {
        let mut program = vec![
            load(ARCH),
            jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0),
            answer(libc::SECCOMP_RET_KILL_PROCESS),
            load(NUMBER),
        ];
        program.extend(decide(&ranges(&table(needs))));
        Self { program }
    }

    /// Installs it in all threads of this process. Gives whether the kernel agreed; each thread must have no_new_privs.
    pub fn install(&self) -> bool {
        self.install_with(libc::SECCOMP_FILTER_FLAG_TSYNC)
    }

    /// Installs it in the current thread, likewise. Makes system calls only.
    pub(crate) fn install_here(&self) -> bool {
        self.install_with(0)
    }

    fn install_with(&self, flags: libc::c_ulong) -> bool {
        let Ok(len) = libc::c_ushort::try_from(self.program.len()) else { return false };
        let program = libc::sock_fprog { len, filter: self.program.as_ptr().cast_mut() };
        // SAFETY: the call reads the program, which outlives it.
        let answer = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        };
        answer == 0
    }
}

/// Instructions that search the action of the loaded number by halves.
fn decide(ranges: &[(u32, Action)]) -> Vec<libc::sock_filter> {
    let (below, from) = ranges.split_at(ranges.len() / 2);
    match (below, from) {
        ([], [(_, action)]) => perform(*action),
        (_, [(first, _), ..]) => {
            let below = decide(below);
            // A conditional jump reaches 255 instructions only, an unconditional one all.
            let mut program = vec![jump(libc::BPF_JGE, *first, 0, 1), skip(below.len())];
            program.extend(below);
            program.extend(decide(from));
            program
        }
        (_, []) => perform(Action::Kill),
    }
}

/// Instructions that end with the answer.
fn perform(action: Action) -> Vec<libc::sock_filter> {
    let allow = answer(libc::SECCOMP_RET_ALLOW);
    match action {
        Action::Allow => vec![allow],
        Action::Refuse(error) => vec![refuse(error)],
        Action::Kill => vec![answer(libc::SECCOMP_RET_KILL_PROCESS)],
        Action::Check(Check::Thread) => {
            vec![load(argument(0)), jump(libc::BPF_JSET, THREAD, 0, 1), allow, refuse(EPERM)]
        }
        Action::Check(Check::Process) => {
            vec![load(argument(0)), jump(libc::BPF_JSET, NEW_NAMESPACES, 1, 0), allow, refuse(EPERM)]
        }
        Action::Check(Check::Family) => {
            let mut program = vec![load(argument(0))];
            for family in FAMILIES {
                program.extend([jump(libc::BPF_JEQ, family, 0, 1), allow]);
            }
            program.push(refuse(EAFNOSUPPORT));
            program
        }
        Action::Check(Check::Request) => {
            let mut program = vec![load(argument(1))];
            for request in TERMINAL_INPUT {
                program.extend([jump(libc::BPF_JEQ, request, 0, 1), refuse(EPERM)]);
            }
            program.push(allow);
            program
        }
    }
}

/// Loads a word of the call.
fn load(offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

/// Compares the loaded word with `value`, and skips as many instructions.
fn jump(comparison: u32, value: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | comparison | libc::BPF_K, value, if_true, if_false)
}

/// Skips `count` instructions.
fn skip(count: usize) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JA, u32::try_from(count).unwrap_or(u32::MAX), 0, 0)
}

fn answer(value: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, value, 0, 0)
}

fn refuse(error: u16) -> libc::sock_filter {
    answer(libc::SECCOMP_RET_ERRNO | u32::from(error))
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the program answers to a call with these arguments, as the kernel would run it.
    fn run(filter: &Filter, arch: u32, number: u32, arguments: [u32; 2]) -> u32 {
        let words = |offset| match offset {
            NUMBER => number,
            ARCH => arch,
            16 => arguments[0],
            24 => arguments[1],
            _ => panic!("offset {offset}"),
        };
        let (mut place, mut loaded) = (0, 0);
        loop {
            let it = filter.program[place];
            place += 1;
            let code = u32::from(it.code);
            let taken = |is_true: bool| usize::from(if is_true { it.jt } else { it.jf });
            place += match code {
                0x20 => {
                    loaded = words(it.k);
                    0
                }
                0x05 => usize::try_from(it.k).unwrap(),
                0x15 => taken(loaded == it.k),
                0x35 => taken(loaded >= it.k),
                0x45 => taken(loaded & it.k != 0),
                0x06 => return it.k,
                _ => panic!("instruction {code:#x}"),
            };
        }
    }

    fn number(call: libc::c_long) -> u32 {
        u32::try_from(call).unwrap()
    }

    fn answer_to(needs: &Needs, call: libc::c_long, arguments: [u32; 2]) -> u32 {
        run(&Filter::new(needs), ARCHITECTURE, number(call), arguments)
    }

    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
    const KILLED: u32 = libc::SECCOMP_RET_KILL_PROCESS;
    const NOT_PERMITTED: u32 = libc::SECCOMP_RET_ERRNO | 1;
    const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | 38;

    /// The program answers to every number as the table says, whatever the needs.
    #[test]
    fn programs_follow_their_table() {
        let all = |bits: u8| Needs {
            programs: bits & 1 != 0,
            kernel_programs: bits & 2 != 0,
            namespaces: bits & 4 != 0,
            laboratories: bits & 8 != 0,
            ..Needs::default()
        };
        for needs in (0..16).map(all) {
            let (table, filter) = (table(&needs), Filter::new(&needs));
            for number in 0..1_000 {
                let expected = match table.get(&number).copied().unwrap_or(otherwise(number)) {
                    Action::Allow => ALLOWED,
                    Action::Kill => KILLED,
                    Action::Refuse(error) => libc::SECCOMP_RET_ERRNO | u32::from(error),
                    Action::Check(_) => continue,
                };
                assert_eq!(run(&filter, ARCHITECTURE, number, [0; 2]), expected, "{number} of {needs:?}");
            }
            assert_eq!(run(&filter, 3, 0, [0; 2]), KILLED);
            assert_eq!(run(&filter, ARCHITECTURE, 0x4000_0000, [0; 2]), UNKNOWN);
            assert!(filter.program.len() < 4_096);
        }
    }

    /// Hostile calls end the process, unless the needs name them; calls that are not listed fail.
    #[test]
    fn needs_decide_about_hostile_calls() {
        let none = Needs::default();
        for call in [libc::SYS_ptrace, libc::SYS_bpf, libc::SYS_setns, libc::SYS_mount, libc::SYS_init_module]
        {
            assert_eq!(answer_to(&none, call, [0; 2]), KILLED, "{call}");
        }
        assert_eq!(answer_to(&none, libc::SYS_execve, [0; 2]), NOT_PERMITTED);
        assert_eq!(answer_to(&none, libc::SYS_io_uring_setup, [0; 2]), UNKNOWN);
        let bpf = Needs { kernel_programs: true, ..Needs::default() };
        assert_eq!(answer_to(&bpf, libc::SYS_bpf, [0; 2]), ALLOWED);
        let lab = Needs { laboratories: true, ..Needs::default() };
        for call in [libc::SYS_mount, libc::SYS_setns, libc::SYS_execve] {
            assert_eq!(answer_to(&lab, call, [0; 2]), ALLOWED, "{call}");
        }
        assert_eq!(answer_to(&lab, libc::SYS_ptrace, [0; 2]), KILLED);
    }

    /// Arguments decide about threads, sockets and terminals.
    #[test]
    fn arguments_are_checked() {
        let none = Needs::default();
        let programs = Needs { programs: true, ..Needs::default() };
        // As the C library makes a thread, and as it makes a process.
        let (thread, process) = (0x003d_0f00, 17);
        assert_eq!(answer_to(&none, libc::SYS_clone, [thread, 0]), ALLOWED);
        assert_eq!(answer_to(&none, libc::SYS_clone, [process, 0]), NOT_PERMITTED);
        assert_eq!(answer_to(&programs, libc::SYS_clone, [process, 0]), ALLOWED);
        assert_eq!(answer_to(&programs, libc::SYS_clone, [process | 0x1000_0000, 0]), NOT_PERMITTED);
        assert_eq!(answer_to(&none, libc::SYS_clone3, [0; 2]), UNKNOWN);
        for (family, expected) in [(2, ALLOWED), (44, ALLOWED), (38, libc::SECCOMP_RET_ERRNO | 97)] {
            assert_eq!(answer_to(&none, libc::SYS_socket, [family, 0]), expected, "{family}");
        }
        assert_eq!(answer_to(&none, libc::SYS_ioctl, [0, 0x5412]), NOT_PERMITTED);
        assert_eq!(answer_to(&none, libc::SYS_ioctl, [0, 0x5413]), ALLOWED);
    }
}
