//! The totals as a document.

use std::net::SocketAddr;
use std::sync::PoisonError;

use romer_endpoint::circumstances::clock_error;
use romer_host::clock::rfc3339;
use romer_record::SOFTWARE;
use romer_record::event::Event;
use romer_record::respond::{
    RESPOND, Respond, RespondClock, RespondProbes, RespondRateLimited, RespondRefused, RespondReplies,
    RespondRequests, RespondSessions, RespondTlvs,
};
use romer_session::reflector::PLACES;

use super::Responder;
use super::totals::Totals;

impl Responder {
    /// What has happened up to now: what had come before the call is counted. Waits until the thread that counts has told,
    /// a second at the most; `at` is when it did.
    pub fn document(&self) -> Respond {
        if !self.threads.is_empty() {
            self.stats.ask(|| self.wakers[0].wake());
        }
        let Totals {
            reflector: counts,
            kernel_drops,
            not_sent,
            one_way,
            sessions,
            refused_proofs,
            refused_sessions,
            failed_conversations,
            failed_iterations,
            evicted_sessions,
            remembered,
            probes,
            in_kernel: _,
        } = self.totals();
        let written = |addresses: &[SocketAddr]| addresses.iter().map(ToString::to_string).collect();
        let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
        let error = clock_error();
        let happened = self.remembered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Respond {
            schema: RESPOND.into(),
            software: SOFTWARE.into(),
            started: rfc3339(self.started),
            at: rfc3339(self.stats.at()),
            test_addresses: written(&self.test_addresses),
            control_addresses: written(&self.control_addresses),
            authenticated: self.authenticated,
            stateful: self.stateful,
            clock: RespondClock {
                synchronised: error.synchronized(),
                error_ns: error.error().map(romer_units::Duration::as_nanos),
            },
            requests: RespondRequests {
                received: counts.received + one_way.received + one_way.after_end,
                octets: counts.octets_received + one_way.octets,
                one_way: one_way.received,
                other_address: one_way.elsewhere,
                bad_tag: one_way.bad_tag,
                after_end: one_way.after_end,
                associations: counts.associations,
                nonzero_mbz: counts.nonzero_mbz,
                bad_error_estimate: counts.bad_error_estimate,
                kernel_drops,
            },
            replies: RespondReplies { sent: counts.reflected, octets: counts.octets_reflected, not_sent },
            probes: RespondProbes {
                sent: probes.sent,
                octets: probes.octets,
                rate_limited: RespondRateLimited {
                    packet_rate: probes.over_packets,
                    network_bits: probes.over_network_bits,
                    total_bits: probes.over_total_bits,
                },
            },
            refused: RespondRefused {
                too_short: counts.too_short,
                bad_source: counts.bad_source,
                r#loop: counts.looped,
                not_request: counts.not_request,
                not_allowed: counts.not_allowed,
                rate_limited: counts.rate_limited,
                below_min_ttl: counts.below_min_ttl,
                auth_fail: counts.not_authentic,
                replay: counts.replayed,
                table_full: counts.table_full,
            },
            tlvs: RespondTlvs {
                answered: counts.tlvs,
                unrecognized: counts.tlvs_unrecognized,
                malformed: counts.tlvs_malformed,
                auth_fail: counts.tlvs_not_authentic,
            },
            sessions: RespondSessions {
                accepted: sessions,
                auth_fail: refused_proofs,
                refused: refused_sessions,
                failed: failed_conversations,
                evicted_sessions,
                with_state: number(remembered),
                slots: number(PLACES),
                without_slot: counts.without_place,
                evicted: counts.evicted,
            },
            in_kernel: self.in_kernel.as_ref().map(|reflector| reflector.document()),
            in_packet: self.in_packet.as_ref().map(|stamper| stamper.document()),
            failed_iterations,
            stuck_iterations: self.watchdog.count(),
            events: in_order(happened.events.into()),
            events_dropped: happened.forgotten,
        }
    }
}

/// What was told when it was over began before what was told meanwhile.
fn in_order(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| event.at_ns);
    events
}
