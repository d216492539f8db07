//! The numbers of a session's packets: whole, though 32 bits of them are sent, and which of the latest have come.

/// So many of the latest numbers are known one by one: those of three seconds, after which an address is proved anew, at 20,000 a
/// second.
const WINDOW: u64 = 1 << 16;

/// The numbers that have come.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    highest: u64,
    /// A bit for each of the latest; empty until one has come.
    seen: Vec<u64>,
}

impl Numbers {
    /// The greatest that has come; 0 where none has.
    pub(super) const fn highest(&self) -> u64 {
        self.highest
    }

    /// The whole number of which these bits were sent.
    pub(super) fn whole(&self, sent: u64) -> u64 {
        nearest(u32::try_from(sent).unwrap_or(u32::MAX), self.highest)
    }

    /// The packet has come of whose number these bits were sent. Gives the whole number.
    pub(super) fn come(&mut self, sent: u64) -> u64 {
        let whole = self.whole(sent);
        if self.seen.is_empty() {
            self.seen = vec![0; usize::try_from(WINDOW / 64).unwrap_or(0)];
            self.highest = whole;
        }
        // Beyond a whole window everything has been cleared, in another order.
        for passed in 1..=whole.saturating_sub(self.highest).min(WINDOW) {
            *self.word(self.highest + passed) &= !bit(self.highest + passed);
        }
        self.highest = self.highest.max(whole);
        if self.highest - whole < WINDOW {
            *self.word(whole) |= bit(whole);
        }
        whole
    }

    /// Whether it may have come: what lies too far back is taken to have.
    pub(super) fn may_have_come(&self, whole: u64) -> bool {
        if self.seen.is_empty() || whole > self.highest {
            return false;
        }
        self.highest - whole >= WINDOW || self.seen[place(whole)] & bit(whole) != 0
    }

    fn word(&mut self, whole: u64) -> &mut u64 {
        &mut self.seen[place(whole)]
    }
}

fn place(whole: u64) -> usize {
    usize::try_from(whole % WINDOW / 64).unwrap_or(0)
}

const fn bit(whole: u64) -> u64 {
    1 << (whole % 64)
}

/// The number nearest to `highest` whose last 32 bits are `on_wire`.
fn nearest(on_wire: u32, highest: u64) -> u64 {
    const ERA: u64 = 1 << 32;
    let candidate = (highest & !(ERA - 1)) | u64::from(on_wire);
    let lower = candidate.checked_sub(ERA);
    let upper = candidate.checked_add(ERA);
    [lower, Some(candidate), upper]
        .into_iter()
        .flatten()
        .min_by_key(|n| n.abs_diff(highest))
        .unwrap_or(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_continue_past_the_end_of_32_bits() {
        assert_eq!(nearest(0, 0), 0);
        assert_eq!(nearest(0, 0xffff_ffff), 1 << 32);
        assert_eq!(nearest(0xffff_fffe, (1 << 32) + 1), 0xffff_fffe);
        assert_eq!(nearest(u32::MAX, 0), u64::from(u32::MAX));
    }

    #[test]
    fn it_is_known_which_of_the_latest_have_come() {
        let mut numbers = Numbers::default();
        assert!(!numbers.may_have_come(0));
        assert_eq!([3, 5, 4, 9].map(|sent| numbers.come(sent)), [3, 5, 4, 9]);
        let come: Vec<u64> = (0..20).filter(|number| numbers.may_have_come(*number)).collect();
        assert_eq!((come, numbers.highest()), (vec![3, 4, 5, 9], 9));
        // What is passed over has not come, though its place in the window had been another's.
        assert_eq!(numbers.come(WINDOW + 4), WINDOW + 4);
        let come: Vec<u64> = (WINDOW..WINDOW + 10).filter(|number| numbers.may_have_come(*number)).collect();
        assert_eq!(come, [WINDOW + 4]);
        assert!(numbers.may_have_come(3) && numbers.may_have_come(9) && !numbers.may_have_come(10));
        assert_eq!(numbers.come(5 * WINDOW), 5 * WINDOW);
        assert!(!numbers.may_have_come(5 * WINDOW - 1) && numbers.may_have_come(WINDOW + 5), "too far back");
    }
}
