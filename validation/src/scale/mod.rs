//! What the program holds where much is asked of it, and what it costs where little is: both ends are programs of their
//! own, as users have them, so that memory and processor time are theirs alone.

pub(crate) mod emulated;
pub(crate) mod fast;
pub(crate) mod frames;
pub(crate) mod many;
mod process;
pub(crate) mod voice;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, bail};

use crate::hosts::Hosts;
use crate::romer_runner::Interrupted;
pub(crate) use process::{Memory, Usage, peak_kib};

/// Between two looks at what the processes use.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(250);

/// A process that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Running(pub(crate) Child);

impl AsRef<Child> for Running {
    fn as_ref(&self) -> &Child {
        &self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `romer respond` on the far host, once it is ready.
fn respond(hosts: &Hosts, program: &Path, arguments: &[&str]) -> Result<Running> {
    let mut command = Hosts::command(&hosts.far, program)?;
    command.arg("respond").args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut responder = Running(command.spawn().context("cannot start the responder")?);
    let output = responder.0.stdout.take().context("the responder has no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).context("cannot read what the responder says")?;
    if !line.starts_with("responding") {
        bail!("the responder does not begin");
    }
    Ok(responder)
}

/// `romer measure` on the near host, which keeps its run in `folder`.
fn measure(hosts: &Hosts, program: &Path, folder: &Path, arguments: &[&str]) -> Result<Command> {
    let mut command = Hosts::command(&hosts.near, program)?;
    command.args(["measure", "--quiet", "-4"]).args(arguments).arg("--out").arg(folder);
    Ok(command)
}

/// Runs `command` to its end, and looks all the while at what it and `other` use. Gives the looks at each.
fn watched(command: Command, other: &impl AsRef<Child>, interrupted: &AtomicBool) -> Result<[Vec<Usage>; 2]> {
    let mut looks = [Vec::new(), Vec::new()];
    to_the_end(command, POLL_INTERVAL, interrupted, |own, at| {
        for (looks, process) in looks.iter_mut().zip([own, other.as_ref()]) {
            looks.extend(Usage::sample(process.id(), at));
        }
    })?;
    Ok(looks)
}

/// Runs `command` to its end, with a look at it now and then, and says how long it ran.
pub(crate) fn to_the_end(
    mut command: Command,
    every: StdDuration,
    interrupted: &AtomicBool,
    mut look: impl FnMut(&Child, StdDuration),
) -> Result<StdDuration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    let mut running = Running(command.spawn().context("cannot start a program")?);
    let begin = Instant::now();
    loop {
        if interrupted.load(Ordering::Acquire) {
            bail!(Interrupted);
        }
        look(&running.0, begin.elapsed());
        if let Some(status) = running.0.try_wait().context("cannot wait for a program")? {
            if status.success() {
                return Ok(begin.elapsed());
            }
            bail!("a program ended with {status}");
        }
        std::thread::sleep(every);
    }
}
