//! The control thread: accepts control connections and runs the control protocol of each.

mod admission;
mod connection;
mod connection_eviction;
mod damage;
mod host_events;
mod outbox;
mod pairing;
pub(super) mod quotas;
mod resumption;
mod routes;
mod table;
mod thread_events;

use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use romer_endpoint::EndpointError;
use romer_endpoint::circumstances::clock_identity;
use romer_endpoint::clock_sync;
use romer_endpoint::responder_host_monitor::ResponderHostMonitor;
use romer_endpoint::tls::ResponderChannel;
use romer_host::clock;
use romer_host::poller::{Interest, Poller};
use romer_host::socket::{SocketOptions, Waker};
use romer_record::SOFTWARE;
use romer_record::document::ProbeDirection;
use romer_session::control::{
    AbortReason, Action, ComplaintCode, FEATURES, HAS_CARD, Limits, Message, Others, RefusalCode,
    ServerHello, Session, possession,
};
use romer_session::network::ClientNetwork;
use romer_session::reflector::Prefix;
use romer_session::send_limit::SendLimit;
use romer_units::{Direction, Dscp, Duration, Monotonic, Timestamp};
use romer_wire::oneway_probe;
use romer_wire::pattern::Carrier;

use self::connection::{Connection, Granted, SessionDamage, report_checksum_errors};
use self::quotas::{Allocation, NETWORKS, Quotas};
use self::table::Slots;
use super::current_key::CurrentKey;
use super::in_kernel::InKernel;
use super::messages::{Command, ThreadEvent};
use super::options::RespondOptions;
use super::send_thread::{self, Listener, Pacing, ProbeSender};
use super::totals::Totals;
use super::watchdog::{Turn, Watchdog};

/// What the poller calls the first listener.
const LISTENERS: u64 = 1 << 32;
/// Connections that one turn serves, so that it stays short however many have something to say; the others are served in the next.
const SERVED: usize = 64;
/// Octets that are read of one connection in a turn, and of one that may tell departures of a recorded stream.
const READ: usize = 2 * 1024;
const READ_REQUEST: usize = 8 * 1024;
/// Records of which each session has a share, so that many sessions do not take more memory than a few; a session whose
/// share is smaller sends them back earlier. A record takes about 90 octets, and up to 512 until it has been heard.
const MOST_RECORDS: usize = 1 << 18;
/// The share of the first session, and the least of any.
const BUFFERED: usize = 1 << 14;
const LEAST_RECORDS: usize = 64;
/// Departures of recorded streams that all conversations together may tell; one takes 16 octets.
const MOST_DEPARTURES: usize = 1 << 20;
/// Sessions at a time in which this end sends.
const MOST_SENDERS: usize = 64;
/// Octets that may wait to be written to one connection: two full sets of records.
const LONGEST_OUTBOX: usize = 8 << 20;
/// The same before a session is granted.
const LONGEST_ANSWER: usize = 64 * 1024;
/// Octets of memory that all sessions may take together for what waits to be written, for what has come and is not read, and for
/// what is kept for a resumption; and the same of all connections without a session.
const MOST_BUFFERED: usize = 20 << 20;
const MOST_UNASKED: usize = 8 << 20;
/// Routes that are looked up between two looks at deadlines. Each takes as long as some hundred notes.
const ROUTES: usize = 8;
/// Longest time between two looks at deadlines, and at records while sessions are open.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const RECORD_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The thread's connections.
pub(super) struct Links {
    pub(super) commands: SyncSender<Command>,
    pub(super) events: Receiver<ThreadEvent>,
    /// For the threads that send.
    pub(super) notes: SyncSender<ThreadEvent>,
    pub(super) waker: Arc<Waker>,
    pub(super) reflecting_waker: Arc<Waker>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) totals: Arc<Mutex<Totals>>,
    /// What this end may send of its own.
    pub(super) send_limit: Arc<Mutex<SendLimit>>,
    /// How long this thread has been at its work.
    pub(super) turn: Arc<Turn>,
    /// What watches the threads that send.
    pub(super) watchdog: Arc<Watchdog>,
    /// What leaves the packets of sessions to the reflecting thread.
    pub(super) in_kernel: Option<Arc<InKernel>>,
    /// What senders have to prove that they have it.
    pub(super) key: Arc<CurrentKey>,
    /// What protects the control connections.
    pub(super) channel: Arc<ResponderChannel>,
}

/// The control thread.
pub(super) struct ControlThread {
    listeners: Vec<TcpListener>,
    limits: Limits,
    welcome: ServerHello,
    most_sessions: usize,
    /// Who is answered; all, if there are none.
    allow: Vec<Prefix>,
    pacing: Pacing,
    links: Links,
    poller: Poller,
    connections: Slots<Connection>,
    by_session: HashMap<u32, usize>,
    shares: Quotas,
    /// The same without what idle sessions hold, which is granted to others.
    in_use: Quotas,
    /// Connections that may be over.
    ended: Vec<usize>,
    /// When deadlines are looked at next.
    next_look: Timestamp<Monotonic>,
    /// When connections are accepted again, while descriptors are used up.
    accepts_from: Option<Timestamp<Monotonic>>,
    /// TLVs answered at the latest look at deadlines.
    tlvs_seen: u64,
    /// A session is reached by an interface that it was not reached by before.
    new_interface: bool,
    /// Routes that may be looked up until the next look at deadlines, and the connection with which that look continues.
    routes_left: usize,
    next_route: usize,
    next_session: u32,
    occurrences: ResponderHostMonitor,
}

impl ControlThread {
    pub(super) fn new(
        listeners: Vec<TcpListener>,
        limits: Limits,
        test_port: u16,
        options: &RespondOptions,
        links: Links,
        occurrences: ResponderHostMonitor,
    ) -> Result<Self, EndpointError> {
        let poller = Poller::new(SERVED, &links.waker)
            .and_then(|poller| {
                (LISTENERS..)
                    .zip(&listeners)
                    .try_for_each(|(token, listener)| poller.add(listener.as_fd(), token, Interest::Read))?;
                Ok(poller)
            })
            .map_err(|error| {
                EndpointError::host(
                    "wait for connections",
                    "responder",
                    "raise the limit of open files",
                    error,
                )
            })?;
        // Their first answers are waited for here, and not by the first greeting.
        clock_sync::sync_daemons();
        let welcome = ServerHello {
            kernel_stamps: options.kernel_stamps,
            features: FEATURES
                .into_iter()
                .chain(options.card_stamps.then_some(HAS_CARD))
                .map(str::to_owned)
                .collect(),
            ..ServerHello::new(SOFTWARE, clock_identity(), test_port)
        };
        Ok(Self {
            listeners,
            limits,
            welcome,
            most_sessions: options.sessions.max(1),
            allow: options.allow.clone(),
            pacing: Pacing::new(options.threads, options.is_open()),
            links,
            poller,
            connections: Slots::new(),
            by_session: HashMap::new(),
            shares: Quotas::default(),
            in_use: Quotas::default(),
            ended: Vec::new(),
            next_look: clock::monotonic_now(),
            accepts_from: None,
            tlvs_seen: 0,
            new_interface: false,
            routes_left: ROUTES,
            next_route: 0,
            next_session: 0,
            occurrences,
        })
    }

    pub(super) fn run(mut self) {
        let mut ready = Vec::new();
        let mut has_notes = false;
        while !self.links.stop.load(Ordering::Acquire) {
            self.links.turn.end();
            let until_look = (self.next_look - clock::monotonic_now()).max(Duration::ZERO);
            let longest = if has_notes { Duration::ZERO } else { until_look };
            // A refusal leaves the deadlines to be looked at.
            let _ = self.poller.wait(&self.links.waker, longest, &mut ready);
            self.links.turn.begin(clock::monotonic_now());
            for token in &ready {
                if let Some(index) = self.connection_of(*token) {
                    self.serve(index, |thread| thread.converse(index));
                }
            }
            self.tell_occurrences(false);
            has_notes = self.take_notes();
            self.keep_time();
            self.sweep();
            for token in &ready {
                if let Some(index) = token.checked_sub(LISTENERS) {
                    self.accept(usize::try_from(index).unwrap_or(usize::MAX));
                }
            }
        }
    }

    /// Does `work` for connection `index`. A panic in it is a fault of romer's, which the hook of panics reports: that connection is
    /// closed and its session ended, and all others go on.
    fn serve(&mut self, index: usize, work: impl FnOnce(&mut Self)) {
        // What a panic leaves half done is of that connection, which is removed. What is counted for all is counted anew from each.
        if catch_unwind(AssertUnwindSafe(|| work(self))).is_err() {
            self.fail(index);
        }
    }

    /// Ends the conversation in which this responder has failed.
    fn fail(&mut self, index: usize) {
        self.totals().failed_conversations += 1;
        // Its state may be half changed, so that it is asked nothing more.
        if let Some(connection) = self.connections.remove(index) {
            self.discharge(&connection);
        }
    }

    /// The connection that the poller means by `token`.
    fn connection_of(&self, token: u64) -> Option<usize> {
        let index = usize::try_from(token).ok().filter(|_| token < LISTENERS)?;
        self.connections.get(index).map(|_| index)
    }

    /// Writes what waits to be written. If nothing is left, reads once: a peer that writes without pause waits its turn, and one
    /// that does not read what it is answered is not read from.
    fn converse(&mut self, index: usize) {
        self.write_out(index);
        self.account(index, clock::monotonic_now());
        let mut buffer = [0; READ_REQUEST];
        let connection = &mut self.connections[index];
        if connection.is_closing() || !connection.outbox.is_empty() {
            return;
        }
        if connection.server.has_more() {
            return self.take_bytes(index, &[]);
        }
        let Some(stream) = &mut connection.stream else { return };
        let most = if connection.server.awaits_request() { READ_REQUEST } else { READ };
        match stream.read(&mut buffer[..most]) {
            Ok(0) => {
                connection.outbox.clear();
                self.close(index);
            }
            Ok(count) => {
                self.check_channel(index);
                self.take_bytes(index, &buffer[..count]);
            }
            // A handshake may have something to write.
            Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => {
                self.rearm(index);
            }
            Err(_) => self.lose(index),
        }
    }

    fn take_bytes(&mut self, index: usize, bytes: &[u8]) {
        let now = clock::monotonic_now();
        let may_ask = !self.connections[index].server.has_session();
        let busy = self.allow(index);
        let actions = self.connections[index].server.on_bytes(bytes, busy, now);
        if self.connections[index].server.has_refused_proof() && !actions.is_empty() {
            self.totals().refused_proofs += 1;
        }
        self.carry_out(index, actions);
        self.account(index, now);
        if may_ask {
            self.make_room(index, now);
        }
    }

    /// Tells a conversation that may ask for a session what it may have. Gives whether there is no place for it.
    fn allow(&mut self, index: usize) -> bool {
        if self.connections[index].server.has_session() {
            return false;
        }
        let network = ClientNetwork::from_address(self.connections[index].peer);
        let others = self.others(network, index);
        let Connection { holding, in_use, .. } = self.connections[index];
        let [all, own] = [self.shares.all(), self.shares.network(network)].map(|all| all.minus(holding));
        // Memory of idle sessions is used until they are ended.
        let records = buffered(self.limits.buffered_records, all.records, own.records);
        let [all, own] = [self.in_use.all(), self.in_use.network(network)].map(|all| all.minus(in_use));
        let [left, own_left] = [(MOST_DEPARTURES, all), (MOST_DEPARTURES / NETWORKS, own)]
            .map(|(most, held)| most.saturating_sub(held.departures));
        let departures = self.limits.told_departures.min(left).min(own_left);
        self.connections[index].server.allow(others, departures, records);
        all.sessions >= self.most_sessions
    }

    /// What other sessions than that of connection `index` use of what `network` and all may have.
    fn others(&self, network: ClientNetwork, index: usize) -> Others {
        let held = self.connections[index].in_use;
        let all = self.in_use.all().minus(held);
        let held = if ClientNetwork::from_address(self.connections[index].peer) == network {
            held
        } else {
            Allocation::default()
        };
        let own = self.in_use.network(network).minus(held);
        Others {
            coming: own.coming,
            own: own.own,
            own_bits: own.own_bits,
            all_own_bits: all.own_bits,
            all_coming: all.coming,
            all_own: all.own,
            all_sessions: own.sessions >= self.share_of_sessions(),
            network_sends: own.senders >= MOST_SENDERS / NETWORKS,
            all_send: all.senders >= MOST_SENDERS || self.pacing.alive() >= MOST_SENDERS,
        }
    }

    /// Sessions that one network may have.
    fn share_of_sessions(&self) -> usize {
        (self.most_sessions / NETWORKS).max(1)
    }

    /// Counts what connection `index` has now.
    fn account(&mut self, index: usize, now: Timestamp<Monotonic>) {
        let Some(connection) = self.connections.get(index) else { return };
        let holding = Allocation::new(&connection.server, connection.buffered(), connection.is_closing());
        let is_idle = connection.is_idle(now);
        self.hold(index, holding, if is_idle { Allocation::default() } else { holding });
    }

    /// Connection `index` has `holding` now, and uses `in_use` of it.
    fn hold(&mut self, index: usize, holding: Allocation, in_use: Allocation) {
        let connection = &mut self.connections[index];
        let counted = connection.counts_for();
        let before = std::mem::replace(&mut connection.counted, counted);
        for (shares, held, now) in [
            (&mut self.shares, &mut connection.holding, holding),
            (&mut self.in_use, &mut connection.in_use, in_use),
        ] {
            if *held != now || before != counted {
                shares.replace(before, std::mem::replace(held, now), Allocation::default());
                shares.replace(counted, Allocation::default(), now);
            }
        }
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.links.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carry_out(&mut self, index: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(message) => {
                    match &message {
                        Message::Refused(refused) => self.count_refusal(refused.code),
                        Message::Complaint(complaint)
                            if [ComplaintCode::Unprotected, ComplaintCode::NotPaired]
                                .contains(&complaint.code) =>
                        {
                            self.totals().refused_sessions.not_allowed += 1;
                        }
                        _ => {}
                    }
                    let connection = &mut self.connections[index];
                    let has_session = connection.server.has_session();
                    let most = if has_session { LONGEST_OUTBOX } else { LONGEST_ANSWER };
                    if connection.outbox.rest().len() > most {
                        // It does not read what it asked for.
                        self.lose(index);
                    } else if connection.stream.is_some() {
                        connection.outbox.push(&message);
                    }
                }
                Action::Repeat(frames) => self.connections[index].outbox.extend(&frames),
                Action::Resume(resume) => self.resume(index, &resume),
                Action::Pair(step) => self.pair(index, &step),
                Action::Authenticate => self.authenticate(index),
                Action::Open(session) => self.open(index, session),
                Action::Start => self.start_sending(index),
                Action::CountDamage(tag) => self.count_damage(index, tag),
                Action::Halt => {
                    if let Some(sender) = self.sender(index) {
                        sender.halt();
                    }
                }
                Action::Finish => match (self.sender(index), &self.connections[index].session) {
                    (Some(sender), _) => sender.finish(),
                    (None, Some(session)) => self.order(Command::Flush { session: session.number }),
                    (None, None) => {}
                },
                Action::Close => self.close(index),
            }
        }
        self.write_out(index);
        self.account(index, clock::monotonic_now());
        self.relieve();
    }

    /// Ends the conversation once everything is written.
    fn close(&mut self, index: usize) {
        let now = clock::monotonic_now();
        let connection = &mut self.connections[index];
        connection.closing.get_or_insert(now);
        connection.server.forget_kept();
        self.ended.push(index);
        self.account(index, now);
    }

    /// Frees memory while too much is buffered for all, of the connection that takes most in the network that takes most: first what
    /// is kept for a resumption, then the connection, then the session.
    fn relieve(&mut self) {
        for (most, is_unasked) in [(MOST_UNASKED, true), (MOST_BUFFERED, false)] {
            let octets = |held: &Allocation| if is_unasked { held.unasked } else { held.buffered };
            while octets(&self.shares.all()) > most {
                let taking = self.connections.iter().filter(|(_, one)| octets(&one.holding) > 0);
                let largest = taking.max_by_key(|(_, one)| {
                    (
                        octets(&self.shares.network(ClientNetwork::from_address(one.peer))),
                        octets(&one.holding),
                    )
                });
                let Some((index, _)) = largest else { break };
                let connection = &mut self.connections[index];
                if connection.server.drop_kept() {
                    self.account(index, clock::monotonic_now());
                } else if connection.stream.is_some() {
                    let is_unheard = !connection.server.has_session();
                    self.totals().refused_sessions.overload += u64::from(is_unheard);
                    self.lose(index);
                } else {
                    self.close(index);
                }
            }
        }
    }

    fn count_refusal(&self, code: RefusalCode) {
        let mut totals = self.totals();
        let refused = &mut totals.refused_sessions;
        *match code {
            RefusalCode::Busy => &mut refused.busy,
            RefusalCode::Rate => &mut refused.rate,
            RefusalCode::Length => &mut refused.length,
            RefusalCode::Size => &mut refused.size,
            RefusalCode::Invalid => &mut refused.invalid,
            RefusalCode::Session => &mut refused.unknown_session,
            RefusalCode::Address => &mut refused.not_allowed,
        } += 1;
    }

    fn count_fruitless(&self, conversation: AbortReason) {
        let mut totals = self.totals();
        let refused = &mut totals.refused_sessions;
        *match conversation {
            AbortReason::InvalidMessage => &mut refused.invalid_message,
            AbortReason::NoRequest => &mut refused.no_request,
        } += 1;
    }

    fn sender(&self, index: usize) -> Option<&ProbeSender> {
        self.connections[index].session.as_ref()?.sender.as_ref()
    }

    fn open(&mut self, index: usize, session: Session) {
        report_checksum_errors(&mut self.connections[index].server);
        let number = self.next_session;
        self.next_session = self.next_session.wrapping_add(1);
        let key = oneway_probe::Key::new(possession::probe_key(
            self.connections[index].key.as_deref(),
            session.key,
        ));
        let probes = |direction| oneway_probe::Session { number: session.ssid, key, direction };
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
        let comes = request.direction == ProbeDirection::Forward;
        let carrier = match request.direction {
            ProbeDirection::Forward => Some(Carrier::OneWay),
            ProbeDirection::Reverse => None,
            ProbeDirection::RoundTrip | ProbeDirection::Both if self.connections[index].key.is_some() => {
                Some(Carrier::AuthenticatedStamp)
            }
            ProbeDirection::RoundTrip | ProbeDirection::Both => Some(Carrier::Stamp),
        };
        // A round trip's probes come, too.
        let rate = if request.stream.is_some() { 0 } else { request.rate() };
        let peer = self.connections[index].peer;
        self.connections[index].session = Some(Granted {
            number,
            stream: request.stream.map(|stream| (stream, (probes(Direction::Reverse), request.count))),
            path: None,
            sender: None,
            damage: SessionDamage::new(carrier),
        });
        self.by_session.insert(number, index);
        self.next_look = self.next_look.min(clock::monotonic_now() + RECORD_POLL_INTERVAL);
        self.totals().sessions += 1;
        self.order(Command::Open {
            session: number,
            token: session.token,
            ssid: session.ssid,
            peer,
            probes: comes.then(|| (probes(Direction::Forward), request.count)),
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
            turn: self.links.watchdog.watch(send_thread::SEND),
        };
        let limit = Arc::clone(&self.links.send_limit);
        let pattern = session.damage.pattern;
        match ProbeSender::start(stream, (*probes, pattern), *path, listener, limit, &self.pacing) {
            Ok(sender) => session.sender = Some(sender),
            // The other end sees that nobody is there for it.
            Err(_) => self.close(index),
        }
    }

    fn order(&self, order: Command) {
        match (&self.links.in_kernel, &order) {
            (Some(in_kernel), Command::Open { session, ssid, .. }) => in_kernel.open(*session, *ssid),
            (Some(in_kernel), Command::Close { session }) => in_kernel.close(*session),
            _ => {}
        }
        // The reflecting thread takes orders at every turn; waiting for it here holds up no packet.
        if self.links.commands.send(order).is_ok() {
            self.links.reflecting_waker.wake();
        }
    }

    fn write_out(&mut self, index: usize) {
        let now = clock::monotonic_now();
        let connection = &mut self.connections[index];
        while !connection.outbox.is_empty() {
            let Some(stream) = &mut connection.stream else {
                connection.outbox.clear();
                break;
            };
            match stream.write(connection.outbox.rest()) {
                Ok(count) if count > 0 => {
                    connection.outbox.advance(count);
                    connection.server.on_written(now);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(_) | Err(_) => return self.lose(index),
            }
        }
        if let Some(stream) = connection.stream.as_mut().filter(|stream| stream.has_unwritten()) {
            match stream.flush() {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return self.lose(index),
                _ => {}
            }
        }
        if connection.is_closing() && !connection.has_unwritten() {
            self.ended.push(index);
        }
        self.rearm(index);
    }

    /// Waits for what connection `index` needs next.
    fn rearm(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let Some(stream) = &connection.stream else { return };
        // What has come and is not answered waits until its turn comes, which it does once there is room for the answer.
        // The descriptor does not show what a protected connection has received and not given yet.
        let has_answers = connection.has_unwritten()
            || connection.server.has_more()
            || (stream.has_unread() && !connection.is_closing());
        let interest = match (!has_answers, connection.is_closing()) {
            (false, _) => Interest::Write,
            (true, false) => Interest::Read,
            (true, true) => Interest::Nothing,
        };
        if interest != connection.interest {
            // A descriptor that was added can be changed.
            let _ = self.poller.change(stream.descriptor(), token(index), interest);
            connection.interest = interest;
        }
    }

    /// Looks at the deadlines, now and then.
    fn keep_time(&mut self) {
        let now = clock::monotonic_now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + if self.by_session.is_empty() { POLL_INTERVAL } else { RECORD_POLL_INTERVAL };
        self.renew_clock_state();
        self.resume_accepting(now);
        self.look_up_routes(now);
        for index in 0..self.connections.end() {
            let Some(connection) = self.connections.get(index) else { continue };
            if connection.is_closing() {
                self.ended.push(index);
                continue;
            }
            self.serve(index, |thread| thread.keep_deadlines(index, now));
        }
    }

    /// Renews what the daemons of the clock answered if TLVs were answered meanwhile: they may state its source.
    fn renew_clock_state(&mut self) {
        let tlvs = self.totals().reflector.tlvs;
        if tlvs != std::mem::replace(&mut self.tlvs_seen, tlvs) {
            clock_sync::renew();
        }
    }

    /// Does what is due `now` in the conversation over connection `index`.
    fn keep_deadlines(&mut self, index: usize, now: Timestamp<Monotonic>) {
        let connection = &mut self.connections[index];
        let has_finished = connection.server.has_finished();
        let actions = connection.server.on_time(now);
        if !actions.is_empty() {
            // A last word that is still on its way is read by a sender that has been slow.
            if !has_finished {
                connection.outbox.clear();
            }
            self.carry_out(index, actions);
        }
        self.account(index, now);
    }

    /// Removes the conversations that are over and whose last words are written, or are not read.
    fn sweep(&mut self) {
        let now = clock::monotonic_now();
        for index in std::mem::take(&mut self.ended) {
            if self.connections.get(index).is_some_and(|connection| connection.is_over(now)) {
                self.remove(index);
            }
        }
    }

    /// Ends a conversation at once.
    fn remove(&mut self, index: usize) {
        let Some(connection) = self.connections.remove(index) else { return };
        if let Some(fruitless) = connection.server.fruitless() {
            self.count_fruitless(fruitless);
        }
        self.discharge(&connection);
    }

    /// Takes back what a connection had that is removed.
    fn discharge(&mut self, connection: &Connection) {
        self.shares.replace(connection.counted, connection.holding, Allocation::default());
        self.in_use.replace(connection.counted, connection.in_use, Allocation::default());
        if let Some(session) = connection.number() {
            self.by_session.remove(&session);
            self.order(Command::Close { session });
        }
    }
}

/// Records that a new session may buffer, where others have `all` and those of its network `own`: a part of what is left, so that
/// all together are bounded and none is left without.
fn buffered(most: usize, all: usize, own: usize) -> usize {
    let left = MOST_RECORDS.saturating_sub(all) / (MOST_RECORDS / BUFFERED);
    let own_left = (MOST_RECORDS / 2).saturating_sub(own) / (MOST_RECORDS / 2 / BUFFERED);
    most.min(left).min(own_left).max(LEAST_RECORDS)
}

/// What the poller calls connection `index`.
fn token(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
