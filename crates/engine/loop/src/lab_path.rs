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

use crate::error::LoopError;

/// Address of the second host.
pub const FAR: &str = "198.18.0.3";
/// What the prefix of a loop's lab begins with; the number of its process follows.
pub const LAB_STEM: &str = "rloop";
/// How long a responder or an emulator may take to be ready, or to end.
const PATIENCE: StdDuration = StdDuration::from_secs(30);

/// The path. It is taken down when this value is dropped, and when this process ends in whatever way.
#[derive(Debug)]
pub struct LabPath {
    emulator: Option<Running>,
    _responder: Running,
    program: PathBuf,
    /// The command that made it, for errors.
    command: &'static str,
    lab: LabGuard,
}

impl LabPath {
    /// Puts it up for `command`, without an emulator: until there is one, nothing passes. The prefix of the lab begins with `stem`.
    ///
    /// # Errors
    /// The lab cannot be put up ([`LoopError::Lab`]), or its responder not be started ([`LoopError::NotReady`]).
    pub fn up(command: &'static str, stem: &str) -> Result<Self, LoopError> {
        let lab = LabGuard::up(Topology::Path, stem)?;
        let program = std::env::current_exe().map_err(|source| LoopError::NoProgram { command, source })?;
        let mut responder = lab.lab().command(Host::B, &program)?;
        let listen = format!("{FAR}:862");
        // Both ends are on this machine, and the measurement in the lab has a plain control channel.
        responder.args(["respond", "--insecure", "--listen", &listen]);
        let responder = ready(responder).ok_or(LoopError::NotReady {
            role: "responder",
            command,
            host: 'B',
            arguments: "respond",
        })?;
        Ok(Self { emulator: None, _responder: responder, program, command, lab })
    }

    /// A new folder for files that programs on the hosts exchange. It is removed with the lab.
    ///
    /// # Errors
    /// [`LoopError::Lab`].
    pub fn make_scratch(&self) -> Result<PathBuf, LoopError> {
        Ok(self.lab.lab().make_scratch()?)
    }

    /// Starts an emulator of this scenario, a file or a preset as `option` says, which leaves its document in `document`.
    ///
    /// # Errors
    /// [`LoopError::Lab`], [`LoopError::NotReady`].
    pub fn emulate(
        &mut self,
        option: &str,
        scenario: &OsStr,
        document: &Path,
        samples: Option<&Path>,
    ) -> Result<(), LoopError> {
        self.end_emulation();
        let mut command = self.lab.lab().command(Host::E, &self.program)?;
        command.args(["emulate", "--port", "a=e0", "--port", "b=e1", option]).arg(scenario);
        command.args(["--force", "--json"]).arg(document);
        if let Some(samples) = samples {
            command.arg("--samples").arg(samples);
        }
        let emulator = ready(command).ok_or(LoopError::NotReady {
            role: "emulator",
            command: self.command,
            host: 'E',
            arguments: "emulate --port a=e0 --port b=e1",
        })?;
        self.emulator = Some(emulator);
        Ok(())
    }

    /// Ends the emulator, so that it leaves its document.
    pub fn end_emulation(&mut self) {
        let Some(mut emulator) = self.emulator.take() else { return };
        let _ending = Stage::begin(PATIENCE);
        emulator.interrupt();
        let asked = Instant::now();
        while matches!(emulator.ended(), Ok(None)) && asked.elapsed() < PATIENCE {
            std::thread::sleep(StdDuration::from_millis(10));
        }
    }

    /// Runs this program on the first host with what `arguments` adds, hands interrupts on to it, and gives its exit code. `progress` is
    /// called some 20 times a second with the time since its start.
    ///
    /// # Errors
    /// [`LoopError::Lab`], [`LoopError::Start`], [`LoopError::Wait`].
    pub fn measure(
        &self,
        arguments: impl FnOnce(&mut Command),
        interrupted: &AtomicBool,
        mut progress: impl FnMut(StdDuration),
    ) -> Result<Exit, LoopError> {
        let mut command = self.lab.lab().command(Host::A, &self.program)?;
        arguments(&mut command);
        // What comes from the terminal is ours to hand on, once for each time it comes.
        command.process_group(0);
        let name = self.command;
        let (started, mut is_told) = (Instant::now(), false);
        let mut child =
            Running::start(command).map_err(|source| LoopError::Start { command: name, source })?;
        // It ends in time itself, and evaluates what it has measured.
        let _waiting = Stage::begin(ending::EVALUATION);
        loop {
            match child.ended() {
                // It may be told before it listens for signals.
                Ok(Some(status)) if is_told && status.code().is_none() => return Ok(Exit::Interrupted),
                Ok(Some(status)) => return Ok(Exit::from_process(status.code())),
                Ok(None) => progress(started.elapsed()),
                Err(source) => return Err(LoopError::Wait { command: name, source }),
            }
            // The first ends the measurement in good order, the second at once; the lab goes in both cases.
            if interrupted.swap(false, Ordering::AcqRel) {
                child.interrupt();
                is_told = true;
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
