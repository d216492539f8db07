//! The unit of time.

/// Nanoseconds: a length of time, or a moment on the one clock of the engine's caller.
pub type Nanos = i64;

/// The longest delay, copy's delay or flush: an hour.
pub const LONGEST_DELAY: Nanos = 3_600_000_000_000;
