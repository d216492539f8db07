//! Bringing the device into a case.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration as StdDuration, Instant};

use romer_host::process;
use romer_units::Duration;

use crate::error::BenchError;
use crate::options::Case;

/// Letters of what a command says that a message shows, of its last lines.
const SHOWN: usize = 300;
const LINES: usize = 3;

/// How long the last words of a command that has ended are waited for, where something that it has left behind still
/// holds its standard error.
const LAST_WORDS: StdDuration = StdDuration::from_millis(200);
/// How often it is looked whether a command has ended, and whether it is to.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(5);
/// How long a command that is to end has for that, before it is made to.
const GRACE: Duration = Duration::from_millis(500);

/// How a command failed.
#[derive(Debug, thiserror::Error)]
enum CaseFailure {
    #[error("its command ended with {0}")]
    Status(ExitStatus),
    #[error("its command did not end within {0} (--case-time), and was ended with all its child processes")]
    Late(Duration),
    #[error(
        "its command tried to read from the terminal, which it does not have, and was ended with all that it had started"
    )]
    Terminal,
}

/// How a command came to its end.
enum Ending {
    Own(ExitStatus),
    /// The benchmark ends, ...
    Stopped,
    /// ... or the command took too long, ...
    Late,
    /// ... or it wants to ask on a terminal.
    Asks,
}

/// Runs the case's command in a shell, and waits for its end; what it leaves running in the background goes on. Gives whether it
/// came to its end: with `stop`, it is ended with all that it has started.
///
/// # Errors
/// [`BenchError::Case`]: it failed, or took longer than `limit`, and was ended likewise.
pub(crate) fn set(case: &Case, limit: Duration, stop: &AtomicBool) -> Result<bool, BenchError> {
    let Some(command) = &case.command else { return Ok(true) };
    let failed = |why: String| BenchError::Case { name: case.name.clone(), command: command.clone(), why };
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // What comes from the terminal comes to us, and we end all of it.
    shell.process_group(0);
    let mut child = shell.spawn().map_err(|error| failed(error.to_string()))?;
    let (tell, said) = mpsc::channel();
    let heard = child.stderr.take().map(|stderr| {
        std::thread::Builder::new().name("bench-case".into()).spawn(move || listen(stderr, &tell)).map(drop)
    });
    heard.transpose().map_err(|error| failed(error.to_string()))?;
    let ending = ending(&mut child, limit, stop).map_err(|error| failed(error.to_string()))?;
    let so = match ending {
        Ending::Own(status) if status.success() => return Ok(true),
        Ending::Stopped => return Ok(false),
        Ending::Own(status) => CaseFailure::Status(status),
        Ending::Late => CaseFailure::Late(limit),
        Ending::Asks => CaseFailure::Terminal,
    };
    let mut octets = Vec::new();
    while let Ok(part) = said.recv_timeout(LAST_WORDS) {
        octets.extend_from_slice(&part);
    }
    let said = String::from_utf8_lossy(&octets);
    // Some say what is wrong first, and then where.
    let mut last: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    last.drain(..last.len().saturating_sub(LINES));
    let last: String = last.join(" | ").chars().take(SHOWN).collect();
    let last = if last.is_empty() { "no output" } else { &last };
    Err(failed(format!("{so}: {last}")))
}

/// Waits for the end of a command that leads a group of its own, or brings that about.
fn ending(child: &mut Child, limit: Duration, stop: &AtomicBool) -> std::io::Result<Ending> {
    let end = Instant::now() + limit.to_std();
    let ending = loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ending::Own(status));
        }
        if stop.load(Ordering::Acquire) {
            break Ending::Stopped;
        }
        if Instant::now() >= end {
            break Ending::Late;
        }
        if process::is_stopped(child.id()) {
            break Ending::Asks;
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    process::end_group(child.id(), GRACE).map_err(std::io::Error::other)?;
    child.wait()?;
    Ok(ending)
}

/// Waits for so long, or until `stop` is set; whether it is not.
pub(crate) fn wait(time: Duration, stop: &AtomicBool) -> bool {
    let end = Instant::now() + time.to_std();
    while !stop.load(Ordering::Acquire) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(StdDuration::from_millis(50)));
    }
    false
}

/// Hands on what is said, for as long as somebody wants to know.
fn listen(mut from: impl Read, to: &mpsc::Sender<Vec<u8>>) {
    let mut octets = [0; 4_096];
    // Somebody who no longer listens is no reason to let the writer wait.
    while let Ok(count @ 1..) = from.read(&mut octets) {
        let _ = to.send(octets.get(..count).unwrap_or_default().to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(command: &str) -> Case {
        Case { name: "x".into(), command: Some(command.into()) }
    }

    /// With an hour's time.
    fn set(case: &Case) -> Result<bool, BenchError> {
        super::set(case, Duration::from_secs(3_600), &AtomicBool::new(false))
    }

    /// A command that writes the number of what it has started to this file, and then waits for an hour, and that number when it is
    /// there.
    fn hangs(folder: &tempfile::TempDir, and: &str) -> (Case, impl Fn() -> u32 + use<>) {
        let file = folder.path().join("id");
        let shown = file.display();
        let case = case(&format!("{and} sleep 3600 & echo $! >{shown}.new; mv {shown}.new {shown}; wait"));
        let id = move || loop {
            if let Ok(text) = std::fs::read_to_string(&file) {
                break text.trim().parse().unwrap();
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        (case, id)
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_all_that_it_has_started() {
        for and in ["", "trap '' TERM;"] {
            let folder = tempfile::tempdir().unwrap();
            let (hanging, id) = hangs(&folder, and);
            let stop = AtomicBool::new(false);
            let (went_on, id) = std::thread::scope(|scope| {
                let setting = scope.spawn(|| super::set(&hanging, Duration::from_secs(3_600), &stop));
                let id = id();
                assert!(process::start_time(id).is_some());
                stop.store(true, Ordering::Release);
                (setting.join().unwrap(), id)
            });
            assert!(!went_on.unwrap());
            assert!(ends(id), "{and}");
        }
        let folder = tempfile::tempdir().unwrap();
        let (hanging, id) = hangs(&folder, "echo cannot connect yet >&2;");
        let error = super::set(&hanging, Duration::from_millis(300), &AtomicBool::new(false)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("did not end within 300ms (--case-time), and was ended"), "{text}");
        assert!(text.contains(": cannot connect yet; run this command yourself"), "{text}");
        assert!(ends(id()));
    }

    /// Whether a process that was killed is gone, which takes the system a moment.
    fn ends(id: u32) -> bool {
        let end = Instant::now() + StdDuration::from_secs(60);
        while process::start_time(id).is_some() && Instant::now() < end {
            std::thread::sleep(POLL_INTERVAL);
        }
        process::start_time(id).is_none()
    }

    #[test]
    fn a_command_that_is_stopped_by_the_terminal_is_not_waited_for() {
        let error = set(&case("kill -TTIN $$")).unwrap_err();
        assert!(error.to_string().contains("tried to read from the terminal"), "{error}");
    }

    #[test]
    fn nothing_is_waited_for_when_the_benchmark_is_to_end() {
        assert!(!wait(Duration::from_secs(3_600), &AtomicBool::new(true)));
        assert!(wait(Duration::from_millis(1), &AtomicBool::new(false)));
    }

    #[test]
    fn a_command_that_fails_is_told_with_what_it_said() {
        assert!(set(&case("true")).is_ok());
        assert!(set(&Case { name: "x".into(), command: None }).is_ok());
        let error = set(&case("echo first >&2; echo no such queue >&2; exit 3")).unwrap_err();
        assert!(error.to_string().contains("exit status: 3: first | no such queue"), "{error}");
        let error = set(&case("printf '%s\\n' 1 2 '' 3 4 >&2; exit 3")).unwrap_err();
        assert!(error.to_string().contains("exit status: 3: 2 | 3 | 4"), "{error}");
        let error = set(&case("exit 3")).unwrap_err();
        assert!(error.to_string().contains("exit status: 3: no output"), "{error}");
        // What is left behind is not waited for: this would take an hour.
        assert!(set(&case("sleep 3600 & echo $! >/dev/null; kill -0 $! && (sleep 0.2; kill $!) &")).is_ok());
    }
}
