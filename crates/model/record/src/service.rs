//! Service levels of a stream, the marks that they set, and the shaping by the sending host.

use core::fmt;
use core::str::FromStr;

use romer_units::Dscp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Service level of a stream, by which the sending host marks its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// Guaranteed service (RFC 2212).
    Guaranteed,
    /// Controlled-load service (RFC 2211).
    ControlledLoad,
    /// Best effort.
    BestEffort,
    /// Traffic beyond what its service level admits, below best effort.
    NonConforming,
}

impl Service {
    /// All levels, the strictest first.
    pub const ALL: [Self; 4] =
        [Self::Guaranteed, Self::ControlledLoad, Self::BestEffort, Self::NonConforming];

    /// Its name, as for `--service`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guaranteed => "guaranteed",
            Self::ControlledLoad => "controlled-load",
            Self::BestEffort => "best-effort",
            Self::NonConforming => "non-conforming",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Service {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|service| service.name() == text).ok_or_else(|| {
            let shown = romer_units::excerpt(text, 64);
            format!(
                "{shown:?} is no service level; write guaranteed, controlled-load, best-effort or non-conforming"
            )
        })
    }
}

/// The marks of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Code point of the IP header.
    pub dscp: Dscp,
    /// Priority of the packet within the host, 0 to [`Marks::HIGHEST_PRIORITY`], which a VLAN maps to the one of IEEE 802.1p.
    pub priority: u8,
}

impl Marks {
    /// The highest priority of IEEE 802.1p.
    pub const HIGHEST_PRIORITY: u8 = 7;
}

/// The marks of each service level. The default has the IP precedences 5, 3, 0 and 0 as class selectors, and the priorities 5, 3, 0
/// and 1 (Qtcp, Diffserv Codepoint): a priority of 1 is below 0 in IEEE 802.1p.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkTable {
    marks: [Marks; 4],
}

impl Default for MarkTable {
    fn default() -> Self {
        let marks = |dscp: &str, priority| Marks { dscp: dscp.parse().unwrap_or_default(), priority };
        Self { marks: [marks("cs5", 5), marks("cs3", 3), marks("cs0", 0), marks("cs0", 1)] }
    }
}

impl MarkTable {
    /// The marks of a level.
    pub const fn marks(&self, service: Service) -> Marks {
        let [guaranteed, controlled_load, best_effort, non_conforming] = self.marks;
        match service {
            Service::Guaranteed => guaranteed,
            Service::ControlledLoad => controlled_load,
            Service::BestEffort => best_effort,
            Service::NonConforming => non_conforming,
        }
    }

    /// Replaces the marks of a level.
    pub const fn set(&mut self, service: Service, marks: Marks) {
        let [guaranteed, controlled_load, best_effort, non_conforming] = &mut self.marks;
        match service {
            Service::Guaranteed => *guaranteed = marks,
            Service::ControlledLoad => *controlled_load = marks,
            Service::BestEffort => *best_effort = marks,
            Service::NonConforming => *non_conforming = marks,
        }
    }
}

/// Shaping of a stream by the kernel of the sending host (`--shape`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelShaping {
    /// Queueing discipline: `htb` or `tbf`.
    pub discipline: String,
    /// Interface that has it.
    pub interface: String,
    /// Rate, bytes per second of frames without their check sequences.
    pub octets_per_second: u32,
    /// Depth of the token bucket, bytes of such frames.
    pub depth_octets: u32,
    /// Time for which the kernel holds packets that follow each other at the rate, nanoseconds.
    pub lead_ns: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defaults are those of Qtcp: precedence 5, 3, 0 and 0, with the priorities 5, 3, 0 and 1.
    #[test]
    fn defaults_are_precedences() {
        let table = MarkTable::default();
        let found = Service::ALL.map(|service| {
            let marks = table.marks(service);
            (marks.dscp.tos() >> 5, marks.dscp.value() % 8, marks.priority)
        });
        assert_eq!(found, [(5, 0, 5), (3, 0, 3), (0, 0, 0), (0, 0, 1)]);
    }

    /// A level that is set leaves the others as they are.
    #[test]
    fn levels_are_set_alone() {
        for service in Service::ALL {
            let (mut table, ef) = (MarkTable::default(), Marks { dscp: Dscp::EF, priority: 6 });
            table.set(service, ef);
            for other in Service::ALL {
                let expected = if other == service { ef } else { MarkTable::default().marks(other) };
                assert_eq!(table.marks(other), expected, "{service} {other}");
            }
        }
    }

    /// A level is read as it is printed, and as documents have it.
    #[test]
    fn levels_read_back() {
        for service in Service::ALL {
            assert_eq!(service.to_string().parse(), Ok(service));
            assert_eq!(serde_json::to_value(service).unwrap(), service.name());
        }
        let error = "gold".parse::<Service>().unwrap_err();
        assert_eq!(
            error,
            "\"gold\" is no service level; write guaranteed, controlled-load, best-effort or non-conforming"
        );
    }
}
