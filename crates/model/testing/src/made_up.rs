//! A stream of a run that tests make up.

use romer_record::document::{Metadata, Traffic};
use romer_record::manifest::{ClockRelation, SkewRequest, StampRequest, Stream};

/// A stream with a whole log at both ends, whose clocks are one, and of which nothing else is known.
pub fn stream() -> Stream {
    Stream {
        target: String::new(),
        started: String::new(),
        ended: None,
        traffic: Traffic::default(),
        metadata: Metadata::default(),
        clock_relation: ClockRelation::Shared,
        responder_log: true,
        responder_log_complete: true,
        not_logged: Vec::new(),
        responder_log_gaps: Vec::new(),
        early_end: None,
        unreachable: None,
        stamp_request: StampRequest::Best,
        skew: SkewRequest::default(),
        voice: Default::default(),
        limits: Vec::new(),
        calibration: None,
        ip_no_pmtu_disc: None,
        responder_ip_no_pmtu_disc: None,
        address: None,
        replies: Default::default(),
        checksum_errors: Default::default(),
        damage: None,
        events: Vec::new(),
    }
}
