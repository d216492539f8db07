//! Why a packet log could not be analysed.

use std::io;
use std::path::{Path, PathBuf};

use romer_exchange::packed;
use romer_record::Exit;
use thiserror::Error;

use super::request::FlowChoice;

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
    /// It is compressed and does not unpack, or holds more than is taken into memory.
    #[error("bad packet log ({path}): {why}", path = path.display())]
    Packed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: packed::Refusal,
    },
    /// It is no capture that can be read.
    #[error("bad capture ({path}, record {record}): {why}", path = path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The packet or block, from 1.
        record: u64,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The captures do not have the flow that is meant.
    #[error("there is no such flow in both captures (--flow {choice}): they have {there}; name one of them")]
    Flow {
        /// As it was given.
        choice: FlowChoice,
        /// Those that there are.
        there: String,
    },
}

impl AnalysisError {
    /// The exit code of the program.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Flow { .. } => Exit::Usage,
            Self::Io { .. } => Exit::Environment,
            Self::Line { .. } | Self::Packed { .. } | Self::Record { .. } => Exit::BadData,
        }
    }

    /// Of a file that was not read to its end.
    pub(super) fn reading(path: &Path, source: io::Error) -> Self {
        match packed::Refusal::from_error(&source) {
            Some(why) => Self::Packed { path: path.into(), why: why.clone() },
            None => Self::Io { path: path.into(), source },
        }
    }
}
