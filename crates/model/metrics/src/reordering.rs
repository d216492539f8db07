//! Reordering by RFC 4737.

use romer_record::OneWaySingleton;
use romer_record::document::{Reordering, Tally};

use crate::sample::in_order_of_arrival;
use crate::value::{finite, real};

/// A packet that came after one with a higher number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReorderedPacket {
    /// Its sequence number.
    pub sequence: u64,
    /// Its reordering extent (RFC 4737 section 4.2.3): how many arrivals ago the earliest packet with a higher
    /// number came.
    pub extent: u64,
}

/// The reordered packets (RFC 4737 section 3.3: Type-P-Reordered, with NextExp) in order of arrival. First copies
/// only; packets whose arrival was not stamped have no place in the order and are left out.
pub fn reordering(singletons: &[OneWaySingleton]) -> Vec<ReorderedPacket> {
    of_arrivals(in_order_of_arrival(singletons).iter().map(|singleton| singleton.sequence))
}

/// The same for sequence numbers in order of arrival.
pub(crate) fn of_arrivals(sequences: impl Iterator<Item = u64>) -> Vec<ReorderedPacket> {
    let mut reordered = Vec::new();
    // The packets that raised NextExp, and when they came. Their numbers ascend, and the earliest packet with a
    // higher number than a given one is always among them.
    let mut records: Vec<(u64, u64)> = Vec::new();
    for (place, sequence) in (0..).zip(sequences) {
        if records.last().is_none_or(|(highest, _)| *highest < sequence) {
            records.push((sequence, place));
            continue;
        }
        let higher = records.partition_point(|(number, _)| *number <= sequence);
        if let Some((_, earliest)) = records.get(higher) {
            reordered.push(ReorderedPacket { sequence, extent: place - earliest });
        }
    }
    reordered
}

/// `arrived` is the number of packets that have a place in the order.
pub(crate) fn document(reordered: &[ReorderedPacket], arrived: usize) -> Reordering {
    let extents: Vec<u64> = reordered.iter().map(|packet| packet.extent).collect();
    let (extents, extents_all) = Tally::listed(&extents);
    Reordering { ratio: finite(real(reordered.len()) / real(arrived)), extents, extents_all }
}
