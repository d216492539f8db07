//! Whether a departure time that is given with a datagram is kept (`SO_TXTIME`).

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

use romer_units::Duration;

use super::address;
use super::control::{ControlWriter, message};
use super::receive::ReceiveBatch;
use super::stamping::{SocketOptions, StampingSocket};
use crate::HostError;
use crate::clock::{monotonic_now, realtime_now};
use crate::sys::set_option_bytes;

/// `struct sock_txtime`: the clock (`CLOCK_MONOTONIC`) and no flags.
const MONOTONIC_TIMES: [u8; 8] = {
    let [a, b, c, d] = libc::CLOCK_MONOTONIC.to_ne_bytes();
    [a, b, c, d, 0, 0, 0, 0]
};
/// How long after its sending a datagram is to leave.
const LATER: Duration = Duration::from_millis(60);
/// How long it is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What became of a departure time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepartureTime {
    /// The option is refused: the kernel does not know it (before 4.19), or a sandbox forbids it.
    Refused,
    /// The option is accepted, and the datagram left at once all the same.
    Ignored,
    /// The datagram left when it was to.
    Kept,
}

/// Sends a datagram over loopback that is to leave a little later, and looks when it arrives. Only the queueing
/// disciplines fq and etf keep such times; loopback has neither unless somebody has put it there.
///
/// # Errors
/// No datagram comes over IPv4's loopback.
pub fn departure_time() -> Result<DepartureTime, HostError> {
    let receiver =
        StampingSocket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), &SocketOptions::default())?;
    let failed =
        |source| HostError::System { operation: "open a socket for", subject: "127.0.0.1".into(), source };
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let operation = "ask for departures at given times";
    let asked =
        set_option_bytes(sender.as_fd(), libc::SOL_SOCKET, libc::SO_TXTIME, &MONOTONIC_TIMES, operation);
    if asked.is_err() {
        return Ok(DepartureTime::Refused);
    }
    let due = realtime_now().as_nanos() + LATER.as_nanos();
    if !send_at(&sender, receiver.local_address(), (monotonic_now() + LATER).as_nanos()) {
        return Ok(DepartureTime::Refused);
    }
    let mut batch = ReceiveBatch::new(1, 16);
    let deadline = monotonic_now() + TIMEOUT;
    while receiver.receive_batch(&mut batch)? == 0 {
        let now = monotonic_now();
        if now >= deadline {
            return Err(HostError::Unsuitable("the datagram did not come within five seconds"));
        }
        receiver.wait(Some(deadline - now))?;
    }
    // Half the time is left for clocks that were not read at once.
    let arrived =
        batch.iter().next().map_or(0, |datagram| datagram.kernel.unwrap_or(datagram.user).as_nanos());
    let kept = arrived >= due - LATER.as_nanos() / 2;
    Ok(if kept { DepartureTime::Kept } else { DepartureTime::Ignored })
}

/// Sends an octet that is to leave at `nanos` of the monotonic clock; whether the kernel took it.
fn send_at(sender: &UdpSocket, to: SocketAddr, nanos: i64) -> bool {
    let mut name = [0; address::ADDRESS_LEN];
    let length = address::encode(to, &mut name);
    let mut control = ControlWriter::new();
    control.push(libc::SOL_SOCKET, libc::SCM_TXTIME, &nanos.to_ne_bytes());
    let mut payload = [0_u8];
    let mut vector = libc::iovec { iov_base: payload.as_mut_ptr().cast(), iov_len: payload.len() };
    let header = message(&mut name[..length], Some(&mut vector), control.as_bytes());
    // SAFETY: `header` points to `name`, `vector`, `payload` and `control`, which outlive the call; it only reads them.
    unsafe { libc::sendmsg(sender.as_raw_fd(), &raw const header, 0) >= 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_is_told_and_the_option_alone_proves_nothing() {
        // Loopback keeps no times unless somebody has given it a discipline for that.
        assert!(matches!(departure_time().unwrap(), DepartureTime::Ignored | DepartureTime::Kept));
    }
}
