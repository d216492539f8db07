//! The control channel: how a sender and a romer at the far end agree on a session and how the responder's log
//! comes back.
//!
//! It runs over one TCP connection for each session. A frame is a length (u32, big-endian, of what follows), a
//! type octet and a body; bodies are JSON but for the log, which is binary. Lengths are checked before anything
//! is allocated. The conversation:
//!
//! ```text
//! sender                      responder
//!   hello  (version, clock) ->
//!                           <-  challenge              where the responder has a key: both ends prove
//!   proof                   ->                         that they have it before anything else is said
//!                           <-  proof                  ([`possession`])
//!                           <-  welcome (version, clock, test port, stamps)
//!   request (what is to be sent) ->
//!                           <-  granted (session, token) | refused (why, what would be granted)
//!   association datagram ~~~>   over UDP, repeated until
//!                           <-  associated (the address it came from)
//!   ask, every few seconds  ->
//!                           <-  heard (how far a one-way session has come)
//!   fetch                   ->  where somebody looks on: the records that there are by now
//!                           <-  log, departures (records)
//!   association datagram ~~~>   again every few seconds: it keeps a NAT's mapping, and tells a new one
//!                           <-  associated (where it came from now)
//!   ... test packets over UDP; records when the responder's buffer fills ...
//!                           <-  events (what happened to the responder's host)
//!                           <-  log (records)
//!   stop                    ->
//!                           <-  log (records), end (totals)
//! ```
//!
//! A session may be of one way only. Then the responder logs what arrives and sends nothing back, or, after `start`,
//! sends probes itself: both ends make the schedule from the same [`ReverseStreamRequest`], so that no list travels.
//!
//! ```text
//!   start                   ->  (reverse only: send, to the address that the association proved)
//!                           <-  departures (records), departed (how many) once all have left
//!   halt                    ->  (reverse only: no more; answered by departed)
//! ```
//!
//! A stream that is a recorded one is the exception: its departures travel before the request that asks for it, some
//! thousands in a `part`, as many as the responder has room for.
//!
//! A session outlives its connection, where both ends can that ([`RESUME`]): the responder keeps what it says only once
//! until it is told that it was `received`. A sender whose address has changed, or whose connection is no more, opens
//! another, is welcomed (and proves the key, where there is one), and says, in the place of a request:
//!
//! ```text
//!   resume (secret, heard)  ->
//!                           <-  resumed (a new token, what comes next) | refused (why)
//!   association datagram ~~~>   from the new address: test packets go there from then on
//!                           <-  associated
//!                           <-  log, departures, events (those that were not heard)
//! ```
//!
//! What a sender has ordered last (`start`, `halt`, `stop`) and has perhaps not come, it says again over the new connection;
//! a repeated order is answered as the first. Where both ends have [`LAST_WORD`] this holds up to the totals: the responder
//! keeps them until the sender hangs up, and the sender asks for signs of life while it waits for them.
//!
//! The connection is protected by TLS 1.3, or is between two ends on one host. Where an end refuses what protects it, the first
//! message is answered with a complaint. In the place of `hello`, a sender may ask to be paired: both ends prove over a protected
//! connection that they have one short code.
//!
//! ```text
//!   pair-share              ->
//!                           <-  pair-share | complaint (why)
//!   pair-proof              ->
//!                           <-  pair-proof | complaint (why)
//! ```
//!
//! The sender of a session of round trips may ask over a protected connection, before its association, that its probes are
//! authenticated by key material of that connection (`authenticate`, answered by the same).
//!
//! Either end takes the other for gone when it has heard nothing for [`SILENCE`]; a far end that is left so stops
//! sending.
//!
//! An unknown type is answered with an error and the connection stays; a known one out of its turn likewise. After ten faults,
//! refused requests among them, the responder closes the connection. It reads no more while an answer is not written. Frames are
//! at most 4 KiB long, but for a request and the parts of a recorded stream before it. Hosts that it does not answer are hung up
//! on before a word is said. What a
//! responder can do beyond the first version's round trips stands in the `features` of its welcome.

mod codec;
mod granting;
mod message;
pub mod possession;
mod resuming;
mod server;
mod stream;

pub use codec::{CodecError, Decoder, LONGEST_FRAME};
pub use message::{
    AUTHENTICATE, Associated, CARDS, Challenge, ClientHello, ClockIdentity, ComplaintCode, ConnectionRefusal,
    CountDamage, DAMAGE, Damaged, Departed, Events, FEATURES, FETCH, Granted, HAS_CARD, KEEP_ALIVE,
    LAST_WORD, Message, Moved, ONE_WAY, PORT, PairProof, PairShare, PairStep, Progress, Proof, ProtocolError,
    RESUME, Received, RefusalCode, Refused, Request, Resume, Resumed, SILENCE, ServerHello, SessionTotals,
    TRACE, VERSION, hex, unhex,
};
pub use resuming::Inbox;
pub use server::{AbortReason, Action, Limits, Others, Server, Session};
pub use stream::ReverseStreamRequest;
