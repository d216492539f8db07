//! Probes that this host took, kept until it knew the hardware address of the next host on the way, and dropped because it did not
//! come to know it. The kernel reports those that it still has when it gives up, after three seconds or so; what its queue had no
//! more room for before that, it drops without a word. Neither gets the stamp of a departure.

use std::ops::Range;

/// The error number under which such probes are logged (`EHOSTDOWN`); no send call gives it.
pub(super) const UNANSWERED: i32 = 112;

/// Tells which probes of a stream they are, by their numbers. What is queued for a neighbour leaves, or is dropped, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Unanswered {
    /// All before this one are known to have left, or to have been dropped.
    next: u64,
    /// One has left.
    has_left: bool,
    /// The last that is known of was dropped.
    is_dropping: bool,
}

impl Unanswered {
    /// The kernel has stamped probe `sequence` on its way out. Gives those that it dropped in silence after those of which it
    /// has reported that.
    pub(super) fn left(&mut self, sequence: u64) -> Range<u64> {
        let silent = if self.is_dropping { self.next..sequence } else { 0..0 };
        self.next = self.next.max(sequence.saturating_add(1));
        (self.has_left, self.is_dropping) = (true, false);
        silent
    }

    /// The kernel has reported that it dropped probe `sequence`. Gives the probes that it dropped, this one and those before it in
    /// silence. `stamps` says whether what leaves is stamped, so that what has no stamp has not left, though none has left yet.
    pub(super) fn dropped(&mut self, sequence: u64, stamps: bool) -> Range<u64> {
        // Where a later one is known to have left, what came before this one has been told.
        let has_silent = (stamps || self.has_left) && self.next < sequence;
        let from = if has_silent { self.next } else { sequence };
        self.next = self.next.max(sequence.saturating_add(1));
        self.is_dropping = true;
        from..sequence.saturating_add(1)
    }

    /// Whether of the last of `sent` probes nothing is known.
    pub(super) fn lacks(&self, sent: u64) -> bool {
        self.next < sent
    }

    /// The stream ends after `sent` probes, of which no more stamps or reports come. Gives those that are in the queue still, or
    /// were dropped there in silence, where the last that is known is that one was dropped, or where the next host `is_asked` for its
    /// address in vain. `stamps` is as of [`Unanswered::dropped`].
    pub(super) fn end(&mut self, sent: u64, is_asked: bool, stamps: bool) -> Range<u64> {
        let is_kept = self.is_dropping || is_asked;
        if is_kept && (stamps || self.has_left) { self.next..sent.max(self.next) } else { 0..0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_in_silence_is_what_has_no_stamp_beside_what_is_reported() {
        let mut one = Unanswered::default();
        (0..50).for_each(|sequence| assert!(one.left(sequence).is_empty()));
        // 50 to 69 found no room when 70 to 99 had it all.
        assert_eq!(one.dropped(70, true), 50..71);
        assert_eq!(one.dropped(71, true), 71..72);
        (72..100).for_each(|sequence| assert_eq!(one.dropped(sequence, true), sequence..sequence + 1));
        // The next round: 100 to 109 found none, and then the neighbour answered.
        assert_eq!(one.left(110), 100..110);
        assert!(one.left(111).is_empty());
        let not_asked = one.clone().end(120, false, true);
        assert!(not_asked.is_empty(), "these may have left: their stamps are missing for another reason");
        assert_eq!(one.clone().end(120, true, true), 112..120, "they wait for an answer");
        one.dropped(130, true);
        assert_eq!(one.end(140, false, true), 131..140);
    }

    #[test]
    fn where_nothing_is_stamped_only_what_is_reported_was_dropped() {
        let mut one = Unanswered::default();
        assert_eq!(one.dropped(70, false), 70..71);
        assert_eq!(one.dropped(72, false), 72..73);
        assert!(one.end(80, true, false).is_empty());
        let mut other = Unanswered::default();
        assert_eq!(other.dropped(70, true), 0..71, "none has left");
    }

    #[test]
    fn a_report_that_comes_after_a_later_stamp_is_of_its_probe_alone() {
        let mut one = Unanswered::default();
        (0..10).for_each(|sequence| assert!(one.left(sequence).is_empty()));
        one.left(20);
        assert_eq!(one.dropped(15, true), 15..16);
    }
}
