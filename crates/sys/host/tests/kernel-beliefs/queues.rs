//! Beliefs about the queues that packets leave by.

use std::process::Command;

use romer_host::netns;
use romer_host::queue::Queues;
use romer_host::shaper::{Bucket, Discipline, Flow, Shaper, ShaperError};
use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, TransmitEvents};
use romer_units::Duration;

use romer_testnet::namespace::{Pair, with_network};

const SENT: u32 = 100;
const TIMEOUT: Option<Duration> = Some(Duration::from_secs(10));

/// A queue that drops the oldest of what it holds has told the sender that it took it. Of that the driver stamps nothing, and the
/// interface's first queue counts it. `singletons::dropped` relies on it to distinguish such packets from losses on the path.
#[test]
fn what_a_queue_drops_after_taking_it_is_counted_there_and_never_stamped() {
    with_network("queues::what_a_queue_drops_after_taking_it_is_counted_there_and_never_stamped", || {
        let pair = Pair::create();
        // IPv6 announces itself in packets of its own, which the queue would drop and count, too.
        let without_ipv6 = || std::fs::write("/proc/sys/net/ipv6/conf/v0/disable_ipv6", "1");
        netns::with_namespace(&pair.one.0, without_ipv6).unwrap().unwrap();
        let dropped = || {
            let all = netns::with_namespace(&pair.one.0, || Queues::open()?.all()).unwrap().unwrap();
            all.iter().filter(|queue| queue.is_root).map(|queue| queue.dropped).sum::<u32>()
        };
        for queue in
            ["root handle 1: tbf rate 800kbit burst 3000 limit 100000", "parent 1:1 pfifo_head_drop limit 6"]
        {
            let mut command = Command::new("tc");
            command.args(["qdisc", "add", "dev", "v0"]).args(queue.split(' '));
            assert!(netns::with_namespace(&pair.one.0, || command.status()).unwrap().unwrap().success());
        }
        let [one, other] = pair.sockets(0, &SocketOptions::default());
        for id in 0..SENT {
            one.send(&Outgoing::new(&[7; 1_000], other.local_address(), id)).unwrap();
        }
        let (mut batch, mut arrived) = (ReceiveBatch::new(32, 2_000), 0);
        let (mut events, mut stamped) = (TransmitEvents::new(256), Vec::new());
        // What came last is what leaves last.
        while stamped.last() != Some(&(SENT - 1)) {
            assert!(!one.wait(TIMEOUT).unwrap().timed_out(), "the last has no stamp: {stamped:?}");
            one.transmit_events(&mut events).unwrap();
            stamped.extend(events.stamps().iter().map(|stamp| stamp.id));
        }
        while arrived < stamped.len() {
            assert!(!other.wait(TIMEOUT).unwrap().timed_out(), "{arrived} of {stamped:?} came");
            arrived += other.receive_batch(&mut batch).unwrap();
        }
        assert_eq!(other.receive_batch(&mut batch).unwrap(), 0);
        assert_eq!(stamped.len(), usize::try_from(SENT - dropped()).unwrap(), "{stamped:?}");
        assert!(dropped() >= 50, "{stamped:?}");
    });
}

/// Runs `tc` in the namespace of `v0`; what it says.
fn tc(pair: &Pair, words: &str) -> String {
    let mut command = Command::new("tc");
    command.args(words.split(' '));
    let output = netns::with_namespace(&pair.one.0, || command.output()).unwrap().unwrap();
    assert!(output.status.success(), "tc {words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Shapers are installed by both disciplines for both families, in place of the interface's default and of a simple discipline
/// that somebody has set, and what was there is there again afterwards. Others are not replaced. `measure` relies on it.
#[test]
fn shapers_leave_the_interface_as_it_was() {
    with_network("queues::shapers_leave_the_interface_as_it_was", || {
        let pair = Pair::create();
        let index = pair.one.network().link("v0").unwrap().index;
        let bucket = Bucket { octets_per_second: 26_500, depth: 1_514, frame: 106, queue: 1_514_000 };
        let install = |discipline, family: usize| {
            let remote = std::net::SocketAddr::new(Pair::ADDRESSES[family][1].parse().unwrap(), 862);
            let flow = Flow { local_port: 7_000, remote, unshaped: Some(7), service: 0 };
            netns::with_namespace(&pair.one.0, || Shaper::install(index, discipline, &flow, &bucket)).unwrap()
        };
        for former in [
            None,
            Some("5: pfifo limit 7"),
            Some("6: bfifo limit 9000"),
            Some("7: tbf rate 1mbit burst 2000 limit 9000"),
        ] {
            if let Some(former) = former {
                tc(&pair, &format!("qdisc replace dev v0 root handle {former}"));
            }
            let before = tc(&pair, "-d qdisc show dev v0");
            for (discipline, family) in [(Discipline::Htb, 0), (Discipline::Htb, 1), (Discipline::Tbf, 0)] {
                let shaper = install(discipline, family).unwrap();
                let during = tc(&pair, "qdisc show dev v0");
                assert!(during.starts_with(&format!("qdisc {discipline} 72")), "{during}");
                assert!(matches!(install(discipline, family), Err(ShaperError::InUse)), "{discipline}");
                assert!(shaper.restore(), "{discipline} over {former:?}");
                assert_eq!(tc(&pair, "-d qdisc show dev v0"), before, "{discipline} over {former:?}");
            }
        }
        tc(&pair, "qdisc replace dev v0 root handle 5: htb");
        let refused = install(Discipline::Tbf, 0).unwrap_err();
        assert!(matches!(refused, ShaperError::NotRestorable { major: 5, .. }), "{refused}");
        // What somebody has replaced meanwhile is left alone.
        tc(&pair, "qdisc del dev v0 root");
        let shaper = install(Discipline::Htb, 0).unwrap();
        tc(&pair, "qdisc replace dev v0 root handle 6: pfifo limit 3");
        assert!(!shaper.restore());
        assert!(tc(&pair, "qdisc show dev v0").starts_with("qdisc pfifo 6: root"));
    });
}

/// The watchdog processes that this process started in the namespace of `pair.one`: other tests have theirs in other namespaces.
fn watchdogs(pair: &Pair) -> Vec<String> {
    let parent = format!("PPid:\t{}\n", std::process::id());
    let namespace = netns::with_namespace(&pair.one.0, || std::fs::read_link("/proc/thread-self/ns/net"))
        .unwrap()
        .unwrap();
    let is_own = |process: &String| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let of_process = std::fs::read_link(format!("/proc/{process}/ns/net"));
        status.starts_with("Name:\tport-guard\n")
            && status.contains(&parent)
            && of_process.is_ok_and(|of_process| of_process == namespace)
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_own).collect()
}

/// A shaper of which somebody killed the watchdog is removed all the same when it ends in good order.
#[test]
fn killed_watchdogs_leave_no_shaper() {
    with_network("queues::killed_watchdogs_leave_no_shaper", || {
        let pair = Pair::create();
        let index = pair.one.network().link("v0").unwrap().index;
        tc(&pair, "qdisc replace dev v0 root handle 5: pfifo limit 7");
        let before = tc(&pair, "-d qdisc show dev v0");
        let bucket = Bucket { octets_per_second: 26_500, depth: 1_514, frame: 106, queue: 1_514_000 };
        let remote = std::net::SocketAddr::new(Pair::ADDRESSES[0][1].parse().unwrap(), 862);
        let flow = Flow { local_port: 7_000, remote, unshaped: None, service: 0 };
        let install = || Shaper::install(index, Discipline::Htb, &flow, &bucket);
        let shaper = netns::with_namespace(&pair.one.0, install).unwrap().unwrap();
        let own = watchdogs(&pair);
        assert_eq!(own.len(), 1, "{own:?}");
        assert!(Command::new("kill").args(["-KILL", &own[0]]).status().unwrap().success());
        assert!(shaper.restore());
        assert_eq!(tc(&pair, "-d qdisc show dev v0"), before);
    });
}
