//! What a telephone call over the measured path would be worth: the E-model (ITU-T G.107) with all parameters at their
//! defaults but delay, codec, loss, and echo.
//!
//! R = Ro - Is - Id - Ie,eff + A. With the defaults Ro - Is - Id at no delay is 93.2. The delay takes Idd, whose formula
//! (7-27 of G.107) needs the absolute one-way delay from mouth to ear; echo is taken to be cancelled. Where the path's delay is
//! not known, what buffer and codec take is the least that it can be, and R the most. The codec and what is
//! lost take Ie,eff = Ie + (95 - Ie) Ppl / (Ppl / BurstR + Bpl), Ppl in percent.
//!
//! A receiver plays packets out at a fixed time after the quickest one could have come: that buffer is as long as is needed
//! for a stated share of packets to come too late. Those are lost to the listener besides those that the network lost, and
//! how much in a row is lost counts: BurstR is the mean length of a run of losses over that of independent ones.

use romer_record::document::{DelayKind, Direction, Way};
use romer_record::voice::{Codec, DelayBasis, LossBasis, Rating, Voice, VoiceRequest};
use romer_record::{Fate, Passage};

use crate::sample::{delay, sent};
use crate::summary::{Value as _, real};

/// R without any impairment but those that the defaults have.
const BEST: f64 = 93.2;

/// The rating of each way that has packets, and where known both ways together. `round_trip_ns` is the median round trip.
pub fn voice(
    request: &VoiceRequest,
    ways: [(Way, &[Passage], &Direction); 2],
    kind: DelayKind,
    round_trip_ns: Option<f64>,
) -> Vec<Voice> {
    let rated = |(way, passages, direction): (Way, &[Passage], &Direction)| {
        let least = direction.delay_ns.min.filter(|_| kind == DelayKind::Absolute);
        let path = match (least, round_trip_ns) {
            (Some(least), _) => Some((DelayBasis::OneWay, least)),
            // The quickest packets of both ways together: half of it is the mean of the two, whichever is longer.
            (None, Some(round_trip)) => Some((DelayBasis::HalfRoundTrip, round_trip / 2.0)),
            (None, None) => None,
        };
        of_way(request, way, passages, path)
    };
    ways.into_iter().filter_map(rated).collect()
}

fn of_way(
    request: &VoiceRequest,
    direction: Way,
    passages: &[Passage],
    path: Option<(DelayBasis, f64)>,
) -> Option<Voice> {
    let mut delays: Vec<i64> =
        sent(passages).filter(|passage| passage.fate == Fate::Arrived).filter_map(delay).collect();
    if delays.len() < FEWEST {
        return None;
    }
    let least = delays.iter().copied().min()?;
    let late = crate::summary::whole((request.late_ratio * real(delays.len())).floor());
    let place = delays.len() - 1 - late.min(delays.len() - 1);
    let last = *delays.select_nth_unstable(place).1;
    drop(delays);
    let buffer = last.saturating_sub(least);
    let (mut all, mut lost, mut runs) = (0_usize, 0_usize, 0_usize);
    let (mut before, mut loss_basis) = (false, LossBasis::OneWay);
    for passage in sent(passages) {
        if passage.fate == Fate::Unknown {
            // It may have been lost on the other way: whoever counts on this one promises no better call than there is.
            loss_basis = LossBasis::RoundTrip;
        }
        let gone = match passage.fate {
            Fate::Astray => continue,
            Fate::Unread => {
                // The path carried it; whether the one after it belongs to the losses before it tells nothing of.
                all += 1;
                continue;
            }
            Fate::Arrived => delay(passage).is_some_and(|delay| delay > last),
            Fate::Late | Fate::Lost | Fate::Unknown => true,
        };
        all += 1;
        lost += usize::from(gone);
        runs += usize::from(gone && !before);
        before = gone;
    }
    let share = real(lost) / real(all);
    // Independent losses come in runs of 1 / (1 - p) on average; less than one is none (G.107, 7.4).
    let burst = if runs == 0 { 1.0 } else { (real(lost) / real(runs) * (1.0 - share)).max(1.0) };
    let codec = &request.codec;
    let equipment = effective_impairment(codec, share, burst);
    // What the receiver and the codec take is known also where the path's part is not.
    let ends = buffer.value() + codec.frame_ns.value() + codec.lookahead_ns.value();
    let mouth_to_ear = path.map(|(_, path)| path + ends);
    let r = BEST - delay_impairment(mouth_to_ear.unwrap_or(ends)) - equipment;
    Some(Voice {
        direction,
        codec: codec.clone(),
        late_ratio: request.late_ratio,
        jitter_buffer_ns: buffer,
        delay_basis: path.map(|(basis, _)| basis),
        mouth_to_ear_ns: mouth_to_ear,
        loss_ratio: share,
        loss_basis,
        burst_ratio: burst,
        r,
        mos: mos(r),
        rating: rating(r),
    })
}

/// Fewer delays say nothing of a buffer.
const FEWEST: usize = 100;

/// Ie,eff (G.107, 7-29).
pub fn effective_impairment(codec: &Codec, loss_ratio: f64, burst_ratio: f64) -> f64 {
    let percent = 100.0 * loss_ratio;
    if percent <= 0.0 {
        return codec.ie;
    }
    codec.ie + (95.0 - codec.ie) * percent / (percent / burst_ratio + codec.bpl)
}

/// Idd: what a delay from mouth to ear of `nanos` takes, echo being cancelled (G.107, 7-27 and 7-28). Nothing up to 100 ms.
pub fn delay_impairment(nanos: f64) -> f64 {
    let x = (nanos / 100e6).log2();
    if nanos <= 100e6 {
        return 0.0;
    }
    let root = |base: f64| (1.0 + base.powi(6)).powf(1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// The mean opinion score that goes with R (G.107, annex B). The polynomial dips below 1 for R under 6.5, where no opinion
/// is: that is 1, too.
pub fn mos(r: f64) -> f64 {
    match r {
        none if none <= 0.0 => 1.0,
        all if all >= 100.0 => 4.5,
        r => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

/// What users think at R (G.107, table B.1; G.109).
pub fn rating(r: f64) -> Rating {
    match r {
        r if r >= 90.0 => Rating::VerySatisfied,
        r if r >= 80.0 => Rating::Satisfied,
        r if r >= 70.0 => Rating::SomeDissatisfied,
        r if r >= 60.0 => Rating::ManyDissatisfied,
        r if r >= 50.0 => Rating::NearlyAllDissatisfied,
        _ => Rating::NotRecommended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_units::{Duration, Timestamp};

    #[test]
    fn scores_and_ratings_are_those_of_the_published_table() {
        // G.107, table B.1, and the default's score of annex B.
        for (r, score, said) in [
            (93.2, 4.41, Rating::VerySatisfied),
            (90.0, 4.34, Rating::VerySatisfied),
            (80.0, 4.03, Rating::Satisfied),
            (70.0, 3.60, Rating::SomeDissatisfied),
            (60.0, 3.10, Rating::ManyDissatisfied),
            (50.0, 2.58, Rating::NearlyAllDissatisfied),
        ] {
            // The table has 4.03 where its formula gives 4.024.
            assert!((mos(r) - score).abs() < 0.007, "{r}: {}", mos(r));
            assert_eq!(rating(r), said);
        }
        assert_eq!((mos(-3.0), mos(100.0), rating(49.9)), (1.0, 4.5, Rating::NotRecommended));
        assert!((0..=70).all(|tenths| mos(f64::from(tenths) / 10.0) >= 1.0), "the scale begins at 1");
    }

    #[test]
    fn the_effective_impairment_is_that_of_the_formula() {
        let codec: Codec = "g729a-vad".parse().unwrap();
        assert!((effective_impairment(&codec, 0.0, 1.0) - 11.0).abs() < 1e-12);
        // 11 + 84 * 2 / (2 + 19) = 19; with runs twice as long 11 + 84 * 2 / (1 + 19) = 19.4.
        assert!((effective_impairment(&codec, 0.02, 1.0) - 19.0).abs() < 1e-9);
        assert!((effective_impairment(&codec, 0.02, 2.0) - 19.4).abs() < 1e-9);
    }

    #[test]
    fn delay_costs_nothing_up_to_100_ms_and_more_and_more_above() {
        assert!(delay_impairment(100e6).abs() < 1e-12);
        let costs: Vec<f64> = [150e6, 200e6, 300e6, 400e6].into_iter().map(delay_impairment).collect();
        assert!(costs.is_sorted() && costs[0] > 0.0, "{costs:?}");
        // At twice 100 ms X is 1: 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2).
        let x1 = 25.0 * (2_f64.powf(1.0 / 6.0) - 3.0 * (1.0 + 3_f64.powi(-6)).powf(1.0 / 6.0) + 2.0);
        assert!((costs[1] - x1).abs() < 1e-9);
    }

    fn passages(delays: &[Option<i64>]) -> Vec<Passage> {
        let one = |(sequence, delay): (u64, &Option<i64>)| Passage {
            sequence,
            copy: 0,
            size: 160,
            fate: if delay.is_some() { Fate::Arrived } else { Fate::Lost },
            departure: Some(Timestamp::from_nanos(0)),
            arrival: delay.map(Timestamp::from_nanos),
            delay: delay.map(Duration::from_nanos),
            ttl: None,
            tos: None,
            leaving: romer_record::Leaving::Unknown,
        };
        (0..).zip(delays).map(one).collect()
    }

    #[test]
    fn the_buffer_is_as_long_as_the_stated_share_needs_and_the_late_are_lost() {
        // 1 to 200 ms, once each: two may be late, and the last that is not takes 198.
        let delays: Vec<Option<i64>> = (1..=200).map(|ms| Some(ms * 1_000_000)).collect();
        let passages = passages(&delays);
        let direction = crate::direction(
            &passages,
            &crate::DirectionContext {
                delay_kind: DelayKind::Absolute,
                complete: true,
                lost: None,
                not_sent: None,
                dscp_sent: None,
                ecn_sent: None,
            },
        );
        let nothing = Direction::default();
        let request = VoiceRequest::default();
        let ways = [(Way::Forward, &passages[..], &direction), (Way::Reverse, &[][..], &nothing)];
        let [voice] = &voice(&request, ways, DelayKind::Absolute, None)[..] else { panic!("one way") };
        assert_eq!(voice.jitter_buffer_ns, 197_000_000);
        assert!((voice.loss_ratio - 0.01).abs() < 1e-12, "{}", voice.loss_ratio);
        // Two in a row: 2 (1 - 0.01).
        assert!((voice.burst_ratio - 1.98).abs() < 1e-9, "{}", voice.burst_ratio);
        // The quickest, the buffer, a packet's speech.
        assert_eq!((voice.delay_basis, voice.mouth_to_ear_ns), (Some(DelayBasis::OneWay), Some(218e6)));
        let r = 93.2 - delay_impairment(218e6) - effective_impairment(&request.codec, 0.01, 1.98);
        assert!((voice.r - r).abs() < 1e-9);
    }

    #[test]
    fn what_a_host_dropped_unread_the_path_carried_and_what_went_astray_otherwise_says_nothing() {
        let fate = |sequence: u64| match sequence {
            0..200 => Fate::Arrived,
            200..300 => Fate::Unread,
            300..400 => Fate::Astray,
            _ => Fate::Lost,
        };
        let mut passages = passages(&[Some(1_000_000); 406]);
        passages.iter_mut().for_each(|passage| passage.fate = fate(passage.sequence));
        let nothing = Direction::default();
        let request = VoiceRequest { late_ratio: 0.0, ..VoiceRequest::default() };
        let ways = [(Way::Forward, &passages[..], &nothing), (Way::Reverse, &[][..], &nothing)];
        let [voice] = &voice(&request, ways, DelayKind::Absolute, None)[..] else { panic!("one way") };
        assert!((voice.loss_ratio - 6.0 / 306.0).abs() < 1e-12, "{}", voice.loss_ratio);
    }

    #[test]
    fn without_the_whole_delay_the_verdict_is_a_bound_and_of_few_packets_there_is_none() {
        let some = passages(&vec![Some(5_000_000); 100]);
        let nothing = Direction::default();
        let request = VoiceRequest::default();
        let ways = |there: &'static [Passage]| [(Way::Forward, there, &nothing); 2];
        assert_eq!(voice(&request, ways(&[]), DelayKind::Variable, None), []);
        let of = |round_trip| {
            let ways = [(Way::Forward, &some[..], &nothing), (Way::Reverse, &[][..], &nothing)];
            voice(&request, ways, DelayKind::Variable, round_trip).swap_remove(0)
        };
        assert_eq!((of(None).delay_basis, of(None).mouth_to_ear_ns), (None, None));
        let half = of(Some(300e6));
        assert_eq!((half.delay_basis, half.mouth_to_ear_ns), (Some(DelayBasis::HalfRoundTrip), Some(170e6)));
        assert!(half.r < of(None).r && (of(None).r - 93.2).abs() < 1e-9);
        // But what the buffer takes is known: half a second of it and a packet's speech are no good call over any path.
        let mut spread = vec![Some(5_000_000); 90];
        spread.extend([Some(505_000_000); 10]);
        let far = passages(&spread);
        let ways = [(Way::Forward, &far[..], &nothing), (Way::Reverse, &[][..], &nothing)];
        let bound = voice(&request, ways, DelayKind::Variable, None).swap_remove(0);
        assert_eq!((bound.jitter_buffer_ns, bound.mouth_to_ear_ns), (500_000_000, None));
        assert!((bound.r - (93.2 - delay_impairment(520e6))).abs() < 1e-9, "{}", bound.r);
    }
}
