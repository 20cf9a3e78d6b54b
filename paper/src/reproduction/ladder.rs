//! The ladder from the paper's table to CG-CMARL: one change at a time, and back, each taken away alone.
//!
//! A change is a set of settings that take the values they have in the configuration at the other end,
//! so that the ladder needs no numbers of its own and follows both ends.

use cgcmarl::{
    error::{Error, Result},
    run::Config,
};
use toml::{Table, Value};

/// One change: its name, what people call it, and the settings that it is about.
struct Rung {
    name: &'static str,
    title: &'static str,
    keys: &'static [&'static str],
}

const fn rung(name: &'static str, title: &'static str, keys: &'static [&'static str]) -> Rung {
    Rung { name, title, keys }
}

/// Every change, in the order of the ladder; `*` stands for whatever differs and no other rung names.
const RUNGS: [Rung; 12] = [
    rung(
        "batches",
        "8 environments, an update every 4 steps",
        &["training.environments", "cg_cmarl.learning.steps_per_update"],
    ),
    rung("polyak", "target follows every step", &["cg_cmarl.learning.target_interval"]),
    rung("gamma", "shorter discount", &["cg_cmarl.learning.gamma"]),
    rung(
        "relative",
        "relative, sorted rows",
        &["environment.observation.kind", "environment.observation.landmark_flags"],
    ),
    rung("occupancy", "occupancy", &["environment.observation.occupancy"]),
    rung("tied", "tied head", &["cg_cmarl.network.head"]),
    rung("shared_reward", "shared reward", &["environment.reward"]),
    rung("coupled", "coupled targets", &["cg_cmarl.learning.next_action"]),
    rung("summed", "summed error", &["cg_cmarl.learning.error"]),
    rung(
        "lambda_input",
        "λ as an input, drawn anew for each episode",
        &[
            "cg_cmarl.network.multiplier_input",
            "cg_cmarl.multipliers.mode",
            "cg_cmarl.multipliers.lagrangian_upper_bound",
        ],
    ),
    rung(
        "frame",
        "symmetries and a canonical frame",
        &[
            "environment.observation.frame",
            "environment.observation.coast",
            "cg_cmarl.learning.symmetries",
            "cg_cmarl.learning.random_order",
            "cg_cmarl.average_orders",
        ],
    ),
    rung("curriculum", "curriculum", &["training.curriculum"]),
];

/// Where on the ladder a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The paper's table with the first so many changes.
    Up(usize),
    /// CG-CMARL without one of them.
    Without(usize),
    /// CG-CMARL without what no rung names: learning rates, exploration, averaging, solvers.
    WithoutRest,
}

/// Every row of the ladder; its top is CG-CMARL itself.
pub(super) fn changes() -> impl Iterator<Item = Change> {
    let up = (0..=RUNGS.len() + 1).map(Change::Up);
    up.chain((0..RUNGS.len()).map(Change::Without)).chain([Change::WithoutRest])
}

impl Change {
    /// The name of its row.
    pub(super) fn name(self) -> String {
        match self {
            Self::Up(0) => "up_00_paper".into(),
            Self::Up(n) => {
                let last = RUNGS.get(n - 1).map_or("ours", |rung| rung.name);
                format!("up_{n:02}_{last}")
            }
            Self::Without(rung) => format!("without_{}", RUNGS[rung].name),
            Self::WithoutRest => "without_rest".into(),
        }
    }

    /// What people call it.
    pub fn title(self) -> String {
        match self {
            Self::Up(0) => "the paper's table".into(),
            Self::Up(n) => {
                let rest = "the rest: learning rate, batch, averaging, exploration, solver";
                format!("+ {}", RUNGS.get(n - 1).map_or(rest, |rung| rung.title))
            }
            Self::Without(rung) => format!("− {}", RUNGS[rung].title),
            Self::WithoutRest => "− the rest".into(),
        }
    }

    /// Whether it climbs from the paper's table.
    pub fn is_up(self) -> bool {
        matches!(self, Self::Up(_))
    }

    /// The configuration between the two ends, which are of one team, seed and budget.
    pub(super) fn config(self, paper: &Config, ours: &Config) -> Result<Config> {
        let (paper, ours) = (tree(paper)?, tree(ours)?);
        let named = |rungs: &[Rung]| -> Vec<&str> {
            rungs.iter().flat_map(|rung| rung.keys).copied().collect()
        };
        let mixed = match self {
            Self::Up(n) if n > RUNGS.len() => ours,
            Self::Up(n) => with(paper, &ours, &named(&RUNGS[..n])),
            Self::Without(rung) => with(ours, &paper, RUNGS[rung].keys),
            Self::WithoutRest => with(paper, &ours, &named(&RUNGS)),
        };
        let text = toml::to_string(&mixed).map_err(unreadable)?;
        Config::parse(&text).map_err(unreadable)
    }
}

fn unreadable(error: impl std::fmt::Display) -> Error {
    Error::format("ladder", None, error.to_string())
}

fn tree(config: &Config) -> Result<Table> {
    toml::from_str(&config.to_toml()).map_err(unreadable)
}

/// A configuration with some settings of another; where that has none, this has none.
fn with(mut config: Table, other: &Table, keys: &[&str]) -> Table {
    for key in keys {
        set(&mut config, key, get(other, key).cloned());
    }
    config
}

fn get<'a>(tree: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        None => tree.get(key),
        Some((group, rest)) => get(tree.get(group)?.as_table()?, rest),
    }
}

fn set(tree: &mut Table, key: &str, value: Option<Value>) {
    match (key.split_once('.'), value) {
        (None, None) => drop(tree.remove(key)),
        (None, Some(value)) => drop(tree.insert(key.into(), value)),
        (Some((group, rest)), value) => {
            if let Some(Value::Table(group)) = tree.get_mut(group) {
                set(group, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(n_agents: usize) -> [Config; 2] {
        ["paper", "default"].map(|preset| {
            let words =
                [("preset", preset), ("total_steps", "1000")].map(|(k, v)| (k.into(), v.into()));
            let agents = ("agents".to_owned(), n_agents.to_string());
            Config::resolve(None, &[&words[..], &[agents]].concat()).unwrap()
        })
    }

    #[test]
    fn the_ladder_leads_from_the_paper_to_ours() {
        for n_agents in [3, 6] {
            let [paper, ours] = ends(n_agents);
            let config = |change: Change| change.config(&paper, &ours).unwrap();
            assert_eq!(config(Change::Up(0)), paper);
            assert_eq!(config(Change::Up(RUNGS.len() + 1)), ours);
            let same = |a: &Config, b: &Config| {
                a.options == b.options && a.environment == b.environment && a.training == b.training
            };
            for n in 0..=RUNGS.len() {
                let [below, above] = [n, n + 1].map(|n| config(Change::Up(n)));
                // Small teams have no curriculum, and large ones begin with many environments.
                let may_be_equal = RUNGS.get(n).is_some_and(|r| r.name == "curriculum");
                assert!(may_be_equal || !same(&below, &above), "rung {n} changes nothing");
                above.scenario().unwrap().spec().unwrap();
            }
            for (n, rung) in RUNGS.iter().enumerate() {
                let without = config(Change::Without(n));
                let is_known = n_agents > 3 || rung.name != "curriculum";
                assert!(!is_known || !same(&without, &ours), "without {n} is ours");
                without.scenario().unwrap().spec().unwrap();
            }
        }
    }

    #[test]
    fn every_key_of_a_rung_is_one_of_the_configuration() {
        let [_, ours] = ends(3);
        let ours = tree(&ours).unwrap();
        for rung in &RUNGS {
            for key in rung.keys {
                assert!(get(&ours, key).is_some(), "{key}");
            }
        }
    }

    #[test]
    fn names_sort_as_the_ladder_climbs() {
        let names: Vec<String> = changes().map(Change::name).collect();
        assert!(names.is_sorted_by(|a, b| a < b || a.starts_with("without")), "{names:?}");
        assert_eq!(names[2], "up_02_polyak");
        assert_eq!(Change::Up(5).title(), "+ occupancy");
        assert_eq!(Change::Without(4).title(), "− occupancy");
    }
}
