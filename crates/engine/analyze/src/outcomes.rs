//! What the analysis finds of single packets, for the packet log.

use std::collections::BTreeMap;

use romer_clock::skew::rounded;
use romer_record::document::{LossCause, ProbeDirection};
use romer_record::manifest::Stream;
use romer_record::{OneWaySingleton, RoundTrip};
use romer_store::{Outcome, Outcomes};
use romer_units::{Duration, Timestamp};

use crate::evaluate::{Evaluated, left};
use crate::export::{Fates, singletons_of};

/// The outcomes of the packets of a run, stream by stream.
#[derive(Debug)]
pub struct RunOutcomes<'a> {
    /// The streams of its manifest.
    pub streams: &'a [Stream],
    /// Their evaluation, in the same order.
    pub evaluated: &'a [Evaluated],
}

impl Outcomes for RunOutcomes<'_> {
    fn outcomes<'a>(&'a self, stream: u16, rows: &'a [RoundTrip]) -> Box<dyn Iterator<Item = Outcome> + 'a> {
        let place = usize::from(stream);
        match (self.streams.get(place), self.evaluated.get(place)) {
            (Some(stream), Some(evaluated)) => Box::new(of_rows(stream, evaluated, rows)),
            _ => Box::new(std::iter::empty()),
        }
    }
}

/// The outcomes of the `rows` of a stream, in their order. The rows are those of which `evaluated` was computed: those of a
/// direction are in order of sequence.
pub fn of_rows<'a>(
    stream: &'a Stream,
    evaluated: &'a Evaluated,
    rows: &'a [RoundTrip],
) -> impl Iterator<Item = Outcome> + 'a {
    let rows = left(stream, rows);
    let mut directions: Vec<DirectionOutcomes<'a>> = stream
        .traffic
        .direction
        .parts()
        .iter()
        .map(|way| DirectionOutcomes::new(stream, evaluated, *way))
        .collect();
    (0..rows.len()).map(move |place| {
        let row = row_at(&rows, place);
        let own = directions.iter_mut().find(|one| one.way == row.way);
        own.map_or_else(Outcome::default, |own| own.outcome(&row))
    })
}

fn row_at(rows: &[RoundTrip], place: usize) -> RoundTrip {
    rows.get(place).copied().unwrap_or_default()
}

/// The outcomes of one direction, of whose singletons those before `at` are of earlier rows.
struct DirectionOutcomes<'a> {
    way: ProbeDirection,
    fates: Fates<'a>,
    singletons: &'a [OneWaySingleton],
    at: usize,
    causes: &'a BTreeMap<u64, LossCause>,
    evaluated: &'a Evaluated,
    /// Bound of the error by the clocks.
    clock_error_ns: Option<i64>,
}

impl<'a> DirectionOutcomes<'a> {
    fn new(stream: &Stream, evaluated: &'a Evaluated, way: ProbeDirection) -> Self {
        let causes = &evaluated.causes;
        let error_ns = evaluated.measurement.clock.delay_error_ns;
        Self {
            way,
            fates: Fates::new(stream, evaluated, way),
            singletons: singletons_of(evaluated, way),
            at: 0,
            causes: match way {
                ProbeDirection::Forward => &causes.forward,
                ProbeDirection::Reverse => &causes.reverse,
                ProbeDirection::RoundTrip | ProbeDirection::Both => &causes.round_trip,
            },
            evaluated,
            clock_error_ns: if way.is_one_way() { error_ns.map(|ns| rounded(ns.ceil())) } else { Some(0) },
        }
    }

    fn outcome(&mut self, row: &RoundTrip) -> Outcome {
        if row.not_sent {
            return Outcome { fate: Some("not-sent"), ..Outcome::default() };
        }
        let delay_ns = self.singleton(row).and_then(|one| one.delay).map(Duration::as_nanos);
        let has_arrived = self.has_arrived(row);
        let cause = self.causes.get(&row.sequence).filter(|_| !has_arrived && row.copy == 0);
        Outcome {
            fate: Some(self.fates.word(row)),
            cause: cause.filter(|cause| **cause != LossCause::Unknown).map(|cause| cause.name()),
            delay_ns,
            delay_error_ns: delay_ns.and(self.clock_error_ns).map(|error| error + self.stamp_error_ns(row)),
        }
    }

    fn has_arrived(&self, row: &RoundTrip) -> bool {
        if self.way == ProbeDirection::Forward { row.seen_by_responder } else { row.returned }
    }

    /// Bound of the error by the conversion of the network cards' time stamps, of which a delay has two for each way.
    fn stamp_error_ns(&self, row: &RoundTrip) -> i64 {
        let stamps = if self.way.is_one_way() { 2 } else { 4 };
        let of_one = row.nic_error_ns.filter(|_| self.evaluated.selection.uses_cards());
        of_one.map_or(0, |error| stamps * i64::from(error))
    }

    /// The singleton of a row that arrived. Of several copies the arrival tells them apart.
    fn singleton(&mut self, row: &RoundTrip) -> Option<&'a OneWaySingleton> {
        let all = self.singletons;
        while all.get(self.at).is_some_and(|one| one.sequence < row.sequence) {
            self.at += 1;
        }
        if !self.has_arrived(row) {
            return None;
        }
        let mut copies = all.iter().skip(self.at).take_while(|one| one.sequence == row.sequence);
        let first = copies.next()?;
        let Some(second) = copies.next() else { return Some(first) };
        let selection = &self.evaluated.selection;
        let arrival = match self.way {
            ProbeDirection::Forward => row.t2.at(selection.t2).map(Timestamp::as_nanos),
            _ => row.t4.at(selection.t4).map(Timestamp::as_nanos),
        }?;
        let is_it = |one: &&OneWaySingleton| one.arrival.map(Timestamp::as_nanos) == Some(arrival);
        [first, second].into_iter().chain(copies).find(is_it)
    }
}

#[cfg(test)]
mod tests {
    use romer_record::Stamps;
    use romer_record::manifest::ClockRelation;
    use romer_units::Clock;

    use super::*;
    use crate::evaluate::evaluate;

    fn row(sequence: u64, copy: u32, took_ns: Option<i64>) -> RoundTrip {
        let left = 1_700_000_000_000_000_000 + i64::try_from(sequence).unwrap() * 20_000_000;
        fn stamped<C: Clock>(nanos: i64) -> Stamps<C> {
            let at = Some(Timestamp::from_nanos(nanos));
            Stamps { kernel: at, user: at, ..Stamps::default() }
        }
        RoundTrip {
            way: ProbeDirection::Forward,
            sequence,
            copy,
            forward_copy: copy,
            size: 44,
            t1: stamped(left),
            t2: took_ns.map_or_else(Stamps::default, |took| stamped(left + took)),
            seen_by_responder: took_ns.is_some(),
            ..RoundTrip::default()
        }
    }

    /// Each row has the fate and the delay of its packet, with an error of 0 on one clock; duplicates have their own delay, and what
    /// was lost or not sent has none.
    #[test]
    fn rows_have_fates_and_delays() {
        let mut stream = Stream {
            clock_relation: ClockRelation::Shared,
            responder_log: true,
            responder_log_complete: true,
            ..romer_testing::stream()
        };
        stream.traffic.direction = ProbeDirection::Forward;
        stream.traffic.waiting_time_ns = 2_000_000_000;
        let not_sent = RoundTrip { not_sent: true, ..row(4, 0, None) };
        let rows = [
            row(0, 0, Some(5_000_000)),
            row(1, 0, None),
            row(2, 0, Some(6_000_000)),
            row(2, 1, Some(9_000_000)),
            row(3, 0, Some(7_000_000)),
            not_sent,
        ];
        let evaluated = evaluate(&stream, &rows, false);
        let found: Vec<Outcome> = of_rows(&stream, &evaluated, &rows).collect();
        let outcome = |fate, delay_ns: Option<i64>| Outcome {
            fate: Some(fate),
            cause: None,
            delay_ns,
            delay_error_ns: delay_ns.map(|_| 0),
        };
        let expected = [
            outcome("arrived", Some(5_000_000)),
            outcome("lost-forward", None),
            outcome("arrived", Some(6_000_000)),
            outcome("duplicate", Some(9_000_000)),
            outcome("arrived", Some(7_000_000)),
            outcome("not-sent", None),
        ];
        assert_eq!(found, expected);
    }
}
