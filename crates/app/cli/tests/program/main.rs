//! The program as its users have it, between hosts of a laboratory: as root in namespaces of the machine, else in a
//! user namespace.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod analyze;
mod bench;
mod calibrating;
mod calls;
mod clocks;
mod closed_loop;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod confined;
mod demo;
mod directions;
mod dropped;
mod emulate;
mod ending;
mod events;
mod every;
mod exports;
mod fallback;
mod far_stamps;
mod flaps;
mod follow;
mod help;
mod hostile_files;
mod in_kernel;
mod itself;
mod lengths;
mod limits;
mod live;
mod loss;
mod marking;
mod measuring;
mod misbehaving;
mod model;
mod nat;
mod neighbours;
mod noise;
mod offline;
mod qtcp_files;
mod qtcp_live;
mod qtcp_reserve;
mod queue;
mod rates;
mod recorded;
mod refused;
mod route;
mod rsvp;
mod rsvp_router;
mod shaping;
mod standing_still;
mod streams;
mod targets;
mod threads;
mod traffic;
