#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! Rows of the comparison: each leaves one small file, and the files alone say everything.

mod row_files;
mod trainings;

use cgcmarl::{environment::simple_spread::layout::Layout, run::Watch};
use cgcmarl_paper::reproduction::{
    Arm, Budget, JobEnd, LAYOUTS, Places, Plan, ROWS, RowResult, gather, run_job, run_reference,
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
