#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! Rows of the comparison: each leaves one small file, and the files alone say everything.

use cgcmarl::{environment::simple_spread::layout::Layout, run::Watch};
use cgcmarl_paper::reproduction::{
    JobEnd, LAYOUTS, Plan, ROWS, RowResult, Rows, Team, gather, is_done, marl_eval, open, run_job,
    run_reference,
};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::{TempDir, tempdir};

struct Silent;

impl Watch for Silent {
    fn round(&mut self, _steps: u64, _line: Option<&Value>) {}
}

/// A moment of training for each row.
fn plan(rows: &[&str], n_agents: usize) -> Plan {
    Plan {
        rows: ROWS.iter().filter(|row| rows.contains(&row.name)).collect(),
        agents: vec![n_agents],
        seeds: vec![1],
        layouts: vec![Layout::Random, LAYOUTS[1]],
        budget: cgcmarl_paper::reproduction::Budget::Quick,
        steps: Some(400),
        episodes: Some(4),
    }
}

fn run(plan: &Plan, folder: &Path) {
    for job in plan.jobs() {
        assert_eq!(run_job(plan, &job, folder, &mut Silent).unwrap(), JobEnd::Done);
    }
    for &n_agents in &plan.agents {
        run_reference(plan, n_agents, folder).unwrap();
    }
}

fn rewrite(file: &Path, change: impl Fn(&mut Value)) {
    let mut content: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    change(&mut content);
    fs::write(file, content.to_string()).unwrap();
}

/// Two rows of a team of three.
fn small() -> (Plan, TempDir) {
    let (plan, folder) = (plan(&["cg_cmarl", "iql_0.3"], 3), tempdir().unwrap());
    run(&plan, folder.path());
    (plan, folder)
}

#[test]
fn row_files_alone_tell_everything_and_count_as_done() {
    let (plan, folder) = small();
    let whole = gather(folder.path());
    fs::remove_dir_all(folder.path().join("runs")).unwrap();
    assert!(plan.jobs().iter().all(|job| is_done(&plan, job, folder.path())));
    run(&plan, folder.path());
    assert!(!folder.path().join("runs").exists(), "a row that is done was trained again");
    assert_eq!(gather(folder.path()), whole);
    assert_eq!(open(folder.path()).unwrap(), Some(whole.clone()));

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
    assert!(!longer.jobs().iter().any(|job| is_done(&longer, job, folder.path())));
}

#[test]
fn a_row_file_holds_scores_under_their_labels_and_no_weights() {
    let (_, folder) = small();
    let read = |name: &str| RowResult::read(&folder.path().join("rows").join(name)).unwrap();
    let row = read("iql_0.3_seed_1_n3.json");
    assert_eq!((row.steps, row.agents, row.config.len()), (400, 3, 8));
    let point = &row.layout("line").unwrap().points[0];
    assert_eq!(
        (point.score.label.as_str(), point.parameter.as_str()),
        ("local_ratio=0.3", "lr=0.3")
    );
    let mean = f64::from(point.covered.iter().sum::<u32>()) / (3.0 * point.covered.len() as f64);
    assert!((point.score.mean("coverage") - mean).abs() < 1e-6, "{point:?}");
    let steps = 25.0 * point.collided.len() as f64;
    let mean = f64::from(point.collided.iter().sum::<u32>()) / steps;
    assert!((point.score.mean("collisions_per_step") - mean).abs() < 1e-9, "{point:?}");
    let sweep = &read("cg_cmarl_seed_1_n3.json").layouts[0].points;
    assert_eq!(sweep[4].score.multipliers.get("collision"), Some(&0.5));
    assert_eq!(sweep[4].score.label, "λ=0.5");
}

#[test]
fn a_row_of_another_configuration_is_named_and_not_counted() {
    let (plan, folder) = small();
    let file = folder.path().join("rows/iql_0.3_seed_1_n3.json");
    rewrite(&file, |row| row["config"] = json!("00000000"));
    let results = gather(folder.path());
    let [left_out] = &results.left_out[..] else { panic!("{:?}", results.left_out) };
    assert_eq!(left_out.file, file);
    assert!(left_out.reason.contains("than configs/baselines/iql_0.3.toml stands for now"));
    let team = results.team(3, "random").unwrap();
    assert!(team.points.iter().all(|point| point.algorithm == "cg_cmarl"));
    // Nor is it replaced in silence.
    let job = plan.jobs()[1];
    let error = run_job(&plan, &job, folder.path(), &mut Silent).unwrap_err().to_string();
    assert!(error.contains("was trained with other settings: choose another folder"), "{error}");
    let longer = Plan { steps: Some(500), ..plan };
    let error = run_job(&longer, &job, folder.path(), &mut Silent).unwrap_err().to_string();
    assert!(error.contains("(400 steps, not 500)"), "{error}");
}

#[test]
fn a_damaged_or_misnamed_row_file_is_named_and_not_counted() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 5] = [
        (|row| row["layouts"][0]["points"][0]["covered"][0] = json!(4), "more than the 3"),
        (|row| row["layouts"][0]["points"][0]["collided"] = json!([]), "different numbers"),
        (|row| row["curve"]["coverage"] = json!([]), "`curve`"),
        (|row| row["agents"] = json!(4_000_000_000u32), "not 2 to 1000"),
        (|row| row["seed"] = json!(2), "holds what belongs into iql_0.3_seed_2_n3.json"),
    ];
    let (_, folder) = small();
    let file = folder.path().join("rows/iql_0.3_seed_1_n3.json");
    let good = fs::read(&file).unwrap();
    for (change, reason) in changes {
        rewrite(&file, change);
        let left_out = gather(folder.path()).left_out;
        assert!(left_out.len() == 1 && left_out[0].reason.contains(reason), "{left_out:?}");
        fs::write(&file, &good).unwrap();
    }
    assert_eq!(gather(folder.path()).left_out, []);
}

#[test]
fn seeds_of_one_row_have_the_same_length() {
    let folder = tempdir().unwrap();
    let plan = plan(&["iql_0.3"], 3);
    run(&plan, folder.path());
    run(&Plan { seeds: vec![2], steps: Some(600), ..plan }, folder.path());
    let results = gather(folder.path());
    assert_eq!(results.team(3, "random").unwrap().points[0].seeds, 1);
    assert!(results.left_out[0].reason.contains("600 steps, an earlier seed for 400"));
}

#[test]
fn the_curve_of_six_agents_leaves_the_three_beside_them_out() {
    let folder = tempdir().unwrap();
    run(&plan(&["cg_cmarl"], 6), folder.path());
    let metrics = folder.path().join("runs/simple_spread_6/cg_cmarl/seed_1/metrics.jsonl");
    let lines: Vec<Value> = fs::read_to_string(metrics)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let rows = Rows::read(folder.path());
    let curve = &rows.trained[0].curve;
    let own: Vec<&Value> = lines.iter().filter(|line| line["agents"] == 6).collect();
    assert!(!own.is_empty() && curve.len() == own.len());
    for (line, team_return) in own.iter().zip(&curve.team_return) {
        assert!((line["team_return"].as_f64().unwrap() - team_return).abs() < 1e-5);
        assert_ne!(line["teams"]["3"]["team_return"], line["team_return"]);
    }
    let three = lines.iter().filter(|line| line["teams"]["3"].is_object() || line["agents"] == 3);
    assert!(three.count() > 0, "no smaller team was trained");
    let first = &marl_eval(&rows)["simple_spread"]["simple_spread_6"]["cg_cmarl"]["seed_1"];
    assert_eq!(first["step_0"]["step_count"], curve.step[0]);
}

#[test]
fn marl_eval_gets_every_curve_once_and_every_final_score() {
    let (_, folder) = small();
    let written = marl_eval(&Rows::read(folder.path()));
    let names =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let learned = &written["simple_spread"];
    assert_eq!(names(learned), ["simple_spread_3"]);
    assert_eq!(names(&learned["simple_spread_3"]), ["cg_cmarl", "iql_0.3"]);
    let run = &learned["simple_spread_3"]["cg_cmarl"]["seed_1"];
    assert_eq!(names(run).len(), 10 + 1);
    let achieved = &written["simple_spread_final"];
    assert_eq!(names(achieved), ["simple_spread_3", "simple_spread_3_line"]);
    let on_line = &achieved["simple_spread_3_line"];
    assert_eq!(names(on_line).len(), 9 + 1);
    let last = &on_line["cg_cmarl λ=0.5"]["seed_1"];
    assert_eq!(names(last), ["step_0", "absolute_metrics"]);
    // marl-eval asks for every final metric at every step.
    for metric in names(&last["absolute_metrics"]) {
        assert!(last["step_0"][&metric].is_array() && run["step_3"][&metric].is_array());
    }
}

#[test]
fn what_a_kill_leaves_in_its_first_moment_is_trained_anew() {
    let (plan, folder) = (plan(&["iql_0.3"], 3), tempdir().unwrap());
    let job = plan.jobs()[0];
    let place = job.place(folder.path());
    fs::create_dir_all(place.join("checkpoints")).unwrap();
    fs::write(place.join("checkpoints/.unfinished-step_000000000000.safetensors"), "x").unwrap();
    fs::write(place.join("metrics.jsonl"), "").unwrap();
    run(&plan, folder.path());
    // Something that was trained is not ours to remove.
    let other = Plan { seeds: vec![2], ..plan };
    let place = other.jobs()[0].place(folder.path());
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("model.safetensors"), "weights").unwrap();
    assert!(run_job(&other, &other.jobs()[0], folder.path(), &mut Silent).is_err());
    assert!(place.join("model.safetensors").exists());
}

#[test]
fn folders_of_earlier_versions_are_gathered() {
    let folder = tempdir().unwrap();
    let plan = plan(&["iql_0.3"], 3);
    run(&plan, folder.path());
    fs::remove_dir_all(folder.path().join("rows")).unwrap();
    let place = plan.jobs()[0].place(folder.path());
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
    let results = gather(folder.path());
    let Team { points, random, .. } = results.team(3, "random").unwrap();
    assert_eq!((points[0].steps, points[0].parameter.as_str()), (400, "lr=0.3"));
    assert!((points[0].collisions.mean - 0.04).abs() < 1e-12);
    assert!((points[0].coverage.mean - 2.0 / 3.0).abs() < 1e-6);
    assert_eq!(random.unwrap().collisions, 0.2);
    // A file that cannot be read is named.
    fs::write(place.join("played_random.json"), "{").unwrap();
    let left_out = gather(folder.path()).left_out;
    assert!(left_out[0].reason.contains("played_random.json:1"), "{left_out:?}");
}

#[test]
fn results_with_impossible_numbers_are_refused() {
    let folder = tempdir().unwrap();
    assert_eq!(open(folder.path()).unwrap(), None);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/impossible_results.json");
    let file = folder.path().join("results.json");
    fs::copy(data, &file).unwrap();
    let error = open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("`collisions` of cg_cmarl λ=0 is 1e308, not 0 to 3"), "{error}");
    rewrite(&file, |all| all["teams"][0]["points"][0]["collisions"]["mean"] = json!(0.01));
    assert!(open(folder.path()).unwrap().is_some());
}
