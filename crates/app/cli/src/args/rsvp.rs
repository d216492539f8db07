//! Arguments of `romer rsvp`.

use std::net::Ipv4Addr;

use clap::{Args, Subcommand};
use romer_qtcp_protocol::DEFAULT_PORT;
use romer_units::Duration;

use crate::values;

/// Arguments of `romer rsvp`.
#[derive(Debug, Args)]
#[command(
    long_about = "Reserve bandwidth on the path of a UDP flow with RSVP (RFC 2205), for guaranteed service (RFC 2212) or \
        controlled load (RFC 2211). The sender announces the flow, the receiver reserves, and routers with RSVP on the path admit \
        the reservation or refuse it. No data is sent: the reservation is for the packets of another program between the same \
        addresses and ports.\n\n\
        Both ends refresh the reservation until they are stopped, and then remove it. If a host is killed, the reservation \
        ends 157.5 s after its last refresh.",
    after_help = "Examples:\n  host-b$ romer rsvp receive 198.19.0.2\n  \
        host-a$ romer rsvp send 198.19.0.2 --size 64 --token-rate 3kBps"
)]
pub(crate) struct RsvpArgs {
    #[command(subcommand)]
    pub(crate) command: RsvpCommand,
}

/// Subcommands of `romer rsvp`.
#[derive(Debug, Subcommand)]
pub(crate) enum RsvpCommand {
    /// Announce a flow, and hold its reservation
    Send(RsvpSendArgs),
    /// Reserve for the flows that arrive at an address
    Receive(RsvpReceiveArgs),
}

/// A service of RSVP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ServiceOption {
    /// A bound of the delay (RFC 2212)
    Guaranteed,
    /// As without load (RFC 2211)
    ControlledLoad,
}

/// Arguments that both ends have.
#[derive(Debug, Args)]
pub(crate) struct RsvpSessionArgs {
    /// UDP port of the flow at the receiver, and at the sender
    #[arg(long, short = 'p', value_name = "N", default_value_t = DEFAULT_PORT, value_parser = values::port, allow_hyphen_values = true)]
    pub(crate) port: u16,
    /// Time until the reservation is removed
    #[arg(long, short = 't', value_name = "D", default_value = "forever", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    /// Time to wait for the other end
    #[arg(long, short = 'W', value_name = "D", default_value = "30s", value_parser = values::waiting, allow_hyphen_values = true)]
    pub(crate) waiting_time: Duration,
}

/// Arguments of `romer rsvp send`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  romer rsvp send 198.19.0.2 --size 64 --token-rate 3kBps --duration 10m")]
pub(crate) struct RsvpSendArgs {
    /// IPv4 address of the receiver
    #[arg(value_name = "ADDR", value_parser = values::ipv4)]
    pub(crate) receiver: Ipv4Addr,
    #[command(flatten)]
    pub(crate) session: RsvpSessionArgs,
    /// Service that receivers may request [default: both]
    #[arg(long, value_name = "SERVICE")]
    pub(crate) service: Option<ServiceOption>,
    /// UDP payload of a packet
    #[arg(long, short = 's', value_name = "BYTES", default_value = "1472", value_parser = values::size, allow_hyphen_values = true)]
    pub(crate) size: u32,
    /// Rate of the UDP payload; 28 bytes of headers per packet are added
    #[arg(long, value_name = "RATE", default_value = "100kBps", value_parser = values::bit_rate, allow_hyphen_values = true)]
    pub(crate) token_rate: u64,
    /// Largest burst of the UDP payload, at least one packet [default: --size]
    #[arg(long, value_name = "BYTES", value_parser = values::bytes, allow_hyphen_values = true)]
    pub(crate) bucket: Option<u64>,
}

/// Arguments of `romer rsvp receive`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  romer rsvp receive 198.19.0.2 --service controlled-load")]
pub(crate) struct RsvpReceiveArgs {
    /// IPv4 address of this host to which the flows are sent
    #[arg(value_name = "ADDR", value_parser = values::ipv4)]
    pub(crate) address: Ipv4Addr,
    #[command(flatten)]
    pub(crate) session: RsvpSessionArgs,
    /// Service to request [default: guaranteed, or controlled load if only that is offered]
    #[arg(long, value_name = "SERVICE")]
    pub(crate) service: Option<ServiceOption>,
}
