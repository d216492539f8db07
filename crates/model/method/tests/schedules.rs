//! Every pace with every mixture of sizes: the load, the times between frames, and how late a sender that is always there
//! would be on the line, against arithmetic.
//!
//! Chance is of fixed seeds; a fresh one would break a bound with a probability below 1e-6 for each combination.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use romer_method::schedule::{Due, Flow, FrameSchedule, Nominal, Pace, nominal};
use romer_method::{Frames, Phase};
use romer_units::random::Seed;
use romer_units::{Duration, FrameSize, LineRate};

const SEED: Seed = Seed([6, 5, 4, 3, 2, 1]);
/// Bits a second.
const LINE: u32 = 10_000_000;
const SECONDS: u32 = 4;
/// Sizes and mixtures. The last one has frames below the least size, which are padded.
const MIXTURES: [&str; 8] =
    ["64", "512", "1518", "simple", "aaafg", "3(ag)20(a)2(f)", "chadda2004", "chadda2004,random=46B-300B"];
/// Octets of the smallest frame and of headers and check sequence: UDP over IPv4, and over IPv6.
const HEADERS: [(u32, u32); 2] = [(64, 46), (84, 66)];

fn line() -> LineRate {
    LineRate::new(u64::from(LINE)).unwrap()
}

fn frames(text: &str) -> Frames {
    text.parse().map_or_else(
        |_| Frames::Mixture(text.parse().unwrap()),
        |size| Frames::Size(FrameSize::new(size).unwrap()),
    )
}

fn phase(load: f64) -> Phase {
    Phase { load, length: Duration::from_secs(i64::from(SECONDS)) }
}

/// A frame that is due: when, nanoseconds, its bits on the line, and its octets.
#[derive(Clone, Copy)]
struct ScheduledFrame {
    at: f64,
    bits: f64,
    octets: u32,
}

fn of_stream(dues: &[Due], stream: u16) -> Vec<ScheduledFrame> {
    let frame = |due: &Due| ScheduledFrame {
        at: due.at.as_secs_f64() * 1e9,
        bits: f64::from(due.octets + 20) * 8.0,
        octets: due.octets,
    };
    dues.iter().filter(|due| due.stream == stream).map(frame).collect()
}

fn count(all: usize) -> f64 {
    f64::from(u32::try_from(all).unwrap())
}

/// Each frame is due when this says, to the nanosecond.
fn due_when(found: &[ScheduledFrame], mut when: impl FnMut(&ScheduledFrame) -> f64, what: &str) {
    for (number, frame) in found.iter().enumerate() {
        let expected = when(frame);
        assert!((frame.at - expected).abs() <= 1.5, "{what}: frame {number} at {}, not {expected}", frame.at);
    }
}

/// A sender that is always there finds the line free whenever a frame is due.
fn never_late(found: &[ScheduledFrame], what: &str) {
    for pair in found.windows(2) {
        let free = pair[0].at + pair[0].bits * 1e9 / f64::from(LINE);
        assert!(pair[1].at >= free - 1.5, "{what}: {} while the line is busy until {free}", pair[1].at);
    }
}

/// The load is that of `wanted` with so many bits more or less, and for random sizes five deviations of their sum.
fn has_load(found: &[ScheduledFrame], wanted: Nominal, spare: f64, what: &str) {
    let seconds = f64::from(SECONDS);
    let sum: f64 = found.iter().map(|frame| frame.bits).sum();
    let mean = sum / count(found.len());
    let scatter = found.iter().map(|frame| (frame.bits - mean).powi(2)).sum::<f64>().sqrt();
    let bits = wanted.load * f64::from(LINE) * seconds;
    assert!((sum - bits).abs() <= spare + 5.0 * scatter, "{what}: {sum} bits of {bits}");
    let (pps, frames) = (wanted.pps * seconds, count(found.len()));
    let scatter = 5.0 * scatter / mean;
    assert!((frames - pps).abs() <= spare / mean + scatter + 1.0, "{what}: {frames} frames of {pps}");
}

/// The greatest distance between the distribution of the gaps and the exponential one, in the unit of Kolmogorov's test:
/// 2.7 has a probability of 1e-6.
fn from_exponential(found: &[ScheduledFrame], mean: f64) -> f64 {
    let begin = found.first().map(|first| first.at);
    let mut gaps: Vec<f64> = found.windows(2).map(|pair| pair[1].at - pair[0].at).chain(begin).collect();
    gaps.sort_by(f64::total_cmp);
    let all = count(gaps.len());
    let apart = gaps.iter().enumerate().map(|(place, gap)| {
        let expected = 1.0 - (-gap / mean).exp();
        let [below, upto] = [place, place + 1].map(|place| count(place) / all);
        (expected - below).abs().max((upto - expected).abs())
    });
    apart.fold(0.0, f64::max) * all.sqrt()
}

/// Streams with these shares, all of one pace.
fn flows(pace: Pace, mixture: &str, (least, overhead): (u32, u32), shares: &[f64]) -> Vec<Flow> {
    let flow = |share: &f64| Flow { share: *share, frames: Some(frames(mixture)), pace, overhead, least };
    shares.iter().map(flow).collect()
}

/// Looks at each stream of a combination by itself.
fn each(
    pace: Pace,
    shares: &[f64],
    load: f64,
    mut look: impl FnMut(&[ScheduledFrame], &Flow, Nominal, (f64, &str)),
) {
    for mixture in MIXTURES {
        for headers in HEADERS {
            let flows = flows(pace, mixture, headers, shares);
            // The trial's own frames are none of theirs.
            let trial = frames("1024");
            let phases = [phase(load)];
            let dues: Vec<Due> = FrameSchedule::new(&flows, &trial, line(), &phases, SEED).collect();
            assert!(dues.windows(2).all(|pair| pair[0].at <= pair[1].at), "in order of time");
            assert!(
                u64::try_from(dues.len()).unwrap() <= FrameSchedule::most(&flows, &trial, line(), &phases)
            );
            for (number, flow) in (0_u16..).zip(&flows) {
                let what = format!("{pace:?}, {mixture}, {headers:?}, {shares:?}, {load}, stream {number}");
                let found = of_stream(&dues, number);
                assert!(found.iter().all(|frame| frame.octets >= headers.0), "{what}");
                let alone = nominal(std::slice::from_ref(flow), &trial, line(), phases[0]);
                if !pace.is_fixed() {
                    assert!((alone.load - load * flow.share).abs() < 1e-9, "{what}: {alone:?}");
                }
                look(&found, flow, alone, (f64::from(number) / count(flows.len()), &what));
            }
        }
    }
}

/// Every load and division into streams.
fn every(pace: Pace, mut look: impl FnMut(&[ScheduledFrame], &Flow, Nominal, (f64, &str), f64)) {
    for load in [0.03, 0.5, 1.0] {
        for shares in [&[1.0][..], &[0.6, 0.4]] {
            each(pace, shares, load, |found, flow, alone, of| look(found, flow, alone, of, load));
        }
    }
}

#[test]
fn constant_is_a_line_that_the_stream_fills() {
    every(Pace::Constant, |found, flow, alone, (turn, what), load| {
        let rate = f64::from(LINE) * load * flow.share;
        let mut bits = turn * alone.load * f64::from(LINE) / alone.pps;
        due_when(
            found,
            |frame| {
                let at = bits * 1e9 / rate;
                bits += frame.bits;
                at
            },
            what,
        );
        never_late(found, what);
        has_load(found, alone, 1_538.0 * 8.0, what);
    });
}

#[test]
fn bursts_fill_the_line_and_begin_when_the_load_says() {
    for size in [1, 16] {
        every(Pace::Burst(size), |found, flow, alone, (turn, what), load| {
            let rate = f64::from(LINE) * load * flow.share;
            let mean = alone.load * f64::from(LINE) / alone.pps;
            let (mut before, mut within, mut place) = (turn * mean * f64::from(size), 0.0, 0);
            due_when(
                found,
                |frame| {
                    if place == size {
                        (before, within, place) = (before + within, 0.0, 0);
                    }
                    let at = before * 1e9 / rate + within * 1e9 / f64::from(LINE);
                    (within, place) = (within + frame.bits, place + 1);
                    at
                },
                what,
            );
            never_late(found, what);
            has_load(found, alone, f64::from(size) * 1_538.0 * 8.0, what);
        });
    }
}

#[test]
fn poisson_is_a_process_of_beginnings_that_knows_no_sizes() {
    every(Pace::Poisson, |found, _, alone, (_, what), _| {
        let mean = 1e9 / alone.pps;
        let apart = from_exponential(found, mean);
        assert!(apart < 2.7, "{what}: {apart}");
        // As long after a large frame as after a small one; of frames of one size there is nothing to compare.
        let average = alone.load * f64::from(LINE) / alone.pps;
        let gaps = |large: bool| {
            let pairs = found.windows(2).filter(move |pair| (pair[0].bits > average) == large);
            pairs.map(|pair| pair[1].at - pair[0].at).collect::<Vec<f64>>()
        };
        let [small, large] = [gaps(false), gaps(true)];
        if small.len() > 30 && large.len() > 30 {
            let [short, long] = [&small, &large].map(|gaps| gaps.iter().sum::<f64>() / count(gaps.len()));
            let deviation = mean * (1.0 / count(small.len()) + 1.0 / count(large.len())).sqrt();
            assert!((long - short).abs() < 5.5 * deviation, "{what}: {short} and {long}");
        }
        let expected = alone.pps * f64::from(SECONDS);
        let more = 5.0 * expected.sqrt();
        assert!((count(found.len()) - expected).abs() <= more + 1.0, "{what}: {} of {expected}", found.len());
        has_load(found, alone, (more + 1.0) * average, what);
    });
}

#[test]
fn frames_of_a_poisson_process_wait_for_the_line_as_pollaczek_and_khinchine_say() {
    // Half of the line, ten minutes: 200,000 to 4,500,000 frames.
    for mixture in ["64", "chadda2004"] {
        let flows = flows(Pace::Poisson, mixture, HEADERS[0], &[1.0]);
        let phases = [Phase { load: 0.5, length: Duration::from_secs(600) }];
        let dues = FrameSchedule::new(&flows, &frames("64"), line(), &phases, SEED);
        let (mut free, mut waited, mut squares, mut all) = (0.0_f64, 0.0, 0.0, 0.0);
        for due in dues {
            let at = due.at.as_secs_f64() * 1e9;
            let takes = f64::from(due.octets + 20) * 8e9 / f64::from(LINE);
            let begin = at.max(free);
            free = begin + takes;
            (waited, squares, all) = (waited + begin - at, squares + takes * takes, all + 1.0);
        }
        let wait = squares / all * (all / 600e9) / (2.0 * 0.5);
        // Waits that follow one another resemble each other; batches of this length scatter by less than 1 %.
        assert!((waited / all / wait - 1.0).abs() < 0.05, "{mixture}: {} {wait}", waited / all);
    }
}

#[test]
fn given_gaps_follow_the_end_of_each_frame() {
    for gap in [Duration::from_micros(150), Duration::from_millis(1)] {
        each(Pace::Gap(gap), &[1.0], 0.5, |found, _, alone, (_, what)| {
            let mut next = 0.0;
            let after = |frame: &ScheduledFrame| f64::from(frame.octets + 8) * 8e9 / f64::from(LINE);
            due_when(
                found,
                |frame| {
                    let at = next;
                    next += after(frame) + gap.as_secs_f64() * 1e9;
                    at
                },
                what,
            );
            assert!(next >= f64::from(SECONDS) * 1e9 - 1.5, "{what}: nothing is due after {next}");
            never_late(found, what);
            has_load(found, alone, 2.0 * 1_538.0 * 8.0, what);
        });
    }
}

#[test]
fn a_bucket_lets_pass_what_it_has_earned_and_the_line_carries() {
    // The second earns more than the line carries of small frames, and less than it does of large ones.
    for (text, fits) in [("125kBps,3000B", true), ("500kBps,30000B", false), ("100000kBps,3000B", true)] {
        let bucket: romer_traffic::TokenBucket = text.parse().unwrap();
        let depth = f64::from(u32::try_from(bucket.depth()).unwrap());
        let rate = f64::from(u32::try_from(bucket.bits_per_second()).unwrap()) / 8e9;
        each(Pace::Bucket(bucket), &[1.0], 0.5, |found, flow, alone, (_, what)| {
            let (mut tokens, mut now, mut free) = (depth, 0.0_f64, 0.0_f64);
            due_when(
                found,
                |frame| {
                    let payload = f64::from(frame.octets - flow.overhead);
                    tokens = (tokens + (free - now) * rate).min(depth);
                    now = free;
                    let wait = ((payload - tokens) / rate).max(0.0);
                    (tokens, now) = (tokens + wait * rate - payload, now + wait);
                    free = now + frame.bits * 1e9 / f64::from(LINE);
                    now
                },
                what,
            );
            never_late(found, what);
            if fits {
                has_load(found, alone, 3.0 * 1_538.0 * 8.0, what);
            }
        });
    }
}

#[test]
fn padded_sizes_count_with_what_they_have() {
    for (text, least, expected) in [
        ("64", 0, 64.0),
        ("64", 84, 84.0),
        ("aaafg", 0, 598.0),
        ("aaafg", 84, 610.0),
        // 55 % and 2 % of 64, 20 % of 594, 12 % of 1518, 11 % even from 64 to 1518.
        ("chadda2004", 0, 0.57 * 64.0 + 118.8 + 182.16 + 0.11 * 791.0),
        // 46 to 63 are 64: 18 of 55 numbers; the others have a mean of 82.
        (
            "chadda2004,random=46B-100B",
            64,
            0.57 * 64.0 + 118.8 + 182.16 + 0.11 * (18.0 * 64.0 + 37.0 * 82.0) / 55.0,
        ),
        ("chadda2004,random=46B-60B", 64, 0.68 * 64.0 + 118.8 + 182.16),
    ] {
        let found = frames(text).mean_octets(least);
        assert!((found - expected).abs() < 1e-9, "{text}, {least}: {found} {expected}");
    }
}
