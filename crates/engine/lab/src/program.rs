//! Programs of the system that configure a router.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::error::LabError;

/// The longest part of a program's error that is shown, in characters.
const LONGEST_ERROR: usize = 200;

/// Runs `command`, which is `program`, with these words and this standard input, and returns its standard output.
///
/// # Errors
/// [`LabError::Program`]: it is not there, or it refuses.
pub(crate) fn run(
    mut command: Command,
    program: &'static str,
    words: &[&str],
    input: &str,
) -> Result<String, LabError> {
    let failed = |why: String| LabError::Program { program, why };
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that has ended says why itself.
        let _ = stdin.write_all(input.as_bytes());
    }
    let ended = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Err(failed(line.trim().chars().take(LONGEST_ERROR).collect()))
}
