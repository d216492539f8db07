//! What a policer did with the frames of a trial, bucket by bucket.

use romer_method::TrialRequest;
use romer_method::analysis::{TrialTrace, policed};
use romer_method::policing::{self, Profile};
use romer_record::benchmark::{self, PolicedTotal};

use crate::numbers::to_u64;
use crate::options::BenchOptions;

/// What was found of one bucket.
type Bucket = (policing::PolicerVerdict, policing::TrialTotals);

/// What was found of all buckets.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicedBuckets {
    /// The one that the streams share which have none of their own.
    shared: Option<Bucket>,
    /// Those of the streams; none where no stream has one.
    of_streams: Vec<Option<Bucket>>,
}

impl PolicedBuckets {
    /// What these frames show, where a policer is judged.
    pub(crate) fn measure(options: &BenchOptions, ask: &TrialRequest, flight: &TrialTrace) -> Self {
        let has_own = options.streams.iter().any(|stream| stream.profile.is_some());
        if options.claims.profile.is_none() && !has_own {
            return Self::default();
        }
        let case = options.cases.get(ask.case).map_or("", |case| case.name.as_str());
        let conforming: Vec<_> =
            options.streams.iter().map(|stream| options.claims.conforming(case, stream.dscp)).collect();
        let frames = policed(flight, &conforming);
        let own = |stream: usize| options.streams.get(stream).and_then(|stream| stream.profile);
        let judged = |profile: &Profile, is_in: &dyn Fn(usize) -> bool| {
            let frames = frames.iter().filter(|(stream, _)| is_in(*stream)).map(|(_, frame)| *frame);
            let frames: Vec<_> = frames.collect();
            (policing::evaluate(profile, &frames), policing::trial_totals(profile, &frames))
        };
        let shares = |stream| own(stream).is_none();
        let shared = options.claims.profile.filter(|_| (0..options.streams.len()).any(shares));
        let of_stream = |number| own(number).map(|profile| judged(&profile, &|stream| stream == number));
        Self {
            shared: shared.map(|profile| judged(&profile, &shares)),
            of_streams: if has_own {
                (0..options.streams.len()).map(of_stream).collect()
            } else {
                Vec::new()
            },
        }
    }

    /// That of the bucket which streams share, for the document.
    pub(crate) fn shared(&self) -> Option<benchmark::Policed> {
        self.shared.map(document)
    }

    /// That of a stream's own, for the document.
    pub(crate) fn of_stream(&self, number: usize) -> Option<benchmark::Policed> {
        self.of_streams.get(number).copied().flatten().map(document)
    }
}

fn document((verdict, all): Bucket) -> benchmark::Policed {
    benchmark::Policed {
        conforming_passed: verdict.conforming_passed,
        conforming_stopped: verdict.conforming_stopped,
        excess_stopped: verdict.excess_stopped,
        excess_passed: verdict.excess_passed,
        at_boundary: verdict.at_boundary,
        at_boundary_stopped: verdict.at_boundary_stopped,
        total: Some(PolicedTotal {
            passed: to_u64(all.passed.round()),
            nominal: to_u64(all.nominal.round()),
            min_conforming_stopped: to_u64(all.missing.floor()),
            min_excess_passed: to_u64(all.beyond.floor()),
            boundary_frames: to_u64(all.edge),
            latency_range_ns: all.blur,
            fill_time_ns: i64::try_from(to_u64(all.fills_in)).unwrap_or(i64::MAX),
        }),
    }
}
