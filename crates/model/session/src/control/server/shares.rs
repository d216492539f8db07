//! What one network may send and be sent in all of its sessions, and all networks together.

use romer_record::document::Way;
use romer_units::{Monotonic, Timestamp};

use super::super::SILENCE;
use super::{Server, State};

/// What other sessions have of what a responder grants: those of a sender's network, and those of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Packets a second that senders of the network send.
    pub coming: u64,
    /// Packets a second that the responder sends to the network.
    pub own: u64,
    /// Bits a second that the responder sends to the network.
    pub own_bits: u64,
    /// Bits a second that the responder sends to all networks.
    pub all_own_bits: u64,
    /// Packets a second that all networks send.
    pub all_coming: u64,
    /// Packets a second that the responder sends to all networks.
    pub all_own: u64,
    /// The network has as many sessions as one may have.
    pub all_sessions: bool,
    /// The responder sends in as many sessions with the network as it may with one.
    pub network_sends: bool,
    /// The responder sends in as many sessions as it may with all networks.
    pub all_send: bool,
}

impl Server {
    /// What other sessions have at present, how many departures of a recorded stream this sender may still tell, and how many
    /// records a session of it may buffer.
    pub fn allow(&mut self, others: Others, told_departures: usize, buffered_records: usize) {
        self.limits.others = others;
        self.limits.told_departures = told_departures;
        self.limits.buffered_records = buffered_records;
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

    /// Bits of IP packets a second that the session that was granted asks the responder to send; 0 where it asks for none, or has
    /// stopped.
    pub fn own_bits(&self) -> u64 {
        if self.own_rate() > 0 { self.bits } else { 0 }
    }

    fn is_own(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.direction == Way::Reverse)
    }

    fn open_rate(&self) -> u64 {
        let is_open = matches!(self.state, State::Associating { .. } | State::Running { .. });
        if is_open { self.rate } else { 0 }
    }
}
