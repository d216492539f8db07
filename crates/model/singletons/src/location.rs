//! Location error: how far the program's own stamps lie from the best ones.

use romer_metrics::WholeNumbers;
use romer_record::document::{Histogram, LocationError, LocationErrors, Summary};
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp};

use crate::arrivals::ArrivalsSeen;
use romer_clock::elapsed;

/// The differences between the best stamp (the network card's, else the kernel's) and the user's of the same moment, at each
/// host and in each direction, wherever both are there: departure = best - user, arrival = user - best, both positive
/// where the best one is nearer to the wire (Chen et al. 2013). Without kernel stamps there is nothing to compare, and the count is
/// 0.
pub fn location_errors(rows: &[RoundTrip]) -> LocationError {
    let mut differences = LocationDifferences::default();
    differences.take(rows);
    differences.described().0
}

/// The differences of [`location_errors`], of rows that may come in parts.
#[derive(Debug, Default)]
pub struct LocationDifferences {
    compared: Compared,
    sender_departure: WholeNumbers,
    sender_arrival: WholeNumbers,
    responder_departure: WholeNumbers,
    responder_arrival: WholeNumbers,
}

/// Which two stamps of a moment are compared.
#[derive(Clone, Copy, Debug, Default)]
enum Compared {
    /// The best one and the program's.
    #[default]
    BestAndUser,
    /// The network card's and the kernel's.
    CardAndKernel,
}

impl Compared {
    /// From the outer stamp, the one nearer to the wire, to the inner one.
    fn inwards<C: Clock>(self, stamps: &Stamps<C>) -> Option<i64> {
        match self {
            Self::BestAndUser => apart(best(stamps), stamps.user),
            Self::CardAndKernel => apart(stamps.nic, stamps.kernel),
        }
    }

    /// From the inner one to the outer.
    fn outwards<C: Clock>(self, stamps: &Stamps<C>) -> Option<i64> {
        self.inwards(stamps).map(i64::saturating_neg)
    }
}

impl LocationDifferences {
    /// Those of the kernel's stamps from the network cards': departure = card - kernel, arrival = kernel - card.
    pub(crate) fn of_kernels() -> Self {
        Self { compared: Compared::CardAndKernel, ..Self::default() }
    }

    /// Takes the next rows, in order of sequence and copy; all rows of a probe come together.
    pub fn take(&mut self, rows: &[RoundTrip]) {
        for probe in rows.chunk_by(|a, b| (a.way, a.sequence) == (b.way, b.sequence)) {
            self.sender_departure.extend(self.compared.outwards(&probe[0].t1));
            let mut arrivals = ArrivalsSeen::new();
            for row in probe {
                self.sender_arrival.extend(self.compared.inwards(&row.t4));
                if arrivals.is_new(row.forward_copy) {
                    self.responder_arrival.extend(self.compared.inwards(&row.t2));
                    self.responder_departure.extend(self.compared.outwards(&row.t3));
                }
            }
        }
    }

    /// Their figures, and how often each length came about.
    pub fn described(self) -> (LocationError, LocationShapes) {
        // Each is given back before the next is sorted.
        put_together(self.moments().map(|differences| differences.described()))
    }

    /// Those of the sender's departures and arrivals, and of the responder's departures and arrivals: each can be
    /// [described](WholeNumbers::described) while others are.
    pub fn moments(self) -> [WholeNumbers; 4] {
        [self.sender_departure, self.sender_arrival, self.responder_departure, self.responder_arrival]
    }
}

/// What was found of each of the [moments](LocationDifferences::moments), as one.
pub fn put_together(moments: [(Summary, Histogram); 4]) -> (LocationError, LocationShapes) {
    let [sender_departure, sender_arrival, responder_departure, responder_arrival] = moments;
    let errors = LocationError {
        sender: LocationErrors { departure: sender_departure.0, arrival: sender_arrival.0 },
        responder: LocationErrors { departure: responder_departure.0, arrival: responder_arrival.0 },
    };
    let shapes = LocationShapes {
        sender_departure: sender_departure.1,
        sender_arrival: sender_arrival.1,
        responder_arrival: responder_arrival.1,
        responder_departure: responder_departure.1,
    };
    (errors, shapes)
}

/// How often stamps of the program lie how far from the kernel's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocationShapes {
    /// Departures from the sender.
    pub sender_departure: Histogram,
    /// Arrivals there.
    pub sender_arrival: Histogram,
    /// Arrivals at the responder.
    pub responder_arrival: Histogram,
    /// Departures from there.
    pub responder_departure: Histogram,
}

/// The same differences over time: moments after the first stamp of their host, and nanoseconds, in the order of the rows,
/// thinned to at most `most` of a moment (at least 2) by keeping the least and the greatest of neighbours, so that none of
/// the greatest is lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocationSeries {
    /// Departures from the sender.
    pub sender_departure: Vec<(i64, i64)>,
    /// Arrivals there.
    pub sender_arrival: Vec<(i64, i64)>,
    /// Arrivals at the responder.
    pub responder_arrival: Vec<(i64, i64)>,
    /// Departures from there.
    pub responder_departure: Vec<(i64, i64)>,
    /// How they are distributed, all of them; empty where nobody has counted.
    pub shapes: LocationShapes,
}

impl LocationSeries {
    /// Of a stream's rows.
    pub fn from_rows(rows: &[RoundTrip], most: usize) -> Self {
        let mut thinning = LocationThinning::new(rows.len(), most);
        thinning.take(rows);
        thinning.finish()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        [&self.sender_departure, &self.sender_arrival, &self.responder_arrival, &self.responder_departure]
            .iter()
            .all(|one| one.is_empty())
    }
}

/// [`LocationSeries`] of rows that may come in parts.
#[derive(Debug)]
pub struct LocationThinning {
    /// Rows in a bucket, and how many the open one has.
    bucket: usize,
    filled: usize,
    moments: [Thinned; 4],
}

/// A series of one moment.
#[derive(Debug, Default)]
struct Thinned {
    /// Moments on the clock, nanoseconds, and differences.
    kept: Vec<(i64, i64)>,
    first: Option<i64>,
    /// Of the open bucket: the first points, the least one and the greatest.
    few: Vec<(i64, i64)>,
    ends: Option<[(i64, i64); 2]>,
}

/// Buckets of so few rows keep all their points.
const SMALL_BUCKET_ROWS: usize = 2;

impl Thinned {
    fn take(&mut self, at: i64, apart: i64) {
        let point = (at, apart);
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        if self.few.len() < SMALL_BUCKET_ROWS {
            self.few.push(point);
        }
        self.ends = Some(match self.ends {
            None => [point; 2],
            Some([least, greatest]) => [
                if apart < least.1 { point } else { least },
                if apart >= greatest.1 { point } else { greatest },
            ],
        });
    }

    fn close(&mut self, rows: usize) {
        let ends = self.ends.take();
        if rows <= SMALL_BUCKET_ROWS {
            self.kept.append(&mut self.few);
        } else if let Some([least, greatest]) = ends {
            self.kept.push(least);
            self.kept.extend(Some(greatest).filter(|greatest| *greatest != least));
        }
        self.few.clear();
    }

    fn since_first(self) -> Vec<(i64, i64)> {
        let first = self.first.unwrap_or(0);
        self.kept.into_iter().map(|(at, apart)| (at.saturating_sub(first), apart)).collect()
    }
}

impl LocationThinning {
    /// For `rows` rows, of which about `most` points are kept of a moment.
    pub fn new(rows: usize, most: usize) -> Self {
        let bucket = rows.div_ceil((most / 2).max(1)).max(1);
        Self { bucket, filled: 0, moments: Default::default() }
    }

    /// Takes the next rows, in order of sequence and copy.
    pub fn take(&mut self, rows: &[RoundTrip]) {
        for row in rows {
            let differences = [
                stamped(row.t1.user, best(&row.t1)),
                stamped(best(&row.t4), row.t4.user),
                stamped(best(&row.t2), row.t2.user),
                stamped(row.t3.user, best(&row.t3)),
            ];
            for (moment, difference) in self.moments.iter_mut().zip(differences) {
                if let Some((at, apart)) = difference {
                    moment.take(at, apart);
                }
            }
            self.filled += 1;
            if self.filled == self.bucket {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        self.moments.iter_mut().for_each(|moment| moment.close(self.filled));
        self.filled = 0;
    }

    /// The series of what was taken.
    pub fn finish(mut self) -> LocationSeries {
        self.close();
        let [sender_departure, sender_arrival, responder_arrival, responder_departure] =
            self.moments.map(Thinned::since_first);
        let shapes = LocationShapes::default();
        LocationSeries { sender_departure, sender_arrival, responder_arrival, responder_departure, shapes }
    }
}

/// The earlier stamp of a moment, and how far the later one lies from it.
fn stamped<C: Clock>(earlier: Option<Timestamp<C>>, later: Option<Timestamp<C>>) -> Option<(i64, i64)> {
    Some((earlier?.as_nanos(), apart(earlier, later)?))
}

/// The stamp nearest to the wire, the program's left aside.
fn best<C: Clock>(stamps: &Stamps<C>) -> Option<Timestamp<C>> {
    stamps.nic.or(stamps.kernel)
}

fn apart<C: Clock>(earlier: Option<Timestamp<C>>, later: Option<Timestamp<C>>) -> Option<i64> {
    i64::try_from(elapsed(earlier?, later?)).ok()
}
