//! Departures that somebody recorded.

use std::collections::BTreeSet;
use std::sync::Arc;

use romer_units::Duration;
use thiserror::Error;

use crate::schedule::Departure;

/// A recorded schedule: when packets left, after the first moment, and how large they were.
///
/// It is read from text, a line for each packet in order of time. The header line names the columns, separated by
/// commas, in any order; others are ignored. The time is `offset_ns` (nanoseconds after the start, 0 and up), or
/// `sent_ns` or `t1_ns` of a packet log, which count from any origin: then the first packet leaves at once, and
/// rows that repeat a `sequence` (duplicates of the network) or have no time (never sent) are no departures. `size` is optional: octets of UDP
/// payload. Lines that are empty or begin with `#` are skipped. A copy shares what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    packets: Arc<[Recorded]>,
    sized: bool,
}

/// One packet of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) offset: Duration,
    pub(crate) size: u32,
}

/// A line of a trace that cannot be used, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {fault}")]
pub struct TraceError {
    /// Which line.
    pub line: u64,
    /// What is wrong with it.
    pub fault: TraceFault,
}

/// What is wrong with a line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceFault {
    /// Not text.
    #[error("this is not text in UTF-8; save it as text")]
    NotText,
    /// No header, or one without a column of times.
    #[error(
        "no column of times is named; begin with a line such as offset_ns,size (or sent_ns, or t1_ns, of a packet log)"
    )]
    NoTimes,
    /// A header with a column twice.
    #[error("the column {name} is named twice; name it once")]
    ColumnTwice {
        /// Its name.
        name: &'static str,
    },
    /// Fewer fields than the columns that are needed.
    #[error("there is no field for {name}; every line must have the fields of the header")]
    FieldMissing {
        /// The column's name.
        name: &'static str,
    },
    /// A field that is not a number of its range.
    #[error("{text:?} is not {what}; correct this field")]
    NotANumber {
        /// What is there, cut to a length that one can read.
        text: String,
        /// What belongs there.
        what: &'static str,
    },
    /// A departure before the one before it.
    #[error("this packet leaves before the one on the line before; sort the lines by time")]
    NotInOrder,
    /// Nothing but a header.
    #[error("the trace has no packets; add a line for each")]
    Empty,
}

/// The largest payload of UDP over IPv4.
const MAX_UDP_PAYLOAD: u32 = 65_507;
const OFFSET: &str = "a time after the start: whole nanoseconds, 0 and up";
const PAYLOAD: &str = "a payload of UDP: 0 to 65507 bytes";

/// Where the columns are.
struct Columns {
    time: (usize, &'static str),
    size: Option<usize>,
    sequence: Option<usize>,
}

impl Trace {
    /// Reads the content of a trace file.
    ///
    /// # Errors
    /// [`TraceError`] of the first line that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, TraceError> {
        let text = core::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            TraceError { line: u64::try_from(line).unwrap_or(u64::MAX), fault: TraceFault::NotText }
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text
            .lines()
            .zip(1u64..)
            .map(|(line, number)| (line.trim(), number))
            .filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        let (header, first) = lines.next().unwrap_or(("", 1));
        let columns = columns(header).map_err(|fault| TraceError { line: first, fault })?;
        let mut reader = Reader { columns, origin: None, before: i64::MIN, seen: BTreeSet::new() };
        let mut packets = Vec::new();
        let mut last = first;
        for (line, number) in lines {
            last = number;
            packets.extend(reader.packet(line).map_err(|fault| TraceError { line: number, fault })?);
        }
        if packets.is_empty() {
            return Err(TraceError { line: last, fault: TraceFault::Empty });
        }
        Ok(Self { packets: packets.into(), sized: reader.columns.size.is_some() })
    }

    /// The trace of these packets, in order of time; `sized` says whether their sizes mean anything.
    ///
    /// # Errors
    /// [`TraceError`] of the first packet that is wrong, counted as its line.
    pub fn from_departures(packets: &[Departure], sized: bool) -> Result<Self, TraceError> {
        let mut before = Duration::ZERO;
        for (packet, line) in packets.iter().zip(1u64..) {
            let wrong =
                |text: String, what| TraceError { line, fault: TraceFault::NotANumber { text, what } };
            if packet.offset < Duration::ZERO {
                return Err(wrong(packet.offset.as_nanos().to_string(), OFFSET));
            }
            if packet.offset < before {
                return Err(TraceError { line, fault: TraceFault::NotInOrder });
            }
            before = packet.offset;
            if packet.size > MAX_UDP_PAYLOAD {
                return Err(wrong(packet.size.to_string(), PAYLOAD));
            }
        }
        if packets.is_empty() {
            return Err(TraceError { line: 1, fault: TraceFault::Empty });
        }
        let recorded = |packet: &Departure| Recorded { offset: packet.offset, size: packet.size };
        Ok(Self { packets: packets.iter().map(recorded).collect(), sized })
    }

    /// Its packets, in order of time.
    pub fn departures(&self) -> impl ExactSizeIterator<Item = Departure> {
        self.packets.iter().map(|packet| Departure { offset: packet.offset, size: packet.size })
    }

    /// How many packets it has.
    pub fn len(&self) -> u64 {
        u64::try_from(self.packets.len()).unwrap_or(u64::MAX)
    }

    /// Whether it has none; a trace that was read has at least one.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Whether it says how large its packets are.
    pub const fn has_sizes(&self) -> bool {
        self.sized
    }

    pub(crate) const fn packets(&self) -> &Arc<[Recorded]> {
        &self.packets
    }
}

fn columns(header: &str) -> Result<Columns, TraceFault> {
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let place = |name: &'static str| -> Result<Option<usize>, TraceFault> {
        let mut places = names.iter().zip(0..).filter(|(column, _)| **column == name).map(|(_, place)| place);
        match (places.next(), places.next()) {
            (_, Some(_)) => Err(TraceFault::ColumnTwice { name }),
            (place, None) => Ok(place),
        }
    };
    let mut time = None;
    for name in ["offset_ns", "sent_ns", "t1_ns"] {
        time = time.or(place(name)?.map(|place| (place, name)));
    }
    Ok(Columns { time: time.ok_or(TraceFault::NoTimes)?, size: place("size")?, sequence: place("sequence")? })
}

struct Reader {
    columns: Columns,
    /// The time that counts as 0.
    origin: Option<i64>,
    before: i64,
    /// Sequence numbers of a packet log that have come.
    seen: BTreeSet<u64>,
}

impl Reader {
    /// The departure that a line tells of; none for a duplicate, or a packet that never left.
    fn packet(&mut self, line: &str) -> Result<Option<Recorded>, TraceFault> {
        let field = |place: usize, name: &'static str| {
            line.split(',').nth(place).map(str::trim).ok_or(TraceFault::FieldMissing { name })
        };
        let (place, name) = self.columns.time;
        let relative = name == "offset_ns";
        if let (Some(place), false) = (self.columns.sequence, relative) {
            let sequence = number(field(place, "sequence")?, "a sequence number, 0 and up")?;
            if !self.seen.insert(sequence) {
                return Ok(None);
            }
        }
        let what = if relative { OFFSET } else { "a time in whole nanoseconds" };
        let text = field(place, name)?;
        if text.is_empty() && !relative {
            return Ok(None);
        }
        let time: i64 = number(text, what)?;
        let wrong = || TraceFault::NotANumber { text: shown(text), what };
        if relative && time < 0 {
            return Err(wrong());
        }
        if time < self.before {
            return Err(TraceFault::NotInOrder);
        }
        self.before = time;
        let origin = *self.origin.get_or_insert(if relative { 0 } else { time });
        let offset = time.checked_sub(origin).map(Duration::from_nanos).ok_or_else(wrong)?;
        let size = match self.columns.size {
            None => 0,
            Some(place) => {
                let (text, what) = (field(place, "size")?, PAYLOAD);
                let size = number(text, what)?;
                if size > MAX_UDP_PAYLOAD {
                    return Err(TraceFault::NotANumber { text: shown(text), what });
                }
                size
            }
        };
        Ok(Some(Recorded { offset, size }))
    }
}

fn number<T: core::str::FromStr>(text: &str, what: &'static str) -> Result<T, TraceFault> {
    text.parse().map_err(|_| TraceFault::NotANumber { text: shown(text), what })
}

fn shown(text: &str) -> String {
    romer_units::excerpt(text, 40)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(i64, u32)> {
        let trace = Trace::parse(text.as_bytes()).unwrap();
        trace.packets().iter().map(|packet| (packet.offset.as_nanos(), packet.size)).collect()
    }

    #[test]
    fn offsets_and_sizes_are_read_as_they_are() {
        assert_eq!(read("offset_ns,size\n5,100\n5,0\n20,65507\n"), [(5, 100), (5, 0), (20, 65_507)]);
        assert_eq!(read("\u{feff}# a call\r\n\r\nsize, offset_ns \r\n 7 , 3\r\n# end\r\n"), [(3, 7)]);
        let times = Trace::parse(b"offset_ns\n0\n1\n").unwrap();
        assert!(!times.has_sizes() && times.len() == 2 && !times.is_empty());
    }

    #[test]
    fn a_packet_log_is_replayed_from_its_first_departure_without_duplicates() {
        let log = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n0,44,1000,,,\n1,44,1500,9,9,9\n1,44,1500,9,9,9\n2,50,3000,9,9,9\n";
        assert_eq!(read(log), [(0, 44), (500, 44), (2_000, 50)]);
        assert_eq!(read("sequence,size,sent_ns,received_ns\n7,44,-9,\n8,44,-2,5\n"), [(0, 44), (7, 44)]);
        assert_eq!(read("sequence,t1_ns\n0,100\n1,\n2,300\n"), [(0, 0), (200, 0)]);
    }

    #[test]
    fn a_wrong_line_is_named_with_what_is_wrong() {
        for (text, line, part) in [
            ("", 1, "offset_ns,size"),
            ("0,100\n20,100\n", 1, "offset_ns,size"),
            ("offset_ns,offset_ns\n", 1, "twice"),
            ("offset_ns,size\n", 1, "no packets"),
            ("offset_ns,size\n\n# nothing\n", 1, "no packets"),
            ("offset_ns,size\n0,10\n\n20\n", 4, "no field for size"),
            ("offset_ns,size\n0,10\nabc,10\n", 3, "\"abc\" is not a time"),
            ("offset_ns,size\n-1,10\n", 2, "\"-1\" is not a time"),
            ("offset_ns,size\n0,65508\n", 2, "\"65508\" is not a payload"),
            ("offset_ns,size\n1.5,10\n", 2, "\"1.5\""),
            ("offset_ns,size\n20,10\n10,10\n", 3, "sort the lines"),
            ("sequence,sent_ns\nx,10\n", 2, "sequence number"),
            ("sent_ns\n-9223372036854775808\n9223372036854775807\n", 3, "is not a time"),
        ] {
            let error = Trace::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(
                error.to_string().contains(part) && error.to_string().contains("; "),
                "{text:?}: {error}"
            );
        }
        let error = Trace::parse(b"offset_ns,size\n0,10\n\xff,10\n").unwrap_err();
        assert_eq!((error.line, error.fault), (3, TraceFault::NotText));
    }

    #[test]
    fn packets_that_are_told_are_checked_like_those_of_a_file() {
        let packet = |offset, size| Departure { offset: Duration::from_nanos(offset), size };
        let told = [packet(0, 44), packet(500, 65_507), packet(500, 0)];
        let trace = Trace::from_departures(&told, true).unwrap();
        assert_eq!(trace, Trace::parse(b"offset_ns,size\n0,44\n500,65507\n500,0\n").unwrap());
        assert!(trace.departures().eq(told));
        for (told, line, part) in [
            (vec![], 1, "no packets"),
            (vec![packet(-1, 0)], 1, "\"-1\" is not a time"),
            (vec![packet(5, 0), packet(4, 0)], 2, "sort"),
            (vec![packet(5, 65_508)], 1, "\"65508\" is not a payload"),
        ] {
            let error = Trace::from_departures(&told, true).unwrap_err();
            assert_eq!(error.line, line);
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(gaps in prop::collection::vec((0i64..1_000_000_000, 0u32..=MAX_UDP_PAYLOAD), 1..100)) {
            let mut time = 0;
            let packets: Vec<(i64, u32)> = gaps.into_iter().map(|(gap, size)| { time += gap; (time, size) }).collect();
            let lines: Vec<String> = packets.iter().map(|(offset, size)| format!("{offset},{size}")).collect();
            prop_assert_eq!(read(&format!("offset_ns,size\n{}\n", lines.join("\n"))), packets);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = Trace::parse(&bytes);
        }

        #[test]
        fn no_near_text_panics(text in "(offset_ns|sent_ns|t1_ns|sequence|size)?,?(size|sequence)?\n([-0-9,]{0,25}\n){0,4}") {
            if let Ok(trace) = Trace::parse(text.as_bytes()) {
                prop_assert!(trace.packets().is_sorted_by_key(|packet| packet.offset));
            }
        }
    }
}
