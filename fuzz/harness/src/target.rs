//! Targets and address ranges as users write them.

use romer_endpoint::names::Target;
use romer_session::reflector::Prefix;

use crate::Seed;

/// The longest message: 80 characters are shown at most twice, each of up to ten octets.
const LONGEST_MESSAGE: usize = 2 * 80 * 10 + 256;

pub(crate) fn run(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    match text.parse::<Target>() {
        Ok(target) => {
            assert_eq!(target.text, text);
            assert!(!target.host.is_empty() && target.host.len() <= 300);
            assert!(target.port != Some(0));
            let again = match target.port {
                Some(port) if target.host.contains(':') => format!("[{}]:{port}", target.host),
                Some(port) => format!("{}:{port}", target.host),
                None if target.host.contains(':') => format!("[{}]", target.host),
                None => target.host.clone(),
            };
            let again: Target =
                again.parse().unwrap_or_else(|error| panic!("{text:?} as {again:?}: {error}"));
            assert_eq!((again.host, again.port), (target.host, target.port));
        }
        Err(message) => check(&message),
    }
    if let Err(message) = text.parse::<Prefix>() {
        check(&message);
    }
}

/// One short line that says why and what to do.
fn check(message: &str) {
    assert!(!message.chars().any(char::is_control), "control characters in {message:?}");
    assert!(message.len() <= LONGEST_MESSAGE, "{} octets: {message}", message.len());
    assert!(message.contains("; "), "no mend: {message}");
}

pub(crate) fn seeds() -> Vec<Seed> {
    [
        ("empty", ""),
        ("name", "host.example"),
        ("name_port", "host.example:8862"),
        ("ipv4", "192.0.2.1"),
        ("ipv4_port", "192.0.2.1:862"),
        ("ipv4_too_large", "256.1.1.1"),
        ("ipv6", "2001:db8::1"),
        ("ipv6_brackets_port", "[2001:db8::1]:5000"),
        ("ipv6_ambiguous", "2001:db8::1:5000"),
        ("ipv6_link_local", "fe80::1"),
        ("ipv6_scoped", "[fe80::1%eth0]:862"),
        ("ipv6_scope_that_is_none", "80::1%eth0]"),
        ("ipv4_in_ipv6", "::ffff:224.0.0.1"),
        ("no_bracket", "[::1"),
        ("port_zero", "host:0"),
        ("port_too_large", "host:70000"),
        ("two_colons", "a:b:c"),
        ("url", "http://example.org/"),
        ("control_characters", "ho\u{1b}[31m\u{0}st\n"),
        ("range", "192.0.2.0/24"),
        ("range_too_long", "192.0.2.0/33"),
        ("range_v6", "2001:db8::/32"),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .into()
}
