//! What a responder counts.

use romer_bpf::reflector::KernelCounters;
use romer_record::respond::RespondSessionsRefused;
use romer_session::reflector::Counters;
use romer_session::send_limit::SendCounts;

/// What came of one-way sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneWayTotals {
    /// Probes.
    pub received: u64,
    /// Their octets of UDP payload.
    pub octets: u64,
    /// Probes among them that came from another address than their session's: a NAT's outer address had changed, and the
    /// session had not followed yet. Such are taken once each.
    pub elsewhere: u64,
    /// Datagrams that name a session of their host and were not made with its key. They are no probes of it, and are
    /// judged as any other request is.
    pub bad_tag: u64,
    /// Probes of sessions that had ended, up to two minutes before. They are neither answered nor kept.
    pub after_end: u64,
}

/// Totals of a responder up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Of the reflector.
    pub reflector: Counters,
    /// Datagrams that the kernel dropped before they could be read.
    pub kernel_drops: u64,
    /// Replies that the kernel would not take, and those that were not sent because they were more than 10 s late.
    pub not_sent: u64,
    /// Probes of one-way sessions, which nothing answers.
    pub one_way: OneWayTotals,
    /// Sessions granted.
    pub sessions: u64,
    /// Control conversations that ended because the sender did not prove that it has the key.
    pub refused_proofs: u64,
    /// Sessions that were not granted.
    pub refused_sessions: RespondSessionsRefused,
    /// Control conversations that were closed because the responder failed in them.
    pub failed_conversations: u64,
    /// Datagrams and turns of its work that the thread that reflects gave up because it failed in them.
    pub failed_iterations: u64,
    /// Idle sessions that were ended in favour of others.
    pub evicted_sessions: u64,
    /// Sessions that the reflector remembers.
    pub remembered: usize,
    /// Probes of the responder's own.
    pub probes: SendCounts,
    /// Of the reflector in the kernel, whose packets `reflector` does not count.
    pub in_kernel: KernelCounters,
}
