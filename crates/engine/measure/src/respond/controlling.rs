//! The thread that holds the control conversations.

mod resuming;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

use romer_host::socket::{SocketOptions, Waker};
use romer_host::stream::{Waited, wait_many};
use romer_host::{HostError, clock, host_info};
use romer_record::document::Way;
use romer_record::event::{Event, EventKind};
use romer_session::control::{
    Action, FEATURES, FarStream, Fruitless, HAS_CARD, Limits, Message, Others, RefusalCode, Server, Session,
    VERSION, Welcome, possession,
};
use romer_session::limit::share_a_bucket;
use romer_session::reflector::Prefix;
use romer_session::send_limit::{OPEN_NETWORK_BITS, OPEN_TOTAL_BITS, SendLimit};
use romer_units::{Dscp, Duration, counted_as};
use romer_wire::compact::{self, Heading};
use romer_wire::stamp::Key;

use super::reflecting::{Note, Order};
use super::refusals::{OVER_THE_BITS, OVER_THE_RATE, Refused};
use super::sending::{FarSender, Listener, Path};
use super::{RespondOptions, Totals};
use crate::byte_stream::ByteStream;
use crate::circumstances::{Keepers, clock_identity, clock_keepers, clock_sync, random};
use crate::occurrences::{Occurrence, Occurrences, covers, routers_unheard, shorter_by};
use crate::overflow::Overflow;
use crate::threads::{STOOD_STILL, too_late};
use crate::{SOFTWARE, ThreadOptions};
use resuming::Moved;

/// Conversations at a time beside those that have a session.
const WITHOUT_SESSION: usize = 512;
/// Further conversations of an address that has all its sessions, which are told so.
const TOLD_WHY: usize = 8;
/// Records of which each session may hold a share, so that many sessions do not take more memory than a few; whose
/// share is smaller sends them back earlier. A record takes about 90 octets.
const MOST_RECORDS: usize = 1 << 18;
/// The least share of a session.
const LEAST_RECORDS: usize = 64;
/// Departures of recorded streams that all conversations together may tell; one takes 16 octets.
const MOST_DEPARTURES: usize = 1 << 20;
/// Sessions at a time in which this end sends.
const MOST_SENDERS: usize = 64;
/// Octets that may wait to be written to one connection: two full sets of records.
const LONGEST_OUTBOX: usize = 8 << 20;
/// Longest time between two looks at deadlines, and at records while sessions are open.
const LOOK: Duration = Duration::from_millis(250);
const RECORD_LOOK: Duration = Duration::from_millis(50);

/// The thread's connections.
pub(super) struct Links {
    pub(super) commands: SyncSender<Order>,
    pub(super) events: Receiver<Note>,
    /// For the threads that send.
    pub(super) notes: SyncSender<Note>,
    pub(super) waker: Arc<Waker>,
    pub(super) reflecting_waker: Arc<Waker>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) totals: Arc<Mutex<Totals>>,
    /// What this end may send of its own.
    pub(super) send_limit: Arc<Mutex<SendLimit>>,
}

struct Connection {
    /// `None` while a session waits for another connection.
    stream: Option<Box<dyn ByteStream>>,
    peer: IpAddr,
    /// The address of this host that it was begun with.
    home: Option<IpAddr>,
    server: Server,
    outbox: Vec<u8>,
    session: Option<Granted>,
    /// The interface by which this end reaches the sender, as far as is known.
    interface: Option<String>,
    /// The least that the way was known to take when probes or replies had been refused for their length.
    refused_over: Option<u32>,
    /// What its session's new connection brought, until the address is proved.
    moved: Option<Moved>,
    closing: bool,
}

impl Connection {
    /// The number of its session.
    fn number(&self) -> Option<u32> {
        self.session.as_ref().map(|session| session.number)
    }
}

/// A session that was granted.
struct Granted {
    number: u32,
    /// What this end is to send, and as whose probes.
    stream: Option<(FarStream, compact::Session)>,
    /// How, until it begins.
    path: Option<Box<Path>>,
    sender: Option<FarSender>,
}

/// The thread that holds the control conversations.
pub(super) struct Controlling {
    listeners: Vec<TcpListener>,
    limits: Limits,
    welcome: Welcome,
    key: Option<Arc<Key>>,
    most_sessions: usize,
    /// Who is answered; all, if there are none.
    allow: Vec<Prefix>,
    threads: ThreadOptions,
    links: Links,
    connections: Vec<Connection>,
    by_session: HashMap<u32, usize>,
    next_session: u32,
    keepers: &'static Keepers,
    occurrences: Occurrences,
}

impl Controlling {
    pub(super) fn new(
        listeners: Vec<TcpListener>,
        limits: Limits,
        test_port: u16,
        options: &RespondOptions,
        links: Links,
        occurrences: Occurrences,
    ) -> Self {
        let welcome = Welcome {
            version: VERSION,
            software: SOFTWARE.into(),
            clock: clock_identity(),
            test_port,
            kernel_stamps: options.kernel_stamps,
            clock_sync: None,
            routers_unheard: None,
            features: FEATURES
                .into_iter()
                .chain(options.card_stamps.then_some(HAS_CARD))
                .map(str::to_owned)
                .collect(),
        };
        Self {
            listeners,
            limits,
            welcome,
            key: options.key.clone(),
            most_sessions: options.sessions.max(1),
            allow: options.allow.clone(),
            threads: options.threads,
            links,
            connections: Vec::new(),
            by_session: HashMap::new(),
            next_session: 0,
            keepers: clock_keepers(),
            occurrences,
        }
    }

    pub(super) fn run(mut self) {
        while !self.links.stop.load(Ordering::Acquire) {
            let ready = self.wait();
            let (listeners, connections) = ready.split_at(self.listeners.len().min(ready.len()));
            for (index, _) in connections.iter().enumerate().filter(|(_, ready)| **ready) {
                self.converse(index);
            }
            self.tell_occurrences(false);
            self.take_notes();
            self.keep_time();
            self.sweep();
            for (index, _) in listeners.iter().enumerate().filter(|(_, ready)| **ready) {
                self.accept(index);
            }
        }
    }

    fn wait(&self) -> Vec<bool> {
        let listeners = self.listeners.iter().map(|one| Waited { descriptor: one.as_fd(), writing: false });
        let connections = self.connections.iter().filter_map(|one| {
            let descriptor = one.stream.as_ref()?.descriptor();
            Some(Waited { descriptor, writing: !one.outbox.is_empty() })
        });
        let waited: Vec<Waited<'_>> = listeners.chain(connections).collect();
        let longest = if self.by_session.is_empty() { LOOK } else { RECORD_LOOK };
        let ready = wait_many(&waited, &self.links.waker, Some(longest)).unwrap_or_default();
        let (listeners, rest) = ready.split_at(self.listeners.len().min(ready.len()));
        // What has no connection at present is never ready.
        let mut rest = rest.iter().copied();
        let connections =
            self.connections.iter().map(|one| one.stream.as_ref().and_then(|_| rest.next()).unwrap_or(false));
        listeners.iter().copied().chain(connections).collect()
    }

    fn accept(&mut self, index: usize) {
        while let Ok((stream, address)) = self.listeners[index].accept() {
            let peer = address.ip().to_canonical();
            let from_one = self.connections.iter().filter(|one| one.peer == peer).count();
            let for_one = (self.most_sessions / 4).max(1);
            if self.connections.len() >= self.most_sessions + WITHOUT_SESSION
                || from_one >= for_one + TOLD_WHY
                || stream.set_patience(None).is_err()
            {
                self.links.totals.lock().unwrap_or_else(PoisonError::into_inner).refused_sessions.unheard +=
                    1;
                continue;
            }
            // Small frames go at once; a failure only makes them slower.
            let _ = stream.set_nodelay(true);
            let home = stream.local_addr().ok().map(|address| address.ip().to_canonical());
            let token = random();
            let mut welcome = self.welcome.clone();
            welcome.clock = clock_identity();
            welcome.clock_sync = Some(clock_sync(self.keepers));
            welcome.routers_unheard = routers_unheard().filter(|_| peer.to_canonical().is_ipv4());
            let share = (MOST_RECORDS / (self.connections.len() + 1)).max(LEAST_RECORDS);
            let limits = Limits { buffered_records: self.limits.buffered_records.min(share), ..self.limits };
            let mut server =
                Server::new(limits, welcome, token, clock::monotonic_now()).with_one_way(random());
            server = server.with_resumption(random());
            if !self.allow.is_empty() && !self.allow.iter().any(|prefix| prefix.contains_in_either_form(peer))
            {
                server = server.shut();
            }
            if from_one >= for_one {
                server = server.full();
            }
            if let Some(key) = &self.key {
                server = server.locked(Arc::clone(key), [random(), random()]);
            }
            self.connections.push(Connection {
                stream: Some(Box::new(stream)),
                peer,
                home,
                server,
                outbox: Vec::new(),
                session: None,
                interface: None,
                refused_over: None,
                moved: None,
                closing: false,
            });
        }
    }

    fn converse(&mut self, index: usize) {
        self.write_out(index);
        let mut buffer = [0; 16 * 1024];
        // A peer that writes without pause waits its turn.
        for _ in 0..4 {
            let connection = &mut self.connections[index];
            if connection.closing {
                return;
            }
            let Some(stream) = &mut connection.stream else { return };
            match stream.read(&mut buffer) {
                Ok(0) => {
                    connection.closing = true;
                    connection.outbox.clear();
                    return;
                }
                Ok(count) => {
                    let busy = self.by_session.len() >= self.most_sessions;
                    let now = clock::monotonic_now();
                    let others = self.others(self.connections[index].peer, index);
                    let departures = self.room_for_departures();
                    self.connections[index].server.allow(others, departures);
                    let actions = self.connections[index].server.on_bytes(&buffer[..count], busy, now);
                    if self.connections[index].server.has_refused_proof() && !actions.is_empty() {
                        self.links.totals.lock().unwrap_or_else(PoisonError::into_inner).refused_proofs += 1;
                    }
                    self.carry_out(index, actions);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.lose(index),
            }
        }
    }

    /// What other sessions than that of connection `index` have of what one address may have, which is `peer`: whoever shares its
    /// bucket may send no more than it holds in all sessions together, and to one host this end sends no more either.
    fn others(&self, peer: IpAddr, index: usize) -> Others {
        let now = clock::monotonic_now();
        let (mut others, mut senders) = (Others::default(), 0);
        for (_, one) in self.connections.iter().enumerate().filter(|(other, _)| *other != index) {
            let (coming, own) = (one.server.coming_rate(now), one.server.own_rate());
            senders += usize::from(own > 0);
            if one.peer == peer {
                others.own = others.own.saturating_add(own);
            }
            if share_a_bucket(one.peer, peer) {
                others.coming = others.coming.saturating_add(coming);
            }
        }
        Others { all_send: senders >= MOST_SENDERS, ..others }
    }

    /// Departures of recorded streams that may still be told, of all conversations together.
    fn room_for_departures(&self) -> usize {
        let held: usize = self.connections.iter().map(|one| one.server.told_departures()).sum();
        self.limits.told_departures.min(MOST_DEPARTURES.saturating_sub(held))
    }

    fn carry_out(&mut self, index: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(message) => {
                    if let Message::Refused(refused) = &message {
                        self.count_refusal(refused.code);
                    }
                    let connection = &mut self.connections[index];
                    if connection.outbox.len() > LONGEST_OUTBOX {
                        // It does not read what it asked for.
                        self.lose(index);
                    } else if connection.stream.is_some() {
                        message.encode(&mut connection.outbox);
                    }
                }
                Action::Repeat(frames) => self.connections[index].outbox.extend_from_slice(&frames),
                Action::Resume(resume) => self.resume(index, &resume),
                Action::Open(session) => self.open(index, session),
                Action::Start => self.start_sending(index),
                Action::Halt => {
                    if let Some(sender) = self.sender(index) {
                        sender.halt();
                    }
                }
                Action::Finish => match (self.sender(index), &self.connections[index].session) {
                    (Some(sender), _) => sender.finish(),
                    (None, Some(session)) => self.order(Order::Flush { session: session.number }),
                    (None, None) => {}
                },
                Action::Close => self.connections[index].closing = true,
            }
        }
        self.write_out(index);
    }

    fn count_refusal(&self, code: RefusalCode) {
        let mut totals = self.links.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = &mut totals.refused_sessions;
        *match code {
            RefusalCode::Busy => &mut refused.busy,
            RefusalCode::Rate => &mut refused.rate,
            RefusalCode::Length => &mut refused.length,
            RefusalCode::Size => &mut refused.size,
            RefusalCode::Invalid => &mut refused.invalid,
            RefusalCode::Session => &mut refused.gone,
            RefusalCode::Address => &mut refused.not_allowed,
        } += 1;
    }

    fn count_fruitless(&self, conversations: &[Fruitless]) {
        let mut totals = self.links.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = &mut totals.refused_sessions;
        for conversation in conversations {
            *match conversation {
                Fruitless::NotUnderstood => &mut refused.not_understood,
                Fruitless::NothingAsked => &mut refused.nothing_asked,
            } += 1;
        }
    }

    fn sender(&self, index: usize) -> Option<&FarSender> {
        self.connections[index].session.as_ref()?.sender.as_ref()
    }

    fn open(&mut self, index: usize, session: Session) {
        let number = self.next_session;
        self.next_session = self.next_session.wrapping_add(1);
        let key = compact::Key::new(possession::probe_key(self.key.as_deref(), session.key));
        let probes = |heading| compact::Session { number: session.ssid, key, heading };
        let request = session.request;
        let sends = request.stream.as_ref().map(|stream| {
            Box::new(SocketOptions {
                dscp: Dscp::new(stream.dscp).unwrap_or_default(),
                ttl: Some(stream.ttl),
                kernel_stamps: self.welcome.kernel_stamps,
                card_stamps: self.welcome.has(HAS_CARD),
                dont_fragment: true,
                receive_buffer: SocketOptions::buffer_for(request.rate()),
                path_errors: true,
                ..SocketOptions::default()
            })
        });
        let comes = request.direction == Way::Forward;
        // A round trip's probes come, too.
        let rate = if request.stream.is_some() { 0 } else { request.rate() };
        let peer = self.connections[index].peer;
        self.connections[index].session = Some(Granted {
            number,
            stream: request.stream.map(|stream| (stream, probes(Heading::Reverse))),
            path: None,
            sender: None,
        });
        self.by_session.insert(number, index);
        self.links.totals.lock().unwrap_or_else(PoisonError::into_inner).sessions += 1;
        self.order(Order::Open {
            session: number,
            token: session.token,
            ssid: session.ssid,
            peer,
            probes: comes.then(|| (probes(Heading::Forward), request.count)),
            sends,
            rate,
        });
    }

    fn start_sending(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let Some(session) = &mut connection.session else { return };
        let (Some((stream, probes)), Some(path)) = (&session.stream, session.path.take()) else { return };
        let listener = Listener {
            session: session.number,
            notes: self.links.notes.clone(),
            waker: Arc::clone(&self.links.waker),
        };
        let limit = Arc::clone(&self.links.send_limit);
        match FarSender::start(stream, *probes, *path, listener, limit, self.threads) {
            Ok(sender) => session.sender = Some(sender),
            // The other end sees that nobody is there for it.
            Err(_) => connection.closing = true,
        }
    }

    /// The session's address is proved, and may be a new one.
    fn associated(
        &mut self,
        index: usize,
        address: SocketAddr,
        moves: &[(SocketAddr, [Duration; 2])],
        path: Option<Box<Path>>,
    ) -> Vec<Action> {
        let connection = &mut self.connections[index];
        // While there is no route, what is known of it is the best that there is.
        if let Some(interface) = host_info::route_to(address).ok().and_then(|route| route.interface) {
            connection.interface = Some(interface);
        }
        if let (Some(session), Some(path)) = (&mut connection.session, path) {
            match &session.sender {
                Some(sender) => sender.redirect(*path),
                None => session.path = Some(path),
            }
        }
        let mut actions = connection.server.on_associated_anew(address, moves, clock::monotonic_now());
        if let Some(moved) = connection.moved.take() {
            actions.extend(self.tell_moved(index, &moved, address));
        }
        actions
    }

    fn order(&self, order: Order) {
        // The reflecting thread takes orders at every turn; waiting for it here holds up no packet.
        if self.links.commands.send(order).is_ok() {
            self.links.reflecting_waker.wake();
        }
    }

    fn write_out(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        while !connection.outbox.is_empty() {
            let Some(stream) = &mut connection.stream else { return connection.outbox.clear() };
            match stream.write(&connection.outbox) {
                Ok(count) if count > 0 => drop(connection.outbox.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => return self.lose(index),
            }
        }
    }

    /// Tells all senders what has happened to this host, as far as it concerns them. For who `ends` all is looked at once more.
    fn tell_occurrences(&mut self, ends: bool) {
        let used = || self.connections.iter().filter_map(|one| one.interface.as_deref());
        let mut all = self.occurrences.look(used());
        all.extend(self.occurrences.look_at_queues(used(), ends));
        for Occurrence { interface, address, route, event } in all {
            for index in 0..self.connections.len() {
                let connection = &mut self.connections[index];
                if (interface.is_some() && interface != connection.interface)
                    || (address.is_some() && address != connection.home)
                    || route.is_some_and(|(to, prefix)| !covers(to, prefix, connection.peer))
                {
                    continue;
                }
                let actions = connection.server.on_event(event.clone());
                if !actions.is_empty() {
                    self.carry_out(index, actions);
                }
            }
        }
    }

    /// Tells all who send to here what found a full socket: whose it was is not known.
    fn tell_overflow(&mut self, overflow: &Overflow) {
        let event = self.occurrences.overflowed(overflow);
        for index in 0..self.connections.len() {
            let actions = self.connections[index].server.on_event(event.clone());
            if !actions.is_empty() {
                self.carry_out(index, actions);
            }
        }
    }

    /// Tells of probes or replies that this host refused to send.
    fn refused(&mut self, index: usize, refused: Refused) -> Vec<Action> {
        let Refused { count, errno, since, until } = refused;
        let connection = &self.connections[index];
        let is_own = connection.session.as_ref().is_some_and(|session| session.stream.is_some());
        let [one, several] = if is_own { ["probe", "probes"] } else { ["reply", "replies"] };
        let those = counted_as(count, one, several);
        let mut mtu = None;
        let detail = if errno == STOOD_STILL {
            format!("the responder did not send {those}: {}", too_late("the responder", count, " there"))
        } else if errno == OVER_THE_BITS {
            format!(
                "the responder did not send {those}: open to all, it sends at most {} Mbit/s to one network (/24 or /56) and {} \
                 Mbit/s in total; start it with --key-file or --allow, or ask for fewer or smaller packets",
                OPEN_NETWORK_BITS / 1_000_000,
                OPEN_TOTAL_BITS / 1_000_000
            )
        } else if errno == OVER_THE_RATE && is_own {
            format!(
                "the responder did not send {those}: it sends at most {} packets/s to one network (/24 or /56), with bursts of a \
                 second's worth (--rate there)",
                self.limits.own_packets_per_second
            )
        } else if errno == OVER_THE_RATE {
            format!(
                "the responder did not send {those}: more came from {} than the {} a second that it answers one address \
                 (--rate there)",
                connection.peer, self.limits.packets_per_second
            )
        } else if errno == HostError::TOO_LONG {
            let peer = connection.peer;
            let takes_now = host_info::route_to(SocketAddr::new(peer, 0)).ok().map(|route| route.mtu);
            // By the time of this look the way may take more again.
            mtu = [takes_now, connection.refused_over].into_iter().flatten().min();
            let takes = shorter_by(peer, mtu, host_info::too_long_heard().ok());
            format!("the responder's host did not send {those}: too long for the way to {peer}{takes}")
        } else {
            let why = io::Error::from_raw_os_error(errno);
            let hint = match why.kind() {
                io::ErrorKind::ConnectionRefused => {
                    "; it was told that nobody takes earlier ones, as a NAT tells that has forgotten its mapping"
                }
                _ if errno == HostError::NO_ROOM => {
                    "; its interface did not take them: its queue is full, it has no carrier, or the other end of a virtual link \
                     refuses them, as for the length"
                }
                _ => "",
            };
            format!("the responder's host did not send {those}: {why}{hint}")
        };
        let event = self.occurrences.note_between(EventKind::NotSent, detail, [since, until]);
        self.connections[index].refused_over = mtu.or(self.connections[index].refused_over);
        self.connections[index].server.on_event(Event { mtu, ..event })
    }

    fn take_notes(&mut self) {
        // Bounded, so that a flood of records does not keep others from being heard.
        for _ in 0..65_536 {
            let Ok(note) = self.links.events.try_recv() else { return };
            let session = match note {
                Note::Overflowed(overflow) => {
                    self.tell_overflow(&overflow);
                    continue;
                }
                Note::Associated { session, .. }
                | Note::Record { session, .. }
                | Note::Departure { session, .. }
                | Note::Card { session, .. }
                | Note::Departed { session, .. }
                | Note::Refused { session, .. }
                | Note::Flushed { session, .. } => session,
            };
            let Some(index) = self.by_session.get(&session).copied() else { continue };
            let server = &mut self.connections[index].server;
            let actions = match note {
                Note::Overflowed(_) => Vec::new(),
                Note::Associated { address, moves, others, path, .. } => {
                    let mut actions = self.associated(index, address, &moves, path);
                    actions.extend(self.tell_others(index, &others));
                    actions
                }
                Note::Record { record, first, .. } => {
                    if first {
                        server.on_first_arrival();
                    }
                    server.on_record(record)
                }
                Note::Departure { record, .. } => server.on_departure(record),
                Note::Card { card, .. } => server.on_card(card),
                Note::Departed { count, .. } => server.on_departed(count),
                Note::Refused { refused, .. } => self.refused(index, refused),
                Note::Flushed { lost, kernel_drops, mistagged, .. } => {
                    server.on_losses(lost, kernel_drops);
                    server.on_mistagged(mistagged);
                    // What has happened up to now is told before the last word.
                    self.tell_occurrences(true);
                    self.connections[index].server.finish()
                }
            };
            if !actions.is_empty() {
                self.carry_out(index, actions);
            }
        }
    }

    fn keep_time(&mut self) {
        let now = clock::monotonic_now();
        for index in 0..self.connections.len() {
            let has_finished = self.connections[index].server.has_finished();
            let actions = self.connections[index].server.on_time(now);
            if !actions.is_empty() {
                // A last word that is still on its way is read by a sender that has been slow.
                if !has_finished {
                    self.connections[index].outbox.clear();
                }
                self.carry_out(index, actions);
            }
        }
    }

    /// Ends the conversations that are over and whose last words are written.
    fn sweep(&mut self) {
        let over = |connection: &Connection| connection.closing && connection.outbox.is_empty();
        if !self.connections.iter().any(over) {
            return;
        }
        let fruitless = self.connections.iter().filter(|one| over(one));
        let fruitless: Vec<Fruitless> = fruitless.filter_map(|one| one.server.fruitless()).collect();
        self.count_fruitless(&fruitless);
        let ended: Vec<u32> =
            self.connections.iter().filter(|one| over(one)).filter_map(Connection::number).collect();
        self.connections.retain(|connection| !over(connection));
        for session in ended {
            self.order(Order::Close { session });
        }
        self.by_session = self
            .connections
            .iter()
            .enumerate()
            .filter_map(|(index, one)| Some((one.number()?, index)))
            .collect();
    }
}
