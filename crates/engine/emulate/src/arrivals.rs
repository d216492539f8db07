//! Recorded arrivals: `time_ns,port,size`, a packet a line, port a or b, size with the check sequence; or an emulator's
//! samples, of which the copies are left out. Of captures they are read in `captured`.

use std::io::BufRead;
use std::path::Path;

use romer_exchange::line::{LineEnd, Lines};
use romer_impair::{Headers, Nanos, Packet, PortId};
use romer_record::warning::EmulationWarning;

use crate::departures;
use crate::error::EmulateError;

/// One packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When, nanoseconds.
    pub time: Nanos,
    /// Where.
    pub port: PortId,
    /// Octets of the frame with its check sequence.
    pub size: u32,
    /// Octets that count at layer 3; of a table's packets, which have no headers, those of an untagged frame without padding.
    pub network_length: u32,
    /// Which of [`Arrivals::headers`] are its own.
    pub headers: usize,
}

impl Arrival {
    /// A packet of which only the frame's size is known.
    pub fn new(time: Nanos, port: PortId, size: u32) -> Self {
        let network_length = Packet::new(0, port, size, time).network_length;
        Self { time, port, size, network_length, headers: 0 }
    }
}

/// Recorded arrivals, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// Ascending in time; of one moment, as they stood in the file.
    pub packets: Vec<Arrival>,
    /// How many stood after a later one.
    pub out_of_order: u64,
    /// What flows are told apart by, each once; those of a table are not known.
    pub headers: Vec<Headers>,
    /// When the network began, where the file says so: an emulator's own capture, whose chains and timeline count from
    /// then.
    pub began: Option<Nanos>,
    /// What a reader of the results should know of the file, in words.
    pub notes: Vec<EmulationWarning>,
}

impl Arrivals {
    /// Those that stood in this order.
    pub(crate) fn new(packets: Vec<Arrival>, headers: Vec<Headers>) -> Self {
        let mut arrivals = Self { packets, headers, ..Self::default() };
        let mut latest = Nanos::MIN;
        for arrival in &arrivals.packets {
            arrivals.out_of_order += u64::from(arrival.time < latest);
            latest = latest.max(arrival.time);
        }
        if arrivals.out_of_order > 0 {
            arrivals.packets.sort_by_key(|arrival| arrival.time);
        }
        arrivals
    }

    /// Whether flows can be told apart.
    pub const fn has_headers(&self) -> bool {
        !self.headers.is_empty()
    }

    /// What the flow of an arrival is told by.
    pub fn headers_of(&self, arrival: &Arrival) -> Headers {
        self.headers.get(arrival.headers).copied().unwrap_or_default()
    }
}

/// The smallest and the largest frame that is taken.
pub(crate) const SIZES: std::ops::RangeInclusive<u32> = 18..=65_575;
/// The latest time of an arrival, nanoseconds, and in samples the earliest below 0: 146 years. Whatever is added to it on the
/// way still is a time.
const MAX_ARRIVAL_TIME: Nanos = 1 << 62;
/// The longest line that is looked at.
const LONGEST_LINE: usize = 256;
const FORM: &str = "time_ns,port,size";

/// Reads arrivals. A first line with the columns' names, empty lines and comments (`#`) are passed over; lines end as any
/// system ends them.
///
/// # Errors
/// The first line that is wrong.
pub fn read_arrivals(path: &Path, reader: impl BufRead) -> Result<Arrivals, EmulateError> {
    let content = |why: String| EmulateError::Content { what: "the arrivals", path: path.into(), why };
    let mut packets = Vec::new();
    let (mut lines, mut number, mut line) = (Lines::new(reader), 0_u64, Vec::new());
    let mut read_line: fn(&str) -> Result<Option<Arrival>, String> = |text| arrival(text).map(Some);
    loop {
        let found = lines.next(&mut line);
        let failed = |source| EmulateError::File { action: "reading", path: path.into(), source };
        let found = found.map_err(failed)?;
        if found == LineEnd::End {
            break;
        }
        number += 1;
        if found == LineEnd::TooLong || line.len() > LONGEST_LINE {
            return Err(content(format!("line {number} is longer than {LONGEST_LINE} bytes; write {FORM}")));
        }
        let text = std::str::from_utf8(&line).map_err(|_| {
            let or = if number == 1 { ", and the file is no capture (pcap, pcapng)" } else { "" };
            content(format!("line {number} is not UTF-8{or}; save the file as UTF-8"))
        })?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') || (number == 1 && text == FORM) {
            continue;
        }
        if number == 1 && text == departures::HEADER {
            read_line = arrival_of_sample;
            continue;
        }
        let arrival = read_line(text).map_err(|why| content(format!("line {number} {why}")))?;
        packets.extend(arrival);
    }
    Ok(Arrivals::new(packets, Vec::new()))
}

/// The arrival that a line of an emulator's samples is of; `None` for a copy, which did not arrive.
fn arrival_of_sample(text: &str) -> Result<Option<Arrival>, String> {
    let fields: Vec<&str> = text.split(',').collect();
    let [_, copy, port, size, time, _, _, _, _, _] = fields.as_slice() else {
        return Err(format!("has {} columns; write {}", fields.len(), departures::HEADER));
    };
    if *copy != "0" {
        return Ok(None);
    }
    // What waited at a port when the emulator began has come before its time began.
    arrival_from(-MAX_ARRIVAL_TIME, &format!("{time},{port},{size}")).map(Some)
}

fn arrival(text: &str) -> Result<Arrival, String> {
    arrival_from(0, text)
}

/// The beginning of what was written, without control characters.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// The arrival that a line is of, at `first` or later.
fn arrival_from(first: Nanos, text: &str) -> Result<Arrival, String> {
    let mut parts = text.split(',').map(str::trim);
    let (Some(time), Some(port), Some(size), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(format!("is {:?}; write {FORM}, such as 1000,a,64", shown(text)));
    };
    let time = time_from(first, time.parse().ok(), || time.to_owned())?;
    let port = port_from(port)?;
    Ok(Arrival::new(time, port, size_from(size.parse().ok(), || size.to_owned())?))
}

/// The time that was written as `text`, if it is one, at `first` or later.
fn time_from(first: Nanos, time: Option<Nanos>, text: impl FnOnce() -> String) -> Result<Nanos, String> {
    time.filter(|time| (first..=MAX_ARRIVAL_TIME).contains(time)).ok_or_else(|| {
        format!(
            "has the time {:?}; write whole nanoseconds from {first} to {MAX_ARRIVAL_TIME}",
            shown(&text())
        )
    })
}

fn port_from(text: &str) -> Result<PortId, String> {
    match text {
        "a" => Ok(PortId::A),
        "b" => Ok(PortId::B),
        other => Err(format!("has the port {:?}; write a or b", shown(other))),
    }
}

/// The size that was written as `text`, if it is one.
fn size_from(size: Option<u32>, text: impl FnOnce() -> String) -> Result<u32, String> {
    size.filter(|size| SIZES.contains(size)).ok_or_else(|| {
        format!("has the size {:?}; write bytes from {} to {}", shown(&text()), SIZES.start(), SIZES.end())
    })
}

/// The arrivals of a table in memory, which errors call `name`: the time of each packet in nanoseconds, its port (`a` or `b`), and
/// the octets of its frame with the check sequence.
///
/// # Errors
/// The first row that [`read_arrivals`] would refuse, by its number from 0.
pub fn table_arrivals<'a>(
    name: &Path,
    rows: impl Iterator<Item = (Option<i64>, &'a str, Option<i64>)>,
) -> Result<Arrivals, EmulateError> {
    fn number(value: Option<i64>) -> String {
        value.map_or_else(|| "null".to_owned(), |value| value.to_string())
    }
    let arrival = |(time, port, size): (Option<i64>, &str, Option<i64>)| -> Result<Arrival, String> {
        let at = time_from(0, time, || number(time))?;
        let port = port_from(port)?;
        let octets = size_from(size.and_then(|size| u32::try_from(size).ok()), || number(size))?;
        Ok(Arrival::new(at, port, octets))
    };
    let packets = rows.zip(0_u64..).map(|(row, number)| {
        arrival(row).map_err(|why| EmulateError::Content {
            what: "the arrivals",
            path: name.into(),
            why: format!("row {number} {why}"),
        })
    });
    Ok(Arrivals::new(packets.collect::<Result<_, _>>()?, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Arrivals, String> {
        read_arrivals(Path::new("in.csv"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn arrivals_are_read_and_put_in_order_of_time() {
        let arrivals = read("time_ns,port,size\r\n5,a,64\r\n\n# three\n3,b,1518\n5,b,64\n").unwrap();
        let times: Vec<_> = arrivals.packets.iter().map(|packet| (packet.time, packet.port)).collect();
        assert_eq!(times, [(3, PortId::B), (5, PortId::A), (5, PortId::B)]);
        assert_eq!(arrivals.out_of_order, 1);
        assert_eq!(read("").unwrap(), Arrivals::default());
        let returns = read("time_ns,port,size\r5,a,64\r\r# three\r3,b,1518\r5,b,64").unwrap();
        assert_eq!(returns, arrivals, "lines end with a carriage return, too");
    }

    #[test]
    fn samples_may_have_come_before_the_emulators_time_began() {
        let line = "0,0,a,64,-63829734,5000000,0,sent,5000000,0\n";
        let arrivals = read(&format!("{}\n{line}", departures::HEADER)).unwrap();
        assert_eq!(arrivals.packets.iter().map(|packet| packet.time).collect::<Vec<_>>(), [-63_829_734]);
        assert!(read(&format!("time_ns,port,size\n{},a,64\n", -1)).is_err(), "other arrivals begin at 0");
    }

    /// A table in memory gives the arrivals of the same table in a file, and names the first faulty row with the same words.
    #[test]
    fn tables_in_memory_are_arrivals() {
        let table = |rows: &[(Option<i64>, &'static str, Option<i64>)]| {
            table_arrivals(Path::new("arrivals"), rows.iter().copied()).map_err(|error| error.to_string())
        };
        let rows = [(Some(5), "a", Some(64)), (Some(3), "b", Some(1518)), (Some(5), "b", Some(64))];
        assert_eq!(table(&rows).unwrap(), read("5,a,64\n3,b,1518\n5,b,64\n").unwrap());
        for (row, words) in [
            ((Some(-1), "a", Some(64)), "row 1 has the time \"-1\"; write whole nanoseconds from 0"),
            ((None, "a", Some(64)), "the time \"null\""),
            ((Some(1), "c", Some(64)), "row 1 has the port \"c\"; write a or b"),
            ((Some(1), "a", Some(1 << 40)), "the size \"1099511627776\"; write bytes from 18"),
        ] {
            let error = table(&[rows[0], row]).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn lines_that_are_none_are_named() {
        for (text, words) in [
            ("1,a\n", "line 1 is \"1,a\""),
            ("1,a,64,9\n", "write time_ns,port,size"),
            ("1,a,64\n-1,a,64\n", "line 2 has the time"),
            ("1.5,a,64\n", "whole nanoseconds"),
            ("4611686018427387904,a,64\n4611686018427387905,a,64\n", "line 2 has the time"),
            ("9223372036854775807,a,64\n", "from 0 to 4611686018427387904"),
            ("18446744073709551615,a,64\n", "from 0 to 4611686018427387904"),
            ("1,c,64\n", "write a or b"),
            ("1,a,0\n", "from 18"),
            ("99999999999999999999,a,64\n", "the time"),
            (&"9".repeat(5_000_000), "longer than"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words) && error.contains("in.csv"), "{error}");
        }
        assert!(
            read_arrivals(Path::new("x"), &b"\xff\xfe1\n"[..]).unwrap_err().to_string().contains("UTF-8")
        );
    }
}
