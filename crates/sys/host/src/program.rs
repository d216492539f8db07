//! Programs of the system that configure it, such as `tc` and `nft`.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// The longest part of a program's error that is returned, in characters.
const LONGEST_ERROR: usize = 200;

/// Runs `command` with these further words and this standard input, and returns its standard output.
///
/// # Errors
/// Why not, as a part of a sentence: the system does not start it, or the first line of its standard error, at most 200 characters.
pub fn run(mut command: Command, words: &[&str], input: &str) -> Result<String, String> {
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that has ended says why itself.
        let _ = stdin.write_all(input.as_bytes());
    }
    let ended = child.wait_with_output().map_err(|error| error.to_string())?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Err(line.trim().chars().take(LONGEST_ERROR).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of a program is returned, or the first line of its error; a program that is not there is an error.
    #[test]
    fn programs_return_output_or_reason() {
        let shell = || Command::new("sh");
        assert_eq!(run(shell(), &["-s", "x"], "echo \"$1\"").unwrap(), "x\n");
        assert_eq!(run(shell(), &[], "echo; echo ' no' >&2; echo more >&2; exit 3").unwrap_err(), "no");
        assert_eq!(run(shell(), &[], "exit 3").unwrap_err(), "it says nothing");
        assert!(run(Command::new("/nonexistent/program"), &[], "").unwrap_err().contains("No such file"));
    }
}
