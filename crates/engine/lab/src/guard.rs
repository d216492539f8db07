//! Laboratories and programs that go when their owner goes: at its end, at an error, at a panic, when it is killed.

use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use romer_host::process::{die_with_parent, start_time};
use romer_host::watchdog_process::WatchdogProcess;

use crate::error::LabError;
use crate::lab::Lab;
use crate::topology::Topology;

/// The first of two arguments with which this program takes a laboratory down; the second is its prefix. A program that uses
/// [`LabGuard`] calls [`guard_main`] when it is started so.
pub const GUARD_ARGUMENT: &str = "__lab-guard";

/// Takes down the laboratory of `prefix`, whose owner is no more.
#[must_use]
pub fn guard_main(prefix: &str) -> ExitCode {
    match Lab::down(prefix) {
        Ok(()) | Err(LabError::NotUp { .. }) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// A laboratory for the time in which this value lives. Where this process is killed, a [`WatchdogProcess`] takes it down. Its prefix
/// is a stem and the number of this process, so that what is left where the guardian was killed as well is known, and taken down
/// when the next one comes.
#[derive(Debug)]
pub struct LabGuard {
    lab: Lab,
    /// Begins when this value, and not before the laboratory, is gone.
    _guardian: WatchdogProcess,
}

impl LabGuard {
    /// Puts a laboratory up, after taking down those of the same stem whose process is gone.
    ///
    /// # Errors
    /// As of [`Lab::up`], and where the system gives no process for the guardian.
    pub fn up(kind: Topology, stem: &str) -> Result<Self, LabError> {
        sweep(stem);
        let prefix = format!("{stem}{}", std::process::id());
        let guardian = WatchdogProcess::running(&[GUARD_ARGUMENT, &prefix])?;
        Ok(Self { lab: Lab::up(kind, &prefix)?, _guardian: guardian })
    }

    /// The laboratory.
    pub const fn lab(&self) -> &Lab {
        &self.lab
    }
}

impl Drop for LabGuard {
    fn drop(&mut self) {
        let _ = Lab::down(self.lab.prefix());
    }
}

/// Takes down the laboratories of `stem` whose process is gone: killed, it could not do it itself.
fn sweep(stem: &str) {
    for lab in Lab::list().unwrap_or_default() {
        let process = lab.prefix.strip_prefix(stem).and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|number| start_time(number).is_none()) {
            // What cannot be taken down stays, and hinders nobody.
            let _ = Lab::down(&lab.prefix);
        }
    }
}

/// A program that is ended when this value is dropped, and when this process ends in whatever way.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts `command`.
    ///
    /// # Errors
    /// The system's, where it cannot be started.
    pub fn start(mut command: Command) -> std::io::Result<Self> {
        die_with_parent(&mut command);
        command.spawn().map(Self)
    }

    /// The process.
    pub const fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Whether it has ended, and how.
    ///
    /// # Errors
    /// The system's.
    pub fn ended(&mut self) -> std::io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    /// Interrupts it, as a terminal does (SIGINT).
    pub fn interrupt(&self) {
        let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).stderr(Stdio::null()).status();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
