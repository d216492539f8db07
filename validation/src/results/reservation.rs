//! What was measured of reservations, and what is claimed of them.

use serde::Serialize;

use super::Claim;
use crate::figures::median;
use crate::scale::Memory;

/// Least factor between the 99th percentiles of the queuing delay without and with the reservation.
const LEAST_GAIN: f64 = 5.0;
/// Most that the median spacing differs from that of the token bucket, percent.
const MOST_SPACING_PERCENT: f64 = 5.0;
/// Most that the router's memory grows while reservations are refreshed, KiB.
const MOST_HELD_GROWTH_KIB: f64 = 512.0;

/// What was measured once in each run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Reservations {
    /// Streams that a token bucket shapes.
    pub(crate) spacings: Vec<Spacing>,
    /// Calls under cross traffic.
    pub(crate) trials: Vec<Trial>,
}

/// The distance in time between arrivals of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spacing {
    /// From 1.
    pub(crate) run: u32,
    /// Whether the kernel shaped it, and not the program.
    pub(crate) in_kernel: bool,
    /// Octets of UDP payload of a packet.
    pub(crate) payload: u32,
    /// Token rate, octets of payload.
    pub(crate) octets_per_second: u32,
    /// Pairs of consecutive packets that both arrived.
    pub(crate) gaps: u64,
    /// The spacing of the token bucket.
    pub(crate) ideal_ns: f64,
    /// Pairs whose spacing is within 5 % of that.
    pub(crate) within_5_percent: u64,
    pub(crate) p1_ns: i64,
    pub(crate) median_ns: i64,
    pub(crate) p99_ns: i64,
}

/// A call under cross traffic: its queuing delay in the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Trial {
    /// From 1.
    pub(crate) run: u32,
    pub(crate) reserved: bool,
    pub(crate) received: u64,
    pub(crate) lost: u64,
    pub(crate) median_ns: f64,
    pub(crate) p99_ns: f64,
    pub(crate) max_ns: f64,
}

/// Reservations that were held.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Held {
    pub(crate) flows: u64,
    pub(crate) seconds: u64,
    /// Reservations that the router made, removed and refused until the end.
    pub(crate) reserved: u64,
    pub(crate) removed: u64,
    pub(crate) refused: u64,
    /// Memory of the router.
    pub(crate) memory: Memory,
}

impl Spacing {
    /// By how much the median differs from the token bucket's spacing, percent.
    #[expect(clippy::cast_precision_loss, reason = "a spacing of less than an hour")]
    fn error_percent(&self) -> f64 {
        (self.median_ns as f64 / self.ideal_ns - 1.0).abs() * 100.0
    }
}

impl Reservations {
    /// The gain of each run: how many times the 99th percentile is larger without the reservation.
    pub(crate) fn gains(&self) -> Vec<f64> {
        let of = |reserved| self.trials.iter().filter(move |trial| trial.reserved == reserved);
        of(false).zip(of(true)).map(|(without, with)| without.p99_ns / with.p99_ns.max(1.0)).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of packets are below 2^53")]
    pub(crate) fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        if let Some(gain) = median(&self.gains()) {
            claims.push(Claim::at_least(
                "on a line of 128 kbit/s with cross traffic, the 99th percentile of a call's queuing delay is at least 5 times that \
                 with a reservation (median of the runs)",
                "appendix D".into(),
                gain,
                LEAST_GAIN,
            ));
            let lost: u64 = self.trials.iter().filter(|trial| trial.reserved).map(|trial| trial.lost).sum();
            claims.push(
                Claim::at_most(
                    "a call with a reservation loses no packet",
                    "all runs".into(),
                    lost as f64,
                    0.0,
                )
                .in_units("count"),
            );
        }
        for spacing in self.spacings.iter().filter(|spacing| spacing.run == 1) {
            let same = self
                .spacings
                .iter()
                .filter(|other| (other.payload, other.in_kernel) == (spacing.payload, spacing.in_kernel));
            let errors: Vec<f64> = same.map(Spacing::error_percent).collect();
            let who = if spacing.in_kernel { "kernel" } else { "program" };
            if let Some(error) = median(&errors) {
                claims.push(
                    Claim::at_most(
                        "the spacing of a shaped stream is within 5 % of the token bucket's (median spacing, median of the runs)",
                        format!("{who}, {} B at {} B/s", spacing.payload, spacing.octets_per_second),
                        error,
                        MOST_SPACING_PERCENT,
                    )
                    .in_units("percent"),
                );
            }
        }
        claims
    }
}

impl Held {
    #[expect(clippy::cast_precision_loss, reason = "counts of flows and of KiB are below 2^53")]
    pub(crate) fn claims(&self) -> Vec<Claim> {
        let subject = format!("{} reservations, {} s", self.flows, self.seconds);
        let missing = self.flows.abs_diff(self.reserved) + self.removed + self.refused;
        vec![
            Claim::at_most(
                "reservations are held as long as they are refreshed: missing, removed and refused ones",
                subject.clone(),
                missing as f64,
                0.0,
            )
            .in_units("count"),
            Claim::at_most(
                "the memory of the router does not grow while reservations are refreshed",
                subject,
                self.memory.growth_kib() as f64,
                MOST_HELD_GROWTH_KIB,
            )
            .in_units("kib"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(run: u32, reserved: bool, p99_ns: f64, lost: u64) -> Trial {
        Trial { run, reserved, received: 1_000 - lost, lost, median_ns: 1.0, p99_ns, max_ns: p99_ns }
    }

    /// The gain is that of each run, and a packet that is lost with the reservation breaks the claim.
    #[test]
    fn gains_are_of_one_run() {
        let mut found = Reservations::default();
        for (run, without, with) in [(1, 50.0, 10.0), (2, 40.0, 10.0), (3, 70.0, 10.0)] {
            found.trials.push(trial(run, false, without, 9));
            found.trials.push(trial(run, true, with, 0));
        }
        assert_eq!(found.gains(), [5.0, 4.0, 7.0]);
        assert!(found.claims().iter().all(|claim| claim.passed));
        found.trials.push(trial(4, false, 50.0, 0));
        found.trials.push(trial(4, true, 10.0, 1));
        assert!(!found.claims()[1].passed);
    }

    /// The median spacing counts, beside that of the same stream and shaper.
    #[test]
    fn spacings_are_compared_with_the_bucket() {
        let spacing = |run, in_kernel, median_ns| Spacing {
            run,
            in_kernel,
            payload: 64,
            octets_per_second: 16_000,
            gaps: 99,
            ideal_ns: 4e6,
            within_5_percent: 99,
            p1_ns: 0,
            median_ns,
            p99_ns: 0,
        };
        let found = Reservations {
            spacings: vec![
                spacing(1, true, 4_100_000),
                spacing(2, true, 4_150_000),
                spacing(1, false, 4_400_000),
            ],
            trials: Vec::new(),
        };
        let passed: Vec<bool> = found.claims().iter().map(|claim| claim.passed).collect();
        assert_eq!(passed, [true, false]);
    }

    /// A reservation that the router removed, or never made, breaks the claim.
    #[test]
    fn held_reservations_are_all_there() {
        let held = Held {
            flows: 200,
            seconds: 600,
            reserved: 200,
            removed: 0,
            refused: 0,
            memory: Memory::default(),
        };
        assert!(held.claims().iter().all(|claim| claim.passed));
        for lacking in
            [Held { reserved: 199, ..held }, Held { removed: 1, ..held }, Held { refused: 1, ..held }]
        {
            assert!(!lacking.claims()[0].passed, "{lacking:?}");
        }
    }
}
