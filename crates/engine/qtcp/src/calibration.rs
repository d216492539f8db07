//! The wait for the calibration of a test, for programs that load the path afterwards.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use romer_endpoint::EndpointError;
use romer_host::socket::wait_any;
use romer_host::stream::{self, Origin};
use romer_qtcp_protocol::{ReceiverMessage, SenderMessage};
use romer_units::Duration;

use crate::control::Conversation;
use crate::error::QtcpError;

/// How often a wait looks whether it is to end, and between two attempts to connect.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long one attempt to connect may take.
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);

/// Waits until the calibration of the test of the receiver at one of `addresses` is complete: at once if it already is. The receiver
/// need not have started. `false` if `is_ended` says so before.
///
/// # Errors
/// [`QtcpError::NoCalibration`]: the receiver ended, or is of a version without this message. [`QtcpError::Busy`]: too many programs
/// wait. Or the system has no memory for the wait.
pub fn await_calibration(addresses: &[SocketAddr], is_ended: &dyn Fn() -> bool) -> Result<bool, QtcpError> {
    loop {
        for address in addresses {
            if is_ended() {
                return Ok(false);
            }
            let connected = stream::connect(*address, &Origin::default(), CONNECT_TIMEOUT);
            if let Ok(conversation) = connected.and_then(Conversation::new) {
                return converse(conversation, *address, is_ended);
            }
        }
        if is_ended() {
            return Ok(false);
        }
        std::thread::sleep(POLL_INTERVAL.to_std());
    }
}

fn converse(
    mut conversation: Conversation,
    address: SocketAddr,
    is_ended: &dyn Fn() -> bool,
) -> Result<bool, QtcpError> {
    conversation.write(&SenderMessage::Await);
    while !is_ended() {
        conversation.flush();
        match conversation.next_line().as_deref().map(str::parse) {
            Some(Ok(ReceiverMessage::Calibrated)) => return Ok(true),
            Some(Ok(ReceiverMessage::Busy)) => return Err(QtcpError::Busy { address }),
            Some(_) => return Err(QtcpError::NoCalibration { address }),
            None if !conversation.is_open() => return Err(QtcpError::NoCalibration { address }),
            None => {}
        }
        wait_any(&[conversation.as_fd()], None, Some(POLL_INTERVAL)).map_err(|error| {
            EndpointError::host("wait for", address.to_string(), "see `romer doctor`", error)
        })?;
    }
    Ok(false)
}
