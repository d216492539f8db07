//! A path in a lab of this machine: two hosts, an emulator between them, and a responder on the second.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, Instant};

use romer_host::ending::{self, Stage};
use romer_lab::{Host, LabGuard, Running, Topology};
use romer_record::Exit;

use crate::failure::{Failure, exit_of};

/// Address of the second host.
pub(crate) const FAR: &str = "198.18.0.3";
/// How long a responder or an emulator may take to be ready, or to end.
const PATIENCE: StdDuration = StdDuration::from_secs(30);

/// The path. It is taken down when this value is dropped, and when this process ends in whatever way.
pub(crate) struct LabPath {
    emulator: Option<Running>,
    _responder: Running,
    program: PathBuf,
    /// The command that made it, for errors.
    command: &'static str,
    lab: LabGuard,
}

impl LabPath {
    /// Puts it up for `command`, without an emulator: until there is one, nothing passes. The prefix of the lab begins with `stem`.
    pub(crate) fn up(command: &'static str, stem: &str) -> Result<Self, Failure> {
        let lab = LabGuard::up(Topology::Path, stem)?;
        let program = std::env::current_exe().map_err(|error| {
            Failure::environment(format!(
                "cannot find this program ({command}): {error}; call it by its path"
            ))
        })?;
        let mut responder = lab.lab().command(Host::B, &program)?;
        let listen = format!("{FAR}:862");
        responder.args(["respond", "--listen", &listen]);
        let responder = ready(responder).ok_or_else(|| {
            Failure::environment(format!(
                "the responder did not start on the lab's host ({command}): it said nothing; try `romer lab up path` and \
                 `romer lab run B -- romer respond` by hand"
            ))
        })?;
        Ok(Self { emulator: None, _responder: responder, program, command, lab })
    }

    /// A folder for what programs on the hosts hand over. It goes with the lab.
    pub(crate) fn make_scratch(&self) -> Result<PathBuf, Failure> {
        Ok(self.lab.lab().make_scratch()?)
    }

    /// Starts an emulator of this scenario, a file or a preset as `option` says, which leaves its document in `document`.
    pub(crate) fn emulate(
        &mut self,
        option: &str,
        scenario: &OsStr,
        document: &Path,
        samples: Option<&Path>,
    ) -> Result<(), Failure> {
        self.end_emulation();
        let mut command = self.lab.lab().command(Host::E, &self.program)?;
        command.args(["emulate", "--port", "a=e0", "--port", "b=e1", option]).arg(scenario);
        command.args(["--force", "--json"]).arg(document);
        if let Some(samples) = samples {
            command.arg("--samples").arg(samples);
        }
        let emulator = ready(command).ok_or_else(|| {
            let name = self.command;
            Failure::environment(format!(
                "the emulator did not start between the lab's hosts ({name}): it said nothing; try `romer lab up path` and \
                 `romer lab run E -- romer emulate --port a=e0 --port b=e1` by hand"
            ))
        })?;
        self.emulator = Some(emulator);
        Ok(())
    }

    /// Ends the emulator, so that it leaves its document.
    pub(crate) fn end_emulation(&mut self) {
        let Some(mut emulator) = self.emulator.take() else { return };
        let _ending = Stage::begin(PATIENCE);
        emulator.interrupt();
        let asked = Instant::now();
        while matches!(emulator.ended(), Ok(None)) && asked.elapsed() < PATIENCE {
            std::thread::sleep(StdDuration::from_millis(10));
        }
    }

    /// Runs this program on the first host with what `arguments` adds, hands interrupts on to it, and gives its exit code.
    pub(crate) fn measure(
        &self,
        arguments: impl FnOnce(&mut Command),
        interrupted: &AtomicBool,
    ) -> Result<Exit, Failure> {
        let mut command = self.lab.lab().command(Host::A, &self.program)?;
        arguments(&mut command);
        // What comes from the terminal is ours to hand on, once for each time it comes.
        command.process_group(0);
        let name = self.command;
        let mut child = Running::start(command).map_err(|error| {
            Failure::environment(format!(
                "cannot start a program on the lab's host ({name}): {error}; see `romer doctor`"
            ))
        })?;
        // It ends in time itself, and evaluates what it has measured.
        let _waiting = Stage::begin(ending::EVALUATION);
        loop {
            match child.ended() {
                Ok(Some(status)) => return Ok(exit_of(status)),
                Ok(None) => {}
                Err(error) => {
                    return Err(Failure::environment(format!(
                        "cannot wait for the measurement ({name}): {error}; try again"
                    )));
                }
            }
            // The first ends the measurement in good order, the second at once; the lab goes in both cases.
            if interrupted.swap(false, Ordering::AcqRel) {
                child.interrupt();
            }
            std::thread::sleep(StdDuration::from_millis(50));
        }
    }
}

/// A program that has said its first line.
fn ready(mut command: Command) -> Option<Running> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = Running::start(command).ok()?;
    let out = child.child().stdout.take()?;
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut out = BufReader::new(out);
        let mut line = String::new();
        let _ = send.send(matches!(out.read_line(&mut line), Ok(length) if length > 0));
        // What it says besides is let go, so that it never waits for us.
        let _ = std::io::copy(&mut out, &mut std::io::sink());
    });
    matches!(receive.recv_timeout(PATIENCE), Ok(true)).then_some(child)
}
