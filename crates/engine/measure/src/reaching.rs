//! Which address of a target is measured: the first that answers.

use std::net::SocketAddr;

use romer_endpoint::names::with_zone;
use romer_endpoint::tls::PeerChannel;
use romer_endpoint::{EndpointError, circumstances};
use romer_host::clock;
use romer_host::socket::{Outgoing, PathErrorKind, ReceiveBatch, SocketOptions, TransmitEvents};
use romer_host::stream::Origin;
use romer_record::document::ProbeDirection;
use romer_record::note::{Notice, SkippedAddress};
use romer_session::control;
use romer_units::Duration;
use romer_wire::stamp::{self, AUTHENTICATED_BASE};

use super::far::{Absent, Conversation};
use super::options::{MeasureOptions, StreamOptions};
use super::plan::{Plan, bind, socket_options, with_port};
use super::route;

/// Requests by which it is seen whether a reflector answers, and the time from one to the next. The reply to the last is waited
/// for as long again.
const REQUESTS: u32 = 3;
const BETWEEN_REQUESTS: Duration = Duration::from_millis(500);
/// Octets of receive buffer for their replies.
const BUFFER: u32 = 64 << 10;

/// An address that is measured, with the conversation with the romer there, if there is one.
pub(super) struct Reached {
    pub(super) plan: Plan,
    pub(super) conversation: Option<Conversation>,
}

/// The first address at which there is a romer; where there is none and STAMP will do, the first at which a reflector
/// answers, else the first. `plans` are what would be sent to each address in turn. What is worth a line is added to `notes`.
pub(super) fn reach(
    options: &MeasureOptions,
    stream: &StreamOptions,
    way: ProbeDirection,
    channel: &PeerChannel,
    plans: impl Iterator<Item = Result<Plan, EndpointError>>,
    notes: &mut Vec<Notice>,
) -> Result<Reached, EndpointError> {
    let mut unfit = None;
    let mut plans: Vec<Plan> =
        plans.filter_map(|plan| plan.map_err(|error| unfit.get_or_insert(error).exit()).ok()).collect();
    if let (true, Some(error)) = (plans.is_empty(), unfit) {
        return Err(error);
    }
    let host = &stream.target.host;
    let mut absent = Vec::new();
    if !options.reflector_only() {
        for place in 0..plans.len() {
            match greet(plans[place].address, way, options, channel)? {
                Ok(conversation) => {
                    let plan = plans.swap_remove(place);
                    notes.extend(instead_of(host, plan.address, &absent));
                    notes.extend(conversation.unverified().map(|unverified| Notice::FirstContact {
                        name: unverified.name.clone(),
                        fingerprint: unverified.fingerprint.to_string(),
                        saved: unverified.is_saved,
                    }));
                    return Ok(Reached { plan, conversation: Some(conversation) });
                }
                Err(why) => absent.push((plans[place].address, why)),
            }
        }
        if way.is_one_way() || stream.target.port.is_some() {
            return Err(unreachable(&absent, way));
        }
    }
    let port = |address: SocketAddr| if options.reflector_only() { address.port() } else { stamp::PORT };
    let answering = |plan: &Plan| answers(options, plan, with_port(plan.address, port(plan.address)));
    // Where there is no choice nothing is asked.
    let place = if plans.len() > 1 { plans.iter().position(answering).unwrap_or(0) } else { 0 };
    if place > 0 {
        let silent = plans[..place].iter();
        notes.push(Notice::AddressChosen {
            host: host.clone(),
            address: plans[place].address.to_string(),
            skipped: silent
                .map(|plan| SkippedAddress { address: with_zone(plan.address), error: None })
                .collect(),
        });
    }
    let plan = plans.swap_remove(place);
    if let Some((_, why)) = absent.iter().find(|(address, _)| *address == plan.address) {
        notes.push(Notice::StampReflectorUsed {
            address: plan.address.to_string(),
            error: why.why().to_string(),
            no_route: matches!(why, Absent::NoRoute(_)),
            port: stamp::PORT,
        });
    }
    Ok(Reached { plan, conversation: None })
}

/// That `address` of a host is measured, and not those before it.
fn instead_of(host: &str, address: SocketAddr, absent: &[(SocketAddr, Absent)]) -> Option<Notice> {
    let skipped = |(address, why): &(SocketAddr, Absent)| SkippedAddress {
        address: with_zone(*address),
        error: Some(why.why().to_string()),
    };
    (!absent.is_empty()).then(|| Notice::AddressChosen {
        host: host.to_owned(),
        address: with_zone(address),
        skipped: absent.iter().map(skipped).collect(),
    })
}

/// `ADDRESS (WHY), ADDRESS (WHY)`.
fn reasons(absent: &[(SocketAddr, Absent)]) -> String {
    let each = |(address, why): &(SocketAddr, Absent)| format!("{} ({})", with_zone(*address), why.why());
    absent.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// A conversation with the romer at `address`, or why there is none; an error where another address would not help.
fn greet(
    address: SocketAddr,
    way: ProbeDirection,
    options: &MeasureOptions,
    channel: &PeerChannel,
) -> Result<Result<Conversation, Absent>, EndpointError> {
    // Where the probes leave from the conversation does, for the far end takes probes from its address alone.
    let from = Origin { address: options.source, interface: options.interface.clone() };
    match Conversation::begin(address, &from, options.key.as_deref(), channel) {
        Ok(conversation) if way.is_one_way() && !conversation.welcome.has(control::ONE_WAY) => {
            Err(EndpointError::Refused {
                address: with_zone(address),
                why: format!("{} there knows round trips only", conversation.welcome.software),
                mend: "update it, or leave --direction out".into(),
            })
        }
        Ok(conversation) => Ok(Ok(conversation)),
        Err(Absent::Locked { why, mend }) => {
            Err(EndpointError::Unreachable { address: with_zone(address), why, mend })
        }
        Err(Absent::Untrusted { why, mend }) => {
            Err(EndpointError::Untrusted { address: with_zone(address), why, mend })
        }
        Err(absent @ Absent::Unprotected) => Err(EndpointError::Untrusted {
            address: with_zone(address),
            why: absent.why().into(),
            mend: "omit --insecure, or start the responder with --insecure too".into(),
        }),
        Err(Absent::Own { error, .. }) => Err(*error),
        Err(absent) => Ok(Err(absent)),
    }
}

/// That there is a romer at none of the addresses, where there has to be one.
fn unreachable(absent: &[(SocketAddr, Absent)], way: ProbeDirection) -> EndpointError {
    let is_here = absent.iter().all(|(_, why)| matches!(why, Absent::NoRoute(_)));
    // Nothing at the far end helps then.
    let mend = if is_here {
        "correct the route or filter of this host, and measure again"
    } else if way.is_one_way() {
        "one-way probes need `romer respond` there; start it, allow its TCP and UDP ports in the firewalls of the path, or omit \
         --direction"
    } else {
        "give the control port of `romer respond` (default 8862) or no port; for another reflector at this UDP port add --stamp-only"
    };
    let tcp = if is_here || way.is_one_way() { "TCP " } else { "" };
    let (address, why) = match absent {
        [(address, why)] => (format!("{tcp}{}", with_zone(*address)), why.why().to_owned()),
        _ => (format!("{tcp}{} addresses", absent.len()), reasons(absent)),
    };
    EndpointError::Unreachable { address, why, mend }
}

/// Whether a STAMP reflector at `target` answers. What is sent belongs to no session.
fn answers(options: &MeasureOptions, plan: &Plan, target: SocketAddr) -> bool {
    let socket_options =
        SocketOptions { kernel_stamps: false, receive_buffer: BUFFER, ..socket_options(options) };
    let Ok(socket) = bind(options, plan.local, &socket_options) else { return false };
    let error = circumstances::clock_error();
    let mut batch = ReceiveBatch::new(8, 512);
    let mut events = TransmitEvents::new(8);
    for number in 0..REQUESTS {
        let mut payload = [0; AUTHENTICATED_BASE];
        let written = route::request(number, error, options.key.as_deref(), &mut payload);
        let Some(length) = written else { return false };
        if socket.send(&Outgoing::new(&payload[..length], target, number)).is_err() {
            return false;
        }
        let until = clock::monotonic_now() + BETWEEN_REQUESTS;
        loop {
            if socket.receive_batch(&mut batch).is_ok_and(|count| count > 0)
                && batch.iter().any(|datagram| datagram.peer == target)
            {
                return true;
            }
            while socket.transmit_events(&mut events).is_ok_and(|count| count > 0) {
                let refused = [PathErrorKind::PortUnreachable, PathErrorKind::Unreachable];
                if events.path_errors().iter().any(|error| refused.contains(&error.kind)) {
                    return false;
                }
            }
            let left = until - clock::monotonic_now();
            if left <= Duration::ZERO {
                break;
            }
            if socket.wait(Some(left)).is_err() {
                return false;
            }
        }
    }
    false
}
