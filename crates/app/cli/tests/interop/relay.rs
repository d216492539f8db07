//! A relay of datagrams that holds each for a known time and notes when, or loses it.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

/// How often the threads look whether the relay's time is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// One datagram's way through the relay, by this host's clock: nanoseconds since 1970.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    /// Read after it had come.
    pub(crate) came: i128,
    /// Read before it was sent on.
    pub(crate) left: i128,
    pub(crate) payload: Vec<u8>,
}

impl Crossing {
    /// The sequence number that a test packet begins with.
    pub(crate) fn sequence(&self) -> u64 {
        u32::from_be_bytes(self.payload[..4].try_into().unwrap()).into()
    }
}

/// Whether a datagram is lost, by whether it goes there and the number that it begins with.
pub(crate) type Loses = fn(bool, u64) -> bool;

type Crossings = Arc<Mutex<Vec<Crossing>>>;

/// A relay between whoever sends to it first and a target.
pub(crate) struct Relay {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    crossings: [Crossings; 2],
}

impl Relay {
    /// A relay to `target` that holds datagrams for these times on the way there and back.
    pub(crate) fn start(target: SocketAddr, holds: [Duration; 2]) -> Self {
        Self::losing(target, holds, |_, _| false)
    }

    /// The same, which loses some.
    pub(crate) fn losing(target: SocketAddr, holds: [Duration; 2], loses: Loses) -> Self {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let back = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        back.connect(target).unwrap();
        let address = front.local_addr().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let crossings = [Crossings::default(), Crossings::default()];
        let asker = Arc::new(Mutex::new(None));
        let ways = [(Arc::clone(&front), Arc::clone(&back)), (back, front)];
        let mut threads = Vec::new();
        for ((((from, to), hold), crossings), forward) in
            ways.into_iter().zip(holds).zip(&crossings).zip([true, false])
        {
            from.set_read_timeout(Some(POLL_INTERVAL)).unwrap();
            let (sender, receiver) = channel::<(Instant, i128, Vec<u8>)>();
            let (over, asker, crossings) = (Arc::clone(&over), Arc::clone(&asker), Arc::clone(crossings));
            let who = Arc::clone(&asker);
            threads.push(thread::spawn(move || {
                let mut buffer = [0; 2_048];
                while !over.load(Ordering::Acquire) {
                    let Ok((length, peer)) = from.recv_from(&mut buffer) else { continue };
                    let came = now();
                    if forward {
                        *asker.lock().unwrap() = Some(peer);
                    }
                    let payload = buffer[..length].to_vec();
                    let number = payload.first_chunk().map_or(0, |number| u32::from_be_bytes(*number).into());
                    if !loses(forward, number) {
                        let _ = sender.send((Instant::now() + hold, came, payload));
                    }
                }
            }));
            threads.push(thread::spawn(move || {
                // Ends when the other thread has.
                for (due, came, payload) in receiver {
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    let left = now();
                    let asked = *who.lock().unwrap();
                    let _ = if forward { to.send(&payload) } else { to.send_to(&payload, asked.unwrap()) };
                    crossings.lock().unwrap().push(Crossing { came, left, payload });
                }
            }));
        }
        Self { address, over, threads, crossings }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has crossed there and back.
    pub(crate) fn finish(mut self) -> [Vec<Crossing>; 2] {
        self.end();
        self.crossings.each_ref().map(|crossings| crossings.lock().unwrap().clone())
    }

    fn end(&mut self) {
        self.over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "a thread of the relay has failed");
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.end();
    }
}

fn now() -> i128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos().try_into().unwrap()
}
