//! Bringing the device into a case.

use std::process::{Command, Stdio};

use crate::BenchError;
use crate::options::Case;

/// Octets of what a command says that a message shows.
const SHOWN: usize = 200;

/// Runs the case's command in a shell, and waits for its end.
pub(crate) fn set(case: &Case) -> Result<(), BenchError> {
    let Some(command) = &case.command else { return Ok(()) };
    let failed = |why: String| BenchError::Case { name: case.name.clone(), command: command.clone(), why };
    let ended = Command::new("sh").arg("-c").arg(command).stdin(Stdio::null()).output();
    let ended = ended.map_err(|error| failed(error.to_string()))?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    let last: String = last.trim().chars().take(SHOWN).collect();
    Err(failed(format!("its command ended with {}: {last}", ended.status)))
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
        assert!(error.to_string().contains("exit status: 3: no such queue"), "{error}");
    }
}
