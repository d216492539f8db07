//! What is said of many in the same words, with other numbers.

/// Those of `texts` that differ in their numbers only as one, with the least and the largest of each number; and the places of
/// each among them, in the order of the first.
pub(crate) fn groups<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<(String, Vec<usize>)> {
    let mut kinds: Vec<Kind<'a>> = Vec::new();
    for (place, text) in texts.enumerate() {
        let parts = parts(text);
        match kinds.iter_mut().find(|kind| kind.is_of(&parts)) {
            Some(kind) => kind.add(place, &parts),
            None => {
                let spans = parts.into_iter().map(|part| [part, part]).collect();
                kinds.push(Kind { places: vec![place], spans });
            }
        }
    }
    kinds.into_iter().map(|kind| (kind.text(), kind.places)).collect()
}

/// A piece of a text, and what it is where it is a number.
type Part<'a> = (&'a str, Option<f64>);

struct Kind<'a> {
    places: Vec<usize>,
    /// Of each piece the least and the largest.
    spans: Vec<[Part<'a>; 2]>,
}

impl<'a> Kind<'a> {
    fn is_of(&self, parts: &[Part<'_>]) -> bool {
        let same = |([known, _], part): (&[Part<'_>; 2], &Part<'_>)| match (known.1, part.1) {
            (Some(_), Some(_)) => true,
            (None, None) => known.0 == part.0,
            _ => false,
        };
        self.spans.len() == parts.len() && self.spans.iter().zip(parts).all(same)
    }

    fn add(&mut self, place: usize, parts: &[Part<'a>]) {
        self.places.push(place);
        for ([least, largest], part) in self.spans.iter_mut().zip(parts) {
            if part.1 < least.1 {
                *least = *part;
            }
            if part.1 > largest.1 {
                *largest = *part;
            }
        }
    }

    fn text(&self) -> String {
        let span = |[least, largest]: &[Part<'_>; 2]| {
            if least.1 == largest.1 { least.0.to_owned() } else { format!("{} to {}", least.0, largest.0) }
        };
        self.spans.iter().map(span).collect()
    }
}

/// The text in pieces: numbers, and what is between them. What is part of a name, of an address or of a prefix is no number.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut before = None;
    let mut words = 0;
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    while let Some(letter) = rest[words..].chars().next() {
        let here = &rest[words..];
        if !letter.is_ascii_digit() {
            before = Some(letter);
            words += letter.len_utf8();
            continue;
        }
        let length = here.find(|letter| !is_of_number(letter)).unwrap_or(here.len());
        // A full stop ends a sentence.
        let number = here[..length].trim_end_matches('.');
        let after = here[length..].chars().next();
        let joins =
            |letter: Option<char>| letter.is_some_and(|letter| matches!(letter, ':' | '/' | '-' | '_'));
        let is_word = before.is_some_and(char::is_alphanumeric)
            || joins(before)
            || (joins(after) && number.len() == length);
        before = here[..length].chars().last();
        if let (false, Ok(value)) = (is_word, number.parse()) {
            parts.push((&rest[..words], None));
            parts.push((number, Some(value)));
            rest = &here[number.len()..];
            words = 0;
            before = before.filter(|_| number.len() == length);
        } else {
            words += length;
        }
    }
    parts.push((rest, None));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_numbers_is_said_once_with_the_least_and_the_largest() {
        let all = [
            "325 probes waited for up to 14175 ms (packet 9): no more.",
            "a packet left 4.5 ms late",
            "9 probes waited for up to 985 ms (packet 10): no more.",
            "325 probes waited for up to 2 ms (packet 10): no more.",
        ];
        assert_eq!(
            groups(all.into_iter()),
            [
                (
                    "9 to 325 probes waited for up to 2 to 14175 ms (packet 9 to 10): no more.".to_owned(),
                    vec![0, 2, 3]
                ),
                ("a packet left 4.5 ms late".to_owned(), vec![1])
            ]
        );
    }

    #[test]
    fn names_and_addresses_are_no_numbers() {
        let all = [
            "t0 to 198.18.0.3/24 by 2001:db8::1, 3.",
            "t1 to 198.18.0.3/24 by 2001:db8::1, 3.",
            "at 10.0.0.1, 7",
        ];
        assert_eq!(groups(all.into_iter()).len(), 3);
        assert_eq!(
            groups(["at 10.0.0.1, 7", "at 10.0.0.1, 12"].into_iter()),
            [("at 10.0.0.1, 7 to 12".to_owned(), vec![0, 1])]
        );
        assert_eq!(
            groups(["3 ms", "3 ms", ""].into_iter()),
            [("3 ms".to_owned(), vec![0, 1]), (String::new(), vec![2])]
        );
    }
}
