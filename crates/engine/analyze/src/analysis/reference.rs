//! The time stamps of a run, packet by packet beside two captures of it: at its sender and at its responder.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;

use romer_exchange::capture::{self, CaptureFault, Flow};
use romer_exchange::packed::Records;
use romer_metrics::summary;
use romer_record::RoundTrip;
use romer_record::comparison::ComparedStamp;
use romer_record::document::ProbeDirection;
use romer_record::manifest::Stream;
use romer_record::warning::StampMoment;
use romer_session::association;
use romer_units::{Clock, TimestampPoint};

use super::error::AnalysisError;
use super::table::open;

/// Where probes and replies have the sequence number of the probe, and how many bits of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbering {
    probe: usize,
    reply: usize,
    /// Octets of the number.
    octets: usize,
}

impl Numbering {
    /// STAMP (RFC 8762): the number of the sender, and that number in the reply.
    const STAMP: Self = Self { probe: 0, reply: 24, octets: 4 };
    const AUTHENTICATED: Self = Self { probe: 0, reply: 48, octets: 4 };
    /// Compact one-way probes, behind the session's number.
    const ONE_WAY: Self = Self { probe: 2, reply: 2, octets: 3 };

    fn of_stream(stream: &Stream) -> Self {
        match (stream.traffic.direction, stream.traffic.protocol.ends_with(", authenticated")) {
            (ProbeDirection::RoundTrip, false) => Self::STAMP,
            (ProbeDirection::RoundTrip, true) => Self::AUTHENTICATED,
            (ProbeDirection::Forward | ProbeDirection::Reverse | ProbeDirection::Both, _) => Self::ONE_WAY,
        }
    }

    /// The low bits of the sequence number in `payload`; `None` if it has none.
    fn read(self, payload: &[u8], is_reply: bool) -> Option<u64> {
        let begin = if is_reply { self.reply } else { self.probe };
        let octets = payload.get(begin..begin + self.octets).filter(|_| !association::begins(payload))?;
        Some(octets.iter().fold(0_u64, |number, octet| number << 8 | u64::from(*octet)))
    }

    /// The same of a probe of the run.
    const fn low(self, sequence: u64) -> u64 {
        sequence & ((1 << (8 * self.octets)) - 1)
    }
}

/// When a capture has the packets of one direction, by the low bits of their sequence numbers. Of copies it is the first.
type Times = HashMap<u64, i64>;

/// The packets of the run's stream in one capture, forward and reverse: those to and from `target` of the flow that has most.
fn times(path: &Path, target: SocketAddr, numbering: Numbering) -> Result<[Times; 2], AnalysisError> {
    let target = (target.ip().to_canonical(), target.port());
    let mut flows: [HashMap<Flow, Times>; 2] = Default::default();
    let mut file = open(path, Records::Uncounted)?;
    capture::walk_udp(&mut file, |flow, at_ns, payload| {
        let place = [flow.destination, flow.source].iter().position(|end| *end == target);
        if let Some(place) = place
            && let Some(number) = numbering.read(payload, place == 1)
            && let Some(times) = flows.get_mut(place)
        {
            times.entry(flow).or_default().entry(number).or_insert(at_ns);
        }
        Ok(())
    })
    .map_err(|CaptureFault::Record { record, why }| AnalysisError::Record {
        path: path.into(),
        record,
        why: file.get_ref().refusal().map_or(why, ToString::to_string),
    })?;
    Ok(flows.map(|flows| {
        let fullest = flows.into_iter().max_by_key(|(flow, times)| (times.len(), *flow));
        fullest.map(|(_, times)| times).unwrap_or_default()
    }))
}

/// Compares each time stamp of `rows`, which are of `stream`, with that of the same packet in a capture at its own host: `captures`
/// are at the sender and at the responder. Packets are matched by their sequence number. Empty if the stream's target is unknown,
/// or if no packet is found.
///
/// # Errors
/// [`AnalysisError`] where a capture cannot be read.
pub fn compare_stamps(
    stream: &Stream,
    rows: &[RoundTrip],
    captures: [&Path; 2],
) -> Result<Vec<ComparedStamp>, AnalysisError> {
    let Some(target) = stream.address.as_ref().and_then(|address| address.parse::<SocketAddr>().ok()) else {
        return Ok(Vec::new());
    };
    let numbering = Numbering::of_stream(stream);
    let [sender, responder] = captures.map(|path| times(path, target, numbering));
    let ([sent, returned], [arrived, answered]) = (sender?, responder?);
    let firsts: Vec<&RoundTrip> = rows.iter().filter(|row| row.copy == 0).collect();
    let mut compared = Vec::new();
    for point in [TimestampPoint::Nic, TimestampPoint::Kernel, TimestampPoint::User] {
        compared.extend([
            of_moment(StampMoment::SenderDeparture, point, &sent, numbering, &firsts, |row| {
                at(&row.t1, point)
            }),
            of_moment(StampMoment::ResponderArrival, point, &arrived, numbering, &firsts, |row| {
                at(&row.t2, point)
            }),
            of_moment(StampMoment::ResponderDeparture, point, &answered, numbering, &firsts, |row| {
                at(&row.t3, point)
            }),
            of_moment(StampMoment::SenderArrival, point, &returned, numbering, &firsts, |row| {
                at(&row.t4, point)
            }),
        ]);
    }
    Ok(compared.into_iter().flatten().collect())
}

/// A stamp that was taken at this point, nanoseconds.
fn at<C: Clock>(stamps: &romer_record::Stamps<C>, point: TimestampPoint) -> Option<i64> {
    let stamp = match point {
        TimestampPoint::Nic => stamps.nic,
        TimestampPoint::Kernel => stamps.kernel,
        TimestampPoint::User => stamps.user,
        TimestampPoint::Program => None,
    };
    stamp.map(|stamp| stamp.as_nanos())
}

/// The differences of one moment's stamps; `None` if the run has no such stamp, or the capture none of its packets.
#[expect(clippy::cast_precision_loss, reason = "differences of stamps of one packet on one clock")]
fn of_moment(
    moment: StampMoment,
    stamp_source: TimestampPoint,
    captured: &Times,
    numbering: Numbering,
    rows: &[&RoundTrip],
    stamp: impl Fn(&RoundTrip) -> Option<i64>,
) -> Option<ComparedStamp> {
    let mut differences = Vec::new();
    let mut unmatched = 0;
    for row in rows {
        let Some(stamp_ns) = stamp(row) else { continue };
        match captured.get(&numbering.low(row.sequence)) {
            Some(captured_ns) => differences.push(stamp_ns.saturating_sub(*captured_ns) as f64),
            None => unmatched += 1,
        }
    }
    (!differences.is_empty()).then(|| ComparedStamp {
        moment,
        stamp_source,
        unmatched,
        difference_ns: summary(&differences),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers are found in probes and replies, and an association has none.
    #[test]
    fn numbers_in_payloads() {
        let mut reply = [0; 44];
        reply[..4].copy_from_slice(&[9, 9, 9, 9]);
        reply[24..28].copy_from_slice(&[0, 1, 0, 2]);
        assert_eq!(Numbering::STAMP.read(&reply, true), Some(0x1_0002));
        assert_eq!(Numbering::STAMP.read(&reply, false), Some(0x0909_0909));
        assert_eq!(Numbering::ONE_WAY.read(&[7, 7, 0, 2, 1, 5], false), Some(0x201));
        assert_eq!(Numbering::ONE_WAY.read(&[7, 7, 0], false), None);
        assert_eq!(Numbering::STAMP.read(&association::datagram([3; 16]), false), None);
        assert_eq!(Numbering::ONE_WAY.low(0x5_0000_0201), 0x201);
        assert_eq!(Numbering::STAMP.low(0x5_0000_0201), 0x201);
    }
}
