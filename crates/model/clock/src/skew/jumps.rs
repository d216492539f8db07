//! Jumps of a clock among delays that wait, for `least-absolute-jumps`.

use core::ops::Range;

use super::arithmetic::{many, median, rounded, scatter};

/// A jump of the clock that least-absolute-jumps compensates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Jump {
    /// The moment of the first packet after it.
    pub(crate) at: f64,
    /// How much later packets have more, nanoseconds.
    pub(crate) size: f64,
    /// Half the width of the 95 % interval of that, where it was [measured by a slope](measured_by); else 0.
    pub(crate) error: f64,
}

/// Blocks whose medians are compared.
const BLOCKS: usize = 200;
/// Packets in a block, at least.
const LEAST_BLOCK: usize = 5;
/// Blocks on either side of a jump that say how large it is; and where jumps follow each other, fewer.
const SIDES: [usize; 2] = [8, 4];
/// A jump stands out of the blocks' differences by so many of their deviations.
const OUTSTANDING: f64 = 8.0;
/// Jumps of one kind differ in size by at most this share.
const ALIKE: f64 = 0.25;
/// Jumps that are sought, at most.
const MOST: usize = 50;
/// Rounds in which each jump is placed anew between its neighbours, at most.
const ROUNDS: usize = 4;
/// Two that stand nearer to each other than this share of a block are one, of which the first was found with a wrong size.
const TOGETHER: f64 = 0.4;
/// A jump is two of half its size if that leaves less of so many packets that lie between them, each by the size of one.
const HALVED: f64 = 10.0;

/// A jump by the number of the first packet after it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    packet: usize,
    size: f64,
}

/// The jumps of one size. Medians of blocks of packets differ from one block to the next by the slope and by chance; the
/// greatest difference that stands out is a jump, and the packets near it say where it was. It is taken out and the next
/// one sought, until none stands out; then each is placed once more, by the packets between its neighbours. Two that follow each
/// other within a few blocks are found as one of twice the size, and are taken apart by the packets between them. Of jumps of
/// different sizes those stay whose size most others have; a single one stays. `points` are in order of time.
pub(crate) fn jumps(points: &[(f64, f64)]) -> Vec<Jump> {
    let length = (points.len() / BLOCKS).max(LEAST_BLOCK);
    let mut search = Search { points, length, found: Vec::new(), blocks: Vec::new(), slope: 0.0 };
    search.blocks = (0..points.len() / length).map(|block| search.block(block)).collect();
    if search.blocks.len() < 2 * SIDES[0] {
        return Vec::new();
    }
    let mut deviation = 0.0;
    for _ in 0..MOST {
        search.find_slope();
        let Some((block, side, least)) =
            SIDES.iter().find_map(|side| search.outstanding(*side, &mut deviation))
        else {
            break;
        };
        if !search.take_out(block, side, least) {
            break;
        }
    }
    let least = OUTSTANDING * deviation.max(1.0);
    search.join();
    search.settle(least);
    if search.halve() {
        search.settle(least);
    }
    of_one_size(&mut search.found);
    search.found.iter().map(|one| Jump { at: points[one.packet].0, size: one.size, error: 0.0 }).collect()
}

/// Measures the jumps once more by a slope that is known from elsewhere: by the packets beside each of them, whose own slope would be no
/// surer than their levels. What waits in turn is not independent: how much the medians of parts of a side differ tells that.
pub(crate) fn measured_by(slope: f64, points: &[(f64, f64)], jumps: &mut [Jump]) {
    let reach = SIDES[0] * (points.len() / BLOCKS).max(LEAST_BLOCK);
    let places: Vec<usize> = jumps.iter().map(|jump| points.partition_point(|(x, _)| *x < jump.at)).collect();
    for (index, jump) in jumps.iter_mut().enumerate() {
        let begin = index.checked_sub(1).map_or(0, |before| places[before]);
        let end = places.get(index + 1).copied().unwrap_or(points.len());
        let place = places[index];
        let sides = [place.saturating_sub(reach).max(begin)..place, place..(place + reach).min(end)];
        let levels = sides
            .map(|side| Level::new(points[side].iter().map(|(x, y)| y - slope * (x - jump.at)).collect()));
        if let [Some(low), Some(high)] = levels {
            (jump.size, jump.error) = (high.middle - low.middle, low.error.hypot(high.error));
        }
    }
}

/// A median, and half the width of its 95 % interval.
struct Level {
    middle: f64,
    error: f64,
}

impl Level {
    /// Of delays in order of time; `None` of none.
    fn new(mut heights: Vec<f64>) -> Option<Self> {
        /// Of so many parts, Student's 97.5 %.
        const PARTS: (usize, f64) = (8, 2.365);
        if heights.is_empty() {
            return None;
        }
        let mut parts: Vec<f64> =
            heights.chunks(heights.len().div_ceil(PARTS.0)).map(|part| median(&mut part.to_vec())).collect();
        let mean = parts.iter().sum::<f64>() / many(parts.len());
        parts.iter_mut().for_each(|part| *part = (*part - mean).powi(2));
        let count = many(parts.len());
        let by_parts = PARTS.1 * (parts.iter().sum::<f64>() / (count - 1.0).max(1.0) / count).sqrt();
        let middle = median(&mut heights);
        heights.sort_unstable_by(f64::total_cmp);
        // As many below the median as a fair coin gives, but for one in twenty times.
        let half = 0.98 * many(heights.len()).sqrt();
        let rank = |off: f64| {
            let place = rounded(0.5 * many(heights.len() - 1) + off);
            heights[usize::try_from(place).unwrap_or(0).min(heights.len() - 1)]
        };
        Some(Self { middle, error: by_parts.max(0.5 * (rank(half) - rank(-half))) })
    }
}

struct Search<'a> {
    points: &'a [(f64, f64)],
    /// Packets of a block.
    length: usize,
    /// What was found so far, in order.
    found: Vec<Place>,
    /// Middle and median delay of each block, without what was found.
    blocks: Vec<(f64, f64)>,
    slope: f64,
}

impl Search<'_> {
    /// A block's middle and median, without the jumps found so far.
    fn block(&self, block: usize) -> (f64, f64) {
        let range = block * self.length..(block + 1) * self.length;
        let middle = self.points[range.start + self.length / 2].0;
        (
            middle,
            median(&mut range.map(|packet| self.points[packet].1 - self.jumped(packet)).collect::<Vec<_>>()),
        )
    }

    /// What jumps have added up to at a packet.
    fn jumped(&self, packet: usize) -> f64 {
        self.found.iter().take_while(|one| one.packet <= packet).map(|one| one.size).sum()
    }

    fn find_slope(&mut self) {
        let rate = |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0).max(1.0);
        self.slope = median(&mut self.blocks.windows(2).map(rate).collect::<Vec<_>>());
    }

    /// The median of some packets' delays without slope, less what `off` says of each.
    fn level(&self, packets: Range<usize>, off: impl Fn(usize) -> f64) -> Option<f64> {
        let first = self.points[0].0;
        let height = |packet: usize| {
            let (x, y) = self.points[packet];
            y - self.slope * (x - first) - off(packet)
        };
        (!packets.is_empty()).then(|| median(&mut packets.map(height).collect::<Vec<_>>()))
    }

    /// The block before which the medians of so many blocks on either side differ most, if that stands out; and from what
    /// difference on it would. `deviation` becomes that of the differences.
    fn outstanding(&self, side: usize, deviation: &mut f64) -> Option<(usize, usize, f64)> {
        let first = self.blocks[0].0;
        let level = |block: usize| self.blocks[block].1 - self.slope * (self.blocks[block].0 - first);
        let near = |range: Range<usize>| median(&mut range.map(level).collect::<Vec<_>>());
        let total = self.blocks.len();
        let changes: Vec<f64> = (1..total)
            .map(|block| near(block..(block + side).min(total)) - near(block.saturating_sub(side)..block))
            .collect();
        let usual = scatter(changes.iter().copied());
        if side == SIDES[0] {
            *deviation = usual;
        }
        // Next to the ends, fewer blocks than `side` tell one side.
        let fewer = |block: usize| (many(side) / many(block.min(total - block).min(side))).sqrt();
        let least = |block: usize| OUTSTANDING * usual.max(1.0) * fewer(block);
        let (block, change) = (1..)
            .zip(&changes)
            .max_by(|(a, one), (b, other)| (one.abs() / least(*a)).total_cmp(&(other.abs() / least(*b))))?;
        (change.abs() > least(block)).then(|| (block, side, least(block)))
    }

    /// Finds the packet at which the jump near the beginning of a block was, and takes it out. Gives whether there was one
    /// of at least this size.
    fn take_out(&mut self, block: usize, side: usize, least: f64) -> bool {
        let around = |packet: usize, blocks: usize| {
            let reach = blocks * self.length;
            [packet.saturating_sub(reach)..packet, packet..(packet + reach).min(self.points.len())]
        };
        let off = |packet: usize| self.jumped(packet);
        let [before, after] = around(block * self.length, side);
        let Some([low, high]) = levels(self, [before.clone(), after.clone()], off) else { return false };
        let Some(packet) = self.divided(before.start..after.end, [low, high], off) else { return false };
        // Where it is known, so is how large.
        let Some([low, high]) = levels(self, around(packet, side), off) else { return false };
        let size = high - low;
        if size.abs() < 0.5 * least {
            return false;
        }
        match self.found.binary_search_by_key(&packet, |one| one.packet) {
            Ok(place) => self.found[place].size += size,
            Err(place) => self.found.insert(place, Place { packet, size }),
        }
        let own = packet / self.length;
        if own < self.blocks.len() {
            self.blocks[own] = self.block(own);
        }
        self.blocks.iter_mut().skip(own + 1).for_each(|block| block.1 -= size);
        true
    }

    /// The first packet that is nearer to the second level, where the packets before are nearer to the first: that for which
    /// the sum of what they lie off is least.
    fn divided(
        &self,
        packets: Range<usize>,
        [low, high]: [f64; 2],
        off: impl Fn(usize) -> f64,
    ) -> Option<usize> {
        let first = self.points[0].0;
        let (mut best, mut least, mut sum) = (None, f64::INFINITY, 0.0);
        for packet in packets {
            let (x, y) = self.points[packet];
            if sum < least && packet > 0 {
                (best, least) = (Some(packet), sum);
            }
            let height = y - self.slope * (x - first) - off(packet);
            sum += (height - low).abs() - (height - high).abs();
        }
        best
    }

    /// Makes one of those that stand together: the first is off by what the next one mends.
    fn join(&mut self) {
        let apart = rounded((TOGETHER * many(self.length)).ceil());
        let apart = usize::try_from(apart).unwrap_or(1);
        let mut joined: Vec<Place> = Vec::with_capacity(self.found.len());
        for one in &self.found {
            match joined.last_mut() {
                Some(before) if one.packet - before.packet < apart => {
                    let packet = if one.size.abs() > before.size.abs() { one.packet } else { before.packet };
                    *before = Place { packet, size: before.size + one.size };
                }
                _ => joined.push(*one),
            }
        }
        self.found = joined;
    }

    /// Places all that were found anew, until that changes nothing.
    fn settle(&mut self, least: f64) {
        for _ in 0..ROUNDS {
            let again = self.placed(least);
            if again == self.found {
                break;
            }
            self.found = again;
        }
    }

    /// Takes jumps apart that were two, each of half the size, with a short time between them. Gives whether there were any.
    fn halve(&mut self) -> bool {
        let reach = SIDES[0] * self.length;
        let mut all = Vec::with_capacity(self.found.len());
        for (index, one) in self.found.iter().enumerate() {
            let begin = index.checked_sub(1).map_or(0, |before| self.found[before].packet);
            let end = self.found.get(index + 1).map_or(self.points.len(), |after| after.packet);
            let (begin, end) = (one.packet.saturating_sub(reach).max(begin), (one.packet + reach).min(end));
            // What lies further off is of the level before both and of that after.
            let outer =
                [begin..begin + (one.packet - begin).div_ceil(2), end - (end - one.packet).div_ceil(2)..end];
            let two = levels(self, outer, |_| 0.0).and_then(|levels| self.divided_twice(begin..end, levels));
            match two {
                Some(packets) => all.extend(packets.map(|packet| Place { packet, size: 0.5 * one.size })),
                None => all.push(*one),
            }
        }
        let any = all.len() > self.found.len();
        self.found = all;
        any
    }

    /// The first packets that are at the level between two, and at the second, where that leaves much less than one division.
    fn divided_twice(&self, packets: Range<usize>, [low, high]: [f64; 2]) -> Option<[usize; 2]> {
        let first = self.points[0].0;
        let middle = f64::midpoint(low, high);
        // What is left so far: at the first level, between both, and at the second after a stretch between or none; and since when.
        let (mut before, mut between, mut after, mut once) =
            (0.0, (f64::INFINITY, 0), (f64::INFINITY, [0, 0]), f64::INFINITY);
        for packet in packets {
            let (x, y) = self.points[packet];
            let height = y - self.slope * (x - first);
            if between.0 < after.0 {
                after = (between.0, [between.1, packet]);
            }
            if before < between.0 {
                between = (before, packet);
            }
            once = f64::min(once, before) + (height - high).abs();
            before += (height - low).abs();
            between.0 += (height - middle).abs();
            after.0 += (height - high).abs();
        }
        let (left, packets) = after;
        (once - left > HALVED * 0.5 * (high - low).abs()).then_some(packets)
    }

    /// All that were found, each placed and measured by the packets between its neighbours; without those that are smaller
    /// than `least` then.
    fn placed(&self, least: f64) -> Vec<Place> {
        let reach = SIDES[0] * self.length;
        let mut placed: Vec<Place> = Vec::new();
        for (index, one) in self.found.iter().enumerate() {
            let begin = placed.last().map_or(0, |before| before.packet);
            let end = self.found.get(index + 1).map_or(self.points.len(), |after| after.packet);
            let ranges = |packet: usize| {
                [packet.saturating_sub(reach).max(begin)..packet, packet..(packet + reach).min(end)]
            };
            let [before, after] = ranges(one.packet);
            let moved = levels(self, [before.clone(), after.clone()], |_| 0.0)
                .and_then(|levels| self.divided(before.start + 1..after.end, levels, |_| 0.0))
                .unwrap_or(one.packet);
            let Some([low, high]) = levels(self, ranges(moved), |_| 0.0) else { continue };
            if (high - low).abs() > least {
                placed.push(Place { packet: moved, size: high - low });
            }
        }
        placed
    }
}

/// The levels of two stretches; `None` where one has no packet.
fn levels(
    search: &Search<'_>,
    [before, after]: [Range<usize>; 2],
    off: impl Fn(usize) -> f64,
) -> Option<[f64; 2]> {
    Some([search.level(before, &off)?, search.level(after, &off)?])
}

/// Keeps the jumps whose size most others have.
fn of_one_size(found: &mut Vec<Place>) {
    let alike = |a: f64, b: f64| (a.abs() - b.abs()).abs() <= ALIKE * a.abs().max(b.abs());
    let support = |size: f64| found.iter().filter(|other| alike(other.size, size)).count();
    let best = found
        .iter()
        .map(|jump| jump.size)
        .max_by(|a, b| support(*a).cmp(&support(*b)).then(a.abs().total_cmp(&b.abs())));
    if let Some(best) = best {
        found.retain(|jump| alike(jump.size, best));
    }
}
