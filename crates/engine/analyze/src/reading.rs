//! Runs read again: the documents from the rows, and killed runs completed from their logs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;

use romer_record::RoundTrip;
use romer_record::manifest::{ClockStatement, SkewRequest, StampRequest, Status, Stream};
use romer_record::voice::VoiceRequest;
use romer_singletons::Selection;
use romer_store::{Finished, Rows, RowsFile, Run, State, StoreError};
use romer_units::Duration;

use crate::evaluate::{Evaluated, Sweep, Swept, evaluate};
use crate::outcomes::RunOutcomes;

/// A run as it is read.
#[derive(Debug)]
pub struct RunContents {
    /// The run.
    pub run: Run,
    /// Its streams, computed again from the rows.
    pub streams: Vec<Evaluated>,
    /// It had been killed, and was completed just now.
    pub recovered: bool,
}

impl RunContents {
    /// Its rows, by stream. They are read again: few who read a run want them, and those of a long one take room.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn rows(&self) -> Result<BTreeMap<u16, Vec<RoundTrip>>, StoreError> {
        Ok(self.run.rows()?.streams)
    }
}

/// Reads the run in `folder`. One whose program was killed is completed from its log first, so that it has its
/// rows and its document like any other.
///
/// # Errors
/// [`StoreError`] where the folder is no run, is being written, or is damaged.
pub fn read(folder: &Path) -> Result<RunContents, StoreError> {
    read_by(folder, &AnalysisOverrides::default())
}

/// Options of an analysis that override those of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnalysisOverrides {
    /// How the clocks are related, in the whole.
    pub skew: Option<SkewRequest>,
    /// So many first packets of a direction are calibration packets; the rest is as the run has it.
    pub calibration: Option<u64>,
    /// The least that each way takes, nanoseconds; the rest is as the run has it.
    pub path_minimum_ns: Option<i64>,
    /// What is stated of the two clocks, and their known offset.
    pub clocks: Option<(ClockStatement, Duration)>,
    /// What is stated of the call that the stream is.
    pub voice: Option<VoiceRequest>,
    /// Which time stamps the delays are of, where packets have several.
    pub stamp: Option<StampRequest>,
}

/// The same, computed in another way than during the run. What is in the folder stays as it is.
///
/// # Errors
/// As [`read`].
pub fn read_by(folder: &Path, otherwise: &AnalysisOverrides) -> Result<RunContents, StoreError> {
    let run = Run::open(folder)?;
    let killed = run.state() == State::Killed;
    // Why a run that ended in good order is a part stands in its manifest, by stream.
    let cut = killed || matches!(run.state(), State::Recovered | State::Running);
    if !killed {
        let streams = match run.rows_file()? {
            Some(file) => swept(&file, &requested_streams(&run, otherwise), cut)?,
            None => evaluated(&requested_streams(&run, otherwise), &run.rows()?.streams, cut),
        };
        // Nothing depends on it; a folder that cannot be written keeps it.
        let _ = run.clear_away_log();
        return Ok(RunContents { run, streams, recovered: false });
    }
    let Rows { streams: rows, .. } = run.rows()?;
    let streams = evaluated(&run.manifest().streams, &rows, cut);
    let measurements: Vec<_> = streams.iter().map(|one| one.measurement.clone()).collect();
    let manifests = run.manifest().streams.clone();
    let outcomes = RunOutcomes { streams: &manifests, evaluated: &streams };
    let run = run.resume()?.finish(&Finished {
        status: Status::Recovered,
        rows: &rows,
        measurements: &measurements,
        outcomes: &outcomes,
        html: None,
    })?;
    let streams = if *otherwise == AnalysisOverrides::default() {
        streams
    } else {
        evaluated(&requested_streams(&run, otherwise), &rows, cut)
    };
    Ok(RunContents { run, streams, recovered: true })
}

/// The run's streams, with what is to be computed in another way.
fn requested_streams(run: &Run, otherwise: &AnalysisOverrides) -> Vec<Stream> {
    let skew = |own: &SkewRequest| {
        let request = otherwise.skew.as_ref().unwrap_or(own);
        SkewRequest {
            method: request.method.clone(),
            calibration: otherwise.calibration.or(request.calibration),
            path_minimum_ns: otherwise.path_minimum_ns.or(request.path_minimum_ns),
            synchronisation: own.synchronisation,
        }
    };
    let asked = |stream: &Stream| {
        let stated = otherwise.clocks.and_then(|(statement, offset)| {
            statement.resolve(offset, stream.clock_relation, &stream.metadata)
        });
        let (clock_relation, synchronisation) =
            stated.unwrap_or((stream.clock_relation, stream.skew.synchronisation));
        Stream {
            clock_relation,
            skew: SkewRequest { synchronisation, ..skew(&stream.skew) },
            voice: otherwise.voice.clone().unwrap_or_else(|| stream.voice.clone()),
            // What the run does not have is not taken for what it has.
            stamp_request: stream.stamp_request.replaced_by(otherwise.stamp).unwrap_or(stream.stamp_request),
            ..stream.clone()
        }
    };
    run.manifest().streams.iter().map(asked).collect()
}

fn evaluated(streams: &[Stream], rows: &BTreeMap<u16, Vec<RoundTrip>>, killed: bool) -> Vec<Evaluated> {
    let nothing = Vec::new();
    let streams = streams.iter().zip(0..);
    streams.map(|(stream, number)| evaluate(stream, rows.get(&number).unwrap_or(&nothing), killed)).collect()
}

/// The streams of a file, whose rows are gone through without having all of them in memory: once, as a rule.
fn swept(file: &RowsFile, streams: &[Stream], killed: bool) -> Result<Vec<Evaluated>, StoreError> {
    let rows = file.streams()?;
    let mut done: BTreeMap<u16, Evaluated> = BTreeMap::new();
    let mut again: BTreeMap<u16, Selection> = BTreeMap::new();
    sweep(
        file,
        streams,
        &rows,
        |_| Some(None),
        |number, sweep: Sweep<'_>| match sweep.finish(killed) {
            Swept::Evaluated(evaluated) => drop(done.insert(number, *evaluated)),
            Swept::Choice(selection) => drop(again.insert(number, selection)),
        },
    )?;
    if !again.is_empty() {
        let chosen = |number: u16| again.get(&number).map(|selection| Some(*selection));
        sweep(file, streams, &rows, chosen, |number, sweep: Sweep<'_>| {
            // With the choice that all rows have made, it is no other again.
            if let Swept::Evaluated(evaluated) = sweep.finish(killed) {
                done.insert(number, *evaluated);
            }
        })?;
    }
    let numbered = streams.iter().zip(0..);
    Ok(numbered
        .map(|(stream, number)| done.remove(&number).unwrap_or_else(|| evaluate(stream, &[], killed)))
        .collect())
}

/// Parts that are decoded ahead.
const AHEAD: usize = 8;

/// Goes through a file while another thread decodes what follows. `wanted` says of a stream whether it is to be gone
/// through, and with which stamps where that is known; `end` takes each stream when its last row is taken in.
fn sweep<'s>(
    file: &RowsFile,
    streams: &'s [Stream],
    rows: &BTreeMap<u16, usize>,
    wanted: impl Fn(u16) -> Option<Option<Selection>>,
    mut end: impl FnMut(u16, Sweep<'s>),
) -> Result<(), StoreError> {
    let (sender, parts) = mpsc::sync_channel::<(u16, Vec<RoundTrip>)>(AHEAD);
    // What has been gone through is filled again: fresh memory for each part would cost as much as decoding it.
    let (emptied, empty) = mpsc::channel::<Vec<RoundTrip>>();
    std::thread::scope(|scope| {
        let decoding = scope.spawn(move || {
            file.each(|stream, rows| {
                let mut part = empty.try_recv().unwrap_or_default();
                part.clear();
                part.extend_from_slice(rows);
                // Nobody hears it only where the other side has come to grief, which it tells itself.
                let _ = sender.send((stream, part));
            })
        });
        let mut open: Option<(u16, Sweep<'s>)> = None;
        for (number, part) in parts {
            if let Some((before, sweep)) = open.take_if(|(before, _)| *before != number) {
                end(before, sweep);
            }
            if open.is_none()
                && let (Some(stream), Some(chosen)) = (streams.get(usize::from(number)), wanted(number))
            {
                let rows = rows.get(&number).copied().unwrap_or(0);
                open = Some((number, Sweep::new(stream, rows, chosen)));
            }
            if let Some((_, sweep)) = &mut open {
                sweep.take(&part);
            }
            // The other side may have decoded its last part.
            let _ = emptied.send(part);
        }
        if let Some((number, sweep)) = open {
            end(number, sweep);
        }
        match decoding.join() {
            Ok(decoded) => decoded,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
