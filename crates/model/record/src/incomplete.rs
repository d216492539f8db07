//! What a run lacks at its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log::Entry;

/// What an entry of the packet log is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A probe left this host, or did not.
    Departure,
    /// The kernel's stamp of a departure.
    DepartureStamp,
    /// A packet arrived here.
    Arrival,
    /// What the responder's log has of a packet.
    FarRecord,
    /// A network card's stamp.
    CardStamp,
}

impl EntryKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Departure, Self::DepartureStamp, Self::Arrival, Self::FarRecord, Self::CardStamp];

    /// That of an entry.
    pub const fn from_entry(entry: &Entry) -> Self {
        match entry {
            Entry::Sent { .. } | Entry::NotSent { .. } => Self::Departure,
            Entry::SentStamp { .. } => Self::DepartureStamp,
            Entry::Returned { .. } | Entry::Came { .. } => Self::Arrival,
            Entry::Far(_) | Entry::FarSent(_) => Self::FarRecord,
            Entry::Card(_) => Self::CardStamp,
        }
    }
}

/// Entries of one kind that are not in a packet log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotLogged {
    /// What they are about.
    pub kind: EntryKind,
    /// How many.
    pub entries: u64,
    /// The least number of a packet that they are about.
    pub first: u64,
    /// The greatest.
    pub last: u64,
}

impl NotLogged {
    /// Whether one of them may be about the packet of this number.
    pub fn may_be_of(&self, sequence: u64) -> bool {
        (self.first..=self.last).contains(&sequence)
    }
}

/// Why a stream ended before it was to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutShort {
    /// Its user ended it.
    Interrupted,
    /// The responder went away.
    ResponderLost,
    /// The responder broke the control protocol, and its conversation was closed.
    ResponderFault,
    /// This host had no way to the responder any more.
    NoRoute,
    /// Its program was killed, and the run completed from its log.
    Killed,
}
