//! What `romer model` makes a scenario of: runs and packet logs, or the recorded rates of a link.

use std::path::{Path, PathBuf};

use romer_analyze::analysis::{self, Analysis, AnalysisError};
use romer_analyze::evaluate::Evaluated;
use romer_analyze::reading;
use romer_emulate::link_model::LinkRecord;
use romer_exchange::rates::{RATES, TIMES};
use romer_record::manifest::SkewRequest;
use romer_report::escape;

use crate::args::ModelArgs;
use crate::command;
use crate::failure::Failure;

/// What was given.
pub(super) enum ModelInput {
    /// Runs and packet logs, in order of time.
    Runs(Vec<MeasuredRun>),
    /// The rates of a link.
    Link(RecordedLink),
}

/// A run or a packet log.
pub(super) struct MeasuredRun {
    /// As it was given.
    pub(super) name: String,
    /// Its streams; of a packet log one.
    pub(super) streams: Vec<Evaluated>,
}

/// The rates of a link.
pub(super) struct RecordedLink {
    /// As it was given.
    pub(super) name: String,
    pub(super) forward: LinkRecord,
    pub(super) reverse: Option<LinkRecord>,
}

/// Every file and folder that is read.
pub(super) fn paths(arguments: &ModelArgs) -> impl Iterator<Item = &Path> {
    let captures = &arguments.captures;
    let others = [&arguments.reverse, &captures.capture_a, &captures.capture_b, &arguments.against];
    arguments.inputs.iter().chain(others.into_iter().flatten()).map(PathBuf::as_path)
}

impl ModelInput {
    /// Reads what was given.
    pub(super) fn read(arguments: &ModelArgs) -> Result<Self, Failure> {
        if let [file] = &arguments.inputs[..]
            && let Some(forward) = LinkRecord::read(file)?
        {
            return RecordedLink::read(file, forward, arguments).map(Self::Link);
        }
        if let Some(reverse) = arguments.reverse.as_deref().filter(|_| arguments.inputs.len() > 1) {
            return Err(Failure::usage(format!(
                "too many inputs (--reverse {}): it is the other direction of one packet log, and {} are given; model one of them",
                escape::path(reverse),
                arguments.inputs.len()
            )));
        }
        // clap sees to it that there is an input or a capture.
        let inputs = arguments.inputs.iter().chain(&arguments.captures.capture_a);
        inputs.map(|path| MeasuredRun::read(path, arguments)).collect::<Result<Vec<_>, _>>().map(Self::Runs)
    }
}

/// What is wrong with a packet log. If it is the first line, the file may be meant as the rates of a link.
fn refusal(error: AnalysisError) -> Failure {
    let is_of_the_header = matches!(error, AnalysisError::Line { line: 1, .. });
    let failure = Failure::from(error);
    if is_of_the_header {
        failure.and_then(&format!("a table of rates begins with {},{}", TIMES[0].0, RATES[0].0))
    } else {
        failure
    }
}

impl RecordedLink {
    fn read(file: &Path, forward: LinkRecord, arguments: &ModelArgs) -> Result<Self, Failure> {
        let mut name = file.to_string_lossy().into_owned();
        let reverse = match &arguments.reverse {
            Some(other) => {
                name = format!("{name}, {}", other.to_string_lossy());
                let record = LinkRecord::read(other)?.ok_or_else(|| {
                    Failure::usage(format!(
                        "no recorded rates (--reverse {}): {} has the rates of a link; name a table of rates or a mahimahi trace",
                        escape::path(other),
                        escape::path(file)
                    ))
                })?;
                Some(record)
            }
            None => None,
        };
        Ok(Self { name, forward, reverse })
    }
}

impl MeasuredRun {
    fn read(path: &Path, arguments: &ModelArgs) -> Result<Self, Failure> {
        let name = path.to_string_lossy().into_owned();
        let captures = &arguments.captures;
        if path.is_dir() && captures.capture_a.is_none() {
            for (option, is_given) in
                [("--reverse", arguments.reverse.is_some()), ("--clocks", arguments.clocks.clocks.is_some())]
            {
                if is_given {
                    return Err(Failure::usage(format!(
                        "{option} is for packet logs ({} is a run): a run has both its directions and their clocks; leave it out",
                        escape::path(path)
                    )));
                }
            }
            return Ok(Self { name, streams: reading::read(path)?.streams });
        }
        let (one_clock, synchronisation) = arguments.clocks.of_log()?;
        let logged = Analysis::new(path, command::as_given());
        let analysis = Analysis {
            capture_b: captures.capture_b.clone(),
            flow: captures.flow,
            reverse: arguments.reverse.clone(),
            one_clock,
            skew: SkewRequest { synchronisation, ..logged.skew.clone() },
            ..logged
        };
        Ok(Self { name, streams: vec![analysis::analyze(&analysis).map_err(refusal)?] })
    }

    /// The stream with this number.
    pub(super) fn stream(&self, number: u16) -> Result<&Evaluated, Failure> {
        let stream = self.streams.get(usize::from(number));
        stream.ok_or_else(|| Failure::no_stream(number, &self.name, self.streams.len()))
    }
}
