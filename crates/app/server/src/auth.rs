//! Who may: a token, told once, and sessions of browsers that were opened with it.
//!
//! A session is a statement of when it ends, under a key that follows from the token: the server keeps nothing for it,
//! and with a token of the user's own it outlives a restart.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use romer_endpoint::fingerprint::{from_hex, to_hex};
use sha2::Sha256;

use crate::problem::Problem;

/// How long a session lasts.
pub(crate) const SESSION: Duration = Duration::from_secs(12 * 3_600);
/// The shortest token that a user may choose, in characters.
pub const SHORTEST_TOKEN: usize = 32;
/// Wrong tokens that an address may show at once, and how soon it may show one more.
const BURST: f64 = 20.0;
const PER_SECOND: f64 = 2.0;
/// Addresses whose attempts are counted; beyond them all others share one count.
const ADDRESSES: usize = 1_024;

/// The token, and what wrong ones were shown.
pub(crate) struct Guard {
    token: String,
    attempts: Mutex<BTreeMap<Option<IpAddr>, Attempts>>,
}

struct Attempts {
    left: f64,
    at: Instant,
}

/// What a request shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credentials<'a> {
    Nothing,
    Token(&'a str),
    Session(&'a str),
}

/// A token that nobody guesses: 256 bits of the system's.
pub(crate) fn fresh_token() -> Option<String> {
    let mut octets = [0; 32];
    getrandom::fill(&mut octets).ok()?;
    Some(to_hex(&octets))
}

impl Guard {
    pub(crate) fn new(token: String) -> Self {
        Self { token, attempts: Mutex::new(BTreeMap::new()) }
    }

    fn tag(&self, purpose: &str, text: &str) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(self.token.as_bytes()).expect("a key");
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(text.as_bytes());
        mac
    }

    /// A session that begins now.
    pub(crate) fn open_session(&self) -> String {
        let end = (now() + SESSION).as_secs().to_string();
        let tag = to_hex(&self.tag("session", &end).finalize().into_bytes());
        format!("{end}.{tag}")
    }

    /// Whether what is shown is right, in a time that does not tell how wrong it is.
    fn is_right(&self, shown: Credentials<'_>) -> bool {
        match shown {
            Credentials::Nothing => false,
            Credentials::Token(token) => {
                let given = self.tag("token", token).finalize().into_bytes();
                self.tag("token", &self.token).verify_slice(&given).is_ok()
            }
            Credentials::Session(session) => {
                let Some((end, tag)) = session.split_once('.') else { return false };
                let Some(tag) = from_hex(tag) else { return false };
                let lasts = end.parse::<u64>().is_ok_and(|end| end > now().as_secs());
                self.tag("session", end).verify_slice(&tag).is_ok() && lasts
            }
        }
    }

    /// Lets a request from `address` pass.
    ///
    /// # Errors
    /// 401 without the token, the same for a wrong one; 429 where wrong ones came too often.
    pub(crate) fn check(&self, shown: Credentials<'_>, address: IpAddr) -> Result<(), Problem> {
        if self.is_right(shown) {
            return Ok(());
        }
        if shown != Credentials::Nothing && !self.may_try(address) {
            return Err(Problem::too_many());
        }
        Err(Problem::unauthorized(
            "token required: open the address that romer printed at its start, or send the header Authorization: Bearer TOKEN",
        ))
    }

    fn may_try(&self, address: IpAddr) -> bool {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = attempts.contains_key(&Some(address));
        if !known && attempts.len() >= ADDRESSES {
            let now = Instant::now();
            attempts.retain(|_, one| refilled(one, now) < BURST);
        }
        let key = (known || attempts.len() < ADDRESSES).then_some(address);
        let now = Instant::now();
        let one = attempts.entry(key).or_insert(Attempts { left: BURST, at: now });
        one.left = refilled(one, now);
        one.at = now;
        if one.left < 1.0 {
            return false;
        }
        one.left -= 1.0;
        true
    }
}

fn refilled(attempts: &Attempts, now: Instant) -> f64 {
    let passed = now.saturating_duration_since(attempts.at).as_secs_f64();
    (attempts.left + passed * PER_SECOND).min(BURST)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Only the token and sessions opened with it pass.
    #[test]
    fn only_token_and_sessions_pass() {
        let guard = Guard::new("a".repeat(64));
        let session = guard.open_session();
        assert!(guard.check(Credentials::Token(&"a".repeat(64)), HERE).is_ok());
        assert!(guard.check(Credentials::Session(&session), HERE).is_ok());
        let other = Guard::new("b".repeat(64)).open_session();
        let later = session.replacen(char::is_numeric, "9", 1);
        for shown in [
            Credentials::Nothing,
            Credentials::Token(""),
            Credentials::Token(&"a".repeat(63)),
            Credentials::Token(&session),
            Credentials::Session(&"a".repeat(64)),
            Credentials::Session(&other),
            Credentials::Session(&later),
            Credentials::Session("99999999999.zz"),
        ] {
            assert_eq!(guard.check(shown, HERE).unwrap_err().status(), 401, "{shown:?}");
        }
    }

    #[test]
    fn a_session_ends() {
        let guard = Guard::new("a".repeat(64));
        let tag = to_hex(&guard.tag("session", "1000").finalize().into_bytes());
        assert!(guard.check(Credentials::Session(&format!("1000.{tag}")), HERE).is_err());
    }

    /// Wrong tokens slow down only the address that sent them.
    #[test]
    fn wrong_tokens_slow_their_address_only() {
        let guard = Guard::new("a".repeat(64));
        let tries: Vec<u16> =
            (0..100).map(|_| guard.check(Credentials::Token("wrong"), HERE).unwrap_err().status()).collect();
        assert_eq!(tries[0], 401);
        assert!(tries.contains(&429), "{tries:?}");
        let there = IpAddr::from([192, 0, 2, 1]);
        assert_eq!(guard.check(Credentials::Token("wrong"), there).unwrap_err().status(), 401);
        assert!(guard.check(Credentials::Token(&"a".repeat(64)), HERE).is_ok());
    }

    #[test]
    fn a_flood_of_addresses_takes_no_more_memory() {
        let guard = Guard::new("a".repeat(64));
        for number in 0..10_000_u32 {
            let _ = guard.check(Credentials::Token("wrong"), IpAddr::from(number.to_be_bytes()));
        }
        assert!(guard.attempts.lock().unwrap().len() <= ADDRESSES + 1);
    }
}
