#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! MAPPO and MAPPO-Lagrangian solve games whose answer is known, keep to their limits, and go on from
//! a checkpoint as if nothing had happened.

use cgcmarl::{
    algorithm::{self, Start},
    environment::{Batch, Environment, Scenario, matrix_game::MatrixGame},
    episode::{Acting, VectorEnvironment},
    evaluation::Named,
    rng::Streams,
    run::{Config, End, Model, Session, Watch, on_threads, play},
    training::{Training, TrainingOptions},
};
use serde_json::Value;
use toml::{Table, toml};

/// What is trained: an algorithm with its options.
struct Learned {
    algorithm: &'static str,
    options: Table,
}

/// A training in which an environment is played side by side.
fn training(
    environment: &dyn Fn() -> Box<dyn Environment>,
    (n_environments, rounds): (usize, u64),
    learned: &Learned,
) -> Training {
    let environments = VectorEnvironment::new((0..n_environments).map(|_| environment()).collect());
    let steps = rounds * (n_environments * environments.spec().horizon) as u64;
    let start = Start {
        teams: &[environments.view()],
        n_environments,
        total_steps: steps,
        streams: Streams::new(5),
    };
    let algorithm = algorithm::find(learned.algorithm).unwrap();
    let learner = algorithm.learner(&learned.options, start).unwrap();
    let times = TrainingOptions { total_steps: steps, ..TrainingOptions::default() };
    Training::new(&times, environments, learner, 5)
}

fn mappo(options: Table) -> Learned {
    Learned { algorithm: "mappo", options }
}

fn mappo_lag(options: Table) -> Learned {
    Learned { algorithm: "mappo_lag", options }
}

fn finish(training: &mut Training) {
    while !training.finished() {
        training.round().unwrap();
    }
}

/// The greedy joint action in a matrix game, and what reports call the policy.
fn answer(training: &Training, learned: &Learned, game: &dyn Environment) -> (String, Vec<usize>) {
    let algorithm = algorithm::find(learned.algorithm).unwrap();
    let model = algorithm.model(&learned.options, game.view(), &training.model()).unwrap();
    let mut actions = vec![vec![]];
    let batch = Batch { view: game.view(), states: &[0.0], slots: &[0] };
    model.policy(&[]).act(batch, &mut actions);
    (model.label(), actions.remove(0))
}

fn reported(training: &Training, name: &str) -> f32 {
    let report = training.learner().report();
    report.into_iter().find(|(known, _)| known == name).unwrap().1
}

fn spread() -> Box<dyn Environment> {
    Scenario::of("simple_spread").unwrap().build().unwrap()
}

fn small() -> Table {
    toml! { hidden = [8]
    epochs = 2 }
}

#[test]
fn mappo_solves_the_penalty_game() {
    let game = || Box::new(MatrixGame::penalty(-2.0).unwrap()) as Box<dyn Environment>;
    let learned = mappo(toml! { hidden = [16]
    lr = 5e-3 });
    let mut training = training(&game, (32, 80), &learned);
    finish(&mut training);
    let (label, action) = answer(&training, &learned, game().as_ref());
    assert_eq!(label, "trained");
    assert!(action == [0, 0] || action == [2, 2], "{action:?}");
}

/// A costs each agent 2 more than B and earns 1 more: at a price of a half they are worth the same.
#[test]
fn the_multiplier_that_is_shown_decides_the_worked_example() {
    let game = || Box::new(MatrixGame::worked_example().unwrap()) as Box<dyn Environment>;
    let options = toml! { ppo = { hidden = [32], lr = 5e-3 } };
    let learned = Learned { algorithm: "mappo_lambda", options };
    let mut training = training(&game, (64, 200), &learned);
    finish(&mut training);
    let model = algorithm::find(learned.algorithm).unwrap();
    let model = model.model(&learned.options, game().view(), &training.model()).unwrap();
    let environment = game();
    for (multiplier, expected) in [(0.0, [0, 0]), (0.1, [0, 0]), (2.0, [1, 1]), (10.0, [1, 1])] {
        let mut actions = vec![vec![]];
        let batch = Batch { view: environment.view(), states: &[0.0], slots: &[0] };
        model.policy(&[multiplier]).act(batch, &mut actions);
        assert_eq!(actions[0], expected, "λ={multiplier}");
    }
}

#[test]
fn the_limit_of_macpo_decides_the_worked_example() {
    let game = || Box::new(MatrixGame::worked_example().unwrap()) as Box<dyn Environment>;
    for (limit, expected) in [(1.0, [1, 1]), (5.0, [0, 0])] {
        let options = toml! {
            cost_limit = [limit]
            ppo = { hidden = [16], identity = false, critic_lr = 1e-2 }
        };
        let learned = Learned { algorithm: "macpo", options };
        let mut training = training(&game, (32, 150), &learned);
        finish(&mut training);
        let report = training.learner().report();
        let found = answer(&training, &learned, game().as_ref());
        assert_eq!(found, (format!("cost_limit={limit}"), expected.to_vec()), "{report:?}");
        assert!(reported(&training, "violation_cost_0") < 0.3, "{report:?}");
    }
}

/// Both playing A earns 10 and costs each agent 2.5; both playing B earns 9 and costs each 0.5.
#[test]
fn the_limit_decides_the_worked_example() {
    let game = || Box::new(MatrixGame::worked_example().unwrap()) as Box<dyn Environment>;
    for (limit, expected) in [(1.0, [1, 1]), (5.0, [0, 0])] {
        // Two hundred rounds are few: the multiplier has to hurry.
        let learned = mappo_lag(toml! {
            cost_limit = [limit]
            lambda_lr = 0.05
            ppo = { hidden = [16], lr = 5e-3 }
        });
        let mut training = training(&game, (32, 200), &learned);
        finish(&mut training);
        let report = training.learner().report();
        let found = answer(&training, &learned, game().as_ref());
        assert_eq!(found, (format!("cost_limit={limit}"), expected.to_vec()), "{report:?}");
        assert!(reported(&training, "violation_cost_0") < 0.3, "{report:?}");
    }
}

#[test]
fn a_limit_of_zero_raises_the_multiplier_to_its_bound_and_no_further() {
    let learned = mappo_lag(toml! {
        cost_limit = [0.0]
        lambda_lr = 5.0
        lagrangian_upper_bound = 2.0
        ppo = { hidden = [8], epochs = 2 }
    });
    let mut training = training(&spread, (16, 6), &learned);
    finish(&mut training);
    assert_eq!(reported(&training, "multiplier_collision"), 2.0);
    let cost = reported(&training, "round_cost_collision");
    assert!(cost > 0.0, "random agents collide");
    assert_eq!(reported(&training, "violation_collision"), cost);
    assert!(training.learner().report().iter().all(|(_, value)| value.is_finite()));
}

/// Plays four rounds in one go and in two halves with a checkpoint between them.
fn resumes_exactly(start: &dyn Fn() -> Training) {
    let (mut whole, mut first, mut second) = (start(), start(), start());
    (0..4).for_each(|_| drop(whole.round().unwrap()));
    (0..2).for_each(|_| drop(first.round().unwrap()));
    second.load(&first.save()).unwrap();
    (0..2).for_each(|_| drop(second.round().unwrap()));
    assert_eq!(whole.save(), second.save());
    assert_eq!(whole.model(), second.model());
}

#[test]
fn a_resumed_training_goes_on_bit_for_bit() {
    resumes_exactly(&|| training(&spread, (4, 4), &mappo(small())));
    let limited = mappo_lag(toml! {
        cost_limit = [0.1]
        ppo = { hidden = [8], epochs = 2 }
    });
    resumes_exactly(&|| training(&spread, (4, 4), &limited));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let weights = |threads: usize| {
        let mut training = training(&spread, (8, 3), &mappo(small()));
        on_threads(threads, || finish(&mut training)).unwrap();
        training.save().get::<f32>("policy.net.0.weight").unwrap().to_vec()
    };
    assert_eq!(weights(1), weights(3));
}

#[test]
fn mappo_learns_to_spread() {
    let mut training = training(&spread, (16, 60), &mappo(toml! { hidden = [32] }));
    let mut returns = Vec::new();
    while !training.finished() {
        let line = training.round().unwrap().line;
        returns.extend(line.and_then(|line| line["team_return"].as_f64()));
    }
    let (first, last) = (returns[0], returns[returns.len() - 1]);
    assert!(last > first + 5.0, "{returns:?}");
}

struct Nobody;

impl Watch for Nobody {
    fn round(&mut self, _steps: u64, _line: Option<&Value>) {}
}

/// Trains with these settings, plays the model, and returns its label and the last line of metrics.
fn smoke(settings: &str) -> (String, Value) {
    let words = "total_steps=600 environments=8 hidden=[16] ".to_owned() + settings;
    let pairs: Vec<_> = words.split(' ').filter_map(|word| word.split_once('=')).collect();
    let pairs: Vec<_> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let config = Config::resolve(None, &pairs).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut session = Session::start(config, Some(&path), folder.path()).unwrap();
    assert_eq!(session.run(&mut Nobody).unwrap(), End::Finished, "{settings}");
    let line = session.run_dir().metrics().unwrap().pop().unwrap();
    let finite = |value: &Value| value.as_f64().is_some_and(f64::is_finite);
    assert!(line.as_object().unwrap().values().all(finite), "{settings}: {line}");
    drop(session);
    let model = Model::open(&path).unwrap();
    let mut evaluation = model.config.evaluation.clone();
    evaluation.episodes = 4;
    let scenario = model.scenario().unwrap();
    let mut point = model.operating_points(&scenario, &[]).unwrap().remove(0);
    let mut acting = Acting(point.policy.as_mut());
    play(&scenario, &evaluation, &point.label, Named::default(), &mut acting).unwrap();
    (point.label, line)
}

#[test]
fn both_train_and_play_from_a_configuration() {
    for ratio in ["0", "0.3", "0.6"] {
        let (label, line) = smoke(&format!("algorithm=mappo local_ratio={ratio} agents=4"));
        assert_eq!((label, &line["updates"]), (format!("local_ratio={ratio}"), &3.0.into()));
    }
    for limit in ["0", "0.1", "0.5", "1"] {
        let (label, line) = smoke(&format!("algorithm=mappo_lag cost_limit={limit} seed=2"));
        assert_eq!(label, format!("cost_limit={limit}"));
        for name in ["multiplier_collision", "round_cost_collision", "violation_collision"] {
            assert!(line[name].is_number(), "{name}: {line}");
        }
    }
    smoke("algorithm=mappo physics=mpe2");
    let (_, line) = smoke("algorithm=mappo preset=published");
    assert!(line["loss_value"].as_f64().unwrap() > 0.0, "{line}");
    smoke("algorithm=mappo_lag preset=published agent_row=shared");
    let (_, line) =
        smoke("algorithm=mappo_lag constraints=[\"collision\",\"energy\"] cost_limit=[0.5,0.1]");
    assert!(line["multiplier_energy"].as_f64().unwrap() > 0.0, "{line}");
}
