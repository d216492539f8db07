//! Network cards that stamp this host's packets, and what their stamps are on the host's clock.
//!
//! While a card is used its clock is read beside the host's ten times a second, by a thread of its own. A stamp of the card
//! is known on the host's clock once a later reading is in ([`romer_clock::card`]); until then it waits in
//! [`Unplaced`]. It is written beside the record of its packet, so that nothing waits for it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration as StdDuration;

use romer_clock::card::{CardReading, Placed, Relation};
use romer_host::HostError;
use romer_host::link::Network;
use romer_host::phc::{HardwareStamping, PhcClock, PhcTime};
use romer_host::socket::Datagram;
use romer_record::log::{Card as CardRecord, CardMoment};
use romer_record::note::Notice;

use crate::EndpointError;

/// Between two readings of a card's clock.
const EVERY: StdDuration = StdDuration::from_millis(100);
/// Between the first two.
const FIRST: StdDuration = StdDuration::from_millis(50);
/// Stamps that wait for the next reading: those of a tenth of a second at 600,000 packets a second. Packets whose stamp
/// finds no room have the kernel's.
const MOST_UNPLACED: usize = 1 << 16;

/// A network card whose stamps are switched on. Once nobody has it any more it is as it was found.
#[derive(Debug)]
pub struct Card {
    interface: String,
    index: u32,
    clock: PhcClock,
    relation: Mutex<Relation>,
    stamps: HardwareStamping,
}

impl Card {
    fn begin(interface: &str) -> Result<Self, HostError> {
        let network = Network::open(None)?;
        let number = network.stamping(interface)?.clock;
        let index = network.link(interface)?.index;
        // Before anything is changed: who may not read the clock has no use for its stamps.
        let clock = number.map(PhcClock::open).transpose()?;
        let stamps = HardwareStamping::switch_on(interface)?;
        let clock = clock.ok_or(HostError::Unsuitable("the network card has no clock that can be read"))?;
        let card = Self { interface: interface.into(), index, clock, relation: Mutex::default(), stamps };
        card.read_clocks()?;
        std::thread::sleep(FIRST);
        card.read_clocks()?;
        Ok(card)
    }

    /// Reads both clocks.
    fn read_clocks(&self) -> Result<(), HostError> {
        // Held across the reading, so that readings stand in their order.
        let mut relation = lock(&self.relation);
        let reading = self.clock.read()?;
        relation.add(CardReading {
            card_ns: reading.card.as_nanos(),
            before_ns: reading.before.as_nanos(),
            after_ns: reading.after.as_nanos(),
        });
        Ok(())
    }

    /// What is worth knowing of it, where it does not stamp everything.
    pub fn shortcoming(&self) -> Option<Notice> {
        let departures = self.stamps.departures;
        (!departures || !self.stamps.arrivals)
            .then(|| Notice::NicStampsOneDirection { interface: self.interface.clone(), departures })
    }
}

/// The network cards that are used, each followed as long as this lives.
#[derive(Debug, Default)]
pub struct Cards {
    shared: Arc<Followed>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Followed {
    cards: Mutex<Vec<Arc<Card>>>,
    stop: AtomicBool,
}

impl Cards {
    /// The card of `interface`, switched on and followed from now on if it is not already.
    ///
    /// # Errors
    /// [`EndpointError::Host`]: the interface has no such card, or the rights are missing.
    pub fn open(&self, interface: &str) -> Result<Arc<Card>, EndpointError> {
        let mut cards = lock(&self.shared.cards);
        if let Some(card) = cards.iter().find(|card| card.interface == interface) {
            return Ok(Arc::clone(card));
        }
        let card = Arc::new(Card::begin(interface).map_err(|error| refusal(Some(interface), error))?);
        cards.push(Arc::clone(&card));
        drop(cards);
        self.follow()?;
        Ok(card)
    }

    /// All cards of this host's interfaces that are up.
    ///
    /// # Errors
    /// [`EndpointError::Host`]: none of `interfaces` (of all that there are, where there are none of these) has such a card,
    /// or the rights are missing.
    pub fn all(&self, interfaces: &[String]) -> Result<Vec<Arc<Card>>, EndpointError> {
        let up = || {
            let links = Network::open(None).and_then(|network| network.links()).unwrap_or_default();
            links.into_iter().filter(|link| link.up).map(|link| link.name).collect::<Vec<_>>()
        };
        let interfaces = if interfaces.is_empty() { up() } else { interfaces.to_vec() };
        let mut found = Vec::new();
        let mut refused = None;
        for interface in &interfaces {
            match self.open(interface) {
                Ok(card) => found.push(card),
                Err(error) => refused = worse(refused, error),
            }
        }
        match refused {
            Some(error) if found.is_empty() => Err(error),
            _ if found.is_empty() => Err(refusal(None, HostError::Unsuitable("no interface is up"))),
            _ => Ok(found),
        }
    }

    fn follow(&self) -> Result<(), EndpointError> {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let follow = move || {
                while !shared.stop.load(Ordering::Acquire) {
                    let cards = lock(&shared.cards).clone();
                    for card in cards {
                        // A card that is taken out gives no more readings, and its packets have the kernel's stamps.
                        let _ = card.read_clocks();
                    }
                    std::thread::park_timeout(EVERY);
                }
            };
            let started = std::thread::Builder::new().name("romer-card".into()).spawn(follow);
            *thread = Some(started.map_err(|source| {
                let error =
                    HostError::System { operation: "start the thread", subject: "romer-card".into(), source };
                EndpointError::host("start a thread", "--stamp nic", "raise the limit of processes", error)
            })?);
        }
        Ok(())
    }
}

impl Drop for Cards {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = lock(&self.thread).take() {
            thread.thread().unpark();
            // A panic of the thread has been reported by itself.
            let _ = thread.join();
        }
    }
}

/// Of several refusals the one that says most: that a right is missing says more than that there is no such card.
fn worse(before: Option<EndpointError>, now: EndpointError) -> Option<EndpointError> {
    let telling = |error: &EndpointError| matches!(error, EndpointError::Host { source, .. } if !matches!(**source, HostError::Unsuitable(_)));
    match before {
        Some(before) if telling(&before) || !telling(&now) => Some(before),
        _ => Some(now),
    }
}

/// Why stamps of a network card cannot be had.
pub fn refusal(interface: Option<&str>, error: HostError) -> EndpointError {
    let place = interface.map_or_else(|| "--stamp nic".into(), |name| format!("--stamp nic, {name}"));
    let mend = match &error {
        HostError::Unsuitable(_) => {
            "use --stamp best or kernel; romer doctor lists what each interface can do".to_owned()
        }
        error if error.is_permission() => {
            "switching the card's stamps on takes CAP_NET_ADMIN, and its clock (/dev/ptp) is root's as a rule: run as root, \
             or use --stamp best or kernel"
                .to_owned()
        }
        _ => "see what romer doctor says of the interface, or use --stamp best or kernel".to_owned(),
    };
    EndpointError::host("take stamps of the network card", place, &mend, error)
}

/// The one of `cards` that is the interface's with this index.
pub fn of_index(cards: &[Arc<Card>], index: u32) -> Option<&Arc<Card>> {
    cards.iter().find(|card| card.index == index)
}

/// The card's stamp of a datagram that arrived through it, and the arrival that it is told by.
pub fn of_arrival(cards: &[Arc<Card>], datagram: &Datagram<'_>) -> Option<(Arc<Card>, PhcTime)> {
    Some((Arc::clone(of_index(cards, datagram.interface)?), datagram.card?))
}

/// By what an arrival is told from others of its packet.
pub fn told_by(datagram: &Datagram<'_>) -> i64 {
    datagram.kernel.unwrap_or(datagram.user).as_nanos()
}

/// A record without its time.
pub const fn record(sequence: u64, moment: CardMoment, arrival_ns: i64) -> CardRecord {
    CardRecord { sequence, moment, arrival_ns, card_ns: 0, error_ns: 0 }
}

/// Stamps whose time on the host's clock is not known yet, with whose they are.
#[derive(Debug)]
pub struct Unplaced<T> {
    waiting: VecDeque<(T, CardRecord, Arc<Card>, PhcTime)>,
}

impl<T> Default for Unplaced<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new() }
    }
}

impl<T: Copy> Unplaced<T> {
    /// Keeps a stamp until it can be placed.
    pub fn push(&mut self, whose: T, record: CardRecord, card: Arc<Card>, time: PhcTime) {
        if self.waiting.len() < MOST_UNPLACED {
            self.waiting.push_back((whose, record, card, time));
        }
    }

    /// Whether any that waits is one of those.
    pub fn any(&self, those: impl Fn(T) -> bool) -> bool {
        self.waiting.iter().any(|(whose, ..)| those(*whose))
    }

    /// Gives those that can be placed.
    pub fn settle(&mut self, mut known: impl FnMut(T, CardRecord)) {
        while let Some((whose, record, card, time)) = self.waiting.front() {
            match lock(&card.relation).place(time.as_nanos()) {
                Placed::NotYet => return,
                Placed::Never => {}
                Placed::At { system_ns, error_ns } => {
                    known(*whose, CardRecord { card_ns: system_ns, error_ns, ..*record });
                }
            }
            self.waiting.pop_front();
        }
    }

    /// Reads the clocks at once and gives all; what cannot be placed then never can.
    pub fn settle_all(&mut self, mut known: impl FnMut(T, CardRecord)) {
        while let Some((.., card, _)) = self.waiting.front() {
            let _ = card.read_clocks();
            let before = self.waiting.len();
            self.settle(&mut known);
            if self.waiting.len() == before {
                // Its clock does not answer any more.
                self.waiting.pop_front();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use romer_record::Exit;

    use super::*;

    #[test]
    fn loopback_is_refused_with_what_to_do() {
        let error = Cards::default().open("lo").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("--stamp nic, lo") && text.contains("software only"), "{text}");
        assert!(text.contains("--stamp best") && error.exit() == Exit::Environment, "{text}");
    }

    #[test]
    fn of_several_refusals_the_missing_right_is_told() {
        let soft = || refusal(Some("lo"), HostError::Unsuitable("the driver stamps in software only"));
        let right = || {
            let source = std::io::Error::from_raw_os_error(1);
            refusal(Some("eth0"), HostError::System { operation: "open", subject: String::new(), source })
        };
        for (first, second) in [(soft(), right()), (right(), soft())] {
            let told = worse(worse(None, first), second).unwrap().to_string();
            assert!(told.contains("eth0") && told.contains("CAP_NET_ADMIN"), "{told}");
        }
    }
}
