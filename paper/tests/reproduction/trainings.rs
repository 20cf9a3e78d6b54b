//! How rows are trained, followed and compared.

use super::{Silent, plan, run, run_in, small};
use cgcmarl::{
    environment::simple_spread::layout::Layout,
    evaluation::Estimate,
    run::{Model, Session, Watch},
};
use cgcmarl_paper::reproduction::{
    Arm, Budget, JobEnd, Places, Plan, ROWS, Row, RowResult, Rows, gather, is_done, marl_eval,
    run_job, run_reference, same_again,
};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};
use tempfile::tempdir;

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

/// A key that is newer than a file stands for its default; a number or a setting that differs is seen.
#[test]
fn a_row_that_lacks_a_newer_key_comes_out_the_same() {
    let (plan, folder) = (plan(&["iql_0.3"], 3), tempdir().unwrap());
    run(&plan, folder.path());
    let again = Rows::read(folder.path()).trained.remove(0);
    let mut known = again.clone();
    let learning = known.settings["iql"]["learning"].as_object_mut().unwrap();
    assert!(learning.remove("time_limit_ends").is_some());
    known.config = known.settings_digest();
    assert!(known.config != again.config && same_again(&plan, &known, &again).unwrap());
    known.trained += 1;
    assert!(!same_again(&plan, &known, &again).unwrap());
    let mut other = again.clone();
    other.settings["iql"]["learning"]["gamma"] = 0.5.into();
    assert!(!same_again(&plan, &other, &again).unwrap());
}

/// Earlier versions ended a training before its steps were done where it learned no more.
#[test]
fn a_training_that_ended_early_counts_for_nobody() {
    let (plan, folder) = (plan(&["iql_0.3"], 3), tempdir().unwrap());
    let short = Plan { steps: Some(200), ..plan.clone() };
    run(&short, folder.path());
    let (job, places) = (plan.jobs()[0], Places::new(folder.path()));
    let (config, place) = (plan.config(&job).unwrap(), job.place(&places.runs));
    fs::write(place.join("config.toml"), config.to_toml()).unwrap();
    fs::remove_dir_all(folder.path().join("rows")).unwrap();
    assert_eq!(Model::open(&place).unwrap().steps, 200);
    let error = run_job(&plan, &job, &places, &mut Silent).unwrap_err().to_string();
    assert!(error.contains("it ended after 200 steps"), "{error}");
}

/// Asks to stop at once.
struct Impatient;

impl Watch for Impatient {
    fn round(&mut self, _steps: u64, _line: Option<&Value>) {}

    fn stop(&self) -> bool {
        true
    }
}

/// Leaves a row as if its training had gone on for so many steps, and were flat at the end or not.
fn leave_row(steps: u64, is_flat: bool, folder: &Path) {
    let short = plan(&["iql_0.3"], 3);
    let long = Plan { steps: Some(steps), ..short.clone() };
    run(&short, folder);
    let file = Rows::read(folder).trained[0].place(folder);
    let mut tree: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let config = long.config(&long.jobs()[0]).unwrap();
    let explored = config.options["exploration"]["steps"].as_integer().unwrap();
    tree["settings"]["training"]["total_steps"] = steps.into();
    tree["settings"]["iql"]["exploration"]["steps"] = explored.into();
    (tree["steps"], tree["trained"]) = (steps.into(), steps.into());
    let looks = 1..=40_u32;
    let coverage = |look| if is_flat { 0.9 } else { 0.02 * f64::from(look) };
    tree["greedy"]["step"] = looks.clone().map(|look| u64::from(look) * steps / 40).collect();
    tree["greedy"]["coverage"] = looks.map(coverage).collect();
    tree["greedy"]["collisions_per_step"] = vec![0.0; 40].into();
    tree["timing"]["cpu_seconds"] = vec![1.0; 40].into();
    let changed: RowResult = serde_json::from_value(tree.clone()).unwrap();
    tree["config"] = changed.settings_digest().into();
    fs::write(&file, tree.to_string()).unwrap();
    fs::remove_dir_all(folder.join("runs")).unwrap();
}

#[test]
fn who_still_learns_is_trained_again_for_twice_as_long() {
    let plan = Plan { budget: Budget::Plateau, steps: None, ..plan(&["iql_0.3"], 3) };
    let job = plan.jobs()[0];
    let stand = |steps: u64, is_flat: bool| {
        let folder = tempdir().unwrap();
        leave_row(steps, is_flat, folder.path());
        let places = Places::new(folder.path());
        let done = is_done(&plan, &job, &places);
        let end = run_job(&plan, &job, &places, &mut Impatient).unwrap();
        assert_eq!(end, if done { JobEnd::Done } else { JobEnd::Stopped });
        assert_eq!(
            Rows::read(folder.path()).trained[0].steps,
            steps,
            "kept until there is a longer one"
        );
        let runs = job.place(&places.runs);
        let begun = fs::read_dir(runs.parent().unwrap()).into_iter().flatten();
        let begun: Vec<_> =
            begun.map(|run| run.unwrap().file_name().into_string().unwrap()).collect();
        (done, begun)
    };
    assert_eq!(stand(300_000, true), (true, vec![]));
    assert_eq!(stand(300_000, false), (false, vec!["seed_1_600000_steps".to_owned()]));
    assert_eq!(stand(600_000, false), (false, vec!["seed_1_1200000_steps".to_owned()]));
    assert_eq!(stand(2_000_000, false), (true, vec![]), "as long as may be");
}
