//! The rows of the comparison: which model, with which eyes, at which price, from which configuration.

use super::{arm::Arm, ladder, ladder::Change};
use cgcmarl::algorithm;
use std::sync::LazyLock;

/// Weights of the local reward, from none to nearly all.
const LOCAL_RATIOS: [f64; 6] = [0.0, 0.3, 0.6, 0.8, 0.9, 0.95];
/// The paper's limits, for an episode.
const EPISODE_LIMITS: [f64; 3] = [0.1, 0.5, 1.0];
/// Limits in units of the collisions that no action avoids.
const FLOOR_LIMITS: [f64; 3] = [1.0, 1.5, 3.0];
/// Steps of an episode that the paper's limits are for.
const HORIZON: f64 = 25.0;
/// Overlapping pairs per step that no action avoids, by team size (docs/results.md).
const FLOORS: [(usize, f64); 4] = [(3, 0.0022), (4, 0.0044), (6, 0.0081), (10, 0.0142)];

/// One trained model of the comparison; one that takes a multiplier gives a whole sweep, another one
/// point.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// Its name within its arm, and that of its folder.
    pub name: String,
    /// The group it belongs to.
    pub arm: Arm,
    /// Who learns, such as `iql`.
    pub algorithm: &'static str,
    /// What was varied, as the paper prints it: `lr=0.3`, `cl=0.1`, or nothing.
    pub parameter: String,
    /// Where its configuration lies in the repository.
    pub file: &'static str,
    pub(super) text: &'static str,
    pub(super) price: Price,
    pub(super) settings: Vec<(&'static str, &'static str)>,
    pub(super) change: Option<Change>,
}

/// What a collision costs a model that is trained at one trade-off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Price {
    /// As the configuration says, or any.
    None,
    /// The weight of the local reward.
    LocalRatio(f64),
    /// What an agent may pay in an episode.
    EpisodeLimit(f64),
    /// What an agent may pay, in units of what no action avoids.
    FloorLimit(f64),
}

impl Price {
    /// The key that sets it, with its value for a team.
    pub(super) fn setting(self, n_agents: usize) -> Option<(&'static str, String)> {
        match self {
            Self::None => None,
            Self::LocalRatio(ratio) => Some(("local_ratio", ratio.to_string())),
            Self::EpisodeLimit(limit) => Some(("cost_limit", format!("[{}]", limit / HORIZON))),
            Self::FloorLimit(times) => {
                // Both agents of a pair pay for it.
                let limit = times * 2.0 * floor(n_agents) / n_agents as f64;
                Some(("cost_limit", format!("[{limit:.6}]")))
            }
        }
    }

    /// What was varied, and how names say it.
    fn shown(self) -> (String, String) {
        match self {
            Self::None => (String::new(), String::new()),
            Self::LocalRatio(ratio) => (format!("lr={ratio:?}"), format!("_{ratio:?}")),
            Self::EpisodeLimit(limit) => (format!("cl={limit:?}"), format!("_{limit:?}")),
            Self::FloorLimit(times) => (format!("cl={times:?} floor"), format!("_{times:?}_floor")),
        }
    }
}

/// Overlapping pairs per step that no action avoids; between the sizes that were measured in
/// proportion to pairs and area.
fn floor(n_agents: usize) -> f64 {
    let expected = |n: usize| (n * (n - 1)) as f64 * (4.0 / n.max(4) as f64);
    let nearest = FLOORS.iter().min_by_key(|(n, _)| n.abs_diff(n_agents));
    nearest.map_or(0.0, |(n, floor)| floor * expected(n_agents) / expected(*n))
}

/// A method of the comparison, with its configuration in each arm.
struct Method {
    algorithm: &'static str,
    prices: fn() -> Vec<Price>,
    raw: (&'static str, &'static str),
    shared: (&'static str, &'static str),
}

macro_rules! configuration {
    ($path:expr) => {
        (concat!("configs/", $path), include_str!(concat!("../../../configs/", $path)))
    };
}

macro_rules! method {
    ($algorithm:literal, $prices:expr) => {
        Method {
            algorithm: $algorithm,
            prices: $prices,
            raw: configuration!(concat!("baselines/", $algorithm, ".toml")),
            shared: configuration!(concat!("baselines/shared/", $algorithm, ".toml")),
        }
    };
}

/// Every baseline, in the order of the tables. The configurations are part of the program.
const METHODS: [Method; 9] = [
    method!("iql", ratios),
    method!("vdn", ratios),
    method!("qmix", ratios),
    method!("dcg", ratios),
    method!("casec", ratios),
    method!("mappo", ratios),
    method!("mappo_lag", limits),
    method!("macpo", limits),
    method!("mappo_lambda", || vec![Price::None]),
];
/// CG-CMARL's own.
const OURS: (&str, &str) = configuration!("cgcmarl/cg_cmarl.toml");
/// Who learns in it.
pub const OUR_ALGORITHM: &str = "cg_cmarl";

/// One distance for all: a cost begins where agents touch, as MPE2's price for collisions does.
const PAID_AT_CONTACT: (&str, &str) = ("cost_radii", "2");
/// MAPPO as its authors set it.
const PUBLISHED: (&str, &str) = ("preset", "published");

fn ratios() -> Vec<Price> {
    LOCAL_RATIOS.map(Price::LocalRatio).to_vec()
}

fn limits() -> Vec<Price> {
    let paper = EPISODE_LIMITS.map(Price::EpisodeLimit);
    paper.into_iter().chain(FLOOR_LIMITS.map(Price::FloorLimit)).collect()
}

/// Every row of every arm, in the order of the tables; methods that this program does not have are
/// left out.
pub static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let known = |method: &&Method| algorithm::find(method.algorithm).is_ok();
    let paid_at_contact = |row: Row| match row.price {
        // MPE2's own price is paid there anyway.
        Price::LocalRatio(_) => row,
        _ => Row { settings: vec![PAID_AT_CONTACT], ..row },
    };
    let mut rows = vec![paid_at_contact(row(Arm::Ours, OUR_ALGORITHM, OURS, Price::None))];
    for method in METHODS.iter().filter(known) {
        for (arm, source) in [(Arm::Raw, method.raw), (Arm::Shared, method.shared)] {
            let priced = (method.prices)().into_iter();
            let priced = priced.map(|price| row(arm, method.algorithm, source, price));
            rows.extend(priced.map(paid_at_contact));
        }
    }
    rows.extend(METHODS.iter().filter(|method| method.algorithm == "mappo").map(published));
    for change in ladder::changes() {
        let name = change.name();
        let own = row(Arm::Ladder, OUR_ALGORITHM, OURS, Price::None);
        rows.push(Row { name, change: Some(change), ..own });
    }
    let stock = |algorithm, source| {
        let settings = vec![("physics", "mpe2")];
        Row { settings, ..row(Arm::Stock, algorithm, source, Price::None) }
    };
    rows.push(stock(OUR_ALGORITHM, OURS));
    rows.extend(METHODS.iter().filter(known).map(|method| stock(method.algorithm, method.raw)));
    rows
});

/// MAPPO on the rows of MPE2 as its authors set it, for trainings of ten million steps and more.
fn published(method: &Method) -> Row {
    let own = row(Arm::Raw, method.algorithm, method.raw, Price::LocalRatio(0.0));
    Row {
        name: format!("{}_published", method.algorithm),
        parameter: format!("published, {}", own.parameter),
        settings: vec![PUBLISHED],
        ..own
    }
}

fn row(
    arm: Arm,
    algorithm: &'static str,
    (file, text): (&'static str, &'static str),
    price: Price,
) -> Row {
    let (parameter, suffix) = price.shown();
    let name = format!("{algorithm}{suffix}");
    Row { name, arm, algorithm, parameter, file, text, price, settings: vec![], change: None }
}

impl Row {
    /// The row of an arm with this name.
    pub fn find(arm: Arm, name: &str) -> Option<&'static Self> {
        ROWS.iter().find(|row| row.arm == arm && row.name == name)
    }

    /// Whether it is the model of the paper's own method that the comparison is about.
    pub fn is_ours(&self) -> bool {
        self.arm == Arm::Ours
    }

    /// Where on the ladder it stands.
    pub fn change(&self) -> Option<Change> {
        self.change
    }

    /// Whether both differ in nothing that changes what a step costs: the price at most.
    pub(super) fn trains_like(&self, other: &Self) -> bool {
        (self.algorithm, self.file, self.change) == (other.algorithm, other.file, other.change)
            && self.settings == other.settings
    }

    /// Whether its settings were published for trainings of ten million steps and more.
    pub(super) fn is_published(&self) -> bool {
        self.settings.contains(&PUBLISHED)
    }

    /// Whether it learns from the episodes it has just played, and so knows no schedule of exploration.
    pub(super) fn is_on_policy(&self) -> bool {
        self.algorithm.starts_with("mappo") || self.algorithm == "macpo"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, path::Path};

    #[test]
    fn every_row_has_a_name_of_its_own_and_a_file() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names: BTreeSet<_> = ROWS.iter().map(|row| (row.arm, &row.name)).collect();
        assert_eq!(names.len(), ROWS.len());
        for row in ROWS.iter() {
            assert!(repository.join(row.file).is_file(), "{} is not in the repository", row.file);
        }
        let parameters = |name: &str| Row::find(Arm::Raw, name).unwrap().parameter.clone();
        assert_eq!(parameters("iql_0.95"), "lr=0.95");
        assert_eq!(parameters("iql_0.0"), "lr=0.0");
        assert_eq!(parameters("mappo_lag_0.1"), "cl=0.1");
        assert_eq!(parameters("mappo_lag_1.5_floor"), "cl=1.5 floor");
    }

    #[test]
    fn only_prices_leave_the_cost_of_a_step_alone() {
        let row = |arm, name: &str| Row::find(arm, name).unwrap();
        assert!(row(Arm::Raw, "iql_0.3").trains_like(row(Arm::Raw, "iql_0.95")));
        assert!(!row(Arm::Raw, "iql_0.3").trains_like(row(Arm::Raw, "vdn_0.3")));
        assert!(!row(Arm::Raw, "iql_0.3").trains_like(row(Arm::Shared, "iql_0.3")));
        assert!(!row(Arm::Raw, "mappo_0.0").trains_like(row(Arm::Raw, "mappo_published")));
        let rungs: Vec<&Row> = ROWS.iter().filter(|row| row.arm == Arm::Ladder).collect();
        assert!(rungs.len() > 1 && !rungs.windows(2).any(|two| two[0].trains_like(two[1])));
    }

    #[test]
    fn limits_are_per_agent_and_step() {
        let key = "cost_limit";
        assert_eq!(Price::EpisodeLimit(0.1).setting(3), Some((key, "[0.004]".into())));
        assert_eq!(Price::FloorLimit(1.5).setting(3), Some((key, "[0.002200]".into())));
        assert_eq!(Price::FloorLimit(1.0).setting(10), Some((key, "[0.002840]".into())));
        assert!(floor(4) < floor(5) && floor(5) < floor(6) && floor(12) > floor(10));
    }
}
