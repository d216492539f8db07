//! A last line without a line end: whoever wrote the file may have been interrupted in it.

use romer_record::warning::MeasurementWarning;

use super::read::{CsvColumn, LARGEST, parse_integer, stamp, text};
use super::row::Row;

/// What becomes of a last line without a line end: whoever wrote it may have been interrupted in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unended {
    /// It lacks fields, or its last value lacks digits: it is left out.
    Cut {
        /// Its number, from 1.
        line: u64,
    },
    /// It looks whole, and is taken.
    Taken {
        /// Its number, from 1.
        line: u64,
        /// Its last field is a stamp that is empty, as of a packet that did not get there.
        empty: bool,
    },
}

impl Unended {
    /// The warning of it.
    pub const fn warning(self) -> MeasurementWarning {
        match self {
            Self::Cut { line } => MeasurementWarning::LastLineTruncated { line },
            Self::Taken { line, empty } => {
                MeasurementWarning::LastLineUnterminated { line, empty_field: empty }
            }
        }
    }
}

/// What is known of the lines before the last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    /// The last stamps that there were of each kind, and the departures of their packets.
    stamps: [Option<(i64, Option<i64>)>; 4],
    user: [Option<(i64, Option<i64>)>; 4],
    sequence: Option<u64>,
    /// The size of all packets, where it is one.
    size: Option<Option<u32>>,
}

impl Before {
    /// Whether there were any.
    pub(super) fn is_any(&self) -> bool {
        self.sequence.is_some()
    }

    pub(super) fn take(&mut self, row: &Row) {
        let departure = row.stamps[0].or(row.user[0]);
        let kinds = [(&mut self.stamps, &row.stamps), (&mut self.user, &row.user)];
        for (known, stamps) in kinds {
            for (known, stamp) in known.iter_mut().zip(stamps) {
                *known = stamp.map(|stamp| (stamp, departure)).or(*known);
            }
        }
        self.sequence = Some(row.sequence);
        self.size = Some(self.size.map_or(Some(row.size), |size| size.filter(|size| *size == row.size)));
    }

    /// Whether the value of the last column lies far from where those before lead one to expect it, and would lie there if it
    /// had more digits.
    pub(super) fn lacks_digits(&self, last: CsvColumn, row: &Row) -> bool {
        let departure = row.stamps[0].or(row.user[0]);
        let (value, expected) = match last {
            // The packet took about as long as the one before.
            CsvColumn::Stamp(place) => {
                (row.stamps[place].map(i128::from), after(self.stamps[place], departure))
            }
            CsvColumn::User(place) => (row.user[place].map(i128::from), after(self.user[place], departure)),
            CsvColumn::Sequence => {
                (Some(row.sequence.into()), self.sequence.map(|before| i128::from(before) + 1))
            }
            CsvColumn::Size => (Some(row.size.into()), self.size.flatten().map(i128::from)),
            CsvColumn::Fate | CsvColumn::Other => return false,
        };
        let Some((value, expected)) = value.zip(expected) else { return false };
        let away = (value - expected).abs();
        // As many digits as bring it to the expected one, as far as there can be so many, and what all that lies between them
        // could be.
        let units = std::iter::successors(Some(10), |unit: &i128| unit.checked_mul(10)).take(19);
        let mut units = units.take_while(|unit| value.abs() * unit <= i128::from(u64::MAX));
        units.any(|unit| {
            let (from, to) = (value * unit, value * unit + value.signum() * (unit - 1));
            let nearest = expected.clamp(from.min(to), from.max(to));
            10 * (nearest - expected).abs() < away
        })
    }
}

/// When a packet is to be expected that departs at `departure` and takes as long as the one before.
fn after(before: Option<(i64, Option<i64>)>, departure: Option<i64>) -> Option<i128> {
    let (stamp, departed) = before?;
    let later = departure.zip(departed).map_or(0, |(now, then)| i128::from(now) - i128::from(then));
    Some(i128::from(stamp) + later)
}

/// Whether a line could be the beginning of a row: what is there of it is in the format, and its last field may be cut.
pub(super) fn beginning(line: &[u8], columns: &[CsvColumn]) -> bool {
    let Ok(text) = text(line) else { return false };
    let fields: Vec<&str> = text.split(',').map(|field| field.trim_matches('"')).collect();
    let Some((last, others)) = fields.split_last().filter(|_| fields.len() <= columns.len()) else {
        return false;
    };
    let fits = |column: &CsvColumn, field: &str| match column {
        CsvColumn::Sequence => parse_integer(field, "", u64::MAX).is_ok(),
        CsvColumn::Size => parse_integer(field, "", LARGEST.into()).is_ok(),
        CsvColumn::Stamp(_) | CsvColumn::User(_) => stamp(field).is_ok(),
        CsvColumn::Fate | CsvColumn::Other => true,
    };
    let last_column = columns[others.len()];
    others.iter().zip(columns).all(|(field, column)| fits(column, field))
        && (last.is_empty()
            || fits(&last_column, last)
            || (*last == "-" && matches!(last_column, CsvColumn::Stamp(_) | CsvColumn::User(_))))
}
