//! Frames as bytes.

use romer_record::log::{self, LogError};
use romer_traffic::Departure;
use romer_units::Duration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::message::Message;

/// The longest frame, type octet and body.
pub const LONGEST_FRAME: usize = 64 * 1024;
const LENGTH: usize = 4;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const REQUEST: u8 = 3;
const GRANTED: u8 = 4;
const REFUSED: u8 = 5;
const ASSOCIATED: u8 = 6;
const STOP: u8 = 7;
const LOG: u8 = 8;
const END: u8 = 9;
const COMPLAINT: u8 = 10;
const START: u8 = 11;
const HALT: u8 = 12;
const ASK: u8 = 13;
const HEARD: u8 = 14;
const DEPARTURES: u8 = 15;
const DEPARTED: u8 = 16;
const EVENTS: u8 = 17;
const RESUME: u8 = 18;
const RESUMED: u8 = 19;
const RECEIVED: u8 = 20;
const PART: u8 = 21;
const CARDS: u8 = 22;
const FETCH: u8 = 23;
const COUNT_DAMAGE: u8 = 48;
const DAMAGED: u8 = 49;
const AUTHENTICATE: u8 = 50;
const CHALLENGE: u8 = 32;
const PROOF: u8 = 33;
const PAIR_SHARE: u8 = 34;
const PAIR_PROOF: u8 = 35;

/// Octets of a departure in a part: nanoseconds after the start (i64), payload (u32), both big-endian.
const DEPARTURE: usize = 12;

/// Why bytes are not a frame.
#[derive(Debug, Error)]
pub enum CodecError {
    /// The length field passes the limit, or is zero. Nothing after it can be trusted: close.
    #[error("a frame of {length} octets is longer than any here, or empty")]
    Length {
        /// As it was claimed.
        length: u32,
    },
    /// The body of a known type cannot be read. The next frame can.
    #[error("the body of a frame of type {kind}: {why}")]
    Body {
        /// Type octet.
        kind: u8,
        /// What is wrong.
        why: String,
    },
}

impl Message {
    /// Appends this message as a frame. [`Message::Unknown`] is never sent and appends nothing.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; LENGTH]);
        match self {
            Self::Hello(body) => json(HELLO, body, out),
            Self::Welcome(body) => json(WELCOME, body, out),
            Self::Challenge(body) => json(CHALLENGE, body, out),
            Self::Proof(body) => json(PROOF, body, out),
            Self::Request(body) => json(REQUEST, body, out),
            Self::Granted(body) => json(GRANTED, body, out),
            Self::Refused(body) => json(REFUSED, body, out),
            Self::Associated(body) => json(ASSOCIATED, body, out),
            Self::Stop => out.push(STOP),
            Self::Log(records) => {
                out.push(LOG);
                for record in records.iter().take(Self::RECORDS_IN_A_FRAME) {
                    log::encode_far(record, out);
                }
            }
            Self::End(body) => json(END, body, out),
            Self::Complaint(body) => json(COMPLAINT, body, out),
            Self::Start => out.push(START),
            Self::Halt => out.push(HALT),
            Self::Ask => out.push(ASK),
            Self::Heard(body) => json(HEARD, body, out),
            Self::Fetch => out.push(FETCH),
            Self::Departures(records) => {
                out.push(DEPARTURES);
                for record in records.iter().take(Self::RECORDS_IN_A_FRAME) {
                    log::encode_far_sent(record, out);
                }
            }
            Self::Departed(body) => json(DEPARTED, body, out),
            Self::Events(body) => json(EVENTS, body, out),
            Self::Resume(body) => json(RESUME, body, out),
            Self::Resumed(body) => json(RESUMED, body, out),
            Self::Received(body) => json(RECEIVED, body, out),
            Self::Part(departures) => {
                out.push(PART);
                for departure in departures.iter().take(Self::DEPARTURES_IN_A_FRAME) {
                    out.extend_from_slice(&departure.offset.as_nanos().to_be_bytes());
                    out.extend_from_slice(&departure.size.to_be_bytes());
                }
            }
            Self::Cards(cards) => {
                out.push(CARDS);
                for card in cards.iter().take(Self::RECORDS_IN_A_FRAME) {
                    log::encode_card(card, out);
                }
            }
            Self::CountDamage(body) => json(COUNT_DAMAGE, body, out),
            Self::Damaged(body) => json(DAMAGED, body, out),
            Self::Authenticate => out.push(AUTHENTICATE),
            Self::PairShare(body) => json(PAIR_SHARE, body, out),
            Self::PairProof(body) => json(PAIR_PROOF, body, out),
            Self::Unknown(_) => {
                out.truncate(start);
                return;
            }
        }
        let length = u32::try_from(out.len() - start - LENGTH).unwrap_or(u32::MAX);
        out[start..start + LENGTH].copy_from_slice(&length.to_be_bytes());
    }

    /// Records that one [`Message::Log`], [`Message::Departures`] or [`Message::Cards`] carries at the most; a caller with more sends
    /// several.
    pub const RECORDS_IN_A_FRAME: usize = (LONGEST_FRAME - 1) / log::FAR_LONGEST;
    /// Departures that one [`Message::Part`] carries at the most.
    pub const DEPARTURES_IN_A_FRAME: usize = (LONGEST_FRAME - 1) / DEPARTURE;

    fn decode(kind: u8, body: &[u8]) -> Result<Self, CodecError> {
        Ok(match kind {
            HELLO => Self::Hello(unjson(kind, body)?),
            WELCOME => Self::Welcome(unjson(kind, body)?),
            CHALLENGE => Self::Challenge(unjson(kind, body)?),
            PROOF => Self::Proof(unjson(kind, body)?),
            REQUEST => Self::Request(unjson(kind, body)?),
            GRANTED => Self::Granted(unjson(kind, body)?),
            REFUSED => Self::Refused(unjson(kind, body)?),
            ASSOCIATED => Self::Associated(unjson(kind, body)?),
            STOP => Self::Stop,
            LOG => Self::Log(
                log::decode_far(body)
                    .map_err(|why: LogError| CodecError::Body { kind, why: why.to_string() })?,
            ),
            END => Self::End(unjson(kind, body)?),
            COMPLAINT => Self::Complaint(unjson(kind, body)?),
            START => Self::Start,
            HALT => Self::Halt,
            ASK => Self::Ask,
            HEARD => Self::Heard(unjson(kind, body)?),
            FETCH => Self::Fetch,
            DEPARTURES => Self::Departures(
                log::decode_far_sent(body)
                    .map_err(|why: LogError| CodecError::Body { kind, why: why.to_string() })?,
            ),
            DEPARTED => Self::Departed(unjson(kind, body)?),
            EVENTS => Self::Events(unjson(kind, body)?),
            RESUME => Self::Resume(unjson(kind, body)?),
            RESUMED => Self::Resumed(unjson(kind, body)?),
            RECEIVED => Self::Received(unjson(kind, body)?),
            PART => Self::Part(departures(body)?),
            CARDS => Self::Cards(
                log::decode_cards(body)
                    .map_err(|why: LogError| CodecError::Body { kind, why: why.to_string() })?,
            ),
            COUNT_DAMAGE => Self::CountDamage(unjson(kind, body)?),
            DAMAGED => Self::Damaged(unjson(kind, body)?),
            AUTHENTICATE => Self::Authenticate,
            PAIR_SHARE => Self::PairShare(unjson(kind, body)?),
            PAIR_PROOF => Self::PairProof(unjson(kind, body)?),
            unknown => Self::Unknown(unknown),
        })
    }
}

fn departures(body: &[u8]) -> Result<Vec<Departure>, CodecError> {
    let (departures, []) = body.as_chunks::<DEPARTURE>() else {
        return Err(CodecError::Body { kind: PART, why: "a departure is cut off".into() });
    };
    let read = |&[a, b, c, d, e, f, g, h, size @ ..]: &[u8; DEPARTURE]| Departure {
        offset: Duration::from_nanos(i64::from_be_bytes([a, b, c, d, e, f, g, h])),
        size: u32::from_be_bytes(size),
    };
    Ok(departures.iter().map(read).collect())
}

fn json<T: Serialize>(kind: u8, body: &T, out: &mut Vec<u8>) {
    out.push(kind);
    // Our bodies hold only numbers and strings, which always serialise; were one not to, its empty body is
    // refused by the other end.
    if let Ok(text) = serde_json::to_vec(body) {
        out.extend_from_slice(&text);
    }
}

fn unjson<T: DeserializeOwned>(kind: u8, body: &[u8]) -> Result<T, CodecError> {
    serde_json::from_slice(body).map_err(|why| CodecError::Body { kind, why: why.to_string() })
}

/// Collects bytes and gives whole frames. It holds at most one frame and what was read with it.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Octets at the beginning that have been decoded.
    decoded: usize,
}

/// Memory that a decoder without bytes keeps, octets.
const RETAINED: usize = 1024;
/// The least by which its memory grows, octets: small reads of a long frame do not move it each time.
const GROWTH: usize = 1024;

impl Decoder {
    /// Takes in what was read. Call [`Decoder::next`] until it gives nothing before reading more.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.decoded);
        self.decoded = 0;
        if self.bytes.capacity() - self.bytes.len() < bytes.len() {
            // Twice as much as is needed would be twice the memory for everybody who sends half a frame.
            self.bytes.reserve_exact(bytes.len().max(GROWTH));
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Memory that it holds, octets.
    pub const fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// The next whole frame, if there is one.
    ///
    /// # Errors
    /// [`CodecError::Length`] ends the conversation; after [`CodecError::Body`] it can go on.
    #[expect(clippy::should_implement_trait, reason = "errors do not end it, so it is not an iterator")]
    pub fn next(&mut self) -> Result<Option<Message>, CodecError> {
        self.next_within(LONGEST_FRAME)
    }

    /// The next whole frame, of at most `longest` octets, which are at most [`LONGEST_FRAME`].
    ///
    /// # Errors
    /// As of [`Decoder::next`]; a frame that is longer is a [`CodecError::Length`] as soon as its length is read.
    pub fn next_within(&mut self, longest: usize) -> Result<Option<Message>, CodecError> {
        let rest = self.bytes.get(self.decoded..).unwrap_or_default();
        let Some(length) = rest.first_chunk::<LENGTH>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length);
        let octets = usize::try_from(length).unwrap_or(usize::MAX);
        if octets == 0 || octets > longest.min(LONGEST_FRAME) {
            return Err(CodecError::Length { length });
        }
        let Some(frame) = rest.get(LENGTH..LENGTH + octets) else { return Ok(None) };
        let message = Message::decode(frame[0], &frame[1..]);
        self.decoded += LENGTH + octets;
        if self.decoded == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(RETAINED);
            self.decoded = 0;
        }
        message.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Associated, Challenge, ClientHello, ClockIdentity, ComplaintCode, CountDamage, Damaged, Departed,
        Events, Granted, PairProof, PairShare, Progress, Proof, ProtocolError, Received, RefusalCode,
        Refused, Request, Resume, Resumed, ServerHello, SessionTotals,
    };
    use super::*;
    use proptest::prelude::*;
    use romer_record::document::{DamagedProbes, ProbeDirection};
    use romer_record::event::{ClockStep, Event, EventDetail, EventKind, EventLocation};
    use romer_record::log::{
        CARD_LENGTH, Card, CardMoment, FAR_LONGEST, FAR_SENT_LONGEST, ResponderDeparture, ResponderRecord,
    };
    use romer_record::refusal::{LimitScope, Refusal};

    const _: () = assert!(
        FAR_SENT_LONGEST <= FAR_LONGEST && CARD_LENGTH <= FAR_LONGEST,
        "a frame holds as many of each"
    );

    fn examples() -> Vec<Message> {
        let clock = ClockIdentity { boot_id: "b".into(), realtime_minus_boottime_ns: 12 };
        vec![
            Message::Hello(ClientHello {
                version: 1,
                software: "romer".into(),
                clock: clock.clone(),
                features: vec!["resume".into()],
            }),
            Message::Welcome(ServerHello {
                kernel_stamps: true,
                ip_no_pmtu_disc: Some(3),
                features: vec!["one-way".into()],
                ..ServerHello::new("romer", clock, 862)
            }),
            Message::Challenge(Challenge { nonce: "1f".repeat(16) }),
            Message::Proof(Proof { nonce: "2e".repeat(16), code: "3d".repeat(16) }),
            Message::Request(Request {
                ssid: 9,
                interval_ns: 45_000_000,
                count: 100,
                payload_octets: 44,
                direction: ProbeDirection::Forward,
                stream: None,
            }),
            Message::Granted(Granted {
                token: "00".repeat(16),
                buffered_records: 65_536,
                key: None,
                secret: None,
            }),
            Message::Refused(Refused {
                code: RefusalCode::Busy,
                reason: Refusal::Sessions { scope: LimitScope::All },
                granted: None,
                retry_after_seconds: Some(5),
            }),
            Message::Associated(Associated {
                address: "[::1]:5".into(),
                moved_ns: Some([7, 3]),
                earlier: vec![crate::control::Moved { address: "[::1]:4".into(), moved_ns: [9, 8] }],
            }),
            Message::Stop,
            Message::Log(vec![
                ResponderRecord { sequence: 1, t2_user_ns: 2, ..ResponderRecord::default() };
                3
            ]),
            Message::End(SessionTotals { received: 3, ..SessionTotals::default() }),
            Message::Complaint(ProtocolError { code: ComplaintCode::State, message: "no".into() }),
            Message::Authenticate,
            Message::PairShare(PairShare { share: "41".repeat(33) }),
            Message::PairProof(PairProof { proof: "00".repeat(16) }),
            Message::Start,
            Message::Halt,
            Message::Ask,
            Message::Fetch,
            Message::Heard(Progress { received: 1, departed: 2, highest: Some(4) }),
            Message::CountDamage(CountDamage { tag: 7 }),
            Message::Damaged(Damaged { forward: Some(DamagedProbes::default()) }),
            Message::Cards(vec![
                Card {
                    sequence: 3,
                    moment: CardMoment::LeftThere,
                    arrival_ns: 5,
                    card_ns: -7,
                    error_ns: 90
                };
                2
            ]),
            Message::Departures(vec![
                ResponderDeparture {
                    sequence: 1,
                    size: 14,
                    ..ResponderDeparture::default()
                };
                3
            ]),
            Message::Departed(Departed { count: 4 }),
            Message::Resume(Resume { secret: "3c".repeat(16), heard: 7, silent_ns: 8 }),
            Message::Resumed(Resumed { token: "4b".repeat(16), next: 7 }),
            Message::Received(Received { messages: 9 }),
            Message::Part(vec![Departure { offset: Duration::from_nanos(1 << 40), size: 44 }; 3]),
            Message::Events(Events {
                events: vec![Event {
                    detail: Some(EventDetail::LineOrder),
                    step: Some(ClockStep {
                        size_ns: 3,
                        size_interval_ns: Some([2, 4]),
                        before_ns: 4,
                        after_ns: 5,
                    }),
                    ..Event::new(EventKind::ClockStep, EventLocation::Responder, 1, 2)
                }],
            }),
        ]
    }

    /// A frame that is not whole takes the memory of what has come, and gives it back once it is read.
    #[test]
    fn memory_follows_what_has_come() {
        let body = vec![b' '; LONGEST_FRAME - 1];
        let length = u32::try_from(LONGEST_FRAME).unwrap().to_be_bytes();
        let frame = [&length[..], &[99], &body].concat();
        for step in [1, 700, 8_192] {
            let mut decoder = Decoder::default();
            let mut come = 0;
            for part in frame.chunks(step) {
                assert!(decoder.next().unwrap().is_none());
                decoder.extend(part);
                come += part.len();
                assert!(decoder.memory() <= come + GROWTH, "{} for {come}", decoder.memory());
            }
            assert_eq!(decoder.next().unwrap(), Some(Message::Unknown(99)));
            assert!(decoder.memory() <= RETAINED);
        }
    }

    proptest! {
        #[test]
        fn messages_read_back_however_the_bytes_are_cut(sizes in prop::collection::vec(1usize..200, 1..40)) {
            let mut bytes = Vec::new();
            for message in examples() {
                message.encode(&mut bytes);
            }
            let mut decoder = Decoder::default();
            let mut read = Vec::new();
            let mut rest = bytes.as_slice();
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (now, later) = rest.split_at((*size).min(rest.len()));
                decoder.extend(now);
                rest = later;
                while let Some(message) = decoder.next().unwrap() {
                    read.push(message);
                }
            }
            prop_assert_eq!(read, examples());
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let mut decoder = Decoder::default();
            decoder.extend(&bytes);
            for _ in 0..700 {
                match decoder.next() {
                    Ok(None) | Err(CodecError::Length { .. }) => break,
                    Ok(Some(_)) | Err(CodecError::Body { .. }) => {}
                }
            }
        }
    }

    /// A huge length is refused before memory is allocated.
    #[test]
    fn huge_lengths_allocate_nothing() {
        let mut decoder = Decoder::default();
        decoder.extend(&[0xff; 8]);
        assert!(matches!(decoder.next(), Err(CodecError::Length { length: u32::MAX })));
        let mut decoder = Decoder::default();
        decoder.extend(&[0; 8]);
        assert!(matches!(decoder.next(), Err(CodecError::Length { length: 0 })));
    }

    /// A frame beyond the caller's limit is refused by its length alone, and memory is given back.
    #[test]
    fn frames_respect_the_callers_limit() {
        let mut decoder = Decoder::default();
        decoder.extend(&5_000_u32.to_be_bytes());
        assert!(matches!(decoder.next_within(4_096), Err(CodecError::Length { length: 5_000 })));
        decoder.extend(&[b'x'; 5_000]);
        assert!(matches!(decoder.next_within(5_000), Ok(Some(Message::Unknown(b'x')))));
        assert!(decoder.bytes.capacity() <= RETAINED);
    }

    #[test]
    fn an_unknown_type_is_a_message_and_the_next_frame_is_read() {
        let mut decoder = Decoder::default();
        decoder.extend(&[0, 0, 0, 3, 200, 1, 2]);
        decoder.extend(&[0, 0, 0, 1, STOP]);
        assert_eq!(decoder.next().unwrap(), Some(Message::Unknown(200)));
        assert_eq!(decoder.next().unwrap(), Some(Message::Stop));
    }

    #[test]
    fn a_part_that_is_cut_off_is_no_part_and_a_full_one_is_within_the_limit() {
        let mut decoder = Decoder::default();
        decoder.extend(&[0, 0, 0, 3, PART, 1, 2]);
        assert!(matches!(decoder.next(), Err(CodecError::Body { kind: PART, .. })));
        let departure = Departure { offset: Duration::MAX, size: u32::MAX };
        let mut bytes = Vec::new();
        Message::Part(vec![departure; Message::DEPARTURES_IN_A_FRAME + 1]).encode(&mut bytes);
        decoder.extend(&bytes);
        assert!(
            matches!(decoder.next(), Ok(Some(Message::Part(all))) if all == vec![departure; Message::DEPARTURES_IN_A_FRAME])
        );
    }

    #[test]
    fn a_full_log_frame_stays_within_the_limit() {
        let far = ResponderRecord {
            sequence: u64::MAX,
            t2_user_ns: 1,
            t2_kernel_ns: Some(1),
            t3_user_ns: Some(1),
            t3_kernel_ns: Some(1),
            ttl: Some(1),
            tos: Some(1),
        };
        let mut bytes = Vec::new();
        Message::Log(vec![far; Message::RECORDS_IN_A_FRAME]).encode(&mut bytes);
        let mut decoder = Decoder::default();
        decoder.extend(&bytes);
        assert!(
            matches!(decoder.next(), Ok(Some(Message::Log(records))) if records.len() == Message::RECORDS_IN_A_FRAME)
        );
    }
}
