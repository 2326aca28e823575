//! What stands behind a metadata key?

use super::bytes::{Cursor, Fault};

/// Arrays in arrays deeper than this are refused; no known key nests at all.
const MAX_DEPTH: usize = 4;

/// The longest string, far above any chat template.
pub(super) const MAX_STRING: u64 = 16 << 20;

/// A metadata value. Strings and arrays point into the file.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Any integer type of the format.
    Integer(i128),
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// A boolean.
    Bool(bool),
    /// A string.
    Text(&'a str),
    /// An array of one element type.
    Array(Array<'a>),
}

/// An array, checked from end to end but not copied: a vocabulary stays in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Array<'a> {
    kind: Kind,
    count: usize,
    bytes: &'a [u8],
}

/// Types of values, as numbered by the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    Text,
    Array,
    U64,
    I64,
    F64,
}

impl Kind {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        const KINDS: [Kind; 13] = [
            Kind::U8,
            Kind::I8,
            Kind::U16,
            Kind::I16,
            Kind::U32,
            Kind::I32,
            Kind::F32,
            Kind::Bool,
            Kind::Text,
            Kind::Array,
            Kind::U64,
            Kind::I64,
            Kind::F64,
        ];
        let id = cursor.u32()?;
        let kind = usize::try_from(id).ok().and_then(|id| KINDS.get(id));
        kind.copied()
            .ok_or_else(|| cursor.fault(format!("value type {id}"), "a value type from 0 to 12"))
    }

    /// Bytes of one value; of strings and arrays the least.
    fn size(self) -> u64 {
        match self {
            Kind::U8 | Kind::I8 | Kind::Bool => 1,
            Kind::U16 | Kind::I16 => 2,
            Kind::U32 | Kind::I32 | Kind::F32 => 4,
            Kind::U64 | Kind::I64 | Kind::F64 | Kind::Text => 8,
            Kind::Array => 12,
        }
    }
}

impl<'a> Value<'a> {
    /// A type and the value behind it.
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let kind = Kind::read(cursor)?;
        Self::of(kind, cursor, 0)
    }

    fn of(kind: Kind, cursor: &mut Cursor<'a>, depth: usize) -> Result<Self, Fault> {
        Ok(match kind {
            Kind::U8 => Self::Integer(u8::from_le_bytes(cursor.array()?).into()),
            Kind::I8 => Self::Integer(i8::from_le_bytes(cursor.array()?).into()),
            Kind::U16 => Self::Integer(u16::from_le_bytes(cursor.array()?).into()),
            Kind::I16 => Self::Integer(i16::from_le_bytes(cursor.array()?).into()),
            Kind::U32 => Self::Integer(u32::from_le_bytes(cursor.array()?).into()),
            Kind::I32 => Self::Integer(i32::from_le_bytes(cursor.array()?).into()),
            Kind::U64 => Self::Integer(u64::from_le_bytes(cursor.array()?).into()),
            Kind::I64 => Self::Integer(i64::from_le_bytes(cursor.array()?).into()),
            Kind::F32 => Self::F32(f32::from_le_bytes(cursor.array()?)),
            Kind::F64 => Self::F64(f64::from_le_bytes(cursor.array()?)),
            Kind::Text => Self::Text(cursor.string(0..=MAX_STRING)?),
            Kind::Array => Self::Array(Array::read(cursor, depth)?),
            Kind::Bool => match cursor.array::<1>()? {
                [0] => Self::Bool(false),
                [1] => Self::Bool(true),
                [other] => return Err(cursor.fault(format!("boolean {other}"), "0 or 1")),
            },
        })
    }
}

impl<'a> Array<'a> {
    fn read(cursor: &mut Cursor<'a>, depth: usize) -> Result<Self, Fault> {
        if depth == MAX_DEPTH {
            let expected = format!("at most {MAX_DEPTH}");
            return Err(cursor.fault(
                format!("more than {MAX_DEPTH} arrays in one another"),
                expected,
            ));
        }
        let kind = Kind::read(cursor)?;
        let count = cursor.count("array elements", kind.size(), u64::MAX)?;
        let mut start = cursor.clone();
        match kind {
            Kind::Text => {
                for _ in 0..count {
                    cursor.string(0..=MAX_STRING)?;
                }
            }
            Kind::Array | Kind::Bool => {
                for _ in 0..count {
                    Value::of(kind, cursor, depth + 1)?;
                }
            }
            _ => drop(cursor.take(count * kind.size())?),
        }
        let bytes = start.take((cursor.position() - start.position()) as u64)?;
        Ok(Self {
            kind,
            // Not above the number of bytes that were left.
            count: usize::try_from(count).unwrap_or_default(),
            bytes,
        })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Its elements in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value<'a>> + use<'a> {
        let (kind, mut cursor) = (self.kind, Cursor::new(self.bytes, "an array"));
        // It was read once, so it reads again; an array that could not would give nulls of its kind.
        (0..self.count).map(move |_| Value::of(kind, &mut cursor, 0).unwrap_or(Value::Bool(false)))
    }

    /// Its elements where all of them are strings.
    pub fn texts(&self) -> Option<impl ExactSizeIterator<Item = &'a str> + use<'a>> {
        let text = |value| match value {
            Value::Text(text) => text,
            _ => "",
        };
        (self.kind == Kind::Text).then(|| self.iter().map(text))
    }
}
