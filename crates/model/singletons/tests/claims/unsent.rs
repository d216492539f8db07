//! Probes that were handed to an interface that was down.

use romer_record::document::ProbeDirection;
use romer_record::event::{Event, EventKind, EventLocation};
use romer_record::{RoundTrip, Stamps};
use romer_singletons::withdraw_unsent;
use romer_units::Timestamp;

const MS: i64 = 1_000_000;
const START: i64 = 1_700_000_000_000 * MS;

#[test]
fn probes_that_were_handed_to_a_dead_link_are_not_sent_and_others_are_as_they_were() {
    let probe = |n: u64| {
        let left = Some(Timestamp::from_nanos(START + i64::try_from(n).unwrap() * 20 * MS));
        let t1 = Stamps { user: left, kernel: left, ..Stamps::default() };
        RoundTrip { sequence: n, t1, returned: true, seen_by_responder: true, ..RoundTrip::default() }
    };
    let mut rows: Vec<RoundTrip> = (0..300).map(probe).collect();
    for row in &mut rows[100..150] {
        row.returned = false;
        row.seen_by_responder = false;
        row.t1.kernel = None;
    }
    // Lost on the way, while the link was up.
    rows[200].returned = false;
    rows[200].seen_by_responder = false;
    let down = Event {
        until_ns: Some(3_000 * MS),
        ..Event::new(EventKind::LinkDown, EventLocation::Sender, 2_000 * MS, START + 2_000 * MS)
    };
    assert_eq!(withdraw_unsent(&mut rows, &[down]), 50);
    let unsent: Vec<u64> = rows.iter().filter(|row| row.not_sent).map(|row| row.sequence).collect();
    assert_eq!(unsent, (100..150).collect::<Vec<_>>());
}

#[test]
fn probes_that_the_responder_handed_to_a_dead_link_are_not_sent() {
    let far = |kind, at: i64| Event::new(kind, EventLocation::Responder, at, START + at);
    let probe = |n: u64| {
        let mut row = RoundTrip { way: ProbeDirection::Reverse, sequence: n, ..RoundTrip::default() };
        let left = Timestamp::from_nanos(START + i64::try_from(n).unwrap() * 10 * MS);
        // It is up again at 300, and lets the first out at 350.
        let down = (200..350).contains(&n);
        row.t3.user = Some(left);
        row.t3.kernel = Some(left).filter(|_| !down);
        // Number 100 is lost on the way, and of 290 the stamp did not come.
        row.returned = !down && n != 100 || n == 290;
        row
    };
    let mut rows: Vec<RoundTrip> = (0..500).map(probe).collect();
    rows[400].t3.kernel = None;
    rows[400].returned = false;
    let events = [far(EventKind::LinkDown, 2_000 * MS), far(EventKind::LinkUp, 3_000 * MS)];
    assert_eq!(withdraw_unsent(&mut rows.clone(), &[]), 0);
    assert_eq!(withdraw_unsent(&mut rows, &events), 149);
    let lost: Vec<u64> =
        rows.iter().filter(|row| !row.returned && !row.not_sent).map(|row| row.sequence).collect();
    assert_eq!(lost, [100, 400], "another link's time is not this one's");
    // A link that is not up again at the end.
    assert_eq!(withdraw_unsent(&mut rows, &events[..1]), 1);
    // Where nothing has the kernel's stamp, the first that came tells when one was let out.
    let mut rows: Vec<RoundTrip> = (0..500).map(probe).collect();
    rows.iter_mut().for_each(|row| row.t3.kernel = None);
    rows[360].returned = false;
    assert_eq!(withdraw_unsent(&mut rows, &events), 149);
    assert!(!rows[360].not_sent, "another had come before");
    // Nor is it later than the kernel's link watch takes at the most.
    let mut rows: Vec<RoundTrip> = (0..500).map(probe).collect();
    rows[350..].iter_mut().for_each(|row| (row.t3.kernel, row.returned) = (None, false));
    assert_eq!(withdraw_unsent(&mut rows, &events), 220);
}
