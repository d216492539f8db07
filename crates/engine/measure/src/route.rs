//! The way to each target, looked for before the first probe and after the last.
//!
//! What is sent is a STAMP request to the port of the test packets, so that filters on the way treat it as they treat
//! the probes, and a reflector that it reaches answers it as any other, which is how the end of the way is known. (A
//! closed port would tell that too, but filters drop what goes there.) It comes from a port of its own, the same at the
//! start and at the end, so that it belongs to no session, is in nobody's log, and two searches are of one flow where
//! routers spread flows over several ways.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use romer_endpoint::circumstances;
use romer_host::clock;
use romer_host::socket::{Outgoing, PathError, PathErrorKind, ReceiveBatch, StampingSocket, TransmitEvents};
use romer_record::document::{Hop, HopAnswer};
use romer_record::event::{ChangedHop, Event, EventDetail, EventLocation};
use romer_session::route::{Change, HopResponder, Route, RouteAnswer, RouteProbe, Trace, changes};
use romer_units::{Monotonic, Timestamp};
use romer_wire::stamp::{
    AUTHENTICATED_BASE, BASE, ErrorEstimate, Key, ReflectorPacket, SenderPacket, TimestampFormat, WireTime,
};

use super::observer::Observer;
use super::options::MeasureOptions;
use super::parallel::side_by_side;
use super::plan;
use super::prepared::Prepared;

/// Octets of receive buffer: a handful of answers is all that comes.
const BUFFER: u32 = 64 << 10;

/// Discovers the route to one target.
#[derive(Debug)]
pub(super) struct RouteDiscovery {
    socket: StampingSocket,
    target: SocketAddr,
    key: Option<Arc<Key>>,
    error: ErrorEstimate,
    at_start: Route,
    /// When the search at the start began: whatever it found, a change came later.
    began: Timestamp<Monotonic>,
}

impl RouteDiscovery {
    /// Looks for the way to `target`; `None` where the system gives no socket for that.
    pub(super) fn begin(options: &MeasureOptions, target: SocketAddr) -> Option<Self> {
        let local = plan::local_address(options, target).ok()?;
        let socket_options = romer_host::socket::SocketOptions {
            kernel_stamps: false,
            receive_buffer: BUFFER,
            ..plan::socket_options(options)
        };
        let socket = StampingSocket::bind(local, &socket_options).ok()?;
        let error = circumstances::clock_error();
        let began = clock::monotonic_now();
        let mut own = Self { socket, target, key: options.key.clone(), error, at_start: Route::new(), began };
        own.at_start = own.current();
        Some(own)
    }

    /// The way as it is now.
    fn current(&self) -> Route {
        let base = u32::from_ne_bytes(circumstances::random());
        let mut trace = Trace::new(base, clock::monotonic_now());
        let mut batch = ReceiveBatch::new(8, 512);
        let mut events = TransmitEvents::new(16);
        loop {
            // What came while nobody looked was in time.
            self.take(&mut trace, &mut batch, &mut events);
            let now = clock::monotonic_now();
            while let Some(probe) = trace.next_probe(now) {
                if !self.send(probe) && trace.route().is_empty() {
                    return Route::new();
                }
            }
            if trace.is_over(now) {
                return trace.route();
            }
            let left = trace.wait_until().map(|until| until - clock::monotonic_now());
            if self.socket.wait(left).is_err() {
                return trace.route();
            }
        }
    }

    /// Sends a probe; whether the host took it.
    fn send(&self, probe: RouteProbe) -> bool {
        let mut payload = [0; AUTHENTICATED_BASE];
        let Some(length) = request(probe.number, self.error, self.key.as_deref(), &mut payload) else {
            return false;
        };
        let payload = &payload[..length];
        let outgoing = Outgoing { ttl: Some(probe.hop), ..Outgoing::new(payload, self.target, probe.number) };
        self.socket.send(&outgoing).is_ok()
    }

    /// Takes the answers that are there.
    fn take(&self, trace: &mut Trace, batch: &mut ReceiveBatch, events: &mut TransmitEvents) {
        while self.socket.transmit_events(events).is_ok_and(|count| count > 0) {
            for error in events.path_errors() {
                if let Some((answer, reporter)) = self.answer_of(error) {
                    let number = error.quoted.map(|[a, b, c, d, ..]| u32::from_be_bytes([a, b, c, d]));
                    trace.on_answer(number, answer, reporter, clock::monotonic_now());
                }
            }
        }
        while self.socket.receive_batch(batch).is_ok_and(|count| count > 0) {
            for datagram in batch.iter().filter(|datagram| datagram.peer == self.target) {
                if let Some(number) = self.number_of(datagram.payload) {
                    trace.on_answer(
                        Some(number),
                        RouteAnswer::Reached,
                        self.target.ip(),
                        clock::monotonic_now(),
                    );
                }
            }
        }
    }

    fn answer_of(&self, error: &PathError) -> Option<(RouteAnswer, IpAddr)> {
        let reporter = error.reporter?;
        let answer = match error.kind {
            PathErrorKind::TimeExceeded => RouteAnswer::Expired,
            PathErrorKind::PortUnreachable if reporter == self.target.ip() => RouteAnswer::Reached,
            PathErrorKind::PortUnreachable | PathErrorKind::Unreachable => RouteAnswer::Refused,
            PathErrorKind::TooLong { .. } | PathErrorKind::Other => return None,
        };
        Some((answer, reporter))
    }

    /// The number of the probe that a reflection is of.
    fn number_of(&self, payload: &[u8]) -> Option<u32> {
        let packet = match &self.key {
            Some(key) => ReflectorPacket::parse_authenticated(payload, key).ok()?,
            None => ReflectorPacket::parse(payload).ok()?,
        };
        // A stateful reflector counts for itself; what it echoes is ours.
        Some(packet.sender_sequence.unwrap_or(packet.sequence))
    }

    /// For the document, before the end is known.
    pub(super) fn hops(&self) -> Vec<Hop> {
        hops(&self.at_start, &[])
    }
}

/// Writes a STAMP request of number `number` that belongs to no session, and gives its length.
pub(super) fn request(
    number: u32,
    error: ErrorEstimate,
    key: Option<&Key>,
    payload: &mut [u8; AUTHENTICATED_BASE],
) -> Option<usize> {
    let t1 = clock::realtime_now().as_nanos();
    let timestamp = WireTime::from_unix_nanos(t1, TimestampFormat::Ntp);
    let packet = SenderPacket { sequence: number, timestamp, error, ssid: None };
    match key {
        Some(key) => packet.emit_authenticated(payload, key).ok().map(|_| AUTHENTICATED_BASE),
        None => packet.emit(&mut payload[..BASE]).ok().map(|_| BASE),
    }
}

/// Looks once more for the way to each target of which it was known at the start, side by side, and tells where it has
/// changed. `began` is the moment from which times of events are told.
pub(super) fn look_again(streams: &mut [Prepared], began: Timestamp<Monotonic>, observer: &mut dyn Observer) {
    // `None` for streams that have no pathfinder.
    let pathfinders: Vec<_> = streams.iter().map(|stream| stream.pathfinder.as_ref()).collect();
    let routes = side_by_side("romer-route", pathfinders.len(), |place| {
        pathfinders[place].map(RouteDiscovery::current)
    });
    for (stream, at_end) in streams.iter_mut().zip(routes) {
        let (Some(pathfinder), Some(at_end)) = (&stream.pathfinder, at_end) else { continue };
        stream.manifest.metadata.route = Some(hops(&pathfinder.at_start, &at_end));
        let changed = changes(&pathfinder.at_start, &at_end);
        if changed.is_empty() {
            continue;
        }
        let now = clock::now();
        let detail = EventDetail::PathChanged {
            target: stream.manifest.target.clone(),
            hops: changed.iter().map(changed_hop).collect(),
        };
        let at_ns = (now.monotonic - began).as_nanos();
        let event = Event::with(detail, EventLocation::Path, at_ns, now.realtime.as_nanos());
        observer.on_note(stream.shared.number, &event.clone().into());
        // It was at some moment between the two searches.
        stream.manifest.events.push(event.between((now.monotonic - pathfinder.began).as_nanos(), 0));
    }
}

fn hops(at_start: &[Option<HopResponder>], at_end: &[Option<HopResponder>]) -> Vec<Hop> {
    let answer =
        |route: &[Option<HopResponder>], place: usize| route.get(place).copied().flatten().map(answer);
    let places = 0..at_start.len().max(at_end.len());
    places
        .zip(1..)
        .map(|(place, hop)| Hop { hop, at_start: answer(at_start, place), at_end: answer(at_end, place) })
        .collect()
}

fn answer(found: HopResponder) -> HopAnswer {
    HopAnswer { address: found.address.to_string(), target: found.target }
}

fn changed_hop(change: &Change) -> ChangedHop {
    ChangedHop { hop: change.hop, before: answer(change.before), after: answer(change.after) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(last: u8) -> Option<HopResponder> {
        Some(HopResponder { address: IpAddr::from([198, 18, 0, last]), target: last == 9 })
    }

    #[test]
    fn both_ways_stand_beside_each_other() {
        let hops = hops(&[found(1), None, found(9)], &[found(1), found(9)]);
        let address = |answer: &Option<HopAnswer>| answer.as_ref().map(|answer| answer.address.clone());
        assert_eq!(hops.iter().map(|hop| hop.hop).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(address(&hops[0].at_start), address(&hops[0].at_end));
        assert_eq!((address(&hops[1].at_start), address(&hops[1].at_end)), (None, Some("198.18.0.9".into())));
        assert!(hops[2].at_start.as_ref().is_some_and(|answer| answer.target) && hops[2].at_end.is_none());
    }

    /// A hop that changed has both answers.
    #[test]
    fn changed_hops() {
        let changed = changes(&[found(1), found(9)], &[found(2), found(3), found(9)]);
        let hops: Vec<ChangedHop> = changed.iter().map(changed_hop).collect();
        let answers = hops.iter().map(|hop| (hop.hop, hop.before.address.as_str(), hop.before.target));
        assert_eq!(answers.collect::<Vec<_>>(), [(1, "198.18.0.1", false), (2, "198.18.0.9", true)]);
        assert_eq!(hops[1].after.address, "198.18.0.3");
    }
}
