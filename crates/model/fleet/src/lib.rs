//! A fleet: many hosts that measure each other by one plan, and the messages that they exchange with a NATS server.
//!
//! This crate has the types and the computations; it reads no file and opens no connection.
//!
//! - [`token`]: names that are valid in subjects, keys and message identifiers.
//! - [`time`]: minutes and days, by which rows are shipped and targets chosen.
//! - [`plan`]: the plan in TOML, and the plan of each agent that follows from it.
//! - [`diff`]: the difference of two plans.
//! - [`subjects`]: names of subjects, of the bucket and its keys, and message identifiers.
//! - [`rows`]: a packet row, the header of the rows of a minute, and the key by which rows are de-duplicated.
//! - [`sums`]: what a pair measured in a minute, which can be merged over time; [`sketch`]: its delays.
//! - [`messages`]: heartbeats and events.
//! - [`mesh_clock`]: clock offsets that agree with the bounds of all pairs.
#![forbid(unsafe_code)]

pub mod diff;
mod hash;
pub mod mesh_clock;
pub mod messages;
pub mod plan;
pub mod rows;
pub mod schema;
pub mod sketch;
pub mod subjects;
pub mod sums;
pub mod time;
pub mod token;

pub use plan::{AgentPlan, Plan};
pub use romer_scenario::ScenarioError as PlanTextError;
pub use time::{Day, Minute};
pub use token::{Token, TokenError};
