//! Beliefs about namespaces and the links between them.

use std::net::UdpSocket;
use std::process::Command;

use romer_host::host_info::{Capability, capabilities};
use romer_host::{HostError, netns};

use romer_testnet::namespace::{Namespace, Pair, with_network};

/// Relied on by users of the laboratory, who look at it with iproute2.
#[test]
fn iproute2_sees_our_namespaces_and_we_see_its() {
    with_network("namespaces::iproute2_sees_our_namespaces_and_we_see_its", || {
        let ip = |arguments: &[&str]| {
            let output =
                Command::new("ip").args(arguments).output().expect("iproute2 is needed for this test");
            assert!(output.status.success(), "ip {arguments:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let ours = Namespace::create();
        assert!(ip(&["netns", "list"]).lines().any(|line| line.split(' ').next() == Some(ours.0.as_str())));
        assert!(ip(&["netns", "exec", &ours.0, "ip", "link", "show", "lo"]).contains("lo"));
        let theirs = Namespace(format!("{}-theirs", ours.0));
        ip(&["netns", "add", &theirs.0]);
        assert!(netns::list().unwrap().contains(&theirs.0));
        assert!(matches!(netns::create(&theirs.0), Err(HostError::Exists { .. })));
        netns::with_namespace(&theirs.0, || ()).unwrap();
        netns::delete(&theirs.0).unwrap();
        assert!(!ip(&["netns", "list"]).contains(&theirs.0));
    });
}

/// Relied on by the laboratory's cleaning up, which removes names and nothing else.
#[test]
fn a_veth_ends_with_the_namespace_of_either_end() {
    with_network("namespaces::a_veth_ends_with_the_namespace_of_either_end", || {
        let Pair { one, other } = Pair::create();
        drop(one);
        let network = other.network();
        let begin = std::time::Instant::now();
        // The kernel takes a namespace apart in the background.
        while network.link("v1").is_ok() {
            assert!(begin.elapsed() < std::time::Duration::from_secs(30), "the far end of the veth stays");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
}

/// Relied on by everything that holds both ends of a device under test in one process.
#[test]
fn a_socket_stays_in_the_namespace_it_was_made_in() {
    with_network("namespaces::a_socket_stays_in_the_namespace_it_was_made_in", || {
        let pair = Pair::create();
        let [one, other] = [&pair.one, &pair.other].map(|namespace| {
            netns::with_namespace(&namespace.0, || UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap()
        });
        other.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        one.send_to(b"x", (Pair::ADDRESSES[0][1], other.local_addr().unwrap().port())).unwrap();
        let (_, from) = other.recv_from(&mut [0; 8]).unwrap();
        assert_eq!(from.ip().to_string(), Pair::ADDRESSES[0][0]);
    });
}

/// Relied on by the rootless laboratory: a user namespace gives full rights over a network of its own, packet
/// sockets included. As root this is tested as an ordinary user.
#[test]
fn an_ordinary_user_can_have_a_network_of_its_own() {
    const NAME: &str = "namespaces::an_ordinary_user_can_have_a_network_of_its_own";
    romer_testnet::namespace::as_ordinary_user(NAME, || {
        with_network(NAME, || {
            let rights = capabilities().unwrap();
            assert!(rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin));
            let pair = Pair::create();
            let network = pair.one.network();
            network.add_bridge("b0").unwrap();
            network.set_bridge("v0", Some("b0")).unwrap();
            network.set_parameter("net/ipv4/ip_forward", "1").unwrap();
            netns::with_namespace(&pair.one.0, || {
                let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
                // SAFETY: the call takes plain numbers.
                let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
                assert!(socket >= 0, "{}", std::io::Error::last_os_error());
                // SAFETY: the descriptor was opened just now and nobody else has it.
                unsafe { libc::close(socket) };
            })
            .unwrap();
        });
    });
}

/// Relied on by the laboratory's cleaning up after a crash between two steps.
#[test]
fn the_rest_of_a_half_made_namespace_can_be_told_and_deleted() {
    with_network("namespaces::the_rest_of_a_half_made_namespace_can_be_told_and_deleted", || {
        let whole = Namespace::create();
        let half = Namespace(format!("{}-half", whole.0));
        std::fs::write(netns::path(&half.0).unwrap(), "").unwrap();
        assert!(netns::exists(&half.0).unwrap());
        assert!(netns::enter(&half.0).unwrap_err().is_not_a_namespace());
        netns::delete(&half.0).unwrap();
        assert!(!netns::exists(&half.0).unwrap());
        assert!(matches!(netns::delete(&half.0), Err(HostError::Missing { .. })));
    });
}
