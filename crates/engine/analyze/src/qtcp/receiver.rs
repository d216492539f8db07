//! Steps back of the receiver's clock that are left in, though its jumps were sought: of another size than the others, or too
//! soon after the step before for the packets between them to tell it.

use romer_exchange::qtcp::{Entry, UNIT_NS};
use romer_record::warning::QtcpNote;

/// A step back that is left in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepBack {
    /// The place of the first packet after it.
    pub(super) place: u64,
    /// Latencies above this are of the packets before it, in units.
    pub(super) above: i64,
    /// The numbers of the packets on both sides of it.
    numbers: [u64; 2],
    units: i64,
}

/// Finds them in packets in order of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepsBack {
    /// What the first step back in the file is.
    units: i64,
    last: Option<(Entry, Entry)>,
    first: Option<StepBack>,
    count: u64,
}

impl StepsBack {
    /// Of a file in which the first step back is of so many `units`.
    pub(super) fn from_units(units: i64) -> Self {
        Self { units, last: None, first: None, count: 0 }
    }

    /// Takes in a packet as it stands in the file, and without what is taken out.
    pub(super) fn push(&mut self, place: u64, raw: Entry, left: Entry) {
        let before = self.last.replace((raw, left));
        let Some((raw_before, left_before)) = before.filter(|(one, _)| one.sequence < raw.sequence) else {
            return;
        };
        let fell = raw_before.received.saturating_sub(raw.received);
        let falls = left_before.received.saturating_sub(left.received);
        // A step is plain where it is half of what the first was; half of it is left where it is not taken out.
        if fell.saturating_mul(2) < self.units || falls.saturating_mul(2) < fell || falls <= 0 {
            return;
        }
        self.count += 1;
        let [high, low] = [left_before.latency(), left.latency()];
        self.first.get_or_insert(StepBack {
            place,
            above: i64::midpoint(low, high),
            numbers: [raw_before.sequence, raw.sequence],
            units: high.saturating_sub(low),
        });
    }

    /// The first that is left in.
    pub(super) fn first(&self) -> Option<StepBack> {
        self.first
    }

    /// The note on `step`, the first, before which latencies have been as high `since` that packet.
    pub(super) fn note(&self, step: StepBack, since: u64) -> QtcpNote {
        let [before, after] = step.numbers;
        QtcpNote::StepNotCompensated {
            size_ns: step.units.saturating_mul(UNIT_NS),
            before,
            after,
            since,
            more: self.count.saturating_sub(1),
        }
    }
}
