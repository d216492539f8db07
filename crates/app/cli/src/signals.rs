//! Signals as flags.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use romer_host::ending;
use romer_host::service_manager::ServiceManager;
use romer_record::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::{flag, low_level};

use crate::failure::Failure;
use crate::output;

/// How long the last words of a program may take that is ended: standard error may be what it waits for.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The signals that end romer in good order. A terminal that is closed is one (SIGHUP), unless that was to be ignored when
/// we were started (nohup).
fn ends() -> Vec<i32> {
    let mut signals = vec![SIGINT, SIGTERM];
    if !hangup_is_ignored() {
        signals.push(SIGHUP);
    }
    signals
}

fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

/// A flag that every interrupt, SIGTERM and hang-up sets, for who hands them on. The program ends in time ([`end_in_time`]).
pub(crate) fn every() -> Result<Arc<AtomicBool>, Failure> {
    let signals = ends();
    end_in_time(Exit::Interrupted, &signals)?;
    let flag = Arc::new(AtomicBool::new(false));
    for signal in signals {
        flag::register(signal, Arc::clone(&flag)).map_err(|error| refused(&error))?;
    }
    Ok(flag)
}

fn refused(error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot listen for signals (system): {error}; see `romer doctor`"))
}

/// A flag that the first interrupt (or SIGTERM, or a closed terminal) sets; the second ends the program at once with
/// exit code 130. After the first it ends in time ([`end_in_time`]).
pub(crate) fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let signals = ends();
    for signal in signals.iter().copied() {
        // In this order: the exit is armed by the flag that the same signal sets after it.
        flag::register_conditional_shutdown(signal, Exit::Interrupted.code().into(), Arc::clone(&flag))
            .and_then(|_| flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| refused(&error))?;
    }
    end_in_time(Exit::Interrupted, &signals)?;
    Ok(flag)
}

/// Sees to it that the program ends, with `exit`, within five seconds of a signal that tells it to, whatever its threads
/// do. What may take longer in good order is an [`ending::Stage`].
fn end_in_time(exit: Exit, signals: &[i32]) -> Result<(), Failure> {
    let (told, teller) = UnixStream::pair().map_err(|error| refused(&error))?;
    for signal in signals.iter().copied() {
        let teller = teller.try_clone().map_err(|error| refused(&error))?;
        low_level::pipe::register(signal, teller).map_err(|error| refused(&error))?;
    }
    let end = move || {
        let (said, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            output::eprint_line(
                "error: the program received a signal to end (signal) and did not within 5 s: it ends at once; `romer report` completes \
                 what is kept of a run",
            );
            let _ = said.send(());
        });
        let _ = heard.recv_timeout(LAST_WORDS);
        low_level::exit(exit.code().into());
    };
    ending::watch(told, end).map_err(|error| refused(&error))
}

/// A flag that SIGUSR1 sets, by which a server is asked for its totals.
pub(crate) fn asking() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    flag::register(SIGUSR1, Arc::clone(&flag)).map_err(|error| refused(&error))?;
    Ok(flag)
}

/// The signals by which a server ends in good order.
pub(crate) struct Ending {
    /// An interrupt sets it.
    interrupted: Arc<AtomicBool>,
    /// SIGTERM and a closed terminal set it.
    pub(crate) terminated: Arc<AtomicBool>,
}

impl Ending {
    /// Whether the server is to end.
    pub(crate) fn has_come(&self) -> bool {
        self.interrupted.load(Ordering::Acquire) || self.terminated.load(Ordering::Acquire)
    }

    /// The exit code of its end.
    pub(crate) fn exit(&self) -> Exit {
        if self.interrupted.load(Ordering::Acquire) { Exit::Interrupted } else { Exit::Success }
    }
}

/// The signals that end a server. It ends in time ([`end_in_time`]).
pub(crate) fn ending() -> Result<Ending, Failure> {
    ending_by(&ends())
}

/// The same of a server that a service manager may have started. From a manager, SIGHUP does not end the server: it requests a
/// reload, and sets the flag that is given.
pub(crate) fn serving(manager: &ServiceManager) -> Result<(Ending, Arc<AtomicBool>), Failure> {
    let reload = Arc::new(AtomicBool::new(false));
    let mut signals = ends();
    if manager.is_present() {
        signals.retain(|signal| *signal != SIGHUP);
        flag::register(SIGHUP, Arc::clone(&reload)).map_err(|error| refused(&error))?;
    }
    Ok((ending_by(&signals)?, reload))
}

fn ending_by(signals: &[i32]) -> Result<Ending, Failure> {
    end_in_time(Exit::Fault, signals)?;
    let [interrupted, terminated] = [false, false].map(|flag| Arc::new(AtomicBool::new(flag)));
    for signal in signals.iter().copied() {
        let flag = if signal == SIGINT { &interrupted } else { &terminated };
        flag::register(signal, Arc::clone(flag)).map_err(|error| refused(&error))?;
    }
    Ok(Ending { interrupted, terminated })
}
