//! What both ends need to have programs of the kernel write time stamps into packets.

use romer_host::{HostError, host_info};
use romer_units::Duration;

use crate::EndpointError;

/// By how much the clock of international atomic time, which the programs read, is ahead of the real-time clock. It changes with a
/// leap second.
pub fn atomic_ahead() -> Duration {
    Duration::from_secs(host_info::clock_sync().map_or(0, |clock| i64::from(clock.tai_offset_s)))
}

/// Why no program is attached at `place`, with what to do.
pub fn refusal(place: impl Into<String>, source: HostError) -> EndpointError {
    EndpointError::host(
        "stamp packets in the kernel",
        place,
        match &source {
            error if error.is_permission() => {
                "it needs CAP_BPF and CAP_NET_ADMIN of the machine: run as root outside of containers, or omit in-packet time stamps"
            }
            HostError::Missing { .. } | HostError::Unsuitable(_) => {
                "choose an address of an interface, or omit in-packet time stamps"
            }
            _ => "it needs Linux 6.6 (tcx): update the kernel, or omit in-packet time stamps",
        },
        source,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel without tcx, and missing rights, are named with what to do.
    #[test]
    fn refusals_state_the_remedy() {
        for (errno, remedy) in [(1, "CAP_BPF and CAP_NET_ADMIN"), (22, "Linux 6.6")] {
            let source = std::io::Error::from_raw_os_error(errno);
            let error = HostError::System { operation: "attach a program", subject: String::new(), source };
            let text = refusal("eth0", error).to_string();
            assert!(text.contains("(eth0)") && text.contains(remedy), "{text}");
        }
    }
}
