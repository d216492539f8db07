//! Arrivals that a network card has held back and handed over together, as its own stamps show.
//!
//! A card that waits before it interrupts a processor stamps each packet as it comes; the kernel stamps them all once it is
//! called. So within a bunch the kernel's stamps lie close together and the card's do not, and the part by which the
//! kernel's are later falls from packet to packet.

use romer_record::RoundTrip;
use romer_record::document::{NicStamps, ProbeDirection};
use romer_units::Clock;

use crate::location::LocationDifferences;
use romer_clock::elapsed;

/// Kernel stamps of one bunch lie at most this share of the card's gap apart.
const CLOSE: i128 = 5;
/// Gaps of the card's stamps that are shorter than this are no wait of a driver's, nanoseconds.
const SHORT_NS: i128 = 5_000;
/// Below this many packets, and this share of all (a fraction of so many), it is of no use to know.
const MIN_PACKETS: u64 = 20;
const SHARE: u64 = 20;

/// Arrivals at one end that interrupt coalescing has grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoalescedArrivals {
    /// Arrivals of which both stamps are known.
    pub arrivals: u64,
    /// Those that the kernel got together with another.
    pub bunched: u64,
    /// The longest time by which the kernel's stamp of one was later than the card's, nanoseconds.
    pub longest_ns: i64,
}

/// What network cards' stamps tell of themselves, and of the kernels', of rows that may come in parts. Of rows without such
/// stamps it keeps nothing.
#[derive(Debug)]
pub struct CardEvidence {
    error_ns: u32,
    kernels: LocationDifferences,
    /// Arrivals here and there: the card's stamp, and by how much the kernel's is later.
    arrivals: [Vec<(i64, i128)>; 2],
}

impl Default for CardEvidence {
    fn default() -> Self {
        Self { error_ns: 0, kernels: LocationDifferences::of_kernels(), arrivals: Default::default() }
    }
}

impl CardEvidence {
    /// Takes the next rows, in order of sequence and copy; all rows of a probe come together.
    pub fn take(&mut self, rows: &[RoundTrip]) {
        let [here, there] = &mut self.arrivals;
        let mut any = false;
        for row in rows {
            let Some(error_ns) = row.nic_error_ns else { continue };
            any = true;
            self.error_ns = self.error_ns.max(error_ns);
            here.extend(both(&row.t4));
            if row.way != ProbeDirection::Reverse && row.forward_copy == 0 && row.copy == 0 {
                there.extend(both(&row.t2));
            }
        }
        if any {
            self.kernels.take(rows);
        }
    }

    /// The bunches among the arrivals here and there, in this order; `None` where there are hardly any, or no stamps of
    /// cards.
    pub fn bunches(&self) -> [Option<CoalescedArrivals>; 2] {
        self.arrivals.clone().map(among)
    }

    /// Largest error of the conversion of a card's time stamp to the host's clock, nanoseconds; 0 without such time stamps.
    pub const fn error_ns(&self) -> u32 {
        self.error_ns
    }

    /// The rest as a document has it.
    pub fn document(self) -> NicStamps {
        NicStamps { error_ns: self.error_ns, kernel_error_ns: self.kernels.described().0 }
    }
}

/// [`CardEvidence::bunches`] of all rows.
pub fn bunches(rows: &[RoundTrip]) -> [Option<CoalescedArrivals>; 2] {
    let mut evidence = CardEvidence::default();
    evidence.take(rows);
    evidence.bunches()
}

/// The card's stamp of an arrival and by how much the kernel's is later.
fn both<C: Clock>(stamps: &romer_record::Stamps<C>) -> Option<(i64, i128)> {
    let card = stamps.nic?;
    Some((card.as_nanos(), elapsed(card, stamps.kernel?)))
}

fn among(mut arrivals: Vec<(i64, i128)>) -> Option<CoalescedArrivals> {
    arrivals.sort_unstable();
    let together: Vec<bool> = arrivals
        .windows(2)
        .map(|pair| {
            let card = i128::from(pair[1].0) - i128::from(pair[0].0);
            let kernel = card + pair[1].1 - pair[0].1;
            card >= SHORT_NS && (0..=card / CLOSE).contains(&kernel)
        })
        .collect();
    let is_bunched = |place: usize| {
        place.checked_sub(1).and_then(|before| together.get(before)).copied().unwrap_or(false)
            || together.get(place).copied().unwrap_or(false)
    };
    let bunched = (0..arrivals.len()).filter(|place| is_bunched(*place)).collect::<Vec<_>>();
    let longest = bunched.iter().filter_map(|place| arrivals.get(*place)).map(|(_, later)| *later).max()?;
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let found = CoalescedArrivals {
        arrivals: count(arrivals.len()),
        bunched: count(bunched.len()),
        longest_ns: i64::try_from(longest).unwrap_or(i64::MAX),
    };
    (found.bunched >= MIN_PACKETS && found.bunched.saturating_mul(SHARE) >= found.arrivals).then_some(found)
}
