//! The procedures of benchmarks.
//!
//! A procedure never runs anything: it asks for a trial ([`Ask`]) and judges what came of it ([`Outcome`]), so that
//! the same machine drives an engine with real ports and a simulated device whose truth is known.
//!
//! * [`arrangement`]: the frames of a trial: streams, sizes, and when each is due.
//! * [`analysis`]: from what left and what came to the figures of a trial. [`attribution`]: whose the loss is.
//! * [`campaign`]: all trials of a benchmark in their order, for each procedure.
//! * [`search`]: the highest rate that meets a criterion, by halving. [`mlr`]: the same by multiple loss ratio
//!   search.
//! * [`bursts`]: the longest burst without loss, and recovery from overload.
//! * [`reset`]: how long a device is away that was reset.
//! * [`policing`], [`priority`]: whether a policer or a scheduler did what it is to do.
//! * [`statistics`]: intervals and paired differences. [`soft`]: soft spots; many tests at once.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod arrangement;
pub mod attribution;
pub mod bursts;
pub mod campaign;
pub mod mlr;
pub mod policing;
pub mod priority;
pub mod reset;
pub mod search;
pub mod soft;
pub mod statistics;

use std::fmt;

use romer_traffic::Imix;
use romer_units::{Duration, FrameSize, LineRate};

/// What the frames of a trial are like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frames {
    /// All of one size.
    Size(FrameSize),
    /// A mixture; frames below 64 octets are padded to that.
    Mixture(Imix),
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => f.pad(&format!("{} B", size.octets())),
            Self::Mixture(imix) => f.pad(&imix.to_string()),
        }
    }
}

impl Frames {
    /// Octets of a frame on the line (with preamble and gap) in the mean.
    pub fn mean_on_the_line(&self) -> f64 {
        match self {
            Self::Size(size) => f64::from(size.on_the_line()),
            Self::Mixture(imix) => mixture_mean(imix, |octets| f64::from(octets + FrameSize::OVERHEAD)),
        }
    }

    /// The one size, if it is one.
    pub const fn size(&self) -> Option<FrameSize> {
        match self {
            Self::Size(size) => Some(*size),
            Self::Mixture(_) => None,
        }
    }

    /// Frames a second at a share of the line rate.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people and loads, not a clock")]
    pub fn frames_per_second(&self, line: LineRate, share: f64) -> f64 {
        line.bits() as f64 * share / (self.mean_on_the_line() * 8.0)
    }
}

/// The mean over a mixture of a value that is linear in the octets of a frame, padded to 64.
fn mixture_mean(imix: &Imix, value: impl Fn(u32) -> f64) -> f64 {
    imix.shares()
        .into_iter()
        .map(|share| {
            let (low, high) = ((*share.frame.start()).max(64), (*share.frame.end()).max(64));
            share.ratio * (value(low) + value(high)) / 2.0
        })
        .sum()
}

/// A stretch of a trial with one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Share of the line rate by layer 1; may be above 1, where the line is not a real one.
    pub load: f64,
    /// How long.
    pub length: Duration,
}

/// A trial that a procedure wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Which case the device is to be in, by its number.
    pub case: usize,
    /// The frames.
    pub frames: Frames,
    /// The loads, one after the other; one of them as a rule.
    pub phases: Vec<Phase>,
    /// Which repeat.
    pub repeat: u32,
    /// What it is for, in a word.
    pub purpose: &'static str,
}

impl Ask {
    /// What a trial is for in which the device is reset.
    pub const RESET: &'static str = "reset";

    /// How long it sends.
    pub fn length(&self) -> Duration {
        self.phases.iter().fold(Duration::ZERO, |sum, phase| sum + phase.length)
    }

    /// The load of the first phase.
    pub fn load(&self) -> f64 {
        self.phases.first().map_or(0.0, |phase| phase.load)
    }
}

/// What a procedure is told of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Frames asked for.
    pub intended: u64,
    /// Frames given to the device.
    pub offered: u64,
    /// Frames that came, each once.
    pub carried: u64,
    /// Frames offered that did not come.
    pub lost: u64,
    /// The tester could not do what was asked, or the device was away, so that the trial tells nothing of what the device
    /// carries.
    pub tester_failed: bool,
    /// It was the device that was away.
    pub device_away: bool,
    /// When the last frame that was lost had been sent, after the beginning of the trial.
    pub last_loss_at: Option<Duration>,
    /// When the first frame that was lost had been sent.
    pub first_loss_at: Option<Duration>,
}

impl Outcome {
    /// Lost over offered; 0 where nothing was offered.
    pub fn loss_ratio(&self) -> f64 {
        if self.offered == 0 { 0.0 } else { real(self.lost) / real(self.offered) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
pub(crate) const fn real(count: u64) -> f64 {
    count as f64
}
