//! The user, as a test sees him.

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

/// The terminal of a test. Nothing blocks.
pub trait Console {
    /// Shows a notice.
    fn show(&mut self, notice: Notice);
    /// What was entered since the last call, one entry at a time.
    fn key(&mut self) -> Option<Key>;
    /// Whether the user interrupted the program.
    fn is_interrupted(&self) -> bool;
}
