//! What a run lacks at its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log::Entry;

/// Kind of an entry of the packet log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// Departure of a probe, or its failure.
    Departure,
    /// Kernel time stamp of a departure.
    DepartureStamp,
    /// Arrival of a packet.
    Arrival,
    /// Record of the responder about a packet.
    ResponderRecord,
    /// Time stamp of a network card.
    CardStamp,
}

impl EntryKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Departure, Self::DepartureStamp, Self::Arrival, Self::ResponderRecord, Self::CardStamp];

    /// That of an entry.
    pub const fn from_entry(entry: &Entry) -> Self {
        match entry {
            Entry::Sent { .. } | Entry::NotSent { .. } => Self::Departure,
            Entry::SentStamp { .. } => Self::DepartureStamp,
            Entry::Returned { .. } | Entry::Came { .. } => Self::Arrival,
            Entry::Far(_) | Entry::FarSent(_) => Self::ResponderRecord,
            Entry::Card(_) => Self::CardStamp,
        }
    }
}

/// Entries of one kind that are not in a packet log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotLogged {
    /// Kind of the missing entries.
    pub kind: EntryKind,
    /// Number of missing entries.
    pub entries: u64,
    /// Lowest packet number that a missing entry may concern.
    pub first: u64,
    /// Highest packet number that a missing entry may concern.
    pub last: u64,
}

impl NotLogged {
    /// Whether one of them may be about the packet of this number.
    pub fn may_be_of(&self, sequence: u64) -> bool {
        (self.first..=self.last).contains(&sequence)
    }
}

/// Reason why a stream ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EarlyEnd {
    /// Interrupted by the user.
    Interrupted,
    /// The responder was no longer reachable.
    ResponderLost,
    /// The responder violated the control protocol, and its connection was closed.
    ResponderFault,
    /// This host had no route to the responder any more.
    NoRoute,
    /// The process was killed; the run was completed from its log.
    Killed,
}
