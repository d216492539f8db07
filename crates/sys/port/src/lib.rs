//! Ports: whole Ethernet frames taken from an interface and given to it, as the wire would see them, each with the
//! kernel's stamp of its arrival.
//!
//! * [`Arena`] holds all frames of a bridge; a [`Frame`] is a handle to one, and who has the handle owns the frame.
//! * [`Port`] is what a bridge needs of an interface; [`PacketPort`] is the implementation over packet sockets,
//!   [`XdpPort`] that over XDP sockets.
//! * [`TestSender`] and [`TestReceiver`] are the two ends of a traffic tester.
//! * [`HostGuard`] takes an interface over (offloads off, out of its bridge) and puts it back, also when this
//!   process is killed.
//!
//! A port changes nothing that outlives it: promiscuity goes with the socket, and the rest is put back by a
//! process of its own.

mod arena;
mod bpf;
mod bridge_port_number;
mod error;
mod features;
mod name;
mod offload;
mod packet;
mod packet_ring;
mod port;
mod restore_guard;
mod rings;
mod sys;
mod tester;
mod xdp;

pub use arena::{Arena, Slot};
pub use error::PortError;
pub use name::PortName;
pub use packet::PacketPort;
pub use port::{BURST, Frame, LinkState, Port, Received, Refusal, Sent};
pub use restore_guard::{HostGuard, HostGuards, NotRestored, TakenOver};
pub use romer_bpf::XdpMode;
pub use tester::{RawFrame, SNAP, Stopped, TESTER_BURST, TestReceiver, TestSender, TesterLink, query_link};
pub use xdp::XdpPort;
