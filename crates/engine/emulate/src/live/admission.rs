//! How much room frames need: delay times rate, known before the first packet.

use romer_impair::Config;
use romer_port::Arena;
use romer_units::Duration;

use super::LiveError;

/// The most octets of frames that a bridge holds.
pub const MOST_OCTETS: u64 = 1 << 30;
/// Packets a second each way that are made room for where no rate is asked for: the shortest frames on 100 Mbit/s.
const PACKETS_PER_SECOND: i64 = 148_810;
/// Frames that there is always room for.
const LEAST: i64 = 16_384;
/// Octets around the largest IP packet: the header, two tags, and a spare tag.
const AROUND: usize = 14 + 3 * 4;
/// The shortest frame.
const SHORTEST: u64 = 64;

/// What is made room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Frames, of both directions and their copies together.
    pub slots: u32,
    /// Octets of the longest frame.
    pub frame_octets: usize,
    /// Octets of memory; what is beyond the first 256 MiB the system gives as it is needed.
    pub octets: u64,
}

impl Room {
    /// For a scenario on ports whose largest IP packet has `mtu` octets, and for changes to others that hold frames as
    /// long as `least_hold`.
    ///
    /// # Errors
    /// [`LiveError::Buffer`] where what the scenario holds at the rates that it states is more than
    /// [`MOST_OCTETS`].
    pub fn for_scenario(config: &Config, mtu: u32, least_hold: Duration) -> Result<Self, LiveError> {
        let frame_octets = usize::try_from(mtu).unwrap_or(usize::MAX).saturating_add(AROUND);
        let slot = Arena::slot_octets_for(frame_octets) as u64;
        let most = i64::try_from(MOST_OCTETS / slot).unwrap_or(i64::MAX);
        let hold = config.longest_hold().max(least_hold.as_nanos());
        let unlimited = hold.saturating_mul(4).saturating_mul(PACKETS_PER_SECOND / 1_000);
        let long = needed(config) / frame_octets.max(1) as u64;
        let short = config.queue_octets() / SHORTEST;
        let stated = i64::try_from(long.max(short)).unwrap_or(i64::MAX);
        let wanted = (unlimited / 1_000_000).saturating_add(LEAST).saturating_add(stated);
        let slots = u32::try_from(wanted.min(most)).unwrap_or(u32::MAX);
        let room = Self { slots, frame_octets, octets: u64::from(slots) * slot };
        room.check(config)?;
        Ok(room)
    }

    /// Whether what a scenario holds at the rates that it states fits.
    ///
    /// # Errors
    /// [`LiveError::Buffer`].
    pub fn check(&self, config: &Config) -> Result<(), LiveError> {
        let needed = needed(config);
        // At its rate, frames of the longest length; shorter ones share the slots, and are more.
        let limit = self.octets.max(u64::from(self.slots) * SHORTEST);
        if needed > limit { Err(LiveError::Buffer { needed, limit }) } else { Ok(()) }
    }

    /// What a user should know where frames come without a stated rate and would be held longer than there is room
    /// for, or where a queue takes more short frames than there is room for.
    pub(super) fn notes(&self, config: &Config) -> impl Iterator<Item = String> {
        let queue = config.queue_octets();
        let short = (queue / SHORTEST > u64::from(self.slots)).then(|| {
            format!(
                "the queues of the rates hold {queue} octets, and there is room for {} frames: where frames are shorter than {} \
                 octets in the mean, some are lost to the queue before it is full",
                self.slots,
                queue.div_ceil(u64::from(self.slots).max(1))
            )
        });
        self.note_of_hold(config).into_iter().chain(short)
    }

    fn note_of_hold(&self, config: &Config) -> Option<String> {
        let hold = config.longest_hold();
        let most = packets_per_second(self.slots, hold);
        (most < PACKETS_PER_SECOND).then(|| {
            format!(
                "frames are held up to {}, and there is room for {}: above {most} packets a second each way they are \
                 lost to the queue",
                Duration::from_nanos(hold),
                self.slots
            )
        })
    }
}

/// Packets a second each way at which frames held so long fill so many slots.
fn packets_per_second(slots: u32, hold: i64) -> i64 {
    i64::from(slots / 2).saturating_mul(1_000_000_000) / hold.max(1)
}

/// Octets that a scenario holds at the rates that it states, both ways.
fn needed(config: &Config) -> u64 {
    let rates = config.paths().filter_map(|path| match path.rate?.limit {
        romer_units::Rate::Bits(bits) => Some(bits),
        romer_units::Rate::Packets(packets) => Some(packets.saturating_mul(SHORTEST * 8)),
    });
    let held = rates.max().map_or(0, |bits| config.held_octets(bits).saturating_mul(2));
    held.saturating_add(config.queue_octets())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use romer_impair::Path;
    use romer_impair::config::{Delay, Discipline, Model, RateLimit};
    use romer_units::{Layer, Rate};

    use super::*;

    fn scenario(delay: i64, bits: Option<u64>) -> Config {
        let rate = bits.map(|bits| RateLimit {
            limit: Rate::Bits(bits),
            layer: Layer::L2,
            queue: 65_536,
            discipline: Discipline::TailDrop,
        });
        let delay = Model::Plain(Delay { fixed: delay, variable: None });
        let path = Arc::new(Path { delay, rate, ..Path::default() });
        let mut config = Config::default();
        config.base.paths = [vec![Some(Arc::clone(&path))], vec![Some(path)]];
        config
    }

    #[test]
    fn room_is_delay_times_rate_and_bounded() {
        let none = Room::for_scenario(&scenario(0, None), 1_500, Duration::ZERO).unwrap();
        assert_eq!((none.slots, none.octets), (16_384, 32 << 20));
        let tenth = Room::for_scenario(&scenario(100_000_000, None), 1_500, Duration::ZERO).unwrap();
        assert!(i64::from(tenth.slots) >= 2 * PACKETS_PER_SECOND / 10, "{tenth:?}");
        let hour = Room::for_scenario(&scenario(3_600_000_000_000, None), 9_000, Duration::ZERO).unwrap();
        assert!(hour.octets <= MOST_OCTETS, "{hour:?}");
    }

    #[test]
    fn what_cannot_be_held_is_refused_with_both_numbers() {
        let error =
            Room::for_scenario(&scenario(10_000_000_000, Some(100_000_000_000)), 1_500, Duration::ZERO)
                .unwrap_err();
        let LiveError::Buffer { needed, limit } = error else { panic!("{error}") };
        assert!(needed > 125_000_000_000 && limit <= MOST_OCTETS, "{needed} {limit}");
        assert!(Room::for_scenario(&scenario(100_000_000, Some(100_000_000)), 1_500, Duration::ZERO).is_ok());
    }

    /// A scenario whose rate has a queue of so many octets each way.
    fn queued(octets: u64) -> Config {
        let mut config = scenario(0, Some(1_000_000_000));
        let path = config.base.paths[0][0].clone().unwrap();
        let rate = path.rate.map(|rate| RateLimit { queue: octets, ..rate });
        let path = Arc::new(Path { rate, ..(*path).clone() });
        config.base.paths = [vec![Some(Arc::clone(&path))], vec![Some(path)]];
        config
    }

    #[test]
    fn a_queue_has_room_for_the_shortest_frames_or_a_note_says_for_which_it_has() {
        let room = |config: &Config| Room::for_scenario(config, 1_500, Duration::ZERO);
        let eight = queued(8 << 20);
        let found = room(&eight).unwrap();
        assert!(u64::from(found.slots) >= 2 * (8 << 20) / SHORTEST, "{found:?}");
        assert_eq!(found.notes(&eight).count(), 0);

        let large = queued(200 << 20);
        let found = room(&large).unwrap();
        assert_eq!(found.octets, MOST_OCTETS);
        let notes: Vec<String> = found.notes(&large).collect();
        assert!(
            matches!(&notes[..], [note] if note.contains("419430400 octets") && note.contains("than 800 octets")),
            "{notes:?}"
        );

        let LiveError::Buffer { needed, .. } = room(&queued(4 << 30)).unwrap_err() else { panic!() };
        assert_eq!(needed, 8 << 30, "each queue counts once");
    }
}
