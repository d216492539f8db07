//! Packet logs that other programs wrote, or romer exported, as measurement documents.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use romer_exchange::csv::{Fault, Reader, Row, Shape};
use romer_record::RoundTrip;
use romer_record::document::{Measurement, Metadata, StampPlaces, Traffic};
use romer_record::manifest::{ClockRelation, StampRequest, Stream};
use romer_timebase::offset_bounds;
use romer_units::{Clock, Duration, Timestamp};
use thiserror::Error;

use crate::SOFTWARE;
use crate::evaluate::{Evaluated, evaluate};
use crate::limits::Limit;

/// Octets that are read at a time.
const BUFFER: usize = 256 << 10;
/// Times that are taken for the time of day: from 2001 to 2096, in nanoseconds since 1970. Others are from an origin
/// that the file does not tell.
const TIME_OF_DAY: std::ops::Range<i64> = 1_000_000_000_000_000_000..4_000_000_000_000_000_000;

/// What is to be analysed, and how.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// A packet log of the form of [`romer_exchange::csv`].
    pub file: PathBuf,
    /// The packets of the other direction, where both logs go one way.
    pub reverse: Option<PathBuf>,
    /// How long a packet is waited for: what took longer is late, and counts as lost.
    pub waiting_time: Duration,
    /// Limits that the results are held against.
    pub limits: Vec<Limit>,
    /// The command that repeats this.
    pub command: String,
}

/// Why a file could not be analysed. The text has the form `WHAT (WHERE): WHY; what to do`.
#[derive(Debug, Error)]
pub enum AnalysisError {
    /// It cannot be read.
    #[error("cannot read the packet log ({path}): {source}; name a file that can be read", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It holds what no packet log holds.
    #[error("bad packet log ({path}:{line}): {why}", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong, and what to do.
        why: String,
    },
}

impl AnalysisError {
    /// The exit code of its class (3 bad data, 4 environment).
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Io { .. } => 4,
            Self::Line { .. } => 3,
        }
    }
}

/// Reads a packet log and computes its measurement document: the same figures as of a run, so far as the stamps alone
/// give them.
///
/// # Errors
/// [`AnalysisError`] where the file cannot be read, is not in the format, or holds no packet.
pub fn analyze(analysis: &Analysis) -> Result<Evaluated, AnalysisError> {
    let mut evaluated = one(analysis, &analysis.file)?;
    if let Some(reverse) = &analysis.reverse {
        for file in [&analysis.file, reverse] {
            if Table::shape(file)? == Shape::FourStamps {
                let why = "its packets are reflected, and it has both directions; analyse it alone, without --reverse";
                return Err(AnalysisError::Line { path: file.clone(), line: 1, why: why.into() });
            }
        }
        add_reverse(&mut evaluated, one(analysis, reverse)?);
    }
    let m = &mut evaluated.measurement;
    m.limits = Limit::judge_all(&analysis.limits, m);
    Ok(evaluated)
}

/// Takes what the other file says of its one way for the way back.
fn add_reverse(evaluated: &mut Evaluated, back: Evaluated) {
    let (m, other) = (&mut evaluated.measurement, back.measurement);
    m.reverse = other.forward;
    m.location_error_ns.responder.departure = other.location_error_ns.sender.departure;
    m.location_error_ns.sender.arrival = other.location_error_ns.responder.arrival;
    m.stamps.missing.responder_departure = other.stamps.missing.sender_departure;
    m.stamps.missing.sender_arrival = other.stamps.missing.responder_arrival;
    for warning in other.warnings {
        if !m.warnings.contains(&warning) {
            m.warnings.push(warning);
        }
    }
    evaluated.related.reverse = back.related.forward;
    m.clock.offset_bounds_ns = offset_bounds(&evaluated.related.forward, &evaluated.related.reverse);
}

/// The document of one file alone.
fn one(analysis: &Analysis, file: &Path) -> Result<Evaluated, AnalysisError> {
    let table = Table::read(file)?;
    let shape = table.shape;
    let stream = stream(analysis, file, &table);
    let mut evaluated = evaluate(&stream, &table.rows, false);
    let m = &mut evaluated.measurement;
    m.source = Some(m.target.clone());
    if shape == Shape::OneWay {
        (m.reverse, m.round_trip) = Default::default();
    }
    m.stamps = places(shape, m);
    m.warnings.extend(gaps(&table.rows));
    Ok(evaluated)
}

/// A packet log in memory.
struct Table {
    shape: Shape,
    /// In order of sequence and copy.
    rows: Vec<RoundTrip>,
    far_log: Far,
}

/// What is there of the far end's own log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Far {
    None,
    Partial,
    Complete,
}

impl Table {
    fn open(path: &Path) -> Result<Reader<BufReader<File>>, AnalysisError> {
        let file = File::open(path).map_err(|source| AnalysisError::Io { path: path.into(), source })?;
        Reader::new(BufReader::with_capacity(BUFFER, file)).map_err(|fault| faulty(path, fault))
    }

    fn shape(path: &Path) -> Result<Shape, AnalysisError> {
        Self::open(path).map(|reader| reader.shape())
    }

    fn read(path: &Path) -> Result<Self, AnalysisError> {
        let reader = Self::open(path)?;
        let shape = reader.shape();
        let mut lines = reader.collect::<Result<Vec<Row>, _>>().map_err(|fault| faulty(path, fault))?;
        if lines.is_empty() {
            let why =
                "no packet follows the header line, so that there is nothing to analyse; see who wrote it";
            return Err(AnalysisError::Line { path: path.into(), line: 1, why: why.into() });
        }
        lines.sort_by_key(|line| line.sequence);
        let far_log = far_log(shape, &lines);
        let rows = lines.chunk_by(|a, b| a.sequence == b.sequence).flat_map(|lines| rows(lines, far_log));
        Ok(Self { shape, rows: rows.collect(), far_log })
    }
}

fn faulty(path: &Path, fault: Fault) -> AnalysisError {
    match fault {
        Fault::Io(source) => AnalysisError::Io { path: path.into(), source },
        Fault::Line { line, why } => AnalysisError::Line { path: path.into(), line, why },
    }
}

/// A romer whose far end keeps no log exports none of the far program's stamps.
fn far_log(shape: Shape, lines: &[Row]) -> Far {
    let far_user = |line: &Row| line.user[1].is_some() || line.user[2].is_some();
    let near_user = lines.iter().any(|line| line.user[0].is_some() || line.user[3].is_some());
    if shape == Shape::OneWay || !near_user {
        return Far::Complete;
    }
    if !lines.iter().any(far_user) {
        return Far::None;
    }
    let returned = |line: &Row| line.stamps[3].is_some() || line.user[3].is_some();
    if lines.iter().any(|line| returned(line) && !far_user(line)) { Far::Partial } else { Far::Complete }
}

/// The rows of one packet: one for each copy that went further than the others of no trace.
fn rows(lines: &[Row], far_log: Far) -> Vec<RoundTrip> {
    let traced = |line: &&Row| (1..4).any(|place| line.stamps[place].is_some() || line.user[place].is_some());
    let mut kept: Vec<&Row> = lines.iter().filter(traced).collect();
    if kept.is_empty() {
        kept.extend(lines.first());
    }
    let mut arrivals = Vec::new();
    kept.into_iter().zip(0..).map(|(line, copy)| row(line, copy, &mut arrivals, far_log)).collect()
}

/// An arrival at the far end, by its stamps.
type Arrival = (Option<i64>, Option<i64>);

fn row(line: &Row, copy: u32, arrivals: &mut Vec<Arrival>, far_log: Far) -> RoundTrip {
    let arrival = (line.stamps[1], line.user[1]);
    let known = arrivals.iter().position(|known| *known == arrival);
    let forward_copy = known.unwrap_or_else(|| {
        arrivals.push(arrival);
        arrivals.len() - 1
    });
    let there = [1, 2].iter().any(|place| line.stamps[*place].is_some() || line.user[*place].is_some());
    let mut row = RoundTrip {
        sequence: line.sequence,
        copy,
        forward_copy: u32::try_from(forward_copy).unwrap_or(u32::MAX),
        size: line.size,
        seen_by_responder: there && far_log != Far::None,
        returned: line.stamps[3].is_some() || line.user[3].is_some(),
        ..RoundTrip::default()
    };
    row.t1.kernel = time(line.stamps[0]);
    row.t4.kernel = time(line.stamps[3]);
    // Without a log there the far end's stamps are what its packets told.
    let (t2, t3) = (time(line.stamps[1]), time(line.stamps[2]));
    if far_log == Far::None {
        (row.t2.told, row.t3.told) = (t2, t3);
    } else {
        (row.t2.kernel, row.t3.kernel) = (t2, t3);
    }
    row.t1.user = time(line.user[0]);
    row.t2.user = time(line.user[1]);
    row.t3.user = time(line.user[2]);
    row.t4.user = time(line.user[3]);
    row
}

fn time<C: Clock>(nanos: Option<i64>) -> Option<Timestamp<C>> {
    nanos.map(Timestamp::from_nanos)
}

/// What a manifest would say of the stream, so far as the file tells.
fn stream(analysis: &Analysis, file: &Path, table: &Table) -> Stream {
    let sent = || table.rows.iter().filter(|row| row.copy == 0);
    let departures = || sent().filter_map(|row| row.t1.kernel.or(row.t1.user)).map(Timestamp::as_nanos);
    let started = departures().min().filter(|first| TIME_OF_DAY.contains(first)).map(time_of_day);
    Stream {
        target: file.to_string_lossy().into_owned(),
        started: started.unwrap_or_default(),
        ended: None,
        traffic: traffic(analysis, file, table, departures()),
        metadata: Metadata {
            command: analysis.command.clone(),
            software: SOFTWARE.into(),
            ..Metadata::default()
        },
        clock_relation: ClockRelation::Unknown,
        far_log: table.far_log != Far::None,
        far_log_complete: table.far_log == Far::Complete,
        cut_short: None,
        unreachable: None,
        stamp_request: StampRequest::Kernel,
        limits: Vec::new(),
        calibration: None,
        events: Vec::new(),
    }
}

fn traffic(
    analysis: &Analysis,
    file: &Path,
    table: &Table,
    departures: impl Iterator<Item = i64>,
) -> Traffic {
    let sizes = || table.rows.iter().filter(|row| row.copy == 0).map(|row| row.size);
    let count = u64::try_from(sizes().count()).unwrap_or(u64::MAX);
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let octets: u64 = sizes().map(u64::from).sum();
    let (mut number, mut first, mut last) = (0i64, i64::MAX, i64::MIN);
    for departure in departures {
        number += 1;
        (first, last) = (first.min(departure), last.max(departure));
    }
    let varying = |octets| (least < most).then_some(octets);
    Traffic {
        model: format!("trace:{}", file.to_string_lossy()),
        interval_ns: if number > 1 { last.saturating_sub(first) / (number - 1) } else { 0 },
        payload_octets: u32::try_from((octets + count / 2) / count.max(1)).unwrap_or(u32::MAX),
        payload_octets_min: varying(least),
        payload_octets_max: varying(most),
        count: Some(count),
        waiting_time_ns: analysis.waiting_time.as_nanos(),
        protocol: "as recorded in a file".into(),
        ..Traffic::default()
    }
}

fn time_of_day(nanos: i64) -> String {
    let since = std::time::Duration::from_nanos(nanos.unsigned_abs());
    humantime::format_rfc3339_nanos(std::time::UNIX_EPOCH + since).to_string()
}

/// Where the stamps were taken: a file does not tell.
fn places(shape: Shape, m: &Measurement) -> StampPlaces {
    let delays = match shape {
        Shape::OneWay => "received_ns minus sent_ns",
        Shape::FourStamps => {
            "forward: t2 minus t1; reverse: t4 minus t3; round trip: (t4-t1)-(t3-t2), without the responder's own time"
        }
    };
    StampPlaces {
        delay_definition: format!("{delays}; where they were taken, the file does not tell"),
        missing: m.stamps.missing.clone(),
        ..StampPlaces::default()
    }
}

/// That numbers are left out, if any are: who wrote the file may have left out lost packets.
fn gaps(rows: &[RoundTrip]) -> Option<String> {
    let (first, last) = (rows.first()?.sequence, rows.last()?.sequence);
    let there = rows.chunk_by(|a, b| a.sequence == b.sequence).count();
    let missing = (last - first).saturating_sub(u64::try_from(there).unwrap_or(u64::MAX).saturating_sub(1));
    (missing > 0).then(|| {
        format!(
            "{missing} sequence numbers between the first and the last are not in the file: they count neither as sent \
             nor as lost (a lost packet has a line with an empty field)"
        )
    })
}
