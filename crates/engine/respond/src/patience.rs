//! How long the stamps of departures are waited for.

use romer_units::Duration;

/// A stamp takes microseconds from the departure on; where a packet has left, or a driver gives none, it never takes longer.
const STAMPED: Duration = Duration::from_millis(200);
/// So long may a packet wait for its departure, and its stamp with it: while nobody knows the hardware address of the host or
/// router that it goes to, the kernel keeps it. It asks three times, a second apart (`mcast_solicit` and `retrans_time_ms` of
/// `net.ipv4.neigh`), and drops what it kept a second after the last.
const QUEUED: Duration = Duration::from_millis(3_200);
/// A network card's stamp of the last departures, once a session has ended.
pub(super) const CARD: Duration = Duration::from_millis(50);

/// How long the stamps of one socket are waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    met: bool,
}

impl Patience {
    /// A stamp has come: here they do.
    pub(super) const fn meet(&mut self) {
        self.met = true;
    }

    /// For a packet of which it `is_over`: a later one has left by the same way, or nobody will hear of it any more.
    pub(super) const fn limit(self, is_over: bool) -> Duration {
        if self.met && !is_over { QUEUED } else { STAMPED }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_stamps_come_a_packet_that_may_be_kept_is_waited_for() {
        let mut patience = Patience::default();
        assert_eq!(patience.limit(false), STAMPED, "nobody knows whether there are any");
        patience.meet();
        assert_eq!([patience.limit(false), patience.limit(true)], [QUEUED, STAMPED]);
    }
}
