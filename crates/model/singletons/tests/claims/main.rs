//! What singletons claim, compared with simulated truth.

mod bunches;
mod calibration;
mod in_packet;
mod numbers;
mod quick;
mod rejected;
mod relate;
mod set_back;
mod synchronised;
mod under_step;
mod unsent;
