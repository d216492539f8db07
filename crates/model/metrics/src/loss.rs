//! Loss and its pattern.

use romer_record::document::{Loss, Tally};
use romer_record::{Fate, Passage};

use crate::interval::NORMAL_975;
use crate::sample::sent;
use crate::summary::{finite, real};

/// Which packets of a stream were lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossPattern {
    /// Packets sent, those that went astray left out.
    pub sent: usize,
    /// Packets lost, the late ones included (RFC 7680 section 2.4).
    pub lost: usize,
    /// Lengths of the loss periods, in packets (RFC 3357 section 6.3), in order of sequence.
    pub periods: Vec<u64>,
    /// From each loss to the next, in packets: 1 within a period (RFC 3357 section 5.4.1). One fewer than losses.
    pub distances: Vec<u64>,
}

/// The pattern of loss among `passages`; `None` where the fate of a packet is unknown. Packets are counted in
/// the order of their sending, those that the host itself refused left out.
pub fn loss_pattern(passages: &[Passage]) -> Option<LossPattern> {
    let mut pattern = LossPattern::default();
    let mut last: Option<usize> = None;
    for (place, passage) in sent(passages).enumerate() {
        pattern.sent += usize::from(passage.fate != Fate::Astray);
        match passage.fate {
            Fate::Unknown => return None,
            Fate::Arrived | Fate::Astray => {}
            Fate::Late | Fate::Lost => {
                pattern.lost += 1;
                let distance = last.map(|last| (place - last) as u64);
                pattern.distances.extend(distance);
                match pattern.periods.last_mut().filter(|_| distance == Some(1)) {
                    Some(period) => *period += 1,
                    None => pattern.periods.push(1),
                }
                last = Some(place);
            }
        }
    }
    Some(pattern)
}

/// Wilson's score interval at 95 % of a proportion, on the assumption of independent events; `None` where nothing
/// was counted. It lies within 0 and 1.
pub fn wilson_interval(events: usize, of: usize) -> Option<[f64; 2]> {
    if of == 0 {
        return None;
    }
    let (n, square) = (real(of), NORMAL_975 * NORMAL_975);
    let share = real(events.min(of)) / n;
    let centre = share + square / (2.0 * n);
    let half = NORMAL_975 * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    let scale = 1.0 + square / n;
    // At either end the interval reaches it exactly, which rounding would miss.
    let low = if events == 0 { 0.0 } else { ((centre - half) / scale).max(0.0) };
    let high = if events >= of { 1.0 } else { ((centre + half) / scale).min(1.0) };
    Some([low, high])
}

/// Where it is known how many were lost, and not which: without a pattern.
pub(crate) fn of_number(lost: u64, sent: u64) -> Loss {
    let whole = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let (lost, sent) = (whole(lost), whole(sent));
    Loss {
        ratio: finite(real(lost) / real(sent)),
        ratio_interval: wilson_interval(lost, sent),
        ..Loss::default()
    }
}

pub(crate) fn document(pattern: Option<&LossPattern>) -> Loss {
    let Some(pattern) = pattern else { return Loss::default() };
    let [(periods, periods_all), (distances, distances_all)] =
        [&pattern.periods, &pattern.distances].map(|values| Tally::listed(values));
    Loss {
        ratio: finite(real(pattern.lost) / real(pattern.sent)),
        ratio_interval: wilson_interval(pattern.lost, pattern.sent),
        periods,
        periods_all,
        distances,
        distances_all,
    }
}
