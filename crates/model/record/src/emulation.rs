//! The document of an emulation (`romer/emulation/1`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::port_direction::PortDirection;
use crate::summary::Summary;
use crate::warning::EmulationWarning;

/// The name of the emulation document's schema.
pub const EMULATION: &str = "romer/emulation/1";

/// The requested emulation, and what the emulator did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Emulation {
    /// `romer/emulation/1`.
    pub schema: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended, RFC 3339; the time of the request if it still runs.
    pub ended: String,
    /// What ended it, where that was neither the end of its time nor the user: a port that is gone.
    pub ended_by: Option<String>,
    /// Six numbers that replay every decision of chance.
    pub seed: [u32; 6],
    /// How chance came about: `counter`, `mrg` or `mrg32k3a`.
    pub generator: String,
    /// How packets came in and went out: `packet`, `xdp-native` or `xdp-generic`, or `offline` for files.
    pub data_plane: String,
    /// What was requested, as a scenario file says it; where everything passed through untouched at the end, what was requested
    /// before that.
    pub scenario: String,
    /// Since when everything passed through unchanged until the end (the console's master switch was off), RFC 3339;
    /// `null` if the scenario was in force at the end.
    #[serde(default)]
    pub passing_since: Option<String>,
    /// The ports, by letter.
    pub ports: BTreeMap<String, EmulatedPort>,
    /// The scenarios in their order, if there were several; the first is that of the start.
    #[serde(default)]
    pub changes: Vec<EmulationChange>,
    /// What arrived at a.
    pub a_to_b: EmulatedDirection,
    /// What arrived at b.
    pub b_to_a: EmulatedDirection,
    /// What a reader should know before relying on the figures.
    #[serde(default)]
    pub warnings: Vec<EmulationWarning>,
}

/// A scenario that was put in force, or stored from then on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulationChange {
    /// 1 for that of the start, one more with each change.
    pub revision: u64,
    /// When, RFC 3339.
    pub at: String,
    /// As a scenario file says it.
    pub scenario: String,
    /// From then on everything passed through unchanged, and the scenario was stored only.
    #[serde(default)]
    pub passing: bool,
}

/// The name of the schema of what is kept of an emulation with a measurement that passed through it.
pub const EMULATED: &str = "romer/emulated/1";

/// The emulation that a measurement passed through: `emulated.json` in its folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Emulated {
    /// `romer/emulated/1`.
    pub schema: String,
    /// Which of the emulation's directions the packets took that went there.
    pub there: PortDirection,
    /// Port a, `[NETNS/]IFACE`.
    pub a: String,
    /// Port b.
    pub b: String,
    /// Six numbers that replay every decision of chance.
    pub seed: [u32; 6],
    /// What was requested when the measurement began, as a scenario file says it.
    pub scenario: String,
    /// Everything passed through unchanged then, and the scenario was stored only.
    pub passing: bool,
    /// Another scenario was put in force, or the emulation ended, before the measurement did; `null` where the
    /// measurement was killed.
    pub changed: Option<bool>,
    /// Since when the scenario had been in force, nanoseconds: when the measurement began, and when it ended (as when it
    /// began, where it was killed). Its timeline was there then. `null` in documents of older versions.
    #[serde(default)]
    pub in_force_ns: Option<[u64; 2]>,
    /// What arrived at a while it was measured, other packets included; `null` where that is not known.
    pub a_to_b: Option<EmulatedCounts>,
    /// What arrived at b.
    pub b_to_a: Option<EmulatedCounts>,
}

/// Outcome of packets within a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulatedCounts {
    /// Packets that arrived.
    pub received: u64,
    /// Packets and copies that left.
    pub transmitted: u64,
    /// Copies that were made.
    pub duplicates_created: u64,
    /// Packets and copies that did not leave, by cause.
    pub lost: BTreeMap<String, u64>,
    /// Packets that left damaged.
    pub corrupted: u64,
    /// Packets that others overtook.
    pub reordered: u64,
    /// Octets of the frames that the port received, with their check sequences, by the interface's own count; `null`
    /// where that is not known.
    #[serde(default)]
    pub received_octets: Option<u64>,
    /// Octets of the frames that the other port sent.
    #[serde(default)]
    pub transmitted_octets: Option<u64>,
    /// Mean of the requested delays of transmitted packets; `null` if none was transmitted, or if the summaries were
    /// reset in this time.
    #[serde(default)]
    pub requested_delay_mean_ns: Option<f64>,
    /// Mean of the delays, without the rate's queue.
    #[serde(default)]
    pub actual_delay_mean_ns: Option<f64>,
    /// Mean of the delays that packets got here in all, from arrival to departure.
    #[serde(default)]
    pub total_delay_mean_ns: Option<f64>,
    /// Mean of the times in the rate's queue, of packets that met a rate; `null` where none did.
    #[serde(default)]
    pub rate_queue_mean_ns: Option<f64>,
}

/// A port, and what was changed on it for the time of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulatedPort {
    /// `[NETNS/]IFACE`.
    pub interface: String,
    /// The bridge that it was taken out of and put back into; `null`: it was in none.
    pub taken_from_bridge: Option<String>,
    /// Whether offloads were switched off and on again.
    pub offloads_switched_off: bool,
}

/// One direction. Always and exactly: received + duplicates_created = transmitted + queued + the sum of lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulatedDirection {
    /// Packets that arrived, those that the kernel dropped before the emulator had them included.
    pub received: u64,
    /// Packets and copies that left.
    pub transmitted: u64,
    /// Packets and copies in the emulator; 0 at the end.
    pub queued: u64,
    /// Copies made.
    pub duplicates_created: u64,
    /// By cause: `model`, `trace`, `queue`, `oversize`, `undeliverable`, `kernel`, `shutdown`.
    pub lost: BTreeMap<String, u64>,
    /// Of those that left, how many with bits turned over.
    pub corrupted: u64,
    /// Packets and copies that others went past because they were displaced by the reordering stage.
    pub reordered: u64,
    /// Packets and copies that left after one that had arrived later, whatever the cause (RFC 4737's reordered packets,
    /// seen at the port).
    #[serde(default)]
    pub overtaken: u64,
    /// Share of the delayed packets and copies that waited longer than their delay so as not to overtake; `null` where
    /// none was delayed.
    pub order_delayed_ratio: Option<f64>,
    /// With the exact order, and for correlated delays: correlation time; `null` if unknown.
    #[serde(default)]
    pub correlation_time_ns: Option<f64>,
    /// With the exact order, and for correlated delays: effective sample size; `null` if unknown, and for a
    /// distribution without a variance.
    #[serde(default)]
    pub effective_values: Option<f64>,
    /// Delays requested, of packets that left.
    pub requested_delay_ns: Summary,
    /// From when a packet was let into the delay stage until it was given to the port, without the rate queue.
    pub actual_delay_ns: Summary,
    /// From when a packet arrived until it was given to the port: the delay that it got here in all, with its waiting for
    /// the rate and, of displaced packets and copies, with what they waited before the delay stage.
    #[serde(default)]
    pub total_delay_ns: Summary,
    /// Departure minus the time at which the packet was due: the error of the emulator, without the rate queue and the wait for
    /// packet order.
    pub delay_error_ns: Summary,
    /// Wait after the delay, so as not to overtake another packet, of packets that waited.
    #[serde(default)]
    pub order_wait_ns: Summary,
    /// In the queue before the rate, and at the rate, of packets that left and met a rate; those that met none do not
    /// count.
    #[serde(default)]
    pub rate_queue_ns: Summary,
    /// Between arrivals.
    pub inter_arrival_ns: Summary,
    /// Between departures.
    pub inter_departure_ns: Summary,
    /// Packets and copies in the emulator when each packet arrived, without itself and its copies.
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
