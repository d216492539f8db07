//! What a Session-Sender writes.

use super::reading::{Flags, HEADER, LIMIT, TlvError, kind};
use super::values::{ClassOfService, DirectMeasurement, FollowUpTelemetry, TimestampInformation};
use crate::bytes;
use crate::stamp::key::{Key, TAG};

/// Writes the TLVs of a request, one after the other, into the octets that follow its base packet. All have U
/// set, and M and I not (RFC 8972 section 4). A packet should end where the last TLV does: what is left over
/// would be read as TLVs too.
#[derive(Debug)]
pub struct TlvWriter<'a> {
    buf: &'a mut [u8],
    len: usize,
    count: usize,
    sealed: bool,
}

impl<'a> TlvWriter<'a> {
    /// Begins at the start of `buf`.
    pub const fn new(buf: &'a mut [u8]) -> Self {
        Self { buf, len: 0, count: 0, sealed: false }
    }

    /// Octets written.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing has been written.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A TLV of any type but [`kind::HMAC`] ([`TlvWriter::seal`] writes that) with `length` octets, which
    /// `fill` is given as zeros.
    ///
    /// # Errors
    /// [`TlvError`]; nothing is written then.
    pub fn push(&mut self, kind: u8, length: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), TlvError> {
        if kind == kind::HMAC {
            return Err(TlvError::Length { kind, length });
        }
        if self.sealed && kind != kind::EXTRA_PADDING {
            return Err(TlvError::AfterHmac);
        }
        fill(self.open(kind, length)?);
        Ok(())
    }

    /// An Extra Padding TLV with `length` octets. `fill` is given them as zeros, and may leave them so, though
    /// pseudo-random ones are better: links compress (section 4.1).
    ///
    /// # Errors
    /// [`TlvError`].
    pub fn padding(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), TlvError> {
        self.push(kind::EXTRA_PADDING, length, fill)
    }

    /// Asks how the reflector's clock is kept.
    ///
    /// # Errors
    /// [`TlvError`].
    pub fn timestamp_information(&mut self) -> Result<(), TlvError> {
        let asked = TimestampInformation::default().to_octets();
        self.push(kind::TIMESTAMP_INFORMATION, asked.len(), |value| value.copy_from_slice(&asked))
    }

    /// Asks with which code point the request arrives, and for a reply with `wanted`.
    ///
    /// # Errors
    /// [`TlvError`].
    pub fn class_of_service(&mut self, wanted: romer_units::Dscp) -> Result<(), TlvError> {
        let asked = ClassOfService { wanted, ..ClassOfService::default() }.to_octets();
        self.push(kind::CLASS_OF_SERVICE, asked.len(), |value| value.copy_from_slice(&asked))
    }

    /// States how many packets of the flow were sent, and asks for the reflector's counts.
    ///
    /// # Errors
    /// [`TlvError`].
    pub fn direct_measurement(&mut self, sender_transmitted: u32) -> Result<(), TlvError> {
        let asked = DirectMeasurement { sender_transmitted, ..DirectMeasurement::default() }.to_octets();
        self.push(kind::DIRECT_MEASUREMENT, asked.len(), |value| value.copy_from_slice(&asked))
    }

    /// Asks when an earlier reply really left.
    ///
    /// # Errors
    /// [`TlvError`].
    pub fn follow_up_telemetry(&mut self) -> Result<(), TlvError> {
        let asked = FollowUpTelemetry::default().to_octets();
        self.push(kind::FOLLOW_UP_TELEMETRY, asked.len(), |value| value.copy_from_slice(&asked))
    }

    /// Writes the code over the sequence number of the base packet and all TLVs so far (section 4.8). Only
    /// Extra Padding may follow, and is not covered.
    ///
    /// # Errors
    /// [`TlvError`].
    pub fn seal(&mut self, sequence: u32, key: &Key) -> Result<(), TlvError> {
        if self.sealed {
            return Err(TlvError::AfterHmac);
        }
        let code = key.tag(&[&sequence.to_be_bytes(), self.buf.get(..self.len).unwrap_or_default()]);
        self.open(kind::HMAC, TAG)?.copy_from_slice(&code);
        self.sealed = true;
        Ok(())
    }

    /// Writes a header, and gives the octets of the value, which are zero.
    fn open(&mut self, kind: u8, length: usize) -> Result<&mut [u8], TlvError> {
        let field = u16::try_from(length).map_err(|_| TlvError::Length { kind, length })?;
        if self.count == LIMIT {
            return Err(TlvError::TooMany);
        }
        let room = self.buf.get_mut(self.len..).unwrap_or_default();
        let (need, have) = (HEADER + length, room.len());
        let tlv = room.get_mut(..need).ok_or(TlvError::NoRoom { need, have })?;
        tlv.fill(0);
        bytes::put(tlv, 0, &[Flags::UNRECOGNIZED.bits(), kind]);
        bytes::put(tlv, 2, &field.to_be_bytes());
        self.len += need;
        self.count += 1;
        Ok(tlv.get_mut(HEADER..).unwrap_or_default())
    }
}
