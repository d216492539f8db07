//! Reading `.raw` and `.log`.

use std::collections::HashMap;
use std::io::BufRead;

use romer_units::Duration;

use super::{Entry, TOO_SMALL, UNIT_NS};
use crate::csv::Fault;
use crate::line::{Found as Line, LONGEST, Lines};

/// The largest stamp: times of two files must be subtracted from each other.
const LARGEST: i64 = i64::MAX / 4;
/// The largest packet.
const LARGEST_SIZE: u32 = 65_535;
/// Where a 32-bit sequence number ends.
const WRAP: u64 = 1 << 32;
/// A gap in the numbers of more packets than this is no loss but another run, unless the file is as long.
const LONGEST_GAP: u64 = 1_000_000;
/// The most records that are taken into memory, of 24 octets each.
const MOST_RECORDS: usize = 1 << 26;
/// Characters of a field that a message shows.
const SHOWN: usize = 40;
/// A run's first packet has one of the numbers up to this.
const FIRST_NUMBERS: u64 = 1;

/// How strict the reading is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Take packets that are too small for Qtcp ([`TOO_SMALL`]); others than Qtcp write such files too.
    pub any_size: bool,
}

/// What stood in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The packets that arrived, in the order of the file; numbers that wrapped at 2^32 are continued.
    pub entries: Vec<Entry>,
    /// The numbers between the first and the last that did not arrive, ascending.
    pub lost: Vec<u64>,
    /// What a reader should know.
    pub notes: Notes,
}

/// What was noticed while reading, in numbers; [`Notes::words`] says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Dummy entries, which stand for lost packets.
    pub dummies: u64,
    /// Lines whose latency is not received minus sent.
    pub mismatches: u64,
    /// Latencies below zero: the receiver's clock is behind.
    pub negative: u64,
    /// Lines that repeat a number.
    pub duplicates: u64,
    /// Lines that were sent before the line before: the first of them, from 1, and by how many units of 100 ns.
    pub sent_back: Option<(u64, i64)>,
    /// Packets that arrived after one with a higher number.
    pub reordered: u64,
    /// Lines that were received before the line before though they have a higher number: the first of them, from 1, and
    /// by how many units of 100 ns. A clock that was set.
    pub received_back: Option<(u64, i64)>,
    /// The numbers went on from 0 at 2^32.
    pub wrapped: bool,
    /// The octet at which a cut last line begins, which was dropped.
    pub cut: Option<u64>,
    /// Octets of zero at the end, which were dropped.
    pub zeros: u64,
}

impl Notes {
    /// Sentences for the user, each without a full stop.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut say = |number: u64, text: &dyn Fn() -> String| {
            if number > 0 {
                words.push(text());
            }
        };
        say(self.dummies, &|| {
            format!("{} dummy entries stand for lost packets and are in no average", self.dummies)
        });
        say(self.mismatches, &|| {
            format!(
                "{} latencies are not received minus sent: they were computed again from the stamps",
                self.mismatches
            )
        });
        say(self.negative, &|| {
            format!(
                "{} raw latencies are below zero: the receiver's clock is behind the sender's, which normalisation removes",
                self.negative
            )
        });
        say(self.duplicates, &|| match self.duplicates {
            1 => "1 line repeats a sequence number: a duplicate".to_owned(),
            several => format!("{several} lines repeat a sequence number: duplicates"),
        });
        say(self.reordered, &|| {
            let packets = if self.reordered == 1 { "packet" } else { "packets" };
            format!("{} {packets} arrived after one with a higher number: reordered", self.reordered)
        });
        words.extend(self.step_words().into_iter().flatten());
        if self.wrapped {
            words.push("the sequence numbers wrapped at 2^32 and were continued".into());
        }
        if let Some(octet) = self.cut {
            words.push(format!("1 partial record at octet {octet} was dropped"));
        }
        if self.zeros > 0 {
            words.push(format!("{} octets of zero at the end were dropped", self.zeros));
        }
        words
    }

    /// Takes out what is known of steps of the sender's clock and the receiver's, and gives the sentences: for whom takes
    /// such steps out of the stamps.
    pub fn take_steps(&mut self) -> [Option<String>; 2] {
        let words = self.step_words();
        (self.sent_back, self.received_back) = (None, None);
        words
    }

    fn step_words(&self) -> [Option<String>; 2] {
        [(self.sent_back, "sender's"), (self.received_back, "receiver's")].map(|(step, whose)| {
            step.map(|(line, units)| {
                format!(
                    "the {whose} clock stepped back by {} at line {line}: least-absolute-jumps (-k 3) compensates for such \
                     steps; without it the latencies on both sides of that line do not compare",
                    Duration::from_nanos(units.saturating_mul(UNIT_NS))
                )
            })
        })
    }
}

/// Reads a whole file.
///
/// # Errors
/// [`Fault`] where it is none, holds no packet, or holds two runs.
pub fn read(inner: impl BufRead, options: Options) -> Result<Found, Fault> {
    let mut reader = Reader { lines: Lines::new(inner), number: 0, options, found: Found::default() };
    reader.all()?;
    let mut found = reader.found;
    examine(&mut found)?;
    Ok(found)
}

struct Reader<R> {
    lines: Lines<R>,
    number: u64,
    options: Options,
    found: Found,
}

impl<R: BufRead> Reader<R> {
    fn all(&mut self) -> Result<(), Fault> {
        let mut line = Vec::new();
        loop {
            let begins = self.lines.taken();
            self.number += 1;
            let text = match self.lines.next(&mut line)? {
                Line::End => return Ok(()),
                Line::TooLong if line.iter().all(|octet| *octet == 0) => {
                    return self.zeros(begins, &mut line);
                }
                Line::TooLong => {
                    return Err(
                        self.fault(format!("the line is longer than {LONGEST} octets; is it a .raw file?"))
                    );
                }
                Line::Line => &line[..],
            };
            let text =
                if self.number == 1 { text.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(text) } else { text };
            if text.is_empty() {
                continue;
            }
            if text.last() == Some(&0) {
                let kept = text.iter().rposition(|octet| *octet != 0).map_or(0, |last| last + 1);
                if kept > 0 {
                    self.found.notes.cut = Some(begins);
                }
                return self.zeros(begins + kept as u64, &mut line);
            }
            match entry(text, self.options) {
                // A line without end may have been cut within its last number, and then that is none that follows.
                Ok((entry, _)) if !self.lines.ended() && !self.follows(&entry) => {
                    self.found.notes.cut = Some(begins);
                }
                Ok(_) if self.found.entries.len() >= MOST_RECORDS => {
                    return Err(self.fault(format!(
                        "it has more than {MOST_RECORDS} records, which are not taken into memory at once; cut it in parts \
                         (split --lines)"
                    )));
                }
                Ok((entry, latency)) => self.take(entry, latency),
                // A line without end that is no record was cut where its writer ended.
                Err(_) if !self.lines.ended() && self.number > 1 && beginning(text) => {
                    self.found.notes.cut = Some(begins);
                }
                Err(why) => return Err(self.fault(why)),
            }
        }
    }

    /// From here on there may be nothing but octets of zero.
    fn zeros(&mut self, from: u64, line: &mut Vec<u8>) -> Result<(), Fault> {
        loop {
            match self.lines.next(line)? {
                Line::End => break,
                _ if line.iter().all(|octet| *octet == 0) => {}
                _ => {
                    return Err(self
                        .fault("it has octets of zero and more text after them; is it a .raw file?".into()));
                }
            }
        }
        self.found.notes.zeros = self.lines.taken() - from;
        Ok(())
    }

    fn fault(&self, why: String) -> Fault {
        Fault::Line { line: self.number, why }
    }

    /// Whether an entry has the number after that of the one before it, if there is one.
    fn follows(&self, entry: &Entry) -> bool {
        self.found.entries.last().is_none_or(|before| before.sequence + 1 == entry.sequence)
    }

    fn take(&mut self, entry: Entry, latency: i64) {
        let found = &mut self.found;
        if entry.sent == 0 && entry.received == 0 && latency > 0 {
            found.notes.dummies += 1;
            found.lost.push(entry.sequence);
            return;
        }
        found.notes.mismatches += u64::from(latency != entry.latency());
        found.notes.negative += u64::from(entry.latency() < 0);
        found.entries.push(entry);
    }
}

/// Whether a line could be the beginning of a record.
fn beginning(text: &[u8]) -> bool {
    text.iter().all(|octet| octet.is_ascii_digit() || matches!(octet, b':' | b'-'))
}

fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(SHOWN).collect::<String>())
}

/// A line as an entry and the latency that it states.
fn entry(line: &[u8], options: Options) -> Result<(Entry, i64), String> {
    const WANTED: &str = "five numbers sent:received:latency:size:sequence, times in 100 ns";
    let binary = || format!("it is not text, but {WANTED} are wanted; name a .raw file");
    if line.iter().any(|octet| *octet < b' ' && *octet != b'\t') {
        return Err(binary());
    }
    let text = std::str::from_utf8(line).map_err(|_| binary())?;
    let fields: Vec<&str> = text.split(':').map(str::trim).collect();
    let &[sent, received, latency, size, sequence] = &fields[..] else {
        if fields.len() == 1 && text.contains([',', ';', '\t', ' ']) {
            return Err(format!("the fields are not separated by colons: {WANTED}; put colons between them"));
        }
        if fields.len() == 2 && fields[0].contains(|c: char| c.is_ascii_alphabetic()) {
            return Err("it is a .sta file (key: value); name the .raw file beside it".into());
        }
        return Err(format!("it has {} fields, not {WANTED}; see who wrote it", fields.len()));
    };
    let entry = Entry {
        sent: time(sent, "send stamp", 0)?,
        received: time(received, "receive stamp", 0)?,
        size: whole(size, "size")?,
        sequence: number(sequence)?,
    };
    let latency = time(latency, "latency", -LARGEST)?;
    match entry.size {
        0 => Err("a packet of size 0 cannot be; see who wrote it".into()),
        small if small <= TOO_SMALL && !options.any_size => Err(format!(
            "a packet of {small} octets has no room for Qtcp's header ({TOO_SMALL} octets); with --any-size it is taken"
        )),
        large if large > LARGEST_SIZE => {
            Err(format!("a packet of {large} octets cannot be; it is at most {LARGEST_SIZE}"))
        }
        _ => Ok((entry, latency)),
    }
}

fn digits(field: &str) -> Option<&str> {
    (!field.is_empty() && field.bytes().all(|octet| octet.is_ascii_digit())).then_some(field)
}

fn time(field: &str, what: &str, least: i64) -> Result<i64, String> {
    if digits(field.strip_prefix('-').unwrap_or(field)).is_none() {
        return Err(format!("{} is not a {what}; write a whole number of 100 ns", shown(field)));
    }
    let time = field.parse().ok().filter(|time: &i64| *time <= LARGEST);
    match time {
        Some(time) if time >= least => Ok(time),
        Some(_) => {
            Err(format!("{} is a {what} below zero; write units of 100 ns since some origin", shown(field)))
        }
        None => Err(format!("{} is out of range for a {what}; it is at most {LARGEST}", shown(field))),
    }
}

fn whole(field: &str, what: &str) -> Result<u32, String> {
    let digits =
        digits(field).ok_or_else(|| format!("{} is not a {what}; write a whole number", shown(field)))?;
    digits
        .parse()
        .map_err(|_| format!("{} is out of range for a {what}; it is at most {LARGEST_SIZE}", shown(field)))
}

fn number(field: &str) -> Result<u64, String> {
    let digits = digits(field)
        .ok_or_else(|| format!("{} is not a sequence number; write a whole number", shown(field)))?;
    let number = digits.parse().ok().filter(|number: &u64| *number < 1 << 62);
    number.ok_or_else(|| format!("{} is out of range for a sequence number", shown(field)))
}

/// What only the whole file shows.
fn examine(found: &mut Found) -> Result<(), Fault> {
    let whole = |why: &str| Err(Fault::Line { line: 1, why: why.into() });
    let entries = &found.entries;
    if entries.is_empty() {
        return whole(
            "it has no records (were all packets lost? the .sta file says); there is nothing to compute",
        );
    }
    if entries.len() > 1 {
        let same = |of: fn(&Entry) -> i64| entries.windows(2).all(|pair| of(&pair[0]) == of(&pair[1]));
        if same(|entry| entry.sent) {
            return whole(
                "all send stamps are equal: the sender did not stamp; install its stamping module, and measure again",
            );
        }
        if same(|entry| entry.received) {
            return whole(
                "all receive stamps are equal: the receiver did not stamp; install its stamping module, and measure again",
            );
        }
        if entries.len() > 2 && entries.windows(2).all(|pair| pair[0].sequence == pair[1].sequence) {
            return whole(
                "all sequence numbers are equal: it has none; losses cannot be told; see who wrote it",
            );
        }
    }
    unwrap(found);
    order(found)?;
    gaps(found)
}

/// Numbers of 32 bits that began again at 0 are continued.
fn unwrap(found: &mut Found) {
    let (mut turns, mut last) = (0u64, 0u64);
    for entry in &mut found.entries {
        let number = entry.sequence;
        if (WRAP - WRAP / 4..WRAP).contains(&last) && number < WRAP / 4 {
            turns += 1;
            found.notes.wrapped = true;
        }
        if number < WRAP {
            // A late one from before the turn.
            let late = turns > 0 && number >= WRAP - WRAP / 4 && last < WRAP / 4;
            entry.sequence = number + (turns - u64::from(late)) * WRAP;
            if late {
                continue;
            }
        }
        last = number;
    }
}

/// Steps of clocks, reordering, duplicates, and a second run behind the first.
fn order(found: &mut Found) -> Result<(), Fault> {
    let notes = &mut found.notes;
    let mut sent = HashMap::with_capacity(found.entries.len());
    let mut highest: Option<Entry> = None;
    for (entry, record) in found.entries.iter().zip(1u64..) {
        if let Some(before) = highest {
            // A copy of a packet has the stamp of its departure; another one is another packet.
            let another = sent
                .get(&entry.sequence)
                .is_some_and(|sent| *sent != entry.sent || entry.received < before.received);
            if another && entry.sequence <= FIRST_NUMBERS && before.sequence > FIRST_NUMBERS {
                return Err(Fault::Line {
                    line: record,
                    why: format!(
                        "the numbers and the send times begin again at record {record}: two runs stand in one file; split it there"
                    ),
                });
            }
            if entry.sequence > before.sequence {
                let (rise, plain) = rise(&found.entries, record);
                let sent_back = before.sent - entry.sent;
                if sent_back > 0 && notes.sent_back.is_none() {
                    notes.sent_back = Some((record, sent_back.max(rise)));
                }
                let received_back = before.received - entry.received;
                if received_back > 0 && plain && 2 * -rise >= received_back {
                    notes.received_back = notes.received_back.or(Some((record, -rise)));
                } else if received_back > 0 {
                    // In a file in order of sending, whose latencies go on as they were, it has overtaken.
                    notes.reordered += 1;
                }
            }
        }
        if sent.insert(entry.sequence, entry.sent).is_some() {
            notes.duplicates += 1;
        } else if highest.is_some_and(|before| before.sequence > entry.sequence) {
            notes.reordered += 1;
        }
        if highest.is_none_or(|before| before.sequence < entry.sequence) {
            highest = Some(*entry);
        }
    }
    Ok(())
}

/// By how much the latencies of the entries from a record on (from 1) are higher than those before it, in the median of
/// some on either side; and whether that is plainly more than the medians of so few differ by anyway.
fn rise(entries: &[Entry], record: u64) -> (i64, bool) {
    const SIDE: usize = 20;
    /// So many errors of the difference, each 1.25 of a mean's, whose deviation is one and a half of what half the
    /// latencies lie off their median.
    const PLAIN: f64 = 5.0 * 1.25 * 1.5;
    let at = usize::try_from(record).unwrap_or(usize::MAX).saturating_sub(1).min(entries.len());
    let middle = |mut values: Vec<i64>| -> i64 {
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or(0)
    };
    let (before, after) = entries.split_at(at);
    let sides = [&before[before.len().saturating_sub(SIDE)..], &after[..after.len().min(SIDE)]];
    let medians = sides.map(|side| middle(side.iter().map(Entry::latency).collect()));
    let off = |side: usize| {
        let off = |entry: &Entry| entry.latency().saturating_sub(medians[side]).saturating_abs();
        middle(sides[side].iter().map(off).collect())
    };
    #[expect(clippy::cast_precision_loss, reason = "a rough error")]
    let (spread, few) = (off(0).max(off(1)) as f64, sides.map(|side| 1.0 / side.len().max(1) as f64));
    let rise = medians[1] - medians[0];
    #[expect(clippy::cast_precision_loss, reason = "beside a rough error")]
    let plain = rise.saturating_abs() as f64 > PLAIN * spread * (few[0] + few[1]).sqrt();
    (rise, plain)
}

/// The numbers that are missing.
fn gaps(found: &mut Found) -> Result<(), Fault> {
    let mut numbers: Vec<u64> = found.entries.iter().map(|entry| entry.sequence).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let most = LONGEST_GAP.max(16 * numbers.len() as u64);
    for pair in numbers.windows(2) {
        let gap = pair[1] - pair[0] - 1;
        if gap > most {
            return Err(Fault::Line {
                line: 1,
                why: format!(
                    "the sequence numbers jump from {} to {}, which is no loss; is it one run? take the others out",
                    pair[0], pair[1]
                ),
            });
        }
        found.lost.extend(pair[0] + 1..pair[1]);
    }
    found.lost.sort_unstable();
    found.lost.dedup();
    found.lost.retain(|number| numbers.binary_search(number).is_err());
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "1000:1030:30:64:0\n1100:1190:90:64:1\n1200:1260:60:64:2\n";

    fn refusal(text: &[u8]) -> (u64, String) {
        match read(text, Options::default()) {
            Err(Fault::Line { line, why }) => (line, why),
            other => panic!("{:?} {other:?}", String::from_utf8_lossy(text)),
        }
    }

    fn found(text: &str) -> Found {
        read(text.as_bytes(), Options::default()).unwrap_or_else(|error| panic!("{text:?} {error}"))
    }

    #[test]
    fn what_is_no_record_is_refused_with_its_line() {
        for (tail, part) in [
            ("1300:1330:30:64", "4 fields"),
            ("1300:1330:30:64:3:1", "6 fields"),
            ("1300,1330,30,64,3", "colons"),
            ("1300:x:30:64:3", "\"x\" is not a receive stamp"),
            ("NaN:1330:30:64:3", "not a send stamp"),
            ("1300:1330:1,5:64:3", "not a latency"),
            ("-1:1330:30:64:3", "below zero"),
            ("9223372036854775808:1330:30:64:3", "out of range"),
            ("1300:1330:30:0:3", "size 0"),
            ("1300:1330:30:48:3", "no room for Qtcp's header"),
            ("1300:1330:30:65536:3", "at most 65535"),
            ("1300:1330:30:64:-3", "sequence number"),
            ("received: 3", ".sta file"),
            ("\u{1}\u{2}\u{3}", "not text"),
        ] {
            let (line, why) = refusal(format!("{GOOD}{tail}\n{GOOD}").as_bytes());
            assert!(line == 4 && why.contains(part), "{tail}: line {line}: {why}");
        }
        for (text, part) in [
            ("", "no records"),
            ("0:0:90:64:0\n0:0:90:64:1\n", "no records"),
            ("10:13:3:64:0\n10:14:4:64:1\n", "send stamps are equal"),
            ("10:13:3:64:0\n11:13:2:64:1\n", "receive stamps are equal"),
            ("10:13:3:64:0\n11:15:4:64:0\n12:16:4:64:0\n", "sequence numbers are equal"),
        ] {
            assert!(refusal(text.as_bytes()).1.contains(part), "{text:?}");
        }
        let (line, why) = refusal(format!("{GOOD}500:530:30:64:0\n").as_bytes());
        assert!(line == 4 && why.contains("two runs"), "{why}");
    }

    #[test]
    fn what_can_be_read_is_read_and_what_is_odd_about_it_is_said() {
        let says = |text: &str, part: &str| {
            let found = found(text);
            assert!(found.notes.words().iter().any(|word| word.contains(part)), "{part}: {:?}", found.notes);
            found
        };
        assert_eq!(found(GOOD).notes, Notes::default());
        assert_eq!(found(&GOOD.replace('\n', "\r\n")).entries, found(GOOD).entries);
        assert_eq!(found(&format!("\u{feff}{GOOD}")).entries, found(GOOD).entries);
        assert_eq!(found("1000:1030:30:64:0\n").entries.len(), 1);
        assert_eq!(says(&format!("{GOOD}0:0:90:64:3\n"), "1 dummy").lost, [3]);
        assert_eq!(found(&format!("{GOOD}1500:1530:30:64:5\n")).lost, [3, 4], "a gap is a loss");
        says("1000:1030:31:64:0\n1100:1190:90:64:1\n", "1 latencies are not");
        says("1000:30:-970:64:0\n1100:140:-960:64:1\n", "2 raw latencies are below zero");
        says(&format!("{GOOD}1100:1290:190:64:1\n"), "1 line repeats");
        says("1000:1030:30:64:0\n1200:1260:60:64:2\n1100:1290:190:64:1\n", "1 packet arrived after");
        says(&format!("{GOOD}500:1330:830:64:3\n"), "sender's clock stepped back");
        says(&format!("{GOOD}1300:730:-570:64:3\n"), "receiver's clock stepped back");
        // Packets that overtake others, in a file in order of sending, are no step though there be few before them.
        let mut overtaken = String::new();
        for n in 0..60i64 {
            let (sent, latency) = (10_000 + 100 * n, 500 + n * 4_231 % 997);
            overtaken.push_str(&format!("{sent}:{}:{latency}:64:{n}\n", sent + latency));
        }
        let overtaken = says(&overtaken, "reordered");
        assert_eq!(overtaken.notes.received_back, None);
        assert_eq!(says(&format!("{GOOD}1300:13"), "octet 54").entries.len(), 3);
        assert_eq!(says(&format!("{GOOD}{}", "\0".repeat(70_000)), "70000 octets").entries.len(), 3);
        let cut = says(&format!("{GOOD}1300:1\0\0\0\n\0"), "5 octets of zero");
        assert_eq!(cut.notes.cut, Some(54));
        let wrapped = says(
            "10:13:3:64:4294967294\n11:15:4:64:4294967295\n12:16:4:64:0\n13:17:4:64:1\n",
            "wrapped at 2^32",
        );
        assert!(wrapped.lost.is_empty());
        assert_eq!(wrapped.entries[3].sequence, (1 << 32) + 1);
        let small = read(&b"10:13:3:14:0\n11:15:4:14:1\n"[..], Options { any_size: true }).unwrap();
        assert_eq!(small.entries.len(), 2);
    }

    proptest! {
        #[test]
        fn any_octets_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes[..], Options::default());
            let _ = read(&[GOOD.as_bytes(), &bytes].concat()[..], Options::default());
        }

        #[test]
        fn lines_of_numbers_are_read_or_refused(text in "([0-9]{1,12}:){4}[0-9]{1,12}(\n([0-9]{1,4}:){4}[0-9]{1,3}){0,9}") {
            let _ = read(text.as_bytes(), Options { any_size: true });
        }
    }
}
