//! The procedures of benchmarks.
//!
//! A procedure never runs anything: it asks for a trial ([`TrialRequest`]) and judges what came of it ([`TrialOutcome`]), so that
//! the same machine drives an engine with real ports and a simulated device whose truth is known.
//!
//! * [`schedule`]: the frames of a trial: streams, sizes, and when each is due.
//! * [`analysis`]: from what left and what came to the figures of a trial. [`attribution`]: whose the loss is. `per_size`: which
//!   sizes of a mixture it is of. `outage`: when nothing came.
//! * [`campaign`]: all trials of a benchmark in their order, for each procedure.
//! * [`search`]: the highest rate that meets a criterion, by halving. [`mlr`]: the same by multiple loss ratio
//!   search.
//! * [`bursts`]: the longest burst without loss, and recovery from overload.
//! * [`reset`]: how long a device is away that was reset.
//! * [`policing`], [`priority`]: whether a policer or a scheduler did what it is to do.
//! * [`statistics`]: intervals and paired differences. [`anomalies`]: soft spots; many tests at once.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod anomalies;
pub mod attribution;
pub mod bursts;
pub mod campaign;
pub mod mlr;
mod outage;
mod per_size;
pub mod policing;
pub mod priority;
mod reordering;
pub mod reset;
pub mod schedule;
pub mod search;
pub mod statistics;
mod trial_trace;

use std::fmt;
use std::ops::Add;

use romer_traffic::Imix;
use romer_units::{Duration, FrameSize, LineRate};

/// What the frames of a trial are like.
#[derive(Clone, Debug, PartialEq)]
pub enum Frames {
    /// All of one size.
    Size(FrameSize),
    /// A mixture; frames below 64 octets are padded to that.
    Mixture(Imix),
    /// Those of the streams, each of which has its own.
    OfStreams {
        /// Octets of a frame on the line (with preamble and gap) in the mean of all streams.
        mean_on_the_line: f64,
    },
}

/// What frames are called of which each stream has its own.
pub const OF_STREAMS: &str = "of streams";

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => f.pad(&format!("{} B", size.octets())),
            Self::Mixture(imix) => f.pad(&imix.to_string()),
            Self::OfStreams { .. } => f.pad(OF_STREAMS),
        }
    }
}

impl Frames {
    /// Octets of a frame with check sequence in the mean, where the smallest has `least` and smaller ones are padded to that,
    /// and to 64.
    pub fn mean_octets(&self, least: u32) -> f64 {
        let least = least.max(FrameSize::MINIMUM.octets());
        match self {
            Self::Size(size) => f64::from(size.octets().max(least)),
            Self::Mixture(imix) => {
                let rows = imix.shares().into_iter();
                rows.map(|share| share.ratio * padded(*share.frame.start(), *share.frame.end(), least)).sum()
            }
            Self::OfStreams { mean_on_the_line } => mean_on_the_line - f64::from(FrameSize::OVERHEAD),
        }
    }

    /// Octets of a frame on the line (with preamble and gap) in the mean.
    pub fn mean_on_the_line(&self) -> f64 {
        self.mean_octets(0) + f64::from(FrameSize::OVERHEAD)
    }

    /// The one size, if it is one.
    pub const fn size(&self) -> Option<FrameSize> {
        match self {
            Self::Size(size) => Some(*size),
            Self::Mixture(_) | Self::OfStreams { .. } => None,
        }
    }

    /// Frames a second at a share of the line rate.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people and loads, not a clock")]
    pub fn frames_per_second(&self, line: LineRate, share: f64) -> f64 {
        line.bits() as f64 * share / (self.mean_on_the_line() * 8.0)
    }
}

/// The mean of the numbers from `low` to `high`, of which those below `least` are raised to it.
fn padded(low: u32, high: u32, least: u32) -> f64 {
    let (from, to) = (low.max(least), high.max(least));
    let raised = f64::from(least.clamp(low, high) - low);
    let others = f64::from(high - low) + 1.0 - raised;
    (raised * f64::from(least) + others * f64::midpoint(f64::from(from), f64::from(to))) / (raised + others)
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
pub struct TrialRequest {
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

impl TrialRequest {
    /// What a trial is for in which frames follow each other as closely as the line has them.
    pub const BURST: &'static str = "burst";
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

/// Trials that are still to be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemainingTrials {
    /// How many.
    pub trials: u64,
    /// How long they send, all together.
    pub time: Duration,
}

impl RemainingTrials {
    /// So many trials of one length.
    pub fn new(trials: u64, length: Duration) -> Self {
        let time = length.checked_mul(i64::try_from(trials).unwrap_or(i64::MAX)).unwrap_or(Duration::MAX);
        Self { trials, time }
    }
}

impl RemainingTrials {
    /// The more trials, and the longer time, of two.
    #[must_use]
    pub fn or_greater(self, other: Self) -> Self {
        Self { trials: self.trials.max(other.trials), time: self.time.max(other.time) }
    }
}

impl Add for RemainingTrials {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self { trials: self.trials + more.trials, time: self.time + more.time }
    }
}

/// Forecast of the remaining trials of a procedure, without repeated ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrialForecast {
    /// Where the device carries in long trials what it carries in short ones.
    pub usual: RemainingTrials,
    /// At the most.
    pub most: RemainingTrials,
}

impl TrialForecast {
    /// Where it is foreseen.
    pub const fn certain(left: RemainingTrials) -> Self {
        Self { usual: left, most: left }
    }
}

impl Add for TrialForecast {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self { usual: self.usual + more.usual, most: self.most + more.most }
    }
}

/// Frames that could not leave because their port had no link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unlinked {
    /// How many.
    pub frames: u64,
    /// When the first and the last of them were due, after the beginning of the trial.
    pub between: Option<[Duration; 2]>,
}

impl Unlinked {
    /// One more, which is due after all before.
    pub fn add(&mut self, due: Duration) {
        self.frames += 1;
        let first = self.between.map_or(due, |[first, _]| first);
        self.between = Some([first, due]);
    }
}

/// What a procedure is told of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialOutcome {
    /// Frames asked for, of streams that the device is to carry; so it is with all that follow.
    pub intended: u64,
    /// Frames given to the device.
    pub offered: u64,
    /// Frames that came, each once.
    pub forwarded: u64,
    /// Frames offered that did not come.
    pub lost: u64,
    /// Of these, those that are laid to the tester.
    pub lost_by_tester: u64,
    /// The tester could not do what was asked, or the device was away, so that the trial tells nothing of what the device
    /// carries.
    pub tester_failed: bool,
    /// It was the device that was away.
    pub device_unreachable: bool,
    /// The share of the load that the tester could offer, where it was too slow for all of it.
    pub tester_share: Option<f64>,
    /// Frames asked for that could not be offered, because the device that was reset had taken the link from the tester.
    pub unlinked: Unlinked,
    /// When the last frame that was lost had been sent, after the beginning of the trial.
    pub last_loss_at: Option<Duration>,
    /// When the first frame that was lost had been sent.
    pub first_loss_at: Option<Duration>,
}

impl TrialOutcome {
    /// Lost over offered; 0 where nothing was offered.
    pub fn loss_ratio(&self) -> f64 {
        if self.offered == 0 { 0.0 } else { real(self.lost) / real(self.offered) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
pub(crate) const fn real(count: u64) -> f64 {
    count as f64
}
