//! Laws that hold for every stream.

use proptest::prelude::*;
use romer_metrics::{
    DirectionContext, delays, direction, histogram, inter_arrivals, inter_departures, ipdv, jitter,
    loss_pattern, losses_by_cause, pdv, reordering, stddev_population, summary, wilson_interval,
};
use romer_record::document::{DelayKind, DirectionResults, LISTED, LossCause, LossesByCause, Summary};
use romer_record::{Fate, Leaving, OneWaySingleton};
use romer_units::{Arrival, Departure, Dscp, Duration, Ecn, Timestamp};

use crate::common::{arrived, gone, singletons};

const CONTEXT: DirectionContext = DirectionContext {
    delay_kind: DelayKind::Absolute,
    complete: true,
    lost: None,
    ordered: true,
    copies_attributed: true,
    not_sent: Some(0),
    dscp_sent: Some(Dscp::EF),
    ecn_sent: Some(Ecn::Ect0),
};

/// The same packets, each `by` later at the arriving end, as a clock offset makes them.
fn shifted(singletons: &[OneWaySingleton], by: i64) -> Vec<OneWaySingleton> {
    let by = Duration::from_nanos(by);
    let shift = |singleton: &OneWaySingleton| OneWaySingleton {
        arrival: singleton.arrival.map(|arrival| arrival + by),
        delay: singleton.delay.map(|delay| delay + by),
        ..*singleton
    };
    singletons.iter().map(shift).collect()
}

fn quantiles(summary: &Summary) -> Vec<Option<f64>> {
    let Summary { min, p25, median, p75, p90, p95, p99, p99_9, max, .. } = summary.clone();
    vec![min, p25, median, p75, p90, p95, p99, p99_9, max]
}

/// `Debug` shows what JSON would turn into null.
fn is_finite(shown: &impl std::fmt::Debug) -> bool {
    let text = format!("{shown:?}");
    !text.contains("NaN") && !text.contains("inf")
}

fn assert_sound(singletons: &[OneWaySingleton], context: &DirectionContext) -> Result<(), TestCaseError> {
    let document = direction(singletons, context);
    prop_assert!(is_finite(&document), "{document:?}");
    let text = serde_json::to_string(&document).expect("a document");
    prop_assert!(serde_json::from_str::<DirectionResults>(&text).is_ok(), "{text}");
    Ok(())
}

proptest! {
    #[test]
    fn every_document_is_finite_and_reads_back(
        singletons in singletons(), complete: bool, variable: bool, not_sent: Option<u64>,
    ) {
        let delay_kind = if variable { DelayKind::Variable } else { DelayKind::Absolute };
        assert_sound(&singletons, &DirectionContext { delay_kind, complete, not_sent, ..CONTEXT })?;
    }

    #[test]
    fn stamps_at_the_ends_of_their_range_break_nothing(
        times in prop::collection::vec((any::<i64>(), any::<i64>(), any::<i64>()), 0..20),
    ) {
        let wild = |(sequence, (departure, arrival, delay)): (u64, &(i64, i64, i64))| OneWaySingleton {
            departure: Some(Timestamp::<Departure>::from_nanos(*departure)),
            arrival: Some(Timestamp::<Arrival>::from_nanos(*arrival)),
            delay: Some(Duration::from_nanos(*delay)),
            leaving: Leaving::after(Duration::from_nanos(*delay)),
            ..arrived(sequence, 0, 0)
        };
        let singletons: Vec<OneWaySingleton> = (0..).zip(&times).map(wild).collect();
        assert_sound(&singletons, &CONTEXT)?;
    }

    #[test]
    fn counts_add_up(singletons in singletons(), complete: bool) {
        let context = DirectionContext { complete, ..CONTEXT };
        let document = direction(&singletons, &context);
        let packets = &document.packets;
        let unknown = singletons.iter().filter(|p| p.fate == Fate::Unknown).count() as u64;
        prop_assert_eq!(packets.sent.is_some(), complete);
        prop_assert_eq!(packets.lost.is_some(), complete && unknown == 0);
        prop_assert_eq!(document.loss.ratio.is_some(), complete && unknown == 0 && packets.sent != Some(0));
        if let (Some(sent), Some(received), Some(lost)) = (packets.sent, packets.received, packets.lost) {
            prop_assert_eq!(sent, received + lost);
            prop_assert!(packets.late.is_some_and(|late| late <= lost));
            prop_assert_eq!(document.loss.periods.iter().sum::<u64>(), lost);
            prop_assert_eq!(document.loss.distances.len() as u64, lost.saturating_sub(1));
            let apart = document.loss.distances.iter().filter(|d| **d > 1).count();
            prop_assert_eq!(document.loss.periods.len(), if lost == 0 { 0 } else { apart + 1 });
        }
        let arrived = singletons.iter().filter(|p| p.copy == 0 && p.fate == Fate::Arrived).count() as u64;
        // Where nothing has arrived as far as is known, and something may have, that is not zero.
        prop_assert_eq!(packets.received, (arrived > 0 || unknown == 0).then_some(arrived));
        let received = arrived;
        prop_assert!(packets.reordered.unwrap() <= received.saturating_sub(1));
        prop_assert_eq!(document.reordering.extents.len() as u64, packets.reordered.unwrap());
        prop_assert!(document.delay_ns.count <= received);
        prop_assert_eq!(document.pdv_ns.count, document.delay_ns.count);
        prop_assert_eq!(document.jitter_ns.deviation_from_mean.count, document.delay_ns.count);
        prop_assert_eq!(document.ipdv_ns.count, document.jitter_ns.delay_difference.count);
        prop_assert!(document.dscp.received.values().sum::<u64>() <= received);
        prop_assert_eq!(packets.duplicated.unwrap(), singletons.iter().filter(|p| p.copy > 0).count() as u64);
        for (histogram, count) in [
            (&document.histograms.delay, document.delay_ns.count),
            (&document.histograms.jitter, document.jitter_ns.delay_difference.count),
            (&document.histograms.inter_departure, document.inter_departure_ns.count),
            (&document.histograms.inter_arrival, document.inter_arrival_ns.count),
        ] {
            prop_assert_eq!(histogram.counts.iter().sum::<u64>(), count);
        }
    }

    #[test]
    fn an_offset_of_the_clocks_changes_no_variation(singletons in singletons(), by in -1_i64 << 61..1 << 61) {
        let other = shifted(&singletons, by);
        prop_assert_eq!(ipdv(&singletons), ipdv(&other));
        prop_assert_eq!(pdv(&singletons), pdv(&other));
        prop_assert_eq!(inter_arrivals(&singletons), inter_arrivals(&other));
        prop_assert_eq!(inter_departures(&singletons), inter_departures(&other));
        prop_assert_eq!(reordering(&singletons), reordering(&other));
        prop_assert_eq!(jitter::peak_to_peak(&singletons), jitter::peak_to_peak(&other));
        for method in [
            jitter::inter_arrival_difference,
            jitter::inter_arrival_difference_in_order_of_arrival,
            jitter::delay_difference,
            jitter::delay_difference_in_order_of_arrival,
        ] {
            prop_assert_eq!(method(&singletons), method(&other));
        }
        prop_assert_eq!(jitter::deviation_from_mean(&singletons), jitter::deviation_from_mean(&other));
        prop_assert_eq!(jitter::rfc3550(&singletons), jitter::rfc3550(&other));
    }

    #[test]
    fn variations_keep_their_bounds(singletons in singletons()) {
        let peak = jitter::peak_to_peak(&singletons).unwrap_or(0);
        prop_assert!(pdv(&singletons).iter().all(|pdv| (0..=peak).contains(pdv)));
        prop_assert!(pdv(&singletons).is_empty() || pdv(&singletons).contains(&0));
        prop_assert!(ipdv(&singletons).iter().all(|ipdv| ipdv.abs() <= peak));
        prop_assert!(jitter::delay_difference(&singletons).iter().eq(ipdv(&singletons).iter().map(|i| i.abs()).collect::<Vec<_>>().iter()));
        prop_assert!(jitter::deviation_from_mean(&singletons).iter().all(|d| *d <= peak as f64));
        prop_assert!(jitter::rfc3550(&singletons).is_none_or(|jitter| (0.0..=peak as f64).contains(&jitter)));
        // The signed variations of an unbroken run sum to last minus first.
        if singletons.iter().all(|p| p.delay.is_some() && p.fate == Fate::Arrived) && !singletons.is_empty() {
            let delays = delays(&singletons);
            prop_assert_eq!(ipdv(&singletons).iter().sum::<i64>(), delays[delays.len() - 1] - delays[0]);
        }
    }

    #[test]
    fn reordering_is_that_of_its_definition(sequences in Just((0_u64..40).collect::<Vec<_>>()).prop_shuffle()) {
        let singletons: Vec<OneWaySingleton> = {
            let mut all: Vec<OneWaySingleton> = (0_i64..).zip(&sequences).map(|(at, s)| arrived(*s, 0, at)).collect();
            all.sort_by_key(|p| p.sequence);
            all
        };
        // RFC 4737 sections 3.3 and 4.2.3, literally.
        let mut next_expected = 0;
        let mut expected = Vec::new();
        for (i, s) in sequences.iter().enumerate() {
            if *s >= next_expected {
                next_expected = s + 1;
            } else {
                let j = sequences[..i].iter().position(|earlier| earlier > s).unwrap();
                expected.push((*s, (i - j) as u64));
            }
        }
        let found: Vec<_> = reordering(&singletons).iter().map(|packet| (packet.sequence, packet.extent)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_summary_is_the_same_in_any_order(
        (values, other) in prop::collection::vec(-1_000_000_000_000_i64..1_000_000_000_000, 0..60)
            .prop_flat_map(|values| (Just(values.clone()), Just(values).prop_shuffle())),
    ) {
        // All but what looks at the order.
        let apart = |values: &[i64]| Summary {
            mean_interval: None,
            median_interval: None,
            p95_interval: None,
            p99_interval: None,
            block_length: None,
            ..summary(values)
        };
        prop_assert_eq!(apart(&values), apart(&other));
    }

    #[test]
    fn a_summary_keeps_its_bounds(values in prop::collection::vec(any::<i64>(), 0..60)) {
        let found = summary(&values);
        prop_assert_eq!(found.count, values.len() as u64);
        let quantiles = quantiles(&found);
        prop_assert!(quantiles.iter().all(|q| q.is_some() != values.is_empty()));
        prop_assert!(quantiles.is_sorted(), "{:?}", quantiles);
        prop_assert_eq!(found.stddev.is_some(), values.len() > 1);
        prop_assert!(found.mean_interval.is_none() || values.len() > 1);
        // Of 25 and more it has none where they are alike over so much of them that they do not tell.
        prop_assert!(found.mean_interval.is_some() || values.len() <= 1 || values.len() >= 25);
        prop_assert!(found.median_interval.is_none() || values.len() > 5);
        if let (Some(mean), Some([low, high])) = (found.mean, found.mean_interval) {
            prop_assert!(low <= mean && mean <= high);
        }
        if let (Some(median), Some([low, high])) = (found.median, found.median_interval) {
            prop_assert!(low <= median && median <= high);
        }
        if let (Some(sample), Some(population)) = (found.stddev, stddev_population(&values)) {
            prop_assert!(population <= sample);
        }
    }

    #[test]
    fn no_value_of_any_size_makes_a_summary_unsound(values in prop::collection::vec(any::<f64>(), 0..60)) {
        let found = summary(&values);
        prop_assert_eq!(found.count, values.iter().filter(|v| v.is_finite()).count() as u64);
        prop_assert!(is_finite(&found), "{found:?}");
    }

    #[test]
    fn a_histogram_counts_every_value_between_ascending_edges(
        values in prop_oneof![
            prop::collection::vec(any::<i64>(), 1..300),
            prop::collection::vec(0_i64..1_000, 1..300),
            prop::collection::vec(prop_oneof![Just(7_i64), 0_i64..1_000_000_000], 1..3_000),
            prop::collection::vec(prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(0)], 1..30),
        ],
    ) {
        let found = histogram(&values);
        prop_assert_eq!(found.bin_edges_ns.len(), found.counts.len() + 1);
        prop_assert!(found.counts.len() <= 200, "{} bins", found.counts.len());
        prop_assert!(found.bin_edges_ns.windows(2).all(|pair| pair[0] < pair[1]));
        for (bin, count) in found.counts.iter().enumerate() {
            let (low, high) = (found.bin_edges_ns[bin], found.bin_edges_ns[bin + 1]);
            let last = bin + 1 == found.counts.len();
            let inside = values.iter().filter(|v| **v >= low && (**v < high || (last && **v == high))).count();
            prop_assert_eq!(*count, inside as u64);
        }
        prop_assert_eq!(found.counts.iter().sum::<u64>(), values.len() as u64);
    }

    #[test]
    fn wilsons_interval_holds_the_share(of in 1_usize..100_000, part in 0.0_f64..=1.0) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
        let events = (part * of as f64) as usize;
        let [low, high] = wilson_interval(events, of).unwrap();
        let share = events as f64 / of as f64;
        prop_assert!(0.0 <= low && low <= share && share <= high && high <= 1.0);
        prop_assert!(low < high);
    }
}

#[test]
fn nothing_at_all_gives_an_empty_document() {
    let document = direction(&[], &CONTEXT);
    assert_eq!(document.packets.sent, Some(0));
    assert_eq!(document.packets.lost, Some(0));
    assert_eq!(document.loss.ratio, None);
    assert_eq!(document.reordering.ratio, None);
    assert_eq!(document.delay_kind, None);
    assert_eq!(document.delay_ns, Summary::default());
    assert!(document.histograms.delay.bin_edges_ns.is_empty());
}

#[test]
fn a_packet_after_the_waiting_time_is_lost_and_late_and_gives_no_delay() {
    let late = OneWaySingleton { fate: Fate::Late, ..arrived(1, 0, 3_000_000_000) };
    let document = direction(&[arrived(0, 0, 10), late, arrived(2, 20, 40)], &CONTEXT);
    let packets = document.packets;
    assert_eq!(
        (packets.sent, packets.received, packets.lost, packets.late),
        (Some(3), Some(2), Some(1), Some(1))
    );
    assert_eq!(document.delay_ns.max, Some(20.0));
    assert_eq!(document.ipdv_ns.count, 0, "its neighbours are not consecutive");
    let variable = DirectionContext { delay_kind: DelayKind::Variable, ..CONTEXT };
    assert_eq!(
        direction(&[arrived(0, 0, 10)], &variable).packets.late,
        None,
        "a variable part tells no lateness"
    );
}

#[test]
fn loss_periods_and_distances_are_those_of_rfc_3357() {
    // Its example, sections 5.4.3 and 6.5: packets 2, 5, 7, 9 and 10 of ten.
    let lost = [1, 4, 6, 8, 9];
    let packet = |n: u64| if lost.contains(&n) { gone(n, 0, Fate::Lost) } else { arrived(n, 0, 1) };
    let pattern = loss_pattern(&(0..10).map(packet).collect::<Vec<_>>()).unwrap();
    assert_eq!(pattern.periods, [1, 1, 1, 2]);
    assert_eq!(pattern.distances, [3, 2, 2, 1]);
    assert_eq!((pattern.sent, pattern.lost), (10, 5));
}

#[test]
fn the_longest_loss_period_is_told_with_its_number_its_moment_and_how_long_it_was() {
    // A packet a millisecond, the first of them 7 s after the clock's zero.
    let longest = |lost: &[u64], count: u64| {
        let packet = |n: u64| {
            let left = 7_000_000_000 + i64::try_from(n).unwrap() * 1_000_000;
            if lost.contains(&n) { gone(n, left, Fate::Lost) } else { arrived(n, left, left + 1) }
        };
        let found = loss_pattern(&(0..count).map(packet).collect::<Vec<_>>()).unwrap().longest;
        found.map(|of| (of.packets, of.sequence, of.at_ns.unwrap(), of.duration_ns.unwrap()))
    };
    let millis = 1_000_000;
    assert_eq!(longest(&[1, 4, 5, 6, 8, 9], 12), Some((3, 4, 4 * millis, 3 * millis)));
    assert_eq!(longest(&[1, 2, 4, 5], 12), Some((2, 1, millis, 2 * millis)), "of several as long the first");
    assert_eq!(longest(&[8, 9], 10), Some((2, 8, 8 * millis, millis)), "to the last where none follows");
    assert_eq!(longest(&[0, 1], 10), Some((2, 0, 0, 2 * millis)));
    assert_eq!((longest(&[1, 4], 12), longest(&[], 12)), (None, None));
}

/// Packets that the measuring host dropped count as sent and not lost; those in flight at the end are in no ratio.
#[test]
fn instrument_drops_are_no_losses() {
    // Of ten, 1 is lost, 2 is in flight, 3 and 4 were dropped by the host, 5 is lost: two losses, each by itself.
    let packet = |n: u64| match n {
        1 | 5 => gone(n, 0, Fate::Lost),
        2 => gone(n, 0, Fate::InFlight),
        3..=4 => gone(n, 0, Fate::InstrumentDrop),
        _ => arrived(n, 0, 1),
    };
    let singletons: Vec<_> = (0..10).map(packet).collect();
    let document = direction(&singletons, &CONTEXT);
    let packets = &document.packets;
    assert_eq!((packets.sent, packets.received, packets.lost), (Some(10), Some(5), Some(2)));
    assert_eq!((packets.instrument_drops, packets.in_flight), (Some(2), Some(1)));
    assert_eq!(document.loss.ratio, Some(2.0 / 9.0));
    assert_eq!((&document.loss.periods[..], &document.loss.distances[..]), (&[1, 1][..], &[4][..]));
}

/// The counts by cause add up to the losses, those without a known cause included.
#[test]
fn causes_add_up_to_losses() {
    let packet = |n: u64| match n {
        2..=4 | 7 => gone(n, 0, Fate::Lost),
        8 => gone(n, 0, Fate::InstrumentDrop),
        _ => arrived(n, 0, 1),
    };
    let singletons: Vec<_> = (0..10).map(packet).collect();
    let known = [(1, LossCause::PathMtu), (3, LossCause::InterfaceDown), (4, LossCause::InterfaceDown)];
    let found = losses_by_cause(&singletons, &known.into());
    let of = |cause, count, first, last| LossesByCause { cause, count, first, last };
    assert_eq!(found, [of(LossCause::InterfaceDown, 2, 3, 4), of(LossCause::Unknown, 2, 2, 7)]);
    let lost = direction(&singletons, &CONTEXT).packets.lost;
    assert_eq!(Some(found.iter().map(|one| one.count).sum()), lost);
}

#[test]
fn of_patterns_too_long_to_list_a_document_lists_the_first_and_counts_all() {
    // Every third packet is lost, by turns of one and of two; of each two that arrive in a row the first comes later than five
    // others, and with another time to live.
    let packet = |n: u64| {
        let at = i64::try_from(n).unwrap() * 10;
        match n % 6 {
            0 => gone(n, at, Fate::Lost),
            1 => OneWaySingleton { ttl: Some(60), ..arrived(n, at, at + 75) },
            3 if n % 12 == 3 => gone(n, at, Fate::Lost),
            4 if n % 12 == 4 => gone(n, at, Fate::Lost),
            _ => arrived(n, at, at + 20),
        }
    };
    let of = |packets: u64| direction(&(0..packets).map(packet).collect::<Vec<_>>(), &CONTEXT);
    let (short, long) = (of(6_000), of(240_000));
    assert!(short.loss.periods_all.is_none() && short.loss.distances_all.is_none());
    assert!(short.reordering.extents_all.is_none() && short.ttl.changes_all.is_none());
    let lists = |document: &DirectionResults| {
        [&document.loss.periods, &document.loss.distances, &document.reordering.extents].map(Clone::clone)
    };
    let tallies = [&long.loss.periods_all, &long.loss.distances_all, &long.reordering.extents_all];
    for ((short, long), tally) in lists(&short).iter().zip(&lists(&long)).zip(tallies) {
        let tally = tally.as_ref().unwrap();
        assert_eq!(long.len(), LISTED);
        assert_eq!(&long[..short.len() - 2], &short[..short.len() - 2], "as a shorter run has them");
        assert_eq!(tally.by_power_of_two.iter().sum::<u64>(), tally.count);
        assert_eq!(tally.max, long.iter().copied().max().unwrap());
    }
    let periods = long.loss.periods_all.unwrap();
    // Of twelve packets 0, 3 with 4, and 6 are lost.
    assert_eq!((periods.count, periods.by_power_of_two), (60_000, vec![40_000, 20_000]));
    assert_eq!(long.loss.distances_all.unwrap().count, long.packets.lost.unwrap() - 1);
    assert_eq!(long.reordering.extents_all.unwrap().count, long.packets.reordered.unwrap());
    assert_eq!((long.ttl.changes.len(), long.ttl.changes_all), (LISTED, Some(79_999)));
}

#[test]
fn wilsons_interval_is_that_of_the_formula() {
    // 10 of 100, worked by hand.
    let [low, high] = wilson_interval(10, 100).unwrap();
    assert!((low - 0.055_229).abs() < 1e-6 && (high - 0.174_366).abs() < 1e-6, "{low} {high}");
    assert_eq!(wilson_interval(0, 0), None);
    assert_eq!(wilson_interval(0, 10).unwrap()[0].to_bits(), 0.0_f64.to_bits());
}

#[test]
fn duplicates_hops_and_code_points_are_read_from_the_arrivals() {
    let copy = |n, at, number| OneWaySingleton { copy: number, ..arrived(n, 0, at) };
    let mut singletons = vec![arrived(0, 0, 100), copy(0, 130, 1), copy(0, 190, 2), arrived(1, 50, 150)];
    singletons[3].ttl = Some(60);
    singletons[3].tos = Some(0);
    let document = direction(&singletons, &CONTEXT);
    assert_eq!(document.packets.duplicated, Some(2));
    assert_eq!(document.packets.received, Some(2));
    assert_eq!(
        (document.duplicates.spacing_ns.min, document.duplicates.spacing_ns.max),
        (Some(30.0), Some(90.0))
    );
    assert_eq!((document.ttl.min, document.ttl.max), (Some(60), Some(64)));
    assert_eq!(document.ttl.changes.len(), 1);
    assert_eq!(document.ttl.changes[0].sequence, 1);
    assert_eq!(document.dscp.sent, Some(46));
    assert_eq!(document.dscp.received.into_iter().collect::<Vec<_>>(), [("cs0".into(), 1), ("ef".into(), 1)]);
    assert_eq!(document.ecn.sent.as_deref(), Some("ect0"));
    assert_eq!(document.ecn.received.into_iter().collect::<Vec<_>>(), [("not-ect".into(), 2)]);
}

/// A few packets in a queue behind one another make an interval so wide that it went below what is possible.
#[test]
fn no_mean_of_what_cannot_be_negative_has_an_interval_below_zero() {
    let mut bounded = 0;
    for queue in 1..6 {
        let delay = |n: i64| if n < 100 + queue && n >= 100 { 21_000 - 40 * n } else { 1_000 + n * 7 % 3 };
        let sent = |n: i64| if n < 130 { n * 30_000 } else { n * 30_000 + 9_000_000_000 };
        let packets: Vec<OneWaySingleton> =
            (0..250).map(|n: i64| arrived(n.unsigned_abs(), sent(n), sent(n) + delay(n))).collect();
        let found = direction(&packets, &CONTEXT);
        let jitter = &found.jitter_ns;
        for summary in [
            &jitter.inter_arrival_difference,
            &jitter.delay_difference,
            &jitter.deviation_from_mean,
            &found.pdv_ns,
            &found.inter_arrival_ns,
            &found.inter_departure_ns,
        ] {
            let [low, high] = summary.mean_interval.unwrap();
            assert!(low >= 0.0 && low <= high, "{low} to {high}");
            bounded += usize::from(low == 0.0);
        }
    }
    assert!(bounded > 0, "nothing here would have been below zero");
}

#[test]
fn an_outlier_does_not_flatten_the_histogram() {
    let mut values: Vec<i64> = (0..5_000).map(|n| 1_000_000 + n * 37 % 10_007).collect();
    values.push(900_000_000_000);
    let found = histogram(&values);
    let filled = found.counts.iter().filter(|count| **count > 0).count();
    assert!(filled >= 20, "{filled} bins are filled");
    assert_eq!(found.bin_edges_ns.last(), Some(&900_000_000_000));
    assert_eq!(found.counts.last(), Some(&1), "the outlier has the wide bin for itself");
}

#[test]
fn the_edges_of_a_histogram_are_round() {
    let values: Vec<i64> = (0..1_000).collect();
    let found = histogram(&values);
    let width = found.bin_edges_ns[1] - found.bin_edges_ns[0];
    assert_eq!(width, 100, "2 IQR / n^(1/3) is 100");
    assert!(found.bin_edges_ns.iter().all(|edge| edge % width == 0));
    let same = histogram(&[5, 5, 5]);
    assert_eq!((same.bin_edges_ns, same.counts), (vec![5, 6], vec![3]));
}
