//! The responder's end: which connections are accepted, and with what protection.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::server::{ServerConfig, ServerConnection, WebPkiClientVerifier};
use rustls::version::TLS13;

use super::certificates::{self, PROTOCOL, provider};
use super::files::TlsFiles;
use super::identity::Identity;
use super::known_peers::{KnownPeer, KnownPeers};
use super::pairing::PairingWindow;
use super::session::TlsSession;
use super::verifier::AnyKey;
use crate::EndpointError;
use crate::byte_stream::{ByteStream, Protection};
use crate::fingerprint::Fingerprint;

/// The first octet of a TLS connection: a handshake record (RFC 8446 section 5.1). A plain one begins with a length below 2^24.
const HANDSHAKE_RECORD: u8 = 0x16;

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

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelRefusal {
    /// It is not protected.
    Unprotected,
    /// Its initiator is not paired with this responder.
    NotPaired,
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
            Some(tls) => Box::new(AcceptedStream { tcp, layer: Layer::Undecided(Arc::clone(&tls.config)) }),
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
    ) -> Result<(), ChannelRefusal> {
        let is_here = peer.is_loopback() || home == Some(peer);
        let is_paired = |fingerprint: Option<Fingerprint>| {
            let tls = self.tls.as_ref().zip(fingerprint);
            tls.is_some_and(|(tls, peer)| peer == tls.own || tls.known().is_paired(peer))
        };
        match protection {
            Protection::Plain if self.options.paired_only => Err(ChannelRefusal::Unprotected),
            Protection::Plain if is_here || self.options.accepts_plain => Ok(()),
            Protection::Plain => Err(ChannelRefusal::Unprotected),
            Protection::Tls { peer, .. } if self.options.paired_only && !is_paired(peer) => {
                Err(ChannelRefusal::NotPaired)
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

/// A connection that a responder has accepted. Its first octet shows whether it is protected.
#[derive(Debug)]
pub struct AcceptedStream {
    tcp: TcpStream,
    layer: Layer,
}

#[derive(Debug)]
enum Layer {
    /// Nothing has come yet.
    Undecided(Arc<ServerConfig>),
    Plain,
    Tls(Box<TlsSession>),
}

impl AcceptedStream {
    /// Decides by the first octet what the connection is. Gives whether there is one.
    fn decide(&mut self) -> io::Result<bool> {
        let Layer::Undecided(config) = &self.layer else { return Ok(true) };
        let mut first = [0];
        if self.tcp.peek(&mut first)? == 0 {
            return Ok(false);
        }
        self.layer = if first == [HANDSHAKE_RECORD] {
            let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
            Layer::Tls(Box::new(TlsSession::new(connection)))
        } else {
            Layer::Plain
        };
        Ok(true)
    }
}

impl Read for AcceptedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.decide()? {
            return Ok(0);
        }
        match &mut self.layer {
            Layer::Tls(session) => session.read(&mut self.tcp, buffer),
            Layer::Plain | Layer::Undecided(_) => self.tcp.read(buffer),
        }
    }
}

impl Write for AcceptedStream {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Tls(session) => session.write(&mut self.tcp, content),
            Layer::Plain | Layer::Undecided(_) => self.tcp.write(content),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.layer {
            Layer::Tls(session) => session.send(&mut self.tcp),
            Layer::Plain | Layer::Undecided(_) => self.tcp.flush(),
        }
    }
}

impl Drop for AcceptedStream {
    fn drop(&mut self) {
        if let Layer::Tls(session) = &mut self.layer {
            session.close(&mut self.tcp);
        }
    }
}

impl ByteStream for AcceptedStream {
    fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.tcp.set_patience(patience)
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.tcp.descriptor()
    }

    fn has_unread(&self) -> bool {
        matches!(&self.layer, Layer::Tls(session) if session.has_unread())
    }

    fn has_unwritten(&self) -> bool {
        matches!(&self.layer, Layer::Tls(session) if session.has_unwritten())
    }

    fn protection(&self) -> Protection {
        match &self.layer {
            Layer::Tls(session) => session.protection(),
            Layer::Plain | Layer::Undecided(_) => Protection::Plain,
        }
    }
}
