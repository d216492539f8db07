//! Cross traffic: a source that sends datagrams at their times, and a sink that counts what arrives.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

use romer_host::HostError;
use romer_host::clock::monotonic_now;
use romer_host::host_info::unspecified;
use romer_host::pacing::{Pacer, Wake};
use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket, wait_any};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Dscp, Duration, Layer, Monotonic, Timestamp};

use crate::EndpointError;
use crate::threads::TOO_LATE;

/// UDP port of a sink, unless another is given.
pub const PORT: u16 = 8_890;
/// How often a wait looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// From the last preparation to the first packet.
const LEAD: Duration = Duration::from_millis(20);
/// Octets of the headers of IPv4 and of IPv6, and of UDP.
const HEADERS: [u32; 2] = [28, 48];
/// The longest payload of UDP, octets.
const LONGEST_PAYLOAD: usize = 65_535;
/// Datagrams that are received with one call.
const BATCH: usize = 64;
/// Calls between two looks whether to end: a flood does not keep a sink from its end.
const BATCHES: usize = 1_024;
/// Octets of each that are read; all of its length counts.
const READ_OCTETS: usize = 64;
/// Datagrams per second for which a sink has room while it does not read.
const SINK_RATE: u64 = 65_536;

/// Where and how cross traffic is sent.
#[derive(Clone, Copy, Debug)]
pub struct NoiseOptions {
    /// Where to.
    pub target: SocketAddr,
    /// Code point.
    pub dscp: Dscp,
    /// Layer at which octets are counted.
    pub layer: Layer,
    /// How long; `None`: until it is ended.
    pub duration: Option<Duration>,
    /// Seed of the payloads, which do not compress.
    pub seed: Seed,
}

/// What a source has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoiseSent {
    /// Packets.
    pub packets: u64,
    /// Their octets at the layer.
    pub octets: u64,
    /// Their octets of payload.
    pub payload_octets: u64,
    /// Packets that the host refused.
    pub refused: u64,
    /// Packets that were due while this program was stopped.
    pub skipped: u64,
    /// From the start to the end.
    pub duration: Duration,
    /// It was ended before its duration had passed.
    pub partial: bool,
}

/// Sends `packets`, each with its offset from the start and its payload in octets, until the duration has passed, there are no
/// more, or `is_ended` says so.
///
/// # Errors
/// The system gives no socket, or a packet is longer than the path is known to take.
pub fn send(
    options: &NoiseOptions,
    packets: impl IntoIterator<Item = (Duration, u32)>,
    is_ended: &dyn Fn() -> bool,
) -> Result<NoiseSent, EndpointError> {
    let NoiseOptions { target, dscp, layer, duration, seed } = *options;
    let socket_options =
        SocketOptions { dscp, kernel_stamps: false, dont_fragment: true, ..SocketOptions::default() };
    let any = SocketAddr::new(unspecified(target), 0);
    let socket = StampingSocket::bind(any, &socket_options).map_err(no_socket)?;
    let content = content(seed);
    let headers = headers(target);
    let mut pacer = Pacer::start_sharing();
    let mut sent = NoiseSent::default();
    let start = monotonic_now() + LEAD;
    let until = |offset: Duration| duration.map_or(offset, |duration| offset.min(duration));
    for (offset, payload) in packets {
        let Some(wake) = wait(&mut pacer, start + until(offset), is_ended) else {
            sent.partial = duration.is_some();
            break;
        };
        if duration.is_some_and(|duration| offset >= duration) {
            break;
        }
        let is_over = duration.is_some_and(|duration| offset + wake.late >= duration);
        if wake.late >= TOO_LATE || is_over {
            sent.skipped += 1;
            continue;
        }
        let length = usize::try_from(payload).unwrap_or(LONGEST_PAYLOAD).min(content.len());
        match socket.send(&Outgoing::new(&content[..length], target, 0)) {
            Ok(_) => {
                sent.packets += 1;
                sent.payload_octets += u64::from(payload);
                sent.octets += u64::from(layer.octets(payload, headers));
            }
            Err(error) if error.is_too_long() => {
                return Err(EndpointError::Usage(format!(
                    "packet too long (--mix): {} bytes of IP are more than the path takes; use smaller frames",
                    payload.saturating_add(headers)
                )));
            }
            Err(_) => sent.refused += 1,
        }
    }
    sent.duration = (monotonic_now() - start).max(Duration::ZERO);
    Ok(sent)
}

/// Waits until `at`; `None` where it is to end before.
fn wait(pacer: &mut Pacer, at: Timestamp<Monotonic>, is_ended: &dyn Fn() -> bool) -> Option<Wake> {
    loop {
        if is_ended() {
            return None;
        }
        let left = at - monotonic_now();
        if left <= POLL_INTERVAL {
            return Some(pacer.wait_until(at));
        }
        std::thread::sleep(POLL_INTERVAL.to_std());
    }
}

/// Octets that do not compress.
fn content(seed: Seed) -> Vec<u8> {
    let stream = RandomStream::new(seed, [u32::from_be_bytes(*b"nois"), 0]);
    let words = (0..).flat_map(|ordinal| stream.block(ordinal));
    words.flat_map(u32::to_le_bytes).take(LONGEST_PAYLOAD).collect()
}

fn headers(address: SocketAddr) -> u32 {
    HEADERS[usize::from(address.is_ipv6())]
}

fn no_socket(error: HostError) -> EndpointError {
    EndpointError::host("open a socket", "noise", "see whether the host has an address of this family", error)
}

/// What a sink has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoiseReceived {
    /// Packets.
    pub packets: u64,
    /// Their octets at the layer.
    pub octets: u64,
    /// Their octets of payload.
    pub payload_octets: u64,
    /// Octets of the first at the layer.
    pub first_octets: u64,
    /// Packets that the kernel dropped because they were not received fast enough.
    pub dropped: u64,
    /// From the first to the last.
    pub duration: Option<Duration>,
}

/// The sockets of a sink, of both families.
#[derive(Debug)]
pub struct NoiseSink {
    sockets: Vec<StampingSocket>,
    layer: Layer,
    port: u16,
}

impl NoiseSink {
    /// Listens at `port` of all addresses.
    ///
    /// # Errors
    /// The port is taken or privileged.
    pub fn bind(port: u16, layer: Layer) -> Result<Self, EndpointError> {
        let options = SocketOptions {
            kernel_stamps: false,
            receive_buffer: SocketOptions::buffer_for(SINK_RATE),
            ..SocketOptions::default()
        };
        let place = |error| {
            EndpointError::host("open a socket", format!("--port {port}"), "choose another port", error)
        };
        let v4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
        let first = StampingSocket::bind(v4, &options).map_err(place)?;
        let port = first.local_address().port();
        let v6 = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
        // A host without IPv6 has IPv4 all the same.
        let second = StampingSocket::bind(v6, &options).ok();
        Ok(Self { sockets: std::iter::once(first).chain(second).collect(), layer, port })
    }

    /// Its port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Counts until the duration has passed (`None`: without end) or `is_ended` says so.
    ///
    /// # Errors
    /// The system has no memory for the wait.
    pub fn count(
        &self,
        duration: Option<Duration>,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<NoiseReceived, EndpointError> {
        let failed = |error| EndpointError::host("receive", "noise", "free memory of this host", error);
        let descriptors: Vec<_> = self.sockets.iter().map(AsFd::as_fd).collect();
        let mut batch = ReceiveBatch::new(BATCH, READ_OCTETS);
        let mut received = NoiseReceived::default();
        let mut first = None;
        let end = duration.map(|duration| monotonic_now() + duration);
        let mut is_last = false;
        while !is_last {
            // What came before the end is counted.
            is_last = is_ended() || end.is_some_and(|end| monotonic_now() >= end);
            let timeout = if is_last { Duration::ZERO } else { POLL_INTERVAL };
            wait_any(&descriptors, None, Some(timeout)).map_err(failed)?;
            for socket in &self.sockets {
                let headers = headers(socket.local_address());
                for _ in 0..BATCHES {
                    if socket.receive_batch(&mut batch).map_err(failed)? == 0 {
                        break;
                    }
                    let now = monotonic_now();
                    let first = *first.get_or_insert(now);
                    received.duration = Some(now - first);
                    for datagram in batch.iter() {
                        let payload = u32::try_from(datagram.length).unwrap_or(u32::MAX);
                        let octets = u64::from(self.layer.octets(payload, headers));
                        if received.packets == 0 {
                            received.first_octets = octets;
                        }
                        received.packets += 1;
                        received.payload_octets += u64::from(payload);
                        received.octets += octets;
                    }
                }
            }
        }
        let dropped = self.sockets.iter().filter_map(|socket| socket.kernel_drops().ok());
        received.dropped = dropped.map(u64::from).sum();
        Ok(received)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn options(target: SocketAddr, duration: Option<Duration>) -> NoiseOptions {
        NoiseOptions { target, dscp: Dscp::DEFAULT, layer: Layer::L2, duration, seed: Seed([7; 6]) }
    }

    /// What is sent arrives, and both ends count the same at their layer.
    #[test]
    fn both_ends_count_the_same() {
        for address in ["127.0.0.1", "::1"] {
            let sink = NoiseSink::bind(0, Layer::L2).unwrap();
            let target = SocketAddr::new(address.parse().unwrap(), sink.port());
            let is_over = AtomicBool::new(false);
            let (sent, received) = std::thread::scope(|scope| {
                let sink = scope.spawn(|| sink.count(None, &|| is_over.load(Ordering::Acquire)));
                let packets = (0..100_u32).map(|n| (Duration::from_millis(i64::from(n)), 10 * n));
                let sent = send(&options(target, None), packets, &|| false);
                // What was sent over loopback has arrived when the call returns.
                is_over.store(true, Ordering::Release);
                (sent.unwrap(), sink.join().unwrap().unwrap())
            });
            assert_eq!((sent.packets, sent.payload_octets, sent.partial), (100, 49_500, false), "{address}");
            assert_eq!(received.packets, sent.packets, "{address}");
            assert_eq!((received.octets, received.payload_octets), (sent.octets, sent.payload_octets));
            assert_eq!(received.first_octets, if address == "::1" { 66 } else { 64 });
            assert!(received.duration.is_some(), "{received:?}");
        }
    }

    /// A sink answers nothing, whatever arrives.
    #[test]
    fn sinks_answer_nothing() {
        let sink = NoiseSink::bind(0, Layer::L2).unwrap();
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for length in [0, 1, 44, 1_472, 60_000] {
            socket.send_to(&vec![7; length], (Ipv4Addr::LOCALHOST, sink.port())).unwrap();
        }
        let received = sink.count(None, &|| true).unwrap();
        assert_eq!((received.packets, received.payload_octets), (5, 61_517));
        socket.set_nonblocking(true).unwrap();
        assert_eq!(socket.recv(&mut [0; 100]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }

    /// A source ends with its duration, and says where it was ended before.
    #[test]
    fn sources_end_with_their_duration() {
        let sink = NoiseSink::bind(0, Layer::L2).unwrap();
        let target = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), sink.port());
        let endless = || (0..).map(|n| (Duration::from_millis(10 * n), 64));
        let whole = send(&options(target, Some(Duration::from_millis(95))), endless(), &|| false).unwrap();
        assert_eq!(whole.packets + whole.skipped, 10);
        assert!(!whole.partial && whole.duration >= Duration::from_millis(95), "{whole:?}");
        let ended = send(&options(target, Some(Duration::from_secs(60))), endless(), &|| true).unwrap();
        assert_eq!((ended.packets, ended.partial), (0, true));
    }

    /// The content of packets depends on the seed, and is as long as the longest packet.
    #[test]
    fn contents_follow_from_the_seed() {
        let [one, other] = [1, 2].map(|word| content(Seed([word; 6])));
        assert_eq!((one.len(), other.len()), (LONGEST_PAYLOAD, LONGEST_PAYLOAD));
        assert_ne!(one, other);
        assert_eq!(one, content(Seed([1; 6])));
    }
}
