use super::*;
use proptest::prelude::*;

/// Key, text and code of RFC 4231 sections 4.2 to 4.8, the codes to their first 128 bits.
fn rfc_4231() -> [(Vec<u8>, Vec<u8>, &'static str); 7] {
    let counting: Vec<u8> = (1..=25).collect();
    let long =
        b"This is a test using a larger than block-size key and a larger than block-size data. The key \
                 needs to be hashed before being used by the HMAC algorithm.";
    [
        (vec![0x0b; 20], b"Hi There".to_vec(), "b0344c61d8db38535ca8afceaf0bf12b"),
        (b"Jefe".to_vec(), b"what do ya want for nothing?".to_vec(), "5bdcc146bf60754e6a042426089575c7"),
        (vec![0xaa; 20], vec![0xdd; 50], "773ea91e36800e46854db8ebd09181a7"),
        (counting, vec![0xcd; 50], "82558a389a443c0ea4cc819899f2083a"),
        (vec![0x0c; 20], b"Test With Truncation".to_vec(), "a3b6167473100ee06e0c796c2955552b"),
        (
            vec![0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
            "60e431591ee0b67f0d8a26aacbf5b77f",
        ),
        (vec![0xaa; 131], long.to_vec(), "9b09ffa71b942fcb27635fbcd5b0e944"),
    ]
}

#[test]
fn the_code_is_that_of_rfc_4231_to_its_first_128_bits() {
    for (octets, text, code) in rfc_4231() {
        let key = Key::of_any_length(&octets).unwrap();
        let expected = hex(code.as_bytes()).unwrap().unwrap();
        assert_eq!(key.tag(&[&text]), expected.as_slice(), "{code}");
        assert!(key.verifies(&[&text], expected.first_chunk().unwrap()));
    }
}

#[test]
fn a_key_has_at_least_32_octets() {
    for len in [0, 1, 15, 31] {
        assert_eq!(Key::new(&vec![7; len]).unwrap_err(), KeyError::TooShort(len));
    }
    for len in [32, 33, 64, 65, 4096] {
        assert!(Key::new(&vec![7; len]).is_ok(), "{len}");
    }
}

#[test]
fn a_key_is_never_shown() {
    let octets = *b"a secret of thirty-two octets...";
    assert_eq!(format!("{:?}", Key::new(&octets).unwrap()), "Key(not shown)");
    let file = KeyFile::parse(&octets).unwrap();
    assert_eq!(format!("{file:?}"), "KeyFile { key: Key(not shown), form: Raw, line_feed_stripped: false }");
}

/// A key is overwritten when it is dropped.
#[test]
fn dropped_keys_are_overwritten() {
    fn overwritten<T: ZeroizeOnDrop>() {}
    // HMAC's state is two of SHA-256's and a buffer of octets not hashed yet, as SHA-256 has one.
    overwritten::<Sha256>();
    overwritten::<Zeroizing<Vec<u8>>>();
    overwritten::<Key>();
}

/// What the content of a key file comes to, the key by its code over nothing.
fn read(content: &[u8]) -> Result<([u8; TAG], KeyForm, bool), KeyError> {
    KeyFile::parse(content).map(|file| (file.key.tag(&[]), file.form, file.line_feed_stripped))
}

/// Key files are read or refused as the table of bad inputs states.
#[test]
fn key_files_follow_the_table() {
    let octets: Vec<u8> = (0x80..0xa8).collect();
    let tag = Key::new(&octets).unwrap().tag(&[]);
    let digits: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    let (raw, hex, upper) = (octets.as_slice(), digits.as_bytes(), digits.to_uppercase());

    // config-23, config-24, config-25
    assert_eq!(read(&[0xff; 15]), Err(KeyError::TooShort(15)));
    assert_eq!(read(&[raw, b"\n"].concat()), Ok((tag, KeyForm::Raw, true)));
    assert_eq!(read(&hex[1..]), Err(KeyError::OddHex(79)));

    assert_eq!(read(raw), Ok((tag, KeyForm::Raw, false)));
    assert_eq!(read(hex), Ok((tag, KeyForm::Hex, false)));
    assert_eq!(read(&[hex, b"\n"].concat()), Ok((tag, KeyForm::Hex, true)));
    assert_eq!(read(upper.as_bytes()), Ok((tag, KeyForm::Hex, false)));
    assert_eq!(read(b""), Err(KeyError::TooShort(0)));
    assert_eq!(read(b"\n"), Err(KeyError::TooShort(0)));
    // Of thirty-two drawn octets the last is a line feed once in 256 times, and a part of the key.
    let drawn = [&raw[..31], b"\n"].concat();
    assert_eq!(read(&drawn), Ok((Key::new(&drawn).unwrap().tag(&[]), KeyForm::Raw, false)));
    assert_eq!(read(&drawn[1..]), Err(KeyError::TooShort(30)));
    // Thirty-two digits are sixteen octets, though thirty-two octets would have been enough.
    assert_eq!(read(&hex[..32]), Err(KeyError::TooShort(16)));
}

#[test]
fn only_one_line_feed_is_no_part_of_the_key() {
    let raw = [0xee; 40];
    let twice = [&raw[..], b"\n\n"].concat();
    let tag = Key::new(&twice[..41]).unwrap().tag(&[]);
    assert_eq!(read(&twice), Ok((tag, KeyForm::Raw, true)));
    let returned = [&raw[..], b"\r\n"].concat();
    let tag = Key::new(&returned[..41]).unwrap().tag(&[]);
    assert_eq!(read(&returned), Ok((tag, KeyForm::Raw, true)));
}

#[test]
fn hex_that_was_written_with_blanks_is_not_taken_for_a_raw_key() {
    let digits = [b'7'; 64];
    for (content, place) in [
        ([&digits[..], b"\r\n"].concat(), 64),
        ([&digits[..], b"\n\n"].concat(), 64),
        ([b" ", &digits[..]].concat(), 0),
        ([&digits[..2], b" ", &digits[..]].concat(), 2),
    ] {
        assert_eq!(read(&content), Err(KeyError::BlankInHex(place)));
    }
    // Blanks alone were not meant as hex.
    assert!(matches!(read(&[b' '; 40]), Ok((_, KeyForm::Raw, false))));
}

proptest! {
    #[test]
    fn the_parts_are_taken_as_one_text(
        octets in prop::collection::vec(any::<u8>(), KEY_MIN..100), a: Vec<u8>, b: Vec<u8>,
    ) {
        let key = Key::new(&octets).unwrap();
        let tag = key.tag(&[&a, &b]);
        prop_assert_eq!(tag, key.tag(&[&[a, b].concat()]));
    }

    #[test]
    fn one_wrong_bit_in_text_or_code_is_noticed(
        octets in prop::collection::vec(any::<u8>(), KEY_MIN..100),
        text in prop::collection::vec(any::<u8>(), 1..200), place: prop::sample::Index, bit in 0u8..8,
    ) {
        let key = Key::new(&octets).unwrap();
        let mut tag = key.tag(&[&text]);
        prop_assert!(key.verifies(&[&text], &tag));
        let mut other = text.clone();
        other[place.index(text.len())] ^= 1 << bit;
        prop_assert!(!key.verifies(&[&other], &tag));
        tag[place.index(TAG)] ^= 1 << bit;
        prop_assert!(!key.verifies(&[&text], &tag));
    }

    #[test]
    fn any_content_is_survived(content in prop::collection::vec(any::<u8>(), 0..100)) {
        let stripped = content.strip_suffix(b"\n").unwrap_or(&content).len();
        match KeyFile::parse(&content) {
            Ok(file) => prop_assert_eq!(file.line_feed_stripped, stripped < content.len()),
            Err(KeyError::TooShort(len)) => prop_assert!(len < KEY_MIN),
            Err(KeyError::OddHex(digits)) => prop_assert_eq!(digits, stripped),
            Err(KeyError::BlankInHex(place)) => prop_assert!(content[place].is_ascii_whitespace()),
        }
    }

    #[test]
    fn a_key_is_the_same_in_hex(octets in prop::collection::vec(any::<u8>(), KEY_MIN..100), upper: bool) {
        let digits: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        let digits = if upper { digits.to_uppercase() } else { digits };
        let tag = Key::new(&octets).unwrap().tag(&[]);
        prop_assert_eq!(read(digits.as_bytes()), Ok((tag, KeyForm::Hex, false)));
    }
}
