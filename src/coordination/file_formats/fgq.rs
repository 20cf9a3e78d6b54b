//! Reads `.fgq.gz`: gzip of one line of JSON (`dom`, `scopes`, `scale`) and little-endian `i16`
//! tables in the order of the scopes, the last variable running fastest; payoff = integer / scale.

use super::problem::{MAX_ENTRIES, MAX_VALUES, Problem, table_size};
use crate::error::{Error, Result};
use flate2::read::GzDecoder;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The longest header line that is read.
const MAX_HEADER: u64 = 4 << 20;

#[derive(Deserialize)]
struct Header {
    format: String,
    scale: f64,
    dom: Vec<usize>,
    scopes: Vec<Vec<usize>>,
}

/// Reads one file.
pub(crate) fn read(path: &Path) -> Result<Problem> {
    let file = File::open(path).map_err(Error::file(path))?;
    let mut bytes = BufReader::new(GzDecoder::new(file));
    let mut line = Vec::new();
    let unpack =
        |e: std::io::Error| Error::format(path, None, format!("not a whole gzip file: {e}"));
    bytes.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line).map_err(unpack)?;
    let header: Header = serde_json::from_slice(&line)
        .map_err(|e| Error::format(path, Some(1), format!("not an fgq1 header: {e}")))?;
    let entries = check(path, &header)?;
    let mut data = Vec::new();
    let limit = 2 * entries as u64 + 1;
    bytes.take(limit).read_to_end(&mut data).map_err(unpack)?;
    if data.len() != 2 * entries {
        let held =
            if data.len() > 2 * entries { "more".into() } else { (data.len() / 2).to_string() };
        let message = format!("the header declares {entries} table entries, the file holds {held}");
        return Err(Error::format(path, Some(2), message));
    }
    let payoffs = data
        .as_chunks::<2>()
        .0
        .iter()
        .map(|&pair| f64::from(i16::from_le_bytes(pair)) / header.scale)
        .collect();
    Problem::new(path, &header.dom, &header.scopes, payoffs)
}

/// Refuses headers that cannot be right; returns how many entries all tables have.
fn check(path: &Path, header: &Header) -> Result<usize> {
    let refuse = |message: String| Err(Error::format(path, Some(1), message));
    if header.format != "fgq1" {
        return refuse(format!("format is `{}`, not `fgq1`", header.format));
    }
    if !(header.scale.is_finite() && header.scale > 0.0) {
        return refuse(format!("scale is {}; it must be positive", header.scale));
    }
    if header.dom.is_empty() || header.dom.contains(&0) {
        return refuse("`dom` must hold one positive action count per variable".into());
    }
    if header.dom.iter().any(|&n| n > MAX_VALUES.min(MAX_ENTRIES / header.dom.len())) {
        return refuse("the variables have too many values".into());
    }
    let mut total = 0;
    for scope in &header.scopes {
        if let Some(variable) = scope.iter().find(|&&v| v >= header.dom.len()) {
            return refuse(format!(
                "scope {scope:?} names variable {variable}, which is not declared"
            ));
        }
        let is_new = |(at, variable): (usize, &usize)| !scope[..at].contains(variable);
        if scope.is_empty() || !scope.iter().enumerate().all(is_new) {
            return refuse(format!("scope {scope:?} must name distinct variables"));
        }
        total += table_size(path, Some(1), &header.dom, scope)?;
        if total > MAX_ENTRIES {
            return refuse(format!("the tables have more than {MAX_ENTRIES} entries"));
        }
    }
    Ok(total)
}
