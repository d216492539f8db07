//! What a control channel needs of the system: listeners that serve one address family each, and waiting for many
//! descriptors at once.
//!
//! Nothing here is for packets: [`wait_many`] allocates.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use romer_units::Duration;
use socket2::{Domain, Protocol, Socket, Type};

use crate::HostError;
use crate::socket::{Waker, poll_until};

/// Connections that the kernel holds until they are accepted.
const BACKLOG: i32 = 128;

/// Opens a non-blocking listener at `address`. An IPv6 listener serves IPv6 only, so that both families can have
/// the same port.
///
/// # Errors
/// The system's refusal: the address is not ours, in use, or its port is privileged.
pub fn listen(address: SocketAddr) -> Result<TcpListener, HostError> {
    let refused = |source| HostError::System { operation: "listen at", subject: address.to_string(), source };
    let socket =
        Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP)).map_err(refused)?;
    if address.is_ipv6() {
        socket.set_only_v6(true).map_err(refused)?;
    }
    // A responder that is started again at once must not wait for its old connections to be forgotten.
    socket.set_reuse_address(true).map_err(refused)?;
    socket.bind(&address.into()).map_err(refused)?;
    socket.listen(BACKLOG).map_err(refused)?;
    socket.set_nonblocking(true).map_err(refused)?;
    Ok(socket.into())
}

/// Octets of a segment of a control conversation: with its headers it fits every path that carries IPv4 as it is to (576
/// octets), so that the conversation goes on when the largest packet of an interface or of a path becomes smaller under way.
pub const SEGMENT: u32 = 512;

/// From where a connection is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// This address of the host; `None`: the one that the host takes by itself.
    pub address: Option<IpAddr>,
    /// Send and receive by this interface only (`SO_BINDTODEVICE`).
    pub interface: Option<String>,
}

/// Connects to `address`, by segments that fit every path, both ways.
///
/// # Errors
/// Nobody answers within `timeout`, or refuses; or the host has no such origin.
pub fn connect(address: SocketAddr, from: &Origin, timeout: std::time::Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // It bounds what the other end sends as well, which is told of it. Where it cannot be had, segments are as large as usual.
    let _ = socket.set_tcp_mss(SEGMENT);
    if let Some(interface) = &from.interface {
        socket.bind_device(Some(interface.as_bytes()))?;
    }
    if let Some(own) = from.address {
        socket.bind(&SocketAddr::new(own, 0).into())?;
    }
    socket.connect_timeout(&address.into(), timeout)?;
    Ok(socket.into())
}

/// A descriptor to wait for.
#[derive(Clone, Copy, Debug)]
pub struct Waited<'a> {
    /// Which.
    pub descriptor: BorrowedFd<'a>,
    /// Wait until it can be written to as well.
    pub writing: bool,
}

/// Waits until any of `waited` can be read (or accepted from, or written to where that is asked, or has ended), the
/// `waker` is used, or `timeout` has passed. Gives for each whether it is ready.
///
/// # Errors
/// The system has no memory for the wait.
pub fn wait_many(
    waited: &[Waited<'_>],
    waker: &Waker,
    timeout: Option<Duration>,
) -> Result<Vec<bool>, HostError> {
    let entry =
        |descriptor: BorrowedFd<'_>, events| libc::pollfd { fd: descriptor.as_raw_fd(), events, revents: 0 };
    let events = |writing| if writing { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
    let mut polled: Vec<libc::pollfd> =
        waited.iter().map(|one| entry(one.descriptor, events(one.writing))).collect();
    polled.push(entry(waker.as_fd(), libc::POLLIN));
    poll_until(&mut polled, timeout)?;
    if polled.last().is_some_and(|entry| entry.revents != 0) {
        waker.clear();
    }
    Ok(polled[..waited.len()].iter().map(|entry| entry.revents != 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn both_families_listen_at_one_port_and_a_wait_sees_who_is_ready() {
        let v4 = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = v4.local_addr().unwrap().port();
        let v6 = listen(SocketAddr::new("::1".parse().unwrap(), port)).unwrap();
        let waker = Waker::new().unwrap();
        let listeners = || [&v4, &v6].map(|one| Waited { descriptor: one.as_fd(), writing: false });
        let short = Some(Duration::from_millis(1));
        assert_eq!(wait_many(&listeners(), &waker, short).unwrap(), [false, false]);
        let mut client = TcpStream::connect(("::1", port)).unwrap();
        assert_eq!(wait_many(&listeners(), &waker, None).unwrap(), [false, true]);
        let (server, _) = v6.accept().unwrap();
        client.write_all(b"x").unwrap();
        let one = [Waited { descriptor: server.as_fd(), writing: false }];
        assert_eq!(wait_many(&one, &waker, None).unwrap(), [true]);
        waker.wake();
        assert_eq!(wait_many(&listeners(), &waker, None).unwrap(), [false, false], "the waker ended it");
    }
}
