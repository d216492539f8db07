//! What a device is held to.

use std::fmt;

use romer_method::policing::Profile;
use romer_method::priority::Discipline;
use romer_record::benchmark::{MarkedField, Trial};
use romer_units::Dscp;

use crate::options::StreamOptions;

/// What a device is held to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// What a policer lets through, of all streams that have no profile of their own together.
    pub profile: Option<Profile>,
    /// How a scheduler serves the streams, which are its classes, the most important first, and the bits a second
    /// that its line carries, of frames with check sequence.
    pub scheduler: Option<(Discipline, f64)>,
    /// With which markings frames come out.
    pub markings: Vec<MarkingClaim>,
    /// With which code points frames come out that a policer does not pass as they conform.
    pub excess: Vec<MarkingClaim>,
    /// What no device is to do as a rule, and this one may.
    pub allowed: Vec<Anomaly>,
}

/// What no device is to do as a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anomaly {
    /// Frames of a flow come out in another order.
    Order,
    /// Frames come out more than once.
    Copies,
}

impl fmt::Display for Anomaly {
    /// As verdicts call it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Order => "order",
            Self::Copies => "copies",
        })
    }
}

/// With what frames come out that were sent with something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkingClaim {
    /// In which case; `None`: in all of them.
    pub case: Option<String>,
    /// What of the frame it is.
    pub field: Field,
    /// What it is sent with, as documents have it.
    pub sent: String,
    /// What it comes out with, likewise.
    pub out: String,
}

impl MarkingClaim {
    /// Whether it is of the case of this name.
    pub fn is_of(&self, case: &str) -> bool {
        self.case.as_deref().is_none_or(|of| of == case)
    }
}

impl fmt::Display for MarkingClaim {
    /// `[CASE:]IN=OUT`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.case.as_ref().map_or_else(String::new, |case| format!("{case}:"));
        write!(f, "{of}{}={}", self.sent, self.out)
    }
}

/// What of a frame a device may mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The code point of differentiated services.
    CodePoint,
    /// The VLAN of its tag.
    Vlan,
    /// The priority of its tag.
    Priority,
    /// The code point of congestion notification.
    Ecn,
}

impl Field {
    /// What documents and claims say of a frame without a tag.
    pub const UNTAGGED: &'static str = "untagged";

    /// As settings name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::CodePoint => "dscp",
            Self::Vlan => "vlan",
            Self::Priority => "priority",
            Self::Ecn => "ecn",
        }
    }

    /// As verdicts have it.
    pub(crate) const fn marked(self) -> MarkedField {
        match self {
            Self::CodePoint => MarkedField::CodePoint,
            Self::Vlan => MarkedField::Vlan,
            Self::Priority => MarkedField::Priority,
            Self::Ecn => MarkedField::Ecn,
        }
    }

    /// What a stream is sent with.
    pub fn of_stream(self, stream: &StreamOptions) -> String {
        let tag = |of: u16| of.to_string();
        match (self, stream.tag) {
            (Self::CodePoint, _) => stream.dscp.to_string(),
            (Self::Ecn, _) => stream.ecn.to_string(),
            (Self::Vlan | Self::Priority, None) => Self::UNTAGGED.into(),
            (Self::Vlan, Some(found)) => tag(found.vlan()),
            (Self::Priority, Some(found)) => tag(found.priority().into()),
        }
    }

    /// What went in and came out in a trial.
    pub(crate) const fn changes(self, trial: &Trial) -> &romer_method::analysis::Changes {
        match self {
            Self::CodePoint => &trial.markings,
            Self::Vlan => &trial.vlans,
            Self::Priority => &trial.priorities,
            Self::Ecn => &trial.ecns,
        }
    }
}

impl Claims {
    /// With which code point frames come out in a case that are sent with this one and conform: the same, where nothing else is
    /// claimed.
    pub fn conforming(&self, case: &str, sent: Dscp) -> Dscp {
        let name = sent.to_string();
        let of = |claim: &&MarkingClaim| {
            claim.field == Field::CodePoint && claim.sent == name && claim.is_of(case)
        };
        let claimed = self.markings.iter().find(of);
        claimed.and_then(|claim| claim.out.parse().ok()).unwrap_or(sent)
    }

    /// What is claimed of what exceeds of frames that are sent with this code point in a case.
    pub(crate) fn excess_of(&self, case: &str, sent: &str) -> Option<&MarkingClaim> {
        self.excess.iter().find(|claim| claim.sent == sent && claim.is_of(case))
    }
}
