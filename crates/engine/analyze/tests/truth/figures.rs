//! Every figure of a direction, computed from what really happened, by the definitions read naively and by nothing
//! that the program uses.

use std::collections::BTreeMap;

use romer_record::document::{DirectionResults, Histogram, Summary};

/// One arrival of a packet, times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) at: i64,
    pub(crate) delay: Option<i64>,
    pub(crate) ttl: u8,
    pub(crate) tos: u8,
}

/// One packet that was sent in a direction.
#[derive(Clone, Debug)]
pub(crate) struct SentPacket {
    pub(crate) number: u64,
    pub(crate) departed: Option<i64>,
    /// How long after it was due it left.
    pub(crate) behind: Option<i64>,
    /// In order of arrival.
    pub(crate) copies: Vec<Copy>,
    /// It came, but after the waiting time.
    pub(crate) late: bool,
}

impl SentPacket {
    fn first(&self) -> Option<&Copy> {
        self.copies.first().filter(|_| !self.late)
    }
}

/// What one direction's figures must be.
pub(crate) struct Truth {
    /// In order of number.
    pub(crate) packets: Vec<SentPacket>,
    pub(crate) refused: Option<u64>,
    /// Whether the delays are known from their least value on only.
    pub(crate) variable: bool,
    pub(crate) tos_sent: Option<u8>,
    pub(crate) ecn_sent: Option<u8>,
}

pub(crate) fn same(found: Option<f64>, truth: Option<f64>, what: &str) {
    let close = match (found, truth) {
        (Some(found), Some(truth)) => (found - truth).abs() <= 1e-6 + truth.abs() * 1e-9,
        (found, truth) => found == truth,
    };
    assert!(close, "{what}: the document says {found:?}, and the truth is {truth:?}");
}

#[expect(clippy::cast_precision_loss, reason = "the simulated times are far below 2^53")]
fn real(value: i64) -> f64 {
    value as f64
}

fn reals(values: &[i64]) -> Vec<f64> {
    values.iter().map(|value| real(*value)).collect()
}

/// A summary against the sample that it must be of.
pub(crate) fn summary_is(found: &Summary, sample: &[f64], what: &str) {
    assert_eq!(found.count, sample.len() as u64, "{what}: {found:?} of {sample:?}");
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = real(i64::try_from(sorted.len()).unwrap());
    let at = |p: f64| {
        let place = p * (n - 1.0);
        let mut below = 0;
        while real(i64::try_from(below + 1).unwrap()) <= place {
            below += 1;
        }
        let part = place - real(i64::try_from(below).unwrap());
        let low = *sorted.get(below)?;
        Some(low + part * (sorted.get(below + 1).unwrap_or(&low) - low))
    };
    let mean = (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / n);
    let squares = mean.map(|mean| sorted.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>());
    let stddev = squares.filter(|_| sorted.len() > 1).map(|squares| (squares / (n - 1.0)).sqrt());
    same(found.min, sorted.first().copied(), &format!("{what}.min"));
    same(found.max, sorted.last().copied(), &format!("{what}.max"));
    same(found.mean, mean, &format!("{what}.mean"));
    let close = found.stddev.zip(stddev).is_none_or(|(found, truth)| (found - truth).abs() <= 1e-3);
    assert!(close && found.stddev.is_some() == stddev.is_some(), "{what}.stddev: {found:?}, {stddev:?}");
    for (p, found) in [
        (0.25, found.p25),
        (0.5, found.median),
        (0.75, found.p75),
        (0.9, found.p90),
        (0.95, found.p95),
        (0.99, found.p99),
        (0.999, found.p99_9),
    ] {
        same(found, at(p), &format!("{what}, quantile {p}"));
    }
    same(found.iqr, at(0.75).zip(at(0.25)).map(|(high, low)| high - low), &format!("{what}.iqr"));
    let holds = |interval: Option<[f64; 2]>, value: Option<f64>| {
        interval.zip(value).is_none_or(|([low, high], value)| low <= value && value <= high)
    };
    assert!(
        holds(found.mean_interval, found.mean) && holds(found.median_interval, found.median),
        "{what}: {found:?}"
    );
}

fn histogram_is(found: &Histogram, sample: &[i64], what: &str) {
    let edges = &found.bin_edges_ns;
    assert_eq!(found.counts.iter().sum::<u64>(), sample.len() as u64, "{what}");
    assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{what}: {edges:?}");
    for (bin, count) in found.counts.iter().enumerate() {
        let last = bin + 1 == found.counts.len();
        let inside = |value: &&i64| {
            edges[bin] <= **value && (**value < edges[bin + 1] || (last && **value == edges[bin + 1]))
        };
        assert_eq!(*count, sample.iter().filter(inside).count() as u64, "{what}, bin {bin}");
    }
}

fn gaps(mut times: Vec<i64>) -> Vec<i64> {
    times.sort_unstable();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

impl Truth {
    fn arrived(&self) -> Vec<(&SentPacket, Copy)> {
        self.packets.iter().filter_map(|packet| Some((packet, *packet.first()?))).collect()
    }

    /// The packets that arrived in time, in order of arrival.
    fn by_arrival(&self) -> Vec<(&SentPacket, Copy)> {
        let mut arrived = self.arrived();
        arrived.sort_by_key(|(packet, copy)| (copy.at, packet.number));
        arrived
    }

    /// What the delays have above this is what the document can tell.
    fn base(&self) -> i64 {
        let all = self.packets.iter().flat_map(|packet| &packet.copies).filter_map(|copy| copy.delay);
        if self.variable { all.min().unwrap_or(0) } else { 0 }
    }

    /// The delay of each packet that arrived in time, where all its stamps are there.
    fn delays(&self) -> Vec<i64> {
        self.arrived().iter().filter_map(|(_, copy)| copy.delay).map(|delay| delay - self.base()).collect()
    }

    /// Delays of neighbours by number.
    fn neighbours(&self) -> Vec<(i64, i64)> {
        let by_number: BTreeMap<u64, Copy> =
            self.arrived().into_iter().map(|(packet, copy)| (packet.number, copy)).collect();
        let pairs = by_number.iter().filter_map(|(number, copy)| Some((copy, by_number.get(&(number + 1))?)));
        pairs.filter_map(|(first, second)| Some((first.delay?, second.delay?))).collect()
    }

    /// Chadda 2004's second method over packets of consecutive numbers.
    fn second_method(&self) -> Vec<i64> {
        let at: BTreeMap<u64, i64> =
            self.arrived().into_iter().map(|(packet, copy)| (packet.number, copy.at)).collect();
        let of = |number: &u64| {
            let (a, b, c) = (at[number], at.get(&(number + 1))?, at.get(&(number + 2))?);
            Some(((c - b).abs() - (b - a).abs()).abs())
        };
        at.keys().filter_map(of).collect()
    }

    /// The extent of each reordered packet, in order of arrival.
    fn extents(&self) -> Vec<u64> {
        let order: Vec<u64> = self.by_arrival().iter().map(|(packet, _)| packet.number).collect();
        let earliest = |place: usize| order[..place].iter().position(|before| *before > order[place]);
        let extents = (0..order.len()).filter_map(|place| Some(place - earliest(place)?));
        extents.map(|extent| extent as u64).collect()
    }

    /// Asserts that `found` is what happened.
    pub(crate) fn is_told_by(&self, found: &DirectionResults, way: &str) {
        self.counts(found, way);
        self.times(found, way);
        self.jitters(found, way);
        self.seen(found, way);
    }

    fn counts(&self, found: &DirectionResults, way: &str) {
        let (sent, arrived) = (self.packets.len() as u64, self.arrived().len() as u64);
        let packets = &found.packets;
        assert_eq!((packets.sent, packets.received), (Some(sent), Some(arrived)), "{way}");
        let gone = sent - arrived;
        assert_eq!(
            (packets.lost, packets.instrument_drops, packets.in_flight),
            (Some(gone), None, None),
            "{way}"
        );
        let by_cause: u64 = found.loss.causes.iter().map(|one| one.count).sum();
        assert_eq!(by_cause, gone, "{way}: {:?}", found.loss.causes);
        let further = |packet: &SentPacket| packet.copies.len().saturating_sub(1) as u64;
        assert_eq!(packets.duplicated, Some(self.packets.iter().map(further).sum()), "{way}");
        let late = self.packets.iter().filter(|packet| packet.late).count() as u64;
        assert_eq!(packets.late, (!self.variable || late > 0).then_some(late), "{way}");
        assert_eq!((packets.not_sent, packets.corrupted), (self.refused, None), "{way}");
        let lost: Vec<bool> = self.packets.iter().map(|packet| packet.first().is_none()).collect();
        let places: Vec<usize> = (0..lost.len()).filter(|place| lost[*place]).collect();
        let distances: Vec<u64> = places.windows(2).map(|pair| (pair[1] - pair[0]) as u64).collect();
        assert_eq!(found.loss.distances, distances, "{way}");
        let periods: Vec<u64> =
            lost.chunk_by(|a, b| a == b).filter(|run| run[0]).map(|run| run.len() as u64).collect();
        assert_eq!(found.loss.periods, periods, "{way}");
        let share = |part: u64, of: u64| (of > 0).then(|| real(part.cast_signed()) / real(of.cast_signed()));
        same(found.loss.ratio, share(gone, sent), &format!("{way}: loss"));
        let extents = self.extents();
        assert_eq!(found.packets.reordered, Some(extents.len() as u64), "{way}");
        same(found.reordering.ratio, share(extents.len() as u64, arrived), &format!("{way}: reordering"));
        assert_eq!(found.reordering.extents, extents, "{way}");
    }

    fn times(&self, found: &DirectionResults, way: &str) {
        let delays = self.delays();
        summary_is(&found.delay_ns, &reals(&delays), &format!("{way}: delay"));
        histogram_is(&found.histograms.delay, &delays, &format!("{way}: delay"));
        let least = delays.iter().min().copied().unwrap_or(0);
        let above: Vec<i64> = delays.iter().map(|delay| delay - least).collect();
        summary_is(&found.pdv_ns, &reals(&above), &format!("{way}: pdv"));
        let ipdv: Vec<i64> = self.neighbours().iter().map(|(first, second)| second - first).collect();
        summary_is(&found.ipdv_ns, &reals(&ipdv), &format!("{way}: ipdv"));
        let departures = gaps(self.packets.iter().filter_map(|packet| packet.departed).collect());
        summary_is(&found.inter_departure_ns, &reals(&departures), &format!("{way}: inter-departure"));
        histogram_is(&found.histograms.inter_departure, &departures, &format!("{way}: inter-departure"));
        let arrivals = gaps(self.arrived().iter().map(|(_, copy)| copy.at).collect());
        summary_is(&found.inter_arrival_ns, &reals(&arrivals), &format!("{way}: inter-arrival"));
        histogram_is(&found.histograms.inter_arrival, &arrivals, &format!("{way}: inter-arrival"));
        let behind: Vec<i64> = self.packets.iter().filter_map(|packet| packet.behind).collect();
        let told = found.departure_error_ns.clone().unwrap_or_default();
        summary_is(&told, &reals(&behind), &format!("{way}: departure error"));
        let spacing = |packet: &SentPacket| {
            let first = packet.copies.first().map_or(0, |copy| copy.at);
            packet.copies.iter().skip(1).map(move |copy| copy.at - first).collect::<Vec<_>>()
        };
        let spacings: Vec<i64> = self.packets.iter().flat_map(spacing).collect();
        summary_is(&found.duplicates.spacing_ns, &reals(&spacings), &format!("{way}: duplicate spacing"));
    }

    fn jitters(&self, found: &DirectionResults, way: &str) {
        let delays = reals(&self.delays());
        let span = delays.iter().copied().reduce(f64::max).zip(delays.iter().copied().reduce(f64::min));
        let one: Vec<f64> = span.map(|(most, least)| most - least).into_iter().collect();
        let jitter = &found.jitter_ns;
        summary_is(&jitter.peak_to_peak, &one, &format!("{way}: method 1"));
        let two = reals(&self.second_method());
        summary_is(&jitter.inter_arrival_difference, &two, &format!("{way}: method 2"));
        let times: Vec<i64> = self.by_arrival().iter().map(|(_, copy)| copy.at).collect();
        let in_order: Vec<i64> =
            times.windows(3).map(|t| ((t[2] - t[1]).abs() - (t[1] - t[0]).abs()).abs()).collect();
        match &jitter.inter_arrival_difference_in_order_of_arrival {
            Some(told) => summary_is(told, &reals(&in_order), &format!("{way}: method 2 by arrival")),
            None => assert!(self.extents().is_empty(), "{way}: reordered, and not told"),
        }
        let three: Vec<i64> =
            self.neighbours().iter().map(|(first, second)| (second - first).abs()).collect();
        summary_is(&jitter.delay_difference, &reals(&three), &format!("{way}: method 3"));
        histogram_is(&found.histograms.jitter, &three, &format!("{way}: method 3"));
        let mean = delays.iter().sum::<f64>() / real(i64::try_from(delays.len().max(1)).unwrap());
        let four: Vec<f64> = delays.iter().map(|delay| (delay - mean).abs()).collect();
        summary_is(&jitter.deviation_from_mean, &four, &format!("{way}: method 4"));
        let transits: Vec<f64> =
            self.by_arrival().iter().filter_map(|(_, copy)| copy.delay).map(real).collect();
        let mut estimate = 0.0;
        for pair in transits.windows(2) {
            estimate += ((pair[1] - pair[0]).abs() - estimate) / 16.0;
        }
        same(jitter.rfc3550, (transits.len() > 1).then_some(estimate), &format!("{way}: RFC 3550"));
    }

    fn seen(&self, found: &DirectionResults, way: &str) {
        let order = self.by_arrival();
        let ttl = || order.iter().map(|(_, copy)| copy.ttl);
        assert_eq!((found.ttl.min, found.ttl.max), (ttl().min(), ttl().max()), "{way}");
        let mut sent = order.clone();
        sent.sort_by_key(|(packet, _)| packet.number);
        let changed = sent.windows(2).filter(|pair| pair[0].1.ttl != pair[1].1.ttl);
        let changed: Vec<_> = changed.map(|pair| (pair[1].0.number, pair[0].1.ttl, pair[1].1.ttl)).collect();
        let told: Vec<_> = found.ttl.changes.iter().map(|one| (one.sequence, one.from, one.to)).collect();
        assert_eq!(told, changed, "{way}");
        let (mut dscp, mut ecn) = (BTreeMap::new(), BTreeMap::new());
        for (_, copy) in &order {
            let names = [(0, "cs0"), (8, "cs1"), (46, "ef")];
            let (_, name) = names.iter().find(|(value, _)| *value == copy.tos >> 2).unwrap();
            *dscp.entry((*name).to_owned()).or_default() += 1;
            let name = ["not-ect", "ect1", "ect0", "ce"][usize::from(copy.tos & 3)];
            *ecn.entry(name.to_owned()).or_default() += 1;
        }
        assert_eq!((&found.dscp.received, found.dscp.sent), (&dscp, self.tos_sent), "{way}");
        let name = |bits: u8| ["not-ect", "ect1", "ect0", "ce"][usize::from(bits)].to_owned();
        assert_eq!((&found.ecn.received, &found.ecn.sent), (&ecn, &self.ecn_sent.map(name)), "{way}");
    }
}
