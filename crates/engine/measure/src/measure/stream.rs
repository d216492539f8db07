//! One stream while it is measured: what its threads share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering};

use romer_host::clock;
use romer_host::socket::StampingSocket;
use romer_session::sender::Echoes;
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::stamp::Key;

/// What the threads of a measurement share of one stream. Every counter is written by one thread.
#[derive(Debug)]
pub(super) struct Shared {
    /// Number of the stream in the run.
    pub(super) number: u16,
    /// Sends the probes, and keeps their transmit stamps.
    pub(super) socket: StampingSocket,
    /// Receives the reflections, so that nobody has to wait for the socket that sends; `None` where the system
    /// gives no second one.
    pub(super) receiver: Option<StampingSocket>,
    /// Where probes go, and reflections come from.
    pub(super) target: SocketAddr,
    pub(super) ssid: u16,
    pub(super) echoes: Arc<Echoes>,
    /// What probes and reflections are authenticated with.
    pub(super) key: Option<Arc<Key>>,
    /// Probes that were handed to the host or refused by it: the next sequence number.
    pub(super) sent: AtomicU64,
    pub(super) not_sent: AtomicU64,
    /// Why the last of them was not sent: the system's error number.
    pub(super) refusal: AtomicI32,
    /// Probes whose reflection is back, each once.
    pub(super) returned: AtomicU64,
    /// Transmit stamps that are in.
    pub(super) stamped: AtomicU64,
    /// Datagrams that were not reflections of this stream.
    pub(super) strays: AtomicU64,
    /// Errors that routers or the far host reported.
    pub(super) path_errors: AtomicU64,
    all_departed: AtomicBool,
    departed_at: AtomicI64,
}

impl Shared {
    pub(super) fn new(
        number: u16,
        socket: StampingSocket,
        receiver: Option<StampingSocket>,
        target: SocketAddr,
        ssid: u16,
        probes: u64,
    ) -> Self {
        Self {
            number,
            socket,
            receiver,
            target,
            ssid,
            echoes: Arc::new(Echoes::new(probes)),
            key: None,
            sent: AtomicU64::new(0),
            not_sent: AtomicU64::new(0),
            refusal: AtomicI32::new(0),
            returned: AtomicU64::new(0),
            stamped: AtomicU64::new(0),
            strays: AtomicU64::new(0),
            path_errors: AtomicU64::new(0),
            all_departed: AtomicBool::new(false),
            departed_at: AtomicI64::new(0),
        }
    }

    /// The same, authenticated where there is a key.
    pub(super) fn with_key(self, key: Option<Arc<Key>>) -> Self {
        Self { key, ..self }
    }

    /// The socket that is waited for.
    pub(super) fn watched(&self) -> &StampingSocket {
        self.receiver.as_ref().unwrap_or(&self.socket)
    }

    /// Both sockets, the one that is waited for first.
    pub(super) fn sockets(&self) -> impl Iterator<Item = &StampingSocket> {
        self.receiver.iter().chain([&self.socket])
    }

    /// No probe will follow.
    pub(super) fn departed_all(&self) {
        if !self.all_departed.load(Ordering::Acquire) {
            self.departed_at.store(clock::monotonic_now().as_nanos(), Ordering::Release);
            self.all_departed.store(true, Ordering::Release);
        }
    }

    /// Whether nothing more is to be waited for: everything is back and stamped, or has had `waiting_time`.
    pub(super) fn is_done(&self, now: Timestamp<Monotonic>, waiting_time: Duration) -> bool {
        if !self.all_departed.load(Ordering::Acquire) {
            return false;
        }
        let departed = Timestamp::from_nanos(self.departed_at.load(Ordering::Acquire));
        // A copy, or a stamp, may come shortly after the last thing that was expected.
        let grace = Duration::from_millis(20);
        let sent = self.sent.load(Ordering::Acquire).saturating_sub(self.not_sent.load(Ordering::Acquire));
        let all_back = self.returned.load(Ordering::Acquire) >= sent;
        let all_stamped = !self.socket.has_kernel_stamps() || self.stamped.load(Ordering::Acquire) >= sent;
        let waited = now - departed;
        waited >= waiting_time || (waited >= grace && all_back && all_stamped)
    }
}
