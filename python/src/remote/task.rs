//! The task `pettingzoo`: any `ParallelEnv` that is named as `module:factory`.

use super::{
    environment::{Credit, RemoteEnvironment, TeamView},
    process::{About, Host, Interpreter, Trouble},
};
use cgcmarl::{
    Environment, Error, Result,
    environment::{Task, register as list},
    graph::GraphOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    thread::available_parallelism,
    time::Duration,
};
use toml::{Table, toml};

/// How users write it.
pub(crate) const NAME: &str = "pettingzoo";

/// What users may set under `[environment]`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RemoteOptions {
    env: String,
    arguments: String,
    reward: String,
    reward_scale: f32,
    costs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    most_cost: Vec<f64>,
    horizon: usize,
    positions: Vec<usize>,
    graph: GraphOptions,
    workers: usize,
    patience: u64,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            env: String::new(),
            arguments: "{}".into(),
            reward: "team".into(),
            reward_scale: 1.0,
            costs: Vec::new(),
            most_cost: Vec::new(),
            horizon: 100,
            positions: Vec::new(),
            graph: GraphOptions::default(),
            workers: 0,
            patience: 60,
        }
    }
}

/// The processes of one kind of environment, and what such an environment is like.
struct Kind {
    about: About,
    hosts: Vec<Arc<Host>>,
    next: usize,
}

/// The task.
struct PettingZooTask {
    interpreter: Interpreter,
    kinds: Mutex<BTreeMap<String, Kind>>,
}

/// Lists the task; environments run in this interpreter's processes.
pub(crate) fn register(interpreter: Interpreter) {
    list(PettingZooTask { interpreter, kinds: Mutex::default() });
}

impl PettingZooTask {
    /// What an environment is like, and the process that holds the next one.
    fn host(&self, options: &RemoteOptions) -> Result<(About, Arc<Host>)> {
        let source = if ["team", "agent"].contains(&options.reward.as_str()) {
            "as it is"
        } else {
            options.reward.as_str()
        };
        let settings = json!({
            "env": options.env,
            "arguments": options.arguments,
            "reward": source,
            "costs": options.costs,
        })
        .to_string();
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if !kinds.contains_key(&settings) {
            let cores = available_parallelism().map_or(1, usize::from);
            let n = if options.workers == 0 { cores } else { options.workers };
            let patience = Duration::from_secs(options.patience.max(1));
            let host = |i| Host::new(self.interpreter.clone(), settings.clone(), patience, i);
            let hosts: Vec<_> = (1..=n.min(64)).map(host).collect();
            let about = ask(&hosts[0], &options.env)?;
            kinds.insert(settings.clone(), Kind { about, hosts, next: 0 });
        }
        let kind = kinds.get_mut(&settings).ok_or_else(|| Error::Refused("no process".into()))?;
        kind.next += 1;
        Ok((kind.about.clone(), Arc::clone(&kind.hosts[kind.next % kind.hosts.len()])))
    }
}

/// Makes one environment to hear what it is like.
fn ask(host: &Host, env: &str) -> Result<About> {
    host.wake()?;
    let number = host.next_number();
    host.send(b'N', number, &[]);
    let refused = |text: String| Error::setting("env", env, text);
    let answer = host.receive(number).map_err(|trouble| match trouble {
        Trouble::Told(text) | Trouble::Gone(text) => refused(text),
    })?;
    serde_json::from_slice(&answer).map_err(|error| refused(error.to_string()))
}

impl Task for PettingZooTask {
    type Options = RemoteOptions;

    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "any PettingZoo environment with a team of equals, in Python processes"
    }

    fn options(&self) -> Vec<(&'static str, &'static str)> {
        vec![
            ("env", "what makes the environment, as module:factory"),
            ("arguments", "keyword arguments for it, as JSON"),
            ("reward", "who is paid: `team`, `agent` (its own regions), or module:function"),
            ("reward_scale", "factor of every reward"),
            ("costs", "what is paid for: NAME=infos, NAME=KEY of infos, or NAME=module:function"),
            (
                "most_cost",
                "most that an agent can pay at a step, one number for each cost: what `choose` needs",
            ),
            ("horizon", "most steps of an episode"),
            ("positions", "where an agent sees its own x and y, for `k_nearest`"),
            ("graph.topology", "`complete`, `path`, `star`, `ring`, `k_nearest` or `explicit`"),
            ("graph.k", "neighbours of each agent in `k_nearest`"),
            ("graph.regions", "the regions of `explicit`"),
            ("workers", "processes that hold environments; 0 for one per core"),
            ("patience", "seconds after which a process that does not answer is stopped"),
        ]
    }

    fn build(&self, options: &RemoteOptions) -> Result<Box<dyn Environment>> {
        let reason = "name what makes the environment: env=module:factory";
        if options.env.is_empty() {
            return Err(Error::setting("env", "", reason));
        }
        if !options.reward_scale.is_finite() || options.reward_scale <= 0.0 {
            let reason = "must be a number above 0";
            return Err(Error::setting("reward_scale", options.reward_scale, reason));
        }
        if options.horizon == 0 {
            return Err(Error::setting("horizon", 0, "must be at least 1"));
        }
        if let Err(error) =
            serde_json::from_str::<serde_json::Map<String, Value>>(&options.arguments)
        {
            return Err(Error::setting("arguments", &options.arguments, error.to_string()));
        }
        let most = &options.most_cost;
        if most.iter().any(|most| !most.is_finite() || *most <= 0.0)
            || (!most.is_empty() && most.len() != options.costs.len())
        {
            let reason = format!("needs one number above 0 for each of {:?}", options.costs);
            return Err(Error::setting("most_cost", format!("{most:?}"), reason));
        }
        let (about, host) = self.host(options)?;
        let view = TeamView::new(&about, options.horizon, &options.graph, &options.positions)?
            .paying(most);
        let credit = if options.reward == "agent" { Credit::Agent } else { Credit::Team };
        let paid = (credit, options.reward_scale);
        Ok(Box::new(RemoteEnvironment::new(view, about.agents, host, paid)))
    }

    fn card(&self, options: &RemoteOptions) -> Value {
        let name = self.host(options).map_or_else(|_| String::new(), |(about, _)| about.name);
        json!({ "options": options, "environment": name })
    }

    fn recipe(
        &self,
        _options: &RemoteOptions,
        algorithm: &str,
        _preset: &str,
        _teams: &[usize],
    ) -> Table {
        if algorithm != "cg_cmarl" {
            return Table::new();
        }
        toml! {
            [training]
            environments = 8
            [evaluation]
            episodes = 200
            [cg_cmarl.learning]
            gamma = 0.95
        }
    }
}
