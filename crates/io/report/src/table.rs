//! The rows that every form of the report shows: forward, reverse, round trip.

use romer_record::document::{DelayKind, DirectionResults, Measurement, ProbeDirection};

use crate::number::TimeScale;
use crate::sure::MedianInterval;

/// One of the three measured paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasuredPath {
    Forward,
    Reverse,
    RoundTrip,
}

impl From<ProbeDirection> for MeasuredPath {
    fn from(direction: ProbeDirection) -> Self {
        match direction {
            ProbeDirection::Forward => Self::Forward,
            ProbeDirection::Reverse => Self::Reverse,
            ProbeDirection::RoundTrip | ProbeDirection::Both => Self::RoundTrip,
        }
    }
}

impl MeasuredPath {
    pub(crate) const ALL: [Self; 3] = [Self::Forward, Self::Reverse, Self::RoundTrip];

    /// As documents have it.
    pub(crate) fn in_document(self) -> ProbeDirection {
        match self {
            Self::Forward => ProbeDirection::Forward,
            Self::Reverse => ProbeDirection::Reverse,
            Self::RoundTrip => ProbeDirection::RoundTrip,
        }
    }

    /// The name of its field in documents.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::RoundTrip => "round_trip",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::RoundTrip => "round trip",
        }
    }
    pub(crate) fn results(self, m: &Measurement) -> &DirectionResults {
        match self {
            Self::Forward => &m.forward,
            Self::Reverse => &m.reverse,
            Self::RoundTrip => &m.round_trip,
        }
    }
    /// Its name in `m`: the one way of a file has no direction that is known.
    pub(crate) fn title(self, m: &Measurement) -> &'static str {
        if m.source.is_some() && ways(m) == [self] && self != Self::RoundTrip {
            "one way"
        } else {
            self.name()
        }
    }
    /// `forward`, or `forward, above min` where only the part above the minimum is known.
    pub(crate) fn label(self, m: &Measurement) -> String {
        let name = self.title(m);
        match self.results(m).delay_kind {
            Some(DelayKind::Variable) => format!("{name}, above min"),
            Some(DelayKind::Absolute) | None => name.to_owned(),
        }
    }
}

/// The ways of which something is known: delays, or packets.
pub(crate) fn ways(m: &Measurement) -> Vec<MeasuredPath> {
    let went = m.traffic.direction;
    let known = |way: &MeasuredPath| {
        let asked = match way {
            MeasuredPath::Forward => went != ProbeDirection::Reverse,
            MeasuredPath::Reverse => went != ProbeDirection::Forward,
            MeasuredPath::RoundTrip => went == ProbeDirection::RoundTrip,
        };
        let direction = way.results(m);
        let packets = &direction.packets;
        asked && (direction.delay_ns.count > 0 || packets.sent.is_some() || packets.received > Some(0))
    };
    MeasuredPath::ALL.into_iter().filter(known).collect()
}

/// One unit and one number of decimals for a whole table, so that its columns can be compared at a glance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) unit: TimeScale,
    pub(crate) decimals: usize,
}

impl Scale {
    /// The unit is that of the greatest median; the decimals show about three digits of the least one, and one
    /// digit of the widest plus-minus, if that is less.
    pub(crate) fn for_measurement(m: &Measurement) -> Self {
        let directions = || MeasuredPath::ALL.iter().map(|way| &way.results(m).delay_ns);
        let medians = || directions().filter_map(|delay| delay.median);
        let greatest = medians().fold(0.0, f64::max);
        let unit = TimeScale::for_nanos(greatest);
        let least = medians().filter(|median| *median > 0.0).fold(f64::INFINITY, f64::min);
        let wanted = if least.is_finite() { unit.decimals(least) } else { 0 };
        let widest =
            directions().filter_map(|delay| MedianInterval::from_summary(delay)?.half()).fold(0.0, f64::max);
        let useful = unit.decimals(widest * 10.0).max(unit.decimals(greatest));
        Self { unit, decimals: if widest > 0.0 { wanted.min(useful) } else { wanted } }
    }
    pub(crate) fn number(self, nanos: Option<f64>) -> Option<String> {
        nanos.map(|nanos| self.unit.number(nanos, self.decimals))
    }
    /// What stands behind a plus-minus; what is less than the last digit shown, but not nothing, as that.
    pub(crate) fn spread(self, nanos: f64) -> String {
        let least = 10f64.powi(-i32::try_from(self.decimals).unwrap_or(0)) * self.unit.nanos();
        let text = self.unit.number(nanos, self.decimals);
        let nothing = nanos > 0.0 && !text.chars().any(|one| one.is_ascii_digit() && one != '0');
        if nothing { format!("<{}", self.unit.number(least, self.decimals)) } else { text }
    }
}
