//! A key or table that a TOML document has twice: where it has it first.

use core::ops::Range;

use toml::de::{DeTable, DeValue, Error};

/// The line, from 1, where the key is given first whose second time is the error; `None` where the error is another.
///
/// The parser says where the second stands. The first is the key of that name without which nothing is wrong there.
pub fn first_of_two(text: &str, error: &Error) -> Option<usize> {
    let second = error.span()?;
    let name = text.get(second.clone())?.trim_matches(['"', '\'']);
    // Whatever stands before the second is well.
    let line = text[..second.start].rfind('\n').map_or(0, |end| end + 1);
    let before = DeTable::parse(text.get(..line)?).ok()?;
    let mut places = Vec::new();
    gather(before.get_ref(), name, &mut places);
    places.sort_by_key(|place| core::cmp::Reverse(place.start));
    let first = places.into_iter().find(|place| is_well_without(text, place, second.start))?;
    Some(text[..first.start].matches('\n').count() + 1)
}

/// The places of all keys of that name.
fn gather(table: &DeTable<'_>, name: &str, places: &mut Vec<Range<usize>>) {
    for (key, value) in table {
        if key.get_ref() == name {
            places.push(key.span());
        }
        gather_in(value.get_ref(), name, places);
    }
}

fn gather_in(value: &DeValue<'_>, name: &str, places: &mut Vec<Range<usize>>) {
    match value {
        DeValue::Table(table) => gather(table, name, places),
        DeValue::Array(values) => values.iter().for_each(|value| gather_in(value.get_ref(), name, places)),
        _ => {}
    }
}

/// Whether nothing is wrong at `second` once the key at `first` has another name.
fn is_well_without(text: &str, first: &Range<usize>, second: usize) -> bool {
    let mut other = text.to_owned();
    // As long, so that every place stays what it is.
    other.replace_range(first.clone(), &"-".repeat(first.len()));
    DeTable::parse(&other).err().and_then(|error| error.span()).is_none_or(|span| span.start != second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<usize> {
        first_of_two(text, &DeTable::parse(text).unwrap_err())
    }

    #[test]
    fn the_line_is_told_where_the_same_key_stands_first() {
        assert_eq!(first("a = 1\n\na = 2\n"), Some(1));
        // Others of that name, in other tables, before it and between.
        assert_eq!(first("fixed = 1\n[a.b]\nfixed = 2\nother = { fixed = 3 }\n\"fixed\" = 4\n"), Some(3));
        assert_eq!(first("[x]\n[both.delay]\n[y.delay]\na = 1\n[both.delay]\n"), Some(2));
        assert_eq!(first("[[s]]\nn = 1\n[[s]]\nm = 1\nn = 1\nm = 2\n"), Some(4));
        assert_eq!(first("a = \n"), None, "another error");
    }
}
