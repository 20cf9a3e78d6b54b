#![expect(clippy::unwrap_used, reason = "a failed read is a failed test")]

//! Settings that once broke us: each trains a little or is refused by name before any work is done.

use cgcmarl::{
    Config,
    error::{Error, Result},
    run::{Session, Watch},
};

/// Stops after the first round.
struct OneRound;

impl Watch for OneRound {
    fn round(&mut self, _steps: u64, _line: Option<&serde_json::Value>) {}

    fn stop(&self) -> bool {
        true
    }
}

/// Trains for one round with the settings of a line.
fn train(line: &str) -> Result<()> {
    let quick = [("total_steps", "400"), ("learning_starts", "50"), ("episodes", "2")];
    let given: Vec<_> = line.split(' ').filter_map(|word| word.split_once('=')).collect();
    let named = |key: &str| given.iter().any(|(given, _)| given.ends_with(key));
    let on_policy = line.contains("mappo");
    let defaults = quick
        .into_iter()
        .filter(|(key, _)| !(named(key) || on_policy && *key == "learning_starts"));
    let pairs: Vec<_> = defaults
        .chain(given.iter().copied())
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let config = Config::resolve(None, &pairs)?;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut session = Session::start(config, Some(&out), folder.path())?;
    session.run(&mut OneRound).map(drop)
}

#[test]
fn every_setting_trains_or_is_refused_by_name() {
    let text = std::fs::read_to_string("tests/data/hostile/settings.txt").unwrap();
    let mut refused = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Err(error) = train(line) else { continue };
        refused += 1;
        let message = error.to_string();
        assert!(!matches!(error, Error::Diverged { .. }), "{line}: {message}");
        let named = line.split(' ').filter_map(|word| word.split_once('=')).any(|(key, value)| {
            let last = key.rsplit('.').next().unwrap();
            message.contains(last) || message.contains(value)
        });
        assert!(named, "{line}: `{message}` names neither a key nor a value");
    }
    assert!(refused > 100, "{refused} refused");
}
