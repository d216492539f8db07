//! The warnings of a measurement as text.

use romer_record::document::{MissingStamps, ProbeDirection};
use romer_record::event::EventLocation;
use romer_record::manifest::{EarlyEnd, EntryKind, NotLogged};
use romer_record::warning::{
    AllLostEvidence, CalibrationUnused, Contradiction, FalseUnit, MeasurementWarning as Warning, Numbering,
    ReplyLosses, ResponderDelayCause, StampMoment, StampsRemedy, Uneven,
};
use romer_units::{counted, counted_as, saturating_sum, was};

use super::clock::{early, one_way_refused, skew_unknown, synchronisation_contradicted};
use super::file;
use crate::event::router_report;
use crate::replies;
use crate::sentence::{Text, heading, host, length, list, share};

/// What is left of the statistics where no time stamp of the responder is used.
const WITHOUT_TIME_STAMPS: &str =
    "no one-way delays are given, and round trips are t4-t1, with the responder's own time";

impl Text for Warning {
    fn text(&self) -> String {
        match self {
            Self::NothingMeasured { reason } => format!("nothing was measured: {reason}"),
            Self::RunCutShort { cause } => early_end(*cause),
            Self::NoProbeSent => "no probe was sent: there are no statistics".into(),
            Self::EntriesNotLogged { entries } => not_logged(entries),
            Self::StampReflectorOnly { address, port } => {
                format!("no romer answered at {address} (TCP): the reflector at UDP port {port} of that host is measured")
            }
            Self::ResponderNotVerified { name, fingerprint, saved } => {
                let known = if *saved { "its key is saved" } else { "its key could not be saved" };
                format!(
                    "the identity of the responder {name} was not verified: this was the first contact, and {known} ({fingerprint}); \
                     `romer pair` verifies it"
                )
            }
            Self::NoResponderLog { numbering } => no_responder_log(*numbering),
            Self::LossesByReplyNumber(losses) => reply_losses(losses),
            Self::ResponderLogIncomplete { one_way, gaps } => {
                log_incomplete(*one_way, &gaps.iter().map(Text::text).collect::<Vec<_>>())
            }
            Self::DatagramsRejected { rejected, one_way } => {
                let what = if *one_way { "probes" } else { "replies" };
                replies::rejected(rejected, what).unwrap_or_default()
            }
            Self::ReplyLengthDiffers(found) => replies::other_length(found),
            Self::ChecksumErrors(found) => replies::checksum_errors(found).unwrap_or_default(),
            Self::DamageUncounted => {
                "damaged probes of the forward direction were not counted: the responder is not this version of romer, or lacks \
                 CAP_NET_RAW (run it as root)"
                    .into()
            }
            Self::SequenceNumbersAltered { datagrams } => format!(
                "{}: altered on the path, or from another sender; not counted, and a probe with an altered number counts as lost",
                counted_as(
                    *datagrams,
                    "datagram arrived at the responder with a sequence number that was not sent",
                    "datagrams arrived at the responder with sequence numbers that were not sent"
                )
            ),
            Self::SessionTagsWrong { datagrams } => format!(
                "{} at the responder with this session's identifier and a wrong tag: truncated or altered on the path; not \
                 counted, and the probes count as lost",
                counted_as(*datagrams, "datagram arrived", "datagrams arrived")
            ),
            Self::ReceiveBufferOverflow { location, while_stopped, while_running } => {
                overflow(*location, *while_stopped, *while_running)
            }
            Self::NextHopUnresolved { probes } => format!(
                "this host dropped {} after it had accepted them: ARP or neighbour discovery for the next hop failed",
                counted(*probes, "probe")
            ),
            Self::PortUnreachable { probes } => format!(
                "the target reported for {} that nothing listens on the port (ICMP)",
                counted(*probes, "probe")
            ),
            Self::IcmpErrors { errors, report } => {
                let report =
                    report.as_ref().map_or_else(String::new, |report| format!(": {}", router_report(report)));
                format!("the path reported {} (ICMP) about the probes{report}", counted(*errors, "error"))
            }
            Self::PathMtuIgnored { location, ip_no_pmtu_disc, replies } => format!(
                "{} ignores the ICMP messages of routers that drop IPv4 packets as too long (net.ipv4.ip_no_pmtu_disc is \
                 {ip_no_pmtu_disc}): some of the losses may be {} that are too long for the path",
                host(*location),
                packets(*replies)
            ),
            Self::AllPacketsLost {
                direction,
                packets,
                payload_bytes_min,
                payload_bytes_max,
                arriving_payload_bytes,
                portable_payload_bytes,
                evidence,
            } => {
                let more = if payload_bytes_min < payload_bytes_max { " and more" } else { "" };
                let short = match evidence {
                    AllLostEvidence::RouteSearch => {
                        format!("the search for the route, which sends {arriving_payload_bytes} B, was answered")
                    }
                    AllLostEvidence::ControlConnection { segment_bytes } => format!(
                        "the control connection to the responder, with segments of {segment_bytes} B at most, continued"
                    ),
                };
                let known = format!("{arriving_payload_bytes}B, which is known to arrive");
                let sizes = if payload_bytes_min > portable_payload_bytes {
                    format!("{portable_payload_bytes}B, which every path should carry, and --size {known}")
                } else {
                    known
                };
                format!(
                    "none of {} with {payload_bytes_min} B of payload{more} arrived {}, while {short}: the path may drop packets by \
                     their length; try --size {sizes}",
                    counted(*packets, "packet"),
                    heading(*direction)
                )
            }
            Self::PacketsNotSent { location, packets, replies } => {
                let (one, others) = if *replies { ("reply", "replies") } else { ("probe", "probes") };
                let they = if *packets == 1 { "it counts" } else { "they count" };
                format!(
                    "{} did not leave {}: {they} neither as sent nor as lost",
                    counted_as(*packets, one, others),
                    host(*location)
                )
            }
            Self::DscpRewritten { direction, from, to, packets, received } => {
                let what = if to == "cs0" { "bleached" } else { "rewritten" };
                let what = format!("the code point was {what}");
                marked(*direction, &what, [from, to], [*packets, *received])
            }
            Self::EcnRewritten { direction, from, to, packets, received } => {
                let what = match (from.as_str(), to.as_str()) {
                    ("not-ect", "ce") => "congestion was marked on packets that are not ECN-capable",
                    (_, "ce") => "a queue marked congestion",
                    (_, "not-ect") => "the ECN bits were bleached",
                    _ => "the ECN bits were rewritten",
                };
                marked(*direction, what, [from, to], [*packets, *received])
            }
            Self::NicTimeStampsUnavailable { stamps } => {
                let stamps: Vec<&str> = stamps.iter().map(|moment| moment_of(*moment)).collect();
                format!(
                    "no network card stamped {}, or fewer than half of them: their time stamps were taken elsewhere, so that \
                     delays include more than the wire",
                    list(&stamps)
                )
            }
            Self::NicTimeStampsMissing(missing) => format!(
                "{}, as many cards stamp one departure at a time: the kernel's time stamps are used for them, which differ by \
                 microseconds",
                missing_stamps(missing, " of network cards")
            ),
            Self::TimeStampsMissing(missing) => {
                format!("{}; the packets may have been lost", missing_stamps(missing, ""))
            }
            Self::InterruptCoalescing { location, packets, arrivals, longest_ns } => format!(
                "the network card of {} delayed {packets} of {arrivals} packets by up to {} and delivered them together, as its \
                 own time stamps show (interrupt coalescing): kernel time stamps of them are late by that",
                host(*location),
                length(*longest_ns)
            ),
            Self::DelayMissing { direction, packets, arrived, live, uneven } => {
                delay_missing(*direction, [*packets, *arrived], uneven.as_ref(), *live)
            }
            Self::ResponderTimeStampsConstant { zero } => {
                let what = if *zero {
                    "the responder sends no time stamps (all of them are 0)"
                } else {
                    "the responder's time stamps do not advance (every reply has the same ones)"
                };
                format!("{what}: {WITHOUT_TIME_STAMPS}")
            }
            Self::ResponderTimeStampsWrongUnit { unit } => {
                let fraction = "a fraction of 2^-32 s";
                let (unit, right, most) = match unit {
                    FalseUnit::Microseconds => ("microseconds", fraction, "0.24 ms"),
                    FalseUnit::MicrosecondsForNanoseconds => ("microseconds", "nanoseconds", "1 ms"),
                    FalseUnit::Nanoseconds => {
                        let unit = "nanoseconds (PTP time stamps without the Z bit of the error estimate)";
                        (unit, fraction, "0.24 s")
                    }
                };
                format!(
                    "the responder's time stamps are wrong: their part of a second never exceeds {most}, as if {unit} were written in \
                     place of {right}; {WITHOUT_TIME_STAMPS}"
                )
            }
            Self::RepliesBeforeDeparture { replies, compared, first_sequence, max_ns } => format!(
                "t4 is before t1 in {replies} of {compared} replies (by up to {}; first: packet {first_sequence}): their time stamps \
                 are discarded, and they have no delay{}",
                length(*max_ns),
                if *replies == *compared { "; the columns or ends may be interchanged" } else { "" }
            ),
            Self::ResponderTimeStampsAbsent { replies, first_sequence } => {
                let (first_is, without) = first_and_rest(*replies);
                format!(
                    "{} no time stamps of the responder ({first_is} packet {first_sequence}): {without} t4-t1, with the \
                     responder's own time",
                    counted_as(*replies, "reply has", "replies have")
                )
            }
            Self::ResponderTimeStampsContradictory {
                all_discarded,
                compared,
                replies,
                first_sequence,
                contradictions,
            } => {
                let those: Vec<String> = contradictions.iter().map(contradiction).collect();
                let those = those.join(", and ");
                if *all_discarded {
                    return format!(
                        "the responder's time stamps contradict themselves: by them, of {}, {those}; they are wrong, or of two \
                         clocks: {WITHOUT_TIME_STAMPS}",
                        counted_as(*compared, "reply", "replies")
                    );
                }
                let (first_is, without) = first_and_rest(*replies);
                format!(
                    "the time stamps of {} contradict each other, and those of the responder are discarded ({first_is} packet \
                     {first_sequence}): by them, {those}; {without} t4-t1, with the responder's own time",
                    counted_as(*replies, "reply", "replies")
                )
            }
            Self::ResponderTimeIncluded { arrivals_stamped, departures_stamped, in_reverse, remedy } => {
                let what = match (arrivals_stamped, departures_stamped) {
                    (true, true) => "the responder's two time stamps are equal in every reply (t2 = t3)",
                    (true, false) => "the replies have no time stamp of the responder's departure (t3)",
                    (false, true) => "the replies have no time stamp of the responder's arrival (t2)",
                    (false, false) => "the replies have no time stamps of the responder",
                };
                let and_reverse = if *in_reverse { " and reverse" } else { "" };
                let remedy = match remedy {
                    Some(StampsRemedy::Csv) => {
                        " (the columns t2_ns and t3_ns are missing, empty or zero; a responder that runs romer respond stamps its packets, and \
                         romer report --csv writes the time stamps of a run)"
                    }
                    Some(StampsRemedy::Irtt) => " (irtt client --tstamp=both records them)",
                    None => "",
                };
                format!("{what}: round-trip{and_reverse} delays include the time that it took to answer{remedy}")
            }
            Self::TimeStampsCoarse { resolution_ns } => format!(
                "the time stamps are multiples of {unit}: each delay is known to {unit} either way, and so are the confidence \
                 intervals of delays",
                unit = length(*resolution_ns)
            ),
            Self::RoundTripsNegative { packets } => format!(
                "{packets} round trips are below zero, which no path can be: a clock was set, or the time stamps are not of the \
                 moments that they are taken for; they are in the statistics"
            ),
            Self::DepartureHeldByHost { location, late_ns } => format!(
                "a packet left {} after its program had sent it, and those sent in the meantime left in a burst with it: {} queued \
                 them, as during ARP or neighbour discovery",
                length(*late_ns),
                host(*location)
            ),
            Self::DepartureLate { location, late_ns } => format!(
                "a packet left {} late, and those due in the meantime left in a burst with it: {} was stopped, or its host had no \
                 processor for it",
                length(*late_ns),
                if *location == EventLocation::Responder { "the responder" } else { "this program" }
            ),
            Self::ResponderSlow { probes, longest_ns, sequence, sent_ns, cause, stopped_ns, same_host } => {
                let when = sent_ns.map_or_else(String::new, |sent| {
                    format!(", sent {} after the first", length(sent))
                });
                let here = if *same_host {
                    " (it runs on this host, where a sender of more than a thousand packets a second has precedence: give it \
                     --realtime)"
                } else {
                    ""
                };
                format!(
                    "{} at the responder for up to {} before the reply (packet {sequence}{when}): {}{here}; that time is in no delay",
                    counted_as(*probes, "probe waited", "probes waited"),
                    length(*longest_ns),
                    slow(*cause, *stopped_ns)
                )
            }
            Self::FindingsLimited { searched, delays, until_ns } => format!(
                "findings were searched in the first {searched} of {delays} delays, until {} after the start: later spikes, grids, \
                 steps and bunches are not reported, and counts are of that part",
                length(*until_ns)
            ),
            Self::ClockOffsetUnknown => {
                "the offset of the two clocks is unknown: one-way delays are differences from the smallest one".into()
            }
            Self::SynchronisationContradicted { bound_ns, contradiction } => {
                synchronisation_contradicted(*bound_ns, contradiction)
            }
            Self::ClockSkewIncluded => {
                "the skew of the two clocks (tens of microseconds per second between free-running clocks) could not be removed from \
                 the one-way delays, and is still in them"
                    .into()
            }
            Self::SkewNotIdentifiable { unknown, skew_included } => {
                let still = if *skew_included {
                    "; one-way delays include it (tens of microseconds per second between free-running clocks)"
                } else {
                    ""
                };
                format!("the skew of the two clocks is not identifiable: {}{still}", skew_unknown(unknown))
            }
            Self::ClockMovementIncluded { movement_ns } => format!(
                "the minimum delays of both directions move by up to {} in opposite directions, as a clock moves them; one-way \
                 delays include it",
                length(*movement_ns)
            ),
            Self::OneWayDelaysRefused(found) => one_way_refused(found),
            Self::OrderUnknown { forward_only } => {
                let packets = if *forward_only { "forward" } else { "in one direction" };
                format!("the order of the packets {packets} is unknown without the responder's time stamps")
            }
            Self::PacketsTooQuick { direction, packets, compared, first_sequence, max_ns } => format!(
                "{}: the path has a faster route, or these time stamps are false; the packets count with their delays",
                too_quick(*direction, [*packets, *compared, *first_sequence], *max_ns)
            ),
            Self::EarlyTimeStampsDiscarded { direction, packets, compared, first_sequence, max_ns } => format!(
                "{}: romer discarded their time stamps; the packets count as received, without delay and without a check of their order",
                too_quick(*direction, [*packets, *compared, *first_sequence], *max_ns)
            ),
            Self::CalibrationLeavesNothing => {
                "no packet was sent after those for calibration: nothing was measured".into()
            }
            Self::EarlyArrivalsDiscarded(found) => format!(
                "{}: a time stamp of each is false, and they have no one-way delay and no place in the order",
                early(found)
            ),
            Self::OneClockContradicted(found) => format!(
                "--clocks shared is not used: the time stamps are not of one clock: by them, {}; the clocks are treated as two with \
                 an unknown difference",
                early(found)
            ),
            Self::OneClockPossible => {
                "the time stamps of the two files do not contradict a common clock; if one host took both, --clocks shared gives absolute \
                 one-way delays"
                    .into()
            }
            Self::CalibrationPacketsMissing { stated, sent } => format!(
                "{stated} packets are stated to be for calibration (--calibration), and {sent} were sent: the clocks are fitted to \
                 all of them"
            ),
            Self::SkewWindowsFew { window_ns, windows, first_weight_ratio } => {
                let (has, one) = if *windows == 1 { ("is one window", "it") } else { ("are few windows", "the first of them") };
                format!(
                    "there {has} of {} in these packets ({windows}): {one} has {:.0} % of the weight in khlifi's mean, and the interval \
                     includes that; state a shorter window (--skew khlifi:WINDOW,WEIGHT)",
                    romer_units::Duration::from_nanos(*window_ns).readable(),
                    100.0 * first_weight_ratio
                )
            }
            Self::SkewByOneDirection { direction, moving_ratio, drift_ppm } => {
                let how = match (moving_ratio, drift_ppm) {
                    (Some(ratio), _) => format!("changes during {} of the time", share(*ratio)),
                    (_, Some(ppm)) => format!("drifts by {ppm:+.0} ppm, more than clocks do"),
                    (None, None) => "changes".into(),
                };
                let other = if *direction == ProbeDirection::Forward { "reverse" } else { "forward" };
                format!(
                    "the minimum delay {} {how}: the estimate of the clocks rests on the {other} direction alone",
                    heading(*direction)
                )
            }
            Self::ChangeAmbiguous { delay_error_ns } => format!(
                "a change in one direction may be of the path or of a clock, because delays of the other vary by as much: later delays \
                 may be off by {}",
                length(*delay_error_ns)
            ),
            Self::ChangeAmbiguousAtEnd { delay_error_ns } => format!(
                "near an end of the run delays of one direction change, and no packets of the other show whether it was the path or \
                 a clock: delays may be off by {}",
                length(*delay_error_ns)
            ),
            Self::DriftAmbiguousAtEnd { delay_error_ns } => format!(
                "at an end of the run delays of one direction drift, which may be the path or a clock: delays may be off by {}",
                length(*delay_error_ns)
            ),
            Self::StepCompensationUncertain { delay_error_ns } => format!(
                "delays after a compensated clock step may be off by up to {} (95 %), by the uncertainty of the slope of the \
                 calibration packets and of the step sizes",
                length(*delay_error_ns)
            ),
            Self::ClockStepStampsDiscarded { stamps } => format!(
                "a clock was set during the run: {} around that moment are discarded, the others are corrected",
                counted(*stamps, "time stamp")
            ),
            Self::ClockStepUnderWay { packets } => format!(
                "{} under way when a clock was set: the step is removed",
                counted_as(*packets, "round trip was", "round trips were")
            ),
            Self::PathMinimumUnused => {
                "the stated minimum delay is not used (--path-minimum): it narrows the bounds of the clock offset, which packets of \
                 one direction do not give"
                    .into()
            }
            Self::PathMinimumContradicted { stated_ns, direction, measured_ns } => {
                path_minimum(*stated_ns, *direction, *measured_ns)
            }
            Self::CalibrationNotUsed(reason) => format!("the calibration is not used: {}", calibration_unused(reason)),
            Self::CalibrationSourceMissing { subtract } => {
                let not = if *subtract { "used, and nothing is subtracted" } else { "used" };
                format!("the calibration is not {not}: it has no values for these sources of time stamps")
            }
            Self::BaselineExceedsDelays { delays } => format!(
                "{delays} delays are below the subtracted baseline, and negative: the error of the time stamps is smaller than in the \
                 calibration, or the machine has changed since (romer calibrate)"
            ),
            Self::BaselineRoundTripsOnly { round_trips: true } => {
                "the baseline is subtracted from round trips only: one-way delays are differences from the smallest one, which do \
                 not include it"
                    .into()
            }
            Self::BaselineRoundTripsOnly { round_trips: false } => {
                "nothing is subtracted: the delays are differences from the smallest one, which do not include a baseline".into()
            }
            of_file => file::text(of_file),
        }
    }
}

const fn packets(replies: bool) -> &'static str {
    if replies { "replies" } else { "probes" }
}

fn early_end(cause: EarlyEnd) -> String {
    let why = match cause {
        EarlyEnd::Interrupted | EarlyEnd::Killed => "",
        EarlyEnd::ResponderLost => {
            ". The connection to the responder was lost: what it had not reported by then is unknown"
        }
        EarlyEnd::ResponderFault => {
            ". The responder broke the control protocol, and its connection was closed: what it had not sent by then is unknown"
        }
        EarlyEnd::NoRoute => {
            ". This host had no route to the responder at the end: what that had not reported by then is unknown"
        }
    };
    format!("the run ended early: the statistics cover a part of it{why}")
}

fn not_logged(entries: &[NotLogged]) -> String {
    let all = saturating_sum(entries.iter().map(|one| one.entries));
    let about = |kind: EntryKind| match kind {
        EntryKind::Departure => "departures from this host",
        EntryKind::DepartureStamp => "the kernel's time stamps of departures from this host",
        EntryKind::Arrival => "arrivals at this host",
        EntryKind::ResponderRecord => "the responder's records",
        EntryKind::CardStamp => "time stamps of network cards",
    };
    let means = |kind: EntryKind| match kind {
        EntryKind::Departure => {
            "probes without any other record do not count as sent, and others have no delay"
        }
        EntryKind::DepartureStamp => "probes without that time stamp have no delay by it",
        EntryKind::Arrival => {
            "packets that may have arrived here without an entry are neither in the losses nor in the delays"
        }
        EntryKind::ResponderRecord => {
            "packets without a record are neither in the losses nor in the one-way delays"
        }
        EntryKind::CardStamp => "the kernel's time stamps are used instead",
    };
    let each: Vec<String> =
        entries.iter().map(|one| format!("{} for {}", one.entries, about(one.kind))).collect();
    let means: Vec<&str> = entries.iter().map(|one| means(one.kind)).collect();
    format!(
        "{} of this host's packet log {} not stored ({}), because the log's thread had too little processor time or the disk was too \
         slow: {}. A lower rate of probes, an idle processor or a faster disk leaves the log more time",
        counted_as(all, "entry", "entries"),
        was(all),
        each.join(", "),
        means.join("; ")
    )
}

fn no_responder_log(numbering: Numbering) -> String {
    let about = match numbering {
        Numbering::Unknown => {
            "the direction of a loss is unknown, and its departure time stamp is taken before sending"
        }
        Numbering::Stateless => {
            "the direction of a loss is unknown (its replies have the numbers of the probes), and its departure time stamp is \
             taken before sending"
        }
        Numbering::Invalid => {
            "the direction of a loss is unknown (its replies have numbers of its own, but not those of a counter of the replies of \
             this stream), and its departure time stamp is taken before sending"
        }
        Numbering::Stateful => "its departure time stamp is taken before sending",
    };
    format!("the responder does not record packets: {about}")
}

fn reply_losses(losses: &ReplyLosses) -> String {
    let least = |exact: bool| if exact { "" } else { "at least " };
    let were = |count: u64| format!("{count} {}", was(count));
    let mut sentences = Vec::new();
    if losses.missing == 0 && losses.copies == 0 {
        sentences.push(
            "the responder counts its replies, which shows the direction of a loss: all arrived".to_owned(),
        );
    } else {
        let copies = if losses.copies > 0 { ", including replies to copies" } else { "" };
        sentences.push(format!(
            "the responder counts its replies: of {} without a reply, {}{} lost forward or not answered, and {}{} lost in \
             reverse{copies}",
            counted(losses.missing, "probe"),
            least(losses.forward_exact),
            were(losses.forward),
            least(losses.reverse_exact),
            counted_as(losses.reverse, "reply was", "replies were"),
        ));
    }
    if losses.unnamed > 0 {
        sentences.push(format!(
            "For {} of them only the number lost in each direction is known, not which packets they are{}",
            losses.unnamed,
            if losses.copies > 0 { " (a lost reply may have been to a copy)" } else { "" }
        ));
    }
    if losses.unknown > 0 {
        sentences.push(format!(
            "For {} of them the direction is unknown: they follow the last reply, or the responder's counter may have restarted there",
            losses.unknown
        ));
    }
    if losses.copies > 0 {
        sentences.push(format!(
            "{} of probes arrived at the responder, not counting copies with a lost reply",
            counted_as(losses.copies, "copy", "copies")
        ));
    }
    if losses.restarts > 0 {
        let times = if losses.restarts == 1 { "once".into() } else { format!("{} times", losses.restarts) };
        sentences.push(format!(
            "The responder's counter restarted {times}: the responder was restarted, or the session had expired there"
        ));
    }
    sentences.join(". ")
}

fn log_incomplete(one_way: bool, reasons: &[String]) -> String {
    let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    let what = if one_way {
        "it is unknown whether packets without a record were sent or arrived; they count in neither losses nor delays"
    } else {
        "the direction of some losses is unknown, and departures from the responder are stamped before sending"
    };
    format!("the responder's log is incomplete{why}: {what}")
}

fn overflow(location: EventLocation, while_stopped: u64, while_running: u64) -> String {
    let (program, own) = match location {
        EventLocation::Responder => ("the responder", "that host"),
        _ => ("this program", "this host"),
    };
    let arrived = "probes among them arrived, and are no losses (instrument_drops)";
    let mut sentences = Vec::new();
    if while_stopped > 0 {
        sentences.push(format!(
            "the kernel of {} dropped {} unread while {program} was stopped or had no processor: {arrived}; see that nothing stops \
             it, and that {own} is not suspended",
            host(location),
            counted(while_stopped, "datagram")
        ));
    }
    if while_running > 0 {
        sentences.push(format!(
            "{program} was too slow: the kernel of {} dropped {} unread; {arrived}; send more slowly, or leave {own} more time",
            host(location),
            counted(while_running, "datagram")
        ));
    }
    sentences.join(". ")
}

/// Of packets that were sent with `from`, `received` arrived, and `packets` of these with `to`.
fn marked(
    direction: ProbeDirection,
    what: &str,
    [from, to]: [&String; 2],
    [packets, received]: [u64; 2],
) -> String {
    let place = match direction {
        ProbeDirection::RoundTrip => "on the path or in the reflector",
        other => heading(other),
    };
    // A packet that came too late to count as received has its octet all the same.
    format!(
        "{place} {what}: of {} sent as {from} and received, late or not, {packets} arrived as {to}",
        counted_as(received, "packet that was", "packets that were")
    )
}

const fn moment_of(moment: StampMoment) -> &'static str {
    match moment {
        StampMoment::SenderDeparture => "departures from this host",
        StampMoment::ResponderArrival => "arrivals at the responder",
        StampMoment::ResponderDeparture => "departures from the responder",
        StampMoment::SenderArrival => "arrivals at this host",
    }
}

fn missing_stamps(missing: &MissingStamps, whose: &str) -> String {
    let moments = [
        (StampMoment::SenderDeparture, missing.sender_departure),
        (StampMoment::ResponderArrival, missing.responder_arrival),
        (StampMoment::ResponderDeparture, missing.responder_departure),
        (StampMoment::SenderArrival, missing.sender_arrival),
    ];
    let lacking = moments.into_iter().filter(|(_, count)| *count > 0);
    let all = saturating_sum(lacking.clone().map(|(_, count)| count));
    let each: Vec<String> =
        lacking.map(|(moment, count)| format!("{count} for {}", moment_of(moment))).collect();
    format!(
        "{}{whose} {} missing ({})",
        counted(all, "time stamp"),
        if all == 1 { "is" } else { "are" },
        each.join(", ")
    )
}

/// From this share of packets on it is said that the others may not represent all.
const MANY: f64 = 0.01;

/// Packets of a direction that took less time than their neighbours: how many of how many, and the number of the first.
fn too_quick(direction: ProbeDirection, [packets, compared, first]: [u64; 3], max_ns: i64) -> String {
    format!(
        "{packets} of {} {} {} implausibly early (first: packet {first}; by up to {}) compared with those before and after",
        counted(compared, "packet"),
        heading(direction),
        if packets == 1 { "is" } else { "are" },
        length(max_ns)
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts of packets are below 2^53")]
fn delay_missing(
    direction: ProbeDirection,
    [packets, arrived]: [u64; 2],
    uneven: Option<&Uneven>,
    live: bool,
) -> String {
    let without = packets as f64 / arrived.max(1) as f64;
    let those = format!("{packets} of {arrived} packets that arrived {}", heading(direction));
    if without < MANY {
        let count = if packets == 1 { "has" } else { "have" };
        return format!("{those} {count} no delay");
    }
    let unevenly = uneven.map_or_else(
        || ": the delays are those of the others".to_owned(),
        |Uneven { min_ratio, max_ratio }| {
            format!(
                " (from {:.0} % to {:.0} % in tenths of the run): the delays are those of the others and may not represent the \
                 whole run",
                100.0 * min_ratio,
                100.0 * max_ratio
            )
        },
    );
    let remedy = if live {
        ". Usually the host that stamps had too little processor time to read it before the next: use --realtime there, or a \
         longer --interval"
    } else {
        ""
    };
    format!(
        "{those} ({:.1} %) have no delay, because a time stamp is missing{unevenly}{remedy}",
        100.0 * without
    )
}

/// How the first packet of some replies is introduced, and what these keep without their time stamps: words before its number, and
/// before "t4-t1".
const fn first_and_rest(replies: u64) -> (&'static str, &'static str) {
    if replies == 1 {
        ("it is", "it has no one-way delays, and its round trip is")
    } else {
        ("the first is", "they have no one-way delays, and their round trips are")
    }
}

fn contradiction(found: &Contradiction) -> String {
    let (replies, what, max_ns) = match *found {
        Contradiction::ReplyBeforeRequest { replies, max_ns } => {
            (replies, "left before the request came (t3 before t2)", max_ns)
        }
        Contradiction::StayAboveRoundTrip { replies, max_ns } => {
            (replies, "stayed at the responder for longer than the round trip (t3-t2 above t4-t1)", max_ns)
        }
        Contradiction::OneWayBelowNeighbours { replies, max_ns } => (
            replies,
            "took less time one way than the probes before and after, but not less there and back, as by false time stamps (or, \
             rarely, by a path that was faster one way and slower the other)",
            max_ns,
        ),
    };
    format!("{replies} {what}, by up to {}", length(max_ns))
}

fn slow(cause: ResponderDelayCause, stopped_ns: Option<i64>) -> String {
    const STOPPED: &str = "stopped, or its host had no processor for it";
    const BEHIND: &str = "it was still busy with earlier packets, or had too little processor time";
    match (cause, stopped_ns) {
        (ResponderDelayCause::Descheduled, _) => format!("the responder got no processor time ({STOPPED})"),
        (ResponderDelayCause::DescheduledAndSlow, stopped) => {
            let stopped =
                stopped.map_or_else(String::new, |stopped| format!(" for up to {}", length(stopped)));
            format!("the responder got no processor time{stopped} ({STOPPED}), and was behind besides")
        }
        (ResponderDelayCause::Overloaded, _) => "the responder was too slow for that many".into(),
        (ResponderDelayCause::Slow, _) => format!("the responder ran, and was behind: {BEHIND}"),
        (ResponderDelayCause::Unknown, _) => {
            format!("the responder was behind ({BEHIND}), or got no processor time ({STOPPED})")
        }
    }
}

fn path_minimum(stated_ns: i64, direction: ProbeDirection, measured_ns: i64) -> String {
    let stated = length(stated_ns);
    if direction == ProbeDirection::Both {
        return format!(
            "the stated minimum delay contradicts the packets (--path-minimum {stated}): the fastest packets of both directions took \
             {} together, so that each direction takes {} at most, or one of them less than stated; the bounds of the clock offset \
             are given without it",
            length(measured_ns),
            length(measured_ns / 2)
        );
    }
    format!(
        "the stated minimum delay contradicts the packets (--path-minimum {stated}): one took {} {}, by a clock that both ends share; \
         the stated value is not used",
        length(measured_ns),
        heading(direction)
    )
}

/// Why a calibration is not used, and what to do.
pub fn calibration_unused(reason: &CalibrationUnused) -> String {
    let (what, calibrated, current) = match reason {
        CalibrationUnused::Unreadable { error } => return format!("{error}; run `romer calibrate` again"),
        CalibrationUnused::OtherHost { calibrated, current } => ("host", calibrated.clone(), current.clone()),
        CalibrationUnused::OtherKernel { calibrated, current } => {
            ("kernel", calibrated.clone(), current.clone())
        }
        CalibrationUnused::OtherClockSource { calibrated, current } => {
            ("clock source", calibrated.clone(), current.clone())
        }
        CalibrationUnused::OtherProcessors { calibrated, current } => {
            ("processor count", calibrated.to_string(), current.to_string())
        }
        CalibrationUnused::OtherVersion { calibrated, current } => {
            ("version", calibrated.clone(), current.clone())
        }
    };
    format!("it is of {what} {calibrated}, and this is {current}; run `romer calibrate` again")
}
