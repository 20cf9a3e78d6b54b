//! Under which conditions a trained model plays, where they are not those of its training.

use super::output::overrides;
use anyhow::ensure;
use cgcmarl::{Config, Error};
use clap::Args;

/// Changes of a run's configuration.
#[derive(Debug, Args)]
pub(crate) struct Conditions {
    /// Settings to change, such as `horizon=50` `acting.solver=max_sum`
    settings: Vec<String>,
    /// Team size, for agents=N [default: the run's]
    #[arg(long, value_name = "N")]
    agents: Option<usize>,
    /// Short for layout=NAME, where the task has that option [default: the run's]
    #[arg(long, value_name = "NAME")]
    layout: Option<String>,
}

impl Conditions {
    /// Whether everything is as it was in training.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.settings.is_empty() && self.agents.is_none() && self.layout.is_none()
    }

    /// The same words again, for another process.
    pub(super) fn words(&self) -> Vec<String> {
        let agents = self.agents.map(|agents| format!("--agents={agents}"));
        let layout = self.layout.as_ref().map(|layout| format!("--layout={layout}"));
        self.settings.iter().cloned().chain(agents).chain(layout).collect()
    }

    /// The configuration under these conditions.
    pub(crate) fn apply(&self, config: &Config) -> anyhow::Result<Config> {
        let mut changes = overrides(&self.settings)?;
        let options = config.scenario()?.info()?.options;
        let flags = [
            ("agents", self.agents.map(|agents| agents.to_string())),
            ("layout", self.layout.clone()),
        ];
        for (option, value) in flags {
            let Some(value) = value else { continue };
            refuse_twice(&changes, option, &value)?;
            let is_known = options.iter().any(|known| known.key == option);
            let reason = format!("the task {} has no such option", config.task);
            ensure!(is_known, Error::setting(&format!("--{option}"), value, reason));
            changes.push((format!("environment.{option}"), value));
        }
        Ok(config.with(&changes)?)
    }

    /// Sets the number of episodes where there is a flag for it.
    pub(super) fn set_episodes(
        &self,
        flag: Option<usize>,
        config: &mut Config,
    ) -> anyhow::Result<()> {
        let Some(episodes) = flag else { return Ok(()) };
        refuse_twice(&overrides(&self.settings)?, "episodes", &episodes.to_string())?;
        config.evaluation.episodes = episodes;
        Ok(())
    }
}

/// Refuses a flag for what a `key=value` sets, too.
fn refuse_twice(changes: &[(String, String)], option: &str, value: &str) -> anyhow::Result<()> {
    let twice = |key: &str| key == option || key.ends_with(&format!(".{option}"));
    let reason = format!("`{option}=…` is given, too; one of them says it all");
    let error = Error::setting(&format!("--{option}"), value, reason);
    ensure!(!changes.iter().any(|(key, _)| twice(key)), error);
    Ok(())
}
