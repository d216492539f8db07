//! What documents have of a sender's traffic.

use romer_qtcp_protocol::{Quota, TestOffer};
use romer_record::qtcp::{QtcpSent, QtcpTraffic};
use romer_units::{Duration, Monotonic, Timestamp};

/// The traffic of an offer, as documents have it.
pub(crate) fn traffic(offer: &TestOffer) -> QtcpTraffic {
    let (packets, duration_ns) = match offer.quota {
        Quota::Packets(packets) => (Some(packets), None),
        Quota::Time(time) => (None, Some(time.as_nanos())),
    };
    QtcpTraffic {
        payload_octets: offer.size,
        token_rate_octets_per_s: offer.rate,
        bucket_depth_octets: offer.depth,
        calibration_packets: offer.calibration,
        packets,
        duration_ns,
    }
}

/// What was sent from the first departure to the last: the last packet ends the time, and its octets are not of it.
pub(crate) fn sent(
    packets: u64,
    size: u32,
    first: Option<Timestamp<Monotonic>>,
    last: Option<Timestamp<Monotonic>>,
) -> QtcpSent {
    let duration = first.zip(last).map(|(first, last)| last - first).filter(|time| *time > Duration::ZERO);
    #[expect(clippy::cast_precision_loss, reason = "a test has far fewer than 2^53 packets")]
    let per_second = duration.map(|time| packets.saturating_sub(1) as f64 / time.as_secs_f64());
    QtcpSent {
        packets,
        duration_ns: duration.map(Duration::as_nanos),
        rate_octets_per_s: per_second.map(|rate| rate * f64::from(size)),
        rate_packets_per_s: per_second,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate has one packet less than were sent, over the time between the first and the last.
    #[test]
    fn rate_is_between_first_and_last() {
        let at = |seconds: i64| Some(Timestamp::from_nanos(seconds * 1_000_000_000));
        let phase = sent(11, 64, at(5), at(7));
        assert_eq!((phase.rate_packets_per_s, phase.rate_octets_per_s), (Some(5.0), Some(320.0)));
        assert_eq!(sent(1, 64, at(5), at(5)).rate_octets_per_s, None);
        assert_eq!(sent(0, 64, None, at(5)).duration_ns, None);
    }
}
