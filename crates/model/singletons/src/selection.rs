//! Which of a moment's stamps is used.

use romer_record::document::{DelayDefinition, DelaySpan, MissingStamps, ProbeDirection, StampPlaces};
use romer_record::manifest::StampRequest;
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp, TimestampPoint};

use crate::arrivals::ArrivalsSeen;

/// The place whose stamp is used for each of the four moments; `None` is what the reflected packet tells, whose
/// place is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Left the sender.
    pub t1: Option<TimestampPoint>,
    /// Arrived at the responder.
    pub t2: Option<TimestampPoint>,
    /// Left the responder.
    pub t3: Option<TimestampPoint>,
    /// Came back to the sender.
    pub t4: Option<TimestampPoint>,
}

/// How many of the packets concerned have a stamp, by its place.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    concerned: u64,
    nic: u64,
    kernel: u64,
    user: u64,
    told: u64,
}

impl Tally {
    fn count<C: Clock>(&mut self, stamps: &Stamps<C>) {
        let one = |stamp: Option<Timestamp<C>>| u64::from(stamp.is_some());
        self.concerned += 1;
        self.nic += one(stamps.nic);
        self.kernel += one(stamps.kernel);
        self.user += one(stamps.user);
        self.told += one(stamps.told);
    }
    /// The place that was asked for; where that is the network card and it stamps less than half of the packets, `None`.
    fn requested_source(self, place: Option<TimestampPoint>) -> Option<TimestampPoint> {
        place
            .filter(|place| *place != TimestampPoint::Nic || (self.nic > 0 && self.nic * 2 >= self.concerned))
    }
    /// The nearest to the wire that at least half of the packets have.
    fn best(self) -> TimestampPoint {
        if self.kernel > 0 && self.kernel * 2 >= self.concerned {
            TimestampPoint::Kernel
        } else {
            TimestampPoint::User
        }
    }
    /// The program's, if it stamped at least half of the packets; `stamped` of these have its stamp.
    fn program(self, stamped: u64) -> Option<TimestampPoint> {
        (stamped > 0 && stamped * 2 >= self.concerned).then_some(TimestampPoint::Program)
    }
    /// The same for a far end with a log: what it told stands in where the log was not brought back for as many.
    fn best_far(self) -> Option<TimestampPoint> {
        let place = self.best();
        let have = if place == TimestampPoint::Kernel { self.kernel } else { self.user };
        (have * 2 >= self.concerned || have >= self.told).then_some(place)
    }
}

/// Whether the responder sent a reply to this arrival, so far as it is known: by its log's stamps, or by the number that it
/// gave the reply.
pub(crate) fn replied(row: &RoundTrip) -> bool {
    let logged = row.t3.user.is_some() || row.t3.kernel.is_some() || row.reply_number.is_some();
    row.way != ProbeDirection::Forward && (row.returned || logged)
}

/// Whether the probe of this row arrived at the responder, so far as it is known.
pub(crate) fn arrived_there(row: &RoundTrip) -> bool {
    row.way != ProbeDirection::Reverse && (row.returned || row.seen_by_responder)
}

impl Selection {
    /// Chooses for the whole stream, so that no two delays of it span different places. `Best` takes the kernel's
    /// stamp for a moment if at least half of the packets concerned that came have it, and else the user's. A place that
    /// was asked for by name is taken though stamps be missing; the network card's only where it has stamped at least
    /// half, and else the best of the others. Without a far log the responder's moments are those that it told; with
    /// one of which little was brought back, too. In-packet stamps are the program's for each moment of which at least half have
    /// one; for the others here the user's, and there none.
    pub fn choose(rows: &[RoundTrip], request: StampRequest, has_far_log: bool) -> Self {
        let mut tallies = Tallies::default();
        tallies.take(rows);
        tallies.choose(request, has_far_log)
    }

    /// Whether any moment has the network card's stamps.
    pub fn uses_cards(&self) -> bool {
        [self.t1, self.t2, self.t3, self.t4].contains(&Some(TimestampPoint::Nic))
    }

    /// This choice as the measurement document shows it, with what a delay spans. Moments that packets of `way` do not have are
    /// `None`.
    pub fn document(&self, missing: MissingStamps, way: ProbeDirection) -> StampPlaces {
        let one_way = |direction, departure, arrival| {
            (direction, DelaySpan::OneWay { departure, arrival, includes_responder: false })
        };
        let spans = [
            one_way(ProbeDirection::Forward, self.t1, self.t2),
            one_way(ProbeDirection::Reverse, self.t3, self.t4),
            (ProbeDirection::RoundTrip, DelaySpan::RoundTrip),
        ];
        let measured = spans.into_iter().filter(|(direction, _)| match way {
            ProbeDirection::RoundTrip => true,
            ProbeDirection::Both => *direction != ProbeDirection::RoundTrip,
            ProbeDirection::Forward | ProbeDirection::Reverse => *direction == way,
        });
        let definition =
            measured.map(|(direction, span)| DelayDefinition { direction, span, baseline_ns: None });
        StampPlaces {
            sender_departure: self.t1.filter(|_| way != ProbeDirection::Reverse),
            sender_arrival: self.t4.filter(|_| way != ProbeDirection::Forward),
            responder_arrival: self.t2.filter(|_| way != ProbeDirection::Reverse),
            responder_departure: self.t3.filter(|_| way != ProbeDirection::Forward),
            delay_definition: definition.collect(),
            round_trip_includes_responder: false,
            missing,
            nic: None,
        }
    }
}

/// Counts for t1 to t4, from which [`Selection::choose`] follows, of rows that may come in parts. A probe's departure is
/// counted once, however many rows it has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tallies {
    moments: [Tally; 4],
    /// The departures of those that came: t1 and t3.
    came: [Tally; 2],
    last: Option<u64>,
}

impl Tallies {
    /// Counts the next rows, in order of sequence and copy.
    pub fn take(&mut self, rows: &[RoundTrip]) {
        let [t1, t2, t3, t4] = &mut self.moments;
        let [t1_came, t3_came] = &mut self.came;
        for row in rows {
            if self.last != Some(row.sequence) && !row.not_sent && row.way != ProbeDirection::Reverse {
                t1.count(&row.t1);
                if arrived_there(row) {
                    t1_came.count(&row.t1);
                }
            }
            self.last = Some(row.sequence);
            if arrived_there(row) {
                t2.count(&row.t2);
            }
            if replied(row) {
                t3.count(&row.t3);
                if row.returned {
                    t3_came.count(&row.t3);
                }
            }
            if row.returned {
                t4.count(&row.t4);
            }
        }
    }

    /// The choice for what was counted, as [`Selection::choose`] has it.
    pub fn choose(&self, request: StampRequest, has_far_log: bool) -> Selection {
        let asked = match request {
            StampRequest::Best => None,
            StampRequest::Nic => Some(TimestampPoint::Nic),
            StampRequest::Kernel => Some(TimestampPoint::Kernel),
            StampRequest::User => Some(TimestampPoint::User),
            StampRequest::InPacket => Some(TimestampPoint::Program),
        };
        let [t1, t2, t3, t4] = self.moments;
        // What was lost may never have left, and has no delay: it does not choose for what came.
        let those = |came: Tally, all: Tally| if came.concerned > 0 { came } else { all };
        let (t1, t3) = (those(self.came[0], t1), those(self.came[1], t3));
        if request == StampRequest::InPacket {
            let near = |tally: Tally| tally.program(tally.kernel).or(Some(TimestampPoint::User));
            let far = |tally: Tally| tally.program(tally.told);
            return Selection { t1: near(t1), t2: far(t2), t3: far(t3), t4: near(t4) };
        }
        let near = |tally: Tally| Some(tally.requested_source(asked).unwrap_or_else(|| tally.best()));
        let far = |tally: Tally| {
            if has_far_log { tally.requested_source(asked).or_else(|| tally.best_far()) } else { None }
        };
        Selection { t1: near(t1), t2: far(t2), t3: far(t3), t4: near(t4) }
    }
}

/// Whether there is any stamp of a moment.
pub(crate) fn stamped<C: Clock>(stamps: &Stamps<C>) -> bool {
    [stamps.nic, stamps.kernel, stamps.user, stamps.told].iter().any(Option::is_some)
}

/// Whether the stamp of the chosen place did not come. Of a network card's stamps that says more than whether there is a
/// stamp at all: the kernel's stands in.
fn lacks<C: Clock>(stamps: &Stamps<C>, place: Option<TimestampPoint>) -> bool {
    if place == Some(TimestampPoint::Nic) { stamps.nic.is_none() } else { stamps.at(place).is_none() }
}

/// Counts stamps of the chosen places that did not come, though the packet did, of the rows of one probe.
pub(crate) fn count_missing(missing: &mut MissingStamps, probe: &[RoundTrip], selection: &Selection) {
    // Of a number of which nothing else is known, it is not known either that it was to have a stamp.
    let known = |row: &&RoundTrip| stamped(&row.t1) || arrived_there(row);
    // A program's stamp comes back within the packet.
    let brought = |row: &&RoundTrip| selection.t1 != Some(TimestampPoint::Program) || arrived_there(row);
    let departed = probe.first().filter(|row| !row.not_sent && row.way != ProbeDirection::Reverse);
    let departed = departed.filter(known).filter(brought);
    missing.sender_departure += u64::from(departed.is_some_and(|row| lacks(&row.t1, selection.t1)));
    let mut arrivals = ArrivalsSeen::new();
    for row in probe {
        if row.returned && lacks(&row.t4, selection.t4) {
            missing.sender_arrival += 1;
        }
        if !arrivals.is_new(row.forward_copy) {
            continue;
        }
        if row.far_stamps_rejected {
            continue;
        }
        if arrived_there(row) && lacks(&row.t2, selection.t2) {
            missing.responder_arrival += 1;
        }
        let left_there = replied(row) && !(row.way == ProbeDirection::Reverse && row.not_sent);
        if left_there && lacks(&row.t3, selection.t3) {
            missing.responder_departure += 1;
        }
    }
}
