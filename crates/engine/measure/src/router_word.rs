//! What a router on the way says of what it does not pass on. Its word comes to a connection as the same error number as this
//! host's own refusal, so that who it was is asked with a datagram, whose error names its sender.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use romer_host::socket::{Outgoing, PathError, PathErrorKind, SocketOptions, StampingSocket, TransmitEvents};
use romer_host::stream::Origin;
use romer_host::{clock, host_info};
use romer_units::Duration;

/// How long a router's word is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a router said of packets, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RouterWord {
    router: IpAddr,
    /// ICMP or ICMPv6 type and code.
    icmp: [u8; 2],
}

impl RouterWord {
    /// The word of a report, unless it is this host's own.
    pub(super) fn from_path_error(error: &PathError, is_own: impl Fn(IpAddr) -> bool) -> Option<Self> {
        let router = error.reporter.filter(|reporter| !is_own(*reporter))?;
        let word = Self { router, icmp: [error.icmp_type, error.icmp_code] };
        matches!(error.kind, PathErrorKind::Unreachable).then_some(word)
    }

    /// Who said so to a connection with `address` that came to this `error`, if it was a router: this host has a way there then.
    pub(super) fn asked(error: &io::Error, address: SocketAddr, from: &Origin) -> Option<Self> {
        if !matches!(error.kind(), io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) {
            return None;
        }
        let own = host_info::route_to(address).ok()?.source;
        let any = match address.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let options = SocketOptions {
            interface: from.interface.clone(),
            kernel_stamps: false,
            path_errors: true,
            ..SocketOptions::default()
        };
        let socket = StampingSocket::bind(SocketAddr::new(from.address.unwrap_or(any), 0), &options).ok()?;
        // Nothing that a reflector or a responder would answer.
        socket.send(&Outgoing::new(&[0], address, 0)).ok()?;
        let mut events = TransmitEvents::new(16);
        let until = clock::monotonic_now() + PATIENCE;
        loop {
            while socket.transmit_events(&mut events).is_ok_and(|count| count > 0) {
                let mut words =
                    events.path_errors().iter().map(|error| Self::from_path_error(error, |from| from == own));
                if let Some(word) = words.next() {
                    return word;
                }
            }
            let left = until - clock::monotonic_now();
            if left <= Duration::ZERO || socket.wait(Some(left)).is_err() {
                return None;
            }
        }
    }
}

impl core::fmt::Display for RouterWord {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { router, icmp: [kind, code] } = *self;
        // RFC 792, RFC 1812 section 5.2.7.1; RFC 4443 section 3.1.
        let said = match (router.is_ipv4(), code) {
            (true, 0 | 6) => "network unreachable",
            (true, 1 | 7) => "host unreachable",
            (true, 9 | 10 | 13) | (false, 1 | 5) => "administratively prohibited",
            (false, 0) => "no route to destination",
            (false, 3) => "address unreachable",
            (false, 6) => "reject route to destination",
            _ => "destination unreachable",
        };
        write!(f, "ICMP {said} (type {kind}, code {code}) from {router}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_is_named_with_its_word_and_this_host_is_none() {
        let router: IpAddr = "198.18.0.1".parse().unwrap();
        let report = |kind, code| PathError {
            to: None,
            reporter: Some(router),
            kind,
            icmp_type: 3,
            icmp_code: code,
            quoted: None,
        };
        let word = RouterWord::from_path_error(&report(PathErrorKind::Unreachable, 1), |_| false).unwrap();
        assert_eq!(word.to_string(), "ICMP host unreachable (type 3, code 1) from 198.18.0.1");
        let word = RouterWord::from_path_error(&report(PathErrorKind::Unreachable, 13), |_| false).unwrap();
        assert!(word.to_string().contains("administratively prohibited"), "{word}");
        assert_eq!(
            RouterWord::from_path_error(&report(PathErrorKind::Unreachable, 1), |from| from == router),
            None
        );
        assert_eq!(RouterWord::from_path_error(&report(PathErrorKind::TimeExceeded, 0), |_| false), None);
        let own = PathError { reporter: None, ..report(PathErrorKind::Unreachable, 1) };
        assert_eq!(RouterWord::from_path_error(&own, |_| false), None);
        let v6 = RouterWord { router: "2001:db8::1".parse().unwrap(), icmp: [1, 0] };
        assert!(v6.to_string().contains("no route to destination"), "{v6}");
    }

    #[test]
    fn other_errors_ask_nobody() {
        let error = io::ErrorKind::TimedOut.into();
        assert_eq!(RouterWord::asked(&error, "127.0.0.1:9".parse().unwrap(), &Origin::default()), None);
    }
}
