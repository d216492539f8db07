//! Measurements to be compared: runs, packet logs, and documents without packets.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use romer_record::Exit;
use romer_record::comparison::Comparison;
use romer_record::document::{MEASUREMENT, Measurement, Measurements};
use romer_report::comparison::{self, Figure, Subject};
use romer_report::{Stream, escape};
use romer_store::{StoreError, untrusted};
use serde_json::Value;
use thiserror::Error;

use crate::analysis::{self, Analysis, AnalysisError};
use crate::evaluate::Evaluated;
use crate::reading;

/// The largest document that is read, octets.
const MAX_DOCUMENT_OCTETS: u64 = 256 << 20;

/// One stream of a measurement.
#[derive(Debug)]
pub enum Measured {
    /// With its packets.
    Whole(Box<Evaluated>),
    /// The document alone.
    Document(Box<Measurement>),
}

/// Why there is no measurement to compare. The text has the form `WHAT (WHERE): WHY; what to do`.
#[derive(Debug, Error)]
pub enum MeasuredError {
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The packet log cannot be read.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// The file cannot be read.
    #[error("cannot read the measurement ({}): {source}; name a readable run, document or packet log", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is a document of something else, or none.
    #[error("not a measurement ({}): {why}; name a document of {MEASUREMENT}", path.display())]
    NoMeasurement {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// It has several streams, and none is chosen.
    #[error(
        "missing option --stream-number N ({name}): it has {count} streams; choose one with --stream-number, counted from 0"
    )]
    SeveralStreams {
        /// The measurement as it was given.
        name: String,
        /// Its streams.
        count: usize,
    },
    /// It has fewer streams.
    #[error(
        "no such stream (--stream-number {number}): {} {}",
        escape::terminal(name),
        StreamNumbers::from(*count)
    )]
    NoStream {
        /// The chosen stream.
        number: usize,
        /// The measurement as it was given.
        name: String,
        /// Its streams.
        count: usize,
    },
    /// They measured different directions, or the metric that decides is known in none.
    #[error(
        "nothing to compare ({}, {}): the runs have no direction in common{}; compare measurements of the same directions",
        names[0],
        names[1],
        decided(*by)
    )]
    NothingInCommon {
        /// Both measurements as they were given.
        names: [String; 2],
        /// The metric that decides, if one is chosen.
        by: Option<Figure>,
    },
}

impl MeasuredError {
    /// The exit code of the program.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Store(error) => error.exit(),
            Self::Analysis(error) => error.exit(),
            Self::Unreadable { .. } => Exit::Environment,
            Self::NoMeasurement { .. } | Self::NothingInCommon { .. } => Exit::BadData,
            Self::SeveralStreams { .. } | Self::NoStream { .. } => Exit::Usage,
        }
    }

    fn reading(path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::NotFound {
            return Self::Store(StoreError::Missing { what: "run or file", path: path.to_path_buf() });
        }
        Self::Unreadable { path: path.to_path_buf(), source }
    }
}

/// The streams that there are, and their numbers.
#[derive(Clone, Copy, Debug, Error)]
enum StreamNumbers {
    #[error("has one stream, number 0; omit --stream-number")]
    One,
    #[error("has {0} streams; use 0 to {last}", last = .0.saturating_sub(1))]
    Several(usize),
}

impl From<usize> for StreamNumbers {
    fn from(count: usize) -> Self {
        if count == 1 { Self::One } else { Self::Several(count) }
    }
}

/// The metric that decides, as an option.
fn decided(by: Option<Figure>) -> String {
    by.map_or_else(String::new, |by| format!(" with --by {by}"))
}

/// Compares two measurements with their names. The metric `by` decides the verdict; without one all that differ clearly.
///
/// # Errors
/// [`MeasuredError::NothingInCommon`].
pub fn compare(
    a: (&str, &Measured),
    b: (&str, &Measured),
    by: Option<Figure>,
) -> Result<Comparison, MeasuredError> {
    let [first, second] = [a, b].map(|(name, measured)| Subject { name, stream: measured.for_report() });
    comparison::compare(&first, &second, by)
        .ok_or_else(|| MeasuredError::NothingInCommon { names: [a.0.to_owned(), b.0.to_owned()], by })
}

impl Measured {
    /// The streams of the run, packet log or document at `path`. `command` repeats the analysis of a packet log.
    ///
    /// # Errors
    /// [`MeasuredError`] where it is none of these, or damaged.
    pub fn read(path: &Path, command: &str) -> Result<Vec<Self>, MeasuredError> {
        if !path.is_dir() && is_json(path)? {
            return document(path, command);
        }
        whole(path, command)
    }

    /// The document.
    pub fn measurement(&self) -> &Measurement {
        match self {
            Self::Whole(evaluated) => &evaluated.measurement,
            Self::Document(measurement) => measurement,
        }
    }

    /// As a comparison takes it.
    pub fn for_report(&self) -> Stream<'_> {
        match self {
            Self::Whole(evaluated) => evaluated.for_report(),
            Self::Document(measurement) => Stream { measurement, singletons: None },
        }
    }
}

/// The stream with this number of the measurement `name`; without a number, the only one.
///
/// # Errors
/// [`MeasuredError::SeveralStreams`], [`MeasuredError::NoStream`].
pub fn choose<T>(mut streams: Vec<T>, number: Option<u16>, name: &str) -> Result<T, MeasuredError> {
    let count = streams.len();
    if number.is_none() && count != 1 {
        return Err(MeasuredError::SeveralStreams { name: name.to_owned(), count });
    }
    let number = number.map_or(0, usize::from);
    if number >= count {
        return Err(MeasuredError::NoStream { number, name: name.to_owned(), count });
    }
    Ok(streams.swap_remove(number))
}

/// The streams of the run, or the one of the packet log, at `path`. `command` repeats the analysis of a packet log.
///
/// # Errors
/// [`MeasuredError`] where it is neither, or damaged.
pub fn with_packets(path: &Path, command: &str) -> Result<Vec<Evaluated>, MeasuredError> {
    if path.is_dir() {
        return Ok(reading::read(path)?.streams);
    }
    Ok(vec![analysis::analyze(&Analysis::new(path, command.to_owned()))?])
}

fn whole(path: &Path, command: &str) -> Result<Vec<Measured>, MeasuredError> {
    let streams = with_packets(path, command)?;
    Ok(streams.into_iter().map(|stream| Measured::Whole(Box::new(stream))).collect())
}

/// Whether the file begins as a JSON object does.
fn is_json(path: &Path) -> Result<bool, MeasuredError> {
    let mut head = [0; 64];
    let failed = |source| MeasuredError::reading(path, source);
    let read = untrusted::open_input(path).and_then(|mut file| file.read(&mut head)).map_err(failed)?;
    Ok(head[..read].iter().find(|octet| !octet.is_ascii_whitespace()) == Some(&b'{'))
}

fn document(path: &Path, command: &str) -> Result<Vec<Measured>, MeasuredError> {
    let mut text = Vec::new();
    let file = untrusted::open_input(path);
    file.and_then(|file| file.take(MAX_DOCUMENT_OCTETS).read_to_end(&mut text))
        .map_err(|source| MeasuredError::reading(path, source))?;
    let bad = |why: String| MeasuredError::NoMeasurement { path: path.to_path_buf(), why };
    let value: Value = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
    match value.get("schema").and_then(Value::as_str) {
        Some(MEASUREMENT) => {}
        Some(other) => return Err(bad(format!("its schema is {other:?}"))),
        // What irtt writes has none.
        None if value.pointer("/version/irtt").is_some() => {
            drop(value);
            return whole(path, command);
        }
        None => return Err(bad("it has no schema".into())),
    }
    let several = value.get("measurements").is_some();
    let measurements = if several {
        serde_json::from_value::<Measurements>(value).map(|several| several.measurements)
    } else {
        serde_json::from_value::<Measurement>(value).map(|one| vec![one])
    };
    let measurements = measurements.map_err(|error| bad(error.to_string()))?;
    Ok(measurements.into_iter().map(|one| Measured::Document(Box::new(one))).collect())
}
