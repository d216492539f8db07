//! Admission of control connections, and which connection is closed for a new one.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;

use romer_endpoint::byte_stream::ByteStream;
use romer_endpoint::circumstances::{clock_identity, random};
use romer_endpoint::clock_sync::{clock_sync, renew};
use romer_endpoint::host_events::ip_no_pmtu_disc;
use romer_host::clock;
use romer_host::poller::Interest;
use romer_host::stream::{is_exhausted, limit_unsent};
use romer_session::control::{Server, ServerHello};
use romer_session::network::ClientNetwork;
use romer_units::{Duration, Monotonic, Timestamp};

use super::connection::Connection;
use super::connection_eviction::{ConnectionPlace, Scope, Stage, to_close};
use super::outbox::Outbox;
use super::quotas::{Allocation, CountedNetworks, NETWORKS};
use super::{ControlThread, LISTENERS, LONGEST_ANSWER, MOST_DEPARTURES, MOST_SENDERS, token};

/// Connections without a session at a time, and those that one network may have.
const WITHOUT_SESSION: usize = 512;
const WITHOUT_SESSION_OF_ONE: usize = WITHOUT_SESSION / NETWORKS;
/// Connections that are accepted in a turn.
const ACCEPTED: usize = 64;
/// How long no connection is accepted once the descriptors are used up.
const EXHAUSTED: Duration = Duration::from_millis(500);

impl ControlThread {
    pub(super) fn accept(&mut self, index: usize) {
        for _ in 0..ACCEPTED {
            let Some(listener) = self.listeners.get(index) else { return };
            match listener.accept() {
                Ok((stream, address)) => self.admit(stream, address),
                Err(error) if is_exhausted(&error) => return self.pause_accepting(),
                Err(_) => return,
            }
        }
    }

    /// Begins a conversation, or hangs up before a word is said.
    fn admit(&mut self, stream: TcpStream, address: SocketAddr) {
        let peer = address.ip().to_canonical();
        if !self.allow.is_empty() && !self.allow.iter().any(|prefix| prefix.contains_in_either_form(peer)) {
            self.totals().refused_sessions.not_allowed += 1;
            return;
        }
        // Small frames go at once; a failure only makes them slower.
        let _ = stream.set_nodelay(true);
        limit_unsent(&stream, u32::try_from(LONGEST_ANSWER).unwrap_or(u32::MAX));
        let home = stream.local_addr().ok().map(|address| address.ip().to_canonical());
        let stream = self.links.channel.accept(stream);
        self.converse_over(stream, peer, home);
    }

    /// Begins a conversation with `peer`, which has reached this host at its address `home`.
    pub(super) fn converse_over(&mut self, stream: Box<dyn ByteStream>, peer: IpAddr, home: Option<IpAddr>) {
        self.make_room_for_pending(peer);
        // Only now: the connection that made room has given its number back.
        let index = self.connections.next();
        if stream.set_patience(None).is_err()
            || self.poller.add(stream.descriptor(), token(index), Interest::Read).is_err()
        {
            self.totals().refused_sessions.overload += 1;
            return;
        }
        let now = clock::monotonic_now();
        // The session that may follow has a fresh answer by its first look.
        renew();
        let welcome = ServerHello {
            clock: clock_identity(),
            clock_sync: Some(clock_sync()),
            ip_no_pmtu_disc: ip_no_pmtu_disc().filter(|_| peer.is_ipv4()),
            ..self.welcome.clone()
        };
        let server = Server::new(self.limits, welcome, random(), now).with_one_way(random());
        let mut server = server.with_resumption(random());
        let key = self.links.key.get();
        if let Some(key) = &key {
            server = server.locked(std::sync::Arc::clone(key), [random(), random()]);
        }
        let index = self.connections.insert(Connection {
            stream: Some(stream),
            peer,
            counted: CountedNetworks { own: ClientNetwork::from_address(peer), proved: None },
            home,
            server,
            key,
            begun: now,
            outbox: Outbox::default(),
            interest: Interest::Read,
            holding: Allocation::default(),
            in_use: Allocation::default(),
            session: None,
            reached: None,
            interface: None,
            refused_over: None,
            moved: None,
            is_checked: false,
            pairing: None,
            closing: None,
        });
        self.account(index, now);
    }

    /// Closes a connection without a session where one more from `peer` would be one too many, of its network or of all.
    fn make_room_for_pending(&mut self, peer: IpAddr) {
        let newcomer = ClientNetwork::from_address(peer);
        let scope = if self.shares.network(newcomer).pending >= WITHOUT_SESSION_OF_ONE {
            Scope::Own
        } else if self.shares.all().pending >= WITHOUT_SESSION {
            Scope::All
        } else {
            return;
        };
        let places: Vec<ConnectionPlace> =
            self.connections.iter().map(|(index, one)| one.place(index)).collect();
        if let Some(index) = to_close(&places, newcomer, scope) {
            self.totals().refused_sessions.overload += 1;
            self.remove(index);
        }
    }

    /// Ends idle sessions until all sessions together hold what they may, where connection `index` has been granted what idle
    /// ones held: of its network, or of all.
    pub(super) fn make_room(&mut self, index: usize, now: Timestamp<Monotonic>) {
        let Some(connection) = self.connections.get(index) else { return };
        let network = ClientNetwork::from_address(connection.peer);
        let [of_one, of_all] = self.most();
        loop {
            let (own, all) = (self.shares.network(network).minus(of_one), self.shares.all().minus(of_all));
            let idle = if own != Allocation::default() {
                self.idle_session(index, own, Some(network), now)
            } else if all != Allocation::default() {
                self.idle_session(index, all, None, now)
            } else {
                return;
            };
            let Some(idle) = idle else { return };
            self.totals().evicted_sessions += 1;
            self.remove(idle);
        }
    }

    /// What the sessions of one network may hold, and those of all.
    pub(super) fn most(&self) -> [Allocation; 2] {
        let limits = &self.limits;
        let bits = |most: Option<u64>| most.unwrap_or(u64::MAX);
        let of_one = Allocation {
            sessions: self.share_of_sessions(),
            senders: MOST_SENDERS / NETWORKS,
            coming: limits.packets_per_second,
            own: limits.own_packets_per_second,
            own_bits: bits(limits.own_bits_per_second),
            departures: MOST_DEPARTURES / NETWORKS,
            ..Allocation::UNLIMITED
        };
        let of_all = Allocation {
            sessions: self.most_sessions,
            senders: MOST_SENDERS,
            coming: limits.all_packets_per_second,
            own: limits.all_packets_per_second,
            own_bits: bits(limits.all_own_bits_per_second),
            departures: MOST_DEPARTURES,
            ..Allocation::UNLIMITED
        };
        [of_one, of_all]
    }

    /// The session, of `network` or of any, that holds some of what is held in `excess` and is idle for longest; of the network
    /// with most sessions first. Not that of connection `newcomer`.
    fn idle_session(
        &self,
        newcomer: usize,
        excess: Allocation,
        network: Option<ClientNetwork>,
        now: Timestamp<Monotonic>,
    ) -> Option<usize> {
        let counts =
            |one: &Connection| network.is_none_or(|network| ClientNetwork::from_address(one.peer) == network);
        let sessions =
            self.by_session.values().filter_map(|index| Some((*index, self.connections.get(*index)?)));
        sessions
            .filter(|(index, one)| {
                *index != newcomer && one.is_idle(now) && counts(one) && one.holding.has_some_of(excess)
            })
            .max_by_key(|(_, one)| {
                (
                    self.shares.network(ClientNetwork::from_address(one.peer)).sessions,
                    now - one.server.unused_since(),
                )
            })
            .map(|(index, _)| index)
    }

    /// The descriptors are used up: whoever is not accepted waits, and looking at it again and again would help nobody.
    fn pause_accepting(&mut self) {
        self.accepts_from = Some(clock::monotonic_now() + EXHAUSTED);
        self.set_listening(Interest::Nothing);
    }

    /// Accepts connections again, if that was paused for long enough.
    pub(super) fn resume_accepting(&mut self, now: Timestamp<Monotonic>) {
        if self.accepts_from.take_if(|from| now >= *from).is_some() {
            self.set_listening(Interest::Read);
        }
    }

    fn set_listening(&self, interest: Interest) {
        for (token, listener) in (LISTENERS..).zip(&self.listeners) {
            // A listener that was added can be changed.
            let _ = self.poller.change(listener.as_fd(), token, interest);
        }
    }
}

impl Connection {
    /// What decides whether it makes room for another one.
    fn place(&self, index: usize) -> ConnectionPlace {
        let stage = match (self.holding.pending, &self.session) {
            (0, _) => Stage::Session,
            (_, Some(_)) => Stage::Ending,
            (_, None) => Stage::Asking,
        };
        ConnectionPlace { index, network: ClientNetwork::from_address(self.peer), begun: self.begun, stage }
    }
}
