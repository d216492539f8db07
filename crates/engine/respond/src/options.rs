//! How a responder is set up.

use std::net::SocketAddr;
use std::sync::Arc;

use romer_endpoint::ThreadOptions;
use romer_endpoint::tls::ResponderChannelOptions;
use romer_session::reflector::Prefix;
use romer_wire::stamp::{Key, ReplyFormat};

/// How a responder is to be set up.
#[derive(Clone, Debug)]
pub struct RespondOptions {
    /// Where test packets are received; empty for port 862 of all addresses of both families.
    pub listen: Vec<SocketAddr>,
    /// Where control conversations are received; empty for port 8862 of the addresses of `listen`.
    pub control: Vec<SocketAddr>,
    /// Take stamps in the kernel.
    pub kernel_stamps: bool,
    /// Have network cards stamp too: those of the interfaces that have the addresses of `listen`, and all where it is any
    /// address.
    pub card_stamps: bool,
    /// Address ranges that are answered; empty for all.
    pub allow: Vec<Prefix>,
    /// Packets a second that one /32 or /56 may send, and that are granted to one /24 or /56; to all, four times as many.
    pub rate: u64,
    /// How the threads that reflect and send are run.
    pub threads: ThreadOptions,
    /// Answer only tests that are authenticated with this key, and hold conversations only with who has it.
    pub key: Option<Arc<Key>>,
    /// Number the replies of each session.
    pub stateful: bool,
    /// Sessions that the control channel grants at a time; one network (a /24 or a /56) has a quarter of these at the most.
    pub sessions: usize,
    /// The least TTL or hop limit with which a request may arrive; 0 for any.
    pub least_ttl: u8,
    /// In which format times are written.
    pub format: ReplyFormat,
    /// Answer plain requests in the kernel, on the interfaces that have the addresses of `listen`, of which none is a
    /// wildcard. Not with a key, and not with numbered replies.
    pub in_kernel: bool,
    /// Write time stamps into requests and replies that have a field for them, on the interfaces that have the addresses of
    /// `listen`, of which none is a wildcard.
    pub in_packet: bool,
    /// Ports of other services of these addresses, as an echo of UDP, whose packets are stamped too.
    pub in_packet_ports: Vec<u16>,
    /// No reply is longer than its request: one below 44 octets does not get a base packet.
    pub symmetric_only: bool,
    /// What protects the control channel.
    pub channel: ResponderChannelOptions,
}

impl RespondOptions {
    /// Whether strangers are served: there is neither a key nor a list of addresses.
    pub(super) fn is_open(&self) -> bool {
        self.key.is_none() && self.allow.is_empty()
    }
}

impl Default for RespondOptions {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            control: Vec::new(),
            kernel_stamps: true,
            card_stamps: false,
            allow: Vec::new(),
            rate: 100_000,
            threads: ThreadOptions::default(),
            key: None,
            stateful: false,
            sessions: 4_096,
            least_ttl: 0,
            format: ReplyFormat::default(),
            in_kernel: false,
            in_packet: false,
            in_packet_ports: Vec::new(),
            symmetric_only: false,
            channel: ResponderChannelOptions::default(),
        }
    }
}
