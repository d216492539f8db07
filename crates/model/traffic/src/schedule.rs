//! The schedule: departures one after the other.

use std::collections::VecDeque;

use romer_units::Duration;
use romer_units::random::{RandomStream, Seed};

use crate::bucket::TokenBucket;
use crate::draw;
use crate::error::TrafficError;
use crate::imix::IpVersion;
use crate::jitter::{DepartureJitter, Perturbation};
use crate::model::TrafficModel;
use crate::on_off::{DurationLaw, Gate};
use crate::size::{Payloads, Sizes};
use crate::trace::Trace;

/// Mean time between departures where none is asked for and the model has none of its own.
pub const DEFAULT_INTERVAL: Duration = Duration::from_millis(100);
/// Time between the packets of a talk-spurt where neither a codec nor an interval is asked for: that of G.711,
/// G.729 and Opus.
pub const SPEECH_INTERVAL: Duration = Duration::from_millis(20);
/// Mean time between the packets of instant messaging where none is asked for.
pub const MESSAGE_INTERVAL: Duration = Duration::from_secs(5);

/// Two means of an interval are the same if they differ by at most this share: by rounding.
const SAME_MEAN: f64 = 1e-6;

/// One packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When, after the start of the schedule.
    pub offset: Duration,
    /// Payload of UDP in octets that the traffic asks for: the codec's frames, the mixture's or the trace's size, or
    /// the size of the request; 0 where none of them says anything. A probe's header may need more; the sender
    /// decides what is really sent.
    pub size: u32,
}

/// Where a schedule ends. A trace ends with its last packet all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this many departures.
    Count(u64),
    /// Before this much time has passed: all departures with a smaller offset. A departure jitter comes on top, so
    /// that the last ones may leave later.
    Duration(Duration),
}

/// What a schedule is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// How departures follow one another.
    pub model: TrafficModel,
    /// Mean time between departures (in talk, for models that fall silent); `None` for the model's own, or else
    /// [`DEFAULT_INTERVAL`].
    pub interval: Option<Duration>,
    /// Payload of UDP in octets; `None` for the model's own.
    pub size: Option<u32>,
    /// Codec frames in a packet; `None` for the codec's own number.
    pub bundle: Option<u32>,
    /// Where it ends.
    pub limit: Limit,
    /// Seed of the random models.
    pub seed: Seed,
    /// How the sender perturbs its schedule.
    pub jitter: Option<DepartureJitter>,
    /// The content of the file that [`TrafficModel::trace_file`] names.
    pub trace: Option<Trace>,
    /// Which IP carries the packets, for models that say how large frames are.
    pub version: IpVersion,
}

impl Request {
    /// `model` until `limit`, over IPv4, all else as the model has it, with a seed of zeros.
    pub const fn new(model: TrafficModel, limit: Limit) -> Self {
        Self {
            model,
            interval: None,
            size: None,
            bundle: None,
            limit,
            seed: Seed([0; 6]),
            jitter: None,
            trace: None,
            version: IpVersion::V4,
        }
    }

    /// The request with the interval at which its schedule has this mean time between departures, silence included. It is `None` where the
    /// model has another.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "intervals, to compare them to a millionth")]
    pub fn with_mean_interval(&self, mean: Duration) -> Option<Self> {
        let of = |interval| Schedule::new(&Self { interval, ..self.clone() }).ok().map(|one| one.interval());
        // An interval within talk is shorter than the mean, by the share of talk.
        let within_talk = of(Some(SPEECH_INTERVAL)).map(|silent| {
            let [mean, talk, silent] = [mean, SPEECH_INTERVAL, silent].map(|length| length.as_nanos().max(1));
            Duration::from_nanos_f64((mean as f64 * talk as f64 / silent as f64).round())
        });
        [None, Some(mean), within_talk]
            .into_iter()
            .find(|interval| {
                let found = of(*interval).map(|found| (found - mean).as_nanos().unsigned_abs() as f64);
                found.is_some_and(|error| error <= SAME_MEAN * mean.as_nanos() as f64)
            })
            .map(|interval| Self { interval, ..self.clone() })
    }

    /// Whether the schedule depends on the seed.
    pub fn is_random(&self) -> bool {
        self.model.is_random() || self.jitter.is_some_and(DepartureJitter::is_random)
    }
}

/// How offsets are found.
#[derive(Clone, Debug)]
enum Pace {
    /// Ordinal times the interval: nothing is accumulated, so nothing drifts.
    Multiples,
    /// The sum of the gaps up to and including the ordinal's own.
    Gaps(RandomStream),
    /// The multiples of `step` that fall into talk; the next to be looked at is number `tick`.
    Gated { gate: Box<Gate>, step: Duration, tick: u64 },
    /// As soon as the bucket holds the tokens.
    Bucket { bucket: TokenBucket, size: u32 },
    /// As recorded.
    Recorded(Trace),
}

/// The departures that a [`Request`] asks for, in order of time. Offsets never decrease.
#[derive(Clone, Debug)]
pub struct Schedule {
    pace: Pace,
    interval: Duration,
    sizes: Sizes,
    limit: Limit,
    /// How many there are to be, or are to be expected.
    expected: u64,
    /// How many more there may be, or how much longer they may take in means of the interval.
    margin: u64,
    ordinal: u64,
    last: Duration,
    jitter: Option<Perturbation>,
}

impl Schedule {
    /// The schedule of `request`.
    ///
    /// # Errors
    /// [`TrafficError`] where the request contradicts itself or the model, or leaves the range of time.
    pub fn new(request: &Request) -> Result<Self, TrafficError> {
        if let Limit::Duration(duration) = request.limit
            && duration <= Duration::ZERO
        {
            return Err(TrafficError::DurationNotPositive { duration });
        }
        let sizes = sizes(request)?;
        let (pace, interval) = pace(request, &sizes)?;
        let expected = expected(request.limit, &pace, interval);
        in_range(request.limit, interval, &pace)?;
        let sizes = match sizes {
            Sizes::Recorded { packets, .. } => {
                Sizes::Recorded { packets, played: usize::try_from(expected).unwrap_or(usize::MAX) }
            }
            sizes => sizes,
        };
        Ok(Self {
            margin: margin(request, expected, interval, &pace),
            pace,
            interval,
            sizes,
            limit: request.limit,
            expected,
            ordinal: 0,
            last: Duration::ZERO,
            jitter: request.jitter.map(|jitter| Perturbation::new(jitter, request.seed)),
        })
    }

    /// Mean time between departures, silence included.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// The largest payload of UDP in octets that a departure of this schedule asks for; where sizes do not vary,
    /// every departure's.
    pub fn size(&self) -> u32 {
        self.payloads(0).most
    }

    /// The payloads that departures ask for, where the sender raises those below `floor` to that.
    pub fn payloads(&self, floor: u32) -> Payloads {
        self.sizes.payloads(floor)
    }

    /// Where the schedule ends.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// How many departures there are from the start; for a random schedule that ends by time, how many are to be
    /// expected.
    pub const fn expected_count(&self) -> u64 {
        self.expected
    }

    /// How long the schedule is to be expected to take.
    pub fn expected_length(&self) -> Duration {
        match (&self.pace, self.limit) {
            (Pace::Recorded(trace), _) => {
                let last = usize::try_from(self.expected).ok().and_then(|count| count.checked_sub(1));
                last.and_then(|last| trace.packets().get(last)).map_or(Duration::ZERO, |packet| packet.offset)
            }
            (_, Limit::Duration(duration)) => duration,
            (_, Limit::Count(count)) => {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                self.interval.checked_mul(count).unwrap_or(Duration::MAX)
            }
        }
    }

    /// The most departures that there are within any second. It goes through all of them.
    pub fn busiest_second(&self) -> u32 {
        let (mut window, mut most) = (VecDeque::new(), 0);
        for departure in self.clone() {
            window.push_back(departure.offset);
            while window.front().is_some_and(|first| departure.offset - *first >= Duration::from_secs(1)) {
                window.pop_front();
            }
            most = most.max(window.len());
        }
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// A number of departures that is not exceeded: one random schedule in a million ends there, before its time. So many intervals
    /// hold the whole schedule with its jitter, but for one random schedule in a million.
    pub const fn most_count(&self) -> u64 {
        self.expected.saturating_add(self.margin)
    }

    /// The offset that follows `self.last` without jitter, or `None` where it leaves the range of time or the trace.
    fn offset(&mut self) -> Option<Duration> {
        match &mut self.pace {
            Pace::Multiples => self.interval.checked_mul(i64::try_from(self.ordinal).ok()?),
            Pace::Gaps(stream) => {
                self.last.checked_add(draw::exponential(stream, self.ordinal, self.interval))
            }
            Pace::Gated { gate, step, tick } => {
                let (found, offset) = gate.next(*tick, *step)?;
                *tick = found.checked_add(1)?;
                Some(offset)
            }
            Pace::Bucket { bucket, size } => bucket.offset(self.ordinal, *size),
            Pace::Recorded(trace) => {
                let place = usize::try_from(self.ordinal).ok()?;
                trace.packets().get(place).map(|packet| packet.offset)
            }
        }
    }
}

impl Iterator for Schedule {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        let is_over = matches!(self.limit, Limit::Count(count) if self.ordinal >= count);
        if is_over || self.ordinal >= self.most_count() {
            return None;
        }
        let offset = self.offset()?;
        if matches!(self.limit, Limit::Duration(end) if offset >= end) {
            return None;
        }
        let ordinal = self.ordinal;
        self.last = offset;
        self.ordinal += 1;
        let offset = self.jitter.as_mut().map_or(offset, |jitter| jitter.perturbed(ordinal, offset));
        Some(Departure { offset, size: self.sizes.size(ordinal) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.expected.saturating_sub(self.ordinal));
        match (&self.pace, self.limit) {
            // Silence may leave the range of time.
            (Pace::Gated { .. }, Limit::Count(_)) => (0, left.ok()),
            (_, Limit::Count(_)) | (Pace::Recorded(_), _) => (left.unwrap_or(usize::MAX), left.ok()),
            (_, Limit::Duration(_)) => (0, None),
        }
    }
}

/// The sizes that a request asks for.
fn sizes(request: &Request) -> Result<Sizes, TrafficError> {
    let own = match &request.model {
        TrafficModel::Imix(imix) => Some(Sizes::imix(imix, request.version, request.seed)),
        TrafficModel::Messages => Some(Sizes::messages(request.seed)),
        TrafficModel::Trace { .. } => {
            let trace = trace(request)?;
            trace.has_sizes().then(|| Sizes::Recorded { packets: trace.packets().clone(), played: 0 })
        }
        _ => None,
    };
    if request.bundle.is_some() && request.model.codec().is_none() {
        return Err(TrafficError::NothingToBundle { model: request.model.clone() });
    }
    let needed = match request.model.codec() {
        Some(codec) => codec.packet(request.bundle)?.octets,
        None => 0,
    };
    match (own, request.size, &request.model) {
        (Some(_), Some(_), model) => Err(TrafficError::SizeOfModel { model: model.clone() }),
        (Some(own), None, _) => Ok(own),
        (None, None, TrafficModel::TokenBucket(bucket)) => Ok(Sizes::Constant(bucket.own_size())),
        (None, Some(size), TrafficModel::TokenBucket(bucket))
            if size == 0 || u64::from(size) > bucket.depth() =>
        {
            Err(TrafficError::SizeAboveDepth { size, depth: bucket.depth() })
        }
        (None, Some(size), _) if size < needed => Err(TrafficError::SizeTooSmall { size, needed }),
        (None, size, _) => Ok(Sizes::Constant(size.unwrap_or(needed))),
    }
}

fn trace(request: &Request) -> Result<&Trace, TrafficError> {
    request.trace.as_ref().ok_or_else(|| TrafficError::TraceMissing { model: request.model.clone() })
}

/// How offsets are found, and the mean time between them.
fn pace(request: &Request, sizes: &Sizes) -> Result<(Pace, Duration), TrafficError> {
    let codec = match request.model.codec() {
        Some(codec) => Some(codec.packet(request.bundle)?.interval),
        None => None,
    };
    let asked = |own: Duration| {
        let interval = codec.or(request.interval).unwrap_or(own);
        if codec.is_some() && request.interval.is_some() {
            Err(TrafficError::IntervalOfModel { model: request.model.clone(), own: interval })
        } else if interval <= Duration::ZERO {
            Err(TrafficError::IntervalNotPositive { interval })
        } else {
            Ok(interval)
        }
    };
    let never_asked = |own: Duration| match request.interval {
        Some(_) => Err(TrafficError::IntervalOfModel { model: request.model.clone(), own }),
        None => Ok(own),
    };
    let gaps = || Pace::Gaps(draw::stream(request.seed, b"gaps"));
    Ok(match &request.model {
        TrafficModel::Periodic | TrafficModel::Codec(_) | TrafficModel::Imix(_) => {
            (Pace::Multiples, asked(DEFAULT_INTERVAL)?)
        }
        TrafficModel::Poisson => (gaps(), asked(DEFAULT_INTERVAL)?),
        TrafficModel::Messages => (gaps(), asked(MESSAGE_INTERVAL)?),
        TrafficModel::Talkspurt { of, .. } => gated(request, of.laws(), asked(SPEECH_INTERVAL)?)?,
        TrafficModel::OnOff { on, off, .. } => {
            gated(request, (on.clone(), off.clone()), asked(DEFAULT_INTERVAL)?)?
        }
        TrafficModel::TokenBucket(bucket) => {
            let size = sizes.payloads(0).most;
            (Pace::Bucket { bucket: *bucket, size }, never_asked(bucket.interval(size))?)
        }
        TrafficModel::Trace { .. } => {
            let trace = trace(request)?;
            begins_in_time(request, trace)?;
            (Pace::Recorded(trace.clone()), never_asked(recorded_interval(trace, request.limit))?)
        }
    })
}

/// Packets every `step` in talk, and none in silence.
fn gated(
    request: &Request,
    laws: (DurationLaw, DurationLaw),
    step: Duration,
) -> Result<(Pace, Duration), TrafficError> {
    let (on, off) = (laws.0.mean(), laws.1.mean());
    if on < step {
        return Err(TrafficError::SpurtTooShort { model: request.model.clone(), on, interval: step });
    }
    let [step_ns, on_ns, off_ns] = [step, on, off].map(|length| i128::from(length.as_nanos()));
    let mean = step_ns * (on_ns + off_ns) / on_ns;
    let mean = Duration::from_nanos(i64::try_from(mean).unwrap_or(i64::MAX));
    Ok((Pace::Gated { gate: Box::new(Gate::new(laws, request.seed)), step, tick: 0 }, mean))
}

/// A trace of which nothing is due before the end sends nothing, whatever happens: no chance decides that.
fn begins_in_time(request: &Request, trace: &Trace) -> Result<(), TrafficError> {
    let Limit::Duration(duration) = request.limit else { return Ok(()) };
    match trace.packets().first() {
        Some(first) if first.offset >= duration => Err(TrafficError::TraceBeginsLater {
            model: request.model.clone(),
            first: first.offset,
            duration,
        }),
        _ => Ok(()),
    }
}

/// How many packets of a trace leave within `limit`.
fn played(trace: &Trace, limit: Limit) -> u64 {
    match limit {
        Limit::Count(count) => count.min(trace.len()),
        Limit::Duration(end) => {
            let played = trace.packets().partition_point(|packet| packet.offset < end);
            u64::try_from(played).unwrap_or(u64::MAX)
        }
    }
}

/// The mean gap of what is played of a trace; [`DEFAULT_INTERVAL`] where there is none.
fn recorded_interval(trace: &Trace, limit: Limit) -> Duration {
    let played = usize::try_from(played(trace, limit)).unwrap_or(usize::MAX);
    match trace.packets().get(..played) {
        Some([first, .., last]) => {
            let gaps = i64::try_from(played - 1).unwrap_or(i64::MAX);
            Duration::from_nanos(((last.offset - first.offset).as_nanos() / gaps).max(1))
        }
        _ => DEFAULT_INTERVAL,
    }
}

fn expected(limit: Limit, pace: &Pace, interval: Duration) -> u64 {
    match (pace, limit) {
        (Pace::Recorded(trace), limit) => played(trace, limit),
        (_, Limit::Count(count)) => count,
        (Pace::Bucket { bucket, size }, Limit::Duration(end)) => bucket.count_before(end, *size),
        (_, Limit::Duration(end)) => {
            end.as_nanos().unsigned_abs().div_ceil(interval.as_nanos().unsigned_abs())
        }
    }
}

/// Deviations of a normal distribution that are exceeded once in a million, and a little for small numbers.
const DEVIATIONS: f64 = 5.0;
/// Departures that a random schedule may have more than so many deviations tell, as these hold for large numbers.
const EXTRA_DEPARTURES: f64 = 20.0;

/// How many departures more than `expected` there may be, or how many intervals longer they may take.
#[expect(clippy::cast_precision_loss, reason = "a margin is wanted to a few digits")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a margin saturates, and is not negative"
)]
fn margin(request: &Request, expected: u64, interval: Duration, pace: &Pace) -> u64 {
    let (count, mean) = (expected as f64, interval.as_nanos() as f64);
    let random = match (pace, request.model.laws()) {
        (Pace::Gaps(_), _) => DEVIATIONS.mul_add(libm::sqrt(count), EXTRA_DEPARTURES),
        (Pace::Gated { step, .. }, Some((on, off))) => {
            let (talk, silence) = (on.mean().as_nanos() as f64, off.mean().as_nanos() as f64);
            let cycles = count * step.as_nanos() as f64 / talk + 1.0;
            // Of one cycle, as a difference of time at a given number of packets.
            let deviation = libm::hypot(off.deviation(), on.deviation() * silence / talk);
            let rest = EXTRA_DEPARTURES * (talk + silence);
            (DEVIATIONS * libm::sqrt(cycles)).mul_add(deviation, rest) / mean
        }
        (Pace::Recorded(trace), _) => {
            let last =
                usize::try_from(expected).ok().and_then(|count| trace.packets().get(count.checked_sub(1)?));
            (last.map_or(0.0, |last| last.offset.as_nanos() as f64 / mean) - count).max(0.0)
        }
        _ => 0.0,
    };
    let jitter = request.jitter.map_or(0.0, |jitter| jitter.reach().as_nanos() as f64 / mean);
    libm::ceil(random + jitter) as u64
}

/// Refuses a count whose last departure could lie outside the range of time.
fn in_range(limit: Limit, interval: Duration, pace: &Pace) -> Result<(), TrafficError> {
    let Limit::Count(count) = limit else { return Ok(()) };
    let longest = match pace {
        Pace::Multiples | Pace::Bucket { .. } => 1,
        Pace::Gaps(_) | Pace::Gated { .. } => draw::LONGEST_GAP,
        Pace::Recorded(_) => return Ok(()),
    };
    let step = interval.as_nanos().unsigned_abs().checked_mul(longest);
    let end = step.and_then(|step| step.checked_mul(count));
    if end.is_none_or(|end| i64::try_from(end).is_err()) {
        return Err(TrafficError::TooLong { count, interval });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
