//! What a confined process can still do, against the kernel. A process cannot undo a confinement: each attempt is made in a
//! process of its own, which is this program, run again for one test.
#![expect(clippy::unwrap_used, reason = "tests fail as they do")]

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, ToSocketAddrs, UdpSocket};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::thread;

use romer_confine::{Capability, CapabilitySet, Files, Needs, confine, support};

/// In the process that makes the attempt: its folder, and which attempt it makes.
const FOLDER: &str = "ROMER_CONFINE_FOLDER";
const WHICH: &str = "ROMER_CONFINE_WHICH";

/// Makes an attempt of the test `name` in a process of its own, which this function does not leave. Gives how it ended.
fn attempt(name: &str, which: &str, work: impl FnOnce(&Path)) -> ExitStatus {
    if let Some(folder) = env::var_os(FOLDER) {
        work(&PathBuf::from(folder));
        std::process::exit(0);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(FOLDER, folder.path()).env(WHICH, which);
    command.status().unwrap()
}

fn which() -> String {
    env::var(WHICH).unwrap_or_default()
}

fn files(folder: &Path) -> Option<Files> {
    Some(Files { read: Vec::new(), write: vec![folder.into()] })
}

/// A set of this thread, by the kernel's name for it.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/status").unwrap();
    let field = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    u64::from_str_radix(field.trim(), 16).unwrap()
}

/// A thread that waits until it is told to work, and then reports what it came to.
fn waiting_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> impl FnOnce() -> T {
    let (tell, told) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        told.recv().unwrap();
        work()
    });
    move || {
        tell.send(()).unwrap();
        thread.join().unwrap()
    }
}

/// A hostile call ends the process, whichever thread makes it.
#[test]
fn hostile_calls_kill() {
    for (name, call) in
        [("ptrace", libc::SYS_ptrace), ("init_module", libc::SYS_init_module), ("bpf", libc::SYS_bpf)]
    {
        // In the process that makes the attempt, the loop is left at the one that it is for.
        if env::var_os(FOLDER).is_some() && which() != name {
            continue;
        }
        let ended = attempt("hostile_calls_kill", name, move |_| {
            let earlier = waiting_thread(move || {
                // SAFETY: the arguments are plain numbers that no kernel accepts for these calls.
                unsafe { libc::syscall(call, -1, 0, 0, 0) }
            });
            let layers = confine(&Needs::default());
            assert!(layers.system_calls && layers.no_new_privileges, "{layers:?}");
            earlier();
        });
        assert_eq!(ended.signal(), Some(libc::SIGSYS), "{name}: {ended}");
    }
}

/// A file outside of the stated folders is refused to every thread, one inside is not.
#[test]
fn files_outside_are_refused() {
    let ended = attempt("files_outside_are_refused", "", |folder| {
        let outside = tempfile::tempdir().unwrap();
        let [read, write] = ["read", "write"].map(|name| outside.path().join(name));
        fs::write(&read, "text").unwrap();
        let refused = move || {
            let ends = [fs::read(&read).map(drop), fs::write(&write, ""), fs::rename(&read, &write)];
            ends.map(|end| end.err().map(|error| error.kind()))
        };
        let earlier = waiting_thread(refused.clone());
        let layers = confine(&Needs { files: files(folder), ..Needs::default() });
        assert_eq!(layers.files, support().landlock);
        let expected = [layers.files.map(|_| ErrorKind::PermissionDenied); 3];
        assert_eq!(earlier(), expected);
        if layers.files.is_some() {
            assert_eq!(refused(), expected);
        }
        let [unfinished, finished] = ["a.unfinished", "a"].map(|name| folder.join(name));
        fs::write(&unfinished, "text").unwrap();
        fs::rename(&unfinished, &finished).unwrap();
        assert_eq!(fs::read(&finished).unwrap(), b"text");
        fs::create_dir(folder.join("b")).unwrap();
        fs::remove_file(&finished).unwrap();
        fs::read("/etc/passwd").unwrap();
    });
    assert!(ended.success(), "{ended}");
}

/// Capabilities that are not needed are gone from all sets of every thread, and do not come back.
#[test]
fn capabilities_are_dropped() {
    let ended = attempt("capabilities_are_dropped", "", |folder| {
        let keep = CapabilitySet::from([Capability::SysNice, Capability::NetRaw]);
        let before = status("CapPrm:");
        let sets = || ["CapPrm:", "CapEff:", "CapInh:", "CapAmb:"].map(status);
        let earlier = waiting_thread(sets);
        let layers = confine(&Needs { capabilities: keep, files: files(folder), ..Needs::default() });
        let left = before & keep.bits();
        assert_eq!(layers.capabilities.unwrap().bits(), left);
        assert_eq!(earlier()[..2], [left; 2]);
        assert_eq!(thread::spawn(sets).join().unwrap()[..2], [left; 2]);
        assert_eq!(sets()[2] & !keep.bits() | sets()[3], 0);
        assert_eq!(status("NoNewPrivs:"), 1);
        // It takes CAP_SETPCAP to change this one.
        if before & 1 << 8 != 0 {
            assert_eq!(status("CapBnd:"), 0);
        }
    });
    assert!(ended.success(), "{ended}");
}

/// Programs start only if they are needed. Those that do are confined as well.
#[test]
fn programs_start_if_needed() {
    let ended = attempt("programs_start_if_needed", "", |folder| {
        let layers = confine(&Needs { programs: true, files: files(folder), ..Needs::default() });
        let run = |script: &str| Command::new("sh").args(["-c", script]).output().unwrap();
        let output = run("echo word");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "word\n", "{output:?}");
        if layers.files.is_some() {
            let outside = env::current_exe().unwrap().with_extension("confined");
            assert!(!run(&format!("echo > {}", outside.display())).status.success());
            assert!(!outside.exists());
        }
        let inside = folder.join("inside");
        assert!(run(&format!("echo > {}", inside.display())).status.success());
        // The strictest of all filters holds.
        confine(&Needs::default());
        let refused = Command::new("sh").arg("-c").arg("true").status().unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM), "{refused}");
    });
    assert!(ended.success(), "{ended}");
}

/// What every command does after its set-up is possible: threads, sockets, names, clocks, files.
#[test]
fn ordinary_work_goes_on() {
    let ended = attempt("ordinary_work_goes_on", "", |folder| {
        confine(&Needs { files: files(folder), ..Needs::default() });
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
        assert!(socket.recv(&mut [0]).is_err());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = thread::spawn(move || std::net::TcpStream::connect(address).unwrap());
        listener.accept().unwrap();
        client.join().unwrap();
        assert!(("localhost", 1).to_socket_addrs().unwrap().next().is_some());
        thread::sleep(std::time::Duration::from_millis(1));
        let threads: Vec<_> = (0..8).map(|_| thread::spawn(|| vec![1_u8; 1 << 22].len())).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 1 << 22));
        fs::write(folder.join("file"), vec![0; 1 << 20]).unwrap();
        fs::read_dir("/proc/self/fd").unwrap().for_each(drop);
        assert!(std::panic::catch_unwind(|| panic!("caught")).is_err());
    });
    assert!(ended.success(), "{ended}");
}

/// A process with many threads that come and go is confined as a whole.
#[test]
fn restless_threads_are_reached() {
    let ended = attempt("restless_threads_are_reached", "", |_| {
        let waiting: Vec<_> = (0..32).map(|_| waiting_thread(|| status("CapPrm:"))).collect();
        let restless = thread::spawn(|| {
            for _ in 0..200 {
                thread::spawn(|| {}).join().unwrap();
            }
        });
        let layers = confine(&Needs::default());
        assert_eq!(layers.capabilities, Some(CapabilitySet::default()));
        assert!(waiting.into_iter().all(|thread| thread() == 0));
        restless.join().unwrap();
    });
    assert!(ended.success(), "{ended}");
}
