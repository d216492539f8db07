//! The command that repeats a measurement.

use romer_report::escape::shell;
use romer_units::random::Seed;

/// The command as it was given, quoted for a shell.
pub(crate) fn as_given() -> String {
    shell(&arguments())
}

/// The command that measures the same again: as it was given, with the seed that a random schedule drew, but for when that was and where what was
/// measured went, which is there already.
pub(crate) fn with_seed(seed: Option<Seed>) -> String {
    of(arguments(), seed)
}

/// The same of a command that was given in these words.
pub(crate) fn of(words: Vec<String>, seed: Option<Seed>) -> String {
    let mut words = once(words);
    if let Some(seed) = seed {
        // What follows `--` is no option any more.
        let place = words.iter().position(|word| word == "--").unwrap_or(words.len());
        words.splice(place..place, ["--seed".into(), seed.to_string()]);
    }
    shell(&words)
}

/// Without what says when, how often, and where to.
fn once(words: Vec<String>) -> Vec<String> {
    const LEFT_OUT: [&str; 7] = ["--start", "--every", "--times", "--out", "--json", "--metrics", "--otlp"];
    const ALONE: &str = "--force";
    let mut kept = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        match (word == "--", LEFT_OUT.contains(&name)) {
            (true, _) => {
                kept.push(word);
                kept.extend(words.by_ref());
            }
            (_, true) if word == name => drop(words.next()),
            (_, true) => {}
            _ if word == ALONE => {}
            _ => kept.push(word),
        }
    }
    kept
}

fn arguments() -> Vec<String> {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(first) = words.first_mut() {
        *first = "romer".into();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_repeated_whatever_turn_it_was_and_wherever_it_went() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given = words("romer measure --every 1h x --start=+1s --times 3 --count 5 -- --every");
        assert_eq!(once(given), words("romer measure x --count 5 -- --every"));
        let with_places = words("romer measure x --out all --force --every=1h --json=- --count 5");
        assert_eq!(once(with_places), words("romer measure x --count 5"));
        let alone = words("romer measure x --json one -- --out=1h");
        assert_eq!(once(alone), words("romer measure x -- --out=1h"));
    }
}
