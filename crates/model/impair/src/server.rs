//! The fifth stage: a rate with its byte queue, or recorded delivery opportunities.
//!
//! A frame is in the queue from when the delay stage lets it go until its last bit is sent, and leaves then: a rate R
//! delays a frame of L bits by at least L/R, and no two leave closer than that. Lost packets use no rate, because
//! loss comes first; corrupted ones do.

use std::collections::VecDeque;

use romer_units::{Layer, Rate};

use crate::config::{DEFAULT_QUEUE, Discipline, RateLimit};
use crate::convert;
use crate::generator::{Draws, Lane};
use crate::nanos::Nanos;
use crate::packet::Cause;
use crate::packet_store::{InFlight, NEVER, SlabKey};
use crate::trace::Opportunities;

/// Octets of preamble, start delimiter and gap.
const LINE: u32 = 20;
/// Binary digits of a nanosecond in which the end of a sending is kept, so that no fraction is lost.
const FRACTION: u32 = 20;

/// The lengths of one packet.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// Of the frame, with its check sequence.
    frame: u32,
    /// That counts at layer 3.
    network: u32,
}

impl Size {
    /// The shortest frame.
    const SHORTEST: Self = Self { frame: 64, network: 46 };

    /// The octets that count at a layer.
    const fn at(self, layer: Layer) -> u32 {
        match layer {
            Layer::L1 => self.frame.saturating_add(LINE),
            Layer::L2 => self.frame,
            Layer::L3 | Layer::Payload => self.network,
        }
    }
}

/// How long a frame is sent, in 2^-20 ns.
fn sending(limit: &RateLimit, size: Size) -> i128 {
    let (amount, per_second) = match limit.limit {
        Rate::Bits(bits) => (u128::from(size.at(limit.layer)) * 8, bits),
        Rate::Packets(packets) => (1, packets),
    };
    let amount = (amount * 1_000_000_000) << FRACTION;
    let per_second = per_second.max(1);
    // Of frames that links carry the amount fits the processor's own division, which takes a tenth of the long one's time.
    match u64::try_from(amount) {
        Ok(amount) => amount.div_ceil(per_second).into(),
        Err(_) => i128::try_from(amount.div_ceil(per_second.into())).unwrap_or(i128::MAX),
    }
}

/// What the stage works by at some moment.
#[derive(Clone, Copy)]
pub(crate) enum Pace<'a> {
    /// Everything leaves at once.
    Free,
    /// A rate.
    Limit(&'a RateLimit),
    /// Moments at which so many octets leave; counted from `start`.
    Opportunities { trace: &'a Opportunities, start: Nanos },
}

impl Pace<'_> {
    fn room(&self) -> u64 {
        match self {
            Self::Limit(limit) => limit.queue,
            Self::Free | Self::Opportunities { .. } => DEFAULT_QUEUE * 16,
        }
    }
}

/// A frame in the queue.
#[derive(Clone, Copy, Debug)]
struct Queued {
    place: SlabKey,
    size: Size,
    /// When it came.
    released: Nanos,
}

/// What leaves the stage, or is dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServedPacket {
    pub(crate) place: SlabKey,
    /// When.
    pub(crate) time: Nanos,
    /// Why it does not leave.
    pub(crate) lost: Option<Cause>,
    /// Whether there was a rate, or a queue that one had left.
    pub(crate) rated: bool,
}

/// How long a frame of some length takes at some rate: mostly it is the same as of the frame before.
#[derive(Clone, Copy, Debug)]
struct Sending {
    limit: Rate,
    octets: u32,
    fine: i128,
}

/// The queue and who empties it.
#[derive(Clone, Debug)]
pub(crate) struct QueueServer {
    queue: VecDeque<Queued>,
    octets: u64,
    /// When the frame at the head has been sent, in 2^-20 ns; `None`: none is being sent.
    busy: Option<i128>,
    /// The same in whole nanoseconds; meaningless while none is being sent.
    busy_until: Nanos,
    /// When the last one had been.
    free_since: i128,
    /// Octets of the head that earlier opportunities have taken.
    taken: u32,
    /// The opportunity that was used last: its number, and what is left of it.
    opportunity: Option<(u64, u32)>,
    /// When the pace changed last.
    changed: Nanos,
    red: Red,
    codel: CoDel,
    last: Option<Sending>,
    /// Octets of the largest frame that has come.
    largest: u64,
    /// How often something came, left, or came nearer to being dropped.
    progress: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Red {
    average: f64,
    since_drop: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct CoDel {
    first_above: Option<Nanos>,
    dropping: bool,
    drop_next: Nanos,
    count: u32,
    last_count: u32,
}

impl QueueServer {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            queue: VecDeque::with_capacity(capacity),
            octets: 0,
            busy: None,
            busy_until: NEVER,
            free_since: i128::MIN,
            taken: 0,
            opportunity: None,
            changed: Nanos::MIN,
            red: Red::default(),
            codel: CoDel::default(),
            last: None,
            largest: 0,
            progress: 0,
        }
    }

    /// Takes in what the delay stage lets go at `now`, the `piece` at `place`; gives it back where it is dropped, or goes
    /// straight on.
    pub(crate) fn offer(
        &mut self,
        place: SlabKey,
        piece: &InFlight,
        now: Nanos,
        pace: Pace<'_>,
        draws: &mut Draws,
    ) -> Option<ServedPacket> {
        if matches!(pace, Pace::Free) && self.queue.is_empty() {
            return Some(ServedPacket { place, time: now, lost: None, rated: false });
        }
        let size = Size { frame: piece.length, network: piece.network_length };
        let octets = u64::from(size.frame);
        let full = self.octets + octets > pace.room();
        if self.early(piece, now, pace, draws, full) || full {
            return Some(ServedPacket { place, time: now, lost: Some(Cause::Queue), rated: true });
        }
        self.octets += octets;
        self.progress += 1;
        self.largest = self.largest.max(octets);
        self.queue.push_back(Queued { place, size, released: piece.released });
        self.go_on(pace);
        None
    }

    /// Begins to send the head where nothing else can happen to it first. What CoDel may still drop waits for its step.
    fn go_on(&mut self, pace: Pace<'_>) {
        if let Pace::Limit(limit) = pace
            && self.busy.is_none()
            && !matches!(limit.discipline, Discipline::CoDel { .. })
            && let Some(&head) = self.queue.front()
        {
            let end = self.begin(head) + self.sending(limit, head.size);
            self.send_until(end);
        }
    }

    /// As [`sending`].
    fn sending(&mut self, limit: &RateLimit, size: Size) -> i128 {
        let octets = size.at(limit.layer);
        if let Some(last) = self.last
            && last.octets == octets
            && last.limit == limit.limit
        {
            return last.fine;
        }
        let fine = sending(limit, size);
        self.last = Some(Sending { limit: limit.limit, octets, fine });
        fine
    }

    fn send_until(&mut self, end: i128) {
        self.busy = Some(end);
        self.busy_until = ceiling(end);
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// A number that changes whenever what waits changes, or may yet be dropped.
    pub(crate) fn progress(&self) -> u64 {
        self.progress
    }

    /// When something happens next: a sending begins or ends, or an opportunity comes. [`NEVER`] where nothing does.
    pub(crate) fn next_at(&self, pace: Pace<'_>) -> Nanos {
        let Some(&head) = self.queue.front() else { return NEVER };
        match pace {
            Pace::Free => head.released.max(self.changed),
            Pace::Limit(_) => match self.busy {
                Some(_) => self.busy_until,
                None => ceiling(self.begin(head)),
            },
            Pace::Opportunities { trace, start } => {
                let (number, _) = self.next_opportunity(head, trace, start);
                trace.moment(number).saturating_add(start)
            }
        }
    }

    /// What leaves, or is dropped, by the next thing that happens, which is due.
    pub(crate) fn step(&mut self, pace: Pace<'_>) -> Option<ServedPacket> {
        let at = self.next_at(pace);
        let head = *self.queue.front()?;
        match pace {
            Pace::Free => self.leave(at),
            Pace::Limit(limit) => {
                if let Some(end) = self.busy.take() {
                    self.free_since = end;
                    let left = self.leave(at);
                    self.go_on(pace);
                    return left;
                }
                let start = self.begin(head);
                if let Discipline::CoDel { target, interval } = limit.discipline {
                    let sojourn = at.saturating_sub(head.released);
                    // RFC 8289, 5.5, looks at what is left when the head has been taken.
                    let little = self.octets - u64::from(head.size.frame) <= self.largest;
                    self.progress += u64::from(!little);
                    if self.codel.drops(at, sojourn, little, target, interval) {
                        let place = self.remove()?;
                        return Some(ServedPacket { place, time: at, lost: Some(Cause::Queue), rated: true });
                    }
                }
                let end = start + self.sending(limit, head.size);
                self.send_until(end);
                None
            }
            Pace::Opportunities { trace, start } => {
                let (number, left) = self.next_opportunity(head, trace, start);
                let wanted = head.size.network.saturating_sub(self.taken);
                if wanted <= left {
                    self.opportunity = Some((number, left - wanted));
                    return self.leave(at);
                }
                self.taken += left;
                self.opportunity = Some((number, 0));
                None
            }
        }
    }

    /// The pace changes at `at`. Of a frame that is being sent at a rate, what is left goes at the new one; what waits
    /// uses nothing that was before.
    pub(crate) fn change(&mut self, at: Nanos, old: Pace<'_>, new: Pace<'_>) {
        self.changed = at;
        let now = i128::from(at) << FRACTION;
        match (old, new, self.busy, self.queue.front()) {
            (Pace::Limit(old), Pace::Limit(new), Some(end), Some(head)) => {
                let left = (end - now).max(0);
                let (whole, anew) = (sending(old, head.size).max(1), sending(new, head.size));
                let left = left.checked_mul(anew).map_or_else(
                    || (left / whole).saturating_mul(anew),
                    |product| (product + whole - 1) / whole,
                );
                self.send_until(now.saturating_add(left));
            }
            _ => {
                (self.busy, self.taken, self.opportunity) = (None, 0, None);
                self.free_since = self.free_since.max(now);
                self.go_on(new);
            }
        }
    }

    /// Which opportunity the head uses, and what is left of it. What is left when the queue is empty is wasted.
    fn next_opportunity(&self, head: Queued, trace: &Opportunities, start: Nanos) -> (u64, u32) {
        let first = trace.first_from(head.released.max(self.changed).saturating_sub(start));
        match self.opportunity {
            Some((number, left)) if number >= first && left > 0 => (number, left),
            Some((number, _)) if number >= first => (number + 1, OPPORTUNITY),
            _ => (first, OPPORTUNITY),
        }
    }

    /// When the sending of the head begins.
    fn begin(&self, head: Queued) -> i128 {
        self.free_since.max(i128::from(head.released) << FRACTION)
    }

    fn leave(&mut self, at: Nanos) -> Option<ServedPacket> {
        self.remove().map(|place| ServedPacket { place, time: at, lost: None, rated: true })
    }

    fn remove(&mut self) -> Option<SlabKey> {
        let head = self.queue.pop_front()?;
        self.progress += 1;
        if self.queue.is_empty() {
            self.queue.clear();
        }
        // What was begun was this one's.
        self.busy = None;
        self.taken = 0;
        self.octets -= u64::from(head.size.frame);
        Some(head.place)
    }

    /// Whether RED drops this one.
    fn early(&mut self, piece: &InFlight, now: Nanos, pace: Pace<'_>, draws: &mut Draws, full: bool) -> bool {
        let Pace::Limit(limit) = pace else { return false };
        let Discipline::Red { low, high, probability, weight } = limit.discipline else { return false };
        let red = &mut self.red;
        if self.queue.is_empty() {
            // While the queue was empty, the average fell as if so many small frames had found it so.
            let idle = (i128::from(now) << FRACTION).saturating_sub(self.free_since).max(0);
            let frames = idle / sending(limit, Size::SHORTEST).max(1);
            let frames = f64::from(u32::try_from(frames).unwrap_or(u32::MAX));
            red.average *= libm::pow(1.0 - weight, frames);
        } else {
            red.average += weight * (convert::count(self.octets) - red.average);
        }
        if full {
            // It is lost in any case: of that the average is to know, and the gap between two losses ends.
            red.since_drop = 0;
            return false;
        }
        let (low, high) = (convert::count(low), convert::count(high));
        let base = if red.average < low {
            red.since_drop = 0;
            return false;
        } else if red.average < high {
            probability * (red.average - low) / (high - low)
        } else {
            probability + (1.0 - probability) * ((red.average - high) / high).min(1.0)
        };
        // Spread evenly over the gap between two drops, as the authors do.
        let spread = 1.0 - f64::from(red.since_drop) * base;
        let drop = draws.unit(Lane::Queue, piece.ordinal, piece.copy) * spread.max(0.0) < base;
        red.since_drop = if drop { 0 } else { red.since_drop.saturating_add(1) };
        drop
    }

    /// The first that is held, without more ado.
    pub(crate) fn drain_one(&mut self) -> Option<SlabKey> {
        self.remove()
    }
}

/// What one delivery opportunity carries.
const OPPORTUNITY: u32 = 1_500;

fn ceiling(fine: i128) -> Nanos {
    let whole = (fine + (1 << FRACTION) - 1) >> FRACTION;
    Nanos::try_from(whole).unwrap_or(Nanos::MAX)
}

impl CoDel {
    /// RFC 8289, 5.5: whether the frame that is taken from the queue at `now` is dropped; `little` says that no more than
    /// the largest frame is left there.
    fn drops(&mut self, now: Nanos, sojourn: Nanos, little: bool, target: Nanos, interval: Nanos) -> bool {
        let may_drop = if sojourn < target || little {
            self.first_above = None;
            false
        } else {
            match self.first_above {
                None => {
                    self.first_above = Some(now.saturating_add(interval));
                    false
                }
                Some(first) => now >= first,
            }
        };
        if self.dropping {
            if !may_drop {
                self.dropping = false;
                return false;
            }
            if now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                self.drop_next = law(self.drop_next, interval, self.count);
                return true;
            }
            return false;
        }
        if !may_drop {
            return false;
        }
        self.dropping = true;
        let recent = now.saturating_sub(self.drop_next) < interval.saturating_mul(16);
        let delta = self.count.saturating_sub(self.last_count);
        self.count = if recent && delta > 1 { delta } else { 1 };
        self.drop_next = law(now, interval, self.count);
        self.last_count = self.count;
        true
    }
}

fn law(from: Nanos, interval: Nanos, count: u32) -> Nanos {
    from.saturating_add(convert::nanos(convert::real(interval) / libm::sqrt(f64::from(count.max(1)))))
}
