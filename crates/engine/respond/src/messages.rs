//! Messages between the threads of a responder.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use romer_endpoint::card::Card;
use romer_endpoint::overflow::Overflow;
use romer_host::socket::{SocketOptions, Source, StampingSocket};
use romer_record::log::{Card as CardRecord, ResponderDeparture, ResponderRecord};
use romer_session::association::Token;
use romer_units::Duration;
use romer_wire::oneway_probe;
use romer_wire::stamp::Key;

use super::send_errors::Refused;

/// Commands of the control thread to the reflecting thread.
#[derive(Debug)]
pub(super) enum Command {
    /// Expect an association with this token from this address.
    Open {
        session: u32,
        token: Token,
        ssid: u16,
        peer: IpAddr,
        /// One-way probes will come, so many at the most.
        probes: Option<(oneway_probe::Session, u64)>,
        /// Probes will be sent, by a socket like this.
        sends: Option<Box<SocketOptions>>,
        /// Packets a second that will come to the test sockets.
        rate: u64,
    },
    /// Answer only probes of the session that were made with this key.
    Authenticate { session: u32, key: Arc<Key> },
    /// The session's sender is at `peer` now: expect its association, by a new token, from there.
    Move { session: u32, token: Token, peer: IpAddr },
    /// Hand over what is still waiting, then say so.
    Flush { session: u32 },
    /// Forget the session.
    Close { session: u32 },
}

/// Events that the reflecting and the sending threads report to the control thread.
#[derive(Debug)]
pub(super) enum ThreadEvent {
    /// The session's address is proved, and is new or perhaps not known to its sender. Where probes are to be sent there and it is new, that is how.
    /// Where it took another's place, which its sender is to be told: how long before the last came from there, and the first
    /// from here, and the same of earlier ones; and from which others so many came meanwhile.
    Associated {
        session: u32,
        address: SocketAddr,
        moves: Vec<(SocketAddr, [Duration; 2])>,
        others: Vec<(SocketAddr, u64)>,
        path: Option<Box<SendPath>>,
    },
    /// A test packet of the session; whether it is the first copy of a one-way probe.
    Record { session: u32, record: ResponderRecord, first: bool },
    /// A network card's stamp of a packet of the session became known.
    Card { session: u32, card: CardRecord },
    /// A probe of ours has left.
    Departure { session: u32, record: ResponderDeparture },
    /// This host has refused probes or replies of ours.
    Refused { session: u32, refused: Refused },
    /// The thread that sends probes of ours has failed.
    Failed { session: u32 },
    /// All probes of ours have left.
    Departed { session: u32, count: u64 },
    /// Datagrams found a test socket full.
    Overflowed(Overflow),
    /// Everything of the session has been handed over; so many records did not fit the queue, and so many datagrams
    /// were dropped by the kernel while the session ran.
    Flushed { session: u32, lost: u64, kernel_drops: u64, bad_tag: u64 },
}

/// Where probes go, and by what.
#[derive(Debug)]
pub(super) struct SendPath {
    /// A socket at the test port. What comes from there comes to it, and the reflecting thread hears it.
    pub(super) socket: Arc<StampingSocket>,
    /// The proved address.
    pub(super) to: SocketAddr,
    /// The address that the association came to.
    pub(super) from: Option<Source>,
    /// The network card that it goes through, if that stamps.
    pub(super) card: Option<Arc<Card>>,
}
