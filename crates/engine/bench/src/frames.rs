//! The frames of each stream, made before the first is sent.

use std::collections::BTreeSet;

use romer_method::Frames;
use romer_method::analysis::{StreamInfo, UNTAGGED};
use romer_method::schedule::Flow;
use romer_record::benchmark::StreamSetup;
use romer_units::random::RandomStream as Random;
use romer_wire::ethernet::{MacAddress, Tag};
use romer_wire::test_frame::{Carried, Form, Mark, Signature, Template};

use crate::error::BenchError;
use crate::options::{AddressRange, BenchOptions, Protocol, StreamOptions};

/// Hops that a test frame may make.
const TTL: u8 = 64;

/// A stream's frames by size.
struct Prepared {
    turns: [Random; 4],
    /// By octets with check sequence; `None` where no frame of the trial is as long.
    sizes: Vec<Option<Template>>,
    ports: Option<(std::ops::RangeInclusive<u16>, std::ops::RangeInclusive<u16>)>,
    addresses: Option<(AddressRange, AddressRange)>,
}

/// Every frame that a trial may need.
pub(crate) struct Store {
    streams: Vec<Prepared>,
    signature: Signature,
}

impl Store {
    /// The frames of the streams in the sizes of `frames`.
    pub(crate) fn new(
        options: &BenchOptions,
        macs: [MacAddress; 2],
        frames: &Frames,
        signature: Signature,
    ) -> Result<Self, BenchError> {
        let of = |(stream, flow): (&StreamOptions, Flow)| {
            sizes_of(stream.frames.as_ref().unwrap_or(frames), flow.least)
        };
        let sizes: Vec<_> = options.streams.iter().zip(flows(options)).map(of).collect();
        Self::of_sizes(options, macs, &sizes, signature)
    }

    /// The frames of each stream in its sizes.
    pub(crate) fn of_sizes(
        options: &BenchOptions,
        macs: [MacAddress; 2],
        of_each: &[BTreeSet<u32>],
        signature: Signature,
    ) -> Result<Self, BenchError> {
        let streams = (0_u32..).zip(options.streams.iter().zip(of_each)).map(|(number, (stream, of))| {
            let turns = turns(options, number);
            let form = form(options, stream, macs);
            let mut sizes = Vec::new();
            for &octets in of {
                let place = usize::try_from(octets).unwrap_or(usize::MAX);
                let template = form.template(place).map_err(|error| {
                    BenchError::Usage(format!(
                        "a frame cannot be made (stream {}): {error}; ask for larger frames",
                        stream.name
                    ))
                })?;
                if sizes.len() <= place {
                    sizes.resize(place + 1, None);
                }
                sizes[place] = Some(template);
            }
            let [source_ports, destination_ports] = widths(stream);
            let ports = (source_ports > 1 || destination_ports > 1)
                .then(|| (stream.source_ports.clone(), stream.destination_ports.clone()));
            let (source, destination) = addresses(options, stream);
            let addresses = (source.count() > 1 || destination.count() > 1).then_some((source, destination));
            Ok::<_, BenchError>(Prepared { turns, sizes, ports, addresses })
        });
        Ok(Self { streams: streams.collect::<Result<_, _>>()?, signature })
    }

    /// Puts a frame into `place`; its length without check sequence, or `None` where there is none of this size.
    pub(crate) fn put(&mut self, octets: u32, mark: Mark, place: &mut [u8]) -> Option<usize> {
        let stream = self.streams.get_mut(usize::from(mark.stream))?;
        let template = stream.sizes.get_mut(usize::try_from(octets).ok()?)?.as_mut()?;
        if let Some((source, destination)) = &stream.ports {
            template.set_ports(
                nth(source, &stream.turns[0], mark.sequence),
                nth(destination, &stream.turns[1], mark.sequence),
            );
        }
        if let Some((source, destination)) = &stream.addresses {
            let [source_turn, destination_turn] = [&stream.turns[2], &stream.turns[3]];
            template.set_addresses(
                source.nth(turn(source_turn, mark.sequence, source.count())),
                destination.nth(turn(destination_turn, mark.sequence, destination.count())),
            );
        }
        let frame = place.get_mut(..template.octets.len())?;
        frame.copy_from_slice(&template.octets);
        self.signature.emit(mark, frame.get_mut(template.mark..)?).then_some(template.octets.len())
    }

    /// Puts a new stamp and number into a frame that was put before.
    pub(crate) fn mark_again(&self, octets: u32, mark: Mark, frame: &mut [u8]) {
        let stream = self.streams.get(usize::from(mark.stream));
        let size = usize::try_from(octets).unwrap_or(usize::MAX);
        let template = stream.and_then(|stream| stream.sizes.get(size)?.as_ref());
        if let Some(place) = template.and_then(|template| frame.get_mut(template.mark..)) {
            self.signature.emit(mark, place);
        }
    }
}

/// Where each pass through a range of a stream begins: of source ports, destination ports, source addresses, destination addresses.
fn turns(options: &BenchOptions, stream: u32) -> [Random; 4] {
    [*b"port", *b"dprt", *b"addr", *b"dadr"]
        .map(|name| Random::new(options.seed, [u32::from_be_bytes(name), stream]))
}

/// How many source ports and how many destination ports the frames of a stream have.
fn widths(stream: &StreamOptions) -> [u32; 2] {
    let width =
        |range: &std::ops::RangeInclusive<u16>| u32::from(range.end().saturating_sub(*range.start())) + 1;
    match stream.protocol {
        Protocol::Ip => [1, 1],
        Protocol::Udp | Protocol::Tcp => [width(&stream.source_ports), width(&stream.destination_ports)],
    }
}

/// Which flow (addresses and ports) of its stream each of the first `count` frames is of; nothing where the stream is one flow.
pub(crate) fn flow_numbers(options: &BenchOptions, stream: u16, count: usize) -> Vec<u64> {
    let Some(known) = options.streams.get(usize::from(stream)) else { return Vec::new() };
    let (source, destination) = addresses(options, known);
    let [source_ports, destination_ports] = widths(known);
    let widths = [source_ports, destination_ports, source.count(), destination.count()];
    if widths.iter().all(|width| *width == 1) {
        return Vec::new();
    }
    let turns = turns(options, u32::from(stream));
    let places = |sequence| {
        turns.iter().zip(widths).map(move |(begins, width)| (turn(begins, sequence, width), width))
    };
    // Each range has 65,536 at the most, so that all four together fit.
    let number = |sequence| {
        places(sequence).fold(0_u64, |sum, (place, width)| sum * u64::from(width) + u64::from(place))
    };
    (0_u32..).take(count).map(number).collect()
}

fn nth(range: &std::ops::RangeInclusive<u16>, begins: &Random, sequence: u32) -> u16 {
    let width = u32::from(range.end() - range.start()) + 1;
    range.start() + u16::try_from(turn(begins, sequence, width)).unwrap_or(0)
}

/// Which of so many a frame has: each pass through all of them begins at another place by chance. Were it always the first,
/// sizes that come back in the same order would each go with the same ones for ever.
fn turn(begins: &Random, sequence: u32, width: u32) -> u32 {
    if width < 2 {
        return 0;
    }
    let drawn = u128::from(begins.bits(u64::from(sequence / width))) * u128::from(width);
    let begin = u64::try_from(drawn >> 64).unwrap_or(0);
    u32::try_from((u64::from(sequence % width) + begin) % u64::from(width)).unwrap_or(0)
}

/// Every size that frames of this kind may have, none below `least`.
pub(crate) fn sizes_of(frames: &Frames, least: u32) -> BTreeSet<u32> {
    match frames {
        Frames::Size(size) => [size.octets().max(least)].into(),
        Frames::Mixture(imix) => {
            let ranges = imix.shares().into_iter().map(|share| share.frame);
            ranges.flatten().map(|octets| octets.max(64).max(least)).collect()
        }
        // They are with the streams.
        Frames::OfStreams { .. } => BTreeSet::new(),
    }
}

/// Where a stream's frames come from, and where they go.
pub(crate) fn addresses(options: &BenchOptions, stream: &StreamOptions) -> (AddressRange, AddressRange) {
    let or = |range: Option<AddressRange>, address| range.unwrap_or_else(|| AddressRange::from(address));
    (or(stream.source, options.source), or(stream.destination, options.destination))
}

/// What all frames of a stream have in common; `macs`: whom they go to, and whom they are from.
pub(crate) fn form(options: &BenchOptions, stream: &StreamOptions, macs: [MacAddress; 2]) -> Form {
    let ports = (*stream.source_ports.start(), *stream.destination_ports.start());
    let (source, destination) = addresses(options, stream);
    Form {
        destination_mac: macs[0],
        source_mac: macs[1],
        tag: stream.tag,
        source: source.first(),
        destination: destination.first(),
        dscp: stream.dscp,
        ecn: stream.ecn,
        ttl: TTL,
        carried: match stream.protocol {
            Protocol::Udp => Carried::Udp { source: ports.0, destination: ports.1 },
            Protocol::Tcp => Carried::Tcp { source: ports.0, destination: ports.1 },
            Protocol::Ip => Carried::Plain,
        },
    }
}

/// The streams as the arrangement sees them.
pub(crate) fn flows(options: &BenchOptions) -> Vec<Flow> {
    let nowhere = [MacAddress([0; 6]); 2];
    options
        .streams
        .iter()
        .map(|stream| {
            let form = form(options, stream, nowhere);
            Flow {
                share: stream.share,
                frames: stream.frames.clone(),
                pace: stream.pace,
                overhead: u32::try_from(form.overhead()).unwrap_or(u32::MAX),
                least: u32::try_from(form.least()).unwrap_or(u32::MAX),
            }
        })
        .collect()
}

/// The streams as the analysis sees them.
pub(crate) fn known(options: &BenchOptions) -> Vec<StreamInfo> {
    let nowhere = [MacAddress([0; 6]); 2];
    let of = |stream: &StreamOptions| StreamInfo {
        name: stream.name.clone(),
        tos: stream.dscp.tos() | stream.ecn.bits(),
        tag: stream.tag.map_or(UNTAGGED, Tag::control),
        overhead: u32::try_from(form(options, stream, nowhere).overhead()).unwrap_or(u32::MAX),
        expect_drop: stream.expect_drop,
    };
    options.streams.iter().map(of).collect()
}

/// The settings of a stream, for documents.
pub(crate) fn stream_setup(stream: &StreamOptions) -> StreamSetup {
    StreamSetup {
        name: stream.name.clone(),
        protocol: stream.protocol,
        share_ratio: stream.share,
        dscp: stream.dscp.to_string(),
        vlan: stream.tag.map(Tag::vlan),
        priority: stream.tag.map(Tag::priority),
        pace: stream.pace.to_string(),
        expect_drop: stream.expect_drop,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use romer_method::Phase;
    use romer_method::schedule::FrameSchedule;
    use romer_units::{Duration, LineRate};

    use super::*;
    use crate::simulated::sweep;

    /// How often each size went with each destination port and address, in frames of a mixture.
    fn met(ports: std::ops::RangeInclusive<u16>, frames: u32) -> BTreeMap<(usize, u16, u8), u32> {
        let mixture = Frames::Mixture("simple".parse().unwrap());
        let destination = AddressRange::new("198.19.0.1".parse().unwrap(), "198.19.0.4".parse().unwrap());
        let stream = StreamOptions { destination_ports: ports, destination, ..StreamOptions::default() };
        let options = BenchOptions { streams: vec![stream], frames: vec![mixture.clone()], ..sweep(&[0.5]) };
        let mut store = Store::new(&options, [MacAddress([2; 6]); 2], &mixture, Signature(7)).unwrap();
        let phases = [Phase { load: 0.5, length: Duration::from_secs(1_000) }];
        let line = LineRate::new(10_000_000).unwrap();
        let due = FrameSchedule::new(&flows(&options), &mixture, line, &phases, options.seed);
        let (mut met, mut place) = (BTreeMap::new(), vec![0; 2_000]);
        for (sequence, due) in (0..frames).zip(due) {
            let mark = Mark { stream: 0, sequence, sent: 0 };
            let length = store.put(due.octets, mark, &mut place).unwrap();
            let port = u16::from_be_bytes([place[36], place[37]]);
            *met.entry((length, port, place[33])).or_insert(0) += 1;
        }
        met
    }

    #[test]
    fn every_size_of_a_mixture_goes_with_every_port_and_address() {
        // The simple mixture has twelve frames in turn, of three sizes: with twelve, four or six ports each size would always
        // have the same ones.
        for width in [4, 6, 12] {
            let met = met(7_001..=7_000 + width, 12_000);
            assert_eq!(met.len(), 3 * usize::from(width) * 4, "{met:?}");
            // 1,000 frames are of 1,518 octets, the rarest size: each port and address has its part of them, within five
            // deviations.
            let part = 1_000.0 / f64::from(width) / 4.0;
            let rare = met.iter().filter(|((length, ..), _)| *length == 1_514);
            for (key, count) in rare {
                assert!(
                    (f64::from(*count) - part).abs() < 5.0 * part.sqrt() + 1.0,
                    "{key:?}: {count} {part}"
                );
            }
        }
    }

    #[test]
    fn a_flow_is_what_has_its_ports_and_addresses() {
        let destination = AddressRange::new("198.19.0.1".parse().unwrap(), "198.19.0.3".parse().unwrap());
        let wide = StreamOptions { source_ports: 7_001..=7_005, destination, ..StreamOptions::default() };
        let plain = StreamOptions { protocol: Protocol::Ip, destination: None, ..wide.clone() };
        let options = BenchOptions { streams: vec![plain, wide], ..sweep(&[0.5]) };
        assert_eq!(
            flow_numbers(&options, 0, 100),
            Vec::<u64>::new(),
            "frames without ports have none to tell apart"
        );
        let numbers = flow_numbers(&options, 1, 600);
        let size = Frames::Size(romer_units::FrameSize::new(128).unwrap());
        let mut store = Store::new(&options, [MacAddress([2; 6]); 2], &size, Signature(7)).unwrap();
        let (mut told, mut place) = (BTreeMap::new(), vec![0; 200]);
        for (sequence, number) in (0..).zip(numbers) {
            store.put(128, Mark { stream: 1, sequence, sent: 0 }, &mut place).unwrap();
            let seen = (u16::from_be_bytes([place[34], place[35]]), place[33]);
            assert_eq!(*told.entry(number).or_insert(seen), seen);
        }
        let different: BTreeSet<_> = told.values().collect();
        assert_eq!((told.len(), different.len()), (15, 15));
    }

    #[test]
    fn a_range_is_gone_through_wholly_before_any_of_it_comes_again() {
        let begins = Random::new(romer_units::random::Seed([1; 6]), [0, 0]);
        for pass in 0..50 {
            let mut all: Vec<u32> = (0..7).map(|frame| turn(&begins, pass * 7 + frame, 7)).collect();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4, 5, 6]);
        }
        assert_eq!((turn(&begins, 5, 1), turn(&begins, u32::MAX, u32::MAX) < u32::MAX), (0, true));
    }
}
