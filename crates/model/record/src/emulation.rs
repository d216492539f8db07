//! The document of an emulation (`romer/emulation/1`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::port_direction::PortDirection;
use crate::summary::Summary;
use crate::warning::{EmulationWarning, RefitEvent};

/// The name of the emulation document's schema.
pub const EMULATION: &str = "romer/emulation/1";

/// Results of an emulation: the requested scenario and the counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Emulation {
    /// `romer/emulation/1`.
    pub schema: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// End time, RFC 3339; the current time if the emulation is running.
    pub ended: String,
    /// Fault that ended the emulation early, such as a removed port.
    pub ended_by: Option<String>,
    /// Seed of the random decisions: six numbers.
    pub seed: [u32; 6],
    /// Random number generator: `counter`, `mrg` or `mrg32k3a`.
    pub generator: String,
    /// Packet I/O: `packet`, `xdp-native` or `xdp-generic`; `offline` for files.
    pub data_plane: String,
    /// Scenario, with the keys of a scenario file; if impairments were off at the end, the stored scenario.
    pub scenario: String,
    /// Time since which impairments were off (packets passed unchanged) until the end, RFC 3339; `null` if
    /// the scenario applied at the end.
    #[serde(default)]
    pub impairments_off_since: Option<String>,
    /// Ports, by letter.
    pub ports: BTreeMap<String, EmulatedPort>,
    /// Scenarios of the run in their order, if there were several; the first is that of the start.
    #[serde(default)]
    pub changes: Vec<EmulationChange>,
    /// Refits of the scenario to a measured path (`--follow`), one a period, in their order; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refits: Vec<RefitEvent>,
    /// Packets that arrived at port a.
    pub a_to_b: EmulatedDirection,
    /// Packets that arrived at port b.
    pub b_to_a: EmulatedDirection,
    /// Warnings about the results.
    #[serde(default)]
    pub warnings: Vec<EmulationWarning>,
}

/// A scenario that was applied, or stored while impairments were off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulationChange {
    /// Number of the scenario: 1 at the start, one more with each change.
    pub revision: u64,
    /// Time of the change, RFC 3339.
    pub at: String,
    /// Scenario, with the keys of a scenario file.
    pub scenario: String,
    /// Whether impairments were off: packets passed unchanged, and the scenario was stored only.
    #[serde(default)]
    pub impairments_off: bool,
}

/// The name of the schema of what is kept of an emulation with a measurement that passed through it.
pub const EMULATED: &str = "romer/emulated/1";

/// Emulation that a measurement passed through: `emulated.json` in its folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Emulated {
    /// `romer/emulated/1`.
    pub schema: String,
    /// Direction of the emulation that forward packets passed: `a_to_b` or `b_to_a`.
    pub forward_direction: PortDirection,
    /// Port a, `[NETNS/]IFACE`.
    pub a: String,
    /// Port b, `[NETNS/]IFACE`.
    pub b: String,
    /// Seed of the random decisions: six numbers.
    pub seed: [u32; 6],
    /// Scenario at the start of the measurement, with the keys of a scenario file.
    pub scenario: String,
    /// Whether impairments were off at the start of the measurement: packets passed unchanged.
    pub impairments_off: bool,
    /// Whether the scenario changed, or the emulation ended, during the measurement; `null` if the
    /// measurement was killed.
    pub changed: Option<bool>,
    /// Time since the scenario was applied, nanoseconds, at the start and at the end of the measurement
    /// (twice that of the start if the measurement was killed). It is the position in the timeline. `null` in
    /// documents of older versions.
    #[serde(default)]
    pub in_force_ns: Option<[u64; 2]>,
    /// Counters during the measurement of all packets that arrived at port a; `null` if unknown.
    pub a_to_b: Option<EmulatedCounts>,
    /// Counters during the measurement of all packets that arrived at port b; `null` if unknown.
    pub b_to_a: Option<EmulatedCounts>,
}

/// Counters of one direction during a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulatedCounts {
    /// Packets that arrived.
    pub received: u64,
    /// Packets and duplicates transmitted.
    pub transmitted: u64,
    /// Duplicates created.
    pub duplicates_created: u64,
    /// Lost packets and duplicates, by cause.
    pub lost: BTreeMap<String, u64>,
    /// Packets transmitted with inverted bits.
    pub corrupted: u64,
    /// Displaced packets that others overtook.
    pub reordered: u64,
    /// Bytes of the frames that the port received, including FCS, from the interface counter; `null` if
    /// unknown.
    #[serde(default)]
    pub received_octets: Option<u64>,
    /// Bytes of the frames that the other port sent, including FCS, from the interface counter; `null` if
    /// unknown.
    #[serde(default)]
    pub transmitted_octets: Option<u64>,
    /// Mean of the requested delays of transmitted packets, nanoseconds; `null` if none was transmitted, or
    /// if the summaries were reset meanwhile.
    #[serde(default)]
    pub requested_delay_mean_ns: Option<f64>,
    /// Mean of the actual delays without the rate queue, nanoseconds.
    #[serde(default)]
    pub actual_delay_mean_ns: Option<f64>,
    /// Mean of the total delays from arrival to departure, nanoseconds.
    #[serde(default)]
    pub total_delay_mean_ns: Option<f64>,
    /// Mean wait in the rate queue and transmission time, nanoseconds, of packets with a rate limit; `null`
    /// if there were none.
    #[serde(default)]
    pub rate_queue_mean_ns: Option<f64>,
}

/// A port, and its changes during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulatedPort {
    /// Interface, `[NETNS/]IFACE`.
    pub interface: String,
    /// Bridge from which the interface was removed during the run; `null` if it was in none.
    pub removed_from_bridge: Option<String>,
    /// Whether offloads were disabled during the run and enabled again.
    pub offloads_switched_off: bool,
}

/// Counters and statistics of one direction. Always: received + duplicates_created = transmitted + queued +
/// the sum of lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulatedDirection {
    /// Packets that arrived, including those that the kernel dropped before the emulator read them.
    pub received: u64,
    /// Packets and duplicates transmitted.
    pub transmitted: u64,
    /// Packets and duplicates in the emulator; 0 at the end.
    pub queued: u64,
    /// Duplicates created.
    pub duplicates_created: u64,
    /// Lost packets and duplicates, by cause: `model`, `trace`, `queue`, `oversize`, `undeliverable`,
    /// `kernel`, `shutdown`.
    pub lost: BTreeMap<String, u64>,
    /// Transmitted packets and duplicates with inverted bits.
    pub corrupted: u64,
    /// Packets and duplicates displaced by the reordering stage and overtaken by others.
    pub reordered: u64,
    /// Packets and duplicates transmitted after one that had arrived later, whatever the cause (reordered
    /// packets of RFC 4737, at the output port).
    #[serde(default)]
    pub overtaken: u64,
    /// Share of the delayed packets and duplicates that waited longer than their delay to preserve the packet
    /// order; `null` if none was delayed.
    pub order_delayed_ratio: Option<f64>,
    /// Correlation time of the delays, nanoseconds, for the order `exact` and for correlated delays; `null`
    /// if unknown.
    #[serde(default)]
    pub correlation_time_ns: Option<f64>,
    /// Effective sample size of the delays, for the order `exact` and for correlated delays; `null` if
    /// unknown, and for a distribution without finite variance.
    #[serde(default)]
    pub effective_values: Option<f64>,
    /// Requested delays of transmitted packets, nanoseconds.
    pub requested_delay_ns: Summary,
    /// Actual delay, nanoseconds: from the input of the delay stage to the transmission, without the rate
    /// queue.
    pub actual_delay_ns: Summary,
    /// Total delay from arrival to transmission, nanoseconds, including the rate queue and the wait of
    /// displaced packets and duplicates before the delay stage.
    #[serde(default)]
    pub total_delay_ns: Summary,
    /// Error of the emulator, nanoseconds: transmission minus the time at which the packet was due. It excludes the wait for packet
    /// order (`fifo`).
    pub delay_error_ns: Summary,
    /// Wait for packet order after the delay, nanoseconds, of packets that waited.
    #[serde(default)]
    pub order_wait_ns: Summary,
    /// Wait in the rate queue and transmission time, nanoseconds, of transmitted packets with a rate limit.
    #[serde(default)]
    pub rate_queue_ns: Summary,
    /// Time between consecutive arrivals, nanoseconds.
    pub inter_arrival_ns: Summary,
    /// Time between consecutive departures, nanoseconds.
    pub inter_departure_ns: Summary,
    /// Packets and duplicates in the emulator at the arrival of each packet, without that packet and its
    /// duplicates.
    pub queue_depth: Summary,
}

impl EmulatedDirection {
    /// Whether every packet is accounted for.
    pub fn balances(&self) -> bool {
        let came = [self.received, self.duplicates_created].map(u128::from).iter().sum::<u128>();
        let went = [self.transmitted, self.queued].into_iter().chain(self.lost.values().copied());
        came == went.map(u128::from).sum()
    }

    /// With what share a packet or copy is lost on its whole way: of the packets that arrived those that the kernel, the
    /// loss stage or a trace lost; and of what was left, with its copies, which are made after those losses and never meet
    /// them, those lost behind it. `None` where nothing arrived.
    #[expect(clippy::cast_precision_loss, reason = "a share of counts")]
    pub fn loss_ratio(&self) -> Option<f64> {
        let (mut first, mut later) = (0_u64, 0_u64);
        for (cause, lost) in &self.lost {
            let is_first = ["kernel", "model", "trace"].contains(&cause.as_str());
            let sum = if is_first { &mut first } else { &mut later };
            *sum = sum.saturating_add(*lost);
        }
        let share = |part: u64, whole: u64| (whole > 0).then(|| (part as f64 / whole as f64).min(1.0));
        let before = share(first, self.received)?;
        let behind =
            share(later, self.received.saturating_sub(first).saturating_add(self.duplicates_created));
        Some(before + (1.0 - before) * behind.unwrap_or(0.0))
    }
}

/// A packet or a copy, and its outcome: a line of an emulator's samples, as far as figures need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulatedPacket {
    /// Which arrival of its port it was, from 0.
    pub ordinal: u64,
    /// 0 for the packet itself, from 1 for its copies.
    pub copy: u8,
    /// When it arrived, nanoseconds.
    pub arrival_ns: i64,
    /// When it left; `None` where it did not.
    pub departure_ns: Option<i64>,
    /// The delay that was requested; `None` where it was lost before there was one.
    pub requested_delay_ns: Option<i64>,
    /// Whether it was lost.
    pub is_lost: bool,
}

/// The mean of what came to a sample, whose number and mean are known before and after; `None` where nothing came, or fewer
/// are known of than before.
#[expect(clippy::cast_precision_loss, reason = "counts of packets, as weights")]
pub fn mean_between(was: (u64, Option<f64>), is: (u64, Option<f64>)) -> Option<f64> {
    let came = is.0.checked_sub(was.0).filter(|came| *came > 0)?;
    let before = was.1.map_or(0.0, |mean| mean * was.0 as f64);
    Some((is.1? * is.0 as f64 - before) / came as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_no_part_of_what_the_loss_stage_had_before_it() {
        let lost = |causes: &[(&str, u64)]| -> BTreeMap<String, u64> {
            causes.iter().map(|(cause, lost)| ((*cause).to_owned(), *lost)).collect()
        };
        let mut one = EmulatedDirection {
            received: 1_605,
            duplicates_created: 975,
            transmitted: 1_950,
            lost: lost(&[("model", 630), ("queue", 0)]),
            ..EmulatedDirection::default()
        };
        assert!(one.balances());
        assert!((one.loss_ratio().unwrap() - 630.0 / 1_605.0).abs() < 1e-12);
        // A fifth of what comes to the queue is lost there, whoever it is a copy of.
        (one.transmitted, one.lost) = (1_560, lost(&[("model", 605), ("kernel", 25), ("queue", 390)]));
        assert!((one.loss_ratio().unwrap() - (1.0 - 975.0 / 1_605.0 * 0.8)).abs() < 1e-12);
        assert_eq!(EmulatedDirection::default().loss_ratio(), None);
    }
}
