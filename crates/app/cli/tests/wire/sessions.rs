//! Many sessions with one responder, each over sockets of its own.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use romer_record::document::ProbeDirection;
use romer_session::association;
use romer_session::control::{
    ClientHello, ClockIdentity, Decoder, Message, Request, SessionTotals, VERSION, unhex,
};
use socket2::{Domain, Socket, Type};

use crate::common::process::{Process, romer};
use crate::table::octets;

const SESSIONS: u16 = 2_000;
/// Probes of each.
const PROBES: u32 = 5;
/// Sessions that have something on its way at a time, so that no buffer of the kernel overflows.
const PARALLEL_SESSIONS: usize = 50;
/// Networks that they come from: a responder grants one network a quarter of its sessions at the most.
const NETWORKS: u8 = 8;
/// How much memory a session may take, with all that is its.
const MEMORY_OF_ONE: u64 = 32 << 10;
const TIMEOUT: Duration = Duration::from_secs(60);

struct Session {
    ssid: u16,
    control: TcpStream,
    decoder: Decoder,
    probes: UdpSocket,
    /// Where its probes go.
    reflector: SocketAddr,
    records: usize,
}

impl Session {
    /// Connects, greets, and asks for a session.
    fn ask(ssid: u16, responder: SocketAddr, reflector: u16) -> Self {
        let host = Ipv4Addr::new(127, 0, 1 + u8::try_from(ssid % u16::from(NETWORKS)).unwrap(), 1);
        let own = SocketAddr::new(host.into(), 0);
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&own.into()).unwrap();
        socket.connect(&responder.into()).unwrap();
        let probes = probing(own, reflector);
        probes.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut session = Self {
            ssid,
            control: socket.into(),
            decoder: Decoder::default(),
            probes,
            reflector: responder,
            records: 0,
        };
        let clock = ClockIdentity { boot_id: String::new(), realtime_minus_boottime_ns: 0 };
        session.say(&Message::Hello(ClientHello {
            version: VERSION,
            software: "test".into(),
            clock,
            features: Vec::new(),
        }));
        session.say(&Message::Request(Request {
            ssid,
            // As long as this test may take on a busy machine: a session that is over is hung up on.
            interval_ns: 60_000_000_000,
            count: PROBES.into(),
            payload_octets: 44,
            direction: ProbeDirection::RoundTrip,
            stream: None,
        }));
        session
    }

    fn say(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.control.write_all(&bytes).unwrap();
    }

    /// The next message within `time`, or `None`.
    fn hear(&mut self, time: Duration) -> Option<Message> {
        let mut buffer = [0; 4_096];
        self.control.set_read_timeout(Some(time)).unwrap();
        loop {
            if let Some(message) = self.decoder.next().unwrap() {
                return Some(message);
            }
            match self.control.read(&mut buffer) {
                Ok(0) => panic!("the responder has hung up on session {}", self.ssid),
                Ok(length) => self.decoder.extend(&buffer[..length]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return None;
                }
                Err(error) => panic!("session {}: {error}", self.ssid),
            }
        }
    }

    /// Takes the grant, and proves the address of the probes.
    fn associate(&mut self) {
        let Some(Message::Welcome(welcome)) = self.hear(TIMEOUT) else { panic!("no welcome") };
        let Some(Message::Granted(granted)) = self.hear(TIMEOUT) else {
            panic!("session {} refused", self.ssid)
        };
        self.reflector.set_port(welcome.test_port);
        let datagram = association::datagram(unhex(&granted.token).unwrap());
        let since = Instant::now();
        loop {
            self.probes.send_to(&datagram, self.reflector).unwrap();
            match self.hear(Duration::from_secs(2)) {
                Some(Message::Associated(_)) => return,
                Some(other) => panic!("{other:?}"),
                None => assert!(since.elapsed() < TIMEOUT, "session {} is not associated", self.ssid),
            }
        }
    }

    fn send(&self, sequence: u32) {
        let mut probe = octets("00000000 e900000000000001 8001 0000 00*28");
        probe[..4].copy_from_slice(&sequence.to_be_bytes());
        probe[14..16].copy_from_slice(&self.ssid.to_be_bytes());
        self.probes.send_to(&probe, self.reflector).unwrap();
    }

    /// The reply, which must be its own.
    fn receive(&self, sequence: u32) {
        let mut reply = [0; 100];
        let (length, from) = self.probes.recv_from(&mut reply).expect("every session is answered");
        assert_eq!((length, from), (44, self.reflector));
        assert_eq!(reply[24..28], sequence.to_be_bytes());
        assert_eq!(reply[14..16], self.ssid.to_be_bytes());
    }

    /// The totals, after the log.
    fn end(&mut self) -> SessionTotals {
        loop {
            match self.hear(TIMEOUT) {
                Some(Message::Log(records)) => self.records += records.len(),
                Some(Message::End(end)) => return end,
                // What happens to this machine is no matter here.
                Some(Message::Events(_) | Message::Associated(_)) => {}
                other => panic!("session {}: {other:?}", self.ssid),
            }
        }
    }
}

/// A socket for probes that has another port than the reflector, which answers no port of its own.
fn probing(own: SocketAddr, reflector: u16) -> UdpSocket {
    let first = UdpSocket::bind(own).unwrap();
    if first.local_addr().unwrap().port() == reflector { UdpSocket::bind(own).unwrap() } else { first }
}

/// Octets of memory that a process has.
pub(crate) fn memory(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    1_024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

/// 2,000 concurrent sessions are answered within the stated memory.
#[test]
fn two_thousand_sessions_fit_in_memory() {
    let files = romer_host::descriptors::raise().unwrap();
    let needed = 2 * u64::from(SESSIONS) + 100;
    assert!(
        files >= needed,
        "this test needs {needed} open files, and may have {files}: raise the limit (ulimit -n)"
    );
    let mut command = romer(["respond", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"]);
    let mut responder = Process::start(&mut command);
    let line = responder.line();
    let (_, control) = line.trim_end().split_once("control at TCP ").unwrap();
    let control: SocketAddr = control.parse().unwrap();
    let (_, reflector) = line.split_once("test packets at UDP ").unwrap();
    let reflector: SocketAddr = reflector.split_once(',').unwrap().0.parse().unwrap();
    let before = memory(&responder);

    let numbers: Vec<u16> = (1..=SESSIONS).collect();
    let mut sessions: Vec<Session> = Vec::new();
    for numbers in numbers.chunks(PARALLEL_SESSIONS) {
        let first = sessions.len();
        sessions.extend(numbers.iter().map(|number| Session::ask(*number, control, reflector.port())));
        sessions[first..].iter_mut().for_each(Session::associate);
    }
    for sequence in 0..PROBES {
        for sessions in sessions.chunks(PARALLEL_SESSIONS) {
            sessions.iter().for_each(|session| session.send(sequence));
            sessions.iter().for_each(|session| session.receive(sequence));
        }
    }
    let grown = memory(&responder).saturating_sub(before);
    assert!(grown < u64::from(SESSIONS) * MEMORY_OF_ONE, "{grown} octets for {SESSIONS} sessions");

    sessions.iter_mut().for_each(|session| session.say(&Message::Stop));
    for session in &mut sessions {
        let end = session.end();
        let totals = [end.received, end.reflected, end.records_lost];
        assert_eq!(totals, [PROBES.into(), PROBES.into(), 0], "session {}: {end:?}", session.ssid);
        assert_eq!(session.records, PROBES as usize, "session {}", session.ssid);
    }
    responder.signal("TERM");
    let ended = responder.wait().with_code(0);
    assert!(ended.stderr.contains("10000 reflected, 2000 sessions ("), "{ended:?}");
}
