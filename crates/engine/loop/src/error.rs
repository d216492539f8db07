//! Why a loop is not closed.

use std::io;
use std::path::PathBuf;

use romer_endpoint::EndpointError;
use romer_lab::LabError;
use romer_record::Exit;
use romer_report::escape;
use romer_store::StoreError;
use thiserror::Error;

/// The error of a measurement that printed none.
const NO_ERROR: &str =
    "the emulation could not be measured (romer loop): the measurement ended without an error; try again";

/// Why a folder cannot be that of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FolderFault {
    /// It holds other things.
    #[error("it contains files that are not of a loop; name another folder")]
    OtherThings,
    /// It holds a loop.
    #[error("it is not empty; name another folder, or replace the loop in it with --force")]
    NotEmpty,
    /// It cannot be read, or is no folder.
    #[error("it is not a folder that can be read; name another")]
    Unreadable,
}

/// Why a loop is not closed.
#[derive(Debug, Error)]
pub enum LoopError {
    /// The folder holds something, or is no folder.
    #[error("the folder cannot be used (--out {}): {fault}", escape::path(folder))]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        fault: FolderFault,
    },
    /// A folder or file cannot be made.
    #[error("cannot make a {what} ({}): {source}; name a folder that can be written", escape::path(path))]
    Make {
        /// `folder` or `file`.
        what: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The run has fewer streams.
    #[error("no such stream ({number}): streams of the run: {count}, counted from 0")]
    NoStream {
        /// The stream.
        number: u16,
        /// Streams of the run.
        count: usize,
    },
    /// The manifest does not say enough of the packets to send them again.
    #[error("the traffic of the run cannot be repeated ({model}): {why}; measure with `romer loop TARGET`")]
    NotRepeatable {
        /// The traffic model.
        model: String,
        /// Why.
        why: &'static str,
    },
    /// There is nothing to make a scenario of.
    #[error(
        "cannot make a scenario ({}): {why}; measure with a romer responder, which returns its log",
        escape::terminal(run)
    )]
    NoScenario {
        /// The run.
        run: String,
        /// Why.
        why: String,
    },
    /// Both runs have no direction in common of which anything is known.
    #[error(
        "nothing to compare ({}): no direction has known delays or losses in both runs; see romer report {}",
        escape::terminal(path),
        escape::path(emulated)
    )]
    NothingToCompare {
        /// The run of the path.
        path: String,
        /// The run of the emulation.
        emulated: PathBuf,
    },
    /// This program is not at its place any more.
    #[error("cannot find this program ({command}): {source}; start it by its path")]
    NoProgram {
        /// The command that needs the lab.
        command: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A responder or an emulator is not ready in time.
    #[error(
        "the {role} did not start in the lab ({command}): it printed no error; try `romer lab up path` and `romer lab run {host} -- \
         romer {arguments}`"
    )]
    NotReady {
        /// `responder` or `emulator`.
        role: &'static str,
        /// The command that needs the lab.
        command: &'static str,
        /// The host, `B` or `E`.
        host: char,
        /// What the program is started with.
        arguments: &'static str,
    },
    /// The measurement on the lab's first host cannot be started.
    #[error("cannot start a program on the lab's host ({command}): {source}; see `romer doctor`")]
    Start {
        /// The command that needs the lab.
        command: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The measurement on the lab's first host cannot be waited for.
    #[error("cannot wait for the measurement ({command}): {source}; try again")]
    Wait {
        /// The command that needs the lab.
        command: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The emulation could not be measured.
    #[error("{}", why.as_deref().unwrap_or(NO_ERROR))]
    Measurement {
        /// The exit code of the process that measured it.
        exit: Exit,
        /// The error that the process printed; `None` if it printed none.
        why: Option<String>,
    },
    /// A document or a page cannot be made.
    #[error("{0}; this is a fault of romer, please report it")]
    Document(String),
    /// The lab cannot be put up.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The plan has sizes that cannot be sent.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A run cannot be read, or a file not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LoopError {
    /// The exit code of a program that ends with it.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Folder { .. } | Self::NoStream { .. } | Self::NotRepeatable { .. } => Exit::Usage,
            Self::NoScenario { .. } | Self::NothingToCompare { .. } => Exit::BadData,
            Self::Make { .. }
            | Self::NoProgram { .. }
            | Self::NotReady { .. }
            | Self::Start { .. }
            | Self::Wait { .. } => Exit::Environment,
            Self::Measurement { exit, .. } => *exit,
            Self::Document(_) => Exit::Fault,
            Self::Lab(error) if error.is_usage() => Exit::Usage,
            Self::Lab(_) => Exit::Environment,
            Self::Endpoint(error) => error.exit(),
            Self::Store(error) => error.exit(),
        }
    }
}
