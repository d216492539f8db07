//! Plain wording: words that a network engineer has to translate, in the texts that users read (documentation, interface,
//! console, descriptions of schemas), and long sentences in the documentation and in these descriptions.

use regex_lite::Regex;

use crate::files::Text;
use crate::finding::Violation;
use crate::literals::literals;

/// The most words of a sentence.
const MAX_SENTENCE_WORDS: usize = 30;

/// Words to avoid, as a pattern, and what to write instead.
const AVOIDED: [(&str, &str); 20] = [
    ("tell|tells|telling|told", "report, show"),
    ("mend|mends|mended|mending", "fix"),
    ("heed|heeds|heeded", "respect, use"),
    ("what becomes of|what became of", "the fate of, what happens to"),
    ("astray", "lost, discarded"),
    ("comes home|came home|brought home|brings home", "is received, is fetched"),
    ("held against", "compared with"),
    ("laid on", "applied to"),
    ("stood still|stands still|standing still", "paused, was stopped"),
    ("at the most", "at most"),
    ("at the least", "at least"),
    ("the way there|the way back|the way here", "forward, reverse"),
    ("in the whole", "in all"),
    ("far end|far ends", "responder, remote host"),
    ("by the way of|on its way|on their way", "on the path"),
    ("so many|so long as", "a number of, while"),
    ("by so much|so few", "the difference, a small number of"),
    ("found out", "found"),
    ("what it comes to|what they come to|comes to stay", "the result, ends in"),
    ("is asked for|was asked for|are asked for|were asked for", "is requested"),
];

/// More of them, for the descriptions of schemas and the console.
const AVOIDED_IN_DESCRIPTIONS: [(&str, &str); 8] = [
    ("(?:bits|bytes|octets|frames|packets|times) a second", "per second, bit/s"),
    ("in words", "as text"),
    ("anew|once more", "again"),
    ("whence", "source of, from what"),
    ("many an|many a", "many, some"),
    ("there and back", "round trip"),
    ("takes away|took away|taken away|takes out|took out", "removes, excludes"),
    ("turned over", "inverted"),
];

/// Keys of JSON documents to avoid, as a pattern of a whole key, and what to write instead.
const AVOIDED_KEYS: [(&str, &str); 9] = [
    ("asked(?:_.*)?", "requested"),
    ("held|holds", "passed"),
    ("there|back|here", "forward, reverse"),
    ("told|kept(?:_.*)?|not_kept", "reported, stored"),
    ("of|whose", "the quantity or the thing that is meant"),
    ("words", "text"),
    ("far|gone|elsewhere|unheard", "the state or the place that is meant"),
    ("least_.*", "min_..."),
    ("most_.*|greatest_.*", "max_..."),
];

/// A place where the wording is not plain.
struct WordingFault {
    line: usize,
    what: String,
}

/// Every such place of the files.
pub(crate) fn check(files: &[Text]) -> Vec<Violation> {
    let rules = Rules::new();
    let found = |file| rules.places(file).into_iter().map(|WordingFault { line, what }| (line, what));
    let findings = files.iter().flat_map(|file: &Text| {
        found(file).map(|(line, what)| Violation::error(format!("{}:{line}", file.path), what))
    });
    findings.collect()
}

struct Rules {
    avoided: Vec<(Regex, &'static str)>,
    avoided_in_descriptions: Vec<(Regex, &'static str)>,
    avoided_keys: Vec<(Regex, &'static str)>,
    /// What of a text is no prose: code, where links lead to, and values that are filled in.
    no_prose: Regex,
    sentence: Regex,
    /// What of a line of the console is text: strings, and what stands between tags.
    console: Regex,
}

impl Rules {
    fn new() -> Self {
        let pattern = |text: &str| Regex::new(text).expect("a pattern of this file");
        let words =
            |(words, instead): &(&str, &'static str)| (pattern(&format!(r"(?i)\b(?:{words})\b")), *instead);
        let key = |(keys, instead): &(&str, &'static str)| (pattern(&format!("^(?:{keys})$")), *instead);
        Self {
            avoided: AVOIDED.iter().map(words).collect(),
            avoided_in_descriptions: AVOIDED.iter().chain(&AVOIDED_IN_DESCRIPTIONS).map(words).collect(),
            avoided_keys: AVOIDED_KEYS.iter().map(key).collect(),
            no_prose: pattern(r"`[^`]*`|\]\([^)]*\)|\{[^}]*\}"),
            sentence: pattern(r"[.!?:]\s"),
            console: pattern(r#"'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`|>([^<>{}]*)<"#),
        }
    }

    fn places(&self, file: &Text) -> Vec<WordingFault> {
        let path = file.path.as_str();
        if path.ends_with(".md") && !path.starts_with("validation/") {
            let mut places = self.avoided(&self.avoided, &prose(file, true));
            places.extend(self.long(&prose(file, false)));
            places
        } else if path.starts_with("docs/") && path.ends_with(".json") {
            let descriptions = descriptions(file);
            let mut places = self.avoided(&self.avoided_in_descriptions, &descriptions);
            places.extend(descriptions.into_iter().flat_map(|description| self.long(&[description])));
            places.extend(self.keys(file));
            places
        } else if is_console(path) {
            self.avoided(&self.avoided_in_descriptions, &self.texts_of_console(file))
        } else if path.ends_with(".rs") && is_interface(path) {
            self.avoided(&self.avoided, &texts_of_code(file, path.starts_with("crates/app/cli/src/args")))
        } else {
            Vec::new()
        }
    }

    fn avoided(&self, words: &[(Regex, &'static str)], lines: &[(usize, String)]) -> Vec<WordingFault> {
        let mut places = Vec::new();
        for (line, text) in lines {
            let text = self.no_prose.replace_all(text, " code ");
            for (pattern, instead) in words {
                places.extend(pattern.find_iter(&text).map(|found| WordingFault {
                    line: *line,
                    what: format!("says {:?}: write {instead}", found.as_str()),
                }));
            }
        }
        places
    }

    /// The keys of a schema that are to be avoided.
    fn keys(&self, file: &Text) -> Vec<WordingFault> {
        let key = |line: &str| {
            let key = line.trim().strip_prefix('"')?.strip_suffix("\": {")?;
            let (_, instead) = self.avoided_keys.iter().find(|(pattern, _)| pattern.is_match(key))?;
            Some(format!("has the key {key:?}: write {instead}"))
        };
        file.lines().filter_map(|(line, text)| Some(WordingFault { line, what: key(text)? })).collect()
    }

    /// The texts of a file of the console by line, without comments.
    fn texts_of_console(&self, file: &Text) -> Vec<(usize, String)> {
        let is_comment = |line: &str| ["//", "*", "/*", "<!--"].iter().any(|mark| line.starts_with(mark));
        let lines = file.lines().filter(|(_, line)| !is_comment(line.trim_start()));
        let texts = lines.flat_map(|(number, line)| {
            let groups = self.console.captures_iter(line);
            groups.flat_map(move |found| {
                let text = (1..=4).find_map(|group| found.get(group));
                text.map(|text| (number, text.as_str().to_owned()))
            })
        });
        // A single word is a key, and no text.
        texts.filter(|(_, text)| text.trim().contains(' ')).collect()
    }

    /// Sentences of more words than [`MAX_SENTENCE_WORDS`]; those of a paragraph may go over several lines.
    fn long(&self, lines: &[(usize, String)]) -> Vec<WordingFault> {
        let mut places = Vec::new();
        let mut paragraph: Option<(usize, String)> = None;
        let mut end = |paragraph: &mut Option<(usize, String)>| {
            let Some((line, text)) = paragraph.take() else { return };
            let text = self.no_prose.replace_all(&text, " code ");
            for sentence in self.sentence.split(&text) {
                let words =
                    sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
                if words > MAX_SENTENCE_WORDS {
                    let start: Vec<&str> = sentence.split_whitespace().take(5).collect();
                    let what = format!("has a sentence of {words} words ({:?}): split it", start.join(" "));
                    places.push(WordingFault { line, what });
                }
            }
        };
        for (line, text) in lines {
            let trimmed = text.trim_start();
            let begins = ["- ", "* ", "#", "> "].iter().any(|mark| trimmed.starts_with(mark))
                || trimmed.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
            if trimmed.is_empty() || begins {
                end(&mut paragraph);
            }
            if !trimmed.is_empty() {
                match &mut paragraph {
                    Some((_, so_far)) => *so_far = format!("{so_far} {trimmed}"),
                    None => paragraph = Some((*line, trimmed.to_owned())),
                }
            }
        }
        end(&mut paragraph);
        places
    }
}

/// Whether the texts of a source file reach users.
fn is_interface(path: &str) -> bool {
    let is_test = path.contains("/tests") || path.ends_with("_tests.rs") || path.contains("/simulated");
    let is_for_tests = ["crates/model/sim/", "crates/model/testing/", "crates/sys/testnet/"];
    let is_for_tests = is_for_tests.iter().any(|folder| path.starts_with(folder));
    path.starts_with("crates/") && path.contains("/src/") && !is_test && !is_for_tests
}

/// Whether a file is one of the console that people write.
fn is_console(path: &str) -> bool {
    path.starts_with("console/src/")
        && (path.ends_with(".svelte") || path.ends_with(".ts"))
        && !path.ends_with(".d.ts")
}

/// The descriptions and summaries of a schema, by line.
fn descriptions(file: &Text) -> Vec<(usize, String)> {
    let of = |line: &str| {
        let line = line.trim();
        let value =
            line.strip_prefix("\"description\": \"").or_else(|| line.strip_prefix("\"summary\": \""))?;
        Some(value.trim_end_matches([',', '"']).replace("\\n", " "))
    };
    file.lines().filter_map(|(number, line)| Some((number, of(line)?))).collect()
}

/// The lines of a page that are prose, with the rows of tables or empty lines instead of them.
fn prose(file: &Text, tables: bool) -> Vec<(usize, String)> {
    let mut is_code = false;
    // Code may also be a block that is indented by four columns.
    let mut may_be_code = true;
    let mut lines = Vec::new();
    for (number, line) in file.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        let is_indented = may_be_code && line.starts_with("    ");
        may_be_code = is_indented || line.is_empty();
        let is_row = line.trim_start().starts_with('|');
        let is_comment = line.trim_start().starts_with("<!--");
        let is_prose = !is_code && !is_fence && !is_indented && !is_comment && (tables || !is_row);
        lines.push((number, if is_prose { line.to_owned() } else { String::new() }));
    }
    lines
}

/// The texts of a source file before its tests, by line: literals, and doc comments where these are the help.
fn texts_of_code(file: &Text, help: bool) -> Vec<(usize, String)> {
    let literals = literals(file).into_iter().flat_map(|literal| {
        (literal.line..).zip(literal.text.lines()).map(|(line, text)| (line, text.to_owned()))
    });
    let comments = file.lines().filter(|_| help).filter_map(|(line, text)| {
        text.trim_start().strip_prefix("/// ").map(|comment| (line, comment.to_owned()))
    });
    literals.chain(comments).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let files: Vec<Text> = files
            .iter()
            .map(|(path, content)| Text { path: (*path).into(), content: (*content).into() })
            .collect();
        check(&files).into_iter().map(|finding| (finding.place, finding.what)).collect()
    }

    /// In pages and in texts of the interface, and neither in code, comments, tests nor names.
    #[test]
    fn avoided_words_are_found() {
        let page = found(&[("docs/a.md", "It tells.\n\n```\ntold\n```\n| at the most `told` |\n")]);
        assert_eq!(
            page.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>(),
            ["docs/a.md:1", "docs/a.md:6"]
        );
        let code =
            "// mend\nlet told = \"it is \\\n    told\"; // told\n#[cfg(test)]\nmod tests { \"told\" }\n";
        assert_eq!(found(&[("crates/app/cli/src/a.rs", code)]).len(), 1);
        assert_eq!(found(&[("crates/model/testing/src/a.rs", code)]), []);
        assert_eq!(found(&[("crates/app/cli/src/args/a.rs", "/// At the most.\nx: u8,\n")]).len(), 1);
    }

    /// In the descriptions of schemas, where sentences may be too long too, and in the texts of the console.
    #[test]
    fn schemas_and_console_are_checked() {
        let schema =
            "\"told\": {\n  \"description\": \"What is told.\",\n\"least_ns\": {\n\"offset_ns\": {\n";
        let places = found(&[("docs/schema/a.json", schema)]);
        assert_eq!(
            places.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>(),
            ["docs/schema/a.json:2", "docs/schema/a.json:1", "docs/schema/a.json:3"]
        );
        let long = format!("  \"summary\": \"{}\",\n", "word ".repeat(31));
        assert_eq!(found(&[("docs/openapi.json", &long)]).len(), 1);
        let screen = "<script>\n// told it\nconst told = told(told, 'told');\nwords = 'is told';\n\
            </script>\n<p class=\"told\">It is told</p>\n";
        let places = found(&[("console/src/a.svelte", screen)]);
        assert_eq!(
            places.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>(),
            ["console/src/a.svelte:4", "console/src/a.svelte:6"]
        );
        assert_eq!(found(&[("console/src/api/schema.d.ts", screen)]), []);
    }

    /// A sentence may go over lines, and ends with its paragraph or item.
    #[test]
    fn long_sentences_are_found() {
        let words = |count: usize| "word\n".repeat(count);
        assert_eq!(found(&[("docs/a.md", &words(31))]).len(), 1);
        assert_eq!(found(&[("docs/a.md", &words(30))]), []);
        assert_eq!(found(&[("docs/a.md", &format!("{}- {}", words(20), words(20)))]), []);
        assert_eq!(found(&[("docs/a.md", &format!("{}end. {}", words(20), words(20)))]), []);
    }
}
