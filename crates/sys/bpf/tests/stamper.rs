//! Time stamps that the kernel writes into packets, over a virtual link with a plain echo of UDP at its far end.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use romer_bpf::stamper::{PacketStamper, StampedPackets, StampingEnd};
use romer_host::HostError;
use romer_host::clock::realtime_now;
use romer_host::host_info::clock_sync;
use romer_host::netns::with_namespace;
use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket};
use romer_port::{Arena, PacketPort, Received};
use romer_record::log::Entry;
use romer_session::sender::{Arrival, Departures, EchoedFields, Form, ReplyMatcher, wire_sequence};
use romer_testnet::link::{TestPort, may_load_programs, wait_until};
use romer_testnet::namespace::{Namespace, Pair, with_network};
use romer_units::{Duration, Timestamp};
use romer_wire::dissect;
use romer_wire::stamp::in_packet::{InPacketStamps, SHORTEST, emit};
use romer_wire::stamp::{ErrorEstimate, TimestampFormat};
use romer_wire::udp::Checksum;

const PORT: u16 = 7_007;

/// An echo of UDP that knows nothing of stamps. It ends with this.
struct Echo {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    fn start(place: &Namespace, address: SocketAddr) -> Self {
        let socket = with_namespace(&place.0, || UdpSocket::bind(address)).unwrap().unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_millis(20))).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 2_048];
            while !until.load(Ordering::Acquire) {
                if let Ok((length, from)) = socket.recv_from(&mut buffer) {
                    let _ = socket.send_to(&buffer[..length], from);
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn atomic_ahead() -> Duration {
    Duration::from_secs(i64::from(clock_sync().unwrap().tai_offset_s))
}

fn attach(
    namespace: &str,
    end: StampingEnd,
    own: SocketAddr,
    interface: &str,
) -> Result<PacketStamper, HostError> {
    let attach = || PacketStamper::attach(end, &[own], atomic_ahead(), &[interface.to_owned()]);
    with_namespace(namespace, attach).unwrap()
}

fn capture(place: &Namespace, interface: &str) -> TestPort {
    let arena = Arena::new(4_096, 2_048).unwrap();
    let name = format!("{}/{interface}", place.0).parse().unwrap();
    let port = PacketPort::open(&name, &arena).unwrap();
    TestPort { port: Box::new(port), arena }
}

/// The stamps of the probes and replies that were captured meanwhile. Every datagram has a right checksum.
fn captured(port: &mut TestPort) -> Vec<InPacketStamps> {
    let mut frames = Vec::new();
    while port.port.rx_burst(&mut port.arena, &mut frames).unwrap() != Received::default() {}
    let mut stamps = Vec::new();
    for frame in frames {
        let found = dissect::frame(port.arena.octets_of(&frame)).unwrap();
        if let Some(datagram) = found.udp() {
            assert_eq!(found.udp_checksum(), Some(Checksum::Right), "{datagram:?}");
            stamps.extend(InPacketStamps::parse(datagram.payload()));
        }
        port.arena.release(frame);
    }
    stamps
}

fn probe(number: u32, octets: usize) -> Vec<u8> {
    let mut payload = vec![0; octets];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    assert!(emit(&mut payload));
    payload
}

/// What comes within a while, up to the first that begins as `payload`.
fn receive(socket: &StampingSocket, payload: &[u8]) -> Option<Vec<u8>> {
    let mut batch = ReceiveBatch::new(1, 2_048);
    while socket.wait(Some(Duration::from_millis(50))).unwrap().readable(0) {
        socket.receive_batch(&mut batch).unwrap();
        let answer = batch.iter().next().filter(|datagram| datagram.payload[..4] == payload[..4]);
        if let Some(answer) = answer {
            return Some(answer.payload.to_vec());
        }
    }
    None
}

/// Sends `payload` until a datagram that begins as it comes back: a link whose end was just attached to may drop what it is given
/// for a moment.
fn exchange(socket: &StampingSocket, to: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let mut answer = None;
    wait_until("the echo answers", || {
        socket.send(&Outgoing::new(payload, to, 0)).unwrap();
        answer = receive(socket, payload);
        answer.is_some()
    });
    answer.unwrap()
}

/// A socket whose stamps do not wake who waits for it.
fn bind(place: &Namespace, address: IpAddr) -> StampingSocket {
    place.bind(address, &SocketOptions { kernel_stamps: false, ..SocketOptions::default() })
}

/// Ten thousand probes over both families, of even and odd lengths, return from an echo with four stamps in order, on the
/// real-time clock. Every datagram on the link has a right checksum, and the kernels of both ends drop none.
#[test]
fn probes_return_with_four_stamps() {
    const PROBES: usize = 10_000;
    const LENGTHS: [usize; 4] = [SHORTEST, SHORTEST + 1, 300, 1_451];
    with_network("probes_return_with_four_stamps", || {
        if !may_load_programs() {
            return;
        }
        let pair = Pair::create();
        pair.one.network().disable_offloads("v0").unwrap();
        pair.other.network().disable_offloads("v1").unwrap();
        let mut captures = [capture(&pair.other, "v1"), capture(&pair.one, "v0")];
        for family in 0..2 {
            let [near, far] = Pair::ADDRESSES[family].map(|address| address.parse().unwrap());
            let socket = bind(&pair.one, near);
            let target = SocketAddr::new(far, PORT);
            let _echo = Echo::start(&pair.other, target);
            let initiator =
                attach(&pair.one.0, StampingEnd::Initiator, socket.local_address(), "v0").unwrap();
            let responder = attach(&pair.other.0, StampingEnd::Responder, target, "v1").unwrap();
            let mut counted = [0, 0];
            for (number, length) in (0..).zip(LENGTHS.iter().cycle().take(PROBES / 2)) {
                let payload = probe(number, *length);
                let before = realtime_now().as_nanos();
                let answer = exchange(&socket, target, &payload);
                let after = realtime_now().as_nanos();
                let stamps = InPacketStamps::parse(&answer).unwrap();
                let InPacketStamps { t1: Some(t1), t2: Some(t2), t3: Some(t3), t4: Some(t4) } = stamps else {
                    panic!("{stamps:?}")
                };
                let times = [before, t1, t2, t3, t4, after];
                assert!(times.is_sorted(), "{times:?}");
                assert_eq!(answer.len(), *length);
                assert_eq!(answer[..56], payload[..56]);
                let found = captures.each_mut().map(captured);
                for (stamps, counted) in found.iter().zip(&mut counted) {
                    *counted += stamps.len();
                }
                for stamps in &found[0] {
                    assert!(stamps.t1.is_some() && stamps.t2.is_none(), "{stamps:?}");
                }
                for stamps in &found[1] {
                    assert!(stamps.t3.is_some() && stamps.t4.is_none(), "{stamps:?}");
                }
            }
            assert!(counted.iter().all(|counted| *counted >= PROBES / 2), "{counted:?}");
            for stamper in [&initiator, &responder] {
                let StampedPackets { arrived, departed } = stamper.counters().unwrap();
                assert!(arrived.min(departed) >= 5_000, "{arrived} {departed}");
            }
        }
        for (place, name) in [(&pair.one, "initiator"), (&pair.other, "responder")] {
            let errors = with_namespace(&place.0, romer_host::host_info::udp_checksum_errors);
            assert_eq!(errors.unwrap().unwrap(), 0, "{name}");
        }
    });
}

/// A sender's probes return from the echo as replies with four stamps in order, and t1 and t4 lie where the sender accepts them: t1
/// behind the send call, t4 between the stamps of the socket and of user space.
#[test]
fn senders_accept_the_stamps() {
    const PROBES: u64 = 2_000;
    with_network("senders_accept_the_stamps", || {
        if !may_load_programs() {
            return;
        }
        let pair = Pair::create();
        for family in 0..2 {
            let [near, far] = Pair::ADDRESSES[family].map(|address| address.parse().unwrap());
            let socket = pair.one.bind(near, &SocketOptions::default());
            let target = SocketAddr::new(far, PORT);
            let _echo = Echo::start(&pair.other, target);
            let _initiator =
                attach(&pair.one.0, StampingEnd::Initiator, socket.local_address(), "v0").unwrap();
            let _responder = attach(&pair.other.0, StampingEnd::Responder, target, "v1").unwrap();
            let echoes = Arc::new(EchoedFields::new(PROBES));
            let error = ErrorEstimate::at_least(Duration::from_micros(1), true, TimestampFormat::Ntp);
            let form = Form::Stamp { ssid: 7, error, echoes: Arc::clone(&echoes) };
            let schedule = (0..PROBES).map(|_| (Duration::ZERO, 100));
            let mut departures =
                Departures::new(schedule, Timestamp::from_nanos(0), form).with_in_packet_stamps(true);
            let mut matcher = ReplyMatcher::new(target, None, PROBES, echoes).with_in_packet_stamps(true);
            let (mut batch, mut payload) = (ReceiveBatch::new(1, 2_048), vec![0; 100]);
            while let Some(due) = departures.next_due() {
                departures.write(&due, realtime_now().as_nanos(), &mut payload).unwrap();
                socket.send(&Outgoing::new(&payload, target, wire_sequence(due.sequence))).unwrap();
                let mut entry = None;
                wait_until("the probe returns", || {
                    socket.wait(Some(Duration::from_millis(5))).unwrap();
                    socket.receive_batch(&mut batch).unwrap();
                    let Some(datagram) = batch.iter().next() else { return false };
                    let arrival = Arrival {
                        payload: datagram.payload,
                        source: datagram.peer,
                        user_ns: datagram.user.as_nanos(),
                        kernel_ns: datagram.kernel.map(|at| at.as_nanos()),
                        ttl: datagram.ttl,
                        tos: datagram.tos,
                    };
                    let t1 = matcher.departure_stamp(datagram.payload, due.sequence);
                    entry = Some((matcher.on_datagram(&arrival, due.sequence + 1).unwrap(), t1));
                    true
                });
                let (Entry::Returned { sequence, kernel_ns, told_t2_ns, told_t3_ns, .. }, t1) =
                    entry.unwrap()
                else {
                    panic!("{entry:?}")
                };
                assert_eq!(sequence, due.sequence);
                let times = [t1, told_t2_ns, told_t3_ns, kernel_ns];
                assert!(times.iter().all(Option::is_some) && times.is_sorted(), "{times:?}");
            }
            assert_eq!(matcher.distinct(), PROBES);
        }
    });
}

/// Checksums that are left to the card stay valid: the link has its offloads.
#[test]
fn unfinished_checksums_stay_valid() {
    with_network("unfinished_checksums_stay_valid", || {
        if !may_load_programs() {
            return;
        }
        let pair = Pair::create();
        for family in 0..2 {
            let [near, far] = Pair::ADDRESSES[family].map(|address| address.parse().unwrap());
            let socket = bind(&pair.one, near);
            let target = SocketAddr::new(far, PORT);
            let _echo = Echo::start(&pair.other, target);
            let _initiator =
                attach(&pair.one.0, StampingEnd::Initiator, socket.local_address(), "v0").unwrap();
            let _responder = attach(&pair.other.0, StampingEnd::Responder, target, "v1").unwrap();
            for number in 0..500 {
                let stamps = InPacketStamps::parse(&exchange(&socket, target, &probe(number, 100))).unwrap();
                assert!(stamps.t1.is_some() && stamps.t4.is_some(), "{stamps:?}");
            }
        }
        let errors = with_namespace(&pair.other.0, romer_host::host_info::udp_checksum_errors);
        assert_eq!(errors.unwrap().unwrap(), 0);
    });
}

/// Datagrams of other ports, without the field, too short for it, or with a later stamp pass as they are.
#[test]
fn other_datagrams_stay_as_they_are() {
    with_network("other_datagrams_stay_as_they_are", || {
        if !may_load_programs() {
            return;
        }
        let pair = Pair::create();
        let [near, far] = Pair::ADDRESSES[0].map(|address| address.parse().unwrap());
        let socket = bind(&pair.one, near);
        pair.other.network().add_address("v1", "198.18.0.9".parse().unwrap(), 24).unwrap();
        let mac = pair.other.network().link("v1").unwrap().mac.unwrap();
        pair.one.network().set_neighbour("v0", "198.18.0.9".parse().unwrap(), mac).unwrap();
        let targets = [PORT, PORT + 1].map(|port| SocketAddr::new(far, port));
        let elsewhere = SocketAddr::new("198.18.0.9".parse().unwrap(), PORT);
        let _echoes = [targets[0], targets[1], elsewhere].map(|target| Echo::start(&pair.other, target));
        let responder = attach(&pair.other.0, StampingEnd::Responder, targets[0], "v1").unwrap();
        let whole = probe(1, SHORTEST);
        let mut other_magic = whole.clone();
        other_magic[48] ^= 1;
        let mut stamped = whole.clone();
        stamped[SHORTEST - 1] = 1;
        let cases = [
            ("another port", targets[1], whole.clone()),
            ("another address", elsewhere, whole.clone()),
            ("another magic", targets[0], other_magic),
            ("too short", targets[0], whole[..SHORTEST - 1].to_vec()),
            ("t4 is there", targets[0], stamped),
            ("a text", targets[0], b"hello".to_vec()),
        ];
        for ((name, target, mut payload), number) in cases.into_iter().zip(2_u32..) {
            payload[..4].copy_from_slice(&number.to_be_bytes());
            assert_eq!(exchange(&socket, target, &payload), payload, "{name}");
        }
        assert_eq!(responder.counters().unwrap(), StampedPackets::default());
        assert_ne!(exchange(&socket, targets[0], &whole), whole);
    });
}

/// Names the namespace in which a process of the test below attaches the programs.
const ATTACHING: &str = "ROMER_BPF_STAMPING";

/// Links that are not pinned end with their process, also by SIGKILL: nothing is stamped any more. 30 times.
#[test]
fn killed_processes_stamp_nothing() {
    const NAME: &str = "killed_processes_stamp_nothing";
    const KILLS: usize = 30;
    if let Ok(namespace) = std::env::var(ATTACHING) {
        let own = SocketAddr::new(Pair::ADDRESSES[0][1].parse().unwrap(), PORT);
        let _stamper = attach(&namespace, StampingEnd::Responder, own, "v1").unwrap();
        println!("\nattached");
        loop {
            std::thread::park();
        }
    }
    with_network(NAME, || {
        if !may_load_programs() {
            return;
        }
        let pair = Pair::create();
        let [near, far] = Pair::ADDRESSES[0].map(|address| address.parse().unwrap());
        let target = SocketAddr::new(far, PORT);
        let _echo = Echo::start(&pair.other, target);
        let stamped = || {
            let socket = bind(&pair.one, near);
            InPacketStamps::parse(&exchange(&socket, target, &probe(1, SHORTEST))).unwrap().t2
        };
        assert_eq!(stamped(), None);
        for kill in 0..KILLS {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([NAME, "--exact", "--nocapture"]).env(ATTACHING, &pair.other.0);
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            assert!(lines.any(|line| line.unwrap() == "attached"), "kill {kill}");
            assert!(stamped().is_some(), "kill {kill}");
            child.kill().unwrap();
            child.wait().unwrap();
            // The kernel may remove them a moment after the process.
            wait_until("the programs are gone", || stamped().is_none());
        }
    });
}
