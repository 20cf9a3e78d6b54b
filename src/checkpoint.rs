//! What a run needs to go on exactly where it stopped: named arrays and a small tree of numbers.

use crate::error::{Error, Result};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// The numbers of one saved array.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// Single precision.
    F32(Vec<f32>),
    /// Bytes.
    U8(Vec<u8>),
}

/// A named array with its sizes, outermost first.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedTensor {
    /// Name, such as `online.trunk.0.weight`.
    pub name: String,
    /// Sizes.
    pub shape: Vec<usize>,
    /// Numbers.
    pub array: Array,
}

/// Everything of one moment of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// Arrays, in the order they were saved.
    pub tensors: Vec<SavedTensor>,
    /// Counters, random streams and other small things.
    pub state: Map<String, Value>,
}

impl Checkpoint {
    /// Adds an array of single-precision numbers.
    pub fn put_f32(&mut self, name: impl Into<String>, shape: &[usize], numbers: &[f32]) {
        let array = Array::F32(numbers.to_vec());
        self.tensors.push(SavedTensor { name: name.into(), shape: shape.to_vec(), array });
    }

    /// Adds an array of bytes.
    pub fn put_u8(&mut self, name: impl Into<String>, bytes: &[u8]) {
        let (shape, array) = (vec![bytes.len()], Array::U8(bytes.to_vec()));
        self.tensors.push(SavedTensor { name: name.into(), shape, array });
    }

    /// Adds a small value.
    pub fn put(&mut self, key: &str, value: impl Serialize) {
        // A number that is not finite has no JSON form and becomes null, which `get` then refuses.
        self.state.insert(key.into(), serde_json::to_value(value).unwrap_or(Value::Null));
    }

    /// An array of `len` numbers by name.
    pub fn f32(&self, name: &str, len: Option<usize>) -> Result<&[f32]> {
        match self.tensors.iter().find(|t| t.name == name).map(|t| &t.array) {
            Some(Array::F32(numbers)) if len.is_none_or(|len| len == numbers.len()) => Ok(numbers),
            Some(Array::F32(numbers)) => Err(foreign(&format!(
                "`{name}` has {} numbers where this configuration needs {}",
                numbers.len(),
                len.unwrap_or_default()
            ))),
            _ => Err(foreign(&format!("it holds no numbers named `{name}`"))),
        }
    }

    /// An array of bytes by name.
    pub fn u8(&self, name: &str) -> Result<&[u8]> {
        match self.tensors.iter().find(|t| t.name == name).map(|t| &t.array) {
            Some(Array::U8(bytes)) => Ok(bytes),
            _ => Err(foreign(&format!("it holds no bytes named `{name}`"))),
        }
    }

    /// A small value by key.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        let value = self.state.get(key).cloned().unwrap_or(Value::Null);
        serde_json::from_value(value)
            .map_err(|error| foreign(&format!("its entry `{key}` is unusable ({error})")))
    }
}

/// The checkpoint is not one of this configuration.
pub fn foreign(what: &str) -> Error {
    Error::Refused(format!("the checkpoint does not fit: {what}"))
}
