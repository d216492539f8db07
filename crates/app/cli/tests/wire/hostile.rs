//! What strangers do to a responder's control channel. On loopback, where each 127.0.N.0/24 is a network of its own.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use romer_record::document::ProbeDirection;
use romer_record::refusal::{LimitScope, Refusal};
use romer_session::association;
use romer_session::control::{Message, RefusalCode, Refused, Request, ReverseStreamRequest, unhex};
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::common::count;
use crate::common::lab::{FAR_V6, Lab, is_inside};
use crate::common::process::{Process, romer};
use crate::control::{ControlConnection, encoded, frame, hello, round_trip};
use crate::sessions::memory;

/// A host of network `network`.
fn host(network: u8, host: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, network, host).into()
}

/// A responder on loopback, and its control address.
fn respond(arguments: &[&str]) -> (Process, SocketAddr) {
    started(
        romer(["respond", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--json", "-"])
            .args(arguments),
    )
}

fn started(command: &mut Command) -> (Process, SocketAddr) {
    let mut responder = Process::start(command);
    let line = responder.line();
    let (_, control) = line.trim_end().split_once("control at TCP ").unwrap_or_else(|| panic!("{line:?}"));
    (responder, control.parse().unwrap())
}

/// Ends a responder in good order. Gives its document.
fn end(responder: Process) -> Value {
    responder.signal("TERM");
    let ended = responder.wait().with_code(0);
    ended.document()
}

/// Greets, asks for a session of some minutes over a connection of its own, and proves its address. Gives the link where it was
/// granted, or why not.
fn session(from: IpAddr, control: SocketAddr) -> Result<ControlConnection, Option<Refused>> {
    let mut link = ControlConnection::from(from, control);
    let Some(Message::Welcome(welcome)) = link.greet() else { return Err(None) };
    link.say(&encoded(&Message::Request(Request { interval_ns: 60_000_000_000, ..round_trip() })));
    let granted = match link.hear() {
        Some(Message::Granted(granted)) => granted,
        Some(Message::Refused(refused)) => return Err(Some(refused)),
        other => panic!("{other:?}"),
    };
    let probes = UdpSocket::bind(SocketAddr::new(from, 0)).unwrap();
    let datagram = association::datagram(unhex(&granted.token).unwrap());
    probes.send_to(&datagram, SocketAddr::new(control.ip(), welcome.test_port)).unwrap();
    match link.hear() {
        Some(Message::Associated(_)) => Ok(link),
        other => panic!("{other:?}"),
    }
}

const CONNECTIONS: usize = 1_000;
const FRAMES: usize = 90_000;
const THREADS: usize = 4;
/// Octets by which the responder may grow.
const GROWTH: u64 = 32 << 20;

/// A connection that writes and never reads.
struct Deaf {
    stream: TcpStream,
    /// What it says first, and then again and again.
    first: Vec<u8>,
    frame: Vec<u8>,
    written: usize,
}

impl Deaf {
    /// The connection of this number.
    fn open(number: usize, control: SocketAddr) -> Option<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::new(host(1, 5), 0).into()).unwrap();
        socket.connect(&control.into()).ok()?;
        socket.set_nonblocking(true).unwrap();
        let hello = encoded(&hello());
        let session = [hello.clone(), encoded(&Message::Request(round_trip()))].concat();
        let (first, frame) = match number % 4 {
            0 => (Vec::new(), frame(99, "")),
            1 => (session, encoded(&Message::Ask)),
            2 => (hello, encoded(&Message::Request(Request { count: 0, ..round_trip() }))),
            _ => (hello, encoded(&Message::Part(Vec::new()))),
        };
        Some(Self { stream: socket.into(), first, frame, written: 0 })
    }

    /// Writes until there is no room or all is written. Gives whether anything was written.
    fn write(&mut self) -> bool {
        let all = self.first.len() + self.frame.len() * FRAMES;
        let mut any = false;
        while self.written < all {
            let first = self.first.get(self.written..).unwrap_or_default();
            let within = self.written.saturating_sub(self.first.len()) % self.frame.len();
            let rest = (all - self.written - first.len()).min(1 << 16);
            let frames = self.frame.iter().cycle().skip(within).take(rest);
            let block: Vec<u8> = first.iter().chain(frames).copied().collect();
            match self.stream.write(&block) {
                Ok(count) => self.written += count,
                Err(_) => break,
            }
            any = true;
        }
        any
    }
}

/// A thousand connections that never read cost a responder little memory, and others are served meanwhile.
#[test]
fn deaf_connections_cost_little() {
    romer_host::descriptors::raise().unwrap();
    let (responder, control) = respond(&[]);
    drop(session(host(2, 1), control).ok().unwrap());
    let before = memory(&responder);
    let (open, stop, most) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for part in 0..THREADS {
            let (open, stop) = (&open, &stop);
            scope.spawn(move || {
                let numbers = (part..CONNECTIONS).step_by(THREADS);
                let mut deaf: Vec<Deaf> = numbers
                    .filter_map(|number| {
                        let mut deaf = Deaf::open(number, control);
                        if let Some(deaf) = &mut deaf {
                            deaf.write();
                        }
                        open.fetch_add(1, Ordering::Relaxed);
                        deaf
                    })
                    .collect();
                while !stop.load(Ordering::Relaxed) {
                    let mut wrote = false;
                    for connection in &mut deaf {
                        wrote |= connection.write();
                    }
                    if !wrote {
                        thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        }
        let others = scope.spawn(|| {
            let mut granted = 0_u8;
            while open.load(Ordering::Relaxed) < CONNECTIONS || granted < 20 {
                let begin = Instant::now();
                assert!(session(host(3 + granted % 100, 1), control).is_ok(), "{granted} were granted");
                println!("a session of another network took {:?}", begin.elapsed());
                granted = granted.wrapping_add(1).max(1);
                let now = usize::try_from(memory(&responder)).unwrap();
                most.fetch_max(now, Ordering::Relaxed);
            }
        });
        let done = others.join();
        stop.store(true, Ordering::Relaxed);
        done.unwrap();
    });
    let most = u64::try_from(most.into_inner()).unwrap();
    println!("{before} octets before, {most} at most");
    assert!(most.saturating_sub(before) <= GROWTH, "{before} octets before, {most} at most");
    let document = end(responder);
    assert!(count(&document, "/sessions/refused/overload") > 0, "{document:#}");
    assert_eq!(count(&document, "/stuck_iterations"), 0);
}

/// Connections that begin a long request and do not end it, of networks and of each.
const BEGUN: usize = 500;
const NETWORKS: usize = 5;

/// Requests of 64 KiB that are not whole take little memory together, and others are served meanwhile.
#[test]
fn unfinished_requests_cost_little() {
    romer_host::descriptors::raise().unwrap();
    let (responder, control) = respond(&[]);
    drop(session(host(9, 1), control).ok().unwrap());
    let before = memory(&responder);
    let long = frame(3, &"x".repeat(65_500));
    let mut links: Vec<ControlConnection> = (0..BEGUN)
        .map(|number| {
            let mut link =
                ControlConnection::from(host(u8::try_from(1 + number % NETWORKS).unwrap(), 1), control);
            // Who was cut off already hears nothing.
            link.greet();
            link
        })
        .collect();
    let mut most = 0;
    for part in long[..65_000].chunks(5_000) {
        for link in &mut links {
            link.say(part);
        }
        assert!(session(host(9, 1), control).is_ok());
        most = most.max(memory(&responder));
    }
    println!("{before} octets before, {most} at most");
    assert!(most.saturating_sub(before) <= GROWTH, "{before} octets before, {most} at most");
    drop(links);
    let document = end(responder);
    assert!(count(&document, "/sessions/refused/overload") > 0, "{document:#}");
    assert_eq!((count(&document, "/stuck_iterations"), count(&document, "/sessions/failed")), (0, 0));
}

/// A request whose traffic has a count without end is refused, and the responder goes on.
#[test]
fn endless_genomes_are_refused() {
    let (responder, control) = respond(&[]);
    for model in ["imix:18446744073709551615()a", "imix:18446744073709551615(a)", "onoff:1ms,1ms@g711"] {
        let mut link = ControlConnection::from(host(1, 1), control);
        assert!(link.greet().is_some());
        let stream = ReverseStreamRequest {
            model: model.into(),
            interval_ns: None,
            size: None,
            bundle: None,
            count: Some(1),
            duration_ns: None,
            seed: [1; 6],
            jitter: None,
            ipv6: false,
            floor: 14,
            dscp: 0,
            ecn: 0,
            ttl: 64,
            recorded_sizes: None,
            trace: None,
        };
        let reverse = Request {
            direction: ProbeDirection::Reverse,
            payload_octets: 14,
            stream: Some(stream),
            ..round_trip()
        };
        link.say(&encoded(&Message::Request(reverse)));
        let Some(Message::Refused(refused)) = link.hear() else { panic!("{model} was not refused") };
        assert_eq!(refused.code, RefusalCode::Invalid, "{refused:?}");
    }
    assert!(session(host(1, 1), control).is_ok());
    let document = end(responder);
    assert_eq!(
        (count(&document, "/sessions/refused/invalid"), count(&document, "/stuck_iterations")),
        (3, 0)
    );
}

/// Sessions that all may have, and one network.
const OF_ALL: u8 = 32;
const OF_ONE: u8 = OF_ALL / 4;

/// A network has a quarter of the sessions, whatever its addresses; when all are taken, idle ones make room.
#[test]
fn networks_share_sessions() {
    let (responder, control) = respond(&["--sessions", &OF_ALL.to_string()]);
    let busy = |refused: Result<ControlConnection, Option<Refused>>, scope: LimitScope| {
        let refused = refused.err().flatten().unwrap();
        assert_eq!((refused.code, refused.retry_after_seconds), (RefusalCode::Busy, Some(10)));
        assert_eq!(refused.reason, Refusal::Sessions { scope });
    };
    let mut sessions = Vec::new();
    for network in 1..=4 {
        let own = (1..=OF_ONE).map(|number| session(host(network, number), control).ok().unwrap());
        sessions.extend(own);
        let scope = if network < 4 { LimitScope::Network } else { LimitScope::All };
        busy(session(host(network, 100), control), scope);
    }
    busy(session(host(5, 1), control), LimitScope::All);
    drop(sessions.pop());
    // It takes a moment until the responder knows.
    let late = (0..1_000).find_map(|_| {
        thread::sleep(Duration::from_millis(5));
        session(host(5, 1), control).ok()
    });
    sessions.push(late.unwrap());
    // Nobody says anything until all are idle.
    thread::sleep(Duration::from_secs(21));
    assert!(session(host(6, 1), control).is_ok(), "an idle session made room");
    assert_eq!(count(&end(responder), "/sessions/evicted_sessions"), 1);
}

/// Connections without a session that one of four networks may have.
const SILENT: usize = 128;

/// Four networks hold all places with connections that say nothing, and others are served all the same.
#[test]
fn silent_networks_make_room() {
    romer_host::descriptors::raise().unwrap();
    let (responder, control) = respond(&[]);
    let silent: Vec<ControlConnection> = (1..=4)
        .flat_map(|network| (0..SILENT).map(move |_| ControlConnection::from(host(network, 1), control)))
        .collect();
    let another = session(host(5, 1), control);
    let own = session(host(2, 2), control);
    assert!(another.is_ok(), "a host of a fifth network was refused");
    assert!(own.is_ok(), "another host of a network at its share was refused");
    drop(silent);
    assert_eq!(count(&end(responder), "/stuck_iterations"), 0);
}

/// The addresses of one /64 have the sessions of one network.
#[test]
fn addresses_of_a_64_share_sessions() {
    const NAME: &str = "hostile::addresses_of_a_64_share_sessions";
    if is_inside() {
        let control = SocketAddr::new(FAR_V6.parse().unwrap(), 8_862);
        let addresses = (0..6).map(|number| format!("2001:2:0:18::1:{:x}", 7 * number + 1));
        let granted = addresses.map(|address| {
            let added = ["address", "add", &format!("{address}/64"), "dev", "t0", "nodad"];
            assert!(Command::new("ip").args(added).status().unwrap().success());
            session(address.parse().unwrap(), control)
        });
        // Each is held, so that its session goes on.
        let granted: Vec<_> = granted.collect();
        let taken: Vec<bool> = granted.iter().map(Result::is_ok).collect();
        return assert_eq!(taken, [true, true, true, true, false, false]);
    }
    let lab = Lab::path();
    let _responder = lab.respond(&["--insecure", "--sessions", "16"]);
    lab.run_on_host_a(NAME);
}

/// Hosts outside `--allow` are hung up on before a word is said.
#[test]
fn strangers_hear_nothing() {
    let (responder, control) = respond(&["--allow", "127.0.0.1/32"]);
    for _ in 0..3 {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::new(host(0, 2), 0).into()).unwrap();
        socket.connect(&control.into()).unwrap();
        let mut stream: TcpStream = socket.into();
        let _ = stream.write_all(&encoded(&hello()));
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        assert!(heard.is_empty(), "{heard:?}");
    }
    assert!(session(host(0, 1), control).is_ok());
    assert_eq!(count(&end(responder), "/sessions/refused/not_allowed"), 3);
}

/// Ticks of processor time that a process has taken.
fn ticks(process: &Process) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    [11, 12].iter().map(|place| fields[*place].parse::<u64>().unwrap()).sum()
}

/// Without descriptors a responder waits until some are free, and accepts again then.
#[test]
fn used_up_descriptors_are_waited_for() {
    let program = crate::common::process::PROGRAM;
    let run = "ulimit -n 48; exec \"$0\" respond --listen 127.0.0.1:0 --control 127.0.0.1:0 --json -";
    let (responder, control) = started(Command::new("sh").args(["-c", run, program]));
    let held: Vec<ControlConnection> =
        (0..100).map(|_| ControlConnection::from(host(1, 1), control)).collect();
    let before = ticks(&responder);
    thread::sleep(Duration::from_secs(2));
    // Turning without pause would take 200 of them.
    let spent = ticks(&responder) - before;
    assert!(spent < 60, "{spent} ticks");
    drop(held);
    assert!(session(host(2, 1), control).is_ok());
    end(responder);
}

/// Sessions that one /24 begins by datagrams alone, and what it may have: a quarter of 16,384.
const BEGUN_BY_ONE: u16 = 6_000;
const TABLE_SHARE: u64 = 4_096;

/// One network has no more than its share of the reflector's table, whatever its addresses and sessions; another finds places.
#[test]
fn networks_share_the_table() {
    let mut responder = Process::start(&mut romer([
        "respond",
        "--json",
        "-",
        "--stateful",
        "--listen",
        "127.0.0.1:0",
        "--control",
        "127.0.0.1:0",
    ]));
    let line = responder.line();
    let (_, rest) = line.split_once("test packets at UDP ").unwrap();
    let test: SocketAddr = rest.split_once(',').unwrap().0.parse().unwrap();
    // The base packet of RFC 8762, with a session identifier (RFC 8972).
    let ask = |socket: &UdpSocket, session: u16| {
        let mut request = [0; 44];
        request[4..12].copy_from_slice(&0xe900_0000_0000_0001_u64.to_be_bytes());
        request[12..14].copy_from_slice(&[0x80, 1]);
        request[14..16].copy_from_slice(&session.to_be_bytes());
        socket.send_to(&request, test).unwrap();
        assert_eq!(socket.recv(&mut [0; 100]).expect("it is answered"), 44);
    };
    let from = |address| {
        let socket = UdpSocket::bind(SocketAddr::new(address, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket
    };
    let sockets: Vec<UdpSocket> = (1..=100).map(|number| from(host(1, number))).collect();
    for (session, socket) in (0..BEGUN_BY_ONE).zip(sockets.iter().cycle()) {
        ask(socket, session);
    }
    let other = from(host(2, 1));
    (0..100).for_each(|session| ask(&other, session));
    let document = end(responder);
    let [remembered, without] =
        ["with_state", "without_slot"].map(|name| count(&document, &format!("/sessions/{name}")));
    // By chance a place of the other network's may be taken; of five that has a probability far below 1e-6.
    assert!((TABLE_SHARE + 96..=TABLE_SHARE + 100).contains(&remembered), "{document:#}");
    assert_eq!(remembered + without, u64::from(BEGUN_BY_ONE) + 100, "{document:#}");
}
