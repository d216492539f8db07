//! A packet row as it is shipped, the header of the rows of a minute, and the key by which rows are de-duplicated.

use std::collections::BTreeSet;

use romer_record::RoundTrip;
use romer_record::document::ProbeDirection;
use romer_units::{Clock, Timestamp, TimestampPoint};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::subjects::MessageId;
use crate::time::Minute;
use crate::token::Token;

/// The version of rows and sums that this release writes.
pub const ROW_SCHEMA: u32 = 1;
/// The key of the [`BlobHeader`], as JSON, in the metadata of a Parquet file.
pub const HEADER_KEY: &str = "romer.fleet";

/// The packet rows of an agent's run in a minute: what the blob says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlobHeader {
    /// Version of the rows, [`ROW_SCHEMA`] when written.
    pub schema: u32,
    /// The tenant.
    pub tenant: Token,
    /// The agent that measured.
    pub agent: Token,
    /// Its site.
    pub site: Token,
    /// Revision of the plan.
    pub revision: u64,
    /// The run, which no other run of the agent has.
    pub run: Token,
    /// The minute in which the packets were sent.
    pub minute: Minute,
    /// Number of rows.
    pub rows: u64,
    /// The streams that the rows name.
    pub streams: Vec<StreamHeader>,
}

/// A stream of a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamHeader {
    /// Its number in the run.
    pub stream: u16,
    /// The agent that replies.
    pub target: Token,
    /// Its site.
    pub target_site: Token,
    /// Name of the traffic in the plan.
    pub traffic: Token,
    /// Where the stamps of the initiator were taken.
    pub initiator_stamps: Option<TimestampPoint>,
    /// Where the stamps of the responder were taken; `null` if it does not say.
    pub responder_stamps: Option<TimestampPoint>,
}

/// Why rows or sums are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum SchemaRefusal {
    /// They are older than this release reads.
    #[error("schema {found} is too old (this release reads {oldest} and later); upgrade romer on the agent")]
    TooOld {
        /// Their version.
        found: u32,
        /// The oldest version that is read.
        oldest: u32,
    },
    /// They are newer than this release.
    #[error("schema {found} is too new (this release reads up to {newest}); upgrade romer here")]
    TooNew {
        /// Their version.
        found: u32,
        /// The newest version that is read.
        newest: u32,
    },
}

/// Whether a version can be read by a release that writes `own`: the same, and the one before it.
///
/// # Errors
/// [`SchemaRefusal`] for every other version.
pub const fn check_schema(found: u32, own: u32) -> Result<(), SchemaRefusal> {
    // There is no version 0.
    let oldest = if own > 1 { own - 1 } else { 1 };
    if found > own {
        Err(SchemaRefusal::TooNew { found, newest: own })
    } else if found < oldest {
        Err(SchemaRefusal::TooOld { found, oldest })
    } else {
        Ok(())
    }
}

impl BlobHeader {
    /// The identifier of its message.
    pub fn message_id(&self) -> MessageId {
        MessageId { run: self.run.clone(), agent: self.agent.clone(), minute: self.minute }
    }

    /// Whether its rows can be read.
    ///
    /// # Errors
    /// [`SchemaRefusal`] if its version is neither [`ROW_SCHEMA`] nor the one before it.
    pub const fn check(&self) -> Result<(), SchemaRefusal> {
        check_schema(self.schema, ROW_SCHEMA)
    }

    /// The streams that it lists more than once.
    pub fn repeated_streams(&self) -> BTreeSet<u16> {
        let mut seen = BTreeSet::new();
        self.streams.iter().map(|one| one.stream).filter(|stream| !seen.insert(*stream)).collect()
    }
}

/// The direction of a row. A round-trip row has the packets of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowDirection {
    /// To the responder and back.
    RoundTrip,
    /// From the initiator to the responder only.
    Forward,
    /// From the responder to the initiator only.
    Reverse,
}

impl RowDirection {
    /// All directions, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::RoundTrip, Self::Forward, Self::Reverse];

    /// Its word in a column.
    pub const fn word(self) -> &'static str {
        match self {
            Self::RoundTrip => "round_trip",
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }

    /// The direction of a probe; `None` for [`ProbeDirection::Both`], which no row has.
    pub const fn of_probe(direction: ProbeDirection) -> Option<Self> {
        match direction {
            ProbeDirection::RoundTrip => Some(Self::RoundTrip),
            ProbeDirection::Forward => Some(Self::Forward),
            ProbeDirection::Reverse => Some(Self::Reverse),
            ProbeDirection::Both => None,
        }
    }
}

/// The outcome of a row's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowFate {
    /// It arrived within the waiting time.
    Arrived,
    /// It arrived after the waiting time. It counts as lost.
    Late,
    /// A further copy of a packet that has a row already.
    Duplicate,
    /// It was lost between initiator and responder.
    LostForward,
    /// It was lost between responder and initiator.
    LostReverse,
    /// It was lost in an unknown direction.
    Lost,
    /// The sending host refused it. It is neither sent nor lost.
    NotSent,
    /// The run ended before its waiting time was over.
    InFlight,
    /// The receiving host dropped it after its arrival. It is not lost.
    InstrumentDrop,
}

impl RowFate {
    /// All outcomes.
    pub const ALL: [Self; 9] = [
        Self::Arrived,
        Self::Late,
        Self::Duplicate,
        Self::LostForward,
        Self::LostReverse,
        Self::Lost,
        Self::NotSent,
        Self::InFlight,
        Self::InstrumentDrop,
    ];

    /// Its word in a column.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::Late => "late",
            Self::Duplicate => "duplicate",
            Self::LostForward => "lost_forward",
            Self::LostReverse => "lost_reverse",
            Self::Lost => "lost",
            Self::NotSent => "not_sent",
            Self::InFlight => "in_flight",
            Self::InstrumentDrop => "instrument_drop",
        }
    }
}

/// A packet row as it is shipped.
///
/// Times are nanoseconds since 1970-01-01 UTC on the clock of the host that took them: `t1` and `t4` of the initiator, `t2` and `t3`
/// of the responder. A missing time is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of the stream in the run.
    pub stream: u16,
    /// Direction.
    pub direction: RowDirection,
    /// Number of the packet in the stream, from 0.
    pub sequence: u64,
    /// 0 for the first copy that arrived, or for none; 1, 2, ... for duplicates.
    pub copy: u32,
    /// UDP payload, bytes.
    pub size: u32,
    /// Departure at the initiator.
    pub t1_ns: Option<i64>,
    /// Arrival at the responder.
    pub t2_ns: Option<i64>,
    /// Departure at the responder.
    pub t3_ns: Option<i64>,
    /// Arrival at the initiator.
    pub t4_ns: Option<i64>,
    /// TTL or hop limit on arrival at the responder.
    pub forward_ttl: Option<u8>,
    /// TTL or hop limit on arrival at the initiator.
    pub reverse_ttl: Option<u8>,
    /// ToS or traffic class on arrival at the responder.
    pub forward_tos: Option<u8>,
    /// ToS or traffic class on arrival at the initiator.
    pub reverse_tos: Option<u8>,
    /// Outcome.
    pub fate: RowFate,
}

impl Row {
    /// The row of a probe record, with the stamps of the stated places; `None` for a place means the stamp in the packet.
    /// `None` for a record of direction [`ProbeDirection::Both`], which no log has.
    pub fn of_record(
        stream: u16,
        record: &RoundTrip,
        initiator: Option<TimestampPoint>,
        responder: Option<TimestampPoint>,
        fate: RowFate,
    ) -> Option<Self> {
        fn nanos<C: Clock>(stamp: Option<Timestamp<C>>) -> Option<i64> {
            stamp.map(Timestamp::as_nanos)
        }
        Some(Self {
            stream,
            direction: RowDirection::of_probe(record.way)?,
            sequence: record.sequence,
            copy: record.copy,
            size: record.size,
            t1_ns: nanos(record.t1.at(initiator)),
            t2_ns: nanos(record.t2.at(responder)),
            t3_ns: nanos(record.t3.at(responder)),
            t4_ns: nanos(record.t4.at(initiator)),
            forward_ttl: record.forward_ttl,
            reverse_ttl: record.reverse_ttl,
            forward_tos: record.forward_tos,
            reverse_tos: record.reverse_tos,
            fate,
        })
    }

    /// Its key within a run.
    pub const fn key(&self) -> RowKey {
        RowKey { stream: self.stream, direction: self.direction, sequence: self.sequence, copy: self.copy }
    }
}

/// The key of a row within the run of an agent. Two rows with the same agent, run and key are the same row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RowKey {
    /// Number of the stream in the run.
    pub stream: u16,
    /// Direction.
    pub direction: RowDirection,
    /// Number of the packet in the stream.
    pub sequence: u64,
    /// Number of the copy.
    pub copy: u32,
}

/// The key of a row in the archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveKey {
    /// The agent that measured.
    pub agent: Token,
    /// Its run.
    pub run: Token,
    /// The row in the run.
    #[serde(flatten)]
    pub row: RowKey,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The own version and the one before it are read; every other one is refused with its reason.
    #[test]
    fn one_older_schema_is_read() {
        assert_eq!(check_schema(5, 5), Ok(()));
        assert_eq!(check_schema(4, 5), Ok(()));
        assert_eq!(check_schema(3, 5), Err(SchemaRefusal::TooOld { found: 3, oldest: 4 }));
        assert_eq!(check_schema(6, 5), Err(SchemaRefusal::TooNew { found: 6, newest: 5 }));
        assert_eq!(check_schema(0, 1), Err(SchemaRefusal::TooOld { found: 0, oldest: 1 }));
        let words = check_schema(6, 5).unwrap_err().to_string();
        assert!(words.contains("too new") && words.contains("upgrade romer"), "{words}");
    }

    /// A row has the stamps of the requested places, and the key of its record.
    #[test]
    fn rows_have_the_chosen_stamps() {
        let mut record = RoundTrip { sequence: 7, copy: 1, size: 64, ..RoundTrip::default() };
        record.t1.kernel = Some(Timestamp::from_nanos(10));
        record.t1.user = Some(Timestamp::from_nanos(9));
        record.t2.told = Some(Timestamp::from_nanos(20));
        record.t4.kernel = Some(Timestamp::from_nanos(40));
        let row = |place| Row::of_record(3, &record, place, None, RowFate::Duplicate).unwrap();
        let kernel = row(Some(TimestampPoint::Kernel));
        assert_eq!(
            (kernel.t1_ns, kernel.t2_ns, kernel.t3_ns, kernel.t4_ns),
            (Some(10), Some(20), None, Some(40))
        );
        assert_eq!(row(Some(TimestampPoint::User)).t1_ns, Some(9));
        let key = RowKey { stream: 3, direction: RowDirection::RoundTrip, sequence: 7, copy: 1 };
        assert_eq!(kernel.key(), key);
        record.way = ProbeDirection::Both;
        assert_eq!(Row::of_record(3, &record, None, None, RowFate::Arrived), None);
    }

    /// Words of outcomes and directions differ, and are those of the JSON form.
    #[test]
    fn words_are_those_of_json() {
        for fate in RowFate::ALL {
            assert_eq!(serde_json::to_value(fate).unwrap(), fate.word());
        }
        for direction in RowDirection::ALL {
            assert_eq!(serde_json::to_value(direction).unwrap(), direction.word());
        }
    }

    /// A stream that is listed twice is found.
    #[test]
    fn repeated_streams_are_found() {
        let name = |text: &str| Token::new(text).unwrap();
        let stream = |stream| StreamHeader {
            stream,
            target: name("b"),
            target_site: name("s"),
            traffic: name("t"),
            initiator_stamps: None,
            responder_stamps: None,
        };
        let header = BlobHeader {
            schema: ROW_SCHEMA,
            tenant: name("acme"),
            agent: name("a"),
            site: name("s"),
            revision: 1,
            run: name("r"),
            minute: Minute(5),
            rows: 0,
            streams: [1, 2, 1].map(stream).into(),
        };
        assert_eq!(header.repeated_streams(), BTreeSet::from([1]));
        assert_eq!(header.message_id().to_string(), "r.a.5");
        assert_eq!(header.check(), Ok(()));
        let text = serde_json::to_string(&header).unwrap();
        assert_eq!(serde_json::from_str::<BlobHeader>(&text).unwrap(), header);
    }
}
