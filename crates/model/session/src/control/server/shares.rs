//! What one address may send and be sent in all of its sessions.

use romer_record::document::Way;
use romer_units::{Monotonic, Timestamp};

use super::super::SILENCE;
use super::{Server, State};

/// What other sessions of a sender's address have of what one address may have, packets a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// That they send.
    pub coming: u64,
    /// That the responder sends to them.
    pub own: u64,
    /// The responder sends in as many sessions, of whomever, as it may.
    pub all_send: bool,
}

impl Server {
    /// What other sessions of this sender's address have at present, and how many departures it may still tell.
    pub fn allow(&mut self, others: Others, told_departures: usize) {
        self.limits.others = others;
        self.limits.told_departures = told_departures;
    }

    /// Packets a second that the sender of the session that was granted may send `now`: 0 where it sends none, or has stopped, or
    /// would have asked for signs of life by now if it were still there.
    pub fn coming_rate(&self, now: Timestamp<Monotonic>) -> u64 {
        let is_gone = self.hangs_up && now - self.last_word > SILENCE;
        if self.is_own() || is_gone { 0 } else { self.open_rate() }
    }

    /// Packets a second that the session that was granted asks the responder to send; 0 where it asks for none, or has stopped.
    pub fn own_rate(&self) -> u64 {
        if self.is_own() { self.open_rate() } else { 0 }
    }

    fn is_own(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.direction == Way::Reverse)
    }

    fn open_rate(&self) -> u64 {
        let is_open = matches!(self.state, State::Associating { .. } | State::Running { .. });
        if is_open { self.rate } else { 0 }
    }
}
