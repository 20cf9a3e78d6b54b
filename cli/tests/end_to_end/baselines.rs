//! A baseline goes through the same commands, at the one trade-off it was trained for.

use crate::program::Place;
use serde_json::Value;

#[test]
fn a_baseline_has_a_place_a_point_and_a_page_of_its_own() {
    let place = Place::new();
    let settings = ["algorithm=qmix", "local_ratio=0.3", "seed=2", "total_steps=200", "episodes=3"];
    place.succeed(&[&["train", "--quiet", "physics=mpe2"], &settings[..]].concat());
    let run = "runs/simple_spread_3/qmix/seed_2";
    let front: Value = serde_json::from_slice(&place.read(&format!("{run}/front.json"))).unwrap();
    assert_eq!(front["points"].as_array().unwrap().len(), 1);
    assert_eq!(front["points"][0]["label"], "local_ratio=0.3");
    let config = String::from_utf8(place.read(&format!("{run}/config.toml"))).unwrap();
    assert!(config.contains("[qmix.mixer]") && !config.contains("cg_cmarl"), "{config}");
    let table = place.succeed(&["evaluate", run, "--episodes", "2"]).text;
    assert!(table.contains("local_ratio=0.3"), "{table}");
    place.succeed(&["report", run, "--out", "page.html"]);
    place.succeed(&["render", run, "--out", "episode.gif"]);
}

#[test]
fn what_needs_multipliers_is_refused_by_name() {
    let place = Place::new();
    place.train("run", &["algorithm=iql", "total_steps=200"]);
    for (words, told) in [
        (
            &["evaluate", "run", "--multiplier", "2"][..],
            "`--multiplier` needs a run that plays at any",
        ),
        (
            &["evaluate", "run", "--export-uai", "x.LG"],
            "`--export-uai` needs a run that plays at any",
        ),
        (&["sweep", "run", "--multipliers", "1"], "run was trained with iql"),
        (&["evaluate", "run", "algorithm=vdn"], "this run is one of iql"),
        (&["evaluate", "run", "--agents", "4"], "trained with 3 agents"),
        (&["config", "algorithm=iql", "preset=paper"], "iql has the preset `default` only"),
        (&["config", "algorithm=dqn"], "must be one of `cg_cmarl`"),
        (&["config", "algorithm=qmix", "unit=3"], "did you mean `units`?"),
    ] {
        let remarks = place.fail(words);
        assert!(remarks.contains(told), "{words:?}: {remarks}");
    }
}

/// What was tuned with these eyes is a recipe: presets and settings have the last word, teams too large
/// for it and who sees MPE2's rows the default.
#[test]
fn what_was_tuned_with_the_same_eyes_gives_way_to_presets_and_settings() {
    let place = Place::new();
    let shared = "agent_row=shared";
    for (words, told) in [
        (&["algorithm=mappo", shared][..], "gamma = 0.85"),
        (&["algorithm=mappo", shared, "gamma=0.9"], "gamma = 0.9\n"),
        (&["algorithm=mappo", shared, "preset=published"], "gamma = 0.99"),
        (&["algorithm=mappo", shared, "agents=6"], "gamma = 0.95"),
        (&["algorithm=mappo"], "gamma = 0.95"),
        (&["algorithm=mappo_lag", shared, "agents=6"], "gamma = 0.85"),
        (&["algorithm=mappo_lag", shared], "lambda_lr = 0.05"),
        (&["algorithm=mappo_lag", shared, "agents=10"], "lambda_lr = 0.01"),
        (&["algorithm=mappo_lag"], "lambda_lr = 0.01"),
        (&["algorithm=vdn", shared, "agents=10"], "gamma = 0.85"),
        (&["algorithm=vdn", "agents=10"], "gamma = 0.8\n"),
        (&["algorithm=dcg", shared, "agents=10"], "batch_size = 64"),
        (&["algorithm=dcg", shared, "agents=11"], "batch_size = 8\n"),
        (&["algorithm=casec", shared], "gamma = 0.8\n"),
        (&["algorithm=macpo", shared, "agents=10"], "gae_lambda = 0.6"),
        (&["algorithm=macpo"], "gae_lambda = 0.95"),
    ] {
        let printed = place.succeed(&[&["config"], words].concat()).text;
        assert!(printed.contains(told), "{words:?}: {printed}");
    }
}
