//! Raw IPv4 sockets: whole packets of one protocol, for protocols without ports such as RSVP.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use socket2::{Domain, Protocol, Socket, Type};

use crate::HostError;
use crate::sys::set_option;

/// A non-blocking socket for the IPv4 packets of one protocol. It receives a copy of each packet that is addressed to this
/// host, and sends packets with the header that the caller writes (`IP_HDRINCL`): source, TTL and options are the caller's,
/// and the kernel fills in the length, the checksum and an identification of 0.
#[derive(Debug)]
pub struct RawIpv4Socket(Socket);

impl RawIpv4Socket {
    /// A socket of `protocol` in the network namespace of the current thread.
    ///
    /// # Errors
    /// The capability `CAP_NET_RAW` is missing ([`HostError::is_permission`]), or the system has no descriptor left.
    pub fn open(protocol: u8) -> Result<Self, HostError> {
        let failed = |source: io::Error| HostError::System {
            operation: "open a raw socket",
            subject: format!("of IP protocol {protocol}"),
            source,
        };
        let protocol = Protocol::from(i32::from(protocol));
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(protocol)).map_err(failed)?;
        socket.set_header_included_v4(true).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok(Self(socket))
    }

    /// The same for a router: packets that arrive and leave by `interface` alone. Those that have the option Router Alert
    /// (RFC 2113) and another host's address are received as well, and the kernel does not forward them.
    ///
    /// # Errors
    /// As of [`RawIpv4Socket::open`], or there is no such interface.
    pub fn open_router(protocol: u8, interface: &str) -> Result<Self, HostError> {
        let socket = Self::open(protocol)?;
        socket.0.bind_device(Some(interface.as_bytes())).map_err(|source| HostError::System {
            operation: "bind a raw socket to",
            subject: interface.to_owned(),
            source,
        })?;
        let operation = "receive packets with Router Alert";
        set_option(socket.as_fd(), libc::IPPROTO_IP, libc::IP_ROUTER_ALERT, 1, operation)?;
        Ok(socket)
    }

    /// Sends `packet`, with its header, by the route to `destination`.
    ///
    /// # Errors
    /// There is no route, the packet is longer than the interface's MTU, or the kernel has no room for it now.
    pub fn send(&self, packet: &[u8], destination: Ipv4Addr) -> Result<(), HostError> {
        let address = SocketAddr::from((destination, 0));
        let failed =
            |source| HostError::System { operation: "send to", subject: destination.to_string(), source };
        self.0.send_to(packet, &address.into()).map(|_| ()).map_err(failed)
    }

    /// Receives a packet with its header into `buffer`, which cuts a longer one; `None` if there is none now.
    ///
    /// # Errors
    /// The kernel reports an error of the interface or of an earlier packet.
    pub fn receive<'b>(&self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, HostError> {
        match (&self.0).read(buffer) {
            Ok(length) => Ok(buffer.get(..length)),
            Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => {
                Ok(None)
            }
            Err(source) => {
                Err(HostError::System { operation: "receive a raw packet", subject: String::new(), source })
            }
        }
    }
}

impl AsFd for RawIpv4Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
