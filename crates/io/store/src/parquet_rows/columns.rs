//! The columns of the finished packet log: their names, types and descriptions, and where their values come from.

use std::collections::BTreeMap;
use std::ops::Range;

use romer_record::document::ProbeDirection;
use romer_record::plausible::{MOMENTS, SPANS};
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Responder, Timestamp};

use super::outcome::{Outcome, Outcomes};

/// A column of the file.
pub(super) struct Column {
    /// Its name.
    pub(super) name: &'static str,
    /// What it holds, with its unit: in the file, and on the reference page.
    pub(super) about: &'static str,
    /// How its values are taken from a row and put back.
    pub(super) kind: ColumnKind,
    /// The column that had the same in files of earlier versions.
    pub(super) earlier: Option<&'static Self>,
}

/// What a column holds, and how it is taken from a row and put back. Numbers that do not fit where they go make
/// the row malformed.
pub(super) enum ColumnKind {
    Whole {
        kind: &'static str,
        get: fn(&Row) -> i64,
        set: fn(&mut Row, i64) -> Option<()>,
    },
    Maybe {
        kind: &'static str,
        get: fn(&Row) -> Option<i64>,
        set: fn(&mut Row, i64) -> Option<()>,
    },
    Flag {
        get: fn(&Row) -> bool,
        set: fn(&mut Row, bool),
    },
    /// One of a few words, in a dictionary.
    Word {
        get: fn(&Row) -> Option<&'static str>,
        set: fn(&mut Row, &[u8]) -> Option<()>,
    },
    /// A number that the analysis computed. It is written for other programs, and computed again by romer.
    ComputedNumber {
        get: fn(&Row) -> Option<i64>,
    },
    /// A word of the analysis, in the same way.
    ComputedWord {
        get: fn(&Row) -> Option<&'static str>,
    },
}

/// A row of the file.
#[derive(Clone, Copy, Default)]
pub(super) struct Row {
    pub(super) stream: u16,
    pub(super) row: RoundTrip,
    pub(super) outcome: Outcome,
}

pub(super) const U8: &str = "INTEGER(8,false)";
pub(super) const U16: &str = "INTEGER(16,false)";
const U32: &str = "INTEGER(32,false)";
pub(super) const U64: &str = "INTEGER(64,false)";
pub(super) const I64: &str = "INTEGER(64,true)";
pub(super) const MOMENT: &str = "TIMESTAMP(NANOS,true)";

/// A whole number of the row: `get` widens to the bits of an i64, `set` narrows with a check.
macro_rules! whole {
    ($name:literal, $about:literal, $kind:ident, $type:ty, $($field:ident).+) => {
        Column {
            name: $name,
            about: $about,
            kind: ColumnKind::Whole {
                kind: $kind,
                get: |row| i64::from(row.$($field).+),
                set: |row, value| {
                    row.$($field).+ = <$type>::try_from(value).ok()?;
                    Some(())
                },
            },
            earlier: None,
        }
    };
}

macro_rules! maybe {
    ($name:literal, $about:literal, $kind:ident, $get:expr, $set:expr) => {
        Column {
            name: $name,
            about: $about,
            kind: ColumnKind::Maybe { kind: $kind, get: $get, set: $set },
            earlier: None,
        }
    };
}

macro_rules! stamp {
    ($name:literal, $about:literal, $moment:ident, $place:ident) => {
        maybe!($name, $about, MOMENT, |row| nanos(&row.row.$moment, |stamps| stamps.$place), |row, value| {
            row.row.$moment.$place = Some(Timestamp::from_nanos(within(&MOMENTS, value)?));
            Some(())
        })
    };
}

macro_rules! octet {
    ($name:literal, $about:literal, $field:ident) => {
        maybe!($name, $about, U8, |row| row.row.$field.map(i64::from), |row, value| {
            row.row.$field = Some(u8::try_from(value).ok()?);
            Some(())
        })
    };
}

macro_rules! number {
    ($name:literal, $about:literal, $field:ident) => {
        maybe!($name, $about, U32, |row| row.row.$field.map(i64::from), |row, value| {
            row.row.$field = Some(u32::try_from(value).ok()?);
            Some(())
        })
    };
}

macro_rules! flag {
    ($field:ident, $about:literal) => {
        Column {
            name: stringify!($field),
            about: $about,
            kind: ColumnKind::Flag { get: |row| row.row.$field, set: |row, value| row.row.$field = value },
            earlier: None,
        }
    };
}

macro_rules! computed {
    ($field:ident, $about:literal, $kind:ident) => {
        Column {
            name: stringify!($field),
            about: $about,
            kind: ColumnKind::$kind { get: |row| row.outcome.$field },
            earlier: None,
        }
    };
}

fn within(range: &Range<i64>, value: i64) -> Option<i64> {
    range.contains(&value).then_some(value)
}

fn nanos<C: Clock>(stamps: &Stamps<C>, at: fn(&Stamps<C>) -> Option<Timestamp<C>>) -> Option<i64> {
    at(stamps).map(Timestamp::as_nanos)
}

/// The direction of a row as the first version had it: no value for round trips.
static WAY: Column = maybe!(
    "way",
    "null: round trip; 1: forward; 2: reverse",
    U8,
    |row| match row.row.way {
        ProbeDirection::RoundTrip => None,
        ProbeDirection::Forward => Some(1),
        ProbeDirection::Reverse => Some(2),
        ProbeDirection::Both => Some(3),
    },
    |row, value| {
        row.row.way = match value {
            1 => ProbeDirection::Forward,
            2 => ProbeDirection::Reverse,
            3 => ProbeDirection::Both,
            _ => return None,
        };
        Some(())
    }
);

/// The columns, in the order in which they stand in the file.
pub(super) static COLUMNS: [Column; 27] = [
    whole!("stream", "number of the stream, from 0, in order of the targets", U16, u16, stream),
    Column {
        name: "direction",
        about: "round_trip, forward or reverse",
        kind: ColumnKind::Word {
            get: |row| {
                Some(match row.row.way {
                    ProbeDirection::RoundTrip => "round_trip",
                    ProbeDirection::Forward => "forward",
                    ProbeDirection::Reverse => "reverse",
                    ProbeDirection::Both => "both",
                })
            },
            set: |row, word| {
                row.row.way = match word {
                    b"round_trip" => ProbeDirection::RoundTrip,
                    b"forward" => ProbeDirection::Forward,
                    b"reverse" => ProbeDirection::Reverse,
                    b"both" => ProbeDirection::Both,
                    _ => return None,
                };
                Some(())
            },
        },
        earlier: Some(&WAY),
    },
    Column {
        name: "sequence",
        about: "number of the packet, from 0",
        kind: ColumnKind::Whole {
            kind: U64,
            // Parquet keeps unsigned numbers in the bits of signed ones.
            get: |row| row.row.sequence.cast_signed(),
            set: |row, value| {
                row.row.sequence = value.cast_unsigned();
                Some(())
            },
        },
        earlier: None,
    },
    whole!("copy", "0: first copy that arrived, or no arrival; 1, 2, ...: duplicates", U32, u32, row.copy),
    computed!(
        fate,
        "arrived, late, duplicate, lost-forward, lost-reverse, lost, not-sent, ...",
        ComputedWord
    ),
    computed!(cause, "event during which the packet was lost; null if none is known", ComputedWord),
    computed!(delay_ns, "delay without clock error, ns; null without arrival or if unknown", ComputedNumber),
    computed!(delay_error_ns, "bound of the error of delay_ns by the clocks, ns", ComputedNumber),
    whole!("forward_copy", "number of the arrival at the responder, from 0", U32, u32, row.forward_copy),
    whole!("size", "UDP payload, bytes", U32, u32, row.size),
    maybe!(
        "wake_error_ns",
        "lateness of the sending thread, ns",
        I64,
        |row| row.row.wake_error_ns,
        |row, value| {
            row.row.wake_error_ns = Some(within(&SPANS, value)?);
            Some(())
        }
    ),
    stamp!("t1_kernel_ns", "departure at the initiator, by its kernel", t1, kernel),
    stamp!("t1_user_ns", "departure at the initiator, by romer", t1, user),
    stamp!("t2_kernel_ns", "arrival at the responder, by its kernel", t2, kernel),
    stamp!("t2_user_ns", "arrival at the responder, by its program", t2, user),
    stamp!("t3_kernel_ns", "departure at the responder, by its kernel", t3, kernel),
    stamp!("t3_user_ns", "departure at the responder, by its program", t3, user),
    stamp!("t3_in_packet_ns", "departure at the responder, as in the packet", t3, told),
    stamp!("t4_kernel_ns", "arrival at the initiator, by its kernel", t4, kernel),
    stamp!("t4_user_ns", "arrival at the initiator, by romer", t4, user),
    octet!("forward_ttl", "TTL or hop limit on arrival at the responder", forward_ttl),
    octet!("reverse_ttl", "TTL or hop limit on arrival at the initiator", reverse_ttl),
    octet!("forward_tos", "DSCP * 4 + ECN on arrival at the responder", forward_tos),
    octet!("reverse_tos", "DSCP * 4 + ECN on arrival at the initiator", reverse_tos),
    flag!(not_sent, "the sending host refused the packet"),
    flag!(seen_by_responder, "the responder's log has the arrival"),
    flag!(returned, "the packet arrived at the initiator"),
];

/// Those of network cards' stamps: they follow the others in the files of runs that have such stamps.
static CARD_COLUMNS: [Column; 5] = [
    stamp!("t1_nic_ns", "departure at the initiator, by its network card", t1, nic),
    stamp!("t2_nic_ns", "arrival at the responder, by its network card", t2, nic),
    stamp!("t3_nic_ns", "departure at the responder, by its network card", t3, nic),
    stamp!("t4_nic_ns", "arrival at the initiator, by its network card", t4, nic),
    number!("nic_error_ns", "bound of the error of the _nic_ns columns, ns", nic_error_ns),
];

/// What packets say of the moments at the initiator, in the files of runs where they do.
static INITIATOR_COLUMNS: [Column; 2] = [
    stamp!("t1_in_packet_ns", "departure at the initiator, as in the packet", t1, told),
    stamp!("t4_in_packet_ns", "arrival at the initiator, as in the packet", t4, told),
];

/// The number of the reply, in the files of runs with reflections.
static NUMBER_COLUMNS: [Column; 1] =
    [number!("reply_number", "number of the reply, by the reflector", reply_number)];

/// What replies say of the arrival at the responder, in the files of runs where that differs from the stamps of its kernel.
static ARRIVAL_COLUMNS: [Column; 1] =
    [stamp!("t2_in_packet_ns", "arrival at the responder, as in the packet", t2, told)];

/// Columns that a file has only if its rows need them.
pub(super) struct OptionalColumns {
    /// The columns.
    pub(super) columns: &'static [Column],
    /// Whether the row has other values than `imply` sets.
    is_needed: fn(&RoundTrip) -> bool,
    /// Sets the values of a row of a file without the columns. In such a row they are unknown.
    pub(super) imply: fn(&mut RoundTrip),
}

/// The columns that only some files have, in their order behind the others.
pub(super) static SOMETIMES: [OptionalColumns; 4] = [
    OptionalColumns {
        columns: &CARD_COLUMNS,
        is_needed: |row| {
            let cards =
                [row.t1.nic.is_some(), row.t2.nic.is_some(), row.t3.nic.is_some(), row.t4.nic.is_some()];
            cards.contains(&true) || row.nic_error_ns.is_some()
        },
        imply: |_| {},
    },
    OptionalColumns { columns: &NUMBER_COLUMNS, is_needed: |row| row.reply_number.is_some(), imply: |_| {} },
    OptionalColumns {
        columns: &INITIATOR_COLUMNS,
        is_needed: |row| row.t1.told.is_some() || row.t4.told.is_some(),
        imply: |_| {},
    },
    OptionalColumns {
        columns: &ARRIVAL_COLUMNS,
        is_needed: |row| row.t2.told != arrival_in_reply(row),
        imply: |row| row.t2.told = arrival_in_reply(row),
    },
];

/// The arrival at the responder that its reply states if it has a stamp of the kernel: this one.
fn arrival_in_reply(row: &RoundTrip) -> Option<Timestamp<Responder>> {
    row.t2.kernel.filter(|_| row.returned)
}

/// Which of [`SOMETIMES`] a file has.
pub(super) type Has = [bool; SOMETIMES.len()];

/// The columns of a file.
pub(super) fn columns(has: Has) -> impl Iterator<Item = &'static Column> {
    let sometimes = SOMETIMES.iter().zip(has).filter(|(_, has)| *has);
    COLUMNS.iter().chain(sometimes.flat_map(|(sometimes, _)| sometimes.columns))
}

/// Those of [`SOMETIMES`] that these rows need.
pub(super) fn had_by<'a>(rows: impl IntoIterator<Item = &'a RoundTrip>) -> Has {
    let mut has = Has::default();
    for row in rows {
        for (has, sometimes) in has.iter_mut().zip(&SOMETIMES) {
            *has = *has || (sometimes.is_needed)(row);
        }
        if has.iter().all(|has| *has) {
            break;
        }
    }
    has
}

/// The rows of all streams in the order of the file, each with its outcome.
pub(super) fn described_rows<'a>(
    streams: &'a BTreeMap<u16, Vec<RoundTrip>>,
    outcomes: &'a dyn Outcomes,
) -> impl Iterator<Item = Row> + 'a {
    streams.iter().flat_map(move |(stream, rows)| {
        let stream = *stream;
        let outcomes = outcomes.outcomes(stream, rows).chain(std::iter::repeat(Outcome::default()));
        rows.iter().zip(outcomes).map(move |(row, outcome)| Row { stream, row: *row, outcome })
    })
}

impl Column {
    /// 64-bit numbers and stamps; the smaller ones are kept in 32 bits.
    pub(super) fn is_wide(&self) -> bool {
        match self.kind {
            ColumnKind::Whole { kind, .. } | ColumnKind::Maybe { kind, .. } => {
                [I64, U64, MOMENT].contains(&kind)
            }
            ColumnKind::ComputedNumber { .. } => true,
            ColumnKind::Flag { .. } | ColumnKind::Word { .. } | ColumnKind::ComputedWord { .. } => false,
        }
    }

    /// Whether it holds words.
    pub(super) fn has_words(&self) -> bool {
        matches!(self.kind, ColumnKind::Word { .. } | ColumnKind::ComputedWord { .. })
    }

    /// Whether romer reads it: what it computes, it computes again.
    pub(super) fn is_read(&self) -> bool {
        !matches!(self.kind, ColumnKind::ComputedNumber { .. } | ColumnKind::ComputedWord { .. })
    }

    /// Whether a row may have no value.
    pub(super) fn is_optional(&self) -> bool {
        !matches!(self.kind, ColumnKind::Whole { .. } | ColumnKind::Flag { .. })
    }

    /// Its line in the file's schema.
    pub(super) fn declaration(&self) -> String {
        let name = self.name;
        let presence = if self.is_optional() { "optional" } else { "required" };
        let size = if self.is_wide() { "int64" } else { "int32" };
        match self.kind {
            ColumnKind::Whole { kind, .. } | ColumnKind::Maybe { kind, .. } => {
                format!("{presence} {size} {name} ({kind});")
            }
            ColumnKind::ComputedNumber { .. } => format!("{presence} {size} {name} ({I64});"),
            ColumnKind::Flag { .. } => format!("{presence} boolean {name};"),
            ColumnKind::Word { .. } | ColumnKind::ComputedWord { .. } => {
                format!("{presence} binary {name} (STRING);")
            }
        }
    }
}
