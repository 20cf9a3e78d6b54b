//! Factor graphs for tests: files with proven optima, and random ones.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each test file uses its part"
)]

pub mod cases;

use cgcmarl::coordination::{FactorTables, Problem};
use cgcmarl::graph::CoordinationGraph;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One file with what is known about it.
pub struct Instance {
    pub name: String,
    pub family: String,
    pub graph: CoordinationGraph,
    pub tables: FactorTables,
    pub optimum: f64,
    random: f64,
}

impl Instance {
    /// `(optimum - value) / (optimum - random mean)`.
    pub fn gap(&self, value: f64) -> f64 {
        (self.optimum - value) / (self.optimum - self.random)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/factor_graphs")
}

/// The instances of the chosen families.
pub fn instances(wanted: impl Fn(&str) -> bool) -> Vec<Instance> {
    let text = std::fs::read(folder().join("index.json")).expect("the index");
    let index: serde_json::Value = serde_json::from_slice(&text).expect("json");
    let rows = index["instances"].as_array().expect("a list").iter();
    rows.filter(|row| wanted(row["family"].as_str().expect("a family")))
        .map(|row| {
            let name = row["file"].as_str().expect("a name").to_string();
            let problem = Problem::read(&folder().join(&name), None).expect("a readable file");
            Instance {
                name,
                family: row["family"].as_str().expect("a family").to_string(),
                graph: problem.graph,
                tables: problem.tables,
                optimum: row["optimum"].as_f64().expect("an optimum"),
                random: row["random_baseline"].as_f64().unwrap_or(0.0),
            }
        })
        .collect()
}

/// What another implementation of damped Max-Sum found.
pub struct Oracle {
    pub beliefs: Vec<Vec<f64>>,
    pub action: Vec<usize>,
}

/// libDAI's beliefs after 10 rounds at damping 0.3, by file.
pub fn oracle() -> BTreeMap<String, Oracle> {
    let file = std::fs::File::open(folder().join("oracle_libdai_maxprod_d03_K10.json.gz"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file.expect("the oracle"))
        .read_to_string(&mut text)
        .expect("gzip");
    let oracle: serde_json::Value = serde_json::from_str(&text).expect("json");
    let instances = oracle["instances"].as_object().expect("instances");
    instances
        .iter()
        .map(|(name, row)| {
            let beliefs = serde_json::from_value(row["logbelief"].clone()).expect("beliefs");
            let action = serde_json::from_value(row["x"].clone()).expect("an action");
            (name.clone(), Oracle { beliefs, action })
        })
        .collect()
}

/// Numbers in [-1, 1) from a counter: the same on every machine.
pub fn noise(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }
}

/// Agents at random positions, each joined to its nearest others, with random payoffs.
pub fn scattered(n_agents: usize, k: usize, n_actions: usize) -> (CoordinationGraph, FactorTables) {
    let mut sample = noise(7);
    let positions: Vec<[f32; 2]> = (0..n_agents).map(|_| [sample(), sample()]).collect();
    let graph = CoordinationGraph::k_nearest(&positions, k);
    let mut tables = FactorTables::zeros(&graph, n_actions);
    tables.regions_mut().iter_mut().for_each(|x| *x = sample());
    (graph, tables)
}
