//! Throw-away training probe.
#![allow(clippy::all, clippy::pedantic, clippy::print_stdout, clippy::unwrap_used)]
#![allow(unused_imports)]
use cgcmarl::{
    algorithm::*,
    environment::{simple_spread::*, spread_options::*, *},
    episode::*,
    rng::*,
};
use std::time::Instant;
fn main() {
    let mut total = 100_000u64;
    let mut envs = 8usize;
    let mut seed = 1u64;
    let mut evals = 400usize;
    let mut env = toml::Table::new();
    let mut alg = toml::Table::new();
    let mut every = 25_000u64;
    for a in std::env::args().skip(1) {
        let (k, v) = a.split_once('=').unwrap();
        match k {
            "total" => total = v.parse().unwrap(),
            "envs" => envs = v.parse().unwrap(),
            "seed" => seed = v.parse().unwrap(),
            "evals" => evals = v.parse().unwrap(),
            "every" => every = v.parse().unwrap(),
            _ => {
                let t = if k.starts_with("env.") { &mut env } else { &mut alg };
                let path: Vec<&str> = k.trim_start_matches("env.").split('.').collect();
                let val: toml::Value = toml::from_str::<toml::Table>(&format!("x={v}"))
                    .or_else(|_| toml::from_str::<toml::Table>(&format!("x=\"{v}\"")))
                    .unwrap()["x"]
                    .clone();
                let mut t = t;
                for p in &path[..path.len() - 1] {
                    t = t
                        .entry(p.to_string())
                        .or_insert(toml::Value::Table(Default::default()))
                        .as_table_mut()
                        .unwrap();
                }
                t.insert(path[path.len() - 1].to_string(), val);
            }
        }
    }
    let eo: SimpleSpreadOptions = env.try_into().unwrap();
    let ao: CgCmarlOptions = alg.try_into().unwrap();
    let make = |n: usize| -> Arena {
        Arena::new(
            (0..n)
                .map(|_| Box::new(SimpleSpread::new(&eo).unwrap()) as Box<dyn Environment>)
                .collect(),
        )
    };
    let mut arena = make(envs);
    let mut test = make(100);
    let streams = Streams::new(seed);
    let mut learner = CgCmarl::new(&ao, arena.view(), envs, total, streams).unwrap();
    let (mut ep, mut steps, mut next) = (0u64, 0u64, every);
    let t0 = Instant::now();
    let mut tev = 0.0;
    while steps < total {
        let s: Vec<Summary> = arena
            .play(
                &mut learner,
                Draws { streams, start: Purpose::Episode, act: Purpose::Exploration, first: ep },
                envs,
            )
            .to_vec();
        ep += envs as u64;
        for (i, x) in s.iter().enumerate() {
            steps += x.steps as u64;
            learner.end_episode(i, x);
        }
        if let Some(e) = learner.failure() {
            println!("{e}");
            return;
        }
        if steps >= next || steps >= total {
            next += every;
            let t1 = Instant::now();
            let last = steps >= total;
            let ms: &[f32] = if last {
                &[0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
            } else {
                &[0.0, 0.5, 1.0, 2.0]
            };
            print!("{steps} {:.0}s", t1.duration_since(t0).as_secs_f64() - tev);
            let n_ev = if last { evals } else { 200 };
            for mut p in learner.operating_points(ms) {
                let (mut c, mut k, mut f) = (0.0, 0.0, 0.0);
                for r in 0..n_ev / 100 {
                    for x in test.play(
                        p.policy.as_mut(),
                        Draws {
                            streams: Streams::new(999),
                            start: Purpose::Evaluation,
                            act: Purpose::RandomPolicy,
                            first: r as u64 * 100,
                        },
                        100,
                    ) {
                        c += x.coverage[0];
                        k += x.collisions;
                        f += x.floor;
                    }
                }
                let n = (n_ev / 100 * 100) as f64;
                let Setting::Multiplier(m) = p.setting else { panic!() };
                print!(" | {m}: {:.1} {:.4}/{:.4}", 100.0 * c as f64 / n, k / n, f / n);
            }
            println!(
                " {:?}",
                learner.report().iter().map(|(k, v)| format!("{k}={v:.4}")).collect::<Vec<_>>()
            );
            tev += t1.elapsed().as_secs_f64();
        }
    }
}
