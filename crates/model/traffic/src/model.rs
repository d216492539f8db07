//! The models by name, and what a codec prescribes.

use core::fmt;
use core::str::FromStr;

use romer_units::Duration;

use crate::TrafficError;

/// How departures follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrafficModel {
    /// At exact multiples of the interval (RFC 3432).
    #[default]
    Periodic,
    /// With independent, exponentially distributed gaps (RFC 2330 section 11.1).
    Poisson,
    /// As a MELP speech coder at 2,400 bit/s: 54 bits, in 7 octets, every 22.5 ms, several frames to a packet.
    Melp,
}

/// Speech of one MELP frame.
const MELP_FRAME: Duration = Duration::from_micros(22_500);
/// Octets of one MELP frame.
const MELP_OCTETS: u32 = 7;
/// Frames to a packet: seed 000 bundles from 2 to 5, and 2 where nothing is said.
const MELP_BUNDLE: core::ops::RangeInclusive<u32> = 2..=5;

/// What a codec puts into each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bundled {
    pub(crate) interval: Duration,
    pub(crate) octets: u32,
}

impl TrafficModel {
    /// The names that are understood, in the order in which help shows them.
    pub const NAMES: [&str; 3] = ["periodic", "poisson", "melp"];

    /// The name, as it is read.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Periodic => "periodic",
            Self::Poisson => "poisson",
            Self::Melp => "melp",
        }
    }

    /// Whether the schedule depends on the seed.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::Poisson)
    }

    /// The packets of a codec that bundles `bundle` frames (its own number where `None`); nothing for a model
    /// without frames.
    pub(crate) fn bundled(self, bundle: Option<u32>) -> Result<Option<Bundled>, TrafficError> {
        let (least, most) = (*MELP_BUNDLE.start(), *MELP_BUNDLE.end());
        match (self, bundle) {
            (Self::Periodic | Self::Poisson, None) => Ok(None),
            (Self::Periodic | Self::Poisson, Some(_)) => Err(TrafficError::NothingToBundle { model: self }),
            (Self::Melp, Some(bundle)) if !MELP_BUNDLE.contains(&bundle) => {
                Err(TrafficError::BundleOutOfRange { bundle, least, most })
            }
            (Self::Melp, bundle) => {
                let frames = bundle.unwrap_or(least);
                let interval = Duration::from_nanos(MELP_FRAME.as_nanos() * i64::from(frames));
                Ok(Some(Bundled { interval, octets: MELP_OCTETS * frames }))
            }
        }
    }
}

impl FromStr for TrafficModel {
    type Err = TrafficError;

    /// Reads one of [`TrafficModel::NAMES`], in small or capital letters.
    fn from_str(text: &str) -> Result<Self, TrafficError> {
        let known = [Self::Periodic, Self::Poisson, Self::Melp];
        known
            .into_iter()
            .find(|model| model.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| TrafficError::UnknownModel { name: text.chars().take(64).collect() })
    }
}

impl fmt::Display for TrafficModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_read_and_printed_back() {
        for name in TrafficModel::NAMES {
            assert_eq!(name.parse::<TrafficModel>().unwrap().to_string(), name);
            assert!(name.to_uppercase().parse::<TrafficModel>().is_ok());
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_that_exist() {
        for name in ["g711", "talkspurt:p59", "imix:simple", "", "periodic ", &"x".repeat(10_000)] {
            let error = name.parse::<TrafficModel>().unwrap_err().to_string();
            assert!(error.contains("periodic, poisson, melp") && error.len() < 200, "{error}");
        }
    }

    #[test]
    fn melp_bundles_two_to_five_frames_and_two_by_itself() {
        let own = TrafficModel::Melp.bundled(None).unwrap().unwrap();
        assert_eq!(own, Bundled { interval: Duration::from_millis(45), octets: 14 });
        for frames in 2..=5 {
            let bundled = TrafficModel::Melp.bundled(Some(frames)).unwrap().unwrap();
            assert_eq!(bundled.interval.as_nanos(), i64::from(frames) * 22_500_000);
            assert_eq!(bundled.octets, frames * 7);
        }
        for frames in [0, 1, 6, u32::MAX] {
            let error = TrafficModel::Melp.bundled(Some(frames)).unwrap_err().to_string();
            assert!(error.contains("2 to 5"), "{error}");
        }
    }
}
