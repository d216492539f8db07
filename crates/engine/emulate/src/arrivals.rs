//! Recorded arrivals: `time_ns,port,size`, a packet a line, port a or b, size with the check sequence.

use std::io::BufRead;
use std::path::Path;

use romer_impair::{Nanos, Port};

use crate::error::EmulateError;

/// One packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When, nanoseconds.
    pub time: Nanos,
    /// Where.
    pub port: Port,
    /// Octets of the frame with its check sequence.
    pub size: u32,
}

/// Recorded arrivals, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Ascending in time; of one moment, as they stood in the file.
    pub packets: Vec<Arrival>,
    /// How many lines stood after a later one.
    pub out_of_order: u64,
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
    let mut arrivals = Arrivals::default();
    let (mut number, mut line) = (0_u64, Vec::new());
    let mut latest = Nanos::MIN;
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
        let arrival = arrival(text).map_err(|why| content(format!("line {number} {why}")))?;
        if arrival.time < latest {
            arrivals.out_of_order += 1;
        }
        latest = latest.max(arrival.time);
        arrivals.packets.push(arrival);
    }
    if arrivals.out_of_order > 0 {
        arrivals.packets.sort_by_key(|arrival| arrival.time);
    }
    Ok(arrivals)
}

/// Reading a line of bounded length.
trait TakeLine {
    fn take_line(&mut self, line: &mut Vec<u8>) -> std::io::Result<usize>;
}

impl<R: BufRead> TakeLine for R {
    fn take_line(&mut self, line: &mut Vec<u8>) -> std::io::Result<usize> {
        std::io::Read::take(self, LONGEST_LINE as u64 + 2).read_until(b'\n', line)
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
    Ok(Arrival { time, port, size })
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
