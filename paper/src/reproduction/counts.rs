//! Counts of single episodes as a short text: a digit or letter for each, `3(57)` for a run of equal ones.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt::Write as _;

/// Values below 62 by one sign; others stand in braces.
const SIGNS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Runs from this length on are written as such.
const SHORTEST_RUN: usize = 5;
/// Most counts that a text may stand for.
const MOST: usize = 1_000_000;

/// One count for each episode, in the order of the start states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub Vec<u32>);

impl Counts {
    /// The text that stands for them.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for run in self.0.chunk_by(|left, right| left == right) {
            let sign = SIGNS.get(run[0] as usize);
            let shown = sign.map_or_else(|| format!("{{{}}}", run[0]), |s| char::from(*s).into());
            if run.len() < SHORTEST_RUN {
                text += &shown.repeat(run.len());
            } else {
                let _ = write!(text, "{shown}({})", run.len());
            }
        }
        text
    }

    /// Reads such a text; says what is wrong with another.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut counts = vec![];
        let mut rest = text;
        while let Some(sign) = rest.chars().next() {
            let count = if sign == '{' {
                enclosed(&mut rest, '}')?
            } else {
                let place = SIGNS.iter().position(|known| char::from(*known) == sign);
                rest = &rest[sign.len_utf8()..];
                place.ok_or_else(|| format!("`{sign}` stands for no count"))? as u32
            };
            let n = if rest.starts_with('(') { enclosed(&mut rest, ')')? as usize } else { 1 };
            if n > MOST || counts.len() + n > MOST {
                return Err(format!("more than {MOST} counts"));
            }
            counts.extend(std::iter::repeat_n(count, n));
        }
        Ok(Self(counts))
    }
}

/// The number between the bracket that a text begins with and its partner, both taken off.
fn enclosed(rest: &mut &str, end: char) -> Result<u32, String> {
    let (number, after) =
        rest[1..].split_once(end).ok_or_else(|| format!("`{rest}` has no `{end}`"))?;
    *rest = after;
    number.parse().map_err(|_| format!("`{number}` is no count"))
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::rng::{Purpose, Streams};

    #[test]
    fn texts_are_short_and_read_back() {
        let counts = Counts([vec![3; 57], vec![2, 62, 61], vec![0; 5], vec![1125; 6]].concat());
        assert_eq!(counts.to_text(), "3(57)2{62}z0(5){1125}(6)");
        assert_eq!(Counts::parse(&counts.to_text()), Ok(counts));
        let mut rng = Streams::new(1).rng(Purpose::Problem, 0);
        for most in [1, 2, 11, 200] {
            let counts = Counts((0..300).map(|_| rng.below(most) as u32).collect());
            assert_eq!(Counts::parse(&counts.to_text()), Ok(counts));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, reason) in [
            ("3(", "no `)`"),
            ("3(x)", "no count"),
            ("{9", "no `}`"),
            ("3 2", "stands for no count"),
            ("0(4000000000)", "more than"),
            ("0(999999)0(999999)", "more than"),
            ("(3)", "stands for no count"),
        ] {
            let error = Counts::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
