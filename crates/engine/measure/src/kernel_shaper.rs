//! Shaping of a stream by the kernel of this host.
//!
//! The kernel keeps the schedule. The program gives it each probe a few packets ahead of its time ([`PACKETS_AHEAD`]), and
//! the token bucket of the kernel releases it. The kernel's transmit stamp is taken behind the bucket.

use std::net::SocketAddr;

use romer_endpoint::EndpointError;
use romer_host::link::{Link, Network};
use romer_host::route::interface_towards;
use romer_host::shaper::{Bucket, Discipline, Flow, Shaper, ShaperError};
use romer_host::{HostError, flows};
use romer_record::document::ProbeDirection;
use romer_record::manifest::StampRequest;
use romer_record::note::Notice;
use romer_record::service::{KernelShaping, Service};
use romer_session::association;
use romer_traffic::{TokenBucket, TrafficModel};

use super::observer::Observer;
use super::options::{MeasureOptions, header_octets};
use super::prepared::Prepared;

/// Packets that the kernel is given before they are due. They wait in its queue, so that it can send each at its time however
/// late the program is.
const PACKETS_AHEAD: u32 = 4;
/// Packets that may wait in a queue that the whole interface shares.
const QUEUED_PACKETS: u32 = 1_000;
/// Octets of an Ethernet header, which the kernel counts.
const ETHERNET_HEADER: u32 = 14;
/// The bucket is deeper by what the rate gives in a second divided by this, 1 ms, and at most by half a packet: a timer of
/// the kernel that is late by less does not lower the rate.
const TIMER_SLACK: u32 = 1_000;

/// Refuses what cannot be shaped.
///
/// # Errors
/// [`EndpointError::Usage`].
pub(super) fn check(options: &MeasureOptions) -> Result<(), EndpointError> {
    if options.traffic_control.shaper.is_none() {
        return Ok(());
    }
    let [stream] = options.streams.as_slice() else {
        return Err(EndpointError::Usage(
            "too many targets (--shape): the kernel shapes one stream; measure each target in a run of its own".into(),
        ));
    };
    if options.direction == ProbeDirection::Reverse {
        return Err(EndpointError::Usage(
            "options cannot be combined (--shape, --direction reverse): this host shapes what it sends itself; choose \
             another direction"
                .into(),
        ));
    }
    let early = match options.stamp {
        StampRequest::User => Some("user"),
        StampRequest::InPacket => Some("in-packet"),
        StampRequest::Best | StampRequest::Nic | StampRequest::Kernel => None,
    };
    if let Some(stamp) = early {
        return Err(EndpointError::Usage(format!(
            "options cannot be combined (--shape, --stamp {stamp}): the program's time stamps are taken before the kernel \
             holds a packet; use --stamp kernel"
        )));
    }
    if stream.traffic.jitter.is_some() {
        return Err(EndpointError::Usage(
            "options cannot be combined (--shape, --departure-jitter): the kernel sends at the times of its token bucket; \
             leave one of them out"
                .into(),
        ));
    }
    match stream.traffic.model {
        TrafficModel::TokenBucket(_) => Ok(()),
        ref model => Err(EndpointError::Usage(format!(
            "the traffic has no token bucket (--shape, --traffic {model}): the kernel shapes to a rate and a depth; use \
             --traffic token-bucket:RATE,DEPTH"
        ))),
    }
}

/// An interface that shapes until this is dropped, or this process ends.
pub(super) struct KernelShaper {
    shaper: Shaper,
    interface: String,
}

impl KernelShaper {
    /// Restores the interface, and reports where that could not be.
    pub(super) fn end(self, observer: &mut dyn Observer) {
        if !self.shaper.restore() {
            observer.on_note(0, &Notice::QueueNotRestored { interface: self.interface }.into());
        }
    }
}

/// Installs the shaper that is requested, if one is, and records it with the stream.
///
/// # Errors
/// The kernel lacks it, the interface has a queueing discipline that cannot be restored, the bucket is out of the kernel's
/// range, or the rights are missing.
pub(super) fn install(
    options: &MeasureOptions,
    streams: &mut [Prepared],
) -> Result<Option<KernelShaper>, EndpointError> {
    let Some(choice) = options.traffic_control.shaper else { return Ok(None) };
    let Some(stream) = streams.iter_mut().find(|stream| stream.shared.way != ProbeDirection::Reverse) else {
        return Ok(None);
    };
    let Some(TrafficModel::TokenBucket(bucket)) = options.streams.first().map(|one| &one.traffic.model)
    else {
        return Ok(None);
    };
    let target = stream.shared.target;
    let link = egress(options, target)?;
    let flow = Flow {
        local_port: stream.shared.socket.local_address().port(),
        remote: target,
        // They would take tokens that the schedule has given to probes.
        unshaped: Some(association::FIRST_WORD),
        service: match options.traffic_control.service {
            Some(Service::Guaranteed) => flows::GUARANTEED,
            Some(Service::ControlledLoad) => flows::CONTROLLED_LOAD,
            Some(Service::BestEffort | Service::NonConforming) | None => 0,
        },
    };
    let packet = PacketOctets {
        payload: stream.schedule.payloads(stream.floor).most.max(1),
        headers: header_octets(target) + if link.mac.is_some() { ETHERNET_HEADER } else { 0 },
        longest: link.mtu.saturating_add(ETHERNET_HEADER),
    };
    let refusal = |error| EndpointError::Shaping { interface: link.name.clone(), source: Box::new(error) };
    let mut lacking = None;
    for discipline in choice.candidates() {
        let Some((bucket, ahead)) = packet.bucket(*bucket, discipline) else {
            return Err(EndpointError::Usage(format!(
                "the rate is out of range (--shape, --traffic token-bucket:{bucket}): the kernel counts 1 to {} bytes per \
                 second of frames; use another rate",
                u32::MAX
            )));
        };
        match Shaper::install(link.index, discipline, &flow, &bucket) {
            Ok(shaper) => {
                let lead = stream.interval.checked_mul(ahead.into()).unwrap_or(stream.interval);
                stream.lead = lead;
                stream.manifest.traffic.kernel_shaping = Some(KernelShaping {
                    discipline: discipline.to_string(),
                    interface: link.name.clone(),
                    octets_per_second: bucket.octets_per_second,
                    depth_octets: bucket.depth,
                    lead_ns: lead.as_nanos(),
                });
                return Ok(Some(KernelShaper { shaper, interface: link.name.clone() }));
            }
            Err(error @ ShaperError::Lacking(_)) => {
                lacking.get_or_insert(error);
            }
            Err(error) => return Err(refusal(error)),
        }
    }
    lacking.map_or(Ok(None), |error| Err(refusal(error)))
}

/// The interface by which packets to `target` leave.
fn egress(options: &MeasureOptions, target: SocketAddr) -> Result<Link, EndpointError> {
    let refusal = |error: HostError| EndpointError::Shaping {
        interface: options.interface.clone().unwrap_or_else(|| target.ip().to_string()),
        source: Box::new(error.into()),
    };
    let missing = |what, name| refusal(HostError::Missing { what, name });
    let network = Network::open(None).map_err(refusal)?;
    if let Some(name) = &options.interface {
        return network.link(name).map_err(refusal);
    }
    let scope = match target {
        SocketAddr::V6(address) => Some(address.scope_id()).filter(|scope| *scope != 0),
        SocketAddr::V4(_) => None,
    };
    let index = match scope {
        Some(scope) => Some(scope),
        None => interface_towards(target.ip()).map_err(refusal)?,
    };
    let index = index.ok_or_else(|| missing("route to", target.ip().to_string()))?;
    let link = network.links().map_err(refusal)?.into_iter().find(|link| link.index == index);
    link.ok_or_else(|| missing("interface with the index", index.to_string()))
}

/// Lengths of the packets that are shaped, octets.
#[derive(Clone, Copy, Debug)]
struct PacketOctets {
    /// UDP payload of each, at least 1.
    payload: u32,
    /// Headers that the kernel counts with it.
    headers: u32,
    /// The longest frame of the interface.
    longest: u32,
}

impl PacketOctets {
    /// The token bucket of payload as one of frames, and how many packets the kernel is given ahead; `None` outside the range of
    /// the kernel. The rate is rounded down: were it higher than the schedule's, nothing would wait in the kernel after a while.
    fn bucket(self, bucket: TokenBucket, discipline: Discipline) -> Option<(Bucket, u32)> {
        let frame = self.payload.checked_add(self.headers)?;
        let in_frames = |octets: u128| octets * u128::from(frame) / u128::from(self.payload);
        let octets_per_second = u32::try_from(in_frames(u128::from(bucket.bits_per_second())) / 8).ok()?;
        let depth = u32::try_from(in_frames(u128::from(bucket.depth()))).ok()?;
        let whole_packets = u32::try_from(bucket.depth() / u64::from(self.payload)).ok()?.max(1);
        let slack = (octets_per_second / TIMER_SLACK).min(frame / 2);
        let requested = whole_packets.checked_mul(frame)?.checked_add(slack)?.max(depth);
        let depth = match discipline {
            Discipline::Htb => requested,
            // It drops a frame that is longer than its bucket, of whichever flow.
            Discipline::Tbf => requested.max(self.longest),
        };
        let ahead = PACKETS_AHEAD + (depth - requested) / frame;
        let queue = QUEUED_PACKETS.saturating_mul(self.longest);
        (octets_per_second > 0).then_some((Bucket { octets_per_second, depth, frame, queue }, ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(text: &str, payload: u32, discipline: Discipline) -> Option<(Bucket, u32)> {
        let packet = PacketOctets { payload, headers: 42, longest: 1_514 };
        packet.bucket(text.parse().unwrap(), discipline)
    }

    /// Rate and depth are those of frames: 64 B of payload are 106 B, 1,472 B are 1,514 B.
    #[test]
    fn buckets_count_frames() {
        let (small, ahead) = bucket("16kBps,64B", 64, Discipline::Htb).unwrap();
        // 26 octets are what the rate gives in 1 ms.
        let expected = Bucket { octets_per_second: 26_500, depth: 106 + 26, frame: 106, queue: 1_514_000 };
        assert_eq!((small, ahead), (expected, 4));
        let (large, ahead) = bucket("100kBps,1472B", 1_472, Discipline::Tbf).unwrap();
        assert_eq!((large.octets_per_second, large.depth, ahead), (102_853, 1_514 + 102, 4));
    }

    /// What waits in the kernel is as deep as a bucket that has to take the longest frame of the interface.
    #[test]
    fn short_packets_exhaust_a_deep_bucket() {
        let (found, ahead) = bucket("16kBps,64B", 64, Discipline::Tbf).unwrap();
        assert_eq!((found.depth, ahead), (1_514, 4 + (1_514 - 132) / 106));
    }

    /// A bucket of several packets lets as many pass at once, and not one more.
    #[test]
    fn depth_is_kept_in_packets() {
        for (depth, packets) in [(64, 1), (100, 1), (127, 1), (128, 2), (6_400, 100)] {
            let (found, _) = bucket(&format!("16kBps,{depth}B"), 64, Discipline::Htb).unwrap();
            assert_eq!(found.depth / found.frame, packets, "{depth}");
        }
    }

    /// Rates that the kernel does not count are refused: less than one octet per second, and 2^32 and more.
    #[test]
    fn rates_out_of_range_are_refused() {
        assert_eq!(bucket("1bit,1472B", 1_472, Discipline::Htb), None);
        assert_eq!(bucket("900Gbit,1472B", 1_472, Discipline::Htb), None);
        assert!(bucket("8bit,1472B", 1_472, Discipline::Htb).is_some());
    }
}
