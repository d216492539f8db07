//! What has become of everything that came: exact at every instant.

use crate::packet::{Cause, Outcome};

/// The counts of one direction. At every instant
/// `received + duplicates_created = transmitted + queued + sum of lost` ([`Ledger::balances`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Packets that arrived, those that the kernel dropped before included.
    pub received: u64,
    /// Octets of the packets that reached a path, at layer 3.
    pub network_octets: u64,
    /// Packets and copies that left.
    pub transmitted: u64,
    /// Packets and copies held.
    pub queued: u64,
    /// Copies made.
    pub duplicates_created: u64,
    /// By [`Cause::index`].
    pub lost: [u64; Cause::ALL.len()],
    /// Of those transmitted, how many with bits turned over.
    pub corrupted: u64,
    /// Packets and copies that others went past because the reorder stage held them.
    pub reordered: u64,
    /// Packets and copies that the reorder stage has held to be displaced.
    pub displaced: u64,
    /// Of these, those that left before as many others had gone past as drawn, because their time was up.
    pub flushed: u64,
    /// Packets and copies that the delay stage held longer than their delay so that they did not overtake.
    pub waited: u64,
    /// Packets and copies that the delay stage has let in.
    pub delayed: u64,
}

impl Ledger {
    /// Whether everything is accounted for.
    pub fn balances(&self) -> bool {
        self.received + self.duplicates_created
            == self.transmitted + self.queued + self.lost.iter().sum::<u64>()
    }

    /// How many were lost for `cause`.
    pub const fn lost_for(&self, cause: Cause) -> u64 {
        self.lost[cause.index()]
    }

    /// How many were lost.
    pub fn lost_in_all(&self) -> u64 {
        self.lost.iter().sum()
    }

    pub(crate) const fn lose(&mut self, cause: Cause) {
        self.lost[cause.index()] += 1;
    }

    /// A held piece has come out.
    pub(crate) const fn settle(&mut self, outcome: &Outcome) {
        self.queued -= 1;
        match outcome.lost {
            Some(cause) => self.lose(cause),
            None => {
                self.transmitted += 1;
                if outcome.corruption.is_some() {
                    self.corrupted += 1;
                }
            }
        }
    }

    /// What was given out as leaving did not leave after all.
    pub(crate) const fn revoke(&mut self, outcome: &Outcome, cause: Cause) {
        if outcome.lost.is_none() {
            self.transmitted -= 1;
            if outcome.corruption.is_some() {
                self.corrupted -= 1;
            }
            self.lose(cause);
        }
    }
}
