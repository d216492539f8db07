//! Packet logs as other programs write and read them.
//!
//! [`csv`] is the table that every run exports and that anybody can write; [`qtcp`] holds the files of Qtcp. Reading is
//! strict and by the line: what is not in the format is refused with the number of its line, never guessed at.
#![forbid(unsafe_code)]

pub mod csv;
mod line;
pub mod qtcp;
