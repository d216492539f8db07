//! What a run folder says about itself, written before the first probe so that a killed run can be read.

use std::str::FromStr;

use romer_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration::StampSourceError;
use crate::document::{
    ChecksumErrors, Damage, Metadata, Replies, Synchronisation, SynchronisationSource, Traffic,
};
use crate::event::Event;
pub use crate::incomplete::{EarlyEnd, EntryKind, NotLogged};
use crate::note::LogGap;
use crate::voice::VoiceRequest;
use crate::warning::CalibrationUnused;

/// The name of the manifest's schema.
pub const MANIFEST: &str = "romer/manifest/1";
/// The most streams of a run. Each has threads and sockets while it is measured, and a document.
pub const MOST_STREAMS: usize = 1_024;

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Running, or its process was killed.
    Running,
    /// Ended as requested.
    Complete,
    /// Interrupted; the results up to then are stored.
    Partial,
    /// Its process was killed; the stored entries were recovered from the log.
    Recovered,
}

/// Table of contents of a run folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// `romer/manifest/1`.
    pub schema: String,
    /// Name of the run and its folder.
    pub name: String,
    /// Start time, UTC (RFC 3339).
    pub created: String,
    /// State of the run.
    pub status: Status,
    /// Version of romer that wrote the run.
    pub software: String,
    /// Streams, by stream number.
    pub streams: Vec<Stream>,
}

/// Relation of the two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockRelation {
    /// One clock for both ends (one host, one boot).
    Shared,
    /// Two clocks with unknown offset.
    Unknown,
}

/// Settings and state of a stream that are needed, in addition to its log, to compute its measurement
/// document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stream {
    /// Target as given.
    pub target: String,
    /// Address and port of the target; `null` if the name was not resolved, and for files.
    #[serde(default)]
    pub address: Option<String>,
    /// Scheduled time of the first probe, UTC (RFC 3339).
    pub started: String,
    /// End time, UTC (RFC 3339); `null` while the stream is running.
    pub ended: Option<String>,
    /// Traffic: model, sizes, direction.
    pub traffic: Traffic,
    /// Hosts, command, comment and route.
    pub metadata: Metadata,
    /// Relation of the two clocks.
    pub clock_relation: ClockRelation,
    /// Whether the responder stores records and returns them; without them, the direction of a loss is
    /// unknown.
    pub responder_log: bool,
    /// Whether all records of the responder were received.
    pub responder_log_complete: bool,
    /// Missing records of the responder, with the reason, by direction. Omitted if none are known to be
    /// missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responder_log_gaps: Vec<LogGap>,
    /// Entries missing from this host's packet log. Omitted if none is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_logged: Vec<NotLogged>,
    /// Reason why the stream ended early; `null` if it did not.
    #[serde(default)]
    pub early_end: Option<EarlyEnd>,
    /// Reason why the target, one of several, was not measured; `null` if it was.
    #[serde(default)]
    pub unreachable: Option<String>,
    /// Requested source of the time stamps.
    pub stamp_request: StampRequest,
    /// Requested clock correction, if there are two clocks.
    #[serde(default)]
    pub skew: SkewRequest,
    /// Parameters of the call, as stated by the user.
    #[serde(default)]
    pub voice: VoiceRequest,
    /// Requested limits, as text.
    #[serde(default)]
    pub limits: Vec<String>,
    /// Calibration of the initiator's machine, if there is one.
    #[serde(default)]
    pub calibration: Option<CalibrationUse>,
    /// Set if the initiator's host ignores ICMP errors about packets too long for the path, and some probes
    /// may be too long. The value is that of `net.ipv4.ip_no_pmtu_disc` (2 or 3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_no_pmtu_disc: Option<u32>,
    /// Set if the responder's host ignores ICMP errors about packets too long for the path, and some of its
    /// replies or probes may be too long. The value is that of `net.ipv4.ip_no_pmtu_disc` (2 or 3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responder_ip_no_pmtu_disc: Option<u32>,
    /// Rejected and unusual datagrams at the initiator's port. Omitted if there are none.
    #[serde(default, skip_serializing_if = "Replies::is_empty")]
    pub replies: Replies,
    /// Datagrams that the hosts dropped because of a wrong UDP checksum.
    #[serde(default)]
    pub checksum_errors: ChecksumErrors,
    /// Damaged probes (`--checksum header`). Omitted if they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<Box<Damage>>,
    /// Events of the hosts and of the path during the run.
    #[serde(default)]
    pub events: Vec<Event>,
}

impl Stream {
    /// Renews the synchronisation of the clocks by what both hosts stated until the end, if it follows from that.
    pub fn renew_synchronisation(&mut self) {
        if let Some(stated) = self.skew.synchronisation
            && stated.source == SynchronisationSource::Hosts
        {
            let renewed = Synchronisation::by_hosts(&self.metadata, stated.offset_ns);
            self.skew.synchronisation = renewed.or(Some(stated));
        }
    }
}

/// What the user states about the two clocks (`--clocks`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockStatement {
    /// Nothing: what both hosts state about their clocks decides.
    #[default]
    Auto,
    /// Two clocks that are synchronised.
    Synchronised {
        /// Bound of their difference; `None` for the sum of what both hosts state.
        bound: Option<Duration>,
    },
    /// Both hosts read one clock.
    Shared,
    /// Two clocks with an unknown offset, whatever the hosts state.
    Unknown,
}

impl ClockStatement {
    /// The relation of the clocks of a stream by this statement, with their synchronisation. `relation` is what is known of the two
    /// clocks themselves. `None` where the hosts are to state a bound and either does not.
    pub fn resolve(
        self,
        offset: Duration,
        relation: ClockRelation,
        metadata: &Metadata,
    ) -> Option<(ClockRelation, Option<Synchronisation>)> {
        let offset_ns = offset.as_nanos();
        let by_hosts = || Synchronisation::by_hosts(metadata, offset_ns);
        let is_shared = relation == ClockRelation::Shared;
        match self {
            Self::Auto | Self::Shared | Self::Synchronised { bound: None } if is_shared => {
                Some((relation, None))
            }
            Self::Auto => Some((relation, by_hosts())),
            Self::Synchronised { bound: None } => Some((ClockRelation::Unknown, Some(by_hosts()?))),
            Self::Synchronised { bound: Some(bound) } => {
                Some((ClockRelation::Unknown, Some(Synchronisation::by_user(bound.as_nanos(), offset_ns))))
            }
            Self::Shared => Some((ClockRelation::Unknown, Some(Synchronisation::by_user(0, offset_ns)))),
            Self::Unknown => Some((ClockRelation::Unknown, None)),
        }
    }
}

impl FromStr for ClockStatement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "shared" => Ok(Self::Shared),
            "unknown" => Ok(Self::Unknown),
            "synchronised" | "synchronized" => Ok(Self::Synchronised { bound: None }),
            _ => {
                let bound = text.strip_prefix("synchronised:").or_else(|| text.strip_prefix("synchronized:"));
                let bound = bound.ok_or("use auto, synchronised, synchronised:BOUND, shared or unknown")?;
                let bound: Duration =
                    bound.parse().map_err(|error| format!("the bound {bound:?}: {error}"))?;
                if bound < Duration::ZERO {
                    return Err(
                        "the bound of a difference is not negative, for example synchronised:1ms".into()
                    );
                }
                Ok(Self::Synchronised { bound: Some(bound) })
            }
        }
    }
}

/// Requested removal of clock errors from one-way delays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkewRequest {
    /// Method, as for `--skew`; empty: best method.
    pub method: String,
    /// Number of first packets of a direction to which alone the clocks are fitted.
    pub calibration: Option<u64>,
    /// Stated minimum delay of each direction (`--path-minimum`), which narrows the offset bounds,
    /// nanoseconds.
    pub path_minimum_ns: Option<i64>,
    /// Synchronisation of the two clocks; `null` if it is not known, or if both hosts read one clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synchronisation: Option<Synchronisation>,
}

/// Calibration used by a run, so that its documents can be computed again on any machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationUse {
    /// Time of the calibration, UTC (RFC 3339).
    pub measured: String,
    /// Measurement error by the source of the time stamps.
    pub stamp_errors: Vec<StampSourceError>,
    /// Whether the baseline is to be subtracted (`--subtract-baseline`).
    pub subtract: bool,
    /// Reason why the calibration is not used: it is of another machine; `null` if it is used.
    pub refused: Option<CalibrationUnused>,
}

/// Requested source of the time stamps (`--stamp`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StampRequest {
    /// Source nearest to the wire that both hosts support.
    #[default]
    Best,
    /// Network card.
    Nic,
    /// Kernel.
    Kernel,
    /// User space.
    User,
    /// Programs of the kernel at both ends, which write them into the packets.
    InPacket,
}

impl StampRequest {
    /// The source for an evaluation that requests `other` of a run with this source. In-packet stamps take the place of the
    /// kernel's, so that such a run has these and those of user space. `None` if the run has no such stamps.
    pub fn replaced_by(self, other: Option<Self>) -> Option<Self> {
        match (self, other) {
            (own, None) => Some(own),
            (Self::InPacket, Some(Self::Best)) => Some(Self::InPacket),
            (Self::InPacket, Some(Self::Nic | Self::Kernel)) => None,
            (own, Some(Self::InPacket)) => (own == Self::InPacket).then_some(own),
            (_, Some(other)) => Some(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::ClockSync;

    /// In-packet stamps and those of the kernel share a place, so that a run has one of them.
    #[test]
    fn stamps_of_a_run_are_replaced() {
        use StampRequest::{Best, InPacket, Kernel, Nic, User};
        for own in [Best, Nic, Kernel, User] {
            assert_eq!(own.replaced_by(None), Some(own));
            assert_eq!(own.replaced_by(Some(InPacket)), None);
            for other in [Best, Nic, Kernel, User] {
                assert_eq!(own.replaced_by(Some(other)), Some(other));
            }
        }
        for (other, found) in [
            (None, Some(InPacket)),
            (Some(InPacket), Some(InPacket)),
            (Some(Best), Some(InPacket)),
            (Some(User), Some(User)),
            (Some(Kernel), None),
            (Some(Nic), None),
        ] {
            assert_eq!(InPacket.replaced_by(other), found);
        }
    }

    /// What is stated decides over what the hosts state, and one clock needs no bound.
    #[test]
    fn statements_of_the_clocks_are_resolved() {
        let kept = |bound| ClockSync {
            synchronised: Some(true),
            maximum_error_ns: Some(bound),
            sync_daemons: vec!["ntpd".into()],
            ..ClockSync::default()
        };
        let both = Metadata {
            clock_sync: kept(3_000_000),
            responder_clock_sync: Some(kept(4_000_000)),
            ..Metadata::default()
        };
        let one = Metadata { responder_clock_sync: None, ..both.clone() };
        let (unknown, shared) = (ClockRelation::Unknown, ClockRelation::Shared);
        let resolve = |text: &str, relation, metadata| {
            text.parse::<ClockStatement>().unwrap().resolve(Duration::ZERO, relation, metadata)
        };
        let (relation, found) = resolve("auto", unknown, &both).unwrap();
        let found = found.unwrap();
        assert_eq!(
            (relation, found.source, found.bound_ns),
            (unknown, SynchronisationSource::Hosts, 7_000_000)
        );
        assert_eq!(resolve("auto", unknown, &one), Some((unknown, None)));
        assert_eq!(resolve("auto", shared, &both), Some((shared, None)));
        assert_eq!(resolve("synchronised", unknown, &one), None);
        assert_eq!(resolve("unknown", shared, &both), Some((unknown, None)));
        let user = |bound| Some((unknown, Some(Synchronisation::by_user(bound, 0))));
        assert_eq!(resolve("synchronised:2ms", unknown, &both), user(2_000_000));
        assert_eq!(resolve("shared", unknown, &both), user(0));
        // The largest bound of each host until the end is that of the run.
        let largest = |bound| Some(ClockSync { largest_error_bound_ns: bound, ..kept(1) });
        let ended = Metadata {
            clock_sync_end: largest(Some(9_000_000)),
            responder_clock_sync_end: largest(None),
            ..both.clone()
        };
        let renewed = resolve("synchronised", unknown, &ended).unwrap().1.unwrap();
        assert_eq!(
            (renewed.initiator_bound_ns, renewed.responder_bound_ns),
            (Some(9_000_000), Some(4_000_000))
        );
        for wrong in ["", "synchronised:", "synchronised:-1ms", "synchronised:2", "both"] {
            assert!(wrong.parse::<ClockStatement>().is_err(), "{wrong}");
        }
    }
}
