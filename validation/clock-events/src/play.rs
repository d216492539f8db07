//! A simulated run with its truth.

/// A kind of change, with the direction of a path change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A clock was set.
    ClockStep,
    /// A clock ran at another rate for a while.
    Slew,
    /// The forward path changed.
    PathForward,
    /// The reverse path changed.
    PathReverse,
}

impl Kind {
    /// All kinds, in the order of the tables.
    pub(crate) const ALL: [Self; 4] = [Self::ClockStep, Self::Slew, Self::PathForward, Self::PathReverse];

    /// Name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ClockStep => "clock step",
            Self::Slew => "slew",
            Self::PathForward => "path forward",
            Self::PathReverse => "path reverse",
        }
    }
}

/// A true change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// Its kind.
    pub(crate) kind: Kind,
    /// The sender's clock right before and right after it began, in increasing order, nanoseconds.
    pub(crate) from_ns: [i64; 2],
    /// The sender's clock when it ended; `None` if it came at once.
    pub(crate) until_ns: Option<i64>,
    /// What the responder's clock gained on the sender's, or the path's delay, nanoseconds.
    pub(crate) size_ns: f64,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Probe {
    /// Departure on the departing host's clock, nanoseconds.
    pub(crate) departure_ns: i64,
    /// Arrival on the arriving host's clock, nanoseconds.
    pub(crate) arrival_ns: i64,
    /// True delay above a constant of the direction, nanoseconds.
    pub(crate) delay_ns: f64,
    /// How far the responder's clock was ahead of the sender's at the responder's time stamp, nanoseconds.
    pub(crate) ahead_ns: f64,
}

/// A simulated run with its truth.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Play {
    /// Forward and reverse.
    pub(crate) probes: [Vec<Probe>; 2],
    /// Mean rate of the responder's clock without steps and slews, ppm.
    pub(crate) skew_ppm: f64,
    /// True changes.
    pub(crate) changes: Vec<Change>,
}
