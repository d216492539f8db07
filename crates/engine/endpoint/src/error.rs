//! What can go wrong with a measurement, told so that the reader knows what to do.

use romer_host::HostError;
use romer_record::Exit;
use romer_store::StoreError;
use thiserror::Error;

/// What went wrong. The text has the form `WHAT (WHERE): WHY; what to do`.
#[derive(Debug, Error)]
pub enum EndpointError {
    /// The command asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
    /// The system refused something that the measurement needs.
    #[error("cannot {what} ({place}): {source}; {mend}")]
    Host {
        /// What was tried, as a verb.
        what: &'static str,
        /// On what.
        place: String,
        /// Why not.
        source: Box<HostError>,
        /// What to do.
        mend: String,
    },
    /// A name has no address.
    #[error("no address ({name}): {why}; check the name, or give an address")]
    Name {
        /// As it was given.
        name: String,
        /// What the resolver said.
        why: String,
    },
    /// The other end does not answer.
    #[error("no answer ({address}): {why}; {mend}")]
    Unreachable {
        /// Where.
        address: String,
        /// What was seen.
        why: String,
        /// What to do.
        mend: &'static str,
    },
    /// The other end refuses.
    #[error("refused by the responder ({address}): {why}; {mend}")]
    Refused {
        /// Where.
        address: String,
        /// In its words.
        why: String,
        /// What to do.
        mend: String,
    },
    /// A key file does not give a key. Nothing of its content is told.
    #[error("cannot use the key file (--key-file {place}): {why}; {mend}")]
    Key {
        /// Its path.
        place: String,
        /// Why not.
        why: String,
        /// What to do.
        mend: String,
        /// Its content is at fault, not that it is missing or who may read it.
        content: bool,
    },
    /// The run could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl EndpointError {
    /// The exit code of the program.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Key { content: true, .. } => Exit::BadData,
            Self::Host { .. } | Self::Key { content: false, .. } => Exit::Environment,
            Self::Name { .. } | Self::Unreachable { .. } | Self::Refused { .. } => Exit::Unreachable,
            Self::Store(error) => error.exit(),
        }
    }

    /// Whether it is about one target, and says nothing about others.
    pub fn is_of_the_far_end(&self) -> bool {
        matches!(self, Self::Name { .. } | Self::Unreachable { .. } | Self::Refused { .. })
    }

    /// A refusal of the system, with the mend for missing rights where that is the cause.
    pub fn host(what: &'static str, place: impl Into<String>, mend: &str, source: HostError) -> Self {
        Self::Host { what, place: place.into(), source: Box::new(source), mend: mend.into() }
    }
}
