//! Live bridges.

use std::sync::Arc;

use romer_emulate::live::{
    DataPlane, DirectionSnapshot, FeedOptions, LiveBridge, LiveError, LiveOptions, Snapshot,
};
use romer_emulate::{Arrival, Arrivals};
use romer_impair::config::{DEFAULT_FLUSH, Delay, Duplicate, Model, Order};
use romer_impair::{Cause, Config, Decision, Path};
use romer_record::warning::EmulationWarning;
use romer_units::random::Seed;

use romer_testnet::frames::{frame, kinds};
use romer_testnet::link::{Link, TestPort, wait_until};
use romer_testnet::namespace::with_network;

/// `A` - bridge - `B`, the ends of which are the far ends of both links.
pub(crate) struct Bench {
    pub(crate) near: Link,
    pub(crate) far: Link,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { near: Link::new(1_500), far: Link::new(1_500) }
    }

    pub(crate) fn bridge(&self, path: Path) -> LiveBridge {
        LiveBridge::start(&self.options(path)).unwrap()
    }

    pub(crate) fn options(&self, path: Path) -> LiveOptions {
        let ports = [self.near.port_name(1), self.far.port_name(0)];
        LiveOptions {
            ports,
            scenario: config(path).into(),
            least_hold: romer_units::Duration::ZERO,
            samples: None,
            allow_default_route: false,
            data_plane: DataPlane::default(),
        }
    }

    pub(crate) fn hosts(&self) -> [TestPort; 2] {
        [self.near.open(0), self.far.open(1)]
    }
}

/// The same for both directions.
fn config(path: Path) -> Config {
    let path = Arc::new(Path { flush: DEFAULT_FLUSH, ..path });
    let mut config = Config { seed: Some(Seed([1, 2, 3, 4, 5, 6])), ..Config::default() };
    config.base.paths = [vec![Some(Arc::clone(&path))], vec![Some(path)]];
    config
}

pub(crate) fn delayed(nanos: i64) -> Path {
    Path { delay: Model::Plain(Delay { fixed: nanos, variable: None }), ..Path::default() }
}

/// A short frame that carries a number.
pub(crate) fn numbered(number: u32) -> Vec<u8> {
    let mut octets = frame([2; 6], &[], 0x88b5, 60);
    octets[14..18].copy_from_slice(&number.to_be_bytes());
    octets
}

fn number_of(octets: &[u8]) -> u32 {
    u32::from_be_bytes(octets[14..18].try_into().unwrap())
}

/// Everything that has come, by number.
pub(crate) fn drain(end: &mut TestPort) -> Vec<u32> {
    let mut numbers = Vec::new();
    loop {
        let mut frames = Vec::new();
        end.port.rx_burst_of(&mut end.arena, &mut frames);
        if frames.is_empty() {
            return numbers;
        }
        for frame in frames {
            numbers.push(number_of(end.arena.octets_of(&frame)));
            end.arena.release(frame);
        }
    }
}

trait Burst {
    fn rx_burst_of(&mut self, arena: &mut romer_port::Arena, frames: &mut Vec<romer_port::Frame>);
}

impl Burst for dyn romer_port::Port + '_ {
    fn rx_burst_of(&mut self, arena: &mut romer_port::Arena, frames: &mut Vec<romer_port::Frame>) {
        self.rx_burst(arena, frames).unwrap();
    }
}

pub(crate) fn assert_balanced(snapshot: &Snapshot) {
    for direction in &snapshot.directions {
        assert!(direction.ledger.balances(), "{:?}", direction.ledger);
    }
}

fn lost(direction: &DirectionSnapshot, cause: Cause) -> u64 {
    direction.ledger.lost_for(cause)
}

#[test]
fn a_bridge_without_impairment_is_a_wire_for_every_kind_of_frame() {
    with_network("live::a_bridge_without_impairment_is_a_wire_for_every_kind_of_frame", || {
        let bench = Bench::new();
        let bridge = bench.bridge(Path::default());
        let mut hosts = bench.hosts();
        let kinds = kinds();
        for (name, octets) in &kinds {
            for (from, to) in [(0, 1), (1, 0)] {
                assert_eq!(hosts[from].send(octets).frames, 1, "{name}");
                assert_eq!(&hosts[to].next_frame(), octets, "{name}");
            }
        }
        let snapshot = bridge.stop().unwrap();
        assert_balanced(&snapshot);
        for direction in &snapshot.directions {
            assert_eq!(direction.ledger.received, kinds.len() as u64);
            assert_eq!(direction.ledger.transmitted, kinds.len() as u64);
            assert_eq!(direction.delay_error.count, kinds.len() as u64);
        }
    });
}

#[test]
fn loss_and_duplication_come_as_asked_for_and_every_packet_is_accounted_for() {
    with_network("live::loss_and_duplication_come_as_asked_for_and_every_packet_is_accounted_for", || {
        const SENT: u32 = 10_000;
        let bench = Bench::new();
        let bernoulli = |probability| Decision::Bernoulli { probability };
        let path = Path {
            loss: Model::Plain(bernoulli(0.2)),
            duplicate: Model::Plain(Duplicate { decision: bernoulli(0.1), delay: 0 }),
            order: Order::Independent,
            ..delayed(1_000_000)
        };
        let bridge = bench.bridge(path);
        let [mut near, mut far] = bench.hosts();
        let mut came = Vec::new();
        // No more at once than the buffers of an ordinary user take.
        for begin in (0..SENT).step_by(100) {
            for number in begin..begin + 100 {
                assert_eq!(near.send(&numbered(number)).frames, 1);
            }
            wait_until("all is settled", || {
                came.extend(drain(&mut far));
                let forward = &bridge.control().snapshot().unwrap().directions[0];
                assert!(forward.ledger.balances(), "{:?}", forward.ledger);
                forward.ledger.received == u64::from(begin + 100) && forward.ledger.queued == 0
            });
        }
        let snapshot = bridge.stop().unwrap();
        came.extend(drain(&mut far));
        assert_balanced(&snapshot);
        let forward = &snapshot.directions[0];
        let taken = u64::from(SENT) - lost(forward, Cause::Kernel);
        assert_eq!(came.len() as u64, forward.ledger.transmitted);
        came.sort_unstable();
        came.dedup();
        assert_eq!(came.len() as u64, taken - lost(forward, Cause::Model), "each that was not lost came");
        // Five standard deviations. The seed is fixed, so that it is the same every time.
        let real = |count: u64| f64::from(u32::try_from(count).unwrap());
        let share = |count: u64, of: u64| real(count) / real(of);
        let loss = share(lost(forward, Cause::Model), taken);
        assert!((loss - 0.2).abs() < 5.0 * (0.16 / f64::from(SENT)).sqrt(), "{loss}");
        let kept = taken - lost(forward, Cause::Model);
        let copies = share(forward.ledger.duplicates_created, kept);
        assert!((copies - 0.1).abs() < 5.0 * (0.09 / (0.8 * f64::from(SENT))).sqrt(), "{copies}");
        assert_eq!(snapshot.directions[1].ledger.received, 0);
    });
}

#[test]
fn a_packet_is_never_early() {
    with_network("live::a_packet_is_never_early", || {
        const DELAY: i64 = 3_000_000;
        let bench = Bench::new();
        let bridge = bench.bridge(delayed(DELAY));
        let [mut near, mut far] = bench.hosts();
        for number in 0..200 {
            let before = romer_host::clock::monotonic_now();
            near.send(&numbered(number));
            let mut frames = Vec::new();
            far.receive(&mut frames);
            let held = frames[0].arrival() - before;
            // Less the error with which the stamps' clock is read.
            assert!(held.as_nanos() >= DELAY - 50_000, "{held}");
            frames.into_iter().for_each(|frame| far.arena.release(frame));
        }
        let snapshot = bridge.stop().unwrap();
        let forward = &snapshot.directions[0];
        assert_eq!(forward.requested_delay.min, Some(3e6));
        assert!(forward.actual_delay.min >= Some(3e6) && forward.delay_error.min >= Some(0.0));
    });
}

#[test]
fn what_is_held_at_the_end_is_lost_to_the_shutdown() {
    with_network("live::what_is_held_at_the_end_is_lost_to_the_shutdown", || {
        let bench = Bench::new();
        let bridge = bench.bridge(delayed(3_600_000_000_000));
        let [mut near, mut far] = bench.hosts();
        for number in 0..100 {
            near.send(&numbered(number));
            far.send(&numbered(number));
        }
        let snapshot = bridge.stop().unwrap();
        assert_balanced(&snapshot);
        for direction in &snapshot.directions {
            assert_eq!(direction.ledger.received, 100);
            assert_eq!(lost(direction, Cause::Shutdown), 100);
        }
        assert!(drain(&mut far).is_empty());
    });
}

#[test]
fn a_change_loses_nothing_that_is_held() {
    with_network("live::a_change_loses_nothing_that_is_held", || {
        let bench = Bench::new();
        let bridge = bench.bridge(delayed(400_000_000));
        let [mut near, mut far] = bench.hosts();
        for number in 0..50 {
            near.send(&numbered(number));
        }
        for round in 1..=50 {
            let changed = config(delayed(400_000_000 - round * 8_000_000)).into();
            bridge.control().apply(changed, None).unwrap();
            near.send(&numbered(u32::try_from(49 + round).unwrap()));
        }
        let mut came = Vec::new();
        wait_until("all have come", || {
            came.extend(drain(&mut far));
            came.len() >= 100
        });
        assert_eq!(came, (0..100).collect::<Vec<u32>>(), "all, and in order");
        let snapshot = bridge.stop().unwrap();
        assert_balanced(&snapshot);
        assert_eq!(snapshot.directions[0].ledger.transmitted, 100);
    });
}

#[test]
fn a_hundred_changes_a_second_under_load_keep_order_and_count_every_packet() {
    with_network("live::a_hundred_changes_a_second_under_load_keep_order_and_count_every_packet", || {
        const CHANGES: i64 = 200;
        const EACH: u32 = 30;
        let bench = Bench::new();
        let bridge = bench.bridge(delayed(5_000_000));
        let control = bridge.control();
        let changer = std::thread::spawn(move || {
            for round in 0..CHANGES {
                // Up and down, so that what comes after a change would often overtake what came before.
                let nanos = 5_000_000 - (round % 7) * 800_000;
                let changed = romer_emulate::Opened::from(config(delayed(nanos)));
                control.apply(changed, None).unwrap();
                let snapshot = control.snapshot().unwrap();
                assert_balanced(&snapshot);
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        });
        let [mut near, mut far] = bench.hosts();
        let (mut sent, mut came) = (0, Vec::new());
        while !changer.is_finished() {
            for number in sent..sent + EACH {
                assert_eq!(near.send(&numbered(number)).frames, 1);
            }
            sent += EACH;
            came.extend(drain(&mut far));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        changer.join().unwrap();
        let settled = || bridge.control().snapshot().unwrap().directions[0].ledger;
        wait_until("all have left", || {
            came.extend(drain(&mut far));
            settled().received == u64::from(sent) && settled().queued == 0
        });
        let snapshot = bridge.stop().unwrap();
        wait_until("all that left have come", || {
            came.extend(drain(&mut far));
            // What the far end's own buffer had no room for is its own loss.
            let unread = far.port.kernel_drops().unwrap();
            came.extend((0..unread).map(|_| u32::MAX));
            came.len() as u64 >= snapshot.directions[0].ledger.transmitted
        });
        assert_balanced(&snapshot);
        let forward = &snapshot.directions[0].ledger;
        assert_eq!(forward.transmitted + forward.lost_for(Cause::Kernel), u64::from(sent), "{forward:?}");
        came.retain(|number| *number != u32::MAX);
        assert!(came.is_sorted_by(|a, b| a < b), "in order, and none twice");
    });
}

#[test]
fn what_was_asked_for_stays_while_everything_passes_and_the_document_says_since_when() {
    with_network(
        "live::what_was_asked_for_stays_while_everything_passes_and_the_document_says_since_when",
        || {
            let bench = Bench::new();
            let bridge = bench.bridge(Path::default());
            let control = bridge.control();
            let text = "[a_to_b.loss]\nmodel = \"bernoulli\"\nprobability = 1\n";
            let opened = || romer_emulate::read_scenario(text, "s").unwrap();
            control.apply(opened(), None).unwrap();
            let passing = control.pass().unwrap();
            assert_eq!((passing.revision, passing.text.as_str(), passing.impairments_off), (3, text, true));
            assert_eq!(control.pass().unwrap().revision, 3, "what is so already is no change");
            let [mut near, _far] = bench.hosts();
            near.send(&numbered(1));
            wait_until("it has passed", || control.document().unwrap().a_to_b.transmitted == 1);
            let document = control.document().unwrap();
            assert_eq!(document.scenario, text);
            let since = document.impairments_off_since.unwrap();
            assert_eq!(since, document.changes[2].at);
            assert_eq!(
                document.changes.iter().map(|one| one.impairments_off).collect::<Vec<_>>(),
                [false, false, true]
            );
            let passing = EmulationWarning::ImpairmentsOff { since };
            assert!(document.warnings.contains(&passing), "{:?}", document.warnings);
            assert!(!document.warnings.contains(&EmulationWarning::ScenarioEmpty), "{:?}", document.warnings);
            control.apply(opened(), None).unwrap();
            near.send(&numbered(2));
            wait_until("it is lost", || control.document().unwrap().a_to_b.lost["model"] == 1);
            let document = control.document().unwrap();
            assert_eq!((document.impairments_off_since, control.scenario().impairments_off), (None, false));
            assert!(
                !document.warnings.iter().any(|one| matches!(one, EmulationWarning::ImpairmentsOff { .. }))
            );
            bridge.stop().unwrap();
        },
    );
}

#[test]
fn whoever_changes_what_another_has_changed_is_told_and_the_run_keeps_its_seed() {
    with_network("live::whoever_changes_what_another_has_changed_is_told_and_the_run_keeps_its_seed", || {
        let bench = Bench::new();
        let bridge = bench.bridge(Path::default());
        let control = bridge.control();
        let text = "seed = [9, 9, 9, 9, 9, 9]\n[a_to_b.loss]\nmodel = \"bernoulli\"\nprobability = 1\n";
        let opened = || romer_emulate::read_scenario(text, "s").unwrap();
        assert_eq!(control.scenario().revision, 1);
        let applied = control.apply(opened(), Some(1)).unwrap();
        assert_eq!((applied.revision, applied.text.as_str()), (2, text));
        assert!(
            applied.notes.iter().any(|one| matches!(one, EmulationWarning::SeedKept { .. })),
            "{:?}",
            applied.notes
        );
        let error = control.apply(opened(), Some(1)).unwrap_err();
        assert!(matches!(error, LiveError::Stale { revision: 2 }), "{error}");
        let [mut near, mut far] = bench.hosts();
        near.send(&numbered(1));
        far.send(&numbered(2));
        wait_until("both are settled", || {
            let document = control.document().unwrap();
            (document.a_to_b.lost["model"], document.b_to_a.transmitted) == (1, 1)
        });
        assert_eq!(control.document().unwrap().scenario, text);
        control.reset().unwrap();
        let snapshot = control.snapshot().unwrap();
        assert_eq!(snapshot.directions[1].actual_delay.count, 0);
        assert_eq!(snapshot.directions[1].ledger.transmitted, 1, "the ledger goes on");
        let warnings = control.document().unwrap().warnings;
        assert!(
            warnings.iter().any(|one| matches!(one, EmulationWarning::SummariesReset { .. })),
            "{warnings:?}"
        );
        control.stop();
        wait_until("the bridge has ended", || bridge.has_ended());
        assert!(matches!(control.document(), Err(LiveError::Ended)));
        assert_eq!(bridge.stop().unwrap().directions[1].ledger.transmitted, 1);
    });
}

/// Samples state the fate of each packet, and an offline replay decides the same.
#[test]
fn samples_match_offline_replay() {
    with_network("live::samples_match_offline_replay", || {
        const SENT: u32 = 400;
        let bench = Bench::new();
        let text = "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.loss]\nmodel = \"bernoulli\"\nprobability = \"20%\"\n\
                    [a_to_b.duplicate]\nmodel = \"bernoulli\"\nprobability = \"10%\"\n\
                    [a_to_b.delay]\nfixed = \"2ms\"\nvariable = { model = \"exponential\", mean = \"1ms\" }\n";
        let opened = romer_emulate::read_scenario(text, "s").unwrap();
        let options = LiveOptions { scenario: opened.clone(), ..bench.options(Path::default()) };
        let bridge = LiveBridge::start(&options).unwrap();
        let options = FeedOptions { octets: true, ..FeedOptions::default() };
        let mut feed = bridge.control().samples(options).unwrap();
        let [mut near, mut far] = bench.hosts();
        for number in 0..SENT {
            assert_eq!(near.send(&numbered(number)).frames, 1);
            wait_until("it has come in", || {
                bridge.control().snapshot().unwrap().directions[0].ledger.received > u64::from(number)
            });
        }
        let snapshot = bridge.stop().unwrap();
        drain(&mut far);
        let mut sampled = Vec::new();
        feed.drain(|packet| sampled.push(packet.clone()));
        assert!(feed.has_ended() && feed.missed() == 0);
        let ordinals: Vec<u64> = sampled.iter().map(|packet| packet.ordinal).collect();
        assert_eq!(ordinals, (0..u64::from(SENT)).collect::<Vec<u64>>());
        assert!(sampled.iter().zip(0..).all(|(packet, number)| number_of(&packet.octets) == number));
        let fates = || sampled.iter().flat_map(|packet| &packet.fates);
        let left = fates().filter(|fate| fate.departure.is_some()).count() as u64;
        assert_eq!(left, snapshot.directions[0].ledger.transmitted);
        assert!(fates().all(|fate| fate.lost.is_none_or(|_| fate.departure.is_none())));
        // The same arrivals in virtual time: the same fates, and the delays that the live run was asked for.
        let arrivals =
            sampled.iter().map(|packet| Arrival::new(packet.arrival, romer_impair::PortId::A, packet.size));
        let arrivals = Arrivals { packets: arrivals.collect(), ..Arrivals::default() };
        let mut out = Vec::new();
        romer_emulate::offline::run(&opened.scenario, text, Seed([1, 2, 3, 4, 5, 6]), &arrivals, &mut out)
            .unwrap();
        let offline: Vec<String> = String::from_utf8(out)
            .unwrap()
            .lines()
            .skip(1)
            .map(|line| {
                let fields: Vec<&str> = line.split(',').collect();
                format!("{} {} {} {}", fields[0], fields[1], fields[7], fields[8])
            })
            .collect();
        let live: Vec<String> = sampled
            .iter()
            .flat_map(|packet| packet.fates.iter().map(move |fate| (packet.ordinal, fate)))
            .map(|(ordinal, fate)| {
                let requested = fate.requested.map_or(String::new(), |nanos| nanos.to_string());
                // What was still held at the end was decided all the same.
                let word = match fate.lost {
                    None | Some(Cause::Shutdown) => "sent".into(),
                    Some(cause) => format!("lost:{}", cause.name()),
                };
                format!("{ordinal} {} {word} {requested}", fate.copy)
            })
            .collect();
        assert_eq!(live, offline);
    });
}

#[test]
fn frames_for_a_port_that_is_down_are_undeliverable_and_one_that_is_gone_ends_the_bridge() {
    with_network(
        "live::frames_for_a_port_that_is_down_are_undeliverable_and_one_that_is_gone_ends_the_bridge",
        || {
            let bench = Bench::new();
            let bridge = bench.bridge(Path::default());
            let [mut near, mut far] = bench.hosts();
            bench.far.networks()[0].set_up("v0", false).unwrap();
            near.send(&numbered(1));
            wait_until("the frame is given up", || {
                let snapshot = bridge.control().snapshot().unwrap();
                assert_balanced(&snapshot);
                lost(&snapshot.directions[0], Cause::Undeliverable) == 1
            });
            bench.far.networks()[0].set_up("v0", true).unwrap();
            wait_until("frames come again", || {
                near.send(&numbered(2));
                !drain(&mut far).is_empty()
            });
            bench.far.networks()[1].delete_link("v1").unwrap();
            wait_until("the bridge has ended", || bridge.has_ended());
            assert!(bridge.control().snapshot().is_err());
            let snapshot = bridge.stop().unwrap();
            assert_balanced(&snapshot);
            assert_eq!(snapshot.gone.map(|gone| gone.port), Some(bench.far.port_name(0)));
        },
    );
}

#[test]
fn what_comes_when_a_link_is_up_again_leaves_however_soon_it_is_and_every_time_that_it_went_down_counts() {
    with_network(
        "live::what_comes_when_a_link_is_up_again_leaves_however_soon_it_is_and_every_time_that_it_went_down_counts",
        || {
            const FLAPS: u64 = 8;
            let bench = Bench::new();
            let bridge = bench.bridge(Path::default());
            let [mut near, _] = bench.hosts();
            let mut sent = 0;
            for _ in 0..FLAPS {
                for (up, frames) in [(false, 1), (true, 20)] {
                    let downs = || bridge.control().snapshot().unwrap().directions[1].link.downs;
                    let before = downs();
                    bench.far.networks()[1].set_up("v1", up).unwrap();
                    if !up {
                        wait_until("it is seen to be down", || downs() > before);
                    }
                    for number in 0..frames {
                        near.send(&numbered(number));
                        sent += 1;
                    }
                    wait_until("all have left or were given up", || {
                        let snapshot = bridge.control().snapshot().unwrap();
                        let ledger = &snapshot.directions[0].ledger;
                        ledger.received == sent && ledger.queued == 0
                    });
                }
            }
            let snapshot = bridge.stop().unwrap();
            assert_balanced(&snapshot);
            assert_eq!(
                lost(&snapshot.directions[0], Cause::Undeliverable),
                FLAPS,
                "one each time, while it was down"
            );
        },
    );
}

#[test]
fn one_port_twice_and_more_than_fits_is_refused() {
    with_network("live::one_port_twice_and_more_than_fits_is_refused", || {
        use romer_impair::config::{Discipline, RateLimit};
        let bench = Bench::new();
        let mut twice = bench.options(Path::default());
        twice.ports[1] = twice.ports[0].clone();
        let error = LiveBridge::start(&twice).unwrap_err().to_string();
        assert!(error.starts_with("both ports are"), "{error}");
        let rate = RateLimit {
            limit: romer_units::Rate::Bits(100_000_000_000),
            layer: romer_units::Layer::L2,
            queue: 65_536,
            discipline: Discipline::TailDrop,
        };
        let path = Path { rate: Some(rate), ..delayed(10_000_000_000) };
        let error = LiveBridge::start(&bench.options(path)).unwrap_err().to_string();
        assert!(error.contains("232.8 GiB") && error.contains("1.0 GiB"), "{error}");
    });
}

/// The two ends of one veth pair are no two ports, in one namespace or in two; ends of two pairs are.
#[test]
fn loop_of_one_pair_is_refused() {
    with_network("live::loop_of_one_pair_is_refused", || {
        let bench = Bench::new();
        let mut options = bench.options(Path::default());
        options.ports = [bench.near.port_name(0), bench.near.port_name(1)];
        assert!(matches!(LiveBridge::start(&options), Err(LiveError::Loop(..))));
        let namespace = options.ports[0].namespace().unwrap().to_owned();
        bench.near.networks()[0].add_veth("l0", "l1", None).unwrap();
        options.ports = ["l0", "l1"].map(|name| format!("{namespace}/{name}").parse().unwrap());
        let error = LiveBridge::start(&options).unwrap_err().to_string();
        assert!(error.contains("l0") && error.contains("two ends of one veth pair"), "{error}");
        options.ports[1] = bench.far.port_name(0);
        assert!(LiveBridge::start(&options).is_ok());
    });
}

/// The note on a port's own addresses names link-local ones, at which the host answers as well.
#[test]
fn link_local_address_is_noted() {
    with_network("live::link_local_address_is_noted", || {
        let bench = Bench::new();
        let network = &bench.near.networks()[1];
        let name = bench.near.port_name(1);
        let namespace = name.namespace().unwrap();
        // The laboratory's links have IPv6 off.
        let sysctl = format!("net.ipv6.conf.{}.disable_ipv6=0", name.interface());
        let ip = |words: &[&str]| {
            let done = std::process::Command::new("ip").args(words).output().unwrap();
            assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        ip(&["netns", "exec", namespace, "sysctl", "-qw", &sysctl]);
        ip(&["-n", namespace, "addr", "add", "fe80::77/64", "dev", name.interface(), "nodad"]);
        wait_until("the address", || !network.addresses(name.interface()).unwrap().is_empty());
        let bridge = bench.bridge(Path::default());
        let document = bridge.control().document().unwrap();
        let noted = document.warnings.iter().any(|one| matches!(one,
            EmulationWarning::PortHasAddresses { addresses, .. } if addresses.contains(&"fe80::77".to_owned())));
        assert!(noted, "{:?}", document.warnings);
    });
}

#[test]
fn a_tunnel_with_the_default_route_is_seen_by_its_interface_or_by_the_way_to_its_other_end() {
    const NAME: &str =
        "live::a_tunnel_with_the_default_route_is_seen_by_its_interface_or_by_the_way_to_its_other_end";
    with_network(NAME, || {
        let bench = Bench::new();
        let network = &bench.far.networks()[0];
        network.add_address("v0", "198.18.0.2".parse().unwrap(), 24).unwrap();
        let options = bench.options(Path::default());
        let namespace = options.ports[1].namespace().unwrap().to_owned();
        let ip = |words: &str| {
            let command = std::process::Command::new("ip")
                .args(["-n", &namespace])
                .args(words.split_whitespace())
                .output()
                .expect("iproute2 is needed for this test");
            command.status.success().then_some(()).ok_or(command.stderr)
        };
        let mut seen = 0;
        for (tunnel, is_refused) in [
            ("vxlan id 7 dstport 4789 remote 198.18.0.9 dev v0", true),
            ("vxlan id 7 dstport 4789 remote 198.18.0.9", true),
            ("vxlan id 7 dstport 4789 remote 127.0.0.9", false),
            ("geneve id 7 remote 198.18.0.9", true),
            ("gre local 198.18.0.2 remote 198.18.0.9", true),
            ("gretap local 198.18.0.2 remote 198.18.0.9", true),
            ("ipip local 198.18.0.2 remote 198.18.0.9", true),
            ("sit local 198.18.0.2 remote 198.18.0.9", true),
        ] {
            if ip(&format!("link add tt type {tunnel}")).is_err() {
                // Not every kernel has every kind.
                continue;
            }
            seen += 1;
            ip("link set tt up").unwrap();
            ip("route add default dev tt").unwrap();
            let error = LiveBridge::start(&options).err().map(|error| error.to_string());
            let told = error.as_ref().is_some_and(|error| error.contains("carries the default route"));
            assert_eq!(told, is_refused, "{tunnel}: {error:?}");
            ip("link delete tt").unwrap();
        }
        assert!(seen > 0, "the kernel has no tunnel of any kind");
    });
}

/// The port of the default route is used only if that is allowed.
#[test]
fn default_route_port_needs_permission() {
    with_network("live::default_route_port_needs_permission", || {
        let bench = Bench::new();
        let network = &bench.far.networks()[0];
        network.add_address("v0", "198.18.0.2".parse().unwrap(), 24).unwrap();
        network.add_route("0.0.0.0".parse().unwrap(), 0, "198.18.0.1".parse().unwrap()).unwrap();
        let mut options = bench.options(Path::default());
        let error = LiveBridge::start(&options).unwrap_err().to_string();
        let refusal = format!(
            "port {} carries the default route of this host, directly or through a bridge, VLAN, macvlan or tunnel on it",
            bench.far.port_name(0)
        );
        assert_eq!(error, refusal);
        options.allow_default_route = true;
        let bridge = LiveBridge::start(&options).unwrap();
        let control = bridge.control();
        let found = control.warnings();
        let has = |one: &EmulationWarning| matches!(one, EmulationWarning::PortHasAddresses { addresses, .. } if addresses[..] == ["198.18.0.2"]);
        assert!(found.iter().any(has), "{found:?}");
        assert_balanced(&bridge.stop().unwrap());
        // The interface itself is of a bridge, as on most hosts of virtual machines, and the bridge has the address.
        options.allow_default_route = false;
        network.add_bridge("br7").unwrap();
        network.set_up("br7", true).unwrap();
        network.set_bridge("v0", Some("br7")).unwrap();
        network.add_address("br7", "198.18.7.2".parse().unwrap(), 24).unwrap();
        network.add_route("128.0.0.0".parse().unwrap(), 1, "198.18.7.1".parse().unwrap()).unwrap();
        assert_eq!(LiveBridge::start(&options).unwrap_err().to_string(), refusal);
    });
}
