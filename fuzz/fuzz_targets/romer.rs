//! Gives libFuzzer's inputs to the target that `ROMER_FUZZ_TARGET` names.
#![no_main]

use std::cell::RefCell;
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::process::abort;
use std::sync::LazyLock;

thread_local! {
    /// Where the last panic was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

static TARGET: LazyLock<String> = LazyLock::new(|| {
    // libFuzzer's own hook aborts at once, but a reader may catch a panic of a library that it uses. Only one that leaves the
    // harness is a finding.
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        PLACE.with_borrow_mut(|last| *last = place);
    }));
    env::var("ROMER_FUZZ_TARGET").expect("ROMER_FUZZ_TARGET names a target")
});

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let target = TARGET.as_str();
    if let Err(panic) = panic::catch_unwind(AssertUnwindSafe(|| romer_fuzz_harness::run(target, octets))) {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        eprintln!("{target}: {message} ({})", PLACE.with_borrow(String::clone));
        abort();
    }
});
