//! The host: interfaces that go down and away, and are left as they were.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use romer_host::link::Network;
use romer_host::netns;
use romer_port::{HostGuard, HostGuards, LinkState, NotRestored, PortError, PortName, Refusal, Sent};

use crate::in_network;
use romer_testnet::frames::frame;
use romer_testnet::link::{Link, wait_until};
use romer_testnet::namespace::Namespace;

/// Names the port that a process of this program is to take over until it is killed.
const VICTIM: &str = "ROMER_PORTS_VICTIM";
/// What it says just before.
const BEGINS: &str = "taking over";

#[test]
fn what_an_interface_takes_and_drops_because_its_other_end_is_down_is_told() {
    in_network!("what_an_interface_takes_and_drops_because_its_other_end_is_down_is_told")(|| {
        let link = Link::new(1_500);
        let networks = link.networks();
        let mut one = link.open(0);
        let octets = frame([2; 6], &[], 0x88b5, 60);
        assert!(one.send(&octets).frames == 1 && one.port.carries());
        networks[1].set_up("v1", false).unwrap();
        // First it refuses; then its queue is taken away, and all that it takes is gone.
        wait_until("it takes a frame all the same", || match one.send(&octets) {
            Sent { frames: 1, refused: None } => {
                assert!(!one.port.carries(), "it has said that the frame went on");
                true
            }
            sent => {
                assert_eq!((sent.frames, sent.refused), (0, Some(Refusal::Undeliverable)));
                false
            }
        });
        networks[1].set_up("v1", true).unwrap();
        wait_until("it carries again", || one.port.carries());
    });
}

#[test]
fn a_link_may_go_down_and_come_up_again() {
    in_network!("a_link_may_go_down_and_come_up_again")(|| {
        let link = Link::new(1_500);
        let networks = link.networks();
        let [mut one, mut other] = [link.open(0), link.open(1)];
        let octets = frame([2; 6], &[], 0x88b5, 60);
        for down in [0, 1] {
            networks[down].set_up(&format!("v{down}"), false).unwrap();
            wait_until("it is down", || other.port.link() == LinkState::Down);
            let mut frames = Vec::new();
            assert_eq!(other.port.rx_burst(&mut other.arena, &mut frames).unwrap().frames, 0);
            // An interface that is up itself may take what it cannot deliver; who sends asks for the state before.
            if down == 1 {
                let sent = other.send(&octets);
                assert_eq!((sent.frames, sent.refused), (0, Some(Refusal::Undeliverable)));
            }
            networks[down].set_up(&format!("v{down}"), true).unwrap();
            wait_until("it is up", || [&one, &other].iter().all(|end| end.port.link() == LinkState::Up));
            // A link that says it runs may still lose what it is given, for a moment.
            wait_until("it carries frames", || {
                one.send(&octets);
                let mut frames = Vec::new();
                let received = other.port.rx_burst(&mut other.arena, &mut frames).unwrap();
                frames.into_iter().for_each(|frame| other.arena.release(frame));
                received.frames > 0
            });
        }
    });
}

#[test]
fn an_interface_that_is_taken_away_is_told() {
    in_network!("an_interface_that_is_taken_away_is_told")(|| {
        let link = Link::new(1_500);
        let mut end = link.open(1);
        assert_eq!(end.port.link(), LinkState::Up);
        link.networks()[0].delete_link("v0").unwrap();
        wait_until("it is gone", || end.port.link() == LinkState::Gone);
        let sent = end.send(&frame([2; 6], &[], 0x88b5, 60));
        assert_eq!((sent.frames, sent.refused), (0, Some(Refusal::Undeliverable)));
        let mut frames = Vec::new();
        assert_eq!(end.port.rx_burst(&mut end.arena, &mut frames).unwrap().frames, 0);
    });
}

#[test]
fn what_is_no_port_is_named() {
    in_network!("what_is_no_port_is_named")(|| {
        let namespace = Namespace::create();
        let open = |name: String| {
            let arena = romer_port::Arena::new(64, 1_518).unwrap();
            romer_port::PacketPort::open(&name.parse::<PortName>().unwrap(), &arena).map(drop)
        };
        let loopback = open(format!("{}/lo", namespace.0)).unwrap_err();
        assert!(matches!(loopback, PortError::NotEthernet(_)), "{loopback}");
        let missing = open(format!("{}/v7", namespace.0)).unwrap_err().to_string();
        assert_eq!(missing, "there is no interface \"v7\"");
        let nowhere = open("romer-no-such-namespace/v0".into()).unwrap_err().to_string();
        assert!(nowhere.contains("romer-no-such-namespace"), "{nowhere}");
        let guard = HostGuard::take_over(&format!("{}/v7", namespace.0).parse().unwrap()).unwrap_err();
        assert_eq!(guard.to_string(), "there is no interface \"v7\"");
    });
}

/// A namespace with `e0` and `e1` in a bridge, as the path of a laboratory has it, and what is known of `e0`.
struct Bridged {
    namespace: Namespace,
    network: Network,
}

impl Bridged {
    fn new() -> Self {
        let namespace = Namespace::create();
        let network = namespace.network();
        network.add_bridge("br0").unwrap();
        network.set_up("br0", true).unwrap();
        for (name, peer) in [("e0", "f0"), ("e1", "f1")] {
            network.add_veth(name, peer, None).unwrap();
            network.set_up(name, true).unwrap();
            network.set_up(peer, true).unwrap();
            network.set_bridge(name, Some("br0")).unwrap();
        }
        Self { namespace, network }
    }

    fn port(&self) -> PortName {
        format!("{}/e0", self.namespace.0).parse().unwrap()
    }

    /// What a run may not change for good.
    fn state(&self) -> (Vec<Option<bool>>, Option<u32>, u32) {
        use romer_host::ethtool::Offload;
        let offloads = Offload::ALL.map(|offload| self.network.offload("e0", offload).unwrap());
        let link = self.network.link("e0").unwrap();
        (offloads.into(), link.controller, link.mtu)
    }
}

#[test]
fn an_interface_is_put_back_when_its_guard_is_dropped() {
    in_network!("an_interface_is_put_back_when_its_guard_is_dropped")(|| {
        let bridged = Bridged::new();
        let before = bridged.state();
        assert!(before.0.contains(&Some(true)) && before.1.is_some(), "{before:?}");
        let guard = HostGuard::take_over(&bridged.port()).unwrap();
        assert_eq!(guard.taken().bridge.as_deref(), Some("br0"));
        assert!(!guard.taken().offloads.is_empty());
        let again = HostGuard::take_over(&bridged.port()).unwrap_err().to_string();
        assert_eq!(again, "interface e0 is in use by another romer");
        let during = bridged.state();
        assert_eq!(during.1, None);
        assert_ne!(during.0, before.0);
        drop(guard);
        assert_eq!(bridged.state(), before);
    });
}

#[test]
fn whoever_takes_an_interface_that_is_being_put_back_finds_it_as_it_was() {
    in_network!("whoever_takes_an_interface_that_is_being_put_back_finds_it_as_it_was")(|| {
        let bridged = Bridged::new();
        let before = bridged.state();
        let first = HostGuard::take_over(&bridged.port()).unwrap();
        let second = std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(100));
                drop(first);
            });
            HostGuard::take_over(&bridged.port()).unwrap()
        });
        assert_eq!(second.taken().bridge.as_deref(), Some("br0"));
        assert_eq!(bridged.state().1, None);
        drop(second);
        assert_eq!(bridged.state(), before);
    });
}

/// What somebody set of `e0` as a port of its bridge, as iproute2 tells it; what the bridge learned by itself left out.
fn port_settings(namespace: &str) -> String {
    let told = |args: &[&str]| {
        let output = Command::new("bridge").args(["-n", namespace]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let set = |line: &&str| ["static", "permanent"].iter().any(|word| line.contains(word));
    let link = told(&["-d", "link", "show", "dev", "e0"]);
    let vlans = told(&["vlan", "show", "dev", "e0"]);
    let addresses: Vec<String> =
        told(&["fdb", "show", "dev", "e0"]).lines().filter(set).map(Into::into).collect();
    let groups: Vec<String> = told(&["mdb", "show"])
        .lines()
        .filter(set)
        .filter(|line| line.contains("e0"))
        .map(Into::into)
        .collect();
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines.join("\n")
    };
    format!("{link}\n{vlans}\n{}\n{}", sorted(addresses), sorted(groups))
}

#[test]
fn a_port_comes_back_to_its_bridge_with_all_that_was_set_of_it() {
    in_network!("a_port_comes_back_to_its_bridge_with_all_that_was_set_of_it")(|| {
        let bridged = Bridged::new();
        let namespace = bridged.namespace.0.clone();
        // The kernel tells the bridge later that the link is there; until then the port is disabled.
        wait_until("the port forwards", || port_settings(&namespace).contains("state forwarding"));
        let fresh = port_settings(&namespace);
        let set = |line: &str| {
            Command::new("bridge")
                .args(["-n", &namespace])
                .args(line.split_whitespace())
                .output()
                .unwrap()
                .status
                .success()
        };
        for line in [
            "link set dev e0 cost 77 priority 9 isolated on learning off hairpin on flood off mcast_flood off \
             bcast_flood off neigh_suppress on fastleave on mcast_router 2 guard on",
            "link set dev e0 state 0",
            "fdb add 02:00:00:00:00:11 dev e0 master static",
            "mdb add dev br0 port e0 grp 239.1.2.3 permanent",
            "mdb add dev br0 port e0 grp ff15::77 permanent",
        ] {
            assert!(set(line), "bridge {line}");
        }
        let mut told = vec!["cost 77", "isolated on", "state disabled", "00:11", "239.1.2.3", "ff15::77"];
        // Not every kernel has VLANs in its bridges.
        if set("vlan add dev e0 vid 5 pvid untagged") {
            for line in [
                "vlan del dev e0 vid 1",
                "vlan add dev e0 vid 100-199",
                "fdb add 02:00:00:00:00:12 dev e0 master static vlan 5",
            ] {
                assert!(set(line), "bridge {line}");
            }
            told.extend(["00:12 vlan 5", "100-199"]);
        }
        // Nor groups by their source.
        if set("mdb add dev br0 port e0 grp 239.9.9.9 src 10.0.0.1 permanent") {
            told.push("src 10.0.0.1");
        }
        let before = port_settings(&namespace);
        for told in told {
            assert!(before.contains(told) && !fresh.contains(told), "{told}: {before}");
        }
        let guard = HostGuard::take_over(&bridged.port()).unwrap();
        assert_eq!(bridged.state().1, None);
        drop(guard);
        assert_eq!(port_settings(&namespace), before);
    });
}

#[test]
fn two_ports_of_a_bridge_come_back_with_their_numbers_whichever_was_taken_first() {
    in_network!("two_ports_of_a_bridge_come_back_with_their_numbers_whichever_was_taken_first")(|| {
        let bridged = Bridged::new();
        let ports =
            ["e0", "e1"].map(|name| format!("{}/{name}", bridged.namespace.0).parse::<PortName>().unwrap());
        let numbers = || {
            netns::with_namespace(&bridged.namespace.0, || {
                let told =
                    Command::new("ip").args(["-d", "-o", "link", "show", "master", "br0"]).output().unwrap();
                let told = String::from_utf8(told.stdout).unwrap();
                let number = |line: &str| {
                    let name = line.split(": ").nth(1)?.split('@').next()?;
                    Some((name.to_owned(), line.split("port_no ").nth(1)?.split(' ').next()?.to_owned()))
                };
                let mut all: Vec<_> = told.lines().filter_map(number).collect();
                all.sort();
                all
            })
            .unwrap()
        };
        let before = numbers();
        assert_eq!(before, [("e0", "0x1"), ("e1", "0x2")].map(|(a, b)| (a.to_owned(), b.to_owned())));
        for order in [[0, 1], [1, 0]] {
            let guards = order.map(|port| HostGuard::take_over(&ports[port]).unwrap());
            assert_eq!(numbers(), []);
            drop(HostGuards::new(guards));
            assert_eq!(numbers(), before, "taken in the order {order:?}");
            let both = order.map(|port| ports[port].to_string()).join(" ");
            for kill in 0..10 {
                let mut victim = Command::new(std::env::current_exe().unwrap())
                    .args(["host::victim", "--exact", "--nocapture"])
                    .env(VICTIM, &both)
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap();
                wait_until("both are taken", || numbers().is_empty());
                victim.kill().unwrap();
                victim.wait().unwrap();
                wait_until("both are back", || numbers().len() == 2);
                assert_eq!(numbers(), before, "kill {kill}, taken in the order {order:?}");
            }
        }
        // Where nobody takes the less number, its absence is not waited for without end.
        let other = HostGuard::take_over(&ports[0]).unwrap();
        drop(HostGuard::take_over(&ports[1]).unwrap());
        assert_eq!(numbers().len(), 1);
        drop(other);
        assert_eq!(numbers().len(), 2);
    });
}

/// Runs `ip` with these words.
fn ip(line: &str) {
    let done = Command::new("ip").args(line.split_whitespace()).output().unwrap();
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// An interface that was renamed, or moved to another network namespace with or without a name, gets its offloads back, after
/// a normal end and after a kill.
#[test]
fn renamed_or_moved_interface_is_restored() {
    in_network!("renamed_or_moved_interface_is_restored")(|| {
        use romer_host::ethtool::Offload;
        let offloads = |network: &Network, name: &str| {
            Offload::ALL.map(|offload| network.offload(name, offload).unwrap())
        };
        for (place, is_killed) in ["renamed", "named", "taken index", "unnamed"]
            .into_iter()
            .flat_map(|place| [false, true].map(|is_killed| (place, is_killed)))
        {
            let bridged = Bridged::new();
            let other = Namespace::create();
            let (here, there) = (&bridged.namespace.0, &other.0);
            if place == "taken index" {
                for pair in 0..4 {
                    other.network().add_veth(&format!("x{pair}"), &format!("y{pair}"), None).unwrap();
                }
            }
            let before = offloads(&bridged.network, "e0");
            let mut victim = None;
            let mut guards = None;
            if is_killed {
                let process = Command::new(std::env::current_exe().unwrap())
                    .args(["host::victim", "--exact", "--nocapture"])
                    .env(VICTIM, bridged.port().to_string())
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap();
                wait_until("offloads are off", || offloads(&bridged.network, "e0") != before);
                // What is switched off last is off, too.
                wait_until("it is taken", || bridged.state().1.is_none());
                std::thread::sleep(Duration::from_millis(50));
                victim = Some(process);
            } else {
                guards = Some(HostGuard::take_over(&bridged.port()).unwrap());
                assert_ne!(offloads(&bridged.network, "e0"), before);
            }
            let mut holder = None;
            match place {
                "renamed" => ip(&format!("-n {here} link set dev e0 name z0")),
                "unnamed" => {
                    let process = Command::new("unshare").args(["--net", "sleep", "60"]).spawn().unwrap();
                    let own = std::fs::read_link("/proc/self/ns/net").unwrap();
                    wait_until("another namespace", || {
                        std::fs::read_link(format!("/proc/{}/ns/net", process.id())).is_ok_and(|it| it != own)
                    });
                    ip(&format!("-n {here} link set dev e0 netns {}", process.id()));
                    holder = Some(process);
                }
                _ => ip(&format!("-n {here} link set dev e0 netns {there}")),
            }
            if let Some(mut process) = victim {
                process.kill().unwrap();
                process.wait().unwrap();
            }
            drop(guards);
            let after = || match (place, &holder) {
                ("renamed", _) => offloads(&bridged.network, "z0"),
                (_, Some(holder)) => {
                    let name = format!("{there}u");
                    ip(&format!("netns attach {name} {}", holder.id()));
                    let found = offloads(&Network::open(Some(&name)).unwrap(), "e0");
                    netns::delete(&name).unwrap();
                    found
                }
                _ => offloads(&other.network(), "e0"),
            };
            wait_until(&format!("offloads are back: {place}, killed {is_killed}"), || after() == before);
            if place == "renamed" {
                let network = &bridged.network;
                wait_until("it is in its bridge", || {
                    network.link("z0").unwrap().controller == Some(network.link("br0").unwrap().index)
                });
            }
            if let Some(mut holder) = holder {
                holder.kill().unwrap();
                holder.wait().unwrap();
            }
        }
    });
}

/// What cannot be put back is said: an interface that is no more, and one whose bridge is no more.
#[test]
fn what_is_not_restored_is_said() {
    in_network!("what_is_not_restored_is_said")(|| {
        let bridged = Bridged::new();
        let ports = ["e0", "e1"].map(|name| format!("{}/{name}", bridged.namespace.0).parse().unwrap());
        let mut guards = HostGuards::new(ports.map(|port: PortName| HostGuard::take_over(&port).unwrap()));
        let there = Namespace::create();
        bridged.network.delete_link("br0").unwrap();
        bridged.network.delete_link("e0").unwrap();
        ip(&format!("-n {} link set dev e1 netns {}", bridged.namespace.0, there.0));
        let all = NotRestored { bridge: true, offloads: true, namespace: false };
        assert_eq!(guards.restore(), [all, NotRestored { offloads: false, namespace: true, ..all }]);
    });
}

/// The offloads that were on are named, and no others: they are what has to be on again.
#[test]
fn switched_off_offloads_are_those_that_were_on() {
    in_network!("switched_off_offloads_are_those_that_were_on")(|| {
        let bridged = Bridged::new();
        let shown = || {
            let command = ["netns", "exec", &bridged.namespace.0, "ethtool", "-k", "e0"];
            let shown = Command::new("ip").args(command).output().unwrap().stdout;
            String::from_utf8(shown).unwrap()
        };
        let names = [
            ("tcp-segmentation-offload", "tso"),
            ("generic-segmentation-offload", "gso"),
            ("generic-receive-offload", "gro"),
            ("tx-checksumming", "tx"),
            ("large-receive-offload", "lro"),
            ("tx-vlan-offload", "txvlan"),
            ("rx-vlan-offload", "rxvlan"),
        ];
        for gro in ["on", "off"] {
            let set = ["netns", "exec", &bridged.namespace.0, "ethtool", "-K", "e0", "gro", gro];
            assert!(Command::new("ip").args(set).status().unwrap().success());
            let before = shown();
            let is_on = |long: &str| before.contains(&format!("{long}: on"));
            let on: Vec<&str> =
                names.iter().filter(|(long, _)| is_on(long)).map(|(_, short)| *short).collect();
            assert_eq!(on.contains(&"gro"), gro == "on");
            let guard = HostGuard::take_over(&bridged.port()).unwrap();
            assert_eq!(guard.taken().offloads, on);
        }
    });
}

/// Not a test of its own: what others start and kill.
#[test]
fn victim() {
    let Some(names) = std::env::var_os(VICTIM) else { return };
    println!("{BEGINS}");
    let take = |name: &str| HostGuard::take_over(&name.parse().unwrap()).unwrap();
    let _guards: Vec<HostGuard> = names.to_str().unwrap().split(' ').map(take).collect();
    std::thread::sleep(Duration::from_secs(600));
}

/// Ends all of a process's group at once, as a shell or a supervisor does that is through with a job.
fn kill_group(leader: u32) {
    let group = format!("-{leader}");
    assert!(Command::new("kill").args(["-KILL", "--", &group]).status().unwrap().success());
}

/// An interface is restored when its process and its group are killed at any time.
#[test]
fn killed_groups_restore_interfaces() {
    in_network!("killed_groups_restore_interfaces")(|| {
        /// Kills at moments of the beginning, and how far these are apart.
        const EARLY: u32 = 40;
        const STEP: Duration = Duration::from_micros(150);
        let bridged = Bridged::new();
        let before = bridged.state();
        for round in 0..EARLY + 4 {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["host::victim", "--exact", "--nocapture"]).env(VICTIM, bridged.port().to_string());
            let mut victim = command.stdout(Stdio::piped()).process_group(0).spawn().unwrap();
            let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
            assert!(lines.map(Result::unwrap).any(|line| line.contains(BEGINS)), "it has not begun");
            if round < EARLY {
                std::thread::sleep(STEP * round);
            } else {
                wait_until("it is taken over", || bridged.state() != before);
            }
            kill_group(victim.id());
            victim.wait().unwrap();
            wait_until(&format!("all is as it was after kill {round}"), || bridged.state() == before);
        }
    });
}
