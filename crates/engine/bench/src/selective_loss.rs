//! Sizes of frames, and streams, of which nothing, or next to nothing, comes out, although others do.

use std::collections::{BTreeMap, BTreeSet};

use romer_record::benchmark::{
    ClaimFinding, ClaimSubject, Expectation, Judgement, Observation, Reservation, SizeResult, StreamResult,
    Trial, TrialCount,
};

use crate::numbers::real;

/// Of a size that is dropped no more than this share comes, and of the others no more than it is lost.
const MAX_EXCEPTION_RATIO: f64 = 0.01;
/// At the loss ratio of the others as many would be lost by chance more seldom than so.
const CHANCE: f64 = 1e-6;
/// A load that is no lower than another is at least this share of it: whole frames make it a little lower or higher.
const NO_LOWER: f64 = 0.95;
/// A device that carries a size at a load does not lose all of it at up to so many times that load: under overload a device
/// carries less little by little.
const COLLAPSE: f64 = 2.0;
/// What comes loses no more than this share, where it is not for the load.
const HALF: f64 = 0.5;
/// A device that carries so many times what is offered has room for more.
const SPARE_CAPACITY_FACTOR: f64 = 1.25;
/// A trial that is shorter tells nothing by itself: the device may have been away for as long, nanoseconds.
const SHORT: i64 = 500_000_000;

/// What a device may drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What<'t> {
    /// Frames of so many octets.
    Size(u32),
    /// A stream that has a size of its own.
    SizeOfStream(u32, &'t str),
    /// A stream, whatever its size.
    Stream(&'t str),
}

/// What was lost of it, and in how many of its trials.
#[derive(Clone, Copy, Debug, Default)]
struct Dropped {
    offered: u64,
    came: u64,
    trials: usize,
}

impl Dropped {
    fn add(&mut self, offered: u64, came: u64) {
        self.offered += offered;
        self.came += came;
        self.trials += 1;
    }
}

/// The sizes that the device drops in the valid trials of a case, each with what came of it. A stream of which nothing comes while
/// others do is looked at in all that were tried, and in which the device was there: what the tester did to a trial it did not do to
/// one stream.
pub(crate) fn dropped(case: &str, trials: &[&Trial], tried: &[&Trial]) -> Vec<Judgement> {
    let mut found: BTreeMap<What<'_>, Dropped> = BTreeMap::new();
    for trial in trials
        .iter()
        .filter(|trial| is_dropped(trial, trials) || (trial.frame_size.is_some() && trial.size_lost))
    {
        let of = found.entry(What::Size(trial.frame_size.unwrap_or_default())).or_default();
        of.add(trial.offered.frames, trial.forwarded.frames);
    }
    let mut perhaps_full = BTreeSet::new();
    for trial in trials {
        let few = trial.per_stream.iter().flat_map(|stream| of_a_mixture(stream, true));
        let has_room = has_room(trial, few.map(load_of), trials);
        let rows = trial.per_stream.iter().flat_map(|stream| apart_in_a_mixture(stream, has_room));
        for row in rows.filter(|row| !may_be_load_of_a_row(row.min_octets, trial, trials)) {
            let came = row.offered - row.lost;
            if !has_room && at_one_load(trials) {
                perhaps_full.insert(What::Size(row.min_octets));
            }
            found.entry(What::Size(row.min_octets)).or_default().add(row.offered, came);
        }
    }
    for trial in tried {
        let streams = of_streams(trial, tried).into_iter();
        let streams = streams.filter(|(_, stream)| !may_be_its_load(&stream.name, trial, tried));
        for (what, stream) in streams {
            found.entry(what).or_default().add(stream.offered, stream.forwarded);
        }
    }
    let open = undecided(trials, &found);
    let judgement = |(what, of): (What<'_>, Dropped), open: Option<[u64; 2]>| {
        let trials = if matches!(what, What::Size(_)) { trials } else { tried };
        let (frame_size, subject) = match what {
            What::Size(size) => (Some(size), ClaimSubject::FrameSize { stream: None }),
            What::SizeOfStream(size, name) => {
                (Some(size), ClaimSubject::FrameSize { stream: Some(name.to_owned()) })
            }
            What::Stream(name) => (None, ClaimSubject::Stream { stream: name.to_owned() }),
        };
        let others =
            open.map(|[lost, of]| Reservation::OthersLost { loss_ratio: real(lost) / real(of.max(1)) });
        // What else may lose all of the long frames of a mixture, and none of the others: where these come at one load alone, and
        // nothing shows that the device has room for more, nobody can tell it from what drops them.
        let single = perhaps_full.contains(&what).then_some(Reservation::SingleLoad);
        let all = trials_of(what, trials) as u64;
        let finding = ClaimFinding::Received {
            received: of.came,
            sent: of.offered,
            trials: Some(TrialCount { observed: of.trials as u64, all }),
        };
        Judgement {
            case: case.into(),
            frame_size,
            mixture: None,
            subject,
            expected: Expectation::ForwardedLikeOthers,
            observed: Observation { finding, reservations: others.into_iter().chain(single).collect() },
            passed: if open.is_some() { None } else { Some(false) },
        }
    };
    let certain = found.into_iter().map(|of| judgement(of, None));
    certain.chain(open.into_iter().map(|(what, of, others)| judgement((what, of), Some(others)))).collect()
}

/// Whether all trials are at one load.
fn at_one_load(trials: &[&Trial]) -> bool {
    let loads = || trials.iter().map(|trial| trial.intended_load.percent);
    loads().fold(f64::INFINITY, f64::min) >= NO_LOWER * loads().fold(0.0, f64::max)
}

/// Streams, and sizes of mixtures, of which nothing comes in any valid trial of the case, that are not named for certain because of the
/// others too many are lost as well, at whose ratio these would not have been lost by chance; with what was lost of the others.
fn undecided<'t>(
    trials: &[&'t Trial],
    certain: &BTreeMap<What<'_>, Dropped>,
) -> Vec<(What<'t>, Dropped, [u64; 2])> {
    let mut all: BTreeMap<What<'t>, (Dropped, [u64; 2])> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| !is_judged(trial)) {
        let streams = trial.per_stream.iter().map(|one| (What::Stream(&one.name), [one.lost, one.offered]));
        add_up(streams.collect(), &mut all);
        let mut sizes: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
        let rows = trial.per_stream.iter().flat_map(|stream| &stream.per_size);
        for row in rows.filter(|row| row.min_octets == row.max_octets) {
            let [lost, offered] = sizes.entry(row.min_octets).or_default();
            (*lost, *offered) = (*lost + row.lost, *offered + row.offered);
        }
        add_up(sizes.into_iter().map(|(size, counts)| (What::Size(size), counts)).collect(), &mut all);
    }
    let is_certain = |what: &What<'_>| {
        certain.keys().any(|known| match (known, what) {
            (What::SizeOfStream(_, name), What::Stream(other)) => name == other,
            _ => known == what,
        })
    };
    let open = all.into_iter().filter(|(what, (of, others))| {
        of.came == 0
            && others[0] < others[1]
            && by_chance([of.offered; 2], *others) < CHANCE
            && !is_certain(what)
    });
    open.map(|(what, (of, others))| (what, of, others)).collect()
}

/// Adds what was lost, of so many, of each in a trial, and with it what was of those others that came.
fn add_up<'t>(each: Vec<(What<'t>, [u64; 2])>, all: &mut BTreeMap<What<'t>, (Dropped, [u64; 2])>) {
    let living = each.iter().filter(|(_, [lost, offered])| lost < offered);
    let others = living.fold([0, 0], |[a, b], (_, [lost, offered])| [a + lost, b + offered]);
    for (what, [lost, offered]) in each.into_iter().filter(|(_, [_, offered])| *offered > 0) {
        let (of, sum) = all.entry(what).or_default();
        of.add(offered, offered.saturating_sub(lost));
        *sum = [sum[0] + others[0], sum[1] + others[1]];
    }
}

/// Whether a policer or a scheduler is judged in a trial, which may be to stop a stream.
fn is_judged(trial: &Trial) -> bool {
    let is_judged = |one: &StreamResult| one.expected_l2_bps.is_some() || one.policed.is_some();
    trial.policed.is_some() || trial.per_stream.iter().any(is_judged)
}

/// How many of the trials have frames of this size, or this stream.
fn trials_of(what: What<'_>, trials: &[&Trial]) -> usize {
    let has = |one: &StreamResult, size| {
        one.per_size.iter().any(|row| [row.min_octets, row.max_octets] == [size; 2])
    };
    let with = trials.iter().filter(|trial| match what {
        What::Size(size) => {
            trial.frame_size == Some(size) || trial.per_stream.iter().any(|one| has(one, size))
        }
        What::SizeOfStream(size, name) => {
            trial.per_stream.iter().any(|one| one.name == name && own_size(one) == Some(size))
        }
        What::Stream(name) => trial.per_stream.iter().any(|one| one.name == name && one.offered > 0),
    });
    with.count()
}

/// Whether nothing or next to nothing came in this trial, all by the device's loss.
fn none_came(trial: &Trial) -> bool {
    let lost = trial.lost_by_device.map_or(trial.lost, |[least, _]| least);
    trial.offered.frames > 0 && real(lost) >= (1.0 - MAX_EXCEPTION_RATIO) * real(trial.offered.frames)
}

/// Whether next to all came.
fn passes(trial: &Trial) -> bool {
    trial.offered.frames > 0 && real(trial.lost) <= MAX_EXCEPTION_RATIO * real(trial.offered.frames)
}

/// Whether the device drops the size of this trial, of which next to nothing came: because nothing of it comes in any of the
/// case, while others come; or because another size passes at no lower load, and it is not the load.
fn is_dropped(trial: &Trial, trials: &[&Trial]) -> bool {
    let Some(size) = trial.frame_size.filter(|_| none_came(trial)) else { return false };
    let same = || trials.iter().filter(|other| other.frame_size == Some(size));
    let others = || trials.iter().filter(|other| other.frame_size != Some(size));
    if same().all(|other| other.forwarded.frames == 0) {
        return others().any(|other| other.forwarded.frames > 0);
    }
    let load = |trial: &Trial| trial.intended_load.percent;
    let mut passing = others().filter(|other| {
        let [lost, others] = [trial, other].map(|trial| [trial.lost, trial.offered.frames]);
        passes(other) && load(other) >= NO_LOWER * load(trial) && by_chance(lost, others) < CHANCE
    });
    passing.next().is_some() && (same().all(|other| none_came(other)) || !may_be_load(trial, trials))
}

/// Whether it may be for its load that nothing came in this trial of a size that comes in others: the size comes at far lower
/// loads only, and no other is forwarded at as many frames a second and bits a second. Of a short trial nobody knows.
fn may_be_load(trial: &Trial, trials: &[&Trial]) -> bool {
    let shows = |other: &&&Trial| {
        let [near, far] = [other, trial].map(|trial| trial.offered);
        if other.frame_size == trial.frame_size {
            !none_came(other) && near.pps * COLLAPSE >= far.pps
        } else {
            passes(other) && near.pps >= NO_LOWER * far.pps && near.bps >= NO_LOWER * far.bps
        }
    };
    trial.duration_ns < SHORT || trials.iter().find(shows).is_none()
}

/// Whether it may be for its load that nothing of a stream came in this trial: it comes in others, but at lower loads only. Of streams
/// that send evenly, a full device may lose one wholly and none of the others.
fn may_be_its_load(name: &str, trial: &Trial, tried: &[&Trial]) -> bool {
    comes_at_lower_loads_only(trial, tried, |other| {
        other.per_stream.iter().any(|stream| stream.name == name && stream.forwarded > 0)
    })
}

/// With which probability so many are lost, of so many, at the loss ratio of others, at the most (Chernoff).
fn by_chance([lost, of]: [u64; 2], [others_lost, others]: [u64; 2]) -> f64 {
    // One more lost than was seen: of few others little is known.
    let ratio = (real(others_lost) + 1.0) / (real(others) + 1.0);
    let offered = real(of);
    let share = real(lost.min(of)) / offered.max(1.0);
    if share <= ratio {
        return 1.0;
    }
    let part = |share: f64, of: f64| if share > 0.0 { share * (share / of).ln() } else { 0.0 };
    (-offered * (part(share, ratio) + part(1.0 - share, 1.0 - ratio))).exp()
}

/// The sizes of a stream in a trial of which no frame came; where the device has room for them, or next to none.
fn of_a_mixture(stream: &StreamResult, has_room: bool) -> impl Iterator<Item = &SizeResult> {
    let single = stream.per_size.iter().filter(|row| row.min_octets == row.max_octets && row.offered > 0);
    single.filter(move |row| !row_comes(row, has_room))
}

/// Whether something of a size came; where the device has room for it, more than next to nothing: when a trial begins, a device that is
/// full from then on takes some frames of any size.
fn row_comes(row: &SizeResult, has_room: bool) -> bool {
    let few = if has_room { MAX_EXCEPTION_RATIO } else { 0.0 };
    real(row.lost) < (1.0 - few) * real(row.offered)
}

/// Those of them that are apart from the sizes that come: a device that is full drops large frames sooner than small ones, and loses more
/// of the others.
fn apart_in_a_mixture(stream: &StreamResult, has_room: bool) -> impl Iterator<Item = &SizeResult> {
    let living = || stream.per_size.iter().filter(|row| row_comes(row, has_room));
    let others = [living().map(|row| row.lost).sum(), living().map(|row| row.offered).sum()];
    of_a_mixture(stream, has_room).filter(move |row| is_apart([row.lost, row.offered], others, has_room))
}

/// Whether it may be for its load that next to nothing of a size of a mixture came in this trial: it comes in others, but at lower loads
/// only.
fn may_be_load_of_a_row(octets: u32, trial: &Trial, trials: &[&Trial]) -> bool {
    let is_it = |row: &SizeResult| [row.min_octets, row.max_octets] == [octets; 2] && row_comes(row, true);
    comes_at_lower_loads_only(trial, trials, |other| {
        other.per_stream.iter().any(|stream| stream.per_size.iter().any(is_it))
    })
}

/// Whether what comes in these other trials does so at lower loads than this trial's only, and in one at least.
fn comes_at_lower_loads_only(trial: &Trial, trials: &[&Trial], comes: impl Fn(&Trial) -> bool) -> bool {
    let load = |trial: &Trial| trial.intended_load.percent;
    let is_lower = |other: &&Trial| load(other) < NO_LOWER * load(trial);
    let mut others = trials.iter().filter(|other| comes(other)).peekable();
    others.peek().is_some() && others.all(is_lower)
}

/// Frames of a size, and their bits.
fn load_of(row: &SizeResult) -> [f64; 2] {
    [real(row.offered), real(row.offered) * f64::from(row.min_octets) * 8.0]
}

/// Whether the device has room for such frames and bits that do not come in a trial: it carries far more in another than all the rest
/// of this one, in frames and in bits, and the rest does not fill it. What is lost then is not for the load, however the device queues
/// and whatever it prefers.
fn has_room(trial: &Trial, dropped: impl Iterator<Item = [f64; 2]>, trials: &[&Trial]) -> bool {
    let [frames, bits] = dropped.fold([0.0; 2], |[a, b], [frames, bits]| [a + frames, b + bits]);
    let length = real(trial.duration_ns.unsigned_abs()) / 1e9;
    let rest = [trial.offered.pps - frames / length, trial.offered.bps - bits / length];
    let shows_room = |other: &Trial| {
        other.invalid.is_none()
            // What a buffer takes is a larger part of a shorter trial.
            && other.duration_ns >= trial.duration_ns
            && other.forwarded.pps >= SPARE_CAPACITY_FACTOR * rest[0]
            && other.forwarded.bps >= SPARE_CAPACITY_FACTOR * rest[1]
    };
    trial.invalid.is_none() && trials.iter().any(|other| shows_room(other))
}

/// Whether of others nearly all came, or where the device has room most, and those that were lost, of so many, were not by chance.
fn is_apart(lost: [u64; 2], others: [u64; 2], has_room: bool) -> bool {
    let [others_lost, all] = others.map(real);
    let most = if has_room { HALF } else { MAX_EXCEPTION_RATIO };
    others_lost <= most * all && by_chance(lost, others) < CHANCE
}

/// Octets of a stream's frames, where they have one size.
fn own_size(stream: &StreamResult) -> Option<u32> {
    let octets = stream.frame_octets.filter(|_| stream.per_size.is_empty())?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "octets of a frame")]
    let whole = octets.round() as u32;
    Some(whole)
}

/// The streams of a trial of which no frame came, although nearly all of the others did, or those that were lost are not for the load: a class that is starved leaves a device
/// full, which loses more of the others. Where none of a stream's size came, but others, it is the size. Where a policer or a
/// scheduler is judged, a stream may be stopped as it is to be.
fn of_streams<'t>(trial: &'t Trial, tried: &[&Trial]) -> Vec<(What<'t>, &'t StreamResult)> {
    let judged = is_judged(trial);
    let streams = trial.per_stream.iter().filter(|_| !judged);
    let sized: Vec<(Option<u32>, &'t StreamResult)> =
        streams.map(|stream| (own_size(stream), stream)).collect();
    let dead = sized.iter().filter(|(_, stream)| stream.forwarded == 0).map(|(_, stream)| {
        let frames = real(stream.offered);
        [frames, frames * stream.frame_octets.unwrap_or_default() * 8.0]
    });
    let has_room = has_room(trial, dead, tried);
    let is_apart_from = |stream: &StreamResult, others: &[&(Option<u32>, &StreamResult)]| {
        let sum = |of: fn(&StreamResult) -> u64| others.iter().map(|(_, one)| of(one)).sum::<u64>();
        is_apart([stream.lost, stream.offered], [sum(|one| one.lost), sum(|one| one.offered)], has_room)
    };
    let what = |one: &(Option<u32>, &'t StreamResult)| {
        let (size, stream) = *one;
        if stream.offered == 0 || stream.forwarded > 0 {
            return None;
        }
        // Others that are dropped likewise say nothing of it.
        let living: Vec<_> = sized.iter().filter(|(_, other)| other.forwarded > 0).collect();
        let is_size = living.iter().all(|(other, _)| *other != size);
        let name = stream.name.as_str();
        let what = size.filter(|_| is_size).map_or(What::Stream(name), |size| What::SizeOfStream(size, name));
        is_apart_from(stream, &living).then_some(what)
    };
    sized.iter().filter_map(|one| Some((what(one)?, one.1))).collect()
}
