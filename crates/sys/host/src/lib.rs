//! What romer asks of the operating system: clocks and pacing, UDP sockets whose packets are stamped by the
//! kernel, network namespaces and their links, and what there is to know about the host.
//!
//! This crate and its neighbours under `crates/sys` are the only ones with `unsafe`; it is kept to single system
//! calls, each with its reason beside it. Bytes that cross to and from the kernel (addresses, control messages)
//! are written and read by safe code over slices.
//!
//! Linux on 64-bit machines only.

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("romer-host knows the system interface of Linux on 64-bit machines only");

pub mod allocator;
pub mod bridge_port;
pub mod clock;
pub mod control_group;
pub mod descriptors;
pub mod ending;
mod error;
pub mod ethtool;
pub mod features;
pub mod flows;
pub mod host_info;
pub mod identity;
pub mod interrupts;
pub mod link;
mod netlink;
pub mod netns;
pub mod pacing;
pub mod phc;
pub mod poller;
pub mod process;
pub mod program;
pub mod queue;
pub mod raw_ipv4;
pub mod route;
mod scheduling;
pub mod service_manager;
pub mod shaper;
pub mod socket;
pub mod steal_monitor;
pub mod stream;
pub mod sync;
mod sys;
pub mod thread;
pub mod userns;
pub mod watch;
pub mod watchdog_process;
pub mod xdp;

pub use error::HostError;
