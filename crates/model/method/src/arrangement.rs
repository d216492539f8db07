//! The frames of a trial: of which stream, how large, and when each is due.

use romer_traffic::TokenBucket;
use romer_units::random::{Seed, Stream as Random};
use romer_units::{Duration, FrameSize, LineRate};

use crate::{Frames, Phase};

/// How the frames of a stream follow one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Evenly.
    Constant,
    /// With exponentially distributed gaps.
    Poisson,
    /// So many frames at the line's rate, then a pause that makes up for it.
    Burst(u32),
    /// As a greedy source behind a token bucket, which counts payload; the trial's load does not matter.
    Bucket(TokenBucket),
    /// With so much time from the end of a frame to the beginning of the next; the trial's load does not matter.
    Gap(Duration),
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
pub struct Arrangement {
    sources: Vec<Source>,
}

impl Arrangement {
    /// The frames of `flows` on a line, through the phases. Streams of equal rate take turns: they do not begin at
    /// one moment.
    pub fn new(flows: &[Flow], frames: &Frames, line: LineRate, phases: &[Phase], seed: Seed) -> Self {
        let count = flows.len().max(1);
        let sources = flows.iter().enumerate().map(|(number, flow)| {
            let mut source = Source {
                stream: u16::try_from(number).unwrap_or(u16::MAX),
                sizes: Sizes::of(flow.frames.as_ref().unwrap_or(frames), flow.least, seed, number),
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
                next: None,
            };
            source.advance();
            source
        });
        Self { sources: sources.collect() }
    }

    /// Frames that there will be at the most, to make room for.
    pub fn most(flows: &[Flow], frames: &Frames, line: LineRate, phases: &[Phase]) -> u64 {
        flows
            .iter()
            .map(|flow| {
                let mean = flow.frames.as_ref().unwrap_or(frames).mean_on_the_line() * 8.0;
                phases
                    .iter()
                    .map(|phase| {
                        let seconds = phase.length.as_secs_f64();
                        let rate = match flow.pace {
                            // A gap or a bucket may fill the line.
                            Pace::Gap(_) | Pace::Bucket(_) => bits(line) / (84.0 * 8.0),
                            _ => bits(line) * phase.load * flow.share / mean,
                        };
                        whole(rate * seconds * 1.1) + 1_000
                    })
                    .sum::<u64>()
            })
            .sum()
    }
}

impl Iterator for Arrangement {
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
struct Source {
    stream: u16,
    sizes: Sizes,
    pace: Pace,
    share: f64,
    overhead: u32,
    /// Bits a second of the line.
    line: f64,
    phases: Vec<Phase>,
    phase: usize,
    /// Nanoseconds after the beginning.
    phase_begin: f64,
    /// What part of its first gap it waits.
    turn: f64,
    gaps: Random,
    ordinal: u64,
    in_phase: u64,
    /// Of this phase: bits on the line up to now, or nanoseconds for random gaps and given ones, or octets of
    /// payload for a bucket.
    elapsed: f64,
    next: Option<Due>,
}

impl Source {
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
            let at = if rate > 0.0 || !self.needs_load() { self.offset(octets, rate) } else { f64::INFINITY };
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
            self.elapsed = 0.0;
        }
    }

    const fn needs_load(&self) -> bool {
        !matches!(self.pace, Pace::Bucket(_) | Pace::Gap(_))
    }

    /// When the next frame of this phase is due, nanoseconds after the phase's beginning; `rate` in bits a second.
    fn offset(&mut self, octets: u32, rate: f64) -> f64 {
        let on_line = f64::from(octets + FrameSize::OVERHEAD) * 8.0;
        match self.pace {
            Pace::Constant => {
                // Whole numbers of bits: nothing is lost by adding.
                let before = self.elapsed;
                self.elapsed += on_line;
                (before + self.turn * on_line) * 1e9 / rate
            }
            Pace::Poisson => {
                let mean = on_line * 1e9 / rate;
                self.elapsed -= libm::log(1.0 - self.gaps.unit(self.ordinal)) * mean;
                self.elapsed
            }
            Pace::Burst(frames) => {
                let frames = u64::from(frames.max(1));
                let place = self.in_phase % frames;
                // The burst keeps the line's own distance; the bits before it say when it begins.
                if place == 0 {
                    self.turn = self.elapsed * 1e9 / rate;
                }
                let at = self.turn + crate::real(place) * on_line * 1e9 / self.line;
                self.elapsed += on_line;
                at
            }
            Pace::Bucket(bucket) => {
                let payload = octets.saturating_sub(self.overhead).max(1);
                self.elapsed += f64::from(payload);
                let wait = (self.elapsed - crate::real(bucket.depth())).max(0.0);
                wait * 8e9 / crate::real(bucket.bits_per_second())
            }
            Pace::Gap(gap) => {
                let before = self.elapsed;
                // Preamble and frame, then the gap.
                self.elapsed += f64::from(octets + 8) * 8e9 / self.line + nanos(gap);
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
    fn of(frames: &Frames, least: u32, seed: Seed, stream: usize) -> Self {
        match frames {
            Frames::Size(size) => Self::One(size.octets().max(least)),
            Frames::Mixture(imix) => {
                let [a, b, c, d, e, f] = seed.0;
                let own = Seed([a, b, c, d, e, f ^ u32::try_from(stream).unwrap_or(u32::MAX)]);
                Self::Mixture { frames: imix.frames(own), least }
            }
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
const fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
#[path = "arrangement_tests.rs"]
mod tests;
