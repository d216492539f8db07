//! Stamps of the far end that cannot be true: what is left out because of them, and what a reader learns of it.

use romer_record::document::ProbeDirection;
use romer_record::warning::{Contradiction, FalseUnit, MeasurementWarning};
use romer_singletons::{DelayOutliers, Rejected, RejectedStamps, StreamSingletons};

/// Faults of the responder's time stamps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResponderStampFaults {
    pub(super) rejected: RejectedStamps,
    pub(super) false_unit: Option<FalseUnit>,
    /// The time that they show in every reply, nanoseconds since 1970.
    pub(super) constant: Option<i64>,
}

/// That the order of the packets of one way is not known, where it would follow from stamps that are refused or missing.
pub(super) fn without_order(related: &StreamSingletons) -> Option<MeasurementWarning> {
    (!related.forward_is_ordered() || !related.reverse_is_ordered())
        .then(|| MeasurementWarning::OrderUnknown { forward_only: related.reverse_is_ordered() })
}

/// Packets of one way that took less time than those before and after.
pub(super) fn too_quick(related: &StreamSingletons) -> Vec<MeasurementWarning> {
    let found = related.too_quick.iter().zip([ProbeDirection::Forward, ProbeDirection::Reverse]);
    found.filter_map(|(found, direction)| too_quick_on(found, direction)).collect()
}

fn too_quick_on(found: &DelayOutliers, direction: ProbeDirection) -> Option<MeasurementWarning> {
    let first_sequence = found.first?;
    let DelayOutliers { packets, compared, most_ns: max_ns, .. } = *found;
    Some(if found.are_kept() {
        MeasurementWarning::PacketsTooQuick { direction, packets, compared, first_sequence, max_ns }
    } else {
        MeasurementWarning::EarlyTimeStampsDiscarded { direction, packets, compared, first_sequence, max_ns }
    })
}

/// 1900 in nanoseconds since 1970: the beginning of NTP's time.
const NTP_ZERO_NS: i64 = -2_208_988_800_000_000_000;

impl ResponderStampFaults {
    /// Whether the stamps are wrong in themselves, also those that are not rejected one by one.
    fn are_wrong(&self) -> bool {
        self.rejected.are_most() || self.false_unit.is_some() || self.constant.is_some()
    }

    /// Takes no one-way delay from stamps that are wrong, and for round trips the whole time that probes were away.
    pub(super) fn withdraw(&self, related: &mut StreamSingletons) {
        if self.are_wrong() {
            related.without_far_stamps();
        }
    }

    /// The warnings.
    pub(super) fn warnings(&self) -> Vec<MeasurementWarning> {
        let of_all = if let Some(at) = self.constant {
            let zero = at == 0 || at == NTP_ZERO_NS;
            Some(MeasurementWarning::ResponderTimeStampsConstant { zero })
        } else {
            self.false_unit.map(|unit| MeasurementWarning::ResponderTimeStampsWrongUnit { unit })
        };
        let of_each = if of_all.is_some() { [None, None] } else { [self.absent(), self.contradictory()] };
        [of_all, self.returned_early()].into_iter().chain(of_each).flatten().collect()
    }

    /// That replies came back before their probes left.
    fn returned_early(&self) -> Option<MeasurementWarning> {
        let Rejected { replies, first, most_ns, .. } = self.rejected.back;
        Some(MeasurementWarning::RepliesBeforeDeparture {
            replies,
            compared: self.rejected.compared.saturating_add(replies),
            first_sequence: first?,
            max_ns: most_ns,
        })
    }

    /// That single replies have no stamps, where others have.
    fn absent(&self) -> Option<MeasurementWarning> {
        let Rejected { replies, first, .. } = self.rejected.absent;
        if self.rejected.compared == 0 {
            return None;
        }
        Some(MeasurementWarning::ResponderTimeStampsAbsent { replies, first_sequence: first? })
    }

    /// That single replies have false stamps, or most of them.
    fn contradictory(&self) -> Option<MeasurementWarning> {
        let rejected = &self.rejected;
        if rejected.replies() == 0 {
            return None;
        }
        let rule = |rule: &Rejected, kind: fn(u64, i64) -> Contradiction| {
            (rule.replies > 0).then(|| kind(rule.replies, rule.most_ns))
        };
        let broken = [
            rule(&rejected.early, |replies, max_ns| Contradiction::ReplyBeforeRequest { replies, max_ns }),
            rule(&rejected.long, |replies, max_ns| Contradiction::StayAboveRoundTrip { replies, max_ns }),
            rule(&rejected.apart, |replies, max_ns| Contradiction::OneWayBelowNeighbours { replies, max_ns }),
        ];
        let first =
            [rejected.early.first, rejected.long.first, rejected.apart.first].into_iter().flatten().min();
        Some(MeasurementWarning::ResponderTimeStampsContradictory {
            all_discarded: self.are_wrong(),
            compared: rejected.compared,
            replies: rejected.replies(),
            first_sequence: first.unwrap_or(0),
            contradictions: broken.into_iter().flatten().collect(),
        })
    }
}
