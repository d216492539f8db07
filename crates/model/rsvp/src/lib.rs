//! The Resource Reservation Protocol (RFC 2205) with integrated services (RFC 2210, 2211, 2212, 2215): messages, and the state
//! machines of sender, receiver and router.
//!
//! It has unicast sessions of IPv4 and the fixed-filter style. Messages are in [`message`], their objects in [`object`]
//! ([`Session`], [`Hop`], [`Filter`] and others), [`Tspec`], [`Flowspec`] and [`Adspec`]. A [`Fault`] says why octets are no
//! message, and an [`ErrorCode`] what a node reports. [`Sender`] and [`Receiver`] (both an [`End`]) and [`Router`] take events with their
//! time and return actions; sockets and clocks are elsewhere. [`delay_bound`] is the bound of guaranteed service, and [`lifetime`] the
//! time after which state without refreshes ends.
//!
//! A sender and a receiver that are neighbours:
//!
//! ```
//! use core::net::Ipv4Addr;
//! use romer_rsvp::{
//!     Adspec, Arrival, End, Filter, Moment, PayloadTraffic, QosService, Receiver, ReceiverAction, ReceiverConfig,
//!     RefreshPeriod, Sender, SenderAction, SenderConfig, Session, Tspec,
//! };
//! use romer_units::{Duration, random::Seed};
//!
//! let (from, to) = (Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 19, 0, 2));
//! let session = Session::new(to, 17, 5003).unwrap();
//! let traffic =
//!     PayloadTraffic { payload: 64, rate: 3_000.0, bucket: 64.0, policed_unit: 64, packet_size: 64 };
//! let (seed, now, wait) = (Seed([1, 2, 3, 4, 5, 6]), Moment::from_nanos(0), Duration::from_secs(30));
//! let (mut sender, first) = Sender::start(
//!     SenderConfig {
//!         session,
//!         source: Filter::new(from, 5003).unwrap(),
//!         tspec: Tspec::prorated(&traffic).unwrap(),
//!         adspec: Some(Adspec::announce(1_500, &[QosService::ControlledLoad])),
//!         period: RefreshPeriod::DEFAULT,
//!         wait,
//!     },
//!     seed,
//!     now,
//! )
//! .unwrap();
//! let config = ReceiverConfig {
//!     session,
//!     address: to,
//!     service: None,
//!     confirm: false,
//!     mtu: 1_500,
//!     period: RefreshPeriod::DEFAULT,
//!     wait,
//! };
//! let mut receiver = Receiver::start(config, seed, now).unwrap();
//!
//! let [SenderAction::Send(path)] = &first[..] else { panic!() };
//! let answers = receiver.receive(&Arrival { interface: 0, ttl: path.ttl, octets: &path.octets }, now);
//! let [ReceiverAction::Path(report), ReceiverAction::Send(resv)] = &answers[..] else { panic!() };
//! assert_eq!(report.tspec.rate(), 4_312.5); // with the headers
//!
//! let reserved = sender.receive(&Arrival { interface: 0, ttl: resv.ttl, octets: &resv.octets }, now);
//! assert_eq!(reserved, [SenderAction::Reserved(report.flowspec)]);
//! ```
#![forbid(unsafe_code)]

mod adspec;
mod bytes;
mod delay_bound;
mod end;
mod error_code;
mod fault;
mod flowspec;
pub mod message;
mod node;
pub mod object;
mod parameters;
mod receiver;
mod router;
mod sender;
mod soft_state;
mod tspec;

pub use adspec::{Adspec, ErrorTerms, PathElement};
pub use delay_bound::delay_bound;
pub use end::End;
pub use error_code::ErrorCode;
pub use fault::{Fault, ParameterFault};
pub use flowspec::{Flowspec, QosService};
pub use message::{Message, Packet, Rejection};
pub use node::{Arrival, Discard, Outgoing, PROTOCOL, TTL};
pub use object::{ErrorSpec, Filter, Hop, RefreshPeriod, Session};
pub use receiver::{Breaks, MOST_SENDERS, PathReport, Receiver, ReceiverAction, ReceiverConfig};
pub use router::{FlowKey, Interface, Reservation, Router, RouterAction, RouterConfig};
pub use sender::{Sender, SenderAction, SenderConfig};
pub use soft_state::{K, Moment, lifetime};
pub use tspec::{HEADERS, PayloadTraffic, Tspec};
