//! The bound of the queueing delay of guaranteed service.

use romer_units::Duration;

use crate::adspec::ErrorTerms;
use crate::flowspec::{Flowspec, QosService};

/// The largest queueing delay of packets that keep within the TSpec of `flowspec`, over a path with these error terms
/// (RFC 2212, "End-to-End Behavior"):
///
/// > [(b-M)/R\*(p-R)/(p-r)]+(M+Ctot)/R+Dtot for p>R>=r, and (M+Ctot)/R+Dtot for r<=p<=R
///
/// The latency of the path comes in addition. `None` for controlled load, which has no bound.
pub fn delay_bound(flowspec: &Flowspec, terms: &ErrorTerms) -> Option<Duration> {
    if flowspec.service() != QosService::Guaranteed {
        return None;
    }
    let tspec = flowspec.tspec();
    let [service_rate, rate, peak] = [flowspec.rate(), tspec.rate(), tspec.peak()].map(f64::from);
    let (bucket, packet) = (f64::from(tspec.bucket()), f64::from(tspec.packet_size()));
    let burst = if peak > service_rate {
        // With an unknown, infinite peak rate the quotient is 1.
        let share = if peak.is_finite() { (peak - service_rate) / (peak - rate) } else { 1.0 };
        // A packet may be larger than the bucket; such packets do not conform.
        (bucket - packet).max(0.0) / service_rate * share
    } else {
        0.0
    };
    let seconds = burst + (packet + f64::from(terms.c_total)) / service_rate;
    Some(Duration::from_nanos_f64(seconds * 1e9) + Duration::from_micros(i64::from(terms.d_total)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tspec::Tspec;

    fn bound(bucket: f32, peak: f32, rate: f32, c: u32, d: u32) -> Duration {
        let tspec = Tspec::new(1_000.0, bucket, peak, 100, 100).unwrap();
        let flowspec = Flowspec::guaranteed(tspec, rate, 0).unwrap();
        let terms = ErrorTerms { c_total: c, d_total: d, ..ErrorTerms::default() };
        delay_bound(&flowspec, &terms).unwrap()
    }

    /// The two cases of the formula, computed by hand; without a known peak rate it is `b/R + C/R + D`.
    #[test]
    fn bounds_follow_rfc_2212() {
        let infinite = f32::INFINITY;
        assert_eq!(bound(300.0, infinite, 1_000.0, 0, 0), Duration::from_millis(300));
        assert_eq!(bound(300.0, infinite, 2_000.0, 100, 7_000), Duration::from_millis(150 + 50 + 7));
        // (300-100)/2000*(5000-2000)/(5000-1000) = 75 ms, and (100+100)/2000 = 100 ms.
        assert_eq!(bound(300.0, 5_000.0, 2_000.0, 100, 0), Duration::from_millis(175));
        // p <= R: only (M+C)/R + D.
        assert_eq!(bound(300.0, 2_000.0, 2_000.0, 100, 1_000), Duration::from_millis(101));
        assert_eq!(bound(50.0, infinite, 1_000.0, 0, 0), Duration::from_millis(100));
    }

    /// Controlled load has no bound.
    #[test]
    fn controlled_load_has_no_bound() {
        let tspec = Tspec::new(1_000.0, 100.0, 1e6, 100, 100).unwrap();
        let flowspec = Flowspec::controlled_load(tspec);
        assert_eq!(delay_bound(&flowspec, &ErrorTerms::default()), None);
    }
}
