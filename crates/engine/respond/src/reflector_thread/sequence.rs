//! Sequence numbers of a session: extended from 32 to 64 bits, with a window of those received last.

use romer_session::recent::Recent;

/// The received sequence numbers of a session.
#[derive(Debug, Default)]
pub(super) struct SequenceWindow {
    recent: Recent,
}

impl SequenceWindow {
    /// The greatest that has come; 0 where none has.
    pub(super) fn highest(&self) -> u64 {
        self.recent.latest().unwrap_or(0)
    }

    /// The full sequence number of which these bits were sent.
    pub(super) fn extended(&self, sent: u64) -> u64 {
        nearest(u32::try_from(sent).unwrap_or(u32::MAX), self.highest())
    }

    /// The packet has come of whose number these bits were sent. Gives the whole number.
    pub(super) fn come(&mut self, sent: u64) -> u64 {
        let whole = self.extended(sent);
        self.recent.insert(whole);
        whole
    }

    /// Whether it may have come: what lies too far back is taken to have.
    pub(super) fn may_have_come(&self, whole: u64) -> bool {
        self.recent.may_contain(whole)
    }
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

    /// The window knows which of the recent numbers were received.
    #[test]
    fn window_knows_recent_numbers() {
        let mut numbers = SequenceWindow::default();
        assert!(!numbers.may_have_come(0));
        assert_eq!([3, 5, 4, 9].map(|sent| numbers.come(sent)), [3, 5, 4, 9]);
        let come: Vec<u64> = (0..20).filter(|number| numbers.may_have_come(*number)).collect();
        assert_eq!((come, numbers.highest()), (vec![3, 4, 5, 9], 9));
    }
}
