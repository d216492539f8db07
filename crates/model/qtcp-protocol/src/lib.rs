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
//! | [`pace`] | departures of a token bucket that never sends more than the bucket admits, even after a pause of the host; and which
//! packets without shaping conform to it |
//! | [`sender`], [`receiver`] | the state machines, with all conditions that end a test |
#![forbid(unsafe_code)]

mod limits;
pub mod message;
pub mod pace;
pub mod packet;
pub mod receiver;
pub mod sender;

pub use limits::{DEFAULT_PACKETS, DEFAULT_PORT, MAX_PACKETS, Quota, TERMINATION_PACKETS};
pub use message::{LineBuffer, MessageError, ReceiverMessage, SenderMessage, TestOffer};
pub use packet::{HEADER_LEN, Packet, PacketKind};
pub use receiver::{Receiver, ReceiverEnd, ReceiverPlan, ReceiverStep, Taken};
pub use sender::{ReservationPlan, Sender, SenderEnd, SenderInput, SenderPlan, SenderStep};
