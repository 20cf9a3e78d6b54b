#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! Rows of the comparison: each leaves one small file, and the files alone say everything.

use cgcmarl::{
    checkpoint::Checkpoint,
    environment::simple_spread::layout::Layout,
    evaluation::Estimate,
    run::{End, Model, Session, Watch},
};
use cgcmarl_paper::reproduction::{
    Arm, Budget, JobEnd, LAYOUTS, Places, Plan, ROWS, Row, RowResult, Rows, Team, gather, is_done,
    marl_eval, open, run_job, run_reference,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};
use tempfile::{TempDir, tempdir};

struct Silent;

impl Watch for Silent {
    fn round(&mut self, _steps: u64, _line: Option<&Value>) {}
}

/// A moment of training for each row.
fn plan(rows: &[&str], n_agents: usize) -> Plan {
    Plan {
        rows: ROWS
            .iter()
            .filter(|row| row.arm.belongs_to(Arm::Raw) && rows.contains(&row.name.as_str()))
            .collect(),
        agents: vec![n_agents],
        seeds: vec![1],
        layouts: vec![Layout::Random, LAYOUTS[1]],
        budget: Budget::Quick,
        steps: Some(400),
        episodes: Some(4),
    }
}

fn run(plan: &Plan, folder: &Path) {
    run_in(plan, &Places::new(folder));
}

fn run_in(plan: &Plan, places: &Places) {
    for job in plan.jobs() {
        assert_eq!(run_job(plan, &job, places, &mut Silent).unwrap(), JobEnd::Done);
    }
    for &n_agents in &plan.agents {
        run_reference(plan, Arm::Raw, n_agents, places).unwrap();
    }
}

fn rewrite(file: &Path, change: impl Fn(&mut Value)) {
    let mut content: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    change(&mut content);
    fs::write(file, content.to_string()).unwrap();
}

/// Puts the digest that goes with the settings into a file that was changed.
fn redigest(file: &Path) {
    let message = gather(file.ancestors().nth(3).unwrap(), Arm::Raw).left_out[0].reason.clone();
    assert!(message.contains("digest"), "{message}");
    let digest = RowResult::read(file).unwrap().settings_digest();
    rewrite(file, |row| row["config"] = json!(digest));
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

#[test]
fn a_damaged_or_misnamed_row_file_is_named_and_not_counted() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 9] = [
        (|row| row["layouts"][0]["points"][0]["covered"] = json!("3334"), "more than the 3"),
        (|row| row["layouts"][0]["points"][0]["collided"] = json!(""), "different numbers"),
        (|row| row["layouts"][0]["points"][0]["covered"] = json!("0(9"), "has no `)`"),
        (|row| row["curve"]["coverage"] = json!([]), "`curve`"),
        (|row| row["greedy"]["coverage"] = json!([]), "`greedy`"),
        (|row| row["timing"]["cpu_seconds"] = json!([1.0, 2.0]), "`cpu_seconds`"),
        (|row| row["arm"] = json!("shared"), "belongs to the arm `shared`"),
        (|row| row["agents"] = json!(4_000_000_000u32), "not 2 to 1000"),
        (|row| row["seed"] = json!(2), "holds what belongs into iql_0.3_seed_2_n3.json"),
    ];
    let (_, folder) = small();
    let file = folder.path().join("rows/raw/iql_0.3_seed_1_n3.json");
    let good = fs::read(&file).unwrap();
    for (change, reason) in changes {
        rewrite(&file, change);
        let left_out = gather(folder.path(), Arm::Raw).left_out;
        assert!(left_out.len() == 1 && left_out[0].reason.contains(reason), "{left_out:?}");
        fs::write(&file, &good).unwrap();
    }
    assert_eq!(gather(folder.path(), Arm::Raw).left_out, []);
}

#[test]
fn seeds_of_one_row_have_the_same_length() {
    let folder = tempdir().unwrap();
    let plan = plan(&["iql_0.3"], 3);
    run(&plan, folder.path());
    run(&Plan { seeds: vec![2], steps: Some(600), ..plan }, folder.path());
    let results = gather(folder.path(), Arm::Raw);
    assert_eq!(results.team(3, "random").unwrap().points[0].seeds, 1);
    assert!(results.left_out[0].reason.contains("600 steps, an earlier seed for 400"));
}

#[test]
fn the_curve_of_six_agents_leaves_the_three_beside_them_out() {
    let folder = tempdir().unwrap();
    run(&plan(&["cg_cmarl"], 6), folder.path());
    let metrics = folder.path().join("runs/ours/simple_spread_6/cg_cmarl/seed_1/metrics.jsonl");
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
    let first =
        &marl_eval(&rows, Arm::Raw)["simple_spread"]["simple_spread_6"]["cg_cmarl"]["seed_1"];
    assert_eq!(first["step_0"]["step_count"], curve.step[0]);
}

#[test]
fn marl_eval_gets_every_curve_once_and_every_final_score() {
    let (_, folder) = small();
    let written = marl_eval(&Rows::read(folder.path()), Arm::Raw);
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
    let place = job.place(&folder.path().join("runs"));
    fs::create_dir_all(place.join("checkpoints")).unwrap();
    fs::write(place.join("checkpoints/.unfinished-step_000000000000.safetensors"), "x").unwrap();
    fs::write(place.join("metrics.jsonl"), "").unwrap();
    run(&plan, folder.path());
    // Something that was trained is not ours to remove.
    let other = Plan { seeds: vec![2], ..plan };
    let place = other.jobs()[0].place(&folder.path().join("runs"));
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("model.safetensors"), "weights").unwrap();
    assert!(run_job(&other, &other.jobs()[0], &Places::new(folder.path()), &mut Silent).is_err());
    assert!(place.join("model.safetensors").exists());
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
fn a_row_comes_out_the_same_again_and_a_known_one_is_not_trained() {
    let (plan, folder) = small();
    let again = tempdir().unwrap();
    run(&plan, again.path());
    let known = tempdir().unwrap();
    let places = Places { known: Some(folder.path().into()), ..Places::new(known.path()) };
    assert!(plan.jobs().iter().all(|job| is_done(&plan, job, &places)));
    run_in(&plan, &places);
    assert!(!known.path().join("runs").exists(), "a known row was trained again");
    for name in ["ours/cg_cmarl_seed_1_n3.json", "raw/iql_0.3_seed_1_n3.json"] {
        let [first, second, copy] = [&folder, &again, &known]
            .map(|folder| RowResult::read(&folder.path().join("rows").join(name)).unwrap());
        assert_eq!(first.without_timing(), second.without_timing(), "{name}");
        assert_eq!(first, copy, "{name}");
        let rerun = Plan::of_row(&first).unwrap();
        assert_eq!(rerun.config(&rerun.jobs()[0]).unwrap(), {
            let job = plan.jobs().into_iter().find(|job| job.row.name == first.row).unwrap();
            plan.config(&job).unwrap()
        });
    }
}

#[test]
fn nobody_notices_a_look() {
    // The same training, followed and not.
    let (plan, folder) = (plan(&["iql_0.3"], 3), tempdir().unwrap());
    run(&plan, folder.path());
    let job = plan.jobs()[0];
    let config = plan.config(&job).unwrap();
    let alone = folder.path().join("alone");
    let mut session = Session::take_up(&config, &alone).unwrap().unwrap();
    session.run(&mut Silent).unwrap();
    for name in ["model.safetensors", "metrics.jsonl"] {
        let [followed, alone] = [job.place(&folder.path().join("runs")), alone.clone()]
            .map(|place| fs::read(place.join(name)).unwrap());
        assert!(followed == alone, "{name} differs");
    }
}

#[test]
fn the_ladder_and_the_stock_world_are_rows_like_others() {
    let folder = tempdir().unwrap();
    for (arm, names) in [
        (Arm::Ladder, &["up_00_paper", "up_05_occupancy", "without_tied"][..]),
        (Arm::Stock, &["cg_cmarl", "vdn"]),
    ] {
        let of_arm = |row: &&'static Row| row.arm == arm && names.contains(&row.name.as_str());
        let rows: Vec<&Row> = ROWS.iter().filter(of_arm).collect();
        assert_eq!(rows.len(), names.len());
        let plan = Plan { rows, layouts: vec![Layout::Random], ..plan(&[], 3) };
        let places = Places::new(folder.path());
        for job in plan.jobs() {
            assert_eq!(run_job(&plan, &job, &places, &mut Silent).unwrap(), JobEnd::Done);
        }
        run_reference(&plan, arm, 3, &places).unwrap();
        let results = gather(folder.path(), arm);
        assert_eq!(results.left_out, []);
        let team = results.team(3, "random").unwrap();
        let found: BTreeSet<&str> = team.points.iter().map(|point| point.row.as_str()).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), names);
        assert!(team.random.is_some() && team.points.iter().all(|point| point.team_return.0 < 0.0));
    }
    // Neither shows up in the comparison.
    assert!(gather(folder.path(), Arm::Raw).teams.is_empty());
}

#[test]
fn methods_are_compared_over_seeds_episodes_and_layouts() {
    let (_, folder) = small();
    let results = gather(folder.path(), Arm::Raw);
    let [ours, iql] = &results.reliability[..] else { panic!("{:?}", results.reliability) };
    assert_eq!((ours.algorithm.as_str(), iql.algorithm.as_str()), ("cg_cmarl", "iql"));
    assert_eq!((ours.tasks, ours.ours_better.mean), (2, 0.5));
    for method in [ours, iql] {
        let Estimate { mean, low, high } = method.iqm;
        assert!(0.0 <= low && low <= mean + 1e-12 && high <= 1.0, "{method:?}");
        assert!(method.profile.is_sorted_by(|left, right| left >= right));
    }
    let team = results.team(3, "random").unwrap();
    assert_eq!(team.chosen.len(), 2 * 4);
    assert!(team.chosen.iter().all(|chosen| chosen.parameters.len() == 1), "{:?}", team.chosen);
    for front in &team.fronts {
        assert!(front.from_nadir.mean <= front.from_worst.mean + 1e-12, "{front:?}");
    }
    assert!(team.points.iter().all(|point| !point.converged && point.per_seed.len() == 1));
}

/// Ends a training once it has this many steps.
struct EndAt(u64);

impl Watch for EndAt {
    fn round(&mut self, _steps: u64, _line: Option<&Value>) {}

    fn wants_model(&self, steps: u64) -> bool {
        steps >= self.0
    }

    fn model(&mut self, _steps: u64, model: &Checkpoint<'_>) -> cgcmarl::Result<bool> {
        assert!(model.not_finite().is_none());
        Ok(false)
    }
}

#[test]
fn a_training_that_ends_early_is_finished_and_counts_for_a_plateau_only() {
    let (plan, folder) = (plan(&["iql_0.3"], 3), tempdir().unwrap());
    let (job, places) = (plan.jobs()[0], Places::new(folder.path()));
    let (config, place) = (plan.config(&job).unwrap(), job.place(&places.runs));
    let mut session = Session::take_up(&config, &place).unwrap().unwrap();
    assert_eq!(session.run(&mut EndAt(200)).unwrap(), End::Finished);
    drop(session);
    assert!(Session::take_up(&config, &place).unwrap().is_none());
    assert_eq!(Model::open(&place).unwrap().steps, 200);
    let error = run_job(&plan, &job, &places, &mut Silent).unwrap_err().to_string();
    assert!(error.contains("it ended after 200 steps"), "{error}");
    // As its follower leaves it.
    fs::write(
        place.join("greedy.json"),
        r#"{"curve":{"start_seed":1,"episodes":4,"step":[200],"coverage":[0.5],
            "collisions_per_step":[0.1]},"cpu_seconds":[0.5]}"#,
    )
    .unwrap();
    let flat = Plan { budget: Budget::Plateau, ..plan.clone() };
    assert_eq!(run_job(&flat, &job, &places, &mut Silent).unwrap(), JobEnd::Done);
    assert!(is_done(&flat, &job, &places) && !is_done(&plan, &job, &places));
    let row = &Rows::read(folder.path()).trained[0];
    assert_eq!((row.trained, row.steps, row.budget.as_str()), (200, 400, "plateau"));
}
