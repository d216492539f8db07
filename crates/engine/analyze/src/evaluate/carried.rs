//! Packets of which a file says that a host dropped them unread: they arrived, and are no losses.

use romer_record::{Fate, OneWaySingleton};
use romer_singletons::StreamSingletons;

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
    pub(super) fn mark(&self, related: &mut StreamSingletons) {
        mark(&mut related.forward, &self.there);
        mark(&mut related.reverse, &self.back);
        mark(&mut related.round_trip, &self.there);
        mark(&mut related.round_trip, &self.back);
    }
}

fn mark(singletons: &mut [OneWaySingleton], numbers: &[u64]) {
    if numbers.is_empty() {
        return;
    }
    let open = |singleton: &OneWaySingleton| matches!(singleton.fate, Fate::Lost | Fate::Unknown);
    for singleton in singletons.iter_mut().filter(|singleton| open(singleton)) {
        if numbers.binary_search(&singleton.sequence).is_ok() {
            singleton.fate = Fate::InstrumentDrop;
        }
    }
}
