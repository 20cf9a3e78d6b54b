//! A checkpoint: named tensors and a state in one safetensors file that vouches for itself.
//!
//! The header's metadata holds the entry `cgcmarl`: eight hexadecimal digits of CRC-32 and the
//! JSON text they cover, which in turn holds the CRC-32 of every tensor. A model's holds more entries,
//! for readers who know nothing of this program.

pub mod atomic;
mod tensors;
#[cfg(test)]
mod tests;

pub use tensors::{Element, Tensor, Values};

use crate::error::{Error, Result};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

const METADATA_KEY: &str = "cgcmarl";
const VERSION: u32 = 1;
/// The largest whole number that every reader of JSON keeps.
const MOST_COUNTED: u64 = 1 << 53;

/// Everything needed to go on: arrays by name, and the rest as JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint<'a> {
    /// Environment steps so far.
    pub step: u64,
    /// Counters, random streams, multipliers: whatever is not an array.
    pub state: serde_json::Value,
    /// Lengths of the logs when it was taken; later lines are cut off on resume.
    pub logs: BTreeMap<String, u64>,
    /// CRC-32 of that part of each log that holds no time; older checkpoints have none.
    pub log_crc32: BTreeMap<String, u32>,
    /// What any reader of such files finds in the header, by name; nothing here is read back.
    pub about: BTreeMap<String, String>,
    tensors: Vec<Tensor<'a>>,
    source: PathBuf,
}

/// The part of a checkpoint that travels in the file's header.
#[derive(Serialize, Deserialize)]
struct Seal {
    version: u32,
    step: u64,
    state: serde_json::Value,
    logs: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    log_crc32: BTreeMap<String, u32>,
    crc32: BTreeMap<String, u32>,
}

impl<'a> Checkpoint<'a> {
    /// A checkpoint without tensors yet.
    pub fn new(step: u64, state: serde_json::Value) -> Self {
        Self { step, state, source: "checkpoint".into(), ..Self::default() }
    }

    /// Adds a tensor; borrowed values are written without a copy of their own.
    pub fn push<T: Element>(
        &mut self,
        name: impl Into<String>,
        shape: &[usize],
        values: impl Into<Cow<'a, [T]>>,
    ) {
        let (name, values) = (name.into(), T::wrap(values.into()));
        assert_eq!(shape.iter().product::<usize>(), values.len(), "shape {shape:?} of `{name}`");
        assert!(self.find(&name).is_none(), "tensor `{name}` is there already");
        self.tensors.push(Tensor { name, shape: shape.to_vec(), values });
    }

    /// All tensors, in the order of the file or of their pushing.
    pub fn tensors(&self) -> &[Tensor<'a>] {
        &self.tensors
    }

    /// The file it was read from.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// A tensor's numbers; an error names the file and the tensor.
    pub fn get<T: Element>(&self, name: &str) -> Result<&[T]> {
        let tensor =
            self.find(name).ok_or_else(|| self.mismatch(&format!("has no tensor `{name}`")))?;
        T::unwrap(&tensor.values).map(AsRef::as_ref).ok_or_else(|| {
            let found = tensor.values.type_name();
            self.mismatch(&format!("holds `{name}` as {found}, not {}", T::NAME))
        })
    }

    /// A tensor's numbers where it has exactly this shape.
    pub fn get_shaped<T: Element>(&self, name: &str, shape: &[usize]) -> Result<&[T]> {
        let values = self.get(name)?;
        let found = self.find(name).map_or(&[][..], |tensor| &tensor.shape);
        if found != shape {
            return Err(self.mismatch(&format!(
                "holds `{name}` with shape {found:?}, but this configuration needs {shape:?}"
            )));
        }
        Ok(values)
    }

    /// Adds an entry to the state.
    pub fn set(&mut self, key: &str, value: impl Serialize) {
        // A value without a JSON form becomes null, which `entry` then refuses by name.
        self.state[key] = serde_json::to_value(value).unwrap_or_default();
    }

    /// An entry of the state.
    pub fn entry<S: serde::de::DeserializeOwned>(&self, key: &str) -> Result<S> {
        S::deserialize(&self.state[key])
            .map_err(|error| self.mismatch(&format!("has an unusable entry `{key}`: {error}")))
    }

    /// An entry of the state that counts something; no training counts beyond 2^53.
    pub fn count(&self, key: &str) -> Result<u64> {
        let count = self.entry(key)?;
        if count > MOST_COUNTED {
            return Err(self.mismatch(&format!("counts {count} in `{key}`, which cannot be")));
        }
        Ok(count)
    }

    /// The first tensor with a number that is NaN or infinite, and that number.
    pub fn not_finite(&self) -> Option<(&str, f64)> {
        let mut found = self.tensors.iter().map(|tensor| (&*tensor.name, &tensor.values));
        found.find_map(|(name, values)| Some((name, values.not_finite()?)))
    }

    fn find(&self, name: &str) -> Option<&Tensor<'a>> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// An error that names the file: the checkpoint `what`.
    pub fn mismatch(&self, what: &str) -> Error {
        Error::format(&self.source, None, format!("the checkpoint {what}"))
    }

    /// Writes the file whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let seal = Seal {
            version: VERSION,
            step: self.step,
            state: self.state.clone(),
            logs: self.logs.clone(),
            log_crc32: self.log_crc32.clone(),
            crc32: self
                .tensors
                .iter()
                .map(|tensor| (tensor.name.clone(), crc32fast::hash(tensor.values.bytes())))
                .collect(),
        };
        let broken = |error: &dyn std::fmt::Display| Error::format(path, None, error.to_string());
        let text = serde_json::to_string(&seal).map_err(|error| broken(&error))?;
        let sealed = format!("{:08x}{text}", crc32fast::hash(text.as_bytes()));
        let metadata = Some([(METADATA_KEY.to_owned(), sealed)].into());
        let tensors = self.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor));
        let bytes = safetensors::serialize(tensors, metadata).map_err(|error| broken(&error))?;
        atomic::write(path, &with_entries(bytes, &self.about))
    }

    /// A number that tells models apart: CRC-32 of the steps and all tensors.
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.step.to_le_bytes());
        for tensor in &self.tensors {
            hasher.update(tensor.name.as_bytes());
            hasher.update(tensor.values.bytes());
        }
        hasher.finalize()
    }
}

/// How a header begins that has an entry.
const HEADER_START: &str = r#"{"__metadata__":{"#;

/// A file with further entries in its header, in the order of their names: the library that writes
/// such files would mix them up anew each time.
fn with_entries(file: Vec<u8>, entries: &BTreeMap<String, String>) -> Vec<u8> {
    if entries.is_empty() {
        return file;
    }
    let (length, rest) = file.split_at(8);
    let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    let (header, tensors) = rest.split_at(length);
    let Some(after) = header.strip_prefix(HEADER_START.as_bytes()) else { return file };
    let mut longer = HEADER_START.as_bytes().to_vec();
    for (name, text) in entries {
        let (name, text) = (serde_json::Value::from(&**name), serde_json::Value::from(&**text));
        longer.extend(format!("{name}:{text},").bytes());
    }
    longer.extend(after.trim_ascii_end());
    // Tensors begin at a multiple of eight.
    longer.resize(longer.len().next_multiple_of(8), b' ');
    let mut whole = (longer.len() as u64).to_le_bytes().to_vec();
    whole.extend(longer);
    whole.extend(tensors);
    whole
}

impl Checkpoint<'static> {
    /// Reads a file, refusing one that is truncated, damaged or not ours.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(Error::file(path))?;
        Self::parse(path, &bytes).map_err(|message| Error::format(path, None, message))
    }

    fn parse(path: &Path, bytes: &[u8]) -> std::result::Result<Self, String> {
        let damaged = |what: &dyn std::fmt::Display| {
            format!("not a whole safetensors file ({what}); it was truncated or is something else")
        };
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| damaged(&error))?;
        let file = SafeTensors::deserialize(bytes).map_err(|error| damaged(&error))?;
        let sealed = metadata
            .metadata()
            .as_ref()
            .and_then(|entries| entries.get(METADATA_KEY))
            .ok_or("a safetensors file, but not a checkpoint of cgcmarl")?;
        let seal = open_seal(sealed)?;
        let about = metadata.metadata().iter().flatten();
        let about = about.filter(|(name, _)| *name != METADATA_KEY);
        let tensors: Vec<_> = metadata
            .offset_keys()
            .iter()
            .map(|name| tensor(&file, name, &seal))
            .collect::<std::result::Result<_, _>>()?;
        if let Some(name) = seal.crc32.keys().find(|name| !tensors.iter().any(|t| &t.name == *name))
        {
            return Err(format!("damaged: tensor `{name}` is missing"));
        }
        Ok(Self {
            step: seal.step,
            state: seal.state,
            logs: seal.logs,
            log_crc32: seal.log_crc32,
            about: about.map(|(name, text)| (name.clone(), text.clone())).collect(),
            tensors,
            source: path.into(),
        })
    }
}

fn open_seal(sealed: &str) -> std::result::Result<Seal, String> {
    let damaged = || "damaged: the checksum of its state does not match".to_owned();
    let (digits, text) = sealed.split_at_checked(8).ok_or_else(damaged)?;
    if u32::from_str_radix(digits, 16) != Ok(crc32fast::hash(text.as_bytes())) {
        return Err(damaged());
    }
    let seal: Seal = serde_json::from_str(text)
        .map_err(|error| format!("written by another version of cgcmarl: {error}"))?;
    if seal.version != VERSION {
        let version = seal.version;
        return Err(format!("checkpoint version {version}; this program reads version {VERSION}"));
    }
    Ok(seal)
}

fn tensor(
    file: &SafeTensors,
    name: &str,
    seal: &Seal,
) -> std::result::Result<Tensor<'static>, String> {
    let view = file.tensor(name).map_err(|error| error.to_string())?;
    if seal.crc32.get(name) != Some(&crc32fast::hash(view.data())) {
        return Err(format!("damaged: the checksum of tensor `{name}` does not match"));
    }
    let values = Values::from_bytes(view.dtype(), view.data())
        .ok_or_else(|| format!("tensor `{name}` has type {:?}, which is not ours", view.dtype()))?;
    if let Some(number) = values.not_finite() {
        return Err(format!("tensor `{name}` holds {number}; no training leaves that"));
    }
    Ok(Tensor { name: name.into(), shape: view.shape().to_vec(), values })
}
