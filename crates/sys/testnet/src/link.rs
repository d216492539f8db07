//! A virtual link between two namespaces on which nothing but the test sends.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use romer_host::clock::monotonic_now;
use romer_host::link::Network;
use romer_host::socket::wait_any;
use romer_port::{Arena, Frame, PacketPort, Port, PortName, Received, Sent, XdpMode, XdpPort};

use crate::namespace::Namespace;

/// How long anything may take. Only a failure waits as long.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// `v0` in one namespace, `v1` in the other.
#[derive(Debug)]
pub struct Link {
    /// The namespaces of `v0` and of `v1`.
    pub ends: [Namespace; 2],
}

impl Link {
    /// Creates it, and waits until frames arrive in each direction.
    pub fn new(mtu: u32) -> Self {
        let link = Self { ends: [Namespace::create(), Namespace::create()] };
        let networks = link.networks();
        for network in &networks {
            for scope in ["all", "default"] {
                // Kernels without IPv6 send nothing by it.
                let _ = network.set_parameter(&format!("net/ipv6/conf/{scope}/disable_ipv6"), "1");
            }
        }
        networks[0].add_veth("v0", "v1", Some(&link.ends[1].0)).unwrap();
        for (index, network) in networks.iter().enumerate() {
            network.set_mtu(&format!("v{index}"), mtu).unwrap();
            network.set_up(&format!("v{index}"), true).unwrap();
        }
        wait_until("the link runs", || {
            networks.iter().enumerate().all(|(i, network)| network.link(&format!("v{i}")).unwrap().running)
        });
        link.prime();
        link
    }

    /// Sends each way until the newest frame arrives. A link that says it runs may still drop what it is given,
    /// because its queue comes into being a moment later. A link keeps order, so that nothing is under way then.
    fn prime(&self) {
        let mut ends = [self.open(0), self.open(1)];
        for (from, to) in [(0, 1), (1, 0)] {
            let mut number = 0_u8;
            wait_until("the link carries frames", || {
                number = number.wrapping_add(1);
                ends[from].send(&[number; 60]);
                let wait = Some(romer_units::Duration::from_millis(20));
                wait_any(&[ends[to].port.as_fd()], None, wait).unwrap();
                let (mut frames, to) = (Vec::new(), &mut ends[to]);
                to.port.rx_burst(&mut to.arena, &mut frames).unwrap();
                let newest = frames.iter().any(|frame| to.arena.octets_of(frame)[0] == number);
                frames.into_iter().for_each(|frame| to.arena.release(frame));
                newest
            });
        }
    }

    /// The links of each namespace.
    pub fn networks(&self) -> [Network; 2] {
        [self.ends[0].network(), self.ends[1].network()]
    }

    /// The name of the port at an end, 0 or 1.
    pub fn port_name(&self, end: usize) -> PortName {
        format!("{}/v{end}", self.ends[end].0).parse().unwrap()
    }

    /// A port over a packet socket at an end, 0 or 1.
    pub fn open(&self, end: usize) -> TestPort {
        let arena = Arena::new(4_096, 9_100).unwrap();
        let port = PacketPort::open(&self.port_name(end), &arena).unwrap();
        TestPort { port: Box::new(port), arena }
    }

    /// A port over an XDP socket; `None` where this user may load no program, which the kernel must say then.
    pub fn open_xdp(&self, end: usize, mode: XdpMode) -> Option<TestPort> {
        let mut arena = Arena::new(4_096, 1_526).unwrap();
        match XdpPort::open(&self.port_name(end), &mut arena, mode) {
            Ok(port) => Some(TestPort { port: Box::new(port), arena }),
            Err(error) => {
                assert!(error.is_permission() && !may_load_programs(), "{error}");
                None
            }
        }
    }
}

/// Whether this process has the rights of root over the machine, and not only over a user namespace.
pub fn may_load_programs() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap();
    let whole = map.split_whitespace().collect::<Vec<_>>() == ["0", "0", "4294967295"];
    whole && romer_host::process::user() == 0
}

/// A port with an arena of its own.
#[expect(missing_debug_implementations, reason = "a port has none")]
pub struct TestPort {
    /// The port.
    pub port: Box<dyn Port>,
    /// Where its frames lie.
    pub arena: Arena,
}

impl TestPort {
    /// Sends one frame.
    pub fn send(&mut self, octets: &[u8]) -> Sent {
        let frame = self.arena.frame(octets, monotonic_now()).unwrap();
        let mut frames = [frame].into();
        let sent = self.port.tx_burst(&mut self.arena, &mut frames);
        for frame in frames {
            self.arena.release(frame);
        }
        sent
    }

    /// What comes next.
    pub fn receive(&mut self, frames: &mut Vec<Frame>) -> Received {
        let begin = Instant::now();
        loop {
            let received = self.port.rx_burst(&mut self.arena, frames).unwrap();
            if received != Received::default() {
                return received;
            }
            assert!(begin.elapsed() < TIMEOUT, "nothing came");
            wait_any(&[self.port.as_fd()], None, Some(romer_units::Duration::from_millis(50))).unwrap();
        }
    }

    /// The octets of the next frame.
    pub fn next_frame(&mut self) -> Vec<u8> {
        let mut frames = Vec::new();
        let received = self.receive(&mut frames);
        assert_eq!((received.frames, received.oversize), (1, 0));
        let octets = self.arena.octets_of(&frames[0]).to_vec();
        self.arena.release(frames.pop().unwrap());
        octets
    }
}

/// Waits until `holds`.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < TIMEOUT, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
