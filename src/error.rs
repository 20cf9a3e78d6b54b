//! What a user can cause: every mistake of theirs is a variant here, named with file, key and value.

use std::path::PathBuf;

/// A user's mistake, or something outside the program that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting has a value that cannot work.
    #[error("invalid value for `{key}`: {value} ({reason})")]
    Setting {
        /// The configuration key.
        key: String,
        /// What was given.
        value: String,
        /// What would work.
        reason: String,
    },
    /// A short key that could mean several settings.
    #[error("`{key}` could mean {}: write the whole name", places.iter().map(|place| format!("`{place}`")).collect::<Vec<_>>().join(" or "))]
    AmbiguousKey {
        /// What was given.
        key: String,
        /// The whole names of what it could mean.
        places: Vec<String>,
    },
    /// A configuration key that does not exist.
    #[error("unknown key `{key}`{}", suggestion.as_ref().map_or(String::new(), |s| format!("; did you mean `{s}`?")))]
    UnknownKey {
        /// What was given.
        key: String,
        /// The nearest key that exists.
        suggestion: Option<String>,
    },
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file whose content is not what it should be.
    #[error("{}{}: {message}", path.display(), line.map_or(String::new(), |l| format!(":{l}")))]
    Format {
        /// Which file.
        path: PathBuf,
        /// The line, where the file has lines.
        line: Option<usize>,
        /// What is wrong with it.
        message: String,
    },
    /// A run that another process is writing.
    #[error("{} is being written by another cgcmarl", .0.display())]
    Busy(PathBuf),
    /// A state that the program must not touch, such as a run directory that exists.
    #[error("{0}")]
    Refused(String),
    /// Learning produced a number that is not finite.
    #[error(
        "training diverged at step {step}: {what} is {value}; the last good checkpoint is kept"
    )]
    Diverged {
        /// Environment step.
        step: u64,
        /// Which quantity.
        what: String,
        /// Its value.
        value: f32,
    },
}

/// The result of everything that a user can make fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A setting that cannot work.
    #[expect(clippy::needless_pass_by_value, reason = "callers hand over numbers and words alike")]
    pub fn setting(key: &str, value: impl ToString, reason: impl Into<String>) -> Self {
        Self::Setting { key: key.into(), value: value.to_string(), reason: reason.into() }
    }

    /// A file that cannot be read or written; for `map_err`.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    /// A file whose content is wrong.
    pub fn format(
        path: impl Into<PathBuf>,
        line: Option<usize>,
        message: impl Into<String>,
    ) -> Self {
        Self::Format { path: path.into(), line, message: message.into() }
    }
}

/// A number as it is written, so that one in single precision compares as users mean it.
fn written(value: impl std::fmt::Display) -> f64 {
    value.to_string().parse().unwrap_or(f64::NAN)
}

/// Refuses a number outside a range, ends included; what is no number lies outside every range.
pub(crate) fn within(
    key: &str,
    value: impl std::fmt::Display + Copy,
    range: std::ops::RangeInclusive<f64>,
) -> Result<()> {
    if range.contains(&written(value)) {
        return Ok(());
    }
    let reason = format!("must be from {} to {}", range.start(), range.end());
    Err(Error::setting(key, value, reason))
}

/// Refuses a number that is not above zero, or above the most that makes sense.
pub(crate) fn positive(key: &str, value: impl std::fmt::Display + Copy, most: f64) -> Result<()> {
    if written(value) > 0.0 && written(value) <= most {
        return Ok(());
    }
    Err(Error::setting(key, value, format!("must be above 0 and at most {most}")))
}

/// Refuses a whole number outside a range, ends included.
pub(crate) fn count(key: &str, value: u64, range: std::ops::RangeInclusive<u64>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let reason = format!("must be from {} to {}", range.start(), range.end());
    Err(Error::setting(key, value, reason))
}

/// The most similar of some names, where it is similar at all.
pub(crate) fn closest<'a>(names: impl Iterator<Item = &'a str>, wanted: &str) -> Option<String> {
    names
        .map(|name| (strsim::jaro_winkler(name, wanted), name))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_range_are_inside_in_either_precision() {
        for end in [1e30, 0.1, 1e-8] {
            assert!(within("x", end as f32, end..=end).is_ok(), "{end}");
            assert!(within("x", end, end..=end).is_ok(), "{end}");
            assert!(positive("x", end as f32, end).is_ok(), "{end}");
            assert!(positive("x", (end as f32).next_up(), end).is_err(), "{end}");
        }
        assert!(within("x", f32::NAN, 0.0..=1.0).is_err());
        assert!(positive("x", f32::INFINITY, 1e30).is_err());
    }
}
