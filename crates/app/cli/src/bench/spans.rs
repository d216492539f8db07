//! Finds the place in a plan of an error that concerns several options.

use std::ops::Range;

use super::plan::{PlanOption, faulty};
use crate::failure::Failure;

/// The options of a plan that count, and where each stands.
pub(super) struct Places {
    /// The plan.
    pub(super) text: Vec<u8>,
    /// Its name.
    pub(super) shown: String,
    /// Its options, without those that the command line has replaced.
    pub(super) found: Vec<PlanOption>,
    /// Where its procedure stands.
    pub(super) procedure: Range<usize>,
}

/// Arguments that are for the command line as well as for a plan: that they are missing is no fault of it.
const ANYWHERE: [&str; 4] = ["tx", "rx", "source", "destination"];

impl Places {
    /// A refusal of the arguments, as a fault of the plan where it is about what stands in it, or about what its procedure
    /// needs.
    pub(super) fn locate(&self, failure: Failure) -> Failure {
        let place = self.place_of(failure.text()).filter(|_| failure.is_usage() && failure.place().is_none());
        match place {
            Some(place) => faulty(&self.text, &self.shown, place.start, failure.text()),
            None => failure,
        }
    }

    /// Where the option stands that this text names.
    fn place_of(&self, text: &str) -> Option<Range<usize>> {
        let (_, rest) = text.split_once("(--")?;
        let (named, _) = rest.split_once(')')?;
        for one in named.split(", ") {
            let one = one.trim_start_matches("--");
            let (flag, said) = one.split_once(' ').unwrap_or((one, ""));
            if let Some(found) = self.meant(flag, said) {
                // Of a table that key which is named, where it is one: `(--stream share=)`.
                let key = said.rsplit(',').next().unwrap_or_default().strip_suffix('=');
                return Some(found.part(|(name, _)| key == Some(name)));
            }
        }
        let flag = named.split([' ', ',']).next().unwrap_or_default();
        (text.starts_with("missing option") && !ANYWHERE.contains(&flag)).then(|| self.procedure.clone())
    }

    /// Of the options of this name the last that says so, or the last of all.
    fn meant(&self, flag: &str, said: &str) -> Option<&PlanOption> {
        let of = || self.found.iter().filter(|one| one.option == flag);
        // A stream without a name has its number for one.
        let number = said.split(',').next().and_then(|name| name.strip_prefix("name=stream ")?.parse().ok());
        let says = |one: &&PlanOption| {
            let value = one.value.as_deref().unwrap_or_default();
            said.split(',').all(|part| value == part || value.split(',').any(|own| is_so(own, part)))
        };
        let numbered = || number.and_then(|number: usize| of().nth(number));
        of().rfind(says).or_else(numbered).or_else(|| of().next_back())
    }
}

/// Whether a part of an option's value is what was said of it: the same, its beginning up to `=`, or with a case before it.
fn is_so(own: &str, said: &str) -> bool {
    own == said
        || (said.ends_with('=') && own.starts_with(said))
        || own.split_once('=').is_some_and(|(name, _)| name == said)
        || own.split_once(':').is_some_and(|(_, own)| own == said)
}

#[cfg(test)]
mod tests {
    use crate::bench::of_page;

    /// What is said of this plan, and where.
    fn fault(plan: &str) -> (String, Option<(usize, usize)>) {
        let ports = "tx = \"lo\"\nrx = \"other0\"\nsource = \"192.0.2.1\"\ndestination = \"192.0.2.9\"\n";
        let (head, rest) = plan.split_once('\n').unwrap();
        let fault = of_page(&format!("{head}\n{ports}{rest}")).map(|_| ()).unwrap_err();
        (fault.text, fault.place)
    }

    #[test]
    fn what_is_wrong_of_options_together_has_its_place() {
        let sweep = "procedure = \"load-sweep\"\n";
        let priority = "procedure = \"priority\"\ncapacity = \"5Mbit\"\n";
        let two = |keys: [&str; 2]| format!("{sweep}[[stream]]\n{}\n[[stream]]\n{}\n", keys[0], keys[1]);
        let weight = "discipline = \"strict\"\n[[stream]]\nshare = \"50%\"\n[[stream]]\nweight = 3\n";
        for (plan, place, says) in [
            (two(["name = \"a\"\ndscp = \"eff\"", "name = \"b\""]), (8, 8), "\"eff\" is not a DSCP"),
            (format!("{priority}discipline = \"fair\"\n"), (7, 14), "\"fair\" is not a possible value"),
            (
                two(["name = \"a\"\nshare = \"60%\"", "name = \"b\"\nshare = \"70%\""]),
                (11, 9),
                "sum to 130.0 %",
            ),
            (format!("{sweep}frame_sizes = [64, 12]\n"), (6, 20), "\"12\" is not a frame size"),
            (format!("{sweep}frame_sizes = [64, \"128\"]\n"), (6, 20), "frame_sizes has a number in quotes"),
            (format!("{sweep}[dut]\nage = 3\n"), (7, 7), "a label is a text; write it in quotes"),
            (format!("{sweep}frame_size = [64]\n"), (6, 1), "did you mean frame_sizes?"),
            (format!("{sweep}frame-size = [64]\n"), (6, 1), "did you mean frame-sizes?"),
            (two(["frame_sise = 64", "name = \"b\""]), (7, 1), "did you mean frame_size?"),
            (format!("{sweep}seed = [1, 2, 3]\n"), (6, 8), "\"1,2,3\" is not a seed; write six numbers"),
            (format!("{sweep}loads = [\n  \"10%\",\n  \"x\",\n]\n"), (8, 3), "\"x\" is not a percentage"),
            (
                format!("{sweep}expect-marking = [\"cs1=ef\", \"cs1\"]\n"),
                (6, 29),
                "\"cs1\" is not two code points",
            ),
            (two(["name = \"a\"", "name = \"a\""]), (9, 1), "a stream is given twice (--stream name=a)"),
            (
                format!(
                    "{sweep}[[case]]\nname = \"x\"\ncommand = \"true\"\n[[case]]\nname = \"x\"\ncommand = \"false\"\n"
                ),
                (10, 1),
                "a case is given twice (--case x)",
            ),
            (format!("{sweep}imix = \"simple\"\nframe_sizes = [64]\n"), (0, 0), "cannot be combined"),
            ("procedure = \"policing\"\n".into(), (1, 13), "missing option (--profile)"),
            (
                format!("{sweep}expect_marking = \"cs1=ef\"\n"),
                (6, 18),
                "no stream is sent with the code point cs1",
            ),
            (
                format!("{sweep}line_rate = true\n"),
                (6, 13),
                "line_rate takes a text or a number, and not true",
            ),
            (
                format!("{sweep}line_rate = \"1Mbit\"\nline-rate = \"2Mbit\"\n"),
                (7, 1),
                "\"line-rate\" is given twice",
            ),
            (format!("{priority}{weight}"), (11, 10), "(--stream name=1,weight=)"),
        ] {
            let (text, at) = fault(&plan);
            assert!(text.contains(says), "{plan}: {text}");
            let at = at.unwrap_or_else(|| panic!("{plan}: {text} has no place"));
            assert!(
                text.starts_with(&format!("the plan cannot be used (plan:{}:{}): ", at.0, at.1)),
                "{text}"
            );
            // Of two that cannot be combined, either may be meant.
            assert!(at == place || place == (0, 0) && (at.0 == 6 || at.0 == 7), "{plan}: {at:?}: {text}");
        }
        let mixed = "procedure = \"load-sweep\"\ntx = \"lo\"\nrx = \"other0\"\nsource = \"192.0.2.1\"\ndestination = \"2001:2::1\"\n";
        let mixed = of_page(mixed).map(|_| ()).unwrap_err();
        assert_eq!(mixed.place, Some((4, 10)), "{}", mixed.text);
    }

    /// What a plan multiplies is bounded before it is expanded.
    #[test]
    fn expansions_are_bounded() {
        let sweep = "procedure = \"load-sweep\"\n";
        let streams = format!("{sweep}{}", "[[stream]]\nshare = \"1%\"\n".repeat(65));
        let loads = "loads = [\"1%..99%:0.1%\"]\nrepeat = 1000\nframe_sizes = [64, 512]\n";
        let labels = |count: u32| (0..count).map(|label| format!("l{label} = \"\"\n")).collect::<String>();
        let claims = format!("expect_ecn = [{}]\n", "\"ect0=ect0\", ".repeat(1_001));
        for (plan, says) in [
            (format!("{sweep}{loads}"), "1962000 combinations"),
            (format!("{sweep}{claims}"), "1001 times are more than 1000"),
            (streams, "65 times are more than 64"),
            (
                format!("{sweep}[[stream]]\nshare = \"x\"\n{}", "[[stream]]\n".repeat(1_024)),
                "more than 1024 values",
            ),
            (format!("{sweep}[dut]\n{}", labels(1_025)), "more than 1024 values"),
            (format!("{sweep}frame_sizes = [{}]\n", "64, ".repeat(1_025)), "more than 1024 values"),
            (format!("{sweep}loads = \"{}1%\"\n", "1%,".repeat(1_024)), "more than 1024 values"),
            (format!("{sweep}imix = \"18446744073709551615()a\"\n"), "20(abcd)"),
            (format!("{sweep}imix = \"18446744073709551615(a)\"\n"), "at most 65536"),
            (format!("{sweep}[[stream]]\nimix = \"18446744073709551615()a\"\n"), "20(abcd)"),
        ] {
            let (text, _) = fault(&plan);
            assert!(text.contains(says), "{says}: {text}");
        }
    }

    #[test]
    fn what_a_plan_leaves_to_the_command_line_is_no_fault_of_it() {
        let fault = of_page("procedure = \"load-sweep\"\n").map(|_| ()).unwrap_err();
        assert!(fault.text.starts_with("missing option (--tx)"), "{}", fault.text);
        assert_eq!(fault.place, None);
    }
}
