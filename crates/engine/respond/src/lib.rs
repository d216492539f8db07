//! The responder: a STAMP reflector (RFC 8762) for any sender, and the responder of romer's own sessions.
//!
//! The reflecting thread receives test packets, replies at once and collects the transmit time stamps from the kernel. The
//! control thread runs the control connections. Each session in which the responder sends probes has a sending thread. They
//! communicate through bounded queues; the reflecting thread never blocks, and events that do not fit are counted.
//!
//! ```
//! use std::net::{SocketAddr, UdpSocket};
//! use std::time::Duration;
//!
//! use romer_respond::{RespondOptions, Responder};
//!
//! let here: SocketAddr = "127.0.0.1:0".parse()?;
//! let options = RespondOptions { listen: vec![here], control: vec![here], ..RespondOptions::default() };
//! let responder = Responder::start(&options)?;
//!
//! // A STAMP packet without authentication has 44 bytes, and its reply as many.
//! let socket = UdpSocket::bind(here)?;
//! socket.set_read_timeout(Some(Duration::from_secs(60)))?;
//! socket.send_to(&[0; 44], responder.test_addresses()[0])?;
//! let mut reply = [0; 100];
//! assert_eq!(socket.recv(&mut reply)?, 44);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod closed_sessions;
mod control_thread;
mod current_key;
mod document;
mod event_queue;
mod in_kernel;
mod in_packet;
mod messages;
mod one_way_receiver;
mod options;
mod reflector_thread;
mod send_errors;
mod send_thread;
mod stats_request;
mod telemetry;
mod totals;
mod tx_stamp_timeout;
mod watchdog;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use romer_endpoint::EndpointError;
use romer_endpoint::card::{Cards, refusal};
use romer_endpoint::fingerprint::Fingerprint;
use romer_endpoint::host_events::ip_no_pmtu_disc;
use romer_endpoint::names::with_zone;
use romer_endpoint::responder_host_monitor::{Remembered, ResponderHostMonitor};
use romer_endpoint::scheduling_watch::SchedulingWatch;
use romer_endpoint::threads::ThreadResources;
use romer_endpoint::tls::ResponderChannel;
use romer_endpoint::tls::pairing::PairingNews;
use romer_host::service_manager::InheritedSockets;
use romer_host::socket::{SocketOptions, StampingSocket, Waker};
use romer_host::{HostError, host_info};
use romer_record::event::EventLocation;
use romer_record::note::Notice;
use romer_record::respond::Respond;
use romer_session::control::{self, Limits};
use romer_session::send_limit::{SendLimit, SendRates};
use romer_wire::stamp;
pub use romer_wire::stamp::{Key, ReplyFormat};

use self::control_thread::quotas::NETWORKS;
use self::current_key::CurrentKey;
use self::in_kernel::InKernel;
use self::in_packet::InPacket;
pub use self::options::RespondOptions;
use self::stats_request::StatsRequest;
pub use self::totals::{OneWayTotals, Totals};
pub use self::watchdog::Stuck;
use self::watchdog::Watchdog;

/// How long threads are waited for at the end. A turn takes milliseconds, and what waits for the kernel's last stamps less than
/// that. It leaves a second for the totals of what the process may take to end.
const SHUTDOWN_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(4);
/// How often they are looked at meanwhile.
const SHUTDOWN_POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(5);

/// A responder at work. Dropping it ends it.
#[derive(Debug)]
pub struct Responder {
    stop: Arc<AtomicBool>,
    wakers: [Arc<Waker>; 2],
    threads: Vec<JoinHandle<()>>,
    totals: Arc<Mutex<Totals>>,
    send_limit: Arc<Mutex<SendLimit>>,
    stats: Arc<StatsRequest>,
    remembered: Arc<Mutex<Remembered>>,
    watchdog: Arc<Watchdog>,
    shortcomings: Vec<Notice>,
    test_addresses: Vec<SocketAddr>,
    control_addresses: Vec<SocketAddr>,
    _held: ThreadResources,
    _cards: Cards,
    started: std::time::SystemTime,
    authenticated: bool,
    stateful: bool,
    in_kernel: Option<Arc<InKernel>>,
    key: Arc<CurrentKey>,
    in_packet: Option<Arc<InPacket>>,
    channel: Arc<ResponderChannel>,
}

impl Responder {
    /// Opens the sockets and starts the threads.
    ///
    /// # Errors
    /// [`EndpointError::Host`] where an address cannot be bound, [`EndpointError::TlsFile`] where the keys of the control channel cannot be
    /// used.
    pub fn start(options: &RespondOptions) -> Result<Self, EndpointError> {
        Self::start_on(options, InheritedSockets::default())
    }

    /// The same on sockets that a service manager opened, in place of those of `listen` and `control`. Where it opened none of a
    /// kind, these are opened here.
    ///
    /// # Errors
    /// [`EndpointError::Host`] where an address cannot be bound, or an inherited socket cannot be used.
    pub fn start_on(options: &RespondOptions, inherited: InheritedSockets) -> Result<Self, EndpointError> {
        let held = options.threads.prepare()?;
        // Each conversation takes a descriptor; what the system does not give shows when they are used up.
        let _ = romer_host::descriptors::raise();
        let cards = Cards::default();
        let stamping = if options.card_stamps { cards.all(&interfaces(options)?)? } else { Vec::new() };
        let sockets = if inherited.datagram.is_empty() {
            test_sockets(options)?
        } else {
            adopted_sockets(inherited.datagram, options)?
        };
        let test_addresses: Vec<SocketAddr> = sockets.iter().map(StampingSocket::local_address).collect();
        let deaf = ip_no_pmtu_disc().filter(|_| test_addresses.iter().any(SocketAddr::is_ipv4));
        let shortcomings = stamping.iter().filter_map(|card| card.shortcoming());
        let shortcomings = shortcomings.chain(held.shortcoming());
        let shortcomings = shortcomings
            .chain(deaf.map(|ip_no_pmtu_disc| Notice::PacketTooBigIgnored {
                location: EventLocation::Sender,
                ip_no_pmtu_disc,
                probes: true,
                replies: true,
            }))
            .collect();
        let listeners = if inherited.listeners.is_empty() {
            control_listeners(options, &test_addresses)?
        } else {
            inherited.listeners
        };
        // Only now: a responder that cannot start makes no key.
        let channel = Arc::new(ResponderChannel::open(options.channel.clone())?);
        let in_kernel = options.in_kernel.then(|| InKernel::start(options, &test_addresses)).transpose()?;
        let in_kernel = in_kernel.map(Arc::new);
        let in_packet = options.in_packet.then(|| InPacket::start(&test_addresses, &options.in_packet_ports));
        let in_packet = in_packet.transpose()?.map(Arc::new);
        let control_addresses: Vec<SocketAddr> =
            listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let wakers = [new_waker()?, new_waker()?];
        let stop = Arc::new(AtomicBool::new(false));
        let key = Arc::new(CurrentKey::new(options.key.clone()));
        let totals = Arc::new(Mutex::new(Totals::default()));
        let stats = Arc::new(StatsRequest::new());
        let remembered = Arc::new(Mutex::new(Remembered::default()));
        let pulse = Arc::new(SchedulingWatch::new(romer_host::clock::monotonic_now()));
        let watchdog = Arc::new(Watchdog::default());
        let turns = [REFLECT, CONTROL].map(|thread| watchdog.watch(thread));
        let (commands, orders) = std::sync::mpsc::sync_channel(1_024);
        let (notes, events) = std::sync::mpsc::sync_channel(65_536);
        let test_port = test_addresses.first().map_or(stamp::PORT, SocketAddr::port);
        let notes_of_senders = std::sync::mpsc::SyncSender::clone(&notes);
        let reflecting = reflector_thread::ReflectorThread::new(
            sockets,
            options,
            reflector_thread::Links {
                orders,
                notes,
                waker: Arc::clone(&wakers[0]),
                control_waker: Arc::clone(&wakers[1]),
                stop: Arc::clone(&stop),
                totals: Arc::clone(&totals),
                stats: Arc::clone(&stats),
                cards: stamping,
                pulse: Arc::clone(&pulse),
                turn: Arc::clone(&turns[0]),
                in_kernel: in_kernel.clone(),
                key: Arc::clone(&key),
                in_packet: in_packet.clone(),
            },
        );
        let send_rates = SendRates::new(options.rate, options.is_open());
        let send_limit = Arc::new(Mutex::new(SendLimit::new(send_rates)));
        let limits = Limits {
            packets_per_second: options.rate,
            own_packets_per_second: options.rate,
            own_bits_per_second: send_rates.network_bits,
            all_own_bits_per_second: send_rates.total_bits,
            all_packets_per_second: options.rate.saturating_mul(u64::try_from(NETWORKS).unwrap_or(u64::MAX)),
            ..Limits::default()
        };
        let controlling = control_thread::ControlThread::new(
            listeners,
            limits,
            test_port,
            options,
            control_thread::Links {
                commands,
                events,
                notes: notes_of_senders,
                waker: Arc::clone(&wakers[1]),
                reflecting_waker: Arc::clone(&wakers[0]),
                stop: Arc::clone(&stop),
                totals: Arc::clone(&totals),
                send_limit: Arc::clone(&send_limit),
                turn: Arc::clone(&turns[1]),
                watchdog: Arc::clone(&watchdog),
                in_kernel: in_kernel.clone(),
                key: Arc::clone(&key),
                channel: Arc::clone(&channel),
            },
            ResponderHostMonitor::begin(Arc::clone(&remembered), pulse),
        )?;
        let mut responder = Self {
            stop,
            wakers,
            threads: Vec::new(),
            totals,
            send_limit,
            stats,
            remembered,
            watchdog,
            test_addresses,
            control_addresses,
            _held: held,
            _cards: cards,
            shortcomings,
            started: std::time::SystemTime::now(),
            authenticated: options.key.is_some(),
            stateful: options.stateful,
            in_kernel,
            key,
            in_packet,
            channel,
        };
        responder.threads.push(spawn(REFLECT, move || reflecting.run())?);
        responder.threads.push(spawn(CONTROL, move || controlling.run())?);
        Ok(responder)
    }

    /// Where test packets are received.
    pub fn test_addresses(&self) -> &[SocketAddr] {
        &self.test_addresses
    }

    /// What network cards do not stamp that were asked to, and what else of this host is worth knowing, a line for each.
    pub fn shortcomings(&self) -> &[Notice] {
        &self.shortcomings
    }

    /// Where control conversations are received.
    pub fn control_addresses(&self) -> &[SocketAddr] {
        &self.control_addresses
    }

    /// The interfaces on which requests are answered in the kernel, each with the place of the program: `xdp-native` or
    /// `xdp-generic`.
    pub fn kernel_interfaces(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let all = self.in_kernel.iter().flat_map(|reflector| reflector.interfaces());
        all.map(|(interface, mode)| (interface, mode.name()))
    }

    /// The interfaces at which time stamps are written into packets.
    pub fn stamping_interfaces(&self) -> impl Iterator<Item = &str> {
        self.in_packet.iter().flat_map(|stamper| stamper.interfaces())
    }

    /// The fingerprint of the key that protects the control channel; `None` without TLS.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.channel.fingerprint()
    }

    /// Why that key is of this process alone; `None` if it is saved.
    pub fn key_not_saved(&self) -> Option<&str> {
        self.channel.key_not_saved()
    }

    /// What has happened to the pairing since this was called last. To be called every second or so.
    pub fn take_pairing_news(&self) -> Vec<PairingNews> {
        self.channel.pairing().map(|mut window| window.take_news()).unwrap_or_default()
    }

    /// What has been counted up to now; at most 0.3 s old, unless the machine has no time for the thread that counts.
    pub fn totals(&self) -> Totals {
        let probes = self.send_limit.lock().unwrap_or_else(PoisonError::into_inner).counts();
        let in_kernel = self.in_kernel.as_ref().map(|reflector| reflector.counters()).unwrap_or_default();
        Totals { probes, in_kernel, ..*self.totals.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Whether a thread has ended by itself, which only a fault of romer's makes it do.
    pub fn has_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Threads that have been at one turn of their work for long, as far as it is to be told now: once, and again whenever that has
    /// become twice as long. To be asked every second or so.
    pub fn stuck(&self) -> Vec<Stuck> {
        self.watchdog.stuck_threads(romer_host::clock::monotonic_now())
    }

    /// Whether a thread has been at one turn of its work for seconds.
    pub fn is_stuck(&self) -> bool {
        self.watchdog.is_stuck(romer_host::clock::monotonic_now())
    }

    /// Authenticates by `key` from now on. Sessions that go on may use the key that it replaces. A responder without a key remains
    /// without one.
    pub fn replace_key(&self, key: Arc<Key>) {
        self.key.replace(key);
        // The reflecting thread takes it before it answers what was made with it.
        self.wakers.iter().for_each(|waker| waker.wake());
    }

    /// Ends both threads and gives the totals, with the document of them, and the names of threads that have not ended within four
    /// seconds. These go on; the program may end all the same.
    pub fn finish(mut self) -> (Totals, Respond, Vec<String>) {
        let unfinished = self.end();
        (self.totals(), self.document(), unfinished)
    }

    fn end(&mut self) -> Vec<String> {
        self.stop.store(true, Ordering::Release);
        self.wakers.iter().for_each(|waker| waker.wake());
        join_within(self.threads.drain(..).collect(), SHUTDOWN_TIMEOUT)
    }
}

/// Waits for threads to end, for so long in all. Gives the names of those that have not.
fn join_within(threads: Vec<JoinHandle<()>>, patience: std::time::Duration) -> Vec<String> {
    let deadline = std::time::Instant::now() + patience;
    let is_late = || std::time::Instant::now() >= deadline;
    let mut unfinished = Vec::new();
    for thread in threads {
        while !thread.is_finished() && !is_late() {
            std::thread::sleep(SHUTDOWN_POLL_INTERVAL);
        }
        if thread.is_finished() {
            // A panic of the thread has been reported by itself.
            let _ = thread.join();
        } else {
            unfinished.push(thread.thread().name().unwrap_or("unnamed").to_owned());
        }
    }
    unfinished
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.end();
    }
}

/// The threads.
const REFLECT: &str = "romer-reflect";
const CONTROL: &str = "romer-control";

fn spawn(name: &'static str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, EndpointError> {
    std::thread::Builder::new().name(name.into()).spawn(work).map_err(|source| {
        let error = HostError::System { operation: "start the thread", subject: name.into(), source };
        EndpointError::host("start a thread", "responder", "raise the limit of processes", error)
    })
}

fn new_waker() -> Result<Arc<Waker>, EndpointError> {
    Waker::new().map(Arc::new).map_err(|error| {
        EndpointError::host("make an event descriptor", "responder", "raise the limit of open files", error)
    })
}

fn everywhere(port: u16) -> Vec<SocketAddr> {
    [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)]
        .map(|address| SocketAddr::new(address, port))
        .to_vec()
}

/// Without IPv6 in the kernel its wildcard cannot be bound; that is no fault where nobody asked for it.
fn optional(asked: bool, address: SocketAddr, error: Option<i32>) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    const EADDRNOTAVAIL: i32 = 99;
    !asked && address.is_ipv6() && matches!(error, Some(EAFNOSUPPORT | EADDRNOTAVAIL))
}

/// Requests a second that the test sockets are to hold for a second, besides the probes of granted sessions. Whoever floods them
/// fills what they hold, and every other request then waits until that is worked off: some 40,000 short ones, well below a second.
const UNASKED_A_SECOND: u64 = 16_000;

/// What the test sockets ask the kernel for while sessions are granted that send so many packets a second, all together.
fn receive_buffer(granted_a_second: u64) -> u32 {
    SocketOptions::buffer_for(granted_a_second.saturating_add(UNASKED_A_SECOND))
}

/// The interfaces that have the addresses which test packets are received at; none where that is any address.
fn interfaces(options: &RespondOptions) -> Result<Vec<String>, EndpointError> {
    let mut interfaces = Vec::new();
    for address in &options.listen {
        if address.ip().is_unspecified() {
            return Ok(Vec::new());
        }
        let interface = host_info::interface_with(address.ip());
        interfaces.extend(interface.map_err(|error| refusal(None, error))?);
    }
    Ok(interfaces)
}

fn test_sockets(options: &RespondOptions) -> Result<Vec<StampingSocket>, EndpointError> {
    let asked = !options.listen.is_empty();
    let addresses = if asked { options.listen.clone() } else { everywhere(stamp::PORT) };
    let socket_options = test_socket_options(options);
    let mut sockets = Vec::new();
    for address in addresses {
        match StampingSocket::bind(address, &socket_options) {
            Ok(socket) => sockets.push(socket),
            Err(error) if optional(asked, address, error.errno()) => {}
            Err(error) => return Err(bind_error("receive test packets", address, error)),
        }
    }
    Ok(sockets)
}

/// The sockets for test packets that a service manager opened.
fn adopted_sockets(
    descriptors: Vec<OwnedFd>,
    options: &RespondOptions,
) -> Result<Vec<StampingSocket>, EndpointError> {
    let socket_options = test_socket_options(options);
    let adopt = |descriptor| StampingSocket::adopt(descriptor, &socket_options);
    descriptors.into_iter().map(adopt).collect::<Result<_, _>>().map_err(|error| {
        EndpointError::host("use the inherited sockets", "LISTEN_FDS", "correct the socket unit", error)
    })
}

fn test_socket_options(options: &RespondOptions) -> SocketOptions {
    SocketOptions {
        kernel_stamps: options.kernel_stamps,
        card_stamps: options.card_stamps,
        // Hops are counted from 255 (RFC 5357 section 4.1.2).
        ttl: Some(255),
        // A reply that the way back does not take whole is told, and not taken apart.
        dont_fragment: true,
        // More with each session that is granted.
        receive_buffer: receive_buffer(0),
        // Replies that a queue of this host drops are not sent, and no losses of the path.
        path_errors: true,
        ..SocketOptions::default()
    }
}

fn control_listeners(
    options: &RespondOptions,
    tests: &[SocketAddr],
) -> Result<Vec<TcpListener>, EndpointError> {
    let asked = !options.control.is_empty();
    let addresses = if asked {
        options.control.clone()
    } else {
        tests.iter().map(|address| SocketAddr::new(address.ip(), control::PORT)).collect()
    };
    let mut listeners = Vec::new();
    for address in addresses {
        let bound = romer_host::stream::listen(address);
        match bound {
            Ok(listener) => listeners.push(listener),
            Err(error) if optional(asked, address, error.errno()) => {}
            Err(error) => return Err(bind_error("receive control conversations", address, error)),
        }
    }
    Ok(listeners)
}

fn bind_error(what: &'static str, address: SocketAddr, source: HostError) -> EndpointError {
    let mend = if source.is_permission() {
        format!(
            "port {} needs the capability CAP_NET_BIND_SERVICE: run as root, or `sudo setcap \
             cap_net_bind_service+ep $(command -v romer)`, or choose a port above 1023 with --listen",
            address.port()
        )
    } else {
        match source.errno() {
            Some(98) => {
                "another program has this port: end it, or choose another with --listen and --control".into()
            }
            _ => "choose an address of this host with --listen and --control".into(),
        }
    };
    EndpointError::Host { what, place: with_zone(address), source: Box::new(source), mend }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that does not end is named, and the others are joined.
    #[test]
    fn stuck_threads_are_left() {
        let release = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&release);
        let stuck = spawn("stuck", move || {
            while !until.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        });
        let threads = vec![stuck.unwrap(), spawn("other", || {}).unwrap()];
        assert_eq!(join_within(threads, std::time::Duration::from_millis(20)), ["stuck"]);
        release.store(true, Ordering::Release);
    }
}
