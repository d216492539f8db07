//! Stamps of the far end that cannot be true: what is left out because of them, and what a reader learns of it.

use romer_passages::{FalseUnit, Rejected, RejectedStamps, Related, TooQuick};
use romer_units::{counted, counted_as};

use romer_units::three_digits;

/// What speaks against stamps of the far end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FarStamps {
    pub(super) rejected: RejectedStamps,
    pub(super) false_unit: Option<FalseUnit>,
    /// The time that they show in every reply, nanoseconds since 1970.
    pub(super) constant: Option<i64>,
}

/// That the order of the packets of one way is not known, where it would follow from stamps that are refused.
pub(super) fn without_order(related: &Related) -> Option<String> {
    let is_refused = related.without_one_way_stamps() && !related.round_trip.is_empty();
    is_refused.then(|| {
        let ways = if related.replies_are_counted() { "forward" } else { "of one way" };
        format!("the order of the packets {ways} is not known without the responder's time stamps")
    })
}

/// What is said of packets of one way that took less time than those before and after.
pub(super) fn too_quick(related: &Related) -> Vec<String> {
    let is_both = !related.forward.is_empty() && !related.reverse.is_empty();
    let ways = [" forward", " in reverse"].map(|way| if is_both { way } else { "" });
    let found = related.too_quick.iter().zip(ways);
    found.filter_map(|(found, way)| too_quick_on(found, way)).collect()
}

fn too_quick_on(found: &TooQuick, way: &str) -> Option<String> {
    let first = found.first?;
    let (packets, most) = (found.packets, three_digits(found.most_ns));
    let (it, is, has) =
        if packets == 1 { ("it", "it is", "it has") } else { ("they", "the first is", "they have") };
    let of = format!("{packets} of {}{way}", counted(found.compared, "packet"));
    Some(if found.are_kept() {
        format!(
            "by their time stamps, {of} took less time than those before and after, by up to {most} ({is} packet {first}): the path \
             has a quicker way, or these stamps are false; {it} count with their delays"
        )
    } else {
        format!(
            "the time stamps of {of} contradict those of the packets before and after, and are discarded ({is} packet {first}): by \
             them, {it} took less time, by up to {most}; {has} no delay and no place in the order"
        )
    })
}

/// What is left of the figures where no stamp of the responder is used.
const WITHOUT_STAMPS: &str =
    "no one-way delays are given, and round trips are t4-t1, with the responder's own time";
/// 1900 in nanoseconds since 1970: the beginning of NTP's time.
const NTP_ZERO_NS: i64 = -2_208_988_800_000_000_000;

/// How the first packet of some replies is introduced, and what these keep without their stamps: words before its number, and before
/// "t4-t1".
const fn first_and_rest(replies: u64) -> (&'static str, &'static str) {
    if replies == 1 {
        ("it is", "it has no one-way delays, and its round trip is")
    } else {
        ("the first is", "they have no one-way delays, and their round trips are")
    }
}

impl FarStamps {
    /// Whether the stamps are wrong in themselves, also those that are not rejected one by one.
    fn are_wrong(&self) -> bool {
        self.rejected.are_most() || self.false_unit.is_some() || self.constant.is_some()
    }

    /// Takes no one-way delay from stamps that are wrong, and for round trips the whole time that probes were away.
    pub(super) fn withdraw(&self, related: &mut Related) {
        if self.are_wrong() {
            related.without_far_stamps();
        }
    }

    /// The warnings.
    pub(super) fn words(&self) -> Vec<String> {
        if let Some(at) = self.constant {
            let what = if at == 0 || at == NTP_ZERO_NS {
                "the responder sends no time stamps (all of them are 0)"
            } else {
                "the responder's time stamps do not advance (every reply has the same ones)"
            };
            return vec![format!("{what}: {WITHOUT_STAMPS}")];
        }
        let unit = match self.false_unit {
            Some(FalseUnit::Microseconds) => Some(("microseconds", "0.24 ms")),
            Some(FalseUnit::Nanoseconds) => {
                Some(("nanoseconds (PTP time stamps without the Z bit of the error estimate)", "0.24 s"))
            }
            None => None,
        };
        if let Some((unit, most)) = unit {
            return vec![format!(
                "the responder's time stamps are wrong: the part of a second in them never exceeds {most}, as where {unit} are written \
                 in place of a fraction of 2^-32 s; {WITHOUT_STAMPS}"
            )];
        }
        self.absent().into_iter().chain(self.replies()).collect()
    }

    /// That single replies have no stamps.
    fn absent(&self) -> Option<String> {
        let Rejected { replies, first, .. } = self.rejected.absent;
        let first = first?;
        let (first_is, without) = first_and_rest(replies);
        Some(format!(
            "{} no time stamps of the responder ({first_is} packet {first}): {without} t4-t1, with the responder's own time",
            counted_as(replies, "reply has", "replies have")
        ))
    }

    /// That single replies have false stamps, or most of them.
    fn replies(&self) -> Option<String> {
        let rejected = &self.rejected;
        if rejected.replies() == 0 {
            return None;
        }
        let rules = [
            (&rejected.early, "left before the request came (t3 before t2)"),
            (
                &rejected.long,
                "stayed at the responder for longer than the probe was away (t3-t2 above t4-t1)",
            ),
            (
                &rejected.apart,
                "took less time one way than the probes before and after, but not less there and back",
            ),
        ];
        let broken = rules.into_iter().filter(|(rule, _)| rule.replies > 0);
        let those: Vec<String> = broken
            .map(|(Rejected { replies, most_ns, .. }, what)| {
                format!("{replies} {what}, by up to {}", three_digits(*most_ns))
            })
            .collect();
        let those = those.join(", and ");
        let compared = counted_as(rejected.compared, "reply", "replies");
        if self.are_wrong() {
            return Some(format!(
                "the responder's time stamps contradict themselves: by them, of {compared}, {those}; they are wrong, or of two clocks: \
                 {WITHOUT_STAMPS}"
            ));
        }
        let first =
            [rejected.early.first, rejected.long.first, rejected.apart.first].into_iter().flatten().min();
        let replies = rejected.replies();
        let (first_is, without) = first_and_rest(replies);
        Some(format!(
            "the time stamps of {} contradict each other, and those of the responder are discarded ({first_is} packet {}): by them, \
             {those}; {without} t4-t1, with the responder's own time",
            counted_as(replies, "reply", "replies"),
            first.unwrap_or(0)
        ))
    }
}
