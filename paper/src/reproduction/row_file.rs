//! One trained row of the comparison as a small file: what it was and what it achieved, no weights.
//!
//! Everything that tables, figures and checks say is made from these files alone, so that they can be
//! committed and read in a fresh clone.

use super::curve::Curve;
use crate::tables::TradeOff;
use cgcmarl::{
    checkpoint::atomic,
    environment::{Scenario, Spec},
    episode::Summary,
    error::{Error, Result},
    evaluation::{EvaluationOptions, Named, Score},
    run::Config,
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
/// Most agents of a team whose file is read.
const MAX_AGENTS: usize = 1000;
/// Most steps of an episode whose file is read.
const MAX_HORIZON: usize = 1_000_000;

/// What one training came to, or what the references achieve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowResult {
    /// Always `cgcmarl`.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// Name of the row, or `reference`.
    pub row: String,
    /// Team size.
    pub agents: usize,
    /// Training seed.
    pub seed: u64,
    /// Environment steps of the training.
    pub steps: u64,
    /// Steps of an episode.
    pub horizon: usize,
    /// Digest of the resolved configuration, but for the number of evaluation episodes.
    pub config: String,
    /// How the team learned.
    pub curve: Curve,
    /// What was played, layout by layout.
    pub layouts: Vec<PlayedLayout>,
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
    /// How well it did.
    #[serde(flatten)]
    pub score: Score,
    /// Landmarks covered at the end of each episode.
    pub covered: Vec<u32>,
    /// Overlapping pairs over all steps of each episode.
    pub collided: Vec<u32>,
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
        let counts = |name: &str, unit: usize| -> Vec<u32> {
            let index = reported.iter().position(|metric| metric.name == name);
            let value = |episode: &Summary| index.map_or(0.0, |index| episode.metrics[index]);
            episodes.iter().map(|episode| (value(episode) * unit as f64).round() as u32).collect()
        };
        let [coverage, collisions] = TradeOff::METRICS;
        Self {
            parameter: parameter.into(),
            covered: counts(coverage, spec.n_agents()),
            collided: counts(collisions, spec.horizon),
            score: Score::of_episodes(label, multipliers, &reported, episodes),
        }
    }

    /// Number of episodes.
    pub fn n_episodes(&self) -> usize {
        self.covered.len()
    }

    /// The multiplier, where there is one.
    pub fn multiplier(&self) -> Option<f64> {
        self.score.multipliers.values().next().copied()
    }

    /// What each episode achieved.
    pub(super) fn trade_offs(&self, n_agents: usize, horizon: usize) -> Vec<TradeOff> {
        let coverage = |count: &u32| f64::from(*count as f32 / n_agents as f32);
        let counts = self.covered.iter().zip(&self.collided);
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
    pub(super) fn new(row: &str, n_agents: usize, seed: u64, scenario: &Scenario) -> Result<Self> {
        Ok(Self {
            program: "cgcmarl".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            row: row.into(),
            agents: n_agents,
            seed,
            horizon: scenario.spec()?.horizon,
            ..Self::default()
        })
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
    pub(super) fn place(&self, folder: &Path) -> PathBuf {
        folder.join(ROWS_FOLDER).join(self.file_name())
    }

    /// What was played on a layout.
    pub fn layout(&self, name: &str) -> Option<&PlayedLayout> {
        self.layouts.iter().find(|played| played.layout == name)
    }

    /// Whether a layout was played with this many episodes.
    pub(super) fn has_played(&self, layout: &str, n_episodes: usize) -> bool {
        let enough = |point: &PlayedPoint| point.n_episodes() == n_episodes;
        self.layout(layout).is_some_and(|played| played.points.iter().all(enough))
    }

    /// Adds what was played on a layout, or puts it in the place of what was.
    pub(super) fn put(&mut self, played: PlayedLayout) {
        self.layouts.retain(|known| known.layout != played.layout);
        self.layouts.push(played);
    }

    /// Reads a file; refuses numbers that cannot be, and a name that is not the content's.
    pub fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).map_err(Error::file(file))?;
        let row: Self = serde_json::from_str(&text)
            .map_err(|error| Error::format(file, Some(error.line()), error.to_string()))?;
        row.check().map_err(|message| Error::format(file, None, message))?;
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
        let rows = folder.join(ROWS_FOLDER);
        fs::create_dir_all(&rows).map_err(Error::file(&rows))?;
        atomic::write(&file, (text + "\n").as_bytes())
    }

    /// Says which number cannot be.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        let Self { agents, horizon, .. } = self;
        if !(2..=MAX_AGENTS).contains(agents) {
            return Err(format!("`agents` is {agents}, not 2 to {MAX_AGENTS}"));
        }
        if !(1..=MAX_HORIZON).contains(horizon) {
            return Err(format!("`horizon` is {horizon}, not 1 to {MAX_HORIZON}"));
        }
        if !self.curve.is_whole() {
            return Err("the columns of `curve` differ in length or are not finite".into());
        }
        for played in &self.layouts {
            for point in &played.points {
                self.check_point(point).map_err(|reason| {
                    format!("{}, {}: {reason}", played.layout, point.parameter)
                })?;
            }
        }
        Ok(())
    }

    fn check_point(&self, point: &PlayedPoint) -> std::result::Result<(), String> {
        let n = point.n_episodes();
        if n == 0 || point.collided.len() != n || point.score.n_episodes != n {
            return Err("`covered`, `collided` and `episodes` tell of different numbers".into());
        }
        let most_collided = self.agents * (self.agents - 1) / 2 * self.horizon;
        for (name, counts, most) in
            [("covered", &point.covered, self.agents), ("collided", &point.collided, most_collided)]
        {
            if let Some(count) = counts.iter().find(|count| **count as usize > most) {
                return Err(format!("`{name}` has {count}, more than the {most} there can be"));
            }
        }
        let strange = point.score.metrics.iter().find(|(_, estimate)| {
            ![estimate.mean, estimate.low, estimate.high].iter().all(|number| number.is_finite())
        });
        strange.map_or(Ok(()), |(name, estimate)| {
            Err(format!("`{name}` is {estimate:?}, which is no number"))
        })
    }
}

/// Eight digits that tell configurations apart; how many episodes measure them is left out.
pub(super) fn digest(config: &Config) -> String {
    let mut config = config.clone();
    config.evaluation.episodes = EvaluationOptions::default().episodes;
    checksum(&config.to_toml())
}

/// Eight digits that tell environments apart.
pub(super) fn scenario_digest(scenario: &Scenario) -> Result<String> {
    Ok(checksum(&scenario.card()?.to_string()))
}

fn checksum(text: &str) -> String {
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}
