//! Tests between two ends that have a key, or have not the same.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::process::{self, Ended, Process, romer};
use crate::common::{at, count, schema};

fn key(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// A responder on loopback, and its control address.
fn respond(arguments: &[&str]) -> (Process, String) {
    let mut command = romer(["respond", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"]);
    let mut responder = Process::start(command.args(arguments));
    let line = responder.line();
    let (_, control) = line.trim_end().split_once("control at TCP ").unwrap();
    let control = control.to_owned();
    (responder, control)
}

fn measure(control: &str, folder: &Path, key: Option<&Path>) -> Ended {
    let mut command = romer([
        "measure",
        control,
        "--count",
        "10",
        "--interval",
        "2ms",
        "--json",
        "-",
        "--force",
        "--no-route",
    ]);
    command.arg("--out").arg(folder.join("run"));
    if let Some(key) = key {
        command.arg("--key-file").arg(key);
    }
    process::run(&mut command)
}

#[test]
fn what_the_control_channel_refuses_is_told_and_counted() {
    let home = tempfile::tempdir().unwrap();
    let told = home.path().join("totals.json");
    let (responder, control) = respond(&["--sessions", "1", "--json", told.to_str().unwrap()]);
    let mut long = romer([
        "measure",
        &control,
        "--interval",
        "10ms",
        "--duration",
        "1m",
        "--no-route",
        "--json-lines",
        "--out",
    ]);
    let mut holding = Process::start(long.arg(home.path().join("long")));
    assert!(holding.line().contains("romer/"), "it has the one session that there is");
    let refused = measure(&control, home.path(), None).with_code(5);
    assert!(refused.stderr.contains("all sessions are taken"), "{refused:?}");
    holding.signal("INT");
    holding.wait();
    responder.signal("TERM");
    responder.wait().with_code(0);
    let totals: Value = serde_json::from_str(&fs::read_to_string(told).unwrap()).unwrap();
    schema::assert_valid(&totals, "respond");
    assert_eq!(count(&totals, "/sessions/refused/busy"), 1);
    assert_eq!(count(&totals, "/sessions/refused/overload"), 0);
}

/// Only holders of the responder's key are served.
#[test]
fn only_key_holders_are_served() {
    let home = tempfile::tempdir().unwrap();
    let ours = key(home.path(), "ours", &[7; 32]);
    let other = key(home.path(), "other", &[8; 32]);
    let told = home.path().join("totals.json");
    let (responder, control) =
        respond(&["--key-file", ours.to_str().unwrap(), "--json", told.to_str().unwrap()]);

    let document = measure(&control, home.path(), Some(&ours)).with_code(0).document();
    assert_eq!(count(&document, "/round_trip/packets/received"), 10);
    assert_eq!(count(&document, "/forward/packets/received"), 10, "the far log came home");
    assert_eq!(at(&document, "/traffic/protocol"), "STAMP (RFC 8762), authenticated");
    assert!(count(&document, "/traffic/payload_octets") >= 112);

    let without = measure(&control, home.path(), None).with_code(5);
    assert!(without.stderr.contains("the responder requires a key"), "{without:?}");
    let wrong = measure(&control, home.path(), Some(&other)).with_code(5);
    assert!(wrong.stderr.contains("the responder has another key"), "{wrong:?}");

    responder.signal("TERM");
    responder.wait().with_code(0);
    let totals: Value = serde_json::from_str(&fs::read_to_string(told).unwrap()).unwrap();
    schema::assert_valid(&totals, "respond");
    assert_eq!(at(&totals, "/authenticated"), true);
    assert_eq!(count(&totals, "/replies/sent"), 10);
    assert_eq!((count(&totals, "/sessions/accepted"), count(&totals, "/sessions/auth_fail")), (1, 1));
}

#[test]
fn a_responder_that_is_asked_for_its_totals_tells_them_in_a_line_and_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let told = home.path().join("totals.json");
    let (responder, control) = respond(&["--stateful", "--json", told.to_str().unwrap()]);
    let document = measure(&control, home.path(), None).with_code(0).document();
    assert_eq!(count(&document, "/round_trip/packets/received"), 10);
    // The counts of a moment ago are told a moment later.
    let asked = (0..600).any(|_| {
        responder.signal("USR1");
        std::thread::sleep(std::time::Duration::from_millis(50));
        let Ok(text) = fs::read_to_string(&told) else { return false };
        let Ok(totals) = serde_json::from_str::<Value>(&text) else { return false };
        assert_eq!(text.lines().count(), 1);
        schema::assert_valid(&totals, "respond");
        count(&totals, "/replies/sent") == 10 && count(&totals, "/sessions/with_state") == 1
    });
    assert!(asked, "no totals");
    measure(&control, home.path(), None).with_code(0);
    responder.signal("TERM");
    responder.wait().with_code(0);
}

/// A responder that has a key leaves no core dump, where one without a key leaves one.
#[test]
fn no_core_dump_with_a_key() {
    let dumped = |with_key: bool| {
        let home = tempfile::tempdir().unwrap();
        let key = key(home.path(), "key", &[7; 32]);
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "ulimit -c unlimited; exec \"$0\" respond --listen 127.0.0.1:0 --control 127.0.0.1:0 \"$@\"",
        ]);
        command.arg(process::PROGRAM).current_dir(home.path()).stdout(Stdio::piped());
        if with_key {
            command.arg("--key-file").arg(&key);
        }
        let mut responder = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(responder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("responding: "), "{line:?}");
        // A shell that starts this in the background has interrupt and quit ignored.
        let script = format!("kill -ABRT {}", responder.id());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        responder.wait().unwrap().core_dumped()
    };
    // Some hosts dump nothing at all.
    let can_dump = dumped(false);
    assert!(!dumped(true), "dumped with a key");
    if !can_dump {
        eprintln!("this host leaves no core dumps: nothing was shown");
    }
}

/// The next message to a service manager.
fn message(manager: &UnixDatagram) -> String {
    let mut octets = [0; 200];
    let length = manager.recv(&mut octets).unwrap();
    String::from_utf8_lossy(&octets[..length]).into_owned()
}

/// Under a service manager, a hang-up has the key file read again. A file without a key leaves the key as it is.
#[test]
fn keys_are_reloaded() {
    let home = tempfile::tempdir().unwrap();
    let [file, former] = ["key", "former"].map(|name| key(home.path(), name, &[7; 32]));
    let next = key(home.path(), "next", &[8; 32]);
    let manager = UnixDatagram::bind(home.path().join("notify")).unwrap();
    let mut command = romer(["respond", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--key-file"]);
    let mut responder = Process::start(command.arg(&file).env("NOTIFY_SOCKET", home.path().join("notify")));
    let line = responder.line();
    let (_, control) = line.trim_end().split_once("control at TCP ").unwrap();
    assert_eq!(message(&manager), "READY=1");
    measure(control, home.path(), Some(&former)).with_code(0);

    let reload = |content: &[u8]| {
        fs::write(&file, content).unwrap();
        responder.signal("HUP");
        assert!(message(&manager).starts_with("RELOADING=1\nMONOTONIC_USEC="));
        assert_eq!(message(&manager), "READY=1");
    };
    reload(&[8; 32]);
    measure(control, home.path(), Some(&next)).with_code(0);
    let refused = measure(control, home.path(), Some(&former)).with_code(5);
    assert!(refused.stderr.contains("the responder has another key"), "{refused:?}");
    reload(b"short");
    measure(control, home.path(), Some(&next)).with_code(0);

    responder.signal("TERM");
    assert_eq!(message(&manager), "STOPPING=1");
    let ended = responder.wait().with_code(0);
    assert!(ended.stderr.contains("the responder keeps its key"), "{ended:?}");
}

/// A responder serves on the sockets that a service manager passes, and refuses addresses besides.
#[test]
fn inherited_sockets_are_served() {
    const ACTIVATE: &str = "
import fcntl, os, socket, sys
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()]
for one in sockets:
    one.bind(('127.0.0.1', 0))
sockets[1].listen()
copies = [fcntl.fcntl(one, fcntl.F_DUPFD, 20) for one in sockets]
for number, copy in enumerate(copies):
    os.dup2(copy, 3 + number)
os.environ.update(LISTEN_FDS='2', LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])
";
    let home = tempfile::tempdir().unwrap();
    let activate = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.args(["-c", ACTIVATE, process::PROGRAM, "respond"]).args(arguments);
        command
    };
    let mut responder = Process::start(&mut activate(&[]));
    let line = responder.line();
    assert!(line.starts_with("responding: test packets at UDP 127.0.0.1:"), "{line}");
    let (_, control) = line.trim_end().split_once("control at TCP ").unwrap();
    let document = measure(control, home.path(), None).with_code(0).document();
    assert_eq!(count(&document, "/round_trip/packets/received"), 10);
    responder.signal("TERM");
    responder.wait().with_code(0);
    let refused = process::run(&mut activate(&["--listen", "127.0.0.1:0"])).with_code(2);
    assert!(refused.stderr.contains("the service manager passed sockets"), "{refused:?}");
}
