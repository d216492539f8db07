//! What one network may send to a responder, in all its sessions together.

use std::fs;

use crate::common::lab::{FAR, Lab};
use crate::common::measuring::{Measuring, losses};
use crate::common::process::Process;
use crate::common::{at, count};

/// So many packets a second, which is one every millisecond.
const RATE: [&str; 2] = ["--rate", "1000pps"];

#[test]
fn sessions_of_one_address_are_granted_what_is_left_of_its_rate_and_give_it_back_at_their_end() {
    let lab = Lab::path();
    let _responder = lab.respond(&RATE);
    for direction in ["round-trip", "forward"] {
        let other = ["--interval", "1200us", "--count", "100", "--direction", direction, FAR];
        let mut first = Measuring::begin(&lab, FAR, &["--direction", direction]);
        let rest = ["--interval", "1111us", "--count", "100", "--direction", direction, FAR];
        // A hundred a second are taken: 900 more fit, and 1,001 do not.
        lab.measure(&rest);
        let full = ["--interval", "1ms", "--count", "100", "--direction", direction, FAR];
        let ended = lab.try_measure(&full).ended.with_code(5);
        for part in [
            "1000 packets/s: its limit for one network (/24 or /56) is 1000 packets/s",
            "other sessions of this network have 100 of them",
            "use at most 900 packets/s, for example --interval 1.112ms",
        ] {
            assert!(ended.stderr.contains(part), "{ended:?}");
        }
        lab.measure(&other);
        first.await_more();
        first.end();
        lab.measure(&full);
        // What is killed gives its share back as well.
        let killed = Measuring::begin(&lab, FAR, &["--direction", direction]);
        killed.process.signal("KILL");
        drop(killed);
        let again = || lab.try_measure(&full).ended.code == Some(0);
        assert!((0..30).any(|_| again() || {
            std::thread::sleep(std::time::Duration::from_secs(1));
            false
        }));
    }
}

/// A session gets its granted replies during a flood with its own address.
#[test]
fn granted_rates_survive_own_floods() {
    let lab = Lab::path();
    let _responder = lab.respond(&["--rate", "200pps"]);
    // Others of the address, whom nobody has granted anything, send more than it may have, by the clock: each may come just before
    // one of the probes, and would take every token.
    let flood = ["--stamp-only", "--interval", "2ms", "--duration", "100s", "198.18.0.3:862"];
    let (mut flood, _home) = lab.measuring(&flood);
    let flood = Process::start(&mut flood);
    let run = lab.measure(&["--interval", "10ms", "--count", "500", FAR]);
    let document = run.document();
    drop(flood);
    let [unknown, known] = losses(&document, "round_trip");
    // A busy machine may lose one itself.
    assert!(unknown <= 3 && known == 0, "{document:#}");
}

#[test]
fn probes_over_the_rate_are_lost_round_trips() {
    let lab = Lab::path();
    let responder = lab.respond(&["--rate", "200pps"]);
    let mut measuring = Measuring::begin(&lab, FAR, &["--limit", "round_trip.loss.ratio<5%"]);
    // What waits for it while it is stopped is more than it answers one address in a second. Of what it refuses, it records as
    // many again, and no more.
    responder.signal("STOP");
    measuring.await_sent(280);
    responder.signal("CONT");
    measuring.await_told(&["requests from 198.18.0.2 exceeded its limit of 200 packets/s for one address"]);
    measuring.await_more();
    let document = measuring.end();
    let [unknown, known] = losses(&document, "round_trip");
    // A busy machine may lose one itself.
    assert!(unknown <= 3 && known > 10, "{document:#}");
    assert!(losses(&document, "forward").iter().sum::<u64>() <= 3, "{document:#}");
    assert!(count(&document, "/reverse/packets/not_sent") >= known, "{document:#}");
    assert_eq!(at(&document, "/limits/0/passed"), false);
}

#[test]
fn a_short_train_of_packets_is_as_fast_as_its_busiest_second() {
    let lab = Lab::path();
    let _responder = lab.respond(&RATE);
    let folder = tempfile::tempdir().unwrap();
    let trace = |name: &str, offsets: &mut dyn Iterator<Item = u64>| {
        let path = folder.path().join(name);
        let lines: String = offsets.map(|offset| format!("{offset},100\n")).collect();
        fs::write(&path, format!("offset_ns,size\n{lines}")).unwrap();
        format!("trace:{}", path.display())
    };
    let pair = trace("pair", &mut [0, 1_000].into_iter());
    let train = trace("train", &mut (0..100).map(|n| n * 1_000));
    let at_once = trace("at-once", &mut (0..100).map(|_| 0));
    for (traced, packets) in [(&pair, 2), (&train, 100), (&at_once, 100)] {
        for (direction, way) in [("round-trip", "round_trip"), ("forward", "forward"), ("reverse", "reverse")]
        {
            let run = lab.measure(&["--traffic", traced, "--direction", direction, FAR]);
            let document = run.document();
            assert_eq!(
                count(&document, &format!("/{way}/packets/sent")),
                packets,
                "{direction}: {document:#}"
            );
        }
    }
    // A second of it is busier than the rate, however long it is: three seconds with 1,001 packets within half of one.
    let busy = trace("busy", &mut (0..1_001).map(|n| n * 500_000).chain([3_000_000_000]));
    for direction in ["round-trip", "forward", "reverse"] {
        let ended = lab.try_measure(&["--traffic", &busy, "--direction", direction, FAR]).ended.with_code(5);
        assert!(ended.stderr.contains("packets/s: its limit"), "{ended:?}");
    }
    // What has ten seconds of silence in it is listened to until it ends.
    let sparse = trace("sparse", &mut (0..400).map(|n| n * 1_000).chain([10_000_000_000]));
    let document = lab.measure(&["--traffic", &sparse, "--direction", "forward", FAR]).document();
    assert_eq!(count(&document, "/forward/packets/received"), 401, "{document:#}");
}

/// A responder that is open to all sends one network 10 Mbit/s and no more. A stream of more is refused with the limit and the
/// remedy; one within it is sent whole. Where `--allow` says who is served, there is no such limit.
#[test]
fn open_responders_send_10_mbit_per_network() {
    let lab = Lab::path();
    let home = tempfile::tempdir().unwrap();
    let stream = |interval: &'static str, count: &'static str| {
        ["--direction", "reverse", "--interval", interval, "--count", count, "--size", "1200B", FAR]
    };
    // 2,000 packets a second of 1,228 octets of IP are 19.6 Mbit/s, and 1,000 of them 9.8 Mbit/s.
    let [over, within] = [stream("500us", "6000"), stream("1ms", "3000")];
    for (allow, granted) in [(&[][..], &within), (&["--allow", "198.18.0.0/24"], &over)] {
        let file = home.path().join(format!("totals-{}.json", allow.len()));
        let responder = lab.respond(&[&["--json", file.to_str().unwrap()], allow].concat());
        if allow.is_empty() {
            let ended = lab.try_measure(&over).ended.with_code(5);
            for part in [
                "2000 packets/s of 1228 bytes are 19.7 Mbit/s",
                "sends at most 10 Mbit/s to one network (/24 or /56)",
                "without --key-file and --allow",
                "use at most 1017",
            ] {
                assert!(ended.stderr.contains(part), "{ended:?}");
            }
        }
        let document = lab.measure(granted).document();
        responder.signal("TERM");
        responder.wait().with_code(0);
        let totals: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(count(&totals, "/sessions/refused/rate"), u64::from(allow.is_empty()));
        let [sent, network_bits, packet_rate] =
            ["sent", "rate_limited/network_bits", "rate_limited/packet_rate"]
                .map(|name| count(&totals, &format!("/probes/{name}")));
        assert_eq!((network_bits, packet_rate), (0, 0), "{totals:#}");
        assert_eq!(count(&totals, "/probes/octets"), sent * 1_200);
        let packets = |name: &str| count(&document, &format!("/reverse/packets/{name}"));
        assert_eq!(packets("sent"), sent, "{document:#}");
        assert_eq!((packets("sent") + packets("not_sent")).to_string(), granted[5], "{document:#}");
        // A busy machine may lose one itself.
        assert!(packets("lost") <= 3, "{document:#}");
    }
}
