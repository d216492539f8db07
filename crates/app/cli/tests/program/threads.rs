//! How the threads that send and receive are run when the user says so.

use std::fs;

use serde_json::Value;

use crate::common::lab::{FAR, Lab, is_root};
use crate::common::process::{self, Process, romer};
use crate::common::{at, count};

/// A thread of a process: its name, its processors, and its scheduling class as the kernel numbers it.
#[derive(Debug)]
struct Thread {
    name: String,
    cpus: String,
    class: u32,
}

/// The threads of process `id`.
fn threads(id: u32) -> Vec<Thread> {
    let entries = fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let read = |folder: std::path::PathBuf| {
        let status = fs::read_to_string(folder.join("status")).ok()?;
        let field =
            |name: &str| Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned());
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        // The class is field 41; what follows the name, in parentheses, begins with field 3.
        let class = stat.rsplit_once(')')?.1.split_whitespace().nth(41 - 3)?.parse().ok()?;
        Some(Thread { name: field("Name:")?, cpus: field("Cpus_allowed_list:")?, class })
    };
    entries.filter_map(|entry| read(entry.ok()?.path())).collect()
}

/// The last processor that this process may use.
fn last_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    list.rsplit([',', '-']).next().unwrap().to_owned()
}

fn first_interval(measuring: &mut Process) {
    loop {
        let line = measuring.line();
        assert!(!line.is_empty(), "the measurement has ended");
        let line: Value = serde_json::from_str(&line).unwrap();
        if at(&line, "/type") == "interval" && count(&line, "/returned") >= 2 {
            return;
        }
    }
}

/// Waits until process `id` has threads of each of these names, and all of them are as wanted: a thread is named, and
/// sets to work, a moment after it was started.
fn await_threads(id: u32, names: &[&str], wanted: impl Fn(&Thread) -> bool) {
    for _ in 0..6_000 {
        let all = threads(id);
        let fits = |name: &&str| {
            let mut ours = all.iter().filter(|thread| thread.name == **name).peekable();
            ours.peek().is_some() && ours.all(&wanted)
        };
        if names.iter().all(fits) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{names:?} are not as wanted: {:?}", threads(id));
}

#[test]
fn the_threads_that_send_and_receive_stay_on_the_processor_that_was_asked_for() {
    let cpu = last_cpu();
    let lab = Lab::path();
    let responder = lab.respond(&["--cpu", &cpu]);
    await_threads(responder.id(), &["romer-reflect"], |thread| thread.cpus == cpu);
    let (mut command, _home) =
        lab.measuring(&["--duration", "1h", "--interval", "20ms", "--json-lines", "--cpu", &cpu, FAR]);
    let mut measuring = Process::start(&mut command);
    first_interval(&mut measuring);
    await_threads(measuring.id(), &["romer-send", "romer-receive"], |thread| thread.cpus == cpu);
    measuring.signal("INT");
    measuring.wait().with_code(130);
    // The far end's own wishes hold for what it sends itself.
    let (mut command, _home) = lab.measuring(&[
        "--duration",
        "1h",
        "--interval",
        "20ms",
        "--json-lines",
        "--direction",
        "reverse",
        FAR,
    ]);
    let mut measuring = Process::start(&mut command);
    first_interval(&mut measuring);
    await_threads(responder.id(), &["romer-send"], |thread| thread.cpus == cpu);
    measuring.signal("INT");
    measuring.wait().with_code(130);
    responder.signal("TERM");
    responder.wait().with_code(0);
}

/// As root; whoever may not is refused, which is a row of bad-inputs.
#[test]
fn real_time_is_for_the_threads_that_wait_and_locked_memory_is_locked() {
    if !is_root() {
        return;
    }
    const FIFO: u32 = 1;
    let lab = Lab::path();
    let responder = lab.respond(&["--realtime", "--lock-memory"]);
    await_threads(responder.id(), &["romer-reflect"], |thread| thread.class == FIFO);
    await_threads(responder.id(), &["romer-control"], |thread| thread.class != FIFO);
    let status = fs::read_to_string(format!("/proc/{}/status", responder.id())).unwrap();
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap().trim();
    assert_ne!(locked, "0 kB");
    let (mut command, _home) =
        lab.measuring(&["--duration", "1h", "--interval", "20ms", "--json-lines", "--realtime", FAR]);
    let mut measuring = Process::start(&mut command);
    first_interval(&mut measuring);
    await_threads(measuring.id(), &["romer-send", "romer-receive"], |thread| thread.class == FIFO);
    measuring.signal("INT");
    measuring.wait().with_code(130);
}

/// The interrupts of interfaces that are up, as the kernel lists them, each with the processors that it may go to.
fn interrupts() -> Vec<(String, String)> {
    let links: Vec<String> = fs::read_dir("/sys/class/net")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let up = fs::read_to_string(path.join("operstate")).ok()?.trim() == "up";
            let device = fs::canonicalize(path.join("device")).ok()?.file_name()?.to_str()?.to_owned();
            up.then(|| [path.file_name().unwrap().to_str().unwrap().to_owned(), device])
        })
        .flatten()
        .collect();
    let table = fs::read_to_string("/proc/interrupts").unwrap();
    let numbers = table.lines().filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let name = rest.split_whitespace().next_back()?;
        let is_of = |link: &String| name.starts_with(&format!("{link}-"));
        links.iter().any(is_of).then(|| number.trim().to_owned())
    });
    let allowed =
        |number: &String| fs::read_to_string(format!("/proc/irq/{number}/smp_affinity_list")).unwrap();
    numbers.map(|number| (number.clone(), allowed(&number))).collect()
}

#[test]
fn interrupts_go_to_the_processor_that_was_asked_for_and_back_whatever_ends_romer() {
    if !is_root() {
        return;
    }
    let before = interrupts();
    let cpu = last_cpu();
    let mut command = romer(["respond", "--listen", "127.0.0.1:0", "--irq-cpu", &cpu]);
    if before.is_empty() {
        let refused = process::run(&mut command).with_code(4);
        assert!(refused.stderr.contains("no interface that is up has interrupts"), "{}", refused.stderr);
        return;
    }
    // In a container the kernel's files may be there to be read only.
    let may_write = |number: &str| {
        fs::OpenOptions::new().write(true).open(format!("/proc/irq/{number}/smp_affinity_list")).is_ok()
    };
    if !before.iter().any(|(number, _)| may_write(number)) {
        let refused = process::run(&mut command).with_code(4);
        assert!(refused.stderr.contains("(--irq-cpu"), "{}", refused.stderr);
        return;
    }
    for signal in ["TERM", "KILL"] {
        let mut responder = Process::start(&mut command);
        assert!(responder.line().contains("127.0.0.1"));
        let moved = interrupts();
        assert_eq!(moved.len(), before.len());
        // One that its driver manages stays, and is told.
        assert!(moved.iter().any(|(_, cpus)| cpus.trim() == cpu), "{before:?} {moved:?}");
        // Each would put back what the other had made of them.
        let refused = process::run(&mut command).with_code(4).stderr;
        assert!(refused.contains("another romer on this host has moved them"), "{refused}");
        assert_eq!(interrupts(), moved);
        responder.signal(signal);
        responder.wait();
        for _ in 0..200 {
            if interrupts() == before {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_eq!(interrupts(), before, "{signal}");
    }
}
