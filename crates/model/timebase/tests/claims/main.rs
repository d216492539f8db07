//! What the clocks claim, held against simulated truth, closed forms and each other.

mod at_once;
mod beside;
mod bounds;
mod calibration;
mod card;
mod chances;
mod coarse;
mod common;
mod ends;
mod hidden;
mod humps;
mod long_way;
mod numbers;
mod pauses;
mod pretended;
mod relate;
mod round_trip;
mod scenarios;
mod set_back;
mod set_in_pauses;
mod sizes;
mod skew;
mod soft;
mod steps;
mod unrest;
mod wander;
