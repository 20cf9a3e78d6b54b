#![expect(clippy::unwrap_used, reason = "a failed read is a failed test")]

//! Keeps ARCHITECTURE.md true: its rooms are the tree, its arrows are the imports (no more and no
//! fewer), files are small, and what one room knows stays in it.

mod sources;

use sources::{children, files, lines_with, without_tests};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

type Uses = BTreeMap<String, BTreeSet<String>>;

/// Each package that the map draws: its fenced block and its folder.
const PACKAGES: [(&str, &str); 2] = [("modules", "src"), ("paper", "paper/src")];
const ROOTS: [&str; 3] = ["src", "paper/src", "cli/src"];
const MOST_LINES: usize = 400;
const MOST_LEVELS: usize = 3;
const NAMELESS: [&str; 6] = ["util", "utils", "common", "base", "helper", "helpers"];

/// The arrows of the fenced block of that name.
fn declared(block: &str) -> Uses {
    let text = fs::read_to_string("ARCHITECTURE.md").unwrap();
    let block = text.split(&format!("```{block}\n")).nth(1).unwrap().split("```").next().unwrap();
    block
        .lines()
        .map(|line| {
            let (module, used) = line.split_once("->").unwrap();
            (module.trim().into(), used.split_whitespace().map(Into::into).collect())
        })
        .collect()
}

/// The `crate::` paths each room of a folder mentions outside its tests, itself left out.
fn actual(root: &str) -> Uses {
    let mut uses = Uses::new();
    for path in children(Path::new(root)) {
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if module != "lib" {
            let files = files(&path, &["rs"]);
            let mut used: BTreeSet<String> =
                files.iter().flat_map(|file| imports(&without_tests(file))).collect();
            used.remove(&module);
            uses.entry(module).or_default().append(&mut used);
        }
    }
    uses
}

/// The rooms that a source imports or names by their whole path; comments do not count.
fn imports(source: &str) -> BTreeSet<String> {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    let source: String = source.lines().filter(code).flat_map(|line| [line, "\n"]).collect();
    let mut used = BTreeSet::new();
    for import in source.split("crate::").skip(1) {
        match import.strip_prefix('{') {
            None => used.extend(first_word(import)),
            Some(group) => used.extend(group_words(group.split(';').next().unwrap())),
        }
    }
    used
}

/// The first path segment of each entry of a grouped import, nested groups skipped.
fn group_words(group: &str) -> Vec<String> {
    let mut depth = 0i32;
    let mut words = vec![];
    for part in group.split(',') {
        if depth == 0 {
            words.extend(first_word(part));
        }
        depth += part.matches('{').count() as i32 - part.matches('}').count() as i32;
    }
    words
}

fn first_word(text: &str) -> Option<String> {
    let word: String =
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

/// What a map and a tree disagree about.
fn disagreements(declared: &Uses, actual: &Uses) -> Vec<String> {
    let mut found = Vec::new();
    let rooms: BTreeSet<&String> = declared.keys().chain(actual.keys()).collect();
    for room in rooms {
        match (declared.get(room), actual.get(room)) {
            (Some(declared), Some(actual)) => {
                found.extend(actual.difference(declared).map(|u| format!("{room} uses {u}")));
                found.extend(declared.difference(actual).map(|u| format!("{room} leaves {u}")));
            }
            (None, _) => found.push(format!("{room} is not in the map")),
            (_, None) => found.push(format!("{room} is not in the tree")),
        }
    }
    found
}

#[test]
fn the_rooms_are_the_tree_and_the_arrows_are_the_imports() {
    for (block, root) in PACKAGES {
        let found = disagreements(&declared(block), &actual(root));
        assert!(found.is_empty(), "ARCHITECTURE.md against {root}/: {found:#?}");
    }
}

#[test]
fn both_directions_of_a_disagreement_are_found() {
    let uses = |lines: &[(&str, &str)]| -> Uses {
        let set = |used: &str| used.split_whitespace().map(Into::into).collect();
        lines.iter().map(|(room, used)| ((*room).to_owned(), set(used))).collect()
    };
    let declared = uses(&[("a", "b c"), ("b", ""), ("d", "")]);
    let actual = uses(&[("a", "b d"), ("b", ""), ("e", "")]);
    let found = disagreements(&declared, &actual);
    let expected = ["a uses d", "a leaves c", "d is not in the tree", "e is not in the map"];
    assert_eq!(found, expected);
    let source = "use crate::{\n    b::{self, c},\n    d,\n};\n// crate::f\ncrate::g::h()";
    assert_eq!(imports(source).into_iter().collect::<Vec<_>>(), ["b", "d", "g"]);
}

#[test]
fn every_room_has_a_row_in_the_table() {
    let text = fs::read_to_string("ARCHITECTURE.md").unwrap();
    for module in PACKAGES.iter().flat_map(|(block, _)| declared(block).into_keys()) {
        assert!(text.contains(&format!("| `{module}` |")), "`{module}` has no row in a table");
    }
}

#[test]
fn every_path_of_the_map_exists() {
    let text = fs::read_to_string("ARCHITECTURE.md").unwrap();
    let quoted = text.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| word.contains('/') && !word.contains([' ', '<', '*', '{']);
    let missing: Vec<_> = quoted.filter(is_path).filter(|path| !Path::new(path).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
}

#[test]
fn the_library_does_not_know_the_paper_package() {
    for file in files(Path::new("src"), &["rs"]) {
        let source = fs::read_to_string(&file).unwrap();
        let named = lines_with(&source, &["theory", "reproduction", "cgcmarl_paper"]);
        assert!(named.is_empty(), "{} knows what is paper/'s: {named:?}", file.display());
    }
}

#[test]
fn the_map_has_no_cycle() {
    let mut left: Uses = PACKAGES.iter().flat_map(|(block, _)| declared(block)).collect();
    while !left.is_empty() {
        let free: Vec<String> = left
            .iter()
            .filter(|(_, used)| used.iter().all(|u| !left.contains_key(u)))
            .map(|(m, _)| m.clone())
            .collect();
        assert!(!free.is_empty(), "cycle among {:?}", left.keys());
        left.retain(|module, _| !free.contains(module));
    }
}

#[test]
fn files_are_small_named_and_not_buried() {
    for root in ROOTS {
        for file in files(Path::new(root), &["rs"]) {
            let lines = fs::read_to_string(&file).unwrap().lines().count();
            assert!(lines <= MOST_LINES, "{} has {lines} lines; split it", file.display());
            let inside = file.strip_prefix(root).unwrap().with_extension("");
            let names: Vec<_> = inside.iter().map(|name| name.to_str().unwrap()).collect();
            assert!(names.len() <= MOST_LEVELS, "{} lies too deep", file.display());
            let nameless = names.iter().find(|name| NAMELESS.contains(name));
            assert!(nameless.is_none(), "{} says nothing about what is in it", file.display());
        }
    }
}

#[test]
fn every_file_opens_with_a_sentence() {
    for file in ROOTS.iter().flat_map(|root| files(Path::new(root), &["rs"])) {
        let source = fs::read_to_string(&file).unwrap();
        assert!(source.starts_with("//! "), "{} says nothing about itself", file.display());
    }
}
