//! Calls into the Parquet reader, whose panics are errors of the file that it reads.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is decoding a file: a panic is then caught, and is an error of the file. A program's panic hook may ask,
/// and say nothing.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Does `decode`, whose panic becomes an error. What it had in hand is not used any more after that.
pub(super) fn guarded<T, E: From<ParquetError>>(decode: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let before = DECODING.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(before);
    decoded.unwrap_or_else(|_| {
        Err(ParquetError::General("its content contradicts itself, and cannot be decoded".into()).into())
    })
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
        let failed = guarded(|| -> Result<(), ParquetError> { panic!("as a reader may do") });
        assert!(failed.unwrap_err().to_string().contains("contradicts itself"));
        assert!(!is_decoding());
        assert!(guarded(|| Ok::<_, ParquetError>(is_decoding())).unwrap());
    }
}
