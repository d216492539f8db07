//! What can go wrong, and with which exit code.

use std::io;
use std::path::PathBuf;

use romer_record::Exit;
use romer_scenario::ScenarioError;
use thiserror::Error;

/// Why nothing, or no more, was emulated.
#[derive(Debug, Error)]
pub enum EmulateError {
    /// A file cannot be opened, read or written.
    #[error("{action} failed ({}): {source}; check its path and rights", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What is there is not a file to be read.
    #[error("{what} cannot be read ({}): {why}", path.display())]
    NoFile {
        /// What was wanted.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// In words.
        why: String,
    },
    /// A file's content.
    #[error("{what} cannot be used ({}): {why}", path.display())]
    Content {
        /// What was read.
        what: &'static str,
        /// Where, with the line.
        path: PathBuf,
        /// In words.
        why: String,
    },
    /// The scenario's content.
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
    /// A file that the scenario names is there and cannot be read.
    #[error("{0}")]
    Named(ScenarioError),
    /// A name or a combination that is none.
    #[error("{0}")]
    Usage(String),
}

impl EmulateError {
    /// Whether a file's name leads nowhere, which is the fault of who wrote the name.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// The exit code of the program.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Content { .. } | Self::Scenario(_) => Exit::BadData,
            Self::File { .. } | Self::NoFile { .. } | Self::Named(_) => Exit::Environment,
        }
    }
}
