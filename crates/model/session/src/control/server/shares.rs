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

    /// Probes of the session, or records of them, came or left `now`.
    pub const fn on_activity(&mut self, now: Timestamp<Monotonic>) {
        self.active = now;
    }

    /// When a message or a probe came last, or the peer took a message.
    pub const fn active(&self) -> Timestamp<Monotonic> {
        self.active
    }

    /// Since when the session has been unused: its last activity, or its grant if no probe has come and no stream was started.
    /// Messages alone do not keep a session that never began.
    pub const fn unused_since(&self) -> Timestamp<Monotonic> {
        let has_begun = self.started || self.heard_of.received > 0 || self.totals.received > 0;
        if has_begun { self.active } else { self.granted }
    }

    /// Whether the session has been unused for longer than [`SILENCE`]. What it holds (its place, its rates, its sender) is
    /// available to a new session, which ends it.
    pub fn is_idle(&self, now: Timestamp<Monotonic>) -> bool {
        self.has_session() && now - self.unused_since() > SILENCE
    }

    /// Packets a second that the sender of the session that was granted may send; 0 where it sends none, or has stopped.
    pub fn coming_rate(&self) -> u64 {
        if self.is_own() { 0 } else { self.open_rate() }
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
