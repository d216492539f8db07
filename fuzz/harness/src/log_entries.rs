//! The packet log's entries, and the responder's records as the control channel carries them.

use romer_record::log::{Entries, Entry, FAR_LONGEST, ResponderRecord, decode_far, encode, encode_far};
use romer_record::plausible::{MOMENTS, SPANS};

use crate::Seed;

pub(crate) fn run(octets: &[u8]) {
    let mut again = Vec::new();
    let mut whole = true;
    for read in Entries::new(octets) {
        assert!(whole, "something follows an error");
        match read {
            Ok((stream, entry)) => encode(stream, &entry, &mut again),
            Err(_) => whole = false,
        }
    }
    // What is read is written as it was; so nothing can be read in two ways.
    assert!(octets.starts_with(&again));
    assert_eq!(whole, again.len() == octets.len());

    if let Ok(records) = decode_far(octets) {
        let mut again = Vec::new();
        records.iter().for_each(|record| encode_far(record, &mut again));
        assert_eq!(again, octets);
        assert!(again.len() <= records.len() * FAR_LONGEST);
    }
}

/// A record with everything in it.
pub(crate) fn far(sequence: u64) -> ResponderRecord {
    ResponderRecord {
        sequence,
        t2_user_ns: 1_795_000_000_000_050_000,
        t2_kernel_ns: Some(1_795_000_000_000_010_000),
        t3_user_ns: Some(1_795_000_000_000_060_000),
        t3_kernel_ns: Some(1_795_000_000_000_070_000),
        ttl: Some(63),
        tos: Some(0xb8),
    }
}

/// One entry of each kind, as full and as empty as it can be.
pub(crate) fn examples() -> Vec<(&'static str, Entry)> {
    let returned = |filled: bool, reply_number| Entry::Returned {
        sequence: 7,
        user_ns: 1_795_000_000_000_100_000,
        kernel_ns: filled.then_some(1_795_000_000_000_080_000),
        told_t2_ns: filled.then_some(MOMENTS.start),
        told_t3_ns: filled.then_some(MOMENTS.end - 1),
        ttl: filled.then_some(62),
        tos: filled.then_some(0),
        told_ttl: filled.then_some(255),
        reply_number,
    };
    vec![
        (
            "sent",
            Entry::Sent { sequence: 0, size: 44, wake_error_ns: -50, user_ns: 1_795_000_000_000_000_000 },
        ),
        (
            "sent_largest",
            Entry::Sent {
                sequence: u64::MAX,
                size: u32::MAX,
                wake_error_ns: SPANS.end - 1,
                user_ns: MOMENTS.start,
            },
        ),
        ("sent_stamp", Entry::SentStamp { sequence: 7, kernel_ns: 1_795_000_000_000_002_000 }),
        ("not_sent", Entry::NotSent { sequence: 8, size: 44, errno: 101, user_ns: -1 }),
        ("returned", returned(true, None)),
        ("returned_with_little", returned(false, None)),
        ("returned_numbered", returned(true, Some(u32::MAX))),
        ("returned_numbered_with_little", returned(false, Some(0))),
        ("far", Entry::Far(far(7))),
        ("far_with_little", Entry::Far(ResponderRecord { sequence: 9, ..ResponderRecord::default() })),
    ]
}

pub(crate) fn seeds() -> Vec<Seed> {
    let written = |entry: &Entry| {
        let mut octets = Vec::new();
        encode(3, entry, &mut octets);
        octets
    };
    let mut seeds: Vec<Seed> =
        examples().iter().map(|(name, entry)| Seed::new(name, written(entry))).collect();
    let all: Vec<u8> = examples().iter().flat_map(|(_, entry)| written(entry)).collect();
    let mut records = Vec::new();
    encode_far(&far(1), &mut records);
    encode_far(&ResponderRecord::default(), &mut records);
    seeds.extend([
        Seed::new("empty", []),
        Seed::new("cut_in_an_entry", &all[..all.len() - 3]),
        Seed::new("all", all),
        Seed::new("unknown_kind", [99, 0, 0]),
        Seed::new("records", records.clone()),
        Seed::new("record_cut", &records[..records.len() - 1]),
        Seed::new("option_neither_there_nor_not", {
            records[16] = 2;
            records
        }),
    ]);
    seeds
}
