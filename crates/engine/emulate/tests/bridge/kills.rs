//! Bridges that are killed at any moment, alone or with their process group, leave the host as it was.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use romer_emulate::live::{DataPlane, LiveBridge, LiveOptions};
use romer_host::ethtool::Offload;
use romer_host::netns;
use romer_impair::{Config, Path};
use romer_port::PortName;
use romer_units::random::{RandomStream, Seed};

use crate::live::{Bench, delayed};
use romer_testnet::link::{may_load_programs, wait_until};
use romer_testnet::namespace::with_network;

/// Names the ports that a process of this program is to bridge until it is killed, and how.
const VICTIM: &str = "ROMER_BRIDGE_VICTIM";
/// Where the moments come from.
const SEED: Seed = Seed([2, 6, 5, 3, 5, 8]);

/// All that is known of the bridge's two ports from outside.
fn state(bench: &Bench) -> String {
    let ports = [(&bench.near, 1), (&bench.far, 0)];
    let of = |(link, end): (&romer_testnet::link::Link, usize)| {
        let name = format!("v{end}");
        let network = &link.networks()[end];
        let offloads = Offload::ALL.map(|offload| network.offload(&name, offload).unwrap());
        let show = || Command::new("ip").args(["-d", "link", "show", "dev", &name]).output().unwrap();
        let shown = netns::with_namespace(&link.ends[end].0, show).unwrap();
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        format!("{offloads:?}\n{}", String::from_utf8_lossy(&shown.stdout))
    };
    ports.map(of).join("\n")
}

/// Not a test of its own: what the next one starts and kills.
#[test]
fn victim() {
    let Ok(ports) = std::env::var(VICTIM) else { return };
    let mut words = ports.split(' ');
    let mut port = || words.next().unwrap().parse::<PortName>().unwrap();
    let ports = [port(), port()];
    let data_plane = if words.next() == Some("xdp") { DataPlane::Xdp } else { DataPlane::Packet };
    let options = LiveOptions {
        ports,
        scenario: Config::default().into(),
        least_hold: romer_units::Duration::ZERO,
        samples: None,
        allow_default_route: false,
        data_plane,
    };
    let _bridge = LiveBridge::start(&options).unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

/// A bridge killed at any time leaves its host as it was.
#[test]
fn killed_bridges_restore_the_host() {
    with_network("kills::killed_bridges_restore_the_host", || {
        let kills = std::env::var("ROMER_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_u64);
        let bench = Bench::new();
        let before = state(&bench);
        assert!(before.contains("Some(true)"), "{before}");
        // Once to its end in good order, so that what a first bridge leaves for good (a name, a count) is there.
        let options: LiveOptions = bench.options(Path::default());
        LiveBridge::start(&options).unwrap().stop().unwrap();
        // A process that another test starts has copies of this one's sockets for a moment.
        let is_as_before = || state(&bench) == before;
        wait_until("all is as it was after a good end", is_as_before);
        let planes = if may_load_programs() { ["packet", "xdp"] } else { ["packet", "packet"] };
        for number in 0..kills {
            let [kind, wait, ..] = RandomStream::new(SEED, [1, 1]).block(number);
            let ports = [bench.near.port_name(1), bench.far.port_name(0)];
            let named = format!("{} {} {}", ports[0], ports[1], planes[usize::from(kind % 2 == 0)]);
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["kills::victim", "--exact", "--nocapture"]).env(VICTIM, &named);
            let mut victim =
                command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
            if kind % 3 == 0 {
                wait_until("it has begun", || state(&bench) != before);
            }
            std::thread::sleep(Duration::from_micros(u64::from(wait % 60_000)));
            if number % 2 == 0 {
                victim.kill().unwrap();
            } else {
                let group = format!("-{}", victim.id());
                assert!(Command::new("kill").args(["-KILL", "--", &group]).status().unwrap().success());
            }
            victim.wait().unwrap();
            wait_until(&format!("all is as it was after kill {number} of {named}"), is_as_before);
        }
        // And the next one has the ports as the first had.
        let bridge = bench.bridge(delayed(1_000));
        let mut hosts = bench.hosts();
        assert_eq!(hosts[0].send(&[2; 60]).frames, 1);
        assert_eq!(hosts[1].next_frame(), [2; 60]);
        bridge.stop().unwrap();
        wait_until("all is as it was at the end", is_as_before);
    });
}
