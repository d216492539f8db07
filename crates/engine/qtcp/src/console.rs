//! The user, as a test sees him.

use std::net::SocketAddr;

use romer_endpoint::rsvp::RsvpFailure;
use romer_rsvp::{ErrorSpec, Filter, ReceiverAction, SenderAction, Tspec};

use crate::error::QtcpError;

/// What the user entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A line, without its end.
    Line(String),
    /// Standard input has ended.
    End,
}

/// What the user should see during a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The sender waits for its receiver.
    WaitingForReceiver,
    /// The receiver waits for its sender.
    WaitingForSender,
    /// Another hundred packets.
    Dot,
    /// The calibration is complete; the user continues with `c`.
    Prompt,
    /// The reservation is held; the user ends it by a line.
    Holding,
    /// The control connection failed; the test goes on.
    ControlLost,
    /// The test goes on without a control connection.
    NoControl,
    /// The kernel does not stamp packets; the program does.
    NoKernelStamps,
}

/// What happens to the reservation of a test.
#[derive(Debug)]
pub enum ReservationEvent {
    /// The sender announces its flow.
    Announced {
        /// Where packets come from.
        source: Filter,
        /// Where they go.
        receiver: SocketAddr,
        /// The traffic.
        tspec: Tspec,
        /// The MTU of the route, octets.
        mtu: u32,
    },
    /// An action of the sender that sends no packet.
    Sender(SenderAction),
    /// An action of the receiver that sends no packet.
    Receiver(ReceiverAction),
    /// A message was not sent, or not received.
    Failure(RsvpFailure),
    /// The receiver passes on that a node refuses its request. It continues to request the reservation.
    Refused(ErrorSpec),
    /// The receiver cannot reserve.
    ReceiverCannot,
    /// This receiver cannot reserve. The test goes on.
    Cannot(QtcpError),
}

/// The terminal of a test. Nothing blocks.
pub trait Console {
    /// Shows a notice.
    fn show(&mut self, notice: Notice);
    /// Shows what happens to the reservation.
    fn show_reservation(&mut self, event: &ReservationEvent);
    /// What was entered since the last call, one entry at a time.
    fn key(&mut self) -> Option<Key>;
    /// Whether the user interrupted the program.
    fn is_interrupted(&self) -> bool;
}
