//! What is said of losses by a reflector's numbers, held against simulated paths and reflectors whose truth is known.

use proptest::prelude::*;
use romer_record::log::Entry;
use romer_record::manifest::{ClockRelation, StampRequest};
use romer_record::warning::Numbering;
use romer_record::{Fate, OneWaySingleton, assemble};
use romer_singletons::{ReplyNumbers, ResponderLog, Selection, StreamSingletons, relate};
use romer_units::Duration;

/// A millisecond.
const MS: i64 = 1_000_000;
const WAIT: i64 = 40 * MS;
const THERE: i64 = 10 * MS;
const BACK: i64 = 8 * MS;
const AHEAD: i64 = 77_000_000_000;

/// What becomes of a probe: the delay of each arrival there, and of the reply to each the delays of its copies.
type Probe = Vec<(i64, Vec<i64>)>;

/// Probes a millisecond apart, and a reflector that counts from `first` on, and anew from 0 at each of `restarts`.
#[derive(Clone, Debug)]
struct CountingReflector {
    probes: Vec<Probe>,
    first: u32,
    restarts: Vec<i64>,
    counts: bool,
}

/// A reply as it was made.
#[derive(Clone, Debug)]
struct Reply {
    probe: usize,
    life: usize,
    number: u32,
    made: i64,
    came: Vec<i64>,
}

impl CountingReflector {
    fn new(probes: Vec<Probe>) -> Self {
        Self { probes, first: 0, restarts: Vec::new(), counts: true }
    }

    fn replies(&self) -> Vec<Reply> {
        let mut arrivals: Vec<(i64, usize, &Vec<i64>)> = Vec::new();
        for (probe, (fates, left)) in self.probes.iter().zip((0..).map(|n| n * MS)).enumerate() {
            arrivals.extend(fates.iter().map(|(delay, back)| (left + delay, probe, back)));
        }
        arrivals.sort();
        let (mut number, mut life) = (self.first, 0);
        let mut replies = Vec::new();
        for (made, probe, back) in arrivals {
            let lives = self.restarts.iter().filter(|restart| **restart <= made).count();
            if lives > life {
                (number, life) = (0, lives);
            }
            let told = if self.counts { number } else { u32::try_from(probe).expect("a small number") };
            number = number.wrapping_add(1);
            let came = back.iter().map(|delay| made + delay).collect();
            replies.push(Reply { probe, life, number: told, made, came });
        }
        replies
    }

    fn related(&self) -> StreamSingletons {
        let mut entries = Vec::new();
        for (sequence, user_ns) in (0..self.probes.len() as u64).zip((0..).map(|n| n * MS)) {
            entries.push(Entry::Sent { sequence, size: 44, wake_error_ns: 0, user_ns });
        }
        for reply in self.replies() {
            for came in reply.came {
                entries.push(Entry::Returned {
                    sequence: reply.probe as u64,
                    user_ns: came,
                    kernel_ns: None,
                    told_t2_ns: Some(reply.made + AHEAD),
                    told_t3_ns: Some(reply.made + AHEAD),
                    ttl: None,
                    tos: None,
                    told_ttl: None,
                    reply_number: Some(reply.number),
                });
            }
        }
        let rows = assemble(&entries);
        let selection = Selection::choose(&rows, StampRequest::Best, false);
        relate(&rows, &selection, ClockRelation::Unknown, Duration::from_nanos(WAIT), ResponderLog::None)
    }

    fn is_answered(&self, probe: usize) -> bool {
        !self.probes[probe].is_empty()
    }
    fn is_back(&self, probe: usize) -> bool {
        self.probes[probe].iter().any(|(_, back)| !back.is_empty())
    }

    /// What the module takes on trust does not hold here.
    fn deceives(&self, told: &ReplyNumbers) -> bool {
        let replies = self.replies();
        let copied = self.probes.iter().any(|probe| probe.len() > 1) && told.copies == 0;
        let in_order = replies.windows(2).all(|pair| pair[0].probe <= pair[1].probe);
        let overtaken = !in_order && told.copies == 0 && !told.overtaken;
        // Whoever hears only of a later count takes it for the first.
        let begun = replies.iter().any(|reply| reply.life == 0 && !reply.came.is_empty());
        // Nobody knows the order of replies that are under way together.
        let unordered = self.restarts.iter().any(|restart| {
            let Some(before) = replies.iter().rfind(|reply| reply.made < *restart) else { return false };
            let of_life = replies.iter().filter(|reply| reply.life == before.life);
            of_life.flat_map(|reply| reply.came.iter().min()).min().is_some_and(|first| first >= restart)
        });
        // One that has passed its end before the first reply that is heard has begun at 0 for all who hear it.
        let mut heard = replies.iter().filter(|reply| !reply.came.is_empty());
        let wrapped = self.counts && self.first > 0 && heard.all(|reply| reply.number < self.first);
        copied || overtaken || unordered || (!self.restarts.is_empty() && !begun) || wrapped
    }
}

fn numbers(related: &StreamSingletons) -> ReplyNumbers {
    related.numbers.expect("no log of the far end")
}

fn fates(related: &StreamSingletons) -> String {
    let one = |singleton: &OneWaySingleton| match (singleton.fate, singleton.arrival) {
        (Fate::Arrived | Fate::Late, Some(_)) => '.',
        (Fate::Arrived | Fate::Late, None) => 'b',
        (Fate::Lost, _) => 't',
        (Fate::Unknown | Fate::InstrumentDrop | Fate::InFlight, _) => '?',
    };
    related.forward.iter().filter(|singleton| singleton.copy == 0).map(one).collect()
}

/// `.` comes back, `t` is lost on the way there, `b` on the way back.
fn steady(text: &str) -> CountingReflector {
    let probe = |fate| match fate {
        't' => vec![],
        'b' => vec![(THERE, vec![])],
        '.' => vec![(THERE, vec![BACK])],
        other => panic!("{other}"),
    };
    CountingReflector::new(text.chars().map(probe).collect())
}

fn attributed(world: &CountingReflector) -> (String, ReplyNumbers) {
    let related = world.related();
    (fates(&related), numbers(&related))
}

#[test]
fn a_gap_of_losses_on_one_way_is_told_of_each_probe_and_one_of_both_by_its_numbers() {
    let (fates, found) = attributed(&steady("...........t..bb...ttt.........tb........"));
    assert_eq!(fates, "...........t..bb...ttt.........??........");
    assert_eq!((found.numbering, found.missing, found.there, found.back), (Numbering::Stateful, 8, 5, 3));
    assert_eq!((found.unnamed, found.unknown, found.all_there, found.all_back), (2, 0, true, true));
}

#[test]
fn the_way_back_is_a_stream_of_replies_of_its_own() {
    let related = steady("...........t..bb...ttt.........tb........").related();
    assert!(related.reverse_complete);
    let lost: Vec<u64> =
        related.reverse.iter().filter(|reply| reply.fate == Fate::Lost).map(|reply| reply.sequence).collect();
    assert_eq!(lost, [14, 15, 31], "of the last it is not known whether it was to 31 or 32");
    assert_eq!(related.reverse.len(), 41 - 5);
    assert!(related.reverse.is_sorted_by(|a, b| a.sequence < b.sequence));
}

#[test]
fn numbers_that_are_ours_tell_nothing_whoever_gives_them() {
    // A stateless reflector; and one that counts, where nothing was lost on the way there.
    for world in [CountingReflector { counts: false, ..steady("....t..b..") }, steady("....b..bb.")] {
        let (fates, found) = attributed(&world);
        assert_eq!(found.numbering, Numbering::Stateless);
        assert!(!fates.contains(['t', 'b']), "{fates}");
        assert_eq!((found.unknown, found.all_there, found.all_back), (found.missing, false, false));
    }
}

#[test]
fn a_new_session_counts_from_nothing_and_an_old_one_does_not_tell_of_its_beginning() {
    assert_eq!(attributed(&steady("t.......")).0, "t.......");
    assert_eq!(attributed(&steady("bb....t.")).0, "bb....t.");
    let (fates, found) = attributed(&steady("tb....t."));
    assert_eq!((fates.as_str(), found.there, found.back, found.all_there), ("??....t.", 2, 1, true));
    for first in [5_000, u32::MAX - 2] {
        let world = CountingReflector { first, ..steady("t.....b..t..") };
        let (fates, found) = attributed(&world);
        assert_eq!(fates, "?.....b..t..", "{first}");
        assert_eq!((found.there, found.back, found.unknown, found.all_back), (1, 1, 1, false));
        // Where nothing is missing at the beginning nothing is in doubt.
        assert!(attributed(&CountingReflector { first, ..steady(".t....") }).1.all_there);
    }
}

#[test]
fn after_the_last_reply_nothing_is_known() {
    let (fates, found) = attributed(&steady(".....t....b..tb"));
    assert_eq!(fates, ".....t....b..??");
    assert_eq!((found.there, found.back, found.unknown), (1, 1, 2));
    assert!(!found.all_there && !found.all_back);
    assert!(!steady(".....t....b..tb").related().reverse_complete);
}

#[test]
fn a_count_that_begins_anew_is_noticed_and_what_is_missing_around_it_is_not_judged() {
    let world =
        CountingReflector { restarts: vec![31 * MS], ..steady("......t...b........tt.bb.....t...b...") };
    let (fates, found) = attributed(&world);
    assert_eq!(fates, "......t...b........??.bb.....t...b...");
    assert_eq!((found.restarts, found.unknown), (1, 2));
    assert!(!found.all_there && !found.all_back);
    // Where all came back around it, nothing is in doubt.
    let text = "......t...b......................b...";
    let (fates, found) = attributed(&CountingReflector { restarts: vec![36 * MS], ..steady(text) });
    assert_eq!((fates.as_str(), found.restarts, found.all_there), (text, 1, true));
    // Before the first reply is back it does not follow from when the probes left, and the numbers are there twice.
    let (_, found) = attributed(&CountingReflector { restarts: vec![25 * MS], ..steady(text) });
    assert_eq!(found.numbering, Numbering::Invalid);
}

#[test]
fn a_gap_that_may_hide_a_new_beginning_is_not_judged() {
    // Six of the new count are lost, and the seventh goes on where the old one ended.
    let world = CountingReflector { restarts: vec![16 * MS + 1], ..steady("......tbbbbbb.......") };
    let (fates, found) = attributed(&world);
    assert!(fates.starts_with("......???????"), "{fates}");
    assert!(!found.all_there && !found.all_back);
}

#[test]
fn copies_made_on_the_way_there_have_numbers_and_those_made_on_the_way_back_have_not() {
    let mut world = steady(&".".repeat(160));
    world.probes[54] = vec![(THERE, vec![])];
    world.probes[5] = vec![(THERE, vec![BACK, BACK + 1])];
    world.probes[9] = vec![];
    let (fates, found) = attributed(&world);
    assert_eq!((found.copies, &fates[9..10], &fates[54..55]), (0, "t", "b"));
    // Now 9 comes twice there: its number may be missing for a copy's, and what is said of the way back stays.
    world.probes[9] = vec![(THERE, vec![BACK]), (THERE + 100, vec![BACK])];
    world.probes[20] = vec![];
    let (fates, found) = attributed(&world);
    assert_eq!((found.copies, found.back, found.all_back, found.all_there), (1, 1, true, false));
    assert_eq!((&fates[20..21], &fates[54..55]), ("?", "?"), "{found:?}");
}

#[test]
fn where_probes_overtake_each_other_only_what_the_waiting_time_leaves_is_said() {
    let mut text = ".".repeat(400);
    for (at, fate) in [(60, "t"), (200, "b"), (205, "t")] {
        text.replace_range(at..=at, fate);
    }
    let mut world = steady(&text);
    // 20 arrives after 22.
    world.probes[20][0].0 += 2 * MS + 1;
    let (fates, found) = attributed(&world);
    assert!(found.overtaken);
    assert_eq!((&fates[60..61], &fates[200..201], &fates[205..206]), ("t", "?", "?"));
    assert_eq!((found.there, found.back, found.all_there, found.all_back), (2, 1, true, true));
    // Of a missing probe that was overtaken nothing wrong is said.
    world.probes[205] = vec![(THERE + 20 * MS, vec![])];
    let (fates, found) = attributed(&world);
    assert_eq!((&fates[200..201], &fates[205..206], found.there, found.back), ("b", "b", 1, 2));
}

#[test]
fn where_probes_overtake_each_other_and_are_lost_to_the_end_at_least_what_is_certain_is_told() {
    let mut text = ".".repeat(400);
    // So close that each may have been answered where the next was.
    for (at, fate) in (60..400).step_by(20).zip(["b", "t"].into_iter().cycle()) {
        text.replace_range(at..=at, fate);
    }
    let mut world = steady(&text);
    // 20 arrives after 22.
    world.probes[20][0].0 += 2 * MS + 1;
    let (_, found) = attributed(&world);
    assert!(found.overtaken);
    // Of 9 replies and 8 probes two may have been answered behind the last reply.
    assert_eq!((found.back, found.there, found.unnamed, found.unknown), (9, 6, 15, 2));
    assert!(!found.all_back && !found.all_there);
}

#[test]
fn where_probes_are_copied_and_lost_to_the_end_at_least_what_is_certain_is_told() {
    let mut world = steady(&".".repeat(400));
    for probe in (60..400).step_by(20) {
        world.probes[probe] = vec![];
    }
    // Of those that come there twice, the reply to one copy is lost now and then.
    for probe in (5..400).step_by(10) {
        let lost = probe % 100 == 95;
        let second = if lost { vec![] } else { vec![BACK] };
        world.probes[probe] = vec![(THERE, vec![BACK]), (THERE + 100, second)];
    }
    let (text, found) = attributed(&world);
    assert_eq!((found.numbering, found.copies, found.missing), (Numbering::Stateful, 36, 17));
    // All four replies to copies that were lost.
    assert_eq!((found.back, found.all_back, found.all_there), (4, false, false), "{found:?}");
    assert!(found.there > 0 && found.there <= 17, "{found:?}");
    assert!(!text.contains('b'), "{text}");
}

#[test]
fn numbers_that_make_no_sense_tell_nothing() {
    // One count for two sessions: the other's replies take numbers.
    let mut world = steady("....t....b....t.....................");
    world.probes[30] = vec![(THERE, vec![BACK]), (THERE, vec![]), (THERE, vec![])];
    let (text, found) = attributed(&world);
    assert_eq!(found.numbering, Numbering::Invalid);
    assert!(!text.contains(['t', 'b']), "{text}");
    // All the same, or any.
    for number in [|_| 7, |probe: u64| u32::try_from(probe * 2_654_435_761 % 4_294_967_291).unwrap()] {
        let mut entries = Vec::new();
        for sequence in 0..50 {
            let user_ns = i64::try_from(sequence).unwrap() * MS;
            entries.push(Entry::Sent { sequence, size: 44, wake_error_ns: 0, user_ns });
            if sequence % 7 != 3 {
                entries.push(Entry::Returned {
                    sequence,
                    user_ns: user_ns + MS / 2,
                    kernel_ns: None,
                    told_t2_ns: None,
                    told_t3_ns: None,
                    ttl: None,
                    tos: None,
                    told_ttl: None,
                    reply_number: Some(number(sequence)),
                });
            }
        }
        let rows = assemble(&entries);
        let selection = Selection::choose(&rows, StampRequest::Best, false);
        let waiting = Duration::from_nanos(WAIT);
        let related = relate(&rows, &selection, ClockRelation::Unknown, waiting, ResponderLog::None);
        assert_eq!(numbers(&related).numbering, Numbering::Invalid);
        assert_eq!(fates(&related).matches('?').count(), 7);
    }
}

#[test]
fn without_numbers_or_with_a_log_of_the_far_end_they_are_not_asked() {
    let rows = assemble(&[Entry::Sent { sequence: 0, size: 44, wake_error_ns: 0, user_ns: 0 }]);
    let selection = Selection::choose(&rows, StampRequest::Best, false);
    let waiting = Duration::from_nanos(WAIT);
    let of =
        |responder_log| relate(&rows, &selection, ClockRelation::Unknown, waiting, responder_log).numbers;
    assert_eq!(of(ResponderLog::None).map(|found| found.numbering), Some(Numbering::Unknown));
    assert_eq!((of(ResponderLog::Partial), of(ResponderLog::Complete)), (None, None));
}

/// Per mille, of each probe: lost there, overtaken, copied there; of each reply: lost, delayed, copied.
type Chances = [u32; 6];

fn worlds(chances: impl Strategy<Value = Chances>) -> impl Strategy<Value = CountingReflector> {
    let dice = prop::collection::vec(any::<([u16; 3], [[u16; 3]; 2], [u16; 4])>(), 1..250);
    (chances, dice).prop_map(|(chances, dice)| {
        let hits = |die: u16, chance: u32| u32::from(die) * 1000 < chance << 16;
        let probes = dice.iter().map(|(there, back, delays)| {
            let reply = |[lost, late, copied]: [u16; 3], delay: u16| {
                if hits(lost, chances[3]) {
                    return vec![];
                }
                let delay = if hits(late, chances[4]) { i64::from(delay) * 400 } else { 0 };
                let mut came = vec![BACK + delay];
                came.extend(hits(copied, chances[5]).then_some(BACK + delay + 77_000));
                came
            };
            if hits(there[0], chances[0]) {
                return vec![];
            }
            let behind = if hits(there[1], chances[1]) { i64::from(delays[0]) * 450 } else { 0 };
            let mut arrivals = vec![(THERE + behind, reply(back[0], delays[1]))];
            if hits(there[2], chances[2]) {
                arrivals.push((THERE + i64::from(delays[2]) * 450, reply(back[1], delays[3])));
            }
            arrivals
        });
        CountingReflector::new(probes.collect())
    })
}

/// None, few or many.
fn chance() -> BoxedStrategy<u32> {
    prop_oneof![Just(0_u32), 1_u32..30, 30_u32..500].boxed()
}

fn any_world() -> impl Strategy<Value = CountingReflector> {
    let chances = [chance(), chance(), chance(), chance(), chance(), chance()];
    let first = prop_oneof![4 => Just(0_u32), 1 => 5_000_u32..6_000, 1 => u32::MAX - 100..=u32::MAX];
    let restarts = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec((0_i64..250).prop_map(|at| at * MS + 3), 1..3),
    ];
    (worlds(chances), first, restarts).prop_map(|(world, first, mut restarts)| {
        restarts.sort_unstable();
        // A count that begins anew just before it wraps has but wrapped.
        let first = if restarts.is_empty() { first } else { first.min(6_000) };
        CountingReflector { first, restarts, ..world }
    })
}

/// Whether what is claimed is true.
fn assert_true(world: &CountingReflector) -> Result<(), TestCaseError> {
    let related = world.related();
    let found = numbers(&related);
    let missing = (0..world.probes.len()).filter(|probe| !world.is_back(*probe)).count() as u64;
    prop_assert_eq!(found.missing, missing);
    if found.numbering != Numbering::Stateful {
        prop_assert!(!fates(&related).contains(['t', 'b']));
        return Ok(());
    }
    if world.deceives(&found) {
        return Ok(());
    }
    for (probe, fate) in fates(&related).chars().enumerate() {
        prop_assert_eq!(fate == '.', world.is_back(probe), "{}", probe);
        prop_assert!(fate != 't' || !world.is_answered(probe), "{} was answered: {}", probe, fates(&related));
        prop_assert!(fate != 'b' || world.is_answered(probe), "{} was not: {}", probe, fates(&related));
    }
    let there = (0..world.probes.len()).filter(|probe| !world.is_answered(*probe)).count() as u64;
    // Where probes are copied, replies to copies of those that are back are not missed before the first reply and after the
    // last.
    let replies = world.replies();
    let last = |life| replies.iter().rposition(|reply| reply.life == life && !reply.came.is_empty());
    let made = replies.iter().enumerate().filter(|(n, reply)| Some(*n) <= last(reply.life));
    let made: Vec<&Reply> = made.map(|(_, reply)| reply).collect();
    let unheard = made.iter().take_while(|reply| reply.came.is_empty() && found.copies > 0).count() as u64;
    let back = made.iter().filter(|reply| reply.came.is_empty()).count() as u64;
    prop_assert!(found.there <= there && found.back <= back, "{:?}: {} {}", found, there, back);
    prop_assert!(!found.all_there || found.there == there, "{:?}: {}", found, there);
    let all = |count: u64, of: u64| !found.all_back || count == of || count + unheard == of;
    prop_assert!(all(found.back, back), "{:?}: {}", found, back);
    let lost = related.reverse.iter().filter(|reply| reply.fate == Fate::Lost).count() as u64;
    prop_assert_eq!(lost, found.back);
    let sent = related.reverse.iter().filter(|reply| reply.copy == 0).count() as u64;
    prop_assert_eq!(related.reverse_complete && found.missing > 0, found.all_back && found.missing > 0);
    prop_assert!(all(sent, made.len() as u64), "{} of {}", sent, made.len());
    // The replies are in the order in which they were made, under numbers that rise.
    let left: Vec<_> = related.reverse.iter().filter_map(|reply| reply.departure).collect();
    prop_assert!(left.is_sorted() || !world.restarts.is_empty());
    let firsts: Vec<u64> =
        related.reverse.iter().filter(|reply| reply.copy == 0).map(|reply| reply.sequence).collect();
    prop_assert!(firsts.is_sorted_by(|a, b| a < b), "{:?}", firsts);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn what_is_claimed_is_never_wrong(world in any_world()) {
        assert_true(&world)?;
    }

    #[test]
    fn it_is_never_wrong_where_probes_overtake_each_other_and_few_are_lost(
        world in worlds([40, 200, 0, 40, 500, 20].map(|most| 0_u32..=most)),
    ) {
        assert_true(&world)?;
    }

    #[test]
    fn on_a_way_that_only_loses_every_loss_between_replies_is_counted(
        world in worlds([chance(), Just(0).boxed(), Just(0).boxed(), chance(), chance(), chance()]),
    ) {
        assert_true(&world)?;
        let related = world.related();
        let found = numbers(&related);
        if found.numbering == Numbering::Stateful {
            let text = fates(&related);
            let after_last = text.chars().rev().take_while(|fate| *fate != '.').count() as u64;
            // A gap as long as the count so far is not judged.
            let came = |at: usize| world.replies().iter().filter(|reply| reply.probe < at).count();
            let mut long = 0;
            let mut at = 0;
            for run in text.as_bytes().chunk_by(|a, b| (*a == b'.') == (*b == b'.')) {
                if run[0] != b'.' && at > 0 && at + run.len() < text.len() && run.len() >= came(at + run.len()) {
                    long += run.len() as u64;
                }
                at += run.len();
            }
            prop_assert_eq!(found.unknown, after_last + long, "{}", text);
        }
    }
}
