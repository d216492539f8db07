//! `romer rsvp`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use romer_endpoint::rsvp::{self, RsvpEnd, RsvpEvent};
use romer_host::HostError;
use romer_host::clock::monotonic_now;
use romer_host::host_info::{interface_mtu, interface_with, route_to};
use romer_host::socket::wait_any;
use romer_record::Exit;
use romer_rsvp::{
    Adspec, End, Filter, Moment, PayloadTraffic, QosService, Receiver, ReceiverAction, ReceiverConfig,
    RefreshPeriod, Sender, SenderAction, SenderConfig, Session, Tspec,
};
use romer_units::Duration;
use romer_wire::ip::protocol::UDP;

use crate::args::{RsvpArgs, RsvpCommand, RsvpReceiveArgs, RsvpSendArgs, RsvpSessionArgs, ServiceOption};
use crate::failure::Failure;
use crate::measure::random_seed;
use crate::reservation::{self, LineLimit, Words, precise};
use crate::signals::Ending;
use crate::{confinement, output, signals};

/// How often the signals are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Sends or receives until it is ended, and gives the exit code.
pub(crate) fn run(arguments: &RsvpArgs) -> Result<Exit, Failure> {
    match &arguments.command {
        RsvpCommand::Send(arguments) => send(arguments),
        RsvpCommand::Receive(arguments) => receive(arguments),
    }
}

impl From<ServiceOption> for QosService {
    fn from(option: ServiceOption) -> Self {
        match option {
            ServiceOption::Guaranteed => Self::Guaranteed,
            ServiceOption::ControlledLoad => Self::ControlledLoad,
        }
    }
}

/// What the words of an end need.
struct Names {
    /// The other end, or the session.
    peer: String,
    wait: Duration,
}

/// An end whose actions have words.
trait Describe: End {
    /// The words of an action.
    ///
    /// # Errors
    /// The other end is missing.
    fn words(action: &Self::Action, names: &Names) -> Result<Vec<Words>, Failure>;
}

impl Describe for Sender {
    fn words(action: &SenderAction, names: &Names) -> Result<Vec<Words>, Failure> {
        if *action == SenderAction::NoReservation {
            return Err(Failure::with_exit(
                Exit::Unreachable,
                format!(
                    "no reservation ({}): no receiver has reserved within {}; start `romer rsvp receive` there, and check \
                     that no firewall or router drops IP protocol 46 or refuses the rate",
                    names.peer,
                    names.wait.readable()
                ),
            ));
        }
        Ok(reservation::sender_words(action).into_iter().collect())
    }
}

impl Describe for Receiver {
    fn words(action: &ReceiverAction, names: &Names) -> Result<Vec<Words>, Failure> {
        if *action == ReceiverAction::NoPath {
            return Err(Failure::with_exit(
                Exit::Unreachable,
                format!(
                    "no flow ({}): no sender has announced one within {}; start `romer rsvp send` on the other host, and \
                     check that no firewall or router drops IP protocol 46",
                    names.peer,
                    names.wait.readable()
                ),
            ));
        }
        Ok(reservation::receiver_words(action))
    }
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
    let socket = rsvp::open()?;
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
    let names = Names { peer: target.to_string(), wait: longest_wait(common) };
    output::print(&(reservation::announcement(source, &names.peer, &tspec) + "\n"));
    if let Some(note) = reservation::fragments_note(tspec.packet_size(), route.mtu) {
        output::eprint_line(&format!("note: {note}"));
    }
    let (end, first) = RsvpEnd::start(machine, actions, socket);
    exchange(end, first, &names, common)
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
    let socket = rsvp::open()?;
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
    let (end, first) = RsvpEnd::start(machine, Vec::new(), socket);
    exchange(end, first, &Names { peer, wait: longest_wait(common) }, common)
}

/// Exchanges messages until the time is over, a signal arrives or the end fails, and then removes the state of the flow.
fn exchange<E: Describe>(
    mut end: RsvpEnd<E>,
    first: Vec<RsvpEvent<E::Action>>,
    names: &Names,
    common: &RsvpSessionArgs,
) -> Result<Exit, Failure> {
    let ending = signals::ending()?;
    confinement::start(&confinement::of_end([]));
    let over = monotonic_now() + common.duration;
    let mut lines = LineLimit::new(monotonic_now());
    let result = hold(&mut end, first, names, over, &ending, &mut lines);
    for event in end.stop() {
        if let RsvpEvent::Failure(failure) = event {
            output::eprint_line(&format!("note: {failure}"));
        }
    }
    result
}

fn hold<E: Describe>(
    end: &mut RsvpEnd<E>,
    first: Vec<RsvpEvent<E::Action>>,
    names: &Names,
    over: Moment,
    ending: &Ending,
    lines: &mut LineLimit,
) -> Result<Exit, Failure> {
    show::<E>(first, names, lines)?;
    loop {
        let now = monotonic_now();
        if ending.has_come() {
            return Ok(ending.exit());
        }
        if now >= over {
            show::<E>(end.poll(now), names, lines)?;
            return Ok(ending.exit());
        }
        let next = end.deadline().unwrap_or(over).min(over).min(now + POLL_INTERVAL);
        wait_any(&[end.as_fd()], None, Some(next - now)).map_err(|error| {
            Failure::environment(format!(
                "cannot wait for RSVP messages (system): {error}; see `romer doctor`"
            ))
        })?;
        show::<E>(end.poll(monotonic_now()), names, lines)?;
    }
}

/// Prints the words of events.
fn show<E: Describe>(
    events: Vec<RsvpEvent<E::Action>>,
    names: &Names,
    lines: &mut LineLimit,
) -> Result<(), Failure> {
    for event in events {
        let words = match event {
            RsvpEvent::Action(action) => E::words(&action, names)?,
            RsvpEvent::Failure(failure) => vec![Words::Note(failure.to_string())],
        };
        for words in lines.select(words) {
            match words {
                Words::Line(text) => output::print(&format!("{text}\n")),
                Words::Note(text) => output::eprint_line(&format!("note: {text}")),
            }
        }
    }
    Ok(())
}
