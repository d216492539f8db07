//! The circumstances of a measurement: hosts, clocks, the way between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts, command, comment and route of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    /// Comment of the user.
    pub comment: Option<String>,
    /// Name of the initiator's host.
    pub host: String,
    /// Kernel version of the initiator's host.
    pub kernel: String,
    /// Driver of the outgoing interface.
    pub nic_driver: Option<String>,
    /// Clock source of the initiator's kernel.
    pub clock_source: Option<String>,
    /// Synchronisation of the initiator's clock at the start.
    pub clock_sync: ClockSync,
    /// The same at the end; omitted if the run did not come to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_sync_end: Option<ClockSync>,
    /// The route to the target, hop by hop, at the start and at the end; `null` if not requested.
    pub route: Option<Vec<Hop>>,
    /// Equivalent command line.
    pub command: String,
    /// Version of romer.
    pub software: String,
    /// Version of romer at the responder; `null` for other reflectors.
    pub responder_software: Option<String>,
    /// Synchronisation of the responder's clock at the start, if its romer reports it.
    #[serde(default)]
    pub responder_clock_sync: Option<ClockSync>,
    /// The same at the end; omitted if it was not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responder_clock_sync_end: Option<ClockSync>,
}

impl Metadata {
    /// Bounds of the errors of both clocks, nanoseconds, the initiator's first: the largest of each host during the run, as far as
    /// it is known. `None` if either host stated none at the start.
    pub fn clock_bounds_ns(&self) -> Option<[i64; 2]> {
        let bound = |start: Option<&ClockSync>, end: Option<&ClockSync>| {
            let at_start = start?.error_bound_ns()?;
            Some(end.and_then(|end| end.largest_error_bound_ns).unwrap_or(at_start))
        };
        let initiator = bound(Some(&self.clock_sync), self.clock_sync_end.as_ref())?;
        let responder = bound(self.responder_clock_sync.as_ref(), self.responder_clock_sync_end.as_ref())?;
        Some([initiator, responder])
    }
}

/// Synchronisation of a host's clock, as reported by the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockSync {
    /// Whether the clock is synchronised, according to the kernel.
    pub synchronised: Option<bool>,
    /// Estimated error of the clock by the kernel, nanoseconds.
    pub estimated_error_ns: Option<i64>,
    /// Maximum error of the clock by the kernel, nanoseconds.
    pub maximum_error_ns: Option<i64>,
    /// State of the clock by the kernel (adjtimex): `ok`, `leap-second` or `error`.
    #[serde(default)]
    pub state: Option<String>,
    /// Frequency correction by the kernel, ppm: positive if the clock is sped up.
    #[serde(default)]
    pub frequency_ppm: Option<f64>,
    /// TAI minus this clock, seconds; 0 if the kernel does not know it.
    #[serde(default)]
    pub tai_offset_s: Option<i32>,
    /// Running synchronisation daemons: `chronyd`, `ntpd`, `ntpd-rs`, `systemd-timesyncd`, `ptp4l`,
    /// `phc2sys`; and `gpsd`, which gives one of them the time of a receiver.
    #[serde(default)]
    pub sync_daemons: Vec<String>,
    /// State reported by chrony; `null` if it does not run or answer.
    #[serde(default)]
    pub chrony: Option<Chrony>,
    /// State of PTP as reported by ptp4l; `null` if it does not run or answer (it answers root only). It states no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptp: Option<Ptp>,
    /// Pulse per second; `null` if the host has no source of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pps: Option<Pps>,
    /// Largest bound of the clock's error during the run, nanoseconds; omitted at the start, and without a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_error_bound_ns: Option<i64>,
}

impl ClockSync {
    /// Daemons that tell the kernel, or `romer`, an error bound that includes that of their reference. Others steer a clock and
    /// state none: the kernel's maximum error then starts at 0.
    const BOUNDING: [&'static str; 3] = ["chronyd", "ntpd", "ntpd-rs"];

    /// Bound of the clock's error, nanoseconds; `None` if the host states none. It is chrony's, if it follows a reference, or else
    /// the maximum error of the kernel.
    pub fn error_bound_ns(&self) -> Option<i64> {
        let by_chrony =
            || Some(self.chrony.as_ref()?).filter(|chrony| chrony.stratum > 0).map(|chrony| chrony.bound_ns);
        let states_bound = || self.sync_daemons.iter().any(|name| Self::BOUNDING.contains(&name.as_str()));
        let by_kernel = || self.maximum_error_ns.filter(|_| states_bound());
        if !self.is_kept() {
            return None;
        }
        by_chrony().or_else(by_kernel).filter(|bound| *bound > 0)
    }

    /// Bound that chrony states although the kernel does not report the clock as synchronised, nanoseconds: chronyd does not steer the clock
    /// (`-x`), or does not report it to the kernel as synchronised (no `rtcsync`). [`Self::error_bound_ns`] is `None` then.
    pub fn unconfirmed_bound_ns(&self) -> Option<i64> {
        let chrony = self.chrony.as_ref().filter(|chrony| chrony.stratum > 0 && chrony.bound_ns > 0)?;
        (!self.is_kept()).then_some(chrony.bound_ns)
    }

    /// Whether the kernel states the clock as synchronised, without an error.
    pub fn is_kept(&self) -> bool {
        self.synchronised == Some(true) && self.state.as_deref() != Some("error")
    }

    /// The reference that chrony follows; empty without one.
    pub fn reference(&self) -> Option<&str> {
        self.chrony.as_ref().map(|chrony| chrony.reference.as_str())
    }
}

/// State of the clock as reported by chrony.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chrony {
    /// Reference server; empty if none.
    pub reference: String,
    /// Distance from a reference clock; 0 without a reference.
    pub stratum: u8,
    /// Offset of the clock by chrony, nanoseconds: positive if the clock is behind, negative if it is ahead.
    pub offset_ns: i64,
    /// Maximum error of the clock by chrony, nanoseconds. Since its answer it has grown by `skew_ppm` and 1 ppm.
    pub bound_ns: i64,
    /// Uncertainty of the clock rate, ppm.
    pub skew_ppm: f64,
    /// Last update of the clock by chrony, nanoseconds after 1970-01-01 UTC; `null` if there was none.
    #[serde(default)]
    pub updated_ns: Option<i64>,
    /// Time between the last two updates, nanoseconds; `null` if unknown.
    #[serde(default)]
    pub update_interval_ns: Option<i64>,
}

/// State of PTP as reported by ptp4l (`TIME_STATUS_NP` and `PORT_DATA_SET`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ptp {
    /// Identity of the grandmaster; `null` if there is none.
    pub grandmaster: Option<String>,
    /// Offset of the clock that ptp4l steers from its master, nanoseconds.
    pub offset_ns: i64,
    /// State of its first port, such as `SLAVE` or `MASTER`; `null` if unknown.
    pub port_state: Option<String>,
}

/// Pulse per second of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pps {
    /// Names of the sources, such as `pps0`.
    pub sources: Vec<String>,
    /// Whether the kernel disciplines its clock by a pulse that it receives.
    pub signal: bool,
    /// Frequency correction by the pulse, ppm.
    pub frequency_ppm: f64,
    /// Jitter of the pulse by the kernel, nanoseconds.
    pub jitter_ns: i64,
    /// Calibration intervals of the kernel so far.
    pub intervals: i64,
    /// Failed calibration intervals.
    pub errors: i64,
}

/// One hop of the route to the target: the address that reported an expired TTL or hop limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hop {
    /// Number of the hop, from 1.
    pub hop: u8,
    /// Address that replied before the first probe; `null` if none did, or if the path ended before this hop.
    pub at_start: Option<HopAnswer>,
    /// Address that replied after the last probe; `null` if none did, or if the path ended before this hop.
    pub at_end: Option<HopAnswer>,
}

/// Reply from a hop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HopAnswer {
    /// Address of the hop.
    pub address: String,
    /// Whether the address is the target: the path ends here.
    pub target: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bound is that of chrony, or of the kernel if a daemon runs that tells it one; not of a clock that nobody keeps, and not of
    /// daemons that tell the kernel 0.
    #[test]
    fn a_bound_is_stated_by_daemons_that_know_it() {
        let kept = |daemon: &str, maximum_error_ns: i64| ClockSync {
            synchronised: Some(true),
            state: Some("ok".into()),
            maximum_error_ns: Some(maximum_error_ns),
            sync_daemons: vec![daemon.into()],
            ..ClockSync::default()
        };
        let chrony = |stratum| Some(Chrony { stratum, bound_ns: 700_000, ..Chrony::default() });
        assert_eq!(kept("ntpd", 9_000_000).error_bound_ns(), Some(9_000_000));
        assert_eq!(
            ClockSync { chrony: chrony(3), ..kept("chronyd", 40_000_000) }.error_bound_ns(),
            Some(700_000)
        );
        assert_eq!(
            ClockSync { chrony: chrony(0), ..kept("chronyd", 40_000_000) }.error_bound_ns(),
            Some(40_000_000)
        );
        let steered = ClockSync { chrony: chrony(3), ..kept("chronyd", 40_000_000) };
        let left = ClockSync { synchronised: Some(false), ..steered.clone() };
        assert_eq!([&steered, &left].map(ClockSync::error_bound_ns), [Some(700_000), None]);
        assert_eq!([&steered, &left].map(ClockSync::unconfirmed_bound_ns), [None, Some(700_000)]);
        assert_eq!(kept("systemd-timesyncd", 500_000).error_bound_ns(), None);
        assert_eq!(kept("ntpd", 0).error_bound_ns(), None);
        assert_eq!(ClockSync { synchronised: Some(false), ..kept("ntpd", 9_000_000) }.error_bound_ns(), None);
        assert_eq!(
            ClockSync { state: Some("error".into()), ..kept("ntpd", 9_000_000) }.error_bound_ns(),
            None
        );
        assert_eq!(ClockSync::default().error_bound_ns(), None);
    }
}
