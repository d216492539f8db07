//! JSON documents changed field by field, as a script says.

use serde_json::{Map, Number, Value};

use crate::script::Script;

/// Strings that mean something to some field.
const WORDS: [&str; 20] = [
    "periodic",
    "poisson",
    "imix:18446744073709551615()a",
    "imix:4096(abcdefghij)4096(abcdefghij)",
    "imix:simple",
    "talkspurt:p59@g729",
    "trace:/etc/hostname",
    "uniform:0ms,1h",
    "normal:1h,1h",
    "round_trip",
    "forward",
    "reverse",
    "both",
    "trace:told",
    "9223372036854775807h",
    "1ns",
    "1e308",
    "192.0.2.1",
    "\u{1b}[31m\u{7}",
    "",
];
/// Numbers at the edges of the types that fields have.
const NUMBERS: [i64; 12] =
    [0, 1, -1, 2, 64, 255, 65_527, 65_536, 4_294_967_295, 1_000_000_000, i64::MAX, i64::MIN];
/// How deep a change may go.
const DEEPEST: usize = 12;

/// Changes one field of `document`: one octet for each level says which field, then comes what [`made`] takes.
pub(crate) fn change(document: &mut Value, script: &mut Script<'_>) {
    let mut place = document;
    for _ in 0..DEEPEST {
        let Some(pick) = script.octet().map(usize::from) else { break };
        let children = match place {
            Value::Object(map) => map.len(),
            Value::Array(list) => list.len(),
            _ => 0,
        };
        // One more than there are: the place itself.
        let Some(child) = pick.checked_rem(children + 1).filter(|child| *child < children) else { break };
        place = match place {
            Value::Object(map) => {
                map.iter_mut().nth(child).map(|(_, value)| value).expect("below the length")
            }
            Value::Array(list) => &mut list[child],
            _ => unreachable!("it has children"),
        };
    }
    *place = made(script);
}

/// A value of any kind.
fn made(script: &mut Script<'_>) -> Value {
    let kind = script.octet().unwrap_or(0);
    let which = usize::from(script.octet().unwrap_or(0));
    match kind % 11 {
        0 => Value::Null,
        1 => Value::Bool(which.is_multiple_of(2)),
        2..=4 => NUMBERS[which % NUMBERS.len()].into(),
        5 => u64::MAX.into(),
        6 => Number::from_f64(1e300).map_or(Value::Null, Value::Number),
        7 => WORDS[which % WORDS.len()].into(),
        8 => String::from_utf8_lossy(script.take(which)).into_owned().into(),
        9 => Value::Array(vec![Value::Null; which]),
        _ => (0..which).fold(Value::Null, |inner, depth| {
            if depth.is_multiple_of(2) {
                vec![inner].into()
            } else {
                Map::from_iter([("a".into(), inner)]).into()
            }
        }),
    }
}
