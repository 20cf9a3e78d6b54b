//! The hunt keeps its contract and plays by the published rules, told a second time here.

use cgcmarl::{
    Streams,
    environment::{
        Ending, Environment, Outcome, check, check_environment,
        predator_prey::{PredatorPrey, PredatorPreyOptions, PredatorPreyTask},
    },
    episode::{Acting, VectorEnvironment},
    evaluation::play_episodes,
    rng::{Purpose, Rng},
};

fn hunt(change: impl FnOnce(&mut PredatorPreyOptions)) -> PredatorPrey {
    let mut options = PredatorPreyOptions::default();
    change(&mut options);
    PredatorPrey::new(&options).expect("valid options")
}

#[test]
fn the_hunt_keeps_the_contract() {
    check(&PredatorPreyTask).unwrap();
    for (agents, prey, size, view) in [(2, 1, 4, 1), (4, 6, 6, 2), (5, 5, 7, 3), (16, 16, 10, 2)] {
        let mut environment = hunt(|o| {
            (o.agents, o.prey, o.size, o.view) = (agents, Some(prey), size, view);
            o.horizon = 40;
        });
        check_environment(&mut environment).unwrap_or_else(|error| panic!("{agents}: {error}"));
    }
}

#[test]
fn options_that_cannot_work_are_refused_by_name() {
    let refused = |change: fn(&mut PredatorPreyOptions)| {
        let mut options = PredatorPreyOptions::default();
        change(&mut options);
        PredatorPrey::new(&options).expect_err("options that cannot work").to_string()
    };
    assert!(refused(|o| o.agents = 1).contains("`agents`: 1"));
    assert!(refused(|o| o.prey = Some(0)).contains("`prey`: 0"));
    assert!(refused(|o| o.size = 5).contains("`size`: 5 (16 predators and prey"));
    assert!(refused(|o| o.horizon = 0).contains("`horizon`: 0"));
    assert!(refused(|o| o.view = 0).contains("`view`: 0"));
    assert!(refused(|o| o.neighbours = 0).contains("`neighbours`: 0"));
    assert!(refused(|o| o.punishment = -2.0).contains("`punishment`: -2"));
    assert!(toml::from_str::<PredatorPreyOptions>("preys = 3").is_err());
}

#[test]
fn a_moved_animal_gets_the_nearest_cell_and_none_that_is_taken() {
    let mut environment = hunt(|_| {});
    environment.reset(&mut Streams::new(3).rng(Purpose::Problem, 0));
    let snapshot = environment.snapshot();
    let mut moved = snapshot.clone();
    (moved[0], moved[1]) = (snapshot[2], snapshot[3]);
    let error = environment.restore(&moved).unwrap_err().to_string();
    assert!(error.contains("a cell of its own"), "{error}");
    assert_eq!(environment.snapshot(), snapshot);
    moved[0] = snapshot[0] + 0.3;
    moved[1] = snapshot[1] - 0.3;
    environment.restore(&moved).unwrap();
    assert_eq!(environment.snapshot(), snapshot);
}

/// The rules as they are published, on a map of letters, slow and straight.
struct Published {
    size: i64,
    /// `(x, y)` of everybody who is left.
    predators: Vec<Option<(i64, i64)>>,
    prey: Vec<Option<(i64, i64)>>,
    captures: u32,
    vain: u32,
}

/// Right, down, left, up.
const STEPS: [(i64, i64); 4] = [(1, 0), (0, -1), (-1, 0), (0, 1)];
const CATCH: usize = 5;

impl Published {
    /// Reads the start from what the environment shows.
    fn start(state: &[f32], n_predators: usize, size: i64) -> Self {
        let half = (size - 1) as f32 / 2.0;
        let cells: Vec<_> = state[..2 * (state.len() / 3)]
            .chunks(2)
            .map(|at| Some(((at[0] + half) as i64, (at[1] + half) as i64)))
            .collect();
        let (predators, prey) = cells.split_at(n_predators);
        Self { size, predators: predators.to_vec(), prey: prey.to_vec(), captures: 0, vain: 0 }
    }

    fn somebody_at(&self, cell: (i64, i64)) -> bool {
        self.predators.iter().chain(&self.prey).any(|other| *other == Some(cell))
    }

    /// Where a step leads, if nobody and no wall is there.
    fn free(&self, from: (i64, i64), step: (i64, i64)) -> Option<(i64, i64)> {
        let to = (from.0 + step.0, from.1 + step.1);
        let inside = to.0 >= 0 && to.1 >= 0 && to.0 < self.size && to.1 < self.size;
        (inside && !self.somebody_at(to)).then_some(to)
    }

    fn order(n: usize, rng: &mut Rng) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, rng.below(last + 1));
        }
        order
    }

    fn step(&mut self, actions: &[usize], rng: &mut Rng) {
        for index in Self::order(self.predators.len(), rng) {
            if let (Some(from), 0..4) = (self.predators[index], actions[index])
                && let Some(to) = self.free(from, STEPS[actions[index]])
            {
                self.predators[index] = Some(to);
            }
        }
        for index in Self::order(self.prey.len(), rng) {
            let Some(prey) = self.prey[index] else { continue };
            let beside: Vec<_> = STEPS.iter().map(|s| Some((prey.0 + s.0, prey.1 + s.1))).collect();
            let catchers: Vec<usize> = (0..actions.len())
                .filter(|&one| actions[one] == CATCH && beside.contains(&self.predators[one]))
                .collect();
            match catchers.len() {
                0 => {}
                1 => self.vain += 1,
                _ => {
                    self.captures += 1;
                    self.prey[index] = None;
                    catchers.iter().for_each(|&one| self.predators[one] = None);
                    continue;
                }
            }
            let open: Vec<_> = STEPS.iter().filter_map(|&step| self.free(prey, step)).collect();
            if !open.is_empty() {
                self.prey[index] = Some(open[rng.below(open.len())]);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.predators.iter().all(Option::is_none) || self.prey.iter().all(Option::is_none)
    }
}

/// Plays until the end beside the published rules; returns captures and catches in vain.
fn compared(agents: usize, prey: usize, size: usize, seed: u64) -> (u32, u32) {
    let mut environment =
        hunt(|o| (o.agents, o.prey, o.size, o.horizon) = (agents, Some(prey), size, 60));
    let streams = Streams::new(seed);
    environment.reset(&mut streams.rng(Purpose::Problem, 0));
    let mut state = vec![0.0; environment.view().spec().state_width];
    environment.write_state(&mut state);
    let mut published = Published::start(&state, agents, size as i64);
    let [mut ours, mut theirs] = [(); 2].map(|()| streams.rng(Purpose::Dynamics, 0));
    let mut choice = streams.rng(Purpose::RandomPolicy, 0);
    let mut outcome = Outcome::default();
    let mut sums = [0.0; 5];
    while outcome.ending == Ending::Running {
        let mut allowed = vec![[true; 6]; agents];
        for (agent, allowed) in allowed.iter_mut().enumerate() {
            environment.view().action_mask(&state, agent, allowed);
        }
        // Whoever may catch often does, so that much happens.
        let draw = |allowed: &[bool; 6]| loop {
            let action = if choice.uniform() < 0.3 { CATCH } else { choice.below(6) };
            if allowed[action] {
                return action;
            }
        };
        let actions: Vec<usize> = allowed.iter().map(draw).collect();
        environment.step(&actions, &mut ours, &mut outcome);
        published.step(&actions, &mut theirs);
        environment.write_state(&mut state);
        sums.iter_mut().zip(&outcome.metrics).for_each(|(sum, metric)| *sum += metric);
        let half = (size - 1) as f32 / 2.0;
        let everybody = published.predators.iter().chain(&published.prey);
        let lives = &state[2 * (agents + prey)..];
        for ((animal, at), live) in everybody.zip(state.chunks(2)).zip(lives) {
            let cell = animal.map(|(x, y)| [x as f32 - half, y as f32 - half]);
            assert_eq!(at, cell.unwrap_or_default(), "seed {seed}");
            assert_eq!(*live == 1.0, animal.is_some(), "seed {seed}");
        }
        assert_eq!(published.is_over(), outcome.ending == Ending::Terminal, "seed {seed}");
    }
    assert_eq!(sums[..2], [published.captures, published.vain].map(f64::from), "seed {seed}");
    assert_eq!(sums[2], 10.0 * sums[0] - 2.0 * sums[1]);
    (published.captures, published.vain)
}

#[test]
fn random_hunts_go_by_the_published_rules() {
    let (mut captures, mut vain) = (0, 0);
    for seed in 0..300 {
        let (agents, prey, size) = [(8, 8, 10), (6, 9, 6), (3, 2, 4)][seed as usize % 3];
        let counted = compared(agents, prey, size, seed);
        (captures, vain) = (captures + counted.0, vain + counted.1);
    }
    assert!(captures > 300 && vain > 3000, "too little happened: {captures} {vain}");
}

#[test]
fn rules_that_hunt_catch_more_than_chance() {
    let mut environments = VectorEnvironment::new(
        (0..4).map(|_| Box::new(hunt(|_| {})) as Box<dyn Environment>).collect(),
    );
    let mut mean = |mut policy: Box<dyn cgcmarl::Policy>| {
        let played = play_episodes(&mut environments, &mut Acting(policy.as_mut()), 0..40, 5);
        [0, 1].map(|metric| played.iter().map(|one| one.metrics[metric]).sum::<f64>() / 40.0)
    };
    let references = cgcmarl::Scenario::of("predator_prey").unwrap().references().unwrap();
    let scores: Vec<_> = references.into_iter().map(|reference| mean(reference.policy)).collect();
    assert!(scores[0][0] > 3.7 && scores[0][1] == 0.0, "in pairs: {:?}", scores[0]);
    assert!(scores[1][0] > 2.0, "alone: {:?}", scores[1]);
}
