//! Values and statements for writing to either database.

/// A value to be written; None is null.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SqlValue {
    Int(Option<i64>),
    Real(Option<f64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
}

/// A statement with its values.
#[derive(Debug)]
pub(crate) struct SqlWrite {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<SqlValue>,
}

/// A list of [`SqlValue`]s from values of the types below.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::store::value::SqlValue::from($value)),*] };
}
pub(crate) use values;

macro_rules! from {
    ($($from:ty => $kind:ident($value:ident, $into:expr)),* $(,)?) => {$(
        impl From<$from> for SqlValue {
            fn from($value: $from) -> Self {
                SqlValue::$kind(Some($into))
            }
        }
        impl From<Option<$from>> for SqlValue {
            fn from(value: Option<$from>) -> Self {
                SqlValue::$kind(value.map(|$value| $into))
            }
        }
    )*};
}

from! {
    i64 => Int(x, x),
    // Numbers of entries and items are below 2^63.
    u64 => Int(x, x.cast_signed()),
    u32 => Int(x, i64::from(x)),
    i16 => Int(x, i64::from(x)),
    bool => Int(x, i64::from(x)),
    f64 => Real(x, x),
    &str => Text(x, x.to_string()),
    &String => Text(x, x.clone()),
    String => Text(x, x),
    &Vec<u8> => Bytes(x, x.clone()),
    Vec<u8> => Bytes(x, x),
}
