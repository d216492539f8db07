//! The emulator's engine: what becomes of a packet, and when it leaves.
//!
//! Packets come as handles (a slot, a length, a time, a port, a few headers) and come out as [`Outcome`]s: leaving at
//! a time, or lost for a cause. The engine has no clock and touches no octets; live ports, files and simulations drive
//! it alike. A caller does three things: [`Engine::admit`] for each arrival, in order; [`Engine::poll`] for what is
//! due; and it waits until [`Engine::next_at`] or the next arrival.
//!
//! | module | what |
//! | --- | --- |
//! | `config` | what is asked for |
//! | `engine` | both ports; flows; live changes |
//! | `pipeline` | the stages of one path, in order, and why in that order |
//! | `loss_model`, `chain` | yes or no; Markov chains |
//! | `distribution`, `special_functions` | distributions by inverse functions |
//! | `order` | distribution and order both exact: the proof is there |
//! | `delay_process` | delay as a function of time |
//! | `regimes` | one chain for all stages, as a function of time |
//! | `packet_store`, `server`, `timeline` | waiting; the rate with its queue; settings by time |
//! | `trace` | recorded networks |
//! | `ledger` | what became of everything |
//! | `generator`, `mrg` | chance |
//! | `goodness_of_fit` | whether chance is what it should be |
//!
//! Nothing is allocated by `admit` and `poll` as long as no more is held than [`Limits`] reserved. The exception is the first packet
//! after a long idle time of a chain by time, for which `chain` computes the laws of many transitions.
//!
//! ```
//! use romer_impair::{Config, Engine, Limits, Packet, PortId};
//! let mut engine = Engine::new(Config::default(), Limits::fixed(16), 0);
//! let packet = Packet::new(3, PortId::A, 64, 10);
//! assert_eq!(engine.admit(&packet).outcomes, 1);
//! let outcome = engine.poll(10).ok_or("due at once")?;
//! assert_eq!((outcome.slot, outcome.time, outcome.lost), (3, 10, None));
//! assert!(engine.ledger(PortId::A).balances());
//! # Ok::<(), &str>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(test)]
mod behaviour;
pub mod chain;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod claims;
pub mod config;
mod convert;
mod delay_process;
#[cfg(test)]
mod displacement;
mod distribution;
mod engine;
mod generator;
pub mod goodness_of_fit;
mod ledger;
mod loss_model;
pub mod mrg;
mod nanos;
mod order;
mod order_barrier;
mod packet;
mod packet_store;
mod pipeline;
pub mod regimes;
#[cfg(test)]
mod replay;
mod server;
mod special_functions;
mod timeline;
pub mod trace;

pub use config::{Config, Path};
pub use delay_process::DelayProcess;
pub use distribution::DelayDistribution;
pub use engine::{Admission, Engine, Limits};
pub use generator::Generator;
pub use ledger::Ledger;
pub use loss_model::Decision;
pub use nanos::Nanos;
pub use order::{Correlation, Spread};
pub use packet::{Cause, Corruption, Headers, MOST_BITS, Outcome, Packet, PortId};
pub use regimes::Regimes;
pub use special_functions::spearman_of_normal;
