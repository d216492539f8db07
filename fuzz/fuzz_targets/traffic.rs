#![no_main]
libfuzzer_sys::fuzz_target!(|octets: &[u8]| romer_fuzz_harness::run("traffic", octets));
