//! The hash on which every choice depends: SipHash-1-3 (Aumasson and Bernstein 2012) with a fixed key.
//!
//! All hosts and all releases compute the same values, so that a pair keeps its owner and its phase.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

/// The key: the ASCII codes of `romer/fleet/plan`.
const KEY: [u64; 2] = [u64::from_be_bytes(*b"romer/fl"), u64::from_be_bytes(*b"eet/plan")];

/// The hash of texts. Each is followed by an octet that no text in UTF-8 has, so that `["ab", "c"]` and `["a", "bc"]` differ.
pub(crate) fn hash(parts: &[&str]) -> u64 {
    const END: u8 = 0xff;
    let [first, second] = KEY;
    let mut hasher = SipHasher13::new_with_keys(first, second);
    for part in parts {
        hasher.write(part.as_bytes());
        hasher.write(&[END]);
    }
    hasher.finish()
}

/// The choice with the greatest hash: rendezvous hashing (Thaler and Ravishankar 1998). If a choice is added or removed, only the
/// decisions for that choice change. Equal hashes are decided by the texts.
pub(crate) fn rendezvous<'c, T>(context: &[&str], choices: impl IntoIterator<Item = &'c T>) -> Option<&'c T>
where
    T: AsRef<str> + ?Sized + 'c,
{
    choices.into_iter().max_by_key(|choice| weight(context, (*choice).as_ref()))
}

/// The weight of a choice, and the choice itself, by which equal hashes are decided.
pub(crate) fn weight<'c>(context: &[&str], choice: &'c str) -> (u64, &'c str) {
    let mut parts = Vec::with_capacity(context.len() + 1);
    parts.extend_from_slice(context);
    parts.push(choice);
    (hash(&parts), choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are the same in each release. A change would give all pairs new owners and phases.
    #[test]
    fn values_are_fixed() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&["a"]), hash(&["a", ""]));
        assert_eq!(hash(&["owner", "fra-1", "lon-1", "default"]), 7_062_752_673_481_647_077);
    }

    /// A choice that is added takes over its own decisions and changes no other.
    #[test]
    fn added_choices_move_their_own_decisions() {
        let before = ["a", "b", "c", "d"];
        let after = ["a", "b", "c", "d", "e"];
        let mut moved = 0_u32;
        for decision in 0..1_000 {
            let decision = decision.to_string();
            let (old, new) =
                (rendezvous(&[&decision], before).unwrap(), rendezvous(&[&decision], after).unwrap());
            assert!(old == new || new == "e", "{decision}: {old} {new}");
            moved += u32::from(old != new);
        }
        // A fifth is expected, with a standard deviation of 13.
        assert!((130..=270).contains(&moved), "{moved}");
    }
}
