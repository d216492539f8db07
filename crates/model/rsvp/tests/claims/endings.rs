//! Teardowns, timeouts and missing answers.

use romer_rsvp::{
    End, ReceiverAction, RefreshPeriod, RouterAction, RouterConfig, SenderAction, SenderConfig, lifetime,
};
use romer_units::Duration;

use crate::common::{Chain, PORT, RECEIVER, Seen, at, receiver_config, router_config, sender_config, source};

fn chain() -> Chain {
    let mut chain = Chain::new(router_config(16_000.0), receiver_config());
    let _ = chain.start(sender_config(PORT));
    assert_eq!(chain.router.reservations().count(), 1);
    chain
}

fn removes(seen: &Seen) -> usize {
    seen.router.iter().filter(|action| matches!(action, RouterAction::Remove(_))).count()
}

/// A sender that ends removes path and reservation on the whole path, at once.
#[test]
fn senders_tear_paths_down() {
    let mut chain = chain();
    let seen = chain.stop_sender(0);
    assert_eq!(seen.receiver, [ReceiverAction::PathTorn(source(PORT))]);
    assert_eq!(removes(&seen), 1);
    assert_eq!((chain.router.paths().count(), chain.receiver.requests().count()), (0, 0));
    assert_eq!(chain.senders[0].deadline(), None);
    assert_eq!(chain.stop_sender(0), Seen::default(), "an end has no second effect");
    chain.packets.clear();
    assert_eq!(chain.advance(at(1_000.0)), Seen::default());
    assert!(chain.packets.is_empty());
}

/// A receiver that ends removes the reservation, and the path state stays.
#[test]
fn receivers_tear_reservations_down() {
    let mut chain = chain();
    let seen = chain.stop_receiver();
    assert_eq!(seen.sender, [SenderAction::ReservationTorn]);
    assert_eq!(removes(&seen), 1);
    assert_eq!((chain.router.paths().count(), chain.router.reservations().count()), (1, 0));
    assert_eq!(chain.receiver.deadline(), None);
    let seen = chain.advance(at(1_000.0));
    assert_eq!(seen, Seen::default(), "a receiver that has ended answers no Path message");
}

/// A receiver that vanishes leaves a reservation for its lifetime, 157.5 s after its last refresh, and no longer.
#[test]
fn vanished_receivers_time_out() {
    let mut chain = chain();
    chain.receiver = romer_rsvp::Receiver::start(
        romer_rsvp::ReceiverConfig {
            session: romer_rsvp::Session::new(RECEIVER, 17, 9).unwrap(),
            ..receiver_config()
        },
        crate::common::SEED,
        at(0.0),
    )
    .unwrap();
    let seen = chain.advance(at(157.49));
    assert_eq!(removes(&seen), 0);
    let seen = chain.advance(at(157.5));
    assert_eq!(removes(&seen), 1);
    assert_eq!(seen.sender, [SenderAction::ReservationTorn], "the router tells its neighbour");
    assert_eq!(chain.router.paths().count(), 1);
}

/// A sender that vanishes leaves path and reservation for their lifetime, and no longer.
#[test]
fn vanished_senders_time_out() {
    let mut chain = chain();
    chain.senders.clear();
    let _ = chain.advance(at(157.49));
    assert_eq!((chain.router.paths().count(), chain.router.reservations().count()), (1, 1));
    let seen = chain.advance(at(157.5));
    assert_eq!((chain.router.paths().count(), removes(&seen)), (0, 1));
    assert_eq!(seen.receiver, [ReceiverAction::PathTorn(source(PORT))]);
}

/// A router that vanishes leaves the ends to their own timeouts.
#[test]
fn ends_time_out() {
    let mut chain = chain();
    chain.router =
        romer_rsvp::Router::new(RouterConfig { most_flows: 0, ..router_config(0.0) }, crate::common::SEED)
            .unwrap();
    let until = at(0.0) + lifetime(RefreshPeriod::DEFAULT);
    let seen = chain.advance(until - Duration::from_nanos(1));
    assert!(!seen.sender.contains(&SenderAction::ReservationExpired));
    assert!(!seen.receiver.contains(&ReceiverAction::PathExpired(source(PORT))));
    let seen = chain.advance(until);
    assert!(seen.sender.contains(&SenderAction::ReservationExpired));
    assert!(seen.receiver.contains(&ReceiverAction::PathExpired(source(PORT))));
    assert_eq!(chain.senders[0].reservation(), None);
}

/// Without an answer for 30 s each end says so once, and continues.
#[test]
fn missing_answers_are_reported() {
    let mut config = router_config(16_000.0);
    config.routes.clear();
    let mut chain = Chain::new(config, receiver_config());
    let seen = chain.start(sender_config(PORT));
    assert_eq!(seen.router.len(), 1, "there is no route: {:?}", seen.router);
    let seen = chain.advance(at(29.999));
    assert_eq!((seen.sender, seen.receiver), (vec![], vec![]));
    let seen = chain.advance(at(30.0));
    assert_eq!(
        (seen.sender, seen.receiver),
        (vec![SenderAction::NoReservation], vec![ReceiverAction::NoPath])
    );
    chain.packets.clear();
    let seen = chain.advance(at(600.0));
    assert_eq!((seen.sender, seen.receiver), (vec![], vec![]));
    assert!(chain.packets.len() > 10, "the sender continues");
    // With a route the flow is reserved at the next refresh.
    chain.router = romer_rsvp::Router::new(router_config(16_000.0), crate::common::SEED).unwrap();
    let seen = chain.advance(at(645.1));
    assert!(matches!(seen.sender[..], [SenderAction::Reserved(_)]));
}

/// A PathTear or ResvTear of another neighbour or flow has no effect.
#[test]
fn foreign_teardowns_have_no_effect() {
    let mut chain = chain();
    let mut other = Chain::new(router_config(16_000.0), receiver_config());
    let _ = other.start(SenderConfig { source: source(PORT + 1), ..sender_config(PORT) });
    let _ = other.stop_sender(0);
    let tear = other.packets.iter().rfind(|packet| packet.interface == 0).unwrap();
    assert!(matches!(chain.inject(0, &tear.octets).router[..], [RouterAction::Discarded(_)]));
    // The teardown that the router itself forwarded states the router as the previous hop.
    let _ = chain.stop_sender(0);
    let tear = chain.packets.last().unwrap().octets.clone();
    let mut again = self::chain();
    assert!(matches!(again.inject(0, &tear).router[..], [RouterAction::Discarded(_)]));
    assert_eq!(again.router.reservations().count(), 1);
}
