//! Times in which frames left and nothing came: of a device, and of one stream while others lived.

use romer_units::Duration;

use crate::real;
use crate::trial_trace::{FirstArrivals, TrialTrace};

/// A device that carries nothing of what leaves in so long a time, or gives nothing out in it, stands still, ...
pub const STALLED: Duration = Duration::from_millis(100);
/// ... if so many frames leave in it: in overload frames are lost between others that come.
pub const LEAST_AWAY: u64 = 50;

/// In a trial of less than ten seconds, a device that gives nothing out for this part of it stands still, ...
const PART: i64 = 100;
/// ... and for so many times as long as its largest frame takes, ...
const TIMES_A_FRAME: i64 = 5;
/// ... if so many frames leave in it, ...
const LEAST_MEANWHILE: u64 = 10;
/// ... and it does so no more often: what comes again and again is its manner, as that of a shaper which gives out in bursts.
const MOST_OFTEN: usize = 5;

/// A time in which a device forwarded nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// From the first frame that did not come.
    pub from: Duration,
    /// To the first that came again, or the last that left.
    pub length: Duration,
    /// Frames that left in it.
    pub frames: u64,
    /// The longest time in it in which none left: the tester may have stood still.
    pub still: Duration,
}

/// The times of a trial in which a device stood still: nothing came of what left in them, or nothing came out. Those that
/// overlap are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standstills {
    /// How many there were.
    pub count: u64,
    /// How long they were together.
    pub sum: Duration,
    /// How long the longest was.
    pub longest: Duration,
    /// Frames that left in them and did not come.
    pub lost: u64,
}

/// A time in which nothing of a stream came, while something of others did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamSilence {
    /// Its place among the streams.
    pub stream: usize,
    /// From the first of its frames that did not come.
    pub from: Duration,
    /// To its next frame that came, or the last that left.
    pub length: Duration,
    /// How many of its frames left in it.
    pub frames: u64,
    /// None of its frames came before it.
    pub from_the_first: bool,
    /// None came after it.
    pub to_the_last: bool,
    /// The share of the other streams' frames of the same time that came, above 0.
    pub others: f64,
}

/// The longest run of lost frames in order of departure, over all streams, that one came before and one after.
pub(crate) fn silence(flight: &TrialTrace, arrivals: &FirstArrivals) -> Option<Silence> {
    let left = flight.left.iter().flatten().zip(arrivals.iter().flatten());
    let mut frames: Vec<(i64, bool)> = left.map(|(left, at)| (left.sent, at.is_some())).collect();
    frames.sort_unstable();
    let first = frames.iter().position(|(_, seen)| *seen)?;
    let runs = frames.get(first..)?.chunk_by(|a, b| a.1 == b.1);
    let mut runs = runs.peekable();
    let mut longest: Option<Silence> = None;
    while let Some(run) = runs.next() {
        let (Some((from, false)), Some(next)) = (run.first().copied(), runs.peek()) else { continue };
        let until = next.first().map_or(from, |(sent, _)| *sent);
        let found = Silence {
            from: Duration::from_nanos(from),
            length: Duration::from_nanos(until - from),
            frames: run.len() as u64,
            still: still(run.iter().map(|(sent, _)| *sent).chain([until])),
        };
        if longest.is_none_or(|longest| found.length > longest.length) {
            longest = Some(found);
        }
    }
    longest
}

/// The longest time between two of these moments, which are in order.
fn still(moments: impl Iterator<Item = i64> + Clone) -> Duration {
    let longest = moments.clone().zip(moments.skip(1)).map(|(one, next)| next - one).max();
    Duration::from_nanos(longest.unwrap_or(0))
}

/// From the last frame that came on, to the last that left. What a device that is full still gives out is no silence, though the
/// frames that leave meanwhile may be waited for in vain.
pub(crate) fn tail(flight: &TrialTrace, arrivals: &FirstArrivals) -> Option<Silence> {
    let sent = || flight.left.iter().flatten().map(|left| left.sent);
    let seen = sent().zip(arrivals.iter().flatten()).filter(|(_, at)| at.is_some());
    let last_seen = seen.map(|(sent, _)| sent).max()?;
    let last_out = flight.came.iter().map(|came| came.received).max()?;
    let mut missing: Vec<i64> = sent().filter(|sent| *sent > last_seen && *sent >= last_out).collect();
    missing.sort_unstable();
    let (from, until) = (*missing.first()?, *missing.last()?);
    Some(Silence {
        from: Duration::from_nanos(from),
        length: Duration::from_nanos(until - from),
        frames: missing.len() as u64,
        still: still(missing.iter().copied()),
    })
}

/// The longest time between two arrivals in which frames left that came later: the device held them.
pub(crate) fn standstill(flight: &TrialTrace) -> Option<Silence> {
    let mut sent: Vec<i64> = flight.left.iter().flatten().map(|left| left.sent).collect();
    sent.sort_unstable();
    let mut out: Vec<i64> = flight.came.iter().map(|came| came.received).collect();
    out.sort_unstable();
    let (from, until) =
        out.iter().copied().zip(out.iter().copied().skip(1)).max_by_key(|(one, next)| next - one)?;
    let meanwhile = &sent[sent.partition_point(|at| *at <= from)..sent.partition_point(|at| *at < until)];
    Some(Silence {
        from: Duration::from_nanos(from),
        length: Duration::from_nanos(until - from),
        frames: meanwhile.len() as u64,
        still: still([from].into_iter().chain(meanwhile.iter().copied()).chain([until])),
    })
}

/// All times in which the device stood still, of [`STALLED`] at the least without the longest pause of those who sent.
pub(crate) fn standstills(flight: &TrialTrace, arrivals: &FirstArrivals) -> Standstills {
    let left = flight.left.iter().flatten().zip(arrivals.iter().flatten());
    let mut frames: Vec<(i64, bool)> = left.map(|(left, at)| (left.sent, at.is_some())).collect();
    frames.sort_unstable();
    let mut out: Vec<i64> = flight.came.iter().map(|came| came.received).collect();
    out.sort_unstable();
    let waits = waits_until(flight, &out);
    let mut place = 0;
    let runs = frames.chunk_by(|a, b| a.1 == b.1).filter_map(|run| {
        place += run.len();
        let (first, came) = *run.first()?;
        match frames.get(place) {
            _ if came => None,
            Some((next, _)) => Some([first, *next]),
            // With the last of them.
            None => Some([first.max(waits), run.last()?.0 + 1]),
        }
    });
    let gaps = || out.iter().zip(out.iter().skip(1)).map(|(one, next)| [*one, *next]);
    let is_long = |time: &[i64; 2]| is_standstill(&frames, *time, STALLED.as_nanos(), LEAST_AWAY);
    let mut times: Vec<[i64; 2]> = runs.chain(gaps()).filter(is_long).collect();
    let least = least_standstill(flight, &out);
    let is_short = |time: &[i64; 2]| !is_long(time) && is_standstill(&frames, *time, least, LEAST_MEANWHILE);
    let short: Vec<[i64; 2]> = gaps().filter(is_short).collect();
    if short.len() <= MOST_OFTEN {
        times.extend(short);
    }
    times.sort_unstable();
    let mut apart: Vec<[i64; 2]> = Vec::new();
    for [from, until] in times {
        match apart.last_mut() {
            Some(last) if from <= last[1] => last[1] = last[1].max(until),
            _ => apart.push([from, until]),
        }
    }
    let lengths = || apart.iter().map(|[from, until]| Duration::from_nanos(until - from));
    let lost = |time: &[i64; 2]| within(&frames, *time).iter().filter(|(_, came)| !came).count() as u64;
    Standstills {
        count: apart.len() as u64,
        sum: lengths().fold(Duration::ZERO, |sum, one| sum + one),
        longest: lengths().max().unwrap_or_default(),
        lost: apart.iter().map(lost).sum(),
    }
}

/// The frames that left in this time, its end excluded.
fn within(frames: &[(i64, bool)], [from, until]: [i64; 2]) -> &[(i64, bool)] {
    let before = |end: i64| frames.partition_point(|(sent, _)| *sent < end);
    frames.get(before(from)..before(until)).unwrap_or_default()
}

/// Whether so many frames left in this time, and for so long, that a device which forwarded none of them stood still.
fn is_standstill(frames: &[(i64, bool)], [from, until]: [i64; 2], least: i64, least_frames: u64) -> bool {
    if until - from < least {
        return false;
    }
    let frames = within(frames, [from, until]);
    let moments = frames.iter().map(|(sent, _)| *sent);
    let pause = still([from].into_iter().chain(moments).chain([until])).as_nanos();
    frames.len() as u64 >= least_frames && until - from - pause >= least
}

/// How long the shortest time is in which a device that gives nothing out stands still. What is short beside the trial changes
/// nothing in what is found, and between two large frames nothing comes out for as long as one of them takes, at the rate at which
/// octets come. `out`: when what came did, in order.
fn least_standstill(flight: &TrialTrace, out: &[i64]) -> i64 {
    let octets: i64 = flight.came.iter().map(|came| i64::from(came.octets)).sum();
    let largest = flight.came.iter().map(|came| i64::from(came.octets)).max().unwrap_or(0);
    let time = out.first().zip(out.last()).map_or(0, |(first, last)| last - first);
    let a_frame = i128::from(time) * i128::from(largest) / i128::from(octets.max(1));
    let of_frames = i64::try_from(a_frame).unwrap_or(i64::MAX).saturating_mul(TIMES_A_FRAME);
    STALLED.as_nanos().min(flight.length.as_nanos() / PART).max(of_frames)
}

/// From when on a frame that did not come is not waiting in the device still: what leaves last, and waits in one that is full, may
/// not be waited for. But where nothing came any more for a while, the device was empty. `out`: when what came did, in order.
fn waits_until(flight: &TrialTrace, out: &[i64]) -> i64 {
    /// So many frames one after the other would not all be late.
    const FRAMES: i64 = 20;
    let (Some(first), Some(last)) = (out.first(), out.last()) else { return i64::MIN };
    let apart = (last - first) / i64::try_from(out.len()).unwrap_or(i64::MAX);
    let while_ = STALLED.as_nanos().min(apart.saturating_mul(FRAMES));
    let quiet = |until: Duration| until.as_nanos().saturating_sub(*last) >= while_;
    if flight.listened.is_some_and(quiet) { i64::MIN } else { *last }
}

pub(crate) fn quiet_end(flight: &TrialTrace) -> bool {
    let from = flight.length.as_nanos() / 10 * 9;
    let left = flight.left.iter().flatten().any(|left| left.sent >= from);
    left && !flight.came.iter().any(|came| came.sent >= from)
}

/// For each stream the longest time in which nothing of it came, where the device lost others so seldom meanwhile that it is no
/// chance. Of a single stream none.
pub(crate) fn silent_streams(flight: &TrialTrace, arrivals: &FirstArrivals) -> Vec<StreamSilence> {
    if flight.left.len() < 2 {
        return Vec::new();
    }
    let mut out: Vec<i64> = flight.came.iter().map(|came| came.received).collect();
    out.sort_unstable();
    let waits = waits_until(flight, &out);
    (0..flight.left.len()).filter_map(|stream| silent_stream(flight, arrivals, stream, waits)).collect()
}

/// What left of the stream before `waits` and did not come to the end may wait in the device still.
fn silent_stream(
    flight: &TrialTrace,
    arrivals: &FirstArrivals,
    stream: usize,
    waits: i64,
) -> Option<StreamSilence> {
    /// Fewer frames are no time.
    const MIN_FRAMES: u64 = 10;
    /// At the ratio at which others are lost, as many would be lost one after the other more seldom than so.
    const CHANCE: f64 = 1e-6;
    let frames: Vec<(i64, bool)> = flight
        .left
        .get(stream)?
        .iter()
        .zip(arrivals.get(stream)?)
        .map(|(left, at)| (left.sent, at.is_some()))
        .collect();
    let mut place = 0;
    let mut longest: Option<StreamSilence> = None;
    for run in frames.chunk_by(|a, b| a.1 == b.1) {
        let first = place;
        place += run.len();
        let next = frames.get(place).map(|(sent, _)| *sent);
        let known = if next.is_none() { run.partition_point(|(sent, _)| *sent < waits) } else { 0 };
        let run = run.get(known..).unwrap_or_default();
        let (Some((from, false)), Some((last, _))) = (run.first().copied(), run.last().copied()) else {
            continue;
        };
        let found = StreamSilence {
            stream,
            from: Duration::from_nanos(from),
            length: Duration::from_nanos(next.unwrap_or(last) - from),
            frames: run.len() as u64,
            from_the_first: first == 0 && known == 0,
            to_the_last: next.is_none(),
            others: 0.0,
        };
        if longest.is_none_or(|longest| found.length > longest.length) {
            longest = Some(found);
        }
    }
    let found = longest.filter(|found| found.frames >= MIN_FRAMES)?;
    let during = found.from.as_nanos()..=(found.from + found.length).as_nanos();
    let (mut left, mut came) = (0_u64, 0_u64);
    let others = flight.left.iter().zip(arrivals).enumerate().filter(|(other, _)| *other != stream);
    for (sent, at) in others.flat_map(|(_, (sent, at))| sent.iter().zip(at)) {
        if during.contains(&sent.sent) {
            left += 1;
            came += u64::from(at.is_some());
        }
    }
    if came == 0 {
        return None;
    }
    // One more lost than was seen: of few others little is known.
    let ratio = (real(left - came) + 1.0) / (real(left) + 1.0);
    let by_chance = libm::pow(ratio, real(found.frames));
    (by_chance < CHANCE).then(|| StreamSilence { others: real(came) / real(left), ..found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::SentFrame;

    /// Frames of a stream, one in ten milliseconds, of which those between two numbers do not come.
    fn stream(frames: i64, lost: std::ops::Range<i64>) -> (Vec<SentFrame>, Vec<Option<i64>>) {
        let sent = |n: i64| n * 10_000_000;
        let left = (0..frames).map(|n| SentFrame { due: sent(n), sent: sent(n), octets: 64 });
        let came = (0..frames).map(|n| (!lost.contains(&n)).then(|| sent(n) + 1_000));
        (left.collect(), came.collect())
    }

    fn silent(streams: Vec<(Vec<SentFrame>, Vec<Option<i64>>)>) -> Vec<StreamSilence> {
        let (left, arrivals) = streams.into_iter().unzip();
        silent_streams(&TrialTrace { left, ..TrialTrace::default() }, &arrivals)
    }

    #[test]
    fn a_stream_of_which_nothing_comes_while_another_lives_is_known_with_its_time() {
        let found = silent(vec![stream(200, 0..0), stream(200, 50..120), stream(200, 150..200)]);
        assert_eq!(found.iter().map(|one| one.stream).collect::<Vec<_>>(), [1, 2]);
        let (middle, end) = (found[0], found[1]);
        assert_eq!((middle.from, middle.length), (Duration::from_millis(500), Duration::from_millis(700)));
        assert_eq!((middle.frames, middle.from_the_first, middle.to_the_last), (70, false, false));
        assert_eq!((end.from, end.frames, end.to_the_last), (Duration::from_millis(1_500), 50, true));
        let all = silent(vec![stream(200, 0..0), stream(200, 0..200)]);
        assert!(all[0].from_the_first && all[0].to_the_last && all[0].others > 0.999);
    }

    #[test]
    fn what_waits_in_a_full_device_is_no_silence_of_a_stream() {
        // One comes as it is sent, the other takes three times as long, and all that comes later is not waited for.
        let told = |listened| {
            let (prompt, mut slow) = (stream(200, 0..0), stream(200, 0..0));
            slow.1 = (0..200).map(|n| (n < 84).then_some(n * 30_000_000)).collect();
            let came = [&prompt, &slow].map(|(_, arrivals)| arrivals.iter().flatten().copied().collect());
            let came: Vec<Vec<i64>> = came.into();
            let out = came.into_iter().flatten().map(|received| crate::analysis::ReceivedFrame {
                received,
                sent: 0,
                sequence: 0,
                stream: 0,
                octets: 64,
                tos: 0,
                tag: crate::analysis::UNTAGGED,
                intact: true,
                comparable: true,
            });
            let flight = TrialTrace {
                left: vec![prompt.0, slow.0],
                came: out.collect(),
                listened: Some(Duration::from_millis(listened)),
                ..TrialTrace::default()
            };
            silent_streams(&flight, &vec![prompt.1, slow.1])
        };
        assert_eq!(told(2_500), []);
        let empty = told(5_000);
        assert_eq!((empty.len(), empty[0].stream, empty[0].from), (1, 1, Duration::from_millis(840)));
    }

    #[test]
    fn what_is_of_the_whole_device_or_of_chance_is_no_silence_of_a_stream() {
        assert_eq!(silent(vec![stream(200, 0..200)]), [], "there is no other");
        assert_eq!(silent(vec![stream(200, 50..120), stream(200, 50..120)]), [], "no other lived");
        assert_eq!(silent(vec![stream(200, 0..0), stream(200, 50..59)]), [], "these are few");
        // Of a device that loses nine of ten, twenty in a row tell nothing.
        let (left, came) = stream(200, 0..0);
        let nine = came.iter().enumerate().map(|(n, at)| at.filter(|_| n % 10 == 0)).collect();
        assert_eq!(silent(vec![(left, nine), stream(200, 50..70)]), []);
    }

    /// Frames a millisecond apart in a second, each with when it came, in milliseconds.
    fn stood(came: impl Fn(i64) -> Option<i64>) -> Standstills {
        stood_until(None, came)
    }

    /// The same, where it is known until when frames were taken in.
    fn stood_until(listened: Option<Duration>, came: impl Fn(i64) -> Option<i64>) -> Standstills {
        const MILLI: i64 = 1_000_000;
        let left = (0..1_000).map(|n| SentFrame { due: n * MILLI, sent: n * MILLI, octets: 64 });
        let arrivals: Vec<Option<i64>> = (0..1_000).map(|n| came(n).map(|at| at * MILLI)).collect();
        let out = (0..).zip(&arrivals).filter_map(|(sequence, at)| {
            Some(crate::analysis::ReceivedFrame {
                received: (*at)?,
                sent: i64::from(sequence) * MILLI,
                sequence,
                stream: 0,
                octets: 64,
                tos: 0,
                tag: crate::analysis::UNTAGGED,
                intact: true,
                comparable: true,
            })
        });
        let length = Duration::from_secs(1);
        let flight = TrialTrace {
            left: vec![left.collect()],
            came: out.collect(),
            length,
            listened,
            ..TrialTrace::default()
        };
        standstills(&flight, &vec![arrivals])
    }

    fn standstill_totals(count: u64, sum: i64, longest: i64, lost: u64) -> Standstills {
        let [sum, longest] = [sum, longest].map(Duration::from_millis);
        Standstills { count, sum, longest, lost }
    }

    #[test]
    fn a_device_stands_still_where_nothing_comes_of_what_leaves_or_nothing_comes_out() {
        // Lost in the middle, for too short a time, and at the end.
        let lost = stood(|n| (!(100..350).contains(&n) && !(500..509).contains(&n) && n < 880).then_some(n));
        let both = standstill_totals(2, 251 + 119, 251, 250 + 120);
        assert_eq!(lost, Standstills { sum: both.sum + Duration::from_nanos(1), ..both });
        // Held, and forwarded then: nothing is lost. Held, and in part lost: that is one time.
        assert_eq!(
            stood(|n| Some(if (100..400).contains(&n) { 400 } else { n })),
            standstill_totals(1, 301, 301, 0)
        );
        let both = stood(|n| match n {
            100..150 => Some(400),
            150..400 => None,
            _ => Some(n),
        });
        assert_eq!(both, standstill_totals(1, 301, 301, 250));
    }

    #[test]
    fn short_standstills_are_told_from_the_manner_of_a_device() {
        // For the second half of 40 ms, five times, and again and again.
        let holds = |often: i64| {
            move |n: i64| Some(if n < often * 40 && n % 40 >= 20 { n / 40 * 40 + 40 } else { n })
        };
        let five = stood(holds(5));
        assert_eq!((five.count, five.lost, five.longest), (5, 0, Duration::from_millis(21)));
        assert_eq!(stood(holds(25)), Standstills::default());
        // What is longer counts all the same.
        let long = stood(|n| holds(25)(n).map(|at| if (500..700).contains(&at) { 700 } else { at }));
        assert_eq!(long.count, 1);
    }

    #[test]
    fn a_device_that_loses_between_others_or_is_sent_nothing_does_not_stand_still() {
        assert_eq!(stood(|n| (n % 90 == 0).then_some(n)), Standstills::default());
        let times = [109, 110].map(|until| stood(|n| (!(100..until).contains(&n)).then_some(n)).count);
        assert_eq!(times, [0, 1]);
        // Those that leave last wait still.
        assert_eq!(stood(|n| (n < 500).then_some(2 * n)), Standstills::default());
        // Or nothing waits any more: what is late has come, and then nothing for half a second.
        let full = |n: i64| (n < 800).then_some(n + n / 3);
        let [late, empty] = [1_080, 1_600].map(|until| stood_until(Some(Duration::from_millis(until)), full));
        assert_eq!(late, Standstills::default());
        assert_eq!((empty.count, empty.lost), (1, 200));
        // A pause of those who send is none of the device.
        let left = (0..200_i64).map(|n| if n < 100 { n } else { n + 500 } * 1_000_000);
        let left: Vec<SentFrame> = left.map(|at| SentFrame { due: at, sent: at, octets: 64 }).collect();
        let came = (0..200).map(|n| (!(60..140).contains(&n)).then_some(0)).collect::<Vec<_>>();
        let flight = TrialTrace { left: vec![left], ..TrialTrace::default() };
        assert_eq!(standstills(&flight, &vec![came]), Standstills::default());
    }
}
