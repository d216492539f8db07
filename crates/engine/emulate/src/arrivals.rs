//! Recorded arrivals: `time_ns,port,size`, a packet a line, port a or b, size with the check sequence; or an emulator's
//! samples, of which the copies are left out; or a capture, whose first interface is port a and whose second is port b.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::path::Path;

use romer_exchange::capture::{self, Fault, Record};
use romer_impair::{Headers, Nanos, Port};

use crate::departures;
use crate::error::EmulateError;
use crate::headers::headers;

/// One packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When, nanoseconds.
    pub time: Nanos,
    /// Where.
    pub port: Port,
    /// Octets of the frame with its check sequence.
    pub size: u32,
    /// Which of [`Arrivals::headers`] are its own.
    pub headers: usize,
}

/// Recorded arrivals, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Ascending in time; of one moment, as they stood in the file.
    pub packets: Vec<Arrival>,
    /// How many stood after a later one.
    pub out_of_order: u64,
    /// What flows are told apart by, each once; those of a table are not known.
    pub headers: Vec<Headers>,
    /// Packets of a capture of which nothing was taken: without a time, or not whole at the file's end.
    pub left_out: u64,
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
const SIZES: std::ops::RangeInclusive<u32> = 18..=65_575;
/// The longest line that is looked at.
const LONGEST_LINE: usize = 256;
const FORM: &str = "time_ns,port,size";

/// Reads arrivals. A first line with the columns' names, empty lines and comments (`#`) are passed over.
///
/// # Errors
/// The first line that is wrong.
pub fn read_arrivals(path: &Path, mut reader: impl BufRead) -> Result<Arrivals, EmulateError> {
    let content = |why: String| EmulateError::Content { what: "the arrivals", path: path.into(), why };
    let mut packets = Vec::new();
    let (mut number, mut line) = (0_u64, Vec::new());
    let mut read_line: fn(&str) -> Result<Option<Arrival>, String> = |text| arrival(text).map(Some);
    loop {
        line.clear();
        let read = reader.by_ref().take_line(&mut line);
        if read.map_err(|source| EmulateError::File { action: "reading", path: path.into(), source })? == 0 {
            break;
        }
        number += 1;
        if line.len() > LONGEST_LINE {
            return Err(content(format!("line {number} is longer than {LONGEST_LINE} octets; write {FORM}")));
        }
        let text = std::str::from_utf8(&line)
            .map_err(|_| content(format!("line {number} is not UTF-8; save the file as UTF-8")))?;
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
    arrival(&format!("{time},{port},{size}")).map(Some)
}

/// Reads the arrivals of a capture, pcap or pcapng: of each packet the time, the length that it had, and the headers by
/// which flows are told apart.
///
/// # Errors
/// The first packet that is none, is no Ethernet frame, or came by a third interface.
pub fn read_capture(path: &Path, reader: impl Read + Send) -> Result<Arrivals, EmulateError> {
    let (mut packets, mut known, mut all) = (Vec::new(), HashMap::new(), Vec::new());
    let walked = capture::walk(reader, |record| {
        let headers = headers(record.octets);
        let number = *known.entry(headers).or_insert_with(|| {
            all.push(headers);
            all.len() - 1
        });
        packets.push(captured(record, number)?);
        Ok(())
    });
    let walked = walked.map_err(|Fault::Record { record, why }| EmulateError::Content {
        what: "the arrivals",
        path: path.into(),
        why: format!("packet {record}: {why}"),
    })?;
    let mut arrivals = Arrivals::new(packets, all);
    arrivals.left_out = walked.timeless + u64::from(walked.truncated);
    Ok(arrivals)
}

fn captured(record: &Record<'_>, headers: usize) -> Result<Arrival, String> {
    /// Octets of the check sequence, which captures do not have, and of the shortest frame with it.
    const CHECK_SEQUENCE: u32 = 4;
    const SHORTEST: u32 = 64;
    if !record.is_ethernet {
        return Err("it is no Ethernet frame; capture on an interface, not on \"any\"".into());
    }
    let port = match record.interface {
        0 => Port::A,
        1 => Port::B,
        number => {
            return Err(format!(
                "it came by interface {number}; there are two ports, so name a capture of interfaces 0 and 1"
            ));
        }
    };
    let size = record.whole.saturating_add(CHECK_SEQUENCE).max(SHORTEST);
    if !SIZES.contains(&size) {
        return Err(format!(
            "it has {} octets; a frame has up to {}",
            record.whole,
            SIZES.end() - CHECK_SEQUENCE
        ));
    }
    let time = record.at_ns;
    if time < 0 {
        return Err("its time is before 1970; is the file damaged?".into());
    }
    Ok(Arrival { time, port, size, headers })
}

/// Reading a line of bounded length.
trait TakeLine {
    fn take_line(&mut self, line: &mut Vec<u8>) -> std::io::Result<usize>;
}

impl<R: BufRead> TakeLine for R {
    fn take_line(&mut self, line: &mut Vec<u8>) -> std::io::Result<usize> {
        Read::take(self, LONGEST_LINE as u64 + 2).read_until(b'\n', line)
    }
}

fn arrival(text: &str) -> Result<Arrival, String> {
    let shown = || -> String { text.chars().filter(|c| !c.is_control()).take(60).collect() };
    let mut parts = text.split(',').map(str::trim);
    let (Some(time), Some(port), Some(size), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(format!("is {:?}; write {FORM}, such as 1000,a,64", shown()));
    };
    let time = time
        .parse::<Nanos>()
        .ok()
        .filter(|time| *time >= 0)
        .ok_or_else(|| format!("has the time {time:?}; write whole nanoseconds from 0"))?;
    let port = match port {
        "a" => Port::A,
        "b" => Port::B,
        other => return Err(format!("has the port {other:?}; write a or b")),
    };
    let size = size.parse::<u32>().ok().filter(|size| SIZES.contains(size)).ok_or_else(|| {
        format!("has the size {size:?}; write octets from {} to {}", SIZES.start(), SIZES.end())
    })?;
    Ok(Arrival { time, port, size, headers: 0 })
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
        assert_eq!(times, [(3, Port::B), (5, Port::A), (5, Port::B)]);
        assert_eq!(arrivals.out_of_order, 1);
        assert_eq!(read("").unwrap(), Arrivals::default());
    }

    #[test]
    fn a_capture_gives_times_lengths_ports_and_headers() {
        use romer_wire::pcapng;
        let mut file = Vec::new();
        pcapng::section(&mut file, "test");
        for name in ["a", "b", "c"] {
            pcapng::interface(&mut file, pcapng::ETHERNET, name);
        }
        let mut tagged = vec![2; 12];
        tagged.extend([0x81, 0, 0, 9, 0x88, 0xb5]);
        tagged.resize(100, 0);
        pcapng::packet(&mut file, 1, 2_000, &tagged, &[]);
        pcapng::packet(&mut file, 0, 1_000, &[2; 40], &[]);
        pcapng::packet(&mut file, 1, 3_000, &tagged, &[]);
        let whole = file.len();
        let read = |octets: &[u8]| {
            let octets = octets.to_vec();
            read_capture(Path::new("c.pcapng"), std::io::Cursor::new(octets))
                .map_err(|error| error.to_string())
        };
        let arrivals = read(&file).unwrap();
        let found: Vec<_> = arrivals.packets.iter().map(|one| (one.time, one.port, one.size)).collect();
        assert_eq!(found, [(1_000, Port::A, 64), (2_000, Port::B, 104), (3_000, Port::B, 104)]);
        assert_eq!((arrivals.out_of_order, arrivals.headers.len()), (1, 2));
        let vlans: Vec<_> = arrivals.packets.iter().map(|one| arrivals.headers_of(one).vlan).collect();
        assert_eq!(vlans, [None, Some(9), Some(9)]);
        let cut = read(&file[..whole - 3]).unwrap();
        assert_eq!((cut.packets.len(), cut.left_out), (2, 1));
        pcapng::packet(&mut file, 2, 4_000, &tagged, &[]);
        let error = read(&file).unwrap_err();
        assert!(
            error.contains("c.pcapng") && error.contains("packet 4") && error.contains("interface 2"),
            "{error}"
        );
        assert!(read(b"time_ns,port,size\n").unwrap_err().contains("neither pcap nor pcapng"));
    }

    #[test]
    fn lines_that_are_none_are_named() {
        for (text, words) in [
            ("1,a\n", "line 1 is \"1,a\""),
            ("1,a,64,9\n", "write time_ns,port,size"),
            ("1,a,64\n-1,a,64\n", "line 2 has the time"),
            ("1.5,a,64\n", "whole nanoseconds"),
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
