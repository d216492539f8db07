//! What a measured run is taken away as: the files that others read.

use std::path::Path;

use romer_analyze::{export, qtcp};
use romer_exchange::qtcp::Selection;
use romer_record::RoundTrip;
use romer_record::document::ProbeDirection;
use romer_record::manifest::Stream;
use romer_record::warning::QtcpNote;
use romer_store::{Run, Runs, State, untrusted};

use super::stored_runs::FRAMES_FILE;
use super::{measurement_folder, read};
use crate::problem::Problem;

/// Which packets of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Which {
    /// The stream, from 0.
    pub(crate) stream: u16,
    /// The direction; `None`: that of the stream, or the one that goes there.
    pub(crate) way: Option<ProbeDirection>,
}

/// The files of Qtcp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Qtcp {
    /// Packets as they were received.
    Raw,
    /// Normalised, without skew.
    Log,
    /// Figures.
    Sta,
}

struct Packets<'r> {
    evaluated: &'r romer_analyze::evaluate::Evaluated,
    of: &'r Stream,
    rows: Vec<RoundTrip>,
}

fn chosen(reading: &romer_analyze::reading::RunContents, stream: u16) -> Result<Packets<'_>, Problem> {
    let place = usize::from(stream);
    let (Some(evaluated), Some(of)) = (reading.streams.get(place), reading.run.manifest().streams.get(place))
    else {
        let detail = format!("the run has {} streams, counted from 0", reading.streams.len());
        return Err(Problem::not_found(detail));
    };
    let mut rows = reading.rows()?;
    let rows = rows.remove(&stream).unwrap_or_default();
    Ok(Packets { evaluated, of, rows })
}

/// The packets of a stream, as a table that others can read. Its last column says what became of each: so it has those that
/// were in flight at the end as well.
pub(crate) fn packets(runs: &Runs, name: &str, which: Which) -> Result<Vec<u8>, Problem> {
    let reading = read(runs, name)?;
    let Packets { evaluated, of, rows } = chosen(&reading, which.stream)?;
    let way = match (of.traffic.direction, which.way) {
        (ProbeDirection::Both, Some(way @ (ProbeDirection::Forward | ProbeDirection::Reverse))) => way,
        (ProbeDirection::Both, _) => ProbeDirection::Forward,
        (went, _) => went,
    };
    let mut table = Vec::new();
    export::csv(&mut table, of, evaluated, &rows, way, true)
        .map_err(|error| Problem::unprocessable("packets", error.to_string()))?;
    Ok(table)
}

/// A file of Qtcp, of the packets that went one way.
pub(crate) fn qtcp(runs: &Runs, name: &str, which: Which, file: Qtcp) -> Result<Vec<u8>, Problem> {
    let reading = read(runs, name)?;
    let Packets { evaluated, of, rows } = chosen(&reading, which.stream)?;
    let way = match (of.traffic.direction, which.way) {
        (ProbeDirection::RoundTrip | ProbeDirection::Both, Some(ProbeDirection::Reverse))
        | (ProbeDirection::Reverse, _) => ProbeDirection::Reverse,
        _ => ProbeDirection::Forward,
    };
    let (raw, missing) = qtcp::entries(evaluated, &rows, way, false);
    let mut log = raw.clone();
    let outcome =
        qtcp::to_log(&mut log, qtcp::method(2), 0, true).unwrap_or_else(|refusal| qtcp::SkewOutcome {
            notes: vec![QtcpNote::SkewNotRemoved { error: refusal.to_string() }],
            ..qtcp::SkewOutcome::default()
        });
    let entries = match file {
        Qtcp::Raw => &raw,
        Qtcp::Log => &log,
        Qtcp::Sta => {
            let manifest = reading.run.manifest();
            let way = if way == ProbeDirection::Reverse { "reverse" } else { "forward" };
            let run = format!("{} {}/{}/{way}", manifest.name, manifest.created, which.stream);
            return Ok(qtcp::statistics(of, run, &raw, missing, &outcome).text(&log).into_bytes());
        }
    };
    let mut text = Vec::new();
    romer_exchange::qtcp::write(&mut text, entries, &[], Selection::default())
        .map_err(|error| Problem::unprocessable("packets", error.to_string()))?;
    Ok(text)
}

/// The document of a run, `romer/measurement/1`, or `romer/measurements/1` of several streams.
pub(crate) fn document(runs: &Runs, name: &str) -> Result<Vec<u8>, Problem> {
    let reading = read(runs, name)?;
    let all: Vec<_> = reading.streams.iter().map(|stream| stream.measurement.clone()).collect();
    let text = romer_store::document_of(&all);
    text.map(String::into_bytes).map_err(|error| Problem::unprocessable("document", error.to_string()))
}

/// The largest file that is given away as it is, octets: it passes through memory.
const MAX_FILE_OCTETS: u64 = 1 << 30;

/// The frames of a run, whatever it is, that keeps any.
pub(crate) fn frames(runs: &Runs, name: &str) -> Result<Vec<u8>, Problem> {
    let file = super::path(runs, name)?.join(FRAMES_FILE);
    untrusted::read(&file, MAX_FILE_OCTETS).map_err(|error| {
        let detail = format!(
            "the run has no frames that can be read ({FRAMES_FILE}): {error}; an emulation keeps them with --out DIR \
             --pcapng DIR/{FRAMES_FILE}"
        );
        Problem::not_found(detail)
    })
}

/// The rows of a run as they are kept, a Parquet file.
pub(crate) fn parquet(runs: &Runs, name: &str) -> Result<Vec<u8>, Problem> {
    let folder = measurement_folder(runs, name)?;
    if Run::open(&folder)?.state() == State::Killed {
        // It is completed by being read.
        read(runs, name)?;
    }
    let file = Path::new("packets.parquet");
    untrusted::read(&folder.join(file), MAX_FILE_OCTETS).map_err(|error| {
        let detail = format!(
            "the packets of the run cannot be read ({}): {error}; a run has them when it has ended",
            file.display()
        );
        Problem::not_found(detail)
    })
}
