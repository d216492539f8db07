//! The form of departures, the same live and in virtual time: a line for each packet and copy.

use std::io::{self, Write};

use romer_impair::{Cause, Nanos};

/// The first line.
pub const HEADER: &str =
    "ordinal,copy,port,size,arrival_ns,departure_ns,departure_rank,fate,requested_delay_ns,displacement";

/// A packet or a copy, and what became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) ordinal: u64,
    pub(crate) copy: u8,
    pub(crate) port: char,
    pub(crate) size: u32,
    pub(crate) arrival: Nanos,
    pub(crate) departure: Option<(Nanos, u64)>,
    pub(crate) lost: Option<Cause>,
    pub(crate) requested: Option<Nanos>,
    pub(crate) displacement: u32,
}

impl Line {
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
        writeln!(out, ",{}", self.displacement)
    }
}
