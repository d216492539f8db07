//! What a Session-Reflector does with the TLVs of a request.
//!
//! Where RFC 8972 leaves it open, this is what was chosen:
//!
//! - *A TLV that we know but cannot answer now* (the received code point is not known, no flow is counted)
//!   comes back with U set: section 4 has U mark the TLVs "that it did not process".
//! - *A malformed TLV* gets M, and U only if its type is not understood; what follows is not touched,
//!   flags included (section 4: copied). TLVs before it stay answered.
//! - *A malformed TLV under a right code*: section 4 has the remainder copied, and the HMAC TLV is in it.
//!   Its code would be wrong for the reply, whose sender would then ignore the M flag too; so it is made
//!   anew.
//! - *An HMAC TLV and no key*, and, where TLVs must be protected, none at all, are failed verifications:
//!   section 4.8 lets nothing be used that was not verified. So is an HMAC TLV whose length is not 16, or
//!   which the packet cuts off; it gets M as well.
//! - *A failed verification* adds I and changes nothing else of a TLV (section 4.8: copied), the code
//!   included.
//! - *Several Class of Service TLVs*: the first decides on the code point of the reply; those that want
//!   another get RP 1.
//! - *Extra Padding after the HMAC TLV* is allowed and not covered by the code (section 4.8: "all
//!   preceding TLVs").
//! - *TLVs within a Timestamp Information TLV* have no types yet (section 4.3): each gets U, a malformed
//!   one makes the TLV that holds it malformed.

use romer_units::Dscp;

use super::reading::{Extent, Flags, HEADER, Tlvs, Walk, kind};
use super::values::{
    ClassOfService, DirectMeasurement, FollowUpTelemetry, TimestampInformation, TimestampMethod, VENDOR,
};
use crate::bytes;
use crate::ip::Ecn;
use crate::stamp::key::{Key, TAG};
use crate::stamp::{StampError, TimestampFormat, WireTime};

/// What a reflector knows when it answers a request. What is `None` is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlvContext {
    /// The sequence number of the request, which its code covers.
    pub request_sequence: u32,
    /// The sequence number of the reply, which the reply's code covers; the same in a stateless reflector.
    pub reply_sequence: u32,
    /// TLVs without a code over them are not to be answered: so in the authenticated mode (section 4.8), and
    /// in the other if so configured.
    pub must_be_protected: bool,
    /// The format of the reply's timestamps: the Z bit of its own error estimate.
    pub format: TimestampFormat,
    /// How the clock is kept, and how T2 and T3 are obtained.
    pub clock: Option<TimestampInformation>,
    /// How the request was marked when it arrived.
    pub arrival: Option<Arrival>,
    /// The code points that a sender may ask a reply to have.
    pub permitted: DscpSet,
    /// Counts of the flow that is measured directly.
    pub in_profile: Option<InProfile>,
    /// An earlier reply of the session, the last whose true departure is known. `None` in a stateless
    /// reflector, and until there is one: the TLV is then answered with zeros (section 4.7).
    pub follow_up: Option<FollowUp>,
}

/// The marks of a packet on arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Its code point.
    pub dscp: Dscp,
    /// Its congestion notification.
    pub ecn: Ecn,
}

/// Packets that belong to a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InProfile {
    /// Received by the reflector's side; wraps.
    pub received: u32,
    /// Sent by the reflector's side; wraps.
    pub transmitted: u32,
}

/// A reply of which it is known when it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowUp {
    /// Its sequence number, the reflector's own.
    pub sequence: u32,
    /// When it left, in nanoseconds after 1970-01-01.
    pub departed_unix_nanos: i64,
    /// How that was found out.
    pub method: TimestampMethod,
}

/// A set of code points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DscpSet(u64);

impl DscpSet {
    /// No code point: every reply has the one of its request.
    pub const NONE: Self = Self(0);
    /// All 64.
    pub const ALL: Self = Self(u64::MAX);

    /// This set and `dscp`.
    #[must_use]
    pub const fn with(self, dscp: Dscp) -> Self {
        Self(self.0 | (1 << dscp.value()))
    }
    /// Whether `dscp` is in it.
    pub const fn contains(self, dscp: Dscp) -> bool {
        self.0 & (1 << dscp.value()) != 0
    }
}

/// What became of the TLVs of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlvOutcome {
    /// What the code over them showed.
    pub integrity: Integrity,
    /// TLVs that were answered.
    pub understood: usize,
    /// TLVs of unknown types, or that cannot be answered; they got U.
    pub unrecognized: usize,
    /// A TLV was malformed; it got M, and nothing after it was looked at.
    pub malformed: bool,
    /// There were octets, but zeros alone: padding, returned as it came.
    pub zero_padding: bool,
    /// A Class of Service TLV was answered, and says that the reply is sent with this code point.
    pub dscp: Option<Dscp>,
}

/// What the code over the TLVs of a request showed (RFC 8972 section 4.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integrity {
    /// There is none, and none was needed.
    #[default]
    Unprotected,
    /// It is right; the reply has one too.
    Verified,
    /// It is not. No TLV was answered, and all got I.
    Failed(IntegrityFault),
}

/// What was wrong with the code over TLVs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntegrityFault {
    /// It is not that of the key over these octets.
    WrongCode,
    /// The HMAC TLV is followed by something other than Extra Padding, or is itself malformed.
    Misplaced,
    /// There is no key to verify it with.
    NoKey,
    /// There is none where one must be.
    Missing,
}

/// Writes the answer to the TLVs of a request at the start of `out`: as many octets as the request has, so that
/// the reply is never longer. See [`reflect_over`].
///
/// # Errors
/// [`StampError::NoRoom`] where `out` is shorter than the request.
pub fn reflect(
    request: &[u8],
    context: &TlvContext,
    key: Option<&Key>,
    out: &mut [u8],
) -> Result<TlvOutcome, StampError> {
    let no_room = StampError::NoRoom { need: request.len(), have: out.len() };
    let reply = out.get_mut(..request.len()).ok_or(no_room)?;
    reply.copy_from_slice(request);
    Ok(reflect_over(reply, context, key))
}

/// Writes the answer to the TLVs of a request over them. Any octets are answered; their number stays.
///
/// With a key, a code over the TLVs is verified before anything else, and the reply gets one. Each TLV that is
/// understood comes back filled, without flags; an unknown one as it was, with U; at one that is malformed the
/// work ends (RFC 8972 section 4).
pub fn reflect_over(extensions: &mut [u8], context: &TlvContext, key: Option<&Key>) -> TlvOutcome {
    if extensions.iter().all(|octet| *octet == 0) {
        return TlvOutcome { zero_padding: !extensions.is_empty(), ..TlvOutcome::default() };
    }
    let protection = Protection::locate(extensions);
    let integrity = protection.check_integrity(extensions, context, key);
    let mut outcome = TlvOutcome { integrity, ..TlvOutcome::default() };
    match integrity {
        Integrity::Failed(_) => refuse(extensions, &mut outcome),
        Integrity::Unprotected => answer_all(extensions, context, &mut outcome),
        Integrity::Verified => {
            answer_all(extensions, context, &mut outcome);
            protection.seal(extensions, context.reply_sequence, key);
        }
    }
    outcome
}

/// Where the code over the TLVs is.
pub(super) struct Protection {
    /// Where the first HMAC TLV begins.
    hmac: Option<usize>,
    /// The code is not where it must be.
    faulty: bool,
    /// Nothing, zeros, or a single Extra Padding TLV: the one case in which no code is needed.
    padding_alone: bool,
}

impl Protection {
    pub(super) fn locate(extensions: &[u8]) -> Self {
        let mut found = Self { hmac: None, faulty: false, padding_alone: is_padding_alone(extensions) };
        for tlv in Tlvs::new(extensions) {
            let (offset, kind, broken) = match tlv {
                Ok(tlv) => (tlv.offset, Some(tlv.kind), tlv.kind == kind::HMAC && tlv.value.len() != TAG),
                Err(cut) => (cut.offset, cut.kind, cut.kind == Some(kind::HMAC)),
            };
            if found.hmac.is_some() {
                found.faulty |= kind != Some(kind::EXTRA_PADDING);
            } else if kind == Some(kind::HMAC) {
                found.hmac = Some(offset);
                found.faulty |= broken;
            }
        }
        found
    }

    /// Whether there is a code, right or not.
    pub(super) const fn is_there(&self) -> bool {
        self.hmac.is_some()
    }

    /// Whether no code is needed even where TLVs must be protected.
    pub(super) const fn needs_none(&self) -> bool {
        self.padding_alone
    }

    /// Whether the code is in its place and right; `None` where there is none.
    pub(super) fn verify(&self, extensions: &[u8], sequence: u32, key: &Key) -> Option<bool> {
        let hmac = self.hmac?;
        let code = bytes::at(extensions, hmac + HEADER).filter(|_| !self.faulty);
        let covered = extensions.get(..hmac).unwrap_or_default();
        Some(code.is_some_and(|code| key.verifies(&[&sequence.to_be_bytes(), covered], &code)))
    }

    fn check_integrity(&self, extensions: &[u8], context: &TlvContext, key: Option<&Key>) -> Integrity {
        if !self.is_there() {
            let missing = context.must_be_protected && !self.needs_none();
            return if missing { Integrity::Failed(IntegrityFault::Missing) } else { Integrity::Unprotected };
        }
        let Some(key) = key else { return Integrity::Failed(IntegrityFault::NoKey) };
        if self.faulty {
            return Integrity::Failed(IntegrityFault::Misplaced);
        }
        match self.verify(extensions, context.request_sequence, key) {
            Some(true) => Integrity::Verified,
            _ => Integrity::Failed(IntegrityFault::WrongCode),
        }
    }

    /// Writes the code of the reply where the request had its own.
    fn seal(&self, extensions: &mut [u8], sequence: u32, key: Option<&Key>) {
        let (Some(hmac), Some(key)) = (self.hmac, key) else { return };
        let covered = extensions.get(..hmac).unwrap_or_default();
        let code = key.tag(&[&sequence.to_be_bytes(), covered]);
        mark(extensions, hmac, Flags::NONE);
        bytes::put(extensions, hmac + HEADER, &code);
    }
}

fn is_padding_alone(extensions: &[u8]) -> bool {
    let mut tlvs = Tlvs::new(extensions);
    let first_is_padding = matches!(tlvs.next(), Some(Ok(tlv)) if tlv.kind == kind::EXTRA_PADDING);
    (first_is_padding && tlvs.next().is_none()) || extensions.iter().all(|octet| *octet == 0)
}

fn mark(extensions: &mut [u8], offset: usize, flags: Flags) {
    bytes::put(extensions, offset, &[flags.bits()]);
}

/// Sets I in every TLV.
fn refuse(extensions: &mut [u8], outcome: &mut TlvOutcome) {
    let mut walk = Walk::new();
    while let Some(found) = walk.step(extensions) {
        let (offset, flags, malformed) = match found {
            Ok(Extent { flags, kind, offset, value }) => {
                (offset, flags, kind == kind::HMAC && value.len() != TAG)
            }
            Err(cut) => (cut.offset, cut.flags, true),
        };
        outcome.malformed |= malformed;
        let copied = flags.only(Flags::UNRECOGNIZED).with(Flags::INTEGRITY);
        mark(extensions, offset, if malformed { copied.with(Flags::MALFORMED) } else { copied });
    }
}

/// What became of one TLV.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TlvFate {
    Understood,
    Unrecognized,
    Malformed,
}

fn answer_all(extensions: &mut [u8], context: &TlvContext, outcome: &mut TlvOutcome) {
    let mut walk = Walk::new();
    while let Some(found) = walk.step(extensions) {
        let (offset, kind, fate) = match found {
            Ok(Extent { kind, offset, value, .. }) => {
                let value = extensions.get_mut(value).unwrap_or_default();
                (offset, Some(kind), answer(kind, value, context, &mut outcome.dscp))
            }
            Err(cut) => (cut.offset, cut.kind, TlvFate::Malformed),
        };
        let flags = match fate {
            TlvFate::Understood => Flags::NONE,
            TlvFate::Unrecognized => Flags::UNRECOGNIZED,
            TlvFate::Malformed if kind.is_some_and(is_known) => Flags::MALFORMED,
            TlvFate::Malformed => Flags::MALFORMED.with(Flags::UNRECOGNIZED),
        };
        mark(extensions, offset, flags);
        outcome.understood += usize::from(fate == TlvFate::Understood);
        outcome.unrecognized += usize::from(fate == TlvFate::Unrecognized);
        if fate == TlvFate::Malformed {
            outcome.malformed = true;
            return;
        }
    }
}

const fn is_known(kind: u8) -> bool {
    matches!(
        kind,
        kind::EXTRA_PADDING
            | kind::TIMESTAMP_INFORMATION
            | kind::CLASS_OF_SERVICE
            | kind::DIRECT_MEASUREMENT
            | kind::FOLLOW_UP_TELEMETRY
            | kind::HMAC
    )
}

/// Writes the answer to one TLV over its value.
fn answer(kind: u8, value: &mut [u8], context: &TlvContext, dscp: &mut Option<Dscp>) -> TlvFate {
    match kind {
        kind::EXTRA_PADDING => TlvFate::Understood,
        kind::TIMESTAMP_INFORMATION => timestamp_information(value, context),
        kind::CLASS_OF_SERVICE => class_of_service(value, context, dscp),
        kind::DIRECT_MEASUREMENT => direct_measurement(value, context),
        kind::FOLLOW_UP_TELEMETRY => follow_up_telemetry(value, context),
        // Verified before, and written anew afterwards.
        kind::HMAC => TlvFate::Understood,
        kind::PRIVATE_FIRST..=kind::PRIVATE_LAST if value.len() < VENDOR => TlvFate::Malformed,
        _ => TlvFate::Unrecognized,
    }
}

/// RFC 8972 section 4.3.
fn timestamp_information(value: &mut [u8], context: &TlvContext) -> TlvFate {
    let Some((fixed, within)) = value.split_first_chunk_mut() else { return TlvFate::Malformed };
    if let Some(Err(cut)) = Tlvs::new(within).last() {
        mark(within, cut.offset, Flags::MALFORMED.with(Flags::UNRECOGNIZED));
        return TlvFate::Malformed;
    }
    let Some(clock) = context.clock else { return TlvFate::Unrecognized };
    *fixed = clock.to_octets();
    let mut walk = Walk::new();
    while let Some(Ok(extent)) = walk.step(within) {
        mark(within, extent.offset, Flags::UNRECOGNIZED);
    }
    TlvFate::Understood
}

/// RFC 8972 section 4.4: the code point asked for is used if that is permitted, otherwise that of the request,
/// and RP says so.
fn class_of_service(value: &mut [u8], context: &TlvContext, dscp: &mut Option<Dscp>) -> TlvFate {
    let Ok(octets) = <&mut [u8; 4]>::try_from(value) else { return TlvFate::Malformed };
    let Some(arrival) = context.arrival else { return TlvFate::Unrecognized };
    let wanted = ClassOfService::from_octets(*octets).wanted;
    let permitted = context.permitted.contains(wanted);
    let reply = *dscp.get_or_insert(if permitted { wanted } else { arrival.dscp });
    let reverse_path = u8::from(!permitted || reply != wanted);
    *octets = ClassOfService { wanted, received: arrival.dscp, ecn: arrival.ecn, reverse_path }.to_octets();
    TlvFate::Understood
}

/// RFC 8972 section 4.5: the sender's count stays.
fn direct_measurement(value: &mut [u8], context: &TlvContext) -> TlvFate {
    let Ok(octets) = <&mut [u8; 12]>::try_from(value) else { return TlvFate::Malformed };
    let Some(counts) = context.in_profile else { return TlvFate::Unrecognized };
    let DirectMeasurement { sender_transmitted, .. } = DirectMeasurement::from_octets(*octets);
    *octets = DirectMeasurement {
        sender_transmitted,
        reflector_received: counts.received,
        reflector_transmitted: counts.transmitted,
    }
    .to_octets();
    TlvFate::Understood
}

/// RFC 8972 section 4.7: sequence number and timestamp are zero where the length is wrong, and where nothing is
/// known of an earlier reply.
fn follow_up_telemetry(value: &mut [u8], context: &TlvContext) -> TlvFate {
    let answer = context.follow_up.map_or_else(FollowUpTelemetry::default, |reply| FollowUpTelemetry {
        sequence: reply.sequence,
        timestamp: WireTime::from_unix_nanos(reply.departed_unix_nanos, context.format),
        method: reply.method,
    });
    if let Ok(octets) = <&mut [u8; 16]>::try_from(&mut *value) {
        *octets = answer.to_octets();
        return TlvFate::Understood;
    }
    value.iter_mut().take(12).for_each(|octet| *octet = 0);
    TlvFate::Malformed
}

#[cfg(test)]
#[path = "reflecting_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "reflecting_property_tests.rs"]
mod properties;
