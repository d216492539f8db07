//! Signals as flags.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// A flag that the first interrupt (or SIGTERM) sets; the second ends the program at once with exit code 130.
pub(crate) fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the exit is armed by the flag that the same signal sets after it.
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| {
                Failure::environment(format!(
                    "cannot listen for signals (system): {error}; see `romer doctor`"
                ))
            })?;
    }
    Ok(flag)
}

/// Flags that SIGINT and SIGTERM set, for a server: both end it in good order.
pub(crate) fn ending() -> Result<[Arc<AtomicBool>; 2], Failure> {
    let flags = [Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false))];
    for (signal, flag) in [SIGINT, SIGTERM].into_iter().zip(&flags) {
        flag::register(signal, Arc::clone(flag)).map_err(|error| {
            Failure::environment(format!("cannot listen for signals (system): {error}; see `romer doctor`"))
        })?;
    }
    Ok(flags)
}
