//! Arguments of `romer respond`.

use std::net::SocketAddr;

use clap::Args;
use romer_session::reflector::Prefix;

use super::shared::{StampPlace, ThreadArgs};
use crate::values;

/// Arguments of `romer respond`.
#[derive(Debug, Args)]
#[command(
    long_about = "Answer test packets: a reflector for STAMP (RFC 8762) and TWAMP-Light senders, and the far end of \
        romer's own sessions.\n\nOpen to all by default, within its limits: a reply is never longer than its request, \
        and each /32 or /56 has a rate. It runs until it is interrupted or ended by SIGTERM.",
    after_help = "Examples:\n  romer respond\n  romer respond --listen 192.0.2.1:8620 --control 192.0.2.1:8862 --allow 192.0.2.0/24"
)]
pub(crate) struct RespondArgs {
    /// Where test packets are received; repeat for more [default: port 862 of all addresses]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::listen_address, allow_hyphen_values = true)]
    pub(crate) listen: Vec<SocketAddr>,
    /// Where control conversations are received; repeat for more [default: port 8862 of the same addresses]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::listen_address, allow_hyphen_values = true)]
    pub(crate) control: Vec<SocketAddr>,
    /// Which stamps: best, kernel, user
    #[arg(long, value_name = "PLACE", default_value = "best")]
    pub(crate) stamp: StampPlace,
    /// Answer only this range; repeat for more [default: all]
    #[arg(long, value_name = "PREFIX", value_parser = values::parsed::<Prefix>)]
    pub(crate) allow: Vec<Prefix>,
    /// Packets that one /32 or /56 may send, burst one second
    #[arg(long, value_name = "RATE", default_value = "100000pps", value_parser = values::packet_rate, allow_hyphen_values = true)]
    pub(crate) rate: u64,
    /// Print no prose
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
}
