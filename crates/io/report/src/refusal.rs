//! Refusals of a responder as text.

use romer_record::refusal::{LimitScope, Refusal};
use romer_units::Duration;

use crate::sentence::Text;

impl Text for Refusal {
    fn text(&self) -> String {
        match self {
            Self::Sessions { scope: LimitScope::All } => "all sessions are taken".into(),
            Self::Sessions { scope: LimitScope::Network } => {
                "the number of sessions of this network (/24 or /56) is at its limit, a quarter of all".into()
            }
            Self::SendingSessions { scope: LimitScope::All } => {
                "the number of sessions in which it sends is at its limit".into()
            }
            Self::SendingSessions { scope: LimitScope::Network } => {
                "the number of sessions in which it sends to this network (/24 or /56) is at its limit, a quarter of all".into()
            }
            Self::Rate { packets_per_second, limit, scope, others } => {
                rate(*packets_per_second, *limit, *scope, *others)
            }
            Self::BitRate { packets_per_second, packet_bytes, bps, limit_bps, scope, others_bps } => {
                let (to, whose) = match scope {
                    LimitScope::Network => ("to one network (/24 or /56)", "of this network"),
                    LimitScope::All => ("to all networks together", "of all networks"),
                };
                let held = match others_bps {
                    0 => String::new(),
                    others => format!(", and other sessions {whose} have {} of them", megabits(*others)),
                };
                format!(
                    "{packets_per_second} packets/s of {packet_bytes} bytes are {}: without --key-file and --allow it sends at most \
                     {} {to}{held}; smaller packets need less",
                    megabits(*bps),
                    megabits(*limit_bps)
                )
            }
            Self::Burst { limit } => {
                format!("a burst of more than {limit} packets: it sends at most {limit} packets/s")
            }
            Self::Duration { limit_ns } => {
                format!("the test is too long: its limit is {}", Duration::from_nanos(*limit_ns))
            }
            Self::TracePackets { packets, limit } => {
                format!("a trace of {packets} packets: its limit is {limit}")
            }
            Self::Payload { bytes, limit } => format!("{bytes} bytes of payload: its limit is {limit}"),
            Self::PayloadTooShort { min_bytes } => format!("a one-way probe has at least {min_bytes} bytes"),
            Self::ModelText { bytes, limit } => {
                format!("a traffic model of {bytes} bytes: its limit is {limit}")
            }
            Self::Dscp => "no such DSCP".into(),
            Self::Ttl => "a TTL of 0".into(),
            Self::OutOfRange => "interval, count or payload is outside its range".into(),
            Self::RoundTripsOnly => "it supports round trips only".into(),
            Self::StreamMismatch => {
                "a stream is requested if, and only if, the responder sends it".into()
            }
            Self::Stream { error } => format!("invalid stream: {error}"),
            Self::NoSession => {
                "there is no such session here: it has ended, or the responder was started anew".into()
            }
            Self::OtherState => "the session is over, or was heard otherwise".into(),
            Self::Moved { scope: LimitScope::Network } => {
                "other sessions of that network have what this responder grants one network".into()
            }
            Self::Moved { scope: LimitScope::All } => {
                "other sessions have all that this responder grants".into()
            }
            Self::Unknown => "for a reason that this version of romer does not know".into(),
        }
    }
}

/// A packet rate above a limit of which other sessions have a part.
fn rate(packets_per_second: u64, limit: u64, scope: LimitScope, others: u64) -> String {
    match (scope, others) {
        (LimitScope::All, _) => format!(
            "{packets_per_second} packets/s: its limit for all sessions is {limit} packets/s, and other sessions have {others} of them"
        ),
        (LimitScope::Network, 0) => format!("{packets_per_second} packets/s: its limit is {limit} packets/s"),
        (LimitScope::Network, _) => format!(
            "{packets_per_second} packets/s: its limit for one network (/24 or /56) is {limit} packets/s, and other sessions of this \
             network have {others} of them"
        ),
    }
}

/// A bit rate, rounded up to a tenth of a megabit per second.
fn megabits(bits: u64) -> String {
    let tenths = bits.div_ceil(100_000);
    let fraction = if tenths.is_multiple_of(10) { String::new() } else { format!(".{}", tenths % 10) };
    format!("{}{fraction} Mbit/s", tenths / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A refusal names the limit, and which sessions have the rest of it.
    #[test]
    fn limits_are_named() {
        let rate =
            |scope, others| Refusal::Rate { packets_per_second: 833, limit: 1_000, scope, others }.text();
        assert_eq!(rate(LimitScope::Network, 0), "833 packets/s: its limit is 1000 packets/s");
        assert_eq!(
            rate(LimitScope::Network, 200),
            "833 packets/s: its limit for one network (/24 or /56) is 1000 packets/s, and other sessions of this network have 200 of \
             them"
        );
        assert_eq!(
            rate(LimitScope::All, 200),
            "833 packets/s: its limit for all sessions is 1000 packets/s, and other sessions have 200 of them"
        );
        let bits = |others_bps| Refusal::BitRate {
            packets_per_second: 2_000,
            packet_bytes: 1_250,
            bps: 20_000_000,
            limit_bps: 10_000_000,
            scope: LimitScope::Network,
            others_bps,
        };
        assert_eq!(
            bits(0).text(),
            "2000 packets/s of 1250 bytes are 20 Mbit/s: without --key-file and --allow it sends at most 10 Mbit/s to one network \
             (/24 or /56); smaller packets need less"
        );
        assert!(
            bits(4_010_000).text().contains(", and other sessions of this network have 4.1 Mbit/s of them; ")
        );
    }
}
