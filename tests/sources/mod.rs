//! The project's files, as tests about them read them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What a folder holds, in order.
pub(crate) fn children(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Every file at or below a path whose name ends so.
pub(crate) fn files(path: &Path, endings: &[&str]) -> Vec<PathBuf> {
    if path.is_dir() {
        return children(path).iter().flat_map(|child| files(child, endings)).collect();
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if endings.contains(&ending) { vec![path.to_path_buf()] } else { vec![] }
}

/// A Rust file without its tests; nothing where all of it is for tests.
pub(crate) fn without_tests(file: &Path) -> String {
    let name = file.file_stem().unwrap().to_str().unwrap();
    let parent = file.with_file_name("mod.rs");
    let declaration = format!("#[cfg(test)]\nmod {name};");
    if fs::read_to_string(parent).is_ok_and(|text| text.contains(&declaration)) {
        return String::new();
    }
    let source = fs::read_to_string(file).unwrap();
    let inline = source.match_indices("#[cfg(test)]\nmod ").find(|(start, _)| {
        let line = source[start + "#[cfg(test)]\n".len()..].lines().next().unwrap_or_default();
        line.ends_with('{')
    });
    source[..inline.map_or(source.len(), |(start, _)| start)].to_owned()
}

/// The lines of a text in which one of these words stands, as part of a larger one too.
pub(crate) fn lines_with(text: &str, words: &[&str]) -> Vec<String> {
    let has = |line: &&str| words.iter().any(|word| line.to_lowercase().contains(word));
    text.lines().filter(has).map(|line| line.trim().to_owned()).collect()
}
