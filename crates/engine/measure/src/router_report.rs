//! What a router on the way says of what it does not pass on. Its word comes to a connection as the same error number as this
//! host's own refusal, so that who it was is asked with a datagram, whose error names its sender.

use std::io;
use std::net::{IpAddr, SocketAddr};

use romer_host::socket::{Outgoing, PathError, PathErrorKind, SocketOptions, StampingSocket, TransmitEvents};
use romer_host::stream::Origin;
use romer_host::{clock, host_info};
use romer_record::event::RouterReport;
use romer_units::Duration;

/// How long a router's word is waited for.
const ICMP_TIMEOUT: Duration = Duration::from_secs(1);

/// What a router reported, unless the report is this host's own.
pub(super) fn from_path_error(error: &PathError, is_own: impl Fn(IpAddr) -> bool) -> Option<RouterReport> {
    let router = error.reporter.filter(|reporter| !is_own(*reporter))?;
    let report = RouterReport { router, icmp_type: error.icmp_type, icmp_code: error.icmp_code };
    matches!(error.kind, PathErrorKind::Unreachable).then_some(report)
}

/// Who said so to a connection with `address` that came to this `error`, if it was a router: this host has a way there then.
pub(super) fn asked(error: &io::Error, address: SocketAddr, from: &Origin) -> Option<RouterReport> {
    if !matches!(error.kind(), io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) {
        return None;
    }
    let own = host_info::route_to(address).ok()?.source;
    let options = SocketOptions {
        interface: from.interface.clone(),
        kernel_stamps: false,
        path_errors: true,
        ..SocketOptions::default()
    };
    let source = from.address.unwrap_or(host_info::unspecified(address));
    let socket = StampingSocket::bind(SocketAddr::new(source, 0), &options).ok()?;
    // Nothing that a reflector or a responder would answer.
    socket.send(&Outgoing::new(&[0], address, 0)).ok()?;
    let mut events = TransmitEvents::new(16);
    let until = clock::monotonic_now() + ICMP_TIMEOUT;
    loop {
        while socket.transmit_events(&mut events).is_ok_and(|count| count > 0) {
            let mut reports =
                events.path_errors().iter().map(|error| from_path_error(error, |from| from == own));
            if let Some(report) = reports.next() {
                return report;
            }
        }
        let left = until - clock::monotonic_now();
        if left <= Duration::ZERO || socket.wait(Some(left)).is_err() {
            return None;
        }
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
        let reported = from_path_error(&report(PathErrorKind::Unreachable, 13), |_| false).unwrap();
        assert_eq!(reported, RouterReport { router, icmp_type: 3, icmp_code: 13 });
        assert_eq!(from_path_error(&report(PathErrorKind::Unreachable, 1), |from| from == router), None);
        assert_eq!(from_path_error(&report(PathErrorKind::TimeExceeded, 0), |_| false), None);
        let own = PathError { reporter: None, ..report(PathErrorKind::Unreachable, 1) };
        assert_eq!(from_path_error(&own, |_| false), None);
    }

    #[test]
    fn other_errors_ask_nobody() {
        let error = io::ErrorKind::TimedOut.into();
        assert_eq!(asked(&error, "127.0.0.1:9".parse().unwrap(), &Origin::default()), None);
    }
}
