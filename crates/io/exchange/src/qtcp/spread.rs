//! Between what the stamps of a run lie.

use super::entry::Entry;

/// The ends of what the packets of a run have, as they come. Times are in units of 100 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Packets.
    pub count: u64,
    /// The least send stamp and the greatest.
    pub sent: [i64; 2],
    /// The least latency and the greatest.
    pub latency: [i64; 2],
    /// Octets of the first packet.
    pub first_size: u32,
    /// Octets of all but the first.
    pub later_octets: u64,
}

impl Default for Spread {
    fn default() -> Self {
        let none = [i64::MAX, i64::MIN];
        Self { count: 0, sent: none, latency: none, first_size: 0, later_octets: 0 }
    }
}

impl Spread {
    /// Of these packets.
    pub fn from_entries(entries: &[Entry]) -> Self {
        let mut spread = Self::default();
        entries.iter().for_each(|entry| spread.take(entry));
        spread
    }

    /// Takes in a packet.
    pub fn take(&mut self, entry: &Entry) {
        let wider = |[least, most]: [i64; 2], value: i64| [least.min(value), most.max(value)];
        (self.sent, self.latency) = (wider(self.sent, entry.sent), wider(self.latency, entry.latency()));
        if self.count == 0 {
            self.first_size = entry.size;
        } else {
            self.later_octets += u64::from(entry.size);
        }
        self.count += 1;
    }

    /// Whether the packets look as [`normalise`](super::normalise) leaves them: the first departure at 0, the least latency 0.
    pub fn is_normalised(&self) -> bool {
        (self.sent[0], self.latency[0]) == (0, 0)
    }
}
