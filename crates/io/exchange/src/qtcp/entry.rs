//! A packet as the files have it.

/// Nanoseconds in a unit of the files.
pub const UNIT_NS: i64 = 100;
/// Packets of this many octets or fewer Qtcp cannot send: they have no room for its header (Qtcp, option `-l`).
pub const TOO_SMALL: u32 = 48;

/// A packet that arrived. Times are in units of 100 ns, each on its own host's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// When it was sent.
    pub sent: i64,
    /// When it was received.
    pub received: i64,
    /// Octets.
    pub size: u32,
    /// Its number.
    pub sequence: u64,
}

impl Entry {
    /// The packet of one whose stamps are in units of `unit_ns` nanoseconds. Stamps that then do not fit become the greatest
    /// that does.
    #[must_use]
    pub fn from_units(self, unit_ns: i64) -> Self {
        let nanos = |stamp: i64| i128::from(stamp) * i128::from(unit_ns);
        let units =
            |stamp: i64| i64::try_from(nanos(stamp).div_euclid(UNIT_NS.into())).unwrap_or(i64::MAX / 4);
        Self { sent: units(self.sent), received: units(self.received), ..self }
    }

    /// Received minus sent: the latency of the files' third column.
    pub const fn latency(&self) -> i64 {
        self.received.saturating_sub(self.sent)
    }
}
