//! A device under test whose truth is known: how much it carries, holds and delays, what it polices, how it serves its
//! classes; and what is wrong with it, where something is.
//!
//! Frames come in by a line without limit, wait in the queue of their class, and leave one after the other by a line of
//! a stated rate. Chance is drawn from the seed: the same seed has the same fates.

use std::collections::{BTreeMap, VecDeque};

use romer_units::random::{RandomStream, Seed};
use romer_units::{Duration, FrameSize};

/// A frame that is given to the device, in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// When, nanoseconds.
    pub at: i64,
    /// Its class, the most important first.
    pub class: usize,
    /// Octets with check sequence.
    pub octets: u32,
    /// TOS or traffic class.
    pub tos: u8,
}

/// A frame that came out, in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// When it was whole, nanoseconds.
    pub at: i64,
    /// Its place among those that were given.
    pub place: usize,
    /// TOS or traffic class that it has now.
    pub tos: u8,
}

/// How the classes are served.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// All wait in one queue.
    Fifo,
    /// A class is served when none before it waits.
    Strict,
    /// Each has its share by weight (self-clocked fair queueing).
    Weighted(Vec<f64>),
    /// In each pass a class sends until so many octets have left, and what is left of the last frame beyond them is
    /// forgotten: one frame at the least, however large.
    Passes(Vec<u32>),
}

/// A token bucket in frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// Frames a second that pass.
    pub rate: f64,
    /// Frames that pass at once.
    pub depth: f64,
    /// The code point of those beyond, which pass too; `None`: they are dropped.
    pub remark: Option<u8>,
}

/// Times in which nothing leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// From the beginning of one to that of the next; the first is one such time after the trial's beginning.
    pub every: Duration,
    /// How long one lasts.
    pub length: Duration,
}

/// The device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Bits a second by layer 1 (with preamble and gap) that leave at the most.
    pub rate: f64,
    /// What each frame takes beside its time on the line: a limit in frames a second.
    pub per_frame: Duration,
    /// How long a frame takes beside its waiting and its own time on the line.
    pub latency: Duration,
    /// Frames of each class that can wait.
    pub buffer: usize,
    /// Octets that can wait in each queue, where they are counted.
    pub buffer_octets: Option<u64>,
    /// How the classes are served.
    pub service: Service,
    /// Probability that a frame is lost by itself.
    pub noise: f64,
    /// After it had no room for a frame, it loses one in twenty for so long.
    pub sulks: Duration,
    /// Times in which nothing leaves.
    pub stalls: Option<Stalls>,
    /// What it lets pass.
    pub policer: Option<Policer>,
    /// Code points that it changes, to what.
    pub remarks: BTreeMap<u8, u8>,
    /// A fault: frames of so many octets never come out.
    pub drops_size: Option<u32>,
    /// A fault: these two classes are taken for each other.
    pub swaps: Option<[usize; 2]>,
    /// A fault: probability that a frame is held until the next has left.
    pub reorders: f64,
    /// A fault: probability that a frame comes out twice.
    pub duplicates: f64,
    /// From the first of these moments of a trial to the second nothing passes.
    pub away: Option<[Duration; 2]>,
    /// A fault: from this moment of a trial on it is gone, with all that waits in it.
    pub dies_at: Option<Duration>,
}

impl Device {
    /// A device without fault that carries so many bits a second and holds so many frames.
    pub const fn sound(rate: f64, buffer: usize) -> Self {
        Self {
            rate,
            per_frame: Duration::ZERO,
            latency: Duration::ZERO,
            buffer,
            buffer_octets: None,
            service: Service::Fifo,
            noise: 0.0,
            sulks: Duration::ZERO,
            stalls: None,
            policer: None,
            remarks: BTreeMap::new(),
            drops_size: None,
            swaps: None,
            reorders: 0.0,
            duplicates: 0.0,
            away: None,
            dies_at: None,
        }
    }

    /// What comes out of `frames` in one trial, whose chances are drawn from `seed`.
    pub fn carry(&self, frames: &[Given], seed: Seed) -> Vec<Taken> {
        let classes = frames.iter().map(|frame| frame.class).max().unwrap_or(0) + 1;
        let mut working = Working {
            device: self,
            frames,
            queues: vec![VecDeque::new(); classes],
            octets: vec![0; classes],
            tags: vec![0.0; classes],
            now_tag: 0.0,
            pass: (0, 0),
            free_at: 0.0,
            taken: Vec::with_capacity(frames.len()),
        };
        let chances = ["nois", "sulk", "late", "twin"].map(|name| {
            let mut word = [0; 4];
            word.copy_from_slice(name.as_bytes());
            RandomStream::new(seed, [u32::from_be_bytes(word), 0])
        });
        let happens = |chance: usize, place: usize, probability: f64| {
            probability > 0.0 && chances[chance].unit(place as u64) < probability
        };
        let end = self.dies_at.map_or(i64::MAX, Duration::as_nanos);
        let mut sulks_until = i64::MIN;
        let mut policed = self.policer.map(|policer| (policer.depth, 0_i64));
        for (place, frame) in frames.iter().enumerate().take_while(|(_, frame)| frame.at < end) {
            working.serve_until(real(frame.at));
            let away =
                self.away.is_some_and(|[from, to]| (from.as_nanos()..to.as_nanos()).contains(&frame.at));
            let lost = away
                || self.drops_size == Some(frame.octets)
                || happens(0, place, self.noise)
                || (frame.at < sulks_until && happens(1, place, DEGRADED_LOSS_RATIO));
            if lost {
                continue;
            }
            let mut tos =
                self.remarks.get(&(frame.tos >> 2)).map_or(frame.tos, |code| code << 2 | frame.tos & 3);
            if let (Some(policer), Some((tokens, last))) = (self.policer, policed.as_mut()) {
                *tokens = (*tokens + real(frame.at - *last) * policer.rate / 1e9).min(policer.depth);
                *last = frame.at;
                if *tokens >= 1.0 {
                    *tokens -= 1.0;
                } else if let Some(code) = policer.remark {
                    tos = code << 2 | frame.tos & 3;
                } else {
                    continue;
                }
            }
            if !working.take(place, tos) {
                sulks_until = frame.at + self.sulks.as_nanos();
            }
        }
        working.serve_until(if end == i64::MAX { f64::INFINITY } else { real(end) });
        let mut taken = working.taken;
        taken.retain(|one| one.at < end);
        let mut place = 1;
        while place < taken.len() {
            if happens(2, taken[place - 1].place, self.reorders) {
                // It leaves right after the next.
                let (held, next) = (taken[place - 1], taken[place]);
                taken[place - 1] = Taken { at: held.at, ..next };
                taken[place] = Taken { at: next.at, ..held };
                place += 1;
            }
            place += 1;
        }
        let twins: Vec<Taken> =
            taken.iter().filter(|one| happens(3, one.place, self.duplicates)).copied().collect();
        taken.extend(twins);
        taken.sort_by_key(|one| one.at);
        taken
    }
}

/// Share of frames that a sulking device loses.
const DEGRADED_LOSS_RATIO: f64 = 0.05;

/// A trial under way.
struct Working<'a> {
    device: &'a Device,
    frames: &'a [Given],
    /// By class: place, octet, and the tag by which weights are kept.
    queues: Vec<VecDeque<(usize, u8, f64)>>,
    /// Octets that wait, by class.
    octets: Vec<u64>,
    tags: Vec<f64>,
    now_tag: f64,
    /// The queue whose turn it is, and the octets that it has sent in it.
    pass: (usize, u32),
    /// When the outgoing line is free, nanoseconds.
    free_at: f64,
    taken: Vec<Taken>,
}

impl Working<'_> {
    /// Lets leave what begins to before `time`.
    fn serve_until(&mut self, time: f64) {
        loop {
            let heads = self.queues.iter().filter_map(|queue| queue.front());
            let Some(first) = heads.map(|(place, _, _)| self.frames[*place].at).min() else { return };
            let begin = self.awake(self.free_at.max(real(first)));
            if begin >= time {
                return;
            }
            let Some(queue) = self.next_queue() else { return };
            let Some((place, tos, tag)) = self.queues[queue].pop_front() else { return };
            self.now_tag = tag;
            let octets = self.frames[place].octets;
            self.octets[queue] -= u64::from(octets);
            self.pass.1 += octets;
            let line = f64::from(octets + FrameSize::OVERHEAD) * 8e9 / self.device.rate;
            self.free_at = begin + line + real(self.device.per_frame.as_nanos());
            let at = to_i64(begin + line) + self.device.latency.as_nanos();
            self.taken.push(Taken { at, place, tos });
        }
    }

    /// The first moment from `time` on in which frames leave.
    fn awake(&self, time: f64) -> f64 {
        let Some(stalls) = self.device.stalls else { return time };
        let (every, length) = (real(stalls.every.as_nanos()), real(stalls.length.as_nanos()));
        let into = time % every;
        if time >= every && into < length { time - into + length } else { time }
    }

    /// The queue that is served next.
    fn next_queue(&mut self) -> Option<usize> {
        if let Service::Passes(octets) = &self.device.service {
            // Once around all of them, and back to the first.
            for _ in 0..=self.queues.len() {
                let (queue, sent) = self.pass;
                let left = octets.get(queue).copied().unwrap_or(1).max(1);
                if sent < left && !self.queues[queue].is_empty() {
                    return Some(queue);
                }
                self.pass = ((queue + 1) % self.queues.len(), 0);
            }
            return None;
        }
        let waiting = self.queues.iter().enumerate().filter_map(|(queue, all)| Some((queue, all.front()?)));
        match self.device.service {
            Service::Fifo => waiting.min_by_key(|(_, (place, _, _))| *place).map(|(queue, _)| queue),
            Service::Strict => waiting.map(|(queue, _)| queue).next(),
            Service::Weighted(_) => {
                waiting.min_by(|(_, a), (_, b)| a.2.total_cmp(&b.2)).map(|(queue, _)| queue)
            }
            Service::Passes(_) => None,
        }
    }

    /// Takes a frame in; whether there was room.
    fn take(&mut self, place: usize, tos: u8) -> bool {
        let frame = self.frames[place];
        let class = match self.device.swaps {
            Some([a, b]) if frame.class == a => b,
            Some([a, b]) if frame.class == b => a,
            _ => frame.class,
        };
        let queue = if self.device.service == Service::Fifo { 0 } else { class.min(self.queues.len() - 1) };
        let octets = self.octets[queue] + u64::from(frame.octets);
        if self.queues[queue].len() >= self.device.buffer.max(1)
            || self.device.buffer_octets.is_some_and(|most| octets > most)
        {
            return false;
        }
        self.octets[queue] = octets;
        let weight = match &self.device.service {
            Service::Weighted(weights) => weights.get(queue).copied().unwrap_or(1.0),
            Service::Fifo | Service::Strict | Service::Passes(_) => 1.0,
        };
        let tag = self.now_tag.max(self.tags[queue]) + f64::from(frame.octets) / weight;
        self.tags[queue] = tag;
        self.queues[queue].push_back((place, tos, tag));
        true
    }
}

#[expect(clippy::cast_precision_loss, reason = "a trial's nanoseconds, below 2^53")]
const fn real(nanos: i64) -> f64 {
    nanos as f64
}

#[expect(clippy::cast_possible_truncation, reason = "a trial's nanoseconds")]
const fn to_i64(nanos: f64) -> i64 {
    nanos as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed([7; 6]);

    /// Frames of 105 octets (125 on the line, 1,000 bits), so many nanoseconds apart, in turn of so many classes.
    fn frames(count: usize, apart: i64, classes: usize) -> Vec<Given> {
        (0..count)
            .map(|n| Given { at: i64::try_from(n).unwrap() * apart, class: n % classes, octets: 105, tos: 0 })
            .collect()
    }

    #[test]
    fn below_its_rate_every_frame_comes_out_after_its_own_time_and_the_latency() {
        let device = Device { latency: Duration::from_micros(50), ..Device::sound(1e6, 10) };
        let given = frames(100, 1_000_000, 1);
        let taken = device.carry(&given, SEED);
        assert_eq!(taken.len(), 100);
        for (given, taken) in given.iter().zip(&taken) {
            assert_eq!(taken.at - given.at, 1_050_000);
        }
    }

    #[test]
    fn above_its_rate_it_carries_its_rate_and_holds_its_buffer() {
        // Twice as much as leaves, for a second: 1,000 leave meanwhile, and the buffer afterwards.
        let taken = Device::sound(1e6, 30).carry(&frames(2_000, 500_000, 1), SEED);
        assert!(taken.len().abs_diff(1_030) <= 2, "{}", taken.len());
    }

    #[test]
    fn classes_are_served_as_the_service_says() {
        let carried = |service: Service, swaps| {
            let given = frames(6_000, 333_333, 3);
            let taken = Device { service, swaps, ..Device::sound(1.5e6, 5) }.carry(&given, SEED);
            [0, 1, 2].map(|class| taken.iter().filter(|one| given[one.place].class == class).count())
        };
        // Each class offers 2,000 in two seconds, in which 3,000 leave.
        let near = |found: [usize; 3], wanted: [usize; 3]| {
            assert!(found.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) <= 15), "{found:?} {wanted:?}");
        };
        near(carried(Service::Strict, None), [2_000, 1_000, 0]);
        near(carried(Service::Strict, Some([0, 2])), [0, 1_000, 2_000]);
        near(carried(Service::Weighted(vec![3.0, 2.0, 1.0]), None), [1_500, 1_000, 500]);
        let fifo = carried(Service::Fifo, None);
        assert!(fifo.iter().sum::<usize>().abs_diff(3_000) <= 15, "{fifo:?}");
    }

    #[test]
    fn large_frames_of_a_low_class_have_more_than_their_part_of_a_pass() {
        // The example of Chadda 2004, section 1.3.3: 200, 150 and 100 octets in a pass, frames of 60 and 60 octets, and of
        // 1,550 in the lowest class.
        let mut given: Vec<Given> = Vec::new();
        for (class, (octets, apart)) in
            [(60, 100_000), (60, 100_000), (1_550, 1_000_000)].into_iter().enumerate()
        {
            given.extend((0..2_000_000_000 / apart).map(|n| Given { at: n * apart, class, octets, tos: 0 }));
        }
        given.sort_by_key(|frame| frame.at);
        let carried = |octets: Vec<u32>| {
            let device = Device { service: Service::Passes(octets), ..Device::sound(4e6, 50) };
            let taken = device.carry(&given, SEED);
            [0, 1, 2].map(|class| {
                // Without what is still held when nothing comes any more.
                let of = taken.iter().filter(|one| given[one.place].class == class && one.at < 2_000_000_000);
                of.map(|one| f64::from(given[one.place].octets)).sum::<f64>()
            })
        };
        // Four frames of 60, three of 60, and one of 1,550.
        let [high, middle, low] = carried(vec![200, 150, 100]);
        assert!((low / high / (1_550.0 / 240.0) - 1.0).abs() < 0.02, "{high} {middle} {low}");
        assert!((high / middle / (240.0 / 180.0) - 1.0).abs() < 0.02, "{high} {middle} {low}");
        // Passes that hold several of the largest frames keep the shares.
        let [high, middle, low] = carried(vec![6_200, 4_650, 3_100]);
        assert!(
            (high / low / 2.0 - 1.0).abs() < 0.05 && (middle / low / 1.5 - 1.0).abs() < 0.05,
            "{high} {low}"
        );
    }

    #[test]
    fn in_a_queue_of_octets_large_frames_find_room_less_often() {
        let mut given: Vec<Given> = Vec::new();
        // Some 1.2 Mbit/s of each, of frames of 105 and of 1,505 octets, at random moments.
        for (class, octets, apart) in [(0, 105, 700_000.0), (1, 1_505, 10_000_000.0)] {
            let chance = RandomStream::new(SEED, [u32::from_be_bytes(*b"gaps"), octets]);
            let mut at = 0.0;
            for n in 0..50_000_000_000_u64 / to_i64(apart).unsigned_abs() {
                at -= (1.0 - chance.unit(n)).ln() * apart;
                given.push(Given { at: to_i64(at), class, octets, tos: 0 });
            }
        }
        given.sort_by_key(|frame| frame.at);
        let ratios = |buffer_octets| {
            let device = Device {
                buffer_octets,
                ..Device::sound(1.5e6, if buffer_octets.is_some() { 10_000 } else { 20 })
            };
            let taken = device.carry(&given, SEED);
            [0, 1].map(|class| {
                let of = |class| given.iter().filter(move |frame| frame.class == class).count();
                let came = taken.iter().filter(|one| given[one.place].class == class).count();
                came as f64 / of(class) as f64
            })
        };
        let [small, large] = ratios(Some(6_000));
        assert!(small > large + 0.2, "{small} {large}");
        // Both see the same queue; a deviation of either is some 0.01.
        let [small, large] = ratios(None);
        assert!((small - large).abs() < 0.06, "{small} {large}");
    }

    #[test]
    fn each_fault_is_what_it_says_and_a_seed_replays_it() {
        let given = frames(10_000, 1_000_000, 1);
        let sound = Device::sound(2e6, 10);
        assert_eq!(Device { drops_size: Some(105), ..sound.clone() }.carry(&given, SEED), []);
        let noisy = Device { noise: 0.01, ..sound.clone() };
        // 100 of 10,000 in the mean, deviation 10; the seed is fixed.
        assert!(noisy.carry(&given, SEED).len().abs_diff(9_900) < 50);
        assert_eq!(noisy.carry(&given, SEED), noisy.carry(&given, SEED));
        let twice = Device { duplicates: 0.01, ..sound.clone() }.carry(&given, SEED);
        assert!(twice.len().abs_diff(10_100) < 50);
        let mixed = Device { reorders: 0.01, ..sound.clone() }.carry(&given, SEED);
        let late = mixed.windows(2).filter(|pair| pair[0].place > pair[1].place).count();
        assert!(mixed.len() == 10_000 && late.abs_diff(100) < 50, "{late}");
        let dies = Device { dies_at: Some(Duration::from_secs(4)), ..sound.clone() };
        assert_eq!(dies.carry(&given, SEED).len(), 4_000);
        let marks = Device { remarks: [(0, 46)].into(), ..sound.clone() }.carry(&given, SEED);
        assert!(marks.iter().all(|one| one.tos == 46 << 2));
        let policer = Policer { rate: 500.0, depth: 20.0, remark: None };
        let policed = Device { policer: Some(policer), ..sound.clone() }.carry(&given, SEED);
        assert!(policed.len().abs_diff(5_020) <= 2, "{}", policed.len());
        let stalls = Stalls { every: Duration::from_millis(100), length: Duration::from_millis(5) };
        let stalled = Device { stalls: Some(stalls), ..sound }.carry(&given, SEED);
        let most = stalled.iter().map(|one| one.at - given[one.place].at).max();
        assert_eq!(most, Some(5_000_000 + 500_000));
    }
}
