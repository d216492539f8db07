//! The frames of each stream, made before the first is sent.

use romer_method::Frames;
use romer_method::analysis::{Known, UNTAGGED};
use romer_method::arrangement::Flow;
use romer_units::Dscp;
use romer_wire::ethernet::MacAddress;
use romer_wire::test_frame::{Carried, Form, Mark, Signature, Template};

use crate::BenchError;
use crate::options::{AddressRange, BenchOptions, Protocol, StreamOptions};

/// Hops that a test frame may make.
const TTL: u8 = 64;

/// A stream's frames by size.
struct Prepared {
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
        let streams = options.streams.iter().map(|stream| {
            let form = form(options, stream, macs);
            let least = u32::try_from(form.least()).unwrap_or(u32::MAX);
            let mut sizes = Vec::new();
            for octets in sizes_of(stream.frames.as_ref().unwrap_or(frames), least) {
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
            let varies =
                stream.source_ports.clone().count() > 1 || stream.destination_ports.clone().count() > 1;
            let ports = (varies && stream.protocol != Protocol::Ip)
                .then(|| (stream.source_ports.clone(), stream.destination_ports.clone()));
            let (source, destination) = addresses(options, stream);
            let addresses = (source.count() > 1 || destination.count() > 1).then_some((source, destination));
            Ok::<_, BenchError>(Prepared { sizes, ports, addresses })
        });
        Ok(Self { streams: streams.collect::<Result<_, _>>()?, signature })
    }

    /// Puts a frame into `place`; its length without check sequence, or `None` where there is none of this size.
    pub(crate) fn put(&mut self, octets: u32, mark: Mark, place: &mut [u8]) -> Option<usize> {
        let stream = self.streams.get_mut(usize::from(mark.stream))?;
        let template = stream.sizes.get_mut(usize::try_from(octets).ok()?)?.as_mut()?;
        if let Some((source, destination)) = &stream.ports {
            template.set_ports(nth(source, mark.sequence), nth(destination, mark.sequence));
        }
        if let Some((source, destination)) = &stream.addresses {
            template.set_addresses(source.nth(mark.sequence), destination.nth(mark.sequence));
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

fn nth(range: &std::ops::RangeInclusive<u16>, sequence: u32) -> u16 {
    let width = u32::from(range.end() - range.start()) + 1;
    range.start() + u16::try_from(sequence % width).unwrap_or(0)
}

/// Every size that frames of this kind may have, none below `least`.
pub(crate) fn sizes_of(frames: &Frames, least: u32) -> std::collections::BTreeSet<u32> {
    match frames {
        Frames::Size(size) => [size.octets().max(least)].into(),
        Frames::Mixture(imix) => {
            let ranges = imix.shares().into_iter().map(|share| share.frame);
            ranges.flatten().map(|octets| octets.max(64).max(least)).collect()
        }
    }
}

/// Where a stream's frames come from, and where they go.
fn addresses(options: &BenchOptions, stream: &StreamOptions) -> (AddressRange, AddressRange) {
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
        ecn: romer_wire::ip::Ecn::of_tos(stream.ecn.bits()),
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
pub(crate) fn known(options: &BenchOptions) -> Vec<Known> {
    let nowhere = [MacAddress([0; 6]); 2];
    let of = |stream: &StreamOptions| Known {
        name: stream.name.clone(),
        tos: stream.dscp.tos() | stream.ecn.bits(),
        priority: stream.tag.map_or(UNTAGGED, romer_wire::ethernet::Tag::priority),
        overhead: u32::try_from(form(options, stream, nowhere).overhead()).unwrap_or(u32::MAX),
    };
    options.streams.iter().map(of).collect()
}

/// A stream in words.
pub(crate) fn words(stream: &StreamOptions) -> String {
    let protocol = match stream.protocol {
        Protocol::Udp => "udp",
        Protocol::Tcp => "tcp",
        Protocol::Ip => "ip",
    };
    let dscp = if stream.dscp == Dscp::DEFAULT { String::new() } else { format!(", dscp {}", stream.dscp) };
    let tag =
        stream.tag.map_or(String::new(), |tag| format!(", vlan {} priority {}", tag.vlan(), tag.priority()));
    format!("{}: {protocol}, share {:.4}{dscp}{tag}, {:?}", stream.name, stream.share, stream.pace)
}
