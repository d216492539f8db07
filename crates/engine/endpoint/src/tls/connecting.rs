//! The initiator's end: which key of a responder is trusted, and a connection that is protected by it.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::client::{ClientConfig, ClientConnection, Resumption, WebPkiServerVerifier};
use rustls::pki_types::ServerName;
use rustls::version::TLS13;

use super::certificates::{self, PROTOCOL, provider};
use super::error::{ChannelError, KNOWN_PEERS};
use super::files::TlsFiles;
use super::identity::Identity;
use super::known_peers::{KnownPeer, KnownPeers, peer_name};
use super::session::TlsSession;
use super::stream::ChannelStream;
use super::verifier::AnyKey;
use crate::EndpointError;
use crate::fingerprint::Fingerprint;
use crate::names::Target;

/// How an initiator protects its control channels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ChannelOptions {
    /// Not at all: for both ends on one machine, and for whoever chooses it (`--insecure`).
    #[default]
    Plain,
    /// By TLS 1.3, except with a responder on this host.
    Tls(TlsFiles),
}

/// A responder whose identity nothing has verified: this was the first contact with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unverified {
    /// Its name.
    pub name: String,
    /// The fingerprint of its key.
    pub fingerprint: Fingerprint,
    /// Whether its key is saved ([`PeerChannel::remember`]), so that a later change is detected.
    pub is_saved: bool,
}

/// The control channels of one run. The key of this end is read when it is first needed.
#[derive(Debug)]
pub struct Channel {
    options: ChannelOptions,
    initiator: Mutex<Option<Arc<Initiator>>>,
}

/// What all connections of an initiator have in common.
#[derive(Debug)]
struct Initiator {
    config: Arc<ClientConfig>,
    own: Fingerprint,
    /// `None` if authorities decide.
    known: Option<Mutex<KnownPeers>>,
}

impl Channel {
    /// Protected as `options` say.
    pub fn new(options: ChannelOptions) -> Arc<Self> {
        Arc::new(Self { options, initiator: Mutex::new(None) })
    }

    /// To `target`.
    pub fn to(self: &Arc<Self>, target: &Target) -> PeerChannel {
        let (name, host) = (peer_name(target), target.host.clone());
        PeerChannel { channel: Arc::clone(self), name, host, always: false }
    }

    fn initiator(&self) -> Result<Arc<Initiator>, EndpointError> {
        let mut opened = self.initiator.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(initiator) = &*opened {
            return Ok(Arc::clone(initiator));
        }
        let initiator = Arc::new(match &self.options {
            ChannelOptions::Tls(files) => Initiator::open(files)?,
            ChannelOptions::Plain => Initiator::open(&TlsFiles::default())?,
        });
        Ok(Arc::clone(opened.insert(initiator)))
    }
}

impl Initiator {
    fn open(files: &TlsFiles) -> Result<Self, EndpointError> {
        let identity = certificates::identity(files)?;
        let own = identity.fingerprint();
        let Identity { chain, key, .. } = identity;
        let refused = |error: &dyn std::fmt::Display| certificates::refused(files, error);
        let provider = provider();
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| refused(&error))?;
        let (builder, known) = match &files.authority {
            Some(path) => {
                let roots = certificates::authorities(path)?;
                let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
                (builder.with_webpki_verifier(verifier.map_err(|error| refused(&error))?), None)
            }
            None => {
                let verifier = Arc::new(AnyKey::new(provider));
                let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
                (builder, Some(Mutex::new(KnownPeers::of_user()?)))
            }
        };
        let mut config = builder.with_client_auth_cert(chain, key).map_err(|error| refused(&error))?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.resumption = Resumption::disabled();
        config.enable_sni = known.is_none();
        Ok(Self { config: Arc::new(config), own, known })
    }
}

/// The control channels to one responder.
#[derive(Clone, Debug)]
pub struct PeerChannel {
    channel: Arc<Channel>,
    name: String,
    host: String,
    /// Whether connections on one host are protected, too.
    always: bool,
}

impl PeerChannel {
    /// Without protection.
    pub fn plain() -> Self {
        let channel = Channel::new(ChannelOptions::Plain);
        Self { channel, name: String::new(), host: String::new(), always: false }
    }

    /// The same, with protection between two ends on one host, too, if `always`.
    #[must_use]
    pub fn protected_here(self, always: bool) -> Self {
        Self { always, ..self }
    }

    /// Whether a connection to `peer` from `local` is to be protected. Between two ends on one host it need not be.
    pub fn is_protected(&self, peer: SocketAddr, local: Option<IpAddr>) -> bool {
        let peer = peer.ip().to_canonical();
        let is_here = peer.is_loopback() || local.is_some_and(|local| local.to_canonical() == peer);
        self.has_tls() && (self.always || !is_here)
    }

    /// Whether connections may be protected at all.
    pub fn has_tls(&self) -> bool {
        self.channel.options != ChannelOptions::Plain
    }

    /// Protects `tcp`, a connection to this responder, within `patience`, and verifies the responder's identity. At the first contact
    /// nothing can verify it.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn protect(
        &self,
        tcp: TcpStream,
        patience: Duration,
    ) -> Result<(ChannelStream, Option<Unverified>), ChannelError> {
        let initiator = self.channel.initiator().map_err(ChannelError::Own)?;
        let stream = self.handshake(&initiator, tcp, patience)?;
        let Some(known) = &initiator.known else { return Ok((stream, None)) };
        let presented = stream.presented()?;
        if presented == initiator.own {
            // Whoever has the key of this user is this user, on this machine or on another one with a copy of it.
            return Ok((stream, None));
        }
        let known = lock(known);
        let Some(peer) = known.get(&self.name) else {
            let unverified = Unverified { name: self.name.clone(), fingerprint: presented, is_saved: false };
            return Ok((stream, Some(unverified)));
        };
        if peer.fingerprint == presented {
            return Ok((stream, None));
        }
        Err(ChannelError::Untrusted {
            why: format!(
                "its key has changed: {} is known and {presented} was presented, so that another host may have answered",
                peer.fingerprint
            ),
            mend: format!(
                "if the responder has a new key, run `romer pair {}` or remove its line from {}",
                self.host,
                known.place()
            ),
        })
    }

    /// Remembers a responder with which this was the first contact, so that another key is refused from now on.
    pub fn remember(&self, first_contact: &mut Unverified) {
        let Ok(initiator) = self.channel.initiator() else { return };
        if let Some(known) = &initiator.known {
            let Unverified { name, fingerprint, .. } = first_contact.clone();
            let mut known = lock(known);
            // Another connection of this run may have been the first.
            if known.get(&name).is_none() {
                let saved = known.insert(KnownPeer { name, fingerprint, is_paired: false });
                first_contact.is_saved = saved.is_ok();
            }
        }
    }

    /// Protects `tcp`, whoever answers there: pairing verifies that. Gives the fingerprint of the responder's key.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn protect_unverified(
        &self,
        tcp: TcpStream,
        patience: Duration,
    ) -> Result<(ChannelStream, Fingerprint), ChannelError> {
        let initiator = self.channel.initiator().map_err(ChannelError::Own)?;
        let stream = self.handshake(&initiator, tcp, patience)?;
        let presented = stream.presented()?;
        Ok((stream, presented))
    }

    /// Remembers that pairing has verified this key of the responder. Gives the place where it is saved.
    ///
    /// # Errors
    /// [`EndpointError::TlsFile`]: it cannot be saved.
    pub fn remember_paired(&self, fingerprint: Fingerprint) -> Result<String, EndpointError> {
        let initiator = self.channel.initiator()?;
        let Some(known) = &initiator.known else { return Ok(String::new()) };
        let mut known = lock(known);
        let peer = KnownPeer { name: self.name.clone(), fingerprint, is_paired: true };
        known.insert(peer).map_err(|error| EndpointError::TlsFile {
            what: KNOWN_PEERS,
            place: known.place(),
            why: error.to_string(),
            mend: "set XDG_STATE_HOME to a folder that you may write".into(),
            content: false,
        })?;
        Ok(known.place())
    }

    fn handshake(
        &self,
        initiator: &Initiator,
        tcp: TcpStream,
        patience: Duration,
    ) -> Result<ChannelStream, ChannelError> {
        let deadline = Instant::now() + patience;
        let name = self.server_name(&tcp);
        let connection = ClientConnection::new(Arc::clone(&initiator.config), name)
            .map_err(|error| ChannelError::Foreign(error.to_string()))?;
        let mut stream = ChannelStream::protected(tcp, TlsSession::new(connection));
        stream.handshake(deadline)?;
        Ok(stream)
    }

    /// The name that a certificate of an authority must have: the host of the target, or else the address.
    fn server_name(&self, tcp: &TcpStream) -> ServerName<'static> {
        let host = self.host.split('%').next().unwrap_or_default();
        let address = || tcp.peer_addr().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.ip().to_canonical());
        ServerName::try_from(host.to_owned()).unwrap_or_else(|_| ServerName::from(address()))
    }
}

fn lock(known: &Mutex<KnownPeers>) -> MutexGuard<'_, KnownPeers> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
