//! From the rows of the packet log to the passages of each direction.

use romer_record::document::{ClockState, DelayKind, MissingStamps, Way};
use romer_record::manifest::ClockRelation;
use romer_record::{Fate, Passage, RoundTrip, Stamps};
use romer_units::{Clock, Duration, Place, Sender, Timestamp};

use crate::clocks::{self, elapsed, length};
use crate::selection::{self, Selection, arrived_there, replied};
use crate::skew::Correction;

/// What is there of the responder's own log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarLog {
    /// The responder keeps none (a foreign reflector).
    None,
    /// Part of it was brought back.
    Partial,
    /// All of it was brought back: a probe that it does not have did not arrive.
    Complete,
}

/// The passages of a stream, and what is known of its clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Related {
    /// From sender to responder, in order of sequence and copy: departures t1, arrivals t2.
    pub forward: Vec<Passage>,
    /// From responder to sender: departures t3, arrivals t4. The responder sends replies, not probes, so the
    /// `sequence` here is the reply's number in the order of its departures: that of the probe as long as the
    /// way there neither reorders (the replies then share the probes' numbers out in their own order) nor
    /// duplicates (each further reply moves the numbers after it up by one). What happened on the way there is
    /// so not counted on the way back again. The order is by the responder's stamps, so that a step of its clock
    /// backwards shows as reordering.
    pub reverse: Vec<Passage>,
    /// There and back: departures t1, arrivals t4, delay (t4-t1)-(t3-t2), seed 004 equation (4).
    pub round_trip: Vec<Passage>,
    /// What the delays of `forward` and `reverse` are; those of `round_trip` are always absolute.
    pub delay_kind: DelayKind,
    /// The two clocks.
    pub clock: ClockState,
    /// What was taken out of the delays of `forward` and of `reverse` for the clocks; nothing until
    /// [`relate_clocks`](crate::skew::relate_clocks) finds something.
    pub corrections: [Correction; 2],
    /// Stamps of the selected places that did not come, though the packet did.
    pub missing: MissingStamps,
    /// Probes that the sending host refused to send.
    pub not_sent: u64,
    /// One-way probes that the responder's host refused to send.
    pub reverse_not_sent: u64,
    /// Probes that arrived at the responder but were not replied to, where its log says so.
    pub not_replied: u64,
    /// `reverse` holds every reply that was sent. False where a reply may have been lost of which nothing is
    /// known: then it cannot be said how many were sent or lost.
    pub reverse_complete: bool,
}

/// Relates the stamps of `rows`, which are in order of sequence and copy as
/// [`assemble`](romer_record::assemble) gives them, on the two clocks.
///
/// Copies are numbered by arrival. Rows that share their `forward_copy` are duplicates made on the way back, and
/// are one arrival in `forward`. A passage without one of its stamps has no delay, but its fate is known: a
/// round trip that took longer than `waiting_time` on the sender's clock is [`Fate::Late`], and so is a one-way
/// passage, where the clocks allow to say it.
///
/// A probe that did not return is lost in `round_trip`. Where it was lost needs the far log: without it, or where
/// a partial one does not have the probe, the forward fate is [`Fate::Unknown`], and nothing is said in
/// `reverse`.
///
/// One-way probes have passages in their own direction only, under their own numbers, and none in `round_trip`.
pub fn relate(
    rows: &[RoundTrip],
    selection: &Selection,
    relation: ClockRelation,
    waiting_time: Duration,
    far_log: FarLog,
) -> Related {
    let stream = Stream { selection, waiting_time, far_log, relation };
    let all = || rows.chunk_by(|a, b| (a.way, a.sequence) == (b.way, b.sequence));
    let probes = || all().filter(|probe| probe[0].way != Way::Reverse);
    let theirs = || all().filter(|probe| probe[0].way == Way::Reverse);
    let sent = || probes().filter(|probe| !probe[0].not_sent);
    let there_and_back = || sent().filter(|probe| probe[0].way == Way::RoundTrip);
    let mut forward: Vec<Passage> = sent().flat_map(|probe| stream.forward(probe)).collect();
    let mut reverse = stream.reverse(there_and_back());
    reverse.extend(theirs().filter(|probe| !probe[0].not_sent).flat_map(|probe| stream.their_own(probe)));
    let round_trip: Vec<Passage> = there_and_back().flat_map(|probe| stream.round_trip(probe)).collect();
    let one_way = rows.first().is_some_and(|row| row.way.is_one_way());
    for direction in [&mut forward, &mut reverse] {
        clocks::fill_delays(direction, relation);
    }
    let returned = |probe: &[RoundTrip]| probe.iter().any(|row| row.returned);
    Related {
        delay_kind: clocks::delay_kind(relation),
        corrections: Default::default(),
        clock: clocks::state(&forward, &reverse, relation),
        missing: selection::missing(rows, selection),
        not_sent: probes().map(|probe| u64::from(probe[0].not_sent)).sum(),
        reverse_not_sent: theirs().map(|probe| u64::from(probe[0].not_sent)).sum(),
        not_replied: there_and_back().map(not_replied).sum(),
        reverse_complete: far_log == FarLog::Complete || (!one_way && sent().all(returned)),
        forward,
        reverse,
        round_trip,
    }
}

fn not_replied(probe: &[RoundTrip]) -> u64 {
    probe.iter().map(|row| u64::from(arrived_there(row) && !replied(row))).sum()
}

/// A passage of which nothing is known but the packet and its fate.
fn bare(row: &RoundTrip, fate: Fate) -> Passage {
    Passage {
        sequence: row.sequence,
        copy: 0,
        size: row.size,
        fate,
        departure: None,
        arrival: None,
        delay: None,
        ttl: None,
        tos: None,
        departure_error: None,
    }
}

/// Numbers the copies of one packet by arrival; those whose stamp is missing come last, in the order in which
/// they became known.
fn number_copies(passages: &mut [Passage]) {
    passages.sort_by_key(|passage| (passage.arrival.is_none(), passage.arrival));
    for (passage, copy) in passages.iter_mut().zip(0..) {
        passage.copy = copy;
    }
}

/// One reply of the responder, with its copies that came back.
struct Reply {
    probe: u64,
    departed: Option<i64>,
    copies: Vec<Passage>,
}

/// A moment's stamps, with the place that was selected.
#[derive(Clone, Copy)]
struct Moment<'a, C: Clock> {
    stamps: &'a Stamps<C>,
    place: Option<Place>,
}

impl<C: Clock> Moment<'_, C> {
    fn selected(&self) -> Option<Timestamp<C>> {
        self.stamps.at(self.place)
    }
}

struct Stream<'a> {
    selection: &'a Selection,
    waiting_time: Duration,
    far_log: FarLog,
    relation: ClockRelation,
}

impl Stream<'_> {
    /// The fate of a packet that arrived, by the selected stamps of its departure and arrival or, where one of them
    /// is missing, by the user's. That it came too late can be said on one clock only.
    fn arrived<D: Clock, A: Clock>(&self, departure: Moment<'_, D>, arrival: Moment<'_, A>) -> Fate {
        let selected = departure.selected().zip(arrival.selected());
        let stamps = selected.or(departure.stamps.user.zip(arrival.stamps.user));
        let on_one_clock = stamps.filter(|_| self.relation == ClockRelation::Shared);
        let late = on_one_clock.is_some_and(|(departure, arrival)| {
            clocks::longer(departure.renamed(), arrival.renamed(), self.waiting_time)
        });
        if late { Fate::Late } else { Fate::Arrived }
    }

    fn forward(&self, probe: &[RoundTrip]) -> Vec<Passage> {
        let mut seen = Vec::new();
        let mut passages = Vec::new();
        for row in probe.iter().filter(|row| arrived_there(row)) {
            if seen.contains(&row.forward_copy) {
                continue;
            }
            seen.push(row.forward_copy);
            passages.push(Passage {
                arrival: row.t2.at(self.selection.t2).map(Timestamp::renamed),
                ttl: row.forward_ttl,
                tos: row.forward_tos,
                ..self.departed(
                    row,
                    self.arrived(
                        Moment { stamps: &row.t1, place: self.selection.t1 },
                        Moment { stamps: &row.t2, place: self.selection.t2 },
                    ),
                )
            });
        }
        if passages.is_empty() {
            let fate = if self.far_log == FarLog::Complete { Fate::Lost } else { Fate::Unknown };
            passages.push(self.departed(&probe[0], fate));
        }
        number_copies(&mut passages);
        passages
    }

    fn round_trip(&self, probe: &[RoundTrip]) -> Vec<Passage> {
        let mut passages: Vec<Passage> = probe
            .iter()
            .filter(|row| row.returned)
            .map(|row| Passage {
                arrival: row.t4.at(self.selection.t4).map(Timestamp::renamed),
                delay: self.round_trip_delay(row),
                ttl: row.reverse_ttl,
                tos: row.reverse_tos,
                ..self.departed(row, if self.is_late(row) { Fate::Late } else { Fate::Arrived })
            })
            .collect();
        if passages.is_empty() {
            passages.push(self.departed(&probe[0], Fate::Lost));
        }
        number_copies(&mut passages);
        passages
    }

    /// The passage of a probe from its departure on.
    fn departed(&self, row: &RoundTrip, fate: Fate) -> Passage {
        let departure = row.t1.at(self.selection.t1);
        let after_user = departure.zip(row.t1.user).map(|(best, user)| elapsed(user, best));
        let error = after_user.zip(row.wake_error_ns).map(|(after, wake)| after + i128::from(wake));
        Passage {
            departure: departure.map(Timestamp::renamed),
            departure_error: error.and_then(length),
            ..bare(row, fate)
        }
    }

    /// Seed 004 equation (4): the time away, less the time that the responder took.
    fn round_trip_delay(&self, row: &RoundTrip) -> Option<Duration> {
        let away = elapsed(row.t1.at(self.selection.t1)?, row.t4.at(self.selection.t4)?);
        let there = elapsed(row.t2.at(self.selection.t2)?, row.t3.at(self.selection.t3)?);
        length(away - there)
    }

    /// Whether the reflection came back after the waiting time. That is known by the user stamps also where the
    /// selected ones are missing.
    fn is_late(&self, row: &RoundTrip) -> bool {
        let selected = row.t1.at(self.selection.t1).zip(row.t4.at(self.selection.t4));
        let stamps: Option<(Timestamp<Sender>, _)> = selected.or(row.t1.user.zip(row.t4.user));
        stamps.is_some_and(|(t1, t4)| elapsed(t1, t4) > i128::from(self.waiting_time.as_nanos()))
    }

    fn reverse<'a>(&self, probes: impl Iterator<Item = &'a [RoundTrip]>) -> Vec<Passage> {
        let mut replies: Vec<Reply> = probes.flat_map(|probe| self.replies(probe)).collect();
        let numbers = reply_numbers(&replies);
        carry_departures(&mut replies);
        replies.sort_by_key(|reply| reply.departed);
        let mut passages = Vec::with_capacity(replies.len());
        for (reply, number) in replies.into_iter().zip(numbers) {
            passages.extend(reply.copies.into_iter().map(|copy| Passage { sequence: number, ..copy }));
        }
        passages
    }

    /// The passages of a probe that the responder sent by itself.
    fn their_own(&self, probe: &[RoundTrip]) -> Vec<Passage> {
        let first = &probe[0];
        let departure = first.t3.at(self.selection.t3);
        let after_user = departure.zip(first.t3.user).map(|(best, user)| elapsed(user, best));
        let error = after_user.zip(first.wake_error_ns).map(|(after, wake)| after + i128::from(wake));
        let left = |row, fate| Passage {
            departure: departure.map(Timestamp::renamed),
            departure_error: error.and_then(length),
            ..bare(row, fate)
        };
        let mut passages: Vec<Passage> = probe
            .iter()
            .filter(|row| row.returned)
            .map(|row| Passage {
                arrival: row.t4.at(self.selection.t4).map(Timestamp::renamed),
                ttl: row.reverse_ttl,
                tos: row.reverse_tos,
                ..left(
                    row,
                    self.arrived(
                        Moment { stamps: &row.t3, place: self.selection.t3 },
                        Moment { stamps: &row.t4, place: self.selection.t4 },
                    ),
                )
            })
            .collect();
        if passages.is_empty() {
            passages.push(left(first, Fate::Lost));
        }
        number_copies(&mut passages);
        passages
    }

    /// The replies to one probe: one for each arrival that was replied to.
    fn replies(&self, probe: &[RoundTrip]) -> Vec<Reply> {
        let mut arrivals: Vec<u32> =
            probe.iter().filter(|row| replied(row)).map(|row| row.forward_copy).collect();
        arrivals.sort_unstable();
        arrivals.dedup();
        arrivals.into_iter().filter_map(|arrival| self.reply(probe, arrival)).collect()
    }

    fn reply(&self, probe: &[RoundTrip], arrival: u32) -> Option<Reply> {
        let rows = || probe.iter().filter(|row| row.forward_copy == arrival && replied(row));
        let first = rows().next()?;
        let departure = first.t3.at(self.selection.t3).map(Timestamp::renamed);
        let mut copies: Vec<Passage> = rows()
            .filter(|row| row.returned)
            .map(|row| Passage {
                departure,
                arrival: row.t4.at(self.selection.t4).map(Timestamp::renamed),
                ttl: row.reverse_ttl,
                tos: row.reverse_tos,
                ..bare(
                    row,
                    self.arrived(
                        Moment { stamps: &row.t3, place: self.selection.t3 },
                        Moment { stamps: &row.t4, place: self.selection.t4 },
                    ),
                )
            })
            .collect();
        if copies.is_empty() {
            copies.push(Passage { departure, ..bare(first, Fate::Lost) });
        }
        number_copies(&mut copies);
        Some(Reply { probe: first.sequence, departed: self.departed_there(first), copies })
    }

    /// When the reply left, for the order of replies: the selected stamp or else any of that moment.
    fn departed_there(&self, row: &RoundTrip) -> Option<i64> {
        let any = row.t3.at(self.selection.t3).or(row.t3.kernel).or(row.t3.user).or(row.t3.told);
        any.map(nanos)
    }
}

fn nanos<C: Clock>(stamp: Timestamp<C>) -> i64 {
    stamp.as_nanos()
}

/// The numbers of the replies, to be given out in order of departure: those of the probes, so that the gaps of
/// what never arrived stay, each further reply to the same probe moving the rest up by one.
fn reply_numbers(replies: &[Reply]) -> Vec<u64> {
    let mut extra = 0;
    let mut last = None;
    let number = |reply: &Reply| {
        extra += u64::from(last == Some(reply.probe));
        last = Some(reply.probe);
        reply.probe.saturating_add(extra)
    };
    replies.iter().map(number).collect()
}

/// A reply whose departure is not known keeps its place behind the one before it.
fn carry_departures(replies: &mut [Reply]) {
    let mut before = None;
    for reply in replies {
        reply.departed = reply.departed.or(before);
        before = reply.departed;
    }
}
