//! How long one decision takes, beside a straightforward triple loop doing the same work.
#![expect(clippy::print_stdout, reason = "a report")]

use cgcmarl::coordination::{
    Anytime, AnytimeOptions, Coordinator, Exact, ExactOptions, FactorTables, MaxSum, MaxSumOptions,
    Problem, upper_bound,
};
use cgcmarl::graph::CoordinationGraph;
use criterion::{Criterion, criterion_group};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Max-Sum as one would first write it: a triple loop per pair and round.
fn naive_max_sum(graph: &CoordinationGraph, tables: &FactorTables, rounds: usize) -> Vec<usize> {
    let n = tables.n_actions()[0];
    let mut messages = vec![[vec![0.0_f32; n], vec![0.0; n]]; graph.n_regions()];
    let beliefs = |messages: &[[Vec<f32>; 2]]| {
        let mut beliefs: Vec<Vec<f32>> =
            (0..graph.n_agents()).map(|agent| tables.agent(agent).to_vec()).collect();
        for (members, pair) in graph.regions().zip(messages) {
            for (slot, message) in pair.iter().enumerate() {
                for (belief, x) in beliefs[members[slot]].iter_mut().zip(message) {
                    *belief += x;
                }
            }
        }
        beliefs
    };
    for _ in 0..rounds {
        let beliefs = beliefs(&messages);
        for (region, members) in graph.regions().enumerate() {
            let table = tables.region(region);
            let old = messages[region].clone();
            for slot in 0..2 {
                let other = 1 - slot;
                let mut fresh = vec![f32::NEG_INFINITY; n];
                for (a, best) in fresh.iter_mut().enumerate() {
                    for b in 0..n {
                        let entry = if slot == 0 { a * n + b } else { b * n + a };
                        let incoming = beliefs[members[other]][b] - old[other][b];
                        *best = best.max(table[entry] + incoming);
                    }
                }
                let largest = fresh.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                for a in 0..n {
                    messages[region][slot][a] = 0.7 * (fresh[a] - largest) + 0.3 * old[slot][a];
                }
            }
        }
    }
    beliefs(&messages).iter().map(|row| cgcmarl::argmax::argmax(row)).collect()
}

fn noise(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }
}

fn ten_agents(criterion: &mut Criterion) {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/factor_graphs/spread_n10_p1.fgq.gz");
    let problem = Problem::read(&file, None).expect("the file");
    let (graph, tables) = (&problem.graph, &problem.tables);
    let mut group = criterion.benchmark_group("spread_n10");
    let mut action = Vec::new();
    let mut max_sum = MaxSum::new(MaxSumOptions::default());
    max_sum.coordinate(graph, tables, &mut action);
    assert_eq!(naive_max_sum(graph, tables, 10), action, "both do the same work");
    group.bench_function("max_sum", |b| b.iter(|| max_sum.coordinate(graph, tables, &mut action)));
    group.bench_function("naive_max_sum", |b| {
        b.iter(|| black_box(naive_max_sum(graph, tables, 10)));
    });
    let mut anytime = Anytime::new(AnytimeOptions::default());
    group.bench_function("anytime", |b| b.iter(|| anytime.coordinate(graph, tables, &mut action)));
    group.bench_function("upper_bound_50_sweeps", |b| {
        b.iter(|| upper_bound(graph, tables, 50, f64::NEG_INFINITY));
    });
    group.sample_size(10);
    let mut exact = Exact::new(ExactOptions::default());
    group.bench_function("exact", |b| b.iter(|| exact.coordinate(graph, tables, &mut action)));
    group.finish();
}

fn five_thousand_agents(criterion: &mut Criterion) {
    let mut sample = noise(7);
    let positions: Vec<[f32; 2]> = (0..5000).map(|_| [sample(), sample()]).collect();
    let graph = CoordinationGraph::k_nearest(&positions, 3);
    let mut tables = FactorTables::zeros(&graph, 25);
    tables.regions_mut().iter_mut().for_each(|x| *x = sample());
    let mut group =
        criterion.benchmark_group(format!("knn_5000_agents_{}_pairs", graph.n_regions()));
    group.sample_size(10);
    let mut action = Vec::new();
    let mut max_sum = MaxSum::new(MaxSumOptions::default());
    group
        .bench_function("max_sum", |b| b.iter(|| max_sum.coordinate(&graph, &tables, &mut action)));
    let mut anytime = Anytime::new(AnytimeOptions::default());
    group
        .bench_function("anytime", |b| b.iter(|| anytime.coordinate(&graph, &tables, &mut action)));
    group.finish();
}

/// The fastest of some calls of each, taken in turns so that a busy machine slows all alike.
fn fastest<const N: usize>(calls: usize, mut work: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut fastest = [f64::INFINITY; N];
    for _ in 0..calls {
        for (fastest, work) in fastest.iter_mut().zip(&mut work) {
            let start = Instant::now();
            work();
            *fastest = fastest.min(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    fastest
}

/// The table of docs/results.md: fastest of interleaved calls, and the ratio to the triple loop.
fn table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/factor_graphs");
    println!("fastest of 200 calls, µs | triple loop | max_sum | ratio | anytime");
    for name in ["spread_n6_p0", "spread_n8_p0", "spread_n10_p1", "cover_n10_p0"] {
        let problem = Problem::read(&folder.join(format!("{name}.fgq.gz")), None).expect("a file");
        let (graph, tables) = (&problem.graph, &problem.tables);
        let mut max_sum = MaxSum::new(MaxSumOptions::default());
        let mut anytime = Anytime::new(AnytimeOptions::default());
        let (mut action, mut other) = (Vec::new(), Vec::new());
        let [naive_time, max_sum_time, anytime_time] = fastest(
            200,
            [
                &mut || drop(black_box(naive_max_sum(graph, tables, 10))),
                &mut || _ = black_box(max_sum.coordinate(graph, tables, &mut action)),
                &mut || _ = black_box(anytime.coordinate(graph, tables, &mut other)),
            ],
        );
        println!(
            "{name:24} | {naive_time:9.1} | {max_sum_time:7.1} | {:5.1} | {anytime_time:7.1}",
            naive_time / max_sum_time
        );
    }
}

criterion_group!(benches, ten_agents, five_thousand_agents);

fn main() {
    table();
    benches();
    Criterion::default().configure_from_args().final_summary();
}
