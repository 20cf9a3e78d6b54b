//! A trained run, ready to play: one policy for every trade-off, scores, fronts, single decisions.

use super::{Config, Played, fit, legacy, limits, narrow::NarrowModel, session::read_config};
use crate::{
    algorithm::{
        CgCmarlOptions, OperatingPoint, TrainedModel, cg_cmarl::CgCmarlModel, multiplier_label,
    },
    checkpoint::Checkpoint,
    coordination::{Coordination, FactorTables},
    environment::{Batch, Environment, Policy, Scenario, Spec},
    episode::Acting,
    error::{Error, Result},
    evaluation::Front,
    graph::{CoordinationGraph, JointAction},
    run_dir::{
        RunDir,
        files::{CONFIG, FRONT_JSON},
    },
};
use std::{path::Path, sync::Arc};

/// Environments side by side in an evaluation.
pub(super) const EVALUATION_WIDTH: usize = 250;

/// A trained run, ready to play.
///
/// ```
/// # fn main() -> cgcmarl::Result<()> {
/// let model = cgcmarl::Model::open("models/simple_spread_3")?;
/// let mut policy = model.policy(0.5)?;
/// let state = vec![0.0; policy.spec().state_width];
/// let joint_action = policy.act(&state)?;
/// # assert_eq!(joint_action.len(), 3); Ok(()) }
/// ```
pub struct Model {
    /// The resolved configuration it was trained with.
    pub config: Config,
    /// Where it lives.
    pub run: RunDir,
    /// Environment steps it was trained for.
    pub steps: u64,
    weights: Checkpoint<'static>,
    altered: bool,
}

impl Model {
    /// Opens a run directory. What the shape of its network depends on is fixed here, so that it
    /// fits teams of other sizes.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let run = RunDir::open(path.as_ref())?;
        let mut config = read_config(&run)?;
        let in_file = |error: Error| Error::format(run.file(CONFIG), None, error.to_string());
        let scenario = config.scenario().map_err(in_file)?;
        scenario.spec().map_err(in_file)?;
        if let Ok(fixed) = scenario.with_agents(scenario.n_agents()?) {
            config.environment = fixed.options().clone();
        }
        let weights = run.load_model()?;
        Ok(Self { config, run, steps: weights.step, weights, altered: false })
    }

    /// A number that tells it from other models.
    pub fn fingerprint(&self) -> u32 {
        self.weights.fingerprint()
    }

    /// The scenario it was trained in.
    pub fn scenario(&self) -> Result<Scenario> {
        self.config.scenario()
    }

    /// The front of the run's last sweep, those of earlier versions included.
    pub fn front(&self) -> Result<Front> {
        let (front, spec) = (legacy::read_front(&self.run)?, self.scenario()?.spec()?);
        let constraints = front.measures.constraints.iter().map(|constraint| &constraint.name);
        if front.task == spec.task && constraints.eq(&spec.constraint_names()) {
            return Ok(front);
        }
        let reason = format!(
            "is a front of another task or other constraints than the run's ({}: {}); sweep it again",
            spec.task,
            spec.constraint_names().join(", ")
        );
        Err(Error::format(self.run.file(FRONT_JSON), None, reason))
    }

    /// Whether it acts otherwise than the run's own configuration says.
    pub fn is_altered(&self) -> bool {
        self.altered
    }

    /// What was trained, for a scenario of the same task (its team may differ where the
    /// observation allows); refuses a team that does not fit the memory.
    pub fn trained(&self, scenario: &Scenario) -> Result<Box<dyn TrainedModel>> {
        limits::states_together(&self.config, &scenario.spec()?)?;
        trained_from(&self.config, scenario, &self.weights)
            .map_err(|error| self.explain(scenario, error))
    }

    /// The policy at one multiplier for all constraints; a baseline plays at its own trade-off.
    pub fn policy(&self, multiplier: f32) -> Result<TrainedPolicy> {
        let n = self.scenario()?.spec()?.n_constraints();
        self.policy_with(&vec![multiplier; n])
    }

    /// The policy at one multiplier per constraint.
    pub fn policy_with(&self, multipliers: &[f32]) -> Result<TrainedPolicy> {
        let scenario = self.scenario()?;
        let environment: Arc<dyn Environment> = Arc::from(scenario.build()?);
        let policy = self.trained(&scenario)?.policy(multipliers);
        Ok(TrainedPolicy { environment, policy, actions: vec![JointAction::new()] })
    }

    /// The policies of every point of a sweep, or the one of a baseline.
    pub fn operating_points(
        &self,
        scenario: &Scenario,
        multipliers: &[Vec<f32>],
    ) -> Result<Vec<OperatingPoint>> {
        let trained = self.trained(scenario)?;
        if !trained.has_multipliers() {
            let (label, policy) = (trained.label(), trained.policy(&[]));
            return Ok(vec![OperatingPoint { label, multipliers: vec![], policy }]);
        }
        let names = scenario.spec()?.constraint_names();
        let point = |multipliers: &Vec<f32>| OperatingPoint {
            label: multiplier_label(&names, multipliers),
            policy: trained.policy(multipliers),
            multipliers: multipliers.clone(),
        };
        Ok(multipliers.iter().map(point).collect())
    }

    /// Takes over how a changed configuration acts; refuses what would change the shape of the
    /// network or what it sees, by the key.
    pub fn act_as(&mut self, config: &Config) -> Result<()> {
        fit::check(self, config)?;
        self.altered |= fit::acts_otherwise(&self.config, config);
        self.config.options.clone_from(&config.options);
        self.config.training.memory_limit = config.training.memory_limit;
        Ok(())
    }

    /// What was trained, as another configuration would have it.
    pub(super) fn trained_as(&self, config: &Config) -> Result<Box<dyn TrainedModel>> {
        let environment = config.scenario()?.build()?;
        config.algorithm()?.model(&config.options, environment.view(), &self.weights)
    }

    /// Whether it plays at any multiplier; a baseline has the one trade-off it was trained with.
    pub fn has_multipliers(&self) -> Result<bool> {
        Ok(self.trained(&self.scenario()?)?.has_multipliers())
    }

    /// What CG-CMARL trained, for those who look into its tables.
    pub fn cg_cmarl(&self, scenario: &Scenario) -> Result<CgCmarlModel> {
        if self.config.algorithm != "cg_cmarl" {
            return Err(Error::Refused(format!(
                "{}: trained with {}; only a cg_cmarl run has tables to look into",
                self.run.path().display(),
                self.config.algorithm
            )));
        }
        let options: CgCmarlOptions = self.config.typed_options()?;
        let environment = scenario.build()?;
        limits::states_together(&self.config, environment.view().spec())?;
        CgCmarlModel::load(&options, environment.view(), &self.weights)
            .map_err(|error| self.explain(scenario, error))
    }

    /// Weights that do not fit another team are a matter of the team.
    fn explain(&self, scenario: &Scenario, error: Error) -> Error {
        let own = self.scenario().and_then(|scenario| scenario.n_agents()).unwrap_or_default();
        let asked = scenario.n_agents().unwrap_or_default();
        if own == asked {
            return error;
        }
        let reason = format!(
            "this model was trained with {own} agents and its observation does not carry over: {error}"
        );
        Error::setting("agents", asked, reason)
    }

    /// One decision of one evaluation episode: its graph, its tables and what the policy does.
    pub fn decision(
        &self,
        scenario: &Scenario,
        start_seed: u64,
        multipliers: &[f32],
        (episode, step): (u64, usize),
    ) -> Result<Decision> {
        let model = self.cg_cmarl(scenario)?;
        let mut played = Played::start(scenario, start_seed, episode)?;
        let horizon = played.spec().horizon;
        let mut policy = model.policy_with(multipliers.to_vec());
        for _ in 0..step {
            if !played.step(&mut Acting(&mut policy)) {
                let reason = format!("an episode has {horizon} steps at the most");
                return Err(Error::setting("decision", step, reason));
            }
        }
        let mut action = JointAction::new();
        let environment = played.environment();
        let (graph, tables, answer) =
            policy.decide(environment.view(), &played.state(), &mut action);
        let (graph, tables) = (graph.clone(), tables.clone());
        Ok(Decision { graph, tables, action, answer })
    }
}

/// What some weights play, on disk or not; refuses a team that does not fit the memory.
pub fn trained_from(
    config: &Config,
    scenario: &Scenario,
    weights: &Checkpoint<'_>,
) -> Result<Box<dyn TrainedModel>> {
    let environment = scenario.build()?;
    let view = environment.view();
    let n_together = limits::states_together(config, view.spec())?;
    let model = config.algorithm()?.model(&config.options, view, weights)?;
    let fits = n_together >= EVALUATION_WIDTH;
    Ok(if fits { model } else { Box::new(NarrowModel { model, n_together }) })
}

/// A frozen policy with all it needs to act: the whole of deployment.
pub struct TrainedPolicy {
    environment: Arc<dyn Environment>,
    policy: Box<dyn Policy>,
    actions: Vec<JointAction>,
}

impl TrainedPolicy {
    /// Sizes, measures and names of the environment it acts in.
    pub fn spec(&self) -> &Spec {
        self.environment.view().spec()
    }

    /// The joint action for a state row: one action per agent.
    pub fn act(&mut self, state: &[f32]) -> Result<&[usize]> {
        let width = self.spec().state_width;
        if state.len() != width {
            let reason = format!("a state has {width} numbers");
            return Err(Error::setting("state", format!("{} numbers", state.len()), reason));
        }
        let Self { environment, policy, actions } = self;
        let batch = Batch { view: environment.view(), states: state, slots: &[0] };
        policy.act(batch, actions);
        Ok(&actions[0])
    }
}

impl Clone for TrainedPolicy {
    fn clone(&self) -> Self {
        Self {
            environment: Arc::clone(&self.environment),
            policy: self.policy.boxed_clone(),
            actions: vec![JointAction::new()],
        }
    }
}

/// One decision, laid open.
pub struct Decision {
    /// Who coordinates with whom.
    pub graph: CoordinationGraph,
    /// The augmented tables.
    pub tables: FactorTables,
    /// The joint action that was chosen.
    pub action: JointAction,
    /// What the coordinator says about it.
    pub answer: Coordination,
}
