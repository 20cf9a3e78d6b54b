//! Which multipliers of a trained model keep limits, with a confidence that holds for all of them together.

use super::{Model, limits::environments_together, named_multipliers, play, vectorise};
use crate::{
    episode::Acting,
    error::Result,
    evaluation::{
        EvaluationOptions, Limits, Measures,
        choice::{Candidate, test_candidates},
        grid, play_fresh,
    },
};

/// Episodes of each candidate in the pilot that orders them.
const PILOT: usize = 300;

/// Environments side by side in a test.
const WIDTH: usize = 250;

impl Model {
    /// Orders the multipliers of a sweep by a pilot on the sweep's start states, then tests them on
    /// fresh ones, from the safest on; `played` hears of every test how far it is.
    pub fn candidates(
        &self,
        options: &EvaluationOptions,
        limits: &Limits,
        played: &mut (dyn FnMut(&str, u64) + Send),
    ) -> Result<Vec<Candidate>> {
        let scenario = self.scenario()?;
        let spec = scenario.spec()?;
        let measures = Measures::of(&spec);
        limits.check(&measures)?;
        let options = pilot(options, limits);
        let mut points = self.operating_points(&scenario, &grid(&options, &spec)?)?;
        let mut scores = Vec::new();
        for point in &mut points {
            let named = named_multipliers(&spec, &point.multipliers);
            let mut acting = Acting(point.policy.as_mut());
            scores.push(play(&scenario, &options, &point.label, named, &mut acting)?);
            // A copy has none of the buffers, which would add up.
            point.policy = point.policy.boxed_clone();
        }
        let n_together = WIDTH.min(environments_together(&spec));
        let mut environments = vectorise(&scenario, limits.episodes.min(n_together))?;
        test_candidates(&scores, &measures, limits, &mut |index, episodes| {
            let point = &mut points[index];
            played(&point.label, episodes.end);
            let mut acting = Acting(point.policy.as_mut());
            let summaries =
                play_fresh(&mut environments, &mut acting, episodes, options.start_seed);
            point.policy = point.policy.boxed_clone();
            environments.failure().map_or(Ok(summaries), Err)
        })
    }
}

/// How candidates are played in the pilot; from small multipliers to large ones, each once.
fn pilot(options: &EvaluationOptions, limits: &Limits) -> EvaluationOptions {
    let mut options = options.clone();
    for list in options.grid.values_mut().chain([&mut options.multipliers]) {
        list.sort_by(f32::total_cmp);
        list.dedup();
    }
    options.episodes = PILOT.min(limits.episodes);
    options
}
