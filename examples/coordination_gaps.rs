//! Measures the acting coordinators on a folder of factor graphs with proven optima, beside
//! coordinate ascent from 20 random starts, and Max-Sum on 5,000 agents.
#![expect(clippy::print_stdout, reason = "a report")]

use cgcmarl::argmax::argmax;
use cgcmarl::coordination::{
    Anytime, AnytimeOptions, Coordinator, FactorTables, MaxSum, MaxSumOptions, Problem,
};
use cgcmarl::graph::CoordinationGraph;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// Whole numbers from a counter.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 24
    }
}

/// The best of 20 random joint actions, each improved agent by agent until none gains.
fn coordinate_ascent(graph: &CoordinationGraph, tables: &FactorTables) -> f64 {
    let mut sample = noise(11);
    let mut best = f64::NEG_INFINITY;
    let mut scores = Vec::new();
    for _ in 0..20 {
        let mut action: Vec<usize> =
            tables.n_actions().iter().map(|&n| sample() as usize % n).collect();
        let mut gained = true;
        while gained {
            gained = false;
            for agent in 0..action.len() {
                scores.clear();
                scores.extend_from_slice(tables.agent(agent));
                for membership in graph.memberships_of(agent) {
                    let members = graph.region(membership.region);
                    let later = &members[membership.slot + 1..];
                    let stride: usize = later.iter().map(|&k| tables.n_actions()[k]).product();
                    let entry = tables.entry(members, &action) - action[agent] * stride;
                    let row = tables.region(membership.region)[entry..].iter().step_by(stride);
                    scores.iter_mut().zip(row).for_each(|(score, &x)| *score += x);
                }
                let to = argmax(&scores);
                if scores[to] > scores[action[agent]] + 1e-5 {
                    action[agent] = to;
                    gained = true;
                }
            }
        }
        best = best.max(tables.value(graph, &action));
    }
    best
}

/// The smallest time of some calls, in microseconds, and the value of the last.
fn timed(repeats: usize, mut call: impl FnMut() -> f64) -> (f64, f64) {
    let mut value = call();
    let mut fastest = f64::INFINITY;
    for _ in 0..repeats {
        let start = Instant::now();
        value = call();
        fastest = fastest.min(start.elapsed().as_secs_f64() * 1e6);
    }
    (fastest, value)
}

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder with index.json"));
    let text = std::fs::read(folder.join("index.json")).expect("index");
    let index: serde_json::Value = serde_json::from_slice(&text).expect("json");
    let mut families = BTreeMap::<String, Vec<[f64; 6]>>::new();
    for instance in index["instances"].as_array().expect("instances") {
        let name = instance["file"].as_str().expect("file");
        let problem = Problem::read(&folder.join(name), None).expect("problem");
        let (graph, tables) = (&problem.graph, &problem.tables);
        let optimum = instance["optimum"].as_f64().expect("optimum");
        let random = instance["random_baseline"].as_f64().unwrap_or(0.0);
        let gap = |value: f64| 100.0 * (optimum - value) / (optimum - random);
        let mut action = Vec::new();
        let mut plain = MaxSum::new(MaxSumOptions::default());
        let mut anytime = Anytime::new(AnytimeOptions::default());
        let plain = timed(20, || plain.coordinate(graph, tables, &mut action).value);
        let ours = timed(20, || anytime.coordinate(graph, tables, &mut action).value);
        let ascent = timed(3, || coordinate_ascent(graph, tables));
        let row = [gap(plain.1), plain.0, gap(ours.1), ours.0, gap(ascent.1), ascent.0];
        println!("{name:32} {}", columns(&row));
        let size = if graph.n_agents() > 8 { " N>8" } else { "" };
        let family = format!("{}{size}", instance["family"].as_str().unwrap_or(""));
        families.entry(family).or_default().push(row);
    }
    println!("\nmeans: % and µs of max_sum, anytime, coordinate ascent from 20 starts");
    for (family, rows) in families {
        let mean: [f64; 6] =
            std::array::from_fn(|c| rows.iter().map(|r| r[c]).sum::<f64>() / rows.len() as f64);
        println!("{family:32} {}", columns(&mean));
    }
    five_thousand();
}

fn columns(row: &[f64; 6]) -> String {
    row.map(|x| format!("{x:9.3}")).join(" ")
}

fn five_thousand() {
    let mut random_bits = noise(7);
    let mut sample = || (random_bits() % 20_001) as f32 / 10_000.0 - 1.0;
    let positions: Vec<[f32; 2]> = (0..5000).map(|_| [sample(), sample()]).collect();
    let graph = CoordinationGraph::k_nearest(&positions, 3);
    let mut tables = FactorTables::zeros(&graph, 25);
    tables.regions_mut().iter_mut().for_each(|x| *x = sample());
    let mut action = Vec::new();
    let mut plain = MaxSum::new(MaxSumOptions::default());
    let mut anytime = Anytime::new(AnytimeOptions::default());
    let plain = timed(10, || plain.coordinate(&graph, &tables, &mut action).value).0;
    let ours = timed(5, || anytime.coordinate(&graph, &tables, &mut action).value).0;
    println!(
        "5,000 agents, {} pairs: max_sum {plain:.0} µs, anytime {ours:.0} µs",
        graph.n_regions()
    );
}
