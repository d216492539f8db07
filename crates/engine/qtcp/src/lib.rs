//! A live test as Qtcp runs it: [`send()`] and [`receive()`] drive the state machines of `romer-qtcp-protocol` with sockets and clocks, and
//! [`evaluate()`] makes the files' entries and the document of what was received.
//!
//! | module | contents |
//! | --- | --- |
//! | `send` | UDP packets paced by a token bucket, their kernel time stamps, and the control connection |
//! | `receive` | UDP packets with kernel time stamps, the listener of the control connection, and the log in memory |
//! | `calibration` | the wait of another program for the calibration of a test |
//! | `evaluate` | queuing delays without skew, lost numbers, and figures of both phases and of the measured one |
//! | `control` | lines over a TCP connection, without blocking |
//! | `reserve` | RSVP messages of both ends, and what is known of the reservation |
//! | `outcome` | requested and sent traffic, for documents |
//! | `marking` | code point and priority of packets, which follow their conformance |
//! | `payload` | what payloads have behind their header |
//! | `console` | the terminal of a test, which the caller provides |
//!
//! ```
//! use std::time::SystemTime;
//!
//! use romer_clock::skew::Method;
//! use romer_qtcp::{Arrival, Received, evaluate};
//! use romer_qtcp_protocol::ReceiverEnd;
//!
//! // A packet every 20 ms, of which the path loses one. Times are in units of 100 ns, or nanoseconds.
//! let arrivals = (0..200_u32).filter(|number| *number != 150).map(|number| {
//!     let sent = 17_000_000_000_000_000 + i64::from(number) * 200_000;
//!     let arrival_ns = (sent + 3_000 + i64::from(number % 5) * 100) * 100;
//!     Arrival {
//!         sequence: number.into(),
//!         size: 64,
//!         sent,
//!         user: sent,
//!         kernel_arrival_ns: Some(arrival_ns),
//!         user_arrival_ns: arrival_ns + 50_000,
//!     }
//! });
//! let received = Received {
//!     end: ReceiverEnd::Done,
//!     is_cut_short: false,
//!     arrivals: arrivals.collect(),
//!     offsets: vec![Some(0); 200],
//!     expected: 200,
//!     session: Some(7),
//!     offer: None,
//!     address: None,
//!     host_drops: 0,
//!     ignored: 0,
//!     reservation: None,
//!     started: SystemTime::UNIX_EPOCH,
//!     ended: SystemTime::UNIX_EPOCH,
//! };
//! let evaluation = evaluate(&received, Method::LeastAbsolute, 100, false);
//! assert_eq!(evaluation.statistics.lost, [150]);
//! assert_eq!((evaluation.document.all.packets, evaluation.document.all.lost), (199, 1));
//! ```

mod calibration;
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

pub use calibration::await_calibration;
pub use console::{Console, Key, Notice, ReservationEvent};
pub use error::{NoAnswer, NoReservation, PathMtu, QtcpError, Rejection};
pub use evaluate::{Evaluation, evaluate};
pub use receive::{Arrival, ReceiveOptions, Received, receive};
pub use reserve::{ServiceOptions, service_level};
pub use send::{SendOptions, send};
