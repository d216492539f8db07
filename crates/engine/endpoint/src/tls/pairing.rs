//! Pairing: a short code proves to both ends that nobody is between them.
//!
//! The responder shows a code, and whoever runs `romer pair` types it. Both ends run SPAKE2 with it over a TLS connection, bound to
//! the key material that only the two ends of this connection have (RFC 8446 section 7.5). Somebody in between has two connections
//! with different key material, and can guess the code once: a code serves for one attempt.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use romer_session::control::{hex, unhex};
use romer_wire::stamp::Key;
use spake2::{Ed25519Group, Identity, Password, Spake2};

use crate::circumstances::random;
use crate::fingerprint::{Fingerprint, from_hex, to_hex};

/// There are so many codes.
const CODES: u32 = 1_000_000;
/// Codes that a responder shows, one after each failed attempt.
const MOST_CODES: u32 = 5;
/// How long codes are shown. Long enough to walk to the other host.
const OPEN: Duration = Duration::from_secs(600);
/// An attempt takes no longer; a conversation without a session is closed after the same time.
const ATTEMPT: Duration = Duration::from_secs(10);
/// What the proofs begin with.
const LABELS: [&[u8]; 2] = [b"romer pairing 1: initiator", b"romer pairing 1: responder"];

/// A pairing code: six decimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PairingCode(u32);

impl PairingCode {
    /// A fresh one. The probabilities of two codes differ by less than one part in 4,000.
    fn random() -> Self {
        Self(u32::from_be_bytes(random()) % CODES)
    }

    fn password(self) -> Password {
        Password::new(format!("{:06}", self.0).as_bytes())
    }
}

impl fmt::Display for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03}-{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

impl fmt::Debug for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PairingCode(..)")
    }
}

/// A text that is no pairing code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pairing code has six digits, such as 123-456")]
pub struct InvalidCode;

impl FromStr for PairingCode {
    type Err = InvalidCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits: String = text.chars().filter(|letter| !matches!(letter, '-' | ' ')).collect();
        let is_code = digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| is_code).map(Self).ok_or(InvalidCode)
    }
}

/// What both ends prove to each other once they have exchanged their shares.
#[derive(Debug)]
pub struct Proofs {
    key: Key,
}

impl Proofs {
    fn new(secret: &[u8]) -> Option<Self> {
        Key::new(secret).ok().map(|key| Self { key })
    }

    fn proof(&self, end: &[u8]) -> String {
        hex(self.key.tag(&[end]))
    }

    fn verifies(&self, end: &[u8], proof: &str) -> bool {
        unhex(proof).is_some_and(|proof| self.key.verifies(&[end], &proof))
    }

    /// The proof of the initiator, as hexadecimal digits.
    pub fn of_initiator(&self) -> String {
        self.proof(LABELS[0])
    }

    /// The proof of the responder.
    pub fn of_responder(&self) -> String {
        self.proof(LABELS[1])
    }

    /// Whether this is the proof of an initiator with the same code and the same connection.
    pub fn verifies_initiator(&self, proof: &str) -> bool {
        self.verifies(LABELS[0], proof)
    }

    /// Whether this is the proof of such a responder.
    pub fn verifies_responder(&self, proof: &str) -> bool {
        self.verifies(LABELS[1], proof)
    }
}

/// The two ends of the connection with this key material.
fn ends(exported: &[u8; 32]) -> [Identity; 2] {
    LABELS.map(|label| Identity::new(&[label, exported.as_slice()].concat()))
}

/// The initiator's side, which has sent its share.
#[derive(Debug)]
pub struct InitiatorShare(Spake2<Ed25519Group>);

impl InitiatorShare {
    /// Begins with `code` over a connection with this key material. Gives the share to send, as hexadecimal digits.
    pub fn begin(code: PairingCode, exported: &[u8; 32]) -> (Self, String) {
        let [initiator, responder] = ends(exported);
        let (state, share) = Spake2::<Ed25519Group>::start_a(&code.password(), &initiator, &responder);
        (Self(state), to_hex(&share))
    }

    /// The proofs, once the responder's share has come; `None` if it is no share.
    pub fn finish(self, share: &str) -> Option<Proofs> {
        Proofs::new(&self.0.finish(&from_hex(share)?).ok()?)
    }
}

/// What a responder reports of its pairing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairingNews {
    /// This code is to be shown.
    Code(PairingCode),
    /// An attempt from this address failed.
    Failed(String),
    /// The initiator at this address is paired.
    Paired {
        /// Its address.
        address: String,
        /// The fingerprint of its key.
        fingerprint: Fingerprint,
        /// Whether that is saved.
        is_saved: bool,
    },
    /// No code is valid any more.
    Closed,
}

/// Why an attempt is refused before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairingRefusal {
    /// No code is shown.
    #[error("it shows no pairing code")]
    Closed,
    /// Another attempt is not over.
    #[error("another host is being paired with it")]
    Busy,
    /// The share is invalid.
    #[error("the share is invalid")]
    Invalid,
}

#[derive(Debug)]
enum Stage {
    Open(PairingCode),
    Attempted { since: Instant, by: String },
    Closed,
}

/// The time in which a responder can be paired: with one initiator, by one of a few codes.
#[derive(Debug)]
pub struct PairingWindow {
    stage: Stage,
    codes_left: u32,
    closes: Instant,
    news: Vec<PairingNews>,
}

impl PairingWindow {
    /// Shows the first code.
    pub fn open() -> Self {
        let mut window = Self {
            stage: Stage::Closed,
            codes_left: MOST_CODES,
            closes: Instant::now() + OPEN,
            news: Vec::new(),
        };
        window.show();
        window
    }

    /// Shows the next code, or closes.
    fn show(&mut self) {
        if self.codes_left == 0 || Instant::now() >= self.closes {
            self.stage = Stage::Closed;
            self.news.push(PairingNews::Closed);
            return;
        }
        self.codes_left -= 1;
        let code = PairingCode::random();
        self.stage = Stage::Open(code);
        self.news.push(PairingNews::Code(code));
    }

    /// An initiator at `address` begins an attempt with its share, over a connection with this key material. The code serves for
    /// this attempt only. Gives the responder's share.
    ///
    /// # Errors
    /// Why there is no attempt.
    pub fn begin(
        &mut self,
        address: &str,
        exported: &[u8; 32],
        share: &str,
    ) -> Result<(String, Proofs), PairingRefusal> {
        let code = match &self.stage {
            Stage::Open(code) => *code,
            Stage::Attempted { .. } => return Err(PairingRefusal::Busy),
            Stage::Closed => return Err(PairingRefusal::Closed),
        };
        self.stage = Stage::Attempted { since: Instant::now(), by: address.to_owned() };
        let [initiator, responder] = ends(exported);
        let (state, own) = Spake2::<Ed25519Group>::start_b(&code.password(), &initiator, &responder);
        let secret = from_hex(share).and_then(|share| state.finish(&share).ok());
        match secret.and_then(|secret| Proofs::new(&secret)) {
            Some(proofs) => Ok((to_hex(&own), proofs)),
            None => {
                self.fail(address);
                Err(PairingRefusal::Invalid)
            }
        }
    }

    /// The attempt of the initiator at `address` has failed: another code is shown.
    pub fn fail(&mut self, address: &str) {
        if matches!(&self.stage, Stage::Attempted { by, .. } if by == address) {
            self.news.push(PairingNews::Failed(address.to_owned()));
            self.show();
        }
    }

    /// The initiator at `address` has proved that it has the code: it is paired, and no further code is shown. Gives `false`, and
    /// does nothing, if its attempt has taken too long.
    pub fn succeed(&mut self, address: &str) -> bool {
        let is_open = matches!(&self.stage, Stage::Attempted { by, .. } if by == address);
        if is_open {
            self.stage = Stage::Closed;
        }
        is_open
    }

    /// Reports the initiator that is paired now.
    pub fn report(&mut self, address: &str, fingerprint: Fingerprint, is_saved: bool) {
        self.news.push(PairingNews::Paired { address: address.to_owned(), fingerprint, is_saved });
        self.news.push(PairingNews::Closed);
    }

    /// What has happened since this was called last: to be called every second or so.
    pub fn take_news(&mut self) -> Vec<PairingNews> {
        match &self.stage {
            Stage::Attempted { since, by } if since.elapsed() >= ATTEMPT => {
                let by = by.clone();
                self.fail(&by);
            }
            Stage::Open(_) if Instant::now() >= self.closes => {
                self.stage = Stage::Closed;
                self.news.push(PairingNews::Closed);
            }
            _ => {}
        }
        std::mem::take(&mut self.news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONNECTION: [u8; 32] = [7; 32];

    /// The code that a window shows.
    fn shown(window: &mut PairingWindow) -> PairingCode {
        let news = window.take_news();
        let code = news
            .iter()
            .rev()
            .find_map(|news| if let PairingNews::Code(code) = news { Some(*code) } else { None });
        code.unwrap_or_else(|| panic!("{news:?}"))
    }

    /// Both ends with one code over one connection verify each other's proofs, and no other.
    #[test]
    fn one_code_and_connection_prove() {
        for (is_right, exported, is_proved) in
            [(true, CONNECTION, true), (false, CONNECTION, false), (true, [8; 32], false)]
        {
            let mut window = PairingWindow::open();
            let code = shown(&mut window);
            let typed = if is_right { code } else { PairingCode((code.0 + 1) % CODES) };
            let (initiator, share) = InitiatorShare::begin(typed, &CONNECTION);
            let (answer, responder) = window.begin("192.0.2.1", &exported, &share).unwrap();
            let initiator = initiator.finish(&answer).unwrap();
            assert_eq!(responder.verifies_initiator(&initiator.of_initiator()), is_proved);
            assert_eq!(initiator.verifies_responder(&responder.of_responder()), is_proved);
            assert!(!responder.verifies_initiator(&responder.of_responder()), "a proof that is returned");
            assert!(!responder.verifies_initiator("") && !responder.verifies_initiator("zz"));
        }
    }

    /// A code serves for one attempt, whether its proof comes or not; five attempts close the window.
    #[test]
    fn codes_serve_once() {
        let mut window = PairingWindow::open();
        let mut codes = vec![shown(&mut window)];
        for attempt in 1..=MOST_CODES {
            let code = *codes.last().unwrap();
            let (_, share) = InitiatorShare::begin(code, &CONNECTION);
            assert!(window.begin("192.0.2.1", &CONNECTION, &share).is_ok());
            assert_eq!(window.begin("192.0.2.2", &CONNECTION, &share).unwrap_err(), PairingRefusal::Busy);
            window.fail("192.0.2.2");
            window.fail("192.0.2.1");
            let news = window.take_news();
            assert_eq!(news[0], PairingNews::Failed("192.0.2.1".into()));
            match &news[1] {
                PairingNews::Code(code) => codes.push(*code),
                other => assert_eq!((other, attempt), (&PairingNews::Closed, MOST_CODES)),
            }
        }
        assert_eq!(window.begin("192.0.2.1", &CONNECTION, "").unwrap_err(), PairingRefusal::Closed);
    }

    /// A share that is none ends the attempt.
    #[test]
    fn invalid_shares_end_the_attempt() {
        let mut window = PairingWindow::open();
        let before = shown(&mut window);
        assert_eq!(window.begin("192.0.2.1", &CONNECTION, "41ff").unwrap_err(), PairingRefusal::Invalid);
        let news = window.take_news();
        assert!(matches!(&news[..], [PairingNews::Failed(_), PairingNews::Code(_)]), "{news:?}");
        let (_, share) = InitiatorShare::begin(before, &CONNECTION);
        assert!(window.begin("192.0.2.1", &CONNECTION, &share).is_ok());
    }

    /// A window pairs once.
    #[test]
    fn windows_pair_once() {
        let mut window = PairingWindow::open();
        let (_, share) = InitiatorShare::begin(shown(&mut window), &CONNECTION);
        window.begin("192.0.2.1", &CONNECTION, &share).unwrap();
        let fingerprint = format!("sha256:{}", "ab".repeat(32)).parse().unwrap();
        assert!(!window.succeed("192.0.2.2") && window.succeed("192.0.2.1"));
        window.report("192.0.2.1", fingerprint, true);
        let paired = PairingNews::Paired { address: "192.0.2.1".into(), fingerprint, is_saved: true };
        assert_eq!(window.take_news(), [paired, PairingNews::Closed]);
        assert_eq!(window.begin("192.0.2.1", &CONNECTION, &share).unwrap_err(), PairingRefusal::Closed);
    }

    /// A code is read with or without its dash.
    #[test]
    fn codes_read_back() {
        let code = PairingCode(1_042);
        assert_eq!(code.to_string(), "001-042");
        for text in ["001-042", "001042", " 001 042"] {
            assert_eq!(text.parse(), Ok(code), "{text}");
        }
        for wrong in ["", "01042", "0001042", "+01042", "00104a"] {
            assert_eq!(wrong.parse::<PairingCode>(), Err(InvalidCode), "{wrong}");
        }
    }
}
