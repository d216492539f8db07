//! Test hosts in network namespaces of this machine.
//!
//! Three laboratories can be put up. The **path** has two hosts and between them a place for an emulator, where a
//! bridge passes everything on until an emulator takes its two ports over:
//!
//! ```text
//! XA/t0 --- XE/e0 (br0) XE/e1 --- XB/t1
//! ```
//!
//! The **router** has two hosts and between them a router of this machine's kernel:
//!
//! ```text
//! XA/t0 --- XR/r0  XR/r1 --- XB/t1
//! ```
//!
//! The **chain** is a path with places for several emulators, for networks in series:
//!
//! ```text
//! XA/t0 --- XE1/e0 (br0) XE1/e1 --- XE2/e0 (br0) XE2/e1 --- XB/t1
//! ```
//!
//! The router can be in several states ([`case`]), and reserve bandwidth by RSVP ([`rsvp_router`]).
//!
//! `X` is the prefix. With the rights for it the namespaces are named ones of this machine, as `ip netns` shows
//! them. Without, they live in a user namespace that a process of the laboratory holds; programs get inside by
//! [`Lab::command`].
//!
//! Two laboratories of different prefixes do not know of each other. What was begun and then killed is noted in a
//! state file before it is made, so that the next [`Lab::up`] or [`Lab::down`] clears it away; what the state file
//! does not name is never touched.
//!
//! ```
//! use romer_lab::{DEFAULT_PREFIX, Host, Topology};
//!
//! let far = Host::find("B", Topology::Router, DEFAULT_PREFIX)?;
//! assert_eq!(far.namespace(DEFAULT_PREFIX), "romerB");
//! let endpoint = Topology::Router.endpoint(far).expect("B is an end");
//! assert_eq!((endpoint.port.name, endpoint.v4.to_string()), ("t1", "198.19.0.2".to_owned()));
//! # Ok::<(), romer_lab::LabError>(())
//! ```
#![forbid(unsafe_code)]

mod build;
pub mod case;
mod error;
mod guard;
mod holder;
mod lab;
mod reserved_classes;
pub mod rsvp_router;
mod state;
mod topology;

pub use error::LabError;
pub use guard::{GUARD_ARGUMENT, LabGuard, Running, guard_main};
pub use holder::{HOLDER_ARGUMENT, holder_main};
pub use lab::{Lab, Mode, Status};
pub use topology::{DEFAULT_PREFIX, Endpoint, Host, LabPort, MOST_EMULATORS, SETTLE, Topology};
