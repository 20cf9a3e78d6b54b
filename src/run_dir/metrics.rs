//! Lines of metrics: their numbers by name, and all of them as one table.

use crate::error::{Error, Result};
use serde_json::Value;
use std::{fmt::Write as _, path::Path};

/// The JSON value of every line.
pub(super) fn parse(path: &Path, text: &str) -> Result<Vec<Value>> {
    let parse_line = |(index, line)| {
        serde_json::from_str(line)
            .map_err(|error| Error::format(path, Some(index + 1), error.to_string()))
    };
    text.lines().enumerate().map(parse_line).collect()
}

/// Every number of a line with its name; those of an object inside it as `object/name`.
pub fn numbers(line: &Value) -> Vec<(String, f64)> {
    let mut found = vec![];
    collect("", line, &mut found);
    found
}

fn collect(name: &str, value: &Value, found: &mut Vec<(String, f64)>) {
    let join = |part: &str| if name.is_empty() { part.into() } else { format!("{name}/{part}") };
    match value {
        Value::Number(number) => found.extend(number.as_f64().map(|number| (name.into(), number))),
        Value::Object(entries) => {
            for (key, entry) in entries {
                collect(&join(key), entry, found);
            }
        }
        Value::Array(entries) => {
            for (index, entry) in entries.iter().enumerate() {
                collect(&join(&index.to_string()), entry, found);
            }
        }
        _ => {}
    }
}

/// A table of all lines, with one column per name in the order of first appearance.
pub(super) fn to_csv(lines: &[Value]) -> String {
    let rows: Vec<_> = lines.iter().map(numbers).collect();
    let mut columns: Vec<&str> = vec![];
    for (name, _) in rows.iter().flatten() {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let mut csv = columns.join(",") + "\n";
    for row in &rows {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| row.iter().find(|(name, _)| name == column))
            .map(|cell| cell.map_or(String::new(), |(_, number)| number.to_string()))
            .collect();
        let _ = writeln!(csv, "{}", cells.join(","));
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_found_inside_objects_and_lists() {
        let line = json!({"step": 5, "loss": {"primary": 0.5, "cost": [1.0, 2.0]}, "note": "x", "gone": null});
        let names: Vec<_> = numbers(&line).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["step", "loss/primary", "loss/cost/0", "loss/cost/1"]);
    }

    #[test]
    fn a_number_that_is_missing_leaves_its_cell_empty() {
        let lines = [json!({"step": 1, "loss": 2.5}), json!({"step": 2, "coverage": 0.5})];
        assert_eq!(to_csv(&lines), "step,loss,coverage\n1,2.5,\n2,,0.5\n");
    }

    #[test]
    fn a_broken_line_is_named_by_its_number() {
        let error = parse(Path::new("metrics.jsonl"), "{}\n{\"a\"").unwrap_err().to_string();
        assert!(error.starts_with("metrics.jsonl:2: "), "{error}");
    }
}
