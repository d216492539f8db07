//! The same columns in memory, for programs that read them without a file.

use std::collections::BTreeMap;

use romer_record::RoundTrip;

use super::columns::{Column, ColumnKind, I64, MOMENT, Row, U8, U16, U64, columns, described_rows, had_by};
use super::outcome::Outcomes;

/// Rows that are converted at once. They are copied once into memory that stays in the cache of a processor.
const BLOCK_ROWS: usize = 512;

/// A column of the packets, as `packets.parquet` has it.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketColumn {
    /// Its name.
    pub name: &'static str,
    /// What it holds, with its unit.
    pub about: &'static str,
    /// The values, one for each row. Of a row without a value it is 0, or an empty word.
    pub values: ColumnValues,
    /// Whether a row has a value; `None` for a column in which every row has one.
    pub present: Option<Vec<bool>>,
}

/// The values of a column by their type.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Numbers below 2^8.
    U8(Vec<u8>),
    /// Numbers below 2^16.
    U16(Vec<u16>),
    /// Numbers below 2^32.
    U32(Vec<u32>),
    /// Numbers below 2^64.
    U64(Vec<u64>),
    /// Signed numbers.
    I64(Vec<i64>),
    /// Nanoseconds since 1970-01-01 UTC, on the clock of the host that took them.
    Time(Vec<i64>),
    /// Yes or no.
    Flag(Vec<bool>),
    /// Words, of which there are few different ones.
    Word(Vec<&'static str>),
}

/// The columns of the rows of all streams, stream after stream in the order of their numbers, with their `outcomes`: what
/// `write_rows` would write.
pub fn packet_columns(streams: &BTreeMap<u16, Vec<RoundTrip>>, outcomes: &dyn Outcomes) -> Vec<PacketColumn> {
    let has = had_by(streams.values().flatten());
    let rows = streams.values().map(Vec::len).sum();
    let described: Vec<&Column> = columns(has).collect();
    let mut filled: Vec<PacketColumn> = described.iter().map(|column| empty(column, rows)).collect();
    let mut rows = described_rows(streams, outcomes);
    loop {
        let block: Vec<Row> = rows.by_ref().take(BLOCK_ROWS).collect();
        if block.is_empty() {
            return filled;
        }
        for (column, filled) in described.iter().zip(&mut filled) {
            append(column, &block, filled);
        }
    }
}

/// A column without values, with memory for `rows` of them.
fn empty(column: &Column, rows: usize) -> PacketColumn {
    let values = match column.kind {
        ColumnKind::Whole { kind, .. } | ColumnKind::Maybe { kind, .. } => match kind {
            U8 => ColumnValues::U8(Vec::with_capacity(rows)),
            U16 => ColumnValues::U16(Vec::with_capacity(rows)),
            U64 => ColumnValues::U64(Vec::with_capacity(rows)),
            I64 => ColumnValues::I64(Vec::with_capacity(rows)),
            MOMENT => ColumnValues::Time(Vec::with_capacity(rows)),
            _ => ColumnValues::U32(Vec::with_capacity(rows)),
        },
        ColumnKind::ComputedNumber { .. } => ColumnValues::I64(Vec::with_capacity(rows)),
        ColumnKind::Flag { .. } => ColumnValues::Flag(Vec::with_capacity(rows)),
        ColumnKind::Word { .. } | ColumnKind::ComputedWord { .. } => {
            ColumnValues::Word(Vec::with_capacity(rows))
        }
    };
    let present = column.is_optional().then(|| Vec::with_capacity(rows));
    PacketColumn { name: column.name, about: column.about, values, present }
}

fn append(column: &Column, rows: &[Row], filled: &mut PacketColumn) {
    match column.kind {
        ColumnKind::Whole { get, .. } => append_numbers(rows, |row| Some(get(row)), filled),
        ColumnKind::Maybe { get, .. } | ColumnKind::ComputedNumber { get } => {
            append_numbers(rows, get, filled);
        }
        ColumnKind::Flag { get, .. } => {
            if let ColumnValues::Flag(values) = &mut filled.values {
                values.extend(rows.iter().map(get));
            }
        }
        ColumnKind::Word { get, .. } | ColumnKind::ComputedWord { get } => {
            if let ColumnValues::Word(values) = &mut filled.values {
                values.extend(rows.iter().map(|row| get(row).unwrap_or_default()));
            }
            if let Some(present) = &mut filled.present {
                present.extend(rows.iter().map(|row| get(row).is_some()));
            }
        }
    }
}

fn append_numbers(rows: &[Row], get: impl Fn(&Row) -> Option<i64>, filled: &mut PacketColumn) {
    /// A row holds its numbers in these types.
    fn narrow<T: TryFrom<i64> + Default>(value: Option<i64>) -> T {
        value.and_then(|value| T::try_from(value).ok()).unwrap_or_default()
    }
    let numbers = rows.iter().map(&get);
    match &mut filled.values {
        ColumnValues::U8(values) => values.extend(numbers.map(narrow::<u8>)),
        ColumnValues::U16(values) => values.extend(numbers.map(narrow::<u16>)),
        ColumnValues::U32(values) => values.extend(numbers.map(narrow::<u32>)),
        // A number of 64 bits is in the bits of a signed one.
        ColumnValues::U64(values) => values.extend(numbers.map(|value| value.unwrap_or(0).cast_unsigned())),
        ColumnValues::I64(values) | ColumnValues::Time(values) => {
            values.extend(numbers.map(Option::unwrap_or_default));
        }
        ColumnValues::Flag(_) | ColumnValues::Word(_) => {}
    }
    if let Some(present) = &mut filled.present {
        present.extend(rows.iter().map(|row| get(row).is_some()));
    }
}

#[cfg(test)]
mod tests {
    use romer_units::Timestamp;

    use super::*;

    /// Each column has a value for each row, in the order of the streams, and a missing stamp is absent.
    #[test]
    fn columns_have_all_rows() {
        let row = |sequence| RoundTrip { sequence, size: 44, ..RoundTrip::default() };
        let mut stamped = row(u64::MAX);
        stamped.t1.kernel = Some(Timestamp::from_nanos(1_700_000_000_000_000_000));
        stamped.forward_ttl = Some(64);
        let streams = BTreeMap::from([(3, vec![row(0), stamped]), (1, vec![row(7); BLOCK_ROWS])]);
        let columns = packet_columns(&streams, &());
        let column = |name: &str| columns.iter().find(|column| column.name == name).cloned().unwrap();
        let ColumnValues::U16(numbers) = column("stream").values else { panic!("a number of a stream") };
        assert_eq!(numbers.len(), BLOCK_ROWS + 2);
        assert_eq!(numbers[BLOCK_ROWS - 1..], [1, 3, 3]);
        let ColumnValues::U64(sequences) = column("sequence").values else { panic!("a number") };
        assert_eq!(sequences[BLOCK_ROWS..], [0, u64::MAX]);
        let times = column("t1_kernel_ns");
        let ColumnValues::Time(moments) = times.values else { panic!("times") };
        assert_eq!(moments[BLOCK_ROWS..], [0, 1_700_000_000_000_000_000]);
        assert_eq!(times.present.unwrap()[BLOCK_ROWS..], [false, true]);
        let ColumnValues::U8(hops) = column("forward_ttl").values else { panic!("a small number") };
        assert_eq!(hops.last(), Some(&64));
        assert_eq!(column("fate").present.unwrap(), vec![false; BLOCK_ROWS + 2]);
        assert_eq!(column("stream").present, None);
    }
}
