//! Cross traffic: a mix of packet sizes at a stated rate.
//!
//! Packets of an IMIX follow one another as fast as the rate lets them. Those of a trace keep its pattern in time, stretched or
//! compressed so that each pass through it has the rate. Both repeat without end. Times are multiples of what was sent, so that
//! no error accumulates.

use romer_units::random::Seed;
use romer_units::{Duration, Layer, Rate};
use thiserror::Error;

use crate::imix::{Frames, IpVersion, udp_payload};
use crate::model::TrafficModel;
use crate::schedule::Departure;
use crate::trace::{Recorded, Trace};

/// The mix, its rate and what the rate counts.
#[derive(Clone, Debug)]
pub struct NoiseRequest {
    /// [`TrafficModel::Imix`] or [`TrafficModel::Trace`].
    pub mix: TrafficModel,
    /// The content of the file of a trace.
    pub trace: Option<Trace>,
    /// Rate of all packets.
    pub rate: Rate,
    /// Layer at which the octets of a rate in bits count.
    pub layer: Layer,
    /// Which IP carries the packets.
    pub version: IpVersion,
    /// Seed of random sizes.
    pub seed: Seed,
}

/// Why there is no such cross traffic.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoiseError {
    /// A traffic model that is no mix of sizes.
    #[error("{model} is no mix; write imix:simple, imix:GENOME or trace:FILE")]
    NoMix {
        /// The model.
        model: String,
    },
    /// A trace without sizes, or without its content.
    #[error("the trace has no sizes; add a column size")]
    NoSizes,
    /// Nothing of the packets counts at the layer.
    #[error("no packet of the mix has bytes at the layer {layer}; use another layer")]
    NoOctets {
        /// The layer.
        layer: Layer,
    },
}

/// Sizes and their order in time.
#[derive(Clone, Debug)]
enum Pattern {
    Imix(Frames),
    Trace {
        packets: std::sync::Arc<[Recorded]>,
        /// What one pass counts, and the time that it took when it was recorded, nanoseconds.
        pass: u128,
        span_ns: u128,
    },
}

/// Departures of cross traffic, without end but that of time.
#[derive(Clone, Debug)]
pub struct Noise {
    pattern: Pattern,
    rate: Rate,
    layer: Layer,
    version: IpVersion,
    ordinal: u64,
    /// What the packets before the next one count: octets, or packets.
    counted: u128,
}

impl Noise {
    /// The departures of `request`.
    ///
    /// # Errors
    /// [`NoiseError`].
    pub fn new(request: &NoiseRequest) -> Result<Self, NoiseError> {
        let NoiseRequest { mix, trace, rate, layer, version, seed } = request;
        let weight = |payload| weight(*rate, *layer, *version, payload);
        let pattern = match mix {
            TrafficModel::Imix(imix) => {
                let most = imix.shares().iter().map(|share| udp_payload(*share.frame.end(), *version)).max();
                if most.is_none_or(|most| weight(most) == 0) {
                    return Err(NoiseError::NoOctets { layer: *layer });
                }
                Pattern::Imix(imix.frames(*seed))
            }
            TrafficModel::Trace { .. } => {
                let trace = trace.as_ref().filter(|trace| trace.has_sizes()).ok_or(NoiseError::NoSizes)?;
                let packets = trace.packets().clone();
                let pass: u128 = packets.iter().map(|packet| weight(packet.size)).sum();
                if pass == 0 {
                    return Err(NoiseError::NoOctets { layer: *layer });
                }
                let span_ns = span_ns(&packets);
                Pattern::Trace { packets, pass, span_ns }
            }
            other => return Err(NoiseError::NoMix { model: other.to_string() }),
        };
        Ok(Self { pattern, rate: *rate, layer: *layer, version: *version, ordinal: 0, counted: 0 })
    }

    /// The time in which the rate gives so much; `None` beyond the range of time.
    fn time(&self, counted: u128) -> Option<u128> {
        let (scale, per_second) = match self.rate {
            Rate::Bits(bits) => (8_000_000_000, bits),
            Rate::Packets(packets) => (1_000_000_000, packets),
        };
        Some(counted.checked_mul(scale)? / u128::from(per_second.max(1)))
    }

    /// Offset and payload of the next packet.
    fn packet(&self) -> Option<(u128, u32)> {
        match &self.pattern {
            Pattern::Imix(frames) => {
                Some((self.time(self.counted)?, udp_payload(frames.size(self.ordinal), self.version)))
            }
            Pattern::Trace { packets, pass, span_ns } => {
                let length = u64::try_from(packets.len()).ok()?;
                let place = usize::try_from(self.ordinal.checked_rem(length)?).ok()?;
                let (first, packet) = (packets.first()?, packets.get(place)?);
                let begin = self.time(pass.checked_mul(u128::from(self.ordinal / length))?)?;
                let recorded = nanos(packet.offset - first.offset);
                let within = self.time(*pass)?.checked_mul(recorded)?.checked_div(*span_ns).unwrap_or(0);
                Some((begin.checked_add(within)?, packet.size))
            }
        }
    }
}

impl Iterator for Noise {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        let (offset, size) = self.packet()?;
        let offset = Duration::from_nanos(i64::try_from(offset).ok()?);
        self.ordinal = self.ordinal.checked_add(1)?;
        self.counted = self.counted.checked_add(weight(self.rate, self.layer, self.version, size))?;
        Some(Departure { offset, size })
    }
}

/// What a packet counts.
fn weight(rate: Rate, layer: Layer, version: IpVersion, payload: u32) -> u128 {
    match rate {
        Rate::Bits(_) => layer.octets(payload, version.headers()).into(),
        Rate::Packets(_) => 1,
    }
}

/// How long a pass took when it was recorded, with a mean gap behind its last packet; 0 where all left at once.
fn span_ns(packets: &[Recorded]) -> u128 {
    let (Some(first), Some(last)) = (packets.first(), packets.last()) else { return 0 };
    let gaps = packets.len().saturating_sub(1);
    let length = nanos(last.offset - first.offset);
    let gap = u128::try_from(gaps).ok().and_then(|gaps| length.checked_div(gaps)).unwrap_or(0);
    length + gap
}

fn nanos(duration: Duration) -> u128 {
    u128::try_from(duration.as_nanos()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(mix: &str, rate: &str, layer: Layer) -> NoiseRequest {
        NoiseRequest {
            mix: mix.parse().unwrap(),
            trace: None,
            rate: rate.parse().unwrap(),
            layer,
            version: IpVersion::V4,
            seed: Seed([4, 0, 0, 0, 0, 4]),
        }
    }

    /// A packet leaves when the rate has given what all before it count, at the layer of the rate.
    #[test]
    fn rates_count_at_their_layer() {
        for (layer, first, second) in [
            (Layer::L1, 84, 1_538),
            (Layer::L2, 64, 1_518),
            (Layer::L3, 46, 1_500),
            (Layer::Payload, 18, 1_472),
        ] {
            let noise = Noise::new(&request("imix:ag", "8kbit", layer)).unwrap();
            let found: Vec<(i64, u32)> = noise.take(4).map(|d| (d.offset.as_nanos(), d.size)).collect();
            let ms = |octets: i64| octets * 1_000_000;
            let expected = [0, first, first + second, 2 * first + second].map(ms);
            assert_eq!(found.iter().map(|(at, _)| *at).collect::<Vec<_>>(), expected, "{layer}");
            assert_eq!(found.iter().map(|(_, size)| *size).collect::<Vec<_>>(), [18, 1_472, 18, 1_472]);
        }
        let packets = Noise::new(&request("imix:ag", "250pps", Layer::L2)).unwrap();
        assert_eq!(packets.take(3).last().unwrap().offset, Duration::from_millis(8));
    }

    /// After an hour the rate is the stated one to a packet, also of random sizes.
    #[test]
    fn long_runs_keep_the_rate() {
        let noise = Noise::new(&request("imix:chadda2004", "100kbit", Layer::L2)).unwrap();
        let hour = Duration::from_secs(3_600);
        let octets: u64 = noise
            .take_while(|departure| departure.offset < hour)
            .map(|departure| u64::from(Layer::L2.octets(departure.size, 28)))
            .sum();
        assert!((45_000_000..45_001_518).contains(&octets), "{octets}");
    }

    /// A trace keeps its pattern, has the rate in each pass, and repeats.
    #[test]
    fn traces_keep_their_pattern() {
        // 10 kB of payload in 400 us, which become 1 s.
        let text = b"offset_ns,size\n1000,1000\n101000,3000\n201000,2000\n301000,4000\n";
        let trace = Some(Trace::parse(text).unwrap());
        let noise = Noise::new(&NoiseRequest { trace, ..request("trace:x.csv", "80kbit", Layer::Payload) });
        let found: Vec<(i64, u32)> =
            noise.unwrap().take(6).map(|d| (d.offset.as_nanos() / 1_000_000, d.size)).collect();
        assert_eq!(
            found,
            [(0, 1_000), (250, 3_000), (500, 2_000), (750, 4_000), (1_000, 1_000), (1_250, 3_000)]
        );
    }

    /// A trace whose packets all left at once is sent a burst a pass.
    #[test]
    fn bursts_stay_bursts() {
        let trace = Some(Trace::parse(b"offset_ns,size\n5,100\n5,100\n").unwrap());
        let noise = Noise::new(&NoiseRequest { trace, ..request("trace:x.csv", "16kbit", Layer::Payload) });
        let found: Vec<i64> = noise.unwrap().take(4).map(|d| d.offset.as_nanos() / 1_000_000).collect();
        assert_eq!(found, [0, 0, 100, 100]);
    }

    /// What is no mix, has no sizes or counts nothing is refused, with what to write.
    #[test]
    fn other_models_are_refused() {
        let refused = |request: &NoiseRequest| Noise::new(request).unwrap_err();
        let poisson = refused(&request("poisson", "1Mbit", Layer::L2));
        assert_eq!(poisson.to_string(), "poisson is no mix; write imix:simple, imix:GENOME or trace:FILE");
        let trace = Some(Trace::parse(b"offset_ns\n5\n").unwrap());
        let sizes = NoiseRequest { trace, ..request("trace:x.csv", "1Mbit", Layer::L2) };
        assert_eq!(refused(&sizes), NoiseError::NoSizes);
        // A frame of 64 octets has no room for a payload over IPv6.
        let empty = NoiseRequest { version: IpVersion::V6, ..request("imix:a", "1Mbit", Layer::Payload) };
        assert_eq!(refused(&empty), NoiseError::NoOctets { layer: Layer::Payload });
    }
}
