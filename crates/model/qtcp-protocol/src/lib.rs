//! A live test as Qtcp runs it: packets, control messages, and the state machines of both ends.
//!
//! Events go in, steps come out; the time is an argument, sockets are elsewhere. A sender calls [`Sender::poll`] and does what the
//! step says, then calls it again. It reports each packet that left by [`Sender::sent`], and everything else by [`Sender::handle`].
//! A receiver reports packets and control messages to [`Receiver`], and calls [`Receiver::poll`] after each.
//!
//! | module | contents |
//! | --- | --- |
//! | [`packet`] | the header of 48 octets at the beginning of each UDP payload |
//! | [`message`] | the lines of the TCP control connection |
//! | [`pace`] | departures of a token bucket that never sends more than the bucket admits, even after a pause of the host |
//! | [`sender`], [`receiver`] | the state machines, with all conditions that end a test |
#![forbid(unsafe_code)]

pub mod message;
pub mod pace;
pub mod packet;
pub mod receiver;
pub mod sender;

pub use message::{LineBuffer, MessageError, ReceiverMessage, SenderMessage, TestOffer};
pub use packet::{HEADER_LEN, Packet, PacketKind};
pub use receiver::{Receiver, ReceiverEnd, ReceiverPlan, ReceiverStep, Taken};
pub use sender::{Sender, SenderEnd, SenderInput, SenderPlan, SenderStep};

use romer_units::Duration;

/// The port of UDP data and of the TCP control connection (Qtcp, option `-p`).
pub const DEFAULT_PORT: u16 = 5_003;
/// Packets of a test, and those that a receiver expects (Qtcp, option `-n`).
pub const DEFAULT_PACKETS: u64 = 2_048;
/// Termination packets at the end of a test (Qtcp, Theory of Operation).
pub const TERMINATION_PACKETS: u8 = 10;
/// Sequence numbers are below this: a log has as many packets as the analysis of a `.raw` file reads.
pub const MAX_PACKETS: u64 = 1 << 26;

/// When the measured phase of a test ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// After this many packets, in addition to the calibration packets.
    Packets(u64),
    /// This long after its first packet.
    Time(Duration),
}
