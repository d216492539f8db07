//! The codes of authenticated requests that have come, in a set of fixed size.
//!
//! A session is known by its addresses, which no code covers: who has caught one request could send it again from any
//! number of addresses, and each would be a session of its own. A code that has come opens none.

use core::hash::Hasher;

use siphasher::sip::SipHasher13;

/// How many codes are remembered: those that came last.
pub const CODES: usize = 65_536;
/// Codes of a set, of which the oldest makes room.
const WAYS: usize = 8;

#[derive(Clone, Copy)]
struct CodeSet {
    codes: [u64; WAYS],
    next: usize,
}

pub(super) struct Codes {
    secret: (u64, u64),
    sets: Box<[CodeSet]>,
}

impl core::fmt::Debug for Codes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The secret stays one, also in a log.
        f.debug_struct("Codes").field("sets", &self.sets.len()).finish_non_exhaustive()
    }
}

impl Codes {
    /// None yet. All memory is taken here.
    pub(super) fn new(secret: (u64, u64)) -> Self {
        Self { secret, sets: vec![CodeSet { codes: [0; WAYS], next: 0 }; CODES / WAYS].into() }
    }

    /// Whether `code` is not among those remembered; it is from then on.
    pub(super) fn is_new(&mut self, code: &[u8]) -> bool {
        let mut hasher = SipHasher13::new_with_keys(self.secret.0, self.secret.1);
        hasher.write(code);
        // 0 is that of nothing.
        let short = hasher.finish().max(1);
        let sets = u64::try_from(self.sets.len()).unwrap_or(1);
        let place = usize::try_from(short % sets).unwrap_or(0);
        let Some(set) = self.sets.get_mut(place) else { return true };
        if set.codes.contains(&short) {
            return false;
        }
        set.codes[set.next] = short;
        set.next = (set.next + 1) % WAYS;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_new_once_and_the_oldest_are_forgotten() {
        let mut codes = Codes::new((1, 2));
        let code = |number: u32| [number.to_be_bytes(), [7; 4], [0; 4], [9; 4]].concat();
        let few = u32::try_from(CODES / 4).unwrap();
        // Sets fill unequally: with a quarter of their places, a set of more than its 8 is one in thousands.
        assert!((0..few).all(|number| codes.is_new(&code(number))));
        let forgotten = (0..few).filter(|number| codes.is_new(&code(*number))).count();
        assert!(forgotten < 100, "{forgotten}");
        for number in few..20 * few {
            codes.is_new(&code(number));
        }
        assert!(codes.is_new(&code(1)));
        assert!(!codes.is_new(&code(20 * few - 1)));
    }
}
