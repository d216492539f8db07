//! What the two ends of a flow have in common.

use crate::node::{Arrival, Outgoing};
use crate::soft_state::Moment;

/// An end of a flow: a [`Sender`](crate::Sender) or a [`Receiver`](crate::Receiver).
///
/// Call [`End::receive`] for each packet that arrives, [`End::expire`] at [`End::deadline`], and at the end [`End::stop`]. Times
/// must not decrease.
pub trait End {
    /// What it does.
    type Action;

    /// The time at which [`End::expire`] has something to do.
    fn deadline(&self) -> Option<Moment>;

    /// Does what is due at `now`.
    fn expire(&mut self, now: Moment) -> Vec<Self::Action>;

    /// Reads a packet. Messages of other flows have no effect.
    fn receive(&mut self, arrival: &Arrival<'_>, now: Moment) -> Vec<Self::Action>;

    /// Removes the state of the flow in the network. Afterwards nothing has an effect.
    fn stop(&mut self) -> Vec<Self::Action>;

    /// The packet that an action sends.
    ///
    /// # Errors
    /// The action, if it sends none.
    fn sent_packet(action: Self::Action) -> Result<Outgoing, Self::Action>;
}
