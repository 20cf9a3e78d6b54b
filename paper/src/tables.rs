//! The paper's printed results on Simple Spread (its two appendix tables), to stand beside ours.

use cgcmarl::{
    environment::simple_spread::SimpleSpreadOptions,
    evaluation::{Front, Score, pareto::dominates},
};
use serde::{Deserialize, Serialize};

/// The task that the paper is about.
pub const TASK: &str = "simple_spread";

/// Where a policy stands between the paper's two measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TradeOff {
    /// Share of landmarks covered within 0.1 at the end of an episode; more is better.
    pub coverage: f64,
    /// Overlapping pairs per step; less is better.
    pub collisions: f64,
}

impl TradeOff {
    /// Names of the metrics behind the two numbers.
    pub const METRICS: [&str; 2] = ["coverage", "collisions_per_step"];

    /// What a policy achieved; not a number where the score is of another task.
    pub fn of(score: &Score) -> Self {
        let [coverage, collisions] = Self::METRICS.map(|name| score.mean(name));
        Self { coverage, collisions }
    }

    /// Both numbers, turned so that more is better.
    pub fn point(&self) -> Vec<f64> {
        vec![self.coverage, -self.collisions]
    }

    /// Whether it is at least as good in both and better in one.
    pub fn dominates(&self, other: &Self) -> bool {
        dominates(&self.point(), &other.point())
    }
}

/// One printed row: collisions per step and coverage, each with one sample deviation over two seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperPoint {
    /// As printed, such as `MAPPO-Lag`.
    pub algorithm: &'static str,
    /// Team size.
    pub n_agents: usize,
    /// What was varied: `λ=0.2`, `lr=0.3` (local ratio) or `cl=0.1` (cost limit).
    pub parameter: &'static str,
    /// Colliding pairs per step: mean, deviation.
    pub collisions: (f64, f64),
    /// Coverage in percent: mean, deviation.
    pub coverage: (f64, f64),
    /// Whether the paper prints a star.
    pub starred: bool,
}

impl PaperPoint {
    /// How reports call it, such as `CG-CMARL λ=0.2`.
    pub fn label(&self) -> String {
        format!("{} {}", self.algorithm, self.parameter)
    }

    /// Mean and deviation of a metric, in the unit that scores have it; nothing where the paper does
    /// not print it.
    pub fn metric(&self, name: &str) -> Option<(f64, f64)> {
        let [coverage, collisions] = TradeOff::METRICS;
        match name {
            name if name == coverage => Some((self.coverage.0 / 100.0, self.coverage.1 / 100.0)),
            name if name == collisions => Some(self.collisions),
            _ => None,
        }
    }

    /// Coverage as a fraction against collisions per step.
    pub fn trade_off(&self) -> TradeOff {
        TradeOff { coverage: self.coverage.0 / 100.0, collisions: self.collisions.0 }
    }
}

/// The paper's points for one team.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// The paper's own method.
    pub cg_cmarl: Vec<PaperPoint>,
    /// The methods that it compares with.
    pub baselines: Vec<PaperPoint>,
}

impl Printed {
    /// All of them, the paper's own method first.
    pub fn all(&self) -> impl Iterator<Item = &PaperPoint> {
        self.cg_cmarl.iter().chain(&self.baselines)
    }
}

/// What the paper prints for the task and team of a front; nothing where the front is of another task,
/// team, environment or of other axes, so that the numbers do not belong beside each other.
pub fn beside(front: &Front) -> Option<Printed> {
    let is_papers = front.task == TASK
        && front.measures.axes == TradeOff::METRICS
        && is_papers_environment(front);
    let points = |rows: &'static [Row]| rows_of(rows, front.n_agents).collect::<Vec<_>>();
    let printed = Printed { cg_cmarl: points(&CG_CMARL), baselines: points(&BASELINES) };
    (is_papers && printed.all().next().is_some()).then_some(printed)
}

/// Whether all that a score depends on is as in the paper's tables; a front of an early version does
/// not tell, and those had nothing else.
fn is_papers_environment(front: &Front) -> bool {
    let Some(options) = front.environment.get("options") else { return true };
    let Ok(options) = serde_json::from_value::<SimpleSpreadOptions>(options.clone()) else {
        return false;
    };
    let paper = SimpleSpreadOptions { agents: front.n_agents, ..SimpleSpreadOptions::default() };
    let physics = |options: &SimpleSpreadOptions| {
        let SimpleSpreadOptions { agents, radius, contact, horizon, layout, actions, .. } =
            options.resolved();
        (agents, radius, contact, horizon, layout, actions)
    };
    physics(&options) == physics(&paper)
}

/// The name under which the paper prints a method.
pub fn paper_name(algorithm: &str) -> Option<&'static str> {
    Some(match algorithm {
        "cg_cmarl" => "CG-CMARL",
        "iql" => "IQL",
        "qmix" => "QMIX",
        "dcg" => "DCG",
        "mappo" => "MAPPO",
        "mappo_lag" => "MAPPO-Lag",
        _ => return None,
    })
}

/// The paper's own method, one row per multiplier of one trained model.
pub fn cg_cmarl(n_agents: usize) -> impl Iterator<Item = PaperPoint> {
    rows_of(&CG_CMARL, n_agents)
}

/// The paper's baselines, one row per trained model.
pub fn baselines(n_agents: usize) -> impl Iterator<Item = PaperPoint> {
    rows_of(&BASELINES, n_agents)
}

type Row = (&'static str, usize, &'static str, f64, f64, f64, f64, bool);

fn rows_of(table: &'static [Row], team: usize) -> impl Iterator<Item = PaperPoint> {
    table.iter().filter(move |row| row.1 == team).map(
        |&(algorithm, n_agents, parameter, collisions, spread, coverage, deviation, starred)| {
            PaperPoint {
                algorithm,
                n_agents,
                parameter,
                collisions: (collisions, spread),
                coverage: (coverage, deviation),
                starred,
            }
        },
    )
}

#[rustfmt::skip]
const CG_CMARL: [Row; 35] = [
    ("CG-CMARL", 3, "λ=0", 0.0055, 0.0001, 47.58, 2.24, true),
    ("CG-CMARL", 3, "λ=0.05", 0.0054, 0.0003, 46.58, 6.01, false),
    ("CG-CMARL", 3, "λ=0.1", 0.0052, 0.0006, 47.33, 2.59, true),
    ("CG-CMARL", 3, "λ=0.2", 0.0037, 0.0004, 46.17, 0.94, true),
    ("CG-CMARL", 3, "λ=0.5", 0.0042, 0.0006, 38.08, 0.12, false),
    ("CG-CMARL", 3, "λ=1", 0.0034, 0.0003, 17.5, 2.83, true),
    ("CG-CMARL", 3, "λ=2", 0.003, 0.0014, 8.25, 1.53, true),
    ("CG-CMARL", 3, "λ=5", 0.0017, 0.0001, 3.92, 2.24, true),
    ("CG-CMARL", 3, "λ=10", 0.0022, 0.0006, 1.33, 1.18, false),
    ("CG-CMARL", 4, "λ=0", 0.0243, 0.0016, 37.5, 0.88, false),
    ("CG-CMARL", 4, "λ=0.05", 0.0186, 0.0034, 38.94, 1.86, true),
    ("CG-CMARL", 4, "λ=0.1", 0.0171, 0.0027, 36.56, 2.03, false),
    ("CG-CMARL", 4, "λ=0.2", 0.0137, 0.0007, 38.5, 0.53, true),
    ("CG-CMARL", 4, "λ=0.5", 0.0162, 0.0006, 32.06, 3.45, false),
    ("CG-CMARL", 4, "λ=1", 0.0103, 0.0021, 26.81, 1.33, true),
    ("CG-CMARL", 4, "λ=2", 0.007, 0.0011, 16.5, 3.89, true),
    ("CG-CMARL", 4, "λ=5", 0.0075, 0.0013, 6.75, 0.53, false),
    ("CG-CMARL", 4, "λ=10", 0.0064, 0.0011, 4.38, 1.24, true),
    ("CG-CMARL", 6, "λ=0", 0.0413, 0.0022, 33.29, 3.01, false),
    ("CG-CMARL", 6, "λ=0.05", 0.0457, 0.0006, 33.75, 1.65, false),
    ("CG-CMARL", 6, "λ=0.1", 0.039, 0.0012, 34.83, 0.24, true),
    ("CG-CMARL", 6, "λ=0.2", 0.0428, 0.0021, 33.92, 1.89, false),
    ("CG-CMARL", 6, "λ=0.5", 0.0299, 0.002, 33.21, 0.77, true),
    ("CG-CMARL", 6, "λ=1", 0.0289, 0.0015, 28.67, 0.35, true),
    ("CG-CMARL", 6, "λ=2", 0.0172, 0.0016, 22.38, 2.89, true),
    ("CG-CMARL", 6, "λ=5", 0.0153, 0.0012, 11.75, 1.3, true),
    ("CG-CMARL", 6, "λ=10", 0.012, 0.0002, 7.33, 0.94, true),
    ("CG-CMARL", 10, "λ=0", 0.1223, 0.0177, 27.14, 1.47, false),
    ("CG-CMARL", 10, "λ=0.1", 0.1167, 0.013, 27.18, 0.03, false),
    ("CG-CMARL", 10, "λ=0.2", 0.1074, 0.0124, 27.64, 1.41, true),
    ("CG-CMARL", 10, "λ=0.5", 0.0815, 0.0144, 24.69, 0.18, true),
    ("CG-CMARL", 10, "λ=1", 0.0534, 0.0114, 21.8, 0.71, true),
    ("CG-CMARL", 10, "λ=2", 0.0343, 0.0035, 12.24, 1.73, true),
    ("CG-CMARL", 10, "λ=5", 0.0198, 0.001, 1.85, 0.41, true),
    ("CG-CMARL", 10, "λ=10", 0.0157, 0.0002, 0.52, 0.14, true),
];

#[rustfmt::skip]
const BASELINES: [Row; 54] = [
    ("IQL", 3, "lr=0.0", 0.0519, 0.0081, 20.58, 0.82, false),
    ("IQL", 3, "lr=0.3", 0.0623, 0.0075, 17.42, 3.42, false),
    ("IQL", 3, "lr=0.6", 0.0483, 0.0001, 15.67, 0.47, false),
    ("QMIX", 3, "lr=0.0", 0.0052, 0.0008, 7.83, 0.42, false),
    ("QMIX", 3, "lr=0.3", 0.006, 0.0005, 5.6, 0.66, false),
    ("QMIX", 3, "lr=0.6", 0.0071, 0.0009, 5.83, 0.24, false),
    ("DCG", 3, "lr=0.0", 0.045, 0.004, 21.58, 3.42, false),
    ("DCG", 3, "lr=0.3", 0.0439, 0.0081, 23.5, 1.89, false),
    ("DCG", 3, "lr=0.6", 0.0322, 0.0003, 24.17, 2.36, false),
    ("MAPPO", 3, "lr=0.0", 0.0232, 0.024, 9.84, 5.33, false),
    ("MAPPO", 3, "lr=0.3", 0.0126, 0.0003, 8.0, 2.36, false),
    ("MAPPO", 3, "lr=0.6", 0.0084, 0.0058, 10.9, 3.64, false),
    ("MAPPO-Lag", 3, "cl=0.1", 0.0185, 0.0047, 10.53, 1.51, false),
    ("MAPPO-Lag", 3, "cl=1.0", 0.0067, 0.0012, 9.97, 0.33, false),
    ("IQL", 4, "lr=0.0", 0.0837, 0.01, 17.19, 0.97, false),
    ("IQL", 4, "lr=0.3", 0.0868, 0.0011, 16.0, 1.94, false),
    ("IQL", 4, "lr=0.6", 0.0703, 0.0047, 16.56, 1.68, false),
    ("QMIX", 4, "lr=0.0", 0.0182, 0.0005, 3.7, 0.35, false),
    ("QMIX", 4, "lr=0.3", 0.0177, 0.0008, 3.95, 0.14, false),
    ("QMIX", 4, "lr=0.6", 0.0187, 0.0021, 4.72, 0.25, false),
    ("DCG", 4, "lr=0.0", 0.0856, 0.0181, 21.5, 4.42, false),
    ("DCG", 4, "lr=0.3", 0.0858, 0.0051, 24.69, 1.33, false),
    ("DCG", 4, "lr=0.6", 0.0756, 0.002, 23.56, 0.62, false),
    ("MAPPO", 4, "lr=0.0", 0.0161, 0.0096, 10.61, 3.79, false),
    ("MAPPO", 4, "lr=0.3", 0.0171, 0.0123, 5.19, 2.21, false),
    ("MAPPO", 4, "lr=0.6", 0.0172, 0.0183, 9.88, 2.47, false),
    ("MAPPO-Lag", 4, "cl=0.1", 0.0122, 0.0032, 7.97, 0.18, false),
    ("MAPPO-Lag", 4, "cl=1.0", 0.0139, 0.0119, 11.18, 2.65, false),
    ("IQL", 6, "lr=0.0", 0.1058, 0.006, 15.83, 2.36, false),
    ("IQL", 6, "lr=0.3", 0.096, 0.0141, 14.21, 0.53, false),
    ("IQL", 6, "lr=0.6", 0.0802, 0.0032, 12.87, 0.06, false),
    ("QMIX", 6, "lr=0.0", 0.0217, 0.0021, 1.85, 0.07, false),
    ("QMIX", 6, "lr=0.3", 0.0243, 0.0021, 1.8, 0.14, false),
    ("QMIX", 6, "lr=0.6", 0.0313, 0.0013, 2.88, 0.21, false),
    ("DCG", 6, "lr=0.0", 0.1425, 0.0193, 24.17, 0.24, false),
    ("DCG", 6, "lr=0.3", 0.1458, 0.0051, 24.0, 0.47, false),
    ("DCG", 6, "lr=0.6", 0.1544, 0.0025, 24.17, 1.65, false),
    ("MAPPO", 6, "lr=0.0", 0.0107, 0.002, 2.82, 3.65, false),
    ("MAPPO", 6, "lr=0.3", 0.0174, 0.0044, 2.88, 2.77, false),
    ("MAPPO", 6, "lr=0.6", 0.0183, 0.0078, 7.23, 3.96, false),
    ("MAPPO-Lag", 6, "cl=0.1", 0.0188, 0.0083, 4.48, 3.13, false),
    ("MAPPO-Lag", 6, "cl=1.0", 0.031, 0.0055, 7.37, 3.63, false),
    ("IQL", 10, "lr=0.0", 0.2087, 0.001, 16.73, 1.87, false),
    ("IQL", 10, "lr=0.3", 0.2035, 0.0068, 15.8, 0.14, false),
    ("IQL", 10, "lr=0.6", 0.1759, 0.0029, 15.12, 2.09, false),
    ("QMIX", 10, "lr=0.0", 0.0365, 0.009, 0.86, 1.1, false),
    ("QMIX", 10, "lr=0.3", 0.0193, 0.0017, 0.0, 0.0, false),
    ("QMIX", 10, "lr=0.6", 0.0222, 0.0038, 0.0, 0.0, false),
    ("DCG", 10, "lr=0.0", 0.2272, 0.0083, 22.43, 1.17, false),
    ("DCG", 10, "lr=0.3", 0.2263, 0.0015, 21.02, 0.95, false),
    ("DCG", 10, "lr=0.6", 0.2145, 0.0054, 19.28, 0.25, false),
    ("MAPPO", 10, "lr=0.0", 0.0798, 0.0408, 17.03, 3.21, false),
    ("MAPPO", 10, "lr=0.6", 0.0387, 0.0239, 17.4, 4.27, false),
    ("MAPPO-Lag", 10, "cl=0.5", 0.0247, 0.007, 12.59, 12.26, false),
];

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::{
        environment::Scenario,
        evaluation::{Measures, pareto::pareto_optimal},
    };

    #[test]
    fn all_printed_rows_are_here() {
        let count = |n| (cg_cmarl(n).count(), baselines(n).count());
        assert_eq!([3, 4, 6, 10].map(count), [(9, 14), (9, 14), (9, 14), (8, 12)]);
        assert_eq!(cg_cmarl(5).count(), 0);
    }

    #[test]
    fn the_printed_stars_are_the_pareto_points() {
        for n_agents in [3, 4, 6, 10] {
            let points: Vec<_> = cg_cmarl(n_agents).collect();
            let optimal =
                pareto_optimal(&points.iter().map(|p| p.trade_off().point()).collect::<Vec<_>>());
            for (point, optimal) in points.iter().zip(optimal) {
                assert_eq!(point.starred, optimal, "N = {n_agents}, {}", point.parameter);
            }
        }
    }

    fn front(setting: &str) -> Front {
        let options: SimpleSpreadOptions = toml::from_str(setting).unwrap();
        let scenario = Scenario::new(TASK, &options).unwrap();
        let (measures, card) = (Measures::of(&scenario.spec().unwrap()), scenario.card().unwrap());
        let names = (scenario.name(), "cg_cmarl");
        Front::new(names, options.agents, measures, vec![], vec![Score::default()], card)
    }

    #[test]
    fn printed_points_stand_beside_fronts_of_the_papers_environment_only() {
        let printed = beside(&front("agents = 4")).unwrap();
        assert_eq!(printed.all().count(), 9 + 14);
        let point = printed.cg_cmarl[0];
        assert_eq!(point.label(), "CG-CMARL λ=0");
        assert_eq!(point.metric("coverage"), Some((0.375, 0.0088)));
        assert_eq!(
            (point.metric("collisions_per_step"), point.metric("speed")),
            (Some((0.0243, 0.0016)), None)
        );
        for other in [
            "agents = 5",
            "agents = 3\nphysics = 'mpe2'",
            "agents = 3\nlayout = 'line'",
            "agents = 3\nradius = 0.1",
            "agents = 3\nconstraints = ['collision', 'energy']",
        ] {
            assert_eq!(beside(&front(other)), None, "{other}");
        }
        let early = Front { environment: serde_json::Value::Null, ..front("agents = 3") };
        assert!(beside(&early).is_some());
        assert_eq!(beside(&Front { task: "another".into(), ..early }), None);
    }

    #[test]
    fn three_baseline_points_are_not_dominated() {
        let undominated = [3, 4, 6, 10].into_iter().flat_map(|n_agents| {
            baselines(n_agents).filter(move |baseline| {
                !cg_cmarl(n_agents).any(|ours| ours.trade_off().dominates(&baseline.trade_off()))
            })
        });
        assert_eq!(undominated.count(), 3);
    }
}
