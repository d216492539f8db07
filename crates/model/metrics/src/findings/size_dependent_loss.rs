//! Packets that are lost for their length.

use romer_record::finding::Pattern;
use romer_record::{Fate, OneWaySingleton};

use super::evidence::{UndirectedFinding, convinces};

use crate::sample::sent;
use crate::value::real;

/// That every packet longer than some length was lost, and packets up to it arrived. If lengths have nothing to do with it,
/// the k longest of n packets of which m are lost are all among these with a probability of `m (m - 1) ... (m - k + 1)` over
/// `n (n - 1) ... (n - k + 1)`, whatever the pattern of the losses in time, where lengths are drawn; as many lengths as were
/// sent are looked at.
pub(super) fn lost_by_length(singletons: &[OneWaySingleton]) -> Option<UndirectedFinding> {
    let mut longest_arrived = None;
    // By packet, as a copy may have arrived where the first did not.
    let mut lost: Vec<u32> = Vec::new();
    let mut arrived = 0_usize;
    for packet in singletons.chunk_by(|a, b| a.sequence == b.sequence) {
        if packet.iter().any(|singleton| matches!(singleton.fate, Fate::Arrived | Fate::Late)) {
            arrived += 1;
            longest_arrived = longest_arrived.max(Some(packet[0].size));
        } else if packet[0].fate == Fate::Lost {
            lost.push(packet[0].size);
        }
    }
    let longest_arrived = longest_arrived?;
    lost.sort_unstable();
    let longer = &lost[lost.partition_point(|size| *size <= longest_arrived)..];
    let shortest_lost = *longer.first()?;
    let mut lengths: Vec<u32> = sent(singletons).map(|singleton| singleton.size).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let (all, of_lost) = (real(arrived + lost.len()), real(lost.len()));
    let chance: f64 =
        (0..longer.len()).map(|taken| ((of_lost - real(taken)) / (all - real(taken))).ln()).sum();
    let log_alarm = real(lengths.len()).ln() + chance;
    convinces(log_alarm).then(|| UndirectedFinding {
        at: None,
        until: None,
        log_alarm: Some(log_alarm),
        pattern: Pattern::LossByLength {
            longest_arrived_bytes: longest_arrived,
            shortest_lost_bytes: shortest_lost,
            packets: longer.len() as u64,
            strength_ratio: real(longer.len()) / of_lost,
        },
    })
}
