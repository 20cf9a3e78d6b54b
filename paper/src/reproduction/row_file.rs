//! One trained row of the comparison as a small file: what it was and what it achieved, no weights.
//!
//! Everything that tables, figures and checks say is made from these files alone, so that they can be
//! committed and read in a fresh clone.

use super::{
    arm::Arm,
    counts::Counts,
    curve::{Curve, rounded},
    greedy::GreedyCurve,
    settings::{Settings, digest},
};
use crate::tables::TradeOff;
use cgcmarl::{
    checkpoint::atomic,
    environment::{Scenario, Spec, TEAM_RETURN},
    episode::Summary,
    error::{Error, Result},
    evaluation::{Named, statistics::mean},
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folder of the files, below that of the reproduction.
pub(super) const ROWS_FOLDER: &str = "rows";
/// The name of the policies that need no training.
pub(super) const REFERENCE: &str = "reference";
/// The metric of collisions that no action avoids.
pub(super) const FLOOR: &str = "collision_floor";
/// The metrics whose means are kept beside the counts.
const KEPT: [&str; 5] =
    [TradeOff::METRICS[0], TradeOff::METRICS[1], FLOOR, "collision_free", TEAM_RETURN];

/// What one training came to, or what the references achieve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowResult {
    /// Always `cgcmarl`.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// The group it belongs to.
    #[serde(default)]
    pub arm: Arm,
    /// Name of the row, or `reference`.
    pub row: String,
    /// Team size.
    pub agents: usize,
    /// Training seed.
    pub seed: u64,
    /// Name of the budget.
    #[serde(default)]
    pub budget: String,
    /// Environment steps of the training, at the most.
    pub steps: u64,
    /// Environment steps after which it ended.
    #[serde(default)]
    pub trained: u64,
    /// Steps of an episode.
    pub horizon: usize,
    /// Digest of the settings.
    pub config: String,
    /// Everything that decided what was learned.
    #[serde(default)]
    pub settings: Settings,
    /// What the team achieved without exploration while it learned.
    #[serde(default)]
    pub greedy: GreedyCurve,
    /// How the team learned, exploration included.
    pub curve: Curve,
    /// What was played, layout by layout.
    pub layouts: Vec<PlayedLayout>,
    /// What was played on the start states on which a trade-off is chosen.
    #[serde(default)]
    pub selection: Option<PlayedLayout>,
    /// How long it took: the one part that differs from machine to machine.
    #[serde(default)]
    pub timing: Timing,
}

/// How long a training took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Model name of the processor.
    pub processor: String,
    /// Seconds of one processor that training took until each look of the greedy curve.
    pub cpu_seconds: Vec<f64>,
}

/// The episodes of one model, or of the references, on one layout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlayedLayout {
    /// Such as `random`.
    pub layout: String,
    /// Seed of the start states, the same for every model.
    pub start_seed: u64,
    /// One per operating point.
    pub points: Vec<PlayedPoint>,
}

/// The episodes of one operating point, in the order of the start states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlayedPoint {
    /// What was varied, as the paper prints it: `λ=0.2`, `lr=0.3`, `cl=0.1`.
    pub parameter: String,
    /// How scores call it.
    pub label: String,
    /// The multipliers it was played at, where there are any.
    pub multipliers: Named<f64>,
    /// Means over the episodes.
    pub metrics: Named<f64>,
    /// Landmarks covered at the end of each episode.
    pub covered: Counts,
    /// Overlapping pairs over all steps of each episode.
    pub collided: Counts,
}

impl PlayedPoint {
    /// Keeps of some episodes what the comparison needs.
    pub fn of_episodes(
        parameter: &str,
        label: &str,
        multipliers: Named<f64>,
        spec: &Spec,
        episodes: &[Summary],
    ) -> Self {
        let reported = spec.reported();
        let index = |name: &str| reported.iter().position(|metric| metric.name == name);
        let values = |name: &str| -> Vec<f64> {
            let index = index(name);
            let value = |episode: &Summary| index.map_or(0.0, |index| episode.metrics[index]);
            episodes.iter().map(value).collect()
        };
        let counts = |name: &str, unit: usize| {
            let count = |value: f64| (value * unit as f64).round() as u32;
            Counts(values(name).into_iter().map(count).collect())
        };
        let [coverage, collisions] = TradeOff::METRICS;
        let kept = KEPT.into_iter().filter(|name| index(name).is_some());
        Self {
            parameter: parameter.into(),
            label: label.into(),
            multipliers,
            metrics: kept.map(|name| (name.to_owned(), rounded(mean(&values(name))))).collect(),
            covered: counts(coverage, spec.n_agents()),
            collided: counts(collisions, spec.horizon),
        }
    }

    /// Number of episodes.
    pub fn n_episodes(&self) -> usize {
        self.covered.0.len()
    }

    /// The multiplier, where there is one.
    pub fn multiplier(&self) -> Option<f64> {
        self.multipliers.values().next().copied()
    }

    /// The mean of a metric; not a number where it was not kept.
    pub fn mean(&self, metric: &str) -> f64 {
        self.metrics.get(metric).copied().unwrap_or(f64::NAN)
    }

    /// What it achieved in the mean.
    pub fn trade_off(&self) -> TradeOff {
        let [coverage, collisions] = TradeOff::METRICS.map(|name| self.mean(name));
        TradeOff { coverage, collisions }
    }

    /// What each episode achieved.
    pub(super) fn trade_offs(&self, n_agents: usize, horizon: usize) -> Vec<TradeOff> {
        let coverage = |count: &u32| f64::from(*count as f32 / n_agents as f32);
        let counts = self.covered.0.iter().zip(&self.collided.0);
        counts
            .map(|(covered, collided)| TradeOff {
                coverage: coverage(covered),
                collisions: f64::from(*collided) / horizon as f64,
            })
            .collect()
    }
}

impl RowResult {
    /// A row of which nothing was played yet.
    pub(super) fn new(
        (arm, row): (Arm, &str),
        (n_agents, seed): (usize, u64),
        scenario: &Scenario,
        settings: Settings,
    ) -> Result<Self> {
        Ok(Self {
            program: "cgcmarl".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            arm,
            row: row.into(),
            agents: n_agents,
            seed,
            horizon: scenario.spec()?.horizon,
            config: digest(&settings),
            settings,
            ..Self::default()
        })
    }

    /// The digest that goes with its settings.
    pub fn settings_digest(&self) -> String {
        digest(&self.settings)
    }

    /// The name of its file.
    pub(super) fn file_name(&self) -> String {
        let Self { row, agents, seed, .. } = self;
        if row == REFERENCE {
            return format!("{REFERENCE}_n{agents}.json");
        }
        format!("{row}_seed_{seed}_n{agents}.json")
    }

    /// Where it lies below the folder of a reproduction.
    pub fn place(&self, folder: &Path) -> PathBuf {
        folder.join(ROWS_FOLDER).join(self.arm.name()).join(self.file_name())
    }

    /// What was played on a layout.
    pub fn layout(&self, name: &str) -> Option<&PlayedLayout> {
        self.layouts.iter().find(|played| played.layout == name)
    }

    /// Whether a layout was played with this many episodes from some start states.
    pub(super) fn has_played(&self, layout: &str, (n_episodes, starts): (usize, u64)) -> bool {
        self.layout(layout).is_some_and(|played| played.has_played(n_episodes, starts))
    }

    /// Adds what was played on a layout, or puts it in the place of what was.
    pub(super) fn put(&mut self, played: PlayedLayout) {
        self.layouts.retain(|known| known.layout != played.layout);
        self.layouts.push(played);
    }

    /// Seconds of one processor until a look of the greedy curve.
    pub fn cpu_seconds(&self, look: usize) -> Option<f64> {
        self.timing.cpu_seconds.get(look).copied()
    }

    /// Seconds of one processor per environment step.
    pub(super) fn pace(&self) -> Option<f64> {
        let (&steps, &seconds) = (self.greedy.step.last()?, self.timing.cpu_seconds.last()?);
        (steps > 0 && seconds > 0.0).then(|| seconds / steps as f64)
    }

    /// The same row as any machine makes it.
    #[must_use]
    pub fn without_timing(&self) -> Self {
        Self { timing: Timing::default(), ..self.clone() }
    }

    /// Reads a file; refuses numbers that cannot be, and a name that is not the content's.
    pub fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).map_err(Error::file(file))?;
        let row: Self = serde_json::from_str(&text)
            .map_err(|error| Error::format(file, Some(error.line()), error.to_string()))?;
        row.check(&KEPT).map_err(|message| Error::format(file, None, message))?;
        let name = row.file_name();
        if file.file_name().is_none_or(|found| found != name.as_str()) {
            return Err(Error::format(file, None, format!("holds what belongs into {name}")));
        }
        Ok(row)
    }

    /// Writes it below the folder of a reproduction.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let file = self.place(folder);
        let text = serde_json::to_string(self)
            .map_err(|error| Error::format(&file, None, error.to_string()))?;
        let rows = folder.join(ROWS_FOLDER).join(self.arm.name());
        fs::create_dir_all(&rows).map_err(Error::file(&rows))?;
        atomic::write(&file, (text + "\n").as_bytes())
    }
}

impl PlayedLayout {
    /// Whether all points have this many episodes from these start states.
    pub(super) fn has_played(&self, n_episodes: usize, start_seed: u64) -> bool {
        self.start_seed == start_seed
            && self.points.iter().all(|point| point.n_episodes() == n_episodes)
    }
}
