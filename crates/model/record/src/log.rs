//! The packet log's entries as bytes.
//!
//! An entry is written as a tag octet, the stream's number (u16), then its fields in the order of their
//! declaration, little-endian; an optional field is preceded by an octet 0 or 1. The entries of one or more
//! appends stand in a frame of the store, which guards them with a length and a checksum; here is only what is
//! inside. The format's version is in the file's header, which the store writes.

use thiserror::Error;

pub use crate::card::{Card, CardMoment};

/// Version of the entries' format.
pub const VERSION: u16 = 1;

/// One thing that happened. All times are nanoseconds on the real-time clock of the host that took them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A probe was handed to the kernel.
    Sent {
        /// Number of the probe.
        sequence: u64,
        /// Payload of UDP in octets.
        size: u32,
        /// Awake this long after the scheduled moment; negative where a shaper of the kernel was given the packet ahead of it.
        wake_error_ns: i64,
        /// User stamp before the send call.
        user_ns: i64,
    },
    /// The kernel's transmit stamp of a probe became known.
    SentStamp {
        /// Number of the probe.
        sequence: u64,
        /// Kernel stamp.
        kernel_ns: i64,
    },
    /// The host refused to send a probe; or it took it and dropped it again, as it then told, and there is the entry of its
    /// departure before this one.
    NotSent {
        /// Number of the probe.
        sequence: u64,
        /// Payload of UDP in octets; 0 where the entry of its departure has it.
        size: u32,
        /// The operating system's error number.
        errno: i32,
        /// When.
        user_ns: i64,
    },
    /// A reflection came back.
    Returned {
        /// Number of the probe.
        sequence: u64,
        /// User stamp after the receive call.
        user_ns: i64,
        /// Kernel stamp.
        kernel_ns: Option<i64>,
        /// The reflector's arrival stamp, as its packet says.
        told_t2_ns: Option<i64>,
        /// The reflector's departure stamp, as its packet says.
        told_t3_ns: Option<i64>,
        /// TTL or hop limit on arrival here.
        ttl: Option<u8>,
        /// TOS or traffic class on arrival here.
        tos: Option<u8>,
        /// TTL with which the probe arrived at the reflector, as its packet says.
        told_ttl: Option<u8>,
        /// The number that the reflector gave its reply: its own count, or the probe's number once more. `None` where the
        /// packet is too short for both numbers, and in logs of before this was kept.
        reply_number: Option<u32>,
    },
    /// The responder's own record of a probe, brought by the control channel.
    Far(ResponderRecord),
    /// The responder's own record of a one-way probe that it sent, or could not send, brought by the control channel.
    FarSent(ResponderDeparture),
    /// A network card's stamp became known, of this host's or of the responder's.
    Card(Card),
    /// A one-way probe of the responder arrived here.
    Came {
        /// Number of the probe.
        sequence: u64,
        /// Payload of UDP in octets.
        size: u32,
        /// User stamp after the receive call.
        user_ns: i64,
        /// Kernel stamp.
        kernel_ns: Option<i64>,
        /// TTL or hop limit on arrival here.
        ttl: Option<u8>,
        /// TOS or traffic class on arrival here.
        tos: Option<u8>,
    },
}

/// The responder's record of one probe that it sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponderDeparture {
    /// Number of the probe.
    pub sequence: u64,
    /// Payload of UDP in octets.
    pub size: u32,
    /// Awake this long after the scheduled moment.
    pub wake_error_ns: i64,
    /// User stamp before the send call.
    pub user_ns: i64,
    /// Kernel stamp; `None` if it did not come.
    pub kernel_ns: Option<i64>,
    /// The host there refused to send it: neither sent nor lost.
    pub refused: bool,
}

/// The responder's record of one probe that arrived there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponderRecord {
    /// Number of the probe.
    pub sequence: u64,
    /// Arrival: user stamp after the receive call.
    pub t2_user_ns: i64,
    /// Arrival: kernel stamp.
    pub t2_kernel_ns: Option<i64>,
    /// Departure of the reflection: user stamp before the send call; `None` if it was not sent.
    pub t3_user_ns: Option<i64>,
    /// Departure of the reflection: kernel stamp; `None` if it did not come.
    pub t3_kernel_ns: Option<i64>,
    /// TTL or hop limit on arrival there.
    pub ttl: Option<u8>,
    /// TOS or traffic class on arrival there.
    pub tos: Option<u8>,
}

impl Entry {
    /// Number of the probe that the entry is about.
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Sent { sequence, .. }
            | Self::SentStamp { sequence, .. }
            | Self::NotSent { sequence, .. }
            | Self::Returned { sequence, .. }
            | Self::Came { sequence, .. } => *sequence,
            Self::Far(far) => far.sequence,
            Self::FarSent(sent) => sent.sequence,
            Self::Card(card) => card.sequence,
        }
    }
}

/// Why bytes are not entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LogError {
    /// The bytes end inside an entry.
    #[error("the entry at byte {offset} is cut short")]
    Short {
        /// Where the entry begins.
        offset: usize,
    },
    /// No such kind of entry.
    #[error("byte {offset} begins an entry of unknown kind {tag}: a newer romer may have written it")]
    UnknownKind {
        /// Where the entry begins.
        offset: usize,
        /// The tag found.
        tag: u8,
    },
    /// An optional field's octet is neither 0 nor 1.
    #[error("the entry at byte {offset} holds an octet that no writer makes")]
    Malformed {
        /// Where the entry begins.
        offset: usize,
    },
}

const SENT: u8 = 1;
const SENT_STAMP: u8 = 2;
const NOT_SENT: u8 = 3;
const RETURNED: u8 = 4;
const FAR: u8 = 5;
const FAR_SENT: u8 = 6;
const CAME: u8 = 7;
const CARD: u8 = 8;
/// [`RETURNED`] with the number of the reply behind it.
const RETURNED_NUMBERED: u8 = 9;

/// Appends `entry` of stream `stream` to `out`.
pub fn encode(stream: u16, entry: &Entry, out: &mut Vec<u8>) {
    let tag = match entry {
        Entry::Sent { .. } => SENT,
        Entry::SentStamp { .. } => SENT_STAMP,
        Entry::NotSent { .. } => NOT_SENT,
        Entry::Returned { reply_number: None, .. } => RETURNED,
        Entry::Returned { reply_number: Some(_), .. } => RETURNED_NUMBERED,
        Entry::Far(_) => FAR,
        Entry::FarSent(_) => FAR_SENT,
        Entry::Came { .. } => CAME,
        Entry::Card(_) => CARD,
    };
    out.push(tag);
    out.extend_from_slice(&stream.to_le_bytes());
    match entry {
        Entry::Sent { sequence, size, wake_error_ns, user_ns } => {
            out.extend_from_slice(&sequence.to_le_bytes());
            out.extend_from_slice(&size.to_le_bytes());
            out.extend_from_slice(&wake_error_ns.to_le_bytes());
            out.extend_from_slice(&user_ns.to_le_bytes());
        }
        Entry::SentStamp { sequence, kernel_ns } => {
            out.extend_from_slice(&sequence.to_le_bytes());
            out.extend_from_slice(&kernel_ns.to_le_bytes());
        }
        Entry::NotSent { sequence, size, errno, user_ns } => {
            out.extend_from_slice(&sequence.to_le_bytes());
            out.extend_from_slice(&size.to_le_bytes());
            out.extend_from_slice(&errno.to_le_bytes());
            out.extend_from_slice(&user_ns.to_le_bytes());
        }
        Entry::Returned {
            sequence,
            user_ns,
            kernel_ns,
            told_t2_ns,
            told_t3_ns,
            ttl,
            tos,
            told_ttl,
            reply_number,
        } => {
            out.extend_from_slice(&sequence.to_le_bytes());
            out.extend_from_slice(&user_ns.to_le_bytes());
            put_time(out, *kernel_ns);
            put_time(out, *told_t2_ns);
            put_time(out, *told_t3_ns);
            put_octet(out, *ttl);
            put_octet(out, *tos);
            put_octet(out, *told_ttl);
            out.extend(reply_number.map(u32::to_le_bytes).into_iter().flatten());
        }
        Entry::Far(far) => encode_far(far, out),
        Entry::FarSent(sent) => encode_far_sent(sent, out),
        Entry::Card(card) => encode_card(card, out),
        Entry::Came { sequence, size, user_ns, kernel_ns, ttl, tos } => {
            out.extend_from_slice(&sequence.to_le_bytes());
            out.extend_from_slice(&size.to_le_bytes());
            out.extend_from_slice(&user_ns.to_le_bytes());
            put_time(out, *kernel_ns);
            put_octet(out, *ttl);
            put_octet(out, *tos);
        }
    }
}

/// Appends the responder's record alone, as the control channel carries it.
pub fn encode_far(far: &ResponderRecord, out: &mut Vec<u8>) {
    out.extend_from_slice(&far.sequence.to_le_bytes());
    out.extend_from_slice(&far.t2_user_ns.to_le_bytes());
    put_time(out, far.t2_kernel_ns);
    put_time(out, far.t3_user_ns);
    put_time(out, far.t3_kernel_ns);
    put_octet(out, far.ttl);
    put_octet(out, far.tos);
}

/// The most octets that one responder's record takes.
pub const FAR_LONGEST: usize = 8 + 8 + 3 * 9 + 2 * 2;

/// Appends the responder's record of a departure alone, as the control channel carries it.
pub fn encode_far_sent(sent: &ResponderDeparture, out: &mut Vec<u8>) {
    out.extend_from_slice(&sent.sequence.to_le_bytes());
    out.extend_from_slice(&sent.size.to_le_bytes());
    out.extend_from_slice(&sent.wake_error_ns.to_le_bytes());
    out.extend_from_slice(&sent.user_ns.to_le_bytes());
    put_time(out, sent.kernel_ns);
    out.push(u8::from(sent.refused));
}

/// The most octets that the record of one departure takes.
pub const FAR_SENT_LONGEST: usize = 8 + 4 + 8 + 8 + 9 + 1;

/// Appends a network card's stamp alone, as the control channel carries it.
pub fn encode_card(card: &Card, out: &mut Vec<u8>) {
    out.extend_from_slice(&card.sequence.to_le_bytes());
    out.push(card.moment.octet());
    out.extend_from_slice(&card.arrival_ns.to_le_bytes());
    out.extend_from_slice(&card.card_ns.to_le_bytes());
    out.extend_from_slice(&card.error_ns.to_le_bytes());
}

/// The octets that a network card's stamp takes.
pub const CARD_LENGTH: usize = 8 + 1 + 8 + 8 + 4;

/// Reads entries one after another from the inside of a frame.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Entries<'a> {
    /// The entries in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<(u16, Entry), LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.bytes.len() {
            return None;
        }
        let mut cursor = Cursor { bytes: self.bytes, at: self.offset, start: self.offset };
        let entry = read_entry(&mut cursor);
        // After an error nothing that follows can be trusted.
        self.offset = if entry.is_ok() { cursor.at } else { self.bytes.len() };
        Some(entry)
    }
}

/// Reads responder's records, as the control channel carries them.
///
/// # Errors
/// [`LogError`] at the first record that is cut short or malformed.
pub fn decode_far(bytes: &[u8]) -> Result<Vec<ResponderRecord>, LogError> {
    let mut cursor = Cursor { bytes, at: 0, start: 0 };
    let mut records = Vec::with_capacity(bytes.len() / 40);
    while cursor.at < bytes.len() {
        cursor.start = cursor.at;
        records.push(read_far(&mut cursor)?);
    }
    Ok(records)
}

/// Reads responder's records of departures, as the control channel carries them.
///
/// # Errors
/// [`LogError`] at the first record that is cut short or malformed.
pub fn decode_far_sent(bytes: &[u8]) -> Result<Vec<ResponderDeparture>, LogError> {
    let mut cursor = Cursor { bytes, at: 0, start: 0 };
    let mut records = Vec::with_capacity(bytes.len() / 30);
    while cursor.at < bytes.len() {
        cursor.start = cursor.at;
        records.push(read_far_sent(&mut cursor)?);
    }
    Ok(records)
}

/// Reads network cards' stamps one after another, as the control channel carries them.
///
/// # Errors
/// [`LogError`]; nothing of the bytes is used then.
pub fn decode_cards(bytes: &[u8]) -> Result<Vec<Card>, LogError> {
    let mut cursor = Cursor { bytes, at: 0, start: 0 };
    let mut cards = Vec::with_capacity(bytes.len() / CARD_LENGTH);
    while cursor.at < bytes.len() {
        cursor.start = cursor.at;
        cards.push(read_card(&mut cursor)?);
    }
    Ok(cards)
}

fn put_time(out: &mut Vec<u8>, value: Option<i64>) {
    match value {
        Some(nanos) => {
            out.push(1);
            out.extend_from_slice(&nanos.to_le_bytes());
        }
        None => out.push(0),
    }
}

fn put_octet(out: &mut Vec<u8>, value: Option<u8>) {
    match value {
        Some(octet) => out.extend_from_slice(&[1, octet]),
        None => out.push(0),
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    start: usize,
}

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], LogError> {
        let end = self.at.checked_add(N).ok_or(LogError::Short { offset: self.start })?;
        let slice = self.bytes.get(self.at..end).ok_or(LogError::Short { offset: self.start })?;
        self.at = end;
        slice.try_into().map_err(|_| LogError::Short { offset: self.start })
    }
    fn octet(&mut self) -> Result<u8, LogError> {
        self.take::<1>().map(|[octet]| octet)
    }
    fn present(&mut self) -> Result<bool, LogError> {
        match self.octet()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(LogError::Malformed { offset: self.start }),
        }
    }
    fn i64(&mut self) -> Result<i64, LogError> {
        self.take().map(i64::from_le_bytes)
    }
    fn u64(&mut self) -> Result<u64, LogError> {
        self.take().map(u64::from_le_bytes)
    }
    fn u32(&mut self) -> Result<u32, LogError> {
        self.take().map(u32::from_le_bytes)
    }
    fn some_i64(&mut self) -> Result<Option<i64>, LogError> {
        if self.present()? { self.i64().map(Some) } else { Ok(None) }
    }
    fn some_octet(&mut self) -> Result<Option<u8>, LogError> {
        if self.present()? { self.octet().map(Some) } else { Ok(None) }
    }
}

fn read_far(c: &mut Cursor<'_>) -> Result<ResponderRecord, LogError> {
    Ok(ResponderRecord {
        sequence: c.u64()?,
        t2_user_ns: c.i64()?,
        t2_kernel_ns: c.some_i64()?,
        t3_user_ns: c.some_i64()?,
        t3_kernel_ns: c.some_i64()?,
        ttl: c.some_octet()?,
        tos: c.some_octet()?,
    })
}

fn read_far_sent(c: &mut Cursor<'_>) -> Result<ResponderDeparture, LogError> {
    Ok(ResponderDeparture {
        sequence: c.u64()?,
        size: c.u32()?,
        wake_error_ns: c.i64()?,
        user_ns: c.i64()?,
        kernel_ns: c.some_i64()?,
        refused: c.present()?,
    })
}

fn read_card(c: &mut Cursor<'_>) -> Result<Card, LogError> {
    Ok(Card {
        sequence: c.u64()?,
        moment: CardMoment::from_octet(c.octet()?).ok_or(LogError::Malformed { offset: c.start })?,
        arrival_ns: c.i64()?,
        card_ns: c.i64()?,
        error_ns: c.u32()?,
    })
}

fn read_entry(c: &mut Cursor<'_>) -> Result<(u16, Entry), LogError> {
    let tag = c.octet()?;
    let stream = u16::from_le_bytes(c.take()?);
    let entry = match tag {
        SENT => {
            Entry::Sent { sequence: c.u64()?, size: c.u32()?, wake_error_ns: c.i64()?, user_ns: c.i64()? }
        }
        SENT_STAMP => Entry::SentStamp { sequence: c.u64()?, kernel_ns: c.i64()? },
        NOT_SENT => Entry::NotSent {
            sequence: c.u64()?,
            size: c.u32()?,
            errno: c.take().map(i32::from_le_bytes)?,
            user_ns: c.i64()?,
        },
        RETURNED | RETURNED_NUMBERED => Entry::Returned {
            sequence: c.u64()?,
            user_ns: c.i64()?,
            kernel_ns: c.some_i64()?,
            told_t2_ns: c.some_i64()?,
            told_t3_ns: c.some_i64()?,
            ttl: c.some_octet()?,
            tos: c.some_octet()?,
            told_ttl: c.some_octet()?,
            reply_number: if tag == RETURNED_NUMBERED { Some(c.u32()?) } else { None },
        },
        FAR => Entry::Far(read_far(c)?),
        FAR_SENT => Entry::FarSent(read_far_sent(c)?),
        CARD => Entry::Card(read_card(c)?),
        CAME => Entry::Came {
            sequence: c.u64()?,
            size: c.u32()?,
            user_ns: c.i64()?,
            kernel_ns: c.some_i64()?,
            ttl: c.some_octet()?,
            tos: c.some_octet()?,
        },
        tag => return Err(LogError::UnknownKind { offset: c.start, tag }),
    };
    Ok((stream, entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn card()(
            sequence: u64, moment in 0u8..6, arrival_ns: i64, card_ns: i64, error_ns: u32,
        ) -> Card {
            Card { sequence, moment: CardMoment::from_octet(moment).unwrap(), arrival_ns, card_ns, error_ns }
        }
    }
    prop_compose! {
        fn far()(
            sequence: u64, t2_user_ns: i64, t2_kernel_ns: Option<i64>, t3_user_ns: Option<i64>,
            t3_kernel_ns: Option<i64>, ttl: Option<u8>, tos: Option<u8>,
        ) -> ResponderRecord {
            ResponderRecord { sequence, t2_user_ns, t2_kernel_ns, t3_user_ns, t3_kernel_ns, ttl, tos }
        }
    }

    prop_compose! {
        fn returned()(
            sequence: u64, user_ns: i64, kernel_ns: Option<i64>, told_t2_ns: Option<i64>,
            told_t3_ns: Option<i64>, ttl: Option<u8>, tos: Option<u8>, told_ttl: Option<u8>,
            reply_number: Option<u32>,
        ) -> Entry {
            Entry::Returned {
                sequence, user_ns, kernel_ns, told_t2_ns, told_t3_ns, ttl, tos, told_ttl, reply_number,
            }
        }
    }

    prop_compose! {
        fn far_sent()(
            sequence: u64, size: u32, wake_error_ns: i64, user_ns: i64, kernel_ns: Option<i64>, refused: bool,
        ) -> ResponderDeparture {
            ResponderDeparture { sequence, size, wake_error_ns, user_ns, kernel_ns, refused }
        }
    }

    prop_compose! {
        fn came()(
            sequence: u64, size: u32, user_ns: i64, kernel_ns: Option<i64>, ttl: Option<u8>, tos: Option<u8>,
        ) -> Entry {
            Entry::Came { sequence, size, user_ns, kernel_ns, ttl, tos }
        }
    }

    fn entry() -> impl Strategy<Value = Entry> {
        prop_oneof![
            any::<(u64, u32, i64, i64)>().prop_map(|(sequence, size, wake_error_ns, user_ns)| Entry::Sent {
                sequence,
                size,
                wake_error_ns,
                user_ns
            }),
            any::<(u64, i64)>().prop_map(|(sequence, kernel_ns)| Entry::SentStamp { sequence, kernel_ns }),
            card().prop_map(Entry::Card),
            any::<(u64, u32, i32, i64)>().prop_map(|(sequence, size, errno, user_ns)| Entry::NotSent {
                sequence,
                size,
                errno,
                user_ns
            }),
            returned(),
            far().prop_map(Entry::Far),
            far_sent().prop_map(Entry::FarSent),
            came(),
        ]
    }

    proptest! {
        #[test]
        fn entries_read_back_as_they_were_written(entries in prop::collection::vec((any::<u16>(), entry()), 0..40)) {
            let mut bytes = Vec::new();
            for (stream, entry) in &entries {
                encode(*stream, entry, &mut bytes);
            }
            let back: Vec<_> = Entries::new(&bytes).collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(back, entries);
        }

        #[test]
        fn a_reflection_without_its_number_is_written_as_it_always_was(one in returned()) {
            let (mut numbered, mut bare) = (Vec::new(), Vec::new());
            let Entry::Returned { reply_number, .. } = one else { unreachable!() };
            encode(7, &one, &mut numbered);
            let mut before = one;
            if let Entry::Returned { reply_number, .. } = &mut before {
                *reply_number = None;
            }
            encode(7, &before, &mut bare);
            prop_assert_eq!(bare[0], 4);
            prop_assert_eq!(&numbered[1..bare.len()], &bare[1..]);
            let number: Vec<u8> = reply_number.map(u32::to_le_bytes).into_iter().flatten().collect();
            prop_assert_eq!(&numbered[bare.len()..], &number[..]);
            prop_assert_eq!(Entries::new(&bare).next(), Some(Ok((7, before))));
        }

        #[test]
        fn a_cut_anywhere_loses_only_the_entry_that_was_cut(
            entries in prop::collection::vec(entry(), 1..10), cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            let mut ends = Vec::new();
            for entry in &entries {
                encode(0, entry, &mut bytes);
                ends.push(bytes.len());
            }
            let cut = cut.index(bytes.len());
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let read: Vec<_> = Entries::new(&bytes[..cut]).take_while(Result::is_ok).map(Result::unwrap).collect();
            prop_assert_eq!(read.len(), whole);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Entries::new(&bytes).count();
            let _ = decode_far(&bytes);
            let _ = decode_far_sent(&bytes);
            let _ = decode_cards(&bytes);
        }

        #[test]
        fn records_of_departures_read_back_and_stay_within_their_bound(
            records in prop::collection::vec(far_sent(), 0..20),
        ) {
            let mut bytes = Vec::new();
            for record in &records {
                let before = bytes.len();
                encode_far_sent(record, &mut bytes);
                prop_assert!(bytes.len() - before <= FAR_SENT_LONGEST);
            }
            prop_assert_eq!(decode_far_sent(&bytes).unwrap(), records);
        }

        #[test]
        fn cards_stamps_read_back_in_their_length(cards in prop::collection::vec(card(), 0..20)) {
            let mut bytes = Vec::new();
            cards.iter().for_each(|one| encode_card(one, &mut bytes));
            prop_assert_eq!(bytes.len(), cards.len() * CARD_LENGTH);
            prop_assert_eq!(decode_cards(&bytes).unwrap(), cards);
        }

        #[test]
        fn far_records_read_back_and_stay_within_their_bound(records in prop::collection::vec(far(), 0..20)) {
            let mut bytes = Vec::new();
            for record in &records {
                let before = bytes.len();
                encode_far(record, &mut bytes);
                prop_assert!(bytes.len() - before <= FAR_LONGEST);
            }
            prop_assert_eq!(decode_far(&bytes).unwrap(), records);
        }
    }
}
