//! A tree of settings: files merged into it, single values set by name.

use crate::error::{Error, Result, closest};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Takes a group of settings out of a tree; an empty one where it is not there.
pub(super) fn take_table(tree: &mut Table, key: &str) -> Table {
    match tree.remove(key) {
        Some(Value::Table(table)) => table,
        _ => Table::new(),
    }
}

/// Puts one tree over another, key by key.
pub(super) fn overlay(tree: &mut Table, over: &Table) {
    for (key, value) in over {
        match (tree.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(given)) => overlay(inner, given),
            _ => drop(tree.insert(key.clone(), value.clone())),
        }
    }
}

/// Puts a file's values over a tree; a key that the tree cannot have is an error.
pub(super) fn merge(tree: &mut Table, file: &Table, optional: &[String]) -> Result<()> {
    merge_below(tree, file, optional, "")
}

fn merge_below(tree: &mut Table, file: &Table, optional: &[String], path: &str) -> Result<()> {
    for (key, value) in file {
        let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (tree.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(given)) => {
                merge_below(inner, given, optional, &full)?;
            }
            (None, _) if !optional.contains(&full) && !is_open(&full) => {
                return Err(Error::UnknownKey {
                    key: full.clone(),
                    suggestion: closest(tree.keys().map(String::as_str), key),
                });
            }
            (Some(before), value) if !is_open(&full) => {
                let value = convert(&full, value, before)?;
                tree.insert(key.clone(), value);
            }
            (_, value) => drop(tree.insert(key.clone(), value.clone())),
        }
    }
    Ok(())
}

/// Whether a group takes keys of the task's own, such as the names of constraints.
fn is_open(path: &str) -> bool {
    path == "evaluation.grid" || path.starts_with("evaluation.grid.") || path.contains(".penalty.")
}

/// A file's value as the kind that stood there, where that is only a matter of writing.
fn convert(key: &str, value: &Value, before: &Value) -> Result<Value> {
    match (before, value) {
        (Value::Float(_), Value::Integer(number)) => Ok(Value::Float(*number as f64)),
        (before, value) if before.same_type(value) => Ok(value.clone()),
        (before, value) => Err(wrong_kind(key, &value.to_string(), before)),
    }
}

fn wrong_kind(key: &str, text: &str, before: &Value) -> Error {
    let kind = match before {
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list",
        Value::Table(_) => "a group of settings",
        Value::String(_) | Value::Datetime(_) => "a word",
    };
    Error::setting(key, text, format!("must be {kind}, such as {before}"))
}

/// Groups of one kind: a name that stands in several of them is set in all of them.
const TWINS: [&str; 2] = ["coordination", "acting"];

/// Sets one value. A key may be a whole path or a last name; a name that stands in both coordinators
/// (such as `damping`, of training and of acting) is set in both, any other must be whole.
pub(super) fn set(tree: &mut Table, key: &str, text: &str, optional: &[String]) -> Result<()> {
    let all = paths(tree, optional);
    let whole = all.iter().any(|path| path == key);
    let named = |path: &&String| *path == key || (!whole && path.ends_with(&format!(".{key}")));
    let mut found: Vec<String> = all.iter().filter(named).cloned().collect();
    if found.is_empty() {
        found.extend(open_path(tree, key));
    }
    if found.is_empty() {
        let names = all.iter().map(|path| path.rsplit('.').next().unwrap_or(path));
        let wanted = key.rsplit('.').next().unwrap_or(key);
        return Err(Error::UnknownKey { key: key.into(), suggestion: closest(names, wanted) });
    }
    if found.len() > 1 && !found.iter().all(|path| is_twin(path)) {
        return Err(Error::AmbiguousKey { key: key.into(), places: found });
    }
    for path in found {
        let mut place = &mut *tree;
        let (folders, last) = path.rsplit_once('.').unwrap_or(("", &path));
        for folder in folders.split('.').filter(|folder| !folder.is_empty()) {
            let entry = place.entry(folder).or_insert_with(|| Value::Table(Table::new()));
            place = match entry {
                Value::Table(inner) => inner,
                _ => return Err(Error::setting(key, text, "is not a group of settings")),
            };
        }
        let before = place.get(last).filter(|_| !is_open(&path));
        let value = parse_value(key, text, before)?;
        place.insert(last.into(), value);
    }
    Ok(())
}

/// Whether a value belongs to one of the groups of one kind.
fn is_twin(path: &str) -> bool {
    path.rsplit('.').nth(1).is_some_and(|group| TWINS.contains(&group))
}

/// Where a key such as `penalty.collision` belongs: into the group of that name.
fn open_path(tree: &Table, key: &str) -> Option<String> {
    let (group, name) = key.rsplit_once('.')?;
    if group == "grid" || group == "evaluation.grid" {
        return Some(format!("evaluation.grid.{name}"));
    }
    let mut groups = Vec::new();
    walk(tree, "", &mut |path, value| {
        if value.is_table() && (path == group || path.ends_with(&format!(".{group}"))) {
            groups.push(path.to_owned());
        }
    });
    let path = format!("{}.{name}", groups.first()?);
    is_open(&path).then_some(path)
}

/// A value as TOML writes it; a bare word is a string. It must be of the kind that stood there.
fn parse_value(key: &str, text: &str, before: Option<&Value>) -> Result<Value> {
    let parsed = toml::from_str::<Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.into()));
    match (before, &parsed) {
        (Some(Value::Float(_)), Value::Integer(number)) => Ok(Value::Float(*number as f64)),
        (Some(Value::Integer(_)), Value::Float(number))
            if number.fract() == 0.0 && number.abs() < 1e15 =>
        {
            Ok(Value::Integer(*number as i64))
        }
        (Some(Value::Array(_)), Value::Array(_)) | (None, _) => Ok(parsed),
        (Some(Value::Array(before)), _) => {
            let parts = text.split(',').map(|part| parse_value(key, part.trim(), before.first()));
            parts.collect::<Result<_>>().map(Value::Array)
        }
        (Some(before), parsed) if !before.same_type(parsed) => Err(wrong_kind(key, text, before)),
        _ => Ok(parsed),
    }
}

/// The whole path of every value, optional ones included.
fn paths(tree: &Table, optional: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    walk(tree, "", &mut |path, value| {
        if !value.is_table() {
            all.push(path.to_owned());
        }
    });
    for path in optional {
        if !all.contains(path) {
            all.push(path.clone());
        }
    }
    all
}

/// The first setting, by name, that two trees do not have alike, with the value of each; not below `except`.
pub(super) fn difference(tree: &Table, other: &Table, except: &[&str]) -> Option<String> {
    let values = |tree: &Table| {
        let mut all = BTreeMap::new();
        walk(tree, "", &mut |path, value| {
            let left_out = except.iter().any(|key| {
                path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            });
            if !value.is_table() && !left_out {
                all.insert(path.to_owned(), value.to_string());
            }
        });
        all
    };
    let (found, wanted) = (values(tree), values(other));
    let mut keys = found.keys().chain(wanted.keys());
    let key = keys.find(|key| found.get(*key) != wanted.get(*key))?;
    let shown = |values: &BTreeMap<_, _>| values.get(key).map_or("nothing".into(), String::clone);
    Some(format!("`{key}` is {}, not {}", shown(&found), shown(&wanted)))
}

/// Visits every value of a tree with its whole path.
fn walk(tree: &Table, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
    for (key, value) in tree {
        let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        visit(&full, value);
        if let Value::Table(inner) = value {
            walk(inner, &full, visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named_with_both_values() {
        let tree = |text: &str| toml::from_str::<Table>(text).unwrap();
        let one = tree("seed = 1\n[a.b]\ngamma = 0.9\nlist = [1]\n[play]\nepisodes = 3");
        let two = tree("seed = 1\n[a.b]\ngamma = 0.8\nlist = [1]\nnew = true");
        assert_eq!(difference(&one, &one, &[]), None);
        let told = difference(&one, &two, &["play"]);
        assert_eq!(told.as_deref(), Some("`a.b.gamma` is 0.9, not 0.8"));
        let told = difference(&one, &two, &["play", "a.b.gamma"]);
        assert_eq!(told.as_deref(), Some("`a.b.new` is nothing, not true"));
        let told = difference(&one, &two, &["a"]);
        assert_eq!(told.as_deref(), Some("`play.episodes` is 3, not nothing"));
        assert_eq!(difference(&one, &two, &["a.b", "play"]), None);
    }

    #[test]
    fn a_group_of_the_tasks_own_names_takes_any_of_them_again_and_again() {
        let mut tree: Table = toml::from_str("[iql.learning]\ngamma = 0.8\npenalty = {}").unwrap();
        set(&mut tree, "penalty.collision", "1", &[]).unwrap();
        set(&mut tree, "penalty.collision", "0.5", &[]).unwrap();
        let file = toml::from_str("[iql.learning.penalty]\nenergy = 2").unwrap();
        merge(&mut tree, &file, &[]).unwrap();
        let learning = tree["iql"]["learning"].as_table().unwrap();
        assert_eq!(learning["penalty"].to_string(), "{ collision = 0.5, energy = 2 }");
        let error = set(&mut tree, "penalties.collision", "0.5", &[]).unwrap_err().to_string();
        assert!(error.contains("unknown key `penalties.collision`"), "{error}");
    }

    #[test]
    fn a_name_that_could_mean_several_settings_must_be_whole() {
        let text = "[a.exploration]\nsteps = 1\n[a.random_actions]\nsteps = 2\n\
                    [a.coordination]\ndamping = 0.1\n[a.acting]\ndamping = 0.2";
        let mut tree: Table = toml::from_str(text).unwrap();
        let error = set(&mut tree, "steps", "500", &[]).unwrap_err().to_string();
        assert_eq!(
            error,
            "`steps` could mean `a.exploration.steps` or `a.random_actions.steps`: write the whole name"
        );
        set(&mut tree, "exploration.steps", "500", &[]).unwrap();
        set(&mut tree, "damping", "0.5", &[]).unwrap();
        let read = |group: &str, key: &str| tree["a"][group][key].to_string();
        assert_eq!(
            (read("exploration", "steps"), read("random_actions", "steps")),
            ("500".into(), "2".into())
        );
        assert_eq!(
            (read("coordination", "damping"), read("acting", "damping")),
            ("0.5".into(), "0.5".into())
        );
    }
}
