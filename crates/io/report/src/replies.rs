//! What is said of datagrams that came and were not counted, of replies of unusual length, and of damaged datagrams.

use romer_record::document::{ChecksumErrors, OtherLength, Rejected};
use romer_units::{counted, counted_as};

/// The causes for which datagrams were rejected, with their counts: `100 from another port (192.0.2.1:863)`.
pub fn causes(rejected: &Rejected) -> Vec<String> {
    let from = rejected.source.as_ref().map_or_else(String::new, |source| format!(" ({source})"));
    let (of_address, of_port) = if rejected.address > 0 { (from.as_str(), "") } else { ("", from.as_str()) };
    [
        (rejected.address, "from another address", of_address),
        (rejected.port, "from another port", of_port),
        (rejected.size, "too short", ""),
        (rejected.code, "with a missing or wrong HMAC", ""),
        (rejected.session, "with another session identifier", ""),
        (rejected.sequence, "with a sequence number that was not sent", ""),
        (rejected.echo, "with another sender time stamp than the probe", ""),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, cause, from)| format!("{count} {cause}{from}"))
    .collect()
}

/// What to do where the replies are rejected for the most frequent of the causes.
pub fn remedy(rejected: &Rejected) -> &'static str {
    let fields = "the reflector must return sequence number, time stamp and session identifier as received (RFC 8762 section 4.3)";
    [
        (
            rejected.address,
            "use that address as the target, or bind the reflector to the address of the target",
        ),
        (
            rejected.port,
            "make the reflector reply from the port of the request, and check for a NAT on the path",
        ),
        (rejected.size, "check that the target is a STAMP or TWAMP Light reflector"),
        (rejected.code, "give both ends the same key, or measure without --key-file"),
        (rejected.session, fields),
        (rejected.sequence, fields),
        (rejected.echo, fields),
    ]
    .into_iter()
    .max_by_key(|(count, _)| *count)
    .map_or(fields, |(_, remedy)| remedy)
}

/// How many datagrams were rejected, and why; `what` they should have been: `replies`, `probes`.
pub fn came(rejected: &Rejected, what: &str) -> String {
    format!(
        "{} not counted as {what}: {}",
        counted_as(rejected.total(), "datagram arrived that is", "datagrams arrived that are"),
        causes(rejected).join(", ")
    )
}

/// That datagrams were rejected, and why, and what to do; `what` they should have been.
pub fn rejected(rejected: &Rejected, what: &str) -> Option<String> {
    (rejected.total() > 0).then(|| format!("{}; {}", came(rejected, what), remedy(rejected)))
}

/// That replies are longer or shorter than their requests.
pub fn other_length(found: &OtherLength) -> String {
    let (least, most) = (found.payload_octets_min, found.payload_octets_max);
    let octets = if least == most { format!("{least} bytes") } else { format!("{least} to {most} bytes") };
    format!(
        "{} not as long as the request, with {octets} of UDP payload: forward and reverse delays are of different packet sizes",
        counted_as(found.replies, "reply is", "replies are"),
    )
}

/// That hosts dropped datagrams as damaged.
pub fn checksum_errors(found: &ChecksumErrors) -> Option<String> {
    let hosts = [(found.sender, "this host"), (found.responder, "the responder's host")];
    let each = |(count, host): (Option<u64>, &str)| {
        count.filter(|count| *count > 0).map(|count| format!("{host} dropped {}", counted(count, "datagram")))
    };
    let dropped: Vec<String> = hosts.into_iter().filter_map(each).collect();
    (!dropped.is_empty()).then(|| {
        format!(
            "{} with a wrong UDP checksum during the run (of all programs); damaged probes count as lost",
            dropped.join(", and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each cause is named with its count and, where it is the source, with the source.
    #[test]
    fn rejected_replies_by_cause() {
        let none = Rejected::default();
        assert_eq!(rejected(&none, "replies"), None);
        let port = Rejected { port: 100, source: Some("192.0.2.1:863".into()), ..none.clone() };
        let text = rejected(&port, "replies").unwrap();
        assert!(
            text.starts_with(
                "100 datagrams arrived that are not counted as replies: 100 from another port (192.0.2.1:863); "
            ),
            "{text}"
        );
        let number = Rejected { sequence: 60, ..none };
        assert_eq!(
            came(&number, "replies"),
            "60 datagrams arrived that are not counted as replies: 60 with a sequence number that was not sent"
        );
        let all = Rejected {
            address: 1,
            port: 2,
            size: 3,
            code: 4,
            session: 5,
            sequence: 6,
            echo: 7,
            source: None,
        };
        assert_eq!(causes(&all).len(), 7);
        assert!(remedy(&Rejected { code: 9, ..all }).contains("--key-file"));
    }

    /// Hosts without damaged datagrams, or that do not tell, are not named.
    #[test]
    fn hosts_with_checksum_errors() {
        let of = |sender, responder| checksum_errors(&ChecksumErrors { sender, responder });
        assert_eq!(of(Some(0), None), None);
        assert!(of(Some(0), Some(1)).unwrap().starts_with("the responder's host dropped 1 datagram with"));
        assert!(
            of(Some(2), Some(1)).unwrap().starts_with("this host dropped 2 datagrams, and the responder's")
        );
    }
}
