//! MAPPO (Yu et al. 2022): clipped PPO with one actor for all agents and a centralised critic.
//!
//! The actor sees what its agent sees; the critic also sees the global state. A round of episodes is
//! played, learned from a few times over, and forgotten. At the time limit the value of the state
//! goes on counting: neither actor nor critic sees the time, so that an end there would look like
//! chance to them.

use super::{
    Learner, OperatingPoint, Setting,
    counters::load_counters,
    critic::Critic,
    ppo::{PpoOptions, diverged, normalise, shuffle},
    rollout::Rollout,
    softmax_policy::SoftmaxPolicy,
};
use crate::{
    checkpoint::Checkpoint,
    environment::View,
    episode::{Player, Scene, Summary, Transition},
    error::{Error, Result},
    graph::JointAction,
    rng::{Purpose, Rng, Streams},
};

/// The learner.
pub struct Mappo {
    options: PpoOptions,
    setting: Setting,
    total_steps: u64,
    streams: Streams,
    policy: SoftmaxPolicy,
    critic: Critic,
    rollout: Rollout,
    full: bool,
    places: Vec<usize>,
    rows: Vec<f32>,
    steps: u64,
    updates: u64,
    losses: Losses,
    failure: Option<Error>,
}

/// Means over the last update.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Losses {
    policy: f32,
    value: f32,
    entropy: f32,
}

impl Mappo {
    /// A fresh learner; `setting` names the reward it is trained with, and `total_steps` is what the
    /// learning rates' decay is stretched over.
    pub fn new(
        options: &PpoOptions,
        view: &dyn View,
        n_environments: usize,
        setting: Setting,
        total_steps: u64,
        streams: Streams,
    ) -> Result<Self> {
        options.validate()?;
        let spec = view.spec();
        let rollout = Rollout::new(spec, options.identity, n_environments);
        let rng = |index| streams.rng(Purpose::Initialisation, index);
        Ok(Self {
            setting,
            total_steps,
            streams,
            policy: SoftmaxPolicy::new(options, spec, &mut rng(0)),
            critic: Critic::new(options, rollout.width, &mut rng(1)),
            rollout,
            full: false,
            places: Vec::new(),
            rows: Vec::new(),
            steps: 0,
            updates: 0,
            losses: Losses::default(),
            failure: None,
            options: options.clone(),
        })
    }

    /// Learns from a whole round.
    fn update(&mut self, view: &dyn View) {
        let Self { options, policy, critic, rollout, places, rows, .. } = self;
        rollout.close(view, rows, places);
        critic.judge(options, rollout, &rollout.rewards, places);
        normalise(&mut critic.advantages, places);
        let lr_share = options.lr_share(self.steps, self.total_steps);
        let mut rng = self.streams.rng(Purpose::Replay, self.updates);
        let (mut sums, mut n) = (Losses::default(), 0.0);
        for _ in 0..options.epochs {
            shuffle(places, &mut rng);
            for batch in places.chunks(places.len().div_ceil(options.minibatches)) {
                rollout.gather_agent_rows(batch, rows);
                let advantages = &critic.advantages;
                let [loss, entropy] =
                    policy.improve(options, lr_share, rollout, advantages, rows, batch);
                rollout.gather_critic_rows(batch, rows);
                sums.value += critic.improve(options, lr_share, rows, batch);
                sums.policy += loss;
                sums.entropy += entropy;
                n += 1.0;
            }
        }
        let Losses { policy, value, entropy } = sums;
        self.losses = Losses { policy: policy / n, value: value / n, entropy: entropy / n };
        self.updates += 1;
        self.failure = diverged(self.steps, &self.report());
    }
}

impl Player for Mappo {
    fn begin(&mut self, slot: usize, _rng: &mut Rng) {
        self.rollout.begin(slot);
    }

    fn act(&mut self, scene: Scene<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.policy.act(scene, rngs, actions);
    }

    fn observe(&mut self, transition: Transition<'_>) {
        self.steps += 1;
        let (seen, log_probabilities) = self.policy.last(transition.slot);
        self.full = self.rollout.push(transition, seen, log_probabilities);
    }

    fn learn(&mut self, view: &dyn View) {
        if std::mem::take(&mut self.full) && self.failure.is_none() {
            self.update(view);
        }
    }
}

impl Learner for Mappo {
    fn end_episode(&mut self, _slot: usize, _summary: &Summary) {}

    fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn report(&self) -> Vec<(String, f32)> {
        vec![
            ("loss_policy".into(), self.losses.policy),
            ("loss_value".into(), self.losses.value),
            ("entropy".into(), self.losses.entropy),
            ("updates".into(), self.updates as f32),
        ]
    }

    fn operating_points(&self, _multipliers: &[f32]) -> Vec<OperatingPoint> {
        vec![OperatingPoint { setting: self.setting, policy: Box::new(self.policy.freeze()) }]
    }

    fn save_model<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        self.policy.save_model(checkpoint);
    }

    fn load_model(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.policy.load_model(checkpoint)
    }

    fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        self.policy.save(checkpoint);
        self.critic.save("critic", checkpoint);
        let Losses { policy, value, entropy } = self.losses;
        checkpoint.push("losses", &[3], vec![policy, value, entropy]);
        checkpoint.set("learner_steps", self.steps);
        checkpoint.set("updates", self.updates);
    }

    fn load(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.policy.load(checkpoint)?;
        self.critic.load("critic", checkpoint)?;
        let losses = checkpoint.get_shaped("losses", &[3])?;
        self.losses = Losses { policy: losses[0], value: losses[1], entropy: losses[2] };
        (self.steps, self.updates) = load_counters(checkpoint, |steps| 0..=steps)?;
        Ok(())
    }
}
