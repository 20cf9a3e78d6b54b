//! Files of factor graphs: what is read, what is refused and at which line, what is written.

use cgcmarl::coordination::{Exact, ExactOptions, Problem, write_log_uai};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const GOOD: &str = "MARKOV\n2\n2 3\n2\n1 0\n2 0 1\n\n2\n 0.5 1.0\n\n6\n 1 2 3\n 4 5 0\n";

fn read(name: &str, text: &[u8]) -> cgcmarl::error::Result<Problem> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a file");
    Problem::read(&path, None)
}

fn refusal(name: &str, text: &str) -> String {
    read(name, text.as_bytes()).expect_err(text).to_string()
}

#[test]
fn a_uai_file_holds_factors() {
    let problem = read("a.uai", GOOD.as_bytes()).expect("a good file");
    assert_eq!(problem.tables.n_actions(), [2, 3]);
    assert!((problem.value(&vec![1, 1]) - 5.0_f64.ln()).abs() < 1e-12);
    assert_eq!(problem.value(&vec![1, 2]), f64::NEG_INFINITY);
    let bayes = read("a.uai", GOOD.replace("MARKOV", "BAYES").as_bytes()).expect("a good file");
    assert_eq!(bayes.payoffs, problem.payoffs);
}

#[test]
fn a_log_uai_file_holds_payoffs() {
    let problem = read("a.LG", GOOD.as_bytes()).expect("a good file");
    assert_eq!(problem.value(&vec![1, 1]), 6.0);
}

#[test]
fn what_is_written_reads_the_same() {
    let mut problem = read("a.LG", GOOD.as_bytes()).expect("a good file");
    problem.tables.agent_mut(1).copy_from_slice(&[0.25, f32::NEG_INFINITY, 1e-7]);
    let mut text = Vec::new();
    write_log_uai(&problem.graph, &problem.tables, &mut text).expect("memory");
    let again = read("b.LG", &text).expect("what we wrote");
    for action in [[0, 0], [1, 1], [1, 2]] {
        let ours = problem.tables.value(&problem.graph, &action);
        assert_eq!(ours, again.tables.value(&again.graph, &action));
    }
}

#[test]
fn mistakes_are_named_with_their_line() {
    let cases = [
        (GOOD.replace("MARKOV", "MARKUP"), ":1: `MARKUP` is not `MARKOV` or `BAYES`"),
        (GOOD.replace("2 3\n", "2 0\n"), ":3: the domain of variable 1 is empty"),
        (GOOD.replace("2 3\n", "2 x\n"), ":3: the domain of variable 1 is `x`, not a whole number"),
        (GOOD.replace("\n2\n2 3", "\n99999999999\n2 3"), ":2: 99999999999 variables are declared"),
        (GOOD.replace("\n2\n1 0", "\n4000000000\n1 0"), ":4: 4000000000 factors are declared"),
        (GOOD.replace("1 0\n", "0\n"), ":5: factor 0 has no variables"),
        (GOOD.replace("2 0 1\n", "2 0 7\n"), ":6: factor 1 names variable 7; the last is 1"),
        (GOOD.replace("2 0 1\n", "2 1 1\n"), ":6: factor 1 names variable 1 twice"),
        (GOOD.replace("\n6\n", "\n5\n"), ":11: factor 1 declares 5 entries"),
        (GOOD.replace("0.5", "-0.5"), ":9: entry 0 of factor 0 is -0.5"),
        (GOOD.replace("0.5", "nan"), ":9: entry 0 of factor 0 is NaN"),
        (GOOD.replace(" 4 5 0\n", ""), ":11: 6 entries of factor 1 are declared; the file is too"),
        (GOOD.replace(" 5 0\n", "    "), ":13: the file ends before entry 4 of factor 1"),
        (format!("{GOOD} 9"), ":14: `9` stands after the end"),
        (GOOD.replace("2 3\n", "2 99999999999999\n"), ":3: the domain of variable 1 is too large"),
    ];
    for (text, expected) in cases {
        let error = refusal("bad.uai", &text);
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
    }
    let huge = "MARKOV\n4\n9999 9999 9999 9999\n1\n4 0 1 2 3\n1\n1\n";
    assert!(refusal("bad.uai", huge).contains("more than"), "{}", refusal("bad.uai", huge));
    assert!(refusal("bad.fgq.gz", "hello").contains("not a whole gzip file"));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(cut in 0_usize..80, at in 0_usize..80, byte in any::<u8>()) {
        let mut text = GOOD.as_bytes().to_vec();
        text.truncate(cut.min(text.len()));
        if let Some(place) = text.get_mut(at) {
            *place = byte;
        }
        let _ = read("some.uai", &text);
        let _ = read("some.fgq.gz", &text);
    }

    #[test]
    fn no_damage_makes_the_packed_reader_panic(at in 0_usize..2874, byte in any::<u8>()) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/factor_graphs/cover_n3_p0.fgq.gz");
        let mut bytes = std::fs::read(path).expect("the file");
        bytes[at] = byte;
        let _ = read("some.fgq.gz", &bytes);
        bytes.truncate(at);
        prop_assert!(read("some.fgq.gz", &bytes).is_err());
    }
}

/// The UAI files of others, which are not part of this repository.
fn uai_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("CGCMARL_UAI_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/uai"),
        PathBuf::from,
    );
    folder.join("index.json").is_file().then_some(folder)
}

#[test]
#[expect(clippy::print_stderr, reason = "says that it was skipped")]
fn exact_reaches_the_known_optima_of_uai_files() {
    let Some(folder) = uai_folder() else {
        eprintln!("skipped: no UAI files; set CGCMARL_UAI_DIR to their folder");
        return;
    };
    let text = std::fs::read(folder.join("index.json")).expect("the index");
    let index: serde_json::Value = serde_json::from_slice(&text).expect("json");
    for row in index["instances"].as_array().expect("a list") {
        let name = row["file"].as_str().expect("a name");
        if name.contains(".wcsp") {
            continue;
        }
        let evidence = row["evidence_file"].as_str().map(|file| folder.join(file));
        let problem = Problem::read(&folder.join(name), evidence.as_deref()).expect(name);
        let options = ExactOptions { time_limit: 10.0, ..ExactOptions::default() };
        let mut action = Vec::new();
        let answer = Exact::new(options).solve(&problem, &mut action);
        let optimum = row["optimum_log"].as_f64().expect("an optimum");
        let tolerance = row["optimum_tolerance"].as_f64().expect("a tolerance").max(1e-5);
        assert!((problem.value(&action) - optimum).abs() <= tolerance, "{name}: {answer:?}");
        assert!(answer.upper_bound >= optimum - tolerance, "{name}: {answer:?}");
    }
}
