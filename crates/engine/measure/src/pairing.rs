//! Pairing with a responder: its code, typed here, verifies the identities of both ends.

use std::net::SocketAddr;
use std::time::{Duration as StdDuration, Instant};

use romer_endpoint::EndpointError;
use romer_endpoint::byte_stream::{ByteStream, Protection};
use romer_endpoint::fingerprint::Fingerprint;
use romer_endpoint::host_events::far_words;
use romer_endpoint::names::{Family, Target, with_zone};
use romer_endpoint::tls::pairing::{InitiatorShare, PairingCode};
use romer_endpoint::tls::{Channel, ChannelOptions, PeerChannel, TlsFiles};
use romer_host::stream::Origin;
use romer_session::control::{ComplaintCode, Decoder, Message, PORT, PairProof, PairShare};

use super::far::{Absent, INVALID_ANSWER};

/// How long a connection, the handshake, and each answer may take.
const PATIENCE: StdDuration = StdDuration::from_secs(5);
/// Octets that a responder may say in all.
const MOST_OCTETS: usize = 64 * 1024;

/// A responder that is paired with this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paired {
    /// Its control address.
    pub address: SocketAddr,
    /// The fingerprint of its key.
    pub fingerprint: Fingerprint,
    /// The file in which it is remembered.
    pub place: String,
}

/// Pairs this user with the responder at `target`, which shows `code`.
///
/// # Errors
/// [`EndpointError::Unreachable`] where no responder answers, [`EndpointError::Untrusted`] where the code or the responder is wrong,
/// [`EndpointError::TlsFile`] where keys cannot be read or saved.
pub fn pair(target: &Target, family: Family, code: PairingCode) -> Result<Paired, EndpointError> {
    let channel = Channel::new(ChannelOptions::Tls(TlsFiles::default())).to(target);
    let mut absent = None;
    for address in target.addresses(family, target.port.unwrap_or(PORT))? {
        match connect(address, &channel) {
            Ok((stream, fingerprint)) => {
                exchange(address, stream, code)?;
                let place = channel.remember_paired(fingerprint)?;
                return Ok(Paired { address, fingerprint, place });
            }
            Err(Absent::Own { error, .. }) => return Err(*error),
            Err(why) => _ = absent.get_or_insert((address, why)),
        }
    }
    let (address, why) = absent.map_or((String::new(), String::new()), |(address, absent)| {
        (with_zone(address), absent.why().to_owned())
    });
    Err(EndpointError::Unreachable {
        address: format!("TCP {address}"),
        why,
        mend: "start `romer respond --pair` there, and allow its TCP port in the firewalls of the path",
    })
}

/// A protected connection, to whoever answers.
fn connect(address: SocketAddr, channel: &PeerChannel) -> Result<(Box<dyn ByteStream>, Fingerprint), Absent> {
    let from = Origin::default();
    let tcp = romer_host::stream::connect(address, &from, PATIENCE)
        .map_err(|error| Absent::classify(&error, address, &from))?;
    let _ = tcp.set_nodelay(true);
    let (stream, fingerprint) = channel.protect_unverified(tcp, PATIENCE)?;
    Ok((Box::new(stream), fingerprint))
}

/// Proves to the responder that this end has its code, and verifies that it has it too.
fn exchange(
    address: SocketAddr,
    mut stream: Box<dyn ByteStream>,
    code: PairingCode,
) -> Result<(), EndpointError> {
    let untrusted = |why: String| EndpointError::Untrusted {
        address: with_zone(address),
        why,
        mend: "start `romer respond --pair` there, and type the code that it shows now".into(),
    };
    let Protection::Tls { exported, .. } = stream.protection() else {
        return Err(untrusted("the connection is not protected".into()));
    };
    let mut decoder = Decoder::default();
    let (state, share) = InitiatorShare::begin(code, &exported);
    let answer =
        ask(&mut *stream, &mut decoder, &Message::PairShare(PairShare { share })).map_err(untrusted)?;
    let Message::PairShare(PairShare { share }) = answer else {
        return Err(untrusted(INVALID_ANSWER.into()));
    };
    let proofs = state.finish(&share).ok_or_else(|| untrusted(INVALID_ANSWER.into()))?;
    let proof = Message::PairProof(PairProof { proof: proofs.of_initiator() });
    match ask(&mut *stream, &mut decoder, &proof).map_err(untrusted)? {
        Message::PairProof(PairProof { proof }) if proofs.verifies_responder(&proof) => Ok(()),
        _ => Err(untrusted("it does not prove that it has the code".into())),
    }
}

/// Says `message`. Gives the answer, or in words why there is none.
fn ask(stream: &mut dyn ByteStream, decoder: &mut Decoder, message: &Message) -> Result<Message, String> {
    let mut octets = Vec::new();
    message.encode(&mut octets);
    let deadline = Instant::now() + PATIENCE;
    let failed = |error: std::io::Error| error.to_string();
    stream.set_patience(Some(PATIENCE)).map_err(failed)?;
    stream.write_all(&octets).and_then(|()| stream.flush()).map_err(failed)?;
    let mut buffer = [0; 4_096];
    let mut heard = 0_usize;
    loop {
        match decoder.next() {
            Ok(Some(Message::Complaint(complaint))) => {
                return Err(match complaint.code {
                    ComplaintCode::Pairing => far_words(&complaint.message),
                    _ => format!("it does not pair: {}", far_words(&complaint.message)),
                });
            }
            Ok(Some(message)) => return Ok(message),
            Ok(None) if heard < MOST_OCTETS => {}
            Ok(None) | Err(_) => return Err(INVALID_ANSWER.into()),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("it does not answer".into());
        }
        stream.set_patience(Some(left)).map_err(failed)?;
        match stream.read(&mut buffer) {
            Ok(0) => return Err("it closed the connection".into()),
            Ok(count) => {
                heard = heard.saturating_add(count);
                decoder.extend(buffer.get(..count).unwrap_or_default());
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}
