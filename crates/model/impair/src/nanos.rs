//! The unit of time.

/// Nanoseconds: a length of time, or a moment on the one clock of the engine's caller.
pub type Nanos = i64;
