//! The finished packet log: `packets.parquet`, a row for each [`RoundTrip`], with what the analysis found of it ([`Outcome`]).
//!
//! Integer columns are delta-encoded (stamps rise steadily, so that a stamp takes a few octets), words are in
//! dictionaries, pages are compressed with snappy, and what is not known is null. All times are nanoseconds since
//! 1970-01-01 UTC on the clock of the host that took them. The metadata describes the columns. Any reader of Parquet
//! can read the file; ours reads the columns that it has recorded, by name, and no others.

mod columns;
mod outcome;
mod pages;
mod reading;
mod table;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};
use romer_record::RoundTrip;

use crate::checksum::Summed;
use crate::durable;
use crate::error::StoreError;
use columns::{Column, ColumnKind, Has, Row, columns, described_rows, had_by};
pub use outcome::{Outcome, Outcomes};
pub use reading::{RowsFile, read_rows};
pub use table::{ColumnValues, PacketColumn, packet_columns};

/// The schema's name and version, in the file's key-value metadata under `romer.schema`.
pub const PACKETS_SCHEMA: &str = "romer/packets/2";
const SCHEMA_KEY: &str = "romer.schema";
const SCHEMA_FAMILY: &str = "romer/packets/";
const SCHEMA_VERSION: u32 = 2;
/// The key of the columns' descriptions: a JSON object, by the names of the columns.
const COLUMNS_KEY: &str = "romer.columns";

/// Rows in a group: what a reader must take at once.
const GROUP_ROWS: usize = 1 << 18;

fn schema(has: Has) -> Result<TypePtr, ParquetError> {
    let fields: String = columns(has).map(Column::declaration).collect();
    parse_message_type(&format!("message packets {{ {fields} }}")).map(Arc::new)
}

fn properties(has: Has) -> WriterProperties {
    let described: serde_json::Map<String, serde_json::Value> =
        columns(has).map(|column| (column.name.to_owned(), column.about.into())).collect();
    let metadata = [
        (SCHEMA_KEY, PACKETS_SCHEMA.to_owned()),
        (COLUMNS_KEY, serde_json::Value::Object(described).to_string()),
    ];
    let mut builder = WriterProperties::builder()
        .set_created_by(romer_record::SOFTWARE.to_owned())
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // The places of the pages help readers that skip pages. Files of a minute have one page a column.
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(
            metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect(),
        ));
    for column in columns(has) {
        let path = ColumnPath::from(column.name);
        builder = match column.kind {
            ColumnKind::Flag { .. } => builder.set_column_encoding(path, Encoding::RLE),
            ColumnKind::Whole { .. } | ColumnKind::Maybe { .. } | ColumnKind::ComputedNumber { .. } => {
                builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            ColumnKind::Word { .. } | ColumnKind::ComputedWord { .. } => {
                builder.set_column_dictionary_enabled(path, true)
            }
        };
    }
    builder.build()
}

/// Puts the rows of all streams into a file at `path`, stream after stream in the order of their numbers, with their
/// `outcomes`: whole and safe from a loss of power, or not at all.
///
/// # Errors
/// [`StoreError::Io`]; what stood at `path` before is then still there.
pub fn write_rows(
    path: &Path,
    streams: &BTreeMap<u16, Vec<RoundTrip>>,
    outcomes: &dyn Outcomes,
) -> Result<(), StoreError> {
    let rows = described_rows(streams, outcomes);
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
    column: &Column,
    rows: &[Row],
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General(format!("the schema has no column {}", column.name));
    let mut writer = group.next_column()?.ok_or_else(missing)?;
    let presence =
        |present: &dyn Fn(&Row) -> bool| -> Vec<i16> { rows.iter().map(|row| present(row).into()).collect() };
    let (values, present): (Vec<i64>, Option<Vec<i16>>) = match column.kind {
        ColumnKind::Flag { get, .. } => {
            let values: Vec<bool> = rows.iter().map(get).collect();
            writer.typed::<BoolType>().write_batch(&values, None, None)?;
            return writer.close();
        }
        ColumnKind::Word { get, .. } | ColumnKind::ComputedWord { get } => {
            let present = presence(&|row| get(row).is_some());
            writer.typed::<ByteArrayType>().write_batch(&words(rows, get), Some(present.as_slice()), None)?;
            return writer.close();
        }
        ColumnKind::Whole { get, .. } => (rows.iter().map(get).collect(), None),
        ColumnKind::Maybe { get, .. } | ColumnKind::ComputedNumber { get } => {
            let present = presence(&|row| get(row).is_some());
            (rows.iter().filter_map(get).collect(), Some(present))
        }
    };
    if column.is_wide() {
        writer.typed::<Int64Type>().write_batch(&values, present.as_deref(), None)?;
    } else {
        let narrow: Vec<i32> = values.iter().map(|value| low_bits(*value)).collect();
        writer.typed::<Int32Type>().write_batch(&narrow, present.as_deref(), None)?;
    }
    writer.close()
}

/// The words of the rows that have one. Equal ones share their octets: there are few.
fn words(rows: &[Row], get: fn(&Row) -> Option<&'static str>) -> Vec<ByteArray> {
    let mut known: Vec<(&'static str, ByteArray)> = Vec::new();
    let mut values = Vec::new();
    for word in rows.iter().filter_map(get) {
        let shared = match known.iter().find(|(one, _)| *one == word) {
            Some((_, shared)) => shared.clone(),
            None => {
                let shared = ByteArray::from(word);
                known.push((word, shared.clone()));
                shared
            }
        };
        values.push(shared);
    }
    values
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
    use romer_record::document::ProbeDirection;
    use romer_units::Timestamp;

    use super::columns::{COLUMNS, SOMETIMES};
    use super::*;

    /// The type of a column as the reference states it.
    fn stated_type(column: &Column) -> String {
        let declared = column.declaration();
        let kind = match declared.split_once('(').map(|(_, kind)| kind.trim_end_matches(");")) {
            Some("TIMESTAMP(NANOS,true)") => "timestamp (ns, UTC)",
            Some("STRING") => "string",
            Some("INTEGER(8,false)") => "uint8",
            Some("INTEGER(16,false)") => "uint16",
            Some("INTEGER(32,false)") => "uint32",
            Some("INTEGER(64,false)") => "uint64",
            Some("INTEGER(64,true)") => "int64",
            _ => "boolean",
        };
        format!("{kind}{}", if column.is_optional() { ", null" } else { "" })
    }

    /// The reference has the table of the columns, with the descriptions that stand in the file.
    #[test]
    fn columns_are_documented() {
        const PAGE: &str = include_str!("../../../../docs/reference/parquet.md");
        let lines = |columns: &mut dyn Iterator<Item = &'static Column>| -> String {
            columns
                .map(|one| format!("| `{}` | {} | {} |\n", one.name, stated_type(one), one.about))
                .collect()
        };
        let always = lines(&mut COLUMNS.iter());
        assert!(PAGE.contains(&always), "docs/reference/parquet.md lacks this table:\n{always}");
        let sometimes = lines(&mut SOMETIMES.iter().flat_map(|sometimes| sometimes.columns));
        assert!(PAGE.contains(&sometimes), "docs/reference/parquet.md lacks this table:\n{sometimes}");
    }

    fn file_at(path: &Path) -> File {
        File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap()
    }

    /// A file in which a stream comes after one of a greater number is refused with its place: read part by part, only its last part
    /// would count.
    #[test]
    fn alternating_streams_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("packets.parquet");
        let read = |streams: &[u16]| {
            let row = |stream: &u16| Row { stream: *stream, ..Row::default() };
            write_file(&mut file_at(&path), streams.iter().map(row), Has::default()).unwrap();
            read_rows(&path).map(|rows| rows.values().map(Vec::len).collect::<Vec<_>>())
        };
        assert_eq!(read(&[0, 0, 1, 3]).unwrap(), [2, 1, 1]);
        for streams in [&[0, 1, 0][..], &[1, 0]] {
            let refused = read(streams).unwrap_err().to_string();
            assert!(refused.contains("stream 0 does not stand in the order of the streams"), "{refused}");
        }
    }

    /// A file of the first version, with `way` for the direction and plain numbers for times, is read.
    #[test]
    fn first_version_is_read() {
        const FILE: &[u8] = include_bytes!("../tests/packets-1.parquet");
        let place = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(place.path(), FILE).unwrap();
        let rows = read_rows(place.path()).unwrap();
        let ways: Vec<ProbeDirection> = rows[&0].iter().map(|row| row.way).collect();
        assert_eq!(ways, [[ProbeDirection::Forward; 3], [ProbeDirection::Reverse; 3]].concat());
        assert_eq!(rows[&0][0].t1.kernel.map(Timestamp::as_nanos), Some(1_796_065_009_051_163_571));
    }
}
