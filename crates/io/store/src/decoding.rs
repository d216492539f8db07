//! Calls into a library that reads a file's format, whose panics are errors of the file that it reads.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thiserror::Error;

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// What makes a library that reads a file panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("its content contradicts itself, and cannot be decoded")]
pub struct Undecodable;

/// Whether this thread is decoding a file: a panic is then caught, and is an error of the file. A program's panic hook may ask,
/// and say nothing.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Does `decode`. What it had in hand must not be used any more where this fails.
///
/// # Errors
/// [`Undecodable`] where it panics.
pub fn guarded<T>(decode: impl FnOnce() -> T) -> Result<T, Undecodable> {
    let before = DECODING.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(before);
    decoded.map_err(|_| Undecodable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !is_decoding() {
                hook(panic);
            }
        }));
        assert_eq!(guarded(|| -> u8 { panic!("as a reader may do") }), Err(Undecodable));
        assert!(!is_decoding());
        assert_eq!(guarded(is_decoding), Ok(true));
    }
}
