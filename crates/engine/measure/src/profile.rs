//! Marks of a stream's packets beyond its traffic profile, by the kernel of this host.

use romer_endpoint::EndpointError;
use romer_endpoint::remarking::{PacketLimit, Remarker, Remarking};
use romer_record::document::ProbeDirection;
use romer_session::association;

use super::options::MeasureOptions;
use super::prepared::Prepared;

/// Refuses what cannot be marked.
///
/// # Errors
/// [`EndpointError::Usage`].
pub(super) fn check(options: &MeasureOptions) -> Result<(), EndpointError> {
    let Some(profile) = options.traffic_control.profile else { return Ok(()) };
    if options.streams.len() != 1 {
        return Err(EndpointError::Usage(
            "too many targets (--profile): a profile is that of one stream; measure each target in a run of its own".into(),
        ));
    }
    if options.direction == ProbeDirection::Reverse {
        return Err(EndpointError::Usage(
            "options cannot be combined (--profile, --direction reverse): this host marks what it sends itself; choose \
             another direction"
                .into(),
        ));
    }
    if options.traffic_control.shaper.is_some() {
        return Err(EndpointError::Usage(format!(
            "options cannot be combined (--profile {}, --shape): of a shaped stream nothing is beyond its profile; leave one of \
             them out",
            profile.bucket
        )));
    }
    Ok(())
}

/// Installs the rules, if a profile is requested. They are removed when the value is dropped, or this process ends.
///
/// # Errors
/// The packets differ in size or do not fit the profile, `nft` is missing or refuses, or the rights are missing.
pub(super) fn install(
    options: &MeasureOptions,
    streams: &[Prepared],
) -> Result<Option<Remarker>, EndpointError> {
    let Some(profile) = options.traffic_control.profile else { return Ok(None) };
    let Some(stream) = streams.iter().find(|stream| stream.shared.way != ProbeDirection::Reverse) else {
        return Ok(None);
    };
    let payloads = stream.schedule.payloads(stream.floor);
    if payloads.least < payloads.most {
        return Err(EndpointError::Usage(format!(
            "the packets differ in size (--profile {}): the kernel counts packets, here of {} to {} bytes; use a traffic model \
             with packets of one size",
            profile.bucket, payloads.least, payloads.most
        )));
    }
    let (bits, depth) = (profile.bucket.bits_per_second(), profile.bucket.depth());
    let limit = PacketLimit::new(bits, depth, payloads.most).ok_or_else(|| {
        EndpointError::Usage(format!(
            "no packet is in profile (--profile {}): a packet has {} bytes of payload; use a depth of at least that, and a \
             higher rate",
            profile.bucket, payloads.most
        ))
    })?;
    let remarking = Remarking {
        local_port: stream.shared.socket.local_address().port(),
        remote: stream.shared.target,
        exempt: Some(association::FIRST_WORD),
        limit,
        marks: profile.marks,
    };
    Remarker::install(&remarking).map(Some)
}
