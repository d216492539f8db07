//! Octets to messages.

use romer_wire::checksum::Sum;

use crate::fault::Fault;
use crate::message::parts::Parts;
use crate::message::{HEADER, Kind, Message, Origin, Packet, Rejection, VERSION, View};

impl<'a> View<'a> {
    /// Reads the header of `octets`, which are the payload of one IP packet.
    ///
    /// # Errors
    /// [`Fault`], where the header, the length or the checksum is wrong. A checksum of zero means that there is none.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Fault> {
        let have = octets.len();
        let Some((&[first, number, check_high, check_low, send_ttl, _, high, low], objects)) =
            octets.split_first_chunk::<HEADER>()
        else {
            return Err(Fault::Truncated { have });
        };
        if first >> 4 != VERSION {
            return Err(Fault::Version(first >> 4));
        }
        let stated = usize::from(u16::from_be_bytes([high, low]));
        if stated != have {
            return Err(Fault::Length { stated, have });
        }
        if [check_high, check_low] != [0, 0] && !Sum::new().octets(octets).is_right() {
            return Err(Fault::Checksum);
        }
        let kind = Kind::from_number(number).ok_or(Fault::Kind(number))?;
        Ok(Self { kind, send_ttl, objects })
    }
}

impl Packet {
    /// Reads `octets`, which are the payload of one IP packet.
    ///
    /// # Errors
    /// [`Rejection`], which can make the message that reports a fault to the sender or the receiver.
    pub fn parse(octets: &[u8]) -> Result<Self, Rejection> {
        let view = View::parse(octets).map_err(|fault| Rejection { fault, origin: None })?;
        let (parts, fault) = Parts::sort(&view);
        let message = match fault {
            Some(fault) => Err(fault),
            None => message(view.kind(), &parts),
        };
        match message {
            Ok(message) => Ok(Self { send_ttl: view.send_ttl(), message }),
            Err(fault) => Err(Rejection { fault, origin: origin(view.kind(), &parts) }),
        }
    }
}

fn message(kind: Kind, parts: &Parts<'_>) -> Result<Message, Fault> {
    let session = parts.session()?;
    let forwarded = parts.forwarded.clone();
    Ok(match kind {
        Kind::Path => Message::Path {
            session,
            hop: parts.hop()?,
            period: parts.period()?,
            sender: parts.sender()?,
            forwarded,
        },
        Kind::Resv => Message::Resv {
            session,
            hop: parts.hop()?,
            period: parts.period()?,
            confirm: parts.confirm()?,
            flows: parts.flows()?,
            forwarded,
        },
        Kind::PathErr => {
            Message::PathErr { session, error: parts.error()?, sender: parts.sender_reference()?, forwarded }
        }
        Kind::ResvErr => Message::ResvErr {
            session,
            hop: parts.hop()?,
            error: parts.error()?,
            style: parts.style()?,
            flow: parts.failed_flow()?,
            forwarded,
        },
        Kind::PathTear => {
            Message::PathTear { session, hop: parts.hop()?, sender: parts.torn_sender()?, forwarded }
        }
        Kind::ResvTear => {
            Message::ResvTear { session, hop: parts.hop()?, flows: parts.torn_flows()?, forwarded }
        }
        Kind::ResvConf => Message::ResvConf {
            session,
            error: parts.error()?,
            confirm: parts.required_confirm()?,
            flows: parts.flows()?,
            forwarded,
        },
    })
}

/// What a report of a fault needs. Only Path and Resv messages are answered.
fn origin(kind: Kind, parts: &Parts<'_>) -> Option<Origin> {
    let (session, hop) = (parts.session().ok()?, parts.hop().ok()?);
    match kind {
        Kind::Path => {
            let template = parts.template().ok().flatten();
            Some(Origin::Path { session, hop, template, tspec: parts.tspec().ok().flatten() })
        }
        Kind::Resv => {
            let style = parts.style().ok()?;
            let filter = parts.first_filter().filter(|_| style.is_fixed_filter());
            Some(Origin::Resv { session, hop, style, filter })
        }
        _ => None,
    }
}
