//! The finished packet log: `packets.parquet`, a row for each [`RoundTrip`]. The column `way` is null for round trips,
//! 1 for probes that went forward only and 2 for probes of the far end.
//!
//! Integer columns are delta-encoded (stamps rise steadily, so that a stamp takes a few octets), pages are
//! compressed with snappy, and what is not known is null. All times are nanoseconds since 1970-01-01 UTC on the
//! clock of the host that took them. Any reader of Parquet can read the file; ours asks for these columns only, by
//! name, and leaves others alone.

mod pages;
mod reading;

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};
use romer_record::document::ProbeDirection;
use romer_record::plausible::{MOMENTS, SPANS};
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp};

use crate::checksum::Summed;
use crate::durable;
use crate::error::StoreError;
pub use reading::{RowsFile, read_rows};

/// The schema's name and version, in the file's key-value metadata under `romer.schema`.
pub const PACKETS_SCHEMA: &str = "romer/packets/1";
const SCHEMA_KEY: &str = "romer.schema";
const SCHEMA_FAMILY: &str = "romer/packets/";
const SCHEMA_VERSION: u32 = 1;

/// Rows in a group: what a reader must take at once.
const GROUP_ROWS: usize = 1 << 18;

/// What a column holds, and how it is taken from a row and put back. Numbers that do not fit where they go make
/// the row malformed.
enum ColumnKind {
    Whole {
        name: &'static str,
        kind: &'static str,
        get: fn(&Row) -> i64,
        set: fn(&mut Row, i64) -> Option<()>,
    },
    Maybe {
        name: &'static str,
        kind: &'static str,
        get: fn(&Row) -> Option<i64>,
        set: fn(&mut Row, i64) -> Option<()>,
    },
    Flag {
        name: &'static str,
        get: fn(&Row) -> bool,
        set: fn(&mut Row, bool),
    },
}

#[derive(Clone, Copy, Default)]
struct Row {
    stream: u16,
    row: RoundTrip,
}

const U16: &str = "INTEGER(16,false)";
const U32: &str = "INTEGER(32,false)";
const U64: &str = "INTEGER(64,false)";
const I64: &str = "INTEGER(64,true)";
const U8: &str = "INTEGER(8,false)";

/// A whole number of the row: `get` widens to the bits of an i64, `set` narrows with a check.
macro_rules! whole {
    ($name:literal, $kind:ident, $type:ty, $($field:ident).+) => {
        ColumnKind::Whole {
            name: $name,
            kind: $kind,
            get: |row| i64::from(row.$($field).+),
            set: |row, value| {
                row.$($field).+ = <$type>::try_from(value).ok()?;
                Some(())
            },
        }
    };
}

macro_rules! stamp {
    ($name:literal, $moment:ident, $place:ident) => {
        ColumnKind::Maybe {
            name: $name,
            kind: I64,
            get: |row| nanos(&row.row.$moment, |stamps| stamps.$place),
            set: |row, value| {
                row.row.$moment.$place = Some(Timestamp::from_nanos(within(&MOMENTS, value)?));
                Some(())
            },
        }
    };
}

macro_rules! octet {
    ($name:literal, $field:ident) => {
        ColumnKind::Maybe {
            name: $name,
            kind: U8,
            get: |row| row.row.$field.map(i64::from),
            set: |row, value| {
                row.row.$field = Some(u8::try_from(value).ok()?);
                Some(())
            },
        }
    };
}

macro_rules! flag {
    ($field:ident) => {
        ColumnKind::Flag {
            name: stringify!($field),
            get: |row| row.row.$field,
            set: |row, value| row.row.$field = value,
        }
    };
}

fn within(range: &Range<i64>, value: i64) -> Option<i64> {
    range.contains(&value).then_some(value)
}

fn nanos<C: Clock>(stamps: &Stamps<C>, at: fn(&Stamps<C>) -> Option<Timestamp<C>>) -> Option<i64> {
    at(stamps).map(Timestamp::as_nanos)
}

/// The columns, in the order in which they stand in the file.
static COLUMNS: [ColumnKind; 26] = [
    whole!("stream", U16, u16, stream),
    ColumnKind::Maybe {
        name: "way",
        kind: U8,
        get: |row| match row.row.way {
            ProbeDirection::RoundTrip => None,
            ProbeDirection::Forward => Some(1),
            ProbeDirection::Reverse => Some(2),
            ProbeDirection::Both => Some(3),
        },
        set: |row, value| {
            row.row.way = match value {
                1 => ProbeDirection::Forward,
                2 => ProbeDirection::Reverse,
                3 => ProbeDirection::Both,
                _ => return None,
            };
            Some(())
        },
    },
    ColumnKind::Whole {
        name: "sequence",
        kind: U64,
        // Parquet keeps unsigned numbers in the bits of signed ones.
        get: |row| row.row.sequence.cast_signed(),
        set: |row, value| {
            row.row.sequence = value.cast_unsigned();
            Some(())
        },
    },
    whole!("copy", U32, u32, row.copy),
    whole!("forward_copy", U32, u32, row.forward_copy),
    whole!("size", U32, u32, row.size),
    ColumnKind::Maybe {
        name: "wake_error_ns",
        kind: I64,
        get: |row| row.row.wake_error_ns,
        set: |row, value| {
            row.row.wake_error_ns = Some(within(&SPANS, value)?);
            Some(())
        },
    },
    stamp!("t1_kernel_ns", t1, kernel),
    stamp!("t1_user_ns", t1, user),
    stamp!("t1_in_packet_ns", t1, told),
    stamp!("t2_kernel_ns", t2, kernel),
    stamp!("t2_user_ns", t2, user),
    stamp!("t2_in_packet_ns", t2, told),
    stamp!("t3_kernel_ns", t3, kernel),
    stamp!("t3_user_ns", t3, user),
    stamp!("t3_in_packet_ns", t3, told),
    stamp!("t4_kernel_ns", t4, kernel),
    stamp!("t4_user_ns", t4, user),
    stamp!("t4_in_packet_ns", t4, told),
    octet!("forward_ttl", forward_ttl),
    octet!("reverse_ttl", reverse_ttl),
    octet!("forward_tos", forward_tos),
    octet!("reverse_tos", reverse_tos),
    flag!(not_sent),
    flag!(seen_by_responder),
    flag!(returned),
];

/// Those of network cards' stamps: they follow the others in the files of runs that have such stamps.
static CARD_COLUMNS: [ColumnKind; 5] = [
    stamp!("t1_nic_ns", t1, nic),
    stamp!("t2_nic_ns", t2, nic),
    stamp!("t3_nic_ns", t3, nic),
    stamp!("t4_nic_ns", t4, nic),
    ColumnKind::Maybe {
        name: "nic_error_ns",
        kind: U32,
        get: |row| row.row.nic_error_ns.map(i64::from),
        set: |row, value| {
            row.row.nic_error_ns = Some(u32::try_from(value).ok()?);
            Some(())
        },
    },
];

/// The number of the reply, in the files of runs with reflections.
static NUMBER_COLUMNS: [ColumnKind; 1] = [ColumnKind::Maybe {
    name: "reply_number",
    kind: U32,
    get: |row| row.row.reply_number.map(i64::from),
    set: |row, value| {
        row.row.reply_number = Some(u32::try_from(value).ok()?);
        Some(())
    },
}];

/// The columns that only some files have, in their order behind the others.
static SOMETIMES: [&[ColumnKind]; 2] = [&CARD_COLUMNS, &NUMBER_COLUMNS];

/// Which of [`SOMETIMES`] a file has.
type Has = [bool; SOMETIMES.len()];

/// The columns of a file.
fn columns(has: Has) -> impl Iterator<Item = &'static ColumnKind> {
    let sometimes = SOMETIMES.iter().zip(has).filter(|(_, has)| *has);
    COLUMNS.iter().chain(sometimes.flat_map(|(columns, _)| *columns))
}

/// What rows have of those columns.
fn had_by<'a>(rows: impl IntoIterator<Item = &'a RoundTrip>) -> Has {
    let mut has = Has::default();
    for row in rows {
        let row = Row { stream: 0, row: *row };
        for (has, columns) in has.iter_mut().zip(SOMETIMES) {
            *has = *has
                || columns.iter().any(|column| match column {
                    ColumnKind::Maybe { get, .. } => get(&row).is_some(),
                    ColumnKind::Whole { .. } | ColumnKind::Flag { .. } => false,
                });
        }
        if has.iter().all(|has| *has) {
            break;
        }
    }
    has
}

impl ColumnKind {
    fn name(&self) -> &'static str {
        match self {
            Self::Whole { name, .. } | Self::Maybe { name, .. } | Self::Flag { name, .. } => name,
        }
    }
    /// 64-bit numbers and stamps; the smaller ones are kept in 32 bits.
    fn wide(&self) -> bool {
        matches!(self, Self::Whole { kind, .. } | Self::Maybe { kind, .. } if *kind == I64 || *kind == U64)
    }
    fn declaration(&self) -> String {
        let size = if self.wide() { "int64" } else { "int32" };
        match self {
            Self::Whole { name, kind, .. } => format!("required {size} {name} ({kind});"),
            Self::Maybe { name, kind, .. } => format!("optional {size} {name} ({kind});"),
            Self::Flag { name, .. } => format!("required boolean {name};"),
        }
    }
}

fn schema(has: Has) -> Result<TypePtr, ParquetError> {
    let fields: String = columns(has).map(ColumnKind::declaration).collect();
    parse_message_type(&format!("message packets {{ {fields} }}")).map(Arc::new)
}

fn properties(has: Has) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_created_by(romer_record::SOFTWARE.to_owned())
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(vec![KeyValue::new(SCHEMA_KEY.to_owned(), PACKETS_SCHEMA.to_owned())]));
    for column in columns(has) {
        let encoding = match column {
            ColumnKind::Flag { .. } => Encoding::RLE,
            ColumnKind::Whole { .. } | ColumnKind::Maybe { .. } => Encoding::DELTA_BINARY_PACKED,
        };
        builder = builder.set_column_encoding(ColumnPath::from(column.name()), encoding);
    }
    builder.build()
}

/// Puts the rows of all streams into a file at `path`, stream after stream in the order of their numbers: whole
/// and safe from a loss of power, or not at all.
///
/// # Errors
/// [`StoreError::Io`]; what stood at `path` before is then still there.
pub fn write_rows(path: &Path, streams: &BTreeMap<u16, Vec<RoundTrip>>) -> Result<(), StoreError> {
    let rows =
        streams.iter().flat_map(|(stream, rows)| rows.iter().map(|row| Row { stream: *stream, row: *row }));
    let has = had_by(streams.values().flatten());
    durable::put(path, |file| {
        write_file(file, rows, has)
            .map_err(|error| StoreError::io("write the packet log", path)(into_io(error)))
    })
}

fn into_io(error: ParquetError) -> std::io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(io) => *io,
            Err(other) => std::io::Error::other(other),
        },
        other => std::io::Error::other(other),
    }
}

fn write_file(file: &mut File, mut rows: impl Iterator<Item = Row>, has: Has) -> Result<(), ParquetError> {
    let properties = Arc::new(properties(has));
    let mut writer = SerializedFileWriter::new(Summed::new(file), schema(has)?, properties)?;
    loop {
        let group: Vec<Row> = rows.by_ref().take(GROUP_ROWS).collect();
        if group.is_empty() {
            break;
        }
        let mut writers = writer.next_row_group()?;
        for column in columns(has) {
            write_column(&mut writers, column, &group)?;
        }
        writers.close()?;
    }
    writer.into_inner()?.seal().map_err(|error| ParquetError::External(Box::new(error)))
}

fn write_column<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &ColumnKind,
    rows: &[Row],
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General(format!("the schema has no column {}", column.name()));
    let mut writer = group.next_column()?.ok_or_else(missing)?;
    let (values, present): (Vec<i64>, Option<Vec<i16>>) = match column {
        ColumnKind::Flag { get, .. } => {
            let values: Vec<bool> = rows.iter().map(get).collect();
            writer.typed::<BoolType>().write_batch(&values, None, None)?;
            return writer.close();
        }
        ColumnKind::Whole { get, .. } => (rows.iter().map(get).collect(), None),
        ColumnKind::Maybe { get, .. } => {
            let present = rows.iter().map(|row| i16::from(get(row).is_some())).collect();
            (rows.iter().filter_map(get).collect(), Some(present))
        }
    };
    if column.wide() {
        writer.typed::<Int64Type>().write_batch(&values, present.as_deref(), None)?;
    } else {
        let narrow: Vec<i32> = values.iter().map(|value| low_bits(*value)).collect();
        writer.typed::<Int32Type>().write_batch(&narrow, present.as_deref(), None)?;
    }
    writer.close()
}

/// A u32 in the bits of an i32, as Parquet keeps it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the column's values are below 2^32"
)]
const fn low_bits(value: i64) -> i32 {
    (value as u32).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference names every column that a file can have.
    #[test]
    fn columns_are_documented() {
        const PAGE: &str = include_str!("../../../../docs/reference/parquet.md");
        for column in columns([true; SOMETIMES.len()]) {
            assert!(PAGE.contains(&format!("`{}`", column.name())), "{}", column.name());
        }
    }

    /// A file in which a stream comes after one of a greater number is refused with its place: read part by part, only its last part
    /// would count.
    #[test]
    fn alternating_streams_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("packets.parquet");
        let read = |streams: &[u16]| {
            let row = |stream: &u16| Row { stream: *stream, row: RoundTrip::default() };
            let mut file =
                File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
            write_file(&mut file, streams.iter().map(row), [false; SOMETIMES.len()]).unwrap();
            read_rows(&path).map(|rows| rows.values().map(Vec::len).collect::<Vec<_>>())
        };
        assert_eq!(read(&[0, 0, 1, 3]).unwrap(), [2, 1, 1]);
        for streams in [&[0, 1, 0][..], &[1, 0]] {
            let refused = read(streams).unwrap_err().to_string();
            assert!(refused.contains("stream 0 does not stand in the order of the streams"), "{refused}");
        }
    }
}
