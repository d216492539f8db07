//! The metrics of an emulator.

use std::sync::Arc;

use crate::registry::{Counter, Family, Gauge, Registry, Spec};

/// What happened to a packet. `Received + Duplicated = Transmitted + queued + Dropped`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketFate {
    /// It arrived at the port.
    Received,
    /// A copy of it was made.
    Duplicated,
    /// It, or a copy, left by the other port.
    Transmitted,
    /// It, or a copy, was lost.
    Dropped,
}

impl PacketFate {
    const fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Duplicated => "duplicated",
            Self::Transmitted => "transmitted",
            Self::Dropped => "dropped",
        }
    }
}

/// The metrics of an emulator.
#[derive(Debug)]
pub struct EmulatorMetrics {
    packets: Arc<Family<Counter, 3>>,
    queued: Family<Gauge, 1>,
}

impl EmulatorMetrics {
    /// Adds them to `registry`.
    pub fn new(registry: &Registry) -> Self {
        Self {
            packets: Arc::new(registry.counter(Spec {
                name: "romer_emulator_packets",
                help: "Packets by the port of their arrival. Received and duplicated are the sum of transmitted, dropped and queued.",
                labels: ["port", "fate", "cause"],
            })),
            queued: registry.gauge(Spec {
                name: "romer_emulator_queued_packets",
                help: "Packets and copies in the emulator, by the port of their arrival.",
                labels: ["port"],
            }),
        }
    }

    /// Those of packets that arrive at a port, `a` or `b`.
    pub fn port(&self, port: &str) -> PortMetrics {
        PortMetrics {
            port: port.to_owned(),
            packets: Arc::clone(&self.packets),
            queued: self.queued.with([port]),
        }
    }
}

/// The metrics of packets that arrive at one port.
#[derive(Debug)]
pub struct PortMetrics {
    port: String,
    packets: Arc<Family<Counter, 3>>,
    queued: Arc<Gauge>,
}

impl PortMetrics {
    /// Sets the total of packets with this fate; `cause` is empty but for dropped ones.
    pub fn set_packets(&self, fate: PacketFate, cause: &str, total: u64) {
        self.packets.with([&self.port, fate.name(), cause]).raise(total);
    }

    /// Sets the number of packets in the emulator.
    pub fn set_queued(&self, packets: u64) {
        #[expect(clippy::cast_precision_loss, reason = "memory bounds it far below 2^53")]
        self.queued.set(packets as f64);
    }
}
