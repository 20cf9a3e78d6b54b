//! A reproduction runs what is missing, survives interruptions, and says what of the paper holds.

use crate::program::{Answer, Place};
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, Instant},
};

/// One model of ours and one baseline, trained for a moment.
const WORDS: [&str; 13] = [
    "reproduce",
    "--rows",
    "cg_cmarl,iql_0.3",
    "--agents",
    "3",
    "--seeds",
    "2",
    "--steps",
    "3000",
    "--episodes",
    "5",
    "--jobs",
    "2",
];

/// Everything in the folder that seeds alone determine.
const FILES: [&str; 12] = [
    "raw/marl_eval.json",
    "raw/baselines.md",
    "raw/baselines.csv",
    "raw/baselines.tex",
    "raw/cgcmarl.md",
    "raw/cgcmarl.csv",
    "raw/cgcmarl.tex",
    "raw/scaling.csv",
    "raw/hypervolume.csv",
    "raw/dominance.csv",
    "raw/pareto.png",
    "raw/scenarios.svg",
];
/// The row of a baseline.
const ROW: &str = "rows/raw/iql_0.3_seed_2_n3.json";

/// A row's file without the times, which are the machine's.
fn row(place: &Place, file: &str) -> Value {
    let mut row: Value = serde_json::from_slice(&place.read(file)).unwrap();
    row.as_object_mut().unwrap().remove("timing").unwrap();
    row
}

fn words<'a>(folder: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&WORDS[..], &["--out", folder], more].concat()
}

/// Tables need no training where the rows are known, and one row is made again from its file.
#[cfg(unix)]
fn rows_are_known_elsewhere_and_made_again(place: &Place) {
    let known = ["reproduce", "--known", "cut", "--out", "shown", "--quiet"];
    place.succeed(&known);
    assert!(place.read("shown/raw/baselines.md") == place.read("cut/raw/baselines.md"));
    assert!(!place.path("shown/rows").exists() && !place.path("shown/runs").exists());
    let file = format!("cut/{ROW}");
    let again = place.succeed(&["reproduce", "--rerun", &file, "--out", "again", "--quiet"]);
    assert!(again.text.contains("the same in every number as cut/"), "{again:?}");
    let mut changed = row(place, &file);
    changed["layouts"][0]["points"][0]["metrics"]["team_return"] = json!(-1.0);
    let other = place.path("other/iql_0.3_seed_2_n3.json");
    fs::create_dir(place.path("other")).unwrap();
    fs::write(&other, changed.to_string()).unwrap();
    let file = other.display().to_string();
    let answer = place.call(&["reproduce", "--rerun", &file, "--out", "again", "--quiet"]);
    assert!(answer.code == Some(2) && answer.remarks.contains("there already"), "{answer:?}");
    let answer = place.call(&["reproduce", "--rerun", &file, "--out", "afresh", "--quiet"]);
    assert!(answer.code == Some(1) && answer.text.contains("NOT the same"), "{answer:?}");
    let answer = place.call(&["reproduce", "--arm", "stock", "--out", "cut"]);
    assert!(answer.code == Some(2) && answer.remarks.contains("arm `stock`"), "{answer:?}");
}

#[cfg(unix)]
#[test]
fn interrupted_and_run_again_equals_uninterrupted() {
    let place = Place::new();
    let whole = place.succeed(&words("whole", &[]));
    assert!(whole.remarks.contains("3000 environment steps each"), "{}", whole.remarks);
    assert!(whole.text.contains("baseline points are dominated by the front"), "{}", whole.text);

    let child = place.start(&words("cut", &[]));
    let started = Instant::now();
    let metrics = place.path("cut/runs/ours/simple_spread_3/cg_cmarl/seed_1/metrics.jsonl");
    while fs::metadata(&metrics).map_or(0, |file| file.len()) == 0 {
        assert!(started.elapsed() < Duration::from_secs(600), "nothing moves");
        std::thread::sleep(Duration::from_millis(2));
    }
    let interrupt = ["-INT", &child.id().to_string()];
    assert!(std::process::Command::new("kill").args(interrupt).status().unwrap().success());
    let answer: Answer = child.wait_with_output().unwrap().into();
    assert_eq!(answer.code, Some(130), "{answer:?}");
    assert!(answer.remarks.contains("The same command goes on"), "{answer:?}");
    assert!(!place.path("cut/raw/results.json").exists());

    place.succeed(&words("cut", &["--quiet"]));
    for file in FILES {
        let [whole, cut] = ["whole", "cut"].map(|folder| place.read(&format!("{folder}/{file}")));
        assert!(whole == cut, "{file} differs");
    }
    for file in [ROW, "rows/ours/cg_cmarl_seed_1_n3.json", "rows/ours/reference_n3.json"] {
        let [whole, cut] = ["whole", "cut"].map(|folder| row(&place, &format!("{folder}/{file}")));
        assert_eq!(whole, cut, "{file} differs");
    }
    // Done: nothing is trained or played again, and other settings are refused.
    let before = place.read(&format!("cut/{ROW}"));
    place.succeed(&words("cut", &["--quiet"]));
    assert!(before == place.read(&format!("cut/{ROW}")));
    let longer: Vec<&str> =
        words("cut", &[]).iter().map(|word| if *word == "3000" { "4000" } else { word }).collect();
    let answer = place.call(&longer);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    let reason = "was trained with other settings (`iql.exploration.steps` is 1000, not 1333)";
    assert!(answer.remarks.contains(reason), "{answer:?}");

    rows_are_known_elsewhere_and_made_again(&place);

    place.succeed(&["report", "cut", "--out", "comparison.html"]);
    let page = String::from_utf8(place.read("comparison.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("CG-CMARL"), "{page}");
    let checked = place.succeed(&["paper-check", "--reproduction", "cut"]).text;
    assert!(checked.contains("not confirmed") && checked.contains("not measured"), "{checked}");

    // The rows alone say as much as all the trainings.
    for arm in ["ours", "raw"] {
        let copies = place.path(&format!("clone/rows/{arm}"));
        fs::create_dir_all(&copies).unwrap();
        for row in fs::read_dir(place.path(&format!("cut/rows/{arm}"))).unwrap().flatten() {
            fs::copy(row.path(), copies.join(row.file_name())).unwrap();
        }
    }
    assert_eq!(place.succeed(&["paper-check", "--reproduction", "clone"]).text, checked);

    // A row that cannot be read is left out, but not in silence.
    fs::write(place.path(&format!("cut/{ROW}")), "{}").unwrap();
    let ours = words("cut", &["--quiet"]).into_iter();
    let ours: Vec<&str> =
        ours.map(|word| if word == WORDS[2] { "cg_cmarl" } else { word }).collect();
    let Answer { code, remarks, .. } = place.call(&ours);
    assert_eq!(code, Some(2), "{remarks}");
    assert!(remarks.contains("warning: ") && remarks.contains("not counted"), "{remarks}");
    assert!(remarks.contains("iql_0.3_seed_2_n3.json"), "{remarks}");
    let remarks = place.succeed(&["paper-check", "--reproduction", "cut"]).remarks;
    assert!(remarks.contains("iql_0.3_seed_2_n3.json") && remarks.contains("not counted"));
}

#[test]
fn a_damaged_row_is_named_where_there_is_no_other() {
    let place = Place::new();
    fs::create_dir_all(place.path("one/rows/shared")).unwrap();
    fs::write(place.path("one/rows/shared/iql_0.3_seed_1_n3.json"), "{\"program\": \"cgc").unwrap();
    let answer = place.call(&["reproduce", "--out", "one", "--known", "none"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.remarks.contains("iql_0.3_seed_1_n3.json:1: "), "{answer:?}");
    assert!(answer.remarks.contains("neither one nor none holds rows"), "{answer:?}");
}

#[test]
fn a_paper_check_can_say_every_verdict() {
    let place = Place::new();
    let spread = |mean: f64| json!({"mean": mean, "deviation": 0.0, "low": mean, "high": mean});
    let point = |parameter: &str, coverage: f64, collisions: f64| {
        json!({
            "algorithm": "cg_cmarl", "parameter": parameter, "row": "cg_cmarl", "steps": 1,
            "multiplier": parameter.trim_start_matches("λ=").parse::<f64>().unwrap(), "seeds": 2,
            "collisions": spread(collisions), "per_pair_rate": spread(collisions / 3.0),
            "coverage": spread(coverage), "pareto": true, "pareto_overall": true,
        })
    };
    // Printed: 46.17 % at λ=0.2, 17.50 % at λ=1, 8.25 % at λ=2.
    let points =
        json!([point("λ=0.2", 0.462, 0.0037), point("λ=1", 0.97, 0.0034), point("λ=2", 0.01, 0.5)]);
    let team = json!({
        "n_agents": 3, "layout": "random", "episodes": 400, "random": null, "oracle": null,
        "points": points, "fronts": [], "dominance": [], "learning": [],
    });
    let results = json!({"program": "cgcmarl", "version": "0", "teams": [team]});
    fs::create_dir(place.path("made_up")).unwrap();
    fs::write(place.path("made_up/results.json"), results.to_string()).unwrap();
    let words = ["paper-check", "--reproduction", "made_up", "--format", "json"];
    let lines: Value = serde_json::from_str(&place.succeed(&words).text).unwrap();
    let verdict = |subject: &str, quantity: &str| {
        let mut lines = lines.as_array().unwrap().iter();
        lines.find(|l| l["subject"] == subject && l["quantity"] == quantity).unwrap()["verdict"]
            .clone()
    };
    assert_eq!(verdict("N=3 CG-CMARL λ=0.2", "coverage %"), "confirmed");
    assert_eq!(verdict("N=3 CG-CMARL λ=1", "coverage %"), "exceeded");
    assert_eq!(verdict("N=3 CG-CMARL λ=2", "coverage %"), "not_confirmed");
    assert_eq!(verdict("N=3 CG-CMARL λ=2", "collisions/step"), "not_confirmed");
    assert_eq!(verdict("N=3 IQL lr=0.3", "coverage %"), "not_measured");
    assert_eq!(verdict("N=3 CG-CMARL", "coverage for λ from 0.05 to 1"), "not_confirmed");

    let remarks = place.fail(&["paper-check", "--reproduction", "nowhere"]);
    assert!(remarks.contains("nowhere: holds no rows; first run `cgcmarl reproduce`"), "{remarks}");
    assert!(
        place
            .fail(&["reproduce", "--rows", "best", "--budget", "quick"])
            .contains("`--rows`: best (one of ")
    );
}
