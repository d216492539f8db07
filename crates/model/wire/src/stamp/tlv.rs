//! The extensions of a test packet: TLVs that follow its base (RFC 8972 section 4).
//!
//! | octets | field |
//! |---|---|
//! | 0 | flags: U, M, I, five of zero |
//! | 1 | type ([`kind`]) |
//! | 2, 3 | length of the value |
//! | 4 to ... | value |
//!
//! A packet has extensions where its datagram is longer than the base of its mode (section 4): they are its
//! octets from [`super::BASE`] or [`super::AUTHENTICATED_BASE`] on. [`Tlvs`] reads them, whatever they are; a
//! Session-Sender writes them with [`TlvWriter`] and reads those of a reply with [`Reflected`]; a
//! Session-Reflector answers them with [`reflect`] or [`reflect_over`].
//!
//! TWAMP-Light has padding in the same place. What consists of zeros alone is taken for that and returned
//! untouched, as RFC 8762 section 4.6 wants it; no sender of TLVs writes such octets, because it must set U
//! (section 4). Padding of other octets cannot be told from TLVs, and comes back with flags set in it.

mod reading;
mod reflecting;
mod reply;
mod values;
mod writer;

pub use reading::{Flags, HEADER, LIMIT, Malformed, Tlv, TlvError, Tlvs, kind};
pub use reflecting::{
    Arrival, DscpSet, FollowUp, InProfile, Integrity, IntegrityFault, TlvContext, TlvOutcome, reflect,
    reflect_over,
};
pub use reply::{Reflected, ReplyFault};
pub use values::{
    ClassOfService, DirectMeasurement, FollowUpTelemetry, SyncSource, TimestampInformation, TimestampMethod,
    Value,
};
pub use writer::TlvWriter;

#[cfg(test)]
#[path = "tlv/reading_tests.rs"]
mod tests;
