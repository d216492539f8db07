//! The Session-Reflector (RFC 8762 section 4.3, RFC 8972): which datagrams it answers, and with what.
//!
//! A reply is as long as its request, or a base packet where the request is shorter than one (RFC 8762 section 4.6): at
//! most 1.72 times the IP octets of the request (72 for 42). It never answers a reply, and sends no reply that another
//! reflector could not recognise as one ([`romer_wire::stamp::looks_like_reply`]), so that two reflectors cannot keep a
//! packet between them alive. Neither rule has an exception: two responders may be proved senders of each other, as where
//! somebody behind the same NAT proves the other's address. A proved sender's replies are as long as its requests from
//! [`SHORTEST_RECOGNISABLE`] octets on. For a sender it keeps the fixed-size table of [`crate::limit`] and, where it counts
//! its own replies (the stateful mode) or has a key (so that it must know what has come before), one more of
//! [`PLACES`] sessions, and with a key the last [`CODES`] codes of requests; nothing else.

mod codes;
mod counters;
mod source;
mod table;
mod window;

use core::net::{IpAddr, SocketAddr};
use core::num::NonZeroU16;
use std::sync::Arc;

use romer_units::{Dscp, Monotonic, Responder, Timestamp};
use romer_wire::ip::Ecn;
use romer_wire::stamp::tlv::{
    Arrival, DscpSet, FollowUp, InProfile, TimestampInformation, TlvContext, TlvOutcome, reflect_over,
};
use romer_wire::stamp::{
    AUTHENTICATED_BASE, AuthError, BASE, ErrorEstimate, Key, ReflectorPacket, ReplyFormat, ReplyLength,
    SHORTEST, SHORTEST_RECOGNISABLE, SenderPacket, TimestampFormat, WireTime,
    authenticated_sender_zeros_are_zero, looks_like_authenticated_reply, looks_like_reply, returns_time_near,
    sender_zeros_are_zero,
};

use crate::association::{self, Token};
use crate::limit::Limiter;
pub use codes::CODES;
use codes::Codes;
pub use counters::{Counters, Refusal};
pub use romer_units::Prefix;
pub use source::ANSWERING_PORTS;
use table::{Name, Table};
pub use table::{PLACES, SILENCE, SessionSlotKey};

/// What is answered, and how.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The ranges that are answered; all, if there are none.
    pub allowed: Vec<Prefix>,
    /// The least TTL or hop limit with which a request may arrive; 0 for any. A sender starts with 255, and who is
    /// further away than he says cannot arrive with more than is left (RFC 5082).
    pub least_ttl: u8,
    /// Answer only what was made with this key (RFC 8762 section 4.2.2).
    pub key: Option<Arc<Key>>,
    /// Count the replies of each session (RFC 8762 section 4: the stateful mode).
    pub stateful: bool,
    /// In which format times are written.
    pub format: ReplyFormat,
    /// How long the replies to senders are that are not proved.
    pub length: ReplyLength,
    /// The ports of this reflector, wherever it listens.
    pub own_ports: Vec<u16>,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// What UDP carried.
    pub payload: &'a [u8],
    /// Where it came from.
    pub source: SocketAddr,
    /// Where it was sent to.
    pub destination: SocketAddr,
    /// TTL or hop limit on arrival.
    pub ttl: Option<u8>,
    /// TOS or traffic class on arrival.
    pub tos: Option<u8>,
    /// The best arrival stamp.
    pub arrived: Timestamp<Responder>,
    /// The control channel has proved that the source is the sender of the session that the datagram names.
    pub proved: bool,
    /// A session waits for this association from there. Nothing answers it: it needs nothing of the rate, and may come from any
    /// port.
    pub expected: bool,
}

impl Incoming<'_> {
    fn is_expected_association(&self) -> bool {
        self.expected && association::token(self.payload).is_some()
    }
}

/// What is to be done with a datagram.
#[derive(Clone, Debug)]
pub enum ReflectorAction<'a> {
    /// Answer it: [`Answer::write`] makes the reply.
    Answer(Answer<'a>),
    /// A sender proves its address; no datagram answers it.
    Association(Token),
    /// Nothing.
    Refused(Refusal),
}

/// A request that is to be answered.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    request: &'a [u8],
    packet: SenderPacket,
    arrived: Timestamp<Responder>,
    ttl: u8,
    length: ReplyLength,
    format: TimestampFormat,
    key: Option<Arc<Key>>,
    context: TlvContext,
    held: Option<SessionSlotKey>,
}

/// A reply that has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its octets.
    pub octets: usize,
    /// Its sequence number: the request's, or in the stateful mode the reflector's own.
    pub sequence: u32,
    /// The code point that it is to be sent with where the request asked for one that is granted; otherwise that of
    /// the request.
    pub dscp: Option<Dscp>,
    /// Where its session is remembered. Who learns when the reply really left tells [`Reflector::on_departed`].
    pub held: Option<SessionSlotKey>,
    tlvs: TlvOutcome,
}

impl Answer<'_> {
    /// The sequence number of the request.
    pub fn sequence(&self) -> u32 {
        self.packet.sequence
    }
    /// The session identifier of the request; 0 where there is none.
    pub fn ssid(&self) -> u16 {
        self.packet.ssid.map_or(0, NonZeroU16::get)
    }
    /// Writes the reply into `reply`. `departs` is the moment just before it is sent; `error` says how well our clock is
    /// known. `None` where the buffer is too short, and where the reply could not be recognised as one by a reflector,
    /// because it leaves more than 10 s after the request arrived.
    pub fn write(
        &self,
        departs: Timestamp<Responder>,
        error: ErrorEstimate,
        reply: &mut [u8],
    ) -> Option<Written> {
        let on_wire = |time: Timestamp<Responder>| WireTime::from_unix_nanos(time.as_nanos(), self.format);
        let error = error.with_format(self.format);
        let (arrived, departs) = (on_wire(self.arrived), on_wire(departs));
        let sequence = self.context.reply_sequence;
        let packet = ReflectorPacket {
            sequence,
            ..ReflectorPacket::answering(&self.packet, arrived, departs, error, self.ttl)
        };
        let key = self.key.as_deref();
        let (octets, base) = match key {
            Some(key) => (packet.emit_authenticated(self.request, reply, key).ok()?, AUTHENTICATED_BASE),
            None => (packet.emit_reply(self.request, self.length, reply).ok()?, BASE),
        };
        let written = reply.get(..octets)?;
        let is_recognisable =
            if key.is_some() { looks_like_authenticated_reply(written) } else { looks_like_reply(written) };
        if !is_recognisable {
            return None;
        }
        let extensions = reply.get_mut(base..octets).unwrap_or_default();
        let tlvs = reflect_over(extensions, &self.context, key);
        Some(Written { octets, sequence, dscp: tlvs.dscp, held: self.held, tlvs })
    }
}

/// The admission rules, what is remembered, and the counters.
#[derive(Debug)]
pub struct Reflector {
    limiter: Limiter,
    rules: Rules,
    /// The key that the present one replaced: sessions that are remembered may still use it.
    former_key: Option<Arc<Key>>,
    table: Option<Table>,
    codes: Option<Codes>,
    clock: Option<TimestampInformation>,
    counters: Counters,
}

impl Reflector {
    /// A stateless reflector without a key, that answers the `allowed` ranges (all, if there are none) within the
    /// limiter's rate.
    pub fn new(limiter: Limiter, allowed: Vec<Prefix>) -> Self {
        Self::with_rules(limiter, Rules { allowed, ..Rules::default() }, (0, 0))
    }

    /// A reflector with these rules, within the limiter's rate. The `secret` hides where sessions are remembered. All
    /// memory is taken here.
    pub fn with_rules(limiter: Limiter, rules: Rules, secret: (u64, u64)) -> Self {
        let table = (rules.stateful || rules.key.is_some()).then(|| Table::new(secret));
        let codes = rules.key.is_some().then(|| Codes::new((secret.1, secret.0)));
        Self { limiter, rules, former_key: None, table, codes, clock: None, counters: Counters::default() }
    }

    /// What has been counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether requests of `source` are answered by the ranges of the rules.
    pub fn allows(&self, source: IpAddr) -> bool {
        let allowed = &self.rules.allowed;
        allowed.is_empty() || allowed.iter().any(|prefix| prefix.contains_in_either_form(source))
    }

    /// Keeps so many packets a second more of what is answered to `source` for its proved addresses: `false` where it is not to be
    /// had ([`Limiter::reserve`]).
    pub fn reserve(&mut self, source: IpAddr, rate: u64, now: Timestamp<Monotonic>) -> bool {
        self.limiter.reserve(source, rate, now)
    }

    /// Keeps them no more.
    pub fn give_back(&mut self, source: IpAddr, rate: u64, now: Timestamp<Monotonic>) {
        self.limiter.give_back(source, rate, now);
    }

    /// How many sessions are remembered: at the most [`PLACES`].
    pub fn remembered(&self) -> usize {
        self.table.as_ref().map_or(0, Table::taken)
    }

    /// Answers what is made with `key` from now on. Sessions that are remembered may go on with the key that it replaces, until the
    /// next replacement. Without a key there is none to replace, and nothing changes.
    pub fn replace_key(&mut self, key: Arc<Key>) {
        if let Some(present) = &mut self.rules.key {
            self.former_key = Some(core::mem::replace(present, key));
        }
    }

    /// How the clock is kept and the times are taken, for who asks (RFC 8972 section 4.3).
    pub fn set_clock(&mut self, clock: TimestampInformation) {
        self.clock = Some(clock);
    }

    /// The reply was handed to the network.
    pub fn on_reflected(&mut self, written: &Written) {
        self.counters.reflected += 1;
        self.counters.octets_reflected += u64::try_from(written.octets).unwrap_or(u64::MAX);
        self.counters.count(&written.tlvs);
        if let Some(state) = self.table.as_mut().zip(written.held).and_then(|(table, held)| table.state(held))
        {
            state.transmitted = state.transmitted.wrapping_add(1);
        }
    }

    /// It is now known when a reply left, which the session's next reply may tell (RFC 8972 section 4.7). Nothing
    /// happens where the session has been forgotten.
    pub fn on_departed(&mut self, held: SessionSlotKey, reply: FollowUp) {
        let Some(state) = self.table.as_mut().and_then(|table| table.state(held)) else { return };
        let newer = |before: FollowUp| reply.sequence.wrapping_sub(before.sequence) < 1 << 31;
        if state.follow_up.is_none_or(newer) {
            state.follow_up = Some(reply);
        }
    }

    /// Judges a datagram.
    pub fn on_datagram<'a>(
        &mut self,
        incoming: &Incoming<'a>,
        now: Timestamp<Monotonic>,
    ) -> ReflectorAction<'a> {
        self.judge(incoming, None, now)
    }

    /// Judges a datagram of a session that has a key of its own: only what was made with it is answered. Unlike requests with the key
    /// of the rules, a request that comes again is answered again.
    pub fn on_session_datagram<'a>(
        &mut self,
        incoming: &Incoming<'a>,
        key: &Arc<Key>,
        now: Timestamp<Monotonic>,
    ) -> ReflectorAction<'a> {
        self.judge(incoming, Some(key), now)
    }

    fn judge<'a>(
        &mut self,
        incoming: &Incoming<'a>,
        session_key: Option<&Arc<Key>>,
        now: Timestamp<Monotonic>,
    ) -> ReflectorAction<'a> {
        self.counters.received += 1;
        self.counters.octets_received += u64::try_from(incoming.payload.len()).unwrap_or(u64::MAX);
        match self.evaluate(incoming, session_key, now) {
            Ok(verdict) => verdict,
            Err(refusal) => {
                self.counters.refuse(refusal);
                ReflectorAction::Refused(refusal)
            }
        }
    }

    fn evaluate<'a>(
        &mut self,
        incoming: &Incoming<'a>,
        session_key: Option<&Arc<Key>>,
        now: Timestamp<Monotonic>,
    ) -> Result<ReflectorAction<'a>, Refusal> {
        self.admit(incoming, now)?;
        if let Some(token) = association::token(incoming.payload) {
            self.counters.associations += 1;
            return Ok(ReflectorAction::Association(token));
        }
        let (packet, key) = match session_key {
            Some(key) => self.read_session(incoming, key)?,
            None => self.read(incoming)?,
        };
        let octets = incoming.payload.len();
        let is_mirrored = incoming.proved && octets >= SHORTEST_RECOGNISABLE;
        let length = if is_mirrored { ReplyLength::Symmetric } else { self.rules.length };
        if length.of_reply(octets) < SHORTEST_RECOGNISABLE {
            return Err(Refusal::TooShort);
        }
        let held = self.remember(incoming, &packet, now)?;
        self.counters.bad_error_estimate += u64::from(!packet.error.is_valid());
        let format = self.rules.format.answering(packet.error);
        Ok(ReflectorAction::Answer(Answer {
            request: incoming.payload,
            packet,
            arrived: incoming.arrived,
            ttl: incoming.ttl.unwrap_or(255),
            length,
            format,
            context: self.context(incoming, &packet, format, held, key.is_some()),
            key,
            held,
        }))
    }

    /// What is seen without reading the datagram.
    fn admit(&mut self, incoming: &Incoming<'_>, now: Timestamp<Monotonic>) -> Result<(), Refusal> {
        let rules = &self.rules;
        if let Some(refusal) = source::refusal(incoming, &rules.own_ports) {
            return Err(refusal);
        }
        let source = incoming.source.ip();
        if !self.allows(source) {
            return Err(Refusal::NotAllowed);
        }
        if incoming.ttl.unwrap_or(0) < rules.least_ttl {
            return Err(Refusal::BelowMinTtl);
        }
        if !incoming.is_expected_association() && !self.limiter.admit(source, incoming.proved, now) {
            return Err(Refusal::RateLimited);
        }
        Ok(())
    }

    /// Of which session and of which number a request claims to be that was refused unread, for its rate; `None` where it is no
    /// request of the mode.
    pub fn numbers(&self, octets: &[u8]) -> Option<(u16, u32)> {
        let packet = match &self.rules.key {
            Some(key) => [Some(key), self.former_key.as_ref()]
                .into_iter()
                .flatten()
                .find_map(|key| SenderPacket::parse_authenticated(octets, key).ok())?,
            None => SenderPacket::parse(octets).ok().filter(|_| !looks_like_reply(octets))?,
        };
        Some((packet.ssid.map_or(0, NonZeroU16::get), packet.sequence))
    }

    /// The request that a datagram holds, if it holds one of the mode, and the key that it was made with.
    fn read(&mut self, incoming: &Incoming<'_>) -> Result<(SenderPacket, Option<Arc<Key>>), Refusal> {
        let octets = incoming.payload;
        let Some(key) = &self.rules.key else {
            let packet = SenderPacket::parse(octets).map_err(|_| Refusal::TooShort)?;
            if looks_like_reply(octets) || returns_time_near(octets, incoming.arrived.as_nanos()) {
                return Err(Refusal::NotRequest);
            }
            self.counters.nonzero_mbz += u64::from(!sender_zeros_are_zero(octets));
            return Ok((packet, None));
        };
        let present = SenderPacket::parse_authenticated(octets, key).map(|packet| (packet, Arc::clone(key)));
        let (packet, key) = present.or_else(|error| {
            self.by_former_key(incoming).ok_or(match error {
                AuthError::TooShort(_) if !is_unauthenticated(octets) => Refusal::TooShort,
                AuthError::TooShort(_) | AuthError::WrongCode | AuthError::NoRoom { .. } => {
                    Refusal::NotAuthentic
                }
            })
        })?;
        self.check_authentic(octets)?;
        Ok((packet, Some(key)))
    }

    /// The same of a session that has this key of its own.
    fn read_session(
        &mut self,
        incoming: &Incoming<'_>,
        key: &Arc<Key>,
    ) -> Result<(SenderPacket, Option<Arc<Key>>), Refusal> {
        let packet = SenderPacket::parse_authenticated(incoming.payload, key);
        let packet = packet.map_err(|_| Refusal::NotAuthentic)?;
        self.check_authentic(incoming.payload)?;
        Ok((packet, Some(Arc::clone(key))))
    }

    /// Refuses a reply among authentic packets.
    fn check_authentic(&mut self, octets: &[u8]) -> Result<(), Refusal> {
        if looks_like_authenticated_reply(octets) {
            return Err(Refusal::NotRequest);
        }
        self.counters.nonzero_mbz += u64::from(!authenticated_sender_zeros_are_zero(octets));
        Ok(())
    }

    /// The same of a session that is remembered, by the key that it began with.
    fn by_former_key(&self, incoming: &Incoming<'_>) -> Option<(SenderPacket, Arc<Key>)> {
        let key = self.former_key.as_ref()?;
        let packet = SenderPacket::parse_authenticated(incoming.payload, key).ok()?;
        let is_remembered = self.table.as_ref()?.has(name(incoming, &packet));
        is_remembered.then(|| (packet, Arc::clone(key)))
    }

    /// Finds the session's place, if sessions are remembered, and sees that the request has not come before, if
    /// there is a key.
    fn remember(
        &mut self,
        incoming: &Incoming<'_>,
        packet: &SenderPacket,
        now: Timestamp<Monotonic>,
    ) -> Result<Option<SessionSlotKey>, Refusal> {
        let Some(table) = &mut self.table else { return Ok(None) };
        let name = name(incoming, packet);
        let keyed = self.rules.key.is_some();
        if let Some(codes) = &mut self.codes {
            let code =
                incoming.payload.get(AUTHENTICATED_BASE - CODE..AUTHENTICATED_BASE).unwrap_or_default();
            if !codes.is_new(code) && !table.has(name) {
                return Err(Refusal::Replayed);
            }
        }
        let Some(found) = table.find(name, incoming.proved, now) else {
            self.counters.without_place += u64::from(!keyed);
            return if keyed { Err(Refusal::TableFull) } else { Ok(None) };
        };
        self.counters.evicted += u64::from(found.evicted);
        if let Some(state) = table.state(found.held) {
            let reference = incoming.arrived.as_nanos();
            let stated = packet.timestamp.to_unix_nanos(packet.error.format(), reference);
            if keyed && !state.window.admit(packet.sequence, stated.unwrap_or(i64::MIN)) {
                return Err(Refusal::Replayed);
            }
            state.received = state.received.wrapping_add(1);
        }
        table.touch(found.held, now);
        Ok(Some(found.held))
    }

    /// What the TLVs of the request are answered with.
    fn context(
        &mut self,
        incoming: &Incoming<'_>,
        packet: &SenderPacket,
        format: TimestampFormat,
        held: Option<SessionSlotKey>,
        is_authenticated: bool,
    ) -> TlvContext {
        let state = self.table.as_mut().zip(held).and_then(|(table, held)| table.state(held)).copied();
        let counted = state.filter(|_| self.rules.stateful);
        TlvContext {
            request_sequence: packet.sequence,
            reply_sequence: counted.map_or(packet.sequence, |state| state.transmitted),
            must_be_protected: is_authenticated,
            format,
            clock: self.clock,
            arrival: incoming.tos.map(|tos| Arrival { dscp: Dscp::of_tos(tos), ecn: Ecn::of_tos(tos) }),
            // It is the sender's own packet whose code point would otherwise be returned: he could have sent it
            // with the one that he asks for.
            permitted: DscpSet::ALL,
            in_profile: state
                .map(|state| InProfile { received: state.received, transmitted: state.transmitted }),
            follow_up: counted.and_then(|state| state.follow_up),
        }
    }
}

/// Of which session a request is.
fn name(incoming: &Incoming<'_>, packet: &SenderPacket) -> Name {
    Name {
        source: incoming.source,
        destination: incoming.destination,
        ssid: packet.ssid.map_or(0, NonZeroU16::get),
    }
}

/// Octets of the code at the end of an authenticated request's base.
const CODE: usize = 16;

/// Whether octets that are too few for an authenticated packet are a request without authentication, rather than a
/// part of one with it: that has zeros where this has its time.
fn is_unauthenticated(octets: &[u8]) -> bool {
    octets.len() >= SHORTEST && octets.iter().skip(4).take(12).any(|octet| *octet != 0)
}

#[cfg(test)]
mod tests;
