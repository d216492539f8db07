//! The form of departures, the same live and in virtual time: a line for each packet and copy.

use std::io::{self, BufRead, Write};
use std::path::Path;

use romer_impair::{Cause, Nanos};
use romer_record::emulation::EmulatedPacket;

use crate::error::EmulateError;

/// The first line.
pub const HEADER: &str =
    "ordinal,copy,port,size,arrival_ns,departure_ns,departure_rank,fate,requested_delay_ns,displacement";

/// A packet or a copy, and its fate.
#[derive(Clone, Copy, Debug)]
pub struct DepartureLine {
    /// Number of the packet among those of its port, from 0.
    pub ordinal: u64,
    /// 0 for the packet, 1, 2, ... for its copies.
    pub copy: u8,
    /// The port of its arrival, `a` or `b`.
    pub port: char,
    /// Octets of the frame with its check sequence.
    pub size: u32,
    /// When it arrived, nanoseconds.
    pub arrival: Nanos,
    /// When it left, nanoseconds, and its place in the order of departures, from 0; `None` if it was lost.
    pub departure: Option<(Nanos, u64)>,
    /// Why it was lost; `None` if it left.
    pub lost: Option<Cause>,
    /// The delay that the scenario requests for it, nanoseconds; `None` if it was lost before.
    pub requested: Option<Nanos>,
    /// Packets that the stage of reordering lets overtake it.
    pub displacement: u32,
}

/// Where departures go, in order of arrival.
pub trait DepartureSink {
    /// Takes the next packet or copy.
    ///
    /// # Errors
    /// Of the output.
    fn put(&mut self, line: &DepartureLine) -> io::Result<()>;
}

/// Departures as lines of text, below their [`HEADER`].
pub(crate) struct TextSink<'w, W: ?Sized>(&'w mut W);

impl<'w, W: Write + ?Sized> TextSink<'w, W> {
    /// Writes the first line.
    pub(crate) fn new(out: &'w mut W) -> io::Result<Self> {
        writeln!(out, "{HEADER}")?;
        Ok(Self(out))
    }
}

impl<W: Write + ?Sized> DepartureSink for TextSink<'_, W> {
    fn put(&mut self, line: &DepartureLine) -> io::Result<()> {
        line.write(self.0)?;
        self.0.write_all(b"\n")
    }
}

impl DepartureLine {
    /// Without the end of the line.
    pub(crate) fn write(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let Self { ordinal, copy, port, size, arrival, .. } = self;
        write!(out, "{ordinal},{copy},{port},{size},{arrival},")?;
        match self.departure {
            Some((departure, rank)) => write!(out, "{departure},{rank},")?,
            None => out.write_all(b",,")?,
        }
        match self.lost {
            None => out.write_all(b"sent,")?,
            Some(cause) => write!(out, "lost:{},", cause.name())?,
        }
        if let Some(requested) = self.requested {
            write!(out, "{requested}")?;
        }
        write!(out, ",{}", self.displacement)
    }
}

/// Departures that were read: of what arrived at a, and at b.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Departures {
    /// In order of arrival.
    pub packets: [Vec<EmulatedPacket>; 2],
    /// Lines that were left out, because there were more of their port than were asked for.
    pub left_out: u64,
}

/// Reads departures, at most so many of each port.
///
/// # Errors
/// The file cannot be read, or the first line that is none.
pub fn read_departures(path: &Path, reader: impl BufRead, most: usize) -> Result<Departures, EmulateError> {
    let mut departures = Departures::default();
    for (number, line) in (1_u64..).zip(reader.lines()) {
        let line =
            line.map_err(|source| EmulateError::File { action: "reading", path: path.into(), source })?;
        if number == 1 && line == HEADER {
            continue;
        }
        let (port, packet) = read_line(&line).ok_or_else(|| EmulateError::Content {
            what: "the samples",
            path: path.into(),
            why: format!("line {number} is not {HEADER}; write them with romer emulate"),
        })?;
        if departures.packets[port].len() < most {
            departures.packets[port].push(packet);
        } else {
            departures.left_out += 1;
        }
    }
    Ok(departures)
}

/// A line's port (0 for a) and packet.
fn read_line(line: &str) -> Option<(usize, EmulatedPacket)> {
    let fields: Vec<&str> = line.split(',').collect();
    let [ordinal, copy, port, _, arrival, departure, _, fate, requested, _] = fields.as_slice() else {
        return None;
    };
    let port = match *port {
        "a" => 0,
        "b" => 1,
        _ => return None,
    };
    let maybe = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
    let packet = EmulatedPacket {
        ordinal: ordinal.parse().ok()?,
        copy: copy.parse().ok()?,
        arrival_ns: arrival.parse().ok()?,
        departure_ns: maybe(departure)?,
        requested_delay_ns: maybe(requested)?,
        is_lost: *fate != "sent",
    };
    Some((port, packet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let line = DepartureLine {
            ordinal: 7,
            copy: 1,
            port: 'b',
            size: 64,
            arrival: 5,
            departure: Some((9, 3)),
            lost: None,
            requested: Some(4),
            displacement: 0,
        };
        let lost =
            DepartureLine { port: 'a', departure: None, lost: Some(Cause::Model), requested: None, ..line };
        let mut text = format!("{HEADER}\n").into_bytes();
        for line in [line, lost, lost] {
            line.write(&mut text).unwrap();
            text.push(b'\n');
        }
        let read = read_departures(Path::new("s.csv"), text.as_slice(), 1).unwrap();
        assert_eq!(read.left_out, 1);
        let packet = EmulatedPacket {
            ordinal: 7,
            copy: 1,
            arrival_ns: 5,
            departure_ns: Some(9),
            requested_delay_ns: Some(4),
            is_lost: false,
        };
        assert_eq!(read.packets[1], [packet]);
        let lost = EmulatedPacket { departure_ns: None, requested_delay_ns: None, is_lost: true, ..packet };
        assert_eq!(read.packets[0], [lost]);
        let error = read_departures(Path::new("s.csv"), &b"1,2,3\n"[..], 9).unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("s.csv"), "{error}");
    }
}
