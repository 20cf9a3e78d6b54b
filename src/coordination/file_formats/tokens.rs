//! Words of a text file with the line they stand on.

use crate::error::{Error, Result};
use std::path::Path;

/// Reads words one after the other; every error names the file and the line.
pub(crate) struct Tokens<'a> {
    path: &'a Path,
    rest: &'a str,
    line: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(path: &'a Path, bytes: &'a [u8]) -> Result<Self> {
        let rest = std::str::from_utf8(bytes).map_err(|error| {
            let line = 1 + bytes[..error.valid_up_to()].split(|&b| b == b'\n').skip(1).count();
            Error::format(path, Some(line), "not a text file")
        })?;
        Ok(Self { path, rest, line: 1 })
    }

    pub(crate) fn path(&self) -> &'a Path {
        self.path
    }

    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// An error at the current line.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::format(self.path, Some(self.line), message)
    }

    fn next(&mut self) -> Option<&'a str> {
        let trimmed = self.rest.trim_start();
        let skipped = &self.rest[..self.rest.len() - trimmed.len()];
        self.line += skipped.matches('\n').count();
        let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
        let (word, rest) = trimmed.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The next word.
    pub(crate) fn word(&mut self, what: &str) -> Result<&'a str> {
        self.next().ok_or_else(|| self.error(format!("the file ends before {what}")))
    }

    /// The next word as a whole number.
    pub(crate) fn integer(&mut self, what: &str) -> Result<usize> {
        let word = self.word(what)?;
        word.parse()
            .map_err(|_| self.error(format!("{what} is `{}`, not a whole number", cut(word))))
    }

    /// The next word as a number of things that the rest of the file must still hold.
    pub(crate) fn count(&mut self, what: &str) -> Result<usize> {
        let count = self.integer(&format!("the number of {what}"))?;
        // Each thing takes a character and a space.
        if count > self.rest.len() / 2 + 1 {
            return Err(self.error(format!("{count} {what} are declared; the file is too short")));
        }
        Ok(count)
    }

    /// The next word as a number.
    pub(crate) fn number(&mut self, what: &str) -> Result<f64> {
        let word = self.word(what)?;
        word.parse().map_err(|_| self.error(format!("{what} is `{}`, not a number", cut(word))))
    }

    pub(crate) fn remaining_words(&self) -> usize {
        self.rest.split_whitespace().count()
    }

    /// Refuses anything that is left.
    pub(crate) fn finish(&mut self) -> Result<()> {
        match self.next() {
            Some(word) => Err(self.error(format!("`{}` stands after the end", cut(word)))),
            None => Ok(()),
        }
    }
}

/// The first characters of a word, for a message.
fn cut(word: &str) -> &str {
    let end = word.char_indices().nth(24).map_or(word.len(), |(at, _)| at);
    &word[..end]
}
