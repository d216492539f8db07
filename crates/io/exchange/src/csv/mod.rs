//! The packet log as a table: a header line, then a line for each packet and copy.
//!
//! One way: `sequence,size,sent_ns,received_ns`. Four stamps: `sequence,size,t1_ns,t2_ns,t3_ns,t4_ns` (t1 sent, t2
//! arrived there, t3 left there, t4 back here). Sizes are octets of UDP payload, stamps whole nanoseconds, each on its
//! own host's clock and from any origin. An empty field is a packet that did not get so far; a duplicate repeats the
//! sequence number with the departure of its packet ([`numbering`]). The program's own stamps may stand beside the best ones, in columns of the same names with `user_`
//! before them. Where there are some of the sending host and none at all of the far one (`user_t2_ns`), the far end
//! kept no log, and an empty `t2_ns` does not tell on which way the packet was lost.
//!
//! A last line without a line end may be one in which its writer was interrupted: see [`Unended`].
//!
//! `fate`, where it is asked for, says in a word what became of the packet. Most of it follows from the stamps; but what did not
//! arrive and is `in-flight` or `unknown` was not lost, and a reader leaves it out; and what is `instrument-drop-forward` or `instrument-drop-reverse` came to
//! a host that did not read it, so that the path carried it. Without that column such packets are not written.

mod last;
pub mod numbering;
mod plain;
mod read;
mod row;
mod write;

pub use crate::line::Fault;
pub use last::Unended;
pub use read::{Reader, Unread};
pub use row::{Row, Shape};
pub use write::{Places, WrittenCounts, one_way, round_trips};
