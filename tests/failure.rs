//! An environment that cannot go on stops a training or an evaluation, and what was saved stays.

mod watch;

use cgcmarl::{
    Error, Result,
    environment::{Drawing, Environment, Outcome, Task, View, matrix_game::MatrixGame, register},
    rng::Rng,
    run::{Config, End, Model, Session},
};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use watch::StopAt;

/// Whether environments break; they are told by nobody else, as a process that dies is not.
static BREAKS: AtomicBool = AtomicBool::new(false);

/// A game that checks that it hears of every action in advance, and may break.
struct Frail {
    game: MatrixGame,
    heard: Vec<usize>,
    failure: Option<Error>,
}

impl Environment for Frail {
    fn view(&self) -> &dyn View {
        self.game.view()
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.game.reset(rng);
    }

    fn write_state(&self, state: &mut [f32]) {
        self.game.write_state(state);
    }

    fn prepare(&mut self, action: &[usize]) {
        self.heard = action.to_vec();
    }

    fn step(&mut self, action: &[usize], rng: &mut Rng, outcome: &mut Outcome) {
        assert_eq!(std::mem::take(&mut self.heard), action, "it was told before");
        self.game.step(action, rng, outcome);
        if BREAKS.load(Ordering::Relaxed) {
            self.failure = Some(Error::Refused("the table broke".into()));
        }
    }

    fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn restore(&mut self, snapshot: &[f64]) -> Result<()> {
        self.game.restore(snapshot)
    }

    fn draw(&self) -> Drawing {
        self.game.draw()
    }
}

#[derive(Default, Serialize, Deserialize)]
struct NoOptions {}

struct FrailTask;

impl Task for FrailTask {
    type Options = NoOptions;

    fn name(&self) -> &'static str {
        "frail"
    }

    fn summary(&self) -> &'static str {
        "a game that may break"
    }

    fn build(&self, _options: &NoOptions) -> Result<Box<dyn Environment>> {
        Ok(Box::new(Frail { game: MatrixGame::climbing()?, heard: Vec::new(), failure: None }))
    }
}

#[test]
fn a_broken_environment_stops_what_is_done_and_nothing_saved_is_lost() {
    register(FrailTask);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let settings = [("task", "frail"), ("total_steps", "400"), ("learning_starts", "50")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let config = Config::resolve(None, &settings).unwrap();
    let mut session = Session::start(config, Some(&path), &path).unwrap();
    assert_eq!(session.run(&mut StopAt(100, 0)).unwrap(), End::Stopped);
    drop(session);

    BREAKS.store(true, Ordering::Relaxed);
    let mut session = Session::resume(&path).unwrap();
    let error = session.run(&mut StopAt::never()).unwrap_err();
    assert_eq!(error.to_string(), "the table broke");
    drop(session);

    BREAKS.store(false, Ordering::Relaxed);
    let mut session = Session::resume(&path).unwrap();
    assert_eq!(session.run(&mut StopAt::never()).unwrap(), End::Finished);
    let model = Model::open(&path).unwrap();
    let scenario = model.scenario().unwrap();
    let options = &model.config.evaluation;
    assert!(model.sweep(&scenario, options, &mut |_| {}).is_ok());
    BREAKS.store(true, Ordering::Relaxed);
    let error = model.sweep(&scenario, options, &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "the table broke");
}
