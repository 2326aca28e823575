//! What does a JSON file say, and where exactly does it say something else?

use serde_json::Value;

use crate::ModelError;

/// A JSON object together with the path at which it stands, so that every error names the field.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    place: String,
    path: String,
    value: Value,
}

impl Fields {
    pub(crate) fn parse(place: String, bytes: &[u8]) -> Result<Self, ModelError> {
        match serde_json::from_slice(bytes) {
            Ok(value @ Value::Object(_)) => Ok(Self {
                place,
                path: String::new(),
                value,
            }),
            Ok(other) => Err(ModelError::Config {
                place,
                field: "the file".into(),
                found: kind(&other).into(),
                expected: "an object".into(),
            }),
            Err(source) => Err(ModelError::Json { place, source }),
        }
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    fn at(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.into()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    /// The value of a field; `null` counts as absent, as transformers writes it.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.value.get(name).filter(|v| !v.is_null())
    }

    /// All fields of the object.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.value.as_object().into_iter().flatten()
    }

    /// An error about field `name`.
    pub(crate) fn refuse(
        &self,
        name: &str,
        found: impl std::fmt::Display,
        expected: impl Into<String>,
    ) -> ModelError {
        ModelError::Config {
            place: self.place.clone(),
            field: self.at(name),
            found: found.to_string(),
            expected: expected.into(),
        }
    }

    fn need<'a, T>(
        &'a self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, ModelError> {
        let Some(value) = self.get(name) else {
            return Err(self.refuse(name, "nothing", expected));
        };
        read(value).ok_or_else(|| self.refuse(name, value, expected))
    }

    pub(crate) fn object(&self, name: &str) -> Result<Fields, ModelError> {
        let value = self.need(name, "an object", |v| v.is_object().then_some(v))?;
        Ok(Self {
            place: self.place.clone(),
            path: self.at(name),
            value: value.clone(),
        })
    }

    /// A count between 1 and 2^31.
    pub(crate) fn count(&self, name: &str) -> Result<usize, ModelError> {
        self.need(name, "a whole number from 1 to 2147483647", |v| {
            let n = v.as_u64().filter(|n| (1..1 << 31).contains(n))?;
            usize::try_from(n).ok()
        })
    }

    pub(crate) fn id(&self, name: &str) -> Result<u32, ModelError> {
        self.need(name, "a token id", |v| {
            v.as_u64().and_then(|n| u32::try_from(n).ok())
        })
    }

    pub(crate) fn positive(&self, name: &str) -> Result<f64, ModelError> {
        self.need(name, "a positive number", |v| {
            v.as_f64().filter(|n| n.is_finite() && *n > 0.0)
        })
    }

    pub(crate) fn counts(&self, name: &str) -> Result<Vec<usize>, ModelError> {
        self.need(name, "a list of whole numbers from 0", |v| {
            v.as_array()?
                .iter()
                .map(|n| n.as_u64().and_then(|n| usize::try_from(n).ok()))
                .collect()
        })
    }

    /// A switch; `absent` where the file does not say.
    pub(crate) fn flag(&self, name: &str, absent: bool) -> Result<bool, ModelError> {
        match self.get(name) {
            None => Ok(absent),
            Some(_) => self.need(name, "true or false", Value::as_bool),
        }
    }

    /// Refuses any value but `allowed`; an absent field is refused unless `optional`.
    pub(crate) fn only(
        &self,
        name: &str,
        allowed: &Value,
        optional: bool,
    ) -> Result<(), ModelError> {
        match self.get(name) {
            None if optional => Ok(()),
            Some(value) if value == allowed => Ok(()),
            Some(value) => Err(self.refuse(name, value, allowed.to_string())),
            None => Err(self.refuse(name, "nothing", allowed.to_string())),
        }
    }

    /// One token id, a list of them, or none.
    pub(crate) fn ids(&self, name: &str) -> Result<Vec<u32>, ModelError> {
        let id = |v: &Value| v.as_u64().and_then(|n| u32::try_from(n).ok());
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        match value {
            Value::Array(list) => list.iter().map(id).collect(),
            one => id(one).map(|n| vec![n]),
        }
        .ok_or_else(|| self.refuse(name, value, "a token id or a list of them"))
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
