//! Carrying a network card's stamps over to its host's clock.

use proptest::prelude::*;
use romer_clock::card::{CardReading, Placed, Relation};

/// A day of the host's clock, so that differences are taken of large numbers.
const START: i64 = 1_795_000_000_000_000_000;
const SPAN: i64 = 100_000_000;

/// The host's clock by the card's: `rates` in billionths, each for three spans, which begin `shift` after a reading.
fn system_of(card: i64, rates: &[i64], shift: i64) -> i64 {
    let mut system = i128::from(START);
    let mut left = i128::from(card - shift);
    for (place, rate) in rates.iter().enumerate() {
        let last = place + 1 == rates.len();
        let part = if last { left } else { left.min(i128::from(3 * SPAN)) };
        system += part + (part * i128::from(*rate)).div_euclid(1_000_000_000);
        left -= part;
        if left <= 0 {
            break;
        }
    }
    i64::try_from(system).expect("within the range of a test")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever the rates do within what a kernel slews, as long as they stay for two readings, and wherever within its
    /// bracket each reading of the card's clock was really taken, the error that is stated holds as soon as one is stated.
    #[test]
    fn the_stated_error_holds(
        rates in prop::collection::vec(-400_000i64..400_000, 3..5),
        shift in 0i64..SPAN,
        brackets in prop::collection::vec((0i64..3_000, 0.0f64..1.0), 16),
        asked in prop::collection::vec(0.0f64..1.0, 20),
    ) {
        let count = 3 * rates.len();
        let readings: Vec<CardReading> = brackets
            .iter()
            .zip(0i64..)
            .take(count + 1)
            .map(|((width, share), place)| {
                let truth = system_of(SPAN * place, &rates, shift);
                #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a share of a small number")]
                let before = (*width as f64 * share) as i64;
                CardReading { card_ns: SPAN * place, before_ns: truth - before, after_ns: truth - before + width }
            })
            .collect();
        let last = readings.last().unwrap().card_ns;
        for share in asked {
            #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a share of seconds")]
            let card = SPAN + ((last - SPAN) as f64 * share) as i64;
            let mut relation = Relation::default();
            for (place, reading) in readings.iter().enumerate() {
                relation.add(*reading);
                let known = matches!(relation.place(card), Placed::At { .. });
                prop_assert_eq!(known, reading.card_ns >= card && place > 0, "{}", card);
                if let Placed::At { system_ns, error_ns } = relation.place(card) {
                    let off = system_of(card, &rates, shift).abs_diff(system_ns);
                    prop_assert!(off <= u64::from(error_ns) + 1, "{}: {} off, {} stated", card, off, error_ns);
                }
            }
        }
    }

    #[test]
    fn any_readings_are_taken_without_panic(
        readings in prop::collection::vec(any::<(i64, i64, i64)>(), 0..20), asked in any::<i64>(),
    ) {
        let mut relation = Relation::default();
        for (card_ns, before_ns, after_ns) in readings {
            relation.add(CardReading { card_ns, before_ns, after_ns });
            let _ = relation.place(asked);
        }
    }
}

fn exact(card_ns: i64, system_ns: i64) -> CardReading {
    CardReading { card_ns, before_ns: system_ns, after_ns: system_ns }
}

#[test]
fn steady_clocks_are_related_to_within_a_fraction_of_the_reading() {
    let mut relation = Relation::default();
    // 40 millionths apart, read to within a microsecond.
    for place in 0..20i64 {
        let system = START + place * 100_004_000;
        relation.add(CardReading {
            card_ns: place * 100_000_000,
            before_ns: system - 500,
            after_ns: system + 500,
        });
    }
    let Placed::At { system_ns, error_ns } = relation.place(1_050_000_000) else { panic!("it is known") };
    assert_eq!(system_ns, START + 10 * 100_004_000 + 50_002_000);
    assert!((500..3_000).contains(&error_ns), "{error_ns}");
}

#[test]
fn a_stamp_later_than_the_last_reading_waits_and_one_before_the_first_is_lost() {
    let mut relation = Relation::default();
    assert_eq!(relation.place(5), Placed::NotYet);
    relation.add(exact(1_000, START));
    assert_eq!(relation.place(1_001), Placed::NotYet);
    assert_eq!(relation.place(999), Placed::Never);
    assert!(matches!(relation.place(1_000), Placed::At { system_ns: START, .. }));
    relation.add(exact(100_001_000, START + 100_000_000));
    assert!(matches!(relation.place(1_001), Placed::At { .. }));
}

#[test]
fn across_a_clock_that_was_set_nothing_is_carried_over() {
    let mut relation = Relation::default();
    for place in 0..3 {
        relation.add(exact(place * SPAN, START + place * SPAN));
    }
    // The host's clock is set forward by 5 ms, within the next span.
    for place in 3..6 {
        relation.add(exact(place * SPAN, START + place * SPAN + 5_000_000));
    }
    assert_eq!(relation.place(2 * SPAN + SPAN / 2), Placed::Never);
    assert!(matches!(relation.place(SPAN / 2), Placed::At { .. }));
    assert!(matches!(relation.place(4 * SPAN + SPAN / 2), Placed::At { .. }));
    // The card's clock is set back: what was read before is of no use any more.
    relation.add(exact(SPAN, START + 7 * SPAN));
    assert_eq!(relation.place(SPAN / 2), Placed::Never);
    assert_eq!(relation.place(4 * SPAN), Placed::NotYet);
}
