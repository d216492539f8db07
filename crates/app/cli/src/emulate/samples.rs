//! Files of single packets.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use romer_emulate::live::{FeedOptions, Recorded, Recorder, SampleFeed, Sink};
use romer_record::warning::EmulationWarning;
use romer_report::escape;

use super::run_folder::RunFolder;
use crate::args::SampleArgs;
use crate::failure::Failure;
use crate::output;

/// Arrivals and fates that may wait to be written.
const CAPACITY: u32 = 1 << 18;

/// What the bridge is to give.
pub(super) fn wanted(arguments: &SampleArgs) -> Option<FeedOptions> {
    let octets = arguments.pcapng.is_some();
    (octets || arguments.samples.is_some() || arguments.out.is_some()).then(|| FeedOptions {
        capacity: CAPACITY,
        octets,
        ..FeedOptions::default()
    })
}

/// The files, open and empty.
pub(super) struct Files {
    csv: Vec<Sink>,
    capture: Option<Sink>,
}

impl Files {
    /// Opens them; files that exist are overwritten only with `force`. Those of `kept` are its own.
    pub(super) fn open(
        arguments: &SampleArgs,
        kept: Option<&RunFolder>,
        force: bool,
    ) -> Result<Self, Failure> {
        let files = [&arguments.samples, &arguments.pcapng];
        if let [Some(a), Some(b)] = files
            && a == b
        {
            return Err(Failure::usage(format!(
                "options cannot be combined (--samples, --pcapng): both write to {}; name another file for \
                 one of them",
                escape::terminal(&a.to_string_lossy())
            )));
        }
        for file in files.into_iter().flatten() {
            output::check_target(file.to_str(), force)?;
        }
        let [csv, capture] = files.map(|file| file.as_deref().map(sink).transpose());
        let of_kept = kept.map(|kept| sink(&kept.samples())).transpose()?;
        Ok(Self { csv: csv?.into_iter().chain(of_kept).collect(), capture: capture? })
    }

    /// Writes what the bridge gives into them.
    pub(super) fn record(self, feed: Option<SampleFeed>) -> Result<Option<Recorder>, Failure> {
        let Some(feed) = feed else { return Ok(None) };
        let recorder = Recorder::start(feed, self.csv, self.capture);
        recorder.map(Some).map_err(|error| {
            Failure::environment(format!("cannot start a thread (for samples): {error}; see `romer doctor`"))
        })
    }
}

/// Takes the files away that were made for an emulation that does not begin, so that the corrected command finds the place
/// as this one did.
pub(super) fn give_up(arguments: &SampleArgs, kept: Option<&RunFolder>) {
    for file in [&arguments.samples, &arguments.pcapng].into_iter().flatten() {
        if std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() == 0) {
            let _ = std::fs::remove_file(file);
        }
    }
    if let Some(kept) = kept {
        kept.give_up();
    }
}

fn sink(path: &Path) -> Result<Sink, Failure> {
    let file = output::begin_file(path).map_err(|error| cannot(path, &error))?;
    Ok(Sink { path: path.into(), out: Box::new(BufWriter::with_capacity(1 << 18, file)) })
}

/// What a reader of the document should know of the samples.
pub(super) fn note(recorded: &Recorded) -> Option<EmulationWarning> {
    (recorded.missed > 0).then_some(EmulationWarning::SamplesMissing { packets: recorded.missed })
}

/// Whether all files are whole.
pub(super) fn written(recorded: Recorded) -> Result<(), Failure> {
    recorded
        .failed
        .into_iter()
        .next()
        .map_or(Ok(()), |(path, error): (PathBuf, _)| Err(cannot(&path, &error)))
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    let shown = escape::terminal(&path.to_string_lossy());
    Failure::environment(format!(
        "cannot write the samples ({shown}): {error}; name a writable file on a disk with free space"
    ))
}
