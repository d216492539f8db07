//! Files as rows: whatever the format, the packets come out as a run would have them.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use romer_exchange::capture;
use romer_exchange::content::Content;
use romer_exchange::csv::numbering::{self, Identity, SecondRun, Sign};
use romer_exchange::csv::{self, Reader, Row, Shape};
use romer_exchange::irtt::CountedLosses;
use romer_exchange::packed::{Records, Source};
use romer_record::warning::{MeasurementWarning, StampsRemedy};
use romer_units::TimestampPoint;

use super::absent::Placeholders;
use super::error::AnalysisError;
use super::packets::{Gathering, Packets, Unstamped};
use super::received::{self, Back};
use super::rows::LogPresence;
use super::{eras, formats, pause, unit};
use crate::evaluate::Unread;

/// Octets that are read at a time.
const BUFFER: usize = 256 << 10;

/// A packet log in memory.
pub(super) struct Table {
    pub(super) shape: Shape,
    pub(super) packets: Packets,
    pub(super) responder_log: LogPresence,
    /// Where the order of its lines shows that the receiver's clock was set back.
    pub(super) set_back: Vec<Back>,
    pub(super) about: About,
}

/// What a file tells besides its packets.
#[derive(Clone, Debug)]
pub(super) struct About {
    /// What a reader should know.
    pub(super) notes: Vec<MeasurementWarning>,
    /// What a reader should know of steps back of the sender's clock and the receiver's, where these stay in the stamps.
    pub(super) stepped: [Option<MeasurementWarning>; 2],
    /// What gives such a file the far end's stamps.
    pub(super) stamps_missing: Option<StampsRemedy>,
    /// Where its stamps were taken.
    pub(super) place: Option<TimestampPoint>,
    /// What was sent, in words.
    pub(super) protocol: String,
    /// When it began (RFC 3339); empty where it does not tell.
    pub(super) started: String,
    /// The measuring host.
    pub(super) host: String,
    /// The code point that was asked for.
    pub(super) dscp: Option<u8>,
    /// Time between departures that was asked for, nanoseconds.
    pub(super) interval_ns: Option<i64>,
    /// The packets that a host dropped unread.
    pub(super) unread: Unread,
    /// Losses of which it is known how many there were on each way, and not which.
    pub(super) counted: Option<CountedLosses>,
    /// The notes say what the numbers are that it does not have.
    pub(super) tells_missing: bool,
}

impl Default for About {
    fn default() -> Self {
        Self {
            notes: Vec::new(),
            stepped: [None, None],
            stamps_missing: Some(StampsRemedy::Csv),
            place: None,
            protocol: "as recorded in a file".into(),
            started: String::new(),
            host: String::new(),
            dscp: None,
            interval_ns: None,
            unread: Unread::default(),
            counted: None,
            tells_missing: false,
        }
    }
}

/// What to do with a capture.
const CAPTURE: &str = "it is captured traffic, and delays need captures at both ends; capture at the other end too, and give both: romer analyze \
                       --capture-a NEAR.pcap --capture-b FAR.pcap";

/// The first octets of a Parquet file, and what to do with one.
const PARQUET_MAGIC: &[u8] = b"PAR1";
const PARQUET: &str =
    "it is a Parquet file, which is read as part of a run; give the folder of the run: romer analyze RUN";

/// What to do with a recording of the rate of a link.
const LINK: &str =
    "it has the rates of a link and no packets; make a scenario of it: romer model FILE --write FILE.toml";

/// The formats of packet logs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Qtcp,
    Irtt,
    Ping,
    /// None: the rates of a link.
    Link,
}

impl Format {
    /// By the content, if that shows it, otherwise by the name.
    fn from_path(path: &Path) -> Self {
        match (content(path), ending(path)) {
            (Some(Content::Ping), _) => Self::Ping,
            (Some(Content::Rates | Content::Mahimahi), _) => Self::Link,
            (None, Some("raw" | "log" | "sta")) => Self::Qtcp,
            (None, Some("json")) => Self::Irtt,
            (None, _) => Self::Csv,
        }
    }
}

/// What a file holds, where that is known whatever its name is. Of a file that cannot be read, its reader says so.
pub(super) fn content(path: &Path) -> Option<Content> {
    Content::from_path(path).ok().flatten()
}

/// What the name of a file ends in, without the ending that gzip adds.
pub(super) fn ending(path: &Path) -> Option<&str> {
    match path.extension()?.to_str()? {
        "gz" => Path::new(path.file_stem()?).extension()?.to_str(),
        ending => Some(ending),
    }
}

/// Whether a file begins as a table does.
pub(super) fn begins_as_csv(path: &Path) -> bool {
    const HEAD: &[u8] = b"sequence,";
    let mut head = Vec::new();
    let source = Source::open(path, Records::Uncounted).map(|source| source.take(HEAD.len() as u64 + 3));
    let is_read = source.and_then(|mut source| source.read_to_end(&mut head)).is_ok();
    is_read && head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).starts_with(HEAD)
}

/// Opens a file with such records to be read, unpacked where it is compressed.
pub(super) fn open(path: &Path, records: Records) -> Result<BufReader<Source>, AnalysisError> {
    let file = Source::open(path, records).map_err(|source| AnalysisError::reading(path, source))?;
    Ok(BufReader::with_capacity(BUFFER, file))
}

impl Table {
    /// Whether the packets of this file are reflected.
    pub(super) fn is_reflected(path: &Path) -> Result<bool, AnalysisError> {
        match Format::from_path(path) {
            Format::Csv => {
                let reader = Reader::new(open(path, Records::Lines)?).map_err(|fault| faulty(path, fault))?;
                Ok(reader.shape() == Shape::FourStamps)
            }
            Format::Qtcp | Format::Link => Ok(false),
            Format::Irtt | Format::Ping => Ok(true),
        }
    }

    /// With `any_size`, a `.raw` may have packets that are too small for Qtcp; its stamps are in units of `unit_ns`, if that is stated.
    pub(super) fn read(path: &Path, any_size: bool, unit_ns: Option<i64>) -> Result<Self, AnalysisError> {
        match Format::from_path(path) {
            Format::Csv => Self::of_csv(path),
            Format::Qtcp => formats::of_qtcp(path, any_size, unit_ns),
            Format::Irtt => formats::of_irtt(path),
            Format::Ping => formats::of_ping(path),
            Format::Link => Err(AnalysisError::Line { path: path.into(), line: 1, why: LINK.into() }),
        }
    }

    fn of_csv(path: &Path) -> Result<Self, AnalysisError> {
        Self::of_text(path, open(path, Records::Lines)?)
    }

    /// A table in CSV, which errors call `path`.
    pub(super) fn of_text(path: &Path, mut file: impl BufRead) -> Result<Self, AnalysisError> {
        let head = file.fill_buf().map_err(|source| AnalysisError::reading(path, source))?;
        if capture::is_capture(head) {
            return Err(AnalysisError::Line { path: path.into(), line: 1, why: CAPTURE.into() });
        }
        if head.starts_with(PARQUET_MAGIC) {
            return Err(AnalysisError::Line { path: path.into(), line: 1, why: PARQUET.into() });
        }
        let mut reader = Reader::new(file).map_err(|fault| faulty(path, fault))?;
        let shape = reader.shape();
        let mut notes = Vec::from_iter(unheeded(reader.others()));
        let mut lines = Gathering::new();
        let mut digits = Digits::default();
        let mut placeholders = Placeholders::new(shape);
        let mut places = LineNumbers::default();
        while let Some(row) = reader.next() {
            let row = row.map_err(|fault| faulty(path, fault))?;
            row.stamps.into_iter().flatten().for_each(|stamp| digits.take(stamp));
            placeholders.take(&row, reader.line());
            places.take(lines.len(), reader.line());
            lines.add(row);
        }
        let (placeholder_notes, emptied) = placeholders.take_out(&mut lines);
        notes.extend(placeholder_notes);
        notes.extend(eras::unwrap(&mut lines, shape));
        let renumbered = numbering::renumber(lines.len(), |line| identity(&lines.row(line)));
        let renumbered = renumbered.map_err(|second| second_run(path, second, &places))?;
        if let Some(renumbered) = renumbered {
            lines.renumber(&renumbered.numbers);
            notes.push(renumbered.warning());
        }
        let departures = lines.rows().map(|row| row.stamps[0].or(row.user[0]));
        notes.extend(pause::warning(departures, |row| places.line(row)));
        if shape == Shape::FourStamps {
            let back = |row: &Row| row.stamps[3].or(row.user[3]);
            notes.extend(unit::warning(lines.rows().map(|row| [row.stamps[0].or(row.user[0]), back(&row)])));
        }
        notes.extend(digits.cut());
        notes.extend(no_losses(reader.no_losses()));
        notes.extend(reader.unended().map(csv::Unended::warning));
        if lines.rows().next().is_none() {
            let why = if reader.no_losses() > 0 {
                "of none of its packets it is known whether it arrived, so that there is nothing to analyse; see who wrote it"
            } else {
                "no packet follows the header line, so that there is nothing to analyse; see who wrote it"
            };
            return Err(AnalysisError::Line { path: path.into(), line: 1, why: why.into() });
        }
        let (unread, answered) = unread(reader.unread(), shape, &lines);
        notes.extend(carried(&unread));
        let responder_log = responder_log(shape, &lines, &emptied);
        let untold = arrival_unknown(&lines, &emptied);
        let set_back = received::of_lines(&lines, shape);
        let packets = lines.finish(shape, responder_log, Unstamped { answered, untold });
        Ok(Self {
            shape,
            packets,
            responder_log,
            set_back,
            about: About { notes, unread, ..About::default() },
        })
    }
}

/// What tells one packet from another.
const fn identity(row: &Row) -> Identity {
    Identity { sequence: row.sequence, departures: [row.stamps[0], row.user[0]] }
}

/// The lines of rows, where rows that were left out lie between them.
#[derive(Default)]
struct LineNumbers {
    /// A row from which on lines are so many further than rows.
    ahead: Vec<(usize, u64)>,
}

impl LineNumbers {
    /// Notes the line of a row, from 0.
    fn take(&mut self, row: usize, line: u64) {
        let ahead = line.saturating_sub(row as u64);
        if self.ahead.last().is_none_or(|(_, before)| *before != ahead) {
            self.ahead.push((row, ahead));
        }
    }

    fn line(&self, row: usize) -> u64 {
        let after = self.ahead.partition_point(|(first, _)| *first <= row);
        let ahead = after.checked_sub(1).and_then(|place| self.ahead.get(place));
        row as u64 + ahead.map_or(0, |(_, ahead)| *ahead)
    }
}

/// That a file has two runs, or gives different packets one number.
fn second_run(path: &Path, second: SecondRun, places: &LineNumbers) -> AnalysisError {
    let [line, earlier] = [second.line, second.earlier].map(|row| places.line(row));
    let sequence = second.sequence;
    let contradiction = match second.sign {
        Sign::Repeated => format!("sequence number {sequence} is in line {earlier} with another departure"),
        Sign::Lower => format!(
            "sequence number {sequence} and all after it left later than the packets before, and are lower than the number in line \
             {earlier}"
        ),
    };
    let remedy = match second.begins.map(|row| places.line(row)) {
        Some(begins) => format!(
            "two runs are in one file, and the second begins at line {begins}; split it there (head -n {}; for the second, head -n 1 and \
             tail -n +{begins})",
            begins - 1
        ),
        None => format!(
            "the numbers do not ascend, even if they are continued at 2^16 or 2^32; correct line {line} or line {earlier}, or give each \
             packet a number of its own"
        ),
    };
    AnalysisError::Line { path: path.into(), line, why: format!("{contradiction}: {remedy}") }
}

/// How many digits the stamps of a table have.
#[derive(Default)]
struct Digits {
    /// Stamps of more digits than a spreadsheet keeps, of which these are the first and the others 0.
    kept: u64,
    /// One of them needs them all.
    needed: bool,
    /// One has more.
    more: bool,
}

impl Digits {
    /// Digits of a number that spreadsheets keep.
    const KEPT: u32 = 15;
    /// So many stamps are not so by chance.
    const MIN_STAMPS: u64 = 20;

    fn take(&mut self, stamp: i64) {
        if self.more {
            return;
        }
        let (size, fewest) = (stamp.unsigned_abs(), 10u64.pow(Self::KEPT));
        if size < fewest {
            return;
        }
        let unit = 10u64.pow(size.ilog10() + 1 - Self::KEPT);
        self.more = size % unit != 0;
        self.needed |= size % (unit * 10) != 0;
        self.kept += 1;
    }

    /// That a spreadsheet has cut them, if it has.
    fn cut(&self) -> Option<MeasurementWarning> {
        (self.kept >= Self::MIN_STAMPS && self.needed && !self.more)
            .then_some(MeasurementWarning::DigitsTruncated { digits: Self::KEPT })
    }
}

/// That a table has packets which are no losses though they did not arrive.
fn no_losses(packets: u64) -> Option<MeasurementWarning> {
    (packets > 0).then_some(MeasurementWarning::FateUnknown { packets })
}

/// The packets that a host dropped unread, and those of them that the far end answered, which has no stamp of them: all numbers in
/// order.
fn unread(told: &csv::Unread, shape: Shape, lines: &Gathering) -> (Unread, Vec<u64>) {
    let ordered = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        numbers
    };
    let numbers = |rows: &[usize]| rows.iter().map(|row| lines.row(*row).sequence).collect::<Vec<u64>>();
    let [there, back] = [&told.there, &told.back].map(|rows| numbers(rows));
    if shape == Shape::OneWay {
        return (Unread { there: ordered([there, back].concat()), back: Vec::new() }, Vec::new());
    }
    let unread = Unread { there: ordered(there), back: ordered(back) };
    if unread.back.is_empty() {
        return (unread, Vec::new());
    }
    let is_unstamped = |row: &Row| row.stamps[1].or(row.user[1]).is_none();
    let is_back = |row: &Row| unread.back.binary_search(&row.sequence).is_ok();
    let of_it = lines.rows().filter(|row| is_unstamped(row) && is_back(row));
    let answered = ordered(of_it.map(|row| row.sequence).collect::<Vec<u64>>());
    (unread, answered)
}

/// That a table has packets which nobody read.
fn carried(unread: &Unread) -> Option<MeasurementWarning> {
    let packets = (unread.there.len() + unread.back.len()) as u64;
    (packets > 0).then_some(MeasurementWarning::UnreadPackets { packets })
}

/// That a table has columns which say nothing to us.
fn unheeded(columns: &[String]) -> Option<MeasurementWarning> {
    const SHOWN: usize = 5;
    let shown = columns.iter().take(SHOWN).map(|name| name.chars().take(40).collect());
    let warning = || MeasurementWarning::ColumnsIgnored {
        columns: shown.collect(),
        more: columns.len().saturating_sub(SHOWN) as u64,
    };
    (!columns.is_empty()).then(warning)
}

pub(super) fn faulty(path: &Path, fault: csv::Fault) -> AnalysisError {
    match fault {
        csv::Fault::Io(source) => AnalysisError::reading(path, source),
        csv::Fault::Line { line, why } => AnalysisError::Line { path: path.into(), line, why },
    }
}

/// What a log has of the responder's own log. A packet that came back was at the responder: where it has no stamp of the
/// responder, an empty field does not mean that a packet did not arrive there. Placeholders in the lines `emptied` are not
/// empty fields. Without a responder log, an export of a run has none of the responder program's stamps.
fn responder_log(shape: Shape, lines: &Gathering, emptied: &[usize]) -> LogPresence {
    if shape == Shape::OneWay {
        return LogPresence::Complete;
    }
    let has_user = [0, 3].into_iter().any(|place| lines.has_user(place));
    let is_logged = |line: &Row| {
        if has_user { line.user[1].is_some() || line.user[2].is_some() } else { line.has_responder_stamp() }
    };
    let is_not_logged = |(number, line): (usize, Row)| {
        line.came_back() && !is_logged(&line) && emptied.binary_search(&number).is_err()
    };
    if !lines.rows().any(|line| is_logged(&line)) {
        LogPresence::None
    } else if lines.rows().enumerate().any(is_not_logged) {
        LogPresence::Partial
    } else {
        LogPresence::Complete
    }
}

/// The numbers of packets that did not come back and have placeholders in place of the responder's stamps, in ascending
/// order, where packets that came back have them too: a placeholder then does not mean that a packet did not arrive.
fn arrival_unknown(lines: &Gathering, emptied: &[usize]) -> Vec<u64> {
    let emptied: Vec<Row> = emptied.iter().map(|line| lines.row(*line)).collect();
    if !emptied.iter().any(Row::came_back) {
        return Vec::new();
    }
    let mut numbers: Vec<u64> =
        emptied.iter().filter(|line| !line.came_back()).map(|line| line.sequence).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_that_a_spreadsheet_cut_are_known_from_those_that_are_coarse_by_themselves() {
        let told = |unit: i64| {
            let mut digits = Digits::default();
            for n in 0..40 {
                digits.take((1_795_654_250_313_298_178 + n * 10_012_345) / unit * unit);
            }
            digits.cut().is_some()
        };
        assert!(told(10_000));
        assert!(!told(1) && !told(1_000) && !told(100_000) && !told(1_000_000));
        let mut short = Digits::default();
        (0..40).for_each(|n| short.take(n * 10_000_000));
        assert_eq!(short.cut(), None);
    }
}
