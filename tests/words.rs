#![expect(clippy::unwrap_used, reason = "a failed read is a failed test")]

//! Words in their places: a task's words stay in its folder, and names that nobody outside could
//! guess do not come back.

mod sources;

use sources::{files, lines_with, without_tests};
use std::{fs, path::Path};

/// The words of the one task that is built in.
const TASK_WORDS: [&str; 4] = ["landmark", "coverage", "simple_spread", "simple spread"];

/// Its home.
const TASK_FOLDER: &str = "src/environment/simple_spread";

/// Where else its words stand, and in how many lines: the registry, the default, examples.
const ALLOWED: &[(&str, usize, &str)] = &[
    ("src/environment/mod.rs", 1, "the folder is part of the crate"),
    ("src/environment/registry.rs", 2, "the list of tasks"),
    ("src/environment/check/mod.rs", 1, "an example that is run"),
    ("src/environment/simple_tag/recording.rs", 1, "the word of MPE2's file"),
    ("src/run/config/mod.rs", 1, "the task of a configuration that names none"),
    ("src/run/model.rs", 1, "an example that is run"),
    ("src/lib.rs", 2, "an example that is run"),
];

/// Where the words of a task stand outside its folder and outside tests: file and lines.
fn strays(root: &str) -> Vec<(String, Vec<String>)> {
    files(Path::new(root), &["rs"])
        .into_iter()
        .filter(|file| !file.starts_with(TASK_FOLDER))
        .map(|file| (file.display().to_string(), lines_with(&without_tests(&file), &TASK_WORDS)))
        .filter(|(_, lines)| !lines.is_empty())
        .collect()
}

#[test]
fn no_room_but_its_own_uses_a_tasks_words() {
    for (file, lines) in strays("src") {
        let allowed = ALLOWED.iter().find(|(known, _, _)| *known == file).map_or(0, |(_, n, _)| *n);
        assert!(
            lines.len() <= allowed,
            "{file} knows one task by its words ({allowed} lines may): {lines:#?}"
        );
    }
}

/// Where the program shows the paper's own comparison and recordings, or makes up test data.
const PAPERS_OWN: [&str; 4] = [
    "cli/src/report/paper/",
    "cli/src/commands/reproduce_args.rs",
    "cli/src/commands/check_environment.rs",
    "cli/src/report/sample.rs",
];

#[test]
fn the_program_uses_a_tasks_words_only_about_the_paper() {
    let strays = strays("cli/src");
    assert!(!strays.is_empty(), "the paper's tables are gone");
    for (file, lines) in strays {
        let papers = PAPERS_OWN.iter().any(|place| file.starts_with(place));
        let help = lines.iter().all(|line| line.trim_start().starts_with("cgcmarl "));
        assert!(papers || help, "{file} knows one task by its words: {lines:#?}");
    }
}

#[test]
fn what_is_allowed_is_needed() {
    let strays = strays("src");
    for (file, n_lines, reason) in ALLOWED {
        let found = strays.iter().find(|(known, _)| known == file).map_or(0, |(_, l)| l.len());
        assert_eq!(found, *n_lines, "{file} ({reason}) needs another number of lines");
    }
}

/// Words of other tasks, and their homes.
const OTHER_TASKS: [(&str, &[&str]); 2] = [
    ("src/environment/simple_tag", &["simple_tag", "simple tag"]),
    ("src/environment/warehouse", &["warehouse", "shelf", "shelves", "robot"]),
];

/// Where all tasks are listed or checked by name.
const LISTS: [&str; 3] = [
    "src/environment/mod.rs",
    "src/environment/registry.rs",
    "cli/src/commands/check_environment.rs",
];

#[test]
fn other_tasks_keep_their_words_too() {
    for (folder, words) in OTHER_TASKS {
        let mut n_own = 0;
        for file in ["src", "cli/src"].iter().flat_map(|root| files(Path::new(root), &["rs"])) {
            let lines = lines_with(&without_tests(&file), words);
            if file.starts_with(folder) {
                n_own += lines.len();
            } else if !LISTS.iter().any(|list| file.ends_with(list)) {
                assert!(lines.is_empty(), "{}: {lines:#?}", file.display());
            }
        }
        assert!(n_own > 0, "{folder} has none of its words");
    }
}

/// Names of the first house that a reader had to learn.
const BANNED: [&str; 17] = [
    "arena", "scene", "player", "sight", "sights", "seat", "seats", "afters", "misfit", "crew",
    "mind", "theatre", "veil", "deed", "judge", "guest", "worlds",
];

/// Files of before keep their tensors' names, and users write one of these words.
const BANNED_ALLOWED: &[(&str, &str)] = &[
    ("src/replay.rs", "replay.afters"),
    ("src/environment/simple_spread/options.rs", "rename = \"arena\""),
    ("src/environment/simple_spread/task.rs", "\"arena\""),
];

/// The words of the identifiers of a text: `SightCount` and `sight_count` are `sight` and `count`.
fn identifier_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for identifier in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        let mut word = String::new();
        for c in identifier.chars() {
            let starts = c == '_' || (c.is_ascii_uppercase() && word.ends_with(char::is_lowercase));
            if starts && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if c != '_' {
                word.push(c);
            }
        }
        words.push(word);
    }
    words.iter_mut().for_each(|word| word.make_ascii_lowercase());
    words
}

/// Code and text of a file without the comments of a line.
fn code(text: &str) -> String {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(is_code).flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn banned_names_do_not_return() {
    let roots = ["src", "cli/src", "paper/src", "viewer", "benches", "examples", "tests"];
    let mut found = Vec::new();
    for file in roots.iter().flat_map(|root| files(Path::new(root), &["rs", "js", "css", "html"])) {
        if file.ends_with("tests/words.rs") {
            continue;
        }
        let name = file.display().to_string();
        let mut text = code(&fs::read_to_string(&file).unwrap());
        for (_, allowed) in BANNED_ALLOWED.iter().filter(|(known, _)| *known == name) {
            text = text.replace(allowed, "");
        }
        let words = identifier_words(&text);
        let stems = identifier_words(file.file_stem().unwrap().to_str().unwrap());
        let banned = words.iter().chain(&stems).filter(|word| BANNED.contains(&word.as_str()));
        found.extend(banned.map(|word| format!("{name}: {word}")));
    }
    found.dedup();
    assert!(found.is_empty(), "names that a reader cannot guess: {found:#?}");
}

#[test]
fn banned_names_are_found_inside_identifiers() {
    let words = identifier_words("let n_sights = Arena::new(SeatOf, theatre.js);");
    for word in ["sights", "arena", "seat", "theatre"] {
        assert!(words.contains(&word.to_owned()), "{word} in {words:?}");
    }
    assert!(!identifier_words("insight scenery").contains(&"sight".to_owned()));
}
