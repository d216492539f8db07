//! Processes that end with their test.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_romer");

/// The program under test, with these arguments.
pub(crate) fn romer<I: IntoIterator<Item: AsRef<OsStr>>>(arguments: I) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code; `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it wrote to standard output (and was not read before).
    pub(crate) stdout: String,
    /// What it wrote to standard error.
    pub(crate) stderr: String,
}

impl Ended {
    /// Standard output as a JSON document.
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// This, if the exit code is `code`.
    pub(crate) fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The signals that tell a program that runs on to end, and the exit code that `hang_up` gives.
///
/// Whoever began the tests by nohup has the hang-up ignored, by all that they start as well: then it is left out.
pub(crate) fn ends(hang_up: i32) -> Vec<(&'static str, i32)> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    let is_ignored = u64::from_str_radix(ignored, 16).unwrap() & 1 != 0;
    let all = [("TERM", hang_up), ("INT", 130), ("HUP", hang_up)];
    all.into_iter().take(if is_ignored { 2 } else { 3 }).collect()
}

/// Runs `command` to its end.
pub(crate) fn run(command: &mut Command) -> Ended {
    command.stdin(Stdio::null()).output().unwrap().into()
}

/// A process that is killed when its test ends, also by a panic.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    /// Starts `command`.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::spawn(command.stdin(Stdio::null()))
    }

    /// Starts `command` with a standard input, to which [`Process::enter`] writes.
    pub(crate) fn start_with_input(command: &mut Command) -> Self {
        Self::spawn(command.stdin(Stdio::piped()))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// Starts `command` with a standard output that takes nothing more: the pipe is full, and what is given does not read from it.
    pub(crate) fn start_unread(command: &mut Command) -> (Child, std::io::PipeReader) {
        let (unread, mut full) = std::io::pipe().unwrap();
        // As much as a pipe holds.
        full.write_all(&[b'x'; 1 << 16]).unwrap();
        command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
        (command.spawn().unwrap(), unread)
    }

    /// Writes a line to its standard input.
    pub(crate) fn enter(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended yet.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The next line of its standard output; empty at the end of it.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// Sends it the signal of this name.
    pub(crate) fn signal(&self, name: &str) {
        let script = format!("kill -{name} {}", self.id());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success(), "{script}");
    }

    /// Waits until it ends by itself.
    pub(crate) fn wait(mut self) -> Ended {
        let mut stderr = self.child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).map(|_| text)
        });
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        Ended { code, stdout, stderr: errors.join().unwrap().unwrap() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has been waited for is no more, and kill knows it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
