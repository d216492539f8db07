//! All of a direction's statistics, in the document that other programs read.

use romer_record::document::{DelayKind, Direction, DscpSeen, Duplicates, EcnSeen, Histograms, Packets};
use romer_record::{Fate, Passage};
use romer_units::{Dscp, Ecn};

use crate::reordering::{self, reordering};
use crate::sample::{
    delays, departure_errors, duplicate_spacings, in_order_of_arrival, inter_arrivals, inter_departures,
    ipdv, pdv, received, sent,
};
use crate::{dscp_received, ecn_received, histogram, jitter, loss, loss_pattern, summary, ttl};

/// What the passages themselves do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectionContext {
    /// What the delays are.
    pub delay_kind: DelayKind,
    /// The passages hold every packet that was sent in this direction. Where packets may have been sent and lost
    /// of which nothing is known, it cannot be said how many were sent, or lost.
    pub complete: bool,
    /// Packets that the sending host refused to send; `None` where it does not say.
    pub not_sent: Option<u64>,
    /// The code point with which the packets were sent; `None` where it is not known.
    pub dscp_sent: Option<Dscp>,
    /// The ECN bits with which the packets were sent; `None` where they are not known.
    pub ecn_sent: Option<Ecn>,
}

/// The statistics of one direction. `passages` are in order of sequence and copy.
pub fn direction(passages: &[Passage], context: &DirectionContext) -> Direction {
    let pattern = loss_pattern(passages).filter(|_| context.complete);
    let reordered = reordering(passages);
    let delays = delays(passages);
    let inter_departures = inter_departures(passages);
    let inter_arrivals = inter_arrivals(passages);
    let errors = departure_errors(passages);
    Direction {
        packets: Packets {
            lost: pattern.as_ref().map(|pattern| pattern.lost as u64),
            reordered: Some(reordered.len() as u64),
            ..packets(passages, context)
        },
        delay_kind: (!delays.is_empty()).then_some(context.delay_kind),
        delay_ns: summary(&delays),
        ipdv_ns: summary(&ipdv(passages)),
        pdv_ns: summary(&pdv(passages)),
        jitter_ns: jitter::document(passages, !reordered.is_empty()),
        inter_departure_ns: summary(&inter_departures),
        inter_arrival_ns: summary(&inter_arrivals),
        departure_error_ns: (!errors.is_empty()).then(|| summary(&errors)),
        histograms: Histograms {
            delay: histogram(&delays),
            jitter: histogram(&jitter::delay_difference(passages)),
            inter_departure: histogram(&inter_departures),
            inter_arrival: histogram(&inter_arrivals),
        },
        loss: loss::document(pattern.as_ref()),
        reordering: reordering::document(&reordered, in_order_of_arrival(passages).len()),
        duplicates: Duplicates { spacing_ns: summary(&duplicate_spacings(passages)) },
        ttl: ttl(passages),
        dscp: DscpSeen { sent: context.dscp_sent.map(Dscp::value), received: dscp_received(passages) },
        ecn: EcnSeen { sent: context.ecn_sent.map(|ecn| ecn.to_string()), received: ecn_received(passages) },
    }
}

/// The counts that need no pattern. Lateness is a matter of the whole delay, and is not known where only its
/// variable part is. Damage is not seen: the checksum of UDP drops it before us.
fn packets(passages: &[Passage], context: &DirectionContext) -> Packets {
    let late = sent(passages).filter(|passage| passage.fate == Fate::Late).count();
    let copies = passages.iter().filter(|passage| passage.copy > 0);
    let duplicated = copies.filter(|copy| matches!(copy.fate, Fate::Arrived | Fate::Late)).count();
    let arrived = received(passages).count() as u64;
    let is_known = arrived > 0 || sent(passages).all(|passage| passage.fate != Fate::Unknown);
    Packets {
        sent: context.complete.then(|| sent(passages).count() as u64),
        received: is_known.then_some(arrived),
        lost: None,
        duplicated: Some(duplicated as u64),
        reordered: None,
        astray: None,
        late: (context.delay_kind == DelayKind::Absolute).then_some(late as u64),
        corrupted: None,
        not_sent: context.not_sent,
    }
}
