#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! The learner learns: the paper's worked example to the letter, and every option without breaking.

use cgcmarl::{
    algorithm::{
        CgCmarl, CgCmarlOptions, Start, TrainedModel,
        cg_cmarl::{CgCmarlModel, HeadKind, ValueKind},
    },
    environment::{Batch, Environment, matrix_game::MatrixGame},
    episode::{Acting, VectorEnvironment},
    rng::Streams,
    run::{Config, End, Model, Session, Watch, named_multipliers, play},
    schedule::Linear,
    training::{Training, TrainingOptions},
};
use serde_json::Value;

/// Trains on the paper's worked example and tells the joint action at some multipliers.
fn worked_example(value: ValueKind, multipliers: &[f32]) -> Vec<Vec<usize>> {
    let mut options = CgCmarlOptions::default();
    options.network.head = HeadKind::Free;
    options.network.hidden = vec![32];
    options.network.value = value;
    options.learning.lr = 3e-3;
    options.learning.batch_size = 32;
    options.learning.learning_starts = 64;
    options.learning.steps_per_update = 2.0;
    options.learning.average_rate = 0.05;
    // Rewards are of the order of ten, so that smaller noise would never try the other action.
    options.exploration = Linear { start: 20.0, end: 20.0, steps: 1 };
    let training = TrainingOptions { total_steps: 6000, ..TrainingOptions::default() };
    let games = (0..training.environments)
        .map(|_| Box::new(MatrixGame::worked_example().unwrap()) as Box<dyn Environment>);
    let environments = VectorEnvironment::new(games.collect());
    let start = Start {
        teams: &[environments.view()],
        n_environments: environments.len(),
        total_steps: training.total_steps,
        streams: Streams::new(3),
    };
    let learner = CgCmarl::new(&options, start).unwrap();
    let mut training = Training::new(&training, environments, Box::new(learner), 3);
    while !training.finished() {
        training.round().unwrap();
    }
    let game = MatrixGame::worked_example().unwrap();
    let batch = Batch { view: game.view(), states: &[0.0], slots: &[0] };
    let model = CgCmarlModel::load(&options, game.view(), &training.model()).unwrap();
    let choose = |multiplier: &f32| {
        let mut action = vec![vec![9; 2]];
        model.policy(&[*multiplier]).act(batch, &mut action);
        action.remove(0)
    };
    multipliers.iter().map(choose).collect()
}

#[test]
fn one_model_of_the_worked_example_picks_a_then_b() {
    for value in [ValueKind::TwoHead, ValueKind::Heads, ValueKind::Augmented] {
        let chosen = worked_example(value, &[0.0, 0.5, 2.0]);
        assert_eq!(chosen, [[0, 0], [1, 1], [1, 1]], "{value:?}");
    }
}

struct Nobody;

impl Watch for Nobody {
    fn round(&mut self, _steps: u64, _line: Option<&Value>) {}
}

/// Whether a line holds finite numbers and nothing else, those of other teams included.
fn is_finite(value: &Value) -> bool {
    match value {
        Value::Object(entries) => entries.values().all(is_finite),
        value => value.as_f64().is_some_and(f64::is_finite),
    }
}

/// Trains 400 steps with these settings, plays the model, and returns the last line of metrics.
fn train(settings: &str) -> Value {
    let tiny = "total_steps=400 learning_starts=50 batch_size=32 buffer_size=9000 environments=4";
    let pairs: Vec<_> = tiny
        .split(' ')
        .chain(settings.split(' '))
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let config = Config::resolve(None, &pairs).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut session = Session::start(config, Some(&path), folder.path()).unwrap();
    assert_eq!(session.run(&mut Nobody).unwrap(), End::Finished, "{settings}");
    let line = session.run_dir().metrics().unwrap().pop().unwrap();
    assert!(is_finite(&line), "{settings}: {line}");
    assert!(line["updates"].as_f64().unwrap() > 20.0, "{settings}: {line}");
    drop(session);
    let model = Model::open(&path).unwrap();
    let mut evaluation = model.config.evaluation.clone();
    evaluation.episodes = 4;
    let scenario = model.scenario().unwrap();
    let spec = scenario.spec().unwrap();
    let multipliers = vec![1.0; spec.n_constraints()];
    let mut points = model.operating_points(&scenario, &[multipliers]).unwrap();
    let named = named_multipliers(&spec, &points[0].multipliers);
    let mut acting = Acting(points[0].policy.as_mut());
    let score = play(&scenario, &evaluation, "λ=1", named, &mut acting).unwrap();
    assert_eq!((score.n_episodes, score.multipliers.len()), (4, spec.n_constraints()));
    line
}

#[test]
fn two_constraints_train_with_a_loss_and_a_multiplier_each() {
    let line = train("constraints=[\"collision\",\"energy\"] mode=learned cost_limit=[0.0,0.1]");
    assert!(line["cost_energy"].as_f64().unwrap() > 0.0, "{line}");
    assert!(line["multiplier_energy"].as_f64().unwrap() > 0.0, "{line}");
    assert!(line["loss_energy"].as_f64().unwrap() > 0.0, "{line}");
    assert!(!line["multiplier_collision"].is_null() && !line["loss_collision"].is_null());
}

#[test]
fn every_value_and_dual_update_trains() {
    train("value=two_head");
    train("value=augmented constraints=[\"collision\",\"energy\"]");
    let learned = "mode=learned cost_limit=[0.01] lambda_lr=5";
    train(&format!("{learned} lambda_power=0.9 lr_power=0.6"));
    train(&format!("{learned} update=pid relative=true preset=augmented"));
    for gossip in ["graph=ring", "delay=2", "message_loss=0.3", "link_failure=0.5"] {
        let line = train(&format!(
            "{learned} agents=4 k=1 topology=k_nearest mixing=gossip gossip.{gossip}"
        ));
        assert!(line["multiplier_spread_collision"].as_f64().unwrap() > 0.0, "{gossip}: {line}");
    }
}

#[test]
fn regions_of_three_train() {
    train("agents=4 topology=explicit regions=[[0,1,2],[1,2,3]] batch_size=8");
    train("agents=4 topology=explicit regions=[[0,1,2],[1,2,3]] actions=discrete head=free");
}

#[test]
fn every_topology_trains() {
    for topology in ["path", "star", "ring", "k_nearest", "complete"] {
        train(&format!("agents=4 k=1 topology={topology}"));
    }
}

#[test]
fn every_learning_rule_trains() {
    for next_action in ["regional", "coupled"] {
        for error in ["regional", "summed"] {
            train(&format!("next_action={next_action} error={error}"));
        }
    }
    for mode in ["learned", "sampled", "fixed"] {
        train(&format!("mode={mode} reward=counterfactual kind=paper head=free"));
    }
}

#[test]
fn every_physics_and_layout_trains() {
    train("contact=true");
    train("physics=mpe2 head=free");
    train("occupancy=false agents=6");
    for layout in ["spread_uniform", "line", "clustered_pair"] {
        train(&format!("layout={layout}"));
    }
}

#[test]
fn every_preset_trains() {
    for preset in ["default", "two_head", "augmented", "paper"] {
        train(&format!("preset={preset}"));
    }
}
