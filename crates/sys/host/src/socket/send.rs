//! Sending a datagram.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

use super::address;
use super::control::{ControlWriter, message};
use super::identity::{Identities, SCM_TS_OPT_ID, lock};
use super::stamping::{StampingSocket, forbid_fragments};
use crate::HostError;
use crate::clock::{Realtime, realtime_now};

/// How often a send is tried again when what it reported was an earlier datagram's ICMP error.
const RETRIES: usize = 2;

/// Where a datagram is to come from, on hosts with several addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The source address, of the socket's family. An unspecified one leaves the choice to the system.
    pub address: IpAddr,
    /// Index of the interface to leave by; 0 leaves it to the routes.
    pub interface: u32,
}

/// A datagram that is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The UDP payload.
    pub payload: &'a [u8],
    /// Where it goes; of the socket's family.
    pub to: SocketAddr,
    /// Where it comes from; `None` leaves it to the socket and the routes.
    pub from: Option<Source>,
    /// The whole TOS or traffic-class octet, ECN bits included; `None` takes the socket's.
    pub tos: Option<u8>,
    /// Time to live or hop limit, from 1; `None` takes the socket's.
    pub ttl: Option<u8>,
    /// The number by which its transmit stamp will be known.
    pub id: u32,
    /// Whether it is taken apart where it is longer than the path is known to take, though the socket
    /// [forbids that](super::SocketOptions::dont_fragment). It takes a few system calls more, and whatever another thread sends
    /// by the socket meanwhile may be taken apart as well.
    pub may_fragment: bool,
}

impl<'a> Outgoing<'a> {
    /// A datagram with the socket's own source address and class.
    pub const fn new(payload: &'a [u8], to: SocketAddr, id: u32) -> Self {
        Self { payload, to, from: None, tos: None, ttl: None, id, may_fragment: false }
    }
}

/// A datagram that the kernel has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Read from the real-time clock right before the send call.
    pub user: Realtime,
}

impl StampingSocket {
    /// Hands `datagram` to the kernel. Does not block and does not allocate.
    ///
    /// With [`path_errors`](super::SocketOptions::path_errors), the kernel answers a send with the ICMP error of
    /// an earlier datagram; such a send is repeated (and its user stamp taken anew), so that an error from here is
    /// always about this datagram.
    ///
    /// # Errors
    /// The datagram was not sent: it is too long ([`HostError::is_too_long`]), there is no route (`ENETUNREACH`,
    /// `EHOSTUNREACH`), the send buffer is full (`EAGAIN`) or a queue is (`ENOBUFS`), a packet filter forbids it
    /// (`EPERM`), or its addresses are not of the socket's family (`EINVAL`, `EAFNOSUPPORT`).
    pub fn send(&self, datagram: &Outgoing<'_>) -> Result<Sent, HostError> {
        let mut name = [0; address::ADDRESS_LEN];
        let name_length = address::encode(datagram.to, &mut name);
        let name = &mut name[..name_length];
        let mut control = ControlWriter::new();
        if let Some(source) = datagram.from {
            push_source(&mut control, source);
        }
        if let Some(tos) = datagram.tos {
            push_class(&mut control, datagram.to, tos);
        }
        if let Some(ttl) = datagram.ttl {
            push_ttl(&mut control, datagram.to, ttl);
        }
        if matches!(self.identities, Some(Identities::Given)) {
            control.push(libc::SOL_SOCKET, SCM_TS_OPT_ID, &datagram.id.to_ne_bytes());
        }
        if !(datagram.may_fragment && self.dont_fragment) {
            return self.try_to_hand_over(name, datagram, &control);
        }
        let is_ipv4 = self.local.is_ipv4();
        forbid_fragments(self.as_fd(), is_ipv4, false)?;
        let answer = self.try_to_hand_over(name, datagram, &control);
        forbid_fragments(self.as_fd(), is_ipv4, true)?;
        answer
    }

    /// Sends, again where what was reported was about an earlier datagram.
    fn try_to_hand_over(
        &self,
        name: &mut [u8],
        datagram: &Outgoing<'_>,
        control: &ControlWriter,
    ) -> Result<Sent, HostError> {
        let mut retries = if self.path_errors { RETRIES } else { 0 };
        loop {
            match self.hand_over(name, datagram, control) {
                Err(error) if retries > 0 && is_earlier_error(&error) => retries -= 1,
                answer => return answer,
            }
        }
    }

    /// Sends once, and keeps the count where there is one.
    fn hand_over(
        &self,
        name: &mut [u8],
        datagram: &Outgoing<'_>,
        control: &ControlWriter,
    ) -> Result<Sent, HostError> {
        let Some(Identities::Counted(counted)) = &self.identities else {
            return self.call(name, datagram.payload, control);
        };
        // Held across the call, so that our numbers run in the order of the kernel's.
        let mut counted = lock(counted);
        let answer = self.call(name, datagram.payload, control);
        match &answer {
            Ok(sent) => counted.sent(datagram.id, sent.user),
            Err(_) => counted.restart(self.as_fd())?,
        }
        answer
    }

    fn call(&self, name: &mut [u8], payload: &[u8], control: &ControlWriter) -> Result<Sent, HostError> {
        let mut vector = libc::iovec { iov_base: payload.as_ptr().cast_mut().cast(), iov_len: payload.len() };
        let header = message(name, Some(&mut vector), control.as_bytes());
        loop {
            let user = realtime_now();
            // SAFETY: `header` points to `name`, `vector` (and through it `payload`) and `control`, which all
            // outlive the call; a send only reads them.
            let answer = unsafe { libc::sendmsg(self.descriptor.as_raw_fd(), &raw const header, 0) };
            if answer >= 0 {
                return Ok(Sent { user });
            }
            let error = HostError::last("send");
            if error.errno() != Some(libc::EINTR) {
                return Err(error);
            }
        }
    }
}

/// Whether an error may be the pending one of an earlier datagram's ICMP message, which a repeated send no longer
/// meets. An error that is really this datagram's comes again.
pub(crate) fn is_earlier_error(error: &HostError) -> bool {
    matches!(
        error.errno(),
        Some(
            libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::ENOPROTOOPT
                | libc::EPROTO
                | libc::EOPNOTSUPP
                | libc::EACCES
                | libc::EMSGSIZE
                | libc::ENONET
        )
    )
}

fn push_source(control: &mut ControlWriter, source: Source) {
    let interface = source.interface.to_ne_bytes();
    match source.address {
        IpAddr::V4(ip) => {
            // struct in_pktinfo: interface, source (ipi_spec_dst), and a field that sends ignore.
            let mut data = [0; 12];
            data[0..4].copy_from_slice(&interface);
            data[4..8].copy_from_slice(&ip.octets());
            control.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &data);
        }
        IpAddr::V6(ip) => {
            // struct in6_pktinfo: address, interface.
            let mut data = [0; 20];
            data[0..16].copy_from_slice(&ip.octets());
            data[16..20].copy_from_slice(&interface);
            control.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &data);
        }
    }
}

fn push_class(control: &mut ControlWriter, to: SocketAddr, tos: u8) {
    let value = i32::from(tos).to_ne_bytes();
    if to.is_ipv4() {
        control.push(libc::IPPROTO_IP, libc::IP_TOS, &value);
    } else {
        control.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &value);
    }
}

fn push_ttl(control: &mut ControlWriter, to: SocketAddr, ttl: u8) {
    let value = i32::from(ttl).to_ne_bytes();
    if to.is_ipv4() {
        control.push(libc::IPPROTO_IP, libc::IP_TTL, &value);
    } else {
        control.push(libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, &value);
    }
}
