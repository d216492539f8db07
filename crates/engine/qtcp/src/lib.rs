//! A live test as Qtcp runs it: [`send`] and [`receive`] drive the state machines of `romer-qtcp-protocol` with sockets and clocks, and
//! [`evaluate`] makes the files' entries and the document of what was received.
//!
//! | module | contents |
//! | --- | --- |
//! | `send` | UDP packets paced by a token bucket, their kernel time stamps, and the control connection |
//! | `receive` | UDP packets with kernel time stamps, the listener of the control connection, and the log in memory |
//! | `evaluate` | queuing delays without skew, lost numbers, and figures of both phases and of the measured one |
//! | `control` | lines over a TCP connection, without blocking |

mod control;
mod error;
mod evaluate;
mod receive;
mod send;

pub use error::QtcpError;
pub use evaluate::{Evaluation, evaluate};
pub use receive::{Arrival, ReceiveOptions, Received, receive};
pub use send::{SendOptions, send};

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
    /// The control connection failed; the test goes on.
    ControlLost,
    /// The test goes on without a control connection.
    NoControl,
    /// The kernel does not stamp packets; the program does.
    NoKernelStamps,
}

/// The user, as a test sees him. Nothing blocks.
pub trait Console {
    /// Shows a notice.
    fn show(&mut self, notice: Notice);
    /// What was entered since the last call, one entry at a time.
    fn key(&mut self) -> Option<Key>;
    /// Whether the user interrupted the program.
    fn is_interrupted(&self) -> bool;
}

/// A point in time as the documents have it.
fn rfc3339(time: std::time::SystemTime) -> String {
    humantime::format_rfc3339_micros(time).to_string()
}
