//! A simulated network in which the truth of every metric is known: what the sender and the reflector log there is
//! joined, related and evaluated as in a real run, and every figure of the document must be the one that is computed
//! from what really happened.
//!
//! `ROMER_SCHEDULES` sets the number of worlds of each kind (250 by default). A failure names the seed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod figures;
mod unstamped;
mod world;

use std::collections::BTreeSet;

use romer_analyze::evaluate::evaluate;
use romer_record::assemble;
use romer_record::document::{DelayKind, Measurement, Traffic};
use romer_record::manifest::{ClockRelation, SkewRequest, StampRequest, Stream};
use romer_record::warning::MeasurementWarning;
use romer_units::random::Seed;

use figures::{Copy, SentPacket, Truth, summary_is};
use world::{Came, Probe, Reply, WAITING, World};

/// Whether a delay is beyond the waiting time.
fn is_late(delay: Option<i64>) -> bool {
    delay.is_some_and(|delay| delay > WAITING.as_nanos())
}

fn copies(came: &[Came], delay: impl Fn(&Came) -> Option<i64>) -> Vec<Copy> {
    let mut copies: Vec<Copy> =
        came.iter().map(|one| Copy { at: one.at, delay: delay(one), ttl: one.ttl, tos: one.tos }).collect();
    copies.sort_by_key(|copy| copy.at);
    copies
}

fn sent(world: &World) -> impl Iterator<Item = (u64, &Probe, i64)> {
    world.probes.iter().filter_map(|(sequence, probe)| Some((*sequence, probe, probe.left?)))
}

fn refused(world: &World) -> u64 {
    world.probes.values().filter(|probe| probe.left.is_none()).count() as u64
}

/// Replies that the responder's host refused.
fn not_replied(world: &World) -> u64 {
    let there = world.probes.values().flat_map(|probe| &probe.there);
    there.filter(|(_, reply)| reply.is_none()).count() as u64
}

/// The packets, with what the first copy of each took, whether that is stamped or not. On two clocks a delay is known above the
/// least one only, if any is: what is longer than the waiting time even so is late.
fn judged(packets: Vec<(SentPacket, Option<i64>)>, shared: bool) -> Vec<SentPacket> {
    let delays = |(packet, _): &(SentPacket, _)| packet.copies.iter().filter_map(|copy| copy.delay).min();
    let least = if shared { Some(0) } else { packets.iter().filter_map(delays).min() };
    let judge = |(packet, took): (SentPacket, Option<i64>)| {
        let late = is_late(took.zip(least).map(|(took, least)| took - least));
        SentPacket { late, ..packet }
    };
    packets.into_iter().map(judge).collect()
}

fn forward(world: &World, shared: bool) -> Truth {
    let packet = |(number, probe, left): (u64, &Probe, i64)| {
        let came: Vec<Came> = probe.there.iter().map(|(came, _)| came.clone()).collect();
        let copies = copies(&came, |one| probe.stamped.then_some(one.at - left));
        let took = copies.first().map(|copy| copy.at - left);
        let (departed, behind) = (probe.stamped.then_some(left), probe.stamped.then_some(left - probe.due));
        (SentPacket { number, departed, behind, copies, late: false }, took)
    };
    Truth {
        packets: judged(sent(world).map(packet).collect(), shared),
        refused: Some(refused(world)),
        variable: !shared,
        tos_sent: Some(world.tos >> 2),
        ecn_sent: Some(world.tos & 3),
    }
}

fn reverse(world: &World, shared: bool) -> Truth {
    let mut replies: Vec<&Reply> = Vec::new();
    let mut numbers = Vec::new();
    let mut further = 0;
    for (sequence, probe, _) in sent(world) {
        let own: Vec<&Reply> = probe.there.iter().filter_map(|(_, reply)| reply.as_ref()).collect();
        for place in 0..own.len() as u64 {
            further += u64::from(place > 0);
            numbers.push(sequence + further);
        }
        replies.extend(own);
    }
    replies.sort_by_key(|reply| if reply.stamped { reply.left } else { reply.told });
    let there = sent(world).flat_map(|(_, probe, _)| &probe.there);
    let points: BTreeSet<u8> = there.map(|(came, _)| came.tos >> 2).collect();
    let packet = |(reply, number): (&&Reply, &u64)| {
        let copies = copies(&reply.came, |one| reply.stamped.then_some(one.at - reply.left));
        let took = copies.first().map(|copy| copy.at - reply.left);
        let departed = reply.stamped.then_some(reply.left);
        (SentPacket { number: *number, departed, behind: None, copies, late: false }, took)
    };
    Truth {
        packets: judged(replies.iter().zip(&numbers).map(packet).collect(), shared),
        refused: Some(not_replied(world)),
        variable: !shared,
        // Its replies leave as their requests came: by one code point, if all of these did.
        tos_sent: (points.len() == 1).then(|| points.first().copied()).flatten(),
        ecn_sent: Some(0),
    }
}

fn round_trip(world: &World) -> Truth {
    let packet = |(number, probe, left): (u64, &Probe, i64)| {
        let mut copies: Vec<Copy> = Vec::new();
        // When each came, and how long it had lain at the reflector.
        let mut lay: Vec<(i64, i64)> = Vec::new();
        for (there, reply) in &probe.there {
            let Some(reply) = reply else { continue };
            lay.extend(reply.came.iter().map(|one| (one.at, reply.left - there.at)));
            let known = probe.stamped && reply.stamped;
            let own = |one: &Came| known.then_some(one.at - left - (reply.left - there.at));
            copies.extend(self::copies(&reply.came, own));
        }
        copies.sort_by_key(|copy| copy.at);
        let late = is_late(lay.iter().min().map(|(at, lay)| at - left - lay));
        let (departed, behind) = (probe.stamped.then_some(left), probe.stamped.then_some(left - probe.due));
        SentPacket { number, departed, behind, copies, late }
    };
    Truth {
        packets: sent(world).map(packet).collect(),
        refused: Some(refused(world)),
        variable: false,
        tos_sent: Some(world.tos >> 2),
        // What comes back are replies.
        ecn_sent: Some(0),
    }
}

fn manifest(world: &World, shared: bool) -> Stream {
    Stream {
        target: "simulated".into(),
        started: "2026-11-22T00:00:00Z".into(),
        ended: Some("2026-11-22T00:01:00Z".into()),
        traffic: Traffic {
            dscp: Some(world.tos >> 2),
            ecn: Some("ect0".into()),
            waiting_time_ns: WAITING.as_nanos(),
            ..Traffic::default()
        },
        clock_relation: if shared { ClockRelation::Shared } else { ClockRelation::Unknown },
        // In a short world more than half of the stamps of one kind may be missing.
        stamp_request: StampRequest::Kernel,
        // Its clocks differ by what the test wants to see.
        skew: SkewRequest { method: "none".into(), ..SkewRequest::default() },
        ..romer_testing::stream()
    }
}

fn reals(values: &[i64]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "microseconds")]
    values.iter().map(|value| *value as f64).collect()
}

fn check(world: &World, shared: bool, found: &Measurement) {
    forward(world, shared).is_told_by(&found.forward, "forward");
    reverse(world, shared).is_told_by(&found.reverse, "reverse");
    round_trip(world).is_told_by(&found.round_trip, "round trip");
    let kind = |delays: u64, kind| (delays > 0).then_some(kind);
    let one_way = if shared { DelayKind::Absolute } else { DelayKind::Variable };
    assert_eq!(found.forward.delay_kind, kind(found.forward.delay_ns.count, one_way));
    assert_eq!(found.reverse.delay_kind, kind(found.reverse.delay_ns.count, one_way));
    let errors = &found.location_error_ns;
    summary_is(&errors.sender.departure, &reals(&world.gaps.sender[0]), "location, sender's departure");
    summary_is(&errors.sender.arrival, &reals(&world.gaps.sender[1]), "location, sender's arrival");
    summary_is(&errors.responder.departure, &reals(&world.gaps.responder[0]), "location, reply's departure");
    summary_is(&errors.responder.arrival, &reals(&world.gaps.responder[1]), "location, probe's arrival");
    let missing = &found.stamps.missing;
    let unstamped = sent(world).filter(|(_, probe, _)| !probe.stamped).count() as u64;
    assert_eq!((missing.sender_departure, missing.sender_arrival), (unstamped, 0));
    let replies = sent(world).flat_map(|(_, probe, _)| &probe.there).filter_map(|(_, reply)| reply.as_ref());
    let unstamped = replies.filter(|reply| !reply.stamped).count() as u64;
    assert_eq!((missing.responder_departure, missing.responder_arrival), (unstamped, 0));
    if let Some([low, high]) = found.clock.offset_bounds_ns {
        let offset = (world.clocks[1].offset - world.clocks[0].offset).as_nanos();
        assert!(low <= offset && offset <= high, "{low} <= {offset} <= {high}");
    }
    let changed = |came: &Came, sent: u8| came.tos != sent;
    let there = sent(world).flat_map(|(_, probe, _)| &probe.there).any(|(came, _)| changed(came, world.tos));
    let said = found.warnings.iter().any(|warning| {
        use MeasurementWarning::{DscpRewritten, EcnRewritten};
        matches!(
            warning,
            DscpRewritten { direction: romer_record::document::ProbeDirection::Forward, .. }
                | EcnRewritten { direction: romer_record::document::ProbeDirection::Forward, .. }
        )
    });
    assert_eq!(said, there, "{:?}", found.warnings);
}

fn worlds(shared: bool) {
    let worlds: u32 = std::env::var("ROMER_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(250);
    for number in 0..worlds {
        let seed = Seed([0x7472, 0x7574, 0x68, u32::from(shared), 0, number]);
        let outcome = std::panic::catch_unwind(|| {
            let mut world = World::new(seed, shared);
            world.run();
            let evaluated = evaluate(&manifest(&world, shared), &assemble(&world.entries), false);
            check(&world, shared, &evaluated.measurement);
        });
        assert!(outcome.is_ok(), "the world of seed {seed} is told wrongly: the message stands above");
    }
}

#[test]
fn on_one_clock_every_figure_is_what_happened() {
    worlds(true);
}

#[test]
fn on_two_clocks_every_figure_is_what_happened_or_what_can_be_known_of_it() {
    worlds(false);
}
