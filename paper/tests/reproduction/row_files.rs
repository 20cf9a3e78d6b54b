//! What a row file holds, and which ones count.

use super::{Silent, plan, redigest, rewrite, run, small};
use cgcmarl_paper::reproduction::{
    Arm, Places, Plan, RowResult, Rows, Team, gather, is_done, open, run_job,
};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::tempdir;

#[test]
fn row_files_alone_tell_everything_and_count_as_done() {
    let (plan, folder) = small();
    let whole = gather(folder.path(), Arm::Raw);
    fs::remove_dir_all(folder.path().join("runs")).unwrap();
    assert!(plan.jobs().iter().all(|job| is_done(&plan, job, &Places::new(folder.path()))));
    run(&plan, folder.path());
    assert!(!folder.path().join("runs").exists(), "a row that is done was trained again");
    assert_eq!(gather(folder.path(), Arm::Raw), whole);
    assert_eq!(open(folder.path(), Arm::Raw).unwrap(), Some(whole.clone()));

    let layouts: Vec<&str> = whole.teams.iter().map(|team| team.layout.as_str()).collect();
    assert_eq!(layouts, ["random", "line"]);
    let team = whole.team(3, "random").unwrap();
    let parameters: Vec<&str> = team.points.iter().map(|p| p.parameter.as_str()).collect();
    assert_eq!(parameters.len(), 9 + 1);
    assert_eq!((parameters[1], parameters[9]), ("λ=0.05", "lr=0.3"));
    assert!(team.random.is_some() && team.oracle.unwrap().coverage > 0.5, "{team:?}");
    assert_eq!(team.fronts.len(), 2);

    // More episodes, and so not yet done.
    let longer = Plan { episodes: Some(5), ..plan.clone() };
    assert!(!longer.jobs().iter().any(|job| is_done(&longer, job, &Places::new(folder.path()))));
}

#[test]
fn a_row_file_holds_scores_under_their_labels_and_no_weights() {
    let (_, folder) = small();
    let read = |name: &str| RowResult::read(&folder.path().join("rows").join(name)).unwrap();
    let row = read("raw/iql_0.3_seed_1_n3.json");
    assert_eq!((row.steps, row.agents, row.config.len()), (400, 3, 8));
    let point = &row.layout("line").unwrap().points[0];
    assert_eq!((point.label.as_str(), point.parameter.as_str()), ("local_ratio=0.3", "lr=0.3"));
    let mean = f64::from(point.covered.0.iter().sum::<u32>()) / (3.0 * point.n_episodes() as f64);
    assert!((point.mean("coverage") - mean).abs() < 1e-6, "{point:?}");
    let steps = 25.0 * point.n_episodes() as f64;
    let mean = f64::from(point.collided.0.iter().sum::<u32>()) / steps;
    assert!((point.mean("collisions_per_step") - mean).abs() < 1e-6, "{point:?}");
    assert!(row.selection.as_ref().unwrap().start_seed != row.layouts[0].start_seed);
    assert_eq!((row.trained, row.greedy.step.as_slice()), (400, &[400][..]));
    assert_eq!(row.timing.cpu_seconds.len(), 1);
    let sweep = &read("ours/cg_cmarl_seed_1_n3.json").layouts[0].points;
    assert_eq!(sweep[4].multipliers.get("collision"), Some(&0.5));
    assert_eq!(sweep[4].label, "λ=0.5");
    let length =
        fs::metadata(folder.path().join("rows/ours/cg_cmarl_seed_1_n3.json")).unwrap().len();
    assert!(length < 30_000, "{length} bytes");
}

#[test]
fn a_row_of_another_configuration_is_named_and_not_counted() {
    let (plan, folder) = small();
    let file = folder.path().join("rows/raw/iql_0.3_seed_1_n3.json");
    let good = fs::read(&file).unwrap();
    rewrite(&file, |row| row["config"] = json!("00000000"));
    let left_out = gather(folder.path(), Arm::Raw).left_out;
    assert!(left_out[0].reason.contains("not the digest of its `settings`"), "{left_out:?}");
    // A program that did not know a key yet made the same row.
    fs::write(&file, &good).unwrap();
    rewrite(&file, |row| {
        row["settings"]["iql"]["learning"].as_object_mut().unwrap().remove("standardise_rewards");
    });
    redigest(&file);
    assert_eq!(gather(folder.path(), Arm::Raw).left_out, []);
    // One with another discount did not.
    rewrite(&file, |row| row["settings"]["iql"]["learning"]["gamma"] = json!(0.9));
    redigest(&file);
    let results = gather(folder.path(), Arm::Raw);
    let [left_out] = &results.left_out[..] else { panic!("{:?}", results.left_out) };
    assert_eq!(left_out.file, file);
    let reason =
        "than configs/baselines/iql.toml stands for now: `iql.learning.gamma` is 0.9, not 0.8";
    assert!(left_out.reason.contains(reason), "{left_out:?}");
    let team = results.team(3, "random").unwrap();
    assert!(team.points.iter().all(|point| point.algorithm == "cg_cmarl"));
    // Nor is it replaced in silence.
    let job = plan.jobs()[1];
    let error =
        run_job(&plan, &job, &Places::new(folder.path()), &mut Silent).unwrap_err().to_string();
    assert!(
        error.contains("was trained with other settings (`iql.learning.gamma` is 0.9"),
        "{error}"
    );
    let longer = Plan { steps: Some(500), ..plan };
    let job = longer.jobs()[0];
    let error = run_job(&longer, &job, &Places::new(folder.path()), &mut Silent);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`cg_cmarl.exploration.steps` is 133, not 166"), "{error}");
}

type Change = fn(&mut Value);

/// Every change alone makes the row of a baseline one that does not count, for the reason beside it.
fn none_counts(changes: &[(Change, &str)]) {
    let (_, folder) = small();
    let file = folder.path().join("rows/raw/iql_0.3_seed_1_n3.json");
    let good = fs::read(&file).unwrap();
    for (change, reason) in changes {
        rewrite(&file, change);
        let left_out = gather(folder.path(), Arm::Raw).left_out;
        assert!(left_out.len() == 1 && left_out[0].reason.contains(reason), "{left_out:?}");
        assert_eq!(left_out[0].file, file);
        fs::write(&file, &good).unwrap();
    }
    assert_eq!(gather(folder.path(), Arm::Raw).left_out, []);
}

#[test]
fn a_damaged_or_misnamed_row_file_is_named_and_not_counted() {
    none_counts(&[
        (|row| row["layouts"][0]["points"][0]["covered"] = json!("3334"), "more than the 3"),
        (|row| row["layouts"][0]["points"][0]["collided"] = json!(""), "different numbers"),
        (|row| row["layouts"][0]["points"][0]["covered"] = json!("0(9"), "has no `)`"),
        (|row| row["curve"]["coverage"] = json!([]), "`curve`: `coverage` has 0 entries"),
        (|row| row["greedy"]["coverage"] = json!([]), "`greedy`: `coverage` has 0 entries"),
        (|row| row["timing"]["cpu_seconds"] = json!([1.0, 2.0]), "`cpu_seconds` has 2 entries"),
        (|row| row["arm"] = json!("shared"), "belongs to the arm `shared`"),
        (|row| row["agents"] = json!(4_000_000_000u32), "not 2 to 1000"),
        (|row| row["seed"] = json!(2), "holds what belongs into iql_0.3_seed_2_n3.json"),
    ]);
}

/// A number of the first point.
fn metric<'a>(row: &'a mut Value, name: &str) -> &'a mut Value {
    &mut row["layouts"][0]["points"][0]["metrics"][name]
}

#[test]
fn a_row_with_numbers_that_cannot_be_is_not_counted() {
    none_counts(&[
        (|row| *metric(row, "coverage") = json!(1.5), "`coverage` is 1.5, not 0 to 1"),
        (|row| *metric(row, "coverage") = json!(-0.1), "`coverage` is -0.1, not 0 to 1"),
        (|row| *metric(row, "collisions_per_step") = json!(-1.0), "is -1.0, not 0 to 3"),
        (|row| *metric(row, "collision_floor") = json!(-0.5), "`collision_floor` is -0.5"),
        (|row| *metric(row, "team_return") = json!(null), "invalid type: null"),
        (
            |row| {
                let metrics = &mut row["layouts"][0]["points"][0]["metrics"];
                metrics.as_object_mut().unwrap().remove("collision_floor").unwrap();
            },
            "random, lr=0.3: `metrics` has no `collision_floor`",
        ),
        (|row| row["layouts"][0]["points"][0]["multipliers"] = json!({"collision": -1.0}), "-1"),
        (|row| row["horizon"] = json!(50), "`horizon` is 50, that of its `settings` 25"),
        (|row| row["trained"] = json!(300), "`trained` is 300, less than the 400 of `steps`"),
        (|row| row["greedy"]["coverage"] = json!([1.25]), "`greedy`: `coverage` is 1.25"),
        (|row| row["curve"]["coverage"][0] = json!(-2.0), "`curve`: `coverage` is -2"),
        (|row| row["timing"]["cpu_seconds"] = json!([-1.0]), "`cpu_seconds` is -1.0, not 0 or"),
    ]);
}

#[test]
fn means_are_those_of_the_episodes_beside_them() {
    none_counts(&[
        (
            |row| {
                let point = &mut row["layouts"][0]["points"][0];
                point["covered"] = json!("0123");
                point["metrics"]["coverage"] = json!(0.500_002);
            },
            "`coverage` is 0.500002, but `covered` makes 0.500000",
        ),
        (
            |row| {
                let point = &mut row["selection"]["points"][0];
                point["collided"] = json!("0055");
                point["metrics"]["collisions_per_step"] = json!(0.2);
            },
            "`collisions_per_step` is 0.2, but `collided` makes 0.100000",
        ),
    ]);
}

#[test]
fn a_row_without_its_layouts_and_points_is_not_counted() {
    none_counts(&[
        (|row| row["layouts"] = json!([]), "`layouts` is empty"),
        (|row| row["layouts"][1]["points"] = json!([]), "line: `points` is empty"),
        (|row| row["layouts"][1] = row["layouts"][0].clone(), "`layouts` has \"random\" twice"),
        (|row| row["layouts"][1]["layout"] = json!("moon\u{7}"), "`layout` is \"moon\\u{7}\""),
        (
            |row| {
                let twin = row["layouts"][0]["points"][0].clone();
                row["layouts"][0]["points"].as_array_mut().unwrap().push(twin);
            },
            "random: `points` has \"lr=0.3\" twice",
        ),
        (
            |row| {
                let mut other = row["layouts"][0]["points"][0].clone();
                (other["parameter"], other["covered"]) = (json!("lr=0.4"), json!("3"));
                row["layouts"][0]["points"].as_array_mut().unwrap().push(other);
            },
            "random, lr=0.4: `covered` tells of 1 episodes, that of lr=0.3 of 4",
        ),
        (|row| row["layouts"][0]["points"][0]["parameter"] = json!("a|b"), "is \"a|b\", which no"),
        (|row| row["selection"]["points"][0]["label"] = json!("a\nb"), "`label` is \"a\\nb\""),
    ]);
}

/// What is committed was made by this program, and all of it counts.
#[test]
fn every_committed_row_counts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/comparison");
    let rows = Rows::read(&folder);
    assert_eq!(rows.left_out, []);
    assert!(rows.trained.len() > 300, "{}", rows.trained.len());
}

/// Trained to a plateau, seeds may end at different lengths; what might have learned more does not count.
#[test]
fn a_shorter_seed_counts_where_its_curve_was_flat() {
    let folder = tempdir().unwrap();
    let plan = plan(&["iql_0.3"], 3);
    run(&plan, folder.path());
    run(&Plan { seeds: vec![2], steps: Some(600), ..plan }, folder.path());
    let results = gather(folder.path(), Arm::Raw);
    assert_eq!(results.team(3, "random").unwrap().points[0].seeds, 1);
    let [left_out] = &results.left_out[..] else { panic!("{:?}", results.left_out) };
    assert!(left_out.file.ends_with("iql_0.3_seed_1_n3.json"), "{left_out}");
    assert!(left_out.reason.contains("not flat after 400 steps, where another seed has 600"));

    rewrite(&left_out.file, |row| {
        row["greedy"]["step"] = (0..40).map(|look| json!(10 * look + 10)).collect();
        row["greedy"]["coverage"] = json!(vec![0.9; 40]);
        row["greedy"]["collisions_per_step"] = json!(vec![0.01; 40]);
        row["timing"]["cpu_seconds"] = json!(vec![0.1; 40]);
    });
    let results = gather(folder.path(), Arm::Raw);
    assert_eq!(results.left_out, []);
    let point = &results.team(3, "random").unwrap().points[0];
    assert_eq!((point.seeds, point.steps), (2, 500), "steps are the mean of both");
}

#[test]
fn folders_of_earlier_versions_are_gathered() {
    let folder = tempdir().unwrap();
    let plan = plan(&["iql_0.3"], 3);
    run(&plan, folder.path());
    fs::remove_dir_all(folder.path().join("rows")).unwrap();
    // Earlier versions had no arms.
    let runs = folder.path().join("runs");
    fs::rename(runs.join("raw/simple_spread_3"), runs.join("simple_spread_3")).unwrap();
    let place = runs.join("simple_spread_3/iql_0.3/seed_1");
    let point = |name: &str, collisions: f64| {
        json!({"parameter": name, "multiplier": null, "coverage": [0.333_333_34_f32, 1.0],
            "collisions": [collisions, 0.0], "team_return": [-20.0, -10.0]})
    };
    let played = |points: Value| json!({"layout": "random", "start_seed": 1, "points": points});
    let write = |place: &Path, points: Value| {
        fs::create_dir_all(place).unwrap();
        fs::write(place.join("played_random.json"), played(points).to_string()).unwrap();
    };
    write(&place, json!([point("lr=0.3", 0.08)]));
    let reference = place.parent().unwrap().parent().unwrap().join("reference");
    write(&reference, json!([point("random", 0.4), point("oracle", 0.0)]));
    let results = gather(folder.path(), Arm::Raw);
    let Team { points, random, .. } = results.team(3, "random").unwrap();
    assert_eq!((points[0].steps, points[0].parameter.as_str()), (400, "lr=0.3"));
    assert!((points[0].collisions.mean - 0.04).abs() < 1e-12);
    assert!((points[0].coverage.mean - 2.0 / 3.0).abs() < 1e-6);
    assert_eq!(random.unwrap().collisions, 0.2);
    // A file that cannot be read is named.
    fs::write(place.join("played_random.json"), "{").unwrap();
    let left_out = gather(folder.path(), Arm::Raw).left_out;
    assert!(left_out[0].reason.contains("played_random.json:1"), "{left_out:?}");
}

#[test]
fn results_with_impossible_numbers_are_refused() {
    let folder = tempdir().unwrap();
    assert_eq!(open(folder.path(), Arm::Raw).unwrap(), None);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/impossible_results.json");
    let file = folder.path().join("results.json");
    fs::copy(data, &file).unwrap();
    let error = open(folder.path(), Arm::Raw).unwrap_err().to_string();
    assert!(error.contains("`collisions` of cg_cmarl λ=0 is 1e308, not 0 to 3"), "{error}");
    rewrite(&file, |all| all["teams"][0]["points"][0]["collisions"]["mean"] = json!(0.01));
    assert!(open(folder.path(), Arm::Raw).unwrap().is_some());
}

#[test]
fn what_slows_one_training_down_does_not_count_against_its_method() {
    let folder = tempdir().unwrap();
    run(&plan(&["cg_cmarl", "iql_0.3", "iql_0.6"], 3), folder.path());
    let set = |row: &str, seconds: f64| {
        let file = folder.path().join("rows").join(row);
        rewrite(&file, |row| row["timing"]["cpu_seconds"] = json!([seconds]));
    };
    set("raw/iql_0.3_seed_1_n3.json", 2.0);
    set("raw/iql_0.6_seed_1_n3.json", 9.0);
    set("ours/cg_cmarl_seed_1_n3.json", 5.0);
    let results = gather(folder.path(), Arm::Raw);
    let learning = &results.team(3, "random").unwrap().learning;
    let seconds: Vec<_> = learning.iter().map(|model| model.cpu_seconds.unwrap()).collect();
    assert_eq!(seconds, [5.0, 2.0, 2.0]);
}

#[test]
fn seconds_of_one_processor_are_not_compared_with_those_of_another() {
    let folder = tempdir().unwrap();
    run(&plan(&["cg_cmarl", "iql_0.3", "iql_0.6", "vdn_0.3"], 3), folder.path());
    let set = |row: &str, processor: &str, seconds: f64| {
        let file = folder.path().join("rows").join(row);
        let timing = json!({ "processor": processor, "cpu_seconds": [seconds] });
        rewrite(&file, |row| row["timing"] = timing.clone());
    };
    set("ours/cg_cmarl_seed_1_n3.json", "slow", 5.0);
    set("raw/iql_0.3_seed_1_n3.json", "slow", 4.0);
    set("raw/iql_0.6_seed_1_n3.json", "fast", 1.0);
    set("raw/vdn_0.3_seed_1_n3.json", "fast", 1.0);
    let seconds = || {
        let results = gather(folder.path(), Arm::Raw);
        let learning = &results.team(3, "random").unwrap().learning;
        learning.iter().map(|model| model.cpu_seconds).collect::<Vec<_>>()
    };
    // Three rows by the fast one, but only the slow one timed what the others are compared with.
    assert_eq!(seconds(), [Some(5.0), Some(4.0), Some(4.0), None]);
    set("raw/vdn_0.3_seed_1_n3.json", "slow", 3.0);
    assert_eq!(seconds(), [Some(5.0), Some(4.0), Some(4.0), Some(3.0)]);
    set("ours/cg_cmarl_seed_1_n3.json", "fast", 2.0);
    set("raw/vdn_0.3_seed_1_n3.json", "fast", 1.0);
    assert_eq!(seconds(), [Some(2.0), Some(1.0), Some(1.0), Some(1.0)]);
}

#[test]
fn one_price_gives_the_pace_of_all_prices() {
    let folder = tempdir().unwrap();
    let prices = ["iql_0.0", "iql_0.3", "iql_0.6"];
    run(&plan(&[&["cg_cmarl", "iql_0.8"], &prices[..]].concat(), 3), folder.path());
    let set = |row: &str, processor: &str, seconds: f64| {
        let file = folder.path().join("rows").join(format!("{row}_seed_1_n3.json"));
        let timing = json!({ "processor": processor, "cpu_seconds": [seconds] });
        rewrite(&file, |row| row["timing"] = timing.clone());
    };
    prices.iter().for_each(|row| set(&format!("raw/{row}"), "old", 1.0));
    set("raw/iql_0.8", "new", 2.0);
    set("ours/cg_cmarl", "new", 5.0);
    let results = gather(folder.path(), Arm::Raw);
    let learning = &results.team(3, "random").unwrap().learning;
    let seconds: Vec<_> = learning.iter().map(|model| model.cpu_seconds).collect();
    // More rows were timed by the old one, but all methods by the new.
    assert_eq!(seconds, [Some(5.0), Some(2.0), Some(2.0), Some(2.0), Some(2.0)]);
}
