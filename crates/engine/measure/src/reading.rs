//! Runs read again: the documents from the rows, and killed runs completed from their logs.

use std::collections::BTreeMap;
use std::path::Path;

use romer_record::RoundTrip;
use romer_record::manifest::{SkewRequest, Status, Stream};
use romer_record::voice::VoiceRequest;
use romer_store::{Finished, Rows, Run, State};

use crate::MeasureError;
use crate::evaluate::{Evaluated, evaluate};
use crate::measure::page;

/// A run as it is read.
#[derive(Debug)]
pub struct Reading {
    /// The run.
    pub run: Run,
    /// Its rows, by stream.
    pub rows: BTreeMap<u16, Vec<RoundTrip>>,
    /// Its streams, computed again from the rows.
    pub streams: Vec<Evaluated>,
    /// It had been killed, and was completed just now.
    pub recovered: bool,
}

/// Reads the run in `folder`. One whose program was killed is completed from its log first, so that it has its
/// rows, its document and its report like any other.
///
/// # Errors
/// [`MeasureError::Store`] where the folder is no run, is being written, or is damaged.
pub fn read(folder: &Path) -> Result<Reading, MeasureError> {
    read_by(folder, &Otherwise::default())
}

/// What is to be computed in another way than the run asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Otherwise {
    /// How the clocks are related.
    pub skew: Option<SkewRequest>,
    /// For which call a verdict is wanted.
    pub voice: Option<VoiceRequest>,
}

/// The same, computed in another way than during the run. What is in the folder stays as it is.
///
/// # Errors
/// As [`read`].
pub fn read_by(folder: &Path, otherwise: &Otherwise) -> Result<Reading, MeasureError> {
    let run = Run::open(folder)?;
    let Rows { streams: rows, .. } = run.rows()?;
    let killed = run.state() == State::Killed;
    // Why a run that ended in good order is a part stands in its manifest, by stream.
    let cut = killed || matches!(run.state(), State::Recovered | State::Running);
    let streams = evaluated(&run, &rows, cut);
    let again =
        |run: &Run| (*otherwise != Otherwise::default()).then(|| by_another(run, &rows, cut, otherwise));
    if !killed {
        // Nothing depends on it; a folder that cannot be written keeps it.
        let _ = run.clear_away_log();
        let streams = again(&run).unwrap_or(streams);
        return Ok(Reading { run, rows, streams, recovered: false });
    }
    let measurements: Vec<_> = streams.iter().map(|one| one.measurement.clone()).collect();
    let html = page(&streams);
    let run = run.resume()?.finish(&Finished {
        status: Status::Recovered,
        rows: &rows,
        measurements: &measurements,
        html: &html,
    })?;
    let streams = again(&run).unwrap_or(streams);
    Ok(Reading { run, rows, streams, recovered: true })
}

fn evaluated(run: &Run, rows: &BTreeMap<u16, Vec<RoundTrip>>, killed: bool) -> Vec<Evaluated> {
    let nothing = Vec::new();
    run.manifest()
        .streams
        .iter()
        .zip(0..)
        .map(|(stream, number)| evaluate(stream, rows.get(&number).unwrap_or(&nothing), killed))
        .collect()
}

/// The documents computed in another way.
fn by_another(
    run: &Run,
    rows: &BTreeMap<u16, Vec<RoundTrip>>,
    killed: bool,
    otherwise: &Otherwise,
) -> Vec<Evaluated> {
    let nothing = Vec::new();
    let streams = run.manifest().streams.iter().zip(0..);
    streams
        .map(|(stream, number)| {
            let skew = otherwise.skew.clone().unwrap_or_else(|| stream.skew.clone());
            let voice = otherwise.voice.clone().unwrap_or_else(|| stream.voice.clone());
            let stream = Stream { skew, voice, ..stream.clone() };
            evaluate(&stream, rows.get(&number).unwrap_or(&nothing), killed)
        })
        .collect()
}
