//! What is certain of a way there that keeps no order, or copies: by when each probe left, and the waiting time.

use romer_record::{Fate, OneWaySingleton};
use romer_units::Duration;

use super::{Count, ProbeEvent, ReplyNumbers, is_missing, lost_reply, nanos, walk};

/// A reply that came.
struct Reply {
    place: i64,
    /// Not before this moment was the reply made, and not after that.
    made: [i64; 2],
    from: usize,
}

/// Numbers that are missing, and between which moments they were given.
struct Span {
    made: [i64; 2],
    /// How many; `None` where that is not known.
    lost: Option<u64>,
    /// The reply behind it; the number of replies at the end.
    before: usize,
    /// It is one with the span before it.
    joined: bool,
    /// So many missing probes may have been answered in it.
    touching: u64,
}

/// Spans that are one, and the probes that may have been answered there.
#[derive(Default)]
struct Cluster {
    missing: u64,
    /// Numbers that were lost for certain.
    lost: u64,
    /// Of some of its spans it is not known how many numbers were given in them.
    unknown: bool,
    /// So many missing probes may have been answered in those at the most.
    most_unknown: u64,
    fate: Option<Fate>,
}

impl Cluster {
    /// Whether the numbers that are missing in it were lost. Without `copies` on the way there each is of a missing probe.
    fn tells(&self, copies: u64) -> bool {
        !self.unknown || copies > 0 || self.lost <= self.missing
    }
}

/// For a way there that keeps no order, or copies: by what is certain when a probe takes the waiting time at the most.
/// `None` where that makes no sense.
pub(super) fn within(
    forward: &mut [OneWaySingleton],
    replies: &mut Vec<OneWaySingleton>,
    count: &Count,
    waiting: Duration,
) -> Option<ReplyNumbers> {
    let came = by_number(forward, replies, count)?;
    let (answered, runs) = missing_spans(forward, waiting);
    let mut spans = spans(&came, count, &answered);
    let touched = |spans: &[Span], [from, until]: [i64; 2]| {
        let first = spans.partition_point(|span| span.made[1] < from);
        first..spans.partition_point(|span| span.made[0] <= until).max(first)
    };
    // The probes come in the order of their departures: what one has joined the next need not.
    let mut joined = 0;
    for probe in &answered {
        let range = touched(&spans, probe.made);
        let new = range.start.saturating_add(1).max(joined).min(range.end);
        spans[new..range.end].iter_mut().for_each(|span| span.joined = true);
        joined = joined.max(range.end);
        spans[range].iter_mut().for_each(|span| span.touching += 1);
    }
    let mut cluster_of = Vec::with_capacity(spans.len());
    let mut clusters: Vec<Cluster> = Vec::new();
    for span in &spans {
        if !span.joined {
            clusters.push(Cluster::default());
        }
        cluster_of.push(clusters.len() - 1);
    }
    let found: Vec<Option<usize>> = answered
        .iter()
        .map(|span| touched(&spans, span.made).next().map(|place| cluster_of[place]))
        .collect();
    found.iter().flatten().for_each(|cluster| clusters[*cluster].missing += 1);
    for (span, cluster) in spans.iter_mut().zip(&cluster_of) {
        let cluster = &mut clusters[*cluster];
        // All replies of a count that begins anew unseen were made within the span.
        let reply = came.get(span.before).filter(|_| span.before > 0);
        let hides = reply.is_some_and(|reply| count.may_hide_restart(span.touching, reply.place));
        span.lost = span.lost.filter(|_| !hides);
        cluster.lost += span.lost.unwrap_or(0);
        if span.lost.is_none() {
            cluster.unknown = true;
            cluster.most_unknown += span.touching;
        }
    }
    let excess: u64 = clusters
        .iter()
        .filter(|cluster| cluster.tells(count.copies))
        .map(|cluster| cluster.lost.saturating_sub(cluster.missing))
        .sum();
    // Where a fifth of the replies is lost, half as many copies show one number as show both.
    if excess > count.copies.div_ceil(2) {
        return None;
    }
    let mut told = ReplyNumbers { overtaken: !count.in_order, ..ReplyNumbers::counted(count) };
    for cluster in &mut clusters {
        if cluster.unknown && cluster.tells(count.copies) {
            let answered = cluster.lost.saturating_add(cluster.most_unknown);
            told.leave_but(cluster.missing, cluster.lost, cluster.missing.saturating_sub(answered));
        } else if cluster.unknown {
            told.leave(cluster.missing);
        } else if cluster.lost > 0 {
            cluster.fate = told.attribute(cluster.missing, cluster.lost);
        }
    }
    for ((span, run), found) in answered.iter().zip(runs).zip(found) {
        let fate = match found {
            Some(cluster) => clusters[cluster].fate,
            None => {
                let next = came.partition_point(|reply| reply.made[1] < span.made[0]);
                let hides =
                    next > 0 && came.get(next).is_some_and(|reply| count.may_hide_restart(run, reply.place));
                if hides {
                    told.leave(1);
                    None
                } else {
                    told.attribute(1, 0)
                }
            }
        };
        if let Some(fate) = fate {
            forward[span.at].fate = fate;
        }
    }
    let lost = spans.iter().zip(&cluster_of).filter(|(_, cluster)| clusters[**cluster].tells(count.copies));
    let lost = lost.filter_map(|(span, _)| Some((span.before, span.lost?)));
    *replies = put_together(replies, &came, &lost.collect::<Vec<_>>());
    Some(told)
}

/// A missing probe's singleton, and between which moments it was answered, if it was.
struct Answered {
    at: usize,
    made: [i64; 2],
}

/// The missing probes, and for each how many are missing in a row.
fn missing_spans(forward: &[OneWaySingleton], waiting: Duration) -> (Vec<Answered>, Vec<u64>) {
    let (mut answered, mut runs) = (Vec::new(), Vec::new());
    let mut left = i64::MIN;
    let mut at = 0;
    for run in forward.chunk_by(|a, b| is_missing(a) == is_missing(b)) {
        for singleton in run {
            let departure = nanos(singleton.departure);
            left = departure.unwrap_or(left);
            if is_missing(singleton) {
                // Of one that left at no known moment it is not known until when.
                let until = departure.map_or(i64::MAX, |left| left.saturating_add(waiting.as_nanos()));
                answered.push(Answered { at, made: [left, until] });
                runs.push(run.len() as u64);
            }
            at += 1;
        }
    }
    (answered, runs)
}

/// The replies in the order of their numbers; `None` where two probes have one.
fn by_number(forward: &[OneWaySingleton], replies: &[OneWaySingleton], count: &Count) -> Option<Vec<Reply>> {
    let mut came = Vec::with_capacity(count.places.len());
    walk(forward, replies, |step| {
        if let ProbeEvent::Reply { from, sent, back, .. } = step {
            let made = [sent.unwrap_or(i64::MIN), back.unwrap_or(i64::MAX)];
            came.push(Reply { place: count.places[came.len()], made, from });
        }
    });
    came.sort_by_key(|reply| reply.place);
    if came.windows(2).any(|pair| pair[0].place == pair[1].place) {
        return None;
    }
    // A reply was made after those with lower numbers, and before those with higher ones.
    let (mut earliest, mut latest) = (i64::MIN, i64::MAX);
    for reply in &mut came {
        earliest = earliest.max(reply.made[0]);
        reply.made[0] = earliest;
    }
    for reply in came.iter_mut().rev() {
        latest = latest.min(reply.made[1]);
        reply.made[1] = latest;
    }
    Some(came)
}

fn spans(came: &[Reply], count: &Count, missing: &[Answered]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut add = |made, lost, before| {
        if lost != Some(0) {
            spans.push(Span { made, lost, before, joined: false, touching: 0 });
        }
    };
    if let Some(first) = came.first() {
        let earlier = missing.partition_point(|span| span.made[0] <= first.made[1]) as u64;
        // A session that is new to the reflector counts from 0.
        let begins = u64::try_from(first.place).ok().filter(|lost| *lost <= earlier);
        add([i64::MIN, first.made[1]], begins, 0);
    }
    for (pair, before) in came.windows(2).zip(1..) {
        let lost = count.between(pair[0].place, pair[1].place);
        add([pair[0].made[0], pair[1].made[1]], lost, before);
    }
    if let Some(last) = came.last() {
        add([last.made[0], i64::MAX], None, came.len());
    }
    spans
}

/// The replies in the order of their numbers with the `lost` ones before those at a place, under rising numbers that are
/// those of the probes where they can be.
fn put_together(replies: &[OneWaySingleton], came: &[Reply], lost: &[(usize, u64)]) -> Vec<OneWaySingleton> {
    let more = lost.iter().map(|(_, lost)| usize::try_from(*lost).unwrap_or(0)).sum::<usize>();
    let mut whole: Vec<OneWaySingleton> = Vec::with_capacity(replies.len() + more);
    let mut lost = lost.iter().peekable();
    let mut numbers = replies.iter().filter(|reply| reply.copy == 0).map(|reply| reply.sequence);
    let mut next = 0;
    for (place, reply) in came.iter().enumerate() {
        let these = &replies[reply.from..];
        while let Some((_, number)) = lost.next_if(|(before, _)| *before == place) {
            for _ in 0..*number {
                whole.push(lost_reply(next, these[0].size));
                next += 1;
            }
        }
        let sequence = numbers.next().map_or(next, |number| number.max(next));
        let copies = these[1..].iter().take_while(|copy| copy.copy > 0).count();
        whole.extend(these[..=copies].iter().map(|one| OneWaySingleton { sequence, ..*one }));
        next = sequence + 1;
    }
    whole
}
