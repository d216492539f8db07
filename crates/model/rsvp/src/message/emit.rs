//! Messages to octets, in the order of objects that RFC 2205 recommends.

use romer_wire::checksum::checksum;

use crate::flowspec::Flowspec;
use crate::message::{Flow, MOST, Message, Packet, SenderReference, TooLong, VERSION};
use crate::object::{OpaqueObject, Style};

impl Packet {
    /// The octets of the message, with its length and its checksum.
    ///
    /// # Errors
    /// [`TooLong`], if no IPv4 packet can carry it.
    pub fn emit(&self) -> Result<Vec<u8>, TooLong> {
        let mut octets = vec![VERSION << 4, self.message.kind().number(), 0, 0, self.send_ttl, 0, 0, 0];
        self.message.emit_objects(&mut octets);
        let length = octets.len();
        let stated = u16::try_from(length).ok().filter(|_| length <= MOST).ok_or(TooLong(length))?;
        put(&mut octets, 6, stated);
        // Zero would mean that there is no checksum. All ones are the other zero of one's complement.
        let checksum = match checksum(&octets) {
            0 => u16::MAX,
            checksum => checksum,
        };
        put(&mut octets, 2, checksum);
        Ok(octets)
    }
}

fn put(octets: &mut [u8], place: usize, value: u16) {
    if let Some(field) = octets.get_mut(place..place + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

fn emit_all(objects: &[OpaqueObject], out: &mut Vec<u8>) {
    for object in objects {
        object.emit(out);
    }
}

impl SenderReference {
    fn emit(&self, out: &mut Vec<u8>) {
        self.template.emit_template(out);
        if let Some(tspec) = &self.tspec {
            tspec.emit(out);
        }
        if let Some(adspec) = &self.adspec {
            adspec.emit(out);
        }
    }
}

impl Message {
    fn emit_objects(&self, out: &mut Vec<u8>) {
        self.session().emit(out);
        match self {
            Self::Path { hop, period, sender, forwarded, .. } => {
                hop.emit(out);
                period.emit(out);
                emit_all(forwarded, out);
                sender.template.emit_template(out);
                sender.tspec.emit(out);
                if let Some(adspec) = &sender.adspec {
                    adspec.emit(out);
                }
            }
            Self::Resv { hop, period, confirm, flows, forwarded, .. } => {
                hop.emit(out);
                period.emit(out);
                if let Some(confirm) = confirm {
                    confirm.emit(out);
                }
                emit_all(forwarded, out);
                Style::FIXED_FILTER.emit(out);
                emit_flows(flows, out);
            }
            Self::PathErr { error, sender, forwarded, .. } => {
                error.emit(out);
                emit_all(forwarded, out);
                if let Some(sender) = sender {
                    sender.emit(out);
                }
            }
            Self::ResvErr { hop, error, style, flow, forwarded, .. } => {
                hop.emit(out);
                error.emit(out);
                emit_all(forwarded, out);
                style.emit(out);
                if style.is_fixed_filter() {
                    emit_references(flow.as_slice(), out);
                }
            }
            Self::PathTear { hop, sender, forwarded, .. } => {
                hop.emit(out);
                emit_all(forwarded, out);
                sender.emit(out);
            }
            Self::ResvTear { hop, flows, forwarded, .. } => {
                hop.emit(out);
                emit_all(forwarded, out);
                Style::FIXED_FILTER.emit(out);
                emit_references(flows, out);
            }
            Self::ResvConf { error, confirm, flows, forwarded, .. } => {
                error.emit(out);
                confirm.emit(out);
                emit_all(forwarded, out);
                Style::FIXED_FILTER.emit(out);
                emit_flows(flows, out);
            }
        }
    }
}

fn emit_flows(flows: &[Flow], out: &mut Vec<u8>) {
    for Flow { flowspec, filter } in flows {
        flowspec.emit(out);
        filter.emit_filter(out);
    }
}

fn emit_references(flows: &[Flow<Option<Flowspec>>], out: &mut Vec<u8>) {
    for Flow { flowspec, filter } in flows {
        if let Some(flowspec) = flowspec {
            flowspec.emit(out);
        }
        filter.emit_filter(out);
    }
}
