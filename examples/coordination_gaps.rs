//! Measures every coordinator on a folder of factor graphs with proven optima.
#![expect(clippy::print_stdout, reason = "a report")]

use cgcmarl::coordination::{Anytime, AnytimeOptions, Coordinator, Problem};
use std::path::PathBuf;
use std::time::Instant;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder with index.json"));
    let index: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("index.json")).expect("index"))
            .expect("json");
    let kicks = std::env::args().nth(2).map_or(3, |k| k.parse().expect("kicks"));
    let restarts = std::env::args().nth(3).map_or(240, |k| k.parse().expect("restarts"));
    let mut families = std::collections::BTreeMap::<String, Vec<f64>>::new();
    for instance in index["instances"].as_array().expect("instances") {
        let name = instance["file"].as_str().expect("file");
        let problem = Problem::read(&folder.join(name), None).expect("problem");
        let optimum = instance["optimum"].as_f64().expect("optimum");
        let random = instance["random_baseline"].as_f64().unwrap_or(0.0);
        let mut solver =
            Anytime::new(AnytimeOptions { kicks, restarts, ..AnytimeOptions::default() });
        let mut action = Vec::new();
        let repeats = 20;
        let answer = solver.coordinate(&problem.graph, &problem.tables, &mut action);
        let micros = (0..repeats)
            .map(|_| {
                let start = Instant::now();
                solver.coordinate(&problem.graph, &problem.tables, &mut action);
                start.elapsed().as_secs_f64() * 1e6
            })
            .fold(f64::INFINITY, f64::min);
        let gap = 100.0 * (optimum - answer.value) / (optimum - random);
        families.entry(instance["family"].as_str().unwrap_or("").into()).or_default().push(gap);
        println!("{name:32} gap {gap:8.3} % {micros:9.1} us residual {}", answer.residual);
    }
    for (family, gaps) in families {
        println!("{family:20} mean gap {:.3} %", gaps.iter().sum::<f64>() / gaps.len() as f64);
    }
}
