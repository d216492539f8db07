//! The reflector in the kernel, over a virtual link: what it answers, what it leaves to user space, and that it ends.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};

use romer_bpf::assembler::{Assembler, R0};
use romer_bpf::reflector::{KernelCounters, KernelReflector, ReflectorRules, ReplyClock};
use romer_bpf::{Link, Program, XdpMode};
use romer_host::HostError;
use romer_host::clock::realtime_now;
use romer_host::host_info::clock_sync;
use romer_host::netns::with_namespace;
use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket};
use romer_host::xdp::xdp_support;
use romer_port::{Arena, PacketPort, Port};
use romer_session::limit::Limiter;
use romer_session::reflector::{Incoming, Reflector, ReflectorAction};
use romer_testnet::link::{TestPort, may_load_programs, wait_until};
use romer_testnet::namespace::{Namespace, Pair, with_network};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Duration, Timestamp};
use romer_wire::stamp::{
    BASE, ErrorEstimate, ReflectorPacket, ReplyFormat, SenderPacket, TimestampFormat, WireTime,
};

const PORT: u16 = 862;

fn rules() -> ReflectorRules {
    let addresses = Pair::ADDRESSES.map(|family| SocketAddr::new(family[1].parse().unwrap(), PORT));
    ReflectorRules {
        addresses: addresses.to_vec(),
        allowed: Vec::new(),
        refused_ports: vec![7, 862],
        least_ttl: 0,
        rate: 1_000_000,
        format: ReplyFormat::Ntp,
        secret: [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210],
    }
}

fn reply_clock() -> ReplyClock {
    ReplyClock {
        error: ErrorEstimate::new(true, TimestampFormat::Ntp, 20, 7).unwrap(),
        atomic_ahead: Duration::from_secs(i64::from(clock_sync().unwrap().tai_offset_s)),
    }
}

/// A link with a reflector on its other end, and sockets at both.
struct Bench {
    pair: Pair,
    reflector: KernelReflector,
    /// A program on the near end, with which a virtual link takes what the far end's program returns.
    _near: Option<Link>,
    /// User space at the far end, for both families.
    user_space: [StampingSocket; 2],
    mode: XdpMode,
}

fn attach(place: &Namespace, interface: &str, rules: &ReflectorRules, mode: XdpMode) -> KernelReflector {
    let attach = || KernelReflector::attach(rules, reply_clock(), &[interface.to_owned()], &[mode]);
    with_namespace(&place.0, attach).unwrap().unwrap()
}

/// A program on the near end that passes every frame.
fn pass_all(pair: &Pair) -> Link {
    const PASS: i32 = 2;
    let mut program = Assembler::new();
    program.set(R0, PASS);
    program.exit();
    let program = Program::load_xdp(&program.finish().unwrap()).unwrap();
    let index = pair.one.network().link("v0").unwrap().index;
    with_namespace(&pair.one.0, || program.attach_xdp(index, XdpMode::Native)).unwrap().unwrap()
}

impl Bench {
    fn new(rules: &ReflectorRules, mode: XdpMode) -> Self {
        let pair = Pair::create();
        let near = (mode == XdpMode::Native).then(|| pass_all(&pair));
        let reflector = attach(&pair.other, "v1", rules, mode);
        let options = SocketOptions::default();
        let user_space = rules.addresses.iter().map(|address| {
            with_namespace(&pair.other.0, || StampingSocket::bind(*address, &options)).unwrap().unwrap()
        });
        let user_space = user_space.collect::<Vec<_>>().try_into().unwrap();
        let bench = Self { pair, reflector, _near: near, user_space, mode };
        bench.prime();
        bench
    }

    /// A link whose end was just attached to may drop what it is given for a moment.
    fn prime(&self) {
        for family in 0..2 {
            let socket = self.socket(family);
            wait_until("the reflector answers", || {
                let _ = socket.send(&Outgoing::new(&request(0, BASE), self.target(family), 0));
                !receive(&socket, 50).is_empty()
            });
        }
    }

    fn socket(&self, family: usize) -> StampingSocket {
        self.pair.one.bind(Pair::ADDRESSES[family][0].parse().unwrap(), &SocketOptions::default())
    }

    fn target(&self, family: usize) -> SocketAddr {
        self.user_space[family].local_address()
    }

    /// Sends `payload`, and gives the answer of the kernel; `None` where user space got it.
    fn exchange(&self, socket: &StampingSocket, family: usize, payload: &[u8]) -> Option<Vec<u8>> {
        socket.send(&Outgoing::new(payload, self.target(family), 0)).unwrap();
        let mut answer = None;
        wait_until("the datagram is answered or received", || {
            answer = receive(socket, 5).pop();
            answer.is_some() || receive(&self.user_space[family], 0).pop().is_some_and(|came| came == payload)
        });
        answer
    }
}

/// Runs `test` in both modes, where this user may load programs.
fn in_each_mode(test: impl Fn(XdpMode)) {
    if may_load_programs() {
        XdpMode::ALL.into_iter().for_each(test);
    }
}

/// What comes within so many milliseconds, up to the first.
fn receive(socket: &StampingSocket, milliseconds: i64) -> Vec<Vec<u8>> {
    let mut batch = ReceiveBatch::new(8, 2_048);
    socket.wait(Some(Duration::from_millis(milliseconds))).unwrap();
    match socket.receive_batch(&mut batch) {
        Ok(0) | Err(_) => Vec::new(),
        Ok(_) => batch.iter().map(|datagram| datagram.payload.to_vec()).collect(),
    }
}

fn sender(sequence: u32) -> SenderPacket {
    SenderPacket {
        sequence,
        timestamp: WireTime::from_unix_nanos(realtime_now().as_nanos(), TimestampFormat::Ntp),
        error: ErrorEstimate::new(true, TimestampFormat::Ntp, 11, 3).unwrap(),
        ssid: None,
    }
}

fn request(sequence: u32, octets: usize) -> Vec<u8> {
    let mut payload = vec![0; octets];
    sender(sequence).emit(&mut payload).unwrap();
    payload
}

/// A reply has the fields of RFC 8762 section 4.3.1, with the program's times on the real-time clock. The checksum is right,
/// because the receiving kernel verifies it, and octets behind the base packet come back.
#[test]
fn base_packets_are_reflected() {
    with_network("base_packets_are_reflected", || {
        in_each_mode(|mode| {
            for format in [ReplyFormat::Ntp, ReplyFormat::Ptp] {
                let bench = Bench::new(&ReflectorRules { format, ..rules() }, mode);
                for (family, octets) in
                    [(0, BASE), (1, BASE), (0, 45), (1, 47), (0, 300), (1, 1_452), (0, 1_472)]
                {
                    let socket = bench.socket(family);
                    let packet = sender(7);
                    let mut payload = vec![0; octets];
                    packet.emit(&mut payload).unwrap();
                    let before = realtime_now().as_nanos();
                    let answer = bench.exchange(&socket, family, &payload).expect("the kernel answers");
                    let after = realtime_now().as_nanos();
                    assert_eq!(answer.len(), octets, "{mode:?}");
                    let reply = ReflectorPacket::parse(&answer).unwrap();
                    assert_eq!((reply.sequence, reply.sender_sequence), (7, Some(7)));
                    assert_eq!(reply.sender_timestamp, Some(packet.timestamp));
                    assert_eq!(reply.sender_error, Some(packet.error));
                    assert_eq!(reply.sender_ttl, Some(64));
                    assert_eq!((reply.error.scale(), reply.error.multiplier()), (20, 7));
                    let format = format.answering(packet.error);
                    assert_eq!(reply.error.format(), format);
                    let [t2, t3] = [reply.receive_timestamp.unwrap(), reply.timestamp]
                        .map(|time| time.to_unix_nanos(format, before).unwrap());
                    // The formats round to a nanosecond.
                    assert!(before - 1 <= t2 && t2 <= t3 && t3 <= after + 1, "{before} {t2} {t3} {after}");
                    assert!(answer[BASE..].iter().all(|octet| *octet == 0));
                }
                assert_eq!(bench.reflector.interfaces().collect::<Vec<_>>(), [("v1", mode)]);
            }
        });
    });
}

/// A checksum that the sender computed itself is verified, and the reply's is right.
#[test]
fn finished_checksums_are_right() {
    with_network("finished_checksums_are_right", || {
        in_each_mode(|mode| {
            let bench = Bench::new(&rules(), mode);
            bench.pair.one.network().disable_offloads("v0").unwrap();
            for family in 0..2 {
                let socket = bench.socket(family);
                for sequence in 0..2_000 {
                    let answer =
                        bench.exchange(&socket, family, &request(sequence, BASE + 20)).expect("an answer");
                    assert_eq!(ReflectorPacket::parse(&answer).unwrap().sequence, sequence);
                }
            }
        });
    });
}

/// Everything that is no plain request reaches user space as it came, and is counted.
#[test]
fn other_datagrams_reach_user_space() {
    with_network("other_datagrams_reach_user_space", || {
        in_each_mode(|mode| {
            let bench = Bench::new(&rules(), mode);
            bench.reflector.leave_to_user_space(0x1234, true).unwrap();
            let socket = bench.socket(0);
            let mut cases = vec![
                ("shorter than a base packet", request(1, BASE - 1)),
                ("a one-way probe", vec![0; 60]),
                ("a text", b"hello".to_vec()),
            ];
            for (name, place, value) in [
                ("a receive timestamp", 16, 1),
                ("padding in a field that must be zero", 43, 1),
                ("a TLV", 44, 0x80),
                ("padding at the end", 99, 1),
            ] {
                let mut payload = request(1, 100);
                payload[place] = value;
                cases.push((name, payload));
            }
            let mut session = request(1, BASE);
            session[14..16].copy_from_slice(&[0x12, 0x34]);
            cases.push(("a packet of a session", session.clone()));
            let passed = || bench.reflector.counters().unwrap().passed;
            for (name, payload) in cases {
                let before = passed();
                assert_eq!(bench.exchange(&socket, 0, &payload), None, "{name}");
                assert_eq!(passed() - before, 1, "{name}");
            }
            bench.reflector.leave_to_user_space(0x1234, false).unwrap();
            assert!(bench.exchange(&socket, 0, &session).is_some(), "the session has ended");
            let from_echo = SocketAddr::new(Pair::ADDRESSES[0][0].parse().unwrap(), 7);
            let echo = with_namespace(&bench.pair.one.0, || {
                StampingSocket::bind(from_echo, &SocketOptions::default())
            });
            assert_eq!(
                bench.exchange(&echo.unwrap().unwrap(), 0, &request(1, BASE)),
                None,
                "the echo service"
            );
        });
    });
}

/// What the kernel answers, the reflector of user space answers too, with the same octets but for T2 and T3. Requests are valid
/// ones with up to three octets replaced, of random length.
#[test]
fn replies_equal_those_of_user_space() {
    const REQUESTS: u64 = 3_000;
    const HOPS: u8 = 64;
    with_network("replies_equal_those_of_user_space", || {
        in_each_mode(|mode| {
            let bench = Bench::new(&rules(), mode);
            let random = RandomStream::new(Seed([8762, 8972, 4, 3, 1, 862]), [0, 0]);
            let limiter = Limiter::new(1_000_000, 16, (1, 2), Timestamp::from_nanos(0));
            let mut user_space = Reflector::new(limiter, Vec::new());
            let sockets = [0, 1].map(|family| bench.socket(family));
            let mut answered = 0;
            for ordinal in 0..REQUESTS {
                let [kind, length, changes, words @ ..] = random.block(ordinal);
                let family = usize::try_from(kind % 2).unwrap();
                let length = [44, 14 + usize::try_from(length % 100).unwrap()][usize::from(length % 3 == 0)];
                let mut payload = request(u32::try_from(ordinal).unwrap(), length);
                for word in words.iter().take(usize::try_from(changes % 4).unwrap()) {
                    let [place, value, ..] = word.to_le_bytes();
                    payload[usize::from(place) % length] = value;
                }
                let Some(reply) = bench.exchange(&sockets[family], family, &payload) else { continue };
                answered += 1;
                let source = sockets[family].local_address();
                let incoming = Incoming {
                    payload: &payload,
                    source,
                    destination: bench.target(family),
                    ttl: Some(HOPS),
                    tos: Some(0),
                    arrived: realtime_now().on(),
                    proved: false,
                    expected: false,
                };
                let judged = user_space.on_datagram(&incoming, Timestamp::from_nanos(0));
                let ReflectorAction::Answer(answer) = judged else { panic!("{judged:?} of {payload:?}") };
                let mut expected = vec![0; 2_048];
                let written = answer.write(realtime_now().on(), reply_clock().error, &mut expected).unwrap();
                expected.truncate(written.octets);
                assert_eq!(without_times(reply), without_times(expected), "{payload:?}");
            }
            assert!((REQUESTS / 10..REQUESTS).contains(&answered), "{answered}: both happen often");
        });
    });
}

/// A reply with zeros in place of T3 and T2.
fn without_times(mut reply: Vec<u8>) -> Vec<u8> {
    reply[4..12].fill(0);
    reply[16..24].fill(0);
    reply
}

/// The one's complement sum of the octets (RFC 1071), complemented.
fn checksum(octets: &[u8]) -> [u8; 2] {
    let mut sum: u32 =
        octets.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!u16::try_from(sum).unwrap()).to_be_bytes()
}

/// A request in a frame from `v0` to `v1`, with right checksums.
fn request_frame(pair: &Pair) -> Vec<u8> {
    let networks =
        [(&pair.one, "v0"), (&pair.other, "v1")].map(|(end, link)| end.network().link(link).unwrap());
    let [source, destination] = Pair::ADDRESSES[0].map(|text| text.parse::<Ipv4Addr>().unwrap().octets());
    let payload = request(3, BASE);
    let length = u16::try_from(8 + BASE).unwrap();
    let mut udp = [40_000_u16, PORT, length, 0].map(u16::to_be_bytes).concat();
    udp.extend(payload);
    let pseudo = [&source[..], &destination, &[0, 17], &length.to_be_bytes(), &udp].concat();
    udp[6..8].copy_from_slice(&checksum(&pseudo));
    let total = (20 + length).to_be_bytes();
    let mut ip = [&[0x45, 0], &total[..], &[0, 1, 0, 0, 64, 17, 0, 0], &source, &destination].concat();
    let header = checksum(&ip);
    ip[10..12].copy_from_slice(&header);
    let [from, to] = networks.map(|link| link.mac.unwrap().0);
    [&to[..], &from, &[8, 0], &ip, &udp].concat()
}

/// What is damaged, in its header of IPv4 or in its datagram, is not answered. A datagram without a checksum is.
#[test]
fn damaged_packets_are_not_answered() {
    /// Octets of the frame: TTL, and the last of the checksum, of the sequence number and of the session identifier.
    const DAMAGED: [usize; 4] = [22, 41, 45, 57];
    with_network("damaged_packets_are_not_answered", || {
        in_each_mode(|mode| {
            let bench = Bench::new(&rules(), mode);
            let name = format!("{}/v0", bench.pair.one.0).parse().unwrap();
            let arena = Arena::new(64, 2_048).unwrap();
            let port: Box<dyn Port> = Box::new(PacketPort::open(&name, &arena).unwrap());
            let mut sender = TestPort { port, arena };
            let whole = request_frame(&bench.pair);
            let mut without = whole.clone();
            without[40..42].fill(0);
            let before = bench.reflector.counters().unwrap().reflected;
            let damaged = DAMAGED.map(|place| {
                let mut frame = whole.clone();
                frame[place] ^= 0x20;
                frame
            });
            for frame in damaged.iter().chain([&whole, &without]) {
                assert_eq!(sender.send(frame).frames, 1);
            }
            // A link keeps order: the last two were judged after all others.
            let answered = || bench.reflector.counters().unwrap().reflected - before;
            wait_until("the whole ones are answered", || answered() >= 2);
            assert_eq!(answered(), 2, "{mode:?}");
        });
    });
}

/// Sources outside the allowed ranges, and those too far away, are left to user space.
#[test]
fn sources_are_judged_by_the_rules() {
    with_network("sources_are_judged_by_the_rules", || {
        in_each_mode(|mode| {
            for (allowed, least_ttl, answered) in [
                (vec!["198.18.0.2"], 64, [true, false]),
                (vec!["198.18.0.0/30", "2001:2:0:18::/64"], 0, [true, true]),
                (vec!["::ffff:198.18.0.0/120"], 0, [true, false]),
                (vec!["198.18.0.3/32", "::/0"], 0, [false, true]),
                (vec![], 65, [false, false]),
            ] {
                let bench = Bench::new(&rules(), mode);
                let allowed = allowed.iter().map(|range| range.parse().unwrap()).collect();
                let strict = ReflectorRules { allowed, least_ttl, ..rules() };
                let Bench { pair, reflector, _near: near, user_space, .. } = bench;
                drop(reflector);
                let reflector = attach(&pair.other, "v1", &strict, mode);
                let bench = Bench { pair, reflector, _near: near, user_space, mode };
                for (family, answered) in answered.into_iter().enumerate() {
                    let socket = bench.socket(family);
                    // What was just attached may drop a frame.
                    let _ = socket.send(&Outgoing::new(b"prime", bench.target(family), 0));
                    wait_until("user space receives", || {
                        let _ = socket.send(&Outgoing::new(b"prime", bench.target(family), 0));
                        !receive(&bench.user_space[family], 20).is_empty()
                    });
                    while !receive(&bench.user_space[family], 20).is_empty() {}
                    let answer = bench.exchange(&socket, family, &request(1, BASE));
                    assert_eq!(answer.is_some(), answered, "{strict:?} family {family} {:?}", bench.mode);
                }
            }
        });
    });
}

/// A prefix gets its rate, with a burst of one second, and no more; what is over it is dropped and counted.
#[test]
fn rates_are_kept() {
    with_network("rates_are_kept", || {
        in_each_mode(|mode| {
            const SENT: u64 = 400;
            let bench = Bench::new(&ReflectorRules { rate: 50, ..rules() }, mode);
            let before = bench.reflector.counters().unwrap();
            let socket = bench.socket(0);
            let begin = std::time::Instant::now();
            for sequence in 0..400 {
                socket.send(&Outgoing::new(&request(sequence, BASE), bench.target(0), 0)).unwrap();
            }
            let mut judged = KernelCounters::default();
            wait_until("all are judged", || {
                judged = bench.reflector.counters().unwrap();
                judged.reflected + judged.rate_limited - before.reflected - before.rate_limited == SENT
            });
            let most = 50 + begin.elapsed().as_millis() / 20 + 1;
            let reflected = judged.reflected - before.reflected;
            assert!(u128::from(reflected) <= most, "{reflected} of {most}");
            assert!(reflected >= 40, "{reflected}: the burst passes, less what came before");
            assert_eq!(judged.octets_reflected - before.octets_reflected, reflected * 44);
            assert_eq!(judged.passed, before.passed);
        });
    });
}

/// A virtual link sends what a program in native mode returns only where its peer has a program too, and the kernel says so: without
/// that the reflector is attached behind the driver, and its replies arrive.
#[test]
fn links_state_whether_replies_leave() {
    with_network("links_state_whether_replies_leave", || {
        if !may_load_programs() {
            return;
        }
        let pair = Pair::create();
        let index = pair.other.network().link("v1").unwrap().index;
        let support = || with_namespace(&pair.other.0, xdp_support).unwrap().unwrap();
        let transmits = || support().map(|all| all[&index].transmit);
        let attach = || KernelReflector::attach(&rules(), reply_clock(), &["v1".into()], &XdpMode::ALL);
        let mode = || with_namespace(&pair.other.0, attach).unwrap().unwrap().interfaces().next().unwrap().1;
        // Kernels before Linux 6.3 say nothing.
        assert!(matches!(transmits(), Some(false) | None));
        assert_eq!(mode(), XdpMode::Generic);
        let _peer = pass_all(&pair);
        if let Some(transmits) = transmits() {
            assert!(transmits);
            assert_eq!(mode(), XdpMode::Native);
        }
    });
}

/// The program is gone with its owner: user space has all datagrams again.
#[test]
fn dropped_reflectors_answer_nothing() {
    with_network("dropped_reflectors_answer_nothing", || {
        in_each_mode(|mode| {
            let Bench { pair, reflector, _near: near, user_space, .. } = Bench::new(&rules(), mode);
            let second = || KernelReflector::attach(&rules(), reply_clock(), &["v1".into()], &XdpMode::ALL);
            let busy = with_namespace(&pair.other.0, second).unwrap();
            assert_eq!(busy.unwrap_err().errno(), Some(HostError::BUSY));
            drop((reflector, near));
            let own: IpAddr = Pair::ADDRESSES[0][0].parse().unwrap();
            let socket = pair.one.bind(own, &SocketOptions::default());
            wait_until("user space receives", || {
                let _ = socket.send(&Outgoing::new(&request(1, BASE), user_space[0].local_address(), 0));
                !receive(&user_space[0], 20).is_empty()
            });
            assert!(receive(&socket, 0).is_empty());
        });
    });
}

/// Names the namespace in which a process of the test below attaches the program.
const ATTACHING: &str = "ROMER_BPF_ATTACHING";

/// A link that is not pinned ends with its process, also by SIGKILL: the kernel then takes a program of another process. 30 times in
/// each mode.
#[test]
fn killed_processes_leave_no_program() {
    const NAME: &str = "killed_processes_leave_no_program";
    const KILLS: usize = 30;
    let attach = |namespace: &str| {
        with_namespace(namespace, || {
            KernelReflector::attach(&rules(), reply_clock(), &["v1".into()], &XdpMode::ALL)
        })
        .unwrap()
    };
    if let Ok(namespace) = std::env::var(ATTACHING) {
        let _reflector = attach(&namespace).unwrap();
        println!("\nattached");
        loop {
            std::thread::park();
        }
    }
    with_network(NAME, || {
        in_each_mode(|mode| {
            let pair = Pair::create();
            let _near = (mode == XdpMode::Native).then(|| pass_all(&pair));
            for kill in 0..KILLS {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args([NAME, "--exact", "--nocapture"]).env(ATTACHING, &pair.other.0);
                let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
                let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
                assert!(lines.any(|line| line.unwrap() == "attached"), "kill {kill}");
                assert_eq!(attach(&pair.other.0).unwrap_err().errno(), Some(HostError::BUSY), "kill {kill}");
                child.kill().unwrap();
                child.wait().unwrap();
                wait_until("the program is gone", || match attach(&pair.other.0) {
                    Ok(reflector) => {
                        assert_eq!(reflector.interfaces().next(), Some(("v1", mode)));
                        true
                    }
                    Err(error) => {
                        assert_eq!(error.errno(), Some(HostError::BUSY), "{error}");
                        false
                    }
                });
            }
        });
    });
}
