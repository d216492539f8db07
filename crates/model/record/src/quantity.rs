//! The numbers of a benchmark's results that limits name: `loss_ratio`, `latency_p99_ns.max`.

use crate::metric::{Alias, Unit, alias};

/// A number of a benchmark's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// As results have it.
    pub name: &'static str,
    /// As sentences name it.
    pub label: &'static str,
    /// What its numbers are.
    pub unit: Unit,
    /// What it means, in a few words.
    pub meaning: &'static str,
}

const fn quantity(name: &'static str, label: &'static str, unit: Unit, meaning: &'static str) -> Quantity {
    Quantity { name, label, unit, meaning }
}

/// Every quantity that results of a benchmark may be of.
pub const QUANTITIES: [Quantity; 20] = [
    quantity(
        "throughput_percent",
        "throughput",
        Unit::Percent,
        "highest load without loss, of the line rate (RFC 2544)",
    ),
    quantity("throughput_pps", "throughput", Unit::FrameRate, "the same in frames per second"),
    quantity(
        "conditional_throughput_percent",
        "conditional throughput",
        Unit::Percent,
        "forwarding rate at that load (MLRsearch)",
    ),
    quantity("forwarded_percent", "forwarded load", Unit::Percent, "forwarded load, of the line rate"),
    quantity(
        "forwarded_payload_percent",
        "forwarded payload",
        Unit::Percent,
        "forwarded payload, of the line rate",
    ),
    quantity("forwarded_pps", "forwarded frames", Unit::FrameRate, "forwarded frames per second"),
    quantity("loss_ratio", "loss ratio", Unit::Ratio, "lost frames / sent frames"),
    quantity("latency_mean_ns", "mean latency", Unit::Time, "mean latency of a trial"),
    quantity("latency_median_ns", "median latency", Unit::Time, "median latency of a trial"),
    quantity("latency_p99_ns", "p99 latency", Unit::Time, "99 % quantile of the latency of a trial"),
    quantity("latency_max_ns", "maximum latency", Unit::Time, "maximum latency of a trial"),
    quantity(
        "jitter_delay_difference_ns",
        "mean |IPDV|",
        Unit::Time,
        "mean |IPDV|, absolute delay difference of consecutive frames",
    ),
    quantity(
        "jitter_deviation_from_mean_ns",
        "mean deviation of the latency",
        Unit::Time,
        "mean absolute deviation from the mean latency",
    ),
    quantity(
        "jitter_inter_arrival_difference_ns",
        "mean difference of inter-arrival times",
        Unit::Time,
        "mean absolute difference of consecutive inter-arrival times",
    ),
    quantity("jitter_peak_to_peak_ns", "range of the latency", Unit::Time, "maximum minus minimum latency"),
    quantity("burst_frames", "longest burst", Unit::Count, "longest burst without loss (RFC 9004)"),
    quantity("corrected_buffer_ns", "corrected buffer time", Unit::Time, "corrected buffer time (RFC 9004)"),
    quantity(
        "recovery_ns",
        "recovery time",
        Unit::Time,
        "time until losses end after an overload (RFC 2544)",
    ),
    quantity(
        "reset_by_loss_ns",
        "reset time by losses",
        Unit::Time,
        "reset time, from the number of lost frames (RFC 6201)",
    ),
    quantity(
        "reset_by_times_ns",
        "reset time by time stamps",
        Unit::Time,
        "reset time, from time stamps (RFC 6201)",
    ),
];

/// Every alias of a quantity.
pub const QUANTITY_ALIASES: [Alias; 6] = [
    alias("throughput", "throughput_percent"),
    alias("loss", "loss_ratio"),
    alias("latency", "latency_mean_ns"),
    alias("jitter", "jitter_delay_difference_ns"),
    alias("burst", "burst_frames"),
    alias("recovery", "recovery_ns"),
];

/// The statistics of a quantity over its repeats.
pub const QUANTITY_STATISTICS: [&str; 5] = ["mean", "min", "max", "median", "stddev"];

impl Quantity {
    /// The quantity of this name, or of this alias.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = QUANTITY_ALIASES.iter().find(|alias| alias.name == name).map_or(name, |alias| alias.path);
        QUANTITIES.iter().find(|quantity| quantity.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each alias of a quantity stands for one.
    #[test]
    fn quantity_aliases_stand_for_quantities() {
        for Alias { name, path } in QUANTITY_ALIASES {
            assert_eq!(Quantity::named(name).map(|quantity| quantity.name), Some(path));
        }
        assert_eq!(Quantity::named("mos"), None);
    }
}
