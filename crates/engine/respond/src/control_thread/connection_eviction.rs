//! Selects the connection without a session that is closed when a new connection finds no free slot.

use std::collections::HashMap;

use romer_session::network::ClientNetwork;
use romer_units::{Monotonic, Timestamp};

/// How far a connection has come, those first that make room first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// It has had no session yet.
    Asking,
    /// Its session is over, and its last words may not be written yet.
    Ending,
    /// It has a session, and never makes room here.
    Session,
}

/// A connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionPlace {
    pub(super) index: usize,
    pub(super) network: ClientNetwork,
    pub(super) begun: Timestamp<Monotonic>,
    pub(super) stage: Stage,
}

/// Whose places are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those of the newcomer's network.
    Own,
    /// Those of all.
    All,
}

/// The connection that is closed for one more of network `newcomer`: the oldest without a session, of its own network if that
/// is full, or of those networks that would have most of them with the newcomer.
pub(super) fn to_close(places: &[ConnectionPlace], newcomer: ClientNetwork, scope: Scope) -> Option<usize> {
    let pending = || places.iter().filter(|place| place.stage != Stage::Session);
    let mut counts = HashMap::<ClientNetwork, usize>::new();
    pending().for_each(|place| *counts.entry(place.network).or_default() += 1);
    if let Some(own) = counts.get_mut(&newcomer) {
        *own += 1;
    }
    let most = counts.values().max();
    let is_eligible = |place: &&ConnectionPlace| match scope {
        Scope::Own => place.network == newcomer,
        Scope::All => counts.get(&place.network) == most,
    };
    pending().filter(is_eligible).min_by_key(|place| (place.stage, place.begun)).map(|place| place.index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(number: u8) -> ClientNetwork {
        ClientNetwork::from_address([192, 0, number, 1].into())
    }

    /// Connections by network, seconds of their age, and stage.
    fn closed(connections: &[(u8, i64, Stage)], newcomer: u8, scope: Scope) -> Option<usize> {
        let places: Vec<ConnectionPlace> = (0..)
            .zip(connections)
            .map(|(index, &(of, age, stage))| ConnectionPlace {
                index,
                network: network(of),
                begun: Timestamp::from_nanos(-age * 1_000_000_000),
                stage,
            })
            .collect();
        to_close(&places, network(newcomer), scope)
    }

    use Stage::{Asking, Ending, Session};

    /// The oldest of the network with most makes room, whatever the ages elsewhere.
    #[test]
    fn largest_network_makes_room() {
        let held = [(1, 9, Asking), (2, 1, Asking), (2, 3, Asking), (2, 2, Asking)];
        assert_eq!(closed(&held, 3, Scope::All), Some(2));
        assert_eq!(closed(&held, 1, Scope::All), Some(2));
    }

    /// Sessions are not counted and never make room.
    #[test]
    fn sessions_stay() {
        let held = [(1, 9, Session), (1, 8, Session), (1, 1, Asking), (2, 3, Asking), (2, 2, Asking)];
        assert_eq!(closed(&held, 3, Scope::All), Some(3));
        assert_eq!(closed(&held, 1, Scope::Own), Some(2));
        assert_eq!(closed(&[(1, 9, Session)], 1, Scope::All), None);
    }

    /// A network at its own share closes its own oldest, though another has more.
    #[test]
    fn full_network_closes_its_own() {
        let held = [(2, 9, Asking), (2, 8, Asking), (2, 7, Asking), (1, 4, Asking), (1, 5, Asking)];
        assert_eq!(closed(&held, 1, Scope::Own), Some(4));
    }

    /// Of networks with as many, the newcomer counted, the oldest connection makes room.
    #[test]
    fn ties_go_by_age() {
        let held = [(1, 1, Asking), (2, 3, Asking), (3, 2, Asking)];
        assert_eq!(closed(&held, 4, Scope::All), Some(1));
        assert_eq!(closed(&held, 3, Scope::All), Some(2), "it would have two");
        assert_eq!(closed(&[(1, 1, Asking), (1, 2, Asking), (2, 3, Asking)], 2, Scope::All), Some(2));
    }

    /// Last words are cut off only where no other connection makes room.
    #[test]
    fn last_words_are_spared() {
        assert_eq!(closed(&[(1, 9, Ending), (1, 1, Asking)], 2, Scope::All), Some(1));
        assert_eq!(closed(&[(1, 8, Ending), (1, 9, Ending)], 1, Scope::Own), Some(1));
    }
}
