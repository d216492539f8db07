//! What comes back about datagrams that were sent: their transmit stamps, and the errors of the path.

use std::net::{IpAddr, SocketAddr};

use super::address;
use super::control::{CONTROL_LEN, Control, messages};
use super::receive::{empty_header, receive_header};
use super::stamping::StampingSocket;
use crate::HostError;
use crate::clock::Realtime;
use crate::phc::PhcTime;

/// Octets of a datagram that are kept of what an ICMP error returns of it.
pub const QUOTED: usize = 8;
/// Events that are taken with one call.
const BATCH: usize = 16;
/// What `ee_info` says of a software stamp (`SCM_TSTAMP_SND`).
const SENT: u32 = 0;

/// When a datagram left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmitStamp {
    /// The number given with the send.
    pub id: u32,
    /// When the kernel handed it to the driver.
    pub kernel: Realtime,
}

/// When a datagram left by the clock of the network card that sent it. Where the kernel stamps too, this comes beside its
/// [`TransmitStamp`], as a rule after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardTransmitStamp {
    /// The number given with the send.
    pub id: u32,
    /// When the card put it on the wire.
    pub card: PhcTime,
}

/// Why a datagram did not arrive, as far as the path tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathErrorKind {
    /// Nobody listens at the port.
    PortUnreachable,
    /// The host or its network cannot be reached, or it is forbidden to.
    Unreachable,
    /// The datagram was longer than a link's MTU and must not be fragmented.
    TooLong {
        /// The MTU that the path reported, in octets of IP packet; 0 if unknown.
        mtu: u32,
    },
    /// The time to live ran out on the way.
    TimeExceeded,
    /// Anything else; the ICMP type and code say more.
    Other,
}

/// An ICMP error that a datagram of this socket provoked, or this host's own refusal of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError {
    /// Where the datagram was going.
    pub to: Option<SocketAddr>,
    /// Who reported it; `None` if this host.
    pub reporter: Option<IpAddr>,
    /// What it means.
    pub kind: PathErrorKind,
    /// ICMP or ICMPv6 type; 0 with code 0 for this host's own.
    pub icmp_type: u8,
    /// ICMP or ICMPv6 code.
    pub icmp_code: u8,
    /// The first octets of the datagram's payload; `None` where the report returned fewer of it. RFC 792 asks for none,
    /// RFC 1812 and RFC 4443 for as many as there is room for.
    pub quoted: Option<[u8; QUOTED]>,
}

/// Room for transmit events, allocated once.
#[derive(Debug)]
pub struct TransmitEvents {
    stamps: Vec<TransmitStamp>,
    card_stamps: Vec<CardTransmitStamp>,
    path_errors: Vec<PathError>,
    unmatched: u64,
    capacity: usize,
}

impl TransmitEvents {
    /// Room for `capacity` events at a time (at least 16).
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(BATCH);
        Self {
            stamps: Vec::with_capacity(capacity),
            card_stamps: Vec::with_capacity(capacity),
            path_errors: Vec::with_capacity(capacity),
            unmatched: 0,
            capacity,
        }
    }

    /// The stamps of the last call, in the order the kernel took them.
    pub fn stamps(&self) -> &[TransmitStamp] {
        &self.stamps
    }

    /// Those of network cards.
    pub fn card_stamps(&self) -> &[CardTransmitStamp] {
        &self.card_stamps
    }

    /// The path errors of the last call.
    pub fn path_errors(&self) -> &[PathError] {
        &self.path_errors
    }

    /// Stamps, over all calls, whose datagram could not be told any more: they belong to a count that a failed
    /// send has ended (kernels before 6.13 only).
    pub const fn unmatched(&self) -> u64 {
        self.unmatched
    }
}

impl StampingSocket {
    /// Takes transmit stamps and path errors that have come back, without blocking, and gives how many there were.
    /// What `events` held before is gone. An answer of 0 means that none is left at present.
    ///
    /// A stamp whose datagram the kernel never passed to a driver (dropped in a queue, or when the receive buffer
    /// had no room for the stamp) never comes.
    ///
    /// # Errors
    /// A system call's refusal, as of memory.
    pub fn transmit_events(&self, events: &mut TransmitEvents) -> Result<usize, HostError> {
        events.stamps.clear();
        events.card_stamps.clear();
        events.path_errors.clear();
        let mut taken = 0;
        while taken + BATCH <= events.capacity {
            match self.take_events(events)? {
                0 => break,
                count => taken += count,
            }
        }
        Ok(taken)
    }

    fn take_events(&self, events: &mut TransmitEvents) -> Result<usize, HostError> {
        let mut names = [[0; address::ADDRESS_LEN]; BATCH];
        let mut controls = [[0; CONTROL_LEN]; BATCH];
        let mut headers = [const { empty_header() }; BATCH];
        // Stamps come without a packet, and of an ICMP error's packet its beginning is enough.
        let mut quotes = [[0_u8; QUOTED]; BATCH];
        let mut vectors = [const { libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 } }; BATCH];
        let rooms = names.iter_mut().zip(&mut vectors).zip(&mut quotes).zip(&mut controls);
        for (header, (((name, vector), quote), control)) in headers.iter_mut().zip(rooms) {
            *vector = libc::iovec { iov_base: quote.as_mut_ptr().cast(), iov_len: quote.len() };
            *header = receive_header(name, vector, control);
        }
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        let Some(count) = self.receive_messages(&mut headers, flags)? else { return Ok(0) };
        for (index, header) in headers[..count].iter().enumerate() {
            let name = &names[index][..header.msg_hdr.msg_namelen as usize];
            let control = &controls[index][..header.msg_hdr.msg_controllen.min(CONTROL_LEN)];
            let quoted = (header.msg_len as usize >= QUOTED).then_some(quotes[index]);
            self.sort(name, control, quoted, events);
        }
        Ok(count)
    }

    /// Puts one message of the error queue where it belongs.
    fn sort(&self, name: &[u8], control: &[u8], quoted: Option<[u8; QUOTED]>, events: &mut TransmitEvents) {
        let (mut stamp, mut card) = (None, None);
        let mut report = None;
        for message in messages(control) {
            match (message.level, message.kind) {
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPING_NEW) => {
                    (stamp, card) = (message.software_stamp(), message.card_stamp());
                }
                (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                    report = Report::read(&message);
                }
                _ => {}
            }
        }
        let Some(report) = report else { return };
        if report.origin != libc::SO_EE_ORIGIN_TIMESTAMPING {
            events.path_errors.push(report.path_error(address::decode(name), quoted));
        } else if let (SENT, Some(identities)) = (report.info, &self.identities) {
            if let Some(kernel) = stamp.map(Realtime::from_nanos) {
                match identities.id_of(report.data, kernel) {
                    Some(id) => events.stamps.push(TransmitStamp { id, kernel }),
                    None => events.unmatched += 1,
                }
            }
            if let Some(card) = card {
                match identities.id_of_card_stamp(report.data) {
                    Some(id) => events.card_stamps.push(CardTransmitStamp { id, card }),
                    None => events.unmatched += 1,
                }
            }
        }
    }
}

/// A `struct sock_extended_err` and the offender's address behind it.
struct Report {
    errno: i32,
    origin: u8,
    icmp_type: u8,
    icmp_code: u8,
    info: u32,
    data: u32,
    reporter: Option<IpAddr>,
}

impl Report {
    fn read(message: &Control<'_>) -> Option<Self> {
        let bytes = message.data;
        Some(Self {
            errno: i32::from_ne_bytes(address::array(bytes, 0)?),
            origin: *bytes.get(4)?,
            icmp_type: *bytes.get(5)?,
            icmp_code: *bytes.get(6)?,
            info: u32::from_ne_bytes(address::array(bytes, 8)?),
            data: u32::from_ne_bytes(address::array(bytes, 12)?),
            reporter: bytes.get(16..).and_then(address::decode).map(|address| address.ip()),
        })
    }

    fn path_error(&self, to: Option<SocketAddr>, quoted: Option<[u8; QUOTED]>) -> PathError {
        let kind = match (self.origin, self.icmp_type, self.icmp_code) {
            _ if self.errno == libc::EMSGSIZE => PathErrorKind::TooLong { mtu: self.info },
            // RFC 792: destination unreachable (3), of which code 3 is the port; time exceeded (11).
            (libc::SO_EE_ORIGIN_ICMP, 3, 3) => PathErrorKind::PortUnreachable,
            (libc::SO_EE_ORIGIN_ICMP, 3, _) => PathErrorKind::Unreachable,
            (libc::SO_EE_ORIGIN_ICMP, 11, _) => PathErrorKind::TimeExceeded,
            // RFC 4443: destination unreachable (1), of which code 4 is the port; time exceeded (3).
            (libc::SO_EE_ORIGIN_ICMP6, 1, 4) => PathErrorKind::PortUnreachable,
            (libc::SO_EE_ORIGIN_ICMP6, 1, _) => PathErrorKind::Unreachable,
            (libc::SO_EE_ORIGIN_ICMP6, 3, _) => PathErrorKind::TimeExceeded,
            // This host's own neighbour resolution that failed.
            (libc::SO_EE_ORIGIN_LOCAL, ..) if self.errno == libc::EHOSTUNREACH => PathErrorKind::Unreachable,
            _ => PathErrorKind::Other,
        };
        PathError {
            to,
            reporter: self.reporter,
            kind,
            icmp_type: self.icmp_type,
            icmp_code: self.icmp_code,
            quoted,
        }
    }
}
