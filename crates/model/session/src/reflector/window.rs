//! Which authenticated requests of a session have come before.

/// Words of the window.
const WORDS: usize = 32;
/// How far behind the newest request one may arrive, in sequence numbers; an older one is taken for a replay.
pub(super) const WINDOW: u32 = 2_048;

/// The last [`WINDOW`] sequence numbers of a session, and the times that its requests stated.
///
/// A sequence number that has come before, or lies too far back, is a replay, unless the request states a later time
/// of departure than any before it: who replays cannot forge that, so that it is the sender who has begun anew. From
/// then on, nothing counts that left before that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The newest; `None` until there is one.
    highest: Option<u32>,
    /// The latest departure stated, nanoseconds.
    latest: i64,
    /// When the sender began anew, if it did.
    floor: i64,
    seen: [u64; WORDS],
}

impl Window {
    pub(super) const EMPTY: Self =
        Self { highest: None, latest: i64::MIN, floor: i64::MIN, seen: [0; WORDS] };

    /// Whether request `sequence`, which says that it left at `departed`, is new; if so it is remembered.
    pub(super) fn admit(&mut self, sequence: u32, departed: i64) -> bool {
        let Some(highest) = self.highest else {
            self.begin(sequence, departed);
            return true;
        };
        if departed < self.floor {
            return false;
        }
        let ahead = sequence.wrapping_sub(highest);
        if ahead != 0 && ahead < 1 << 31 {
            for passed in 1..=ahead.min(WINDOW) {
                let (word, bit) = place(highest.wrapping_add(passed));
                self.seen[word] &= !bit;
            }
            // Beyond a whole window everything has been cleared, in another order.
            self.highest = Some(sequence);
        } else if highest.wrapping_sub(sequence) >= WINDOW || self.has_seen(sequence) {
            if departed <= self.latest {
                return false;
            }
            self.begin(sequence, departed);
            self.floor = departed;
            return true;
        }
        self.remember(sequence, departed);
        true
    }

    fn begin(&mut self, sequence: u32, departed: i64) {
        *self = Self { highest: Some(sequence), ..Self::EMPTY };
        self.remember(sequence, departed);
    }

    fn remember(&mut self, sequence: u32, departed: i64) {
        let (word, bit) = place(sequence);
        self.seen[word] |= bit;
        self.latest = self.latest.max(departed);
    }

    fn has_seen(&self, sequence: u32) -> bool {
        let (word, bit) = place(sequence);
        self.seen[word] & bit != 0
    }
}

/// The word and the bit of a sequence number.
fn place(sequence: u32) -> (usize, u64) {
    let place = sequence % WINDOW;
    (usize::try_from(place / 64).unwrap_or(0), 1 << (place % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// A number passes once, and one far behind never.
    #[test]
    fn numbers_pass_once() {
        let mut window = Window::EMPTY;
        assert!(window.admit(10_000, 10_000));
        assert!(!window.admit(10_000, 10_000));
        assert!(window.admit(9_999, 9_999), "overtaken on the way");
        assert!(!window.admit(9_999, 9_999));
        assert!(!window.admit(10_000 - WINDOW, 10_000 - i64::from(WINDOW)), "too far back to know");
        assert!(window.admit(10_001 - WINDOW, 1), "the oldest that is remembered");
        assert!(window.admit(1_000_000, 20_000), "a long silence");
        assert!(!window.admit(10_001, 10_001));
    }

    /// A restarted sender passes, its earlier packets do not.
    #[test]
    fn restarted_senders_pass() {
        let mut window = Window::EMPTY;
        for n in 0..5_000u32 {
            assert!(window.admit(n, i64::from(n)));
        }
        assert!(window.admit(0, 7_000), "the same number, later than all: no replay");
        assert!(!window.admit(0, 7_000));
        assert!(!window.admit(4_000, 4_000), "ahead of the new run, and from the run before it");
        assert!(window.admit(1, 7_001));
    }

    #[test]
    fn numbers_wrap() {
        let mut window = Window::EMPTY;
        for n in 0..10u32 {
            let sequence = n.wrapping_sub(5);
            assert!(window.admit(sequence, i64::from(n)), "{sequence}");
            assert!(!window.admit(sequence, i64::from(n)), "{sequence}");
        }
    }

    proptest! {
        #[test]
        fn no_request_passes_twice(requests in prop::collection::vec((0u32..6_000, 0i64..50), 1..600)) {
            let (mut window, mut passed) = (Window::EMPTY, HashSet::new());
            for (sequence, departed) in requests {
                if window.admit(sequence, departed) {
                    prop_assert!(passed.insert((sequence, departed)), "{sequence} of {departed} twice");
                }
            }
        }
    }
}
