//! What one network may send and be sent in all of its sessions, and all networks together.

use romer_record::document::ProbeDirection;
use romer_units::{Monotonic, Timestamp};

use super::super::message::SILENCE;
use super::limits::Others;
use super::{Server, State};

impl Server {
    /// What other sessions have at present, how many departures of a recorded stream this sender may still tell, and how many
    /// records a session of it may buffer.
    pub fn allow(&mut self, others: Others, told_departures: usize, buffered_records: usize) {
        self.limits.others = others;
        self.limits.told_departures = told_departures;
        self.limits.buffered_records = buffered_records;
    }

    /// A probe of the session came or left, or was refused, `now`.
    pub const fn on_probe(&mut self, now: Timestamp<Monotonic>) {
        self.probed = now;
    }

    /// When a message came last, or the peer took one.
    pub const fn active(&self) -> Timestamp<Monotonic> {
        self.active
    }

    /// Since when the session has been unused. Until its sender stops, only probes are use: it has been unused since the last of them,
    /// or since the responder started its stream, or else since the grant. Afterwards, messages are use as well.
    pub fn unused_since(&self) -> Timestamp<Monotonic> {
        if self.is_open() { self.probed } else { self.probed.max(self.active) }
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
        self.request.as_ref().is_some_and(|request| request.direction == ProbeDirection::Reverse)
    }

    fn open_rate(&self) -> u64 {
        if self.is_open() { self.rate } else { 0 }
    }

    /// Whether the session has been granted, and its sender has not stopped.
    const fn is_open(&self) -> bool {
        matches!(self.state, State::Associating { .. } | State::Running { .. })
    }
}
