//! Models of a measured path as processes in time, and the choice between them.
//!
//! A [`Series`] has one observation for each packet: when it departed, whether it was lost, and its delay. The models are processes of
//! time, not of packets, so they hold at other packet spacings than that of the observations.
//!
//! | module | model |
//! | --- | --- |
//! | `correlated` | delay: a law, and an Ornstein-Uhlenbeck process on its normal scores |
//! | `loss` | independent losses, or losses in bursts: a chain of two states in time |
//! | `regimes` | delay and loss together: a hidden Markov chain in time with 2 to 8 states |
//! | `bottleneck` | a rate with its queue, behind one of the models above as the waiting for cross-traffic |
//! | `choice` | the family that predicts held-out blocks of time best |
//!
//! Densities of delay are ratios to that of independent delays with the same law. The law itself is the empirical one, so it cancels
//! in each comparison. `scores` has the transformation.
//!
//! Intervals are those of maximum likelihood: by the profile for one parameter, by the observed information for several. The rate by sizes has
//! that of a test, and the ends of laws those of a posterior (`bottleneck`).
//!
//! All times are in seconds.
//!
//! ```
//! use romer_fit::{Observation, Series, choice};
//! let packet = |n: u32| Observation { at: f64::from(n) * 0.02, size: None, is_lost: n % 50 == 7, delay: Some(0.03) };
//! let series = Series::new((0..2_000).map(packet).collect());
//! let chosen = choice::choose(&series);
//! assert_eq!(chosen.delay.name(), "constant");
//! ```
#![forbid(unsafe_code)]

pub mod bottleneck;
pub mod choice;
pub mod correlated;
mod density;
pub mod loss;
mod optimum;
pub mod regimes;
mod scores;
mod series;

pub use scores::Scores;
pub use series::{Observation, Series};

/// A parameter with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The maximum-likelihood estimate.
    pub value: f64,
    /// 95 %; `None` where the observations do not bound it.
    pub interval: Option<[f64; 2]>,
}
