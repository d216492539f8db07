//! What a control channel needs of the system: listeners that serve one address family each, and connections.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use socket2::{Domain, Protocol, Socket, Type};

use crate::HostError;
use crate::sys::set_option;

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

/// Lets no more than `octets` that are not sent yet wait in the system's buffer of a connection: what a peer does not read waits with
/// the program, which bounds it. A system that cannot bounds it by its own limits.
pub fn limit_unsent(stream: &TcpStream, octets: u32) {
    let value = libc::c_int::try_from(octets).unwrap_or(libc::c_int::MAX);
    let _ = set_option(
        stream.as_fd(),
        libc::IPPROTO_TCP,
        libc::TCP_NOTSENT_LOWAT,
        value,
        "limit what waits to be sent",
    );
}

/// Whether `accept` failed for want of descriptors or memory: the connection waits, and so will the next until some are free.
pub fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Both families listen at one port, and a connection is accepted by its own.
    #[test]
    fn families_share_a_port() {
        let v4 = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = v4.local_addr().unwrap().port();
        let v6 = listen(SocketAddr::new("::1".parse().unwrap(), port)).unwrap();
        let mut client = TcpStream::connect(("::1", port)).unwrap();
        assert_eq!(v4.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(v6.accept().unwrap().1, client.local_addr().unwrap());
        client.write_all(b"x").unwrap();
    }

    /// A peer that does not read leaves little in the system's buffer.
    #[test]
    fn unsent_octets_are_limited() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut own, _) = listener.accept().unwrap();
        own.set_nonblocking(true).unwrap();
        limit_unsent(&own, 4_096);
        let block = [0; 16 * 1_024];
        let written: usize = (0..10_000).map_while(|_| own.write(&block).ok()).sum();
        // What its own window takes it has to hold itself.
        assert!(written < 8 << 20, "{written}");
        drop(silent);
    }
}
