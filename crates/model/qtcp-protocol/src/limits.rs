//! The numbers of a test.

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
