//! The process that holds a rootless laboratory: it makes a user namespace, builds the laboratory in it, and then
//! does nothing but live.
//!
//! It is this program once more, started with [`HOLDER_ARGUMENT`]. Request and answer go over its standard input
//! and output, one line of JSON each. It does nothing before it has the request, and its starter notes its number
//! before giving it: so whoever dies when, no holder is left that nobody knows of.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use romer_host::{process, userns};
use romer_units::Duration;
use serde::{Deserialize, Serialize};

use crate::build;
use crate::error::LabError;
use crate::topology::{NamespacePrefix, Topology};

/// The only argument with which this program becomes a holder. A program that uses this crate calls
/// [`holder_main`] when it is started so, before it starts any thread.
pub const HOLDER_ARGUMENT: &str = "__lab-holder";
/// How long a holder that was asked to end may take.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize, Deserialize)]
struct Request {
    kind: Topology,
    prefix: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HolderReply {
    Ready,
    /// The kernel does not let this user make namespaces: the system's error number and what was refused.
    Forbidden {
        operation: String,
        errno: i32,
    },
    Failed {
        why: String,
    },
}

/// The life of a holder. Returns only when something went wrong, which its starter has been told of.
#[must_use]
pub fn holder_main() -> ExitCode {
    let mut line = String::new();
    // Without a request the starter has died, and nobody is to be told.
    if !std::io::stdin().lock().read_line(&mut line).is_ok_and(|length| length > 0) {
        return ExitCode::FAILURE;
    }
    let answer = hold(&line);
    let ready = matches!(answer, HolderReply::Ready);
    let told = serde_json::to_string(&answer).is_ok_and(|answer| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").and_then(|()| out.flush()).is_ok()
    });
    // A starter that died meanwhile has left a note of us, and will be looked after by the next one.
    if ready && told {
        process::sleep_until_ended();
    }
    ExitCode::FAILURE
}

fn hold(line: &str) -> HolderReply {
    let failed = |error: &dyn std::fmt::Display| HolderReply::Failed { why: error.to_string() };
    let request: Request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => return failed(&error),
    };
    let prefix: NamespacePrefix = match request.prefix.parse() {
        Ok(prefix) => prefix,
        Err(error) => return failed(&error),
    };
    if let Err(error) = process::detach() {
        return failed(&error);
    }
    if let Err(error) = userns::enter() {
        return match error.errno() {
            Some(errno) => HolderReply::Forbidden { operation: error.to_string(), errno },
            None => failed(&error),
        };
    }
    match build::build(request.kind, &prefix) {
        Ok(()) => HolderReply::Ready,
        Err(error) => failed(&error),
    }
}

/// A holder that waits for its request.
pub(crate) struct WaitingHolder {
    child: Child,
}

impl WaitingHolder {
    /// Starts this program once more.
    pub(crate) fn start() -> Result<Self, LabError> {
        let failed = |error: std::io::Error| LabError::Holder { why: error.to_string() };
        let program = std::env::current_exe().map_err(failed)?;
        let child = Command::new(program)
            .arg(HOLDER_ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It outlives us, and must not keep whoever reads our errors waiting.
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        Ok(Self { child })
    }

    /// Its number.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Gives it the request and waits until the laboratory stands.
    pub(crate) fn build(&mut self, kind: Topology, prefix: &NamespacePrefix) -> Result<(), LabError> {
        let lost = || LabError::Holder { why: "it ended without an answer".into() };
        let request = Request { kind, prefix: prefix.as_str().into() };
        let request =
            serde_json::to_string(&request).map_err(|error| LabError::Holder { why: error.to_string() })?;
        let mut input = self.child.stdin.take().ok_or_else(lost)?;
        writeln!(input, "{request}").map_err(|_| lost())?;
        let output = self.child.stdout.take().ok_or_else(lost)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(|_| lost())?;
        match serde_json::from_str(&line) {
            Ok(HolderReply::Ready) => Ok(()),
            Ok(HolderReply::Forbidden { operation: _, errno }) => Err(LabError::Forbidden {
                source: romer_host::HostError::System {
                    operation: "make a user namespace",
                    subject: String::new(),
                    source: std::io::Error::from_raw_os_error(errno),
                },
            }),
            Ok(HolderReply::Failed { why }) => Err(LabError::Holder { why }),
            Err(_) => Err(lost()),
        }
    }

    /// Ends it after a failure, so that nothing is left.
    pub(crate) fn end(mut self) {
        let _ = process::end(self.process(), SHUTDOWN_TIMEOUT, || true);
        let _ = self.child.wait();
    }
}
