//! A responder's clock that is set while a probe is under way.

use romer_clock::skew::{InTurn, continuous, correct, state};
use romer_record::OneWaySingleton;
use romer_record::manifest::SkewRequest;
use romer_units::Direction;
use romer_units::random::{RandomStream, Seed};

use crate::common::singleton;

/// The delay error does not contain the step: replies in order of the responder's stamps, which repeat after a step back of
/// 100 ms, have other numbers than their probes. Without the present place of the step among the candidates it was 100 ms.
#[test]
fn step_back_is_no_delay_error() {
    let random = RandomStream::new(Seed([18, 0, 0, 0, 0, 0]), [1, 0]);
    let mut forward: Vec<OneWaySingleton> = Vec::new();
    let mut replies = Vec::new();
    for n in 0..6_000_u32 {
        #[expect(clippy::cast_possible_truncation, reason = "within seconds")]
        let queue =
            |place: u32, mean: f64| (-mean * (1.0 - random.unit(u64::from(2 * n + place))).ln()) as i64;
        let sent = i64::from(n) * 20_000_000;
        let received = sent + 20_000_000 + queue(0, 0.4e6);
        let replied = received + 50_000;
        let by_responder = |at: i64| if at >= 60_000_000_000 { at - 100_000_000 } else { at };
        forward.push(singleton(u64::from(n), sent, by_responder(received)));
        replies.push((by_responder(replied), replied + 20_000_000 + queue(1, 1.1e6)));
    }
    replies.sort_unstable();
    let reverse =
        replies.into_iter().zip(0..).map(|((sent, received), n)| singleton(n, sent, received)).collect();
    let request = SkewRequest::default();
    let mut found = continuous(&request, [forward, reverse], &InTurn);
    let mut least = [None; 2];
    for ((heading, singletons), least) in
        Direction::BOTH.into_iter().zip(&mut found.singletons).zip(&mut least)
    {
        *least = correct(singletons, heading, &found.estimate, &InTurn);
    }
    let [forward, reverse] = &found.singletons;
    let (clock, _) = state(&request, &found.estimate, forward, reverse, least);
    assert!(clock.delay_error_ns.unwrap() < 100e3, "{clock:?}");
}
