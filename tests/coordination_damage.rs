//! Damaged factor-graph files: no panic, no large allocation, an error with its line.
#![expect(unsafe_code, reason = "a measuring allocator implements an unsafe trait")]

use cgcmarl::coordination::Problem;
use cgcmarl::error::Result;
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::path::Path;

struct Measuring;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Measuring {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.set(LARGEST.get().max(layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.set(LARGEST.get().max(size));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Measuring = Measuring;

/// What reading a damaged file of a few hundred bytes may ask for at once.
const MOST_BYTES: usize = 8 << 20;

const UAI: &str = "MARKOV\n3\n2 3 2\n3\n1 0\n2 0 1\n3 2 1 0\n\n2\n 0.5 1.0\n\n6\n 1 2 3\n 4 5 0\n\n\
                   12\n 1 2 3 4 5 6\n 7 8 9 1 2 3\n";
const EVIDENCE: &str = "2\n0 1\n2 0\n";
const HEADER: &str =
    r#"{"format": "fgq1", "scale": 4.0, "dom": [2, 3, 2], "scopes": [[0], [0, 1], [2, 1]]}"#;
const N_ENTRIES: usize = 2 + 6 + 6;

/// What replaces a word or a number.
const STRANGE: [&str; 16] = [
    "0",
    "1",
    "7",
    "-1",
    "65536",
    "65537",
    "4000000000",
    "18446744073709551615",
    "99999999999999999999999",
    "1e400",
    "-1e400",
    "nan",
    "inf",
    "0.5",
    "text",
    "\u{1F600}",
];

/// Reads a file under a name, with evidence if given, and holds it to the promises of this module.
fn read(name: &str, bytes: &[u8], evidence: Option<&[u8]>) -> Result<Problem> {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, observed) = (folder.path().join(name), folder.path().join("some.evid"));
    std::fs::write(&path, bytes).expect("a file");
    std::fs::write(&observed, evidence.unwrap_or_default()).expect("a file");
    LARGEST.set(0);
    let result = Problem::read(&path, evidence.map(|_| observed.as_path()));
    let largest = LARGEST.get();
    assert!(
        largest <= MOST_BYTES,
        "{largest} bytes at once for {:?}",
        String::from_utf8_lossy(bytes)
    );
    if let Err(error) = &result {
        let text = error.to_string();
        let damaged = if text.contains(".evid") { Path::new("some.evid") } else { Path::new(name) };
        let place = format!("{}:", damaged.display());
        let (_, rest) = text.split_once(&place).expect(&text);
        let has_line = rest.starts_with(|c: char| c.is_ascii_digit());
        assert!(has_line || text.contains("not a whole gzip file"), "{text}");
    }
    result
}

fn read_uai(name: &str, text: &str) -> Result<Problem> {
    read(name, text.as_bytes(), None)
}

fn read_evidence(text: &[u8]) -> Result<Problem> {
    read("good.uai", UAI.as_bytes(), Some(text))
}

/// A packed file with this header and number of entries.
fn packed(header: &str, n_entries: usize) -> Vec<u8> {
    let mut to = GzEncoder::new(Vec::new(), Compression::fast());
    writeln!(to, "{header}").expect("memory");
    for entry in 0..n_entries {
        to.write_all(&(entry as i16 - 5).to_le_bytes()).expect("memory");
    }
    to.finish().expect("memory")
}

/// The text with its words replaced one at a time: by every strange one, and by its neighbours if
/// it is a whole number.
fn with_one_word_changed(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-');
    let mut changed = Vec::new();
    let mut at = 0;
    for word in text.split(|c: char| !is_part(c)) {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        at = (at + word.len() + 1).min(text.len());
        if word.is_empty() {
            continue;
        }
        let near = word.parse::<u64>().map(|n| [n + 1, n.wrapping_sub(1)].map(|n| n.to_string()));
        let near = near.into_iter().flatten();
        let words = STRANGE.iter().map(ToString::to_string).chain(near).chain([String::new()]);
        changed.extend(words.map(|word| format!("{before}{word}{after}")));
    }
    changed
}

#[test]
fn the_undamaged_files_are_read() {
    for name in ["good.uai", "good.LG"] {
        assert_eq!(read_uai(name, UAI).expect("good").tables.n_actions(), [2, 3, 2]);
    }
    read_evidence(EVIDENCE.as_bytes()).expect("good");
    read("good.fgq.gz", &packed(HEADER, N_ENTRIES), None).expect("good");
}

#[test]
fn every_cut_is_refused_or_harmless() {
    let whole = UAI.trim_end().len();
    for cut in 0..UAI.len() {
        for name in ["cut.uai", "cut.LG"] {
            assert_eq!(read(name, &UAI.as_bytes()[..cut], None).is_ok(), cut >= whole, "{cut}");
        }
    }
    for cut in 0..EVIDENCE.len() {
        let is_whole = cut >= EVIDENCE.trim_end().len();
        assert_eq!(read_evidence(&EVIDENCE.as_bytes()[..cut]).is_ok(), is_whole, "{cut}");
    }
    let bytes = packed(HEADER, N_ENTRIES);
    for cut in 0..bytes.len() {
        assert!(read("cut.fgq.gz", &bytes[..cut], None).is_err(), "{cut}");
    }
}

#[test]
fn every_word_may_be_wrong() {
    for text in with_one_word_changed(UAI) {
        let _ = read_uai("some.uai", &text);
        let _ = read_uai("some.LG", &text);
    }
    for text in with_one_word_changed(EVIDENCE) {
        let _ = read_evidence(text.as_bytes());
    }
    for header in with_one_word_changed(HEADER) {
        let _ = read("some.fgq.gz", &packed(&header, N_ENTRIES), None);
    }
}

#[test]
fn counts_off_by_one_are_refused() {
    for wrong in [
        UAI.replacen("3\n2 3 2", "2\n2 3 2", 1),
        UAI.replacen("3\n2 3 2", "4\n2 3 2", 1),
        UAI.replacen("2 3 2\n3", "2 3 2\n2", 1),
        UAI.replacen("2 3 2\n3", "2 3 2\n4", 1),
        UAI.replacen("2 0 1", "3 0 1", 1),
        UAI.replacen("3 2 1 0", "2 2 1 0", 1),
        UAI.replacen("\n6\n", "\n7\n", 1),
        UAI.replacen("\n12\n", "\n11\n", 1),
        UAI.replacen("2 0 1", "0 0 1", 1),
        UAI.replacen("2 3 2", "2 0 2", 1),
    ] {
        assert!(read_uai("off.uai", &wrong).is_err(), "{wrong}");
    }
    for wrong in
        ["1\n0 1\n2 0\n", "3\n0 1\n2 0\n", "2\n0 2\n2 0\n", "2\n0 1\n3 0\n", "2\n0 1\n0 0\n"]
    {
        assert!(read_evidence(wrong.as_bytes()).is_err(), "{wrong}");
    }
    for n_entries in [0, N_ENTRIES - 1, N_ENTRIES + 1] {
        assert!(read("off.fgq.gz", &packed(HEADER, n_entries), None).is_err());
    }
    for scope in ["[]", "[0, 0]", "[3]"] {
        let header = HEADER.replacen("[0]", scope, 1);
        let error = read("off.fgq.gz", &packed(&header, N_ENTRIES), None).expect_err(scope);
        assert!(error.to_string().contains("off.fgq.gz:1: scope"), "{error}");
    }
}

#[test]
fn a_short_file_cannot_ask_for_much() {
    for text in [
        "MARKOV 1 134217728 0",
        "MARKOV 2 65537 1 0",
        "MARKOV 2 60000 60000 1 2 0 1 3600000000 1",
        "MARKOV 4 60000 60000 60000 60000 1 4 0 1 2 3 1 1",
        "MARKOV 1 2 99999999 1 0",
    ] {
        assert!(read_uai("large.uai", text).is_err(), "{text}");
    }
    for header in [
        HEADER.replace("[2, 3, 2]", "[134217728]"),
        HEADER.replace("[2, 3, 2]", "[60000, 60000, 60000]"),
        HEADER.replace("4.0", "0.0"),
        HEADER.replace("4.0", "1e999"),
    ] {
        assert!(read("large.fgq.gz", &packed(&header, 1), None).is_err(), "{header}");
    }
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![b' '; 64 << 20]).expect("memory");
    assert!(read("bomb.fgq.gz", &bomb.finish().expect("memory"), None).is_err());
}

proptest! {
    /// Several words replaced, moved or doubled at once.
    #[test]
    fn any_mixture_of_words_is_refused_or_read(
        changes in proptest::collection::vec((any::<u16>(), 0..STRANGE.len(), 0_u8..4), 1..6),
        is_log in any::<bool>(),
    ) {
        let mut words: Vec<String> = UAI.split(' ').map(str::to_string).collect();
        for (at, strange, kind) in changes {
            let at = usize::from(at) % words.len();
            match kind {
                0 => words[at] = STRANGE[strange].to_string(),
                1 => drop(words.remove(at)),
                2 => words.insert(at, STRANGE[strange].to_string()),
                _ => words.swap(0, at),
            }
            if words.is_empty() {
                break;
            }
        }
        let _ = read_uai(if is_log { "some.LG" } else { "some.uai" }, &words.join(" "));
    }

    /// Bytes of any kind in any of the formats.
    #[test]
    fn any_bytes_are_refused_or_read(
        damage in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..8),
    ) {
        let damaged = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for &(at, byte) in &damage {
                let at = usize::from(at) % bytes.len();
                bytes[at] = byte;
            }
            bytes
        };
        let _ = read("some.uai", &damaged(UAI.as_bytes()), None);
        let _ = read_evidence(&damaged(EVIDENCE.as_bytes()));
        let _ = read("some.fgq.gz", &damaged(&packed(HEADER, N_ENTRIES)), None);
        let header = String::from_utf8_lossy(&damaged(HEADER.as_bytes())).into_owned();
        let _ = read("some.fgq.gz", &packed(&header, N_ENTRIES), None);
    }
}
