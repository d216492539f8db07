//! The pages of a column, looked at before any is decoded: a page says how large it is unpacked, and so much memory is taken for it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The longest header of a page that is believed, octets.
const LONGEST_HEADER: usize = 1 << 10;
/// Snappy unpacks an octet to 22 at the most: three octets name up to 64. A page may be so many times larger than it is packed.
const MOST_TIMES: u64 = 32;
/// A page may have so many octets whatever it is packed to.
const ALWAYS: u64 = 1 << 10;
/// Levels of nesting in a header.
const DEEPEST: u32 = 8;

/// Kinds of pages that the writer makes: with values, of the first version and of the second.
const VALUES: [i64; 2] = [0, 3];
/// The kind of a page with the words of a column.
const DICTIONARY: i64 = 2;

/// Looks at the pages between two places of a file; of a column of words, the first is their dictionary.
///
/// # Errors
/// In words where they do not fill that part, or one says what cannot be.
pub(super) fn check(file: &File, from: u64, length: u64, has_words: bool) -> Result<(), String> {
    let mut at = from;
    let end = from.checked_add(length).ok_or("its pages lie beyond the file")?;
    let mut buffer = [0; LONGEST_HEADER];
    while at < end {
        let most = usize::try_from(end - at).unwrap_or(LONGEST_HEADER).min(LONGEST_HEADER);
        let got = fill(file, &mut buffer[..most], at).map_err(|error| error.to_string())?;
        let page = PageHeader::read(&buffer[..got]).ok_or_else(|| format!("no page begins at byte {at}"))?;
        let (packed, unpacked) = (page.packed.max(0).unsigned_abs(), page.unpacked.max(0).unsigned_abs());
        let data = at + page.length as u64;
        if page.packed < 0 || page.unpacked < 0 || data.checked_add(packed).is_none_or(|next| next > end) {
            return Err(format!("the page at byte {at} does not end within its column"));
        }
        let is_dictionary = has_words && at == from && page.kind == DICTIONARY;
        if !VALUES.contains(&page.kind) && !is_dictionary {
            return Err(format!("the page at byte {at} is of a kind that romer does not write"));
        }
        if unpacked > packed.saturating_mul(MOST_TIMES).max(ALWAYS) {
            return Err(format!(
                "the page at byte {at} has {packed} bytes, and states an unpacked size of {unpacked}"
            ));
        }
        at = data + packed;
    }
    Ok(())
}

fn fill(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], at + got as u64) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// What a page's header says (Thrift's compact protocol), and its own length.
#[derive(Debug, Default, PartialEq, Eq)]
struct PageHeader {
    kind: i64,
    unpacked: i64,
    packed: i64,
    length: usize,
}

impl PageHeader {
    fn read(octets: &[u8]) -> Option<Self> {
        let mut input = Input { octets, at: 0 };
        let mut header = Self { kind: -1, unpacked: -1, packed: -1, length: 0 };
        let mut field = 0;
        while let Some((id, kind)) = input.field(field)? {
            field = id;
            match (id, kind) {
                (1, kinds::I32) => header.kind = input.number()?,
                (2, kinds::I32) => header.unpacked = input.number()?,
                (3, kinds::I32) => header.packed = input.number()?,
                _ => input.skip(kind, DEEPEST)?,
            }
        }
        header.length = input.at;
        Some(header)
    }
}

/// The types of the compact protocol.
mod kinds {
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const I8: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

struct Input<'a> {
    octets: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn octet(&mut self) -> Option<u8> {
        let octet = *self.octets.get(self.at)?;
        self.at += 1;
        Some(octet)
    }

    fn advance(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count).filter(|at| *at <= self.octets.len())?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let octet = self.octet()?;
            value |= u64::from(octet & 0x7f) << shift;
            if octet & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A signed number: the lowest bit is its sign.
    fn number(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// The next field of a struct, with its type; the inner `None` is the struct's end.
    fn field(&mut self, before: i64) -> Option<Option<(i64, u8)>> {
        let octet = self.octet()?;
        if octet == 0 {
            return Some(None);
        }
        let id = match octet >> 4 {
            0 => self.number()?,
            ahead => before.checked_add(ahead.into())?,
        };
        Some(Some((id, octet & 0x0f)))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            kinds::TRUE | kinds::FALSE => Some(()),
            kinds::I8 => self.advance(1),
            kinds::I16 | kinds::I32 | kinds::I64 => self.varint().map(drop),
            kinds::DOUBLE => self.advance(8),
            kinds::BINARY => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.advance(length)
            }
            kinds::LIST | kinds::SET => {
                let head = self.octet()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                for _ in 0..count {
                    // In a list a truth value takes an octet.
                    match head & 0x0f {
                        kinds::TRUE | kinds::FALSE => self.advance(1)?,
                        element => self.skip(element, depth)?,
                    }
                }
                Some(())
            }
            kinds::STRUCT => {
                let mut field = 0;
                while let Some((id, kind)) = self.field(field)? {
                    field = id;
                    self.skip(kind, depth)?;
                }
                Some(())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn varint(mut value: u64) -> Vec<u8> {
        let mut octets = Vec::new();
        while value > 0x7f {
            octets.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        octets.push(value.to_le_bytes()[0]);
        octets
    }

    /// A page with a struct behind its sizes, as the page of the first version has it.
    fn page(kind: u64, unpacked: u64, packed: u64, data: usize) -> Vec<u8> {
        let number = |value: u64| [vec![0x15], varint(value << 1)].concat();
        let inner =
            [vec![0x2c], number(7), vec![0x19, 0x25, 2, 4], vec![0x18, 3, b'a', b'b', b'c'], vec![0x11, 0]];
        let head = [number(kind), number(unpacked), number(packed), inner.concat(), vec![0]].concat();
        [head, vec![9; data]].concat()
    }

    fn checked(octets: &[u8]) -> Result<(), String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"PAR1").unwrap();
        file.write_all(octets).unwrap();
        check(&file, 4, octets.len() as u64, false)
    }

    #[test]
    fn pages_that_cannot_be_are_refused() {
        let good = page(0, 300, 20, 20);
        assert_eq!(checked(&[good.clone(), page(3, 20, 20, 20)].concat()), Ok(()));
        for (bad, part) in [
            (page(0, 1 << 31, 20, 20), "states an unpacked size of 2147483648"),
            (page(0, 20, 21, 20), "does not end within its column"),
            (page(2, 20, 20, 20), "of a kind"),
            (good[..10].to_vec(), "no page begins at byte 4"),
            ([good.clone(), vec![0xff; 30]].concat(), "no page begins at byte"),
        ] {
            let why = checked(&bad).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }

    /// Nested structs end the reading before they fill the stack, and lists before they fill the time.
    #[test]
    fn deep_and_long_headers_are_refused() {
        assert_eq!(PageHeader::read(&[0x1c; 1_000]), None);
        let list = [vec![0x19, 0xf1], varint(u64::MAX >> 1), vec![0; 100]].concat();
        assert_eq!(PageHeader::read(&list), None);
    }
}
