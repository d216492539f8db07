//! `--after`: the start of a program with the end of the calibration of a live Qtcp test.

use romer_endpoint::names::{Family, Target};
use romer_qtcp::await_calibration;
use romer_qtcp_protocol::DEFAULT_PORT;
use romer_report::escape;

use crate::failure::Failure;
use crate::output;

/// Waits until the test of the receiver at `target` has its calibration packets; `false` if `is_ended` says so before.
///
/// # Errors
/// The name has no address, or the receiver ends before.
pub(crate) fn wait(
    target: &Target,
    family: Family,
    quiet: bool,
    is_ended: &dyn Fn() -> bool,
) -> Result<bool, Failure> {
    let addresses = target.addresses(family, target.port.unwrap_or(DEFAULT_PORT))?;
    if !quiet {
        let shown = escape::terminal(&target.text);
        output::eprint_line(&format!("note: waiting for the calibration of the test at {shown}"));
    }
    Ok(await_calibration(&addresses, is_ended)?)
}
