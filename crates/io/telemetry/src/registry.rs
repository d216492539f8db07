//! The metrics of a program.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::format::Format;
use crate::histogram::Histogram;
use crate::{protobuf, text};

/// A number that only increases.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Raises it to a total that is counted elsewhere; a lower total changes nothing.
    pub fn raise(&self, total: u64) {
        self.0.fetch_max(total, Ordering::Relaxed);
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that changes in both directions; unknown at first, and then in no scrape.
#[derive(Debug)]
pub struct Gauge(AtomicU64);

impl Default for Gauge {
    fn default() -> Self {
        Self(AtomicU64::new(f64::NAN.to_bits()))
    }
}

impl Gauge {
    /// Sets it.
    pub fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }

    /// Its value; `None` if it is unknown.
    pub fn get(&self) -> Option<f64> {
        Some(f64::from_bits(self.0.load(Ordering::Relaxed))).filter(|value| !value.is_nan())
    }
}

/// What a metric is.
#[derive(Clone, Copy, Debug)]
pub struct Spec<const N: usize> {
    /// Its name, without the `_total` of counters.
    pub name: &'static str,
    /// A sentence for users.
    pub help: &'static str,
    /// The names of its labels.
    pub labels: [&'static str; N],
}

type Series<T> = BTreeMap<Vec<String>, Arc<T>>;

/// One metric, with a time series for each combination of labels.
#[derive(Debug)]
pub struct Family<T, const N: usize>(Arc<Mutex<Series<T>>>);

impl<T: Default, const N: usize> Family<T, N> {
    /// The time series with these values of the labels, in the order of [`Spec::labels`]. It is in every scrape from now on.
    pub fn with(&self, values: [&str; N]) -> Arc<T> {
        let key = values.map(str::to_owned).to_vec();
        Arc::clone(lock(&self.0).entry(key).or_default())
    }

    /// Removes the time series with these values of the first labels. Handles to them count on, but no scrape shows it.
    pub fn remove(&self, first: &[&str]) {
        lock(&self.0).retain(|key, _| key.iter().zip(first).any(|(value, removed)| value != removed));
    }
}

/// The time series of a family, by what they are.
pub(crate) enum Cells {
    Counter(Arc<Mutex<Series<Counter>>>),
    Gauge(Arc<Mutex<Series<Gauge>>>),
    Histogram(Arc<Mutex<Series<Histogram>>>),
}

/// A family as a scrape sees it.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) labels: Vec<&'static str>,
    pub(crate) cells: Cells,
}

impl Entry {
    /// The names of the labels and their `values`, without empty ones: Prometheus does not distinguish an empty label from none.
    pub(crate) fn labels<'v>(&self, values: &'v [String]) -> impl Iterator<Item = (&'static str, &'v str)> {
        let named = self.labels.iter().copied().zip(values.iter().map(String::as_str));
        named.filter(|(_, value)| !value.is_empty())
    }

    /// Calls `each` with the values of the labels and the cell of each time series.
    pub(crate) fn each<T>(series: &Mutex<Series<T>>, mut each: impl FnMut(&[String], &T)) {
        // The cells outlive the lock, so that who adds a time series waits for no formatting.
        let all: Vec<_> = lock(series).iter().map(|(key, cell)| (key.clone(), Arc::clone(cell))).collect();
        all.iter().for_each(|(key, cell)| each(key, cell));
    }
}

/// A cell that a registry can hold.
trait Cell: Default {
    fn cells(series: Arc<Mutex<Series<Self>>>) -> Cells;
    fn known(cells: &Cells) -> Option<&Arc<Mutex<Series<Self>>>>;
}

macro_rules! cell {
    ($name:ident) => {
        impl Cell for $name {
            fn cells(series: Arc<Mutex<Series<Self>>>) -> Cells {
                Cells::$name(series)
            }

            fn known(cells: &Cells) -> Option<&Arc<Mutex<Series<Self>>>> {
                if let Cells::$name(series) = cells { Some(series) } else { None }
            }
        }
    };
}

cell!(Counter);
cell!(Gauge);
cell!(Histogram);

type Collector = Arc<dyn Fn() + Send + Sync>;

struct Contents {
    started: SystemTime,
    entries: Mutex<Vec<Entry>>,
    collectors: Mutex<Vec<Collector>>,
}

/// The metrics of a program; clones are of the same metrics.
#[derive(Clone)]
pub struct Registry(Arc<Contents>);

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = lock(&self.0.entries).iter().map(|entry| entry.name).collect();
        f.debug_tuple("Registry").field(&names).finish()
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// With `romer_build_info`, and `process_start_time_seconds` for the present time.
    pub fn new() -> Self {
        let started = SystemTime::now();
        let contents = Contents { started, entries: Mutex::default(), collectors: Mutex::default() };
        let registry = Self(Arc::new(contents));
        let info = Spec {
            name: "romer_build_info",
            help: "1; the version of romer is a label.",
            labels: ["version"],
        };
        registry.gauge(info).with([env!("CARGO_PKG_VERSION")]).set(1.0);
        let start = Spec {
            name: "process_start_time_seconds",
            help: "Start of the process, seconds since 1970.",
            labels: [],
        };
        let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        registry.gauge(start).with([]).set(since.as_secs_f64());
        registry
    }

    /// A metric that counts.
    pub fn counter<const N: usize>(&self, spec: Spec<N>) -> Family<Counter, N> {
        self.family(spec)
    }

    /// A metric that has a value.
    pub fn gauge<const N: usize>(&self, spec: Spec<N>) -> Family<Gauge, N> {
        self.family(spec)
    }

    /// A metric that has a distribution.
    pub fn histogram<const N: usize>(&self, spec: Spec<N>) -> Family<Histogram, N> {
        self.family(spec)
    }

    /// The family of this name and kind; a second request gives that of the first.
    fn family<T: Cell, const N: usize>(&self, spec: Spec<N>) -> Family<T, N> {
        let mut entries = lock(&self.0.entries);
        let same = entries.iter().filter(|entry| entry.name == spec.name && entry.labels == spec.labels);
        if let Some(series) = same.filter_map(|entry| T::known(&entry.cells)).next() {
            return Family(Arc::clone(series));
        }
        let series = Arc::<Mutex<Series<T>>>::default();
        let cells = T::cells(Arc::clone(&series));
        entries.push(Entry { name: spec.name, help: spec.help, labels: spec.labels.to_vec(), cells });
        Family(series)
    }

    /// Calls `collect` before each scrape, to set what is counted elsewhere. It may block: scrapes wait, and nothing else.
    pub fn on_scrape(&self, collect: impl Fn() + Send + Sync + 'static) {
        lock(&self.0.collectors).push(Arc::new(collect));
    }

    /// All metrics at this moment.
    pub fn encode(&self, format: Format) -> Vec<u8> {
        self.encode_with(|entries, _| match format {
            Format::Text => text::prometheus(entries).into_bytes(),
            Format::OpenMetrics => text::open_metrics(entries).into_bytes(),
            Format::Protobuf => protobuf::encode(entries),
        })
    }

    /// All metrics, as `encode` writes them from the families and the time of the start.
    pub(crate) fn encode_with(&self, encode: impl FnOnce(&[Entry], SystemTime) -> Vec<u8>) -> Vec<u8> {
        let collectors = lock(&self.0.collectors).clone();
        collectors.iter().for_each(|collect| collect());
        encode(&lock(&self.0.entries), self.0.started)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: Spec<1> = Spec { name: "romer_test", help: "For a test.", labels: ["kind"] };

    /// The same metric can be requested twice, and has the same time series.
    #[test]
    fn families_are_registered_once() {
        let registry = Registry::new();
        registry.counter(SPEC).with(["a"]).add(2);
        registry.counter(SPEC).with(["a"]).add(3);
        assert_eq!(registry.counter(SPEC).with(["a"]).get(), 5);
        let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
        assert_eq!(text.matches("romer_test_total{").count(), 1, "{text}");
    }

    /// A total that is lower than the last one does not reset a counter.
    #[test]
    fn counters_never_decrease() {
        let counter = Counter::default();
        [5, 3, 9].into_iter().for_each(|total| counter.raise(total));
        assert_eq!(counter.get(), 9);
    }

    /// Collectors run once for each scrape, before it.
    #[test]
    fn collectors_precede_the_scrape() {
        let registry = Registry::new();
        let counter = registry.counter(SPEC).with(["a"]);
        registry.on_scrape(move || counter.add(1));
        for scrape in 1..=3 {
            let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
            assert!(text.contains(&format!("romer_test_total{{kind=\"a\"}} {scrape}\n")), "{text}");
        }
    }
}
