//! What is refused before a benchmark begins.

use romer_method::campaign::Design;
use romer_method::schedule::Pace;
use romer_port::PortName;

use crate::design::design;
use crate::error::BenchError;
use crate::options::{BenchOptions, SELF_TEST};
use crate::{frames, volume};

/// The most streams of a benchmark.
pub const MOST_STREAMS: usize = 64;

/// What no thread should have to find out.
///
/// # Errors
/// [`BenchError::Usage`]: ports, addresses or streams that cannot be together.
pub fn check(options: &BenchOptions) -> Result<(), BenchError> {
    if options.source.is_ipv4() != options.destination.is_ipv4() {
        return Err(BenchError::Usage(
            "the addresses do not match (--source, --destination): one is IPv4 and one IPv6; give two of one version".into(),
        ));
    }
    for stream in &options.streams {
        let [source, destination] = [
            stream.source.map_or(options.source, |range| range.first()),
            stream.destination.map_or(options.destination, |range| range.first()),
        ];
        if source.is_ipv4() != destination.is_ipv4() {
            return Err(BenchError::Usage(format!(
                "the addresses of a stream do not fit each other (--stream name={}): it sends from {source} to {destination}, of which \
                 one is of IPv4 and one of IPv6; give two of one version",
                stream.name
            )));
        }
    }
    check_ports(&options.tx, &options.rx)?;
    for (stream, flow) in options.streams.iter().zip(frames::flows(options)) {
        let Pace::Bucket(bucket) = stream.pace else { continue };
        let own = stream.frames.as_ref().map_or(&options.frames[..], std::slice::from_ref);
        let sizes = own.iter().filter_map(|frames| frames::sizes_of(frames, flow.least).last().copied());
        let Some(octets) = sizes.max() else { continue };
        let payload = octets.saturating_sub(flow.overhead);
        if u64::from(payload) > bucket.depth() {
            return Err(BenchError::Usage(format!(
                "a token bucket is too shallow (--stream name={}): a frame of {octets} octets has {payload} of payload, and the bucket \
                 holds {}, so it could never leave; use a depth of at least {payload}B, or smaller frames",
                stream.name,
                bucket.depth()
            )));
        }
    }
    if options.streams.is_empty() || options.streams.len() > MOST_STREAMS {
        return Err(BenchError::Usage("a benchmark has 1 to 64 streams (plan): state as many".into()));
    }
    let combinations = design(options).combinations();
    if combinations > Design::MOST_COMBINATIONS {
        return Err(BenchError::Usage(format!(
            "a benchmark has too many trials (--loads, --frame-sizes, --case, --repeat): {combinations} combinations of load, \
             frames, case and repeat are more than {}; use fewer of one of them",
            Design::MOST_COMBINATIONS
        )));
    }
    if options.streams.iter().all(|stream| stream.expect_drop) {
        return Err(BenchError::Usage(
            "every stream is to be dropped (--stream expect=drop): nothing would show that the device is there; add a stream that it \
             carries"
                .into(),
        ));
    }
    // Tests of the tester are as long as there is room for.
    if options.name == SELF_TEST { Ok(()) } else { volume::check(options) }
}

/// That the ports are two.
///
/// # Errors
/// [`BenchError::Usage`]: they are one.
pub fn check_ports(tx: &PortName, rx: &PortName) -> Result<(), BenchError> {
    if tx == rx {
        return Err(BenchError::Usage(
            "the ports cannot be one (--tx, --rx): frames must pass the device between them; give two interfaces".into(),
        ));
    }
    Ok(())
}
