//! The reservation of a test: each end exchanges RSVP messages while the test runs.

use std::net::{IpAddr, SocketAddr};

use romer_endpoint::rsvp::{self, RsvpEnd, RsvpEvent};
use romer_endpoint::{EndpointError, random_words};
use romer_host::clock::monotonic_now;
use romer_host::host_info::{interface_mtu, interface_with, route_to};
use romer_host::raw_ipv4::RawIpv4Socket;
use romer_qtcp_protocol::sender::RECEIVER_TIMEOUT;
use romer_record::qtcp::{
    QtcpFlowTraffic, QtcpReservation, QtcpReservationError, QtcpReservationState, QtcpReservedPath,
};
use romer_record::service::{Marks, Service};
use romer_rsvp::{
    Adspec, ErrorSpec, Filter, PathReport, QosService, Receiver, ReceiverAction, ReceiverConfig,
    RefreshPeriod, Sender, SenderAction, SenderConfig, Session, Tspec,
};
use romer_units::random::Seed;
use romer_units::{Duration, Monotonic, Timestamp};

use crate::console::ReservationEvent;
use crate::error::{NoReservation, QtcpError};

/// How often messages are read: test packets come first.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The IP protocol number of UDP.
const UDP: u8 = 17;

/// A service that is requested for a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceOptions {
    /// The service.
    pub service: QosService,
    /// The traffic that is announced.
    pub tspec: Tspec,
    /// The marks of packets that conform to the token bucket, and of those that do not.
    pub marks: [Marks; 2],
}

/// The service level of a service.
pub const fn service_level(service: QosService) -> Service {
    match service {
        QosService::Guaranteed => Service::Guaranteed,
        QosService::ControlledLoad => Service::ControlledLoad,
    }
}

fn seed() -> Seed {
    Seed(random_words())
}

fn announced(tspec: &Tspec) -> QtcpFlowTraffic {
    QtcpFlowTraffic {
        token_rate_octets_per_s: tspec.rate().into(),
        bucket_depth_octets: tspec.bucket().into(),
        min_policed_octets: tspec.policed_unit(),
        max_packet_octets: tspec.packet_size(),
    }
}

/// Records an error. Whether it is a new one.
fn record_error(record: &mut QtcpReservation, error: &ErrorSpec) -> bool {
    record.record(QtcpReservationError {
        node: error.node.to_string(),
        code: error.code.code(),
        value: error.code.value(),
        meaning: error.code.to_string(),
    })
}

/// The sender's part of a reservation.
#[derive(Debug)]
pub(crate) struct SenderReservation {
    options: ServiceOptions,
    /// Before the start.
    socket: Option<RawIpv4Socket>,
    /// From the start on.
    end: Option<RsvpEnd<Sender>>,
    next_poll: Timestamp<Monotonic>,
    record: QtcpReservation,
    /// Why there is no reservation yet.
    missing: NoReservation,
}

impl SenderReservation {
    /// A reservation that is not announced yet.
    ///
    /// # Errors
    /// The capability `CAP_NET_RAW` is missing.
    pub(crate) fn open(options: &ServiceOptions) -> Result<Self, QtcpError> {
        Ok(Self {
            options: *options,
            socket: Some(rsvp::open()?),
            end: None,
            next_poll: monotonic_now(),
            record: QtcpReservation::new(service_level(options.service)),
            missing: NoReservation::Silent,
        })
    }

    /// Announces the flow from `port` of this host to `receiver`.
    ///
    /// # Errors
    /// There is no route, or an address is none that RSVP can reserve for.
    pub(crate) fn start(
        &mut self,
        port: u16,
        receiver: SocketAddr,
    ) -> Result<Vec<ReservationEvent>, QtcpError> {
        let Some(socket) = self.socket.take() else { return Ok(Vec::new()) };
        let ServiceOptions { service, tspec, .. } = self.options;
        let route = route_to(receiver).map_err(|error| {
            EndpointError::host("find a route to", receiver.to_string(), "check `ip route`", error)
        })?;
        let not_reservable = || QtcpError::NotReservable { address: receiver };
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (route.source, receiver.ip()) else {
            return Err(not_reservable());
        };
        let session = Session::new(destination, UDP, receiver.port()).ok_or_else(not_reservable)?;
        let source = Filter::new(source, port).ok_or_else(not_reservable)?;
        let config = SenderConfig {
            // The first router polices.
            session: session.with_e_police(true),
            source,
            tspec,
            adspec: Some(Adspec::announce(route.mtu, &[service])),
            period: RefreshPeriod::DEFAULT,
            wait: RECEIVER_TIMEOUT,
        };
        let (machine, actions) = Sender::start(config, seed(), monotonic_now()).ok_or_else(not_reservable)?;
        let (end, first) = RsvpEnd::start(machine, actions, socket);
        self.end = Some(end);
        self.record.announced = Some(announced(&tspec));
        let mut events = vec![ReservationEvent::Announced { source, receiver, tspec, mtu: route.mtu }];
        events.extend(self.note_all(first));
        Ok(events)
    }

    /// What has happened until `now`.
    pub(crate) fn poll(&mut self, now: Timestamp<Monotonic>) -> Vec<ReservationEvent> {
        let Some(end) = self.end.as_mut().filter(|_| now >= self.next_poll) else { return Vec::new() };
        self.next_poll = now + POLL_INTERVAL;
        let events = end.poll(now);
        self.note_all(events)
    }

    fn note_all(&mut self, events: Vec<RsvpEvent<SenderAction>>) -> Vec<ReservationEvent> {
        events.into_iter().map(|event| self.note(event)).collect()
    }

    fn note(&mut self, event: RsvpEvent<SenderAction>) -> ReservationEvent {
        let action = match event {
            RsvpEvent::Action(action) => action,
            RsvpEvent::Failure(failure) => return ReservationEvent::Failure(failure),
        };
        match &action {
            SenderAction::Reserved(flowspec) => {
                self.record.state = QtcpReservationState::Reserved;
                self.record.rate_octets_per_s = Some(flowspec.rate().into());
            }
            SenderAction::PathError(error) => {
                self.refused(error);
            }
            SenderAction::ReservationTorn | SenderAction::ReservationExpired => {
                self.record.state = QtcpReservationState::Lost;
            }
            SenderAction::Send(_) | SenderAction::NoReservation | SenderAction::Discarded(_) => {}
        }
        ReservationEvent::Sender(action)
    }

    /// A node refuses the flow or its reservation. Whether it is a new error.
    pub(crate) fn refused(&mut self, error: &ErrorSpec) -> bool {
        self.missing = NoReservation::Reported(*error);
        record_error(&mut self.record, error)
    }

    /// The receiver cannot reserve.
    pub(crate) fn receiver_cannot(&mut self) {
        self.missing = NoReservation::ReceiverCannot;
        self.record.state = QtcpReservationState::Unavailable;
    }

    /// Why there is no reservation.
    pub(crate) fn missing(&self) -> NoReservation {
        self.missing.clone()
    }

    /// What is known of it.
    pub(crate) const fn record(&self) -> &QtcpReservation {
        &self.record
    }

    /// Removes it.
    pub(crate) fn stop(&mut self) {
        if let Some(mut end) = self.end.take() {
            // Where a message is not sent, the reservation ends by itself.
            drop(end.stop());
        }
    }
}

/// The receiver's part of a reservation.
#[derive(Debug)]
pub(crate) struct ReceiverReservation {
    /// `None` if this host cannot reserve.
    end: Option<RsvpEnd<Receiver>>,
    next_poll: Timestamp<Monotonic>,
    /// The sender's host, by its control connection.
    sender: IpAddr,
    record: QtcpReservation,
}

impl ReceiverReservation {
    /// Reserves for flows to `local` from now on; with why this host cannot, if so.
    pub(crate) fn start(service: QosService, local: SocketAddr, sender: IpAddr) -> (Self, Option<QtcpError>) {
        let mut record = QtcpReservation::new(service_level(service));
        let (end, error) = match open_receiver(service, local) {
            Ok(end) => (Some(end), None),
            Err(error) => {
                record.state = QtcpReservationState::Unavailable;
                (None, Some(error))
            }
        };
        (Self { end, next_poll: monotonic_now(), sender, record }, error)
    }

    /// What has happened until `now`.
    pub(crate) fn poll(&mut self, now: Timestamp<Monotonic>) -> Vec<ReservationEvent> {
        let Some(end) = self.end.as_mut().filter(|_| now >= self.next_poll) else { return Vec::new() };
        self.next_poll = now + POLL_INTERVAL;
        let events = end.poll(now);
        events.into_iter().map(|event| self.note(event)).collect()
    }

    fn note(&mut self, event: RsvpEvent<ReceiverAction>) -> ReservationEvent {
        let action = match event {
            RsvpEvent::Action(action) => action,
            RsvpEvent::Failure(failure) => return ReservationEvent::Failure(failure),
        };
        match &action {
            ReceiverAction::Path(report) if self.is_from_sender(report.source) => self.record_path(report),
            ReceiverAction::Confirmed(source, node) if self.is_from_sender(*source) => {
                self.record.state = QtcpReservationState::Reserved;
                self.record.confirmed_by = Some(node.to_string());
            }
            ReceiverAction::PathTorn(source) | ReceiverAction::PathExpired(source)
                if self.is_from_sender(*source) =>
            {
                self.record.state = QtcpReservationState::Lost;
            }
            _ => {}
        }
        ReservationEvent::Receiver(action)
    }

    fn record_path(&mut self, report: &PathReport) {
        self.record.state = QtcpReservationState::Requested;
        self.record.announced = Some(announced(&report.tspec));
        self.record.rate_octets_per_s = Some(report.flowspec.rate().into());
        self.record.path = Some(QtcpReservedPath {
            mtu_octets: report.mtu,
            hops: report.hops,
            has_gap: report.breaks.path,
            has_service_gap: report.breaks.service,
            delay_bound_ns: report.delay_bound.map(Duration::as_nanos),
        });
    }

    /// Anybody can announce a flow; the test has one sender.
    fn is_from_sender(&self, source: Filter) -> bool {
        IpAddr::V4(source.address()) == self.sender
    }

    /// A node refuses the reservation for `source`. Whether the sender should learn of it: it is a new error of the sender's flow.
    pub(crate) fn refused(&mut self, source: Filter, error: &ErrorSpec) -> bool {
        self.is_from_sender(source) && record_error(&mut self.record, error)
    }

    /// Removes it. What is known of it.
    pub(crate) fn stop(mut self) -> QtcpReservation {
        if let Some(end) = &mut self.end {
            // Where a message is not sent, the reservation ends by itself.
            drop(end.stop());
        }
        self.record
    }
}

fn open_receiver(service: QosService, local: SocketAddr) -> Result<RsvpEnd<Receiver>, QtcpError> {
    let not_reservable = || QtcpError::NotReservable { address: local };
    let IpAddr::V4(address) = local.ip().to_canonical() else { return Err(not_reservable()) };
    let unknown = |error| {
        EndpointError::host("read the addresses of this host", local.to_string(), "see `romer doctor`", error)
    };
    let interface = interface_with(address.into()).map_err(unknown)?.ok_or_else(not_reservable)?;
    let config = ReceiverConfig {
        session: Session::new(address, UDP, local.port()).ok_or_else(not_reservable)?,
        address,
        service: Some(service),
        confirm: true,
        mtu: interface_mtu(&interface).map_err(unknown)?,
        period: RefreshPeriod::DEFAULT,
        wait: RECEIVER_TIMEOUT,
    };
    let socket = rsvp::open()?;
    let machine = Receiver::start(config, seed(), monotonic_now()).ok_or_else(not_reservable)?;
    Ok(RsvpEnd::start(machine, Vec::new(), socket).0)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use romer_rsvp::{ErrorCode, Flowspec};

    use super::*;

    const SENDER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

    fn tspec() -> Tspec {
        Tspec::new(4_312.5, 92.0, f32::INFINITY, 92, 92).unwrap()
    }

    /// What the receiver records is that of its own sender, whoever else announces flows or sends errors.
    #[test]
    fn strangers_are_not_recorded() {
        let mut receiver = ReceiverReservation {
            end: None,
            next_poll: Timestamp::from_nanos(0),
            sender: SENDER.into(),
            record: QtcpReservation::new(Service::Guaranteed),
        };
        let source = |address| Filter::new(address, 5_003).unwrap();
        let stranger = source(Ipv4Addr::new(198, 18, 0, 9));
        let flowspec = Flowspec::guaranteed(tspec(), 4_312.5, 0).unwrap();
        let report = |source| PathReport {
            source,
            tspec: tspec(),
            flowspec,
            mtu: Some(1_500),
            hops: Some(1),
            breaks: romer_rsvp::Breaks::default(),
            delay_bound: Some(Duration::from_millis(100)),
        };
        let error = ErrorSpec::new(Ipv4Addr::new(198, 18, 0, 1), ErrorCode::BANDWIDTH);
        receiver.note(RsvpEvent::Action(ReceiverAction::Path(report(stranger))));
        receiver.note(RsvpEvent::Action(ReceiverAction::Confirmed(stranger, SENDER)));
        assert!(!receiver.refused(stranger, &error));
        assert_eq!(receiver.record, QtcpReservation::new(Service::Guaranteed));
        receiver.note(RsvpEvent::Action(ReceiverAction::Path(report(source(SENDER)))));
        assert_eq!(receiver.record.state, QtcpReservationState::Requested);
        assert_eq!(receiver.record.path.unwrap().delay_bound_ns, Some(100_000_000));
        receiver.note(RsvpEvent::Action(ReceiverAction::Confirmed(source(SENDER), SENDER)));
        assert_eq!(receiver.record.confirmed_by.as_deref(), Some("198.18.0.2"));
        assert_eq!([(); 2].map(|()| receiver.refused(source(SENDER), &error)), [true, false]);
        receiver.note(RsvpEvent::Action(ReceiverAction::PathTorn(source(SENDER))));
        assert_eq!(receiver.stop().state, QtcpReservationState::Lost);
    }

    /// The reason of a missing reservation is the latest report.
    #[test]
    fn missing_reservations_have_a_reason() {
        let marks = Marks { dscp: romer_units::Dscp::DEFAULT, priority: 0 };
        let mut sender = SenderReservation {
            options: ServiceOptions { service: QosService::Guaranteed, tspec: tspec(), marks: [marks; 2] },
            socket: None,
            end: None,
            next_poll: Timestamp::from_nanos(0),
            record: QtcpReservation::new(Service::Guaranteed),
            missing: NoReservation::Silent,
        };
        assert_eq!(sender.missing().to_string(), "no receiver has reserved within 30 s");
        let error = ErrorSpec::new(Ipv4Addr::new(198, 18, 0, 1), ErrorCode::BANDWIDTH);
        sender.note(RsvpEvent::Action(SenderAction::PathError(error)));
        assert_eq!(sender.missing().to_string(), error.to_string());
        assert_eq!(sender.record().errors[0].meaning, ErrorCode::BANDWIDTH.to_string());
        sender.receiver_cannot();
        assert!(sender.missing().to_string().contains("CAP_NET_RAW"));
        let reserved = Flowspec::controlled_load(tspec());
        sender.note(RsvpEvent::Action(SenderAction::Reserved(reserved)));
        assert_eq!(sender.record().rate_octets_per_s, Some(4_312.5));
        assert_eq!(sender.record().state, QtcpReservationState::Reserved);
    }
}
