//! Stamps of the far end that cannot be true: what is left out because of them, and what a reader learns of it.

use romer_timebase::{FalseUnit, Rejected, RejectedStamps, Related};
use romer_units::counted_as;

use crate::occurrences::rounded;

/// What speaks against stamps of the far end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FarStamps {
    pub(super) rejected: RejectedStamps,
    pub(super) false_unit: Option<FalseUnit>,
}

impl FarStamps {
    /// Whether the stamps are wrong in themselves, also those that are not rejected one by one.
    fn are_wrong(&self) -> bool {
        self.rejected.are_most() || self.false_unit.is_some()
    }

    /// Takes no one-way delay from stamps that are wrong, and for round trips the whole time that probes were away.
    pub(super) fn withdraw(&self, related: &mut Related) {
        if self.are_wrong() {
            related.without_far_stamps();
        }
    }

    /// The warnings.
    pub(super) fn words(&self) -> Vec<String> {
        let unit = match self.false_unit {
            Some(FalseUnit::Microseconds) => Some(("microseconds", "0.24 ms")),
            Some(FalseUnit::Nanoseconds) => {
                Some(("nanoseconds (PTP time stamps without the Z bit of the error estimate)", "0.24 s"))
            }
            None => None,
        };
        if let Some((unit, most)) = unit {
            return vec![format!(
                "the far end's stamps are wrong: the part of a second in them never exceeds {most}, as where {unit} are written in \
                 place of a fraction of 2^-32 s; no one-way delays are given, and round trips are t4-t1, with the far end's own time"
            )];
        }
        let rejected = &self.rejected;
        if rejected.replies() == 0 {
            return Vec::new();
        }
        let rules = [
            (&rejected.early, "left before the request came (t3 before t2)"),
            (&rejected.long, "stayed there for longer than the probe was away"),
            (&rejected.apart, "lie apart from the round trips before and after them"),
        ];
        let broken = rules.into_iter().filter(|(rule, _)| rule.replies > 0);
        let those: Vec<String> = broken
            .map(|(Rejected { replies, most_ns, .. }, what)| {
                format!("{replies} {what}, by up to {}", rounded(*most_ns))
            })
            .collect();
        let those = those.join(", and ");
        if self.are_wrong() {
            return vec![format!(
                "the far end's stamps contradict themselves: by them, of {}, {those}; they are wrong, or of two clocks, so that no \
                 one-way delays are given, and round trips are t4-t1, with the far end's own time",
                counted_as(rejected.compared, "reply", "replies")
            )];
        }
        let first =
            [rejected.early.first, rejected.long.first, rejected.apart.first].into_iter().flatten().min();
        let replies = rejected.replies();
        let (without, whole) = if replies == 1 {
            ("it has", "its round trip is")
        } else {
            ("they have", "their round trips are")
        };
        vec![format!(
            "the far end's stamps of {} cannot be true and are left out (packet {} is the first): by them, {those}; {without} no one-way \
             delays, and {whole} t4-t1, with the far end's own time",
            counted_as(replies, "reply", "replies"),
            first.unwrap_or(0)
        )]
    }
}
