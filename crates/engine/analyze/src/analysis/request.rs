//! What is to be analysed, and how.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use romer_exchange::capture::Flow;
use romer_record::manifest::SkewRequest;
use romer_record::voice::VoiceRequest;
use romer_units::Duration;
use thiserror::Error;

use crate::WAITING_TIME;
use crate::limits::Limit;

/// What is to be analysed, and how.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// A packet log: the output of ping ([`romer_exchange::ping`]), recognised by its content; or a table in CSV
    /// ([`romer_exchange::csv`]), the `.raw` or `.log` of Qtcp ([`romer_exchange::qtcp`]), or a `.json` of irtt
    /// ([`romer_exchange::irtt`]), recognised by the name. Each may be compressed by gzip. With `capture_b`, a capture.
    pub file: PathBuf,
    /// The text of the packet log, a table in CSV, if it is in no file; `file` is its name in documents and errors then.
    pub content: Option<Arc<[u8]>>,
    /// The capture of the same stream at the far end, where `file` is the near one.
    pub capture_b: Option<PathBuf>,
    /// Which of the captures' flows, where they have several; none: the one with the most packets there and back.
    pub flow: Option<FlowChoice>,
    /// The packets of the other direction, where both logs go one way.
    pub reverse: Option<PathBuf>,
    /// Take packets of a `.raw` that are too small for Qtcp ([`romer_exchange::qtcp::TOO_SMALL`]): others write such files too.
    pub any_size: bool,
    /// The unit of the stamps of a `.raw` or `.log`, nanoseconds; `None`: the 100 that they are in.
    pub unit_ns: Option<i64>,
    /// All stamps are of one clock, so that one-way delays are absolute.
    pub one_clock: bool,
    /// How long a packet is waited for: what took longer is late, and counts as lost.
    pub waiting_time: Duration,
    /// How the clocks are related.
    pub skew: SkewRequest,
    /// What is stated of the telephone call that the stream is.
    pub voice: VoiceRequest,
    /// Limits that the results are held against.
    pub limits: Vec<Limit>,
    /// The command that repeats this.
    pub command: String,
}

impl Analysis {
    /// Of one file, with nothing stated but the command that repeats it.
    pub fn new(file: &Path, command: String) -> Self {
        Self {
            file: file.into(),
            content: None,
            capture_b: None,
            flow: None,
            reverse: None,
            any_size: true,
            unit_ns: None,
            one_clock: false,
            waiting_time: WAITING_TIME,
            skew: SkewRequest::default(),
            voice: VoiceRequest::default(),
            limits: Vec::new(),
            command,
        }
    }
}

/// A text that names no flow.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{text:?} is no flow; write its number among those that are listed, or its ends as ADDRESS:PORT-ADDRESS:PORT, such as \
     192.0.2.1:5000-198.51.100.2:862 or [2001:db8::1]:5000-[2001:db8::2]:862"
)]
pub struct UnknownFlow {
    text: String,
}

/// Which of several flows in two captures is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// By its place among those that are listed, from 1: the one with the most packets there and back first.
    Number(usize),
    /// By its two ends, in either order, as the capture that is named first has them.
    Ends(Flow),
}

impl FromStr for FlowChoice {
    type Err = UnknownFlow;

    fn from_str(text: &str) -> Result<Self, UnknownFlow> {
        let why = || UnknownFlow { text: romer_units::excerpt(text, 100) };
        if let Ok(number) = text.parse::<usize>() {
            return if number > 0 { Ok(Self::Number(number)) } else { Err(why()) };
        }
        let end = |text: &str| {
            let address: SocketAddr = text.parse().ok()?;
            Some((address.ip(), address.port()))
        };
        let ends = text.split_once('-').and_then(|(one, other)| end(one).zip(end(other)));
        ends.map(|(source, destination)| Self::Ends(Flow { source, destination })).ok_or_else(why)
    }
}

impl fmt::Display for FlowChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Ends(flow) => {
                let (one, other) = (SocketAddr::from(flow.source), SocketAddr::from(flow.destination));
                write!(f, "{one}-{other}")
            }
        }
    }
}
