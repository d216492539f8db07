//! Joins what both ends noted about each probe.

mod copies;

use copies::{ArrivalKey, Arrivals, Records, RowIndex};
use romer_units::{Clock, Timestamp};

use crate::log::{Card, CardMoment, Entry, ResponderDeparture, ResponderRecord};
use crate::probe_direction::ProbeDirection;
use crate::singleton::{RoundTrip, Stamps};

#[derive(Default)]
struct ProbeParts {
    first: RoundTrip,
    copies: Vec<RoundTrip>,
    far: Vec<ResponderRecord>,
}

/// [`assemble_as`] of a stream of round trips.
pub fn assemble<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<RoundTrip> {
    assemble_as(ProbeDirection::RoundTrip, entries)
}

/// Joins the entries of one stream by sequence number. `way` is the stream's; of [`ProbeDirection::Both`], the rows of the
/// direction forward come first. The rows of a direction are in order of sequence and copy; a reflection is matched
/// with the responder's record of the same arrival (their `t2` agree), so that duplicates made on either leg keep
/// their own stamps. Entries may come in any order.
pub fn assemble_as<'a>(way: ProbeDirection, entries: impl IntoIterator<Item = &'a Entry>) -> Vec<RoundTrip> {
    let ours =
        if way == ProbeDirection::RoundTrip { ProbeDirection::RoundTrip } else { ProbeDirection::Forward };
    let mut entries: Vec<&Entry> = entries.into_iter().collect();
    // A log is nearly in this order, and what is about one probe stays in the order in which it was written. One probe
    // after the other is put together, so that only its rows take room.
    let place = |entry: &Entry| (is_theirs(entry), entry.sequence());
    entries.sort_by_key(|entry| place(entry));
    let probes = || entries.chunk_by(|a, b| place(a) == place(b));
    let mut all = Vec::with_capacity(probes().count());
    for probe in probes() {
        // Of a probe of which nothing else is known, a network card's stamp tells nothing.
        if probe.iter().all(|entry| matches!(entry, Entry::Card(_))) {
            continue;
        }
        let (theirs, sequence) = place(probe[0]);
        let first = all.len();
        if theirs {
            all.extend(reverse_rows(sequence, their_probe(probe)));
        } else {
            let row = |row| RoundTrip { way: ours, ..row };
            all.extend(rows(our_probe(sequence, probe)).into_iter().map(row));
        }
        let mut index = None;
        for entry in probe {
            if let Entry::Card(card) = entry {
                let rows = &mut all[first..];
                let index = index.get_or_insert_with(|| RowIndex::new(rows));
                add_card(rows, index, card);
            }
        }
    }
    all
}

/// Whether an entry is about a one-way probe of the responder.
const fn is_theirs(entry: &Entry) -> bool {
    match entry {
        Entry::FarSent(_) | Entry::Came { .. } => true,
        Entry::Card(card) => card.moment.is_theirs(),
        _ => false,
    }
}

fn our_probe(sequence: u64, entries: &[&Entry]) -> ProbeParts {
    let mut probe = ProbeParts::default();
    probe.first.sequence = sequence;
    entries.iter().for_each(|entry| note(&mut probe, entry));
    probe
}

fn their_probe(entries: &[&Entry]) -> ResponderProbe {
    let mut probe = ResponderProbe::default();
    for entry in entries {
        match **entry {
            Entry::FarSent(sent) => probe.sent = Some(sent),
            Entry::Card(_) => {}
            _ => probe.came.push(**entry),
        }
    }
    probe
}

/// A one-way probe of the responder.
#[derive(Default)]
struct ResponderProbe {
    sent: Option<ResponderDeparture>,
    came: Vec<Entry>,
}

/// The rows of a probe that the responder sent, one for each copy that came.
fn reverse_rows(sequence: u64, mut probe: ResponderProbe) -> Vec<RoundTrip> {
    let mut first = RoundTrip { way: ProbeDirection::Reverse, sequence, ..RoundTrip::default() };
    if let Some(sent) = probe.sent {
        first.size = sent.size;
        first.wake_error_ns = (!sent.refused).then_some(sent.wake_error_ns);
        first.not_sent = sent.refused;
        if !sent.refused {
            first.t3.user = Some(Timestamp::from_nanos(sent.user_ns));
            first.t3.kernel = sent.kernel_ns.map(Timestamp::from_nanos);
        }
    }
    if probe.came.is_empty() {
        return vec![first];
    }
    // In the order of arrival, whatever the order in which they were written.
    probe.came.sort_by_key(|entry| match entry {
        Entry::Came { user_ns, kernel_ns, .. } => (kernel_ns.unwrap_or(*user_ns), *user_ns),
        _ => (0, 0),
    });
    let copies = probe.came.iter().zip(0..);
    copies.map(|(entry, copy)| came(RoundTrip { copy, ..first }, entry)).collect()
}

/// `row` with an arrival.
fn came(mut row: RoundTrip, entry: &Entry) -> RoundTrip {
    if let Entry::Came { size, user_ns, kernel_ns, ttl, tos, .. } = *entry {
        row.size = size;
        row.returned = true;
        row.t4.user = Some(Timestamp::from_nanos(user_ns));
        row.t4.kernel = kernel_ns.map(Timestamp::from_nanos);
        row.reverse_ttl = ttl;
        row.reverse_tos = tos;
    }
    row
}

fn note(probe: &mut ProbeParts, entry: &Entry) {
    match *entry {
        Entry::Sent { size, wake_error_ns, user_ns, .. } => {
            probe.first.size = size;
            probe.first.wake_error_ns = Some(wake_error_ns);
            probe.first.t1.user = Some(Timestamp::from_nanos(user_ns));
            probe.first.not_sent = false;
        }
        Entry::SentStamp { kernel_ns, .. } => probe.first.t1.kernel = Some(Timestamp::from_nanos(kernel_ns)),
        Entry::NotSent { size, .. } => {
            // Of what the kernel had taken first, its departure tells the size.
            probe.first.size = probe.first.size.max(size);
            probe.first.not_sent = true;
        }
        Entry::Returned {
            user_ns,
            kernel_ns,
            told_t2_ns,
            told_t3_ns,
            ttl,
            tos,
            told_ttl,
            reply_number,
            ..
        } => {
            let mut copy = RoundTrip {
                returned: true,
                reverse_ttl: ttl,
                reverse_tos: tos,
                reply_number,
                ..RoundTrip::default()
            };
            copy.t4.user = Some(Timestamp::from_nanos(user_ns));
            copy.t4.kernel = kernel_ns.map(Timestamp::from_nanos);
            copy.t2.told = told_t2_ns.map(Timestamp::from_nanos);
            copy.t3.told = told_t3_ns.map(Timestamp::from_nanos);
            // A reflector that does not know the TTL leaves the field zero, and no packet arrives with that.
            copy.forward_ttl = told_ttl.filter(|ttl| *ttl != 0);
            probe.copies.push(copy);
        }
        Entry::Far(far) => probe.far.push(far),
        // Theirs, and sorted out before; and what is added to whole rows.
        Entry::Card(_) | Entry::FarSent(_) | Entry::Came { .. } => {}
    }
}

fn rows(mut probe: ProbeParts) -> Vec<RoundTrip> {
    let mut records = Records::new(&probe.far);
    let mut arrivals = Arrivals::default();
    for copy in &mut probe.copies {
        let record = records.claim(copy);
        if let Some(index) = record {
            add_far(copy, &probe.far[index]);
        }
        let told = copy.t2.told.map(Timestamp::as_nanos);
        let arrival = record.map_or(ArrivalKey::Told(told, copy.reply_number), ArrivalKey::Recorded);
        copy.forward_copy = arrivals.number(arrival);
    }
    for index in records.unclaimed() {
        let mut row = RoundTrip::default();
        add_far(&mut row, &probe.far[index]);
        row.forward_copy = arrivals.number(ArrivalKey::Recorded(index));
        probe.copies.push(row);
    }
    if probe.copies.is_empty() {
        probe.copies.push(probe.first);
    }
    for (row, copy) in probe.copies.iter_mut().zip(0..) {
        row.sequence = probe.first.sequence;
        row.copy = copy;
        row.size = probe.first.size;
        row.wake_error_ns = probe.first.wake_error_ns;
        row.t1 = probe.first.t1;
        // What has come has left.
        row.not_sent = probe.first.not_sent && !row.returned && !row.seen_by_responder;
    }
    probe.copies
}

fn add_far(row: &mut RoundTrip, far: &ResponderRecord) {
    row.seen_by_responder = true;
    row.t2.user = Some(Timestamp::from_nanos(far.t2_user_ns));
    row.t2.kernel = far.t2_kernel_ns.map(Timestamp::from_nanos);
    row.t3.user = far.t3_user_ns.map(Timestamp::from_nanos);
    row.t3.kernel = far.t3_kernel_ns.map(Timestamp::from_nanos);
    row.forward_ttl = far.ttl.or(row.forward_ttl);
    row.forward_tos = far.tos;
}

/// A network card's stamp that lies farther from the program's is no stamp of that moment.
const PLAUSIBLE_NS: u64 = 1_000_000_000;

/// Adds a network card's stamp to those of the `rows` of its probe that it belongs to.
fn add_card(rows: &mut [RoundTrip], index: &mut RowIndex, card: &Card) {
    for place in index.rows(card.moment, card.arrival_ns) {
        let Some(row) = rows.get_mut(*place) else { continue };
        match card.moment {
            CardMoment::Left => take_in(row, |row| &mut row.t1, card),
            CardMoment::ArrivedThere => take_in(row, |row| &mut row.t2, card),
            CardMoment::LeftThere | CardMoment::TheirsLeft => take_in(row, |row| &mut row.t3, card),
            CardMoment::Returned | CardMoment::TheirsCame => {
                // Each copy has a stamp of its own.
                if row.t4.nic.is_none() {
                    return take_in(row, |row| &mut row.t4, card);
                }
            }
        }
    }
}

/// Whether the card can have stamped then: not before the program handed a packet over, nor after it got one. Kernels before
/// 6.13 may bring the stamp of an earlier packet under a number that has begun anew.
fn is_plausible(user_ns: i64, card: &Card) -> bool {
    let departs = matches!(card.moment, CardMoment::Left | CardMoment::LeftThere | CardMoment::TheirsLeft);
    let wait = card.card_ns.saturating_sub(user_ns).saturating_mul(if departs { 1 } else { -1 });
    wait >= -i64::from(card.error_ns) && wait.unsigned_abs() <= PLAUSIBLE_NS
}

fn take_in<C: Clock>(row: &mut RoundTrip, stamps: impl Fn(&mut RoundTrip) -> &mut Stamps<C>, card: &Card) {
    let of_row = stamps(row);
    let near = of_row.user.is_some_and(|user| is_plausible(user.as_nanos(), card));
    if near {
        of_row.nic = Some(Timestamp::from_nanos(card.card_ns));
        row.nic_error_ns = row.nic_error_ns.max(Some(card.error_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(sequence: u64) -> Entry {
        Entry::Sent { sequence, size: 44, wake_error_ns: 5, user_ns: 1_000 }
    }
    fn returned(sequence: u64, t2: Option<i64>, t4: i64) -> Entry {
        Entry::Returned {
            sequence,
            user_ns: t4 + 10,
            kernel_ns: Some(t4),
            told_t2_ns: t2,
            told_t3_ns: None,
            ttl: Some(64),
            tos: Some(0),
            told_ttl: Some(63),
            reply_number: None,
        }
    }
    fn far(sequence: u64, t2: i64) -> Entry {
        Entry::Far(ResponderRecord {
            sequence,
            t2_user_ns: t2 + 10,
            t2_kernel_ns: Some(t2),
            t3_user_ns: Some(t2 + 20),
            t3_kernel_ns: Some(t2 + 30),
            ttl: Some(63),
            tos: Some(184),
        })
    }

    #[test]
    fn a_returned_probe_has_all_four_stamps_from_both_logs() {
        let rows = assemble(&[
            sent(7),
            returned(7, Some(5_000), 9_000),
            Entry::SentStamp { sequence: 7, kernel_ns: 1_100 },
            far(7, 5_000),
        ]);
        assert_eq!(rows.len(), 1);
        let row = rows[0];
        assert_eq!(row.t1.kernel, Some(Timestamp::from_nanos(1_100)));
        assert_eq!(row.t2.kernel, Some(Timestamp::from_nanos(5_000)));
        assert_eq!(row.t3.kernel, Some(Timestamp::from_nanos(5_030)));
        assert_eq!(row.t4.kernel, Some(Timestamp::from_nanos(9_000)));
        assert!(row.returned && row.seen_by_responder && !row.not_sent);
        assert_eq!((row.forward_tos, row.reverse_tos), (Some(184), Some(0)));
    }

    /// A TTL of 0 in a reply is one that the reflector does not know.
    #[test]
    fn ttl_zero_is_unknown() {
        for (told, known) in [(Some(0), None), (None, None), (Some(1), Some(1)), (Some(255), Some(255))] {
            let mut back = returned(0, None, 9_000);
            if let Entry::Returned { told_ttl, .. } = &mut back {
                *told_ttl = told;
            }
            assert_eq!(assemble(&[sent(0), back])[0].forward_ttl, known);
        }
    }

    #[test]
    fn the_leg_on_which_a_probe_was_lost_is_told_apart() {
        let rows = assemble(&[sent(0), sent(1), far(1, 5_000)]);
        assert!(!rows[0].seen_by_responder && !rows[0].returned, "lost on the way there, or not known");
        assert!(rows[1].seen_by_responder && !rows[1].returned, "lost on the way back");
    }

    #[test]
    fn duplicates_of_either_leg_keep_their_own_stamps() {
        // Duplicated on the way there: two records, two reflections, which come back in the other order.
        let rows = assemble(&[
            sent(0),
            returned(0, Some(6_000), 9_000),
            returned(0, Some(5_000), 9_500),
            far(0, 5_000),
            far(0, 6_000),
        ]);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].t2.kernel, Some(Timestamp::from_nanos(6_000)));
        assert_eq!(rows[1].t2.kernel, Some(Timestamp::from_nanos(5_000)));
        assert_eq!((rows[0].copy, rows[1].copy), (0, 1));
        assert_eq!((rows[0].forward_copy, rows[1].forward_copy), (0, 1), "two arrivals there");
        // Duplicated on the way back: one record, two reflections.
        let rows = assemble(&[
            sent(0),
            returned(0, Some(5_000), 9_000),
            returned(0, Some(5_000), 9_500),
            far(0, 5_000),
        ]);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].forward_copy, rows[1].forward_copy), (0, 0), "one arrival there");
    }

    #[test]
    fn replies_that_are_counted_tell_copies_apart_that_arrived_within_one_tick() {
        let counted = |number: u32, t4: i64| {
            let mut back = returned(0, Some(5_000), t4);
            if let Entry::Returned { reply_number, .. } = &mut back {
                *reply_number = Some(number);
            }
            back
        };
        let rows = assemble(&[sent(0), counted(8, 9_000), counted(9, 9_100), counted(8, 9_200)]);
        let told: Vec<_> = rows.iter().map(|row| (row.forward_copy, row.reply_number)).collect();
        assert_eq!(told, [(0, Some(8)), (1, Some(9)), (0, Some(8))]);
    }

    fn left_there(sequence: u64, t3: i64) -> Entry {
        Entry::FarSent(ResponderDeparture {
            sequence,
            size: 14,
            wake_error_ns: 5,
            user_ns: t3 - 10,
            kernel_ns: Some(t3),
            refused: false,
        })
    }
    fn came_here(sequence: u64, t4: i64) -> Entry {
        Entry::Came {
            sequence,
            size: 14,
            user_ns: t4 + 10,
            kernel_ns: Some(t4),
            ttl: Some(61),
            tos: Some(184),
        }
    }

    #[test]
    fn each_direction_of_two_has_rows_of_its_own_under_the_same_numbers() {
        let entries = [
            came_here(0, 9_000),
            sent(0),
            left_there(1, 7_000),
            left_there(0, 6_000),
            far(0, 5_000),
            came_here(0, 8_500),
            sent(1),
        ];
        let rows = assemble_as(ProbeDirection::Both, &entries);
        let shown: Vec<_> = rows.iter().map(|row| (row.way, row.sequence, row.copy)).collect();
        use ProbeDirection::{Forward, Reverse};
        assert_eq!(
            shown,
            [(Forward, 0, 0), (Forward, 1, 0), (Reverse, 0, 0), (Reverse, 0, 1), (Reverse, 1, 0)]
        );
        assert!(rows[0].seen_by_responder && !rows[0].returned && rows[0].t4.kernel.is_none());
        assert!(!rows[1].seen_by_responder, "lost on the way there");
        assert_eq!(rows[2].t3.kernel, Some(Timestamp::from_nanos(6_000)));
        assert_eq!(rows[2].t4.kernel, Some(Timestamp::from_nanos(8_500)), "the earlier copy is the first");
        assert_eq!((rows[2].reverse_ttl, rows[2].reverse_tos), (Some(61), Some(184)));
        assert!(!rows[4].returned && rows[4].t3.user.is_some(), "lost on the way here");
    }

    #[test]
    fn a_probe_that_the_responder_could_not_send_is_not_lost() {
        let refused = Entry::FarSent(ResponderDeparture {
            sequence: 3,
            size: 14,
            refused: true,
            ..ResponderDeparture::default()
        });
        let rows = assemble_as(ProbeDirection::Reverse, &[refused]);
        assert!(rows[0].not_sent && rows[0].t3.user.is_none() && rows[0].way == ProbeDirection::Reverse);
    }

    #[test]
    fn copies_that_arrived_at_one_moment_are_told_apart_by_their_departures() {
        let record = |t3: i64| match far(0, 5_000) {
            Entry::Far(far) => {
                Entry::Far(ResponderRecord { t3_user_ns: Some(t3), t3_kernel_ns: Some(t3 + 9), ..far })
            }
            other => other,
        };
        let back = |t3: i64, t4: i64| {
            let mut back = returned(0, Some(5_000), t4);
            if let Entry::Returned { told_t3_ns, .. } = &mut back {
                *told_t3_ns = Some(t3);
            }
            back
        };
        // The reply to the first arrival was lost; that to the second came twice.
        let rows = assemble(&[sent(0), record(6_000), record(7_000), back(6_999, 9_000), back(6_999, 9_500)]);
        let departures: Vec<_> = rows.iter().map(|row| (row.returned, row.t3.user)).collect();
        let at = |nanos| Some(Timestamp::from_nanos(nanos));
        assert_eq!(departures, [(true, at(7_000)), (true, at(7_000)), (false, at(6_000))]);
    }

    #[test]
    fn card_stamps_go_to_the_moment_and_the_copy_that_they_belong_to() {
        let card = |moment, arrival_ns, card_ns| {
            Entry::Card(Card { sequence: 0, moment, arrival_ns, card_ns, error_ns: 70 })
        };
        // Two arrivals there, each with its reflection; the first reflection's departure has no stamp of the card.
        let entries = [
            sent(0),
            far(0, 5_000),
            far(0, 6_000),
            returned(0, Some(5_000), 9_000),
            returned(0, Some(6_000), 9_500),
            card(CardMoment::Left, 0, 1_150),
            card(CardMoment::ArrivedThere, 5_000, 4_990),
            card(CardMoment::ArrivedThere, 6_000, 5_980),
            card(CardMoment::LeftThere, 6_000, 6_040),
            card(CardMoment::Returned, 9_500, 9_440),
            card(CardMoment::Returned, 9_000, 8_960),
            // Of nothing that is known, and of another second.
            card(CardMoment::Returned, 9_700, 9_600),
            Entry::Card(Card {
                sequence: 4,
                moment: CardMoment::Left,
                arrival_ns: 0,
                card_ns: 7,
                error_ns: 1,
            }),
        ];
        let rows = assemble(&entries);
        let found: Vec<_> = rows
            .iter()
            .map(|row| {
                [
                    row.t1.nic.map(Timestamp::as_nanos),
                    row.t2.nic.map(Timestamp::as_nanos),
                    row.t3.nic.map(Timestamp::as_nanos),
                    row.t4.nic.map(Timestamp::as_nanos),
                ]
            })
            .collect();
        assert_eq!(
            found,
            [
                [Some(1_150), Some(4_990), None, Some(8_960)],
                [Some(1_150), Some(5_980), Some(6_040), Some(9_440)]
            ]
        );
        assert!(rows.iter().all(|row| row.nic_error_ns == Some(70)));
        let far_off = card(CardMoment::Left, 0, 1_100 + 2_000_000_000);
        let rows = assemble(&[sent(0), far_off]);
        assert_eq!((rows[0].t1.nic, rows[0].nic_error_ns), (None, None));
        // Before the packet was handed over, by more than the stamp may be off.
        let rows = assemble(&[sent(0), card(CardMoment::Left, 0, 929)]);
        assert_eq!(rows[0].t1.nic, None);
        let rows = assemble(&[sent(0), card(CardMoment::Left, 0, 931)]);
        assert_eq!(rows[0].t1.nic, Some(Timestamp::from_nanos(931)));
    }

    #[test]
    fn a_probe_that_the_host_refused_is_neither_sent_nor_lost() {
        let rows = assemble(&[Entry::NotSent { sequence: 3, size: 44, errno: 105, user_ns: 1 }]);
        assert!(rows[0].not_sent && rows[0].t1.user.is_none());
    }

    proptest! {
        #[test]
        fn the_order_of_entries_does_not_matter(shift in 0usize..8, count in 1u64..6) {
            let mut entries: Vec<Entry> = (0..count)
                .flat_map(|n| {
                    let t2 = 5_000 + i64::try_from(n).unwrap();
                    [sent(n), Entry::SentStamp { sequence: n, kernel_ns: 1_100 }, returned(n, Some(t2), 9_000), far(n, t2)]
                })
                .collect();
            let straight = assemble(&entries);
            let turn = shift % entries.len();
            entries.rotate_left(turn);
            prop_assert_eq!(&assemble(&entries), &straight);
            entries.reverse();
            prop_assert_eq!(&assemble(&entries), &straight);
        }
    }
}
