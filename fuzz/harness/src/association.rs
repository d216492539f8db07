//! Association datagrams.

use romer_session::association::{LENGTH, TOKEN, datagram, token};

use crate::Seed;

pub(crate) fn run(octets: &[u8]) {
    match token(octets) {
        Some(token) => assert_eq!(octets, datagram(token)),
        None => assert!(
            octets.len() != LENGTH || octets[16 + TOKEN..] != [0; LENGTH - 16 - TOKEN] || !magic(octets)
        ),
    }
}

fn magic(octets: &[u8]) -> bool {
    octets.starts_with(&datagram([0; TOKEN])[..16])
}

pub(crate) fn seeds() -> Vec<Seed> {
    let whole = datagram(*b"sixteen octets !");
    let with = |at: usize, octet: u8| {
        let mut other = whole;
        other[at] = octet;
        other
    };
    vec![
        Seed::new("empty", []),
        Seed::new("whole", whole),
        Seed::new("token_of_zeros", datagram([0; TOKEN])),
        Seed::new("token_of_ones", datagram([0xff; TOKEN])),
        Seed::new("one_octet_short", &whole[..LENGTH - 1]),
        Seed::new("one_octet_long", [&whole[..], &[0]].concat()),
        Seed::new("only_its_name", &whole[..16]),
        Seed::new("cut_in_the_token", &whole[..24]),
        Seed::new("another_name", with(15, b'2')),
        Seed::new("something_behind_the_token", with(32, 1)),
        Seed::new("something_at_the_end", with(LENGTH - 1, 0x80)),
        Seed::new("zeros", [0; LENGTH]),
    ]
}
