//! Laboratories really put up: as named namespaces of the machine where this runs as root, and in a user namespace
//! as an ordinary user, which root becomes for the purpose.
//!
//! The test harness is our own, because the holder of a rootless laboratory is this program started again, and
//! must find itself with a single thread.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test with its own harness"
)]

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use romer_host::{netns, process};
use romer_lab::{HOLDER_ARGUMENT, Host, Lab, LabError, Mode, Topology};

/// Says that this process is to run the tests of an ordinary user.
const AS_USER: &str = "ROMER_LAB_TEST_AS_USER";
/// The user `nobody`.
const NOBODY: u32 = 65_534;
/// What a test of ours calls its laboratories, so that a later run can clear away after a killed one.
const PREFIX: &str = "rlt";

type Body = fn();
type Test = (&'static str, Body);

const TESTS: &[Test] = &[
    ("a_laboratory_carries_its_first_packet_in_both_families", carries_the_first_packet),
    ("a_laboratory_that_is_up_is_not_put_up_again", is_not_put_up_again),
    ("down_ends_programs_and_leaves_nothing", leaves_nothing),
    ("run_takes_this_process_place_with_folder_and_exit_code", run_takes_our_place),
    ("a_laboratory_killed_while_being_put_up_is_healed_by_the_next", killed_while_put_up),
    ("two_laboratories_do_not_know_of_each_other", two_at_once),
    ("what_is_not_there_is_said_to_be_missing", missing),
];
const MACHINE_TESTS: &[Test] = &[
    ("a_foreign_namespace_of_our_name_stops_up_and_is_left_alone", foreign_name),
    ("a_foreign_namespace_in_place_of_ours_is_never_deleted", foreign_in_place),
    ("links_that_the_user_added_do_not_keep_a_laboratory_from_going", users_links),
];
const USER_TESTS: &[Test] = &[("a_laboratory_whose_holder_was_killed_is_healed", holder_killed)];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [HOLDER_ARGUMENT] => romer_lab::holder_main(),
        ["echo", address] => echo(address),
        ["ask", from, to] => ask(from, to),
        ["up", kind, prefix] => {
            let kind = if *kind == "path" { Topology::Path } else { Topology::Router };
            Lab::up(kind, prefix).map_or(ExitCode::FAILURE, |_| ExitCode::SUCCESS)
        }
        ["run", host, prefix, program, rest @ ..] => {
            eprintln!("{}", Lab::run(host, prefix, program, rest));
            ExitCode::FAILURE
        }
        _ => run_tests(&words),
    }
}

fn run_tests(words: &[&str]) -> ExitCode {
    let root = process::user() == 0;
    let (group, extra) = if root { ("machine", MACHINE_TESTS) } else { ("user", USER_TESTS) };
    // A test without a function is to be run as an ordinary user.
    let mut names: Vec<(String, Option<Body>)> =
        TESTS.iter().chain(extra).map(|(name, test)| (format!("{group}::{name}"), Some(*test))).collect();
    if root {
        let user = TESTS.iter().chain(USER_TESTS);
        names.extend(user.map(|(name, _)| (format!("user::{name}"), None)));
    }
    let exact = words.contains(&"--exact");
    let filters: Vec<&&str> =
        words.iter().filter(|word| !word.starts_with("--") && **word != "terse").collect();
    names.retain(|(name, _)| {
        let fits = |filter: &&&str| if exact { name == **filter } else { name.contains(**filter) };
        filters.is_empty() || filters.iter().any(fits)
    });
    if words.contains(&"--list") {
        if !words.contains(&"--ignored") {
            names.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return ExitCode::SUCCESS;
    }
    let had_folder = std::path::Path::new(netns::FOLDER).exists();
    sweep();
    let mut failures = 0;
    for (name, test) in &names {
        let passed = match test {
            Some(test) => catch_unwind(AssertUnwindSafe(test)).is_ok(),
            None => as_user(name),
        };
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failures += u32::from(!passed);
    }
    if root && !had_folder {
        netns::remove_empty_folder();
    }
    println!("{} tests, {failures} failed", names.len());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one test of this program as an ordinary user, from a copy that such a user can reach.
fn as_user(name: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("lab-test");
    std::fs::copy(this_program(), &program).unwrap();
    let runtime = folder.path().join("runtime");
    std::fs::create_dir(&runtime).unwrap();
    std::os::unix::fs::chown(&runtime, Some(NOBODY), Some(NOBODY)).unwrap();
    Command::new(program)
        .args(["--exact", name])
        .current_dir("/")
        .env("XDG_RUNTIME_DIR", &runtime)
        .env(AS_USER, "1")
        .uid(NOBODY)
        .gid(NOBODY)
        .status()
        .unwrap()
        .success()
}

/// Takes down what a killed earlier run has left.
fn sweep() {
    for status in Lab::list().unwrap() {
        let owner = status.prefix.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse().ok());
        if owner.is_some_and(|owner| process::start_time(owner).is_none()) {
            Lab::down(&status.prefix).unwrap();
        }
    }
}

/// A prefix of this test's own; what stands under it is taken down at the end, come what may.
struct Prefix(String);

impl Prefix {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

impl Drop for Prefix {
    fn drop(&mut self) {
        match Lab::down(&self.0) {
            Ok(()) | Err(LabError::NotUp { .. }) => {}
            Err(error) => eprintln!("could not take {} down: {error}", self.0),
        }
    }
}

/// A process that is ended with its test.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Sends back one datagram after another, each with the hop limit it came with.
fn echo(address: &str) -> ExitCode {
    use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket};
    let address: SocketAddr = address.parse().unwrap();
    let socket = StampingSocket::bind(address, &SocketOptions::default()).unwrap();
    println!("{}", socket.local_address());
    let mut batch = ReceiveBatch::new(8, 64);
    loop {
        socket.wait(None).unwrap();
        socket.receive_batch(&mut batch).unwrap();
        for datagram in batch.iter() {
            socket.send(&Outgoing::new(&[datagram.ttl.unwrap()], datagram.peer, 0)).unwrap();
        }
    }
}

/// Sends a single datagram and prints the answer.
fn ask(from: &str, to: &str) -> ExitCode {
    let socket = UdpSocket::bind(from).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket.send_to(b"?", to).unwrap();
    let mut answer = [0; 8];
    match socket.recv(&mut answer) {
        Ok(length) => println!("{:?}", &answer[..length]),
        Err(error) => println!("no answer: {error}"),
    }
    ExitCode::SUCCESS
}

fn carries_the_first_packet() {
    let chain = Topology::Chain { emulators: 3 };
    for (kind, hops) in [(Topology::Path, "[64]"), (Topology::Router, "[63]"), (chain, "[64]")] {
        let prefix = Prefix::new();
        let lab = Lab::up(kind, &prefix.0).unwrap();
        let (a, b) = (kind.endpoint(Host::A).unwrap(), kind.endpoint(Host::B).unwrap());
        for (here, there) in a.addresses().into_iter().zip(b.addresses()) {
            let mut server = lab.command(Host::B, this_program()).unwrap();
            let server = server.args(["echo", &SocketAddr::new(there, 0).to_string()]);
            let mut server = Guarded(server.stdout(Stdio::piped()).spawn().unwrap());
            let mut line = String::new();
            BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let mut client = lab.command(Host::A, this_program()).unwrap();
            let client = client.args(["ask", &SocketAddr::new(here, 0).to_string(), line.trim()]);
            let answer = client.output().unwrap();
            assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), hops, "{kind:?} {here} {line}");
        }
    }
}

fn is_not_put_up_again() {
    let prefix = Prefix::new();
    let lab = Lab::up(Topology::Path, &prefix.0).unwrap();
    let wanted = if process::user() == 0 { Mode::Machine } else { Mode::UserNamespace };
    assert_eq!((lab.mode(), lab.kind(), lab.prefix()), (wanted, Topology::Path, prefix.0.as_str()));
    let error = Lab::up(Topology::Router, &prefix.0).unwrap_err();
    assert!(matches!(error, LabError::AlreadyUp { kind: "path", .. }), "{error}");
    let status = Lab::status(&prefix.0).unwrap().unwrap();
    assert!(status.whole && status.kind == Topology::Path);
    assert!(Lab::open(&prefix.0).unwrap().command(Host::E, "true").unwrap().status().unwrap().success());
}

/// Whether nothing at all is left of a laboratory.
fn assert_nothing_left(prefix: &str) {
    assert!(Lab::status(prefix).unwrap().is_none());
    let left: Vec<_> = netns::list().unwrap().into_iter().filter(|name| name.starts_with(prefix)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(Lab::list().unwrap().iter().all(|status| status.prefix != prefix));
    let holders = std::fs::read_dir("/proc").unwrap().filter(|entry| {
        let path = entry.as_ref().unwrap().path().join("cmdline");
        std::fs::read_to_string(path).is_ok_and(|line| {
            line.contains(HOLDER_ARGUMENT) && line.starts_with(&*this_program().to_string_lossy())
        })
    });
    assert_eq!(holders.count(), 0, "a holder is left");
}

fn leaves_nothing() {
    let prefix = Prefix::new();
    let lab = Lab::up(Topology::Router, &prefix.0).unwrap();
    let mut inside: Vec<Guarded> = [Host::A, Host::R, Host::B]
        .into_iter()
        .map(|host| Guarded(lab.command(host, "sleep").unwrap().arg("1000").spawn().unwrap()))
        .collect();
    // Until it has become another program, a child is not inside yet.
    for child in &inside {
        let path = format!("/proc/{}/comm", child.0.id());
        while std::fs::read_to_string(&path).unwrap().trim() != "sleep" {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Lab::down(&prefix.0).unwrap();
    for child in &mut inside {
        assert!(child.0.try_wait().unwrap().is_some_and(|status| !status.success()));
    }
    assert_nothing_left(&prefix.0);
    assert!(matches!(Lab::down(&prefix.0), Err(LabError::NotUp { .. })));
}

fn run_takes_our_place() {
    let prefix = Prefix::new();
    Lab::up(Topology::Path, &prefix.0).unwrap();
    let folder = std::env::temp_dir();
    let run = |host: &str, script: &str| {
        let mut command = Command::new(this_program());
        command.args(["run", host, &prefix.0, "sh", "-c", script]).current_dir(&folder).output().unwrap()
    };
    let output = run("A", "pwd; ls /sys/class/net; exit 7");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().next(), folder.canonicalize().unwrap().to_str());
    assert!(lines.lines().any(|line| line == "t0"), "{lines}");
    assert_eq!(run(&format!("{}B", prefix.0), "exit 3").status.code(), Some(3));
    let output = run("R", "exit 0");
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown host (lab run \"R\")"), "{output:?}");
}

fn killed_while_put_up() {
    let prefix = Prefix::new();
    // How long a whole one takes, so that the kills fall all over it.
    let begin = std::time::Instant::now();
    Lab::up(Topology::Router, &prefix.0).unwrap();
    let whole = begin.elapsed();
    Lab::down(&prefix.0).unwrap();
    for step in 0..12 {
        let mut child = Command::new(this_program()).args(["up", "router", &prefix.0]).spawn().unwrap();
        std::thread::sleep(whole * step / 10);
        child.kill().unwrap();
        child.wait().unwrap();
        if step % 2 == 0 {
            match Lab::up(Topology::Path, &prefix.0) {
                Ok(_) | Err(LabError::AlreadyUp { .. }) => {}
                Err(error) => panic!("after a kill at step {step}: {error}"),
            }
        }
        match Lab::down(&prefix.0) {
            Ok(()) | Err(LabError::NotUp { .. }) => {}
            Err(error) => panic!("after a kill at step {step}: {error}"),
        }
        // A holder that was not yet told anything ends by itself when its starter is gone.
        std::thread::sleep(Duration::from_millis(50));
        assert_nothing_left(&prefix.0);
    }
}

fn two_at_once() {
    let (one, other) = (Prefix::new(), Prefix::new());
    Lab::up(Topology::Path, &one.0).unwrap();
    Lab::up(Topology::Router, &other.0).unwrap();
    let prefixes: Vec<String> = Lab::list().unwrap().into_iter().map(|status| status.prefix).collect();
    assert!(prefixes.contains(&one.0) && prefixes.contains(&other.0));
    Lab::down(&one.0).unwrap();
    assert!(Lab::status(&other.0).unwrap().unwrap().whole);
}

fn missing() {
    let prefix = Prefix::new();
    assert!(matches!(Lab::open(&prefix.0), Err(LabError::NotUp { .. })));
    assert!(matches!(Lab::run("A", &prefix.0, "true", [""; 0]), LabError::NotUp { .. }));
    assert!(matches!(Lab::up(Topology::Path, "a/b"), Err(LabError::BadPrefix { .. })));
}

fn foreign_name() {
    let prefix = Prefix::new();
    let foreign = format!("{}B", prefix.0);
    netns::create(&foreign).unwrap();
    let error = Lab::up(Topology::Path, &prefix.0);
    let still = netns::exists(&foreign).unwrap();
    netns::delete(&foreign).unwrap();
    assert!(matches!(error, Err(LabError::NameTaken { .. })), "{error:?}");
    assert!(still);
    assert_nothing_left(&prefix.0);
}

fn foreign_in_place() {
    use romer_host::link::Network;
    let prefix = Prefix::new();
    let name = format!("{}A", prefix.0);
    Lab::up(Topology::Path, &prefix.0).unwrap();
    netns::delete(&name).unwrap();
    netns::create(&name).unwrap();
    Network::open(Some(&name)).unwrap().add_bridge("theirs").unwrap();
    let refused = [Lab::down(&prefix.0), Lab::up(Topology::Path, &prefix.0).map(drop)];
    let broken = Lab::open(&prefix.0);
    netns::delete(&name).unwrap();
    for error in refused {
        assert!(matches!(error, Err(LabError::NameTaken { .. })), "{error:?}");
    }
    assert!(matches!(broken, Err(LabError::Broken { .. })), "{broken:?}");
    Lab::down(&prefix.0).unwrap();
    assert_nothing_left(&prefix.0);
}

fn users_links() {
    use romer_host::link::Network;
    let prefix = Prefix::new();
    let lab = Lab::up(Topology::Path, &prefix.0).unwrap();
    let network = Network::open(Some(&lab.namespace(Host::E).unwrap())).unwrap();
    network.add_veth("mine0", "mine1", None).unwrap();
    drop(network);
    Lab::down(&prefix.0).unwrap();
    assert_nothing_left(&prefix.0);
}

fn holder_killed() {
    let prefix = Prefix::new();
    let lab = Lab::up(Topology::Path, &prefix.0).unwrap();
    let holder = Lab::status(&prefix.0).unwrap().unwrap().holder.unwrap();
    assert!(process::end(holder, romer_units::Duration::from_secs(5), || true).unwrap());
    process::reap(holder);
    assert!(!Lab::status(&prefix.0).unwrap().unwrap().whole);
    assert!(matches!(Lab::open(&prefix.0), Err(LabError::Broken { .. })));
    assert!(lab.command(Host::A, "true").is_err());
    Lab::up(Topology::Router, &prefix.0).unwrap();
    Lab::down(&prefix.0).unwrap();
    assert_nothing_left(&prefix.0);
}
