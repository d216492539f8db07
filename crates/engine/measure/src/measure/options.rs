//! What is to be measured, checked before anything is opened.

use std::net::{IpAddr, SocketAddr};

use romer_record::manifest::StampRequest;
use romer_session::sender::{LONGEST_PAYLOAD, SHORTEST_PAYLOAD, STAMP_PAYLOAD};
use romer_store::Location;
use romer_traffic::Request;
use romer_units::{Dscp, Duration};

use crate::MeasureError;
use crate::names::{Family, Target};

/// How long a reflection is waited for before it counts as lost, unless something else is asked for.
pub const WAITING_TIME: Duration = Duration::from_secs(2);
/// TTL of the probes unless something else is asked for: hops are counted from 255 (RFC 5357 section 4.1.2).
pub const TTL: u8 = 255;

/// How large a probe is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeSize {
    /// As the traffic asks, and at least a STAMP packet.
    #[default]
    Natural,
    /// So many octets of UDP payload.
    Payload(u32),
    /// So many octets of IP packet.
    Packet(u32),
}

/// One stream that is to be measured.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// Where to.
    pub target: Target,
    /// When and how many.
    pub traffic: Request,
    /// How large.
    pub size: ProbeSize,
}

/// A run that is to be made.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// The streams, measured side by side.
    pub streams: Vec<StreamOptions>,
    /// Which addresses of the targets.
    pub family: Family,
    /// Do not look for a romer at the far end; the target's port is that of the reflector.
    pub stamp_only: bool,
    /// Which stamps.
    pub stamp: StampRequest,
    /// Code point of the probes.
    pub dscp: Dscp,
    /// TTL or hop limit of the probes; `None` for [`TTL`].
    pub ttl: Option<u8>,
    /// Source address of the probes.
    pub source: Option<IpAddr>,
    /// Interface of the probes.
    pub interface: Option<String>,
    /// How long a reflection is waited for.
    pub waiting_time: Duration,
    /// The user's words.
    pub comment: Option<String>,
    /// The command that repeats this.
    pub command: String,
    /// Where the run is kept.
    pub location: Location,
    /// Time between two interval lines.
    pub report_every: Duration,
}

/// Octets of IP and UDP header.
pub(super) fn header_octets(address: SocketAddr) -> u32 {
    if address.is_ipv4() { 28 } else { 48 }
}

/// The UDP payload of a stream's probes to `address`, over a path of `mtu` octets where that is known.
pub(super) fn payload_octets(
    stream: &StreamOptions,
    natural: u32,
    address: SocketAddr,
    mtu: Option<u32>,
) -> Result<u32, MeasureError> {
    let header = header_octets(address);
    let longest = LONGEST_PAYLOAD[usize::from(address.is_ipv6())];
    let (flag, payload) = match stream.size {
        ProbeSize::Natural => ("", natural.max(STAMP_PAYLOAD)),
        ProbeSize::Payload(octets) => ("--size", octets),
        ProbeSize::Packet(octets) => ("--packet-size", octets.saturating_sub(header)),
    };
    let shown = |payload: u32| match stream.size {
        ProbeSize::Packet(_) => payload + header,
        ProbeSize::Natural | ProbeSize::Payload(_) => payload,
    };
    let asked = match stream.size {
        ProbeSize::Packet(octets) => octets,
        ProbeSize::Natural | ProbeSize::Payload(_) => payload,
    };
    if payload < SHORTEST_PAYLOAD {
        return Err(MeasureError::Usage(format!(
            "the probe is too small ({flag}): {asked} octets do not hold its four stamps; ask for at least {}B ({}B for \
             a STAMP reflector that is not romer)",
            shown(SHORTEST_PAYLOAD),
            shown(STAMP_PAYLOAD)
        )));
    }
    if payload > longest {
        return Err(MeasureError::Usage(format!(
            "the probe is too large ({flag}): {asked} octets are more than UDP carries; ask for at most {}B",
            shown(longest)
        )));
    }
    match mtu {
        Some(mtu) if payload + header > mtu => {
            let most = shown(mtu.saturating_sub(header));
            Err(MeasureError::Usage(format!(
                "the probe would be fragmented ({flag}): its IP packet has {} octets and the path's MTU is {mtu}; \
                 ask for at most {most}B",
                payload + header
            )))
        }
        _ => Ok(payload),
    }
}
