//! Which teams a training plays, and when: one, small ones first, or several together.

use super::Config;
use crate::{
    environment::Scenario,
    error::{Error, Result},
};
use std::ops::Range;

/// Share of a training after which every one of its teams plays; small ones begin.
const ALL_PLAY: f64 = 0.25;

/// How much faster than its size a team's share of the steps grows: what a pair must learn grows too.
const SHARE_POWER: f64 = 1.3;

/// Fewest environments of a team that learns beside larger ones.
const FEWEST_ENVIRONMENTS: usize = 2;

/// One team's part of a training.
pub(super) struct Part {
    /// The task with this team.
    pub(super) scenario: Scenario,
    /// Environments side by side.
    pub(super) environments: usize,
    /// Steps of the whole training between which it plays.
    pub(super) plays: Range<u64>,
}

/// The parts of all teams, the training's own last.
pub(super) fn parts(config: &Config) -> Result<Vec<Part>> {
    let (teams, curriculum) = (&config.training.teams, &config.training.curriculum);
    let (scenario, algorithm) = (config.scenario()?, config.algorithm()?);
    let own = scenario.n_agents()?;
    for (key, sizes) in [("teams", teams), ("curriculum", curriculum)] {
        if !sizes.is_empty() && !algorithm.fits_any_team(&config.options)? {
            let reason = format!("the network of {} fits one team size", algorithm.name());
            return Err(Error::setting(key, format!("{sizes:?}"), reason));
        }
    }
    if teams.is_empty() { one_after_the_other(config, own) } else { together(config, own) }
}

/// Small teams first, each for a share of the steps in proportion to its size.
fn one_after_the_other(config: &Config, own: usize) -> Result<Vec<Part>> {
    let (scenario, curriculum) = (config.scenario()?, &config.training.curriculum);
    let repeats = |(index, agents): (usize, &usize)| curriculum[..index].contains(agents);
    if curriculum.iter().any(|&agents| agents < 2 || agents >= own)
        || curriculum.iter().enumerate().any(repeats)
    {
        let reason = format!("must be teams smaller than {own}, of at least 2 agents, each once");
        return Err(Error::setting("curriculum", format!("{curriculum:?}"), reason));
    }
    let mut teams = vec![];
    if config.start_from.is_none() {
        // A team whose experience does not carry over is left out.
        teams.extend(curriculum.iter().filter_map(|&n| Some((n, scenario.with_agents(n).ok()?))));
    }
    teams.push((own, scenario));
    let sum: usize = teams.iter().map(|(agents, _)| agents).sum();
    let (mut played, mut start, mut parts) = (0, 0, Vec::new());
    for (agents, scenario) in teams {
        played += agents;
        let total = u128::from(config.training.total_steps) * played as u128 / sum as u128;
        let end = if played == sum { u64::MAX } else { total as u64 };
        let environments = config.training.environments;
        parts.push(Part { scenario, environments, plays: start..end });
        start = end;
    }
    Ok(parts)
}

/// All teams to the end, the small ones from the beginning, larger ones a little later, or all at once
/// where a model goes on to learn, lest it forget those who come later. A team's environments, and so
/// its share of the steps and updates, grow with its size: small ones learn from less.
fn together(config: &Config, own: usize) -> Result<Vec<Part>> {
    let (teams, scenario) = (&config.training.teams, config.scenario()?);
    let refuse = |reason: String| Error::setting("teams", format!("{teams:?}"), reason);
    let rises = teams.windows(2).all(|pair| pair[0] < pair[1]);
    if !rises || teams.last() != Some(&own) || teams[0] < 2 {
        let reason = format!("must rise from at least 2 to the task's own team, which is {own}");
        return Err(refuse(reason));
    }
    if !config.training.curriculum.is_empty() {
        return Err(refuse("learn together; leave `curriculum` empty".into()));
    }
    let begin = |index: usize| {
        let last = if config.start_from.is_some() { 0.0 } else { ALL_PLAY };
        let share = last * index as f64 / teams.len() as f64;
        (share * config.training.total_steps as f64) as u64
    };
    let part = |(index, &agents): (usize, &usize)| {
        let scenario = scenario.with_agents(agents)?;
        let share = (agents as f64 / own as f64).powf(SHARE_POWER);
        let most = config.training.environments;
        let environments =
            ((most as f64 * share).ceil() as usize).max(FEWEST_ENVIRONMENTS.min(most));
        Ok(Part { scenario, environments, plays: begin(index)..u64::MAX })
    };
    teams.iter().enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_of(words: &str) -> Result<Vec<(usize, u64)>> {
        let pairs: Vec<_> = words
            .split(' ')
            .filter_map(|word| word.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let parts = parts(&Config::resolve(None, &pairs)?)?;
        let of = |part: &Part| (part.scenario.n_agents().unwrap(), part.plays.start);
        Ok(parts.iter().map(of).collect())
    }

    #[test]
    fn stages_share_the_steps() {
        let parts = parts_of("agents=10 total_steps=3800 curriculum=3,6").unwrap();
        assert_eq!(parts, [(3, 0), (6, 600), (10, 1800)]);
        assert_eq!(parts_of("agents=4 total_steps=500").unwrap(), [(4, 0)]);
    }

    #[test]
    fn teams_that_learn_together_begin_one_by_one() {
        let words = ["agents=2..4", "agents=2,3,4", "agents=[2,3,4]", "agents=4 teams=2,3,4"];
        for words in words {
            let parts = parts_of(&format!("{words} total_steps=3000")).unwrap();
            assert_eq!(parts, [(2, 0), (3, 250), (4, 500)], "{words}");
        }
        let parts = parts_of("agents=2..4 total_steps=3000 start_from=models/x").unwrap();
        assert_eq!(parts, [(2, 0), (3, 0), (4, 0)], "a model goes on");
    }

    #[test]
    fn a_team_starts_alone_where_nothing_carries_over() {
        for words in ["start_from=models/x", "observation.kind=paper"] {
            let parts = parts_of(&format!("agents=6 total_steps=600 curriculum=3 {words}"));
            assert_eq!(parts.unwrap(), [(6, 0)], "{words}");
        }
        let near = "agents=6 total_steps=600 curriculum=3,5 topology=k_nearest k=3";
        assert_eq!(parts_of(near).unwrap(), [(5, 0), (6, 272)]);
    }

    #[test]
    fn teams_that_do_not_fit_are_refused() {
        let error = |words| parts_of(words).unwrap_err().to_string();
        let text = error("agents=6 curriculum=3,6");
        assert!(text.contains("curriculum") && text.contains("smaller than 6"), "{text}");
        assert!(error("agents=6 curriculum=3,3").contains("each once"));
        let text = error("algorithm=vdn agents=6 curriculum=3");
        assert!(text.contains("the network of vdn fits one team size"), "{text}");
        let text = error("algorithm=vdn agents=2..6");
        assert!(text.contains("`teams`: [2, 3, 4, 5, 6] (the network of vdn"), "{text}");
        let text = error("agents=5 teams=2,3");
        assert!(text.contains("the task's own team, which is 5"), "{text}");
        for words in ["agents=6..2", "agents=2..", "agents=2..x", "agents=,"] {
            assert!(error(words).contains("agents"), "{words}");
        }
        assert!(error("agents=1..3").contains("from at least 2"));
    }
}
