//! The framing that TSPEC, FLOWSPEC and ADSPEC share: services with parameters (RFC 2210 appendix 1).

use crate::bytes::{Reader, put_counted};
use crate::fault::ParameterFault;

/// The service of general parameters.
pub(crate) const GENERAL: u8 = 1;
/// The bit of a service header that says that a hop did not support the service.
const BREAK: u8 = 0x80;

/// The data of one service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service<'a> {
    pub(crate) number: u8,
    pub(crate) break_bit: bool,
    pub(crate) body: &'a [u8],
}

/// One parameter: its number and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter<'a> {
    pub(crate) number: u8,
    pub(crate) value: &'a [u8],
}

/// The next number, flags and body of `fields`. The length counts words without the header.
fn next<'a>(fields: &mut Reader<'a>) -> Option<(u8, u8, &'a [u8])> {
    let (number, flags, words) = (fields.u8()?, fields.u8()?, fields.u16()?);
    Some((number, flags, fields.octets(usize::from(words) * 4)?))
}

/// The services of an object's body.
pub(crate) fn services(body: &[u8]) -> Result<Vec<Service<'_>>, ParameterFault> {
    let mut fields = Reader::new(body);
    // The version is in the first four bits; the rest of this octet and the next one are reserved.
    let (first, _, content) = next(&mut fields).ok_or(ParameterFault::Length)?;
    if first >> 4 != 0 {
        return Err(ParameterFault::Version(first >> 4));
    }
    fields.end(()).ok_or(ParameterFault::Length)?;
    let mut fields = Reader::new(content);
    let mut services = Vec::new();
    while !fields.is_empty() {
        let (number, flags, body) = next(&mut fields).ok_or(ParameterFault::Length)?;
        services.push(Service { number, break_bit: flags & BREAK != 0, body });
    }
    Ok(services)
}

impl<'a> Service<'a> {
    /// The parameters of the service. Their flags are reserved (RFC 2215 section 1).
    pub(crate) fn parameters(&self) -> Result<Vec<Parameter<'a>>, ParameterFault> {
        let mut fields = Reader::new(self.body);
        let mut parameters = Vec::new();
        while !fields.is_empty() {
            let (number, _, value) = next(&mut fields).ok_or(ParameterFault::Length)?;
            parameters.push(Parameter { number, value });
        }
        Ok(parameters)
    }
}

/// Words after the header word.
const fn words(octets: usize) -> usize {
    octets / 4 - 1
}

/// Appends the message header and the services that `body` writes.
pub(crate) fn put_message(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    put_counted(out, [0, 0], false, words, body);
}

/// Appends a service header and the parameters that `body` writes.
pub(crate) fn put_service(out: &mut Vec<u8>, number: u8, break_bit: bool, body: impl FnOnce(&mut Vec<u8>)) {
    put_counted(out, [number, u8::from(break_bit) * BREAK], false, words, body);
}

/// Appends a parameter with the value that `body` writes.
pub(crate) fn put_parameter(out: &mut Vec<u8>, number: u8, body: impl FnOnce(&mut Vec<u8>)) {
    put_counted(out, [number, 0], false, words, body);
}
