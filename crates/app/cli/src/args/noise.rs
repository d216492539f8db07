//! Arguments of `romer noise`.

use clap::{Args, Subcommand};
use romer_endpoint::names::Target;
use romer_endpoint::noise::PORT;
use romer_traffic::TrafficModel;
use romer_units::random::Seed;
use romer_units::{Dscp, Duration, Layer, Rate};

use super::shared::DocumentArgs;
use crate::values;

/// Arguments of `romer noise`.
#[derive(Debug, Args)]
#[command(
    long_about = "Send cross traffic of a stated rate and a realistic mix of packet sizes over a path, to measure it under load.\n\n\
        The source sends UDP packets to the sink, which counts them. Both print what they counted. Neither limits itself to what \
        the path can carry: use them only in networks that you may load.",
    after_help = "Examples:\n  romer noise sink\n  romer noise source HOST --mix imix:simple --rate 100kbit --duration 1m"
)]
pub(crate) struct NoiseArgs {
    #[command(subcommand)]
    pub(crate) command: NoiseCommand,
}

/// Subcommands of `romer noise`.
#[derive(Debug, Subcommand)]
pub(crate) enum NoiseCommand {
    /// Receive and count cross traffic
    Sink(SinkArgs),
    /// Send cross traffic
    Source(Box<SourceArgs>),
}

/// Arguments of `romer noise sink`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  romer noise sink\n  romer noise sink --port 9000 --duration 1m --json sink.json"
)]
pub(crate) struct SinkArgs {
    /// UDP port of all addresses
    #[arg(long, value_name = "PORT", default_value_t = PORT, value_parser = values::port, allow_hyphen_values = true)]
    pub(crate) port: u16,
    /// Layer at which octets are counted: l1, l2, l3 or payload
    #[arg(long, value_name = "LAYER", default_value = "l2", value_parser = values::parsed::<Layer>)]
    pub(crate) layer: Layer,
    /// Duration in seconds, or 500ms, 5m, 1h, forever [default: until interrupted]
    #[arg(long, short = 't', value_name = "D", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    #[command(flatten)]
    pub(crate) output: DocumentArgs,
}

/// Arguments of `romer noise source`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  romer noise source HOST --mix imix:simple --rate 100kbit\n  romer noise source HOST --mix \
        trace:packets.csv --rate 5Mbit --layer l3 --duration 1m\n  romer noise source HOST --mix imix:simple --rate 100kbit \
        --after HOST:5003"
)]
pub(crate) struct SourceArgs {
    /// The host of the sink: HOST, HOST:PORT or [IPV6]:PORT; the port is 8890 by default
    #[arg(value_name = "HOST", value_parser = values::parsed::<Target>)]
    pub(crate) target: Target,
    /// Packet sizes and their pattern in time: imix:simple, imix:chadda2004, imix:GENOME or trace:FILE
    ///
    /// Packets of an imix leave as fast as the rate permits. A trace keeps its pattern, scaled to the rate. Both repeat.
    #[arg(long, value_name = "MIX", value_parser = values::parsed::<TrafficModel>)]
    pub(crate) mix: TrafficModel,
    /// Rate, such as 100kbit or 250pps
    #[arg(long, value_name = "RATE", value_parser = values::parsed::<Rate>, allow_hyphen_values = true)]
    pub(crate) rate: Rate,
    /// Layer at which the rate counts: l1, l2, l3 or payload
    ///
    /// l1 has preamble and gap, l2 frames with check sequence and padding, l3 IP packets.
    #[arg(long, value_name = "LAYER", default_value = "l2", value_parser = values::parsed::<Layer>)]
    pub(crate) layer: Layer,
    /// Duration in seconds, or 500ms, 5m, 1h, forever [default: until interrupted]
    #[arg(long, short = 't', value_name = "D", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Start when the calibration of a live Qtcp test is complete: HOST or HOST:PORT of its receiver (`romer qtcp -r`)
    ///
    /// The port is 5003 by default. The receiver need not have started.
    #[arg(long, value_name = "HOST", value_parser = values::parsed::<Target>)]
    pub(crate) after: Option<Target>,
    /// DSCP of the packets: a name (EF, AF41, CS5) or 0 to 63
    #[arg(long, value_name = "DSCP", default_value = "cs0", value_parser = values::parsed::<Dscp>, allow_hyphen_values = true)]
    pub(crate) dscp: Dscp,
    /// Seed of random sizes: six numbers, as a run prints them [default: random]
    #[arg(long, value_name = "S1,...,S6", value_parser = values::parsed::<Seed>, allow_hyphen_values = true)]
    pub(crate) seed: Option<Seed>,
    /// IPv4 only
    #[arg(short = '4', long = "ipv4", conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long = "ipv6")]
    pub(crate) ipv6: bool,
    #[command(flatten)]
    pub(crate) output: DocumentArgs,
}
