//! What takes time of a long run, in parts that do not depend on each other.

use romer_metrics::findings::{Scan, in_order, looks};
use romer_metrics::{DirectionContext, KnownLost, Part, PartResult, losses_by_cause};
use romer_record::OneWaySingleton;
use romer_record::document::{
    DelayKind, DirectionResults, Histogram, LocationError, ProbeDirection, Summary,
};
use romer_record::finding::Finding;
use romer_record::manifest::Stream;
use romer_singletons::causes::Causes;
use romer_singletons::{LocationDifferences, LocationShapes, StreamSingletons, put_together};
use romer_units::{Dscp, Ecn};

use super::ecn_sent;
use super::workers::{Task, Workers};

/// The figures of a stream.
pub(super) struct StreamFigures {
    pub(super) forward: DirectionResults,
    pub(super) reverse: DirectionResults,
    pub(super) round_trip: DirectionResults,
    pub(super) findings: Vec<Finding>,
    /// Of the longest way that was not looked through to its end: its packets with a delay, and until when it was.
    pub(super) only_until: Option<(usize, i64)>,
    pub(super) location_error: LocationError,
    pub(super) location_shapes: LocationShapes,
}

/// A part of them.
enum Done {
    /// Of the way at this place.
    Piece(usize, PartResult),
    /// Of the moment at this place.
    Location(usize, Box<(Summary, Histogram)>),
    /// In the way at this place.
    Found(usize, Vec<Finding>),
}

impl StreamFigures {
    pub(super) fn compute(
        stream: &Stream,
        related: &StreamSingletons,
        causes: &Causes,
        differences: LocationDifferences,
    ) -> Self {
        let ways: [(&[OneWaySingleton], Option<DirectionContext>); 3] = [
            (&related.forward, forward(stream, related)),
            (&related.reverse, reverse(stream, related)),
            (&related.round_trip, round_trip(stream, related)),
        ];
        let rate_error = related.clock.skew_interval_ppm.map_or(0.0, |[low, high]| (high - low) / 2e6);
        let looks: Vec<Scan<'_>> =
            looks(&related.forward, &related.reverse, &related.round_trip, related.delay_kind)
                .into_iter()
                .map(|look| look.of_rate_error(rate_error))
                .collect();
        let only_until = looks.iter().filter_map(|look| look.only_until()).max();
        let mut directions: [DirectionResults; 3] = Default::default();
        let mut moments: [(Summary, Histogram); 4] = Default::default();
        let mut found = vec![Vec::new(); looks.len()];
        let workers = Workers::for_singletons(related.forward.len().max(related.reverse.len()));
        for done in workers.all(tasks(differences, looks, ways)) {
            match done {
                Done::Piece(way, piece) => piece.put(&mut directions[way]),
                Done::Location(moment, one) => moments[moment] = *one,
                Done::Found(way, findings) => found[way] = findings,
            }
        }
        for (direction, (singletons, causes)) in directions.iter_mut().zip([
            (&related.forward, &causes.forward),
            (&related.reverse, &causes.reverse),
            (&related.round_trip, &causes.round_trip),
        ]) {
            direction.loss.causes = losses_by_cause(singletons, causes);
        }
        let [forward, reverse, round_trip] = directions;
        let (location_error, location_shapes) = put_together(moments);
        Self {
            forward,
            reverse,
            round_trip,
            findings: in_order(found),
            only_until,
            location_error,
            location_shapes,
        }
    }
}

/// All parts: first what gives room back, then what takes long.
fn tasks<'a>(
    differences: LocationDifferences,
    looks: Vec<Scan<'a>>,
    ways: [(&'a [OneWaySingleton], Option<DirectionContext>); 3],
) -> Vec<Task<'a, Done>> {
    let mut tasks: Vec<Task<'a, Done>> = Vec::new();
    for (moment, differences) in differences.moments().into_iter().enumerate() {
        tasks.push(Box::new(move || Done::Location(moment, Box::new(differences.described()))));
    }
    for (way, look) in looks.into_iter().enumerate() {
        tasks.push(Box::new(move || Done::Found(way, look.findings())));
    }
    for part in Part::ALL {
        for (way, (singletons, context)) in ways.into_iter().enumerate() {
            let Some(context) = context else { continue };
            tasks.push(Box::new(move || Done::Piece(way, part.compute(singletons, &context))));
        }
    }
    tasks
}

fn forward(stream: &Stream, related: &StreamSingletons) -> Option<DirectionContext> {
    (stream.traffic.direction != ProbeDirection::Reverse).then(|| DirectionContext {
        delay_kind: related.delay_kind,
        complete: true,
        lost: related.numbers.map(|told| known_lost(told.there, told.all_there)),
        ordered: related.forward_is_ordered(),
        copies_attributed: related.copies_attributed,
        not_sent: Some(related.not_sent),
        dscp_sent: stream.traffic.dscp.and_then(Dscp::new),
        ecn_sent: ecn_sent(stream),
    })
}

const fn known_lost(lost: u64, all: bool) -> KnownLost {
    if all { KnownLost::Exactly(lost) } else { KnownLost::AtLeast(lost) }
}

fn reverse(stream: &Stream, related: &StreamSingletons) -> Option<DirectionContext> {
    if stream.traffic.direction == ProbeDirection::Forward {
        return None;
    }
    // Its own probes the far end marks as asked.
    let own = stream.traffic.direction.has_reverse();
    // A romer answers without ECN bits, and by the code point of what it answers; what others do is their secret.
    let marked = || stream.responder_log.then(|| arrived_by(&related.forward)).flatten();
    Some(DirectionContext {
        delay_kind: related.delay_kind,
        complete: related.reverse_complete,
        lost: related.numbers.map(|told| known_lost(told.back, told.all_back)),
        ordered: related.reverse_is_ordered(),
        copies_attributed: related.copies_attributed,
        not_sent: if own { Some(related.reverse_not_sent) } else { replies_not_sent(stream, related) },
        dscp_sent: if own { stream.traffic.dscp.and_then(Dscp::new) } else { marked() },
        ecn_sent: if own { ecn_sent(stream) } else { answered(stream) },
    })
}

/// The ECN bits of a reply, where they are known.
fn answered(stream: &Stream) -> Option<Ecn> {
    ecn_sent(stream).filter(|_| stream.responder_log).map(|_| Ecn::NotEct)
}

/// Replies that the far end did not send: its log tells.
fn replies_not_sent(stream: &Stream, related: &StreamSingletons) -> Option<u64> {
    let is_known = stream.responder_log && (stream.responder_log_complete || related.not_replied > 0);
    is_known.then_some(related.not_replied)
}

/// The code point by which all of these arrived; `None` where there were several, or it is not known of any.
fn arrived_by(singletons: &[OneWaySingleton]) -> Option<Dscp> {
    let arrived = singletons.iter().filter(|singleton| singleton.arrival.is_some());
    let mut points = arrived.filter_map(|singleton| Some(singleton.tos? >> 2));
    let first = points.next()?;
    points.all(|point| point == first).then(|| Dscp::new(first)).flatten()
}

fn round_trip(stream: &Stream, related: &StreamSingletons) -> Option<DirectionContext> {
    (!stream.traffic.direction.is_one_way()).then(|| DirectionContext {
        delay_kind: DelayKind::Absolute,
        complete: true,
        lost: None,
        ordered: true,
        copies_attributed: true,
        not_sent: Some(related.not_sent),
        dscp_sent: stream.traffic.dscp.and_then(Dscp::new),
        // What comes back are replies, and those take no part in it.
        ecn_sent: answered(stream),
    })
}
