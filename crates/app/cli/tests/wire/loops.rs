//! Two responders, of which somebody makes one believe that the other has asked it something.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use serde_json::Value;

use crate::common::count;
use crate::common::lab::{Lab, is_inside};
use crate::common::process::Process;
use crate::table::octets;
use crate::tap::send_from;

/// The responder on host A, where the spoofed datagrams seem to come from, and the one on host B, where they go.
const NEAR: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 0, 2), 50_001);
const FAR: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 0, 3), 40_000);
/// Datagrams of every length and content.
const DATAGRAMS: u64 = 201 * 3;

/// Zeros, ones and a valid request of so many octets.
fn contents(length: usize) -> [Vec<u8>; 3] {
    let mut valid = octets("00000007 e900000000000001 8001 0001 00*28");
    valid.resize(length, 0);
    [vec![0; length], vec![0xff; length], valid]
}

/// A responder that has been asked this has answered all that came to it before.
fn ask(responder: SocketAddrV4) {
    let socket = UdpSocket::bind((NEAR.ip().to_owned(), 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket.send_to(&octets("00000001 e900000000000001 8001 0001 00*28"), responder).unwrap();
    assert_eq!(socket.recv(&mut [0; 100]).expect("the responder answers"), 44);
}

/// Whatever is sent to one responder in the name of another, at unlike ports above 1024: the first answers it once at the
/// most, and the other answers none of these replies.
#[test]
fn spoofed_datagrams_start_no_loop() {
    const NAME: &str = "loops::spoofed_datagrams_start_no_loop";
    if is_inside() {
        for length in 0..=200 {
            contents(length).iter().for_each(|payload| send_from(NEAR, FAR, payload));
        }
        // What comes back has then been judged, and what would have come of that, too.
        return [FAR, NEAR, FAR, NEAR].into_iter().for_each(ask);
    }
    for options in [&[][..], &["--symmetric-only"]] {
        let lab = Lab::path();
        let home = tempfile::tempdir().unwrap();
        let files = ["near", "far"].map(|name| home.path().join(name));
        let start = |host: &str, address: SocketAddrV4, file: &std::path::Path| {
            let (listen, control) = (address.to_string(), format!("{}:8862", address.ip()));
            let mut command = lab.romer(host, ["respond", "--listen", &listen, "--control", &control]);
            let mut responder = Process::start(command.arg("--json").arg(file).args(options));
            assert!(responder.line().starts_with("responding: "), "{:?}", responder.wait());
            responder
        };
        let both = [start("A", NEAR, &files[0]), start("B", FAR, &files[1])];
        lab.run_on_host_a(NAME);
        for responder in both {
            responder.signal("TERM");
            responder.wait().with_code(0);
        }
        let [near, far]: [Value; 2] =
            files.map(|file| serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap());
        assert_eq!(count(&far, "/requests/received"), DATAGRAMS + 2, "{options:?}: {far:#}");
        assert!(count(&far, "/replies/sent") > 300, "{options:?}: {far:#}");
        assert_eq!(count(&near, "/requests/received"), count(&far, "/replies/sent"), "{options:?}: {near:#}");
        assert_eq!(count(&near, "/replies/sent"), 2, "{options:?}: {near:#}");
        assert_eq!(count(&near, "/refused/not_request"), count(&far, "/replies/sent") - 2, "{options:?}");
    }
}
