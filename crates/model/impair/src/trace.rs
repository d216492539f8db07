//! Recorded networks, replayed.
//!
//! | format | what a line is | what it drives |
//! | --- | --- | --- |
//! | `pham` | `port,loss,duplication,reorder_distance,delay_us` (Pham 2004, 3.2) | an entry a packet, in a circle |
//! | `measurement` | a row of the CSV that `romer report --csv` writes | fate and delay, a row a packet or by time |
//! | `mahimahi` | a millisecond in which 1,500 octets may leave | the rate, in a circle |
//!
//! Reading is strict: the first line that is not what it should be is named, and what is wanted there. What stands there is
//! not told: whoever wrote the scenario may have named a file that the reader of the message must not see.

use std::sync::Arc;

use thiserror::Error;

use crate::config::MOST_DISPLACED;
use crate::nanos::{LONGEST_DELAY, Nanos};

/// Why a trace could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// A line that is not what it should be.
    #[error("line {line}: {why}")]
    Line {
        /// From 1.
        line: usize,
        /// In words, with what to write.
        why: String,
    },
    /// The whole of it.
    #[error("{0}")]
    Whole(String),
}

/// What happens to one packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceEntry {
    /// It is lost.
    pub lost: bool,
    /// Copies made, up to 255.
    pub copies: u8,
    /// How many packets go past it.
    pub displacement: u32,
    /// How long it is held.
    pub delay: Nanos,
    /// How long each of its copies is; those beyond the last of these as long as the packet itself.
    pub copies_delays: Vec<Nanos>,
    /// From the start of the trace; 0 in a trace by packets.
    pub at: Nanos,
}

/// A trace for one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// The next entry for the next packet, in a circle.
    ByPacket(Vec<TraceEntry>),
    /// The entry of the arrival's moment, in a circle of this period.
    ByTime {
        /// Ascending in `at`, the first at 0.
        entries: Vec<TraceEntry>,
        /// Above the last entry's moment.
        period: Nanos,
        /// What holds between two moments.
        between: Between,
    },
    /// A rate.
    Opportunities(Opportunities),
}

/// What happens to a packet of which nothing is recorded.
static NOTHING: TraceEntry =
    TraceEntry { lost: false, copies: 0, displacement: 0, delay: 0, copies_delays: Vec::new(), at: 0 };

/// What a trace says of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate<'a> {
    pub(crate) entry: &'a TraceEntry,
    /// What is added to the entry's delays.
    later: Nanos,
}

impl Fate<'_> {
    /// Of a packet of which nothing is recorded.
    pub(crate) const NOTHING: Self = Self { entry: &NOTHING, later: 0 };

    /// How long a copy is held, from 1; 0 is the packet itself.
    pub(crate) fn delay_of(&self, copy: u8) -> Nanos {
        let own = usize::from(copy).checked_sub(1).and_then(|copy| self.entry.copies_delays.get(copy));
        own.copied().unwrap_or(self.entry.delay).saturating_add(self.later).clamp(0, LONGEST_DELAY)
    }
}

impl Trace {
    /// The longest delay in it.
    pub fn longest_delay(&self) -> Nanos {
        let delays = self.entries().iter().flat_map(|entry| entry.copies_delays.iter().chain([&entry.delay]));
        delays.max().copied().unwrap_or(0)
    }

    /// Whether it makes copies.
    pub fn duplicates(&self) -> bool {
        self.entries().iter().any(|entry| entry.copies > 0)
    }

    fn entries(&self) -> &[TraceEntry] {
        match self {
            Self::ByPacket(entries) | Self::ByTime { entries, .. } => entries,
            Self::Opportunities(_) => &[],
        }
    }

    /// What happens to the `ordinal`-th packet, which arrives `since_start` after the start.
    pub(crate) fn fate(&self, ordinal: u64, since_start: Nanos) -> Option<Fate<'_>> {
        match self {
            Self::ByPacket(entries) => {
                let at = ordinal.checked_rem(entries.len() as u64)?;
                Some(Fate { entry: entries.get(usize::try_from(at).ok()?)?, later: 0 })
            }
            Self::ByTime { entries, period, between } => {
                let at = since_start.max(0).checked_rem(*period)?;
                let after = entries.partition_point(|entry| entry.at <= at);
                let entry = entries.get(after.saturating_sub(1))?;
                let next = entries.get(after).map(|next| (next.at, next.delay));
                let (end, delay) = next.or_else(|| Some((*period, entries.first()?.delay)))?;
                let later = match between {
                    Between::Hold => 0,
                    Between::Linear => share(delay - entry.delay, at - entry.at, end - entry.at),
                };
                Some(Fate { entry, later })
            }
            Self::Opportunities(_) => None,
        }
    }
}

/// What of `whole` has passed at `part` of `length`, rounded down: then a delay that falls by no more than time passes does so in whole
/// nanoseconds, too.
fn share(whole: Nanos, part: Nanos, length: Nanos) -> Nanos {
    let product = i128::from(whole) * i128::from(part);
    Nanos::try_from(product.div_euclid(i128::from(length.max(1)))).unwrap_or(whole)
}

/// Moments at which 1,500 octets may leave; they repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// Ascending, nanoseconds from the start.
    moments: Vec<Nanos>,
    /// Of the last one: the circle.
    period: Nanos,
}

impl Opportunities {
    /// How many there are until they repeat.
    pub const fn count(&self) -> u64 {
        self.moments.len() as u64
    }

    /// The period after which they repeat, nanoseconds.
    pub const fn period(&self) -> Nanos {
        self.period
    }

    /// The longest time between two of them, nanoseconds.
    pub fn longest_gap(&self) -> Nanos {
        let gaps = self.moments.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.fold(self.silence(), Nanos::max)
    }

    /// How long nothing leaves at the beginning, and at that of each repetition.
    pub fn silence(&self) -> Nanos {
        self.moments.first().copied().unwrap_or(0)
    }

    /// When the `number`-th comes, from 0, from the start.
    pub(crate) fn moment(&self, number: u64) -> Nanos {
        let n = self.moments.len() as u64;
        let (round, at) = (number / n, number % n);
        let within = usize::try_from(at).ok().and_then(|at| self.moments.get(at)).copied().unwrap_or(0);
        self.period.saturating_mul(i64::try_from(round).unwrap_or(i64::MAX)).saturating_add(within)
    }

    /// The first that comes at `since_start` or later.
    pub(crate) fn first_from(&self, since_start: Nanos) -> u64 {
        let since_start = since_start.max(0);
        let n = self.moments.len() as u64;
        // The last moment of a round is the period itself, the beginning of the next.
        let round = since_start / self.period;
        let mut number = round.unsigned_abs().saturating_sub(1) * n;
        let rounds = round.max(1) - 1;
        let within = since_start - rounds * self.period;
        let first = self.moments.partition_point(|moment| *moment < within);
        if first < self.moments.len() {
            return number + first as u64;
        }
        number += n;
        number + self.moments.partition_point(|moment| *moment < within - self.period) as u64
    }
}

fn line(line: usize, why: impl Into<String>) -> TraceError {
    TraceError::Line { line, why: why.into() }
}

/// The lines that say something, with their numbers: comments (`#`) and empty ones are left out.
fn data_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.split(['\n', '\r']);
    // CR, LF and CR LF all end a line; the empty line between CR and LF is not counted.
    let mut number = 0;
    let mut after_cr = false;
    let mut position = 0;
    let bytes = text.as_bytes();
    lines.filter_map(move |content| {
        let start = position;
        position += content.len() + 1;
        let ended_by_cr = bytes.get(position - 1) == Some(&b'\r');
        let ghost = after_cr && content.is_empty() && bytes.get(start) == Some(&b'\n');
        after_cr = ended_by_cr;
        if ghost {
            return None;
        }
        number += 1;
        let content = content.trim();
        (!content.is_empty() && !content.starts_with('#')).then_some((number, content))
    })
}

/// The longest line that is looked at.
const LONGEST_LINE: usize = 65_536;

fn fields<const N: usize>(number: usize, content: &str, names: &str) -> Result<[String; N], TraceError> {
    if content.len() > LONGEST_LINE {
        return Err(line(number, "is longer than 64 KiB; write one packet a line"));
    }
    if content.contains('\0') {
        return Err(line(number, "holds a NUL character; save it as text"));
    }
    let parts: Vec<String> = content.split(',').map(|part| part.trim().to_owned()).collect();
    if content.contains(';') {
        return Err(line(number, format!("has semicolons; write {names} with commas and decimal points")));
    }
    let found = parts.len();
    parts.try_into().map_err(|_| {
        let columns = if found == 1 { "column" } else { "columns" };
        let decimal = if found > N { " (the decimal sign is a point)" } else { "" };
        line(number, format!("has {found} {columns}; write {N}: {names}{decimal}"))
    })
}

const PHAM: &str = "port,loss,duplication,reorder_distance,delay_us";

/// Reads Pham 2004's format: a trace for either port (a, then b). A first line with the columns' names may be there; then it
/// is these, with the unit of the delay.
///
/// # Errors
/// [`TraceError`], with the line.
pub fn read_pham(text: &str) -> Result<[Arc<Trace>; 2], TraceError> {
    let mut ports: [Vec<TraceEntry>; 2] = [Vec::new(), Vec::new()];
    // Of each port: the largest distance, and its line.
    let mut furthest = [(0_u32, 0_usize); 2];
    let mut any = false;
    for (place, (number, content)) in data_lines(text).enumerate() {
        let [port, lost, copies, displacement, delay] = fields::<5>(number, content, PHAM)?;
        if place == 0 && port.starts_with(|c: char| c.is_alphabetic()) {
            header(&[&port, &lost, &copies, &displacement, &delay]).map_err(|why| line(number, why))?;
            continue;
        }
        let port = match port.as_str() {
            "1" => 0,
            "2" => 1,
            _ => return Err(line(number, "port is none; write 1 or 2")),
        };
        let lost = match lost.as_str() {
            "0" => false,
            "1" => true,
            _ => return Err(line(number, "loss is no fate; write 0 or 1")),
        };
        let copies = copies.parse::<u64>().map_err(|_| {
            line(number, "duplication is no whole number; write 0, 1, or a number of copies up to 255")
        })?;
        let copies = u8::try_from(copies)
            .map_err(|_| line(number, format!("duplication is {copies}; at most 255 copies are made")))?;
        let displacement =
            displacement.parse::<u32>().ok().filter(|distance| *distance <= MOST_DISPLACED).ok_or_else(
                || {
                    let why = "reorder_distance is out of range or no number; write a whole number from 0 to";
                    line(number, format!("{why} {MOST_DISPLACED}"))
                },
            )?;
        let delay = micros(number, &delay)?;
        any = true;
        if displacement > furthest[port].0 {
            furthest[port] = (displacement, number);
        }
        ports[port].push(TraceEntry { lost, copies, displacement, delay, ..TraceEntry::default() });
    }
    if !any {
        return Err(TraceError::Whole(format!("has no entries; an entry is {PHAM}")));
    }
    for (entries, (distance, number)) in ports.iter().zip(furthest) {
        if distance as usize > entries.len() {
            let circle = entries.len();
            return Err(line(
                number,
                format!(
                    "has a reorder_distance of {distance} in a circle of {circle} entries of its port; the distance is at most their number"
                ),
            ));
        }
    }
    Ok(ports.map(|entries| Arc::new(Trace::ByPacket(entries))))
}

/// Looks at the columns' names, which say the unit: the numbers below them would be read wrongly without complaint.
fn header(names: &[&str; 5]) -> Result<(), String> {
    let mut wanted = PHAM.split(',');
    match names.iter().position(|name| wanted.next() != Some(*name)) {
        None => Ok(()),
        Some(4) if names[4].starts_with("delay") => Err(format!(
            "has a last column of another unit than microseconds, or of none (delay_us or delay_ms?); write the delays in \
             microseconds, under {PHAM}"
        )),
        Some(_) => Err(format!("begins with other words; write the columns {PHAM}")),
    }
}

/// Microseconds, with a fraction if need be, to nanoseconds.
fn micros(number: usize, text: &str) -> Result<Nanos, TraceError> {
    let wrong = || {
        let least = "microseconds from 0 to 3600000000 (an hour)";
        line(number, format!("delay_us is out of range or no number; write {least}"))
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || !digits(whole) || !digits(part) {
        return Err(wrong());
    }
    if part.len() > 3 {
        return Err(line(number, "delay_us is finer than a nanosecond; write at most three decimals"));
    }
    let whole: Nanos = whole.parse().map_err(|_| wrong())?;
    let part: Nanos = format!("{part:0<3}").parse().map_err(|_| wrong())?;
    let nanos = whole * 1_000 + part;
    if nanos > LONGEST_DELAY { Err(wrong()) } else { Ok(nanos) }
}

/// Reads mahimahi's format.
///
/// # Errors
/// [`TraceError`], with the line.
pub fn read_mahimahi(text: &str) -> Result<Trace, TraceError> {
    let mut moments: Vec<Nanos> = Vec::new();
    for (number, content) in data_lines(text) {
        let millis: Nanos = content
            .parse::<u32>()
            .map_err(|_| {
                line(
                    number,
                    "is no such number; write one whole number of milliseconds a line, in ascending order and below 2^32",
                )
            })?
            .into();
        let moment = millis * 1_000_000;
        if let Some(last) = moments.last().filter(|last| **last > moment) {
            return Err(line(
                number,
                format!("{millis} comes after {}; moments do not go back", last / 1_000_000),
            ));
        }
        moments.push(moment);
    }
    match moments.last() {
        None => Err(TraceError::Whole("has no entries; an entry is a millisecond".into())),
        Some(0) => Err(TraceError::Whole(
            "ends at 0, so that it would repeat at once and its rate have no bound; the last moment is the period"
                .into(),
        )),
        Some(&period) => Ok(Trace::Opportunities(Opportunities { moments, period })),
    }
}

/// Which way of a measured stream is replayed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A row a packet.
    Packet,
    /// The rows about that time.
    Time(Between),
}

/// What a packet gets that comes between two recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// The delay on the straight line between the two: where the recorded packets kept their order, all do, at any spacing.
    Linear,
    /// The delay of the earlier one.
    Hold,
}

/// The columns of the measurement log, as `romer report --csv` writes them.
const MEASUREMENT: [&str; 6] = ["sequence", "size", "t1_ns", "t2_ns", "t3_ns", "t4_ns"];

/// The columns of a log that goes one way, in which there is nothing to choose.
const ONE_WAY: [&str; 2] = ["sent_ns", "received_ns"];

/// Reads one direction of a measurement log: forward (t1 to t2) or reverse (t3 to t4); a log of one way has but that. A
/// packet without the later stamp was lost; one without the earlier says nothing of this direction and is left out; the
/// second of one sequence number is a copy, with a delay of its own. As the offset of two clocks is not known here, delays count from the least
/// one; what is to be added to them is the scenario's `fixed`.
///
/// # Errors
/// [`TraceError`], with the line.
pub fn read_measurement(text: &str, reverse: bool, by: By, fixed: Nanos) -> Result<Trace, TraceError> {
    let mut lines = data_lines(text);
    let names = MEASUREMENT.join(",");
    let (number, header) = lines.next().ok_or_else(|| {
        TraceError::Whole(format!("has no entries; it is the CSV of `romer report`, with {names}"))
    })?;
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    let is_one_way = ONE_WAY.iter().all(|name| columns.contains(name));
    let column = |name: &str| {
        columns.iter().position(|found| *found == name).ok_or_else(|| {
            line(
                number,
                format!("has no column {name}; the header is {names}, as `romer report --csv` writes it"),
            )
        })
    };
    let (left, arrived) = match (is_one_way, reverse) {
        (true, _) => (ONE_WAY[0], ONE_WAY[1]),
        (false, true) => ("t3_ns", "t4_ns"),
        (false, false) => ("t1_ns", "t2_ns"),
    };
    let (sequence, left, arrived) = (column("sequence")?, column(left)?, column(arrived)?);
    // Sequence, when it left, how long it took.
    let mut rows: Vec<(u64, Nanos, Option<Nanos>)> = Vec::new();
    for (number, content) in lines {
        if content.len() > LONGEST_LINE {
            return Err(line(number, "is longer than 64 KiB; write one packet a line"));
        }
        let parts: Vec<&str> = content.split(',').map(str::trim).collect();
        if parts.len() != columns.len() {
            return Err(line(number, format!("has {} columns, the header {}", parts.len(), columns.len())));
        }
        let stamp = |at: usize| match parts[at] {
            "" => Ok(None),
            text => text.parse::<Nanos>().map(Some).map_err(|_| {
                line(
                    number,
                    format!("{} is no whole number; write whole nanoseconds or nothing", columns[at]),
                )
            }),
        };
        let sequence = parts[sequence]
            .parse()
            .map_err(|_| line(number, "sequence is no whole number from 0; write one"))?;
        let arrived = stamp(arrived)?;
        if let Some(left) = stamp(left)? {
            rows.push((sequence, left, arrived.map(|arrived| arrived.saturating_sub(left))));
        }
    }
    rows.sort_by_key(|row| row.1);
    let least = rows.iter().filter_map(|row| row.2).min().unwrap_or(0);
    let first = rows.first().map(|row| row.1).ok_or_else(|| {
        TraceError::Whole("has no packet that left in this direction; replay the other one".into())
    })?;
    let mut entries: Vec<(u64, TraceEntry)> = Vec::new();
    for (sequence, left, took) in rows {
        let delay =
            took.map_or(0, |took| took.saturating_sub(least).saturating_add(fixed)).clamp(0, LONGEST_DELAY);
        match entries.iter_mut().rev().take(64).find(|entry| entry.0 == sequence) {
            // A copy that was lost is none; one that came where the first did not is what came.
            Some(_) if took.is_none() => {}
            Some((_, entry)) => {
                // What left later, left for the copy later.
                let later = left.saturating_sub(first).saturating_sub(entry.at);
                let delay = delay.saturating_add(later).min(LONGEST_DELAY);
                if entry.lost {
                    (entry.lost, entry.delay) = (false, delay);
                } else if let Some(copies) = entry.copies.checked_add(1) {
                    entry.copies = copies;
                    entry.copies_delays.push(delay);
                }
            }
            None => {
                let lost = took.is_none();
                entries.push((
                    sequence,
                    TraceEntry { lost, delay, at: left.saturating_sub(first), ..TraceEntry::default() },
                ));
            }
        }
    }
    let mut entries: Vec<TraceEntry> = entries.into_iter().map(|(_, entry)| entry).collect();
    Ok(match by {
        By::Packet => Trace::ByPacket(entries),
        By::Time(between) => {
            let last = entries.last().map_or(0, |entry| entry.at);
            // The last one lasts as long as the others do on average, and so long that the first of the next round need not overtake it.
            let mean = last / i64::try_from(entries.len().max(2) - 1).unwrap_or(1);
            let mut arrived = entries.iter().filter(|entry| !entry.lost);
            let first_delay = arrived.next().map_or(0, |entry| entry.delay);
            let fall = arrived
                .next_back()
                .map_or(0, |entry| (entry.at + entry.delay).saturating_sub(last.saturating_add(first_delay)));
            let period = last.saturating_add(mean.max(fall).max(1));
            if between == Between::Linear {
                delay_the_lost(&mut entries, period);
            }
            Trace::ByTime { period, entries, between }
        }
    })
}

/// Gives lost entries the delays on the straight line between those that arrived before and after them.
fn delay_the_lost(entries: &mut [TraceEntry], period: Nanos) {
    let Some(first) = entries.iter().position(|entry| !entry.lost) else { return };
    let count = entries.len();
    let moment = |entries: &[TraceEntry], place: usize| {
        entries[place % count].at + if place >= count { period } else { 0 }
    };
    let mut from = first;
    for to in first + 1..=first + count {
        if entries[to % count].lost {
            continue;
        }
        let (begin, end) = (moment(entries, from), moment(entries, to));
        let (a, b) = (entries[from % count].delay, entries[to % count].delay);
        for place in from + 1..to {
            let passed = moment(entries, place) - begin;
            entries[place % count].delay = a + share(b - a, passed, end - begin);
        }
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_line_is_said_of_that_line() {
        for (text, number, words) in [
            ("1,0,0,0,5,5\n", 1, "has 6 columns; write 5"),
            ("1,0,0,0,5,5\n", 1, "the decimal sign is a point"),
            ("1,0,0,0,5\n1,0,0,0,5.0001\n", 2, "at most three decimals"),
            ("1,0,0,0,5\n2,0,0,9,5\n1,0,0,1,5\n2,0,0,2,5\n", 2, "of 9 in a circle of 2 entries"),
        ] {
            let error = read_pham(text).unwrap_err();
            let told = error.to_string();
            assert!(told.contains(&format!("line {number}")) && told.contains(words), "{told}");
        }
        assert!(read_pham("1,0,0,0,5.001\n").is_ok());
    }

    #[test]
    fn a_header_is_the_documented_one_with_its_unit_or_the_file_is_refused() {
        let read = |header: &str| read_pham(&format!("# recorded\n{header}\n1,0,0,0,30\n"));
        assert!(read("port, loss,duplication,reorder_distance,delay_us").is_ok());
        for (header, words) in [
            ("port,loss,duplication,reorder_distance,delay_ms", "delay_us or delay_ms?"),
            ("port,loss,duplication,reorder_distance,delay", "delay_us or delay_ms?"),
            ("port,loss,duplication,reorder_distance,jitter_us", "begins with other words"),
            ("port,loss,reorder_distance,duplication,delay_us", "begins with other words"),
            ("delay,loss,duplication,reorder_distance,delay_us", "begins with other words"),
        ] {
            let told = read(header).unwrap_err().to_string();
            assert!(told.starts_with("line 2: ") && told.contains(words) && told.contains(PHAM), "{told}");
        }
    }

    #[test]
    fn a_recorded_copy_has_the_delay_that_was_recorded_of_it() {
        let text = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n\
            0,64,0,5,10,20\n0,64,0,9000005,9000010,9000030\n1,64,100,112,115,140\n\
            2,64,200,,,\n2,64,200,250,,\n3,64,300,310,,\n3,64,300,,,\n";
        let told = |reverse| {
            let trace = read_measurement(text, reverse, By::Packet, 3).unwrap();
            assert!(trace.duplicates());
            let Trace::ByPacket(entries) = trace else { panic!("{trace:?}") };
            let of = |entry: &TraceEntry| {
                assert!(!entry.lost);
                (0..=entry.copies).map(|copy| Fate { entry, later: 0 }.delay_of(copy)).collect::<Vec<_>>()
            };
            entries.iter().map(of).collect::<Vec<_>>()
        };
        // Counted from the least one, which is 5, and with 3 more: of the third packet only the copy came.
        assert_eq!(told(false), [vec![3, 9_000_003], vec![10], vec![48], vec![8]]);
        // The copy that left back later is as much later at its end: the least is 10.
        assert_eq!(told(true), [vec![3, 9_000_013], vec![18]]);
        let trace = read_measurement(text, false, By::Packet, 3).unwrap();
        assert_eq!(trace.longest_delay(), 9_000_003);
    }

    /// A log of a queue at probes every 20 ms: it fills at random and empties by at most the time that passes.
    fn queue_log(rows: u64, spacing: Nanos) -> String {
        let stream = romer_units::random::RandomStream::new(romer_units::random::Seed([7; 6]), [1, 2]);
        let mut text = String::from("sequence,size,sent_ns,received_ns\n");
        let mut waiting = 0;
        for row in 0..rows {
            let grown = if stream.unit(2 * row) < 0.2 {
                crate::convert::nanos(stream.unit(2 * row + 1) * 1e8)
            } else {
                0
            };
            waiting = (waiting - spacing * 9 / 10).max(0) + grown;
            let sent = Nanos::try_from(row).unwrap() * spacing;
            text += &format!("{row},64,{sent},{}\n", sent + 10_000_000 + waiting);
        }
        text
    }

    /// At any spacing a trace by time reorders nothing that was not reordered, and has the recorded delays: mean, median and the 95 %
    /// quantile within 5 % of the spread, which is what linear delays between rows of such a queue differ by.
    #[test]
    fn a_trace_by_time_holds_at_any_spacing() {
        use crate::behaviour::{config, every, run};
        use crate::config::{Order, Path};
        let (rows, spacing) = (6_000_u64, 20_000_000);
        let trace = read_measurement(&queue_log(rows, spacing), false, By::Time(Between::Linear), 10_000_000)
            .unwrap();
        let Trace::ByTime { entries, period, .. } = &trace else { panic!("{trace:?}") };
        let recorded: Vec<Nanos> = entries.iter().map(|entry| entry.delay).collect();
        let figures = |mut delays: Vec<Nanos>| {
            delays.sort_unstable();
            let at = |share: usize| delays[delays.len() * share / 100] as f64;
            [delays.iter().map(|delay| *delay as f64).sum::<f64>() / delays.len() as f64, at(50), at(95)]
        };
        let expected = figures(recorded.clone());
        for gap in [100_000, 1_000_000, 5_000_000, 20_000_000, 70_000_000] {
            let path =
                Path { trace: Some(Arc::new(trace.clone())), order: Order::Independent, ..Path::default() };
            let count = usize::try_from((2 * period / gap).min(300_000)).unwrap();
            let (_, _, out) = run(config(path), every(gap).take(count));
            assert!(out.windows(2).all(|pair| pair[0].ordinal < pair[1].ordinal), "{gap}");
            if gap >= 1_000_000 {
                let found = figures(out.iter().map(|o| o.time - o.arrival).collect());
                for (found, expected) in found.into_iter().zip(expected) {
                    assert!(
                        (found - expected).abs() < 0.05 * expected.max(2e7),
                        "{gap}: {found} for {expected}"
                    );
                }
            }
        }
        // At the recorded moments, the recorded delays.
        for (row, delay) in (0..).zip(recorded) {
            assert_eq!(trace.fate(0, row * spacing).unwrap().delay_of(0), delay);
        }
    }

    /// A lost row loses what comes until the next one; delays go on in a straight line across it.
    #[test]
    fn a_lost_row_lasts_until_the_next() {
        let text = "sequence,size,sent_ns,received_ns\n0,64,0,\n1,64,100,150\n2,64,200,\n3,64,300,330\n4,64,400,490\n";
        let trace = read_measurement(text, false, By::Time(Between::Linear), 0).unwrap();
        let fate = |at| trace.fate(0, at).map(|fate| (fate.entry.lost, fate.delay_of(0))).unwrap();
        assert_eq!(
            [fate(100), fate(199), fate(200), fate(299)],
            [(false, 20), (false, 10), (true, 10), (true, 0)]
        );
        assert_eq!([fate(300), fate(350), fate(400)], [(false, 0), (false, 30), (false, 60)]);
        // The last row lasts 100 ns; then the first, which is lost, and the second, of 20.
        assert_eq!(
            [fate(450), fate(500), fate(599), fate(600)],
            [(false, 50), (true, 40), (true, 20), (false, 20)]
        );
    }
}
