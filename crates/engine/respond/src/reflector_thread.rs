//! The reflecting thread: receives test packets, replies to them and collects transmit time stamps.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

use romer_endpoint::ThreadOptions;
use romer_endpoint::card::{Card, Unplaced};
use romer_endpoint::circumstances::{clock_error, clock_information, random};
use romer_endpoint::overflow::Overflows;
use romer_endpoint::scheduling_watch::SchedulingWatch;
use romer_host::clock::{self, Realtime};
use romer_host::socket::{
    Datagram, MAX_WAITED, ReceiveBatch, SocketOptions, StampingSocket, TransmitEvents, Waker, wait_any,
};
use romer_host::thread::Role;
use romer_record::log::ResponderRecord;
use romer_session::association::{self, Token};
use romer_session::limit::Limiter;
use romer_session::reflector::{
    Incoming, Reflector, ReflectorAction, Refusal, Rules, SessionSlotKey, Written,
};
use romer_session::sender::ReceivedProbe;
use romer_units::{Duration, Monotonic, Responder, Timestamp};
use romer_wire::stamp::tlv::{FollowUp, TimestampMethod};
use romer_wire::stamp::{ErrorEstimate, Key, ReplyLength, authenticated_session_of, session_of};

use self::sequence::SequenceWindow;
use self::session_lookup::Owner;
use self::unvalidated_addresses::UnvalidatedAddresses;
use super::current_key::CurrentKey;
use super::event_queue::EventQueue;
use super::in_kernel::InKernel;
use super::in_packet::InPacket;
use super::messages::{Command, ThreadEvent};
use super::one_way_receiver::{MatchedProbe, OneWaySessions};
use super::options::RespondOptions;
use super::send_errors::SendErrors;
use super::stats_request::StatsRequest;
use super::totals::{OneWayTotals, Totals};
use super::tx_stamp_timeout::StampTimeout;
use super::watchdog::Turn;

/// Sets of eight buckets for the rates of prefixes: 8,192 prefixes at full rate at once, in 576 KiB.
const LIMITER_SETS: usize = 1_024;
/// The same for telling sessions of probes beyond that rate, of which there are fewer.
const TELLING_SETS: usize = 64;
/// Replies that wait for their transmit stamp, for each socket.
const PENDING: usize = 16_384;
/// Longest time between two looks while a session waits for its last stamps.
const FLUSH_LOOK: Duration = Duration::from_millis(5);
/// Longest time between two looks at the orders, the clock's quality and the totals.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_millis(250);

/// The thread's connections.
pub(super) struct Links {
    pub(super) orders: Receiver<Command>,
    pub(super) notes: SyncSender<ThreadEvent>,
    pub(super) waker: Arc<Waker>,
    pub(super) control_waker: Arc<Waker>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) totals: Arc<Mutex<Totals>>,
    /// Questions for them.
    pub(super) stats: Arc<StatsRequest>,
    /// Network cards that stamp.
    pub(super) cards: Vec<Arc<Card>>,
    /// That this thread runs.
    pub(super) pulse: Arc<SchedulingWatch>,
    /// How long it has been at its work.
    pub(super) turn: Arc<Turn>,
    /// What answers before packets reach the sockets.
    pub(super) in_kernel: Option<Arc<InKernel>>,
    /// What requests have to be made with.
    pub(super) key: Arc<CurrentKey>,
    /// What stamps packets before they reach the sockets, and after they have left them.
    pub(super) in_packet: Option<Arc<InPacket>>,
}

struct ReflectedSession {
    ssid: u16,
    /// The key with which its probes are made; `None` for that of the rules, if there is one.
    key: Option<Arc<Key>>,
    address: Option<SocketAddr>,
    /// The earliest time of its next change; `None` before the first.
    next_change: Option<Timestamp<Monotonic>>,
    /// Of its packets, where they are answered.
    numbers: SequenceWindow,
    /// When it was proved last, nanoseconds of the real-time clock, and the greatest number by then.
    proved_at: i64,
    proved_by: u64,
    /// Packets a second that come of it.
    rate: u64,
    /// How many are kept for it of what is answered to its host, and of which host they are.
    share: u64,
    share_of: Option<IpAddr>,
    lost: u64,
    drops_before: u64,
    flush: bool,
    /// Not before then: a card tells of a departure a little after the kernel.
    flush_after: Timestamp<Monotonic>,
    /// Not before all is read that had come by then, nanoseconds of the real-time clock.
    flush_read_to: i64,
    /// Then at the latest, though there is still something to be read.
    flush_by: Timestamp<Monotonic>,
    /// How probes are sent to its address, if any are.
    sends: Option<Box<SocketOptions>>,
    /// By what they are sent, and beside which port of ours.
    sender: Option<(usize, Arc<StampingSocket>)>,
    /// When the last datagram came from its address, and since when they come from another that is not proved, nanoseconds of
    /// the real-time clock.
    heard: i64,
    elsewhere: Option<i64>,
    /// The last addresses that were proved after its first, each with such times, and whether its sender may not know of them:
    /// what it was told before it went on over another connection may not have come.
    moves: VecDeque<(SocketAddr, [i64; 2])>,
    may_not_know: bool,
    /// Replies that this host has refused to send and that are not told.
    refusals: SendErrors,
}

impl ReflectedSession {
    /// A datagram of it has come from `peer`.
    fn hear(&mut self, peer: SocketAddr, arrival_ns: i64) {
        if self.address != Some(peer) {
            self.elsewhere.get_or_insert(arrival_ns);
        } else if self.elsewhere.is_none() {
            self.heard = arrival_ns;
        }
    }
}

/// A reply whose transmit stamp is not in.
#[derive(Clone, Copy)]
struct Waiting {
    /// What the sender's log is to hold, where the session is one of romer's.
    record: Option<(Owner, ResponderRecord)>,
    /// Where its session is remembered, and its number there, so that the session's next reply can tell.
    held: Option<(SessionSlotKey, u32)>,
    since: Timestamp<Monotonic>,
}

/// A reply of which a network card's stamp may come.
#[derive(Clone, Copy)]
struct Departing {
    id: u32,
    session: u32,
    sequence: u64,
    /// The arrival that was answered.
    arrival_ns: i64,
    interface: u32,
}

/// One test socket with its transmit stamps.
struct Port {
    socket: StampingSocket,
    next_id: u32,
    waiting: Vec<Option<Waiting>>,
    in_waiting: usize,
    patience: StampTimeout,
    /// The latest replies, where cards stamp.
    departing: Vec<Option<Departing>>,
    overflows: Overflows,
}

/// The reflecting thread.
pub(super) struct ReflectorThread {
    ports: Vec<Port>,
    reflector: Reflector,
    /// How many of the probes that are refused for their rate are told.
    telling: Limiter,
    links: Links,
    tokens: HashMap<Token, (u32, IpAddr)>,
    proved: HashMap<(SocketAddr, u16), u32>,
    sessions: HashMap<u32, ReflectedSession>,
    unclaimed: UnvalidatedAddresses,
    expected: OneWaySessions,
    unplaced: Unplaced<u32>,
    events: TransmitEvents,
    backlog: EventQueue,
    reply: Box<[u8]>,
    error: ErrorEstimate,
    stateful: bool,
    not_sent: u64,
    one_way: OneWayTotals,
    failed_iterations: u64,
    threads: ThreadOptions,
    /// Replacements of the key that have been taken over.
    key_replacements: u64,
}

impl ReflectorThread {
    pub(super) fn new(sockets: Vec<StampingSocket>, options: &RespondOptions, links: Links) -> Self {
        let backlog = EventQueue::new(links.notes.clone());
        let key = (u64::from_ne_bytes(random()), u64::from_ne_bytes(random()));
        let limiter = Limiter::new(options.rate, LIMITER_SETS, key, clock::monotonic_now());
        let telling = Limiter::new(options.rate, TELLING_SETS, key, clock::monotonic_now());
        let rules = Rules {
            allowed: options.allow.clone(),
            least_ttl: options.least_ttl,
            key: options.key.clone(),
            stateful: options.stateful,
            format: options.format,
            length: if options.symmetric_only { ReplyLength::Symmetric } else { ReplyLength::AtLeastBase },
            own_ports: sockets.iter().map(|socket| socket.local_address().port()).collect(),
        };
        let secret = (u64::from_ne_bytes(random()), u64::from_ne_bytes(random()));
        let error = clock_error();
        let mut reflector = Reflector::with_rules(limiter, rules, secret);
        reflector.set_clock(clock_information(error));
        let departing = if links.cards.is_empty() { 0 } else { PENDING };
        let port = |socket| Port {
            socket,
            next_id: 0,
            waiting: vec![None; PENDING],
            in_waiting: 0,
            patience: StampTimeout::default(),
            departing: vec![None; departing],
            overflows: Overflows::new(),
        };
        Self {
            ports: sockets.into_iter().map(port).collect(),
            reflector,
            telling,
            links,
            tokens: HashMap::with_capacity(options.sessions),
            proved: HashMap::with_capacity(options.sessions),
            sessions: HashMap::with_capacity(options.sessions),
            unclaimed: UnvalidatedAddresses::default(),
            expected: OneWaySessions::default(),
            unplaced: Unplaced::default(),
            events: TransmitEvents::new(256),
            backlog,
            reply: vec![0; 65_535].into(),
            error,
            stateful: options.stateful,
            not_sent: 0,
            one_way: OneWayTotals::default(),
            failed_iterations: 0,
            threads: options.threads,
            key_replacements: 0,
        }
    }

    /// Has the programs in the kernel state what is known of the clock.
    fn set_kernel_clock(&self) {
        if let Some(in_packet) = &self.links.in_packet {
            in_packet.set_clock();
        }
        if let Some(in_kernel) = &self.links.in_kernel {
            in_kernel.set_clock(self.error);
        }
    }

    pub(super) fn run(mut self) {
        let mut run = self.threads.begin(c"romer-reflect", Role::Waits);
        let mut housekeeping = clock::monotonic_now();
        let mut batch = ReceiveBatch::new(32, 65_535);
        while !self.links.stop.load(Ordering::Acquire) {
            let before = clock::monotonic_now();
            self.links.turn.end();
            self.wait();
            let woken = clock::monotonic_now();
            self.links.turn.begin(woken);
            self.links.pulse.beat(woken);
            run.turn(before, woken);
            if !self.attempt(|thread| thread.work(&mut batch, &mut housekeeping)) {
                self.start_anew();
            }
        }
        self.publish(self.links.stats.requests());
    }

    /// Does what is to be done in a turn.
    fn work(&mut self, batch: &mut ReceiveBatch, housekeeping: &mut Timestamp<Monotonic>) {
        let asked = self.links.stats.requests();
        if let Some(key) = self.links.key.replaced_since(&mut self.key_replacements) {
            self.reflector.replace_key(key);
        }
        let mut read_to = i64::MAX;
        for index in 0..self.ports.len() {
            read_to = read_to.min(self.receive(index, batch));
            self.collect_stamps(index);
        }
        self.obey_orders();
        self.backlog.catch_up();
        self.settle();
        self.flush_sessions(read_to);
        let now = clock::monotonic_now();
        if now - *housekeeping > HOUSEKEEPING_INTERVAL {
            *housekeeping = now;
            self.hear_senders(batch);
            self.give_up_waiting(now);
            self.tell_overflows();
            self.tell_refusals(now);
            self.error = clock_error();
            self.reflector.set_clock(clock_information(self.error));
            self.set_kernel_clock();
            self.publish(asked);
        } else if self.links.stats.is_open(asked) {
            self.publish(asked);
        }
    }

    /// Does `work`. Gives whether that succeeded: a panic in it is a fault of romer's, which the hook of panics reports.
    fn attempt(&mut self, work: impl FnOnce(&mut Self)) -> bool {
        let is_done = catch_unwind(AssertUnwindSafe(|| work(self))).is_ok();
        self.failed_iterations += u64::from(!is_done);
        is_done
    }

    /// Begins anew after a fault outside of a datagram's answer: what is remembered of sessions and replies may be half changed, so
    /// that the sessions end. The sockets, the totals and the rates of addresses stay.
    fn start_anew(&mut self) {
        let sessions: Vec<u32> = self.sessions.keys().copied().collect();
        for session in sessions {
            self.obey(Command::Close { session });
            self.backlog.push(ThreadEvent::Failed { session });
        }
        self.links.control_waker.wake();
        (self.unclaimed, self.unplaced) = (UnvalidatedAddresses::default(), Unplaced::default());
        for port in &mut self.ports {
            port.waiting = vec![None; PENDING];
            port.in_waiting = 0;
            port.departing.fill(None);
            port.patience = StampTimeout::default();
        }
    }

    fn wait(&self) {
        let Some(first) = self.ports.first() else { return };
        let mut descriptors = [first.socket.as_fd(); MAX_WAITED];
        for (descriptor, port) in descriptors.iter_mut().zip(&self.ports) {
            *descriptor = port.socket.as_fd();
        }
        let flushing = self.sessions.values().any(|session| session.flush);
        let longest = if flushing || self.backlog.waits() { FLUSH_LOOK } else { HOUSEKEEPING_INTERVAL };
        let watched = &descriptors[..self.ports.len().min(MAX_WAITED)];
        // A refusal leaves the sockets to be looked at, which do not block.
        let _ = wait_any(watched, Some(&self.links.waker), Some(longest));
    }

    /// Reads what has come to the test socket at `index`. Gives up to when all that came has been read, nanoseconds of the
    /// real-time clock.
    fn receive(&mut self, index: usize, batch: &mut ReceiveBatch) -> i64 {
        let mut read_to = i64::MIN;
        // A peer that sends without pause must not keep us from the stamps and the orders.
        for _ in 0..8 {
            let looked = clock::realtime_now().as_nanos();
            match self.ports[index].socket.receive_batch(batch) {
                Ok(0) | Err(_) => return looked,
                Ok(_) => {
                    // Where there are more, the next turn may be far.
                    self.links.pulse.beat(clock::monotonic_now());
                    // What is granted is ordered before the grant is told: whoever answers the grant with a datagram
                    // must find the order obeyed.
                    self.obey_orders();
                    for datagram in batch.iter() {
                        self.ports[index].overflows.take(&datagram);
                        read_to = datagram.kernel.map_or(i64::MIN, Realtime::as_nanos);
                        // One that cannot be answered is dropped, and the others are answered.
                        self.attempt(|thread| thread.answer(index, &datagram));
                    }
                }
            }
        }
        read_to
    }

    /// Tells what found a test socket full.
    fn tell_overflows(&mut self) {
        for port in &mut self.ports {
            // By it packets are told from losses: where there is no room, it is told at the next look.
            port.overflows.drain_into(|overflow| self.backlog.push(ThreadEvent::Overflowed(overflow)));
        }
    }

    fn obey_orders(&mut self) {
        while let Ok(order) = self.links.orders.try_recv() {
            self.obey(order);
        }
    }

    /// Hears what came to the sockets that send this end's own probes: what comes from where these go comes to them, as
    /// the association does of a session that goes on from the same address over another connection.
    fn hear_senders(&mut self, batch: &mut ReceiveBatch) {
        let senders = self.sessions.values().filter_map(|session| session.sender.clone());
        for (index, socket) in senders.collect::<Vec<_>>() {
            if matches!(socket.receive_batch(batch), Ok(1..)) {
                self.obey_orders();
                for datagram in batch.iter() {
                    self.attempt(|thread| thread.answer(index, &datagram));
                }
            }
        }
    }

    fn answer(&mut self, index: usize, datagram: &Datagram<'_>) {
        // One-way probes of granted sessions are within their granted rate, and nothing answers them.
        let (reflector, proved) = (&self.reflector, &self.proved);
        let proved = |number| proved.get(&(datagram.peer, number)).copied();
        let taken =
            self.expected.take(datagram.payload, datagram.peer, proved, |host| reflector.allows(host));
        if let Some(MatchedProbe { session, coming, elsewhere }) = taken {
            self.one_way.received += 1;
            self.one_way.octets += u64::try_from(datagram.payload.len()).unwrap_or(u64::MAX);
            self.one_way.elsewhere += u64::from(elsewhere);
            // Who overhears a probe can send it once more from where he is, and only that.
            if !elsewhere || coming.first {
                self.arrived(session, coming, datagram);
            }
            return;
        }
        let now = clock::monotonic_now();
        if self.expected.is_of_ended(datagram.payload, now) {
            self.one_way.after_end += 1;
            return;
        }
        let local = self.ports[index].socket.local_address();
        let arrived = datagram.kernel.unwrap_or(datagram.user);
        let incoming = Incoming {
            payload: datagram.payload,
            source: datagram.peer,
            destination: SocketAddr::new(datagram.destination.unwrap_or(local.ip()), local.port()),
            ttl: datagram.ttl,
            tos: datagram.tos,
            arrived: arrived.on::<Responder>(),
            proved: self.is_proved(datagram),
            expected: association::token(datagram.payload)
                .is_some_and(|token| self.expects(token, datagram.peer)),
        };
        let action = match self.session_key(datagram) {
            Some(key) => self.reflector.on_session_datagram(&incoming, &key, now),
            None => self.reflector.on_datagram(&incoming, now),
        };
        match action {
            ReflectorAction::Refused(Refusal::RateLimited) => self.tell_over_the_rate(datagram, now),
            ReflectorAction::Refused(_) => {}
            ReflectorAction::Association(token) => self.associate(index, token, datagram),
            ReflectorAction::Answer(answer) => self.reply(index, &answer, datagram),
        }
    }

    /// A one-way probe has arrived.
    fn arrived(&mut self, session: u32, coming: ReceivedProbe, datagram: &Datagram<'_>) {
        let record = ResponderRecord {
            sequence: coming.sequence,
            t2_user_ns: datagram.user.as_nanos(),
            t2_kernel_ns: datagram.kernel.map(Realtime::as_nanos),
            t3_user_ns: None,
            t3_kernel_ns: None,
            ttl: datagram.ttl,
            tos: datagram.tos,
        };
        if let Some(state) = self.sessions.get_mut(&session) {
            state.hear(datagram.peer, record.t2_kernel_ns.unwrap_or(record.t2_user_ns));
        }
        self.arrived_by_card(session, coming.sequence, datagram);
        self.hand_over_as(Some((Owner::Session(session), record)), coming.first);
    }

    /// Whether a datagram names a session that has proved the address that it comes from. What else comes from there may be
    /// another program's, behind one NAT with the sender.
    fn is_proved(&self, datagram: &Datagram<'_>) -> bool {
        session_of(datagram.payload).is_some_and(|ssid| self.proved.contains_key(&(datagram.peer, ssid)))
    }

    /// The key of the session that a datagram names in either mode, if it has one of its own and has proved the address.
    fn session_key(&self, datagram: &Datagram<'_>) -> Option<Arc<Key>> {
        let numbers = [session_of(datagram.payload), authenticated_session_of(datagram.payload)];
        numbers.into_iter().flatten().find_map(|number| {
            let session = self.proved.get(&(datagram.peer, number))?;
            self.sessions.get(session)?.key.clone()
        })
    }

    /// What the log of a session holds of a request and its reply, as far as is known when that has been sent.
    fn record(
        &mut self,
        owner: Owner,
        sequence: u32,
        datagram: &Datagram<'_>,
        sent: Option<Realtime>,
    ) -> Option<(Owner, ResponderRecord)> {
        let mut sequence = u64::from(sequence);
        if let Owner::Session(session) = owner {
            let state = self.sessions.get_mut(&session)?;
            state.hear(datagram.peer, datagram.kernel.unwrap_or(datagram.user).as_nanos());
            sequence = state.numbers.come(sequence);
        }
        let record = ResponderRecord {
            sequence,
            t2_user_ns: datagram.user.as_nanos(),
            t2_kernel_ns: datagram.kernel.map(Realtime::as_nanos),
            t3_user_ns: sent.map(Realtime::as_nanos),
            t3_kernel_ns: None,
            ttl: datagram.ttl,
            tos: datagram.tos,
        };
        Some((owner, record))
    }

    /// Keeps what wants to know when reply `id` left until its transmit stamp is in, if there will be one.
    fn await_stamp(
        &mut self,
        index: usize,
        id: u32,
        record: Option<(Owner, ResponderRecord)>,
        written: &Written,
        sent: bool,
    ) {
        let held = written.held.filter(|_| self.stateful).map(|held| (held, written.sequence));
        if record.is_none() && held.is_none() {
            return;
        }
        if !sent || !self.ports[index].socket.has_kernel_stamps() {
            return self.hand_over(record);
        }
        let since = clock::monotonic_now();
        let port = &mut self.ports[index];
        let slot = usize::try_from(id).unwrap_or(0) % PENDING;
        let overtaken = port.waiting[slot].replace(Waiting { record, held, since });
        port.in_waiting += usize::from(overtaken.is_none());
        if let Some(overtaken) = overtaken {
            self.hand_over(overtaken.record);
        }
    }

    fn collect_stamps(&mut self, index: usize) {
        for _ in 0..64 {
            let port = &mut self.ports[index];
            match port.socket.transmit_events(&mut self.events) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            self.collect_card_stamps(index);
            for position in 0..self.events.stamps().len() {
                let stamp = self.events.stamps()[position];
                let port = &mut self.ports[index];
                port.patience.meet();
                let slot = usize::try_from(stamp.id).unwrap_or(0) % PENDING;
                let Some(waiting) = port.waiting[slot].take() else { continue };
                port.in_waiting -= 1;
                let departed = stamp.kernel.as_nanos();
                if let Some((held, sequence)) = waiting.held {
                    let method = TimestampMethod::SOFTWARE;
                    let reply = FollowUp { sequence, departed_unix_nanos: departed, method };
                    self.reflector.on_departed(held, reply);
                }
                let stamped = |record| ResponderRecord { t3_kernel_ns: Some(departed), ..record };
                self.hand_over(waiting.record.map(|(owner, record)| (owner, stamped(record))));
            }
        }
    }

    /// How many datagrams the test sockets had no room for, as far as it is known.
    fn unread(&self) -> u64 {
        self.ports.iter().map(|port| port.overflows.total()).sum()
    }

    fn kernel_drops(&self) -> u64 {
        self.ports.iter().filter_map(|port| port.socket.kernel_drops().ok()).map(u64::from).sum()
    }

    /// Tells the totals as they are after `asked` questions for them.
    fn publish(&self, asked: u64) {
        let drops = self.kernel_drops();
        let mut totals = self.links.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.reflector = *self.reflector.counters();
        totals.kernel_drops = drops;
        totals.not_sent = self.not_sent;
        totals.failed_iterations = self.failed_iterations;
        totals.one_way = OneWayTotals { bad_tag: self.expected.bad_tag(), ..self.one_way };
        totals.remembered = self.reflector.remembered();
        drop(totals);
        self.links.stats.mark_answered(asked);
    }
}

mod commands;
mod nic_stamps;
mod replies;
mod reply_quota;
mod send_failures;
mod sequence;
mod session_end;
mod session_lookup;
mod unvalidated_addresses;

#[cfg(test)]
mod tests;
