#![expect(clippy::unwrap_used, reason = "a failed read is a failed test")]

//! Keeps docs/paper.md true: every function, test and setting it names exists.

use cgcmarl::{environment::simple_spread::SimpleSpreadOptions, run::Config};
use std::{fs, path::Path};

fn page() -> String {
    fs::read_to_string("docs/paper.md").unwrap()
}

/// What stands between backticks in a text.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The part of the named file before the function `file.rs::name`, if there is one.
fn before_definition(name: &str) -> Option<String> {
    let (file, function) = name.split_once("::").unwrap();
    let from_the_root = ["tests/", "paper/"].iter().any(|folder| file.starts_with(folder));
    let root = if from_the_root { "" } else { "src/" };
    let source = fs::read_to_string(format!("{root}{file}")).ok()?;
    let place = [format!("fn {function}("), format!("fn {function}<")]
        .iter()
        .find_map(|definition| source.find(definition))?;
    Some(source[..place].to_owned())
}

#[test]
fn every_function_exists() {
    let page = page();
    let named: Vec<_> = quoted(&page).filter(|word| word.contains(".rs::")).collect();
    assert!(named.len() > 60, "only {} functions are named", named.len());
    let missing: Vec<_> =
        named.into_iter().filter(|name| before_definition(name).is_none()).collect();
    assert!(missing.is_empty(), "docs/paper.md names what is not there: {missing:#?}");
}

/// The source files of a folder without their tests.
fn sources(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_test = |path: &Path| path.ends_with("tests.rs") || path.ends_with("checks.rs");
    entries
        .filter(|path| !is_test(path))
        .flat_map(|path| {
            if path.is_dir() {
                return sources(&path);
            }
            let source = fs::read_to_string(path).unwrap();
            vec![source.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned()]
        })
        .collect()
}

/// Whether a source calls a function; its definition and its mention in an import do not count.
fn calls(source: &str, function: &str) -> bool {
    let call = format!("{function}(");
    let mut places = source.match_indices(&call);
    places.any(|(place, _)| {
        let before = &source[..place];
        let is_whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        is_whole && !before.ends_with("fn ")
    })
}

#[test]
fn training_calls_every_function_of_an_algorithm() {
    let page = page();
    let tables = page.split("## How we read").next().unwrap();
    let rows = tables.lines().filter(|line| line.starts_with('|') && line.contains(".rs::"));
    let sources = sources(Path::new("src"));
    let mut n_named = 0;
    for row in rows {
        let function_cell = row.split('|').nth(3).unwrap();
        for name in quoted(function_cell).filter(|name| name.starts_with("algorithm/")) {
            let function = name.split_once("::").unwrap().1;
            let called = sources.iter().any(|source| calls(source, function));
            assert!(called, "nothing but tests or theory calls {name}");
            n_named += 1;
        }
    }
    assert!(n_named > 25, "only {n_named} functions of algorithms are named");
    assert!(
        !sources.iter().any(|source| calls(source, "two_head_targets")),
        "the check sees tests"
    );
}

#[test]
fn every_equation_has_a_test() {
    let page = page();
    let tables = page.split("## How we read").next().unwrap();
    let rows = tables.lines().filter(|line| line.starts_with('|') && line.contains(".rs::"));
    for row in rows {
        let test = row.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap();
        for name in quoted(test) {
            let before = before_definition(name).unwrap_or_default();
            let lines: Vec<_> = before.lines().rev().take(3).map(str::trim).collect();
            assert!(lines.contains(&"#[test]"), "{name} is not a test, in: {row}");
        }
        assert!(quoted(test).next().is_some(), "no test in: {row}");
    }
}

#[test]
fn every_setting_is_one() {
    let page = page();
    let settings: Vec<_> = quoted(&page)
        .filter(|word| !word.contains(' ') || word.contains('['))
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    assert!(settings.len() > 15, "{settings:?}");
    for setting in settings {
        Config::resolve(None, std::slice::from_ref(&setting))
            .unwrap_or_else(|e| panic!("{setting:?}: {e}"));
    }
}

#[test]
fn the_readings_are_those_of_the_paper_preset() {
    let page = page();
    let readings = page.split("## How we read").nth(1).unwrap().split("## The presets").next();
    let preset = Config::resolve(None, &[("preset".into(), "paper".into())]).unwrap();
    let rows = readings.unwrap().lines().filter(|line| line.starts_with("| "));
    for row in rows {
        let last = row.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap();
        for (key, value) in quoted(last).filter_map(|word| word.split_once('=')) {
            let same = preset.with(&[(key.to_owned(), value.to_owned())]).unwrap();
            let resolved = |config: &Config| {
                let scenario = config.scenario().unwrap();
                scenario.typed_options::<SimpleSpreadOptions>().unwrap().resolved()
            };
            let what = format!("{key}={value} is not what the preset does");
            assert_eq!(resolved(&same), resolved(&preset), "{what}");
            if key != "environments" {
                assert_eq!(same.options, preset.options, "{what}");
                assert_eq!(same.training, preset.training, "{what}");
                assert_eq!(same.evaluation, preset.evaluation, "{what}");
            }
        }
    }
}
