//! Stamps of a responder's clock that was set, as if it had not been.
//!
//! Moments repeat on a clock that is set back: a packet that came later seems to have come first. The delays tell when
//! that was, and by how much; what orders packets has to know it, too. So where the step is certainly the responder's,
//! because the sender's packets left with less between them than it is long, it is taken out of the responder's stamps, and
//! no more of the delays.

use romer_record::OneWaySingleton;
use romer_units::{Direction, Timestamp};

use super::arithmetic::median;
use super::correction::{Correction, Leg};
use super::estimate::{ChangeKind, ClockChange, Estimate};
use super::stamps::moment;

/// What lies below a level by more than this part of a step is not at that level.
const SPARE: f64 = 0.25;
/// A jump of a correction is a step's where it is of its size to this part and no further from it than this part of the run.
const SAME_SIZE: f64 = 0.01;
const NEAR: i64 = 50;
/// A level is that of this part of the run beside the step, or of half of what lies between it and the next one, without a tenth of it next to the step.
const BESIDE: i64 = 10;
/// Less than this part of a step lies between the departures beside it: then it is not the sender's clock that was set ahead.
const CLOSER: f64 = 0.9;
/// Or, of a sender that was set ahead, packets would have left within this part of what seldom less (a hundredth of the departures) lies between
/// two; so many on either side of the step are asked, as it may be told beside its place.
const SELDOM: i64 = 2;
const HUNDREDTH: usize = 100;
const ASKED: usize = 8;
/// Packets on either side of a step that tell how high a queue stood.
const NEIGHBOURS: usize = 7;
/// Two steps are so many times as far apart as either is long.
const APART: i64 = 2;

/// The steps of the responder's clock that its stamps are to be without, in order of time.
#[derive(Clone, Debug, Default)]
pub struct SetBack {
    sets: Vec<Set>,
}

/// One step.
#[derive(Clone, Debug)]
struct Set {
    /// By how much the clock was set.
    size_ns: i64,
    sides: Sides,
}

/// What tells which packets were stamped after a step.
#[derive(Clone, Debug)]
enum Sides {
    /// The stamps, and where they are ambiguous the delays.
    Stamps {
        /// By that clock as if it had not been set: it was then.
        between: [i64; 2],
        /// What tells of a packet forward, and in reverse, of which the stamps do not.
        judges: [Judge; 2],
    },
    /// The corrections: from these moments of the sender's clock on, forward and in reverse. So it is of steps that are longer than the time
    /// between them, as stamps beside one of them are those of others.
    Moments([i64; 2]),
}

/// The level that shows whether a packet was stamped before a step or after it: that which lies lower. No packet of the other side
/// lies below.
#[derive(Clone, Debug)]
struct Judge {
    origin_ns: i64,
    leg: Leg,
    /// Raw delays above the leg that are certainly of the lower level.
    below: f64,
    /// The lower level is that after the step.
    falls: bool,
}

/// A packet by its moment on the sender's clock, and the responder's stamp.
#[derive(Clone, Copy, Debug)]
struct PacketMoment {
    at: i64,
    stamp: i64,
}

impl PacketMoment {
    fn new(singleton: &OneWaySingleton, heading: Direction) -> Option<Self> {
        let stamp = match heading {
            Direction::Forward => singleton.arrival.map(Timestamp::as_nanos),
            Direction::Reverse => singleton.departure.map(Timestamp::as_nanos),
        };
        Some(Self { at: moment(singleton, heading)?, stamp: stamp? })
    }

    fn raw(self, heading: Direction) -> f64 {
        heading.sign() * self.stamp.saturating_sub(self.at) as f64
    }
}

impl Judge {
    /// Whether a packet is of the lower level by its delay alone.
    fn is_low(&self, packet: PacketMoment, heading: Direction) -> bool {
        self.height(packet, heading) < self.below
    }

    fn height(&self, packet: PacketMoment, heading: Direction) -> f64 {
        packet.raw(heading) - self.leg.at(packet.at.saturating_sub(self.origin_ns))
    }

    /// Judges by the packets beside the step whose stamps show on which side of it they are: the queue stood as high for those between.
    /// Without such packets on either side, the floor decides, as for a run shorter than twice the step.
    fn by_neighbours(
        &mut self,
        size_ns: i64,
        between: [i64; 2],
        packets: &[PacketMoment],
        heading: Direction,
    ) {
        let is_later = |packet: &&PacketMoment| packet.stamp > between[1];
        let is_earlier = |packet: &&PacketMoment| packet.stamp.saturating_sub(size_ns) < between[0];
        let median = |packets: Vec<PacketMoment>| {
            let mut heights: Vec<f64> = packets.iter().map(|one| self.height(*one, heading)).collect();
            (!heights.is_empty()).then(|| median(&mut heights))
        };
        let first = packets.iter().filter(is_later).filter(|one| !is_earlier(one)).take(NEIGHBOURS);
        let last = packets.iter().rev().filter(is_earlier).filter(|one| !is_later(one)).take(NEIGHBOURS);
        let levels = median(first.copied().collect()).zip(median(last.copied().collect()));
        self.below = levels.map_or(self.below, |(later, earlier)| f64::midpoint(later, earlier));
    }
}

impl Set {
    /// Whether a stamp was taken after the step.
    fn is_later(&self, packet: PacketMoment, heading: Direction) -> bool {
        let place = usize::from(heading == Direction::Reverse);
        let (between, judges) = match &self.sides {
            Sides::Moments(from) => return packet.at >= from[place],
            Sides::Stamps { between, judges } => (between, judges),
        };
        let may_be_earlier = packet.stamp <= between[1];
        let may_be_later = packet.stamp.saturating_sub(self.size_ns) >= between[0];
        let judge = &judges[place];
        match (may_be_earlier, may_be_later) {
            (true, false) => false,
            (false, true) => true,
            _ => judge.is_low(packet, heading) == judge.falls,
        }
    }

    /// The stamp as if the clock had not been set.
    fn undone(&self, packet: PacketMoment, heading: Direction) -> PacketMoment {
        let size = if self.is_later(packet, heading) { self.size_ns } else { 0 };
        PacketMoment { stamp: packet.stamp.saturating_sub(size), ..packet }
    }
}

impl SetBack {
    /// Finds the steps in `estimate` that are the responder's, and takes them out of its corrections, which are
    /// [sharpened](super::sharpen()): what is left of these is of stamps in which they are [undone](Self::undo). The estimate tells of
    /// them as before. Where no stamp of the responder's goes back there are none.
    pub fn take_out(
        estimate: &mut Estimate,
        forward: &[OneWaySingleton],
        reverse: &[OneWaySingleton],
    ) -> Self {
        let is_step = |event: &&ClockChange| event.kind == ChangeKind::ClockStep && event.until_ns.is_none();
        let steps: Vec<ClockChange> = estimate.events.iter().filter(is_step).copied().collect();
        let mut found = Self::default();
        if steps.is_empty() {
            return found;
        }
        let mut packets =
            [(forward, Direction::Forward), (reverse, Direction::Reverse)].map(|(singletons, heading)| {
                let mut packets: Vec<PacketMoment> =
                    singletons.iter().filter_map(|singleton| PacketMoment::new(singleton, heading)).collect();
                packets.sort_by_key(|packet| packet.at);
                packets
            });
        // A copy has left with its packet.
        let sent = forward.iter().filter(|singleton| singleton.copy == 0);
        let mut left: Vec<i64> =
            sent.filter_map(|singleton| singleton.departure.map(Timestamp::as_nanos)).collect();
        left.sort_unstable();
        for (place, step) in steps.iter().enumerate() {
            let mut corrections = estimate.corrections.clone();
            // Of a queue that is never empty packets tell less of a step's moment than those of the other direction.
            let full = step.dated_by.map(Direction::opposite).or(estimate.full);
            let Some(set) = set(step, room(&steps, place), (&mut corrections, full), &packets, &left) else {
                continue;
            };
            for (packets, heading) in packets.iter_mut().zip(Direction::BOTH) {
                packets.iter_mut().for_each(|packet| *packet = set.undone(*packet, heading));
            }
            estimate.corrections = corrections;
            found.sets.push(set);
        }
        found
    }

    /// Adds the steps, as the estimate reports them in which they were found, to one of stamps in which they are undone.
    pub(super) fn tell(&self, found: &Estimate, other: &mut Estimate) {
        let is_step = |event: &&ClockChange| {
            event.kind == ChangeKind::ClockStep && self.sets.iter().any(|set| set.size_ns == event.size_ns)
        };
        other.events.extend(found.events.iter().filter(is_step));
        other.events.sort_by_key(|event| event.at_ns);
        for (correction, origin) in other.corrections.iter_mut().zip(&found.corrections) {
            if correction.is_empty() {
                correction.origin_ns = origin.origin_ns;
            }
        }
    }

    /// Whether there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// One direction with the responder's stamps as if its clock had not been set.
    pub fn undo(&self, mut singletons: Vec<OneWaySingleton>, heading: Direction) -> Vec<OneWaySingleton> {
        for singleton in singletons.iter_mut().filter(|_| !self.is_empty()) {
            let Some(packet) = PacketMoment::new(singleton, heading) else { continue };
            let undone = self.sets.iter().fold(packet, |packet, set| set.undone(packet, heading));
            match heading {
                Direction::Forward => singleton.arrival = Some(Timestamp::from_nanos(undone.stamp)),
                Direction::Reverse => singleton.departure = Some(Timestamp::from_nanos(undone.stamp)),
            }
        }
        singletons
    }

    /// The same of both directions.
    pub(super) fn undo_both(
        &self,
        [forward, reverse]: [Vec<OneWaySingleton>; 2],
    ) -> [Vec<OneWaySingleton>; 2] {
        [self.undo(forward, Direction::Forward), self.undo(reverse, Direction::Reverse)]
    }
}

impl Estimate {
    /// Takes a step of a clock out of the corrections, which say nothing of it then; the stamps have to be changed by as much. Gives
    /// whether both have it.
    pub fn take_out(&mut self, step: &ClockChange) -> bool {
        let mut legs = [0; 2];
        for ((correction, heading), leg) in self.corrections.iter().zip(Direction::BOTH).zip(&mut legs) {
            // It is one of the estimate's own steps: in a pause it is told far from where the correction has it.
            let Some(found) = jump(step, correction, heading, i64::MAX) else { return false };
            *leg = found;
        }
        for ((correction, heading), leg) in self.corrections.iter_mut().zip(Direction::BOTH).zip(legs) {
            without(correction, leg, heading, step.size_ns);
        }
        true
    }
}

/// Takes a step out of the legs from one on.
fn without(correction: &mut Correction, leg: usize, heading: Direction, size_ns: i64) {
    let size = heading.sign() * size_ns as f64;
    correction.legs.iter_mut().skip(leg).for_each(|leg| leg.value_ns -= size);
}

/// Half of how far the next other step is. `None` where it is so near that the stamps beside one of them are those of both: what is between
/// them may be on any side of either.
fn room(steps: &[ClockChange], place: usize) -> Option<i64> {
    let step = steps.get(place)?;
    let others = steps.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, other)| other);
    let mut room = i64::MAX;
    for other in others {
        let apart = other.at_ns.saturating_sub(step.at_ns).saturating_abs();
        if apart < APART.saturating_mul(step.size_ns.saturating_abs().max(other.size_ns.saturating_abs())) {
            return None;
        }
        room = room.min(apart / 2);
    }
    Some(room)
}

/// A step, if it is the responder's; it is taken out of the corrections then. The packets are in order of their moments, and so is when
/// all `left` that were sent. No other step is within `room` of it.
fn set(
    step: &ClockChange,
    room: Option<i64>,
    (corrections, full): (&mut [Correction; 2], Option<Direction>),
    packets: &[Vec<PacketMoment>; 2],
    left: &[i64],
) -> Option<Set> {
    let [there, back] = packets;
    let span = |packets: &[PacketMoment]| Some(packets.last()?.at.saturating_sub(packets.first()?.at));
    let near = span(there)?.max(span(back)?) / NEAR;
    let [forward, reverse] =
        [0, 1].map(|place| jump(step, &corrections[place], Direction::BOTH[place], near));
    let legs = [forward?, reverse?];
    let cuts = [0, 1].map(|place| {
        let correction = &corrections[place];
        correction.origin_ns.saturating_add(correction.legs[legs[place]].from_ns)
    });
    if !is_responders(step.size_ns, cuts[0], left) {
        return None;
    }
    let sides = match room {
        Some(room) => stamps_of(step.size_ns, room, (corrections, full), (packets, legs, cuts))?,
        None => Sides::Moments(cuts),
    };
    for ((correction, leg), heading) in corrections.iter_mut().zip(legs).zip(Direction::BOTH) {
        without(correction, leg, heading, step.size_ns);
    }
    Some(Set { size_ns: step.size_ns, sides })
}

/// What the stamps tell of a step with which the corrections have these legs begin at the `cuts`.
fn stamps_of(
    size_ns: i64,
    room: i64,
    (corrections, full): (&[Correction; 2], Option<Direction>),
    (packets, legs, cuts): (&[Vec<PacketMoment>; 2], [usize; 2], [i64; 2]),
) -> Option<Sides> {
    let judge = |place: usize| {
        let beside = (cuts[place], beside(&packets[place], room)?);
        judge(size_ns, &corrections[place], legs[place], &packets[place], Direction::BOTH[place], beside)
    };
    let mut judges = [judge(0)?, judge(1)?];
    // When it was, the direction tells whose least delay is a floor.
    let place = usize::from(full == Some(Direction::Forward));
    let told = (Direction::BOTH[place], &packets[place][..]);
    let between = between(size_ns, &judges[place], told, (cuts[place], beside(told.1, room)?))?;
    if let Some(heading) = full {
        let place = 1 - place;
        judges[place].by_neighbours(size_ns, between, &packets[place], heading);
    }
    Some(Sides::Stamps { between, judges })
}

/// The leg of a correction that begins with the step.
fn jump(step: &ClockChange, correction: &Correction, heading: Direction, near: i64) -> Option<usize> {
    let size = heading.sign() * step.size_ns as f64;
    let at = step.at_ns.saturating_sub(correction.origin_ns);
    let away = |leg: usize| correction.legs[leg].from_ns.abs_diff(at);
    let is_it = |leg: &usize| {
        let jump = correction.legs[leg - 1].jump_to(&correction.legs[*leg]);
        (jump - size).abs() <= SAME_SIZE * size.abs() && away(*leg) <= near.unsigned_abs()
    };
    (1..correction.legs.len()).filter(is_it).min_by_key(|leg| away(*leg))
}

/// Whether it is the responder's clock that was set, and not the sender's, which sets its departures apart.
fn is_responders(size_ns: i64, cut: i64, left: &[i64]) -> bool {
    let place = left.partition_point(|left| *left < cut);
    let Some([before, after]) =
        place.checked_sub(1).and_then(|one| left.get(one..=place)).and_then(<[_]>::first_chunk)
    else {
        return false;
    };
    if size_ns < 0 {
        return (after.saturating_sub(*before) as f64) < CLOSER * size_ns.unsigned_abs() as f64
            || is_too_close(size_ns.saturating_neg(), place, left);
    }
    // A sender that is set back by more than there is between two departures is known by that they go back.
    left.windows(2).all(|pair| pair[1].saturating_sub(pair[0]) < size_ns)
}

/// Whether packets would have left closer to each other than they do, if the sender's clock had been set ahead by so much near a place.
fn is_too_close(ahead_ns: i64, place: usize, left: &[i64]) -> bool {
    let gaps =
        |left: &[i64]| -> Vec<i64> { left.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect() };
    let mut all = gaps(left);
    let hundredth = all.len() / HUNDREDTH;
    let seldom = *all.select_nth_unstable(hundredth).1;
    let (from, to) = (place.saturating_sub(ASKED), (place + ASKED).min(left.len()));
    let most = gaps(&left[from..to]).into_iter().max();
    most.is_some_and(|most| most.saturating_sub(ahead_ns) < seldom / SELDOM)
}

/// How far beside a step the packets tell of its levels.
fn beside(packets: &[PacketMoment], room: i64) -> Option<i64> {
    Some((packets.last()?.at.saturating_sub(packets.first()?.at) / BESIDE).min(room))
}

/// What tells both sides of a step apart; `None` where nothing is known of the lower side's level.
fn judge(
    size_ns: i64,
    correction: &Correction,
    leg: usize,
    packets: &[PacketMoment],
    heading: Direction,
    (cut, far): (i64, i64),
) -> Option<Judge> {
    let size = heading.sign() * size_ns as f64;
    let falls = size < 0.0;
    let (before, after) = (correction.legs[leg - 1], correction.legs[leg]);
    let origin_ns = correction.origin_ns;
    // Packets of the side that lies higher tell where no packet of it lies below.
    let higher = if falls { before } else { after };
    // Near an end of the run there are fewer.
    let ends =
        [packets.first()?, packets.last()?].map(|packet| packet.at.saturating_sub(cut).saturating_abs());
    let far = far.min(ends[usize::from(!falls)]);
    let [from, to] = if falls {
        [cut.saturating_sub(far), cut.saturating_sub(far / BESIDE)]
    } else {
        [cut.saturating_add(far / BESIDE), cut.saturating_add(far).saturating_add(1)]
    };
    let stretch =
        packets.partition_point(|packet| packet.at < from)..packets.partition_point(|packet| packet.at < to);
    let heights = packets[stretch]
        .iter()
        .map(|packet| packet.raw(heading) - higher.at(packet.at.saturating_sub(origin_ns)));
    let level = heights.reduce(f64::min)?;
    Some(Judge { origin_ns, leg: higher, below: level - SPARE * size.abs(), falls })
}

/// Between which moments of the responder's clock, as if it had not been set, the step was: packets beside the `cut` tell.
fn between(
    size_ns: i64,
    judge: &Judge,
    (heading, packets): (Direction, &[PacketMoment]),
    (cut, far): (i64, i64),
) -> Option<[i64; 2]> {
    let beside = packets.iter().filter(|packet| packet.at.abs_diff(cut) <= far.unsigned_abs());
    let is_low = |packet: &&PacketMoment| judge.is_low(**packet, heading);
    let undone = |packet: &PacketMoment| packet.stamp.saturating_sub(size_ns);
    if judge.falls {
        let until = beside.clone().filter(is_low).map(undone).min()?;
        let earlier = beside.filter(|packet| !is_low(packet) && packet.stamp < until);
        Some([earlier.map(|packet| packet.stamp).max()?, until])
    } else {
        let since = beside.clone().filter(is_low).map(|packet| packet.stamp).max()?;
        let later = beside.filter(|packet| !is_low(packet) && undone(packet) > since);
        Some([since, later.map(undone).min()?])
    }
}
