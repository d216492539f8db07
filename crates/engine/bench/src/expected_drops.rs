//! Streams that the device is to drop, as a filter that lets only some protocols pass.

use std::borrow::Cow;

use romer_record::benchmark::{ClaimFinding, ClaimSubject, Expectation, Judgement, StreamResult, Trial};

use crate::options::BenchOptions;
use crate::trial::to_carry;

/// Whether each stream of a case that is to be dropped is. What came of it breaks the claim in any trial that was `tried`; that nothing
/// came counts in `valid` ones only, in which the tester did not miss it.
pub(crate) fn expected_drops(
    options: &BenchOptions,
    case: &str,
    valid: &[&Trial],
    tried: &[&Trial],
) -> Vec<Judgement> {
    let of = |trials: &[&Trial], name: &str, count: fn(&StreamResult) -> u64| {
        let streams = trials.iter().flat_map(|trial| &trial.per_stream).filter(|stream| stream.name == name);
        streams.map(count).sum::<u64>()
    };
    let names = options.streams.iter().filter(|stream| stream.expect_drop).map(|stream| &stream.name);
    // What no trial has tested is told by itself.
    let judged = names.filter(|_| !valid.is_empty()).map(|name| {
        let came = of(tried, name, |stream| stream.forwarded);
        let offered = of(if came > 0 { tried } else { valid }, name, |stream| stream.offered);
        let (found, holds) = match (came, offered) {
            (0, 0) => (ClaimFinding::NoFrameSent, None),
            (received, sent) => {
                (ClaimFinding::Received { received, sent, trials: None }, Some(received == 0))
            }
        };
        Judgement {
            case: case.into(),
            frame_size: None,
            mixture: None,
            subject: ClaimSubject::Stream { stream: name.clone() },
            expected: Expectation::Dropped,
            observed: found.into(),
            passed: holds,
        }
    });
    judged.collect()
}

/// The trials without the streams that the device is to drop.
pub(crate) fn to_be_carried<'t>(trials: &[&'t Trial]) -> Vec<Cow<'t, Trial>> {
    let without = |trial: &&'t Trial| {
        if !trial.per_stream.iter().any(|stream| stream.expect_drop) {
            return Cow::Borrowed(*trial);
        }
        let mut rest = (*trial).clone();
        rest.offered.frames = to_carry(trial);
        rest.per_stream.retain(|stream| !stream.expect_drop);
        Cow::Owned(rest)
    };
    trials.iter().map(without).collect()
}
