//! A trial: as it was run, and as it was kept.

use romer_method::analysis::Figures;
use romer_method::{Frames, TrialRequest};
use romer_port::PortName;
use romer_record::benchmark::{
    DeviceAbsence, Gaps, HeaderFrames, InvalidTrial, JudgedTrial, RequestedLoad, Trial,
};
use romer_units::Duration;

use crate::options::BenchOptions;
use crate::policed::PolicedBuckets;

/// The most frames of a trial that are kept: with its figures each takes some 200 octets, all of them 8 GB.
pub(crate) const MOST_FRAMES: u64 = 40_000_000;
/// So few frames the tester may send at once after it stood still.
pub(crate) const FEW_AT_ONCE: u64 = 64;
/// A device that carries none of so many frames for so long, and then carries again, was away: in overload frames are lost
/// between others that come.
pub(crate) const MIN_OUTAGE: Duration = Duration::from_millis(500);

/// A trial that was run.
#[derive(Clone, Debug)]
pub(crate) struct TrialRecord {
    /// For how long nobody looked at the device since the last frame left.
    pub(crate) unseen: Duration,
    /// Its frames, as pcapng, where that was asked for.
    pub(crate) capture: Option<Vec<u8>>,
    /// What it came to.
    pub(crate) figures: Figures,
    /// Frames that were due and were not sent.
    pub(crate) unsent: u64,
    /// Why it tells nothing of the device.
    pub(crate) invalid: Option<InvalidTrial>,
    /// Frames a second that the tester could offer, where it was too slow.
    pub(crate) limit_pps: Option<f64>,
    /// Most frames given at once to make up for lost time.
    pub(crate) longest_catch_up: u64,
    /// Time that the host took away from the sender.
    pub(crate) gaps: Gaps,
    /// A clock was set meanwhile.
    pub(crate) clock_set: bool,
    /// The port whose link was lost meanwhile.
    pub(crate) link_lost: Option<PortName>,
    /// The port that was switched off on this host meanwhile.
    pub(crate) switched_off: Option<PortName>,
    /// When the sending port first refused a frame that it did not take at once, after the beginning.
    pub(crate) refused_at: Option<Duration>,
    /// Nothing of its size came from some moment on, nor after its end, while others did.
    pub(crate) size_lost: bool,
    /// Frames still came when the wait for them ended.
    pub(crate) still_arriving: bool,
    /// With which other headers than they were sent with frames came.
    pub(crate) headers: Vec<HeaderFrames>,
    /// What the policer did, where one is judged.
    pub(crate) policed: PolicedBuckets,
    /// Times from each departure of the first stream to the next, nanoseconds.
    pub(crate) gaps_between: Vec<i64>,
    /// Times from each arrival of the first stream to that of the frame that was sent next, nanoseconds.
    pub(crate) gaps_come: Vec<i64>,
}

impl TrialRecord {
    /// Makes it one that tells nothing of the device.
    pub(crate) fn invalidate(&mut self, why: InvalidTrial) {
        self.invalid = Some(why);
        self.figures.outcome.tester_failed = true;
    }

    /// Makes it one that tells nothing, because the device was away.
    pub(crate) fn away(&mut self, absence: DeviceAbsence) {
        self.invalidate(InvalidTrial::DeviceUnreachable { absence });
        self.figures.outcome.device_unreachable = true;
    }

    /// Whether the tester was too slow for the trial.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(self.invalid, Some(InvalidTrial::TesterSlow { .. }))
    }
}

/// A trial with what it is sorted by.
#[derive(Clone, Debug)]
pub(crate) struct CaseTrial {
    pub(crate) case: usize,
    pub(crate) frames: Frames,
    pub(crate) load: f64,
    pub(crate) trial: Trial,
}

/// The load as it was asked for, as results and `--dry-run` have it; of several loads in one trial the first.
pub(crate) fn requested_load(options: &BenchOptions, ask: &TrialRequest) -> RequestedLoad {
    let nominal = options.nominal(&ask.frames, ask.load());
    RequestedLoad { percent: nominal.load * 100.0, pps: nominal.pps }
}

/// The one size of frames, or the name of their mixture.
pub(crate) fn frames_words(frames: &Frames) -> (Option<u32>, Option<String>) {
    match frames {
        Frames::Size(size) => (Some(size.octets()), None),
        Frames::Mixture(_) | Frames::OfStreams { .. } => (None, Some(frames.to_string())),
    }
}

/// Frames that were offered of streams that the device is to carry.
pub(crate) fn to_carry(trial: &Trial) -> u64 {
    let dropped = trial.per_stream.iter().filter(|stream| stream.expect_drop);
    trial.offered.frames - dropped.map(|stream| stream.offered).sum::<u64>().min(trial.offered.frames)
}

/// The share of a load that the tester could offer, where it was too slow for it.
pub(crate) fn share_of_limit(limit_pps: Option<f64>, intended_pps: f64) -> Option<f64> {
    limit_pps.map(|limit| (limit / intended_pps.max(1e-9)).min(1.0))
}

/// The trial of a verdict.
pub(crate) fn judged(trial: &Trial) -> JudgedTrial {
    let load_percent = trial.requested_load.map_or(trial.intended_load.percent, |asked| asked.percent);
    JudgedTrial { load_percent, repeat: trial.repeat }
}
