//! Arguments of `romer respond`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use romer_session::reflector::Prefix;

use super::shared::{StampPlace, ThreadArgs};
use crate::formats::Format;
use crate::values;

/// Time stamp format of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TimestampsArg {
    /// NTP, which every sender supports
    Ntp,
    /// PTP (truncated to 64 bits)
    Ptp,
    /// Format of the request
    AsRequested,
}

/// Arguments of `romer respond`.
#[derive(Debug, Args)]
#[command(
    long_about = "Answer test packets: a reflector for STAMP (RFC 8762) and TWAMP-Light senders, and the responder of \
        romer measure.\n\nOpen to all by default, with limits: a reply is as long as its request, or 44 bytes (a base \
        packet) if the request is shorter, and each IPv4 /32 or IPv6 /56 has a rate limit. The responder ends by SIGINT \
        or SIGTERM, or when its terminal is closed (except under nohup). SIGUSR1 prints its totals.",
    after_help = "Examples:\n  romer respond\n  romer respond --listen 192.0.2.1:8620 --control 192.0.2.1:8862 --allow 192.0.2.0/24"
)]
pub(crate) struct RespondArgs {
    /// Address for test packets; repeat for more [default: port 862 of all addresses]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::listen_address, allow_hyphen_values = true)]
    pub(crate) listen: Vec<SocketAddr>,
    /// Address of the control channel; repeat for more [default: port 8862 of the same addresses]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::listen_address, allow_hyphen_values = true)]
    pub(crate) control: Vec<SocketAddr>,
    /// Time stamp source: best, kernel, user
    #[arg(long, value_name = "PLACE", default_value = "best")]
    pub(crate) stamp: StampPlace,
    /// Answer only this range; repeat for more [default: all]
    #[arg(long, value_name = "PREFIX", value_parser = values::parsed::<Prefix>)]
    pub(crate) allow: Vec<Prefix>,
    /// Answer only requests authenticated with the key in this file (mode 0600, 32 bytes or more)
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Number the replies of each session, so that a sender can attribute losses to a direction
    #[arg(long)]
    pub(crate) stateful: bool,
    /// Answer only requests with at least this TTL or hop limit; 255: same network only [default: any]
    ///
    /// Route discovery of senders, whose packets arrive with a low TTL, is refused as well: their summary shows an
    /// incomplete route.
    #[arg(long, value_name = "N", value_parser = values::ttl, allow_hyphen_values = true)]
    pub(crate) min_ttl: Option<u8>,
    /// Time stamp format of replies
    #[arg(long, value_name = "FORMAT", default_value = "ntp")]
    pub(crate) timestamps: TimestampsArg,
    /// Never send a reply that is longer than its request
    ///
    /// Without this option, a request below 44 octets gets a base packet of 44 octets as its reply (RFC 8762 section 4.6).
    /// With it, requests below 36 octets are answered only in sessions of the control channel. Elsewhere such a reply
    /// could not be distinguished from a request, and two reflectors could return it to each other without end.
    #[arg(long)]
    pub(crate) symmetric_only: bool,
    /// Rate limit of requests from one /32 or /56, and of all sessions of one /24 or /56; burst of one second
    ///
    /// The responder's own probes to one /24 or /56 have the same limit, in all sessions together. Without --key-file and
    /// --allow, it also sends at most 10 Mbit/s to one /24 or /56, and 100 Mbit/s in total.
    #[arg(long, value_name = "RATE", default_value = "100000pps", value_parser = values::packet_rate, allow_hyphen_values = true)]
    pub(crate) rate: u64,
    /// Maximum concurrent sessions, at most a quarter of them with one /24 or /56: 1 to 65536
    #[arg(long, value_name = "N", default_value = "4096", value_parser = values::sessions, allow_hyphen_values = true)]
    pub(crate) sessions: usize,
    /// Write the totals as JSON (romer/respond/1) to this file on SIGUSR1 and at exit; - is standard output [default: on
    /// SIGUSR1, a line on standard error]
    #[arg(long, value_name = "FILE", value_parser = Format::DOCUMENT.target())]
    pub(crate) json: Option<String>,
    /// Overwrite the file of --json
    #[arg(long)]
    pub(crate) force: bool,
    /// Suppress the text output
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
}
