//! The records of `.raw` and `.log`, one at a time.

use std::io::BufRead;

use super::entry::Entry;
use super::read::Options;
use super::record::{beginning, entry};
use crate::csv::Fault;
use crate::line::{LONGEST, LineEnd as Line, Lines};

/// Where a 32-bit sequence number ends.
const WRAP: u64 = 1 << 32;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A packet arrived. Its number is continued where numbers began again at 2^32.
    Arrived(Entry),
    /// A dummy entry, for a lost packet of this number.
    Dummy(u64),
}

/// Reads records one by one: as much memory as the longest line, however long the file is.
#[derive(Debug)]
pub struct Records<R> {
    lines: Lines<R>,
    line: Vec<u8>,
    number: u64,
    options: Options,
    /// The number of the last packet, as it stood there.
    last: Option<u64>,
    turns: Turns,
    mismatches: u64,
    cut: Option<u64>,
    zeros: u64,
    ended: bool,
}

impl<R: BufRead> Records<R> {
    /// Reads from the beginning of a file.
    pub fn new(inner: R, options: Options) -> Self {
        Self {
            lines: Lines::new(inner),
            line: Vec::new(),
            number: 0,
            options,
            last: None,
            turns: Turns::default(),
            mismatches: 0,
            cut: None,
            zeros: 0,
            ended: false,
        }
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// [`Fault`] where a line is none, or cannot be read.
    pub fn next_record(&mut self) -> Result<Option<Record>, Fault> {
        while !self.ended {
            let begins = self.lines.taken();
            self.number += 1;
            match self.lines.next(&mut self.line)? {
                Line::End => break,
                Line::TooLong if self.line.iter().all(|octet| *octet == 0) => {
                    self.skip_zeros(begins)?;
                    break;
                }
                Line::TooLong => {
                    let why = format!("the line is longer than {LONGEST} bytes; is it a .raw file?");
                    return Err(self.fault(why));
                }
                Line::Line => {}
            }
            if self.number == 1 && self.line.starts_with(&[0xef, 0xbb, 0xbf]) {
                self.line.drain(..3);
            }
            if self.line.is_empty() {
                continue;
            }
            if self.line.last() == Some(&0) {
                let kept = self.line.iter().rposition(|octet| *octet != 0).map_or(0, |last| last + 1);
                if kept > 0 {
                    self.cut = Some(begins);
                }
                self.skip_zeros(begins + kept as u64)?;
                break;
            }
            match entry(&self.line, self.options) {
                // A line without end may have been cut within its last number, and then that is none that follows.
                Ok((entry, _)) if !self.lines.ended() && !self.follows(&entry) => self.cut = Some(begins),
                Ok((entry, stated)) => return Ok(Some(self.record(entry, stated))),
                // A line without end that is no record was cut where its writer ended.
                Err(_) if !self.lines.ended() && self.number > 1 && beginning(&self.line) => {
                    self.cut = Some(begins);
                }
                Err(why) => return Err(self.fault(why)),
            }
        }
        self.ended = true;
        Ok(None)
    }

    fn record(&mut self, mut entry: Entry, stated: i64) -> Record {
        if entry.sent == 0 && entry.received == 0 && stated > 0 {
            return Record::Dummy(entry.sequence);
        }
        self.last = Some(entry.sequence);
        entry.sequence = self.turns.continued(entry.sequence);
        if stated != entry.latency() {
            self.mismatches += 1;
            if self.options.trust_latency {
                entry.received = entry.sent.saturating_add(stated);
            }
        }
        Record::Arrived(entry)
    }

    /// From here on there may be nothing but octets of zero.
    fn skip_zeros(&mut self, from: u64) -> Result<(), Fault> {
        loop {
            match self.lines.next(&mut self.line)? {
                Line::End => break,
                _ if self.line.iter().all(|octet| *octet == 0) => {}
                _ => {
                    return Err(self
                        .fault("it has bytes of zero and more text after them; is it a .raw file?".into()));
                }
            }
        }
        self.zeros = self.lines.taken() - from;
        Ok(())
    }

    /// A fault in the line that was read last.
    pub(super) fn fault(&self, why: String) -> Fault {
        Fault::Line { line: self.number, why }
    }

    /// Whether an entry has the number after that of the one before it, if there is one.
    fn follows(&self, entry: &Entry) -> bool {
        self.last.is_none_or(|last| last + 1 == entry.sequence)
    }

    /// Lines so far whose latency is not received minus sent.
    pub(super) fn mismatches(&self) -> u64 {
        self.mismatches
    }

    /// The octet at which a cut last line began, and the octets of zero at the end: both were dropped. Known at the end.
    pub(super) fn dropped(&self) -> (Option<u64>, u64) {
        (self.cut, self.zeros)
    }

    /// Whether numbers began again at 2^32.
    pub(super) fn wrapped(&self) -> bool {
        self.turns.count > 0
    }
}

/// Numbers of 32 bits that began again at 0 are continued.
#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    count: u64,
    last: u64,
}

impl Turns {
    fn continued(&mut self, number: u64) -> u64 {
        if (WRAP - WRAP / 4..WRAP).contains(&self.last) && number < WRAP / 4 {
            self.count += 1;
        }
        let mut whole = number;
        if number < WRAP {
            // A late one from before the turn.
            let late = self.count > 0 && number >= WRAP - WRAP / 4 && self.last < WRAP / 4;
            whole = number + (self.count - u64::from(late)) * WRAP;
            if late {
                return whole;
            }
        }
        self.last = number;
        whole
    }
}
