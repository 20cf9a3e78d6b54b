//! Several team sizes in one key: `agents=2..6` or `agents=2,3,6`.

use crate::error::{Error, Result};
use toml::{Table, Value};

/// The key that names the team's size, short and whole.
const KEYS: [&str; 2] = ["agents", "environment.agents"];

/// Replaces several sizes in a file and in overrides by the largest, and names all as `teams`.
pub(super) fn spread(file: &mut Table, overrides: &mut Vec<(String, String)>) -> Result<()> {
    let environment = file.get_mut("environment").and_then(Value::as_table_mut);
    if let Some(value) = environment.and_then(|table| table.get_mut("agents")) {
        let text = match &*value {
            Value::String(text) => Some(text.clone()),
            Value::Array(sizes) => {
                Some(sizes.iter().map(Value::to_string).collect::<Vec<_>>().join(","))
            }
            _ => None,
        };
        if let Some(text) = text {
            let sizes = sizes("environment.agents", &text)?;
            *value = Value::Integer(largest(&sizes));
            let training = file.entry("training").or_insert_with(|| Table::new().into());
            if let Some(training) = training.as_table_mut() {
                training.insert(
                    "teams".into(),
                    Value::Array(sizes.into_iter().map(Value::Integer).collect()),
                );
            }
        }
    }
    let is_list = |text: &str| text.contains("..") || text.contains(',') || text.contains('[');
    let mut teams = Vec::new();
    for (key, text) in overrides.iter_mut().filter(|(key, _)| KEYS.contains(&key.as_str())) {
        if is_list(text) {
            let sizes = sizes(key, text)?;
            *text = largest(&sizes).to_string();
            teams.push(("teams".to_owned(), format!("{sizes:?}")));
        }
    }
    overrides.append(&mut teams);
    Ok(())
}

fn largest(sizes: &[i64]) -> i64 {
    sizes.iter().copied().max().unwrap_or_default()
}

/// The sizes that a text names: both ends of a range belong to it.
fn sizes(key: &str, text: &str) -> Result<Vec<i64>> {
    let number =
        |text: &str| text.trim().parse::<i64>().ok().filter(|n| (0..=1_000_000).contains(n));
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let sizes: Option<Vec<i64>> = match inner.split_once("..") {
        Some((low, high)) => {
            number(low).zip(number(high)).map(|(low, high)| (low..=high).collect())
        }
        None => inner.split(',').map(number).collect(),
    };
    let mut sizes = sizes.filter(|sizes| !sizes.is_empty()).ok_or_else(|| {
        let reason = "must be a team size, a range such as 2..6 or a list such as 2,3,6";
        Error::setting(key, text, reason)
    })?;
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}
