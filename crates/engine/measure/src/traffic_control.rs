//! What a run requests of the traffic control of this host.

use std::str::FromStr;

use romer_host::shaper::Discipline;
use romer_record::service::{Marks, Service};
use romer_traffic::TokenBucket;

/// A shaper of the kernel, as for `--shape`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShaperChoice {
    /// The one for a single flow, or else the one for the whole interface, where the kernel lacks the first.
    Any,
    /// This one.
    Only(Discipline),
}

impl ShaperChoice {
    /// The disciplines to try, in order.
    pub(super) fn candidates(self) -> Vec<Discipline> {
        match self {
            Self::Any => vec![Discipline::Htb, Discipline::Tbf],
            Self::Only(discipline) => vec![discipline],
        }
    }
}

impl FromStr for ShaperChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "kernel" => Ok(Self::Any),
            "kernel:htb" => Ok(Self::Only(Discipline::Htb)),
            "kernel:tbf" => Ok(Self::Only(Discipline::Tbf)),
            _ => {
                let shown = romer_units::excerpt(text, 64);
                Err(format!("{shown:?} is no shaper; write kernel, kernel:htb or kernel:tbf"))
            }
        }
    }
}

/// The traffic profile of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The token bucket, of UDP payload.
    pub bucket: TokenBucket,
    /// The marks of packets beyond it.
    pub marks: Marks,
}

/// What this host does for the packets of a run. The default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficControl {
    /// Shape the stream in the kernel.
    pub shaper: Option<ShaperChoice>,
    /// The service level that has set the marks.
    pub service: Option<Service>,
    /// Priority of the packets within this host, 0 to 7.
    pub priority: Option<u8>,
    /// Mark packets beyond this profile in the kernel.
    pub profile: Option<Profile>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shaper is read as `--shape` takes it.
    #[test]
    fn shapers_are_read() {
        assert_eq!("kernel".parse(), Ok(ShaperChoice::Any));
        assert_eq!("kernel:tbf".parse(), Ok(ShaperChoice::Only(Discipline::Tbf)));
        assert_eq!("kernel:htb".parse(), Ok(ShaperChoice::Only(Discipline::Htb)));
        for text in ["", "htb", "kernel:", "kernel:etf", "Kernel"] {
            let error = text.parse::<ShaperChoice>().unwrap_err();
            assert!(error.ends_with("write kernel, kernel:htb or kernel:tbf"), "{error}");
        }
    }
}
