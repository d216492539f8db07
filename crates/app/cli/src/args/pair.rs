//! Arguments of `romer pair`.

use clap::Args;
use romer_endpoint::names::Target;
use romer_endpoint::tls::pairing::PairingCode;

use super::shared::OUTPUT;
use crate::values;

/// Arguments of `romer pair`.
#[derive(Debug, Args)]
#[command(
    long_about = "Pair this host with a responder: verify its identity with a short code, once.\n\n\
        Start `romer respond --pair` on the other host. It shows a code of six digits, which is typed here. Both ends then know \
        each other by the fingerprints of their keys, and measurements between them are protected from a third party. A wrong code \
        is refused, and the responder shows another one.",
    after_help = "Examples:\n  romer pair far.example.net\n  romer pair 192.0.2.1 --code 123-456"
)]
pub(crate) struct PairArgs {
    /// HOST, HOST:PORT or [IPV6]:PORT of the control channel, as for `romer measure`
    #[arg(value_name = "TARGET", value_parser = values::parsed::<Target>)]
    pub(crate) target: Target,
    /// Code that the responder shows [default: read from standard input]
    #[arg(long, value_name = "CODE", value_parser = values::parsed::<PairingCode>)]
    pub(crate) code: Option<PairingCode>,
    /// IPv4 only
    #[arg(short = '4', long = "ipv4", conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long = "ipv6")]
    pub(crate) ipv6: bool,
    /// Print no text
    #[arg(long, short, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
}
