//! Scenario files, as users write them.

use romer_scenario::{decode, parse};

use crate::{Seed, assert_message};

/// The longest message: what was written is cut before it is shown.
const LONGEST_MESSAGE: usize = 2_000;

pub(crate) fn run(octets: &[u8]) {
    let text = match decode(octets) {
        Ok(text) => text,
        Err(why) => return assert_message(&why, LONGEST_MESSAGE),
    };
    let mut load = |file: &str| match file {
        "t.csv" => Ok("1,0,1,0,30000\n2,1,0,2,0\n".to_owned()),
        "t.up" => Ok("0\n5\n20\n".to_owned()),
        "delays" => Ok("1ms\n2ms\n".to_owned()),
        _ => Err("cannot be read: it is not there".to_owned()),
    };
    match parse(text, "s.toml", &mut load) {
        // What is read is what the engine takes.
        Ok(scenario) => {
            for path in scenario.config.paths() {
                assert_eq!(path.check(), Ok(()));
            }
            assert!(scenario.config.seed.is_none_or(|seed| seed.0 != [0; 6]));
        }
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains("s.toml:"), "{message:?} does not say where");
            assert_message(&message, LONGEST_MESSAGE);
        }
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    let mut seeds: Vec<Seed> =
        romer_scenario::PRESETS.iter().take(4).map(|preset| Seed::new(preset.name, preset.text)).collect();
    seeds.extend(
        [
            ("empty", ""),
            ("seed", "seed=[1,2,3,4,5,6]\ngenerator=\"mrg\"\n"),
            ("seed_zero", "seed=[0,0,0,0,0,0]\n"),
            ("bernoulli", "[a_to_b.loss]\nmodel=\"bernoulli\"\nprobability=\"1%\"\n"),
            ("gilbert_elliott", "[b_to_a.loss]\nmodel=\"gilbert-elliott\"\np=0.01\nr=0.25\nloss_bad=1\n"),
            ("four_state", "[a_to_b.loss]\nmodel=\"four-state\"\np13=0.1\np31=0.2\np32=0.1\np23=0.5\np14=0.01\n"),
            (
                "markov",
                "[a_to_b.loss]\nmodel=\"markov\"\nstep=\"time\"\ntransition=[[0.5,0.5],[1,0]]\ninitial=1\n\
                 state=[{duration=\"5s\",probability=0.0},{duration=\"1ms\",probability=1.0}]\n",
            ),
            (
                "delay",
                "[a_to_b.delay]\nfixed=\"30ms\"\nvariable={model=\"pareto\",scale=\"1ms\",shape=2.5}\norder=\"fifo\"\n",
            ),
            ("delay_empirical", "[a_to_b.delay]\nvariable={model=\"empirical\",file=\"delays\"}\n"),
            (
                "delay_correlated",
                "[a_to_b.delay]\nvariable={model=\"correlated\",coefficient=0.5,distribution={model=\"exponential\",mean=\"1ms\"}}\n\
                 order=\"independent\"\n",
            ),
            ("reorder", "[a_to_b.reorder]\nmodel=\"bernoulli\"\nprobability=0.1\ndisplacement={model=\"normal\",mean=3,stddev=1}\n"),
            ("rate", "[a_to_b.rate]\nlimit=\"10Mbit\"\nlayer=\"l1\"\nqueue={bytes=\"64KiB\",discipline=\"codel\"}\n"),
            ("trace", "[trace]\nfile=\"t.csv\"\nformat=\"pham\"\n"),
            ("trace_mahimahi", "[a_to_b.trace]\nfile=\"t.up\"\nformat=\"mahimahi\"\n"),
            ("trace_missing", "[a_to_b.trace]\nfile=\"../x\"\nformat=\"mahimahi\"\n"),
            ("flow", "[[flow]]\nmatch={dscp=\"ef\",protocol=\"udp\"}\na_to_b.delay.fixed=\"1ms\"\n"),
            (
                "timeline",
                "[[timeline]]\nat=\"10s\"\nramp=\"1s\"\na_to_b.delay.fixed=\"40ms\"\n[timeline_repeat]\nevery=\"60s\"\n",
            ),
            ("unknown_key", "[a_to_b.los]\n"),
            ("not_finite", "[a_to_b.loss]\nmodel=\"bernoulli\"\nprobability=nan\n"),
            ("key_with_escape", "\"\\u001b[31m\"=1\n"),
            ("duplicate_key", "seed=[1,1,1,1,1,1]\nseed=[1,1,1,1,1,1]\n"),
        ]
        .map(|(name, text)| Seed::new(name, text)),
    );
    seeds.push(Seed::new("utf16", *b"\xff\xfes\0"));
    seeds.push(Seed::new("byte_order_mark", *b"\xef\xbb\xbfseed=[1,2,3,4,5,6]\n"));
    seeds
}
