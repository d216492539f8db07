//! Whether a bridge stays awake between two packets.
//!
//! A thread that sleeps is back some 50 microseconds after a packet has come. Where the packet is to be held for longer
//! than that, the awakening lies within its delay and costs nothing; where it is to leave sooner, the awakening would be
//! most of what the emulator adds. So the bridge stays awake as long as such packets follow one another closely, and
//! only then.

use romer_units::{Duration, Monotonic, Timestamp};

/// Packets that leave so soon keep the bridge awake where they are no further apart than this: from 500 a second up.
const BUSY_POLL_MAX_GAP: Duration = Duration::from_millis(2);

/// What is known of packets that are to leave sooner than a sleeping thread is awake.
#[derive(Clone, Copy, Debug)]
pub(super) struct BusyPoll {
    last: Timestamp<Monotonic>,
    gap: Duration,
}

impl BusyPoll {
    /// Before the first.
    pub(super) const fn new() -> Self {
        Self { last: Timestamp::from_nanos(i64::MIN / 2), gap: Duration::MAX }
    }

    /// Such a packet left at `time`.
    pub(super) fn left(&mut self, time: Timestamp<Monotonic>) {
        self.gap = time - self.last;
        self.last = time;
    }

    /// Whether the next is to be expected at any moment, so that sleeping does not pay.
    pub(super) fn is_awake(&self, now: Timestamp<Monotonic>) -> bool {
        self.gap <= BUSY_POLL_MAX_GAP && now - self.last <= BUSY_POLL_MAX_GAP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only closely spaced packets keep the thread awake, for a bounded time.
    #[test]
    fn only_close_packets_keep_it_awake() {
        let at = |micros: i64| Timestamp::from_nanos(micros * 1_000);
        let mut alertness = BusyPoll::new();
        assert!(!alertness.is_awake(at(0)));
        alertness.left(at(0));
        assert!(!alertness.is_awake(at(1)), "one packet alone");
        alertness.left(at(1_230));
        assert!(alertness.is_awake(at(3_000)), "813 packets a second");
        assert!(!alertness.is_awake(at(3_300)), "nothing has followed");
        alertness.left(at(21_230));
        assert!(!alertness.is_awake(at(21_240)), "50 packets a second");
    }
}
