//! Headers that a device changes.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of frames with a header on arrival that they did not have at departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeaderFrames {
    /// The header.
    #[serde(flatten)]
    pub header: ChangedHeader,
    /// Number of frames.
    pub frames: u64,
}

/// A header of a frame on arrival that it did not have at departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum ChangedHeader {
    /// Another EtherType after the Ethernet header and its tags.
    EtherType {
        /// The EtherType.
        ether_type: u16,
    },
    /// An outer IP packet around that of the test frame.
    Tunnel {
        /// Number of its protocol.
        protocol: u8,
        /// Destination port; `null` for a protocol without ports.
        port: Option<u16>,
        /// Source address.
        source: IpAddr,
        /// Destination address.
        destination: IpAddr,
    },
    /// Another source address.
    SourceAddress {
        /// The address.
        address: IpAddr,
    },
    /// Another destination address.
    DestinationAddress {
        /// The address.
        address: IpAddr,
    },
    /// Another source port.
    SourcePort {
        /// The port.
        port: u16,
    },
    /// Another destination port.
    DestinationPort {
        /// The port.
        port: u16,
    },
    /// All headers after the first 16 different ones of a trial.
    Others,
}
