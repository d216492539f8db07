//! Packet logs as other programs write and read them.
//!
//! [`csv`] is the table that every run exports and that anybody can write; [`qtcp`] holds the files of Qtcp,
//! [`irtt`] the documents of irtt, [`ping`] the output of ping, [`capture`] captured traffic, [`rates`] tables of the rate of a link;
//! [`content`] recognises formats whose files have any name; [`packed`] opens what gzip compressed, [`mod@line`] finds the lines of
//! all texts. Reading is strict and by the line: what is not in the format is refused with the number of its line,
//! never guessed at.
#![forbid(unsafe_code)]

pub mod capture;
pub mod content;
pub mod csv;
pub mod irtt;
pub mod line;
pub mod packed;
pub mod ping;
pub mod qtcp;
pub mod rates;
