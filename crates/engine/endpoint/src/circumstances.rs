//! What is to be known about this host before it measures.

use romer_host::host_info;
use romer_record::document::Metadata;
use romer_session::control::ClockIdentity;
use romer_units::Duration;
use romer_wire::stamp::tlv::{SyncSource, TimestampInformation, TimestampMethod};
use romer_wire::stamp::{ErrorEstimate, TimestampFormat};

use romer_record::SOFTWARE;

use crate::clock_sync::{clock_sync, sync_source};

/// The error that is stated for a clock whose own kernel does not know any (NTP's largest distance, RFC 5905).
const UNKNOWN_ERROR: Duration = Duration::from_secs(16);

/// By what another romer finds out that it reads the same clock.
pub fn clock_identity() -> ClockIdentity {
    ClockIdentity {
        boot_id: host_info::boot_id().unwrap_or_default(),
        realtime_minus_boottime_ns: romer_host::clock::realtime_minus_boottime().as_nanos(),
    }
}

/// How well the kernel holds its clock to be known, for the error estimate of a packet.
pub fn clock_error() -> ErrorEstimate {
    match host_info::clock_sync() {
        Ok(state) => {
            let error = if state.synchronised { state.maximum_error } else { UNKNOWN_ERROR };
            ErrorEstimate::at_least(error, state.synchronised, TimestampFormat::Ntp)
        }
        Err(_) => ErrorEstimate::at_least(UNKNOWN_ERROR, false, TimestampFormat::Ntp),
    }
}

/// How this clock is kept and its times are taken, for who asks a reflector (RFC 8972 section 4.3): the kernel states whether it is
/// synchronised, and its daemons by what.
pub fn clock_information(error: ErrorEstimate) -> TimestampInformation {
    let sync = if error.synchronized() { sync_source() } else { SyncSource::FREE_RUNNING };
    TimestampInformation {
        sync_in: sync,
        method_in: TimestampMethod::SOFTWARE,
        sync_out: sync,
        method_out: TimestampMethod::SOFTWARE,
    }
}

/// The circumstances of a measurement that leaves by `interface`.
pub fn metadata(interface: Option<&str>, comment: Option<String>, command: String) -> Metadata {
    Metadata {
        comment,
        host: host_info::host_name().unwrap_or_default(),
        kernel: host_info::kernel_release().unwrap_or_default(),
        nic_driver: interface.and_then(|name| host_info::interface_driver(name).ok().flatten()),
        clock_source: host_info::clock_source().ok(),
        clock_sync: clock_sync(),
        clock_sync_end: None,
        route: None,
        command,
        software: SOFTWARE.into(),
        responder_software: None,
        responder_clock_sync: None,
        responder_clock_sync_end: None,
    }
}

/// Secret octets from the kernel.
///
/// # Panics
/// If the kernel has no randomness, which no Linux since 3.17 is without once it has started.
pub fn random<const N: usize>() -> [u8; N] {
    let mut octets = [0; N];
    getrandom::fill(&mut octets).expect("the kernel gives randomness");
    octets
}
