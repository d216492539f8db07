//! A live test as Qtcp runs it: [`send()`] and [`receive()`] drive the state machines of `romer-qtcp-protocol` with sockets and clocks, and
//! [`evaluate()`] makes the files' entries and the document of what was received.
//!
//! | module | contents |
//! | --- | --- |
//! | `send` | UDP packets paced by a token bucket, their kernel time stamps, and the control connection |
//! | `receive` | UDP packets with kernel time stamps, the listener of the control connection, and the log in memory |
//! | `evaluate` | queuing delays without skew, lost numbers, and figures of both phases and of the measured one |
//! | `control` | lines over a TCP connection, without blocking |
//! | `reserve` | RSVP messages of both ends, and what is known of the reservation |
//! | `outcome` | requested and sent traffic, for documents |
//! | `marking` | code point and priority of packets, which follow their conformance |
//! | `payload` | what payloads have behind their header |
//! | `console` | the terminal of a test, which the caller provides |

mod console;
mod control;
mod error;
mod evaluate;
mod marking;
mod outcome;
mod payload;
mod receive;
mod reserve;
mod send;

pub use console::{Console, Key, Notice, ReservationEvent};
pub use error::{NoAnswer, NoReservation, PathMtu, QtcpError, Rejection};
pub use evaluate::{Evaluation, evaluate};
pub use receive::{Arrival, ReceiveOptions, Received, receive};
pub use reserve::{ServiceOptions, service_level};
pub use send::{SendOptions, send};
