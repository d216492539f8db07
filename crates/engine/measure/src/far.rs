//! The sender's side of a control conversation.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration as StdDuration, Instant};

use romer_endpoint::EndpointError;
use romer_endpoint::byte_stream::{ByteStream, Protection};
use romer_endpoint::circumstances::{clock_identity, random};
use romer_endpoint::host_events::far_words;
use romer_endpoint::names::with_zone;
use romer_endpoint::tls::{PeerChannel, Unverified, tls_fault};
use romer_host::stream::Origin;
use romer_record::SOFTWARE;
use romer_record::document::{Chrony, ClockSync, DamagedProbes, Pps, Ptp};
use romer_record::event::{Event, ProtocolFault};
use romer_record::log::{Card, Entry, ResponderDeparture, ResponderRecord};
use romer_record::plausible::SPANS;
use romer_report::event::protocol_fault;
use romer_report::warning::Text as _;
use romer_session::association::Token;
use romer_session::control::{
    AUTHENTICATE, Challenge, ClientHello, CodecError, ComplaintCode, Damaged, Decoder, FEATURES, Granted,
    Inbox, KEEP_ALIVE, LAST_WORD, Message, Progress, Proof, RefusalCode, Request, Resume,
    ReverseStreamRequest, SILENCE, ServerHello, SessionTotals, VERSION, hex, possession, unhex,
};
use romer_units::Duration;
use romer_wire::stamp::Key;

use self::error::HUNG_UP;
pub(super) use self::error::{Absent, INVALID_ANSWER};

/// How long a connection may take to be made. A path of one second each way is measured all the same.
const CONNECT: StdDuration = StdDuration::from_secs(3);
/// How long an answer may take.
const ANSWER: StdDuration = StdDuration::from_secs(5);

/// As many octets cost as much as a message, or a record in one.
const OCTETS_OF_ONE: u64 = 64;
/// What the far end may tell of each probe: three records (of the packet and of two stamps of a network card), each with its
/// octets, of four copies of the probe.
const FOR_A_PROBE: u64 = 4 * 3 * 2;
/// What it may tell besides: 65,536 messages with their octets, and 32 more each second.
const BESIDES: u64 = 2 * 65_536;
const EACH_SECOND: u64 = 2 * 32;
/// Programs that keep its clock, of those that it names. romer knows six.
const MOST_SYNC_DAEMONS: usize = 16;
/// What is taken of it at a time. The log's queue has room for it.
const TURN: u64 = 1 << 15;

/// How much a far end has told, and may tell. Its octets cost, and its messages, and the records in them.
#[derive(Clone, Copy, Debug)]
struct Budget {
    began: Instant,
    probes: u64,
    octets: u64,
    messages: u64,
}

impl Budget {
    /// From now on, for a conversation without a session.
    fn begin() -> Self {
        Self { began: Instant::now(), probes: 0, octets: 0, messages: 0 }
    }

    const fn spent(&self) -> u64 {
        self.messages.saturating_add(self.octets / OCTETS_OF_ONE)
    }

    /// What may be spent up to now.
    fn most(&self) -> u64 {
        let probes = self.probes.saturating_mul(FOR_A_PROBE);
        let seconds = self.began.elapsed().as_secs().saturating_mul(EACH_SECOND);
        probes.saturating_add(seconds).saturating_add(BESIDES)
    }

    fn is_overrun(&self) -> bool {
        self.spent() > self.most()
    }

    /// What `message` reports that this session cannot have.
    fn fault_of(&self, message: &Message) -> Option<ProtocolFault> {
        let is_known = |sequence| sequence < self.probes;
        let (is_possible, fault) = match message {
            Message::Departed(departed) => (departed.count <= self.probes, ProtocolFault::ImpossibleNumbers),
            Message::Departures(records) if !records.iter().all(|sent| is_known(sent.sequence)) => {
                (false, ProtocolFault::ImpossibleNumbers)
            }
            Message::Departures(records) => {
                (records.iter().all(ResponderDeparture::is_plausible), ProtocolFault::ImplausibleTimes)
            }
            // A number of these was altered on the way, perhaps.
            Message::Log(records) => {
                (records.iter().all(ResponderRecord::is_plausible), ProtocolFault::ImplausibleTimes)
            }
            Message::Cards(cards) => (cards.iter().all(Card::is_plausible), ProtocolFault::ImplausibleTimes),
            Message::Events(events) => {
                (events.events.iter().all(Event::is_plausible), ProtocolFault::ImplausibleTimes)
            }
            Message::Associated(associated) => {
                let earlier = associated.earlier.iter().map(|moved| moved.moved_ns);
                let mut ages = associated.moved_ns.into_iter().chain(earlier).flatten();
                (ages.all(|age| SPANS.contains(&age)), ProtocolFault::ImplausibleTimes)
            }
            Message::End(end) => {
                (end.clock_sync.as_ref().is_none_or(ClockSync::is_plausible), ProtocolFault::ImplausibleTimes)
            }
            Message::Damaged(damaged) => {
                let is_possible = damaged.forward.as_ref().is_none_or(DamagedProbes::is_plausible);
                (is_possible, ProtocolFault::ImpossibleNumbers)
            }
            Message::Welcome(welcome) if welcome.test_port == 0 => (false, ProtocolFault::NoTestPort),
            Message::Welcome(welcome) => (
                welcome.clock_sync.as_ref().is_none_or(ClockSync::is_plausible),
                ProtocolFault::ImplausibleTimes,
            ),
            _ => (true, ProtocolFault::ImpossibleNumbers),
        };
        (!is_possible).then_some(fault)
    }

    /// A message came, one that cannot be read included.
    fn take(&mut self, message: Option<&Message>) {
        let items = match message {
            Some(Message::Log(records)) => records.len(),
            Some(Message::Departures(records)) => records.len(),
            Some(Message::Cards(cards)) => cards.len(),
            Some(Message::Events(events)) => events.events.len(),
            Some(Message::Associated(associated)) => associated.earlier.len(),
            _ => 0,
        };
        self.messages = self.messages.saturating_add(1).saturating_add(counted(items));
    }

    /// This conversation goes on where `before` ended.
    const fn succeed(&mut self, before: &Self) {
        self.began = before.began;
        self.probes = before.probes;
        self.octets = self.octets.saturating_add(before.octets);
        self.messages = self.messages.saturating_add(before.messages);
    }
}

fn counted(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

/// The error of a far end that hangs up before its welcome.
fn hung_up<T>() -> Result<T, Absent> {
    Err(Absent::Foreign(HUNG_UP.into()))
}

/// What the far end has told.
#[derive(Debug, Default)]
pub(super) struct ResponderReport {
    /// Its records, as entries of the log.
    pub(super) entries: Vec<Entry>,
    /// How far it has come, if it said so.
    pub(super) progress: Option<Progress>,
    /// All of its own probes have left: so many.
    pub(super) departed: Option<u64>,
    /// Where it saw our datagrams come from, in order; where that was another address than before: how long before the last
    /// association that came to it the last datagram came from there, and the first from here, nanoseconds.
    pub(super) places: Vec<(String, Option<[i64; 2]>)>,
    /// What happened to it, in its own words and times.
    pub(super) events: Vec<Event>,
    /// The damaged probes that came to it.
    pub(super) damaged: Option<Damaged>,
    /// That it will not do what it was told.
    pub(super) objection: Option<String>,
}

impl ResponderReport {
    fn take(&mut self, message: Message) {
        match message {
            Message::Log(records) => self.entries.extend(records.into_iter().map(Entry::Far)),
            Message::Departures(records) => self.entries.extend(records.into_iter().map(Entry::FarSent)),
            Message::Cards(cards) => self.entries.extend(cards.into_iter().map(Entry::Card)),
            Message::Heard(progress) => self.progress = Some(progress),
            Message::Departed(departed) => self.departed = Some(departed.count),
            Message::Associated(associated) => {
                let earlier = associated.earlier.into_iter();
                self.places.extend(earlier.map(|moved| (moved.address, Some(moved.moved_ns))));
                self.places.push((associated.address, associated.moved_ns));
            }
            Message::Events(events) => self.events.extend(events.events),
            Message::Damaged(damaged) => self.damaged = Some(damaged),
            Message::Complaint(complaint) if complaint.code == ComplaintCode::State => {
                self.objection = Some(far_words(&complaint.message));
            }
            _ => {}
        }
    }
}

/// A session that was granted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    pub(super) token: Token,
    /// Key of the one-way probes, if the session is one-way.
    pub(super) key: Option<[u8; 16]>,
}

/// What a new connection needs to resume a session.
#[derive(Clone, Debug)]
pub(super) struct ResumeToken {
    address: SocketAddr,
    from: Origin,
    channel: PeerChannel,
    secret: Token,
    heard: u64,
    /// Messages that the far end can have said up to now.
    most: u64,
}

/// A conversation with a responder.
#[derive(Debug)]
pub(super) struct Conversation {
    address: SocketAddr,
    from: Origin,
    channel: PeerChannel,
    /// Nothing has verified the identity of the far end.
    unverified: Option<Unverified>,
    stream: Box<dyn ByteStream>,
    decoder: Decoder,
    budget: Budget,
    /// What the far end did that ends the conversation.
    fault: Option<ProtocolFault>,
    broken: bool,
    asked: Instant,
    heard: Instant,
    /// The first question since it was heard.
    unanswered: Option<Instant>,
    /// Where the far end saw our datagrams come from at last.
    seen_at: Option<String>,
    /// This end's address of the connection.
    local: Option<IpAddr>,
    /// By what the session goes on over another connection, where the far end can that.
    secret: Option<Token>,
    inbox: Inbox,
    /// What was ordered last: it may be lost with a connection.
    ordered: Option<Message>,
    pub(super) welcome: ServerHello,
}

impl Conversation {
    /// Over a connection on which nothing has been said, from this end's address `local`.
    fn over(address: SocketAddr, stream: Box<dyn ByteStream>, local: Option<IpAddr>) -> Self {
        Self {
            address,
            from: Origin::default(),
            channel: PeerChannel::plain(),
            unverified: None,
            stream,
            decoder: Decoder::default(),
            budget: Budget::begin(),
            fault: None,
            broken: false,
            asked: Instant::now(),
            heard: Instant::now(),
            unanswered: None,
            seen_at: None,
            local,
            secret: None,
            inbox: Inbox::default(),
            ordered: None,
            welcome: ServerHello::new("", clock_identity(), 0),
        }
    }

    /// Connects from there over `channel` and greets; with a key only who has it.
    pub(super) fn begin(
        address: SocketAddr,
        from: &Origin,
        key: Option<&Key>,
        channel: &PeerChannel,
    ) -> Result<Self, Absent> {
        match Self::begin_over(address, from, key, channel) {
            // A port of this host may be forwarded to a responder elsewhere.
            Err(Absent::Unprotected) if channel.has_tls() => {
                Self::begin_over(address, from, key, &channel.clone().protected_here(true))
            }
            begun => begun,
        }
    }

    /// The same, protected where `channel` requires it.
    fn begin_over(
        address: SocketAddr,
        from: &Origin,
        key: Option<&Key>,
        channel: &PeerChannel,
    ) -> Result<Self, Absent> {
        let unreachable = |error: io::Error| Absent::Unreachable(without_errno(&error));
        let tcp = romer_host::stream::connect(address, from, CONNECT)
            .map_err(|error| Absent::classify(&error, address, from))?;
        let _ = tcp.set_nodelay(true);
        let local = tcp.local_addr().ok().map(|local| local.ip());
        let mut unverified = None;
        let stream: Box<dyn ByteStream> = if channel.is_protected(address, local) {
            let (stream, first_contact) = channel.protect(tcp, ANSWER)?;
            unverified = first_contact;
            Box::new(stream)
        } else {
            Box::new(tcp)
        };
        let features = FEATURES.map(str::to_owned).to_vec();
        let hello =
            ClientHello { version: VERSION, software: SOFTWARE.into(), clock: clock_identity(), features };
        let (from, channel) = (from.clone(), channel.clone());
        let mut conversation = Self { from, channel, unverified, ..Self::over(address, stream, local) };
        conversation.say(&Message::Hello(hello)).map_err(unreachable)?;
        conversation.be_welcomed(key)?;
        if let Some(first_contact) = &mut conversation.unverified {
            conversation.channel.remember(first_contact);
        }
        Ok(conversation)
    }

    /// What comes after the greeting: a proof of the key on both sides where there is one, and the welcome.
    fn be_welcomed(&mut self, key: Option<&Key>) -> Result<(), Absent> {
        let mut proved = false;
        loop {
            match (self.hear(ANSWER), key) {
                (Ok(Some(Message::Welcome(_))), Some(_)) if !proved => {
                    return Err(Absent::Locked {
                        why: "the responder has no key, and --key-file requires authenticated tests".into(),
                        mend: "start `romer respond` there with the same --key-file, or measure without it",
                    });
                }
                (Ok(Some(Message::Welcome(welcome))), _) if welcome.version == VERSION => {
                    self.welcome = in_few_words(welcome);
                    return Ok(());
                }
                (Ok(Some(Message::Challenge(challenge))), Some(key)) if !proved => {
                    self.prove(&challenge, key)?;
                    proved = true;
                }
                (Ok(Some(Message::Challenge(_))), None) => {
                    return Err(Absent::Locked {
                        why: "the responder requires a key".into(),
                        mend: "give the key that it was started with (--key-file)",
                    });
                }
                (Ok(Some(Message::Complaint(complaint))), _) => return Err(Absent::from(&complaint)),
                (Ok(Some(_)), _) => {
                    return Err(Absent::Foreign("it uses another version of the control protocol".into()));
                }
                (Ok(None), _) => return hung_up(),
                (Err(error), _) if tls_fault(&error).is_some() => {
                    return Err(Absent::Untrusted {
                        why: format!("TLS failed: {}", tls_fault(&error).unwrap_or_default()),
                        mend: "if the responder has --tls-ca, use a certificate of its authorities (--tls-cert, --tls-key)".into(),
                    });
                }
                (Err(error), _) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return hung_up();
                }
                (Err(error), _) => return Err(Absent::Foreign(without_errno(&error))),
            }
        }
    }

    /// Proves that this end has the key, and sees that the other has it.
    fn prove(&mut self, challenge: &Challenge, key: &Key) -> Result<(), Absent> {
        let other_key = || Absent::Locked {
            why: "the responder has another key".into(),
            mend: "give both ends the same key file (--key-file)",
        };
        let asked =
            unhex(&challenge.nonce).ok_or_else(|| Absent::Foreign("its challenge is invalid".into()))?;
        let own = random();
        let proof = Proof::new(key, possession::End::Sender, asked, own);
        self.say(&Message::Proof(proof)).map_err(|error| Absent::Unreachable(without_errno(&error)))?;
        match self.hear(ANSWER) {
            Ok(Some(Message::Proof(answer)))
                if answer.verified(key, possession::End::Responder, own).is_some() =>
            {
                Ok(())
            }
            Ok(_) => Err(other_key()),
            Err(error) => Err(Absent::Foreign(without_errno(&error))),
        }
    }

    /// Asks for a session.
    pub(super) fn request(&mut self, request: Request) -> Result<Grant, EndpointError> {
        let one_way = request.direction.is_one_way();
        for part in request.stream.iter().flat_map(ReverseStreamRequest::parts) {
            self.say(&part).map_err(|error| self.lost(&error))?;
        }
        self.budget.probes = request.count;
        self.say(&Message::Request(request)).map_err(|error| self.lost(&error))?;
        match self.hear(ANSWER) {
            Ok(Some(Message::Granted(Granted { token, key, secret, .. }))) => {
                self.secret = secret.as_deref().and_then(unhex);
                let token = unhex(&token).ok_or_else(|| self.odd())?;
                let key = key.map(|key| unhex(&key).ok_or_else(|| self.odd())).transpose()?;
                if one_way == key.is_some() { Ok(Grant { token, key }) } else { Err(self.odd()) }
            }
            Ok(Some(Message::Refused(refused))) => Err(EndpointError::Refused {
                address: with_zone(self.address),
                why: far_words(&refused.reason.text()),
                mend: match (refused.code, refused.retry_after_seconds, refused.granted) {
                    (_, Some(seconds), _) => format!("try again after {seconds} s"),
                    (RefusalCode::Rate, None, Some(limit)) => {
                        format!("use at most {limit} packets/s, for example --interval {}", slower(limit))
                    }
                    (RefusalCode::Length, None, _) => "use a shorter --duration or --count".into(),
                    (RefusalCode::Size, None, Some(limit)) => format!("use at most --size {limit}"),
                    _ => "change the request".into(),
                },
            }),
            Ok(_) => Err(self.odd()),
            Err(error) => Err(self.lost(&error)),
        }
    }

    /// Asks that the probes of the session are authenticated by key material of the connection. Gives the key.
    pub(super) fn authenticate(&mut self) -> Result<Key, EndpointError> {
        let address = with_zone(self.address);
        let refused = |why: String| EndpointError::Refused {
            address: address.clone(),
            why,
            mend: "measure without --authenticate, or with a key file at both ends".into(),
        };
        let key = match self.stream.protection() {
            Protection::Tls { probe_key, .. } => Key::new(&probe_key).ok(),
            Protection::Plain => None,
        };
        let key = key.filter(|_| self.welcome.has(AUTHENTICATE));
        let key = key.ok_or_else(|| refused("it has no keys of the control channel".into()))?;
        self.say(&Message::Authenticate).map_err(|error| self.lost(&error))?;
        loop {
            return match self.hear(ANSWER) {
                Ok(Some(Message::Authenticate)) => Ok(key),
                Ok(Some(Message::Complaint(complaint))) => Err(refused(far_words(&complaint.message))),
                // Something happened there just now.
                Ok(Some(Message::Events(_))) => continue,
                Ok(_) => Err(self.odd()),
                Err(error) => Err(self.lost(&error)),
            };
        }
    }

    /// Whether the next message, for which it waits up to `time`, confirms the association.
    pub(super) fn associated(&mut self, time: StdDuration) -> Result<bool, EndpointError> {
        match self.hear(time) {
            Ok(Some(Message::Associated(associated))) => {
                self.seen_at = Some(associated.address);
                Ok(true)
            }
            Ok(None) => Err(self.lost(&io::ErrorKind::UnexpectedEof.into())),
            Ok(Some(_)) => Ok(false),
            Err(error) if timed_out(&error) => Ok(false),
            Err(error) => Err(self.lost(&error)),
        }
    }

    /// Where the far end saw our datagrams come from, of the `places` that it told of in order: each that is news, with the one
    /// before it, and with what was told of the time in between.
    pub(super) fn moves(
        &mut self,
        places: Vec<(String, Option<[i64; 2]>)>,
    ) -> Vec<([String; 2], Option<[i64; 2]>)> {
        let known = places.iter().rposition(|(place, _)| self.seen_at.as_ref() == Some(place));
        let news = places.into_iter().skip(known.map_or(0, |known| known + 1));
        let moves = news.filter_map(|(now, between)| {
            let before = self.seen_at.replace(now.clone()).filter(|before| *before != now)?;
            Some(([before, now], between))
        });
        moves.collect()
    }

    /// Takes what has come, without waiting, up to [`TURN`]; the rest is for the next time. What came before the conversation broke is
    /// told as well: it counts as heard, and is not said again.
    pub(super) fn news(&mut self) -> ResponderReport {
        let mut told = ResponderReport::default();
        let most = self.budget.spent().saturating_add(TURN);
        while !self.broken {
            match self.hear_up_to(StdDuration::ZERO, most) {
                Ok(Some(message)) => {
                    self.inbox.take(&message);
                    told.take(message);
                }
                Err(error) if timed_out(&error) => {
                    self.acknowledge();
                    break;
                }
                Ok(None) | Err(_) => self.broken = true,
            }
        }
        told
    }

    /// Asks how far the far end has come, where `every` has passed since it was asked. It is taken for gone when it has
    /// been silent for long.
    pub(super) fn ask(&mut self, every: StdDuration) {
        if self.asked.elapsed() < every {
            return;
        }
        // Its word may have waited as long as we did not listen.
        if self.heard.elapsed() > SILENCE.to_std() && self.asked.elapsed() < KEEP_ALIVE.to_std() * 2 {
            self.broken = true;
        }
        self.asked = Instant::now();
        self.unanswered.get_or_insert(self.asked);
        self.send(&Message::Ask);
    }

    /// Tells the far end how far it was heard, so that it need not keep that.
    fn acknowledge(&mut self) {
        if self.secret.is_some()
            && let Some(received) = self.inbox.owed()
        {
            self.send(&received);
        }
    }

    /// What the far end did that ended the conversation, if it did: it sent or reported more than it may.
    pub(super) const fn fault(&self) -> Option<ProtocolFault> {
        self.fault
    }

    /// What another connection needs to go on with the session; `None` where the far end cannot, or committed a fault.
    pub(super) fn way_on(&self) -> Option<ResumeToken> {
        if self.fault.is_some() {
            return None;
        }
        Some(ResumeToken {
            address: self.address,
            from: self.from.clone(),
            channel: self.channel.clone(),
            secret: self.secret?,
            heard: self.inbox.heard(),
            most: self.inbox.heard().saturating_add(self.budget.most()),
        })
    }

    /// The far end, if nothing has verified its identity.
    pub(super) const fn unverified(&self) -> Option<&Unverified> {
        self.unverified.as_ref()
    }

    /// This end's address of the connection.
    pub(super) const fn local(&self) -> Option<IpAddr> {
        self.local
    }

    /// Whether the connection is no more.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }

    /// The far end did, or left undone, what ends the conversation.
    pub(super) const fn accuse(&mut self, fault: ProtocolFault) {
        self.fault = Some(fault);
        self.broken = true;
    }

    /// Nobody is to be heard or told anything any more.
    pub(super) const fn give_up(&mut self) {
        self.broken = true;
    }

    /// For how long the far end has left a question without an answer.
    pub(super) fn unanswered(&self) -> Option<StdDuration> {
        self.unanswered.map(|asked| asked.elapsed())
    }

    /// Connects anew and shows that the session is this end's, which knows for `silent` that something is amiss. Gives
    /// the conversation with the token for the new address.
    pub(super) fn resume(
        way_on: &ResumeToken,
        key: Option<&Key>,
        silent: StdDuration,
    ) -> Result<(Self, Token), Absent> {
        let mut conversation = Self::begin(way_on.address, &way_on.from, key, &way_on.channel)?;
        let silent_ns = i64::try_from(silent.as_nanos()).unwrap_or(i64::MAX);
        let resume = Resume { secret: hex(way_on.secret), heard: way_on.heard, silent_ns };
        let unreachable = |error: io::Error| Absent::Unreachable(without_errno(&error));
        conversation.say(&Message::Resume(resume)).map_err(unreachable)?;
        let heard = conversation.hear(ANSWER);
        if let Some(fault) = conversation.fault() {
            return Err(Absent::Foreign(protocol_fault(fault).into()));
        }
        match heard.map_err(unreachable)? {
            Some(Message::Resumed(resumed)) => {
                let odd = || Absent::Foreign("its answer makes no sense".into());
                let token = unhex(&resumed.token).ok_or_else(odd)?;
                conversation.secret = Some(way_on.secret);
                conversation.inbox = Inbox::after(way_on.heard);
                if !conversation.inbox.resumed(resumed.next, way_on.most) {
                    return Err(odd());
                }
                Ok((conversation, token))
            }
            Some(Message::Refused(refused)) => Err(Absent::Refused(far_words(&refused.reason.text()))),
            _ => Err(Absent::Foreign("it does not go on with the session".into())),
        }
    }

    /// Takes the place of `before`, whose session this is. What was ordered there last is ordered again.
    pub(super) fn succeed(&mut self, before: &mut Self) {
        self.seen_at = before.seen_at.take();
        self.budget.succeed(&before.budget);
        if let Some(ordered) = before.ordered.take() {
            self.order(ordered);
        }
    }

    /// Says `message`, an order that takes the place of those before it, and says it again if the session goes on over another
    /// connection: it may have been lost with this one.
    pub(super) fn order(&mut self, message: Message) {
        self.send(&message);
        self.ordered = Some(message);
    }

    /// Where the far end takes conversations.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says `message`; a failure shows in [`Conversation::news`].
    pub(super) fn send(&mut self, message: &Message) {
        if self.say(message).is_err() {
            self.broken = true;
        }
    }

    /// Hands what a far end that was told to stop tells to `keep` as it comes, for up to `time`. Gives the totals if they come;
    /// asks for a sign of life where nothing does.
    pub(super) fn hear_last(
        &mut self,
        time: StdDuration,
        keep: &mut impl FnMut(ResponderReport),
    ) -> Option<SessionTotals> {
        let deadline = Instant::now() + time;
        while !self.broken {
            let left = deadline.checked_duration_since(Instant::now())?;
            match self.hear(left) {
                Ok(Some(Message::End(end))) => {
                    let clock_sync = end.clock_sync.map(clock_in_few_words);
                    return Some(SessionTotals { clock_sync, ..end });
                }
                Ok(Some(message)) => {
                    self.inbox.take(&message);
                    let mut told = ResponderReport::default();
                    told.take(message);
                    keep(told);
                }
                Err(error) if timed_out(&error) => {
                    // Another hangs up after its last word, and takes what it is told then for a fault.
                    if self.welcome.has(LAST_WORD) {
                        self.acknowledge();
                        self.ask(time);
                    }
                    return None;
                }
                Ok(None) | Err(_) => self.broken = true,
            }
        }
        None
    }

    fn say(&mut self, message: &Message) -> io::Result<()> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.stream.set_patience(Some(ANSWER))?;
        self.stream.write_all(&bytes)?;
        self.stream.flush()
    }

    /// The next message within `time`; `Ok(None)` where the other end has hung up or does not speak our protocol.
    fn hear(&mut self, time: StdDuration) -> io::Result<Option<Message>> {
        self.hear_up_to(time, u64::MAX)
    }

    /// The same, until `most` has been spent of the budget: what is left then is as if it had not come yet.
    fn hear_up_to(&mut self, time: StdDuration, most: u64) -> io::Result<Option<Message>> {
        let deadline = Instant::now() + time;
        let mut buffer = [0; 16 * 1024];
        loop {
            // The budget grows with time; who overran it once is not heard again.
            if self.fault.is_none() && self.budget.is_overrun() {
                self.fault = Some(ProtocolFault::TooMuch);
            }
            if let Some(fault) = self.fault {
                return Err(io::Error::other(protocol_fault(fault)));
            }
            if self.budget.spent() >= most {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match self.decoder.next() {
                Ok(Some(Message::Unknown(_))) | Err(CodecError::Body { .. }) => {
                    self.budget.take(None);
                    continue;
                }
                Ok(Some(message)) => {
                    self.budget.take(Some(&message));
                    self.fault = self.budget.fault_of(&message);
                    if self.fault.is_some() {
                        continue;
                    }
                    return Ok(Some(message));
                }
                Err(CodecError::Length { .. }) => return Ok(None),
                Ok(None) => {}
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.stream.set_patience(Some(left).filter(|left| !left.is_zero()))?;
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => {
                    self.heard = Instant::now();
                    self.unanswered = None;
                    self.budget.octets = self.budget.octets.saturating_add(counted(count));
                    self.decoder.extend(&buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn lost(&self, error: &io::Error) -> EndpointError {
        EndpointError::Unreachable {
            address: with_zone(self.address),
            why: format!("the control conversation broke off: {}", without_errno(error)),
            mend: "see whether `romer respond` still runs there",
        }
    }

    fn odd(&self) -> EndpointError {
        EndpointError::Unreachable {
            address: with_zone(self.address),
            why: "the answer to the request is invalid".into(),
            mend: "use the same version of romer at both ends",
        }
    }
}

/// A welcome with its texts cut to what is kept of a far end's words.
fn in_few_words(welcome: ServerHello) -> ServerHello {
    let clock_sync = welcome.clock_sync.map(clock_in_few_words);
    ServerHello { software: far_words(&welcome.software), clock_sync, ..welcome }
}

/// The synchronisation of a far end's clock with its texts cut to what is kept of a far end's words.
fn clock_in_few_words(sync: ClockSync) -> ClockSync {
    let names =
        |all: &[String]| all.iter().take(MOST_SYNC_DAEMONS).map(|name| far_words(name)).collect::<Vec<_>>();
    let word = |text: Option<String>| text.as_deref().map(far_words);
    ClockSync {
        state: word(sync.state),
        sync_daemons: names(&sync.sync_daemons),
        chrony: sync.chrony.map(|chrony| Chrony { reference: far_words(&chrony.reference), ..chrony }),
        ptp: sync.ptp.map(|ptp| Ptp {
            grandmaster: word(ptp.grandmaster),
            port_state: word(ptp.port_state),
            ..ptp
        }),
        pps: sync.pps.map(|pps| Pps { sources: names(&pps.sources), ..pps }),
        ..sync
    }
}

fn timed_out(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The shortest interval, in whole microseconds, with at most `limit` packets per second.
fn slower(limit: u64) -> Duration {
    let interval = 1_000_000_000_u64.div_ceil(limit.max(1)).div_ceil(1_000);
    Duration::from_micros(i64::try_from(interval).unwrap_or(i64::MAX))
}

/// An error of the control connection, without the number that the system gives it.
#[derive(Debug)]
struct ConnectionError<'a>(&'a io::Error);

impl core::fmt::Display for ConnectionError<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let text = match self.0.kind() {
            io::ErrorKind::ConnectionRefused => "nothing listens at this TCP port",
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "no answer from the control port",
            io::ErrorKind::ConnectionReset => "the connection was reset",
            io::ErrorKind::UnexpectedEof => {
                "the responder closed the connection, or sent no message of romer"
            }
            _ => return core::fmt::Display::fmt(self.0, f),
        };
        f.write_str(text)
    }
}

impl core::error::Error for ConnectionError<'_> {}

fn without_errno(error: &io::Error) -> String {
    ConnectionError(error).to_string()
}

mod error;
#[cfg(test)]
mod tests;
