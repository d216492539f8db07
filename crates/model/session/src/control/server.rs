//! The responder's side of one conversation.

use core::net::SocketAddr;

use romer_record::document::{ClockSync, DamagedProbes};
use romer_record::event::Event;
use romer_record::log::{Card, ResponderDeparture, ResponderRecord};
use romer_record::refusal::LimitScope;
use romer_traffic::Departure;
use romer_units::{Duration, Monotonic, Timestamp};

use super::codec::{CodecError, Decoder, LONGEST_FRAME};
use super::granting::refusal;
use super::message::{
    Associated, CARDS, Challenge, ClientHello, ClockIdentity, ComplaintCode, ConnectionRefusal, CountDamage,
    Damaged, Departed, Events, Granted, LAST_WORD, Message, Moved, PairStep, Progress, ProtocolError, RESUME,
    Request, Resume, SILENCE, ServerHello, SessionTotals, VERSION, hex,
};
use super::resuming::Kept;
use crate::association::Token;
pub use fruitless::AbortReason;
pub use limits::{Limits, Others};
use proving::Lock;

/// Faults (what is answered by a complaint, and requests that are refused) with which a conversation is closed.
const MOST_FAULTS: u32 = 10;
/// Answers to one call of [`Server::on_bytes`]; what else has come is answered by the next.
const ANSWERS: usize = 64;
/// Octets that may come before a session is granted, besides the departures of a recorded stream.
const HANDSHAKE_OCTETS: usize = 256 * 1024;
/// The longest frame where neither a request nor the departures of a recorded stream are due, octets: many times what its
/// numbers and words take.
const SHORT_FRAME: usize = 4 * 1024;
/// Messages that are kept until they have been heard at the most, for each two records that are buffered, and at the least.
const LEAST_KEPT: usize = 256;
/// Octets of a departure on its way, with its share of the frame.
const TOLD_DEPARTURE: usize = 13;
/// From the first departure that is told to the open session, in the place of [`Limits::handshake`].
const TELLING: Duration = Duration::from_secs(60);
/// Octets that are kept until they have been heard, for each record that is buffered: so what 16,384 of them allow, 8 MiB,
/// is what 180,000 records take.
const KEPT_FOR_A_RECORD: usize = 512;

/// A session that was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Session identifier in the test packets.
    pub ssid: u16,
    /// The secret of its association datagram.
    pub token: Token,
    /// The key of its one-way probes.
    pub key: [u8; 16],
    /// The request.
    pub request: Request,
}

/// What is to be done for a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Write this to the connection.
    Send(Message),
    /// A session was granted: reflect and log it as soon as its association arrives.
    Open(Session),
    /// Send the stream that was asked for, to the address that the association proved.
    Start,
    /// Send no more, and call [`Server::on_departed`] once the last has left.
    Halt,
    /// Count the damaged probes of the session, whose pattern has this tag, and write the pattern into those that it sends.
    CountDamage(u32),
    /// A session is to go on over this connection: find whose secret this shows ([`Server::is_shown`]) and let it
    /// [`Server::resume`], or else [`Server::refuse_resumption`].
    Resume(Resume),
    /// Authenticate the probes of the session by key material of the connection, and answer with [`Message::Authenticate`], or complain.
    Authenticate,
    /// The sender asks to be paired: answer by [`Server::on_paired`].
    Pair(PairStep),
    /// Write these frames, which were written to a connection that is no more.
    Repeat(Vec<u8>),
    /// The sender has stopped: collect the last transmit stamps, then call [`Server::finish`].
    Finish,
    /// The conversation is over: close the connection once everything is written.
    Close,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Greeting,
    Proving,
    Pairing,
    Requesting,
    /// The session of another connection is asked for.
    Resuming,
    Associating {
        deadline: Timestamp<Monotonic>,
    },
    Running {
        deadline: Timestamp<Monotonic>,
    },
    Finishing {
        deadline: Timestamp<Monotonic>,
    },
    /// The last word is said, and has perhaps not come.
    Finished {
        deadline: Timestamp<Monotonic>,
    },
    Over,
}

/// The responder's side of one conversation. Feed it with [`Server::on_bytes`], [`Server::on_associated`],
/// [`Server::on_record`] and [`Server::on_time`]; carry out the [`Action`]s in their order.
#[derive(Debug)]
pub struct Server {
    limits: Limits,
    clock: ClockIdentity,
    software: String,
    test_port: u16,
    kernel_stamps: bool,
    clock_sync: Option<ClockSync>,
    ip_no_pmtu_disc: Option<u32>,
    features: Vec<String>,
    token: Token,
    /// What the sender would have to show over another connection, and whether it can.
    secret: Option<Token>,
    can_resume: bool,
    /// The sender hangs up once it has heard the last word, and repeats over a new connection what it ordered last.
    hangs_up: bool,
    kept: Kept,
    /// There is no connection at present, or the address of a new one is not proved; for so long that is waited for.
    alone_until: Option<Timestamp<Monotonic>>,
    /// By when an address is to be proved since the first resumption after the last proof.
    proving_until: Option<Timestamp<Monotonic>>,
    /// Departures that were told, and how many came.
    told: Vec<Departure>,
    told_count: u64,
    lock: Option<Lock>,
    proof_refused: bool,
    /// Why nothing but that is answered.
    refusal: Option<ConnectionRefusal>,
    /// Octets that came before the session was granted, and what was wrong up to now.
    octets: usize,
    faults: u32,
    /// Frames have come that were not answered yet.
    has_more: bool,
    key: Option<[u8; 16]>,
    last_word: Timestamp<Monotonic>,
    /// When a message came last, or what was said was taken.
    active: Timestamp<Monotonic>,
    /// When a probe came or left last; before the first, when the session was granted or its stream was started.
    probed: Timestamp<Monotonic>,
    connected: Timestamp<Monotonic>,
    heard: bool,
    decoder: Decoder,
    state: State,
    request: Option<Request>,
    rate: u64,
    /// Bits a second of a session in which the responder sends.
    bits: u64,
    started: bool,
    /// A session was refused, or another connection's goes on over this one.
    answered: bool,
    /// Something was said that is no frame, or one out of its turn.
    complained: bool,
    records: Vec<ResponderRecord>,
    departures: Vec<ResponderDeparture>,
    /// Stamps of network cards, and whether the sender takes them.
    cards: Vec<Card>,
    takes_cards: bool,
    heard_of: Progress,
    totals: SessionTotals,
    /// The host's count of checksum errors when the session was opened.
    checksum_errors_before: Option<u64>,
    /// Largest bound of the error of the host's clock while the session ran, nanoseconds.
    largest_clock_bound_ns: Option<i64>,
}

impl Server {
    /// A conversation that begins `now`. `welcome` is what it will answer to a greeting; `token` is fresh and
    /// secret.
    pub fn new(limits: Limits, welcome: ServerHello, token: Token, now: Timestamp<Monotonic>) -> Self {
        Self {
            limits,
            clock: welcome.clock,
            software: welcome.software,
            test_port: welcome.test_port,
            kernel_stamps: welcome.kernel_stamps,
            clock_sync: welcome.clock_sync,
            ip_no_pmtu_disc: welcome.ip_no_pmtu_disc,
            features: welcome.features,
            token,
            secret: None,
            can_resume: false,
            hangs_up: false,
            kept: send_queue(limits.buffered_records),
            alone_until: None,
            proving_until: None,
            told: Vec::new(),
            told_count: 0,
            lock: None,
            proof_refused: false,
            refusal: None,
            octets: 0,
            faults: 0,
            has_more: false,
            key: None,
            last_word: now,
            active: now,
            probed: now,
            connected: now,
            heard: false,
            decoder: Decoder::default(),
            state: State::Greeting,
            request: None,
            rate: 0,
            bits: 0,
            started: false,
            answered: false,
            complained: false,
            records: Vec::new(),
            departures: Vec::new(),
            cards: Vec::new(),
            takes_cards: false,
            heard_of: Progress::default(),
            totals: SessionTotals::default(),
            largest_clock_bound_ns: None,
            checksum_errors_before: None,
        }
    }

    /// The same, for one-way sessions as well, whose probes have `key`, which is fresh and secret.
    #[must_use]
    pub fn with_one_way(mut self, key: [u8; 16]) -> Self {
        self.key = Some(key);
        self
    }

    /// The same, for sessions that go on over another connection, for a sender that shows `secret`, which is fresh.
    #[must_use]
    pub fn with_resumption(mut self, secret: Token) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Departures that the sender has told and that are held here.
    pub fn told_departures(&self) -> usize {
        let request = self.request.as_ref().and_then(|request| request.stream.as_ref()?.trace.as_ref());
        self.told.len() + request.map_or(0, |trace| usize::try_from(trace.len()).unwrap_or(usize::MAX))
    }

    /// The conversation is over.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Whether a session has been granted.
    pub const fn has_session(&self) -> bool {
        self.request.is_some()
    }

    /// Whether a request for a session is due, and departures before it.
    pub fn awaits_request(&self) -> bool {
        self.state == State::Requesting
    }

    /// Records that the session may buffer.
    pub const fn buffered_records(&self) -> usize {
        self.limits.buffered_records
    }

    /// Octets of memory that hold what has come and is not read, as a frame that is not whole.
    pub const fn unread_memory(&self) -> usize {
        self.decoder.memory()
    }

    /// Octets of memory that hold messages until they are acknowledged, for a resumption.
    pub fn kept_memory(&self) -> usize {
        self.kept.memory()
    }

    /// Drops the messages that are kept for a resumption; a resumption counts the records in them as lost. Gives whether there were
    /// any.
    pub fn drop_kept(&mut self) -> bool {
        let has_some = self.kept.octets() > 0;
        self.kept.drop_frames(0);
        has_some
    }

    /// The session will not be resumed: no message is kept any more.
    pub fn forget_kept(&mut self) {
        self.can_resume = false;
        self.kept = send_queue(0);
    }

    /// Some of what was said has been taken by the connection: somebody is there, who may read slowly.
    pub fn on_written(&mut self, now: Timestamp<Monotonic>) {
        self.last_word = now;
        self.active = now;
    }

    fn is_one_way(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.direction.is_one_way())
    }

    /// When [`Server::on_time`] wants to be called at the latest.
    pub fn deadline(&self) -> Option<Timestamp<Monotonic>> {
        let own = self.own_deadline()?;
        Some(self.alone_until.map_or(own, |until| own.min(until)))
    }

    fn own_deadline(&self) -> Option<Timestamp<Monotonic>> {
        match self.state {
            State::Greeting if !self.heard => Some(self.connected + self.limits.first_frame),
            State::Requesting if self.told_count > 0 => Some(self.connected + TELLING),
            State::Greeting | State::Proving | State::Pairing | State::Requesting | State::Resuming => {
                Some(self.connected + self.limits.handshake)
            }
            State::Running { deadline } if self.is_one_way() => Some(deadline.min(self.last_word + SILENCE)),
            State::Associating { deadline }
            | State::Running { deadline }
            | State::Finishing { deadline }
            | State::Finished { deadline } => Some(deadline),
            State::Over => None,
        }
    }

    /// Whether more has come than was answered by the last call of [`Server::on_bytes`]: it is to be called again, with no bytes, once
    /// these answers have been written.
    pub const fn has_more(&self) -> bool {
        self.has_more
    }

    /// Bytes were read. `busy` says that no further session can be opened. The answers are some dozens at the most: see
    /// [`Server::has_more`].
    pub fn on_bytes(&mut self, bytes: &[u8], busy: bool, now: Timestamp<Monotonic>) -> Vec<Action> {
        let actions = self.take_bytes(bytes, busy, now);
        self.note_answers(&actions);
        actions
    }

    fn take_bytes(&mut self, bytes: &[u8], busy: bool, now: Timestamp<Monotonic>) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.is_over() {
            return actions;
        }
        self.decoder.extend(bytes);
        self.has_more = false;
        self.last_word = now;
        self.active = now;
        if !self.has_session() {
            self.octets = self.octets.saturating_add(bytes.len());
            let most = self.limits.told_departures.saturating_mul(TOLD_DEPARTURE);
            if self.octets > most.saturating_add(HANDSHAKE_OCTETS) {
                let why = format!("{} octets without a session are too many", self.octets);
                actions.push(complain(ComplaintCode::State, why));
                self.close(&mut actions);
                return actions;
            }
        }
        loop {
            if actions.len() >= ANSWERS {
                self.has_more = true;
                return actions;
            }
            let longest = if self.awaits_request() { LONGEST_FRAME } else { SHORT_FRAME };
            let before = actions.len();
            match self.decoder.next_within(longest) {
                Ok(None) => return actions,
                Ok(Some(message)) => {
                    self.heard = true;
                    self.on_message(message, busy, now, &mut actions);
                }
                Err(error @ CodecError::Body { .. }) => {
                    // The words of a parser may quote all of what it was given.
                    let why = error.to_string().chars().take(200).collect();
                    actions.push(complain(ComplaintCode::Body, why));
                }
                Err(CodecError::Length { .. }) => {
                    self.complained = true;
                    self.close(&mut actions);
                }
            }
            self.faults += u32::from(actions.iter().skip(before).any(is_fault));
            if self.faults >= MOST_FAULTS && !self.is_over() {
                self.close(&mut actions);
            }
            if self.is_over() || self.state == State::Resuming {
                return actions;
            }
        }
    }

    fn close(&mut self, actions: &mut Vec<Action>) {
        self.state = State::Over;
        actions.push(Action::Close);
    }

    fn on_message(
        &mut self,
        message: Message,
        busy: bool,
        now: Timestamp<Monotonic>,
        actions: &mut Vec<Action>,
    ) {
        match (&self.state, message) {
            (State::Greeting, Message::PairShare(share)) if self.may_pair() => {
                self.pair(PairStep::Share(share), actions);
            }
            (State::Greeting, _) if self.refusal.is_some() => self.refuse(actions),
            (State::Greeting, Message::Hello(hello)) => self.greet(&hello, actions),
            (State::Pairing, Message::PairProof(proof)) => self.pair(PairStep::Proof(proof), actions),
            (State::Proving, Message::Proof(proof)) => self.prove(&proof, actions),
            (State::Requesting, Message::Request(request)) => self.request(request, busy, now, actions),
            (State::Requesting, Message::Part(departures)) => self.append_departures(&departures),
            (State::Requesting, Message::Resume(resume)) => {
                self.state = State::Resuming;
                actions.push(Action::Resume(resume));
            }
            (
                State::Associating { .. }
                | State::Running { .. }
                | State::Finishing { .. }
                | State::Finished { .. },
                Message::Received(received),
            ) => {
                if !self.kept.heard(received.messages) {
                    let why =
                        "the number of received messages is above that of sent ones, or below an earlier one";
                    actions.push(complain(ComplaintCode::State, why.into()));
                }
            }
            (State::Associating { .. } | State::Running { .. }, Message::Stop) => {
                self.state = State::Finishing { deadline: now + Duration::from_secs(30) };
                // Nothing is sent any more to an address that is perhaps not proved.
                self.alone_until = None;
                actions.push(Action::Finish);
            }
            // Over a new connection what was ordered is ordered again.
            (State::Finishing { .. }, Message::Stop) => {}
            (State::Finished { .. }, Message::Stop) => {
                actions.push(Action::Send(Message::End(self.totals.clone())));
            }
            (State::Running { .. }, Message::Start)
                if self.own_rate() > 0 && (self.hangs_up || !self.started) =>
            {
                if !std::mem::replace(&mut self.started, true) {
                    self.probed = now;
                    actions.push(Action::Start);
                }
            }
            (State::Running { .. }, Message::Halt) if self.started => actions.push(Action::Halt),
            (State::Running { .. }, Message::Halt) if self.own_rate() > 0 => {
                actions.extend(self.on_departed(0));
            }
            (
                State::Associating { .. }
                | State::Running { .. }
                | State::Finishing { .. }
                | State::Finished { .. },
                Message::Ask,
            ) => {
                actions.push(Action::Send(Message::Heard(self.heard_of)));
            }
            (
                State::Associating { .. } | State::Running { .. },
                Message::CountDamage(CountDamage { tag }),
            ) => {
                actions.push(Action::CountDamage(tag));
            }
            (State::Associating { .. }, Message::Authenticate) => actions.push(Action::Authenticate),
            (State::Associating { .. } | State::Running { .. }, Message::Fetch) => {
                actions.extend(self.drain());
            }
            (_, Message::Unknown(kind)) => actions.push(complain(
                ComplaintCode::UnknownType,
                format!("frames of type {kind} are not known to version {VERSION}"),
            )),
            // Being told of a fault is no fault.
            (_, Message::Complaint(_)) => {}
            (_, _) => actions.push(complain(ComplaintCode::State, "this frame is out of its turn".into())),
        }
    }

    fn greet(&mut self, hello: &ClientHello, actions: &mut Vec<Action>) {
        if hello.version != VERSION {
            actions.push(complain(
                ComplaintCode::Version,
                format!("version {} requested, but this romer uses version {VERSION}", hello.version),
            ));
            self.state = State::Over;
            actions.push(Action::Close);
            return;
        }
        self.can_resume = self.secret.is_some() && hello.has(RESUME);
        self.hangs_up = self.can_resume && hello.has(LAST_WORD);
        self.takes_cards = hello.has(CARDS);
        match &self.lock {
            Some(lock) => {
                actions.push(Action::Send(Message::Challenge(Challenge::new(lock.nonce))));
                self.state = State::Proving;
            }
            None => self.welcome(actions),
        }
    }

    fn welcome(&mut self, actions: &mut Vec<Action>) {
        actions.push(Action::Send(Message::Welcome(ServerHello {
            version: VERSION,
            software: self.software.clone(),
            clock: self.clock.clone(),
            test_port: self.test_port,
            kernel_stamps: self.kernel_stamps,
            clock_sync: self.clock_sync.clone(),
            ip_no_pmtu_disc: self.ip_no_pmtu_disc,
            features: self.features.clone(),
        })));
        self.state = State::Requesting;
    }

    /// Departures of a recorded stream are told. What is too much is counted only.
    fn append_departures(&mut self, departures: &[Departure]) {
        self.told_count = self.told_count.saturating_add(u64::try_from(departures.len()).unwrap_or(u64::MAX));
        let room = self.limits.told_departures.saturating_sub(self.told.len());
        self.told.extend_from_slice(departures.get(..room).unwrap_or(departures));
    }

    fn request(
        &mut self,
        request: Request,
        busy: bool,
        now: Timestamp<Monotonic>,
        actions: &mut Vec<Action>,
    ) {
        let (told, count) = (std::mem::take(&mut self.told), std::mem::take(&mut self.told_count));
        let request = match request.with_departures(&told, count, self.limits.told_departures) {
            Ok(request) => request,
            Err(refused) => return actions.push(Action::Send(Message::Refused(refused))),
        };
        let full = if busy {
            Some(LimitScope::All)
        } else {
            self.limits.others.all_sessions.then_some(LimitScope::Network)
        };
        if let Some(refused) = refusal(&request, &self.limits, full, self.key.is_some()) {
            actions.push(Action::Send(Message::Refused(refused)));
            return;
        }
        self.kept = send_queue(self.limits.buffered_records);
        let key = self.key.filter(|_| request.direction.is_one_way());
        let granted = Granted {
            token: hex(self.token),
            buffered_records: u64::try_from(self.limits.buffered_records).unwrap_or(u64::MAX),
            key: key.map(hex),
            secret: self.secret.filter(|_| self.can_resume).map(hex),
        };
        self.probed = now;
        self.rate = request.rate();
        self.bits = request.bits();
        self.state = State::Associating { deadline: now + self.limits.handshake };
        actions.push(Action::Open(Session {
            ssid: request.ssid,
            token: self.token,
            key: key.unwrap_or_default(),
            request: request.clone(),
        }));
        actions.push(Action::Send(Message::Granted(granted)));
        self.request = Some(request);
    }

    /// The association datagram arrived from `address`.
    pub fn on_associated(&mut self, address: SocketAddr, now: Timestamp<Monotonic>) -> Vec<Action> {
        self.on_associated_anew(address, &[], now)
    }

    /// The same; where it is another address than before, the last of `moves` says how long before it the last datagram of the
    /// session came from there, and the first from here, and those before it the same of earlier ones that are to be told.
    pub fn on_associated_anew(
        &mut self,
        address: SocketAddr,
        moves: &[(SocketAddr, [Duration; 2])],
        now: Timestamp<Monotonic>,
    ) -> Vec<Action> {
        match self.state {
            State::Associating { .. } => {
                let length = self.request.as_ref().map_or(Duration::ZERO, Request::length);
                let grace = Duration::from_secs(120);
                self.state = State::Running { deadline: now + length + grace };
            }
            State::Running { .. } => {}
            _ => return Vec::new(),
        }
        self.alone_until = None;
        self.proving_until = None;
        let each = |(address, ages): &(SocketAddr, [Duration; 2])| Moved {
            address: address.to_string(),
            moved_ns: ages.map(Duration::as_nanos),
        };
        let mut earlier: Vec<Moved> = moves.iter().map(each).collect();
        let address = address.to_string();
        let moved_ns = earlier.pop_if(|last| last.address == address).map(|last| last.moved_ns);
        vec![Action::Send(Message::Associated(Associated { address, moved_ns, earlier }))]
    }

    /// A one-way probe of this session has arrived for the first time.
    pub fn on_first_arrival(&mut self) {
        self.heard_of.received += 1;
    }

    /// A probe of the responder's own has left, and its transmit stamp is known or given up; or it could not leave.
    pub fn on_departure(&mut self, record: ResponderDeparture) -> Vec<Action> {
        if self.has_ended() || self.request.is_none() {
            return Vec::new();
        }
        self.heard_of.departed += u64::from(!record.refused);
        self.totals.stamps_missing += u64::from(!record.refused && record.kernel_ns.is_none());
        if self.departures.len() >= self.limits.buffered_records {
            self.totals.records_lost += 1;
            return Vec::new();
        }
        self.departures.push(record);
        if 2 * self.departures.len() >= self.limits.buffered_records { self.drain() } else { Vec::new() }
    }

    /// All probes of the responder's own have left, `count` of them.
    pub fn on_departed(&mut self, count: u64) -> Vec<Action> {
        if self.has_ended() {
            return Vec::new();
        }
        vec![self.say_once(Message::Departed(Departed { count }))]
    }

    /// A test packet of this session was reflected, and its transmit stamp is known or given up; or a one-way probe of
    /// it arrived.
    pub fn on_record(&mut self, record: ResponderRecord) -> Vec<Action> {
        if self.has_ended() || self.request.is_none() {
            return Vec::new();
        }
        self.totals.received += 1;
        self.totals.reflected += u64::from(record.t3_user_ns.is_some());
        if self.is_one_way() {
            self.heard_of.highest = self.heard_of.highest.max(Some(record.sequence));
        } else {
            self.heard_of.received += 1;
        }
        self.totals.stamps_missing += u64::from(record.t3_user_ns.is_some() && record.t3_kernel_ns.is_none());
        if self.records.len() >= self.limits.buffered_records {
            self.totals.records_lost += 1;
            return Vec::new();
        }
        self.records.push(record);
        if 2 * self.records.len() >= self.limits.buffered_records { self.drain() } else { Vec::new() }
    }

    /// Something happened to the responder or its host.
    pub fn on_event(&mut self, event: Event) -> Vec<Action> {
        if self.has_ended() || self.request.is_none() {
            return Vec::new();
        }
        vec![self.say_once(Message::Events(Events { events: vec![event] }))]
    }

    /// Records of this session were lost before they came here, and datagrams before they were read.
    pub fn on_losses(&mut self, records: u64, kernel_drops: u64) {
        self.totals.records_lost += records;
        self.totals.kernel_drops += kernel_drops;
    }

    /// The host has counted so many datagrams with a wrong UDP checksum since it began: to be told when a session is opened, and
    /// before it ends.
    pub const fn on_checksum_errors(&mut self, counted: u64) {
        match self.checksum_errors_before {
            Some(before) => self.totals.checksum_errors = Some(counted.saturating_sub(before)),
            None => self.checksum_errors_before = Some(counted),
        }
    }

    /// Bound of the error of the host's clock at present, nanoseconds.
    pub fn on_clock_bound(&mut self, bound_ns: i64) {
        self.largest_clock_bound_ns = self.largest_clock_bound_ns.max(Some(bound_ns));
    }

    /// Synchronisation of the host's clock: to be stated before the session ends.
    pub fn on_clock_sync(&mut self, state: ClockSync) {
        let largest_error_bound_ns = self.largest_clock_bound_ns;
        self.totals.clock_sync = Some(ClockSync { largest_error_bound_ns, ..state });
    }

    /// So many probes of the session arrived damaged; `None` if they could not be counted. To be called once, before it ends.
    pub fn on_damaged(&mut self, forward: Option<DamagedProbes>) -> Vec<Action> {
        if self.has_ended() || self.request.is_none() {
            return Vec::new();
        }
        vec![self.say_once(Message::Damaged(Damaged { forward }))]
    }

    /// So many datagrams named this session and were none of its probes.
    pub fn on_bad_tag(&mut self, count: u64) {
        self.totals.bad_tag += count;
    }

    /// Time has come to `now`.
    pub fn on_time(&mut self, now: Timestamp<Monotonic>) -> Vec<Action> {
        match self.deadline() {
            Some(deadline) if now >= deadline => {
                self.state = State::Over;
                vec![Action::Close]
            }
            _ => Vec::new(),
        }
    }

    fn drain(&mut self) -> Vec<Action> {
        let (records, departures) = (std::mem::take(&mut self.records), std::mem::take(&mut self.departures));
        let arrivals = records.chunks(Message::RECORDS_IN_A_FRAME).map(|some| Message::Log(some.to_vec()));
        let departures =
            departures.chunks(Message::RECORDS_IN_A_FRAME).map(|some| Message::Departures(some.to_vec()));
        arrivals.chain(departures).chain(self.drained_cards()).map(|message| self.say_once(message)).collect()
    }

    /// Says something that must not be lost with the connection. While there is none it is only kept.
    fn say_once(&mut self, message: Message) -> Action {
        if self.can_resume {
            self.kept.store(&message);
        }
        Action::Send(message)
    }
}

/// What a session with so many buffered records keeps until it has been heard.
fn send_queue(buffered_records: usize) -> Kept {
    let most_messages = (buffered_records / 2).max(LEAST_KEPT);
    Kept::new(buffered_records.saturating_mul(KEPT_FOR_A_RECORD), most_messages)
}

const fn is_fault(action: &Action) -> bool {
    matches!(action, Action::Send(Message::Complaint(_) | Message::Refused(_)))
}

fn complain(code: ComplaintCode, message: String) -> Action {
    Action::Send(Message::Complaint(ProtocolError { code, message }))
}

mod cards;
mod ending;
mod fruitless;
pub(super) mod limits;
mod pairing;
mod proving;
mod resumption;
mod shares;
#[cfg(test)]
mod tests;
