//! The values of Arrow columns, whatever their width.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

/// The values of a column, one for each row.
#[derive(Debug)]
pub(crate) enum Values<'a> {
    /// Integers, and times in nanoseconds since 1970-01-01 UTC.
    Integers(Vec<Option<i128>>),
    /// Text.
    Words(Vec<Option<&'a str>>),
    /// Yes or no.
    Flags(Vec<Option<bool>>),
}

/// The values of a column; `None` for a type that is none of [`Values`].
pub(crate) fn values(array: &dyn Array) -> Option<Values<'_>> {
    let integers = match array.data_type() {
        DataType::Int8 => whole::<Int8Type>(array, 1),
        DataType::Int16 => whole::<Int16Type>(array, 1),
        DataType::Int32 => whole::<Int32Type>(array, 1),
        DataType::Int64 => whole::<Int64Type>(array, 1),
        DataType::UInt8 => whole::<UInt8Type>(array, 1),
        DataType::UInt16 => whole::<UInt16Type>(array, 1),
        DataType::UInt32 => whole::<UInt32Type>(array, 1),
        DataType::UInt64 => whole::<UInt64Type>(array, 1),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => whole::<TimestampNanosecondType>(array, 1),
        DataType::Timestamp(TimeUnit::Microsecond, _) => whole::<TimestampMicrosecondType>(array, 1_000),
        DataType::Timestamp(TimeUnit::Millisecond, _) => whole::<TimestampMillisecondType>(array, 1_000_000),
        DataType::Timestamp(TimeUnit::Second, _) => whole::<TimestampSecondType>(array, 1_000_000_000),
        DataType::Boolean => {
            return array.as_boolean_opt().map(|flags| Values::Flags(flags.iter().collect()));
        }
        _ => return words(array).map(Values::Words),
    };
    integers.map(Values::Integers)
}

/// Integers in units of `unit`.
fn whole<T: ArrowPrimitiveType>(array: &dyn Array, unit: i128) -> Option<Vec<Option<i128>>>
where
    T::Native: Into<i128>,
{
    let of_type: &PrimitiveArray<T> = array.as_primitive_opt()?;
    Some(of_type.iter().map(|value| value.map(|value| value.into() * unit)).collect())
}

/// Text, which may be in a dictionary.
fn words(array: &dyn Array) -> Option<Vec<Option<&str>>> {
    match array.data_type() {
        DataType::Utf8 => array.as_string_opt::<i32>().map(|words| words.iter().collect()),
        DataType::LargeUtf8 => array.as_string_opt::<i64>().map(|words| words.iter().collect()),
        DataType::Utf8View => array.as_string_view_opt().map(|words| words.iter().collect()),
        DataType::Null => Some(vec![None; array.len()]),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let known = words(dictionary.values().as_ref())?;
            let Some(Values::Integers(keys)) = values(dictionary.keys()) else { return None };
            let word = |key: Option<i128>| known.get(usize::try_from(key?).ok()?).copied().flatten();
            Some(keys.into_iter().map(word).collect())
        }
        _ => None,
    }
}
