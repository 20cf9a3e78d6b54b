//! A made-up sweep for tests of tables and pictures.

use cgcmarl::{
    Config,
    environment::{Scenario, Spec},
    episode::Summary,
    evaluation::{Front, Measures, Score, front::RANDOM},
    run::named_multipliers,
};
use cgcmarl_paper::{
    reproduction::{Point, Results, Spread, Team},
    tables::{self, TradeOff},
};

fn spec() -> Spec {
    Scenario::of("simple_spread").and_then(|scenario| scenario.spec()).unwrap()
}

/// A score whose episodes scatter a little around these numbers.
fn score(label: &str, multiplier: Option<f32>, coverage: f64, collisions: f64) -> Score {
    let spec = spec();
    let episodes: Vec<Summary> = (0..1000)
        .map(|episode| {
            let wave = f64::from(episode).mul_add(0.754_877_666, 0.5).fract();
            let third = |share: f64| if wave < (3.0 * share).fract() { 1.0 } else { 0.0 };
            let covered = |share: f64| ((3.0 * share).floor() + third(share)) / 3.0;
            let hit = episode % 20 == 0;
            let metric = |name: &str| match name {
                "coverage" => covered(coverage),
                "coverage_0.15" => covered(coverage + 0.005),
                "coverage_0.2" => covered(coverage + 0.01),
                "collisions_per_step" if hit => collisions * 20.0,
                "per_pair_rate" if hit => collisions * 20.0 / 3.0,
                "collision_floor" if hit => 0.0023 * 20.0,
                "cost_collision" if hit => collisions * 10.0,
                "collision_free" => 1.0,
                "team_return" => -20.0,
                _ => 0.0,
            };
            let metrics = spec.reported().iter().map(|each| metric(&each.name)).collect();
            Summary { metrics, ..Summary::default() }
        })
        .collect();
    let multipliers: Vec<f32> = multiplier.into_iter().collect();
    let multipliers = named_multipliers(&spec, &multipliers);
    Score::of_episodes(label, multipliers, &spec.reported(), &episodes)
}

/// Nine multipliers, as the paper sweeps them.
pub(crate) fn front() -> Front {
    let sweep = [
        (0.0, 0.978, 0.0098),
        (0.05, 0.979, 0.0074),
        (0.1, 0.98, 0.0058),
        (0.2, 0.979, 0.0043),
        (0.5, 0.976, 0.0033),
        (1.0, 0.974, 0.0029),
        (2.0, 0.965, 0.0027),
        (5.0, 0.95, 0.0025),
        (10.0, 0.93, 0.002_55),
    ];
    let points = sweep
        .map(|(multiplier, coverage, collisions)| {
            score(&format!("λ={multiplier}"), Some(multiplier), coverage, collisions)
        })
        .to_vec();
    let references = vec![score("oracle", None, 0.99, 0.0028), score(RANDOM, None, 0.03, 0.022)];
    let names = ("simple_spread", "cg_cmarl");
    Front::new(names, 3, Measures::of(&spec()), points, references, serde_json::Value::Null)
}

/// A made-up grid of two multipliers by two.
pub(crate) fn surface() -> Front {
    let settings = [("constraints".to_owned(), r#"["collision","energy"]"#.to_owned())];
    let spec = Config::resolve(None, &settings).unwrap().scenario().unwrap().spec().unwrap();
    let point = |(collision, energy): (f32, f32)| {
        let metric = |name: &str| match name {
            "coverage" => 0.9 - 0.1 * f64::from(energy),
            "collisions_per_step" => 0.01 / (1.0 + f64::from(collision)),
            "cost_energy" => 0.5 - 0.1 * f64::from(energy),
            _ => 0.0,
        };
        let metrics = spec.reported().iter().map(|each| metric(&each.name)).collect();
        let episodes = vec![Summary { metrics, ..Summary::default() }; 3];
        let multipliers = named_multipliers(&spec, &[collision, energy]);
        Score::of_episodes("λ", multipliers, &spec.reported(), &episodes)
    };
    let points = [(0.0, 0.0), (0.0, 2.0), (1.0, 0.0), (1.0, 2.0)].map(point).to_vec();
    let names = ("simple_spread", "cg_cmarl");
    Front::new(names, 3, Measures::of(&spec), points, vec![], serde_json::Value::Null)
}

/// A made-up comparison: the paper's printed numbers on random layouts, the same on fixed ones.
pub(crate) fn reproduction() -> Results {
    let spread = |mean: f64, deviation: f64| Spread {
        mean,
        deviation,
        low: (mean - deviation).max(0.0),
        high: mean + deviation,
    };
    let name = |printed: &str| printed.to_lowercase().replace('-', "_");
    let team = |n_agents: usize, layout: &str| {
        let pairs = (n_agents * (n_agents - 1) / 2) as f64;
        let printed = tables::cg_cmarl(n_agents).chain(tables::baselines(n_agents));
        let mut points: Vec<Point> = printed
            .map(|point| Point {
                algorithm: name(point.algorithm),
                parameter: point.parameter.into(),
                multiplier: point.parameter.strip_prefix("λ=").and_then(|m| m.parse().ok()),
                row: name(point.algorithm),
                steps: 300_000,
                seeds: 2,
                collisions: spread(point.collisions.0, point.collisions.1),
                per_pair_rate: spread(point.collisions.0 / pairs, point.collisions.1 / pairs),
                coverage: spread(point.coverage.0 / 100.0, point.coverage.1 / 100.0),
                pareto: point.starred,
                pareto_overall: point.starred,
                ..Point::default()
            })
            .collect();
        let vdn = Point { algorithm: "vdn".into(), ..points[points.len() - 5].clone() };
        points.push(vdn);
        Team {
            n_agents,
            layout: layout.into(),
            episodes: 400,
            random: Some(TradeOff { coverage: 0.03, collisions: 0.0073 * pairs }),
            points,
            ..Team::default()
        }
    };
    let layouts = ["random", "spread_uniform", "line", "clustered_pair"];
    let teams = [3, 4, 6, 10].iter().flat_map(|n| layouts.iter().map(|layout| team(*n, layout)));
    Results { teams: teams.collect(), ..Results::default() }
}
