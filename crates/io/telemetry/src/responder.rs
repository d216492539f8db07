//! The metrics of a responder.

use crate::registry::{Counter, Family, Gauge, Registry, Spec};

/// What was done with a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    /// It was answered.
    Reflected,
    /// It was taken and needs no answer.
    Accepted,
    /// It was read, and refused.
    Refused,
    /// It was not read.
    Dropped,
}

impl PacketOutcome {
    const fn name(self) -> &'static str {
        match self {
            Self::Reflected => "reflected",
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Dropped => "dropped",
        }
    }
}

/// What was done with a request for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOutcome {
    /// It was granted.
    Granted,
    /// It was refused.
    Refused,
    /// It was granted, and ended before its time.
    Evicted,
}

impl SessionOutcome {
    const fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::Evicted => "evicted",
        }
    }
}

/// The metrics of a responder.
#[derive(Debug)]
pub struct ResponderMetrics {
    packets: Family<Counter, 2>,
    sessions: Family<Counter, 2>,
    not_sent: Family<Counter, 0>,
    probes: Family<Counter, 1>,
    remembered: Family<Gauge, 0>,
}

impl ResponderMetrics {
    /// Adds them to `registry`.
    pub fn new(registry: &Registry) -> Self {
        Self {
            packets: registry.counter(Spec {
                name: "romer_responder_packets",
                help: "Datagrams that arrived at the test port. Each is counted once.",
                labels: ["outcome", "reason"],
            }),
            sessions: registry.counter(Spec {
                name: "romer_responder_sessions",
                help: "Sessions that were requested over the control channel.",
                labels: ["outcome", "reason"],
            }),
            not_sent: registry.counter(Spec {
                name: "romer_responder_replies_not_sent",
                help: "Replies that this host did not send.",
                labels: [],
            }),
            probes: registry.counter(Spec {
                name: "romer_responder_probes",
                help: "Probes of the responder in its sessions: sent, or suppressed by the send limits.",
                labels: ["outcome"],
            }),
            remembered: registry.gauge(Spec {
                name: "romer_responder_reflector_sessions",
                help: "Sessions in the table of the reflector.",
                labels: [],
            }),
        }
    }

    /// Sets the total of datagrams with this outcome.
    pub fn set_packets(&self, outcome: PacketOutcome, reason: &str, total: u64) {
        self.packets.with([outcome.name(), reason]).raise(total);
    }

    /// Sets the total of sessions with this outcome.
    pub fn set_sessions(&self, outcome: SessionOutcome, reason: &str, total: u64) {
        self.sessions.with([outcome.name(), reason]).raise(total);
    }

    /// Sets the total of replies that were not sent.
    pub fn set_not_sent(&self, total: u64) {
        self.not_sent.with([]).raise(total);
    }

    /// Sets the totals of the responder's own probes.
    pub fn set_probes(&self, sent: u64, suppressed: u64) {
        self.probes.with(["sent"]).raise(sent);
        self.probes.with(["suppressed"]).raise(suppressed);
    }

    /// Sets the number of sessions that the reflector remembers.
    pub fn set_remembered(&self, sessions: u32) {
        self.remembered.with([]).set(sessions.into());
    }
}
