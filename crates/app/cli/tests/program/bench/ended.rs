//! Commands of cases and resets that do not come to their end.

use std::time::{Duration, Instant};

use super::*;

/// A shell command that writes the number of what it has started to `id` in this folder, and waits for an hour, unless `go` is there.
fn hanging(folder: &Path) -> String {
    let shown = folder.display();
    format!("test -e {shown}/go || {{ sleep 3600 & echo $! >{shown}/new; mv {shown}/new {shown}/id; wait; }}")
}

/// The number that such a command has written, once it has.
fn started(folder: &Path, running: &mut Process) -> u32 {
    loop {
        if let Ok(text) = std::fs::read_to_string(folder.join("id")) {
            return text.trim().parse().unwrap();
        }
        assert!(running.is_running(), "it ended before the command began");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the process of this number is gone, for which who takes note of its end may take a moment.
fn is_gone(id: u32) -> bool {
    let runs = || {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        text.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    let end = Instant::now() + Duration::from_secs(30);
    while runs() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    !runs()
}

#[test]
fn a_signal_ends_the_command_of_a_case_with_all_that_it_has_started() {
    let lab = Lab::router();
    let sweep = ["load-sweep", "--frame-sizes", "64", "--loads", "20%", "--line-rate", "2Mbit"];
    let times = ["--trial", "200ms", "--settle", "50ms", "--skip-self-test", "--color", "never"];
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let cases = ["--case".to_owned(), format!("slow={}", hanging(folder.path()))];
        let mut command = command(&lab, &run, &[&sweep[..], &times].concat());
        let mut running = Process::start(command.args(&cases));
        let id = started(folder.path(), &mut running);
        running.signal(signal);
        let ended = running.wait().with_code(130);
        assert!(is_gone(id), "what the command had started goes on");
        let told = "event: the command of case slow was running when the benchmark was interrupted, and was ended with all";
        assert!(ended.stdout.contains(told), "{ended:?}");
        assert!(ended.stdout.contains("; to continue: romer bench --resume "), "{ended:?}");
        let kept: Value =
            serde_json::from_str(&std::fs::read_to_string(run.join("benchmark.json")).unwrap()).unwrap();
        schema::assert_valid(&kept, "benchmark");
        assert_eq!((&kept["partial"], &kept["events"][0]["code"]), (&true.into(), &"command-ended".into()));
        std::fs::write(folder.path().join("go"), "").unwrap();
        let mut resume = lab.romer("A", ["bench", "--resume"]);
        let whole = document(process::run(resume.arg(&run).args(["--json", "-", "--quiet"])));
        assert_eq!((&whole["partial"], trials(&whole).len()), (&false.into(), 1), "{whole:#}");
    }
}

#[test]
fn a_signal_ends_the_command_that_resets_the_device_too() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let reset = ["reset", "--frame-sizes", "64", "--loads", "20%", "--line-rate", "2Mbit"];
    let times = ["--trial", "1s", "--settle", "50ms", "--skip-self-test", "--reset", &hanging(folder.path())];
    let asked = &[&reset[..], &times].concat();
    let mut running = Process::start(&mut command(&lab, &folder.path().join("run"), asked));
    let id = started(folder.path(), &mut running);
    running.signal("INT");
    let ended = running.wait().with_code(130);
    assert!(is_gone(id), "what the command had started goes on");
    assert!(ended.stdout.contains("event: the command that resets the device (--reset) was"), "{ended:?}");
}

#[test]
fn a_command_of_a_case_has_its_time_and_no_more() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let case = format!("slow={}", hanging(folder.path()));
    let ended =
        bench(&lab, &["load-sweep", "--loads", "20%", "--case", &case, "--case-time", "1s"]).with_code(4);
    let why = "): its command did not end within 1s (--case-time), and was ended";
    assert!(
        ended.stderr.starts_with("error: case slow cannot be set (") && ended.stderr.contains(why),
        "{ended:?}"
    );
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    let id = std::fs::read_to_string(folder.path().join("id")).unwrap();
    assert!(is_gone(id.trim().parse().unwrap()), "what the command had started goes on");
}

/// A benchmark that is told to end does so though nobody takes what it prints.
#[test]
fn unread_benchmarks_end_in_time() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let sweep = ["load-sweep", "--frame-sizes", "64", "--loads", "20%", "--line-rate", "2Mbit"];
    let times = ["--trial", "200ms", "--settle", "50ms", "--skip-self-test", "--color", "never"];
    let cases = ["--case".to_owned(), format!("slow={}", hanging(folder.path()))];
    let mut command = command(&lab, &folder.path().join("run"), &[&sweep[..], &times].concat());
    let (child, _unread) = Process::start_unread(command.args(&cases));
    let begun = folder.path().join("id");
    assert!((0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        begun.exists()
    }));
    crate::ending::assert_ends(child, 130);
}
