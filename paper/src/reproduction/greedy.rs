//! What a team achieves without exploration while it learns, on start states that nothing was tuned on.
//!
//! It is played from a copy of the weights: training goes on as if nobody had looked.

use super::{
    curve::rounded,
    row_check::{column, in_order},
};
use crate::tables::TradeOff;
use cgcmarl::{
    checkpoint::{Checkpoint, atomic},
    environment::Scenario,
    episode::Acting,
    error::{Error, Result},
    evaluation::{EvaluationOptions, statistics::mean},
    run::{Config, Watch, episodes_of, trained_from},
    run_dir::{cpu_seconds, files},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Seed of the start states that are played during training.
pub const GREEDY_STARTS: u64 = 2_026_183;
/// The multiplier at which a model that has them is followed.
const MULTIPLIER: f32 = 1.0;
/// The share of the steps, at the end, over which a curve must be flat.
const FLAT_SHARE: f64 = 0.4;
/// Fewest looks in it.
const FEWEST_LOOKS: usize = 6;
/// A curve is flat where its later half is not better than the earlier by this much coverage.
const FLAT_GAIN: f64 = 0.01;
/// A team that covers less has not learned: its curve may be flat before it rises.
const LEARNED: f64 = 0.2;

/// One entry per look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GreedyCurve {
    /// Seed of the start states.
    pub start_seed: u64,
    /// Episodes of every look.
    pub episodes: usize,
    /// Environment steps so far, those of smaller teams included.
    pub step: Vec<u64>,
    /// Share of landmarks covered.
    pub coverage: Vec<f64>,
    /// Overlapping pairs per step.
    pub collisions_per_step: Vec<f64>,
}

impl GreedyCurve {
    /// Number of looks.
    pub fn len(&self) -> usize {
        self.step.len()
    }

    /// Whether nobody looked.
    pub fn is_empty(&self) -> bool {
        self.step.is_empty()
    }

    /// Says which number cannot be, or is missing.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        let Self { step, coverage, collisions_per_step, .. } = self;
        column("coverage", coverage, step, [0.0, 1.0])?;
        column("collisions_per_step", collisions_per_step, step, [0.0, f64::MAX])?;
        in_order(step)
    }

    /// The first look at which a coverage was reached.
    pub fn first_reaching(&self, coverage: f64) -> Option<usize> {
        self.coverage.iter().position(|reached| *reached >= coverage)
    }

    /// How much more the later half of the last looks covers than the earlier, and what it covers;
    /// nothing where there are too few.
    fn end(&self) -> Option<(f64, f64)> {
        let from = (1.0 - FLAT_SHARE) * *self.step.last()? as f64;
        let first = self.step.iter().position(|step| *step as f64 > from)?;
        let last = &self.coverage[first..];
        if last.len() < FEWEST_LOOKS {
            return None;
        }
        let (earlier, later) = last.split_at(last.len() / 2);
        Some((mean(later) - mean(earlier), mean(later)))
    }

    /// Whether the team has learned and learns no more: over the last two fifths of its steps the later
    /// half of the looks covers less than a point more than the earlier.
    pub fn has_converged(&self) -> bool {
        self.end().is_some_and(|(gain, coverage)| gain < FLAT_GAIN && coverage >= LEARNED)
    }
}

/// The steps at which the next look is due: rare ones as time goes on.
fn due_after(step: u64) -> u64 {
    let interval = match step {
        0..100_000 => 5_000,
        100_000..400_000 => 10_000,
        400_000..1_000_000 => 25_000,
        1_000_000..4_000_000 => 50_000,
        _ => 250_000,
    };
    (step / interval + 1) * interval
}

/// The looks so far, and the seconds of one processor that training took until each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Looks {
    pub(super) curve: GreedyCurve,
    pub(super) cpu_seconds: Vec<f64>,
}

impl Looks {
    /// The looks that a run directory holds.
    pub(super) fn read(place: &Path) -> Result<Self> {
        let file = place.join(files::GREEDY);
        let text = fs::read_to_string(&file).map_err(Error::file(&file))?;
        let looks: Self = serde_json::from_str(&text)
            .map_err(|error| Error::format(&file, Some(error.line()), error.to_string()))?;
        looks.curve.check().map_err(|message| Error::format(&file, None, message))?;
        if looks.cpu_seconds.len() != looks.curve.len() {
            let message = "its columns differ in length";
            return Err(Error::format(&file, None, message));
        }
        Ok(looks)
    }

    /// What was seen until a step.
    fn until(mut self, step: u64) -> Self {
        let n = self.curve.step.partition_point(|known| *known <= step);
        self.curve.step.truncate(n);
        self.curve.coverage.truncate(n);
        self.curve.collisions_per_step.truncate(n);
        self.cpu_seconds.truncate(n);
        self
    }

    /// Seconds until a step that lies after the last look, at the speed until then.
    fn seconds_at(&self, step: u64) -> f64 {
        match (self.curve.step.last(), self.cpu_seconds.last()) {
            (Some(&seen), Some(&seconds)) if seen > 0 => seconds * step as f64 / seen as f64,
            _ => 0.0,
        }
    }
}

/// Looks at a training now and then.
pub(super) struct Follower<'a> {
    watch: &'a mut dyn Watch,
    file: PathBuf,
    config: &'a Config,
    scenario: Scenario,
    options: EvaluationOptions,
    looks: Looks,
    next: u64,
    /// Seconds before this session, less those that the clock showed when it began.
    clock_offset: f64,
}

impl<'a> Follower<'a> {
    /// Takes up the looks of a training that stands at some step.
    pub(super) fn new(
        watch: &'a mut dyn Watch,
        place: &Path,
        config: &'a Config,
        steps: u64,
    ) -> Result<Self> {
        let scenario = config.scenario()?;
        let episodes = if scenario.n_agents()? < 6 { 200 } else { 100 };
        let options = EvaluationOptions {
            episodes: episodes.min(config.evaluation.episodes),
            start_seed: GREEDY_STARTS,
            ..config.evaluation.clone()
        };
        // Looks that cannot be read are not worth a training: it is looked at from here on.
        let mut looks = Looks::read(place).unwrap_or_default().until(steps);
        (looks.curve.start_seed, looks.curve.episodes) = (GREEDY_STARTS, options.episodes);
        Ok(Self {
            watch,
            file: place.join(files::GREEDY),
            config,
            scenario,
            options,
            next: due_after(looks.curve.step.last().copied().unwrap_or(0)),
            clock_offset: looks.seconds_at(steps) - cpu_seconds(),
            looks,
        })
    }

    fn look(&mut self, steps: u64, model: &Checkpoint<'_>) -> Result<()> {
        let spec = self.scenario.spec()?;
        let trained = trained_from(self.config, &self.scenario, model)?;
        let mut policy = trained.policy(&vec![MULTIPLIER; spec.n_constraints()]);
        let episodes = episodes_of(&self.scenario, &self.options, &mut Acting(policy.as_mut()))?;
        let reported = spec.reported();
        let [coverage, collisions] = TradeOff::METRICS.map(|name| {
            let index = reported.iter().position(|metric| metric.name == name).unwrap_or(0);
            mean(&episodes.iter().map(|episode| episode.metrics[index]).collect::<Vec<_>>())
        });
        self.looks.curve.step.push(steps);
        self.looks.curve.coverage.push(rounded(coverage));
        self.looks.curve.collisions_per_step.push(rounded(collisions));
        Ok(())
    }

    fn write(&self) -> Result<()> {
        let text = serde_json::to_string(&self.looks)
            .map_err(|error| Error::format(&self.file, None, error.to_string()))?;
        atomic::write(&self.file, (text + "\n").as_bytes())
    }
}

impl Watch for Follower<'_> {
    fn round(&mut self, steps: u64, line: Option<&Value>) {
        self.watch.round(steps, line);
    }

    fn stop(&self) -> bool {
        self.watch.stop()
    }

    fn wants_model(&self, steps: u64) -> bool {
        steps >= self.next || steps >= self.config.training.total_steps
    }

    fn model(&mut self, steps: u64, model: &Checkpoint<'_>) -> Result<()> {
        let before = cpu_seconds();
        let seconds = self.clock_offset + before;
        self.look(steps, model)?;
        self.looks.cpu_seconds.push((1e3 * seconds).round() / 1e3);
        self.write()?;
        self.next = due_after(steps);
        // What looking takes is not training.
        self.clock_offset -= cpu_seconds() - before;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(coverage: impl Fn(f64) -> f64) -> GreedyCurve {
        let step: Vec<u64> = (1..=40).map(|look| 10_000 * look).collect();
        let coverage: Vec<f64> = step.iter().map(|step| coverage(*step as f64 / 4e5)).collect();
        let collisions_per_step = vec![0.0; 40];
        GreedyCurve { step, coverage, collisions_per_step, ..GreedyCurve::default() }
    }

    #[test]
    fn a_curve_converges_where_it_is_flat_and_has_risen() {
        assert!(curve(|at| 0.9 * (5.0 * at).min(1.0)).has_converged());
        assert!(curve(|at| 0.9 - 0.1 * at).has_converged(), "worse is not still learning");
        assert!(!curve(|at| 0.9 * at).has_converged(), "still learns");
        assert!(!curve(|_| 0.05).has_converged(), "never began to learn");
        // The halves of the last two fifths differ by a fifth of the whole way.
        assert!(curve(|at| 0.5 + 0.049 * at).has_converged());
        assert!(!curve(|at| 0.5 + 0.051 * at).has_converged());
        let few = curve(|_| 0.9);
        let few = Looks { cpu_seconds: vec![0.0; 40], curve: few }.until(120_000);
        assert!(few.curve.len() == 12 && !few.curve.has_converged(), "too few looks to tell");
    }

    #[test]
    fn looks_grow_rare_and_do_not_hang_on_interruptions() {
        assert_eq!([0, 4_999, 5_000, 99_999].map(due_after), [5_000, 5_000, 10_000, 100_000]);
        assert_eq!([100_000, 401_000, 5_000_000].map(due_after), [110_000, 425_000, 5_250_000]);
        let n_looks = std::iter::successors(Some(0), |step| Some(due_after(*step)));
        assert!(n_looks.take_while(|step| *step <= 2_000_000).count() < 100);
    }

    #[test]
    fn what_lies_after_the_checkpoint_is_looked_at_again() {
        let looks = Looks { curve: curve(|at| at), cpu_seconds: (1..=40).map(f64::from).collect() };
        let kept = looks.until(105_000);
        assert_eq!((kept.curve.len(), kept.cpu_seconds.len()), (10, 10));
        assert!((kept.seconds_at(105_000) - 10.5).abs() < 1e-12);
        assert_eq!(Looks::default().seconds_at(5_000), 0.0);
    }
}
