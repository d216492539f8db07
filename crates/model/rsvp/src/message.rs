//! Messages of RFC 2205 (section 3.1).
//!
//! [`Packet::parse`] reads any octets, and a [`Message`] represents only legal ones. Parts that a reader must ignore are not
//! represented: INTEGRITY, SCOPE, and unknown classes from 128 to 191. Reservations have the fixed-filter style; another one
//! is a [`Rejection`] that can be reported.

mod emit;
mod parse;
mod parts;

use core::net::Ipv4Addr;
use core::ops::Deref;

use thiserror::Error;

use crate::adspec::Adspec;
use crate::fault::Fault;
use crate::flowspec::Flowspec;
use crate::object::{Confirm, ErrorSpec, Filter, Hop, Objects, OpaqueObject, RefreshPeriod, Session, Style};
use crate::tspec::Tspec;

/// Octets of the common header.
pub const HEADER: usize = 8;
/// The most octets of a message: an IPv4 packet with the option Router Alert has no room for more.
pub const MOST: usize = 65_535 - 24;
/// The version of the protocol.
const VERSION: u8 = 1;

/// A message type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Announces a flow.
    Path,
    /// Requests a reservation.
    Resv,
    /// An error in a Path message.
    PathErr,
    /// An error in a Resv message.
    ResvErr,
    /// Removes path state.
    PathTear,
    /// Removes a reservation.
    ResvTear,
    /// Confirms a reservation.
    ResvConf,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Path,
        Self::Resv,
        Self::PathErr,
        Self::ResvErr,
        Self::PathTear,
        Self::ResvTear,
        Self::ResvConf,
    ];

    /// The number on the wire.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }
    const fn from_number(number: u8) -> Option<Self> {
        match number {
            1..=7 => Some(Self::ALL[number as usize - 1]),
            _ => None,
        }
    }
    /// Whether its IP packets have the option Router Alert (RFC 2205 section 3.3).
    pub const fn has_router_alert(self) -> bool {
        matches!(self, Self::Path | Self::PathTear | Self::ResvConf)
    }
}

/// A view of a message: its header, with correct length and checksum, and its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    kind: Kind,
    send_ttl: u8,
    objects: &'a [u8],
}

impl<'a> View<'a> {
    /// The message type.
    pub const fn kind(&self) -> Kind {
        self.kind
    }
    /// The TTL with which the message was sent.
    pub const fn send_ttl(&self) -> u8 {
        self.send_ttl
    }
    /// The objects.
    pub const fn objects(&self) -> Objects<'a> {
        Objects::new(self.objects)
    }
}

/// A sender and its traffic, as in a Path message.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderDescriptor {
    /// SENDER_TEMPLATE.
    pub template: Filter,
    /// SENDER_TSPEC.
    pub tspec: Tspec,
    /// ADSPEC.
    pub adspec: Option<Adspec>,
}

/// A sender and its traffic where readers ignore the traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderReference {
    /// SENDER_TEMPLATE.
    pub template: Filter,
    /// SENDER_TSPEC, if it is there and legal.
    pub tspec: Option<Tspec>,
    /// ADSPEC, if it is there and legal.
    pub adspec: Option<Adspec>,
}

/// A reservation for a sender. `F` is [`Flowspec`], or an `Option` of it where readers ignore it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow<F = Flowspec> {
    /// FLOWSPEC.
    pub flowspec: F,
    /// FILTER_SPEC.
    pub filter: Filter,
}

/// At least one reservation.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows<F = Flowspec>(Vec<Flow<F>>);

impl<F> Flows<F> {
    /// These reservations; `None` if there is none.
    pub fn new(flows: Vec<Flow<F>>) -> Option<Self> {
        if flows.is_empty() { None } else { Some(Self(flows)) }
    }
}

impl<F> From<Flow<F>> for Flows<F> {
    fn from(flow: Flow<F>) -> Self {
        Self(vec![flow])
    }
}

impl<F> Deref for Flows<F> {
    type Target = [Flow<F>];
    fn deref(&self) -> &[Flow<F>] {
        &self.0
    }
}

/// Objects that a node forwards without reading them: POLICY_DATA and unknown classes from 192 on.
pub type Forwarded = Vec<OpaqueObject>;

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Announces a flow.
    Path {
        /// SESSION.
        session: Session,
        /// The previous hop.
        hop: Hop,
        /// TIME_VALUES.
        period: RefreshPeriod,
        /// The flow's sender.
        sender: SenderDescriptor,
        /// Objects to forward.
        forwarded: Forwarded,
    },
    /// Requests reservations.
    Resv {
        /// SESSION.
        session: Session,
        /// The next hop.
        hop: Hop,
        /// TIME_VALUES.
        period: RefreshPeriod,
        /// The receiver that wants a confirmation.
        confirm: Option<Confirm>,
        /// The reservations.
        flows: Flows,
        /// Objects to forward.
        forwarded: Forwarded,
    },
    /// An error in a Path message.
    PathErr {
        /// SESSION.
        session: Session,
        /// The error.
        error: ErrorSpec,
        /// The flow's sender.
        sender: Option<SenderReference>,
        /// Objects to forward.
        forwarded: Forwarded,
    },
    /// An error in a Resv message.
    ResvErr {
        /// SESSION.
        session: Session,
        /// The previous hop.
        hop: Hop,
        /// The error.
        error: ErrorSpec,
        /// The style of the Resv message.
        style: Style,
        /// The reservation that failed; only of fixed-filter style.
        flow: Option<Flow<Option<Flowspec>>>,
        /// Objects to forward.
        forwarded: Forwarded,
    },
    /// Removes path state.
    PathTear {
        /// SESSION.
        session: Session,
        /// The previous hop.
        hop: Hop,
        /// The flow's sender.
        sender: SenderReference,
        /// Objects to forward.
        forwarded: Forwarded,
    },
    /// Removes reservations.
    ResvTear {
        /// SESSION.
        session: Session,
        /// The next hop.
        hop: Hop,
        /// The reservations.
        flows: Flows<Option<Flowspec>>,
        /// Objects to forward.
        forwarded: Forwarded,
    },
    /// Confirms reservations.
    ResvConf {
        /// SESSION.
        session: Session,
        /// The node that confirms, with [`crate::ErrorCode::CONFIRMATION`].
        error: ErrorSpec,
        /// The receiver that requested the confirmation.
        confirm: Confirm,
        /// The reservations.
        flows: Flows,
        /// Objects to forward.
        forwarded: Forwarded,
    },
}

impl Message {
    /// Its type.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Path { .. } => Kind::Path,
            Self::Resv { .. } => Kind::Resv,
            Self::PathErr { .. } => Kind::PathErr,
            Self::ResvErr { .. } => Kind::ResvErr,
            Self::PathTear { .. } => Kind::PathTear,
            Self::ResvTear { .. } => Kind::ResvTear,
            Self::ResvConf { .. } => Kind::ResvConf,
        }
    }
    /// Its session.
    pub const fn session(&self) -> Session {
        match self {
            Self::Path { session, .. }
            | Self::Resv { session, .. }
            | Self::PathErr { session, .. }
            | Self::ResvErr { session, .. }
            | Self::PathTear { session, .. }
            | Self::ResvTear { session, .. }
            | Self::ResvConf { session, .. } => *session,
        }
    }
}

/// A message and the TTL with which it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// The TTL.
    pub send_ttl: u8,
    /// The message.
    pub message: Message,
}

/// A message that has more octets than [`MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an RSVP message of {0} octets is too long; an IPv4 packet carries at most {MOST}")]
pub struct TooLong(pub usize);

/// Where a rejected message came from, as far as it can be read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Origin {
    Path { session: Session, hop: Hop, template: Option<Filter>, tspec: Option<Tspec> },
    Resv { session: Session, hop: Hop, style: Style, filter: Option<Filter> },
}

/// Octets that are no message, why, and the message that reports it.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("{fault}")]
pub struct Rejection {
    fault: Fault,
    origin: Option<Origin>,
}

impl Rejection {
    /// Why the octets were rejected.
    pub const fn fault(&self) -> Fault {
        self.fault
    }
    /// The session of the message, if it is a Path or Resv message that a node should report.
    pub fn session(&self) -> Option<Session> {
        self.fault.code()?;
        Some(match self.origin? {
            Origin::Path { session, .. } | Origin::Resv { session, .. } => session,
        })
    }
    /// The kind of the message, if it is a Path or Resv message that a node should report.
    pub fn kind(&self) -> Option<Kind> {
        self.fault.code()?;
        Some(match self.origin? {
            Origin::Path { .. } => Kind::Path,
            Origin::Resv { .. } => Kind::Resv,
        })
    }

    /// The error message that the node at `node` sends, and its destination: the neighbour that sent the message. `None` for a
    /// fault that stays local.
    pub fn report(&self, node: Ipv4Addr) -> Option<(Ipv4Addr, Message)> {
        let error = ErrorSpec::new(node, self.fault.code()?);
        let forwarded = Forwarded::new();
        Some(match self.origin? {
            Origin::Path { session, hop, template, tspec } => {
                let sender = template.map(|template| SenderReference { template, tspec, adspec: None });
                (hop.address(), Message::PathErr { session, error, sender, forwarded })
            }
            Origin::Resv { session, hop, style, filter } => {
                let flow = filter.map(|filter| Flow { flowspec: None, filter });
                let neighbour = hop.address();
                let hop = Hop::new(node, hop.handle())?;
                (neighbour, Message::ResvErr { session, hop, error, style, flow, forwarded })
            }
        })
    }
}
