//! The frames of a trial: of which stream, how large, and when each is due.

use std::fmt;

use romer_traffic::TokenBucket;
use romer_units::random::{RandomStream as Random, Seed};
use romer_units::{Duration, FrameSize, LineRate};

use crate::{Frames, Phase};

/// Octets of preamble and start of frame.
const PREAMBLE: f64 = 8.0;

/// How the frames of a stream follow one another. Of frames of several sizes each takes the time of its own octets, so that
/// the load is the stated one whatever their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Evenly: each as long after the one before as that takes on a line which the stream would fill.
    Constant,
    /// A Poisson process: with exponentially distributed times from the beginning of a frame to that of the next, whose mean
    /// does not depend on the size of either. Frames may be due before the one before has left the line.
    Poisson,
    /// So many frames, each right after the one before as the line lets them (where the load is greater than the line, as the
    /// load does), then a pause that makes up for it.
    Burst(u32),
    /// As a greedy source behind a token bucket, which counts payload and is full at the beginning, and a line; the trial's load
    /// does not matter.
    Bucket(TokenBucket),
    /// With so much time from the end of a frame to the beginning of the next; the trial's load does not matter.
    Gap(Duration),
}

impl Pace {
    /// It says itself how much is sent, whatever the load.
    pub const fn is_fixed(&self) -> bool {
        matches!(self, Self::Bucket(_) | Self::Gap(_))
    }
}

impl fmt::Display for Pace {
    /// As it is asked for: `burst:16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Poisson => f.write_str("poisson"),
            Self::Burst(frames) => write!(f, "burst:{frames}"),
            Self::Bucket(bucket) => write!(f, "token-bucket:{bucket}"),
            Self::Gap(gap) => write!(f, "gap:{gap}"),
        }
    }
}

/// A stream as the arrangement sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its share of the trial's load, by layer 1; the shares of all need not sum up to 1.
    pub share: f64,
    /// Its frames; `None`: those of the trial.
    pub frames: Option<Frames>,
    /// How they follow one another.
    pub pace: Pace,
    /// Octets of a frame before and after its payload (headers and check sequence), for token buckets.
    pub overhead: u32,
    /// The smallest frame that its headers allow; smaller ones are made so large.
    pub least: u32,
}

/// What streams come to in the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nominal {
    /// Share of the line rate by layer 1.
    pub load: f64,
    /// Frames a second.
    pub pps: f64,
}

/// What all `flows` together are to send on a line in a phase. Of streams whose pace follows the load it is that load; of the
/// others what their pace comes to, of random sizes in the mean.
pub fn nominal(flows: &[Flow], frames: &Frames, line: LineRate, phase: Phase) -> Nominal {
    let each = flows.iter().map(|flow| flow.nominal(frames, bits(line), phase));
    each.fold(Nominal::default(), |sum, one| Nominal { load: sum.load + one.load, pps: sum.pps + one.pps })
}

impl Flow {
    fn nominal(&self, frames: &Frames, line: f64, phase: Phase) -> Nominal {
        let octets = self.frames.as_ref().unwrap_or(frames).mean_octets(self.least);
        let on_line = (octets + f64::from(FrameSize::OVERHEAD)) * 8.0;
        let pps = match self.pace {
            Pace::Constant | Pace::Poisson | Pace::Burst(_) => line * phase.load * self.share / on_line,
            Pace::Gap(gap) => 1e9 / ((octets + PREAMBLE) * 8e9 / line + nanos(gap)),
            Pace::Bucket(bucket) => {
                let payload = (octets - f64::from(self.overhead)).max(1.0);
                let full = crate::real(bucket.depth()) / phase.length.as_secs_f64().max(1e-9);
                let octets = crate::real(bucket.bits_per_second()) / 8.0 + full;
                (octets / payload).min(line / on_line)
            }
        };
        Nominal { load: pps * on_line / line, pps }
    }
}

/// A frame that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When, after the beginning of the trial.
    pub at: Duration,
    /// Number of its stream.
    pub stream: u16,
    /// Octets with check sequence.
    pub octets: u32,
}

/// All frames of a trial in order of time.
#[derive(Clone, Debug)]
pub struct FrameSchedule {
    sources: Vec<StreamSource>,
}

impl FrameSchedule {
    /// The frames of `flows` on a line, through the phases. Streams that send evenly or in bursts take turns: of equal rate they
    /// do not begin at one moment.
    pub fn new(flows: &[Flow], frames: &Frames, line: LineRate, phases: &[Phase], seed: Seed) -> Self {
        let count = flows.len().max(1);
        let sources = flows.iter().enumerate().map(|(number, flow)| {
            let own = flow.frames.as_ref().unwrap_or(frames);
            let mut source = StreamSource {
                stream: u16::try_from(number).unwrap_or(u16::MAX),
                sizes: Sizes::new(own, flow.least, seed, number),
                mean: (own.mean_octets(flow.least) + f64::from(FrameSize::OVERHEAD)) * 8.0,
                pace: flow.pace,
                share: flow.share,
                overhead: flow.overhead,
                line: bits(line),
                phases: phases.to_vec(),
                phase: 0,
                phase_begin: 0.0,
                turn: fraction(number, count),
                gaps: Random::new(
                    seed,
                    [u32::from_be_bytes(*b"gaps"), u32::try_from(number).unwrap_or(u32::MAX)],
                ),
                ordinal: 0,
                in_phase: 0,
                elapsed: 0.0,
                mark: 0.0,
                free: 0.0,
                next: None,
            };
            source.advance();
            source
        });
        Self { sources: sources.collect() }
    }

    /// Frames that there will be at the most, to make room for.
    pub fn most(flows: &[Flow], frames: &Frames, line: LineRate, phases: &[Phase]) -> u64 {
        let most = |flow: &Flow, phase: &Phase| {
            let rate = flow.nominal(frames, bits(line), *phase).pps;
            // A burst is begun as a whole.
            let begun = if let Pace::Burst(frames) = flow.pace { u64::from(frames) } else { 0 };
            to_u64(rate * phase.length.as_secs_f64() * 1.1) + begun + 1_000
        };
        flows.iter().flat_map(|flow| phases.iter().map(move |phase| most(flow, phase))).sum()
    }
}

impl Iterator for FrameSchedule {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        let first = self.sources.iter_mut().filter(|source| source.next.is_some());
        let first = first.min_by_key(|source| source.next.map(|due| due.at))?;
        let due = first.next.take();
        first.advance();
        due
    }
}

/// One stream's frames.
#[derive(Clone, Debug)]
struct StreamSource {
    stream: u16,
    sizes: Sizes,
    pace: Pace,
    share: f64,
    overhead: u32,
    /// Bits of a frame on the line, in the mean.
    mean: f64,
    /// Bits a second of the line.
    line: f64,
    phases: Vec<Phase>,
    phase: usize,
    /// Nanoseconds after the beginning.
    phase_begin: f64,
    /// What part of its first gap, or of the time of its first burst, it waits.
    turn: f64,
    gaps: Random,
    ordinal: u64,
    in_phase: u64,
    /// Of this phase: bits on the line up to now, or nanoseconds for random gaps and given ones, or octets of
    /// payload for a bucket since it was full.
    elapsed: f64,
    /// The bits before this burst, or when the bucket was full, in nanoseconds of this phase.
    mark: f64,
    /// When the line has the whole of the last frame, for a bucket.
    free: f64,
    next: Option<Due>,
}

impl StreamSource {
    /// Finds the next frame.
    fn advance(&mut self) {
        loop {
            let Some(phase) = self.phases.get(self.phase).copied() else {
                self.next = None;
                return;
            };
            let length = nanos(phase.length);
            let octets = self.sizes.size(self.ordinal);
            let rate = self.line * phase.load * self.share;
            let at =
                if rate > 0.0 || self.pace.is_fixed() { self.offset(octets, rate) } else { f64::INFINITY };
            if at < length {
                self.next = Some(Due {
                    at: Duration::from_nanos(signed(self.phase_begin + at)),
                    stream: self.stream,
                    octets,
                });
                self.ordinal += 1;
                self.in_phase += 1;
                return;
            }
            self.phase += 1;
            self.phase_begin += length;
            self.in_phase = 0;
            (self.elapsed, self.mark, self.free) = (0.0, 0.0, 0.0);
        }
    }

    /// When the next frame of this phase is due, nanoseconds after the phase's beginning; `rate` in bits a second.
    fn offset(&mut self, octets: u32, rate: f64) -> f64 {
        let on_line = f64::from(octets + FrameSize::OVERHEAD) * 8.0;
        match self.pace {
            Pace::Constant => {
                // Whole numbers of bits: nothing is lost by adding.
                let before = self.elapsed;
                self.elapsed += on_line;
                (before + self.turn * self.mean) * 1e9 / rate
            }
            Pace::Poisson => {
                self.elapsed -= libm::log(1.0 - self.gaps.unit(self.ordinal)) * self.mean * 1e9 / rate;
                self.elapsed
            }
            Pace::Burst(frames) => {
                let frames = u64::from(frames.max(1));
                if self.in_phase.is_multiple_of(frames) {
                    self.mark = self.elapsed;
                }
                // The bits before the burst say when it begins, those of it before the frame how far it is.
                let begin = self.mark + self.turn * self.mean * crate::real(frames);
                let within = self.elapsed - self.mark;
                self.elapsed += on_line;
                begin * 1e9 / rate + within * 1e9 / self.line.max(rate)
            }
            Pace::Bucket(bucket) => {
                let (rate, depth) = (crate::real(bucket.bits_per_second()), crate::real(bucket.depth()));
                if (self.free - self.mark) * rate >= self.elapsed * 8e9 {
                    // The line was in the way for so long that the bucket is full once more.
                    (self.mark, self.elapsed) = (self.free, 0.0);
                }
                self.elapsed += f64::from(octets.saturating_sub(self.overhead).max(1));
                let earned = self.mark + (self.elapsed - depth).max(0.0) * 8e9 / rate;
                let at = earned.max(self.free);
                self.free = at + on_line * 1e9 / self.line;
                at
            }
            Pace::Gap(gap) => {
                let before = self.elapsed;
                self.elapsed += (f64::from(octets) + PREAMBLE) * 8e9 / self.line + nanos(gap);
                before
            }
        }
    }
}

/// The sizes of a stream's frames.
#[derive(Clone, Debug)]
enum Sizes {
    One(u32),
    Mixture { frames: romer_traffic::Frames, least: u32 },
}

impl Sizes {
    fn new(frames: &Frames, least: u32, seed: Seed, stream: usize) -> Self {
        match frames {
            Frames::Size(size) => Self::One(size.octets().max(least)),
            Frames::Mixture(imix) => {
                let [a, b, c, d, e, f] = seed.0;
                let own = Seed([a, b, c, d, e, f ^ u32::try_from(stream).unwrap_or(u32::MAX)]);
                Self::Mixture { frames: imix.frames(own), least }
            }
            // A stream without sizes of its own is none of these.
            Frames::OfStreams { .. } => Self::One(least.max(FrameSize::MINIMUM.octets())),
        }
    }

    fn size(&self, ordinal: u64) -> u32 {
        match self {
            Self::One(octets) => *octets,
            Self::Mixture { frames, least } => frames.size(ordinal).max(64).max(*least),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a line's bits a second, below 2^53")]
const fn bits(line: LineRate) -> f64 {
    line.bits() as f64
}

#[expect(clippy::cast_precision_loss, reason = "a few streams")]
const fn fraction(number: usize, count: usize) -> f64 {
    number as f64 / count as f64
}

#[expect(clippy::cast_precision_loss, reason = "a trial's nanoseconds, below 2^53")]
const fn nanos(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

#[expect(clippy::cast_possible_truncation, reason = "a trial's nanoseconds; to the nearest")]
fn signed(nanos: f64) -> i64 {
    libm::round(nanos) as i64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of frames, rounded down"
)]
const fn to_u64(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
