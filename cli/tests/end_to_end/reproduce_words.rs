//! What `reproduce` is asked for: words that cannot work are refused before any work, and tables say
//! what they are made of.

use crate::program::Place;
use serde_json::{Value, json};
use std::fs;

/// The rows that are committed.
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/comparison");
/// One of them.
const ROW: &str = "rows/stock/iql_seed_1_n3.json";

/// Copies some committed rows into a folder.
fn rows_of_stock(place: &Place, folder: &str) {
    let rows = place.path(folder).join("rows/stock");
    fs::create_dir_all(&rows).unwrap();
    for name in ["iql_seed_1_n3.json", "vdn_seed_1_n3.json", "reference_n3.json"] {
        fs::copy(format!("{COMMITTED}/rows/stock/{name}"), rows.join(name)).unwrap();
    }
}

#[test]
fn words_that_cannot_work_are_refused_before_any_work() {
    let place = Place::new();
    for (words, told) in [
        (&["--steps", "0"][..], "`--steps`: 0 (must be positive)"),
        (&["--budget", "quick", "--episodes", "0"], "`--episodes`: 0 (must be positive)"),
        (&["--budget", "quick", "--jobs", "0"], "`--jobs`: 0 (must be positive)"),
        (&["--jobs", "0"], "`--jobs`: 0 (must be positive)"),
        (&["--budget", "quick", "--seeds", "0"], "`--seeds`: 0 (must be positive)"),
        (&["--budget", "quick", "--agents", "1"], "`--agents`: 1 (a team has at least 2"),
        (&["--agents", "3"], "`--agents` says what to train and play, and needs `--budget`"),
        (&["--rows", "iql"], "`--rows` says what to train and play, and needs `--budget`"),
        (&["--seeds", "2"], "`--seeds` says what to train and play, and needs `--budget`"),
        (&["--episodes", "9"], "`--episodes` says what to train and play, and needs `--budget`"),
        (&["--figure", "pareto"], "`--figure` says what to train and play, and needs `--budget`"),
        (&["--table", "scaling"], "`--table` says what to train and play, and needs `--budget`"),
        (&["--arm", "ladder", "--figure", "pareto"], "figure `pareto` is not part of the arm `l"),
        (&["--table", "stock", "--figure", "scenarios"], "`scenarios` is not part of the arm `s"),
        (&["--arm", "stock", "--table", "scaling"], "table `scaling` is not part of the arm `s"),
    ] {
        let words = [&["reproduce", "--known", COMMITTED], words].concat();
        let remarks = place.fail(&words);
        assert!(remarks.contains(told) && remarks.lines().count() == 1, "{words:?}: {remarks}");
        assert!(!place.path("reproduction").exists(), "{words:?} wrote something");
    }
    // Jobs need no budget, but possible numbers.
    let remarks = place.fail(&["jobs", "reproduce", "--agents", "3", "--episodes", "0"]);
    assert!(remarks.contains("`--episodes`: 0"), "{remarks}");
}

/// A row that is trained again must not be taken for all that there is by the next call.
#[test]
fn a_row_is_made_again_only_in_a_folder_that_was_named() {
    let place = Place::new();
    let file = format!("{COMMITTED}/{ROW}");
    let remarks = place.fail(&["reproduce", "--rerun", &file]);
    assert!(remarks.contains("`--rerun` needs `--out DIR`"), "{remarks}");
    assert!(!place.path("reproduction").exists());
}

#[test]
fn tables_name_the_folder_of_their_rows_where_it_is_another() {
    let place = Place::new();
    rows_of_stock(&place, "own");
    let page =
        |folder: &str| String::from_utf8(place.read(&format!("{folder}/stock/report.md"))).unwrap();
    let own = place.succeed(&["reproduce", "--arm", "stock", "--out", "own"]);
    assert!(!own.text.contains("rows read from") && !page("own").contains("The rows are"));
    let words = ["reproduce", "--arm", "stock", "--known", "own", "--out", "shown"];
    let shown = place.succeed(&words);
    assert!(shown.text.starts_with("rows read from own\n"), "{shown:?}");
    assert!(page("shown").contains("\nThe rows are those of own.\n"), "{}", page("shown"));
    assert_eq!(place.read("shown/stock/stock.md"), place.read("own/stock/stock.md"));
    // What is missing is said of the folder that was read.
    let remarks = place.fail(&["reproduce", "--arm", "ladder", "--out", "own"]);
    assert!(remarks.contains("own holds no row of the arm `ladder`"), "{remarks}");
}

#[test]
fn a_row_that_does_not_count_is_told_by_the_exit_code_too() {
    let place = Place::new();
    rows_of_stock(&place, "own");
    let words = ["reproduce", "--arm", "stock", "--out", "own"];
    place.succeed(&words);
    let file = place.path("own").join(ROW);
    let whole = fs::read_to_string(&file).unwrap();
    let mut row: Value = serde_json::from_str(&whole).unwrap();
    row["trained"] = json!(1);
    fs::write(&file, row.to_string()).unwrap();
    fs::write(file.with_file_name("vdn_seed_2_n3.json"), "{").unwrap();
    let answer = place.call(&words);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.remarks.contains("iql_seed_1_n3.json: `trained` is 1, less"), "{answer:?}");
    assert_eq!(answer.remarks.lines().last(), Some("2 rows were left out"), "{answer:?}");
    assert!(answer.text.contains("own/stock: report.md"), "{answer:?}");
    // A folder in which none counts is not passed over in silence.
    fs::create_dir_all(place.path("broken/rows/stock")).unwrap();
    fs::write(place.path("broken").join(ROW), "{").unwrap();
    fs::write(&file, whole).unwrap();
    fs::remove_file(file.with_file_name("vdn_seed_2_n3.json")).unwrap();
    let answer = place.call(&["reproduce", "--known", "own", "--out", "broken"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert_eq!(answer.remarks.lines().last(), Some("1 row was left out"), "{answer:?}");
}
