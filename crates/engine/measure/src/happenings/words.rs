//! How a run tells what was refused of it.

use std::net::{IpAddr, SocketAddr};

use romer_endpoint::occurrences::{shorter, shorter_by};
use romer_endpoint::threads::{STOOD_STILL, too_late};
use romer_host::HostError;
use romer_host::host_info::PacketTooBigHandling;
use romer_units::{counted, was};

use crate::no_route::explained;
use crate::router_word::RouterWord;
use crate::unanswered::UNANSWERED;

/// `1 probe was not sent`, `2 probes were not sent`.
pub(super) fn unsent(count: u64) -> String {
    format!("{} {} not sent", counted(count, "probe"), was(count))
}

/// Why as many probes to `target` were not sent, by the system's error number of the last; `mtu` is the longest packet that
/// this host knows to get there, where it was asked, and `heard` what it makes of the words of routers.
pub(super) fn refusal(
    errno: i32,
    count: u64,
    target: SocketAddr,
    mtu: Option<u32>,
    heard: Option<PacketTooBigHandling>,
) -> String {
    let host = target.ip();
    match errno {
        STOOD_STILL => too_late("the program", count, ""),
        UNANSWERED => format!(
            "ARP or neighbour discovery for the next hop to {host} failed, and this host dropped the queued packets (see ip neigh)"
        ),
        HostError::TOO_LONG => {
            format!("too long for the path to {host}{}", shorter_by(host, mtu, heard))
        }
        HostError::NO_ROOM => {
            let them = if count == 1 { "it" } else { "them" };
            format!(
                "the interface did not take {them} ({}): its queue is full, it has no carrier, or the other end of a virtual link \
                 refuses {them}, as for the length",
                std::io::Error::from_raw_os_error(errno)
            )
        }
        _ => explained(&std::io::Error::from_raw_os_error(errno), target),
    }
}

/// What the path has reported of so many probes.
///
/// `word` is the last that a router gave as the reason why it does not pass them on.
pub(super) fn path_error(count: u64, word: Option<RouterWord>) -> String {
    let word = word.map_or_else(|| "ICMP error from the path".to_owned(), |word| word.to_string());
    format!("{word}, for {}", counted(count, "probe"))
}

/// That the far host itself has reported of so many probes that nobody takes them there.
pub(super) fn nobody(count: u64, target: SocketAddr) -> String {
    format!(
        "ICMP port unreachable from the target, UDP port {}, for {}: no reflector is listening, or a NAT has lost its mapping",
        target.port(),
        counted(count, "probe")
    )
}

/// That the path has returned so many probes to `target` as too long, with the MTU that it named (0 where it named none).
pub(super) fn path_refused(count: u64, target: IpAddr, mtu: u32) -> String {
    let takes = shorter(target, Some(mtu).filter(|mtu| *mtu > 0));
    format!("ICMP packet too big from the path, for {}{takes}", counted(count, "probe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    #[test]
    fn one_probe_that_was_not_sent_is_told_as_one_with_its_reason() {
        let told = |count| {
            format!(
                "{}: {}",
                unsent(count),
                refusal(STOOD_STILL, count, SocketAddr::new(V4, 862), None, None)
            )
        };
        assert_eq!(
            told(1),
            "1 probe was not sent: the program was 2 s late with it: it was paused, or has too little processor time for this rate (--realtime helps, or a longer --interval)"
        );
        assert!(
            told(2).starts_with("2 probes were not sent: the program was 2 s late with them: "),
            "{}",
            told(2)
        );
    }

    #[test]
    fn what_was_refused_for_its_length_is_told_with_the_size_that_passes() {
        let told = |target, mtu| {
            refusal(
                HostError::TOO_LONG,
                2,
                SocketAddr::new(target, 862),
                mtu,
                Some(PacketTooBigHandling::Heeded),
            )
        };
        assert_eq!(
            told(V4, Some(1_300)),
            "too long for the path to 127.0.0.1: its MTU is 1300 bytes; set --size to at most 1272B"
        );
        assert!(told(V6, Some(1_300)).ends_with("--size to at most 1252B"), "{}", told(V6, Some(1_300)));
        assert_eq!(told(V4, None), "too long for the path to 127.0.0.1; set a smaller --size");
    }

    #[test]
    fn a_host_that_sends_short_packets_only_once_a_router_has_returned_one_is_told_as_that() {
        let told = |target, mtu| {
            refusal(
                HostError::TOO_LONG,
                2,
                SocketAddr::new(target, 862),
                Some(mtu),
                Some(PacketTooBigHandling::Least(552)),
            )
        };
        let text = told(V4, 552);
        assert!(text.contains("net.ipv4.ip_no_pmtu_disc is 1") && text.ends_with("at most 524B"), "{text}");
        assert!(!text.contains("its MTU is"), "what the path takes is not known: {text}");
        for (target, mtu) in [(V4, 1_300), (V6, 552)] {
            assert!(told(target, mtu).contains("its MTU is"), "{}", told(target, mtu));
        }
    }

    #[test]
    fn what_an_interface_does_not_take_is_told_with_what_that_may_be() {
        let told = refusal(HostError::NO_ROOM, 1, SocketAddr::new(V4, 862), None, None);
        assert!(
            told.starts_with("the interface did not take it (") && told.contains("queue is full"),
            "{told}"
        );
    }

    #[test]
    fn what_was_kept_for_a_next_host_that_does_not_answer_is_not_laid_to_routers() {
        let text = refusal(UNANSWERED, 32, SocketAddr::new(V4, 862), None, None);
        assert!(
            text.starts_with("ARP or neighbour discovery for the next hop to 127.0.0.1 failed"),
            "{text}"
        );
    }

    #[test]
    fn what_the_path_does_not_take_is_told_with_what_it_takes() {
        assert!(
            nobody(1, SocketAddr::new(V4, 862))
                .starts_with("ICMP port unreachable from the target, UDP port 862, for 1 probe: ")
        );
        assert_eq!(path_error(1, None), "ICMP error from the path, for 1 probe");
        let text = path_refused(3, V4, 1_400);
        assert!(text.starts_with("ICMP packet too big from the path, for 3 probes: "), "{text}");
        assert!(text.contains("MTU is 1400 bytes") && text.ends_with("at most 1372B"), "{text}");
        assert!(path_refused(1, V4, 0).ends_with("set a smaller --size"), "{}", path_refused(1, V4, 0));
    }
}
