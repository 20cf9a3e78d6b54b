//! Simple Spread as the registry knows it: name, options, card, other team sizes, the oracle.

use super::{
    SimpleSpread, SimpleSpreadOptions, StartSquare,
    observation::{AgentRowKind, ObservationKind},
    oracle::Oracle,
    recipe,
};
use crate::{
    environment::{Environment, Reference, Task},
    error::{Error, Result},
    graph::Topology,
};
use serde_json::{Value, json};
use toml::Table;

/// Name of the task.
pub(super) const NAME: &str = "simple_spread";

/// The task.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimpleSpreadTask;

impl Task for SimpleSpreadTask {
    type Options = SimpleSpreadOptions;

    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "agents cover as many landmarks without colliding, with MPE2's physics"
    }

    fn options(&self) -> Vec<(&'static str, &'static str)> {
        vec![
            ("agents", "team size, and number of landmarks"),
            ("physics", "`paper` (small agents, a grid of forces) or `mpe2` (as it is shipped)"),
            ("radius", "radius of an agent; paper: 0.08, and 0.08·√(4/N) above 4; mpe2: 0.15"),
            ("contact", "whether overlapping agents push each other apart; paper: no; mpe2: yes"),
            ("horizon", "steps of one episode"),
            ("layout", "where landmarks are: `random`, `spread_uniform`, `line`, `clustered_pair`"),
            ("arena", "`unit` ([-1, 1]²) or `scaled` (half side √(N/4), agents of one size)"),
            ("local_ratio", "share of the collision penalty in MPE2's agent reward"),
            ("actions", "`grid` (25 forces) or `discrete` (MPE2's five)"),
            ("constraints", "what is paid for: `collision`, `energy`"),
            ("cost_distance", "agents closer than this pay; `cost_radii` where it is not set"),
            ("cost_radii", "the same in radii of an agent; 2.125, and they touch at 2"),
            ("reward", "how the reward reaches the regions: `shared` or `counterfactual`"),
            ("observation.kind", "what a region sees: `relative` or `paper`"),
            ("observation.landmarks", "nearest landmarks a relative row shows; all up to 5"),
            ("observation.occupancy", "whether it shows how near others are to each landmark"),
            ("observation.occupancy_velocities", "whether those others are seen 0.2 s ahead"),
            ("observation.frame", "`octant` or `cone` (turned to fit each region), or `world`"),
            ("observation.coast", "seconds of coasting before directions are taken"),
            ("observation.landmark_flags", "whether landmarks that are not there are flagged"),
            ("observation.team", "whether it shows the agents' radius and the team's density"),
            (
                "observation.agent_row",
                "what a single agent sees: `raw` (MPE2's) or `shared` (as regions)",
            ),
            (
                "observation.others",
                "nearest other agents that a shared agent row shows; all up to 5",
            ),
            ("observation.positions", "whether it shows where the members are in the square"),
            ("observation.auction", "whether members see the landmarks that an auction gives them"),
            ("observation.free_landmarks", "further landmarks shown that nobody else covers"),
            (
                "graph.topology",
                "`complete`, `path`, `star`, `ring`, `k_nearest`, `radius`, `explicit`",
            ),
            ("graph.k", "neighbours of each agent in `k_nearest`"),
            ("graph.reach", "agents nearer than this are neighbours in `radius`"),
            ("graph.regions", "the regions of `explicit`"),
        ]
    }

    fn choices(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        vec![
            ("layout", vec!["random", "spread_uniform", "line", "clustered_pair"]),
            ("contact", vec!["false", "true"]),
        ]
    }

    fn build(&self, options: &SimpleSpreadOptions) -> Result<Box<dyn Environment>> {
        Ok(Box::new(SimpleSpread::new(options)?))
    }

    fn card(&self, options: &SimpleSpreadOptions) -> Value {
        let mut card = json!({
            "options": options.resolved(),
            "physics":
                "MPE2 order: positions move with the old velocity; dt 0.1, damping 0.25, force 5u",
            "coverage_distances": [0.1, 0.15, 0.2],
            "collision": "pairs closer than two radii after a step, per step",
        });
        if options.square == StartSquare::Scaled {
            card["start"] = json!({
                "arena": "scaled: half side √(N/4), agents of one size",
                "half_side": options.square.half_side(options.agents),
            });
        }
        card
    }

    fn with_agents(
        &self,
        options: &SimpleSpreadOptions,
        agents: usize,
    ) -> Result<SimpleSpreadOptions> {
        let mut options = options.clone();
        let (sized, own) = (options.agents, agents == options.agents);
        if own || options.observation.kind == ObservationKind::Relative {
            options.observation.landmarks = Some(options.observation.n_landmarks(sized));
            if options.observation.agent_row == AgentRowKind::Shared {
                options.observation.others = Some(options.observation.n_others(sized));
            }
        }
        if own {
            return Ok(options);
        }
        let refuse = |reason: &str| Err(Error::setting("agents", agents, reason));
        if options.observation.kind == ObservationKind::Paper {
            return refuse("the paper's observation fits one team size");
        }
        if options.graph.topology == Topology::Explicit {
            return refuse("explicit regions are those of one team");
        }
        if options.graph.topology == Topology::KNearest && agents <= options.graph.k {
            return refuse("k_nearest needs more agents than neighbours");
        }
        options.agents = agents;
        Ok(options)
    }

    fn references(&self, options: &SimpleSpreadOptions) -> Result<Vec<Reference>> {
        let oracle = Oracle::new(&SimpleSpread::new(options)?);
        Ok(vec![Reference { name: "oracle".into(), policy: Box::new(oracle) }])
    }

    fn recipe(
        &self,
        options: &SimpleSpreadOptions,
        algorithm: &str,
        preset: &str,
        teams: &[usize],
    ) -> Table {
        recipe::recipe(options, algorithm, preset, teams)
    }
}
