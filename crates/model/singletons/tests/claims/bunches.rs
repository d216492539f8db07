//! What the stamps of a network card show: arrivals that it held back, and the error of the kernel's stamps.

use romer_record::RoundTrip;
use romer_record::manifest::StampRequest;
use romer_singletons::{CardEvidence, CoalescedArrivals, Selection, bunches};
use romer_units::{Timestamp, TimestampPoint};

/// A day of the host's clock, so that differences are taken of large numbers.
const START: i64 = 1_795_000_000_000_000_000;

/// Arrivals here every 50 us by the card; the kernel gets them four at a time, or each by itself.
fn arrivals(count: i64, held: bool) -> Vec<RoundTrip> {
    (0..count)
        .map(|place| {
            let card = START + place * 50_000;
            let kernel =
                if held { START + (place / 4) * 200_000 + 155_000 + (place % 4) * 900 } else { card + 4_000 };
            let mut row =
                RoundTrip { sequence: place.unsigned_abs(), returned: true, ..RoundTrip::default() };
            row.t4.nic = Some(Timestamp::from_nanos(card));
            row.t4.kernel = Some(Timestamp::from_nanos(kernel));
            row.nic_error_ns = Some(50);
            row
        })
        .collect()
}

#[test]
fn arrivals_that_the_card_held_back_are_told_from_those_that_came_together() {
    let [here, there] = bunches(&arrivals(400, true));
    assert_eq!(there, None);
    assert_eq!(here, Some(CoalescedArrivals { arrivals: 400, bunched: 400, longest_ns: 155_000 }));
    assert_eq!(bunches(&arrivals(400, false)), [None, None]);
    // Packets that were on the wire together are no work of the card's.
    let mut together = arrivals(400, false);
    for (place, row) in together.iter_mut().enumerate() {
        let card = START + i64::try_from(place / 4 * 200_000 + place % 4 * 700).unwrap();
        row.t4.nic = Some(Timestamp::from_nanos(card));
        row.t4.kernel = Some(Timestamp::from_nanos(card + 4_000));
    }
    assert_eq!(bunches(&together), [None, None]);
    assert_eq!(bunches(&[]), [None, None]);
}

#[test]
fn the_cards_stamps_are_chosen_where_half_of_the_packets_have_them() {
    let rows = |stamped: usize| {
        let mut rows = arrivals(10, false);
        for row in &mut rows[stamped..] {
            row.t4.nic = None;
        }
        rows
    };
    let chosen = |stamped, request| Selection::choose(&rows(stamped), request, true).t4;
    assert_eq!(chosen(5, StampRequest::Nic), Some(TimestampPoint::Nic));
    assert_eq!(
        chosen(4, StampRequest::Nic),
        Some(TimestampPoint::Kernel),
        "a mixture would be of two places"
    );
    assert_eq!(
        chosen(10, StampRequest::Best),
        Some(TimestampPoint::Kernel),
        "they are taken where they were asked for"
    );
    // A packet without has the kernel's.
    assert_eq!(rows(5)[7].t4.at(Some(TimestampPoint::Nic)), rows(5)[7].t4.kernel);
}

#[test]
fn how_far_the_kernels_stamps_lie_from_the_cards_is_told_with_the_greatest_error() {
    let mut rows = arrivals(30, false);
    rows[3].nic_error_ns = Some(900);
    let mut evidence = CardEvidence::default();
    evidence.take(&rows[..10]);
    evidence.take(&rows[10..]);
    let told = evidence.document();
    assert_eq!(told.error_ns, 900);
    let arrival = &told.kernel_error_ns.sender.arrival;
    assert_eq!((arrival.count, arrival.min, arrival.max), (30, Some(4_000.0), Some(4_000.0)));
    assert_eq!(told.kernel_error_ns.sender.departure.count, 0);
}
