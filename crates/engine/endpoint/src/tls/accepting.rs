//! The responder's end: which connections are accepted, and with what protection.

use std::net::{IpAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use romer_session::control::ConnectionRefusal;
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls::version::TLS13;

use super::certificates::{self, PROTOCOL, provider};
use super::files::TlsFiles;
use super::identity::Identity;
use super::known_peers::{KnownPeer, KnownPeers};
use super::pairing::PairingWindow;
use super::stream::ChannelStream;
use super::verifier::AnyKey;
use crate::EndpointError;
use crate::byte_stream::{ByteStream, Protection};
use crate::fingerprint::Fingerprint;

/// How a responder protects its control channel.
#[derive(Clone, Debug)]
pub struct ResponderChannelOptions {
    /// Offer TLS 1.3, with these certificates; `None` for a responder that accepts plain connections only.
    pub tls: Option<TlsFiles>,
    /// Accept plain connections of other hosts. Those of this host are accepted anyway.
    pub accepts_plain: bool,
    /// Accept only initiators that are paired with this responder.
    pub paired_only: bool,
    /// Show a code with which one initiator can be paired.
    pub pairs: bool,
}

impl Default for ResponderChannelOptions {
    /// Plain connections of all hosts, as between two ends on one machine.
    fn default() -> Self {
        Self { tls: None, accepts_plain: true, paired_only: false, pairs: false }
    }
}

/// The protection of a responder's control channel.
#[derive(Debug)]
pub struct ResponderChannel {
    options: ResponderChannelOptions,
    tls: Option<ResponderTls>,
    pairing: Option<Mutex<PairingWindow>>,
}

#[derive(Debug)]
struct ResponderTls {
    config: Arc<ServerConfig>,
    own: Fingerprint,
    unsaved: Option<String>,
    known: Mutex<KnownPeers>,
}

impl ResponderChannel {
    /// Reads the key and the known peers.
    ///
    /// # Errors
    /// [`EndpointError::TlsFile`].
    pub fn open(options: ResponderChannelOptions) -> Result<Self, EndpointError> {
        let tls = options.tls.as_ref().map(ResponderTls::open).transpose()?;
        let pairing = (options.pairs && tls.is_some()).then(|| Mutex::new(PairingWindow::open()));
        Ok(Self { options, tls, pairing })
    }

    /// The fingerprint of this responder's key; `None` without TLS.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.tls.as_ref().map(|tls| tls.own)
    }

    /// Why the key of this responder is of this process alone; `None` if it is saved.
    pub fn key_not_saved(&self) -> Option<&str> {
        self.tls.as_ref()?.unsaved.as_deref()
    }

    /// A connection that has been accepted. What protects it shows when it is read.
    pub fn accept(&self, tcp: TcpStream) -> Box<dyn ByteStream> {
        match &self.tls {
            Some(tls) => Box::new(ChannelStream::accepted(tcp, Arc::clone(&tls.config))),
            None => Box::new(tcp),
        }
    }

    /// Whether messages of a connection from `peer` to the address `home` of this host are answered.
    ///
    /// # Errors
    /// Why not.
    pub fn admit(
        &self,
        protection: Protection,
        peer: IpAddr,
        home: Option<IpAddr>,
    ) -> Result<(), ConnectionRefusal> {
        let is_here = peer.is_loopback() || home == Some(peer);
        let is_paired = |fingerprint: Option<Fingerprint>| {
            let tls = self.tls.as_ref().zip(fingerprint);
            tls.is_some_and(|(tls, peer)| peer == tls.own || tls.known().is_paired(peer))
        };
        match protection {
            Protection::Plain if self.options.paired_only => Err(ConnectionRefusal::Unprotected),
            Protection::Plain if is_here || self.options.accepts_plain => Ok(()),
            Protection::Plain => Err(ConnectionRefusal::Unprotected),
            Protection::Tls { peer, .. } if self.options.paired_only && !is_paired(peer) => {
                Err(ConnectionRefusal::NotPaired)
            }
            Protection::Tls { .. } => Ok(()),
        }
    }

    /// The pairing window; `None` if this responder does not pair.
    pub fn pairing(&self) -> Option<MutexGuard<'_, PairingWindow>> {
        self.pairing.as_ref().map(|window| window.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers an initiator at `address` whose identity pairing has verified. Gives whether that is saved.
    pub fn remember_paired(&self, address: IpAddr, fingerprint: Fingerprint) -> bool {
        let peer = KnownPeer { name: address.to_string(), fingerprint, is_paired: true };
        self.tls.as_ref().is_some_and(|tls| tls.known().insert(peer).is_ok())
    }
}

impl ResponderTls {
    fn open(files: &TlsFiles) -> Result<Self, EndpointError> {
        let identity = certificates::identity(files)?;
        let (own, unsaved) = (identity.fingerprint(), identity.not_saved().map(str::to_owned));
        let Identity { chain, key, .. } = identity;
        let refused = |error: &dyn std::fmt::Display| certificates::refused(files, error);
        let provider = provider();
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| refused(&error))?;
        let builder = match &files.authority {
            Some(path) => {
                let roots = certificates::authorities(path)?;
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| refused(&error))?)
            }
            None => builder.with_client_cert_verifier(Arc::new(AnyKey::new(provider))),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| refused(&error))?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        // A session is never resumed by TLS.
        config.send_tls13_tickets = 0;
        Ok(Self { config: Arc::new(config), own, unsaved, known: Mutex::new(KnownPeers::of_user()?) })
    }

    fn known(&self) -> MutexGuard<'_, KnownPeers> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::super::connecting::{Channel, ChannelOptions, PeerChannel};
    use super::super::identity;
    use super::super::stream::HANDSHAKE_RECORD;
    use super::*;
    use crate::byte_stream::ByteStream;

    const PATIENCE: Duration = Duration::from_secs(60);
    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    /// A responder with these options and TLS, and an initiator of the same user.
    fn ends(options: &ResponderChannelOptions) -> (TempDir, ResponderChannel, PeerChannel) {
        let folder = tempfile::tempdir().unwrap();
        Identity::in_folder(folder.path()).unwrap();
        let file = Some(folder.path().join(identity::FILE));
        let files = TlsFiles { key: file.clone(), certificate: file, authority: None };
        let channel = Channel::new(ChannelOptions::Tls(files.clone()));
        let responder =
            ResponderChannel::open(ResponderChannelOptions { tls: Some(files), ..options.clone() });
        (folder, responder.unwrap(), channel.to(&"localhost".parse().unwrap()))
    }

    fn connection() -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [near, listener.accept().unwrap().0]
    }

    /// Reads `length` octets. Gives them, and how often some were left that the descriptor does not show.
    fn read(stream: &mut dyn ByteStream, length: usize) -> (Vec<u8>, usize) {
        let (mut content, mut buffer, mut left) = (Vec::new(), [0; 2_048], 0);
        while content.len() < length {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => content.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
            left += usize::from(stream.has_unread());
        }
        (content, left)
    }

    /// Content passes in both directions, whatever the size of a read, and both ends have the same key material.
    #[test]
    fn content_passes() {
        let (_folder, responder, initiator) = ends(&ResponderChannelOptions::default());
        let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_be_bytes).collect();
        let [near, far] = connection();
        std::thread::scope(|scope| {
            let near = scope.spawn(|| {
                let (mut stream, unverified) = initiator.protect(near, PATIENCE).unwrap();
                assert_eq!(unverified, None, "the key of the same user");
                stream.set_patience(Some(PATIENCE)).unwrap();
                stream.write_all(&content).and_then(|()| stream.flush()).unwrap();
                let (answer, _) = read(&mut stream, content.len());
                assert!(answer == content);
                stream.protection()
            });
            let mut stream = responder.accept(far);
            stream.set_patience(Some(PATIENCE)).unwrap();
            let (heard, left) = read(&mut *stream, content.len());
            assert!(heard == content && left > 0);
            stream.write_all(&content).and_then(|()| stream.flush()).unwrap();
            let Protection::Tls { peer, exported, probe_key } = stream.protection() else {
                panic!("{stream:?}")
            };
            assert_ne!(exported, probe_key);
            assert_eq!(peer, responder.fingerprint());
            let own = near.join().unwrap();
            assert!(
                matches!(own, Protection::Tls { exported: other, .. } if other == exported && other != [0; 32])
            );
            assert_eq!(stream.read(&mut [0; 9]).unwrap(), 0, "the end is seen");
        });
    }

    /// A connection without a first octet, and a handshake that does not go on, hold up nobody.
    #[test]
    fn incomplete_handshakes_do_not_block() {
        let (_folder, responder, _) = ends(&ResponderChannelOptions::default());
        let [mut near, far] = connection();
        let mut stream = responder.accept(far);
        stream.set_patience(None).unwrap();
        let mut read = || stream.read(&mut [0; 9]).map_err(|error| error.kind());
        assert_eq!(read(), Err(io::ErrorKind::WouldBlock));
        near.write_all(&[HANDSHAKE_RECORD, 3, 1, 0]).unwrap();
        let kind = loop {
            match read() {
                Err(io::ErrorKind::Interrupted) => {}
                other => break other,
            }
        };
        assert_eq!(kind, Err(io::ErrorKind::WouldBlock));
        drop(near);
        assert_eq!(loop_until_end(&mut read), Ok(0));
    }

    /// What `read` gives that is neither to be repeated nor to be waited for.
    fn loop_until_end(
        read: &mut impl FnMut() -> Result<usize, io::ErrorKind>,
    ) -> Result<usize, io::ErrorKind> {
        loop {
            match read() {
                Err(io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => std::thread::yield_now(),
                other => return other,
            }
        }
    }

    /// Records without end that have no content are given up.
    #[test]
    fn fruitless_records_are_given_up() {
        let (_folder, responder, _) = ends(&ResponderChannelOptions::default());
        let [mut near, far] = connection();
        let mut stream = responder.accept(far);
        stream.set_patience(Some(PATIENCE)).unwrap();
        let writing = std::thread::spawn(move || {
            // A handshake message of 65,535 octets that never ends, in records.
            let record = [&[HANDSHAKE_RECORD, 3, 1, 0, 0xff][..], &[1, 0, 0xff, 0xff], &[0; 251]].concat();
            while near.write_all(&record).is_ok() {}
        });
        let ended = loop {
            match stream.read(&mut [0; 9]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        assert_eq!(ended.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidData));
        drop(stream);
        writing.join().unwrap();
    }

    /// Plain connections of other hosts need consent; with `paired_only`, only known keys are served, also of this host.
    #[test]
    fn admission_follows_the_table() {
        let tls = |peer| Protection::Tls { peer, exported: [1; 32], probe_key: [2; 32] };
        let (unprotected, not_paired) =
            (Err(ConnectionRefusal::Unprotected), Err(ConnectionRefusal::NotPaired));
        let of = |accepts_plain, paired_only| ResponderChannelOptions {
            accepts_plain,
            paired_only,
            ..Default::default()
        };
        let strict = ends(&of(false, false));
        let lax = ends(&of(true, false));
        let paired = ends(&of(false, true));
        let own = paired.1.fingerprint();
        for (ends, protection, peer, admitted) in [
            (&strict, Protection::Plain, THERE, unprotected),
            (&strict, Protection::Plain, HERE, Ok(())),
            (&strict, Protection::Plain, IpAddr::from([127, 0, 0, 1]), Ok(())),
            (&strict, tls(None), THERE, Ok(())),
            (&lax, Protection::Plain, THERE, Ok(())),
            (&lax, tls(None), THERE, Ok(())),
            (&paired, Protection::Plain, HERE, unprotected),
            (&paired, tls(None), THERE, not_paired),
            (&paired, tls(strict.1.fingerprint()), THERE, not_paired),
            (&paired, tls(own), THERE, Ok(())),
        ] {
            assert_eq!(ends.1.admit(protection, peer, Some(HERE)), admitted, "{protection:?} {peer}");
        }
    }
}
