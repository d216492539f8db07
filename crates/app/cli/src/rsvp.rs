//! `romer rsvp`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use romer_host::HostError;
use romer_host::clock::monotonic_now;
use romer_host::host_info::{interface_mtu, interface_with, route_to};
use romer_host::raw_ipv4::RawIpv4Socket;
use romer_host::socket::wait_any;
use romer_record::Exit;
use romer_rsvp::{
    Adspec, Arrival, Breaks, Filter, Flowspec, Moment, Outgoing, PROTOCOL, PathReport, PayloadTraffic,
    QosService, Receiver, ReceiverAction, ReceiverConfig, RefreshPeriod, Sender, SenderAction, SenderConfig,
    Session, Tspec,
};
use romer_units::{Dscp, Duration, counted};
use romer_wire::ip::Ecn;
use romer_wire::ip::protocol::UDP;
use romer_wire::ipv4;

use crate::args::{RsvpArgs, RsvpCommand, RsvpReceiveArgs, RsvpSendArgs, RsvpSessionArgs, ServiceOption};
use crate::failure::Failure;
use crate::measure::random_seed;
use crate::signals::Ending;
use crate::{output, signals};

/// The option Router Alert (RFC 2113).
const ROUTER_ALERT: [u8; 4] = [0x94, 4, 0, 0];
/// The code point of network control (RFC 4594).
const NETWORK_CONTROL: Option<Dscp> = Dscp::new(48);
/// How often the signals are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Lines that messages may cause in a second: anybody can send them.
const MOST_LINES: u32 = 20;
/// Packets that are read at once.
const MOST_READ: usize = 64;
/// Octets of the headers of IPv4 and UDP.
const IP_AND_UDP: u32 = 28;
/// The longest IPv4 packet.
const LARGEST_PACKET: usize = 65_535;

/// Sends or receives until it is ended, and gives the exit code.
pub(crate) fn run(arguments: &RsvpArgs) -> Result<Exit, Failure> {
    match &arguments.command {
        RsvpCommand::Send(arguments) => send(arguments),
        RsvpCommand::Receive(arguments) => receive(arguments),
    }
}

/// What an end does next.
enum Step {
    Send(Outgoing),
    Print(String),
    Note(String),
    Fail(Failure),
}

/// An end of a flow.
trait End {
    fn deadline(&self) -> Option<Moment>;
    fn expire(&mut self, now: Moment) -> Vec<Step>;
    fn receive(&mut self, arrival: &Arrival<'_>, now: Moment) -> Vec<Step>;
    fn stop(&mut self) -> Vec<Step>;
}

impl From<ServiceOption> for QosService {
    fn from(option: ServiceOption) -> Self {
        match option {
            ServiceOption::Guaranteed => Self::Guaranteed,
            ServiceOption::ControlledLoad => Self::ControlledLoad,
        }
    }
}

/// An end with what its messages need.
struct Named<M> {
    machine: M,
    /// The other end, or the session.
    peer: String,
    wait: Duration,
}

impl Named<Sender> {
    fn steps(&self, actions: Vec<SenderAction>) -> Vec<Step> {
        actions.into_iter().filter_map(|action| self.step(action)).collect()
    }
    fn step(&self, action: SenderAction) -> Option<Step> {
        Some(match action {
            SenderAction::Send(packet) => Step::Send(packet),
            SenderAction::Reserved(flowspec) => Step::Print(format!("reserved: {}", described(&flowspec))),
            SenderAction::PathError(error) => Step::Note(error.to_string()),
            SenderAction::ReservationTorn => Step::Print("the reservation was removed".into()),
            SenderAction::ReservationExpired => {
                Step::Print("the reservation has ended: no refresh arrives".into())
            }
            SenderAction::NoReservation => Step::Fail(Failure::with_exit(
                Exit::Unreachable,
                format!(
                    "no reservation ({}): no receiver has reserved within {}; start `romer rsvp receive` there, and check \
                     that no firewall or router drops IP protocol 46 or refuses the rate",
                    self.peer,
                    self.wait.readable()
                ),
            )),
            // Other programs' messages arrive too.
            SenderAction::Discarded(_) => return None,
        })
    }
}

impl End for Named<Sender> {
    fn deadline(&self) -> Option<Moment> {
        self.machine.deadline()
    }
    fn expire(&mut self, now: Moment) -> Vec<Step> {
        let actions = self.machine.expire(now);
        self.steps(actions)
    }
    fn receive(&mut self, arrival: &Arrival<'_>, now: Moment) -> Vec<Step> {
        let actions = self.machine.receive(arrival, now);
        self.steps(actions)
    }
    fn stop(&mut self) -> Vec<Step> {
        let actions = self.machine.stop();
        self.steps(actions)
    }
}

impl Named<Receiver> {
    fn steps(&self, actions: Vec<ReceiverAction>) -> Vec<Step> {
        actions.into_iter().flat_map(|action| self.step(action)).collect()
    }
    fn step(&self, action: ReceiverAction) -> Vec<Step> {
        let step = match action {
            ReceiverAction::Send(packet) => Step::Send(packet),
            ReceiverAction::Path(report) => return path_steps(&report),
            ReceiverAction::NotOffered(source) => {
                Step::Note(format!("{} does not offer the service: nothing is reserved", shown(source)))
            }
            ReceiverAction::Confirmed(source, node) => {
                Step::Print(format!("reserved for {}, confirmed by {node}", shown(source)))
            }
            ReceiverAction::ReservationError(source, error) => {
                Step::Note(format!("no reservation for {}: {error}", shown(source)))
            }
            ReceiverAction::PathTorn(source) => Step::Print(format!("the flow {} has ended", shown(source))),
            ReceiverAction::PathExpired(source) => {
                Step::Print(format!("the flow {} has ended: no refresh arrives", shown(source)))
            }
            ReceiverAction::NoPath => Step::Fail(Failure::with_exit(
                Exit::Unreachable,
                format!(
                    "no flow ({}): no sender has announced one within {}; start `romer rsvp send` on the other host, and \
                     check that no firewall or router drops IP protocol 46",
                    self.peer,
                    self.wait.readable()
                ),
            )),
            // Other programs' messages arrive too.
            ReceiverAction::Discarded(_) => return Vec::new(),
        };
        vec![step]
    }
}

impl End for Named<Receiver> {
    fn deadline(&self) -> Option<Moment> {
        self.machine.deadline()
    }
    fn expire(&mut self, now: Moment) -> Vec<Step> {
        let actions = self.machine.expire(now);
        self.steps(actions)
    }
    fn receive(&mut self, arrival: &Arrival<'_>, now: Moment) -> Vec<Step> {
        let actions = self.machine.receive(arrival, now);
        self.steps(actions)
    }
    fn stop(&mut self) -> Vec<Step> {
        let actions = self.machine.stop();
        self.steps(actions)
    }
}

fn shown(source: Filter) -> String {
    format!("{}:{}", source.address(), source.port())
}

/// A request as text.
fn described(flowspec: &Flowspec) -> String {
    let tspec = flowspec.tspec();
    format!(
        "{}, {} bytes/s, bursts of {} bytes, packets of at most {} bytes",
        flowspec.service(),
        flowspec.rate(),
        tspec.bucket(),
        tspec.packet_size()
    )
}

/// What a receiver says of a flow.
fn path_steps(report: &PathReport) -> Vec<Step> {
    let bound = report.delay_bound.map(|bound| format!("; queueing delay at most {}", bound.rounded()));
    let mut steps = vec![Step::Print(format!(
        "reserving for {}: {}{}",
        shown(report.source),
        described(&report.flowspec),
        bound.unwrap_or_default()
    ))];
    let Breaks { path, service } = report.breaks;
    if path {
        steps.push(Step::Note("a router on the path has no RSVP: the reservation has a gap there".into()));
    }
    if service {
        steps.push(Step::Note(format!(
            "a router on the path does not support {}: the reservation has a gap there",
            report.flowspec.service()
        )));
    }
    steps
}

/// The session of UDP packets to `destination`.
fn session(destination: Ipv4Addr, port: u16, flag: &str) -> Result<Session, Failure> {
    let session = Session::new(destination, UDP, port).filter(|_| is_of_one_host(destination));
    session.ok_or_else(|| {
        Failure::usage(format!(
            "no address of a host ({flag} {destination}): a reservation has one receiver; give its IPv4 address"
        ))
    })
}

const fn is_of_one_host(address: Ipv4Addr) -> bool {
    !address.is_unspecified() && !address.is_multicast() && !address.is_broadcast()
}

/// How long the other end is waited for. What has come to nothing by the end has failed.
fn longest_wait(common: &RsvpSessionArgs) -> Duration {
    common.waiting_time.min(common.duration)
}

fn send(arguments: &RsvpSendArgs) -> Result<Exit, Failure> {
    let RsvpSendArgs { receiver, session: ref common, service, size, token_rate, bucket } = *arguments;
    let session = session(receiver, common.port, "ADDR")?;
    let traffic = PayloadTraffic {
        payload: size,
        rate: precise(token_rate) / 8.0,
        bucket: bucket.map_or(f64::from(size), precise),
        policed_unit: size,
        packet_size: size,
    };
    let tspec = Tspec::prorated(&traffic).map_err(|error| {
        Failure::usage(format!(
            "the traffic cannot be described (--size, --token-rate, --bucket): {error}; give a rate of at least 1Bps and \
             a size of at least 1B"
        ))
    })?;
    let target = SocketAddr::from((receiver, common.port));
    let no_route = |why: &dyn std::fmt::Display| {
        Failure::environment(format!("no route to the receiver ({receiver}): {why}; check `ip route`"))
    };
    let route = route_to(target).map_err(|error| no_route(&error))?;
    let IpAddr::V4(address) = route.source else { return Err(no_route(&"its source has no IPv4 address")) };
    let source = Filter::new(address, common.port).ok_or_else(|| no_route(&"it has no source address"))?;
    let offered = service.map_or_else(
        || vec![QosService::Guaranteed, QosService::ControlledLoad],
        |service| vec![service.into()],
    );
    let socket = open()?;
    let config = SenderConfig {
        // The first router polices: romer does not.
        session: session.with_e_police(true),
        source,
        tspec,
        adspec: Some(Adspec::announce(route.mtu, &offered)),
        period: RefreshPeriod::DEFAULT,
        wait: longest_wait(common),
    };
    let (machine, actions) = Sender::start(config, random_seed(), monotonic_now())
        .ok_or_else(|| no_route(&"its source is no address of a host"))?;
    output::print(&format!(
        "announcing {} > {target}: {} bytes/s, bursts of {} bytes, packets of {} bytes\n",
        shown(source),
        tspec.rate(),
        tspec.bucket(),
        tspec.packet_size()
    ));
    if let Some(note) = fragments_note(tspec.packet_size(), route.mtu) {
        output::eprint_line(&format!("note: {note}"));
    }
    let mut end = Named { machine, peer: target.to_string(), wait: longest_wait(common) };
    let first = end.steps(actions);
    exchange(&mut end, first, &socket, common)
}

/// What is said of packets that do not fit.
fn fragments_note(packet_size: u32, mtu: u32) -> Option<String> {
    (packet_size > mtu).then(|| {
        format!(
            "packets of {packet_size} bytes exceed the MTU of {mtu} bytes and are fragmented; only the first fragment has the UDP port \
             by which routers find the reservation; use --size {} or less",
            mtu.saturating_sub(IP_AND_UDP)
        )
    })
}

/// The nearest double-precision number.
#[expect(clippy::cast_precision_loss, reason = "a TSpec has single precision")]
const fn precise(value: u64) -> f64 {
    value as f64
}

fn receive(arguments: &RsvpReceiveArgs) -> Result<Exit, Failure> {
    let RsvpReceiveArgs { address, session: ref common, service } = *arguments;
    let session = session(address, common.port, "ADDR")?;
    let unknown = |error: HostError| {
        Failure::environment(format!(
            "cannot read this host's addresses (system): {error}; see `romer doctor`"
        ))
    };
    let interface = interface_with(address.into()).map_err(unknown)?.ok_or_else(|| {
        Failure::environment(format!(
            "no such address on this host ({address}): a receiver reserves for its own address; `ip address` lists them"
        ))
    })?;
    let mtu = interface_mtu(&interface).map_err(unknown)?;
    let socket = open()?;
    let config = ReceiverConfig {
        session,
        address,
        service: service.map(QosService::from),
        confirm: true,
        mtu,
        period: RefreshPeriod::DEFAULT,
        wait: longest_wait(common),
    };
    let machine = Receiver::start(config, random_seed(), monotonic_now()).ok_or_else(|| {
        Failure::usage(format!("no address of a host (ADDR {address}): give the IPv4 address of this host"))
    })?;
    let peer = SocketAddr::from((address, common.port)).to_string();
    output::print(&format!("waiting for flows to {peer}\n"));
    let mut end = Named { machine, peer, wait: longest_wait(common) };
    exchange(&mut end, Vec::new(), &socket, common)
}

fn open() -> Result<RawIpv4Socket, Failure> {
    RawIpv4Socket::open(PROTOCOL).map_err(|error| {
        let remedy = if error.is_permission() {
            "this needs the capability CAP_NET_RAW: run as root, or `sudo setcap cap_net_raw+ep $(command -v romer)`, or \
             use a lab: `romer lab up router`"
        } else {
            "see `romer doctor`"
        };
        Failure::environment(format!("cannot exchange RSVP messages (system): {error}; {remedy}"))
    })
}

/// Exchanges messages until the time is over, a signal arrives or the end fails, and then removes the state of the flow.
fn exchange(
    end: &mut impl End,
    first: Vec<Step>,
    socket: &RawIpv4Socket,
    common: &RsvpSessionArgs,
) -> Result<Exit, Failure> {
    let ending = signals::ending()?;
    let over = monotonic_now() + common.duration;
    let result = hold(end, first, socket, over, &ending);
    for step in end.stop() {
        if let Step::Send(packet) = step
            && let Some(note) = transmit(socket, &packet)
        {
            output::eprint_line(&note);
        }
    }
    result
}

/// Bounds the lines that are shown in a second.
#[derive(Debug)]
struct LineLimit {
    since: Moment,
    shown: u32,
    left_out: u64,
}

impl LineLimit {
    const fn new(now: Moment) -> Self {
        Self { since: now, shown: 0, left_out: 0 }
    }

    /// Whether a line is shown at `now`: with it, how many were left out since the last one.
    fn admit(&mut self, now: Moment) -> Option<u64> {
        if now - self.since >= Duration::from_secs(1) {
            (self.since, self.shown) = (now, 0);
        }
        if self.shown >= MOST_LINES {
            self.left_out += 1;
            return None;
        }
        self.shown += 1;
        Some(std::mem::take(&mut self.left_out))
    }

    /// Shows what `show` shows, if a line may be shown.
    fn show(&mut self, show: impl FnOnce()) {
        let Some(left_out) = self.admit(monotonic_now()) else { return };
        if left_out > 0 {
            output::eprint_line(&format!(
                "note: too many messages arrive: {} left out",
                counted(left_out, "line")
            ));
        }
        show();
    }
}

fn hold(
    end: &mut impl End,
    first: Vec<Step>,
    socket: &RawIpv4Socket,
    over: Moment,
    ending: &Ending,
) -> Result<Exit, Failure> {
    let mut steps = first;
    let mut buffer = vec![0; LARGEST_PACKET];
    let mut lines = LineLimit::new(monotonic_now());
    loop {
        for step in steps {
            match step {
                Step::Send(packet) => {
                    if let Some(note) = transmit(socket, &packet) {
                        lines.show(|| output::eprint_line(&note));
                    }
                }
                Step::Print(text) => lines.show(|| output::print(&format!("{text}\n"))),
                Step::Note(text) => lines.show(|| output::eprint_line(&format!("note: {text}"))),
                Step::Fail(failure) => return Err(failure),
            }
        }
        let now = monotonic_now();
        if ending.has_come() {
            return Ok(ending.exit());
        }
        if now >= over {
            let failure = end.expire(now).into_iter().find_map(|step| match step {
                Step::Fail(failure) => Some(failure),
                Step::Send(_) | Step::Print(_) | Step::Note(_) => None,
            });
            return failure.map_or_else(|| Ok(ending.exit()), Err);
        }
        let next = end.deadline().unwrap_or(over).min(over).min(now + POLL_INTERVAL);
        wait_any(&[socket.as_fd()], None, Some(next - now)).map_err(|error| {
            Failure::environment(format!(
                "cannot wait for RSVP messages (system): {error}; see `romer doctor`"
            ))
        })?;
        let now = monotonic_now();
        steps = end.expire(now);
        steps.extend(read(end, socket, &mut buffer, now));
    }
}

/// Reads what has arrived.
fn read(end: &mut impl End, socket: &RawIpv4Socket, buffer: &mut [u8], now: Moment) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..MOST_READ {
        match socket.receive(buffer) {
            Ok(Some(octets)) => {
                if let Ok(packet) = ipv4::Packet::parse(octets) {
                    let arrival = Arrival { interface: 0, ttl: packet.ttl(), octets: packet.payload() };
                    steps.extend(end.receive(&arrival, now));
                }
            }
            Ok(None) => break,
            Err(error) => {
                steps.push(Step::Note(format!("cannot receive: {error}")));
                break;
            }
        }
    }
    steps
}

/// Sends a packet. A failure is a note, which is returned: the next refresh tries again.
fn transmit(socket: &RawIpv4Socket, packet: &Outgoing) -> Option<String> {
    let header = ipv4::Repr {
        source: packet.source,
        destination: packet.destination,
        dscp: NETWORK_CONTROL.unwrap_or(Dscp::DEFAULT),
        ecn: Ecn::of_tos(0),
        identification: 0,
        dont_fragment: false,
        ttl: packet.ttl,
        protocol: PROTOCOL,
        options: ipv4::Options::new(if packet.router_alert { &ROUTER_ALERT } else { &[] })
            .unwrap_or_default(),
    };
    let mut octets = vec![0; header.octets() + packet.octets.len()];
    let sent = match header.emit(&mut octets) {
        Ok(payload) => {
            payload.copy_from_slice(&packet.octets);
            socket.send(&octets, packet.destination).map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    };
    sent.err().map(|why| format!("note: an RSVP message was not sent: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flood of messages makes 20 lines a second, and the next line is preceded by the number of those left out.
    #[test]
    fn lines_of_a_second_are_bounded() {
        let at = |millis: i64| Moment::from_nanos(millis * 1_000_000);
        let mut lines = LineLimit::new(at(0));
        let shown = (0..1_000).filter(|millis| lines.admit(at(*millis)).is_some()).count();
        assert_eq!(shown, 20);
        assert_eq!([1_000, 1_001].map(|millis| lines.admit(at(millis))), [Some(980), Some(0)]);
        assert_eq!((0..30).filter(|_| lines.admit(at(1_500)).is_some()).count(), 18);
        assert_eq!(lines.admit(at(3_000)), Some(12));
    }
}
