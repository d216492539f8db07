//! Reading the table.

use std::borrow::Cow;
use std::io::BufRead;

use romer_units::counted;

use super::last::{Before, Unended, beginning};
use super::plain;
use super::row::{Row, Shape};
use crate::line::{Fault, LONGEST, LineEnd, Lines};

/// Stamps beyond this, either way, are refused: half the range of 64 bits, so that any two can be subtracted.
pub(super) const FARTHEST: i64 = i64::MAX / 2;
/// The largest UDP payload there is (IPv6).
pub(super) const LARGEST: u32 = 65_527;
/// Characters of a field that a message shows.
const SHOWN: usize = 40;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CsvColumn {
    Sequence,
    Size,
    Stamp(usize),
    User(usize),
    /// What became of the packet, in a word.
    Fate,
    /// Nothing of a packet log.
    Other,
}

/// Reads a table line by line: as much memory as its longest line, whatever its length.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    number: u64,
    line: Vec<u8>,
    shape: Shape,
    columns: Vec<CsvColumn>,
    others: Vec<String>,
    /// The first of the empty lines before this point, which may only stand at the end.
    empty: Option<u64>,
    /// What the last line is held against, where it has no line end.
    before: Before,
    /// What became of the last line, where it had no line end.
    unended: Option<Unended>,
    /// Packets that did not arrive and are no losses by what their fates say.
    no_losses: u64,
    /// Those that a host dropped unread.
    unread: Unread,
    /// Rows that were given.
    given: usize,
    ended: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header line. Its columns may stand in any order.
    ///
    /// # Errors
    /// [`Fault`] where it is none.
    pub fn new(inner: R) -> Result<Self, Fault> {
        let mut lines = Lines::new(inner);
        let mut line = Vec::new();
        let found = lines.next(&mut line)?;
        let HeaderLine { shape, columns, others } = match found {
            LineEnd::End => Err(format!("the file is empty; begin with the line {}", expected())),
            LineEnd::TooLong => Err(too_long()),
            LineEnd::Line => header(&line),
        }
        .map_err(|why| Fault::Line { line: 1, why })?;
        let (before, unended) = (Before::default(), None);
        Ok(Self {
            lines,
            number: 1,
            line,
            shape,
            columns,
            others,
            empty: None,
            before,
            unended,
            no_losses: 0,
            unread: Unread::default(),
            given: 0,
            ended: false,
        })
    }

    /// What became of a last line without a line end; known when all lines are read.
    pub fn unended(&self) -> Option<Unended> {
        self.unended
    }

    /// How many packets are left out of which the column `fate` says that they were in flight at the end, or that it is not known what became
    /// of them: their empty fields are no losses. Known when all lines are read.
    pub fn no_losses(&self) -> u64 {
        self.no_losses
    }

    /// The packets of which the column `fate` says that they arrived at a host that did not read them. They are among the rows, with
    /// an empty field as lost ones. Known when all lines are read.
    pub fn unread(&self) -> &Unread {
        &self.unread
    }

    /// The number of the line that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.number
    }

    /// Which table it is.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The columns that no packet log has, by their names: they are not heeded.
    pub fn others(&self) -> &[String] {
        &self.others
    }

    fn advance(&mut self) -> Result<Option<Row>, Fault> {
        loop {
            self.number += 1;
            let found = self.lines.next(&mut self.line)?;
            let line = self.number;
            let fault = |why: String| Fault::Line { line, why };
            match found {
                LineEnd::End => return Ok(None),
                LineEnd::TooLong => return Err(fault(too_long())),
                LineEnd::Line if self.line.is_empty() => {
                    self.empty.get_or_insert(self.number);
                }
                LineEnd::Line => {
                    if let Some(line) = self.empty {
                        let why = "the line is empty, and others follow; remove it".into();
                        return Err(Fault::Line { line, why });
                    }
                    if !self.lines.ended() {
                        return self.last().map_err(fault);
                    }
                    let (row, fate) = row(&self.line, &self.columns).map_err(fault)?;
                    self.before.take(&row);
                    if !self.leaves_out(&row, fate) {
                        return Ok(Some(row));
                    }
                }
            }
        }
    }

    /// Whether a packet is left out, and counted, because it did not arrive and was not lost.
    fn leaves_out(&mut self, row: &Row, fate: Fate) -> bool {
        let place = self.shape.stamps().len() - 1;
        if row.stamps[place].or(row.user[place]).is_some() {
            return false;
        }
        match fate {
            Fate::AsStamped => {}
            Fate::NoLoss => self.no_losses += 1,
            Fate::InstrumentDropThere => self.unread.there.push(self.given),
            Fate::InstrumentDropBack => self.unread.back.push(self.given),
        }
        fate == Fate::NoLoss
    }

    /// The row of the last line, which has no line end; `None` where it was cut, or is left out.
    fn last(&mut self) -> Result<Option<Row>, String> {
        let line = self.number;
        let cut = |reader: &mut Self| {
            reader.unended = Some(Unended::Cut { line });
            Ok(None)
        };
        let (row, fate) = match row(&self.line, &self.columns) {
            Ok(row) => row,
            // Where it is the only line, there is nothing to go on with.
            Err(_) if self.before.is_any() && beginning(&self.line, &self.columns) => return cut(self),
            Err(why) => return Err(why),
        };
        let Some(last) = self.columns.last() else { return Ok(Some(row)) };
        if self.before.lacks_digits(*last, &row) {
            return cut(self);
        }
        let empty = match *last {
            CsvColumn::Stamp(place) => row.stamps[place].is_none(),
            CsvColumn::User(place) => row.user[place].is_none(),
            CsvColumn::Sequence | CsvColumn::Size | CsvColumn::Fate | CsvColumn::Other => false,
        };
        self.unended = Some(Unended::Taken { line, empty });
        let is_left_out = self.leaves_out(&row, fate);
        Ok((!is_left_out).then_some(row))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Row, Fault>;

    /// The next line; after a fault there are no more.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.advance().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        self.given += usize::from(!self.ended);
        next
    }
}

/// The two headers that there are.
fn expected() -> String {
    format!("{} or {}", Shape::OneWay.header(), Shape::FourStamps.header())
}

fn too_long() -> String {
    format!("the line is longer than {LONGEST} bytes; is it a packet log?")
}

fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(SHOWN).collect::<String>())
}

/// The text of a line, or why it is none.
pub(super) fn text(line: &[u8]) -> Result<&str, String> {
    if let Some(place) = line.iter().position(|octet| *octet == 0) {
        return Err(format!("byte {} is zero; save the file as text in UTF-8", place + 1));
    }
    std::str::from_utf8(line).map_err(|error| {
        format!("byte {} is not UTF-8; save the file as text in UTF-8", error.valid_up_to() + 1)
    })
}

/// What a header line says.
struct HeaderLine {
    shape: Shape,
    columns: Vec<CsvColumn>,
    others: Vec<String>,
}

fn header(line: &[u8]) -> Result<HeaderLine, String> {
    if line.starts_with(&[0xff, 0xfe]) || line.starts_with(&[0xfe, 0xff]) {
        return Err("the file is UTF-16; save it as UTF-8".into());
    }
    if line.starts_with(&[0x1f, 0x8b]) || line.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Err("the file is compressed; unpack it first".into());
    }
    let text = text(line.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(line))?;
    let fields = fields(text)?;
    let names: Vec<&str> = fields.iter().map(AsRef::as_ref).collect();
    if names.len() == 1 && text.contains([';', '\t']) {
        return Err(format!("the fields are not separated by commas; the header line is {}", expected()));
    }
    if names.iter().all(|name| name.is_empty() || name.parse::<f64>().is_ok()) {
        return Err(format!("the header line is missing; begin with {}", expected()));
    }
    let has = |shape: Shape| shape.stamps().iter().any(|stamp| names.contains(stamp));
    let shape = match (has(Shape::OneWay), has(Shape::FourStamps)) {
        (true, false) => Shape::OneWay,
        (false, true) => Shape::FourStamps,
        (true, true) => {
            return Err(format!("it has columns of both kinds of packet log; write {}", expected()));
        }
        (false, false) => {
            return Err(format!("{} is not the header of a packet log; it is {}", shown(text), expected()));
        }
    };
    let columns = names.iter().map(|name| column(name, shape)).collect::<Result<Vec<_>, _>>()?;
    for (place, column) in columns.iter().enumerate().filter(|(_, column)| **column != CsvColumn::Other) {
        if columns.iter().take(place).any(|before| before == column) {
            return Err(format!("the column {} is there twice; leave one out", shown(names[place])));
        }
    }
    let wanted = ["sequence", "size"].into_iter().chain(shape.stamps().iter().copied());
    match wanted.into_iter().find(|name| !names.contains(name)) {
        Some(missing) => {
            Err(format!("there is no column {missing:?}; the header line is {}", shape.header()))
        }
        None => {
            let others = names
                .iter()
                .zip(&columns)
                .filter(|(name, column)| **column == CsvColumn::Other && !name.is_empty());
            let others = others.map(|(name, _)| (*name).to_owned()).collect();
            Ok(HeaderLine { shape, columns, others })
        }
    }
}

/// What the column `fate` says that does not follow from the stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    /// Nothing.
    #[default]
    AsStamped,
    /// Where the packet did not arrive, it was not lost.
    NoLoss,
    /// Where it did not arrive, the host that it went to did not read it.
    InstrumentDropThere,
    /// The same of the host that it went back to.
    InstrumentDropBack,
}

impl Fate {
    fn from_word(word: &str) -> Self {
        match word {
            "in-flight" | "unknown" => Self::NoLoss,
            "instrument-drop-forward" => Self::InstrumentDropThere,
            "instrument-drop-reverse" => Self::InstrumentDropBack,
            _ => Self::AsStamped,
        }
    }
}

/// The packets that the path carried to a host that did not read them, by the places of their rows among those given, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// On the way there.
    pub there: Vec<usize>,
    /// On the way back.
    pub back: Vec<usize>,
}

/// What a column of this name holds. One that is nearly of a packet log, but written otherwise or in another unit, is a mistake.
fn column(name: &str, shape: Shape) -> Result<CsvColumn, String> {
    let stamp = |name: &str| shape.stamps().iter().position(|stamp| *stamp == name);
    let user = || name.strip_prefix("user_").and_then(stamp);
    match name {
        "sequence" => return Ok(CsvColumn::Sequence),
        "size" => return Ok(CsvColumn::Size),
        "fate" => return Ok(CsvColumn::Fate),
        _ => {}
    }
    if let Some(column) = stamp(name).map(CsvColumn::Stamp).or_else(|| user().map(CsvColumn::User)) {
        return Ok(column);
    }
    let plain = name.trim().to_ascii_lowercase();
    let bare = plain.strip_prefix("user_").unwrap_or(&plain);
    let stem = ["_ns", "_us", "_ms", "_s"].iter().find_map(|unit| bare.strip_suffix(unit)).unwrap_or(bare);
    let all = || Shape::OneWay.stamps().iter().chain(Shape::FourStamps.stamps());
    let meant =
        ["sequence", "size"].contains(&bare) || all().any(|stamp| stamp.strip_suffix("_ns") == Some(stem));
    if !meant {
        return Ok(CsvColumn::Other);
    }
    Err(format!(
        "there is no column {} in a packet log (times are in nanoseconds); the header line is {}",
        shown(name),
        shape.whole_header()
    ))
}

/// The fields of a line in which there are quotes: a field may stand in them, with commas, and with quotes that are written twice
/// (RFC 4180). One that goes on in the next line is refused. The `csv` crate is no help here: a quote without an end takes the
/// rest of the file into one field there, `"5"0` is 50, empty lines are passed over, and lines that end with CR are not counted,
/// all of which a reader is told of with the number of the line.
fn fields(text: &str) -> Result<Vec<Cow<'_, str>>, String> {
    if !text.contains('"') {
        return Ok(text.split(',').map(Cow::Borrowed).collect());
    }
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (field, after) = quoted_field(quoted)?;
                (Cow::Owned(field), after)
            }
            None => {
                let (field, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                (Cow::Borrowed(field), after)
            }
        };
        found.push(field);
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None if after.is_empty() => return Ok(found),
            None => return Err(format!("{} follows the end of a quoted field; write a comma", shown(after))),
        }
    }
}

/// A field whose quote has begun, and what comes after its end.
fn quoted_field(text: &str) -> Result<(String, &str), String> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let Some((part, after)) = rest.split_once('"') else {
            return Err("a quote has no end on the line; write a field on one line".into());
        };
        field.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                field.push('"');
                rest = more;
            }
            None => return Ok((field, after)),
        }
    }
}

fn row(line: &[u8], columns: &[CsvColumn]) -> Result<(Row, Fate), String> {
    match plain::row(line, columns) {
        Some(row) => Ok((row, Fate::default())),
        None => any_row(line, columns),
    }
}

/// The row of any line.
fn any_row(line: &[u8], columns: &[CsvColumn]) -> Result<(Row, Fate), String> {
    let text = text(line)?;
    if text.contains('"') {
        let fields = fields(text)?;
        return of_fields(text, fields.len(), fields.iter().map(AsRef::as_ref), columns);
    }
    let found = line.iter().filter(|octet| **octet == b',').count() + 1;
    of_fields(text, found, text.split(','), columns)
}

/// The row of a line's fields, of which there are `found`.
fn of_fields<'a>(
    text: &str,
    found: usize,
    fields: impl Iterator<Item = &'a str>,
    columns: &[CsvColumn],
) -> Result<(Row, Fate), String> {
    if found != columns.len() {
        return Err(miscounted(text, found, columns.len()));
    }
    let (mut row, mut fate) = (Row::default(), Fate::default());
    for (column, field) in columns.iter().zip(fields) {
        match *column {
            CsvColumn::Sequence => row.sequence = parse_integer(field, "a sequence number", u64::MAX)?,
            CsvColumn::Size => {
                row.size = parse_integer(field, "a size in bytes", LARGEST.into())
                    .map(|size| u32::try_from(size).unwrap_or(u32::MAX))?;
            }
            CsvColumn::Stamp(place) => row.stamps[place] = stamp(field)?,
            CsvColumn::User(place) => row.user[place] = stamp(field)?,
            CsvColumn::Fate => fate = Fate::from_word(field),
            CsvColumn::Other => {}
        }
    }
    Ok((row, fate))
}

fn miscounted(text: &str, found: usize, wanted: usize) -> String {
    let mend = match found {
        1 if text.contains(';') => "separate the fields by commas",
        more if more > wanted => "write numbers without commas in them",
        _ => "leave a field empty where a stamp is missing",
    };
    format!("it has {}, and the header line names {wanted}; {mend}", counted(found as u64, "field"))
}

pub(super) fn parse_integer(field: &str, what: &str, most: u64) -> Result<u64, String> {
    if field.is_empty() || !field.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(format!("{} is not {what}; write a whole number", shown(field)));
    }
    let number = field.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("{} is out of range for {what}; it is at most {most}", shown(field)))
}

/// A stamp, or none where the field is empty.
pub(super) fn stamp(field: &str) -> Result<Option<i64>, String> {
    if field.is_empty() {
        return Ok(None);
    }
    let digits = field.strip_prefix('-').unwrap_or(field);
    if digits.is_empty() || !digits.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(format!("{} is not a time; write whole nanoseconds, or nothing", shown(field)));
    }
    match field.parse::<i64>() {
        Ok(nanos) if nanos.unsigned_abs() <= FARTHEST.unsigned_abs() => Ok(Some(nanos)),
        _ => Err(format!(
            "{} ns is more than 146 years from the origin; write nanoseconds, from another origin",
            shown(field)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &[u8]) -> Result<Vec<Row>, Fault> {
        Reader::new(text)?.collect()
    }

    fn refusal(text: &[u8]) -> (u64, String) {
        match read(text) {
            Err(Fault::Line { line, why }) => (line, why),
            other => panic!("{:?} {other:?}", String::from_utf8_lossy(text)),
        }
    }

    #[test]
    fn both_tables_are_read_whatever_the_order_of_their_columns() {
        let row = |stamps, user| Row { sequence: 7, size: 44, stamps, user };
        let one = read(b"sequence,size,sent_ns,received_ns\n7,44,-5,\n").unwrap();
        assert_eq!(one, [row([Some(-5), None, None, None], [None; 4])]);
        let four =
            read(b"t4_ns,sequence,user_t1_ns,size,t1_ns,t2_ns,t3_ns\r\n4,7,0,44,1,2,3\r\n\r\n").unwrap();
        assert_eq!(four, [row([Some(1), Some(2), Some(3), Some(4)], [Some(0), None, None, None])]);
        let quoted = b"\"sequence\",\"size\",\"sent_ns\",\"received_ns\",\"said, \"\"so\"\"\"\n\"7\",44,\"-5\",\"\",\"a,\"\"b\"\n";
        assert_eq!(read(quoted).unwrap(), [row([Some(-5), None, None, None], [None; 4])]);
        let marked =
            read("\u{feff}sequence,size,sent_ns,received_ns,fate\r7,44,1,2,late".as_bytes()).unwrap();
        assert_eq!(marked, [row([Some(1), Some(2), None, None], [None; 4])]);
    }

    #[test]
    fn a_last_line_that_was_cut_is_left_out_and_one_that_looks_whole_is_taken_and_both_are_said() {
        let line =
            |n: i64| format!("{n},44,{},{}", n * 10_000_000, n * 10_000_000 + 5_000_100 + 37 * (n % 7));
        let whole: String = (0..101).map(|n| line(n) + "\n").collect();
        let ending = |text: &str| {
            let mut reader = Reader::new(text.as_bytes()).unwrap();
            let rows = reader.by_ref().map(|row| row.map(|row| row.sequence)).collect::<Result<Vec<_>, _>>();
            (rows.unwrap().len(), reader.unended())
        };
        let head = "sequence,size,sent_ns,received_ns\n";
        assert_eq!(ending(&format!("{head}{whole}")), (101, None));
        // Wherever it is cut within its last line, nothing is taken that was not written.
        let (kept, last) = (format!("{head}{}", &whole[..whole.len() - line(100).len() - 1]), line(100));
        for octets in 1..last.len() {
            let expected = match &last[..octets] {
                // What a packet that did not arrive looks like.
                "100,44,1000000000," => (101, Some(Unended::Taken { line: 102, empty: true })),
                _ => (100, Some(Unended::Cut { line: 102 })),
            };
            assert_eq!(ending(&format!("{kept}{}", &last[..octets])), expected, "{}", &last[..octets]);
        }
        let taken = Some(Unended::Taken { line: 102, empty: false });
        assert_eq!(ending(&format!("{kept}{last}")), (101, taken));
        // So it is with stamps of these years, and of those to come.
        for base in [1_701_411_834_409_000_000i64, 1_795_000_000_000_000_000, 4_000_000_000_000_000_000] {
            let line =
                |n: i64| format!("{n},44,{},{}", base + n * 10_000_000, base + n * 10_000_000 + 5_000_100);
            let kept: String = (0..9).map(|n| line(n) + "\n").collect();
            let (last, full) = (line(9), format!("{head}{kept}{}", line(9)));
            assert_eq!(ending(&full), (10, Some(Unended::Taken { line: 11, empty: false })), "{base}");
            for fewer in 1..18 {
                let cut = &full[..full.len() - fewer];
                assert_eq!(ending(cut), (9, Some(Unended::Cut { line: 11 })), "{fewer} of {last}");
            }
        }
        // A packet that took much longer or less than those before is no cut one.
        for received in [1_000_000_100i64, 2_999_999_999, 600_000_000, 1_500_000] {
            assert_eq!(ending(&format!("{kept}100,44,1000000000,{received}")), (101, taken), "{received}");
        }
        // The last column may be another, and lie below zero.
        let other = "user_received_ns,sent_ns,received_ns,size,sequence\n,-50,-20,44,98\n,-40,-10,44,99\n,-30,-9,44,1";
        assert_eq!(ending(other), (2, Some(Unended::Cut { line: 4 })));
        let sizes = "sequence,sent_ns,received_ns,size\n0,1,2,160\n1,3,4,160\n2,5,6,";
        assert_eq!(ending(&format!("{sizes}16")).1, Some(Unended::Cut { line: 4 }));
        assert_eq!(ending(&format!("{sizes}60")).1, Some(Unended::Taken { line: 4, empty: false }));
        let below = "sequence,size,sent_ns,received_ns\n0,44,-900000000,-700000000\n1,44,-890000000,-6900";
        assert_eq!(ending(below), (1, Some(Unended::Cut { line: 3 })));
        // What is wrong in it is wrong, cut or not.
        for wrong in ["1;44;5;6", "1,44,x", "1,44,5,6,7", "x", "1,44,1.5"] {
            assert!(read(format!("{kept}{wrong}").as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_spreadsheet_adds_is_not_heeded_and_told() {
        let text = "sequence,delay,size,sent_ns,received_ns,fate,,\n7,0.5 ms,44,1,2,late,,\n8,,44,3,4,,,x\n";
        let reader = Reader::new(text.as_bytes()).unwrap();
        assert_eq!(reader.others(), ["delay"]);
        assert_eq!(reader.map(|row| row.unwrap().sequence).collect::<Vec<_>>(), [7, 8]);
    }

    #[test]
    fn what_is_not_in_the_format_is_refused_with_its_line_and_the_reason() {
        let rows = "sequence,size,sent_ns,received_ns\n0,44,1,2\n";
        for (text, line, part) in [
            (String::new(), 1, "empty"),
            ("0,44,1,2\n".into(), 1, "header line is missing"),
            ("hello\n".into(), 1, "not the header"),
            ("sequence;size;sent_ns;received_ns\n".into(), 1, "separated by commas"),
            ("sequence,size,sent_ns\n".into(), 1, "no column \"received_ns\""),
            ("sequence,size,sent_us,received_ns\n".into(), 1, "nanoseconds"),
            ("sequence,size,sent_ns,received_ns,t1_ms\n".into(), 1, "no column \"t1_ms\""),
            ("sequence, size,sent_ns,received_ns\n".into(), 1, "no column \" size\""),
            ("Sequence,size,sent_ns,received_ns\n".into(), 1, "no column \"Sequence\""),
            ("sequence,size,sent_ns,received_ns,user_sent\n".into(), 1, "no column \"user_sent\""),
            (format!("{rows}1,44,\"5,6\n"), 3, "a quote has no end"),
            (format!("{rows}1,44,\"5\"0,6\n"), 3, "follows the end of a quoted field"),
            ("sequence,size,sent_ns,received_ns,t1_ns\n".into(), 1, "both kinds"),
            ("sequence,size,sent_ns,received_ns,size\n".into(), 1, "twice"),
            ("\u{1f}".into(), 1, "not the header"),
            (format!("{rows}1\n"), 3, "it has 1 field,"),
            (format!("{rows}1,44,5\n"), 3, "3 fields"),
            (format!("{rows}1,44,5,6,7\n"), 3, "5 fields"),
            (format!("{rows}1,44,5,6,7\n"), 3, "without commas"),
            (format!("{rows}1;44;5;6\n"), 3, "by commas"),
            (format!("{rows},44,5,6\n"), 3, "sequence number"),
            (format!("{rows}-1,44,5,6\n"), 3, "sequence number"),
            (format!("{rows}18446744073709551616,44,5,6\n"), 3, "out of range"),
            (format!("{rows}1,65528,5,6\n"), 3, "at most 65527"),
            (format!("{rows}1,,5,6\n"), 3, "size"),
            (format!("{rows}1,44,NaN,6\n"), 3, "not a time"),
            (format!("{rows}1,44,1.5,6\n"), 3, "whole nanoseconds"),
            (format!("{rows}1,44,1e9,6\n"), 3, "not a time"),
            (format!("{rows}1,44,+1,6\n"), 3, "not a time"),
            (format!("{rows}1,44,-,6\n"), 3, "not a time"),
            (format!("{rows}1,44,\u{661},6\n"), 3, "not a time"),
            (format!("{rows}1,44,9223372036854775807,6\n"), 3, "146 years"),
            (format!("{rows}1,44,-9223372036854775808,6\n"), 3, "146 years"),
            (format!("{rows}1,44,\0,6\n"), 3, "byte 6 is zero"),
            (format!("{rows}\n1,44,5,6\n"), 3, "the line is empty"),
            (format!("{rows}1,44,{},6\n", "7".repeat(LONGEST)), 3, "longer than 65536"),
        ] {
            let (found, why) = refusal(text.as_bytes());
            assert!(found == line && why.contains(part), "{text:?}: line {found}: {why}");
        }
        assert!(refusal(b"\xff\xfes\0e\0").1.contains("UTF-16"));
        assert!(refusal(b"\x1f\x8b\x08\0").1.contains("unpack"));
        assert!(refusal(b"sequence,size,sent_ns,received_ns\n0,44,1,\xff\n").1.contains("byte 8"));
    }

    /// What may stand in a field, nearly right or wrong.
    fn field() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<u16>().prop_map(|number| number.to_string()),
            any::<i64>().prop_map(|number| number.to_string()),
            (-2..=2_i64).prop_map(|beyond| (FARTHEST + beyond).to_string()),
            (-2..=2_i64).prop_map(|beyond| (-FARTHEST + beyond).to_string()),
            (0..=2_u32).prop_map(|beyond| (LARGEST - 1 + beyond).to_string()),
            "-?0{0,3}[0-9]{0,21}",
            prop::sample::select(vec!["", "-", "--1", "+1", " 1", "1 ", "1.0", "-0", "\"1\"", "x", "\u{0}"])
                .prop_map(str::to_owned),
        ]
    }

    #[test]
    fn a_line_of_plain_numbers_takes_the_short_way() {
        let columns = [CsvColumn::Sequence, CsvColumn::Size, CsvColumn::Stamp(0), CsvColumn::Stamp(1)];
        let row = plain::row(b"7,44,-1795654250313298178,", &columns).unwrap();
        let stamps = [Some(-1_795_654_250_313_298_178), None, None, None];
        assert_eq!(row, Row { sequence: 7, size: 44, stamps, user: [None; 4] });
    }

    proptest! {
        #[test]
        fn any_octets_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
            let _ = read(&[b"sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n".as_slice(), &bytes].concat());
        }

        #[test]
        fn plain_numbers_are_read_as_any_line_is(fields in prop::collection::vec(field(), 3..6)) {
            let line = fields.join(",");
            let columns = [CsvColumn::Sequence, CsvColumn::Size, CsvColumn::Stamp(0), CsvColumn::User(3)];
            if let Some(row) = plain::row(line.as_bytes(), &columns) {
                prop_assert_eq!(any_row(line.as_bytes(), &columns), Ok((row, Fate::AsStamped)));
            }
        }
    }
}
