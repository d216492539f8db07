//! Lines of plain numbers, which are nearly all: read in one pass, the same as the others.

use super::read::{CsvColumn, FARTHEST, LARGEST};
use super::row::Row;

/// Digits that fit 64 bits whatever they are.
const DIGITS: usize = 19;

/// The row of a line that holds nothing but numbers and commas, each in its range and as many as there are columns. `None`
/// where anything is otherwise: it may be right all the same, and is to be looked at more closely.
pub(super) fn row(line: &[u8], columns: &[CsvColumn]) -> Option<Row> {
    let mut row = Row::default();
    let mut rest = line;
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            rest = rest.strip_prefix(b",")?;
        }
        let (number, after) = number(rest)?;
        let stamp = number.filter(|number| number.unsigned_abs() <= FARTHEST.unsigned_abs());
        match *column {
            CsvColumn::Sequence => row.sequence = u64::try_from(number?).ok()?,
            CsvColumn::Size => row.size = u32::try_from(number?).ok().filter(|size| *size <= LARGEST)?,
            CsvColumn::Stamp(_) | CsvColumn::User(_) if stamp.is_none() && number.is_some() => return None,
            CsvColumn::Stamp(place) => row.stamps[place] = stamp,
            CsvColumn::User(place) => row.user[place] = stamp,
            CsvColumn::Fate | CsvColumn::Other => return None,
        }
        // Other columns have no sign.
        if rest.first() == Some(&b'-') && !matches!(column, CsvColumn::Stamp(_) | CsvColumn::User(_)) {
            return None;
        }
        rest = after;
    }
    rest.is_empty().then_some(row)
}

/// The number that a text begins with, if it begins with one, and what follows it.
fn number(text: &[u8]) -> Option<(Option<i64>, &[u8])> {
    let (negative, unsigned) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
    let mut size = 0_u64;
    let mut digits = 0;
    for octet in unsigned {
        let digit = octet.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        if digits == DIGITS {
            return None;
        }
        size = size * 10 + u64::from(digit);
        digits += 1;
    }
    let rest = unsigned.get(digits..)?;
    if digits == 0 {
        return (!negative).then_some((None, rest));
    }
    let size = i64::try_from(size).ok()?;
    Some((Some(if negative { -size } else { size }), rest))
}
