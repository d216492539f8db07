//! The input of a report: a run folder, or a packet log in a file.

use std::collections::BTreeMap;
use std::path::Path;

use romer_analyze::analysis::{self, Analysis, LogFiles};
use romer_analyze::evaluate::Evaluated;
use romer_analyze::reading::{self, AnalysisOverrides, RunContents};
use romer_record::RoundTrip;
use romer_record::document::Measurement;
use romer_record::manifest::Stream;
use romer_report::html;
use romer_store::{Run, document_of};
use romer_units::Duration;

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::{command, output};

/// Refuses a unit of what has its own.
pub(crate) fn check_unit(path: &Path, unit: Option<Duration>) -> Result<(), Failure> {
    if unit.is_none() || analysis::is_of_qtcp(path) || !path.exists() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "only stamps of Qtcp have a unit that can be stated (--unit): {} is no .raw or .log; leave it out",
        romer_report::escape::terminal(&path.to_string_lossy())
    )))
}

/// Refuses to take packets that are too small for Qtcp from files in which none is. What a run is told has words of its own.
pub(crate) fn check_any_size(path: &Path, any_size: bool) -> Result<(), Failure> {
    if !any_size || analysis::is_of_qtcp(path) || !path.is_file() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "only files of Qtcp have packets that may be too small (--any-size): {} is no .raw or .log; leave it out",
        romer_report::escape::terminal(&path.to_string_lossy())
    )))
}

/// A run or a packet log, with its documents.
pub(crate) struct ReportInput {
    /// Each stream with what its figures come from.
    pub(crate) streams: Vec<Evaluated>,
    source: ReportSource,
    /// The program of the run was killed, and the run completed from its log just now.
    pub(crate) recovered: bool,
}

enum ReportSource {
    Run(Box<Run>),
    Log { name: String, stream: Box<[Stream; 1]>, files: LogFiles },
}

impl ReportInput {
    /// Reads a run, or a packet log in one file, whose stamps may be in a stated unit.
    pub(crate) fn read(path: &Path, unit: Option<Duration>) -> Result<Self, Failure> {
        check_unit(path, unit)?;
        if analysis::is_log(path) {
            let unit_ns = unit.map(Duration::as_nanos);
            return Self::of_log(&Analysis { unit_ns, ..Analysis::new(path, command::as_given()) });
        }
        Ok(Self::of_run(reading::read(path)?))
    }

    /// Reads a run, with what is to be computed in another way.
    pub(crate) fn read_run(folder: &Path, otherwise: &AnalysisOverrides) -> Result<Self, Failure> {
        Ok(Self::of_run(reading::read_by(folder, otherwise)?))
    }

    fn of_run(reading: RunContents) -> Self {
        let RunContents { run, streams, recovered } = reading;
        Self { streams, source: ReportSource::Run(Box::new(run)), recovered }
    }

    /// Reads a packet log.
    pub(crate) fn of_log(analysis: &Analysis) -> Result<Self, Failure> {
        let log = analysis::read_log(analysis)?;
        let name = analysis.file.to_string_lossy().into_owned();
        let source = ReportSource::Log { name, stream: Box::new([log.stream]), files: log.files };
        Ok(Self { streams: vec![log.evaluated], source, recovered: false })
    }

    /// How each stream was measured, so far as that is known.
    pub(crate) fn described(&self) -> &[Stream] {
        match &self.source {
            ReportSource::Run(run) => &run.manifest().streams,
            ReportSource::Log { stream, .. } => &stream[..],
        }
    }

    /// A name that no other run has, and when it was made.
    pub(crate) fn name(&self) -> String {
        match &self.source {
            ReportSource::Run(run) => format!("{} {}", run.manifest().name, run.manifest().created),
            ReportSource::Log { name, stream, .. } => {
                format!("{name} {}", stream[0].started).trim_end().to_owned()
            }
        }
    }

    /// Where it is kept, of a run.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.source {
            ReportSource::Run(run) => Some(run.folder()),
            ReportSource::Log { .. } => None,
        }
    }

    /// The rows, by stream, which are read again.
    pub(crate) fn rows(&self) -> Result<BTreeMap<u16, Vec<RoundTrip>>, Failure> {
        match &self.source {
            ReportSource::Run(run) => Ok(run.rows()?.streams),
            ReportSource::Log { files, .. } => Ok(BTreeMap::from([(0, files.rows()?)])),
        }
    }

    /// The documents.
    pub(crate) fn measurements(&self) -> Vec<Measurement> {
        self.streams.iter().map(|stream| stream.measurement.clone()).collect()
    }

    /// Writes the page to a file.
    pub(crate) fn write_page(&self, file: &str, force: bool) -> Result<(), Failure> {
        let streams: Vec<_> = self.streams.iter().map(Evaluated::for_report).collect();
        let page = html::report(&streams).map_err(Failure::own)?;
        output::write_document(file, &page, force)
    }

    /// Writes the document where it is asked for.
    pub(crate) fn write_document(&self, output: &OutputArgs) -> Result<(), Failure> {
        let Some(file) = &output.json else { return Ok(()) };
        let text = document_of(&self.measurements()).map_err(Failure::own)?;
        output::write_document(file, &text, output.force)
    }
}
