//! The plan of a run, so that it can be measured again: what its manifest says of its packets.

use romer_endpoint::names::Target;
use romer_measure::{MeasureOptions, ProbeSize, StreamOptions, check_sizes};
use romer_record::document::{Measurement, ProbeDirection};
use romer_record::manifest::{StampRequest, Stream};
use romer_store::Location;
use romer_traffic::{Limit, Request, Trace, TrafficModel};
use romer_units::random::Seed;
use romer_units::{Dscp, Duration, Ecn};

use crate::error::LoopError;

/// The plan by which `target` is measured as `stream` was, of which `measurement` is the document. `trace` is the recorded schedule that
/// its traffic names. The run goes to `location`; `command` is the command line that is kept with it.
///
/// # Errors
/// The schedule or the sizes do not follow from the run.
pub(crate) fn of_stream(
    stream: &Stream,
    measurement: &Measurement,
    trace: Option<Trace>,
    target: &Target,
    location: &Location,
    command: &str,
) -> Result<MeasureOptions, LoopError> {
    let traffic = &stream.traffic;
    let request = request(stream, measurement, trace)?;
    let size = match traffic.payload_octets_min {
        None => ProbeSize::Payload(traffic.payload_octets),
        Some(_) => ProbeSize::Natural,
    };
    let with_size = |size| {
        let streams = vec![StreamOptions { target: target.clone(), traffic: request.clone(), size }];
        MeasureOptions {
            direction: traffic.direction,
            // Without a log of the responder the path was measured as any STAMP reflector is.
            stamp_only: !stream.responder_log && traffic.direction == ProbeDirection::RoundTrip,
            // The responder of a lab stamps no packets.
            stamp: match stream.stamp_request {
                StampRequest::InPacket => StampRequest::Best,
                other => other,
            },
            dscp: traffic.dscp.and_then(Dscp::new).unwrap_or_default(),
            ecn: traffic.ecn.as_deref().and_then(|ecn| ecn.parse().ok()).unwrap_or(Ecn::NotEct),
            ttl: traffic.ttl,
            waiting_time: Duration::from_nanos(traffic.waiting_time_ns),
            voice: stream.voice.clone(),
            ..MeasureOptions::new(streams, command.to_owned(), location.clone())
        }
    };
    // A codec has a size of its own, and refuses another.
    let [stated, natural] = [size, ProbeSize::Natural].map(with_size);
    let options = if check_sizes(&stated).is_ok() { stated } else { natural };
    check_sizes(&options)?;
    Ok(options)
}

/// The file of the recorded schedule that `stream` had; `None` where it had none.
///
/// # Errors
/// [`LoopError::NotRepeatable`], where the traffic model is unknown.
pub(crate) fn trace_file(stream: &Stream) -> Result<Option<String>, LoopError> {
    Ok(model(stream)?.trace_file().map(str::to_owned))
}

fn model(stream: &Stream) -> Result<TrafficModel, LoopError> {
    stream.traffic.model.parse().map_err(|_| cannot(stream, "no such traffic model"))
}

fn cannot(stream: &Stream, why: &'static str) -> LoopError {
    LoopError::NotRepeatable { model: stream.traffic.model.clone(), why }
}

/// The schedule. A manifest has its mean interval: the request that has the same is looked for.
fn request(stream: &Stream, measurement: &Measurement, trace: Option<Trace>) -> Result<Request, LoopError> {
    let recorded = &stream.traffic;
    let model = model(stream)?;
    let sent = [&measurement.forward, &measurement.reverse].iter().filter_map(|way| way.packets.sent).max();
    let limit = match (recorded.count, recorded.duration_ns, sent) {
        // Of a run that was cut short, as much as there is.
        (_, _, Some(sent)) if measurement.partial => Limit::Count(sent),
        (Some(count), _, _) => Limit::Count(count),
        (None, Some(duration), _) => Limit::Duration(Duration::from_nanos(duration)),
        (None, None, _) => {
            return Err(cannot(stream, "neither a number of packets nor a duration is recorded"));
        }
    };
    let request = Request {
        bundle: recorded.frames_per_packet.filter(|_| model.codec().is_some()),
        seed: Seed(recorded.seed.unwrap_or_default()),
        jitter: recorded.departure_jitter.as_deref().and_then(|jitter| jitter.parse().ok()),
        trace,
        ..Request::new(model, limit)
    };
    request
        .with_mean_interval(Duration::from_nanos(recorded.interval_ns))
        .ok_or_else(|| cannot(stream, "its interval is not that of the model"))
}
