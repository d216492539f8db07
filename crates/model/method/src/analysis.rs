//! From what left and what came to the figures of a trial.
//!
//! The figures are those of `romer-metrics`, stream by stream: a frame is a singleton with its own departure, arrival
//! and delay on one clock. Frames that the tester did not send are in none of them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use romer_metrics::jitter::{
    delay_difference, delay_difference_in_order_of_arrival, inter_arrival_difference,
    inter_arrival_difference_in_order_of_arrival, peak_to_peak, rfc3550,
};
use romer_metrics::{
    described, deviations, ipdv_figures, of_neighbours, pdv, reordering, summary, wilson_interval,
};
use romer_record::benchmark::{LatencyByDefinition, LatencyConversion, Load, StreamResult};
use romer_record::document::{Histogram, Jitter, Summary};
use romer_record::{Fate, OneWaySingleton};
use romer_units::{Dscp, Duration, Ecn, FrameSize, LineRate, Timestamp};

use crate::attribution::{Attribution, attribute};
pub use crate::outage::{LEAST_AWAY, STALLED, Silence, Standstills, StreamSilence};
use crate::outage::{quiet_end, silence, silent_streams, standstill, standstills, tail};
use crate::per_size::per_size;
use crate::policing::Policed;
use crate::reordering::reordered_within_flows;
use crate::trial_trace::FirstArrivals;
pub use crate::trial_trace::{ReceivedFrame, SentFrame, StreamInfo, TrialTrace, UNTAGGED};
use crate::{TrialOutcome, Unlinked, real};

/// Priority and VLAN of a tag.
const fn priority_of(tag: u16) -> u16 {
    tag >> 13
}

const fn vlan_of(tag: u16) -> u16 {
    tag & 0x0fff
}

/// What went in, and as what it came out how often.
pub type Changes = BTreeMap<String, BTreeMap<String, u64>>;

/// The figures of a trial.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// For the procedure.
    pub outcome: TrialOutcome,
    /// Asked for.
    pub intended: Load,
    /// Given to the device.
    pub offered: Load,
    /// Came out.
    pub forwarded: Load,
    /// Whose loss it is.
    pub attribution: Attribution,
    /// Upper end of the loss ratio's interval.
    pub loss_ratio_bound: Option<f64>,
    /// Further copies.
    pub duplicated: u64,
    /// Out of the order of their flow.
    pub reordered: u64,
    /// Of another length than they were sent with.
    pub altered: u64,
    /// With another payload than they were sent with.
    pub corrupted: u64,
    /// Latency of every frame.
    pub latency: Summary,
    /// What other definitions add to it.
    pub conversion: LatencyConversion,
    /// The same by these definitions, where they differ.
    pub latency_by_definition: Option<LatencyByDefinition>,
    /// Its distribution.
    pub histogram: Histogram,
    /// The jitters of the stream with the most frames.
    pub jitter: Jitter,
    /// That of RFC 4689, of the same stream.
    pub jitter_rfc4689: Summary,
    /// The variations of latency of the same stream: RFC 3393's, signed, and RFC 5481's.
    pub variation: [Summary; 2],
    /// How late frames were given to the interface.
    pub lateness: Summary,
    /// Each stream.
    pub streams: Vec<StreamResult>,
    /// Code points in and out.
    pub markings: Changes,
    /// Priorities in and out, of frames that had a tag before or after.
    pub priorities: Changes,
    /// VLANs in and out, likewise.
    pub vlans: Changes,
    /// Code points of congestion notification in and out, of frames that had another than `not-ect` before or after.
    pub ecns: Changes,
    /// Frames that left in each second, from the trial's beginning.
    pub offered_per_second: Vec<u64>,
    /// Frames that came in each second.
    pub per_second: Vec<u64>,
    /// Frames were sent in the last tenth of the trial, and none of them came.
    pub quiet_end: bool,
    /// The longest time in which frames left and none of them came, between two that did.
    pub silence: Option<Silence>,
    /// The longest time in which frames left and nothing came out, whatever became of them.
    pub standstill: Option<Silence>,
    /// The time at the trial's end in which frames left, none of them came, and nothing came out.
    pub tail: Option<Silence>,
    /// All times in which the device stood still.
    pub standstills: Standstills,
    /// Streams of which nothing came for a time, while others lived.
    pub silent: Vec<StreamSilence>,
}

/// The figures of what was seen.
pub fn figures(flight: &TrialTrace) -> Figures {
    let mut found = Figures::default();
    let mut latencies = Vec::with_capacity(flight.came.len());
    let mut sizes = Vec::with_capacity(if flight.real_line.is_some() { flight.came.len() } else { 0 });
    let mut most_frames = None;
    let mut losses: Vec<i64> = Vec::new();
    let arrivals = arrivals(flight);
    let ends = ends_of_rates(flight, &arrivals);
    for (number, known) in flight.streams.iter().enumerate() {
        let left = flight.left.get(number).map(Vec::as_slice).unwrap_or_default();
        let singletons = singletons(flight, number, left);
        let came = arrivals.get(number).map(Vec::as_slice).unwrap_or_default();
        let end = ends.get(number).copied().unwrap_or(i64::MAX);
        let one = stream(flight, known, number, (left, came, end), &singletons, &mut found);
        // What the device is to drop has no part in its latency and losses.
        let first_copies = singletons.iter().filter(|one| one.copy == 0 && !known.expect_drop);
        for singleton in first_copies {
            match singleton.delay {
                Some(delay) => {
                    latencies.push(delay.as_nanos());
                    if flight.real_line.is_some() {
                        sizes.push(singleton.size);
                    }
                }
                None => losses.extend(singleton.departure.map(Timestamp::as_nanos)),
            }
        }
        if !known.expect_drop && most_frames.is_none_or(|most| one.offered > most) {
            most_frames = Some(one.offered);
            found.jitter = one.jitter_ns.clone();
            found.jitter_rfc4689 = one.jitter_rfc4689_ns.clone();
            found.variation = [one.ipdv_ns.clone(), one.pdv_ns.clone()];
        }
        found.streams.push(one);
    }
    // Intervals look at the order: that of the streams one after the other is the one in which they were sent.
    (found.latency, found.histogram) = described(&latencies);
    found.conversion = conversion(flight, &arrivals);
    found.latency_by_definition = flight.real_line.map(|line| by_definition(line, &mut latencies, &sizes));
    let lateness: Vec<i64> = flight.left.iter().flatten().map(|left| left.sent - left.due).collect();
    found.lateness = summary(&lateness);
    let of_each = |of: fn(&StreamResult) -> &Vec<u64>| {
        found.streams.iter().map(of).fold(Vec::new(), |sum, one| added(sum, one))
    };
    found.offered_per_second = of_each(|stream| &stream.offered_per_second);
    found.per_second = of_each(|stream| &stream.forwarded_per_second);
    // What the device is to drop says nothing of whether it is there, and is nobody's loss.
    let (to_carry, came) = to_carry(flight, &arrivals);
    found.quiet_end = quiet_end(&to_carry);
    found.silence = silence(&to_carry, &came);
    found.standstill = standstill(&to_carry);
    found.tail = tail(&to_carry, &came);
    found.standstills = standstills(&to_carry, &came);
    found.silent = silent_streams(&to_carry, &came);
    let to_be_carried = || found.streams.iter().filter(|stream| !stream.expect_drop);
    let sum = |of: fn(&StreamResult) -> u64| to_be_carried().map(of).sum::<u64>();
    found.outcome = TrialOutcome {
        intended: sum(|stream| stream.intended),
        offered: sum(|stream| stream.offered),
        forwarded: sum(|stream| stream.forwarded),
        lost: sum(|stream| stream.lost),
        lost_by_tester: 0,
        tester_failed: false,
        device_unreachable: false,
        tester_share: None,
        unlinked: Unlinked::default(),
        first_loss_at: losses.iter().min().copied().map(Duration::from_nanos),
        last_loss_at: losses.iter().max().copied().map(Duration::from_nanos),
    };
    let sum = |of: fn(&StreamResult) -> u64| found.streams.iter().map(of).sum::<u64>();
    found.duplicated = sum(|stream| stream.duplicated);
    found.reordered = sum(|stream| stream.reordered);
    found.corrupted = sum(|stream| stream.corrupted) + flight.damaged;
    found.attribution = attribute(&to_carry, &came, found.duplicated);
    found.attribution.came_damaged(flight.damaged);
    found.outcome.lost_by_tester = found.attribution.tester;
    let (lost, offered) = (found.outcome.lost, found.outcome.offered);
    found.loss_ratio_bound = loss_bound(lost, offered);
    loads(flight, &arrivals, &ends, &mut found);
    found
}

/// The flight, and when what left came, without the streams that the device is to drop; their places stay.
fn to_carry<'f>(
    flight: &'f TrialTrace,
    arrivals: &'f FirstArrivals,
) -> (Cow<'f, TrialTrace>, Cow<'f, FirstArrivals>) {
    if !flight.streams.iter().any(|known| known.expect_drop) {
        return (Cow::Borrowed(flight), Cow::Borrowed(arrivals));
    }
    let is_dropped = |stream: usize| flight.streams.get(stream).is_some_and(|known| known.expect_drop);
    let (mut rest, mut came) = (flight.clone(), arrivals.clone());
    for stream in (0..rest.left.len()).filter(|stream| is_dropped(*stream)) {
        rest.left[stream].clear();
        came[stream].clear();
    }
    rest.came.retain(|came| !is_dropped(usize::from(came.stream)));
    (Cow::Owned(rest), Cow::Owned(came))
}

/// The upper end of what a loss ratio can be: with none lost of N, the ratio above which none would be lost with
/// probability 5 %, about 3/N; else that of Wilson's interval.
pub fn loss_bound(lost: u64, of: u64) -> Option<f64> {
    if of == 0 {
        return None;
    }
    if lost == 0 {
        return Some(1.0 - libm::pow(0.05, 1.0 / real(of)));
    }
    let [lost, of] = [lost, of].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    wilson_interval(lost, of).map(|[_, high]| high)
}

/// One stream's frames as singletons, in order of sequence and copy.
fn singletons(flight: &TrialTrace, number: usize, left: &[SentFrame]) -> Vec<OneWaySingleton> {
    let mut singletons: Vec<OneWaySingleton> = Vec::with_capacity(left.len());
    let mut came: Vec<&ReceivedFrame> =
        flight.came.iter().filter(|came| usize::from(came.stream) == number).collect();
    // A stable order: copies stay in order of arrival.
    came.sort_by_key(|came| came.sequence);
    let mut came = came.into_iter().peekable();
    for (sequence, left) in (0_u32..).zip(left) {
        let departure = Some(Timestamp::from_nanos(left.sent));
        let mut copy = 0;
        while let Some(arrived) = came.next_if(|came| came.sequence <= sequence) {
            if arrived.sequence < sequence {
                // A number that was never sent cannot come; it would be another run's.
                continue;
            }
            singletons.push(OneWaySingleton {
                sequence: u64::from(sequence),
                copy,
                size: left.octets,
                fate: Fate::Arrived,
                departure,
                arrival: Some(Timestamp::from_nanos(arrived.received)),
                delay: Some(Duration::from_nanos(arrived.received - left.sent) - flight.baseline),
                ttl: None,
                tos: Some(arrived.tos),
                leaving: romer_record::Leaving::UNKNOWN,
            });
            copy += 1;
        }
        if copy == 0 {
            singletons.push(OneWaySingleton {
                sequence: u64::from(sequence),
                copy: 0,
                size: left.octets,
                fate: Fate::Lost,
                departure,
                arrival: None,
                delay: None,
                ttl: None,
                tos: None,
                leaving: romer_record::Leaving::UNKNOWN,
            });
        }
    }
    singletons
}

fn count_change(changes: &mut Changes, [sent, came]: [String; 2]) {
    *changes.entry(sent).or_default().entry(came).or_insert(0) += 1;
}

fn stream(
    flight: &TrialTrace,
    known: &StreamInfo,
    number: usize,
    (left, arrivals, end): (&[SentFrame], &[Option<i64>], i64),
    singletons: &[OneWaySingleton],
    found: &mut Figures,
) -> StreamResult {
    let count = |wanted: fn(&&OneWaySingleton) -> bool| singletons.iter().filter(wanted).count() as u64;
    let forwarded = count(|singleton| singleton.copy == 0 && singleton.fate == Fate::Arrived);
    let reordered = reordering(singletons).len() as u64;
    let flows = flight.flows.get(number).filter(|flows| !flows.is_empty());
    let (latency, latency_histogram) = described(&romer_metrics::delays(singletons));
    let (mut octets, mut on_line) = (0, 0);
    for left in in_time(left, arrivals, end) {
        octets += u64::from(left.octets);
        on_line += u64::from(left.octets + FrameSize::OVERHEAD);
    }
    let (mut dscp_out, mut corrupted) = (BTreeMap::new(), 0);
    for came in flight.came.iter().filter(|came| usize::from(came.stream) == number) {
        let (sent, out) = (Dscp::of_tos(known.tos).to_string(), Dscp::of_tos(came.tos).to_string());
        corrupted += u64::from(!came.intact);
        if !came.comparable {
            continue;
        }
        *dscp_out.entry(out.clone()).or_insert(0) += 1;
        count_change(&mut found.markings, [sent, out]);
        let ecns = [known.tos, came.tos].map(Ecn::of_tos);
        if ecns != [Ecn::NotEct; 2] {
            count_change(&mut found.ecns, ecns.map(|ecn| ecn.to_string()));
        }
        let tags = [known.tag, came.tag];
        if tags != [UNTAGGED; 2] {
            let said = |of: fn(u16) -> u16| {
                tags.map(|tag| if tag == UNTAGGED { "untagged".to_owned() } else { of(tag).to_string() })
            };
            count_change(&mut found.priorities, said(priority_of));
            count_change(&mut found.vlans, said(vlan_of));
        }
        let sent = usize::try_from(came.sequence).ok().and_then(|place| left.get(place));
        // A tag that was sent is not part of the length that came.
        let tag = if known.tag == UNTAGGED { 0 } else { 4 };
        let altered =
            |sent: &SentFrame| u32::from(came.octets) + tag != sent.octets || came.sent != sent.sent;
        found.altered += u64::from(sent.is_some_and(altered));
    }
    let in_stream = flight.came.iter().filter(|came| usize::from(came.stream) == number);
    let all_octets: u64 = left.iter().map(|left| u64::from(left.octets)).sum();
    StreamResult {
        name: known.name.clone(),
        expect_drop: known.expect_drop,
        intended: flight.intended.get(number).copied().unwrap_or(0),
        offered: left.len() as u64,
        forwarded,
        lost: left.len() as u64 - forwarded,
        duplicated: count(|singleton| singleton.copy > 0),
        reordered: flows.map_or(reordered, |flows| reordered_within_flows(singletons, flows)),
        corrupted,
        forwarded_bps: real(on_line) * 8.0 / seconds(flight),
        offered_l2_bps: real(all_octets) * 8.0 / seconds(flight),
        forwarded_l2_bps: real(octets) * 8.0 / seconds(flight),
        frame_octets: (!left.is_empty()).then(|| real(all_octets) / real(left.len() as u64)),
        expected_l2_bps: None,
        policed: None,
        offered_per_second: per_second(left.iter().map(|left| left.sent)),
        forwarded_per_second: per_second(in_stream.map(|came| came.received)),
        latency_ns: latency,
        latency_histogram,
        jitter_ns: jitters(singletons, reordered > 0),
        jitter_rfc4689_ns: of_neighbours(&delay_difference_in_order_of_arrival(singletons), 1),
        ipdv_ns: ipdv_figures(singletons),
        pdv_ns: summary(&pdv(singletons)),
        dscp_out,
        per_size: per_size(left, arrivals),
    }
}

/// The jitters as a measurement has them.
fn jitters(singletons: &[OneWaySingleton], reordered: bool) -> Jitter {
    Jitter {
        peak_to_peak: summary(&Vec::from_iter(peak_to_peak(singletons))),
        inter_arrival_difference: of_neighbours(&inter_arrival_difference(singletons), 2),
        inter_arrival_difference_in_order_of_arrival: reordered
            .then(|| of_neighbours(&inter_arrival_difference_in_order_of_arrival(singletons), 2)),
        delay_difference: of_neighbours(&delay_difference(singletons), 1),
        deviation_from_mean: deviations(singletons),
        rfc3550: rfc3550(singletons),
    }
}

fn seconds(flight: &TrialTrace) -> f64 {
    flight.length.as_secs_f64().max(1e-9)
}

fn arrivals(flight: &TrialTrace) -> FirstArrivals {
    let mut arrivals: FirstArrivals = flight.left.iter().map(|left| vec![None; left.len()]).collect();
    for came in &flight.came {
        let stream = arrivals.get_mut(usize::from(came.stream));
        let place = usize::try_from(came.sequence).ok();
        if let Some(first) = stream.zip(place).and_then(|(stream, place)| stream.get_mut(place)) {
            first.get_or_insert(came.received);
        }
    }
    arrivals
}

/// Until when what comes of each stream has come in the trial's time, which is later by the least latency where frames come out.
/// A device that is given more than it carries still sends what it holds when nothing is sent to it any more: that is no part of
/// the rate at which it carries. Where it held no more of a stream at the end than before, all that came counts: there the trial's
/// end is only blurred by the latency's variation.
fn ends_of_rates(flight: &TrialTrace, arrivals: &FirstArrivals) -> Vec<i64> {
    let least = flight.came.iter().map(|came| came.received.saturating_sub(came.sent)).min().unwrap_or(0);
    let end = flight.length.as_nanos().saturating_add(least);
    let cut = |left: &[SentFrame], arrivals: &[Option<i64>]| {
        flight.in_time_only || holds_more(left, arrivals, [least, end])
    };
    let streams = flight.left.iter().zip(arrivals);
    streams.map(|(left, arrivals)| if cut(left, arrivals) { end } else { i64::MAX }).collect()
}

/// Whether more frames of a stream were in the device at the `end` than at any time of the first half, half as many again, or some
/// were lost for want of room. A queue that grows has twice as many then. What the tester gave late was not there sooner.
fn holds_more(left: &[SentFrame], arrivals: &[Option<i64>], [least, end]: [i64; 2]) -> bool {
    /// One of so many may be lost by chance, ...
    const LOST: usize = 100;
    /// ... and one of so many may be late at the end because the host stood still for a moment.
    const LATE: usize = 200;
    /// A frame that left so long after it was due left late.
    const NOT_ON_TIME: i64 = 1_000_000;
    let mut came: Vec<(i64, i64)> =
        left.iter().zip(arrivals).filter_map(|(left, at)| Some((left.sent, (*at)?))).collect();
    if left.len() - came.len() > left.len() / LOST {
        return true;
    }
    let on_time = |left: &SentFrame| left.sent - left.due < NOT_ON_TIME;
    let frames = left.iter().zip(arrivals).filter(|(left, _)| on_time(left));
    let at_the_end = frames.filter(|(_, at)| at.is_some_and(|at| at > end)).count();
    if at_the_end <= left.len() / LATE {
        return false;
    }
    let mut out: Vec<i64> = came.iter().map(|(_, at)| *at).collect();
    out.sort_unstable();
    came.sort_unstable();
    let gone_by = |time: i64| out.partition_point(|at| *at <= time);
    let first_half = came.iter().take(came.len() / 2).zip(1..);
    let before = first_half.map(|((sent, _), count)| usize::saturating_sub(count, gone_by(sent + least)));
    2 * at_the_end > 3 * before.max().unwrap_or(0) + 1
}

/// The frames that had come by `end`, of those that left.
fn in_time<'l>(
    left: &'l [SentFrame],
    arrivals: &'l [Option<i64>],
    end: i64,
) -> impl Iterator<Item = &'l SentFrame> {
    left.iter().zip(arrivals).filter(move |(_, at)| at.is_some_and(|at| at <= end)).map(|(left, _)| left)
}

/// The three loads in all their units. Carried are the frames of the whole trial, at the rate of its time.
fn loads(flight: &TrialTrace, arrivals: &FirstArrivals, ends: &[i64], found: &mut Figures) {
    let load = |frames: u64, in_time: u64, on_line: u64, payload: u64| {
        let bps = |octets: u64| real(octets) * 8.0 / seconds(flight);
        let percent = |bps: f64| flight.line.map_or(0.0, |line| bps * 100.0 / real(line.bits()));
        Load {
            frames,
            bps: bps(on_line),
            pps: real(in_time) / seconds(flight),
            percent: percent(bps(on_line)),
            payload_percent: percent(bps(payload)),
        }
    };
    let of = |octets: u32, known: &StreamInfo| {
        [u64::from(octets + FrameSize::OVERHEAD), u64::from(octets.saturating_sub(known.overhead))]
    };
    let (mut offered, mut forwarded, mut count) = ([0, 0], [0, 0], 0);
    for (((known, left), arrivals), end) in flight.streams.iter().zip(&flight.left).zip(arrivals).zip(ends) {
        let add = |sums: &mut [u64; 2], left: &SentFrame| {
            for (sum, octets) in sums.iter_mut().zip(of(left.octets, known)) {
                *sum += octets;
            }
        };
        left.iter().for_each(|left| add(&mut offered, left));
        for left in in_time(left, arrivals, *end).filter(|_| !known.expect_drop) {
            add(&mut forwarded, left);
            count += 1;
        }
    }
    let sum = |of: fn(&StreamResult) -> u64| found.streams.iter().map(of).sum::<u64>();
    let [intended, left] = [sum(|stream| stream.intended), sum(|stream| stream.offered)];
    let came = sum(|stream| if stream.expect_drop { 0 } else { stream.forwarded });
    let [line, payload] = flight.intended_octets;
    found.intended = load(intended, intended, line, payload);
    found.offered = load(left, left, offered[0], offered[1]);
    found.forwarded = load(came, count, forwarded[0], forwarded[1]);
}

/// Every frame that left as a policer saw it, with its stream, in order of time: did it come out with the code point of frames
/// that conform, which `conforming` has for each stream (the one that it was sent with, where that has none)? When a frame was at
/// the device is known from the frames around it that came: so much later than the quickest.
pub fn policed(flight: &TrialTrace, conforming: &[Dscp]) -> Vec<(usize, Policed)> {
    /// Octets of a frame that are not of its IP packet: header and check sequence, and those of a tag.
    const ETHERNET: u32 = 18;
    const TAG: u32 = 4;
    let took = |came: &ReceivedFrame| came.received.saturating_sub(came.sent);
    let least = flight.came.iter().map(took).min().unwrap_or(0);
    let mut frames: Vec<(usize, Policed, Option<i64>)> = Vec::new();
    for (number, left) in flight.left.iter().enumerate() {
        let known = flight.streams.get(number);
        let sent = Dscp::of_tos(known.map_or(0, |known| known.tos));
        let conforming = conforming.get(number).copied().unwrap_or(sent);
        let tag = if known.is_some_and(|known| known.tag != UNTAGGED) { TAG } else { 0 };
        let mut seen = vec![(false, None); left.len()];
        for came in flight.came.iter().filter(|came| usize::from(came.stream) == number) {
            let place = usize::try_from(came.sequence).ok().and_then(|place| seen.get_mut(place));
            if let Some((passed, more)) = place {
                *passed |= !came.comparable || Dscp::of_tos(came.tos) == conforming;
                more.get_or_insert(took(came) - least);
            }
        }
        frames.extend(left.iter().zip(seen).map(|(left, (passed, more))| {
            let octets = left.octets.saturating_sub(ETHERNET + tag);
            (number, Policed { at: left.sent, blur: 0, octets, passed }, more)
        }));
    }
    frames.sort_by_key(|(_, frame, _)| frame.at);
    // Of a frame that did not come, the last before it and the first after it that did tell.
    let mut known = 0;
    for (_, frame, more) in &mut frames {
        known = more.unwrap_or(known);
        frame.blur = known;
    }
    let mut known = 0;
    for (_, frame, more) in frames.iter_mut().rev() {
        known = more.unwrap_or(known);
        frame.blur = frame.blur.max(known);
    }
    frames.into_iter().map(|(stream, frame, _)| (stream, frame)).collect()
}

/// The sums of two rows of counts, of which one may be longer.
fn added(mut sum: Vec<u64>, more: &[u64]) -> Vec<u64> {
    if sum.len() < more.len() {
        sum.resize(more.len(), 0);
    }
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
    sum
}

/// How many of these moments lie in each second.
fn per_second(moments: impl Iterator<Item = i64>) -> Vec<u64> {
    const SECOND: i64 = 1_000_000_000;
    let mut counts: Vec<u64> = Vec::new();
    for at in moments {
        let place = usize::try_from(at.max(0) / SECOND).unwrap_or(0);
        // Later than a day after the beginning nothing is counted by seconds.
        if place >= counts.len() && place < 86_400 {
            counts.resize(place + 1, 0);
        }
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    counts
}

/// How long frames of so many octets, check sequence included, are on a line, nanoseconds.
fn on_line(octets: u64, line: LineRate) -> i64 {
    let bits = u128::from(octets) * 8 * 1_000_000_000;
    i64::try_from(bits / u128::from(line.bits())).unwrap_or(i64::MAX)
}

/// What to add to the mean latency for the other definitions, on lines of one rate at both ends; nothing where frames take
/// no time on the line. Of frames of several sizes it is what the mean of those that came takes.
fn conversion(flight: &TrialTrace, arrivals: &FirstArrivals) -> LatencyConversion {
    let all = || flight.left.iter().flatten().zip(arrivals.iter().flatten());
    let came = all().filter(|(_, at)| at.is_some());
    let sum =
        |(octets, count), (left, _): (&SentFrame, &Option<i64>)| (octets + u64::from(left.octets), count + 1);
    let (octets, count) = match came.fold((0, 0), sum) {
        (_, 0) => all().fold((0, 0), sum),
        some => some,
    };
    let Some(line) = flight.real_line.filter(|_| count > 0) else { return LatencyConversion::default() };
    let time = on_line(octets, line) / count;
    LatencyConversion { fifo: -time, lifo: -2 * time, lilo: -time }
}

/// The latencies, of frames of these sizes, by the other definitions. On lines of one rate, the frame's first bit leaves so
/// much before its last as its last comes after its first.
fn by_definition(line: LineRate, latencies: &mut [i64], sizes: &[u32]) -> LatencyByDefinition {
    let less = |latencies: &mut [i64]| {
        for (latency, octets) in latencies.iter_mut().zip(sizes) {
            *latency -= on_line(u64::from(*octets), line);
        }
        summary(&*latencies)
    };
    let once = less(latencies);
    LatencyByDefinition { fifo: once.clone(), lilo: once, lifo: less(latencies) }
}

#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
