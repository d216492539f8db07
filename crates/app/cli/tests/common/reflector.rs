//! A STAMP reflector on loopback that misbehaves in one stated way.
//!
//! It builds its replies octet by octet from RFC 8762 section 4.3.1, not with the program's own code, so that a fault of
//! the encoder cannot hide one of the decoder. It is stateless unless the fault says otherwise.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Octets of an unauthenticated reply (RFC 8762 section 4.3.1).
pub(crate) const BASE: usize = 44;
/// Seconds from 1900 to 1970: the NTP era 0 begins in 1900.
const NTP_TO_UNIX: i64 = 2_208_988_800;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// The beginning of NTP era 1, 2036-02-07 06:28:16 UTC, in nanoseconds since 1970.
const ERA_1: i64 = 2_085_978_496 * NANOS_PER_SECOND;
/// Error estimate: S = 1 (synchronized), Z = 0 (NTP format), scale 0, multiplier 1.
const NTP_ESTIMATE: u16 = 0x8001;
/// The same with Z = 1 (PTP format).
const PTP_ESTIMATE: u16 = 0xc001;

/// The one thing that a [`Reflector`] does wrong. Probes are counted from 0 in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// Correct PTP time stamps, as the Z bit says.
    Ptp,
    /// Microseconds stand in the NTP fraction.
    WrongFraction,
    /// PTP time stamps, with the Z bit clear.
    PtpWithoutZ,
    /// Both time stamps are zero.
    ZeroStamps,
    /// The receive time stamp alone is zero.
    ZeroReceive,
    /// All bits of both time stamps are set.
    AllOnes,
    /// Receive and transmit time stamp change places; 2 ms lie between them.
    Swapped,
    /// The octets of both time stamps are in the reverse order.
    LittleEndian,
    /// Both time stamps are those of the first probe.
    Constant,
    /// The clock advances in steps of this many nanoseconds since 1970.
    Steps { nanos: i64 },
    /// Both time stamps of these probes are off by this many nanoseconds.
    FalsePairs { probes: &'static [u64], nanos: i64 },
    /// The receive time stamp of this probe is a second too small.
    SecondEarly { probe: u64 },
    /// The transmit time stamp of this probe is a second too large.
    SecondLate { probe: u64 },
    /// A reply leaves after this long; both time stamps are the arrival's.
    SameStamps { after: Duration },
    /// The clock is this far ahead.
    Ahead { nanos: i64 },
    /// The clock runs this much faster, in parts per million.
    Fast { ppm: i64 },
    /// The clock passes from NTP era 0 to era 1 this long after the first probe has arrived.
    EraChange { after: Duration },
    /// Replies are cut to this many octets.
    Length { octets: usize },
    /// Replies are this much longer than a request.
    Padded { octets: usize },
    /// Replies come from another port.
    OtherPort,
    /// Replies come from 127.0.0.2.
    OtherAddress,
    /// All fields that must be zero are all ones.
    NonZeroMbz,
    /// The Session-Sender TTL is zero.
    NoTtl,
    /// The session identifier is another.
    OtherSession,
    /// The session identifier is zero, as of a reflector that knows RFC 8762 alone.
    NoSession,
    /// The number of the reply, and the one that it echoes, are this much higher.
    WrongSequence { by: u32 },
    /// The Session-Sender Timestamp is a second too large.
    WrongEcho,
    /// Session-Sender Sequence Number, Timestamp and Error Estimate are zero.
    NoEcho,
    /// The error estimate has a multiplier of zero, which RFC 4656 section 4.1.2 forbids.
    ZeroEstimate,
    /// Stateful; every `nth` probe is dropped before it is counted.
    ForwardLoss { nth: u64 },
    /// Stateful; every `nth` reply is counted and dropped.
    ReverseLoss { nth: u64 },
    /// Stateless; every `nth` probe has no reply.
    Loss { nth: u64 },
    /// Every reply is sent twice.
    Duplicates,
    /// Replies of each two probes change places.
    Reordered,
    /// Replies leave after this long, their time stamps are right.
    Slow { after: Duration },
    /// Nothing is answered.
    Silent,
    /// Before each reply a datagram of random-looking octets is sent.
    Noise,
}

/// A reflector that runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Reflector {
    /// Where probes go.
    pub(crate) address: SocketAddr,
    /// The port of replies with [`Fault::OtherPort`].
    pub(crate) other_port: u16,
    seen: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reflector {
    /// Starts one on a free port of 127.0.0.1.
    pub(crate) fn start(fault: Fault) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let address = socket.local_addr().unwrap();
        let other_address = Ipv4Addr::new(127, 0, 0, 2);
        let other = match fault {
            Fault::OtherAddress => UdpSocket::bind((other_address, address.port())),
            _ => UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)),
        };
        let other = other.unwrap();
        let other_port = other.local_addr().unwrap().port();
        let (seen, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let mut state =
            ReflectorState { fault, socket, other, seen: Arc::clone(&seen), ..ReflectorState::new() };
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut request = [0; 2_048];
            while !stopped.load(Ordering::Acquire) {
                if let Ok((length, from)) = state.socket.recv_from(&mut request) {
                    state.answer(&request[..length], from);
                }
            }
        });
        Self { address, other_port, seen, stop, thread: Some(thread) }
    }

    /// Probes that have arrived.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }
}

impl Drop for Reflector {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the reflector failed");
        }
    }
}

struct ReflectorState {
    fault: Fault,
    socket: UdpSocket,
    other: UdpSocket,
    seen: Arc<AtomicU64>,
    /// Real time at the first probe, nanoseconds since 1970.
    first: Option<i64>,
    /// Number of the next reply of a stateful reflector.
    next: u32,
    /// A reply that waits for the next one.
    held: Option<(Vec<u8>, SocketAddr)>,
}

impl ReflectorState {
    fn new() -> Self {
        let any = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Self {
            fault: Fault::None,
            socket: any(),
            other: any(),
            seen: Arc::default(),
            first: None,
            next: 0,
            held: None,
        }
    }

    fn answer(&mut self, request: &[u8], from: SocketAddr) {
        let arrived = now();
        let probe = self.seen.fetch_add(1, Ordering::AcqRel);
        let first = *self.first.get_or_insert(arrived);
        match self.fault {
            Fault::Silent => return,
            Fault::ForwardLoss { nth } | Fault::Loss { nth } if probe % nth == nth - 1 => return,
            Fault::SameStamps { after } | Fault::Slow { after } => std::thread::sleep(after),
            Fault::Swapped => std::thread::sleep(Duration::from_millis(2)),
            _ => {}
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        if let Fault::ReverseLoss { nth } = self.fault
            && probe % nth == nth - 1
        {
            return;
        }
        let reply = self.reply(request, probe, number, [arrived, now()], first);
        match self.fault {
            Fault::OtherPort | Fault::OtherAddress => send(&self.other, &reply, from),
            Fault::Duplicates => (0..2).for_each(|_| send(&self.socket, &reply, from)),
            Fault::Noise => {
                let noise: Vec<u8> =
                    (0..60).map(|n: u64| (n.wrapping_mul(167) ^ probe).to_le_bytes()[0]).collect();
                send(&self.socket, &noise, from);
                send(&self.socket, &reply, from);
            }
            Fault::Reordered => match self.held.take() {
                None => self.held = Some((reply, from)),
                Some((earlier, to)) => {
                    send(&self.socket, &reply, from);
                    send(&self.socket, &earlier, to);
                }
            },
            _ => send(&self.socket, &reply, from),
        }
    }

    /// The reply to `request`, which is the `probe`th, arrived and leaves at `times`; `number` is a stateful reflector's.
    fn reply(&self, request: &[u8], probe: u64, number: u32, times: [i64; 2], first: i64) -> Vec<u8> {
        let field = |from: usize, length: usize| {
            let mut octets = vec![0; length];
            if let Some(part) = request.get(from..from + length) {
                octets.copy_from_slice(part);
            }
            octets
        };
        let is_stateful = matches!(self.fault, Fault::ForwardLoss { .. } | Fault::ReverseLoss { .. });
        let [t2, t3] = self.stamps(probe, times, first);
        let estimate = match self.fault {
            Fault::Ptp => PTP_ESTIMATE,
            Fault::ZeroEstimate => 0x8000,
            _ => NTP_ESTIMATE,
        };
        let mut reply = Vec::with_capacity(request.len().max(BASE));
        reply.extend(if is_stateful { number.to_be_bytes().to_vec() } else { field(0, 4) });
        reply.extend(t3);
        reply.extend(estimate.to_be_bytes());
        reply.extend(field(14, 2));
        reply.extend(t2);
        reply.extend(field(0, 4));
        reply.extend(field(4, 8));
        reply.extend(field(12, 2));
        reply.extend([0, 0]);
        reply.extend([255, 0, 0, 0]);
        reply.resize(request.len().max(BASE), 0);
        self.spoil(&mut reply);
        reply
    }

    /// Receive and transmit time stamp.
    fn stamps(&self, probe: u64, [arrived, left]: [i64; 2], first: i64) -> [[u8; 8]; 2] {
        let pair = [arrived, left];
        match self.fault {
            Fault::Ptp | Fault::PtpWithoutZ => pair.map(ptp),
            Fault::WrongFraction => pair.map(|at| halves(seconds(at), fraction_nanos(at) / 1_000)),
            Fault::ZeroStamps => [[0; 8]; 2],
            Fault::ZeroReceive => [[0; 8], ntp(left)],
            Fault::AllOnes => [[0xff; 8]; 2],
            Fault::Swapped => [ntp(left), ntp(arrived)],
            Fault::LittleEndian => pair.map(|at| u64::from_be_bytes(ntp(at)).to_le_bytes()),
            Fault::Constant => [ntp(first); 2],
            Fault::Steps { nanos } => pair.map(|at| ntp(at.div_euclid(nanos) * nanos)),
            Fault::FalsePairs { probes, nanos } if probes.contains(&probe) => pair.map(|at| ntp(at + nanos)),
            Fault::SecondEarly { probe: one } if one == probe => [ntp(arrived - NANOS_PER_SECOND), ntp(left)],
            Fault::SecondLate { probe: one } if one == probe => [ntp(arrived), ntp(left + NANOS_PER_SECOND)],
            Fault::SameStamps { .. } => [ntp(arrived); 2],
            Fault::Ahead { nanos } => pair.map(|at| ntp(at + nanos)),
            Fault::Fast { ppm } => pair.map(|at| ntp(at + (at - first) / 1_000_000 * ppm)),
            Fault::EraChange { after } => {
                let before = i64::try_from(after.as_nanos()).unwrap();
                pair.map(|at| ntp(at - first - before + ERA_1))
            }
            _ => pair.map(ntp),
        }
    }

    /// What is wrong besides the time stamps.
    fn spoil(&self, reply: &mut Vec<u8>) {
        let add = |reply: &mut [u8], by: u32| {
            let number = u32::from_be_bytes([reply[0], reply[1], reply[2], reply[3]]).wrapping_add(by);
            reply[..4].copy_from_slice(&number.to_be_bytes());
        };
        match self.fault {
            Fault::Length { octets } => reply.truncate(octets),
            Fault::Padded { octets } => reply.resize(reply.len() + octets, 0),
            Fault::NonZeroMbz => {
                reply[38..40].fill(0xff);
                reply[41..].fill(0xff);
            }
            Fault::NoTtl => reply[40] = 0,
            Fault::OtherSession => reply[14] ^= 0x55,
            Fault::NoSession => reply[14..16].fill(0),
            Fault::WrongSequence { by } => {
                add(reply, by);
                add(&mut reply[24..], by);
            }
            Fault::WrongEcho => add(&mut reply[28..], 1),
            Fault::NoEcho => reply[24..38].fill(0),
            _ => {}
        }
    }
}

fn send(socket: &UdpSocket, datagram: &[u8], to: SocketAddr) {
    assert_eq!(to.ip(), IpAddr::V4(Ipv4Addr::LOCALHOST), "test traffic stays on loopback");
    // The measuring end may have gone already.
    let _ = socket.send_to(datagram, to);
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// Seconds since 1900, in the era of the time.
fn seconds(at: i64) -> u32 {
    let seconds = at.div_euclid(NANOS_PER_SECOND) + NTP_TO_UNIX;
    u32::try_from(seconds.rem_euclid(1 << 32)).unwrap()
}

fn fraction_nanos(at: i64) -> u32 {
    u32::try_from(at.rem_euclid(NANOS_PER_SECOND)).unwrap()
}

/// NTP format: seconds since 1900, then 2^-32 s.
fn ntp(at: i64) -> [u8; 8] {
    let fraction = (u64::from(fraction_nanos(at)) << 32) / 1_000_000_000;
    halves(seconds(at), u32::try_from(fraction).unwrap())
}

/// Truncated PTP format: seconds since 1970, then nanoseconds.
fn ptp(at: i64) -> [u8; 8] {
    halves(u32::try_from(at.div_euclid(NANOS_PER_SECOND)).unwrap(), fraction_nanos(at))
}

fn halves(high: u32, low: u32) -> [u8; 8] {
    ((u64::from(high) << 32) | u64::from(low)).to_be_bytes()
}
