//! Arguments of `romer respond`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use romer_session::reflector::Prefix;

use super::shared::{CHANNEL, CLOCK, ChannelArgs, ExporterArgs, OUTPUT, StampPlace, ThreadArgs};
use crate::formats::Format;
use crate::values;

/// Heading of the help.
const ACCESS: &str = "Access and limits";

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
        or SIGTERM, or when its terminal is closed (except under nohup). SIGUSR1 prints its totals.\n\nUnder systemd, SIGHUP \
        reads the key file again, and sockets of a socket unit replace --listen and --control.",
    after_help = "Examples:\n  romer respond\n  romer respond --listen 192.0.2.1:8620 --control 192.0.2.1:8862 --allow 192.0.2.0/24"
)]
pub(crate) struct RespondArgs {
    /// Address for test packets; repeatable [default: port 862 of all addresses]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::listen_address, allow_hyphen_values = true)]
    pub(crate) listen: Vec<SocketAddr>,
    /// Address of the control channel; repeatable [default: port 8862 of the same addresses]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::listen_address, allow_hyphen_values = true)]
    pub(crate) control: Vec<SocketAddr>,
    /// Answer plain requests in the kernel, on the interfaces that have the addresses of --listen
    ///
    /// An XDP program answers STAMP requests without TLVs and without a session. All other packets reach the responder as
    /// usual. The same limits apply to both, each with its own rate limit. The time stamps in the replies are the
    /// program's. It needs root and Linux 6.1. It is attached in the driver where that sends the replies (xdp-native), else
    /// behind it (xdp-generic), and ends with the responder, also if that is killed.
    #[arg(long, requires = "listen", conflicts_with_all = ["key_file", "stateful"], hide_short_help = true)]
    pub(crate) in_kernel: bool,
    /// Write t2 and t3 into packets with in-packet time stamps, on the interfaces that have the addresses of --listen
    ///
    /// Programs (tcx) stamp the packets of `romer measure --stamp in-packet` as they arrive and leave. They change no other
    /// packet. It needs root and Linux 6.6. The programs end with the responder, also if that is killed.
    #[arg(long, requires = "listen", hide_short_help = true)]
    pub(crate) in_packet: bool,
    /// Stamp the packets of another UDP service of the addresses of --listen too, such as an echo: udp:PORT; repeatable
    #[arg(long, requires = "in_packet", value_name = "RULE", value_parser = values::stamping_rule, allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) rule: Vec<u16>,
    /// Time stamp source: best, kernel, user
    #[arg(long, value_name = "PLACE", default_value = "best", help_heading = CLOCK, hide_possible_values = true)]
    pub(crate) stamp: StampPlace,
    /// Answer only this range of addresses; repeatable [default: all]
    #[arg(long, help_heading = ACCESS, value_name = "PREFIX", value_parser = values::parsed::<Prefix>)]
    pub(crate) allow: Vec<Prefix>,
    /// Answer only requests authenticated with the key in this file (mode 0600, 32 bytes or more)
    #[arg(long, help_heading = ACCESS, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Number the replies of each session, so that a sender can attribute losses to a direction
    #[arg(long)]
    pub(crate) stateful: bool,
    /// Answer only requests with at least this TTL or hop limit; 255: same network only
    ///
    /// Route discovery of senders, whose packets arrive with a low TTL, is refused as well: their summary shows an
    /// incomplete route.
    #[arg(long, help_heading = ACCESS, value_name = "N", value_parser = values::ttl, allow_hyphen_values = true)]
    pub(crate) min_ttl: Option<u8>,
    /// Time stamp format of replies
    #[arg(long, help_heading = CLOCK, value_name = "FORMAT", default_value = "ntp")]
    pub(crate) timestamps: TimestampsArg,
    /// Never send a reply that is longer than its request
    ///
    /// Without this option, a request below 44 octets gets a base packet of 44 octets as its reply (RFC 8762 section 4.6).
    /// With it, requests below 36 octets are answered only in sessions of the control channel. Elsewhere such a reply
    /// could not be distinguished from a request, and two reflectors could return it to each other without end.
    #[arg(long, help_heading = ACCESS)]
    pub(crate) symmetric_only: bool,
    /// Rate limit of requests per IPv4 /32 or IPv6 /56, in packets per second
    ///
    /// All sessions of one IPv4 /24 or IPv6 /56 together have the same limit. The burst is one second.
    ///
    /// The responder's own probes to one /24 or /56 have the same limit, in all sessions together. Without --key-file and
    /// --allow, it also sends at most 10 Mbit/s to one /24 or /56, and 100 Mbit/s in total.
    #[arg(long, help_heading = ACCESS, value_name = "RATE", default_value = "100000pps", value_parser = values::packet_rate, allow_hyphen_values = true)]
    pub(crate) rate: u64,
    /// Maximum number of concurrent sessions, 1 to 65536
    ///
    /// At most a quarter of them can be with one IPv4 /24 or IPv6 /56.
    #[arg(long, help_heading = ACCESS, value_name = "N", default_value = "4096", value_parser = values::sessions, allow_hyphen_values = true)]
    pub(crate) sessions: usize,
    /// Show a code with which one initiator is paired (romer pair)
    ///
    /// A code serves for one attempt. At most five codes are shown, within ten minutes.
    #[arg(long, help_heading = CHANNEL, conflicts_with = "tls_ca")]
    pub(crate) pair: bool,
    /// Answer only initiators that are paired with this responder; test packets are answered as without it
    #[arg(long, help_heading = CHANNEL, hide_short_help = true, conflicts_with_all = ["insecure", "tls_ca"])]
    pub(crate) paired_only: bool,
    #[command(flatten)]
    pub(crate) channel: ChannelArgs,
    /// Write the totals as JSON on SIGUSR1 and at exit; - is standard output
    ///
    /// The document is romer/respond/1. Without this option, SIGUSR1 prints it in one line to standard error.
    #[arg(long, help_heading = OUTPUT, value_name = "FILE", value_parser = Format::DOCUMENT.target())]
    pub(crate) json: Option<String>,
    /// Overwrite the file of --json
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) exporter: ExporterArgs,
    /// Print no text
    #[arg(long, short, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    /// --realtime where it is permitted: for the responder of a lab
    #[arg(long, hide = true, conflicts_with_all = ["cpu", "realtime", "lock_memory", "irq_cpu"])]
    pub(crate) realtime_if_permitted: bool,
}
