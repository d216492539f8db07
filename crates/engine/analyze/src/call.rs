//! A stream as a telephone call: the codec whose packets it is of, and its ratings.

use std::borrow::Cow;

use romer_metrics::voice::{unrated, voice};
use romer_record::document::{Measurement, ProbeDirection, Traffic};
use romer_record::manifest::Stream;
use romer_record::voice::{Codec, Unrated, UnratedReason, Voice, VoiceRequest};
use romer_record::{Fate, OneWaySingleton};
use romer_singletons::StreamSingletons;
use romer_traffic::{DEFAULT_INTERVAL, Request, TrafficModel};
use romer_units::Duration;

use crate::evaluate::known;

/// The codec of a stream of `traffic`, with what `request` states of it; `None` where it is no call. `gap_ns` is the usual time
/// between its packets, which is the speech in one where the traffic is of no codec.
///
/// # Errors
/// In words, where `request` contradicts the traffic, states something of a stream that is no call, a jitter buffer that is
/// shorter than a frame, or a codec whose frames are longer than the time between packets.
pub fn codec(
    request: &VoiceRequest,
    traffic: &Traffic,
    gap_ns: Option<i64>,
) -> Result<Option<Codec>, String> {
    // A model that this version does not know is of no codec that it knows.
    let sent = traffic.model.parse::<TrafficModel>().ok().and_then(|model| model.codec());
    let speech = sent.and_then(|codec| codec.speech(traffic.frames_per_packet).ok());
    let sent = sent.map(|codec| codec.to_string().parse::<Codec>()).transpose()?;
    let Some(packet_ns) = speech.map(|speech| speech.as_nanos()).or(gap_ns) else { return Ok(None) };
    let codec = request.codec(sent.as_ref(), packet_ns)?;
    match (&codec, request.jitter_buffer_ns) {
        (None, _) if *request != VoiceRequest::default() => Err(
            "the stream is no telephone call (--jitter-buffer, --voice-scale): its packets are of no codec; name one with \
             --codec, such as --codec g711"
                .into(),
        ),
        (Some(codec), Some(buffer)) if buffer < codec.frame_ns => {
            let [buffer, frame] = [buffer, codec.frame_ns].map(Duration::from_nanos);
            Err(format!(
                "jitter buffer too short (--jitter-buffer {buffer}): the minimum is one {codec} frame, {frame}; \
                 state at least that"
            ))
        }
        // The usual gap of a measured stream is not exact.
        (Some(codec), _) if packet_ns < codec.frame_ns / 10 * 9 => {
            let [packet, frame] = [packet_ns, codec.frame_ns].map(|nanos| Duration::from_nanos(nanos).rounded());
            Err(format!(
                "packets too close (--codec {codec}): one every {packet}, but a {codec} frame lasts {frame}; name the codec that was sent"
            ))
        }
        _ => Ok(codec),
    }
}

/// The codec of a stream that is to be sent.
///
/// # Errors
/// As [`codec`].
pub fn codec_to_send(request: &VoiceRequest, traffic: &Request) -> Result<Option<Codec>, String> {
    let sent =
        Traffic { model: traffic.model.to_string(), frames_per_packet: traffic.bundle, ..Traffic::default() };
    let gap = traffic.interval.unwrap_or(DEFAULT_INTERVAL);
    codec(request, &sent, Some(gap.as_nanos()))
}

/// The codec of a measured stream.
///
/// # Errors
/// As [`codec`].
pub fn codec_of(request: &VoiceRequest, m: &Measurement) -> Result<Option<Codec>, String> {
    let ways = [&m.forward, &m.reverse].into_iter();
    let gap = ways.filter_map(|way| way.inter_departure_ns.median).next();
    #[expect(clippy::cast_possible_truncation, reason = "a gap between packets")]
    let gap = gap.map(|median| median.round() as i64);
    codec(request, &m.traffic, gap)
}

/// The rating of each direction, and those that have none; neither where the stream is no call.
pub(crate) fn ratings(
    stream: &Stream,
    related: &StreamSingletons,
    m: &Measurement,
) -> (Vec<Voice>, Vec<Unrated>) {
    let codec = match codec_of(&stream.voice, m) {
        Ok(Some(codec)) => codec,
        // Of a call that is stated, one packet does not tell how much speech is in it.
        Ok(None) if stream.voice != VoiceRequest::default() => return (Vec::new(), too_few(related)),
        // Who states the call hears of contradictions before that.
        Ok(None) | Err(_) => return (Vec::new(), Vec::new()),
    };
    let lacks = stream.traffic.direction.is_one_way() && !stream.responder_log_complete
        || !stream.not_logged.is_empty();
    let reverse = reverse_call(related);
    let told = |singletons| if lacks { Cow::Owned(known(singletons)) } else { Cow::Borrowed(singletons) };
    let [there, back] = [&related.forward[..], &reverse].map(told);
    let ways =
        [(ProbeDirection::Forward, &there[..], &m.forward), (ProbeDirection::Reverse, &back[..], &m.reverse)];
    let whole = &related.round_trip;
    voice(&codec, stream.voice.jitter_buffer_ns, ways, related.delay_kind, whole, m.round_trip.delay_ns.min)
}

/// The packets of a call in reverse. Where a lost reply may be unknown, each probe that did not come back, and was not lost on its way to
/// the responder, is such a reply: whether it was sent and lost is not known.
fn reverse_call(related: &StreamSingletons) -> Cow<'_, [OneWaySingleton]> {
    if related.reverse_complete || related.round_trip.is_empty() {
        return Cow::Borrowed(&related.reverse);
    }
    let mut forward = related.forward.iter().filter(|probe| probe.copy == 0).peekable();
    let may_be_lost = |probe: &&OneWaySingleton| {
        while forward.next_if(|before| before.sequence < probe.sequence).is_some() {}
        let fate = forward.peek().filter(|same| same.sequence == probe.sequence).map(|same| same.fate);
        matches!(probe.fate, Fate::Lost | Fate::Unknown)
            && !fate.is_some_and(|fate| fate.is_lost() || !fate.is_observed())
            && related.unanswered.binary_search(&probe.sequence).is_err()
    };
    let lost = related.round_trip.iter().filter(|probe| probe.copy == 0).filter(may_be_lost);
    let lost = lost.map(|probe| OneWaySingleton { fate: Fate::Unknown, ..*probe });
    let came = related.reverse.iter().filter(|reply| !matches!(reply.fate, Fate::Lost | Fate::Unknown));
    let mut call: Vec<OneWaySingleton> = came.copied().chain(lost).collect();
    call.sort_by_key(|packet| packet.sequence);
    Cow::Owned(call)
}

/// The ways that have packets, of which there are too few.
fn too_few(related: &StreamSingletons) -> Vec<Unrated> {
    [(ProbeDirection::Forward, &related.forward), (ProbeDirection::Reverse, &related.reverse)]
        .into_iter()
        .filter(|(_, singletons)| !singletons.is_empty())
        .map(|(way, singletons)| unrated(way, UnratedReason::TooFewPackets, singletons.len()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(model: &str) -> Traffic {
        Traffic { model: model.into(), ..Traffic::default() }
    }

    fn from_traffic(traffic: &Traffic, gap_ns: Option<i64>) -> Option<Codec> {
        codec(&VoiceRequest::default(), traffic, gap_ns).unwrap()
    }

    /// Each codec of `--traffic` is in the table of codecs under the same name, with the same frame.
    #[test]
    fn traffic_codecs_are_known() {
        for sent in romer_traffic::Codec::ALL {
            let found = from_traffic(&traffic(sent.name()), None).unwrap();
            assert_eq!((found.name.as_str(), found.frame_ns), (sent.name(), sent.frame().as_nanos()));
            assert_eq!(found.packet_ns, sent.speech(None).unwrap().as_nanos());
        }
    }

    /// The codec, its rate and the bundling are those that were sent, in talk spurts as well.
    #[test]
    fn codec_comes_from_traffic() {
        let three = Traffic { frames_per_packet: Some(3), ..traffic("talkspurt:p59@melp") };
        let found = from_traffic(&three, Some(150_000_000)).unwrap();
        assert_eq!((found.name.as_str(), found.packet_ns), ("melp", 67_500_000));
        assert_eq!(from_traffic(&traffic("g729"), None).unwrap().ie, Some(11.0));
        assert_eq!(from_traffic(&traffic("evs:13.2kbit"), None).unwrap().ie, Some(17.1));
    }

    /// What is of no codec is no call, unless the user says that it is.
    #[test]
    fn other_traffic_is_no_call() {
        for model in ["periodic", "poisson", "im", "talkspurt:p59", "imix:simple", "trace:x.csv", "not-known"]
        {
            assert_eq!(from_traffic(&traffic(model), Some(20_000_000)), None, "{model}");
        }
        let stated = VoiceRequest { codec_name: Some("g729".into()), ..VoiceRequest::default() };
        let found = codec(&stated, &traffic("trace:x.csv"), Some(40_000_000)).unwrap().unwrap();
        assert_eq!((found.name.as_str(), found.packet_ns), ("g729", 40_000_000));
        let why = codec(&stated, &traffic("g711"), None).unwrap_err();
        assert!(why.contains("the stream is of g711"), "{why}");
    }

    /// A packet holds at least one frame of the stated codec.
    #[test]
    fn short_packets_are_refused() {
        let stated = VoiceRequest { codec_name: Some("g723.1".into()), ..VoiceRequest::default() };
        let why = codec(&stated, &traffic("periodic"), Some(20_000_000)).unwrap_err();
        assert!(why.contains("a g723.1 frame lasts 30.0 ms"), "{why}");
        assert!(codec(&stated, &traffic("periodic"), Some(29_500_000)).unwrap().is_some());
    }

    /// A jitter buffer holds at least one frame.
    #[test]
    fn short_buffer_is_refused() {
        let short = VoiceRequest { jitter_buffer_ns: Some(20_000_000), ..VoiceRequest::default() };
        assert!(codec(&short, &traffic("g711"), None).is_ok());
        let why = codec(&short, &traffic("melp"), None).unwrap_err();
        assert!(why.contains("the minimum is one melp frame, 22.5ms"), "{why}");
        let why = codec(&short, &traffic("periodic"), Some(20_000_000)).unwrap_err();
        assert!(why.contains("no telephone call"), "{why}");
    }
}
