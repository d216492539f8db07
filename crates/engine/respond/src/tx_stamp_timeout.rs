//! How long to wait for the transmit time stamps of a socket.

use romer_units::Duration;

/// A stamp takes microseconds from the departure on; where a packet has left, or a driver gives none, it never takes longer.
const STAMP_TIMEOUT: Duration = Duration::from_millis(200);
/// So long may a packet wait for its departure, and its stamp with it: while nobody knows the hardware address of the host or
/// router that it goes to, the kernel keeps it. It asks three times, a second apart (`mcast_solicit` and `retrans_time_ms` of
/// `net.ipv4.neigh`), and drops what it kept a second after the last.
const QUEUED_STAMP_TIMEOUT: Duration = Duration::from_millis(3_200);
/// A network card's stamp of the last departures, once a session has ended.
pub(super) const NIC_STAMP_TIMEOUT: Duration = Duration::from_millis(50);

/// The timeout for transmit time stamps of one socket.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StampTimeout {
    met: bool,
}

impl StampTimeout {
    /// A stamp has come: here they do.
    pub(super) const fn meet(&mut self) {
        self.met = true;
    }

    /// For a packet of which it `is_over`: a later one has left by the same way, or nobody will hear of it any more.
    pub(super) const fn limit(self, is_over: bool) -> Duration {
        if self.met && !is_over { QUEUED_STAMP_TIMEOUT } else { STAMP_TIMEOUT }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The long timeout applies only if the socket has delivered stamps and the packet may still be queued.
    #[test]
    fn long_timeout_needs_stamps() {
        let mut patience = StampTimeout::default();
        assert_eq!(patience.limit(false), STAMP_TIMEOUT, "nobody knows whether there are any");
        patience.meet();
        assert_eq!([patience.limit(false), patience.limit(true)], [QUEUED_STAMP_TIMEOUT, STAMP_TIMEOUT]);
    }
}
