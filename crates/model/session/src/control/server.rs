//! The responder's side of one conversation.

use core::net::SocketAddr;
use std::sync::Arc;

use romer_record::document::ClockSync;
use romer_record::log::{Far, FarSent};
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::stamp::Key;

use super::granting::refusal;
use super::possession;
use super::{
    Associated, Challenge, ClockIdentity, CodecError, Complaint, ComplaintCode, Decoder, Departed, End,
    Granted, Heard, Hello, Message, Proof, Request, SILENCE, VERSION, Welcome, hex,
};
use crate::association::Token;

/// What a responder grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Packets a second of one session.
    pub packets_per_second: u64,
    /// Packets a second that the responder itself may send to this sender, in all of its sessions.
    pub own_packets_per_second: u64,
    /// The largest payload that the responder itself sends, octets.
    pub largest_payload: u32,
    /// Length of one test.
    pub longest: Duration,
    /// From connecting to the open session.
    pub handshake: Duration,
    /// From connecting to the first whole frame.
    pub first_frame: Duration,
    /// Records that a session holds before some are sent back.
    pub buffered_records: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            packets_per_second: 100_000,
            own_packets_per_second: 100_000,
            // An IPv6 packet that fills the largest frames that are common.
            largest_payload: 9_000 - 48,
            longest: Duration::from_secs(31 * 86_400),
            handshake: Duration::from_secs(10),
            first_frame: Duration::from_secs(5),
            buffered_records: 16_384,
        }
    }
}

/// A session that was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Session identifier in the test packets.
    pub ssid: u16,
    /// The secret of its association datagram.
    pub token: Token,
    /// The key of its one-way probes.
    pub key: [u8; 16],
    /// What was asked for.
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
    /// The sender has stopped: collect the last transmit stamps, then call [`Server::finish`].
    Finish,
    /// The conversation is over: close the connection once everything is written.
    Close,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Greeting,
    Proving,
    Requesting,
    Associating { deadline: Timestamp<Monotonic> },
    Running { deadline: Timestamp<Monotonic> },
    Finishing { deadline: Timestamp<Monotonic> },
    Over,
}

/// What a sender must prove to have.
#[derive(Debug)]
struct Lock {
    key: Arc<Key>,
    /// What the sender is asked.
    nonce: Token,
    /// What the responder adds to its own proof.
    own: Token,
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
    features: Vec<String>,
    token: Token,
    lock: Option<Lock>,
    proof_refused: bool,
    key: Option<[u8; 16]>,
    last_word: Timestamp<Monotonic>,
    connected: Timestamp<Monotonic>,
    heard: bool,
    decoder: Decoder,
    state: State,
    request: Option<Request>,
    started: bool,
    records: Vec<Far>,
    departures: Vec<FarSent>,
    heard_of: Heard,
    totals: End,
}

impl Server {
    /// A conversation that begins `now`. `welcome` is what it will answer to a greeting; `token` is fresh and
    /// secret.
    pub fn new(limits: Limits, welcome: Welcome, token: Token, now: Timestamp<Monotonic>) -> Self {
        Self {
            limits,
            clock: welcome.clock,
            software: welcome.software,
            test_port: welcome.test_port,
            kernel_stamps: welcome.kernel_stamps,
            clock_sync: welcome.clock_sync,
            features: welcome.features,
            token,
            lock: None,
            proof_refused: false,
            key: None,
            last_word: now,
            connected: now,
            heard: false,
            decoder: Decoder::default(),
            state: State::Greeting,
            request: None,
            started: false,
            records: Vec::new(),
            departures: Vec::new(),
            heard_of: Heard::default(),
            totals: End::default(),
        }
    }

    /// The same conversation, held only with a sender that has `key`. The `nonces` are fresh and random.
    #[must_use]
    pub fn locked(self, key: Arc<Key>, nonces: [Token; 2]) -> Self {
        let [nonce, own] = nonces;
        Self { lock: Some(Lock { key, nonce, own }), ..self }
    }

    /// Whether the sender failed to prove that it has the key.
    pub fn has_refused_proof(&self) -> bool {
        self.proof_refused
    }

    /// The same, for one-way sessions as well, whose probes have `key`, which is fresh and secret.
    #[must_use]
    pub fn with_one_way(mut self, key: [u8; 16]) -> Self {
        self.key = Some(key);
        self
    }

    /// What the responder itself may still send to this sender, packets a second.
    pub fn allow(&mut self, own_packets_per_second: u64) {
        self.limits.own_packets_per_second = own_packets_per_second;
    }

    /// The session that was granted asks the responder to send this many packets a second; 0 where it does not.
    pub fn own_rate(&self) -> u64 {
        self.request.as_ref().filter(|request| request.stream.is_some()).map_or(0, Request::rate)
    }

    /// The conversation is over.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    fn is_one_way(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.direction.is_one_way())
    }

    /// When [`Server::on_time`] wants to be called at the latest.
    pub fn deadline(&self) -> Option<Timestamp<Monotonic>> {
        match self.state {
            State::Greeting if !self.heard => Some(self.connected + self.limits.first_frame),
            State::Greeting | State::Proving | State::Requesting => {
                Some(self.connected + self.limits.handshake)
            }
            State::Running { deadline } if self.is_one_way() => Some(deadline.min(self.last_word + SILENCE)),
            State::Associating { deadline } | State::Running { deadline } | State::Finishing { deadline } => {
                Some(deadline)
            }
            State::Over => None,
        }
    }

    /// Bytes were read. `busy` says that no further session can be opened.
    pub fn on_bytes(&mut self, bytes: &[u8], busy: bool, now: Timestamp<Monotonic>) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.is_over() {
            return actions;
        }
        self.decoder.extend(bytes);
        self.last_word = now;
        loop {
            match self.decoder.next() {
                Ok(None) => return actions,
                Ok(Some(message)) => {
                    self.heard = true;
                    self.on_message(message, busy, now, &mut actions);
                }
                Err(error @ CodecError::Body { .. }) => {
                    actions.push(complain(ComplaintCode::Body, error.to_string()));
                }
                Err(CodecError::Length { .. }) => {
                    self.state = State::Over;
                    actions.push(Action::Close);
                }
            }
            if self.is_over() {
                return actions;
            }
        }
    }

    fn on_message(
        &mut self,
        message: Message,
        busy: bool,
        now: Timestamp<Monotonic>,
        actions: &mut Vec<Action>,
    ) {
        match (&self.state, message) {
            (State::Greeting, Message::Hello(hello)) => self.greet(&hello, actions),
            (State::Proving, Message::Proof(proof)) => self.prove(&proof, actions),
            (State::Requesting, Message::Request(request)) => self.request(request, busy, now, actions),
            (State::Associating { .. } | State::Running { .. }, Message::Stop) => {
                self.state = State::Finishing { deadline: now + Duration::from_secs(30) };
                actions.push(Action::Finish);
            }
            (State::Running { .. }, Message::Start) if self.own_rate() > 0 && !self.started => {
                self.started = true;
                actions.push(Action::Start);
            }
            (State::Running { .. }, Message::Halt) if self.started => actions.push(Action::Halt),
            (State::Associating { .. } | State::Running { .. }, Message::Ask) if self.is_one_way() => {
                actions.push(Action::Send(Message::Heard(self.heard_of)));
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

    fn greet(&mut self, hello: &Hello, actions: &mut Vec<Action>) {
        if hello.version != VERSION {
            actions.push(complain(
                ComplaintCode::Version,
                format!("version {} asked for, this romer speaks version {VERSION}", hello.version),
            ));
            self.state = State::Over;
            actions.push(Action::Close);
            return;
        }
        match &self.lock {
            Some(lock) => {
                actions.push(Action::Send(Message::Challenge(Challenge::new(lock.nonce))));
                self.state = State::Proving;
            }
            None => self.welcome(actions),
        }
    }

    fn prove(&mut self, proof: &Proof, actions: &mut Vec<Action>) {
        let answer = self.lock.as_ref().and_then(|lock| {
            let asked = proof.verified(&lock.key, possession::End::Sender, lock.nonce)?;
            Some(Proof::new(&lock.key, possession::End::Responder, asked, lock.own))
        });
        match answer {
            Some(answer) => {
                actions.push(Action::Send(Message::Proof(answer)));
                self.welcome(actions);
            }
            None => {
                self.proof_refused = true;
                let why = "the proof does not show that the sender has this responder's key";
                actions.push(complain(ComplaintCode::Proof, why.into()));
                self.state = State::Over;
                actions.push(Action::Close);
            }
        }
    }

    fn welcome(&mut self, actions: &mut Vec<Action>) {
        actions.push(Action::Send(Message::Welcome(Welcome {
            version: VERSION,
            software: self.software.clone(),
            clock: self.clock.clone(),
            test_port: self.test_port,
            kernel_stamps: self.kernel_stamps,
            clock_sync: self.clock_sync.clone(),
            features: self.features.clone(),
        })));
        self.state = State::Requesting;
    }

    fn request(
        &mut self,
        request: Request,
        busy: bool,
        now: Timestamp<Monotonic>,
        actions: &mut Vec<Action>,
    ) {
        if let Some(refused) = refusal(&request, &self.limits, busy, self.key.is_some()) {
            actions.push(Action::Send(Message::Refused(refused)));
            return;
        }
        let key = self.key.filter(|_| request.direction.is_one_way());
        let granted = Granted {
            token: hex(self.token),
            buffered_records: u64::try_from(self.limits.buffered_records).unwrap_or(u64::MAX),
            key: key.map(hex),
        };
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
        match self.state {
            State::Associating { .. } => {
                let length = self.request.as_ref().map_or(Duration::ZERO, Request::length);
                let grace = Duration::from_secs(120);
                self.state = State::Running { deadline: now + length + grace };
            }
            State::Running { .. } => {}
            _ => return Vec::new(),
        }
        vec![Action::Send(Message::Associated(Associated { address: address.to_string() }))]
    }

    /// A one-way probe of this session has arrived for the first time.
    pub fn on_first_arrival(&mut self) {
        self.heard_of.received += 1;
    }

    /// A probe of the responder's own has left, and its transmit stamp is known or given up; or it could not leave.
    pub fn on_departure(&mut self, record: FarSent) -> Vec<Action> {
        if self.is_over() || self.request.is_none() {
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
        if self.is_over() {
            return Vec::new();
        }
        vec![Action::Send(Message::Departed(Departed { count }))]
    }

    /// A test packet of this session was reflected, and its transmit stamp is known or given up; or a one-way probe of
    /// it arrived.
    pub fn on_record(&mut self, record: Far) -> Vec<Action> {
        if self.is_over() || self.request.is_none() {
            return Vec::new();
        }
        self.totals.received += 1;
        self.totals.reflected += u64::from(record.t3_user_ns.is_some());
        self.totals.stamps_missing += u64::from(record.t3_user_ns.is_some() && record.t3_kernel_ns.is_none());
        if self.records.len() >= self.limits.buffered_records {
            self.totals.records_lost += 1;
            return Vec::new();
        }
        self.records.push(record);
        if 2 * self.records.len() >= self.limits.buffered_records { self.drain() } else { Vec::new() }
    }

    /// Records of this session were lost before they came here, and datagrams before they were read.
    pub fn on_losses(&mut self, records: u64, kernel_drops: u64) {
        self.totals.records_lost += records;
        self.totals.kernel_drops += kernel_drops;
    }

    /// All records are here: sends them and the totals.
    pub fn finish(&mut self) -> Vec<Action> {
        if !matches!(self.state, State::Finishing { .. }) {
            return Vec::new();
        }
        let mut actions = self.drain();
        actions.push(Action::Send(Message::End(self.totals)));
        actions.push(Action::Close);
        self.state = State::Over;
        actions
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
        let arrivals = self.records.chunks(Message::RECORDS_IN_A_FRAME);
        let departures = self.departures.chunks(Message::RECORDS_IN_A_FRAME);
        let actions = arrivals
            .map(|records| Action::Send(Message::Log(records.to_vec())))
            .chain(departures.map(|records| Action::Send(Message::Departures(records.to_vec()))))
            .collect();
        self.records.clear();
        self.departures.clear();
        actions
    }
}

fn complain(code: ComplaintCode, message: String) -> Action {
    Action::Send(Message::Complaint(Complaint { code, message }))
}

#[cfg(test)]
mod tests {
    use super::super::{FarStream, RefusalCode, Refused};
    use super::*;
    use proptest::prelude::*;
    use romer_record::document::Way;

    fn at(seconds: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }
    fn clock() -> ClockIdentity {
        ClockIdentity { boot_id: "b".into(), realtime_minus_boottime_ns: 0 }
    }
    fn server(limits: Limits) -> Server {
        let welcome = Welcome {
            version: VERSION,
            software: "romer".into(),
            clock: clock(),
            test_port: 862,
            kernel_stamps: true,
            clock_sync: None,
            features: vec!["one-way".into()],
        };
        Server::new(limits, welcome, [7; 16], at(0)).with_one_way([8; 16])
    }
    fn bytes(message: &Message) -> Vec<u8> {
        let mut out = Vec::new();
        message.encode(&mut out);
        out
    }
    fn hello() -> Message {
        Message::Hello(Hello { version: VERSION, software: "t".into(), clock: clock() })
    }
    fn request() -> Request {
        Request {
            ssid: 5,
            interval_ns: 10_000_000,
            count: 100,
            payload_octets: 44,
            direction: Way::RoundTrip,
            stream: None,
        }
    }
    fn say(server: &mut Server, message: &Message) -> Vec<Action> {
        server.on_bytes(&bytes(message), false, at(1))
    }

    #[test]
    fn a_whole_conversation_brings_every_record_and_the_totals() {
        let mut server = server(Limits::default());
        assert!(matches!(say(&mut server, &hello())[..], [Action::Send(Message::Welcome(_))]));
        let granted = say(&mut server, &Message::Request(request()));
        assert!(matches!(granted[..], [Action::Open(_), Action::Send(Message::Granted(_))]));
        let associated = server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
        assert!(matches!(associated[..], [Action::Send(Message::Associated(_))]));
        for sequence in 0..10 {
            let record = Far { sequence, t3_user_ns: Some(1), ..Far::default() };
            assert!(server.on_record(record).is_empty(), "nothing disturbs the path while it is measured");
        }
        assert_eq!(say(&mut server, &Message::Stop), [Action::Finish]);
        let last = server.finish();
        let [Action::Send(Message::Log(records)), Action::Send(Message::End(end)), Action::Close] = &last[..]
        else {
            panic!("{last:?}");
        };
        assert_eq!(records.len(), 10);
        assert_eq!(*end, End { received: 10, reflected: 10, stamps_missing: 10, ..End::default() });
        assert!(server.is_over());
    }

    #[test]
    fn a_responder_with_a_key_speaks_only_to_who_has_it_and_proves_that_it_has_it_too() {
        let key = |fill| Key::new(&[fill; 32]).unwrap();
        let greeted = || {
            let mut server = server(Limits::default()).locked(Arc::new(key(1)), [[3; 16], [4; 16]]);
            let asked = say(&mut server, &hello());
            assert_eq!(asked, [Action::Send(Message::Challenge(Challenge::new([3; 16])))]);
            let early = say(&mut server, &Message::Request(request()));
            assert!(
                matches!(&early[..], [Action::Send(Message::Complaint(c))] if c.code == ComplaintCode::State)
            );
            server
        };
        let mut server = greeted();
        let proof = Proof::new(&key(1), possession::End::Sender, [3; 16], [5; 16]);
        let [Action::Send(Message::Proof(answer)), Action::Send(Message::Welcome(_))] =
            &say(&mut server, &Message::Proof(proof))[..]
        else {
            panic!("not let in");
        };
        assert_eq!(answer.verified(&key(1), possession::End::Responder, [5; 16]), Some([4; 16]));
        assert!(!server.has_refused_proof());
        let granted = say(&mut server, &Message::Request(request()));
        assert!(matches!(granted[..], [Action::Open(_), Action::Send(Message::Granted(_))]));

        for (key, asked) in [(key(2), [3; 16]), (key(1), [6; 16])] {
            let mut server = greeted();
            let proof = Proof::new(&key, possession::End::Sender, asked, [5; 16]);
            let shut = say(&mut server, &Message::Proof(proof));
            assert!(
                matches!(&shut[..], [Action::Send(Message::Complaint(c)), Action::Close] if c.code == ComplaintCode::Proof)
            );
            assert!(server.has_refused_proof() && server.is_over());
        }
    }

    #[test]
    fn a_half_full_buffer_is_sent_back_during_the_run_and_an_overfull_one_is_counted() {
        let mut server = server(Limits { buffered_records: 8, ..Limits::default() });
        say(&mut server, &hello());
        say(&mut server, &Message::Request(request()));
        let sent: usize = (0..20)
            .flat_map(|sequence| server.on_record(Far { sequence, ..Far::default() }))
            .map(|action| match action {
                Action::Send(Message::Log(records)) => records.len(),
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(sent, 20);
    }

    fn stream() -> FarStream {
        FarStream {
            model: "periodic".into(),
            interval_ns: Some(10_000_000),
            size: Some(14),
            bundle: None,
            count: Some(100),
            duration_ns: None,
            seed: [0; 6],
            jitter: None,
            ipv6: false,
            floor: 9,
            dscp: 0,
            ecn: 0,
            ttl: 255,
        }
    }
    fn reverse(stream: FarStream) -> Message {
        let request = Request { direction: Way::Reverse, payload_octets: 14, ..request() };
        Message::Request(Request { stream: Some(stream), ..request })
    }
    fn running(message: &Message) -> Server {
        let mut server = server(Limits::default());
        say(&mut server, &hello());
        let granted = say(&mut server, message);
        let [Action::Open(session), Action::Send(Message::Granted(granted))] = &granted[..] else {
            panic!("{granted:?}")
        };
        assert_eq!((session.key, granted.key.as_deref()), ([8; 16], Some("08".repeat(16).as_str())));
        server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
        server
    }

    #[test]
    fn a_far_end_sends_once_it_is_told_to_and_its_departures_come_back() {
        let mut server = running(&reverse(stream()));
        assert_eq!(server.own_rate(), 100);
        assert_eq!(say(&mut server, &Message::Start), [Action::Start]);
        assert!(matches!(say(&mut server, &Message::Start)[..], [Action::Send(Message::Complaint(_))]));
        for sequence in 0..3 {
            let refused = sequence == 2;
            assert!(server.on_departure(FarSent { sequence, refused, ..FarSent::default() }).is_empty());
        }
        assert_eq!(
            say(&mut server, &Message::Ask),
            [Action::Send(Message::Heard(Heard { received: 0, departed: 2 }))]
        );
        assert_eq!(say(&mut server, &Message::Halt), [Action::Halt]);
        assert_eq!(server.on_departed(2), [Action::Send(Message::Departed(Departed { count: 2 }))]);
        assert_eq!(say(&mut server, &Message::Stop), [Action::Finish]);
        let last = server.finish();
        assert!(
            matches!(&last[..], [Action::Send(Message::Departures(d)), Action::Send(Message::End(_)), Action::Close] if d.len() == 3)
        );
    }

    #[test]
    fn a_far_end_sends_nothing_in_sessions_of_the_other_ways() {
        let forward = Message::Request(Request { direction: Way::Forward, ..request() });
        let mut server = running(&forward);
        assert_eq!(server.own_rate(), 0);
        for message in [Message::Start, Message::Halt] {
            assert!(matches!(say(&mut server, &message)[..], [Action::Send(Message::Complaint(_))]));
        }
        server.on_first_arrival();
        let heard = Heard { received: 1, departed: 0 };
        assert_eq!(say(&mut server, &Message::Ask), [Action::Send(Message::Heard(heard))]);
    }

    #[test]
    fn a_sender_of_a_one_way_session_that_falls_silent_is_left() {
        let mut server = running(&reverse(stream()));
        say(&mut server, &Message::Start);
        server.on_bytes(&bytes(&Message::Ask), false, at(10));
        assert!(server.on_time(at(29)).is_empty());
        assert_eq!(server.on_time(at(30)), [Action::Close]);
        assert!(server.is_over());
    }

    #[test]
    fn what_a_far_end_would_not_send_is_refused_in_words() {
        let base = stream;
        for (wrong, code, part) in [
            (FarStream { interval_ns: Some(9_000), ..base() }, RefusalCode::Rate, "packets a second"),
            (FarStream { size: Some(9_001), ..base() }, RefusalCode::Size, "octets"),
            (FarStream { floor: 65_000, ..base() }, RefusalCode::Size, "octets"),
            (FarStream { floor: 0, size: Some(8), ..base() }, RefusalCode::Invalid, "9"),
            (FarStream { count: Some(1 << 34), ..base() }, RefusalCode::Length, "long"),
            (FarStream { count: None, ..base() }, RefusalCode::Invalid, "count or a duration"),
            (FarStream { model: "trace:/dev/zero".into(), ..base() }, RefusalCode::Invalid, "trace"),
            (FarStream { model: "\u{1b}[31m".into(), ..base() }, RefusalCode::Invalid, "model"),
            (FarStream { dscp: 64, ..base() }, RefusalCode::Invalid, "code point"),
            (FarStream { ttl: 0, ..base() }, RefusalCode::Invalid, "live"),
            (
                FarStream { model: "token-bucket:14MBps,1400000B".into(), interval_ns: None, ..base() },
                RefusalCode::Rate,
                "packets a second",
            ),
        ] {
            let mut server = server(Limits::default());
            say(&mut server, &hello());
            let refused = say(&mut server, &reverse(wrong.clone()));
            let [Action::Send(Message::Refused(Refused { code: found, message, .. }))] = &refused[..] else {
                panic!("{wrong:?}: {refused:?}")
            };
            assert_eq!(*found, code, "{message}");
            assert!(message.contains(part), "{message}");
        }
        let mut poor = server(Limits { own_packets_per_second: 99, ..Limits::default() });
        say(&mut poor, &hello());
        assert!(matches!(say(&mut poor, &reverse(stream()))[..], [Action::Send(Message::Refused(_))]));
        poor.allow(100);
        assert!(matches!(say(&mut poor, &reverse(stream()))[..], [Action::Open(_), _]));
    }

    #[test]
    fn silence_and_slow_drips_end_by_their_deadlines() {
        let mut silent = server(Limits::default());
        assert!(silent.on_time(at(4)).is_empty());
        assert_eq!(silent.on_time(at(5)), [Action::Close]);
        let mut slow = server(Limits::default());
        say(&mut slow, &hello());
        assert!(slow.on_time(at(9)).is_empty());
        assert_eq!(slow.on_time(at(10)), [Action::Close]);
    }

    #[test]
    fn what_is_over_a_limit_is_refused_with_the_limit_and_can_be_asked_again() {
        let mut server = server(Limits { packets_per_second: 1_000, ..Limits::default() });
        say(&mut server, &hello());
        let fast = Request { interval_ns: 10_000, ..request() };
        let refused = say(&mut server, &Message::Request(fast));
        let [Action::Send(Message::Refused(refused))] = &refused[..] else { panic!("{refused:?}") };
        assert_eq!((refused.code, refused.granted), (RefusalCode::Rate, Some(1_000)));
        let long = Request { interval_ns: 1_000_000_000, count: u64::MAX, ..request() };
        assert!(matches!(
            say(&mut server, &Message::Request(long))[..],
            [Action::Send(Message::Refused(Refused { code: RefusalCode::Length, .. }))]
        ));
        let busy = server.on_bytes(&bytes(&Message::Request(request())), true, at(1));
        assert!(
            matches!(&busy[..], [Action::Send(Message::Refused(r))] if r.code == RefusalCode::Busy && r.retry_after_seconds.is_some())
        );
        assert!(matches!(say(&mut server, &Message::Request(request()))[..], [Action::Open(_), _]));
    }

    #[test]
    fn unknown_and_untimely_frames_are_named_and_the_connection_stays() {
        let mut server = server(Limits::default());
        let untimely = say(&mut server, &Message::Request(request()));
        assert!(
            matches!(&untimely[..], [Action::Send(Message::Complaint(c))] if c.code == ComplaintCode::State)
        );
        let unknown = server.on_bytes(&[0, 0, 0, 1, 99], false, at(1));
        assert!(
            matches!(&unknown[..], [Action::Send(Message::Complaint(c))] if c.code == ComplaintCode::UnknownType)
        );
        let body = server.on_bytes(&[0, 0, 0, 2, 1, b'{'], false, at(1));
        assert!(matches!(&body[..], [Action::Send(Message::Complaint(c))] if c.code == ComplaintCode::Body));
        assert!(matches!(say(&mut server, &hello())[..], [Action::Send(Message::Welcome(_))]));
        assert_eq!(server.on_bytes(&[0xff; 4], false, at(1)), [Action::Close]);
    }

    #[test]
    fn another_version_is_told_so_and_left() {
        let mut server = server(Limits::default());
        let other = Message::Hello(Hello { version: 2, software: "t".into(), clock: clock() });
        let actions = say(&mut server, &other);
        assert!(
            matches!(&actions[..], [Action::Send(Message::Complaint(c)), Action::Close] if c.code == ComplaintCode::Version)
        );
    }

    #[test]
    fn one_clock_is_known_by_boot_and_by_the_distance_of_its_readings() {
        let here = ClockIdentity { boot_id: "a".into(), realtime_minus_boottime_ns: 1_000_000 };
        assert!(
            here.is_shared_with(&ClockIdentity { realtime_minus_boottime_ns: 1_010_000, ..here.clone() })
        );
        assert!(
            !here.is_shared_with(&ClockIdentity { realtime_minus_boottime_ns: 2_000_000, ..here.clone() })
        );
        assert!(!here.is_shared_with(&ClockIdentity { boot_id: "b".into(), ..here.clone() }));
        let unread = ClockIdentity { boot_id: String::new(), realtime_minus_boottime_ns: 0 };
        assert!(!unread.is_shared_with(&unread.clone()), "what could not be read proves nothing");
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_an_answer_or_a_close_and_never_in_a_panic(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..30),
        ) {
            let mut server = server(Limits::default());
            for (chunk, second) in chunks.iter().zip(0..) {
                server.on_bytes(chunk, false, at(second));
                server.on_time(at(second));
            }
            server.on_time(at(1_000));
            prop_assert!(server.is_over());
        }
    }
}
