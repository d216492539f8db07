//! From the rows of the packet log to the singletons of each direction.

use std::collections::HashSet;

use romer_record::document::{ClockState, DelayKind, MissingStamps, ProbeDirection};
use romer_record::manifest::ClockRelation;
use romer_record::warning::{Numbering, SkewUnknown};
use romer_record::{Fate, Leaving, OneWaySingleton, RoundTrip, Stamps};
use romer_units::{Clock, Departure, Direction, Duration, Timestamp, TimestampPoint};

use crate::arrivals::ArrivalsSeen;
use crate::delays;
use crate::numbers::{self, ReplyNumbers};
use crate::quick::{self, DelayOutliers};
use crate::selection::{self, Selection, arrived_there, replied};
use crate::single::{number_copies, resolution};
use romer_clock::skew::Correction;
use romer_clock::{across, elapsed, length};
use romer_metrics::settle_by_key;

/// What is there of the responder's own log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponderLog {
    /// The responder keeps none (a foreign reflector).
    None,
    /// Part of it was brought back.
    Partial,
    /// All of it was brought back: a probe that it does not have did not arrive.
    Complete,
}

/// The singletons of a stream, and what is known of its clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSingletons {
    /// From sender to responder, in order of sequence and copy: departures t1, arrivals t2.
    pub forward: Vec<OneWaySingleton>,
    /// From responder to sender: departures t3, arrivals t4. The responder sends replies, not probes, so the
    /// `sequence` here is the reply's number in the order of its departures: that of the probe as long as the
    /// way there neither reorders (the replies then share the probes' numbers out in their own order) nor
    /// duplicates (each further reply moves the numbers after it up by one). What happened on the way there is
    /// so not counted on the way back again. The order is by the responder's stamps, as they are without the
    /// steps of its clock that were found; where a reflector without a log counts its replies, by its numbers.
    pub reverse: Vec<OneWaySingleton>,
    /// There and back: departures t1, arrivals t4, delay (t4-t1)-(t3-t2), Chen et al. 2013 equation (4); where the responder's stamps do not
    /// give its own time, t4-t1.
    pub round_trip: Vec<OneWaySingleton>,
    /// No packet that came back has two different stamps of the responder, so that round trips contain its own time.
    pub far_time_unknown: bool,
    /// The responder's stamps are wrong in themselves, or too coarse, and none of them is in a delay.
    pub far_stamps_wrong: bool,
    /// The stamps of the two hosts cannot be related, so that there are no one-way delays.
    pub one_way_refused: bool,
    /// What the delays of `forward` and `reverse` are; those of `round_trip` are always absolute.
    pub delay_kind: DelayKind,
    /// The two clocks.
    pub clock: ClockState,
    /// What was taken out of the delays of `forward` and of `reverse` for the clocks; nothing until
    /// [`correct_clocks`](crate::correct_clocks) finds something.
    pub corrections: [Correction; 2],
    /// Why nothing was, where the clocks' difference in rate is not identifiable.
    pub not_identifiable: Option<SkewUnknown>,
    /// Stamps of the selected places that did not come, though the packet did.
    pub missing: MissingStamps,
    /// Probes that the sending host refused to send.
    pub not_sent: u64,
    /// One-way probes that the responder's host refused to send.
    pub reverse_not_sent: u64,
    /// Probes that arrived at the responder but were not replied to, where its log says so.
    pub not_replied: u64,
    /// Numbers of those of them of which no reply was sent at all, in ascending order: they are no round trips that the path lost.
    pub unanswered: Vec<u64>,
    /// `reverse` holds every reply that was sent. False where a reply may have been lost of which nothing is
    /// known: then it cannot be said how many were sent or lost.
    pub reverse_complete: bool,
    /// Of all further copies of round trips it is known on which way they were made: by different stamps or numbers on the way
    /// there, by equal ones on the way back. False where some have neither; `reverse` has these.
    pub copies_attributed: bool,
    /// What the numbers of the replies tell of the losses, where a reflector keeps no log.
    pub numbers: Option<ReplyNumbers>,
    /// One-way probes of `forward` and of `reverse` that took less time than those before and after.
    pub too_quick: [DelayOutliers; 2],
}

impl StreamSingletons {
    /// Numbers the copies of the way there anew, after the stamps of its arrivals were changed.
    pub fn number_copies(&mut self) {
        for packet in self.forward.chunk_by_mut(|a, b| a.sequence == b.sequence) {
            number_copies(packet);
        }
    }

    /// Takes no delay from the responder's stamps, which are wrong in themselves: there is none of one way, and of round trips the
    /// whole time that they were away.
    pub fn without_far_stamps(&mut self) {
        self.far_stamps_wrong = true;
        self.copies_attributed &=
            self.replies_are_counted() || self.reverse.iter().all(|singleton| singleton.copy == 0);
        self.drop_far_stamps();
        self.round_trip.iter_mut().for_each(whole_time);
    }

    /// Whether the order of the packets forward follows from stamps of their arrival: where none has one, there is no order, unless none came.
    pub fn forward_is_ordered(&self) -> bool {
        !self.forward.iter().any(is_there) || self.forward.iter().any(|singleton| singleton.arrival.is_some())
    }

    /// The same of the packets in reverse, by stamps of their departure or by the numbers that the reflector gives them.
    pub fn reverse_is_ordered(&self) -> bool {
        self.replies_are_counted()
            || !self.reverse.iter().any(is_there)
            || self.reverse.iter().any(|singleton| singleton.left().is_some())
    }

    /// The order of the replies is that of the numbers that the reflector gives them.
    pub fn replies_are_counted(&self) -> bool {
        self.numbers.is_some_and(|numbers| numbers.numbering == Numbering::Stateful)
    }

    /// Converts the responder's time in each round trip, t3 - t2, from the responder's clock to the sender's by the estimated rate.
    pub(crate) fn convert_responder_time(&mut self) {
        let of_direction = self.corrections.iter().zip(Direction::BOTH);
        let Some((correction, direction)) = of_direction.into_iter().find(|(one, _)| !one.is_empty()) else {
            return;
        };
        for singleton in &mut self.round_trip {
            let Some(((departure, arrival), delay)) =
                singleton.departure.zip(singleton.arrival).zip(singleton.delay)
            else {
                continue;
            };
            let Some(away) = length(across(departure, arrival)) else { continue };
            let excess = correction.more(departure.as_nanos(), direction, (away - delay).as_nanos());
            singleton.delay = Some(delay + Duration::from_nanos(excess));
        }
    }

    /// The least difference that the stamps resolve, nanoseconds: those of one-way delays, and those of the sender alone. 1 where they
    /// show none. Delays that are all the same are no evidence of a unit: then the stamps have to be multiples of it.
    pub fn resolutions_ns(&self) -> [i64; 2] {
        [[&self.forward[..], &self.reverse], [&self.round_trip, &[]]].map(resolution)
    }

    /// Takes no one-way delay, and no order, from stamps of two clocks that cannot be related.
    pub(crate) fn refuse_one_way(&mut self) {
        self.one_way_refused = true;
        self.drop_far_stamps();
    }

    fn drop_far_stamps(&mut self) {
        for singleton in &mut self.forward {
            (singleton.arrival, singleton.delay) = (None, None);
        }
        for singleton in &mut self.reverse {
            (singleton.departure, singleton.delay) = (None, None);
            singleton.leaving = Leaving::UNKNOWN;
        }
    }

    /// The same, and the replies, after the responder's stamps were changed.
    pub(crate) fn put_in_order(&mut self) {
        self.number_copies();
        if !self.round_trip.is_empty() && !self.replies_are_counted() {
            let singletons = core::mem::take(&mut self.reverse);
            self.reverse = Replies { singletons, out_of_order: true, ..Replies::default() }.in_order();
        }
    }

    /// Finds packets of one way that took longer than `waiting_time`, where the two clocks are not known to be one; where they are,
    /// that is known already. What a round trip that came back in time contains was in time both ways: t4 - t1 bounds either delay,
    /// whatever the clocks show. Of other packets a
    /// delay is known above the least one only; what is more than `waiting_time` even so is late. Of a packet without the chosen stamp
    /// of its departure another tells, with what was taken out for the clocks of the one before it.
    pub fn find_late(&mut self, waiting_time: Duration) {
        let on_one_clock = self.clock.is_shared();
        let round_trips = &self.round_trip;
        let mut back_in_time = None;
        for (heading, singletons) in Direction::BOTH.into_iter().zip([&mut self.forward, &mut self.reverse]) {
            let apart = |one: &OneWaySingleton| {
                Some(across(one.departure?, one.arrival?) - i128::from(one.delay?.as_nanos()))
            };
            let mut taken_out = singletons.iter().find_map(apart);
            for singleton in singletons {
                taken_out = apart(singleton).or(taken_out);
                let raw = singleton.left_about().zip(singleton.arrival).zip(taken_out);
                let by_other = || raw.and_then(|((left, came), out)| length(across(left, came) - out));
                let took = singleton.delay.or_else(by_other);
                let is_late = match singleton.fate {
                    Fate::Arrived => !on_one_clock && took.is_some_and(|took| took > waiting_time),
                    Fate::Late => on_one_clock,
                    _ => false,
                };
                if !is_late {
                    continue;
                }
                let in_time = match heading {
                    Direction::Forward => {
                        singleton.copy == 0 && came_in_time(round_trips, singleton.sequence)
                    }
                    Direction::Reverse => {
                        let back = back_in_time.get_or_insert_with(|| arrivals_in_time(round_trips));
                        singleton.arrival.is_some_and(|arrival| back.contains(&arrival.as_nanos()))
                    }
                };
                singleton.fate = if in_time { Fate::Arrived } else { Fate::Late };
            }
        }
    }
}

const fn is_there(singleton: &OneWaySingleton) -> bool {
    matches!(singleton.fate, Fate::Arrived | Fate::Late)
}

/// Whether a round trip of this probe came back in time: its first arrival at the responder was before that.
fn came_in_time(round_trips: &[OneWaySingleton], sequence: u64) -> bool {
    let first = round_trips.partition_point(|one| one.sequence < sequence);
    let copies = round_trips[first..].iter().take_while(|one| one.sequence == sequence);
    copies.into_iter().any(|one| one.fate == Fate::Arrived)
}

/// When round trips came back that were in time. A reply has the number of its order, not of its probe; its arrival is the same.
fn arrivals_in_time(round_trips: &[OneWaySingleton]) -> HashSet<i64> {
    let in_time = round_trips.iter().filter(|one| one.fate == Fate::Arrived);
    in_time.filter_map(|one| one.arrival).map(Timestamp::as_nanos).collect()
}

/// Relates the stamps of `rows`, which are in order of sequence and copy as
/// [`assemble`](romer_record::assemble) gives them, on the two clocks.
///
/// Copies are numbered by arrival. Rows that share their `forward_copy` are duplicates made on the way back, and
/// are one arrival in `forward`. A singleton without one of its stamps has no delay, but its fate is known, by the stamps of
/// each end that are nearest to the wire, whichever were chosen: a round trip that took longer than `waiting_time` on the
/// sender's clock, without the time at the responder, is [`Fate::Late`], and so is a one-way singleton, where the clocks allow to
/// say it.
///
/// A probe that did not return is lost in `round_trip`. Where it was lost needs the far log, or a reflector that counts its
/// replies ([`ReplyNumbers`]): without either, or where a partial log does not have the probe, or a whole one does not tell of
/// it, the forward fate is [`Fate::Unknown`], and nothing is said in `reverse`.
///
/// One-way probes have singletons in their own direction only, under their own numbers, and none in `round_trip`.
pub fn relate(
    rows: &[RoundTrip],
    selection: &Selection,
    relation: ClockRelation,
    waiting_time: Duration,
    responder_log: ResponderLog,
) -> StreamSingletons {
    let mut relating = Relating::new(*selection, relation, waiting_time, responder_log, rows.len());
    relating.take(rows);
    relating.finish()
}

/// [`relate`] for rows that come in parts, so that they need not be in memory at once.
#[derive(Debug)]
pub struct Relating {
    stream: Stream,
    any: bool,
    one_way: bool,
    all_returned: bool,
    all_told: bool,
    /// A reply that came back has no time stamp of its departure: without one, a packet may have been sent all the same.
    any_undated_reply: bool,
    /// Replies came again that no stamp of their arrival at the responder tells apart.
    any_unstamped_copy: bool,
    far_stamps: ResponderTimestamps,
    forward: Vec<OneWaySingleton>,
    replies: Replies,
    theirs: Vec<OneWaySingleton>,
    round_trip: Vec<OneWaySingleton>,
    missing: MissingStamps,
    not_sent: u64,
    reverse_not_sent: u64,
    not_replied: u64,
    unanswered: Vec<u64>,
    expected: usize,
}

impl Relating {
    /// Begins with no row. About as many as `expected` will come.
    pub fn new(
        selection: Selection,
        relation: ClockRelation,
        waiting_time: Duration,
        responder_log: ResponderLog,
        expected: usize,
    ) -> Self {
        Self {
            stream: Stream { selection, waiting_time, responder_log, relation },
            any: false,
            one_way: false,
            all_returned: true,
            all_told: true,
            any_undated_reply: false,
            any_unstamped_copy: false,
            far_stamps: ResponderTimestamps::default(),
            forward: Vec::new(),
            replies: Replies::default(),
            theirs: Vec::new(),
            round_trip: Vec::new(),
            missing: MissingStamps::default(),
            not_sent: 0,
            reverse_not_sent: 0,
            not_replied: 0,
            unanswered: Vec::new(),
            expected,
        }
    }

    /// Takes the next rows, in order of sequence and copy; all rows of a probe come together.
    pub fn take(&mut self, rows: &[RoundTrip]) {
        if let (Some(first), false) = (rows.first(), self.any) {
            self.any = true;
            self.one_way = first.way.is_one_way();
            self.make_room(first.way);
        }
        for probe in rows.chunk_by(|a, b| (a.way, a.sequence) == (b.way, b.sequence)) {
            self.take_probe(probe);
        }
    }

    fn make_room(&mut self, way: ProbeDirection) {
        match way {
            ProbeDirection::RoundTrip => {
                self.forward.reserve(self.expected);
                self.replies.singletons.reserve(self.expected);
                self.round_trip.reserve(self.expected);
            }
            ProbeDirection::Forward => self.forward.reserve(self.expected),
            ProbeDirection::Reverse => self.theirs.reserve(self.expected),
            ProbeDirection::Both => {}
        }
    }

    fn take_probe(&mut self, probe: &[RoundTrip]) {
        let first = &probe[0];
        let stream = &self.stream;
        selection::count_missing(&mut self.missing, probe, &stream.selection);
        let refused = if first.way == ProbeDirection::Reverse {
            &mut self.reverse_not_sent
        } else {
            &mut self.not_sent
        };
        *refused += u64::from(first.not_sent);
        if first.not_sent {
            return;
        }
        if first.way == ProbeDirection::Reverse {
            stream.their_own(probe, &mut self.theirs);
            return;
        }
        self.all_returned &= probe.iter().any(|row| row.returned);
        self.all_told &= !probe.iter().any(|row| row.untold_by_responder);
        self.far_stamps.take(probe);
        stream.forward(probe, &mut self.forward);
        if first.way == ProbeDirection::RoundTrip {
            let is_undated =
                |row: &RoundTrip| row.returned && !row.far_stamps_rejected && row.t3.nearest().is_none();
            self.any_undated_reply |= probe.iter().any(is_undated);
            self.any_unstamped_copy |= has_unstamped_copies(probe);
            self.not_replied += not_replied(probe);
            if probe.iter().any(arrived_there) && !probe.iter().any(replied) {
                self.unanswered.push(first.sequence);
            }
            stream.replies(probe, &mut self.replies);
            stream.round_trip(probe, &mut self.round_trip);
        }
    }

    /// What was taken in, related.
    pub fn finish(self) -> StreamSingletons {
        let relation = self.stream.relation;
        let mut related = self.finish_unrelated();
        if relation == ClockRelation::Unknown {
            for direction in [&mut related.forward, &mut related.reverse] {
                delays::fill_delays(direction, relation);
            }
            related.clock = delays::state(&related.forward, &related.reverse, relation);
        }
        related
    }

    /// The same for those who take the clocks' error out next ([`correct_clocks`](crate::correct_clocks)): of two clocks
    /// nothing is said yet, and there are no delays.
    pub fn finish_unrelated(self) -> StreamSingletons {
        let Stream { relation, responder_log, waiting_time, .. } = self.stream;
        let Self { mut forward, mut replies, mut round_trip, mut missing, far_stamps, .. } = self;
        let (not_replied, unanswered) =
            if self.any_undated_reply { (0, Vec::new()) } else { (self.not_replied, self.unanswered) };
        let far_time_unknown = far_stamps.returned && !far_stamps.differ;
        if far_time_unknown {
            far_stamps.forgive(&mut missing);
            round_trip.iter_mut().for_each(whole_time);
        }
        let numbers = (responder_log == ResponderLog::None && self.any && !self.one_way).then(|| {
            let numbers = core::mem::take(&mut replies.numbers);
            numbers::attribute_losses(&mut forward, &mut replies.singletons, numbers, waiting_time)
        });
        let counted = numbers.filter(|numbers| numbers.numbering == Numbering::Stateful);
        let mut reverse = if counted.is_some() { replies.singletons } else { replies.in_order() };
        if reverse.is_empty() {
            reverse = self.theirs;
        } else {
            reverse.extend(self.theirs);
        }
        let too_quick = if self.one_way {
            [&mut forward, &mut reverse].map(|singletons| quick::reject(singletons, relation))
        } else {
            Default::default()
        };
        let shared = relation == ClockRelation::Shared;
        if shared {
            for direction in [&mut forward, &mut reverse] {
                delays::fill_delays(direction, relation);
            }
        }
        let known = |singletons| if shared { singletons } else { &[][..] };
        StreamSingletons {
            delay_kind: delays::delay_kind(relation),
            corrections: Default::default(),
            not_identifiable: None,
            clock: delays::state(known(&forward), known(&reverse), relation),
            missing,
            far_time_unknown,
            far_stamps_wrong: false,
            one_way_refused: false,
            not_sent: self.not_sent,
            reverse_not_sent: self.reverse_not_sent,
            not_replied,
            unanswered,
            reverse_complete: (responder_log == ResponderLog::Complete
                && self.all_told
                && !self.any_undated_reply)
                || counted.is_some_and(|counted| counted.all_back)
                || (!self.one_way && self.all_returned),
            copies_attributed: !self.any_unstamped_copy || counted.is_some(),
            numbers,
            too_quick,
            forward,
            reverse,
            round_trip,
        }
    }
}

/// Which time stamps of the responder exist for returned packets, whatever their source.
#[derive(Clone, Copy, Debug, Default)]
struct ResponderTimestamps {
    returned: bool,
    arrival: bool,
    departure: bool,
    /// Of one packet at least both, which differ: they give the time that the responder took.
    differ: bool,
}

impl ResponderTimestamps {
    fn take(&mut self, probe: &[RoundTrip]) {
        if self.differ {
            return;
        }
        for row in probe.iter().filter(|row| row.returned && row.way == ProbeDirection::RoundTrip) {
            let (arrival, departure) = (row.t2.nearest(), row.t3.nearest());
            self.returned = true;
            self.arrival |= arrival.is_some();
            self.departure |= departure.is_some();
            self.differ |= arrival.zip(departure).is_some_and(|(arrival, departure)| arrival != departure);
        }
    }

    /// A stamp that is never taken is not one that did not come.
    fn forgive(self, missing: &mut MissingStamps) {
        if !self.arrival {
            missing.responder_arrival = 0;
        }
        if !self.departure {
            missing.responder_departure = 0;
        }
    }
}

/// The time away, with the responder's own.
fn whole_time(singleton: &mut OneWaySingleton) {
    let away = |(departure, arrival)| across(departure, arrival);
    singleton.delay = singleton.departure.zip(singleton.arrival).map(away).and_then(length);
}

/// Whether replies came again without a stamp or a number that tells their arrivals at the responder apart: they share one.
fn has_unstamped_copies(probe: &[RoundTrip]) -> bool {
    let is_unstamped =
        |row: &&RoundTrip| row.returned && row.t2.nearest().is_none() && !row.far_stamps_rejected;
    let mut arrivals = ArrivalsSeen::new();
    probe.iter().filter(is_unstamped).any(|row| !arrivals.is_new(row.forward_copy))
}

fn not_replied(probe: &[RoundTrip]) -> u64 {
    probe.iter().map(|row| u64::from(arrived_there(row) && !replied(row))).sum()
}

/// A singleton of which nothing is known but the packet and its fate.
pub(crate) const fn bare(sequence: u64, size: u32, fate: Fate) -> OneWaySingleton {
    OneWaySingleton {
        sequence,
        copy: 0,
        size,
        fate,
        departure: None,
        arrival: None,
        delay: None,
        ttl: None,
        tos: None,
        leaving: Leaving::UNKNOWN,
    }
}

/// The replies of the responder, in the order of the probes, until they are put in that of their departures.
#[derive(Debug, Default)]
struct Replies {
    /// Their singletons; a reply's first copy is numbered 0. They have the numbers that the replies share out.
    singletons: Vec<OneWaySingleton>,
    /// The departure of the last, so far as it is known, and whether one left before the one before it.
    last: Option<Timestamp<Departure>>,
    out_of_order: bool,
    /// How many further replies there were to the same probes, and the probe of the last.
    extra: u64,
    probe: Option<u64>,
    /// What the reflector numbered them, of those that tell it.
    numbers: Vec<u32>,
}

impl Replies {
    /// The number of the next reply, which is to `probe`: that of the probe, so that the gaps of what never arrived stay,
    /// each further reply to the same probe moving the rest up by one.
    fn number(&mut self, probe: u64) -> u64 {
        self.extra += u64::from(self.probe == Some(probe));
        self.probe = Some(probe);
        probe.saturating_add(self.extra)
    }

    /// Takes in the reply whose singletons begin at `from`.
    fn end(&mut self, from: usize) {
        // One whose departure is not known keeps its place behind the one before it.
        let departed = self.singletons[from].left().or(self.last);
        self.out_of_order |= departed < self.last;
        self.last = departed;
    }

    /// The singletons in order of departure, with the numbers given out in that order: in place, as ten million take much room.
    fn in_order(self) -> Vec<OneWaySingleton> {
        let mut singletons = self.singletons;
        if !self.out_of_order {
            return singletons;
        }
        let numbers: Vec<u64> = singletons
            .iter()
            .filter(|singleton| singleton.copy == 0)
            .map(|singleton| singleton.sequence)
            .collect();
        // The copies of a reply go with it, as does one whose departure is not known with the one before it.
        let dated = |singleton: &OneWaySingleton| singleton.left().filter(|_| singleton.copy == 0);
        let mut undated: Vec<(u32, Option<Timestamp<Departure>>)> = Vec::new();
        let mut before = None;
        for (place, singleton) in (0..).zip(&singletons) {
            let departure = dated(singleton);
            if departure.is_none() {
                undated.push((place, before));
            }
            before = departure.or(before);
        }
        let of_undated = |place: u32| {
            let found = undated.binary_search_by_key(&place, |one| one.0).ok()?;
            undated[found].1
        };
        let mut order: Vec<u32> = (0..).take(singletons.len()).collect();
        settle_by_key(&mut order, |place| {
            (dated(&singletons[*place as usize]).or_else(|| of_undated(*place)), *place)
        });
        arrange(&mut singletons, order);
        let mut numbers = numbers.into_iter();
        let mut sequence = 0;
        for singleton in &mut singletons {
            if singleton.copy == 0 {
                sequence = numbers.next().unwrap_or(sequence);
            }
            singleton.sequence = sequence;
        }
        singletons
    }
}

/// Puts to each place what was at the place that `order` has there.
fn arrange<T: Copy>(items: &mut [T], mut order: Vec<u32>) {
    for first in (0..).take(items.len()) {
        let (mut at, one) = (first, items[first as usize]);
        loop {
            // A place that has its own is done.
            let from = std::mem::replace(&mut order[at as usize], at);
            if from == first {
                items[at as usize] = one;
                break;
            }
            items[at as usize] = items[from as usize];
            at = from;
        }
    }
}

/// When a packet left: by the stamp of the selected `place`, and by another where that is missing.
fn left<C: Clock>(stamps: &Stamps<C>, place: Option<TimestampPoint>) -> [Option<Timestamp<Departure>>; 2] {
    let selected = stamps.at(place);
    let other = if selected.is_none() { stamps.nearest() } else { None };
    [selected, other].map(|stamp| stamp.map(Timestamp::renamed))
}

/// The two as one: of a packet without the chosen stamp there is no error.
fn leaving(about: Option<Timestamp<Departure>>, error: Option<Duration>) -> Leaving {
    about.map(Leaving::about).or(error.map(Leaving::after)).unwrap_or_default()
}

#[derive(Debug)]
struct Stream {
    selection: Selection,
    waiting_time: Duration,
    responder_log: ResponderLog,
    relation: ClockRelation,
}

impl Stream {
    /// The fate of a packet that arrived, by the stamps of its departure and arrival that are nearest to the wire: a program
    /// that read it late is not the path. That it came too late can be said on one clock only.
    fn arrived<D: Clock, A: Clock>(&self, departure: &Stamps<D>, arrival: &Stamps<A>) -> Fate {
        let stamps = departure.nearest().zip(arrival.nearest());
        let on_one_clock = stamps.filter(|_| self.relation == ClockRelation::Shared);
        let late = on_one_clock.is_some_and(|(departure, arrival)| {
            delays::longer(departure.renamed(), arrival.renamed(), self.waiting_time)
        });
        if late { Fate::Late } else { Fate::Arrived }
    }

    fn forward(&self, probe: &[RoundTrip], singletons: &mut Vec<OneWaySingleton>) {
        let from = singletons.len();
        let mut arrivals = ArrivalsSeen::new();
        for row in probe.iter().filter(|row| arrived_there(row)) {
            if !arrivals.is_new(row.forward_copy) {
                continue;
            }
            singletons.push(OneWaySingleton {
                arrival: row.t2.at(self.selection.t2).map(Timestamp::renamed),
                ttl: row.forward_ttl,
                tos: row.forward_tos,
                ..self.departed(row, self.arrived(&row.t1, &row.t2))
            });
        }
        if singletons.len() == from {
            let told = self.responder_log == ResponderLog::Complete && !probe[0].untold_by_responder;
            singletons.push(self.departed(&probe[0], if told { Fate::Lost } else { Fate::Unknown }));
        }
        number_copies(&mut singletons[from..]);
    }

    fn round_trip(&self, probe: &[RoundTrip], singletons: &mut Vec<OneWaySingleton>) {
        let from = singletons.len();
        singletons.extend(probe.iter().filter(|row| row.returned).map(|row| OneWaySingleton {
            arrival: row.t4.at(self.selection.t4).map(Timestamp::renamed),
            delay: self.round_trip_delay(row),
            ttl: row.reverse_ttl,
            tos: row.reverse_tos,
            ..self.departed(row, if self.is_late(row) { Fate::Late } else { Fate::Arrived })
        }));
        if singletons.len() == from {
            singletons.push(self.departed(&probe[0], Fate::Lost));
        }
        number_copies(&mut singletons[from..]);
    }

    /// The singleton of a probe from its departure on.
    fn departed(&self, row: &RoundTrip, fate: Fate) -> OneWaySingleton {
        let departure = row.t1.at(self.selection.t1);
        let [_, left_about] = left(&row.t1, self.selection.t1);
        let after_user = departure.zip(row.t1.user).map(|(best, user)| elapsed(user, best));
        let error = after_user.zip(row.wake_error_ns).map(|(after, wake)| after + i128::from(wake));
        OneWaySingleton {
            departure: departure.map(Timestamp::renamed),
            leaving: leaving(left_about, error.and_then(length)),
            ..bare(row.sequence, row.size, fate)
        }
    }

    /// Chen et al. 2013 equation (4): the time away, less the time that the responder took.
    fn round_trip_delay(&self, row: &RoundTrip) -> Option<Duration> {
        let away = elapsed(row.t1.at(self.selection.t1)?, row.t4.at(self.selection.t4)?);
        if row.far_stamps_rejected {
            return length(away);
        }
        let there = elapsed(row.t2.at(self.selection.t2)?, row.t3.at(self.selection.t3)?);
        length(away - there)
    }

    /// Whether the reflection came back after the waiting time, the time that it lay at the responder taken off: a
    /// responder that stood still is not the path, but one whose stamps say more than the whole time says nothing. Of each moment
    /// the stamp that is nearest to the wire tells.
    fn is_late(&self, row: &RoundTrip) -> bool {
        let away = row.t1.nearest().zip(row.t4.nearest());
        let there = row.t2.nearest().zip(row.t3.nearest());
        away.is_some_and(|(t1, t4)| {
            let away = elapsed(t1, t4);
            let lay = there.map(|(t2, t3)| elapsed(t2, t3)).filter(|lay| (0..=away).contains(lay));
            away - lay.unwrap_or(0) > i128::from(self.waiting_time.as_nanos())
        })
    }

    /// The singletons of a probe that the responder sent by itself.
    fn their_own(&self, probe: &[RoundTrip], singletons: &mut Vec<OneWaySingleton>) {
        let from = singletons.len();
        let first = &probe[0];
        let departure = first.t3.at(self.selection.t3);
        let [_, left_about] = left(&first.t3, self.selection.t3);
        let after_user = departure.zip(first.t3.user).map(|(best, user)| elapsed(user, best));
        let error = after_user.zip(first.wake_error_ns).map(|(after, wake)| after + i128::from(wake));
        let left = |row: &RoundTrip, fate| OneWaySingleton {
            departure: departure.map(Timestamp::renamed),
            leaving: leaving(left_about, error.and_then(length)),
            ..bare(row.sequence, row.size, fate)
        };
        singletons.extend(probe.iter().filter(|row| row.returned).map(|row| OneWaySingleton {
            arrival: row.t4.at(self.selection.t4).map(Timestamp::renamed),
            ttl: row.reverse_ttl,
            tos: row.reverse_tos,
            ..left(row, self.returned(row))
        }));
        if singletons.len() == from {
            singletons.push(left(first, Fate::Lost));
        }
        number_copies(&mut singletons[from..]);
    }

    /// The fate of a packet that came from the responder.
    fn returned(&self, row: &RoundTrip) -> Fate {
        self.arrived(&row.t3, &row.t4)
    }

    /// The replies to one probe: one for each arrival that was replied to.
    fn replies(&self, probe: &[RoundTrip], replies: &mut Replies) {
        if let [row] = probe {
            if replied(row) {
                self.reply(&[row], replies);
            }
            return;
        }
        let mut rows: Vec<&RoundTrip> = probe.iter().filter(|row| replied(row)).collect();
        // Rows of one arrival stay in their order.
        rows.sort_by_key(|row| row.forward_copy);
        let of_one = rows.chunk_by(|a, b| a.forward_copy == b.forward_copy);
        of_one.for_each(|reply| self.reply(reply, replies));
    }

    /// The reply to the one arrival of which all `rows` are.
    fn reply(&self, rows: &[&RoundTrip], replies: &mut Replies) {
        let first = rows[0];
        let sequence = replies.number(first.sequence);
        let [departure, left_about] = left(&first.t3, self.selection.t3);
        let singletons = &mut replies.singletons;
        let from = singletons.len();
        singletons.extend(rows.iter().filter(|row| row.returned).map(|row| OneWaySingleton {
            sequence,
            departure,
            leaving: leaving(left_about, None),
            arrival: row.t4.at(self.selection.t4).map(Timestamp::renamed),
            ttl: row.reverse_ttl,
            tos: row.reverse_tos,
            ..bare(row.sequence, row.size, self.returned(row))
        }));
        if singletons.len() == from {
            singletons.push(OneWaySingleton {
                departure,
                leaving: leaving(left_about, None),
                ..bare(sequence, first.size, Fate::Lost)
            });
        }
        number_copies(&mut singletons[from..]);
        if self.responder_log == ResponderLog::None {
            replies.numbers.extend(first.reply_number);
        }
        replies.end(from);
    }
}
