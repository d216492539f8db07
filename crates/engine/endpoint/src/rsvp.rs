//! An end of an RSVP flow over a raw socket (RFC 2205 section 3.2).

use std::os::fd::{AsFd, BorrowedFd};

use romer_host::HostError;
use romer_host::raw_ipv4::RawIpv4Socket;
use romer_rsvp::{Arrival, End, Moment, Outgoing, PROTOCOL};
use romer_wire::ipv4;
use thiserror::Error;

use crate::error::EndpointError;

/// Packets that are read at once.
const MOST_READ: usize = 64;
/// The longest IPv4 packet, octets.
const LARGEST_PACKET: usize = 65_535;

/// Opens the socket of an end.
///
/// # Errors
/// [`EndpointError::Host`]: the capability `CAP_NET_RAW` is missing, or the system has no descriptor left.
pub fn open() -> Result<RawIpv4Socket, EndpointError> {
    RawIpv4Socket::open(PROTOCOL).map_err(|error| {
        let remedy = if error.is_permission() {
            "this needs the capability CAP_NET_RAW: run as root, or `sudo setcap cap_net_raw+ep $(command -v romer)`, or \
             use a lab: `romer lab up router`"
        } else {
            "see `romer doctor`"
        };
        EndpointError::host("exchange RSVP messages", "system", remedy, error)
    })
}

/// What an end reports.
#[derive(Debug)]
pub enum RsvpEvent<A> {
    /// An action that sends no packet.
    Action(A),
    /// A message was not sent, or not received. The next refresh tries again.
    Failure(RsvpFailure),
}

/// Why a message was not sent, or not received.
#[derive(Debug, Error)]
pub enum RsvpFailure {
    /// The system did not send it.
    #[error("an RSVP message was not sent: {0}")]
    Send(HostError),
    /// It is too long for a packet.
    #[error("an RSVP message was not sent: {0}")]
    TooLong(ipv4::Ipv4Error),
    /// The system reports an error of the socket.
    #[error("cannot receive RSVP messages: {0}")]
    Receive(HostError),
}

/// An end of a flow with its socket.
#[derive(Debug)]
pub struct RsvpEnd<E> {
    end: E,
    socket: RawIpv4Socket,
    buffer: Vec<u8>,
}

impl<E: End> RsvpEnd<E> {
    /// An end with the actions of its start, of which the packets are sent.
    pub fn start(
        end: E,
        actions: Vec<E::Action>,
        socket: RawIpv4Socket,
    ) -> (Self, Vec<RsvpEvent<E::Action>>) {
        let started = Self { end, socket, buffer: vec![0; LARGEST_PACKET] };
        let events = started.perform(actions);
        (started, events)
    }

    /// The time at which [`RsvpEnd::poll`] has something to do, if no packet arrives before.
    pub fn deadline(&self) -> Option<Moment> {
        self.end.deadline()
    }

    /// Does what is due at `now`, and reads what has arrived.
    pub fn poll(&mut self, now: Moment) -> Vec<RsvpEvent<E::Action>> {
        let Self { end, socket, buffer } = self;
        let mut actions = end.expire(now);
        let mut failure = None;
        for _ in 0..MOST_READ {
            match socket.receive(buffer) {
                Ok(Some(octets)) => {
                    if let Ok(packet) = ipv4::Packet::parse(octets) {
                        let arrival = Arrival { interface: 0, ttl: packet.ttl(), octets: packet.payload() };
                        actions.extend(end.receive(&arrival, now));
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    failure = Some(RsvpFailure::Receive(error));
                    break;
                }
            }
        }
        let mut events = self.perform(actions);
        events.extend(failure.map(RsvpEvent::Failure));
        events
    }

    /// Removes the state of the flow in the network. Afterwards nothing has an effect.
    pub fn stop(&mut self) -> Vec<RsvpEvent<E::Action>> {
        let actions = self.end.stop();
        self.perform(actions)
    }

    /// Sends the packets of `actions`. What remains is for the caller.
    fn perform(&self, actions: Vec<E::Action>) -> Vec<RsvpEvent<E::Action>> {
        let perform = |action| match E::sent_packet(action) {
            Ok(packet) => transmit(&self.socket, &packet).err().map(RsvpEvent::Failure),
            Err(action) => Some(RsvpEvent::Action(action)),
        };
        actions.into_iter().filter_map(perform).collect()
    }
}

impl<E> AsFd for RsvpEnd<E> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn transmit(socket: &RawIpv4Socket, packet: &Outgoing) -> Result<(), RsvpFailure> {
    let octets = packet.to_ipv4().map_err(RsvpFailure::TooLong)?;
    socket.send(&octets, packet.destination).map_err(RsvpFailure::Send)
}
