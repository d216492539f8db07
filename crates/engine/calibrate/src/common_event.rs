//! Two clocks compared by events that both hosts stamp: a packet to all members of a group, or a pulse per second
//! (Hershberger 2005, section 2.5.4).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use romer_endpoint::circumstances::random;
use romer_endpoint::clock_sync::{clock_sync, renew};
use romer_host::HostError;
use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket};
use romer_host::sync::pps_edge;
use romer_metrics::summary;
use romer_record::calibration::ClockDifference;
use romer_units::Duration;
use thiserror::Error;

use crate::error::CalibrateError;

/// First line of a file of stamps.
pub const STAMPS_HEADER: &str = "event,clock_ns,bound_ns";
/// First octets of a common packet. The number of the event follows (64 bits, big-endian).
const MAGIC: &[u8; 8] = b"romer-ce";
/// Octets of a common packet.
const PACKET: usize = 16;
/// Time between two common packets.
const INTERVAL: Duration = Duration::from_millis(100);
/// Longest time without a look at the order to stop, or at the latest pulse.
const POLL: Duration = Duration::from_millis(100);
/// Datagrams of one receive call.
const BATCH: usize = 32;
/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

/// Source of the common events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// Packets that one host sends to all.
    Packets {
        /// Multicast or broadcast address, and UDP port.
        group: SocketAddr,
        /// Interface; `None` leaves it to the routes.
        interface: Option<String>,
    },
    /// Pulses of a source of this host, such as `pps0`. The event is the second of the pulse, so that the clocks must differ by less
    /// than half a second.
    Pulses(String),
}

/// Stamp of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventStamp {
    /// Number of the event, the same at all hosts.
    pub event: u64,
    /// Real-time clock of this host, nanoseconds after 1970-01-01 UTC.
    pub clock_ns: i64,
    /// Bound of the clock's error by the host, nanoseconds; `None` if it states none.
    pub bound_ns: Option<i64>,
}

impl EventStamp {
    /// The stamp as a line of a file, without its end.
    pub fn to_line(&self) -> String {
        let bound = self.bound_ns.map_or_else(String::new, |bound| bound.to_string());
        format!("{},{},{bound}", self.event, self.clock_ns)
    }

    fn from_line(line: &str) -> Option<Self> {
        let mut fields = line.split(',');
        let [event, clock, bound] = [fields.next()?, fields.next()?, fields.next()?];
        let bound_ns = if bound.is_empty() {
            None
        } else {
            Some(bound.parse::<i64>().ok().filter(|bound| *bound >= 0)?)
        };
        let stamp = Self { event: event.parse().ok()?, clock_ns: clock.parse().ok()?, bound_ns };
        fields.next().is_none().then_some(stamp)
    }
}

/// Reason why files of stamps give no difference.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum CommonEventError {
    /// A line is no stamp.
    #[error(
        "line {line} is no stamp of an event; write `event,clock_ns,bound_ns`, as `--common-event listen` does"
    )]
    Line {
        /// Number of the line, from 1.
        line: usize,
    },
    /// No event is in both files.
    #[error("no event is in both files; both hosts must listen to the same events at the same time")]
    NoCommon,
}

/// The stamps of a file.
///
/// # Errors
/// [`CommonEventError::Line`].
pub fn stamps(text: &str) -> Result<Vec<EventStamp>, CommonEventError> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.is_empty() && *line != STAMPS_HEADER);
    lines
        .map(|(line, number)| EventStamp::from_line(line).ok_or(CommonEventError::Line { line: number }))
        .collect()
}

/// The clock of the second host minus that of the first, by the events that both stamped. Of several stamps of an event the first counts.
///
/// # Errors
/// [`CommonEventError::NoCommon`].
pub fn compare_clocks(files: [&[EventStamp]; 2]) -> Result<ClockDifference, CommonEventError> {
    let by_event = files.map(|stamps| {
        let latest_first = stamps.iter().rev().map(|stamp| (stamp.event, stamp.clock_ns));
        latest_first.collect::<BTreeMap<u64, i64>>()
    });
    let [first, second] = &by_event;
    let both = first.iter().filter_map(|(event, one)| Some(second.get(event)?.saturating_sub(*one)));
    let differences: Vec<i64> = both.collect();
    if differences.is_empty() {
        return Err(CommonEventError::NoCommon);
    }
    let largest = |stamps: &[EventStamp]| {
        let bounds = stamps.iter().map(|stamp| stamp.bound_ns);
        // A clock that had no bound once has none.
        bounds.reduce(|one, other| Some(one?.max(other?))).flatten()
    };
    let alone = |events: &BTreeMap<u64, i64>| {
        u64::try_from(events.len().saturating_sub(differences.len())).unwrap_or(u64::MAX)
    };
    Ok(ClockDifference {
        difference_ns: summary(&differences),
        unmatched: [alone(first), alone(second)],
        bounds_ns: files.map(largest),
    })
}

/// Stamps `count` events and gives each to `take`, until `stop` is set. `ready` is called as soon as the next event will be stamped.
///
/// # Errors
/// [`CalibrateError::Host`], [`CalibrateError::NoInterface`]: the system refuses the socket, or there is no such source of pulses.
pub fn listen(
    source: &EventSource,
    count: u64,
    stop: &AtomicBool,
    ready: impl FnOnce(),
    take: &mut dyn FnMut(EventStamp),
) -> Result<(), CalibrateError> {
    let mut left = count;
    let mut stamped = |event: u64, clock_ns: i64| {
        renew();
        take(EventStamp { event, clock_ns, bound_ns: clock_sync().error_bound_ns() });
        left = left.saturating_sub(1);
        left == 0
    };
    match source {
        EventSource::Packets { group, interface } => {
            let failed = CalibrateError::common_packets("listen to common packets", interface.as_deref());
            packets(*group, interface.clone(), stop, ready, &mut stamped).map_err(failed)
        }
        EventSource::Pulses(name) => pulses(name, stop, ready, &mut stamped)
            .map_err(CalibrateError::host("listen to pulses per second")),
    }
}

fn packets(
    group: SocketAddr,
    interface: Option<String>,
    stop: &AtomicBool,
    ready: impl FnOnce(),
    stamped: &mut impl FnMut(u64, i64) -> bool,
) -> Result<(), HostError> {
    let options = SocketOptions { interface, ..SocketOptions::default() };
    let socket = StampingSocket::listen_to(group, &options)?;
    ready();
    let mut batch = ReceiveBatch::new(BATCH, PACKET);
    while !stop.load(Ordering::Acquire) {
        socket.wait(Some(POLL))?;
        socket.receive_batch(&mut batch)?;
        for datagram in batch.iter() {
            let Some(event) = event_of(datagram.payload).filter(|_| !datagram.truncated) else { continue };
            if stamped(event, datagram.kernel.unwrap_or(datagram.user).as_nanos()) {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn pulses(
    name: &str,
    stop: &AtomicBool,
    ready: impl FnOnce(),
    stamped: &mut impl FnMut(u64, i64) -> bool,
) -> Result<(), HostError> {
    let mut last = pps_edge(name)?.map(|edge| edge.sequence);
    ready();
    while !stop.load(Ordering::Acquire) {
        std::thread::sleep(POLL.to_std());
        let Some(edge) = pps_edge(name)?.filter(|edge| last != Some(edge.sequence)) else { continue };
        last = Some(edge.sequence);
        let clock_ns = edge.realtime.as_nanos();
        let second = clock_ns.saturating_add(SECOND / 2).div_euclid(SECOND);
        if stamped(u64::try_from(second).unwrap_or(0), clock_ns) {
            return Ok(());
        }
    }
    Ok(())
}

/// Sends `count` common packets, ten each second, until `stop` is set.
///
/// # Errors
/// [`CalibrateError::Host`], [`CalibrateError::NoInterface`]: the system refuses the socket or a packet.
pub fn send_common_packets(
    group: SocketAddr,
    interface: Option<&str>,
    count: u64,
    stop: &AtomicBool,
) -> Result<(), CalibrateError> {
    let failed = CalibrateError::common_packets("send common packets", interface);
    send(group, interface, count, stop).map_err(failed)
}

fn send(group: SocketAddr, interface: Option<&str>, count: u64, stop: &AtomicBool) -> Result<(), HostError> {
    let any: IpAddr =
        if group.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let interface = interface.map(str::to_owned);
    let options = SocketOptions { interface, kernel_stamps: false, ..SocketOptions::default() };
    let socket = StampingSocket::bind(SocketAddr::new(any, 0), &options)?;
    socket.allow_broadcast()?;
    // Events of two senders differ.
    let session = u64::from(u32::from_be_bytes(random())) << 32;
    for number in (0..count).take_while(|_| !stop.load(Ordering::Acquire)) {
        if number > 0 {
            std::thread::sleep(INTERVAL.to_std());
        }
        let payload = [&MAGIC[..], &(session | number).to_be_bytes()].concat();
        socket.send(&Outgoing::new(&payload, group, 0))?;
    }
    Ok(())
}

/// The event of a common packet.
fn event_of(payload: &[u8]) -> Option<u64> {
    let number = payload.strip_prefix(&MAGIC[..])?;
    number.try_into().ok().map(u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(event: u64, clock_ns: i64, bound_ns: Option<i64>) -> EventStamp {
        EventStamp { event, clock_ns, bound_ns }
    }

    /// The difference is that of the events in both files, whatever their order; a copy of an event changes nothing.
    #[test]
    fn difference_of_common_events() {
        let first =
            [stamp(1, 100, Some(5)), stamp(2, 200, Some(9)), stamp(3, 300, Some(7)), stamp(2, 999, Some(5))];
        let second = [stamp(3, 310, None), stamp(2, 212, Some(4)), stamp(8, 800, Some(4))];
        let found = compare_clocks([&first, &second]).unwrap();
        assert_eq!((found.difference_ns.count, found.unmatched), (2, [1, 1]));
        assert_eq!((found.difference_ns.min, found.difference_ns.max), (Some(10.0), Some(12.0)));
        assert_eq!(found.difference_ns.median, Some(11.0));
        assert_eq!(found.bounds_ns, [Some(9), None]);
        assert_eq!(compare_clocks([&first, &[]]), Err(CommonEventError::NoCommon));
    }

    /// A file is read as it is written, and a line that is no stamp is named.
    #[test]
    fn files_of_stamps() {
        let all = [stamp(u64::MAX, -5, None), stamp(0, 1_732_233_600_000_000_001, Some(2_000_000))];
        let text = format!("{STAMPS_HEADER}\n{}\n{}\n", all[0].to_line(), all[1].to_line());
        assert_eq!(stamps(&text).unwrap(), all);
        for bad in ["1", "1,2", "1,2,3,4", "-1,2,3", "1,2,-3", "1,2,x"] {
            let text = format!("{STAMPS_HEADER}\n{bad}\n");
            assert_eq!(stamps(&text), Err(CommonEventError::Line { line: 2 }), "{bad}");
        }
    }

    /// Only packets of romer are events.
    #[test]
    fn other_packets_are_no_events() {
        assert_eq!(event_of(b"romer-ce\0\0\0\x01\0\0\0\x02"), Some(0x1_0000_0002));
        for other in [&b"romer-ce"[..], b"romer-cx\0\0\0\x01\0\0\0\x02", b""] {
            assert_eq!(event_of(other), None);
        }
    }
}
