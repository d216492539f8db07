//! What is told while a measurement goes on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use romer_host::clock;
use romer_metrics::summary;
use romer_record::document::{STREAM, StreamInterval, Way};
use romer_store::{Kept, LogThread};
use romer_units::{Duration, Monotonic, Timestamp};

use super::preparing::Prepared;
use super::receiving::Seen;
use super::stream::Shared;
use super::{MeasureOptions, Observer};

/// Delays that are remembered of one interval and stream; a faster stream's interval line is of these.
const REMEMBERED: usize = 65_536;

struct Watched {
    number: u16,
    /// One, or one for each direction.
    parts: Vec<Arc<Shared>>,
    target: String,
    delays: Vec<i64>,
}

/// Collects what has happened since the last interval line.
pub(super) struct Live {
    streams: Vec<Watched>,
    seen: Receiver<Seen>,
    kept: Arc<Kept>,
    every: Duration,
    started: Timestamp<Monotonic>,
    next: Timestamp<Monotonic>,
}

impl Live {
    pub(super) fn new(
        options: &MeasureOptions,
        streams: &[Prepared],
        seen: Receiver<Seen>,
        log: &LogThread,
    ) -> Self {
        let started = clock::monotonic_now();
        let mut watched: Vec<Watched> = Vec::new();
        for stream in streams {
            let shared = Arc::clone(&stream.shared);
            match watched.iter_mut().find(|one| one.number == shared.number) {
                Some(one) => one.parts.push(shared),
                None => watched.push(Watched {
                    number: shared.number,
                    parts: vec![shared],
                    target: stream.manifest.target.clone(),
                    delays: Vec::new(),
                }),
            }
        }
        Self {
            streams: watched,
            seen,
            kept: Arc::clone(log.kept()),
            every: options.report_every,
            started,
            next: started + options.report_every,
        }
    }

    /// Takes in what came, and tells it when the interval is over.
    pub(super) fn look(&mut self, observer: &mut dyn Observer) {
        while let Ok(seen) = self.seen.try_recv() {
            if let Some(stream) = self.streams.get_mut(usize::from(seen.stream))
                && stream.delays.len() < REMEMBERED
            {
                stream.delays.push(seen.round_trip_ns);
            }
        }
        let now = clock::monotonic_now();
        if now >= self.next {
            self.tell(now, observer);
            // A look that came late does not make the following ones late.
            while self.next <= now {
                self.next = self.next + self.every;
            }
        }
    }

    /// Tells what is left.
    pub(super) fn last(&mut self, observer: &mut dyn Observer) {
        self.next = clock::monotonic_now();
        self.look(observer);
    }

    fn tell(&mut self, now: Timestamp<Monotonic>, observer: &mut dyn Observer) {
        for stream in &mut self.streams {
            let sum = |count: fn(&Shared) -> u64| stream.parts.iter().map(|part| count(part)).sum();
            let sent = |part: &Shared| {
                // Of a far end's probes, as many have been sent as have come, or more.
                let sent = part.sent.load(Ordering::Acquire).max(if part.way == Way::Reverse {
                    part.returned.load(Ordering::Acquire)
                } else {
                    0
                });
                sent.saturating_sub(part.not_sent.load(Ordering::Acquire))
            };
            observer.on_interval(&StreamInterval {
                schema: STREAM.into(),
                stream: stream.number,
                target: stream.target.clone(),
                elapsed_ns: (now - self.started).as_nanos(),
                sent: sum(sent),
                returned: sum(|part| part.returned.load(Ordering::Acquire)),
                kept_entries: self.kept.entries(),
                kept_sent: self.kept.sent(stream.number),
                round_trip_delay_ns: summary(&stream.delays),
            });
            stream.delays.clear();
        }
    }
}
