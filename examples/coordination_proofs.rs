//! Proves the optimum of every factor graph of a folder and measures the bound.
#![expect(clippy::print_stdout, reason = "a report")]

use cgcmarl::coordination::{Exact, ExactOptions, Problem, upper_bound};
use std::path::PathBuf;
use std::time::Instant;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder with index.json"));
    let only = std::env::args().nth(2).unwrap_or_default();
    let index: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("index.json")).expect("index"))
            .expect("json");
    for instance in index["instances"].as_array().expect("instances") {
        let name = instance["file"].as_str().expect("file");
        if !name.contains(&only) {
            continue;
        }
        if name.contains(".wcsp") {
            continue;
        }
        let evidence = instance["evidence_file"].as_str().map(|file| folder.join(file));
        let problem = match Problem::read(&folder.join(name), evidence.as_deref()) {
            Ok(problem) => problem,
            Err(error) => {
                println!("{error}");
                continue;
            }
        };
        let optimum =
            instance["optimum"].as_f64().or(instance["optimum_log"].as_f64()).expect("optimum");
        let random = instance["random_baseline"].as_f64().unwrap_or(0.0);
        let start = Instant::now();
        let bound = upper_bound(&problem.graph, &problem.tables, 50, f64::NEG_INFINITY);
        let bound_ms = start.elapsed().as_secs_f64() * 1e3;
        let slack = 100.0 * (bound - optimum) / (optimum - random);
        let mut action = Vec::new();
        let options = ExactOptions { time_limit: 10.0, ..ExactOptions::default() };
        let start = Instant::now();
        let answer = Exact::new(options).solve(&problem, &mut action);
        let ms = start.elapsed().as_secs_f64() * 1e3;
        println!(
            "{name:32} slack {slack:7.2} % in {bound_ms:7.2} ms; exact off {:9.2e} proven {} {:8} nodes {ms:9.2} ms (toulbar2 {} s)",
            optimum - answer.value,
            answer.converged,
            answer.iterations,
            instance["tb2_secs"]
        );
    }
}
