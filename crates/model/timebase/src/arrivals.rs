//! The arrivals at the responder of one probe, however many copies it has.

use std::collections::HashSet;

/// Which numbers of arrivals (`forward_copy`) came already. A row costs the same whatever came before it, so that the time for
/// a probe grows as its copies do.
#[derive(Debug, Default)]
pub(crate) struct ArrivalsSeen {
    /// All numbers below it came. Arrivals are numbered from 0 as they become known, so that these are nearly all.
    below: u32,
    others: HashSet<u32>,
}

impl ArrivalsSeen {
    /// Whether the arrival is one that did not come before.
    pub(crate) fn is_new(&mut self, arrival: u32) -> bool {
        if arrival < self.below {
            return false;
        }
        if arrival > self.below || arrival == u32::MAX {
            return self.others.insert(arrival);
        }
        // One that came out of order stays among the others, too: it is found below or there.
        let is_new = !self.others.contains(&arrival);
        self.below += 1;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// An arrival is new exactly if none of the rows before has its number.
        #[test]
        fn new_arrivals(arrivals in prop::collection::vec(prop_oneof![0_u32..6, u32::MAX - 2..=u32::MAX], 0..40)) {
            let mut seen = ArrivalsSeen::default();
            for (place, arrival) in arrivals.iter().enumerate() {
                prop_assert_eq!(seen.is_new(*arrival), !arrivals[..place].contains(arrival));
            }
        }
    }
}
