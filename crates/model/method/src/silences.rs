//! Times in which frames left and nothing came: of a device, and of one stream while others lived.

use romer_units::Duration;

use crate::analysis::{Arrivals, Flight};
use crate::real;

/// A time in which a device carried nothing.
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
pub(crate) fn silence(flight: &Flight, arrivals: &Arrivals) -> Option<Silence> {
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
pub(crate) fn tail(flight: &Flight, arrivals: &Arrivals) -> Option<Silence> {
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
pub(crate) fn standstill(flight: &Flight) -> Option<Silence> {
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

pub(crate) fn quiet_end(flight: &Flight) -> bool {
    let from = flight.length.as_nanos() / 10 * 9;
    let left = flight.left.iter().flatten().any(|left| left.sent >= from);
    left && !flight.came.iter().any(|came| came.sent >= from)
}

/// For each stream the longest time in which nothing of it came, where the device lost others so seldom meanwhile that it is no
/// chance. Of a single stream none.
pub(crate) fn silent_streams(flight: &Flight, arrivals: &Arrivals) -> Vec<StreamSilence> {
    if flight.left.len() < 2 {
        return Vec::new();
    }
    (0..flight.left.len()).filter_map(|stream| silent_stream(flight, arrivals, stream)).collect()
}

fn silent_stream(flight: &Flight, arrivals: &Arrivals, stream: usize) -> Option<StreamSilence> {
    /// Fewer frames are no time.
    const LEAST: u64 = 10;
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
        let (Some((from, false)), Some((last, _))) = (run.first().copied(), run.last().copied()) else {
            continue;
        };
        let next = frames.get(place).map(|(sent, _)| *sent);
        let found = StreamSilence {
            stream,
            from: Duration::from_nanos(from),
            length: Duration::from_nanos(next.unwrap_or(last) - from),
            frames: run.len() as u64,
            from_the_first: first == 0,
            to_the_last: next.is_none(),
            others: 0.0,
        };
        if longest.is_none_or(|longest| found.length > longest.length) {
            longest = Some(found);
        }
    }
    let found = longest.filter(|found| found.frames >= LEAST)?;
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
    use crate::analysis::Left;

    /// Frames of a stream, one in ten milliseconds, of which those between two numbers do not come.
    fn stream(frames: i64, lost: std::ops::Range<i64>) -> (Vec<Left>, Vec<Option<i64>>) {
        let sent = |n: i64| n * 10_000_000;
        let left = (0..frames).map(|n| Left { due: sent(n), sent: sent(n), octets: 64 });
        let came = (0..frames).map(|n| (!lost.contains(&n)).then(|| sent(n) + 1_000));
        (left.collect(), came.collect())
    }

    fn silent(streams: Vec<(Vec<Left>, Vec<Option<i64>>)>) -> Vec<StreamSilence> {
        let (left, arrivals) = streams.into_iter().unzip();
        silent_streams(&Flight { left, ..Flight::default() }, &arrivals)
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
    fn what_is_of_the_whole_device_or_of_chance_is_no_silence_of_a_stream() {
        assert_eq!(silent(vec![stream(200, 0..200)]), [], "there is no other");
        assert_eq!(silent(vec![stream(200, 50..120), stream(200, 50..120)]), [], "no other lived");
        assert_eq!(silent(vec![stream(200, 0..0), stream(200, 50..59)]), [], "these are few");
        // Of a device that loses nine of ten, twenty in a row tell nothing.
        let (left, came) = stream(200, 0..0);
        let nine = came.iter().enumerate().map(|(n, at)| at.filter(|_| n % 10 == 0)).collect();
        assert_eq!(silent(vec![(left, nine), stream(200, 50..70)]), []);
    }
}
