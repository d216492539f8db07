//! One direction by itself: where its floor changes, and the stretches between.

use romer_record::warning::SkewUnknown;
use romer_units::random::{RandomStream, Seed};

use super::arithmetic::{many, median, scatter};
use super::changes::{Segment, finer, segments};
use super::estimate::{PLAUSIBLE_PPM, coarse};
use super::floors::{Floor, Floors, drop_outliers, first_slope, join, lowest};
use super::posterior::Observation;
use super::tails;
use super::transition::Transition;

/// Fewer packets than these say too little.
pub(crate) const LEAST_PACKETS: u64 = 60;
/// A shorter run says too little, seconds.
const SHORTEST: f64 = 1.0;
/// Packets whose least is one floor, and the number of floors at least and at most.
const PACKETS: u64 = 8;
const FLOORS: (u64, u64) = (16, 240);
/// Floors that make observations of a posterior.
const OBSERVATIONS: usize = 80;
/// Rates of a good oscillator differ by no more within a run, nanoseconds a second.
const STEADY: f64 = 500.0;
/// A stretch whose rate differs by more than this, and by more than so many errors, is a slew.
pub(crate) const SLEWED: (f64, f64) = (5_000.0, 4.0);
/// What clocks tell apart, nanoseconds: floors that lie on their line exactly are no surer than that.
const TICK: f64 = 10.0;
/// A change of the level is one from so many errors on.
const CHANGED: f64 = 5.0;
/// A segment of no more floors than this whose line is so many times less sure than the one before tells nothing.
const UNTOLD: (f64, f64) = (6.0, 20.0);
/// A segment of no more floors than this at an end of the run tells nothing of a slew.
const AT_END: f64 = 12.0;
/// No clock is slewed by more, nanoseconds a second.
const STEEP: f64 = 1e6;
/// Floors of a slew, from so many on, tell whether a jump stands beside it; and the jump's part of the whole, at least.
const PARTED: (f64, f64) = (6.0, 0.2);
/// A change came at once if it was this near to its whole as soon as it had gone more than as much, as a share of its size and its time.
const NEARLY: f64 = 0.1;
/// A change that seems to have come at once took its time if so many of the finer floors lie between the levels, where none would (half of them on
/// a line), each off by so many times what floors scatter by. The last is how many floors on either side tell the level and the scatter.
const GRADUAL: (usize, f64, usize) = (3, 6.0, 12);
/// Where waiting differs by more than this within a run, the places count by how much packets wait there.
const UNEVEN: f64 = 8.0;

/// What one direction shows.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    /// Slope of most of the run, nanoseconds a second.
    pub(crate) slope: f64,
    pub(crate) floors: Vec<Floor>,
    /// By how much delays may be off because of what stamps do not tell, nanoseconds.
    pub(crate) grain: f64,
    /// The least packet of each cell of time: many more than floors.
    pub(crate) fine: Vec<Floor>,
    /// The first packets and the last ones, each by itself.
    pub(crate) outermost: [Vec<Floor>; 2],
    /// Ranges of floors that lie above one level.
    pub(crate) groups: Vec<core::ops::Range<usize>>,
    /// Between the groups.
    pub(crate) transitions: Vec<Transition>,
    /// The same, where one of them is a slew and a jump beside it, each by itself.
    pub(crate) parts: Vec<Transition>,
    /// How the level goes on at the beginning and at the end of the run, where it does so at another rate.
    pub(crate) tails: [Option<Transition>; 2],
    /// Whether this direction tells it by itself.
    firm_tails: [bool; 2],
    /// Seconds in which the floor moved at another rate.
    pub(crate) moving: f64,
    /// Seconds from the first floor to the last.
    pub(crate) length: f64,
}

/// Why nothing can be said of a direction; the more there is, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TooLittle {
    Nothing,
    FewPackets,
    Short,
    FewPlaces,
}

impl TooLittle {
    pub(crate) const fn unknown(self) -> SkewUnknown {
        match self {
            Self::Nothing => SkewUnknown::NoTimeStamps,
            Self::FewPackets => SkewUnknown::FewPackets { needed: LEAST_PACKETS },
            Self::Short => SkewUnknown::ShortSpan,
            Self::FewPlaces => SkewUnknown::Clustered,
        }
    }
}

impl Survey {
    /// Surveys a direction, whose delays may be off by `grain`, nanoseconds, because of what stamps do not tell.
    ///
    /// # Errors
    /// Why there is too little of it.
    pub(crate) fn new(cells: &Floors, grain: f64) -> Result<Self, TooLittle> {
        Self::at_rate(cells, grain, None)
    }

    /// The same by the rate `sought`, nanoseconds a second, of those that there are, where it is one of them.
    pub(crate) fn at_rate(cells: &Floors, grain: f64, sought: Option<f64>) -> Result<Self, TooLittle> {
        let packets = cells.count();
        if packets == 0 {
            return Err(TooLittle::Nothing);
        }
        if packets < LEAST_PACKETS {
            return Err(TooLittle::FewPackets);
        }
        let wanted = usize::try_from((packets / PACKETS).clamp(FLOORS.0, FLOORS.1)).unwrap_or(16);
        let rough = first_slope(cells);
        let mut floors = join(&cells.least(rough), wanted, rough);
        drop_outliers(&mut floors, rough, grain);
        let length = |floors: &[Floor]| {
            floors.first().zip(floors.last()).map_or(0.0, |(first, last)| last.x - first.x)
        };
        if length(&floors) < SHORTEST {
            return Err(TooLittle::Short);
        }
        // Which packets lie lowest depends a little on the slope: once more with the one that was found.
        let first =
            rough + usual(&segments(&floors, rough, grain), rough, sought).ok_or(TooLittle::FewPlaces)?;
        let fine = cells.least(first);
        let mut floors = join(&fine, wanted, first);
        drop_outliers(&mut floors, first, grain);
        let cuts = segments(&floors, first, grain);
        let base = usual(&cuts, first, sought).ok_or(TooLittle::FewPlaces)?;
        let cuts = finer(&cuts, &floors, first, grain, |cut| is_slewed(cut, base));
        let mut survey = Self {
            slope: first + base,
            length: length(&floors),
            floors,
            grain,
            fine: Vec::new(),
            outermost: cells.outermost(),
            groups: Vec::new(),
            transitions: Vec::new(),
            parts: Vec::new(),
            tails: [None; 2],
            firm_tails: [false; 2],
            moving: 0.0,
        };
        let split = survey.group(&calmed(&cuts), base);
        let groups = survey.groups.clone();
        for ((index, pair), (_, is_untold)) in groups.windows(2).enumerate().zip(&split) {
            if *is_untold {
                survey.at_once(index, pair, &fine);
            }
            survey.sharpen(index, pair, &fine, first);
            survey.gradual(index, pair, &fine);
        }
        for (whole, (parts, _)) in survey.transitions.iter().zip(split) {
            survey.parts.extend(if parts.is_empty() { vec![*whole] } else { parts });
        }
        survey.fine = fine;
        Ok(survey)
    }

    /// The same as if all of it had been earlier by so many seconds.
    pub(crate) fn earlier(&self, by: f64) -> Self {
        let mut moved = self.clone();
        let ends = moved.outermost.iter_mut().flatten();
        moved.floors.iter_mut().chain(&mut moved.fine).chain(ends).for_each(|floor| floor.x -= by);
        let tails = moved.tails.iter_mut().flatten();
        for one in moved.transitions.iter_mut().chain(&mut moved.parts).chain(tails) {
            (one.from, one.to) = (one.from - by, one.to - by);
        }
        moved
    }

    /// The same without the transitions that are not `kept`: what is on either side of one is one group.
    pub(crate) fn without(&self, kept: impl Fn(&Transition) -> bool) -> Self {
        let mut joined = Self { groups: Vec::new(), transitions: Vec::new(), ..self.clone() };
        for (place, group) in self.groups.iter().enumerate() {
            let before = place.checked_sub(1).and_then(|before| self.transitions.get(before));
            match (joined.groups.last_mut(), before.filter(|before| kept(before))) {
                (Some(last), None) => last.end = group.end,
                (_, before) => {
                    joined.transitions.extend(before);
                    joined.groups.push(group.clone());
                }
            }
        }
        joined.parts.retain(kept);
        joined
    }

    /// The group that shows the level before a time and after it.
    fn around(&self, (from, to): (f64, f64)) -> Option<usize> {
        let x = |floor: usize| self.floors[floor].x;
        self.groups
            .iter()
            .position(|group| group.start < group.end && x(group.start) < from && x(group.end - 1) > to)
    }

    /// Whether all of a time lies within what shows one level.
    pub(crate) fn holds(&self, span: (f64, f64)) -> bool {
        self.around(span).is_some()
    }

    /// Parts a group by a change that it does not show by itself; the slope is greater by so much without it.
    pub(crate) fn part(&mut self, change: &Transition, slope: f64) {
        let Some(place) = self.around((change.from, change.to)) else { return };
        let group = self.groups[place].clone();
        let before = group.start..self.floors.partition_point(|floor| floor.x < change.from);
        let after = self.floors.partition_point(|floor| floor.x <= change.to)..group.end;
        self.groups.splice(place..=place, [before, after]);
        self.transitions.insert(place.min(self.transitions.len()), *change);
        self.parts.push(*change);
        self.slope += slope;
    }

    /// Joins segments to groups, and finds what lies between; gives of each transition the parts that it has, if it is not
    /// one, and whether it lies in floors that do not tell if it came at once.
    fn group(&mut self, cuts: &[Segment], base: f64) -> Vec<(Vec<Transition>, bool)> {
        let moves = |cut: &Segment| is_slewed(cut, base);
        let mut last: Option<Segment> = None;
        let mut moved: Vec<Segment> = Vec::new();
        let mut split = Vec::new();
        let mut untold = false;
        let last_floor = cuts.last().map_or(0, |cut| cut.to);
        for cut in cuts {
            if last.is_some()
                && cut.to < last_floor
                && cut.count() <= UNTOLD.0
                && (cut.slope - base).abs() > STEEP
            {
                // Between two jumps, of which each floor has seen another part.
                continue;
            }
            if moves(cut) {
                self.moving += self.floors[cut.to - 1].x - self.floors[cut.from].x;
                moved.push(*cut);
                continue;
            }
            let moved = std::mem::take(&mut moved);
            let Some(before) = last.replace(*cut) else {
                self.set_tail(0, self.tail(cut, &moved, base));
                self.groups.push(cut.from..cut.to);
                continue;
            };
            let (end, begin) = (self.floors[before.to - 1].x, self.floors[cut.from].x);
            let here = f64::midpoint(end, begin);
            let [one, other] = lines(&before, cut);
            let ((a, a_error), (b, b_error)) = (predicted(&one, base, here), predicted(&other, base, here));
            // A rate that changes slowly bends the floor: lines below its parts miss each other where they meet.
            let turn = (steady(&one, base).0 - steady(&other, base).0).abs();
            let bend = 0.25 * turn * (here - before.middle).max(cut.middle - here);
            let (size, error) = (b - a, a_error.hypot(b_error).hypot(bend).hypot(TICK.max(0.5 * self.grain)));
            if size.abs() > CHANGED * error {
                let (from, to) = if moved.is_empty() && !untold { (here, here) } else { (end, begin) };
                let doubt = before.doubt().hypot(cut.doubt());
                let whole = Transition { from, to, size, error, doubt };
                split.push((self.parts_of(&whole, &before, &moved, cut, base), moved.is_empty() && untold));
                self.transitions.push(whole);
                self.groups.push(cut.from..cut.to);
                untold = false;
            } else if b_error > UNTOLD.1 * a_error && (cut.count() <= UNTOLD.0 || cut.to < last_floor) {
                // It tells nothing, not even whether what follows it lies where the others did.
                last = Some(before);
                untold |= cut.count() > UNTOLD.0;
            } else if let Some(group) = self.groups.last_mut() {
                group.end = cut.to;
                untold = false;
            }
        }
        self.set_tail(1, last.and_then(|last| self.tail(&last, &moved, base)));
        split
    }

    /// How the level goes on from a segment to the end of the run that segments of another rate lie at.
    fn tail(&self, level: &Segment, moved: &[Segment], base: f64) -> Option<(Transition, bool)> {
        let (first, last) = (moved.first()?, moved.last()?);
        let x = |floor: usize| self.floors[floor].x;
        let ends = self.ends();
        let (at, beside) = match first.from < level.from {
            true => (ends.0, (x(last.to - 1), x(level.from))),
            false => (ends.1, (x(level.to - 1), x(first.from))),
        };
        tails::tail(level, moved, base, at, beside, tails::width(self.length, self.floors.len()))
    }

    fn set_tail(&mut self, end: usize, tail: Option<(Transition, bool)>) {
        self.tails[end] = tail.map(|tail| tail.0);
        self.firm_tails[end] = tail.is_some_and(|tail| tail.1);
    }

    /// How the level goes on at the ends where this direction tells it by itself.
    pub(crate) fn own_tails(&self) -> [Option<Transition>; 2] {
        [0, 1].map(|end| self.tails[end].filter(|_| self.firm_tails[end]))
    }

    /// The moments of the first packet and of the last.
    pub(crate) fn ends(&self) -> (f64, f64) {
        let all = || self.floors.iter().chain(self.outermost.iter().flatten()).map(|floor| floor.x);
        (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
    }

    /// A slew with jumps at its ends, each by itself; nothing where there is none.
    fn parts_of(
        &self,
        whole: &Transition,
        before: &Segment,
        moved: &[Segment],
        after: &Segment,
        base: f64,
    ) -> Vec<Transition> {
        let [slew] = moved else { return Vec::new() };
        if slew.count() < PARTED.0 {
            return Vec::new();
        }
        let x = |floor: usize| self.floors[floor].x;
        let ends = [f64::midpoint(whole.from, x(slew.from)), f64::midpoint(x(slew.to - 1), whole.to)];
        // Few floors lie nearly on their line by chance: they are no surer than those beside them.
        let excess = slew.excess.max(before.excess).max(after.excess);
        let error = |side: f64| {
            let tilt = slew.error * (excess / slew.excess.max(1e-9)) * (side - slew.middle).abs();
            whole.error.hypot(tilt).hypot(2.0 * excess / slew.count().sqrt())
        };
        let jump = |end: usize| {
            let size = match end {
                0 => slew.at(ends[0]) - predicted(before, base, ends[0]).0,
                _ => predicted(after, base, ends[1]).0 - slew.at(ends[1]),
            };
            let error = error(ends[end]);
            let stands_out = size.abs() > CHANGED * error && size.abs() > PARTED.1 * whole.size.abs();
            stands_out.then(|| Transition { from: ends[end], to: ends[end], size, error, ..*whole })
        };
        let (first, last) = (jump(0), jump(1));
        if first.is_none() && last.is_none() {
            return Vec::new();
        }
        let size = |jump: &Option<Transition>| jump.map_or(0.0, |jump| jump.size);
        let rest = Transition {
            from: if first.is_some() { ends[0] } else { whole.from },
            to: if last.is_some() { ends[1] } else { whole.to },
            size: whole.size - size(&first) - size(&last),
            error: error(ends[0]).max(error(ends[1])),
            ..*whole
        };
        first.into_iter().chain([rest]).chain(last).collect()
    }

    /// Takes a change for a jump that lies in floors which waited, where finer ones were near the old level until they were near the new one.
    fn at_once(&mut self, index: usize, pair: &[core::ops::Range<usize>], fine: &[Floor]) {
        let transition = &mut self.transitions[index];
        let (slope, up) = (self.slope, transition.size > 0.0);
        let level = |range: &core::ops::Range<usize>| {
            let heights = self.floors[range.clone()].iter().map(|floor| floor.above(slope));
            heights.fold(f64::INFINITY, f64::min)
        };
        let (old, new) = (level(&pair[0]), level(&pair[1]));
        let near = NEARLY * (new - old).abs();
        // What lies low tells: before a jump upwards, and after one downwards.
        let low = |least: f64| move |floor: &&Floor| floor.above(slope) < least;
        let span = (transition.from, transition.to);
        let within = || fine.iter().filter(move |floor| floor.x >= span.0 && floor.x <= span.1);
        let (begun, over) = if up {
            (within().rfind(low(old + near)), within().rfind(low(new - near)))
        } else {
            (within().find(low(old - near)), within().find(low(new + near)))
        };
        if let (Some(begun), Some(over)) = (begun, over)
            && over.x - begun.x <= NEARLY * (span.1 - span.0)
        {
            (transition.from, transition.to) = (over.x, over.x);
        }
    }

    /// Finds the moment of a jump among finer floors: after a jump upwards no floor lies below the new level, and
    /// before one downwards none below the old.
    fn sharpen(&mut self, index: usize, pair: &[core::ops::Range<usize>], fine: &[Floor], slope: f64) {
        let transition = &mut self.transitions[index];
        if transition.from < transition.to {
            return;
        }
        let reach = |floor: usize| self.floors.get(floor).map(|floor| floor.x);
        let low = reach(pair[0].end.saturating_sub(2)).unwrap_or(f64::MIN);
        let high = reach(pair[1].start + 1).unwrap_or(f64::MAX);
        let level = |range: &core::ops::Range<usize>| {
            let heights = self.floors[range.clone()].iter().map(|floor| floor.above(slope));
            heights.fold(f64::INFINITY, f64::min)
        };
        let near = || fine.iter().filter(|floor| floor.x > low && floor.x < high);
        let (old, new) = (level(&pair[0]), level(&pair[1]));
        let between = f64::midpoint(old, new);
        let at = if transition.size > 0.0 {
            let last = near().filter(|floor| floor.above(slope) < between).map(|floor| floor.x).next_back();
            last.and_then(|last| near().map(|floor| floor.x).find(|x| *x > last))
        } else {
            near().find(|floor| floor.above(slope) < between).map(|floor| floor.x)
        };
        if let Some(at) = at {
            (transition.from, transition.to) = (at, at);
        }
    }

    /// Takes what seemed to be a jump for what it is where finer floors show that it took a while: after a jump upwards none lies below the new
    /// level, and before one downwards none below the old, however long packets wait.
    fn gradual(&mut self, index: usize, pair: &[core::ops::Range<usize>], fine: &[Floor]) {
        let transition = &mut self.transitions[index];
        if transition.from < transition.to {
            return;
        }
        let (slope, at) = (self.slope, transition.from);
        let near = |floors: &[Floor]| {
            let mut heights: Vec<f64> = floors.iter().map(|floor| floor.above(slope)).collect();
            let level = median(&mut heights);
            heights.iter_mut().for_each(|height| *height -= level);
            (level, scatter(heights))
        };
        // The floors beside it may themselves have seen a part of it.
        let before = &self.floors[pair[0].start..pair[0].end.saturating_sub(2).max(pair[0].start)];
        let after = &self.floors[(pair[1].start + 2).min(pair[1].end)..pair[1].end];
        let (before, after) =
            (&before[before.len().saturating_sub(GRADUAL.2)..], &after[..after.len().min(GRADUAL.2)]);
        let (Some(first), Some(last)) = (before.first(), after.last()) else { return };
        let ((old, old_scatter), (new, new_scatter)) = (near(before), near(after));
        let size = (new - old).abs();
        let margin = (NEARLY * size).max(GRADUAL.1 * old_scatter.max(new_scatter).max(TICK).max(self.grain));
        if 3.0 * margin > size {
            return;
        }
        let around = || fine.iter().filter(|floor| floor.x > first.x && floor.x < last.x);
        let lies_low = |level: f64| move |floor: &&Floor| floor.above(slope) < level - margin;
        let has_gone = |level: f64| move |floor: &&Floor| floor.above(slope) < level + margin;
        let (between, begun, over): (Vec<&Floor>, _, _) = if new > old {
            let between: Vec<_> = around().filter(|floor| floor.x >= at).filter(lies_low(new)).collect();
            let begun = around().rfind(has_gone(old));
            let over = between.last().copied();
            (between, begun, over)
        } else {
            let between: Vec<_> = around().filter(|floor| floor.x < at).filter(lies_low(old)).collect();
            let begun = between.first().copied();
            (between, begun, around().find(has_gone(new)))
        };
        let (Some(begun), Some(over)) = (begun, over) else { return };
        if between.len() < GRADUAL.0 || begun.x >= over.x {
            return;
        }
        // From a margin above the one level to a margin below the other; and straight, as two jumps are not.
        let further = (over.x - begun.x) * margin / (size - 2.0 * margin);
        let (from, to) = (begun.x - further, over.x + further);
        let on_line = |floor: &&&Floor| {
            (floor.above(slope) - old - (new - old) * (floor.x - from) / (to - from)).abs() < margin
        };
        if 2 * between.iter().filter(on_line).count() >= between.len() {
            (transition.from, transition.to) = (from, to);
        }
    }

    /// The floors of the groups, without those that may lie in two, in as many stretches as a posterior takes.
    pub(crate) fn observations(&self) -> Vec<Observation> {
        let each = (self.floors.len() / OBSERVATIONS).max(1);
        // Heights of coarse stamps are alike, as nothing that is measured is: a posterior would take them for exact.
        let scattered = RandomStream::new(Seed([0x6772_6169, 0, 0, 0, 0, 0]), [0, 0]);
        let mut found: Vec<Observation> = Vec::new();
        let mut number = 0;
        for (index, group) in self.groups.iter().enumerate() {
            let moved = |transition: Option<&Transition>| match transition {
                Some(transition) if transition.from < transition.to => 3,
                Some(_) => 1,
                None => 0,
            };
            let from = group.start + moved(index.checked_sub(1).and_then(|one| self.transitions.get(one)));
            let to = group.end.saturating_sub(moved(self.transitions.get(index)));
            if from >= to {
                continue;
            }
            let stretches: Vec<Floor> =
                self.floors[from..to].chunks(each).filter_map(|part| lowest(part, self.slope)).collect();
            if stretches.len() < 3 {
                continue;
            }
            found.extend(stretches.iter().map(|floor| Observation {
                x: floor.x,
                y: floor.y + coarse(self.grain) * scattered.unit(floor.x.to_bits()),
                weight: floor.count,
                scale: 1.0,
                group: number,
            }));
            number += 1;
        }
        let mean = found.iter().map(|one| one.weight).sum::<f64>() / many(found.len().max(1));
        found.iter_mut().for_each(|one| one.weight /= mean);
        self.weigh(&mut found);
        found
    }

    /// Where waiting changes much in the run, says how much where.
    fn weigh(&self, found: &mut [Observation]) {
        let height = |one: &Observation| one.y - self.slope * one.x;
        let groups = found.iter().map(|one| one.group).max().map_or(0, |last| last + 1);
        let mut levels = vec![f64::INFINITY; groups];
        for one in found.iter() {
            levels[one.group] = levels[one.group].min(height(one));
        }
        // The least of many packets lies lower than that of few.
        let above = |one: &Observation| one.weight * (height(one) - levels[one.group]);
        let excess: Vec<f64> = found.iter().map(above).collect();
        let local = |index: usize| {
            let near = index.saturating_sub(7)..(index + 8).min(excess.len());
            let count = many(near.len());
            excess[near].iter().sum::<f64>() / count
        };
        let scales: Vec<f64> = (0..found.len()).map(local).collect();
        let (least, most) =
            scales.iter().fold((f64::INFINITY, 0.0f64), |(low, high), one| (low.min(*one), high.max(*one)));
        if most > UNEVEN * least && least > 0.0 {
            let mean = scales.iter().sum::<f64>() / many(scales.len());
            for (one, scale) in found.iter_mut().zip(scales) {
                one.scale = scale / mean;
            }
        }
    }

    /// The floors that lie above a level, with what `longer` says that packets of a moment take more for what happened.
    pub(crate) fn level(&self, longer: impl Fn(f64) -> f64) -> Vec<Floor> {
        let floors = self.groups.iter().flat_map(|group| &self.floors[group.clone()]);
        floors.map(|floor| Floor { y: floor.y - longer(floor.x), ..*floor }).collect()
    }
}

/// Whether the rate of a segment is another than that of most.
fn is_slewed(cut: &Segment, base: f64) -> bool {
    let (slope, error) = cut.rate();
    let away = (slope - base).abs();
    away > SLEWED.0 && away > SLEWED.1 * error
}

/// Segments as they can be believed at the ends of the run: few floors lie nearly on a line of any slope by chance, and are
/// no surer of it than those of the longest segment are. What they show is where the level is, and no slew.
fn calmed(cuts: &[Segment]) -> Vec<Segment> {
    let usual =
        cuts.iter().max_by(|a, b| a.count().total_cmp(&b.count())).map_or(0.0, |longest| longest.excess);
    let mut calmed = cuts.to_vec();
    let last = cuts.len().saturating_sub(1);
    for (place, cut) in calmed.iter_mut().enumerate() {
        if (place == 0 || place == last) && cut.count() <= AT_END && cut.excess < usual {
            cut.error *= usual / cut.excess.max(1e-9);
            cut.excess = usual;
        }
    }
    calmed
}

/// The rate of the clocks between what happens to them, above a slope that is taken out: the `wanted` one if there is such a segment, and one that
/// clocks may have if there is.
fn usual(cuts: &[Segment], slope: f64, wanted: Option<f64>) -> Option<f64> {
    let base = consensus(cuts, |_| true)?;
    let is_long = |cut: &Segment| cut.count() > AT_END;
    if let Some(wanted) = wanted {
        let is_it = |cut: &Segment| {
            let (rate, error) = cut.rate();
            (slope + rate - wanted).abs() <= 3.0 * error + STEADY
        };
        return consensus(cuts, |cut| is_long(cut) && is_it(cut)).or(Some(base));
    }
    let may_be = |rate: f64| (slope + rate).abs() <= 1e3 * PLAUSIBLE_PPM;
    let base = match may_be(base) {
        true => base,
        false => consensus(cuts, |cut| is_long(cut) && may_be(cut.rate().0)).unwrap_or(base),
    };
    tails::of_ends(cuts, |cut| is_slewed(cut, base), STEADY).or(Some(base))
}

/// The rate that segments agree on, by the number of their floors: of those that have it.
fn consensus(cuts: &[Segment], is_of_it: impl Fn(&Segment) -> bool) -> Option<f64> {
    let agrees = |a: &Segment, b: &Segment| {
        let ((one, error), (other, others_error)) = (a.rate(), b.rate());
        (one - other).abs() <= 3.0 * error.hypot(others_error) + STEADY
    };
    let support = |one: &Segment| {
        let others = cuts.iter().filter(|other| agrees(one, other));
        // Floors that could be anywhere agree with all, and tell little.
        others.map(|other| other.count() / (1.0 + (other.rate().1 / STEADY).powi(2))).sum::<f64>()
    };
    let best = cuts.iter().filter(|one| is_of_it(one)).max_by(|a, b| support(a).total_cmp(&support(b)))?;
    let (mut weights, mut sum) = (0.0, 0.0);
    for other in cuts.iter().filter(|other| agrees(best, other)) {
        let (slope, error) = other.rate();
        let weight = 1.0 / (error.powi(2) + 1e-12);
        (weights, sum) = (weights + weight, sum + weight * slope);
    }
    Some(sum / weights)
}

/// A segment's slope if rates differ by no more than oscillators' do, and the share of its own that is in it.
fn steady(segment: &Segment, base: f64) -> (f64, f64) {
    let share = STEADY.powi(2) / (STEADY.powi(2) + segment.error.powi(2));
    (base + share * (segment.slope - base), share)
}

/// Two segments by the lines below them; or both by the lines through them, where floors have no firm floor: the lowest of them tells a
/// level badly then, and the mean well.
fn lines(before: &Segment, after: &Segment) -> [Segment; 2] {
    let plain = [*before, *after];
    if !plain.iter().any(|one| one.is_soft) {
        return plain;
    }
    let through = |one: &Segment| {
        // The mean is known to its scatter over the root of the number; of an excess, twice that over the number is taken.
        one.through.map(|line| Segment {
            slope: line.slope,
            error: line.error,
            level: line.level,
            excess: 0.5 * line.scatter * one.count().sqrt(),
            ..*one
        })
    };
    match plain.each_ref().map(through) {
        [Some(one), Some(other)] => [one, other],
        _ => plain,
    }
}

/// The line of a segment at a moment, with its error, if rates differ by no more than oscillators' do.
pub(crate) fn predicted(segment: &Segment, base: f64, x: f64) -> (f64, f64) {
    let (slope, share) = steady(segment, base);
    let error = share.sqrt() * segment.error * (x - segment.middle).abs();
    // With another slope the lowest point is another: the level moves with it.
    let moved = (segment.slope - slope).abs() * (x - segment.middle).abs();
    let steady = Segment { slope, ..*segment };
    (steady.at(x), error.hypot(2.0 * segment.excess / segment.count()).hypot(0.5 * moved))
}
