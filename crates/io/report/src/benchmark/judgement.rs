//! Verdicts on claims about a device as text.

use std::collections::BTreeMap;

use romer_record::benchmark::{
    ClaimFinding, ClaimSubject, ClassShare, DecidingFrames, DecidingLoad, Discipline, Expectation,
    JudgedTrial, Judgement, MarkedField, PassedInTotal, ProfileSide, Reservation, SchedulerFault, TrialCount,
};
use romer_units::Duration;

use super::invalid::outages_words;

/// What a claim is about.
pub fn subject_text(one: &Judgement) -> String {
    let and_trial = |trial: Option<&JudgedTrial>| {
        trial.map_or_else(String::new, |trial| format!(", {}", trial_text(one, trial)))
    };
    match &one.subject {
        ClaimSubject::Order => "order".into(),
        ClaimSubject::Copies => "copies".into(),
        ClaimSubject::Content => "content".into(),
        ClaimSubject::Payload => "payload".into(),
        ClaimSubject::Marking { field, sent, out_of_profile } => {
            let beyond = if *out_of_profile { ", out of profile" } else { "" };
            format!("{} {sent}{beyond}", field_text(*field))
        }
        ClaimSubject::Stream { stream } => format!("stream {stream}"),
        ClaimSubject::FrameSize { stream } => {
            format!("frames of {} B{}", one.frame_size.unwrap_or_default(), and_stream(stream.as_deref()))
        }
        ClaimSubject::Policer { stream } => format!("the policer{}", and_stream(stream.as_deref())),
        ClaimSubject::Profile { side, stream, trial } => {
            format!("{}{}{}", side_text(*side), and_stream(stream.as_deref()), and_trial(trial.as_ref()))
        }
        ClaimSubject::Scheduler => "the scheduler".into(),
        ClaimSubject::Class { class, trial } => format!("class {class}{}", and_trial(Some(trial))),
        ClaimSubject::Classes { classes: [first, second], trial } => {
            format!("classes {first} and {second}{}", and_trial(trial.as_ref()))
        }
        ClaimSubject::Weights { trial } => format!("weights{}", and_trial(Some(trial))),
    }
}

/// The expected result of a claim.
pub fn expected_text(one: &Judgement) -> String {
    let text = match &one.expected {
        Expectation::InOrder => "frames of a flow (addresses and ports) arrive in order",
        Expectation::Once => "every frame arrives once",
        Expectation::ContentUnchanged => "length and test data of frames are unchanged",
        Expectation::PayloadUnchanged => "the payload of frames is unchanged",
        Expectation::MarkedAs { received } => return format!("received as {received}"),
        Expectation::Dropped => "is dropped (expect=drop)",
        Expectation::ForwardedLikeOthers => "forwarded like others",
        Expectation::ProfileOnly => "passes frames in profile and no others",
        Expectation::Passed => "passes",
        Expectation::PassedUnchanged => "passes unchanged",
        Expectation::PassedMarked => "passes with the expected marking",
        Expectation::DroppedOrRemarked => "is dropped or remarked",
        Expectation::DroppedOrMarkedDifferently => "is dropped or marked differently",
        Expectation::ServedBy { discipline } => {
            return format!("serves the streams by {}", discipline_text(*discipline));
        }
        Expectation::CapacityShare { discipline, min_ratio, max_ratio, offered_ratio } => {
            let [low, high] = [min_ratio, max_ratio].map(|share| format!("{:.1}", share * 100.0));
            let due = if low == high { low } else { format!("{low} to {high}") };
            return format!(
                "receives {due} % of the capacity by {} (offered {:.1} %)",
                discipline_text(*discipline),
                offered_ratio * 100.0
            );
        }
        Expectation::FirstBeforeSecond => "the first is served before the second",
        Expectation::FirstNoLess { weights: [first, second] } => {
            return format!(
                "the first (weight {first}) is forwarded no less than the second (weight {second}) while it has frames"
            );
        }
        Expectation::SharesBy { discipline } => {
            return format!("each has its share by {}", discipline_text(*discipline));
        }
        Expectation::WeightsInBytes => "are shares of the transmitted bytes",
    };
    text.into()
}

/// The observed result of a claim, with what limits its evidence.
pub fn observed_text(one: &Judgement) -> String {
    let mut text = finding_text(one);
    for reservation in &one.observed.reservations {
        text.push_str(&reservation_text(one, reservation));
    }
    text
}

/// The trial of a verdict.
fn trial_text(one: &Judgement, trial: &JudgedTrial) -> String {
    let frames = one.frame_size.map_or_else(
        || format!("frames {}", one.mixture.as_deref().unwrap_or("of several sizes")),
        |size| format!("{size} B"),
    );
    format!("{frames}, at {:.1} % of the line, repeat {}", trial.load_percent, trial.repeat.saturating_add(1))
}

const fn field_text(field: MarkedField) -> &'static str {
    match field {
        MarkedField::CodePoint => "code point",
        MarkedField::Vlan => "VLAN",
        MarkedField::Priority => "priority",
        MarkedField::Ecn => "ECN",
    }
}

const fn side_text(side: ProfileSide) -> &'static str {
    match side {
        ProfileSide::In => "in profile",
        ProfileSide::Out => "out of profile",
    }
}

/// A discipline in words that follow "by".
const fn discipline_text(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::Strict => "strict priority",
        Discipline::Weighted => "weighted service",
        Discipline::Fifo => "one queue for all",
        Discipline::FifoOctets => "one queue for all that counts bytes",
    }
}

/// What a scheduler does, in words that follow "a scheduler that".
const fn fault_text(fault: SchedulerFault) -> &'static str {
    match fault {
        SchedulerFault::OneQueue => "has one queue for all",
        SchedulerFault::WholeFrames => {
            "sends a whole frame in each pass, even if a class's share of it is less (Chadda 2004, figure 1-5)"
        }
        SchedulerFault::CountsFrames => "counts frames instead of bytes",
    }
}

fn and_stream(stream: Option<&str>) -> String {
    stream.map_or_else(String::new, |stream| format!(", stream {stream}"))
}

fn finding_text(one: &Judgement) -> String {
    match &one.observed.finding {
        ClaimFinding::NoConclusiveTrial => "no conclusive trial of this case".into(),
        ClaimFinding::NoFrameSent => "no frame sent".into(),
        ClaimFinding::NoFrameInProfile { side, stream } => {
            let of = stream.as_ref().map_or_else(String::new, |stream| format!(" of stream {stream}"));
            format!("not tested: no frame{of} was {}; use other loads (--loads)", side_text(*side))
        }
        ClaimFinding::ClassesNotDistinguished { load, weighted, lower_class, tolerance_ratio } => {
            let remedy = distinguishing(load.as_ref(), *weighted, lower_class, *tolerance_ratio);
            format!(
                "not tested: at these loads a scheduler that confuses them would forward the same of both; {remedy}"
            )
        }
        ClaimFinding::Anomalies { frames, lost } => anomalies(one, *frames, *lost),
        ClaimFinding::Received { received, sent, trials } => {
            let received = if *received == 0 { "none".into() } else { received.to_string() };
            let trials = trials.map_or_else(String::new, |TrialCount { observed, all }| match all {
                1 => ", in 1 of 1 trial".into(),
                _ => format!(", in {observed} of {all} trials"),
            });
            format!("{received} of {sent} frames received{trials}")
        }
        ClaimFinding::Marked { conforming, others, excess, expected_excess, lost } => {
            let mut text = conforming_text(*conforming, others);
            for (out, count) in excess {
                text.push_str(&format!("; {count} out of profile, received as {out}"));
            }
            for (out, count) in expected_excess {
                text.push_str(&format!("; {count} out of profile, received as {out} as expected"));
            }
            if *lost > 0 {
                text.push_str(&format!(", {lost} not received"));
            }
            match (one.passed, excess.is_empty() && expected_excess.is_empty()) {
                (None, true) => "no such frame received, inconclusive".into(),
                (None, false) => format!("no frame in profile received; {text}"),
                (Some(_), _) => text,
            }
        }
        ClaimFinding::Policed { right, wrong, at_boundary, total } => {
            let frames = if right + wrong > 0 {
                format!(
                    "{right} frames conform, {wrong} do not; {at_boundary} within one frame of the bucket limit, where both are correct"
                )
            } else {
                format!(
                    "all {at_boundary} frames are within one frame of the bucket limit, where both are correct"
                )
            };
            frames + &total.as_ref().map_or_else(String::new, |total| total_text(one, total))
        }
        ClaimFinding::ReceivedShare { forwarded_ratio } => format!("{:.1} %", forwarded_ratio * 100.0),
        ClaimFinding::SecondPreferred => "a larger part of the second is forwarded".into(),
        ClaimFinding::ReceivedShares { classes } => {
            let [first, second] = classes.map(|ClassShare { ratio, frame_bytes }| {
                format!("{:.1} % of the capacity in frames of {frame_bytes:.0} bytes", ratio * 100.0)
            });
            format!("first {first}, second {second}")
        }
        ClaimFinding::MatchesFaults { faults } => {
            let faults: Vec<&str> = faults.iter().copied().map(fault_text).collect();
            format!("the shares of all classes match a scheduler that {}", faults.join(", or "))
        }
    }
}

fn conforming_text(conforming: u64, others: &BTreeMap<String, u64>) -> String {
    let others: Vec<String> = others.iter().map(|(out, count)| format!("{count} as {out}")).collect();
    if others.is_empty() {
        format!("{conforming} frames conform")
    } else {
        format!("{conforming} frames conform, {}", others.join(", "))
    }
}

fn anomalies(one: &Judgement, frames: u64, lost: u64) -> String {
    let what = match one.subject {
        ClaimSubject::Order => "frames were reordered",
        ClaimSubject::Copies => "duplicates received",
        _ => "frames were changed",
    };
    let lost = match lost {
        0 => String::new(),
        lost => format!("; {lost} of them count as lost, because their test data are damaged"),
    };
    let allowed = if one.passed == Some(true) {
        format!(", which is allowed (--allow-anomalies {})", subject_text(one))
    } else {
        String::new()
    };
    format!("{frames} {what}{lost}{allowed}")
}

/// What a user can do so that a trial shows whether a device confuses two classes.
fn distinguishing(load: Option<&DecidingLoad>, weighted: bool, lower: &str, tolerance: f64) -> String {
    let tolerance = tolerance * 100.0;
    match (load, weighted) {
        (Some(DecidingLoad { capacity_ratio, line_ratio }), _) => format!(
            "use a load of about {:.0} % of the capacity in total (--loads {:.1}%)",
            capacity_ratio * 100.0,
            line_ratio * 100.0
        ),
        (None, true) => format!(
            "no load can distinguish them, because their shares differ by less than the tolerance of {tolerance:.0} % of the capacity; \
             use more different weights (weight=), or a larger share of the load for {lower} (share=)"
        ),
        (None, false) => format!(
            "no load of this line can distinguish them, because their shares differ by less than the tolerance of {tolerance:.0} % of \
             the capacity; use a larger share of the load for {lower} (share=), or a faster line (--line-rate)"
        ),
    }
}

/// What all frames together show of a policer.
fn total_text(one: &Judgement, total: &PassedInTotal) -> String {
    // To a tenth of a millisecond.
    let tenths = |nanos: i64| Duration::from_nanos((nanos / 100_000).saturating_mul(100_000));
    match total {
        PassedInTotal::Wrong { passed, allowed, unexplained } => {
            let is_in = matches!(one.subject, ClaimSubject::Profile { side: ProfileSide::In, .. });
            let fewer = if is_in { "fewer" } else { "more" };
            format!(
                "; {passed} passed and the bucket allows {allowed}, {unexplained} {fewer} than the latency explains"
            )
        }
        PassedInTotal::Uncertain { passed, allowed, latency_range_ns, fill_time_ns } => format!(
            "; inconclusive whether {passed} may pass where the bucket allows {allowed}: the latency varies by {}, and the bucket is \
             full after {}; use a path with less latency variation, or a deeper bucket",
            tenths(*latency_range_ns),
            tenths(*fill_time_ns)
        ),
        PassedInTotal::Right { passed, allowed, frames } => {
            format!("; in total {passed} of {frames} frames passed, and the bucket allows {allowed}")
        }
    }
}

fn reservation_text(one: &Judgement, reservation: &Reservation) -> String {
    match reservation {
        Reservation::DeviceStalled { outages, trial_ns, previous_trials } => {
            let stalled = outages_words(outages, *trial_ns);
            let is_few =
                |other: &Reservation| matches!(other, Reservation::FewFrames { .. });
            match one.passed {
                Some(true) => format!("; {stalled}"),
                Some(false) => format!("; not explained by the fact that {stalled}"),
                None if one.observed.reservations.iter().any(is_few) => format!(", and {stalled}"),
                None => format!(", inconclusive: {stalled}{}", previous(*previous_trials)),
            }
        }
        Reservation::Resolution { frames, chance_ratio } => {
            format!("; {frames} frames show only deviations above {:.1} % of the capacity", chance_ratio * 100.0)
        }
        Reservation::FewFrames { frames, chance_ratio, needed } => {
            let needed = needed.map_or_else(
                || "it is too close to the 5 % tolerance for any trial to decide".into(),
                |DecidingFrames { frames, trial_s }| format!("use about {frames} frames (--trial {trial_s}s)"),
            );
            format!(
                ", inconclusive: with {frames} frames a class of a correct scheduler deviates by chance by up to {:.1} % of the capacity \
                 from its share (probability of more: 1e-6); {needed}",
                chance_ratio * 100.0
            )
        }
        Reservation::OthersLost { loss_ratio } => format!(
            ", inconclusive: {:.1} % of the others were lost as well, and an overloaded device may starve some; use a lower load \
             (--loads)",
            loss_ratio * 100.0
        ),
        Reservation::SingleLoad => {
            "; at a single load, a queue with space for one such frame may cause this, too; use also a lower load (--loads)".into()
        }
    }
}

fn previous(trials: u64) -> String {
    match trials {
        0 => String::new(),
        1 => ", as in the previous trial of the same".into(),
        trials => format!(", as in the {trials} previous trials of the same"),
    }
}

#[cfg(test)]
mod tests {
    use romer_record::benchmark::{DeviceOutages, Observation};

    use super::*;

    const TRIAL: JudgedTrial = JudgedTrial { load_percent: 40.0, repeat: 0 };

    /// A verdict on a class names its trial, the share that is due, and what limits its evidence.
    #[test]
    fn class_of_a_scheduler() {
        let outages = DeviceOutages { count: 1, sum_ns: 120_000_000, longest_ns: 120_000_000, lost: 7 };
        let stalled = Reservation::DeviceStalled { outages, trial_ns: 1_000_000_000, previous_trials: 1 };
        let needed = Some(DecidingFrames { frames: 1_000, trial_s: 4 });
        let few = Reservation::FewFrames { frames: 258, chance_ratio: 0.06, needed };
        let judged = |passed, reservations: &[Reservation]| Judgement {
            case: "none".into(),
            frame_size: Some(64),
            subject: ClaimSubject::Class { class: "voice".into(), trial: TRIAL },
            expected: Expectation::CapacityShare {
                discipline: Discipline::Strict,
                min_ratio: 0.2,
                max_ratio: 0.3,
                offered_ratio: 0.25,
            },
            observed: Observation {
                finding: ClaimFinding::ReceivedShare { forwarded_ratio: 0.1 },
                reservations: reservations.to_vec(),
            },
            passed,
            ..Judgement::default()
        };
        let failed = judged(Some(false), std::slice::from_ref(&stalled));
        assert_eq!(subject_text(&failed), "class voice, 64 B, at 40.0 % of the line, repeat 1");
        assert_eq!(
            expected_text(&failed),
            "receives 20.0 to 30.0 % of the capacity by strict priority (offered 25.0 %)"
        );
        assert_eq!(
            observed_text(&failed),
            "10.0 %; not explained by the fact that the device or its host stalled for 0.12 s of 1 s (once)"
        );
        assert!(
            observed_text(&judged(None, std::slice::from_ref(&stalled)))
                .ends_with(" (once), as in the previous trial of the same")
        );
        let both = observed_text(&judged(None, &[few, stalled]));
        assert!(both.contains("use about 1000 frames (--trial 4s), and the device"), "{both}");
    }

    /// What a policer remarked is counted by its marking, and frames of which none arrived leave the claim open.
    #[test]
    fn markings_by_value() {
        let judged = |conforming, others: &[(&str, u64)], excess: &[(&str, u64)], passed| {
            let counts = |counts: &[(&str, u64)]| {
                counts.iter().map(|(out, count)| ((*out).to_owned(), *count)).collect::<BTreeMap<_, _>>()
            };
            let finding = ClaimFinding::Marked {
                conforming,
                others: counts(others),
                excess: BTreeMap::new(),
                expected_excess: counts(excess),
                lost: 0,
            };
            Judgement { observed: finding.into(), passed, ..Judgement::default() }
        };
        let text = observed_text;
        assert_eq!(text(&judged(3, &[("af11", 2)], &[], Some(false))), "3 frames conform, 2 as af11");
        assert_eq!(
            text(&judged(3, &[], &[("cs1", 4)], Some(true))),
            "3 frames conform; 4 out of profile, received as cs1 as expected"
        );
        assert_eq!(text(&judged(0, &[], &[], None)), "no such frame received, inconclusive");
        assert!(
            text(&judged(0, &[], &[("cs1", 4)], None)).starts_with("no frame in profile received; 0 frames")
        );
    }

    /// Anomalies that are allowed name the option that allows them.
    #[test]
    fn allowed_anomalies() {
        let judged = |subject, passed| Judgement {
            subject,
            observed: ClaimFinding::Anomalies { frames: 3, lost: 0 }.into(),
            passed: Some(passed),
            ..Judgement::default()
        };
        assert_eq!(observed_text(&judged(ClaimSubject::Order, false)), "3 frames were reordered");
        assert_eq!(
            observed_text(&judged(ClaimSubject::Copies, true)),
            "3 duplicates received, which is allowed (--allow-anomalies copies)"
        );
    }
}
