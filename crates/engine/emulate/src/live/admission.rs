//! How much room frames need: delay times rate, known before the first packet.

use romer_impair::{Config, Nanos, PortId};
use romer_port::Arena;
use romer_record::emulation::PortDirection;
use romer_record::warning::EmulationWarning;
use romer_units::Duration;

use super::error::LiveError;

/// The most octets of frames that a bridge holds.
pub const MOST_OCTETS: u64 = 1 << 30;
/// Packets a second each way that are made room for where no rate is asked for: the shortest frames on 100 Mbit/s.
const PACKETS_PER_SECOND: i64 = 148_810;
/// Frames that there is always room for.
const MIN_BUFFER_FRAMES: i64 = 16_384;
/// Octets around the largest IP packet: the header, two tags, and a spare tag.
const AROUND: usize = 14 + 3 * 4;
/// The shortest frame.
const MIN_FRAME_OCTETS: u64 = 64;

/// Memory for which a scenario is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferDemand {
    /// Frames, of both directions and their copies together.
    pub slots: u32,
    /// Octets of the longest frame.
    pub frame_octets: usize,
    /// Octets of memory; what is beyond the first 256 MiB the system gives as it is needed.
    pub octets: u64,
}

impl BufferDemand {
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
        let holds = PortId::BOTH.map(|port| config.held(port).longest.max(least_hold.as_nanos()));
        let unlimited =
            holds.into_iter().fold(0, Nanos::saturating_add).saturating_mul(2 * PACKETS_PER_SECOND / 1_000);
        let stated = i64::try_from(Need::for_config(config).most_frames()).unwrap_or(i64::MAX);
        let wanted = (unlimited / 1_000_000).saturating_add(MIN_BUFFER_FRAMES).saturating_add(stated);
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
        let need = Need::for_config(config);
        // At a rate in bits, frames of the longest length; shorter ones are more.
        let frames = need.frames_of(self.frame_octets as u64);
        if frames <= u64::from(self.slots) {
            return Ok(());
        }
        let needed = need.octets.saturating_add(need.packets.saturating_mul(MIN_FRAME_OCTETS));
        Err(LiveError::Buffer { needed, frames, limit: self.octets, slots: self.slots })
    }

    /// What a user should know where frames come without a stated rate and would be held longer than there is room
    /// for, or where more short frames come at a rate, or wait in its queue, than there is room for.
    pub(super) fn notes(&self, config: &Config) -> impl Iterator<Item = EmulationWarning> {
        let need = Need::for_config(config);
        let slots = u64::from(self.slots);
        let short = (need.most_frames() > slots).then(|| EmulationWarning::BufferShortForFrames {
            max_queued_bytes: need.octets,
            buffer_frames: slots,
            mean_frame_bytes: need.octets.div_ceil(slots.saturating_sub(need.packets).max(1)),
        });
        self.note_of_hold(config).into_iter().chain(short)
    }

    fn note_of_hold(&self, config: &Config) -> Option<EmulationWarning> {
        let holds = PortId::BOTH.map(|port| config.held(port).longest);
        let [a, b] = holds;
        let most = i64::from(self.slots).saturating_mul(1_000_000_000) / a.saturating_add(b).max(1);
        let direction = match (a, b) {
            (_, 0) => Some(PortDirection::AToB),
            (0, _) => Some(PortDirection::BToA),
            _ => None,
        };
        (most < PACKETS_PER_SECOND).then(|| EmulationWarning::BufferShortForDelay {
            delay_ns: a.max(b),
            buffer_frames: u64::from(self.slots),
            limit_pps: most,
            direction,
        })
    }
}

/// What a scenario holds at the rates that it states, of both directions together, and in their queues.
#[derive(Clone, Copy, Debug)]
struct Need {
    /// At rates in bits, and in queues.
    octets: u64,
    /// At rates in packets.
    packets: u64,
}

impl Need {
    fn for_config(config: &Config) -> Self {
        let [a, b] = PortId::BOTH.map(|port| config.held(port));
        Self {
            octets: a.octets.saturating_add(b.octets).saturating_add(config.queue_octets()),
            packets: a.packets.saturating_add(b.packets),
        }
    }

    /// Frames, those of which the octets are known as long as that.
    const fn frames_of(self, octets: u64) -> u64 {
        (self.octets / octets).saturating_add(self.packets)
    }

    /// Frames, if they are the shortest.
    const fn most_frames(self) -> u64 {
        self.frames_of(MIN_FRAME_OCTETS)
    }
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
        let none = BufferDemand::for_scenario(&scenario(0, None), 1_500, Duration::ZERO).unwrap();
        assert_eq!((none.slots, none.octets), (16_384, 32 << 20));
        let tenth = BufferDemand::for_scenario(&scenario(100_000_000, None), 1_500, Duration::ZERO).unwrap();
        assert!(i64::from(tenth.slots) >= 2 * PACKETS_PER_SECOND / 10, "{tenth:?}");
        let hour =
            BufferDemand::for_scenario(&scenario(3_600_000_000_000, None), 9_000, Duration::ZERO).unwrap();
        assert!(hour.octets <= MOST_OCTETS, "{hour:?}");
    }

    /// A scenario that needs too much memory is refused with both numbers.
    #[test]
    fn excess_memory_states_both_numbers() {
        let error = BufferDemand::for_scenario(
            &scenario(10_000_000_000, Some(100_000_000_000)),
            1_500,
            Duration::ZERO,
        )
        .unwrap_err();
        let LiveError::Buffer { needed, limit, .. } = error else { panic!("{error}") };
        assert!(needed > 125_000_000_000 && limit <= MOST_OCTETS, "{needed} {limit}");
        assert!(
            BufferDemand::for_scenario(&scenario(100_000_000, Some(100_000_000)), 1_500, Duration::ZERO)
                .is_ok()
        );
    }

    /// The same one way only.
    fn one_way(config: &Config) -> Config {
        let mut config = config.clone();
        config.base.paths[1] = vec![Some(Arc::new(Path::default()))];
        config
    }

    /// Held so long, at so many packets a second.
    fn in_packets(delay: i64, packets: u64) -> Config {
        let mut config = scenario(delay, Some(1));
        let path = config.base.paths[0][0].clone().unwrap();
        let rate = path.rate.map(|rate| RateLimit { limit: Rate::Packets(packets), ..rate });
        let path = Arc::new(Path { rate, ..(*path).clone() });
        config.base.paths = [vec![Some(Arc::clone(&path))], vec![Some(path)]];
        config
    }

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn each_direction_counts_by_its_own_delay_and_rate() {
        let room = |config: &Config| BufferDemand::for_scenario(config, 1_500, Duration::ZERO);
        // 0.58 GiB one way, and twice that both ways.
        let both = scenario(SECOND / 2, Some(10_000_000_000));
        let error = room(&both).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the rates and queues of the scenario hold at least 1.1 GiB (819220 frames or more), and the buffer has 524288 \
             frames (1.0 GiB)"
        );
        assert!(room(&one_way(&both)).is_ok());
        // A delay one way and a high rate the other are no product.
        let mut apart = one_way(&scenario(10 * SECOND, Some(1_000_000)));
        apart.base.paths[1] = scenario(0, Some(100_000_000_000)).base.paths[1].clone();
        assert!(room(&apart).is_ok());
        // Each flow has a rate of its own.
        let mut flows = one_way(&both);
        let path = flows.base.paths[0][0].clone();
        flows.base.paths[0].push(path);
        assert!(matches!(room(&flows), Err(LiveError::Buffer { .. })));
    }

    #[test]
    fn a_packet_of_a_rate_in_packets_takes_a_slot() {
        let room = |config: &Config| BufferDemand::for_scenario(config, 1_500, Duration::ZERO);
        let one = one_way(&in_packets(10 * SECOND, 100_000));
        let LiveError::Buffer { frames, slots, .. } = room(&one).unwrap_err() else { panic!() };
        assert!((1_000_000..1_000_100).contains(&frames) && slots == 524_288, "{frames} {slots}");
        let fits = one_way(&in_packets(10 * SECOND, 50_000));
        let notes: Vec<EmulationWarning> = room(&fits).unwrap().notes(&fits).collect();
        assert!(
            matches!(
                &notes[..],
                [EmulationWarning::BufferShortForDelay {
                    limit_pps: 52_428,
                    direction: Some(PortDirection::AToB),
                    ..
                }]
            ),
            "{notes:?}"
        );
        let both = in_packets(10 * SECOND, 25_000);
        let notes: Vec<EmulationWarning> = room(&both).unwrap().notes(&both).collect();
        assert!(
            matches!(
                &notes[..],
                [EmulationWarning::BufferShortForDelay { limit_pps: 26_214, direction: None, .. }]
            ),
            "{notes:?}"
        );
    }

    #[test]
    fn short_frames_at_a_rate_have_room_or_a_note_says_which_have() {
        let room = |config: &Config| BufferDemand::for_scenario(config, 1_500, Duration::ZERO);
        let fits = scenario(SECOND / 100, Some(1_000_000_000));
        let found = room(&fits).unwrap();
        assert!(u64::from(found.slots) >= 2 * 1_250_000 / MIN_FRAME_OCTETS, "{found:?}");
        assert_eq!(found.notes(&fits).count(), 0);
        let long = one_way(&scenario(4 * SECOND / 10, Some(10_000_000_000)));
        let notes: Vec<EmulationWarning> = room(&long).unwrap().notes(&long).collect();
        assert!(
            matches!(
                &notes[..],
                [EmulationWarning::BufferShortForFrames {
                    buffer_frames: 524_288,
                    mean_frame_bytes: 954,
                    ..
                }]
            ),
            "{notes:?}"
        );
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
        let room = |config: &Config| BufferDemand::for_scenario(config, 1_500, Duration::ZERO);
        let eight = queued(8 << 20);
        let found = room(&eight).unwrap();
        assert!(u64::from(found.slots) >= 2 * (8 << 20) / MIN_FRAME_OCTETS, "{found:?}");
        assert_eq!(found.notes(&eight).count(), 0);

        let large = queued(200 << 20);
        let found = room(&large).unwrap();
        assert_eq!(found.octets, MOST_OCTETS);
        let notes: Vec<EmulationWarning> = found.notes(&large).collect();
        assert!(
            matches!(
                &notes[..],
                [EmulationWarning::BufferShortForFrames {
                    max_queued_bytes: 419_430_400,
                    mean_frame_bytes: 800,
                    ..
                }]
            ),
            "{notes:?}"
        );

        let LiveError::Buffer { needed, .. } = room(&queued(4 << 30)).unwrap_err() else { panic!() };
        assert_eq!(needed, 8 << 30, "each queue counts once");
    }
}
