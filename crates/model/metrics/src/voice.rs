//! What a telephone call over the measured path would be worth: the E-model ([`emodel`]) of the stream that was sent.
//!
//! From mouth to ear a call takes the codec's packet and look-ahead, the path's least delay, and the jitter buffer. The
//! jitter buffer discards what comes later than it waits; how much that is, is counted packet by packet (`playout`),
//! and adds to what the network lost. BurstR is the mean length of a run of losses over that of independent ones. A short
//! buffer discards more, and a long one delays more: unless the user fixes it, it is the one with the highest R. Where the
//! path's delay is not known, what buffer and codec take is the least that it can be, and R the most. Where a way has no one-way
//! delays, each packet's is taken from its round trip, whose variation holds that of both ways: then R is the least.

pub mod emodel;
mod playout;

use std::borrow::Cow;

use romer_record::document::{DelayKind, DirectionResults, ProbeDirection};
use romer_record::voice::{
    BufferChoice, Codec, DelayBasis, LossBasis, Playout, Unrated, UnratedReason, VariationBasis, Voice,
};
use romer_record::{Fate, OneWaySingleton};

use crate::sample::{delay, sent};
use crate::value::{Value as _, real};
use emodel::{best, delay_and_loss, delay_impairment, effective_impairment, mos, rating};
use playout::{Counts, PlayoutLoss, adaptive, counts};

/// Packets below which a call has no rating: 2 s of speech in packets of 20 ms, of which one lost packet is 1 %.
pub const FEWEST: usize = 100;
/// Step in which jitter buffers are tried, nanoseconds: what a packet is delayed by it costs less than 0.2 of R.
const STEP_NS: i64 = 1_000_000;
/// The longest jitter buffer that is tried, nanoseconds: the absolute delay of G.107 table 3 ends there.
const LONGEST_NS: i64 = 500_000_000;
/// The jitter buffers of the table, nanoseconds.
const TABLE_NS: [i64; 5] = [20_000_000, 40_000_000, 60_000_000, 80_000_000, 100_000_000];

/// The rating of each way that has packets of `codec`, with a jitter buffer of `fixed` nanoseconds, or else the best; and the ways
/// that have packets and no rating. `round_trips` is empty where nothing is reflected, and `round_trip_ns` is the least of them.
pub fn voice(
    codec: &Codec,
    fixed: Option<i64>,
    ways: [(ProbeDirection, &[OneWaySingleton], &DirectionResults); 2],
    kind: DelayKind,
    round_trips: &[OneWaySingleton],
    round_trip_ns: Option<f64>,
) -> (Vec<Voice>, Vec<Unrated>) {
    let rated = |(way, singletons, direction): (ProbeDirection, &[OneWaySingleton], &DirectionResults)| {
        let least = direction.delay_ns.min.filter(|_| kind == DelayKind::Absolute);
        let path = match (least, round_trip_ns) {
            (Some(least), _) => Some((DelayBasis::OneWay, least)),
            // The quickest packets of both ways together: half of it is the mean of the two, whichever is longer.
            (None, Some(round_trip)) => Some((DelayBasis::HalfRoundTrip, round_trip / 2.0)),
            (None, None) => None,
        };
        of_way(codec, fixed, way, singletons, round_trips, path)
    };
    let (mut voices, mut unrated) = (Vec::new(), Vec::new());
    for way in ways.into_iter().filter(|(_, singletons, _)| !singletons.is_empty()) {
        match rated(way) {
            Ok(voice) => voices.push(voice),
            Err(why) => unrated.push(why),
        }
    }
    (voices, unrated)
}

/// That a way of so many packets has no rating.
pub fn unrated(direction: ProbeDirection, reason: UnratedReason, packets: usize) -> Unrated {
    Unrated { direction, reason, packets: packets as u64, packets_min: FEWEST as u64 }
}

/// The singletons of a way with the delays by which its variation is known: its own, or where it has none those of the round trips,
/// which are in order of their numbers as it is; `None` where there is neither.
fn with_delays<'a>(
    singletons: &'a [OneWaySingleton],
    round_trips: &[OneWaySingleton],
) -> Option<(VariationBasis, Cow<'a, [OneWaySingleton]>)> {
    let mut arrived = sent(singletons).filter(|singleton| singleton.fate == Fate::Arrived).peekable();
    if arrived.peek().is_none() || arrived.any(|singleton| delay(singleton).is_some()) {
        return Some((VariationBasis::OneWay, Cow::Borrowed(singletons)));
    }
    let mut whole = round_trips.iter().filter(|whole| whole.copy == 0 && delay(whole).is_some()).peekable();
    whole.peek()?;
    let with_whole = |singleton: &OneWaySingleton| {
        while whole.next_if(|whole| whole.sequence < singleton.sequence).is_some() {}
        let same = whole.peek().filter(|whole| whole.sequence == singleton.sequence);
        OneWaySingleton { delay: same.and_then(|whole| whole.delay), ..*singleton }
    };
    Some((VariationBasis::RoundTrip, singletons.iter().map(with_whole).collect()))
}

fn of_way(
    codec: &Codec,
    fixed: Option<i64>,
    direction: ProbeDirection,
    singletons: &[OneWaySingleton],
    round_trips: &[OneWaySingleton],
    path: Option<(DelayBasis, f64)>,
) -> Result<Voice, Unrated> {
    // A buffer holds at least one frame.
    let table = TABLE_NS.into_iter().filter(|buffer| *buffer >= codec.frame_ns);
    let steps = (0..).map(|step| codec.frame_ns + step * STEP_NS).take_while(|buffer| *buffer <= LONGEST_NS);
    let tried: Vec<i64> = match fixed {
        Some(buffer) => vec![buffer.max(codec.frame_ns)],
        None => steps.collect(),
    };
    let mut buffers: Vec<i64> = table.clone().chain(tried.iter().copied()).collect();
    buffers.sort_unstable();
    buffers.dedup();
    let known = with_delays(singletons, round_trips);
    let counts = counts(known.as_ref().map_or(singletons, |(_, singletons)| singletons), &buffers);
    let without = |reason| unrated(direction, reason, counts.sent);
    if counts.sent < FEWEST {
        return Err(without(UnratedReason::TooFewPackets));
    }
    let Some((variation_basis, delays)) = known else { return Err(without(UnratedReason::DelaysUnknown)) };
    // Where nothing came, and it is not known whether this way lost it, nothing is known of this way.
    if counts.least.is_none() && counts.is_uncertain {
        return Err(without(UnratedReason::LossesUnknown));
    }
    let path_ns = path.map(|(_, path)| path);
    let of_buffer = |buffer: i64| {
        let place = buffers.binary_search(&buffer).ok()?;
        Some(played(codec, &counts, counts.gaps[place], buffer, path_ns))
    };
    let Some(chosen) = tried.into_iter().filter_map(of_buffer).reduce(better) else {
        return Err(without(UnratedReason::DelaysUnknown));
    };
    let follows = counts.least.and_then(|least| adaptive(&delays, least, codec.frame_ns));
    Ok(Voice {
        direction,
        codec: codec.clone(),
        jitter_buffer: if fixed.is_some() { BufferChoice::Fixed } else { BufferChoice::Optimal },
        delay_basis: path.map(|(basis, _)| basis),
        // It may have been lost on the other way: whoever counts on this one promises no better call than there is.
        loss_basis: if counts.is_uncertain { LossBasis::RoundTrip } else { LossBasis::OneWay },
        variation_basis,
        playout: chosen,
        jitter_buffers: table.filter_map(of_buffer).collect(),
        adaptive: follows.map(|(held, gaps)| played(codec, &counts, gaps, held, path_ns)),
    })
}

/// A call with a jitter buffer that has these losses.
fn played(codec: &Codec, counts: &Counts, gaps: PlayoutLoss, buffer: i64, path_ns: Option<f64>) -> Playout {
    let share = real(gaps.lost) / real(counts.sent);
    // Independent losses come in runs of 1 / (1 - p) on average; less than one is none (G.107 clause 7.5).
    let burst =
        if gaps.runs == 0 { 1.0 } else { (real(gaps.lost) / real(gaps.runs) * (1.0 - share)).max(1.0) };
    // What the receiver and the codec take is known also where the path's part is not.
    let ends = (buffer + codec.packet_ns + codec.lookahead_ns).value();
    let mouth_to_ear = path_ns.map(|path| path + ends);
    let known = mouth_to_ear.unwrap_or(ends);
    let scale = codec.scale;
    let r = effective_impairment(codec, share, burst)
        .map(|impairment| best(scale) - delay_impairment(scale, known) - impairment);
    Playout {
        jitter_buffer_ns: buffer,
        mouth_to_ear_ns: mouth_to_ear,
        loss_ratio: share,
        discard_ratio: real(gaps.lost - counts.lost) / real(counts.sent),
        burst_ratio: burst,
        r,
        mos: r.map(|r| mos(scale, r)),
        rating: r.and_then(|r| rating(scale, r)),
        delay_and_loss: delay_and_loss(known, mouth_to_ear.is_some(), share),
    }
}

/// The one with the higher R; where that is not known, in the better class of delay and loss, then with the lower loss, then with
/// the shorter buffer, which is `first`.
fn better(first: Playout, second: Playout) -> Playout {
    let r = |playout: &Playout| playout.r.unwrap_or(f64::NEG_INFINITY);
    let order = r(&first)
        .total_cmp(&r(&second))
        .then(first.delay_and_loss.cmp(&second.delay_and_loss))
        .then(second.loss_ratio.total_cmp(&first.loss_ratio));
    if order.is_lt() { second } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::Leaving;
    use romer_record::voice::{DelayAndLoss, Rating};
    use romer_units::{Duration, Timestamp};

    const MS: i64 = 1_000_000;

    pub(super) fn singletons(delays: &[Option<i64>]) -> Vec<OneWaySingleton> {
        let one = |(sequence, delay): (u64, &Option<i64>)| OneWaySingleton {
            sequence,
            copy: 0,
            size: 160,
            fate: if delay.is_some() { Fate::Arrived } else { Fate::Lost },
            departure: Some(Timestamp::from_nanos(0)),
            arrival: delay.map(Timestamp::from_nanos),
            delay: delay.map(Duration::from_nanos),
            ttl: None,
            tos: None,
            leaving: Leaving::UNKNOWN,
        };
        (0..).zip(delays).map(one).collect()
    }

    fn codec(name: &str, packet_ms: f64) -> Codec {
        #[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
        let packet_ns = (packet_ms * 1e6) as i64;
        Codec { packet_ns, ..name.parse().unwrap() }
    }

    /// The forward way of these singletons, whose delays are whole.
    fn rated(codec: &Codec, fixed: Option<i64>, singletons: &[OneWaySingleton]) -> Voice {
        let mut direction = DirectionResults::default();
        direction.delay_ns.min = crate::delays(singletons).into_iter().min().map(Value::value);
        let nothing = DirectionResults::default();
        let ways =
            [(ProbeDirection::Forward, singletons, &direction), (ProbeDirection::Reverse, &[][..], &nothing)];
        voice(codec, fixed, ways, DelayKind::Absolute, &[], None).0.swap_remove(0)
    }

    use crate::value::Value;

    /// A clean path has the default R of G.107 for G.711, and discards nothing.
    #[test]
    fn clean_path_reaches_best_r() {
        let found = rated(&codec("g711", 20.0), None, &singletons(&[Some(5 * MS); 500]));
        let Playout { r, mos, rating, loss_ratio, discard_ratio, .. } = found.playout;
        assert!((r.unwrap() - 93.2).abs() < 1e-9 && (mos.unwrap() - 4.409).abs() < 1e-3);
        assert_eq!((rating, loss_ratio, discard_ratio), (Some(Rating::VerySatisfied), 0.0, 0.0));
        // Path, packet, and a buffer of one frame.
        assert_eq!(found.playout.mouth_to_ear_ns, Some(35e6));
        assert_eq!((found.jitter_buffer, found.playout.jitter_buffer_ns), (BufferChoice::Optimal, 10 * MS));
        assert_eq!(found.playout.delay_and_loss, Some(DelayAndLoss::Preferred));
        // An adaptive one has nothing to follow.
        assert_eq!(found.adaptive, Some(found.playout));
    }

    /// No buffer of the whole range, in steps of 1 ms, has a higher R than the chosen one; a fixed one is used as given.
    #[test]
    fn optimal_buffer_has_highest_r() {
        // One in ten comes 1 to 150 ms later, three in a hundred 300 ms later.
        let delays: Vec<Option<i64>> = (0..3_000_i64)
            .map(|place| match place % 100 {
                7 | 31 | 77 => Some(340 * MS),
                last if last % 10 == 0 => Some((40 + 1 + place * 13 % 150) * MS),
                _ => Some(40 * MS),
            })
            .collect();
        let singletons = singletons(&delays);
        let codec = codec("g711", 20.0);
        let found = rated(&codec, None, &singletons).playout;
        let all = (10..=500).map(|ms| (ms, rated(&codec, Some(ms * MS), &singletons).playout.r.unwrap()));
        let (at, highest) = all.fold((0, 0.0), |best, one| if one.1 > best.1 { one } else { best });
        assert_eq!((found.jitter_buffer_ns / MS, found.r), (at, Some(highest)));
        assert!(found.discard_ratio >= 0.03 && (20..300).contains(&at), "{at}: {}", found.discard_ratio);
        let fixed = rated(&codec, Some(60 * MS), &singletons);
        assert_eq!((fixed.jitter_buffer, fixed.playout.jitter_buffer_ns), (BufferChoice::Fixed, 60 * MS));
    }

    /// The table has the five buffers, each as if it were fixed; MELP, whose frame is 22.5 ms, has none of 20 ms.
    #[test]
    fn table_has_five_buffers() {
        let delays: Vec<Option<i64>> = (0..400_i64).map(|place| Some((place % 90) * MS)).collect();
        let (singletons, codec) = (singletons(&delays), codec("g729", 20.0));
        let table = rated(&codec, None, &singletons).jitter_buffers;
        assert_eq!(table.iter().map(|one| one.jitter_buffer_ns).collect::<Vec<_>>(), TABLE_NS);
        for one in &table {
            assert_eq!(*one, rated(&codec, Some(one.jitter_buffer_ns), &singletons).playout);
        }
        // Of delays of 0 to 89 ms a buffer of 40 ms discards those of 41 to 89.
        let discarded = delays.iter().flatten().filter(|delay| **delay > 40 * MS).count();
        assert!((table[1].discard_ratio - real(discarded) / 400.0).abs() < 1e-12);
        let melp = rated(&tests::codec("melp", 45.0), None, &singletons).jitter_buffers;
        assert_eq!(melp[0].jitter_buffer_ns, 40 * MS);
    }

    /// A fixed buffer: losses, runs, delay and R by hand.
    #[test]
    fn fixed_buffer_by_hand() {
        // 1 to 200 ms, once each, after a buffer of 197 ms: the last two are discarded, one after the other.
        let delays: Vec<Option<i64>> = (1..=200).map(|ms| Some(ms * MS)).collect();
        let codec = codec("g711", 20.0);
        let found = rated(&codec, Some(197 * MS), &singletons(&delays)).playout;
        assert!((found.loss_ratio - 0.01).abs() < 1e-12 && (found.discard_ratio - 0.01).abs() < 1e-12);
        // Two in a row: 2 (1 - 0.01).
        assert!((found.burst_ratio - 1.98).abs() < 1e-9, "{}", found.burst_ratio);
        // The quickest, the buffer, a packet's speech.
        assert_eq!(found.mouth_to_ear_ns, Some(218e6));
        let impairment = effective_impairment(&codec, 0.01, 1.98).unwrap();
        let r = 93.2 - delay_impairment(codec.scale, 218e6) - impairment;
        assert!((found.r.unwrap() - r).abs() < 1e-9);
    }

    /// Packet and look-ahead of the stream that was sent are in the delay: G.729 in packets of 60 ms, 65 ms in all.
    #[test]
    fn packet_and_lookahead_delay() {
        let found = rated(&codec("g729", 60.0), Some(10 * MS), &singletons(&[Some(5 * MS); 200])).playout;
        assert_eq!(found.mouth_to_ear_ns, Some(80e6));
        assert!((found.r.unwrap() - 82.2).abs() < 1e-9, "{:?}", found.r);
    }

    /// Of MELP no Ie is published: no R and no MOS, but a verdict by delay and loss, with the buffer that loses least within
    /// the preferred delay.
    #[test]
    fn melp_has_delay_and_loss_only() {
        let delays: Vec<Option<i64>> = (0..1_000_i64).map(|place| Some((20 + place % 40) * MS)).collect();
        let found = rated(&codec("melp", 45.0), None, &singletons(&delays)).playout;
        assert_eq!((found.r, found.mos, found.rating), (None, None, None));
        assert_eq!((found.loss_ratio, found.delay_and_loss), (0.0, Some(DelayAndLoss::Preferred)));
        let lossy: Vec<Option<i64>> =
            (0..1_000_i64).map(|place| (place % 20 != 0).then_some(20 * MS)).collect();
        let found = rated(&codec("melp", 45.0), None, &singletons(&lossy)).playout;
        assert_eq!(found.delay_and_loss, Some(DelayAndLoss::BeyondLimits));
        let stated = Codec { ie: Some(40.0), bpl: Some(12.0), ..codec("melp", 45.0) };
        assert!(rated(&stated, None, &singletons(&lossy)).playout.mos.is_some());
    }

    /// A call of which nothing arrives is rated, as badly as can be, unless it may have been lost on the other way.
    #[test]
    fn dead_path_is_rated() {
        let found = rated(&codec("g711", 20.0), None, &singletons(&[None; 200]));
        assert_eq!((found.delay_basis, found.playout.loss_ratio), (None, 1.0));
        assert_eq!(found.adaptive, None);
        assert!(found.playout.mos.unwrap() < 1.4, "{:?}", found.playout);
        let mut unknown = singletons(&[None; 200]);
        unknown.iter_mut().for_each(|singleton| singleton.fate = Fate::Unknown);
        let nothing = DirectionResults::default();
        let ways =
            [(ProbeDirection::Forward, &unknown[..], &nothing), (ProbeDirection::Reverse, &[][..], &nothing)];
        assert_eq!(voice(&codec("g711", 20.0), None, ways, DelayKind::Absolute, &[], None).0, []);
    }

    /// Packets that the measuring host dropped count as sent and not lost; those in flight at the end do not count.
    #[test]
    fn instrument_drops_are_no_losses() {
        let fate = |sequence: u64| match sequence {
            0..200 => Fate::Arrived,
            200..300 => Fate::InstrumentDrop,
            300..400 => Fate::InFlight,
            _ => Fate::Lost,
        };
        let mut singletons = singletons(&[Some(MS); 406]);
        singletons.iter_mut().for_each(|singleton| singleton.fate = fate(singleton.sequence));
        let found = rated(&codec("g711", 20.0), None, &singletons);
        assert!((found.playout.loss_ratio - 6.0 / 306.0).abs() < 1e-12, "{}", found.playout.loss_ratio);
    }

    /// Without the path's delay R is an upper bound, by what buffer and codec take.
    #[test]
    fn unknown_delay_gives_bound() {
        let nothing = DirectionResults::default();
        let codec = codec("g711", 20.0);
        let of = |singletons: &[OneWaySingleton], round_trip| {
            let ways = [
                (ProbeDirection::Forward, singletons, &nothing),
                (ProbeDirection::Reverse, &[][..], &nothing),
            ];
            voice(&codec, None, ways, DelayKind::Variable, &[], round_trip).0
        };
        let some = singletons(&[Some(5 * MS); 100]);
        let bound = of(&some, None).swap_remove(0);
        assert_eq!((bound.delay_basis, bound.playout.mouth_to_ear_ns), (None, None));
        assert_eq!(bound.playout.delay_and_loss, None);
        let half = of(&some, Some(300e6)).swap_remove(0);
        assert_eq!(half.delay_basis, Some(DelayBasis::HalfRoundTrip));
        assert_eq!(half.playout.mouth_to_ear_ns, Some(180e6));
        assert!(half.playout.r < bound.playout.r);
        // What the buffer takes is known: where half of the packets come 450 ms later there is no good call over any path.
        let far: Vec<Option<i64>> = (0..200_i64).map(|place| Some((5 + 450 * (place % 2)) * MS)).collect();
        assert!(of(&singletons(&far), None).swap_remove(0).playout.r.unwrap() < 70.0);
    }

    /// A way without a rating says why, and a way without packets is none of the stream.
    #[test]
    fn unrated_ways_have_reasons() {
        let (nothing, codec) = (DirectionResults::default(), codec("g711", 20.0));
        let of = |singletons: &[OneWaySingleton], round_trips: &[OneWaySingleton]| {
            let ways = [
                (ProbeDirection::Forward, singletons, &nothing),
                (ProbeDirection::Reverse, &[][..], &nothing),
            ];
            voice(&codec, None, ways, DelayKind::Variable, round_trips, None)
        };
        let few = singletons(&[Some(5 * MS); 99]);
        let why = |reason, packets| vec![unrated(ProbeDirection::Forward, reason, packets)];
        assert_eq!(of(&few, &[]), (vec![], why(UnratedReason::TooFewPackets, 99)));
        assert_eq!(of(&singletons(&[Some(5 * MS); 100]), &[]).1, []);
        let all = |delay: Option<i64>, fate| -> Vec<OneWaySingleton> {
            singletons(&[delay; 120]).into_iter().map(|one| OneWaySingleton { fate, ..one }).collect()
        };
        let unstamped = all(None, Fate::Arrived);
        assert_eq!(of(&unstamped, &[]), (vec![], why(UnratedReason::DelaysUnknown, 120)));
        let unknown = all(None, Fate::Unknown);
        assert_eq!(of(&unknown, &[]), (vec![], why(UnratedReason::LossesUnknown, 120)));
    }

    /// Where a way has no delays, the buffer is chosen by the variation of the round trips, and R is the least that it can be.
    #[test]
    fn round_trips_stand_for_one_way_delays() {
        let codec = codec("g711", 20.0);
        // One round trip in ten is 30 ms longer.
        let whole: Vec<Option<i64>> =
            (0..500_i64).map(|n| Some((10 + if n % 10 == 3 { 30 } else { 0 }) * MS)).collect();
        let whole = singletons(&whole);
        let unstamped: Vec<OneWaySingleton> =
            whole.iter().map(|one| OneWaySingleton { delay: None, ..*one }).collect();
        let nothing = DirectionResults::default();
        let of = |singletons: &[OneWaySingleton], round_trips: &[OneWaySingleton]| {
            let ways = [
                (ProbeDirection::Forward, singletons, &nothing),
                (ProbeDirection::Reverse, &[][..], &nothing),
            ];
            voice(&codec, None, ways, DelayKind::Variable, round_trips, Some(10e6)).0.swap_remove(0)
        };
        let found = of(&unstamped, &whole);
        assert_eq!(found.variation_basis, VariationBasis::RoundTrip);
        assert_eq!((found.playout.jitter_buffer_ns, found.playout.discard_ratio), (30 * MS, 0.0));
        assert_eq!(Voice { variation_basis: VariationBasis::OneWay, ..found }, of(&whole, &[]));
        // Delays of their own are used, also where there are round trips.
        assert_eq!(of(&singletons(&[Some(5 * MS); 500]), &whole).variation_basis, VariationBasis::OneWay);
    }
}
