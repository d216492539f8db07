//! Losses that may be of packets too long for their way, of which a host that sent them does not hear.

use romer_record::document::ProbeDirection;
use romer_record::event::EventLocation;
use romer_record::manifest::Stream;
use romer_record::warning::{AllLostEvidence, MeasurementWarning};
use romer_record::{Fate, OneWaySingleton};
use romer_session::association;
use romer_singletons::StreamSingletons;
use romer_wire::stamp::BASE;

use romer_host::stream::SEGMENT;

use romer_wire::udp::ACCEPTED_PAYLOAD;

/// Packets that must be lost, and none have arrived, before their length may be why.
const MIN_LOST_PACKETS: usize = 3;
/// Octets of payload that are known to pass wherever the far end has answered: the search for the route sends so many, and so does
/// the association of a session. On the way back the first words of the far end were longer.
const PASSES: u32 = {
    assert!(BASE == 44 && association::LENGTH == 44, "both are of this length");
    44
};

/// The warnings of the losses of either direction.
pub(super) fn warnings(stream: &Stream, related: &StreamSingletons) -> Vec<MeasurementWarning> {
    let ends = [
        (EventLocation::Sender, stream.ip_no_pmtu_disc, &related.forward, false),
        (
            EventLocation::Responder,
            stream.responder_ip_no_pmtu_disc,
            &related.reverse,
            !related.forward.is_empty(),
        ),
    ];
    let unheard = ends.into_iter().filter_map(|(location, setting, singletons, replies)| {
        let ip_no_pmtu_disc = setting.filter(|_| singletons.iter().any(may_be_too_long))?;
        Some(MeasurementWarning::PathMtuIgnored { location, ip_no_pmtu_disc, replies })
    });
    unheard.chain(none_arrived(stream, related)).collect()
}

/// That no packet came through of those of a stream that are all longer than what is known to pass: the search for the way had
/// reached the target, and its end had answered, or the conversation with the far end went on (of which a file of others has none).
fn none_arrived(stream: &Stream, related: &StreamSingletons) -> Vec<MeasurementWarning> {
    let mut answers =
        stream.metadata.route.iter().flatten().flat_map(|hop| [&hop.at_start, &hop.at_end]).flatten();
    let evidence = if answers.any(|answer| answer.target) {
        AllLostEvidence::RouteSearch
    } else if stream.metadata.responder_software.is_some()
        && stream.responder_log
        && stream.responder_log_complete
    {
        AllLostEvidence::ControlConnection { segment_bytes: SEGMENT }
    } else {
        return Vec::new();
    };
    let warning = |(direction, singletons): (ProbeDirection, &Vec<OneWaySingleton>)| {
        let all_lost = singletons.len() >= MIN_LOST_PACKETS
            && singletons.iter().all(|singleton| singleton.fate == Fate::Lost);
        let sizes = || singletons.iter().map(|singleton| singleton.size);
        let (shortest, longest) = (sizes().min()?, sizes().max()?);
        (all_lost && shortest > PASSES).then_some(MeasurementWarning::AllPacketsLost {
            direction,
            packets: singletons.len() as u64,
            payload_bytes_min: shortest,
            payload_bytes_max: longest,
            arriving_payload_bytes: PASSES,
            portable_payload_bytes: ACCEPTED_PAYLOAD,
            evidence,
        })
    };
    let one_way = [(ProbeDirection::Forward, &related.forward), (ProbeDirection::Reverse, &related.reverse)];
    let told: Vec<MeasurementWarning> = one_way.into_iter().filter_map(warning).collect();
    // Of packets of which nobody knows the way the round trip tells.
    if told.is_empty() {
        warning((ProbeDirection::RoundTrip, &related.round_trip)).into_iter().collect()
    } else {
        told
    }
}

fn may_be_too_long(singleton: &OneWaySingleton) -> bool {
    matches!(singleton.fate, Fate::Lost | Fate::Unknown) && singleton.size > ACCEPTED_PAYLOAD
}

#[cfg(test)]
mod tests {
    use romer_session::control::ClockIdentity;
    use romer_session::control::{ClientHello, Message, ServerHello, VERSION};

    use super::*;

    #[test]
    fn the_first_words_of_either_end_are_longer_than_what_they_tell_to_pass() {
        const UDP: usize = 8;
        const TCP: usize = 20;
        // As long as the kernel makes it.
        let boot_id = "00000000-0000-0000-0000-000000000000".to_owned();
        let (clock, software) = (ClockIdentity { boot_id, realtime_minus_boottime_ns: 0 }, String::new());
        let hello = ClientHello { version: VERSION, software, clock: clock.clone(), features: Vec::new() };
        let welcome = ServerHello::new("", clock, 0);
        for message in [Message::Hello(hello), Message::Welcome(welcome)] {
            let mut frame = Vec::new();
            message.encode(&mut frame);
            assert!(TCP + frame.len() >= UDP + BASE, "{message:?}: {}", frame.len());
        }
    }
}
