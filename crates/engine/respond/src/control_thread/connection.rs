//! A control connection, and what it holds.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use romer_endpoint::byte_stream::ByteStream;
use romer_endpoint::damage::DamageMonitor;
use romer_endpoint::tls::pairing::Proofs;
use romer_host::host_info;
use romer_host::poller::Interest;
use romer_session::control::{ReverseStreamRequest, SILENCE, Server};
use romer_session::network::ClientNetwork;
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::oneway_probe;
use romer_wire::pattern::{Carrier, Pattern};
use romer_wire::stamp::Key;

use super::outbox::Outbox;
use super::quotas::{Allocation, CountedNetworks};
use crate::messages::SendPath;
use crate::send_thread::ProbeSender;

/// How long the last words of a conversation that led to no session may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A control connection.
pub(super) struct Connection {
    /// `None` while a session waits for another connection.
    pub(super) stream: Option<Box<dyn ByteStream>>,
    pub(super) peer: IpAddr,
    /// The address of this host that it was begun with.
    pub(super) home: Option<IpAddr>,
    pub(super) server: Server,
    /// The key that it was begun with.
    pub(super) key: Option<Arc<Key>>,
    /// When it was accepted.
    pub(super) begun: Timestamp<Monotonic>,
    pub(super) outbox: Outbox,
    /// What is waited for of the stream.
    pub(super) interest: Interest,
    /// What it has of what this responder grants, as it was counted last.
    pub(super) holding: Allocation,
    /// The same, and nothing if its session was idle then.
    pub(super) in_use: Allocation,
    /// For which networks that was counted.
    pub(super) counted: CountedNetworks,
    pub(super) session: Option<Granted>,
    /// Where its session's association came from.
    pub(super) reached: Option<Reached>,
    /// The interface by which this end reaches the sender, as far as is known.
    pub(super) interface: Option<String>,
    /// The least that the way was known to take when probes or replies had been refused for their length.
    pub(super) refused_over: Option<u32>,
    /// What its session's new connection brought, until the address is proved.
    pub(super) moved: Option<Moved>,
    /// Whether its protection was checked, as it is once something has come.
    pub(super) is_checked: bool,
    /// What its initiator has to prove to be paired.
    pub(super) pairing: Option<Proofs>,
    /// Since when it is over and only its last words are written.
    pub(super) closing: Option<Timestamp<Monotonic>>,
}

impl Connection {
    pub(super) const fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Whether it is over, and its last words are written or are not read.
    pub(super) fn is_over(&self, now: Timestamp<Monotonic>) -> bool {
        self.closing.is_some_and(|since| {
            let is_read = if self.session.is_some() {
                now - self.server.active() < SILENCE
            } else {
                now - since < LAST_WORDS
            };
            !self.has_unwritten() || !is_read
        })
    }

    /// Whether octets wait to be written.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.outbox.is_empty() || self.stream.as_ref().is_some_and(|stream| stream.has_unwritten())
    }

    /// Whether its session is idle, so that what it holds is granted to others.
    pub(super) fn is_idle(&self, now: Timestamp<Monotonic>) -> bool {
        !self.is_closing() && self.server.is_idle(now)
    }

    /// The networks for which it counts now: probes go on to an address that was proved, until another one is.
    pub(super) fn counts_for(&self) -> CountedNetworks {
        let own = ClientNetwork::from_address(self.peer);
        let proved = self.moved.as_ref().map(|moved| ClientNetwork::from_address(moved.before));
        CountedNetworks { own, proved: proved.filter(|proved| *proved != own) }
    }

    /// Octets of memory for what has come and is not read and for what waits to be written, while there is a connection, and for
    /// what is kept for a resumption.
    pub(super) fn buffered(&self) -> usize {
        let is_there = self.stream.is_some();
        let of_connection = if is_there { self.outbox.memory() + self.server.unread_memory() } else { 0 };
        of_connection + self.server.kept_memory()
    }

    /// The number of its session.
    pub(super) fn number(&self) -> Option<u32> {
        self.session.as_ref().map(|session| session.number)
    }
}

/// A session that was granted.
pub(super) struct Granted {
    pub(super) number: u32,
    /// What this end is to send, as whose probes, and how many at the most.
    pub(super) stream: Option<(ReverseStreamRequest, (oneway_probe::Session, u64))>,
    /// How, until it begins.
    pub(super) path: Option<Box<SendPath>>,
    pub(super) sender: Option<ProbeSender>,
    pub(super) damage: SessionDamage,
}

/// What a session has of the count of its damaged probes.
#[derive(Debug, Default)]
pub(super) struct SessionDamage {
    /// What its probes to this end are; `None` if there are none.
    pub(super) carrier: Option<Carrier>,
    /// The pattern of its probes, of which damage is to be counted.
    pub(super) pattern: Option<Pattern>,
    pub(super) monitor: Option<DamageMonitor>,
}

impl SessionDamage {
    /// No count is requested yet, of probes to this end that are a `carrier`.
    pub(super) fn new(carrier: Option<Carrier>) -> Self {
        Self { carrier, ..Self::default() }
    }
}

/// The address that a session has proved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub(super) address: SocketAddr,
    /// When the route to it is looked up next.
    pub(super) due: Timestamp<Monotonic>,
}

/// What a new connection says of the time before it.
pub(super) struct Moved {
    /// Where the session's sender was.
    pub(super) before: IpAddr,
    /// How long it had known that something is amiss.
    pub(super) silent: Duration,
    /// When it came.
    pub(super) at: Timestamp<Monotonic>,
}

/// Has a session count the datagrams that this host drops as damaged while it runs: to be called when it is opened, and before
/// it ends.
pub(super) fn report_checksum_errors(server: &mut Server) {
    if let Ok(counted) = host_info::udp_checksum_errors() {
        server.on_checksum_errors(counted);
    }
}
