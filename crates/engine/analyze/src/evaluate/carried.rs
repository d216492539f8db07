//! Packets of which a file says that a host dropped them unread: they arrived, and are no losses.

use romer_passages::StreamPassages;
use romer_record::{Fate, Passage};

/// Their numbers, each ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unread {
    /// The far host dropped them.
    pub(crate) there: Vec<u64>,
    /// This host did, on their way back.
    pub(crate) back: Vec<u64>,
}

impl Unread {
    /// Marks them, so far as nothing else says that they arrived.
    pub(super) fn mark(&self, related: &mut StreamPassages) {
        mark(&mut related.forward, &self.there);
        mark(&mut related.reverse, &self.back);
        mark(&mut related.round_trip, &self.there);
        mark(&mut related.round_trip, &self.back);
    }
}

fn mark(passages: &mut [Passage], numbers: &[u64]) {
    if numbers.is_empty() {
        return;
    }
    let open = |passage: &Passage| matches!(passage.fate, Fate::Lost | Fate::Unknown);
    for passage in passages.iter_mut().filter(|passage| open(passage)) {
        if numbers.binary_search(&passage.sequence).is_ok() {
            passage.fate = Fate::InstrumentDrop;
        }
    }
}
