//! Bringing the device into a case.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration as StdDuration;

use crate::BenchError;
use crate::options::Case;

/// Letters of what a command says that a message shows, of its last lines.
const SHOWN: usize = 300;
const LINES: usize = 3;

/// How long the last words of a command that has ended are waited for, where something that it has left behind still
/// holds its standard error.
const LAST_WORDS: StdDuration = StdDuration::from_millis(200);

/// Runs the case's command in a shell, and waits for its end; what it leaves running in the background goes on.
pub(crate) fn set(case: &Case) -> Result<(), BenchError> {
    let Some(command) = &case.command else { return Ok(()) };
    let failed = |why: String| BenchError::Case { name: case.name.clone(), command: command.clone(), why };
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = shell.spawn().map_err(|error| failed(error.to_string()))?;
    let (tell, said) = mpsc::channel();
    let heard = child.stderr.take().map(|stderr| {
        std::thread::Builder::new().name("bench-case".into()).spawn(move || listen(stderr, &tell)).map(drop)
    });
    heard.transpose().map_err(|error| failed(error.to_string()))?;
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if status.success() {
        return Ok(());
    }
    let mut octets = Vec::new();
    while let Ok(part) = said.recv_timeout(LAST_WORDS) {
        octets.extend_from_slice(&part);
    }
    let said = String::from_utf8_lossy(&octets);
    // Some say what is wrong first, and then where.
    let mut last: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    last.drain(..last.len().saturating_sub(LINES));
    let last: String = last.join(" | ").chars().take(SHOWN).collect();
    let last = if last.is_empty() { "it says nothing" } else { &last };
    Err(failed(format!("its command ended with {status}: {last}")))
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

    #[test]
    fn a_command_that_fails_is_told_with_what_it_said() {
        assert!(set(&case("true")).is_ok());
        assert!(set(&Case { name: "x".into(), command: None }).is_ok());
        let error = set(&case("echo first >&2; echo no such queue >&2; exit 3")).unwrap_err();
        assert!(error.to_string().contains("exit status: 3: first | no such queue"), "{error}");
        let error = set(&case("printf '%s\\n' 1 2 '' 3 4 >&2; exit 3")).unwrap_err();
        assert!(error.to_string().contains("exit status: 3: 2 | 3 | 4"), "{error}");
        let error = set(&case("exit 3")).unwrap_err();
        assert!(error.to_string().contains("exit status: 3: it says nothing"), "{error}");
        // What is left behind is not waited for: this would take an hour.
        assert!(set(&case("sleep 3600 & echo $! >/dev/null; kill -0 $! && (sleep 0.2; kill $!) &")).is_ok());
    }
}
