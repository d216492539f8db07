//! Plans of benchmarks, as users write them and as a console's page sends them.

use crate::{Seed, assert_message};

/// The longest message: what was written is cut before it is shown.
const LONGEST_MESSAGE: usize = 2_000;

pub(crate) fn run(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    if let Err(message) = romer::check_plan(text) {
        assert_message(&message, LONGEST_MESSAGE);
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    let ports = "tx = \"eth1\"\nrx = \"eth2\"\nsource = \"198.18.0.1\"\ndestination = \"198.19.0.1\"\n";
    let plan = |rest: &str| format!("procedure = \"throughput\"\n{ports}{rest}");
    [
        ("empty", String::new()),
        ("throughput", plan("")),
        ("frame_sizes", plan("frame-sizes = [64, 1518]\nrepeat = 3\n")),
        ("frame_sizes_of_all", plan("frame-sizes = [18446744073709551615]\n")),
        ("loads", plan("procedure = \"load-sweep\"\nloads = [\"10%..95%:5%\"]\n")),
        ("loads_in_tiny_steps", plan("loads = [\"0.0000001%..100%:0.0000001%\"]\n")),
        ("imix", plan("imix = \"chadda2004\"\n")),
        ("imix_of_empty_groups", plan("imix = \"18446744073709551615()a\"\n")),
        ("repeat_of_all", plan("repeat = 4294967295\n")),
        ("trial_of_a_day", plan("trial = \"24h\"\n")),
        ("stream", plan("[[stream]]\nname = \"voice\"\ndscp = \"ef\"\nshare = \"10%\"\n")),
        ("case", plan("[[case]]\nname = \"a\"\nset = \"true\"\n")),
        ("dut", plan("[dut]\nvendor = \"none\"\n")),
        ("unknown_key", plan("frame-sise = [64]\n")),
        ("key_with_escape", "\"\\u001b[31m\" = 1\n".into()),
        ("not_finite", plan("loss-ratio = nan\n")),
        ("key_twice", plan("repeat = 1\nrepeat = 2\n")),
        ("names_a_plan", "procedure = \"other.toml\"\n".into()),
        ("self_test", "procedure = \"self-test\"\n".into()),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .into()
}
