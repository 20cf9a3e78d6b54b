#![expect(clippy::unwrap_used, reason = "a failed read is a failed test")]

//! Keeps ARCHITECTURE.md true (its modules are the tree, its arrows are the imports) and files small.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
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

/// The `crate::` paths each top-level module of a folder mentions, itself left out.
fn actual(root: &str) -> Uses {
    let mut uses = Uses::new();
    for path in children(Path::new(root)) {
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if module != "lib" {
            let mut used: BTreeSet<String> = files(&path).iter().flat_map(|f| imports(f)).collect();
            used.remove(&module);
            uses.entry(module).or_default().append(&mut used);
        }
    }
    uses
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Every Rust file at or below a path.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        return children(path).iter().flat_map(|child| files(child)).collect();
    }
    let is_rust = path.extension().is_some_and(|e| e == "rs");
    if is_rust { vec![path.to_path_buf()] } else { vec![] }
}

fn imports(file: &Path) -> BTreeSet<String> {
    let source = fs::read_to_string(file).unwrap();
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

#[test]
fn every_module_is_in_the_map_and_every_import_is_an_arrow() {
    for (block, root) in PACKAGES {
        let (declared, actual) = (declared(block), actual(root));
        assert_eq!(
            declared.keys().collect::<Vec<_>>(),
            actual.keys().collect::<Vec<_>>(),
            "left: modules of ARCHITECTURE.md; right: modules of {root}/"
        );
        for (module, used) in &actual {
            let stray: Vec<_> = used.difference(&declared[module]).collect();
            assert!(
                stray.is_empty(),
                "`{module}` uses {stray:?}, which ARCHITECTURE.md does not allow"
            );
        }
    }
}

#[test]
fn every_module_has_a_room_in_the_table() {
    let text = fs::read_to_string("ARCHITECTURE.md").unwrap();
    for module in PACKAGES.iter().flat_map(|(block, _)| declared(block).into_keys()) {
        assert!(text.contains(&format!("| `{module}` |")), "`{module}` has no row in a table");
    }
}

#[test]
fn the_library_does_not_know_the_paper_package() {
    for file in files(Path::new("src")) {
        let source = fs::read_to_string(&file).unwrap();
        let named = ["theory", "reproduction", "cgcmarl_paper"]
            .into_iter()
            .find(|word| source.to_lowercase().contains(word));
        assert!(named.is_none(), "{} names {named:?}, which is paper/'s", file.display());
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
        for file in files(Path::new(root)) {
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
    for file in ROOTS.iter().flat_map(|root| files(Path::new(root))) {
        let source = fs::read_to_string(&file).unwrap();
        assert!(source.starts_with("//! "), "{} says nothing about itself", file.display());
    }
}
