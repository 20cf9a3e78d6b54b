//! A user's mistake gets a clear sentence, exit code 2, and touches nothing.

use crate::program::{Place, content, tiny};
use std::fs;

#[test]
fn a_run_that_exists_is_refused_untouched() {
    let place = Place::new();
    place.train("my run", &["total_steps=200"]);
    let before = content(&place.path("my run"));
    let remarks = place.fail(&tiny("my run", &["seed=2"]));
    assert!(
        remarks.contains("my run already holds a run: continue it with `cgcmarl resume 'my run'`")
    );
    assert!(before == content(&place.path("my run")), "the run was touched");
    fs::create_dir(place.path("full")).unwrap();
    fs::write(place.path("full/letter.txt"), "dear").unwrap();
    assert!(place.fail(&tiny("full", &[])).contains("exists and is not empty"));
    assert_eq!(content(&place.path("full")).len(), 1);
}

/// What `config.toml` says is what was trained.
#[test]
fn settings_edited_in_mid_training_are_refused_by_name() {
    let place = Place::new();
    place.train("run", &["total_steps=200"]);
    let file = place.path("run/config.toml");
    let config = fs::read_to_string(&file).unwrap();
    let edited = config.replace("total_steps = 200", "total_steps = 300");
    assert_ne!(edited, config);
    fs::write(&file, edited).unwrap();
    let before = content(&place.path("run"));
    let remarks = place.fail(&["resume", "run"]);
    let told = "config.toml: `training.total_steps` is 300, not 200, with which the training began";
    assert!(remarks.contains(told), "{remarks}");
    assert!(before == content(&place.path("run")), "the run was touched");
    fs::write(&file, config.replace("memory_limit = 4", "memory_limit = 5")).unwrap();
    place.succeed(&["resume", "run"]);
}

#[test]
fn settings_that_cannot_work_are_named_and_leave_no_run() {
    let place = Place::new();
    for (setting, told) in [
        ("agents=1", "`agents`: 1 (a team has 2 to 1000 agents)"),
        ("agents=none", "`agents`: none"),
        ("gama=0.9", "unknown key `gama`; did you mean `gamma`?"),
        ("totl_steps=5", "did you mean `total_steps`?"),
        ("gamma=1.5", "`gamma`: 1.5"),
        ("gamma=often", "`gamma`: often (must be a number"),
        ("batch_size=many", "`batch_size`: many (must be a whole number"),
        ("batch_size=0", "`batch_size`: 0"),
        ("average_symmetries=0", "`average_symmetries`: 0 (must be 1"),
        ("average_symmetries=9", "`average_symmetries`: 9 (must be 1"),
        ("warm_start=true coordination.solver=anytime", "`warm_start`: true (is for the messages"),
        ("warm_start=true next_action=regional", "needs `next_action=coupled`"),
        ("preset=best", "must be `default` or one of"),
        ("task=simple_sprad", "did you mean `simple_spread`?"),
        ("constraints=[]", "constraints"),
        ("layout=circle", "circle"),
        ("start_from=nowhere", "nowhere is not a run directory"),
        ("seven", "settings are written key=value"),
    ] {
        let words: Vec<&str> = setting.split(' ').collect();
        let remarks = place.fail(&tiny("run", &words));
        assert!(remarks.contains(told), "{setting}: {remarks}");
        assert!(!place.path("run").exists(), "{setting} left a run");
        // What `config` prints can be trained; where to start from is only asked for then.
        if !setting.starts_with("start_from") {
            let remarks = place.fail(&[&["config"], &words[..]].concat());
            assert!(remarks.contains(told), "config {setting}: {remarks}");
        }
    }
}

#[test]
fn a_directory_that_is_no_run_is_named() {
    let place = Place::new();
    for verb in ["resume", "sweep", "evaluate"] {
        let remarks = place.fail(&[verb, "nowhere"]);
        assert!(remarks.contains("nowhere is not a run directory: it does not exist"), "{remarks}");
    }
}

#[test]
fn a_file_of_settings_is_named_with_its_mistake() {
    let place = Place::new();
    fs::write(place.path("my.toml"), "[training]\ntotal_step = 5\n").unwrap();
    let remarks = place.fail(&["train", "--config", "my.toml", "--out", "run"]);
    assert!(remarks.contains("my.toml") && remarks.contains("`total_steps`"), "{remarks}");
    fs::write(place.path("my.toml"), "agents = \n").unwrap();
    assert!(place.fail(&["config", "--config", "my.toml"]).contains("my.toml"));
}

#[test]
fn presets_print_and_are_read_back() {
    let place = Place::new();
    let names = place.succeed(&["config", "--list"]).text;
    assert_eq!(names.lines().collect::<Vec<_>>(), ["default", "two_head", "augmented", "paper"]);
    for name in names.lines() {
        for agents in ["agents=3", "agents=6", "agents=10"] {
            let preset = format!("preset={name}");
            let printed = place.succeed(&["config", &preset, agents]).text;
            assert!(printed.contains(&format!("preset = \"{name}\"")), "{printed}");
            fs::write(place.path("printed.toml"), &printed).unwrap();
            assert_eq!(place.succeed(&["config", "--config", "printed.toml"]).text, printed);
        }
    }
}
