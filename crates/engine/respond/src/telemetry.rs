//! The totals of a responder as metrics.

use romer_telemetry::{PacketOutcome, ResponderMetrics, SessionOutcome};

use crate::totals::Totals;

impl Totals {
    /// Sets the metrics to these totals.
    pub fn export(&self, metrics: &ResponderMetrics) {
        let Self { reflector, one_way, in_kernel, refused_sessions, probes, .. } = self;
        for (outcome, reason, total) in [
            (PacketOutcome::Reflected, "user-space", reflector.reflected),
            (PacketOutcome::Reflected, "kernel", in_kernel.reflected),
            (PacketOutcome::Accepted, "association", reflector.associations),
            (PacketOutcome::Accepted, "one-way-probe", one_way.received),
            (PacketOutcome::Refused, "too-short", reflector.too_short),
            (PacketOutcome::Refused, "bad-source", reflector.bad_source),
            (PacketOutcome::Refused, "loop", reflector.looped),
            (PacketOutcome::Refused, "not-request", reflector.not_request),
            (PacketOutcome::Refused, "not-allowed", reflector.not_allowed),
            (PacketOutcome::Refused, "rate-limited", reflector.rate_limited + in_kernel.rate_limited),
            (PacketOutcome::Refused, "below-min-ttl", reflector.below_min_ttl),
            (PacketOutcome::Refused, "not-authentic", reflector.not_authentic),
            (PacketOutcome::Refused, "replayed", reflector.replayed),
            (PacketOutcome::Refused, "table-full", reflector.table_full),
            (PacketOutcome::Refused, "session-ended", one_way.after_end),
            (PacketOutcome::Dropped, "receive-queue", self.kernel_drops),
        ] {
            metrics.set_packets(outcome, reason, total);
        }
        for (outcome, reason, total) in [
            (SessionOutcome::Granted, "", self.sessions),
            (SessionOutcome::Refused, "busy", refused_sessions.busy),
            (SessionOutcome::Refused, "rate", refused_sessions.rate),
            (SessionOutcome::Refused, "length", refused_sessions.length),
            (SessionOutcome::Refused, "size", refused_sessions.size),
            (SessionOutcome::Refused, "invalid", refused_sessions.invalid),
            (SessionOutcome::Refused, "unknown-session", refused_sessions.unknown_session),
            (SessionOutcome::Refused, "not-allowed", refused_sessions.not_allowed),
            (SessionOutcome::Refused, "overload", refused_sessions.overload),
            (SessionOutcome::Refused, "not-authentic", self.refused_proofs),
            (SessionOutcome::Evicted, "idle", self.evicted_sessions),
        ] {
            metrics.set_sessions(outcome, reason, total);
        }
        metrics.set_not_sent(self.not_sent);
        let suppressed = probes.over_packets + probes.over_network_bits + probes.over_total_bits;
        metrics.set_probes(probes.sent, suppressed);
        metrics.set_remembered(u32::try_from(self.remembered).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use romer_session::reflector::Counters;
    use romer_telemetry::{Format, Registry};

    use super::*;

    /// The reasons of refused datagrams add up to all that the reflector refused.
    #[test]
    fn refusals_add_up() {
        let mut reflector = Counters { received: 100, reflected: 45, ..Counters::default() };
        let reasons = [
            &mut reflector.too_short,
            &mut reflector.bad_source,
            &mut reflector.looped,
            &mut reflector.not_request,
            &mut reflector.not_allowed,
            &mut reflector.rate_limited,
            &mut reflector.below_min_ttl,
            &mut reflector.not_authentic,
            &mut reflector.replayed,
            &mut reflector.table_full,
        ];
        reasons.into_iter().zip(1..).for_each(|(count, number)| *count = number);
        let totals = Totals { reflector, ..Totals::default() };
        let registry = Registry::new();
        totals.export(&ResponderMetrics::new(&registry));
        let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
        let refused = "romer_responder_packets_total{outcome=\"refused\"";
        let lines = text.lines().filter(|line| line.starts_with(refused));
        let sum: u64 = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
        assert_eq!(sum, reflector.refused());
        assert_eq!(sum, 55);
    }
}
