//! Small teams first: the stages of a training whose network fits teams of every size.

use super::Config;
use crate::error::{Error, Result};
use std::collections::VecDeque;

/// One team's part of a training.
pub(super) struct Stage {
    /// The training's configuration with this team; `total_steps` is the step at which it ends.
    pub(super) config: Config,
    /// Environment steps of this stage alone.
    pub(super) n_steps: u64,
}

/// The stages that are left after some steps, the training's own team last.
pub(super) fn stages(config: &Config, steps: u64) -> Result<VecDeque<Stage>> {
    let mut stages = all_stages(config)?;
    while stages.len() > 1 && stages[0].config.training.total_steps <= steps {
        stages.pop_front();
    }
    Ok(stages)
}

fn all_stages(config: &Config) -> Result<VecDeque<Stage>> {
    let (scenario, algorithm) = (config.scenario()?, config.algorithm()?);
    let curriculum = &config.training.curriculum;
    let own = scenario.n_agents()?;
    let refuse =
        |reason: String| Err(Error::setting("curriculum", format!("{curriculum:?}"), reason));
    if curriculum.iter().any(|&agents| agents < 2 || agents >= own) {
        return refuse(format!("must be teams smaller than {own}, of at least 2 agents"));
    }
    if !curriculum.is_empty() && algorithm.continued(&config.options, 0)?.is_none() {
        return refuse(format!("the network of {} fits one team size", algorithm.name()));
    }
    let mut teams = vec![];
    if config.start_from.is_none() {
        // A team whose experience does not carry over is left out.
        teams.extend(curriculum.iter().filter_map(|&n| Some((n, scenario.with_agents(n).ok()?))));
    }
    teams.push((own, scenario));
    let sum: usize = teams.iter().map(|(agents, _)| agents).sum();
    let (mut played, mut start, mut stages) = (0, 0, VecDeque::new());
    for (agents, scenario) in teams {
        let mut config = config.clone();
        config.environment = scenario.options().clone();
        if let Some(options) = algorithm.continued(&config.options, start)? {
            config.options = options;
        }
        played += agents;
        let total = u128::from(config.training.total_steps) * played as u128 / sum as u128;
        let end = total as u64;
        config.training.total_steps = end;
        stages.push_back(Stage { config, n_steps: end - start });
        start = end;
    }
    Ok(stages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn teams(words: &str) -> Result<Vec<(usize, u64)>> {
        let pairs: Vec<_> = words
            .split(' ')
            .filter_map(|word| word.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let stages = stages(&Config::resolve(None, &pairs).unwrap(), 350)?;
        let of = |stage: &Stage| {
            let scenario = stage.config.scenario().unwrap();
            (scenario.n_agents().unwrap(), stage.n_steps)
        };
        Ok(stages.iter().map(of).collect())
    }

    #[test]
    fn stages_share_the_steps_and_those_behind_are_left_out() {
        let stages = teams("agents=10 total_steps=3800 curriculum=3,6").unwrap();
        assert_eq!(stages, [(3, 600), (6, 1200), (10, 2000)]);
        let left = teams("agents=10 total_steps=1900 curriculum=3,6").unwrap();
        assert_eq!(left, [(6, 600), (10, 1000)]);
        assert_eq!(teams("agents=4 total_steps=500").unwrap(), [(4, 500)]);
    }

    #[test]
    fn a_team_starts_alone_where_nothing_carries_over() {
        for words in ["start_from=models/x", "observation.kind=paper"] {
            let stages = teams(&format!("agents=6 total_steps=600 curriculum=3 {words}")).unwrap();
            assert_eq!(stages, [(6, 600)], "{words}");
        }
        let near = teams("agents=6 total_steps=600 curriculum=3,5 topology=k_nearest k=3").unwrap();
        assert_eq!(near, [(6, 328)]);
    }

    #[test]
    fn exploration_goes_on_falling_in_the_next_stage() {
        let settings = [("agents", "6"), ("total_steps", "90000"), ("curriculum", "3")];
        let pairs = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let config = Config::resolve(None, &pairs).unwrap();
        let stages = stages(&config, 0).unwrap();
        let exploration = |config: &Config| {
            config.typed_options::<crate::algorithm::CgCmarlOptions>().unwrap().exploration
        };
        let whole = exploration(&config);
        assert_eq!(exploration(&stages[0].config), whole);
        let second = exploration(&stages[1].config);
        for step in [0, 10_000, 60_000, 90_000] {
            assert!((second.at(step) - whole.at(30_000 + step)).abs() < 1e-6, "{second:?}");
        }
    }

    #[test]
    fn teams_that_are_not_smaller_are_refused() {
        let error = teams("agents=6 curriculum=3,6").unwrap_err().to_string();
        assert!(error.contains("curriculum") && error.contains("smaller than 6"), "{error}");
        let error = teams("algorithm=vdn agents=6 curriculum=3").unwrap_err().to_string();
        assert!(error.contains("the network of vdn fits one team size"), "{error}");
    }
}
