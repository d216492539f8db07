//! One-way delays of synchronised clocks are absolute to within the stated bound, unless the time stamps contradict it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use romer_record::document::{DelayKind, ProbeDirection, Synchronisation};
use romer_record::event::EventLocation;
use romer_record::manifest::{ClockRelation, SkewRequest, StampRequest};
use romer_record::warning::{MeasurementWarning, SynchronisationContradiction, SynchronisationLoss};
use romer_record::{RoundTrip, Stamps};
use romer_singletons::{Corrected, ResponderLog, Selection, correct_clocks, relate};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Clock, Duration, Timestamp};

const MS: i64 = 1_000_000;
const START: i64 = 1_700_000_000_000 * MS;
const PACKETS: u64 = 2_000;
const INTERVAL: i64 = 20 * MS;
/// The least delay of each direction.
const LEAST: [i64; 2] = [30 * MS, 20 * MS];

fn stamps<C: Clock>(at: i64) -> Stamps<C> {
    let at = Some(Timestamp::from_nanos(at));
    Stamps { user: at, kernel: at, ..Stamps::default() }
}

/// The true delays forward and in reverse: a constant and a queue.
fn delays(sequence: u64) -> [i64; 2] {
    [0, 1].map(|way: u32| {
        let wait = -(1.0 - RandomStream::new(Seed([7, 1, 2, 3, 4, 5]), [way, 0]).unit(sequence)).ln();
        #[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
        let wait = (wait * 1e6) as i64;
        LEAST[usize::try_from(way).unwrap()] + wait
    })
}

/// Round trips where the responder's clock is `ahead` by so much at each moment after the start.
fn corrected(ahead: impl Fn(i64) -> i64, stated: Synchronisation) -> Corrected {
    let rows: Vec<RoundTrip> = (0..PACKETS)
        .map(|sequence| {
            let left = i64::try_from(sequence).unwrap() * INTERVAL;
            let [forward, reverse] = delays(sequence);
            let came = left + forward;
            RoundTrip {
                way: ProbeDirection::RoundTrip,
                sequence,
                seen_by_responder: true,
                returned: true,
                t1: stamps(START + left),
                t2: stamps(START + came + ahead(came)),
                t3: stamps(START + came + MS / 10 + ahead(came)),
                t4: stamps(START + came + MS / 10 + reverse),
                ..RoundTrip::default()
            }
        })
        .collect();
    let selection = Selection::choose(&rows, StampRequest::Kernel, true);
    let waiting = Duration::from_secs(2);
    let related = relate(&rows, &selection, ClockRelation::Unknown, waiting, ResponderLog::Complete);
    correct_clocks(related, &SkewRequest { synchronisation: Some(stated), ..SkewRequest::default() })
}

/// The largest error of the one-way delays.
fn error(corrected: &Corrected) -> i64 {
    let related = &corrected.related;
    assert_eq!((related.forward.len(), related.reverse.len()), (2_000, 2_000));
    let of = |way: usize| {
        let singletons = [&related.forward, &related.reverse][way];
        let errors = singletons
            .iter()
            .map(move |one| one.delay.unwrap().as_nanos().abs_diff(delays(one.sequence)[way]));
        errors.max().unwrap()
    };
    i64::try_from(of(0).max(of(1))).unwrap()
}

/// A clock that wanders within the bound, and one with a known offset: absolute delays are off by no more than the bound.
#[test]
fn delays_are_within_the_bound() {
    for offset in [0, 50 * MS, -400 * MS] {
        let stated = Synchronisation::by_user(MS, offset);
        let found =
            corrected(|at| offset + if at / (10_000 * MS) % 2 == 0 { MS / 2 } else { -MS / 2 }, stated);
        assert_eq!(found.warnings, [], "{offset}");
        let (related, worst) = (&found.related, error(&found));
        assert_eq!((related.delay_kind, &related.clock.method[..]), (DelayKind::Absolute, "synchronised"));
        assert!(
            related.clock.delay_error_ns == Some(1e6) && (400_000..=1_000_000).contains(&worst),
            "{worst}"
        );
        let [low, high] = related.clock.offset_bounds_ns.unwrap();
        assert!(low >= offset - MS && high <= offset + MS && low <= offset && offset <= high, "{low} {high}");
    }
}

/// A stated offset that is wrong by more than a direction takes, a rate, and nothing else, contradict a bound; then delays are as they
/// would be without the statement.
#[test]
fn time_stamps_can_contradict_the_bound() {
    let stated = Synchronisation::by_user(MS, 0);
    let contradiction = |found: &Corrected| {
        let all = found.warnings.iter().filter_map(|warning| match warning {
            MeasurementWarning::SynchronisationContradicted { bound_ns, contradiction } => {
                Some((*bound_ns, *contradiction))
            }
            _ => None,
        });
        let all: Vec<_> = all.collect();
        let [(1_000_000, contradiction)] = all[..] else { panic!("{:?}", found.warnings) };
        assert_eq!(found.related.delay_kind, DelayKind::Variable);
        assert_eq!(found.related.clock.synchronisation, Some(stated));
        assert!(!found.related.clock.is_synchronised());
        contradiction
    };
    // A host lost its source, after which its bound holds no more, whatever the stamps show.
    let lost = SynchronisationLoss { location: EventLocation::Responder, at_ns: 12_000 * MS };
    let found = corrected(|_| 0, Synchronisation { lost: Some(lost), ..stated });
    assert_eq!(found.related.delay_kind, DelayKind::Variable);
    let contradiction_of_loss = MeasurementWarning::SynchronisationContradicted {
        bound_ns: MS,
        contradiction: SynchronisationContradiction::Lost(lost),
    };
    assert!(found.warnings.contains(&contradiction_of_loss), "{:?}", found.warnings);
    // 50 ms ahead, a packet in reverse arrives some 30 ms before it leaves.
    let found = contradiction(&corrected(|_| 50 * MS, stated));
    let SynchronisationContradiction::ArrivalBeforeDeparture { direction, max_ns } = found else {
        panic!("{found:?}")
    };
    assert!(direction == ProbeDirection::Reverse && (max_ns - 30 * MS).abs() < MS, "{found:?}");
    // 200 ppm for 40 s are 8 ms, and two clocks that are right to within 1 ms together move by 2 ms at the most.
    let found = contradiction(&corrected(|at| at / 5_000, stated));
    let SynchronisationContradiction::OffsetMoved { movement_ns } = found else { panic!("{found:?}") };
    assert!((movement_ns - 8 * MS).abs() < MS / 2, "{found:?}");
    // Of 5 ms either is allowed.
    let found = corrected(|at| at / 5_000, Synchronisation::by_user(5 * MS, 0));
    assert_eq!((found.related.delay_kind, &found.warnings[..]), (DelayKind::Absolute, &[][..]));
}
