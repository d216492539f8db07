//! What a live bridge kept, given to virtual time.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path as FilePath;
use std::time::Duration;

use romer_emulate::live::{FeedOptions, LiveBridge, LiveOptions, Recorder, Sink};
use romer_emulate::{TooLong, offline, read_capture};
use romer_impair::Path;
use romer_units::random::Seed;

use crate::live::Bench;
use romer_testnet::frames::frame;
use romer_testnet::link::wait_until;
use romer_testnet::namespace::with_network;

/// Ordinal, copy, port, fate and requested delay of each line of departures.
fn fates(text: &str) -> Vec<String> {
    let of = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        // What was still held at the end was decided all the same.
        let fate = if fields[7] == "lost:shutdown" { "sent" } else { fields[7] };
        format!("{} {} {} {fate} {}", fields[0], fields[1], fields[2], fields[8])
    };
    text.lines().skip(1).map(of).collect()
}

#[test]
fn a_capture_of_a_run_with_flows_and_a_timeline_replays_from_the_runs_beginning() {
    with_network(
        "replay::a_capture_of_a_run_with_flows_and_a_timeline_replays_from_the_runs_beginning",
        || {
            const SENT: u64 = 60;
            // From a tenth of a second on all is lost, but of VLAN 9, whose chain by time turns twenty times a second.
            let text = "seed = [1, 2, 3, 4, 5, 6]\n[[timeline]]\nat = \"100ms\"\na_to_b.loss.probability = 1\n\
                    [[flow]]\nmatch = { vlan = 9 }\n[flow.a_to_b.delay]\nmodel = \"markov\"\nstep = \"time\"\n\
                    transition = [[0, 1], [1, 0]]\nstate = [{ duration = \"47ms\", fixed = \"1ms\" }, \
                    { duration = \"3ms\", fixed = \"2ms\", variable = { model = \"exponential\", mean = \"1ms\" } }]\n";
            let folder = tempfile::tempdir().unwrap();
            let file = |name: &str| folder.path().join(name);
            let sink =
                |name: &str| Sink { path: file(name), out: Box::new(File::create(file(name)).unwrap()) };
            let bench = Bench::new();
            let opened = romer_emulate::read_scenario(text, "s").unwrap();
            let samples = Some(FeedOptions { octets: true, ..FeedOptions::default() });
            let options = LiveOptions { scenario: opened.clone(), samples, ..bench.options(Path::default()) };
            let mut bridge = LiveBridge::start(&options).unwrap();
            let recorder =
                Recorder::start(bridge.take_samples().unwrap(), vec![sink("s.csv")], Some(sink("s.pcapng")))
                    .unwrap();
            let [mut near, _] = bench.hosts();
            // The first packet comes when the step has been made.
            std::thread::sleep(Duration::from_millis(150));
            for number in 0..SENT {
                let tags: &[(u16, u16)] = if number % 2 == 0 { &[(0x8100, 9)] } else { &[] };
                assert_eq!(near.send(&frame([2; 6], tags, 0x88b5, 60)).frames, 1);
                wait_until("it has come in", || {
                    bridge.control().snapshot().unwrap().directions[0].ledger.received > number
                });
                std::thread::sleep(Duration::from_millis(2));
            }
            bridge.stop().unwrap();
            let recorded = recorder.finish();
            assert!(
                recorded.packets == SENT && recorded.missed == 0 && recorded.failed.is_empty(),
                "{recorded:?}"
            );
            let live = fates(&fs::read_to_string(file("s.csv")).unwrap());
            let lost = live.iter().filter(|line| line.contains("lost:model")).count() as u64;
            assert_eq!(lost, SENT / 2, "{live:?}");
            let replay = |name: &FilePath| {
                let arrivals =
                    read_capture(name, BufReader::new(File::open(name).unwrap()), TooLong::default())
                        .unwrap();
                let mut out = Vec::new();
                offline::run(&opened.scenario, text, Seed([1, 2, 3, 4, 5, 6]), &arrivals, &mut out).unwrap();
                fates(&String::from_utf8(out).unwrap())
            };
            assert_eq!(replay(&file("s.pcapng")), live);
            // The same packets of another program count from the first of them, so that the step comes later.
            let other = fs::read(file("s.pcapng")).unwrap();
            let place = other.windows(13).position(|octets| octets == b"romer emulate").unwrap();
            let other = [&other[..place], b"other program", &other[place + 13..]].concat();
            fs::write(file("other.pcapng"), other).unwrap();
            assert_ne!(replay(&file("other.pcapng")), live);
        },
    );
}
